//! Versions, names, time, threads; a second start.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use kernel_rt::println;
use mpi::{Threading, environment};

kernel_rt::program!(main);

fn main() {
    let (version, subversion) = environment::version();
    assert!(version >= 3);
    println!(
        "MPI {version}.{subversion}, {}",
        environment::library_version().unwrap()
    );
    assert!(!environment::is_finalized());
    let (universe, level) = mpi::initialize_with_threading(Threading::Multiple).unwrap();
    assert!(level <= Threading::Serialized && level == universe.threading_support());
    assert_eq!(environment::threading_support(), level);
    assert!(environment::is_initialized());
    assert!(mpi::initialize().is_none(), "MPI starts once");
    println!("{}", environment::processor_name().unwrap());
    let (begin, end) = (mpi::time(), mpi::time());
    assert!(begin <= end && mpi::time_resolution() > 0.0);
}
