//! Compares random layouts with the list of their leaf elements.

use super::*;

/// Reference implementation: displacement and size of each leaf element in packed order, and the extent.
#[derive(Clone, Debug)]
struct ReferenceMap {
    leaves: Vec<(isize, usize, u8)>,
    extent: isize,
}

impl ReferenceMap {
    fn repeated(&self, count: usize, stride: isize) -> Vec<(isize, usize, u8)> {
        let shift = |i: usize| {
            self.leaves
                .iter()
                .map(move |(at, size, tag)| (at + i as isize * stride, *size, *tag))
        };
        (0..count).flat_map(shift).collect()
    }

    /// Returns the displacement of every byte of the packed stream of `count` elements.
    fn bytes(&self, count: usize) -> Vec<isize> {
        let leaves = self.repeated(count, self.extent);
        leaves
            .iter()
            .flat_map(|(at, size, _)| (0..*size as isize).map(move |byte| at + byte))
            .collect()
    }
}

struct RandomSource(oorandom::Rand32);

impl RandomSource {
    fn below(&mut self, end: usize) -> usize {
        self.0.rand_range(0..end as u32) as usize
    }

    fn between(&mut self, low: isize, high: isize) -> isize {
        low + self.below((high - low + 1) as usize) as isize
    }
}

fn leaf(random: &mut RandomSource) -> (Layout, ReferenceMap) {
    let (size, tag) = (1 + random.below(9), random.below(200) as u8);
    let extent = size as isize + random.between(-3, 5) * random.below(2) as isize;
    let leaves = vec![(0, size, tag)];
    (Layout::leaf(size, tag).unwrap(), ReferenceMap { leaves, extent })
}

/// Returns a random layout and its reference.
fn made(random: &mut RandomSource, levels: usize) -> (Layout, ReferenceMap) {
    made_of(random, levels, leaf)
}

/// Returns a random layout with elements from `bottom`, and its reference.
fn made_of(
    random: &mut RandomSource,
    levels: usize,
    bottom: fn(&mut RandomSource) -> (Layout, ReferenceMap),
) -> (Layout, ReferenceMap) {
    if levels == 0 || random.below(5) == 0 {
        return bottom(random);
    }
    let (below, map) = made_of(random, levels - 1, bottom);
    let extent = random.between(-40, 60);
    if random.below(2) == 0 {
        let count = random.below(5);
        let stride = match random.below(3) {
            0 => below.size() as isize,
            1 => map.extent,
            _ => random.between(-50, 50),
        };
        let leaves = map.repeated(count, stride);
        return (below.repeated(count, stride).unwrap(), ReferenceMap { leaves, extent });
    }
    let (other, other_map) = made_of(random, levels - 1, bottom);
    let mut parts = Vec::new();
    let mut leaves = Vec::new();
    let mut at = random.between(-20, 20);
    for _ in 0..random.below(6) {
        let (layout, map) = match random.below(3) {
            0 => (&other, &other_map),
            _ => (&below, &map),
        };
        let (count, extent) = (random.below(4), map.extent);
        let shifted = map.repeated(count, extent);
        leaves.extend(shifted.into_iter().map(|(place, size, tag)| (place + at, size, tag)));
        parts.push(LayoutPart {
            at,
            count,
            layout,
            extent,
        });
        // Often adjacent to the previous part.
        at += match random.below(2) {
            0 => (count * layout.size()) as isize,
            _ => random.between(-60, 60),
        };
    }
    let layout = Layout::pieces(parts.into_iter()).unwrap();
    (layout, ReferenceMap { leaves, extent })
}

fn check_walk(random: &mut RandomSource, layout: &Layout, map: &ReferenceMap) {
    let count = 3;
    let bytes = map.bytes(count);
    assert_eq!(bytes.len(), count * layout.size());
    if bytes.is_empty() {
        return;
    }
    let start = random.below(bytes.len());
    let len = random.below(bytes.len() - start + 1);
    let mut walked = Vec::new();
    layout.walk(map.extent, start as isize, len, |at, done, bytes| {
        assert_eq!(done, walked.len());
        assert!(bytes > 0);
        walked.extend((0..bytes as isize).map(|byte| at + byte));
    });
    assert_eq!(walked, bytes[start..start + len], "{layout:?}");
    // The same bytes, from a start in the preceding element.
    let mut earlier = Vec::new();
    let from = start as isize - layout.size() as isize;
    layout.walk(map.extent, from, len, |at, _, bytes| {
        earlier.extend((0..bytes as isize).map(|byte| at + byte + map.extent));
    });
    assert_eq!(walked, earlier);
}

