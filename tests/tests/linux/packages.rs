//! Cargo packages (`tests/packages/hello`), run by the command and by cargo, alone and with a runner.

use midplane_harness::{LIMIT, command, midplane, package, root};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn cargo(dir: &Path, words: &[&str], runner: Option<&str>) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(words)
        .current_dir(dir)
        .env("CARGO_TARGET_DIR", root().join("target/midplane/packages"));
    if let Some(runner) = runner {
        let config = format!("target.'cfg(target_os=\"linux\")'.runner = {runner:?}");
        cargo.arg("--config").arg(config);
    }
    cargo.output().expect("cargo runs")
}

#[track_caller]
fn shown(output: &Output, status: i32) -> String {
    let (said, printed) = (&output.stderr, &output.stdout);
    let all = [said, printed].map(|text| String::from_utf8_lossy(text));
    assert_eq!(output.status.code(), Some(status), "{}", all.join("\n"));
    all.join("\n")
}

/// `cargo run` and `cargo test` create a world of one rank; the tool and a runner start several ranks of the same
/// executable.
#[test]
fn cargo_runs_and_tests_a_package() {
    let dir = package();
    let alone = shown(&cargo(dir, &["run", "--bin", "hello"], None), 0);
    assert!(alone.contains("hello 0 of 1: [0]"), "{alone}");
    let panic = cargo(dir, &["run", "-q", "--bin", "hello", "--", "panic"], None);
    let panic = shown(&panic, 101);
    assert!(panic.contains("src/main.rs:26"), "{panic}");
    let executable = root().join("target/midplane/packages/debug/hello");
    let executable = executable.to_str().unwrap();
    let words = ["run", "--on", "linux", "-n", "2", "--timeout", LIMIT, "-q"];
    let failing = |name: &str| midplane(&[&words[..], &[executable, "--", name]].concat());
    for (name, call, line) in [
        ("tag", "Destination::send_with_tag (MPI_Send)", 9),
        ("started", "Destination::immediate_send_with_tag (MPI_Isend)", 11),
        ("truncated", "Source::receive_into (MPI_Recv)", 13),
    ] {
        let call = format!("mpi::point_to_point::{call}, called at src/errors.rs:{line}:");
        failing(name)
            .expect(1)
            .says(&["rank 0 at (0,0,0)", &call])
            .prints("[1] hello 1 of 2: [1, 0]");
    }
    failing("panic").expect(1).says(&["panicked at src/main.rs:26"]);
    let runner = format!("{} mpiexec --on linux -n 3", command().display());
    let several = cargo(dir, &["run", "--bin", "hello"], Some(&runner));
    let several = shown(&several, 0);
    for line in ["hello 0 of 3: [0, 2, 1]", "hello 2 of 3: [2, 1, 0]"] {
        assert!(several.contains(line), "{several}");
    }
    let words = ["test", "--test", "world"];
    let tested = shown(&cargo(dir, &words, None), 0);
    assert!(tested.contains("2 passed"), "{tested}");
    let runner = format!("{} mpiexec --on linux -n 2", command().display());
    let tested = [&words[..], &["--", "--nocapture", "--test-threads=2"]].concat();
    // Arguments for the tests follow those for cargo.
    let (before, behind) = tested.split_at(3);
    let config = format!("target.'cfg(target_os=\"linux\")'.runner = {runner:?}");
    let tested = [before, &["--config", &config], behind].concat();
    let tested = shown(&cargo(dir, &tested, None), 0);
    assert!(tested.contains("tested by 1 of 2"), "{tested}");
}

/// Selected by directory, manifest or file; each binary by its name.
#[test]
fn a_package_runs_as_processes() {
    let dir = package();
    let (manifest, file) = (dir.join("Cargo.toml"), dir.join("src/main.rs"));
    let given = |words: &[&str]| {
        let all = ["run", "--on", "linux", "-n", "3", "--timeout", LIMIT];
        midplane(&[&all[..], words].concat())
    };
    given(&[file.to_str().unwrap()])
        .expect(0)
        .prints("[2] hello 2 of 3: [2, 1, 0]");
    given(&[manifest.to_str().unwrap(), "--bin", "second", "--", "x"])
        .expect(0)
        .prints("[1] second 1 of 2");
}

/// The package is linked with the simulator; each rank has its own output.
#[test]
fn a_package_runs_in_the_simulator() {
    let dir = package();
    let given = [dir.to_str().unwrap(), "--bin", "hello"];
    midplane(&[&["run", "--on", "cluster", "-n", "3"][..], &given].concat())
        .expect(0)
        .prints("[2] hello 2 of 3: [2, 1, 0]");
    midplane(&[&["explore", "-n", "3"][..], &given].concat())
        .expect(0)
        .prints("all schedules agree: 1 schedule, 0 decisions");
}

/// Directories that are no package, or not a runnable one.
#[test]
fn packages_that_cannot_be_run_are_refused_in_a_sentence() {
    let dir = package();
    let own = command().with_file_name(format!("midplane-test-packages-{}", std::process::id()));
    let hello = dir.to_str().unwrap();
    let package = |name: &str, manifest: &str, main: Option<&str>| {
        let dir = own.join(name);
        fs::create_dir_all(dir.join("src")).unwrap();
        let text = "[package]\nname = \"a\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n";
        let text = format!("{text}{manifest}\n");
        fs::write(dir.join("Cargo.toml"), text).unwrap();
        let file = match main {
            Some(_) => "src/main.rs",
            None => "src/lib.rs",
        };
        fs::write(dir.join(file), main.unwrap_or_default()).unwrap();
        dir.display().to_string()
    };
    fs::create_dir_all(&own).unwrap();
    let mpi = format!("mpi = {{ path = {:?} }}", root().join("mpi-adi/mpi"));
    let main = Some("fn main() {}\n");
    let empty = own.display().to_string();
    let broken = package("broken", "= = =", main);
    let library = package("library", &mpi, None);
    let without = package("without", "", main);
    let rsmpi = package("rsmpi", "mpi = \"0.8\"", main);
    let missing = package(
        "missing",
        &format!("{mpi}\nno = {{ git = \"file:///nonexistent/no\" }}"),
        main,
    );
    let plain = package("plain", &mpi, main);
    for (words, said) in [
        (&[hello][..], "use --bin with one of hello, second"),
        (
            &[hello, "--bin", "third"],
            "has no such binary; available: hello, second",
        ),
        (&[&empty], "is a directory without a Cargo.toml"),
        (&[&broken], "cargo cannot use"),
        (&[&library], "has no binary: no src/main.rs"),
        (
            &[&without],
            "does not depend on mpi; add this line to its Cargo.toml: mpi = { path =",
        ),
        (&[&rsmpi], "depends on the mpi of a registry"),
        (&[&missing], "cargo cannot fetch its dependencies"),
        (&[&plain, "-D", "X"], "is a Rust program"),
    ] {
        let words = [&["run", "--on", "linux"], words].concat();
        midplane(&words).expect(2).says(&[said]);
    }
    // Nodes have no standard library, and require the kernel to boot.
    midplane(&["run", &plain])
        .expect(2)
        .says(&["does not depend on kernel-rt", "use --on linux"]);
    midplane(&[
        "run",
        &root().join("tests/programs/ring.rs").display().to_string(),
        "--bin",
        "a",
    ])
    .expect(2)
    .says(&["--bin a", "is no package"]);
    fs::remove_dir_all(own).unwrap();
}
