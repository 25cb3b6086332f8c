//! Creation of intercommunicators, and of communicators from them (MPI-3.1 sections 6.4.2 and 6.6).
//!
//! Two groups connect through their leaders, which use another communicator, the bridge. The leaders exchange the
//! member lists, and each broadcasts the remote list in its group. From then on every process stores both lists. The
//! processes agree on a context like those of one communicator ([`crate::context`]), with the leaders between the
//! groups. Communicators derived from an intercommunicator need no leaders, because its collectives include all
//! processes of both groups.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::coll::try_with_capacity;
use crate::comm::{CommRank, Communicator, IncomingData, Membership, OutgoingData, Partners};
use crate::context::CONTEXT_WORDS;
use crate::error::{Error, ErrorClass};
use crate::group::exact;
use crate::inter_groups::{InterGroups, Intercommunicator};
use crate::process::Env;
use crate::split::{CreatedComm, PrepareComm, agree};
use midplane_device::envelope::{Context, Rank, Tag};

/// Tag of messages between leaders, in the bridge's context for collectives, where no collective uses it. Two leaders
/// are in one such call at a time, so the program's tag need not distinguish calls.
const LEADERS: Tag = Tag::MAX;

/// Sent instead of the number of processes: the leader failed.
const FAILED: u32 = u32::MAX;

/// Owned part of an intercommunicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreatedInter {
    list: Box<[Rank]>,
    first: u32,
    rank: CommRank,
    context: Context,
}

impl CreatedInter {
    /// Borrows the two groups.
    pub fn sides(&self) -> InterGroups<'_> {
        InterGroups {
            list: &self.list,
            first: self.first,
            rank: self.rank,
            context: self.context,
        }
    }

    /// Returns the two groups with a static lifetime; their list is never freed.
    pub fn leak(self) -> InterGroups<'static> {
        InterGroups {
            list: Box::leak(self.list),
            first: self.first,
            rank: self.rank,
            context: self.context,
        }
    }
}

/// Connection from a leader to the other leader.
pub struct LeaderBridge<'e> {
    partners: Partners<'e>,
    leader: CommRank,
}

impl<'e> LeaderBridge<'e> {
    /// Creates a bridge to the process with rank `leader` of `partners`.
    pub fn new(partners: Partners<'e>, leader: CommRank) -> Self {
        let partners = partners.for_collectives();
        LeaderBridge { partners, leader }
    }

    /// Exchanges bytes with the other leader.
    fn swap(&self, function: &'static str, given: &[u8], taken: &mut [u8]) -> Result<(), Error> {
        let expected = taken.len();
        let status = self.partners.sendrecv_bytes(
            function,
            OutgoingData {
                data: given,
                dest: self.leader,
                tag: LEADERS,
            },
            IncomingData {
                data: taken,
                source: Some(self.leader),
                tag: Some(LEADERS),
            },
        )?;
        if status.bytes == expected {
            Ok(())
        } else {
            Err(Error::CountsDiffer {
                rank: status.source,
                expected,
                given: Some(status.bytes),
            })
        }
    }
}

/// One of the two groups that connect, and its path to the other group.
struct LeaderExchange<'a, 'e> {
    function: &'static str,
    local: Communicator<'e>,
    leader: CommRank,
    /// Present at the leader.
    bridge: Option<&'a LeaderBridge<'e>>,
}

impl LeaderExchange<'_, '_> {
    /// Exchanges words with the other group. Fails at the leader with the original error, elsewhere with
    /// [`Error::Wrong`] if the leader reports a failure in the first word.
    fn swap(&self, given: &[u32], taken: &mut [u32]) -> Result<(), Error> {
        let bytes = bytemuck::cast_slice_mut(&mut *taken);
        let swapped = match self.bridge {
            Some(bridge) => bridge.swap(self.function, bytemuck::cast_slice(given), bytes),
            None => Ok(()),
        };
        if swapped.is_err() {
            bytes[..size_of::<u32>()].copy_from_slice(&FAILED.to_ne_bytes());
        }
        self.local.bcast_bytes(self.function, bytes, self.leader)?;
        swapped?;
        match taken[0] {
            FAILED => Err(LEADER_FAILED),
            _ => Ok(()),
        }
    }

