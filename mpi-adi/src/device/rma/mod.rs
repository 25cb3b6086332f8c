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
//! * what closes an epoch needs no counters: a FLUSH or an UNLOCK comes behind the operations, and its answer says that
//!   they are done; a COMPLETE needs no answer at all.
//!
//! ```text
//!   origin                                   target
//!   ring: packets that are ready  ---------> taken at once: memory, locks, notes
//!   slots: answers that are awaited <------- 16 bytes of answer: a short fetch or get, a flush
//!          `- asked for once more <--------- refused: no place is free
//!                                 <--------- results of longer fetches; cursors: data of longer gets, in turn
//! ```
//!
//! # Memory
//! What peers can make a process hold is fixed, and comes into being with its first window: [`CURSORS`] gets that it
//! answers, [`RESULTS`] results of fetches longer than an answer; and in a window a byte of [`Flags`] for
//! each process of the job. A get or a fetch that finds no place is refused, changes nothing, and is asked for again by
//! its origin. A lock that cannot be granted is a flag: grants go round by rank, so that each that waits is granted
//! after at most one grant to each other process, and none is asked for twice.
//!
//! # How it is hooked in
//! The device calls this module by [`Hooks`] alone, which come with the first window. A program that makes none has
//! nothing of it.
#![forbid(unsafe_code)]

mod origin;
mod target;
#[cfg(test)]
mod tests;
pub mod wire;

use alloc::boxed::Box;
use alloc::vec::Vec;

use msg_layer::handler::{Answer, Malformed};
use msg_layer::header::{Place, SHORT_BYTES};

use crate::device::envelope::{Context, Rank};
use crate::device::memory::{Span, UserMemory};

pub use origin::{Awaited, get_request};
use origin::{Packet, Slot};
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
/// Bytes of a window, at most, without a byte for each process of the job and 16 for each region.
pub const WINDOW_BYTES: usize = 112;
const _: () = assert!(size_of::<Window>() <= WINDOW_BYTES);

/// Applies an operation to elements: which, the elements' datatype, the origin's, and the target's in place. False when
/// there is no such operation, or the bytes are not whole elements.
pub type Combine = fn(u8, u8, &[u8], &mut [u8]) -> bool;

/// A packet that is to leave.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    pub(in crate::device) dest: Rank,
    pub(in crate::device) argument: u16,
    pub(in crate::device) place: Option<Place>,
    pub(in crate::device) len: usize,
}

/// A request as it comes: its source, the header's argument and place, and the payload.
#[derive(Clone, Copy, Debug)]
pub(in crate::device) struct Request<'a> {
    pub(in crate::device) source: Rank,
    pub(in crate::device) argument: u16,
    pub(in crate::device) place: Option<Place>,
    pub(in crate::device) bytes: &'a [u8],
}

