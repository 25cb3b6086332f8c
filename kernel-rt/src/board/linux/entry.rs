//! Entry of calls into the device of the process, for the language bindings.

use midplane_device::interface::{EnterDevice, FastRecv, FastSend, IncomingMessage, OutgoingMessage, Work};
use midplane_device::request::{PlainCompletion, RequestId};
use midplane_objects::Env;

use super::clock::now_ns;
use super::node_lock::with_node;
use super::platform::LinuxNode;
use super::{heap, node_sleep, progress_thread};

/// This node's device, for the language bindings.
pub struct LinuxEnv;

impl Env for LinuxEnv {
    fn process(&self) -> &midplane_objects::Process {
        static PROCESS: midplane_objects::Process = midplane_objects::Process::new();
        &PROCESS
    }
}

impl EnterDevice for LinuxEnv {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        in_call(|node| node.enter(work));
    }

    fn now_ns(&self) -> u64 {
        now_ns()
    }

    fn fast_send(&self, outgoing: &OutgoingMessage) -> FastSend {
        with_node(|node| {
            if node.send_to_hand(outgoing) {
                FastSend::Complete
            } else {
                send_fast(node, outgoing)
            }
        })
    }

    fn fast_receive(&self, function: &'static str, incoming: &IncomingMessage) -> FastRecv {
        in_call(|node| node.fast_receive(function, incoming))
    }

    fn fast_start_receive(&self, incoming: &IncomingMessage) -> Option<RequestId> {
        with_node(|node| match node.keep_at_hand(incoming) {
            None => start_fast(node, incoming),
            kept => kept,
        })
    }

    fn fast_wait(&self, function: &'static str, id: RequestId) -> Option<PlainCompletion> {
        with_node(|node| match node.conclude_at_hand(id) {
            None => wait_fast(node, function, id),
            whole => whole,
        })
    }
}

// The uncached cases are separate calls, so that the cached ones need not save their registers.

#[inline(never)]
fn send_fast(node: &mut LinuxNode, outgoing: &OutgoingMessage) -> FastSend {
    within(node, |node| node.fast_send(outgoing))
}

#[inline(never)]
fn start_fast(node: &mut LinuxNode, incoming: &IncomingMessage) -> Option<RequestId> {
    within(node, |node| node.fast_start_receive(incoming))
}

#[inline(never)]
fn wait_fast(node: &mut LinuxNode, function: &'static str, id: RequestId) -> Option<PlainCompletion> {
    within(node, |node| node.fast_wait(function, id))
}

/// Runs the work of a call that locks the node.
#[inline]
pub fn in_call<R>(work: impl FnOnce(&mut LinuxNode) -> R) -> R {
    with_node(|node| within(node, work))
}

/// Runs the work of a call on the locked node.
#[inline]
fn within<R>(node: &mut LinuxNode, work: impl FnOnce(&mut LinuxNode) -> R) -> R {
    if heap::is_free_wanted() {
        node.heap_freed();
    }
    let result = work(node);
    if node_sleep::take_delayed() {
        node.end_call_of_links();
    }
    progress_thread::on_call_end(node);
    result
}
