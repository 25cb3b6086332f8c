//! Datatype layouts: the memory location of each byte of an element, in packed order.
//!
//! A layout is a small tree, created once (for a datatype, MPI-3.1 section 4.1) and then only read. A loop node repeats
//! the node below it at a fixed stride; a list node contains pieces at irregular displacements. The bottom nodes are
//! indivisible elements. A lookup of any byte of the packed stream requires one step per level, plus a binary search
//! per list of pieces. No state is kept between packets, so packets may arrive in any order, and from an interrupt
//! handler.
//!
//! ```text
//! struct { int a; double b[3]; } x[10], one column of b:       Loop 10 times, 32 bytes apart
//!                                                                `- Leaf, 8 bytes          (at 8: the layout's)
//! ```
//! | memory, from the program's heap | bytes |
//! |---|---|
//! | a node: a leaf, a loop, a list of pieces | [`NODE_BYTES`] |
//! | a piece of a list | [`PIECE_BYTES`] |
//!
//! A node is `dense` if its bytes are contiguous in memory, regardless of its children. It is copied in one operation.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

/// Maximum levels of a layout, and thus steps of a byte lookup.
pub const MAX_LEVELS: u32 = 64;
/// Bytes per node on a 64-bit machine.
pub const NODE_BYTES: usize = 48;
/// Bytes per piece on a 64-bit machine.
pub const PIECE_BYTES: usize = 24;
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<LayoutNode>() == NODE_BYTES && size_of::<ChildRun>() == PIECE_BYTES);

/// Reasons why a layout cannot be created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LayoutError {
    /// The heap is full.
    OutOfMemory {
        /// Requested bytes.
        bytes: usize,
    },
    /// The size or a displacement exceeds the address range.
    TooLarge,
    /// The layout requires more than [`MAX_LEVELS`] levels.
    TooDeep,
}

/// Copies of one kind of bytes. The first byte in packed order is at displacement 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LayoutNode {
    /// Packed bytes; not 0.
    size: usize,
    /// Number of leaf elements.
    items: usize,
    /// Distance between copies of the node within a piece.
    extent: isize,
    kind: NodeKind,
    /// The bytes are contiguous in memory.
    dense: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NodeKind {
    /// An indivisible element. The creator defines the meaning of the tag.
    Leaf { tag: u8 },
    /// Repetition of the child; the count is the node's size divided by the child's.
    Loop { stride: isize, child: u32 },
    /// Range of the layout's piece list.
    Pieces { first: u32, count: u32 },
}

/// Consecutive copies of one child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ChildRun {
    at: isize,
    /// Packed offset within the node.
    start: usize,
    child: u32,
}

/// Memory layout of an element's bytes. The extent between elements is not part of the layout.
#[derive(PartialEq, Eq, Debug)]
pub struct Layout {
    /// Nodes in post-order: children first, the root last. Empty for a layout without bytes.
    nodes: Vec<LayoutNode>,
    pieces: Vec<ChildRun>,
    /// Displacement of the first byte in packed order.
    at: isize,
    levels: u32,
}

/// Equidistant blocks of bytes, the first possibly partial; or one block followed by the pieces in `behind`.
#[derive(Clone, Copy, Debug)]
struct StridedBlocks<'a> {
    /// Start of the first block.
    origin: isize,
    /// Bytes to skip in the first block.
    skip: usize,
    block: usize,
    stride: isize,
    /// Complete blocks after the first.
    more: usize,
    /// The remaining pieces of the list, which ends at packed byte `end`. Displacements are relative to `base`.
    behind: &'a [ChildRun],
    base: isize,
    end: usize,
}

/// Copies of a layout that are combined into another one.
#[derive(Clone, Copy, Debug)]
pub struct LayoutPart<'a> {
    /// Displacement of the first copy.
    pub at: isize,
    /// Number of copies.
    pub count: usize,
    /// Layout of one copy.
    pub layout: &'a Layout,
    /// Distance in bytes between copies.
    pub extent: isize,
}

impl LayoutNode {
    /// Checks whether the node's copies in a piece are contiguous in memory.
    fn is_one_run(&self) -> bool {
        self.dense && self.extent == self.size as isize
    }

