//! Those that do not block (MPI-3.1 section 5.12).
#![forbid(unsafe_code)]

use super::super::operation::Operation;
use super::super::planner::Planner;
use super::super::started::{self, Lend, LendMut, of};
use crate::device::memory::area::Area;
use crate::mpi::coll::inter::{self, Role};
use crate::mpi::error::Error;
use crate::rust::datatype::lent::element;
use crate::rust::datatype::{
    AnyBuffer, AnyBufferMut, Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut,
};
use crate::rust::request::{Request, Scope};
use crate::rust::topology::{AsCommunicator, Context, InterCommunicator, Process};

/// Collectives of both groups that do not block. Their arguments fit together as those of the forms that block, and so do
/// their errors, which end the job; but for what is known at once, when the request is completed. All processes of both
/// groups start them in the same order. So each says so, too, where it has no part in one: by
/// [`immediate_bystander`](Self::immediate_bystander).
///
/// A request takes what a collective that does not block takes, of the program's heap.
///
/// ```
/// # use mpi_adi::rust as mpi;
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
/// # use mpi_adi::rust as mpi;
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
/// # use mpi_adi::rust as mpi;
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
/// # use mpi_adi::rust as mpi;
/// # use mpi::topology::InterCommunicator;
/// # fn short(both: &InterCommunicator) {
/// mpi::request::scope(|scope| {
///     let mine = 3u32;
///     let request = both.process_at_rank(0).immediate_gather_into(scope, &mine);
///     core::mem::forget(request);
/// });
/// # }
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

    /// As [`barrier`](Self::barrier), without blocking (MPI_Ibarrier, MPI-3.1 section 5.12.1).
    #[track_caller]
    pub fn immediate_barrier(&self) -> Request<'static, ()> {
        let request = self.try_immediate_barrier();
        self.or_fatal(
            "mpi::collective::InterCommunicator::immediate_barrier (MPI_Ibarrier)",
            request,
        )
    }

    /// As [`immediate_barrier`](Self::immediate_barrier), with the error as its result.
    pub fn try_immediate_barrier(&self) -> Result<Request<'static, ()>, Error> {
        started::barrier(Context::record(self))
    }

    /// As [`broadcast_root`](Self::broadcast_root), without blocking (MPI_Ibcast, MPI-3.1 section 5.12.2).
    #[track_caller]
    pub fn immediate_broadcast_root<'a, Sc, B>(
        &self,
        scope: Sc,
        buffer: &'a B,
    ) -> Request<'a, B, Sc>
    where
        B: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_broadcast_root(scope, buffer);
        self.or_fatal(
            "mpi::collective::InterCommunicator::immediate_broadcast_root (MPI_Ibcast)",
            request,
        )
    }

    /// As [`immediate_broadcast_root`](Self::immediate_broadcast_root), with the error as its result.
    pub fn try_immediate_broadcast_root<'a, Sc, B>(
        &self,
        scope: Sc,
        buffer: &'a B,
    ) -> Result<Request<'a, B, Sc>, Error>
    where
        B: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        let given = (buffer, started::whole::<B> as Lend<B>);
        started::gives(self, "MPI_Ibcast", scope, given, |span, _| {
            self.bcast(span, Role::Root)
        })
    }

    /// As [`gather_root`](Self::gather_root), without blocking (MPI_Igather, MPI-3.1 section 5.12.3).
    #[track_caller]
    pub fn immediate_gather_root<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_gather_root(scope, recvbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::immediate_gather_root (MPI_Igather)",
            request,
        )
    }

    /// As [`immediate_gather_root`](Self::immediate_gather_root), with the error as its result.
    pub fn try_immediate_gather_root<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let taken = (recvbuf, started::equal_places::<R> as LendMut<R>);
        started::takes(self, "MPI_Igather", scope, taken, |_, places| {
            self.gather(Area::EMPTY, of(places), Role::Root)
        })
    }

    /// As [`gather_varcount_root`](Self::gather_varcount_root), without blocking (MPI_Igatherv).
    #[track_caller]
    pub fn immediate_gather_varcount_root<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_gather_varcount_root(scope, recvbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::immediate_gather_varcount_root (MPI_Igatherv)",
            request,
        )
    }

    /// As [`immediate_gather_varcount_root`](Self::immediate_gather_varcount_root), with the error as its result.
    pub fn try_immediate_gather_varcount_root<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let taken = (recvbuf, started::listed_places::<R> as LendMut<R>);
        started::takes(self, "MPI_Igatherv", scope, taken, |_, places| {
            self.gather(Area::EMPTY, of(places), Role::Root)
        })
    }

    /// As [`scatter_root`](Self::scatter_root), without blocking (MPI_Iscatter, MPI-3.1 section 5.12.4).
    #[track_caller]
    pub fn immediate_scatter_root<'a, Sc, S>(&self, scope: Sc, sendbuf: &'a S) -> Request<'a, S, Sc>
    where
        S: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_scatter_root(scope, sendbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::immediate_scatter_root (MPI_Iscatter)",
            request,
        )
    }

    /// As [`immediate_scatter_root`](Self::immediate_scatter_root), with the error as its result.
    pub fn try_immediate_scatter_root<'a, Sc, S>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
    ) -> Result<Request<'a, S, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        let given = (sendbuf, started::equal_parts::<S> as Lend<S>);
        started::gives(self, "MPI_Iscatter", scope, given, |_, parts| {
            self.scatter(of(parts), Area::EMPTY, Role::Root)
        })
    }

    /// As [`scatter_varcount_root`](Self::scatter_varcount_root), without blocking (MPI_Iscatterv).
    #[track_caller]
    pub fn immediate_scatter_varcount_root<'a, Sc, S>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
    ) -> Request<'a, S, Sc>
    where
        S: 'a + PartitionedBuffer + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_scatter_varcount_root(scope, sendbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::immediate_scatter_varcount_root (MPI_Iscatterv)",
            request,
        )
    }

    /// As [`immediate_scatter_varcount_root`](Self::immediate_scatter_varcount_root), with the error as its result.
    pub fn try_immediate_scatter_varcount_root<'a, Sc, S>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
    ) -> Result<Request<'a, S, Sc>, Error>
    where
        S: 'a + PartitionedBuffer + ?Sized,
        Sc: Scope<'a>,
    {
        let given = (sendbuf, started::listed_parts::<S> as Lend<S>);
        started::gives(self, "MPI_Iscatterv", scope, given, |_, parts| {
            self.scatter(of(parts), Area::EMPTY, Role::Root)
        })
    }

    /// As [`reduce_root`](Self::reduce_root), without blocking (MPI_Ireduce, MPI-3.1 section 5.12.7).
    #[track_caller]
    pub fn immediate_reduce_root<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_reduce_root(scope, recvbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::immediate_reduce_root (MPI_Ireduce)",
            request,
        )
    }

    /// As [`immediate_reduce_root`](Self::immediate_reduce_root), with the error as its result.
    pub fn try_immediate_reduce_root<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let size = element(recvbuf);
        let taken = (recvbuf, started::whole_mut::<R> as LendMut<R>);
        started::takes(self, "MPI_Ireduce", scope, taken, |result, _| {
            inter::collect(self.core()?.sides.halves(), result, size, ())
        })
    }

    /// As [`all_gather_into`](Self::all_gather_into), without blocking (MPI_Iallgather, MPI-3.1 section 5.12.5).
    #[track_caller]
    pub fn immediate_all_gather_into<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_all_gather_into(scope, sendbuf, recvbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::immediate_all_gather_into (MPI_Iallgather)",
            request,
        )
    }

    /// As [`immediate_all_gather_into`](Self::immediate_all_gather_into), with the error as its result.
    pub fn try_immediate_all_gather_into<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        started::all_gather(self, scope, sendbuf, recvbuf)
    }

    /// As [`all_gather_varcount_into`](Self::all_gather_varcount_into), without blocking (MPI_Iallgatherv).
    #[track_caller]
    pub fn immediate_all_gather_varcount_into<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_all_gather_varcount_into(scope, sendbuf, recvbuf);
        self.or_fatal("mpi::collective::InterCommunicator::immediate_all_gather_varcount_into (MPI_Iallgatherv)", request)
    }

    /// As [`immediate_all_gather_varcount_into`](Self::immediate_all_gather_varcount_into), with the error as its result.
    pub fn try_immediate_all_gather_varcount_into<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        started::all_gather_varcount(self, scope, sendbuf, recvbuf)
    }

    /// As [`all_to_all_into`](Self::all_to_all_into), without blocking (MPI_Ialltoall, MPI-3.1 section 5.12.6).
    #[track_caller]
    pub fn immediate_all_to_all_into<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_all_to_all_into(scope, sendbuf, recvbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::immediate_all_to_all_into (MPI_Ialltoall)",
            request,
        )
    }

    /// As [`immediate_all_to_all_into`](Self::immediate_all_to_all_into), with the error as its result.
    pub fn try_immediate_all_to_all_into<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        started::all_to_all(self, scope, sendbuf, recvbuf)
    }

    /// As [`all_to_all_varcount_into`](Self::all_to_all_varcount_into), without blocking (MPI_Ialltoallv).
    #[track_caller]
    pub fn immediate_all_to_all_varcount_into<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + PartitionedBuffer + ?Sized,
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_all_to_all_varcount_into(scope, sendbuf, recvbuf);
        self.or_fatal("mpi::collective::InterCommunicator::immediate_all_to_all_varcount_into (MPI_Ialltoallv)", request)
    }

    /// As [`immediate_all_to_all_varcount_into`](Self::immediate_all_to_all_varcount_into), with the error as its result.
    pub fn try_immediate_all_to_all_varcount_into<'a, Sc, S, R>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        S: 'a + PartitionedBuffer + ?Sized,
        R: 'a + PartitionedBufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        started::all_to_all_varcount(self, scope, sendbuf, recvbuf)
    }

    /// As [`all_to_all_vartype_into`](Self::all_to_all_vartype_into), without blocking (MPI_Ialltoallw).
    #[track_caller]
    pub fn immediate_all_to_all_vartype_into<'a, 's, 'r, Sc>(
        &self,
        scope: Sc,
        sendbufs: &'a [AnyBuffer<'s>],
        recvbufs: &'a mut [AnyBufferMut<'r>],
    ) -> Request<'a, [AnyBufferMut<'r>], Sc>
    where
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_all_to_all_vartype_into(scope, sendbufs, recvbufs);
        self.or_fatal("mpi::collective::InterCommunicator::immediate_all_to_all_vartype_into (MPI_Ialltoallw)", request)
    }

    /// As [`immediate_all_to_all_vartype_into`](Self::immediate_all_to_all_vartype_into), with the error as its result.
    pub fn try_immediate_all_to_all_vartype_into<'a, 's, 'r, Sc>(
        &self,
        scope: Sc,
        sendbufs: &'a [AnyBuffer<'s>],
        recvbufs: &'a mut [AnyBufferMut<'r>],
    ) -> Result<Request<'a, [AnyBufferMut<'r>], Sc>, Error>
    where
        Sc: Scope<'a>,
    {
        let function = "MPI_Ialltoallw";
        started::all_to_all_vartype(self, function, scope, sendbufs, recvbufs)
    }

    /// As [`all_reduce_into`](Self::all_reduce_into), without blocking (MPI_Iallreduce, MPI-3.1 section 5.12.8).
    #[track_caller]
    pub fn immediate_all_reduce_into<'a, Sc, S, R, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
        op: O,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_all_reduce_into(scope, sendbuf, recvbuf, op);
        self.or_fatal(
            "mpi::collective::InterCommunicator::immediate_all_reduce_into (MPI_Iallreduce)",
            request,
        )
    }

    /// As [`immediate_all_reduce_into`](Self::immediate_all_reduce_into), with the error as its result.
    pub fn try_immediate_all_reduce_into<'a, Sc, S, R, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
        op: O,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let (function, buffers) = ("MPI_Iallreduce", (sendbuf, recvbuf));
        started::reduction(self, function, scope, buffers, &op, Planner::allreduce)
    }

    /// As [`reduce_scatter_block_into`](Self::reduce_scatter_block_into), without blocking (MPI_Ireduce_scatter_block,
    /// MPI-3.1 section 5.12.9).
    #[track_caller]
    pub fn immediate_reduce_scatter_block_into<'a, Sc, S, R, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
        op: O,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_reduce_scatter_block_into(scope, sendbuf, recvbuf, op);
        self.or_fatal("mpi::collective::InterCommunicator::immediate_reduce_scatter_block_into (MPI_Ireduce_scatter_block)", request)
    }

    /// As [`immediate_reduce_scatter_block_into`](Self::immediate_reduce_scatter_block_into), with the error as its result.
    pub fn try_immediate_reduce_scatter_block_into<'a, Sc, S, R, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
        op: O,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let (function, buffers) = ("MPI_Ireduce_scatter_block", (sendbuf, recvbuf));
        started::reduction(self, function, scope, buffers, &op, Planner::reduce_scatter)
    }

    /// As [`reduce_scatter_varcount_into`](Self::reduce_scatter_varcount_into), without blocking (MPI_Ireduce_scatter,
    /// MPI-3.1 section 5.12.10).
    #[track_caller]
    pub fn immediate_reduce_scatter_varcount_into<'a, Sc, S, R, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
        op: O,
    ) -> Request<'a, R, Sc>
    where
        S: 'a + PartitionedBuffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_reduce_scatter_varcount_into(scope, sendbuf, recvbuf, op);
        self.or_fatal("mpi::collective::InterCommunicator::immediate_reduce_scatter_varcount_into (MPI_Ireduce_scatter)", request)
    }

    /// As [`immediate_reduce_scatter_varcount_into`](Self::immediate_reduce_scatter_varcount_into), with the error as its result.
    pub fn try_immediate_reduce_scatter_varcount_into<'a, Sc, S, R, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        recvbuf: &'a mut R,
        op: O,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        S: 'a + PartitionedBuffer + ?Sized,
        R: 'a + BufferMut + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        started::reduce_scatter_varcount(self, scope, (sendbuf, recvbuf), &op)
    }
}

