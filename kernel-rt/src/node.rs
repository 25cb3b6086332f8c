//! A node: the MPI device, the torus below it, and the host environment that the board provides.
//!
//! ```text
//!            program (C or Rust)
//!               |  MPI calls: Enter::enter, interrupts masked, poll and sleep inside
//!            Adi  <---------------- interrupt, while the program computes: poll, bounded
//!               |
//!            Torus = Router + six links
//!               |
//!            NodeLink, one per direction          Platform: clock, timer, sleep, heap
//! ```
//!
//! Portable: a board provides the links and the [`Platform`]; the tests provide both on the host.
#![forbid(unsafe_code)]

use core::hint;

use midplane_abi::blackboard::{Blackboard, CallRecord};
use midplane_device::Adi;
use midplane_device::envelope::Rank;
use midplane_device::interface::{FastRecv, FastSend, IncomingMessage, OutgoingMessage, Work};
use midplane_device::kernel::{AbortReason, CallInfo, HeapUsage, Kernel};
use midplane_device::memory::UserMemory;
use midplane_device::request::{PlainCompletion, RequestId};
use midplane_device::{HookResult, interface};
use net_torus::Direction;
use net_torus::coord::Coord;
use net_torus::link::Link;
use net_torus::reliable::ReliableLink;
use net_torus::torus::Torus;

use crate::counters::{CounterSources, LinkDeviceStats, NodeStats, publish};

/// Maximum number of progress steps per interrupt before the program resumes.
pub const STEPS_PER_INTERRUPT: u32 = 64;
/// Time slice of the program after an interrupt that reached its step limit, in nanoseconds.
pub const PROGRAM_SLICE_NS: u64 = 50_000;
/// Maximum excess of interrupt time over its share, in nanoseconds. Beyond it, interrupts are disabled until a timer
/// interrupt; a shorter excess is not worth a timer interrupt.
pub const INTERRUPT_GRACE_NS: u64 = 20_000;
/// Maximum sleep of a node that yields the processor after polling without result ([`Platform::on_idle_poll`]), in
/// nanoseconds. A link with work ends the sleep.
pub const YIELD_NS: u64 = 200_000;
/// Maximum age of the blackboard's statistics while the node makes progress, in nanoseconds of its own clock.
pub const PUBLISH_NS: u64 = 1_000_000;
/// Time without progress after which a node that is blocked in a call shows its message queues, in nanoseconds.
pub const STALL_NS: u64 = 200_000_000;

/// A link that can wake its node. No method blocks.
pub trait NodeLink: Link {
    /// Disables the device's interrupts while the node polls the link. [`NodeLink::prepare_sleep`] detects frames
    /// received in between.
    fn mask_interrupts(&mut self);

    /// Enables the device's interrupt for a received frame and, if the link was full, for free space. Returns false if
    /// there is work already.
    fn prepare_sleep(&mut self) -> bool;

    /// Calls [`NodeLink::mask_interrupts`] for all links of a node. Links of one kind may provide a cheaper version.
    fn mask_all(links: &mut [Option<Self>])
    where
        Self: Sized,
    {
        links.iter_mut().flatten().for_each(Self::mask_interrupts);
    }

    /// Calls [`NodeLink::prepare_sleep`] for all links of a node. Returns false if one has work already.
    fn prepare_all(links: &mut [Option<Self>]) -> bool
    where
        Self: Sized,
    {
        let all = links.iter_mut().flatten();
        all.fold(true, |quiet, link| quiet & link.prepare_sleep())
    }

    /// Notifies the link that a call of the program ends, on a board without [interrupts](Platform::INTERRUPTS), after the
    /// link has delayed a transmission.
    fn end_call(&mut self) {}

    /// Checks shared memory that the neighbour also writes. A wild store may have corrupted it, so that this end would
    /// wait forever. A link that fails the check is [dead](Link::is_dead).
    fn audit(&mut self) {}

    /// Returns the number of device protocol violations. Their frames are lost.
    fn defects(&self) -> u64;

    /// Returns the number of frames retransmitted because the line lost or corrupted them.
    fn retries(&self) -> u64 {
        0
    }

    /// Returns the number of frames rerouted because the link is cut.
    fn detours(&self) -> u64 {
        0
    }

    /// Forwards detoured frames among the node's links; `own` returns this layer of a link. Returns true if a frame
    /// moved.
    fn relay<K>(links: &mut [Option<K>; 6], own: impl Fn(&mut K) -> &mut Self) -> bool
    where
        Self: Sized,
    {
        let _ = (links, own);
        false
    }
}

/// A lossy link with retransmission.
impl<L: NodeLink + 'static, const FRAMES: usize> NodeLink for ReliableLink<'static, L, FRAMES> {
    fn mask_interrupts(&mut self) {
        self.lower_mut().mask_interrupts();
    }

    fn prepare_sleep(&mut self) -> bool {
        self.lower_mut().prepare_sleep()
    }

    fn end_call(&mut self) {
        self.lower_mut().end_call();
    }

    fn audit(&mut self) {
        self.lower_mut().audit();
    }

    fn defects(&self) -> u64 {
        self.lower().defects()
    }

    fn retries(&self) -> u64 {
        net_torus::stats::wide(self.stats().resent)
    }

    fn detours(&self) -> u64 {
        self.lower().detours()
    }

    fn relay<K>(links: &mut [Option<K>; 6], own: impl Fn(&mut K) -> &mut Self) -> bool {
        L::relay(links, |link| own(link).lower_mut())
    }
}

/// Services that a board provides to its node in addition to the links.
pub trait Platform<L> {
    /// Whether the node shows its message queues while it is blocked ([`Platform::show_queues`]).
    const SHOWS_QUEUES: bool = false;

    /// Whether links and timer interrupt the program. Without interrupts the node makes progress only inside the
    /// program's calls, and no doorbell rings between them.
    const INTERRUPTS: bool = true;

    /// The program's memory.
    type Memory: UserMemory;

    /// Returns the clock in ticks. Monotonic. Does not block.
    fn ticks(&self) -> u64;

    /// Converts `ticks` of the clock to nanoseconds.
    fn ns(&self, ticks: u64) -> u64;

    /// Returns the clock in nanoseconds, possibly some milliseconds stale if that is cheaper. For uses without a
    /// precise deadline. Does not block.
    fn about_ns(&self) -> u64 {
        self.ns(self.ticks())
    }

    /// Returns whether acknowledgements that no sender blocks on may be delayed after a call, to piggyback on a later
    /// message. Without [`Platform::INTERRUPTS`] the board must run the progress engine after a while, even if the
    /// program makes no calls.
    fn lets_answers_wait(&self) -> bool {
        Self::INTERRUPTS
    }

    /// Writes the message queues of the call that the program is blocked in, for the explanation of a hang. Called with
    /// [`Platform::SHOWS_QUEUES`] when a reader asks or, on a board with interrupts, when nothing has moved for a
    /// while.
    fn show_queues(&mut self, adi: &mut Adi) {
        let _ = adi;
    }

    /// Blocks like [`Platform::wait`] after [`Platform::show_queues`], with the registers recorded from which a reader
    /// determines the location of the call in the program.
    fn wait_and_show_location(&mut self) {
        self.wait();
    }

    /// Requests an interrupt `ns` nanoseconds from now, or earlier.
    fn wake_in(&mut self, ns: u64);

    /// Blocks until an interrupt is pending. [`Platform::acknowledge`] clears it.
    fn wait(&mut self);

    /// Returns how often a node polls its links before it sleeps. If the node has its own processor, a frame found by
    /// polling requires neither a doorbell nor the sleep flag. Links with [timeouts](Link::HAS_TIMEOUTS) are not polled.
    fn poll_iterations(&self) -> u32 {
        0
    }

    /// Reports that a call polled and found no work. Where nodes share a processor, this node may yield it. Returns
    /// true to request a sleep of at most [`YIELD_NS`], which the node then performs. The sleep also shows others that
    /// the node is polling.
    fn on_idle_poll(&mut self) -> bool {
        false
    }

    /// Returns whether an interrupt is pending. While false, no link with enabled interrupts has raised one.
    fn is_interrupted(&self) -> bool;

    /// Clears all pending interrupts.
    fn acknowledge(&mut self, links: &mut [Option<L>; 6]);

    /// Returns whether to [audit](NodeLink::audit) the links: a few times per second. Checked after interrupts or,
    /// without interrupts, after unsuccessful polls. Boards whose links do not use shared memory keep the default.
    fn is_audit_due(&mut self) -> bool {
        false
    }

    /// Returns the program's memory.
    fn memory(&mut self) -> &mut Self::Memory;

    /// Returns whether the program's heap lends memory to the MPI device.
    fn lends(&self) -> bool;

    /// Enables or disables calls of [`Node::heap_freed`] after every release of memory.
    fn report_frees(&mut self, wanted: bool);

    /// Returns the state of the program's heap.
    fn heap(&self) -> HeapUsage;

    /// Returns the maximum number of heap bytes ever in use.
    fn heap_peak_bytes(&self) -> u64;

    /// Returns the node's status record.
    fn blackboard(&self) -> &Blackboard;

