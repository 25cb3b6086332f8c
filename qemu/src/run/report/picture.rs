//! Drawing of a job's packets: the torus, with a line for each link.
//!
//! The drawing is an oblique projection: x to the right, y downwards, z backwards, to the upper right. A link that wraps
//! around a dimension is a short line at both of its ends. Where a dimension has two nodes, two links connect them, and
//! both are drawn. Colour and width of a line represent the packets that its ends have sent.

use super::{JobFacts, NodeCounters, links_of};
use crate::host::error::CliError;
use crate::run::job_result::JobResult;
use crate::run::outcome::ObservedNode;
use crate::show::plot::{self, NetworkDrawing, NetworkLine, NetworkNode};
use midplane_abi::counters::{ChannelCounter, Counter, LinkCounters};
use net_torus::{Coord, Direction, Shape};

/// Maximum number of nodes of a drawing.
pub const MAX_DRAWN_NODES: u32 = 512;
/// Distance of two nodes along z in pixels.
const DEPTH: (i32, i32) = (84, 60);
/// Space along x and y between the nodes of different z, in pixels.
const SPACE: (i32, i32) = (96, 84);
/// Space to the left of and above the nodes in pixels.
const MARGIN: (i32, i32) = (100, 30);
/// Distance of the two lines between the same nodes, from their middle, in pixels.
const APART: i32 = 5;
/// Length of a line that wraps around.
const STUB: f64 = 0.3;

/// Draws the packets of a job.
///
/// # Errors
/// Returns a failure if the drawing fails.
pub fn draw(shape: &Shape, job: &JobFacts, end: &JobResult) -> Result<String, CliError> {
    let program = job.program.rsplit('/').next().unwrap_or_default();
    let words = [&[program.to_string()], &job.arguments[..]].concat().join(" ");
    let [x, y, z] = shape.extents();
    let heading = format!(
        "{words}: packets by link on {x}x{y}x{z} nodes\n{} bytes of MPI memory a node; NCTS: rejected messages",
        job.mpi_memory
    );
    let nodes = { end.nodes.iter() }.map(|node| {
        let counters = NodeCounters::from_node(node);
        let rejected = counters.get(Counter::NctsSent);
        NetworkNode {
            at: position(shape, node.coord),
            name: node.rank.to_string(),
            note: if rejected > 0 {
                format!("{rejected} NCTS")
            } else {
                String::new()
            },
        }
    });
    let drawing = NetworkDrawing {
        heading: &heading,
        lines: end.nodes.iter().flat_map(|node| lines_of(shape, node)).collect(),
        nodes: nodes.collect(),
        unit: "packets",
    };
    plot::network(&drawing)
}

/// Returns the centre of a node in pixels.
fn position(shape: &Shape, coord: Coord) -> (i32, i32) {
    let depth = i32::from(shape.extents()[2]) - 1;
    let [x, y, z] = [coord.x, coord.y, coord.z].map(i32::from);
    let (across, down) = (SPACE.0 + depth * DEPTH.0, SPACE.1 + depth * DEPTH.1);
    (
        MARGIN.0 + x * across + z * DEPTH.0,
        MARGIN.1 + y * down + (depth - z) * DEPTH.1,
    )
}

/// Returns the lines of the links that a node transmits on: half of a line, from the node to the middle.
fn lines_of(shape: &Shape, node: &ObservedNode) -> Vec<NetworkLine> {
    let from = position(shape, node.coord);
    let links = links_of(shape, node).into_iter();
    let line = |(direction, _, counters): (Direction, u32, &LinkCounters)| {
        let there = shape.neighbour(node.coord, direction)?;
        let value = counters.all_channels_counter(ChannelCounter::PacketsSent) as f64;
        let axis = direction as usize / 2;
        let at = |coord: Coord| i32::from([coord.x, coord.y, coord.z][axis]);
        let is_pair = shape.extents()[axis] == 2;
        let is_near = (at(there) - at(node.coord)).abs() == 1;
        let step = unit(shape, axis);
        let sign = if is_near {
            at(there) - at(node.coord)
        } else if direction.is_plus() {
            // A wrapped link leaves the drawing.
            1
        } else {
            -1
        };
        let length = if is_near { 0.5 } else { STUB };
        let side = match (is_pair, direction.is_plus() == (at(node.coord) == 0)) {
            (false, _) => 0,
            (true, true) => APART,
            (true, false) => -APART,
        };
        // Sideways: across the line.
        let across = if step.0.abs() >= step.1.abs() {
            (0, side)
        } else {
            (side, 0)
        };
        let moved = |share: f64| {
            let [dx, dy] = [step.0, step.1].map(|step| (f64::from(sign * step) * share).round() as i32);
            (from.0 + dx + across.0, from.1 + dy + across.1)
        };
        Some(NetworkLine {
            ends: [moved(0.0), moved(length)],
            value,
        })
    };
    links.filter_map(line).collect()
}

/// Returns the distance of two neighbours along an axis in pixels.
fn unit(shape: &Shape, axis: usize) -> (i32, i32) {
    let origin = position(shape, Coord { x: 0, y: 0, z: 0 });
    let mut next = [0_u8; 3];
    next[axis] = 1;
    let [x, y, z] = next;
    let there = position(shape, Coord { x, y, z });
    (there.0 - origin.0, there.1 - origin.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_a_machine_have_different_positions() {
        for extents in [[2, 2, 2], [8, 8, 8], [1, 1, 9], [5, 1, 3]] {
            let shape = Shape::new(extents, [true; 3]).expect("a shape");
            let coords = (0..shape.nodes()).filter_map(|rank| shape.coord(rank));
            let mut all: Vec<(i32, i32)> = coords.map(|coord| position(&shape, coord)).collect();
            let count = all.len();
            assert!(all.iter().all(|(x, y)| *x >= MARGIN.0 && *y >= MARGIN.1), "{extents:?}");
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count, "{extents:?}");
        }
    }
}
