//! What goes between the origin's elements and a target's (sections 11.3.1 to 11.3.4).

use super::epochs::Entry;
use super::state::{Hold, Home, Window, wrong};
use crate::datatype::Basic;
use crate::error::{Class, Error};
use crate::one_sided::{Operation, element_bytes, number_of, only_basic};
use midplane_device::envelope::Rank;
use midplane_device::memory::Span;
use midplane_device::rma::epochs::Serial;
use midplane_device::rma::wire::{
    HEAD_BYTES, Head, Kind, MOST_BYTES, PIECE_BYTES, emit_piece_head,
};
use midplane_device::rma::{Awaited, MOST_GET, Pieces, Question, get_request};

/// Bytes of a result that fits an answer.
const RESULT_BYTES: usize = 16;
/// Up to so many bytes come in several answers that are all under way at once. What is longer comes in packets of its
/// own, one after the other; or as a get's data, if it is only read.
const FETCH_BYTES: usize = 4 * RESULT_BYTES;

/// Elements of one datatype at a target, as a binding has them.
pub trait Elements {
    /// What is held for as long as they are walked.
    type Hold: Hold;

    /// Packed bytes of `count`. Fails with [`Error::TooLong`].
    fn length(&self, count: usize) -> Result<usize, Error>;

    /// From the least displacement of a byte of `count` elements, 0 that of the first element, to behind the greatest.
    fn range(&self, count: usize) -> (i128, i128);

    /// The runs of the first `bytes` packed bytes of elements: `run` gets, in order, the displacement of some bytes,
    /// how many packed ones come before, and how many they are.
    fn runs(&self, bytes: usize, run: impl FnMut(isize, usize, usize));

    /// Places of `bytes` packed bytes in a target's window, the first element's at `base`: they are walked, and nothing
    /// is looked at there. Fails with [`Error::NoRoom`].
    fn places(&self, base: usize, bytes: usize) -> Result<Self::Hold, Error>;
}

/// Where the elements of a target are: its number, and displacement 0 of the first in bytes.
#[derive(Clone, Copy, Debug)]
pub struct TargetBase {
    /// World rank of the target.
    pub rank: Rank,
    /// Address at the target, before the datatype applies.
    pub base: i128,
    /// The epoch that it belongs to.
    pub epoch: Serial,
    /// Operations go straight there; else they are recorded.
    pub is_straight: bool,
}

impl TargetBase {
    /// Where a byte at this displacement is, as it travels.
    fn at(&self, displacement: isize) -> u64 {
        (self.base + displacement as i128) as u64
    }
}

/// Fails unless what is `sent` fits into the `room` that is given for it.
pub fn fits(sent: usize, room: usize) -> Result<(), Error> {
    match sent <= room {
        true => Ok(()),
        false => Err(Error::Lengths {
            expected: room,
            given: sent,
        }),
    }
}

/// The predefined datatype that both are made of. Without bytes there is nothing that could differ. Fails with class
/// Type.
pub fn same(origin: Option<Basic>, target: Option<Basic>, bytes: usize) -> Result<Basic, Error> {
    match (origin, target) {
        (Some(origin), Some(target)) if bytes > 0 && origin != target => Err(wrong(
            Class::Type,
            "the datatypes of origin, result and target are not made of the same predefined one",
        )),
        _ => Ok(target.or(origin).unwrap_or(Basic::Byte)),
    }
}

/// The predefined datatype that elements of a derived one, of `size` bytes and with leaves of these tags, are made of
/// for the operation; `None`: they have no bytes. Fails with class Type unless they are whole elements of one.
pub fn made_of(
    operation: Operation,
    tags: impl Iterator<Item = u8>,
    (elements, size): (&impl Elements, usize),
) -> Result<Option<Basic>, Error> {
    const NOT_ONE: Error = wrong(
        Class::Type,
        "a derived datatype that is not made of whole elements of one predefined one",
    );
    if size == 0 {
        return Ok(None);
    }
    let basic = only_basic(operation, tags).ok_or(NOT_ONE)?;
    let (mut is_whole, each) = (true, element_bytes(basic));
    elements.runs(size, |_, _, len| is_whole &= len % each == 0);
    if is_whole {
        Ok(Some(basic))
    } else {
        Err(NOT_ONE)
    }
}

/// The beginning of a packet about `len` bytes at a place of a target.
fn packet_about(head: Head, place: u64, len: usize) -> [u8; HEAD_BYTES + PIECE_BYTES] {
    let mut packet = [0; HEAD_BYTES + PIECE_BYTES];
    head.emit(&mut packet);
    emit_piece_head(&mut packet[HEAD_BYTES..], place, len);
    packet
}