fn check_items(layout: &Layout, map: &ReferenceMap) {
    let sizes: Vec<usize> = map.repeated(2, map.extent).iter().map(|(_, size, _)| *size).collect();
    let (mut bytes, mut items) = (0, 0);
    assert_eq!(layout.items(), map.leaves.len());
    for size in sizes {
        assert_eq!(layout.items_in(bytes), Some(items));
        assert_eq!(layout.bytes_of(items), Some(bytes));
        for part in 1..size {
            assert_eq!(layout.items_in(bytes + part), None);
        }
        (bytes, items) = (bytes + size, items + 1);
    }
    assert_eq!(layout.items_in(bytes), Some(items));
    let of_leaf = |tag: u8| usize::from(tag) * 5 + 1;
    let weight = map.leaves.iter().map(|(_, _, tag)| of_leaf(*tag)).sum();
    assert_eq!(layout.weight(of_leaf), Ok(Some(weight)));
    let mut inner = 0;
    for (at, size, tag) in map.leaves.iter().copied() {
        for before in 0..size {
            let leaf = LeafElement { at, size, tag, before };
            assert_eq!(layout.leaf_at(inner), leaf);
            inner += 1;
        }
    }
}

#[test]
fn random_layouts_are_what_the_list_of_their_leaves_is() {
    let mut random = RandomSource(oorandom::Rand32::new(11));
    let (mut dense, mut deepest) = (0, 0);
    for _ in 0..4000 {
        let levels = 1 + random.below(5);
        let (layout, map) = made(&mut random, levels);
        check_items(&layout, &map);
        for _ in 0..4 {
            check_walk(&mut random, &layout, &map);
        }
        let bytes = map.bytes(1);
        let is_row = bytes.windows(2).all(|pair| pair[1] == pair[0] + 1);
        assert!(is_row || !layout.is_dense(), "{layout:?}");
        assert_eq!(
            bytes.first().copied().unwrap_or(0),
            match layout.size() {
                0 => 0,
                _ => layout.first(),
            }
        );
        dense += usize::from(layout.is_dense());
        deepest = deepest.max(layout.levels);
    }
    assert!(dense > 100 && deepest > 4, "{dense} {deepest}");
}

#[test]
fn what_lies_one_behind_the_other_is_one_run() {
    let int = Layout::leaf(4, 1).unwrap();
    let row = int.repeated(6, 4).unwrap().repeated(5, 24).unwrap();
    assert!(row.is_dense());
    assert_eq!(row.levels, 2, "loops that go on are one loop");
    let part = |at, layout, extent| LayoutPart {
        at,
        count: 1,
        layout,
        extent,
    };
    let long = Layout::leaf(8, 2).unwrap();
    let both = Layout::pieces([part(8, &int, 4), part(12, &long, 8)].into_iter()).unwrap();
    assert!(both.is_dense());
    let mut runs = Vec::new();
    both.walk(12, 0, 36, |at, _, bytes| runs.push((at, bytes)));
    assert_eq!(runs, [(8, 12), (20, 12), (32, 12)]);
    let turned = Layout::pieces([part(8, &long, 8), part(4, &int, 4)].into_iter()).unwrap();
    assert!(!turned.is_dense());
}

/// Covers each piece by itself, and copies after a single copy.
#[test]
fn copies_in_a_row_are_one_run() {
    let int = Layout::leaf(4, 1).unwrap();
    let part = |at, count, extent| LayoutPart {
        at,
        count,
        layout: &int,
        extent,
    };
    let apart = Layout::pieces([part(0, 3, 4), part(100, 2, 4)].into_iter()).unwrap();
    let mut runs = Vec::new();
    apart.walk(0, 0, 20, |at, _, bytes| runs.push((at, bytes)));
    assert_eq!(runs, [(0, 12), (100, 8)]);
    let single = Layout::pieces([part(0, 1, 9), part(4, 1, 7)].into_iter()).unwrap();
    assert!(single.is_dense());
}

