//! The one node of this image, for the program's calls and the interrupts.
//!
//! Functions inlined here run on each call and interrupt: [`hot_path!`](crate::hot_path) compiles them for speed.
#![forbid(unsafe_code)]

use core::cell::RefCell;

use critical_section::Mutex;
use midplane_abi::blackboard::FailureCode;
use midplane_abi::failure::FailureReason;
use midplane_abi::personality::{ExitAction, LOGS};
use midplane_abi::status::exit_byte;
pub use midplane_device::interface::{EnterDevice, FastRecv, FastSend, IncomingMessage, OutgoingMessage, Work};
pub use midplane_device::request::{PlainCompletion, RequestId};
pub use midplane_objects::{Env, Process};

use crate::abort::end;
use crate::board::platform::{BoardNode, NodeStorage};
use crate::board::{hot_path, system, timer};
pub use crate::clock::now_ns;
use crate::records::{MIDPLANE_BLACKBOARD, personality};
use crate::{arch, clock, console};

static NODE: Mutex<RefCell<NodeSlot>> = Mutex::new(RefCell::new(NodeSlot::Empty));

/// An `Option` whose empty value is all zeros, so that the node uses no space in the image's data.
#[repr(u8)]
#[cfg_attr(
    target_arch = "riscv64",
    expect(clippy::large_enum_variant, reason = "there is one, and it is a static")
)]
enum NodeSlot {
    Empty = 0,
    Node(NodeStorage) = 1,
}

impl NodeSlot {
    fn as_ref(&self) -> Option<&BoardNode> {
        match self {
            NodeSlot::Empty => None,
            NodeSlot::Node(node) => Some(node),
        }
    }

    fn as_mut(&mut self) -> Option<&mut BoardNode> {
        match self {
            NodeSlot::Empty => None,
            NodeSlot::Node(node) => Some(node),
        }
    }
}

/// Installs the node, for the program and for interrupts.
pub fn set(node: NodeStorage) {
    let mut node = NodeSlot::Node(node);
    critical_section::with(|cs| core::mem::swap(&mut *NODE.borrow_ref_mut(cs), &mut node));
    // The slot was empty; code to drop a node would add some kilobytes without use.
    core::mem::forget(node);
}

/// Returns the MPI state of this node's process.
#[inline]
pub fn process() -> &'static Process {
    static PROCESS: Process = Process::new();
    &PROCESS
}

#[inline(always)]
fn with_node<R>(work: impl FnOnce(&mut BoardNode) -> R) -> R {
    critical_section::with(|cs| match NODE.borrow_ref_mut(cs).as_mut() {
        Some(node) => work(node),
        None => unreachable!("the program runs after the node is set up"),
    })
}

/// Calls [`BoardNode`]'s `fast_send`.
#[inline]
pub fn fast_send(outgoing: &OutgoingMessage) -> FastSend {
    with_node(|node| node.fast_send(outgoing))
}

/// Calls [`BoardNode`]'s `fast_receive`.
#[inline]
pub fn fast_receive(function: &'static str, incoming: &IncomingMessage) -> FastRecv {
    console::flush();
    with_node(|node| node.fast_receive(function, incoming))
}

/// Calls [`BoardNode`]'s `fast_start_receive`.
#[inline]
pub fn fast_start_receive(incoming: &IncomingMessage) -> Option<RequestId> {
    with_node(|node| node.fast_start_receive(incoming))
}

/// Calls [`BoardNode`]'s `fast_wait`.
#[inline]
pub fn fast_wait(function: &'static str, id: RequestId) -> Option<PlainCompletion> {
    console::flush();
    with_node(|node| node.fast_wait(function, id))
}

/// Runs `work` with the node's device; see [`BoardNode`]'s `enter`.
#[inline]
pub fn enter(work: &mut Work<'_>) {
    // Publish incomplete lines before a call that may block.
    console::flush();
    critical_section::with(|cs| {
        let mut node = NODE.borrow_ref_mut(cs);
        let Some(node) = node.as_mut() else {
            unreachable!("the program runs after the node is set up");
        };
        node.enter(work);
    });
}

/// Handles an interrupt while the program computes; see [`BoardNode`]'s `interrupted`.
#[inline]
pub fn interrupt() {
    critical_section::with(|cs| {
        let mut node = NODE.borrow_ref_mut(cs);
        let Some(node) = node.as_mut() else {
            return;
        };
        node.acknowledge();
        // An incomplete line may have waited for the timer.
        console::flush();
        node.interrupted();
    });
}

/// Notifies the device that the heap has memory it may be waiting for. The device's own frees, when it returns loans,
/// arrive here too and are ignored.
#[inline]
pub fn heap_freed() {
    critical_section::with(|cs| {
        if let Ok(mut node) = NODE.borrow(cs).try_borrow_mut()
            && let Some(node) = node.as_mut()
        {
            node.heap_freed();
        }
    });
}

/// Updates the blackboard, unless the node is in use.
#[inline]
pub fn publish() {
    critical_section::with(|cs| {
        if let Ok(node) = NODE.borrow(cs).try_borrow()
            && let Some(node) = node.as_ref()
        {
            node.publish();
        }
    });
}

/// Returns whether the node is in use, so that the caller was called by it.
#[cfg(all(target_arch = "arm", feature = "options"))]
pub fn is_at_work() -> bool {
    critical_section::with(|cs| NODE.borrow(cs).try_borrow().is_err())
}

/// Sleeps for `ns` nanoseconds; interrupts are handled meanwhile.
pub fn sleep(ns: u64) {
    console::flush();
    let deadline = arch::ticks().saturating_add(clock::ticks_of(ns));
    loop {
        let slept = critical_section::with(|cs| {
            let now = arch::ticks();
            if now >= deadline {
                return true;
            }
            // Interrupts are masked: an interrupt now ends the sleep and is handled right after.
            timer::wake_by(deadline);
            arch::wait_for_interrupt();
            if let Some(node) = NODE.borrow_ref_mut(cs).as_mut() {
                node.slept(arch::ticks() - now);
            }
            false
        });
        if slept {
            return;
        }
    }
}

/// Handles the end of the program. Publishes its output and its status, then continues to forward for other nodes, or
/// exits the emulator if the boot parameters specify that.
pub fn finish(status: i32) -> ! {
    if midplane_objects::installed::phase() == midplane_objects::installed::MpiPhase::Running {
        let why = FailureReason::NotFinalized(status);
        end(FailureCode::MpiError, if status == 0 { 1 } else { status }, why);
    }
    console::flush();
    hot_path::publish();
    if LOGS {
        defmt::info!("program ended with status {=i32}", status);
    }
    MIDPLANE_BLACKBOARD.call(None);
    MIDPLANE_BLACKBOARD.done(status);
    console::ring();
    if personality().is_some_and(|p| p.exit == ExitAction::Test) {
        system::exit(exit_byte(status));
    }
    hot_path::forward()
}

/// Forwards for other nodes, forever.
#[inline]
pub fn forward() -> ! {
    critical_section::with(|cs| {
        let mut node = NODE.borrow_ref_mut(cs);
        let Some(node) = node.as_mut() else {
            arch::park();
        };
        loop {
            node.forward();
        }
    })
}