    fn leaf(size: usize, tag: u8) -> LayoutNode {
        LayoutNode {
            size,
            items: 1,
            extent: size as isize,
            kind: NodeKind::Leaf { tag },
            dense: true,
        }
    }
}

fn reserve<T>(items: &mut Vec<T>, more: usize) -> Result<(), LayoutError> {
    items.try_reserve_exact(more).map_err(|_| LayoutError::OutOfMemory {
        bytes: more.saturating_mul(size_of::<T>()),
    })
}

fn index(at: usize) -> Result<u32, LayoutError> {
    u32::try_from(at).map_err(|_| LayoutError::TooLarge)
}

fn times(size: usize, count: usize) -> Result<usize, LayoutError> {
    size.checked_mul(count)
        .filter(|size| isize::try_from(*size).is_ok())
        .ok_or(LayoutError::TooLarge)
}

impl Layout {
    /// Layout without bytes.
    pub const EMPTY: Layout = Layout {
        nodes: Vec::new(),
        pieces: Vec::new(),
        at: 0,
        levels: 0,
    };

    /// Creates a layout of two leaf elements, each specified by its size (at least 1 byte) and tag. The second is at
    /// `behind`. Fails if the heap is full.
    // Smaller code than [`Layout::pieces`], for programs that create no datatypes.
    pub fn pair(size: usize, tag: u8, behind: isize, other: usize, other_tag: u8) -> Result<Layout, LayoutError> {
        let (mut nodes, mut pieces) = (Vec::new(), Vec::new());
        reserve(&mut nodes, 3)?;
        reserve(&mut pieces, 2)?;
        nodes.push(LayoutNode::leaf(size, tag));
        nodes.push(LayoutNode::leaf(other, other_tag));
        nodes.push(LayoutNode {
            size: size + other,
            items: 2,
            extent: 0,
            kind: NodeKind::Pieces { first: 0, count: 2 },
            dense: behind == size as isize,
        });
        for (at, start, child) in [(0, 0, 0), (behind, size, 1)] {
            pieces.push(ChildRun { at, start, child });
        }
        Ok(Layout {
            nodes,
            pieces,
            at: 0,
            levels: 2,
        })
    }

    /// Creates a leaf layout of `size` bytes, at least 1. Fails if the heap is full.
    pub fn leaf(size: usize, tag: u8) -> Result<Layout, LayoutError> {
        let mut nodes = Vec::new();
        reserve(&mut nodes, 1)?;
        nodes.push(LayoutNode::leaf(size, tag));
        Ok(Layout {
            nodes,
            levels: 1,
            ..Layout::EMPTY
        })
    }

    /// Returns a copy. Fails if the heap is full.
    pub fn try_clone(&self) -> Result<Layout, LayoutError> {
        self.with_capacity(0)
    }

    /// Returns a copy with spare capacity for `more` nodes.
    fn with_capacity(&self, more: usize) -> Result<Layout, LayoutError> {
        let (mut nodes, mut pieces) = (Vec::new(), Vec::new());
        reserve(&mut nodes, self.nodes.len() + more)?;
        reserve(&mut pieces, self.pieces.len())?;
        nodes.extend_from_slice(&self.nodes);
        pieces.extend_from_slice(&self.pieces);
        Ok(Layout { nodes, pieces, ..*self })
    }

    /// Returns a layout of `count` copies, `stride` bytes apart. Fails as specified by [`LayoutError`].
    pub fn repeated(&self, count: usize, stride: isize) -> Result<Layout, LayoutError> {
        let Some(&root) = self.nodes.last() else {
            return Ok(Layout::EMPTY);
        };
        match count {
            0 => return Ok(Layout::EMPTY),
            1 => return self.try_clone(),
            _ => {}
        }
        let size = times(root.size, count)?;
        isize::try_from(count - 1)
            .ok()
            .and_then(|last| last.checked_mul(stride))
            .ok_or(LayoutError::TooLarge)?;
        let mut all = self.with_capacity(1)?;
        let mut node = LayoutNode {
            size,
            items: root.items.saturating_mul(count),
            extent: 0,
            kind: NodeKind::Loop {
                stride,
                child: (all.nodes.len() - 1) as u32,
            },
            dense: root.dense && stride == root.size as isize,
        };
        // A loop that continues where the loop below it ends is merged with it.
        if let NodeKind::Loop { stride: below, child } = root.kind
            && (root.size / self.nodes[child as usize].size) as isize * below == stride
        {
            node.kind = root.kind;
            all.nodes.pop();
        } else {
            index(all.nodes.len())?;
            all.levels += 1;
        }
        all.nodes.push(node);
        all.checked()
    }