    /// Publishes a changed blackboard. A board whose memory the host tool cannot read copies it to a readable location.
    fn show_blackboard(&self) {}

    /// Returns whether a reader waits for the blackboard's statistics. Boards that update them by a timer keep the
    /// default.
    fn is_asked(&self) -> bool {
        false
    }

    /// Confirms that the requested statistics were written.
    fn answered(&self) {}

    /// Ends the node, and with it the job.
    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> !;

    /// Ends the node because the neighbour in this direction no longer responds: the link has given up
    /// ([`Link::is_dead`]). Boards whose links never give up keep the default.
    fn link_lost(&mut self, direction: Direction) -> ! {
        let _ = direction;
        self.abort(AbortReason::DeadLink, 1)
    }

    /// Ends the node because the memory that the link in this direction shares with that neighbour was overwritten.
    /// Boards whose links do not use shared memory keep the default.
    fn link_overwritten(&mut self, direction: Direction, neighbour: (net_torus::coord::Rank, Coord)) -> ! {
        let _ = (direction, neighbour);
        self.abort(AbortReason::DeadLink, 1)
    }
}

/// A node: the MPI device and its host environment.
pub struct Node<L, P> {
    /// Public in the crate for a board that constructs a node in its final memory.
    pub(crate) adi: Adi,
    /// Public in the crate for the same reason.
    pub(crate) host: NodeHost<L, P>,
}

/// The device's host environment on this node.
pub(crate) struct NodeHost<L, P> {
    torus: Torus<'static, L>,
    platform: P,
    /// Destination of coalesced messages that wait for more. The link towards it will interrupt; nothing has moved
    /// since.
    coalescing_dest: Option<Rank>,
    /// The last step moved nothing, and neither program nor interrupt has used the device since.
    quiet: bool,
    watch: LinkWatch,
    /// Result of the last run of the interrupt hook.
    hook: HookResult,
    /// Start of the current delay of acknowledgements. They may piggyback on the program's messages for at most
    /// [`PUBLISH_NS`].
    deferred_ns: Option<u64>,
    /// The delay is over: acknowledgements must be sent.
    answers_due: bool,
    /// The MPI call that the program is in.
    call: Option<CallInfo>,
    /// The blackboard shows an MPI call.
    call_is_up: bool,
    stats_state: StatsState,
    /// The message queues are shown, and nothing has moved since.
    are_queues_shown: bool,
    /// Time of the last update of the statistics.
    published_ns: u64,
    beats: u64,
    idle_ticks: u64,
    /// Maximum share of CPU time, in percent, that interrupts may use while the program computes; 0 disables them.
    share: u8,
    /// Ticks that interrupts have used.
    interrupt_ticks: u64,
    /// Tick at which the interrupts' use equals their share again.
    paid_at: u64,
    started: u64,
}

/// Detection of new work on the links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LinkWatch {
    /// The node polls: link interrupts are disabled.
    Polling,
    /// A link may interrupt; another may have work without an interrupt.
    Enabled,
    /// Each link interrupts as soon as it has work.
    Armed,
}

/// Whether the blackboard contains current statistics. An update requires thousands of instructions, so it happens once
/// per [`PUBLISH_NS`]. A node that sleeps or computes earlier sets a timer for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StatsState {
    /// The blackboard is current.
    Published,
    /// The blackboard is out of date, and no timer is set to update it.
    Outdated,
    /// The blackboard is out of date, and a timer is set to update it.
    TimerSet,
    /// The blackboard is current, but the call has made no progress for [`STALL_NS`]: the message queues must be shown.
    /// Set only when the timer has interrupted, so that messages do not pay for the check.
    Stalled,
}

impl<L: NodeLink, P: Platform<L>> Node<L, P> {
    /// Creates a node from its parts.
    pub fn new(adi: Adi, torus: Torus<'static, L>, platform: P) -> Self {
        let host = NodeHost::new(torus, platform);
        Self { adi, host }
    }

    /// Limits interrupts to `percent` of the CPU time while the program computes. After an interrupt the program
    /// receives enough time to restore the share, with a tolerance of [`INTERRUPT_GRACE_NS`]. 0 disables interrupts:
    /// the node then makes progress, also for other nodes' packets, only inside the program's calls.
    pub fn limit_interrupts(mut self, percent: u8) -> Self {
        self.host.limit_interrupts(percent);
        self
    }

    /// Runs `work` with the device and its host environment. Then handles the remaining work as [`Node::interrupted`]
    /// does, but does not enable interrupts on links that never interrupt.
    pub fn enter(&mut self, work: &mut Work<'_>) {
        self.put_away();
        work(&mut self.adi, &mut self.host);
        self.host.end_call(&mut self.adi);
        if P::INTERRUPTS && self.host.share < 100 {
            self.host.keep_for_the_program();
        }
    }

    /// Implements [`Env::fast_send`](midplane_device::interface::EnterDevice::fast_send).
    #[inline]
    pub fn fast_send(&mut self, outgoing: &OutgoingMessage) -> FastSend {
        if self.is_limited() {
            return FastSend::Unavailable;
        }
        self.put_away();
        let memory = self.host.platform.memory();
        if self.adi.send_to_first(memory, &outgoing.to, outgoing.span) {
            FastSend::Complete
        } else {
            self.send(outgoing)
        }
    }

    /// Continues [`Node::fast_send`] for messages that do not complete in the first attempt.
    // A separate call, so that the fastest path saves few registers.
    #[inline(never)]
    fn send(&mut self, outgoing: &OutgoingMessage) -> FastSend {
        let &OutgoingMessage { ref to, span } = outgoing;
        let memory: &mut dyn UserMemory = self.host.platform.memory();
        let sent = self.adi.send_fast(memory, to, span);
        if sent == FastSend::Complete && to.dest == self.adi.rank() {
            // The self-send has been received.
            return sent;
        }
        if self.host.coalescing_dest != Some(to.dest) || !self.adi.is_coalescing_dest(to.dest) {
            self.advance_after_call();
        }
        match sent {
            FastSend::Complete if !P::INTERRUPTS && !self.adi.are_copies_sent() => FastSend::Copied,
            sent => sent,
        }
    }

    /// Implements [`Env::fast_receive`](midplane_device::interface::EnterDevice::fast_receive).
    #[inline]
    pub fn fast_receive(&mut self, function: &'static str, incoming: &IncomingMessage) -> FastRecv {
        let &IncomingMessage { ref pattern, span } = incoming;
        if self.is_limited() {
            return FastRecv::Unavailable;
        }
        self.put_away();
        let memory: &mut dyn UserMemory = self.host.platform.memory();
        let received = self.adi.receive_fast(memory, pattern, span);
        let FastRecv::Started(id) = received else {
            self.advance_after_call();
            return received;
        };
        match self.finish(function, id) {
            Some(whole) => FastRecv::Complete(whole),
            None => received,
        }
    }

    /// Implements [`Env::fast_start_receive`](midplane_device::interface::EnterDevice::fast_start_receive).
    #[inline]
    pub fn fast_start_receive(&mut self, incoming: &IncomingMessage) -> Option<RequestId> {
        let &IncomingMessage { ref pattern, span } = incoming;
        if self.is_limited() {
            return None;
        }
        self.put_away();
        let memory: &mut dyn UserMemory = self.host.platform.memory();
        let (id, may_send) = self.adi.start_receive_fast(memory, pattern, span).ok()?;
        if may_send {
            self.advance_after_call();
        }
        Some(id)
    }

    /// Implements [`Env::fast_wait`](midplane_device::interface::EnterDevice::fast_wait).
    #[inline]
    pub fn fast_wait(&mut self, function: &'static str, id: RequestId) -> Option<PlainCompletion> {
        self.put_away();
        let whole = self.adi.take_plain_completed(id);
        if whole.is_some() || self.is_limited() {
            return whole;
        }
        self.finish(function, id)
    }

    /// Calls [`Adi::cache_self_recv`] on a board without [interrupts](Platform::INTERRUPTS). This and the next two
    /// functions create no further work.
    #[inline]
    pub fn keep_at_hand(&mut self, incoming: &IncomingMessage) -> Option<RequestId> {
        const { assert!(!P::INTERRUPTS) };
        self.adi.cache_self_recv(&incoming.pattern, incoming.span)
    }

    /// Calls [`Adi::deliver_to_cached`].
    #[inline]
    pub fn send_to_hand(&mut self, outgoing: &OutgoingMessage) -> bool {
        let memory = self.host.platform.memory();
        self.adi.deliver_to_cached(memory, &outgoing.to, outgoing.span)
    }

    /// Calls [`Adi::take_completed_cached`].
    #[inline]
    pub fn conclude_at_hand(&mut self, id: RequestId) -> Option<PlainCompletion> {
        self.adi.take_completed_cached(id)
    }

    /// Moves a cached self-receive to the device's requests, where all other calls expect it. An interrupt would expect
    /// it there too, so nodes with interrupts cache none.
    #[inline]
    fn put_away(&mut self) {
        if !P::INTERRUPTS {
            self.adi.evict_cached_recv();
        }
    }

