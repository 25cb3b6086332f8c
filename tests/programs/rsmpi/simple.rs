//! Prints rank and size.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use kernel_rt::println;
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    assert_eq!(universe.size(), Some(world.size() as usize));
    assert!((0..world.size()).contains(&world.rank()));
    assert_eq!(world.target_size(), world.size());
    assert!(world.this_process().is_self());
    println!("process {} of {}", world.rank(), world.size());
}
