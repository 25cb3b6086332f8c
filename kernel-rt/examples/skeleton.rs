//! Skeleton of a board: everything that a node requires, over links and a clock in memory. docs/porting.md explains it.
//! Entry, traps and the devices behind the console are specific to each board.
//!
//! `cargo run -p kernel-rt --example skeleton` runs a barrier of two such nodes.

use kernel_rt::node::{Node, NodeLink, Platform};
use midplane_abi::blackboard::Blackboard;
use midplane_device::envelope::Rank;
use midplane_device::kernel::{AbortReason, HeapUsage};
use midplane_device::memory::RawMemory;
use midplane_device::{Adi, DeviceConfig, DeviceMemory};
use net_torus::link::Link;
use net_torus::router::{BufferSizes, Router};
use net_torus::wire::MIN_MTU;
use net_torus::{Coord, Direction, Shape, Torus};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Outstanding frames in one direction.
type Frames = Rc<RefCell<VecDeque<Vec<u8>>>>;

/// Maximum number of outstanding frames in one direction.
const ROOM: usize = 4;

/// A link: here in memory, on a board a device. It must neither lose nor change frames; otherwise use it below
/// `net_torus::ReliableLink`.
struct BoardLink {
    goes: Frames,
    comes: Frames,
}

impl Link for BoardLink {
    fn mtu(&self) -> usize {
        MIN_MTU
    }

    fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
        let frame = self.comes.borrow_mut().pop_front();
        frame.map(|frame| f(&frame)).is_some()
    }

    fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
        if self.goes.borrow().len() == ROOM {
            return false;
        }
        let mut frame = vec![0; MIN_MTU];
        let bytes = f(&mut frame);
        frame.truncate(bytes);
        if bytes > 0 {
            self.goes.borrow_mut().push_back(frame);
        }
        true
    }
}

impl NodeLink for BoardLink {
    /// Disables the device's interrupt.
    fn mask_interrupts(&mut self) {}

    /// Enables the interrupt, and only then checks for received frames.
    fn prepare_sleep(&mut self) -> bool {
        self.comes.borrow().is_empty()
    }

    fn defects(&self) -> u64 {
        0
    }
}

struct Board {
    memory: RawMemory,
    blackboard: Blackboard,
    clock: std::cell::Cell<u64>,
}

impl Platform<BoardLink> for Board {
    type Memory = RawMemory;

    // Clock.
    fn ticks(&self) -> u64 {
        self.clock.set(self.clock.get() + 1);
        self.clock.get()
    }

    fn ns(&self, ticks: u64) -> u64 {
        1000 * ticks
    }

    // Idle.
    fn wake_in(&mut self, _ns: u64) {
        // Sets a timer whose interrupt ends `wait`.
    }

    fn wait(&mut self) {
        // Executes `wfi`, or the processor's equivalent.
    }

    fn is_interrupted(&self) -> bool {
        // Without a device to check: possibly.
        true
    }

    fn acknowledge(&mut self, _links: &mut [Option<BoardLink>; 6]) {
        // Clears the interrupts of the timer and the links.
    }

    // Heap.
    fn memory(&mut self) -> &mut RawMemory {
        &mut self.memory
    }

    fn lends(&self) -> bool {
        false
    }

    fn report_frees(&mut self, _wanted: bool) {}

    fn heap(&self) -> HeapUsage {
        HeapUsage { bytes: 0, used: 0 }
    }

    fn heap_peak_bytes(&self) -> u64 {
        0
    }

    // Console and exit.
    fn blackboard(&self) -> &Blackboard {
        &self.blackboard
    }

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        eprintln!("aborted: {why:?}");
        std::process::exit(status)
    }
}

/// Boots one node: the part of board/*/boot.rs after device initialization.
fn boot(shape: Shape, here: Coord, links: [Option<BoardLink>; 6]) -> Node<BoardLink, Board> {
    const SIZES: BufferSizes = BufferSizes::SMALLEST;
    let chunks = vec![[0; 32]; SIZES.chunks()].leak();
    let router = Router::new(shape, here, SIZES, chunks).expect("sizes that are legal");
    let torus = Torus::new(router, links).expect("the links of this place");
    let config = DeviceConfig {
        shape,
        rank: Rank::new(shape.rank(here).expect("inside the torus")),
        request_slots: 16,
    };
    let memory = DeviceMemory::allocate(4096, shape.nodes() as usize).expect("memory");
    let adi = Adi::new(config, memory).expect("memory enough");
    let platform = Board {
        memory: RawMemory,
        blackboard: Blackboard::new(),
        clock: std::cell::Cell::new(0),
    };
    platform.blackboard.begin();
    let node = Node::new(adi, torus, platform);
    node.publish();
    node
}

/// Runs a barrier of two nodes, linked in both directions around a ring of two.
fn main() {
    let shape = Shape::new([2, 1, 1], [true; 3]).expect("extents");
    let ways: [Frames; 4] = Default::default();
    let mut nodes: Vec<_> = (0..2)
        .map(|x: u8| {
            let mut links = [const { None }; 6];
            for (d, one, other) in [(Direction::XPlus, 0, 1), (Direction::XMinus, 2, 3)] {
                // The output of x+ is the input of the neighbour's x-.
                let (goes, comes) = match (x, d) {
                    (0, _) => (one, other),
                    (_, Direction::XPlus) => (3, 2),
                    (_, _) => (1, 0),
                };
                links[d as usize] = Some(BoardLink {
                    goes: ways[goes].clone(),
                    comes: ways[comes].clone(),
                });
            }
            boot(shape, Coord { x, y: 0, z: 0 }, links)
        })
        .collect();
    for node in &mut nodes {
        node.enter(&mut |adi, _| adi.enter_barrier());
    }
    let mut left = [false; 2];
    while left != [true; 2] {
        for (node, left) in nodes.iter_mut().zip(&mut left) {
            node.interrupted();
            node.enter(&mut |adi, _| *left |= adi.leave_barrier());
        }
    }
    println!("both nodes have met");
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_nodes_of_the_skeleton_meet() {
        super::main();
    }
}
