//! Tells the tests whether the reference implementation is on this machine.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rustc-check-cfg=cfg(mpich)");
    let says = |program: &str, option: &str, word: &str| {
        Command::new(program)
            .arg(option)
            .output()
            .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(word))
    };
    // MPICH's launcher is called Hydra. Other implementations have other quirks than the programs know.
    if says("mpiexec", "--version", "HYDRA") && says("mpicc", "-show", "mpich") {
        println!("cargo::rustc-cfg=mpich");
    }
}
