//! The command with `--on linux`: the same programs as in QEMU, as processes of this machine. They say the same, and
//! what goes wrong is told in the same words.

mod cases;
mod checked;
mod cluster;
mod conformance;
mod costs;
mod debug;
mod ends;
mod faults;
mod jobs;
mod launch;
mod packages;

use midplane_harness::{self as harness, Ended};

/// `midplane run --on linux`; the program's name is completed.
fn run(options: &[&str], name: &str, arguments: &[&str]) -> Ended {
    let options = [&["--on", "linux", "--quiet"], options].concat();
    harness::run(&options, name, arguments)
}
