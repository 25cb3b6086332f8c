//! A simulated process with the fast path of messages, like nodes and Linux processes.
//!
//! The simulator's own host does not: its virtual time and its random choices are those of the slow path.
#![forbid(unsafe_code)]

use midplane_device::Adi;
use midplane_device::interface::{Enter, Incoming, Outgoing, Received, Sent, Work, finish};
use midplane_device::kernel::Kernel;
use midplane_device::request::{RequestId, Whole};
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
            if adi.has_to_send() {
                kernel.poll(adi);
            }
        });
        result.expect("the work is done")
    }
}

impl Enter for FastNode<'_, '_, '_> {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        self.0.enter(work);
    }

    fn fast_send(&self, &Outgoing { to, span }: &Outgoing) -> Sent {
        let mut result = Sent::Not;
        self.0.enter(&mut |adi, kernel| {
            result = adi.send_fast(kernel.memory(), &to, span);
            if adi.has_to_send() {
                kernel.poll(adi);
            }
            // The process may make no further call, and nothing else transmits for it.
            if result == Sent::Complete && !adi.have_copies_left() {
                result = Sent::Copied;
            }
        });
        result
    }

    fn fast_receive(
        &self,
        function: &'static str,
        &Incoming { pattern, span }: &Incoming,
    ) -> Received {
        self.run(|adi, kernel| {
            let received = adi.receive_fast(kernel.memory(), &pattern, span);
            match received {
                Received::Started(id) => match finish(adi, kernel, function, id) {
                    Some(whole) => Received::Complete(whole),
                    None => received,
                },
                _ => received,
            }
        })
    }

    fn fast_start_receive(&self, &Incoming { pattern, span }: &Incoming) -> Option<RequestId> {
        self.run(|adi, kernel| {
            let started = adi.start_receive_fast(kernel.memory(), &pattern, span);
            started.ok().map(|(id, _)| id)
        })
    }

    fn fast_wait(&self, function: &'static str, id: RequestId) -> Option<Whole> {
        self.run(|adi, kernel| finish(adi, kernel, function, id))
    }
}

impl Env for FastNode<'_, '_, '_> {
    fn process(&self) -> &Process {
        self.0.process()
    }
}
