//! Pools of cubes and jump points, and searches in them.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use super::ADJUSTMENT_PERCENT;
use crate::ranked::{ByRank, QueueHeads};
use midplane_device::envelope::{Context, Rank};
use midplane_device::index_type;
use midplane_device::matching::OutOfSpace;

index_type! {
    /// Index of a cube in its pool.
    CubeAt
}

index_type! {
    /// Index of a jump point in its pool.
    JumpAt
}

/// All jump points of one `c3`. [`Cubes::starts`] contains their list heads: d entries, one for each `c2`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Cube {
    /// The context's next cube, with a higher `c3`; for a free cube, the next free one.
    next: Option<CubeAt>,
    /// Number of its list heads in use.
    used: u16,
    c3: u8,
}

/// Queues of all ranks of one `c3`, `c2`, `c1`.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct JumpPoint {
    heads: QueueHeads,
    /// The next jump point of the same `c3` and `c2`, with a higher `c1`; for a free one, the next free one.
    next: Option<JumpAt>,
    c1: u8,
}

const _: () = assert!(size_of::<Cube>() == 8 && size_of::<JumpPoint>() == 24);

/// Root of the queues of one context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CubeRoot {
    cubes: Option<CubeAt>,
}

/// A rank's coordinates, without the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RankPath {
    c3: u8,
    c2: u8,
    c1: u8,
}

/// End of a search: the object found, and its predecessor or insertion point. (Section 4.4.1, figure 4.11: no cube, no
/// jump point, or both.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchCursor {
    context: Context,
    way: RankPath,
    cube_before: Option<CubeAt>,
    cube: Option<CubeAt>,
    jump_before: Option<JumpAt>,
    jump: Option<JumpAt>,
}

/// The cubes of all contexts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cubes {
    /// Bits of a coordinate: d is two to this power.
    bits: u32,
    /// The job is so small that a list is faster.
    is_plain: bool,
    /// Maximum cubes of a context.
    cubes_per_context: usize,
    contexts: usize,
    /// Capacity in records and in receives.
    blocks: usize,
    receives: usize,

    cubes: Vec<Cube>,
    free_cubes: Option<CubeAt>,
    used_cubes: usize,
    /// The first jump point of each `c2`, d for each cube.
    starts: Vec<Option<JumpAt>>,
    jumps: Vec<JumpPoint>,
    free_jumps: Option<JumpAt>,
    used_jumps: usize,

    /// End of the last search, while it is valid.
    cursor: Option<SearchCursor>,
}

/// Returns the bits of a coordinate in a job of `peers` processes (001 equation 4.2 and table 4.2).
fn coordinate_bits(peers: usize) -> u32 {
    let bits = usize::BITS - peers.saturating_sub(1).leading_zeros();
    bits.clamp(5, u32::BITS).div_ceil(4)
}

/// Grows `pool` to `len` entries. Allocates slightly more if possible, so that incremental growth is cheap in total.
fn grow<T: Clone + Default>(pool: &mut Vec<T>, len: usize) -> Result<(), OutOfSpace> {
    let more = len.saturating_sub(pool.len());
    if more == 0 {
        return Ok(());
    }
    if pool.capacity() < len {
        let generous = more.max(pool.len() / 8);
        pool.try_reserve_exact(generous)
            .or_else(|_| pool.try_reserve_exact(more))
            .map_err(|_| OutOfSpace)?;
    }
    pool.resize(len, T::default());
    Ok(())
}

impl Cubes {
    pub(super) fn with_adjustment(blocks: usize, peers: usize, percent: u32) -> Option<Self> {
        let bits = coordinate_bits(peers);
        let longest_way = 3 * (1_u64 << bits) + 1;
        let mut cubes = Cubes {
            bits,
            is_plain: (peers as u64) * 100 < longest_way * u64::from(percent),
            cubes_per_context: peers.div_ceil(1 << (3 * bits)),
            contexts: 0,
            blocks,
            receives: 0,
            cubes: Vec::new(),
            free_cubes: None,
            used_cubes: 0,
            starts: Vec::new(),
            jumps: Vec::new(),
            free_jumps: None,
            used_jumps: 0,
            cursor: None,
        };
        cubes.grow().ok()?;
        Some(cubes)
    }

