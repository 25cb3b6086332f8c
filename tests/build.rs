//! Detects MPICH (the reference implementation), its working features, valgrind and a C++ compiler, and sets a `cfg`
//! for each.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=programs/beside_put.c");
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rustc-check-cfg=cfg(mpich)");
    println!("cargo::rustc-check-cfg=cfg(mpich_put)");
    println!("cargo::rustc-check-cfg=cfg(mpich_five)");
    println!("cargo::rustc-check-cfg=cfg(valgrind)");
    println!("cargo::rustc-check-cfg=cfg(cpp)");
    let says = |program: &str, option: &str, word: &str| {
        Command::new(program)
            .arg(option)
            .output()
            .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(word))
    };
    if says("valgrind", "--version", "valgrind") {
        println!("cargo::rustc-cfg=valgrind");
    }
    if says("c++", "-v", "") {
        println!("cargo::rustc-cfg=cpp");
    }
    // MPICH's launcher is called Hydra. Other implementations differ in ways that the programs do not support.
    if says("mpiexec", "--version", "HYDRA") && says("mpicc", "-show", "mpich") {
        println!("cargo::rustc-cfg=mpich");
        if puts() {
            println!("cargo::rustc-cfg=mpich_put");
        }
        if says("mpiexec", "--version", " 5.") {
            println!("cargo::rustc-cfg=mpich_five");
        }
    }
}

/// Checks whether a put between two fences is complete after the second. MPICH 4.0.2 over UCX, as in Debian 12, loses
/// it on some machines.
fn puts() -> bool {
    let dir = std::env::var_os("OUT_DIR").unwrap_or_default();
    let program = PathBuf::from(dir).join("put");
    let succeeds = |command: &mut Command| {
        let output = command.env("MPIEXEC_TIMEOUT", "30").output();
        output.is_ok_and(|output| output.status.success())
    };
    let source = Path::new("programs/beside_put.c");
    succeeds(Command::new("mpicc").arg(source).arg("-o").arg(&program))
        && succeeds(Command::new("mpiexec").args(["-n", "2"]).arg(&program))
}
