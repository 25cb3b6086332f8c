//! Collectives of two groups (MPI-3.1 sections 5.2.2 and 5.2.3): each receives the data of the other.
#![forbid(unsafe_code)]

use super::call::{self, CallTarget, Collective, CollectiveForm, collectives};
use super::communicator::of_everyone;
use super::group::{self, CollectiveMode, CollectiveTarget};
use super::operation::{NoOperation, Operation, by};
use super::root::of_members;
use crate::datatype::any::BufferList;
use crate::datatype::operands::{
    NoBuffer, borrow_equal, borrow_equal_mut, borrow_parts, borrow_parts_mut, borrow_whole, borrow_whole_mut,
};
use crate::datatype::{AnyBuffer, AnyBufferMut, Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut};
use crate::request::{Request, StaticScope};
use crate::topology::{AsCommunicator, Context, InterCommunicator, Process};
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_objects::coll::ReduceAreas;
use midplane_objects::coll::inter::Role;

fn everyone(both: &InterCommunicator) -> CallTarget<'_, &InterCommunicator, ()> {
    (Context::record(both), both, Ok(()), None)
}

fn member<'c>(root: &'c Process<'_, InterCommunicator>) -> CallTarget<'c, &'c InterCommunicator, Role> {
    let both = root.as_communicator();
    let role = both.core().and_then(|core| {
        let rank = core.sides.remote().rank(root.rank().into())?;
        Ok(Role::Member(rank))
    });
    (Context::record(both), both, role, None)
}

/// Collectives of both groups; the [module](crate::collective) describes how to call them.
///
/// Every process of both groups calls the same collectives in the same order, with arguments that match the other
/// group's. Each group receives the other's data. In a collective with a root, the other processes of the root's group
/// do not participate and do not call it.
///
/// # Errors
/// Those of a communicator, with [`LocalDiffers`](midplane_objects::Error::LocalDiffers) and
/// [`RemoteDiffers`](midplane_objects::Error::RemoteDiffers) in place of [`CountsDiffer`](midplane_objects::Error::CountsDiffer).
///
/// # Nonblocking collectives
/// All processes of both groups start the nonblocking collectives in the same order. A process that does not
/// participate in one calls [`immediate_non_participant`](Self::immediate_non_participant).
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::topology::InterCommunicator;
///
/// /// Rank 0 of the group with `knows` broadcasts the rules; the other group works during the transfer.
/// fn tell(both: &InterCommunicator, knows: bool, rules: &mut [u8; 1000], mut work: impl FnMut()) {
///     mpi::request::scope(|scope| match (knows, both.rank()) {
///         (true, 0) => drop(both.immediate_broadcast_root(scope, &*rules)),
///         (true, _) => both.immediate_non_participant(),
///         (false, _) => {
///             let request = both.process_at_rank(0).immediate_broadcast_into(scope, rules);
///             work();
///             request.wait();
///         }
///     });
/// }
/// ```
///
/// The program cannot use a buffer during the operation:
///
/// ```compile_fail,E0502
/// # use midplane_rust as mpi;
/// # use mpi::collective::SystemOperation;
/// # use mpi::topology::InterCommunicator;
/// # fn peek(both: &InterCommunicator) {
/// let mut sum = 0;
/// mpi::request::scope(|scope| {
///     let request = both.immediate_all_reduce_into(scope, &1u64, &mut sum, SystemOperation::sum());
///     assert_eq!(sum, 0);
///     request.wait();
/// });
/// # }
/// ```
///
/// neither at the root,
///
/// ```compile_fail,E0506
/// # use midplane_rust as mpi;
/// # use mpi::topology::InterCommunicator;
/// # fn poke(both: &InterCommunicator) {
/// let mut rules = 1u64;
/// mpi::request::scope(|scope| {
///     let request = both.immediate_broadcast_root(scope, &rules);
///     rules = 2;
///     request.wait();
/// });
/// # }
/// ```
///
/// nor at the senders:
///
/// ```compile_fail,E0597
/// # use midplane_rust as mpi;
/// # use mpi::topology::InterCommunicator;
/// # fn short(both: &InterCommunicator) {
/// mpi::request::scope(|scope| {
///     let mine = 3u32;
///     let request = both.process_at_rank(0).immediate_gather_into(scope, &mine);
///     core::mem::forget(request);
/// });
/// # }
/// ```
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::collective::SystemOperation;
/// use mpi::datatype::Partition;
/// use mpi::topology::InterCommunicator;
///
/// /// Scatters the maximum over a group: one element to the other group's first process, two to its second.
/// fn greatest(both: &InterCommunicator, mine: &[u64; 3]) -> Vec<u64> {
///     let mut greatest = vec![0; [1, 2][both.rank() as usize]];
///     let parts = Partition::new(mine, [1, 2], [0, 1]);
///     both.reduce_scatter_varcount_into(&parts, &mut greatest, SystemOperation::max());
///     greatest
/// }
/// ```
impl InterCommunicator {
    /// Counts a nonblocking collective whose root, another process of this group, starts it now; C passes MPI_PROC_NULL
    /// (MPI-3.1 section 5.2.3).
    ///
    /// Nonblocking collectives of two groups are identified by the order in which each process starts them. A process
    /// that omits this call blocks the later ones forever. Sends nothing; does not block.
    pub fn immediate_non_participant(&self) {
        let started = &Context::record(self).started;
        started.set(started.get().wrapping_add(1));
    }

