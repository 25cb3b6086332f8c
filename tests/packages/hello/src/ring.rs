//! Token ring.

use heapless::Vec;
use mpi::traits::*;

/// Returns the ranks that a token has visited in one lap.
pub fn lap(world: &impl Communicator) -> Vec<mpi::Rank, 8> {
    let (rank, size) = (world.rank(), world.size());
    let right = world.process_at_rank((rank + 1) % size);
    let left = world.process_at_rank((rank + size - 1) % size);
    let mut met = Vec::from_array([rank]);
    for _ in 1..size {
        let last = *met.last().expect("one at least");
        let (next, _) =
            mpi::point_to_point::send_receive::<mpi::Rank, _, _, _>(&last, &right, &left);
        met.push(next).expect("eight processes at most");
    }
    met
}
