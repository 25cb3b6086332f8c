//! What machine mode does before there are nodes: hart 0 looks at the machine and leaves what it found for all,
//! then each hart gives its node an address space.
//!
//! A node sees its own memory at [`RAM`], in it the code and constants of which all nodes have the one copy that was
//! loaded, what stands in the handover, and the registers that it needs. What it does not see is nothing it
//! could reach: its page tables are not mapped, and it cannot choose others.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr;

use midplane_abi::address::{Bytes, PAGE};
use midplane_abi::boot_error::TreeError;
use midplane_abi::boot_parameters::{BootParameters, MAX_BYTES, Nodes};
use midplane_abi::layout::{FLASH, Layout};

use super::doorbell;
use super::layout::{MAX_RAM, RAM};
use super::neighbours::BoxMachine;
use super::registers::{CALENDAR, EXIT, MACHINE_TIMERS, SOFTWARE, UART, read32, write64};
use crate::arch;
use crate::arch::paging::{Access, Table, Tables, Unmappable};
use crate::board::device_tree::Hardware;

/// What hart 0 found.
pub struct Found {
    /// What the device tree says.
    pub hardware: Result<Hardware, TreeError>,
    /// The first bytes of flash, which are the boot parameters' record if the tool has put one there.
    pub record: &'static [u8],
    /// The time of day in nanoseconds, when the clock stood at `ticks`.
    pub calendar_ns: u64,
    /// See `calendar_ns`.
    pub ticks: u64,
    /// The box that the boot parameters ask for, when the memory holds it.
    pub machine: Option<BoxMachine>,
}

/// Written by hart 0 in machine mode, then only read.
#[repr(C, align(4096))]
struct Handover {
    start: UnsafeCell<arch::Start>,
    found: UnsafeCell<MaybeUninit<Found>>,
    record: UnsafeCell<[u8; MAX_BYTES]>,
}

// SAFETY: written by `midplane_survey` alone, before there is a node, and other harts are called by nodes.
unsafe impl Sync for Handover {}

#[unsafe(link_section = ".bss.midplane_handover")]
static HANDOVER: Handover = Handover {
    start: UnsafeCell::new(arch::Start::unknown()),
    found: UnsafeCell::new(MaybeUninit::uninit()),
    record: UnsafeCell::new([0; MAX_BYTES]),
};

/// What hart 0 found. Only to be called by a node.
pub fn found() -> &'static Found {
    // SAFETY: nodes run after `midplane_survey`, which has written it.
    unsafe { (*HANDOVER.found.get()).assume_init_ref() }
}

impl Found {
    /// The memory of each node, as it sees it.
    pub fn node_memory(&self) -> Bytes {
        let end = match (&self.machine, &self.hardware) {
            (Some(machine), _) => RAM + machine.layout.node_memory,
            // Memory that could not be mapped is left alone.
            (None, Ok(hardware)) => hardware.ram.end.min(MAX_RAM) / PAGE * PAGE,
            (None, Err(_)) => RAM,
        };
        // At least what it takes to say why there is no more.
        let image_end = (arch::image_end() as u64).next_multiple_of(PAGE);
        Bytes {
            start: RAM,
            end: end.max(image_end),
        }
    }
}

/// On hart 0, before any node runs. `tree`: where the machine says that its device tree is.
#[unsafe(no_mangle)]
extern "C" fn midplane_survey(tree: *mut u8) {
    // SAFETY: the machine's promise; nothing else is there yet.
    let found = survey(unsafe { device_tree(tree) });
    let layout = found.machine.map(|machine| machine.layout);
    let nodes = layout.map_or(1, |layout| layout.nodes);
    // SAFETY: the other harts sleep until a node calls them.
    unsafe {
        (*HANDOVER.found.get()).write(found);
        let first = RAM + layout.map_or(0, |layout| layout.node(0));
        let stride = layout.map_or(0, |layout| layout.node_memory);
        (*HANDOVER.start.get()).set(nodes.into(), first, stride);
    }
}

/// The device tree, which is its size's word away from its start; empty when there is none.
///
/// # Safety
/// `tree` is null, or points to memory without another user. Called once.
unsafe fn device_tree(tree: *mut u8) -> &'static mut [u8] {
    const MAGIC: u32 = 0xd00d_feed;
    /// QEMU makes none that is greater (include/sysemu/device_tree.h).
    const GREATEST: usize = 1 << 20;
    if tree.is_null() || !tree.addr().is_multiple_of(8) {
        return &mut [];
    }
    // SAFETY: a device tree has these two words at its start.
    let [magic, size] = unsafe { tree.cast::<[u32; 2]>().read() }.map(u32::from_be);
    if magic != MAGIC || size as usize > GREATEST {
        return &mut [];
    }
    // SAFETY: the tree says that it is so long.
    unsafe { core::slice::from_raw_parts_mut(tree, size as usize) }
}

