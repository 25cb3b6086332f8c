//! Interface of the device: the operations that communicators, collectives, windows and bindings use.
//!
//! ```text
//!   mpi/, c/, rust/  -- Device: operations, plain data in and out -->  interface/
//!                                                                          |  EnterDevice: one call, interrupts disabled
//!                                                              a host: node, Linux process, simulated node
//!                                                                          |
//!                                                                         Adi
//! ```
//! The host implements [`EnterDevice`], which gives one operation at a time exclusive access to the device. The layers above
//! use [`Device`]: an operation receives plain data, enters the device once, and returns plain data. A layer above
//! never holds a reference to the device, so none of its code can run while an operation uses the device.
//!
//! # Blocking
//! An operation blocks only where its description specifies it. It then repeats bounded steps: an attempt, a [progress
//! step](Kernel::poll), and a [sleep](Kernel::idle) if neither changed anything. For a condition that only the layer
//! above can check, that layer loops over [`Device::advance`].
//!
//! # The fast path
//! [`Device::send`], [`Device::start_send`], [`Device::receive`], [`Device::start_receive`] and [`Device::wait`] first
//! try the host's fast path of the same operation, if any ([`EnterDevice::fast_send`]). It handles cases that require neither
//! a request nor a progress step. In the profile `micro` no host has a fast path.
//!
//! # Errors and memory
//! [`OutOfMemory`] is the only error: the program's heap has no space for a request. Nothing has started then, and the
//! call can be repeated. Otherwise, operations never allocate.
#![forbid(unsafe_code)]

mod blocking;
mod borrowed;
mod data;
mod enter;
mod general_path;

pub use blocking::{ANY_SOURCE_NOTE, ANY_TAG_NOTE, finish};
pub(crate) use blocking::{block_on, with_device, with_device_once};
pub use borrowed::{BorrowedDevice, run_in_interrupt};
pub use data::*;
pub use enter::{EnterDevice, HAS_FAST_PATH, Work};

use blocking::{FAST_PATH, block_until, info_of_pattern, poll, poll_and, start_and_poll, test};
use general_path::{
    finish_cancel, finish_cancel_of_receive, receive_slow, send_slow, start_cancel, start_receive_slow,
    start_receive_with, start_send_slow, start_send_with, wait_slow,
};

use crate::adi::{Adi, ProgressHook};
use crate::barrier::BarrierMismatch;
use crate::barrier::call::{AllreduceProgress, BarrierAllreduce, CombineValues, supports_barrier};
use crate::config::OutOfMemory;
use crate::envelope::{Context, MatchPattern};
use crate::ids::RequestId;
use crate::kernel::{AbortReason, CallInfo, HeapUsage, Kernel, MpiError};
use crate::matching::ENGINE_NAMES;
use crate::memory::Span;
use crate::memory::buffer_slice::BufferSlice;
use crate::recv::ProbedMessage;
use crate::request::SendMode;

/// Maximum bytes of the program's memory that one operation copies: link interrupts are disabled meanwhile.
pub const COPY_SLICE_BYTES: usize = 16 << 10;

fn heap(kernel: &dyn Kernel) -> HeapUsage {
    kernel.heap().unwrap_or(HeapUsage { bytes: 0, used: 0 })
}

/// The operations of a process's device. `function` specifies the MPI function for hang reports.
pub trait Device: EnterDevice {
    /// Sends a message, and blocks until its buffer can be reused (MPI-3.1 section 3.4). The destination exists, the
    /// tag is not negative and the message is below 4 GiB. Fails with [`OutOfMemory`].
    #[inline(always)]
    fn send(&self, function: &'static str, outgoing: &OutgoingMessage) -> Result<(), OutOfMemory> {
        let sent = if has_fast_path(outgoing) {
            self.fast_send(outgoing)
        } else {
            FastSend::Unavailable
        };
        match sent {
            FastSend::Complete => Ok(()),
            sent => send_slow(self, function, outgoing, sent),
        }
    }

