//! Messages in two rounds, separated by barriers.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    for round in 0..3u64 {
        if world.rank() == 0 {
            let mut sum = 0;
            for _ in 1..world.size() {
                sum += world.any_process().receive::<u64>().0;
            }
            assert_eq!(sum, round * (world.size() as u64 - 1));
        } else {
            world.process_at_rank(0).send(&round);
        }
        world.barrier();
    }
}
