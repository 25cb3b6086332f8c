//! Intrusive hash table of requests inside the pool's slots, with lookup in constant expected time.
//!
//! ```text
//!   chunk of slots   | slot 0 | slot 1 | .. | slot 31 | buckets 0 .. 23 |      three buckets for four slots
//!                        |                                |
//!                        +--- chain <---------------------+   requests whose keys fall into one bucket, in the
//!                                                             order in which they were entered
//! ```
//! Its members are posted receives and pending sends. The matching engine may insert receives, keyed by pattern. Sends
//! are keyed by destination, context and tag; they are inserted if a restart has specified a tag to their destination.
//! A search skips members of the other kind.
//!
//! The table uses no separate memory: slots include buckets, and a request contains the links for one chain. It grows
//! by linear hashing (W. Litwin, VLDB 1980): if there are more members than buckets in use, and a further bucket
//! exists, one bucket is split. So each call performs at most a constant share of the growth, and the expected load is
//! at most 4/3 members per bucket.
//!
//! Equal keys are adjacent in their chain, in age order: a *group*, headed by its oldest member. The first member of a
//! group links to the last one, so a search, an insertion and a split pass a group of any length in one hop:
//!
//! ```text
//!                prev       +-------------+
//!                           v             |
//!   bucket ----> oldest A -> A -> A -> youngest A ----> B ----> oldest C -> youngest C
//!                  |                     ^
//!                  +---------------------+ prev: the last one of the group
//! ```
//! Other groups share a chain by chance. For any keys, their hashes are pairwise independent ([`KeyHash`]), so fewer
//! than two are expected. An adversary who does not know the seed cannot choose keys that collide more often.
#![forbid(unsafe_code)]

use super::any::KEYED;
use super::pool::RequestPool;
use super::receive::PostedReceive;
use super::send::SendRequest;
use super::table::{KeyHash, kind};
use crate::envelope::MatchPattern;
use crate::ids::{SequenceNumber, Slot};
use crate::work::count_steps;

/// A posted receive found in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundReceive {
    pub(crate) slot: Slot,
    pub(crate) serial: SequenceNumber,
    bucket: u32,
}

impl RequestPool {
    /// Sets the hash seed.
    ///
    /// # Panics
    /// If a request is in the table. Nothing may be pending to any destination, either.
    pub fn seed(&mut self, seed: u64) {
        assert_eq!(self.table.buckets.members(), 0, "hashes are kept nowhere");
        self.table.hashes = KeyHash::new(seed);
    }

    /// Inserts the request in `slot` as the last one with its key, whose hash is `hash`.
    #[inline]
    pub(crate) fn insert_entry(&mut self, slot: Slot, hash: u32) {
        if let Some(bucket) = self.table.buckets.add(self.buckets()) {
            self.split(bucket);
        }
        let bucket = self.table.buckets.bucket_index(hash);
        match self.find_group(bucket, slot) {
            (_, Some(first)) => self.append_to(first, slot),
            (end, None) => {
                *self.link_mut(bucket, end) = Some(slot);
                let entry = self.listed_mut(slot);
                (entry.prev[KEYED], entry.next[KEYED]) = (Some(slot), None);
            }
        }
    }

    /// Returns the first member of the group in this bucket with the key of `slot`, or `None`. Also returns its
    /// predecessor in the chain, or the end of the chain.
    #[cfg_attr(not(feature = "micro"), inline)]
    fn find_group(&self, bucket: u32, slot: Slot) -> (Option<Slot>, Option<Slot>) {
        let (mut before, mut group) = (None, self.bucket(bucket));
        while let Some(first) = group
            && !self.listed(first).has_key_of(self.listed(slot))
        {
            count_steps(1);
            before = Some(self.last_of(first));
            group = before.and_then(|last| self.listed(last).next[KEYED]);
        }
        (before, group)
    }

    /// Returns the link to the successor of `before` in this bucket's chain.
    #[cfg_attr(not(feature = "micro"), inline)]
    fn link_mut(&mut self, bucket: u32, before: Option<Slot>) -> &mut Option<Slot> {
        match before {
            None => self.bucket_mut(bucket),
            Some(before) => &mut self.listed_mut(before).next[KEYED],
        }
    }

    /// Inserts the posted receive in `slot`. Returns its kind and its serial.
    #[inline]
    pub(crate) fn insert_posted(&mut self, slot: Slot) -> (usize, SequenceNumber) {
        let PostedReceive { pattern, serial, .. } = self.posted(slot);
        self.insert_entry(slot, self.table.hashes.hash_pattern(&pattern));
        (kind(&pattern), serial)
    }

