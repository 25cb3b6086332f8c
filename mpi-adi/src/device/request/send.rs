//! A send, from the program's call to its end.
#![forbid(unsafe_code)]

use core::hash::{Hash, Hasher};

use msg_layer::Transfer;

use crate::device::envelope::{Context, Rank, Tag};
use crate::device::memory::Span;
use crate::device::names::{BcopyId, Serial};
use crate::device::protocol::Offer;

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

/// A posted receive for which a receiver asks to be offered a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Asked {
    /// The receive takes any tag.
    pub any_tag: bool,
    /// The receive takes no other source's messages, so that what is asked for is sure to be taken.
    pub exact: bool,
    /// The offer under way says so.
    pub told: bool,
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

/// What is known of a send in the pending send queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingSend {
    /// How often it has been offered.
    pub offer: Offer,
    /// Its place in the order of sends to the destination.
    pub serial: Serial,
    /// The receive for which a restart of the receiver asks for it.
    pub asked: Option<Asked>,
    /// It was last offered with everything before it accepted or offered so, too.
    pub in_order: bool,
    /// It was last offered with its data following at once.
    pub eager: bool,
    /// It is taken back as soon as the answer under way says that the receiver has not taken it.
    pub cancelled: bool,
    /// Its answer may wait for that to a later one: [`Mode::Followed`].
    pub patient: bool,
}

impl PendingSend {
    /// Offered so often, for the first time in the queue.
    pub fn new(offer: Offer) -> PendingSend {
        PendingSend {
            offer,
            serial: 0,
            asked: None,
            in_order: offer == Offer::Unanswered,
            eager: false,
            cancelled: false,
            patient: false,
        }
    }
}

/// Serial numbers say no more than the order of the queue, and whether a message was offered in order is of
/// interest to the next one as long as its answer is under way.
impl Hash for PendingSend {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let in_order = self.in_order && self.offer == Offer::Unanswered;
        (self.offer, self.asked, in_order, self.eager).hash(state);
        (self.cancelled, self.patient).hash(state);
    }
}

impl Send {
    /// It has been offered to `dest` and has no answer.
    pub(crate) fn is_offered_to(&self, dest: Rank) -> bool {
        let offered =
            matches!(&self.state, SendState::Pending(send) if send.offer == Offer::Unanswered);
        offered && self.dest == dest
    }

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
