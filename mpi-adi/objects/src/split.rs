//! Communicators that a program makes (MPI-3.1 section 6.4.2).
//!
//! All processes of the parent agree on the context ([`crate::context`]), and on whether each of them has the
//! memory that it needs: none has the communicator where one has no room. Freeing a communicator is a local affair:
//! no process waits for another.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use crate::coll::room;
use crate::comm::{CommRank, Communicator, Membership, RankMap, shape};
use crate::context::{self, CONTEXTS};
use crate::error::{Error, Limited};
use crate::grid::Grid;
use crate::group::exact;
use crate::process::Env;
use midplane_device::envelope::{Context, Rank};

/// A communicator made from another one. Its messages stay apart from every other communicator's. Dropping it
/// frees it (MPI_Comm_free), which every process does in its own time.
pub struct OwnedCommunicator<'e> {
    env: &'e dyn Env,
    made: Made,
}

impl OwnedCommunicator<'_> {
    /// The communicator.
    pub fn get(&self) -> Communicator<'_> {
        Communicator::at(self.env, self.made.membership())
    }
}

impl Drop for OwnedCommunicator<'_> {
    fn drop(&mut self) {
        // Every request on it has borrowed it, and so is complete.
        self.env.process().retire_context(self.made.context());
    }
}

/// What is owned of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Made {
    /// The whole membership but for a list of members.
    membership: Membership<'static>,
    list: Option<Box<[Rank]>>,
}

impl Made {
    /// With these members. A list of all processes in their order is none: it takes no memory, and no search.
    pub fn listed(env: &dyn Env, list: Vec<Rank>, context: Context, rank: CommRank) -> Made {
        let size = list.len() as u32;
        let numbers = list.iter().map(|member| member.index());
        let is_of_all = size == Communicator::world(env).size() && numbers.eq(0..size);
        let membership = Membership {
            map: RankMap::All,
            context,
            rank,
            size,
            grid: Grid::find(shape(env), &list).filter(|_| !is_of_all),
        };
        Made {
            membership,
            list: (!is_of_all).then(|| list.into_boxed_slice()),
        }
    }

    /// The membership, for as long as it is owned.
    pub fn membership(&self) -> Membership<'_> {
        match &self.list {
            Some(list) => Membership {
                map: RankMap::List(list),
                ..self.membership
            },
            None => self.membership,
        }
    }

    /// Its context.
    pub fn context(&self) -> Context {
        self.membership.context
    }

    /// The membership for ever; its list, if it has one, is not freed.
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

/// Gets ready what a process needs besides the members for a communicator with this context. Fails with
/// [`Error::NoRoom`]; then no process has the communicator.
pub type Ready<'a> = &'a mut dyn FnMut(Context) -> Result<(), Error>;

/// For a communicator that needs nothing besides its members.
pub fn ready(_: Context) -> Result<(), Error> {
    Ok(())
}

/// A process's color when it wants to be in no part.
const NO_COLOR: i32 = -1;

