//! `mpiexec` for nodes: several programs, in one or in several instances; and stripped images.

use crate::harness::*;
use std::fs;
use std::process::Command;

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

fn linked(dir: &TempDirectory, source: &str, words: &[&str], name: &str) -> String {
    let (source, path) = (program(source), dir.path(name));
    midplane(&[&["cc", "-O2"], words, &[&source, "-o", &path]].concat()).expect(0);
    path
}

#[test]
fn several_programs_are_one_job_of_nodes() {
    let dir = TempDirectory::new("mpmd");
    let (a, b) = (linked(&dir, "mpmd.c", &[], "a"), linked(&dir, "mpmd.c", &["-O0"], "b"));
    let mpiexec = |words: &[&str]| midplane(&[&["mpiexec", "--timeout", LIMIT], words].concat());
    // One image, in one instance.
    let words = [
        "-n", "1", "-env", "PART", "first", &a, "x", "", ":", "-n", "3", &a, "y y", ":", "-n", "2", &a,
    ];
    let ended = mpiexec(&words).expect(0);
    let lines = [
        "rank 0 of 6 is of program 0, sum 7, PART first: x ",
        "rank 1 of 6 is of program 1, sum 7, PART none: y y",
        "rank 2 of 6 is of program 1, sum 7, PART none: y y",
        "rank 3 of 6 is of program 1, sum 7, PART none: y y",
        "rank 4 of 6 is of program 2, sum 7, PART none:",
        "rank 5 of 6 is of program 2, sum 7, PART none:",
    ];
    assert_eq!(sorted(&ended.stdout), lines, "{ended}");
    // Two images in one instance each, then each node in a separate instance.
    for (first, second) in [("2", "2"), ("1", "2")] {
        let words = [
            "--mpi-memory",
            "32",
            "-n",
            first,
            &a,
            ":",
            "-n",
            second,
            &b,
            "fail",
            "0",
        ];
        let ended = mpiexec(&words).expect(0);
        let ranks: usize = [first, second].iter().map(|n| n.parse::<usize>().unwrap()).sum();
        assert_eq!(ended.stdout.lines().count(), ranks, "{ended}");
        let last = format!(
            "rank {} of {ranks} is of program 1, sum 2, PART none: fail 0",
            ranks - 1
        );
        assert!(ended.stdout.contains(&last), "{ended}");
    }
    mpiexec(&["-n", "1", &a, ":", "-n", "1", &a, "fail", "6"]).expect(6);
    mpiexec(&["-n", "1", &a, ":", "-n", "1", &a, "abort"])
        .expect(7)
        .says(&["rank 1 at"]);
    mpiexec(&["--instances", "1", "-n", "1", &a, ":", "-n", "1", &b])
        .expect(2)
        .says(&["the same image"]);
    // Options without meaning for nodes are reported.
    mpiexec(&["-wdir", "/", "-n", "1", &a])
        .expect(0)
        .says(&["-wdir", "--files"]);
}

#[test]
fn images_are_linked_without_what_debuggers_read_and_others_are_told_what_they_lack() {
    let dir = TempDirectory::new("stripped");
    let image = linked(&dir, "killer.c", &["-s"], "killer");
    let ended = midplane(&["run", "-q", "--timeout", LIMIT, "-n", "2", &image, "--", "2", "100"]).expect(0);
    assert!(ended.stdout.contains("killer: 2 processes"), "{ended}");
    let whole = linked(&dir, "killer.c", &[], "whole");
    let size = |path: &str| fs::metadata(path).unwrap().len();
    assert!(size(&image) < size(&whole), "debug information is left out");
    // Stripped by another tool.
    let gcc = midplane(&["cc", "-print-prog-name=strip"]).expect(0).stdout;
    let stripped = Command::new(gcc.trim_end()).arg(&whole).status().unwrap();
    assert!(stripped.success());
    midplane(&["run", "-n", "1", &whole])
        .expect(2)
        .says(&["it is stripped", "-s"]);
    // For the nodes' machine, but without the runtime.
    let source = dir.path("foreign.c");
    fs::write(&source, "void _start(void) { for (;;) {} }\n").unwrap();
    let foreign = dir.path("foreign");
    let compiler = midplane(&["cc", "-showme:command"]).expect(0).stdout;
    let words = ["-nostdlib", "-Wl,-Ttext=0x80000000", &source, "-o", &foreign];
    assert!(
        Command::new(compiler.trim_end())
            .args(words)
            .status()
            .unwrap()
            .success()
    );
    midplane(&["run", "-n", "1", &foreign])
        .expect(2)
        .says(&["no symbol", "not linked with Midplane's runtime"]);
}
