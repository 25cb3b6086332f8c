//! The device of one process, and its operations other than sending and receiving.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::cell::RefCell;
use core::hash::{Hash, Hasher};

use net_torus::coord::{Coord, Shape};

use crate::barrier::engine::BarrierEngine as BarrierPart;
use crate::config::{DeviceConfig, DeviceMemory, FIRST_CONTEXTS, MAX_EAGER_LIMIT};
use crate::envelope::{Context, Rank};
use crate::extensions::{ActiveExtensions, CancelEvent};
use crate::ids::{MAX_SLOTS, RequestId, SequenceNumber, Slot};
use crate::matching::{Matching, MatchingStats, SelectedEngine};
use crate::memory::region::Region;
use crate::memory::{UserMemory, try_boxed_with};
use crate::peers::{PeerAges, PeerTable, SourceState};
use crate::protocol::{AllRules, ProtocolRules, RtsState};
use crate::queues::{QueueEntry, QueueKind};
use crate::recv::Receiver;
use crate::request::{CompletedRequest, PlainCompletion, RESERVED_SLOTS, RequestOutcome, RequestPool};
use crate::rma::OneSided;
use crate::rma::epochs::WindowEvent;
use crate::send::Sender;
use crate::stats::{Count, DeviceStats};

/// Progress hook: work of a layer above that advances when messages have moved, such as nonblocking collectives. Each
/// call that waits or polls runs it after a progress step.
#[derive(Clone, Debug)]
pub struct ProgressHook {
    /// Checks whether work can advance now, from the requests and the count of events. Changes nothing.
    pub is_ready: fn(&RequestPool, EventCount) -> bool,
    /// Advances the work. Runs outside of the device, which it may enter. On return, no work is ready until messages
    /// have moved.
    pub run: fn(),
    /// Advances the work from an interrupt handler, with the device borrowed; the interrupt may occur anywhere in the
    /// program. Neither allocates nor frees, calls no function of the program, waits for no lock, and returns after a
    /// bounded number of steps. Defers all other work to `run`. `None`: defers everything.
    pub run_in_interrupt: Option<InterruptHook>,
}

/// Type of [`ProgressHook::run_in_interrupt`]. [`interface::BorrowedDevice`](crate::interface::BorrowedDevice) provides
/// the device's operations over the two arguments.
pub type InterruptHook = fn(&mut Adi, &mut dyn UserMemory) -> HookResult;

/// Result of a progress hook in an interrupt handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HookResult {
    /// Nothing changed, and nothing can change before messages have moved or a call has been made.
    Idle,
    /// The work advanced, and may be able to advance further.
    Advanced,
    /// The interrupted program holds the hook's lock: the caller retries later.
    Busy,
}

/// Identity of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeIdentity {
    pub shape: Shape,
    pub here: Coord,
    pub rank: Rank,
}

/// The device of one process, composed of parts with separate state. A method of the device uses several parts; a
/// method of one part uses only that part.
// Small parts come first: short instructions of a microcontroller reach only small offsets.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Adi<R = AllRules> {
    pub(super) identity: NodeIdentity,
    pub(super) extensions: ExtensionState<R>,
    pub(super) receiver: Receiver,
    pub(super) requests: RequestPool,
    pub(super) peers: PeerTable,
    pub(super) region: Region,
    pub(super) barrier: BarrierPart,
    pub(super) matching: SelectedEngine,
    pub(super) stats: DeviceStats,
    pub(super) sender: Sender,
    pub(super) rules: R,
}

/// Extensions, linked on first use: programs that do not use them pay neither code size nor run time.
#[derive(Clone, Debug)]
pub(super) struct ExtensionState<R> {
    /// `None` until a layer above has installed one.
    hook: Option<ProgressHook>,
    pub active: ActiveExtensions<Adi<R>>,
    events: EventCount,
    /// `None` until the first window.
    pub one_sided: Option<Box<OneSided>>,
}

/// Count of changes by progress steps and the hook, for [`Device::advance`](crate::interface::Device::advance).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventCount(usize);

