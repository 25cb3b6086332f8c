//! Buffered copies (bcopy in UCX): short messages in standard mode that are complete for the program once transmitted.
//!
//! A blocking call copies the message immediately and returns, without a request. It does so even to a destination with
//! a pending send queue, which the copy then enters.
//!
//! A message must stay with its sender until the receiver has accepted it, since the receiver may have no memory for it
//! (paper 004, section 4.1). Most messages stay in the program's own buffer, and the send completes with the reply. A
//! bcopy is copied when it is transmitted, and complete from then on. The program does not wait for its
//! acknowledgement, which may be delayed and piggybacked on other packets.
//!
//! ```text
//!   isend --- Unsent --- transmit --- RtsSent --- accepted with its data ---> free
//!   send  --- Copied --- transmit -------^
//!               |                        |
//!               +-----------+------------+   enter_bcopies: any exception
//!                           v
//!               pending send queue (Queued: its data, and its ID for the reply, stay here)
//! ```
//! A destination's messages are either all bcopies or all in its pending send queue. All bcopies enter the queue, in
//! order, as if they had been there from the start, in any of these cases: one of them is rejected or recorded without
//! its data, a restart arrives, or the program sends a message that cannot be a bcopy. A slot of the request pool and
//! an entry for the destination are reserved for each in advance. So the queue enforces all protocol rules, and
//! messages that are never rejected pay for no queue.
//!
//! The number of copies is fixed and small: when all are in use, messages use the queue.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use crate::envelope::{Context, Rank, Tag};
use crate::ids::{BcopyId, Generation, GenerationBits, REQUEST_GENERATION_BITS, RequestId, SequenceNumber, Slot};
use crate::insertion_sort::insertion_sort;
use crate::memory::Span;

/// One bit per bcopy.
#[cfg(not(feature = "micro"))]
type BcopyBits = u32;
/// One bit per bcopy: a small device has few, of 72 bytes each.
#[cfg(feature = "micro")]
type BcopyBits = u8;

/// Maximum number of bcopies in flight.
pub const BCOPIES: usize = BcopyBits::BITS as usize;
/// Maximum size in bytes of a bcopy.
pub const BCOPY_BYTES: usize = 32;

/// Maximum number of copies held for coalescing: enough for a large frame, and far from all bcopies.
const GATHERED: u8 = BCOPIES as u8 / 2;

/// The index of no bcopy.
const NO_BCOPY: u8 = u8::MAX;

/// State of a bcopy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BcopyState {
    /// In the program's buffer; this slot contains its request.
    Unsent {
        /// The request's slot.
        slot: Slot,
        /// The program's buffer.
        span: Span,
    },
    /// Copied, to be transmitted; without a request.
    Copied,
    /// Transmitted; its request is complete.
    RtsSent,
    /// In the pending send queue, in this slot.
    Queued {
        /// The slot.
        slot: Slot,
    },
}

/// A bcopy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Bcopy {
    /// The destination.
    pub dest: Rank,
    /// The tag.
    pub tag: Tag,
    /// The communicator's context.
    pub context: Context,
    /// Length in bytes, at most [`BCOPY_BYTES`].
    pub length: u8,
    /// Its state.
    pub state: BcopyState,
    /// Reuse count of the index, for its ID.
    generation: Generation,
    /// Sequence number among bcopies.
    order: SequenceNumber,
    /// The bcopy before it to the same destination. A later one may have reused that index.
    before: u8,
    /// The next one to transmit.
    next: u8,
}

/// All bcopies of a process.
#[derive(Clone, Debug)]
pub struct BcopyPool {
    bcopies: [Bcopy; BCOPIES],
    bytes: [[u8; BCOPY_BYTES]; BCOPIES],
    /// One bit for each bcopy in use.
    used: BcopyBits,
    /// Start of the search for a free index, so that an ID is reused as late as possible; [`BCOPIES`] means index 0.
    turn: u8,
    /// The bcopy started last.
    last: u8,
    /// Bcopies started so far.
    started: SequenceNumber,
    first_unsent: u8,
    last_unsent: u8,
    /// Bcopies still to be transmitted.
    unsent: u8,
    id_bits: GenerationBits,
}

const _: () = assert!(BCOPY_BYTES <= u8::MAX as usize);

