//! Schedules of intercommunicator collectives with data in both directions, as steps among all processes.
#![forbid(unsafe_code)]

use core::ops::Range;

use super::party::{Collect, Party};
use crate::coll::bcast::Bcast;
use crate::coll::reduce::Reduce;
use crate::coll::schedule::{ALLGATHER, ALLTOALL, Buffer, Schedule, Step};
use crate::coll::segments::Walk;
use crate::comm::CommRank;
use crate::sides::Halves;
use midplane_device::memory::buffer_slice::BufferSlice;

/// First process of a group, the leader that communicates with the other group's leader.
const SPEAKER: CommRank = CommRank(0);

/// Returns the party of this process's group with the remote leader as the guest.
fn with_speaker(halves: Halves) -> Party {
    let speaker = CommRank(halves.remote_ranks().start);
    Party::member(halves.local_ranks(), speaker, halves.rank)
}

/// Reduces to the group's leader, exchanges the result with the other leader, and broadcasts the received one.
pub(in crate::coll) struct Allreduce {
    party: Party,
    reduce: Reduce,
    result: BufferSlice,
    /// Position in the result while the leaders exchange it.
    walk: Walk,
    bcast: Bcast,
}

impl Allreduce {
    pub(in crate::coll) fn new(
        halves: Halves,
        (data, result): (BufferSlice, BufferSlice),
        element: usize,
    ) -> Self {
        let party = with_speaker(halves);
        let (members, guest) = (party.members(), party.guest_rank());
        Allreduce {
            reduce: Reduce::new(members, (data, BufferSlice::EMPTY), element, guest),
            result,
            walk: Walk::new(result.len(), element),
            bcast: Bcast::new(members, result, SPEAKER),
            party,
        }
    }

    fn next_seated(&mut self) -> Option<Step> {
        let Some(step) = self.reduce.next() else {
            return self.bcast.next();
        };
        let guest = self.party.guest_rank();
        match (step, self.walk.part(self.result)) {
            // The other leader sends, too: neither waits for the other.
            (Step::Send { dest, tag, data }, Some(part)) if dest == guest => {
                self.walk.advance();
                Some(Step::Exchange {
                    tag,
                    given: (data, guest),
                    taken: (Buffer::User(part), guest),
                })
            }
            _ => Some(step),
        }
    }
}

impl Schedule for Allreduce {
    fn next(&mut self) -> Option<Step> {
        let step = self.next_seated()?;
        Some(self.party.step(step))
    }
}

/// The leaders exchange data that their groups have in common, then each broadcasts the received data in its group.
pub(in crate::coll) struct Swap {
    party: Party,
    /// Data that the leader sends and receives.
    exchange: Option<(BufferSlice, BufferSlice)>,
    bcast: Bcast,
}

impl Swap {
    pub(in crate::coll) fn new(halves: Halves, given: BufferSlice, taken: BufferSlice) -> Self {
        let party = with_speaker(halves);
        let members = party.members();
        Swap {
            exchange: (members.own == SPEAKER.0).then_some((given, taken)),
            bcast: Bcast::new(members, taken, SPEAKER),
            party,
        }
    }
}

impl Schedule for Swap {
    fn next(&mut self) -> Option<Step> {
        let step = match self.exchange.take() {
            Some((given, taken)) => {
                let guest = self.party.guest_rank();
                Step::Exchange {
                    tag: ALLGATHER,
                    given: (Buffer::User(given), guest),
                    taken: (Buffer::User(taken), guest),
                }
            }
            None => self.bcast.next()?,
        };
        Some(self.party.step(step))
    }
}

/// In round d a process sends to the rank at distance d in the other group and receives from the opposite distance, on
/// a ring as long as the larger group. Ring positions beyond a group's size are empty.
pub(in crate::coll) struct Pairs<P, Q> {
    own: u32,
    remote: Range<u32>,
    places: u32,
    part: P,
    place: Q,
    distance: u32,
}