/// What takes a packet that has come.
type Take<T> = fn(&mut OneSided, &mut dyn UserMemory, Request<'_>) -> Result<T, Malformed>;

/// How the device calls what is here.
#[derive(Clone, Copy, Debug)]
pub(in crate::device) struct Hooks {
    pub(in crate::device) take_request: Take<Option<Answer>>,
    pub(in crate::device) take_answer: Take<()>,
    pub(in crate::device) next:
        fn(&mut OneSided, &mut dyn UserMemory, &mut [u8; SHORT_BYTES]) -> Option<Leaving>,
}

/// What a window knows of a process, a bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Flags(u8);

impl Flags {
    /// It is in the window's group.
    pub const MEMBER: Flags = Flags(1);
    /// Operations have left for it since the last flush.
    pub const TOUCHED: Flags = Flags(2);
    /// It has posted an exposure epoch for this process, which has not completed its access yet.
    pub const POSTED: Flags = Flags(4);
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

/// What is made of a window, with everything that its memory takes.
#[derive(Clone, Debug)]
pub struct Window {
    context: Context,
    /// What is exposed: one region, or those that are attached.
    regions: Vec<Span>,
    /// Places are addresses, not bytes from the beginning of the one region.
    is_dynamic: bool,
    disp_unit: u32,
    peers: Box<[Flags]>,
    lock: Lock,
    /// Processes for which an exposure epoch is open here and that have not completed theirs.
    exposed_to: u32,
    /// An operation from here went beyond a target's window.
    is_faulty: bool,
}

impl Window {
    /// A window of these processes, which are numbered among `peers.len()`; `context` names it in all of them.
    pub fn new(
        context: Context,
        regions: Vec<Span>,
        (is_dynamic, disp_unit): (bool, u32),
        mut peers: Box<[Flags]>,
        members: impl Iterator<Item = Rank>,
    ) -> Window {
        for member in members {
            if let Some(flags) = peers.get_mut(member.index() as usize) {
                flags.set(Flags::MEMBER, true);
            }
        }
        Window {
            context,
            regions,
            is_dynamic,
            disp_unit,
            peers,
            lock: Lock::default(),
            exposed_to: 0,
            is_faulty: false,
        }
    }

    fn flags(&mut self, rank: Rank) -> Option<&mut Flags> {
        self.peers.get_mut(rank.index() as usize)
    }

    /// The process has this flag.
    pub fn has(&self, rank: Rank, flag: Flags) -> bool {
        let flags = self.peers.get(rank.index() as usize);
        flags.is_some_and(|flags| flags.has(flag))
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
        let at = rest.iter().position(|flags| flags.has(flag))?;
        Some(Rank::new(from + at as u32))
    }

    /// An operation from here went beyond a target's window since the last look.
    pub fn take_fault(&mut self) -> bool {
        core::mem::take(&mut self.is_faulty)
    }

    /// Opens an exposure epoch for so many processes.
    pub fn expose(&mut self, to: u32) {
        self.exposed_to = to;
    }

    /// Processes that have not completed their access to the open exposure epoch.
    pub fn exposed_to(&self) -> u32 {
        self.exposed_to
    }

    /// What is exposed; the caller makes room before it adds.
    pub fn regions(&mut self) -> &mut Vec<Span> {
        &mut self.regions
    }
}

/// One-sided communication of a process: its windows, and what is under way.
#[derive(Clone, Debug)]
pub struct OneSided {
    here: Rank,
    windows: Vec<Window>,
    ring: heapless::Deque<Packet, RING_PACKETS>,
    slots: [Slot; SLOTS],
    /// Slots whose request has to leave.
    to_ask: u32,
    cursors: heapless::Deque<Cursor, CURSORS>,
    results: heapless::Vec<Fetched, RESULTS>,
    /// A lock may have become free for one that waits.
    grants_due: bool,
    /// The last fetch of a long result was refused.
    is_refused: bool,
    combine: Combine,
    pub(in crate::device) hooks: Hooks,
}

impl OneSided {
    /// No windows, of the process with this number.
    pub fn new(here: Rank, combine: Combine) -> OneSided {
        OneSided {
            here,
            windows: Vec::new(),
            ring: heapless::Deque::new(),
            slots: [Slot::FREE; SLOTS],
            to_ask: 0,
            cursors: heapless::Deque::new(),
            results: heapless::Vec::new(),
            grants_due: false,
            is_refused: false,
            combine,
            hooks: Hooks {
                take_request: OneSided::take_request,
                take_answer: OneSided::take_answer,
                next: OneSided::next,
            },
        }
    }

    /// Makes room for another window; false when the heap has none.
    pub fn prepare(&mut self) -> bool {
        self.windows.try_reserve(1).is_ok()
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

    /// The window of this name.
    pub fn window(&mut self, context: Context) -> Option<&mut Window> {
        let at = self.place(context)?;
        self.windows.get_mut(at)
    }

    /// Something is to leave.
    #[inline]
    pub(in crate::device) fn has_to_send(&self) -> bool {
        !self.ring.is_empty()
            || self.to_ask > 0
            || !self.results.is_empty()
            || !self.cursors.is_empty()
            || self.grants_due
    }

    /// The next packet to leave: what the program has made ready, then what it asks for, then what others have asked.
    fn next(
        &mut self,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Option<Leaving> {
        self.next_of_ring(out)
            .or_else(|| self.next_asked(out))
            .or_else(|| self.next_fetched(out))
            .or_else(|| self.next_of_cursors(memory, out))
            .or_else(|| self.next_grant(out))
    }
}