impl BcopyPool {
    /// Creates the set without bcopies.
    pub const fn new() -> BcopyPool {
        const FREE: Bcopy = Bcopy {
            dest: Rank::new(0),
            tag: 0,
            context: 0,
            length: 0,
            state: BcopyState::RtsSent,
            generation: Generation::FIRST,
            order: 0,
            before: NO_BCOPY,
            next: NO_BCOPY,
        };
        BcopyPool {
            bcopies: [FREE; BCOPIES],
            bytes: [[0; BCOPY_BYTES]; BCOPIES],
            used: 0,
            turn: 0,
            last: NO_BCOPY,
            started: 0,
            first_unsent: NO_BCOPY,
            last_unsent: NO_BCOPY,
            unsent: 0,
            id_bits: GenerationBits::new(REQUEST_GENERATION_BITS),
        }
    }

    /// Limits the generation bits of IDs, for a model checker.
    pub(crate) fn narrow_ids(&mut self, bits: u32) {
        self.id_bits = GenerationBits::new(bits.min(REQUEST_GENERATION_BITS));
    }

    /// Returns whether no bcopy is in use.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Returns whether every bcopy has entered the pending send queue.
    pub fn all_queued(&self) -> bool {
        let is_queued = |id| matches!(self.at(id).state, BcopyState::Queued { .. });
        self.in_use().all(is_queued)
    }

