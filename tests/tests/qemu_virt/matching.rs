//! Jobs whose nodes use other matching engines than the default one.

use crate::harness::*;
use midplane_engines::EngineChoice;

/// Programs with deterministic output, and their arguments: messages of many tags received in reverse order, many kinds
/// of communicators, cancelled receives and sends.
const PROGRAMS: [(&str, &[&str]); 3] = [("conf_p2p.c", &[]), ("conf_comm.c", &[]), ("conf_probe.c", &[])];

/// Returns the output of each program on nodes with this engine and scarce MPI memory.
fn printed(choice: EngineChoice) -> Vec<Vec<String>> {
    let of_program = |(name, arguments): (&str, &[&str])| {
        let options = ["--torus", "2x2x1", "--mpi-memory", "512", "--matching", choice.name()];
        let (ended, report) = run_with_report(&options, name, arguments);
        let ended = ended.expect(0);
        assert_eq!(report["matching"], choice.name(), "{name}");
        assert!(total(&report, "matching_searches") > 0, "{name}: {report}");
        assert!(total(&report, "matching_hops") >= total(&report, "matching_hops_peak"));
        let engine = format!("matching engine: {choice}");
        let ended = ended.says(&["searches", &engine]);
        // Lines of different ranks are unordered.
        let mut lines: Vec<String> = ended.stdout.lines().map(String::from).collect();
        lines.sort();
        assert!(!lines.is_empty(), "{name}");
        lines
    };
    PROGRAMS.into_iter().map(of_program).collect()
}

/// An engine that is not the default one.
const OTHER: EngineChoice = EngineChoice::FourD;

#[test]
fn programs_print_the_same_with_every_engine() {
    let expected = printed(EngineChoice::Default);
    for &choice in EngineChoice::ALL
        .iter()
        .filter(|choice| **choice != EngineChoice::Default)
    {
        assert_eq!(printed(choice), expected, "{choice}");
        let ended = run(
            &["--torus", "2x2x1", "--mpi-memory", "1K", "--matching", choice.name()],
            "killer.c",
            &["20", "1024"],
        );
        check_killer(&ended.expect(0), 4, "20", "1024");
    }
}

/// A linked image contains its engine: requesting another one is rejected, and the report specifies it.
#[test]
fn a_linked_image_keeps_its_engine() {
    let (ended, _) = run_with_report(&["-n", "2", "--matching", OTHER.name()], "pi.c", &[]);
    ended.expect(0);
    let programs = root().join("target/midplane/programs");
    let dirs = std::fs::read_dir(programs).expect("programs were built");
    let images = dirs.flatten().map(|dir| dir.path().join("pi.elf"));
    let modified = |image: &std::path::PathBuf| image.metadata().and_then(|m| m.modified()).ok();
    let image = images.filter(|image| image.exists()).max_by_key(modified);
    let image = image.expect("the image just built").display().to_string();
    let refused = midplane(&["run", "--matching", OTHER.name(), &image]).expect(2);
    refused.says(&["--matching does nothing here", "linked already"]);
    let ended = midplane(&["run", "-n", "2", "--timeout", LIMIT, &image]).expect(0);
    ended.says(&[&format!("matching engine: {OTHER}")]);
}

/// Returns the instructions of a self-send with this number of other entries in the queue: with its receive posted
/// before, and with the receive posted later.
fn to_oneself(queue: &str, entries: &str) -> [u64; 2] {
    let options = [
        "--torus",
        "1x1x1",
        "--node-memory",
        "32M",
        "--mpi-memory",
        "4M",
        "--count-instructions",
    ];
    let ended = run(&options, "oneself.c", &[queue, entries]).expect(0);
    let numbers = ended.stdout.split("then ").skip(1).map(|rest| {
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
        let number = digits.and_then(|digits| digits.parse::<u64>().ok());
        number.unwrap_or_else(|| panic!("no number in {ended}"))
    });
    let numbers: Vec<u64> = numbers.collect();
    numbers.try_into().expect("two numbers")
}

/// Exact instruction counts, the same on every host; no times.
#[test]
fn a_message_to_oneself_costs_the_same_beside_many_others() {
    for queue in ["posted", "unexpected"] {
        let (few, many) = (to_oneself(queue, "10"), to_oneself(queue, "2000"));
        for (few, many) in few.into_iter().zip(many) {
            assert!(few > 0, "{queue}: nothing was counted");
            assert!(many * 10 <= few * 11, "{queue}: {few} and {many}");
        }
    }
}

/// For any queue length, no message costs more than 10,000 instructions above the mean. This applies while the queue is
/// filled, while any kind of receive removes entries anywhere, and while it is emptied. It also applies to the first
/// message with a filled queue.
#[test]
fn no_message_costs_much_more_than_the_mean() {
    let options = [
        "--torus",
        "1x1x1",
        "--node-memory",
        "64M",
        "--mpi-memory",
        "4M",
        "--count-instructions",
    ];
    for queue in ["posted", "unexpected"] {
        let ended = run(&options, "worst_message.c", &[queue, "10000", "10000"]).expect(0);
        let counted = "worst_message: 10000";
        let mut lines = ended.stdout.lines().filter(|line| line.contains(counted));
        assert!(lines.clone().count() >= 9, "{ended}");
        assert!(lines.all(|line| !line.contains("mean 0,")), "{ended}");
    }
}