    /// Returns the oldest posted receive in the table with this pattern. Each group checked is a hop.
    #[inline]
    pub(crate) fn find_posted(&self, pattern: &MatchPattern, hops: &mut u32) -> Option<FoundReceive> {
        let bucket = self.table.buckets.bucket_index(self.table.hashes.hash_pattern(pattern));
        let mut next = self.bucket(bucket);
        while let Some(slot) = next {
            *hops += 1;
            let entry = self.listed(slot);
            if let Some(serial) = entry.serial_if_posted(pattern) {
                return Some(FoundReceive { slot, serial, bucket });
            }
            next = self.listed(self.last_of(slot)).next[KEYED];
        }
        None
    }

    /// Removes a receive if it is still the first one in its bucket; returns false otherwise. The first entry of a
    /// bucket belongs to that bucket, even if the search was long ago.
    #[inline]
    pub(crate) fn remove_found(&mut self, found: FoundReceive) -> bool {
        self.remove_first(found.slot, found.bucket)
    }

    #[inline]
    fn remove_first(&mut self, slot: Slot, bucket: u32) -> bool {
        if self.bucket(bucket) != Some(slot) {
            return false;
        }
        let next = self.unlink_from_group(slot);
        *self.bucket_mut(bucket) = next;
        self.table.buckets.remove();
        true
    }

    /// Removes the first member of a group. Returns the next one in the chain, which becomes the first member if there
    /// are others.
    #[inline]
    fn unlink_from_group(&mut self, first: Slot) -> Option<Slot> {
        let (last, next) = (self.last_of(first), self.listed(first).next[KEYED]);
        if last != first
            && let Some(second) = next
        {
            self.listed_mut(second).prev[KEYED] = Some(last);
        }
        next
    }

    /// Removes the request in `slot`, whose key has this hash.
    #[inline]
    pub(crate) fn remove_entry(&mut self, slot: Slot, hash: u32) {
        let bucket = self.table.buckets.bucket_index(hash);
        // A small image uses only the general loop.
        if cfg!(feature = "micro") || !self.remove_first(slot, bucket) {
            self.remove_anywhere(slot, bucket);
        }
    }

    /// Removes the request from any position in its bucket.
    #[inline(never)]
    fn remove_anywhere(&mut self, slot: Slot, bucket: u32) {
        self.table.buckets.remove();
        let (before, Some(first)) = self.find_group(bucket, slot) else {
            debug_assert!(false, "a request in the table is in a group of its bucket");
            return;
        };
        if first == slot {
            let next = self.unlink_from_group(slot);
            *self.link_mut(bucket, before) = next;
            return;
        }
        let last = self.last_of(first);
        let (prev, next) = (self.last_of(slot), self.listed(slot).next[KEYED]);
        self.listed_mut(prev).next[KEYED] = next;
        let behind = match (last == slot, next) {
            (false, Some(next)) => next,
            _ => first,
        };
        self.listed_mut(behind).prev[KEYED] = Some(prev);
    }

    /// Returns the oldest request in the bucket of this hash.
    #[inline]
    pub(crate) fn first_of(&self, hash: u32) -> Option<Slot> {
        self.bucket(self.table.buckets.bucket_index(hash))
    }

    /// Returns the last member of the group that begins with `first`; for another member, its predecessor.
    #[inline]
    fn last_of(&self, first: Slot) -> Slot {
        self.listed(first).prev[KEYED].unwrap_or(first)
    }

    /// Appends `slot` to the group that begins with `first`.
    #[inline]
    fn append_to(&mut self, first: Slot, slot: Slot) {
        let last = self.last_of(first);
        self.listed_mut(first).prev[KEYED] = Some(slot);
        let next = self.listed_mut(last).next[KEYED].replace(slot);
        let entry = self.listed_mut(slot);
        (entry.prev[KEYED], entry.next[KEYED]) = (Some(last), next);
    }

    /// Splits the groups of a bucket between it and the bucket just added.
    #[cold]
    fn split(&mut self, bucket: u32) {
        let mut next = self.bucket_mut(bucket).take();
        // Last members of the chains of this bucket and of the other one.
        let mut ends = [None; 2];
        while let Some(first) = next {
            count_steps(1);
            let last = self.last_of(first);
            next = self.listed_mut(last).next[KEYED].take();
            let to = self.table.buckets.bucket_index(self.key_hash(first));
            let end = ends[usize::from(to != bucket)].replace(last);
            *self.link_mut(to, end) = Some(first);
        }
    }

