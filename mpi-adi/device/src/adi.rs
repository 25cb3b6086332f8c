//! The device of one process: its parts, and what the program may ask of it beside sending and receiving.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::hash::{Hash, Hasher};

use net_torus::coord::{Coord, Shape};

use crate::barrier::part::Part as BarrierPart;
use crate::config::{Config, FIRST_CONTEXTS, GREATEST_EAGER_LIMIT, Memory};
use crate::envelope::{Context, Rank};
use crate::matching::{Engine, Matching, Measures};
use crate::memory::region::Region;
use crate::memory::{UserMemory, boxed_with};
use crate::names::{MAX_SLOTS, RequestId, Serial, Slot};
use crate::parts::{CancelEvent, Parts};
use crate::peers::{Ages, Peers};
use crate::protocol::{Rules, Sound};
use crate::recv::Receiver;
use crate::request::{Concluded, KEPT_SLOTS, Outcome, RequestPool, Whole};
use crate::rma::OneSided;
use crate::rma::epochs::Watch;
use crate::send::Sender;
use crate::stats::{Count, Stats};

/// A progress hook: work of a layer above that advances when messages have moved, such as nonblocking collectives. Each
/// call that waits or polls runs it after a step of progress.
#[derive(Clone, Debug)]
pub struct ProgressHook {
    /// Work can advance now. Changes nothing.
    pub is_ready: fn(&RequestPool) -> bool,
    /// Advances the work; called outside of the device, which it may enter. When it returns, nothing that it found
    /// ready is ready any more unless messages have moved.
    pub run: fn(),
    /// Advances the work with the device in hand and outside of calls, where an interrupt may have come anywhere in the
    /// program. It neither allocates nor frees, runs no function of the program's, waits for no lock, and returns after
    /// a bounded number of steps. It leaves what needs more to `run`. `None`: it leaves everything.
    pub run_in_interrupt: Option<InterruptHook>,
}

/// See [`ProgressHook::run_in_interrupt`]; [`interface::BorrowedDevice`](crate::interface::BorrowedDevice) makes
/// operations of the two.
pub type InterruptHook = fn(&mut Adi, &mut dyn UserMemory) -> HookResult;

/// The result of a hook in an interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HookResult {
    /// It changed nothing, and cannot before messages have moved or a call has been made.
    Idle,
    /// It advanced, and may be able to advance more.
    Advanced,
    /// The interrupt has come while the program holds the hook's lock: to be tried again.
    Busy,
}

/// Who this process is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    pub shape: Shape,
    pub here: Coord,
    pub rank: Rank,
}

/// The device of one process: parts, each with its own state. A method of the device takes the parts that it needs;
/// what concerns one part alone is a method of that part.
// What is near the beginning is reached by the short forms of a microcontroller's instructions: small parts come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Adi<R = Sound> {
    pub(super) identity: Identity,
    pub(super) extras: Extras<R>,
    pub(super) receiver: Receiver,
    pub(super) requests: RequestPool,
    pub(super) peers: Peers,
    pub(super) region: Region,
    pub(super) barrier: BarrierPart,
    pub(super) matching: Engine,
    pub(super) stats: Stats,
    pub(super) sender: Sender,
    pub(super) rules: R,
}

/// What comes with its first use, so that programs without have neither its code nor its cost.
#[derive(Clone, Debug)]
pub(super) struct Extras<R> {
    /// `None` until a layer above has set one.
    hook: Option<ProgressHook>,
    pub parts: Parts<Adi<R>>,
    events: Events,
    /// `None` until the first window.
    pub one_sided: Option<Box<OneSided>>,
}

/// A count of what steps of progress and the hook have changed, for
/// [`Device::advance`](crate::interface::Device::advance).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Events(usize);

/// All that the device's behaviour depends on, so that a model checker knows a state again: neither who it
/// is, nor what it has counted, nor how finished requests ended, nor the names of sends.
impl<R> Hash for Adi<R> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let bcopies = |bcopy| self.sender.bcopies.bytes(bcopy);
        self.requests.hash(bcopies, state);
        self.region.hash(state);
        self.peers.hash(state);
        self.matching.hash(&self.region, &mut *state);
        self.sender.pending.hash(&self.requests, bcopies, state);
        for sends in [&self.sender.transfers, &self.sender.cancels] {
            self.requests.hash_queue(sends.head(), bcopies, state);
        }
        if let Some(stream) = &self.sender.stream {
            self.requests.send(stream.slot).hash(bcopies, state);
            stream.transfer.offset.hash(state);
        }
        self.receiver.coming.hash(state);
        self.sender.bcopies.hash(state);
        self.receiver.deferred.hash(state);
        self.requests
            .hash_order(self.receiver.cts_due.head(), state);
        self.receiver.cancelled.hash(state);
        self.receiver.probes.hash(state);
        self.receiver.fetching.is_some().hash(state);
        self.barrier.state.hash(state);
        self.barrier.values.hash(state);
    }
}

