//! Tests the command `attach` on emulated standalone boards with flashed images. The serial console of one board is
//! connected to a pseudo-terminal. Requires the prerequisites of `--board stm32f405`.

use midplane_abi::boot_parameters::{BootParameters, BootRecord, RECORD_BYTES};
use midplane_harness::boards::{self, BoardWire, RunningBoards, SerialAdapter};
use midplane_harness::{
    self as harness, CommandRun, CompletedRun, LIMIT, TempDirectory, check_killer, midplane, run_with_report, total,
};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

/// Ports of a board.
const X_PLUS: usize = 0;
const X_MINUS: usize = 1;
const Y_PLUS: usize = 2;
const Y_MINUS: usize = 3;
const Z_PLUS: usize = 4;

const PAIR: [BoardWire; 2] = [[(0, X_PLUS), (1, X_MINUS)], [(1, X_PLUS), (0, X_MINUS)]];

/// Wires of 3x1x1 without a ring.
const ROW: [BoardWire; 2] = [[(0, X_PLUS), (1, X_MINUS)], [(1, X_PLUS), (2, X_MINUS)]];

/// Wires of 2x2x1, with boards by rank.
const SQUARE: [BoardWire; 8] = [
    [(0, X_PLUS), (1, X_MINUS)],
    [(1, X_PLUS), (0, X_MINUS)],
    [(2, X_PLUS), (3, X_MINUS)],
    [(3, X_PLUS), (2, X_MINUS)],
    [(0, Y_PLUS), (2, Y_MINUS)],
    [(2, Y_PLUS), (0, Y_MINUS)],
    [(1, Y_PLUS), (3, Y_MINUS)],
    [(3, Y_PLUS), (1, Y_MINUS)],
];

/// Machine of emulated boards, with the adapter at the console of rank 0.
struct Machine {
    /// Image that contains a personality.
    image: String,
    adapter: SerialAdapter,
    _boards: RunningBoards,
    dir: TempDirectory,
}

impl Machine {
    /// Creates and boots the images for a torus with these extents.
    fn boot(name: &str, torus: [usize; 3], program: &[&str], is_good: bool) -> Self {
        let dir = TempDirectory::new(name);
        let [x, y, z] = torus;
        let shape = format!("{x}x{y}x{z}");
        let wires: &[BoardWire] = match torus {
            [2, 1, 1] => &PAIR,
            [3, 1, 1] => &ROW,
            [2, 2, 1] => &SQUARE,
            _ => panic!("no wires for {torus:?}"),
        };
        let source = harness::program(program[0]);
        let image = |rank: usize| {
            let place = format!("{},{},0", rank % x, rank / x);
            let stem = dir.path(&format!("node{rank}"));
            let make = [
                "image",
                "--torus",
                &shape,
                "--mesh",
                if x == 3 { "x" } else { "" },
                "--node",
                &place,
                "--console",
                "z+",
            ];
            let more = ["-o", &stem, &source, "--"];
            midplane(&[&make[..], &more, &program[1..]].concat()).expect(0);
            format!("{stem}.elf")
        };
        let images: Vec<String> = (0..x * y * z).map(image).collect();
        let (boards, console) = RunningBoards::boot(&images, wires, Z_PLUS);
        let adapter = SerialAdapter::plug(console, is_good);
        Self {
            image: images[0].clone(),
            adapter,
            _boards: boards,
            dir,
        }
    }

    fn start(&self, options: &[&str]) -> CommandRun {
        let port = &*self.adapter.path;
        CommandRun::start(&[&["attach", "--serial", port][..], options, &[&self.image]].concat())
    }

    /// Runs the command until it ends.
    fn attach(&self, options: &[&str]) -> CompletedRun {
        let limit = ["--timeout", LIMIT];
        self.start(&[&limit[..], options].concat()).end()
    }
}

/// Runs killer on four boards over a good or a bad line. Checks the output and the report.
fn killer_on_four_boards(is_good: bool) -> CompletedRun {
    let name = format!("attach-killer-{is_good}");
    let machine = Machine::boot(&name, [2, 2, 1], &["killer.c", "5", "64"], is_good);
    let file = machine.dir.path("report");
    let ended = machine.attach(&["--report", &file]).expect(0);
    check_killer(&ended, 4, "5", "64");
    let report: Value = serde_json::from_slice(&fs::read(file).expect("a report")).expect("JSON");
    assert_eq!(total(&report, "messages"), 15);
    assert_eq!(report["ranks"].as_array().map(Vec::len), Some(4));
    assert_eq!(report["arguments"][1], "64", "{report}");
    let peak = report["ranks"][3]["stack"]["peak_bytes"].as_u64();
    assert!(peak > Some(500) && peak < Some(5_000), "{report}");
    ended.says_in_order(&["rank  (x,y,z)", "(1,1,0)", "peak stack use in bytes: "]);
    ended
}

