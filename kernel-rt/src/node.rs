//! A node: the MPI device, the torus below it, and what the board gives them.
//!
//! ```text
//!            program (C or Rust)
//!               |  MPI calls: Enter::enter, interrupts held off, poll and sleep inside
//!            Adi  <---------------- interrupt, while the program computes: poll, bounded
//!               |
//!            Torus = Router + six links
//!               |
//!            NodeLink, one per direction          Platform: clock, timer, sleep, heap
//! ```
//!
//! Portable: a board supplies the links and the [`Platform`], and the tests do so on the host.
#![forbid(unsafe_code)]

use core::hint;

use midplane_abi::blackboard::{Blackboard, Call};
use midplane_device::Adi;
use midplane_device::envelope::Rank;
use midplane_device::interface::{Incoming, Outgoing, Received, Sent, Work};
use midplane_device::kernel::{AbortReason, CallNote, Heap, Kernel};
use midplane_device::memory::UserMemory;
use midplane_device::request::{RequestId, Whole};
use midplane_device::{HookResult, interface};
use net_torus::Direction;
use net_torus::coord::Coord;
use net_torus::link::Link;
use net_torus::reliable::Reliable;
use net_torus::torus::Torus;

use crate::counters::{LinkFigures, NodeFigures, Sources, publish};

/// Steps that an interrupt makes at most before the program has the processor back.
pub const STEPS_PER_INTERRUPT: u32 = 64;
/// How long the program then computes before the interrupt goes on, in nanoseconds.
pub const PROGRAM_SLICE_NS: u64 = 50_000;
/// How far interrupts may be ahead of their share before they are held off, in nanoseconds: a timer's interrupt, which ends
/// that, is not for less.
pub const INTERRUPT_GRACE_NS: u64 = 20_000;
/// How long a node that polls without result sleeps at most, in nanoseconds, where it yields the processor so
/// ([`Platform::looked_in_vain`]). A link that has something ends the sleep.
pub const YIELD_NS: u64 = 200_000;
/// How old the blackboard's figures may be while the node is at work, in nanoseconds by its own clock.
pub const PUBLISH_NS: u64 = 1_000_000;

/// A link that wakes its node. No call blocks.
pub trait NodeLink: Link {
    /// Asks the device not to interrupt: the node is looking at the link anyway. Frames that have come in
    /// between are seen by [`NodeLink::prepare_sleep`].
    fn hold_interrupts(&mut self);

    /// Asks the device for an interrupt when a frame comes and, if the link was full, when it no longer is.
    /// False when there is something to do already.
    fn prepare_sleep(&mut self) -> bool;

    /// [`NodeLink::hold_interrupts`] of all links of a node. Those of one kind may need less than one by one.
    fn hold_all(links: &mut [Option<Self>])
    where
        Self: Sized,
    {
        links.iter_mut().flatten().for_each(Self::hold_interrupts);
    }

    /// [`NodeLink::prepare_sleep`] of all links of a node; false when one has something to do already.
    fn prepare_all(links: &mut [Option<Self>]) -> bool
    where
        Self: Sized,
    {
        let all = links.iter_mut().flatten();
        all.fold(true, |quiet, link| quiet & link.prepare_sleep())
    }

    /// Checks what is in memory that the neighbour writes, too: it may be that a wild store hit it, and that this end waits
    /// for what will never come. A link that fails is [dead](Link::is_dead).
    fn audit(&mut self) {}

    /// What the device did that it must not do; such frames are lost.
    fn defects(&self) -> u64;

    /// Frames that were sent again because the line had lost or spoiled them.
    fn retries(&self) -> u64 {
        0
    }

    /// Frames that went another way, because the link is cut.
    fn detours(&self) -> u64 {
        0
    }

    /// Moves what goes another way, of all the node's links; `own` is this layer in one of them. True if anything moved.
    fn relay<K>(links: &mut [Option<K>; 6], own: impl Fn(&mut K) -> &mut Self) -> bool
    where
        Self: Sized,
    {
        let _ = (links, own);
        false
    }
}

/// A link that loses frames, and sends them again.
impl<L: NodeLink + 'static, const FRAMES: usize> NodeLink for Reliable<'static, L, FRAMES> {
    fn hold_interrupts(&mut self) {
        self.lower_mut().hold_interrupts();
    }

