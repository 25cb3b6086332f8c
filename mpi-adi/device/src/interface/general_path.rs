//! The slow path of operations with a fast path, and operations that are linked only into images that use them.
#![forbid(unsafe_code)]

use super::blocking::{
    block_until, block_until_some, info_of_pattern, info_of_request, info_of_send, poll, poll_and, start_and_poll,
    test, with_device,
};
use super::data::{
    FastRecv, FastSend, IncomingMessage, OutgoingMessage, ReceivedMessage, RequestCompletion, RequestMemory, TestResult,
};
use super::enter::EnterDevice;
use crate::adi::Adi;
use crate::config::OutOfMemory;
use crate::ids::RequestId;
use crate::kernel::{CallInfo, Kernel};
use crate::request::PlainCompletion;

/// Slow path of [`Device::send`](super::Device::send).
#[cold]
#[inline(never)]
pub(super) fn send_slow<E>(
    env: &E,
    function: &'static str,
    outgoing: &OutgoingMessage,
    sent: FastSend,
) -> Result<(), OutOfMemory>
where
    E: EnterDevice + ?Sized,
{
    let OutgoingMessage { to, span } = *outgoing;
    let note = info_of_send(function, outgoing);
    let mut started = match sent {
        FastSend::Complete => return Ok(()),
        FastSend::Copied => Some(None),
        FastSend::Started(id) => Some(Some(id)),
        FastSend::Unavailable => None,
    };
    block_until_some(env, &|_| note, |adi, kernel| {
        let id = match started {
            Some(id) => id,
            None if adi.awaits_copies(&to) => return None,
            None => match adi.send_within_call(kernel.memory(), to, span) {
                Ok(id) => {
                    if adi.has_pending_tx() {
                        kernel.poll(adi);
                    }
                    *started.insert(id)
                }
                Err(error) => return Some(Err(error)),
            },
        };
        match id {
            Some(id) => adi.test(id).map(|_| Ok(())),
            None => (kernel.has_async_progress() || adi.are_copies_sent()).then_some(Ok(())),
        }
    })
}

/// Slow path of [`Device::receive`](super::Device::receive).
#[cold]
#[inline(never)]
pub(super) fn receive_slow<E>(
    env: &E,
    function: &'static str,
    incoming: &IncomingMessage,
    received: FastRecv,
) -> Result<ReceivedMessage, OutOfMemory>
where
    E: EnterDevice + ?Sized,
{
    let IncomingMessage { pattern, span } = *incoming;
    let of = |whole, is_truncated| ReceivedMessage { whole, is_truncated };
    let mut started = match received {
        FastRecv::Complete(whole) => return Ok(of(whole, false)),
        FastRecv::Truncated(whole) => return Ok(of(whole, true)),
        FastRecv::Started(id) => Some(id),
        FastRecv::Unavailable => None,
    };
    block_until_some(env, &|_| info_of_pattern(function, &pattern), |adi, kernel| {
        let id = match started {
            Some(id) => id,
            None => match adi.recv_within_call(kernel.memory(), pattern, span) {
                Ok(id) => *started.insert(id),
                Err(error) => return Some(Err(error)),
            },
        };
        let outcome = adi.test(id)?;
        let whole = PlainCompletion {
            peer: outcome.source,
            tag: outcome.tag,
            bytes: outcome.bytes as u32,
            context: pattern.context(),
        };
        Some(Ok(of(whole, outcome.truncated)))
    })
}

// Slow paths of `Device::start_send` and `Device::start_receive`, separate for the usual request memory and for others:
// an image whose program uses no collectives contains no code for reserved memory.

#[cold]
#[inline(never)]
pub(super) fn start_send_slow<E>(
    env: &E,
    function: &'static str,
    outgoing: &OutgoingMessage,
) -> Result<RequestId, OutOfMemory>
where
    E: EnterDevice + ?Sized,
{
    let note = || info_of_send(function, outgoing);
    start_and_poll(env, note, |adi, kernel| {
        adi.isend(kernel.memory(), outgoing.to, outgoing.span)
    })
}

