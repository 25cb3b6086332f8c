//! Fortran programs on each platform. Without a compiler the tests are skipped, with the reason.

use crate::{CommandRun, LIMIT, TempDirectory, midplane, program, root};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Sources of a program with a module, in the order of their compilation.
const SOURCES: [&str; 3] = ["shapes.f90", "main.F90", "twice.c"];

/// Checks whether the host has gfortran, and otherwise prints that a test is skipped.
pub fn has_gfortran() -> bool {
    let has = Command::new("gfortran").arg("--version").output().is_ok();
    if !has {
        eprintln!("skipped: gfortran is not installed");
    }
    has
}

/// Checks whether nodes have a Fortran compiler, or apt can fetch one, and otherwise prints that a test is skipped.
pub fn has_gfortran_for_nodes() -> bool {
    let doctor = midplane(&["doctor"]).stdout;
    let is_missing = |line: &str| line.starts_with("Fortran ") && line.contains("missing");
    let has = !doctor.lines().any(is_missing) || Command::new("apt-get").arg("--version").output().is_ok();
    if !has {
        eprintln!("skipped: there is no gfortran for nodes, and no apt-get that fetches it");
    }
    has
}

/// Creates a directory with the sources of the program with a module.
fn project(name: &str) -> TempDirectory {
    let directory = TempDirectory::new(name);
    for file in SOURCES.iter().chain(&["sides.inc", "old.f77"]) {
        fs::copy(program(&format!("fortran/{file}")), directory.0.join(file)).expect("a copy");
    }
    directory
}

/// Runs `midplane run` in a directory.
fn run_at(directory: &Path, options: &[&str], files: &[&str], arguments: &[&str]) -> crate::CompletedRun {
    let words = [&["run", "-q", "--timeout", LIMIT], options, files, &["--"], arguments].concat();
    CommandRun::start_at(directory, &words).end()
}

/// Checks that the output of `fortran_io.f90` is that of gfortran on this host, byte by byte. `has_calendar` is false
/// where time is virtual.
#[track_caller]
pub fn check_output(name: &str, options: &[&str], has_calendar: bool) {
    let directory = TempDirectory::new(name);
    let source = program("fortran_io.f90");
    let mut native = Command::new("gfortran");
    native.args(["-fno-backtrace", &source, "-o", "native"]);
    let compiled = native.current_dir(&directory.0).status().expect("gfortran");
    assert!(compiled.success());
    let expected = Command::new(directory.0.join("native"))
        .arg("one")
        .current_dir(&directory.0)
        .output()
        .expect("the native program");
    assert_eq!(expected.status.code(), Some(3), "{expected:?}");
    let expected = String::from_utf8(expected.stdout).expect("a text");
    assert!(expected.lines().count() > 50, "{expected}");
    let ended = run_at(&directory.0, &[options, &["-n", "1"]].concat(), &[&source], &["one"]);
    let ended = ended.expect(3).says(&["to standard error", "STOP 3"]);
    let printed = ended
        .stdout
        .lines()
        .map(|line| line.strip_prefix("[0] ").unwrap_or(line));
    for (ours, theirs) in printed.clone().zip(expected.lines()) {
        if has_calendar || !theirs.starts_with(" date") {
            assert_eq!(ours, theirs, "{ended}");
        }
    }
    assert_eq!(printed.count(), expected.lines().count());
}

