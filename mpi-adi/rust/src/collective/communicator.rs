//! Collectives without a root, symmetric in all processes.
#![forbid(unsafe_code)]

use super::call::{self, CallTarget, Collective, CollectiveForm, collectives};
use super::group::{self, CollectiveMode, CollectiveTarget};
use super::operation::{NoOperation, Operation, by};
use crate::datatype::any::BufferList;
use crate::datatype::operands::{
    NoBuffer, RankParts, borrow_equal, borrow_equal_mut, borrow_parts, borrow_parts_mut, borrow_whole, borrow_whole_mut,
};
use crate::datatype::{AnyBuffer, AnyBufferMut, Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut};
use crate::request::{Request, StaticScope};
use crate::topology::{CommRecord, Communicator, Context};
use midplane_objects::coll::ReduceAreas;
use midplane_objects::comm::CommRank;

/// Defines the collectives of both communicators and intercommunicators. In an intercommunicator, processes receive the
/// other group's data.
macro_rules! of_everyone {
    ($owner:literal, [$vis:vis fn], $everyone:ident) => {
        /// Blocks until every process has called it (MPI_Barrier, MPI-3.1 section 5.3).
        $vis fn synchronize<'a>(&self) -> Collective<'_, 'a, (), impl CollectiveForm> {
            let (record, on, root, _) = $everyone(self);
            let names = call::names!($owner, barrier, immediate_barrier, "MPI_Barrier", "MPI_Ibarrier");
            let form = call::form(
                (record, on, root),
                (NoBuffer, NoBuffer),
                NoOperation,
                |on, mode, _, _, _| CollectiveTarget::barrier(on, mode),
                |on, mode, _, _, _| CollectiveTarget::barrier(on, mode),
            );
            Collective::new(record, names, None, &(), form)
        }

        /// Runs [`synchronize`](Self::synchronize) (MPI_Barrier).
        #[track_caller]
        $vis fn barrier(&self) {
            self.synchronize().run();
        }

        /// Starts [`synchronize`](Self::synchronize) (MPI_Ibarrier, MPI-3.1 section 5.12.1).
        #[track_caller]
        $vis fn immediate_barrier(&self) -> Request<'static, ()> {
            self.synchronize().start(StaticScope)
        }

        collectives! {
            $owner, [$vis fn], |on, mode, root, given, taken|;

            /// Gathers `sendbuf` of all processes, in rank order, in every `recvbuf` (MPI-3.1 section 5.7).
            all_gather => all_gather_into, immediate_all_gather_into, "MPI_Allgather", "MPI_Iallgather";
            $everyone ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R) -> R, taken;
            borrow_whole(sendbuf), borrow_equal_mut(recvbuf), NoOperation => on.allgather(mode, given, taken);

            /// [`all_gather`](Self::all_gather) with a separate count for each process: the length of its part.
            all_gather_varcount => all_gather_varcount_into, immediate_all_gather_varcount_into,
                "MPI_Allgatherv", "MPI_Iallgatherv";
            $everyone ['a, S: Buffer + ?Sized, R: PartitionedBufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R)
                -> R, taken;
            borrow_whole(sendbuf), borrow_parts_mut(recvbuf), NoOperation => on.allgather(mode, given, taken);

            /// Sends each process its part of `sendbuf`, and receives this process's parts from all in `recvbuf`
            /// (MPI-3.1 section 5.8).
            all_to_all => all_to_all_into, immediate_all_to_all_into, "MPI_Alltoall", "MPI_Ialltoall";
            $everyone ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R) -> R, taken;
            borrow_equal(sendbuf), borrow_equal_mut(recvbuf), NoOperation => on.alltoall(mode, given, taken);

            /// [`all_to_all`](Self::all_to_all) with separate counts: the lengths of the parts.
            all_to_all_varcount => all_to_all_varcount_into, immediate_all_to_all_varcount_into,
                "MPI_Alltoallv", "MPI_Ialltoallv";
            $everyone ['a, S: PartitionedBuffer + ?Sized, R: PartitionedBufferMut + ?Sized]
                (sendbuf: &'a S, recvbuf: &'a mut R) -> R, taken;
            borrow_parts(sendbuf), borrow_parts_mut(recvbuf), NoOperation => on.alltoall(mode, given, taken);

            /// [`all_to_all`](Self::all_to_all) with a separate buffer of any datatype for each process, on both sides.
            all_to_all_vartype => all_to_all_vartype_into, immediate_all_to_all_vartype_into,
                "MPI_Alltoallw", "MPI_Ialltoallw";
            $everyone ['a, 's, 'r](sendbufs: &'a [AnyBuffer<'s>], recvbufs: &'a mut [AnyBufferMut<'r>])
                -> [AnyBufferMut<'r>], taken;
            BufferList(sendbufs), BufferList(recvbufs), NoOperation => on.alltoall(mode, given, taken);

            /// Reduces `sendbuf` of all processes, element by element, into every `recvbuf` (MPI-3.1 section 5.9.6).
            all_reduce => all_reduce_into, immediate_all_reduce_into, "MPI_Allreduce", "MPI_Iallreduce";
            $everyone ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation + 'a]
                (sendbuf: &'a S, recvbuf: &'a mut R, op: O) -> R, taken;
            borrow_whole(sendbuf), borrow_whole_mut(recvbuf), by::<'a, O>(op) => on.allreduce(mode, ReduceAreas { data: given, result: taken });

            /// Reduces like [`all_reduce`](Self::all_reduce), and scatters the result in equal parts (MPI-3.1 section
            /// 5.10.1). In an intercommunicator `sendbuf` contains as many elements as all results of this group.
            reduce_scatter_block => reduce_scatter_block_into, immediate_reduce_scatter_block_into,
                "MPI_Reduce_scatter_block", "MPI_Ireduce_scatter_block";
            $everyone ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation + 'a]
                (sendbuf: &'a S, recvbuf: &'a mut R, op: O) -> R, taken;
            borrow_whole(sendbuf), borrow_whole_mut(recvbuf), by::<'a, O>(op) => {
                let (all, result) = (given, taken);
                let parts = on.blocks(all, result.len(), mode.elements().size)?;
                on.reduce_scatter(mode, result, parts)
            };

            /// Reduces like [`all_reduce`](Self::all_reduce), and scatters the result in parts, each as long as its
            /// process's `recvbuf` (MPI-3.1 section 5.10.2). The lengths of the parts are equal at all senders; their
            /// offsets in a buffer may differ.
            reduce_scatter_varcount => reduce_scatter_varcount_into, immediate_reduce_scatter_varcount_into,
                "MPI_Reduce_scatter", "MPI_Ireduce_scatter";
            $everyone ['a, S: PartitionedBuffer + ?Sized, R: BufferMut + ?Sized, O: Operation + 'a]
                (sendbuf: &'a S, recvbuf: &'a mut R, op: O) -> R, taken;
            borrow_parts(sendbuf), borrow_whole_mut(recvbuf), by::<'a, O>(op) => on.reduce_scatter(mode, taken, given);
        }
    };
}
pub(super) use of_everyone;

fn everyone<C: Communicator + ?Sized>(comm: &C) -> CallTarget<'_, &CommRecord, ()> {
    (comm.record(), comm.record(), Ok(()), None)
}

