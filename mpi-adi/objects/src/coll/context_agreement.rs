//! Nonblocking agreement on a context, for MPI_Comm_idup: see [`crate::context`].
//!
//! In each round every process proposes the lowest unit in which it has a free context, and reserves it. If all propose
//! the same unit and share a free context in it, they check that context a second time and prepare the new
//! communicator. Otherwise they continue from the highest proposed unit. If one process cannot prepare, the agreement
//! fails at all.

use alloc::vec::Vec;

use crate::coll::reduce::ThroughRoot;
use crate::coll::run::ReduceAreas;
use crate::coll::running::{CollectiveSchedule, ScheduleWork, try_with_capacity};
use crate::coll::schedule::{RankInfo, Schedule, ScheduleStep};
use crate::comm::Communicator;
use crate::context::{COMMUNICATORS, HELD, UNITS};
use crate::error::{Error, LimitedResource};
use crate::process::Env;
use crate::slice_spans::writing;
use midplane_device::envelope::Context;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Access to this process's contexts during an agreement. Called outside the device.
pub trait ContextHolder: Send {
    /// Returns the process's device; `None` if it has ended.
    fn env(&self) -> Option<&dyn Env>;

    /// Reserves a unit; see [`ContextAllocator::hold`](crate::context::ContextAllocator::hold).
    fn hold(&mut self, unit: usize) -> Option<u8> {
        let env = self.env()?;
        env.process().hold_contexts(env, unit)
    }

    /// Checks whether another agreement has reserved the unit.
    fn is_held(&mut self, unit: usize) -> bool {
        let env = self.env();
        env.is_some_and(|env| env.process().are_contexts_held(unit))
    }

    /// Releases the unit.
    fn release(&mut self, unit: usize) {
        if let Some(env) = self.env() {
            env.process().release_contexts(unit);
        }
    }

    /// Checks again a context of the reserved unit.
    fn confirm(&mut self, context: Context) -> bool {
        let env = self.env();
        env.is_some_and(|env| env.process().confirm_context(env, context))
    }

    /// Prepares the new communicator with this reserved context. Fails with [`Error::NoSpace`].
    fn get_ready(&mut self, context: Context) -> Result<(), Error>;
    /// Discards prepared state, if any, because another context or none is used.
    fn give_up(&mut self);
    /// Completes the communicator: all processes are ready and agree on the still reserved context.
    fn finish_agreement(&mut self) -> Result<(), Error>;
}

/// Message of the allreduce: unit; its free contexts; whether all proposed it; whether no process skipped a unit that
/// another agreement had reserved. In the second round: unit; whether the context is idle; 1; whether all are ready.
type ContextProposal = [u8; 4];
const _: () = assert!(UNITS == 1 << u8::BITS);

/// For different units there is no common context, and the higher unit wins.
fn combine(left: &[u8], right: &mut [u8]) {
    let (left, right) = (left.as_chunks().0, right.as_chunks_mut().0);
    for ([unit, free, same, all], [to_unit, to_free, to_same, to_all]) in left.iter().zip(right) {
        let is_same = unit == to_unit;
        *to_free &= if is_same { *free } else { 0 };
        *to_same &= if is_same { *same } else { 0 };
        *to_unit = (*to_unit).max(*unit);
        *to_all &= all;
    }
}

/// Purpose of an allreduce in progress.
#[derive(Clone, Copy)]
enum AgreementRound {
    /// Find a context, with the unit that this process reserved.
    Find(Option<usize>),
    /// Confirm a context of the reserved unit, with the result of preparing it.
    Confirm(usize, Result<(), Error>),
}

struct ContextAgreement<H: ContextHolder> {
    ranks: RankInfo,
    holder: H,
    /// This process's proposal, then the combined proposal.
    cells: Vec<u8>,
    /// `None`: nothing is proposed yet, or the agreement is complete.
    in_flight: Option<(ThroughRoot, AgreementRound)>,
    /// Next step of the allreduce; `None`: it is complete.
    ahead: Option<ScheduleStep>,
    /// No unit was skipped because another agreement had reserved it.
    all: bool,
}

/// Creates the plan by which the processes of `comm` agree on a context.
pub fn agree(comm: Communicator<'_>, holder: impl ContextHolder + 'static) -> Result<CollectiveSchedule, Error> {
    let agreement = ContextAgreement {
        ranks: RankInfo::from_comm(comm),
        holder,
        cells: try_with_capacity(size_of::<ContextProposal>())?,
        in_flight: None,
        ahead: None,
        all: true,
    };
    let plan = CollectiveSchedule::from_steps(agreement, Some(size_of::<ContextProposal>()))?;
    Ok(plan.advances_in_interrupts(true))
}

