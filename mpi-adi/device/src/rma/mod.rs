//! One-sided communication, RMA (MPI-3.1 chapter 11), below the calls: windows, and the packets between them.
//!
//! The origin drives everything. An operation travels in packets of one handler, each of which specifies the action and
//! the location, byte by byte or element by element: the origin walks both datatypes, and the target requires none. The
//! packets of a pair are normal packets in order, so that
//!
//! * a put or an accumulate is complete when its packet has been handled, in a call or an interrupt handler, and
//!   requires no memory at the target and no reply;
//! * accumulates of a pair are applied in the order of their calls, each element atomically, since packets are handled
//!   one after the other;
//! * the end of an epoch counts no operations: a FLUSH or an UNLOCK follows them, and its reply confirms that they are
//!   done; a COMPLETE requires no reply.
//!
//! Epochs are opened, closed and flushed without blocking ([`epochs`]); operations that cannot be sent yet are recorded
//! and sent later ([`deferred_ops`]). Blocking calls do the same, and wait.
//!
//! ```text
//!   origin                                   target
//!   ring: packets to transmit, the last of them held for more pieces of its kind (`pieces`)
//!                                 ---------> handled on arrival: memory, locks, counters
//!   slots: outstanding replies      <------- 16 bytes of reply: a short fetch or get, a flush
//!          `- requested again     <--------- rejected: no slot is free
//!                                 <--------- results of longer fetches; cursors: data of longer gets, round robin
//! ```
//!
//! # Memory
//! The memory that peers can make a process use is fixed, and allocated with its first window: [`CURSORS`] gets in
//! progress, and [`RESULTS`] results of fetches longer than a reply. A window contains a [`WindowPeer`] for each process of
//! the job, because the interrupt handler for a process's first packet could not allocate one. A get or a fetch that
//! finds no free slot is rejected without any change, and its origin requests it again. A lock that cannot be granted
//! is a flag. Grants are in round robin by rank, so each waiting process is granted the lock after at most one grant to
//! each other process, and never requests it twice.
//!
//! # Integration
//! RMA is an extension (`device/extensions.rs`) of the device, linked with the first window: a program without windows
//! contains none of it.
#![forbid(unsafe_code)]

pub mod calls;
pub mod deferred_ops;
pub mod epochs;
mod extension;
mod origin;
mod pieces;
mod target;
#[cfg(test)]
mod tests;
pub mod wire;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use msg_layer::handler::{MalformedPacket, ReplyPacket};
use msg_layer::header::{SHORT_BYTES, TargetOffset};

use crate::envelope::{Context, Rank};
use crate::extensions::OutgoingPacket;
use crate::memory::{Span, UserMemory};

use deferred_ops::DeferredEntry;
use epochs::{AllEpochRules, BrokenRule, Epoch, EpochRules, FenceTree, ReorderFlags, WindowSequence};
pub use origin::{ReplyPurpose, TargetRequest, get_request};
use origin::{ReplySlot, RmaPacket};
pub use pieces::DataPieces;
use target::{FetchResult, GetCursor, WindowLock};

/// Size of the ring buffer of outgoing packets.
pub const RING_PACKETS: usize = 8;
/// Maximum number of outstanding replies at an origin; further calls wait.
pub const SLOTS: usize = 64;
/// Maximum number of concurrent gets, longer than a reply, that a target serves.
pub const CURSORS: usize = 16;
/// Maximum bytes of one get; longer ones are split.
pub const MAX_GET_BYTES: u32 = 1 << 30;
/// Maximum number of fetch results, longer than a reply, that a target keeps until they are sent.
pub const RESULTS: usize = 8;
/// Maximum size of all this in bytes.
pub const ONE_SIDED_BYTES: usize = 10 << 10;
const _: () = assert!(size_of::<OneSided>() <= ONE_SIDED_BYTES);
/// Epochs for which a window has memory from the start.
const EPOCHS_AT_FIRST: usize = 2;

/// Returns the maximum heap bytes of a window in a job of `processes` processes, with at most one region: itself, a
/// [`WindowPeer`] for each process, and memory for its first epochs and one deferred operation or flush. Only the root of its
/// tree uses all.
pub const fn window_bytes(processes: usize) -> usize {
    let children = usize::BITS - processes.saturating_sub(1).leading_zeros();
    size_of::<Window>()
        + processes * size_of::<WindowPeer>()
        + EPOCHS_AT_FIRST * epochs::EPOCH_BYTES
        + deferred_ops::DEFERRED_BYTES
        + size_of::<Span>()
        + children as usize * size_of::<Rank>()
}

/// Applies an operation to elements: the operation, the elements' datatype, the origin's elements, and the target's, in
/// place. Returns false when the operation does not exist, or the bytes are not whole elements.
pub type CombineElements = fn(u8, u8, &[u8], &mut [u8]) -> bool;

