//! Another program, which needs a feature, in the head that rsmpi's have: Linux has a standard library.

use mpi::traits::*;

fn main() {
    let universe = mpi::initialize().unwrap();
    println!(
        "second {} of {}",
        universe.world().rank(),
        std::env::args().count()
    );
}
