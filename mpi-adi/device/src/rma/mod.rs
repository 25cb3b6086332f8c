//! One-sided communication (MPI-3.1 chapter 11) below the calls: windows, and the packets between them.
//!
//! Everything is driven by the origin. An operation travels as packets of one handler, each of which says what is to be
//! done and where, byte by byte or element by element: the origin walks both datatypes, and the target needs none. The
//! packets of a pair are normal ones that keep their order, so that
//!
//! * a put or an accumulate is in place when its packet has been taken, in a call or by an interrupt, and takes no
//!   memory at the target and no answer;
//! * accumulates of a pair are applied in the order of their calls, each element at one go, since packets are taken one
//!   after the other;
//! * what closes an epoch counts no operations: a FLUSH or an UNLOCK comes behind them, and its answer says that they
//!   are done; a COMPLETE needs no answer at all.
//!
//! Epochs are opened, closed and flushed without blocking ([`epochs`]); what cannot be done yet is recorded and done
//! when it can ([`deferred`]). Calls that block are the same, and wait.
//!
//! ```text
//!   origin                                   target
//!   ring: packets that are ready, the last of them held for more pieces of its kind (`pieces`)
//!                                 ---------> taken at once: memory, locks, notes
//!   slots: answers that are awaited <------- 16 bytes of answer: a short fetch or get, a flush
//!          `- asked for once more <--------- refused: no place is free
//!                                 <--------- results of longer fetches; cursors: data of longer gets, in turn
//! ```
//!
//! # Memory
//! What peers can make a process hold is fixed, and comes into being with its first window: [`CURSORS`] gets that it
//! answers, [`RESULTS`] results of fetches longer than an answer; and in a window a [`Peer`] for each process of the
//! job: the interrupt that brings a process's first packet could not make one. A get or a fetch that finds no place is refused, changes nothing, and is asked for again by
//! its origin. A lock that cannot be granted is a flag: grants go round by rank, so that each that waits is granted
//! after at most one grant to each other process, and none is asked for twice.
//!
//! # How it is hooked in
//! It is a part (`device/parts.rs`) of the device, which comes with the first window. A program that makes none has
//! nothing of it.
#![forbid(unsafe_code)]

pub mod calls;
pub mod deferred;
pub mod epochs;
mod origin;
mod part;
mod pieces;
mod target;
#[cfg(test)]
mod tests;
pub mod wire;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use msg_layer::handler::{Answer, Malformed};
use msg_layer::header::{Place, SHORT_BYTES};

use crate::envelope::{Context, Rank};
use crate::memory::{Span, UserMemory};
use crate::parts::Leaving;

use deferred::Deferred;
use epochs::{Epoch, Flaw, Reorder, Rules, Serial, Sound, Tree};
pub use origin::{Awaited, Question, get_request};
use origin::{Packet, Slot};
pub use pieces::Pieces;
use target::{Cursor, Fetched, Lock};

/// Packets of operations that are ready to leave.
pub const RING_PACKETS: usize = 8;
/// Answers that an origin awaits at the same time, at most; what would await more waits in its call.
pub const SLOTS: usize = 64;
/// Gets of more bytes than an answer holds that a target serves at the same time.
pub const CURSORS: usize = 16;
/// Bytes of one get, at most; longer ones are several.
pub const MOST_GET: u32 = 1 << 30;
/// Results of fetches, longer than an answer, that a target keeps until they leave.
pub const RESULTS: usize = 8;
/// Bytes of all this, at most.
pub const ONE_SIDED_BYTES: usize = 10 << 10;
const _: () = assert!(size_of::<OneSided>() <= ONE_SIDED_BYTES);
/// Epochs that a window has room for from the start.
const EPOCHS_AT_FIRST: usize = 2;

/// Bytes of the heap that a window takes at most, in a job of so many processes, with one region or none: itself, a
/// [`Peer`] for each process, and room for its first epochs and an operation or flush that is deferred. The process at
/// the top of the window's tree takes them all.
pub const fn window_bytes(processes: usize) -> usize {
    let children = usize::BITS - processes.saturating_sub(1).leading_zeros();
    size_of::<Window>()
        + processes * size_of::<Peer>()
        + EPOCHS_AT_FIRST * epochs::EPOCH_BYTES
        + deferred::DEFERRED_BYTES
        + size_of::<Span>()
        + children as usize * size_of::<Rank>()
}

/// Applies an operation to elements: which, the elements' datatype, the origin's, and the target's in place. False when
/// there is no such operation, or the bytes are not whole elements.
pub type Combine = fn(u8, u8, &[u8], &mut [u8]) -> bool;

/// A request as it comes: its source, the header's argument and place, and the payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) source: Rank,
    pub(crate) argument: u16,
    pub(crate) place: Option<Place>,
    pub(crate) bytes: &'a [u8],
}

