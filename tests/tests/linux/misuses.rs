//! Misuse of MPI by Linux processes and in the cluster, found by `--check`.

use midplane_harness::{self as harness, misuses};

#[test]
fn each_kind_of_misuse_by_processes_is_found() {
    misuses::are_found(&["--on", "linux"]);
}

#[test]
fn each_kind_of_misuse_in_the_cluster_is_found() {
    misuses::are_found(&["--on", "cluster"]);
}

#[test]
fn each_kind_of_misuse_that_rust_permits_is_found() {
    for on in ["linux", "cluster"] {
        misuses::of_rust_are_found(&["--on", on]);
    }
}

#[test]
fn correct_rust_programs_cause_no_finding() {
    for on in ["linux", "cluster"] {
        misuses::of_rust_are_no_false_alarms(&["--on", on]);
    }
}

#[test]
#[ignore = "takes minutes: the link of all rsmpi programs with the recorder"]
fn correct_rsmpi_programs_cause_no_finding() {
    // `errors` truncates a message on purpose.
    for name in harness::rust_programs().into_iter().filter(|name| name != "errors") {
        misuses::run_without_finding(&["--on", "linux"], "rsmpi.rs", &name);
    }
}

#[test]
fn correct_processes_cause_no_finding() {
    misuses::are_no_false_alarms(&["--on", "linux"]);
}
