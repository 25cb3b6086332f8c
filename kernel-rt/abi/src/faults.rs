//! Faults on links, as the tool orders them for a test: one word of the boot arguments.
//!
//! ```text
//!   LOSS,CORRUPTION,SEED{;X,Y,Z:DIRECTION@MILLISECONDS}
//! ```
//! Loss and corruption are frames in a million. Each cut names one end of a link; both ends go by it.

use core::fmt;
use core::str::FromStr;

use heapless::Vec;
use net_torus::coord::{Coord, Direction, Shape};

use super::notation::{direction, number, parse_coord};

/// What rates are parts of.
pub const MILLION: u32 = 1_000_000;
/// Greatest rate of loss, and of corruption: with more, what is lost cannot be told from what is cut.
pub const MOST: u32 = MILLION / 5;
/// Greatest number of cuts.
pub const MAX_CUTS: usize = 16;

/// A link that is cut for good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// One of its ends.
    pub at: Coord,
    /// The link, as that end calls it.
    pub direction: Direction,
    /// When, in milliseconds since the node's links came up.
    pub after_ms: u32,
}

/// What links do to their frames.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// Frames in a million that vanish; at most [`MOST`].
    pub loss: u32,
    /// Frames in a million in which one to three bits are turned; at most [`MOST`].
    pub corruption: u32,
    /// What determines which frames these are: of each link, the same by number in each run.
    pub seed: u64,
    /// Links that are cut.
    pub cuts: Vec<Cut, MAX_CUTS>,
}

impl Faults {
    /// When the link in direction `d` of the node at `here` is cut, in nanoseconds since it came up.
    pub fn cut_ns(&self, shape: &Shape, here: Coord, d: Direction) -> Option<u64> {
        let there = (shape.neighbour(here, d), d.opposite());
        let is_it = |cut: &&Cut| {
            (cut.at, cut.direction) == (here, d) || (Some(cut.at), cut.direction) == there
        };
        let times = self.cuts.iter().filter(is_it);
        times.map(|cut| u64::from(cut.after_ms) * 1_000_000).min()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            loss,
            corruption,
            seed,
            cuts,
        } = self;
        write!(f, "{loss},{corruption},{seed}")?;
        for cut in cuts {
            let Coord { x, y, z } = cut.at;
            let (direction, ms) = (cut.direction.name(), cut.after_ms);
            write!(f, ";{x},{y},{z}:{direction}@{ms}")?;
        }
        Ok(())
    }
}

/// The word is not of the grammar above, or beyond a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoFaults;

impl FromStr for Faults {
    type Err = NoFaults;

    fn from_str(text: &str) -> Result<Self, NoFaults> {
        let mut parts = text.split(';');
        let mut rates = parts
            .next()
            .unwrap_or_default()
            .split(',')
            .map(str::as_bytes);
        let mut rate = || rates.next().and_then(number).filter(|rate| *rate <= MOST);
        let (loss, corruption) = (rate().ok_or(NoFaults)?, rate().ok_or(NoFaults)?);
        let seed = rates.next().and_then(number).ok_or(NoFaults)?;
        if rates.next().is_some() {
            return Err(NoFaults);
        }
        let mut cuts = Vec::new();
        for part in parts {
            let cut = parse_cut(part).ok_or(NoFaults)?;
            cuts.push(cut).map_err(|_| NoFaults)?;
        }
        Ok(Self {
            loss,
            corruption,
            seed,
            cuts,
        })
    }
}

fn parse_cut(text: &str) -> Option<Cut> {
    let (at, rest) = text.split_once(':')?;
    let (name, ms) = rest.split_once('@')?;
    Some(Cut {
        at: parse_coord(at.as_bytes())?,
        direction: direction(name)?,
        after_ms: number(ms.as_bytes())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn what_is_written_is_read_back() {
        let at = Coord { x: 1, y: 0, z: 255 };
        let cut = Cut {
            at,
            direction: Direction::ZMinus,
            after_ms: 5000,
        };
        let faults = Faults {
            loss: 10_000,
            corruption: 1_000,
            seed: u64::MAX,
            cuts: Vec::from_slice(&[cut, cut]).unwrap(),
        };
        let text = faults.to_string();
        assert!(!text.contains(' '), "one word");
        assert_eq!(text.parse(), Ok(faults));
        assert_eq!("0,0,0".parse(), Ok(Faults::default()));
    }

    #[test]
    fn other_words_are_refused() {
        let many = "0,0,0".to_string() + &";0,0,0:x+@1".repeat(MAX_CUTS + 1);
        for text in [
            "",
            "1,2",
            "1,2,3,4",
            "200001,0,1",
            "-1,0,1",
            "0,0,0;",
            "0,0,0;1,1:x+@1",
            "0,0,0;1,1,1:w+@1",
            "0,0,0;1,1,1:x+",
            &many,
        ] {
            assert_eq!(text.parse::<Faults>(), Err(NoFaults), "{text}");
        }
    }

    #[test]
    fn a_cut_is_at_both_ends_of_its_link_and_nowhere_else() {
        let shape = Shape::new([3, 2, 1], [true; 3]).unwrap();
        let faults: Faults = "0,0,0;2,1,0:x+@7;2,1,0:x+@9".parse().unwrap();
        let mut found = std::vec::Vec::new();
        for rank in 0..shape.nodes() {
            let here = shape.coord(rank).unwrap();
            for d in shape.links(here).iter() {
                let cut = faults.cut_ns(&shape, here, d);
                found.extend(cut.map(|ns| (here.axes(), d, ns)));
            }
        }
        let expected = [
            ([0, 1, 0], Direction::XMinus, 7_000_000),
            ([2, 1, 0], Direction::XPlus, 7_000_000),
        ];
        assert_eq!(found, expected);
    }
}
