//! Handlers of RTSs: match, record (NCTSD: not clear to send data) or reject (NCTS: not clear to send), and reply.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::config::MAX_SHARED_ACKS;
use crate::envelope::{Envelope, Rank};
use crate::ids::{BlockIndex, Slot};
use crate::matching::Matching;
use crate::memory::UserMemory;
use crate::memory::region::RecordData;
use crate::peers::SourceState;
use crate::protocol::{ProtocolRules, RecordedMessage, RtsDecision, on_rts as decide};
use crate::recv::ProbedMessage;
use crate::recv::delayed_ack::DelayedAck;
use crate::recv::eager::EagerReceive;
use crate::request::MatchedMessage;
use crate::stats::Count;
use crate::wire::{self, ReplyFields, Rts, flag_if};
use msg_layer::ReplyPacket;

impl<R: ProtocolRules> Adi<R> {
    /// Handles an RTS with inline data on the fast path: receives it into the matching posted receive, or records it
    /// with its data. Requires that no source has rejected messages, so only the first two rows of [`decide`]'s table
    /// apply. Returns `None` if this fails; otherwise the result of [`Adi::receive_rts`].
    #[inline]
    pub(crate) fn receive_rts_fast<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        source: Rank,
        rts: &Rts,
        data: &[u8],
    ) -> Option<Option<ReplyPacket>> {
        let plain = self.peers.has_no_rejected() && rts.has_flag(Rts::INLINE) && !rts.has_flag(Rts::MORE);
        if !plain || self.peers.ages(source).from != rts.age {
            return None;
        }
        let matched = MatchedMessage {
            envelope: rts.envelope(source),
            length: rts.length,
        };
        match self.finish_first(&matched) {
            Some(span) => memory.write(span, 0, &data[..matched.wanted(span) as usize]),
            None => self.match_rts_fast(memory, &matched.envelope, rts, data)?,
        }
        self.stats.cts_sent += 1;
        let fields = ReplyFields {
            request: rts.request,
            flags: ReplyFields::COMPLETE,
            ..ReplyFields::default()
        };
        Some(self.reply_to_rts(memory, source, rts, wire::CTS, fields))
    }

    /// Matches an RTS of the fast path with any posted receive, or records it.
    #[inline]
    fn match_rts_fast<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        envelope: &Envelope,
        rts: &Rts,
        data: &[u8],
    ) -> Option<()> {
        match self.matching.match_incoming(&mut self.requests, envelope) {
            Some(slot) if self.requests.is_mprobe(slot) => return None,
            Some(slot) => {
                self.unpost(slot);
                self.accept(memory, slot, envelope, rts, data);
            }
            None => self.record_rts_fast(memory, envelope, rts, data)?,
        }
        self.receiver.probes.disarm_matching(envelope);
        Some(())
    }

    /// Records an unmatched message with its inline data; returns `None` when rules or memory prevent it.
    #[inline]
    fn record_rts_fast<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        envelope: &Envelope,
        rts: &Rts,
        data: &[u8],
    ) -> Option<()> {
        let recordable = rts.has_flag(Rts::IN_ORDER) || !self.rules().records_in_order();
        if rts.has_flag(Rts::SYNCHRONOUS) || !recordable {
            return None;
        }
        let at = self.region.record_complete(memory, *envelope, data)?;
        self.matching.record(&mut self.region, at);
        Some(())
    }

    /// Decides on an RTS and carries the decision out. Returns `None` when the acknowledgement is delayed.
    pub(crate) fn receive_rts<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        source: Rank,
        rts: &Rts,
        data: &[u8],
    ) -> Option<ReplyPacket> {
        let envelope = rts.envelope(source);
        let standing = self.peers.source_state(source);
        let ages_equal = self.peers.ages(source).from == rts.age;
        let posted = if ages_equal {
            self.matching.match_incoming(&mut self.requests, &envelope)
        } else {
            None
        };
        // Receives have been posted since the restart that this RTS answers: they may match an earlier message. An RTS
        // that the restart requested may match a receive older than the restart.
        let rules = self.rules();
        let posted_since = standing.is_posted_since();
        let early = rules.guards_posts() && posted_since && posted.is_some_and(|slot| !self.is_older(slot, rts.asked));
        let refused_before = matches!(standing, SourceState::Rejected | SourceState::WildcardQueued);
        let recordable = rts.has_flag(Rts::IN_ORDER) && !refused_before || !rules.records_in_order();
        let verdict = decide(ages_equal && !early, posted, || {
            if recordable {
                self.create_record(
                    memory,
                    &envelope,
                    rts.length,
                    rts.request,
                    rts.has_flag(Rts::SYNCHRONOUS),
                )
            } else {
                RecordedMessage::None
            }
        });
        let fields = ReplyFields {
            request: rts.request,
            flags: flag_if(!ages_equal || early, ReplyFields::STALE),
            ..ReplyFields::default()
        };
        let (handler, fields) = self.apply_decision(memory, &envelope, &verdict, fields, rts, data);
        if let RtsDecision::Reject { failed: true } = verdict
            && !posted_since
        {
            // After a receive was posted in the meantime, an earlier message may be requested first.
            let length = rts.length;
            self.receiver.probes.note_rejected(ProbedMessage { envelope, length });
        }
        if ages_equal {
            self.update_source_state(source, &verdict, rts);
            self.advance_restarts(memory, source, standing);
        }
        self.reply_to_rts(memory, source, rts, handler, fields)
    }

    /// Carries out the decision on an RTS; returns the handler ID and the fields of the reply.
    // Only one caller.
    #[inline(always)]
    fn apply_decision<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        envelope: &Envelope,
        verdict: &RtsDecision<Slot, BlockIndex>,
        fields: ReplyFields,
        rts: &Rts,
        data: &[u8],
    ) -> (u8, ReplyFields) {
        let source = envelope.source;
        match *verdict {
            RtsDecision::Receive(slot) if self.requests.is_mprobe(slot) => {
                let matched = MatchedMessage {
                    envelope: *envelope,
                    length: rts.length,
                };
                self.defer_with_nctsd(slot, matched, rts.request);
                self.stats.nctsd_sent += 1;
                (wire::NCTSD, fields)
            }
            RtsDecision::Receive(slot) => {
                self.unpost(slot);
                self.receiver.probes.disarm_matching(envelope);
                self.stats.cts_sent += 1;
                (wire::CTS, self.accept(memory, slot, envelope, rts, data))
            }
            RtsDecision::Buffer(at) => {
                self.receiver.probes.disarm_matching(envelope);
                self.stats.cts_sent += 1;
                (wire::CTS, self.accept_into_buffer(source, at, rts, data))
            }
            RtsDecision::Record(at) => {
                self.receiver.probes.disarm_matching(envelope);
                self.matching.record(&mut self.region, at);
                self.stats.nctsd_sent += 1;
                (wire::NCTSD, fields)
            }
            RtsDecision::Reject { .. } => {
                self.stats.ncts_sent += 1;
                (wire::NCTS, fields)
            }
        }
    }

    /// Updates the flow-control state of `source` after this decision on an RTS under the current age.
    pub(crate) fn update_source_state(&mut self, source: Rank, verdict: &RtsDecision<Slot, BlockIndex>, rts: &Rts) {
        match verdict {
            RtsDecision::Reject { failed: true } => self.peers.note_rejected(source),
            RtsDecision::Reject { failed: false } => self.peers.note_accepted(source, true, rts.has_flag(Rts::FOLLOWS)),
            _ => self
                .peers
                .note_accepted(source, rts.has_flag(Rts::MORE), rts.has_flag(Rts::FOLLOWS)),
        }
    }

    /// Handles the match of an RTS with the posted receive in `slot`.
    #[inline]
    pub(crate) fn accept<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        slot: Slot,
        envelope: &Envelope,
        rts: &Rts,
        data: &[u8],
    ) -> ReplyFields {
        let matched = MatchedMessage {
            envelope: *envelope,
            length: rts.length,
        };
        if rts.has_flag(Rts::INLINE) {
            let span = self.requests.span(slot);
            memory.write(span, 0, &data[..matched.wanted(span) as usize]);
            self.complete_receive(slot, matched);
            ReplyFields {
                request: rts.request,
                flags: ReplyFields::COMPLETE,
                ..ReplyFields::default()
            }
        } else {
            let fields = self.clear_to_send(slot, matched, rts.request);
            self.accept_stream(envelope.source, rts, fields)
        }
    }

    /// Completes the CTS `fields` for a long message: receives its eager data if it is in flight and a list entry is
    /// free.
    pub(crate) fn accept_stream(&mut self, source: Rank, rts: &Rts, fields: ReplyFields) -> ReplyFields {
        let eager = EagerReceive {
            source,
            request: rts.request,
            target: fields.target,
        };
        let streams = rts.has_flag(Rts::EAGER) && fields.wanted > 0 && self.receiver.eager.push(eager).is_ok();
        let flags = fields.flags | flag_if(streams, ReplyFields::STREAM);
        ReplyFields { flags, ..fields }
    }

    /// Completes the record with a buffer at `at` for an RTS.
    pub(crate) fn accept_into_buffer(&mut self, source: Rank, at: BlockIndex, rts: &Rts, data: &[u8]) -> ReplyFields {
        self.matching.record(&mut self.region, at);
        if rts.has_flag(Rts::INLINE) {
            self.region.write_buffer(at, 0, data);
            let received = rts.length;
            self.region.set_holding(at, RecordData::Buffer { received });
            ReplyFields {
                request: rts.request,
                flags: ReplyFields::COMPLETE,
                ..ReplyFields::default()
            }
        } else {
            let fields = ReplyFields {
                request: rts.request,
                target: self.region.id(at).0,
                wanted: rts.length,
                ..ReplyFields::default()
            };
            self.accept_stream(source, rts, fields)
        }
    }

    /// Creates the best record that memory allows, for a message with the sender's ID `sender`.
    pub(crate) fn create_record<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        envelope: &Envelope,
        length: u32,
        sender: u32,
        is_synchronous: bool,
    ) -> RecordedMessage<BlockIndex> {
        let region = &mut self.region;
        if !is_synchronous && let Some(at) = region.record_with_buffer(memory, *envelope, length) {
            return RecordedMessage::WithBuffer(at);
        }
        match region.record_without_buffer(memory, *envelope, length, sender) {
            Some(at) => RecordedMessage::WithoutBuffer(at),
            None => RecordedMessage::None,
        }
    }

    /// Dequeues the delayed acknowledgement to `source`, if any, to piggyback it.
    #[inline]
    pub(crate) fn take_delayed_ack(&mut self, source: Rank) -> Option<DelayedAck> {
        let at = self.delayed_ack_index(source)?;
        Some(self.receiver.delayed_acks.swap_remove(at))
    }

    #[inline]
    fn delayed_ack_index(&self, source: Rank) -> Option<usize> {
        let mut all = self.receiver.delayed_acks.iter();
        all.position(|deferred| deferred.source == source)
    }

    /// Returns the reply to an RTS; `None` when the acknowledgement is delayed, since its sender does not wait for it.
    #[inline]
    pub(crate) fn reply_to_rts<M: UserMemory + ?Sized>(
        &mut self,
        memory: &M,
        source: Rank,
        rts: &Rts,
        handler: u8,
        fields: ReplyFields,
    ) -> Option<ReplyPacket> {
        let scarce = self.region.is_low(memory);
        let earlier = self.delayed_ack_index(source);
        let before = earlier.map_or(0, |at| self.receiver.delayed_acks[at].count);
        let deferred = DelayedAck {
            source,
            request: rts.request,
            count: before + 1,
        };
        // The source has no rejected messages in its queue, so no restart waits for the reply either.
        let may_wait = rts.has_flag(Rts::ACK_DEFERRABLE)
            && fields.is(ReplyFields::COMPLETE)
            && !scarce
            && deferred.count < MAX_SHARED_ACKS
            && (self.peers.has_no_rejected() || self.peers.source_state(source) == SourceState::Clear);
        match earlier {
            Some(at) if may_wait => {
                // The most recently updated one is the last.
                let last = self.receiver.delayed_acks.len() - 1;
                self.receiver.delayed_acks[at] = deferred;
                self.receiver.delayed_acks.swap(at, last);
                return None;
            }
            Some(at) => {
                self.receiver.delayed_acks.swap_remove(at);
            }
            None if may_wait && self.receiver.delayed_acks.push(deferred).is_ok() => return None,
            None => {}
        }
        self.stats.cts_merged += before as Count;
        let fields = ReplyFields {
            flags: fields.flags | flag_if(scarce, ReplyFields::SCARCE),
            before,
            ..fields
        };
        Some(fields.emit(handler))
    }

    /// Handles CANCEL. Discards a message that was rejected, or that has a record here without a matching receive.
    /// Otherwise its CTS is in flight, and the sender uses that as the reply.
    pub(crate) fn handle_cancel<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        source: Rank,
        request: u32,
        refused: bool,
    ) -> Option<ReplyPacket> {
        if refused {
            self.receiver.probes.remove_cancelled(source);
            self.end_fetching(source);
        } else {
            let at = self.matching.find_record(&self.region, &|record| {
                record.envelope.source == source && record.holding == RecordData::None { sender: request }
            })?;
            self.matching.unrecord(&mut self.region, at);
            self.release(memory, at);
        }
        let fields = ReplyFields {
            request,
            ..ReplyFields::default()
        };
        Some(fields.emit(wire::CANCELLED))
    }
}