    pub(super) fn span(&self) -> usize {
        1 << self.bits
    }

    pub(super) fn cubes_in_use(&self) -> usize {
        self.used_cubes
    }

    pub(super) fn jump_points_in_use(&self) -> usize {
        self.used_jumps
    }

    fn bytes(&self, cubes: usize, jumps: usize) -> usize {
        cubes * (size_of::<Cube>() + self.span() * size_of::<Option<JumpAt>>()) + jumps * size_of::<JumpPoint>()
    }

    pub(super) fn bytes_in_use(&self) -> usize {
        self.bytes(self.used_cubes, self.used_jumps)
    }

    pub(super) fn pool_bytes(&self) -> usize {
        self.bytes(self.cubes.len(), self.jumps.len())
    }

    /// Grows the pools to the size that the blocks, receives and contexts require.
    #[cold]
    fn grow(&mut self) -> Result<(), OutOfSpace> {
        if self.is_plain {
            return Ok(());
        }
        let jumps = self.blocks.saturating_add(self.receives);
        let cubes = jumps.min(self.contexts * self.cubes_per_context);
        let first = self.jumps.len();
        grow(&mut self.jumps, jumps)?;
        for at in (first..self.jumps.len()).rev() {
            self.jumps[at].next = self.free_jumps.replace(JumpAt::new(at as u32));
        }
        let first = self.cubes.len();
        // The list heads first: there are never fewer than the cubes require.
        let starts = cubes * self.span();
        grow(&mut self.starts, starts)?;
        grow(&mut self.cubes, cubes)?;
        for at in (first..self.cubes.len()).rev() {
            self.cubes[at].next = self.free_cubes.replace(CubeAt::new(at as u32));
        }
        Ok(())
    }

    fn way(&self, rank: Rank) -> RankPath {
        let digit = |n: u32| (rank.index() >> (n * self.bits) & ((1 << self.bits) - 1)) as u8;
        RankPath {
            c3: digit(3),
            c2: digit(2),
            c1: digit(1),
        }
    }

    #[inline]
    fn cube(&self, at: CubeAt) -> &Cube {
        &self.cubes[at.index() as usize]
    }

    #[inline]
    fn cube_mut(&mut self, at: CubeAt) -> &mut Cube {
        &mut self.cubes[at.index() as usize]
    }

    #[inline]
    fn jump(&self, at: JumpAt) -> &JumpPoint {
        &self.jumps[at.index() as usize]
    }

    #[inline]
    fn jump_mut(&mut self, at: JumpAt) -> &mut JumpPoint {
        &mut self.jumps[at.index() as usize]
    }

    #[inline]
    fn start(&self, cube: CubeAt, c2: u8) -> usize {
        (cube.index() as usize) << self.bits | c2 as usize
    }

    /// Searches for a jump point: two list traversals that stop as soon as they have passed it, with a jump between
    /// them. Also returns the hops.
    #[inline]
    fn locate(&self, context: Context, root: &CubeRoot, way: RankPath) -> (SearchCursor, u32) {
        let mut hops = 0;
        let mut cursor = SearchCursor {
            context,
            way,
            cube_before: None,
            cube: None,
            jump_before: None,
            jump: None,
        };
        let mut next = root.cubes;
        while let Some(at) = next {
            hops += 1;
            let cube = self.cube(at);
            if cube.c3 >= way.c3 {
                cursor.cube = (cube.c3 == way.c3).then_some(at);
                break;
            }
            cursor.cube_before = next;
            next = cube.next;
        }
        let Some(cube) = cursor.cube else {
            return (cursor, hops);
        };
        hops += 1;
        let mut next = self.starts[self.start(cube, way.c2)];
        while let Some(at) = next {
            hops += 1;
            let jump = self.jump(at);
            if jump.c1 >= way.c1 {
                cursor.jump = (jump.c1 == way.c1).then_some(at);
                break;
            }
            cursor.jump_before = next;
            next = jump.next;
        }
        (cursor, hops)
    }

