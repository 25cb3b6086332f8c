//! Tests `--on linux`: the QEMU tests' programs as Linux processes. Output and error messages are the same.

mod abi;
mod cases;
mod checked;
mod cluster;
mod conformance;
mod costs;
mod debug;
mod dynamic;
mod ends;
mod explore;
mod faults;
mod fortran;
mod fortran_calls;
mod hangs;
mod hosts;
mod installed;
mod jobs;
mod launch;
mod launchers;
mod misuses;
mod mpich_abi;
mod packages;
mod packets;
mod shared_library;
mod threads;
mod top;
mod trace;

use midplane_harness::{self as harness, CompletedRun};

/// Runs `midplane run --on linux` for a program of `tests/programs`.
fn run(options: &[&str], name: &str, arguments: &[&str]) -> CompletedRun {
    let options = [&["--on", "linux", "--quiet"], options].concat();
    harness::run(&options, name, arguments)
}
