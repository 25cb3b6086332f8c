//! Program for nodes and for Linux processes.
//!
//!     hello [tag|started|truncated|panic]      the failing call, if any
#![no_std]
#![cfg_attr(not(test), no_main)]

use hello::ring;
use kernel_rt::{args, println};
use mpi::traits::*;

mod errors;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let met = ring::lap(&world);
    println!(
        "{} {} of {}: {met:?}",
        env!("GREETING"),
        world.rank(),
        world.size()
    );
    match args().nth(1) {
        Some("panic") => panic!("as asked"),
        Some(name) => errors::fail(&world, name),
        None => {}
    }
}
