//! How many entries a search looks at, and how many it indexes.
#![forbid(unsafe_code)]

/// Records up to which a search does not find out whether they rise.
pub const SHORT: u32 = 8;
/// Posted receives at the beginning of what is not indexed that a search may walk over without indexing them: to walk
/// over so many costs about as much as to index one and to find it.
pub const NEAR: u32 = 16;
/// The same of unexpected messages, of which an exact receive looks for one: their chains are shorter to enter and to
/// search, and a message that comes when others wait is then found as fast beside ten as beside a million.
pub const NEAR_RECORDS: u32 = 4;
/// Entries of a queue that are not indexed, at most: from there on the oldest of them is indexed when one more comes. So no
/// search passes more, however long the queue is.
pub const FAR: u32 = 96;
/// Blocks of MPI memory up to which no unexpected message is indexed as others come: so many are passed at most.
pub const FEW_BLOCKS: usize = 256;
/// Unexpected messages that a search indexes, of those that it passes; as many again, if that leaves none behind. Half as
/// many as receives ([`NEAR`]): a probe and a receive may search for the same message.
pub const MOVED_RECORDS: u32 = 8;
/// Unexpected messages that a search for a wildcard passes before it indexes the first ones.
pub const WILD_ENTRIES: u32 = 32;
/// Unexpected messages that such a search indexes at most.
pub const WILD_MOVES: u32 = 3;
