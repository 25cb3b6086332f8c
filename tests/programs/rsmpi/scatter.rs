//! Scatter of one number, then of varying counts, from rank 0.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use mpi::Count;
use mpi::datatype::Partition;
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let root = world.process_at_rank(world.size() - 1);
    let (rank, size) = (world.rank(), world.size());
    let mut x = -1;
    if root.is_self() {
        let all: Vec<i32> = (0..size).collect();
        root.scatter_into_root(&all[..], &mut x);
    } else {
        root.scatter_into(&mut x);
    }
    assert_eq!(x, rank);

    let mut mine = vec![-1; rank as usize];
    if root.is_self() {
        let all: Vec<i32> = (0..size).flat_map(|rank| 0..rank).collect();
        let counts: Vec<Count> = (0..size).collect();
        let displs: Vec<Count> = (0..size).map(|rank| rank * (rank - 1) / 2).collect();
        let partition = Partition::new(&all, counts, displs);
        root.scatter_varcount_into_root(&partition, &mut mine);
    } else {
        root.scatter_varcount_into(&mut mine);
    }
    assert!(mine.iter().copied().eq(0..rank));
}