fn own(on: &CommRecord) -> CommRank {
    on.membership().rank
}

/// Symmetric collectives of a communicator; the [module](super) describes calls, blocking and errors.
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::datatype::{AnyBuffer, AnyBufferMut};
/// use mpi::traits::*;
///
/// /// Of two processes the first sends numbers and receives a `bool`; neither sends itself anything.
/// fn asks(world: &impl Communicator, numbers: &[f64; 3]) -> bool {
///     let (nothing, mut answer) = ([0u8; 0], false);
///     let mut own = nothing;
///     world.all_to_all_vartype_into(
///         &[AnyBuffer::new(&nothing), AnyBuffer::new(numbers)],
///         &mut [AnyBufferMut::new(&mut own), AnyBufferMut::new(&mut answer)],
///     );
///     answer
/// }
/// ```
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::collective::SystemOperation;
/// use mpi::datatype::Partition;
/// use mpi::traits::*;
///
/// /// Of two processes the first receives the sum of all first numbers, the second the sums of the others.
/// fn sums(world: &impl Communicator, mine: &[f64; 3]) -> Vec<f64> {
///     let mut sums = vec![0.0; [1, 2][world.rank() as usize]];
///     let parts = Partition::new(mine, [1, 2], [0, 1]);
///     world.reduce_scatter_varcount_into(&parts, &mut sums, SystemOperation::sum());
///     sums
/// }
/// ```
pub trait CommunicatorCollectives: Communicator {
    of_everyone!("mpi::collective::CommunicatorCollectives", [fn], everyone);

