//! Torus device of a node: the router and its six links.

use crate::chunk::CHUNK_BYTES;
use crate::coord::{Coord, Direction};
use crate::link::{self, Link};
use crate::open_frames::{OpenFrames, WORTH_A_FRAME};
use crate::router::{ConfigError, Router};
use crate::wire::{DirectionSet, FRAME_HEADER_BYTES, MIN_MTU};

/// Maximum number of frames received from, and sent to, each link in one [`Torus::step`].
pub const FRAMES_PER_STEP: usize = 8;

/// Router with its links.
pub struct Torus<'m, L> {
    pub(crate) router: Router<'m>,
    pub(crate) links: [Option<L>; 6],
    /// Index after the last present link.
    end: usize,
    pub(crate) gathers: bool,
    /// Directions whose last frames the link did not accept, or that wait for a busy neighbour.
    pub(crate) held: DirectionSet,
    /// Directions whose links received or transmitted frames in this round.
    pub(crate) touched: DirectionSet,
    /// Directions whose links have failed.
    dead: DirectionSet,
    /// Directions whose links support [`Link::unsent`], and the space for packets there in bytes.
    pub(crate) keeps: DirectionSet,
    pub(crate) room: usize,
    pub(crate) open_frames: OpenFrames<L>,
}

/// Properties of a node's links.
struct LinkKinds {
    present: DirectionSet,
    /// Index after the last present link.
    end: usize,
    exact: DirectionSet,
    keeps: DirectionSet,
    /// Minimum MTU of all links, limited by the frame's size field.
    mtu: usize,
}

impl LinkKinds {
    fn from_links<L: Link>(links: &[Option<L>; 6]) -> Self {
        let mut kinds = Self {
            present: DirectionSet::NONE,
            end: 0,
            exact: DirectionSet::NONE,
            keeps: DirectionSet::NONE,
            mtu: u16::MAX.into(),
        };
        for (d, link) in Direction::ALL.into_iter().zip(links) {
            let Some(link) = link else {
                continue;
            };
            kinds.present = kinds.present.with(d);
            kinds.end = d as usize + 1;
            kinds.mtu = kinds.mtu.min(link.mtu());
            if link.is_exact() {
                kinds.exact = kinds.exact.with(d);
                if L::MAY_BUFFER_UNSENT && link.buffers_unsent() {
                    kinds.keeps = kinds.keeps.with(d);
                }
            }
        }
        kinds
    }
}

impl<'m, L: Link> Torus<'m, L> {
    /// Connects a router to its links, by direction. A link is `None` at a mesh's edge or for an extent of 1.
    ///
    /// Fails with [`ConfigError::Links`] when the links do not match the router's coordinates, and with
    /// [`ConfigError::Mtu`] when a link cannot transmit the maximum packet.
    pub fn new(mut router: Router<'m>, links: [Option<L>; 6]) -> Result<Self, ConfigError> {
        let kinds = LinkKinds::from_links(&links);
        if kinds.present != router.links() {
            return Err(ConfigError::Links(kinds.present.bits()));
        }
        if kinds.mtu < MIN_MTU {
            return Err(ConfigError::Mtu);
        }
        if L::ALL_EXACT {
            router.set_all_exact()
        } else {
            router.set_exact(kinds.exact)
        }
        Ok(Self {
            router,
            links,
            end: kinds.end,
            gathers: false,
            held: DirectionSet::NONE,
            touched: DirectionSet::NONE,
            dead: DirectionSet::NONE,
            keeps: kinds.keeps,
            room: kinds.mtu - FRAME_HEADER_BYTES,
            open_frames: OpenFrames::NONE,
        })
    }

    /// Enables message coalescing: packets wait for others to share a frame while a link [is behind](Link::is_behind).
    /// Disabled at first. For nodes that are woken up when it no longer is.
    pub fn set_gathers(&mut self, gathers: bool) {
        self.gathers = gathers;
    }

