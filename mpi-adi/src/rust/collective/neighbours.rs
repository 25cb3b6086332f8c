//! Collectives among neighbours (MPI-3.1 sections 7.6 and 7.7).
#![forbid(unsafe_code)]

use alloc::rc::Rc;
use alloc::vec::Vec;

use super::started::{self, Lend, LendMut, exchange};
use crate::device::memory::area::Area;
use crate::mpi::coll::plans;
use crate::mpi::comm::CommRank;
use crate::mpi::error::Error;
use crate::rust::datatype::{
    AnyBuffer, AnyBufferMut, Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut, any,
};
use crate::rust::request::{Request, Scope, scope};
use crate::rust::topology::{
    CartesianCommunicator, Communicator, Context, DistributedGraphCommunicator, GraphCommunicator,
    Record, or_fatal,
};

/// What a process gives: its buffer, how it is lent, and which part of it goes to the neighbour of this number.
type Given<'a, S> = (&'a S, Lend<S>, Part);
type Part = fn(&(Area, Vec<Area>), usize) -> Area;

/// All destinations get the same.
fn whole<S: Buffer + ?Sized>(buffer: &S) -> Given<'_, S> {
    (buffer, started::whole, |(data, _), _| *data)
}

/// Each destination gets its own, all of one length.
fn equal_parts<S: Buffer + ?Sized>(buffer: &S) -> Given<'_, S> {
    (buffer, started::equal_parts, |(_, parts), at| parts[at])
}

/// Each destination gets its own, as long as the buffer says.
fn listed_parts<S: PartitionedBuffer + ?Sized>(buffer: &S) -> Given<'_, S> {
    (buffer, started::listed_parts, |(_, parts), at| parts[at])
}

/// Each destination gets a buffer of its own, of whatever datatype.
fn any_parts<'a, 'b>(buffers: &'a [AnyBuffer<'b>]) -> Given<'a, [AnyBuffer<'b>]> {
    (buffers, any::lend_all, |(_, parts), at| parts[at])
}

/// Where a process collects what it gets: its buffer, and how it is lent.
type Taken<'a, R> = (&'a mut R, LendMut<R>);

/// All sources give as much.
fn equal_places<R: BufferMut + ?Sized>(buffer: &mut R) -> Taken<'_, R> {
    (buffer, started::equal_places)
}

/// Each source gives as much as the buffer says.
fn listed_places<R: PartitionedBufferMut + ?Sized>(buffer: &mut R) -> Taken<'_, R> {
    (buffer, started::listed_places)
}

/// Each source gives into a buffer of its own, of whatever datatype.
fn any_places<'a, 'b>(buffers: &'a mut [AnyBufferMut<'b>]) -> Taken<'a, [AnyBufferMut<'b>]> {
    (buffers, any::lend_all_mut)
}

/// Starts an exchange with all neighbours.
fn start<'a, S, R, Sc>(
    record: &Rc<Record>,
    function: &'static str,
    scope: Sc,
    (sendbuf, lend, part): Given<'a, S>,
    (recvbuf, lend_mut): Taken<'a, R>,
) -> Result<Request<'a, R, Sc>, Error>
where
    S: ?Sized,
    R: ?Sized,
    Sc: Scope<'a>,
{
    let neighbours = record.neighbours()?;
    let given = (sendbuf, lend, neighbours.destinations.len());
    let taken = (recvbuf, lend_mut, neighbours.sources.len());
    let plan = |data: (Area, Vec<Area>), (_, places): (Area, Vec<Area>)| {
        let part = |at: CommRank| part(&data, at.0 as usize);
        let place = |at: CommRank| places[at.0 as usize];
        let (from, to) = neighbours.messages(part, place)?;
        plans::neighbours(from, to, ())
    };
    exchange(record, function, scope, given, taken, plan)
}