/// Hashes all state that determines the device's behaviour, so that a model checker recognizes a visited state. Omits
/// the identity, the statistics, the outcomes of completed requests and the handles of sends.
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
        self.receiver.eager.hash(state);
        self.sender.bcopies.hash(state);
        self.receiver.delayed_acks.hash(state);
        self.requests.hash_order(self.receiver.pending_cts.head(), state);
        self.receiver.cancelled.hash(state);
        self.receiver.probes.hash(state);
        self.receiver.fetching.is_some().hash(state);
        self.barrier.state.hash(state);
        self.barrier.values.hash(state);
    }
}

impl Adi {
    /// Creates the device of process `config.rank` over `memory`, with the memory's matching engine. Returns `None`
    /// when the rank does not exist or the memory was allocated for another machine shape.
    pub fn new(config: DeviceConfig, memory: DeviceMemory) -> Option<Adi> {
        Adi::with_rules(config, memory, AllRules)
    }

    /// Creates the device in the heap, for a small stack. Returns `None` also when the heap is full.
    pub fn new_boxed(config: DeviceConfig, memory: DeviceMemory) -> Option<Box<Adi>> {
        let here = Self::coord_of(&config, &memory)?;
        let mut adi = Self::new_idle_boxed(config, here, memory)?;
        adi.initialize();
        Some(adi)
    }

    /// Calls `visit` for each entry of the queues: requests in the order of their slots, then windows, then unexpected
    /// messages in the order of the matching engine. The statistics count one search.
    pub fn visit_queues(&mut self, visit: &mut dyn FnMut(QueueEntry)) {
        self.requests.unmatched().for_each(&mut *visit);
        if let Some(all) = self.extensions.one_sided.as_deref() {
            all.visit_waits(visit);
        }
        let visit = RefCell::new(visit);
        // The search finds nothing, so that it visits every message.
        self.matching.find_record(&self.region, &|record| {
            visit.borrow_mut()(QueueEntry {
                kind: QueueKind::UnexpectedMessage,
                is_complete: false,
                context: record.envelope.context,
                peer: Some(record.envelope.source),
                tag: Some(record.envelope.tag),
                bytes: record.length as usize,
            });
            false
        });
    }

    // Not inlined, so that its stack frame is released before `begin` runs.
    #[inline(never)]
    fn new_idle_boxed(config: DeviceConfig, here: Coord, memory: DeviceMemory) -> Option<Box<Adi>> {
        try_boxed_with(|| Self::new_idle_inline(config, here, memory, AllRules))
    }
}

impl<R: ProtocolRules> Adi<R> {
    /// Creates a device that enforces only these protocol rules, for a model checker.
    pub fn with_rules(config: DeviceConfig, memory: DeviceMemory, rules: R) -> Option<Adi<R>> {
        let here = Self::coord_of(&config, &memory)?;
        let mut adi = Self::new_idle(config, here, memory, rules);
        adi.initialize();
        Some(adi)
    }

    fn coord_of(config: &DeviceConfig, memory: &DeviceMemory) -> Option<Coord> {
        let here = config.shape.coord(config.rank.index())?;
        let fits = memory.peers.size() == config.shape.nodes() as usize && memory.values.fits(&config.shape);
        fits.then_some(here)
    }

    // Not inlined, so that the value is constructed in the caller's slot without intermediate copies.
    #[inline(never)]
    fn new_idle(config: DeviceConfig, here: Coord, memory: DeviceMemory, rules: R) -> Self {
        Self::new_idle_inline(config, here, memory, rules)
    }

    #[inline(always)]
    fn new_idle_inline(config: DeviceConfig, here: Coord, memory: DeviceMemory, rules: R) -> Self {
        Adi {
            identity: NodeIdentity {
                shape: config.shape,
                here,
                rank: config.rank,
            },
            requests: RequestPool::new(config.request_slots.min(MAX_SLOTS)),
            matching: memory.engine,
            region: Region::new(memory.initial_region),
            peers: memory.peers,
            sender: Sender::new(),
            receiver: Receiver::new(),
            barrier: BarrierPart::new(&config.shape, here, memory.values),
            extensions: ExtensionState {
                hook: None,
                active: ActiveExtensions::new(),
                events: EventCount(0),
                one_sided: None,
            },
            stats: DeviceStats::default(),
            rules,
        }
    }

