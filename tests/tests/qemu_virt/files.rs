//! File access by `--files`: supported operations, and that no path escapes the directory. qemu/src/run/files.rs
//! contains the tests of the confinement itself, with races.

use crate::harness::*;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn programs_work_with_files_as_on_linux() {
    for options in [&["--instances", "1"][..], &["--instances", "8"], &["--on", "linux"]] {
        let dir = TempDirectory::new("files");
        let inside = dir.path("");
        let is_linux = options[0] == "--on";
        let root = if is_linux { inside.as_str() } else { "/" };
        let mut all = options.to_vec();
        if !is_linux {
            all.extend(["--files", &inside]);
        }
        let ended = run(&all, "files.c", &[root]).expect(0);
        let line = "[0] files: 8 processes, 1096 checks, 0 failed";
        assert_eq!(ended.stdout.trim_end(), line, "{ended}");
        for rank in 0..8 {
            let left = fs::read(dir.path(&format!("rank{rank}/left"))).unwrap();
            assert_eq!(left, b"left open\n");
        }
    }
}

#[test]
fn files_of_mpi_conform() {
    let nodes = ["--torus", "2x2x1"];
    for options in [
        &nodes[..],
        &[&nodes[..], &["--instances", "2"]].concat(),
        &["--on", "linux", "-n", "5"],
        &["--on", "cluster", "--torus", "3x2x1"],
    ] {
        let dir = TempDirectory::new("mpi-files");
        let inside = dir.path("");
        let has_host_paths = options[0] == "--on";
        let mut all = [options, &["--mpi-memory", "32"]].concat();
        if !has_host_paths {
            all.extend(["--files", &inside]);
        }
        let root = if has_host_paths { inside.as_str() } else { "/" };
        let ended = run(&all, "conf_files.c", &[root]).expect(0);
        assert!(ended.stdout.trim_end().ends_with(" 0 failed"), "{ended}");
        // The program has deleted its files.
        assert_eq!(fs::read_dir(&inside).expect("a directory").count(), 0);
    }
}

#[test]
fn without_a_directory_nothing_can_be_opened_and_the_option_is_named_once() {
    let ended = run(&[], "files.c", &[]).expect(0);
    let told = ended.stderr.matches("use --files DIRECTORY");
    assert_eq!(told.count(), 1, "{ended}");
    // A program that opens no file gets no message.
    let ended = run(&["-n", "1"], "pi.c", &["100"]).expect(0);
    assert!(!ended.stderr.contains("--files"), "{ended}");
}

#[test]
fn no_path_leads_out_of_the_directory() {
    let dir = TempDirectory::new("hostile");
    let secret = dir.path("secret");
    fs::write(&secret, "secret").unwrap();
    let inside = dir.path("inside");
    fs::create_dir_all(format!("{inside}/sub")).unwrap();
    fs::write(format!("{inside}/open"), "public").unwrap();
    symlink(&secret, format!("{inside}/absolute")).unwrap();
    symlink("../secret", format!("{inside}/up")).unwrap();
    symlink("..", format!("{inside}/parent")).unwrap();
    let paths = [
        "open",
        "absolute",
        "up",
        "parent/secret",
        "../secret",
        "sub/../../secret",
        secret.as_str(),
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
        "/proc/self/fd/3",
    ];
    let options = ["-n", "1", "--quiet", "--files", &inside];
    let ended = run(&options, "hostile_files.c", &paths).expect(0);
    let mut expected = String::from("[0] open: read public\n");
    for path in &paths[1..] {
        expected.push_str(&format!("[0] {path}: No such file or directory\n"));
    }
    expected.push_str("[0] done\n");
    assert_eq!(ended.stdout, expected);
    assert_eq!(fs::read(&secret).unwrap(), b"secret");
    assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 2);
}

#[test]
fn what_is_no_directory_is_refused() {
    let pi = program("pi.c");
    for (arguments, words) in [
        (&["run", "--files", "no/such/directory", &pi][..], "no/such/directory"),
        (&["run", "--files", &pi, &pi], "Not a directory"),
        (
            &["run", "--on", "linux", "--files", ".", &pi],
            "--files does nothing for processes",
        ),
    ] {
        midplane(arguments).expect(2).says(&[words]);
    }
}
