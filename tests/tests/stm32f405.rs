//! Tests `--board stm32f405`: flash images on emulated boards whose serial lines the tool wires. The results are those
//! of the other boards. Requires QEMU for Arm and its C compiler, which the command downloads.

use midplane_abi::boot_parameters::{AutoConfig, BootParameters};
use midplane_harness::probe::{BoardProbe, ProbeChannel};
use midplane_harness::{
    self as harness, CommandRun, CompletedRun, JobLock, TempDirectory, check_killer, midplane, run_with_report, total,
};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const BOARD: [&str; 2] = ["--board", "stm32f405"];

/// Runs `midplane run --board stm32f405` for a program of `tests/programs`.
fn run(options: &[&str], name: &str, arguments: &[&str]) -> CompletedRun {
    harness::run(&[&BOARD[..], &["--quiet"], options].concat(), name, arguments)
}

/// All ranks send to rank 0. Checks that no message is lost and no packet was malformed.
fn killer(options: &[&str], processes: u32) {
    let options = [&BOARD[..], options].concat();
    let (ended, report) = run_with_report(&options, "killer.c", &["5", "64"]);
    let ended = ended.expect(0);
    check_killer(&ended, processes, "5", "64");
    assert_eq!(total(&report, "messages"), u64::from(processes - 1) * 5);
    assert_eq!(total(&report, "link_defects"), 0);
    assert!(report["totals"]["link_retries"].is_u64(), "{report}");
}

#[test]
fn killer_on_four_boards() {
    killer(&["--torus", "2x2x1"], 4);
}

#[test]
fn killer_on_eight_boards_with_all_six_lines() {
    killer(&["--torus", "2x2x2"], 8);
}

#[test]
fn killer_on_eight_boards_with_the_least_mpi_memory() {
    killer(&["--torus", "2x2x2", "--mpi-memory", "32"], 8);
}

#[test]
fn killer_over_bad_lines_with_the_least_mpi_memory() {
    let options = [&BOARD[..], &["--torus", "2x2x2", "--mpi-memory", "32"]].concat();
    harness::killer_over_bad_links(&options, 8, ["10", "64"]);
}

/// Link failover works over bad lines, too, with one of them cut.
#[test]
fn what_a_cut_line_carried_goes_another_way() {
    let cut = ["--torus", "2x2x1", "--link-cut", "0,0,0:x+@0s"];
    let options = [&BOARD[..], &harness::BAD_LINKS, &cut].concat();
    let (ended, report) = run_with_report(&options, "pi.c", &[]);
    let ended = ended.expect(0);
    assert!(ended.stdout.contains("pi is about 3.14159265"), "{ended}");
    ended.says(&["the link x+ of (0,0,0) to x- of (1,0,0) is cut"]);
    assert_eq!(report["cut_links"].as_array().map(Vec::len), Some(1));
}

/// The output and the report of boards through a console, as flashed boards use it.
#[test]
fn boards_are_shown_by_their_serial_console() {
    let console = |at: &str, rest: &[&str]| {
        let options = [&BOARD[..], &["--torus", "2x2x1", "--console", at], rest].concat();
        harness::run(&options, "killer.c", &["5", "64"])
    };
    killer(&["--torus", "2x2x1", "--console", "1,0,0:z-"], 4);
    console("x+", &[])
        .expect(2)
        .says(&["--console 0,0,0:X+: the machine has a link there"]);
    console("z+", &["--log"]).expect(2).says(&["cannot be used with"]);
    midplane(&["run", "--console", "z+", &harness::program("killer.c")])
        .expect(2)
        .says(&["--console does nothing without --board stm32f405"]);
    for console in [&[][..], &["--console", "z+"]] {
        harness::cases::lines_come_whole(&[&BOARD, console].concat());
    }
    let fails = ["--torus", "2x1x1", "--console", "z+"];
    let ended = run(&fails, "fail_null.c", &[]).expect(1);
    ended
        .says(&["rank 1 at (1,0,0): null pointer: store to 0x0", "fail_null.c:"])
        .prints("[1] about to write through a null pointer\n");
}

