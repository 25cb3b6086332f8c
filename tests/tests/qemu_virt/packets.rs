//! Packets of the links between QEMU processes, as tshark decodes them.

use midplane_harness::packets;

#[test]
fn the_packets_between_nodes_are_captured() {
    packets::are_captured(&["-n", "4", "--instances", "4"]);
}
