//! Arrival order across split queues: sequence numbers of records.
//!
//! Sequence numbers have 31 bits, and a message may stay unexpected forever. When the numbers are exhausted, the
//! remaining records are renumbered from 0 in their order ([`renumber`]). So an old record is never mistaken for a new
//! one, regardless of the number of later messages.
#![forbid(unsafe_code)]

use midplane_device::ids::BlockIndex;
use midplane_device::list::{LinkStorage, ListEnds};
use midplane_device::memory::region::Region;

/// Count of available sequence numbers: a record's [word](Region::word) contains one and the [`LINEAR`] flag.
pub(super) const MAX_NUMBERS: u32 = 1 << 31;
/// Flag in a record's word: the record is in a linear queue. It is the lowest bit, so words compare as their sequence
/// numbers do.
const LINEAR: u32 = 1;

/// Position of a record: its sequence number of arrival, and the kind of its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ArrivalTicket {
    pub number: u32,
    pub is_linear: bool,
}

impl ArrivalTicket {
    /// Reads the ticket of the record at `at`.
    #[inline]
    pub fn from_record(region: &Region, at: BlockIndex) -> ArrivalTicket {
        let word = region.word(at);
        ArrivalTicket {
            number: word >> 1,
            is_linear: word & LINEAR != 0,
        }
    }

    /// Returns `word` with its sequence number replaced by `number`. The kind of queue does not change.
    pub fn with_number(word: u32, number: u32) -> u32 {
        number << 1 | word & LINEAR
    }

    /// Stores the ticket in the record at `at`.
    #[inline]
    pub fn put(self, region: &mut Region, at: BlockIndex) {
        region.set_word(at, self.number << 1 | u32::from(self.is_linear));
    }
}

/// Returns the record that arrived first.
#[inline]
pub(super) fn earlier(region: &Region, one: Option<BlockIndex>, other: Option<BlockIndex>) -> Option<BlockIndex> {
    match (one, other) {
        (Some(one), Some(other)) if region.word(other) < region.word(one) => Some(other),
        (None, other) => other,
        (one, _) => one,
    }
}

/// Sequence-number generator with a limit. The remaining records are renumbered before the numbers are exhausted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SequenceNumbers {
    next: u32,
    limit: u32,
}

impl SequenceNumbers {
    /// Creates a generator of `limit` sequence numbers, from 0 on.
    pub fn new(limit: u32) -> Self {
        SequenceNumbers { next: 0, limit }
    }

    /// Sets the limit. If it is below the number of records, every arrival renumbers them.
    pub fn set_limit(&mut self, limit: u32) {
        self.limit = limit.min(MAX_NUMBERS);
    }

    /// Checks whether the numbers are exhausted.
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        self.next >= self.limit
    }

    /// Returns the next number.
    #[inline]
    pub fn next_number(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// Resets the generator to 0.
    pub fn restart(&mut self) {
        self.next = 0;
    }
}

/// Renumbers the records of all lists in their order, without moving them. Requires n log n steps for n records and no
/// memory except the records' own links. `each` iterates over all lists; `word` computes a record's new word from its
/// old one and its number. Words compare as numbers do.
pub(super) fn renumber<Q>(
    region: &mut Region,
    numbers: &mut SequenceNumbers,
    queues: &mut Q,
    each: impl Fn(&Q, &mut dyn FnMut(&ListEnds<BlockIndex>)),
    mut word: impl FnMut(&mut Q, u32, u32) -> u32,
) {
    let mut merge = ArrivalMerge::default();
    each(queues, &mut |list| merge.add(region, list.head()));
    let mut next = merge.finish(region);
    numbers.restart();
    while let Some(at) = next {
        next = region.next(at);
        let word = word(queues, region.word(at), numbers.next_number());
        region.set_word(at, word);
    }
    // The merge has overwritten each record's forward link, but not its backward link.
    each(queues, &mut |list| {
        let (mut after, mut last) = (None, list.tail());
        while let Some(at) = last {
            region.set_next(at, after);
            after = last;
            (last, _) = region.neighbours(at);
        }
    });
}

/// Bottom-up merge of lists of records, each in order of arrival. Uses only the records' own links. Index `i` contains
/// the merge of 2^i lists.
#[derive(Default)]
struct ArrivalMerge {
    places: [Option<BlockIndex>; u32::BITS as usize],
}

impl ArrivalMerge {
    /// Adds the list that begins at `head`.
    fn add(&mut self, region: &mut Region, head: Option<BlockIndex>) {
        if head.is_none() {
            return;
        }
        let mut list = head;
        // A slot is free: the number of lists is below 2^32.
        for place in &mut self.places {
            match place.take() {
                None => {
                    *place = list;
                    return;
                }
                Some(before) => list = merged(region, Some(before), list),
            }
        }
    }

    /// Returns the head of the merged list, which is linked forward only.
    fn finish(self, region: &mut Region) -> Option<BlockIndex> {
        let lists = self.places.into_iter();
        lists.fold(None, |all, list| merged(region, all, list))
    }
}