impl<'e> Communicator<'e> {
    /// Another communicator of the same processes (MPI_Comm_dup). Blocks until all of them have called it.
    /// Fails with [`Error::NoMemory`] and, at all processes alike, [`Error::Limit`] or, where one of them has no
    /// room, [`Error::NoRoom`] there and [`Error::NoRoomElsewhere`] at the others.
    pub fn duplicate(&self) -> Result<OwnedCommunicator<'e>, Error> {
        let made = self.make_duplicate("MPI_Comm_dup", &mut ready)?;
        Ok(OwnedCommunicator {
            env: self.env,
            made,
        })
    }

    /// Divides the processes by `color` into communicators of their own, ordered by `key` and, where keys
    /// are equal, as they are here; `None` stays out of all (MPI_Comm_split). Blocks until all processes
    /// have called it. Fails as [`Communicator::duplicate`], and with [`Error::Argument`] for a color above
    /// `i32::MAX`.
    pub fn split(
        &self,
        color: Option<u32>,
        key: i32,
    ) -> Result<Option<OwnedCommunicator<'e>>, Error> {
        let made = self.make_split("MPI_Comm_split", &mut ready, color, key)?;
        Ok(made.map(|made| OwnedCommunicator {
            env: self.env,
            made,
        }))
    }

    /// Creates a duplicate (MPI_Comm_dup). Collective; blocks.
    pub fn make_duplicate(self, function: &'static str, ready: Ready<'_>) -> Result<Made, Error> {
        let list = self.copied_list();
        let (context, list) = self.agree_on_context(function, ready, list)?;
        Ok(self.made_duplicate(context, list))
    }

    /// The duplicate with this context, on which its processes have agreed. Fails with [`Error::NoRoom`].
    pub fn make_duplicate_in(self, context: Context) -> Result<Made, Error> {
        let list = self.copied_list()?;
        Ok(self.made_duplicate(context, list))
    }

    fn made_duplicate(self, context: Context, list: Option<Box<[Rank]>>) -> Made {
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
        Made { membership, list }
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
        ready: Ready<'_>,
        color: Option<u32>,
        key: i32,
    ) -> Result<Option<Made>, Error> {
        let process = self.env.process();
        let (context, (choices, mut ranks, spare)) = self.choose(function, ready, color, key)?;
        choices.append(0..self.size(), &mut ranks);
        let Some(rank) = ranks.iter().position(|rank| *rank == self.own_rank()) else {
            process.retire_context(context);
            return Ok(None);
        };
        // The list is no longer than what is given back here.
        drop(spare);
        let mut members = room(ranks.len()).inspect_err(|_| process.retire_context(context))?;
        let membership = self.membership();
        members.extend(ranks.iter().map(|rank| membership.to_world(*rank)));
        let rank = CommRank(rank as u32);
        Ok(Some(Made::listed(self.env, members, context, rank)))
    }

    /// Agrees on the context of a split's parts, which is taken, and hears what each process has chosen; with room for
    /// the ranks of this one's part, and as much again for a list of its processes. Blocks and fails as
    /// [`Communicator::split`].
    pub(super) fn choose(
        self,
        function: &'static str,
        ready: Ready<'_>,
        color: Option<u32>,
        key: i32,
    ) -> Result<(Context, Rooms), Error> {
        let choices = Choices::new(self, color, key)?;
        let size = self.size() as usize;
        let rooms = choices.and_then(|choices| Ok((choices, room(size)?, room(size)?)));
        let (context, mut rooms) = self.agree_on_context(function, ready, rooms)?;
        // Before the choices are told: what is agreed on is held no longer.
        let process = self.env.process();
        process.take_context(self.env, context);
        let told = rooms.0.exchange(self, function);
        told.inspect_err(|_| process.retire_context(context))?;
        Ok((context, rooms))
    }

    /// A communicator of these processes of this one, by their numbers in the job and in their order; `None`
    /// where this process is not among them. Other processes may give other lists that have none of these
    /// in them, or have no room for it. Blocks until all processes have called it. Fails as
    /// [`Communicator::duplicate`].
    pub fn make_of(
        self,
        function: &'static str,
        ready: Ready<'_>,
        members: Result<Vec<Rank>, Error>,
    ) -> Result<Option<Made>, Error> {
        let own = self.membership().to_world(self.own_rank());
        let members = members.and_then(|members| exact(&members));
        let (context, members) = self.agree_on_context(function, ready, members)?;
        let Some(rank) = members.iter().position(|member| *member == own) else {
            return Ok(None);
        };
        self.env.process().take_context(self.env, context);
        let rank = CommRank(rank as u32);
        Ok(Some(Made::listed(self.env, members, context, rank)))
    }

    /// As [`Communicator::make_of`], by these processes alone, all of which give the same list: the others of the
    /// communicator need not call it (MPI_Comm_create_group). What they exchange is in the context of this
    /// communicator's collectives, which its processes call in the same order as this.
    pub fn make_group(
        self,
        function: &'static str,
        ready: Ready<'_>,
        members: Vec<Rank>,
    ) -> Result<Option<Made>, Error> {
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
            grid: Grid::find(shape(self.env), &members),
        };
        let among_them = Communicator::at(self.env, among);
        let (context, list) = among_them.agree_on_context(function, ready, exact(&members))?;
        self.env.process().take_context(self.env, context);
        Ok(Some(Made::listed(self.env, list, context, among.rank)))
    }

    /// The lowest context that all the processes have free, not taken yet, and what this process has got ready for
    /// it. Fails at all processes alike with [`Error::Limit`] and where one of them is not ready: see [`agree`].
    pub(super) fn agree_on_context<T>(
        self,
        function: &'static str,
        ready: Ready<'_>,
        got: Result<T, Error>,
    ) -> Result<(Context, T), Error> {
        agree(self.env, ready, got, &mut |masks| {
            self.and_masks(function, masks)
        })
    }
}

