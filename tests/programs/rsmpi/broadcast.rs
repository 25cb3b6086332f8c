//! Broadcast of a number, then of a list, from rank 0.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let root = world.process_at_rank(0);
    let mut x = if root.is_self() { 1 << 40 | 5u64 } else { 0 };
    root.broadcast_into(&mut x);
    assert_eq!(x, 1 << 40 | 5);

    let n = 500;
    let mut powers: Vec<u32> = if root.is_self() { (0..n).map(|i| 3u32.wrapping_pow(i)).collect() } else { (0..n).map(|_| 0).collect() };
    root.broadcast_into(&mut powers[..]);
    assert!(
        powers
            .iter()
            .zip(0..)
            .all(|(x, i)| *x == 3u32.wrapping_pow(i))
    );
}