    of_everyone!("mpi::collective::InterCommunicator", [pub fn], everyone);

    collectives! {
        "mpi::collective::InterCommunicator", [pub fn], |on, mode, root, given, taken|;

        /// Broadcasts `buffer` of this process, the root, to the remote group, whose processes call
        /// [`broadcast_into`](Process::broadcast_into) (MPI_ROOT, MPI-3.1 section 5.4).
        broadcast_to_remote => broadcast_root, immediate_broadcast_root, "MPI_Bcast", "MPI_Ibcast";
        everyone ['a, B: Buffer + ?Sized](buffer: &'a B) -> B, given;
        borrow_whole(buffer), NoBuffer, NoOperation => on.bcast(mode, given, Role::Root);

        /// Gathers the data of the remote group, whose processes call [`gather_into`](Process::gather_into), in rank
        /// order in `recvbuf` of this process, the root (MPI_ROOT, MPI-3.1 section 5.5).
        gather_from_remote => gather_root, immediate_gather_root, "MPI_Gather", "MPI_Igather";
        everyone ['a, R: BufferMut + ?Sized](recvbuf: &'a mut R) -> R, taken;
        NoBuffer, borrow_equal_mut(recvbuf), NoOperation => on.gather(mode, BufferSlice::EMPTY, taken, Role::Root);

        /// [`gather_from_remote`](Self::gather_from_remote) into parts of different lengths; the remote processes call
        /// [`gather_varcount_into`](Process::gather_varcount_into).
        gather_varcount_from_remote => gather_varcount_root, immediate_gather_varcount_root,
            "MPI_Gatherv", "MPI_Igatherv";
        everyone ['a, R: PartitionedBufferMut + ?Sized](recvbuf: &'a mut R) -> R, taken;
        NoBuffer, borrow_parts_mut(recvbuf), NoOperation => on.gather(mode, BufferSlice::EMPTY, taken, Role::Root);

        /// Scatters `sendbuf` of this process, the root, to the remote group, whose processes call
        /// [`scatter_into`](Process::scatter_into) (MPI_ROOT, MPI-3.1 section 5.6).
        scatter_to_remote => scatter_root, immediate_scatter_root, "MPI_Scatter", "MPI_Iscatter";
        everyone ['a, S: Buffer + ?Sized](sendbuf: &'a S) -> S, given;
        borrow_equal(sendbuf), NoBuffer, NoOperation => on.scatter(mode, given, BufferSlice::EMPTY, Role::Root);

        /// [`scatter_to_remote`](Self::scatter_to_remote) with parts of different lengths; the remote processes call
        /// [`scatter_varcount_into`](Process::scatter_varcount_into).
        scatter_varcount_to_remote => scatter_varcount_root, immediate_scatter_varcount_root,
            "MPI_Scatterv", "MPI_Iscatterv";
        everyone ['a, S: PartitionedBuffer + ?Sized](sendbuf: &'a S) -> S, given;
        borrow_parts(sendbuf), NoBuffer, NoOperation => on.scatter(mode, given, BufferSlice::EMPTY, Role::Root);

        /// Reduces the data of the remote group, whose processes call [`reduce_into`](Process::reduce_into), element by
        /// element into `recvbuf` of this process, the root (MPI_ROOT, MPI-3.1 section 5.9.1).
        reduce_from_remote => reduce_root, immediate_reduce_root, "MPI_Reduce", "MPI_Ireduce";
        everyone ['a, R: BufferMut + ?Sized](recvbuf: &'a mut R) -> R, taken;
        NoBuffer, borrow_whole_mut(recvbuf), NoOperation => group::collect(on, mode, taken);
    }
}

/// Collectives whose root is this process of the remote group, which calls the form with `_root` of
/// [`InterCommunicator`]. They return the same errors, and [`RemoteRank`](midplane_objects::Error::RemoteRank) for the null
/// process, which cannot be a root.
impl Process<'_, InterCommunicator> {
    of_members!("mpi::collective::Process", [pub fn], member, member);
}
