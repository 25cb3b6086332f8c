//! Versions, names, time, threads; a second initialization.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use kernel_rt::println;
use mpi::tools::{VariableCategory, control_variables, performance_variables, set_eager_limit};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use mpi::{Threading, environment};

kernel_rt::program!(main);

/// Tool variables: they show a posted receive and the program's settings.
fn variables() {
    let value = |name: &str| {
        let mut all = control_variables().chain(performance_variables());
        let found = all.find(|variable| variable.name() == name).unwrap();
        assert!(!found.description().is_empty());
        found.read().unwrap()
    };
    let count = control_variables().len() + performance_variables().len();
    assert!(count >= 9 && value("mpi_memory") > 0);
    let category = performance_variables().next().unwrap().category();
    assert_eq!(category, VariableCategory::Matching);

    let own = SimpleCommunicator::self_comm();
    let this = own.this_process();
    let (before, mut got) = (value("posted_receives"), 0u8);
    mpi::request::scope(|scope| {
        let receive = this.immediate_receive_into(scope, &mut got);
        assert_eq!(value("posted_receives"), before + 1);
        assert!(value("requests") > 0);
        this.send(&7u8);
        receive.wait();
    });
    assert_eq!((value("posted_receives"), got), (before, 7));

    let limit = value("eager_limit");
    set_eager_limit(100).unwrap();
    assert_eq!(value("eager_limit"), 100);
    set_eager_limit(limit as usize).unwrap();
    assert_eq!(value("eager_limit"), limit);
}

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
    variables();
    let (begin, end) = (mpi::time(), mpi::time());
    assert!(begin <= end && mpi::time_resolution() > 0.0);
}