    /// Returns whether all bcopies are in use.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.used == BcopyBits::MAX
    }

    fn is_used(&self, at: u8) -> bool {
        self.used >> at & 1 != 0
    }

    /// Starts a bcopy of the message in `span`, at most [`BCOPY_BYTES`] long, whose request is in `slot`.
    ///
    /// # Panics
    /// When [`BcopyPool::is_full`].
    #[inline]
    pub fn start(&mut self, dest: Rank, tag: Tag, context: Context, slot: Slot, span: Span) {
        let state = BcopyState::Unsent { slot, span };
        self.add(dest, tag, context, span.len(), state);
    }

    /// Starts a bcopy of `length` bytes, at most [`BCOPY_BYTES`], without a request; returns the buffer for its data.
    ///
    /// # Panics
    /// When [`BcopyPool::is_full`].
    #[inline]
    pub fn start_copied(&mut self, dest: Rank, tag: Tag, context: Context, length: usize) -> &mut [u8] {
        let at = self.add(dest, tag, context, length, BcopyState::Copied);
        &mut self.bytes[at][..length]
    }

    /// Allocates a bcopy and appends it to those still to be transmitted; returns its index.
    #[inline]
    fn add(&mut self, dest: Rank, tag: Tag, context: Context, length: usize, state: BcopyState) -> usize {
        let free = (!self.used).rotate_right(self.turn.into());
        let at = (self.turn + free.trailing_zeros() as u8) % BCOPIES as u8;
        assert!(!self.is_full());
        let before = self.last_to(dest);
        self.used |= 1 << at;
        self.turn = at + 1;
        let bcopy = &mut self.bcopies[usize::from(at)];
        *bcopy = Bcopy {
            dest,
            tag,
            context,
            length: length as u8,
            state,
            generation: bcopy.generation,
            order: self.started,
            before,
            next: NO_BCOPY,
        };
        match self.first_unsent {
            NO_BCOPY => self.first_unsent = at,
            _ => self.bcopies[usize::from(self.last_unsent)].next = at,
        }
        self.started += 1;
        self.last_unsent = at;
        self.last = at;
        self.unsent += 1;
        usize::from(at)
    }

    /// Returns whether a bcopy is to `dest` and not in the queue.
    fn is_to(&self, at: u8, dest: Rank) -> bool {
        let bcopy = &self.bcopies[usize::from(at)];
        self.is_used(at) && bcopy.dest == dest && !matches!(bcopy.state, BcopyState::Queued { .. })
    }

    /// Returns the last bcopy to `dest`, most often the last of all.
    fn last_to(&self, dest: Rank) -> u8 {
        if self.last != NO_BCOPY && self.is_to(self.last, dest) {
            return self.last;
        }
        let to = self.in_use().filter(|id| self.is_to(id.0, dest));
        to.max_by_key(|id| self.at(*id).order).map_or(NO_BCOPY, |id| id.0)
    }

    /// Returns the bcopies to `dest` that are not in the queue, in order.
    pub fn to(&self, dest: Rank) -> heapless::Vec<BcopyId, BCOPIES> {
        let mut all: heapless::Vec<BcopyId, BCOPIES> = self.in_use().filter(|id| self.is_to(id.0, dest)).collect();
        insertion_sort(&mut all, |id| self.at(*id).order);
        all
    }

    /// Returns the number of transmitted bcopies to `dest` without another reply.
    pub fn unanswered_to(&self, dest: Rank) -> usize {
        let offered = |id: &BcopyId| {
            let bcopy = self.at(*id);
            bcopy.dest == dest && matches!(bcopy.state, BcopyState::RtsSent)
        };
        self.in_use().filter(offered).count()
    }

    /// Returns whether any bcopy is of this context.
    pub fn has_context(&self, context: Context) -> bool {
        self.in_use().any(|id| self.at(id).context == context)
    }

    /// Returns a bcopy.
    #[inline]
    pub fn at(&self, id: BcopyId) -> &Bcopy {
        &self.bcopies[usize::from(id.0)]
    }

    /// Returns its data, once transmitted.
    #[inline]
    pub fn bytes(&self, id: BcopyId) -> &[u8] {
        &self.bytes[usize::from(id.0)][..usize::from(self.at(id).length)]
    }

    /// Returns its ID on the wire.
    #[inline]
    pub fn name(&self, id: BcopyId) -> RequestId {
        RequestId::bcopy(id.0.into(), self.at(id).generation)
    }

    /// Returns the bcopy to `dest` with this ID on the wire.
    pub fn find(&self, name: RequestId, dest: Rank) -> Option<BcopyId> {
        let at = u8::try_from(name.bcopy_index()?).ok()?;
        let id = BcopyId(at);
        let is_it = usize::from(at) < BCOPIES && self.is_used(at) && self.name(id) == name && self.at(id).dest == dest;
        is_it.then_some(id)
    }

    /// Returns the next bcopy to transmit.
    pub fn next_unsent(&self) -> Option<BcopyId> {
        (self.first_unsent != NO_BCOPY).then_some(BcopyId(self.first_unsent))
    }

    /// Returns the common destination of the untransmitted bcopies, if they are copied, few, and all to one
    /// destination. Valid only if called after each start, and if all are transmitted on `None`.
    #[inline]
    pub fn coalescing_dest(&self) -> Option<Rank> {
        let (first, last) = (self.at(self.next_unsent()?), self.at(BcopyId(self.last_unsent)));
        let is_one_more = matches!(last.state, BcopyState::Copied) && last.dest == first.dest;
        (is_one_more && self.unsent < GATHERED).then_some(first.dest)
    }

    /// Marks the next bcopy as transmitted; `read` copies its data.
    #[inline]
    pub fn transmit_next(&mut self, read: impl FnOnce(Span, &mut [u8])) {
        let at = usize::from(self.first_unsent);
        let bcopy = &mut self.bcopies[at];
        if let BcopyState::Unsent { span, .. } = bcopy.state {
            read(span, &mut self.bytes[at][..usize::from(bcopy.length)]);
        }
        bcopy.state = BcopyState::RtsSent;
        self.first_unsent = bcopy.next;
        self.unsent -= 1;
    }

    /// Marks a copied bcopy as queued, in `slot`.
    pub fn mark_queued(&mut self, id: BcopyId, slot: Slot) {
        if matches!(self.at(id).state, BcopyState::Copied) {
            self.unlink(id.0);
        }
        self.bcopies[usize::from(id.0)].state = BcopyState::Queued { slot };
    }

    /// Frees an accepted bcopy and the `count` before it to the same destination. Returns false, without changes, when
    /// fewer were sent.
    #[must_use]
    pub fn accept_earlier(&mut self, id: BcopyId, count: u8) -> bool {
        let dest = self.at(id).dest;
        let mut taken: BcopyBits = 0;
        let mut at = id.0;
        let mut order = self.started;
        for _ in 0..=count {
            if at == NO_BCOPY || !self.is_used(at) {
                return false;
            }
            let bcopy = &self.bcopies[usize::from(at)];
            if bcopy.dest != dest || !matches!(bcopy.state, BcopyState::RtsSent) || bcopy.order >= order {
                return false;
            }
            taken |= 1 << at;
            (at, order) = (bcopy.before, bcopy.order);
        }
        self.used &= !taken;
        while taken != 0 {
            let generation = &mut self.bcopies[taken.trailing_zeros() as usize].generation;
            *generation = generation.next(self.id_bits);
            taken &= taken - 1;
        }
        true
    }

    /// Frees a bcopy that is complete, or that has entered the queue before transmission.
    pub fn free(&mut self, id: BcopyId) {
        let at = usize::from(id.0);
        if let BcopyState::Unsent { .. } | BcopyState::Copied = self.bcopies[at].state {
            self.unlink(id.0);
        }
        self.used &= !(1 << at);
        self.bcopies[at].generation = self.bcopies[at].generation.next(self.id_bits);
    }

    /// Removes a bcopy from those still to be transmitted.
    fn unlink(&mut self, at: u8) {
        self.unsent -= 1;
        let next = self.bcopies[usize::from(at)].next;
        if self.first_unsent == at {
            self.first_unsent = next;
            return;
        }
        let mut before = self.first_unsent;
        while self.bcopies[usize::from(before)].next != at {
            before = self.bcopies[usize::from(before)].next;
        }
        self.bcopies[usize::from(before)].next = next;
        if self.last_unsent == at {
            self.last_unsent = before;
        }
    }

    fn in_use(&self) -> impl Iterator<Item = BcopyId> + '_ {
        let mut rest = self.used;
        core::iter::from_fn(move || {
            let at = (rest != 0).then(|| rest.trailing_zeros() as u8)?;
            rest &= rest - 1;
            Some(BcopyId(at))
        })
    }
}