    /// Replaces each `pair` of leaf elements, including the hole between them, by one leaf of the specified size and
    /// tag. Returns `None` if the layout contains leaf elements outside such pairs. Fails as specified by
    /// [`LayoutError`].
    pub fn closed(&self, pair: &Layout, size: usize, tag: u8) -> Result<Option<Layout>, LayoutError> {
        let mut all = self.with_capacity(0)?;
        for at in 0..all.nodes.len() {
            let old = self.nodes[at];
            let count_of = |child: u32, bytes: usize| bytes / self.node(child).size;
            match old.kind {
                // Either below a pair, or detected by its parent.
                NodeKind::Leaf { .. } => {}
                NodeKind::Pieces { .. } if self.is_pair(at, pair) => {
                    all.nodes[at] = LayoutNode {
                        extent: old.extent,
                        ..LayoutNode::leaf(size, tag)
                    };
                }
                NodeKind::Loop { stride, child } => {
                    if self.is_leaf(child) {
                        return Ok(None);
                    }
                    let (below, count) = (all.nodes[child as usize], count_of(child, old.size));
                    let size = times(below.size, count)?;
                    all.nodes[at] = LayoutNode {
                        size,
                        items: below.items.saturating_mul(count),
                        dense: below.dense && stride == below.size as isize,
                        ..old
                    };
                }
                NodeKind::Pieces { first, count } => {
                    let (mut start, mut items, mut dense) = (0, 0usize, true);
                    for (number, (piece, bytes)) in self.lengths(old.size, first, count).enumerate() {
                        if self.is_leaf(piece.child) {
                            return Ok(None);
                        }
                        let (below, count) = (all.nodes[piece.child as usize], count_of(piece.child, bytes));
                        let is_row = below.dense && (count == 1 || below.extent == below.size as isize);
                        dense &= is_row && piece.at == start as isize;
                        all.pieces[first as usize + number].start = start;
                        let bytes = times(below.size, count)?;
                        start = times(1, start.checked_add(bytes).ok_or(LayoutError::TooLarge)?)?;
                        items = items.saturating_add(below.items.saturating_mul(count));
                    }
                    all.nodes[at] = LayoutNode {
                        size: start,
                        items,
                        dense,
                        ..old
                    };
                }
            }
        }
        let is_leaf = matches!(self.nodes.last(), Some(root) if matches!(root.kind, NodeKind::Leaf { .. }));
        Ok((!is_leaf).then_some(all))
    }

    fn is_leaf(&self, at: u32) -> bool {
        matches!(self.node(at).kind, NodeKind::Leaf { .. })
    }

    /// Checks whether node `at` is a list of two leaf elements equal to `pair`.
    fn is_pair(&self, at: usize, pair: &Layout) -> bool {
        let leaves = |layout: &Layout, node: &LayoutNode| {
            let NodeKind::Pieces { first, count: 2 } = node.kind else {
                return None;
            };
            let [one, other] = [0, 1].map(|at| layout.pieces[first as usize + at]);
            let [value, index] = [one, other].map(|piece| *layout.node(piece.child));
            let are_single = other.start == value.size && node.size == value.size + index.size;
            are_single.then_some((other.at, value.kind, index.kind))
        };
        let wanted = pair.nodes.last().and_then(|root| leaves(pair, root));
        wanted.is_some() && leaves(self, &self.nodes[at]) == wanted
    }

    fn checked(self) -> Result<Layout, LayoutError> {
        if self.levels <= MAX_LEVELS {
            Ok(self)
        } else {
            Err(LayoutError::TooDeep)
        }
    }

