//! Fortran programs on nodes.

use crate::harness::{LIMIT, TempDirectory, fortran, midplane, program};
use std::fs;
use std::process::Command;

#[test]
fn output_of_fortran_on_a_node_is_that_of_the_hosts_compiler() {
    if fortran::has_gfortran() && fortran::has_gfortran_for_nodes() {
        let files = TempDirectory::new("fortran-files");
        fortran::check_output("fortran-io", &["--files", &files.path("")], true);
        let left: Vec<_> = fs::read_dir(&files.0).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn each_end_of_a_fortran_program_is_reported_with_its_line() {
    if fortran::has_gfortran_for_nodes() {
        fortran::check_ends(&[]);
    }
}

#[test]
fn modules_of_a_program_are_compiled_in_order() {
    if fortran::has_gfortran_for_nodes() {
        fortran::check_modules("fortran-modules", &[]);
    }
}

#[test]
fn each_interface_conforms() {
    if fortran::has_gfortran_for_nodes() {
        fortran::check_conformance(&[]);
    }
}

#[test]
fn mpifort_compiles_and_links_for_nodes() {
    if fortran::has_gfortran_for_nodes() {
        fortran::check_wrapper("fortran-cc", "qemu");
    }
}

#[test]
fn cmake_finds_mpifort_for_nodes() {
    if Command::new("cmake").arg("--version").output().is_err() {
        return eprintln!("skipped: cmake is not installed");
    }
    if fortran::has_gfortran_for_nodes() {
        fortran::check_cmake("fortran-cmake", "qemu");
    }
}

/// A C program's image contains nothing for Fortran, and its library of functions for gfortran is in Fortran images only.
#[test]
fn images_of_c_programs_contain_nothing_for_fortran() {
    let mpicc = midplane(&["cc", "--path"]).expect(0).stdout.trim_end().to_string();
    let directory = TempDirectory::new("fortran-none");
    let link = |words: &[&str], name: &str| {
        let path = directory.path(name);
        let status = Command::new(&mpicc).args(words).args(["-o", &path]).status();
        assert!(status.expect("it starts").success());
        let bytes = fs::read(&path).expect("an image");
        let has = |symbol: &str| bytes.windows(symbol.len()).any(|window| window == symbol.as_bytes());
        ["midplane_glibc_", "mpi_send_"].map(has)
    };
    let source = program("killer.c");
    assert_eq!(link(&[&source], "c"), [false; 2]);
    if fortran::has_gfortran_for_nodes() {
        let source = program("fortran_ends.f90");
        assert_eq!(link(&[&source], "fortran_ends"), [true; 2]);
        midplane(&[
            "run",
            "-q",
            "--timeout",
            LIMIT,
            "-n",
            "1",
            &directory.path("c"),
            "--",
            "1",
            "64",
        ])
        .expect(0);
    }
}
