//! The links of a node with its own machine: the network devices in its virtio slots.

use core::ptr;

use midplane_abi::address::AddressRange;
use midplane_abi::boot_error::DeviceError;
use midplane_abi::failure::BootFailure;
use midplane_abi::personality::Personality;
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::mmio::MmioTransport;

use super::links::{BoardLink, NodeLinks, acknowledge_devices};
use super::{plic, timer};
use crate::board::device_tree::{HardwareInfo, VirtioSlot};
use crate::board::start::boot_failed;
use crate::dev::virtio;
use crate::dev::virtio_net::{DeviceFrame, NetLink};
use crate::memory_plan::{MemoryPlan, RECEIVE_FRAMES, TRANSMIT_FRAMES};
use crate::{arch, clock};

type SlotTransports = [Option<MmioTransport<'static>>; 6];

/// The node's network devices, by slot.
pub struct NetDevices<'h> {
    transports: SlotTransports,
    slots: &'h [VirtioSlot],
}

impl<'h> NetDevices<'h> {
    /// Returns the devices of a node of a box.
    pub fn none() -> Self {
        Self::from_slots(&[])
    }

    /// Finds the devices of a node with its own machine.
    pub fn find(hardware: &'h HardwareInfo, _: &Personality) -> Self {
        Self::from_slots(&hardware.slots)
    }

    fn from_slots(slots: &'h [VirtioSlot]) -> Self {
        let transports = core::array::from_fn(|number| {
            let slot = slots.get(number)?;
            // SAFETY: the device tree specifies this slot, and each is used once.
            match unsafe { virtio::transport(slot, DeviceType::Network) } {
                Ok(transport) => transport,
                Err(why) => device_failed(number, why),
            }
        });
        Self { transports, slots }
    }

    /// Returns the number of devices.
    pub fn count(&self) -> usize {
        self.transports.iter().flatten().count()
    }

    /// Starts the links, and waits for all neighbours. Returns the links and the number of hello frames sent.
    ///
    /// # Safety
    /// The plan's memory for queues and frames is RAM without another user.
    pub unsafe fn links(self, plan: &MemoryPlan) -> (NodeLinks, u32) {
        // SAFETY: this function's own conditions.
        unsafe { virtio::set_pool(plan.queues) };
        midplane_greeted(start_links(self.transports, self.slots, plan.frames))
    }
}

fn device_failed(slot: usize, why: DeviceError) -> ! {
    boot_failed(BootFailure::Slot(slot as u32, why))
}

fn enable_interrupt(number: usize, slots: &[VirtioSlot]) {
    if !slots.get(number).is_some_and(|slot| plic::enable(slot.interrupt)) {
        device_failed(number, DeviceError::Interrupt);
    }
}

fn start_links(transports: SlotTransports, slots: &[VirtioSlot], frames: AddressRange) -> [Option<NetLink>; 6] {
    const PER_LINK: usize = RECEIVE_FRAMES + TRANSMIT_FRAMES;
    let count = frames.len() as usize / size_of::<[DeviceFrame; PER_LINK]>();
    let start = ptr::with_exposed_provenance_mut::<[DeviceFrame; PER_LINK]>(frames.start as usize);
    let mut frames = (0..count).map(|i| {
        // SAFETY: the plan gave this memory to the links; each part is handed out once. It is initialised: RAM is zero
        // at start, and bytes have no invalid values.
        unsafe { &mut *start.add(i) }
    });
    let mut number = 0..;
    transports.map(|transport| {
        let slot = number.next().unwrap_or(0);
        let transport = transport?;
        let Some(frames) = frames.next() else {
            boot_failed(BootFailure::NoFrames(slot as u32));
        };
        match NetLink::new(transport, frames) {
            Ok(link) => {
                enable_interrupt(slot, slots);
                Some(link)
            }
            Err(why) => device_failed(slot, why),
        }
    })
}

/// Waits until all neighbours have completed the handshake. Returns the links and the number of hello frames sent. The
/// host displays a waiting node as booting, and recognizes an image for such nodes by this function's symbol
/// ([`SEVERAL_SYMBOL`](midplane_abi::layout::SEVERAL_SYMBOL)).
#[unsafe(no_mangle)]
#[inline(never)]
fn midplane_greeted(links: [Option<NetLink>; 6]) -> (NodeLinks, u32) {
    let mut links = links.map(|link| link.map(BoardLink::Device));
    loop {
        let now = clock::now_ns();
        let nets = links.iter_mut().flatten().filter_map(BoardLink::device);
        let Some(next) = nets.filter_map(|link| link.greet(now)).min() else {
            let nets = links.iter_mut().flatten().filter_map(BoardLink::device);
            let greetings = nets.map(|link| link.greetings()).sum();
            return (links, greetings);
        };
        timer::wake_by(clock::ticks_of(next));
        arch::wait_for_interrupt();
        acknowledge_devices(&mut links, |link| link);
    }
}
