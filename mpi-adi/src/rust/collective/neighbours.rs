//! Collectives among neighbours (MPI-3.1 sections 7.6 and 7.7).
#![forbid(unsafe_code)]

use alloc::rc::Rc;

use super::communicator::{or_fatal, record};
use super::started::{self, Lend, LendMut, exchange};
use crate::mpi::coll::plans;
use crate::mpi::comm::CommRank;
use crate::mpi::error::Error;
use crate::rust::datatype::{Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut};
use crate::rust::request::{Request, Scope, scope};
use crate::rust::topology::{
    CartesianCommunicator, Communicator, DistributedGraphCommunicator, Record,
};

/// Starts an exchange in which all destinations get the same.
fn all_gather<'a, S, R, Sc>(
    record: &Rc<Record>,
    function: &'static str,
    scope: Sc,
    sendbuf: &'a S,
    (recvbuf, lend_mut): (&'a mut R, LendMut<R>),
) -> Result<Request<'a, R, Sc>, Error>
where
    S: Buffer + ?Sized,
    R: ?Sized,
    Sc: Scope<'a>,
{
    let neighbours = record.neighbours()?;
    let given = (
        sendbuf,
        started::whole as Lend<S>,
        neighbours.destinations.len(),
    );
    let taken = (recvbuf, lend_mut, neighbours.sources.len());
    exchange(
        record,
        function,
        scope,
        given,
        taken,
        |_, (data, _), (_, places)| {
            let place = |at: CommRank| places[at.0 as usize];
            let (from, to) = neighbours.messages(|_| data, place)?;
            plans::neighbours(from, to, ())
        },
    )
}

