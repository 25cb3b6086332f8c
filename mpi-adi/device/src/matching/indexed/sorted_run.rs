//! Detector of ascending keys in a queue. Ascending keys are distinct.
#![forbid(unsafe_code)]

use crate::envelope::{Context, MatchPattern};
use crate::list::{LinkStorage, ListEnds};

/// Keys of the entries since the queue was last empty: context, then source and tag.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortedRun {
    context: Context,
    /// Maximum key of the context.
    highest: u64,
    /// A key has a wildcard, or is not above the preceding one.
    is_broken: bool,
}

impl SortedRun {
    /// State of an empty queue.
    pub(super) const NEW: SortedRun = SortedRun {
        context: 0,
        highest: NO_SOURCE,
        is_broken: false,
    };

    /// Creates the state of a queue with this first entry.
    #[inline]
    pub(super) fn from_pattern(pattern: &MatchPattern) -> SortedRun {
        let (source, tag) = pattern.words();
        SortedRun {
            context: pattern.context(),
            highest: u64::from(source) << 32 | u64::from(tag),
            is_broken: source == 0 || (tag as i32) < 0,
        }
    }

    /// Updates the state for a new entry with this key.
    #[inline]
    pub(super) fn add(&mut self, pattern: &MatchPattern) {
        if self.is_broken {
            return;
        }
        let (source, tag) = pattern.words();
        let key = u64::from(source) << 32 | u64::from(tag);
        if pattern.context() != self.context {
            self.is_broken = pattern.context() < self.context;
            (self.context, self.highest) = (pattern.context(), NO_SOURCE);
        }
        // The wildcard is the only negative tag.
        self.is_broken |= key <= self.highest || (tag as i32) < 0;
        self.highest = key;
    }

    /// Checks whether all keys are exact and ascending, so that at most one entry has a given key.
    #[inline]
    pub(super) fn is_sorted(&self) -> bool {
        !self.is_broken
    }
}

/// Maximum entries that a search checks for ascending keys.
const MAX_CHECKS: u32 = 32;
/// Maximum key without a source, whose word is 0.
const NO_SOURCE: u64 = u32::MAX as u64;

/// A lazily evaluated [`SortedRun`]. The first query checks each entry of a list once; entries removed before it cost
/// nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct LateRun<I> {
    /// The youngest entry of the list that has been checked. All entries before it have been checked, too.
    to: Option<I>,
    rise: SortedRun,
}

impl<I: Copy + PartialEq> LateRun<I> {
    /// State of an empty queue.
    pub(super) const NEW: Self = LateRun {
        to: None,
        rise: SortedRun::NEW,
    };

    /// Updates the state when `at` is removed from the list, in which it follows `before`.
    #[inline]
    pub(super) fn note_removal(&mut self, at: I, before: Option<I>) {
        if self.to == Some(at) {
            self.to = before;
        }
    }

    /// Checks `at`, which follows `before` in the list and will not be checked later, if all entries before it have
    /// been checked.
    #[inline]
    pub(super) fn check_passed<L>(
        &mut self,
        links: &L,
        before: Option<I>,
        at: I,
        pattern: impl Fn(&L, I) -> MatchPattern,
    ) {
        if self.to == before && self.rise.is_sorted() {
            self.rise.add(&pattern(links, at));
            self.to = Some(at);
        }
    }

    /// Checks whether all keys of the list ascend. New entries are at the end of the list; they are checked now if
    /// `may_look` is set.
    #[inline]
    pub(super) fn is_sorted<L: LinkStorage<I>>(
        &mut self,
        links: &L,
        list: &ListEnds<I>,
        pattern: impl Fn(&L, I) -> MatchPattern,
        may_look: bool,
        hops: &mut u32,
    ) -> bool {
        if self.to != list.tail() {
            if !self.rise.is_sorted() || !may_look {
                return false;
            }
            self.check_entries(links, list, pattern, hops);
        }
        self.rise.is_sorted() && self.to == list.tail()
    }

