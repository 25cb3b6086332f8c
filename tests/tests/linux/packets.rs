//! Packets of the simulator's links, as tshark decodes them, and the options of the capture.

use midplane_harness::{self as harness, TempDirectory, packets, program};

#[test]
fn the_packets_of_the_simulator_are_captured() {
    packets::are_captured(&["--on", "cluster", "-n", "8"]);
}

#[test]
fn several_processes_capture_the_packets() {
    packets::are_captured(&["--on", "cluster", "-n", "8", "--processors", "2"]);
}

#[test]
fn links_that_cannot_be_captured_are_rejected() {
    let directory = TempDirectory::new("no-packets");
    let file = directory.path("packets.pcapng");
    for (options, reason) in [
        (&["--on", "linux"][..], "the links between processes are shared memory"),
        (&["--on", "cluster", "-n", "1"], "has no links"),
        (&["--on", "cluster", "--pcap-link", "0,0,2:x+"], "there is no such link"),
        (&["--on", "qemu", "-n", "4"], "--instances 4"),
    ] {
        let options = [&["--pcap", &file], options].concat();
        harness::run(&options, "killer.c", &[]).expect(2).says(&[reason]);
    }
    let words = ["run", "--pcap-link", "0,0,0:x+", &program("killer.c")];
    harness::midplane(&words).expect(2).says(&["--pcap"]);
}
