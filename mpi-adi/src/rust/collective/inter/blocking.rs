//! Those that block.
#![forbid(unsafe_code)]

use super::super::communicator::{reduce, reduce_parts};
use super::super::operation::{Operation, combiner};
use super::super::planner::parts_across;
use super::super::{divided, listed, started};
use crate::device::memory::area::Area;
use crate::mpi::coll::Combine;
use crate::mpi::coll::inter::Role;
use crate::mpi::error::Error;
use crate::rust::datatype::lent::{element, lend, lend_mut, lend_parts, lend_parts_mut};
use crate::rust::datatype::{
    AnyBuffer, AnyBufferMut, Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut,
};
use crate::rust::request::scope;
use crate::rust::topology::{AsCommunicator, InterCommunicator, Process};

/// Collectives of both groups. Every process of both calls the same ones in the same order, and each group's arguments fit
/// the other's; with a root, the other processes of the root's group have no part in it, and call nothing.
///
/// A call blocks until this process has done its part. All end the job where two processes' counts differ, where buffers
/// do not fit together, for an operation that the datatype does not have, and when the program's heap has no room; the
/// forms with `try_` fail with [`Error::LocalDiffers`] and [`Error::RemoteDiffers`], [`Error::Lengths`],
/// [`Error::Undefined`], [`Error::NoMemory`] and [`Error::NoRoom`]. After an error the other processes may wait for this
/// one.
impl InterCommunicator {
    /// Blocks until every process of both groups has called it (MPI_Barrier, MPI-3.1 section 5.3).
    #[track_caller]
    pub fn barrier(&self) {
        self.or_fatal(
            "mpi::collective::InterCommunicator::barrier (MPI_Barrier)",
            self.try_barrier(),
        );
    }

    /// As [`barrier`](Self::barrier), with the error as its result.
    pub fn try_barrier(&self) -> Result<(), Error> {
        self.core()?.barrier("MPI_Barrier")
    }

    /// Gives `buffer` of this process, the root, to all processes of the remote group, which call
    /// [`broadcast_into`](Process::broadcast_into) (MPI_Bcast with MPI_ROOT, MPI-3.1 section 5.4).
    #[track_caller]
    pub fn broadcast_root<B: Buffer + ?Sized>(&self, buffer: &B) {
        self.or_fatal(
            "mpi::collective::InterCommunicator::broadcast_root (MPI_Bcast)",
            self.try_broadcast_root(buffer),
        );
    }

    /// As [`broadcast_root`](Self::broadcast_root), with the error as its result.
    pub fn try_broadcast_root<B: Buffer + ?Sized>(&self, buffer: &B) -> Result<(), Error> {
        let core = self.core()?;
        lend(buffer, |data| {
            core.bcast("MPI_Bcast", data.into(), Role::Root)
        })
    }

    /// Collects what all processes of the remote group give by [`gather_into`](Process::gather_into), in the order of
    /// their ranks, in `recvbuf` of this process, the root (MPI_Gather with MPI_ROOT, MPI-3.1 section 5.5).
    #[track_caller]
    pub fn gather_root<R: BufferMut + ?Sized>(&self, recvbuf: &mut R) {
        let result = self.try_gather_root(recvbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::gather_root (MPI_Gather)",
            result,
        );
    }

    /// As [`gather_root`](Self::gather_root), with the error as its result.
    pub fn try_gather_root<R: BufferMut + ?Sized>(&self, recvbuf: &mut R) -> Result<(), Error> {
        let core = self.core()?;
        let size = element(recvbuf);
        lend_mut(recvbuf, |all| {
            let place = divided(all.into(), size, self.remote_size() as usize)?;
            core.gather("MPI_Gather", Area::EMPTY, &place, Role::Root)
        })
    }

    /// As [`gather_root`](Self::gather_root), into parts, of what all give by
    /// [`gather_varcount_into`](Process::gather_varcount_into) (MPI_Gatherv). Takes their list in the program's heap.
    #[track_caller]
    pub fn gather_varcount_root<R: PartitionedBufferMut + ?Sized>(&self, recvbuf: &mut R) {
        let result = self.try_gather_varcount_root(recvbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::gather_varcount_root (MPI_Gatherv)",
            result,
        );
    }

