//! The device's interface: the operations that communicators, collectives, windows and bindings call.
//!
//! ```text
//!   mpi/, c/, rust/  -- Device: operations, plain data in and out -->  interface.rs
//!                                                                          |  Enter: one call, interrupts held off
//!                                                              a host: node, Linux process, simulated node
//!                                                                          |
//!                                                                         Adi
//! ```
//! [`Enter`] is the side of the host: it lends the device to one operation at a time. [`Device`] is the side of the layers
//! above: an operation takes plain data, enters the device once, and returns plain data. A layer above never holds a
//! reference to the device, so nothing of it can run while the device is lent.
//!
//! # Blocking
//! An operation blocks only where its description says so. It then repeats bounded steps: an attempt, a
//! [step of progress](Kernel::poll), and a [sleep](Kernel::idle) if neither changed anything. A condition that only the
//! layer above can check is awaited by a loop of that layer over [`Device::advance`].
//!
//! # The fast path
//! [`Device::send`], [`Device::start_send`], [`Device::receive`], [`Device::start_receive`] and [`Device::wait`] first ask
//! the host's fast form of the same operation, where it has one ([`Enter::fast_send`]). It completes what needs neither a
//! request nor a step of progress. In the profile `micro` no host has one.
//!
//! # Errors and memory
//! [`NoMemory`] is the only error: the program's heap has no room for a request. Nothing has been started then, and the call
//! can be repeated. No operation allocates otherwise.
#![forbid(unsafe_code)]

use core::cell::RefCell;
use core::panic::Location;

use net_torus::coord::{Coord, Shape};

pub use crate::adi::Events;
use crate::adi::{Adi, HookResult, ProgressHook};
pub use crate::at_once::{Incoming, Outgoing, Received, Sent};
use crate::barrier::Differ;
use crate::barrier::call::{Allreduce, Combine, Turn, offers_barrier};
use crate::config::NoMemory;
use crate::envelope::{Context, Pattern, Rank};
use crate::kernel::{AbortReason, CallNote, Heap, Kernel, MpiError, Told};
use crate::matching::Choice;
use crate::memory::area::Area;
use crate::memory::{Span, UserMemory};
use crate::names::RequestId;
use crate::recv::Probed;
use crate::request::{Concluded, Mode, Outcome, Whole};

/// MPI_ANY_SOURCE as call notes show it.
pub const ANY_SOURCE_NOTE: i32 = -2;
/// MPI_ANY_TAG as call notes show it.
pub const ANY_TAG_NOTE: i32 = -1;
/// Bytes of the program's memory that one operation copies at most: link interrupts are held off meanwhile.
pub const COPY_SLICE_BYTES: usize = 16 << 10;

/// An operation's work with the device and its host.
pub type Work<'a> = dyn FnMut(&mut Adi, &mut dyn Kernel) + 'a;

/// The host's side: lends the device of this process to one operation at a time.
pub trait Enter {
    /// Runs `work` once with the device and its kernel, link interrupts held off meanwhile. Only [`Device`]'s operations
    /// call it, and never from inside `work`.
    fn enter<'w>(&self, work: &'w mut Work<'w>);

    /// Sends a message of [`Mode::Standard`], if it is complete or started without a step of progress. Does not block.
    /// [`Sent::Not`]: nothing has changed.
    fn fast_send(&self, outgoing: &Outgoing) -> Sent {
        let _ = outgoing;
        Sent::Not
    }

    /// Receives a message within a call of `function`, and waits for it ([`finish`]). [`Received::Not`]: nothing has changed.
    /// [`Received::Started`]: the wait ended without a whole message, and the request is still there.
    fn fast_receive(&self, function: &'static str, incoming: &Incoming) -> Received {
        let _ = (function, incoming);
        Received::Not
    }

    /// Starts a receive. Does not block. `None`: nothing has changed.
    fn fast_start_receive(&self, incoming: &Incoming) -> Option<RequestId> {
        let _ = incoming;
        None
    }