    /// Waits for a request within a call.
    #[inline(never)]
    fn finish(&mut self, function: &'static str, id: RequestId) -> Option<PlainCompletion> {
        let whole = interface::finish(&mut self.adi, &mut self.host, function, id);
        self.host.end_call(&mut self.adi);
        whole
    }

    /// Returns whether interrupts are limited to a share of the processor, which each call must account for.
    #[inline]
    fn is_limited(&self) -> bool {
        self.host.share < 100
    }

    /// Handles the remaining work of a call that made no progress step. Nothing was pending before the call, so this
    /// checks only the device's send queue.
    #[inline]
    fn advance_after_call(&mut self) {
        if self.adi.has_pending_tx() {
            self.host.send_on(&mut self.adi);
        }
    }

    /// Notifies the links of the end of a call; see [`NodeLink::end_call`].
    #[cold]
    #[inline(never)]
    pub fn end_call_of_links(&mut self) {
        let links = self.host.torus.present_links().iter_mut();
        links.flatten().for_each(L::end_call);
    }

    /// Returns the board's platform.
    #[inline]
    pub fn platform(&self) -> &P {
        &self.host.platform
    }

    /// Returns whether interrupts are enabled.
    pub fn is_interruptible(&self) -> bool {
        self.host.share > 0
    }

    /// Returns whether work can continue while the program computes: requests that other nodes advance, delayed
    /// acknowledgements, packets not yet accepted by a link, or an unfinished interrupt hook.
    pub fn is_under_way(&self) -> bool {
        self.adi.has_async_work()
            || self.adi.has_delayed_acks()
            || self.host.torus.has_to_leave()
            || self.host.hook != HookResult::Idle
    }

    /// Makes neighbours wake this node, on a board without [interrupts](Platform::INTERRUPTS), until the next call. Returns
    /// false if there is work now, so that the caller must not sleep.
    pub fn watch_links(&mut self) -> bool {
        let host = &mut self.host;
        (host.quiet || host.is_at_rest(&self.adi)) && host.is_watched()
    }

    /// Clears all pending interrupts.
    pub fn acknowledge(&mut self) {
        self.host.acknowledge();
    }

    /// Handles an interrupt while the program computes. Bounded: at most [`STEPS_PER_INTERRUPT`] steps, then the
    /// program runs for [`PROGRAM_SLICE_NS`], or longer if the interrupts' share requires it. Does not allocate.
    pub fn interrupted(&mut self) {
        self.put_away();
        let host = &mut self.host;
        let began = host.platform.ticks();
        if host.share < 100 && host.keep_for_the_program() {
            return;
        }
        let beats = host.beats;
        host.quiet = false;
        // A link may have raised the interrupt.
        host.watch = LinkWatch::Enabled;
        host.run_to_rest(&mut self.adi, true);
        let now = host.platform.ticks();
        host.interrupt_ticks += now - began;
        // An interrupt without work only ends the program's time slice. Charging it would cause an endless series.
        if host.share < 100 && host.beats > beats {
            let took = (now - began) * 100 / u64::from(host.share);
            host.paid_at = host.paid_at.max(began) + took;
            host.keep_for_the_program();
        }
    }

    /// Notifies the device that the heap has memory it may be waiting for.
    pub fn heap_freed(&mut self) {
        self.put_away();
        self.adi.heap_freed(self.host.platform.memory());
        self.interrupted();
    }

    /// Records that the program slept for `ticks` of the clock.
    pub fn slept(&mut self, ticks: u64) {
        self.host.idle_ticks += ticks;
    }

    /// Makes one step on behalf of other nodes, or sleeps until one is possible.
    pub fn forward(&mut self) {
        self.put_away();
        if !self.host.step(&mut self.adi) {
            self.host.publish_if_asked(&mut self.adi);
            self.host.sleep();
        }
    }

    /// Returns the device and the torus, to hand the node over to another process.
    #[cfg(not(target_os = "none"))]
    pub fn parts(&mut self) -> (&mut Adi, &mut Torus<'static, L>) {
        self.put_away();
        (&mut self.adi, &mut self.host.torus)
    }

    /// Updates the blackboard.
    pub fn publish(&self) {
        self.host.publish(&self.adi);
    }
}

impl<L: NodeLink, P: Platform<L>> NodeHost<L, P> {
    /// Creates the host environment over this torus.
    #[inline]
    pub(crate) fn new(mut torus: Torus<'static, L>, platform: P) -> Self {
        // Without interrupts, coalesced packets would wait for the program's next call.
        torus.set_gathers(P::INTERRUPTS);
        Self {
            coalescing_dest: None,
            quiet: false,
            watch: LinkWatch::Enabled,
            hook: HookResult::Idle,
            deferred_ns: None,
            answers_due: false,
            call: None,
            call_is_up: false,
            stats_state: StatsState::Outdated,
            are_queues_shown: false,
            published_ns: platform.ns(platform.ticks()),
            beats: 0,
            idle_ticks: 0,
            share: 100,
            interrupt_ticks: 0,
            paid_at: 0,
            started: platform.ticks(),
            torus,
            platform,
        }
    }

    /// Implements [`Node::limit_interrupts`].
    pub(crate) fn limit_interrupts(&mut self, percent: u8) {
        self.share = percent.min(100);
    }

    fn now_ns(&self) -> u64 {
        self.platform.ns(self.platform.ticks())
    }

    /// Returns the time for uses that tolerate a millisecond, exact for links with [timeouts](Link::HAS_TIMEOUTS).
    #[inline]
    fn step_ns(&self) -> u64 {
        if L::HAS_TIMEOUTS {
            self.now_ns()
        } else {
            self.platform.about_ns()
        }
    }

    /// Disables link interrupts until the program has received its share. Returns false if it has.
    #[cold]
    #[inline(never)]
    fn keep_for_the_program(&mut self) -> bool {
        let ahead = self.paid_at.saturating_sub(self.platform.ticks());
        let ahead_ns = self.platform.ns(ahead);
        if self.share > 0 && ahead_ns <= INTERRUPT_GRACE_NS {
            return false;
        }
        self.watch = LinkWatch::Polling;
        L::mask_all(self.torus.present_links());
        if self.share > 0 {
            self.platform.wake_in(ahead_ns);
        }
        true
    }

    fn step(&mut self, adi: &mut Adi) -> bool {
        if self.watch != LinkWatch::Polling {
            self.watch = LinkWatch::Polling;
            L::mask_all(self.torus.present_links());
        }
        let now = self.step_ns();
        let moved = self.torus.receive_frames(now);
        self.make_step(adi, now, moved)
    }

    /// Transmits the device's pending packets while the links watch and none has received anything.
    fn transmit_pending(&mut self, adi: &mut Adi) -> bool {
        let held = self.torus.holds();
        let now = self.step_ns();
        let moved = self.make_step(adi, now, false);
        if held || self.torus.holds() {
            // The links must be notified that packets wait for them, or no longer wait.
            self.watch = LinkWatch::Polling;
        }
        moved
    }

    /// Makes a step: device progress and transmission. `moved` reports whether frames were received before.
    #[inline(never)]
    fn make_step(&mut self, adi: &mut Adi, now: u64, mut moved: bool) -> bool {
        self.coalescing_dest = None;
        // Check before any data of a corrupted frame reaches the program or other nodes.
        if moved && !self.torus.dead_links().is_empty() {
            self.end_for_links();
        }
        // In its first step the device learns the network's properties.
        let is_first = self.beats == 0;
        let has_received = self.torus.router().has_received();
        let owes_answers = self.owes_answers(adi, now);
        if has_received || adi.has_pending_tx() || owes_answers || is_first {
            // Traffic to one neighbour is no reason to acknowledge another's messages.
            adi.delay_acks(!owes_answers);
            moved |= adi.progress(&mut self.torus, self.platform.memory());
            if self.platform.lends() {
                self.platform.report_frees(adi.starves_others());
            }
        }
        if adi.has_delayed_acks() != self.deferred_ns.is_some() {
            self.deferred_ns = adi.has_delayed_acks().then_some(now);
            self.answers_due = false;
        }
        moved |= self.torus.transmit_frames(now);
        moved |= L::relay(self.torus.links_mut(), |link| link);
        if !self.torus.dead_links().is_empty() {
            self.end_for_links();
        }
        self.beats += 1;
        self.quiet = !moved;
        if moved && self.stats_state == StatsState::Published {
            self.stats_state = StatsState::Outdated;
        }
        if self.stats_state != StatsState::Published {
            self.publish_if_due(adi, now);
        }
        moved
    }

    /// Ends the node because of links that have given up.
    #[cold]
    #[inline(never)]
    fn end_for_links(&mut self) {
        let Some(direction) = self.torus.dead_links().iter().next() else {
            return;
        };
        let is_memory = { self.torus.links()[direction as usize].as_ref() }.is_some_and(L::is_exact);
        let (shape, here) = (self.torus.router().shape(), self.torus.router().coord());
        match { shape.neighbour(here, direction) }.and_then(|there| Some((shape.rank(there)?, there))) {
            Some(neighbour) if is_memory => self.platform.link_overwritten(direction, neighbour),
            _ => self.platform.link_lost(direction),
        }
    }

