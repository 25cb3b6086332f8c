//! Misuse of MPI by Linux processes and in the cluster, found by `--check`.

use midplane_harness::misuses;

#[test]
fn each_kind_of_misuse_by_processes_is_found() {
    misuses::are_found(&["--on", "linux"]);
}

#[test]
fn each_kind_of_misuse_in_the_cluster_is_found() {
    misuses::are_found(&["--on", "cluster"]);
}

#[test]
fn correct_processes_cause_no_finding() {
    misuses::are_no_false_alarms(&["--on", "linux"]);
}
