//! Links whose packets are captured.

use crate::host::error::CliError;
use net_torus::coord::{Coord, Direction, Shape};
use net_torus::wire::DirectionSet;

/// Links whose packets are captured.
#[derive(Clone, Debug)]
pub struct CapturedLinks {
    pub(super) shape: Shape,
    /// By rank.
    pub(super) directions: Vec<DirectionSet>,
}

impl CapturedLinks {
    /// Selects links of a machine, each in both directions; without any, all.
    pub(super) fn select(shape: &Shape, links: &[(Coord, Direction)]) -> Result<Self, CliError> {
        let nodes = 0..shape.nodes();
        let mut directions: Vec<DirectionSet> = nodes
            .map(|rank| match shape.coord(rank) {
                Some(here) if links.is_empty() => shape.links(here),
                _ => DirectionSet::NONE,
            })
            .collect();
        for (at, direction) in links {
            let other = shape
                .neighbour(*at, *direction)
                .map(|there| (there, direction.opposite()));
            let ends = other.map(|other| [(*at, *direction), other]).ok_or_else(|| {
                CliError::usage(format!(
                    "--pcap-link {}: there is no such link in this machine",
                    link_name(*at, *direction)
                ))
            })?;
            for (end, direction) in ends {
                if let Some(set) = shape.rank(end).and_then(|rank| directions.get_mut(rank as usize)) {
                    *set = set.with(direction);
                }
            }
        }
        Ok(Self {
            shape: *shape,
            directions,
        })
    }

    /// Returns the number of links, each direction counted.
    pub(super) fn count(&self) -> usize {
        self.directions.iter().map(|set| set.count()).sum()
    }

    /// Checks whether the frames that a node sends on a link are captured.
    pub fn has(&self, rank: u32, direction: Direction) -> bool {
        self.directions.get(rank as usize).is_some_and(|set| set.has(direction))
    }

    /// Returns the sender and the direction of each link, in the order of ranks and directions.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, Direction)> {
        let all = (0..).zip(&self.directions);
        all.flat_map(|(rank, set)| set.iter().map(move |direction| (rank, direction)))
    }
}

/// Returns the name of a link in the form of the options.
pub(super) fn link_name(at: Coord, direction: Direction) -> String {
    let [x, y, z] = at.axes();
    format!("{x},{y},{z}:{}", direction.name().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::notation::parse_link;

    #[test]
    fn links_are_selected_in_both_directions_and_all_by_default() {
        let shape = Shape::new([3, 2, 1], [true; 3]).unwrap();
        let all = CapturedLinks::select(&shape, &[]).unwrap();
        // Four ends at each node; a ring of two has two links between its nodes.
        assert_eq!(all.count(), 24);
        let link = parse_link("2,1,0:x+").unwrap();
        let one = CapturedLinks::select(&shape, &[link, link]).unwrap();
        assert_eq!(
            one.iter().collect::<Vec<_>>(),
            [(3, Direction::XMinus), (5, Direction::XPlus)]
        );
        let none = CapturedLinks::select(&shape, &[parse_link("0,0,0:z+").unwrap()]);
        assert!(none.unwrap_err().message.contains("no such link"));
    }
}
