//! Collectives of two groups (MPI-3.1 sections 5.2.2 and 5.2.3): what one gives, the other one gets.
#![forbid(unsafe_code)]

use super::call::{self, At, Collective, Form, collectives};
use super::communicator::of_everyone;
use super::group::{self, Group, Mode};
use super::operation::{NoOperation, Operation, by};
use super::root::of_members;
use crate::datatype::any::Each;
use crate::datatype::lent::{Nothing, equal, equal_mut, listed, listed_mut, whole, whole_mut};
use crate::datatype::{
    AnyBuffer, AnyBufferMut, Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut,
};
use crate::request::{Request, StaticScope};
use crate::topology::{AsCommunicator, Context, InterCommunicator, Process};
use midplane_device::memory::area::Area;
use midplane_objects::coll::inter::Role;

fn everyone(both: &InterCommunicator) -> At<'_, &InterCommunicator, ()> {
    (Context::record(both), both, Ok(()), None)
}

fn member<'c>(root: &'c Process<'_, InterCommunicator>) -> At<'c, &'c InterCommunicator, Role> {
    let both = root.as_communicator();
    let role = both.core().and_then(|core| {
        let rank = core.sides.remote().rank(root.rank().into())?;
        Ok(Role::Member(rank))
    });
    (Context::record(both), both, role, None)
}

/// Collectives of both groups; see the [module](crate::collective) for how they are called. Every process of both
/// calls the same ones in the same order, and each group's arguments fit the other's; each group gets what the other one
/// gives. With a root, the other processes of the root's group have no part in it, and call nothing.
///
/// They fail as those of a communicator, with [`LocalDiffers`](midplane_objects::Error::LocalDiffers) and
/// [`RemoteDiffers`](midplane_objects::Error::RemoteDiffers) in place of [`CountsDiffer`](midplane_objects::Error::CountsDiffer).
///
/// All processes of both groups start those that do not block in the same order. So each says so, too, where it has no part
/// in one: by [`immediate_bystander`](Self::immediate_bystander).
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::topology::InterCommunicator;
///
/// /// Rank 0 of the group that knows tells the others, who work meanwhile.
/// fn tell(both: &InterCommunicator, knows: bool, rules: &mut [u8; 1000], mut work: impl FnMut()) {
///     mpi::request::scope(|scope| match (knows, both.rank()) {
///         (true, 0) => drop(both.immediate_broadcast_root(scope, &*rules)),
///         (true, _) => both.immediate_bystander(),
///         (false, _) => {
///             let request = both.process_at_rank(0).immediate_broadcast_into(scope, rules);
///             work();
///             request.wait();
///         }
///     });
/// }
/// ```
///
/// A buffer under way is not the program's:
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
/// nor at those who give it something:
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
/// /// The greatest of what all processes of a group have for the first process of the other, and for its second one.
/// fn greatest(both: &InterCommunicator, mine: &[u64; 3]) -> Vec<u64> {
///     let mut greatest = vec![0; [1, 2][both.rank() as usize]];
///     let parts = Partition::new(mine, [1, 2], [0, 1]);
///     both.reduce_scatter_varcount_into(&parts, &mut greatest, SystemOperation::max());
///     greatest
/// }
/// ```
impl InterCommunicator {
    /// Says that this process has no part in the collective without blocking whose root, another process of this group,
    /// starts it now: what C says by MPI_PROC_NULL (MPI-3.1 section 5.2.3). Collectives of the two groups that do not block
    /// are told apart by the order in which each process starts them: a process that leaves this out lets the next ones
    /// wait for ever. Sends nothing; does not block.
    pub fn immediate_bystander(&self) {
        let started = &Context::record(self).started;
        started.set(started.get().wrapping_add(1));
    }

    of_everyone!("mpi::collective::InterCommunicator", [pub fn], everyone);

    collectives! {
        "mpi::collective::InterCommunicator", [pub fn], |on, mode, root, given, taken|;

        /// Gives `buffer` of this process, the root, to all processes of the remote group, which call
        /// [`broadcast_into`](Process::broadcast_into) (MPI_ROOT, MPI-3.1 section 5.4).
        broadcast_to_remote => broadcast_root, immediate_broadcast_root, "MPI_Bcast", "MPI_Ibcast";
        everyone ['a, B: Buffer + ?Sized](buffer: &'a B) -> B, given;
        whole(buffer), Nothing, NoOperation => on.bcast(mode, given, Role::Root);

        /// Collects what all processes of the remote group give by [`gather_into`](Process::gather_into), in the order of
        /// their ranks, in `recvbuf` of this process, the root (MPI_ROOT, MPI-3.1 section 5.5).
        gather_from_remote => gather_root, immediate_gather_root, "MPI_Gather", "MPI_Igather";
        everyone ['a, R: BufferMut + ?Sized](recvbuf: &'a mut R) -> R, taken;
        Nothing, equal_mut(recvbuf), NoOperation => on.gather(mode, Area::EMPTY, taken, Role::Root);

        /// As [`gather_from_remote`](Self::gather_from_remote), into parts, of what all give by
        /// [`gather_varcount_into`](Process::gather_varcount_into).
        gather_varcount_from_remote => gather_varcount_root, immediate_gather_varcount_root,
            "MPI_Gatherv", "MPI_Igatherv";
        everyone ['a, R: PartitionedBufferMut + ?Sized](recvbuf: &'a mut R) -> R, taken;
        Nothing, listed_mut(recvbuf), NoOperation => on.gather(mode, Area::EMPTY, taken, Role::Root);

        /// Gives each process of the remote group, which calls [`scatter_into`](Process::scatter_into), its part of
        /// `sendbuf` of this process, the root (MPI_ROOT, MPI-3.1 section 5.6).
        scatter_to_remote => scatter_root, immediate_scatter_root, "MPI_Scatter", "MPI_Iscatter";
        everyone ['a, S: Buffer + ?Sized](sendbuf: &'a S) -> S, given;
        equal(sendbuf), Nothing, NoOperation => on.scatter(mode, given, Area::EMPTY, Role::Root);

        /// As [`scatter_to_remote`](Self::scatter_to_remote), of parts, to processes that call
        /// [`scatter_varcount_into`](Process::scatter_varcount_into).
        scatter_varcount_to_remote => scatter_varcount_root, immediate_scatter_varcount_root,
            "MPI_Scatterv", "MPI_Iscatterv";
        everyone ['a, S: PartitionedBuffer + ?Sized](sendbuf: &'a S) -> S, given;
        listed(sendbuf), Nothing, NoOperation => on.scatter(mode, given, Area::EMPTY, Role::Root);

        /// Takes what all processes of the remote group give by [`reduce_into`](Process::reduce_into), combined, place by
        /// place, into `recvbuf` of this process, the root (MPI_ROOT, MPI-3.1 section 5.9.1).
        reduce_from_remote => reduce_root, immediate_reduce_root, "MPI_Reduce", "MPI_Ireduce";
        everyone ['a, R: BufferMut + ?Sized](recvbuf: &'a mut R) -> R, taken;
        Nothing, whole_mut(recvbuf), NoOperation => group::collect(on, mode, taken);
    }
}

/// What processes call in a collective whose root is this one of the remote group, which calls the form with `_root` of
/// [`InterCommunicator`]. They fail as those, and with [`RemoteRank`](midplane_objects::Error::RemoteRank) for the null process, which
/// is no root.
impl Process<'_, InterCommunicator> {
    of_members!("mpi::collective::Process", [pub fn], member, member);
}
