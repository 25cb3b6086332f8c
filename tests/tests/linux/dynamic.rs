//! Processes that come and go: failures, ends and options. `conf_dynamic.c` checks what the functions do.

use crate::run;
use midplane_harness::{CommandRun, fortran, marked, program};
use rustix::process::Signal;
use std::time::{Duration, Instant};

#[test]
fn a_spawned_process_that_aborts_ends_the_job() {
    run(&["-n", "2"], "spawner.c", &["abort"])
        .expect(7)
        .says(&["rank 3 at (3,0,0): MPI_Abort was called with status 7"]);
}

#[test]
fn the_status_of_a_spawned_process_is_that_of_the_job() {
    run(&["-n", "1"], "spawner.c", &["exit"]).expect(3);
    run(&["-n", "1"], "spawner.c", &["leave"])
        .expect(1)
        .says(&["rank 2 at (2,0,0)", "MPI_Finalize"]);
}

/// A process that never becomes a rank would leave the others waiting.
#[test]
fn a_command_without_mpi_ends_the_job() {
    run(&["-n", "1"], "spawner.c", &["other", "true"])
        .expect(1)
        .says(&["ended by itself with status 0"]);
}

#[test]
fn what_cannot_be_started_is_named() {
    for (command, why) in [
        ("there_is_none", "there is no executable there_is_none"),
        ("/etc/passwd", "/etc/passwd is not executable"),
        ("/tmp", "/tmp is not executable"),
    ] {
        run(&["-n", "1"], "spawner.c", &["other", command]).expect(1).says(&[
            &format!("rank 0 cannot start processes: {why}"),
            "MPI_Comm_spawn failed with MPI_ERR_SPAWN",
        ]);
    }
}

#[test]
fn spare_nodes_are_as_many_as_specified() {
    run(&["-n", "1", "--spare", "1"], "spawner.c", &["exit"])
        .expect(1)
        .says(&["it requests 2, and the job has 1 spare nodes left", "MPI_ERR_SPAWN"]);
    run(&["-n", "1", "--spare", "0"], "spawner.c", &["exit"])
        .expect(1)
        .says(&["the job has no spare nodes left", "MPI_ERR_SPAWN"]);
    run(&["-n", "2", "--spare", "255"], "spawner.c", &["exit"])
        .expect(2)
        .says(&["257 in total; the maximum is 256"]);
    run(&["-n", "1", "--spare", "2", "--debug", "0"], "spawner.c", &["exit"])
        .expect(2)
        .says(&["a job has no spare nodes with --debug"]);
}

#[test]
fn a_hang_names_spawned_ranks() {
    run(&["-n", "1"], "spawner.c", &["wait"]).expect(1).says(&[
        "the job hangs",
        "rank 0 at (0,0,0): in MPI_Recv",
        "in MPI_Recv (peer 0",
    ]);
}

#[test]
fn no_spawned_process_outlives_the_tool() {
    for (signal, status) in [(Signal::KILL, None), (Signal::INT, Some(130))] {
        let program = program("spawner.c");
        let words = [
            "run",
            "-q",
            "--on",
            "linux",
            "-n",
            "2",
            "--on-hang",
            "wait",
            &program,
            "--",
            "wait",
        ];
        let mut job = CommandRun::start(&words);
        job.wait_for("waiting");
        job.signal(signal);
        job.child.wait().unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        while !marked(&job.mark).is_empty() {
            assert!(Instant::now() < until, "left: {:?}", marked(&job.mark));
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(job.end().status, status);
    }
}

#[test]
fn fortran_starts_processes_with_arguments() {
    if !fortran::has_gfortran() {
        return;
    }
    let ended = run(&["-n", "2", "--mpi-memory", "32"], "spawner.f90", &[]).expect(0);
    ended.prints("spawn: 33 T");
    ended.prints("spawn_multiple: 213");
}
