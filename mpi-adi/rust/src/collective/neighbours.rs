//! Neighbourhood collectives (MPI-3.1 sections 7.6 and 7.7).
#![forbid(unsafe_code)]

use super::call::{CallTarget, collectives};
use super::group::exchange;
use super::operation::NoOperation;
use crate::datatype::any::BufferList;
use crate::datatype::operands::{borrow_equal, borrow_equal_mut, borrow_parts, borrow_parts_mut, borrow_whole};
use crate::datatype::{AnyBuffer, AnyBufferMut, Buffer, BufferMut, PartitionedBuffer, PartitionedBufferMut};
use crate::topology::{
    CartesianCommunicator, CommRecord, Communicator, Context, DistributedGraphCommunicator, GraphCommunicator,
};
use midplane_objects::topology::NeighbourLists;

fn all_neighbours<C: Communicator + ?Sized>(comm: &C) -> CallTarget<'_, &CommRecord, NeighbourLists> {
    let record = comm.record();
    (record, record, record.neighbours(), None)
}

/// Collectives in which each process communicates only with its neighbours in the communicator's topology.
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::traits::*;
///
/// /// Returns the values of the previous and the next process in a ring.
/// fn all_neighbours(world: &impl Communicator, mine: u32) -> [u32; 2] {
///     let ring = world.create_cartesian_communicator(&[world.size()], &[true], true).unwrap();
///     let mut all_neighbours = [0; 2];
///     ring.neighbor_all_gather_into(&mine, &mut all_neighbours[..]);
///     all_neighbours
/// }
/// ```
///
/// On a grid the neighbours are, for each dimension, the previous and the next process, both as sources and as
/// destinations. At the border of a grid the missing neighbour sends and receives nothing; its part of the receive
/// buffer is unchanged. In a graph they are in the order of its definition
/// ([`create_distributed_graph_adjacent`](Communicator::create_distributed_graph_adjacent),
/// [`create_graph_communicator`](Communicator::create_graph_communicator)). A buffer contains a part for each neighbour
/// in that order; without neighbours it is empty.
///
/// Every process calls the same collectives in the same order. A blocking call returns when this process has completed
/// its part. Every call allocates the lists of neighbours and messages from the program's heap.
///
/// # Errors
/// A call aborts the job, and [`try_run`](super::Collective::try_run) returns the error:
///
/// - [`Error::CountsDiffer`]: the length of a part differs from the received data.
/// - [`Error::Lengths`]: a buffer does not contain a part for each neighbour.
/// - [`Error::NoMemory`] and [`Error::NoSpace`]: the heap has no space.
///
/// [`Error::CountsDiffer`]: midplane_objects::Error::CountsDiffer
/// [`Error::Lengths`]: midplane_objects::Error::Lengths
/// [`Error::NoMemory`]: midplane_objects::Error::NoMemory
/// [`Error::NoSpace`]: midplane_objects::Error::NoSpace
pub trait NeighborCollectives: Communicator {
    collectives! {
        "mpi::collective::NeighborCollectives", [fn], |on, mode, neighbours, given, taken|;

        /// Sends `sendbuf` to every destination, and gathers from all sources in the parts of `recvbuf` (MPI-3.1
        /// section 7.6.1).
        neighbor_all_gather => neighbor_all_gather_into, immediate_neighbor_all_gather_into,
            "MPI_Neighbor_allgather", "MPI_Ineighbor_allgather";
        all_neighbours ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R)
            -> R, taken;
        borrow_whole(sendbuf), borrow_equal_mut(recvbuf), NoOperation => exchange(on, mode, neighbours, given, taken);

        /// [`neighbor_all_gather`](Self::neighbor_all_gather) with a count for each source: the length of its part.
        neighbor_all_gather_varcount => neighbor_all_gather_varcount_into, immediate_neighbor_all_gather_varcount_into,
            "MPI_Neighbor_allgatherv", "MPI_Ineighbor_allgatherv";
        all_neighbours ['a, S: Buffer + ?Sized, R: PartitionedBufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R)
            -> R, taken;
        borrow_whole(sendbuf), borrow_parts_mut(recvbuf), NoOperation => exchange(on, mode, neighbours, given, taken);

        /// Sends each destination its part of `sendbuf`, and receives from all sources in the parts of `recvbuf`
        /// (MPI-3.1 section 7.6.2).
        neighbor_all_to_all => neighbor_all_to_all_into, immediate_neighbor_all_to_all_into,
            "MPI_Neighbor_alltoall", "MPI_Ineighbor_alltoall";
        all_neighbours ['a, S: Buffer + ?Sized, R: BufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R)
            -> R, taken;
        borrow_equal(sendbuf), borrow_equal_mut(recvbuf), NoOperation => exchange(on, mode, neighbours, given, taken);

        /// [`neighbor_all_to_all`](Self::neighbor_all_to_all) with separate counts: the lengths of the parts.
        neighbor_all_to_all_varcount => neighbor_all_to_all_varcount_into, immediate_neighbor_all_to_all_varcount_into,
            "MPI_Neighbor_alltoallv", "MPI_Ineighbor_alltoallv";
        all_neighbours ['a, S: PartitionedBuffer + ?Sized, R: PartitionedBufferMut + ?Sized](sendbuf: &'a S, recvbuf: &'a mut R)
            -> R, taken;
        borrow_parts(sendbuf), borrow_parts_mut(recvbuf), NoOperation => exchange(on, mode, neighbours, given, taken);

        /// [`neighbor_all_to_all`](Self::neighbor_all_to_all) with a separate buffer of any datatype for each
        /// neighbour, on both sides (MPI-3.1 section 7.6.2).
        ///
        /// ```
        /// # use midplane_rust as mpi;
        /// use mpi::datatype::{AnyBuffer, AnyBufferMut};
        /// use mpi::topology::CartesianCommunicator;
        /// use mpi::traits::*;
        ///
        /// /// In a ring, sends numbers to the next process and a letter to the previous one, and receives theirs.
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
        all_neighbours ['a, 's, 'r](sendbufs: &'a [AnyBuffer<'s>], recvbufs: &'a mut [AnyBufferMut<'r>])
            -> [AnyBufferMut<'r>], taken;
        BufferList(sendbufs), BufferList(recvbufs), NoOperation => exchange(on, mode, neighbours, given, taken);
    }
}

impl NeighborCollectives for CartesianCommunicator {}
impl NeighborCollectives for DistributedGraphCommunicator {}
impl NeighborCollectives for GraphCommunicator {}
