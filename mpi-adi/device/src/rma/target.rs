//! Handlers of origins' packets at a target. Nothing here waits or allocates.
#![forbid(unsafe_code)]

use msg_layer::handler::{MalformedPacket, REPLY_BYTES, ReplyPacket};
use msg_layer::header::{LONG_BYTES, SHORT_BYTES, TargetOffset};

use crate::envelope::{Context, Rank};
use crate::extensions::OutgoingPacket;
use crate::memory::{Span, UserMemory};
use crate::rma::epochs::EpochRules;
use crate::rma::wire::{self, HEAD_BYTES, MAX_BYTES, PacketKind, ReplyKind, RequestHead};
use crate::rma::{OneSided, PeerFlags, RmaRequest, Window, WindowPeer};

/// A get in progress.
#[derive(Clone, Copy, Hash, Debug)]
pub(super) struct GetCursor {
    origin: Rank,
    /// The origin's ID of it.
    name: u16,
    span: Span,
    offset: u32,
}

impl GetCursor {
    pub(super) fn is_in(&self, memory: Span) -> bool {
        let (at, from) = (self.span.address(), memory.address());
        at < from + memory.len() && from < at + self.span.len()
    }
}

/// A fetch result longer than a reply.
#[derive(Clone, Hash, Debug)]
pub(super) struct FetchResult {
    origin: Rank,
    /// The origin's ID of it.
    name: u16,
    len: u8,
    bytes: [u8; MAX_BYTES],
}

/// Maximum element size.
const ELEMENT_BYTES: usize = 32;
/// Data bytes of a get in one packet: whole elements of any size, so that each is read atomically.
const DATA_BYTES: usize = LONG_BYTES / ELEMENT_BYTES * ELEMENT_BYTES;

/// A window's lock.
#[derive(Clone, Copy, Default, Hash, Debug)]
pub(super) struct WindowLock {
    is_exclusive: bool,
    /// Number of holders.
    holders: u32,
    waiting: u32,
    /// Holders that have not been notified.
    untold: u32,
    /// Start of the search for the next waiting process.
    turn: u32,
}

impl WindowLock {
    pub(super) fn is_held(&self) -> bool {
        self.holders > 0
    }

    fn is_free_for(&self, exclusive: bool) -> bool {
        self.holders == 0 || !exclusive && !self.is_exclusive
    }

    fn acquire(&mut self, exclusive: bool) {
        self.holders += 1;
        self.is_exclusive = exclusive;
    }
}

impl Window {
    /// Returns the `len` bytes at displacement `place`; `None`: out of bounds.
    fn span_at(&self, place: u64, len: usize) -> Option<Span> {
        if self.exposure.is_withdrawn {
            return None;
        }
        if !self.exposure.is_dynamic {
            let [span] = self.exposure.regions[..] else {
                return None;
            };
            return sub_span(span, usize::try_from(place).ok()?, len);
        }
        let place = usize::try_from(place).ok()?;
        let from = |span: &Span| {
            let offset = place.checked_sub(span.address())?;
            sub_span(*span, offset, span.len().checked_sub(offset)?)
        };
        // With adjacent regions, several may begin at or before the address: one ends there, and one begins there.
        let mut found = { self.exposure.regions.iter().filter_map(from) }.max_by_key(Span::len)?;
        while found.len() < len {
            found = { self.exposure.regions.iter() }.find_map(|next| found.joined(*next))?;
        }
        sub_span(found, 0, len)
    }

    /// Records that an operation of `origin` was out of bounds, to be reported to it.
    fn mark_fault(&mut self, origin: Rank) {
        if let Some(flags) = self.flags(origin) {
            flags.set(PeerFlags::FAULT, true);
        }
    }

