//! The receiving side: the program's receives and probes, and what comes from the senders.
#![forbid(unsafe_code)]

use msg_layer::{Answer, Arrival, Landing};

use crate::envelope::{Envelope, Pattern, Rank};
use crate::memory::{Span, UserMemory};
use crate::protocol::{Room, Verdict, on_rts as decide};
use crate::region::{Holding, RecordId};
use crate::request::{Mode, Request, RequestId, State};
use crate::wire::{self, Fields, Rts};
use crate::{Adi, Handling, NoMemory};

/// An unexpected message that a probe has found (MPI-3.1 section 3.8.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Probed {
    /// Its source and tag.
    pub envelope: Envelope,
    /// Its length in bytes.
    pub length: u32,
}

impl Adi {
    /// Starts receiving into `span`. Fails only when the program's heap has no room for the request.
    pub fn irecv<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        pattern: Pattern,
        span: Span,
    ) -> Result<RequestId, NoMemory> {
        let none = NoMemory::Requests {
            live: self.requests.live(),
        };
        self.requests.grow(1).map_err(|_| none)?;
        let request = Request {
            state: State::Posted,
            peer: pattern.source,
            tag: pattern.tag,
            context: pattern.context,
            mode: Mode::Standard,
            span,
            length: 0,
        };
        let id = self.requests.insert(request).map_err(|_| none)?;
        match self.matching.take(&mut self.region, &pattern) {
            Some(record) => self.match_record(memory, id, record),
            None => {
                self.matching.post(&mut self.requests, id.index());
                self.probes.posted(&pattern);
                let rules = self.rules();
                self.peers.restart(pattern.source, rules);
            }
        }
        Ok(id)
    }

    /// A receive takes over the unexpected message in `record`.
    fn match_record<M: UserMemory + ?Sized>(&mut self, memory: &mut M, id: RequestId, index: u32) {
        let record = self
            .region
            .record(index)
            .expect("the unexpected queue holds records");
        let slot = id.index();
        let request = self.requests.at_mut(slot);
        request.match_with(&record.envelope, record.length);
        match record.holding {
            Holding::Nothing { sender } => {
                request.state = State::Owing { sender };
                self.owing.push(&mut self.requests, slot);
                self.release(index);
            }
            Holding::Buffer { first, received } if received == record.length => {
                self.unload(memory, slot, index, first);
            }
            Holding::Buffer { first, received } => {
                request.state = State::Bound;
                self.region.set_holding(
                    index,
                    Holding::Bound {
                        first,
                        received,
                        receive: id,
                    },
                );
            }
            Holding::Bound { .. } => unreachable!("a bound record is in no queue"),
        }
    }

    /// Copies a whole buffered message to the receive that matched it, and frees its record.
    fn unload<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        slot: u32,
        index: u32,
        first: u32,
    ) {
        let request = self.requests.at(slot);
        memory.write(
            request.span,
            0,
            self.region.read_buffer(first, request.wanted()),
        );
        self.received(slot);
        self.release(index);
    }

    fn received(&mut self, slot: u32) {
        self.stats.messages_received += 1;
        self.finish(slot, false);
    }

    /// Frees a record: memory that refused sources have been waiting for.
    fn release(&mut self, index: u32) {
        self.region.release(index);
        let rules = self.rules();
        if rules.matched_releases {
            self.peers.restart(None, rules);
        }
    }

    /// Looks for an unexpected message. When there is none, the probe stays armed, so that a message it
    /// asks for is seen even if the MPI memory has no room for its record; repeated probes therefore find
    /// every message that was sent (MPI-3.1 section 3.8.1; see [`crate::probe`]). Fails only when the
    /// program's heap has no room for the armed probe.
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
        if self
            .probes
            .arm(pattern)
            .map_err(|_| NoMemory::ProbeRecord)?
        {
            let rules = self.rules();
            self.peers.restart(pattern.source, rules);
        }
        Ok(None)
    }

    /// Cancels a receive that has not matched (MPI-3.1 section 3.8.4): true when it will end cancelled.
    pub fn cancel(&mut self, id: RequestId) -> bool {
        let posted = matches!(
            self.requests.get(id),
            Some(Request {
                state: State::Posted,
                ..
            })
        );
        if posted {
            self.matching.unpost(&mut self.requests, id.index());
            self.finish(id.index(), true);
        }
        posted
    }

    /// The next receive that owes its sender a CTS: whom, and what the CTS says.
    pub(crate) fn next_owed_cts(&mut self) -> Option<(Rank, Fields)> {
        if self.owing.is_empty() {
            return None;
        }
        let slot = self.owing.head();
        self.owing.remove(&mut self.requests, slot);
        let request = self.requests.at(slot);
        let (State::Owing { sender }, Some(source)) = (request.state, request.peer) else {
            unreachable!("the list of owed CTSs holds receives that owe one")
        };
        Some((source, self.clear_to_send(slot, sender)))
    }

    /// The receive in `slot` has matched and its data is still with the sender: what the CTS says.
    fn clear_to_send(&mut self, slot: u32, sender: u32) -> Fields {
        let target = self.requests.id(slot).0;
        let wanted = self.requests.at(slot).wanted();
        if wanted == 0 {
            self.received(slot);
        } else {
            self.requests.at_mut(slot).state = State::Landing(Landing::new(wanted));
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
    fn accept<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        slot: u32,
        envelope: &Envelope,
        rts: &Rts,
        data: &[u8],
    ) -> Fields {
        let request = self.requests.at_mut(slot);
        request.match_with(envelope, rts.length);
        if rts.inline {
            memory.write(request.span, 0, &data[..request.wanted() as usize]);
            self.received(slot);
            Fields {
                request: rts.request,
                complete: true,
                ..Fields::default()
            }
        } else {
            self.clear_to_send(slot, rts.request)
        }
    }

    /// A record with a buffer has been made at `index` for an RTS.
    fn buffer(&mut self, index: u32, rts: &Rts, data: &[u8]) -> Fields {
        self.matching.record(&mut self.region, index);
        if rts.inline {
            let record = self.region.record(index).expect("just made");
            let Holding::Buffer { first, .. } = record.holding else {
                unreachable!("made with a buffer")
            };
            self.region.write_buffer(first, 0, data);
            self.region.set_holding(
                index,
                Holding::Buffer {
                    first,
                    received: rts.length,
                },
            );
            Fields {
                request: rts.request,
                complete: true,
                ..Fields::default()
            }
        } else {
            Fields {
                request: rts.request,
                target: self.region.id(index).0,
                wanted: rts.length,
                ..Fields::default()
            }
        }
    }

    /// Makes the best record that there is room for.
    fn make_room(&mut self, envelope: &Envelope, rts: &Rts) -> (Room, u32) {
        if !rts.synchronous
            && let Some(index) = self.region.record_with_buffer(*envelope, rts.length)
        {
            return (Room::RecordAndBuffer, index);
        }
        if let Some(index) = self.region.record_only(*envelope, rts.length, rts.request) {
            return (Room::Record, index);
        }
        (Room::Nothing, 0)
    }

    fn take_rts<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        source: Rank,
        rts: &Rts,
        data: &[u8],
    ) -> Answer {
        let envelope = Envelope {
            source,
            tag: rts.tag,
            context: rts.context,
        };
        let ages_equal = self.peers.ages(source).from == rts.age;
        // A match is taken only under the current age; under another it only decides the last row.
        let posted = if ages_equal {
            self.matching.arrive(&mut self.requests, &envelope)
        } else {
            None
        };
        let posted_match = match ages_equal {
            true => posted.is_some(),
            false => self.matching.would_match(&self.requests, &envelope),
        };
        let mut record = 0;
        let verdict = decide(ages_equal, posted_match, || {
            let (room, index) = self.make_room(&envelope, rts);
            record = index;
            room
        });
        let fields = Fields {
            request: rts.request,
            ..Fields::default()
        };
        match (verdict, posted) {
            (Verdict::Receive, Some(slot)) => {
                self.probes.taken(&envelope);
                self.stats.cts_sent += 1;
                self.accept(memory, slot, &envelope, rts, data)
                    .emit(wire::CTS)
            }
            (Verdict::Receive, None) => unreachable!("decided upon the match"),
            (Verdict::Buffer, _) => {
                self.probes.taken(&envelope);
                self.stats.cts_sent += 1;
                self.buffer(record, rts, data).emit(wire::CTS)
            }
            (Verdict::Record, _) => {
                self.probes.taken(&envelope);
                self.matching.record(&mut self.region, record);
                self.stats.nctsd_sent += 1;
                fields.emit(wire::NCTSD)
            }
            (
                Verdict::Refuse {
                    set_failed,
                    resend_all,
                },
                _,
            ) => {
                if set_failed {
                    self.peers.set_failed(source);
                    self.probes.refused(Probed {
                        envelope,
                        length: rts.length,
                    });
                }
                if resend_all {
                    self.peers.owe(source);
                }
                self.stats.ncts_sent += 1;
                fields.emit(wire::NCTS)
            }
        }
    }

    fn take_data<M: UserMemory + ?Sized>(
        &mut self,
        memory: &mut M,
        arrival: &Arrival<'_>,
    ) -> Option<()> {
        let place = arrival.place?;
        let bytes = arrival.bytes;
        if let Some(id) = RecordId::from_target(place.target) {
            let index = self.region.find(id)?;
            let record = self.region.record(index)?;
            let (first, received) = match record.holding {
                Holding::Buffer { first, received }
                | Holding::Bound {
                    first, received, ..
                } => (first, received),
                Holding::Nothing { .. } => return None,
            };
            let mut landing = Landing {
                received,
                total: record.length,
            };
            let whole = landing.accept(place.offset, bytes.len()).ok()?;
            self.region.write_buffer(first, place.offset, bytes);
            let received = landing.received;
            match record.holding {
                Holding::Bound { receive, .. } if whole => {
                    self.unload(memory, receive.index(), index, first)
                }
                Holding::Bound { receive, .. } => {
                    self.region.set_holding(
                        index,
                        Holding::Bound {
                            first,
                            received,
                            receive,
                        },
                    );
                }
                _ => self
                    .region
                    .set_holding(index, Holding::Buffer { first, received }),
            }
        } else {
            let id = RequestId(place.target);
            let request = self.requests.get_mut(id)?;
            let State::Landing(landing) = &mut request.state else {
                return None;
            };
            let whole = landing.accept(place.offset, bytes.len()).ok()?;
            memory.write(request.span, place.offset as usize, bytes);
            if whole {
                self.received(id.index());
            }
        }
        Some(())
    }
}

pub(crate) fn on_rts<M: UserMemory + ?Sized>(
    on: &mut Handling<'_, M>,
    arrival: &Arrival<'_>,
) -> Option<Answer> {
    let Some((source, (rts, data))) = on
        .adi
        .shape
        .rank(arrival.source)
        .zip(Rts::parse(arrival.bytes))
    else {
        on.adi.stats.malformed += 1;
        return None;
    };
    on.adi.stats.rts_received += 1;
    Some(on.adi.take_rts(on.memory, source, &rts, data))
}

pub(crate) fn on_data<M: UserMemory + ?Sized>(
    on: &mut Handling<'_, M>,
    arrival: &Arrival<'_>,
) -> Option<Answer> {
    if on.adi.take_data(on.memory, arrival).is_none() {
        on.adi.stats.malformed += 1;
    }
    None
}
