//! Gather of `rank` numbers from each process.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use mpi::Count;
use mpi::datatype::PartitionMut;
use mpi::traits::*;

kernel_rt::program!(main);

/// Returns the count of each rank, and its displacement.
pub fn counts(size: Count) -> [Vec<Count>; 2] {
    let counts: Vec<Count> = (0..size).collect();
    let displs = counts.iter().scan(0, |sum, x| {
        *sum += x;
        Some(*sum - x)
    });
    let displs = displs.collect();
    [counts, displs]
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let root = world.process_at_rank(0);
    let (rank, size) = (world.rank(), world.size());
    let msg: Vec<i32> = (0..rank).collect();
    if root.is_self() {
        let [counts, displs] = counts(size);
        let mut all = vec![-1; (size * (size - 1) / 2) as usize];
        let mut partition = PartitionMut::new(&mut all[..], counts, &displs[..]);
        root.gather_varcount_into_root(&msg[..], &mut partition);
        assert!(all.iter().copied().eq((0..size).flat_map(|rank| 0..rank)));
    } else {
        root.gather_varcount_into(&msg[..]);
    }
}
