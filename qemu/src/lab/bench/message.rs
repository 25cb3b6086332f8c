//! Instructions of a short message, counted.

use crate::host::stop::{Doing, Stop};
use crate::host::sys;
use crate::show::say::say;
use clap::Args;
use midplane_tests::exchange::{self, Kind};
use rustix::process::Signal;
use std::process::{Command, Stdio};

/// Options of `midplane bench message-loop`.
#[derive(Args, Debug)]
pub struct LoopArgs {
    /// With the protocol left out
    #[arg(long)]
    bare: bool,

    /// Messages
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    messages: u32,

    /// Messages under way at once
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
}

/// Messages of the shorter and of the longer run, whose difference is counted.
const MESSAGES: [u32; 2] = [1600, 4800];
/// Messages under way at once.
const BATCHES: [u32; 3] = [1, 4, 16];

/// Measures; the exit status.
pub fn run() -> Result<u8, Stop> {
    if crate::host::setup::in_path("valgrind").is_none() {
        return Err(Stop::usage(
            "bench message: valgrind is not installed; it counts the instructions",
        ));
    }
    say("instructions for a message of 8 bytes, receive posted, sender and receiver together")?;
    say("at once  with the protocol  without  ratio")?;
    for batch in BATCHES {
        let [with, without] = [false, true].map(|bare| -> Result<f64, Stop> {
            let [few, many] = MESSAGES.map(|messages| instructions(bare, messages, batch));
            Ok((many? - few?) as f64 / f64::from(MESSAGES[1] - MESSAGES[0]))
        });
        let (with, without) = (with?, without?);
        say(format_args!(
            "{batch:>7} {with:>18.1} {without:>8.1} {:>6.3}",
            with / without
        ))?;
    }
    Ok(0)
}

/// Instructions of a whole run, by callgrind.
fn instructions(bare: bool, messages: u32, batch: u32) -> Result<u64, Stop> {
    let exe = std::env::current_exe().doing("find this command")?;
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(exe)
        .args(["bench", "message-loop"])
        .args(["--messages", &messages.to_string()])
        .args(["--batch", &batch.to_string()])
        .args(bare.then_some("--bare"))
        .stdin(Stdio::null());
    sys::bind_to_us(&mut command, Signal::TERM, Vec::new());
    let output = command.output().doing("run valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| {
        let (_, number) = line.split_once("Collected :")?;
        number.trim().parse().ok()
    });
    collected
        .filter(|_| output.status.success())
        .ok_or_else(|| Stop::failure(format!("valgrind did not count:\n{said}")))
}

/// What callgrind counts; the exit status.
pub fn run_loop(options: &LoopArgs) -> Result<u8, Stop> {
    let kind = match options.bare {
        true => Kind::Bare,
        false => Kind::Protocol,
    };
    match exchange::run(kind, options.messages, options.batch) {
        true => Ok(0),
        false => Err(Stop::failure("a message did not arrive")),
    }
}