    collectives! {
        "mpi::collective::CommunicatorCollectives", [fn], |on, mode, root, given, taken|;

        /// Reduces `sendbuf` of the ranks up to and including this one into `recvbuf` (MPI-3.1 section 5.11.1).
        scan => scan_into, immediate_scan_into, "MPI_Scan", "MPI_Iscan";
        everyone ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation + 'a]
            (sendbuf: &'a S, recvbuf: &'a mut R, op: O) -> R, taken;
        borrow_whole(sendbuf), borrow_whole_mut(recvbuf), by::<'a, O>(op) => group::scan(on, mode, ReduceAreas { data: given, result: taken }, true);

        /// Reduces `sendbuf` of the ranks below this one into `recvbuf`; rank 0's is unchanged (MPI-3.1 section
        /// 5.11.2).
        exclusive_scan => exclusive_scan_into, immediate_exclusive_scan_into, "MPI_Exscan", "MPI_Iexscan";
        everyone ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation + 'a]
            (sendbuf: &'a S, recvbuf: &'a mut R, op: O) -> R, taken;
        borrow_whole(sendbuf), borrow_whole_mut(recvbuf), by::<'a, O>(op) => group::scan(on, mode, ReduceAreas { data: given, result: taken }, false);
    }
}

impl<C: Communicator + ?Sized> CommunicatorCollectives for C {}