impl Adi {
    /// The device of process `config.rank`, over `memory` and with its matching engine; `None` when there is no such
    /// process or the memory is for another machine.
    pub fn new(config: Config, memory: Memory) -> Option<Adi> {
        Adi::with_rules(config, memory, Sound)
    }

    /// As [`Adi::new`], in the heap, which must have room, for a stack that has none for several copies.
    pub fn boxed(config: Config, memory: Memory) -> Option<Box<Adi>> {
        let here = Self::place_of(&config, &memory)?;
        let mut adi = Self::idle_boxed(config, here, memory)?;
        adi.begin();
        Some(adi)
    }

    // Not inlined, so that what it takes of the stack is given back before the device begins.
    #[inline(never)]
    fn idle_boxed(config: Config, here: Coord, memory: Memory) -> Option<Box<Adi>> {
        boxed_with(|| Self::idle_here(config, here, memory, Sound))
    }
}

impl<R: Rules> Adi<R> {
    /// As [`Adi::new`], with these rules kept and others broken, for a model checker.
    pub fn with_rules(config: Config, memory: Memory, rules: R) -> Option<Adi<R>> {
        let here = Self::place_of(&config, &memory)?;
        let mut adi = Self::idle(config, here, memory, rules);
        adi.begin();
        Some(adi)
    }

    fn place_of(config: &Config, memory: &Memory) -> Option<Coord> {
        let here = config.shape.coord(config.rank.index())?;
        let fits = memory.peers.size() == config.shape.nodes() as usize
            && memory.values.fit(&config.shape);
        fits.then_some(here)
    }

    // Not inlined, it is made where its caller wants it, without copies on the way.
    #[inline(never)]
    fn idle(config: Config, here: Coord, memory: Memory, rules: R) -> Self {
        Self::idle_here(config, here, memory, rules)
    }

    #[inline(always)]
    fn idle_here(config: Config, here: Coord, memory: Memory, rules: R) -> Self {
        Adi {
            identity: Identity {
                shape: config.shape,
                here,
                rank: config.rank,
            },
            requests: RequestPool::new(config.request_slots.min(MAX_SLOTS)),
            matching: memory.engine,
            region: Region::new(memory.reserve),
            peers: memory.peers,
            sender: Sender::new(),
            receiver: Receiver::new(),
            barrier: BarrierPart::new(&config.shape, here, memory.values),
            extras: Extras {
                hook: None,
                parts: Parts::new(),
                events: Events(0),
                one_sided: None,
            },
            stats: Stats::default(),
            rules,
        }
    }

    fn begin(&mut self) {
        self.requests.narrow_names(self.rules.name_bits());
        self.sender.bcopies.narrow_names(self.rules.name_bits());
        self.region.narrow_names(self.rules.name_bits());
        // For calls that block, from the first one on. Without it they fail sooner; that is all.
        let _ = self.requests.grow(KEPT_SLOTS);
        let _ = self.sender.pending.reserve(KEPT_SLOTS as usize);
        let _ = self.receiver.probes.reserve();
        for context in FIRST_CONTEXTS {
            self.open_context(context);
        }
    }

    /// Sets the greatest message in bytes that is sent eagerly, at most [`GREATEST_EAGER_LIMIT`]; what fits
    /// an RTS ([`INLINE_BYTES`](crate::wire::INLINE_BYTES)) always travels in it.
    pub fn set_eager_limit(&mut self, bytes: usize) {
        self.sender.eager_limit = bytes.min(GREATEST_EAGER_LIMIT);
    }

    /// The greatest message in bytes that is sent eagerly.
    pub fn eager_limit(&self) -> usize {
        self.sender.eager_limit
    }

    /// Draws the random numbers of the tables from this seed, which those who choose tags and ranks should not
    /// know: then they cannot choose them such that searches take long. Without it, the numbers are the same in
    /// every run.
    ///
    /// # Panics
    /// When a receive or a send has been started.
    pub fn seed(&mut self, seed: u64) {
        self.requests.seed(seed);
        self.matching.seed(seed);
    }

