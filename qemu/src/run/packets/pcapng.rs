//! Capture files in the format pcapng (draft-ietf-opsawg-pcapng): an interface for each link and direction.

use super::links::{CapturedLinks, link_name};
use midplane_abi::captured_frames::FrameRecord;
use net_torus::coord::{Direction, Rank};
use std::collections::HashMap;
use std::io::{self, Write};

/// Link type of the frames: the first one for private use.
const LINKTYPE_USER0: u16 = 147;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const UNKNOWN_LENGTH: u64 = u64::MAX;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const OPTION_END: u16 = 0;
const USER_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_DESCRIPTION: u16 = 3;
const TIME_RESOLUTION: u16 = 9;
/// Negative exponent of ten of a time stamp's unit.
const NANOSECONDS: u8 = 9;

/// Writes the frames, which are in the order of time.
///
/// # Errors
/// Returns the errors of the writer.
pub fn write(to: &mut dyn Write, links: &CapturedLinks, frames: &[FrameRecord<'_>]) -> io::Result<()> {
    write_block(to, SECTION_HEADER, &section_header())?;
    let mut numbers: HashMap<(Rank, Direction), u32> = HashMap::new();
    for (number, (rank, direction)) in (0..).zip(links.iter()) {
        write_block(to, INTERFACE, &interface(links, rank, direction))?;
        numbers.insert((rank, direction), number);
    }
    for frame in frames {
        // Records are appended for captured links only.
        if let Some(number) = numbers.get(&(frame.rank, frame.direction)) {
            write_block(to, ENHANCED_PACKET, &packet(*number, frame))?;
        }
    }
    Ok(())
}

fn section_header() -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(BYTE_ORDER.to_le_bytes());
    let version: [u16; 2] = [1, 0];
    body.extend(version.into_iter().flat_map(u16::to_le_bytes));
    body.extend(UNKNOWN_LENGTH.to_le_bytes());
    add_option(&mut body, USER_APPLICATION, b"midplane");
    add_option(&mut body, OPTION_END, &[]);
    body
}

fn interface(links: &CapturedLinks, rank: Rank, direction: Direction) -> Vec<u8> {
    let at = links.shape.coord(rank).unwrap_or_default();
    let there = links
        .shape
        .neighbour(at, direction)
        .and_then(|there| links.shape.rank(there));
    let mut body = Vec::new();
    body.extend(LINKTYPE_USER0.to_le_bytes());
    // Reserved, and the maximum size of a packet: unlimited.
    body.extend([0; 2]);
    body.extend(0_u32.to_le_bytes());
    add_option(&mut body, INTERFACE_NAME, link_name(at, direction).as_bytes());
    let description = format!("rank {rank} to rank {}", there.unwrap_or(rank));
    add_option(&mut body, INTERFACE_DESCRIPTION, description.as_bytes());
    add_option(&mut body, TIME_RESOLUTION, &[NANOSECONDS]);
    add_option(&mut body, OPTION_END, &[]);
    body
}

fn packet(number: u32, frame: &FrameRecord<'_>) -> Vec<u8> {
    let [high, low] = [(frame.time_ns >> 32) as u32, frame.time_ns as u32];
    let size = frame.frame.len() as u32;
    let mut body = Vec::with_capacity(20 + frame.frame.len());
    body.extend([number, high, low, size, size].into_iter().flat_map(u32::to_le_bytes));
    body.extend(frame.frame);
    body
}

fn add_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

/// Pads to a multiple of four bytes.
fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Writes a block: its type, its size before and after the body.
fn write_block(to: &mut dyn Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let padded = body.len().next_multiple_of(4);
    let size = ((padded + 12) as u32).to_le_bytes();
    to.write_all(&kind.to_le_bytes())?;
    to.write_all(&size)?;
    to.write_all(body)?;
    to.write_all(&[0; 3][..padded - body.len()])?;
    to.write_all(&size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use net_torus::Shape;

    #[test]
    fn blocks_have_the_sizes_that_they_state() {
        let shape = Shape::new([2, 1, 1], [false; 3]).unwrap();
        let links = CapturedLinks::select(&shape, &[]).unwrap();
        let frame = |rank, direction| FrameRecord {
            time_ns: 5 << 32 | 7,
            rank,
            direction,
            frame: b"frame",
        };
        let frames = [frame(1, Direction::XMinus), frame(1, Direction::XPlus)];
        let mut bytes = Vec::new();
        write(&mut bytes, &links, &frames).unwrap();
        let mut kinds = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
            let (kind, size) = (word(0), word(4) as usize);
            assert_eq!((size % 4, word(size - 4) as usize), (0, size));
            if kind == ENHANCED_PACKET {
                let fields: Vec<u32> = (8..28).step_by(4).map(word).collect();
                assert_eq!(fields, [1, 5, 7, 5, 5], "interface 1");
                assert_eq!(&rest[28..33], b"frame");
            }
            kinds.push(kind);
            rest = &rest[size..];
        }
        assert_eq!(kinds, [SECTION_HEADER, INTERFACE, INTERFACE, ENHANCED_PACKET]);
    }
}