/// In-place forms of [`CommunicatorCollectives`], with one buffer per process (MPI_IN_PLACE, MPI-3.1 section 5.2.1).
/// All processes call the same form.
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::collective::SystemOperation;
/// use mpi::traits::*;
///
/// /// Sums all processes' fields in place.
/// fn add_up(world: &impl Communicator, field: &mut [f64]) {
///     world.all_reduce_in_place(field, SystemOperation::sum());
/// }
/// ```
pub trait CollectivesInPlace: Communicator {
    collectives! {
        "mpi::collective::CollectivesInPlace", [fn], |on, mode, root, given, taken|;

        /// Gathers all processes' parts, in rank order, in every `buffer`, which contains the process's own part at its
        /// offset (MPI-3.1 section 5.7).
        all_gather_in => all_gather_in_place, immediate_all_gather_in_place, "MPI_Allgather", "MPI_Iallgather";
        everyone ['a, R: BufferMut + ?Sized](buffer: &'a mut R) -> R, taken;
        NoBuffer, borrow_equal_mut(buffer), NoOperation => on.allgather(mode, taken.area_of(own(on)), taken);

        /// [`all_gather_in`](Self::all_gather_in) with parts of different lengths.
        all_gather_varcount_in => all_gather_varcount_in_place, immediate_all_gather_varcount_in_place,
            "MPI_Allgatherv", "MPI_Iallgatherv";
        everyone ['a, R: PartitionedBufferMut + ?Sized](buffer: &'a mut R) -> R, taken;
        NoBuffer, borrow_parts_mut(buffer), NoOperation => on.allgather(mode, taken.area_of(own(on)), taken);

        /// Sends each process its part of `buffer`, and replaces it by that process's part (MPI-3.1 section 5.8).
        all_to_all_in => all_to_all_in_place, immediate_all_to_all_in_place, "MPI_Alltoall", "MPI_Ialltoall";
        everyone ['a, R: BufferMut + ?Sized](buffer: &'a mut R) -> R, taken;
        NoBuffer, borrow_equal_mut(buffer), NoOperation => group::alltoall_in_place(on, mode, taken);

        /// [`all_to_all_in`](Self::all_to_all_in) with parts of different lengths, equal between two processes.
        all_to_all_varcount_in => all_to_all_varcount_in_place, immediate_all_to_all_varcount_in_place,
            "MPI_Alltoallv", "MPI_Ialltoallv";
        everyone ['a, R: PartitionedBufferMut + ?Sized](buffer: &'a mut R) -> R, taken;
        NoBuffer, borrow_parts_mut(buffer), NoOperation => group::alltoall_in_place(on, mode, taken);

        /// Reduces all processes' `buffer`, element by element, into every one (MPI-3.1 section 5.9.6).
        all_reduce_in => all_reduce_in_place, immediate_all_reduce_in_place, "MPI_Allreduce", "MPI_Iallreduce";
        everyone ['a, R: BufferMut + ?Sized, O: Operation + 'a](buffer: &'a mut R, op: O) -> R, taken;
        NoBuffer, borrow_whole_mut(buffer), by::<'a, O>(op) => on.allreduce(mode, ReduceAreas { data: taken, result: taken });

        /// Reduces like [`all_reduce_in`](Self::all_reduce_in). Each process receives its part of the result at that
        /// part's offset in `buffer`; the other parts are unchanged (MPI-3.1 section 5.10.1). In C the result is at the
        /// start of the buffer.
        reduce_scatter_block_in => reduce_scatter_block_in_place, immediate_reduce_scatter_block_in_place,
            "MPI_Reduce_scatter_block", "MPI_Ireduce_scatter_block";
        everyone ['a, R: BufferMut + ?Sized, O: Operation + 'a](buffer: &'a mut R, op: O) -> R, taken;
        NoBuffer, borrow_equal_mut(buffer), by::<'a, O>(op) => on.reduce_scatter(mode, taken.area_of(own(on)), taken);

        /// [`reduce_scatter_block_in`](Self::reduce_scatter_block_in) with disjoint parts of different lengths (MPI-3.1
        /// section 5.10.2).
        reduce_scatter_varcount_in => reduce_scatter_varcount_in_place, immediate_reduce_scatter_varcount_in_place,
            "MPI_Reduce_scatter", "MPI_Ireduce_scatter";
        everyone ['a, R: PartitionedBufferMut + ?Sized, O: Operation + 'a](buffer: &'a mut R, op: O) -> R, taken;
        NoBuffer, borrow_parts_mut(buffer), by::<'a, O>(op) => on.reduce_scatter(mode, taken.area_of(own(on)), taken);

        /// Reduces `buffer` of the ranks up to and including this one into this one's (MPI-3.1 section 5.11.1).
        scan_in => scan_in_place, immediate_scan_in_place, "MPI_Scan", "MPI_Iscan";
        everyone ['a, R: BufferMut + ?Sized, O: Operation + 'a](buffer: &'a mut R, op: O) -> R, taken;
        NoBuffer, borrow_whole_mut(buffer), by::<'a, O>(op) => group::scan(on, mode, ReduceAreas { data: taken, result: taken }, true);

        /// Reduces `buffer` of the ranks below this one into this one's; rank 0's is unchanged (MPI-3.1 section
        /// 5.11.2).
        exclusive_scan_in => exclusive_scan_in_place, immediate_exclusive_scan_in_place, "MPI_Exscan", "MPI_Iexscan";
        everyone ['a, R: BufferMut + ?Sized, O: Operation + 'a](buffer: &'a mut R, op: O) -> R, taken;
        NoBuffer, borrow_whole_mut(buffer), by::<'a, O>(op) => group::scan(on, mode, ReduceAreas { data: taken, result: taken }, false);
    }
}

impl<C: Communicator + ?Sized> CollectivesInPlace for C {}
