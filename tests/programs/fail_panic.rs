//! Fails on purpose: the last rank panics while the others wait for it.
#![no_std]
#![no_main]

use kernel_rt::{Args, println};
use mpi_adi::{Error, Mpi};

kernel_rt::program!(main);

fn main(mpi: Mpi<'_>, args: Args) -> Result<(), Error> {
    let world = mpi.world();
    if world.rank() == world.size() - 1 {
        println!("about to panic");
        let words = args.count();
        // Past the end, which only shows when it runs.
        assert!(words > 1_000, "{words} arguments are not enough");
    }
    world.barrier()
}
