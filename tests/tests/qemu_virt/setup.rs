//! What the machine lacks: told, and fetched.

use crate::harness::*;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn doctor_finds_what_the_other_tests_need() {
    let ended = midplane(&["doctor"]).expect(0);
    for tool in ["Rust", "QEMU", "C compiler", "picolibc"] {
        assert!(ended.stdout.contains(tool), "{ended}");
    }
    assert!(!ended.stdout.contains("missing"), "{ended}");
}

/// A folder of programs that stand in for the machine's, and nothing else in the path of the command.
struct OtherMachine(PathBuf);

impl OtherMachine {
    fn with(programs: &[(&str, &str)]) -> Self {
        use std::os::unix::fs::PermissionsExt;
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let folder = command().with_file_name(format!(
            "midplane-test-machine-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        ));
        fs::create_dir_all(&folder).unwrap();
        for (name, script) in programs {
            let file = folder.join(name);
            fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        }
        Self(folder)
    }

    fn midplane(&self, arguments: &[&str]) -> Ended {
        let output = Command::new(command())
            .args(arguments)
            .env("PATH", &self.0)
            .env("MIDPLANE_RUST", "rustup")
            .env_remove("RUSTC")
            .stdin(Stdio::null())
            .output()
            .expect("the command runs");
        Ended {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Drop for OtherMachine {
    fn drop(&mut self) {
        // What cannot be removed is in the build folder, where nobody minds.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn on_a_system_that_is_not_known_what_to_install_is_listed() {
    let machine = OtherMachine::with(&[]);
    let wanted = [
        "package manager is not known",
        "rustup target add riscv64gc-unknown-none-elf",
        "qemu-system-riscv64",
        "riscv64-unknown-elf-gcc",
        "picolibc",
    ];
    machine
        .midplane(&["run", &program("killer.c")])
        .expect(2)
        .says(&wanted);
    let doctor = machine.midplane(&["doctor"]).expect(1);
    for word in ["QEMU            missing", wanted[0], wanted[1]] {
        assert!(doctor.stdout.contains(word), "no {word:?} in {doctor}");
    }
}

/// Tools that are there but too old or without their parts are fetched, too, each command printed first.
#[test]
fn what_is_missing_is_fetched_by_commands_that_are_printed() {
    let apt_cache = "echo \"$2:\"; case $2 in qemu-system-riscv) echo '  Candidate: (none)';; *) echo '  Candidate: 1';; esac";
    let others = [
        (
            "rustc",
            "case $1 in --print) echo \"$0-lib\";; *) echo 'rustc 1.95.0';; esac",
        ),
        ("rustup", "echo rustup $*; exit 1"),
        ("qemu-system-riscv64", "echo 'QEMU emulator version 6.2.0'"),
        (
            "riscv64-unknown-elf-gcc",
            "case $1 in -dumpfullversion) echo 12;; *) echo picolibc.specs;; esac",
        ),
        ("apt-cache", apt_cache),
        ("apt-get", "echo apt-get $*; exit 100"),
        (
            "sudo",
            "while [ \"$1\" != apt-get ] && [ $# -gt 0 ]; do shift; done; exec \"$@\"",
        ),
        ("true", ""),
    ];
    let machine = OtherMachine::with(&others);
    // Rust's own library is there, so that only QEMU and picolibc are missing.
    let library = machine.0.join("rustc-lib");
    fs::create_dir_all(&library).unwrap();
    fs::write(library.join("libcore-0.rlib"), "").unwrap();
    let ended = machine.midplane(&["run", &program("killer.c")]).expect(2);
    let install =
        "install --yes --no-install-recommends qemu-system-misc picolibc-riscv64-unknown-elf";
    let printed = |line: &&str| line.starts_with("+ ") && line.ends_with(install);
    assert!(ended.stderr.lines().any(|line| printed(&line)), "{ended}");
    let ended = ended.says(&["still missing", "qemu-system-riscv64 7.2", "picolibc"]);
    assert!(!ended.stderr.contains("rustup"), "{ended}");

    // Without the library, rustup is asked first.
    fs::remove_dir_all(&library).unwrap();
    machine
        .midplane(&["run", &program("killer.c")])
        .expect(2)
        .says(&["+ rustup target add riscv64gc-unknown-none-elf"]);
}
