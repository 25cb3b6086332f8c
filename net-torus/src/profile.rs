//! The two build profiles, and every size and switch in which they differ.
//!
//! `full` is the default. The feature `micro` selects the other one, for microcontrollers: RAM is scarce, and a byte takes a
//! serial line longer than many instructions. All nodes of a machine need the same profile, as packets of one are defects
//! in the other. A value here changes tests and images together: nothing else in this crate looks at the feature.
//!
//! | | unit | `full` | `micro` |
//! |---|---|---:|---:|
//! | [`PACKET_CHUNKS`] | chunks of 32 bytes | 8 | 4 |
//! | [`PRIORITY_CHUNKS`] | chunks of 32 bytes | 8 | 2 |
//! | [`HAS_DYNAMIC`] | | yes | no |
//! | [`RING_FIFOS`] | | yes | no |

/// A build profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// Sizes as in Blue Gene/L.
    Full,
    /// Sizes for microcontrollers.
    Micro,
}

/// The profile of this build.
pub const PROFILE: Profile = if cfg!(feature = "micro") {
    Profile::Micro
} else {
    Profile::Full
};

/// The value for the profile of this build, out of that for `full` and that for `micro`.
pub const fn by_profile<T: Copy>(full: T, micro: T) -> T {
    match PROFILE {
        Profile::Full => full,
        Profile::Micro => micro,
    }
}

/// Greatest packet in chunks ("Blue Gene/L torus, packet"). The smallest legal router has room for 20 normal packets, so half
/// the size saves a microcontroller 2,560 bytes. The header's size field allows 8 chunks in both profiles.
pub const PACKET_CHUNKS: usize = by_profile(8, 4);

/// Greatest priority packet in chunks, at most [`PACKET_CHUNKS`]. Answers are short, so `micro` has shorter buffers for them.
/// A longer packet is refused at injection ([`TooLong`](crate::InjectError::TooLong)), and from a link it is a
/// [`Channel`](crate::Defect::Channel) defect.
pub const PRIORITY_CHUNKS: usize = by_profile(8, 2);

/// Whether packets may use the dynamic channels. `micro` has no memory for their buffers. There, adaptive packets are sent
/// like deterministic ones, and a packet that arrives on a dynamic channel, or with the dynamic bit, is a
/// [`Channel`](crate::Defect::Channel) defect: its escape would be the bubble channel, which keeps dimension order, too.
pub const HAS_DYNAMIC: bool = by_profile(true, false);

/// Whether injection and reception FIFOs are rings. A ring needs memory for the greatest packet less one chunk behind its
/// end, so that each packet lies in one piece. Without, a FIFO that has reached its end is full until it is empty, and then
/// begins again at its start. Channel buffers are rings in both profiles, as tokens count their free chunks.
pub const RING_FIFOS: bool = by_profile(true, false);

const _: () = assert!(0 < PRIORITY_CHUNKS && PRIORITY_CHUNKS <= PACKET_CHUNKS);
