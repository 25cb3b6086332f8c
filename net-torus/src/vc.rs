//! Virtual channels, tokens (credits) and the bubble rule.
//!
//! A token is one chunk of free space in the receiver's buffer. A sender requires tokens to transmit, so that a
//! received packet always fits and none is dropped; back-pressure reaches the injector.
//!
//! The bubble rule ("Blue Gene/L torus, virtual channels") governs entry into a bubble channel: from an injection FIFO,
//! from another channel, or by a turn. It requires space for two packets behind the link; to continue straight, space
//! for one is enough. So every ring of bubble buffers keeps a hole, and its packets move.
//!
//! Packet sizes differ, and a hole must not shrink chunk by chunk. For example, one buffer of a full ring has space for
//! 8 chunks, and a packet of 1 chunk moves into it. Then no packet of 8 chunks can move, although 8 chunks are free in
//! total. A packet on a bubble channel therefore uses the tokens of the channel's maximum packet, regardless of its
//! size. This maximum may be smaller on the priority channel ([`PRIORITY_CHUNKS`]): rings of different channels do not
//! wait for each other's buffers, so each uses its own unit.

use crate::chunk::MAX_QUEUE_CHUNKS;
use crate::profile::{HAS_DYNAMIC, PACKET_CHUNKS, PRIORITY_CHUNKS};

/// Virtual channel with a separate buffer behind each link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Vc {
    /// First dynamic channel: minimal adaptive routing, unordered.
    D0,
    /// Second dynamic channel.
    D1,
    /// Bubble normal: dimension order, ordered; escape channel of the dynamic channels.
    Bn,
    /// Bubble priority: dimension order, ordered, for control traffic.
    Bp,
}

impl Vc {
    /// Number of channels.
    pub const COUNT: usize = 4;
    /// All channels, in the order of their values.
    pub const ALL: [Vc; Self::COUNT] = [Vc::D0, Vc::D1, Vc::Bn, Vc::Bp];

    /// Checks whether the bubble rule governs the channel.
    pub const fn is_bubble(self) -> bool {
        !HAS_DYNAMIC || matches!(self, Vc::Bn | Vc::Bp)
    }
    /// Returns the name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Vc::D0 => "D0",
            Vc::D1 => "D1",
            Vc::Bn => "BN",
            Vc::Bp => "BP",
        }
    }

    /// Returns the maximum packet size of the channel in chunks.
    pub const fn greatest(self) -> usize {
        match self {
            Vc::Bp => PRIORITY_CHUNKS,
            Vc::D0 | Vc::D1 | Vc::Bn => PACKET_CHUNKS,
        }
    }

    /// Returns the tokens in chunks that a packet of `chunks` uses on this channel.
    pub const fn charge(self, chunks: usize) -> u16 {
        if self.is_bubble() {
            self.greatest() as u16
        } else {
            chunks as u16
        }
    }

    /// Returns the tokens in chunks that a packet of `chunks` requires before transmission. `straight` specifies that
    /// it stays in the same ring of the same channel.
    pub const fn needed(self, chunks: usize, straight: bool) -> u16 {
        match (self.is_bubble(), straight) {
            (false, _) => chunks as u16,
            (true, true) => self.greatest() as u16,
            (true, false) => 2 * self.greatest() as u16,
        }
    }
}

/// Returns the tokens in chunks that an injected packet of `chunks` requires to enter a dynamic channel with through
/// traffic. The packet requires space for three more packets, or the entire buffer of `capacity`. Injection therefore
/// stops before the dynamic channels fill up: nothing else prevents a cycle of full buffers there, in which only the
/// escape channel moves ("Adaptive bubble router", Puente et al. 2001, limits injection for the same reason).
pub(crate) const fn needed_to_inject(chunks: usize, capacity: u16) -> u16 {
    let needed = (chunks + 3 * PACKET_CHUNKS) as u16;
    if needed < capacity { needed } else { capacity }
}

/// Packs the counters of a link's channels into one word, the first channel lowest.
#[inline]
pub(crate) const fn pack_counters([a, b, c, d]: [u16; Vc::COUNT]) -> u64 {
    a as u64 | (b as u64) << 16 | (c as u64) << 32 | (d as u64) << 48
}

/// Unpacks the counters from [`pack_counters`].
pub(crate) const fn unpack_counters(word: u64) -> [u16; Vc::COUNT] {
    [
        word as u16,
        (word >> 16) as u16,
        (word >> 32) as u16,
        (word >> 48) as u16,
    ]
}

/// Sender's view of one channel's buffer behind a link.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ChannelTokens {
    /// Chunks granted by the receiver so far, modulo 65,536.
    granted: u16,
    /// Chunks spent so far, modulo 65,536.
    spent: u16,
    /// Maximum number of tokens ever available: the buffer's capacity, after the first grant.
    most: u16,
}

