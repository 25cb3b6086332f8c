//! One-sided communication of a process: its windows, and all operations in progress.
#![forbid(unsafe_code)]

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use crate::envelope::{Context, Rank};
use crate::memory::Span;
use crate::rma::origin_requests::OriginRequests;
use crate::rma::outgoing::OutgoingPackets;
use crate::rma::rules::{AllEpochRules, BrokenRule, EpochRules};
use crate::rma::target_replies::TargetReplies;
use crate::rma::window::Window;

/// Maximum size of all this in bytes.
pub const ONE_SIDED_BYTES: usize = 10 << 10;
const _: () = assert!(size_of::<OneSided>() <= ONE_SIDED_BYTES);

/// Applies an operation to elements: the operation, the elements' datatype, the origin's elements, and the target's, in
/// place. Returns false when the operation does not exist, or the bytes are not whole elements.
pub type CombineElements = fn(u8, u8, &[u8], &mut [u8]) -> bool;

/// Walks bytes of a span, from an offset and for a length. Calls the function for each contiguous run, with its
/// address, the number of bytes before it, and its length.
pub type WalkSpan = fn(Span, usize, usize, &mut dyn FnMut(usize, usize, usize));

/// One-sided communication of a process: its windows, and all operations in progress.
#[derive(Clone, Debug)]
pub struct OneSided<R: 'static = AllEpochRules> {
    pub(super) here: Rank,
    pub(super) windows: Vec<Window>,
    pub(super) outgoing: OutgoingPackets,
    pub(super) origin_requests: OriginRequests,
    pub(super) target_replies: TargetReplies,
    /// A lock may have become free for a waiting process.
    pub(super) grants_due: bool,
    /// Epochs or deferred operations may be able to advance.
    pub(super) is_due: bool,
    /// Local state has changed without a packet.
    pub(super) has_moved: bool,
    pub(super) combine: CombineElements,
    pub(super) walk: WalkSpan,
    pub(super) rules: R,
}

/// Hashes the windows and the operations in progress. Omits reply IDs: only their order matters.
impl<R: 'static> Hash for OneSided<R> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.windows.hash(state);
        self.target_replies.cursors.iter().for_each(|cursor| cursor.hash(state));
        self.target_replies.results.iter().for_each(|one| one.hash(state));
        self.outgoing.ring.iter().for_each(|packet| packet.hash(state));
        self.outgoing.is_held.hash(state);
        self.origin_requests.used_slots().for_each(|slot| slot.hash(state));
        (self.grants_due, self.is_due, self.origin_requests.is_refused).hash(state);
    }
}

impl OneSided {
    /// Creates the state of the process with this rank, without windows.
    pub fn new(here: Rank, combine: CombineElements, walk: WalkSpan) -> OneSided {
        OneSided::with_rules(here, combine, walk, AllEpochRules)
    }
}

impl<R: EpochRules> OneSided<R> {
    /// Creates the state with the given rules enforced, for a model checker.
    pub fn with_rules(here: Rank, combine: CombineElements, walk: WalkSpan, rules: R) -> OneSided<R> {
        OneSided {
            here,
            windows: Vec::new(),
            outgoing: OutgoingPackets::new(),
            origin_requests: OriginRequests::new(),
            target_replies: TargetReplies::new(),
            grants_due: false,
            is_due: false,
            has_moved: false,
            combine,
            walk,
            rules,
        }
    }

    /// Allocates memory for another window; returns false when the heap is full.
    pub fn prepare(&mut self) -> bool {
        self.windows.try_reserve_exact(1).is_ok()
    }

    /// Adds a window; its memory has been allocated.
    pub fn add(&mut self, window: Window) {
        self.windows.push(window);
    }

    /// Removes a window.
    pub fn remove(&mut self, context: Context) -> Option<Window> {
        let at = self.place(context)?;
        Some(self.windows.swap_remove(at))
    }

    pub(super) fn place(&self, context: Context) -> Option<usize> {
        self.windows.iter().position(|window| window.context == context)
    }

    /// Returns the window with this context.
    pub fn window(&mut self, context: Context) -> Option<&mut Window> {
        let at = self.place(context)?;
        self.windows.get_mut(at)
    }

    /// Returns whether a get in progress reads from this memory.
    pub fn reads(&self, memory: Span) -> bool {
        self.target_replies.reads(memory)
    }

    /// Returns whether anything is to be sent.
    #[inline]
    pub(crate) fn has_pending_tx(&self) -> bool {
        !self.outgoing.ring.is_empty() || self.has_more_than_packets()
    }

    /// Returns whether anything is to be sent that is in no packet yet.
    #[inline]
    pub(super) fn has_more_than_packets(&self) -> bool {
        self.origin_requests.to_ask > 0 || !self.target_replies.is_empty() || self.grants_due || self.is_due
    }

    /// Returns whether epochs or deferred operations may be able to advance; if not, [`OneSided::advance_local`] does
    /// nothing.
    pub fn can_advance(&self) -> bool {
        self.is_due
    }

    /// Returns and clears whether local state has changed without a packet. A call may wait for just that: a progress
    /// step counts it like a sent packet.
    pub fn reset_moved(&mut self) -> bool {
        core::mem::take(&mut self.has_moved) && !self.is_broken(BrokenRule::MovesUnseen)
    }

    pub(super) fn is_broken(&self, flaw: BrokenRule) -> bool {
        self.rules.is_broken(flaw)
    }
}
