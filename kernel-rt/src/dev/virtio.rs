//! What the virtio devices have in common: memory, transport, start (Virtual I/O Device, version 1.2), on the
//! queues and the MMIO transport of the crate virtio-drivers.
//!
//! The devices' own drivers of that crate are not used: its console needs an allocator and reads input,
//! its network driver negotiates the event index, whose arithmetic there loses a notification after 65536
//! frames, and it cannot hold off the interrupts of one queue alone.

use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{Ordering, fence};

use critical_section::Mutex;
use midplane_abi::address::{Bytes, PAGE};
use midplane_abi::boot_error::DeviceError;
use virtio_drivers::transport::mmio::{MmioError, MmioTransport};
use virtio_drivers::transport::{DeviceStatus, DeviceType, Transport};
use virtio_drivers::{BufferDirection, Hal, PhysAddr};

use crate::board::device_tree::Slot;

/// Memory that has not yet been given to a queue.
static POOL: Mutex<Cell<Bytes>> = Mutex::new(Cell::new(Bytes { start: 0, end: 0 }));

/// Hands over the memory for the queues of all devices.
///
/// # Safety
/// `pool` is whole pages of RAM that have no other user, now or later.
pub unsafe fn set_pool(pool: Bytes) {
    critical_section::with(|cs| POOL.borrow(cs).set(pool));
}

/// The board's memory as the devices see it: addresses are the same on both sides and caches coherent.
pub struct BoardHal;

// SAFETY: `dma_alloc` hands out each page of the pool once, page-aligned and zeroed, and none ever comes
// back; the other methods are the identity.
unsafe impl Hal for BoardHal {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let bytes = pages as u64 * PAGE;
        let taken = critical_section::with(|cs| {
            let pool = POOL.borrow(cs).get();
            if pool.len() < bytes {
                return None;
            }
            let start = pool.start + bytes;
            POOL.borrow(cs).set(Bytes { start, ..pool });
            NonNull::new(core::ptr::with_exposed_provenance_mut::<u8>(
                pool.start as usize,
            ))
        });
        let Some(start) = taken else {
            // Address 0 is what tells the queue that there is no memory.
            return (0, NonNull::dangling());
        };
        // SAFETY: the pages were the pool's and are now the caller's alone.
        unsafe { start.write_bytes(0, bytes as usize) };
        (start.addr().get() as PhysAddr, start)
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        // Devices live as long as the node; a queue that failed to come up keeps its pages.
        0
    }

    unsafe fn mmio_phys_to_virt(address: PhysAddr, _: usize) -> NonNull<u8> {
        let address = core::ptr::with_exposed_provenance_mut(address as usize);
        NonNull::new(address).unwrap_or(NonNull::dangling())
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.cast::<u8>().as_ptr().expose_provenance() as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}

/// To be called between a change to a queue and a look at what the device has written there, its request
/// not to be notified or what it has used (sections 2.7.7 and 2.7.13.4). The crate leaves it out. Without it
/// the processor may look first, the device does the same, and each believes that the other will notice:
/// a frame stays where it is and the node sleeps. The emulator has to be told to honour it; the host's
/// processors reorder just this.
pub fn settle_queue() {
    fence(Ordering::SeqCst);
}

/// The transport of the device in `slot`, if it is a `wanted` one. `Ok(None)` when the slot is empty or
/// holds a device of another kind.
///
/// # Safety
/// `slot` is a virtio-mmio slot of this board without another user.
pub unsafe fn transport(
    slot: &Slot,
    wanted: DeviceType,
) -> Result<Option<MmioTransport<'static>>, DeviceError> {
    let registers = core::ptr::with_exposed_provenance_mut(slot.registers.start as usize);
    let registers = NonNull::new(registers).ok_or(DeviceError::Transport)?;
    // SAFETY: as the caller promises; a slot's registers stay where they are.
    match unsafe { MmioTransport::new(registers, slot.registers.len() as usize) } {
        Ok(transport) if transport.device_type() == wanted => Ok(Some(transport)),
        // An empty slot has device number 0 (section 4.2.2.2).
        Ok(_) | Err(MmioError::InvalidDeviceID(_)) => Ok(None),
        Err(_) => Err(DeviceError::Transport),
    }
}

/// Section 3.1.1, steps 1 to 6, taking the features `wanted`, without which it fails, and the modern
/// interface. The queues come next, then [`Transport::finish_init`].
pub fn begin(transport: &mut MmioTransport<'static>, wanted: u64) -> Result<(), DeviceError> {
    const VERSION_1: u64 = 1 << 32;
    if transport.get_status() != DeviceStatus::empty() {
        // Only if it was used before: QEMU's network device drops on a reset what the neighbour, who
        // may have booted earlier, has sent already.
        transport.set_status(DeviceStatus::empty());
    }
    let known = DeviceStatus::ACKNOWLEDGE | DeviceStatus::DRIVER;
    transport.set_status(known);
    let features = VERSION_1 | wanted;
    if transport.read_device_features() & features != features {
        return Err(DeviceError::Refused);
    }
    transport.write_driver_features(features);
    transport.set_status(known | DeviceStatus::FEATURES_OK);
    if !transport.get_status().contains(DeviceStatus::FEATURES_OK) {
        return Err(DeviceError::Refused);
    }
    Ok(())
}
