//! Flow-control state of an idle router's links, for a router that continues in its place: one process hands its node over
//! to another.

use super::Router;
use crate::coord::Direction;
use crate::vc::{ChannelGrants, ChannelTokens, Vc, pack_counters, unpack_counters};

/// Words of [`LinkCredits`].
const WORDS: usize = 7 * Vc::COUNT;

/// Flow-control state of one end of a link without packets in the router's buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkCredits(pub [u16; WORDS]);

impl Router<'_> {
    /// Returns the state of a link for a successor. The router must be empty, and must not be used any more.
    pub fn credits(&self, side: Direction) -> LinkCredits {
        let side = side as usize;
        let tokens = self.tokens[side].map(ChannelTokens::to_words);
        let mut words = [0; WORDS];
        let lists = [unpack_counters(self.seen[side])]
            .into_iter()
            .chain(self.grants[side].to_words())
            .chain((0..3).map(|field| tokens.map(|words| words[field])));
        for (word, value) in words.iter_mut().zip(lists.flatten()) {
            *word = value;
        }
        LinkCredits(words)
    }

    /// Continues with the state of a link that a predecessor has returned. The router must be new. Returns false if the
    /// state is impossible.
    pub fn restore_credits(&mut self, side: Direction, credits: LinkCredits) -> bool {
        let (lists, _) = credits.0.as_chunks::<{ Vc::COUNT }>();
        let [seen, free, told, received, granted, spent, most] = *lists else {
            return false;
        };
        let mut tokens = [ChannelTokens::default(); Vc::COUNT];
        for (vc, channel) in tokens.iter_mut().enumerate() {
            match ChannelTokens::from_words([granted[vc], spent[vc], most[vc]]) {
                Some(restored) => *channel = restored,
                None => return false,
            }
        }
        let side = side as usize;
        self.tokens[side] = tokens;
        self.seen[side] = pack_counters(seen);
        self.grants[side] = ChannelGrants::from_words([free, told, received]);
        self.untold &= !(1 << side);
        for vc in 0..Vc::COUNT {
            self.owe(side, vc);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::CHUNK_BYTES;
    use crate::coord::{Coord, Shape};
    use crate::router::BufferSizes;

    #[test]
    fn a_successor_continues_with_the_same_credits() {
        let shape = Shape::new([3, 1, 1], [false; 3]).expect("a shape");
        let here = Coord { x: 1, y: 0, z: 0 };
        let sizes = BufferSizes::SMALLEST;
        let mut memory = [(); 2].map(|()| vec![[0; CHUNK_BYTES]; sizes.chunks()]);
        let [first, second] = &mut memory;
        let mut router = Router::new(shape, here, sizes, first).expect("a router");
        assert!(router.is_empty());
        for vc in 0..Vc::COUNT {
            let side = Direction::XPlus as usize;
            router.grants[side].receive(vc, 5);
            router.grants[side].release(vc, 5);
            let _ = router.tokens[side][vc].grant(9);
            router.tokens[side][vc].spend(4);
        }
        router.seen[0] = 0x0001_0002_0003_0004;
        let credits = router.credits(Direction::XPlus);
        let mut successor = Router::new(shape, here, sizes, second).expect("a router");
        assert_ne!(successor.credits(Direction::XPlus), credits);
        assert!(successor.restore_credits(Direction::XPlus, credits));
        assert_eq!(successor.credits(Direction::XPlus), credits);
        assert!(!successor.restore_credits(Direction::XPlus, LinkCredits([0xfff0; WORDS])));
    }
}