    /// As [`gather_varcount_root`](Self::gather_varcount_root), with the error as its result.
    pub fn try_gather_varcount_root<R>(&self, recvbuf: &mut R) -> Result<(), Error>
    where
        R: PartitionedBufferMut + ?Sized,
    {
        let core = self.core()?;
        lend_parts_mut(recvbuf, self.remote_size() as usize, |places| {
            let place = listed(places);
            core.gather("MPI_Gatherv", Area::EMPTY, &place, Role::Root)
        })
    }

    /// Gives each process of the remote group, which calls [`scatter_into`](Process::scatter_into), its part of `sendbuf` of
    /// this process, the root (MPI_Scatter with MPI_ROOT, MPI-3.1 section 5.6).
    #[track_caller]
    pub fn scatter_root<S: Buffer + ?Sized>(&self, sendbuf: &S) {
        self.or_fatal(
            "mpi::collective::InterCommunicator::scatter_root (MPI_Scatter)",
            self.try_scatter_root(sendbuf),
        );
    }

    /// As [`scatter_root`](Self::scatter_root), with the error as its result.
    pub fn try_scatter_root<S: Buffer + ?Sized>(&self, sendbuf: &S) -> Result<(), Error> {
        let core = self.core()?;
        let size = element(sendbuf);
        lend(sendbuf, |all| {
            let of = divided(all.into(), size, self.remote_size() as usize)?;
            core.scatter("MPI_Scatter", &of, Area::EMPTY, Role::Root)
        })
    }

    /// As [`scatter_root`](Self::scatter_root), of parts, to processes that call
    /// [`scatter_varcount_into`](Process::scatter_varcount_into) (MPI_Scatterv). Takes their list in the program's heap.
    #[track_caller]
    pub fn scatter_varcount_root<S: PartitionedBuffer + ?Sized>(&self, sendbuf: &S) {
        self.or_fatal(
            "mpi::collective::InterCommunicator::scatter_varcount_root (MPI_Scatterv)",
            self.try_scatter_varcount_root(sendbuf),
        );
    }

    /// As [`scatter_varcount_root`](Self::scatter_varcount_root), with the error as its result.
    pub fn try_scatter_varcount_root<S>(&self, sendbuf: &S) -> Result<(), Error>
    where
        S: PartitionedBuffer + ?Sized,
    {
        let core = self.core()?;
        lend_parts(sendbuf, self.remote_size() as usize, |parts| {
            let of = listed(parts);
            core.scatter("MPI_Scatterv", &of, Area::EMPTY, Role::Root)
        })
    }

    /// Takes what all processes of the remote group give by [`reduce_into`](Process::reduce_into), combined, place by
    /// place, into `recvbuf` of this process, the root (MPI_Reduce with MPI_ROOT, MPI-3.1 section 5.9.1).
    #[track_caller]
    pub fn reduce_root<R: BufferMut + ?Sized>(&self, recvbuf: &mut R) {
        let result = self.try_reduce_root(recvbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::reduce_root (MPI_Reduce)",
            result,
        );
    }

    /// As [`reduce_root`](Self::reduce_root), with the error as its result.
    pub fn try_reduce_root<R: BufferMut + ?Sized>(&self, recvbuf: &mut R) -> Result<(), Error> {
        let core = self.core()?;
        let size = element(recvbuf);
        lend_mut(recvbuf, |result| {
            core.collect("MPI_Reduce", result.into(), size)
        })
    }

