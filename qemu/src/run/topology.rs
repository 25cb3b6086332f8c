//! Topology of `--torus` and `--mesh`: nodes, and the links between them. Free of side effects.

use net_torus::coord::{Coord, Direction, Shape};

/// Parses `XxYxZ`.
pub fn parse_extents(text: &str) -> Result<[u16; 3], String> {
    let mut extents = [0; 3];
    let mut parts = text.split(['x', 'X']);
    for extent in &mut extents {
        let part = parts.next().ok_or_else(|| shape_help(text))?;
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return Err(shape_help(text));
        }
        *extent = part
            .parse()
            .ok()
            .filter(|e| (1..=256).contains(e))
            .ok_or_else(|| format!("extent {part} is out of range; each is 1 to 256"))?;
    }
    match parts.next() {
        None => Ok(extents),
        Some(_) => Err(shape_help(text)),
    }
}

/// Parses a number of nodes. Returns their extents closest to a cube.
pub fn parse_nodes(text: &str) -> Result<[u16; 3], String> {
    let nodes: u32 = text
        .parse()
        .ok()
        .filter(|n| (1..=1 << 24).contains(n))
        .ok_or_else(|| format!("`{text}` is not a number of nodes from 1 to 16777216"))?;
    Shape::extents_closest_to_cube(nodes)
        .ok_or_else(|| format!("{nodes} nodes form no torus: each of its three extents is at most 256"))
}

fn shape_help(text: &str) -> String {
    format!("`{text}` is not of the form XxYxZ, for example 2x2x2")
}

/// Parses the letters of the mesh dimensions, each at most once, for example `z` or `xy`.
pub fn parse_mesh(text: &str) -> Result<[bool; 3], String> {
    let mut mesh = [false; 3];
    for letter in text.chars() {
        let dimension = "xyz"
            .find(letter.to_ascii_lowercase())
            .ok_or_else(|| format!("`{letter}` is no dimension; use letters of xyz"))?;
        if std::mem::replace(&mut mesh[dimension], true) {
            return Err(format!("`{letter}` occurs twice; use each letter of xyz at most once"));
        }
    }
    Ok(mesh)
}

/// One end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LinkEnd {
    pub rank: u32,
    /// Side of the node.
    pub side: Direction,
}

/// Returns all links, each once: from a node's plus side to its neighbour's minus side. A dimension of extent 1
/// contains none; a torus of extent 2 contains two between the same nodes; a mesh does not wrap around.
pub fn links(shape: &Shape) -> Vec<[LinkEnd; 2]> {
    let mut links = Vec::new();
    for rank in 0..shape.nodes() {
        let place = shape.coord(rank).expect("below the number of nodes");
        for dimension in 0..3 {
            let [plus, minus] = [Direction::ALL[2 * dimension], Direction::ALL[2 * dimension + 1]];
            if let Some(neighbour) = successor(shape, place, dimension) {
                let neighbour = shape.rank(neighbour).expect("inside the shape");
                links.push([
                    LinkEnd { rank, side: plus },
                    LinkEnd {
                        rank: neighbour,
                        side: minus,
                    },
                ]);
            }
        }
    }
    links
}

/// Returns the next node in the positive direction of `dimension`, if there is a link.
fn successor(shape: &Shape, place: Coord, dimension: usize) -> Option<Coord> {
    let extent = shape.extents()[dimension];
    let mut next = place;
    let at = [&mut next.x, &mut next.y, &mut next.z].into_iter().nth(dimension)?;
    if u16::from(*at) + 1 < extent {
        *at += 1;
    } else if extent > 1 && shape.wraps()[dimension] {
        *at = 0;
    } else {
        return None;
    }
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn shape(extents: [u16; 3], wraps: [bool; 3]) -> Shape {
        Shape::new(extents, wraps).unwrap()
    }

    #[test]
    fn extents_are_read_or_refused_with_one_line() {
        assert_eq!(parse_extents("2x3x4"), Ok([2, 3, 4]));
        assert_eq!(parse_extents("256x1x1"), Ok([256, 1, 1]));
        for text in [
            "0x2x2",
            "2x2",
            "axb",
            "2x2x2x2",
            "",
            "x",
            "2xx2",
            "257x1x1",
            "+2x2x2",
            "99999x1x1",
        ] {
            let error = parse_extents(text).unwrap_err();
            assert!(!error.contains('\n') && !error.is_empty(), "{text}: {error}");
        }
    }

    #[test]
    fn a_number_of_nodes_is_arranged_nearly_as_a_cube() {
        for (nodes, extents) in [
            ("1", [1, 1, 1]),
            ("2", [2, 1, 1]),
            ("8", [2, 2, 2]),
            ("12", [3, 2, 2]),
            ("32", [4, 4, 2]),
            ("7", [7, 1, 1]),
            ("30", [5, 3, 2]),
            ("1024", [16, 8, 8]),
            ("16777216", [256, 256, 256]),
        ] {
            assert_eq!(parse_nodes(nodes), Ok(extents));
        }
        for text in ["0", "-1", "x", "", "257", "16777217"] {
            assert!(parse_nodes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn mesh_dimensions_are_read() {
        assert_eq!(parse_mesh(""), Ok([false; 3]));
        assert_eq!(parse_mesh("zX"), Ok([true, false, true]));
        for wrong in ["w", "xx", "xyX"] {
            assert!(parse_mesh(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_side_is_used_at_most_once() {
        for extents in [[1, 1, 1], [2, 2, 2], [4, 2, 1], [3, 3, 3], [5, 1, 2]] {
            for wraps in [[true; 3], [false; 3], [true, false, true]] {
                let mut seen = HashSet::new();
                for end in links(&shape(extents, wraps)).into_iter().flatten() {
                    assert!(seen.insert(end), "{end:?} twice in {extents:?} {wraps:?}");
                }
            }
        }
    }

    #[test]
    fn a_torus_has_one_link_per_node_and_dimension_of_more_than_one() {
        assert_eq!(links(&shape([2, 2, 2], [true; 3])).len(), 24);
        assert_eq!(links(&shape([4, 2, 1], [true; 3])).len(), 16);
        assert_eq!(links(&shape([1, 1, 1], [true; 3])).len(), 0);
    }

    #[test]
    fn a_mesh_has_no_link_around_the_edge() {
        assert_eq!(links(&shape([2, 2, 2], [false; 3])).len(), 12);
        assert_eq!(links(&shape([4, 1, 1], [false; 3])).len(), 3);
        let one = links(&shape([2, 1, 1], [false; 3]));
        let [a, b] = one[0];
        assert_eq!((a.rank, a.side), (0, Direction::XPlus));
        assert_eq!((b.rank, b.side), (1, Direction::XMinus));
    }

    #[test]
    fn a_ring_of_two_has_two_links_that_cross() {
        let links = links(&shape([1, 2, 1], [true; 3]));
        assert_eq!(links.len(), 2);
        for [a, b] in links {
            assert_eq!(a.side, Direction::YPlus);
            assert_eq!(b.side, Direction::YMinus);
            assert_ne!(a.rank, b.rank);
        }
    }
}
