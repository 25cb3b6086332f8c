//! Jobs whose nodes have other matching engines than the default one.

use crate::harness::*;
use midplane_device::matching::Choice;

/// Programs that print the same whenever they run well, and what is given to them: messages of many tags received in
/// the reverse order, all sorts of communicators, receives and sends that are taken back.
const PROGRAMS: [(&str, &[&str]); 3] = [
    ("conf_p2p.c", &[]),
    ("conf_comm.c", &[]),
    ("conf_probe.c", &[]),
];

/// What the programs print, by program, on nodes with this engine and scarce MPI memory.
fn printed(choice: Choice) -> Vec<Vec<String>> {
    let of_program = |(name, arguments): (&str, &[&str])| {
        let options = [
            "--torus",
            "2x2x1",
            "--mpi-memory",
            "512",
            "--matching",
            choice.name(),
        ];
        let (ended, report) = run_with_report(&options, name, arguments);
        let ended = ended.expect(0);
        assert_eq!(report["matching"], choice.name(), "{name}");
        assert!(total(&report, "matching_searches") > 0, "{name}: {report}");
        assert!(total(&report, "matching_hops") >= total(&report, "matching_hops_peak"));
        let engine = format!("matching engine: {choice}");
        let ended = ended.says(&["searches", &engine]);
        // Of different ranks, lines come in any order.
        let mut lines: Vec<String> = ended.stdout.lines().map(String::from).collect();
        lines.sort();
        assert!(!lines.is_empty(), "{name}");
        lines
    };
    PROGRAMS.into_iter().map(of_program).collect()
}

/// An engine that is not the default one.
const OTHER: Choice = Choice::FourD;

#[test]
fn programs_print_the_same_with_every_engine() {
    let expected = printed(Choice::Default);
    for &choice in Choice::ALL
        .iter()
        .filter(|choice| **choice != Choice::Default)
    {
        assert_eq!(printed(choice), expected, "{choice}");
        let ended = run(
            &[
                "--torus",
                "2x2x1",
                "--mpi-memory",
                "1K",
                "--matching",
                choice.name(),
            ],
            "killer.c",
            &["20", "1024"],
        );
        check_killer(&ended.expect(0), 4, "20", "1024");
    }
}

/// A linked image has its engine: asking for one is refused, and the report says which it is.
#[test]
fn a_linked_image_keeps_its_engine() {
    let (ended, _) = run_with_report(&["-n", "2", "--matching", OTHER.name()], "pi.c", &[]);
    ended.expect(0);
    let programs = root().join("target/midplane/programs");
    let folders = std::fs::read_dir(programs).expect("programs were built");
    let images = folders.flatten().map(|folder| folder.path().join("pi.elf"));
    let modified = |image: &std::path::PathBuf| image.metadata().and_then(|m| m.modified()).ok();
    let image = images.filter(|image| image.exists()).max_by_key(modified);
    let image = image.expect("the image just built").display().to_string();
    let refused = midplane(&["run", "--matching", OTHER.name(), &image]).expect(2);
    refused.says(&["--matching does nothing here", "linked already"]);
    let ended = midplane(&["run", "-n", "2", "--timeout", LIMIT, &image]).expect(0);
    ended.says(&[&format!("matching engine: {OTHER}")]);
}

/// Instructions of a message to oneself beside so many others in the queue: when its receive is posted before, and when
/// it starts later.
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

/// Exact counts, the same on every host: no times.
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

/// However many wait, no message takes more than 10,000 instructions above the mean: as the queue is filled, as entries are
/// taken out of it anywhere, by any kind of receive, and as it is emptied. Nor does the first message beside them.
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
