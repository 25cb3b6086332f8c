//! Many short messages: what the device does for each.

use crate::host::size;
use crate::host::stop::Stop;
use crate::run::limits;
use crate::show::say::say;
use clap::Args;
use midplane_tests::flood::Flood;
use std::time::Instant;

/// Options of `midplane bench flood`.
#[derive(Args, Debug)]
pub struct FloodArgs {
    /// Senders
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
}

/// Measures; the exit status.
pub fn run(options: &FloodArgs) -> Result<u8, Stop> {
    limits::parse_nodes(&(options.senders + 1).to_string())
        .map_err(|why| Stop::usage(format!("--senders: with the receiver, {why}")))?;
    let start = Instant::now();
    let flood = Flood {
        senders: options.senders,
        messages: options.messages,
        bytes: options.bytes as usize,
        mpi_memory: usize::try_from(options.mpi_memory)
            .map_err(|_| Stop::usage("--mpi-memory: more than this host can address"))?,
    };
    let work = flood.run().map_err(|e| Stop::failure(e.to_string()))?;
    let each = |count: u64| count as f64 / work.messages as f64;
    say(format_args!(
        "{} messages of {} bytes from {} senders, received in the reverse\n\
         order of their tags with {} of MPI memory\n\
         for each message: {:.3} packets, {:.3} RTS, {:.3} NCTS, {:.3} restarts,\n\
         {:.3} queue entries looked at\n\
         at most {} bytes of MPI memory used; {:.1} s",
        work.messages,
        options.bytes,
        options.senders,
        size::exact(options.mpi_memory),
        each(work.packets),
        each(work.rts),
        each(work.ncts),
        each(work.restarts),
        each(work.searched),
        work.peak_bytes,
        start.elapsed().as_secs_f64()
    ))?;
    Ok(0)
}
