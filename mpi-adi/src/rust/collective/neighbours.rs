//! Collectives among neighbours (MPI-3.1 sections 7.6 and 7.7).

use alloc::rc::Rc;

use super::call::{self, Collective, Form, start};
use crate::mpi::coll::plans;
use crate::mpi::comm::CommRank;
use crate::mpi::error::Error;
use crate::rust::datatype::any::Each;
use crate::rust::datatype::lent::{Parts, Side, equal, equal_mut, listed, listed_mut, whole};
use crate::rust::datatype::{
    AnyBuffer, AnyBufferMut, Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut,
};
use crate::rust::request::{Request, Scope, Ticket};
use crate::rust::topology::{
    CartesianCommunicator, Communicator, Context, DistributedGraphCommunicator, GraphCommunicator,
    Record,
};

/// An exchange with all neighbours: what each destination gets, and where what each source gives goes.
struct Exchange<'c, S, T> {
    record: &'c Rc<Record>,
    given: S,
    taken: T,
}

#[allow(private_interfaces)]
impl<S: Side, T: Side> Form for Exchange<'_, S, T> {
    fn run(self, function: &'static str) -> Result<(), Error> {
        // SAFETY: the operation is over before this call returns.
        let ticket = unsafe { self.ticket(function) }?;
        ticket.wait(function).map(drop)
    }

    unsafe fn ticket(self, function: &'static str) -> Result<Ticket, Error> {
        let neighbours = self.record.neighbours()?;
        // SAFETY: the caller's promise; a ticket gives its loans back.
        let ((given_loan, given), (taken_loan, taken)) = unsafe {
            (
                self.given.loan(neighbours.destinations.len())?,
                self.taken.loan(neighbours.sources.len())?,
            )
        };
        let (part, place) = (|at: CommRank| given.of(at), |at: CommRank| taken.of(at));
        let (from, to) = neighbours.messages(part, place)?;
        let plan = plans::neighbours(from, to, ())?;
        start(self.record, function, plan, [given_loan, taken_loan])
    }
}

/// A row for each collective, as those of [`call::collectives`].
macro_rules! exchanges {
    ($(
        $(#[$doc:meta])*
        $make:ident => $run:ident, $start:ident, $mpi:literal, $immediate:literal;
        [$($generics:tt)*]($sendbuf:ident: $send:ty, $recvbuf:ident: $recv:ty) -> $data:ty;
        $given:expr, $taken:expr;
    )*) => {$(
        $(#[$doc])*
        fn $make<$($generics)*>(
            &self,
            $sendbuf: $send,
            $recvbuf: $recv,
        ) -> Collective<'_, 'a, $data, impl Form> {
            let (given, taken, record) = ($given, $taken, self.record());
            let names = call::names!("NeighborCollectives", $run, $start, $mpi, $immediate);
            let buffer = taken.buffer();
            Collective::new(record, names, buffer, Exchange { record, given, taken })
        }

        #[doc = concat!("Runs [`", stringify!($make), "`](Self::", stringify!($make), ") (", $mpi, ").")]
        #[track_caller]
        fn $run<$($generics)*>(&self, $sendbuf: $send, $recvbuf: $recv) {
            self.$make($sendbuf, $recvbuf).run();
        }

        #[doc = concat!("Starts [`", stringify!($make), "`](Self::", stringify!($make), ") (", $immediate, ").")]
        #[track_caller]
        fn $start<$($generics)*, Sc: Scope<'a>>(
            &self,
            scope: Sc,
            $sendbuf: $send,
            $recvbuf: $recv,
        ) -> Request<'a, $data, Sc> {
            self.$make($sendbuf, $recvbuf).start(scope)
        }
    )*};
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
/// differs from what comes, where a buffer does not have a part for each neighbour, and when the heap has no room; as
/// [`try_run`](super::Collective::try_run) they fail with [`Error::CountsDiffer`], [`Error::Lengths`],
/// [`Error::NoMemory`] and [`Error::NoRoom`].
pub trait NeighborCollectives: Communicator {
    exchanges! {
        /// Gives `sendbuf` to every destination, and collects those of all sources in the parts of `recvbuf` (MPI-3.1
        /// section 7.6.1).
        neighbor_all_gather => neighbor_all_gather_into, immediate_neighbor_all_gather_into,
            "MPI_Neighbor_allgather", "MPI_Ineighbor_allgather";
        ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R) -> R;
        whole(sendbuf), equal_mut(recvbuf);

        /// As [`neighbor_all_gather`](Self::neighbor_all_gather), of as many elements of each source as its part has.
        neighbor_all_gather_varcount => neighbor_all_gather_varcount_into, immediate_neighbor_all_gather_varcount_into,
            "MPI_Neighbor_allgatherv", "MPI_Ineighbor_allgatherv";
        ['a, S: Buffer + ?Sized, R: PartitionedBufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R) -> R;
        whole(sendbuf), listed_mut(recvbuf);

        /// Gives each destination its part of `sendbuf`, and collects what all sources give in the parts of `recvbuf`
        /// (MPI-3.1 section 7.6.2).
        neighbor_all_to_all => neighbor_all_to_all_into, immediate_neighbor_all_to_all_into,
            "MPI_Neighbor_alltoall", "MPI_Ineighbor_alltoall";
        ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R) -> R;
        equal(sendbuf), equal_mut(recvbuf);

        /// As [`neighbor_all_to_all`](Self::neighbor_all_to_all), of as many elements as the parts have.
        neighbor_all_to_all_varcount => neighbor_all_to_all_varcount_into, immediate_neighbor_all_to_all_varcount_into,
            "MPI_Neighbor_alltoallv", "MPI_Ineighbor_alltoallv";
        ['a, S: PartitionedBuffer + ?Sized, R: PartitionedBufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R) -> R;
        listed(sendbuf), listed_mut(recvbuf);

        /// Gives each destination a buffer of its own, and collects what the sources give in one for each, of whatever
        /// datatypes (MPI-3.1 section 7.6.2).
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
        neighbor_all_to_all_vartype => neighbor_all_to_all_vartype_into, immediate_neighbor_all_to_all_vartype_into,
            "MPI_Neighbor_alltoallw", "MPI_Ineighbor_alltoallw";
        ['a, 's, 'r](sendbufs: &'a [AnyBuffer<'s>], recvbufs: &'a mut [AnyBufferMut<'r>]) -> [AnyBufferMut<'r>];
        Each(sendbufs), Each(recvbufs);
    }
}

impl NeighborCollectives for CartesianCommunicator {}
impl NeighborCollectives for DistributedGraphCommunicator {}
impl NeighborCollectives for GraphCommunicator {}
