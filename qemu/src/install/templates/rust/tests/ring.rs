//! All processes of the runner run each test. One test of a file initializes MPI.

use mpi::traits::*;

#[test]
fn the_sum_contains_every_rank_once() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let size = world.size();
    assert_eq!(@CRATE@::ring_sum(&world), size * (size - 1) / 2);
}
