//! Layouts: where in memory the bytes of an element lie, in the order in which they travel.
//!
//! A layout is a small program, made once (a datatype's, MPI-3.1 section 4.1) and then only read. Its nodes say how
//! often, and how far apart, the node below them is repeated, or list pieces at irregular places; at the bottom are
//! leaves, the elements that have no parts. Finding the place of any byte of the packed stream takes one step a
//! level, and in a list of pieces a binary search; nothing is remembered between two packets, so that they may come
//! in any order, and from an interrupt.
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
//! A node whose bytes are one behind the other is `dense`, whatever is below it: it is copied at one go.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

/// Levels that a layout can have: what finding a byte's place takes at most, in steps.
pub const MOST_LEVELS: u32 = 64;
/// Bytes that a node takes on a machine of 64 bits.
pub const NODE_BYTES: usize = 48;
/// Bytes that a piece takes on a machine of 64 bits.
pub const PIECE_BYTES: usize = 24;
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Node>() == NODE_BYTES && size_of::<Piece>() == PIECE_BYTES);

/// Why a layout cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LayoutError {
    /// The heap has no room for it.
    NoRoom {
        /// Bytes asked for.
        bytes: usize,
    },
    /// Its bytes, or the distances between them, are more than an address can say.
    TooLarge,
    /// It would have more than [`MOST_LEVELS`] levels.
    TooDeep,
}

/// Some copies of one kind of bytes. The first byte in packed order is at displacement 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node {
    /// Packed bytes; not 0.
    size: usize,
    /// Leaves in it.
    items: usize,
    /// How far apart copies of it are in a piece.
    extent: isize,
    kind: Kind,
    /// Its bytes are one behind the other in memory, too.
    dense: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// An element without parts; what it is, is the maker's business.
    Leaf { tag: u8 },
    /// The child, as often as its size goes into the node's.
    Loop { stride: isize, child: u32 },
    /// Pieces in the layout's list.
    Pieces { first: u32, count: u32 },
}

/// A number of copies of one child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    at: isize,
    /// Packed bytes before it, in its node.
    start: usize,
    child: u32,
}

/// Where an element's bytes lie. Elements are repeated at an extent that is not the layout's business.
#[derive(PartialEq, Eq, Debug)]
pub struct Layout {
    /// Children first; the last is the root. Empty: no bytes.
    nodes: Vec<Node>,
    pieces: Vec<Piece>,
    /// The displacement of the first byte in packed order.
    at: isize,
    levels: u32,
}

/// Blocks of bytes at equal distances, the first of them begun; or one block, and others behind it.
#[derive(Clone, Copy, Debug)]
struct Comb<'a> {
    /// Where the first block begins.
    origin: isize,
    /// Bytes of it that come before.
    skip: usize,
    block: usize,
    stride: isize,
    /// Whole blocks behind the first.
    more: usize,
    /// What comes behind these in their list, whose bytes end with packed byte `end`; pieces are found by its `base`.
    behind: &'a [Piece],
    base: isize,
    end: usize,
}

/// Copies of a layout that become a part of another one.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The displacement of the first copy.
    pub at: isize,
    /// How many copies.
    pub count: usize,
    /// What is copied.
    pub layout: &'a Layout,
    /// How far apart.
    pub extent: isize,
}

impl Node {
    /// Copies of it in a piece are bytes one behind the other.
    fn is_one_run(&self) -> bool {
        self.dense && self.extent == self.size as isize
    }

    fn leaf(size: usize, tag: u8) -> Node {
        Node {
            size,
            items: 1,
            extent: size as isize,
            kind: Kind::Leaf { tag },
            dense: true,
        }
    }
}