    /// Starts a send (section 3.7.2). Does not block. Returns `None` when the buffer can be reused and no request
    /// exists. The message must satisfy the conditions of [`Device::send`]. Fails with [`OutOfMemory`].
    #[inline(always)]
    fn start_send(
        &self,
        function: &'static str,
        outgoing: &OutgoingMessage,
        memory: RequestMemory,
    ) -> Result<Option<RequestId>, OutOfMemory> {
        if memory != RequestMemory::Shared {
            return start_send_with(self, function, outgoing, memory);
        }
        let sent = if has_fast_path(outgoing) {
            self.fast_send(outgoing)
        } else {
            FastSend::Unavailable
        };
        match sent {
            FastSend::Complete | FastSend::Copied => Ok(None),
            FastSend::Started(id) => Ok(Some(id)),
            FastSend::Unavailable => start_send_slow(self, function, outgoing).map(Some),
        }
    }

    /// Receives a message, and blocks until it has arrived (section 3.2.4). Fails with [`OutOfMemory`].
    #[inline(always)]
    fn receive(&self, function: &'static str, incoming: &IncomingMessage) -> Result<ReceivedMessage, OutOfMemory> {
        let received = if FAST_PATH {
            self.fast_receive(function, incoming)
        } else {
            FastRecv::Unavailable
        };
        match received {
            FastRecv::Complete(whole) => Ok(ReceivedMessage {
                whole,
                is_truncated: false,
            }),
            received => receive_slow(self, function, incoming, received),
        }
    }

    /// Starts a receive (section 3.7.2). Does not block. Fails with [`OutOfMemory`].
    #[inline(always)]
    fn start_receive(
        &self,
        function: &'static str,
        incoming: &IncomingMessage,
        memory: RequestMemory,
    ) -> Result<RequestId, OutOfMemory> {
        if memory != RequestMemory::Shared {
            return start_receive_with(self, function, incoming, memory);
        }
        let started = if FAST_PATH {
            self.fast_start_receive(incoming)
        } else {
            None
        };
        match started {
            Some(id) => Ok(id),
            None => start_receive_slow(self, function, incoming),
        }
    }

    /// Probes for a matching message (section 3.8.1), after a progress step if it does not block. Returns `None` when
    /// there is none yet. A nonblocking call may still wait for one reply of a sender, if an earlier probe has found such a
    /// message. Fails with [`OutOfMemory`].
    fn probe(
        &self,
        function: &'static str,
        pattern: MatchPattern,
        blocking: BlockingMode,
    ) -> Result<Option<ProbedMessage>, OutOfMemory> {
        if blocking == BlockingMode::Nonblocking {
            // Progress first: this probe finds a message that has already arrived, not only the next one.
            let (found, is_known) = poll_and(self, Some(function), |adi, _| {
                (adi.iprobe(pattern), adi.is_match_known(&pattern))
            });
            if !(is_known && found == Ok(None)) {
                return found;
            }
        }
        let note = info_of_pattern(function, &pattern);
        block_on(
            self,
            |_| note,
            |adi, _| match adi.iprobe(pattern) {
                Ok(None) if blocking == BlockingMode::Blocking || adi.is_match_known(&pattern) => None,
                found => Some(found),
            },
        )
    }

    /// Performs a matched probe (section 3.8.2). Returns the message handle, which is required to receive it, and its
    /// envelope. A nonblocking call may still wait for one reply of a sender. Fails with [`OutOfMemory`].
    fn match_probe(
        &self,
        function: &'static str,
        pattern: MatchPattern,
        blocking: BlockingMode,
    ) -> Result<Option<(RequestId, ProbedMessage)>, OutOfMemory> {
        if blocking == BlockingMode::Nonblocking {
            let (found, is_to_wait) = poll_and(self, Some(function), |adi, kernel| {
                let found = adi.improbe(kernel.memory(), pattern);
                let is_to_wait = adi.is_fetching() || found == Ok(None) && adi.is_match_known(&pattern);
                (found, is_to_wait)
            });
            if !is_to_wait {
                return found;
            }
        }
        let note = info_of_pattern(function, &pattern);
        block_on(
            self,
            |_| note,
            |adi, kernel| match adi.improbe(kernel.memory(), pattern) {
                Ok(None) if blocking == BlockingMode::Blocking || adi.is_fetching() || adi.is_match_known(&pattern) => {
                    None
                }
                found => Some(found),
            },
        )
    }