    fn prepare_sleep(&mut self) -> bool {
        self.lower_mut().prepare_sleep()
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

/// What a board gives its node beside the links.
pub trait Platform<L> {
    /// Links and timer interrupt the program. Without, the node goes on in the program's next call only, and nothing
    /// rings it before.
    const INTERRUPTS: bool = true;

    /// The program's memory.
    type Memory: UserMemory;

    /// The clock, in ticks; never goes back. Does not block.
    fn ticks(&self) -> u64;

    /// Nanoseconds that `ticks` of the clock take.
    fn ns(&self, ticks: u64) -> u64;

    /// The clock in nanoseconds, which may be some milliseconds behind where that takes less. For what has time. Does not
    /// block.
    fn about_ns(&self) -> u64 {
        self.ns(self.ticks())
    }

    /// Whether answers for which their senders do not wait may wait for something to go with, when a call has ended. Without
    /// [`Platform::INTERRUPTS`] the board sees to it that the node goes on in a while, where the program makes no calls.
    fn lets_answers_wait(&self) -> bool {
        Self::INTERRUPTS
    }

    /// Asks for an interrupt `ns` nanoseconds from now, or earlier.
    fn wake_in(&mut self, ns: u64);

    /// Blocks until an interrupt is pending. It is taken by [`Platform::acknowledge`].
    fn wait(&mut self);

    /// How often a node that is about to sleep looks at its links before. Where it has a processor to itself, what is seen
    /// so needs no bell, and no word that says who sleeps. Links that [keep time](Link::KEEPS_TIME) are not looked at.
    fn looks(&self) -> u32 {
        0
    }

    /// A call has looked for something to do, and there was nothing. Where nodes share a processor, this one may leave it
    /// to the others for a while. True: by a sleep of [`YIELD_NS`] at most, which the node then makes. By such a sleep, too,
    /// a node that polls is seen to do so.
    fn looked_in_vain(&mut self) -> bool {
        false
    }

    /// An interrupt is pending. While false, no link has interrupted that was asked to.
    fn is_interrupted(&self) -> bool;

    /// Takes all pending interrupts.
    fn acknowledge(&mut self, links: &mut [Option<L>; 6]);

    /// Whether the links are to be [audited](NodeLink::audit): the board says so a few times in a second. Asked for behind
    /// interrupts, and behind looks in vain where there are none. Boards whose links are not memory leave it out.
    fn is_audit_due(&mut self) -> bool {
        false
    }

    /// The program's memory.
    fn memory(&mut self) -> &mut Self::Memory;

    /// The program's heap lends memory to the MPI device.
    fn lends(&self) -> bool;

    /// From now on [`Node::heap_freed`] is called after every release of memory, or not any more.
    fn report_frees(&mut self, wanted: bool);

    /// How full the program's heap is.
    fn heap(&self) -> Heap;

    /// Greatest number of bytes of the heap ever in use.
    fn heap_peak_bytes(&self) -> u64;

    /// Where the node says how it fares.
    fn blackboard(&self) -> &Blackboard;

    /// The blackboard has changed. A board whose memory the tool does not see copies it to where the tool does.
    fn show_blackboard(&self) {}

    /// Somebody waits for the figures on the blackboard. Boards whose nodes write them by a timer leave it out.
    fn is_asked(&self) -> bool {
        false
    }

    /// They have been written.
    fn answered(&self) {}

    /// Ends the node, and with it the job.
    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> !;

    /// Ends the node because the neighbour in this direction does not answer any more: a link has given up
    /// ([`Link::is_dead`]). Boards whose links never do leave it out.
    fn link_lost(&mut self, direction: Direction) -> ! {
        let _ = direction;
        self.abort(AbortReason::DeadLink, 1)
    }

    /// Ends the node because the memory of the link in this direction, which it shares with that neighbour, was
    /// overwritten. Boards whose links are not memory leave it out.
    fn link_overwritten(
        &mut self,
        direction: Direction,
        neighbour: (net_torus::coord::Rank, Coord),
    ) -> ! {
        let _ = (direction, neighbour);
        self.abort(AbortReason::DeadLink, 1)
    }
}

/// A node.
pub struct Node<L, P> {
    /// For a board that puts a node together where it is to lie.
    pub(crate) adi: Adi,
    /// Likewise.
    pub(crate) carrier: Carrier<L, P>,
}

/// What carries the device on this node.
pub(crate) struct Carrier<L, P> {
    torus: Torus<'static, L>,
    platform: P,
    /// Messages to this process wait for others, and the link that they go by will interrupt; nothing has moved since.
    gathers_for: Option<Rank>,
    /// The last step moved nothing, and neither program nor interrupt has touched the device since.
    quiet: bool,
    watch: Watch,
    /// The result of the hook's last run.
    hook: HookResult,
    /// Since when the device has owed answers that may go with what the program sends next: [`PUBLISH_NS`] at most.
    deferred_ns: Option<u64>,
    /// They wait no longer.
    answers_due: bool,
    /// The call that the program is in.
    call: Option<CallNote>,
    /// The blackboard names a call.
    call_is_up: bool,
    figures: Figures,
    /// When they were written last.
    published_ns: u64,
    beats: u64,
    idle_ticks: u64,
    /// How many percent of the processor interrupts take at most while the program computes; 0: there are none.
    share: u8,
    /// Ticks that they have taken.
    interrupt_ticks: u64,
    /// By this tick what they have taken will be their share.
    paid_at: u64,
    started: u64,
}

/// Who looks whether a link has something to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Watch {
    /// The node: the links do not interrupt.
    Held,
    /// Some link may interrupt, another have something to do without that.
    Open,
    /// The links: each interrupts as soon as there is something to do.
    Armed,
}

/// Whether the blackboard has the node's figures. To write them takes thousands of instructions, so it is done
/// once in [`PUBLISH_NS`]; a node that sleeps or computes before that asks the timer for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Figures {
    /// They are there.
    Published,
    /// Something has moved since they were written, and nothing wakes the node to write them.
    Old,
    /// The same, and the timer will wake it.
    TimerSet,
}

impl<L: NodeLink, P: Platform<L>> Node<L, P> {
    /// Joins the parts.
    pub fn new(adi: Adi, torus: Torus<'static, L>, platform: P) -> Self {
        let carrier = Carrier::new(torus, platform);
        Self { adi, carrier }
    }

    /// Interrupts take at most so many percent of the processor while the program computes: what they have taken is
    /// followed by as much for the program as the share asks for, but for [`INTERRUPT_GRACE_NS`]. With 0 there are none,
    /// and the node goes on in the program's next call only, for others, too.
    pub fn limit_interrupts(mut self, percent: u8) -> Self {
        self.carrier.limit_interrupts(percent);
        self
    }

    /// Runs `work` with the device and its carrier, then goes on with what it left to do, as
    /// [`Node::interrupted`] does; but links that interrupt nothing are not asked to.
    pub fn enter(&mut self, work: &mut Work<'_>) {
        self.put_away();
        work(&mut self.adi, &mut self.carrier);
        self.carrier.end_call(&mut self.adi);
        if P::INTERRUPTS && self.carrier.share < 100 {
            self.carrier.keep_for_the_program();
        }
    }

    /// [`Env::fast_send`](midplane_device::interface::Enter::fast_send).
    #[inline]
    pub fn fast_send(&mut self, outgoing: &Outgoing) -> Sent {
        if self.is_limited() {
            return Sent::Not;
        }
        self.put_away();
        let memory = self.carrier.platform.memory();
        match self.adi.send_to_first(memory, &outgoing.to, outgoing.span) {
            true => Sent::Complete,
            false => self.send(outgoing),
        }
    }

    /// [`Node::fast_send`], of what is not over at once.
    // A call, so that what is over at once saves few registers.
    #[inline(never)]
    fn send(&mut self, outgoing: &Outgoing) -> Sent {
        let &Outgoing { ref to, span } = outgoing;
        let memory: &mut dyn UserMemory = self.carrier.platform.memory();
        let sent = self.adi.send_fast(memory, to, span);
        if sent == Sent::Complete && to.dest == self.adi.rank() {
            // It has been received.
            return sent;
        }
        if self.carrier.gathers_for != Some(to.dest) || !self.adi.gathers_for(to.dest) {
            self.go_on();
        }
        match sent {
            Sent::Complete if !P::INTERRUPTS && !self.adi.have_copies_left() => Sent::Copied,
            sent => sent,
        }
    }

    /// [`Env::fast_receive`](midplane_device::interface::Enter::fast_receive).
    #[inline]
    pub fn fast_receive(&mut self, function: &'static str, incoming: &Incoming) -> Received {
        let &Incoming { ref pattern, span } = incoming;
        if self.is_limited() {
            return Received::Not;
        }
        self.put_away();
        let memory: &mut dyn UserMemory = self.carrier.platform.memory();
        let received = self.adi.receive_fast(memory, pattern, span);
        let Received::Started(id) = received else {
            self.go_on();
            return received;
        };
        match self.finish(function, id) {
            Some(whole) => Received::Complete(whole),
            None => received,
        }
    }

    /// [`Env::fast_start_receive`](midplane_device::interface::Enter::fast_start_receive).
    #[inline]
    pub fn fast_start_receive(&mut self, incoming: &Incoming) -> Option<RequestId> {
        let &Incoming { ref pattern, span } = incoming;
        if self.is_limited() {
            return None;
        }
        self.put_away();
        let memory: &mut dyn UserMemory = self.carrier.platform.memory();
        let (id, may_send) = self.adi.start_receive_fast(memory, pattern, span).ok()?;
        if may_send {
            self.go_on();
        }
        Some(id)
    }