/// Walks bytes of a span: gets the span, where to begin and how many, and what is told of each run where it is, how
/// many bytes come before it, and how many it has.
pub type Walk = fn(Span, usize, usize, &mut dyn FnMut(usize, usize, usize));

/// What a window knows of a process, a bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Flags(u16);

impl Flags {
    /// It is in the window's group.
    pub const MEMBER: Flags = Flags(1);
    /// Operations have left for it since the last flush.
    pub const TOUCHED: Flags = Flags(2);
    /// The lock of all is asked for there.
    const ASKED: Flags = Flags(4);
    /// This process has a lock there.
    pub const HELD: Flags = Flags(8);
    /// It has a lock here.
    const HOLDS: Flags = Flags(16);
    /// It waits for a shared lock here.
    const WAITS_SHARED: Flags = Flags(32);
    /// It waits for an exclusive lock here.
    const WAITS_EXCLUSIVE: Flags = Flags(64);
    /// An operation of its own went beyond the window, and it has not been told.
    const FAULT: Flags = Flags(128);
    /// The lock of all is to be asked for there.
    const WANTED: Flags = Flags(256);
    /// An operation for it waits, so that those behind do, too; during one look at them.
    const BLOCKED: Flags = Flags(512);
    /// It has a lock here, and has not been told.
    const UNTOLD: Flags = Flags(1024);
    /// It waits for a shared lock here, and may have others elsewhere.
    const WAITS_BESIDE: Flags = Flags(2048);

    fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 != 0
    }

    fn set(&mut self, flag: Flags, to: bool) {
        match to {
            true => self.0 |= flag.0,
            false => self.0 &= !flag.0,
        }
    }
}

/// A process, as a window knows it: one counter for epochs of each direction.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Peer {
    flags: Flags,
    /// Exposure epochs that it has opened for this process and that no access epoch here has used.
    grants: u8,
    /// Access epochs to this process that it has completed and that no exposure epoch here has used.
    dones: u8,
}

/// The memory of a window that others can reach.
#[derive(Clone, Debug)]
struct Exposure {
    /// One region, or those that are attached.
    regions: Vec<Span>,
    /// Places are addresses, not bytes from the beginning of the one region.
    is_dynamic: bool,
    disp_unit: u32,
    /// The program has the memory to itself: to others there is none.
    is_withdrawn: bool,
}

/// What is made of a window, with everything that its memory takes.
#[derive(Clone, Debug)]
pub struct Window {
    context: Context,
    exposure: Exposure,
    peers: Box<[Peer]>,
    lock: Lock,
    /// An operation from here went beyond a target's window.
    is_faulty: bool,
    reorder: Reorder,
    /// Epochs in the order in which they were opened; those that are complete are taken out by calls.
    epochs: Vec<Epoch>,
    /// Operations and flushes that have not ended, in their order.
    deferred: Vec<Deferred>,
    /// The number of the next epoch, operation or flush.
    serial: Serial,
    tree: Tree,
}

/// All that the window's behaviour depends on, for a model checker.
impl Hash for Window {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.peers, &self.lock, self.is_faulty).hash(state);
        (&self.tree, self.reorder).hash(state);
        let waits = self.epochs.iter().filter(|epoch| !epoch.is_complete());
        waits.for_each(|epoch| epoch.hash(state));
        self.deferred
            .iter()
            .filter(|deferred| !deferred.is_over())
            .for_each(|deferred| deferred.hash(state));
    }
}

impl Window {
    /// A window of these processes, which are numbered among `peers.len()`; `context` names it in all of them. `None`:
    /// the heap has no room for it.
    pub fn new(
        context: Context,
        regions: Vec<Span>,
        (is_dynamic, disp_unit): (bool, u32),
        mut peers: Box<[Peer]>,
        (members, here): (impl Iterator<Item = Rank>, Rank),
    ) -> Option<Window> {
        for member in members {
            if let Some(peer) = peers.get_mut(member.index() as usize) {
                peer.flags.set(Flags::MEMBER, true);
            }
        }
        let tree = Tree::new(&peers, here)?;
        // For calls that block, which have one of each at a time.
        let (mut epochs, mut deferred) = (Vec::new(), Vec::new());
        epochs.try_reserve_exact(EPOCHS_AT_FIRST).ok()?;
        deferred.try_reserve_exact(1).ok()?;
        Some(Window {
            context,
            exposure: Exposure {
                regions,
                is_dynamic,
                disp_unit,
                is_withdrawn: false,
            },
            peers,
            lock: Lock::default(),
            is_faulty: false,
            reorder: Reorder::default(),
            epochs,
            deferred,
            serial: 1,
            tree,
        })
    }

