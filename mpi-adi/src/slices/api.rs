//! The Rust binding: typed, without unsafe code for its users.
//!
//! ```
//! use mpi_adi::{Communicator, Error, Op, Source, TagSelector};
//!
//! /// Adds up every process's number, the long way round: rank 0 receives in the order of arrival.
//! fn total(world: Communicator<'_>, mine: f64) -> Result<f64, Error> {
//!     if world.rank() != 0 {
//!         world.send(&[mine], 0, 1)?;
//!     }
//!     let mut sum = mine;
//!     for _ in 1..if world.rank() == 0 { world.size() } else { 1 } {
//!         let mut one = [0.0];
//!         world.recv(&mut one, Source::Any, TagSelector::Any)?;
//!         sum += one[0];
//!     }
//!     let mut checked = [0.0];
//!     world.allreduce(&[mine], &mut checked, Op::Sum)?;
//!     let mut sum = [sum];
//!     world.bcast(&mut sum, 0)?;
//!     assert_eq!(sum, checked);
//!     Ok(sum[0])
//! }
//! ```
#![forbid(unsafe_code)]

use bytemuck::{cast_slice, cast_slice_mut};

use crate::coll;
use crate::device::envelope::Tag;
use crate::device::request::Mode;
use crate::mpi::comm::{CommRank, Communicator, Status};
use crate::mpi::datatype::Datatype;
use crate::mpi::environment;
use crate::mpi::error::Error;
use crate::mpi::op::Op;
use crate::mpi::process::Env;

/// This process's part in the job: where a Rust program begins.
pub struct Mpi<'e> {
    env: &'e dyn Env,
}

impl Clone for Mpi<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Mpi<'_> {}

impl<'e> Mpi<'e> {
    /// The process whose device `env` gives access to. Its carrier makes one and hands it to the program.
    pub fn new(env: &'e dyn Env) -> Self {
        Mpi { env }
    }

    /// All processes of the job (MPI_COMM_WORLD).
    pub fn world(&self) -> Communicator<'e> {
        Communicator::world(self.env)
    }

    /// This process alone (MPI_COMM_SELF).
    pub fn own(&self) -> Communicator<'e> {
        Communicator::own(self.env)
    }

    /// Nanoseconds since this node started (MPI_Wtime, which gives seconds); clocks of different nodes are
    /// not synchronised. Does not block.
    pub fn now(&self) -> u64 {
        let mut now = 0;
        self.env.with(&mut |_, kernel| now = kernel.now());
        now
    }

    /// This node's coordinates on the torus.
    pub fn coordinates(&self) -> net_torus::coord::Coord {
        environment::here(self.env)
    }

    /// Ends the whole job at once with `status` (MPI_Abort, MPI-3.1 section 8.7).
    pub fn abort(&self, status: i32) -> ! {
        environment::abort(self.env, status)
    }

    /// Blocks until everything that this process has sent and that is received is out of its hands and every other
    /// process has come here too (MPI_Finalize). Fails with [`Error::NoMemory`].
    pub fn finalize(self) -> Result<(), Error> {
        environment::finalize(self.env)
    }
}

/// Whom a receive takes messages from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// All ranks (MPI_ANY_SOURCE).
    Any,
    /// This rank.
    Rank(u32),
}

impl Source {
    pub(crate) fn rank(self) -> Option<CommRank> {
        match self {
            Source::Any => None,
            Source::Rank(rank) => Some(CommRank(rank)),
        }
    }
}

impl From<u32> for Source {
    fn from(rank: u32) -> Self {
        Source::Rank(rank)
    }
}

/// Which tags a receive takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TagSelector {
    /// All (MPI_ANY_TAG).
    Any,
    /// This one.
    Tag(Tag),
}

impl TagSelector {
    pub(crate) fn tag(self) -> Option<Tag> {
        match self {
            TagSelector::Any => None,
            TagSelector::Tag(tag) => Some(tag),
        }
    }
}

impl From<Tag> for TagSelector {
    fn from(tag: Tag) -> Self {
        TagSelector::Tag(tag)
    }
}

impl Status {
    /// Elements of `T` received (MPI_Get_count); `None` when the bytes are no whole number of them
    /// (MPI_UNDEFINED).
    pub fn count<T: Datatype>(&self) -> Option<usize> {
        self.bytes
            .is_multiple_of(size_of::<T>())
            .then(|| self.bytes / size_of::<T>())
    }
}