    /// Audits the links if an audit is due. Ends the node if a link fails it.
    #[inline]
    fn audit_if_due(&mut self) {
        if self.platform.is_audit_due() {
            self.audit();
        }
    }

    #[inline(never)]
    fn audit(&mut self) {
        { self.torus.present_links().iter_mut().flatten() }.for_each(L::audit);
        if self.torus.find_dead() {
            self.end_for_links();
        }
        if P::SHOWS_QUEUES && P::INTERRUPTS && self.call.is_some() && !self.are_queues_shown {
            self.check_stall();
        }
    }

    /// Checks whether the call has made no progress for a while, or sets a timer for the next check.
    fn check_stall(&mut self) {
        let age = self.now_ns().saturating_sub(self.published_ns);
        if self.stats_state == StatsState::Published && age >= STALL_NS {
            self.stats_state = StatsState::Stalled;
        } else {
            self.platform.wake_in(STALL_NS);
        }
    }

    #[inline]
    fn publish_if_due(&mut self, adi: &mut Adi, now: u64) {
        if now.saturating_sub(self.published_ns) >= PUBLISH_NS {
            self.publish_all(adi, now);
        }
    }

    /// Writes the statistics, the call's name and, if the call is stalled, its queues.
    #[cold]
    #[inline(never)]
    fn publish_all(&mut self, adi: &mut Adi, now: u64) {
        self.publish(adi);
        self.show_call();
        self.are_queues_shown = false;
        if self.stats_state == StatsState::Stalled {
            self.show_queues(adi);
        }
        self.published_ns = now;
        // Between two steps of a call, the queues wait for the next one.
        if self.stats_state != StatsState::Stalled || self.call.is_some() {
            self.stats_state = StatsState::Published;
        }
    }

    /// Transmits a message that the device has just queued, when nothing else has moved.
    #[inline(never)]
    fn send_on(&mut self, adi: &mut Adi) {
        self.quiet = false;
        let is_calm = self.watch == LinkWatch::Armed || !P::INTERRUPTS && !self.torus.may_receive();
        if is_calm && !L::HAS_TIMEOUTS && !self.torus.holds() {
            self.transmit_after_send(adi);
        }
        self.end_call(adi);
        self.coalescing_dest = if P::INTERRUPTS && self.watch == LinkWatch::Armed && self.torus.holds() {
            adi.coalescing_dest()
        } else {
            None
        };
    }

    /// Shortened [`NodeHost::transmit_pending`] after a call that only sends. Links without timeouts neither die nor hold forwarded
    /// frames, no acknowledgement is due, and the statistics are written when the call settles.
    fn transmit_after_send(&mut self, adi: &mut Adi) {
        adi.transmit_pending(&mut self.torus, self.platform.memory());
        // Links with timeouts receive no frames here.
        if self.torus.transmit_frames(0) && self.stats_state == StatsState::Published {
            self.stats_state = StatsState::Outdated;
        }
        // The acknowledgements may have been piggybacked.
        self.deferred_ns = self.deferred_ns.filter(|_| adi.has_delayed_acks());
        if self.torus.holds() {
            // The links' interrupts for free space are not enabled yet.
            self.watch = LinkWatch::Enabled;
        }
    }

    /// Ends a call and handles its remaining work.
    fn end_call(&mut self, adi: &mut Adi) {
        self.run_to_rest(adi, P::INTERRUPTS);
        if !P::INTERRUPTS {
            // Nothing watches the links while the program computes, so no neighbour needs to ring the doorbell.
            if self.watch != LinkWatch::Polling {
                L::mask_all(self.torus.present_links());
            }
            self.watch = LinkWatch::Enabled;
        }
        self.publish_if_asked(adi);
    }

    /// Writes the statistics if a reader waits for them.
    #[inline]
    fn publish_if_asked(&mut self, adi: &mut Adi) {
        if self.platform.is_asked() {
            self.answer(adi);
        }
    }

    /// Writes the statistics and, within a call, the call's name and its queues.
    #[cold]
    #[inline(never)]
    fn answer(&mut self, adi: &mut Adi) {
        self.show_call();
        self.show_queues(adi);
        self.publish(adi);
        self.platform.answered();
    }

    /// Makes steps until there is nothing to do before a link reports work, by an interrupt if `asked`. If that takes
    /// long, the timer continues it.
    #[inline]
    fn run_to_rest(&mut self, adi: &mut Adi, asked: bool) {
        let is_over = (self.quiet || self.is_at_rest(adi)) && adi.interrupt_hook().is_none();
        if is_over && (!asked || self.is_watched()) {
            self.settled(adi)
        } else {
            self.settle_by_steps(adi, asked, !is_over)
        }
    }

    /// Implements [`NodeHost::run_to_rest`] when there is work. A link that had work when its interrupt was enabled may have
    /// more: from then on, interrupts are enabled only after a step that finds nothing; before that, the node
    /// `asks_early`.
    #[inline(never)]
    fn settle_by_steps(&mut self, adi: &mut Adi, asked: bool, mut asks_early: bool) {
        for _ in 0..STEPS_PER_INTERRUPT {
            let is_over = self.quiet || asks_early && self.is_at_rest(adi);
            if is_over && adi.interrupt_hook().is_some() && self.run_hook(adi) {
                self.quiet = false;
                continue;
            }
            if is_over && (!asked || self.is_watched()) {
                return self.settled(adi);
            }
            asks_early &= !is_over;
            self.step(adi);
        }
        self.platform.wake_in(PROGRAM_SLICE_NS);
    }

    /// Handles the state in which only a link or the timer brings new work.
    fn settled(&mut self, adi: &mut Adi) {
        if self.stats_state == StatsState::Outdated {
            let now = self.step_ns();
            self.publish_if_due(adi, now);
            return self.set_timer(now);
        }
        self.set_timer(0);
    }

    /// Runs the interrupt hook of the upper layers. Returns true if it has advanced.
    #[cold]
    #[inline(never)]
    fn run_hook(&mut self, adi: &mut Adi) -> bool {
        self.hook = interface::run_in_interrupt(adi, self.platform.memory());
        if self.hook == HookResult::Busy {
            self.platform.wake_in(PROGRAM_SLICE_NS);
        }
        self.hook == HookResult::Advanced
    }

    /// Returns whether a step would move nothing unless a link has work, or would transmit nothing sooner.
    #[inline(always)]
    fn is_at_rest(&self, adi: &Adi) -> bool {
        let is_held = |dest| P::INTERRUPTS && self.torus.holds() && self.torus.is_held(adi.torus_coord(dest));
        if self.is_due() {
            return false;
        }
        self.torus.is_at_rest()
            && !adi.has_urgent_tx(is_held)
            && !(adi.has_delayed_acks() && self.owes_answers(adi, self.step_ns()))
    }

    /// Returns whether a timeout of a link with [timeouts](Link::HAS_TIMEOUTS) has expired. Without a step it would
    /// remain so, and the timer would interrupt immediately, forever.
    #[inline]
    fn is_due(&self) -> bool {
        L::HAS_TIMEOUTS && self.torus.poll_at().is_some_and(|due| due <= self.now_ns())
    }

    /// Returns whether the device must send acknowledgements: their delay is over or not permitted.
    fn owes_answers(&self, adi: &Adi, now: u64) -> bool {
        let waited = |since| now.saturating_sub(since) >= PUBLISH_NS;
        adi.has_delayed_acks()
            && (!self.platform.lets_answers_wait() || self.answers_due || self.deferred_ns.is_some_and(waited))
    }

    /// Returns whether the links interrupt when there is work, and enables their interrupts if needed. Returns false if
    /// there is work already.
    fn is_watched(&mut self) -> bool {
        self.watch == LinkWatch::Armed || self.prepare_sleep()
    }

    /// Checks, after a step, that nothing has been received and no link has new free space for waiting packets. If the
    /// node polls its links before it [sleeps](Platform::poll_iterations), their interrupts remain disabled for now.
    #[inline]
    fn has_nothing(&mut self) -> bool {
        if !L::HAS_TIMEOUTS && self.platform.poll_iterations() > 0 && !self.torus.holds() {
            !self.torus.may_receive()
        } else {
            self.prepare_sleep()
        }
    }

    /// Enables the links' interrupts. Returns false if there is work already.
    fn prepare_sleep(&mut self) -> bool {
        let quiet = L::prepare_all(self.torus.present_links());
        self.watch = if quiet { LinkWatch::Armed } else { LinkWatch::Enabled };
        quiet
    }

    /// Sets the timer so that, during a long sleep, computation or hang, statistics are written, delayed
    /// acknowledgements sent and outstanding frames retransmitted. `now` is used only if the statistics are out of
    /// date.
    fn set_timer(&mut self, now: u64) {
        if let Some(due) = self.torus.poll_at() {
            let now = self.now_ns();
            self.platform.wake_in(due.saturating_sub(now));
        }
        match self.stats_state {
            StatsState::Published if self.deferred_ns.is_some() => self.platform.wake_in(PUBLISH_NS),
            StatsState::Outdated => {
                let age = now.saturating_sub(self.published_ns);
                self.platform.wake_in(PUBLISH_NS.saturating_sub(age));
                self.stats_state = StatsState::TimerSet;
            }
            StatsState::Published | StatsState::TimerSet | StatsState::Stalled => {}
        }
    }

