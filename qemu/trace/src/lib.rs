//! Records of the MPI calls of a job, and their analysis.
//!
//! `midplane run --trace` and `--check` link a program with a recorder ([`Recorder`]). That of a C program wraps each MPI
//! function by the profiling interface (MPI-3.1 section 14.2); the Rust binding, compiled with a feature, calls that of a
//! Rust program. A program without these options contains no additional instruction. Each rank writes a stream of words ([`record`]). [`JobTrace`](job::JobTrace) decodes the streams of all ranks to calls. The analyses use
//! the calls only, and are the same for each platform:
//!
//! | module | contents |
//! |---|---|
//! | [`page`] | HTML page with diagrams and tables |
//! | [`perfetto`] | trace for Perfetto |
//!
//! A record takes about 100 bytes in a stream. The decoded calls of a job are in memory: about 1 KiB per call.
#![forbid(unsafe_code)]

mod buffers;
pub mod check;
pub mod datatypes;
pub mod job;
pub mod messages;
pub mod objects;
pub mod operations;
pub mod page;
pub mod perfetto;
pub mod record;
mod recorder;
#[cfg(test)]
mod script;

pub use recorder::Recorder;
