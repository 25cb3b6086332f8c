//! The host's side of the interface.
#![forbid(unsafe_code)]

use super::data::{Incoming, Outgoing, Received, Sent};
use crate::adi::Adi;
use crate::kernel::Kernel;
use crate::names::RequestId;
use crate::request::Whole;

/// Whether messages take the fast path of the bindings. In the profile micro they use the general path only: the fast
/// path takes two fifths of the instructions and some kilobytes more.
pub const HAS_FAST_PATH: bool = cfg!(not(feature = "micro"));

/// An operation's work with the device and its host.
pub type Work<'a> = dyn FnMut(&mut Adi, &mut dyn Kernel) + 'a;

/// The host's side: lends the device of this process to one operation at a time.
pub trait Enter {
    /// Runs `work` once with the device and its kernel, link interrupts held off meanwhile. Only
    /// [`Device`](super::Device)'s operations call it, and never from inside `work`.
    fn enter<'w>(&self, work: &'w mut Work<'w>);

    /// Sends a message of [`Mode::Standard`](crate::request::Mode::Standard), if it is complete or started without a
    /// step of progress. Does not block. [`Sent::Not`]: nothing has changed.
    fn fast_send(&self, outgoing: &Outgoing) -> Sent {
        let _ = outgoing;
        Sent::Not
    }

    /// Receives a message within a call of `function`, and waits for it ([`finish`](super::finish)). [`Received::Not`]:
    /// nothing has changed. [`Received::Started`]: the wait ended without a whole message, and the request is still
    /// there.
    fn fast_receive(&self, function: &'static str, incoming: &Incoming) -> Received {
        let _ = (function, incoming);
        Received::Not
    }

    /// Starts a receive. Does not block. `None`: nothing has changed.
    fn fast_start_receive(&self, incoming: &Incoming) -> Option<RequestId> {
        let _ = incoming;
        None
    }

    /// Waits for a request ([`finish`](super::finish)). `None`: nothing has been told of the request, which may have
    /// finished.
    fn fast_wait(&self, function: &'static str, id: RequestId) -> Option<Whole> {
        let _ = (function, id);
        None
    }
}