    fn sleep(&mut self) {
        if self.sees_news() || self.answers_first() || !self.is_watched() {
            return;
        }
        if P::SHOWS_QUEUES && P::INTERRUPTS && self.are_queues_shown {
            self.show_call();
            return self.sleep_and_show_location();
        }
        self.show_call();
        self.sleep_with(P::wait);
    }

    /// Implements [`NodeHost::sleep`] in a call that has shown its queues.
    #[cold]
    #[inline(never)]
    fn sleep_and_show_location(&mut self) {
        self.sleep_with(P::wait_and_show_location);
    }

    /// Sleeps with one of the platform's methods, until an interrupt.
    #[inline(always)]
    fn sleep_with(&mut self, wait: impl FnOnce(&mut P)) {
        let before = self.platform.ticks();
        self.set_timer(self.platform.ns(before));
        wait(&mut self.platform);
        self.idle_ticks += self.platform.ticks() - before;
        self.acknowledge();
    }

    /// Ends the delay of acknowledgements if no timer would end the sleep. Returns true if there were any.
    #[inline]
    fn answers_first(&mut self) -> bool {
        let wait = !P::INTERRUPTS && self.deferred_ns.is_some() && !self.answers_due;
        self.answers_due |= wait;
        wait
    }

    /// Polls the links for a while. Returns true when one has work.
    #[inline]
    fn sees_news(&mut self) -> bool {
        let looks = if self.watch == LinkWatch::Polling && !L::HAS_TIMEOUTS {
            self.platform.poll_iterations()
        } else {
            0
        };
        for _ in 0..looks {
            if self.torus.may_receive() {
                self.watch = LinkWatch::Enabled;
                return true;
            }
            hint::spin_loop();
        }
        false
    }

    fn acknowledge(&mut self) {
        self.platform.acknowledge(self.torus.links_mut());
        // A link may have ended the sleep.
        self.watch = LinkWatch::Enabled;
        if self.stats_state == StatsState::TimerSet {
            // The timer may have ended the sleep, for an earlier reason.
            self.stats_state = StatsState::Outdated;
        }
        self.audit_if_due();
    }

    /// Shows the message queues of the program's current call.
    fn show_queues(&mut self, adi: &mut Adi) {
        if P::SHOWS_QUEUES && self.call.is_some() {
            self.platform.show_queues(adi);
            self.are_queues_shown = true;
        }
    }

    /// Shows the program's current call on the blackboard.
    fn show_call(&mut self) {
        if let Some(call) = self.call
            && !self.call_is_up
        {
            self.call_is_up = true;
            self.platform.blackboard().call(Some(CallRecord {
                function: call.function,
                peer: call.peer,
                tag: call.tag,
            }));
            self.platform.show_blackboard();
        }
    }

    fn publish(&self, adi: &Adi) {
        let links = self.torus.links().iter().flatten();
        let own = NodeStats {
            beats: self.beats,
            idle_ticks: self.idle_ticks,
            interrupt_ticks: self.interrupt_ticks,
            run_ticks: self.platform.ticks() - self.started,
            heap_peak_bytes: self.platform.heap_peak_bytes(),
            link_defects: links.clone().map(L::defects).sum(),
            link_retries: links.map(L::retries).sum(),
        };
        let board = self.platform.blackboard();
        let router = self.torus.router();
        let sources = CounterSources {
            adi,
            torus: router.stats(),
            own: &own,
        };
        let links = self.torus.links();
        let stats_state = |d: Direction| {
            let link = links[d as usize].as_ref();
            LinkDeviceStats {
                retries: link.map_or(0, L::retries),
                detours: link.map_or(0, L::detours),
            }
        };
        let links = router.links().iter();
        publish(board, sources, links.map(|d| (d, stats_state(d))));
        self.platform.show_blackboard();
    }
}

impl<L: NodeLink, P: Platform<L>> Kernel for NodeHost<L, P> {
    fn poll(&mut self, adi: &mut Adi) -> bool {
        let watch = self.watch;
        let is_at_rest = watch != LinkWatch::Enabled && self.is_at_rest(adi);
        let moved = match watch {
            LinkWatch::Armed if !self.platform.is_interrupted() => {
                if is_at_rest {
                    false
                } else if L::HAS_TIMEOUTS {
                    // Links with timeouts need the current time.
                    self.step(adi)
                } else {
                    self.transmit_pending(adi)
                }
            }
            // A step has just been made.
            LinkWatch::Polling if is_at_rest && self.has_nothing() => false,
            // A link has interrupted, or probably has work.
            _ => self.step(adi),
        };
        if !moved {
            self.publish_if_asked(adi);
            if P::SHOWS_QUEUES && P::INTERRUPTS && self.stats_state == StatsState::Stalled {
                let now = self.now_ns();
                self.publish_all(adi, now);
            }
            if self.platform.on_idle_poll() {
                self.platform.wake_in(YIELD_NS);
                self.sleep();
            }
            if !P::INTERRUPTS {
                self.audit_if_due();
            }
        }
        moved
    }

    fn has_async_progress(&self) -> bool {
        P::INTERRUPTS
    }

    fn idle(&mut self) {
        self.sleep();
    }

    fn memory(&mut self) -> &mut dyn UserMemory {
        self.platform.memory()
    }

    fn now(&self) -> u64 {
        self.now_ns()
    }

    fn tick(&self) -> u64 {
        self.platform.ns(1).max(1)
    }

    fn heap(&self) -> Option<HeapUsage> {
        Some(self.platform.heap())
    }

    fn count(&mut self, adi: &Adi) {
        self.publish(adi);
    }

    fn counted(&self, index: usize) -> u64 {
        self.platform.blackboard().counter(index)
    }

    /// Records the current call. Most calls end before anyone needs to know them, so the blackboard shows only a call
    /// that sleeps or that is in progress when the statistics are written.
    fn record_call(&mut self, call: Option<CallInfo>) {
        self.call = call;
        if self.call_is_up {
            self.call_is_up = false;
            if call.is_none() {
                self.platform.blackboard().call(None);
            }
        }
    }

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        self.platform.abort(why, status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_abi::blackboard::BlackboardSnapshot;
    use midplane_device::envelope::MatchPattern;
    use midplane_device::memory::{RawMemory, Span};
    use midplane_device::request::SendMode;
    use midplane_device::send::SendTo;
    use midplane_device::{DeviceConfig, DeviceMemory};
    use net_torus::router::{BufferSizes, Router};
    use net_torus::sim::{SimLink, wire_torus};
    use net_torus::{Chunk, Coord, Shape};

    /// A link in memory that records the node's requests to its device.
    struct TestLink<const HAS_TIMEOUTS: bool = false> {
        link: SimLink,
        /// The neighbour sends malformed frames forever.
        babbles: bool,
        /// The neighbour has not yet received all frames.
        behind: bool,
        interrupts: bool,
        /// Number of requests to disable interrupts.
        holds: usize,
        /// Time of the link's next timeout.
        due: Option<u64>,
    }

    impl<const HAS_TIMEOUTS: bool> Link for TestLink<HAS_TIMEOUTS> {
        const HAS_TIMEOUTS: bool = HAS_TIMEOUTS;

        fn mtu(&self) -> usize {
            self.link.mtu()
        }

        fn receive(&mut self, f: impl FnOnce(&[u8])) -> bool {
            if self.babbles {
                f(&[0xFF]);
                return true;
            }
            self.link.receive(f)
        }

        fn transmit(&mut self, f: impl FnOnce(&mut [u8]) -> usize) -> bool {
            self.link.transmit(f)
        }

        fn is_behind(&mut self) -> bool {
            self.behind
        }

        fn poll(&mut self, now_ns: u64) {
            self.due = self.due.filter(|due| *due > now_ns);
        }

        fn poll_at(&self) -> Option<u64> {
            self.due
        }

        fn may_receive(&mut self) -> bool {
            self.babbles || self.link.has_input()
        }
    }

    impl<const HAS_TIMEOUTS: bool> NodeLink for TestLink<HAS_TIMEOUTS> {
        fn mask_interrupts(&mut self) {
            self.interrupts = false;
            self.holds += 1;
        }

        fn prepare_sleep(&mut self) -> bool {
            self.interrupts = true;
            !self.babbles && !self.link.has_input()
        }

        fn defects(&self) -> u64 {
            0
        }
    }

    /// A machine without devices that records the node's requests.
    #[derive(Default)]
    struct TestPlatform<const INTERRUPTS: bool = true> {
        memory: RawMemory,
        blackboard: Blackboard,
        wakes: Vec<u64>,
        waits: usize,
        /// No interrupt is pending.
        undisturbed: bool,
        /// Clock advance in addition to one tick per wait.
        ticks: u64,
        /// Ticks that each clock read takes, and the number of reads.
        look: u64,
        looks: std::cell::Cell<u64>,
        /// Number of link polls before a sleep.
        link_looks: u32,
        /// Number of times that the queues were shown, and of sleeps with a recorded location.
        queues_shown: usize,
        located_waits: usize,
    }

    impl<L, const INTERRUPTS: bool> Platform<L> for TestPlatform<INTERRUPTS> {
        const SHOWS_QUEUES: bool = true;
        const INTERRUPTS: bool = INTERRUPTS;

        type Memory = RawMemory;

        fn show_queues(&mut self, _: &mut Adi) {
            self.queues_shown += 1;
        }

        fn wait_and_show_location(&mut self) {
            self.located_waits += 1;
        }

        /// Each sleep ends by the timer.
        fn is_audit_due(&mut self) -> bool {
            true
        }

        fn ticks(&self) -> u64 {
            self.looks.set(self.looks.get() + 1);
            self.waits as u64 + self.ticks + self.look * self.looks.get()
        }

        fn ns(&self, ticks: u64) -> u64 {
            100 * ticks
        }

        fn lets_answers_wait(&self) -> bool {
            true
        }

        fn wake_in(&mut self, ns: u64) {
            self.wakes.push(ns);
        }

        fn wait(&mut self) {
            self.waits += 1;
        }

        fn poll_iterations(&self) -> u32 {
            self.link_looks
        }

        fn is_interrupted(&self) -> bool {
            !self.undisturbed
        }

        fn acknowledge(&mut self, _: &mut [Option<L>; 6]) {}

        fn memory(&mut self) -> &mut RawMemory {
            &mut self.memory
        }

        fn lends(&self) -> bool {
            false
        }

        fn report_frees(&mut self, _: bool) {
            panic!("a heap that does not lend has nothing to report");
        }

        fn heap(&self) -> HeapUsage {
            HeapUsage { bytes: 0, used: 0 }
        }

        fn heap_peak_bytes(&self) -> u64 {
            0
        }

        fn blackboard(&self) -> &Blackboard {
            &self.blackboard
        }

        fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
            panic!("aborted with status {status}: {why:?}");
        }
    }

