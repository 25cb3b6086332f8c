//! Parts of the device that few programs use. Each comes with its first use: until then nothing that every program runs
//! names it, so that an image without it has neither its code nor its cost.
//!
//! A part takes the packets of its number, requests and answers, which only come to who uses it; and it says when it has
//! something to send, which leaves behind what messages have to send.
#![forbid(unsafe_code)]

use msg_layer::header::{Place, SHORT_BYTES};
use msg_layer::{Arrival, Class, Taken};

use crate::envelope::Rank;
use crate::memory::UserMemory;
use crate::names::{RequestId, Slot};

/// What parts there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Name {
    /// Sends that the program takes back.
    Cancels,
    /// One-sided communication.
    OneSided,
}

/// Number of them.
const PARTS: usize = 2;
/// The bits of those that have something to send now.
const NOW: u8 = (1 << PARTS) - 1;
const _: () = assert!(2 * PARTS <= u8::BITS as usize);
/// The handler number of the first part's packets.
const FIRST: u8 = 7;

impl Name {
    /// Handler number of the part's packets.
    pub const fn handler(self) -> u8 {
        FIRST + self as u8
    }
}

/// Takes a packet, in a device `A`; the memory is the program's, where the device has [all of it](UserMemory::whole).
pub(super) type Take<A> = fn(&mut A, Option<&mut dyn UserMemory>, Class, &Arrival<'_>) -> Taken;

/// The next packet, whose bytes it writes.
pub(super) type Next<A> = fn(&mut A, Option<&mut dyn UserMemory>, &mut [u8; SHORT_BYTES]) -> Step;

/// Takes the send in this slot back, whose answer has come.
pub(super) type TakeBack<A> = fn(&mut A, Slot) -> bool;

/// What a cancelled receive that is still posted may have waited for.
#[derive(Clone, Copy, Debug)]
pub(super) enum CancelEvent {
    /// This source has answered a restart.
    Answered(Rank),
    /// The program has given up the request of this name.
    GivenUp(RequestId),
}

/// Ends cancelled receives that have waited for this.
pub(super) type EndCancelled<A> = fn(&mut A, CancelEvent);

/// A packet that is to leave, as its part has it.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    pub(crate) dest: Rank,
    pub(crate) argument: u16,
    pub(crate) place: Option<Place>,
    pub(crate) len: usize,
}

/// Whether a part has something to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// It has nothing.
    Nothing,
    /// It has a packet that more may be added to: it leaves with the next step that is made anyway, and before a call waits.
    Held,
    /// It has.
    Now,
}

/// What a part does when it is asked for its next packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Nothing: there was nothing to do.
    Nothing,
    /// Something that makes no packet.
    Moved,
    /// A packet of this handler.
    Packet(u8, Leaving),
}

/// A part in use.
#[derive(Clone, Debug)]
pub(super) struct Part<A> {
    pub take: Take<A>,
    pub next: Next<A>,
}

/// The parts in use, and which of them have something to send.
#[derive(Clone, Debug)]
pub(super) struct Parts<A> {
    in_use: [Option<Part<A>>; PARTS],
    /// Which have something to send: a bit for each. And by as many bits as there are parts above it, which have something
    /// that waits for more of its kind.
    due: u8,
    /// From the first send on that is to be taken back and has no answer yet.
    take_back: Option<TakeBack<A>>,
    /// While cancelled receives are still posted.
    end_cancelled: Option<EndCancelled<A>>,
}

impl<A> Parts<A> {
    /// None is in use.
    pub const fn new() -> Self {
        Parts {
            in_use: [const { None }; PARTS],
            due: 0,
            take_back: None,
            end_cancelled: None,
        }
    }

    /// From now on there may be sends that are to be taken back when their answers have come.
    pub fn begin_taking_back(&mut self, take_back: TakeBack<A>) {
        self.take_back = Some(take_back);
    }

    /// What takes such a send back.
    pub fn take_back(&self) -> Option<TakeBack<A>> {
        self.take_back
    }

    /// Sets what ends cancelled receives that are still posted; `None`: there are none.
    pub fn set_end_cancelled(&mut self, end: Option<EndCancelled<A>>) {
        self.end_cancelled = end;
    }

    /// What ends cancelled receives that are still posted, if there are any.
    #[inline]
    pub fn end_cancelled(&self) -> Option<EndCancelled<A>> {
        self.end_cancelled
    }

    /// From now on this part is in use.
    pub fn begin(&mut self, name: Name, part: Part<A>) {
        self.in_use[name as usize] = Some(part);
    }

    /// Whether this part has something to send.
    pub fn set_due(&mut self, name: Name, due: Due) {
        let bit = 1 << name as u8;
        self.due &= !(bit | bit << PARTS);
        self.due |= match due {
            Due::Nothing => 0,
            Due::Held => bit << PARTS,
            Due::Now => bit,
        };
    }

    /// Packets that wait for more of their kind do not wait any longer.
    #[inline]
    pub fn release(&mut self) {
        if self.due > NOW {
            self.due = self.due & NOW | self.due >> PARTS;
        }
    }

    /// Some part has something to send.
    #[inline]
    pub fn are_due(&self) -> bool {
        self.due & NOW != 0
    }

    /// No part has anything to send, not even what waits for more.
    #[inline]
    pub fn are_idle(&self) -> bool {
        self.due == 0
    }

    /// A part that has something to send, be it something that waits for more.
    pub fn next(&self) -> Option<Next<A>> {
        let due = self.due | self.due >> PARTS;
        let part = self.in_use.get(due.trailing_zeros() as usize)?;
        part.as_ref().map(|part| part.next)
    }

    /// What takes packets of this number.
    pub fn take(&self, handler: u8) -> Option<Take<A>> {
        let place = handler.checked_sub(FIRST)?;
        let part = self.in_use.get(usize::from(place))?;
        part.as_ref().map(|part| part.take)
    }
}
