//! Memory layout of an instance with a box of nodes, and of the memory that instances share. Used by kernel and tool.
//! Offsets are bytes from the start of the file behind the memory. The file is sparse: memory is allocated on first
//! use.
//!
//! ```text
//! 0             image slot: the image as it is loaded: entry, code, constants, the template of the data
//! image_slot    rings inside the box: RING_BYTES for each node and axis, the link in its plus direction
//!               node 0's own memory, node 1's ...
//! ```
//! Each part begins on a multiple of [`LARGE_PAGE`]. A node's own memory is mapped at [`RAM`], except that code and
//! constants are mapped from the image slot instead. Its page tables are in its own memory, in a section of the image
//! that is not mapped.

use net_torus::coord::{Coord, Direction, Shape};

use super::address::{AddressRange, PAGE};

/// Start of every node's memory in the node's address space, and of an instance's physical memory.
pub const RAM: u64 = 0x8000_0000;
/// The machine's flash. The tool stores the record of the [boot parameters](super::boot_parameters) at its start.
pub const FLASH: u64 = 0x2000_0000;
/// Alignment of the parts of an instance's memory, in bytes: a page of the second level.
pub const LARGE_PAGE: u64 = 2 << 20;
/// Space for the rings of one link, both directions, in bytes.
pub const RING_BYTES: u64 = 128 << 10;
/// Start of the links' rings in a node's address space: those of direction `d` are at `d` times [`RING_WINDOW`].
pub const RING_WINDOWS: u64 = 0x30_0000_0000;
/// Distance of two links' rings in a node's address space, in bytes: small enough for one table of small pages.
pub const RING_WINDOW: u64 = 2 * RING_BYTES;
/// Maximum number of nodes in one instance: the number of harts that QEMU's `virt` machine supports.
pub const MAX_NODES: u32 = 512;

/// Offset of the page with the node's sleep flag in the space of the node's first ring.
const ASLEEP: u64 = RING_BYTES - PAGE;

const _: () = assert!(8 * RING_WINDOW <= LARGE_PAGE);

/// A box of the torus: the nodes of one instance, numbered with x fastest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeBox {
    /// Its corner with the minimum coordinates.
    pub origin: Coord,
    /// Its size in nodes along x, y and z, each at least 1.
    pub extents: [u16; 3],
}

impl NodeBox {
    /// Returns its number of nodes.
    pub fn nodes(&self) -> u32 {
        self.extents.into_iter().map(u32::from).product()
    }

    /// Returns the coordinates of its node `index`; `None` if there is no such node.
    pub fn coord(&self, index: u32) -> Option<Coord> {
        let [ex, ey, ez] = self.extents.map(u32::from);
        let o = self.origin;
        let [x, y, z] = [index % ex, index / ex % ey, index / ex / ey];
        let at = |origin: u8, offset: u32| u8::try_from(u32::from(origin) + offset).ok();
        (z < ez).then_some(())?;
        Some(Coord {
            x: at(o.x, x)?,
            y: at(o.y, y)?,
            z: at(o.z, z)?,
        })
    }

    /// Returns the index of the node at `coord`; `None` outside the box.
    pub fn index(&self, coord: Coord) -> Option<u32> {
        let [ex, ey, ez] = self.extents.map(u32::from);
        let o = self.origin;
        let at = |coord: u8, origin: u8, extent: u32| {
            let offset = u32::from(coord.checked_sub(origin)?);
            (offset < extent).then_some(offset)
        };
        let x = at(coord.x, o.x, ex)?;
        let y = at(coord.y, o.y, ey)?;
        Some((at(coord.z, o.z, ez)? * ey + y) * ex + x)
    }
}

/// Whether a torus may consist of several boxes: an image for one contains no code for others.
pub const SEVERAL: bool = cfg!(any(
    all(target_arch = "riscv64", feature = "options"),
    not(target_os = "none")
));

/// Symbol of an image that supports several boxes: the name of a function.
pub const SEVERAL_SYMBOL: &str = "midplane_greeted";

/// A torus divided into boxes, one for each instance. Instances are numbered by the position of their boxes, with x
/// fastest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BoxDivision {
    shape: Shape,
    parts: [u16; 3],
}

impl BoxDivision {
    /// Divides `shape` into `parts` parts along x, y and z, as equal as possible. Returns `None` if an axis has no
    /// parts or more parts than nodes, or a box more than [`MAX_NODES`] nodes.
    pub fn new(shape: Shape, parts: [u16; 3]) -> Option<Self> {
        let mut greatest = 1;
        for (part, extent) in parts.iter().zip(&shape.extents()) {
            (1..=*extent).contains(part).then_some(())?;
            greatest *= u32::from(extent.div_ceil(*part));
        }
        (greatest <= MAX_NODES).then_some(Self { shape, parts })
    }

