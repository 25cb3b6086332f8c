//! Collectives of all processes alike, without a root.
#![forbid(unsafe_code)]

use alloc::rc::Rc;

use super::call::{self, At, Collective, Form, collectives};
use super::group::{self, Group, Mode};
use super::operation::{NoOperation, Operation, by};
use crate::datatype::any::Each;
use crate::datatype::lent::{
    Nothing, Parts, equal, equal_mut, listed, listed_mut, whole, whole_mut,
};
use crate::datatype::{
    AnyBuffer, AnyBufferMut, Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut,
};
use crate::request::{Request, StaticScope};
use crate::topology::{Communicator, Context, Record};
use midplane_objects::comm::CommRank;

/// Those that a communicator and an intercommunicator have, whose processes get what the other group has.
macro_rules! of_everyone {
    ($owner:literal, [$vis:vis fn], $everyone:ident) => {
        /// Until every process has called it (MPI_Barrier, MPI-3.1 section 5.3).
        $vis fn synchronize<'a>(&self) -> Collective<'_, 'a, (), impl Form> {
            let (record, on, root, _) = $everyone(self);
            let names = call::names!($owner, barrier, immediate_barrier, "MPI_Barrier", "MPI_Ibarrier");
            let form = call::form(
                (record, on, root),
                (Nothing, Nothing),
                NoOperation,
                |on, mode, _, _, _| Group::barrier(on, mode),
                |on, mode, _, _, _| Group::barrier(on, mode),
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

            /// Collects `sendbuf` of all processes, in the order of the ranks, in every `recvbuf` (MPI-3.1 section 5.7).
            all_gather => all_gather_into, immediate_all_gather_into, "MPI_Allgather", "MPI_Iallgather";
            $everyone ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R) -> R, taken;
            whole(sendbuf), equal_mut(recvbuf), NoOperation => on.allgather(mode, given, taken);

            /// As [`all_gather`](Self::all_gather), of as many elements of each process as its part has.
            all_gather_varcount => all_gather_varcount_into, immediate_all_gather_varcount_into,
                "MPI_Allgatherv", "MPI_Iallgatherv";
            $everyone ['a, S: Buffer + ?Sized, R: PartitionedBufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R)
                -> R, taken;
            whole(sendbuf), listed_mut(recvbuf), NoOperation => on.allgather(mode, given, taken);

            /// Gives each process its part of `sendbuf`, and collects the parts that they have for this one in `recvbuf`
            /// (MPI-3.1 section 5.8).
            all_to_all => all_to_all_into, immediate_all_to_all_into, "MPI_Alltoall", "MPI_Ialltoall";
            $everyone ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R) -> R, taken;
            equal(sendbuf), equal_mut(recvbuf), NoOperation => on.alltoall(mode, given, taken);

            /// As [`all_to_all`](Self::all_to_all), of as many elements as the parts have.
            all_to_all_varcount => all_to_all_varcount_into, immediate_all_to_all_varcount_into,
                "MPI_Alltoallv", "MPI_Ialltoallv";
            $everyone ['a, S: PartitionedBuffer + ?Sized, R: PartitionedBufferMut + ?Sized]
                (sendbuf: &'a S, recvbuf: &'a mut R) -> R, taken;
            listed(sendbuf), listed_mut(recvbuf), NoOperation => on.alltoall(mode, given, taken);

            /// Gives each process a buffer of its own, and collects what the processes give in one for each, of whatever
            /// datatypes.
            all_to_all_vartype => all_to_all_vartype_into, immediate_all_to_all_vartype_into,
                "MPI_Alltoallw", "MPI_Ialltoallw";
            $everyone ['a, 's, 'r](sendbufs: &'a [AnyBuffer<'s>], recvbufs: &'a mut [AnyBufferMut<'r>])
                -> [AnyBufferMut<'r>], taken;
            Each(sendbufs), Each(recvbufs), NoOperation => on.alltoall(mode, given, taken);

            /// Combines `sendbuf` of all processes, place by place, into every `recvbuf` (MPI-3.1 section 5.9.6).
            all_reduce => all_reduce_into, immediate_all_reduce_into, "MPI_Allreduce", "MPI_Iallreduce";
            $everyone ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation + 'a]
                (sendbuf: &'a S, recvbuf: &'a mut R, op: O) -> R, taken;
            whole(sendbuf), whole_mut(recvbuf), by::<'a, O>(op) => on.allreduce(mode, (given, taken));

            /// Combines as [`all_reduce`](Self::all_reduce), and gives each process its part of the result (MPI-3.1 section
            /// 5.10.1). In an intercommunicator `sendbuf` has as many elements as the results of this group together.
            reduce_scatter_block => reduce_scatter_block_into, immediate_reduce_scatter_block_into,
                "MPI_Reduce_scatter_block", "MPI_Ireduce_scatter_block";
            $everyone ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation + 'a]
                (sendbuf: &'a S, recvbuf: &'a mut R, op: O) -> R, taken;
            whole(sendbuf), whole_mut(recvbuf), by::<'a, O>(op) => {
                let (all, result) = (given, taken);
                let parts = on.blocks(all, result.len(), mode.elements().size)?;
                on.reduce_scatter(mode, result, parts)
            };

            /// Combines as [`all_reduce`](Self::all_reduce), and gives each process the result of its part, as long as its
            /// `recvbuf` (MPI-3.1 section 5.10.2). The parts are as long at all processes that give them; in its buffer each
            /// process has them where it likes.
            reduce_scatter_varcount => reduce_scatter_varcount_into, immediate_reduce_scatter_varcount_into,
                "MPI_Reduce_scatter", "MPI_Ireduce_scatter";
            $everyone ['a, S: PartitionedBuffer + ?Sized, R: BufferMut + ?Sized, O: Operation + 'a]
                (sendbuf: &'a S, recvbuf: &'a mut R, op: O) -> R, taken;
            listed(sendbuf), whole_mut(recvbuf), by::<'a, O>(op) => on.reduce_scatter(mode, taken, given);
        }
    };
}
pub(super) use of_everyone;

fn everyone<C: Communicator + ?Sized>(comm: &C) -> At<'_, &Rc<Record>, ()> {
    (comm.record(), comm.record(), Ok(()), None)
}

fn own(on: &Rc<Record>) -> CommRank {
    on.membership().rank
}

/// Collectives of all processes of a communicator alike; see the [module](super) for how they are called, when they block
/// and what they fail with.
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::datatype::{AnyBuffer, AnyBufferMut};
/// use mpi::traits::*;
///
/// /// Of two processes the first gives numbers and gets a truth; each gives itself nothing.
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
/// /// Of two processes the first gets the sum of all first numbers, the other one the sums of all others.
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

        /// Combines `sendbuf` of the ranks up to this one into `recvbuf` (MPI-3.1 section 5.11.1).
        scan => scan_into, immediate_scan_into, "MPI_Scan", "MPI_Iscan";
        everyone ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation + 'a]
            (sendbuf: &'a S, recvbuf: &'a mut R, op: O) -> R, taken;
        whole(sendbuf), whole_mut(recvbuf), by::<'a, O>(op) => group::scan(on, mode, (given, taken), true);

        /// Combines `sendbuf` of the ranks before this one into `recvbuf`, which rank 0 leaves as it is (MPI-3.1 section
        /// 5.11.2).
        exclusive_scan => exclusive_scan_into, immediate_exclusive_scan_into, "MPI_Exscan", "MPI_Iexscan";
        everyone ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized, O: Operation + 'a]
            (sendbuf: &'a S, recvbuf: &'a mut R, op: O) -> R, taken;
        whole(sendbuf), whole_mut(recvbuf), by::<'a, O>(op) => group::scan(on, mode, (given, taken), false);
    }
}

