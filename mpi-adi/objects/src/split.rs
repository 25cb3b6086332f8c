//! Creation of communicators from communicators (MPI-3.1 section 6.4.2).
//!
//! All processes of the parent agree on the context ([`crate::context`]), and on whether each has the required
//! memory. If one does not, none creates the communicator. Freeing a communicator is local: no process waits for
//! another.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use crate::coll::try_with_capacity;
use crate::comm::{CommRank, Communicator, Membership, RankMap, shape};
use crate::context::{self, COMMUNICATORS};
use crate::error::{Error, LimitedResource};
use crate::grid::TorusBox;
use crate::group::exact;
use crate::process::Env;
use midplane_device::envelope::{Context, Rank};

/// A communicator created from another one, with separate messages. Dropping it frees it (MPI_Comm_free); each process
/// does so independently.
pub struct OwnedCommunicator<'e> {
    env: &'e dyn Env,
    made: CreatedComm,
}

impl OwnedCommunicator<'_> {
    /// Returns the communicator.
    pub fn get(&self) -> Communicator<'_> {
        Communicator::at(self.env, self.made.membership())
    }
}

impl Drop for OwnedCommunicator<'_> {
    fn drop(&mut self) {
        // Every request on it borrows it, so all of them are complete.
        self.env.process().retire_context(self.made.context());
    }
}

/// Owned part of a communicator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreatedComm {
    /// Complete except for a list of members.
    membership: Membership<'static>,
    list: Option<Box<[Rank]>>,
}

impl CreatedComm {
    /// Creates it with these members. To save memory and searches, omits a list of all processes in world order.
    pub fn listed(env: &dyn Env, list: Vec<Rank>, context: Context, rank: CommRank) -> CreatedComm {
        let size = list.len() as u32;
        let numbers = list.iter().map(|member| member.index());
        let world = Communicator::world(env);
        let is_of_all = world.is_of_all() && size == world.size() && numbers.eq(0..size);
        let membership = Membership {
            map: RankMap::All,
            context,
            rank,
            size,
            grid: TorusBox::find(shape(env), &list).filter(|_| !is_of_all),
        };
        CreatedComm {
            membership,
            list: (!is_of_all).then(|| list.into_boxed_slice()),
        }
    }

    /// Borrows the membership.
    pub fn membership(&self) -> Membership<'_> {
        match &self.list {
            Some(list) => Membership {
                map: RankMap::List(list),
                ..self.membership
            },
            None => self.membership,
        }
    }

    /// Returns the context.
    pub fn context(&self) -> Context {
        self.membership.context
    }

    /// Returns the membership with a static lifetime; its list is never freed.
    pub fn leak(self) -> Membership<'static> {
        match self.list {
            Some(list) => Membership {
                map: RankMap::List(Box::leak(list)),
                ..self.membership
            },
            None => self.membership,
        }
    }
}

/// Prepares the binding's state for a communicator with this context. Fails with [`Error::NoSpace`]; then no process
/// creates the communicator.
pub type PrepareComm<'a> = &'a mut dyn FnMut(Context) -> Result<(), Error>;

/// Prepares nothing, for a communicator without additional state.
pub fn ready(_: Context) -> Result<(), Error> {
    Ok(())
}

/// Color of a process that is in no part.
const NO_COLOR: i32 = -1;