    fn initialize(&mut self) {
        self.requests.narrow_ids(self.rules.id_bits());
        self.sender.bcopies.narrow_ids(self.rules.id_bits());
        self.region.narrow_ids(self.rules.id_bits());
        // Reserves memory for blocking calls. Without it they fail earlier; no other effect.
        let _ = self.requests.grow(RESERVED_SLOTS);
        let _ = self.sender.pending.reserve(RESERVED_SLOTS as usize);
        let _ = self.receiver.probes.reserve();
        for context in FIRST_CONTEXTS {
            self.open_context(context);
        }
    }

    /// Sets the eager limit in bytes, at most [`MAX_EAGER_LIMIT`]. A message that fits into an RTS
    /// ([`INLINE_BYTES`](crate::wire::INLINE_BYTES)) always travels inside it.
    pub fn set_eager_limit(&mut self, bytes: usize) {
        self.sender.eager_limit = bytes.min(MAX_EAGER_LIMIT);
    }

    /// Returns the maximum size in bytes of an eager message.
    pub fn eager_limit(&self) -> usize {
        self.sender.eager_limit
    }

    /// Seeds the random numbers of the hash tables. A secret seed prevents an adversary from choosing tags and ranks
    /// that make searches slow. Without a seed, the numbers are the same in every run.
    ///
    /// # Panics
    /// When a receive or a send has been started.
    pub fn seed(&mut self, seed: u64) {
        self.requests.seed(seed);
        self.matching.seed(seed);
    }

    /// Returns the ages of `peer`, for a model checker, which knows that only their differences matter.
    #[doc(hidden)]
    pub fn ages_mut(&mut self, peer: Rank) -> &mut PeerAges {
        self.peers.ages_mut(peer)
    }

    /// Returns the flow-control state of a source, for a model checker.
    #[doc(hidden)]
    pub fn source_state(&self, source: Rank) -> SourceState {
        self.peers.source_state(source)
    }

    /// Returns the RTS state of the pending message to `dest` with this ID, for a model checker.
    #[doc(hidden)]
    pub fn rts_state(&self, dest: Rank, id: RequestId) -> Option<RtsState> {
        let slot = self.send_by_id(dest, id.0)?;
        Some(self.requests.listed(slot).pending()?.rts_state)
    }

    /// Resets the count of receives to 0 when no receive is posted, and returns the difference. For a model checker,
    /// which knows that only the order of receives and horizons (cut-off sequence numbers) matters.
    #[doc(hidden)]
    pub fn reset_posts(&mut self) -> SequenceNumber {
        if self.requests.has_any_posted() {
            0
        } else {
            core::mem::take(&mut self.receiver.posts)
        }
    }

    /// Reduces the horizons received in restarts by `by`, to no less than 0. For a model checker.
    #[doc(hidden)]
    pub fn reduce_horizons(&mut self, by: SequenceNumber) {
        self.sender.pending.reduce_horizons(by);
    }

    /// Allocates the heap memory that packet handlers may need, since handlers never allocate
    /// ([`peers`](crate::peers)). Calls of the program use it before each progress step. Also releases packets held for
    /// coalescing; the step transmits them.
    #[inline]
    pub fn preallocate_pages(&mut self) {
        self.peers.preallocate_pages();
        self.extensions.active.release();
    }

    /// Returns the current size of the peer table in bytes.
    pub fn peer_bytes(&self) -> usize {
        self.peers.bytes_now()
    }

    /// Records `events` changes by a progress step or the hook.
    #[inline]
    pub(crate) fn count_events(&mut self, events: usize) {
        self.extensions.events.0 = self.extensions.events.0.wrapping_add(events);
    }

    /// Returns the count of events.
    #[inline]
    pub fn events(&self) -> EventCount {
        self.extensions.events
    }

    /// Installs this progress hook in place of the previous one.
    pub fn set_hook(&mut self, hook: ProgressHook) {
        self.extensions.hook = Some(hook);
    }

    /// Returns the installed progress hook, for a host that adds its own work to it.
    pub fn hook(&self) -> Option<&ProgressHook> {
        self.extensions.hook.as_ref()
    }

