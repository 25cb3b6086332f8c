//! Functions of the program, which `main.rs` calls and `tests` checks.
#![no_std]

use mpi::collective::SystemOperation;
use mpi::traits::*;

/// Sends each rank around a ring, and returns the sum of the received ranks.
pub fn ring_sum(world: &impl Communicator) -> i32 {
    let (rank, size) = (world.rank(), world.size());
    let right = world.process_at_rank((rank + 1) % size);
    let left = world.process_at_rank((rank + size - 1) % size);
    let (received, _) = mpi::point_to_point::send_receive::<i32, _, _, _>(&rank, &right, &left);
    let mut sum = 0;
    world.all_reduce_into(&received, &mut sum, SystemOperation::sum());
    sum
}