fn reserve<T>(items: &mut Vec<T>, more: usize) -> Result<(), LayoutError> {
    items
        .try_reserve_exact(more)
        .map_err(|_| LayoutError::NoRoom {
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
    /// No bytes.
    pub const EMPTY: Layout = Layout {
        nodes: Vec::new(),
        pieces: Vec::new(),
        at: 0,
        levels: 0,
    };

    /// Two leaves, each of so many bytes, at least 1, and what it is; the second is at `behind`. Fails when the heap has
    /// no room.
    // Less than what [`Layout::pieces`] can make, for programs that make no datatypes.
    pub fn pair(
        (size, tag): (usize, u8),
        behind: isize,
        (other, other_tag): (usize, u8),
    ) -> Result<Layout, LayoutError> {
        let (mut nodes, mut pieces) = (Vec::new(), Vec::new());
        reserve(&mut nodes, 3)?;
        reserve(&mut pieces, 2)?;
        nodes.push(Node::leaf(size, tag));
        nodes.push(Node::leaf(other, other_tag));
        nodes.push(Node {
            size: size + other,
            items: 2,
            extent: 0,
            kind: Kind::Pieces { first: 0, count: 2 },
            dense: behind == size as isize,
        });
        for (at, start, child) in [(0, 0, 0), (behind, size, 1)] {
            pieces.push(Piece { at, start, child });
        }
        Ok(Layout {
            nodes,
            pieces,
            at: 0,
            levels: 2,
        })
    }

    /// `size` bytes, at least 1, that have no parts. Fails when the heap has no room.
    pub fn leaf(size: usize, tag: u8) -> Result<Layout, LayoutError> {
        let mut nodes = Vec::new();
        reserve(&mut nodes, 1)?;
        nodes.push(Node::leaf(size, tag));
        Ok(Layout {
            nodes,
            levels: 1,
            ..Layout::EMPTY
        })
    }

    /// A copy. Fails when the heap has no room.
    pub fn try_clone(&self) -> Result<Layout, LayoutError> {
        self.with_room(0)
    }

    /// A copy with room for so many nodes more.
    fn with_room(&self, more: usize) -> Result<Layout, LayoutError> {
        let (mut nodes, mut pieces) = (Vec::new(), Vec::new());
        reserve(&mut nodes, self.nodes.len() + more)?;
        reserve(&mut pieces, self.pieces.len())?;
        nodes.extend_from_slice(&self.nodes);
        pieces.extend_from_slice(&self.pieces);
        Ok(Layout {
            nodes,
            pieces,
            ..*self
        })
    }

    /// `count` copies, `stride` bytes from one to the next. Fails as [`LayoutError`] says.
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
        let mut all = self.with_room(1)?;
        let mut node = Node {
            size,
            items: root.items.saturating_mul(count),
            extent: 0,
            kind: Kind::Loop {
                stride,
                child: (all.nodes.len() - 1) as u32,
            },
            dense: root.dense && stride == root.size as isize,
        };
        // A loop that goes on where the one below it ends is the same loop, longer.
        if let Kind::Loop {
            stride: below,
            child,
        } = root.kind
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

    /// The same with each `pair` of leaves, which has a hole between them, as one leaf of so many bytes, the hole among
    /// them, and what it is. `None`: there are leaves that are not of such pairs. Fails as [`LayoutError`] says.
    pub fn closed(
        &self,
        pair: &Layout,
        (size, tag): (usize, u8),
    ) -> Result<Option<Layout>, LayoutError> {
        let mut all = self.with_room(0)?;
        for at in 0..all.nodes.len() {
            let old = self.nodes[at];
            let count_of = |child: u32, bytes: usize| bytes / self.node(child).size;
            match old.kind {
                // Below a pair, or what the parent finds.
                Kind::Leaf { .. } => {}
                Kind::Pieces { .. } if self.is_pair(at, pair) => {
                    all.nodes[at] = Node {
                        extent: old.extent,
                        ..Node::leaf(size, tag)
                    };
                }
                Kind::Loop { stride, child } => {
                    if self.is_leaf(child) {
                        return Ok(None);
                    }
                    let (below, count) = (all.nodes[child as usize], count_of(child, old.size));
                    let size = times(below.size, count)?;
                    all.nodes[at] = Node {
                        size,
                        items: below.items.saturating_mul(count),
                        dense: below.dense && stride == below.size as isize,
                        ..old
                    };
                }
                Kind::Pieces { first, count } => {
                    let (mut start, mut items, mut dense) = (0, 0usize, true);
                    for (number, (piece, bytes)) in self.lengths(old.size, first, count).enumerate()
                    {
                        if self.is_leaf(piece.child) {
                            return Ok(None);
                        }
                        let (below, count) = (
                            all.nodes[piece.child as usize],
                            count_of(piece.child, bytes),
                        );
                        let is_row =
                            below.dense && (count == 1 || below.extent == below.size as isize);
                        dense &= is_row && piece.at == start as isize;
                        all.pieces[first as usize + number].start = start;
                        let bytes = times(below.size, count)?;
                        start = times(1, start.checked_add(bytes).ok_or(LayoutError::TooLarge)?)?;
                        items = items.saturating_add(below.items.saturating_mul(count));
                    }
                    all.nodes[at] = Node {
                        size: start,
                        items,
                        dense,
                        ..old
                    };
                }
            }
        }
        let is_leaf =
            matches!(self.nodes.last(), Some(root) if matches!(root.kind, Kind::Leaf { .. }));
        Ok((!is_leaf).then_some(all))
    }

    fn is_leaf(&self, at: u32) -> bool {
        matches!(self.node(at).kind, Kind::Leaf { .. })
    }

    /// Node `at` is a list of two leaves, as `pair` is.
    fn is_pair(&self, at: usize, pair: &Layout) -> bool {
        let leaves = |layout: &Layout, node: &Node| {
            let Kind::Pieces { first, count: 2 } = node.kind else {
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
        match self.levels <= MOST_LEVELS {
            true => Ok(self),
            false => Err(LayoutError::TooDeep),
        }
    }

    /// The parts, one behind the other in packed order. Fails as [`LayoutError`] says.
    pub fn pieces<'a, I>(parts: I) -> Result<Layout, LayoutError>
    where
        I: Iterator<Item = Part<'a>> + Clone,
    {
        let parts = parts.filter(|part| part.count > 0 && !part.layout.nodes.is_empty());
        let Some(first) = parts.clone().next() else {
            return Ok(Layout::EMPTY);
        };
        let at = moved(first.at, first.layout.at)?;
        let mut all = Layout {
            at,
            ..Layout::EMPTY
        };
        let mut known: Vec<(&Layout, isize, u32)> = Vec::new();
        let mut list: Vec<Piece> = Vec::new();
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
                // It goes on where the last one ends.
                Some(last)
                    if last.child == child
                        && node.dense
                        && node.extent == node.size as isize
                        && place == last.at + (start - last.start) as isize => {}
                _ => list.push(Piece {
                    at: place,
                    start,
                    child,
                }),
            }
            start = times(1, start.checked_add(bytes).ok_or(LayoutError::TooLarge)?)?;
            items = items.saturating_add(node.items.saturating_mul(part.count));
        }
        all.close(list, (start, items, dense))
    }

    /// The child of a part, with its nodes and pieces copied into this layout unless they are there already.
    fn embed<'a>(
        &mut self,
        known: &mut Vec<(&'a Layout, isize, u32)>,
        part: Part<'a>,
    ) -> Result<u32, LayoutError> {
        let Part { layout, extent, .. } = part;
        let last = known.iter().rev();
        let mut same = last.filter(|(other, at, _)| core::ptr::eq(*other, layout) && *at == extent);
        if let Some((_, _, child)) = same.next() {
            return Ok(*child);
        }
        let (node_base, piece_base) = (index(self.nodes.len())?, index(self.pieces.len())?);
        index(self.nodes.len() + layout.nodes.len())?;
        index(self.pieces.len() + layout.pieces.len())?;
        known.try_reserve(1).map_err(|_| LayoutError::NoRoom {
            bytes: size_of::<(&Layout, isize, u32)>(),
        })?;
        // One more, for the node on top.
        reserve(&mut self.nodes, layout.nodes.len() + 1)?;
        reserve(&mut self.pieces, layout.pieces.len())?;
        self.nodes.extend(layout.nodes.iter().map(|node| Node {
            kind: match node.kind {
                Kind::Leaf { tag } => Kind::Leaf { tag },
                Kind::Loop { stride, child } => Kind::Loop {
                    stride,
                    child: child + node_base,
                },
                Kind::Pieces { first, count } => Kind::Pieces {
                    first: first + piece_base,
                    count,
                },
            },
            ..*node
        }));
        self.pieces.extend(layout.pieces.iter().map(|piece| Piece {
            child: piece.child + node_base,
            ..*piece
        }));
        let child = index(self.nodes.len() - 1)?;
        self.nodes[child as usize].extent = extent;
        self.levels = self.levels.max(layout.levels);
        known.push((layout, extent, child));
        Ok(child)
    }

    /// Puts the node of these pieces on top.
    fn close(
        mut self,
        list: Vec<Piece>,
        (size, items, dense): (usize, usize, bool),
    ) -> Result<Layout, LayoutError> {
        let kind = match list[..] {
            [Piece { child, .. }] => {
                let node = self.nodes[child as usize];
                if node.size == size {
                    // One copy of one child: that child.
                    return self.checked();
                }
                Kind::Loop {
                    stride: node.extent,
                    child,
                }
            }
            _ => {
                let first = index(self.pieces.len())?;
                let count = index(list.len())?;
                reserve(&mut self.pieces, list.len())?;
                self.pieces.extend_from_slice(&list);
                Kind::Pieces { first, count }
            }
        };
        reserve(&mut self.nodes, 1)?;
        index(self.nodes.len())?;
        self.nodes.push(Node {
            size,
            items,
            extent: 0,
            kind,
            dense,
        });
        self.levels += 1;
        self.checked()
    }

    /// Packed bytes.
    pub fn size(&self) -> usize {
        self.nodes.last().map_or(0, |root| root.size)
    }

    /// Elements without parts; more than `usize` holds are cut off at its maximum.
    pub fn items(&self) -> usize {
        self.nodes.last().map_or(0, |root| root.items)
    }

    /// The displacement of the first byte in packed order.
    pub fn first(&self) -> isize {
        self.at
    }

    /// Its bytes are one behind the other in memory, from [`Layout::first`] on.
    pub fn is_dense(&self) -> bool {
        self.nodes.last().is_none_or(|root| root.dense)
    }

    /// What its leaves are, as their makers have said, each of them at least once.
    pub fn tags(&self) -> impl Iterator<Item = u8> {
        self.nodes.iter().filter_map(|node| match node.kind {
            Kind::Leaf { tag } => Some(tag),
            Kind::Loop { .. } | Kind::Pieces { .. } => None,
        })
    }

    /// Bytes that it takes of the heap.
    pub fn heap_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.pieces.capacity() * size_of::<Piece>()
    }

    /// The pieces of a list.
    fn list(&self, first: u32, count: u32) -> &[Piece] {
        &self.pieces[first as usize..][..count as usize]
    }

    fn node(&self, at: u32) -> &Node {
        &self.nodes[at as usize]
    }

    /// The blocks from this byte of the packed element on; the element itself is followed by `more` others, `stride`
    /// apart.
    #[inline]
    fn comb(&self, root: &Node, inner: usize, mut stride: isize, mut more: usize) -> Comb<'_> {
        let (mut node, mut origin, mut skip) = (root, self.at, inner);
        loop {
            if node.dense {
                return Comb {
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
                // A leaf is dense.
                Kind::Leaf { .. } => unreachable!("a leaf is dense"),
                Kind::Loop {
                    stride: apart,
                    child,
                } => {
                    let below = self.node(child);
                    let before = skip / below.size;
                    origin += before as isize * apart;
                    if below.dense {
                        (stride, more) = (apart, node.size / below.size - 1 - before);
                    }
                    skip -= before * below.size;
                    node = below;
                }
                Kind::Pieces { first, count } => {
                    let list = self.list(first, count);
                    let at = list.partition_point(|piece| piece.start <= skip) - 1;
                    let piece = list[at];
                    let end = list.get(at + 1).map_or(node.size, |next| next.start);
                    let below = self.node(piece.child);
                    let base = origin;
                    (skip, origin) = (skip - piece.start, origin + piece.at);
                    let bytes = end - piece.start;
                    if below.is_one_run() {
                        return Comb {
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

    /// Walks `len` bytes of the packed stream of elements that are `extent` apart, from byte `start` on, which may
    /// lie before element 0: `run` gets, in order, the displacement of some bytes, how many of the `len` come before
    /// them, and how many they are.
    #[inline]
    pub fn walk(
        &self,
        extent: isize,
        start: isize,
        len: usize,
        mut run: impl FnMut(isize, usize, usize),
    ) {
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
                // Each block is looked for, which takes longer and less code.
                let (_, at, before, row) = self.descend(root, inner, |node| node.dense);
                let bytes = row.min(len - done);
                run(element * extent + at + before as isize, done, bytes);
                done += bytes;
                continue;
            }
            let comb = self.comb(root, inner, extent, usize::MAX);
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
            // Pieces one behind the other are not searched for.
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

    /// The leaf that byte `inner` of the packed element belongs to: its displacement, its size and what it is;
    /// how many of its bytes come before.
    ///
    /// # Panics
    /// When the element has no such byte.
    pub fn leaf_at(&self, inner: usize) -> Leaf {
        let root = self.nodes.last().expect("an element with bytes");
        assert!(inner < root.size);
        let is_leaf = |node: &Node| matches!(node.kind, Kind::Leaf { .. });
        let (node, at, before, _) = self.descend(root, inner, is_leaf);
        let Kind::Leaf { tag } = node.kind else {
            unreachable!("it is a leaf")
        };
        Leaf {
            at,
            size: node.size,
            tag,
            before,
        }
    }

    /// The node that byte `inner` of the packed element belongs to and that `is_last`, as leaves are: where that copy of it
    /// begins, how many of its bytes come before, and how many bytes from there on are in a row, copies of it among them.
    #[inline]
    fn descend(
        &self,
        root: &Node,
        inner: usize,
        is_last: impl Fn(&Node) -> bool,
    ) -> (Node, isize, usize, usize) {
        let (mut node, mut at, mut before) = (root, self.at, inner);
        let mut row = 0;
        while !is_last(node) {
            let (child, apart) = match node.kind {
                Kind::Leaf { .. } => break,
                Kind::Loop { stride, child } => (child, stride),
                Kind::Pieces { first, count } => {
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

    /// How many leaves the first `bytes` of the packed stream are; `None`: the last of them is not whole.
    pub fn items_in(&self, bytes: usize) -> Option<usize> {
        let Some(mut node) = self.nodes.last() else {
            return (bytes == 0).then_some(0);
        };
        let mut items = node.items.saturating_mul(bytes / node.size);
        let mut rest = bytes % node.size;
        while rest > 0 {
            let (first, count) = match node.kind {
                Kind::Leaf { .. } => return None,
                Kind::Loop { child, .. } => {
                    let below = self.node(child);
                    items += rest / below.size * below.items;
                    rest %= below.size;
                    node = below;
                    continue;
                }
                Kind::Pieces { first, count } => (first, count),
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

    /// How many bytes of the packed stream the first `items` leaves are; `None`: more than `usize` holds, or there
    /// are no leaves.
    pub fn bytes_of(&self, items: usize) -> Option<usize> {
        let Some(mut node) = self.nodes.last() else {
            return (items == 0).then_some(0);
        };
        let mut bytes = node.size.checked_mul(items / node.items)?;
        let mut rest = items % node.items;
        while rest > 0 {
            let (first, count) = match node.kind {
                // Of one leaf nothing is left.
                Kind::Leaf { .. } => break,
                Kind::Loop { child, .. } => {
                    let below = self.node(child);
                    bytes = bytes.checked_add(rest / below.items * below.size)?;
                    rest %= below.items;
                    node = below;
                    continue;
                }
                Kind::Pieces { first, count } => (first, count),
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

    /// The sum of what each leaf of an element weighs by what it is; `None`: more than `usize` holds. Takes steps and
    /// memory by the nodes and pieces that there are, however many leaves they stand for. Fails when the heap has no room.
    pub fn weight(&self, of_leaf: impl Fn(u8) -> usize) -> Result<Option<usize>, LayoutError> {
        let mut weights: Vec<Option<usize>> = Vec::new();
        reserve(&mut weights, self.nodes.len())?;
        for node in &self.nodes {
            // Children come first.
            let copies = |child: u32, bytes: usize| {
                let each = weights[child as usize];
                each.and_then(|each| each.checked_mul(bytes / self.node(child).size))
            };
            weights.push(match node.kind {
                Kind::Leaf { tag } => Some(of_leaf(tag)),
                Kind::Loop { child, .. } => copies(child, node.size),
                Kind::Pieces { first, count } => {
                    let mut pieces = self.lengths(node.size, first, count);
                    pieces.try_fold(0usize, |sum, (piece, bytes)| {
                        sum.checked_add(copies(piece.child, bytes)?)
                    })
                }
            });
        }
        Ok(weights.last().copied().unwrap_or(Some(0)))
    }

    /// The pieces of a list in a node of `size` bytes, each with its bytes.
    fn lengths(
        &self,
        size: usize,
        first: u32,
        count: u32,
    ) -> impl Iterator<Item = (Piece, usize)> + '_ {
        let list = self.list(first, count);
        let ends = list.iter().skip(1).map(|next| next.start);
        let pieces = list.iter().zip(ends.chain([size]));
        pieces.map(|(piece, end)| (*piece, end - piece.start))
    }
}

/// A leaf of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// Its displacement.
    pub at: isize,
    /// Its bytes.
    pub size: usize,
    /// What it is, as its maker has said.
    pub tag: u8,
    /// How many of its bytes come before the one that was asked for.
    pub before: usize,
}

fn moved(at: isize, by: isize) -> Result<isize, LayoutError> {
    at.checked_add(by).ok_or(LayoutError::TooLarge)
}

#[cfg(test)]
mod tests;