impl ChannelTokens {
    #[inline]
    pub fn available(&self) -> u16 {
        self.granted.wrapping_sub(self.spent)
    }
    pub fn most(&self) -> u16 {
        self.most
    }
    pub fn spend(&mut self, chunks: u16) {
        debug_assert!(self.available() >= chunks);
        self.spent = self.spent.wrapping_add(chunks);
    }
    /// Updates the tokens from the receiver's counter. An older value is ignored.
    #[must_use]
    pub fn grant(&mut self, granted: u16) -> GrantResult {
        let more = granted.wrapping_sub(self.granted) as i16;
        if more <= 0 {
            return GrantResult::Empty;
        }
        if self.available() as usize + more as usize > MAX_QUEUE_CHUNKS {
            return GrantResult::TooMuch;
        }
        self.granted = granted;
        self.most = self.most.max(self.available());
        GrantResult::More
    }
}

impl ChannelTokens {
    /// Returns the account for a successor.
    pub fn to_words(self) -> [u16; 3] {
        [self.granted, self.spent, self.most]
    }

    /// Creates the account that a predecessor has returned. `None`: no buffer has so many chunks.
    pub fn from_words([granted, spent, most]: [u16; 3]) -> Option<Self> {
        let tokens = Self { granted, spent, most };
        let limit = MAX_QUEUE_CHUNKS as u16;
        (tokens.available() <= limit && most <= limit).then_some(tokens)
    }
}

/// Result of [`ChannelTokens::grant`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GrantResult {
    /// No new tokens.
    Empty,
    /// New tokens.
    More,
    /// More tokens than any buffer holds: invalid, and ignored.
    TooMuch,
}

/// Receiver's account of the channels' buffers behind a link, by [`Vc`].
#[derive(Clone, Copy, Default, Debug)]
#[repr(align(8))]
pub(crate) struct ChannelGrants {
    /// Chunks released so far, including the initially empty buffer, modulo 65,536.
    free: [u16; Vc::COUNT],
    /// Value of `free` that was last transmitted to the sender.
    told: [u16; Vc::COUNT],
    /// Chunks received so far, modulo 65,536.
    received: [u16; Vc::COUNT],
}

impl ChannelGrants {
    pub fn new(capacities: [u16; Vc::COUNT]) -> Self {
        Self {
            free: capacities,
            ..Self::default()
        }
    }
    #[inline]
    pub fn receive(&mut self, vc: usize, chunks: u16) {
        self.received[vc] = self.received[vc].wrapping_add(chunks);
    }
    #[inline]
    pub fn release(&mut self, vc: usize, chunks: u16) {
        self.free[vc] = self.free[vc].wrapping_add(chunks);
    }
    /// Returns the released chunks that the sender does not know of yet.
    #[inline]
    pub fn untold(&self, vc: usize) -> u16 {
        self.free[vc].wrapping_sub(self.told[vc])
    }
    /// Returns the counters for a frame; the caller must transmit it.
    #[inline]
    pub fn tell(&mut self) -> [u16; Vc::COUNT] {
        self.told = self.free;
        self.told
    }
    /// Checks whether a token update is due, even in a separate frame.
    ///
    /// It is always due when the sender may be blocked: the tokens it knows of are fewer than it can require on this
    /// channel with a buffer of `capacity`. Otherwise it is due only after half the buffer was released, because a
    /// frame costs far more than the packets in it.
    #[inline]
    pub fn is_due(&self, vc: Vc, capacity: u16) -> bool {
        let untold = self.untold(vc as usize);
        let needed = if vc.is_bubble() {
            vc.needed(PACKET_CHUNKS, false)
        } else {
            needed_to_inject(PACKET_CHUNKS, capacity)
        };
        let known = self.told[vc as usize].wrapping_sub(self.received[vc as usize]);
        untold > 0 && (known < needed || untold >= capacity / 2)
    }
}

impl ChannelGrants {
    /// Returns the account for a successor.
    pub fn to_words(self) -> [[u16; Vc::COUNT]; 3] {
        [self.free, self.told, self.received]
    }

