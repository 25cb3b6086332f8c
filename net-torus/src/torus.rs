//! A node's face to the torus: the router and its six links.

use crate::begun::{Begun, WORTH_A_FRAME};
use crate::chunk::CHUNK_BYTES;
use crate::coord::{Coord, Direction};
use crate::link::{self, Link};
use crate::router::{ConfigError, Router};
use crate::wire::{Directions, FRAME_HEADER_BYTES, MIN_MTU};

/// Frames taken from, and given to, each link in one [`Torus::step`].
pub const FRAMES_PER_STEP: usize = 8;

/// A router with its links.
pub struct Torus<'m, L> {
    pub(crate) router: Router<'m>,
    pub(crate) links: [Option<L>; 6],
    /// Behind the last link that is there.
    end: usize,
    pub(crate) gathers: bool,
    /// The directions in which the last frames could not go, or had better wait, for the link's sake.
    pub(crate) held: Directions,
    /// Those whose links have taken or given frames in this round.
    pub(crate) touched: Directions,
    /// Those whose links have given up.
    dead: Directions,
    /// Those whose links have [`Link::unsent`], and the bytes that packets have there.
    pub(crate) keeps: Directions,
    pub(crate) room: usize,
    pub(crate) begun: Begun<L>,
}

/// What the links of a node are.
struct Kinds {
    present: Directions,
    /// Behind the last one.
    end: usize,
    exact: Directions,
    keeps: Directions,
    /// The least that all of them carry, of so many bytes as a frame can count.
    mtu: usize,
}

impl Kinds {
    fn of<L: Link>(links: &[Option<L>; 6]) -> Self {
        let mut kinds = Self {
            present: Directions::NONE,
            end: 0,
            exact: Directions::NONE,
            keeps: Directions::NONE,
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
                if L::MAY_KEEP_UNSENT && link.keeps_unsent() {
                    kinds.keeps = kinds.keeps.with(d);
                }
            }
        }
        kinds
    }
}

impl<'m, L: Link> Torus<'m, L> {
    /// Joins a router to its links, by direction number; `None` where there is none (a mesh's edge, an
    /// extent of 1). Fails with [`ConfigError::Links`] when they are not the links of the router's place,
    /// and with [`ConfigError::Mtu`] when a link cannot carry the greatest packet.
    pub fn new(mut router: Router<'m>, links: [Option<L>; 6]) -> Result<Self, ConfigError> {
        let kinds = Kinds::of(&links);
        if kinds.present != router.links() {
            return Err(ConfigError::Links(kinds.present.bits()));
        }
        if kinds.mtu < MIN_MTU {
            return Err(ConfigError::Mtu);
        }
        match L::ALL_EXACT {
            true => router.set_all_exact(),
            false => router.set_exact(kinds.exact),
        }
        Ok(Self {
            router,
            links,
            end: kinds.end,
            gathers: false,
            held: Directions::NONE,
            touched: Directions::NONE,
            dead: Directions::NONE,
            keeps: kinds.keeps,
            room: kinds.mtu - FRAME_HEADER_BYTES,
            begun: Begun::NONE,
        })
    }

    /// Whether packets wait for others with which they share a frame while a link [is behind](Link::is_behind); at
    /// first they do not. For nodes that are woken when it no longer is.
    pub fn set_gathers(&mut self, gathers: bool) {
        self.gathers = gathers;
    }

    /// One bounded pass: at most [`FRAMES_PER_STEP`] frames from each link into the router, and as many
    /// from the router to each link. True if anything moved. After it has returned false, with no call in
    /// between, nothing will move before a link has a frame or takes one again: the node may sleep until
    /// a link's interrupt, or until [`Torus::poll_at`].
    ///
    /// `now_ns` is the node's clock in nanoseconds, from any start, never going back.
    pub fn step(&mut self, now_ns: u64) -> bool {
        self.take_frames(now_ns) | self.give_frames(now_ns)
    }

    /// The first half of a step: frames from the links. True if there were any. [`Torus::give_frames`] follows, with
    /// whatever is to leave with these frames' answers injected in between.
    pub fn take_frames(&mut self, now_ns: u64) -> bool {
        // By bits: in most steps most links have nothing.
        let (mut news, mut bit) = (0, 1);
        for link in &mut self.links[..self.end] {
            if let Some(link) = link {
                if L::KEEPS_TIME {
                    link.poll(now_ns);
                }
                if link.has_news() {
                    news |= bit;
                }
            }
            bit <<= 1;
        }
        let mut news = Directions::from_bits(news);
        let mut moved = false;
        while let Some(side) = news.first() {
            news = news.without(side);
            moved |= self.take_from(side);
        }
        moved
    }

    /// Whether a link may have a frame: [`Link::has_news`].
    #[inline]
    pub fn has_news(&mut self) -> bool {
        let mut links = self.links[..self.end].iter_mut().flatten();
        links.any(L::has_news)
    }

