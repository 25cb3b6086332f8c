//! The command as users run it: programs on tori of QEMU instances, and what goes wrong with them.
//!
//! Each test runs the real command. QEMU instances share two or more processors with everything else, so
//! these tests take turns, also across test programs. Times are never asserted, only limits of `--timeout`
//! far beyond what a healthy job takes, so that a hang ends as a failure with a message.

mod boxes;
mod cases;
mod cc;
mod conformance;
mod costs;
mod debug;
mod faults;
mod files;
mod jobs;
mod launch;
mod matching;
mod options;
mod packages;
mod setup;

use midplane_harness as harness;