    /// Concatenates the parts in packed order. Fails as specified by [`LayoutError`].
    pub fn pieces<'a, I>(parts: I) -> Result<Layout, LayoutError>
    where
        I: Iterator<Item = LayoutPart<'a>> + Clone,
    {
        let parts = parts.filter(|part| part.count > 0 && !part.layout.nodes.is_empty());
        let Some(first) = parts.clone().next() else {
            return Ok(Layout::EMPTY);
        };
        let at = moved(first.at, first.layout.at)?;
        let mut all = Layout { at, ..Layout::EMPTY };
        let mut known: Vec<(&Layout, isize, u32)> = Vec::new();
        let mut list: Vec<ChildRun> = Vec::new();
        reserve(&mut list, parts.clone().count())?;
        let (mut start, mut items, mut dense) = (0usize, 0usize, true);
        for part in parts {
            let child = all.embed(&mut known, part)?;
            let node = all.nodes[child as usize];
            let place = moved(part.at, part.layout.at)?
                .checked_sub(at)
                .ok_or(LayoutError::TooLarge)?;
            let is_row = node.dense && (part.count == 1 || node.extent == node.size as isize);
            dense &= is_row && place == start as isize;
            let bytes = times(node.size, part.count)?;
            match list.last() {
                // This part continues where the previous one ends.
                Some(last)
                    if last.child == child
                        && node.dense
                        && node.extent == node.size as isize
                        && place == last.at + (start - last.start) as isize => {}
                _ => list.push(ChildRun {
                    at: place,
                    start,
                    child,
                }),
            }
            start = times(1, start.checked_add(bytes).ok_or(LayoutError::TooLarge)?)?;
            items = items.saturating_add(node.items.saturating_mul(part.count));
        }
        all.close(list, start, items, dense)
    }

    /// Returns the child node of a part. Copies the part's nodes and pieces into this layout unless it already contains
    /// them.
    fn embed<'a>(
        &mut self,
        known: &mut Vec<(&'a Layout, isize, u32)>,
        part: LayoutPart<'a>,
    ) -> Result<u32, LayoutError> {
        let LayoutPart { layout, extent, .. } = part;
        let last = known.iter().rev();
        let mut same = last.filter(|(other, at, _)| core::ptr::eq(*other, layout) && *at == extent);
        if let Some((_, _, child)) = same.next() {
            return Ok(*child);
        }
        let (node_base, piece_base) = (index(self.nodes.len())?, index(self.pieces.len())?);
        index(self.nodes.len() + layout.nodes.len())?;
        index(self.pieces.len() + layout.pieces.len())?;
        known.try_reserve(1).map_err(|_| LayoutError::OutOfMemory {
            bytes: size_of::<(&Layout, isize, u32)>(),
        })?;
        // One extra node for the root.
        reserve(&mut self.nodes, layout.nodes.len() + 1)?;
        reserve(&mut self.pieces, layout.pieces.len())?;
        self.nodes.extend(layout.nodes.iter().map(|node| LayoutNode {
            kind: match node.kind {
                NodeKind::Leaf { tag } => NodeKind::Leaf { tag },
                NodeKind::Loop { stride, child } => NodeKind::Loop {
                    stride,
                    child: child + node_base,
                },
                NodeKind::Pieces { first, count } => NodeKind::Pieces {
                    first: first + piece_base,
                    count,
                },
            },
            ..*node
        }));
        self.pieces.extend(layout.pieces.iter().map(|piece| ChildRun {
            child: piece.child + node_base,
            ..*piece
        }));
        let child = index(self.nodes.len() - 1)?;
        self.nodes[child as usize].extent = extent;
        self.levels = self.levels.max(layout.levels);
        known.push((layout, extent, child));
        Ok(child)
    }