impl Default for BcopyPool {
    fn default() -> Self {
        BcopyPool::new()
    }
}

/// Hashes the messages in the order of their start, not of their indices. Those in a queue are hashed with it.
impl Hash for BcopyPool {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut all: heapless::Vec<BcopyId, BCOPIES> = self.in_use().collect();
        all.sort_unstable_by_key(|id| self.at(*id).order);
        for id in all {
            let bcopy = self.at(id);
            match bcopy.state {
                BcopyState::Unsent { span, .. } => Some(span).hash(state),
                BcopyState::Copied | BcopyState::RtsSent => {
                    None::<Span>.hash(state);
                    (bcopy.state == BcopyState::Copied, self.bytes(id)).hash(state);
                }
                BcopyState::Queued { .. } => continue,
            }
            (bcopy.dest, bcopy.tag, bcopy.context, bcopy.length).hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(bcopies: &mut BcopyPool, dest: u32, tag: Tag) -> BcopyId {
        let dest = Rank::new(dest);
        bcopies.start(dest, tag, 0, Slot::new(tag as u32), Span::model(tag as usize, 1));
        *bcopies.to(dest).last().expect("just started")
    }

    fn transmit(bcopies: &mut BcopyPool) -> BcopyId {
        let id = bcopies.next_unsent().expect("one to leave");
        bcopies.transmit_next(|span, out| out.fill(span.address() as u8));
        id
    }

    #[test]
    fn copies_to_one_place_are_gathered_while_they_are_few() {
        let copy = |bcopies: &mut BcopyPool, dest: u32| {
            bcopies.start_copied(Rank::new(dest), 1, 0, 1);
        };
        let mut bcopies = BcopyPool::new();
        assert_eq!(bcopies.coalescing_dest(), None);
        for _ in 1..GATHERED {
            copy(&mut bcopies, 3);
            assert_eq!(bcopies.coalescing_dest(), Some(Rank::new(3)));
        }
        // Removes one, and adds one again.
        let second = bcopies.to(Rank::new(3))[1];
        bcopies.free(second);
        copy(&mut bcopies, 3);
        assert_eq!(bcopies.coalescing_dest(), Some(Rank::new(3)));
        copy(&mut bcopies, 3);
        assert_eq!(bcopies.coalescing_dest(), None, "enough");

        let mut bcopies = BcopyPool::new();
        copy(&mut bcopies, 3);
        copy(&mut bcopies, 4);
        assert_eq!(bcopies.coalescing_dest(), None, "to two places");
        let mut bcopies = BcopyPool::new();
        copy(&mut bcopies, 3);
        start(&mut bcopies, 3, 1);
        assert_eq!(bcopies.coalescing_dest(), None, "one of them is not copied yet");
    }

    #[test]
    fn they_leave_in_order_and_what_has_left_is_kept() {
        let mut bcopies = BcopyPool::new();
        let ids = [(1, 10), (2, 20), (1, 11)].map(|(dest, tag)| start(&mut bcopies, dest, tag));
        for (id, byte) in ids.into_iter().zip([10, 20, 11]) {
            assert_eq!(transmit(&mut bcopies), id);
            assert_eq!(bcopies.bytes(id), [byte]);
        }
        assert_eq!(bcopies.next_unsent(), None);
        assert_eq!(bcopies.to(Rank::new(1)), [ids[0], ids[2]]);
    }

    #[test]
    fn an_answer_covers_those_before_it_to_the_same_destination() {
        let mut bcopies = BcopyPool::new();
        let ids = [1, 2, 1, 1].map(|dest| start(&mut bcopies, dest, 5));
        assert!(!bcopies.accept_earlier(ids[0], 0), "it has not left");
        for _ in 0..4 {
            transmit(&mut bcopies);
        }
        assert!(!bcopies.accept_earlier(ids[2], 2), "there are not so many");
        let name = bcopies.name(ids[2]);
        assert_eq!(bcopies.find(name, Rank::new(1)), Some(ids[2]));
        assert_eq!(bcopies.find(name, Rank::new(2)), None);
        assert!(bcopies.accept_earlier(ids[2], 1));
        assert_eq!(bcopies.find(name, Rank::new(1)), None, "its name is not used any more");
        assert_eq!(
            (bcopies.to(Rank::new(1)), bcopies.to(Rank::new(2))),
            ([ids[3]][..].try_into().unwrap(), [ids[1]][..].try_into().unwrap())
        );
    }

    #[test]
    fn one_that_is_freed_before_it_leaves_does_not_leave() {
        for gone in 0..3 {
            let mut bcopies = BcopyPool::new();
            let mut ids = vec![0, 0, 0]
                .into_iter()
                .map(|dest| start(&mut bcopies, dest, 1))
                .collect::<Vec<_>>();
            bcopies.free(ids.remove(gone));
            ids.push(start(&mut bcopies, 0, 1));
            for id in ids {
                assert_eq!(transmit(&mut bcopies), id, "{gone}");
            }
            assert_eq!(bcopies.next_unsent(), None);
        }
    }

    #[test]
    fn a_copy_leaves_in_its_turn_or_enters_the_queue_with_its_data() {
        let mut bcopies = BcopyPool::new();
        let first = start(&mut bcopies, 1, 10);
        bcopies.start_copied(Rank::new(1), 11, 0, 2).fill(7);
        bcopies.start_copied(Rank::new(1), 12, 0, 1).fill(8);
        let all = bcopies.to(Rank::new(1));
        assert_eq!(transmit(&mut bcopies), first);
        bcopies.mark_queued(all[1], Slot::new(3));
        assert_eq!(bcopies.bytes(all[1]), [7, 7]);
        assert_eq!(transmit(&mut bcopies), all[2]);
        assert_eq!(bcopies.bytes(all[2]), [8]);
        assert_eq!(bcopies.next_unsent(), None);
        assert_eq!(bcopies.to(Rank::new(1)), [first, all[2]]);
    }

    /// Reuses an ID as late as possible.
    #[test]
    fn places_are_used_in_turn() {
        let mut bcopies = BcopyPool::new();
        for turn in 0..2 * BCOPIES {
            let id = start(&mut bcopies, 0, 1);
            assert_eq!(usize::from(id.0), turn % BCOPIES);
            assert!(transmit(&mut bcopies) == id && bcopies.accept_earlier(id, 0));
        }
    }

    /// The order to a destination survives any reuse of indices.
    #[test]
    fn places_are_used_again() {
        let mut bcopies = BcopyPool::new();
        let (mut there, mut seed) = (Vec::new(), 1_u32);
        for tag in 0..10_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let dest = seed >> 30;
            if bcopies.is_full() || seed >> 20 & 3 == 0 && !there.is_empty() {
                let (id, dest): (BcopyId, u32) = there.remove(seed as usize % there.len());
                let before = there
                    .iter()
                    .filter(|&&(other, to)| to == dest && bcopies.at(other).order < bcopies.at(id).order);
                let before: Vec<BcopyId> = before.map(|&(other, _)| other).collect();
                let named = before.iter().chain([&id]);
                let named: Vec<_> = named.map(|&id| (id, bcopies.name(id))).collect();
                assert!(!bcopies.accept_earlier(id, before.len() as u8 + 1));
                assert!(bcopies.accept_earlier(id, before.len() as u8), "{tag}");
                assert!(named.iter().all(|&(id, name)| bcopies.name(id) != name));
                there.retain(|(other, _)| !before.contains(other));
            } else {
                start(&mut bcopies, dest, 1);
                there.push((transmit(&mut bcopies), dest));
            }
            for dest in 0..4 {
                let of: Vec<BcopyId> = there.iter().filter(|&&(_, to)| to == dest).map(|&(id, _)| id).collect();
                assert_eq!(bcopies.to(Rank::new(dest)), of[..]);
            }
        }
    }
}
