//! What the kernel takes from the device tree: memory, clock, virtio slots, boot arguments.
//!
//! The tree comes from whoever started the machine. The crate checks its structure as a whole before
//! anything is read; what it says is checked here against the board.
#![forbid(unsafe_code)]

use core::fmt;

use dtoolkit::fdt::{Fdt, FdtNode};
use dtoolkit::{Node as _, Property as _};

use crate::mem::Bytes;

/// Most virtio-mmio slots that are looked at.
pub const MAX_SLOTS: usize = 32;

/// A virtio-mmio slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    /// Its registers.
    pub registers: Bytes,
    /// Its interrupt number.
    pub interrupt: u32,
}

/// What the tree says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine<'a> {
    /// The memory that starts at the board's first byte of RAM.
    pub ram: Bytes,
    /// Ticks per second of the clock.
    pub clock_hz: u64,
    /// The virtio-mmio slots, by address.
    pub slots: heapless::Vec<Slot, MAX_SLOTS>,
    /// The boot arguments; empty when there are none.
    pub boot_args: &'a str,
}

/// Why a device tree is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeError {
    /// It is none, or its structure is broken.
    Broken,
    /// No memory node covers the board's first byte of RAM.
    NoMemory,
    /// No clock frequency, or one of 0.
    NoClock,
    /// The boot arguments are not UTF-8.
    BootArgs,
    /// A virtio slot whose registers or interrupt cannot be right.
    Slot,
    /// More than [`MAX_SLOTS`] slots.
    TooManySlots,
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken => "device tree: not one, or its structure is broken",
            Self::NoMemory => "device tree: no memory where this board has it",
            Self::NoClock => "device tree: no clock frequency",
            Self::BootArgs => "device tree: the boot arguments are not UTF-8",
            Self::Slot => "device tree: a virtio slot with impossible registers or interrupt",
            Self::TooManySlots => "device tree: more virtio slots than this kernel looks at",
        })
    }
}

impl core::error::Error for TreeError {}

impl<'a> Machine<'a> {
    /// Reads a device tree for a board whose RAM starts at `ram` and whose devices lie below it.
    ///
    /// # Errors
    /// When the tree is broken or lacks what a node needs; see [`TreeError`].
    pub fn read(tree: &'a [u8], ram: u64) -> Result<Self, TreeError> {
        let fdt = Fdt::new(tree).map_err(|_| TreeError::Broken)?;
        let root = fdt.root();
        let ram = root
            .children()
            .filter(|node| node.name_without_address() == "memory")
            .find_map(|node| first_register(node).filter(|bytes| bytes.start == ram))
            .ok_or(TreeError::NoMemory)?;
        let clock_hz = root
            .child("cpus")
            .and_then(|cpus| word(&cpus, "timebase-frequency"))
            .filter(|&hz| hz != 0)
            .ok_or(TreeError::NoClock)?;
        let boot_args = match root.child("chosen").and_then(|c| c.property("bootargs")) {
            Some(value) => value.value_as::<&str>().map_err(|_| TreeError::BootArgs)?,
            None => "",
        };
        let mut slots = heapless::Vec::<Slot, MAX_SLOTS>::new();
        for node in root.child("soc").iter().flat_map(|soc| soc.children()) {
            let is_slot =
                |node: &FdtNode<'a>| node.compatible()?.any(|c| c == "virtio,mmio").then_some(());
            if is_slot(&node).is_none() {
                continue;
            }
            let registers = first_register(node).ok_or(TreeError::Slot)?;
            let interrupt = word(&node, "interrupts").ok_or(TreeError::Slot)?;
            if registers.end > ram.start || registers.start % 4 != 0 {
                return Err(TreeError::Slot);
            }
            let slot = Slot {
                registers,
                interrupt,
            };
            slots.push(slot).map_err(|_| TreeError::TooManySlots)?;
        }
        slots.sort_unstable_by_key(|slot| slot.registers.start);
        Ok(Self {
            ram,
            clock_hz: clock_hz as u64,
            slots,
            boot_args,
        })
    }
}

/// The first entry of a node's `reg`.
fn first_register(node: FdtNode<'_>) -> Option<Bytes> {
    let register = node.reg().ok()??.next()?;
    let (start, size) = (
        register.address::<u64>().ok()?,
        register.size::<u64>().ok()?,
    );
    let end = start.checked_add(size)?;
    (size != 0).then_some(Bytes { start, end })
}

/// A property of one 32-bit number.
fn word(node: &FdtNode<'_>, name: &str) -> Option<u32> {
    node.property(name)?.value_as::<u32>().ok()
}
