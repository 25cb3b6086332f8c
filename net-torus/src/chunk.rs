//! Units that the wire format, the channels and the router share: chunks, packets, queues.

use crate::profile::PACKET_CHUNKS;

/// Size of a chunk in bytes, the unit of packet sizes and tokens ("Blue Gene/L torus, packet").
pub const CHUNK_BYTES: usize = 32;
/// Maximum packet in bytes, header included.
pub const PACKET_BYTES: usize = PACKET_CHUNKS * CHUNK_BYTES;
/// One chunk of packet memory.
pub type Chunk = [u8; CHUNK_BYTES];

/// Maximum queue capacity in maximum-size packets; token counters of 16 bits allow no more.
pub const MAX_QUEUE_PACKETS: u16 = 2047;
/// Maximum queue capacity in chunks.
pub(crate) const MAX_QUEUE_CHUNKS: usize = MAX_QUEUE_PACKETS as usize * PACKET_CHUNKS;

/// Cache line of the host in bytes.
const LINE_BYTES: usize = 64;
/// Extra chunks that [`in_lines`] requires.
pub const LINE_CHUNKS: usize = LINE_BYTES / CHUNK_BYTES;

/// Returns the chunks of `memory` from a cache-line boundary on, so that no chunk crosses two lines of the host's
/// caches. [`LINE_CHUNKS`] chunks remain unused.
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