/// As [`start`], and waits for its end.
#[track_caller]
fn exchange_all<S: ?Sized, R: ?Sized>(
    record: &Rc<Record>,
    function: &'static str,
    given: Given<'_, S>,
    taken: Taken<'_, R>,
) -> Result<(), Error> {
    scope(|scope| {
        let request = start(record, function, scope, given, taken)?;
        request.wait_within(function).map(drop)
    })
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
/// In a graph they are in the order in which they were given
/// ([`create_distributed_graph_adjacent`](Communicator::create_distributed_graph_adjacent),
/// [`create_graph_communicator`](Communicator::create_graph_communicator)). A buffer has a part for each,
/// in that order; one that has none is empty.
///
/// Every process calls the same ones in the same order. A blocking one blocks until this process has done its part. All
/// take the lists of the neighbours and of the messages in the program's heap. They end the job where a part's length
/// differs from what comes, where a buffer does not have a part for each neighbour, and when the heap has no room; the
/// forms with `try_` fail with [`Error::CountsDiffer`], [`Error::Lengths`], [`Error::NoMemory`] and [`Error::NoRoom`].
pub trait NeighborCollectives: Communicator {
    /// Gives `sendbuf` to every destination, and collects those of all sources in the parts of `recvbuf`
    /// (MPI_Neighbor_allgather, MPI-3.1 section 7.6.1).
    #[track_caller]
    fn neighbor_all_gather_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        or_fatal(
            self,
            "mpi::collective::NeighborCollectives::neighbor_all_gather_into (MPI_Neighbor_allgather)",
            self.try_neighbor_all_gather_into(sendbuf, recvbuf),
        );
    }

    /// As [`neighbor_all_gather_into`](Self::neighbor_all_gather_into), with the error as its result.
    fn try_neighbor_all_gather_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        let (given, taken) = (whole(sendbuf), equal_places(recvbuf));
        exchange_all(self.record(), "MPI_Neighbor_allgather", given, taken)
    }

    /// As [`neighbor_all_gather_into`](Self::neighbor_all_gather_into), of as many elements of each source as its part has
    /// (MPI_Neighbor_allgatherv).
    #[track_caller]
    fn neighbor_all_gather_varcount_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        or_fatal(
            self,
            "mpi::collective::NeighborCollectives::neighbor_all_gather_varcount_into (MPI_Neighbor_allgatherv)",
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
        let (given, taken) = (whole(sendbuf), listed_places(recvbuf));
        exchange_all(self.record(), "MPI_Neighbor_allgatherv", given, taken)
    }

    /// Gives each destination its part of `sendbuf`, and collects what all sources give in the parts of `recvbuf`
    /// (MPI_Neighbor_alltoall, MPI-3.1 section 7.6.2).
    #[track_caller]
    fn neighbor_all_to_all_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        or_fatal(
            self,
            "mpi::collective::NeighborCollectives::neighbor_all_to_all_into (MPI_Neighbor_alltoall)",
            self.try_neighbor_all_to_all_into(sendbuf, recvbuf),
        );
    }

    /// As [`neighbor_all_to_all_into`](Self::neighbor_all_to_all_into), with the error as its result.
    fn try_neighbor_all_to_all_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R) -> Result<(), Error>
    where
        S: Buffer + ?Sized,
        R: BufferMut + ?Sized,
    {
        let (given, taken) = (equal_parts(sendbuf), equal_places(recvbuf));
        exchange_all(self.record(), "MPI_Neighbor_alltoall", given, taken)
    }

    /// As [`neighbor_all_to_all_into`](Self::neighbor_all_to_all_into), of as many elements as the parts have
    /// (MPI_Neighbor_alltoallv).
    #[track_caller]
    fn neighbor_all_to_all_varcount_into<S, R>(&self, sendbuf: &S, recvbuf: &mut R)
    where
        S: PartitionedBuffer + ?Sized,
        R: PartitionedBufferMut + ?Sized,
    {
        or_fatal(
            self,
            "mpi::collective::NeighborCollectives::neighbor_all_to_all_varcount_into (MPI_Neighbor_alltoallv)",
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
        let (given, taken) = (listed_parts(sendbuf), listed_places(recvbuf));
        exchange_all(self.record(), "MPI_Neighbor_alltoallv", given, taken)
    }

    /// Gives each destination a buffer of its own, and collects what the sources give in one for each, of whatever datatypes
    /// (MPI_Neighbor_alltoallw, MPI-3.1 section 7.6.2).
    ///
    /// ```
    /// # use mpi_adi::rust as mpi;
    /// use mpi::datatype::{AnyBuffer, AnyBufferMut};
    /// use mpi::topology::CartesianCommunicator;
    /// use mpi::traits::*;
    ///
    /// /// In a ring numbers go forwards and letters go back: those of the process before and of the one behind.
    /// fn both_ways(ring: &CartesianCommunicator, numbers: &[f64; 3], letter: u8) -> ([f64; 3], u8) {
    ///     let (mut before, mut behind) = ([0.0; 3], 0);
    ///     let given = [AnyBuffer::new(&letter), AnyBuffer::new(numbers)];
    ///     let mut taken = [AnyBufferMut::new(&mut before), AnyBufferMut::new(&mut behind)];
    ///     ring.neighbor_all_to_all_vartype_into(&given, &mut taken);
    ///     (before, behind)
    /// }
    /// ```
    #[track_caller]
    fn neighbor_all_to_all_vartype_into(
        &self,
        sendbufs: &[AnyBuffer<'_>],
        recvbufs: &mut [AnyBufferMut<'_>],
    ) {
        or_fatal(
            self,
            "mpi::collective::NeighborCollectives::neighbor_all_to_all_vartype_into (MPI_Neighbor_alltoallw)",
            self.try_neighbor_all_to_all_vartype_into(sendbufs, recvbufs),
        );
    }

    /// As [`neighbor_all_to_all_vartype_into`](Self::neighbor_all_to_all_vartype_into), with the error as its result.
    fn try_neighbor_all_to_all_vartype_into(
        &self,
        sendbufs: &[AnyBuffer<'_>],
        recvbufs: &mut [AnyBufferMut<'_>],
    ) -> Result<(), Error> {
        let (given, taken) = (any_parts(sendbufs), any_places(recvbufs));
        exchange_all(self.record(), "MPI_Neighbor_alltoallw", given, taken)
    }

    /// As [`neighbor_all_gather_into`](Self::neighbor_all_gather_into), without blocking
    /// (MPI_Ineighbor_allgather, MPI-3.1 section 7.7.1).
    #[track_caller]
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
        let request = self.try_immediate_neighbor_all_gather_into(scope, sendbuf, recvbuf);
        or_fatal(
            self,
            "mpi::collective::NeighborCollectives::immediate_neighbor_all_gather_into (MPI_Ineighbor_allgather)",
            request,
        )
    }

    /// As [`immediate_neighbor_all_gather_into`](Self::immediate_neighbor_all_gather_into), with the error as its result.
    fn try_immediate_neighbor_all_gather_into<'a, Sc, S, R>(
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
        let (given, taken) = (whole(sendbuf), equal_places(recvbuf));
        start(
            self.record(),
            "MPI_Ineighbor_allgather",
            scope,
            given,
            taken,
        )
    }

    /// As [`neighbor_all_gather_varcount_into`](Self::neighbor_all_gather_varcount_into), without blocking
    /// (MPI_Ineighbor_allgatherv, MPI-3.1 section 7.7.1).
    #[track_caller]
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
        let request = self.try_immediate_neighbor_all_gather_varcount_into(scope, sendbuf, recvbuf);
        or_fatal(
            self,
            "mpi::collective::NeighborCollectives::immediate_neighbor_all_gather_varcount_into (MPI_Ineighbor_allgatherv)",
            request,
        )
    }

    /// As [`immediate_neighbor_all_gather_varcount_into`](Self::immediate_neighbor_all_gather_varcount_into), with the error as its result.
    fn try_immediate_neighbor_all_gather_varcount_into<'a, Sc, S, R>(
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
        let (given, taken) = (whole(sendbuf), listed_places(recvbuf));
        start(
            self.record(),
            "MPI_Ineighbor_allgatherv",
            scope,
            given,
            taken,
        )
    }

    /// As [`neighbor_all_to_all_into`](Self::neighbor_all_to_all_into), without blocking
    /// (MPI_Ineighbor_alltoall, MPI-3.1 section 7.7.2).
    #[track_caller]
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
        let request = self.try_immediate_neighbor_all_to_all_into(scope, sendbuf, recvbuf);
        or_fatal(
            self,
            "mpi::collective::NeighborCollectives::immediate_neighbor_all_to_all_into (MPI_Ineighbor_alltoall)",
            request,
        )
    }

    /// As [`immediate_neighbor_all_to_all_into`](Self::immediate_neighbor_all_to_all_into), with the error as its result.
    fn try_immediate_neighbor_all_to_all_into<'a, Sc, S, R>(
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
        let (given, taken) = (equal_parts(sendbuf), equal_places(recvbuf));
        start(self.record(), "MPI_Ineighbor_alltoall", scope, given, taken)
    }

    /// As [`neighbor_all_to_all_varcount_into`](Self::neighbor_all_to_all_varcount_into), without blocking
    /// (MPI_Ineighbor_alltoallv, MPI-3.1 section 7.7.2).
    #[track_caller]
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
        let request = self.try_immediate_neighbor_all_to_all_varcount_into(scope, sendbuf, recvbuf);
        or_fatal(
            self,
            "mpi::collective::NeighborCollectives::immediate_neighbor_all_to_all_varcount_into (MPI_Ineighbor_alltoallv)",
            request,
        )
    }

    /// As [`immediate_neighbor_all_to_all_varcount_into`](Self::immediate_neighbor_all_to_all_varcount_into), with the error as its result.
    fn try_immediate_neighbor_all_to_all_varcount_into<'a, Sc, S, R>(
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
        let (given, taken) = (listed_parts(sendbuf), listed_places(recvbuf));
        start(
            self.record(),
            "MPI_Ineighbor_alltoallv",
            scope,
            given,
            taken,
        )
    }

    /// As [`neighbor_all_to_all_vartype_into`](Self::neighbor_all_to_all_vartype_into), without blocking
    /// (MPI_Ineighbor_alltoallw, MPI-3.1 section 7.7.2).
    #[track_caller]
    fn immediate_neighbor_all_to_all_vartype_into<'a, 's, 'r, Sc>(
        &self,
        scope: Sc,
        sendbufs: &'a [AnyBuffer<'s>],
        recvbufs: &'a mut [AnyBufferMut<'r>],
    ) -> Request<'a, [AnyBufferMut<'r>], Sc>
    where
        Sc: Scope<'a>,
    {
        let request =
            self.try_immediate_neighbor_all_to_all_vartype_into(scope, sendbufs, recvbufs);
        or_fatal(
            self,
            "mpi::collective::NeighborCollectives::immediate_neighbor_all_to_all_vartype_into (MPI_Ineighbor_alltoallw)",
            request,
        )
    }

    /// As [`immediate_neighbor_all_to_all_vartype_into`](Self::immediate_neighbor_all_to_all_vartype_into), with the error as its result.
    fn try_immediate_neighbor_all_to_all_vartype_into<'a, 's, 'r, Sc>(
        &self,
        scope: Sc,
        sendbufs: &'a [AnyBuffer<'s>],
        recvbufs: &'a mut [AnyBufferMut<'r>],
    ) -> Result<Request<'a, [AnyBufferMut<'r>], Sc>, Error>
    where
        Sc: Scope<'a>,
    {
        let (given, taken) = (any_parts(sendbufs), any_places(recvbufs));
        start(
            self.record(),
            "MPI_Ineighbor_alltoallw",
            scope,
            given,
            taken,
        )
    }
}

impl NeighborCollectives for CartesianCommunicator {}
impl NeighborCollectives for DistributedGraphCommunicator {}
impl NeighborCollectives for GraphCommunicator {}
