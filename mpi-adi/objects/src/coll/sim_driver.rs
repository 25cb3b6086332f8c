//! Collectives driven by a simulator of many processes, without blocking calls.
//!
//! Nothing here is linked into a program. The simulated collectives are those of programs: plans of the same schedules,
//! stored and performed by the same code (`running.rs`).

use alloc::vec::Vec;

use crate::coll::borrowed_device::BorrowedEnv;
use crate::coll::inter::{self, Role};
use crate::coll::nonblocking;
use crate::coll::run::{ReduceAreas, ReduceElements};
use crate::coll::running::{CollectiveSchedule, RunningCollective};
use crate::comm::{CommRank, Communicator, Membership, RankMap, shape};
use crate::error::Error;
use crate::grid::TorusBox;
use crate::inter_groups::GroupRanges;
use crate::process::{Env, Process};
use crate::slice_spans::writing;
use midplane_device::Adi;
use midplane_device::envelope::{Context, Rank};
use midplane_device::interface::Device;
use midplane_device::memory::UserMemory;
use midplane_device::memory::buffer_slice::BufferSlice;

/// View of a communicator by one of its processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommView {
    /// World ranks of its processes; for an intercommunicator those of the first group, then those of the second.
    pub list: &'static [Rank],
    /// For an intercommunicator, the size of the first group: at least one, and not all.
    pub first: Option<u32>,
    /// Index of this process in the list.
    pub place: u32,
    /// Even context that these processes use for no other communicator; the next one is for its collectives.
    pub context: Context,
}

impl CommView {
    fn halves(self) -> Option<GroupRanges> {
        Some(GroupRanges {
            first: self.first?,
            all: self.list.len() as u32,
            rank: CommRank(self.place),
        })
    }

    fn communicator(self, env: &dyn Env, grid: Option<TorusBox>) -> Communicator<'_> {
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

/// Collective to run. A root is an index in the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // The names are MPI's.
pub enum CollectiveKind {
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
    /// Not for intercommunicators.
    Scan,
}

/// Send and receive buffers of one process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CollectiveBuffers {
    /// Bytes of a part: the data that a process exchanges with one other process.
    pub part: usize,
    /// Send buffer: one part or, if each process gets its own, a row of parts. A broadcast uses it at all processes.
    pub given: Vec<u8>,
    /// Receive buffer, with the same layout. `None`: in place, supported for allreduce, scan and alltoall of one group.
    pub taken: Option<Vec<u8>>,
}

/// Locations of the buffers.
#[derive(Clone, Copy)]
struct BufferAreas {
    part: usize,
    given: BufferSlice,
    taken: BufferSlice,
}

impl CollectiveBuffers {
    fn areas(&mut self) -> BufferAreas {
        fn area(bytes: &mut [u8]) -> BufferSlice {
            if bytes.is_empty() {
                BufferSlice::EMPTY
            } else {
                // SAFETY: on the heap; not accessed or freed before the collective is complete (`Driven`).
                unsafe { writing(bytes) }.into()
            }
        }
        let given = area(&mut self.given);
        BufferAreas {
            part: self.part,
            given,
            taken: self.taken.as_deref_mut().map_or(given, area),
        }
    }
}

impl BufferAreas {
    /// Returns a function from a rank to its part in a row of parts.
    fn parts(self, row: BufferSlice) -> impl Fn(CommRank) -> BufferSlice + Send + use<> {
        move |rank| match self.part {
            0 => BufferSlice::EMPTY,
            part => row.part(rank.0 as usize * part, part),
        }
    }
}

/// A reduction operation: `right[i] = left[i] op right[i]`.
#[derive(Clone, Copy, Debug)]
pub struct ReduceOperation {
    /// Bytes of an element.
    pub element: usize,
    /// Combines equally many elements of both.
    pub combine: fn(&[u8], &mut [u8]),
    /// The operation is commutative.
    pub commute: bool,
}

/// A collective in progress, advanced by the simulator. If it is dropped before its end, its memory is never freed,
/// because the device may still use it.
pub struct SimCollective(Option<SimState>);

struct SimState {
    among: CommView,
    running: RunningCollective,
    buffers: CollectiveBuffers,
}

impl SimCollective {
    /// Creates the collective with index `number` in the order in which all processes of the communicator start them.
    /// Performs no step. Fails with [`Error::NoSpace`] or [`Error::NoMemory`].
    ///
    /// # Panics
    /// For a scan on an intercommunicator.
    pub fn start(
        env: &dyn Env,
        among: CommView,
        number: u32,
        what: CollectiveKind,
        mut buffers: CollectiveBuffers,
        operation: ReduceOperation,
    ) -> Result<SimCollective, Error> {
        let grid = TorusBox::find(shape(env), among.list);
        let (comm, areas) = (among.communicator(env, grid), buffers.areas());
        let plan = match among.halves() {
            // A barrier includes all processes of both groups.
            Some(halves) if what != CollectiveKind::Barrier => across(halves, what, areas, operation)?,
            _ => within(comm, what, areas, operation)?,
        };
        // The operation is not a function of a program. An exchange of counts allocates memory between steps, and is
        // not supported here.
        let plan = plan.advances_in_interrupts(true);
        let running = RunningCollective::new(comm, "a collective", number, plan)?;
        env.open_context(among.context);
        Ok(SimCollective(Some(SimState {
            among,
            running,
            buffers,
        })))
    }

