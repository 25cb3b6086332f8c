//! Collectives with a root.
#![forbid(unsafe_code)]

use super::call::{CallTarget, collectives};
use super::group::CollectiveTarget;
use super::operation::{NoOperation, Operation, by};
use crate::datatype::operands::{
    NoBuffer, RankParts, borrow_equal, borrow_equal_mut, borrow_parts, borrow_parts_mut, borrow_whole, borrow_whole_mut,
};
use crate::datatype::{Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut};
use crate::topology::{AsCommunicator, CommRecord, Communicator, Process, Rank};
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll::ReduceAreas;
use midplane_objects::comm::CommRank;

/// Defines the calls of non-root processes; the root is in the same communicator or in the other group.
macro_rules! of_members {
    ($owner:literal, [$vis:vis fn], $anyone:ident, $others:ident) => {
        collectives! {
            $owner, [$vis fn], |on, mode, root, given, taken|;

            /// Broadcasts the root's buffer to all processes, which receive it in `buffer` (MPI-3.1 section 5.4).
            broadcast => broadcast_into, immediate_broadcast_into, "MPI_Bcast", "MPI_Ibcast";
            $anyone ['a, B: BufferMut + ?Sized](buffer: &'a mut B) -> B, taken;
            NoBuffer, borrow_whole_mut(buffer), NoOperation => on.bcast(mode, taken, root);

            /// Sends `sendbuf` to the root (MPI-3.1 section 5.5).
            gather => gather_into, immediate_gather_into, "MPI_Gather", "MPI_Igather";
            $others ['a, S: Buffer + ?Sized](sendbuf: &'a S) -> S, given;
            borrow_whole(sendbuf), NoBuffer, NoOperation => on.gather(mode, given, BufferSlice::EMPTY, root);

            /// [`gather`](Self::gather) with a separate count: the length of the root's part for this process.
            gather_varcount => gather_varcount_into, immediate_gather_varcount_into, "MPI_Gatherv", "MPI_Igatherv";
            $others ['a, S: Buffer + ?Sized](sendbuf: &'a S) -> S, given;
            borrow_whole(sendbuf), NoBuffer, NoOperation => on.gather(mode, given, BufferSlice::EMPTY, root);

            /// Receives this process's part of the root's buffer (MPI-3.1 section 5.6).
            scatter => scatter_into, immediate_scatter_into, "MPI_Scatter", "MPI_Iscatter";
            $others ['a, R: BufferMut + ?Sized](recvbuf: &'a mut R) -> R, taken;
            NoBuffer, borrow_whole_mut(recvbuf), NoOperation => on.scatter(mode, BufferSlice::EMPTY, taken, root);

            /// [`scatter`](Self::scatter) with a separate count: the length of the root's part for this process.
            scatter_varcount => scatter_varcount_into, immediate_scatter_varcount_into, "MPI_Scatterv", "MPI_Iscatterv";
            $others ['a, R: BufferMut + ?Sized](recvbuf: &'a mut R) -> R, taken;
            NoBuffer, borrow_whole_mut(recvbuf), NoOperation => on.scatter(mode, BufferSlice::EMPTY, taken, root);

            /// Reduces `sendbuf` of the processes, element by element, at the root (MPI-3.1 section 5.9.1).
            reduce => reduce_into, immediate_reduce_into, "MPI_Reduce", "MPI_Ireduce";
            $others ['a, S: Buffer + ?Sized, O: Operation + 'a](sendbuf: &'a S, op: O) -> S, given;
            borrow_whole(sendbuf), NoBuffer, by::<'a, O>(op) => on.reduce(mode, ReduceAreas { data: given, result: BufferSlice::EMPTY }, root);
        }
    };
}
pub(super) use of_members;

type RootedCall<'c> = CallTarget<'c, &'c CommRecord, CommRank>;

fn anyone<R: Root + ?Sized>(of: &R) -> RootedCall<'_> {
    let record = &of.as_communicator().as_simple().record;
    let group = record.membership().group();
    (record, record, group.rank(of.root_rank().into()), None)
}

fn called<R: Root + ?Sized>(of: &R, by_root: bool) -> RootedCall<'_> {
    let (record, on, root, _) = anyone(of);
    let (rank, root_rank) = (of.as_communicator().as_simple().rank(), of.root_rank());
    let is_allowed = (rank == root_rank) == by_root;
    (record, on, root, (!is_allowed).then_some([rank, root_rank]))
}

fn the_root<R: Root + ?Sized>(of: &R) -> RootedCall<'_> {
    called(of, true)
}

fn others<R: Root + ?Sized>(of: &R) -> RootedCall<'_> {
    called(of, false)
}

/// Root of collectives: a [`Process`].
///
/// The root calls the forms with `_root`, all other processes those without. The [module](super) describes calls,
/// blocking and errors.
///
/// A process that calls the wrong form panics; [`try_run`](super::Collective::try_run) and
/// [`try_start`](super::Collective::try_start) return [`Error::Argument`](midplane_objects::Error::Argument) instead.
pub trait Root: AsCommunicator<Out: Communicator> {
    /// Returns the root's rank.
    fn root_rank(&self) -> Rank;

    of_members!("mpi::collective::Root", [fn], anyone, others);

