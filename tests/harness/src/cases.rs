//! Programs after public reports about other implementations of MPI: each prints each check that fails, prints "ok"
//! otherwise, and ends with status 0.

use crate::run;

/// Name and number of ranks.
const CASES: [(&str, &str); 20] = [
    ("p01_procnull", "2"),
    ("p02_status_error", "2"),
    ("p03_inactive", "2"),
    ("p04_persist_err", "2"),
    ("p05_elements", "1"),
    ("p06_external32", "1"),
    ("p07_extents", "1"),
    ("p10_intersplit", "2"),
    ("p11_finalize_attr", "2"),
    ("p12_cancel_recv", "2"),
    ("p12_cancel_send", "2"),
    ("p13_nothing", "3"),
    ("p14_bsend", "2"),
    ("p16_epochs", "2"),
    ("p17_splits", "3"),
    ("p19_operations", "3"),
    ("q10_static", "3"),
    ("q13_finalize", "2"),
    ("q15_jump", "2"),
    ("q18_freed_more", "2"),
];

/// Runs each program with these options and 32 bytes of MPI memory.
#[track_caller]
pub fn pass(options: &[&str]) {
    for (name, ranks) in CASES {
        let options = [options, &["-q", "-n", ranks, "--mpi-memory", "32"]].concat();
        let ended = run(&options, &format!("cases/{name}.c"), &[]).expect(0);
        assert!(ended.stdout.contains("ok"), "{name}: {ended}");
        assert!(!ended.stdout.contains("FAIL"), "{name}: {ended}");
    }
}