    /// Waits for a request ([`finish`]). `None`: nothing has been told of the request, which may have finished.
    fn fast_wait(&self, function: &'static str, id: RequestId) -> Option<Whole> {
        let _ = (function, id);
        None
    }
}

/// Runs the hook's part for interrupts ([`ProgressHook::run_in_interrupt`]), for a host that has the device already. Does not
/// block.
pub fn run_in_interrupt(adi: &mut Adi, memory: &mut dyn UserMemory) -> HookResult {
    let Some(run) = adi.interrupt_hook() else {
        return HookResult::Idle;
    };
    let result = run(adi, memory);
    if result == HookResult::Advanced {
        adi.count_events(1);
    }
    result
}

/// A device that an interrupt has in its hands, for operations.
pub struct Borrowed<'a>(RefCell<(&'a mut Adi, &'a mut dyn UserMemory)>);

impl<'a> Borrowed<'a> {
    /// This device, and the program's memory.
    pub fn new(adi: &'a mut Adi, memory: &'a mut dyn UserMemory) -> Self {
        Borrowed(RefCell::new((adi, memory)))
    }
}

impl Enter for Borrowed<'_> {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        let (adi, memory) = &mut *self.0.borrow_mut();
        work(adi, &mut WithoutNetwork(*memory));
    }
}

/// The kernel of a [`Borrowed`] device: the interrupt itself makes the steps of progress.
struct WithoutNetwork<'a>(&'a mut dyn UserMemory);

impl Kernel for WithoutNetwork<'_> {
    fn poll(&mut self, _: &mut Adi) -> bool {
        false
    }

    fn idle(&mut self) {}

    fn memory(&mut self) -> &mut dyn UserMemory {
        self.0
    }

    fn now(&self) -> u64 {
        0
    }

    fn note(&mut self, _: Option<CallNote>) {}

    fn abort(&mut self, _: AbortReason<'_>, _: i32) -> ! {
        unreachable!("interrupts advance collectives, which end no job")
    }
}

/// Whether an operation waits until it has a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blocking {
    /// It makes one step of progress at most.
    No,
    /// It waits.
    Yes,
}

/// The memory from which the request of a message is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestMemory {
    /// The program's heap, except for what is kept for calls that block.
    Shared,
    /// All of the heap, for a call that blocks until the request has finished.
    Blocking,
    /// What [`Device::reserve`] has reserved for one message, in a call.
    Reserved,
    /// The same, in an interrupt: nothing is taken of the heap, and the host makes the next step of progress.
    ReservedInInterrupt,
}

/// A message that has been received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceivedMessage {
    /// Its sender, tag and context, and the bytes received.
    pub whole: Whole,
    /// It was longer than the buffer (MPI_ERR_TRUNCATE); only its beginning was kept.
    pub is_truncated: bool,
}

impl ReceivedMessage {
    /// How its request would have ended.
    pub fn outcome(&self) -> Outcome {
        Outcome::of(self.whole, self.is_truncated)
    }
}

/// How a request has ended, which is freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// With a whole message into or out of a plain buffer.
    Whole(Whole),
    /// Otherwise.
    Otherwise(Concluded),
}

impl Ended {
    /// How it has ended.
    pub fn outcome(&self) -> Outcome {
        match self {
            Ended::Whole(whole) => Outcome::of(*whole, false),
            Ended::Otherwise(concluded) => concluded.outcome,
        }
    }
}

/// A look at a request's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tested {
    /// There is no request of this name.
    Unknown,
    /// It has not finished.
    Pending,
    /// It has finished, and is freed.
    Ended(Ended),
}

/// A look at several requests: bit `i` is for the request at place `i`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LookedUp {
    /// They have finished.
    pub finished: u64,
    /// There is none of this name.
    pub unknown: u64,
}

impl LookedUp {
    /// Requests that one look is about at most.
    pub const MAX: usize = u64::BITS as usize;
}

/// What is known of a request, which stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestState {
    /// Its context: of a receive that has matched, its message's.
    pub context: Context,
    /// The program's buffer, if it has one.
    pub buffer: Span,
    /// How it has ended; `None`: it has not.
    pub outcome: Option<Outcome>,
    /// It is a message that has been [taken](Device::take) and not been received.
    pub is_taken: bool,
}