    /// Which epochs may pass others from now on.
    pub fn set_reorder(&mut self, reorder: Reorder) {
        self.reorder = reorder;
    }

    /// Which epochs may pass others.
    pub fn reorder(&self) -> Reorder {
        self.reorder
    }

    fn flags(&mut self, rank: Rank) -> Option<&mut Flags> {
        Some(&mut self.peer(rank)?.flags)
    }

    fn peer(&mut self, rank: Rank) -> Option<&mut Peer> {
        self.peers.get_mut(rank.index() as usize)
    }

    /// The process has this flag.
    pub fn has(&self, rank: Rank, flag: Flags) -> bool {
        let peer = self.peers.get(rank.index() as usize);
        peer.is_some_and(|peer| peer.flags.has(flag))
    }

    /// Takes the flag off the process.
    pub fn clear(&mut self, rank: Rank, flag: Flags) {
        if let Some(flags) = self.flags(rank) {
            flags.set(flag, false);
        }
    }

    /// The first process from number `from` on with this flag.
    pub fn next_with(&self, flag: Flags, from: u32) -> Option<Rank> {
        let rest = self.peers.get(from as usize..)?;
        let at = rest.iter().position(|peer| peer.flags.has(flag))?;
        Some(Rank::new(from + at as u32))
    }

    /// An operation from here went beyond a target's window since the last look.
    pub fn take_fault(&mut self) -> bool {
        core::mem::take(&mut self.is_faulty)
    }

    /// Withdraws the memory, and gives it back: an operation of others on it meanwhile is beyond the window.
    pub fn withdraw(&mut self, is_withdrawn: bool) {
        self.exposure.is_withdrawn = is_withdrawn;
    }

    /// Exposes more memory.
    ///
    /// # Errors
    /// [`NotAttached`]: nothing has changed.
    pub fn attach(&mut self, memory: Span) -> Result<(), NotAttached> {
        let (base, end) = (memory.address(), memory.address() + memory.len());
        let overlaps = |other: &Span| base < other.address() + other.len() && other.address() < end;
        if self.exposure.regions.iter().any(overlaps) {
            return Err(NotAttached::Overlaps);
        }
        self.exposure
            .regions
            .try_reserve(1)
            .map_err(|_| NotAttached::NoRoom)?;
        self.exposure.regions.push(memory);
        Ok(())
    }

    /// Exposes the memory that begins there no longer. `None`: there is no such memory.
    pub fn detach(&mut self, base: usize) -> Option<Span> {
        let begins = |region: &Span| region.address() == base;
        let at = self.exposure.regions.iter().position(begins)?;
        Some(self.exposure.regions.swap_remove(at))
    }
}

/// Why memory cannot be attached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotAttached {
    /// Some of it is attached already.
    Overlaps,
    /// The heap has no room to note it.
    NoRoom,
}

/// Packets that are to leave.
#[derive(Clone, Debug)]
struct Outbox {
    ring: heapless::Deque<Packet, RING_PACKETS>,
    /// The last of them takes more pieces.
    is_held: bool,
}

/// The requests of this process that targets answer.
#[derive(Clone, Debug)]
struct Questions {
    slots: [Slot; SLOTS],
    /// Slots whose request has to leave.
    to_ask: u32,
    /// Answers that have been awaited so far.
    asked: u64,
    /// The last fetch of a long result was refused.
    is_refused: bool,
}

/// The answers of this process, as a target.
#[derive(Clone, Debug)]
struct Answers {
    cursors: heapless::Deque<Cursor, CURSORS>,
    results: heapless::Vec<Fetched, RESULTS>,
}

/// One-sided communication of a process: its windows, and what is under way.
#[derive(Clone, Debug)]
pub struct OneSided<R: 'static = Sound> {
    here: Rank,
    windows: Vec<Window>,
    outbox: Outbox,
    questions: Questions,
    answers: Answers,
    /// A lock may have become free for one that waits.
    grants_due: bool,
    /// Epochs or what is deferred may get on.
    is_due: bool,
    /// Something has been done here that made no packet.
    has_moved: bool,
    combine: Combine,
    walk: Walk,
    rules: R,
}

/// As for a window; names of answers matter by their order alone, which the slots have.
impl<R: 'static> Hash for OneSided<R> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.windows.hash(state);
        self.answers
            .cursors
            .iter()
            .for_each(|cursor| cursor.hash(state));
        self.answers.results.iter().for_each(|one| one.hash(state));
        self.outbox
            .ring
            .iter()
            .for_each(|packet| packet.hash(state));
        self.outbox.is_held.hash(state);
        for slot in self.questions.slots.iter().filter(|slot| slot.is_in_use()) {
            slot.hash(state);
        }
        (self.grants_due, self.is_due, self.questions.is_refused).hash(state);
    }
}

