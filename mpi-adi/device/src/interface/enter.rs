//! The host's side of the interface.
#![forbid(unsafe_code)]

use super::data::{FastRecv, FastSend, IncomingMessage, OutgoingMessage};
use crate::adi::Adi;
use crate::config::MICRO;
use crate::ids::RequestId;
use crate::kernel::Kernel;
use crate::request::PlainCompletion;

/// Whether messages take the fast path of the bindings. In the profile micro they use the general path only: the fast
/// path takes two fifths of the instructions and some kilobytes more.
pub const HAS_FAST_PATH: bool = !MICRO;

/// Work of an operation, with access to the device and its host.
pub type Work<'a> = dyn FnMut(&mut Adi, &mut dyn Kernel) + 'a;

/// The host's side: gives one operation at a time exclusive access to this process's device.
pub trait EnterDevice {
    /// Runs `work` once with the device and its kernel, with link interrupts disabled. Only the operations of
    /// [`Device`](super::Device) use it, never within `work`.
    fn enter<'w>(&self, work: &'w mut Work<'w>);

    /// Returns the time of [`Kernel::now`], if possible without entering the device. Does not block.
    fn now_ns(&self) -> u64 {
        let mut now = 0;
        self.enter(&mut |_, kernel| now = kernel.now());
        now
    }

    /// Sends a message of [`SendMode::Standard`](crate::request::SendMode::Standard), if it completes or starts without a
    /// progress step. Does not block. On [`FastSend::Unavailable`], nothing has changed.
    fn fast_send(&self, outgoing: &OutgoingMessage) -> FastSend {
        let _ = outgoing;
        FastSend::Unavailable
    }

    /// Receives a message within a call of `function`, and waits for it ([`finish`](super::finish)). On
    /// [`FastRecv::Unavailable`], nothing has changed. On [`FastRecv::Started`], it has not completed plainly, and the request
    /// exists.
    fn fast_receive(&self, function: &'static str, incoming: &IncomingMessage) -> FastRecv {
        let _ = (function, incoming);
        FastRecv::Unavailable
    }

    /// Starts a receive. Does not block. On `None`, nothing has changed.
    fn fast_start_receive(&self, incoming: &IncomingMessage) -> Option<RequestId> {
        let _ = incoming;
        None
    }

    /// Waits for a request ([`finish`](super::finish)). On `None`, the request may or may not have completed.
    fn fast_wait(&self, function: &'static str, id: RequestId) -> Option<PlainCompletion> {
        let _ = (function, id);
        None
    }
}
