//! The measures that the wire, the channels and the router share: chunks, packets, queues.

use crate::profile::PACKET_CHUNKS;

/// Bytes of a chunk, the unit of packet sizes and tokens ("Blue Gene/L torus, packet").
pub const CHUNK_BYTES: usize = 32;
/// Greatest packet in bytes, header included.
pub const PACKET_BYTES: usize = PACKET_CHUNKS * CHUNK_BYTES;
/// One chunk of packet memory.
pub type Chunk = [u8; CHUNK_BYTES];

/// Greatest queue in packets of the greatest size; token counters of 16 bits allow no more.
pub const MAX_QUEUE_PACKETS: u16 = 2047;
/// Greatest queue in chunks.
pub(crate) const MAX_QUEUE_CHUNKS: usize = MAX_QUEUE_PACKETS as usize * PACKET_CHUNKS;

/// Bytes of a line of the host's caches.
const LINE_BYTES: usize = 64;
/// Chunks more that [`in_lines`] is to be given.
pub const LINE_CHUNKS: usize = LINE_BYTES / CHUNK_BYTES;

/// The chunks of `memory` that lie in a line of the host's caches each, and not across two: all but [`LINE_CHUNKS`].
pub fn in_lines(memory: &mut [Chunk]) -> &mut [Chunk] {
    let chunks = memory.len().saturating_sub(LINE_CHUNKS);
    let bytes = memory.as_flattened_mut();
    let skipped = bytes.as_ptr().align_offset(LINE_BYTES);
    let (whole, _) = bytes.get_mut(skipped..).unwrap_or_default().as_chunks_mut();
    let chunks = chunks.min(whole.len());
    &mut whole[..chunks]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_chunk_lies_across_two_lines() {
        let mut memory = vec![[0; CHUNK_BYTES]; 9 + LINE_CHUNKS];
        for skipped in 0..LINE_CHUNKS {
            let chunks = in_lines(&mut memory[skipped..]);
            assert_eq!(chunks.len(), 9 - skipped);
            assert_eq!(chunks.as_ptr().addr() % LINE_BYTES, 0);
        }
        assert!(in_lines(&mut memory[..LINE_CHUNKS]).is_empty());
    }
}
