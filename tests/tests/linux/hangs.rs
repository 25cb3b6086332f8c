//! Hangs of Linux processes and in the cluster.

use midplane_harness::hangs;

#[test]
fn each_kind_of_hang_of_processes_is_named() {
    hangs::are_named(&["--on", "linux"]);
}

#[test]
fn each_kind_of_hang_in_the_cluster_is_named() {
    hangs::are_named(&["--on", "cluster"]);
}

#[test]
fn silent_ranks_are_no_hang() {
    for on in ["linux", "cluster"] {
        hangs::are_no_false_alarms(&["--on", on]);
    }
}
