//! One-sided communication as an [extension](crate::extensions) of the device.
#![forbid(unsafe_code)]

use alloc::boxed::Box;

use msg_layer::header::SHORT_BYTES;
use msg_layer::{HandlerResult, MalformedPacket, ReceivedPacket, TrafficClass};

use crate::adi::Adi;
use crate::envelope::Rank;
use crate::extensions::{ActiveExtension, ExtensionId, TransmitStep};
use crate::memory::UserMemory;
use crate::protocol::ProtocolRules;
use crate::rma::one_sided::OneSided;
use crate::rma::wire::{self, RmaRequest};

impl<R: ProtocolRules> Adi<R> {
    /// Enables one-sided communication.
    pub fn set_one_sided(&mut self, one_sided: Box<OneSided>) {
        self.extensions.one_sided = Some(one_sided);
        self.extensions.active.enable(
            ExtensionId::OneSided,
            ActiveExtension {
                take: handle_packet,
                next: write_packet,
            },
        );
    }

    /// Runs `f` on one-sided communication, if this process has or had windows.
    #[inline]
    pub fn with_one_sided<T>(&mut self, f: impl FnOnce(&mut OneSided) -> T) -> Option<T> {
        let all = self.extensions.one_sided.as_deref_mut()?;
        let result = f(all);
        self.extensions
            .active
            .set_pending(ExtensionId::OneSided, all.pending_packets());
        Some(result)
    }
}

fn handle_packet<R: ProtocolRules>(
    adi: &mut Adi<R>,
    memory: Option<&mut dyn UserMemory>,
    class: TrafficClass,
    arrival: &ReceivedPacket<'_>,
) -> HandlerResult {
    let memory = memory.ok_or(MalformedPacket)?;
    let request = RmaRequest {
        source: Rank::new(arrival.rank),
        argument: arrival.argument,
        place: arrival.place,
        bytes: arrival.bytes,
    };
    let take = |all: &mut OneSided| match class {
        TrafficClass::Normal => all.dispatch_request(memory, request),
        TrafficClass::Priority => all.dispatch_reply(memory, request).map(|()| None),
    };
    adi.with_one_sided(take).unwrap_or(Err(MalformedPacket))
}

fn write_packet<R: ProtocolRules>(
    adi: &mut Adi<R>,
    memory: Option<&mut dyn UserMemory>,
    out: &mut [u8; SHORT_BYTES],
) -> TransmitStep {
    let step = |all: &mut OneSided| {
        // Discards earlier changes: they have been reported.
        let _ = all.reset_moved();
        let leaving = all.next_packet(memory?, out);
        match leaving {
            Some(leaving) => Some(TransmitStep::Packet(wire::ONE_SIDED, leaving)),
            None => all.reset_moved().then_some(TransmitStep::Moved),
        }
    };
    adi.with_one_sided(step).flatten().unwrap_or(TransmitStep::Idle)
}