/// Elements that are combined with those of a target, which come back.
struct Fetch<'a, H> {
    window: &'a Window<'a, H>,
    place: &'a TargetBase,
    head: Head,
    /// What is combined; with nothing it is not looked at.
    from: Option<Span>,
    into: Span,
}

impl<H: Home> Fetch<'_, H> {
    /// `len` bytes at `offset` of both buffers, with those at `place`. A result that is longer than an answer is waited
    /// for: the target keeps it until it leaves, if it has room for it.
    fn ask(&self, place: u64, offset: usize, len: usize) {
        let operand = self.from.map(|from| (from, offset, len));
        let question = Question {
            target: self.place.rank,
            awaited: Awaited::Result(len as u32),
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

    fn run(&self, elements: &impl Elements, bytes: usize, unit: usize) {
        elements.runs(bytes, |at, done, len| {
            let is_short = len <= FETCH_BYTES && unit <= RESULT_BYTES;
            let room = if is_short { RESULT_BYTES } else { MOST_BYTES };
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

impl<H: Home> Window<'_, H> {
    /// Finds the elements of a target, `disp` from the beginning of its part, and that an epoch is open there. Fails
    /// with classes RmaRange, RmaSync, Disp.
    pub fn find(
        &self,
        (rank, disp): (Rank, isize),
        (elements, count): (&impl Elements, usize),
        entry: Entry,
    ) -> Result<TargetBase, Error> {
        let (epoch, is_straight) = self.enter(rank, entry)?;
        let place = |base| TargetBase {
            rank,
            base,
            epoch,
            is_straight,
        };
        if disp < 0 && !self.is_dynamic {
            return Err(wrong(Class::Disp, "target_disp is negative"));
        }
        if self.is_dynamic {
            // The addresses are the target's own business.
            return Ok(place(i128::from(disp as usize as u64)));
        }
        let extent = self.extent(rank)?;
        let base = disp as i128 * i128::from(extent.disp_unit);
        let (low, high) = elements.range(count);
        if low < high && (base + low < 0 || base + high > i128::from(extent.size)) {
            return Err(wrong(
                Class::RmaRange,
                "target_disp, target_count and target_datatype reach beyond the target's window",
            ));
        }
        Ok(place(base))
    }

    /// The head of packets that combine elements.
    pub fn combining(&self, kind: Kind, operation: Operation, basic: Basic) -> Head {
        Head {
            operation: operation.number(),
            datatype: number_of(basic),
            ..Head::new(kind, self.context())
        }
    }

    /// Sends all of the span to elements of a target; of its bytes `unit` stay together.
    pub fn send(
        &self,
        place: &TargetBase,
        head: Head,
        (from, unit): (Span, usize),
        elements: &impl Elements,
    ) {
        elements.runs(from.len(), |at, offset, len| {
            self.put(Pieces {
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

    /// Asks for elements of a target, which go to the origin's buffer as they are packed. When the buffer has holes,
    /// waits until they are there: what tells where they go is held by this call.
    pub fn fetch_bytes(
        &self,
        into: Span,
        place: &TargetBase,
        (elements, bytes): (&impl Elements, usize),
    ) {
        elements.runs(bytes, |at, done, len| {
            let mut passed = 0;
            while passed < len {
                let bytes = (len - passed).min(MOST_GET as usize);
                let from = place.at(at) + passed as u64;
                let mut packet = [0; 32];
                let awaited = Awaited::Data {
                    place: from,
                    len: bytes as u32,
                };
                let length = get_request(&mut packet, self.context(), from, bytes as u32);
                self.ask(&Question {
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

    /// Combines elements of a target with those `from` here, and fetches what they were. Returns when the former are
    /// the program's again.
    pub fn fetch(
        &self,
        place: &TargetBase,
        head: Head,
        (from, into): (Option<Span>, Span),
        (elements, bytes, unit): (&impl Elements, usize, usize),
    ) {
        if from.is_none() && bytes > FETCH_BYTES {
            self.fetch_bytes(into, place, (elements, bytes));
            // What the program accumulates next comes behind it.
            return self.drain(Some(place.rank));
        }
        let fetch = Fetch {
            window: self,
            place,
            head,
            from,
            into,
        };
        fetch.run(elements, bytes, unit);
    }

    /// Swaps an element of a target, of `len` bytes and at most `RESULT_BYTES`, for a new one if it is as the one
    /// that it is compared with; asks for what it was.
    pub fn swap(&self, place: &TargetBase, (new, compare, into): (Span, Span, Span), len: usize) {
        self.ask(&Question {
            target: place.rank,
            awaited: Awaited::Result(len as u32),
            into: (into, 0),
            packet: &packet_about(Head::new(Kind::Compare, self.context()), place.at(0), len),
            operands: &[(compare, 0, len), (new, 0, len)],
        });
    }
}