#[test]
fn images_for_one_node_hold_its_personality() {
    let dir = TempDirectory::new("image");
    let (stem, killer) = (dir.path("node"), harness::program("killer.c"));
    let image = |options: &[&str]| {
        let begin = ["image", "-o", &stem, "--torus", "8x8x8", "--mpi-memory", "4K"];
        midplane(&[&begin[..], options, &[&killer, "--", "5", "64"]].concat())
    };
    image(&["--node", "1,2,3"]).expect(0);
    let read = |extension: &str| fs::read(format!("{stem}{extension}")).expect("a file");
    // The personality's sector is 896 KiB after the vectors.
    let binary = read(".bin");
    let boot = BootParameters::read(&binary[896 << 10..]).expect("a record");
    assert_eq!((boot.shape.extents(), boot.shape.wraps()), ([8; 3], [true; 3]));
    assert_eq!(boot.nodes.coord(0).map(|at| at.axes()), Some([1, 2, 3]));
    assert_eq!(boot.mpi_memory, Some(4096));
    let arguments = boot.programs.for_rank(0).arguments.iter();
    assert!(arguments.eq([&b"killer"[..], b"5", b"64"]));
    // Top of the stack and the reset vector, a thumb function in flash.
    assert_eq!((binary[3], binary[7], binary[4] & 1), (0x20, 0x08, 1));
    let hex = String::from_utf8(read(".hex")).expect("text");
    assert!(hex.contains(":02000004080EE4"), "a record of the sector's address");
    assert!(hex.trim_end().ends_with(":00000001FF"));
    let run = ["run", "--board", "stm32f405", &format!("{stem}.elf")].map(String::from);
    let run = run.each_ref().map(String::as_str);
    midplane(&run).expect(2).says(&["contains its boot configuration"]);
    // 65,536 nodes do not fit; the message contains the sum.
    let many = ["--torus", "64x32x32", "--node", "0,0,0"];
    let many = [&["image"][..], &many, &[&killer]].concat();
    midplane(&many).expect(2).says(&[
        "bytes of RAM are needed, the board has 131072",
        "of tables by number of nodes",
    ]);
    image(&["--node", "8,0,0"])
        .expect(2)
        .says(&["--node 8,0,0 is outside the torus"]);
}

/// Tests `flash` up to the probe: missing programs are named. Scripts replace the programs that flash.
#[test]
fn flashing_says_what_is_missing() {
    let dir = TempDirectory::new("flash");
    let tool = dir.path("probe-rs");
    let path = format!("{}:{}", dir.0.display(), std::env::var("PATH").unwrap());
    let flash = |script: Option<&str>| {
        let _ = fs::remove_file(&tool);
        if let Some(script) = script {
            stand_in(&tool, script);
        }
        let killer = harness::program("killer.c");
        let words = ["flash", "--torus", "2x1x1", "--node", "1,0,0", &killer];
        CommandRun::start_in(&words, &[("PATH", &path)]).end()
    };
    if !has_probe_rs() {
        flash(None)
            .expect(2)
            .says(&["probe-rs is missing", "cargo install probe-rs-tools"]);
    }
    flash(Some("echo No debug probes were found."))
        .expect(1)
        .says(&["no debug probe was found"]);
    flash(Some("test $1 = list && echo '[0]: ST-Link V2'"))
        .expect(1)
        .says(&["`probe-rs download` failed"]);
    let said = format!("echo $@ >> {}", dir.path("said"));
    let ended = flash(Some(&said)).expect(0);
    assert!(ended.stdout.contains("flashed killer-1-0-0"), "{ended}");
    let said = fs::read_to_string(dir.path("said")).unwrap();
    let steps: Vec<&str> = said.lines().collect();
    assert_eq!(steps.len(), 3, "{said}");
    assert!(steps[1].starts_with("download --chip STM32F405RG "), "{said}");
    assert_eq!(steps[2], "reset --chip STM32F405RG");
}

