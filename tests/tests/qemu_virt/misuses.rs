//! Misuse of MPI on nodes, found by `--check`.

use midplane_harness::misuses;

#[test]
fn each_kind_of_misuse_on_nodes_is_found() {
    misuses::are_found(&[]);
}

#[test]
fn misuse_by_rust_programs_on_nodes_is_found() {
    misuses::of_rust_are_found(&[]);
    misuses::of_rust_are_no_false_alarms(&[]);
}