    /// Handles a LOCK of `origin`; returns whether it now holds the lock. A packet notifies it, unless it `is_here`.
    fn request_lock(&mut self, origin: Rank, operation: u8, is_here: bool) -> Result<bool, MalformedPacket> {
        let wish = match operation {
            wire::SHARED => PeerFlags::WAITS_SHARED,
            wire::EXCLUSIVE => PeerFlags::WAITS_EXCLUSIVE,
            wire::SHARED_BESIDE => PeerFlags::WAITS_BESIDE,
            _ => return Err(MalformedPacket),
        };
        let exclusive = wish == PeerFlags::WAITS_EXCLUSIVE;
        // No request overtakes a waiting one, except from a process that may keep others waiting elsewhere.
        let passes = self.lock.waiting == 0 || wish == PeerFlags::WAITS_BESIDE;
        let is_free = passes && self.lock.is_free_for(exclusive);
        let flags = self.flags(origin).ok_or(MalformedPacket)?;
        let taken = [
            PeerFlags::HOLDS,
            PeerFlags::WAITS_EXCLUSIVE,
            PeerFlags::WAITS_SHARED,
            PeerFlags::WAITS_BESIDE,
        ];
        if taken.into_iter().any(|flag| flags.has(flag)) {
            return Err(MalformedPacket);
        }
        if is_free {
            let told = if is_here { PeerFlags::HELD } else { PeerFlags::UNTOLD };
            flags.set(PeerFlags::HOLDS, true);
            flags.set(told, true);
            self.lock.acquire(exclusive);
            self.lock.untold += u32::from(!is_here);
        } else {
            flags.set(wish, true);
            self.lock.waiting += 1;
        }
        Ok(is_free)
    }

    /// Handles an urgent LOCK of `origin`: it has requested a shared lock, and may now have others. It may be granted
    /// already.
    fn queue_lock_first(&mut self, origin: Rank) -> Result<(), MalformedPacket> {
        let flags = self.flags(origin).ok_or(MalformedPacket)?;
        if flags.has(PeerFlags::WAITS_SHARED) {
            flags.set(PeerFlags::WAITS_SHARED, false);
            flags.set(PeerFlags::WAITS_BESIDE, true);
        } else if !flags.has(PeerFlags::HOLDS) {
            return Err(MalformedPacket);
        }
        Ok(())
    }

    /// Releases the lock of `origin`.
    fn release_lock(&mut self, origin: Rank) -> Result<(), MalformedPacket> {
        let flags = self.flags(origin).ok_or(MalformedPacket)?;
        if !flags.has(PeerFlags::HOLDS) || flags.has(PeerFlags::UNTOLD) {
            return Err(MalformedPacket);
        }
        flags.set(PeerFlags::HOLDS, false);
        self.lock.holders -= 1;
        Ok(())
    }

    /// Returns a holder that is still to be notified. Otherwise grants a free lock to the next in round robin.
    fn grant(&mut self) -> Option<Rank> {
        if self.lock.untold > 0 {
            let untold = self.next_with(PeerFlags::UNTOLD, 0)?;
            self.clear(untold, PeerFlags::UNTOLD);
            self.lock.untold -= 1;
            return Some(untold);
        }
        if self.lock.waiting == 0 {
            return None;
        }
        if self.lock.is_free_for(false)
            && let Some(beside) = self.next_with(PeerFlags::WAITS_BESIDE, 0)
        {
            self.clear(beside, PeerFlags::WAITS_BESIDE);
            self.flags(beside)?.set(PeerFlags::HOLDS, true);
            self.lock.acquire(false);
            self.lock.waiting -= 1;
            return Some(beside);
        }
        let waiting = PeerFlags::WAITS_SHARED.0 | PeerFlags::WAITS_EXCLUSIVE.0;
        let waits = |peer: &WindowPeer| peer.flags.0 & waiting != 0;
        let turn = self.lock.turn as usize;
        let (before, behind) = self.peers.split_at_mut_checked(turn)?;
        let next = behind.iter().position(waits).map(|at| turn + at);
        let at = next.or_else(|| before.iter().position(waits))?;
        let flags = &mut self.peers[at].flags;
        let exclusive = flags.has(PeerFlags::WAITS_EXCLUSIVE);
        if !self.lock.is_free_for(exclusive) {
            return None;
        }
        flags.set(PeerFlags::WAITS_EXCLUSIVE, false);
        flags.set(PeerFlags::WAITS_SHARED, false);
        flags.set(PeerFlags::HOLDS, true);
        self.lock.acquire(exclusive);
        self.lock.waiting -= 1;
        self.lock.turn = (at as u32 + 1) % self.peers.len() as u32;
        Some(Rank::new(at as u32))
    }
}

fn sub_span(span: Span, offset: usize, len: usize) -> Option<Span> {
    let room = span.len().checked_sub(offset)?;
    (len <= room).then(|| span.part(offset, len))
}

fn reply(said: ReplyKind, name: u16, bytes: [u8; REPLY_BYTES]) -> ReplyPacket {
    ReplyPacket {
        handler: wire::ONE_SIDED,
        argument: said.to_argument(name),
        bytes,
    }
}

