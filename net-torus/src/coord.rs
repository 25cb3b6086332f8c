//! Coordinates, ranks, extents and directions.

/// A node's place. Extents are at most 256, so that a coordinate is a byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Coord {
    /// Place along X.
    pub x: u8,
    /// Place along Y.
    pub y: u8,
    /// Place along Z.
    pub z: u8,
}

/// A node's number: `x + y * X + z * X * Y`.
pub type Rank = u32;

/// Extents of the machine and which dimensions wrap around.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    extents: [u16; 3],
    wraps: [bool; 3],
    /// Product of the extents, which is asked for with each message.
    nodes: u32,
}

impl Shape {
    /// A torus (`wraps` true) or mesh (`wraps` false) per dimension; `None` unless each extent is 1..=256.
    pub fn new(extents: [u16; 3], wraps: [bool; 3]) -> Option<Self> {
        let is_valid = extents.iter().all(|&e| (1..=256).contains(&e));
        is_valid.then(|| Self {
            extents,
            wraps,
            nodes: extents.iter().map(|&e| u32::from(e)).product(),
        })
    }
    /// Extents along X, Y, Z.
    pub fn extents(&self) -> [u16; 3] {
        self.extents
    }
    /// Which dimensions are tori.
    pub fn wraps(&self) -> [bool; 3] {
        self.wraps
    }
    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }
    /// The rank at `c`; `None` outside the machine.
    pub fn rank(&self, c: Coord) -> Option<Rank> {
        let [ex, ey, ez] = self.extents.map(u32::from);
        let (x, y, z) = (c.x as u32, c.y as u32, c.z as u32);
        (x < ex && y < ey && z < ez).then(|| x + ex * (y + ey * z))
    }
    /// The coordinates of `rank`; `None` when it is not below [`Shape::nodes`].
    pub fn coord(&self, rank: Rank) -> Option<Coord> {
        let [ex, ey, _] = self.extents.map(u32::from);
        (rank < self.nodes).then(|| Coord {
            x: (rank % ex) as u8,
            y: (rank / ex % ey) as u8,
            z: (rank / ex / ey) as u8,
        })
    }
}

/// One of a node's six links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum Direction {
    /// Towards greater x.
    XPlus,
    /// Towards smaller x.
    XMinus,
    /// Towards greater y.
    YPlus,
    /// Towards smaller y.
    YMinus,
    /// Towards greater z.
    ZPlus,
    /// Towards smaller z.
    ZMinus,
}

impl Direction {
    /// All six, in the order in which links are numbered.
    pub const ALL: [Direction; 6] = [
        Direction::XPlus,
        Direction::XMinus,
        Direction::YPlus,
        Direction::YMinus,
        Direction::ZPlus,
        Direction::ZMinus,
    ];
}