    /// Makes one bounded pass and returns true if anything moved. It receives and transmits at most [`FRAMES_PER_STEP`]
    /// frames per link.
    ///
    /// After it has returned false, with no call in between, nothing moves before a link receives a frame or accepts
    /// one again. The node may sleep until a link's interrupt, or until [`Torus::poll_at`]. `now_ns` is the node's
    /// monotonic clock in nanoseconds from any start.
    pub fn step(&mut self, now_ns: u64) -> bool {
        self.receive_frames(now_ns) | self.transmit_frames(now_ns)
    }

    /// Receives frames from the links, the first half of a step. Returns true if there were any. [`Torus::transmit_frames`]
    /// follows; the caller can inject replies to these frames in between.
    pub fn receive_frames(&mut self, now_ns: u64) -> bool {
        // A bit mask: in most steps most links received nothing.
        let (mut news, mut bit) = (0, 1);
        for link in &mut self.links[..self.end] {
            if let Some(link) = link {
                if L::HAS_TIMEOUTS {
                    link.poll(now_ns);
                }
                if link.may_receive() {
                    news |= bit;
                }
            }
            bit <<= 1;
        }
        let mut news = DirectionSet::from_bits(news);
        let mut moved = false;
        while let Some(side) = news.first() {
            news = news.without(side);
            moved |= self.receive_from(side);
        }
        moved
    }

    /// Checks whether a link may have received a frame ([`Link::may_receive`]).
    #[inline]
    pub fn may_receive(&mut self) -> bool {
        let mut links = self.links[..self.end].iter_mut().flatten();
        links.any(L::may_receive)
    }

    /// Receives frames from one link.
    #[inline]
    fn receive_from(&mut self, side: Direction) -> bool {
        let Some(link) = &mut self.links[side as usize] else {
            return false;
        };
        let router = &mut self.router;
        let (mut taken, mut is_good) = (0, true);
        while taken < FRAMES_PER_STEP && link.receive(|frame| is_good &= router.receive_frame(side, frame)) {
            taken += 1;
        }
        if taken > 0 {
            self.touched = self.touched.with(side);
        }
        // A defect on a shared-memory link means corrupted memory, so the link is dead.
        if link.is_dead() || !is_good && link.is_exact() {
            self.dead = self.dead.with(side);
        }
        taken > 0
    }

    /// Transmits frames to the links, the second half of a step. Returns true if there were any.
    pub fn transmit_frames(&mut self, now_ns: u64) -> bool {
        let moved = if self.router.outputs().is_empty() {
            !self.open_frames.directions().is_empty() && self.send_open_frames()
        } else {
            self.send()
        };
        self.end_round(now_ns);
        moved
    }

    /// Returns the directions in which frames may be sent.
    #[inline]
    fn to_send(&self) -> DirectionSet {
        self.router.outputs().or(self.open_frames.directions())
    }

    /// Checks whether a packet waits for transmission over a link.
    #[inline]
    pub fn has_to_leave(&self) -> bool {
        self.router.has_to_leave() || !self.open_frames.directions().is_empty()
    }

    /// Polls the links at the end of a round.
    #[inline]
    fn end_round(&mut self, now_ns: u64) {
        let mut touched = if L::HAS_TIMEOUTS {
            self.router.links().bits()
        } else {
            self.touched.bits()
        };
        self.touched = DirectionSet::NONE;
        while touched != 0 {
            let at = touched.trailing_zeros() as usize;
            touched &= touched - 1;
            if let Some(Some(link)) = self.links.get_mut(at) {
                link.poll(now_ns);
                if link.is_dead() {
                    self.dead = self.dead.with(Direction::ALL[at]);
                }
            }
        }
    }