    /// [`Env::fast_wait`](midplane_device::interface::Enter::fast_wait).
    #[inline]
    pub fn fast_wait(&mut self, function: &'static str, id: RequestId) -> Option<Whole> {
        self.put_away();
        let whole = self.adi.conclude_whole(id);
        if whole.is_some() || self.is_limited() {
            return whole;
        }
        self.finish(function, id)
    }

    /// [`Adi::keep_at_hand`], for a board without [interrupts](Platform::INTERRUPTS). It and the next two leave nothing to do.
    #[inline]
    pub fn keep_at_hand(&mut self, incoming: &Incoming) -> Option<RequestId> {
        const { assert!(!P::INTERRUPTS) };
        self.adi.keep_at_hand(&incoming.pattern, incoming.span)
    }

    /// [`Adi::send_to_hand`].
    #[inline]
    pub fn send_to_hand(&mut self, outgoing: &Outgoing) -> bool {
        let memory = self.carrier.platform.memory();
        self.adi.send_to_hand(memory, &outgoing.to, outgoing.span)
    }

    /// [`Adi::conclude_at_hand`].
    #[inline]
    pub fn conclude_at_hand(&mut self, id: RequestId) -> Option<Whole> {
        self.adi.conclude_at_hand(id)
    }

    /// Whatever else comes to the device finds what is at hand among its requests. An interrupt would, too: so nodes with
    /// interrupts have nothing at hand.
    #[inline]
    fn put_away(&mut self) {
        if !P::INTERRUPTS {
            self.adi.put_away();
        }
    }

    /// Waits for a request within a call.
    #[inline(never)]
    fn finish(&mut self, function: &'static str, id: RequestId) -> Option<Whole> {
        let whole = interface::finish(&mut self.adi, &mut self.carrier, function, id);
        self.carrier.end_call(&mut self.adi);
        whole
    }

    /// Interrupts have a share of the processor, with which each call is to reckon.
    #[inline]
    fn is_limited(&self) -> bool {
        self.carrier.share < 100
    }

    /// What a call that has made no step has left to do is done. Between calls nothing was: so only what the call itself
    /// has done to the device is asked for.
    #[inline]
    fn go_on(&mut self) {
        if self.adi.has_to_send() {
            self.carrier.send_on(&mut self.adi);
        }
    }

    /// What the board has given the node beside its links.
    #[inline]
    pub fn platform(&self) -> &P {
        &self.carrier.platform
    }

    /// Interrupts are not left out.
    pub fn is_interruptible(&self) -> bool {
        self.carrier.share > 0
    }

    /// Something is left that can go on while the program computes: of the program's what others go on with, answers that
    /// wait, packets that no link has taken yet, or what goes on beside calls and had no more steps.
    pub fn is_under_way(&self) -> bool {
        self.adi.is_under_way()
            || self.adi.has_deferred()
            || self.carrier.torus.has_to_leave()
            || self.carrier.hook != HookResult::Idle
    }

    /// Takes all pending interrupts.
    pub fn acknowledge(&mut self) {
        self.carrier.acknowledge();
    }

    /// An interrupt has been taken while the program computes. Bounded: at most [`STEPS_PER_INTERRUPT`]
    /// steps, then the program has [`PROGRAM_SLICE_NS`] before it goes on; and more if the share of interrupts asks for
    /// that. Does not allocate.
    pub fn interrupted(&mut self) {
        self.put_away();
        let carrier = &mut self.carrier;
        let began = carrier.platform.ticks();
        if carrier.share < 100 && carrier.keep_for_the_program() {
            return;
        }
        let beats = carrier.beats;
        carrier.quiet = false;
        // It may have been a link's.
        carrier.watch = Watch::Open;
        carrier.settle(&mut self.adi, true);
        let now = carrier.platform.ticks();
        carrier.interrupt_ticks += now - began;
        // One that finds nothing to do ends a time that was the program's: another would follow it for ever.
        if carrier.share < 100 && carrier.beats > beats {
            let took = (now - began) * 100 / u64::from(carrier.share);
            carrier.paid_at = carrier.paid_at.max(began) + took;
            carrier.keep_for_the_program();
        }
    }

    /// The heap has got memory back that the device may be waiting for.
    pub fn heap_freed(&mut self) {
        self.put_away();
        self.adi.heap_freed(self.carrier.platform.memory());
        self.interrupted();
    }

    /// The program slept for `ticks` of the clock.
    pub fn slept(&mut self, ticks: u64) {
        self.carrier.idle_ticks += ticks;
    }

    /// One step on behalf of others, or sleep until there is one to make.
    pub fn forward(&mut self) {
        self.put_away();
        if !self.carrier.step(&mut self.adi) {
            self.carrier.sleep();
        }
    }

    /// Brings the blackboard up to date.
    pub fn publish(&self) {
        self.carrier.publish(&self.adi);
    }
}

