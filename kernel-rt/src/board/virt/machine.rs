//! Machine mode before there are nodes: hart 0 examines the machine and stores the result for all, then each hart
//! creates its node's address space.
//!
//! A node can access its own memory at [`RAM`], including code and constants shared by all nodes as the one loaded
//! copy, the boot information, and the registers it needs. Everything else is unreachable: its page tables do not map it, and
//! it cannot select others.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr;

use midplane_abi::address::{AddressRange, PAGE};
use midplane_abi::boot_error::TreeError;
use midplane_abi::boot_parameters::{BootParameters, InstanceNodes, MAX_BYTES};
use midplane_abi::layout::{FLASH, InstanceLayout};

use super::doorbell;
use super::layout::{MAX_RAM, RAM};
use super::neighbours::BoxMachine;
use super::registers::{CALENDAR, EXIT, MACHINE_TIMERS, SOFTWARE, UART, read32, write64};
use crate::arch;
use crate::arch::paging::{MapError, PageAccess, PageTable, PageTables};
use crate::board::device_tree::HardwareInfo;

/// Hardware and configuration that hart 0 found.
pub struct MachineInfo {
    /// Contents of the device tree.
    pub hardware: Result<HardwareInfo, TreeError>,
    /// The first bytes of flash: the boot parameters' record if the tool has stored one there.
    pub record: &'static [u8],
    /// The time of day in nanoseconds at clock value `ticks`.
    pub calendar_ns: u64,
    /// See `calendar_ns`.
    pub ticks: u64,
    /// The box that the boot parameters specify, if the memory is sufficient.
    pub machine: Option<BoxMachine>,
}

/// Boot information: written by hart 0 in machine mode, then read-only.
#[repr(C, align(4096))]
struct BootInfo {
    start: UnsafeCell<arch::StartInfo>,
    found: UnsafeCell<MaybeUninit<MachineInfo>>,
    record: UnsafeCell<[u8; MAX_BYTES]>,
}

// SAFETY: written by `midplane_survey` alone, before there is a node, and other harts are called by nodes.
unsafe impl Sync for BootInfo {}

#[unsafe(link_section = ".bss.midplane_handover")]
static HANDOVER: BootInfo = BootInfo {
    start: UnsafeCell::new(arch::StartInfo::unknown()),
    found: UnsafeCell::new(MaybeUninit::uninit()),
    record: UnsafeCell::new([0; MAX_BYTES]),
};

/// Returns the findings of hart 0. Must be called by a node.
pub fn machine_info() -> &'static MachineInfo {
    // SAFETY: nodes run after `midplane_survey`, which has written it.
    unsafe { (*HANDOVER.found.get()).assume_init_ref() }
}

impl MachineInfo {
    /// Returns the memory of each node, in the node's address space.
    pub fn node_memory(&self) -> AddressRange {
        let end = match (&self.machine, &self.hardware) {
            (Some(machine), _) => RAM + machine.layout.node_memory,
            // Memory that could not be mapped is not used.
            (None, Ok(hardware)) => hardware.ram.end.min(MAX_RAM) / PAGE * PAGE,
            (None, Err(_)) => RAM,
        };
        // At least enough to report why there is no more.
        let image_end = (arch::image_end() as u64).next_multiple_of(PAGE);
        AddressRange {
            start: RAM,
            end: end.max(image_end),
        }
    }
}

/// Examines the machine on hart 0, before any node runs. `tree`: address of the device tree, provided by the machine.
#[unsafe(no_mangle)]
extern "C" fn midplane_survey(tree: *mut u8) {
    // SAFETY: the machine's promise; nothing else exists yet.
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

/// Returns the device tree, whose size is in its second word; empty if there is none.
///
/// # Safety
/// `tree` is null, or points to memory without another user. Called once.
unsafe fn device_tree(tree: *mut u8) -> &'static mut [u8] {
    const MAGIC: u32 = 0xd00d_feed;
    /// QEMU creates no larger one (include/sysemu/device_tree.h).
    const MAX_TREE_BYTES: usize = 1 << 20;
    if tree.is_null() || !tree.addr().is_multiple_of(8) {
        return &mut [];
    }
    // SAFETY: a device tree contains these two words at its start.
    let [magic, size] = unsafe { tree.cast::<[u32; 2]>().read() }.map(u32::from_be);
    if magic != MAGIC || size as usize > MAX_TREE_BYTES {
        return &mut [];
    }
    // SAFETY: the tree specifies this size.
    unsafe { core::slice::from_raw_parts_mut(tree, size as usize) }
}

