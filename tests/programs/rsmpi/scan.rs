//! Inclusive and exclusive scan.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use mpi::Rank;
use mpi::collective::SystemOperation;
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let rank = world.rank();
    let mut sum: Rank = 0;
    world.scan_into(&rank, &mut sum, SystemOperation::sum());
    assert_eq!(sum, rank * (rank + 1) / 2);

    let (mine, mut product) = (rank + 1, -1);
    world.exclusive_scan_into(&mine, &mut product, SystemOperation::product());
    match rank {
        0 => assert_eq!(product, -1, "nothing before the first"),
        rank => assert_eq!(product, (1..=rank).fold(1, Rank::wrapping_mul)),
    }
}
