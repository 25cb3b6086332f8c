//! The measures that the wire, the channels and the router share: chunks, packets, queues.

/// Bytes of a chunk, the unit of packet sizes and tokens ("Blue Gene/L torus, packet").
pub const CHUNK_BYTES: usize = 32;
/// Greatest packet in chunks ("Blue Gene/L torus, packet").
pub const PACKET_CHUNKS: usize = 8;
/// Greatest packet in bytes, header included.
pub const PACKET_BYTES: usize = PACKET_CHUNKS * CHUNK_BYTES;
/// One chunk of packet memory.
pub type Chunk = [u8; CHUNK_BYTES];

/// Greatest queue in packets of 256 bytes; token counters of 16 bits allow no more.
pub const MAX_QUEUE_PACKETS: u16 = 2047;
/// Greatest queue in chunks.
pub(crate) const MAX_QUEUE_CHUNKS: usize = MAX_QUEUE_PACKETS as usize * PACKET_CHUNKS;