    /// Checks the next [`MAX_CHECKS`] entries.
    fn check_entries<L: LinkStorage<I>>(
        &mut self,
        links: &L,
        list: &ListEnds<I>,
        pattern: impl Fn(&L, I) -> MatchPattern,
        hops: &mut u32,
    ) {
        let mut next = match self.to {
            Some(at) => links.next(at),
            None => list.head(),
        };
        for _ in 0..MAX_CHECKS {
            let Some(at) = next else {
                return;
            };
            *hops += 1;
            self.rise.add(&pattern(links, at));
            if !self.rise.is_sorted() {
                return;
            }
            self.to = next;
            next = links.next(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::Rank;

    /// Entries by index, linked in this order.
    struct Row(Vec<(Option<usize>, Option<usize>, MatchPattern)>);

    impl LinkStorage<usize> for Row {
        fn next(&self, at: usize) -> Option<usize> {
            self.0[at].1
        }
        fn set_next(&mut self, at: usize, next: Option<usize>) {
            self.0[at].1 = next;
        }
        fn set_prev(&mut self, at: usize, prev: Option<usize>) {
            self.0[at].0 = prev;
        }
        fn neighbours(&self, at: usize) -> (Option<usize>, Option<usize>) {
            (self.0[at].0, self.0[at].1)
        }
        fn set_neighbours(&mut self, at: usize, prev: Option<usize>, next: Option<usize>) {
            (self.0[at].0, self.0[at].1) = (prev, next);
        }
    }

    fn exact(context: Context, source: u32, tag: i32) -> MatchPattern {
        MatchPattern::new(Some(Rank::new(source)), Some(tag), context)
    }

    /// Returns whether these keys ascend, and the number of entries checked.
    fn rises(patterns: &[MatchPattern]) -> (bool, u32) {
        let entry = |&pattern| (None, None, pattern);
        let mut row = Row(patterns.iter().map(entry).collect());
        let mut list = ListEnds::default();
        (0..patterns.len()).for_each(|at| list.push(&mut row, at));
        let mut hops = 0;
        let mut rise = LateRun::NEW;
        let is = rise.is_sorted(&row, &list, |row, at| row.0[at].2, true, &mut hops);
        (is, hops)
    }

    #[test]
    fn keys_rise_by_context_source_and_tag() {
        let top = u32::MAX - 1;
        let rising = [
            exact(0, 0, 0),
            exact(0, 0, i32::MAX),
            exact(0, 1, 0),
            exact(0, top, 7),
            exact(1, 0, 0),
            exact(u16::MAX, 0, 0),
        ];
        assert_eq!(rises(&rising), (true, 6));
        for at in 0..rising.len() {
            for (entry, others) in rising.iter().enumerate().skip(at) {
                let pair = [*others, rising[at]];
                assert_eq!(rises(&pair), (false, 2), "{entry} before {at}");
            }
        }
    }

    #[test]
    fn a_wildcard_breaks_a_rise() {
        for pattern in [
            MatchPattern::new(None, Some(9), 0),
            MatchPattern::new(Some(Rank::new(9)), None, 0),
            MatchPattern::new(None, None, 9),
        ] {
            assert_eq!(rises(&[exact(0, 0, 0), pattern]), (false, 2));
            assert_eq!(rises(&[pattern]), (false, 1));
        }
    }

    /// Each entry is checked once, for any number of queries, and removed entries still count.
    #[test]
    fn an_entry_is_looked_at_once() {
        let keys = [1, 2, 5, 6, 4].map(|tag| (None, None, exact(0, 3, tag)));
        let mut row = Row(keys.to_vec());
        let (mut list, mut rise) = (ListEnds::default(), LateRun::NEW);
        let asked = |rise: &mut LateRun<usize>, row: &Row, list: &ListEnds<usize>, may_look| {
            let mut hops = 0;
            let is = rise.is_sorted(row, list, |row, at| row.0[at].2, may_look, &mut hops);
            (is, hops)
        };
        (0..3).for_each(|at| list.push(&mut row, at));
        assert_eq!(asked(&mut rise, &row, &list, false), (false, 0));
        assert_eq!(asked(&mut rise, &row, &list, true), (true, 3));
        assert_eq!(asked(&mut rise, &row, &list, false), (true, 0));
        list.push(&mut row, 3);
        assert_eq!(asked(&mut rise, &row, &list, true), (true, 1));
        for at in [3, 0, 2, 1] {
            let before = list.unlink(&mut row, at);
            rise.note_removal(at, before);
            assert_eq!(asked(&mut rise, &row, &list, true), (true, 0));
        }
        list.push(&mut row, 4);
        assert_eq!(asked(&mut rise, &row, &list, true), (false, 1), "6 before 4");
        assert_eq!(asked(&mut rise, &row, &list, true), (false, 0));
    }
}
