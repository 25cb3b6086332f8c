//! A send, from the program's call to its end.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use msg_layer::Transfer;

use crate::envelope::{Context, Rank, Tag};
use crate::memory::Span;
use crate::names::{BcopyId, Serial};
use crate::protocol::Offer;

/// Whether a send may complete before a receive has matched it (MPI-3.1 section 3.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// As soon as the receiver has recorded it or the data has left.
    Standard,
    /// As standard, and another message to the same receiver follows whose answer is not put off, and serves for this one.
    Followed,
    /// Only once a receive has matched it.
    Synchronous,
}

/// A posted receive for which a receiver asks to be offered a message, as the marks of a [`PendingSend`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Asked(u8);

impl Asked {
    const ALL: u8 = ASKED | ANY_TAG | EXACT | TOLD;

    /// The receive takes any tag; it takes no other source's messages. No offer says so yet.
    pub fn new(any_tag: bool, exact: bool) -> Asked {
        let mark = |is, mark| if is { mark } else { 0 };
        Asked(ASKED | mark(any_tag, ANY_TAG) | mark(exact, EXACT))
    }

    /// The receive takes any tag.
    pub fn any_tag(self) -> bool {
        self.0 & ANY_TAG != 0
    }

    /// The receive takes no other source's messages, so that what is asked for is sure to be taken.
    pub fn is_exact(self) -> bool {
        self.0 & EXACT != 0
    }

    /// The offer under way says so.
    pub fn is_told(self) -> bool {
        self.0 & TOLD != 0
    }
}

/// How far a held send is that the program has cancelled (MPI-3.1 section 3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Withdrawal {
    /// It has not been cancelled.
    None,
    /// The receiver, who has recorded it, is still to be asked to forget it.
    Unasked,
    /// The receiver, who has refused it but may have noted it for a probe, is still to be asked to forget it.
    Refused,
    /// The receiver has been asked.
    Asked,
}

/// The bytes of bcopies, by name.
pub(crate) trait Copies<'a>: Copy + Fn(BcopyId) -> &'a [u8] {}

impl<'a, F: Copy + Fn(BcopyId) -> &'a [u8]> Copies<'a> for F {}

/// Where a send's data is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Data {
    /// In the program's buffer.
    User(Span),
    /// In the copy of a bcopy, which is complete for the program.
    Bcopy(BcopyId),
}

/// A send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Send {
    /// The destination.
    pub dest: Rank,
    /// The tag.
    pub tag: Tag,
    /// The communicator's context.
    pub context: Context,
    /// The mode.
    pub mode: Mode,
    /// Bytes of the message; once they leave by a CTS, those that the receiver wants.
    pub length: u32,
    /// Where they are: no more and no less.
    pub data: Data,
    /// Where it stands.
    pub state: SendState,
}

/// Where a send stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendState {
    /// Bcopy, and has not left yet.
    Bcopy,
    /// In the destination's pending send queue.
    Pending(PendingSend),
    /// Recorded at the receiver without a buffer (NCTSD), or taken back after it was refused: waits for CTS,
    /// or for CANCELLED.
    Held(Withdrawal),
    /// Data packets are leaving.
    Sending(Transfer),
    /// Accepted while its data is leaving eagerly.
    Streaming,
    /// Finished; the program has yet to ask.
    Done {
        /// It was taken back.
        cancelled: bool,
    },
}

/// What is known of a send in the pending send queue, as its slot keeps it: ten bytes behind two of the state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, packed(2))]
pub struct PendingSend {
    /// How often it has been offered.
    pub offer: Offer,
    marks: u8,
    serial: Serial,
}

/// It was last offered with everything before it accepted or offered so, too.
pub(crate) const IN_ORDER: u8 = 1 << 0;
/// It was last offered with its data following at once.
pub(crate) const EAGER: u8 = 1 << 1;
/// It is taken back as soon as the answer under way says that the receiver has not taken it.
pub(crate) const CANCELLED: u8 = 1 << 2;
/// Its answer may wait for that to a later one: [`Mode::Followed`].
pub(crate) const PATIENT: u8 = 1 << 3;
/// A restart of the receiver asks for it; the other three are of that ([`Asked`]).
const ASKED: u8 = 1 << 4;
const ANY_TAG: u8 = 1 << 5;
const EXACT: u8 = 1 << 6;
const TOLD: u8 = 1 << 7;

impl PendingSend {
    /// Offered so often, for the first time in the queue.
    pub fn new(offer: Offer) -> PendingSend {
        PendingSend {
            offer,
            marks: match offer {
                Offer::Unanswered => IN_ORDER,
                Offer::Unsent | Offer::Refused => 0,
            },
            serial: 0,
        }
    }

    /// What one of the marks says.
    #[inline]
    pub(crate) fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// Sets one of the marks.
    #[inline]
    pub(crate) fn set(&mut self, mark: u8, to: bool) {
        match to {
            true => self.marks |= mark,
            false => self.marks &= !mark,
        }
    }

    /// Its place in the order of sends to the destination.
    #[inline]
    pub(crate) fn serial(&self) -> Serial {
        self.serial
    }

    pub(crate) fn set_serial(&mut self, serial: Serial) {
        self.serial = serial;
    }

    /// The receive for which a restart of the receiver asks for it.
    #[inline]
    pub(crate) fn asked(&self) -> Option<Asked> {
        self.is(ASKED).then_some(Asked(self.marks & Asked::ALL))
    }

    pub(crate) fn set_asked(&mut self, asked: Option<Asked>) {
        self.marks = self.marks & !Asked::ALL | asked.map_or(0, |asked| asked.0);
    }

    /// If a restart asks for it, the offer under way says so, or none does.
    #[inline]
    pub(crate) fn set_told(&mut self, told: bool) {
        self.set(TOLD, told && self.is(ASKED));
    }
}

/// Serial numbers say no more than the order of the queue, and whether a message was offered in order is of
/// interest to the next one as long as its answer is under way.
impl Hash for PendingSend {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut known = *self;
        known.set(
            IN_ORDER,
            self.is(IN_ORDER) && self.offer == Offer::Unanswered,
        );
        (known.offer, known.marks).hash(state);
    }
}

impl Send {
    /// Hashes what the device does with it from now on, up to names.
    pub(crate) fn hash<'a, H: Hasher>(&self, copy: impl Copies<'a>, state: &mut H) {
        (self.dest, self.tag, self.context, self.mode, self.length).hash(state);
        match self.data {
            Data::User(span) => span.hash(state),
            Data::Bcopy(bcopy) => copy(bcopy).hash(state),
        }
        self.state.hash(state);
    }
}