/// A received request: its source, the header's argument and target, and the payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RmaRequest<'a> {
    pub(crate) source: Rank,
    pub(crate) argument: u16,
    pub(crate) place: Option<TargetOffset>,
    pub(crate) bytes: &'a [u8],
}

/// Walks bytes of a span, from an offset and for a length. Calls the function for each contiguous run, with its
/// address, the number of bytes before it, and its length.
pub type WalkSpan = fn(Span, usize, usize, &mut dyn FnMut(usize, usize, usize));

/// Flags of a process in a window, one bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct PeerFlags(u16);

impl PeerFlags {
    /// It is in the window's group.
    pub const MEMBER: PeerFlags = PeerFlags(1);
    /// Operations have been sent to it since the last flush.
    pub const TOUCHED: PeerFlags = PeerFlags(2);
    /// The lock of all is requested there.
    const ASKED: PeerFlags = PeerFlags(4);
    /// This process has a lock there.
    pub const HELD: PeerFlags = PeerFlags(8);
    /// It has a lock here.
    const HOLDS: PeerFlags = PeerFlags(16);
    /// It waits for a shared lock here.
    const WAITS_SHARED: PeerFlags = PeerFlags(32);
    /// It waits for an exclusive lock here.
    const WAITS_EXCLUSIVE: PeerFlags = PeerFlags(64);
    /// An operation of it was out of bounds, and it has not been notified.
    const FAULT: PeerFlags = PeerFlags(128);
    /// The lock of all is to be requested there.
    const WANTED: PeerFlags = PeerFlags(256);
    /// An operation for it waits, so later ones do, too; within one pass.
    const BLOCKED: PeerFlags = PeerFlags(512);
    /// It has a lock here, and has not been notified.
    const UNTOLD: PeerFlags = PeerFlags(1024);
    /// It waits for a shared lock here, and may have others elsewhere.
    const WAITS_BESIDE: PeerFlags = PeerFlags(2048);

    fn has(self, flag: PeerFlags) -> bool {
        self.0 & flag.0 != 0
    }

    fn set(&mut self, flag: PeerFlags, to: bool) {
        if to { self.0 |= flag.0 } else { self.0 &= !flag.0 }
    }
}

/// State of a process in a window: one epoch counter for each direction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct WindowPeer {
    flags: PeerFlags,
    /// Exposure epochs that it has opened for this process and that no access epoch here has used.
    grants: u8,
    /// Access epochs to this process that it has completed and that no exposure epoch here has used.
    dones: u8,
}

/// The remotely accessible memory of a window.
#[derive(Clone, Debug)]
struct ExposedMemory {
    /// One region, or the attached ones.
    regions: Vec<Span>,
    /// Displacements are addresses, not offsets in the one region.
    is_dynamic: bool,
    disp_unit: u32,
    /// Remote access is disabled.
    is_withdrawn: bool,
}

/// A window, with all its memory.
#[derive(Clone, Debug)]
pub struct Window {
    context: Context,
    exposure: ExposedMemory,
    peers: Box<[WindowPeer]>,
    lock: WindowLock,
    /// An operation of this process was out of bounds at a target.
    is_faulty: bool,
    reorder: ReorderFlags,
    /// Epochs in the order in which they were opened; calls remove completed ones.
    epochs: Vec<Epoch>,
    /// Incomplete operations and flushes, in order.
    deferred: Vec<DeferredEntry>,
    /// The sequence number of the next epoch, operation or flush.
    serial: WindowSequence,
    tree: FenceTree,
}

/// Hashes all state that determines the window's behaviour, for a model checker.
impl Hash for Window {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.peers, &self.lock, self.is_faulty).hash(state);
        (&self.tree, self.reorder).hash(state);
        let waits = self.epochs.iter().filter(|epoch| !epoch.is_complete());
        waits.for_each(|epoch| epoch.hash(state));
        self.deferred
            .iter()
            .filter(|deferred| !deferred.is_done())
            .for_each(|deferred| deferred.hash(state));
    }
}