    /// Takes frames from one link.
    #[inline]
    fn take_from(&mut self, side: Direction) -> bool {
        let Some(link) = &mut self.links[side as usize] else {
            return false;
        };
        let router = &mut self.router;
        let (mut taken, mut is_good) = (0, true);
        while taken < FRAMES_PER_STEP
            && link.receive(|frame| is_good &= router.receive_frame(side, frame))
        {
            taken += 1;
        }
        if taken > 0 {
            self.touched = self.touched.with(side);
        }
        // A link that is memory is as the neighbour's router wrote it, or somebody else did.
        if link.is_dead() || !is_good && link.is_exact() {
            self.dead = self.dead.with(side);
        }
        taken > 0
    }

    /// The second half of a step: frames to the links. True if there were any.
    pub fn give_frames(&mut self, now_ns: u64) -> bool {
        let moved = match self.router.outputs().is_empty() {
            true => !self.begun.directions().is_empty() && self.send_begun(),
            false => self.send(),
        };
        self.end_round(now_ns);
        moved
    }

    /// The directions in which frames may leave.
    #[inline]
    fn to_send(&self) -> Directions {
        self.router.outputs().or(self.begun.directions())
    }

    /// Whether a packet is still to leave by a link.
    #[inline]
    pub fn has_to_leave(&self) -> bool {
        self.router.has_to_leave() || !self.begun.directions().is_empty()
    }

    /// The links are polled.
    #[inline]
    fn end_round(&mut self, now_ns: u64) {
        let mut touched = match L::KEEPS_TIME {
            true => self.router.links().bits(),
            false => self.touched.bits(),
        };
        self.touched = Directions::NONE;
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

    /// Whether nothing will move before a packet is injected, a frame comes or a link takes one again. Right after a
    /// step.
    #[inline]
    pub fn is_at_rest(&self) -> bool {
        self.is_given() && !self.router.has_received()
    }

    /// Whether the last step, or half of one, has given the links all that they take. What leaves by one link may have been
    /// in front of something for a link that had had its turn.
    #[inline]
    pub fn is_given(&self) -> bool {
        self.to_send().is_within(self.held)
    }

    /// Whether a link is behind or full, for whose sake something waits. Right after a step.
    #[inline]
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether a packet for `dest`, where the last one went, would not leave now, since the link [is
    /// behind](Link::is_behind) or full. Right after a step.
    #[inline]
    pub fn is_held(&self, dest: Coord) -> bool {
        self.router.last_way(dest).is_some_and(|d| self.held.has(d))
    }

    /// On its own, so that an idle step does not save its registers.
    #[inline(never)]
    fn send(&mut self) -> bool {
        let Self {
            router,
            links,
            held,
            gathers,
            touched,
            dead,
            begun,
            ..
        } = self;
        let before = core::mem::take(held);
        let mut moved = false;
        let mut turns = router.turns();
        // Looked at anew for each: what has left may have been in front of something for another link.
        while let Some(d) = turns.next_of(router.outputs().or(begun.directions())) {
            let Some(link) = &mut links[d as usize] else {
                continue;
            };
            for _ in 0..FRAMES_PER_STEP {
                let bytes = begun.bytes(d);
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
                begun.take(d);
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

    /// Links for which something waited, `before` or in this step, hear of it when nothing does any more: a packet with
    /// a choice of ways may have left by another.
    #[inline]
    pub(crate) fn end_waits(&mut self, before: Directions) {
        let waited = before.or(self.held);
        if !waited.is_empty() {
            self.end_waits_of(waited);
        }
    }

    #[inline(never)]
    fn end_waits_of(&mut self, waited: Directions) {
        let wanted = self.to_send();
        self.held = self.held.and(wanted);
        for d in waited.iter().filter(|d| !wanted.has(*d)) {
            if let Some(link) = &mut self.links[d as usize] {
                link.wait_no_more();
            }
        }
    }

    /// When [`Torus::step`] is to be called even if no link has anything: the earliest [`Link::poll_at`].
    /// A node that sleeps must wake up for it.
    pub fn poll_at(&self) -> Option<u64> {
        let mut at = None;
        for link in self.links.iter().flatten() {
            at = link::earlier(at, link.poll_at());
        }
        at
    }

    /// Directions whose links have given up. Packets that must go there never will: the job is to be
    /// ended with a message that names this node and these directions.
    #[inline]
    pub fn dead_links(&self) -> Directions {
        self.dead
    }

    /// Asks all links whether they have given up; true if one has.
    pub fn find_dead(&mut self) -> bool {
        for (d, link) in Direction::ALL.into_iter().zip(&self.links) {
            if link.as_ref().is_some_and(L::is_dead) {
                self.dead = self.dead.with(d);
            }
        }
        !self.dead.is_empty()
    }

    /// The router, to look at.
    pub fn router(&self) -> &Router<'m> {
        &self.router
    }
    /// The router, to inject and receive.
    pub fn router_mut(&mut self) -> &mut Router<'m> {
        &mut self.router
    }
    /// The links, by direction number.
    pub fn links(&self) -> &[Option<L>; 6] {
        &self.links
    }
    /// The links up to the last one that is there, for the board's own business (interrupts).
    #[inline]
    pub fn present_links(&mut self) -> &mut [Option<L>] {
        &mut self.links[..self.end]
    }
    /// The links, by direction number, to be changed.
    pub fn links_mut(&mut self) -> &mut [Option<L>; 6] {
        &mut self.links
    }
}

#[cfg(test)]
mod tests;
