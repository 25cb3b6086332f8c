//! Nodes that share QEMU instances behave like nodes with separate ones. Other tests use the default, one instance,
//! unless they specify more.

use crate::harness::*;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

/// Numbers of instances: one, several with links between them, one for each of eight nodes.
const WIRINGS: [&str; 3] = ["1", "4", "8"];

#[test]
fn killer_however_the_nodes_are_divided() {
    for instances in WIRINGS {
        let options = ["--instances", instances, "--mpi-memory", "4K"];
        let (ended, report) = run_with_report(&options, "killer.c", &["20", "1024"]);
        check_killer(&ended.expect(0), 8, "20", "1024");
        for name in ["ncts", "nctsd"] {
            assert!(total(&report, name) > 0, "no {name}: {report}");
        }
    }
}

/// `run` builds an image for the job's requirements: a job that requires more is rejected before anything starts.
#[test]
fn an_image_is_refused_where_it_lacks_what_the_job_needs() {
    let dir = TempDirectory::new("lacking");
    // A unique name: another job's image could contain more.
    let source = dir.path("lacking.c");
    std::fs::copy(program("pi.c"), &source).expect("a copy");
    midplane(&["run", "-n", "2", "--timeout", LIMIT, &source]).expect(0);
    let programs = std::fs::read_dir(root().join("target/midplane/programs"));
    let dirs = programs.expect("programs were built").flatten();
    let mut images = dirs.map(|dir| dir.path().join("lacking.elf"));
    let image = images.find(|image| image.exists());
    let image = image.expect("the image just built").display().to_string();
    let refused = |option: &[&str], why: &str| {
        let options = ["run", "-n", "2", "--timeout", LIMIT];
        let ended = midplane(&[&options[..], option, &[&image]].concat());
        ended
            .expect(2)
            .says(&[why, "specify its source, or link it with `midplane cc`"]);
    };
    refused(&["--instances", "2"], "built for a job in one instance");
    refused(&["--log"], "built without --log");
    refused(&["--mpi-borrow"], "built without --mpi-borrow");
    midplane(&["run", "-n", "2", "--timeout", LIMIT, &image]).expect(0);
}

#[test]
fn a_job_has_as_many_processes_as_instances() {
    let path = program("fail_hang.c");
    for (instances, processes) in [("1", 1), ("2", 2), ("4", 4)] {
        let options = ["run", "--torus", "2x2x1", "--timeout", LIMIT, "--instances"];
        let mut job = CommandRun::start(&[&options[..], &[instances, &path]].concat());
        job.wait_for("waiting for a message");
        assert_eq!(job.instances().len(), processes);
        job.signal(Signal::INT);
        // The position at the time of the signal is random.
        job.end()
            .expect(130)
            .says(&["interrupted by a signal; state of the ranks:", "  rank"]);
    }
}

#[test]
fn a_killed_instance_takes_all_its_nodes_and_they_are_named() {
    let path = program("fail_hang.c");
    let options = ["run", "--torus", "2x2x2", "--timeout", LIMIT, "--instances"];
    let mut job = CommandRun::start(&[&options[..], &["2", &path]].concat());
    job.wait_for("waiting for a message");
    let mut instances = job.instances();
    instances.sort_unstable();
    let victim = Pid::from_raw(instances[1]).unwrap();
    kill_process(victim, Signal::KILL).unwrap();
    let ended = job.end().expect(1);
    let names_half = |line: &&str| line.contains(": their QEMU process was killed by signal 9");
    let told: Vec<&str> = ended.stderr.lines().filter(names_half).collect();
    assert_eq!(told.len(), 1, "{ended}");
    assert!(told[0].starts_with("midplane: ranks "), "{ended}");
}

#[test]
fn a_fault_is_its_nodes_alone_and_named_with_its_place() {
    for (name, arguments, status, words) in [
        ("fail_null.c", &[][..], 1, &["rank 3", "null", "main"][..]),
        ("fail_malloc.c", &["strlen"], 1, &["fail_malloc.c:25", "had failed"]),
        ("fail_stack.c", &[], 1, &["rank", "stack", "--stack"]),
        ("fail_mpi_error.c", &[], 1, &["rank", "MPI_ERR", "fail_mpi_error.c:"]),
        ("fail_outbox.c", &[], 1, &["rank 3", "overwritten outbox"]),
    ] {
        for instances in ["1", "2", "4"] {
            let options = ["--torus", "2x2x1", "--instances", instances];
            run(&options, name, arguments).expect(status).says(words);
        }
    }
}

