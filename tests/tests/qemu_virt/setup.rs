//! Missing prerequisites are reported, and downloaded.

use crate::harness::*;
use rustix::process::{Pid, Signal};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn doctor_finds_what_the_other_tests_need() {
    let ended = midplane(&["doctor"]).expect(0);
    for tool in ["Rust", "QEMU", "C compiler", "picolibc"] {
        assert!(ended.stdout.contains(tool), "{ended}");
    }
    // Tests of Fortran are skipped without the host's compiler, and fetch that for nodes.
    let is_required = |line: &&str| !line.contains("only Fortran programs require it");
    let mut required = ended.stdout.lines().filter(is_required);
    assert!(!required.any(|line| line.contains("missing")), "{ended}");
}

/// Directory of replacement programs, which is the command's only PATH entry.
struct OtherMachine(PathBuf);

impl OtherMachine {
    fn with(programs: &[(&str, &str)]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let dir = command().with_file_name(format!(
            "midplane-test-machine-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        ));
        fs::create_dir_all(&dir).unwrap();
        let machine = Self(dir);
        for (name, script) in programs {
            machine.program(name, script);
        }
        machine
    }

    /// Debian 12 with a Rust that includes its library's sources. QEMU is too old and picolibc is missing. apt-get
    /// prints the given simulation, and records all other requests.
    fn debian(simulation: &str) -> Self {
        let apt_cache = "shift; for p in $*; do echo \"$p:\"; case $p in qemu-system-riscv) \
            echo '  Candidate: (none)';; *) echo '  Candidate: 1';; esac; done";
        let simulated = "case \"$*\" in *Dir::State::status*--simulate*) echo \"Inst $PACKAGE (1 x)\"; \
            exit;; *--simulate*) echo \"$SIMULATION\"; exit;; esac";
        let apt_get = format!(
            "for PACKAGE in $*; do :; done; SIMULATION='{simulation}'; {simulated}\n\
             echo \"apt-get $*\" >> \"${{0%/*}}/notes\"; exit 100"
        );
        let machine = Self::with(&[
            (
                "rustc",
                "case $1 in --print) echo \"$0-lib\";; *) echo 'rustc 1.95.0';; esac",
            ),
            ("rustup", "echo rustup $*; exit 1"),
            ("qemu-system-riscv64", "echo 'QEMU emulator version 6.2.0'"),
            (
                "riscv64-unknown-elf-gcc",
                "case $* in -dumpfullversion) echo 12;; --print-file*) echo picolibc.specs;; *) exit 1;; esac",
            ),
            ("apt-cache", apt_cache),
            ("apt-config", "echo \"FILE='${0%/*}/status'\""),
            ("apt-get", &apt_get),
            ("dpkg-deb", "exit 1"),
            (
                "sudo",
                "while [ \"$1\" != apt-get ] && [ $# -gt 0 ]; do shift; done; exec \"$@\"",
            ),
        ]);
        fs::write(machine.0.join("status"), "").unwrap();
        machine.has("lib/rustlib/src/rust/library/core/src/lib.rs");
        machine
    }

    fn program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let file = self.0.join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Creates an empty file in the Rust's directory and in that of its library.
    fn has(&self, file: &str) {
        let file = self.0.join("rustc-lib").join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }

    /// Returns apt-get's requests other than simulations.
    fn notes(&self) -> String {
        fs::read_to_string(self.0.join("notes")).unwrap_or_default()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(command());
        command
            .args(arguments)
            .env("PATH", &self.0)
            .env("MIDPLANE_RUST", "rustup")
            .env("XDG_CACHE_HOME", self.0.join("cache"))
            .env_remove("RUSTC")
            .stdin(Stdio::null());
        command
    }

    fn midplane(&self, arguments: &[&str]) -> CompletedRun {
        let output = self.command(arguments).output().expect("the command runs");
        CompletedRun {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Drop for OtherMachine {
    fn drop(&mut self) {
        // Files that cannot be removed remain in the build directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Simulated output of apt without conflicts, and with a newer package.
const HARMLESS: &str = "Inst qemu-system-misc (1:7.2 x [amd64])";
const HARMFUL: &str = "Remv qemu-utils [1:10.0.2]\nInst qemu-system-misc (1:7.2 x [amd64])";

#[test]
fn on_a_system_that_is_not_known_what_to_install_is_listed() {
    let machine = OtherMachine::with(&[]);
    let wanted = [
        "package manager is not known",
        "rustup component add rust-src",
        "qemu-system-riscv64",
        "riscv64-unknown-elf-gcc",
        "picolibc",
    ];
    machine.midplane(&["run", &program("killer.c")]).expect(2).says(&wanted);
    let doctor = machine.midplane(&["doctor"]).expect(1);
    for word in ["QEMU            missing", wanted[0], wanted[1]] {
        assert!(doctor.stdout.contains(word), "no {word:?} in {doctor}");
    }
}

/// Tools that are too old or incomplete are downloaded, too; each command is printed first.
#[test]
fn what_is_missing_is_fetched_by_commands_that_are_printed() {
    let machine = OtherMachine::debian(HARMLESS);
    let ended = machine.midplane(&["run", &program("killer.c")]).expect(2);
    let install = "install --yes --no-remove --no-install-recommends qemu-system-misc \
                   picolibc-riscv64-unknown-elf";
    let printed = |line: &&str| line.starts_with("+ ") && line.ends_with(install);
    assert!(ended.stderr.lines().any(|line| printed(&line)), "{ended}");
    let ended = ended.says(&["still missing", "qemu-system-riscv64 7.2", "picolibc"]);
    assert!(!ended.stderr.contains("rustup"), "{ended}");

    // Without the library, rustup is called first.
    fs::remove_dir_all(machine.0.join("rustc-lib")).unwrap();
    machine
        .midplane(&["run", &program("killer.c")])
        .expect(2)
        .says(&["+ rustup component add rust-src", "no-sources"]);
}

/// It is called only once: rustup fails each time here.
#[test]
fn an_installed_library_is_used_where_the_sources_cannot_be_had() {
    let machine = OtherMachine::debian(HARMLESS);
    fs::remove_dir_all(machine.0.join("rustc-lib")).unwrap();
    machine.has("libcore-0.rlib");
    let asked = "+ rustup component add rust-src";
    let first = machine.midplane(&["run", &program("killer.c")]).expect(2);
    let first = first.says(&[asked, "doing without"]);
    let second = machine.midplane(&["run", &program("killer.c")]).expect(2);
    assert!(!second.stderr.contains("rustup"), "{first}{second}");
    let doctor = machine.midplane(&["doctor"]).expect(1);
    let installed = "rustc 1.95.0, target riscv64gc-unknown-none-elf installed";
    assert!(doctor.stdout.contains(installed), "{doctor}");
}

#[test]
fn where_installing_would_remove_something_nothing_is_installed() {
    let machine = OtherMachine::debian(HARMFUL);
    let ended = machine.midplane(&["run", &program("killer.c")]).expect(2);
    let ended = ended.says(&["+ apt-get", "download qemu-system-misc=1"]);
    assert!(!machine.notes().contains("install"), "{}{ended}", machine.notes());
    let dir = machine.0.join("cache/midplane");
    assert!(dir.exists(), "{ended}");
    assert!(!dir.join("qemu").exists(), "half of it is there: {ended}");
}

#[test]
fn doctor_says_what_run_would_do_and_does_nothing() {
    for (simulation, words) in [
        (HARMLESS, ["--no-install-recommends qemu-system-misc", "picolibc"]),
        (HARMFUL, ["installing would remove qemu-utils", "cache/midplane/qemu"]),
    ] {
        let machine = OtherMachine::debian(simulation);
        let doctor = machine.midplane(&["doctor"]).expect(1);
        for word in words {
            assert!(doctor.stdout.contains(word), "no {word:?} in {doctor}");
        }
        assert_eq!(machine.notes(), "", "{doctor}");
        assert!(!machine.0.join("cache").exists(), "{doctor}");
    }
}

/// Same message as from rustup's proxies when HOME does not exist.
#[test]
fn a_compiler_that_does_not_work_is_not_taken_for_a_missing_one() {
    let machine = OtherMachine::debian(HARMLESS);
    machine.program("rustc", "echo 'error: rustup could not choose a version' >&2; exit 1");
    let words = ["nothing is installed", "rustup could not choose a version"];
    machine.midplane(&["run", &program("killer.c")]).expect(2).says(&words);
    assert_eq!(machine.notes(), "");
    let doctor = machine.midplane(&["doctor"]).expect(1);
    assert!(doctor.stdout.contains(words[1]), "{doctor}");
}

/// Package manager that waits for a file `go` during its work.
const SLOW: &str = "case \"$*\" in *--simulate*) echo 'Inst a (1 x)'; exit;; esac
    cd \"${0%/*}\"; PATH=/usr/bin:/bin; : > started
    while [ ! -e go ]; do sleep 0.02; done
    seq 100000; seq 100000 >&2; : > completed";

fn wait_for(file: &Path) {
    while !file.exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn ctrl_c_and_a_closed_stderr_do_not_end_a_package_manager_amid_its_work() {
    use std::os::unix::process::CommandExt;
    let machine = OtherMachine::debian(HARMLESS);
    machine.program("apt-get", SLOW);
    let mut child = machine
        .command(&["run", &program("killer.c")])
        .process_group(0)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    wait_for(&machine.0.join("started"));
    drop(child.stderr.take());
    // Sends the signal to all processes of the group, like a terminal.
    rustix::process::kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
    fs::write(machine.0.join("go"), "").unwrap();
    let status = child.wait().unwrap();
    assert!(machine.0.join("completed").exists(), "apt-get was killed");
    assert_eq!(status.code(), Some(130), "{status}");
}
