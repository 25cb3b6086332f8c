//! Fortran programs as Linux processes and in the simulator.

use midplane_harness::{CommandRun, LIMIT, StandInProgram, fortran, midplane, program};
use std::process::Command;

#[test]
fn output_of_fortran_is_that_of_the_hosts_compiler() {
    if fortran::has_gfortran() {
        fortran::check_output("fortran-io", &["--on", "linux"], true);
    }
}

#[test]
fn output_of_fortran_in_the_simulator_is_that_of_the_hosts_compiler() {
    if fortran::has_gfortran() {
        fortran::check_output("fortran-io-cluster", &["--on", "cluster"], false);
    }
}

#[test]
fn each_end_of_a_fortran_program_is_reported_with_its_line() {
    if fortran::has_gfortran() {
        fortran::check_ends(&["--on", "linux"]);
    }
}

#[test]
fn modules_of_a_program_are_compiled_in_order() {
    if fortran::has_gfortran() {
        fortran::check_modules("fortran-modules", &["--on", "linux"]);
    }
}

#[test]
fn modules_of_a_program_in_the_simulator_are_compiled_in_order() {
    if fortran::has_gfortran() {
        fortran::check_modules("fortran-modules-cluster", &["--on", "cluster"]);
    }
}

#[test]
fn each_interface_conforms() {
    if fortran::has_gfortran() {
        fortran::check_conformance(&["--on", "linux"]);
    }
}

#[test]
fn each_interface_conforms_in_the_simulator() {
    if fortran::has_gfortran() {
        fortran::check_conformance(&["--on", "cluster"]);
    }
}

#[test]
fn mpifort_compiles_and_links() {
    if fortran::has_gfortran() {
        fortran::check_wrapper("fortran-cc", "linux");
    }
}

#[test]
fn cmake_finds_mpifort() {
    if Command::new("cmake").arg("--version").output().is_err() {
        return eprintln!("skipped: cmake is not installed");
    }
    if fortran::has_gfortran() {
        fortran::check_cmake("fortran-cmake", "linux");
    }
}

/// The variable selects the compiler, and the message names what to install.
#[test]
fn a_missing_fortran_compiler_is_named() {
    let source = program("fortran_ends.f90");
    let arguments = ["run", "--on", "linux", "-n", "1", "--timeout", LIMIT, &source];
    let with = |variables: &[(&str, &str)]| CommandRun::start_in(&arguments, variables).end().expect(2);
    with(&[("MIDPLANE_FC", "no-such-compiler")])
        .says(&["fortran_ends.f90 is Fortran, and MIDPLANE_FC is no-such-compiler, which is not installed"]);
    let other = StandInProgram::new("no-fortran", "echo another compiler\n");
    with(&[("MIDPLANE_FC", other.path())]).says(&["neither gfortran nor flang"]);
    with(&[("PATH", "/nonexistent")])
        .says(&["fortran_ends.f90 is Fortran: install gfortran (Debian: apt-get install gfortran)"]);
}

/// The memory of this board is too small. Its tools are not required for the message.
#[test]
fn a_board_without_fortran_is_refused() {
    let source = program("fortran_ends.f90");
    midplane(&["run", "--board", "stm32f405", "-n", "1", &source])
        .expect(2)
        .says(&["fortran_ends.f90 is Fortran, whose library does not fit in the memory of this board"]);
}