    /// Starts the receive of a message from a matched probe (section 3.8.3): it keeps its handle. Does not block.
    ///
    /// # Panics
    /// When the message does not exist.
    fn start_receive_matched(&self, function: &'static str, id: RequestId, span: Span) {
        start_and_poll(
            self,
            || CallInfo::without_peer(function),
            |adi, kernel| adi.mrecv(kernel.memory(), id, span),
        );
    }

    /// Blocks until a request has completed, and frees it. Returns `None` when the request does not exist.
    #[inline(always)]
    fn wait(&self, function: &'static str, id: RequestId) -> Option<RequestCompletion> {
        if FAST_PATH && let Some(whole) = self.fast_wait(function, id) {
            return Some(RequestCompletion::Plain(whole));
        }
        wait_slow(self, function, id)
    }

    /// Checks whether a request has completed, and frees it in that case. Within a call of `function`, performs a
    /// progress step first. Does not block.
    fn test(&self, function: Option<&'static str>, id: RequestId) -> TestResult {
        poll_and(self, function, |adi, _| test(adi, id))
    }

    /// Returns which of up to 64 requests have completed, and which are unknown, without changing them. Does not block.
    ///
    /// # Panics
    /// When there are more than 64.
    fn check_requests(&self, ids: &[RequestId]) -> CompletionSet {
        assert!(ids.len() <= CompletionSet::MAX);
        with_device(self, |adi, _| {
            let mut all = CompletionSet::default();
            for (place, id) in ids.iter().enumerate() {
                let is_done = adi.requests().is_done(*id);
                all.finished |= u64::from(is_done == Some(true)) << place;
                all.unknown |= u64::from(is_done.is_none()) << place;
            }
            all
        })
    }

    /// Returns the properties of a request without changing it. Within a call of `function`, performs a progress step
    /// first. Returns `None` when the request does not exist. Does not block.
    fn inspect(&self, function: Option<&'static str>, id: RequestId) -> Option<RequestState> {
        poll_and(self, function, |adi, _| {
            let (context, buffer) = adi.requests().context_and_buffer(id)?;
            let taken = adi.held_message(id);
            let ended = match taken {
                None => adi.outcome_in_context(id),
                Some(_) => None,
            };
            Some(RequestState {
                context: ended.map_or(context, |(context, _)| context),
                buffer,
                outcome: ended.map(|(_, outcome)| outcome),
                is_taken: taken.is_some(),
            })
        })
    }

    /// Cancels a request (section 3.8.4), to the extent of `cancel`.
    #[inline(always)]
    fn cancel(&self, function: &'static str, id: RequestId, cancel: CancelPhase) {
        match cancel {
            CancelPhase::Start => start_cancel(self, function, id),
            CancelPhase::Finish => finish_cancel(self, function, id),
            CancelPhase::FinishReceive => finish_cancel_of_receive(self, function, id),
        }
    }

    /// Releases a request (section 3.7.3), completed or not; does nothing when it is unknown. A cancelled receive that
    /// is still posted completes now. Does not block.
    fn release(&self, id: RequestId, release: ReleaseTarget) {
        with_device(self, |adi, _| match release {
            ReleaseTarget::Request => adi.forget(id),
            ReleaseTarget::Handle => {
                adi.finish_cancel(id);
                adi.disown(id);
            }
        });
    }

    /// Performs one progress step within the call of `note`, and then runs the hook, if it is ready. Without `since` it
    /// does not block. With `since`, the result of the last call, it sleeps if nothing has changed since then, and performs
    /// another step. A layer that waits for a condition calls this function in a loop, and loses no event between its
    /// check and the sleep.
    fn advance(&self, note: CallInfo, since: Option<EventCount>) -> EventCount {
        let (events, hook) = with_device(self, |adi, kernel| {
            kernel.record_call(Some(note));
            let has_moved = poll(adi, kernel);
            let is_quiet = !has_moved && adi.ready_hook().is_none();
            if is_quiet && since == Some(adi.events()) {
                kernel.idle();
                // In the same call: the reason of the wake-up may be a request to show its state.
                poll(adi, kernel);
            }
            kernel.record_call(None);
            (adi.events(), adi.ready_hook())
        });
        if let Some(hook) = hook {
            hook();
        }
        events
    }