    type TestNode<const HAS_TIMEOUTS: bool = false, const INTERRUPTS: bool = true> =
        Node<TestLink<HAS_TIMEOUTS>, TestPlatform<INTERRUPTS>>;

    fn nodes(extents: [u16; 3]) -> Vec<TestNode> {
        nodes_of(extents)
    }

    fn nodes_of<const T: bool, const I: bool>(extents: [u16; 3]) -> Vec<TestNode<T, I>> {
        const SIZES: BufferSizes = BufferSizes::BLUE_GENE;
        let shape = Shape::new(extents, [true; 3]).unwrap();
        let links = wire_torus(&shape).into_iter();
        links
            .zip(0..)
            .map(|(links, rank)| {
                let here: Coord = shape.coord(rank).unwrap();
                let chunks = Vec::<Chunk>::leak(vec![[0; 32]; SIZES.chunks()]);
                let router = Router::new(shape, here, SIZES, chunks).unwrap();
                let links = links.map(|link| {
                    link.map(|link| TestLink {
                        link,
                        babbles: false,
                        behind: false,
                        interrupts: true,
                        holds: 0,
                        due: None,
                    })
                });
                let torus = Torus::new(router, links).unwrap();
                let config = DeviceConfig {
                    shape,
                    rank: Rank::new(rank),
                    request_slots: 64,
                };
                let memory = DeviceMemory::allocate(4096, shape.nodes() as usize).unwrap();
                let adi = Adi::new(config, memory).unwrap();
                Node::new(adi, torus, TestPlatform::default())
            })
            .collect()
    }

    fn left(node: &mut TestNode) -> bool {
        let mut left = false;
        node.enter(&mut |adi, _| left = adi.leave_barrier());
        left
    }

    #[test]
    fn an_interrupt_carries_on_with_what_a_call_left_until_nothing_moves() {
        let mut nodes = nodes([2, 2, 1]);
        for node in &mut nodes {
            node.enter(&mut |adi, _| adi.enter_barrier());
        }
        assert!(nodes.iter_mut().any(|node| !left(node)), "not by itself");
        for _ in 0..4 {
            for node in &mut nodes {
                node.interrupted();
            }
        }
        for node in &mut nodes {
            assert!(left(node));
            assert!(node.host.is_at_rest(&node.adi), "nothing is left");
            assert_eq!(node.host.platform.wakes, [PUBLISH_NS], "but the figures");
            let links = node.host.torus.links().iter().flatten();
            assert!({ links }.all(|link| link.interrupts));
        }
    }

    const TO_THE_OTHER: SendTo = SendTo {
        dest: Rank::new(1),
        tag: 1,
        context: 0,
        mode: SendMode::Standard,
    };

    const OUTGOING: OutgoingMessage = OutgoingMessage {
        to: TO_THE_OTHER,
        span: Span::EMPTY,
    };

    const ANY: IncomingMessage = IncomingMessage {
        pattern: MatchPattern::new(None, None, 0),
        span: Span::EMPTY,
    };

    /// Creates two nodes that have exchanged their tokens.
    fn acquainted<const T: bool, const I: bool>() -> Vec<TestNode<T, I>> {
        let mut nodes = nodes_of([2, 1, 1]);
        for _ in 0..2 {
            nodes.iter_mut().for_each(Node::interrupted);
        }
        nodes
    }

    #[test]
    fn a_short_message_leaves_without_a_look_at_the_links() {
        let mut nodes = acquainted::<false, true>();
        let node = &mut nodes[0];
        let holds = |node: &TestNode| -> usize {
            let links = node.host.torus.links().iter().flatten();
            links.map(|link| link.holds).sum()
        };
        let before = (node.host.beats, holds(node));
        assert_eq!(node.fast_send(&OUTGOING), FastSend::Complete);
        assert!(node.adi.are_copies_sent());
        assert_eq!((node.host.beats, holds(node)), before);
        assert_eq!(node.host.watch, LinkWatch::Armed);
        // The receive is posted, and the message is received by an interrupt.
        let posted = nodes[1].fast_start_receive(&ANY);
        let posted = posted.expect("room for a request");
        nodes[1].interrupted();
        assert!(nodes[1].adi.is_done(posted));
        let whole = nodes[1].fast_wait("a test", posted);
        assert_eq!(whole.map(|whole| whole.peer), Some(Rank::new(0)));
    }

    #[test]
    fn a_short_message_is_a_step_where_links_keep_time() {
        let node = &mut acquainted::<true, true>()[0];
        let before = node.host.beats;
        assert_eq!(node.fast_send(&OUTGOING), FastSend::Complete);
        assert!(node.host.beats > before);
        assert_eq!(node.host.watch, LinkWatch::Armed);
    }

    #[test]
    fn short_messages_wait_for_each_other_where_a_link_is_behind() {
        let mut node = acquainted::<false, true>().remove(0);
        for link in node.host.torus.links_mut().iter_mut().flatten() {
            link.behind = true;
        }
        // The first message reaches the link, and that reports a slow neighbour.
        for waiting in 0..16 {
            assert_eq!(node.fast_send(&OUTGOING), FastSend::Complete);
            assert_eq!(node.adi.are_copies_sent(), waiting == 0, "{waiting}");
        }
        node.fast_send(&OUTGOING);
        assert!(node.adi.are_copies_sent(), "worth a frame");
        // With a limited share of the processor, no call uses the fast path.
        let mut node = nodes([2, 1, 1]).remove(0).limit_interrupts(50);
        assert_eq!(node.fast_send(&OUTGOING), FastSend::Unavailable);
        assert_eq!(node.fast_receive("a test", &ANY), FastRecv::Unavailable);
        assert_eq!(node.fast_start_receive(&ANY), None);
    }

    /// A link with enabled interrupts costs its neighbour a doorbell. If links are polled before the node sleeps,
    /// interrupts are enabled only after unsuccessful polls.
    #[test]
    fn links_that_are_looked_at_are_asked_to_interrupt_before_sleep_only() {
        let mut nodes = nodes_of::<false, false>([2, 1, 1]);
        let node = &mut nodes[0];
        node.host.platform.link_looks = 2;
        while node.host.step(&mut node.adi) {}
        let asked = |node: &mut TestNode<false, false>| {
            let links = node.host.torus.links_mut().iter().flatten();
            links.filter(|link| link.interrupts).count()
        };
        assert!(!node.host.poll(&mut node.adi), "nothing has come");
        assert_eq!(asked(node), 0);
        node.host.idle();
        assert_eq!((asked(node), node.host.platform.waits), (2, 1));
        // Without polling, interrupts are enabled after the step.
        node.host.step(&mut node.adi);
        node.host.platform.link_looks = 0;
        assert!(!node.host.poll(&mut node.adi));
        assert_eq!(asked(node), 2);
    }

    #[test]
    fn an_interrupt_has_an_end_even_if_the_traffic_has_none() {
        let mut nodes = nodes([2, 1, 1]);
        let node = &mut nodes[0];
        node.host.torus.links_mut()[0].as_mut().unwrap().babbles = true;
        node.interrupted();
        assert_eq!(node.host.beats, u64::from(STEPS_PER_INTERRUPT));
        assert_eq!(node.host.platform.wakes, [PROGRAM_SLICE_NS]);
        let links = node.host.torus.links().iter().flatten();
        assert!({ links }.all(|link| link.holds == 2), "held off, and once more");
        assert!(!node.host.quiet);
    }