impl Window {
    /// Creates a window of these processes, with ranks below `peers.len()`; `context` identifies it. `None`: the heap
    /// is full.
    pub fn new(
        context: Context,
        regions: Vec<Span>,
        is_dynamic: bool,
        disp_unit: u32,
        mut peers: Box<[WindowPeer]>,
        members: impl Iterator<Item = Rank>,
        here: Rank,
    ) -> Option<Window> {
        for member in members {
            if let Some(peer) = peers.get_mut(member.index() as usize) {
                peer.flags.set(PeerFlags::MEMBER, true);
            }
        }
        let tree = FenceTree::new(&peers, here)?;
        // For blocking calls, which use one of each at a time.
        let (mut epochs, mut deferred) = (Vec::new(), Vec::new());
        epochs.try_reserve_exact(EPOCHS_AT_FIRST).ok()?;
        deferred.try_reserve_exact(1).ok()?;
        Some(Window {
            context,
            exposure: ExposedMemory {
                regions,
                is_dynamic,
                disp_unit,
                is_withdrawn: false,
            },
            peers,
            lock: WindowLock::default(),
            is_faulty: false,
            reorder: ReorderFlags::default(),
            epochs,
            deferred,
            serial: 1,
            tree,
        })
    }

    /// Sets which epochs may overtake others.
    pub fn set_reorder(&mut self, reorder: ReorderFlags) {
        self.reorder = reorder;
    }

    /// Returns which epochs may overtake others.
    pub fn reorder(&self) -> ReorderFlags {
        self.reorder
    }

    fn flags(&mut self, rank: Rank) -> Option<&mut PeerFlags> {
        Some(&mut self.peer(rank)?.flags)
    }

    fn peer(&mut self, rank: Rank) -> Option<&mut WindowPeer> {
        self.peers.get_mut(rank.index() as usize)
    }

    /// Returns whether the process has this flag.
    pub fn has(&self, rank: Rank, flag: PeerFlags) -> bool {
        let peer = self.peers.get(rank.index() as usize);
        peer.is_some_and(|peer| peer.flags.has(flag))
    }

    /// Clears the flag of the process.
    pub fn clear(&mut self, rank: Rank, flag: PeerFlags) {
        if let Some(flags) = self.flags(rank) {
            flags.set(flag, false);
        }
    }

    /// Returns the first process from rank `from` on with this flag.
    pub fn next_with(&self, flag: PeerFlags, from: u32) -> Option<Rank> {
        let rest = self.peers.get(from as usize..)?;
        let at = rest.iter().position(|peer| peer.flags.has(flag))?;
        Some(Rank::new(from + at as u32))
    }

    /// Returns and clears whether an operation of this process was out of bounds at a target.
    pub fn reset_fault(&mut self) -> bool {
        core::mem::take(&mut self.is_faulty)
    }

    /// Disables remote access to the memory, or enables it again: meanwhile, remote operations are out of bounds.
    pub fn revoke_access(&mut self, is_withdrawn: bool) {
        self.exposure.is_withdrawn = is_withdrawn;
    }

    /// Exposes additional memory.
    ///
    /// # Errors
    /// [`AttachError`]: nothing has changed.
    pub fn attach(&mut self, memory: Span) -> Result<(), AttachError> {
        let (base, end) = (memory.address(), memory.address() + memory.len());
        let overlaps = |other: &Span| base < other.address() + other.len() && other.address() < end;
        if self.exposure.regions.iter().any(overlaps) {
            return Err(AttachError::Overlaps);
        }
        self.exposure
            .regions
            .try_reserve(1)
            .map_err(|_| AttachError::OutOfMemory)?;
        self.exposure.regions.push(memory);
        Ok(())
    }

    /// Detaches the memory that begins at this address. `None`: no such memory exists.
    pub fn detach(&mut self, base: usize) -> Option<Span> {
        let begins = |region: &Span| region.address() == base;
        let at = self.exposure.regions.iter().position(begins)?;
        Some(self.exposure.regions.swap_remove(at))
    }
}

/// Reason why memory cannot be attached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttachError {
    /// Part of it is attached already.
    Overlaps,
    /// The heap is full.
    OutOfMemory,
}

/// Outgoing packets.
#[derive(Clone, Debug)]
struct OutgoingPackets {
    ring: heapless::Deque<RmaPacket, RING_PACKETS>,
    /// The last packet accepts more pieces.
    is_held: bool,
}

/// Requests of this process that targets reply to.
#[derive(Clone, Debug)]
struct OriginRequests {
    slots: [ReplySlot; SLOTS],
    /// Slots whose request is still to be sent.
    to_ask: u32,
    /// Replies awaited so far.
    asked: u64,
    /// The last fetch of a long result was rejected.
    is_refused: bool,
}

/// Replies of this process, as a target.
#[derive(Clone, Debug)]
struct TargetReplies {
    cursors: heapless::Deque<GetCursor, CURSORS>,
    results: heapless::Vec<FetchResult, RESULTS>,
}

/// One-sided communication of a process: its windows, and all operations in progress.
#[derive(Clone, Debug)]
pub struct OneSided<R: 'static = AllEpochRules> {
    here: Rank,
    windows: Vec<Window>,
    outgoing: OutgoingPackets,
    origin_requests: OriginRequests,
    target_replies: TargetReplies,
    /// A lock may have become free for a waiting process.
    grants_due: bool,
    /// Epochs or deferred operations may be able to advance.
    is_due: bool,
    /// Local state has changed without a packet.
    has_moved: bool,
    combine: CombineElements,
    walk: WalkSpan,
    rules: R,
}

