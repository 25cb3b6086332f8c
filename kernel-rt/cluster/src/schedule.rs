//! Scheduler: each process is a coroutine on its own stack, all in the caller's thread.
//!
//! A process gives the *baton* back where a node would sleep. The next holder is drawn from the seed
//! ([`random_schedule`](super::random_schedule)) or determined by virtual time ([`timed_schedule`](super::timed_schedule)).
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::panic::resume_unwind;

use corosensei::Yielder;
use midplane_device::Adi;
use midplane_device::kernel::CallInfo;
use midplane_device::{HookResult, interface};
use msg_layer::{Port, TrafficClass};
use net_torus::Torus;

use super::blocks::{BlockState, FailureTime, MachineBlock, NEVER};
use super::coroutines;
use super::explored_state::ExploredState;
use super::outcome::{BlockOutcome, JobFailure, JobProgress};
use super::processor::{CountingMemory, Processor};
use super::program_host::ProgramHost;
use super::wires::{MachineWires, WakeMode, WireEnd};
use crate::costs::OperationCosts;
use crate::random::{Random, RandomStream};

/// Duration of one step of one node without a cost model, in nanoseconds of virtual time.
pub(super) const STEP_NS: u64 = 1_000;

/// Turns of processes between two calls of a job's watching callback.
const TURNS_PER_LOOK: u64 = 1 << 14;

/// Maximum number of ranks that show their locations in a hang.
const MAX_LOCATIONS: usize = 1024;

thread_local! {
    /// The process that this thread currently runs.
    static RUNNING: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Returns the rank of the process that the calling thread currently runs, or `None` outside of a cluster.
pub fn running() -> Option<usize> {
    RUNNING.get()
}

/// A node. Its process holds the device during a call, even asleep; the routers are borrowed for one step only.
pub(super) struct SimNode<'m> {
    pub(super) adi: RefCell<Adi>,
    pub(super) torus: RefCell<Torus<'m, WireEnd<'m>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ProcessPhase {
    /// In its own code, or about to enter the device: may receive the baton, or be interrupted.
    Computing,
    /// Asleep inside a call: may receive the baton.
    Asleep,
    /// In its own code until this time, unless its node has work.
    Interruptible(u64),
    /// Its program has ended; its node still forwards when interrupted.
    Finished,
}

/// A process: its running program.
pub(super) type ProcessCoroutine<'a> = coroutines::ProgramCoroutine<'a, ()>;

pub(super) struct SharedState<'m> {
    /// The local nodes.
    bodies: Vec<SimNode<'m>>,
    /// Their ranks: all, or a block of the machine. The following fields are by rank, for the complete machine.
    here: Range<usize>,
    pub(super) wires: &'m MachineWires<'m>,
    pub(super) random: RefCell<Random>,
    pub(super) phases: Vec<Cell<ProcessPhase>>,
    /// Empty without a cost model.
    pub(super) processors: Vec<Processor>,
    /// By rank: end of its program.
    ends: Vec<Cell<Option<u64>>>,
    ended: Cell<usize>,
    /// Programs of other blocks that had ended at the last meeting.
    ended_elsewhere: Cell<usize>,
    calls: Vec<Cell<Option<CallInfo>>>,
    /// Failure that has ended the job, and its time; a failure in another block has no details.
    failure: RefCell<Option<(FailureTime, Option<JobFailure>)>>,
    /// By rank: the program's status.
    statuses: Vec<Cell<Option<i32>>>,
    /// Host of programs that cannot be unwound.
    host: Option<&'m dyn ProgramHost>,
    /// State of an exploration of match orders.
    pub(super) explored: Option<ExploredState>,
}

/// Unwinds a process's program when the job is over.
pub(super) struct UnwindPayload;

impl<'m> SharedState<'m> {
    /// Creates the state before the first step of a machine of `nodes` nodes; those of `bodies` are local.
    pub(super) fn new(
        bodies: Vec<SimNode<'m>>,
        nodes: usize,
        wires: &'m MachineWires<'m>,
        seed: u64,
        host: Option<&'m dyn ProgramHost>,
    ) -> Self {
        let processors = match wires.looks {
            WakeMode::Random(_) => 0,
            WakeMode::Timed(..) => nodes,
        };
        SharedState {
            bodies,
            here: wires.block.map_or(0..nodes, MachineBlock::ranks),
            wires,
            random: RefCell::new(Random::new(seed, RandomStream::Cluster)),
            phases: vec![Cell::new(ProcessPhase::Computing); nodes],
            processors: vec![Processor::default(); processors],
            ends: vec![Cell::new(None); nodes],
            ended: Cell::new(0),
            ended_elsewhere: Cell::new(0),
            calls: vec![Cell::new(None); nodes],
            failure: RefCell::new(None),
            statuses: vec![Cell::new(None); nodes],
            host,
            explored: None,
        }
    }

