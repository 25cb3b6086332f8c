//! Runs the checklist of docs/porting.md on each board: a program checks everything that a board must provide, and the
//! test checks the tool's report.

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

/// The list of boards in the error message equals the list tested here.
#[test]
fn no_board_is_left_out() {
    let ended = midplane(&["run", "--board", "none", &program("board.c")]).expect(2);
    ended.says(&["[possible values: virt, stm32f405]"]);
}