fn survey(tree: &mut [u8]) -> Found {
    let hardware = Hardware::read(tree, RAM);
    let record = read_record();
    // It lies in some node's memory, of which the rest is zero.
    tree.fill(0);
    Found {
        machine: { hardware.as_ref().ok() }.and_then(|hardware| machine(hardware, record)),
        hardware,
        record,
        // Reading the lower half fixes the upper one (hw/rtc/goldfish_rtc.c).
        calendar_ns: u64::from(read32(CALENDAR)) | u64::from(read32(CALENDAR + 4)) << 32,
        ticks: arch::ticks(),
    }
}

/// The box that the record asks for; `None` when it does not, is wrong, or the memory does not hold it: the node that is
/// started then says so.
fn machine(hardware: &Hardware, record: &[u8]) -> Option<BoxMachine> {
    let Nodes::Box(boxed) = BootParameters::read(record).ok()?.nodes else {
        return None;
    };
    let image = arch::image_end() as u64 - RAM;
    let layout = Layout::new(image, boxed.nodes().nodes(), boxed.node_memory)?;
    let fits = image <= layout.node_memory && layout.total() <= hardware.ram.len();
    fits.then(|| BoxMachine {
        layout,
        boxed,
        doorbell: boxed.division.instances() > 1
            && doorbell::set_up(boxed.instance, layout.nodes, hardware.clock_hz),
    })
}

/// A copy of the record in the handover, which nodes see.
fn read_record() -> &'static [u8] {
    // SAFETY: flash, which every `virt` machine has, is larger, and nothing writes to it. Nothing else runs yet, and this
    // is called once.
    let (flash, room) = unsafe {
        let flash = ptr::with_exposed_provenance::<[u8; MAX_BYTES]>(FLASH as usize);
        (&*flash, &mut *HANDOVER.record.get())
    };
    *room = *flash;
    room
}

/// On each hart that is to be a node, whose memory lies `offset` bytes behind where it sees it: gives it its data and
/// its address space, and returns the latter for `satp`.
#[unsafe(no_mangle)]
extern "C" fn midplane_map(hart: u64, offset: u64) -> u64 {
    // It is pending from the start, as all timers begin with zero. Nobody would take it, and QEMU, which looks at all of a
    // hart's interrupts whenever any is pending, would lock all of its devices for that, many times a message.
    write64(MACHINE_TIMERS + 8 * hart as usize, u64::MAX);
    let tables = arch::tables();
    let physical = tables.start + offset;
    // SAFETY: in machine mode; the memory is this node's, which does not run yet, and nothing else's.
    let memory = unsafe {
        arch::copy_data(offset);
        let start = ptr::with_exposed_provenance_mut::<Table>(physical as usize);
        core::slice::from_raw_parts_mut(start, (tables.len() / PAGE) as usize)
    };
    let found = found();
    let mapped = Tables::new(memory, physical)
        .ok_or(Unmappable)
        .and_then(|mut tables| {
            map_memory(&mut tables, found, offset)?;
            match found.machine {
                None => map_devices(&mut tables, found)?,
                Some(machine) => map_box(&mut tables, &machine, hart as u32)?,
            }
            Ok(tables.satp())
        });
    match mapped {
        Ok(satp) => satp,
        // The linker script keeps enough tables for every node.
        Err(Unmappable) => panic!("hart {hart}: no room for page tables"),
    }
}

fn map_memory(tables: &mut Tables<'_>, found: &Found, offset: u64) -> Result<(), Unmappable> {
    let rest = Bytes {
        start: arch::trap_guard().end,
        ..found.node_memory()
    };
    for (bytes, offset, access) in [
        (arch::stack(), offset, Access::ReadWrite),
        (arch::constants(), 0, Access::ReadExecute),
        (arch::data(), offset, Access::ReadWrite),
        (arch::handover(), 0, Access::Read),
        (rest, offset, Access::ReadWrite),
    ] {
        tables.map(bytes.start, bytes.start + offset, bytes.len(), access)?;
    }
    Ok(())
}

/// The registers of a node that has a machine to itself.
fn map_devices(tables: &mut Tables<'_>, found: &Found) -> Result<(), Unmappable> {
    for page in [EXIT, UART] {
        map_page(tables, page as u64)?;
    }
    #[cfg(feature = "options")]
    for page in super::plic::PAGES {
        map_page(tables, page as u64)?;
    }
    let slots = found.hardware.iter().flat_map(|hardware| &hardware.slots);
    for slot in slots {
        map_page(tables, slot.registers.start)?;
    }
    Ok(())
}

/// The registers of a node of a box, and what it shares with its neighbours.
fn map_box(tables: &mut Tables<'_>, machine: &BoxMachine, hart: u32) -> Result<(), Unmappable> {
    for page in [UART, SOFTWARE] {
        map_page(tables, page as u64)?;
    }
    let coord = machine.boxed.nodes().coord(hart);
    coord.map_or(Ok(()), |coord| machine.map(tables, coord))
}

fn map_page(tables: &mut Tables<'_>, page: u64) -> Result<(), Unmappable> {
    let page = page / PAGE * PAGE;
    tables.map(page, page, PAGE, Access::ReadWrite)
}
