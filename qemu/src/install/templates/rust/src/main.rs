//! Program for Linux processes and for nodes, which have no standard library.
#![no_std]
#![cfg_attr(not(test), no_main)]

use kernel_rt::println;
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let sum = @CRATE@::ring_sum(&world);
    if world.rank() == 0 {
        println!("{} processes, sum {sum}", world.size());
    }
}