#[test]
fn a_layout_takes_as_much_as_it_needs() {
    let int = Layout::leaf(4, 1).unwrap();
    let thrice = int.repeated(3, 8).unwrap();
    assert_eq!(thrice.heap_bytes(), 2 * NODE_BYTES);
    assert_eq!(thrice.try_clone().unwrap().heap_bytes(), 2 * NODE_BYTES);
    let once = thrice.repeated(1, 100).unwrap();
    assert_eq!((once.heap_bytes(), once), (2 * NODE_BYTES, thrice));
}

#[test]
fn what_has_no_bytes_has_no_items() {
    let sizes = |count| (Layout::EMPTY.items_in(count), Layout::EMPTY.bytes_of(count));
    assert_eq!(sizes(0), (Some(0), Some(0)));
    assert_eq!(sizes(1), (None, None));
}

/// Query time depends on the description: this layout has 2^60 leaf elements.
#[test]
fn sizes_of_long_layouts_are_reckoned_without_a_walk() {
    let (short, int) = (Layout::leaf(2, 1).unwrap(), Layout::leaf(4, 2).unwrap());
    let parts = [(0, &short), (4, &int)].map(|(at, layout)| LayoutPart {
        at,
        count: 1,
        layout,
        extent: 8,
    });
    let mut layout = Layout::pieces(parts.into_iter()).unwrap();
    for level in 0..59 {
        // Overlapping parts keep the distances short.
        layout = layout.repeated(2, 8 + level).unwrap();
    }
    let of_leaf = |tag: u8| usize::from(tag);
    assert_eq!(layout.weight(of_leaf), Ok(Some(3 << 59)));
    assert_eq!(layout.weight(|tag| usize::from(tag) << 4), Ok(None), "too many");
    assert_eq!(layout.items_in(6 << 59), Some(2 << 59));
    assert_eq!(layout.bytes_of(2 << 59), Some(6 << 59));
    // Five repetitions are less than 2^64 bytes, almost six are more.
    assert_eq!(layout.bytes_of(5 << 60), Some(30 << 59));
    assert_eq!(layout.bytes_of((6 << 60) - 1), None);
    assert_eq!(Layout::EMPTY.weight(of_leaf), Ok(Some(0)));
}

#[test]
fn blocks_in_a_row_are_one_piece() {
    let int = Layout::leaf(4, 1).unwrap();
    let parts = (0..100).map(|i| LayoutPart {
        at: i * 4,
        count: 1,
        layout: &int,
        extent: 4,
    });
    let layout = Layout::pieces(parts).unwrap();
    assert_eq!((layout.pieces.len(), layout.nodes.len()), (0, 2));
    let apart = (0..100).map(|i| LayoutPart {
        at: i * 8,
        count: 1,
        layout: &int,
        extent: 4,
    });
    let layout = Layout::pieces(apart).unwrap();
    assert_eq!(layout.heap_bytes(), 100 * PIECE_BYTES + 2 * NODE_BYTES);
}

#[test]
fn layouts_have_limits() {
    let mut deep = Layout::leaf(1, 0).unwrap();
    let failed = loop {
        let other = Layout::leaf(1, 0).unwrap();
        let parts = [
            LayoutPart {
                at: 0,
                count: 1,
                layout: &deep,
                extent: 1,
            },
            LayoutPart {
                at: -5,
                count: 1,
                layout: &other,
                extent: 1,
            },
        ];
        match Layout::pieces(parts.into_iter()) {
            Ok(next) => deep = next,
            Err(error) => break error,
        }
    };
    assert_eq!((failed, deep.levels), (LayoutError::TooDeep, MAX_LEVELS));
    let huge = Layout::leaf(1, 0).unwrap().repeated(usize::MAX / 4, 3);
    assert_eq!(huge, Err(LayoutError::TooLarge));
    let long = Layout::leaf(8, 0).unwrap().repeated(usize::MAX / 8, 8);
    assert_eq!(long, Err(LayoutError::TooLarge));
    // The last of three copies begins two strides after the first.
    let byte = Layout::leaf(1, 0).unwrap();
    assert!(byte.repeated(3, isize::MAX / 2).is_ok());
    let too_far = byte.repeated(4, isize::MAX / 2);
    assert_eq!(too_far, Err(LayoutError::TooLarge));
}