/// Checks the status and the message of each way in which `fortran_ends.f90` ends.
#[track_caller]
pub fn check_ends(options: &[&str]) {
    let source = fs::read_to_string(program("fortran_ends.f90")).expect("the source");
    let line_of = |text: &str| {
        1 + source
            .lines()
            .position(|line| line.contains(text))
            .expect("the statement")
    };
    let place = |text: &str| format!("fortran_ends.f90:{}", line_of(text));
    let at_line = |text: &str| format!("At line {} of file ", line_of(text));
    let run = |how: &str| {
        let options = [options, &["-n", "2"]].concat();
        run_at(root(), &options, &[&program("fortran_ends.f90")], &[how])
    };
    run("stop").expect(5).says(&["STOP 5"]);
    run("error").expect(6).says(&["ERROR STOP 6"]);
    run("read")
        .expect(2)
        .says(&[&at_line("read (how"), "Fortran runtime error: Bad integer"]);
    run("null")
        .expect(1)
        .says(&["null pointer", &format!("in store at {}", place("to(2)"))]);
    run("rank").expect(1).says(&[
        "MPI_Send failed with MPI_ERR_RANK",
        &format!("in send_to at {}", place("other, 7")),
    ]);
    run("hang").expect(1).says(&[
        "the job hangs",
        &format!("called from receive at {}", place("list, 3, MPI_INTEGER, 1, 8")),
    ]);
    let checked = [options, &["-n", "2", "--check"]].concat();
    let ended = run_at(root(), &checked, &[&program("fortran_ends.f90")], &["type"]);
    ended.expect(1).says(&[
        &format!("MPI_Send of rank 0 (send_integers at {})", place("MPI_Send(list, 2")),
        &format!("MPI_Recv of rank 1 (receive_reals at {})", place("MPI_Recv(list, 2")),
    ]);
    let options = [options, &["-n", "2", "--cflags=-fcheck=bounds"]].concat();
    let message = "Fortran runtime error: Index '4' of dimension 1 of array 'list' above upper bound of 3";
    run_at(root(), &options, &[&program("fortran_ends.f90")], &["bounds"])
        .expect(2)
        .says(&[&at_line("list(position)"), message]);
}

/// Checks that sources with modules are compiled in their order, with sources in C, again after a change of an included
/// file, and with the program's own modules.
#[track_caller]
pub fn check_modules(name: &str, options: &[&str]) {
    let project = project(name);
    let run = |options: &[&str], files: &[&str]| run_at(&project.0, options, files, &[]);
    let options = &[options, &["-n", "2"]].concat();
    run(options, &SOURCES).expect(0).prints("perimeter 10.00  42");
    let fixed = [options, &["-D", "LENGTH=1.5"][..]].concat();
    run(&fixed, &SOURCES).expect(0).prints("perimeter  6.00  42");
    let included = project.0.join("sides.inc");
    fs::write(&included, "  integer, parameter :: sides = 5\n").expect("it is written");
    run(options, &SOURCES).expect(0).prints("perimeter 12.50  42");
    // Left by another compiler.
    fs::write(project.0.join("shapes.mod"), "no module").expect("it is written");
    let again = [options, &["-D", "LENGTH=1.0"][..]].concat();
    run(&again, &SOURCES).expect(0).prints("perimeter  5.00  42");
    // From another directory, too: the compiler also searches that of the source.
    let paths = SOURCES.map(|file| project.0.join(file).display().to_string());
    let paths = paths.each_ref().map(String::as_str);
    run_at(root(), &again, &paths, &[])
        .expect(0)
        .prints("perimeter  5.00  42");
    run(options, &["old.f77"]).expect(0).prints("processes  2");
    let refused = [options, &["--cflags=-fdefault-integer-8"][..]].concat();
    run(&refused, &SOURCES)
        .expect(2)
        .says(&["-fdefault-integer-8", "INTEGER(8)"]);
    let both = [options, &["--cflags=-std=c99 -fimplicit-none"][..]].concat();
    let ended = run(&both, &SOURCES).expect(0);
    assert!(!ended.stderr.contains("warning"), "{ended}");
}

/// Programs that check the three interfaces of MPI.
const CONFORMANCE: [&str; 4] = [
    "conf_fortran_f77.f",
    "conf_fortran_mpi.f90",
    "conf_fortran_f08.f90",
    "conf_fortran_sections.f90",
];