impl<L: NodeLink, P: Platform<L>> Carrier<L, P> {
    /// Of a device over this torus.
    #[inline]
    pub(crate) fn new(mut torus: Torus<'static, L>, platform: P) -> Self {
        // Without interrupts what is held back waits for the program's next call.
        torus.set_gathers(P::INTERRUPTS);
        Self {
            gathers_for: None,
            quiet: false,
            watch: Watch::Open,
            hook: HookResult::Idle,
            deferred_ns: None,
            answers_due: false,
            call: None,
            call_is_up: false,
            figures: Figures::Old,
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

    /// See [`Node::limit_interrupts`].
    pub(crate) fn limit_interrupts(&mut self, percent: u8) {
        self.share = percent.min(100);
    }

    fn now_ns(&self) -> u64 {
        self.platform.ns(self.platform.ticks())
    }

    /// The time for what has a millisecond of it, and for links that [keep it](Link::KEEPS_TIME).
    #[inline]
    fn step_ns(&self) -> u64 {
        match L::KEEPS_TIME {
            true => self.now_ns(),
            false => self.platform.about_ns(),
        }
    }

    /// No link interrupts before the program has had its share; false: it has.
    #[cold]
    #[inline(never)]
    fn keep_for_the_program(&mut self) -> bool {
        let ahead = self.paid_at.saturating_sub(self.platform.ticks());
        let ahead_ns = self.platform.ns(ahead);
        if self.share > 0 && ahead_ns <= INTERRUPT_GRACE_NS {
            return false;
        }
        self.watch = Watch::Held;
        L::hold_all(self.torus.present_links());
        if self.share > 0 {
            self.platform.wake_in(ahead_ns);
        }
        true
    }

    fn step(&mut self, adi: &mut Adi) -> bool {
        if self.watch != Watch::Held {
            self.watch = Watch::Held;
            L::hold_all(self.torus.present_links());
        }
        let now = self.step_ns();
        let moved = self.torus.take_frames(now);
        self.go_on(adi, now, moved)
    }

    /// A step while the links watch, of which none has anything: what the device has to send leaves.
    fn leave(&mut self, adi: &mut Adi) -> bool {
        let held = self.torus.holds();
        let now = self.step_ns();
        let moved = self.go_on(adi, now, false);
        if held || self.torus.holds() {
            // The links have yet to know that something waits for them, or no longer does.
            self.watch = Watch::Held;
        }
        moved
    }

    /// A step with the frames that have come, if any `moved`: the device's, and what leaves.
    #[inline(never)]
    fn go_on(&mut self, adi: &mut Adi, now: u64, mut moved: bool) -> bool {
        self.gathers_for = None;
        // Before anything of a frame that is not as it was sent comes to the program or to others.
        if moved && !self.torus.dead_links().is_empty() {
            self.end_for_links();
        }
        // By its first step the device knows what the network has.
        let is_first = self.beats == 0;
        let has_received = self.torus.router().has_received();
        let owes_answers = self.owes_answers(adi, now);
        if has_received || adi.has_to_send() || owes_answers || is_first {
            // What leaves for one neighbour is no reason to answer another.
            adi.let_answers_wait(!owes_answers);
            moved |= adi.progress(&mut self.torus, self.platform.memory());
            if self.platform.lends() {
                self.platform.report_frees(adi.starves_others());
            }
        }
        if adi.has_deferred() != self.deferred_ns.is_some() {
            self.deferred_ns = adi.has_deferred().then_some(now);
            self.answers_due = false;
        }
        moved |= self.torus.give_frames(now);
        moved |= L::relay(self.torus.links_mut(), |link| link);
        if !self.torus.dead_links().is_empty() {
            self.end_for_links();
        }
        self.beats += 1;
        self.quiet = !moved;
        if moved && self.figures == Figures::Published {
            self.figures = Figures::Old;
        }
        if self.figures != Figures::Published {
            self.publish_if_due(adi, now);
        }
        moved
    }

    /// Ends the node for the links that have given up.
    #[cold]
    #[inline(never)]
    fn end_for_links(&mut self) {
        let Some(direction) = self.torus.dead_links().iter().next() else {
            return;
        };
        let is_memory =
            { self.torus.links()[direction as usize].as_ref() }.is_some_and(L::is_exact);
        let (shape, here) = (self.torus.router().shape(), self.torus.router().coord());
        match { shape.neighbour(here, direction) }
            .and_then(|there| Some((shape.rank(there)?, there)))
        {
            Some(neighbour) if is_memory => self.platform.link_overwritten(direction, neighbour),
            _ => self.platform.link_lost(direction),
        }
    }

    /// Audits the links, if it is time; ends the node for one that fails.
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
    }

    fn publish_if_due(&mut self, adi: &Adi, now: u64) {
        if now.saturating_sub(self.published_ns) >= PUBLISH_NS {
            self.publish(adi);
            self.show_call();
            self.published_ns = now;
            self.figures = Figures::Published;
        }
    }

    /// The device has been given something to send, and nothing has moved otherwise.
    #[inline(never)]
    fn send_on(&mut self, adi: &mut Adi) {
        self.quiet = false;
        let is_calm = self.watch == Watch::Armed || !P::INTERRUPTS && !self.torus.has_news();
        if is_calm && !L::KEEPS_TIME && !self.torus.holds() {
            self.give(adi);
        }
        self.end_call(adi);
        self.gathers_for = match P::INTERRUPTS && self.watch == Watch::Armed && self.torus.holds() {
            true => adi.gathered_for(),
            false => None,
        };
    }

    /// [`Carrier::leave`] after a short call, which has only to send: no link dies or has frames of another, as those keep no
    /// time, nothing is owed, and the figures are written when the call settles.
    fn give(&mut self, adi: &mut Adi) {
        adi.leave(&mut self.torus, self.platform.memory());
        // Links that keep time are not given frames here.
        if self.torus.give_frames(0) && self.figures == Figures::Published {
            self.figures = Figures::Old;
        }
        // They may have gone along.
        self.deferred_ns = self.deferred_ns.filter(|_| adi.has_deferred());
        if self.torus.holds() {
            // The links do not know yet that they are to interrupt when they have room.
            self.watch = Watch::Open;
        }
    }

    /// The call is over, but for what it has left to do.
    fn end_call(&mut self, adi: &mut Adi) {
        self.settle(adi, P::INTERRUPTS);
        if !P::INTERRUPTS {
            // Nothing watches while the program computes, and no neighbour need wake it.
            if self.watch != Watch::Held {
                L::hold_all(self.torus.present_links());
            }
            self.watch = Watch::Open;
        }
        self.publish_if_asked(adi);
    }

    /// Writes the figures if somebody waits for them.
    #[inline]
    fn publish_if_asked(&mut self, adi: &Adi) {
        if self.platform.is_asked() {
            self.answer(adi);
        }
    }

    /// Writes the figures and, within a call, its name.
    #[cold]
    #[inline(never)]
    fn answer(&mut self, adi: &Adi) {
        self.show_call();
        self.publish(adi);
        self.platform.answered();
    }

    /// Goes on until there is nothing to do before a link says so, by an interrupt when it is `asked` to; if that takes
    /// long, the timer will continue.
    #[inline]
    fn settle(&mut self, adi: &mut Adi, asked: bool) {
        let is_over = (self.quiet || self.is_at_rest(adi)) && adi.interrupt_hook().is_none();
        match is_over && (!asked || self.is_watched()) {
            true => self.settled(adi),
            false => self.settle_by_steps(adi, asked, !is_over),
        }
    }

    /// As [`Carrier::settle`], where there is something to do. A link that had something when it was asked may have more:
    /// from then on the step that finds nothing is made, and until then the node `asks_early`.
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

    /// There is nothing to do before a link says so, or the timer.
    fn settled(&mut self, adi: &Adi) {
        if self.figures == Figures::Old {
            let now = self.step_ns();
            self.publish_if_due(adi, now);
            return self.set_timer(now);
        }
        self.set_timer(0);
    }

    /// Runs the hook of the layers above; true if it has advanced.
    #[cold]
    #[inline(never)]
    fn run_hook(&mut self, adi: &mut Adi) -> bool {
        self.hook = interface::run_in_interrupt(adi, self.platform.memory());
        if self.hook == HookResult::Busy {
            self.platform.wake_in(PROGRAM_SLICE_NS);
        }
        self.hook == HookResult::Advanced
    }

    /// A step would move nothing, unless a link has something to do; or what it would move leaves no sooner for it.
    #[inline(always)]
    fn is_at_rest(&self, adi: &Adi) -> bool {
        let is_held =
            |dest| P::INTERRUPTS && self.torus.holds() && self.torus.is_held(adi.place(dest));
        if self.is_due() {
            return false;
        }
        self.torus.is_at_rest()
            && !adi.has_to_send_now(is_held)
            && !(adi.has_deferred() && self.owes_answers(adi, self.step_ns()))
    }

    /// The time of a link that [keeps it](Link::KEEPS_TIME) has come. Without a step it would stay so, and the timer would
    /// interrupt again at once, for ever.
    #[inline]
    fn is_due(&self) -> bool {
        L::KEEPS_TIME && self.torus.poll_at().is_some_and(|due| due <= self.now_ns())
    }

    /// The device owes answers that have waited long enough for something to go with, or must not wait.
    fn owes_answers(&self, adi: &Adi, now: u64) -> bool {
        let waited = |since| now.saturating_sub(since) >= PUBLISH_NS;
        adi.has_deferred()
            && (!self.platform.lets_answers_wait()
                || self.answers_due
                || self.deferred_ns.is_some_and(waited))
    }

    /// Whether the links interrupt when there is something to do; it is seen to that they do. False when there is
    /// something to do already.
    fn is_watched(&mut self) -> bool {
        self.watch == Watch::Armed || self.prepare_sleep()
    }

    /// Behind a step: nothing has come since, and no link has room again for what waits. Where the node looks at its links
    /// before it [sleeps](Platform::looks), they need not interrupt yet.
    #[inline]
    fn has_nothing(&mut self) -> bool {
        match !L::KEEPS_TIME && self.platform.looks() > 0 && !self.torus.holds() {
            true => !self.torus.has_news(),
            false => self.prepare_sleep(),
        }
    }

    /// Makes sure that the links interrupt when there is something to do. False when there is already.
    fn prepare_sleep(&mut self) -> bool {
        let quiet = L::prepare_all(self.torus.present_links());
        self.watch = if quiet { Watch::Armed } else { Watch::Open };
        quiet
    }

    /// Whatever comes next, a long sleep, a long computation or a hang, the timer has the figures written, answers
    /// sent that were deferred, and frames sent again that links have under way.
    /// `now` counts where the figures are old.
    fn set_timer(&mut self, now: u64) {
        if let Some(due) = self.torus.poll_at() {
            let now = self.now_ns();
            self.platform.wake_in(due.saturating_sub(now));
        }
        match self.figures {
            Figures::Published if self.deferred_ns.is_some() => self.platform.wake_in(PUBLISH_NS),
            Figures::Old => {
                let age = now.saturating_sub(self.published_ns);
                self.platform.wake_in(PUBLISH_NS.saturating_sub(age));
                self.figures = Figures::TimerSet;
            }
            Figures::Published | Figures::TimerSet => {}
        }
    }

    fn sleep(&mut self) {
        if self.sees_news() || self.answers_first() || !self.is_watched() {
            return;
        }
        self.show_call();
        let before = self.platform.ticks();
        self.set_timer(self.platform.ns(before));
        self.platform.wait();
        self.idle_ticks += self.platform.ticks() - before;
        self.acknowledge();
    }

    /// Answers that wait do not wait any more, where no timer would end the sleep; true if there were any.
    #[inline]
    fn answers_first(&mut self) -> bool {
        let wait = !P::INTERRUPTS && self.deferred_ns.is_some() && !self.answers_due;
        self.answers_due |= wait;
        wait
    }

    /// Looks at the links for a while; true when one has something.
    #[inline]
    fn sees_news(&mut self) -> bool {
        let looks = match self.watch == Watch::Held && !L::KEEPS_TIME {
            true => self.platform.looks(),
            false => 0,
        };
        for _ in 0..looks {
            if self.torus.has_news() {
                self.watch = Watch::Open;
                return true;
            }
            hint::spin_loop();
        }
        false
    }

    fn acknowledge(&mut self) {
        self.platform.acknowledge(self.torus.links_mut());
        // It may have been a link's.
        self.watch = Watch::Open;
        if self.figures == Figures::TimerSet {
            // It may have been the timer, for an earlier reason.
            self.figures = Figures::Old;
        }
        self.audit_if_due();
    }

    /// Has the blackboard name the call that the program is in.
    fn show_call(&mut self) {
        if let Some(call) = self.call
            && !self.call_is_up
        {
            self.call_is_up = true;
            self.platform.blackboard().call(Some(Call {
                function: call.function,
                peer: call.peer,
                tag: call.tag,
            }));
            self.platform.show_blackboard();
        }
    }

    fn publish(&self, adi: &Adi) {
        let links = self.torus.links().iter().flatten();
        let own = NodeFigures {
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
        let sources = Sources {
            adi,
            torus: router.stats(),
            own: &own,
        };
        let links = self.torus.links();
        let figures = |d: Direction| {
            let link = links[d as usize].as_ref();
            LinkFigures {
                retries: link.map_or(0, L::retries),
                detours: link.map_or(0, L::detours),
            }
        };
        let links = router.links().iter();
        publish(board, sources, links.map(|d| (d, figures(d))));
        self.platform.show_blackboard();
    }
}

impl<L: NodeLink, P: Platform<L>> Kernel for Carrier<L, P> {
    fn poll(&mut self, adi: &mut Adi) -> bool {
        let watch = self.watch;
        let is_at_rest = watch != Watch::Open && self.is_at_rest(adi);
        let moved = match watch {
            Watch::Armed if !self.platform.is_interrupted() => match is_at_rest {
                true => false,
                // What keeps time is to know it.
                false if L::KEEPS_TIME => self.step(adi),
                false => self.leave(adi),
            },
            // A step has just been made.
            Watch::Held if is_at_rest && self.has_nothing() => false,
            // A link has interrupted, or is likely to have something.
            _ => self.step(adi),
        };
        if !moved {
            self.publish_if_asked(adi);
            if self.platform.looked_in_vain() {
                self.platform.wake_in(YIELD_NS);
                self.sleep();
            }
            if !P::INTERRUPTS {
                self.audit_if_due();
            }
        }
        moved
    }

    fn goes_on_alone(&self) -> bool {
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

    fn heap(&self) -> Option<Heap> {
        Some(self.platform.heap())
    }

    fn count(&mut self, adi: &Adi) {
        self.publish(adi);
    }

    fn counted(&self, index: usize) -> u64 {
        self.platform.blackboard().counter(index)
    }

    /// Most calls end before it matters in which the program is: the blackboard names one that sleeps, or that is
    /// going on when the figures are written.
    fn note(&mut self, call: Option<CallNote>) {
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
    use midplane_abi::blackboard::Snapshot;
    use midplane_device::envelope::Pattern;
    use midplane_device::memory::{RawMemory, Span};
    use midplane_device::request::Mode;
    use midplane_device::send::SendTo;
    use midplane_device::{Config, Memory};
    use net_torus::router::{Router, Sizes};
    use net_torus::sim::{SimLink, wire_torus};
    use net_torus::{Chunk, Coord, Shape};

    /// A link in memory that records what the node asks of its device.
    struct TestLink<const KEEPS_TIME: bool = false> {
        link: SimLink,
        /// The neighbour sends nonsense without end.
        babbles: bool,
        /// The neighbour has yet to take frames.
        behind: bool,
        interrupts: bool,
        /// How often it was asked not to interrupt.
        holds: usize,
        /// When it has something to do by itself.
        due: Option<u64>,
    }

    impl<const KEEPS_TIME: bool> Link for TestLink<KEEPS_TIME> {
        const KEEPS_TIME: bool = KEEPS_TIME;

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

        fn has_news(&mut self) -> bool {
            self.babbles || self.link.has_input()
        }
    }

    impl<const KEEPS_TIME: bool> NodeLink for TestLink<KEEPS_TIME> {
        fn hold_interrupts(&mut self) {
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

    /// A machine without devices, which records what the node asks for.
    #[derive(Default)]
    struct TestPlatform<const INTERRUPTS: bool = true> {
        memory: RawMemory,
        blackboard: Blackboard,
        wakes: Vec<u64>,
        waits: usize,
        /// No interrupt is pending.
        undisturbed: bool,
        /// What the clock has gone on beside one tick for each wait.
        ticks: u64,
        /// What each look at the clock takes, and how many there were.
        look: u64,
        looks: std::cell::Cell<u64>,
        /// How often the links are looked at before a sleep.
        link_looks: u32,
    }

    impl<L, const INTERRUPTS: bool> Platform<L> for TestPlatform<INTERRUPTS> {
        const INTERRUPTS: bool = INTERRUPTS;

        type Memory = RawMemory;

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

        fn looks(&self) -> u32 {
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

        fn heap(&self) -> Heap {
            Heap { bytes: 0, used: 0 }
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

    type TestNode<const KEEPS_TIME: bool = false, const INTERRUPTS: bool = true> =
        Node<TestLink<KEEPS_TIME>, TestPlatform<INTERRUPTS>>;

    fn nodes(extents: [u16; 3]) -> Vec<TestNode> {
        nodes_of(extents)
    }

    fn nodes_of<const T: bool, const I: bool>(extents: [u16; 3]) -> Vec<TestNode<T, I>> {
        const SIZES: Sizes = Sizes::BLUE_GENE;
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
                let config = Config {
                    shape,
                    rank: Rank::new(rank),
                    request_slots: 64,
                };
                let memory = Memory::allocate(4096, shape.nodes() as usize).unwrap();
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
            assert!(node.carrier.is_at_rest(&node.adi), "nothing is left");
            assert_eq!(node.carrier.platform.wakes, [PUBLISH_NS], "but the figures");
            let links = node.carrier.torus.links().iter().flatten();
            assert!({ links }.all(|link| link.interrupts));
        }
    }

    const TO_THE_OTHER: SendTo = SendTo {
        dest: Rank::new(1),
        tag: 1,
        context: 0,
        mode: Mode::Standard,
    };

    const OUTGOING: Outgoing = Outgoing {
        to: TO_THE_OTHER,
        span: Span::EMPTY,
    };

    const ANY: Incoming = Incoming {
        pattern: Pattern::new(None, None, 0),
        span: Span::EMPTY,
    };

    /// Two nodes that have told each other of their tokens.
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
            let links = node.carrier.torus.links().iter().flatten();
            links.map(|link| link.holds).sum()
        };
        let before = (node.carrier.beats, holds(node));
        assert_eq!(node.fast_send(&OUTGOING), Sent::Complete);
        assert!(node.adi.have_copies_left());
        assert_eq!((node.carrier.beats, holds(node)), before);
        assert_eq!(node.carrier.watch, Watch::Armed);
        // It is posted, and the message comes by an interrupt.
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
        let before = node.carrier.beats;
        assert_eq!(node.fast_send(&OUTGOING), Sent::Complete);
        assert!(node.carrier.beats > before);
        assert_eq!(node.carrier.watch, Watch::Armed);
    }

    #[test]
    fn short_messages_wait_for_each_other_where_a_link_is_behind() {
        let mut node = acquainted::<false, true>().remove(0);
        for link in node.carrier.torus.links_mut().iter_mut().flatten() {
            link.behind = true;
        }
        // The first one goes as far as the link, which says that it is behind.
        for waiting in 0..16 {
            assert_eq!(node.fast_send(&OUTGOING), Sent::Complete);
            assert_eq!(node.adi.have_copies_left(), waiting == 0, "{waiting}");
        }
        node.fast_send(&OUTGOING);
        assert!(node.adi.have_copies_left(), "worth a frame");
        // With a share of the processor to keep to, nothing goes the short way.
        let mut node = nodes([2, 1, 1]).remove(0).limit_interrupts(50);
        assert_eq!(node.fast_send(&OUTGOING), Sent::Not);
        assert_eq!(node.fast_receive("a test", &ANY), Received::Not);
        assert_eq!(node.fast_start_receive(&ANY), None);
    }

    /// A link that interrupts costs its neighbour a bell: where links are looked at before the node sleeps, they are asked
    /// to when the looks were in vain.
    #[test]
    fn links_that_are_looked_at_are_asked_to_interrupt_before_sleep_only() {
        let mut nodes = nodes_of::<false, false>([2, 1, 1]);
        let node = &mut nodes[0];
        node.carrier.platform.link_looks = 2;
        while node.carrier.step(&mut node.adi) {}
        let asked = |node: &mut TestNode<false, false>| {
            let links = node.carrier.torus.links_mut().iter().flatten();
            links.filter(|link| link.interrupts).count()
        };
        assert!(!node.carrier.poll(&mut node.adi), "nothing has come");
        assert_eq!(asked(node), 0);
        node.carrier.idle();
        assert_eq!((asked(node), node.carrier.platform.waits), (2, 1));
        // Where they are not looked at, behind the step.
        node.carrier.step(&mut node.adi);
        node.carrier.platform.link_looks = 0;
        assert!(!node.carrier.poll(&mut node.adi));
        assert_eq!(asked(node), 2);
    }

    #[test]
    fn an_interrupt_has_an_end_even_if_the_traffic_has_none() {
        let mut nodes = nodes([2, 1, 1]);
        let node = &mut nodes[0];
        node.carrier.torus.links_mut()[0].as_mut().unwrap().babbles = true;
        node.interrupted();
        assert_eq!(node.carrier.beats, u64::from(STEPS_PER_INTERRUPT));
        assert_eq!(node.carrier.platform.wakes, [PROGRAM_SLICE_NS]);
        let links = node.carrier.torus.links().iter().flatten();
        assert!(
            { links }.all(|link| link.holds == 2),
            "held off, and once more"
        );
        assert!(!node.carrier.quiet);
    }

    /// Where it did not, the timer would interrupt at once, again and again, and the program get nowhere.
    #[test]
    fn a_link_does_what_is_due_when_the_timer_interrupts() {
        let mut node = acquainted::<true, true>().remove(0);
        node.interrupted();
        assert!(node.carrier.is_at_rest(&node.adi));
        let soon = node.carrier.now_ns() + 1_000;
        node.carrier.torus.links_mut()[0].as_mut().unwrap().due = Some(soon);
        node.interrupted();
        assert_eq!(node.carrier.torus.poll_at(), Some(soon), "too early");
        assert!(node.carrier.platform.wakes.last().is_some_and(|ns| *ns > 0));
        node.carrier.platform.ticks += 1_000;
        assert!(!node.carrier.is_at_rest(&node.adi));
        node.interrupted();
        assert_eq!(node.carrier.torus.poll_at(), None, "done");
    }

    #[test]
    fn interrupts_take_no_more_than_their_share() {
        let mut node = nodes([2, 1, 1]).remove(0).limit_interrupts(10);
        node.carrier.torus.links_mut()[0].as_mut().unwrap().babbles = true;
        node.carrier.platform.look = 1;
        node.interrupted();
        let (beats, took) = (node.carrier.beats, node.carrier.interrupt_ticks);
        assert!(beats > 0 && took >= beats, "{beats} steps in {took} ticks");
        let wake = *node.carrier.platform.wakes.last().unwrap();
        assert!(
            wake > 880 * took && wake <= 900 * took,
            "{wake} ns for {took} ticks"
        );
        // Too early, by whatever.
        node.interrupted();
        assert_eq!(
            (node.carrier.beats, node.carrier.interrupt_ticks),
            (beats, took)
        );
        let links = node.carrier.torus.links().iter().flatten();
        assert!({ links }.all(|link| !link.interrupts));
        pass(&mut node, wake);
        node.interrupted();
        assert!(node.carrier.beats > beats);
        // One that finds nothing is not followed by another.
        node.carrier.torus.links_mut()[0].as_mut().unwrap().babbles = false;
        pass(&mut node, PUBLISH_NS);
        node.interrupted();
        pass(&mut node, PUBLISH_NS);
        let wakes = node.carrier.platform.wakes.len();
        node.interrupted();
        assert_eq!(node.carrier.platform.wakes.len(), wakes);
    }

    #[test]
    fn without_interrupts_a_node_goes_on_in_calls() {
        let mut node = nodes([2, 1, 1]).remove(0).limit_interrupts(0);
        node.carrier.torus.links_mut()[0].as_mut().unwrap().babbles = true;
        node.interrupted();
        assert_eq!(
            (node.carrier.beats, node.carrier.platform.wakes.len()),
            (0, 0)
        );
        assert!(polled(&mut node));
        let links = node.carrier.torus.links().iter().flatten();
        assert!({ links }.all(|link| !link.interrupts));
    }

    /// Steps of the node's loop, as the host sees them.
    fn beats_seen(node: &TestNode) -> u64 {
        let bytes = node.carrier.platform.blackboard.bytes();
        Snapshot::read(&bytes).unwrap().beats
    }

    /// Lets `ns` nanoseconds go by.
    fn pass(node: &mut TestNode, ns: u64) {
        node.carrier.platform.ticks += ns / 100;
    }

    #[test]
    fn figures_are_a_millisecond_old_at_most() {
        let mut nodes = nodes([1, 1, 1]);
        let node = &mut nodes[0];
        node.carrier.platform.blackboard.begin();
        let send = |node: &mut TestNode| node.enter(&mut |adi, _| adi.enter_barrier());
        send(node);
        assert_eq!(
            beats_seen(node),
            0,
            "too early, and it costs thousands of instructions"
        );
        assert_eq!(node.carrier.platform.wakes, [PUBLISH_NS]);
        pass(node, PUBLISH_NS / 2);
        node.interrupted();
        assert_eq!(node.carrier.platform.wakes.len(), 1, "the timer is set");
        // An interrupt, maybe the timer's for something else.
        node.acknowledge();
        node.interrupted();
        assert_eq!(node.carrier.platform.wakes[1..], [PUBLISH_NS / 2]);
        pass(node, PUBLISH_NS / 2);
        node.acknowledge();
        node.interrupted();
        assert_eq!(beats_seen(node), node.carrier.beats);
        // Where nothing moves, nothing wakes the node.
        pass(node, 10 * PUBLISH_NS);
        node.interrupted();
        node.forward();
        assert_eq!(node.carrier.platform.wakes.len(), 2);
        assert_eq!(
            beats_seen(node),
            node.carrier.beats - 1,
            "and nothing is written"
        );
    }

    #[test]
    fn a_node_at_work_without_a_pause_publishes() {
        let mut nodes = nodes([2, 1, 1]);
        let node = &mut nodes[0];
        node.carrier.platform.blackboard.begin();
        node.carrier.torus.links_mut()[0].as_mut().unwrap().babbles = true;
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
        assert_eq!(
            (node.carrier.platform.waits, node.carrier.idle_ticks),
            (1, 1)
        );
        // A frame comes between the step and the sleep.
        node.carrier.torus.links_mut()[1].as_mut().unwrap().babbles = true;
        node.carrier.sleep();
        assert_eq!(node.carrier.platform.waits, 1);
        node.slept(5);
        assert_eq!(node.carrier.idle_ticks, 6);
    }

    /// A step of progress inside a call.
    fn polled(node: &mut TestNode) -> bool {
        let mut moved = false;
        node.enter(&mut |adi, kernel| moved = kernel.poll(adi));
        moved
    }

    #[test]
    fn a_call_that_nothing_disturbs_makes_no_step() {
        let mut nodes = nodes([2, 1, 1]);
        // Which tells the other one of the barrier.
        let node = &mut nodes[1];
        node.interrupted();
        assert_eq!(node.carrier.watch, Watch::Armed);
        let (beats, holds) = (node.carrier.beats, holds(node));
        node.carrier.platform.undisturbed = true;
        assert!(!polled(node));
        assert_eq!((node.carrier.beats, self::holds(node)), (beats, holds));
        // An interrupt is pending: maybe a frame has come.
        node.carrier.platform.undisturbed = false;
        assert!(!polled(node));
        assert_eq!(node.carrier.beats, beats + 1);
        // Something is to leave.
        node.carrier.platform.undisturbed = true;
        node.enter(&mut |adi, kernel| {
            adi.enter_barrier();
            kernel.poll(adi);
        });
        assert!(node.carrier.beats > beats + 1);
    }

    fn holds(node: &TestNode) -> usize {
        let links = node.carrier.torus.links().iter().flatten();
        links.map(|link| link.holds).sum()
    }

    /// Links that ask for interrupts are not asked again; those that have interrupted are.
    #[test]
    fn a_frame_that_came_before_the_links_were_asked_is_taken() {
        let mut nodes = nodes([2, 1, 1]);
        let node = &mut nodes[0];
        node.interrupted();
        node.carrier.torus.links_mut()[0].as_mut().unwrap().babbles = true;
        node.acknowledge();
        assert_eq!(node.carrier.watch, Watch::Open);
        let beats = node.carrier.beats;
        node.interrupted();
        assert!(node.carrier.beats > beats);
    }

    /// A short message is answered with what its receiver sends next, or by itself a millisecond later.
    #[test]
    fn an_answer_waits_for_a_millisecond() {
        let mut nodes = nodes([2, 1, 1]);
        // Each has told the other of its buffers.
        for _ in 0..4 {
            nodes.iter_mut().for_each(TestNode::interrupted);
        }
        let pattern = Pattern::new(Some(Rank::new(0)), Some(1), 0);
        let to = SendTo {
            dest: Rank::new(1),
            tag: 1,
            context: 0,
            mode: Mode::Standard,
        };
        nodes[1].enter(&mut |adi, kernel| {
            adi.irecv(kernel.memory(), pattern, Span::EMPTY).unwrap();
        });
        nodes[0].enter(&mut |adi, kernel| {
            adi.isend(kernel.memory(), to, Span::EMPTY).unwrap();
        });
        nodes[1].interrupted();
        assert_eq!(nodes[1].adi.stats().messages_received, 1);
        assert!(nodes[1].adi.has_deferred());
        assert_eq!(nodes[1].carrier.platform.wakes.last(), Some(&PUBLISH_NS));
        nodes[1].interrupted();
        assert!(nodes[1].adi.has_deferred());
        pass(&mut nodes[1], PUBLISH_NS);
        nodes[1].acknowledge();
        nodes[1].interrupted();
        assert!(!nodes[1].adi.has_deferred(), "sent");
        nodes[0].interrupted();
        assert!(nodes[0].adi.is_quiet(), "and taken");
    }

    /// Where nothing interrupts the node, an answer waits from call to call, and is sent before a sleep.
    #[test]
    fn an_answer_waits_for_the_next_call_but_not_for_the_end_of_a_sleep() {
        let received = |nodes: &mut [TestNode<false, false>]| {
            let posted = nodes[1].fast_start_receive(&ANY);
            nodes[0].fast_send(&OUTGOING);
            let whole = nodes[1].fast_wait("a test", posted.expect("room"));
            assert!(whole.is_some() && nodes[1].adi.has_deferred());
        };
        let mut nodes = acquainted::<false, false>();
        received(&mut nodes);
        assert!(nodes[1].is_under_way(), "for who stands in");
        let back = Outgoing {
            to: SendTo {
                dest: Rank::new(0),
                ..TO_THE_OTHER
            },
            ..OUTGOING
        };
        nodes[1].fast_send(&back);
        assert!(!nodes[1].adi.has_deferred());
        assert_eq!(nodes[1].adi.stats().cts_merged, 1);
        // In a call that waits, and nothing comes.
        received(&mut nodes);
        let waits = nodes[1].carrier.platform.waits;
        nodes[1].enter(&mut |adi, kernel| {
            kernel.idle();
            assert!(adi.has_deferred());
            kernel.poll(adi);
            assert!(!adi.has_deferred());
            kernel.poll(adi);
            kernel.idle();
        });
        assert_eq!(nodes[1].carrier.platform.waits, waits + 1);
        // Or by who stands in for the program.
        received(&mut nodes);
        nodes[1].interrupted();
        assert!(nodes[1].adi.has_deferred(), "too early");
        nodes[1].carrier.platform.ticks += PUBLISH_NS / 100;
        nodes[1].interrupted();
        assert!(!nodes[1].adi.has_deferred());
    }

    #[test]
    fn a_short_message_leaves_without_a_step_where_nothing_has_come() {
        let mut nodes = acquainted::<false, false>();
        let beats = nodes[0].carrier.beats;
        nodes[0].fast_send(&OUTGOING);
        assert!(nodes[0].adi.have_copies_left());
        assert_eq!(nodes[0].carrier.beats, beats);
        nodes[0].carrier.torus.links_mut()[0]
            .as_mut()
            .unwrap()
            .babbles = true;
        nodes[0].fast_send(&OUTGOING);
        assert!(nodes[0].carrier.beats > beats);
    }

    /// What is sent to another process does not make an answer a packet of its own; what goes to its source takes it along.
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
            mode: Mode::Standard,
        };
        let send = |node: &mut TestNode, dest| {
            node.enter(&mut |adi, kernel| {
                adi.isend(kernel.memory(), to(dest), Span::EMPTY).unwrap();
                kernel.poll(adi);
            });
        };
        let pattern = Pattern::new(Some(Rank::new(0)), Some(1), 0);
        nodes[1].enter(&mut |adi, kernel| {
            adi.irecv(kernel.memory(), pattern, Span::EMPTY).unwrap();
        });
        send(&mut nodes[0], 1);
        nodes[1].interrupted();
        assert!(nodes[1].adi.has_deferred());
        send(&mut nodes[1], 2);
        assert!(nodes[1].adi.has_deferred(), "2 is not told");
        send(&mut nodes[1], 0);
        assert!(!nodes[1].adi.has_deferred());
        assert_eq!(nodes[1].adi.stats().cts_merged, 1);
        nodes[0].interrupted();
        assert!(!nodes[0].adi.has_to_send());
        assert_eq!(nodes[0].adi.stats().cts_received, 1);
    }

    /// Messages to a neighbour that is behind take no steps, and leave together when it no longer is.
    #[test]
    fn copies_gather_while_the_neighbour_is_behind() {
        let mut nodes = nodes([2, 1, 1]);
        for _ in 0..4 {
            nodes.iter_mut().for_each(TestNode::interrupted);
        }
        let node = &mut nodes[0];
        node.carrier.platform.undisturbed = true;
        let to = SendTo {
            dest: Rank::new(1),
            tag: 1,
            context: 0,
            mode: Mode::Standard,
        };
        let send = |node: &mut TestNode| {
            node.enter(&mut |adi, kernel| {
                let sent = adi.send_within_call(kernel.memory(), to, Span::EMPTY);
                assert_eq!(sent, Ok(None));
                kernel.poll(adi);
                assert!(kernel.goes_on_alone());
            });
            node.adi.stats().rts_sent
        };
        let behind = |node: &mut TestNode, is: bool| {
            let links = node.carrier.torus.links_mut().iter_mut().flatten();
            links.for_each(|link| link.behind = is);
        };
        behind(node, true);
        assert_eq!(send(node), 1, "which finds the neighbour behind");
        let beats = node.carrier.beats;
        assert_eq!([send(node), send(node)], [1, 1]);
        assert_eq!(node.carrier.beats, beats, "no step");
        behind(node, false);
        node.acknowledge();
        node.carrier.step(&mut node.adi);
        assert_eq!(node.adi.stats().rts_sent, 3);
    }

    /// What the blackboard says of the program's call: its name and how many it has named.
    fn call_seen(node: &TestNode) -> (Option<String>, u64) {
        let bytes = node.carrier.platform.blackboard.bytes();
        let seen = Snapshot::read(&bytes).unwrap();
        (
            seen.call.map(|call| call.function.to_string()),
            seen.calls_entered,
        )
    }

    #[test]
    fn a_call_is_named_when_it_sleeps_or_goes_on_for_a_millisecond() {
        const NOTE: CallNote = CallNote::of("MPI_Test");
        let mut nodes = nodes([2, 1, 1]);
        let node = &mut nodes[0];
        node.carrier.platform.blackboard.begin();
        node.interrupted();
        node.enter(&mut |_, kernel| {
            kernel.note(Some(NOTE));
            kernel.note(None);
        });
        assert_eq!(call_seen(node), (None, 0), "a short one");
        node.enter(&mut |_, kernel| {
            kernel.note(Some(NOTE));
            kernel.idle();
        });
        assert_eq!(call_seen(node), (Some("MPI_Test".into()), 1));
        node.enter(&mut |_, kernel| kernel.note(None));
        assert_eq!(call_seen(node), (None, 1));
        // Without sleep, but long.
        node.carrier.figures = Figures::Old;
        pass(node, PUBLISH_NS);
        node.enter(&mut |adi, kernel| {
            kernel.note(Some(NOTE));
            kernel.poll(adi);
        });
        assert_eq!(call_seen(node), (Some("MPI_Test".into()), 2));
    }
}
