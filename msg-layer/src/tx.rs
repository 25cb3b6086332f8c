//! Transmission: short messages in one packet, and long ones split into packets as the injection FIFO has space.

use net_torus::coord::Coord;

use crate::header::{Header, LONG_BYTES, LONG_HEADER, SHORT_BYTES, TargetOffset};
use crate::port::{Port, TrafficClass};

/// Sends a short message of `len` bytes, written by `fill`. Returns false if the injection FIFO of `class` is full:
/// nothing was sent, and `fill` was not called. Try again later.
///
/// # Panics
/// If `len` exceeds [`SHORT_BYTES`], or `header` is that of a long message's packet.
pub fn send_short<P: Port>(
    port: &mut P,
    class: TrafficClass,
    dest: Coord,
    header: Header,
    len: usize,
    fill: impl FnOnce(&mut [u8]),
) -> bool {
    assert!(len <= SHORT_BYTES && header.place.is_none());
    port.inject(class, dest, header.bytes() + len, |body| fill(header.emit(body, len)))
}

/// A long message being transmitted: the part not yet split into packets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MessageTransfer {
    /// The receiver's handle of the destination buffer.
    pub target: u32,
    /// First byte not yet sent.
    pub offset: u32,
    /// The message's length in bytes.
    pub end: u32,
    /// Packets keep their order among themselves and with short messages. Otherwise they are routed adaptively and may
    /// arrive in any order, since each specifies its place.
    pub in_order: bool,
}

impl MessageTransfer {
    /// Injects up to `packets` packets, whose bytes `read` copies from the message (offset, buffer). Returns the number
    /// injected, which is lower if the message ends or the FIFO is full.
    pub fn push<P: Port>(
        &mut self,
        port: &mut P,
        here: Coord,
        dest: Coord,
        handler: u8,
        packets: usize,
        mut read: impl FnMut(u32, &mut [u8]),
    ) -> usize {
        let mut sent = 0;
        while sent < packets && !self.is_complete() {
            let (mut offset, left) = (self.offset, (self.end - self.offset) as usize);
            let header = |offset| Header {
                handler,
                source: here,
                argument: 0,
                place: Some(TargetOffset {
                    target: self.target,
                    offset,
                }),
            };
            let full = (packets - sent).min(left / LONG_BYTES);
            let injected = if full > 0 {
                let (emit, target) = (header(0).emit_all(), self.target);
                port.inject_run(self.in_order, dest, full, |body| {
                    read(offset, emit(body, TargetOffset { target, offset }));
                    offset += LONG_BYTES as u32;
                })
            } else {
                let fill = |body: &mut [u8]| {
                    read(offset, header(offset).emit(body, left));
                    offset = self.end;
                };
                let bytes = LONG_HEADER + left;
                usize::from(if self.in_order {
                    port.inject(TrafficClass::Normal, dest, bytes, fill)
                } else {
                    port.inject_unordered(dest, bytes, fill)
                })
            };
            if injected == 0 {
                break;
            }
            self.offset = offset;
            sent += injected;
        }
        sent
    }

    /// Checks whether every byte has been injected.
    pub fn is_complete(&self) -> bool {
        self.offset >= self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{FakePort, FifoSpace};
    use net_torus::Shape;

    #[test]
    fn a_long_message_leaves_as_there_is_room_and_names_each_packets_place() {
        let there = Coord { x: 1, y: 0, z: 0 };
        let message: Vec<u8> = (0..3 * LONG_BYTES + 5).map(|at| at as u8).collect();
        for in_order in [false, true] {
            let mut port = FakePort::new(Shape::new([2, 1, 1], [true; 3]).unwrap(), Coord::default());
            port.set_space(TrafficClass::Normal, FifoSpace::Packets(2));
            let mut transfer = MessageTransfer {
                target: 7,
                offset: 0,
                end: message.len() as u32,
                in_order,
            };
            let mut read = |offset: u32, out: &mut [u8]| {
                out.copy_from_slice(&message[offset as usize..][..out.len()]);
            };
            let mut arrived = Vec::new();
            // One packet is requested; then there is space for one more, then for none.
            for sent in [[1, 1, 0], [1, 1, 0]] {
                for (most, sent) in [1, 8, 8].into_iter().zip(sent) {
                    let here = Coord::default();
                    assert_eq!(transfer.push(&mut port, here, there, 3, most, &mut read), sent);
                }
                for packet in port.take_sent() {
                    assert_eq!((packet.dest, packet.ordered), (there, in_order));
                    let (header, bytes) = Header::parse(&packet.body).unwrap();
                    let place = TargetOffset {
                        target: 7,
                        offset: arrived.len() as u32,
                    };
                    assert_eq!((header.handler, header.place), (3, Some(place)));
                    arrived.extend_from_slice(bytes);
                }
            }
            assert!(transfer.is_complete());
            assert_eq!(arrived, message);
        }
    }
}
