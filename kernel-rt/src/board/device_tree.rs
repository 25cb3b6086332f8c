//! Parser for the parts of the device tree that the kernel uses: memory, clock, virtio slots, random bits.
//!
//! The tree is provided by an external loader: nothing in it is trusted, and its values are checked against the board.
//! It is read once, from front to back, by a minimal parser, because a crate for trees requires 4 KB of the image.
#![forbid(unsafe_code)]

use midplane_abi::address::AddressRange;
use midplane_abi::boot_error::TreeError;

/// Maximum number of virtio-mmio slots that are read.
pub const MAX_SLOTS: usize = 32;

/// Whether slots are read: an image without links for them ignores them.
const READS_SLOTS: bool = cfg!(any(feature = "options", not(target_os = "none")));

/// A virtio-mmio slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VirtioSlot {
    /// Its registers.
    pub registers: AddressRange,
    /// Its interrupt ID.
    pub interrupt: u32,
}

/// Contents of the device tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HardwareInfo {
    /// The memory that starts at the board's first byte of RAM.
    pub ram: AddressRange,
    /// Ticks per second of the clock.
    pub clock_hz: u64,
    /// The virtio-mmio slots, by address.
    pub slots: heapless::Vec<VirtioSlot, MAX_SLOTS>,
    /// Random bits from the machine (`rng-seed`), truncated to this size; 0 if there are none.
    pub random: u64,
}

impl HardwareInfo {
    /// Reads a device tree for a board whose RAM starts at `ram` and whose devices have lower addresses.
    ///
    /// # Errors
    /// If the tree is malformed or lacks data that a node requires; see [`TreeError`].
    pub fn read(tree: &[u8], ram: u64) -> Result<Self, TreeError> {
        let mut found = HardwareScan::default();
        let mut nodes = NodeReader {
            tree: TokenReader::from_tree(tree).ok_or(TreeError::Broken)?,
            path: [TreeNode::Other; DEPTH],
            depth: 0,
        };
        while let Some(event) = nodes.next().ok_or(TreeError::Broken)? {
            found.handle_event(event, ram)?;
        }
        Ok(Self {
            ram: found.ram.ok_or(TreeError::NoMemory)?,
            clock_hz: found.clock_hz.ok_or(TreeError::NoClock)?,
            slots: found.slots,
            random: found.random,
        })
    }
}

#[derive(Default)]
struct HardwareScan<'a> {
    ram: Option<AddressRange>,
    clock_hz: Option<u64>,
    slots: heapless::Vec<VirtioSlot, MAX_SLOTS>,
    random: u64,
    /// The current child of `soc`.
    device: SocDevice<'a>,
}

#[derive(Clone, Copy, Default)]
struct SocDevice<'a> {
    is_virtio: bool,
    registers: Option<&'a [u8]>,
    interrupts: Option<&'a [u8]>,
}

impl<'a> HardwareScan<'a> {
    fn handle_event(&mut self, event: TreeEvent<'a>, ram: u64) -> Result<(), TreeError> {
        let TreeEvent::Property { place, name, value } = event else {
            let device = core::mem::take(&mut self.device);
            return self.keep(device, ram);
        };
        let is = |other: &str| same(name, other);
        match place {
            // The cells of an address and of a size, in the nodes that are read below.
            TreeNode::Root | TreeNode::Soc if (is("#address-cells") || is("#size-cells")) && value != [0, 0, 0, 2] => {
                return Err(TreeError::Broken);
            }
            TreeNode::Memory if is("reg") => {
                self.ram = { self.ram }.or(bytes_at(value).filter(|bytes| bytes.start == ram));
            }
            TreeNode::Cpus if is("timebase-frequency") => {
                let hz = value.first_chunk().map(|hz| u32::from_be_bytes(*hz));
                self.clock_hz = hz.filter(|hz| *hz != 0).map(u64::from);
            }
            TreeNode::Chosen if is("rng-seed") => {
                for chunk in value.chunks(8) {
                    let word = { chunk.iter() }.fold(0, |word, byte| word << 8 | u64::from(*byte));
                    self.random ^= word;
                }
            }
            TreeNode::Device if is("compatible") => {
                let mut kinds = value.split(|byte| *byte == 0);
                self.device.is_virtio = kinds.any(|kind| same(kind, "virtio,mmio"));
            }
            TreeNode::Device if is("reg") => self.device.registers = Some(value),
            TreeNode::Device if is("interrupts") => self.device.interrupts = Some(value),
            _ => {}
        }
        Ok(())
    }

