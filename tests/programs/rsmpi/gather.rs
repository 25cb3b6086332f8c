//! Gather of one number, then of several, to rank 0.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let root = world.process_at_rank(0);
    let size = world.size() as usize;
    let i = 2u64.pow(world.rank() as u32 + 1);
    if root.is_self() {
        let mut all = vec![0u64; size];
        root.gather_into_root(&i, &mut all[..]);
        assert!(all.iter().zip(1..).all(|(x, n)| *x == 2u64.pow(n)));
        let mut all = vec![0u64; 2 * size];
        root.gather_into_root(&[i, i + 1], &mut all);
        assert!(
            all.chunks(2)
                .zip(1..)
                .all(|(x, n)| x == [2u64.pow(n), 2u64.pow(n) + 1])
        );
    } else {
        root.gather_into(&i);
        root.gather_into(&[i, i + 1]);
    }
}
