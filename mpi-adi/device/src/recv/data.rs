//! Handlers of incoming data packets.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::envelope::Rank;
use crate::ids::RequestId;
use crate::memory::UserMemory;
use crate::memory::region::{RecordData, RecordId};
use crate::protocol::ProtocolRules;
use crate::request::{MatchedMessage, SlotEntry};
use msg_layer::header::TargetOffset;
use msg_layer::{MalformedPacket, Reassembly};

impl<R: ProtocolRules> Adi<R> {
    /// Handles an eager data packet. Drops it if its message is not being received: the sender knows, and sends it
    /// again.
    pub(crate) fn handle_eager<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        source: Rank,
        place: TargetOffset,
        bytes: &[u8],
    ) -> Result<(), MalformedPacket> {
        let at = self
            .receiver
            .eager
            .iter()
            .position(|coming| coming.source == source && coming.request == place.target);
        let Some(at) = at else {
            self.stats.eager_dropped += 1;
            return Ok(());
        };
        let target = self.receiver.eager[at].target;
        let total = match RecordId::from_target(target) {
            Some(id) => {
                let index = self.region.find(id).ok_or(MalformedPacket)?;
                self.region.record(index).ok_or(MalformedPacket)?.length
            }
            None => {
                let receive = self.requests.entry_by_id(RequestId(target));
                receive.and_then(SlotEntry::wanted).ok_or(MalformedPacket)?
            }
        };
        // Truncates data beyond the receive buffer.
        let room = total.saturating_sub(place.offset) as usize;
        let bytes = &bytes[..bytes.len().min(room)];
        let place = TargetOffset { target, ..place };
        if self.handle_data(memory, place, bytes)? {
            self.receiver.eager.swap_remove(at);
        }
        Ok(())
    }

    /// Handles a packet of a long message; returns whether it completes the message. Malformed without a target.
    pub(crate) fn handle_data<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        place: TargetOffset,
        bytes: &[u8],
    ) -> Result<bool, MalformedPacket> {
        match RecordId::from_target(place.target) {
            Some(id) => self.handle_record_data(memory, id, place, bytes),
            None => self.handle_receive_data(memory, place, bytes),
        }
    }

    pub(crate) fn handle_record_data<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        id: RecordId,
        place: TargetOffset,
        bytes: &[u8],
    ) -> Result<bool, MalformedPacket> {
        let at = self.region.find(id).ok_or(MalformedPacket)?;
        let record = self.region.record(at).ok_or(MalformedPacket)?;
        let (received, bound) = match record.holding {
            RecordData::Buffer { received } => (received, None),
            RecordData::MatchedBuffer { received, receive } => (received, Some(receive)),
            RecordData::None { .. } => return Err(MalformedPacket),
        };
        let mut landing = Reassembly {
            received,
            total: record.length,
        };
        let whole = landing.accept(place.offset, bytes.len()).map_err(|_| MalformedPacket)?;
        self.region.write_buffer(at, place.offset, bytes);
        let received = landing.received;
        match bound {
            Some(receive) if whole => {
                let matched = MatchedMessage {
                    envelope: record.envelope,
                    length: record.length,
                };
                self.copy_buffered(memory, receive.slot(), matched, at);
            }
            Some(receive) => {
                let bound = RecordData::MatchedBuffer { received, receive };
                self.region.set_holding(at, bound);
            }
            None => self.region.set_holding(at, RecordData::Buffer { received }),
        }
        Ok(whole)
    }

    pub(crate) fn handle_receive_data<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        place: TargetOffset,
        bytes: &[u8],
    ) -> Result<bool, MalformedPacket> {
        let id = RequestId(place.target);
        let landed = self.requests.begin_receive(id, place.offset, bytes.len());
        let (span, whole) = landed.ok_or(MalformedPacket)?;
        memory.write(span, place.offset as usize, bytes);
        if let Some(matched) = whole {
            self.complete_receive(id.slot(), matched);
        }
        Ok(whole.is_some())
    }
}
