//! Messages between the head of a job, the command that the user has started, and the agents. Free of I/O.
//!
//! ```text
//! head                                                agent
//!   job, images, their end            ---->
//!                                     <----           listening: its address for other agents
//!   peers: the addresses of all       ---->
//!                                     <----           linked: it is connected to all
//!   start                             ---->           starts its ranks
//!   input, end of a rank, requests    ---->
//!                                     <----           output, status records, ends of processes
//!   kill                              ---->           kills its ranks
//!                                     <----           killed
//!   quit                              ---->           exits
//! ```
//! Each direction of standard streams has a window: [`OUTPUT_WINDOW`] and [`INPUT_WINDOW`].

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Output that an agent may send before the head has written it, in bytes.
pub const OUTPUT_WINDOW: usize = 256 << 10;
/// Input that the head may send before rank 0 has read it, in bytes.
pub const INPUT_WINDOW: usize = 64 << 10;
/// Maximum size of the description of a job in bytes.
pub const MAX_JOB_BYTES: usize = 64 << 20;

/// Kinds of records from the head.
pub mod to_agent {
    /// A part of the [job](super::HostJob).
    pub const JOB: u8 = 16;
    /// A part of a program's image; the key is the number of the program.
    pub const IMAGE: u8 = 17;
    /// The job and all images are complete.
    pub const COMPLETE: u8 = 18;
    /// Addresses of all agents, as JSON.
    pub const PEERS: u8 = 19;
    /// The ranks are to be started.
    pub const START: u8 = 20;
    /// The programs of all ranks have ended; the key is the rank that may exit.
    pub const END: u8 = 21;
    /// The counters are requested; the key is the number of the request.
    pub const ASK: u8 = 22;
    /// Input for rank 0.
    pub const INPUT: u8 = 23;
    /// The end of the input.
    pub const INPUT_END: u8 = 24;
    /// Output was written; the key is the number of bytes.
    pub const WRITTEN: u8 = 25;
    /// The ranks are to be killed.
    pub const KILL: u8 = 26;
    /// The agent is to exit.
    pub const QUIT: u8 = 27;
    /// The ranks are to be aborted, so that they leave core files.
    pub const ABORT: u8 = 28;
}

/// Kinds of records from an agent.
pub mod to_head {
    /// The agent as the others see it ([`PeerAddress`](super::PeerAddress)), in JSON.
    pub const LISTENING: u8 = 32;
    /// The agent is connected to the other agents.
    pub const LINKED: u8 = 33;
    /// Output; the key is twice the rank, plus 1 for stderr.
    pub const OUTPUT: u8 = 34;
    /// A changed part of a rank's status record: its offset in four bytes, and its bytes. The key is the rank.
    pub const ACCOUNT: u8 = 35;
    /// A rank's answer to a request of the counters: the number of the request in four bytes. Sent after the counters.
    pub const ANSWER: u8 = 36;
    /// The process of a rank has ended: its wait status in four bytes. Sent after its output and its status record.
    pub const EXITED: u8 = 37;
    /// Whether all processes of the host sleep (1) or not (0), as the key.
    pub const ASLEEP: u8 = 38;
    /// Rank 0 has received input; the key is the number of bytes.
    pub const READ: u8 = 39;
    /// All processes of the host have ended after the order to kill them.
    pub const KILLED: u8 = 40;
    /// The agent cannot continue: the reason, as text.
    pub const FAILED: u8 = 41;
}

/// A program of a job.
#[derive(Serialize, Deserialize, Debug)]
pub struct HostProgram {
    /// First rank that runs it.
    pub first: u32,
    /// Arguments, with the name of the program.
    pub arguments: Vec<Vec<u8>>,
    /// Variables, each as NAME=VALUE.
    pub environment: Vec<Vec<u8>>,
    /// Working directory.
    pub directory: Option<Vec<u8>>,
    /// Whether the user has specified it; that of the command is ignored on a host where it does not exist.
    pub requires_directory: bool,
    /// Size of the image in bytes.
    pub image_bytes: u64,
}

/// What an agent must know about a job.
#[derive(Serialize, Deserialize, Debug)]
pub struct HostJob {
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Extents of the torus.
    pub extents: [u16; 3],
    /// Dimensions with wrap-around links.
    pub wraps: [bool; 3],
    /// Parts of the division along x, y and z.
    pub parts: [u16; 3],
    /// Programs in rank order.
    pub programs: Vec<HostProgram>,
    /// Records of the boot parameters of this host's ranks, in rank order.
    pub records: Vec<Vec<u8>>,
    /// Memory of a rank in bytes.
    pub node_memory: u64,
    /// Limits of stack and data in bytes.
    pub limits: [Option<u64>; 2],
    /// Whether the ranks check every byte of a frame in shared memory.
    pub seal: bool,
}

/// An agent as the others see it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct PeerAddress {
    /// Address at which it listens for other agents.
    pub address: SocketAddr,
    /// Name of the running system ([`machine_name`]). Hosts with one name are containers of one machine, and share its
    /// processors.
    pub machine: String,
}

/// The agents, by host.
#[derive(Serialize, Deserialize, Debug)]
pub struct PeerAddresses(pub Vec<PeerAddress>);

/// Returns the name that Linux has given this machine when it was booted; empty if it cannot be read.
pub fn machine_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    name.trim().into()
}

/// Number of a rank's stream: 0 is stdout, 1 stderr.
pub fn stream_key(rank: u32, stream: usize) -> u32 {
    2 * rank + stream as u32
}

/// Returns rank and stream of a key.
pub fn from_stream_key(key: u32) -> (u32, usize) {
    (key / 2, key as usize % 2)
}