fn survey(tree: &mut [u8]) -> MachineInfo {
    let hardware = HardwareInfo::read(tree, RAM);
    let record = read_record();
    // It is in some node's memory; the rest of that is zero.
    tree.fill(0);
    MachineInfo {
        machine: { hardware.as_ref().ok() }.and_then(|hardware| machine(hardware, record)),
        hardware,
        record,
        // Reading the lower half latches the upper one (hw/rtc/goldfish_rtc.c).
        calendar_ns: u64::from(read32(CALENDAR)) | u64::from(read32(CALENDAR + 4)) << 32,
        ticks: arch::ticks(),
    }
}

/// Returns the box that the record specifies. Returns `None` if there is none, the record is invalid, or the memory is
/// too small: the single node started then reports that.
fn machine(hardware: &HardwareInfo, record: &[u8]) -> Option<BoxMachine> {
    let InstanceNodes::Box(boxed) = BootParameters::read(record).ok()?.nodes else {
        return None;
    };
    let image = arch::image_end() as u64 - RAM;
    let layout = InstanceLayout::new(image, boxed.nodes().nodes(), boxed.node_memory)?;
    let fits = image <= layout.node_memory && layout.total() <= hardware.ram.len();
    fits.then(|| BoxMachine {
        layout,
        boxed,
        doorbell: boxed.division.instances() > 1 && doorbell::set_up(boxed.instance, layout.nodes, hardware.clock_hz),
    })
}

/// Copies the record to the boot information, where nodes can read it.
fn read_record() -> &'static [u8] {
    // SAFETY: flash, present on every `virt` machine, is larger, and nothing writes to it. Nothing else runs yet, and
    // this is called once.
    let (flash, room) = unsafe {
        let flash = ptr::with_exposed_provenance::<[u8; MAX_BYTES]>(FLASH as usize);
        (&*flash, &mut *HANDOVER.record.get())
    };
    *room = *flash;
    room
}

/// Prepares each hart that becomes a node, whose memory is `offset` bytes above the address that it sees: initializes
/// its data and its address space, and returns the latter for `satp`.
#[unsafe(no_mangle)]
extern "C" fn midplane_map(hart: u64, offset: u64) -> u64 {
    // It is pending from the start, as all timers begin with zero. Nothing would handle it, and QEMU, when it checks
    // all of a hart's interrupts because any is pending, would lock all of its devices for that, many times per
    // message.
    write64(MACHINE_TIMERS + 8 * hart as usize, u64::MAX);
    let tables = arch::tables();
    let physical = tables.start + offset;
    // SAFETY: in machine mode; the memory is this node's, which does not run yet, and nothing else's.
    let memory = unsafe {
        arch::copy_data(offset);
        let start = ptr::with_exposed_provenance_mut::<PageTable>(physical as usize);
        core::slice::from_raw_parts_mut(start, (tables.len() / PAGE) as usize)
    };
    let found = machine_info();
    let mapped = PageTables::new(memory, physical)
        .ok_or(MapError)
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
        // The linker script reserves enough tables for every node.
        Err(MapError) => panic!("hart {hart}: no room for page tables"),
    }
}

fn map_memory(tables: &mut PageTables<'_>, found: &MachineInfo, offset: u64) -> Result<(), MapError> {
    let rest = AddressRange {
        start: arch::trap_guard().end,
        ..found.node_memory()
    };
    for (bytes, offset, access) in [
        (arch::stack(), offset, PageAccess::ReadWrite),
        (arch::constants(), 0, PageAccess::ReadExecute),
        (arch::data(), offset, PageAccess::ReadWrite),
        (arch::boot_info(), 0, PageAccess::Read),
        (rest, offset, PageAccess::ReadWrite),
    ] {
        tables.map(bytes.start, bytes.start + offset, bytes.len(), access)?;
    }
    Ok(())
}

/// Maps the registers of a node with its own machine.
fn map_devices(tables: &mut PageTables<'_>, found: &MachineInfo) -> Result<(), MapError> {
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

/// Maps the registers of a node of a box, and the memory shared with its neighbours.
fn map_box(tables: &mut PageTables<'_>, machine: &BoxMachine, hart: u32) -> Result<(), MapError> {
    for page in [UART, SOFTWARE] {
        map_page(tables, page as u64)?;
    }
    let coord = machine.boxed.nodes().coord(hart);
    coord.map_or(Ok(()), |coord| machine.map(tables, coord))
}

fn map_page(tables: &mut PageTables<'_>, page: u64) -> Result<(), MapError> {
    let page = page / PAGE * PAGE;
    tables.map(page, page, PAGE, PageAccess::ReadWrite)
}
