//! Collectives that a carrier drives by itself: a model of a machine, which has many processes and no calls that block.
//!
//! Nothing here is linked into a program. What it drives is what programs have: plans of the same schedules, kept and
//! performed by the same code (`running.rs`).

use alloc::vec::Vec;

use crate::coll::borrowed_device::BorrowedEnv;
use crate::coll::inter::{self, Role};
use crate::coll::plans;
use crate::coll::run::Elements;
use crate::coll::running::{Plan, Running};
use crate::comm::{CommRank, Communicator, Membership, RankMap, shape};
use crate::error::Error;
use crate::grid::Grid;
use crate::lend::writing;
use crate::process::{Env, Process};
use crate::sides::Halves;
use midplane_device::Adi;
use midplane_device::envelope::{Context, Rank};
use midplane_device::interface::Device;
use midplane_device::memory::UserMemory;
use midplane_device::memory::area::Area;

/// What one process knows of a communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Among {
    /// Its processes, by their numbers in the job: of an intercommunicator those of the first group, and behind them
    /// those of the second.
    pub list: &'static [Rank],
    /// Of an intercommunicator, how many are in the first group: at least one, and not all.
    pub first: Option<u32>,
    /// The place of this process in the list.
    pub place: u32,
    /// Even, and of no other communicator of these processes; the next one is for its collectives.
    pub context: Context,
}

impl Among {
    fn halves(self) -> Option<Halves> {
        Some(Halves {
            first: self.first?,
            all: self.list.len() as u32,
            rank: CommRank(self.place),
        })
    }

    fn communicator(self, env: &dyn Env, grid: Option<Grid>) -> Communicator<'_> {
        let membership = Membership {
            map: RankMap::List(self.list),
            context: self.context,
            rank: CommRank(self.place),
            size: self.list.len() as u32,
            grid,
        };
        Communicator::at(env, membership)
    }
}

/// What is done. A root is a place in the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The names are MPI's.
pub enum What {
    Barrier,
    Bcast {
        root: u32,
    },
    Gather {
        root: u32,
    },
    Scatter {
        root: u32,
    },
    Allgather,
    Alltoall,
    Reduce {
        root: u32,
    },
    Allreduce,
    ReduceScatter,
    /// Of communicators of one group alone.
    Scan,
}

/// What one process gives and takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Buffers {
    /// Bytes of a process's part: of what a root or every process gives to each, or gets from each.
    pub part: usize,
    /// What it gives: a part, or where it gives each process one, a row of parts. A broadcast is in this one, at all
    /// processes.
    pub given: Vec<u8>,
    /// Where what it gets goes, in the same way. `None`: to where what it gives is, which an allreduce, a scan and an
    /// exchange of all with all of one group allow.
    pub taken: Option<Vec<u8>>,
}

/// Where they are.
#[derive(Clone, Copy)]
struct Areas {
    part: usize,
    given: Area,
    taken: Area,
}

impl Buffers {
    fn areas(&mut self) -> Areas {
        fn area(bytes: &mut [u8]) -> Area {
            match bytes.is_empty() {
                true => Area::EMPTY,
                // SAFETY: on the heap; not touched or freed before the collective is over (`Driven`).
                false => unsafe { writing(bytes) }.into(),
            }
        }
        let given = area(&mut self.given);
        Areas {
            part: self.part,
            given,
            taken: self.taken.as_deref_mut().map_or(given, area),
        }
    }
}

impl Areas {
    /// Which bytes of a row of parts are a rank's.
    fn parts(self, row: Area) -> impl Fn(CommRank) -> Area + Send + use<> {
        move |rank| match self.part {
            0 => Area::EMPTY,
            part => row.part(rank.0 as usize * part, part),
        }
    }
}

/// What combines elements: `right[i] = left[i] op right[i]`.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Bytes of an element.
    pub element: usize,
    /// Combines as many elements of both.
    pub combine: fn(&[u8], &mut [u8]),
    /// They may be combined in any order.
    pub commute: bool,
}

/// A collective under way, which its carrier lets go on. What is dropped before its end keeps its memory for ever: the
/// device may still use it.
pub struct Driven(Option<Inside>);

struct Inside {
    among: Among,
    running: Running,
    buffers: Buffers,
}

impl Driven {
    /// The collective with this number among those that the processes start on this communicator, in the order in which
    /// all start them. Nothing of it has been done. Fails with [`Error::NoRoom`] or [`Error::NoMemory`].
    ///
    /// # Panics
    /// For a scan on an intercommunicator.
    pub fn start(
        env: &dyn Env,
        among: Among,
        number: u32,
        what: What,
        mut buffers: Buffers,
        operation: Operation,
    ) -> Result<Driven, Error> {
        let grid = Grid::find(shape(env), among.list);
        let (comm, areas) = (among.communicator(env, grid), buffers.areas());
        let plan = match among.halves() {
            // A barrier is one of all processes of both groups.
            Some(halves) if what != What::Barrier => across(halves, what, areas, operation)?,
            _ => within(comm, what, areas, operation)?,
        };
        // What combines here is none of a program's functions. An exchange of counts takes memory on its way, and is not
        // among these.
        let plan = plan.advances_in_interrupts(true);
        let running = Running::new(comm, "a collective", number, plan)?;
        env.open_context(among.context);
        Ok(Driven(Some(Inside {
            among,
            running,
            buffers,
        })))
    }