#[test]
fn a_panic_is_its_nodes_alone_and_named() {
    // The combined program would require another image for several instances.
    for (instances, name, arguments) in [
        ("1", "rsmpi_few.rs", &["fail_panic"][..]),
        ("2", "fail_panic.rs", &[]),
        ("4", "fail_panic.rs", &[]),
    ] {
        let options = ["--torus", "2x2x1", "--instances", instances];
        run(&options, name, arguments).expect(1).says(&["rank", "panicked"]);
    }
}

#[test]
fn a_ring_that_was_written_over_is_told_of_a_single_node_too() {
    run(&["--torus", "2x1x1", "--instances", "2"], "fail_outbox.c", &[])
        .expect(1)
        .says(&["rank 1 at (1,0,0)", "overwritten outbox", "ring of stdout"]);
}

/// Checks that each of eight ranks has printed lines 0 to `lines`, in order, and nothing else.
#[track_caller]
fn check_lines(text: &str, kind: &str, lines: usize, step: usize) {
    let mut next = [0; 8];
    for line in text.lines() {
        let (rank, rest) = line.split_once("] ").unwrap_or_default();
        let rank: usize = rank[1..].parse().unwrap_or(usize::MAX);
        let rest = rest.strip_prefix(kind).unwrap_or_else(|| panic!("{line:?}"));
        let number = rest.split(' ').next().and_then(|n| n.parse().ok());
        assert_eq!(number, Some(next[rank]), "{line:?}");
        next[rank] += step;
    }
    assert_eq!(next, [lines; 8]);
}

#[test]
fn output_is_whole_and_in_order_however_slowly_it_is_read() {
    let path = program("flood.c");
    for instances in WIRINGS {
        let options = ["run", "--quiet", "--timeout", LIMIT, "--instances"];
        let mut job = CommandRun::start(&[&options[..], &[instances, &path, "--", "3000"]].concat());
        let mut reader = BufReader::new(job.child.stdout.take().unwrap());
        let mut text = String::new();
        reader.read_line(&mut text).unwrap();
        // All ring buffers, queues and pipes fill up meanwhile.
        std::thread::sleep(std::time::Duration::from_secs(2));
        reader.read_to_string(&mut text).unwrap();
        let ended = job.end().expect(0);
        check_lines(&text, "line ", 3000, 1);
        let errors: Vec<&str> = { ended.stderr.lines() }.filter(|line| line.starts_with('[')).collect();
        check_lines(&errors.join("\n"), "error ", 3000, 100);
    }
}

#[test]
fn standard_input_and_logs_need_no_device_of_the_nodes_own() {
    use std::io::Write;
    let path = program("input.c");
    let options = ["run", "-n", "3", "--quiet", "--log", "--timeout", LIMIT];
    let all = [&options[..], &["--instances", "1", &path]].concat();
    let mut job = CommandRun::start_with(&all, Stdio::piped());
    let mut stdin = job.child.stdin.take().unwrap();
    for number in 1..=3000 {
        let _ = writeln!(stdin, "{number}");
    }
    drop(stdin);
    let ended = job.end().expect(0);
    assert!(
        ended.stdout.ends_with("input: 3000 numbers, 4501500 in all\n"),
        "{ended}"
    );
    ended.says(&["[0] log: ", "[1] log: ", "[2] log: ", "rank 2 at (2,0,0) up"]);
}

#[test]
fn a_division_that_cannot_be_is_refused() {
    let killer = program("killer.c");
    for (instances, words) in [
        ("3", "use one of 1, 2, 4, 8"),
        ("9", "there are only 8 nodes"),
        ("0", "--instances"),
    ] {
        midplane(&["run", "--instances", instances, &killer])
            .expect(2)
            .says(&[words]);
    }
}