/// Blocking point to point (MPI-3.1 sections 3.2, 3.4, 3.8, 3.10).
impl Communicator<'_> {
    /// Sends `data`; blocks until it may be changed again, which may be before it is received (MPI_Send).
    /// Fails with [`Error::Rank`], [`Error::Tag`], [`Error::TooLong`] or [`Error::NoMemory`].
    pub fn send<T: Datatype>(&self, data: &[T], dest: u32, tag: Tag) -> Result<(), Error> {
        self.partners().send_bytes(
            "MPI_Send",
            cast_slice(data),
            CommRank(dest),
            tag,
            Mode::Standard,
        )
    }

    /// Sends `data`; blocks until a receive has matched it (MPI_Ssend). Fails as [`Communicator::send`].
    pub fn ssend<T: Datatype>(&self, data: &[T], dest: u32, tag: Tag) -> Result<(), Error> {
        self.partners().send_bytes(
            "MPI_Ssend",
            cast_slice(data),
            CommRank(dest),
            tag,
            Mode::Synchronous,
        )
    }

    /// Receives a message from `source` with `tag`, either of which may be a wildcard; blocks until it is
    /// there (MPI_Recv). A shorter message leaves the rest of `buffer` as it was. Fails with
    /// [`Error::Rank`], [`Error::Tag`], [`Error::NoMemory`] or [`Error::Truncated`].
    pub fn recv<T: Datatype>(
        &self,
        buffer: &mut [T],
        source: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Status, Error> {
        self.partners().recv_bytes(
            "MPI_Recv",
            cast_slice_mut(buffer),
            source.into().rank(),
            tag.into().tag(),
        )
    }

    /// Sends `data` and receives into `buffer` at once, so that a ring or a chain of such calls does not
    /// block itself (MPI_Sendrecv). Blocks until both are done. Fails as [`Communicator::send`] and
    /// [`Communicator::recv`]; when only the receive fails, the send has been done.
    pub fn sendrecv<T: Datatype, U: Datatype>(
        &self,
        data: &[T],
        dest: u32,
        send_tag: Tag,
        buffer: &mut [U],
        source: impl Into<Source>,
        recv_tag: impl Into<TagSelector>,
    ) -> Result<Status, Error> {
        self.partners().sendrecv_bytes(
            "MPI_Sendrecv",
            (cast_slice(data), CommRank(dest), send_tag),
            (
                cast_slice_mut(buffer),
                source.into().rank(),
                recv_tag.into().tag(),
            ),
        )
    }

    /// Blocks until a message that fits can be received, and says which (MPI_Probe). Fails with
    /// [`Error::Rank`], [`Error::Tag`] or [`Error::NoMemory`].
    pub fn probe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Status, Error> {
        self.partners()
            .probe_span("MPI_Probe", source.into().rank(), tag.into().tag())
    }

    /// As [`Communicator::probe`] without blocking: `None` when no message that fits is there yet
    /// (MPI_Iprobe).
    pub fn iprobe(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagSelector>,
    ) -> Result<Option<Status>, Error> {
        self.partners()
            .iprobe_span("MPI_Iprobe", source.into().rank(), tag.into().tag())
    }
}

/// Collectives (MPI-3.1 chapter 5). All of them block, and every process of the communicator must call
/// them in the same order with arguments that fit together. All fail with [`Error::NoMemory`]; after an
/// error the other processes may wait for this one.
impl Communicator<'_> {
    /// Blocks until every process has called it (MPI_Barrier).
    pub fn barrier(&self) -> Result<(), Error> {
        coll::barrier(*self, "MPI_Barrier")
    }

    /// Gives `root`'s data to all processes (MPI_Bcast). Fails with [`Error::Root`], and with
    /// [`Error::CountsDiffer`] where the slice is not as long as the root's.
    pub fn bcast<T: Datatype>(&self, data: &mut [T], root: u32) -> Result<(), Error> {
        self.bcast_bytes("MPI_Bcast", cast_slice_mut(data), CommRank(root))
    }

    /// Combines all processes' `data`, place by place, into `result` at `root` (MPI_Reduce); the others give
    /// `None`. The same values give the same result, bit for bit, at every root and in every run. Fails
    /// with [`Error::Root`], [`Error::Undefined`], and [`Error::Lengths`] when `result` is not as long as
    /// `data`, or missing at the root.
    pub fn reduce<T: Datatype>(
        &self,
        data: &[T],
        result: Option<&mut [T]>,
        op: Op,
        root: u32,
    ) -> Result<(), Error> {
        if self.rank() == root {
            same_length(
                size_of_val(data),
                result.as_ref().map_or(0, |result| size_of_val(*result)),
            )?;
        }
        self.reduce_slices(data, result, op, CommRank(root))
    }

    /// Combines all processes' `data`, place by place, into every process's `result` (MPI_Allreduce), as
    /// [`Communicator::reduce`] does. Fails with [`Error::Undefined`], and [`Error::Lengths`] when the two
    /// differ in length.
    pub fn allreduce<T: Datatype>(
        &self,
        data: &[T],
        result: &mut [T],
        op: Op,
    ) -> Result<(), Error> {
        same_length(size_of_val(data), size_of_val(result))?;
        self.allreduce_slices(data, result, op)
    }

    /// Collects all processes' `data`, in the order of the ranks, into `all` at `root` (MPI_Gather); at the
    /// others `all` may be empty. Fails with [`Error::Root`], and [`Error::Lengths`] when `all` at the root
    /// is not `size` times as long as `data`.
    pub fn gather<T: Datatype>(&self, data: &[T], all: &mut [T], root: u32) -> Result<(), Error> {
        if self.rank() == root {
            same_length(size_of_val(data) * self.size() as usize, size_of_val(all))?;
        }
        self.gather_bytes(cast_slice(data), cast_slice_mut(all), CommRank(root))
    }

    /// As [`Communicator::gather`], to all processes (MPI_Allgather).
    pub fn allgather<T: Datatype>(&self, data: &[T], all: &mut [T]) -> Result<(), Error> {
        same_length(size_of_val(data) * self.size() as usize, size_of_val(all))?;
        self.allgather_bytes("MPI_Allgather", cast_slice(data), cast_slice_mut(all))
    }

    /// Gives each rank its part of `root`'s `all` (MPI_Scatter); at the others `all` may be empty. Fails
    /// with [`Error::Root`], and [`Error::Lengths`] when `all` at the root is not `size` times as long as
    /// `part`.
    pub fn scatter<T: Datatype>(&self, all: &[T], part: &mut [T], root: u32) -> Result<(), Error> {
        if self.rank() == root {
            same_length(size_of_val(part) * self.size() as usize, size_of_val(all))?;
        }
        self.scatter_bytes(cast_slice(all), cast_slice_mut(part), CommRank(root))
    }
}

fn same_length(expected: usize, given: usize) -> Result<(), Error> {
    if expected == given {
        Ok(())
    } else {
        Err(Error::Lengths { expected, given })
    }
}
