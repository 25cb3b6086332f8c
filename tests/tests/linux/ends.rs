//! Termination: processes exit when the job is complete, and all of them when the tool has died, regardless of the
//! processes in between.

use crate::run;
use midplane_harness::{CommandRun, TempDirectory, marked, program};
use rustix::process::Signal;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Checks whether a command is installed, and otherwise prints that its test is skipped.
fn has(command: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|dir| dir.join(command).is_file());
    if !is_there {
        eprintln!("left out, as there is no {command}: what runs under it");
    }
    is_there
}

#[test]
fn a_process_ends_by_itself_with_what_is_to_be_done_then() {
    let ended = run(&["-n", "3"], "ends.c", &[]).expect(0);
    for rank in 0..3 {
        for what in ["atexit", "destructor"] {
            ended.prints(&format!("[{rank}] rank {rank}: {what}\n"));
        }
    }
}

/// The program's leaks are reported, the runtime has none, and the checker's status is the job's.
#[test]
fn checkers_of_leaks_have_their_say() {
    // The compiler prints the bare name if the library is missing.
    let library = Command::new("cc").arg("-print-file-name=libasan.so").output();
    let is_there = library.is_ok_and(|output| output.stdout.starts_with(b"/"));
    if !is_there {
        eprintln!("left out, as the compiler has no AddressSanitizer: its leaks");
    } else {
        let ended = run(&["-n", "2", "--cflags=-fsanitize=address"], "ends.c", &[]).expect(1);
        ended.says(&[
            "SUMMARY: AddressSanitizer: 123456 byte(s) leaked in 1 allocation(s)",
            "rank 0 at (0,0,0): the program ended with status 0, but its process ended with status 1",
        ]);
    }
    if has("valgrind") {
        let under = "--under=valgrind --leak-check=full --error-exitcode=9";
        let ended = run(&["-n", "2", under], "ends.c", &[]).expect(9).says(&[
            "123,456 bytes in 1 blocks are definitely lost",
            "definitely lost: 123,456 bytes in 1 blocks",
            "possibly lost: 0 bytes in 0 blocks",
        ]);
        assert_eq!(ended.stderr.matches("ERROR SUMMARY: 1 errors").count(), 2);
    }
}

#[test]
fn what_counts_calls_or_lines_writes_at_the_end() {
    let dir = TempDirectory::new("ends");
    let prefix = format!("GCOV_PREFIX={}", dir.path("coverage"));
    run(&["-n", "2", "--cflags=--coverage", "--env", &prefix], "ends.c", &[]).expect(0);
    let mut list = Command::new("find");
    let list = list.args([&dir.path("coverage"), "-name", "*.gcda"]).output();
    let list = String::from_utf8(list.unwrap().stdout).unwrap();
    assert_eq!(list.lines().count(), 1, "{list}");
    if has("strace") {
        let file = dir.path("counts");
        let under = format!("--under=strace -c -f -o {file}");
        run(&["-n", "1", &under], "ends.c", &[]).expect(0);
        let counts = std::fs::read_to_string(&file).unwrap();
        assert!(counts.contains("exit_group") || counts.contains("total"), "{counts}");
    }
}

/// Tracers and shells, which exit in a different way.
fn commands() -> Vec<&'static str> {
    let mut commands = vec![
        "sh -c 'sleep 1000 & \"$@\"; true' sh",
        "setsid sh -c '\"$@\" & wait' sh",
        "env",
    ];
    if has("strace") {
        commands.push("strace -f -o /dev/null");
    }
    if has("valgrind") {
        commands.push("valgrind -q");
    }
    commands
}

