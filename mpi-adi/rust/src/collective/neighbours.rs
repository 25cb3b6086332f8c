//! Collectives among neighbours (MPI-3.1 sections 7.6 and 7.7).
#![forbid(unsafe_code)]

use alloc::rc::Rc;

use super::call::{At, collectives};
use super::group::exchange;
use super::operation::NoOperation;
use crate::datatype::any::Each;
use crate::datatype::lent::{equal, equal_mut, listed, listed_mut, whole};
use crate::datatype::{
    AnyBuffer, AnyBufferMut, Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut,
};
use crate::topology::{
    CartesianCommunicator, Communicator, Context, DistributedGraphCommunicator, GraphCommunicator,
    Record,
};
use midplane_objects::topology::Neighbours;

fn beside<C: Communicator + ?Sized>(comm: &C) -> At<'_, &Rc<Record>, Neighbours> {
    let record = comm.record();
    (record, record, record.neighbours(), None)
}

/// Collectives in which each process talks to its neighbours in the communicator's topology alone.
///
/// ```
/// # use midplane_rust as mpi;
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
///
/// [`Error::CountsDiffer`]: midplane_objects::Error::CountsDiffer
/// [`Error::Lengths`]: midplane_objects::Error::Lengths
/// [`Error::NoMemory`]: midplane_objects::Error::NoMemory
/// [`Error::NoRoom`]: midplane_objects::Error::NoRoom
pub trait NeighborCollectives: Communicator {
    collectives! {
        "mpi::collective::NeighborCollectives", [fn], |on, mode, neighbours, given, taken|;

        /// Gives `sendbuf` to every destination, and collects those of all sources in the parts of `recvbuf` (MPI-3.1
        /// section 7.6.1).
        neighbor_all_gather => neighbor_all_gather_into, immediate_neighbor_all_gather_into,
            "MPI_Neighbor_allgather", "MPI_Ineighbor_allgather";
        beside ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R)
            -> R, taken;
        whole(sendbuf), equal_mut(recvbuf), NoOperation => exchange(on, mode, neighbours, given, taken);

        /// As [`neighbor_all_gather`](Self::neighbor_all_gather), of as many elements of each source as its part has.
        neighbor_all_gather_varcount => neighbor_all_gather_varcount_into, immediate_neighbor_all_gather_varcount_into,
            "MPI_Neighbor_allgatherv", "MPI_Ineighbor_allgatherv";
        beside ['a, S: Buffer + ?Sized, R: PartitionedBufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R)
            -> R, taken;
        whole(sendbuf), listed_mut(recvbuf), NoOperation => exchange(on, mode, neighbours, given, taken);

        /// Gives each destination its part of `sendbuf`, and collects what all sources give in the parts of `recvbuf`
        /// (MPI-3.1 section 7.6.2).
        neighbor_all_to_all => neighbor_all_to_all_into, immediate_neighbor_all_to_all_into,
            "MPI_Neighbor_alltoall", "MPI_Ineighbor_alltoall";
        beside ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R)
            -> R, taken;
        equal(sendbuf), equal_mut(recvbuf), NoOperation => exchange(on, mode, neighbours, given, taken);

        /// As [`neighbor_all_to_all`](Self::neighbor_all_to_all), of as many elements as the parts have.
        neighbor_all_to_all_varcount => neighbor_all_to_all_varcount_into, immediate_neighbor_all_to_all_varcount_into,
            "MPI_Neighbor_alltoallv", "MPI_Ineighbor_alltoallv";
        beside ['a, S: PartitionedBuffer + ?Sized, R: PartitionedBufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R)
            -> R, taken;
        listed(sendbuf), listed_mut(recvbuf), NoOperation => exchange(on, mode, neighbours, given, taken);

        /// Gives each destination a buffer of its own, and collects what the sources give in one for each, of whatever
        /// datatypes (MPI-3.1 section 7.6.2).
        ///
        /// ```
        /// # use midplane_rust as mpi;
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
        beside ['a, 's, 'r](sendbufs: &'a [AnyBuffer<'s>], recvbufs: &'a mut [AnyBufferMut<'r>])
            -> [AnyBufferMut<'r>], taken;
        Each(sendbufs), Each(recvbufs), NoOperation => exchange(on, mode, neighbours, given, taken);
    }
}

impl NeighborCollectives for CartesianCommunicator {}
impl NeighborCollectives for DistributedGraphCommunicator {}
impl NeighborCollectives for GraphCommunicator {}