/// Doubles the number of nodes and pieces at each level.
#[test]
fn a_layout_may_have_a_hundred_thousand_parts() {
    let mut layout = Layout::leaf(1, 0).unwrap();
    for _ in 0..17 {
        let twice = [0, 1].map(|at| LayoutPart {
            at: at * layout.size() as isize * 2,
            count: 1,
            layout: &layout,
            extent: at + 1,
        });
        layout = Layout::pieces(twice.into_iter()).unwrap();
    }
    assert_eq!(layout.items(), 1 << 17);
    assert!(layout.nodes.len() > 200_000 && layout.pieces.len() > 200_000);
}

/// A value of 2 bytes and an index of 4, with a hole between them.
fn pair(random: &mut RandomSource) -> (Layout, ReferenceMap) {
    let extent = 8 * random.between(1, 3) - random.between(0, 3) * random.below(2) as isize;
    let leaves = vec![(0, 2, 1), (4, 4, 2)];
    let layout = Layout::pair(2, 1, 4, 4, 2).unwrap();
    (layout, ReferenceMap { leaves, extent })
}

#[test]
fn pairs_are_closed_wherever_they_are() {
    let mut random = RandomSource(oorandom::Rand32::new(5));
    let one = pair(&mut random).0;
    for _ in 0..3000 {
        let (layout, map) = made_of(&mut random, 4, pair);
        let closed = layout.closed(&one, 8, 3).unwrap().unwrap();
        let leaves = map.leaves.chunks(2).map(|pair| (pair[0].0, 8, 3)).collect();
        let extent = map.extent;
        let map = ReferenceMap { leaves, extent };
        check_walk(&mut random, &closed, &map);
        check_items(&closed, &map);
    }
}

#[test]
fn a_pair_is_dense_if_it_has_no_hole() {
    assert!(Layout::pair(4, 1, 4, 2, 2).unwrap().is_dense());
    assert!(!Layout::pair(2, 1, 4, 4, 2).unwrap().is_dense());
}

/// Closing a pair removes its hole.
#[test]
fn closed_pairs_in_a_row_are_dense() {
    let one = Layout::pair(2, 1, 4, 4, 2).unwrap();
    let is_dense = |layout: &Layout| layout.closed(&one, 8, 3).unwrap().unwrap().is_dense();
    assert!(is_dense(&one.repeated(3, 8).unwrap()));
    assert!(!is_dense(&one.repeated(3, 16).unwrap()));
    let pieces = |parts: &[(isize, usize, isize)]| {
        let parts = parts.iter().map(|&(at, count, extent)| LayoutPart {
            at,
            count,
            layout: &one,
            extent,
        });
        is_dense(&Layout::pieces(parts).unwrap())
    };
    assert!(pieces(&[(0, 1, 9), (8, 2, 8)]));
    assert!(!pieces(&[(0, 1, 8), (9, 1, 9)]), "a hole between them");
    assert!(!pieces(&[(0, 2, 9), (16, 1, 8)]), "a hole among them");
}

#[test]
fn what_is_not_made_of_pairs_alone_is_not_closed() {
    let one = pair(&mut RandomSource(oorandom::Rand32::new(1))).0;
    let (short, int) = (Layout::leaf(2, 1).unwrap(), Layout::leaf(4, 2).unwrap());
    let close = |layout: &Layout| layout.closed(&one, 8, 3).unwrap().is_some();
    let pieces = |parts: &[(isize, usize, &Layout)]| {
        let parts = parts.iter().map(|(at, count, layout)| LayoutPart {
            at: *at,
            count: *count,
            layout,
            extent: 8,
        });
        Layout::pieces(parts).unwrap()
    };
    assert!(!close(&short) && !close(&short.repeated(2, 8).unwrap()));
    assert!(!close(&pieces(&[(0, 2, &one), (16, 1, &short)])));
    // A different distance, a different order, more than one copy.
    assert!(!close(&pieces(&[(0, 1, &short), (8, 1, &int)])));
    assert!(!close(&pieces(&[(4, 1, &int), (0, 1, &short)])));
    assert!(!close(&pieces(&[(0, 2, &short), (4, 1, &int)])));
    assert!(!close(&pieces(&[(0, 1, &short), (4, 2, &int)])));
    assert!(close(&pieces(&[(2, 1, &short), (6, 1, &int)])));
}
