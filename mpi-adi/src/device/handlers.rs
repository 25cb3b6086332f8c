//! Where packets enter the device: each is read and checked here, and then taken by the side it is for.
#![forbid(unsafe_code)]

use msg_layer::{Answer, Arrival};

use crate::device::adi::Adi;
use crate::device::memory::UserMemory;
use crate::device::protocol::Reply;
use crate::device::wire::{self, Done, MERGED_BYTES, ROOM_FOR_ALL, ResendAll, Rts};

/// What a handler works on: the device and the program's memory.
pub(super) struct Handling<'a, M: ?Sized> {
    pub(super) adi: &'a mut Adi,
    pub(super) memory: &'a mut M,
}

pub(super) fn on_rts<M: UserMemory + ?Sized>(
    on: &mut Handling<'_, M>,
    arrival: &Arrival<'_>,
) -> Option<Answer> {
    let offer = match arrival.argument {
        0 => Some((arrival.bytes, None)),
        _ => arrival
            .bytes
            .split_last_chunk::<MERGED_BYTES>()
            .map(|(offer, merged)| (offer, Some(u32::from_le_bytes(*merged)))),
    };
    let adi = &mut *on.adi;
    let Some((source, ((rts, data), merged))) = adi
        .shape
        .rank(arrival.source)
        .zip(offer.and_then(|(offer, merged)| Some((Rts::parse(offer)?, merged))))
    else {
        adi.stats.malformed += 1;
        return None;
    };
    if let Some(request) = merged
        && !adi.take_merged(source, request, arrival.argument)
    {
        adi.stats.malformed += 1;
    }
    adi.stats.rts_received += 1;
    match adi.take_at_once(on.memory, source, &rts, data) {
        Some(answer) => answer,
        None => adi.take_rts(on.memory, source, &rts, data),
    }
}

pub(super) fn on_data<M: UserMemory + ?Sized>(
    on: &mut Handling<'_, M>,
    arrival: &Arrival<'_>,
) -> Option<Answer> {
    let taken = arrival
        .place
        .and_then(|place| on.adi.take_data(on.memory, place, arrival.bytes));
    if taken.is_none() {
        on.adi.stats.malformed += 1;
    }
    None
}

pub(super) fn on_cancel<M: UserMemory + ?Sized>(
    on: &mut Handling<'_, M>,
    arrival: &Arrival<'_>,
) -> Option<Answer> {
    let cancel = arrival.bytes.first_chunk::<{ wire::CANCEL_BYTES }>();
    let Some((source, [a, b, c, d, refused])) = on.adi.shape.rank(arrival.source).zip(cancel)
    else {
        on.adi.stats.malformed += 1;
        return None;
    };
    let request = u32::from_le_bytes([*a, *b, *c, *d]);
    on.adi
        .take_cancel(on.memory, source, request, *refused != 0)
}

pub(super) fn on_eager<M: UserMemory + ?Sized>(
    on: &mut Handling<'_, M>,
    arrival: &Arrival<'_>,
) -> Option<Answer> {
    let from = on.adi.shape.rank(arrival.source).zip(arrival.place);
    let taken =
        from.and_then(|(source, place)| on.adi.take_eager(on.memory, source, place, arrival.bytes));
    if taken.is_none() {
        on.adi.stats.malformed += 1;
    }
    None
}

pub(super) fn on_done<M: UserMemory + ?Sized>(
    on: &mut Handling<'_, M>,
    arrival: &Arrival<'_>,
) -> Option<Answer> {
    let adi = &mut *on.adi;
    let done = adi
        .shape
        .rank(arrival.source)
        .zip(Done::parse(arrival.bytes));
    if done
        .and_then(|(source, done)| adi.take_done(on.memory, source, done))
        .is_none()
    {
        adi.stats.malformed += 1;
    }
    None
}

pub(super) fn on_cts<M: ?Sized>(on: &mut Handling<'_, M>, arrival: &Arrival<'_>) {
    on.adi.take_reply(arrival, Reply::Cts);
}

pub(super) fn on_cancelled<M: ?Sized>(on: &mut Handling<'_, M>, arrival: &Arrival<'_>) {
    on.adi.take_cancelled(arrival);
}

pub(super) fn on_nctsd<M: ?Sized>(on: &mut Handling<'_, M>, arrival: &Arrival<'_>) {
    on.adi.stats.nctsd_received += 1;
    on.adi.take_reply(arrival, Reply::Nctsd);
}

pub(super) fn on_ncts<M: ?Sized>(on: &mut Handling<'_, M>, arrival: &Arrival<'_>) {
    on.adi.stats.ncts_received += 1;
    on.adi.take_reply(arrival, Reply::Ncts);
}

pub(super) fn on_resend_all<M: ?Sized>(on: &mut Handling<'_, M>, arrival: &Arrival<'_>) {
    let adi = &mut *on.adi;
    let Some((source, notice)) = adi
        .shape
        .rank(arrival.source)
        .zip(ResendAll::parse(arrival.bytes))
    else {
        adi.stats.malformed += 1;
        return;
    };
    adi.stats.resend_all_received += 1;
    let rules = adi.rules();
    adi.enter_lights(source);
    adi.peers.take_age(source, notice.age);
    let room = if notice.room == ROOM_FOR_ALL {
        u32::MAX
    } else {
        notice.room.into()
    };
    if !adi.pending.notice(
        &mut adi.requests,
        source,
        notice.entries.into_iter(),
        notice.horizon,
        room,
        rules,
    ) {
        adi.peers.owe_done(source);
    }
}

pub(super) fn on_arrive<M: ?Sized>(on: &mut Handling<'_, M>, arrival: &Arrival<'_>) {
    if on.adi.take_arrival(arrival).is_none() {
        on.adi.stats.malformed += 1;
    }
}

pub(super) fn on_release<M: ?Sized>(on: &mut Handling<'_, M>, arrival: &Arrival<'_>) {
    if on.adi.take_release(arrival).is_none() {
        on.adi.stats.malformed += 1;
    }
}