/// Creates a script that replaces probe-rs.
fn stand_in(tool: &str, script: &str) {
    fs::write(tool, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Checks whether the real probe-rs is installed.
fn has_probe_rs() -> bool {
    on_path("probe-rs").is_some()
}

/// Returns the path of the first program with this name.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs = std::env::split_paths(&path);
    dirs.find_map(|dir| Some(dir.join(name)).filter(|file| file.exists()))
}

/// A debug probe reads the output and the kernel's log from the RAM of a standalone board.
#[test]
fn a_probe_reads_output_and_log() {
    let dir = TempDirectory::new("probe");
    let (stem, killer) = (dir.path("node"), harness::program("killer.c"));
    let place = ["--torus", "1x1x1", "--node", "0,0,0"];
    midplane(
        &[
            &["image", "--log", "-o", &stem][..],
            &place,
            &[&killer, "--", "5", "64"],
        ]
        .concat(),
    )
    .expect(0);
    let (said, channels) = what_a_probe_reads(&format!("{stem}.elf"), &dir);
    assert!(
        said.starts_with("killer: 1 processes, 5 messages of 64 bytes from each, "),
        "{said}"
    );
    assert!(said.ends_with(" 0 errors\n"), "{said}");
    // Log frames end with a zero.
    let log = channels.iter().find(|channel| channel.name == "defmt").expect("a log");
    assert_eq!(log.bytes.last(), Some(&0), "{log:?}");
}

/// Returns the output (one or more lines) of a board without wires, and all channels.
fn what_a_probe_reads(image: &str, dir: &TempDirectory) -> (String, Vec<ProbeChannel>) {
    let _turn = JobLock::acquire();
    let mut probe = BoardProbe::boot(image, dir);
    let channels = probe.wait_until(|channels| terminal(channels).contains('\n'));
    (terminal(&channels), channels)
}

/// Returns the output of a board.
fn terminal(channels: &[ProbeChannel]) -> String {
    let channel = channels.iter().find(|channel| channel.name == "Terminal");
    channel.map_or(String::new(), |channel| {
        String::from_utf8_lossy(&channel.bytes).into_owned()
    })
}

/// Tests the crate of docs/stm32f405.md as a user creates it: `cargo run` builds it and calls probe-rs, which a script
/// replaces. Its image discovers that its board is alone.
#[test]
fn a_crate_of_ones_own_is_flashed_by_cargo_run() {
    let Some(compiler) = on_path("arm-none-eabi-gcc") else {
        // If only the command's own compiler download exists, a crate finds none, as the page says.
        return println!("skipped: no arm-none-eabi-gcc on PATH");
    };
    println!("with {}", compiler.display());
    let dir = TempDirectory::new("crate");
    let own = dir.0.join("hello-torus");
    let page = fs::read_to_string(harness::root().join("docs/stm32f405.md")).unwrap();
    for name in ["Cargo.toml", ".cargo/config.toml", "build.rs", "src/main.rs"] {
        let (_, block) = page.split_once(&format!("`{name}`")).expect(name);
        let (_, block) = block.split_once("\n```").expect(name);
        let (text, _) = block.split_once("```").expect(name);
        let (_, text) = text.split_once('\n').expect(name);
        let root = harness::root().to_str().expect("a path in UTF-8");
        fs::create_dir_all(own.join(name).parent().unwrap()).unwrap();
        // The crate's directory is inside this workspace.
        let end = if name == "Cargo.toml" { "\n[workspace]\n" } else { "" };
        // An emulated board has no unique ID.
        let text = text.replace("BootRecord::auto(0)", "BootRecord::auto(0).number(1)");
        fs::write(own.join(name), text.replace("../midplane", root) + end).unwrap();
    }
    fs::copy(harness::root().join("Cargo.lock"), own.join("Cargo.lock")).unwrap();
    let (said, tool) = (dir.path("said"), dir.path("probe-rs"));
    stand_in(&tool, &format!("echo $@ > {said}"));
    let path = format!("{}:{}", dir.0.display(), std::env::var("PATH").unwrap());
    // Directory of the code shared by all programs, compiled in the profile of the nodes' images.
    let doctor = midplane(&["doctor"]).expect(0);
    let is_along = doctor
        .stdout
        .contains("built for riscv64gc-unknown-none-elf from source");
    let packages_dir = if is_along { "sources" } else { "installed" };
    let target = harness::root().join("target/midplane").join(packages_dir);
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.arg("run");
    if is_along {
        // The tool writes the description of the target with its first image. With the same one, the library and the
        // runtime are compiled once for both.
        midplane(&["size", "--board", "stm32f405", &harness::program("killer.c")]).expect(0);
        let described = target.join("thumbv7em-none-eabihf.json");
        assert!(described.exists(), "{}", described.display());
        let along = harness::root().join(".cargo/along.toml");
        cargo.arg("--config").arg(along).env("RUSTC_BOOTSTRAP", "1");
        cargo.arg("-Zjson-target-spec").arg("--target").arg(described);
    }
    let ended = cargo
        .args(["--profile", "node-small", "--target-dir"])
        .arg(&target)
        .current_dir(&own)
        .env("PATH", path)
        .env("CARGO_INCREMENTAL", "0")
        .output()
        .expect("cargo");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let image = target.join("thumbv7em-none-eabihf/node-small/hello-torus");
    let image = image.to_str().expect("a path in UTF-8");
    let said = fs::read_to_string(said).expect("the runner was called");
    assert_eq!(said.trim(), format!("run --chip STM32F405RG {image}"));
    let (said, _) = what_a_probe_reads(image, &dir);
    assert_eq!(said, "rank 0 of 1\n");
    midplane(&["run", "--board", "stm32f405", image])
        .expect(2)
        .says(&["contains its boot configuration"]);
}

/// Maximum flash in bytes of `killer.c`.
const MOST_FLASH: u64 = 96 << 10;
/// Maximum RAM in bytes of `killer.c`, without its stack, its data and the MPI memory.
const MOST_RAM: u64 = 24 << 10;

/// `midplane size` reports flash and RAM by layer.
#[test]
fn the_size_of_an_image_is_told_by_layer() {
    let killer = harness::program("killer.c");
    let ended = midplane(&["size", "--board", "stm32f405", &killer]).expect(0);
    for word in [
        "mpi-adi",
        "net-torus",
        "kernel-rt",
        "flash: ",
        " of 917504 bytes",
        "RAM: ",
        " of 131072 bytes",
    ] {
        assert!(ended.stdout.contains(word), "no {word:?} in {ended}");
    }
    let line = |start: &str| {
        let line = ended.stdout.lines().find(|line| line.starts_with(start));
        line.unwrap_or_else(|| panic!("no {start:?} in {ended}"))
    };
    let first_number = |text: &str| -> u64 {
        let digits = text.split(' ').find(|word| word.parse::<u64>().is_ok());
        digits.and_then(|digits| digits.parse().ok()).expect("a number")
    };
    let flash = first_number(line("flash: "));
    assert!(flash <= MOST_FLASH, "{flash} bytes of flash");
    let all = line("total without the program's stack and data");
    let (_, all) = all.rsplit_once(": ").expect("a sum");
    let all = first_number(all);
    assert!(all <= MOST_RAM, "{all} bytes of RAM");
}

#[test]
fn a_halo_exchange_on_four_boards() {
    let ended = run(&["--torus", "2x2x1"], "app_halo.c", &[]).expect(0);
    assert!(ended.stdout.contains(" 0 failed"), "{ended}");
}

#[test]
fn collectives_on_four_and_eight_boards() {
    for torus in ["4x1x1", "2x2x2"] {
        let ended = run(&["--torus", torus, "--mesh", "x"], "pi.c", &[]).expect(0);
        assert!(ended.stdout.contains("pi is about 3.14159265"), "{ended}");
    }
}

/// Combines the two tests above.
#[test]
fn halo_and_collectives_on_eight_boards_over_bad_lines_with_the_least_mpi_memory() {
    for (name, word) in [("app_halo.c", " 0 failed"), ("pi.c", "pi is about 3.14159265")] {
        let options = [&["--torus", "2x2x2", "--mpi-memory", "32"], &harness::BAD_LINKS[..]];
        let ended = run(&options.concat(), name, &[]).expect(0);
        assert!(ended.stdout.contains(word), "{ended}");
    }
}

/// The arrays of the first program, 12,000 bytes, are on the stack.
#[test]
fn rust_programs_on_four_boards() {
    for name in ["ring", "rsmpi/struct_vectors"] {
        run(&["--torus", "2x2x1"], &format!("{name}.rs"), &[]).expect(0);
    }
}

/// The runtime implements the conversions, and `long double` is `double` there.
#[test]
fn numbers_are_written_and_read_exactly() {
    run(&["-n", "1"], "digits.c", &[]).expect(0).prints("digits: 0 failed");
}

/// In a row of boards the ends communicate only through the middle, whose program computes meanwhile.
#[test]
fn boards_that_compute_forward_for_others() {
    let ended = run(&["--torus", "3x1x1", "--mesh", "x"], "through.c", &["1"]).expect(0);
    assert!(ended.stdout.contains(" 0 errors"), "{ended}");
    assert!(!ended.stdout.contains("only after"), "{ended}");
}

/// The nodes know only the machine's size; the tool provides the IDs that distinguish them.
#[test]
fn boards_find_their_places_from_the_wires() {
    killer(&["--auto", "--torus", "2x2x1"], 4);
    killer(&["--auto", "--torus", "2x2x2"], 8);
    killer(&["--auto", "--torus", "3x1x1", "--mesh", "x"], 3);
}

/// The kernel's memory protection must not block the chip's unique ID. An emulated board has none: its bus rejects the
/// access (CFSR's PRECISERR), not the memory protection (DACCVIOL).
#[test]
fn a_board_may_read_its_unique_number() {
    const CFSR: u32 = 0xe000_ed28;
    let dir = TempDirectory::new("number");
    let (stem, killer) = (dir.path("node"), harness::program("killer.c"));
    midplane(&["image", "--auto", "-o", &stem, &killer]).expect(0);
    let _turn = JobLock::acquire();
    let mut probe = BoardProbe::boot(&format!("{stem}.elf"), &dir);
    let said = probe.wait_until(|channels| terminal(channels).contains('\n'));
    midplane(&["explain", &terminal(&said)])
        .expect(0)
        .prints("load from 0x1fff7a10");
    let status = probe.memory(CFSR, 4).expect("a register");
    assert_eq!((status[0] & 1 << 1, status[1] & 1 << 1), (0, 1 << 1));
}

#[test]
fn one_image_is_made_for_nodes_that_find_their_places() {
    let dir = TempDirectory::new("auto");
    let (stem, killer) = (dir.path("node"), harness::program("killer.c"));
    midplane(&["image", "--auto", "-o", &stem, &killer]).expect(0);
    let binary = fs::read(format!("{stem}.bin")).expect("a file");
    let boot = BootParameters::read(&binary[896 << 10..]).expect("a record");
    assert_eq!(boot.auto, Some(AutoConfig::default()));
    midplane(&["image", "--auto", "--node", "1,0,0", &killer])
        .expect(2)
        .says(&["cannot be used with"]);
    midplane(&["run", "--auto", &killer])
        .expect(2)
        .says(&["--auto does nothing without --board stm32f405"]);
}

/// Faults are decoded with the program's source line.
#[test]
fn faults_and_calls_that_end_the_job_are_told() {
    let ended = run(&["--torus", "2x1x1"], "fail_null.c", &[]).expect(1);
    ended.says(&["null pointer: store to 0x0", "fail_null.c:"]);
    let ended = run(&["--torus", "2x1x1"], "fail_stack.c", &[]).expect(1);
    ended.says(&["stack overflow: the program's stack of 20 KiB", "fail_stack.c:"]);
    let ended = run(&["--torus", "2x1x1"], "fail_mpi_abort.c", &[]).expect(7);
    ended.says(&["MPI_Abort was called with status 7", "in main at fail_mpi_abort.c:"]);
    let ended = run(&["--torus", "2x1x1"], "fail_internal.c", &[]).expect(1);
    ended.says(&["panicked", "called from provoke at fail_internal.c:"]);
}

/// The stack is at the bottom of RAM, so that no frame reaches other memory. The processor then loses the program
/// counter, and the frame identifies the function.
#[test]
fn a_stack_overflow_by_frames_of_any_size_names_the_line() {
    for bytes in ["32", "500", "1000", "6000", "22500", "30000", "3000000"] {
        let ended = run(&["--torus", "2x1x1"], "fail_frames.c", &[bytes]).expect(1);
        let ended = ended.says(&[
            "rank 1 at (1,0,0): stack overflow: the program's stack of 20 KiB",
            "at fail_frames.c:",
        ]);
        assert!(!ended.stderr.contains("pc 0x0"), "{ended}");
    }
}

/// The report contains the program's peak stack usage, without the boot's.
#[test]
fn the_most_that_was_used_of_the_stacks_is_reported() {
    let options = [&BOARD[..], &["--torus", "2x1x1"]].concat();
    let (ended, report) = run_with_report(&options, "killer.c", &["5", "64"]);
    let line = "peak stack use in bytes: program ";
    ended.expect(0).says(&[line, " of 20480, interrupts ", " of 3584"]);
    let peak = |stack: &str| report["ranks"][0][stack]["peak_bytes"].as_u64();
    assert!(peak("stack") < Some(5_000), "{report}");
    let (ended, report) = run_with_report(&options, "fail_stack.c", &[]);
    ended.expect(1);
    let ranks = report["ranks"].as_array().expect("ranks").iter();
    let peaks: Vec<_> = ranks.filter_map(|rank| rank["stack"]["peak_bytes"].as_u64()).collect();
    assert!(peaks.iter().any(|peak| *peak > 20_000), "{peaks:?}");
}

#[test]
fn what_the_board_does_not_have_is_refused() {
    for option in [
        &["--instances", "1"][..],
        &["--node-memory", "1M"],
        &["--count-instructions"],
        &["--on", "linux"],
    ] {
        let ended = run(option, "killer.c", &[]).expect(2);
        ended.says(&["does nothing for"]);
    }
    let ended = run(&["--torus", "2x1x1", "--mpi-memory", "100K"], "killer.c", &[]).expect(2);
    ended.says(&["the board has 131072", "102400 of MPI memory"]);
}

/// No process remains when the command is killed.
#[test]
fn nothing_is_left_behind() {
    let name = harness::program("fail_hang.c");
    let arguments = [
        "run",
        "--board",
        "stm32f405",
        "--torus",
        "2x1x1",
        "--timeout",
        "3",
        &name,
    ];
    let job = harness::CommandRun::start(&arguments);
    let mark = job.mark.clone();
    job.end().expect(1).says(&["did not end within 3 s"]);
    assert!(harness::marked(&mark).is_empty());
}