    /// Returns the torus.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the number of parts along x, y and z.
    pub fn parts(&self) -> [u16; 3] {
        self.parts
    }

    /// Returns the number of instances.
    pub fn instances(&self) -> u32 {
        if !SEVERAL {
            return 1;
        }
        self.parts.into_iter().map(u32::from).product()
    }

    /// Returns the box of an instance; `None` if there is no such instance.
    pub fn node_box(&self, instance: u32) -> Option<NodeBox> {
        if !SEVERAL {
            return (instance == 0).then_some(NodeBox {
                origin: Coord::default(),
                extents: self.shape.extents(),
            });
        }
        let [px, py, pz] = self.parts.map(u32::from);
        let place = [instance % px, instance / px % py, instance / px / py];
        let (mut origin, mut extents) = ([0; 3], [0; 3]);
        for (axis, part) in place.into_iter().enumerate() {
            let (extent, parts) = (self.shape.extents()[axis], self.parts[axis]);
            let start = |part: u32| part * u32::from(extent) / u32::from(parts);
            origin[axis] = start(part) as u8;
            extents[axis] = (start(part + 1) - start(part)) as u16;
        }
        let [x, y, z] = origin;
        let origin = Coord { x, y, z };
        (place[2] < pz).then_some(NodeBox { origin, extents })
    }

    /// Returns the instance of the node at `coord`, and the node's index in it; `None` outside the torus.
    pub fn place(&self, coord: Coord) -> Option<(u32, u32)> {
        let rank = self.shape.rank(coord)?;
        if !SEVERAL {
            // Nodes of a box are numbered like ranks.
            return Some((0, rank));
        }
        let at = [coord.x, coord.y, coord.z].map(u32::from);
        let part = |axis: usize| {
            let (extent, parts) = (self.shape.extents()[axis], self.parts[axis]);
            ((at[axis] + 1) * u32::from(parts) - 1) / u32::from(extent)
        };
        let [px, py, _] = self.parts.map(u32::from);
        let instance = (part(2) * py + part(1)) * px + part(0);
        Some((instance, self.node_box(instance)?.index(coord)?))
    }

    /// Returns whether a link of the node at `coord` leads to another instance. In that case its sleep flag is in the
    /// memory that instances share, at [`shared_asleep`].
    pub fn is_at_the_edge(&self, coord: Coord) -> bool {
        let instance = |coord| self.place(coord).map(|(instance, _)| instance);
        let neighbours = Direction::ALL.into_iter();
        let neighbours = neighbours.filter_map(|d| self.shape.neighbour(coord, d));
        SEVERAL && { neighbours }.any(|neighbour| instance(neighbour) != instance(coord))
    }
}

/// Returns the owner of the link in direction `d` of the node at `coord`, and the link's axis (0 to 2): the owner is
/// the node on whose plus side the link is. Returns `None` if there is no link.
pub fn owner(shape: &Shape, coord: Coord, d: Direction) -> Option<(Coord, usize)> {
    let neighbour = shape.neighbour(coord, d)?;
    let axis = d as usize / 2;
    Some(if (d as usize).is_multiple_of(2) {
        (coord, axis)
    } else {
        (neighbour, axis)
    })
}

/// Returns the offset of a link's rings in the memory that all instances share: the link on the plus side of rank
/// `owner` along `axis` (0 to 2). Only links between instances use their space.
pub fn shared_ring(owner: u32, axis: usize) -> u64 {
    (u64::from(owner) * 3 + axis as u64) * RING_BYTES
}

/// Returns the offset of the page with the sleep flag of rank `node` in that memory.
pub fn shared_asleep(node: u32) -> u64 {
    shared_ring(node, 0) + ASLEEP
}

/// Maximum size of the memory that all instances share, in bytes: a power of two that fits below RAM at its alignment.
pub const MAX_SHARED_BYTES: u64 = 512 << 20;

/// Returns the size of the memory that all instances share, in bytes: a power of two, as required for a PCI device.
pub fn shared_bytes(shape: &Shape) -> u64 {
    shared_ring(shape.nodes(), 0).next_power_of_two()
}

/// The memory of an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstanceLayout {
    /// Bytes at the start for the image as it is loaded; a multiple of [`LARGE_PAGE`].
    pub image_slot: u64,
    /// Number of nodes, 1 to [`MAX_NODES`].
    pub nodes: u32,
    /// Bytes of each node's own memory; a multiple of [`LARGE_PAGE`] that ends below [`RING_WINDOWS`].
    pub node_memory: u64,
}

