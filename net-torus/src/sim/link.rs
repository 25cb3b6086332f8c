//! In-memory links.

use crate::coord::{Direction, Shape};
use crate::link::Link;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum frame of an in-memory link: that of Ethernet, like the links of emulated nodes.
pub const MTU: usize = 1514;
/// Maximum number of frames in flight per direction; [`Link::transmit`] rejects more.
pub const IN_FLIGHT: usize = 16;

#[derive(Default)]
struct WireFrames {
    frames: VecDeque<Vec<u8>>,
    /// Free buffers, so that a link in use allocates nothing.
    spare: Vec<Vec<u8>>,
}

/// One end of an in-memory link. Reliable and in order; can be moved to another thread.
pub struct SimLink {
    incoming: Arc<Mutex<WireFrames>>,
    outgoing: Arc<Mutex<WireFrames>>,
}

fn lock(wire: &Mutex<WireFrames>) -> MutexGuard<'_, WireFrames> {
    // A panic elsewhere with the lock held cannot corrupt frames.
    wire.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link for SimLink {
    fn mtu(&self) -> usize {
        MTU
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        let Some(frame) = lock(&self.incoming).frames.pop_front() else {
            return false;
        };
        f(&frame);
        lock(&self.incoming).spare.push(frame);
        true
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let mut wire = lock(&self.outgoing);
        if wire.frames.len() >= IN_FLIGHT {
            return false;
        }
        let mut frame = wire.spare.pop().unwrap_or_default();
        frame.resize(MTU, 0);
        let len = f(&mut frame).min(MTU);
        frame.truncate(len);
        if len > 0 {
            wire.frames.push_back(frame);
        } else {
            wire.spare.push(frame);
        }
        true
    }
}

impl SimLink {
    /// Checks whether a received frame waits.
    pub fn has_input(&self) -> bool {
        !lock(&self.incoming).frames.is_empty()
    }
}

/// Creates both ends of a link.
pub fn pair() -> (SimLink, SimLink) {
    let (a, b) = (
        Arc::new(Mutex::new(WireFrames::default())),
        Arc::new(Mutex::new(WireFrames::default())),
    );
    (
        SimLink {
            incoming: a.clone(),
            outgoing: b.clone(),
        },
        SimLink {
            incoming: b,
            outgoing: a,
        },
    )
}

/// Creates the links of a machine: each node's link ends, by rank, then by direction.
pub fn wire_torus(shape: &Shape) -> Vec<[Option<SimLink>; 6]> {
    let mut nodes: Vec<[Option<SimLink>; 6]> = (0..shape.nodes()).map(|_| Default::default()).collect();
    for rank in 0..shape.nodes() {
        let here = shape.coord(rank).expect("a rank below the number of nodes");
        for d in [Direction::XPlus, Direction::YPlus, Direction::ZPlus] {
            let Some(there) = shape.neighbour(here, d).and_then(|c| shape.rank(c)) else {
                continue;
            };
            let (near, far) = pair();
            nodes[rank as usize][d as usize] = Some(near);
            nodes[there as usize][d.opposite() as usize] = Some(far);
        }
    }
    nodes
}
