//! Progress engine: one bounded step of the device, and the table of packet handlers.
#![forbid(unsafe_code)]

use msg_layer::{HandlerTable, Port};

use crate::adi::Adi;
use crate::config::STEP_PACKETS;
use crate::handlers::{self, HandlerContext};
use crate::memory::UserMemory;
use crate::protocol::ProtocolRules;
use crate::wire;

impl<R: ProtocolRules, M: UserMemory + ?Sized> HandlerContext<'_, R, M> {
    const HANDLERS: HandlerTable<Self> = HandlerTable::new()
        .request::<{ wire::RTS }>(handlers::on_rts::<R, M>)
        .request::<{ wire::DATA }>(handlers::on_data::<R, M>)
        .request::<{ wire::EAGER }>(handlers::on_eager::<R, M>)
        .request::<{ wire::DONE }>(handlers::on_done::<R, M>)
        .reply::<{ wire::CTS }>(handlers::on_cts::<R, M>)
        .reply::<{ wire::NCTSD }>(handlers::on_nctsd::<R, M>)
        .reply::<{ wire::NCTS }>(handlers::on_ncts::<R, M>)
        .reply::<{ wire::RESTART }>(handlers::on_restart::<R, M>)
        .request::<{ wire::CANCEL }>(handlers::on_cancel::<R, M>)
        .reply::<{ wire::ARRIVE }>(handlers::on_arrive::<R, M>)
        .reply::<{ wire::RELEASE }>(handlers::on_release::<R, M>)
        .reply::<{ wire::TELL }>(handlers::on_tell::<R, M>);
}

impl<R: ProtocolRules> Adi<R> {
    /// Performs one bounded progress step. Passes at most [`STEP_PACKETS`] received packets to their handlers, and no
    /// more than the [preallocated pages allow](crate::peers); injects at most as many of its own. Does not block and
    /// does not allocate. Returns whether anything was done.
    pub fn progress<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &mut M) -> bool {
        // Pending replies first: a flood of RTSs, each answered immediately, must not use up all injection slots.
        let owed = self.send_priority(port, memory);
        let here = self.identity.here;
        let packets = STEP_PACKETS.min(self.peers.packets());
        let mut context = HandlerContext { adi: self, memory };
        let taken = msg_layer::progress(port, here, &HandlerContext::<R, M>::HANDLERS, &mut context, packets);
        let answered = self.send_priority(port, memory) + self.send_barrier(port);
        let sent = self.send_pending(port, memory) + self.send_extensions(port, memory);
        // Received packets are likely to be followed by more, or by a packet that can piggyback the acknowledgement.
        let leave_alone = taken > 0 || !self.has_delayed_acks() || self.receiver.delays_acks;
        let deferred = if leave_alone { 0 } else { self.send_delayed_acks(port) };
        let events = owed + taken + answered + deferred + sent;
        self.count_events(events);
        events > 0
    }
}
