//! Hangs on nodes.

use midplane_harness::hangs;

#[test]
fn each_kind_of_hang_on_nodes_is_named() {
    hangs::are_named(&[]);
}

#[test]
fn silent_nodes_are_no_hang() {
    hangs::are_no_false_alarms(&[]);
}
