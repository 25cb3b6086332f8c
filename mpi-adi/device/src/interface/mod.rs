//! The device's interface: the operations that communicators, collectives, windows and bindings call.
//!
//! ```text
//!   mpi/, c/, rust/  -- Device: operations, plain data in and out -->  interface/
//!                                                                          |  Enter: one call, interrupts held off
//!                                                              a host: node, Linux process, simulated node
//!                                                                          |
//!                                                                         Adi
//! ```
//! [`Enter`] is the side of the host: it lends the device to one operation at a time. [`Device`] is the side of the
//! layers above: an operation takes plain data, enters the device once, and returns plain data. A layer above never
//! holds a reference to the device, so nothing of it can run while the device is lent.
//!
//! # Blocking
//! An operation blocks only where its description says so. It then repeats bounded steps: an attempt, a
//! [step of progress](Kernel::poll), and a [sleep](Kernel::idle) if neither changed anything. A condition that only the
//! layer above can check is awaited by a loop of that layer over [`Device::advance`].
//!
//! # The fast path
//! [`Device::send`], [`Device::start_send`], [`Device::receive`], [`Device::start_receive`] and [`Device::wait`] first
//! ask the host's fast form of the same operation, where it has one ([`Enter::fast_send`]). It completes what needs
//! neither a request nor a step of progress. In the profile `micro` no host has one.
//!
//! # Errors and memory
//! [`NoMemory`] is the only error: the program's heap has no room for a request. Nothing has been started then, and the
//! call can be repeated. No operation allocates otherwise.
#![forbid(unsafe_code)]

mod blocking;
mod borrowed;
mod data;
mod enter;
mod general_path;

pub use blocking::{ANY_SOURCE_NOTE, ANY_TAG_NOTE, finish};
pub(crate) use blocking::{block_on, with, with_once};
pub use borrowed::{BorrowedDevice, run_in_interrupt};
pub use data::*;
pub use enter::{Enter, HAS_FAST_PATH, Work};

use blocking::{FAST_PATH, block_until, note_of_pattern, poll, poll_and, start_and_poll, test};
use general_path::{
    finish_cancel, finish_cancel_of_receive, receive_rest, send_rest, start_cancel,
    start_receive_rest, start_receive_with, start_send_rest, start_send_with, wait_rest,
};

use crate::adi::{Adi, ProgressHook};
use crate::barrier::Differ;
use crate::barrier::call::{Allreduce, Combine, Turn, offers_barrier};
use crate::config::NoMemory;
use crate::envelope::{Context, Pattern};
use crate::kernel::{AbortReason, CallNote, Heap, Kernel, MpiError};
use crate::matching::Choice;
use crate::memory::Span;
use crate::memory::area::Area;
use crate::names::RequestId;
use crate::recv::Probed;
use crate::request::Mode;

/// Bytes of the program's memory that one operation copies at most: link interrupts are held off meanwhile.
pub const COPY_SLICE_BYTES: usize = 16 << 10;

fn heap(kernel: &dyn Kernel) -> Heap {
    kernel.heap().unwrap_or(Heap { bytes: 0, used: 0 })
}

/// The operations of a process's device. `function` names the MPI function for a report of a hang.
pub trait Device: Enter {
    /// Sends a message, and blocks until its buffer may be used again (MPI-3.1 section 3.4). The destination exists,
    /// the tag is not negative and the message is below 4 GiB. Fails with [`NoMemory`].
    #[inline(always)]
    fn send(&self, function: &'static str, outgoing: &Outgoing) -> Result<(), NoMemory> {
        let sent = if has_fast_path(outgoing) {
            self.fast_send(outgoing)
        } else {
            Sent::Not
        };
        match sent {
            Sent::Complete => Ok(()),
            sent => send_rest(self, function, outgoing, sent),
        }
    }

    /// Starts a send (section 3.7.2). Does not block. `None`: the buffer may be used again, and there is no request.
    /// The message is as for [`Device::send`]. Fails with [`NoMemory`].
    #[inline(always)]
    fn start_send(
        &self,
        function: &'static str,
        outgoing: &Outgoing,
        memory: RequestMemory,
    ) -> Result<Option<RequestId>, NoMemory> {
        if memory != RequestMemory::Shared {
            return start_send_with(self, function, outgoing, memory);
        }
        let sent = if has_fast_path(outgoing) {
            self.fast_send(outgoing)
        } else {
            Sent::Not
        };
        match sent {
            Sent::Complete | Sent::Copied => Ok(None),
            Sent::Started(id) => Ok(Some(id)),
            Sent::Not => start_send_rest(self, function, outgoing).map(Some),
        }
    }