impl<C: Communicator + ?Sized> CommunicatorCollectives for C {}

/// Collectives of all processes of a communicator alike, each in one buffer, so that no second one is needed
/// (MPI_IN_PLACE, MPI-3.1 section 5.2.1): forms of [`CommunicatorCollectives`]. All processes call the same form.
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::collective::SystemOperation;
/// use mpi::traits::*;
///
/// /// Adds up all processes' fields, in the memory of each of them.
/// fn add_up(world: &impl Communicator, field: &mut [f64]) {
///     world.all_reduce_in_place(field, SystemOperation::sum());
/// }
/// ```
pub trait CollectivesInPlace: Communicator {
    collectives! {
        "mpi::collective::CollectivesInPlace", [fn], |on, mode, root, given, taken|;

        /// Collects all processes' parts, in the order of the ranks, in every `buffer`, where each process has its own part
        /// at its place (MPI-3.1 section 5.7).
        all_gather_in => all_gather_in_place, immediate_all_gather_in_place, "MPI_Allgather", "MPI_Iallgather";
        everyone ['a, R: BufferMut + ?Sized](buffer: &'a mut R) -> R, taken;
        Nothing, equal_mut(buffer), NoOperation => on.allgather(mode, taken.of(own(on)), taken);

        /// As [`all_gather_in`](Self::all_gather_in), of parts that differ.
        all_gather_varcount_in => all_gather_varcount_in_place, immediate_all_gather_varcount_in_place,
            "MPI_Allgatherv", "MPI_Iallgatherv";
        everyone ['a, R: PartitionedBufferMut + ?Sized](buffer: &'a mut R) -> R, taken;
        Nothing, listed_mut(buffer), NoOperation => on.allgather(mode, taken.of(own(on)), taken);

        /// Gives each process its part of every `buffer`, and has in its place what that process gives (MPI-3.1 section
        /// 5.8).
        all_to_all_in => all_to_all_in_place, immediate_all_to_all_in_place, "MPI_Alltoall", "MPI_Ialltoall";
        everyone ['a, R: BufferMut + ?Sized](buffer: &'a mut R) -> R, taken;
        Nothing, equal_mut(buffer), NoOperation => group::alltoall_in_place(on, mode, taken);

        /// As [`all_to_all_in`](Self::all_to_all_in), of parts that differ, of which two processes have as long ones for each
        /// other.
        all_to_all_varcount_in => all_to_all_varcount_in_place, immediate_all_to_all_varcount_in_place,
            "MPI_Alltoallv", "MPI_Ialltoallv";
        everyone ['a, R: PartitionedBufferMut + ?Sized](buffer: &'a mut R) -> R, taken;
        Nothing, listed_mut(buffer), NoOperation => group::alltoall_in_place(on, mode, taken);

        /// Combines all processes' `buffer`, place by place, into every one (MPI-3.1 section 5.9.6).
        all_reduce_in => all_reduce_in_place, immediate_all_reduce_in_place, "MPI_Allreduce", "MPI_Iallreduce";
        everyone ['a, R: BufferMut + ?Sized, O: Operation + 'a](buffer: &'a mut R, op: O) -> R, taken;
        Nothing, whole_mut(buffer), by::<'a, O>(op) => on.allreduce(mode, (taken, taken));

        /// Combines as [`all_reduce_in`](Self::all_reduce_in), and gives each process its part of the result, in that place
        /// of its `buffer`, whose other parts stay as they are (MPI-3.1 section 5.10.1). (C has the result at the
        /// beginning.)
        reduce_scatter_block_in => reduce_scatter_block_in_place, immediate_reduce_scatter_block_in_place,
            "MPI_Reduce_scatter_block", "MPI_Ireduce_scatter_block";
        everyone ['a, R: BufferMut + ?Sized, O: Operation + 'a](buffer: &'a mut R, op: O) -> R, taken;
        Nothing, equal_mut(buffer), by::<'a, O>(op) => on.reduce_scatter(mode, taken.of(own(on)), taken);

        /// As [`reduce_scatter_block_in`](Self::reduce_scatter_block_in), of parts that differ, and do not overlap (MPI-3.1
        /// section 5.10.2).
        reduce_scatter_varcount_in => reduce_scatter_varcount_in_place, immediate_reduce_scatter_varcount_in_place,
            "MPI_Reduce_scatter", "MPI_Ireduce_scatter";
        everyone ['a, R: PartitionedBufferMut + ?Sized, O: Operation + 'a](buffer: &'a mut R, op: O) -> R, taken;
        Nothing, listed_mut(buffer), by::<'a, O>(op) => on.reduce_scatter(mode, taken.of(own(on)), taken);

        /// Combines `buffer` of the ranks up to this one into this one's (MPI-3.1 section 5.11.1).
        scan_in => scan_in_place, immediate_scan_in_place, "MPI_Scan", "MPI_Iscan";
        everyone ['a, R: BufferMut + ?Sized, O: Operation + 'a](buffer: &'a mut R, op: O) -> R, taken;
        Nothing, whole_mut(buffer), by::<'a, O>(op) => group::scan(on, mode, (taken, taken), true);

        /// Combines `buffer` of the ranks before this one into this one's; rank 0 leaves it as it is (MPI-3.1 section
        /// 5.11.2).
        exclusive_scan_in => exclusive_scan_in_place, immediate_exclusive_scan_in_place, "MPI_Exscan", "MPI_Iexscan";
        everyone ['a, R: BufferMut + ?Sized, O: Operation + 'a](buffer: &'a mut R, op: O) -> R, taken;
        Nothing, whole_mut(buffer), by::<'a, O>(op) => group::scan(on, mode, (taken, taken), false);
    }
}

impl<C: Communicator + ?Sized> CollectivesInPlace for C {}
