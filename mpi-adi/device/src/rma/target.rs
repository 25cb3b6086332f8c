//! Handlers of origins' packets at a target. Nothing here waits or allocates.
#![forbid(unsafe_code)]

use msg_layer::handler::{MalformedPacket, REPLY_BYTES, ReplyPacket};
use msg_layer::header::{SHORT_BYTES, TargetOffset};

use crate::envelope::{Context, Rank};
use crate::extensions::OutgoingPacket;
use crate::memory::{Span, UserMemory};
use crate::rma::one_sided::OneSided;
use crate::rma::peers::PeerFlags;
use crate::rma::rules::EpochRules;
use crate::rma::target_replies::{DATA_BYTES, FetchResult, GetCursor};
use crate::rma::wire::{self, HEAD_BYTES, MAX_BYTES, PacketKind, ReplyKind, RequestHead, RmaRequest};

fn reply(said: ReplyKind, name: u16, bytes: [u8; REPLY_BYTES]) -> ReplyPacket {
    ReplyPacket {
        handler: wire::ONE_SIDED,
        argument: said.to_argument(name),
        bytes,
    }
}

impl<R: EpochRules> OneSided<R> {
    /// Handles a request of another process or of this one.
    pub(super) fn serve(
        &mut self,
        memory: &mut dyn UserMemory,
        request: RmaRequest<'_>,
    ) -> Result<Option<ReplyPacket>, MalformedPacket> {
        if let Some(place) = request.place {
            self.handle_data(memory, request.source, place, request.bytes)?;
            return Ok(None);
        }
        let (source, name) = (request.source, request.argument);
        let (head, body) = RequestHead::parse(request.bytes).ok_or(MalformedPacket)?;
        let at = self.place(head.window).ok_or(MalformedPacket)?;
        if !self.windows[at].peers.has(source, PeerFlags::MEMBER) {
            return Err(MalformedPacket);
        }
        match head.kind {
            PacketKind::Put | PacketKind::Accumulate => {
                self.handle_pieces(memory, at, source, head, body)?;
                match head.ends {
                    Some(kind) => self.synchronize(at, source, name, RequestHead { kind, ..head }),
                    None => Ok(None),
                }
            }
            PacketKind::Fetch => self.fetch(memory, at, source, name, head, body),
            PacketKind::Compare => self.compare(memory, at, source, name, body),
            PacketKind::Get => self.get(memory, at, source, name, body),
            PacketKind::Size => Ok(Some(reply(ReplyKind::Result, name, self.windows[at].exposure.size()))),
            _ => self.synchronize(at, source, name, head),
        }
    }

    /// Handles synchronization: packets that open, close and flush epochs.
    fn synchronize(
        &mut self,
        at: usize,
        source: Rank,
        name: u16,
        head: RequestHead,
    ) -> Result<Option<ReplyPacket>, MalformedPacket> {
        let window = &mut self.windows[at];
        let mut bytes = [0; REPLY_BYTES];
        self.is_due |= !window.epochs.is_empty();
        match head.kind {
            PacketKind::Lock if head.operation == wire::URGENT => {
                window.peers.queue_lock_first(source)?;
                self.grants_due |= window.lock.has_waiting();
            }
            PacketKind::Lock => {
                let is_here = source == self.here;
                self.grants_due |=
                    window
                        .lock
                        .request(self.rules, &mut window.peers, source, head.operation, is_here)?
                        && !is_here;
            }
            PacketKind::Flush | PacketKind::Unlock => {
                if head.kind == PacketKind::Unlock {
                    window.lock.release(&mut window.peers, source)?;
                    self.grants_due |= window.lock.has_waiting();
                }
                let flags = window.peers.flags(source).ok_or(MalformedPacket)?;
                bytes[0] = flags.has(PeerFlags::FAULT).into();
                flags.set(PeerFlags::FAULT, false);
                return Ok(Some(reply(ReplyKind::Result, name, bytes)));
            }
            PacketKind::Grant => window
                .peers
                .flags(source)
                .ok_or(MalformedPacket)?
                .set(PeerFlags::HELD, true),
            PacketKind::Post => {
                let peer = window.peers.peer(source).ok_or(MalformedPacket)?;
                peer.grants = peer.grants.checked_add(1).ok_or(MalformedPacket)?;
            }
            PacketKind::Complete => window.handle_done(source, self.rules)?,
            PacketKind::Arrived => window.tree.handle_arrived(source)?,
            PacketKind::Released => window.handle_released(source)?,
            _ => return Err(MalformedPacket),
        }
        Ok(None)
    }

    fn handle_pieces(
        &mut self,
        memory: &mut dyn UserMemory,
        at: usize,
        source: Rank,
        head: RequestHead,
        mut body: &[u8],
    ) -> Result<(), MalformedPacket> {
        while !body.is_empty() {
            let (place, len, rest) = wire::parse_piece(body).ok_or(MalformedPacket)?;
            let (bytes, rest) = rest.split_at_checked(len).ok_or(MalformedPacket)?;
            body = rest;
            let window = &mut self.windows[at];
            let Some(span) = window.exposure.span_at(place, len) else {
                window.peers.set(source, PeerFlags::FAULT);
                continue;
            };
            if head.kind == PacketKind::Put {
                memory.write(span, 0, bytes);
                continue;
            }
            let mut elements = [0; MAX_BYTES];
            let elements = elements.get_mut(..len).ok_or(MalformedPacket)?;
            memory.read(span, 0, elements);
            if !(self.combine)(head.operation, head.datatype, bytes, elements) {
                return Err(MalformedPacket);
            }
            memory.write(span, 0, elements);
        }
        Ok(())
    }