    collectives! {
        "mpi::collective::Root", [fn], |on, mode, root, given, taken|;

        /// Gathers all processes' `sendbuf`, in rank order, in `recvbuf`.
        gather_root => gather_into_root, immediate_gather_into_root, "MPI_Gather", "MPI_Igather";
        the_root ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R) -> R, taken;
        borrow_whole(sendbuf), borrow_equal_mut(recvbuf), NoOperation => on.gather(mode, given, taken, root);

        /// [`gather_root`](Self::gather_root) into parts of different lengths.
        gather_varcount_root => gather_varcount_into_root, immediate_gather_varcount_into_root,
            "MPI_Gatherv", "MPI_Igatherv";
        the_root ['a, S: Buffer + ?Sized, R: PartitionedBufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R)
            -> R, taken;
        borrow_whole(sendbuf), borrow_parts_mut(recvbuf), NoOperation => on.gather(mode, given, taken, root);

        /// Sends each process its part of `sendbuf`.
        scatter_root => scatter_into_root, immediate_scatter_into_root, "MPI_Scatter", "MPI_Iscatter";
        the_root ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R) -> R, taken;
        borrow_equal(sendbuf), borrow_whole_mut(recvbuf), NoOperation => on.scatter(mode, given, taken, root);

        /// [`scatter_root`](Self::scatter_root) with parts of different lengths.
        scatter_varcount_root => scatter_varcount_into_root, immediate_scatter_varcount_into_root,
            "MPI_Scatterv", "MPI_Iscatterv";
        the_root ['a, S: PartitionedBuffer + ?Sized, R: BufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R)
            -> R, taken;
        borrow_parts(sendbuf), borrow_whole_mut(recvbuf), NoOperation => on.scatter(mode, given, taken, root);

        /// [`reduce`](Self::reduce) at the root, with the result in `recvbuf`.
        reduce_root => reduce_into_root, immediate_reduce_into_root, "MPI_Reduce", "MPI_Ireduce";
        the_root ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation + 'a]
            (sendbuf: &'a S, recvbuf: &'a mut R, op: O) -> R, taken;
        borrow_whole(sendbuf), borrow_whole_mut(recvbuf), by::<'a, O>(op) => on.reduce(mode, ReduceAreas { data: given, result: taken }, root);
    }
}

impl Root for Process<'_> {
    fn root_rank(&self) -> Rank {
        self.rank()
    }
}

/// In-place collectives of the root (MPI_IN_PLACE, MPI-3.1 section 5.2.1): forms of the `_root` functions of [`Root`].
/// The other processes call the forms of [`Root`] without `_root`.
pub trait RootInPlace: Root {
    collectives! {
        "mpi::collective::RootInPlace", [fn], |on, mode, root, given, taken|;

        /// Gathers all processes' parts, in rank order, in `buffer`, which contains the root's own part at its offset
        /// (MPI-3.1 section 5.5).
        gather_in_root => gather_in_place_root, immediate_gather_in_place_root, "MPI_Gather", "MPI_Igather";
        the_root ['a, B: BufferMut + ?Sized](buffer: &'a mut B) -> B, taken;
        NoBuffer, borrow_equal_mut(buffer), NoOperation => on.gather(mode, taken.area_of(root), taken, root);

        /// [`gather_in_root`](Self::gather_in_root) with parts of different lengths.
        gather_varcount_in_root => gather_varcount_in_place_root, immediate_gather_varcount_in_place_root,
            "MPI_Gatherv", "MPI_Igatherv";
        the_root ['a, B: PartitionedBufferMut + ?Sized](buffer: &'a mut B) -> B, taken;
        NoBuffer, borrow_parts_mut(buffer), NoOperation => on.gather(mode, taken.area_of(root), taken, root);

        /// Sends each process its part of `buffer`, which also contains the root's own (MPI-3.1 section 5.6).
        scatter_in_root => scatter_in_place_root, immediate_scatter_in_place_root, "MPI_Scatter", "MPI_Iscatter";
        the_root ['a, B: Buffer + ?Sized](buffer: &'a B) -> B, given;
        borrow_equal(buffer), NoBuffer, NoOperation => {
            let own = given.area_of(root);
            on.scatter(mode, given, own, root)
        };

        /// [`scatter_in_root`](Self::scatter_in_root) with parts of different lengths.
        scatter_varcount_in_root => scatter_varcount_in_place_root, immediate_scatter_varcount_in_place_root,
            "MPI_Scatterv", "MPI_Iscatterv";
        the_root ['a, B: PartitionedBuffer + ?Sized](buffer: &'a B) -> B, given;
        borrow_parts(buffer), NoBuffer, NoOperation => {
            let own = given.area_of(root);
            on.scatter(mode, given, own, root)
        };

        /// Reduces all processes' buffers, element by element, into `buffer` of the root (MPI-3.1 section 5.9.1).
        reduce_in_root => reduce_in_place_root, immediate_reduce_in_place_root, "MPI_Reduce", "MPI_Ireduce";
        the_root ['a, B: BufferMut + ?Sized, O: Operation + 'a](buffer: &'a mut B, op: O) -> B, taken;
        NoBuffer, borrow_whole_mut(buffer), by::<'a, O>(op) => on.reduce(mode, ReduceAreas { data: taken, result: taken }, root);
    }
}

impl<R: Root + ?Sized> RootInPlace for R {}