    /// Returns the hash functions of keys.
    #[inline]
    pub(crate) fn hashes(&self) -> &KeyHash {
        &self.table.hashes
    }

    /// Returns the hash of a pattern.
    #[inline]
    pub(crate) fn hash_of(&self, pattern: &MatchPattern) -> u32 {
        self.table.hashes.hash_pattern(pattern)
    }

    /// Returns the key hash of the send in `slot`.
    #[inline]
    pub(crate) fn send_hash(&self, slot: Slot) -> u32 {
        let SendRequest { dest, context, tag, .. } = self.send(slot);
        self.table.hashes.hash_send(dest, context, tag)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use oorandom::Rand32;

    use super::*;
    use crate::envelope::{Context, Envelope, Rank, Tag};
    use crate::memory::Span;
    use crate::protocol::RtsState;
    use crate::request::{
        NEIGHBOURS, PendingSend, PostedReceive, ReceiveRequest, ReceiveState, Request, SendData, SendMode, SendState,
        pattern_of,
    };

    /// Key of a receive from, or a send to, a process, with this tag and context.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    struct MatchKey {
        sends: bool,
        rank: Rank,
        tag: Tag,
        context: Context,
    }

    impl MatchKey {
        fn pattern(self) -> MatchPattern {
            MatchPattern::new(Some(self.rank), Some(self.tag), self.context)
        }

        fn hash(self, requests: &RequestPool) -> u32 {
            if self.sends {
                requests.hashes().hash_send(self.rank, self.context, self.tag)
            } else {
                requests.hash_of(&self.pattern())
            }
        }

        fn request(self) -> Request {
            if self.sends {
                Request::Send(SendRequest {
                    dest: self.rank,
                    tag: self.tag,
                    context: self.context,
                    mode: SendMode::Standard,
                    length: 0,
                    data: SendData::User(Span::EMPTY),
                    state: SendState::Pending(PendingSend::new(RtsState::Rejected)),
                })
            } else {
                Request::Receive(ReceiveRequest {
                    span: Span::EMPTY,
                    state: ReceiveState::Posted(PostedReceive {
                        pattern: self.pattern(),
                        serial: 0,
                        needs_listing: false,
                    }),
                })
            }
        }

        fn is_of(self, requests: &RequestPool, slot: Slot) -> bool {
            if self.sends {
                requests.is_pending_to(slot, self.rank, self.context, self.tag)
            } else {
                requests
                    .as_posted(slot)
                    .is_some_and(|posted| posted.pattern == self.pattern())
            }
        }
    }

    /// Returns the requests with this key in its bucket, in order, and the number of others there.
    fn found(requests: &RequestPool, key: MatchKey) -> (Vec<Slot>, usize) {
        let first = requests.first_of(key.hash(requests));
        let chain = core::iter::successors(first, |&slot| requests.next_in::<KEYED>(slot));
        let (own, others): (Vec<_>, Vec<_>) = chain.partition(|&slot| key.is_of(requests, slot));
        (own, others.len())
    }

    #[test]
    fn each_kind_has_the_pattern_of_it_that_matches() {
        let (source, tag, context) = (Rank::new(5), 6, 7);
        let envelope = Envelope { source, tag, context };
        let sources = [Some(source), None, Some(source), None];
        let tags = [Some(tag), Some(tag), None, None];
        for (at, (source, tag)) in sources.into_iter().zip(tags).enumerate() {
            let pattern = MatchPattern::new(source, tag, context);
            assert_eq!(kind(&pattern), at);
            assert_eq!(pattern_of(&envelope, at), pattern);
        }
    }

    #[test]
    fn keys_with_neighbouring_sources_share_a_line_and_no_bucket_of_it() {
        let hashes = KeyHash::new(3);
        for first in [0, 5 * NEIGHBOURS] {
            let sources = first..first + NEIGHBOURS;
            let of = sources.map(|source| hashes.hash_send(Rank::new(source), 1, 2));
            let of: Vec<u32> = of.collect();
            assert!(of.iter().all(|hash| hash / NEIGHBOURS == of[0] / NEIGHBOURS));
            let mut places: Vec<u32> = of.iter().map(|hash| hash % NEIGHBOURS).collect();
            places.sort();
            assert!(places.into_iter().eq(0..NEIGHBOURS));
        }
    }