    /// Checks whether nothing will move before an injection, a received frame, or a link that accepts frames again.
    /// Valid right after a step.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.is_transmitted() && !self.router.has_received()
    }

    /// Checks whether the last step or half step gave the links every frame that they accept. A transmitted packet may
    /// have unblocked another one for a link that was already served.
    #[inline]
    pub fn is_transmitted(&self) -> bool {
        self.to_send().is_within(self.held)
    }

    /// Checks whether packets wait because a link is behind or full. Valid right after a step.
    #[inline]
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Checks whether a packet for `dest`, the last destination, would have to wait because the link [is
    /// behind](Link::is_behind) or full. Valid right after a step.
    #[inline]
    pub fn is_held(&self, dest: Coord) -> bool {
        self.router.last_way(dest).is_some_and(|d| self.held.has(d))
    }

    /// Separate, so that an idle step does not save its registers.
    #[inline(never)]
    fn send(&mut self) -> bool {
        let Self {
            router,
            links,
            held,
            gathers,
            touched,
            dead,
            open_frames,
            ..
        } = self;
        let before = core::mem::take(held);
        let mut moved = false;
        let mut turns = router.turns();
        // Evaluated for each link: a transmitted packet may have unblocked one for another link.
        while let Some(d) = turns.next_of(router.outputs().or(open_frames.directions())) {
            let Some(link) = &mut links[d as usize] else {
                continue;
            };
            for _ in 0..FRAMES_PER_STEP {
                let bytes = open_frames.bytes(d);
                if bytes == 0 && !router.has_output(d) {
                    break;
                }
                let more = WORTH_A_FRAME.saturating_sub(bytes / CHUNK_BYTES);
                let waits = *gathers && link.is_behind() && !router.has_chunks(d, more);
                if waits || !link.transmit(|buffer| router.fill_frame_from(d, buffer, bytes)) {
                    *held = held.with(d);
                    if link.is_dead() {
                        *dead = dead.with(d);
                    }
                    break;
                }
                open_frames.close(d);
                *touched = touched.with(d);
                moved = true;
                if !router.outputs().has(d) {
                    break;
                }
            }
        }
        self.end_waits(before);
        moved
    }

    /// Notifies links for which packets waited, `before` or in this step, when none waits any more. A packet with
    /// several routes may have used another link.
    #[inline]
    pub(crate) fn end_waits(&mut self, before: DirectionSet) {
        let waited = before.or(self.held);
        if !waited.is_empty() {
            self.end_waits_of(waited);
        }
    }

    #[inline(never)]
    fn end_waits_of(&mut self, waited: DirectionSet) {
        let wanted = self.to_send();
        self.held = self.held.and(wanted);
        for d in waited.iter().filter(|d| !wanted.has(*d)) {
            if let Some(link) = &mut self.links[d as usize] {
                link.wait_no_more();
            }
        }
    }

    /// Returns the time at which [`Torus::step`] must be called even without a link event: the earliest
    /// [`Link::poll_at`]. A sleeping node must wake up for it.
    pub fn poll_at(&self) -> Option<u64> {
        let mut at = None;
        for link in self.links.iter().flatten() {
            at = link::earlier(at, link.poll_at());
        }
        at
    }

    /// Returns the directions whose links have failed. Packets that require them are never delivered, so the caller
    /// must abort the job with a message that specifies this node and these directions.
    #[inline]
    pub fn dead_links(&self) -> DirectionSet {
        self.dead
    }

    /// Checks all links for failure. Returns true if one has failed.
    pub fn find_dead(&mut self) -> bool {
        for (d, link) in Direction::ALL.into_iter().zip(&self.links) {
            if link.as_ref().is_some_and(L::is_dead) {
                self.dead = self.dead.with(d);
            }
        }
        !self.dead.is_empty()
    }

    /// Returns the router for inspection.
    pub fn router(&self) -> &Router<'m> {
        &self.router
    }
    /// Returns the router to inject and receive.
    pub fn router_mut(&mut self) -> &mut Router<'m> {
        &mut self.router
    }
    /// Returns the links by direction.
    pub fn links(&self) -> &[Option<L>; 6] {
        &self.links
    }
    /// Returns the links up to the last present one, for the board's interrupt handling.
    #[inline]
    pub fn present_links(&mut self) -> &mut [Option<L>] {
        &mut self.links[..self.end]
    }
    /// Returns the mutable links by direction.
    pub fn links_mut(&mut self) -> &mut [Option<L>; 6] {
        &mut self.links
    }
}

#[cfg(test)]
mod tests;