/// Runs the conformance programs with the smallest MPI memory, a small one, and more than the messages need.
#[track_caller]
pub fn check_conformance(options: &[&str]) {
    for name in CONFORMANCE {
        let (stem, _) = name.split_once('.').expect("an extension");
        for memory in ["32", "4K", "64K"].map(|bytes| ["--mpi-memory", bytes]) {
            let options = [options, &["--quiet", "-n", "4"], &memory[..]].concat();
            crate::run(&options, name, &[])
                .expect(0)
                .prints(&format!("{stem} passed"));
        }
    }
}

/// Checks the wrapper `mpifort` on a platform: objects and programs, and a program of C objects that it links.
#[track_caller]
pub fn check_wrapper(name: &str, on: &str) {
    let project = project(name);
    let mpicc = midplane(&["cc", "--path"]).expect(0).stdout.trim_end().to_string();
    let run = |wrapper: &str, words: &str| {
        let _turn = crate::JobLock::acquire();
        let mut command = Command::new(mpicc.replace("mpicc", wrapper));
        command.args(words.split_whitespace()).current_dir(&project.0);
        let ended = command.env("MIDPLANE_ON", on).output().expect("it starts");
        assert!(ended.status.success(), "{wrapper} {words}: {ended:?}");
        String::from_utf8(ended.stdout).expect("a text")
    };
    let check = |file: &str| {
        run_at(&project.0, &["--on", on, "-n", "2"], &[file], &[])
            .expect(0)
            .prints("perimeter 10.00  42");
    };
    run("mpif90", "shapes.f90 main.F90 twice.c -o at_once");
    check("at_once");
    run("mpifort", "-c -O2 shapes.f90 main.F90");
    run("mpicc", "-c twice.c");
    run("mpif77", "shapes.o main.o twice.o -o linked");
    check("linked");
    run("mpicc", "shapes.o main.o twice.o -lgfortran -lm -o by_c");
    check("by_c");
    run_at(
        &project.0,
        &["--on", on, "-n", "2"],
        &["shapes.o", "main.o", "twice.o"],
        &[],
    )
    .expect(0)
    .prints("perimeter 10.00  42");
    assert!(run("mpifort", "--version").starts_with("GNU Fortran"));
    assert!(run("mpifort", "-show").contains("fortran"));
    assert!(run("mpifort", "-showme:incdirs").contains("midplane/fortran/mpi-"));
    let pkg_config = run("midplane", "cc --fortran --pkg-config");
    assert!(Path::new(pkg_config.trim_end()).join("ompi-fort.pc").exists());
}

/// Checks that CMake finds the Fortran compiler and links a program in Fortran and C with one runtime.
#[track_caller]
pub fn check_cmake(name: &str, on: &str) {
    let project = project(name);
    let text = "cmake_minimum_required(VERSION 3.13)\nproject(parts Fortran C)\n\
                find_package(MPI REQUIRED COMPONENTS Fortran C)\n\
                add_executable(parts shapes.f90 main.F90 twice.c)\n\
                target_link_libraries(parts MPI::MPI_Fortran MPI::MPI_C)\n";
    fs::write(project.0.join("CMakeLists.txt"), text).expect("it is written");
    let mpicc = midplane(&["cc", "--path"]).expect(0).stdout.trim_end().to_string();
    let run = |words: &[&str]| {
        let _turn = crate::JobLock::acquire();
        let mut command = Command::new("cmake");
        command.args(words).current_dir(&project.0).env("MIDPLANE_ON", on);
        let ended = command.output().expect("it starts");
        assert!(ended.status.success(), "{words:?}: {ended:?}");
    };
    let compilers = [
        format!("-DCMAKE_C_COMPILER={mpicc}"),
        format!("-DCMAKE_Fortran_COMPILER={}", mpicc.replace("mpicc", "mpifort")),
    ];
    run(&["-S", ".", "-B", "built", &compilers[0], &compilers[1]]);
    run(&["--build", "built"]);
    run_at(&project.0, &["--on", on, "-n", "2"], &["built/parts"], &[])
        .expect(0)
        .prints("perimeter 10.00  42");
}