    /// Notifies the host of work that the caller has prepared, such as a collective's state that interrupt handlers may
    /// advance from now on. Does not block.
    fn notify(&self) {
        with_device(self, |_, _| ());
    }

    /// Copies the beginning of the program's memory `from` into `out`, which is no longer. Does not block.
    fn read(&self, from: BufferSlice, out: &mut [u8]) {
        let mut offset = 0;
        for slice in out.chunks_mut(COPY_SLICE_BYTES) {
            let part = from.part(offset, slice.len());
            with_device(self, |_, kernel| part.read(kernel.memory(), &mut *slice));
            offset += slice.len();
        }
    }

    /// Copies `bytes` to the beginning of the program's memory `to`, which is no shorter. Does not block.
    fn write(&self, to: BufferSlice, bytes: &[u8]) {
        let mut offset = 0;
        for slice in bytes.chunks(COPY_SLICE_BYTES) {
            let part = to.part(offset, slice.len());
            with_device(self, |_, kernel| part.write(kernel.memory(), slice));
            offset += slice.len();
        }
    }

    /// Prepares this context and the collectives' context after it for use. Does not block.
    fn open_context(&self, context: Context) {
        with_device(self, |adi, _| adi.open_context(context));
    }

    /// Checks whether this context and the collectives' context after it are unused by this process
    /// ([`Adi::context_is_idle`]). Searches all requests and unexpected messages; does not block.
    fn is_context_idle(&self, context: Context) -> bool {
        with_device(self, |adi, _| adi.context_is_idle(context))
    }

    /// Reserves, returns or checks the memory for the request of one message. Does not block. Fails with [`OutOfMemory`].
    fn reserve(&self, reserve: ReserveAction) -> Result<(), OutOfMemory> {
        with_device(self, |adi, _| {
            let is_there = match reserve {
                ReserveAction::Message { keep } => return adi.reserve_message(keep),
                ReserveAction::FreeMessage => adi.reserve_free(),
                ReserveAction::Check => adi.is_reserved_for_receives(),
                ReserveAction::Return { messages } => {
                    (0..messages).for_each(|_| adi.release_message());
                    true
                }
            };
            if is_there { Ok(()) } else { Err(adi.no_memory()) }
        })
    }

    /// Installs this progress hook in place of the previous one. Does not block.
    fn set_hook(&self, hook: ProgressHook) {
        with_device_once(self, |adi, _| adi.set_hook(hook));
    }

    /// Returns the identity of this process. Does not block.
    fn identity(&self) -> ProcessIdentity {
        with_device(self, |adi, _| ProcessIdentity {
            rank: adi.rank(),
            here: adi.own_coord(),
            shape: adi.shape(),
        })
    }

    /// Returns a quantity. Does not block.
    #[inline(always)]
    fn measure(&self, measure: MeasuredQuantity) -> u64 {
        // Separate calls: a caller of one quantity contains no code for the others.
        match measure {
            MeasuredQuantity::Now => self.now_ns(),
            MeasuredQuantity::Tick => with_device(self, |_, kernel| kernel.tick()),
            MeasuredQuantity::Patience => with_device(self, |_, kernel| kernel.patience()),
            MeasuredQuantity::Heap => with_device(self, |_, kernel| heap(kernel).bytes as u64),
            MeasuredQuantity::HeapUsed => with_device(self, |_, kernel| heap(kernel).used as u64),
            MeasuredQuantity::MpiMemory => with_device(self, |adi, _| adi.region().bytes() as u64),
            MeasuredQuantity::MpiMemoryUsed => with_device(self, |adi, _| adi.region().used_bytes() as u64),
            MeasuredQuantity::EagerLimit => with_device(self, |adi, _| adi.eager_limit() as u64),
            MeasuredQuantity::Engine => with_device(self, |adi, _| {
                let index = { ENGINE_NAMES.iter() }.position(|name| *name == adi.engine());
                index.unwrap_or(0) as u64
            }),
            MeasuredQuantity::PostedReceives => with_device(self, |adi, _| adi.matching().posted.into()),
            MeasuredQuantity::UnexpectedMessages => with_device(self, |adi, _| adi.matching().unexpected.into()),
            MeasuredQuantity::Requests => with_device(self, |adi, _| adi.requests().live().into()),
            MeasuredQuantity::RequestsIn(context) => {
                with_device(self, |adi, _| adi.requests().count_in_context(context).into())
            }
            MeasuredQuantity::Counter(index) => with_device(self, |adi, kernel| {
                kernel.count(adi);
                kernel.counted(index)
            }),
        }
    }