    /// Handles a device that was read completely.
    fn keep(&mut self, device: SocDevice<'a>, ram: u64) -> Result<(), TreeError> {
        if !READS_SLOTS || !device.is_virtio {
            return Ok(());
        }
        let registers = { device.registers }
            .and_then(bytes_at)
            .filter(|bytes| bytes.end <= ram && bytes.start.is_multiple_of(4))
            .ok_or(TreeError::Slot)?;
        // Some interrupt controllers add cells for the trigger type after the ID.
        let interrupt = { device.interrupts }
            .and_then(|value| value.first_chunk())
            .ok_or(TreeError::Slot)?;
        let slot = VirtioSlot {
            registers,
            interrupt: u32::from_be_bytes(*interrupt),
        };
        let is_below = |other: &VirtioSlot| other.registers.start < registers.start;
        let place = self.slots.iter().take_while(|other| is_below(other)).count();
        self.slots.insert(place, slot).map_err(|_| TreeError::TooManySlots)
    }
}

/// Returns the first entry of a `reg` that has two cells for an address and two for a size.
fn bytes_at(reg: &[u8]) -> Option<AddressRange> {
    let (start, rest) = reg.split_first_chunk()?;
    let (start, size) = (u64::from_be_bytes(*start), u64::from_be_bytes(*rest.first_chunk()?));
    let end = start.checked_add(size)?;
    (size != 0).then_some(AddressRange { start, end })
}

/// Node of the tree that contains a property.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TreeNode {
    Root,
    Memory,
    Cpus,
    Chosen,
    Soc,
    /// A child of `soc`.
    Device,
    Other,
}

/// Depth up to which nodes are distinguished.
const DEPTH: usize = 3;

enum TreeEvent<'a> {
    Property {
        place: TreeNode,
        name: &'a [u8],
        value: &'a [u8],
    },
    /// A node has ended, or a child has begun: it has no more properties.
    Boundary,
}

struct NodeReader<'a> {
    tree: TokenReader<'a>,
    path: [TreeNode; DEPTH],
    depth: usize,
}

impl<'a> NodeReader<'a> {
    fn place(&self) -> TreeNode {
        let at = self.depth.wrapping_sub(1);
        self.path.get(at).copied().unwrap_or(TreeNode::Other)
    }

    /// Returns the next event, `Some(None)` at the tree's end, and `None` if it is malformed.
    #[expect(clippy::option_option, reason = "two ends: the tree's, and its structure's")]
    fn next(&mut self) -> Option<Option<TreeEvent<'a>>> {
        Some(Some(match self.tree.next()? {
            Token::BeginNode(name) => {
                let above = self.place();
                let (name, _) = split_at_byte(name, b'@').unwrap_or((name, name));
                let place = match above {
                    _ if self.depth == 0 => TreeNode::Root,
                    TreeNode::Root if same(name, "memory") => TreeNode::Memory,
                    TreeNode::Root if same(name, "cpus") => TreeNode::Cpus,
                    TreeNode::Root if same(name, "chosen") => TreeNode::Chosen,
                    TreeNode::Root if same(name, "soc") => TreeNode::Soc,
                    TreeNode::Soc => TreeNode::Device,
                    _ => TreeNode::Other,
                };
                if let Some(at) = self.path.get_mut(self.depth) {
                    *at = place;
                }
                self.depth += 1;
                TreeEvent::Boundary
            }
            Token::EndNode => {
                self.depth = self.depth.checked_sub(1)?;
                TreeEvent::Boundary
            }
            Token::Property(name, value) => {
                let place = self.place();
                TreeEvent::Property { place, name, value }
            }
            Token::End => return (self.depth == 0).then_some(None),
        }))
    }
}

/// Tokens of a tree's structure ("Devicetree Specification", 5.4.1).
enum Token<'a> {
    BeginNode(&'a [u8]),
    EndNode,
    Property(&'a [u8], &'a [u8]),
    End,
}

/// The unread part of a tree's structure, and the property names.
struct TokenReader<'a> {
    rest: &'a [u8],
    names: &'a [u8],
}

