//! Instruction counts of a short message.

use super::{callgrind, costs};
use crate::host::error::CliError;
use crate::show::console::print_line;
use clap::Args;
use midplane_lab::exchange::{self, DeviceKind};
use midplane_lab::self_send::{self, NetworkUse};

/// Options of `midplane bench message-loop`.
#[derive(Args, Debug)]
pub struct LoopArgs {
    /// Omit the memory protocol
    #[arg(long)]
    bare: bool,

    /// Self-send through the C binding
    #[arg(long, conflicts_with_all = ["bare", "batch"])]
    oneself: bool,

    /// Number of messages
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    messages: u32,

    /// Messages in flight
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
}

/// Messages of the shorter and the longer run; the difference is counted.
const MESSAGES: [u32; 2] = [1600, 4800];
/// Messages in flight.
const BATCHES: [u32; 3] = [1, 4, 16];

/// Measures the instructions; returns the exit status.
pub fn run() -> Result<u8, CliError> {
    if crate::host::setup::in_path("valgrind").is_none() {
        return Err(CliError::unusable(
            "bench message: valgrind is not installed; it counts the instructions",
        ));
    }
    print_line("instructions per message of 8 bytes, receive posted, sender and receiver together")?;
    print_line("in flight  with protocol  without  ratio")?;
    for batch in BATCHES {
        let batch_of = batch.to_string();
        let with = instructions(&["--batch", &batch_of])?;
        let without = instructions(&["--batch", &batch_of, "--bare"])?;
        print_line(format_args!(
            "{batch:>9} {with:>14.1} {without:>8.1} {:>6.3}",
            with / without
        ))?;
    }
    let oneself = instructions(&["--oneself"])?;
    print_line(format_args!(
        "self-send, from MPI_Irecv to MPI_Wait through the C binding: {oneself:.1}"
    ))?;
    costs::run()?;
    Ok(0)
}

/// Returns the instructions per message in a loop with these options: the difference of a longer and a shorter run.
fn instructions(options: &[&str]) -> Result<f64, CliError> {
    let [few, many] = MESSAGES.map(|messages| {
        let messages = messages.to_string();
        let loop_of = ["message-loop", "--messages", &messages];
        let arguments: Vec<&str> = loop_of.iter().chain(options).copied().collect();
        callgrind::instructions(&arguments)
    });
    Ok((many? - few?) as f64 / f64::from(MESSAGES[1] - MESSAGES[0]))
}

/// Runs the loop that callgrind counts; returns the exit status.
pub fn run_loop(options: &LoopArgs) -> Result<u8, CliError> {
    if options.oneself {
        return match self_send::run(options.messages) {
            Some(NetworkUse { packets: 0, .. }) => Ok(0),
            asked => Err(CliError::failure(format!("not as it should be: {asked:?}"))),
        };
    }
    let kind = if options.bare {
        DeviceKind::Bare
    } else {
        DeviceKind::Protocol
    };
    if exchange::run(kind, options.messages, options.batch) {
        Ok(0)
    } else {
        Err(CliError::failure("a message did not arrive"))
    }
}