impl<'e> Communicator<'e> {
    /// Duplicates the communicator (MPI_Comm_dup). Blocks until all of its processes have called it. Fails with
    /// [`Error::NoMemory`] and, at all processes, with [`Error::Limit`]. If one has no memory, it fails there with
    /// [`Error::NoSpace`], and at the others with [`Error::NoSpaceElsewhere`].
    pub fn duplicate(&self) -> Result<OwnedCommunicator<'e>, Error> {
        let made = self.make_duplicate("MPI_Comm_dup", &mut ready)?;
        Ok(OwnedCommunicator { env: self.env, made })
    }

    /// Divides the processes by `color` into new communicators, ordered by `key` and by the present rank among equal
    /// keys (MPI_Comm_split). A process with `None` is in none. Blocks until all processes have called it. Fails like
    /// [`Communicator::duplicate`], and with [`Error::Argument`] for a color above `i32::MAX`.
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<OwnedCommunicator<'e>>, Error> {
        let made = self.make_split("MPI_Comm_split", &mut ready, color, key)?;
        Ok(made.map(|made| OwnedCommunicator { env: self.env, made }))
    }

    /// Creates a duplicate (MPI_Comm_dup). Collective; blocks.
    pub fn make_duplicate(self, function: &'static str, ready: PrepareComm<'_>) -> Result<CreatedComm, Error> {
        let list = self.copied_list();
        let (context, list) = self.agree_on_context(function, ready, list)?;
        Ok(self.made_duplicate(context, list))
    }

    /// Creates the duplicate with this context, on which its processes have agreed. Fails with [`Error::NoSpace`].
    pub fn make_duplicate_in(self, context: Context) -> Result<CreatedComm, Error> {
        let list = self.copied_list()?;
        Ok(self.made_duplicate(context, list))
    }

    fn made_duplicate(self, context: Context, list: Option<Box<[Rank]>>) -> CreatedComm {
        self.env.process().take_context(self.env, context);
        let membership = self.membership();
        let map = match membership.map {
            RankMap::One(world) => RankMap::One(world),
            RankMap::All | RankMap::List(_) | RankMap::Remote(_) => RankMap::All,
        };
        let membership = Membership {
            map,
            context,
            ..membership
        };
        CreatedComm { membership, list }
    }

    fn copied_list(self) -> Result<Option<Box<[Rank]>>, Error> {
        let RankMap::List(list) = self.membership().map else {
            return Ok(None);
        };
        Ok(Some(exact(list)?.into_boxed_slice()))
    }

    /// Creates a communicator for each colour (MPI_Comm_split). Collective; blocks.
    pub fn make_split(
        self,
        function: &'static str,
        ready: PrepareComm<'_>,
        color: Option<u32>,
        key: i32,
    ) -> Result<Option<CreatedComm>, Error> {
        let process = self.env.process();
        let (context, (choices, mut ranks, spare)) = self.choose(function, ready, color, key)?;
        choices.append(0..self.size(), &mut ranks);
        let Some(rank) = ranks.iter().position(|rank| *rank == self.own_rank()) else {
            process.retire_context(context);
            return Ok(None);
        };
        // The list is no longer than the memory released here.
        drop(spare);
        let mut members = try_with_capacity(ranks.len()).inspect_err(|_| process.retire_context(context))?;
        let membership = self.membership();
        members.extend(ranks.iter().map(|rank| membership.to_world(*rank)));
        let rank = CommRank(rank as u32);
        Ok(Some(CreatedComm::listed(self.env, members, context, rank)))
    }

    /// Agrees on the context of a split's parts, marks it as used, and exchanges the choices. Allocates lists for the
    /// ranks of this process's part and for its processes. Blocks and fails like [`Communicator::split`].
    pub(super) fn choose(
        self,
        function: &'static str,
        ready: PrepareComm<'_>,
        color: Option<u32>,
        key: i32,
    ) -> Result<(Context, SplitMemory), Error> {
        let choices = SplitChoices::new(self, color, key)?;
        let size = self.size() as usize;
        let rooms = choices.and_then(|choices| Ok((choices, try_with_capacity(size)?, try_with_capacity(size)?)));
        let (context, mut rooms) = self.agree_on_context(function, ready, rooms)?;
        // Taken before the choices are exchanged, because the agreement no longer reserves it.
        let process = self.env.process();
        process.take_context(self.env, context);
        let told = rooms.0.exchange(self, function);
        told.inspect_err(|_| process.retire_context(context))?;
        Ok((context, rooms))
    }

    /// Creates a communicator of these members, listed by world rank in order; `None` if this process is not among
    /// them. Other processes may specify disjoint lists, or have no memory. Blocks until all processes have called it.
    /// Fails like [`Communicator::duplicate`].
    pub fn make_of(
        self,
        function: &'static str,
        ready: PrepareComm<'_>,
        members: Result<Vec<Rank>, Error>,
    ) -> Result<Option<CreatedComm>, Error> {
        let own = self.membership().to_world(self.own_rank());
        let members = members.and_then(|members| exact(&members));
        let (context, members) = self.agree_on_context(function, ready, members)?;
        let Some(rank) = members.iter().position(|member| *member == own) else {
            return Ok(None);
        };
        self.env.process().take_context(self.env, context);
        let rank = CommRank(rank as u32);
        Ok(Some(CreatedComm::listed(self.env, members, context, rank)))
    }

    /// Creates a communicator like [`Communicator::make_of`], but only its members call it, all with the same list
    /// (MPI_Comm_create_group). Its messages use the context of this communicator's collectives. `tag` distinguishes calls
    /// of several threads at the same time.
    pub fn make_group(
        self,
        function: &'static str,
        ready: PrepareComm<'_>,
        members: Vec<Rank>,
        tag: u32,
    ) -> Result<Option<CreatedComm>, Error> {
        let membership = self.membership();
        let own = membership.to_world(self.own_rank());
        let Some(rank) = members.iter().position(|member| *member == own) else {
            return Ok(None);
        };
        let among = Membership {
            map: RankMap::List(&members),
            context: membership.context,
            rank: CommRank(rank as u32),
            size: members.len() as u32,
            grid: TorusBox::find(shape(self.env), &members),
        };
        let among_them = Communicator::at(self.env, among);
        let and = &mut |masks: &mut [u64]| among_them.and_masks_with_tag(function, masks, tag);
        let (context, list) = agree(self.env, ready, exact(&members), and)?;
        self.env.process().take_context(self.env, context);
        Ok(Some(CreatedComm::listed(self.env, list, context, among.rank)))
    }

    /// Returns the lowest context that is free at all processes, not marked as used yet, and the state prepared for it.
    /// Fails at all processes with [`Error::Limit`], and if one of them is not ready: see [`agree`].
    pub(super) fn agree_on_context<T>(
        self,
        function: &'static str,
        ready: PrepareComm<'_>,
        got: Result<T, Error>,
    ) -> Result<(Context, T), Error> {
        agree(self.env, ready, got, &mut |masks| self.and_masks(function, masks))
    }
}

