//! Jobs whose nodes have other matching engines than the default one.

use crate::harness::*;
use mpi_adi::matching::Choice;

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

#[track_caller]
fn agree(choices: &[Choice]) {
    let expected = printed(Choice::Default);
    for &choice in choices {
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

#[test]
fn programs_print_the_same_with_other_engines() {
    agree(&[Choice::List, Choice::FourD]);
}

#[test]
#[ignore = "compiles the runtime four times more, which takes a minute or two"]
fn programs_print_the_same_with_every_engine() {
    agree(Choice::ALL);
}

#[test]
fn a_rust_program_has_the_engine_that_was_asked_for() {
    let (ended, report) = run_with_report(&["-n", "3", "--matching", "list"], "ring.rs", &[]);
    ended.expect(0);
    assert_eq!(report["matching"], "list");
}

/// A linked image has its engine: asking for one is refused, and the report says which it is.
#[test]
fn a_linked_image_keeps_its_engine() {
    let (ended, _) = run_with_report(&["-n", "2", "--matching", "list"], "pi.c", &[]);
    ended.expect(0);
    let programs = root().join("target/midplane/programs");
    let folders = std::fs::read_dir(programs).expect("programs were built");
    let images = folders.flatten().map(|folder| folder.path().join("pi.elf"));
    let modified = |image: &std::path::PathBuf| image.metadata().and_then(|m| m.modified()).ok();
    let image = images.filter(|image| image.exists()).max_by_key(modified);
    let image = image.expect("the image just built").display().to_string();
    let refused = midplane(&["run", "--matching", "list", &image]).expect(2);
    refused.says(&["--matching does nothing here", "linked already"]);
    let ended = midplane(&["run", "-n", "2", "--timeout", LIMIT, &image]).expect(0);
    ended.says(&["matching engine: list"]);
}
