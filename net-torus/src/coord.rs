//! Coordinates, ranks, extents and directions.

/// Coordinates of a node. Extents are at most 256, so that a coordinate is a byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Coord {
    /// Coordinate along X.
    pub x: u8,
    /// Coordinate along Y.
    pub y: u8,
    /// Coordinate along Z.
    pub z: u8,
}

/// Rank of a node: `x + y * X + z * X * Y`.
pub type Rank = u32;

/// Extents of the machine, and the dimensions that wrap around.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    extents: [u16; 3],
    wraps: [bool; 3],
    /// Product of the extents, cached because each message uses it.
    nodes: u32,
}

impl Shape {
    /// Creates a torus (`wraps` true) or mesh (`wraps` false) per dimension. Returns `None` unless each extent is
    /// 1..=256.
    pub fn new(extents: [u16; 3], wraps: [bool; 3]) -> Option<Self> {
        let is_valid = extents.iter().all(|&e| (1..=256).contains(&e));
        is_valid.then(|| Self {
            extents,
            wraps,
            nodes: extents.iter().map(|&e| u32::from(e)).product(),
        })
    }

    /// Returns the extents of `nodes` nodes closest to a cube, in descending order: an extent of 1 means few links, a
    /// large one means long paths. `None` if no torus has that many nodes.
    pub fn extents_closest_to_cube(nodes: u32) -> Option<[u16; 3]> {
        let mut best = None;
        for z in (1..=256).filter(|z| nodes.is_multiple_of(*z)) {
            let rest = nodes / z;
            for y in (z..=256).filter(|y| rest.is_multiple_of(*y)) {
                let x = rest / y;
                let (sum, extents) = (x.saturating_add(y + z), [x as u16, y as u16, z as u16]);
                if x >= y && x <= 256 && best.is_none_or(|(least, _)| sum < least) {
                    best = Some((sum, extents));
                }
            }
        }
        best.map(|(_, extents)| extents)
    }

    /// Returns the extents along X, Y, Z.
    pub fn extents(&self) -> [u16; 3] {
        self.extents
    }
    /// Returns for each dimension whether it is a torus.
    pub fn wraps(&self) -> [bool; 3] {
        self.wraps
    }
    /// Returns the number of nodes.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }
    /// Checks whether a node may forward packets between others: some pair has no link of its own.
    pub fn has_through_traffic(&self) -> bool {
        let dimensions = self.extents.iter().filter(|extent| **extent > 1).count();
        let is_long = |(extent, wraps): (&u16, &bool)| *extent > if *wraps { 3 } else { 2 };
        dimensions > 1 || self.extents.iter().zip(&self.wraps).any(is_long)
    }
    /// Returns the rank at `c`, or `None` outside the machine.
    pub fn rank(&self, c: Coord) -> Option<Rank> {
        let [ex, ey, ez] = self.extents.map(u32::from);
        let (x, y, z) = (c.x as u32, c.y as u32, c.z as u32);
        (x < ex && y < ey && z < ez).then(|| x + ex * (y + ey * z))
    }
    /// Returns the coordinates of `rank`, or `None` when it is not below [`Shape::nodes`].
    pub fn coord(&self, rank: Rank) -> Option<Coord> {
        let [ex, ey, _] = self.extents.map(u32::from);
        (rank < self.nodes).then(|| Coord {
            x: (rank % ex) as u8,
            y: (rank / ex % ey) as u8,
            z: (rank / ex / ey) as u8,
        })
    }
}

/// Direction of one of a node's six links.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum Direction {
    /// Towards larger x.
    XPlus,
    /// Towards smaller x.
    XMinus,
    /// Towards larger y.
    YPlus,
    /// Towards smaller y.
    YMinus,
    /// Towards larger z.
    ZPlus,
    /// Towards smaller z.
    ZMinus,
}

impl Direction {
    /// All six directions, in link order.
    pub const ALL: [Direction; 6] = [
        Direction::XPlus,
        Direction::XMinus,
        Direction::YPlus,
        Direction::YMinus,
        Direction::ZPlus,
        Direction::ZMinus,
    ];
}
