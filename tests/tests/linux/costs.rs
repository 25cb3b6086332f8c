//! Cost of messages between Linux processes, in instructions counted by valgrind.

use std::path::Path;
use std::process::Command;
use std::{env, fs, process};

use midplane_harness as harness;

/// Maximum instructions of an 8-byte self-send, from the posted receive to its completion, including the program's loop
/// with three calls: 412 and 449. The other MPIs in docs/linux.md require 1,200 and more.
const TO_ONESELF: u64 = 450;

/// Returns the instructions of a one-process job, from start to end.
fn instructions(program: &Path, arguments: [&str; 3]) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected :"));
    let (_, number) = collected.unwrap_or_else(|| panic!("{said}"));
    number.trim().parse().unwrap()
}

#[test]
#[cfg_attr(not(valgrind), ignore = "needs valgrind")]
fn a_message_to_oneself_takes_a_few_hundred_instructions() {
    let program = env::temp_dir().join(format!("midplane-to-self-{}", process::id()));
    let source = harness::program("to_self.c");
    let out = program.to_str().unwrap();
    harness::midplane(&["cc", "--on", "linux", "-O2", "-o", out, &source]).expect(0);
    // A library's calls use a separate communicator, and cost the same as those on MPI_COMM_WORLD.
    for of in ["world", "dup", "part"] {
        for form in ["send", "isend"] {
            let [few, many] = ["1000", "5000"].map(|count| instructions(&program, [count, form, of]));
            let each = (many - few) / 4000;
            println!("{form} {of}: {each} instructions");
            assert!(each <= TO_ONESELF, "{form} {of}: {each} instructions");
            assert!(each > 100, "{each} instructions are too few to be true");
        }
    }
    fs::remove_file(&program).unwrap();
}
