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
pub struct Hardware<'a> {
    /// The memory that starts at the board's first byte of RAM.
    pub ram: Bytes,
    /// Ticks per second of the clock.
    pub clock_hz: u64,
    /// The virtio-mmio slots, by address.
    pub slots: heapless::Vec<Slot, MAX_SLOTS>,
    /// The boot arguments; empty when there are none.
    pub boot_args: &'a str,
    /// Random bits that the machine hands over (`rng-seed`), as many as fit here; 0 when there are none.
    pub random: u64,
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

impl TreeError {
    /// All of them, by their numbers.
    pub(crate) const ALL: [Self; 6] = [
        Self::Broken,
        Self::NoMemory,
        Self::NoClock,
        Self::BootArgs,
        Self::Slot,
        Self::TooManySlots,
    ];
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

impl<'a> Hardware<'a> {
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
        let chosen = |name| root.child("chosen").and_then(|c| c.property(name));
        let boot_args = match chosen("bootargs") {
            Some(value) => value.value_as::<&str>().map_err(|_| TreeError::BootArgs)?,
            None => "",
        };
        let random = chosen("rng-seed").map_or(0, |seed| {
            let bytes = seed.value().chunks(8).map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_be_bytes(word)
            });
            bytes.fold(0, |all, word| all ^ word)
        });
        let mut slots = heapless::Vec::<Slot, MAX_SLOTS>::new();
        for node in root.child("soc").iter().flat_map(|soc| soc.children()) {
            let is_slot =
                |node: &FdtNode<'a>| node.compatible()?.any(|c| c == "virtio,mmio").then_some(());
            if is_slot(&node).is_none() {
                continue;
            }
            let registers = first_register(node).ok_or(TreeError::Slot)?;
            let interrupt = interrupt(&node).ok_or(TreeError::Slot)?;
            if registers.end > ram.start || registers.start % 4 != 0 {
                return Err(TreeError::Slot);
            }
            let slot = Slot {
                registers,
                interrupt,
            };
            let place = slots.partition_point(|other| other.registers.start < registers.start);
            slots
                .insert(place, slot)
                .map_err(|_| TreeError::TooManySlots)?;
        }
        Ok(Self {
            ram,
            clock_hz: clock_hz as u64,
            slots,
            boot_args,
            random,
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

/// A node's interrupt number. Behind it some interrupt controllers have words about its kind.
fn interrupt(node: &FdtNode<'_>) -> Option<u32> {
    let property = node.property("interrupts")?;
    let (number, _) = property.value().split_first_chunk()?;
    Some(u32::from_be_bytes(*number))
}

/// A property of one 32-bit number.
fn word(node: &FdtNode<'_>, name: &str) -> Option<u32> {
    node.property(name)?.value_as::<u32>().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};

    const RAM: u64 = 0x8000_0000;

    fn node(name: &str, properties: Vec<DeviceTreeProperty>) -> DeviceTreeNode {
        let mut node = DeviceTreeNode::new(name).expect("a name");
        for property in properties {
            node.add_property(property);
        }
        node
    }

    macro_rules! property {
        ($name:expr, $value:expr) => {
            DeviceTreeProperty::new($name, $value).expect("a property")
        };
    }

    /// As QEMU writes it, with the slots upside down as it does.
    fn virt(slots: u32, boot_args: Option<&str>) -> DeviceTree {
        let cells = || {
            vec![
                property!("#address-cells", 2u32),
                property!("#size-cells", 2u32),
            ]
        };
        let mut tree = DeviceTree::new();
        tree.root = node("", cells());
        let memory = [0u32, RAM as u32, 0, 0x80_0000];
        let memory = vec![property!("device_type", "memory"), property!("reg", memory)];
        tree.root.add_child(node("memory@80000000", memory));
        let cpus = vec![
            property!("#address-cells", 1u32),
            property!("#size-cells", 0u32),
            property!("timebase-frequency", 10_000_000u32),
        ];
        tree.root.add_child(node("cpus", cpus));
        let mut soc = node("soc", cells());
        soc.add_property(property!("ranges", Vec::<u32>::new()));
        for slot in (0..slots).rev() {
            let at = 0x1000_1000 + 0x1000 * slot;
            let properties = vec![
                property!("interrupts", slot + 1),
                property!("interrupt-parent", 3u32),
                property!("reg", [0u32, at, 0, 0x1000]),
                property!("compatible", "virtio,mmio"),
            ];
            soc.add_child(node(&format!("virtio_mmio@{at:x}"), properties));
        }
        tree.root.add_child(soc);
        let mut chosen = node("chosen", vec![]);
        if let Some(args) = boot_args {
            chosen.add_property(property!("bootargs", args));
        }
        chosen.add_property(property!("rng-seed", [1u32, 2, 3, 4]));
        tree.root.add_child(chosen);
        tree
    }

    #[test]
    fn everything_is_found_and_slots_are_in_order() {
        let tree = virt(8, Some("a b -- c")).to_dtb();
        let machine = Hardware::read(&tree, RAM).expect("a tree");
        let ram = Bytes {
            start: RAM,
            end: RAM + 0x80_0000,
        };
        assert_eq!((machine.ram, machine.clock_hz), (ram, 10_000_000));
        assert_eq!(machine.boot_args, "a b -- c");
        assert_eq!(machine.random, 0x2_0000_0006);
        assert_eq!(machine.slots.len(), 8);
        for (i, slot) in machine.slots.iter().enumerate() {
            assert_eq!(slot.registers.start, 0x1000_1000 + 0x1000 * i as u64);
            assert_eq!(slot.interrupt, i as u32 + 1);
        }
    }

    #[test]
    fn an_interrupt_may_say_its_kind() {
        let mut tree = virt(1, None);
        let soc = tree.root.child_mut("soc").expect("a child");
        let slot = soc.child_mut("virtio_mmio@10001000").expect("a slot");
        slot.remove_property("interrupts");
        slot.add_property(property!("interrupts", [7u32, 4]));
        let tree = tree.to_dtb();
        let machine = Hardware::read(&tree, RAM).expect("a tree");
        assert_eq!(machine.slots[0].interrupt, 7);
    }

    #[test]
    fn no_boot_arguments_are_empty_ones() {
        let tree = virt(0, None).to_dtb();
        let machine = Hardware::read(&tree, RAM).expect("a tree");
        assert_eq!((machine.boot_args, machine.slots.len()), ("", 0));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let read = |tree: &DeviceTree, ram| Hardware::read(&tree.to_dtb(), ram).map(|_| ());
        let good = virt(1, None);
        assert_eq!(read(&good, 0x4000_0000), Err(TreeError::NoMemory));
        let without = |name: &str| {
            let mut tree = good.clone();
            tree.root.remove_child(name).expect("a child");
            read(&tree, RAM)
        };
        assert_eq!(without("memory@80000000"), Err(TreeError::NoMemory));
        assert_eq!(without("cpus"), Err(TreeError::NoClock));
        assert_eq!(without("chosen"), Ok(()));
        let slot = |name: &str, value: &[u32]| {
            let mut tree = good.clone();
            let soc = tree.root.child_mut("soc").expect("a child");
            let slot = soc.child_mut("virtio_mmio@10001000").expect("a slot");
            slot.remove_property(name);
            if !value.is_empty() {
                slot.add_property(property!(name, value));
            }
            read(&tree, RAM)
        };
        assert_eq!(slot("interrupts", &[]), Err(TreeError::Slot));
        assert_eq!(slot("reg", &[]), Err(TreeError::Slot));
        assert_eq!(slot("reg", &[0, 0x1000_1000, 0, 0]), Err(TreeError::Slot));
        assert_eq!(
            slot("reg", &[0, 0x9000_0000, 0, 0x1000]),
            Err(TreeError::Slot)
        );
        let wraps = [u32::MAX, u32::MAX, 0, 0x1000];
        assert_eq!(slot("reg", &wraps), Err(TreeError::Slot));
        let many = virt(MAX_SLOTS as u32 + 1, None);
        assert_eq!(read(&many, RAM), Err(TreeError::TooManySlots));
        assert_eq!(Hardware::read(&[], RAM), Err(TreeError::Broken));
    }

    #[test]
    fn damaged_trees_never_panic() {
        let tree = virt(2, Some("midplane.torus=2x2x2")).to_dtb();
        for length in 0..tree.len() {
            assert!(Hardware::read(&tree[..length], RAM).is_err());
        }
        // Every byte, with values that make lengths, offsets and tokens wrong in each direction.
        let mut refused = 0;
        for at in 0..tree.len() {
            for value in [0, 1, 2, 3, 4, 9, 0x7f, 0x80, 0xff] {
                let mut damaged = tree.clone();
                damaged[at] = value;
                refused += Hardware::read(&damaged, RAM).is_err() as u32;
            }
        }
        assert!(refused > 0);
    }
}