    /// Receives a message, and blocks until it is here (section 3.2.4). Fails with [`NoMemory`].
    #[inline(always)]
    fn receive(
        &self,
        function: &'static str,
        incoming: &Incoming,
    ) -> Result<ReceivedMessage, NoMemory> {
        let received = if FAST_PATH {
            self.fast_receive(function, incoming)
        } else {
            Received::Not
        };
        match received {
            Received::Complete(whole) => Ok(ReceivedMessage {
                whole,
                is_truncated: false,
            }),
            received => receive_rest(self, function, incoming, received),
        }
    }

    /// Starts a receive (section 3.7.2). Does not block. Fails with [`NoMemory`].
    #[inline(always)]
    fn start_receive(
        &self,
        function: &'static str,
        incoming: &Incoming,
        memory: RequestMemory,
    ) -> Result<RequestId, NoMemory> {
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
            None => start_receive_rest(self, function, incoming),
        }
    }

    /// Looks for a message that matches (section 3.8.1), after a step of progress if it does not block. `None`: there
    /// is none yet. Fails with [`NoMemory`].
    fn probe(
        &self,
        function: &'static str,
        pattern: Pattern,
        blocking: Blocking,
    ) -> Result<Option<Probed>, NoMemory> {
        if blocking == Blocking::No {
            // Progress first: a message that has arrived by now is found by this probe, not by the next.
            return poll_and(self, Some(function), |adi, _| adi.iprobe(pattern));
        }
        let note = note_of_pattern(function, &pattern);
        block_on(
            self,
            |_| note,
            |adi, _| match adi.iprobe(pattern) {
                Ok(None) => None,
                found => Some(found),
            },
        )
    }

    /// Takes a message that matches (section 3.8.2): the name by which alone it can be received, and its envelope.
    /// Blocks, if not asked to, for no longer than the answer of a sender takes. Fails with [`NoMemory`].
    fn take(
        &self,
        function: &'static str,
        pattern: Pattern,
        blocking: Blocking,
    ) -> Result<Option<(RequestId, Probed)>, NoMemory> {
        if blocking == Blocking::No {
            let (found, is_fetching) = poll_and(self, Some(function), |adi, kernel| {
                let found = adi.improbe(kernel.memory(), pattern);
                (found, adi.is_fetching())
            });
            if !is_fetching {
                return found;
            }
        }
        let note = note_of_pattern(function, &pattern);
        block_on(
            self,
            |_| note,
            |adi, kernel| match adi.improbe(kernel.memory(), pattern) {
                Ok(None) if blocking == Blocking::Yes || adi.is_fetching() => None,
                found => Some(found),
            },
        )
    }

    /// Starts the receive of a message that has been taken (section 3.8.3): its name is that of a receive from now on.
    /// Does not block.
    ///
    /// # Panics
    /// When there is no such message.
    fn start_receive_taken(&self, function: &'static str, id: RequestId, span: Span) {
        start_and_poll(
            self,
            || CallNote::of(function),
            |adi, kernel| adi.mrecv(kernel.memory(), id, span),
        );
    }

    /// Blocks until a request has finished, and frees it. `None`: there is none of this name.
    #[inline(always)]
    fn wait(&self, function: &'static str, id: RequestId) -> Option<Completion> {
        if FAST_PATH && let Some(whole) = self.fast_wait(function, id) {
            return Some(Completion::Whole(whole));
        }
        wait_rest(self, function, id)
    }

    /// Looks whether a request has finished, and frees it if so; within a call of `function` after a step of progress.
    /// Does not block.
    fn test(&self, function: Option<&'static str>, id: RequestId) -> TestResult {
        poll_and(self, function, |adi, _| test(adi, id))
    }

    /// Which of up to 64 requests have finished, and which are unknown. They stay as they are. Does not block.
    ///
    /// # Panics
    /// When there are more than 64.
    fn check_requests(&self, ids: &[RequestId]) -> CompletionSet {
        assert!(ids.len() <= CompletionSet::MAX);
        with(self, |adi, _| {
            let mut all = CompletionSet::default();
            for (place, id) in ids.iter().enumerate() {
                let is_done = adi.requests().is_done(*id);
                all.finished |= u64::from(is_done == Some(true)) << place;
                all.unknown |= u64::from(is_done.is_none()) << place;
            }
            all
        })
    }

    /// What is known of a request, which stays as it is; within a call of `function` after a step of progress. `None`:
    /// there is none of this name. Does not block.
    fn inspect(&self, function: Option<&'static str>, id: RequestId) -> Option<RequestState> {
        poll_and(self, function, |adi, _| {
            let (context, buffer) = adi.requests().context_and_buffer(id)?;
            let taken = adi.held(id);
            let ended = match taken {
                None => adi.peek_in_context(id),
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

    /// Cancels a request (section 3.8.4), as far as `cancel` says.
    #[inline(always)]
    fn cancel(&self, function: &'static str, id: RequestId, cancel: Cancel) {
        match cancel {
            Cancel::Start => start_cancel(self, function, id),
            Cancel::Finish => finish_cancel(self, function, id),
            Cancel::FinishReceive => finish_cancel_of_receive(self, function, id),
        }
    }

    /// Releases a request (section 3.7.3), finished or not; one that is unknown is left at that. A cancelled receive
    /// that is still posted ends now. Does not block.
    fn release(&self, id: RequestId, release: Release) {
        with(self, |adi, _| match release {
            Release::Request => adi.forget(id),
            Release::Handle => {
                adi.end_cancel(id);
                adi.disown(id);
            }
        });
    }

    /// One step of progress within the call of `note`, then the hook, if it is ready. Without `since` it does not
    /// block. With it, the value that the last call returned, it sleeps if nothing has changed since then: a layer that
    /// awaits a condition calls this in a loop, and no event is lost between the check of the condition and the sleep.
    fn advance(&self, note: CallNote, since: Option<Events>) -> Events {
        let (events, hook) = with(self, |adi, kernel| {
            kernel.note(Some(note));
            let has_moved = poll(adi, kernel);
            let hook = adi.ready_hook();
            let is_quiet = !has_moved && hook.is_none();
            if is_quiet && since == Some(adi.events()) {
                kernel.idle();
            }
            kernel.note(None);
            (adi.events(), hook)
        });
        if let Some(hook) = hook {
            hook();
        }
        events
    }

    /// Lets the host continue with what the caller has made ready, such as the state of a collective that interrupts
    /// may advance from now on. Does not block.
    fn notify(&self) {
        with(self, |_, _| ());
    }

    /// Copies the beginning of the program's memory `from` into `out`, which is no longer. Does not block.
    fn read(&self, from: Area, out: &mut [u8]) {
        let mut offset = 0;
        for slice in out.chunks_mut(COPY_SLICE_BYTES) {
            let part = from.part(offset, slice.len());
            with(self, |_, kernel| part.read(kernel.memory(), &mut *slice));
            offset += slice.len();
        }
    }

    /// Copies `bytes` to the beginning of the program's memory `to`, which is no shorter. Does not block.
    fn write(&self, to: Area, bytes: &[u8]) {
        let mut offset = 0;
        for slice in bytes.chunks(COPY_SLICE_BYTES) {
            let part = to.part(offset, slice.len());
            with(self, |_, kernel| part.write(kernel.memory(), slice));
            offset += slice.len();
        }
    }

    /// Prepares this context and the one for collectives after it for use. Does not block.
    fn open_context(&self, context: Context) {
        with(self, |adi, _| adi.open_context(context));
    }

    /// Nothing of this context or of the one for collectives after it can be matched any more, as far as this process
    /// knows ([`Adi::context_is_idle`]). Searches all requests and unexpected messages; does not block.
    fn is_context_idle(&self, context: Context) -> bool {
        with(self, |adi, _| adi.context_is_idle(context))
    }

    /// Reserves what the request of one message needs, or gives it back, or checks. Does not block. Fails with
    /// [`NoMemory`].
    fn reserve(&self, reserve: Reserve) -> Result<(), NoMemory> {
        with(self, |adi, _| {
            let is_there = match reserve {
                Reserve::Message { keep } => return adi.reserve_message(keep),
                Reserve::FreeMessage => adi.reserve_free(),
                Reserve::Check => adi.is_reserved_for_receives(),
                Reserve::Return { messages } => {
                    (0..messages).for_each(|_| adi.release_message());
                    true
                }
            };
            if is_there {
                Ok(())
            } else {
                Err(adi.no_memory())
            }
        })
    }

    /// From now on calls that make progress run this hook, and none that they ran before. Does not block.
    fn set_hook(&self, hook: ProgressHook) {
        with_once(self, |adi, _| adi.set_hook(hook));
    }

    /// Where this process is. Does not block.
    fn place(&self) -> Place {
        with(self, |adi, _| Place {
            rank: adi.rank(),
            here: adi.here(),
            shape: adi.shape(),
        })
    }

    /// A quantity. Does not block.
    #[inline(always)]
    fn measure(&self, measure: Measure) -> u64 {
        // Each by itself: a caller of one has no code for the others.
        match measure {
            Measure::Now => with(self, |_, kernel| kernel.now()),
            Measure::Tick => with(self, |_, kernel| kernel.tick()),
            Measure::Patience => with(self, |_, kernel| kernel.patience()),
            Measure::Heap => with(self, |_, kernel| heap(kernel).bytes as u64),
            Measure::HeapUsed => with(self, |_, kernel| heap(kernel).used as u64),
            Measure::MpiMemory => with(self, |adi, _| adi.region().bytes() as u64),
            Measure::MpiMemoryUsed => with(self, |adi, _| adi.region().used_bytes() as u64),
            Measure::EagerLimit => with(self, |adi, _| adi.eager_limit() as u64),
            Measure::Engine => with(self, |adi, _| {
                let is_it = |choice: &Choice| choice.name() == adi.engine();
                Choice::ALL.iter().position(is_it).unwrap_or(0) as u64
            }),
            Measure::PostedReceives => with(self, |adi, _| adi.matching().posted.into()),
            Measure::UnexpectedMessages => with(self, |adi, _| adi.matching().unexpected.into()),
            Measure::Requests => with(self, |adi, _| adi.requests().live().into()),
            Measure::RequestsIn(context) => {
                with(self, |adi, _| adi.requests().count_in(context).into())
            }
            Measure::Counter(index) => with(self, |adi, kernel| {
                kernel.count(adi);
                kernel.counted(index)
            }),
        }
    }

    /// Sets the greatest message in bytes that is sent eagerly ([`Adi::set_eager_limit`]). Does not block.
    fn set_eager_limit(&self, bytes: usize) {
        with(self, |adi, _| adi.set_eager_limit(bytes));
    }

    /// Ends the whole job with `status`. Does not return.
    fn abort(&self, why: Abort<'_>, status: i32) -> ! {
        loop {
            self.enter(&mut |adi, kernel| {
                let error = match &why {
                    Abort::Called => kernel.abort(AbortReason::MpiAbort, status),
                    Abort::Error(error) => error,
                };
                let error = MpiError {
                    rank: adi.rank().index(),
                    here: adi.here(),
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

impl<E: Enter + ?Sized> Device for E {}

/// The collectives that the network itself carries.
pub trait NetworkCollectives: Enter {
    /// The barrier of all processes by the network's own packets ([`barrier`](crate::barrier)), the last one if so
    /// said. Blocks. False: the network does not offer it, to none of the processes, and nothing has been done. Fails
    /// if the processes' calls differ.
    fn barrier(&self, function: &'static str, is_last: bool) -> Result<bool, Differ> {
        let mut has_entered = false;
        let mut differs = None;
        block_until(self, &|_| CallNote::of(function), &mut |adi, kernel| {
            if !has_entered {
                if !offers_barrier(adi, kernel) {
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
                differs = adi.barrier_differs();
            }
            is_over
        });
        match differs {
            None => Ok(has_entered),
            Some(differ) => Err(differ),
        }
    }

    /// Blocks until this process may leave the job: all that it has sent, and that is received, has left
    /// ([`Adi::may_leave`]).
    fn wait_until_sent(&self, function: &'static str) {
        let note = |_: &Adi| CallNote::of(function);
        block_until(self, &note, &mut |adi, _| adi.may_leave());
    }

    /// An allreduce of all processes by the barrier's packets. Blocks until it has ended, or a function of the
    /// program's is to combine two values ([`Turn::Combine`]): the caller then [combines](Allreduce::combine) them and
    /// repeats the call.
    fn allreduce(
        &self,
        function: &'static str,
        call: &mut Allreduce,
        combine: &mut Combine<'_>,
    ) -> Turn {
        let note = CallNote::of(function);
        block_on(
            self,
            |_| note,
            |adi, kernel| {
                // Most attempts find nothing to do.
                if call.waits(adi) {
                    None
                } else {
                    call.advance(adi, kernel, combine)
                }
            },
        )
    }
}

impl<E: Enter + ?Sized> NetworkCollectives for E {}

/// Of messages of this kind there may be a fast form.
#[inline(always)]
fn has_fast_path(outgoing: &Outgoing) -> bool {
    FAST_PATH && outgoing.to.mode == Mode::Standard
}
