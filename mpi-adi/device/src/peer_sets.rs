//! Index of set members in the table of [`peers`](super::peers). One bit for each set and group of peers marks a group
//! that contains a member, so that a search finds the next member in a few steps, at any distance.
//!
//! With more than 64 groups, the bits are in words of 64 groups each, with a second level above. A bit of that level
//! covers one word, or as many consecutive words as required to fit all into 64 bits.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use crate::try_box::try_boxed_slice;

/// A set of peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PeerSet {
    /// Peers with rejected messages and no restart in flight.
    Waiting,
    /// Waiting peers that get a restart for receives from any source in their turn.
    WildcardQueued,
    /// Peers with a pending restart.
    RestartPending,
    /// Peers whose state changes when a receive from any source is posted.
    AskedByWildcards,
    /// Peers with a pending DONE.
    DonePending,
}

impl PeerSet {
    pub(super) const ALL: [PeerSet; 5] = [
        PeerSet::Waiting,
        PeerSet::WildcardQueued,
        PeerSet::RestartPending,
        PeerSet::AskedByWildcards,
        PeerSet::DonePending,
    ];
}

/// One word of bits for each set.
type SetWords = [u64; PeerSet::ALL.len()];

/// Index of groups by set membership.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GroupSets {
    /// Words of 64 groups; empty when one word is enough, which is `top`.
    words: Box<[SetWords]>,
    /// One bit per word, or per `stride` words.
    top: SetWords,
    stride: u32,
}

/// Groups, or words, per word.
const BITS: usize = u64::BITS as usize;

impl GroupSets {
    /// Allocates the index of `groups` groups, without members; returns `None` when the heap is full.
    pub(super) fn allocate(groups: usize) -> Option<GroupSets> {
        let words = Self::words(groups);
        Some(GroupSets {
            words: try_boxed_slice(SetWords::default(), words)?,
            top: SetWords::default(),
            stride: words.div_ceil(BITS).max(1) as u32,
        })
    }

    const fn words(groups: usize) -> usize {
        if groups > BITS { groups.div_ceil(BITS) } else { 0 }
    }

    /// Returns the bytes that [`GroupSets::allocate`] allocates for `groups` groups.
    pub(super) const fn bytes(groups: usize) -> usize {
        Self::words(groups) * size_of::<SetWords>()
    }

    /// Updates whether `group` contains a member of `set`.
    pub(super) fn set(&mut self, set: PeerSet, group: usize, has_member: bool) {
        if has_member {
            self.insert(set, group)
        } else {
            self.remove(set, group)
        }
    }

    /// Marks `group` as containing a member of `set`.
    fn insert(&mut self, set: PeerSet, group: usize) {
        let top = match self.words.get_mut(group / BITS) {
            None => group,
            Some(words) => {
                words[set as usize] |= 1 << (group % BITS);
                group / BITS / self.stride as usize
            }
        };
        self.top[set as usize] |= 1 << top;
    }

    /// Marks `group` as containing no member of `set`.
    fn remove(&mut self, set: PeerSet, group: usize) {
        let top = match self.words.get_mut(group / BITS) {
            None => group,
            Some(words) => {
                words[set as usize] &= !(1 << (group % BITS));
                let top = group / BITS / self.stride as usize;
                let rest = self.words[top * self.stride as usize..].iter();
                if rest.take(self.stride as usize).any(|words| words[set as usize] != 0) {
                    return;
                }
                top
            }
        };
        self.top[set as usize] &= !(1 << top);
    }

    /// Returns the first group from `from` on with a member of `set`. `steps` counts the words checked.
    pub(super) fn next(&self, set: PeerSet, from: usize, steps: &mut u64) -> Option<usize> {
        let mut first_of = |words: &SetWords, from: usize| {
            *steps += 1;
            let bits = words[set as usize] & u64::MAX.checked_shl(from as u32).unwrap_or(0);
            (bits != 0).then(|| bits.trailing_zeros() as usize)
        };
        if self.words.is_empty() {
            return first_of(&self.top, from);
        }
        let (mut word, mut bit) = (from / BITS, from % BITS);
        while word < self.words.len() {
            if let Some(bit) = first_of(&self.words[word], bit) {
                return Some(word * BITS + bit);
            }
            (word, bit) = (word + 1, 0);
            if word.is_multiple_of(self.stride as usize) {
                let top = first_of(&self.top, word / self.stride as usize)?;
                word = top * self.stride as usize;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// After any insertions and removals, the next group equals that of a plain set. In a machine of 65,536 peers a
    /// search checks at most three words.
    #[test]
    fn the_next_group_of_a_set_is_found_wherever_it_is() {
        let mut random = oorandom::Rand32::new(3);
        for groups in [1, 2, 63, 64, 65, 200, 4_096, 4_097, 20_000] {
            let mut sets = GroupSets::allocate(groups).expect("room");
            let mut plain = [(); PeerSet::ALL.len()].map(|()| BTreeSet::new());
            for round in 0..2_000 {
                let group = random.rand_range(0..groups as u32) as usize;
                let set = PeerSet::ALL[random.rand_range(0..PeerSet::ALL.len() as u32) as usize];
                // Alternates between filling and emptying.
                if random.rand_range(0..4) == round / 500 % 2 * 3 {
                    sets.insert(set, group);
                    plain[set as usize].insert(group);
                } else {
                    let group = plain[set as usize].range(group..).next().copied().unwrap_or(group);
                    sets.remove(set, group);
                    plain[set as usize].remove(&group);
                }
                let from = random.rand_range(0..groups as u32 + 1) as usize;
                for set in PeerSet::ALL {
                    let mut steps = 0;
                    let expected = plain[set as usize].range(from..).next().copied();
                    assert_eq!(sets.next(set, from, &mut steps), expected, "{groups} from {from}");
                    let most = if groups > 4_096 { 400 } else { 3 };
                    assert!((1..=most).contains(&steps), "{steps} steps, {groups}");
                }
            }
        }
    }

    #[test]
    fn a_bit_for_each_group_is_taken_where_one_word_has_too_few() {
        for (groups, words) in [(1, 0), (64, 0), (65, 2), (128, 2), (4_096, 64)] {
            let sets = GroupSets::allocate(groups).expect("room");
            assert_eq!(sets.words.len(), words);
            assert_eq!(GroupSets::bytes(groups), size_of_val(&*sets.words));
        }
    }
}