    /// Combines the masks of all processes of both groups by bitwise AND.
    fn and_masks(&self, masks: &mut [u64]) -> Result<(), Error> {
        self.local.and_masks(self.function, masks)?;
        if let Some(bridge) = self.bridge {
            let mut others = [0; CONTEXT_WORDS];
            let others = &mut others[..masks.len()];
            bridge.swap(
                self.function,
                bytemuck::cast_slice(masks),
                bytemuck::cast_slice_mut(others),
            )?;
            for (mask, other) in masks.iter_mut().zip(others) {
                *mask &= *other;
            }
        }
        let bytes = bytemuck::cast_slice_mut(masks);
        self.local.bcast_bytes(self.function, bytes, self.leader)
    }
}

const LEADER_FAILED: Error = Error::Wrong {
    class: ErrorClass::Other,
    what: "the leader of the local group could not reach the other group's; its error says why",
};

/// Creates the intercommunicator of the processes of `local`, whose leader is `leader`, and of another group. The
/// leader specifies the bridge, or the reason why there is none. Blocks until all processes of both groups have called
/// it.
///
/// # Errors
/// [`Error::NoMemory`]. At all processes: [`Error::Limit`], [`Error::Wrong`] if the groups overlap, and the errors of
/// [`Communicator::duplicate`] if one has no memory. At the leader, the specified error; then [`Error::Wrong`] in its
/// group.
pub fn connect(
    function: &'static str,
    local: Communicator<'_>,
    leader: CommRank,
    bridge: Option<Result<LeaderBridge<'_>, Error>>,
    ready: PrepareComm<'_>,
) -> Result<CreatedInter, Error> {
    let env = local.env();
    let membership = local.membership();
    let mut failure = Ok(());
    let bridge = match bridge {
        Some(Ok(bridge)) => Some(bridge),
        Some(Err(error)) => {
            failure = Err(error);
            None
        }
        None => None,
    };
    let meeting = LeaderExchange {
        function,
        local,
        leader,
        bridge: bridge.as_ref(),
    };
    let mut size = [FAILED];
    if failure.is_err() {
        // The other members of the group wait for the leader.
        local.bcast_bytes(function, bytemuck::cast_slice_mut(&mut size), leader)?;
        failure?;
    }
    meeting.swap(&[local.size()], &mut size)?;
    let [size] = size;
    let rooms = lists(membership, size as usize);
    // A process without memory cannot participate in the next steps: either all do, or none does.
    let mut have_room = [u64::from(rooms.is_ok())];
    meeting.and_masks(&mut have_room)?;
    let (own, mut others, mut list) = rooms?;
    if have_room == [0] {
        return Err(Error::NoSpaceElsewhere);
    }
    meeting.swap(&own, &mut others)?;
    if own.iter().any(|process| others.contains(process)) {
        return Err(Error::Wrong {
            class: ErrorClass::Comm,
            what: "the two groups have a process in common",
        });
    }
    // The same rule for both groups; no process is in both.
    let is_first = own[0] < others[0];
    let (before, behind) = if is_first { (&own, &others) } else { (&others, &own) };
    list.extend(before.iter().chain(behind).map(|index| Rank::new(*index)));
    let (context, list) = agree(env, ready, Ok(list), &mut |masks| meeting.and_masks(masks))?;
    let rank = local.rank() + if is_first { 0 } else { size };
    Ok(create_inter(env, list, before.len() as u32, CommRank(rank), context))
}

/// Returns the world ranks of one group, and allocates lists for `others` ranks and for all.
#[allow(clippy::type_complexity, reason = "three lists")]
fn lists(membership: Membership<'_>, others: usize) -> Result<(Vec<u32>, Vec<u32>, Vec<Rank>), Error> {
    let size = membership.size as usize;
    let (mut own, mut theirs) = (try_with_capacity(size)?, try_with_capacity(others)?);
    own.extend(membership.ranks().map(|rank| membership.to_world(rank).index()));
    theirs.resize(others, 0);
    Ok((own, theirs, try_with_capacity(size + others)?))
}