    /// Collects `sendbuf` of all processes of the remote group, in the order of their ranks, in `recvbuf` (MPI_Allgather,
    /// MPI-3.1 section 5.7).
    #[track_caller]
    pub fn all_gather_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        let result = self.try_all_gather_into(sendbuf, recvbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::all_gather_into (MPI_Allgather)",
            result,
        );
    }

    /// As [`all_gather_into`](Self::all_gather_into), with the error as its result.
    pub fn try_all_gather_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        let core = self.core()?;
        let size = element(recvbuf);
        lend(sendbuf, |data| {
            lend_mut(recvbuf, |all| {
                let place = divided(all.into(), size, self.remote_size() as usize)?;
                core.alltoall("MPI_Allgather", &|_| data.into(), &place)
            })
        })
    }

    /// As [`all_gather_into`](Self::all_gather_into), of as many elements of each process as its part has
    /// (MPI_Allgatherv). Takes the list of the parts in the program's heap.
    #[track_caller]
    pub fn all_gather_varcount_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        let result = self.try_all_gather_varcount_into(sendbuf, recvbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::all_gather_varcount_into (MPI_Allgatherv)",
            result,
        );
    }

    /// As [`all_gather_varcount_into`](Self::all_gather_varcount_into), with the error as its result.
    pub fn try_all_gather_varcount_into<S, R>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
    ) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        let core = self.core()?;
        lend(sendbuf, |data| {
            lend_parts_mut(recvbuf, self.remote_size() as usize, |places| {
                let place = listed(places);
                core.alltoall("MPI_Allgatherv", &|_| data.into(), &place)
            })
        })
    }

    /// Gives each process of the remote group its part of `sendbuf`, and collects the parts that they have for this one in
    /// `recvbuf` (MPI_Alltoall, MPI-3.1 section 5.8).
    #[track_caller]
    pub fn all_to_all_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        let result = self.try_all_to_all_into(sendbuf, recvbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::all_to_all_into (MPI_Alltoall)",
            result,
        );
    }

    /// As [`all_to_all_into`](Self::all_to_all_into), with the error as its result.
    pub fn try_all_to_all_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        let core = self.core()?;
        let ranks = self.remote_size() as usize;
        let sizes = [element(sendbuf), element(recvbuf)];
        lend(sendbuf, |data| {
            lend_mut(recvbuf, |all| {
                let from = divided(data.into(), sizes[0], ranks)?;
                let to = divided(all.into(), sizes[1], ranks)?;
                core.alltoall("MPI_Alltoall", &from, &to)
            })
        })
    }

    /// As [`all_to_all_into`](Self::all_to_all_into), of as many elements as the parts have (MPI_Alltoallv). Takes the
    /// lists of the parts in the program's heap.
    #[track_caller]
    pub fn all_to_all_varcount_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: PartitionedBuffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        let result = self.try_all_to_all_varcount_into(sendbuf, recvbuf);
        self.or_fatal(
            "mpi::collective::InterCommunicator::all_to_all_varcount_into (MPI_Alltoallv)",
            result,
        );
    }

    /// As [`all_to_all_varcount_into`](Self::all_to_all_varcount_into), with the error as its result.
    pub fn try_all_to_all_varcount_into<S, R>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
    ) -> Result<(), Error>
    where
        S: PartitionedBuffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        let core = self.core()?;
        let ranks = self.remote_size() as usize;
        lend_parts(sendbuf, ranks, |parts| {
            lend_parts_mut(recvbuf, ranks, |places| {
                let from = listed(parts);
                let to = listed(places);
                core.alltoall("MPI_Alltoallv", &from, &to)
            })
        })
    }

    /// Gives each process of the remote group a buffer of its own, and collects what these processes give in one for each,
    /// of whatever datatypes (MPI_Alltoallw). Takes the lists of the buffers and what does not block in the program's heap.
    #[track_caller]
    pub fn all_to_all_vartype_into(
        &self,
        sendbufs: &[AnyBuffer<'_>],
        recvbufs: &mut [AnyBufferMut<'_>],
    ) {
        let result = self.try_all_to_all_vartype_into(sendbufs, recvbufs);
        self.or_fatal(
            "mpi::collective::InterCommunicator::all_to_all_vartype_into (MPI_Alltoallw)",
            result,
        );
    }

    /// As [`all_to_all_vartype_into`](Self::all_to_all_vartype_into), with the error as its result. Fails with
    /// [`Error::Argument`], too, where there is not a buffer for each process of the remote group.
    pub fn try_all_to_all_vartype_into(
        &self,
        sendbufs: &[AnyBuffer<'_>],
        recvbufs: &mut [AnyBufferMut<'_>],
    ) -> Result<(), Error> {
        let function = "MPI_Alltoallw";
        scope(|scope| {
            let request = started::all_to_all_vartype(self, function, scope, sendbufs, recvbufs)?;
            request.wait_within(function).map(drop)
        })
    }

    /// Combines `sendbuf` of all processes of the remote group, place by place, into `recvbuf`, which is as long as this
    /// process's `sendbuf` (MPI_Allreduce, MPI-3.1 section 5.9.6).
    #[track_caller]
    pub fn all_reduce_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let result = self.try_all_reduce_into(sendbuf, recvbuf, op);
        self.or_fatal(
            "mpi::collective::InterCommunicator::all_reduce_into (MPI_Allreduce)",
            result,
        );
    }

    /// As [`all_reduce_into`](Self::all_reduce_into), with the error as its result.
    pub fn try_all_reduce_into<S, R, O>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
        op: O,
    ) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let core = self.core()?;
        reduce((sendbuf, recvbuf), &op, |areas, size, combine| {
            core.allreduce("MPI_Allreduce", areas, size, combine)
        })
    }

    /// Combines `sendbuf` of all processes of the remote group, place by place, and takes this process's part of that, the
    /// one behind those of lower ranks of this group, into `recvbuf` (MPI_Reduce_scatter_block, MPI-3.1 section 5.10.1).
    /// A process's `sendbuf` has as many elements as the results of its own group together, and so both groups' results
    /// have the same number.
    #[track_caller]
    pub fn reduce_scatter_block_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let result = self.try_reduce_scatter_block_into(sendbuf, recvbuf, op);
        self.or_fatal("mpi::collective::InterCommunicator::reduce_scatter_block_into (MPI_Reduce_scatter_block)", result);
    }

    /// As [`reduce_scatter_block_into`](Self::reduce_scatter_block_into), with the error as its result.
    pub fn try_reduce_scatter_block_into<S, R, O>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
        op: O,
    ) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let (core, function) = (self.core()?, "MPI_Reduce_scatter_block");
        reduce((sendbuf, recvbuf), &op, |(data, result), size, combine| {
            let part = parts_across(core.sides.halves(), data, result.len(), size)?;
            core.reduce_scatter(function, part, result, size, combine)
        })
    }

    /// As [`reduce_scatter_block_into`](Self::reduce_scatter_block_into), of parts that differ (MPI_Reduce_scatter, MPI-3.1
    /// section 5.10.2): `sendbuf` has one for each process of the remote group, as long as its result, at all processes of
    /// this group alike. Both groups can divide as many elements as they like. Takes the list of the parts in the program's
    /// heap.
    ///
    /// ```
    /// # use mpi_adi::rust as mpi;
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
    #[track_caller]
    pub fn reduce_scatter_varcount_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: PartitionedBuffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let result = self.try_reduce_scatter_varcount_into(sendbuf, recvbuf, op);
        self.or_fatal(
            "mpi::collective::InterCommunicator::reduce_scatter_varcount_into (MPI_Reduce_scatter)",
            result,
        );
    }

    /// As [`reduce_scatter_varcount_into`](Self::reduce_scatter_varcount_into), with the error as its result; with
    /// [`Error::Argument`], too, where there is not a part for each process of the remote group.
    pub fn try_reduce_scatter_varcount_into<S, R, O>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
        op: O,
    ) -> Result<(), Error>
    where
        S: PartitionedBuffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let core = self.core()?;
        let (buffers, ranks) = ((sendbuf, recvbuf), self.remote_size() as usize);
        reduce_parts(buffers, ranks, &op, |parts, result, size, combine| {
            core.reduce_scatter("MPI_Reduce_scatter", listed(parts), result, size, combine)
        })
    }
}