    /// The ages of `peer`, for a model checker, which knows that only their differences matter.
    #[doc(hidden)]
    pub fn ages_mut(&mut self, peer: Rank) -> &mut Ages {
        self.peers.ages_mut(peer)
    }

    /// When no receive is posted, counts receives from 0 again; says by how much that is less. For a model checker,
    /// which knows that only the order of receives and horizons matters.
    #[doc(hidden)]
    pub fn turn_back_posts(&mut self) -> Serial {
        match self.requests.has_any_posted() {
            true => 0,
            false => core::mem::take(&mut self.receiver.posts),
        }
    }

    /// Makes the horizons that restarts have brought less by so much, 0 at least. For a model checker.
    #[doc(hidden)]
    pub fn turn_back_horizons(&mut self, by: Serial) {
        self.sender.pending.turn_back_horizons(by);
    }

    /// To be called within calls of the program, before each step of progress: what packets may need of the program's
    /// heap is taken from it now, since no packet takes anything ([`peers`](crate::peers)). Packets that are held for
    /// more of their kind leave with the step.
    #[inline]
    pub fn fill_stock(&mut self) {
        self.peers.fill_stock();
        self.extras.parts.release();
    }

    /// Bytes of the table of peers now.
    pub fn peer_bytes(&self) -> usize {
        self.peers.bytes_now()
    }

    /// A step of progress, or the hook, has changed so much.
    #[inline]
    pub(crate) fn count_events(&mut self, events: usize) {
        self.extras.events.0 = self.extras.events.0.wrapping_add(events);
    }

    /// How many events have been counted.
    #[inline]
    pub(crate) fn events(&self) -> Events {
        self.extras.events
    }

    /// From now on calls run this hook, and none that they ran before.
    pub fn set_hook(&mut self, hook: ProgressHook) {
        self.extras.hook = Some(hook);
    }

    /// The hook that is to run outside of the device; `None`: none is ready.
    #[inline]
    pub fn ready_hook(&self) -> Option<fn()> {
        let hook = self.extras.hook.as_ref()?;
        (hook.is_ready)(&self.requests).then_some(hook.run)
    }

    /// The hook that runs while the program computes, too.
    #[inline]
    pub fn interrupt_hook(&self) -> Option<InterruptHook> {
        self.extras.hook.as_ref()?.run_in_interrupt
    }

    /// Something of the program's is under way or exposed, which others can go on with while it computes: a request, a
    /// copy that has not been taken, a window.
    pub fn is_under_way(&self) -> bool {
        self.requests.live() > 0
            || !self.sender.bcopies.is_empty()
            || self.extras.one_sided.is_some()
    }

    /// What is watched for in a window is so.
    pub fn is_over(&self, window: Context, watch: Watch) -> bool {
        let all = self.extras.one_sided.as_deref();
        all.is_none_or(|all| all.is_over(window, watch))
    }

    #[inline]
    pub(super) fn rules(&self) -> R {
        self.rules
    }

    /// This process's number.
    #[inline]
    pub fn rank(&self) -> Rank {
        self.identity.rank
    }

    /// Number of processes.
    #[inline]
    pub fn size(&self) -> u32 {
        self.identity.shape.nodes()
    }

    /// The machine.
    pub fn shape(&self) -> Shape {
        self.identity.shape
    }

    /// This node's place.
    pub fn here(&self) -> Coord {
        self.identity.here
    }

    /// What the device has done.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The MPI memory, for its measures.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Entries of queues and tables that have been looked at one after the other, by everything that has to
    /// search: what the device's work grows with beside messages and packets.
    pub fn searched(&self) -> Count {
        self.matching.measures().traversals
            + self.sender.pending.steps()
            + self.peers.steps() as Count
            + self.stats.named
    }

    /// The request pool, for its measures.
    pub fn requests(&self) -> &RequestPool {
        &self.requests
    }