impl<P: Fn(CommRank) -> BufferSlice, Q: Fn(CommRank) -> BufferSlice> Pairs<P, Q> {
    pub(in crate::coll) fn new(halves: Halves, part: P, place: Q) -> Self {
        let (local, remote) = (halves.local_ranks(), halves.remote_ranks());
        Pairs {
            own: halves.rank.0 - local.start,
            places: local.len().max(remote.len()) as u32,
            remote,
            part,
            place,
            distance: 0,
        }
    }

    /// Returns the remote process at this ring position, as its rank there and among all.
    fn at(&self, place: u32) -> Option<(CommRank, CommRank)> {
        let rank = place % self.places;
        let all = self.remote.start + rank;
        (all < self.remote.end).then_some((CommRank(rank), CommRank(all)))
    }
}

impl<P: Fn(CommRank) -> BufferSlice, Q: Fn(CommRank) -> BufferSlice> Schedule for Pairs<P, Q> {
    fn next(&mut self) -> Option<Step> {
        let tag = ALLTOALL;
        while self.distance < self.places {
            let dest = self.at(self.own + self.distance);
            let source = self.at(self.own + self.places - self.distance);
            self.distance += 1;
            let given = dest.map(|(rank, to)| (Buffer::User((self.part)(rank)), to));
            let taken = source.map(|(rank, from)| (Buffer::User((self.place)(rank)), from));
            match (given, taken) {
                (Some(given), Some(taken)) => {
                    return Some(Step::Exchange { tag, given, taken });
                }
                (Some((data, dest)), None) => return Some(Step::Send { dest, tag, data }),
                (None, Some((data, source))) => return Some(Step::Receive { source, tag, data }),
                (None, None) => {}
            }
        }
        None
    }
}

/// The first group sends its parts to the ranks of the second one, then vice versa.
pub(in crate::coll) struct ReduceScatter<P> {
    /// Ranks of both groups among all, and this process's rank.
    local: Range<u32>,
    remote: Range<u32>,
    own: CommRank,
    part: P,
    element: usize,
    /// Reduction in progress, and the remote rank that receives the next one.
    giving: Option<(Party, Reduce)>,
    next_guest: u32,
    /// Receives the results of the other group's reductions.
    taking: (Party, Collect),
    gives_first: bool,
}

impl<P: Fn(CommRank) -> BufferSlice> ReduceScatter<P> {
    pub(in crate::coll) fn new(halves: Halves, part: P, result: BufferSlice, element: usize) -> Self {
        let remote = halves.remote_ranks();
        let party = Party::guest(remote.clone(), halves.rank);
        ReduceScatter {
            local: halves.local_ranks(),
            remote,
            own: halves.rank,
            part,
            element,
            giving: None,
            next_guest: 0,
            taking: (party, Collect::new(result, element)),
            gives_first: halves.is_first(),
        }
    }

    /// Returns the next step of the sending phase.
    fn give(&mut self) -> Option<Step> {
        loop {
            if let Some((party, reduce)) = &mut self.giving
                && let Some(step) = reduce.next()
            {
                return Some(party.step(step));
            }
            let guest = CommRank(self.next_guest);
            if guest.0 >= self.remote.end - self.remote.start {
                return None;
            }
            self.next_guest += 1;
            let areas = ((self.part)(guest), BufferSlice::EMPTY);
            let to = CommRank(self.remote.start + guest.0);
            let party = Party::member(self.local.clone(), to, self.own);
            let reduce = Reduce::new(party.members(), areas, self.element, party.guest_rank());
            self.giving = Some((party, reduce));
        }
    }

    fn take(&mut self) -> Option<Step> {
        let (party, collect) = &mut self.taking;
        let step = collect.next()?;
        Some(party.step(step))
    }
}

impl<P: Fn(CommRank) -> BufferSlice> Schedule for ReduceScatter<P> {
    fn next(&mut self) -> Option<Step> {
        if self.gives_first {
            self.give().or_else(|| self.take())
        } else {
            self.take().or_else(|| self.give())
        }
    }
}
