//! The order of arrival across queues that are split: numbers for records.
#![forbid(unsafe_code)]

use crate::device::list::Links;
use crate::device::memory::region::Region;
use crate::device::names::BlockIndex;

/// Numbers that a record's [word](Region::word) has room for beside [`LINEAR`].
pub(super) const MOST_NUMBERS: u32 = 1 << 31;
/// The bit of a record's word that says that it is in a linear queue. It is the lowest: words compare as their
/// numbers do.
const LINEAR: u32 = 1;

/// Where a record stands: its number in the order of arrival, and the kind of its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ticket {
    pub number: u32,
    pub is_linear: bool,
}

impl Ticket {
    /// That of the record at `at`.
    #[inline]
    pub fn of(region: &Region, at: BlockIndex) -> Ticket {
        let word = region.word(at);
        Ticket {
            number: word >> 1,
            is_linear: word & LINEAR != 0,
        }
    }

    /// Gives it to the record at `at`.
    #[inline]
    pub fn put(self, region: &mut Region, at: BlockIndex) {
        region.set_word(at, self.number << 1 | u32::from(self.is_linear));
    }
}

/// The one of two records that arrived first.
#[inline]
pub(super) fn earlier(
    region: &Region,
    one: Option<BlockIndex>,
    other: Option<BlockIndex>,
) -> Option<BlockIndex> {
    match (one, other) {
        (Some(one), Some(other)) if region.word(other) < region.word(one) => Some(other),
        (None, other) => other,
        (one, _) => one,
    }
}

/// Numbers, counted up from 0 to a limit: before they run out, the records that are left are numbered anew.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Numbers {
    next: u32,
    limit: u32,
}

impl Numbers {
    /// So many, from 0 on.
    pub fn new(limit: u32) -> Self {
        Numbers { next: 0, limit }
    }

    /// From now on so many. Fewer than there are records make every arrival number them anew.
    pub fn set_limit(&mut self, limit: u32) {
        self.limit = limit.min(MOST_NUMBERS);
    }

    /// None is left.
    #[inline]
    pub fn are_out(&self) -> bool {
        self.next >= self.limit
    }

    /// The next one.
    #[inline]
    pub fn take(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// Begins again.
    pub fn restart(&mut self) {
        self.next = 0;
    }
}

/// Lists of records, each in order of arrival, merged into one: bottom-up, with the records' own links and no memory
/// beside them. Place `i` holds as much as 2^i lists.
#[derive(Default)]
pub(super) struct Merge {
    places: [Option<BlockIndex>; u32::BITS as usize],
}

impl Merge {
    /// Adds the list that begins at `head`.
    pub fn add(&mut self, region: &mut Region, head: Option<BlockIndex>) {
        if head.is_none() {
            return;
        }
        let mut list = head;
        for place in &mut self.places {
            match place.take() {
                None => {
                    *place = list;
                    return;
                }
                Some(before) => list = merged(region, Some(before), list),
            }
        }
        // More lists than a `u32` counts: none is lost.
        self.places[u32::BITS as usize - 1] = list;
    }

    /// The first of all; they are linked forwards.
    pub fn finish(self, region: &mut Region) -> Option<BlockIndex> {
        let lists = self.places.into_iter();
        lists.fold(None, |all, list| merged(region, all, list))
    }
}

/// Two lists in order of arrival as one, linked forwards.
fn merged(
    region: &mut Region,
    mut one: Option<BlockIndex>,
    mut other: Option<BlockIndex>,
) -> Option<BlockIndex> {
    let mut head = None;
    let mut tail: Option<BlockIndex> = None;
    while let Some(at) = earlier(region, one, other) {
        match tail {
            None => head = Some(at),
            Some(tail) => region.set_next(tail, Some(at)),
        }
        tail = Some(at);
        let next = region.next(at);
        if one == Some(at) {
            one = next;
        } else {
            other = next;
        }
    }
    head
}