    /// Appends the root node of these pieces.
    fn close(mut self, list: Vec<ChildRun>, size: usize, items: usize, dense: bool) -> Result<Layout, LayoutError> {
        let kind = match list[..] {
            [ChildRun { child, .. }] => {
                let node = self.nodes[child as usize];
                if node.size == size {
                    // One copy of one child: the child itself is the root.
                    return self.checked();
                }
                NodeKind::Loop {
                    stride: node.extent,
                    child,
                }
            }
            _ => {
                let first = index(self.pieces.len())?;
                let count = index(list.len())?;
                reserve(&mut self.pieces, list.len())?;
                self.pieces.extend_from_slice(&list);
                NodeKind::Pieces { first, count }
            }
        };
        reserve(&mut self.nodes, 1)?;
        index(self.nodes.len())?;
        self.nodes.push(LayoutNode {
            size,
            items,
            extent: 0,
            kind,
            dense,
        });
        self.levels += 1;
        self.checked()
    }

    /// Returns the size in packed bytes.
    pub fn size(&self) -> usize {
        self.nodes.last().map_or(0, |root| root.size)
    }

    /// Returns the number of leaf elements. Saturates at `usize::MAX`.
    pub fn items(&self) -> usize {
        self.nodes.last().map_or(0, |root| root.items)
    }

    /// Returns the displacement of the first byte in packed order.
    pub fn first(&self) -> isize {
        self.at
    }

    /// Checks whether the bytes are contiguous in memory, from [`Layout::first`] on.
    pub fn is_dense(&self) -> bool {
        self.nodes.last().is_none_or(|root| root.dense)
    }

    /// Returns the tags of the leaf elements, each tag at least once.
    pub fn tags(&self) -> impl Iterator<Item = u8> {
        self.nodes.iter().filter_map(|node| match node.kind {
            NodeKind::Leaf { tag } => Some(tag),
            NodeKind::Loop { .. } | NodeKind::Pieces { .. } => None,
        })
    }

