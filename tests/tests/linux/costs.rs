//! What messages cost processes, in instructions, which valgrind counts.

use std::path::Path;
use std::process::Command;
use std::{env, fs, process};

use midplane_harness as harness;

/// The most instructions that 8 bytes to oneself may take, from the posted receive to its completion, with the loop of the
/// program around the three calls: 390. The other MPIs that docs/linux.md compares with take 1,200 and more.
const TO_ONESELF: u64 = 400;

/// Instructions of a job of one process, from its start to its end.
fn instructions(program: &Path, argument: &str) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .arg(argument)
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
    let [few, many] = ["1000", "5000"].map(|count| instructions(&program, count));
    fs::remove_file(&program).unwrap();
    let each = (many - few) / 4000;
    println!("{each} instructions");
    assert!(each <= TO_ONESELF, "{each} instructions");
    assert!(each > 100, "{each} instructions are too few to be true");
}