    fn fetch(
        &mut self,
        memory: &mut dyn UserMemory,
        at: usize,
        source: Rank,
        name: u16,
        head: RequestHead,
        body: &[u8],
    ) -> Result<Option<ReplyPacket>, MalformedPacket> {
        let (place, len, operands) = wire::parse_piece(body).ok_or(MalformedPacket)?;
        if len > MAX_BYTES || !(operands.is_empty() || operands.len() == len) {
            return Err(MalformedPacket);
        }
        let mut first = [0; REPLY_BYTES];
        let window = &mut self.windows[at];
        let Some(span) = window.exposure.span_at(place, len) else {
            window.peers.set(source, PeerFlags::FAULT);
            return Ok(Some(reply(ReplyKind::Result, name, first)));
        };
        let is_long = len > REPLY_BYTES;
        if is_long && self.target_replies.results.is_full() {
            return Ok(Some(reply(ReplyKind::Rejected, name, first)));
        }
        let mut bytes = [0; MAX_BYTES];
        memory.read(span, 0, &mut bytes[..len]);
        if !operands.is_empty() {
            let mut elements = bytes;
            let elements = &mut elements[..len];
            if !(self.combine)(head.operation, head.datatype, operands, elements) {
                return Err(MalformedPacket);
            }
            memory.write(span, 0, elements);
        }
        if !is_long {
            first[..len].copy_from_slice(&bytes[..len]);
            return Ok(Some(reply(ReplyKind::Result, name, first)));
        }
        let target = name.into();
        if source == self.here {
            let place = TargetOffset { target, offset: 0 };
            self.handle_data(memory, source, place, &bytes[..len])?;
            return Ok(None);
        }
        let fetched = FetchResult {
            origin: source,
            name,
            len: len as u8,
            bytes,
        };
        self.target_replies.results.push(fetched).map_err(|_| MalformedPacket)?;
        Ok(None)
    }

    fn compare(
        &mut self,
        memory: &mut dyn UserMemory,
        at: usize,
        source: Rank,
        name: u16,
        body: &[u8],
    ) -> Result<Option<ReplyPacket>, MalformedPacket> {
        let (place, len, both) = wire::parse_piece(body).ok_or(MalformedPacket)?;
        if len > REPLY_BYTES || both.len() != 2 * len {
            return Err(MalformedPacket);
        }
        let (compare, new) = both.split_at(len);
        let mut bytes = [0; REPLY_BYTES];
        let window = &mut self.windows[at];
        match window.exposure.span_at(place, len) {
            None => window.peers.set(source, PeerFlags::FAULT),
            Some(span) => {
                memory.read(span, 0, &mut bytes[..len]);
                if bytes[..len] == *compare {
                    memory.write(span, 0, new);
                }
            }
        }
        Ok(Some(reply(ReplyKind::Result, name, bytes)))
    }

    fn get(
        &mut self,
        memory: &mut dyn UserMemory,
        at: usize,
        source: Rank,
        name: u16,
        body: &[u8],
    ) -> Result<Option<ReplyPacket>, MalformedPacket> {
        let (place, len) = body.split_first_chunk::<8>().ok_or(MalformedPacket)?;
        let len = u32::from_le_bytes(len.try_into().map_err(|_| MalformedPacket)?);
        let mut bytes = [0; REPLY_BYTES];
        let window = &mut self.windows[at];
        let Some(span) = window.exposure.span_at(u64::from_le_bytes(*place), len as usize) else {
            window.peers.set(source, PeerFlags::FAULT);
            // The get is complete: no data exists.
            return Ok(Some(reply(ReplyKind::Result, name, bytes)));
        };
        if len as usize <= REPLY_BYTES {
            memory.read(span, 0, &mut bytes[..len as usize]);
            return Ok(Some(reply(ReplyKind::Result, name, bytes)));
        }
        if source == self.here {
            self.get_from_self(memory, name, span)?;
            return Ok(None);
        }
        let cursor = GetCursor {
            origin: source,
            name,
            span,
            offset: 0,
        };
        match self.target_replies.cursors.push_back(cursor) {
            Ok(()) => Ok(None),
            Err(_) => Ok(Some(reply(ReplyKind::Rejected, name, bytes))),
        }
    }

    /// Performs a get of this process from itself.
    fn get_from_self(&mut self, memory: &mut dyn UserMemory, name: u16, span: Span) -> Result<(), MalformedPacket> {
        let mut chunk = [0; DATA_BYTES];
        for offset in (0..span.len()).step_by(DATA_BYTES) {
            let bytes = &mut chunk[..(span.len() - offset).min(DATA_BYTES)];
            memory.read(span, offset, bytes);
            let place = TargetOffset {
                target: name.into(),
                offset: offset as u32,
            };
            self.handle_data(memory, self.here, place, bytes)?;
        }
        Ok(())
    }

    /// Emits the grant of a lock that has become free for a waiting process.
    pub(super) fn next_grant(&mut self, out: &mut [u8; SHORT_BYTES]) -> Option<OutgoingPacket> {
        while self.grants_due {
            let rules = self.rules;
            let granted: Option<(Context, Rank)> = self.windows.iter_mut().find_map(|window| {
                let rank = window.lock.grant(rules, &mut window.peers)?;
                Some((window.context, rank))
            });
            let Some((context, dest)) = granted else {
                self.grants_due = false;
                break;
            };
            if dest == self.here {
                let flags = self.window(context).and_then(|window| window.peers.flags(dest));
                flags?.set(PeerFlags::HELD, true);
                self.is_due = true;
                continue;
            }
            RequestHead::new(PacketKind::Grant, context).emit(out);
            return Some(OutgoingPacket {
                dest,
                argument: 0,
                place: None,
                len: HEAD_BYTES,
            });
        }
        None
    }
}