/// Merges two lists in order of arrival. The result is linked forward only.
fn merged(region: &mut Region, mut one: Option<BlockIndex>, mut other: Option<BlockIndex>) -> Option<BlockIndex> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_device::envelope::{Envelope, Rank};
    use midplane_device::memory::RawMemory;
    use midplane_device::memory::blocks::{BLOCK_BYTES, BlockArray};

    fn recorded(count: usize) -> (Region, Vec<BlockIndex>) {
        let words = vec![0; BlockArray::map_words(count)].into_boxed_slice();
        let blocks = vec![[0; BLOCK_BYTES]; count].into_boxed_slice();
        let mut region = Region::new(BlockArray::new(blocks, words));
        let envelope = Envelope {
            source: Rank::new(0),
            tag: 0,
            context: 0,
        };
        let record = |_| region.record_without_buffer(&mut RawMemory, envelope, 0, 0).unwrap();
        let ats = (0..count).map(record).collect();
        (region, ats)
    }

    #[test]
    fn every_number_fits_its_word() {
        let mut numbers = SequenceNumbers::new(MAX_NUMBERS);
        numbers.next = MAX_NUMBERS - 1;
        assert!(!numbers.is_exhausted());
        let last = numbers.next_number();
        assert!(numbers.is_exhausted());
        let (mut region, ats) = recorded(2);
        for (number, is_linear) in [(0, false), (0, true), (last, false), (last, true)] {
            let ticket = ArrivalTicket { number, is_linear };
            ticket.put(&mut region, ats[0]);
            assert_eq!(ArrivalTicket::from_record(&region, ats[0]), ticket);
        }
        // The kind of queue does not affect the order.
        let (number, is_linear) = (last - 1, true);
        ArrivalTicket { number, is_linear }.put(&mut region, ats[1]);
        for (one, other) in [(0, 1), (1, 0)] {
            let first = earlier(&region, Some(ats[one]), Some(ats[other]));
            assert_eq!(first, Some(ats[1]));
        }
        assert_eq!(earlier(&region, None, Some(ats[0])), Some(ats[0]));
        assert_eq!(earlier(&region, Some(ats[0]), None), Some(ats[0]));
    }

    /// Enough lists to fill every slot of the merge, and more; each of zero, one or several records.
    #[test]
    fn lists_are_merged_in_order() {
        for lists in [1, 2, 3, 7, 8, 9, 100] {
            let (mut region, ats) = recorded(300);
            let mut merge = ArrivalMerge::default();
            for (number, &at) in (0..).zip(&ats) {
                let is_linear = number % 5 == 0;
                ArrivalTicket { number, is_linear }.put(&mut region, at);
            }
            for list in 0..lists {
                let members = ats.iter().skip(list).step_by(lists);
                let mut next = None;
                for &at in members.rev() {
                    region.set_next(at, next);
                    next = Some(at);
                }
                merge.add(&mut region, next);
                merge.add(&mut region, None);
            }
            let mut next = merge.finish(&mut region);
            for at in ats {
                assert_eq!(next, Some(at), "{lists}");
                next = region.next(at);
            }
            assert_eq!(next, None);
        }
    }

    /// Each record stays in its list, which can be traversed in both directions.
    #[test]
    fn records_are_numbered_anew_where_they_stand() {
        let (mut region, ats) = recorded(50);
        let mut lists = [ListEnds::default(); 4];
        for (number, &at) in (0..).zip(&ats) {
            lists[[0, 1, 1, 3][number as usize % 4]].push(&mut region, at);
            let (number, is_linear) = (1000 + 3 * number, number % 3 == 0);
            ArrivalTicket { number, is_linear }.put(&mut region, at);
        }
        let before = lists;
        let mut numbers = SequenceNumbers::new(MAX_NUMBERS);
        numbers.next = MAX_NUMBERS;
        renumber(
            &mut region,
            &mut numbers,
            &mut lists,
            |lists, f| lists.iter().for_each(f),
            |_, old, number| ArrivalTicket::with_number(old, number),
        );
        assert_eq!((lists, numbers.next), (before, 50));
        for (number, &at) in (0..).zip(&ats) {
            let is_linear = number % 3 == 0;
            assert_eq!(
                ArrivalTicket::from_record(&region, at),
                ArrivalTicket { number, is_linear }
            );
        }
        for (list, places) in [(0, vec![0]), (1, vec![1, 2]), (2, vec![]), (3, vec![3])] {
            let members = ats.iter().enumerate();
            let members = members.filter(|(number, _)| places.contains(&(number % 4)));
            let (mut before, mut next) = (None, lists[list].head());
            for (_, &at) in members {
                assert_eq!(next, Some(at));
                assert_eq!(region.neighbours(at).0, before);
                (before, next) = (next, region.next(at));
            }
            assert_eq!((before, next), (lists[list].tail(), None));
        }
    }
}
