//! `midplane bench`: measurements of the memory protocol and of matching, with their costs.

mod boot;
mod callgrind;
mod collectives;
mod costs;
mod drawing;
mod emulated;
mod epochs;
mod flood;
mod instances;
mod killer;
mod linux;
mod matching;
mod message;
mod overlap;
mod row;
mod smpi;

use crate::host::stop::Stop;
use clap::Subcommand;

/// What to measure.
#[derive(Subcommand, Debug)]
pub enum Bench {
    /// The killer benchmark of "Scaling MPI to short-memory MPPs such as BG/L", section 5.1: what scarce
    /// memory costs
    ///
    /// Every rank but 0 sends N messages by MPI_Isend, rank 0 receives them one by one in the reverse order
    /// of their tags. Over the paper's mesh: 1, 10 and 100 KiB, 3 and 5 messages, 16 to 128 nodes, in the
    /// simulated machine; and, on 8 and 16 nodes, in QEMU.
    Killer(killer::KillerArgs),
    /// Every rank but 0 sends many short messages, rank 0 receives them in the reverse order of their tags:
    /// what the device does for each, counted
    Flood(flood::FloodArgs),
    /// Collectives of all nodes of a simulated machine, beside what its wires allow
    ///
    /// In virtual time, on processors that take no time, so that only the wires count, and on Blue Gene/L's.
    /// docs/collectives.md says what the numbers mean.
    Collectives(collectives::CollectivesArgs),
    /// Epochs of one-sided communication with calls that block and with calls that do not, beside the thesis's numbers
    ///
    /// The inefficiency patterns of the thesis behind the matching engines,
    /// chapter 5, and random transactions under locks, on a simulated machine in virtual time; or the patterns on nodes in
    /// QEMU. docs/rma.md says what the numbers mean.
    Epochs(epochs::EpochsArgs),
    /// Instructions that a message of 8 bytes takes whose receive is posted, with the protocol and with it
    /// left out
    ///
    /// Counted by valgrind's callgrind, both sides together, for this host's processor; and what a message of a process
    /// to itself takes, through the C binding. Then, in QEMU, what messages and collectives take on nodes, all of them
    /// together.
    Message,
    /// Messages between two nodes of one QEMU instance, beside those between two instances of a node each
    ///
    /// Half a round trip and a stream of short messages, by the host's clock, and what they take of its processors.
    /// docs/emulation.md says what the numbers mean.
    Instances(instances::InstancesArgs),
    /// Messages between processes of this machine (`run --on linux`), beside another MPI where one is installed
    ///
    /// Half a round trip, streams of short and of long messages, a message to oneself, and the killer of 8 processes in
    /// 64 KiB of MPI memory: the same C programs, by turns under ours and under `mpicc` and `mpiexec` as they are in the
    /// PATH. docs/linux.md says what the numbers mean.
    Linux(linux::LinuxArgs),
    /// C programs on whole machines in one process (`cluster`), beside SMPI (SimGrid) where that is installed
    ///
    /// The killer, a barrier and an allreduce, and a halo of three dimensions: the same C programs, under ours and under
    /// `smpicc` and `smpirun` as they are in the PATH, on a torus of the same links. docs/scale.md says what the numbers
    /// mean.
    Smpi(smpi::SmpiArgs),
    /// What of a message's transfer is hidden behind what its two processes compute
    ///
    /// A message to a neighbour, of 1 byte to 4 MiB, whose sender or receiver comes first, received by a call that blocks
    /// or by one that does not; with interrupts, without, and with a bound on them. In virtual time, or on nodes in QEMU:
    /// docs/overlap.md says what the numbers mean.
    Overlap(overlap::OverlapArgs),
    /// The matching engines side by side: their memory, how fast they search, what they make of the traffic of
    /// collectives and applications, their instructions, and those of whole messages on a node
    ///
    /// The experiments of "An efficient MPI message queue mechanism for large-scale jobs", of the thesis that it
    /// grew into (chapter 4) and of "A dynamic, unified design for dedicated message matching engines", with
    /// the published numbers beside ours. Engines alone, without a network: docs/matching.md says what the
    /// numbers mean.
    Matching(matching::MatchingArgs),
    /// What `message` counts
    #[command(hide = true)]
    MessageLoop(message::LoopArgs),
    /// What `matching instructions` counts
    #[command(hide = true)]
    MatchingLoop(matching::LoopArgs),
}

/// Runs a measurement; returns the exit status.
pub fn run(bench: &Bench) -> Result<u8, Stop> {
    match bench {
        Bench::Killer(options) => killer::run(options),
        Bench::Flood(options) => flood::run(options),
        Bench::Collectives(options) => collectives::run(options),
        Bench::Epochs(options) => epochs::run(options),
        Bench::Instances(options) => instances::run(options),
        Bench::Linux(options) => linux::run(options),
        Bench::Smpi(options) => smpi::run(options),
        Bench::Overlap(options) => overlap::run(options),
        Bench::Message => message::run(),
        Bench::MessageLoop(options) => message::run_loop(options),
        Bench::Matching(options) => matching::run(options),
        Bench::MatchingLoop(options) => matching::run_loop(options),
    }
}
