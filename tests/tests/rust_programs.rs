//! Programs in the style of the examples of rsmpi, as nodes run them, on clusters with little memory.
#![forbid(unsafe_code)]
// What a file of its own begins with.
#![allow(unused_attributes)]

extern crate self as kernel_rt;

pub use std::println;

use midplane_tests::{Cluster, rust::as_program};

/// In place of the kernel's: the program is to be called by its module's name.
macro_rules! program {
    ($main:path) => {
        pub fn run() {
            $main()
        }
    };
}
pub(crate) use program;

/// Runs it on clusters of several shapes, with MPI memory from one record to plenty.
fn everywhere(program: fn()) {
    for (seed, (shape, memory)) in [
        ([1, 1, 1], 256),
        ([2, 1, 1], 65536),
        ([2, 2, 1], 32),
        ([5, 1, 1], 4096),
        ([3, 2, 1], 32),
    ]
    .into_iter()
    .enumerate()
    {
        let nodes = shape.iter().map(|extent| usize::from(*extent)).product();
        let cluster = Cluster::new(shape).seed(seed as u64).mpi_memory(memory);
        let (job, reports) = cluster.run_and_report(|node| {
            as_program(node, program);
            0
        });
        assert_eq!(job, Ok(vec![0; nodes]), "{shape:?}, {memory} bytes");
        for report in reports {
            let left = (report.live_requests, report.posted, report.unexpected);
            assert_eq!(left, (0, 0, 0), "{shape:?}, {memory} bytes");
        }
    }
}

macro_rules! programs {
    ($($name:ident: $path:literal),* $(,)?) => {
        $(#[path = $path] mod $name;)*
        mod on_clusters {
            $(#[test] fn $name() { super::everywhere(super::$name::run) })*
        }
    };
}

programs! {
    all_gather: "../programs/rsmpi/all_gather.rs",
    all_to_all: "../programs/rsmpi/all_to_all.rs",
    barrier: "../programs/rsmpi/barrier.rs",
    broadcast: "../programs/rsmpi/broadcast.rs",
    buffered: "../programs/rsmpi/buffered.rs",
    cartesian: "../programs/rsmpi/cartesian.rs",
    datatypes: "../programs/rsmpi/datatypes.rs",
    duplicate: "../programs/rsmpi/duplicate.rs",
    dyn_communicator: "../programs/rsmpi/dyn_communicator.rs",
    environment: "../programs/rsmpi/environment.rs",
    errors: "../programs/rsmpi/errors.rs",
    gather: "../programs/rsmpi/gather.rs",
    gather_varcount: "../programs/rsmpi/gather_varcount.rs",
    group: "../programs/rsmpi/group.rs",
    immediate: "../programs/rsmpi/immediate.rs",
    immediate_collectives: "../programs/rsmpi/immediate_collectives.rs",
    immediate_multiple: "../programs/rsmpi/immediate_multiple.rs",
    null_process: "../programs/rsmpi/null_process.rs",
    ready_send: "../programs/rsmpi/ready_send.rs",
    reduce: "../programs/rsmpi/reduce.rs",
    scan: "../programs/rsmpi/scan.rs",
    scatter: "../programs/rsmpi/scatter.rs",
    send_receive: "../programs/rsmpi/send_receive.rs",
    simple: "../programs/rsmpi/simple.rs",
    split: "../programs/rsmpi/split.rs",
    structured: "../programs/rsmpi/structured.rs",
    time: "../programs/rsmpi/time.rs",
    vector: "../programs/rsmpi/vector.rs",
}