/// The lowest context that all processes have free whose masks `and` combines by bitwise AND, not taken yet, and what
/// this process has got ready for it. Fails as `and` does; at all processes alike with [`Error::Limit`]; and where one
/// of them is not `ready`, or has `got` an error, with that error there and [`Error::NoRoomElsewhere`] at the others.
pub(super) fn agree<T>(
    env: &dyn Env,
    ready: Ready<'_>,
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
    ready: Ready<'_>,
    and: &mut dyn FnMut(&mut [u64]) -> Result<(), Error>,
) -> Result<Context, Error> {
    const IDLE: u64 = 1;
    const READY: u64 = 2;
    let process = env.process();
    loop {
        let mut common = process.free_contexts(env);
        and(&mut common)?;
        let context = context::lowest(&common).ok_or(Error::Limit {
            what: Limited::Communicators,
            limit: CONTEXTS,
        })?;
        // Another agreement may have come to hold it since it was offered.
        let unit = context::unit(context);
        let is_held = process.hold_contexts(env, unit).is_some();
        let is_idle = is_held && process.confirm_context(env, context);
        let is_ready = ready(context);
        let mut everywhere =
            [if is_idle { IDLE } else { 0 } | if is_ready.is_ok() { READY } else { 0 }];
        let agreed = and(&mut everywhere);
        if is_held {
            // What uses the context takes it before anything else goes on.
            process.release_contexts(unit);
        }
        agreed?;
        is_ready?;
        match everywhere[0] {
            both if both == IDLE | READY => return Ok(context),
            READY => (),
            _ => return Err(Error::NoRoomElsewhere),
        }
    }
}

/// What a split needs: the choices, and room for ranks and for a list of processes.
pub(super) type Rooms = (Choices, Vec<CommRank>, Vec<Rank>);

/// The color and the key that each process has given to a split.
pub(super) struct Choices {
    all: Vec<[i32; 2]>,
    color: i32,
}

impl Choices {
    /// With room for those of all processes of `comm`. Fails with [`Error::Argument`] for a color above `i32::MAX`
    /// and, inside, with [`Error::NoRoom`].
    fn new(
        comm: Communicator<'_>,
        color: Option<u32>,
        key: i32,
    ) -> Result<Result<Choices, Error>, Error> {
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
        Ok(room(size).map(|mut all: Vec<_>| {
            all.resize(size, [color, key]);
            Choices { all, color }
        }))
    }

    /// Tells all processes of `comm` this one's, and hears theirs. Fails with [`Error::NoMemory`].
    fn exchange(&mut self, comm: Communicator<'_>, function: &'static str) -> Result<(), Error> {
        // Each process's stands in its own place already.
        comm.share_bytes(function, bytemuck::cast_slice_mut(&mut self.all))
    }

    /// Adds the processes with these ranks that have chosen this one's color to `list`, which has room for them: by
    /// key and, within equal keys, by rank. None, when this one has no color.
    pub(super) fn append(&self, ranks: Range<u32>, list: &mut Vec<CommRank>) {
        let start = list.len();
        let choice = |rank: CommRank| self.all[rank.0 as usize];
        let has_color = |rank: &CommRank| self.color != NO_COLOR && choice(*rank)[0] == self.color;
        list.extend(ranks.map(CommRank).filter(has_color));
        // Ranks are unique, so an unstable sort, which needs no memory, does.
        list[start..].sort_unstable_by_key(|rank| (choice(*rank)[1], *rank));
    }
}