    /// Sets the eager limit in bytes ([`Adi::set_eager_limit`]). Does not block.
    fn set_eager_limit(&self, bytes: usize) {
        with_device(self, |adi, _| adi.set_eager_limit(bytes));
    }

    /// Aborts the job with `status`. Does not return.
    fn abort(&self, why: AbortCause<'_>, status: i32) -> ! {
        loop {
            self.enter(&mut |adi, kernel| {
                let error = match &why {
                    AbortCause::Called => kernel.abort(AbortReason::MpiAbort, status),
                    AbortCause::Error(error) => error,
                };
                let error = MpiError {
                    rank: adi.rank().index(),
                    here: adi.own_coord(),
                    function: error.function,
                    told: error.told,
                    heap: kernel.heap().filter(|_| error.is_about_memory),
                    said: error.said,
                    called_at: error.called_at,
                };
                kernel.abort(AbortReason::MpiError(&error), status)
            });
        }
    }
}

impl<E: EnterDevice + ?Sized> Device for E {}

/// In-network collectives, in barrier packets.
pub trait NetworkCollectives: EnterDevice {
    /// Performs the barrier of all processes by the network's own packets ([`barrier`](crate::barrier)); `is_last`
    /// marks the last one. Blocks. Returns false, and does nothing, when the network supports it for none of the
    /// processes. Fails if the processes' calls differ.
    fn barrier(&self, function: &'static str, is_last: bool) -> Result<bool, BarrierMismatch> {
        let mut has_entered = false;
        let mut differs = None;
        block_until(self, &|_| CallInfo::without_peer(function), &mut |adi, kernel| {
            if !has_entered {
                if !supports_barrier(adi, kernel) {
                    return true;
                }
                if is_last {
                    adi.enter_last_barrier()
                } else {
                    adi.enter_barrier()
                }
                has_entered = true;
            }
            let is_over = adi.leave_barrier();
            if is_over {
                differs = adi.barrier_mismatch();
            }
            is_over
        });
        match differs {
            None => Ok(has_entered),
            Some(differ) => Err(differ),
        }
    }

    /// Blocks until this process may exit the job ([`Adi::may_exit`]): all its received messages are transmitted.
    fn wait_until_sent(&self, function: &'static str) {
        let note = |_: &Adi| CallInfo::without_peer(function);
        block_until(self, &note, &mut |adi, _| adi.may_exit());
    }

    /// Performs an allreduce of all processes in barrier packets. Blocks until completion, or until the program must
    /// combine two values ([`AllreduceProgress::Combine`]). The caller then [combines](BarrierAllreduce::combine) them and repeats the
    /// call.
    fn allreduce(
        &self,
        function: &'static str,
        call: &mut BarrierAllreduce,
        combine: &mut CombineValues<'_>,
    ) -> AllreduceProgress {
        let note = CallInfo::without_peer(function);
        block_on(
            self,
            |_| note,
            |adi, kernel| {
                // Most attempts find no work.
                if call.waits(adi) {
                    None
                } else {
                    call.advance(adi, kernel, combine)
                }
            },
        )
    }
}

impl<E: EnterDevice + ?Sized> NetworkCollectives for E {}

/// Returns whether the fast path may support messages of this mode.
#[inline(always)]
fn has_fast_path(outgoing: &OutgoingMessage) -> bool {
    FAST_PATH && outgoing.to.mode == SendMode::Standard
}
