//! Devices, and implementations of [`Link`](net_torus::Link).
//!
//! ```text
//! console_relay     console relay: the nodes' output on its way to a serial console (portable)
//! device_or_ring    a link that is a device or a ring, known at run time (portable)
//! virtio            memory, transport, start of every virtio device
//! virtio_net        a link
//! faults            links with injected faults, for tests, and their repair (portable)
//! handshake         link handshake: both ends detect each other (portable)
//! ring              a link in shared memory (portable)
//! serial            a link over a serial line (portable)
//! ```

#[cfg(any(all(target_arch = "arm", feature = "options"), not(target_os = "none")))]
pub mod console_relay;
#[cfg(any(not(target_os = "none"), all(target_arch = "riscv64", feature = "options")))]
pub mod device_or_ring;
#[cfg(any(feature = "faults", test))]
pub mod faults;
pub mod handshake;
pub mod ring;
pub mod serial;
#[cfg(all(target_arch = "riscv64", target_os = "none", feature = "options"))]
pub mod virtio;
#[cfg(all(target_arch = "riscv64", target_os = "none", feature = "options"))]
pub mod virtio_net;