    /// Checks whether its pending messages are complete.
    pub fn is_ready(&self, adi: &Adi) -> bool {
        let running = self.0.as_ref().map(|inside| &inside.running);
        running.is_some_and(|running| running.is_ready(adi.requests()))
    }

    /// Checks the same outside the device.
    pub fn is_ready_outside(&self, env: &dyn Env) -> bool {
        self.0.as_ref().is_some_and(|inside| {
            let comm = inside.among.communicator(env, None);
            inside.running.is_ready_outside(comm)
        })
    }

    /// Returns the number of messages in transit.
    pub fn messages(&self) -> u32 {
        let running = self.0.as_ref().map(|inside| &inside.running);
        running.map_or(0, RunningCollective::messages)
    }

    /// Advances it like an interrupt handler, by at most `steps` steps. Returns true if it made progress.
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

    /// Advances it until it must wait for messages (`None`) or to its end, and then returns the buffers. Does not
    /// block. An error also ends it.
    pub fn advance(&mut self, env: &dyn Env) -> Result<Option<CollectiveBuffers>, Error> {
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

impl Drop for SimCollective {
    fn drop(&mut self) {
        core::mem::forget(self.0.take());
    }
}

/// Creates the plan of a collective of one group.
fn within(
    comm: Communicator<'_>,
    what: CollectiveKind,
    areas: BufferAreas,
    ReduceOperation {
        element,
        combine,
        commute,
    }: ReduceOperation,
) -> Result<CollectiveSchedule, Error> {
    let BufferAreas { given, taken, .. } = areas;
    let (part, place) = (areas.parts(given), areas.parts(taken));
    let (areas, own) = (
        ReduceAreas {
            data: given,
            result: taken,
        },
        comm.own_rank(),
    );
    match what {
        CollectiveKind::Barrier => nonblocking::barrier(comm),
        CollectiveKind::Bcast { root } => nonblocking::bcast(comm, given, CommRank(root), ()),
        CollectiveKind::Gather { root } => nonblocking::gather(comm, given, place, CommRank(root), ()),
        CollectiveKind::Scatter { root } => nonblocking::scatter(comm, part, taken, CommRank(root), ()),
        CollectiveKind::Allgather => nonblocking::allgather(comm, given, place, ()),
        CollectiveKind::Alltoall if given == taken && !given.is_empty() => nonblocking::alltoall_in_place(comm, place),
        CollectiveKind::Alltoall => nonblocking::alltoall(comm, part, place),
        CollectiveKind::Reduce { root } if own.0 == root => nonblocking::reduce(comm, areas, element, combine, own, ()),
        CollectiveKind::Reduce { root } => {
            let areas = ReduceAreas {
                data: given,
                result: BufferSlice::EMPTY,
            };
            nonblocking::reduce(comm, areas, element, combine, CommRank(root), ())
        }
        CollectiveKind::Allreduce => {
            let elements = ReduceElements {
                size: element,
                commute,
                predefined: true,
            };
            nonblocking::allreduce(comm, areas, elements, combine, ())
        }
        CollectiveKind::ReduceScatter => nonblocking::reduce_scatter(comm, part, taken, element, combine, ()),
        CollectiveKind::Scan => nonblocking::scan(comm, areas, element, combine, true, ()),
    }
}

/// Creates the plan of a collective of two groups.
fn across(
    halves: GroupRanges,
    what: CollectiveKind,
    areas: BufferAreas,
    ReduceOperation { element, combine, .. }: ReduceOperation,
) -> Result<CollectiveSchedule, Error> {
    let BufferAreas { given, taken, .. } = areas;
    let (part, place) = (areas.parts(given), areas.parts(taken));
    let role = |root: u32| match (halves.remote_ranks(), halves.rank.0 == root) {
        (_, true) => Role::Root,
        (remote, _) if remote.contains(&root) => Role::Member(CommRank(root - remote.start)),
        _ => Role::NonParticipant,
    };
    match what {
        CollectiveKind::Bcast { root } => inter::bcast(halves, given, role(root), ()),
        CollectiveKind::Gather { root } => inter::gather(halves, given, place, role(root), ()),
        CollectiveKind::Scatter { root } => inter::scatter(halves, part, taken, role(root), ()),
        CollectiveKind::Allgather => inter::alltoall(halves, move |_| given, place, ()),
        CollectiveKind::Alltoall => inter::alltoall(halves, part, place, ()),
        CollectiveKind::Reduce { root } => inter::reduce(
            halves,
            ReduceAreas {
                data: given,
                result: taken,
            },
            element,
            combine,
            role(root),
            (),
        ),
        CollectiveKind::Allreduce => inter::allreduce(
            halves,
            ReduceAreas {
                data: given,
                result: taken,
            },
            element,
            combine,
            (),
        ),
        CollectiveKind::ReduceScatter => inter::reduce_scatter(halves, part, taken, element, combine, ()),
        CollectiveKind::Barrier | CollectiveKind::Scan => {
            panic!("no collective across groups: {what:?}")
        }
    }
}
