//! Packet handlers: each parses and checks a packet, and passes it to the send or receive side.
#![forbid(unsafe_code)]

use msg_layer::{Answer, Arrival, Class, Context, Malformed, Stats, Taken};

use crate::adi::Adi;
use crate::envelope::Rank;
use crate::memory::UserMemory;
use crate::protocol::{Reply, Rules};
use crate::wire::{self, Done, MERGED_BYTES, Restart, Rts};

/// Context of a handler: the device and the program's memory.
pub(super) struct Handling<'a, R, M: ?Sized> {
    pub(super) adi: &'a mut Adi<R>,
    pub(super) memory: &'a mut M,
}

impl<R: Rules, M: UserMemory + ?Sized> Context for Handling<'_, R, M> {
    #[inline]
    fn stats(&mut self) -> &mut Stats {
        &mut self.adi.stats.layer
    }

    fn take_other(&mut self, class: Class, number: u8, arrival: &Arrival<'_>) -> Option<Taken> {
        let take = self.adi.extras.parts.take(number)?;
        Some(take(self.adi, self.memory.whole(), class, arrival))
    }
}

pub(super) fn on_rts<R: Rules, M: UserMemory + ?Sized>(
    on: &mut Handling<'_, R, M>,
    arrival: &Arrival<'_>,
) -> Result<Option<Answer>, Malformed> {
    let (offer, merged) = match arrival.argument {
        0 => (arrival.bytes, None),
        _ => {
            let parts = arrival.bytes.split_last_chunk::<MERGED_BYTES>();
            let (offer, merged) = parts.ok_or(Malformed)?;
            (offer, Some(u32::from_le_bytes(*merged)))
        }
    };
    let adi = &mut *on.adi;
    let source = Rank::new(arrival.rank);
    let Some((rts, data)) = Rts::parse(offer) else {
        return Err(Malformed);
    };
    if let Some(request) = merged {
        adi.take_merged(source, request, arrival.argument)?;
    }
    adi.stats.rts_received += 1;
    if cfg!(not(feature = "micro"))
        && let Some(answer) = adi.take_at_once(on.memory, source, &rts, data)
    {
        return Ok(answer);
    }
    Ok(adi.take_rts(on.memory, source, &rts, data))
}

pub(super) fn on_data<R: Rules, M: UserMemory + ?Sized>(
    on: &mut Handling<'_, R, M>,
    arrival: &Arrival<'_>,
) -> Result<Option<Answer>, Malformed> {
    let place = arrival.place.ok_or(Malformed)?;
    on.adi.take_data(on.memory, place, arrival.bytes)?;
    Ok(None)
}

pub(super) fn on_cancel<R: Rules, M: UserMemory + ?Sized>(
    on: &mut Handling<'_, R, M>,
    arrival: &Arrival<'_>,
) -> Result<Option<Answer>, Malformed> {
    let cancel = arrival.bytes.first_chunk::<{ wire::CANCEL_BYTES }>();
    let [a, b, c, d, refused] = *cancel.ok_or(Malformed)?;
    let source = Rank::new(arrival.rank);
    let request = u32::from_le_bytes([a, b, c, d]);
    Ok(on.adi.take_cancel(on.memory, source, request, refused != 0))
}

pub(super) fn on_eager<R: Rules, M: UserMemory + ?Sized>(
    on: &mut Handling<'_, R, M>,
    arrival: &Arrival<'_>,
) -> Result<Option<Answer>, Malformed> {
    let source = Rank::new(arrival.rank);
    let place = arrival.place.ok_or(Malformed)?;
    on.adi.take_eager(on.memory, source, place, arrival.bytes)?;
    Ok(None)
}

pub(super) fn on_done<R: Rules, M: UserMemory + ?Sized>(
    on: &mut Handling<'_, R, M>,
    arrival: &Arrival<'_>,
) -> Result<Option<Answer>, Malformed> {
    let source = Rank::new(arrival.rank);
    let done = Done::parse(arrival.bytes).ok_or(Malformed)?;
    on.adi.take_done(on.memory, source, done)?;
    Ok(None)
}

pub(super) fn on_cts<R: Rules, M: ?Sized>(
    on: &mut Handling<'_, R, M>,
    arrival: &Arrival<'_>,
) -> Result<(), Malformed> {
    on.adi.take_reply(arrival, Reply::Cts)
}

pub(super) fn on_nctsd<R: Rules, M: ?Sized>(
    on: &mut Handling<'_, R, M>,
    arrival: &Arrival<'_>,
) -> Result<(), Malformed> {
    on.adi.stats.nctsd_received += 1;
    on.adi.take_reply(arrival, Reply::Nctsd)
}

pub(super) fn on_ncts<R: Rules, M: ?Sized>(
    on: &mut Handling<'_, R, M>,
    arrival: &Arrival<'_>,
) -> Result<(), Malformed> {
    on.adi.stats.ncts_received += 1;
    on.adi.take_reply(arrival, Reply::Ncts)
}

pub(super) fn on_restart<R: Rules, M: ?Sized>(
    on: &mut Handling<'_, R, M>,
    arrival: &Arrival<'_>,
) -> Result<(), Malformed> {
    let adi = &mut *on.adi;
    let source = Rank::new(arrival.rank);
    let restart = Restart::parse(arrival.bytes).ok_or(Malformed)?;
    adi.stats.restarts_received += 1;
    let rules = adi.rules();
    adi.enter_bcopies(source);
    adi.peers.take_age(source, restart.age);
    let is_closed = !adi
        .sender
        .pending
        .restart(&mut adi.requests, source, &restart, rules);
    if is_closed {
        adi.peers.queue_done(source);
    }
    Ok(())
}

pub(super) fn on_arrive<R: Rules, M: ?Sized>(
    on: &mut Handling<'_, R, M>,
    arrival: &Arrival<'_>,
) -> Result<(), Malformed> {
    on.adi.take_arrival(arrival)
}

pub(super) fn on_told<R: Rules, M: ?Sized>(
    on: &mut Handling<'_, R, M>,
    arrival: &Arrival<'_>,
) -> Result<(), Malformed> {
    on.adi.take_told(arrival)
}

pub(super) fn on_release<R: Rules, M: ?Sized>(
    on: &mut Handling<'_, R, M>,
    arrival: &Arrival<'_>,
) -> Result<(), Malformed> {
    on.adi.take_release(arrival)
}