impl<R: EpochRules> OneSided<R> {
    /// Handles a request of another process, and advances local state that it enables.
    pub(super) fn dispatch_request(
        &mut self,
        memory: &mut dyn UserMemory,
        request: RmaRequest<'_>,
    ) -> Result<Option<ReplyPacket>, MalformedPacket> {
        let answer = self.serve(memory, request)?;
        if self.is_due {
            self.advance_local(memory);
        }
        Ok(answer)
    }

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
        if !self.windows[at].has(source, PeerFlags::MEMBER) {
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
            PacketKind::Size => Ok(Some(reply(ReplyKind::Result, name, self.size(at)))),
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
                window.queue_lock_first(source)?;
                self.grants_due |= window.lock.waiting > 0;
            }
            PacketKind::Lock => {
                let is_here = source == self.here;
                self.grants_due |= window.request_lock(source, head.operation, is_here)? && !is_here;
            }
            PacketKind::Flush | PacketKind::Unlock => {
                if head.kind == PacketKind::Unlock {
                    window.release_lock(source)?;
                    self.grants_due |= window.lock.waiting > 0;
                }
                let flags = window.flags(source).ok_or(MalformedPacket)?;
                bytes[0] = flags.has(PeerFlags::FAULT).into();
                flags.set(PeerFlags::FAULT, false);
                return Ok(Some(reply(ReplyKind::Result, name, bytes)));
            }
            PacketKind::Grant => window.flags(source).ok_or(MalformedPacket)?.set(PeerFlags::HELD, true),
            PacketKind::Post => {
                let peer = window.peer(source).ok_or(MalformedPacket)?;
                peer.grants = peer.grants.checked_add(1).ok_or(MalformedPacket)?;
            }
            PacketKind::Complete => window.handle_done(source, self.rules)?,
            PacketKind::Arrived => window.handle_arrived(source)?,
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
            let Some(span) = window.span_at(place, len) else {
                window.mark_fault(source);
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
        let Some(span) = window.span_at(place, len) else {
            window.mark_fault(source);
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
        match window.span_at(place, len) {
            None => window.mark_fault(source),
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
        let Some(span) = window.span_at(u64::from_le_bytes(*place), len as usize) else {
            window.mark_fault(source);
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

    fn size(&self, at: usize) -> [u8; REPLY_BYTES] {
        let window = &self.windows[at];
        let size: usize = window.exposure.regions.iter().map(Span::len).sum();
        let mut bytes = [0; REPLY_BYTES];
        bytes[..8].copy_from_slice(&(size as u64).to_le_bytes());
        bytes[8..12].copy_from_slice(&window.exposure.disp_unit.to_le_bytes());
        bytes
    }

    /// Emits the result of a fetch.
    pub(super) fn next_fetched(&mut self, out: &mut [u8; SHORT_BYTES]) -> Option<OutgoingPacket> {
        let fetched = self.target_replies.results.pop()?;
        let len = fetched.len as usize;
        out[..len].copy_from_slice(&fetched.bytes[..len]);
        Some(OutgoingPacket {
            dest: fetched.origin,
            argument: 0,
            place: Some(TargetOffset {
                target: fetched.name.into(),
                offset: 0,
            }),
            len,
        })
    }

    /// Emits a packet of the next get in round robin.
    pub(super) fn next_from_cursors(
        &mut self,
        memory: &mut dyn UserMemory,
        out: &mut [u8; SHORT_BYTES],
    ) -> Option<OutgoingPacket> {
        let mut cursor = self.target_replies.cursors.pop_front()?;
        let offset = cursor.offset as usize;
        let len = (cursor.span.len() - offset).min(DATA_BYTES);
        memory.read(cursor.span, offset, &mut out[..len]);
        let place = TargetOffset {
            target: cursor.name.into(),
            offset: cursor.offset,
        };
        cursor.offset += len as u32;
        if (cursor.offset as usize) < cursor.span.len() {
            // Cannot fail: it has just been dequeued.
            let _ = self.target_replies.cursors.push_back(cursor);
        }
        Some(OutgoingPacket {
            dest: cursor.origin,
            argument: 0,
            place: Some(place),
            len,
        })
    }

    /// Emits the grant of a lock that has become free for a waiting process.
    pub(super) fn next_grant(&mut self, out: &mut [u8; SHORT_BYTES]) -> Option<OutgoingPacket> {
        while self.grants_due {
            let granted: Option<(Context, Rank)> = self.windows.iter_mut().find_map(|window| {
                let rank = window.grant()?;
                Some((window.context, rank))
            });
            let Some((context, dest)) = granted else {
                self.grants_due = false;
                break;
            };
            if dest == self.here {
                let flags = self.window(context).and_then(|window| window.flags(dest));
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
