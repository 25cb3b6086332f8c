//! RMA operations between the origin's elements and a target's (sections 11.3.1 to 11.3.4).

use super::epochs::AccessPath;
use super::state::{BufferHold, StateOwner, Window, wrong};
use crate::datatype::BasicType;
use crate::error::{Error, ErrorClass};
use crate::one_sided::{RmaOperation, element_bytes, number_of, only_basic};
use midplane_device::envelope::Rank;
use midplane_device::memory::Span;
use midplane_device::rma::epochs::WindowSequence;
use midplane_device::rma::wire::{HEAD_BYTES, MAX_BYTES, PIECE_BYTES, PacketKind, RequestHead, emit_piece_head};
use midplane_device::rma::{DataPieces, MAX_GET_BYTES, ReplyPurpose, TargetRequest, get_request};

/// Bytes of a result that fits in a reply packet.
const RESULT_BYTES: usize = 16;
/// Maximum length of a result received in several concurrent replies. A longer one is received in separate packets, one
/// after the other, or like the data of a get if it is only read.
const FETCH_BYTES: usize = 4 * RESULT_BYTES;

/// Part of a target's elements that an operation accesses.
pub struct TargetRegion<'a, E> {
    /// The elements.
    pub elements: &'a E,
    /// Packed bytes.
    pub bytes: usize,
    /// Size in bytes of the units that are never divided.
    pub unit: usize,
}

/// Elements of one datatype at a target, provided by the binding.
pub trait TargetElements {
    /// Keeps the description alive while elements are accessed.
    type BufferHold: BufferHold;

    /// Returns the packed bytes of `count` elements. Fails with [`Error::TooLong`].
    fn length(&self, count: usize) -> Result<usize, Error>;

    /// Returns the range of byte displacements of `count` elements, relative to the first element; the end is
    /// exclusive.
    fn range(&self, count: usize) -> (i128, i128);

    /// Calls `run` for the contiguous runs of the first `bytes` packed bytes, in order, with the displacement, the
    /// number of preceding packed bytes, and the length.
    fn runs(&self, bytes: usize, run: impl FnMut(isize, usize, usize));

    /// Describes `bytes` packed bytes in a target's window, with the first element at `base`. The memory is not
    /// accessed. Fails with [`Error::NoSpace`].
    fn places(&self, base: usize, bytes: usize) -> Result<Self::BufferHold, Error>;
}

/// Location of elements at a target: its world rank, and the byte address of displacement 0 of the first element.
#[derive(Clone, Copy, Debug)]
pub struct TargetBase {
    /// World rank of the target.
    pub rank: Rank,
    /// Address at the target, before the datatype applies.
    pub base: i128,
    /// Epoch of the operation.
    pub epoch: WindowSequence,
    /// Operations are sent directly; otherwise they are recorded.
    pub is_straight: bool,
}

impl TargetBase {
    /// Returns the transmitted address of a byte at this displacement.
    fn at(&self, displacement: isize) -> u64 {
        (self.base + displacement as i128) as u64
    }
}

/// Fails unless `sent` bytes fit in the buffer of `room` bytes.
pub fn fits(sent: usize, room: usize) -> Result<(), Error> {
    if sent <= room {
        Ok(())
    } else {
        Err(Error::Lengths {
            expected: room,
            given: sent,
        })
    }
}

/// Checks that both consist of the same predefined datatype, and returns it. Accepts any if there are no bytes. Fails
/// with class Type.
pub fn same(origin: Option<BasicType>, target: Option<BasicType>, bytes: usize) -> Result<BasicType, Error> {
    match (origin, target) {
        (Some(origin), Some(target)) if bytes > 0 && origin != target => Err(wrong(
            ErrorClass::Type,
            "the datatypes of origin, result and target are not made of the same predefined one",
        )),
        _ => Ok(target.or(origin).unwrap_or(BasicType::Byte)),
    }
}

/// Returns the predefined datatype of a derived one, of `size` bytes with these leaf tags, for the operation; `None` if
/// there are no bytes. Fails with class Type unless the elements are complete elements of one predefined datatype.
pub fn made_of(
    operation: RmaOperation,
    tags: impl Iterator<Item = u8>,
    elements: &impl TargetElements,
    size: usize,
) -> Result<Option<BasicType>, Error> {
    const NOT_ONE: Error = wrong(
        ErrorClass::Type,
        "a derived datatype that is not made of whole elements of one predefined one",
    );
    if size == 0 {
        return Ok(None);
    }
    let basic = only_basic(operation, tags).ok_or(NOT_ONE)?;
    let (mut is_whole, each) = (true, element_bytes(basic));
    elements.runs(size, |_, _, len| is_whole &= len % each == 0);
    if is_whole { Ok(Some(basic)) } else { Err(NOT_ONE) }
}

/// Creates the header of a packet about `len` bytes at an address of a target.
fn packet_about(head: RequestHead, place: u64, len: usize) -> [u8; HEAD_BYTES + PIECE_BYTES] {
    let mut packet = [0; HEAD_BYTES + PIECE_BYTES];
    head.emit(&mut packet);
    emit_piece_head(&mut packet[HEAD_BYTES..], place, len);
    packet
}

/// Elements to combine with those of a target, and a buffer for the old values.
struct FetchOperands<'a, H> {
    window: &'a Window<'a, H>,
    place: &'a TargetBase,
    head: RequestHead,
    /// Operand; not read for MPI_NO_OP.
    from: Option<Span>,
    into: Span,
}