impl<'a> TokenReader<'a> {
    /// Parses the header of a tree ("Devicetree Specification", 5.2); returns `None` if it is invalid.
    fn from_tree(tree: &'a [u8]) -> Option<Self> {
        const MAGIC: u32 = 0xd00d_feed;
        const VERSION: u32 = 17;
        let word = |at: usize| {
            let word = tree.get(4 * at..)?.first_chunk()?;
            Some(u32::from_be_bytes(*word))
        };
        let part = |at: usize, size: usize| {
            let (at, size) = (word(at)? as usize, word(size)? as usize);
            tree.get(at..)?.get(..size)
        };
        let is_sound = word(0)? == MAGIC && word(1)? as usize <= tree.len() && word(6)? <= VERSION;
        is_sound.then_some(())?;
        Some(Self {
            rest: part(2, 9)?,
            names: part(3, 8)?,
        })
    }

    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_be_bytes(*word))
    }

    /// Reads `count` bytes and skips the padding of their last word.
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (all, rest) = self.rest.split_at_checked(count.checked_next_multiple_of(4)?)?;
        self.rest = rest;
        all.get(..count)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        const BEGIN_NODE: u32 = 1;
        const END_NODE: u32 = 2;
        const PROPERTY: u32 = 3;
        const NOP: u32 = 4;
        const END: u32 = 9;
        loop {
            return Some(match self.word()? {
                BEGIN_NODE => {
                    let (name, _) = split_at_byte(self.rest, 0)?;
                    self.bytes(name.len() + 1)?;
                    Token::BeginNode(name)
                }
                END_NODE => Token::EndNode,
                PROPERTY => {
                    let (length, name) = (self.word()? as usize, self.word()? as usize);
                    let (name, _) = split_at_byte(self.names.get(name..)?, 0)?;
                    Token::Property(name, self.bytes(length)?)
                }
                NOP => continue,
                END => Token::End,
                _ => return None,
            });
        }
    }
}

/// One copy in the image, as each comparison with a literal would otherwise be inlined byte by byte.
#[inline(never)]
fn same(name: &[u8], other: &str) -> bool {
    name == other.as_bytes()
}

/// Splits at the first occurrence of `byte`, which starts the second part.
fn split_at_byte(bytes: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|other| *other == byte)?;
    bytes.split_at_checked(at)
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

    /// The tree as QEMU writes it, including its reverse order of the slots.
    fn virt(slots: u32) -> DeviceTree {
        let cells = || vec![property!("#address-cells", 2u32), property!("#size-cells", 2u32)];
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
        chosen.add_property(property!("rng-seed", [1u32, 2, 3, 4]));
        tree.root.add_child(chosen);
        tree
    }

    #[test]
    fn everything_is_found_and_slots_are_in_order() {
        let tree = virt(8).to_dtb();
        let machine = HardwareInfo::read(&tree, RAM).expect("a tree");
        let ram = AddressRange {
            start: RAM,
            end: RAM + 0x80_0000,
        };
        assert_eq!((machine.ram, machine.clock_hz), (ram, 10_000_000));
        assert_eq!(machine.random, 0x2_0000_0006);
        assert_eq!(machine.slots.len(), 8);
        for (i, slot) in machine.slots.iter().enumerate() {
            assert_eq!(slot.registers.start, 0x1000_1000 + 0x1000 * i as u64);
            assert_eq!(slot.interrupt, i as u32 + 1);
        }
    }

    #[test]
    fn an_interrupt_may_say_its_kind() {
        let mut tree = virt(1);
        let soc = tree.root.child_mut("soc").expect("a child");
        let slot = soc.child_mut("virtio_mmio@10001000").expect("a slot");
        slot.remove_property("interrupts");
        slot.add_property(property!("interrupts", [7u32, 4]));
        let tree = tree.to_dtb();
        let machine = HardwareInfo::read(&tree, RAM).expect("a tree");
        assert_eq!(machine.slots[0].interrupt, 7);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let read = |tree: &DeviceTree, ram| HardwareInfo::read(&tree.to_dtb(), ram).map(|_| ());
        let good = virt(1);
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
        assert_eq!(slot("reg", &[0, 0x9000_0000, 0, 0x1000]), Err(TreeError::Slot));
        let wraps = [u32::MAX, u32::MAX, 0, 0x1000];
        assert_eq!(slot("reg", &wraps), Err(TreeError::Slot));
        for name in ["#address-cells", "#size-cells"] {
            let mut tree = good.clone();
            tree.root.remove_property(name);
            tree.root.add_property(property!(name, 1u32));
            assert_eq!(read(&tree, RAM), Err(TreeError::Broken), "{name}");
        }
        let many = virt(MAX_SLOTS as u32 + 1);
        assert_eq!(read(&many, RAM), Err(TreeError::TooManySlots));
        assert_eq!(HardwareInfo::read(&[], RAM), Err(TreeError::Broken));
    }

    #[test]
    fn damaged_trees_never_panic() {
        let tree = virt(2).to_dtb();
        for length in 0..tree.len() {
            assert!(HardwareInfo::read(&tree[..length], RAM).is_err());
        }
        // Every byte, with values that make lengths, offsets and tokens wrong in each direction.
        let mut refused = 0;
        for at in 0..tree.len() {
            for value in [0, 1, 2, 3, 4, 9, 0x7f, 0x80, 0xff] {
                let mut damaged = tree.clone();
                damaged[at] = value;
                refused += HardwareInfo::read(&damaged, RAM).is_err() as u32;
            }
        }
        assert!(refused > 0);
    }
}
