//! End-to-end tests of the command: programs on tori of QEMU instances, and their failures.
//!
//! Each test runs the real command. QEMU instances share two or more processors with everything else, so a lock limits
//! the number of concurrent jobs, also across test programs. Times are never asserted. Only `--timeout` limits, far
//! beyond the normal duration, turn a hang into a failure with a message.

mod boxes;
mod cases;
mod cc;
mod conformance;
mod costs;
mod debug;
mod faults;
mod files;
mod fortran;
mod hangs;
mod jobs;
mod launch;
mod matching;
mod misuses;
mod options;
mod packages;
mod packets;
mod setup;

use midplane_harness as harness;