impl InstanceLayout {
    /// Returns the minimum layout for `nodes` nodes of at least `node_memory` bytes, with an image whose loaded part
    /// ends `image_bytes` behind the start of RAM.
    ///
    /// Returns `None` for no nodes or more than [`MAX_NODES`], or for sizes beyond the address range.
    pub fn new(image_bytes: u64, nodes: u32, node_memory: u64) -> Option<Self> {
        let layout = Self {
            image_slot: image_bytes.max(1).checked_next_multiple_of(LARGE_PAGE)?,
            nodes,
            node_memory: node_memory.max(1).checked_next_multiple_of(LARGE_PAGE)?,
        };
        layout.is_sound().then_some(layout)
    }

    /// Checks the limits of its fields, and that its end is a valid address.
    pub fn is_sound(&self) -> bool {
        let aligned = |bytes: u64| bytes > 0 && bytes.is_multiple_of(LARGE_PAGE);
        let end = self
            .node_memory
            .checked_mul(self.nodes.into())
            .and_then(|bytes| bytes.checked_add(self.image_slot))
            // The rings of the largest box are far below this.
            .and_then(|bytes| bytes.checked_add(RAM + (1 << 40)));
        (1..=MAX_NODES).contains(&self.nodes)
            && aligned(self.image_slot)
            && aligned(self.node_memory)
            && self.node_memory <= RING_WINDOWS - RAM
            && end.is_some()
    }

    /// Returns the offset of the rings of the link on the plus side of node `k`, below [`InstanceLayout::nodes`], along `axis`
    /// (0 to 2).
    pub fn ring(&self, k: u32, axis: usize) -> u64 {
        self.image_slot + (u64::from(k) * 3 + axis as u64) * RING_BYTES
    }

    /// Returns the offset of the page with node `k`'s sleep flag.
    pub fn asleep(&self, k: u32) -> u64 {
        self.ring(k, 0) + ASLEEP
    }

    /// Returns the offset of node `k`'s own memory.
    pub fn node(&self, k: u32) -> u64 {
        let rings = u64::from(self.nodes) * 3 * RING_BYTES;
        let first = (self.image_slot + rings).next_multiple_of(LARGE_PAGE);
        first + u64::from(k) * self.node_memory
    }

    /// Returns the total size in bytes.
    pub fn total(&self) -> u64 {
        self.node(self.nodes)
    }