    /// The name of the matching engine.
    pub fn engine(&self) -> &'static str {
        self.matching.name()
    }

    /// How full the matching queues are, and what searching them has cost.
    #[cfg_attr(feature = "micro", inline(never))]
    pub fn matching(&self) -> Measures {
        self.matching.measures()
    }

    /// `context` and the one for collectives after it are about to be used.
    pub fn open_context(&mut self, context: Context) {
        for context in [context, context + 1] {
            self.matching
                .open(&mut self.requests, &mut self.region, context);
        }
    }

    /// Nothing of `context` or of the one for collectives after it can be matched any more, as far as this
    /// process knows: no receive is posted, no message recorded, and none that was sent from here is still to
    /// be recorded or matched. When this is true of every process of a communicator that is freed, its
    /// context can be used again. Searches all requests and unexpected messages; does not block.
    pub fn context_is_idle(&mut self, context: Context) -> bool {
        [context, context + 1].into_iter().all(|context| {
            let sends =
                self.sender.bcopies.has_context(context) || self.requests.has_pending(context);
            !sends
                && self
                    .matching
                    .context_is_idle(&mut self.requests, &mut self.region, context)
        })
    }

    /// Nothing is under way that this process has yet to send.
    pub fn is_quiet(&self) -> bool {
        self.sender.pending.destinations() == 0
            && self.sender.bcopies.is_empty()
            && self.has_only_pending()
    }

    /// Nobody waits for anything of this process any more, when all processes have come to MPI_Finalize: what is then
    /// refused has no receive, and none will be posted for it. A program with such messages is at fault (MPI-3.1
    /// section 8.7), but it ends where there is memory for them, and so it does where there is none.
    pub fn may_leave(&self) -> bool {
        self.has_only_pending()
            && self.sender.bcopies.all_queued()
            && self.sender.pending.all_refused()
    }

    /// Nothing is under way that this process has yet to send, but for messages that wait to be recorded or matched.
    fn has_only_pending(&self) -> bool {
        self.sender.transfers.is_empty()
            && self.sender.stream.is_none()
            && self.receiver.cts_due.is_empty()
            && self.receiver.deferred.is_empty()
            && self.peers.owed() == 0
            && self.extras.parts.are_idle()
    }

    /// If the request has finished, frees it and says how it ended. `None`: not finished.
    ///
    /// # Panics
    /// When `id` names no request: the bindings check that first ([`Adi::knows`]).
    pub fn test(&mut self, id: RequestId) -> Option<Outcome> {
        self.requests.conclude(id)
    }

    /// As [`Adi::test`], for a name that may be none, with what else there is to know: `Some(None)` where the request
    /// has not finished, `None` where `id` names none.
    #[inline]
    pub fn conclude(&mut self, id: RequestId) -> Option<Option<Concluded>> {
        self.requests.conclude_named(id)
    }

    /// As [`Adi::conclude`], if the request has finished with a whole message into or out of a plain buffer. `None`: it
    /// has not; nothing has changed.
    #[inline]
    pub fn conclude_whole(&mut self, id: RequestId) -> Option<Whole> {
        self.requests.conclude_whole(id)
    }

    /// As [`Adi::test`], but leaves the request as it is.
    ///
    /// # Panics
    /// As [`Adi::test`].
    pub fn peek(&self, id: RequestId) -> Option<Outcome> {
        self.requests.outcome(id)
    }

    /// As [`Adi::peek`], with the context of the request: of a receive that has matched, its message's.
    ///
    /// # Panics
    /// As [`Adi::test`].
    #[inline]
    pub fn peek_in_context(&self, id: RequestId) -> Option<(Context, Outcome)> {
        self.requests.outcome_in_context(id)
    }

    /// The program has no handle of the request: a binding keeps it, and frees it when it has finished.
    pub fn disown(&mut self, id: RequestId) {
        self.requests.disown(id);
    }

    /// The program gives the request up: frees it, now or when it has finished. One that is not there
    /// any more is left at that.
    #[inline]
    pub fn forget(&mut self, id: RequestId) {
        self.end_cancel(id);
        self.requests.forget(id);
    }

    /// A receive that has been cancelled and waits for answers ends now, cancelled: the program does not want to know
    /// of a message that might have come for it.
    #[inline]
    pub fn end_cancel(&mut self, id: RequestId) {
        if let Some(end_cancelled) = self.extras.parts.end_cancelled() {
            end_cancelled(self, CancelEvent::GivenUp(id));
        }
    }

    /// The request has finished, or there is none of that name.
    pub fn is_done(&self, id: RequestId) -> bool {
        self.requests.is_done(id).unwrap_or(true)
    }

    /// There is a request of that name.
    #[inline]
    pub fn knows(&self, id: RequestId) -> bool {
        self.requests.is_done(id).is_some()
    }

    /// The send in `slot` has finished; the caller names the slot no more after that.
    #[inline]
    pub(super) fn finish_send(&mut self, slot: Slot, cancelled: bool) {
        if let Some(bcopy) = self.requests.finish_send(slot, cancelled) {
            self.sender.bcopies.free(bcopy);
        }
    }
}