impl<H: ContextHolder> ContextAgreement<H> {
    fn begin(&mut self, proposal: ContextProposal, round: AgreementRound) {
        self.cells.clear();
        self.cells.extend_from_slice(&proposal);
        // SAFETY: the cells are on the heap, do not move, and are read only after the allreduce is complete.
        let area = BufferSlice::from(unsafe { writing(&mut self.cells) });
        let mut allreduce = ThroughRoot::new(
            self.ranks,
            ReduceAreas {
                data: area,
                result: area,
            },
            size_of::<ContextProposal>(),
        );
        self.ahead = allreduce.next();
        self.in_flight = Some((allreduce, round));
    }

    /// Proposes the first unit from `bound` on that can be reserved.
    fn propose(&mut self, bound: usize) {
        for unit in bound..UNITS {
            if let Some(free) = self.holder.hold(unit) {
                let proposal = [unit as u8, free, 1, self.all.into()];
                return self.begin(proposal, AgreementRound::Find(Some(unit)));
            }
            self.all &= !self.holder.is_held(unit);
        }
        self.begin([u8::MAX, 0, 1, self.all.into()], AgreementRound::Find(None));
    }

    /// Handles the end of an allreduce. Returns true if the agreement is complete.
    fn finish_round(&mut self, round: AgreementRound) -> Result<bool, Error> {
        let [unit, free, same, all] = *self.cells.first_chunk::<4>().expect("so many cells");
        let unit = usize::from(unit);
        match round {
            AgreementRound::Find(Some(held)) if free != 0 => {
                let context = 2 * (held as Context * HELD as Context + free.trailing_zeros() as Context);
                let is_idle = self.holder.confirm(context);
                let ready = if is_idle {
                    self.holder.get_ready(context)
                } else {
                    Ok(())
                };
                let proposal = [held as u8, is_idle.into(), 1, ready.is_ok().into()];
                self.begin(proposal, AgreementRound::Confirm(held, ready));
                Ok(false)
            }
            AgreementRound::Find(held) => {
                if let Some(held) = held {
                    self.holder.release(held);
                }
                let next = unit + usize::from(same);
                if unit < UNITS - 1 {
                    self.propose(next);
                } else if all == 0 {
                    // Other agreements will release their units.
                    self.all = true;
                    self.propose(0);
                } else {
                    return Err(Error::Limit {
                        what: LimitedResource::Communicators,
                        limit: COMMUNICATORS,
                    });
                }
                Ok(false)
            }
            AgreementRound::Confirm(held, ready) => {
                let agreed = match (free, all) {
                    (_, 0) => Err(ready.err().unwrap_or(Error::NoSpaceElsewhere)),
                    (0, _) => Ok(false),
                    _ => self.holder.finish_agreement().map(|()| true),
                };
                if agreed != Ok(true) {
                    self.holder.give_up();
                }
                self.holder.release(held);
                if agreed == Ok(false) {
                    self.propose(held);
                }
                agreed
            }
        }
    }
}

impl<H: ContextHolder> ScheduleWork for ContextAgreement<H> {
    fn next(&mut self) -> Result<Option<ScheduleStep>, Error> {
        loop {
            let Some((allreduce, round)) = &mut self.in_flight else {
                self.propose(0);
                continue;
            };
            if let Some(step) = self.ahead {
                self.ahead = allreduce.next();
                return Ok(Some(step));
            }
            let round = *round;
            self.in_flight = None;
            if self.finish_round(round)? {
                return Ok(None);
            }
        }
    }

    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        combine(left, right);
    }

    /// Proposing and preparing need the heap and the device.
    fn is_for_calls(&self) -> bool {
        self.ahead.is_none()
    }
}

impl<H: ContextHolder> Drop for ContextAgreement<H> {
    fn drop(&mut self) {
        // It failed before its end; a completed agreement holds no reservation.
        if let Some((_, AgreementRound::Find(Some(held)) | AgreementRound::Confirm(held, _))) = self.in_flight {
            self.holder.give_up();
            self.holder.release(held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined(left: ContextProposal, mut right: ContextProposal) -> ContextProposal {
        combine(&left, &mut right);
        right
    }

    #[test]
    fn proposals_come_to_the_same_in_whatever_groups_they_are_combined() {
        let mut proposals = Vec::new();
        for unit in [0, 3, 255] {
            for free in [0, 0b0110, 0b1100] {
                for all in [0, 1] {
                    proposals.push([unit, free, 1, all]);
                }
            }
        }
        for a in &proposals {
            for b in &proposals {
                for c in &proposals {
                    let [unit, free, same, all] = combined(combined(*a, *b), *c);
                    assert_eq!([unit, free, same, all], combined(*a, combined(*b, *c)));
                    let is_same = a[0] == b[0] && b[0] == c[0];
                    assert_eq!(unit, a[0].max(b[0]).max(c[0]));
                    assert_eq!(same, is_same.into());
                    assert_eq!(free, if is_same { a[1] & b[1] & c[1] } else { 0 });
                    assert_eq!(all, a[3] & b[3] & c[3]);
                }
            }
        }
    }
}
