//! Agreeing on a context without blocking, for MPI_Comm_idup: see [`crate::context`].
//!
//! In each round every process proposes the lowest unit of contexts of which it has some free and holds them. Where
//! all have proposed the same unit, and have a context of it in common, they look at that a second time, and get ready
//! what will have it. Otherwise they go on from the highest unit that was proposed. Where one of them cannot get ready,
//! it fails at all.

use alloc::vec::Vec;

use crate::coll::reduce::ThroughRoot;
use crate::coll::running::{Plan, Work, room};
use crate::coll::schedule::{Ranks, Schedule, Step};
use crate::comm::Communicator;
use crate::context::{CONTEXTS, HELD, UNITS};
use crate::error::{Error, Limited};
use crate::lend::writing;
use crate::process::Env;
use midplane_device::envelope::Context;
use midplane_device::memory::area::Area;

/// This process's contexts, for an agreement. Called outside of the device.
pub trait Holder: Send {
    /// The process's device; `None`: it has ended.
    fn env(&self) -> Option<&dyn Env>;

    /// As [`Contexts::hold`](crate::context::Contexts::hold).
    fn hold(&mut self, unit: usize) -> Option<u8> {
        let env = self.env()?;
        env.process().hold_contexts(env, unit)
    }

    /// Another agreement holds the unit.
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

    /// Looks once more at a context of the unit that is held.
    fn confirm(&mut self, context: Context) -> bool {
        let env = self.env();
        env.is_some_and(|env| env.process().confirm_context(env, context))
    }

    /// Gets ready what will have this context, which is held. Fails with [`Error::NoRoom`].
    fn get_ready(&mut self, context: Context) -> Result<(), Error>;
    /// Gives up what it has got ready, if anything: another context will do, or none.
    fn give_up(&mut self);
    /// All processes have agreed on the context, which is still held, and are ready.
    fn agreed(&mut self) -> Result<(), Error>;
}

/// What processes tell each other: a unit; its free contexts; whether all have proposed it; whether none has passed
/// over a unit since another agreement held it. In the end: the unit; whether the context is idle; 1; whether all are
/// ready.
type Proposal = [u8; 4];
const _: () = assert!(UNITS == 1 << u8::BITS);

/// Where units that differ were proposed, there is no context in common, and the higher one goes on.
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

/// What an allreduce under way is for.
#[derive(Clone, Copy)]
enum Round {
    /// To find a context, with the unit that this process holds.
    Find(Option<usize>),
    /// To confirm a context of the unit that this process holds, for which it is ready or has failed to be.
    Confirm(usize, Result<(), Error>),
}

struct Agreement<H: Holder> {
    ranks: Ranks,
    holder: H,
    /// This process's proposal, and then what has become of all.
    cells: Vec<u8>,
    /// `None`: nothing has been proposed yet, or the agreement is over.
    under_way: Option<(ThroughRoot, Round)>,
    /// The next step of the allreduce under way; `None`: it is over.
    ahead: Option<Step>,
    /// No unit was passed over since another agreement held it.
    all: bool,
}

/// The plan by which the processes of `comm` agree on a context.
pub fn agree(comm: Communicator<'_>, holder: impl Holder + 'static) -> Result<Plan, Error> {
    let agreement = Agreement {
        ranks: Ranks::of(comm),
        holder,
        cells: room(size_of::<Proposal>())?,
        under_way: None,
        ahead: None,
        all: true,
    };
    let plan = Plan::by_steps(agreement, Some(size_of::<Proposal>()))?;
    Ok(plan.advances_in_interrupts(true))
}

impl<H: Holder> Agreement<H> {
    fn begin(&mut self, proposal: Proposal, round: Round) {
        self.cells.clear();
        self.cells.extend_from_slice(&proposal);
        // SAFETY: the cells stay where they are, on the heap, and are looked at when the allreduce is over.
        let area = Area::from(unsafe { writing(&mut self.cells) });
        let mut allreduce = ThroughRoot::new(self.ranks, (area, area), size_of::<Proposal>());
        self.ahead = allreduce.next();
        self.under_way = Some((allreduce, round));
    }

    /// Proposes the first unit from `bound` on that can be held.
    fn propose(&mut self, bound: usize) {
        for unit in bound..UNITS {
            if let Some(free) = self.holder.hold(unit) {
                let proposal = [unit as u8, free, 1, self.all.into()];
                return self.begin(proposal, Round::Find(Some(unit)));
            }
            self.all &= !self.holder.is_held(unit);
        }
        self.begin([u8::MAX, 0, 1, self.all.into()], Round::Find(None));
    }

    /// An allreduce is over; true when the agreement is.
    fn conclude(&mut self, round: Round) -> Result<bool, Error> {
        let [unit, free, same, all] = *self.cells.first_chunk::<4>().expect("so many cells");
        let unit = usize::from(unit);
        match round {
            Round::Find(Some(held)) if free != 0 => {
                let context =
                    2 * (held as Context * HELD as Context + free.trailing_zeros() as Context);
                let is_idle = self.holder.confirm(context);
                let ready = match is_idle {
                    true => self.holder.get_ready(context),
                    false => Ok(()),
                };
                let proposal = [held as u8, is_idle.into(), 1, ready.is_ok().into()];
                self.begin(proposal, Round::Confirm(held, ready));
                Ok(false)
            }
            Round::Find(held) => {
                if let Some(held) = held {
                    self.holder.release(held);
                }
                let next = unit + usize::from(same);
                if unit < UNITS - 1 {
                    self.propose(next);
                } else if all == 0 {
                    // What others hold they release.
                    self.all = true;
                    self.propose(0);
                } else {
                    return Err(Error::Limit {
                        what: Limited::Communicators,
                        limit: CONTEXTS,
                    });
                }
                Ok(false)
            }
            Round::Confirm(held, ready) => {
                let agreed = match (free, all) {
                    (_, 0) => Err(ready.err().unwrap_or(Error::NoRoomElsewhere)),
                    (0, _) => Ok(false),
                    _ => self.holder.agreed().map(|()| true),
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

impl<H: Holder> Work for Agreement<H> {
    fn next(&mut self) -> Result<Option<Step>, Error> {
        loop {
            let Some((allreduce, round)) = &mut self.under_way else {
                self.propose(0);
                continue;
            };
            if let Some(step) = self.ahead {
                self.ahead = allreduce.next();
                return Ok(Some(step));
            }
            let round = *round;
            self.under_way = None;
            if self.conclude(round)? {
                return Ok(None);
            }
        }
    }

    fn combine(&mut self, left: &[u8], right: &mut [u8]) {
        combine(left, right);
    }

    /// To propose, and to get ready.
    fn is_for_calls(&self) -> bool {
        self.ahead.is_none()
    }
}

impl<H: Holder> Drop for Agreement<H> {
    fn drop(&mut self) {
        // It has failed on the way; after its end nothing is held.
        if let Some((_, Round::Find(Some(held)) | Round::Confirm(held, _))) = self.under_way {
            self.holder.give_up();
            self.holder.release(held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined(left: Proposal, mut right: Proposal) -> Proposal {
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
