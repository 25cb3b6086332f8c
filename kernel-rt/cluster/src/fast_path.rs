//! A simulated process with the fast path of messages, like nodes and Linux processes.
//!
//! The simulator's own host does not: its virtual time and its random choices are those of the slow path.
#![forbid(unsafe_code)]

use midplane_device::Adi;
use midplane_device::interface::{EnterDevice, FastRecv, FastSend, IncomingMessage, OutgoingMessage, Work, finish};
use midplane_device::kernel::Kernel;
use midplane_device::request::{PlainCompletion, RequestId};
use midplane_objects::{Env, Process};

use crate::SimProcess;

/// A process with the fast path.
pub struct FastNode<'a, 'b, 'm>(pub &'a SimProcess<'b, 'm>);

impl FastNode<'_, '_, '_> {
    /// Enters the device once, and makes a step of progress if a packet must be transmitted.
    fn run<R>(&self, mut work: impl FnMut(&mut Adi, &mut dyn Kernel) -> R) -> R {
        let mut result = None;
        self.0.enter(&mut |adi, kernel| {
            result = Some(work(adi, kernel));
            if adi.has_pending_tx() {
                kernel.poll(adi);
            }
        });
        result.expect("the work is done")
    }
}

impl EnterDevice for FastNode<'_, '_, '_> {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        self.0.enter(work);
    }

    fn fast_send(&self, &OutgoingMessage { to, span }: &OutgoingMessage) -> FastSend {
        let mut result = FastSend::Unavailable;
        self.0.enter(&mut |adi, kernel| {
            result = adi.send_fast(kernel.memory(), &to, span);
            if adi.has_pending_tx() {
                kernel.poll(adi);
            }
            // The process may make no further call, and nothing else transmits for it.
            if result == FastSend::Complete && !adi.are_copies_sent() {
                result = FastSend::Copied;
            }
        });
        result
    }

    fn fast_receive(&self, function: &'static str, &IncomingMessage { pattern, span }: &IncomingMessage) -> FastRecv {
        self.run(|adi, kernel| {
            let received = adi.receive_fast(kernel.memory(), &pattern, span);
            match received {
                FastRecv::Started(id) => match finish(adi, kernel, function, id) {
                    Some(whole) => FastRecv::Complete(whole),
                    None => received,
                },
                _ => received,
            }
        })
    }

    fn fast_start_receive(&self, &IncomingMessage { pattern, span }: &IncomingMessage) -> Option<RequestId> {
        self.run(|adi, kernel| {
            let started = adi.start_receive_fast(kernel.memory(), &pattern, span);
            started.ok().map(|(id, _)| id)
        })
    }

    fn fast_wait(&self, function: &'static str, id: RequestId) -> Option<PlainCompletion> {
        self.run(|adi, kernel| finish(adi, kernel, function, id))
    }
}

impl Env for FastNode<'_, '_, '_> {
    fn process(&self) -> &Process {
        self.0.process()
    }
}