/// Hashes the windows and the operations in progress. Omits reply IDs: only their order matters.
impl<R: 'static> Hash for OneSided<R> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.windows.hash(state);
        self.target_replies.cursors.iter().for_each(|cursor| cursor.hash(state));
        self.target_replies.results.iter().for_each(|one| one.hash(state));
        self.outgoing.ring.iter().for_each(|packet| packet.hash(state));
        self.outgoing.is_held.hash(state);
        for slot in self.origin_requests.slots.iter().filter(|slot| slot.is_in_use()) {
            slot.hash(state);
        }
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
            outgoing: OutgoingPackets {
                ring: heapless::Deque::new(),
                is_held: false,
            },
            origin_requests: OriginRequests {
                slots: [ReplySlot::FREE; SLOTS],
                to_ask: 0,
                asked: 0,
                is_refused: false,
            },
            target_replies: TargetReplies {
                cursors: heapless::Deque::new(),
                results: heapless::Vec::new(),
            },
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

    fn place(&self, context: Context) -> Option<usize> {
        self.windows.iter().position(|window| window.context == context)
    }

    /// Returns whether a get in progress reads from this memory.
    pub fn reads(&self, memory: Span) -> bool {
        self.target_replies.cursors.iter().any(|cursor| cursor.is_in(memory))
    }

    /// Returns the window with this context.
    pub fn window(&mut self, context: Context) -> Option<&mut Window> {
        let at = self.place(context)?;
        self.windows.get_mut(at)
    }

    /// Returns whether anything is to be sent.
    #[inline]
    pub(crate) fn has_pending_tx(&self) -> bool {
        !self.outgoing.ring.is_empty() || self.has_more_than_packets()
    }

    /// Returns whether anything is to be sent that is in no packet yet.
    #[inline]
    fn has_more_than_packets(&self) -> bool {
        self.origin_requests.to_ask > 0
            || !self.target_replies.results.is_empty()
            || !self.target_replies.cursors.is_empty()
            || self.grants_due
            || self.is_due
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

    fn is_broken(&self, flaw: BrokenRule) -> bool {
        self.rules.is_broken(flaw)
    }

    /// Emits the next packet: first the program's packets, then its requests, then replies to other processes. Work
    /// that epochs and deferred operations prepare for earlier stages is sent in the same step, so a step without a
    /// packet means that nothing remains.
    fn next_packet(&mut self, memory: &mut dyn UserMemory, out: &mut [u8; SHORT_BYTES]) -> Option<OutgoingPacket> {
        let mut leaving = None;
        while leaving.is_none() && self.has_pending_tx() {
            leaving = self
                .next_from_ring(out)
                .or_else(|| self.next_requested(out))
                .or_else(|| self.next_fetched(out))
                .or_else(|| self.next_from_cursors(memory, out))
                .or_else(|| self.next_grant(out))
                .or_else(|| self.next_epoch_packet(memory, out));
        }
        leaving
    }
}

/// One-sided communication without a device around it, for models and tests.
#[doc(hidden)]
impl<R: EpochRules> OneSided<R> {
    /// Emits the next packet: returns its destination, argument and target, and its length in `out`.
    pub fn emit_packet(
        &mut self,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Option<(Rank, u16, Option<TargetOffset>, usize)> {
        let leaving = self.next_packet(memory, out)?;
        Some((leaving.dest, leaving.argument, leaving.place, leaving.len))
    }

    /// Handles a request of `source`; returns the reply.
    pub fn handle_request(
        &mut self,
        memory: &mut dyn UserMemory,
        source: Rank,
        argument: u16,
        place: Option<TargetOffset>,
        bytes: &[u8],
    ) -> Result<Option<ReplyPacket>, MalformedPacket> {
        let request = RmaRequest {
            source,
            argument,
            place,
            bytes,
        };
        self.dispatch_request(memory, request)
    }

    /// Handles a reply of `source`.
    pub fn handle_reply(
        &mut self,
        memory: &mut dyn UserMemory,
        source: Rank,
        argument: u16,
        bytes: &[u8],
    ) -> Result<(), MalformedPacket> {
        let answer = RmaRequest {
            source,
            argument,
            place: None,
            bytes,
        };
        self.dispatch_reply(memory, answer)
    }

    /// Returns this process's rank.
    pub fn own_rank(&self) -> Rank {
        self.here
    }

    /// Returns whether anything is to be sent.
    pub fn is_busy(&self) -> bool {
        self.has_pending_tx()
    }
}
