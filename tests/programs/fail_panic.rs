//! Fails on purpose: the last rank panics while the others wait for it.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use kernel_rt::{args, println};
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    if world.rank() == world.size() - 1 {
        println!("about to panic");
        let words = args().count();
        // Always false, but known at run time only.
        assert!(words > 1_000, "{words} arguments are not enough");
    }
    world.barrier();
}