    /// For any number of receives, in a table that grows with the pool.
    #[test]
    fn a_posted_receive_is_found_in_a_few_hops() {
        let mut requests = RequestPool::new(1 << 12);
        let key = |tag| MatchKey {
            sends: false,
            rank: Rank::new(1),
            tag,
            context: 0,
        };
        for tag in 0..2000 {
            requests.grow(1).expect("room");
            let id = requests.insert(key(tag).request()).expect("room");
            requests.insert_posted(id.slot());
        }
        let mut all = 0;
        for tag in 0..2000 {
            let mut hops = 0;
            assert!(requests.find_posted(&key(tag).pattern(), &mut hops).is_some());
            assert!(hops > 0);
            all += hops;
        }
        assert!(all < 3 * 2000, "{all}");
    }

    /// Mixes sends and receives, with removal from any position while buckets are split. For each key, the table
    /// contains the remaining requests in the order of insertion.
    #[test]
    fn equal_keys_stay_in_order_among_others() {
        let mut others = 0;
        for (seed, values) in [(1, 1), (2, 2), (3, 4), (4, 30), (5, 1000)] {
            let mut random = Rand32::new(seed);
            let mut requests = RequestPool::new(usize::MAX);
            requests.seed(seed);
            let mut there: BTreeMap<MatchKey, Vec<Slot>> = BTreeMap::new();
            for step in 0..6000 {
                // Alternates between growing and shrinking.
                let grows = random.rand_range(0..8) < if step / 1500 % 2 == 0 { 6 } else { 2 };
                let key = MatchKey {
                    sends: random.rand_range(0..2) == 0,
                    rank: Rank::new(random.rand_range(0..values)),
                    tag: random.rand_range(0..values) as Tag,
                    context: random.rand_range(0..2) as Context,
                };
                let of_key = there.entry(key).or_default();
                if grows {
                    requests.grow(1).expect("room");
                    let slot = requests.insert(key.request()).expect("room").slot();
                    requests.insert_entry(slot, requests.key_hash(slot));
                    of_key.push(slot);
                } else if !of_key.is_empty() {
                    let slot = of_key.remove(random.rand_range(0..of_key.len() as u32) as usize);
                    requests.remove_entry(slot, key.hash(&requests));
                    if key.sends {
                        _ = requests.finish_send(slot, true);
                    } else {
                        requests.cancel_receive(slot)
                    }
                    assert!(requests.take_completed(requests.id(slot)).is_some());
                }
                let (own, strangers) = found(&requests, key);
                assert_eq!(&own, of_key, "seed {seed}, step {step}, {key:?}");
                others += strangers;
            }
            for (&key, slots) in &there {
                assert_eq!(&found(&requests, key).0, slots, "seed {seed}, {key:?}");
            }
            let members: usize = there.values().map(Vec::len).sum();
            assert!(members > 100 && requests.table.buckets.members() as usize == members);
        }
        assert!(others > 1000, "buckets had others in them, too: {others}");
    }

    /// Receives and sends with equal rank and tag hash to different buckets.
    #[test]
    fn sends_and_receives_of_equal_values_are_apart() {
        let hashes = KeyHash::new(1);
        let equal = (0..1000).filter(|&rank| {
            let rank = Rank::new(rank);
            let received = hashes.hash_pattern(&MatchPattern::new(Some(rank), Some(5), 0));
            received % 256 == hashes.hash_send(rank, 0, 5) % 256
        });
        assert!(equal.count() < 50);
    }

    /// For any regular choice of ranks and tags, few unrelated requests share a bucket.
    #[test]
    fn regular_keys_do_not_share_buckets() {
        for shift in 0..14 {
            let mut requests = RequestPool::new(usize::MAX);
            requests.seed(1);
            let key = |i: u32| MatchKey {
                sends: i.is_multiple_of(2),
                rank: Rank::new((i / 64) << shift),
                tag: ((i % 64) << shift) as Tag,
                context: 0,
            };
            const KEYS: u32 = 4096;
            for i in 0..KEYS {
                requests.grow(1).expect("room");
                let slot = requests.insert(key(i).request()).expect("room").slot();
                requests.insert_entry(slot, requests.key_hash(slot));
            }
            let others: usize = (0..KEYS).map(|i| found(&requests, key(i)).1).sum();
            assert!(others < 3 * KEYS as usize, "{others} by {shift} bits");
        }
    }
}
