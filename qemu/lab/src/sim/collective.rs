//! The collectives in progress of one rank.
#![forbid(unsafe_code)]

use std::cell::RefCell;

use midplane_device::Adi;
use midplane_device::envelope::Rank;
use midplane_device::interface::{EnterDevice, Work};
use midplane_device::kernel::{AbortReason, CallInfo, Kernel};
use midplane_device::memory::UserMemory;
use midplane_objects::coll::sim_driver::{CollectiveBuffers, ReduceOperation, SimCollective};
use midplane_objects::{Env, Error};

use super::check::Violation;
use super::collectives::{CollectiveCall, ELEMENT};
use super::memory;
use super::program::RankPrograms;
use super::setup::ProgramHeaps;

/// A rank's device and memory, for the calls of one of its turns.
pub(crate) struct RankStep<'a, M>(pub(crate) RefCell<(&'a mut Adi, &'a mut M)>);

/// Shared by all ranks: the process state serves only communicators that a program creates.
static PROCESS: midplane_objects::Process = midplane_objects::Process::new();

impl<M: UserMemory> EnterDevice for RankStep<'_, M> {
    fn enter<'w>(&self, work: &'w mut Work<'w>) {
        let (adi, memory) = &mut *self.0.borrow_mut();
        work(adi, &mut NoProgressHost(*memory));
    }
}

impl<M: UserMemory> Env for RankStep<'_, M> {
    fn process(&self) -> &midplane_objects::Process {
        &PROCESS
    }
}

/// The simulator polls, in separate turns.
struct NoProgressHost<'a, M>(&'a mut M);

impl<M: UserMemory> Kernel for NoProgressHost<'_, M> {
    fn poll(&mut self, _: &mut Adi) -> bool {
        false
    }

    fn idle(&mut self) {
        panic!("a collective blocks: it has failed, and its messages are under way");
    }

    fn memory(&mut self) -> &mut dyn UserMemory {
        self.0
    }

    fn now(&self) -> u64 {
        0
    }

    fn record_call(&mut self, _: Option<CallInfo>) {}

    fn abort(&mut self, why: AbortReason<'_>, status: i32) -> ! {
        panic!("the job ends with {status}: {why:?}")
    }
}

/// Maximum number of steps of a collective in one interrupt.
const STEPS_OF_INTERRUPT: u32 = 2;

#[derive(Default)]
pub(super) struct CollectivesInFlight {
    all: Vec<(u32, SimCollective)>,
}

impl CollectivesInFlight {
    pub(super) fn has(&self, number: u32) -> bool {
        self.all.iter().any(|(other, _)| *other == number)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the number of their messages.
    pub(super) fn messages(&self) -> u32 {
        self.all.iter().map(|(_, driven)| driven.messages()).sum()
    }

    /// Starts a collective of `program` with sequence number `number` in its communicator, and memory from `heap`. An
    /// error for lack of memory has no side effect.
    pub(super) fn start(
        &mut self,
        adi: &mut Adi,
        memory: &mut memory::NodeBuffers,
        program: &RankPrograms,
        at: u32,
        number: u32,
        heap: &dyn ProgramHeaps,
    ) -> Result<(), Error> {
        let collective = &program.collectives[at as usize];
        let among = collective.group.among(adi.rank());
        let part = collective.part(among.place);
        let untouched = |bytes: Vec<u8>| vec![memory::UNTOUCHED; bytes.len()];
        let buffers = CollectiveBuffers {
            part: part.each,
            given: part.given,
            taken: part.taken.map(untouched),
        };
        let operation = ReduceOperation {
            element: ELEMENT,
            combine: collective.combine(),
            commute: collective.commute,
        };
        let (rank, what) = (adi.rank(), collective.what);
        let turn = RankStep(RefCell::new((adi, memory)));
        heap.enter(rank);
        let driven = SimCollective::start(&turn, among, number, what, buffers, operation);
        heap.exit(rank);
        self.all.push((at, driven?));
        Ok(())
    }

    /// Advances all collectives like an interrupt handler, and returns how many made progress.
    pub(super) fn advance_in_interrupt(&mut self, adi: &mut Adi, memory: &mut memory::NodeBuffers) -> u64 {
        let mut go_on =
            |driven: &mut SimCollective| driven.advance_in_interrupt(adi, memory, &PROCESS, STEPS_OF_INTERRUPT);
        let moved = self.all.iter_mut().map(|(_, driven)| go_on(driven));
        moved.map(u64::from).sum()
    }

    /// Advances all collectives whose messages are complete, and returns whether one made progress. Returns the
    /// violation of a failed collective or a wrong result.
    pub(super) fn advance_collectives(
        &mut self,
        adi: &mut Adi,
        memory: &mut memory::NodeBuffers,
        program: &RankPrograms,
    ) -> Result<bool, Violation> {
        let rank = adi.rank();
        let turn = RankStep(RefCell::new((adi, memory)));
        let (mut moved, mut place) = (false, 0);
        while let Some((at, driven)) = self.all.get_mut(place) {
            let at = *at;
            let wrong = |what| Violation::Collective { rank, at, what };
            if !driven.is_ready(turn.0.borrow().0) {
                place += 1;
                continue;
            }
            moved = true;
            match driven.advance(&turn) {
                Ok(None) => place += 1,
                Ok(Some(buffers)) => {
                    self.all.remove(place);
                    check(&program.collectives[at as usize], rank, &buffers).map_err(wrong)?;
                }
                Err(error) => return Err(wrong(error.to_string())),
            }
        }
        Ok(moved)
    }
}

fn check(collective: &CollectiveCall, rank: Rank, buffers: &CollectiveBuffers) -> Result<(), String> {
    let part = collective.part(collective.group.among(rank).place);
    match (buffers.given == part.left, buffers.taken == part.taken) {
        (true, true) => Ok(()),
        (false, _) => Err("what it gave is not as it must be".into()),
        (_, false) => Err("what it got is not what it must get".into()),
    }
}