/// Starts an exchange in which each destination gets its own.
fn all_to_all<'a, S, R, Sc>(
    record: &Rc<Record>,
    function: &'static str,
    scope: Sc,
    (sendbuf, lend): (&'a S, Lend<S>),
    (recvbuf, lend_mut): (&'a mut R, LendMut<R>),
) -> Result<Request<'a, R, Sc>, Error>
where
    S: ?Sized,
    R: ?Sized,
    Sc: Scope<'a>,
{
    let neighbours = record.neighbours()?;
    let given = (sendbuf, lend, neighbours.destinations.len());
    let taken = (recvbuf, lend_mut, neighbours.sources.len());
    exchange(
        record,
        function,
        scope,
        given,
        taken,
        |_, (_, parts), (_, places)| {
            let part = |at: CommRank| parts[at.0 as usize];
            let place = |at: CommRank| places[at.0 as usize];
            let (from, to) = neighbours.messages(part, place)?;
            plans::neighbours(from, to, ())
        },
    )
}

/// Collectives in which each process talks to its neighbours in the communicator's topology alone.
///
/// ```
/// # use mpi_adi::rust as mpi;
/// use mpi::traits::*;
///
/// /// The numbers of the processes before and behind this one, in a ring.
/// fn beside(world: &impl Communicator, mine: u32) -> [u32; 2] {
///     let ring = world.create_cartesian_communicator(&[world.size()], &[true], true).unwrap();
///     let mut beside = [0; 2];
///     ring.neighbor_all_gather_into(&mine, &mut beside[..]);
///     beside
/// }
/// ```
///
/// On a grid the neighbours are, dimension by dimension, the one before and the one behind, as sources and as
/// destinations; where a grid ends there is none, nothing goes there, and the part of the receive buffer stays as it is.
/// In a distributed graph they are in the order in which they were given
/// ([`create_distributed_graph_adjacent`](Communicator::create_distributed_graph_adjacent)). A buffer has a part for each,
/// in that order; one that has none is empty.
///
/// Every process calls the same ones in the same order. A blocking one blocks until this process has done its part. All
/// take the lists of the neighbours and of the messages in the program's heap. They end the job where a part's length
/// differs from what comes, where a buffer does not have a part for each neighbour, and when the heap has no room; the
/// forms with `try_` fail with [`Error::CountsDiffer`], [`Error::Lengths`], [`Error::NoMemory`] and [`Error::NoRoom`].
pub trait NeighborCollectives: Communicator {
    /// Gives `sendbuf` to every destination, and collects those of all sources in the parts of `recvbuf`
    /// (MPI_Neighbor_allgather, MPI-3.1 section 7.6.1).
    fn neighbor_all_gather_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        or_fatal(
            self,
            "MPI_Neighbor_allgather",
            self.try_neighbor_all_gather_into(sendbuf, recvbuf),
        );
    }

    /// As [`neighbor_all_gather_into`](Self::neighbor_all_gather_into), with the error as its result.
    fn try_neighbor_all_gather_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        let function = "MPI_Neighbor_allgather";
        scope(|scope| {
            let (given, taken) = (sendbuf, (recvbuf, started::equal_places as LendMut<R>));
            let request = all_gather(record(self), function, scope, given, taken)?;
            request.wait_within(function).map(drop)
        })
    }

    /// As [`neighbor_all_gather_into`](Self::neighbor_all_gather_into), of as many elements of each source as its part has
    /// (MPI_Neighbor_allgatherv).
    fn neighbor_all_gather_varcount_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        or_fatal(
            self,
            "MPI_Neighbor_allgatherv",
            self.try_neighbor_all_gather_varcount_into(sendbuf, recvbuf),
        );
    }

    /// As [`neighbor_all_gather_varcount_into`](Self::neighbor_all_gather_varcount_into), with the error as its result.
    fn try_neighbor_all_gather_varcount_into<S, R>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
    ) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        let function = "MPI_Neighbor_allgatherv";
        scope(|scope| {
            let (given, taken) = (sendbuf, (recvbuf, started::listed_places as LendMut<R>));
            let request = all_gather(record(self), function, scope, given, taken)?;
            request.wait_within(function).map(drop)
        })
    }

    /// Gives each destination its part of `sendbuf`, and collects what all sources give in the parts of `recvbuf`
    /// (MPI_Neighbor_alltoall, MPI-3.1 section 7.6.2).
    fn neighbor_all_to_all_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        or_fatal(
            self,
            "MPI_Neighbor_alltoall",
            self.try_neighbor_all_to_all_into(sendbuf, recvbuf),
        );
    }

    /// As [`neighbor_all_to_all_into`](Self::neighbor_all_to_all_into), with the error as its result.
    fn try_neighbor_all_to_all_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        let function = "MPI_Neighbor_alltoall";
        scope(|scope| {
            let (given, taken) = (
                (sendbuf, started::equal_parts as Lend<S>),
                (recvbuf, started::equal_places as LendMut<R>),
            );
            let request = all_to_all(record(self), function, scope, given, taken)?;
            request.wait_within(function).map(drop)
        })
    }

    /// As [`neighbor_all_to_all_into`](Self::neighbor_all_to_all_into), of as many elements as the parts have
    /// (MPI_Neighbor_alltoallv).
    fn neighbor_all_to_all_varcount_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: PartitionedBuffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        or_fatal(
            self,
            "MPI_Neighbor_alltoallv",
            self.try_neighbor_all_to_all_varcount_into(sendbuf, recvbuf),
        );
    }

    /// As [`neighbor_all_to_all_varcount_into`](Self::neighbor_all_to_all_varcount_into), with the error as its result.
    fn try_neighbor_all_to_all_varcount_into<S, R>(
        &self,
        sendbuf: &S,
        recvbuf: &mut R,
    ) -> Result<(), Error>
    where
        S: PartitionedBuffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        let function = "MPI_Neighbor_alltoallv";
        scope(|scope| {
            let (given, taken) = (
                (sendbuf, started::listed_parts as Lend<S>),
                (recvbuf, started::listed_places as LendMut<R>),
            );
            let request = all_to_all(record(self), function, scope, given, taken)?;
            request.wait_within(function).map(drop)
        })
    }

    /// As [`neighbor_all_gather_into`](Self::neighbor_all_gather_into), without blocking (MPI_Ineighbor_allgather, MPI-3.1 section 7.7.1).
    fn immediate_neighbor_all_gather_into<'a, Sc, S, R>(
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
        let (given, taken) = (sendbuf, (recvbuf, started::equal_places as LendMut<R>));
        let request = all_gather(record(self), "MPI_Ineighbor_allgather", scope, given, taken);
        or_fatal(self, "MPI_Ineighbor_allgather", request)
    }

    /// As [`neighbor_all_gather_varcount_into`](Self::neighbor_all_gather_varcount_into), without blocking (MPI_Ineighbor_allgatherv, MPI-3.1 section 7.7.1).
    fn immediate_neighbor_all_gather_varcount_into<'a, Sc, S, R>(
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
        let (given, taken) = (sendbuf, (recvbuf, started::listed_places as LendMut<R>));
        let request = all_gather(
            record(self),
            "MPI_Ineighbor_allgatherv",
            scope,
            given,
            taken,
        );
        or_fatal(self, "MPI_Ineighbor_allgatherv", request)
    }

    /// As [`neighbor_all_to_all_into`](Self::neighbor_all_to_all_into), without blocking (MPI_Ineighbor_alltoall, MPI-3.1 section 7.7.2).
    fn immediate_neighbor_all_to_all_into<'a, Sc, S, R>(
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
        let (given, taken) = (
            (sendbuf, started::equal_parts as Lend<S>),
            (recvbuf, started::equal_places as LendMut<R>),
        );
        let request = all_to_all(record(self), "MPI_Ineighbor_alltoall", scope, given, taken);
        or_fatal(self, "MPI_Ineighbor_alltoall", request)
    }

    /// As [`neighbor_all_to_all_varcount_into`](Self::neighbor_all_to_all_varcount_into), without blocking (MPI_Ineighbor_alltoallv, MPI-3.1 section 7.7.2).
    fn immediate_neighbor_all_to_all_varcount_into<'a, Sc, S, R>(
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
        let (given, taken) = (
            (sendbuf, started::listed_parts as Lend<S>),
            (recvbuf, started::listed_places as LendMut<R>),
        );
        let request = all_to_all(record(self), "MPI_Ineighbor_alltoallv", scope, given, taken);
        or_fatal(self, "MPI_Ineighbor_alltoallv", request)
    }
}

impl NeighborCollectives for CartesianCommunicator {}
impl NeighborCollectives for DistributedGraphCommunicator {}
