//! Common parts of the virtio devices: memory, transport, start (Virtual I/O Device, version 1.2), on the queues and
//! the MMIO transport of the crate virtio-drivers.
//!
//! The device drivers of that crate are not used. Its console requires an allocator and reads input. Its network driver
//! negotiates the event index, whose arithmetic there loses a notification after 65536 frames, and it cannot disable
//! the interrupts of one queue alone.

use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{Ordering, fence};

use critical_section::Mutex;
use midplane_abi::address::{AddressRange, PAGE};
use midplane_abi::boot_error::DeviceError;
use virtio_drivers::transport::mmio::{MmioError, MmioTransport};
use virtio_drivers::transport::{DeviceStatus, DeviceType, Transport};
use virtio_drivers::{BufferDirection, Hal, PhysAddr};

use crate::board::device_tree::VirtioSlot;

/// Memory not yet allocated to a queue.
static POOL: Mutex<Cell<AddressRange>> = Mutex::new(Cell::new(AddressRange { start: 0, end: 0 }));

/// Sets the memory for the queues of all devices.
///
/// # Safety
/// `pool` consists of complete pages of RAM that have no other user, now or later.
pub unsafe fn set_pool(pool: AddressRange) {
    critical_section::with(|cs| POOL.borrow(cs).set(pool));
}

/// The board's memory for the devices: addresses are the same on both sides and caches coherent.
pub struct BoardHal;

// SAFETY: `dma_alloc` hands out each page of the pool once, page-aligned and zeroed, and none is ever returned; the
// other methods are the identity.
unsafe impl Hal for BoardHal {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let bytes = pages as u64 * PAGE;
        let taken = critical_section::with(|cs| {
            let pool = POOL.borrow(cs).get();
            if pool.len() < bytes {
                return None;
            }
            let start = pool.start + bytes;
            POOL.borrow(cs).set(AddressRange { start, ..pool });
            NonNull::new(core::ptr::with_exposed_provenance_mut::<u8>(pool.start as usize))
        });
        let Some(start) = taken else {
            // Address 0 reports an allocation failure to the queue.
            return (0, NonNull::dangling());
        };
        // SAFETY: the pages were the pool's and are now the caller's alone.
        unsafe { start.write_bytes(0, bytes as usize) };
        (start.addr().get() as PhysAddr, start)
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        // Devices live as long as the node; a queue that failed to start keeps its pages.
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

/// Orders a change to a queue before a read of the device's data there: its request not to be notified or its used
/// entries (sections 2.7.7 and 2.7.13.4). The crate omits this barrier. Without it the processor may read first, the
/// device does the same, and each assumes that the other will notice: a frame remains in the queue and the node sleeps.
/// The emulator must be configured to honour the barrier; the host's processors perform exactly this reordering.
pub fn settle_queue() {
    fence(Ordering::SeqCst);
}

/// Returns the transport of the device in `slot` if it has type `wanted`, and `Ok(None)` when the slot is empty or
/// contains a device of another type.
///
/// # Safety
/// `slot` is a virtio-mmio slot of this board without another user.
pub unsafe fn transport(slot: &VirtioSlot, wanted: DeviceType) -> Result<Option<MmioTransport<'static>>, DeviceError> {
    let registers = core::ptr::with_exposed_provenance_mut(slot.registers.start as usize);
    let registers = NonNull::new(registers).ok_or(DeviceError::Transport)?;
    // SAFETY: as the caller promises; a slot's registers do not move.
    match unsafe { MmioTransport::new(registers, slot.registers.len() as usize) } {
        Ok(transport) if transport.device_type() == wanted => Ok(Some(transport)),
        // An empty slot has device ID 0 (section 4.2.2.2).
        Ok(_) | Err(MmioError::InvalidDeviceID(_)) => Ok(None),
        Err(_) => Err(DeviceError::Transport),
    }
}

/// Initializes a device by section 3.1.1, steps 1 to 6. Requires the features `wanted` and the modern interface, and
/// fails without them. The caller then configures the queues and calls [`Transport::finish_init`].
pub fn begin(transport: &mut MmioTransport<'static>, wanted: u64) -> Result<(), DeviceError> {
    const VERSION_1: u64 = 1 << 32;
    if transport.get_status() != DeviceStatus::empty() {
        // Only if it was used before: on a reset, QEMU's network device drops frames that a neighbour, which may have
        // booted earlier, has already sent.
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