/// What processes call in a collective whose root is this one of the remote group. The calls block, fail and end the job as
/// those of [`InterCommunicator`]; with [`Error::RemoteRank`], too, for the null process, which is no root.
impl Process<'_, InterCommunicator> {
    /// Takes what the root gives by [`broadcast_root`](InterCommunicator::broadcast_root) (MPI_Bcast, MPI-3.1 section
    /// 5.4).
    #[track_caller]
    pub fn broadcast_into<B: BufferMut + ?Sized>(&self, buffer: &mut B) {
        let result = self.try_broadcast_into(buffer);
        self.as_communicator().or_fatal(
            "mpi::collective::Process::broadcast_into (MPI_Bcast)",
            result,
        );
    }

    /// As [`broadcast_into`](Self::broadcast_into), with the error as its result.
    pub fn try_broadcast_into<B: BufferMut + ?Sized>(&self, buffer: &mut B) -> Result<(), Error> {
        let (core, role) = self.given()?;
        lend_mut(buffer, |data| core.bcast("MPI_Bcast", data.into(), role))
    }

    /// Gives `sendbuf` to the root, which calls [`gather_root`](InterCommunicator::gather_root) (MPI_Gather, MPI-3.1
    /// section 5.5).
    #[track_caller]
    pub fn gather_into<S: Buffer + ?Sized>(&self, sendbuf: &S) {
        let result = self.try_gather_into(sendbuf);
        self.as_communicator()
            .or_fatal("mpi::collective::Process::gather_into (MPI_Gather)", result);
    }

    /// As [`gather_into`](Self::gather_into), with the error as its result.
    pub fn try_gather_into<S: Buffer + ?Sized>(&self, sendbuf: &S) -> Result<(), Error> {
        self.give("MPI_Gather", sendbuf)
    }

    /// As [`gather_into`](Self::gather_into), of as many elements as the root's part for this process has, to a root that
    /// calls [`gather_varcount_root`](InterCommunicator::gather_varcount_root) (MPI_Gatherv).
    #[track_caller]
    pub fn gather_varcount_into<S: Buffer + ?Sized>(&self, sendbuf: &S) {
        let result = self.give("MPI_Gatherv", sendbuf);
        self.as_communicator().or_fatal(
            "mpi::collective::Process::gather_varcount_into (MPI_Gatherv)",
            result,
        );
    }

    /// As [`gather_varcount_into`](Self::gather_varcount_into), with the error as its result.
    pub fn try_gather_varcount_into<S: Buffer + ?Sized>(&self, sendbuf: &S) -> Result<(), Error> {
        self.give("MPI_Gatherv", sendbuf)
    }

    fn give<S: Buffer + ?Sized>(&self, function: &'static str, sendbuf: &S) -> Result<(), Error> {
        let (core, role) = self.given()?;
        lend(sendbuf, |data| {
            core.gather(function, data.into(), &|_| Area::EMPTY, role)
        })
    }

    /// Takes this process's part of what the root gives by [`scatter_root`](InterCommunicator::scatter_root) (MPI_Scatter,
    /// MPI-3.1 section 5.6).
    #[track_caller]
    pub fn scatter_into<R: BufferMut + ?Sized>(&self, recvbuf: &mut R) {
        let result = self.try_scatter_into(recvbuf);
        self.as_communicator().or_fatal(
            "mpi::collective::Process::scatter_into (MPI_Scatter)",
            result,
        );
    }

    /// As [`scatter_into`](Self::scatter_into), with the error as its result.
    pub fn try_scatter_into<R: BufferMut + ?Sized>(&self, recvbuf: &mut R) -> Result<(), Error> {
        self.take("MPI_Scatter", recvbuf)
    }

    /// As [`scatter_into`](Self::scatter_into), of as many elements as the root's part for this process has, from a root
    /// that calls [`scatter_varcount_root`](InterCommunicator::scatter_varcount_root) (MPI_Scatterv).
    #[track_caller]
    pub fn scatter_varcount_into<R: BufferMut + ?Sized>(&self, recvbuf: &mut R) {
        let result = self.take("MPI_Scatterv", recvbuf);
        self.as_communicator().or_fatal(
            "mpi::collective::Process::scatter_varcount_into (MPI_Scatterv)",
            result,
        );
    }

    /// As [`scatter_varcount_into`](Self::scatter_varcount_into), with the error as its result.
    pub fn try_scatter_varcount_into<R>(&self, recvbuf: &mut R) -> Result<(), Error>
    where
        R: BufferMut + ?Sized,
    {
        self.take("MPI_Scatterv", recvbuf)
    }

    fn take<R>(&self, function: &'static str, recvbuf: &mut R) -> Result<(), Error>
    where
        R: BufferMut + ?Sized,
    {
        let (core, role) = self.given()?;
        lend_mut(recvbuf, |result| {
            core.scatter(function, &|_| Area::EMPTY, result.into(), role)
        })
    }

    /// Combines `sendbuf` of all processes of this group, place by place, at the root, which calls
    /// [`reduce_root`](InterCommunicator::reduce_root) (MPI_Reduce, MPI-3.1 section 5.9.1).
    #[track_caller]
    pub fn reduce_into<S, O>(&self, sendbuf: &S, op: O)
    where
        S: Buffer + ?Sized,
        O: Operation,
    {
        let result = self.try_reduce_into(sendbuf, op);
        self.as_communicator()
            .or_fatal("mpi::collective::Process::reduce_into (MPI_Reduce)", result);
    }

    /// As [`reduce_into`](Self::reduce_into), with the error as its result.
    pub fn try_reduce_into<S, O>(&self, sendbuf: &S, op: O) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        O: Operation,
    {
        let (core, role) = self.given()?;
        let size = element(sendbuf);
        let mut combine = combiner(&op, sendbuf)?;
        let combine: &mut Combine<'_> = &mut |left, right| combine.combine(left, right);
        lend(sendbuf, |data| {
            core.reduce("MPI_Reduce", data.into(), size, combine, role)
        })
    }
}