    /// Otherwise the timer would interrupt immediately, again and again, and the program would starve.
    #[test]
    fn a_link_does_what_is_due_when_the_timer_interrupts() {
        let mut node = acquainted::<true, true>().remove(0);
        node.interrupted();
        assert!(node.host.is_at_rest(&node.adi));
        let soon = node.host.now_ns() + 1_000;
        node.host.torus.links_mut()[0].as_mut().unwrap().due = Some(soon);
        node.interrupted();
        assert_eq!(node.host.torus.poll_at(), Some(soon), "too early");
        assert!(node.host.platform.wakes.last().is_some_and(|ns| *ns > 0));
        node.host.platform.ticks += 1_000;
        assert!(!node.host.is_at_rest(&node.adi));
        node.interrupted();
        assert_eq!(node.host.torus.poll_at(), None, "done");
    }

    #[test]
    fn interrupts_take_no_more_than_their_share() {
        let mut node = nodes([2, 1, 1]).remove(0).limit_interrupts(10);
        node.host.torus.links_mut()[0].as_mut().unwrap().babbles = true;
        node.host.platform.look = 1;
        node.interrupted();
        let (beats, took) = (node.host.beats, node.host.interrupt_ticks);
        assert!(beats > 0 && took >= beats, "{beats} steps in {took} ticks");
        let wake = *node.host.platform.wakes.last().unwrap();
        assert!(wake > 880 * took && wake <= 900 * took, "{wake} ns for {took} ticks");
        // An interrupt of any source that comes too early.
        node.interrupted();
        assert_eq!((node.host.beats, node.host.interrupt_ticks), (beats, took));
        let links = node.host.torus.links().iter().flatten();
        assert!({ links }.all(|link| !link.interrupts));
        pass(&mut node, wake);
        node.interrupted();
        assert!(node.host.beats > beats);
        // An interrupt without work is not followed by another.
        node.host.torus.links_mut()[0].as_mut().unwrap().babbles = false;
        pass(&mut node, PUBLISH_NS);
        node.interrupted();
        pass(&mut node, PUBLISH_NS);
        let wakes = node.host.platform.wakes.len();
        node.interrupted();
        assert_eq!(node.host.platform.wakes.len(), wakes);
    }

    #[test]
    fn without_interrupts_a_node_goes_on_in_calls() {
        let mut node = nodes([2, 1, 1]).remove(0).limit_interrupts(0);
        node.host.torus.links_mut()[0].as_mut().unwrap().babbles = true;
        node.interrupted();
        assert_eq!((node.host.beats, node.host.platform.wakes.len()), (0, 0));
        assert!(polled(&mut node));
        let links = node.host.torus.links().iter().flatten();
        assert!({ links }.all(|link| !link.interrupts));
    }

    /// Returns the number of steps of the node's loop, as the host reads it.
    fn beats_seen(node: &TestNode) -> u64 {
        let bytes = node.host.platform.blackboard.bytes();
        BlackboardSnapshot::read(&bytes).unwrap().beats
    }

    /// Advances the clock by `ns` nanoseconds.
    fn pass(node: &mut TestNode, ns: u64) {
        node.host.platform.ticks += ns / 100;
    }

    #[test]
    fn figures_are_a_millisecond_old_at_most() {
        let mut nodes = nodes([1, 1, 1]);
        let node = &mut nodes[0];
        node.host.platform.blackboard.begin();
        let send = |node: &mut TestNode| node.enter(&mut |adi, _| adi.enter_barrier());
        send(node);
        assert_eq!(beats_seen(node), 0, "too early, and it costs thousands of instructions");
        assert_eq!(node.host.platform.wakes, [PUBLISH_NS]);
        pass(node, PUBLISH_NS / 2);
        node.interrupted();
        assert_eq!(node.host.platform.wakes.len(), 1, "the timer is set");
        // An interrupt, possibly the timer's for another purpose.
        node.acknowledge();
        node.interrupted();
        assert_eq!(node.host.platform.wakes[1..], [PUBLISH_NS / 2]);
        pass(node, PUBLISH_NS / 2);
        node.acknowledge();
        node.interrupted();
        assert_eq!(beats_seen(node), node.host.beats);
        // If nothing moves, nothing wakes the node.
        pass(node, 10 * PUBLISH_NS);
        node.interrupted();
        node.forward();
        assert_eq!(node.host.platform.wakes.len(), 2);
        assert_eq!(beats_seen(node), node.host.beats - 1, "and nothing is written");
    }

    #[test]
    fn a_node_at_work_without_a_pause_publishes() {
        let mut nodes = nodes([2, 1, 1]);
        let node = &mut nodes[0];
        node.host.platform.blackboard.begin();
        node.host.torus.links_mut()[0].as_mut().unwrap().babbles = true;
        node.interrupted();
        assert_eq!(beats_seen(node), 0);
        pass(node, PUBLISH_NS);
        node.interrupted();
        assert_eq!(beats_seen(node), u64::from(STEPS_PER_INTERRUPT) + 1);
    }

    #[test]
    fn a_node_sleeps_only_when_its_links_would_wake_it() {
        let mut nodes = nodes([2, 1, 1]);
        let node = &mut nodes[0];
        node.interrupted();
        node.forward();
        assert_eq!((node.host.platform.waits, node.host.idle_ticks), (1, 1));
        // A frame is received between the step and the sleep.
        node.host.torus.links_mut()[1].as_mut().unwrap().babbles = true;
        node.host.sleep();
        assert_eq!(node.host.platform.waits, 1);
        node.slept(5);
        assert_eq!(node.host.idle_ticks, 6);
    }

    /// Makes a progress step inside a call.
    fn polled(node: &mut TestNode) -> bool {
        let mut moved = false;
        node.enter(&mut |adi, kernel| moved = kernel.poll(adi));
        moved
    }

    #[test]
    fn a_call_that_nothing_disturbs_makes_no_step() {
        let mut nodes = nodes([2, 1, 1]);
        // The step notifies the other node of the barrier.
        let node = &mut nodes[1];
        node.interrupted();
        assert_eq!(node.host.watch, LinkWatch::Armed);
        let (beats, holds) = (node.host.beats, holds(node));
        node.host.platform.undisturbed = true;
        assert!(!polled(node));
        assert_eq!((node.host.beats, self::holds(node)), (beats, holds));
        // An interrupt is pending: a frame may have been received.
        node.host.platform.undisturbed = false;
        assert!(!polled(node));
        assert_eq!(node.host.beats, beats + 1);
        // A packet is to be transmitted.
        node.host.platform.undisturbed = true;
        node.enter(&mut |adi, kernel| {
            adi.enter_barrier();
            kernel.poll(adi);
        });
        assert!(node.host.beats > beats + 1);
    }

    fn holds(node: &TestNode) -> usize {
        let links = node.host.torus.links().iter().flatten();
        links.map(|link| link.holds).sum()
    }

    /// Links with enabled interrupts are not asked again; those that have interrupted are.
    #[test]
    fn a_frame_that_came_before_the_links_were_asked_is_taken() {
        let mut nodes = nodes([2, 1, 1]);
        let node = &mut nodes[0];
        node.interrupted();
        node.host.torus.links_mut()[0].as_mut().unwrap().babbles = true;
        node.acknowledge();
        assert_eq!(node.host.watch, LinkWatch::Enabled);
        let beats = node.host.beats;
        node.interrupted();
        assert!(node.host.beats > beats);
    }

    /// A short message's acknowledgement piggybacks on the receiver's next message, or is sent alone after a
    /// millisecond.
    #[test]
    fn an_answer_waits_for_a_millisecond() {
        let mut nodes = nodes([2, 1, 1]);
        // The nodes exchange their buffer tokens.
        for _ in 0..4 {
            nodes.iter_mut().for_each(TestNode::interrupted);
        }
        let pattern = MatchPattern::new(Some(Rank::new(0)), Some(1), 0);
        let to = SendTo {
            dest: Rank::new(1),
            tag: 1,
            context: 0,
            mode: SendMode::Standard,
        };
        nodes[1].enter(&mut |adi, kernel| {
            adi.irecv(kernel.memory(), pattern, Span::EMPTY).unwrap();
        });
        nodes[0].enter(&mut |adi, kernel| {
            adi.isend(kernel.memory(), to, Span::EMPTY).unwrap();
        });
        nodes[1].interrupted();
        assert_eq!(nodes[1].adi.stats().messages_received, 1);
        assert!(nodes[1].adi.has_delayed_acks());
        assert_eq!(nodes[1].host.platform.wakes.last(), Some(&PUBLISH_NS));
        nodes[1].interrupted();
        assert!(nodes[1].adi.has_delayed_acks());
        pass(&mut nodes[1], PUBLISH_NS);
        nodes[1].acknowledge();
        nodes[1].interrupted();
        assert!(!nodes[1].adi.has_delayed_acks(), "sent");
        nodes[0].interrupted();
        assert!(nodes[0].adi.is_quiet(), "and taken");
    }

