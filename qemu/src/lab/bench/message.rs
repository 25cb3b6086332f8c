//! Instructions of a short message, counted.

use super::callgrind;
use crate::host::stop::Stop;
use crate::show::say::say;
use clap::Args;
use midplane_tests::exchange::{self, Kind};

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

/// Instructions of a whole run.
fn instructions(bare: bool, messages: u32, batch: u32) -> Result<u64, Stop> {
    let (messages, batch) = (messages.to_string(), batch.to_string());
    let arguments = ["message-loop", "--messages", &messages, "--batch", &batch];
    let bare = bare.then_some("--bare");
    callgrind::instructions(&arguments.into_iter().chain(bare).collect::<Vec<_>>())
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