#[cold]
#[inline(never)]
pub(super) fn start_send_with<E>(
    env: &E,
    function: &'static str,
    outgoing: &OutgoingMessage,
    memory: RequestMemory,
) -> Result<Option<RequestId>, OutOfMemory>
where
    E: EnterDevice + ?Sized,
{
    let OutgoingMessage { to, span } = *outgoing;
    let start = |adi: &mut Adi, kernel: &mut dyn Kernel| match memory {
        RequestMemory::Shared => adi.isend(kernel.memory(), to, span).map(Some),
        RequestMemory::Blocking => adi.send_within_call(kernel.memory(), to, span),
        RequestMemory::Reserved => adi.send_reserved(kernel.memory(), to, span),
        RequestMemory::ReservedInInterrupt => adi.send_outside_call(kernel.memory(), to, span),
    };
    match memory {
        RequestMemory::ReservedInInterrupt => with_device(env, start),
        _ => start_and_poll(env, || info_of_send(function, outgoing), start),
    }
}

#[cold]
#[inline(never)]
pub(super) fn start_receive_slow<E>(
    env: &E,
    function: &'static str,
    incoming: &IncomingMessage,
) -> Result<RequestId, OutOfMemory>
where
    E: EnterDevice + ?Sized,
{
    let note = || info_of_pattern(function, &incoming.pattern);
    start_and_poll(env, note, |adi, kernel| {
        adi.irecv(kernel.memory(), incoming.pattern, incoming.span)
    })
}

#[cold]
#[inline(never)]
pub(super) fn start_receive_with<E>(
    env: &E,
    function: &'static str,
    incoming: &IncomingMessage,
    memory: RequestMemory,
) -> Result<RequestId, OutOfMemory>
where
    E: EnterDevice + ?Sized,
{
    let IncomingMessage { pattern, span } = *incoming;
    let start = |adi: &mut Adi, kernel: &mut dyn Kernel| match memory {
        RequestMemory::Shared => adi.irecv(kernel.memory(), pattern, span),
        RequestMemory::Blocking => adi.recv_within_call(kernel.memory(), pattern, span),
        RequestMemory::Reserved | RequestMemory::ReservedInInterrupt => {
            adi.recv_reserved(kernel.memory(), pattern, span)
        }
    };
    match memory {
        RequestMemory::ReservedInInterrupt => with_device(env, start),
        _ => start_and_poll(env, || info_of_pattern(function, &pattern), start),
    }
}

/// Slow path of [`Device::wait`](super::Device::wait).
#[inline(never)]
pub(super) fn wait_slow<E>(env: &E, function: &'static str, id: RequestId) -> Option<RequestCompletion>
where
    E: EnterDevice + ?Sized,
{
    block_until_some(env, &|adi| info_of_request(adi, function, id), |adi, _| {
        match test(adi, id) {
            TestResult::Unknown => Some(None),
            TestResult::Pending => None,
            TestResult::Complete(ended) => Some(Some(ended)),
        }
    })
}

/// Maximum progress steps of a started cancellation. They decide that of a message to oneself. A program that receives the
/// message if the request is not complete behind MPI_Cancel would otherwise wait forever: nobody else can decide it.
const CANCEL_STEPS: usize = 4;

// One function for each way to cancel: an image whose program cancels nothing contains no code for cancelled sends.

#[inline(never)]
pub(super) fn start_cancel<E: EnterDevice + ?Sized>(env: &E, function: &'static str, id: RequestId) {
    poll_and(env, Some(function), |adi, kernel| {
        adi.cancel(id);
        for _ in 0..CANCEL_STEPS {
            if adi.requests().outcome(id).is_some() {
                break;
            }
            poll(adi, kernel);
        }
    });
}

#[inline(never)]
pub(super) fn finish_cancel<E: EnterDevice + ?Sized>(env: &E, function: &'static str, id: RequestId) {
    block_until(env, &|_| CallInfo::without_peer(function), &mut |adi, _| {
        adi.cancel(id);
        adi.test(id).is_some()
    });
}

#[inline(never)]
pub(super) fn finish_cancel_of_receive<E: EnterDevice + ?Sized>(env: &E, function: &'static str, id: RequestId) {
    block_until(env, &|_| CallInfo::without_peer(function), &mut |adi, _| {
        adi.cancel_receive(id);
        adi.test(id).is_some()
    });
}