    /// Returns the offset of the byte at `address` of node `k`'s address space; `shared`: the addresses of the image's
    /// code and constants, one copy for all nodes. Returns `None` if it is no byte of the node's memory.
    pub fn offset(&self, k: u32, address: u64, shared: AddressRange) -> Option<u64> {
        let at = address.checked_sub(RAM).filter(|at| *at < self.node_memory)?;
        (k < self.nodes).then_some(())?;
        Some(if shared.contains(address) && at < self.image_slot {
            at
        } else {
            self.node(k) + at
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: AddressRange = AddressRange {
        start: RAM + 0x8_1000,
        end: RAM + 0x10_0000,
    };

    #[test]
    fn parts_follow_each_other_and_none_overlap() {
        for nodes in [1, 2, 8, 100, MAX_NODES] {
            let layout = InstanceLayout::new(0x12_3456, nodes, 8 << 20).expect("sound");
            let mut parts = vec![(0, layout.image_slot)];
            let rings = (0..nodes).flat_map(|k| [0, 1, 2].map(|axis| layout.ring(k, axis)));
            parts.extend(rings.map(|at| (at, RING_BYTES)));
            parts.extend((0..nodes).map(|k| (layout.node(k), layout.node_memory)));
            for pair in parts.windows(2) {
                let (at, bytes) = pair[0];
                assert!(at + bytes <= pair[1].0, "{nodes}: {pair:?}");
            }
            let (at, bytes) = parts[parts.len() - 1];
            assert_eq!(at + bytes, layout.total());
            for at in [layout.ring(0, 0), layout.node(nodes - 1)] {
                assert_eq!(at % LARGE_PAGE, 0);
            }
        }
    }

    #[test]
    fn code_is_shared_and_all_else_is_each_nodes_own() {
        let layout = InstanceLayout::new(0x12_3456, 4, 8 << 20).expect("sound");
        let offset = |k, address| layout.offset(k, address, SHARED);
        assert_eq!(offset(3, SHARED.start), Some(0x8_1000));
        assert_eq!(offset(3, SHARED.end - 1), Some(0xf_ffff));
        assert_eq!(offset(3, SHARED.end), Some(layout.node(3) + 0x10_0000));
        assert_eq!(offset(0, RAM), Some(layout.node(0)));
        assert_eq!(
            offset(1, RAM + (8 << 20) - 1),
            Some(layout.node(2) - 1),
            "the last byte"
        );
        for (k, address) in [(0, RAM - 1), (0, RAM + (8 << 20)), (4, RAM), (0, 0), (0, u64::MAX)] {
            assert_eq!(offset(k, address), None, "{k} {address:#x}");
        }
    }

    #[test]
    fn sizes_are_rounded_up_and_senseless_ones_refused() {
        let layout = InstanceLayout::new(1, 1, (4 << 20) + 1).expect("sound");
        assert_eq!((layout.image_slot, layout.node_memory), (LARGE_PAGE, 6 << 20));
        for (image, nodes, memory) in [
            (1, 0, 1 << 20),
            (1, MAX_NODES + 1, 1 << 20),
            (u64::MAX, 1, 1 << 20),
            (1, 2, u64::MAX / 2),
            (1, 1, u64::MAX),
        ] {
            assert_eq!(InstanceLayout::new(image, nodes, memory), None, "{nodes}");
        }
    }

    #[test]
    fn numbers_and_places_in_a_box_are_the_same_thing() {
        let origin = Coord { x: 4, y: 0, z: 250 };
        let extents = [2, 3, 6];
        let nodes = NodeBox { origin, extents };
        assert_eq!(nodes.nodes(), 36);
        for index in 0..36 {
            let coord = nodes.coord(index).expect("a node");
            assert_eq!(nodes.index(coord), Some(index));
        }
        assert_eq!(nodes.coord(1), Some(Coord { x: 5, ..origin }));
        assert_eq!(nodes.coord(36), None);
        for outside in [
            Coord { x: 3, ..origin },
            Coord { x: 6, ..origin },
            Coord { y: 3, ..origin },
            Coord { z: 0, ..origin },
        ] {
            assert_eq!(nodes.index(outside), None);
        }
    }

    #[test]
    fn each_node_is_in_one_box_at_one_place() {
        for (extents, parts) in [
            ([8, 8, 8], [1, 1, 2]),
            ([5, 7, 1], [2, 3, 1]),
            ([256, 1, 2], [3, 1, 2]),
            ([4, 4, 4], [4, 4, 4]),
        ] {
            let shape = Shape::new(extents, [true; 3]).expect("extents");
            let division = BoxDivision::new(shape, parts).expect("divides");
            let mut seen = 0;
            for instance in 0..division.instances() {
                let nodes = division.node_box(instance).expect("a box");
                for k in 0..nodes.nodes() {
                    let coord = nodes.coord(k).expect("a node");
                    assert_eq!(division.place(coord), Some((instance, k)));
                    seen += 1;
                }
            }
            assert_eq!(seen, shape.nodes());
            assert_eq!(division.node_box(division.instances()), None);
            assert_eq!(division.place(Coord { x: 255, y: 9, z: 9 }), None);
        }
    }

    #[test]
    fn boxes_keep_to_the_limits() {
        let divide =
            |extents, parts| BoxDivision::new(Shape::new(extents, [true; 3]).expect("extents"), parts).is_some();
        assert!(divide([8, 8, 8], [1, 1, 1]) && !divide([8, 8, 9], [1, 1, 1]));
        assert!(divide([8, 8, 9], [1, 1, 2]) && !divide([8, 8, 8], [9, 1, 1]));
        assert!(!divide([8, 8, 8], [1, 0, 1]));
    }

    #[test]
    fn nodes_at_the_edge_have_a_link_to_another_box() {
        let shape = Shape::new([4, 1, 4], [true, true, false]).expect("extents");
        let whole = BoxDivision::new(shape, [1, 1, 1]).expect("divides");
        let halves = BoxDivision::new(shape, [1, 1, 2]).expect("divides");
        for z in 0..4 {
            let at = Coord { x: 0, y: 0, z };
            assert!(!whole.is_at_the_edge(at));
            assert_eq!(halves.is_at_the_edge(at), z == 1 || z == 2);
        }
    }

    #[test]
    fn both_ends_of_a_link_name_the_same_owner() {
        for extents in [[4, 2, 1], [3, 3, 3]] {
            for wraps in [[true; 3], [false; 3]] {
                let shape = Shape::new(extents, wraps).expect("extents");
                for rank in 0..shape.nodes() {
                    let coord = shape.coord(rank).expect("a rank");
                    for d in Direction::ALL {
                        let Some(there) = shape.neighbour(coord, d) else {
                            assert_eq!(owner(&shape, coord, d), None);
                            continue;
                        };
                        let from_there = owner(&shape, there, d.opposite());
                        assert_eq!(owner(&shape, coord, d), from_there);
                    }
                }
            }
        }
    }

    #[test]
    fn every_link_between_instances_has_room_of_its_own() {
        let shape = Shape::new([8, 8, 8], [true; 3]).expect("extents");
        assert_eq!(shared_ring(0, 1), RING_BYTES);
        assert_eq!(shared_ring(1, 0), 3 * RING_BYTES);
        let last = shared_ring(511, 2) + RING_BYTES;
        assert!(last <= shared_bytes(&shape) && shared_bytes(&shape).is_power_of_two());
    }
}