#[test]
fn four_boards_are_shown_as_run_shows_them() {
    let ended = killer_on_four_boards(true);
    assert!(!ended.stderr.contains("damaged"), "{ended}");
}

#[test]
fn a_line_with_garbage_loses_nothing() {
    killer_on_four_boards(false).says(&["pieces were damaged"]);
}

/// A fault, an abort and the status of a rank without console are reported as on other boards.
#[test]
fn a_rank_without_the_console_fails() {
    let on_pair = |name: &str, program: &[&str]| Machine::boot(name, [2, 1, 1], program, true).attach(&["--quiet"]);
    let ended = on_pair("attach-null", &["fail_null.c"]).expect(1);
    ended
        .says(&[
            "rank 1 at (1,0,0): null pointer: store to 0x0",
            "in main at",
            "fail_null.c:",
        ])
        .prints("[1] about to write through a null pointer\n");
    let ended = on_pair("attach-abort", &["fail_mpi_abort.c"]).expect(7);
    ended
        .says(&["MPI_Abort was called with status 7", "fail_mpi_abort.c:"])
        .prints("[1] about to call MPI_Abort with 7\n");
    on_pair("attach-status", &["fail_status.c", "3"]).expect(3);
    let ended = on_pair("attach-stack", &["fail_stack.c"]).expect(1);
    ended.says(&["stack overflow: the program's stack of 20 KiB"]);
}

/// A stack overflow is reported even when it occurs during console output.
#[test]
fn a_rank_fails_while_it_prints() {
    let machine = Machine::boot("attach-talk", [2, 1, 1], &["fail_talk.c"], true);
    let ended = machine
        .attach(&["--quiet"])
        .expect(1)
        .says(&["rank 1 at (1,0,0): stack overflow: the program's stack of 20 KiB"]);
    assert!(ended.stdout.contains("[1] depth 10\n"), "{ended}");
}

/// The output of a rank is shown even if another rank that relays it fails.
#[test]
fn a_rank_that_fails_passes_on_what_others_say() {
    let machine = Machine::boot("attach-between", [3, 1, 1], &["fail_between.c"], true);
    let ended = machine.attach(&["--quiet"]).expect(5);
    let ended = ended.says(&["rank 1 at (1,0,0): MPI_Abort was called with status 5"]);
    let expected = (0..40).map(|line| format!("[2] line {line} of what rank 2 has to say before\n"));
    ended.prints(&expected.collect::<String>());
}

/// A command started after a part of the machine has ended still receives that part's result.
#[test]
fn the_end_is_seen_by_who_comes_later() {
    let machine = Machine::boot("attach-second", [2, 1, 1], &["ends_late.c", "8"], true);
    let mut first = machine.start(&["--timeout", LIMIT]);
    // By then both have reported, however late the command has started.
    first.wait_for("[1] second 3");
    first.signal(Signal::INT);
    first
        .end()
        .expect(130)
        .says(&["rank 0 at (0,0,0): ended with status 0", "rank 1 at (1,0,0): computing"]);
    let file = machine.dir.path("report");
    let second = machine.attach(&["--report", &file]).expect(0);
    assert!(second.stdout.contains("[1] second 7\n"), "{second}");
    let report: Value = serde_json::from_slice(&fs::read(file).expect("a report")).expect("JSON");
    let peak = report["ranks"][0]["stack"]["peak_bytes"].as_u64();
    assert!(peak > Some(500), "{report}");
}

/// A failure and its source location are also reported to a later command.
#[test]
fn a_failure_is_seen_by_who_comes_later() {
    let machine = Machine::boot("attach-failed", [2, 1, 1], &["fail_null.c"], true);
    for _ in 0..2 {
        let ended = machine.attach(&["--quiet"]).expect(1);
        ended.says(&["rank 1 at (1,0,0): null pointer: store to 0x0", "fail_null.c:"]);
    }
}

/// A timeout reports the hanging ranks; only one command can use a port; a board may lose its adapter.
#[test]
fn a_job_that_does_not_end() {
    let mut machine = Machine::boot("attach-hang", [2, 1, 1], &["fail_hang.c"], true);
    let mut first = machine.start(&["--timeout", LIMIT]);
    first.wait_for("waiting for a message that never comes");
    let second = machine.attach(&[]).expect(2);
    second.says(&["it is in use by another program"]);
    machine.adapter.unplug();
    let ended = first.end().expect(1);
    ended.says(&["it has disappeared", "state of the ranks:"]);
    let ended = machine.attach(&[]).expect(2);
    ended.says(&["--serial"]);
}

#[test]
fn a_job_whose_time_is_up() {
    let machine = Machine::boot("attach-late", [2, 1, 1], &["fail_hang.c"], true);
    let ended = machine.start(&["--timeout", "9"]).end().expect(1);
    ended.says(&[
        "did not end within 9 s",
        "rank 0 at (0,0,0): in MPI_Recv (peer 1, tag 42)",
    ]);
}