    /// The messages that it waits for are there.
    pub fn is_ready(&self, adi: &Adi) -> bool {
        let running = self.0.as_ref().map(|inside| &inside.running);
        running.is_some_and(|running| running.is_ready(adi.requests()))
    }

    /// The same, outside of the device.
    pub fn is_ready_outside(&self, env: &dyn Env) -> bool {
        self.0.as_ref().is_some_and(|inside| {
            let comm = inside.among.communicator(env, None);
            inside.running.is_ready_outside(comm)
        })
    }

    /// Messages under way.
    pub fn messages(&self) -> u32 {
        let running = self.0.as_ref().map(|inside| &inside.running);
        running.map_or(0, Running::messages)
    }

    /// Goes on as an interrupt lets it, by so many steps at most; true when it got on.
    pub fn advance_in_interrupt(
        &mut self,
        adi: &mut Adi,
        memory: &mut dyn UserMemory,
        process: &Process,
        mut steps: u32,
    ) -> bool {
        let Some(inside) = &mut self.0 else {
            return false;
        };
        let device = BorrowedEnv::new(adi, memory, process);
        let comm = inside.among.communicator(&device, None);
        inside.running.advance_in_interrupt(comm, &mut steps)
    }

    /// Goes on until it has to wait for messages: `None`; or to its end, and the buffers are the caller's again. Does
    /// not block. An error is its end, too.
    pub fn advance(&mut self, env: &dyn Env) -> Result<Option<Buffers>, Error> {
        let Some(inside) = &mut self.0 else {
            return Ok(None);
        };
        let comm = inside.among.communicator(env, None);
        let is_over = inside.running.advance(comm);
        if let Ok(false) = is_over {
            return Ok(None);
        }
        let over = self.0.take();
        is_over.map(|_| over.map(|inside| inside.buffers))
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        core::mem::forget(self.0.take());
    }
}

/// The plan of a collective of one group.
fn within(
    comm: Communicator<'_>,
    what: What,
    areas: Areas,
    Operation {
        element,
        combine,
        commute,
    }: Operation,
) -> Result<Plan, Error> {
    let Areas { given, taken, .. } = areas;
    let (part, place) = (areas.parts(given), areas.parts(taken));
    let (areas, own) = ((given, taken), comm.own_rank());
    match what {
        What::Barrier => plans::barrier(comm),
        What::Bcast { root } => plans::bcast(comm, given, CommRank(root), ()),
        What::Gather { root } => plans::gather(comm, given, place, CommRank(root), ()),
        What::Scatter { root } => plans::scatter(comm, part, taken, CommRank(root), ()),
        What::Allgather => plans::allgather(comm, given, place, ()),
        What::Alltoall if given == taken && !given.is_empty() => {
            plans::alltoall_in_place(comm, place)
        }
        What::Alltoall => plans::alltoall(comm, part, place),
        What::Reduce { root } if own.0 == root => {
            plans::reduce(comm, areas, element, combine, own, ())
        }
        What::Reduce { root } => {
            let areas = (given, Area::EMPTY);
            plans::reduce(comm, areas, element, combine, CommRank(root), ())
        }
        What::Allreduce => {
            let elements = Elements {
                size: element,
                commute,
                predefined: true,
            };
            plans::allreduce(comm, areas, elements, combine, ())
        }
        What::ReduceScatter => plans::reduce_scatter(comm, part, taken, element, combine, ()),
        What::Scan => plans::scan(comm, areas, element, combine, true, ()),
    }
}

/// The plan of a collective of two groups.
fn across(
    halves: Halves,
    what: What,
    areas: Areas,
    Operation {
        element, combine, ..
    }: Operation,
) -> Result<Plan, Error> {
    let Areas { given, taken, .. } = areas;
    let (part, place) = (areas.parts(given), areas.parts(taken));
    let role = |root: u32| match (halves.remote_ranks(), halves.rank.0 == root) {
        (_, true) => Role::Root,
        (remote, _) if remote.contains(&root) => Role::Member(CommRank(root - remote.start)),
        _ => Role::Bystander,
    };
    match what {
        What::Bcast { root } => inter::bcast(halves, given, role(root), ()),
        What::Gather { root } => inter::gather(halves, given, place, role(root), ()),
        What::Scatter { root } => inter::scatter(halves, part, taken, role(root), ()),
        What::Allgather => inter::alltoall(halves, move |_| given, place, ()),
        What::Alltoall => inter::alltoall(halves, part, place, ()),
        What::Reduce { root } => {
            inter::reduce(halves, (given, taken), element, combine, role(root), ())
        }
        What::Allreduce => inter::allreduce(halves, (given, taken), element, combine, ()),
        What::ReduceScatter => inter::reduce_scatter(halves, part, taken, element, combine, ()),
        What::Barrier | What::Scan => panic!("no collective across groups: {what:?}"),
    }
}