    /// Without interrupts, a delayed acknowledgement waits from call to call, and is sent before a sleep.
    #[test]
    fn an_answer_waits_for_the_next_call_but_not_for_the_end_of_a_sleep() {
        let received = |nodes: &mut [TestNode<false, false>]| {
            let posted = nodes[1].fast_start_receive(&ANY);
            nodes[0].fast_send(&OUTGOING);
            let whole = nodes[1].fast_wait("a test", posted.expect("room"));
            assert!(whole.is_some() && nodes[1].adi.has_delayed_acks());
        };
        let mut nodes = acquainted::<false, false>();
        received(&mut nodes);
        assert!(nodes[1].is_under_way(), "for who stands in");
        let back = OutgoingMessage {
            to: SendTo {
                dest: Rank::new(0),
                ..TO_THE_OTHER
            },
            ..OUTGOING
        };
        nodes[1].fast_send(&back);
        assert!(!nodes[1].adi.has_delayed_acks());
        assert_eq!(nodes[1].adi.stats().cts_merged, 1);
        // In a call that waits without receiving anything.
        received(&mut nodes);
        let waits = nodes[1].host.platform.waits;
        nodes[1].enter(&mut |adi, kernel| {
            kernel.idle();
            assert!(adi.has_delayed_acks());
            kernel.poll(adi);
            assert!(!adi.has_delayed_acks());
            kernel.poll(adi);
            kernel.idle();
        });
        assert_eq!(nodes[1].host.platform.waits, waits + 1);
        // Or by the progress thread.
        received(&mut nodes);
        nodes[1].interrupted();
        assert!(nodes[1].adi.has_delayed_acks(), "too early");
        nodes[1].host.platform.ticks += PUBLISH_NS / 100;
        nodes[1].interrupted();
        assert!(!nodes[1].adi.has_delayed_acks());
    }

    #[test]
    fn a_short_message_leaves_without_a_step_where_nothing_has_come() {
        let mut nodes = acquainted::<false, false>();
        let beats = nodes[0].host.beats;
        nodes[0].fast_send(&OUTGOING);
        assert!(nodes[0].adi.are_copies_sent());
        assert_eq!(nodes[0].host.beats, beats);
        nodes[0].host.torus.links_mut()[0].as_mut().unwrap().babbles = true;
        nodes[0].fast_send(&OUTGOING);
        assert!(nodes[0].host.beats > beats);
    }

    /// A message to another process triggers no separate acknowledgement; a message to the source piggybacks it.
    #[test]
    fn an_answer_goes_with_a_message_to_its_source() {
        let mut nodes = nodes([3, 1, 1]);
        for _ in 0..4 {
            nodes.iter_mut().for_each(TestNode::interrupted);
        }
        let to = |dest| SendTo {
            dest: Rank::new(dest),
            tag: 1,
            context: 0,
            mode: SendMode::Standard,
        };
        let send = |node: &mut TestNode, dest| {
            node.enter(&mut |adi, kernel| {
                adi.isend(kernel.memory(), to(dest), Span::EMPTY).unwrap();
                kernel.poll(adi);
            });
        };
        let pattern = MatchPattern::new(Some(Rank::new(0)), Some(1), 0);
        nodes[1].enter(&mut |adi, kernel| {
            adi.irecv(kernel.memory(), pattern, Span::EMPTY).unwrap();
        });
        send(&mut nodes[0], 1);
        nodes[1].interrupted();
        assert!(nodes[1].adi.has_delayed_acks());
        send(&mut nodes[1], 2);
        assert!(nodes[1].adi.has_delayed_acks(), "2 is not told");
        send(&mut nodes[1], 0);
        assert!(!nodes[1].adi.has_delayed_acks());
        assert_eq!(nodes[1].adi.stats().cts_merged, 1);
        nodes[0].interrupted();
        assert!(!nodes[0].adi.has_pending_tx());
        assert_eq!(nodes[0].adi.stats().cts_received, 1);
    }

    /// Messages to a slow neighbour make no steps, and are transmitted together when it has caught up.
    #[test]
    fn copies_gather_while_the_neighbour_is_behind() {
        let mut nodes = nodes([2, 1, 1]);
        for _ in 0..4 {
            nodes.iter_mut().for_each(TestNode::interrupted);
        }
        let node = &mut nodes[0];
        node.host.platform.undisturbed = true;
        let to = SendTo {
            dest: Rank::new(1),
            tag: 1,
            context: 0,
            mode: SendMode::Standard,
        };
        let send = |node: &mut TestNode| {
            node.enter(&mut |adi, kernel| {
                let sent = adi.send_within_call(kernel.memory(), to, Span::EMPTY);
                assert_eq!(sent, Ok(None));
                kernel.poll(adi);
                assert!(kernel.has_async_progress());
            });
            node.adi.stats().rts_sent
        };
        let behind = |node: &mut TestNode, is: bool| {
            let links = node.host.torus.links_mut().iter_mut().flatten();
            links.for_each(|link| link.behind = is);
        };
        behind(node, true);
        assert_eq!(send(node), 1, "which finds the neighbour behind");
        let beats = node.host.beats;
        assert_eq!([send(node), send(node)], [1, 1]);
        assert_eq!(node.host.beats, beats, "no step");
        behind(node, false);
        node.acknowledge();
        node.host.step(&mut node.adi);
        assert_eq!(node.adi.stats().rts_sent, 3);
    }

    /// Returns the program's call on the blackboard: its name and the number of calls shown so far.
    fn call_seen(node: &TestNode) -> (Option<String>, u64) {
        let bytes = node.host.platform.blackboard.bytes();
        let seen = BlackboardSnapshot::read(&bytes).unwrap();
        (seen.call.map(|call| call.function.to_string()), seen.calls_entered)
    }

    #[test]
    fn a_call_is_named_when_it_sleeps_or_goes_on_for_a_millisecond() {
        const NOTE: CallInfo = CallInfo::without_peer("MPI_Test");
        let mut nodes = nodes([2, 1, 1]);
        let node = &mut nodes[0];
        node.host.platform.blackboard.begin();
        node.interrupted();
        node.enter(&mut |_, kernel| {
            kernel.record_call(Some(NOTE));
            kernel.record_call(None);
        });
        assert_eq!(call_seen(node), (None, 0), "a short one");
        node.enter(&mut |_, kernel| {
            kernel.record_call(Some(NOTE));
            kernel.idle();
        });
        assert_eq!(call_seen(node), (Some("MPI_Test".into()), 1));
        node.enter(&mut |_, kernel| kernel.record_call(None));
        assert_eq!(call_seen(node), (None, 1));
        // Without sleep, but long.
        node.host.stats_state = StatsState::Outdated;
        pass(node, PUBLISH_NS);
        node.enter(&mut |adi, kernel| {
            kernel.record_call(Some(NOTE));
            kernel.poll(adi);
        });
        assert_eq!(call_seen(node), (Some("MPI_Test".into()), 2));
    }

    /// Passes time in a call of the node in steps, each with a poll and a sleep.
    fn pass_in_call(node: &mut TestNode, ns: u64) {
        const STEPS: u64 = 8;
        for _ in 0..STEPS {
            pass(node, ns / STEPS);
            node.enter(&mut |adi, kernel| {
                kernel.poll(adi);
                kernel.idle();
            });
        }
    }

    #[test]
    fn a_call_without_progress_shows_its_queues() {
        const NOTE: CallInfo = CallInfo::without_peer("MPI_Recv");
        let mut nodes = nodes([2, 1, 1]);
        nodes[0].interrupted();
        let computes = |node: &mut TestNode| node.enter(&mut |_, kernel| kernel.record_call(None));
        let enters = |node: &mut TestNode| node.enter(&mut |_, kernel| kernel.record_call(Some(NOTE)));
        let shown = |node: &TestNode| node.host.platform.queues_shown;
        computes(&mut nodes[0]);
        pass_in_call(&mut nodes[0], 4 * STALL_NS);
        assert_eq!(shown(&nodes[0]), 0, "outside of calls");
        enters(&mut nodes[0]);
        // The statistics are old, so that the first check finds no progress.
        pass_in_call(&mut nodes[0], STALL_NS);
        assert_eq!(shown(&nodes[0]), 1);
        pass_in_call(&mut nodes[0], 8 * STALL_NS);
        assert_eq!(shown(&nodes[0]), 1, "not again without progress");
        assert!(nodes[0].host.platform.located_waits > 0);
        // A message arrives.
        let waits = nodes[0].host.platform.located_waits;
        let to = SendTo {
            dest: Rank::new(0),
            ..TO_THE_OTHER
        };
        nodes[1].enter(&mut |adi, kernel| {
            adi.send_within_call(kernel.memory(), to, Span::EMPTY).unwrap();
            kernel.poll(adi);
        });
        nodes[0].acknowledge();
        pass_in_call(&mut nodes[0], STALL_NS / 2);
        assert_eq!(shown(&nodes[0]), 1, "it has made progress");
        let since = nodes[0].host.platform.located_waits - waits;
        assert!(since < 4, "{since} sleeps with an outdated location");
        pass_in_call(&mut nodes[0], 2 * STALL_NS);
        assert_eq!(shown(&nodes[0]), 2);
    }
}