/// Boards that discover their coordinates also discover their console: here at the last of a row.
#[test]
fn boards_find_out_where_their_console_is() {
    let options = [
        &["--board", "stm32f405", "--auto", "--console", "2,0,0:x+"][..],
        &["--torus", "3x1x1", "--mesh", "x"],
    ];
    let (ended, report) = run_with_report(&options.concat(), "killer.c", &["5", "64"]);
    check_killer(&ended.expect(0), 3, "5", "64");
    assert_eq!(total(&report, "messages"), 10);
}

/// A board sends no handshake before it is read; a wrongly wired board reports the wire at its console.
#[test]
fn a_board_that_finds_its_place_out_is_attached_to() {
    let dir = TempDirectory::new("attach-auto");
    let (stem, killer) = (dir.path("node"), harness::program("killer.c"));
    let make = ["image", "--auto", "--console", "auto", "-o", &stem, &killer];
    midplane(&[&make[..], &["--", "5", "64"]].concat()).expect(0);
    // An emulated board has no unique ID.
    let image = format!("{stem}.elf");
    let mut elf = fs::read(&image).expect("an image");
    let is_auto = |at: &usize| {
        let read = BootParameters::read(&elf[*at..]);
        read.is_ok_and(|boot| boot.auto.is_some())
    };
    let at = (0..elf.len()).find(is_auto).expect("a record");
    let fixed: &mut [u8; RECORD_BYTES] = elf[at..].first_chunk_mut().expect("a record");
    *fixed = BootRecord::from_bytes(fixed).number(7).to_bytes();
    fs::write(&image, elf).expect("a file");
    let attach = |wires: &[BoardWire], more: &[&str]| {
        let (_boards, console) = RunningBoards::boot(std::slice::from_ref(&image), wires, Z_PLUS);
        let adapter = SerialAdapter::plug(console, true);
        let port = ["attach", "--serial", &adapter.path];
        midplane(&[&port[..], more, &[&image]].concat())
    };
    let alone = ["--torus", "1x1x1", "--timeout", LIMIT];
    attach(&[], &[])
        .expect(2)
        .says(&["specify the machine's extents with --torus"]);
    check_killer(&attach(&[], &alone).expect(0), 1, "5", "64");
    let looped = [[(0, X_PLUS), (0, X_MINUS)]];
    attach(&looped, &alone)
        .expect(1)
        .says(&["cannot start: the wire at X+ of ", "leads to X- of the same node"]);
}

/// Invalid arguments are rejected before anything is opened or awaited.
#[test]
fn what_cannot_be_attached_to_is_refused() {
    let dir = TempDirectory::new("attach-refused");
    let (stem, killer) = (dir.path("node"), harness::program("killer.c"));
    let image =
        |options: &[&str]| midplane(&[&["image", "-o", &stem, "--torus", "2x1x1"][..], options, &[&killer]].concat());
    image(&["--console", "x-"])
        .expect(2)
        .says(&["--console 0,0,0:X-: the machine has a link there"]);
    image(&["--console", "2,0,0:z+"])
        .expect(2)
        .says(&["there is no such node"]);
    image(&["--console", "up"])
        .expect(2)
        .says(&["`up` is not a line of a node"]);
    image(&["--console", "auto"])
        .expect(2)
        .says(&["is for images with --auto"]);
    let auto = ["image", "--auto", "--console", "z+", &killer];
    midplane(&auto).expect(2).says(&["use --console auto"]);
    let elf = format!("{stem}.elf");
    let attach = |port: &str| midplane(&["attach", "--serial", port, &elf]);
    image(&[]).expect(0);
    attach("/dev/null").expect(2).says(&["was made without --console"]);
    image(&["--console", "1,0,0:y-"]).expect(0);
    attach("/dev/null").expect(2).says(&["/dev/null: it is no serial port"]);
    attach(&dir.path("none")).expect(2).says(&["there is no such port"]);
    midplane(&["attach", "--serial", "/dev/null", &killer])
        .expect(2)
        .says(&["not an ELF file"]);
}

/// A silent line is reported before the timeout.
#[test]
fn silence_is_spoken_of() {
    let dir = TempDirectory::new("attach-silence");
    let (stem, killer) = (dir.path("node"), harness::program("killer.c"));
    let make = ["image", "-o", &stem, "--torus", "1x1x1", "--console", "z+", &killer];
    midplane(&make).expect(0);
    let [line, _held] = boards::line();
    let adapter = SerialAdapter::plug(line, true);
    let elf = format!("{stem}.elf");
    let words = ["attach", "--serial", &adapter.path, "--timeout", "11", &elf];
    midplane(&words).expect(1).says(&[
        "no data received yet; check that the boards are on, use images made with --console, and send 1000000 bits per second",
        "did not end within 11 s",
    ]);
}