    /// Returns the cursor of the last search if it was for the same jump point, otherwise searches for it.
    #[inline]
    fn locate_again(&self, context: Context, root: &CubeRoot, way: RankPath) -> (SearchCursor, u32) {
        match self.cursor {
            Some(cursor) if cursor.context == context && cursor.way == way => (cursor, 0),
            _ => self.locate(context, root, way),
        }
    }

    /// Inserts a cube at the cursor.
    fn add_cube(&mut self, root: &mut CubeRoot, cursor: &mut SearchCursor) -> CubeAt {
        let at = self.free_cubes.expect("a cube for each of a context");
        self.free_cubes = self.cube(at).next;
        self.used_cubes += 1;
        let before = match cursor.cube_before {
            Some(before) => &mut self.cube_mut(before).next,
            None => &mut root.cubes,
        };
        let next = before.replace(at);
        *self.cube_mut(at) = Cube {
            next,
            used: 0,
            c3: cursor.way.c3,
        };
        cursor.cube = Some(at);
        at
    }

    /// Inserts a jump point into `cube` at the cursor.
    fn add_jump(&mut self, cube: CubeAt, cursor: &mut SearchCursor) -> JumpAt {
        let at = self.free_jumps.expect("a jump point for each entry");
        self.free_jumps = self.jump(at).next;
        self.used_jumps += 1;
        let start = self.start(cube, cursor.way.c2);
        if self.starts[start].is_none() {
            self.cube_mut(cube).used += 1;
        }
        let before = match cursor.jump_before {
            Some(before) => &mut self.jump_mut(before).next,
            None => &mut self.starts[start],
        };
        let next = before.replace(at);
        *self.jump_mut(at) = JumpPoint {
            heads: QueueHeads::default(),
            next,
            c1: cursor.way.c1,
        };
        cursor.jump = Some(at);
        at
    }

    /// Frees the empty jump point at the cursor, and its cube if that was the last one.
    fn remove(&mut self, root: &mut CubeRoot, cursor: &SearchCursor, cube: CubeAt, jump: JumpAt) {
        let next = self.jump(jump).next;
        let start = self.start(cube, cursor.way.c2);
        match cursor.jump_before {
            Some(before) => self.jump_mut(before).next = next,
            None => self.starts[start] = next,
        }
        self.jump_mut(jump).next = self.free_jumps.replace(jump);
        self.used_jumps -= 1;
        if self.starts[start].is_some() {
            return;
        }
        self.cube_mut(cube).used -= 1;
        if self.cube(cube).used > 0 {
            return;
        }
        let next = self.cube(cube).next;
        match cursor.cube_before {
            Some(before) => self.cube_mut(before).next = next,
            None => root.cubes = next,
        }
        self.cube_mut(cube).next = self.free_cubes.replace(cube);
        self.used_cubes -= 1;
    }
}

impl ByRank for Cubes {
    const NAME: &'static str = "fourd";
    type Root = CubeRoot;
    type Place = SearchCursor;

    fn fixed_bytes(blocks: usize, peers: usize) -> usize {
        let without_pools = Cubes::with_adjustment(0, peers, ADJUSTMENT_PERCENT);
        match without_pools {
            Some(cubes) if !cubes.is_plain => blocks * size_of::<JumpPoint>(),
            _ => 0,
        }
    }

    fn root_bytes(peers: usize) -> usize {
        match Cubes::with_adjustment(0, peers, ADJUSTMENT_PERCENT) {
            Some(cubes) if !cubes.is_plain => cubes.bytes(cubes.cubes_per_context, 0),
            _ => 0,
        }
    }

    fn receive_bytes(peers: usize) -> usize {
        match Cubes::with_adjustment(0, peers, ADJUSTMENT_PERCENT) {
            Some(cubes) if !cubes.is_plain => cubes.bytes(0, 1),
            _ => 0,
        }
    }

    fn new(blocks: usize, peers: usize) -> Option<Self> {
        Cubes::with_adjustment(blocks, peers, ADJUSTMENT_PERCENT)
    }

    #[inline]
    fn reserve(&mut self, receives: usize) -> Result<(), OutOfSpace> {
        if self.has_reserved(receives) {
            return Ok(());
        }
        let before = core::mem::replace(&mut self.receives, receives);
        self.grow().inspect_err(|_| self.receives = before)
    }

