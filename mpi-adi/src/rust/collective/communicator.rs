//! Collectives without a root.
#![forbid(unsafe_code)]

use alloc::rc::Rc;

use super::operation::{Combiner, Operation, combiner};
use super::planner::{Planner, combining};
use super::started;
use super::{divided, listed, part, same_length};
use crate::device::memory::area::Area;
use crate::mpi::coll;
use crate::mpi::comm;
use crate::mpi::error::Error;
use crate::rust::datatype::lent::{element, lend, lend_mut, lend_parts, lend_parts_mut};
use crate::rust::datatype::{
    AnyBuffer, AnyBufferMut, Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut,
};
use crate::rust::request::{Request, Scope, scope};
use crate::rust::topology::{Communicator, Context, Record, or_fatal};

pub(super) fn core_of<C: Communicator + ?Sized>(of: &C) -> Result<comm::Communicator<'_>, Error> {
    of.as_simple().record.core()
}

/// Runs a reduction with the areas of its two buffers.
pub(super) fn reduce<S, R, O>(
    (sendbuf, recvbuf): (&S, &mut R),
    op: &O,
    run: impl FnOnce((Area, Area), usize, &mut coll::Combine<'_>) -> Result<(), Error>,
) -> Result<(), Error>
where
    S: Buffer + ?Sized,
    R: BufferMut + ?Sized,
    O: Operation,
{
    let mut combine = combiner(op, sendbuf)?;
    let size = element(sendbuf);
    lend(sendbuf, |data| {
        lend_mut(recvbuf, |result| {
            run((data.into(), result.into()), size, &mut |left, right| {
                combine.combine(left, right)
            })
        })
    })
}

/// As [`reduce`], of a first buffer in so many parts.
pub(super) fn reduce_parts<S, R, O>(
    (sendbuf, recvbuf): (&S, &mut R),
    parts: usize,
    op: &O,
    run: impl FnOnce(&[Area], Area, usize, &mut coll::Combine<'_>) -> Result<(), Error>,
) -> Result<(), Error>
where
    S: PartitionedBuffer + ?Sized,
    R: BufferMut + ?Sized,
    O: Operation,
{
    let mut combine = combiner(op, sendbuf)?;
    let size = element(sendbuf);
    lend_parts(sendbuf, parts, |parts| {
        lend_mut(recvbuf, |result| {
            run(parts, result.into(), size, &mut |left, right| {
                combine.combine(left, right)
            })
        })
    })
}

/// Collectives of all processes of a communicator alike; see the [module](super) for when they block and what they fail
/// with.
pub trait CommunicatorCollectives: Communicator {
    /// Blocks until every process has called it (MPI_Barrier, MPI-3.1 section 5.3).
    #[track_caller]
    fn barrier(&self) {
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::barrier (MPI_Barrier)",
            self.try_barrier(),
        );
    }

    /// As [`barrier`](Self::barrier), with the error as its result.
    fn try_barrier(&self) -> Result<(), Error> {
        coll::barrier(core_of(self)?, "MPI_Barrier")
    }

    /// Collects all processes' `sendbuf`, in the order of the ranks, in every `recvbuf` (MPI_Allgather, MPI-3.1 section
    /// 5.7).
    #[track_caller]
    fn all_gather_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::all_gather_into (MPI_Allgather)",
            self.try_all_gather_into(sendbuf, recvbuf),
        );
    }

    /// As [`all_gather_into`](Self::all_gather_into), with the error as its result.
    fn try_all_gather_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        let core = core_of(self)?;
        let size = element(recvbuf);
        lend(sendbuf, |data| {
            lend_mut(recvbuf, |all| {
                let place = divided(all.into(), size, core.size() as usize)?;
                coll::allgather(core, "MPI_Allgather", data.into(), &place)
            })
        })
    }

    /// As [`all_gather_into`](Self::all_gather_into), of as many elements of each process as its part has
    /// (MPI_Allgatherv). Takes the list of the parts in the program's heap.
    #[track_caller]
    fn all_gather_varcount_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        let gathered = self.try_all_gather_varcount_into(sendbuf, recvbuf);
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::all_gather_varcount_into (MPI_Allgatherv)",
            gathered,
        );
    }

    /// As [`all_gather_varcount_into`](Self::all_gather_varcount_into), with the error as its result.
    fn try_all_gather_varcount_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        let core = core_of(self)?;
        lend(sendbuf, |data| {
            lend_parts_mut(recvbuf, core.size() as usize, |places| {
                let place = listed(places);
                coll::allgather(core, "MPI_Allgatherv", data.into(), &place)
            })
        })
    }

    /// Gives each process its part of every `sendbuf` (MPI_Alltoall, MPI-3.1 section 5.8).
    #[track_caller]
    fn all_to_all_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::all_to_all_into (MPI_Alltoall)",
            self.try_all_to_all_into(sendbuf, recvbuf),
        );
    }

    /// As [`all_to_all_into`](Self::all_to_all_into), with the error as its result.
    fn try_all_to_all_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        let core = core_of(self)?;
        let ranks = core.size() as usize;
        let sizes = [element(sendbuf), element(recvbuf)];
        lend(sendbuf, |data| {
            lend_mut(recvbuf, |all| {
                let from = divided(data.into(), sizes[0], ranks)?;
                let to = divided(all.into(), sizes[1], ranks)?;
                coll::alltoall(core, "MPI_Alltoall", &from, &to)
            })
        })
    }

    /// As [`all_to_all_into`](Self::all_to_all_into), of as many elements as the parts have (MPI_Alltoallv). Takes the
    /// lists of the parts in the program's heap.
    #[track_caller]
    fn all_to_all_varcount_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: PartitionedBuffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        let exchanged = self.try_all_to_all_varcount_into(sendbuf, recvbuf);
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::all_to_all_varcount_into (MPI_Alltoallv)",
            exchanged,
        );
    }

    /// As [`all_to_all_varcount_into`](Self::all_to_all_varcount_into), with the error as its result.
    fn try_all_to_all_varcount_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), Error>
    where
        S: PartitionedBuffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        let core = core_of(self)?;
        let ranks = core.size() as usize;
        lend_parts(sendbuf, ranks, |parts| {
            lend_parts_mut(recvbuf, ranks, |places| {
                let from = listed(parts);
                let to = listed(places);
                coll::alltoall(core, "MPI_Alltoallv", &from, &to)
            })
        })
    }

    /// Gives each process a buffer of its own, and collects what the processes give in one for each, of whatever datatypes
    /// (MPI_Alltoallw). Takes the lists of the buffers and what does not block in the program's heap.
    ///
    /// ```
    /// # use mpi_adi::rust as mpi;
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
    #[track_caller]
    fn all_to_all_vartype_into(
        &self,
        sendbufs: &[AnyBuffer<'_>],
        recvbufs: &mut [AnyBufferMut<'_>],
    ) {
        let result = self.try_all_to_all_vartype_into(sendbufs, recvbufs);
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::all_to_all_vartype_into (MPI_Alltoallw)",
            result,
        );
    }

    /// As [`all_to_all_vartype_into`](Self::all_to_all_vartype_into), with the error as its result. Fails with
    /// [`Error::Argument`], too, where there is not a buffer for each process.
    fn try_all_to_all_vartype_into(
        &self,
        sendbufs: &[AnyBuffer<'_>],
        recvbufs: &mut [AnyBufferMut<'_>],
    ) -> Result<(), Error> {
        let function = "MPI_Alltoallw";
        scope(|scope| {
            let record = self.record();
            let request = started::all_to_all_vartype(record, function, scope, sendbufs, recvbufs)?;
            request.wait_within(function).map(drop)
        })
    }

    /// Combines all processes' `sendbuf`, place by place, into every `recvbuf` (MPI_Allreduce, MPI-3.1 section 5.9.6).
    #[track_caller]
    fn all_reduce_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::all_reduce_into (MPI_Allreduce)",
            self.try_all_reduce_into(sendbuf, recvbuf, op),
        );
    }

    /// As [`all_reduce_into`](Self::all_reduce_into), with the error as its result.
    fn try_all_reduce_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let core = core_of(self)?;
        reduce((sendbuf, recvbuf), &op, |areas, size, combine| {
            let commute = op.is_commutative();
            let elements = coll::Elements {
                size,
                commute,
                predefined: op.given().is_system(),
            };
            coll::allreduce(core, "MPI_Allreduce", areas, elements, combine)
        })
    }

    /// Combines as [`all_reduce_into`](Self::all_reduce_into), and gives each process its part of the result
    /// (MPI_Reduce_scatter_block, MPI-3.1 section 5.10.1).
    #[track_caller]
    fn reduce_scatter_block_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let scattered = self.try_reduce_scatter_block_into(sendbuf, recvbuf, op);
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::reduce_scatter_block_into (MPI_Reduce_scatter_block)",
            scattered,
        );
    }

    /// As [`reduce_scatter_block_into`](Self::reduce_scatter_block_into), with the error as its result.
    fn try_reduce_scatter_block_into<S, R, O>(
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
        let (core, function) = (core_of(self)?, "MPI_Reduce_scatter_block");
        reduce((sendbuf, recvbuf), &op, |(data, result), size, combine| {
            same_length(result.len() * core.size() as usize, data.len())?;
            let of = |rank: comm::CommRank| part(data, rank.0, result.len());
            coll::reduce_scatter(core, function, &of, result, size, combine)
        })
    }

    /// Combines as [`all_reduce_into`](Self::all_reduce_into), and gives each process the result of its part, as long as its
    /// `recvbuf` (MPI_Reduce_scatter, MPI-3.1 section 5.10.2). The parts are as long at all processes; in its buffer each
    /// process has them where it likes. Takes the list of the parts in the program's heap.
    ///
    /// ```
    /// # use mpi_adi::rust as mpi;
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
    #[track_caller]
    fn reduce_scatter_varcount_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: PartitionedBuffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let scattered = self.try_reduce_scatter_varcount_into(sendbuf, recvbuf, op);
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::reduce_scatter_varcount_into (MPI_Reduce_scatter)",
            scattered,
        );
    }

    /// As [`reduce_scatter_varcount_into`](Self::reduce_scatter_varcount_into), with the error as its result: with
    /// [`Error::Lengths`], too, where `recvbuf` is not as long as this process's part, and with [`Error::Argument`] where
    /// there is not a part for each process.
    fn try_reduce_scatter_varcount_into<S, R, O>(
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
        let core = core_of(self)?;
        let (buffers, ranks) = ((sendbuf, recvbuf), core.size() as usize);
        reduce_parts(buffers, ranks, &op, |parts, result, size, combine| {
            let function = "MPI_Reduce_scatter";
            coll::reduce_scatter(core, function, &listed(parts), result, size, combine)
        })
    }

    /// Combines `sendbuf` of the ranks up to this one into `recvbuf` (MPI_Scan, MPI-3.1 section 5.11.1).
    #[track_caller]
    fn scan_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let scanned = self.try_scan_into(sendbuf, recvbuf, op);
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::scan_into (MPI_Scan)",
            scanned,
        );
    }

    /// As [`scan_into`](Self::scan_into), with the error as its result.
    fn try_scan_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        scan(self, "MPI_Scan", (sendbuf, recvbuf), &op, true)
    }

    /// Combines `sendbuf` of the ranks before this one into `recvbuf`, which rank 0 leaves as it is (MPI_Exscan, MPI-3.1
    /// section 5.11.2).
    #[track_caller]
    fn exclusive_scan_into<S, R, O>(&self, sendbuf: &S, recvbuf: &mut R, op: O)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
        O: Operation,
    {
        let scanned = self.try_exclusive_scan_into(sendbuf, recvbuf, op);
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::exclusive_scan_into (MPI_Exscan)",
            scanned,
        );
    }

    /// As [`exclusive_scan_into`](Self::exclusive_scan_into), with the error as its result.
    fn try_exclusive_scan_into<S, R, O>(
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
        scan(self, "MPI_Exscan", (sendbuf, recvbuf), &op, false)
    }

    /// Starts a barrier; the request is complete when every process has started it (MPI_Ibarrier, MPI-3.1 section 5.12.1).
    /// Does not block.
    #[track_caller]
    fn immediate_barrier(&self) -> Request<'static, ()> {
        let request = self.try_immediate_barrier();
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::immediate_barrier (MPI_Ibarrier)",
            request,
        )
    }

    /// As [`immediate_barrier`](Self::immediate_barrier), with the error as its result.
    fn try_immediate_barrier(&self) -> Result<Request<'static, ()>, Error> {
        started::barrier(self.record())
    }

    /// As [`all_gather_into`](Self::all_gather_into), without blocking (MPI_Iallgather, MPI-3.1 section 5.12.5).
    #[track_caller]
    fn immediate_all_gather_into<'a, Sc, S, R>(
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
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::immediate_all_gather_into (MPI_Iallgather)",
            request,
        )
    }

    /// As [`immediate_all_gather_into`](Self::immediate_all_gather_into), with the error as its result.
    fn try_immediate_all_gather_into<'a, Sc, S, R>(
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
        started::all_gather(self.record(), scope, sendbuf, recvbuf)
    }

    /// As [`all_gather_varcount_into`](Self::all_gather_varcount_into), without blocking (MPI_Iallgatherv).
    #[track_caller]
    fn immediate_all_gather_varcount_into<'a, Sc, S, R>(
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
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::immediate_all_gather_varcount_into (MPI_Iallgatherv)",
            request,
        )
    }

    /// As [`immediate_all_gather_varcount_into`](Self::immediate_all_gather_varcount_into), with the error as its result.
    fn try_immediate_all_gather_varcount_into<'a, Sc, S, R>(
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
        started::all_gather_varcount(self.record(), scope, sendbuf, recvbuf)
    }

    /// As [`all_to_all_into`](Self::all_to_all_into), without blocking (MPI_Ialltoall, MPI-3.1 section 5.12.6).
    #[track_caller]
    fn immediate_all_to_all_into<'a, Sc, S, R>(
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
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::immediate_all_to_all_into (MPI_Ialltoall)",
            request,
        )
    }

    /// As [`immediate_all_to_all_into`](Self::immediate_all_to_all_into), with the error as its result.
    fn try_immediate_all_to_all_into<'a, Sc, S, R>(
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
        started::all_to_all(self.record(), scope, sendbuf, recvbuf)
    }

    /// As [`all_to_all_varcount_into`](Self::all_to_all_varcount_into), without blocking (MPI_Ialltoallv).
    #[track_caller]
    fn immediate_all_to_all_varcount_into<'a, Sc, S, R>(
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
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::immediate_all_to_all_varcount_into (MPI_Ialltoallv)",
            request,
        )
    }

    /// As [`immediate_all_to_all_varcount_into`](Self::immediate_all_to_all_varcount_into), with the error as its result.
    fn try_immediate_all_to_all_varcount_into<'a, Sc, S, R>(
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
        started::all_to_all_varcount(self.record(), scope, sendbuf, recvbuf)
    }

    /// As [`all_to_all_vartype_into`](Self::all_to_all_vartype_into), without blocking (MPI_Ialltoallw).
    #[track_caller]
    fn immediate_all_to_all_vartype_into<'a, 's, 'r, Sc>(
        &self,
        scope: Sc,
        sendbufs: &'a [AnyBuffer<'s>],
        recvbufs: &'a mut [AnyBufferMut<'r>],
    ) -> Request<'a, [AnyBufferMut<'r>], Sc>
    where
        Sc: Scope<'a>,
    {
        let request = self.try_immediate_all_to_all_vartype_into(scope, sendbufs, recvbufs);
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::immediate_all_to_all_vartype_into (MPI_Ialltoallw)",
            request,
        )
    }

    /// As [`immediate_all_to_all_vartype_into`](Self::immediate_all_to_all_vartype_into), with the error as its result.
    fn try_immediate_all_to_all_vartype_into<'a, 's, 'r, Sc>(
        &self,
        scope: Sc,
        sendbufs: &'a [AnyBuffer<'s>],
        recvbufs: &'a mut [AnyBufferMut<'r>],
    ) -> Result<Request<'a, [AnyBufferMut<'r>], Sc>, Error>
    where
        Sc: Scope<'a>,
    {
        let (record, function) = (self.record(), "MPI_Ialltoallw");
        started::all_to_all_vartype(record, function, scope, sendbufs, recvbufs)
    }

    /// As [`all_reduce_into`](Self::all_reduce_into), without blocking (MPI_Iallreduce, MPI-3.1 section 5.12.8).
    #[track_caller]
    fn immediate_all_reduce_into<'a, Sc, S, R, O>(
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
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::immediate_all_reduce_into (MPI_Iallreduce)",
            request,
        )
    }

    /// As [`immediate_all_reduce_into`](Self::immediate_all_reduce_into), with the error as its result.
    fn try_immediate_all_reduce_into<'a, Sc, S, R, O>(
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
        let (of, buffers) = (self.record(), (sendbuf, recvbuf));
        started::reduction(
            of,
            "MPI_Iallreduce",
            scope,
            buffers,
            &op,
            Planner::allreduce,
        )
    }

    /// As [`reduce_scatter_block_into`](Self::reduce_scatter_block_into), without blocking (MPI_Ireduce_scatter_block,
    /// MPI-3.1 section 5.12.9).
    #[track_caller]
    fn immediate_reduce_scatter_block_into<'a, Sc, S, R, O>(
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
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::immediate_reduce_scatter_block_into (MPI_Ireduce_scatter_block)",
            request,
        )
    }

    /// As [`immediate_reduce_scatter_block_into`](Self::immediate_reduce_scatter_block_into), with the error as its result.
    fn try_immediate_reduce_scatter_block_into<'a, Sc, S, R, O>(
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
        let (of, function) = (self.record(), "MPI_Ireduce_scatter_block");
        let buffers = (sendbuf, recvbuf);
        started::reduction(of, function, scope, buffers, &op, Planner::reduce_scatter)
    }

    /// As [`reduce_scatter_varcount_into`](Self::reduce_scatter_varcount_into), without blocking (MPI_Ireduce_scatter,
    /// MPI-3.1 section 5.12.10).
    #[track_caller]
    fn immediate_reduce_scatter_varcount_into<'a, Sc, S, R, O>(
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
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::immediate_reduce_scatter_varcount_into (MPI_Ireduce_scatter)",
            request,
        )
    }

    /// As [`immediate_reduce_scatter_varcount_into`](Self::immediate_reduce_scatter_varcount_into), with the error as its result.
    fn try_immediate_reduce_scatter_varcount_into<'a, Sc, S, R, O>(
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
        started::reduce_scatter_varcount(self.record(), scope, (sendbuf, recvbuf), &op)
    }

    /// As [`scan_into`](Self::scan_into), without blocking (MPI_Iscan, MPI-3.1 section 5.12.11).
    #[track_caller]
    fn immediate_scan_into<'a, Sc, S, R, O>(
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
        let request = self.try_immediate_scan_into(scope, sendbuf, recvbuf, op);
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::immediate_scan_into (MPI_Iscan)",
            request,
        )
    }

    /// As [`immediate_scan_into`](Self::immediate_scan_into), with the error as its result.
    fn try_immediate_scan_into<'a, Sc, S, R, O>(
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
        let (of, buffers) = (self.record(), (sendbuf, recvbuf));
        started::reduction(of, "MPI_Iscan", scope, buffers, &op, scan_plan::<true>)
    }

    /// As [`exclusive_scan_into`](Self::exclusive_scan_into), without blocking (MPI_Iexscan, MPI-3.1 section 5.12.12).
    #[track_caller]
    fn immediate_exclusive_scan_into<'a, Sc, S, R, O>(
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
        let request = self.try_immediate_exclusive_scan_into(scope, sendbuf, recvbuf, op);
        or_fatal(
            self,
            "mpi::collective::CommunicatorCollectives::immediate_exclusive_scan_into (MPI_Iexscan)",
            request,
        )
    }

    /// As [`immediate_exclusive_scan_into`](Self::immediate_exclusive_scan_into), with the error as its result.
    fn try_immediate_exclusive_scan_into<'a, Sc, S, R, O>(
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
        let (of, buffers) = (self.record(), (sendbuf, recvbuf));
        started::reduction(of, "MPI_Iexscan", scope, buffers, &op, scan_plan::<false>)
    }
}

fn scan<C, S, R, O>(
    of: &C,
    function: &'static str,
    buffers: (&S, &mut R),
    op: &O,
    inclusive: bool,
) -> Result<(), Error>
where
    C: Communicator + ?Sized,
    S: Buffer + ?Sized,
    R: BufferMut + ?Sized,
    O: Operation,
{
    let core = core_of(of)?;
    reduce(buffers, op, |areas, size, combine| {
        coll::scan(core, function, areas, size, combine, inclusive)
    })
}

fn scan_plan<const INCLUSIVE: bool>(
    of: &Rc<Record>,
    areas: (Area, Area),
    elements: coll::Elements,
    combiner: Combiner<'static>,
) -> Result<coll::Plan, Error> {
    let (core, combine) = (of.core()?, combining(combiner));
    coll::plans::scan(core, areas, elements.size, combine, INCLUSIVE, ())
}

impl<C: Communicator + ?Sized> CommunicatorCollectives for C {}
