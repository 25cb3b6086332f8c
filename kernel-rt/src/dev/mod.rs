//! Devices, and what implements [`Link`](net_torus::Link).
//!
//! ```text
//! virtio            memory, transport, start of every virtio device
//! virtio_net        a link
//! greeting          how two ends of a link find out that both are there (portable)
//! ring              a link in shared memory (portable)
//! ```

pub mod greeting;
pub mod ring;
#[cfg(target_os = "none")]
pub mod virtio;
#[cfg(target_os = "none")]
pub mod virtio_net;
