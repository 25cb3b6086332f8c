//! The receiving side: the program's receives and probes, and what comes from the senders.
#![forbid(unsafe_code)]

pub(super) mod deferred;
pub(super) mod eager;
pub mod probe;

pub use probe::Probed;

use msg_layer::header::Place;
use msg_layer::{Answer, Landing, Malformed};

use crate::device::adi::Adi;
use crate::device::config::{NoMemory, SHARED_ANSWER};
use crate::device::envelope::{Envelope, Pattern, Rank};
use crate::device::matching::Matching;
use crate::device::memory::region::{BLOCK_BYTES, Holding, RecordId};
use crate::device::memory::{Span, UserMemory};
use crate::device::names::{BlockIndex, Horizon, RequestId, Serial, Slot};
use crate::device::peers::Standing;
use crate::device::protocol::{Age, Recorded, Rules, Verdict, on_rts as decide};
use crate::device::recv::deferred::DeferredAck;
use crate::device::recv::eager::Eager;
use crate::device::recv::probe::Arming;
use crate::device::request::{
    CHAIN, Coming, KEPT_SLOTS, Matched, Posted, Receive, ReceiveState, Request,
};
use crate::device::wire::{self, Done, Entry, Fields, RESTART_ENTRIES, ROOM_FOR_ALL, Restart, Rts};

