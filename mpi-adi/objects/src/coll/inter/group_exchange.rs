//! Schedules of intercommunicator collectives with data in both directions, as steps among all processes.
#![forbid(unsafe_code)]

use core::ops::Range;

use super::remote_root::{RemoteCollect, RootedGroup};
use crate::coll::bcast::BcastSchedule;
use crate::coll::reduce::TreeReduce;
use crate::coll::run::ReduceAreas;
use crate::coll::schedule::{ALLGATHER, ALLTOALL, Schedule, ScheduleStep, StepBuffer};
use crate::coll::segments::SegmentWalk;
use crate::comm::CommRank;
use crate::inter_groups::GroupRanges;
use midplane_device::memory::buffer_slice::BufferSlice;

/// First process of a group, the leader that communicates with the other group's leader.
const LEADER: CommRank = CommRank(0);

/// Returns the rooted group of this process's group with the remote leader as the remote root.
fn with_remote_leader(halves: GroupRanges) -> RootedGroup {
    let leader = CommRank(halves.remote_ranks().start);
    RootedGroup::for_member(halves.local_ranks(), leader, halves.rank)
}

/// Reduces to the group's leader, exchanges the result with the other leader, and broadcasts the received one.
pub(in crate::coll) struct InterAllreduce {
    rooted_group: RootedGroup,
    reduce: TreeReduce,
    result: BufferSlice,
    /// Position in the result while the leaders exchange it.
    walk: SegmentWalk,
    bcast: BcastSchedule,
}

impl InterAllreduce {
    pub(in crate::coll) fn new(halves: GroupRanges, ReduceAreas { data, result }: ReduceAreas, element: usize) -> Self {
        let rooted_group = with_remote_leader(halves);
        let (members, remote_root) = (rooted_group.members(), rooted_group.remote_root_rank());
        InterAllreduce {
            reduce: TreeReduce::new(
                members,
                ReduceAreas {
                    data,
                    result: BufferSlice::EMPTY,
                },
                element,
                remote_root,
            ),
            result,
            walk: SegmentWalk::new(result.len(), element),
            bcast: BcastSchedule::new(members, result, LEADER),
            rooted_group,
        }
    }

    fn next_in_group(&mut self) -> Option<ScheduleStep> {
        let Some(step) = self.reduce.next() else {
            return self.bcast.next();
        };
        let remote_root = self.rooted_group.remote_root_rank();
        match (step, self.walk.part(self.result)) {
            // The other leader sends, too: neither waits for the other.
            (ScheduleStep::Send { dest, tag, data }, Some(part)) if dest == remote_root => {
                self.walk.advance();
                Some(ScheduleStep::Exchange {
                    tag,
                    given: (data, remote_root),
                    taken: (StepBuffer::User(part), remote_root),
                })
            }
            _ => Some(step),
        }
    }
}

impl Schedule for InterAllreduce {
    fn next(&mut self) -> Option<ScheduleStep> {
        let step = self.next_in_group()?;
        Some(self.rooted_group.step(step))
    }
}

/// The leaders exchange data that their groups have in common, then each broadcasts the received data in its group.
pub(in crate::coll) struct LeaderSwap {
    rooted_group: RootedGroup,
    /// Data that the leader sends and receives.
    exchange: Option<(BufferSlice, BufferSlice)>,
    bcast: BcastSchedule,
}

impl LeaderSwap {
    pub(in crate::coll) fn new(halves: GroupRanges, given: BufferSlice, taken: BufferSlice) -> Self {
        let rooted_group = with_remote_leader(halves);
        let members = rooted_group.members();
        LeaderSwap {
            exchange: (members.own == LEADER.0).then_some((given, taken)),
            bcast: BcastSchedule::new(members, taken, LEADER),
            rooted_group,
        }
    }
}

impl Schedule for LeaderSwap {
    fn next(&mut self) -> Option<ScheduleStep> {
        let step = match self.exchange.take() {
            Some((given, taken)) => {
                let remote_root = self.rooted_group.remote_root_rank();
                ScheduleStep::Exchange {
                    tag: ALLGATHER,
                    given: (StepBuffer::User(given), remote_root),
                    taken: (StepBuffer::User(taken), remote_root),
                }
            }
            None => self.bcast.next()?,
        };
        Some(self.rooted_group.step(step))
    }
}