/// What is released of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// The request: it is freed, now or when it has finished.
    Request,
    /// The program's handle: the layer above keeps the name, and releases the request when it has finished.
    Handle,
}

/// How far [`Device::cancel`] goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancel {
    /// After a step of progress it begins. The request ends soon, cancelled or complete. Does not block.
    Start,
    /// Until the request has ended, and is freed. Blocks for no longer than data under way takes to arrive.
    Finish,
    /// The same of a receive.
    FinishReceive,
}

/// Why a program ends the job.
#[derive(Clone, Copy, Debug)]
pub enum Abort<'a> {
    /// It has called MPI_Abort.
    Called,
    /// An error under MPI_ERRORS_ARE_FATAL.
    Error(FatalError<'a>),
}

/// An error that ends the job; see [`MpiError`].
#[derive(Clone, Copy, Debug)]
pub struct FatalError<'a> {
    /// The MPI name of the call.
    pub function: &'a str,
    /// The error.
    pub told: Told<&'a str>,
    /// The report says how full the heap was.
    pub is_about_memory: bool,
    /// The program's own text for the error's code.
    pub said: Option<&'a str>,
    /// The line of the program that has made the call.
    pub called_at: Option<&'a Location<'a>>,
}

/// A process's place in the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its number.
    pub rank: Rank,
    /// Its node.
    pub here: Coord,
    /// The machine: a process a node.
    pub shape: Shape,
}

/// A quantity of the device or its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Nanoseconds since the start of this node; never goes back.
    Now,
    /// Nanoseconds between two values of `Now` that differ as little as possible.
    Tick,
    /// [`Kernel::patience`].
    Patience,
    /// Bytes of the program's heap; 0: not known.
    Heap,
    /// Bytes of it in use; 0: not known.
    HeapUsed,
    /// Bytes of MPI memory.
    MpiMemory,
    /// Bytes of MPI memory in use, records and buffers.
    MpiMemoryUsed,
    /// Bytes of the greatest message that is sent eagerly.
    EagerLimit,
    /// The place of the matching engine in [`Choice::ALL`].
    Engine,
    /// Receives posted and not yet matched.
    PostedReceives,
    /// Messages recorded and not yet matched.
    UnexpectedMessages,
    /// Requests under way, or finished and not yet freed.
    Requests,
    /// The host's counter of this index.
    Counter(usize),
}

fn heap(kernel: &dyn Kernel) -> Heap {
    kernel.heap().unwrap_or(Heap { bytes: 0, used: 0 })
}

/// What the device still has of a context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContextState {
    /// Requests under way in it.
    pub requests: u32,
    /// Nothing of it can be matched any more, as far as this process knows ([`Adi::context_is_idle`]).
    pub is_idle: bool,
}

/// What [`Device::reserve`] does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reserve {
    /// Reserves what one message needs, beside so many slots for others.
    Message {
        /// The slots.
        keep: u32,
    },
    /// The same of what is free already, for interrupts: takes nothing of the heap.
    FreeMessage,
    /// Gives back what is reserved for so many messages.
    Return {
        /// How many.
        messages: u32,
    },
    /// Changes nothing: looks whether receives have what they need.
    Check,
}

/// Enters the device once.
#[inline]
pub(crate) fn with<E, R>(env: &E, work: impl FnOnce(&mut Adi, &mut dyn Kernel) -> R) -> R
where
    E: Enter + ?Sized,
{
    let (mut work, mut result) = (Some(work), None);
    env.enter(&mut |adi, kernel| {
        if let Some(work) = work.take() {
            result = Some(work(adi, kernel));
        }
    });
    result.expect("Enter::enter runs its work")
}

