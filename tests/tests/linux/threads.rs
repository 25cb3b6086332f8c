//! Levels of thread support of native programs.

use midplane_harness::{CommandRun, program};

/// A program that requests MPI_THREAD_MULTIPLE gets it, unless it is linked with the recorder, which is for one thread.
#[test]
fn threads_call_mpi_at_the_same_time() {
    let path = program("conf_threads.c");
    for (memory, nodes) in [("32", "4"), ("4K", "3"), ("1M", "1")] {
        let words = [
            "run",
            "-q",
            "--on",
            "linux",
            "-n",
            nodes,
            "--mpi-memory",
            memory,
            &path,
            "--",
            "multiple",
        ];
        let ended = CommandRun::start(&words).end().expect(0);
        assert!(ended.stdout.contains(", 0 failed"), "{ended}");
    }
    let words = [
        "run", "-q", "--on", "linux", "-n", "1", "--check", &path, "--", "multiple",
    ];
    let ended = CommandRun::start(&words).end();
    assert!(ended.stdout.contains("provided == MPI_THREAD_MULTIPLE"), "{ended}");
}
