//! The two build profiles, with every size and switch in which they differ.
//!
//! `full` is the default. The feature `micro` selects the profile for microcontrollers: RAM is scarce, and a serial
//! line transmits a byte in the time of many instructions. All nodes of a machine require the same profile, as packets
//! of one profile are defects in the other. A value here changes tests and images together: no other module checks the
//! feature.
//!
//! | | unit | `full` | `micro` |
//! |---|---|---:|---:|
//! | [`PACKET_CHUNKS`] | chunks of 32 bytes | 8 | 4 |
//! | [`PRIORITY_CHUNKS`] | chunks of 32 bytes | 8 | 2 |
//! | [`HAS_DYNAMIC`] | | yes | no |
//! | [`RING_FIFOS`] | | yes | no |

/// Build profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// Sizes as in Blue Gene/L.
    Full,
    /// Sizes for microcontrollers.
    Micro,
}

/// Profile of this build.
pub const PROFILE: Profile = if cfg!(feature = "micro") {
    Profile::Micro
} else {
    Profile::Full
};

/// Returns the value for this build: `full` or `micro`.
pub const fn by_profile<T: Copy>(full: T, micro: T) -> T {
    match PROFILE {
        Profile::Full => full,
        Profile::Micro => micro,
    }
}

/// Maximum packet in chunks ("Blue Gene/L torus, packet"). The smallest legal router has space for 20 normal packets,
/// so half the size saves a microcontroller 2,560 bytes. The header's size field allows 8 chunks in both profiles.
pub const PACKET_CHUNKS: usize = by_profile(8, 4);

/// Maximum priority packet in chunks, at most [`PACKET_CHUNKS`]. Acknowledgements are short, so `micro` uses shorter
/// buffers for them. Injection rejects a longer packet ([`TooLong`](crate::InjectError::TooLong)); from a link it is a
/// [`Channel`](crate::FrameError::Channel) defect.
pub const PRIORITY_CHUNKS: usize = by_profile(8, 2);

/// Whether packets may use the dynamic channels. `micro` has no memory for their buffers. There, adaptive packets use
/// deterministic routing, and a received packet with a dynamic channel or the dynamic bit is a
/// [`Channel`](crate::FrameError::Channel) defect. Its escape would be the bubble channel, which keeps dimension order,
/// too.
pub const HAS_DYNAMIC: bool = by_profile(true, false);

/// Whether injection and reception FIFOs are ring buffers. A ring buffer requires extra memory of the maximum packet
/// less one chunk behind its end, so that each packet is contiguous. Without it, a FIFO that has reached its end is
/// full until it is empty, then restarts. Channel buffers are ring buffers in both profiles, as tokens count their free
/// chunks.
pub const RING_FIFOS: bool = by_profile(true, false);

const _: () = assert!(0 < PRIORITY_CHUNKS && PRIORITY_CHUNKS <= PACKET_CHUNKS);
