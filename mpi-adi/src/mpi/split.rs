//! Communicators that a program makes (MPI-3.1 section 6.4.2).
//!
//! A context is never used twice, so that a message left over from a communicator that is gone matches
//! nothing: all processes of the parent agree on the greatest that any of them would take next. Parts of a
//! split share one context, since nobody is in two of them.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::device::envelope::{Context, Rank};
use crate::device::kernel::Env;
use crate::mpi::comm::{Communicator, FIRST_MADE_CONTEXT, Group, Seat};
use crate::mpi::error::Error;
use crate::mpi::op::Op;

/// Communicators that a job can make over its whole life.
pub const MADE_COMMUNICATORS: usize = (Context::MAX - FIRST_MADE_CONTEXT) as usize / 2;

/// A communicator made from another one. Its messages stay apart from every other communicator's.
#[derive(Clone)]
pub struct OwnedCommunicator<'e> {
    env: &'e dyn Env,
    made: Made,
}

impl OwnedCommunicator<'_> {
    /// The communicator.
    pub fn get(&self) -> Communicator<'_> {
        Communicator::at(self.env, self.made.seat())
    }
}

/// What is owned of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Made {
    /// The whole seat but for a list of members.
    seat: Seat<'static>,
    list: Option<Box<[Rank]>>,
}

impl Made {
    fn seat(&self) -> Seat<'_> {
        match &self.list {
            Some(list) => Seat {
                group: Group::List(list),
                ..self.seat
            },
            None => self.seat,
        }
    }

    /// Its context.
    pub(crate) fn context(&self) -> Context {
        self.seat.context
    }

    /// The seat for ever; its list, if it has one, is not freed.
    pub(crate) fn leak(self) -> Seat<'static> {
        match self.list {
            Some(list) => Seat {
                group: Group::List(Box::leak(list)),
                ..self.seat
            },
            None => self.seat,
        }
    }
}

/// A process's color when it wants to be in no part.
const NO_COLOR: i32 = -1;

impl<'e> Communicator<'e> {
    /// Another communicator of the same processes (MPI_Comm_dup). Blocks until all of them have called it.
    /// Fails with [`Error::NoMemory`], [`Error::NoRoom`] and, at all processes alike, [`Error::Limit`].
    pub fn duplicate(&self) -> Result<OwnedCommunicator<'e>, Error> {
        let made = self.make_duplicate()?;
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
        let made = self.make_split(color, key)?;
        Ok(made.map(|made| OwnedCommunicator {
            env: self.env,
            made,
        }))
    }

    pub(crate) fn make_duplicate(self) -> Result<Made, Error> {
        let seat = self.seat();
        let (group, list) = match seat.group {
            Group::List(list) => {
                let mut copy = room(list.len())?;
                copy.extend_from_slice(list);
                (Group::All, Some(copy.into_boxed_slice()))
            }
            Group::All => (Group::All, None),
            Group::One(world) => (Group::One(world), None),
        };
        let context = self.agree_on_context()?;
        let (rank, size) = (seat.rank, seat.size);
        let seat = Seat {
            group,
            context,
            rank,
            size,
        };
        Ok(Made { seat, list })
    }

    pub(crate) fn make_split(self, color: Option<u32>, key: i32) -> Result<Option<Made>, Error> {
        let color = match color.map(i32::try_from) {
            None => NO_COLOR,
            Some(Ok(color)) => color,
            Some(Err(_)) => {
                return Err(Error::Argument {
                    what: "a color is at most 2147483647",
                });
            }
        };
        let size = self.size() as usize;
        let mut choices = room(size)?;
        choices.resize(size, [color, key]);
        let mut members = room(size)?;
        self.allgather_bytes(
            bytemuck::bytes_of(&[color, key]),
            bytemuck::cast_slice_mut(&mut choices),
        )?;
        let context = self.agree_on_context()?;
        if color == NO_COLOR {
            return Ok(None);
        }
        members.extend((0..self.size()).filter(|rank| choices[*rank as usize][0] == color));
        // By rank within equal keys: ranks are unique, so an unstable sort, which needs no memory, does.
        members.sort_unstable_by_key(|rank| (choices[*rank as usize][1], *rank));
        let rank = members
            .iter()
            .position(|rank| *rank == self.rank())
            .unwrap_or(0) as Rank;
        let seat = self.seat();
        members
            .iter_mut()
            .for_each(|rank| *rank = seat.to_world(*rank));
        members.shrink_to_fit();
        let seat = Seat {
            group: Group::All,
            context,
            rank,
            size: members.len() as Rank,
        };
        Ok(Some(Made {
            seat,
            list: Some(members.into_boxed_slice()),
        }))
    }

    /// A communicator of these processes of this one, by their numbers in the job and in their order; `None`
    /// where this process is not among them. Other processes may give other lists that have none of these
    /// in them. Blocks until all processes have called it. Fails as [`Communicator::duplicate`].
    pub(crate) fn make_of(self, members: Vec<Rank>) -> Result<Option<Made>, Error> {
        let own = self.seat().to_world(self.rank());
        let context = self.agree_on_context()?;
        let Some(rank) = members.iter().position(|member| *member == own) else {
            return Ok(None);
        };
        let seat = Seat {
            group: Group::All,
            context,
            rank: rank as Rank,
            size: members.len() as Rank,
        };
        Ok(Some(Made {
            seat,
            list: Some(members.into_boxed_slice()),
        }))
    }

    /// The next context that none of the processes has used.
    fn agree_on_context(self) -> Result<Context, Error> {
        let mut next = 0;
        self.env.with(&mut |adi, _| next = adi.next_context);
        let mut agreed = [0u16];
        self.allreduce(&[next], &mut agreed, Op::Max)?;
        let [context] = agreed;
        // Every process sees the same number here, so all fail or none does.
        let Some(after) = context.checked_add(2) else {
            return Err(Error::Limit {
                what: "communicators in a job's life",
                limit: MADE_COMMUNICATORS,
            });
        };
        self.env.with(&mut |adi, _| adi.next_context = after);
        Ok(context)
    }
}

fn room<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut items = Vec::new();
    match items.try_reserve_exact(count) {
        Ok(()) => Ok(items),
        Err(_) => Err(Error::NoRoom {
            bytes: count * size_of::<T>(),
        }),
    }
}