    #[inline]
    fn has_reserved(&self, receives: usize) -> bool {
        receives <= self.receives
    }

    #[inline]
    fn max_records(&self) -> u32 {
        self.blocks as u32
    }

    fn open(&mut self) -> Result<Option<CubeRoot>, OutOfSpace> {
        if self.is_plain {
            return Ok(None);
        }
        self.contexts += 1;
        self.grow().inspect_err(|_| self.contexts -= 1)?;
        Ok(Some(CubeRoot { cubes: None }))
    }

    fn close(&mut self, _: CubeRoot) {
        self.contexts -= 1;
    }

    fn is_empty(&self, root: &CubeRoot) -> bool {
        root.cubes.is_none()
    }

    #[inline]
    fn find<'a>(&'a mut self, context: Context, root: &'a CubeRoot, rank: Rank) -> (Option<&'a QueueHeads>, u32) {
        let (cursor, hops) = self.locate(context, root, self.way(rank));
        self.cursor = Some(cursor);
        (cursor.jump.map(|at| &self.jump(at).heads), hops)
    }

    #[inline]
    fn heads<'a>(&'a mut self, context: Context, root: &'a mut CubeRoot, rank: Rank) -> (&'a mut QueueHeads, u32) {
        let (mut cursor, hops) = self.locate_again(context, root, self.way(rank));
        let cube = match cursor.cube {
            Some(cube) => cube,
            None => self.add_cube(root, &mut cursor),
        };
        let jump = match cursor.jump {
            Some(jump) => jump,
            None => self.add_jump(cube, &mut cursor),
        };
        self.cursor = Some(cursor);
        (&mut self.jump_mut(jump).heads, hops)
    }

    #[inline]
    fn tidy(&mut self, root: &mut CubeRoot) {
        let Some(cursor) = self.cursor else {
            return;
        };
        if let (Some(cube), Some(jump)) = (cursor.cube, cursor.jump)
            && self.jump(jump).heads.are_empty()
        {
            self.remove(root, &cursor, cube, jump);
            self.cursor = None;
        }
    }

    fn each(&self, context: Context, root: &CubeRoot, mut f: impl FnMut(&QueueHeads, SearchCursor)) -> u32 {
        let mut hops = 0;
        let (mut cube_before, mut next_cube) = (None, root.cubes);
        while let Some(cube_at) = next_cube {
            let cube = self.cube(cube_at);
            hops += 1 + (1 << self.bits);
            let starts = &self.starts[self.start(cube_at, 0)..][..1 << self.bits];
            for (start, c2) in starts.iter().zip(0..=u8::MAX) {
                let (mut jump_before, mut next_jump) = (None, *start);
                while let Some(jump_at) = next_jump {
                    hops += 1;
                    let jump = self.jump(jump_at);
                    let way = RankPath {
                        c3: cube.c3,
                        c2,
                        c1: jump.c1,
                    };
                    let cursor = SearchCursor {
                        context,
                        way,
                        cube_before,
                        cube: next_cube,
                        jump_before,
                        jump: next_jump,
                    };
                    f(&jump.heads, cursor);
                    (jump_before, next_jump) = (next_jump, jump.next);
                }
            }
            (cube_before, next_cube) = (next_cube, cube.next);
        }
        hops
    }

    #[inline]
    fn found_at(&mut self, place: SearchCursor) {
        self.cursor = Some(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool that grows by one entry at a time has at most an eighth more than required after each allocation; one
    /// that grows in one step has exactly the required size. Nothing is allocated while there is space.
    #[test]
    fn a_pool_grows_by_an_eighth() {
        let mut pool: Vec<u32> = Vec::new();
        let mut room = 0;
        for len in 1..=1000 {
            assert_eq!(grow(&mut pool, len), Ok(()));
            if room < len {
                room = (len - 1) + (len - 1).div_euclid(8).max(1);
            }
            assert_eq!((pool.len(), pool.capacity()), (len, room));
        }
        assert_eq!(grow(&mut pool, 10), Ok(()));
        assert_eq!((pool.len(), pool.capacity()), (1000, room));
        assert_eq!(grow(&mut pool, 3000), Ok(()));
        assert_eq!((pool.len(), pool.capacity()), (3000, 3000));
    }
}