/// Waits for the end of all processes with this mark.
fn none_is_left(mark: &str, under: &str) {
    let until = Instant::now() + Duration::from_secs(30);
    while !marked(mark).is_empty() {
        assert!(Instant::now() < until, "{under}: left: {:?}", marked(mark));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn nothing_outlives_the_tool_whatever_stands_between() {
    let program = program("fail_hang.c");
    for under in commands() {
        let mut job = CommandRun::start(&["run", "-q", "--on", "linux", "-n", "3", "--under", under, &program]);
        job.wait_for("waiting");
        job.signal(Signal::KILL);
        job.child.wait().unwrap();
        none_is_left(&job.mark, under);
        assert_eq!(job.end().status, None);
    }
}

#[test]
fn nothing_is_left_of_a_job_that_ends_early() {
    let program = program("fail_hang.c");
    for under in commands() {
        let mut job = CommandRun::start(&["run", "-q", "--on", "linux", "-n", "3", "--under", under, &program]);
        job.wait_for("waiting");
        job.signal(Signal::INT);
        // The tool checks for remaining ranks. The reporting rank may not be in the call yet.
        job.end().expect(130).says(&["state of the ranks"]);
    }
}

/// Wrapper command that exits before the rank.
#[test]
fn a_rank_goes_on_when_the_command_that_it_ran_under_has_ended() {
    let under = "--under=sh -c '\"$@\" &' sh";
    run(&["-n", "3", under], "pi.c", &["1000"]).expect(0);
}

#[test]
#[ignore = "takes two minutes"]
fn a_process_that_does_not_end_is_killed() {
    run(&["-n", "2", "--timeout", "1000"], "ends.c", &["stay"])
        .expect(1)
        .says(&["did not end within 120 s after all programs had ended"]);
}

/// Runs the tool in a shell that closes its stdout.
fn with_closed_stdout(words: &[&str]) -> std::process::Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" \"$@\" >&-"]);
    shell.arg(midplane_harness::command()).args(words);
    shell.output().unwrap()
}

#[test]
fn a_closed_stdout_is_an_error_where_something_is_to_be_written() {
    let [ring, status] = ["app_ring.c", "fail_status.c"].map(program);
    for words in [
        &["run", "-q", "--on", "linux", "-n", "2", &ring][..],
        &["run", "-q", "--on", "cluster", "-n", "2", &ring],
        &["help"],
        &["doctor"],
        &["memory"],
        &["sim", "--torus", "2x2x2", "--ticks", "10"],
        &["cc", "--on", "linux", "-show"],
    ] {
        let ended = with_closed_stdout(words);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{words:?}: {said}");
        let expected = "midplane: cannot write to stdout: it is closed";
        assert!(said.contains(expected), "{words:?}: {said}");
    }
    // Nothing is written.
    let words = ["run", "-q", "--on", "linux", "-n", "2", &status, "--", "0"];
    assert_eq!(with_closed_stdout(&words).status.code(), Some(0));
}

#[test]
fn a_full_device_is_an_error_for_what_prints() {
    for words in [["doctor"].as_slice(), &["cc", "--on", "linux", "-show"]] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let ended = CommandRun::start_between(words, Stdio::null(), full.into()).end();
        ended.expect(1).says(&["midplane: cannot write to stdout"]);
    }
}

/// The status says that the machine lacks a prerequisite.
#[test]
fn without_cargo_in_the_path_the_status_is_that_of_a_machine_that_lacks_it() {
    let ring = program("app_ring.c");
    for board in ["linux", "cluster"] {
        for path in [Some(""), None] {
            let mut tool = Command::new(midplane_harness::command());
            tool.args(["run", "-q", "--on", board, "-n", "2", &ring]);
            tool.env_remove("PATH").env_remove("CARGO");
            if let Some(path) = path {
                tool.env("PATH", path);
            }
            let ended = tool.output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            // After all was built, an empty path lacks the compiler; an unset one uses the system's default.
            if ended.status.code() != Some(0) || path.is_some() {
                assert_eq!(ended.status.code(), Some(2), "{said}");
            }
        }
    }
}

#[test]
fn a_stopped_rank_is_told_from_one_that_computes() {
    let program = program("fail_hang.c");
    let mut job = CommandRun::start(&["run", "-q", "--on", "linux", "-n", "2", &program]);
    job.wait_for("waiting");
    let tool = job.child.id() as i32;
    let mut ranks = marked(&job.mark).into_iter().filter(|pid| *pid != tool);
    // Rank 0 has written the line; another one may not have started yet.
    let victim = ranks.next().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(victim).unwrap(), Signal::STOP).unwrap();
    job.signal(Signal::INT);
    job.end().expect(130).says(&[
        "stopped by a signal",
        &format!("(`kill -CONT {victim}` resumes its process)"),
    ]);
}