    /// Makes this an exploration of match orders.
    pub(super) fn explore(&mut self) {
        self.explored = Some(ExploredState::new(self.size()));
    }

    /// Runs all programs to their ends, or to the job's.
    pub(super) fn run(
        &self,
        coroutines: &mut [ProcessCoroutine<'_>],
        watch: &mut dyn FnMut(JobProgress) -> bool,
    ) -> BlockOutcome {
        let first = self.here.start;
        let mut turns = 0;
        loop {
            while let Some(rank) = self.choose() {
                self.resume(&mut coroutines[rank - first], rank);
                turns += 1;
                if turns % TURNS_PER_LOOK == 0 && !watch(self.watched()) {
                    self.fail(first as u32, JobFailure::Stopped);
                }
            }
            if !self.release_next() && !self.meet() {
                break;
            }
        }
        if let Some(host) = self.host
            && self.is_hang()
        {
            self.report_hang(host);
            self.show_locations(coroutines);
        }
        for (rank, coroutine) in (first..).zip(coroutines) {
            match self.host {
                Some(_) => coroutine.abandon(),
                // It detects that the job is over, and unwinds.
                None if self.is_over() && coroutine.is_under_way() => self.resume(coroutine, rank),
                None => {}
            }
        }
        match self.failure.take() {
            Some((_, failure)) => Err(failure),
            None => Ok({ self.statuses[self.here.clone()].iter() }
                .map(|status| status.get().expect("a process without a status has left a failure"))
                .collect()),
        }
    }

    fn is_hang(&self) -> bool {
        matches!(&*self.failure.borrow(), Some((_, Some(JobFailure::Hang(_)))))
    }

    /// Reports the queues of all waiting programs.
    fn report_hang(&self, host: &dyn ProgramHost) {
        for rank in self.here.clone().filter(|rank| self.calls[*rank].get().is_some()) {
            // A copy, because the waiting program holds its node. The job is over, so the cost is irrelevant.
            coroutines::look_at_rest(&self.body(rank).adi, |adi| host.reports_queues(rank, &mut adi.clone()));
        }
    }

    /// Lets the waiting programs show their locations: each has to run for that, on its own stack.
    fn show_locations(&self, coroutines: &mut [ProcessCoroutine<'_>]) {
        let waiting = self.here.clone().filter(|rank| self.calls[*rank].get().is_some());
        for rank in waiting.take(MAX_LOCATIONS) {
            let coroutine = &mut coroutines[rank - self.here.start];
            if coroutine.is_under_way() {
                self.resume(coroutine, rank);
            }
        }
    }

    /// Meets the other blocks, if there are any. Returns false if the job is over.
    fn meet(&self) -> bool {
        let mut ended = self.ended.get();
        let (Some(block), WakeMode::Timed(events, _)) = (self.wires.block, &self.wires.looks) else {
            self.fail_if_they_hang(ended);
            return false;
        };
        let met = block.meet(BlockState {
            next: if self.is_over() {
                NEVER
            } else {
                events.borrow().peek().unwrap_or(NEVER)
            },
            ended,
            failed: self.failure.borrow().as_ref().map(|(failed, _)| *failed),
            is_unsettled: self.host.is_some_and(ProgramHost::is_unsettled),
        });
        if let Some(first) = met.end() {
            let own = &mut *self.failure.borrow_mut();
            if own.as_ref().is_none_or(|(failed, _)| *failed != first) {
                *own = Some((first, None));
            }
            if let Some(host) = self.host {
                host.settles(first.now_ns, first.rank + 1);
            }
            return false;
        }
        if met.failed.is_some() {
            self.wires.take_arrivals(events);
            return true;
        }
        ended = met.ended;
        self.ended_elsewhere.set(ended - self.ended.get());
        if met.is_unsettled
            && let Some(host) = self.host
        {
            host.settles(met.next, 0);
        }
        if met.next == NEVER {
            self.fail_if_they_hang(ended);
            return false;
        }
        self.wires.take_arrivals(events);
        true
    }

    /// Ends the job if nothing moves any more and fewer than all programs have `ended`.
    fn fail_if_they_hang(&self, ended: usize) {
        if !self.is_over() && ended < self.size() {
            let calls = self.calls[self.here.clone()].iter();
            let hang = JobFailure::Hang(calls.map(Cell::get).collect());
            self.fail(self.here.start as u32, hang);
        }
    }

    /// Returns the local node of `rank`.
    pub(super) fn body(&self, rank: usize) -> &SimNode<'m> {
        &self.bodies[rank - self.here.start]
    }

    /// Iterates over the local nodes, by rank.
    pub(super) fn bodies(&self) -> impl Iterator<Item = (usize, &SimNode<'m>)> {
        self.here.clone().zip(&self.bodies)
    }

    /// Reports the local nodes' counters to the carrier. The node of `rank`, whose program is running, is skipped
    /// during a step; the others are at rest, although sleeping programs may hold them in a call.
    pub(super) fn count_all(&self, rank: usize) {
        let Some(host) = self.host else { return };
        for (other, body) in self.bodies() {
            if rank == other && (body.adi.try_borrow().is_err() || body.torus.try_borrow().is_err()) {
                continue;
            }
            let times = self.times(other);
            coroutines::look_at_rest(&body.adi, |adi| {
                coroutines::look_at_rest(&body.torus, |torus| {
                    host.counts(other, adi, torus.router(), times);
                });
            });
        }
    }

    /// Returns the number of nodes of the machine.
    pub(super) fn size(&self) -> usize {
        self.phases.len()
    }

    /// Returns the process to run next; `None`: nothing moves any more by itself, or the job is over.
    fn choose(&self) -> Option<usize> {
        match &self.wires.looks {
            WakeMode::Random(ready) => self.draw(ready),
            WakeMode::Timed(events, costs) => self.next_event(events, costs),
        }
    }

    fn watched(&self) -> JobProgress {
        JobProgress {
            now_ns: self.wires.now.get(),
            ended: self.ended.get() + self.ended_elsewhere.get(),
        }
    }

    /// Gives the baton back; returns when it is received again.
    pub(super) fn pass(&self, rank: usize, phase: ProcessPhase, yielder: &Yielder<(), ()>) {
        self.end_if_over(yielder);
        self.phases[rank].set(phase);
        if let (ProcessPhase::Asleep, WakeMode::Random(ready)) = (phase, &self.wires.looks) {
            ready.borrow_mut().remove(rank);
        }
        yielder.suspend(());
        self.end_if_over(yielder);
        self.phases[rank].set(ProcessPhase::Computing);
        if let WakeMode::Random(ready) = &self.wires.looks {
            ready.borrow_mut().insert(rank);
        }
    }

    /// Waits until the processor has completed its current work, if that takes time.
    pub(super) fn catch_up(&self, rank: usize, phase: ProcessPhase, yielder: &Yielder<(), ()>) {
        if let WakeMode::Timed(events, _) = &self.wires.looks
            && self.time_of(rank) > self.wires.now.get()
        {
            events.borrow_mut().plan(self.time_of(rank), rank);
            if phase == ProcessPhase::Computing {
                self.pass(rank, phase, yielder);
            }
        }
    }

    /// Makes one step of the node of a process that is in a call.
    pub(super) fn poll(
        &self,
        rank: usize,
        adi: &mut Adi,
        memory: &mut CountingMemory,
        yielder: &Yielder<(), ()>,
    ) -> bool {
        match &self.wires.looks {
            WakeMode::Random(_) => self.step(rank, adi, memory),
            WakeMode::Timed(_, costs) => {
                if let Some(explored) = self.explored.as_ref().filter(|_| self.is_poll(rank)) {
                    return self.poll_explored(explored, rank, adi, memory, costs, yielder);
                }
                self.catch_up(rank, ProcessPhase::Computing, yielder);
                self.timed_step(rank, adi, memory, costs)
            }
        }
    }

    /// Puts the process to sleep until something may have happened.
    pub(super) fn sleep(&self, rank: usize, yielder: &Yielder<(), ()>) {
        self.catch_up(rank, ProcessPhase::Asleep, yielder);
        self.pass(rank, ProcessPhase::Asleep, yielder);
    }

    /// Makes the process compute for this number of steps.
    pub(super) fn compute(&self, rank: usize, steps: usize, yielder: &Yielder<(), ()>) {
        match self.wires.looks {
            WakeMode::Random(_) => {
                (0..steps).for_each(|_| self.pass(rank, ProcessPhase::Computing, yielder));
            }
            WakeMode::Timed(..) => self.compute_ns(rank, steps as u64 * STEP_NS, yielder),
        }
    }

    /// Makes the process compute for `ns` nanoseconds of its processor, in addition to the time of interrupts.
    pub(super) fn compute_ns(&self, rank: usize, ns: u64, yielder: &Yielder<(), ()>) {
        let WakeMode::Timed(events, costs) = &self.wires.looks else {
            return self.compute(rank, ns.div_ceil(STEP_NS) as usize, yielder);
        };
        let percent = costs.interrupt_percent;
        // Like a node's interrupt, which also continues the work of the previous call.
        self.serve(rank, costs, yielder);
        let (mut left, mut kept) = (ns, if percent == 0 { ns } else { 0 });
        while left > 0 {
            if kept > 0 {
                let held = left.min(kept);
                self.spend(rank, held);
                self.catch_up(rank, ProcessPhase::Computing, yielder);
                (left, kept) = (left - held, 0);
            }
            if left > 0 && !self.can_go_on(rank) {
                let until = self.wires.now.get() + left;
                events.borrow_mut().plan(until, rank);
                self.pass(rank, ProcessPhase::Interruptible(until), yielder);
                left = until.saturating_sub(self.wires.now.get());
            }
            if left > 0 {
                let began = self.wires.now.get();
                self.spend(rank, costs.interrupt_ns);
                self.serve(rank, costs, yielder);
                kept = (self.wires.now.get() - began) * (100 - percent) / percent;
            }
        }
    }

    /// Returns whether the node has work, without news.
    fn can_go_on(&self, rank: usize) -> bool {
        let torus = self.body(rank).torus.borrow();
        let router = torus.router();
        let can_send = self.processors[rank].owes() && Port::can_inject(router, TrafficClass::Normal);
        router.has_received() || can_send
    }

    /// Makes the node do its work, while its program is not in a call.
    pub(super) fn serve(&self, rank: usize, costs: &OperationCosts, yielder: &Yielder<(), ()>) {
        let adi = &mut *self.body(rank).adi.borrow_mut();
        let mut moved = true;
        while moved {
            self.catch_up(rank, ProcessPhase::Computing, yielder);
            let mut memory = CountingMemory::default();
            moved = self.timed_step(rank, adi, &mut memory, costs);
            // In the process's own strand, like a node's interrupt: the hook finds its program's data.
            if !moved && adi.interrupt_hook().is_some() {
                moved = interface::run_in_interrupt(adi, &mut memory) == HookResult::Advanced;
                self.pay(rank, adi, &mut memory, costs);
            }
        }
    }

    /// Records that the program of `rank` has ended by itself.
    pub(super) fn finish(&self, rank: usize, status: i32) {
        self.statuses[rank].set(Some(status));
        self.phases[rank].set(ProcessPhase::Finished);
        self.ends[rank].set(Some(self.now(rank)));
        self.ended.set(self.ended.get() + 1);
        if let WakeMode::Timed(events, _) = &self.wires.looks {
            events.borrow_mut().plan(self.now(rank), rank);
        }
    }

    /// Returns the time of the end of `rank`'s program.
    pub(super) fn end(&self, rank: usize) -> Option<u64> {
        self.ends[rank].get()
    }

    /// Returns the process's clock.
    pub(super) fn now(&self, rank: usize) -> u64 {
        match self.wires.looks {
            WakeMode::Random(_) => self.wires.now.get(),
            WakeMode::Timed(..) => self.time_of(rank),
        }
    }

    pub(super) fn note(&self, rank: usize, call: Option<CallInfo>) {
        self.calls[rank].set(call);
        if let Some(host) = self.host {
            host.notes(rank, call);
        }
    }

    /// Ends the job because of the program of `rank`, for this reason unless there is one already.
    pub(super) fn fail(&self, rank: u32, failure: JobFailure) {
        let now_ns = self.wires.now.get();
        let failed = FailureTime { now_ns, rank };
        { self.failure.borrow_mut() }.get_or_insert((failed, Some(failure)));
    }

    /// Returns the program's current call.
    pub(super) fn call(&self, rank: usize) -> Option<CallInfo> {
        self.calls[rank].get()
    }

    /// Returns whether all programs have ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.get() == self.size()
    }

    pub(super) fn is_over(&self) -> bool {
        self.failure.borrow().is_some()
    }

    /// Returns the host of the programs, if they cannot be unwound.
    pub(super) fn host(&self) -> Option<&'m dyn ProgramHost> {
        self.host
    }

    /// Ends the calling process if the job is over.
    fn end_if_over(&self, yielder: &Yielder<(), ()>) {
        if self.is_over() {
            self.end_process(yielder);
        }
    }

    /// Ends the calling process: its program is unwound, or never resumed.
    pub(super) fn end_process(&self, yielder: &Yielder<(), ()>) -> ! {
        let Some(host) = self.host else {
            resume_unwind(Box::new(UnwindPayload));
        };
        if let Some(rank) = running().filter(|_| self.is_hang()) {
            host.shows_location(rank);
        }
        loop {
            yielder.suspend(());
        }
    }

    /// Resumes a process until it gives the baton back.
    fn resume(&self, coroutine: &mut ProcessCoroutine<'_>, rank: usize) {
        let before = RUNNING.replace(Some(rank));
        if let Some(host) = self.host {
            host.resume_rank(rank, self.wires.now.get());
        }
        coroutine.resume();
        RUNNING.set(before);
    }
}
