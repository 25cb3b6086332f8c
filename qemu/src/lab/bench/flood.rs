//! Device work per message under many short messages.

use crate::host::error::CliError;
use crate::host::size;
use crate::run::limits;
use crate::show::console::print_line;
use clap::Args;
use midplane_engines::EngineChoice;
use midplane_lab::flood::{FloodLoad, SearchCounts};
use std::time::Instant;

/// Options of `midplane bench flood`.
#[derive(Args, Debug)]
pub struct FloodArgs {
    /// Number of senders
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4095))]
    senders: u32,

    /// Messages of each sender
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    messages: u32,

    /// Bytes of each message
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(4..=65536))]
    bytes: u32,

    /// MPI memory of the receiver
    #[arg(long, value_name = "SIZE", default_value = "64K", value_parser = limits::parse_mpi_memory)]
    mpi_memory: u64,

    /// Matching engine of the nodes [default: default]
    #[arg(long, value_name = "NAME", value_parser = limits::matching())]
    matching: Option<EngineChoice>,
}

/// Measures the work; returns the exit status.
pub fn run(options: &FloodArgs) -> Result<u8, CliError> {
    limits::parse_nodes(&(options.senders + 1).to_string())
        .map_err(|why| CliError::usage(format!("--senders: with the receiver, {why}")))?;
    let start = Instant::now();
    let flood = FloodLoad {
        senders: options.senders,
        messages: options.messages,
        bytes: options.bytes as usize,
        mpi_memory: usize::try_from(options.mpi_memory)
            .map_err(|_| CliError::usage("--mpi-memory: more than this host can address"))?,
        matching: options.matching.unwrap_or_default(),
    };
    let work = flood.run().map_err(|e| CliError::failure(e.to_string()))?;
    let each = |count: u64| count as f64 / work.messages as f64;
    print_line(format_args!(
        "{} messages of {} bytes from {} senders, received in the reverse\n\
         order of their tags with {} of MPI memory\n\
         for each message: {:.3} packets, {:.3} RTS, {:.3} NCTS, {:.3} restarts",
        work.messages,
        options.bytes,
        options.senders,
        size::exact(options.mpi_memory),
        each(work.packets),
        each(work.rts),
        each(work.ncts),
        each(work.restarts),
    ))?;
    let SearchCounts {
        unexpected,
        posted,
        named,
        peers,
        sends,
    } = work.searched;
    print_line(format_args!(
        "entries compared per message, by the matching engine `{}`:\n\
         {:>10.3}  unexpected messages, when a receive starts\n\
         {:>10.3}  posted receives, when a message arrives\n\
         {:>10.3}  both\n\
         by the protocol:\n\
         {:>10.3}  posted receives, to list them in a restart\n\
         {:>10.3}  peers, to find a waiting one\n\
         {:>10.3}  sends, to find the requested ones\n\
         {:>10.3}  all five\n\
         at most {} bytes of MPI memory used; {:.1} s",
        flood.matching,
        each(unexpected),
        each(posted),
        each(work.searched.matching()),
        each(named),
        each(peers),
        each(sends),
        each(work.searched.all()),
        work.peak_bytes,
        start.elapsed().as_secs_f64()
    ))?;
    Ok(0)
}
