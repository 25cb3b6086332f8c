//! Where in the table of [`peers`](super::peers) the members of some sets are: a bit for each set and each group of peers
//! says that the group has one, so that the next member is found in a few steps, wherever it is.
//!
//! In a table of more than 64 groups those bits are in words of 64 groups, and a bit each for those words, or for as
//! many words one behind the other as 64 bits for all of them take.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use crate::boxed::boxed;

/// A set of peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Set {
    /// Their messages stand refused, and no restart is on its way.
    Waiting,
    /// Those of them that are asked for receives from any source when they have their turn.
    WildcardQueued,
    /// They are owed a restart.
    RestartDue,
    /// What they stand for changes when a receive from any source is posted.
    AskedByWildcards,
    /// They are owed a DONE.
    DoneDue,
}

impl Set {
    pub(super) const ALL: [Set; 5] = [
        Set::Waiting,
        Set::WildcardQueued,
        Set::RestartDue,
        Set::AskedByWildcards,
        Set::DoneDue,
    ];
}

/// A bit for each set.
type Words = [u64; Set::ALL.len()];

/// Which groups have members of which sets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GroupSets {
    /// By word of 64 groups; empty where there is one word, which is `top`.
    words: Box<[Words]>,
    /// By word, or by `stride` words.
    top: Words,
    stride: u32,
}

/// Groups, or words, of which there is a bit in a word.
const BITS: usize = u64::BITS as usize;

impl GroupSets {
    /// Of so many groups, none of which has a member; `None`: the heap has no room.
    pub(super) fn allocate(groups: usize) -> Option<GroupSets> {
        let words = Self::words(groups);
        Some(GroupSets {
            words: boxed(Words::default(), words)?,
            top: Words::default(),
            stride: words.div_ceil(BITS).max(1) as u32,
        })
    }

    const fn words(groups: usize) -> usize {
        if groups > BITS {
            groups.div_ceil(BITS)
        } else {
            0
        }
    }

    /// Bytes that [`GroupSets::allocate`] takes for `groups` groups.
    pub(super) const fn bytes(groups: usize) -> usize {
        Self::words(groups) * size_of::<Words>()
    }

    /// `group` has a member of `set`, or none any more.
    pub(super) fn set(&mut self, set: Set, group: usize, has_member: bool) {
        match has_member {
            true => self.insert(set, group),
            false => self.remove(set, group),
        }
    }

    /// `group` has a member of `set`.
    fn insert(&mut self, set: Set, group: usize) {
        let top = match self.words.get_mut(group / BITS) {
            None => group,
            Some(words) => {
                words[set as usize] |= 1 << (group % BITS);
                group / BITS / self.stride as usize
            }
        };
        self.top[set as usize] |= 1 << top;
    }

    /// `group` has no member of `set` any more.
    fn remove(&mut self, set: Set, group: usize) {
        let top = match self.words.get_mut(group / BITS) {
            None => group,
            Some(words) => {
                words[set as usize] &= !(1 << (group % BITS));
                let top = group / BITS / self.stride as usize;
                let rest = self.words[top * self.stride as usize..].iter();
                if rest
                    .take(self.stride as usize)
                    .any(|words| words[set as usize] != 0)
                {
                    return;
                }
                top
            }
        };
        self.top[set as usize] &= !(1 << top);
    }

    /// The first group from `from` on with a member of `set`. `steps` counts the words that are looked at.
    pub(super) fn next(&self, set: Set, from: usize, steps: &mut u64) -> Option<usize> {
        let mut first_of = |words: &Words, from: usize| {
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

    /// Whatever is put in and taken out, what comes next is what comes next in a plain set; and in a machine of 65,536
    /// peers a search looks at three words at most.
    #[test]
    fn the_next_group_of_a_set_is_found_wherever_it_is() {
        let mut random = oorandom::Rand32::new(3);
        for groups in [1, 2, 63, 64, 65, 200, 4_096, 4_097, 20_000] {
            let mut sets = GroupSets::allocate(groups).expect("room");
            let mut plain = [(); Set::ALL.len()].map(|()| BTreeSet::new());
            for round in 0..2_000 {
                let group = random.rand_range(0..groups as u32) as usize;
                let set = Set::ALL[random.rand_range(0..Set::ALL.len() as u32) as usize];
                // Now it fills, now it empties.
                if random.rand_range(0..4) == round / 500 % 2 * 3 {
                    sets.insert(set, group);
                    plain[set as usize].insert(group);
                } else {
                    let group = plain[set as usize]
                        .range(group..)
                        .next()
                        .copied()
                        .unwrap_or(group);
                    sets.remove(set, group);
                    plain[set as usize].remove(&group);
                }
                let from = random.rand_range(0..groups as u32 + 1) as usize;
                for set in Set::ALL {
                    let mut steps = 0;
                    let expected = plain[set as usize].range(from..).next().copied();
                    assert_eq!(
                        sets.next(set, from, &mut steps),
                        expected,
                        "{groups} from {from}"
                    );
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