/// Blocks until `attempt` gives a value, with a step of progress between attempts; the hook of [`Device::set_hook`] runs
/// outside of the device.
// What is inlined here is small: the loop is `drive`, and its step one copy.
#[inline]
pub(crate) fn block_on<E, R>(
    env: &E,
    note: impl Fn(&Adi) -> CallNote,
    mut attempt: impl FnMut(&mut Adi, &mut dyn Kernel) -> Option<R>,
) -> R
where
    E: Enter + ?Sized,
{
    let mut result = None;
    loop {
        let mut hook = None;
        env.enter(&mut |adi, kernel| {
            result = attempt(adi, kernel);
            if result.is_some() {
                return;
            }
            let note = note(adi);
            (result, hook) = drive(adi, kernel, note, &mut attempt);
        });
        match result {
            Some(value) => return value,
            None => run_hook(hook),
        }
    }
}

/// An attempt that has no value to give.
type Condition<'a> = dyn FnMut(&mut Adi, &mut dyn Kernel) -> bool + 'a;

/// As [`block_on`] of a condition, in one copy for all operations that are rare or wait long.
#[inline(never)]
fn block_until<E>(env: &E, note: &dyn Fn(&Adi) -> CallNote, is_true: &mut Condition<'_>)
where
    E: Enter + ?Sized,
{
    block_on(env, note, |adi, kernel| is_true(adi, kernel).then_some(()));
}

/// As [`block_until`], of an attempt.
#[inline]
fn block_until_some<E, R>(
    env: &E,
    note: &dyn Fn(&Adi) -> CallNote,
    mut attempt: impl FnMut(&mut Adi, &mut dyn Kernel) -> Option<R>,
) -> R
where
    E: Enter + ?Sized,
{
    let mut result = None;
    block_until(env, note, &mut |adi, kernel| {
        result = attempt(adi, kernel);
        result.is_some()
    });
    result.expect("the condition is true")
}

/// One step of progress within a call; true when anything was done.
#[inline]
fn poll(adi: &mut Adi, kernel: &mut dyn Kernel) -> bool {
    adi.fill_stock();
    kernel.poll(adi)
}

/// One step of progress, and a sleep when nothing moved. Returns the hook that is to run outside of the device.
// One copy for all calls that wait.
#[inline(never)]
fn poll_or_sleep(adi: &mut Adi, kernel: &mut dyn Kernel) -> Option<fn()> {
    let has_moved = poll(adi, kernel);
    let hook = adi.ready_hook();
    if !has_moved && hook.is_none() {
        kernel.idle();
    }
    hook
}

/// An operation has left the device without a result: a hook is ready.
#[cold]
#[inline(never)]
fn run_hook(hook: Option<fn()>) {
    hook.expect("Enter::enter runs its work")();
}

/// Steps within a call, each followed by an attempt, until one gives a value or a hook is ready.
#[inline]
fn drive<R>(
    adi: &mut Adi,
    kernel: &mut dyn Kernel,
    note: CallNote,
    mut attempt: impl FnMut(&mut Adi, &mut dyn Kernel) -> Option<R>,
) -> (Option<R>, Option<fn()>) {
    kernel.note(Some(note));
    let (mut result, mut hook) = (None, None);
    while result.is_none() && hook.is_none() {
        hook = poll_or_sleep(adi, kernel);
        result = attempt(adi, kernel);
    }
    kernel.note(None);
    (result, hook)
}

/// Waits within a call of `function` for a request: its message, if it finishes with a [whole](Adi::conclude_whole) one.
/// `None`: the call is to continue by itself, because the request ended otherwise, or there is none, or a hook is ready. For
/// hosts, in [`Enter::fast_wait`]. Blocks until then.
pub fn finish(
    adi: &mut Adi,
    kernel: &mut dyn Kernel,
    function: &'static str,
    id: RequestId,
) -> Option<Whole> {
    let conclude = |adi: &mut Adi| match adi.conclude_whole(id) {
        None if !adi.is_done(id) => None,
        ended => Some(ended),
    };
    if let Some(ended) = conclude(adi) {
        return ended;
    }
    let note = note_of_request(adi, function, id);
    drive(adi, kernel, note, |adi, _| conclude(adi)).0.flatten()
}

/// The note of a call of `function` that waits for this request.
fn note_of_request(adi: &Adi, function: &'static str, id: RequestId) -> CallNote {
    match adi.requests().pattern(id) {
        Some(pattern) => note_of_pattern(function, &pattern),
        None => CallNote::of(function),
    }
}

/// The note of a call of `function` for such messages.
fn note_of_pattern(function: &'static str, pattern: &Pattern) -> CallNote {
    let source = pattern.source();
    CallNote {
        function,
        peer: Some(source.map_or(ANY_SOURCE_NOTE, |rank| rank.index() as i32)),
        tag: note_of_tag(pattern.context(), pattern.tag().unwrap_or(ANY_TAG_NOTE)),
    }
}

/// The note of a call of `function` that sends this.
fn note_of_send(function: &'static str, outgoing: &Outgoing) -> CallNote {
    CallNote {
        function,
        peer: Some(outgoing.to.dest.index() as i32),
        tag: note_of_tag(outgoing.to.context, outgoing.to.tag),
    }
}

/// The tags of collectives, whose contexts are odd, mean nothing to the program.
fn note_of_tag(context: Context, tag: i32) -> Option<i32> {
    context.is_multiple_of(2).then_some(tag)
}

/// The request's end, if it has finished; it is freed then.
fn test(adi: &mut Adi, id: RequestId) -> Tested {
    if FAST_PATH && let Some(whole) = adi.conclude_whole(id) {
        return Tested::Ended(Ended::Whole(whole));
    }
    match adi.conclude(id) {
        None => Tested::Unknown,
        Some(None) => Tested::Pending,
        Some(Some(concluded)) => Tested::Ended(Ended::Otherwise(concluded)),
    }
}

/// Runs `start` once, and then one step of progress if the device has something to send, so that a message leaves at once
/// if the network has room. Does not block.
fn start_and_poll<E, R>(
    env: &E,
    note: impl FnOnce() -> CallNote,
    start: impl FnOnce(&mut Adi, &mut dyn Kernel) -> R,
) -> R
where
    E: Enter + ?Sized,
{
    with(env, |adi, kernel| {
        let result = start(adi, kernel);
        if adi.has_to_send() {
            kernel.note(Some(note()));
            poll(adi, kernel);
            kernel.note(None);
        }
        result
    })
}

/// One step of progress if a `function` is given, then `work`, once; then the hook, if it is ready. Does not block.
fn poll_and<E, R>(
    env: &E,
    function: Option<&'static str>,
    work: impl FnOnce(&mut Adi, &mut dyn Kernel) -> R,
) -> R
where
    E: Enter + ?Sized,
{
    let (result, hook) = with(env, |adi, kernel| {
        let Some(function) = function else {
            return (work(adi, kernel), None);
        };
        kernel.note(Some(CallNote::of(function)));
        poll(adi, kernel);
        let hook = adi.ready_hook();
        let result = work(adi, kernel);
        kernel.note(None);
        (result, hook)
    });
    if let Some(hook) = hook {
        hook();
    }
    result
}

/// The rest of [`Device::send`].
#[cold]
#[inline(never)]
fn send_rest<E>(
    env: &E,
    function: &'static str,
    outgoing: &Outgoing,
    sent: Sent,
) -> Result<(), NoMemory>
where
    E: Enter + ?Sized,
{
    let Outgoing { to, span } = *outgoing;
    let note = note_of_send(function, outgoing);
    let mut started = match sent {
        Sent::Complete => return Ok(()),
        Sent::Copied => Some(None),
        Sent::Started(id) => Some(Some(id)),
        Sent::Not => None,
    };
    block_until_some(env, &|_| note, |adi, kernel| {
        let id = match started {
            Some(id) => id,
            None if adi.awaits_copies(&to) => return None,
            None => match adi.send_within_call(kernel.memory(), to, span) {
                Ok(id) => {
                    if adi.has_to_send() {
                        kernel.poll(adi);
                    }
                    *started.insert(id)
                }
                Err(error) => return Some(Err(error)),
            },
        };
        match id {
            Some(id) => adi.test(id).map(|_| Ok(())),
            None => (kernel.goes_on_alone() || adi.have_copies_left()).then_some(Ok(())),
        }
    })
}

/// The rest of [`Device::receive`].
#[cold]
#[inline(never)]
fn receive_rest<E>(
    env: &E,
    function: &'static str,
    incoming: &Incoming,
    received: Received,
) -> Result<ReceivedMessage, NoMemory>
where
    E: Enter + ?Sized,
{
    let Incoming { pattern, span } = *incoming;
    let of = |whole, is_truncated| ReceivedMessage {
        whole,
        is_truncated,
    };
    let mut started = match received {
        Received::Complete(whole) => return Ok(of(whole, false)),
        Received::Truncated(whole) => return Ok(of(whole, true)),
        Received::Started(id) => Some(id),
        Received::Not => None,
    };
    block_until_some(
        env,
        &|_| note_of_pattern(function, &pattern),
        |adi, kernel| {
            let id = match started {
                Some(id) => id,
                None => match adi.recv_within_call(kernel.memory(), pattern, span) {
                    Ok(id) => *started.insert(id),
                    Err(error) => return Some(Err(error)),
                },
            };
            let outcome = adi.test(id)?;
            let whole = Whole {
                peer: outcome.source,
                tag: outcome.tag,
                bytes: outcome.bytes as u32,
                context: pattern.context(),
            };
            Some(Ok(of(whole, outcome.truncated)))
        },
    )
}

// The rest of `Device::start_send` and `Device::start_receive`, with the memory that most calls use, and with others: an image
// whose program makes no collectives has no code for reserved memory.

#[cold]
#[inline(never)]
fn start_send_rest<E>(
    env: &E,
    function: &'static str,
    outgoing: &Outgoing,
) -> Result<RequestId, NoMemory>
where
    E: Enter + ?Sized,
{
    let note = || note_of_send(function, outgoing);
    start_and_poll(env, note, |adi, kernel| {
        adi.isend(kernel.memory(), outgoing.to, outgoing.span)
    })
}

#[cold]
#[inline(never)]
fn start_send_with<E>(
    env: &E,
    function: &'static str,
    outgoing: &Outgoing,
    memory: RequestMemory,
) -> Result<Option<RequestId>, NoMemory>
where
    E: Enter + ?Sized,
{
    let Outgoing { to, span } = *outgoing;
    let start = |adi: &mut Adi, kernel: &mut dyn Kernel| match memory {
        RequestMemory::Shared => adi.isend(kernel.memory(), to, span).map(Some),
        RequestMemory::Blocking => adi.send_within_call(kernel.memory(), to, span),
        RequestMemory::Reserved => adi.send_reserved(kernel.memory(), to, span),
        RequestMemory::ReservedInInterrupt => adi.send_meanwhile(kernel.memory(), to, span),
    };
    match memory {
        RequestMemory::ReservedInInterrupt => with(env, start),
        _ => start_and_poll(env, || note_of_send(function, outgoing), start),
    }
}

#[cold]
#[inline(never)]
fn start_receive_rest<E>(
    env: &E,
    function: &'static str,
    incoming: &Incoming,
) -> Result<RequestId, NoMemory>
where
    E: Enter + ?Sized,
{
    let note = || note_of_pattern(function, &incoming.pattern);
    start_and_poll(env, note, |adi, kernel| {
        adi.irecv(kernel.memory(), incoming.pattern, incoming.span)
    })
}

#[cold]
#[inline(never)]
fn start_receive_with<E>(
    env: &E,
    function: &'static str,
    incoming: &Incoming,
    memory: RequestMemory,
) -> Result<RequestId, NoMemory>
where
    E: Enter + ?Sized,
{
    let Incoming { pattern, span } = *incoming;
    let start = |adi: &mut Adi, kernel: &mut dyn Kernel| match memory {
        RequestMemory::Shared => adi.irecv(kernel.memory(), pattern, span),
        RequestMemory::Blocking => adi.recv_within_call(kernel.memory(), pattern, span),
        RequestMemory::Reserved | RequestMemory::ReservedInInterrupt => {
            adi.recv_reserved(kernel.memory(), pattern, span)
        }
    };
    match memory {
        RequestMemory::ReservedInInterrupt => with(env, start),
        _ => start_and_poll(env, || note_of_pattern(function, &pattern), start),
    }
}

/// The rest of [`Device::wait`].
#[inline(never)]
fn wait_rest<E>(env: &E, function: &'static str, id: RequestId) -> Option<Ended>
where
    E: Enter + ?Sized,
{
    block_until_some(
        env,
        &|adi| note_of_request(adi, function, id),
        |adi, _| match test(adi, id) {
            Tested::Unknown => Some(None),
            Tested::Pending => None,
            Tested::Ended(ended) => Some(Some(ended)),
        },
    )
}

// Each way to cancel by itself: an image whose program cancels nothing has no code for cancelled sends.

#[inline(never)]
fn start_cancel<E: Enter + ?Sized>(env: &E, function: &'static str, id: RequestId) {
    poll_and(env, Some(function), |adi, _| {
        adi.cancel(id);
    });
}

#[inline(never)]
fn finish_cancel<E: Enter + ?Sized>(env: &E, function: &'static str, id: RequestId) {
    block_until(env, &|_| CallNote::of(function), &mut |adi, _| {
        adi.cancel(id);
        adi.test(id).is_some()
    });
}

#[inline(never)]
fn finish_cancel_of_receive<E: Enter + ?Sized>(env: &E, function: &'static str, id: RequestId) {
    block_until(env, &|_| CallNote::of(function), &mut |adi, _| {
        adi.cancel_receive(id);
        adi.test(id).is_some()
    });
}

/// The operations of a process's device. `function` names the MPI function for a report of a hang.
pub trait Device: Enter {
    /// Sends a message, and blocks until its buffer may be used again (MPI-3.1 section 3.4). The destination exists, the tag
    /// is not negative and the message is below 4 GiB. Fails with [`NoMemory`].
    #[inline(always)]
    fn send(&self, function: &'static str, outgoing: &Outgoing) -> Result<(), NoMemory> {
        let sent = match has_fast_path(outgoing) {
            true => self.fast_send(outgoing),
            false => Sent::Not,
        };
        match sent {
            Sent::Complete => Ok(()),
            sent => send_rest(self, function, outgoing, sent),
        }
    }

    /// Starts a send (section 3.7.2). Does not block. `None`: the buffer may be used again, and there is no request. The
    /// message is as for [`Device::send`]. Fails with [`NoMemory`].
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
        let sent = match has_fast_path(outgoing) {
            true => self.fast_send(outgoing),
            false => Sent::Not,
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
        let received = match FAST_PATH {
            true => self.fast_receive(function, incoming),
            false => Received::Not,
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
        let started = match FAST_PATH {
            true => self.fast_start_receive(incoming),
            false => None,
        };
        match started {
            Some(id) => Ok(id),
            None => start_receive_rest(self, function, incoming),
        }
    }

    /// Looks for a message that matches (section 3.8.1), after a step of progress if it does not block. `None`: there is none
    /// yet. Fails with [`NoMemory`].
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

    /// Takes a message that matches (section 3.8.2): the name by which alone it can be received, and its envelope. Blocks, if
    /// not asked to, for no longer than the answer of a sender takes. Fails with [`NoMemory`].
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

    /// Starts the receive of a message that has been taken (section 3.8.3): its name is that of a receive from now on. Does not
    /// block.
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
    fn wait(&self, function: &'static str, id: RequestId) -> Option<Ended> {
        if FAST_PATH && let Some(whole) = self.fast_wait(function, id) {
            return Some(Ended::Whole(whole));
        }
        wait_rest(self, function, id)
    }

    /// Looks whether a request has finished, and frees it if so; within a call of `function` after a step of progress. Does
    /// not block.
    fn test(&self, function: Option<&'static str>, id: RequestId) -> Tested {
        poll_and(self, function, |adi, _| test(adi, id))
    }

    /// Which of up to 64 requests have finished, and which are unknown. They stay as they are. Does not block.
    ///
    /// # Panics
    /// When there are more than 64.
    fn look_up(&self, ids: &[RequestId]) -> LookedUp {
        assert!(ids.len() <= LookedUp::MAX);
        with(self, |adi, _| {
            let mut all = LookedUp::default();
            for (place, id) in ids.iter().enumerate() {
                let is_done = adi.requests().is_done(*id);
                all.finished |= u64::from(is_done == Some(true)) << place;
                all.unknown |= u64::from(is_done.is_none()) << place;
            }
            all
        })
    }

    /// What is known of a request, which stays as it is; within a call of `function` after a step of progress. `None`: there
    /// is none of this name. Does not block.
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

    /// Releases a request (section 3.7.3), finished or not; one that is unknown is left at that. A cancelled receive that is
    /// still posted ends now. Does not block.
    fn release(&self, id: RequestId, release: Release) {
        with(self, |adi, _| match release {
            Release::Request => adi.forget(id),
            Release::Handle => {
                adi.end_cancel(id);
                adi.disown(id);
            }
        });
    }

    /// One step of progress within the call of `note`, then the hook, if it is ready. It sleeps if it may block and nothing
    /// has moved since `since`, the value that the last call returned: a layer that awaits a condition calls this in a loop,
    /// and cannot miss an event between its look at the condition and the sleep.
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

    /// Lets the host continue with what the caller has made ready, such as the state of a collective that interrupts may
    /// advance from now on. Does not block.
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

    /// What the device still has of this context and the one for collectives after it. Searches all requests and unexpected
    /// messages; does not block.
    fn inspect_context(&self, context: Context) -> ContextState {
        with(self, |adi, _| ContextState {
            requests: adi.requests().count_in(context),
            is_idle: adi.context_is_idle(context),
        })
    }

    /// Reserves what the request of one message needs, or gives it back, or checks. Does not block. Fails with [`NoMemory`].
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
            match is_there {
                true => Ok(()),
                false => Err(adi.no_memory()),
            }
        })
    }

    /// From now on calls that make progress run this hook, and none that they ran before. Does not block.
    fn set_hook(&self, hook: ProgressHook) {
        with(self, |adi, _| adi.set_hook(hook));
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
    /// The barrier of all processes by the network's own packets ([`barrier`](crate::barrier)), the last one if so said. Blocks.
    /// False: the network does not offer it, to none of the processes, and nothing has been done. Fails if the processes'
    /// calls differ.
    fn barrier(&self, function: &'static str, is_last: bool) -> Result<bool, Differ> {
        let mut has_entered = false;
        let mut differs = None;
        block_until(self, &|_| CallNote::of(function), &mut |adi, kernel| {
            if !has_entered {
                if !offers_barrier(adi, kernel) {
                    return true;
                }
                match is_last {
                    true => adi.enter_last_barrier(),
                    false => adi.enter_barrier(),
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

    /// Blocks until this process may leave the job: all that it has sent, and that is received, has left ([`Adi::may_leave`]).
    fn wait_until_sent(&self, function: &'static str) {
        let note = |_: &Adi| CallNote::of(function);
        block_until(self, &note, &mut |adi, _| adi.may_leave());
    }

    /// An allreduce of all processes by the barrier's packets. Blocks until it has ended, or a function of the program's is to
    /// combine two values ([`Turn::Combine`]): the caller then [combines](Allreduce::combine) them and repeats the call.
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
                match call.waits(adi) {
                    true => None,
                    false => call.advance(adi, kernel, combine),
                }
            },
        )
    }
}

impl<E: Enter + ?Sized> NetworkCollectives for E {}

/// Hosts have fast forms.
const FAST_PATH: bool = cfg!(not(feature = "micro"));

/// Of messages of this kind there may be a fast form.
#[inline(always)]
fn has_fast_path(outgoing: &Outgoing) -> bool {
    FAST_PATH && outgoing.to.mode == Mode::Standard
}
