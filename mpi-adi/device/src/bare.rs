//! Device without the protocol, to measure the protocol's cost. Every message is short, travels with its RTS
//! immediately, is complete once sent, and must find its receive posted. There are no replies, ages, pending send
//! queues, records or peers; requests, matching, wire format and message layer are the device's own.
//!
//! Not for programs: a message without a posted receive is lost, and counted.
#![forbid(unsafe_code)]

use msg_layer::header::Header;
use msg_layer::{
    HandlerTable, LayerContext, LayerStats, MalformedPacket, Port, ReceivedPacket, ReplyPacket, TrafficClass, tx,
};
use net_torus::coord::{Coord, Shape};

use crate::config::STEP_PACKETS;
use crate::envelope::{MatchPattern, Rank};
use crate::ids::Slot;
use crate::list::List;
use crate::matching::{ListEngine, Matching};
use crate::memory::{Span, UserMemory};
use crate::request::{
    MatchedMessage, PoolFull, PostedReceive, ReceiveRequest, ReceiveState, Request, RequestId, RequestOutcome,
    RequestPool, SendData, SendState,
};
use crate::send::SendTo;
use crate::wire::{self, INLINE_BYTES, Rts};

/// A device without the protocol.
#[derive(Debug)]
pub struct BareDevice {
    shape: Shape,
    here: Coord,
    requests: RequestPool,
    matching: ListEngine,
    unsent: List<Slot>,
    lost: u64,
    layer: LayerStats,
}

struct HandlerContext<'a, M: ?Sized> {
    bare: &'a mut BareDevice,
    memory: &'a mut M,
}

impl<M: UserMemory + ?Sized> HandlerContext<'_, M> {
    const HANDLERS: HandlerTable<Self> = HandlerTable::new().request::<{ wire::RTS }>(on_rts::<M>);
}

impl<M: ?Sized> LayerContext for HandlerContext<'_, M> {
    #[inline]
    fn stats(&mut self) -> &mut LayerStats {
        &mut self.bare.layer
    }
}

impl BareDevice {
    /// Creates the device of the process at `here`; returns `None` when the coordinates do not exist.
    pub fn new(shape: Shape, here: Coord) -> Option<BareDevice> {
        shape.rank(here)?;
        Some(BareDevice {
            shape,
            here,
            requests: RequestPool::new(crate::request::MAX_SLOTS),
            matching: ListEngine::default(),
            unsent: List::default(),
            lost: 0,
            layer: LayerStats::default(),
        })
    }

    /// Returns the number of messages without a posted receive.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Starts a send; see [`crate::Adi::isend`].
    ///
    /// # Panics
    /// When the message is longer than [`INLINE_BYTES`].
    pub fn isend(&mut self, to: SendTo, span: Span) -> Result<RequestId, PoolFull> {
        assert!(span.len() <= INLINE_BYTES && to.dest.index() < self.shape.nodes() && to.tag >= 0);
        self.requests.grow(1)?;
        let send = to.send(span, span.len() as u32, SendState::Bcopy);
        let id = self.requests.insert(Request::Send(send))?;
        self.unsent.push(&mut self.requests, id.slot());
        Ok(id)
    }

    /// Starts a receive from one source with one tag; see [`crate::Adi::irecv`].
    pub fn irecv(&mut self, source: Rank, tag: i32, span: Span) -> Result<RequestId, PoolFull> {
        self.requests.grow(1)?;
        let pattern = MatchPattern::new(Some(source), Some(tag), 0);
        let posted = PostedReceive {
            pattern,
            serial: 0,
            needs_listing: false,
        };
        let state = ReceiveState::Posted(posted);
        let receive = ReceiveRequest { span, state };
        let id = self.requests.insert(Request::Receive(receive))?;
        self.matching.post(&mut self.requests, id.slot());
        Ok(id)
    }

    /// Frees the request if it has completed, and returns its outcome.
    ///
    /// # Panics
    /// When `id` identifies no request.
    pub fn test(&mut self, id: RequestId) -> Option<RequestOutcome> {
        self.requests.take_completed(id)
    }

    /// Performs one bounded progress step, and returns whether anything was done.
    pub fn progress<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &mut M) -> bool {
        let here = self.here;
        let mut context = HandlerContext { bare: self, memory };
        let taken = msg_layer::progress(port, here, &HandlerContext::HANDLERS, &mut context, STEP_PACKETS);
        let mut sent = 0;
        while sent < STEP_PACKETS
            && let Some(slot) = self.unsent.head()
            && port.can_inject(TrafficClass::Normal)
        {
            self.send(port, memory, slot);
            self.unsent.remove(&mut self.requests, slot);
            self.requests.set_send_state(slot, SendState::Done { cancelled: false });
            sent += 1;
        }
        taken + sent > 0
    }

    fn send<P: Port, M: UserMemory + ?Sized>(&mut self, port: &mut P, memory: &M, slot: Slot) {
        let send = self.requests.send(slot);
        let SendData::User(span) = send.data else {
            unreachable!("nothing is copied here")
        };
        let rts = Rts {
            context: send.context,
            tag: send.tag,
            length: send.length,
            request: 0,
            age: 0,
            flags: Rts::INLINE | Rts::IN_ORDER,
            asked: None,
        };
        let header = Header {
            handler: wire::RTS,
            source: self.here,
            argument: 0,
            place: None,
        };
        let dest = self.shape.coord(send.dest.index()).expect("a rank of this job");
        let bytes = rts.bytes() + span.len();
        let sent = tx::send_short(port, TrafficClass::Normal, dest, header, bytes, |out| {
            memory.read(span, 0, rts.emit(out));
        });
        assert!(sent, "room was there");
    }
}

fn on_rts<M: UserMemory + ?Sized>(
    on: &mut HandlerContext<'_, M>,
    arrival: &ReceivedPacket<'_>,
) -> Result<Option<ReplyPacket>, MalformedPacket> {
    let bare = &mut *on.bare;
    let source = Rank::new(arrival.rank);
    let (rts, data) = Rts::parse(arrival.bytes).ok_or(MalformedPacket)?;
    let envelope = rts.envelope(source);
    let Some(slot) = bare.matching.match_incoming(&mut bare.requests, &envelope) else {
        bare.lost += 1;
        return Ok(None);
    };
    bare.matching.unpost(&mut bare.requests, slot);
    let span = bare.requests.span(slot);
    let matched = MatchedMessage {
        envelope,
        length: rts.length,
    };
    let wanted = matched.wanted(span) as usize;
    on.memory.write(span, 0, &data[..wanted]);
    bare.requests.set_receive_state(slot, ReceiveState::Done(matched));
    Ok(None)
}
