//! Second program, which requires a feature. It starts like an rsmpi program: Linux has a standard library.

use mpi::traits::*;

fn main() {
    let universe = mpi::initialize().unwrap();
    println!(
        "second {} of {}",
        universe.world().rank(),
        std::env::args().count()
    );
}
