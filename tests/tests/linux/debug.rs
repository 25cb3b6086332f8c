//! Debugs one rank. The debugger receives the command that starts the rank as arguments, and reads its commands from
//! standard input.

use midplane_harness::{CommandRun, CompletedRun, StandInProgram, program};
use std::io::Write;
use std::process::Stdio;

/// Starts the rank's process like gdb, with the exec wrapper from its arguments, and waits for its end.
const STARTS: &str = r#"
while [ "$1" != --args ]; do
    case $1 in "set exec-wrapper "*) wrapper=${1#set exec-wrapper } ;; esac
    shift
done
shift
echo 'it is held' >&2
sleep 1
echo 'it goes on' >&2
eval "$wrapper \"\$@\""
"#;

/// Runs a job of four ranks; these commands debug one of them.
fn debugged(rank: &str, options: &[&str], name: &str, orders: &str) -> CompletedRun {
    let name = program(name);
    let always = ["run", "--on", "linux", "-n", "4", "--debug", rank];
    let arguments = [&always, options, &[&name]].concat();
    let mut job = CommandRun::start_with(&arguments, Stdio::piped());
    // It may have ended before it has read all commands.
    let _ = { job.child.stdin.take().unwrap() }.write_all(orders.as_bytes());
    job.end()
}

#[test]
fn one_rank_is_started_by_its_debugger_and_the_job_ends_with_both() {
    let debugger = StandInProgram::new("starts", STARTS);
    let options = ["--debugger", debugger.path()];
    let ended = debugged("1", &options, "app_ring.c", "").expect(0);
    ended.says_in_order(&["it is held", "it goes on", "all"]);
    assert!(ended.stdout.contains("app_ring: 4 processes"), "{ended}");
    // The limits apply to the rank, not to the debugger.
    let options = [&options[..], &["--stack", "64K"]].concat();
    debugged("3", &options, "fail_stack.c", "")
        .expect(1)
        .says(&["the program's stack of", "KiB is used up"]);
}

#[test]
fn the_job_ends_with_the_debugger() {
    debugged("1", &["--debugger", "true"], "fail_hang.c", "")
        .expect(1)
        .says(&["the debugger has ended, and the job with it"]);
}

#[test]
fn what_goes_wrong_elsewhere_is_said_while_the_debugger_is_there() {
    debugged("1", &["--debugger", "sh -c 'sleep 2' sh"], "fail_abort.c", "")
        .expect(1)
        .says(&[
            "abort",
            "the debugger is still attached to rank 1; the job ends with the debugger",
        ]);
}

#[test]
#[ignore = "needs gdb"]
fn gdb_does_as_it_is_told() {
    let orders = "print 6 * 7\nbacktrace\nbreak MPI_Finalize\ncontinue\nprint 7 * 8\ncontinue\n";
    let ended = debugged("1", &[], "app_ring.c", orders).expect(0);
    let words = ["main (", "= 42", "Breakpoint 2", "= 56", "app_ring: 4 processes"];
    for words in words {
        assert!(ended.stdout.contains(words), "no {words:?} in {ended}");
    }
    // A rank that fails without a signal stops at the failure.
    let ended = debugged("3", &[], "fail_mpi_error.c", "continue\nbacktrace\ncontinue\n").expect(1);
    for words in ["SIGTRAP", "fail_mpi_error.c:", "exited with code"] {
        assert!(ended.stdout.contains(words), "no {words:?} in {ended}");
    }
    debugged("1", &[], "fail_hang.c", "run\nquit\n")
        .expect(1)
        .says(&["this rank has run before; start the job again"]);
    for orders in ["kill\nquit\n", "detach\nquit\n", ""] {
        debugged("1", &[], "fail_hang.c", orders)
            .expect(1)
            .says(&["the debugger has ended, and the job with it"]);
    }
}

#[test]
fn what_cannot_be_debugged_is_refused() {
    let killer = program("killer.c");
    for (options, why) in [
        (
            &["--on", "linux", "-n", "4", "--debug", "4"][..],
            "the ranks are 0 to 3",
        ),
        (&["--on", "cluster", "--debug", "0"], "all ranks run in one process"),
        (&["--debug", "0", "--board", "stm32f405"], "treat a silent link as cut"),
        (
            &["--on", "linux", "--debug", "0", "--under", "true"],
            "cannot be used with",
        ),
        (&["--on", "linux", "--debugger", "gdb"], "--debug <RANK>"),
    ] {
        let arguments = [&["run"], options, &[&killer]].concat();
        CommandRun::start(&arguments).end().expect(2).says(&[why]);
    }
}