/// What processes start in a collective without blocking whose root is this one of the remote group; as those of
/// [`InterCommunicator`]. The null process, which is no root, ends the job.
impl Process<'_, InterCommunicator> {
    /// What this process is. Fails with [`Error::RemoteRank`] for the null process.
    fn role(&self) -> Result<Role, Error> {
        Ok(self.given()?.1)
    }

    /// As [`broadcast_into`](Self::broadcast_into), without blocking, from a root that calls
    /// [`immediate_broadcast_root`](InterCommunicator::immediate_broadcast_root) (MPI_Ibcast, MPI-3.1 section 5.12.2).
    #[track_caller]
    pub fn immediate_broadcast_into<'a, Sc, B>(
        &self,
        scope: Sc,
        buffer: &'a mut B,
    ) -> Request<'a, B, Sc>
    where
        B: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_broadcast_into(scope, buffer);
        self.as_communicator().or_fatal(
            "mpi::collective::Process::immediate_broadcast_into (MPI_Ibcast)",
            request,
        )
    }

    /// As [`immediate_broadcast_into`](Self::immediate_broadcast_into), with the error as its result.
    pub fn try_immediate_broadcast_into<'a, Sc, B>(
        &self,
        scope: Sc,
        buffer: &'a mut B,
    ) -> Result<Request<'a, B, Sc>, Error>
    where
        B: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let role = self.role()?;
        started::broadcast(self.as_communicator(), role, scope, buffer)
    }

    /// As [`gather_into`](Self::gather_into), without blocking, to a root that calls
    /// [`immediate_gather_root`](InterCommunicator::immediate_gather_root) (MPI_Igather, MPI-3.1 section 5.12.3).
    #[track_caller]
    pub fn immediate_gather_into<'a, Sc, S>(&self, scope: Sc, sendbuf: &'a S) -> Request<'a, S, Sc>
    where
        S: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_gather_into(scope, sendbuf);
        self.as_communicator().or_fatal(
            "mpi::collective::Process::immediate_gather_into (MPI_Igather)",
            request,
        )
    }

    /// As [`immediate_gather_into`](Self::immediate_gather_into), with the error as its result.
    pub fn try_immediate_gather_into<'a, Sc, S>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
    ) -> Result<Request<'a, S, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        let (both, function) = (self.as_communicator(), "MPI_Igather");
        started::giving(both, function, self.role()?, scope, sendbuf)
    }

    /// As [`gather_varcount_into`](Self::gather_varcount_into), without blocking, to a root that calls
    /// [`immediate_gather_varcount_root`](InterCommunicator::immediate_gather_varcount_root) (MPI_Igatherv).
    #[track_caller]
    pub fn immediate_gather_varcount_into<'a, Sc, S>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
    ) -> Request<'a, S, Sc>
    where
        S: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_gather_varcount_into(scope, sendbuf);
        self.as_communicator().or_fatal(
            "mpi::collective::Process::immediate_gather_varcount_into (MPI_Igatherv)",
            request,
        )
    }

    /// As [`immediate_gather_varcount_into`](Self::immediate_gather_varcount_into), with the error as its result.
    pub fn try_immediate_gather_varcount_into<'a, Sc, S>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
    ) -> Result<Request<'a, S, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        Sc: Scope<'a>,
    {
        let (both, function) = (self.as_communicator(), "MPI_Igatherv");
        started::giving(both, function, self.role()?, scope, sendbuf)
    }

    /// As [`scatter_into`](Self::scatter_into), without blocking, from a root that calls
    /// [`immediate_scatter_root`](InterCommunicator::immediate_scatter_root) (MPI_Iscatter, MPI-3.1 section 5.12.4).
    #[track_caller]
    pub fn immediate_scatter_into<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_scatter_into(scope, recvbuf);
        self.as_communicator().or_fatal(
            "mpi::collective::Process::immediate_scatter_into (MPI_Iscatter)",
            request,
        )
    }

    /// As [`immediate_scatter_into`](Self::immediate_scatter_into), with the error as its result.
    pub fn try_immediate_scatter_into<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let (both, function) = (self.as_communicator(), "MPI_Iscatter");
        started::taking(both, function, self.role()?, scope, recvbuf)
    }

    /// As [`scatter_varcount_into`](Self::scatter_varcount_into), without blocking, from a root that calls
    /// [`immediate_scatter_varcount_root`](InterCommunicator::immediate_scatter_varcount_root) (MPI_Iscatterv).
    #[track_caller]
    pub fn immediate_scatter_varcount_into<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Request<'a, R, Sc>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_scatter_varcount_into(scope, recvbuf);
        self.as_communicator().or_fatal(
            "mpi::collective::Process::immediate_scatter_varcount_into (MPI_Iscatterv)",
            request,
        )
    }

    /// As [`immediate_scatter_varcount_into`](Self::immediate_scatter_varcount_into), with the error as its result.
    pub fn try_immediate_scatter_varcount_into<'a, Sc, R>(
        &self,
        scope: Sc,
        recvbuf: &'a mut R,
    ) -> Result<Request<'a, R, Sc>, Error>
    where
        R: 'a + BufferMut + ?Sized,
        Sc: Scope<'a>,
    {
        let (both, function) = (self.as_communicator(), "MPI_Iscatterv");
        started::taking(both, function, self.role()?, scope, recvbuf)
    }

    /// As [`reduce_into`](Self::reduce_into), without blocking, at a root that calls
    /// [`immediate_reduce_root`](InterCommunicator::immediate_reduce_root) (MPI_Ireduce, MPI-3.1 section 5.12.7).
    #[track_caller]
    pub fn immediate_reduce_into<'a, Sc, S, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        op: O,
    ) -> Request<'a, S, Sc>
    where
        S: 'a + Buffer + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_reduce_into(scope, sendbuf, op);
        self.as_communicator().or_fatal(
            "mpi::collective::Process::immediate_reduce_into (MPI_Ireduce)",
            request,
        )
    }

    /// As [`immediate_reduce_into`](Self::immediate_reduce_into), with the error as its result.
    pub fn try_immediate_reduce_into<'a, Sc, S, O>(
        &self,
        scope: Sc,
        sendbuf: &'a S,
        op: O,
    ) -> Result<Request<'a, S, Sc>, Error>
    where
        S: 'a + Buffer + ?Sized,
        O: 'a + Operation,
        Sc: Scope<'a>,
    {
        let role = self.role()?;
        started::reduce_to(self.as_communicator(), role, scope, sendbuf, &op)
    }
}
