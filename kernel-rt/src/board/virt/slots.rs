//! The links of a node that has a machine to itself: the network devices in its virtio slots.

use core::ptr;

use midplane_abi::address::Bytes;
use midplane_abi::boot_error::DeviceError;
use midplane_abi::failure::Boot;
use midplane_abi::personality::Personality;
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::mmio::MmioTransport;

use super::either::BoardLink;
use super::platform::{self, Links};
use super::{plic, timer};
use crate::board::device_tree::{Hardware, Slot};
use crate::board::start::boot_failed;
use crate::dev::virtio;
use crate::dev::virtio_net::{Frame, NetLink};
use crate::mem::{Plan, RECEIVE_FRAMES, TRANSMIT_FRAMES};
use crate::{arch, clock};

type Transports = [Option<MmioTransport<'static>>; 6];

/// The node's network devices, by slots.
pub struct Devices<'h> {
    transports: Transports,
    slots: &'h [Slot],
}

impl<'h> Devices<'h> {
    /// Of a node of a box.
    pub fn none() -> Self {
        Self::of(&[])
    }

    /// Of a node that has the machine to itself.
    pub fn find(hardware: &'h Hardware, _: &Personality) -> Self {
        Self::of(&hardware.slots)
    }

    fn of(slots: &'h [Slot]) -> Self {
        let transports = core::array::from_fn(|number| {
            let slot = slots.get(number)?;
            // SAFETY: the device tree says that this slot is one, and each is looked at once.
            match unsafe { virtio::transport(slot, DeviceType::Network) } {
                Ok(transport) => transport,
                Err(why) => device_failed(number, why),
            }
        });
        Self { transports, slots }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.transports.iter().flatten().count()
    }

    /// The links once all neighbours are there, and how many greetings they sent.
    ///
    /// # Safety
    /// What the plan has for queues and frames is RAM without another user.
    pub unsafe fn links(self, plan: &Plan) -> (Links, u32) {
        // SAFETY: as this function's.
        unsafe { virtio::set_pool(plan.queues) };
        midplane_greeted(start_links(self.transports, self.slots, plan.frames))
    }
}

fn device_failed(slot: usize, why: DeviceError) -> ! {
    boot_failed(Boot::Slot(slot as u32, why))
}

fn enable_interrupt(number: usize, slots: &[Slot]) {
    if !slots
        .get(number)
        .is_some_and(|slot| plic::enable(slot.interrupt))
    {
        device_failed(number, DeviceError::Interrupt);
    }
}

fn start_links(transports: Transports, slots: &[Slot], frames: Bytes) -> [Option<NetLink>; 6] {
    const PER_LINK: usize = RECEIVE_FRAMES + TRANSMIT_FRAMES;
    let count = frames.len() as usize / size_of::<[Frame; PER_LINK]>();
    let start = ptr::with_exposed_provenance_mut::<[Frame; PER_LINK]>(frames.start as usize);
    let mut frames = (0..count).map(|i| {
        // SAFETY: the plan gave this memory to the links; each part is handed out once. It is
        // initialised: RAM is zero at start, and bytes have no invalid values.
        unsafe { &mut *start.add(i) }
    });
    let mut number = 0..;
    transports.map(|transport| {
        let slot = number.next().unwrap_or(0);
        let transport = transport?;
        let Some(frames) = frames.next() else {
            boot_failed(Boot::NoFrames(slot as u32));
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

/// Waits until all neighbours are there; then the links, and how many greetings they sent. The host sees a node that
/// waits here as booting, and that its image is for such nodes by this function's name
/// ([`SEVERAL_SYMBOL`](midplane_abi::layout::SEVERAL_SYMBOL)).
#[unsafe(no_mangle)]
#[inline(never)]
fn midplane_greeted(links: [Option<NetLink>; 6]) -> (Links, u32) {
    let mut links = links.map(|link| link.map(BoardLink::Net));
    loop {
        let now = clock::now_ns();
        let nets = links.iter_mut().flatten().filter_map(BoardLink::net);
        let Some(next) = nets.filter_map(|link| link.greet(now)).min() else {
            let nets = links.iter_mut().flatten().filter_map(BoardLink::net);
            let greetings = nets.map(|link| link.greetings()).sum();
            return (links, greetings);
        };
        timer::wake_by(clock::ticks_of(next));
        arch::wait_for_interrupt();
        acknowledge(&mut links, |link| link);
    }
}

/// Takes all pending interrupts, those of links among them, of which `device` is the board's own part.
pub fn acknowledge<L>(links: &mut Links<L>, device: impl Fn(&mut L) -> &mut BoardLink) {
    if !platform::acknowledge() {
        return;
    }
    while arch::is_external_pending()
        && let Some(number) = plic::claim()
    {
        // Interrupt numbers are in the order of the slots on this board, from 1 on; slots and links are the same.
        let link = links.get_mut((number as usize).wrapping_sub(1));
        let link = link.and_then(Option::as_mut).map(&device);
        if let Some(link) = link.and_then(BoardLink::net) {
            link.acknowledge();
        }
        plic::complete(number);
    }
}