    /// Returns the hook that is ready to run outside of the device; `None` when none is ready.
    #[inline]
    pub fn ready_hook(&self) -> Option<fn()> {
        let hook = self.extensions.hook.as_ref()?;
        (hook.is_ready)(&self.requests, self.extensions.events).then_some(hook.run)
    }

    /// Returns the hook that also runs while the program computes.
    #[inline]
    pub fn interrupt_hook(&self) -> Option<InterruptHook> {
        self.extensions.hook.as_ref()?.run_in_interrupt
    }

    /// Returns whether peers can make progress with this process while it computes: a live request, an unacknowledged
    /// bcopy (buffered copy), or a window exists.
    pub fn has_async_work(&self) -> bool {
        self.requests.live() > 0 || !self.sender.bcopies.is_empty() || self.extensions.one_sided.is_some()
    }

    /// Returns whether the condition that `watch` describes in `window` is met.
    pub fn has_occurred(&self, window: Context, watch: WindowEvent) -> bool {
        let all = self.extensions.one_sided.as_deref();
        all.is_none_or(|all| all.has_occurred(window, watch))
    }

    #[inline]
    pub(super) fn rules(&self) -> R {
        self.rules
    }

    /// Returns this process's rank.
    #[inline]
    pub fn rank(&self) -> Rank {
        self.identity.rank
    }

    /// Returns the number of processes.
    #[inline]
    pub fn size(&self) -> u32 {
        self.identity.shape.nodes()
    }

    /// Returns the machine's torus shape.
    pub fn shape(&self) -> Shape {
        self.identity.shape
    }

    /// Returns this node's coordinates.
    pub fn own_coord(&self) -> Coord {
        self.identity.here
    }

    /// Returns the device's statistics.
    pub fn stats(&self) -> &DeviceStats {
        &self.stats
    }

    /// Returns the MPI memory, for its statistics.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Returns the number of queue and table entries visited in sequential searches. It measures the work beyond that
    /// for messages and packets.
    pub fn search_steps(&self) -> Count {
        self.matching.measures().traversals
            + self.sender.pending.steps()
            + self.peers.search_steps() as Count
            + self.stats.named
    }

    /// Returns the request pool, for its statistics.
    pub fn requests(&self) -> &RequestPool {
        &self.requests
    }