fn create_inter(env: &dyn Env, list: Vec<Rank>, first: u32, rank: CommRank, context: Context) -> CreatedInter {
    env.process().take_context(env, context);
    CreatedInter {
        list: list.into_boxed_slice(),
        first,
        rank,
        context,
    }
}

impl Intercommunicator<'_> {
    /// Creates another intercommunicator of the same groups (MPI_Comm_dup). Blocks until all processes of both have
    /// called it. Fails like [`Communicator::duplicate`].
    pub fn make_duplicate(self, function: &'static str, ready: PrepareComm<'_>) -> Result<CreatedInter, Error> {
        let InterGroups { list, first, rank, .. } = self.sides;
        let everyone = self.everyone();
        let (context, copy) = everyone.agree_on_context(function, ready, exact(list))?;
        Ok(create_inter(self.env, copy, first, rank, context))
    }

    /// Creates the duplicate with this context, on which its processes have agreed. Fails with [`Error::NoSpace`].
    pub fn make_duplicate_in(self, context: Context) -> Result<CreatedInter, Error> {
        let InterGroups { list, first, rank, .. } = self.sides;
        Ok(create_inter(self.env, exact(list)?, first, rank, context))
    }

    /// Divides both groups by `color`, orders each part by `key`, and keeps the present order among equal keys. A
    /// process with `None` is in no part, and neither is a color that only one group uses (section 6.4.2,
    /// MPI_Comm_split). Blocks and fails like [`Intercommunicator::make_duplicate`], and fails with
    /// [`Error::Argument`].
    pub fn make_split(
        self,
        function: &'static str,
        ready: PrepareComm<'_>,
        color: Option<u32>,
        key: i32,
    ) -> Result<Option<CreatedInter>, Error> {
        let (everyone, sides) = (self.everyone(), self.sides);
        let process = self.env.process();
        let (context, (choices, mut members, spare)) = everyone.choose(function, ready, color, key)?;
        let halves = sides.halves();
        let (local, remote) = (halves.local_ranks(), halves.remote_ranks());
        let (before, behind) = if halves.is_first() {
            (local, remote)
        } else {
            (remote, local)
        };
        choices.append(before, &mut members);
        let first = members.len();
        choices.append(behind, &mut members);
        let rank = members.iter().position(|rank| *rank == sides.rank);
        let is_whole = first > 0 && first < members.len();
        let Some(rank) = rank.filter(|_| is_whole) else {
            process.retire_context(context);
            return Ok(None);
        };
        // The list is no longer than the memory released here.
        drop(spare);
        let mut list = try_with_capacity(members.len()).inspect_err(|_| process.retire_context(context))?;
        list.extend(members.iter().map(|rank| sides.all().to_world(*rank)));
        Ok(Some(CreatedInter {
            list: list.into_boxed_slice(),
            first: first as u32,
            rank: CommRank(rank as u32),
            context,
        }))
    }

    /// Creates the communicator of all processes of both groups (MPI_Intercomm_merge). Processes that specify `high`
    /// follow those that do not. If both groups specify the same value, the order is that on which all agreed. Blocks
    /// and fails like [`Intercommunicator::make_duplicate`].
    pub fn make_merged(self, function: &'static str, ready: PrepareComm<'_>, high: bool) -> Result<CreatedComm, Error> {
        let (everyone, sides) = (self.everyone(), self.sides);
        let bit = |is_first: bool| if is_first { 1 } else { 2 };
        // One bit per group. A process clears the bit of its own group only.
        let mut high = [if high { !0 } else { !bit(sides.halves().is_first()) }];
        everyone.and_masks(function, &mut high)?;
        let is_high = |is_first: bool| high[0] & bit(is_first) != 0;
        let (before, behind) = sides.list.split_at(sides.first as usize);
        let (before, behind) = if is_high(true) && !is_high(false) {
            (behind, before)
        } else {
            (before, behind)
        };
        let list = try_with_capacity(sides.list.len()).map(|mut list: Vec<_>| {
            list.extend(before.iter().chain(behind));
            list
        });
        let made = everyone.make_of(function, ready, list)?;
        // The list contains this process.
        made.ok_or(Error::Wrong {
            class: ErrorClass::Intern,
            what: "a process that is in neither of its groups",
        })
    }
}
