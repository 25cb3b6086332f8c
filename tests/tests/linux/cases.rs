//! Regression programs from public bug reports, as Linux processes and in the cluster.

use midplane_harness::cases;

#[test]
fn reported_cases_pass_as_processes() {
    cases::pass(&["--on", "linux"]);
}

#[test]
fn reported_cases_pass_in_the_cluster() {
    cases::pass(&["--on", "cluster"]);
}

#[test]
fn output_input_arguments_and_ends_are_whole() {
    for on in ["linux", "cluster"] {
        cases::come_and_go_whole(&["--on", on]);
    }
}
