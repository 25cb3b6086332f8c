//! Cached self-receive: the receive of a message that this process is about to send to itself.
//!
//! ```text
//!             cache_self_recv            deliver_to_cached          take_completed_cached
//!   IdReserved -------------> Waiting --------------------> Arrived ---------------------> IdReserved
//!     ^                          |                             |
//!     | enable_self_recv_cache   +----> evict_cached_recv <----+
//!   Empty                          a request of the pool, posted or finished; then Empty
//! ```
//! A receive that only this process can send to, and the only one posted, is likely to be followed by that self-send,
//! and by the call that waits for it. Until any other operation, the cached receive uses no slot of the pool and no
//! entry of a queue, only the ID of the pool's next request. Before any other operation of the device,
//! [`Adi::evict_cached_recv`] evicts it: it creates the request that would have existed from the start. So the conditions
//! checked for the first cached receive still hold for the next one, and are not checked again: no message is recorded,
//! no self-send waits, no probe is armed, no message is rejected, and the pool has a free slot.
//!
//! For hosts that know of every packet handled between calls. The statistics count a cached receive like a request.
#![forbid(unsafe_code)]

use crate::adi::Adi;
use crate::config::COPY_BYTES;
use crate::envelope::{Envelope, MatchPattern};
use crate::ids::RequestId;
use crate::matching::Matching;
use crate::memory::{Span, UserMemory};
use crate::protocol::ProtocolRules;
use crate::recv::cached_self_recv::{CacheState, CachedSelfRecv};
use crate::request::{
    MatchedMessage, PlainCompletion, PostedReceive, RESERVED_SLOTS, ReceiveRequest, ReceiveState, Request,
};
use crate::send::SendTo;

impl<R: ProtocolRules> Adi<R> {
    /// Starts a receive as [`Adi::irecv`] does, as the cached receive; returns `None` when it cannot be cached.
    #[inline]
    pub fn cache_self_recv(&mut self, pattern: &MatchPattern, span: Span) -> Option<RequestId> {
        let is_own = pattern.source() == Some(self.identity.rank);
        let tag = pattern.tag().filter(|_| is_own)?;
        if self.receiver.self_recv_cache.state != CacheState::IdReserved && !self.enable_self_recv_cache() {
            return None;
        }
        if let Some(counts) = self.matching.counts() {
            // Counts a search for a message; none exists.
            counts.searched(0);
        }
        let id = self.receiver.self_recv_cache.id;
        self.receiver.self_recv_cache = CachedSelfRecv {
            state: CacheState::Waiting,
            tag,
            context: pattern.context(),
            span,
            id,
        };
        Some(id)
    }

    /// Checks whether receives can be cached, and allocates an ID for the first of them.
    #[inline(never)]
    fn enable_self_recv_cache(&mut self) -> bool {
        self.evict_cached_recv();
        let is_quiet = self.peers.has_no_rejected()
            && self.receiver.probes.is_empty()
            && self.may_send_to_self(self.identity.rank)
            && self.reserve_for_recv(RESERVED_SLOTS).is_ok();
        let (Some(counts), Some(id)) = (self.matching.counts(), self.requests.next_id()) else {
            return false;
        };
        if !is_quiet || counts.posted > 0 || counts.unexpected > 0 {
            return false;
        }
        counts.posted();
        counts.unposted();
        self.requests.bump_live_count();
        self.receiver.self_recv_cache.id = id;
        self.receiver.self_recv_cache.state = CacheState::IdReserved;
        true
    }

    /// Sends `span` to this process into the cached receive, and returns true. On false, nothing has changed.
    #[inline]
    pub fn deliver_to_cached<M: UserMemory + ?Sized>(&mut self, memory: &mut M, to: &SendTo, span: Span) -> bool {
        let hand = &self.receiver.self_recv_cache;
        let is_it = hand.state == CacheState::Waiting
            && to.dest == self.identity.rank
            && (to.tag, to.context) == (hand.tag, hand.context)
            && span.len() <= COPY_BYTES;
        if !is_it {
            return false;
        }
        let (target, length) = (hand.span, span.len() as u32);
        memory.copy(span, target, span.len().min(target.len()));
        self.receiver.self_recv_cache.state = CacheState::Arrived(length);
        if let Some(counts) = self.matching.counts() {
            counts.searched(1);
        }
        self.stats.messages_sent += 1;
        self.stats.messages_received += 1;
        true
    }

    /// Completes the cached receive as [`Adi::take_plain_completed`] does. On `None`, nothing has changed.
    #[inline]
    pub fn take_completed_cached(&mut self, id: RequestId) -> Option<PlainCompletion> {
        let hand = &self.receiver.self_recv_cache;
        let CacheState::Arrived(bytes) = hand.state else {
            return None;
        };
        let is_whole = bytes as usize <= hand.span.len() && !hand.span.is_typed();
        if hand.id != id || !is_whole {
            return None;
        }
        let (peer, tag, context) = (self.identity.rank, hand.tag, hand.context);
        self.receiver.self_recv_cache.state = CacheState::Empty;
        if let Some(next) = self.requests.next_generation() {
            self.receiver.self_recv_cache.id = next;
            self.receiver.self_recv_cache.state = CacheState::IdReserved;
        }
        Some(PlainCompletion {
            peer,
            tag,
            bytes,
            context,
        })
    }

    /// Evicts the cached receive to a request of the pool. Required before any operation outside of this module.
    #[inline]
    pub fn evict_cached_recv(&mut self) {
        if self.receiver.self_recv_cache.state != CacheState::Empty {
            self.evict_cached_recv_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn evict_cached_recv_now(&mut self) {
        let hand = core::mem::replace(&mut self.receiver.self_recv_cache, CachedSelfRecv::EMPTY);
        let (source, tag, context) = (self.identity.rank, hand.tag, hand.context);
        let envelope = Envelope { source, tag, context };
        let state = match hand.state {
            CacheState::Empty | CacheState::IdReserved => return,
            CacheState::Waiting => ReceiveState::Posted(PostedReceive {
                pattern: envelope.pattern(),
                serial: self.receiver.posts,
                needs_listing: false,
            }),
            CacheState::Arrived(length) => ReceiveState::Done(MatchedMessage { envelope, length }),
        };
        let span = hand.span;
        let kept = self.requests.insert(Request::Receive(ReceiveRequest { span, state }));
        let id = kept.expect("there is room, as nothing has been asked of the device since");
        debug_assert_eq!(id, hand.id);
        self.receiver.posts += 1;
        if hand.state == CacheState::Waiting {
            self.post(id.slot(), &envelope.pattern());
        }
    }
}
