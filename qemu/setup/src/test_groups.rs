//! Cargo arguments that compile the workspace's tests.
//!
//! Cargo unifies the features of dependencies over the selected packages. All tests are therefore compiled with all
//! packages selected, and each crate is compiled once; only the selected targets differ.

/// Test programs that start jobs, grouped by platform. They take as long as all others together and run in parallel to
/// them: one after the other, each program would idle processors while its last test waits.
pub const JOBS: [&[&str]; 3] = [&["qemu_virt"], &["linux"], &["stm32f405", "boards", "attach"]];

/// Environment variable with the path of the command under test. Without it, the tests let cargo build the command.
pub const COMMAND: &str = "MIDPLANE_TEST_COMMAND";

/// Selection of all packages.
pub const PACKAGES: &str = "--workspace";

/// Returns the arguments that build the command together with the test programs that start jobs with it.
pub fn command_and_jobs() -> Vec<&'static str> {
    [PACKAGES, "--bin", "midplane"].into_iter().chain(jobs()).collect()
}

/// Returns the arguments that select the test programs that start jobs.
pub fn jobs() -> impl Iterator<Item = &'static str> {
    JOBS.concat().into_iter().flat_map(|name| ["--test", name])
}
