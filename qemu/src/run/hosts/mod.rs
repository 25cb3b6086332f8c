//! Jobs of Linux processes over several hosts (`--hosts`, Slurm).
//!
//! ```text
//!             head (the command)                     event loop of a job, unchanged
//!            /  control: TCP     \
//!      agent of host a  ----  agent of host b        the same executable, started by ssh or srun; heartbeats
//!      ranks, rings  == links: TCP ==  rings, ranks  one connection for each link that leaves a host
//! ```
//!
//! | module | content | I/O |
//! |---|---|---|
//! | `division` | boxes of the hosts, and the links between them | none |
//! | `batch` | records in batches with a checksum | none |
//! | `handshake` | mutual proof of the secret | none |
//! | `message` | messages between head and agents, and their windows | none |
//! | `connection` | a proved connection: batches, heartbeats, silence | sockets |
//! | `meeting` | connections up to the proof; the bound on strangers | sockets |
//! | `launch` | command lines of ssh and srun; the secret on standard input | processes |
//! | `agent` | the agent: ranks, output, status records | all |
//! | `hub` | the agents as a part of the command's event loop | sockets, processes |
//! | `head` | start of a job | all |
//!
//! # Seams
//!
//! Ranks: a link that leaves the host is a connection, which the agents have connected and proved, and the two ranks inherit
//! ([`kernel_rt::board::linux::outside`]). Neither the protocol nor the router has a case for it. No agent is on the path
//! of a message.
//!
//! Event loop: nodes are read from a mirror of their status records. An instance without a process of this host is
//! [`Instance::remote`](crate::run::instance::Instance::remote).
//!
//! `agent` starts Linux processes only.
//!
//! # Memory of an agent
//!
//! | term | bytes |
//! |---|---|
//! | connection of a link, until its rank has started | a descriptor |
//! | data that waits for another agent | a heartbeat |
//! | received data of a connection | 128 KiB |
//! | status record of a rank, as the head knows it | 8 KiB |
//! | changes of status records that wait for the head | at most 1 MiB, and 8 KiB for each rank that has ended |
//! | output that the head has not written | at most 256 KiB (`message::OUTPUT_WINDOW`) |
//! | input that rank 0 has not received | at most 64 KiB (`message::INPUT_WINDOW`) |

pub mod agent;
mod batch;
mod connection;
pub mod division;
mod handshake;
pub mod head;
pub mod hub;
pub mod launch;
mod meeting;
mod message;
pub mod slurm;
