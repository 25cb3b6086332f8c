//! The command with `--board stm32f405`: the image that is flashed, on emulated boards whose serial lines the tool wires.
//! Results are those of the other boards. Needs QEMU for Arm and its C compiler, which the command fetches.

#[allow(dead_code, reason = "what only jobs on other boards need")]
#[path = "qemu_virt/harness.rs"]
mod harness;

use harness::{Ended, check_killer, run_with_report, total};

const BOARD: [&str; 2] = ["--board", "stm32f405"];

/// `midplane run --board stm32f405`; the program's name is completed.
fn run(options: &[&str], name: &str, arguments: &[&str]) -> Ended {
    harness::run(
        &[&BOARD[..], &["--quiet"], options].concat(),
        name,
        arguments,
    )
}

/// All others send to rank 0; nothing is lost, and no packet was defective.
fn killer(options: &[&str], processes: u32) {
    let options = [&BOARD[..], options].concat();
    let (ended, report) = run_with_report(&options, "killer.c", &["5", "64"]);
    let ended = ended.expect(0);
    check_killer(&ended, processes, "5", "64");
    assert_eq!(total(&report, "messages"), u64::from(processes - 1) * 5);
    assert_eq!(total(&report, "link_defects"), 0);
    assert!(report["totals"]["link_retries"].is_u64(), "{report}");
}

#[test]
fn killer_on_four_boards() {
    killer(&["--torus", "2x2x1"], 4);
}

#[test]
fn killer_on_eight_boards_with_all_six_lines() {
    killer(&["--torus", "2x2x2"], 8);
}

#[test]
fn killer_on_eight_boards_with_the_least_mpi_memory() {
    killer(&["--torus", "2x2x2", "--mpi-memory", "32"], 8);
}

#[test]
fn a_halo_exchange_on_four_boards() {
    let ended = run(&["--torus", "2x2x1"], "app_halo.c", &[]).expect(0);
    assert!(ended.stdout.contains(" 0 failed"), "{ended}");
}

#[test]
fn collectives_on_four_and_eight_boards() {
    for torus in ["4x1x1", "2x2x2"] {
        let ended = run(&["--torus", torus, "--mesh", "x"], "pi.c", &[]).expect(0);
        assert!(ended.stdout.contains("pi is about 3.14159265"), "{ended}");
    }
}

/// Faults are decoded, and the line of the program is found.
#[test]
fn a_null_pointer_and_a_full_stack_are_told() {
    let ended = run(&["--torus", "2x1x1"], "fail_null.c", &[]).expect(1);
    ended.says(&["null pointer: store to 0x0", "fail_null.c:"]);
    let ended = run(&["--torus", "2x1x1"], "fail_stack.c", &[]).expect(1);
    ended.says(&["stack overflow: the program's stack of 16 KiB"]);
}

#[test]
fn what_the_board_does_not_have_is_refused() {
    for option in [
        &["--instances", "1"][..],
        &["--node-memory", "1M"],
        &["--count-instructions"],
        &["--on", "linux"],
    ] {
        let ended = run(option, "killer.c", &[]).expect(2);
        ended.says(&["does nothing for"]);
    }
    run(&[], "ring.rs", &[])
        .expect(2)
        .says(&["ring.rs is in Rust"]);
    let ended = run(
        &["--torus", "2x1x1", "--mpi-memory", "100K"],
        "killer.c",
        &[],
    )
    .expect(2);
    ended.says(&["the board has 131072", "102400 of MPI memory"]);
}

/// No process is left when the command is killed.
#[test]
fn nothing_is_left_behind() {
    let name = harness::program("fail_hang.c");
    let arguments = [
        "run",
        "--board",
        "stm32f405",
        "--torus",
        "2x1x1",
        "--timeout",
        "3",
        &name,
    ];
    let job = harness::Job::start(&arguments);
    let mark = job.mark.clone();
    job.end().expect(1).says(&["did not end within 3 s"]);
    assert!(harness::marked(&mark).is_empty());
}
