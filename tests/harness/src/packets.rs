//! Packets of the torus links in a capture file, decoded by tshark with the dissector of the command.

use crate::{TempDirectory, midplane, run_with_report, total};
use std::fs;
use std::process::Command;

/// A packet on a link.
struct CapturedPacket {
    /// Coordinates of the node that sends it on the link.
    at: String,
    source: String,
    class: String,
    message: String,
}

/// Checks that the capture of a job with these options contains each packet of its report, by the protocol's messages.
pub fn are_captured(options: &[&str]) {
    let directory = TempDirectory::new(&format!("packets{}", options.concat()));
    let (capture, script) = (directory.path("packets.pcapng"), directory.path("midplane.lua"));
    let lua = midplane(&["dissector"]).expect(0).stdout;
    fs::write(&script, lua).expect("write the dissector");
    let options = [options, &["--quiet", "--mpi-memory", "256", "--pcap", &capture]].concat();
    let (ended, report) = run_with_report(&options, "killer.c", &["6", "500"]);
    ended.expect(0);
    let Some(packets) = decode(&capture, &script) else {
        return;
    };
    assert_eq!(packets.len() as u64, total(&report, "packets_sent"));
    // On its first link only: others forward it.
    let sent = |message: &str| {
        let of_name = packets.iter().filter(|packet| packet.message == message);
        of_name.filter(|packet| packet.at == packet.source).count() as u64
    };
    for (message, counter) in [
        ("RTS", "rts"),
        ("NCTSD", "nctsd"),
        ("NCTS", "ncts"),
        ("RESTART", "restarts"),
    ] {
        assert_eq!(sent(message), total(&report, counter), "{message}");
    }
    assert!(sent("NCTS") > 0, "the MPI memory is too large for this test");
    let is_priority = |packet: &CapturedPacket| ["CTS", "NCTSD", "NCTS", "RESTART"].contains(&&*packet.message);
    for packet in packets.iter().filter(|packet| is_priority(packet)) {
        assert_eq!(packet.class, "1", "{}", packet.message);
    }
}

/// Decodes all packets of a capture file. `None`: tshark is not installed.
fn decode(capture: &str, script: &str) -> Option<Vec<CapturedPacket>> {
    let output = Command::new("tshark")
        .args(["-X", &format!("lua_script:{script}"), "-r", capture])
        .args(["-T", "fields", "-E", "aggregator=;", "-e", "frame.interface_name"])
        .args([
            "-e",
            "midplane.source",
            "-e",
            "midplane.class",
            "-e",
            "midplane.message",
        ])
        .args(["-e", "midplane.invalid", "-e", "frame.time_epoch"])
        .output();
    let Ok(output) = output else {
        eprintln!("left out: tshark is not installed");
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !errors.contains("Lua"), "{errors}");
    let mut packets = Vec::new();
    let mut before = 0.0;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let [link, sources, classes, messages, invalid, time] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        assert_eq!(invalid, "", "{line}");
        let time: f64 = time.parse().expect("a time");
        assert!(time >= before, "{line}");
        before = time;
        let of_frame = sources.split(';').zip(classes.split(';')).zip(messages.split(';'));
        packets.extend(
            of_frame
                .filter(|(_, message)| !message.is_empty())
                .map(|((source, class), message)| CapturedPacket {
                    at: link.split(':').next().unwrap_or_default().into(),
                    source: source.into(),
                    class: class.into(),
                    message: message.into(),
                }),
        );
    }
    Some(packets)
}