/// Most messages that one restart has room for, so that sources share what is free.
const RESTART_ROOM: u16 = 8;
/// What a restart names, and where it stands in the order of receives.
type Named = heapless::Vec<(Serial, Entry), RESTART_ENTRIES>;
impl<R: Rules, E: Matching> Adi<R, E> {
    /// Starts receiving into `span`. Fails only when the program's heap has no room for the request.
    pub fn irecv<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: Pattern,
        span: Span,
    ) -> Result<RequestId, NoMemory> {
        self.start_recv(memory, pattern, span, KEPT_SLOTS)
    }

    /// As [`Adi::irecv`], for a call that blocks until the request has finished: it takes what is kept for
    /// such calls, and so goes on when the heap is used up.
    pub fn recv_within_call<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: Pattern,
        span: Span,
    ) -> Result<RequestId, NoMemory> {
        self.start_recv(memory, pattern, span, 0)
    }

    fn start_recv<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: Pattern,
        span: Span,
        keep: u32,
    ) -> Result<RequestId, NoMemory> {
        let none = NoMemory::Requests {
            live: self.requests.named(),
        };
        self.requests.grow(1 + keep).map_err(|_| none)?;
        let posted = Posted {
            pattern,
            serial: self.posts,
            to_name: false,
        };
        let state = ReceiveState::Posted(posted);
        let receive = Request::Receive(Receive { span, state });
        let id = self.requests.insert(receive).map_err(|_| none)?;
        self.posts += 1;
        match self.matching.take(&mut self.region, &pattern) {
            Some(record) => self.match_record(memory, id, record),
            None => {
                self.probes.posted(&pattern);
                self.post(id.slot(), &pattern);
            }
        }
        Ok(id)
    }

    /// Posts a receive, and asks sources that wait for a message for it.
    #[inline]
    fn post(&mut self, slot: Slot, pattern: &Pattern) {
        self.matching.post(&mut self.requests, slot);
        if self.peers.are_all_clear() {
            return;
        }
        let rules = self.rules();
        if self.peers.posted(pattern.source, rules) {
            let list = if pattern.source.is_some() {
                &mut self.exact_to_name
            } else {
                &mut self.wildcards
            };
            list.push(&mut self.requests.links::<CHAIN>(), slot);
            self.requests.posted_mut(slot).to_name = true;
        }
    }

    /// Takes a receive out of the posted receive queue, and of what restarts have still to name.
    #[inline]
    fn unpost(&mut self, slot: Slot) {
        self.matching.unpost(&mut self.requests, slot);
        let posted = self.requests.posted_mut(slot);
        if core::mem::take(&mut posted.to_name) {
            let list = if posted.pattern.source.is_some() {
                &mut self.exact_to_name
            } else {
                &mut self.wildcards
            };
            list.remove(&mut self.requests.links::<CHAIN>(), slot);
        }
    }

    /// The restart for `source` under its new age: the receives posted since its last one, and what the
    /// memory has room for. When there are more than a restart can name, it asks for everything.
    pub(crate) fn make_restart<M: UserMemory + ?Sized>(
        &mut self,
        memory: &M,
        source: Rank,
        age: Age,
    ) -> Restart {
        let room = u16::try_from(self.region.free_blocks(memory))
            .unwrap_or(u16::MAX)
            .min(RESTART_ROOM);
        let mut named = Named::new();
        let mut fits = true;
        let mut next = self.exact_to_name.head();
        while let Some(slot) = next {
            next = self.requests.next_in::<CHAIN>(slot);
            self.stats.named += 1;
            if self.requests.posted(slot).pattern.source == Some(source) {
                fits = self.name(&mut named, slot) && fits;
                self.requests.posted_mut(slot).to_name = false;
                self.exact_to_name
                    .remove(&mut self.requests.links::<CHAIN>(), slot);
            }
        }
        let mut next = self.wildcards.head();
        while let Some(slot) = next.filter(|_| fits) {
            self.stats.named += 1;
            fits = self.name(&mut named, slot);
            next = self.requests.next_in::<CHAIN>(slot);
        }
        for probe in self
            .probes
            .unanswered()
            .filter(|probe| probe.source.is_none_or(|s| s == source))
        {
            let entry = Entry {
                context: probe.context,
                tag: probe.tag,
                exact: false,
            };
            // Probes are last: they only see what no receive takes.
            fits = fits && named.push((self.posts, entry)).is_ok();
        }
        if !fits {
            named.clear();
        }
        named.sort_unstable_by_key(|(serial, _)| *serial);
        Restart {
            age,
            room: if fits { room } else { ROOM_FOR_ALL },
            horizon: self.rules().on_the_wire(self.posts),
            entries: named.into_iter().map(|(_, entry)| entry).collect(),
        }
    }

    fn name(&self, named: &mut Named, slot: Slot) -> bool {
        let Posted {
            pattern, serial, ..
        } = *self.requests.posted(slot);
        let entry = Entry {
            context: pattern.context,
            tag: pattern.tag,
            exact: pattern.source.is_some(),
        };
        named.push((serial, entry)).is_ok()
    }

    /// A receive takes over the unexpected message whose record begins at `at`.
    fn match_record<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        id: RequestId,
        at: BlockIndex,
    ) {
        let record = self
            .region
            .record(at)
            .expect("the unexpected queue holds records");
        let slot = id.slot();
        let matched = Matched {
            envelope: record.envelope,
            length: record.length,
        };
        let receive = self.requests.receive_mut(slot);
        match record.holding {
            Holding::Nothing { sender } => {
                receive.state = ReceiveState::Matched(matched, Coming::CtsDue { sender });
                self.cts_due.push(&mut self.requests, slot);
                self.release(memory, at);
            }
            Holding::Buffer { received } if received == record.length => {
                self.unload(memory, slot, matched, at);
            }
            Holding::Buffer { received } => {
                receive.state = ReceiveState::Matched(matched, Coming::Bound);
                let bound = Holding::Bound {
                    received,
                    receive: id,
                };
                self.region.set_holding(at, bound);
            }
            Holding::Bound { .. } => unreachable!("a bound record is in no queue"),
        }
    }

    /// Copies a whole buffered message to the receive that matched it, and frees its record.
    fn unload<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        slot: Slot,
        matched: Matched,
        at: BlockIndex,
    ) {
        let span = self.requests.receive(slot).span;
        let bytes = self.region.read_buffer(at, matched.wanted(span));
        memory.write(span, 0, bytes);
        self.received(slot, matched);
        self.release(memory, at);
    }

    #[inline]
    fn received(&mut self, slot: Slot, matched: Matched) {
        self.stats.messages_received += 1;
        self.requests.finish_receive(slot, matched);
    }

    /// Frees a record: memory that refused sources have been waiting for.
    fn release<M: UserMemory + ?Sized>(&mut self, memory: &mut M, at: BlockIndex) {
        let before = self.region.used_bytes();
        self.region.release(memory, at);
        let rules = self.rules();
        if rules.matched_releases() {
            let freed = (before - self.region.used_bytes()) / BLOCK_BYTES;
            self.peers.restart_next(freed as u32, rules);
        }
    }

    /// Messages to this process stand refused for lack of memory: a carrier that lends should say when it
    /// has more ([`Adi::heap_freed`]).
    pub fn starves_others(&self) -> bool {
        self.peers.waiting() > 0
    }

    /// The program has freed memory of its heap, which may now have something to lend: restarts sources
    /// whose messages stand refused. When some have been restarted already and have yet to answer, those go
    /// first, and others follow as long as there is memory.
    pub fn heap_freed<M: UserMemory + ?Sized>(&mut self, memory: &M) {
        let rules = self.rules();
        if self.peers.under_way() == 0 {
            self.peers
                .restart_next(self.region.free_blocks(memory), rules);
        }
    }

    /// Looks for an unexpected message. When there is none, the probe stays armed, so that a message it
    /// asks for is seen even if the MPI memory has no room for its record; repeated probes therefore find
    /// every message that was sent (MPI-3.1 section 3.8.1; see [`probe`]), each pattern in turn when there are
    /// more than can be armed. Fails only when the program's heap has had no room for a single armed probe.
    pub fn iprobe(&mut self, pattern: Pattern) -> Result<Option<Probed>, NoMemory> {
        if let Some(index) = self.matching.probe(&self.region, &pattern) {
            let record = self
                .region
                .record(index)
                .expect("the unexpected queue holds records");
            return Ok(Some(Probed {
                envelope: record.envelope,
                length: record.length,
            }));
        }
        if let Some(noted) = self.probes.noted(&pattern) {
            return Ok(Some(noted));
        }
        let arming = self.probes.arm(pattern);
        if arming.map_err(|_| NoMemory::ProbeRecord)? == Arming::New {
            let rules = self.rules();
            self.peers.posted(pattern.source, rules);
        }
        Ok(None)
    }

    /// Cancels a receive that has not matched, or a send that no receive has matched (MPI-3.1 section 3.8.4).
    /// The request ends soon, whatever the other process does: its outcome tells whether it was cancelled or
    /// has been completed after all. True when it is known already that it was cancelled.
    pub fn cancel(&mut self, id: RequestId) -> bool {
        match self.requests.get(id) {
            Some(Request::Send(_)) => self.withdraw(id.slot()),
            Some(Request::Receive(Receive {
                state: ReceiveState::Posted(_),
                ..
            })) => {
                self.unpost(id.slot());
                self.requests.cancel_receive(id.slot());
                true
            }
            Some(Request::Receive(_)) | None => false,
        }
    }

    /// A sender takes a message back. If it has a record here and no receive has matched it, or if it was
    /// refused, it is forgotten; otherwise its CTS is on the way, and the sender takes that for the answer.
    pub(in crate::device) fn take_cancel<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        source: Rank,
        request: u32,
        refused: bool,
    ) -> Option<Answer> {
        if refused {
            self.probes.withdrawn(source);
        } else {
            let at = self.matching.find_record(&self.region, |record| {
                record.envelope.source == source
                    && record.holding == Holding::Nothing { sender: request }
            })?;
            self.matching.unrecord(&mut self.region, at);
            self.release(memory, at);
        }
        let fields = Fields {
            request,
            ..Fields::default()
        };
        Some(fields.emit(wire::CANCELLED))
    }

    /// The next receive that owes its sender a CTS: whom, and what the CTS says.
    pub(crate) fn next_due_cts(&mut self) -> Option<(Rank, Fields)> {
        let slot = self.cts_due.head()?;
        self.cts_due.remove(&mut self.requests, slot);
        let state = self.requests.receive(slot).state;
        let ReceiveState::Matched(matched, Coming::CtsDue { sender }) = state else {
            unreachable!("the list of CTSs that are due names a receive that owes none")
        };
        Some((
            matched.envelope.source,
            self.clear_to_send(slot, matched, sender),
        ))
    }

    /// The receive in `slot` has matched and its data is still with the sender: what the CTS says.
    fn clear_to_send(&mut self, slot: Slot, matched: Matched, sender: u32) -> Fields {
        let target = self.requests.id(slot).0;
        let receive = self.requests.receive_mut(slot);
        let wanted = matched.wanted(receive.span);
        if wanted == 0 {
            self.received(slot, matched);
        } else {
            let landing = Coming::Landing(Landing::new(wanted));
            receive.state = ReceiveState::Matched(matched, landing);
        }
        Fields {
            request: sender,
            target,
            wanted,
            complete: false,
            ..Fields::default()
        }
    }

    /// An RTS has matched the posted receive in `slot`.
    #[inline]
    fn accept<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        slot: Slot,
        envelope: &Envelope,
        rts: &Rts,
        data: &[u8],
    ) -> Fields {
        let matched = Matched {
            envelope: *envelope,
            length: rts.length,
        };
        if rts.inline {
            let span = self.requests.receive(slot).span;
            memory.write(span, 0, &data[..matched.wanted(span) as usize]);
            self.received(slot, matched);
            Fields {
                request: rts.request,
                complete: true,
                ..Fields::default()
            }
        } else {
            let fields = self.clear_to_send(slot, matched, rts.request);
            self.stream(envelope.source, rts, fields)
        }
    }

    /// The CTS `fields` for a long message: if its data is coming already and there is room for one more such
    /// message, it is taken as it comes.
    fn stream(&mut self, source: Rank, rts: &Rts, fields: Fields) -> Fields {
        let eager = Eager {
            source,
            request: rts.request,
            target: fields.target,
        };
        let stream = rts.eager && fields.wanted > 0 && self.coming.push(eager).is_ok();
        Fields { stream, ..fields }
    }

    /// A record with a buffer has been made at `at` for an RTS.
    fn buffer(&mut self, source: Rank, at: BlockIndex, rts: &Rts, data: &[u8]) -> Fields {
        self.matching.record(&mut self.region, at);
        if rts.inline {
            self.region.write_buffer(at, 0, data);
            let received = rts.length;
            self.region.set_holding(at, Holding::Buffer { received });
            Fields {
                request: rts.request,
                complete: true,
                ..Fields::default()
            }
        } else {
            let fields = Fields {
                request: rts.request,
                target: self.region.id(at).0,
                wanted: rts.length,
                ..Fields::default()
            };
            self.stream(source, rts, fields)
        }
    }

    /// Makes the best record that there is room for.
    fn make_room<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        envelope: &Envelope,
        rts: &Rts,
    ) -> Recorded<BlockIndex> {
        let region = &mut self.region;
        if !rts.synchronous
            && let Some(at) = region.record_with_buffer(memory, *envelope, rts.length)
        {
            return Recorded::WithBuffer(at);
        }
        match region.record_only(memory, *envelope, rts.length, rts.request) {
            Some(at) => Recorded::Alone(at),
            None => Recorded::Nothing,
        }
    }

    /// Takes the answer to `source` that is deferred, if there is one, to send it with something else.
    #[inline]
    pub(crate) fn take_deferred(&mut self, source: Rank) -> Option<DeferredAck> {
        let at = self
            .deferred
            .iter()
            .position(|deferred| deferred.source == source)?;
        Some(self.deferred.swap_remove(at))
    }

    /// Takes an offer whose data has come along into the posted receive that it matches, where nothing of
    /// any source stands refused: the first row of [`decide`]'s table, with nothing else to look at. `None`:
    /// this is not such an offer. Otherwise as [`Adi::take_rts`].
    #[inline]
    pub(in crate::device) fn take_at_once<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        source: Rank,
        rts: &Rts,
        data: &[u8],
    ) -> Option<Option<Answer>> {
        let plain = self.peers.are_all_clear() && rts.inline && !rts.more;
        if !plain || self.peers.ages(source).from != rts.age {
            return None;
        }
        let envelope = rts.envelope(source);
        let slot = self.matching.arrive(&self.requests, &envelope)?;
        self.unpost(slot);
        self.probes.taken(&envelope);
        self.stats.cts_sent += 1;
        let fields = self.accept(memory, slot, &envelope, rts, data);
        Some(self.answer(memory, source, rts, wire::CTS, fields))
    }

    /// Decides upon an offer. `None`: the answer is deferred.
    pub(in crate::device) fn take_rts<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        source: Rank,
        rts: &Rts,
        data: &[u8],
    ) -> Option<Answer> {
        let envelope = rts.envelope(source);
        let standing = self.peers.standing(source);
        let ages_equal = self.peers.ages(source).from == rts.age;
        let posted = if ages_equal {
            self.matching.arrive(&self.requests, &envelope)
        } else {
            None
        };
        // Receives have been posted since the restart that this offer answers: an earlier message may
        // match those. What the restart has asked for can be taken by a receive that is older than it.
        let rules = self.rules();
        let posted_since = matches!(
            standing,
            Standing::RestartSentStale | Standing::WildcardQueued
        );
        let early = rules.guards_posts()
            && posted_since
            && posted.is_some_and(|slot| !self.is_older(slot, rts.asked));
        let refused_before = matches!(standing, Standing::Refused | Standing::WildcardQueued);
        let recordable = rts.in_order && !refused_before || !rules.records_in_order();
        let verdict = decide(ages_equal && !early, posted, || match recordable {
            true => self.make_room(memory, &envelope, rts),
            false => Recorded::Nothing,
        });
        let fields = Fields {
            request: rts.request,
            stale: !ages_equal || early,
            ..Fields::default()
        };
        let (handler, fields) = match verdict {
            Verdict::Receive(slot) => {
                self.unpost(slot);
                self.probes.taken(&envelope);
                self.stats.cts_sent += 1;
                (wire::CTS, self.accept(memory, slot, &envelope, rts, data))
            }
            Verdict::Buffer(at) => {
                self.probes.taken(&envelope);
                self.stats.cts_sent += 1;
                (wire::CTS, self.buffer(source, at, rts, data))
            }
            Verdict::Record(at) => {
                self.probes.taken(&envelope);
                self.matching.record(&mut self.region, at);
                self.stats.nctsd_sent += 1;
                (wire::NCTSD, fields)
            }
            Verdict::Refuse { failed } => {
                // After a receive was posted in the meantime, an earlier message may be asked for first.
                if failed && !posted_since {
                    self.probes.refused(Probed {
                        envelope,
                        length: rts.length,
                    });
                }
                self.stats.ncts_sent += 1;
                (wire::NCTS, fields)
            }
        };
        if ages_equal {
            self.note_verdict(source, &verdict, rts);
            self.go_on(memory, source, standing);
        }
        self.answer(memory, source, rts, handler, fields)
    }

    /// How `source` stands after this verdict upon an offer under the current age.
    fn note_verdict(&mut self, source: Rank, verdict: &Verdict<Slot, BlockIndex>, rts: &Rts) {
        match verdict {
            Verdict::Refuse { failed: true } => self.peers.refused(source),
            Verdict::Refuse { failed: false } => self.peers.accepted(source, true, rts.follows),
            _ => self.peers.accepted(source, rts.more, rts.follows),
        }
    }

    /// Whether the receive in `slot` was posted before the restart with this `horizon` was made.
    fn is_older(&self, slot: Slot, horizon: Option<Horizon>) -> bool {
        let horizon = horizon.map(|said| self.rules().horizon(said, self.posts));
        horizon.is_some_and(|horizon| self.requests.posted(slot).serial < horizon)
    }

    /// Answers an offer; `None`: later, since its sender does not wait for it.
    #[inline]
    fn answer<M: UserMemory + ?Sized>(
        &mut self,
        memory: &M,
        source: Rank,
        rts: &Rts,
        handler: u8,
        fields: Fields,
    ) -> Option<Answer> {
        let scarce = self.region.is_low(memory);
        let before = self
            .take_deferred(source)
            .map_or(0, |deferred| deferred.count);
        let deferred = DeferredAck {
            source,
            request: rts.request,
            count: before + 1,
        };
        // A source in whose queue nothing stands refused, so that no restart waits for the answer either.
        let may_wait = rts.patient
            && fields.complete
            && !scarce
            && deferred.count < SHARED_ANSWER
            && self.peers.standing(source) == Standing::Clear;
        if may_wait && self.deferred.push(deferred).is_ok() {
            return None;
        }
        self.stats.cts_merged += u64::from(before);
        let fields = Fields {
            scarce,
            before,
            ..fields
        };
        Some(fields.emit(handler))
    }

    /// Something has come of `source`, which stood as `before`, under the current age: its restart, if one
    /// was on the way, is closed. Sources that wait for memory or for a receive that is there are restarted.
    fn go_on<M: UserMemory + ?Sized>(&mut self, memory: &M, source: Rank, before: Standing) {
        if self.peers.are_all_clear() {
            return;
        }
        let rules = self.rules();
        let posted_since = matches!(
            before,
            Standing::RestartSentStale | Standing::WildcardQueued
        );
        if posted_since && self.peers.standing(source) != Standing::Clear {
            self.peers.restart(source, rules);
        }
        // A source that was asked for a receive from any source has answered: if it is still posted, or a probe
        // has still found nothing, the next source is asked.
        if self.peers.wildcards_queued() > 0
            && (!self.wildcards.is_empty() || self.probes.ask_any_source())
        {
            self.peers.restart_wildcards(rules);
        }
        if self.peers.waiting() > 0 && self.region.free_blocks(memory) > 0 {
            self.peers.restart_next(1, rules);
        }
    }

    pub(in crate::device) fn take_done<M: UserMemory + ?Sized>(
        &mut self,
        memory: &M,
        source: Rank,
        done: Done,
    ) -> Result<(), Malformed> {
        let standing = self.peers.standing(source);
        let open = matches!(standing, Standing::RestartSent | Standing::RestartSentStale);
        if !open || self.peers.ages(source).from != done.age {
            return Err(Malformed);
        }
        self.peers.accepted(source, done.more, false);
        self.go_on(memory, source, standing);
        Ok(())
    }

    /// Eager data: of a message that is being taken, or else to be dropped, since the sender has been told
    /// that it is not and sends it again.
    pub(in crate::device) fn take_eager<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        source: Rank,
        place: Place,
        bytes: &[u8],
    ) -> Result<(), Malformed> {
        let at = self
            .coming
            .iter()
            .position(|coming| coming.source == source && coming.request == place.target);
        let Some(at) = at else {
            self.stats.eager_dropped += 1;
            return Ok(());
        };
        let target = self.coming[at].target;
        let total = match RecordId::from_target(target) {
            Some(id) => {
                let index = self.region.find(id).ok_or(Malformed)?;
                self.region.record(index).ok_or(Malformed)?.length
            }
            None => {
                let receive = self.requests.get_receive_mut(RequestId(target));
                receive
                    .and_then(|receive| receive.wanted())
                    .ok_or(Malformed)?
            }
        };
        // What the receive has no room for is cut off.
        let room = total.saturating_sub(place.offset) as usize;
        let bytes = &bytes[..bytes.len().min(room)];
        let place = Place { target, ..place };
        if bytes.is_empty() {
            self.stats.eager_dropped += 1;
            return Ok(());
        }
        if self.take_data(memory, place, bytes)? {
            self.coming.swap_remove(at);
        }
        Ok(())
    }

    /// A long message's packet; true when the message is whole with it. Malformed when it has no place here.
    pub(in crate::device) fn take_data<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        place: Place,
        bytes: &[u8],
    ) -> Result<bool, Malformed> {
        match RecordId::from_target(place.target) {
            Some(id) => self.take_data_of_record(memory, id, place, bytes),
            None => self.take_data_of_receive(memory, place, bytes),
        }
    }

    fn take_data_of_record<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        id: RecordId,
        place: Place,
        bytes: &[u8],
    ) -> Result<bool, Malformed> {
        let at = self.region.find(id).ok_or(Malformed)?;
        let record = self.region.record(at).ok_or(Malformed)?;
        let (received, bound) = match record.holding {
            Holding::Buffer { received } => (received, None),
            Holding::Bound { received, receive } => (received, Some(receive)),
            Holding::Nothing { .. } => return Err(Malformed),
        };
        let mut landing = Landing {
            received,
            total: record.length,
        };
        let whole = landing
            .accept(place.offset, bytes.len())
            .map_err(|_| Malformed)?;
        self.region.write_buffer(at, place.offset, bytes);
        let received = landing.received;
        match bound {
            Some(receive) if whole => {
                let matched = Matched {
                    envelope: record.envelope,
                    length: record.length,
                };
                self.unload(memory, receive.slot(), matched, at);
            }
            Some(receive) => {
                let bound = Holding::Bound { received, receive };
                self.region.set_holding(at, bound);
            }
            None => self.region.set_holding(at, Holding::Buffer { received }),
        }
        Ok(whole)
    }

    fn take_data_of_receive<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        place: Place,
        bytes: &[u8],
    ) -> Result<bool, Malformed> {
        let id = RequestId(place.target);
        let receive = self.requests.get_receive_mut(id).ok_or(Malformed)?;
        let ReceiveState::Matched(matched, Coming::Landing(landing)) = &mut receive.state else {
            return Err(Malformed);
        };
        let matched = *matched;
        let whole = landing
            .accept(place.offset, bytes.len())
            .map_err(|_| Malformed)?;
        memory.write(receive.span, place.offset as usize, bytes);
        if whole {
            self.received(id.slot(), matched);
        }
        Ok(whole)
    }
}
