//! Packet handlers: each parses and checks a packet, and passes it to the send or receive side.
#![forbid(unsafe_code)]

use msg_layer::{HandlerResult, LayerContext, LayerStats, MalformedPacket, ReceivedPacket, ReplyPacket, TrafficClass};

use crate::adi::Adi;
use crate::envelope::Rank;
use crate::memory::UserMemory;
use crate::protocol::{ProtocolRules, RtsReply};
use crate::wire::{self, DoneMessage, MERGED_BYTES, RestartRequest, Rts};

/// Context of a handler: the device and the program's memory.
pub(super) struct HandlerContext<'a, R, M: ?Sized> {
    pub(super) adi: &'a mut Adi<R>,
    pub(super) memory: &'a mut M,
}

impl<R: ProtocolRules, M: UserMemory + ?Sized> LayerContext for HandlerContext<'_, R, M> {
    #[inline]
    fn stats(&mut self) -> &mut LayerStats {
        &mut self.adi.stats.layer
    }

    fn handle_other(&mut self, class: TrafficClass, number: u8, arrival: &ReceivedPacket<'_>) -> Option<HandlerResult> {
        let take = self.adi.extensions.active.packet_handler(number)?;
        Some(take(self.adi, self.memory.full_access(), class, arrival))
    }
}

pub(super) fn on_rts<R: ProtocolRules, M: UserMemory + ?Sized>(
    on: &mut HandlerContext<'_, R, M>,
    arrival: &ReceivedPacket<'_>,
) -> Result<Option<ReplyPacket>, MalformedPacket> {
    let (offer, merged) = match arrival.argument {
        0 => (arrival.bytes, None),
        _ => {
            let parts = arrival.bytes.split_last_chunk::<MERGED_BYTES>();
            let (offer, merged) = parts.ok_or(MalformedPacket)?;
            (offer, Some(u32::from_le_bytes(*merged)))
        }
    };
    let adi = &mut *on.adi;
    let source = Rank::new(arrival.rank);
    let Some((rts, data)) = Rts::parse(offer) else {
        return Err(MalformedPacket);
    };
    if let Some(request) = merged {
        adi.handle_merged_cts(source, request, arrival.argument)?;
    }
    adi.stats.rts_received += 1;
    if cfg!(not(feature = "micro"))
        && let Some(answer) = adi.receive_rts_fast(on.memory, source, &rts, data)
    {
        return Ok(answer);
    }
    Ok(adi.receive_rts(on.memory, source, &rts, data))
}

pub(super) fn on_data<R: ProtocolRules, M: UserMemory + ?Sized>(
    on: &mut HandlerContext<'_, R, M>,
    arrival: &ReceivedPacket<'_>,
) -> Result<Option<ReplyPacket>, MalformedPacket> {
    let place = arrival.place.ok_or(MalformedPacket)?;
    on.adi.handle_data(on.memory, place, arrival.bytes)?;
    Ok(None)
}

pub(super) fn on_cancel<R: ProtocolRules, M: UserMemory + ?Sized>(
    on: &mut HandlerContext<'_, R, M>,
    arrival: &ReceivedPacket<'_>,
) -> Result<Option<ReplyPacket>, MalformedPacket> {
    let cancel = arrival.bytes.first_chunk::<{ wire::CANCEL_BYTES }>();
    let [a, b, c, d, refused] = *cancel.ok_or(MalformedPacket)?;
    let source = Rank::new(arrival.rank);
    let request = u32::from_le_bytes([a, b, c, d]);
    Ok(on.adi.handle_cancel(on.memory, source, request, refused != 0))
}

pub(super) fn on_eager<R: ProtocolRules, M: UserMemory + ?Sized>(
    on: &mut HandlerContext<'_, R, M>,
    arrival: &ReceivedPacket<'_>,
) -> Result<Option<ReplyPacket>, MalformedPacket> {
    let source = Rank::new(arrival.rank);
    let place = arrival.place.ok_or(MalformedPacket)?;
    on.adi.handle_eager(on.memory, source, place, arrival.bytes)?;
    Ok(None)
}

pub(super) fn on_done<R: ProtocolRules, M: UserMemory + ?Sized>(
    on: &mut HandlerContext<'_, R, M>,
    arrival: &ReceivedPacket<'_>,
) -> Result<Option<ReplyPacket>, MalformedPacket> {
    let source = Rank::new(arrival.rank);
    let done = DoneMessage::parse(arrival.bytes).ok_or(MalformedPacket)?;
    on.adi.handle_done(on.memory, source, done)?;
    Ok(None)
}

pub(super) fn on_cts<R: ProtocolRules, M: ?Sized>(
    on: &mut HandlerContext<'_, R, M>,
    arrival: &ReceivedPacket<'_>,
) -> Result<(), MalformedPacket> {
    on.adi.handle_reply(arrival, RtsReply::Cts)
}

pub(super) fn on_nctsd<R: ProtocolRules, M: ?Sized>(
    on: &mut HandlerContext<'_, R, M>,
    arrival: &ReceivedPacket<'_>,
) -> Result<(), MalformedPacket> {
    on.adi.stats.nctsd_received += 1;
    on.adi.handle_reply(arrival, RtsReply::Nctsd)
}

pub(super) fn on_ncts<R: ProtocolRules, M: ?Sized>(
    on: &mut HandlerContext<'_, R, M>,
    arrival: &ReceivedPacket<'_>,
) -> Result<(), MalformedPacket> {
    on.adi.stats.ncts_received += 1;
    on.adi.handle_reply(arrival, RtsReply::Ncts)
}

pub(super) fn on_restart<R: ProtocolRules, M: ?Sized>(
    on: &mut HandlerContext<'_, R, M>,
    arrival: &ReceivedPacket<'_>,
) -> Result<(), MalformedPacket> {
    let adi = &mut *on.adi;
    let source = Rank::new(arrival.rank);
    let restart = RestartRequest::parse(arrival.bytes).ok_or(MalformedPacket)?;
    adi.stats.restarts_received += 1;
    let rules = adi.rules();
    adi.enter_bcopies(source);
    adi.peers.update_age(source, restart.age);
    let is_closed = !adi.sender.pending.restart(&mut adi.requests, source, &restart, rules);
    if is_closed {
        adi.peers.queue_done(source);
    }
    Ok(())
}

pub(super) fn on_arrive<R: ProtocolRules, M: ?Sized>(
    on: &mut HandlerContext<'_, R, M>,
    arrival: &ReceivedPacket<'_>,
) -> Result<(), MalformedPacket> {
    on.adi.handle_arrive(arrival)
}

pub(super) fn on_tell<R: ProtocolRules, M: ?Sized>(
    on: &mut HandlerContext<'_, R, M>,
    arrival: &ReceivedPacket<'_>,
) -> Result<(), MalformedPacket> {
    on.adi.handle_tell(arrival)
}

pub(super) fn on_release<R: ProtocolRules, M: ?Sized>(
    on: &mut HandlerContext<'_, R, M>,
    arrival: &ReceivedPacket<'_>,
) -> Result<(), MalformedPacket> {
    on.adi.handle_release(arrival)
}