    /// Creates the account that a predecessor has returned.
    pub fn from_words([free, told, received]: [[u16; Vc::COUNT]; 3]) -> Self {
        Self { free, told, received }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::by_profile;
    use crate::router::MIN_BUBBLE_PACKETS;

    #[test]
    fn a_bubble_packet_takes_the_tokens_of_the_greatest() {
        assert_eq!(Vc::Bn.charge(1), by_profile(8, 4));
        assert_eq!(Vc::Bp.charge(1), by_profile(8, 2));
        assert_eq!(Vc::Bp.charge(PRIORITY_CHUNKS), PRIORITY_CHUNKS as u16);
        assert_eq!(Vc::Bp.charge(1), PRIORITY_CHUNKS as u16);
        assert_eq!(Vc::Bp.needed(1, false), 2 * PRIORITY_CHUNKS as u16);
        assert_eq!(Vc::Bn.needed(1, false), by_profile(16, 8));
        assert_eq!(Vc::Bn.needed(1, true), by_profile(8, 4));
        // Without dynamic channels no packet uses D0 and D1, and the bubble rule governs every channel.
        assert_eq!(Vc::D0.is_bubble(), !HAS_DYNAMIC);
        assert_eq!(Vc::D0.charge(3), by_profile(3, 4));
        assert_eq!(Vc::D1.needed(3, false), by_profile(3, 8));
    }

    #[test]
    fn grants_count_the_whole_history_and_wrap() {
        let mut tokens = ChannelTokens::default();
        let mut grants = ChannelGrants::new([64; Vc::COUNT]);
        for _ in 0..10_000 {
            assert_ne!(tokens.grant(grants.tell()[1]), GrantResult::TooMuch);
            assert_eq!(tokens.available(), 64);
            tokens.spend(24);
            grants.receive(1, 24);
            grants.release(1, 24);
        }
        let [other, old, ..] = grants.tell();
        assert_eq!(other, 64, "another channel");
        assert_eq!(tokens.grant(old), GrantResult::More);
        assert_eq!(tokens.grant(old), GrantResult::Empty);
        assert_eq!(
            tokens.grant(old.wrapping_sub(24)),
            GrantResult::Empty,
            "an old value is harmless"
        );
        assert_eq!(tokens.available(), 64);
        assert_eq!(
            tokens.grant(old.wrapping_add(0x7fff)),
            GrantResult::TooMuch,
            "more than any buffer"
        );
        assert_eq!(tokens.available(), 64);
    }

    /// A received counter is accepted exactly if it grants tokens and a buffer holds them. The tokens are then the
    /// difference of the counters. All counters with few, some and all tokens, and the limits with each number of them.
    #[test]
    fn a_counter_is_accepted_exactly_if_a_buffer_holds_its_tokens() {
        let most = MAX_QUEUE_CHUNKS as u16;
        let check = |granted: u16, available: u16, counter: u16| {
            let spent = granted.wrapping_sub(available);
            let mut tokens = ChannelTokens { granted, spent, most };
            // An older counter differs by less than half of the range.
            let more = i32::from(counter.wrapping_sub(granted) as i16);
            let (expected, granted) = match (more > 0, more + i32::from(available) <= i32::from(most)) {
                (false, _) => (GrantResult::Empty, 0),
                (true, true) => (GrantResult::More, more),
                (true, false) => (GrantResult::TooMuch, 0),
            };
            assert_eq!(tokens.grant(counter), expected);
            assert_eq!(i32::from(tokens.available()), i32::from(available) + granted);
        };
        for granted in [0, 1, 0x7fff, 0x8000, u16::MAX] {
            for available in [0, 1, most / 2, most] {
                (0..=u16::MAX).for_each(|counter| check(granted, available, counter));
            }
            for available in 0..=most {
                for more in [0, 1, most - available, most - available + 1, 0x7fff, 0x8000, u16::MAX] {
                    check(granted, available, granted.wrapping_add(more));
                }
            }
        }
    }

    #[test]
    fn credit_is_due_when_the_sender_may_wait() {
        let packet = PACKET_CHUNKS as u16;
        let capacity = 8 * packet;
        let mut grants = ChannelGrants::new([capacity; Vc::COUNT]);
        assert!(grants.is_due(Vc::Bn, capacity), "the first grant");
        grants.tell();
        for _ in 0..6 {
            grants.receive(Vc::Bn as usize, packet);
        }
        grants.release(Vc::Bn as usize, packet);
        assert!(!grants.is_due(Vc::Bn, capacity), "the sender still sees room for two");
        grants.receive(Vc::Bn as usize, packet);
        assert!(grants.is_due(Vc::Bn, capacity), "the sender sees room for one");
        grants.tell();
        grants.release(Vc::Bn as usize, capacity / 2);
        assert!(grants.is_due(Vc::Bn, capacity), "half of the buffer");
    }

    #[test]
    fn credit_is_due_when_an_injected_packet_may_wait_for_most_of_a_buffer() {
        // Without dynamic channels injected packets enter a bubble channel, which requires space for two.
        let vc = if HAS_DYNAMIC { Vc::D0 } else { Vc::Bn };
        for packets in [1, 2, 4, 16] {
            let capacity = packets * PACKET_CHUNKS as u16;
            let mut grants = ChannelGrants::new([capacity; Vc::COUNT]);
            grants.tell();
            let needed = if HAS_DYNAMIC {
                needed_to_inject(PACKET_CHUNKS, capacity)
            } else {
                vc.needed(PACKET_CHUNKS, false)
            };
            assert!(needed <= capacity || !HAS_DYNAMIC && packets < MIN_BUBBLE_PACKETS);
            let at = vc as usize;
            while grants.told[at].wrapping_sub(grants.received[at]) >= needed {
                grants.receive(at, PACKET_CHUNKS as u16);
            }
            grants.release(at, 1);
            assert!(grants.is_due(vc, capacity), "{capacity}");
        }
    }
}