/// Returns the lowest context free at all processes, and the state prepared for it. `and` combines their masks by
/// bitwise AND. The context is not marked as used yet. Fails like `and`, and at all processes with [`Error::Limit`]. If
/// one is not `ready`, or `got` is an error, it fails with that error there and [`Error::NoSpaceElsewhere`] at the
/// others.
pub(super) fn agree<T>(
    env: &dyn Env,
    ready: PrepareComm<'_>,
    got: Result<T, Error>,
    and: &mut dyn FnMut(&mut [u64]) -> Result<(), Error>,
) -> Result<(Context, T), Error> {
    let mut failure = got.as_ref().err().copied();
    let mut ready = |context| match &failure {
        Some(error) => Err(*error),
        None => ready(context).inspect_err(|error| failure = Some(*error)),
    };
    let context = agree_where_ready(env, &mut ready, and)?;
    Ok((context, got?))
}

fn agree_where_ready(
    env: &dyn Env,
    ready: PrepareComm<'_>,
    and: &mut dyn FnMut(&mut [u64]) -> Result<(), Error>,
) -> Result<Context, Error> {
    const IDLE: u64 = 1;
    const READY: u64 = 2;
    let process = env.process();
    loop {
        let mut common = process.free_contexts(env);
        and(&mut common)?;
        let context = context::lowest(&common).ok_or(Error::Limit {
            what: LimitedResource::Communicators,
            limit: COMMUNICATORS,
        })?;
        // Another agreement may have reserved it since the offer.
        let unit = context::unit(context);
        let held = process.hold_contexts(env, unit);
        let is_held = held.is_some();
        // It may even be in use since then, with other contexts of the unit free.
        let is_free = held.is_some_and(|free| free & context::bit_in_unit(context) != 0);
        let is_idle = is_free && process.confirm_context(env, context);
        let is_ready = ready(context);
        let mut everywhere = [if is_idle { IDLE } else { 0 } | if is_ready.is_ok() { READY } else { 0 }];
        let agreed = and(&mut everywhere);
        if is_held {
            // The caller marks the context as used before anything else runs.
            process.release_contexts(unit);
        }
        agreed?;
        is_ready?;
        match everywhere[0] {
            both if both == IDLE | READY => return Ok(context),
            READY => (),
            _ => return Err(Error::NoSpaceElsewhere),
        }
    }
}

/// Memory of a split: the choices, a list of ranks and a list of processes.
pub(super) type SplitMemory = (SplitChoices, Vec<CommRank>, Vec<Rank>);

/// Color and key of each process in a split.
pub(super) struct SplitChoices {
    all: Vec<[i32; 2]>,
    color: i32,
}

impl SplitChoices {
    /// Allocates space for the choices of all processes of `comm`. Fails with [`Error::Argument`] for a color above
    /// `i32::MAX`; the inner result fails with [`Error::NoSpace`].
    fn new(comm: Communicator<'_>, color: Option<u32>, key: i32) -> Result<Result<SplitChoices, Error>, Error> {
        let color = match color.map(i32::try_from) {
            None => NO_COLOR,
            Some(Ok(color)) => color,
            Some(Err(_)) => {
                return Err(Error::Argument {
                    what: "a color is at most 2147483647",
                });
            }
        };
        let size = comm.size() as usize;
        Ok(try_with_capacity(size).map(|mut all: Vec<_>| {
            all.resize(size, [color, key]);
            SplitChoices { all, color }
        }))
    }

    /// Exchanges the choices of all processes of `comm`. Fails with [`Error::NoMemory`].
    fn exchange(&mut self, comm: Communicator<'_>, function: &'static str) -> Result<(), Error> {
        // The own choice is at its index already.
        comm.share_bytes(function, bytemuck::cast_slice_mut(&mut self.all))
    }

    /// Appends those of `ranks` that chose this process's color to `list`, ordered by key, then rank, without
    /// allocation. Appends none if this process has no color.
    pub(super) fn append(&self, ranks: Range<u32>, list: &mut Vec<CommRank>) {
        let start = list.len();
        let choice = |rank: CommRank| self.all[rank.0 as usize];
        let has_color = |rank: &CommRank| self.color != NO_COLOR && choice(*rank)[0] == self.color;
        list.extend(ranks.map(CommRank).filter(has_color));
        // Ranks are unique, so an unstable sort is sufficient; it allocates no memory.
        list[start..].sort_unstable_by_key(|rank| (choice(*rank)[1], *rank));
    }
}
