//! Tests `--on linux`: the QEMU tests' programs as Linux processes. Output and error messages are the same.

mod cases;
mod checked;
mod cluster;
mod conformance;
mod costs;
mod debug;
mod ends;
mod explore;
mod faults;
mod hangs;
mod installed;
mod jobs;
mod launch;
mod misuses;
mod packages;
mod top;
mod trace;

use midplane_harness::{self as harness, CompletedRun};

/// Runs `midplane run --on linux` for a program of `tests/programs`.
fn run(options: &[&str], name: &str, arguments: &[&str]) -> CompletedRun {
    let options = [&["--on", "linux", "--quiet"], options].concat();
    harness::run(&options, name, arguments)
}