impl<H: StateOwner> FetchOperands<'_, H> {
    /// Combines `len` bytes at `offset` of both buffers with those at `place`. Waits for a result longer than a reply
    /// packet, because the target stores it until it is transmitted, if it has the memory.
    fn ask(&self, place: u64, offset: usize, len: usize) {
        let operand = self.from.map(|from| (from, offset, len));
        let question = TargetRequest {
            target: self.place.rank,
            awaited: ReplyPurpose::Result(len as u32),
            into: (self.into, offset),
            packet: &packet_about(self.head, place, len),
            operands: operand.as_slice(),
        };
        loop {
            self.window.ask(&question);
            if len <= RESULT_BYTES {
                break;
            }
            self.window.drain(Some(self.place.rank));
            if !self.window.take_refused() {
                break;
            }
        }
    }

    fn run(&self, elements: &impl TargetElements, bytes: usize, unit: usize) {
        elements.runs(bytes, |at, done, len| {
            let is_short = len <= FETCH_BYTES && unit <= RESULT_BYTES;
            let room = if is_short { RESULT_BYTES } else { MAX_BYTES };
            let most = room / unit * unit;
            for passed in (0..len).step_by(most) {
                let bytes = (len - passed).min(most);
                self.ask(self.place.at(at) + passed as u64, done + passed, bytes);
            }
        });
        if self.into.is_typed() {
            self.window.drain(Some(self.place.rank));
        }
    }
}

impl<H: StateOwner> Window<'_, H> {
    /// Locates the elements of a target, `disp` units from the beginning of its part, and checks that an epoch is open
    /// there. Fails with classes RmaRange, RmaSync, Disp.
    pub fn find(
        &self,
        rank: Rank,
        disp: isize,
        elements: &impl TargetElements,
        count: usize,
        entry: AccessPath,
    ) -> Result<TargetBase, Error> {
        let (epoch, is_straight) = self.enter(rank, entry)?;
        let place = |base| TargetBase {
            rank,
            base,
            epoch,
            is_straight,
        };
        if disp < 0 && !self.is_dynamic {
            return Err(wrong(ErrorClass::Disp, "target_disp is negative"));
        }
        if self.is_dynamic {
            // Only the target can check the addresses of a dynamic window.
            return Ok(place(i128::from(disp as usize as u64)));
        }
        let extent = self.extent(rank)?;
        let base = disp as i128 * i128::from(extent.disp_unit);
        let (low, high) = elements.range(count);
        if low < high && (base + low < 0 || base + high > i128::from(extent.size)) {
            return Err(wrong(
                ErrorClass::RmaRange,
                "target_disp, target_count and target_datatype reach beyond the target's window",
            ));
        }
        Ok(place(base))
    }

    /// Returns the header of packets that combine elements.
    pub fn combining(&self, kind: PacketKind, operation: RmaOperation, basic: BasicType) -> RequestHead {
        RequestHead {
            operation: operation.number(),
            datatype: number_of(basic),
            ..RequestHead::new(kind, self.context())
        }
    }

    /// Sends the complete span to elements of a target, in units of `unit` bytes that are never divided.
    pub fn send(&self, place: &TargetBase, head: RequestHead, from: Span, unit: usize, elements: &impl TargetElements) {
        elements.runs(from.len(), |at, offset, len| {
            self.put(DataPieces {
                target: place.rank,
                head,
                unit,
                from,
                offset,
                len,
                place: place.at(at),
            });
        });
    }

    /// Requests elements of a target, to be received packed in the origin's buffer. If the buffer is not contiguous,
    /// waits for them, because this call holds the description of the buffer.
    pub fn fetch_bytes(&self, into: Span, place: &TargetBase, elements: &impl TargetElements, bytes: usize) {
        elements.runs(bytes, |at, done, len| {
            let mut passed = 0;
            while passed < len {
                let bytes = (len - passed).min(MAX_GET_BYTES as usize);
                let from = place.at(at) + passed as u64;
                let mut packet = [0; 32];
                let awaited = ReplyPurpose::Data {
                    place: from,
                    len: bytes as u32,
                };
                let length = get_request(&mut packet, self.context(), from, bytes as u32);
                self.ask(&TargetRequest {
                    target: place.rank,
                    awaited,
                    into: (into, done + passed),
                    packet: &packet[..length],
                    operands: &[],
                });
                passed += bytes;
            }
        });
        if into.is_typed() {
            self.drain(Some(place.rank));
        }
    }

    /// Combines elements of a target with those of `from`, and fetches the old values. Returns when `from` may be
    /// reused.
    pub fn fetch(
        &self,
        place: &TargetBase,
        head: RequestHead,
        from: Option<Span>,
        into: Span,
        region: TargetRegion<'_, impl TargetElements>,
    ) {
        let TargetRegion { elements, bytes, unit } = region;
        if from.is_none() && bytes > FETCH_BYTES {
            self.fetch_bytes(into, place, elements, bytes);
            // Later accumulates of the program must be ordered after it.
            return self.drain(Some(place.rank));
        }
        let fetch = FetchOperands {
            window: self,
            place,
            head,
            from,
            into,
        };
        fetch.run(elements, bytes, unit);
    }

    /// Compares and swaps an element of `len` bytes, at most `RESULT_BYTES`, at a target; requests the old value.
    pub fn swap(&self, place: &TargetBase, new: Span, compare: Span, into: Span, len: usize) {
        self.ask(&TargetRequest {
            target: place.rank,
            awaited: ReplyPurpose::Result(len as u32),
            into: (into, 0),
            packet: &packet_about(RequestHead::new(PacketKind::Compare, self.context()), place.at(0), len),
            operands: &[(compare, 0, len), (new, 0, len)],
        });
    }
}