impl OneSided {
    /// No windows, of the process with this number.
    pub fn new(here: Rank, combine: Combine, walk: Walk) -> OneSided {
        OneSided::with_rules(here, combine, walk, Sound)
    }
}

impl<R: Rules> OneSided<R> {
    /// As [`OneSided::new`], with these rules kept and others broken, for a model checker.
    pub fn with_rules(here: Rank, combine: Combine, walk: Walk, rules: R) -> OneSided<R> {
        OneSided {
            here,
            windows: Vec::new(),
            outbox: Outbox {
                ring: heapless::Deque::new(),
                is_held: false,
            },
            questions: Questions {
                slots: [Slot::FREE; SLOTS],
                to_ask: 0,
                asked: 0,
                is_refused: false,
            },
            answers: Answers {
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

    /// Makes room for another window; false when the heap has none.
    pub fn prepare(&mut self) -> bool {
        self.windows.try_reserve_exact(1).is_ok()
    }

    /// Enters a window, for which there is room.
    pub fn add(&mut self, window: Window) {
        self.windows.push(window);
    }

    /// Takes a window out.
    pub fn remove(&mut self, context: Context) -> Option<Window> {
        let at = self.place(context)?;
        Some(self.windows.swap_remove(at))
    }

    fn place(&self, context: Context) -> Option<usize> {
        self.windows
            .iter()
            .position(|window| window.context == context)
    }

    /// Data of a get is still to be read from this memory.
    pub fn reads(&self, memory: Span) -> bool {
        self.answers
            .cursors
            .iter()
            .any(|cursor| cursor.is_in(memory))
    }

    /// The window of this name.
    pub fn window(&mut self, context: Context) -> Option<&mut Window> {
        let at = self.place(context)?;
        self.windows.get_mut(at)
    }

    /// Something is to leave.
    #[inline]
    pub(crate) fn has_to_send(&self) -> bool {
        !self.outbox.ring.is_empty() || self.has_more_than_packets()
    }

    /// Something is to leave that is in no packet yet.
    #[inline]
    fn has_more_than_packets(&self) -> bool {
        self.questions.to_ask > 0
            || !self.answers.results.is_empty()
            || !self.answers.cursors.is_empty()
            || self.grants_due
            || self.is_due
    }

    /// Epochs or what is deferred may get on; else [`OneSided::go_on_here`] has nothing to do.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Something has been done here that made no packet, since this was asked last. A call may wait for just that: a step
    /// of progress counts it as one that leaves.
    pub fn take_moved(&mut self) -> bool {
        core::mem::take(&mut self.has_moved) && !self.breaks(Flaw::MovesUnseen)
    }

    fn breaks(&self, flaw: Flaw) -> bool {
        self.rules.breaks(flaw)
    }

    /// The next packet to leave: what the program has made ready, then what it asks for, then what others have asked. A
    /// step that finds none leaves nothing to be done: where epochs and what is deferred make something ready that has
    /// its turn before them, it leaves now.
    fn next(
        &mut self,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Option<Leaving> {
        let mut leaving = None;
        while leaving.is_none() && self.has_to_send() {
            leaving = self
                .next_of_ring(out)
                .or_else(|| self.next_asked(out))
                .or_else(|| self.next_fetched(out))
                .or_else(|| self.next_of_cursors(memory, out))
                .or_else(|| self.next_grant(out))
                .or_else(|| self.next_due(memory, out));
        }
        leaving
    }
}

/// One-sided communication without a device around it, for models and tests.
#[doc(hidden)]
impl<R: Rules> OneSided<R> {
    /// The next packet to leave: its destination, argument and place, and its length in `out`.
    pub fn leave(
        &mut self,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Option<(Rank, u16, Option<Place>, usize)> {
        let leaving = self.next(memory, out)?;
        Some((leaving.dest, leaving.argument, leaving.place, leaving.len))
    }

    /// Takes a request of `source`; its answer.
    pub fn take(
        &mut self,
        memory: &mut dyn UserMemory,
        (source, argument, place, bytes): (Rank, u16, Option<Place>, &[u8]),
    ) -> Result<Option<Answer>, Malformed> {
        let request = Request {
            source,
            argument,
            place,
            bytes,
        };
        self.take_request(memory, request)
    }

    /// Takes an answer of `source`.
    pub fn hear(
        &mut self,
        memory: &mut dyn UserMemory,
        (source, argument, bytes): (Rank, u16, &[u8]),
    ) -> Result<(), Malformed> {
        let answer = Request {
            source,
            argument,
            place: None,
            bytes,
        };
        self.take_answer(memory, answer)
    }

    /// This process.
    pub fn here(&self) -> Rank {
        self.here
    }

    /// Something is to leave.
    pub fn is_busy(&self) -> bool {
        self.has_to_send()
    }
}
