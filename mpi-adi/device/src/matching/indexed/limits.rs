//! Limits of the entries that a search checks and indexes.
#![forbid(unsafe_code)]

/// Maximum queue length at which a search does not check for ascending record keys.
pub const SHORT: u32 = 8;
/// Posted receives that a search may pass at the head of the list without indexing them. Passing this number costs
/// about as much as indexing one and finding it.
pub const NEAR: u32 = 16;
/// Unexpected messages that an exact search may pass without indexing them. It is below [`NEAR`]: their chains are
/// shorter to insert into and to search. With other messages waiting, a new one is then found as fast among ten as
/// among a million.
pub const NEAR_RECORDS: u32 = 4;
/// Maximum entries of a queue that are not indexed. Above it, each new entry indexes the oldest of them. So no search
/// passes more, for any queue length.
pub const FAR: u32 = 96;
/// MPI memory size, in blocks, up to which message arrival does not index unexpected messages: a search passes at most
/// this number.
pub const FEW_BLOCKS: usize = 256;
/// Unexpected messages that a search indexes among those it passes, and the same number again if that indexes them all.
/// It is half of [`NEAR`]: a probe and a receive may search for the same message.
pub const MOVED_RECORDS: u32 = 8;
/// Unexpected messages that a wildcard search passes before it indexes the first ones.
pub const WILD_ENTRIES: u32 = 32;
/// Maximum unexpected messages that a wildcard search indexes.
pub const WILD_MOVES: u32 = 3;