    /// Returns the name of the matching engine.
    pub fn engine(&self) -> &'static str {
        self.matching.name()
    }

    /// Returns fill levels of the matching queues, and the cost of searching them.
    #[cfg_attr(feature = "micro", inline(never))]
    pub fn matching(&self) -> MatchingStats {
        self.matching.measures()
    }

    /// Prepares matching in `context` and in the collectives' context after it.
    pub fn open_context(&mut self, context: Context) {
        for context in [context, context + 1] {
            self.matching.open(&mut self.requests, &mut self.region, context);
        }
    }

    /// Checks whether `context` and the collectives' context after it are unused by this process: no receive is posted,
    /// no message is recorded, and no message sent by it is still to be recorded or matched. When every process of a
    /// freed communicator returns true, its context can be reused. Searches all requests and unexpected messages; does
    /// not block.
    pub fn context_is_idle(&mut self, context: Context) -> bool {
        [context, context + 1].into_iter().all(|context| {
            let sends = self.sender.bcopies.has_context(context) || self.requests.has_pending(context);
            !sends
                && self
                    .matching
                    .context_is_idle(&mut self.requests, &mut self.region, context)
        })
    }

    /// Returns whether this process has nothing left to send.
    pub fn is_quiet(&self) -> bool {
        self.sender.pending.destinations() == 0 && self.sender.bcopies.is_empty() && self.has_only_pending()
    }

    /// Returns whether no request, no message and no state of a peer except its ages is left, so that another process can
    /// continue as this node with [`Adi::ages`].
    pub fn is_at_rest(&self) -> bool {
        self.is_quiet() && self.requests.live() == 0 && self.region.used_bytes() == 0 && self.peers.has_no_rejected()
    }

    /// Returns the ages of `peer`.
    pub fn ages(&self, peer: Rank) -> PeerAges {
        self.peers.ages(peer)
    }

    /// Continues with the ages that a process [at rest](Adi::is_at_rest) has had. The device must be new.
    pub fn restore_ages(&mut self, peer: Rank, ages: PeerAges) {
        *self.peers.ages_mut(peer) = ages;
    }

    /// Returns whether no process waits for this one any more. Valid once all processes have reached MPI_Finalize: a
    /// message that is rejected then has no receive, and never gets one. A program with such messages is erroneous
    /// (MPI-3.1 section 8.7). It terminates where there is memory for them, so it also terminates where there is none.
    pub fn may_exit(&self) -> bool {
        self.has_only_pending() && self.sender.bcopies.all_queued() && self.sender.pending.are_all_rejected()
    }

    /// Returns whether this process has nothing left to send, except messages that wait to be recorded or matched.
    fn has_only_pending(&self) -> bool {
        self.sender.transfers.is_empty()
            && self.sender.stream.is_none()
            && self.receiver.pending_cts.is_empty()
            && self.receiver.delayed_acks.is_empty()
            && self.peers.pending_count() == 0
            && self.extensions.active.is_idle()
    }

    /// Frees the request if it has completed, and returns its outcome; `None` while it has not completed.
    ///
    /// # Panics
    /// When `id` identifies no request: the bindings check that first ([`Adi::has_request`]).
    pub fn test(&mut self, id: RequestId) -> Option<RequestOutcome> {
        self.requests.take_completed(id)
    }

    /// Frees the request if it has completed, and returns its outcome with all details. Returns `Some(None)` while it
    /// has not completed, and `None` when `id` identifies no request.
    #[inline]
    pub fn take_completed(&mut self, id: RequestId) -> Option<Option<CompletedRequest>> {
        self.requests.take_completed_by_id(id)
    }

    /// Frees a request that has completed with an untruncated message into or out of a plain buffer. Returns `None`,
    /// and changes nothing, in all other cases.
    #[inline]
    pub fn take_plain_completed(&mut self, id: RequestId) -> Option<PlainCompletion> {
        self.requests.take_plain_completed(id)
    }

    /// Returns the outcome of a completed request without freeing it.
    ///
    /// # Panics
    /// See [`Adi::test`].
    pub fn completed_outcome(&self, id: RequestId) -> Option<RequestOutcome> {
        self.requests.outcome(id)
    }

    /// Returns the request's context (of a matched receive, the message's) and its outcome without freeing it.
    ///
    /// # Panics
    /// See [`Adi::test`].
    #[inline]
    pub fn outcome_in_context(&self, id: RequestId) -> Option<(Context, RequestOutcome)> {
        self.requests.outcome_in_context(id)
    }

    /// Marks the request as owned by a binding instead of the program: the binding frees it after completion.
    pub fn disown(&mut self, id: RequestId) {
        self.requests.disown(id);
    }

    /// Frees the request, now or on completion, because the program gives it up. Ignores an unknown request.
    #[inline]
    pub fn forget(&mut self, id: RequestId) {
        self.finish_cancel(id);
        self.requests.forget(id);
    }

    /// Completes, as cancelled, a cancelled receive that waits for replies: the program ignores later messages.
    #[inline]
    pub fn finish_cancel(&mut self, id: RequestId) {
        if let Some(end_cancelled) = self.extensions.active.end_cancelled() {
            end_cancelled(self, CancelEvent::GivenUp(id));
        }
    }

    /// Returns whether the request has completed or does not exist.
    pub fn is_done(&self, id: RequestId) -> bool {
        self.requests.is_done(id).unwrap_or(true)
    }

    /// Returns whether the request exists.
    #[inline]
    pub fn has_request(&self, id: RequestId) -> bool {
        self.requests.is_done(id).is_some()
    }

    /// Completes the send in `slot`; the caller must not use the slot afterwards.
    #[inline]
    pub(super) fn finish_send(&mut self, slot: Slot, cancelled: bool) {
        if let Some(bcopy) = self.requests.finish_send(slot, cancelled) {
            self.sender.bcopies.free(bcopy);
        }
    }
}