/// In round d a process sends to the rank at distance d in the other group and receives from the opposite distance, on
/// a ring as long as the larger group. Ring positions beyond a group's size are empty.
pub(in crate::coll) struct InterPairs<P, Q> {
    own: u32,
    remote: Range<u32>,
    places: u32,
    part: P,
    place: Q,
    distance: u32,
}

impl<P: Fn(CommRank) -> BufferSlice, Q: Fn(CommRank) -> BufferSlice> InterPairs<P, Q> {
    pub(in crate::coll) fn new(halves: GroupRanges, part: P, place: Q) -> Self {
        let (local, remote) = (halves.local_ranks(), halves.remote_ranks());
        InterPairs {
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

impl<P: Fn(CommRank) -> BufferSlice, Q: Fn(CommRank) -> BufferSlice> Schedule for InterPairs<P, Q> {
    fn next(&mut self) -> Option<ScheduleStep> {
        let tag = ALLTOALL;
        while self.distance < self.places {
            let dest = self.at(self.own + self.distance);
            let source = self.at(self.own + self.places - self.distance);
            self.distance += 1;
            let given = dest.map(|(rank, to)| (StepBuffer::User((self.part)(rank)), to));
            let taken = source.map(|(rank, from)| (StepBuffer::User((self.place)(rank)), from));
            match (given, taken) {
                (Some(given), Some(taken)) => {
                    return Some(ScheduleStep::Exchange { tag, given, taken });
                }
                (Some((data, dest)), None) => return Some(ScheduleStep::Send { dest, tag, data }),
                (None, Some((data, source))) => {
                    return Some(ScheduleStep::Receive { source, tag, data });
                }
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
    giving: Option<(RootedGroup, TreeReduce)>,
    next_root: u32,
    /// Receives the results of the other group's reductions.
    taking: (RootedGroup, RemoteCollect),
    gives_first: bool,
}

impl<P: Fn(CommRank) -> BufferSlice> ReduceScatter<P> {
    pub(in crate::coll) fn new(halves: GroupRanges, part: P, result: BufferSlice, element: usize) -> Self {
        let remote = halves.remote_ranks();
        let rooted_group = RootedGroup::for_remote_root(remote.clone(), halves.rank);
        ReduceScatter {
            local: halves.local_ranks(),
            remote,
            own: halves.rank,
            part,
            element,
            giving: None,
            next_root: 0,
            taking: (rooted_group, RemoteCollect::new(result, element)),
            gives_first: halves.is_first(),
        }
    }

    /// Returns the next step of the sending phase.
    fn next_outgoing(&mut self) -> Option<ScheduleStep> {
        loop {
            if let Some((rooted_group, reduce)) = &mut self.giving
                && let Some(step) = reduce.next()
            {
                return Some(rooted_group.step(step));
            }
            let remote_root = CommRank(self.next_root);
            if remote_root.0 >= self.remote.end - self.remote.start {
                return None;
            }
            self.next_root += 1;
            let areas = ReduceAreas {
                data: (self.part)(remote_root),
                result: BufferSlice::EMPTY,
            };
            let to = CommRank(self.remote.start + remote_root.0);
            let rooted_group = RootedGroup::for_member(self.local.clone(), to, self.own);
            let reduce = TreeReduce::new(
                rooted_group.members(),
                areas,
                self.element,
                rooted_group.remote_root_rank(),
            );
            self.giving = Some((rooted_group, reduce));
        }
    }

    fn next_incoming(&mut self) -> Option<ScheduleStep> {
        let (rooted_group, collect) = &mut self.taking;
        let step = collect.next()?;
        Some(rooted_group.step(step))
    }
}

impl<P: Fn(CommRank) -> BufferSlice> Schedule for ReduceScatter<P> {
    fn next(&mut self) -> Option<ScheduleStep> {
        if self.gives_first {
            self.next_outgoing().or_else(|| self.next_incoming())
        } else {
            self.next_incoming().or_else(|| self.next_outgoing())
        }
    }
}