    /// Returns the heap memory used, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<LayoutNode>() + self.pieces.capacity() * size_of::<ChildRun>()
    }

    fn list(&self, first: u32, count: u32) -> &[ChildRun] {
        &self.pieces[first as usize..][..count as usize]
    }

    fn node(&self, at: u32) -> &LayoutNode {
        &self.nodes[at as usize]
    }

    /// Returns the blocks from byte `inner` of the packed element on. `more` further elements follow it, `stride` bytes
    /// apart.
    #[inline]
    fn strided_blocks(&self, root: &LayoutNode, inner: usize, mut stride: isize, mut more: usize) -> StridedBlocks<'_> {
        let (mut node, mut origin, mut skip) = (root, self.at, inner);
        loop {
            if node.dense {
                return StridedBlocks {
                    origin,
                    skip,
                    block: node.size,
                    stride,
                    more,
                    behind: &[],
                    base: 0,
                    end: 0,
                };
            }
            match node.kind {
                NodeKind::Leaf { .. } => unreachable!("a leaf is dense"),
                NodeKind::Loop { stride: apart, child } => {
                    let below = self.node(child);
                    let before = skip / below.size;
                    origin += before as isize * apart;
                    if below.dense {
                        (stride, more) = (apart, node.size / below.size - 1 - before);
                    }
                    skip -= before * below.size;
                    node = below;
                }
                NodeKind::Pieces { first, count } => {
                    let list = self.list(first, count);
                    let at = list.partition_point(|piece| piece.start <= skip) - 1;
                    let piece = list[at];
                    let end = list.get(at + 1).map_or(node.size, |next| next.start);
                    let below = self.node(piece.child);
                    let base = origin;
                    (skip, origin) = (skip - piece.start, origin + piece.at);
                    let bytes = end - piece.start;
                    if below.is_one_run() {
                        return StridedBlocks {
                            origin,
                            skip,
                            block: bytes,
                            stride: 0,
                            more: 0,
                            behind: &list[at + 1..],
                            base,
                            end: node.size,
                        };
                    }
                    let before = skip / below.size;
                    origin += before as isize * below.extent;
                    (stride, more) = (below.extent, bytes / below.size - 1 - before);
                    skip -= before * below.size;
                    node = below;
                }
            }
        }
    }

    /// Walks `len` bytes of the packed stream of elements `extent` bytes apart. The walk starts at byte `start`, which
    /// may lie before element 0. For each run of bytes, in order, `run` receives its displacement, the number of bytes
    /// before it, and its length.
    #[inline]
    pub fn walk(&self, extent: isize, start: isize, len: usize, mut run: impl FnMut(isize, usize, usize)) {
        let Some(root) = self.nodes.last() else {
            assert!(len == 0, "no element has bytes");
            return;
        };
        let size = root.size as isize;
        let mut done = 0;
        while done < len {
            let at = start + done as isize;
            let (element, inner) = (at.div_euclid(size), at.rem_euclid(size) as usize);
            if cfg!(feature = "micro") {
                // Each block is looked up separately: slower, but less code.
                let (_, at, before, row) = self.descend(root, inner, |node| node.dense);
                let bytes = row.min(len - done);
                run(element * extent + at + before as isize, done, bytes);
                done += bytes;
                continue;
            }
            let comb = self.strided_blocks(root, inner, extent, usize::MAX);
            let mut origin = element * extent + comb.origin;
            let (mut skip, mut more) = (comb.skip, comb.more);
            loop {
                let bytes = (comb.block - skip).min(len - done);
                run(origin + skip as isize, done, bytes);
                done += bytes;
                if more == 0 || done == len {
                    break;
                }
                (origin, skip, more) = (origin + comb.stride, 0, more - 1);
            }
            // Consecutive pieces require no further search.
            let mut behind = comb.behind.iter().peekable();
            while let Some(piece) = behind.next().filter(|_| done < len) {
                if !self.node(piece.child).is_one_run() {
                    break;
                }
                let end = behind.peek().map_or(comb.end, |next| next.start);
                let bytes = (end - piece.start).min(len - done);
                run(element * extent + comb.base + piece.at, done, bytes);
                done += bytes;
            }
        }
    }

    /// Returns the leaf element that contains byte `inner` of the packed element.
    ///
    /// # Panics
    /// If the element has no such byte.
    pub fn leaf_at(&self, inner: usize) -> LeafElement {
        let root = self.nodes.last().expect("an element with bytes");
        assert!(inner < root.size);
        let is_leaf = |node: &LayoutNode| matches!(node.kind, NodeKind::Leaf { .. });
        let (node, at, before, _) = self.descend(root, inner, is_leaf);
        let NodeKind::Leaf { tag } = node.kind else {
            unreachable!("it is a leaf")
        };
        LeafElement {
            at,
            size: node.size,
            tag,
            before,
        }
    }

    /// Returns the topmost node that contains byte `inner` of the packed element and satisfies `is_last`, as each leaf
    /// does. Also returns the displacement of that copy of the node, the number of its bytes before `inner`, and the
    /// length of the contiguous run from `inner` on, including adjacent copies.
    #[inline]
    fn descend(
        &self,
        root: &LayoutNode,
        inner: usize,
        is_last: impl Fn(&LayoutNode) -> bool,
    ) -> (LayoutNode, isize, usize, usize) {
        let (mut node, mut at, mut before) = (root, self.at, inner);
        let mut row = 0;
        while !is_last(node) {
            let (child, apart) = match node.kind {
                NodeKind::Leaf { .. } => break,
                NodeKind::Loop { stride, child } => (child, stride),
                NodeKind::Pieces { first, count } => {
                    let list = self.list(first, count);
                    let behind = list.partition_point(|piece| piece.start <= before);
                    let piece = list[behind - 1];
                    let end = list.get(behind).map_or(node.size, |next| next.start);
                    let below = self.node(piece.child);
                    if below.is_one_run() {
                        row = end - before;
                    }
                    before -= piece.start;
                    at += piece.at;
                    (piece.child, below.extent)
                }
            };
            node = self.node(child);
            at += (before / node.size) as isize * apart;
            before %= node.size;
        }
        (*node, at, before, row.max(node.size - before))
    }

    /// Returns the number of leaf elements in the first `bytes` of the packed stream. Returns `None` if the last one is
    /// incomplete.
    pub fn items_in(&self, bytes: usize) -> Option<usize> {
        let Some(mut node) = self.nodes.last() else {
            return (bytes == 0).then_some(0);
        };
        let mut items = node.items.saturating_mul(bytes / node.size);
        let mut rest = bytes % node.size;
        while rest > 0 {
            let (first, count) = match node.kind {
                NodeKind::Leaf { .. } => return None,
                NodeKind::Loop { child, .. } => {
                    let below = self.node(child);
                    items += rest / below.size * below.items;
                    rest %= below.size;
                    node = below;
                    continue;
                }
                NodeKind::Pieces { first, count } => (first, count),
            };
            for (piece, bytes) in self.lengths(node.size, first, count) {
                let below = self.node(piece.child);
                let whole = rest.min(bytes) / below.size;
                items += whole * below.items;
                if rest < bytes {
                    rest -= whole * below.size;
                    node = below;
                    break;
                }
                rest -= bytes;
            }
        }
        Some(items)
    }

    /// Returns the packed size of the first `items` leaf elements. Returns `None` if it exceeds `usize`, or if the
    /// layout has no elements.
    pub fn bytes_of(&self, items: usize) -> Option<usize> {
        let Some(mut node) = self.nodes.last() else {
            return (items == 0).then_some(0);
        };
        let mut bytes = node.size.checked_mul(items / node.items)?;
        let mut rest = items % node.items;
        while rest > 0 {
            let (first, count) = match node.kind {
                // A single leaf has no remainder.
                NodeKind::Leaf { .. } => break,
                NodeKind::Loop { child, .. } => {
                    let below = self.node(child);
                    bytes = bytes.checked_add(rest / below.items * below.size)?;
                    rest %= below.items;
                    node = below;
                    continue;
                }
                NodeKind::Pieces { first, count } => (first, count),
            };
            for (piece, length) in self.lengths(node.size, first, count) {
                let below = self.node(piece.child);
                let all = length / below.size;
                let whole = all.min(rest / below.items);
                bytes = bytes.checked_add(whole * below.size)?;
                rest -= whole * below.items;
                if whole < all {
                    node = below;
                    break;
                }
            }
        }
        Some(bytes)
    }

    /// Returns the sum of the weights of an element's leaf elements; `of_leaf` maps a tag to a weight. Returns `None`
    /// if the sum exceeds `usize`. Time and memory depend on the number of nodes and pieces, not on that of leaf
    /// elements. Fails if the heap is full.
    pub fn weight(&self, of_leaf: impl Fn(u8) -> usize) -> Result<Option<usize>, LayoutError> {
        let mut weights: Vec<Option<usize>> = Vec::new();
        reserve(&mut weights, self.nodes.len())?;
        for node in &self.nodes {
            // Children precede their parents.
            let copies = |child: u32, bytes: usize| {
                let each = weights[child as usize];
                each.and_then(|each| each.checked_mul(bytes / self.node(child).size))
            };
            weights.push(match node.kind {
                NodeKind::Leaf { tag } => Some(of_leaf(tag)),
                NodeKind::Loop { child, .. } => copies(child, node.size),
                NodeKind::Pieces { first, count } => {
                    let mut pieces = self.lengths(node.size, first, count);
                    pieces.try_fold(0usize, |sum, (piece, bytes)| {
                        sum.checked_add(copies(piece.child, bytes)?)
                    })
                }
            });
        }
        Ok(weights.last().copied().unwrap_or(Some(0)))
    }

    /// Returns the pieces of a list in a node of `size` bytes, each with its length in bytes.
    fn lengths(&self, size: usize, first: u32, count: u32) -> impl Iterator<Item = (ChildRun, usize)> + '_ {
        let list = self.list(first, count);
        let ends = list.iter().skip(1).map(|next| next.start);
        let pieces = list.iter().zip(ends.chain([size]));
        pieces.map(|(piece, end)| (*piece, end - piece.start))
    }
}

/// A leaf element and the position of a byte in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeafElement {
    /// Displacement.
    pub at: isize,
    /// Size in bytes.
    pub size: usize,
    /// Tag specified by its creator.
    pub tag: u8,
    /// Offset of the requested byte in the leaf.
    pub before: usize,
}

fn moved(at: isize, by: isize) -> Result<isize, LayoutError> {
    at.checked_add(by).ok_or(LayoutError::TooLarge)
}

#[cfg(test)]
mod tests;
