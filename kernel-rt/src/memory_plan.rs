//! Layout of a node's memory.
//!
//! The image (linker script: stack, code, data, zeroed data with the outbox's rings) is first. [`MemoryPlan::new`] divides
//! the memory behind it once, at boot; nothing moves later:
//!
//! ```text
//! image end -> queues   the links' queues
//!              frames   the links' frames
//!              heap     the remaining memory
//!           -> end of RAM
//! ```
//!
//! Before the program starts, the kernel permanently allocates from the heap the region for incoming MPI traffic, the
//! peer table and the router's packet memory. The program's malloc and the requests of its own MPI calls share the
//! rest.
#![forbid(unsafe_code)]

use midplane_abi::address::{AddressRange, PAGE};
use midplane_abi::boot_error::MemoryTooSmall;
use net_torus::router::BufferSizes;

/// Size of a link's frame buffer in bytes, device header included: at least 15 packets of the maximum size.
pub const FRAME_BYTES: u64 = 4096;
const _: () = assert!(FRAME_BYTES as usize <= midplane_abi::captured_frames::MAX_FRAME_BYTES);
/// Receive frames per link: the number of frames that may be received between two polls.
pub const RECEIVE_FRAMES: usize = 16;
/// Transmit frames per link: the maximum number queued at the device.
pub const TRANSMIT_FRAMES: usize = 8;
/// Pages of one virtio queue: one written by the driver, one written by the device.
pub const QUEUE_PAGES: u64 = 2;
/// Minimum heap in bytes to start a program.
pub const MIN_HEAP: u64 = 64 * 1024;
/// Minimum memory of a node in bytes. QEMU places the device tree on a 2 MiB boundary near the end of RAM, where it
/// must not overlap the image.
pub const MIN_MEMORY: u64 = 4 << 20;
/// Default region for incoming MPI traffic, as a divisor of the memory size.
pub const MPI_SHARE: u64 = 8;

/// Capacity of the router's buffers in packets. A link carries frames of up to 15 packets and has a response time of
/// tens of microseconds, so its buffers hold several frames.
pub const ROUTER: BufferSizes = BufferSizes {
    dynamic: 16,
    normal: 48,
    priority: 16,
    inject_normal: 16,
    inject_priority: 16,
    receive_normal: 64,
    receive_priority: 32,
};
const _: () = assert!(
    ROUTER.bytes() <= 256 * 1024,
    "a node's router is meant to take a small part of its memory"
);

/// The same for a node with links to other hosts, whose response time is ten microseconds and more: the channel buffers
/// hold the data of that time.
#[cfg(target_os = "linux")]
pub const ROUTER_BETWEEN_HOSTS: BufferSizes = BufferSizes {
    dynamic: 64,
    normal: 256,
    ..ROUTER
};

/// Memory of one link in bytes: its frames and two queues.
pub const LINK_BYTES: u64 = (RECEIVE_FRAMES + TRANSMIT_FRAMES) as u64 * FRAME_BYTES + 2 * QUEUE_PAGES * PAGE;

// Six links of a fully equipped node use 672 KiB.
const _: () = assert!(6 * LINK_BYTES == 672 * 1024);
// Even the minimum memory provides enough space for a program.
const _: () = assert!(6 * LINK_BYTES + MIN_HEAP < MIN_MEMORY / 4);

/// Memory that a node requires in addition to its image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryNeeds {
    /// Number of links.
    pub links: usize,
    /// Bytes for incoming MPI traffic.
    pub mpi: u64,
    /// Bytes of the router's packet memory and the peer table.
    pub tables: u64,
}

/// Division of the memory behind the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryPlan {
    /// Queues of all links.
    pub queues: AddressRange,
    /// Frames of all links.
    pub frames: AddressRange,
    /// The heap.
    pub heap: AddressRange,
}

impl MemoryPlan {
    /// Divides `ram`; the image uses the part below `image_end`.
    ///
    /// # Errors
    /// If the heap cannot hold the kernel's boot allocations plus [`MIN_HEAP`].
    pub fn new(ram: AddressRange, image_end: u64, needs: MemoryNeeds) -> Result<Self, MemoryTooSmall> {
        let links = needs.links as u64;
        let queues = 2 * links * QUEUE_PAGES * PAGE;
        let frames = links * (RECEIVE_FRAMES + TRANSMIT_FRAMES) as u64 * FRAME_BYTES;
        let image = image_end.next_multiple_of(PAGE).saturating_sub(ram.start);
        // Excessive sizes saturate and are then rejected.
        let taken = needs.mpi.saturating_add(needs.tables).saturating_add(MIN_HEAP);
        let least = (image + queues + frames).saturating_add(taken);
        if least > ram.len() {
            return Err(MemoryTooSmall {
                memory: ram.len(),
                least,
                image,
                mpi: needs.mpi,
            });
        }
        let at = ram.start + image;
        let bytes = |start, end| AddressRange { start, end };
        Ok(Self {
            queues: bytes(at, at + queues),
            frames: bytes(at + queues, at + queues + frames),
            heap: bytes(at + queues + frames, ram.end),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAM: AddressRange = AddressRange {
        start: 0x8000_0000,
        end: 0x8080_0000,
    };
    const FULL: MemoryNeeds = MemoryNeeds {
        links: 6,
        mpi: 65537,
        tables: 100_000,
    };

    #[test]
    fn everything_has_its_place_and_nothing_overlaps() {
        let plan = MemoryPlan::new(RAM, 0x8010_0123, FULL).expect("8 MiB suffice");
        assert_eq!(plan.queues.start, 0x8010_1000);
        let devices = plan.queues.len() + plan.frames.len();
        assert_eq!(devices, 6 * LINK_BYTES);
        assert_eq!(plan.queues.end, plan.frames.start);
        assert_eq!(plan.frames.end, plan.heap.start);
        assert_eq!(plan.heap.end, RAM.end);
        for part in [plan.queues, plan.frames, plan.heap] {
            assert_eq!(part.start % PAGE, 0);
        }
    }

    #[test]
    fn a_single_node_has_no_device_memory() {
        let alone = MemoryNeeds { links: 0, ..FULL };
        let plan = MemoryPlan::new(RAM, 0x8010_0000, alone).expect("8 MiB suffice");
        assert!(plan.queues.is_empty() && plan.frames.is_empty());
        assert_eq!(plan.heap.start, 0x8010_0000);
    }

    #[test]
    fn the_least_is_exact() {
        let error = MemoryPlan::new(RAM, 0x8100_0000, FULL).expect_err("image beyond memory");
        let memory = |bytes| AddressRange {
            end: RAM.start + bytes,
            ..RAM
        };
        let plan = MemoryPlan::new(memory(error.least), 0x8100_0000, FULL).expect("just enough");
        assert_eq!(plan.heap.len(), FULL.mpi + FULL.tables + MIN_HEAP);
        assert!(MemoryPlan::new(memory(error.least - 1), 0x8100_0000, FULL).is_err());
        let endless = MemoryNeeds { mpi: u64::MAX, ..FULL };
        assert!(MemoryPlan::new(RAM, 0x8010_0000, endless).is_err());
    }
}
