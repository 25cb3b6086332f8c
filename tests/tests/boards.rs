//! The checklist of docs/porting.md, run against each board: one program that meets what a board has to provide, and
//! what the tool sees of it.

use midplane_harness::{check_board, midplane, program};

#[test]
fn virt() {
    check_board(&["--instances", "2"]);
}

#[test]
fn stm32f405() {
    check_board(&["--board", "stm32f405"]);
}

#[test]
fn linux() {
    check_board(&["--on", "linux"]);
}

/// What says which boards there are names what this test runs.
#[test]
fn no_board_is_left_out() {
    let ended = midplane(&["run", "--board", "none", &program("board.c")]).expect(2);
    ended.says(&["[possible values: virt, stm32f405]"]);
}
