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
mod nas;
mod overlap;
mod row;
mod smpi;

use crate::host::error::CliError;
use clap::Subcommand;

/// Measurements of `midplane bench`.
#[derive(Subcommand, Debug)]
pub enum BenchCommand {
    /// Measure the cost of scarce MPI memory with the killer benchmark
    ///
    /// The benchmark is that of "Scaling MPI to short-memory MPPs such as BG/L", section 5.1. Every rank except rank 0
    /// sends N messages with MPI_Isend. Rank 0 receives them one by one in the reverse order of their tags. The
    /// simulated part uses the paper's mesh: messages of 1, 10 and 100 KiB, 3 and 5 messages, 16 to 128 nodes. The part
    /// in QEMU uses 8 and 16 nodes.
    Killer(killer::KillerArgs),
    /// Count the device's steps for each of many short messages
    ///
    /// Every rank except rank 0 sends the messages. Rank 0 receives them in the reverse order of their tags.
    Flood(flood::FloodArgs),
    /// Measure collectives on a simulated machine against the limit of its links
    ///
    /// The command measures virtual time with processors that take no time, so that only the links count, and with Blue
    /// Gene/L's processors. See docs/collectives.md.
    Collectives(collectives::CollectivesArgs),
    /// Measure blocking and nonblocking epochs of one-sided communication
    ///
    /// The experiments are the inefficiency patterns of chapter 5 of the thesis behind the matching engines, and random
    /// transactions under locks, on a simulated machine in virtual time. With --on qemu, only the patterns are
    /// measured. See docs/rma.md.
    Epochs(epochs::EpochsArgs),
    /// Count the instructions of a message of 8 bytes, with and without the memory protocol
    ///
    /// The receive is posted before the message arrives. valgrind's callgrind counts the instructions of both sides on
    /// this host's processor, and those of a self-send through the C binding. In QEMU, the command counts the
    /// instructions of messages and collectives on all nodes together.
    Message,
    /// Measure messages inside one QEMU instance and between two instances
    ///
    /// The command measures half a round trip and a stream of short messages with the host's clock, and the CPU time of
    /// the host. See docs/emulation.md.
    Instances(instances::InstancesArgs),
    /// Measure messages between Linux processes (`run --on linux`), and with another MPI if one is installed
    ///
    /// The command measures half a round trip, streams of short and of long messages, a self-send, and the killer
    /// benchmark with 8 processes and 64 KiB of MPI memory. The same C programs run with Midplane and with the `mpicc`
    /// and `mpiexec` in PATH. See docs/linux.md.
    Linux(linux::LinuxArgs),
    /// Compare the simulator (`cluster`) with SMPI if SimGrid is installed
    ///
    /// The programs are the killer benchmark, a barrier, an allreduce, and a halo exchange in three dimensions. The
    /// same C programs run with Midplane and with the `smpicc` and `smpirun` in PATH, on a torus with the same links.
    /// See docs/scale.md.
    Smpi(smpi::SmpiArgs),
    /// Measure the cost of scarce MPI memory with the NAS parallel benchmarks
    ///
    /// The benchmarks are BT, CG, EP, FT, LU, MG and SP of NPB 3.4, which the user provides, on a simulated machine in
    /// virtual time. Their computation is counted in basic blocks. The command prints the time with scarce memory over the
    /// time with ample memory. See docs/results/nas.md.
    Nas(nas::NasArgs),
    /// Measure the overlap of communication and computation
    ///
    /// A message of 1 byte to 4 MiB is sent to a neighbour. The sender or the receiver starts first, and the receive is
    /// blocking or nonblocking. Interrupts are enabled, disabled, or limited. The command uses virtual time, or nodes
    /// in QEMU. See docs/overlap.md.
    Overlap(overlap::OverlapArgs),
    /// Compare the matching engines: memory, search time, traffic of applications, instructions
    ///
    /// The experiments are those of "An efficient MPI message queue mechanism for large-scale jobs", of the thesis that
    /// extends it (chapter 4), and of "A dynamic, unified design for dedicated message matching engines". The published
    /// numbers are printed next to the measured ones. The engines run without a network. See docs/matching.md.
    Matching(matching::MatchingArgs),
    /// Loop that `message` measures
    #[command(hide = true)]
    MessageLoop(message::LoopArgs),
    /// Loop that `matching instructions` measures
    #[command(hide = true)]
    MatchingLoop(matching::LoopArgs),
}

/// Runs a measurement; returns the exit status.
pub fn run(bench: &BenchCommand) -> Result<u8, CliError> {
    match bench {
        BenchCommand::Killer(options) => killer::run(options),
        BenchCommand::Flood(options) => flood::run(options),
        BenchCommand::Collectives(options) => collectives::run(options),
        BenchCommand::Epochs(options) => epochs::run(options),
        BenchCommand::Instances(options) => instances::run(options),
        BenchCommand::Linux(options) => linux::run(options),
        BenchCommand::Smpi(options) => smpi::run(options),
        BenchCommand::Nas(options) => nas::run(options),
        BenchCommand::Overlap(options) => overlap::run(options),
        BenchCommand::Message => message::run(),
        BenchCommand::MessageLoop(options) => message::run_loop(options),
        BenchCommand::Matching(options) => matching::run(options),
        BenchCommand::MatchingLoop(options) => matching::run_loop(options),
    }
}
