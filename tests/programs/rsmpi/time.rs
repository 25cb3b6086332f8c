//! Duration of a barrier.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use kernel_rt::println;
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    const ROUNDS: usize = 10;
    let begin = mpi::time();
    for _ in 0..ROUNDS {
        world.barrier();
    }
    let end = mpi::time();
    assert!(end >= begin);
    if world.rank() == 0 {
        println!(
            "{} microseconds a barrier",
            (end - begin) * 1e6 / ROUNDS as f64
        );
    }
}
