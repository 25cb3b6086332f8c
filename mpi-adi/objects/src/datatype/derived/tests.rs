//! Compares random datatypes with type maps: lists of displacements and basic datatypes (MPI-3.1 section 4.1).

use super::*;

/// Reference model of a datatype: its type map and its bounds.
#[derive(Clone, Debug)]
struct Map {
    entries: Vec<(isize, BasicType)>,
    lb: Option<isize>,
    ub: Option<isize>,
}

impl Map {
    fn basic(basic: BasicType) -> Map {
        Map {
            entries: vec![(0, basic)],
            lb: None,
            ub: None,
        }
    }

    /// Computes the bounds by section 4.1.6.
    fn bounds(&self) -> (isize, isize) {
        let firsts = self.entries.iter().map(|(at, _)| *at);
        let ends = self.entries.iter().map(|(at, basic)| at + basic.size() as isize);
        let align = self.entries.iter().map(|(_, basic)| match basic.kind() {
            ElementKind::Complex(number) => number.size(),
            _ => basic.size(),
        });
        let lb = self.lb.unwrap_or_else(|| firsts.min().unwrap_or(0));
        let ub = self.ub.unwrap_or_else(|| {
            let mut end = ends.max().unwrap_or(lb);
            while (end - lb) % align.clone().max().unwrap_or(1) as isize != 0 {
                end += 1;
            }
            end
        });
        (lb, ub)
    }

    fn extent(&self) -> isize {
        let (lb, ub) = self.bounds();
        ub - lb
    }

    fn join(parts: impl Iterator<Item = (isize, Map)>) -> Map {
        let mut all = Map {
            entries: Vec::new(),
            lb: None,
            ub: None,
        };
        for (by, map) in parts {
            let moved = map.entries.iter().map(|(at, basic)| (at + by, *basic));
            all.entries.extend(moved);
            all.lb = both(all.lb, map.lb.map(|lb| lb + by), isize::min);
            all.ub = both(all.ub, map.ub.map(|ub| ub + by), isize::max);
        }
        all
    }

    fn copies(&self, at: isize, count: usize, stride: isize) -> Map {
        Map::join((0..count as isize).map(|i| (at + i * stride, self.clone())))
    }
}

struct Random(oorandom::Rand32);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0.rand_range(0..end as u32) as usize
    }

    fn between(&mut self, low: isize, high: isize) -> isize {
        low + self.below((high - low + 1) as usize) as isize
    }
}

const BASICS: [BasicType; 6] = [
    BasicType::Char,
    BasicType::Short,
    BasicType::Int,
    BasicType::Double,
    BasicType::DoubleComplex,
    BasicType::LongDouble,
];

fn made(random: &mut Random, levels: usize) -> (DerivedType, Map) {
    if levels == 0 || random.below(6) == 0 {
        let basic = BASICS[random.below(BASICS.len())];
        return (DerivedType::basic(basic).unwrap(), Map::basic(basic));
    }
    let (below, map) = made(random, levels - 1);
    let count = random.below(4);
    match random.below(5) {
        0 => (below.contiguous(count).unwrap(), map.copies(0, count, map.extent())),
        1 => {
            let (length, stride) = (random.below(3), random.between(-60, 60));
            let block = map.copies(0, length, map.extent());
            let made = below.vector(count, length, stride).unwrap();
            (made, block.copies(0, count, stride))
        }
        2 => {
            let (lb, extent) = (random.between(-20, 20), random.between(-30, 70));
            let (lb, ub) = (Some(lb), Some(lb + extent));
            (below.resized(lb.unwrap(), extent).unwrap(), Map { lb, ub, ..map })
        }
        _ => {
            let (other, other_map) = made(random, levels - 1);
            let (mut blocks, mut parts) = (Vec::new(), Vec::new());
            for _ in 0..count {
                let (datatype, map) = match random.below(2) {
                    0 => (&other, &other_map),
                    _ => (&below, &map),
                };
                let (at, count) = (random.between(-60, 60), random.below(4));
                blocks.push(TypeBlock { at, count, datatype });
                parts.push((0, map.copies(at, count, map.extent())));
            }
            (
                DerivedType::blocks(blocks.into_iter()).unwrap(),
                Map::join(parts.into_iter()),
            )
        }
    }
}

fn check(made: &DerivedType, map: &Map) {
    assert_eq!((made.lb(), made.ub()), map.bounds(), "{map:?}");
    let ends = map.entries.iter().map(|(at, basic)| at + basic.size() as isize);
    let first = map.entries.iter().map(|(at, _)| *at).min().unwrap_or(0);
    let end = ends.max().unwrap_or(first);
    assert_eq!(made.true_extent(), (first, end - first));
    let (mut inner, mut items) = (0, 0);
    for (at, basic) in map.entries.iter().copied() {
        let leaf = made.layout().leaf_at(inner);
        assert_eq!((leaf.at, leaf.tag), (at, basic as u8));
        assert_eq!(made.layout().items_in(inner), Some(items));
        (inner, items) = (inner + basic.size(), items + 1);
    }
    assert_eq!((made.size(), made.layout().items()), (inner, items));
}

#[test]
fn random_datatypes_are_what_their_type_maps_are() {
    let mut random = Random(oorandom::Rand32::new(4));
    let mut longest = 0;
    for _ in 0..3000 {
        let levels = 1 + random.below(4);
        let (made, map) = made(&mut random, levels);
        check(&made, &map);
        longest = longest.max(map.entries.len());
    }
    assert!(longest > 30, "{longest}");
}

/// Returns the coordinates of all elements of an array in storage order.
fn places(order: ArrayOrder, sizes: &[usize]) -> Vec<Vec<usize>> {
    let total: usize = sizes.iter().product();
    (0..total)
        .map(|mut rest| {
            let mut place = vec![0; sizes.len()];
            for dimension in grids::inner_first(order, sizes.len()) {
                place[dimension] = rest % sizes[dimension];
                rest /= sizes[dimension];
            }
            place
        })
        .collect()
}

/// Returns the displacements of a datatype's basic elements in packed order.
fn displacements(made: &DerivedType, size: usize) -> Vec<isize> {
    (0..made.size() / size)
        .map(|i| made.layout().leaf_at(i * size).at)
        .collect()
}

#[test]
fn subarrays_are_the_places_within_them() {
    let mut random = Random(oorandom::Rand32::new(5));
    let int = DerivedType::basic(BasicType::Int).unwrap();
    for _ in 0..300 {
        let order = [ArrayOrder::C, ArrayOrder::Fortran][random.below(2)];
        let dimensions: Vec<_> = (0..1 + random.below(4))
            .map(|_| {
                let elements = 1 + random.below(5);
                let own = 1 + random.below(elements);
                (elements, own, random.below(elements - own + 1))
            })
            .collect();
        let made = int.subarray(order, &dimensions).unwrap();
        let sizes: Vec<usize> = dimensions.iter().map(|dimension| dimension.0).collect();
        let inside = |place: &[usize]| {
            let mut both = place.iter().zip(&dimensions);
            both.all(|(at, (_, own, first))| (*first..first + own).contains(at))
        };
        let wanted: Vec<isize> = (0isize..)
            .zip(places(order, &sizes))
            .filter(|(_, place)| inside(place))
            .map(|(i, _)| 4 * i)
            .collect();
        assert_eq!(displacements(&made, 4), wanted);
        let total: usize = sizes.iter().product();
        assert_eq!((made.lb(), made.ub()), (0, 4 * total as isize));
    }
}

/// Returns the index of the process that owns an element of a dimension.
fn owner(dimension: &GridDimension, at: usize) -> usize {
    match dimension.distribution {
        ArrayDistribution::None => 0,
        ArrayDistribution::Block(block) => at / block.unwrap_or(dimension.elements.div_ceil(dimension.processes)),
        ArrayDistribution::Cyclic(block) => at / block % dimension.processes,
    }
}

#[test]
fn distributed_arrays_are_the_places_that_their_process_has() {
    let mut random = Random(oorandom::Rand32::new(6));
    let int = DerivedType::basic(BasicType::Int).unwrap();
    for _ in 0..400 {
        let order = [ArrayOrder::C, ArrayOrder::Fortran][random.below(2)];
        let dimensions: Vec<_> = (0..1 + random.below(3))
            .map(|_| {
                let (elements, processes) = (1 + random.below(9), 1 + random.below(4));
                let least = elements.div_ceil(processes);
                let distribution = match random.below(4) {
                    0 => ArrayDistribution::Block(None),
                    1 => ArrayDistribution::Block(Some(least + random.below(3))),
                    2 => ArrayDistribution::Cyclic(1 + random.below(3)),
                    _ => ArrayDistribution::None,
                };
                let processes = match distribution {
                    ArrayDistribution::None => 1,
                    _ => processes,
                };
                GridDimension {
                    elements,
                    distribution,
                    processes,
                    own: random.below(processes),
                }
            })
            .collect();
        let made = int.darray(order, &dimensions).unwrap();
        let sizes: Vec<usize> = dimensions.iter().map(|dimension| dimension.elements).collect();
        let is_own = |place: &[usize]| {
            let mut both = place.iter().zip(&dimensions);
            both.all(|(at, dimension)| owner(dimension, *at) == dimension.own)
        };
        let wanted: Vec<isize> = (0isize..)
            .zip(places(order, &sizes))
            .filter(|(_, place)| is_own(place))
            .map(|(i, _)| 4 * i)
            .collect();
        assert_eq!(displacements(&made, 4), wanted, "{order:?} {dimensions:?}");
        let total: usize = sizes.iter().product();
        assert_eq!((made.lb(), made.ub()), (0, 4 * total as isize));
    }
}

#[test]
fn pairs_have_two_parts_and_the_bounds_that_c_gives_them() {
    for basic in BasicType::ALL {
        let made = DerivedType::basic(basic).unwrap();
        assert_eq!(made.size(), basic.size(), "{basic:?}");
        assert_eq!(made.layout().items(), basic.parts(), "{basic:?}");
        assert_eq!((made.lb(), made.ub()), (0, basic.extent() as isize), "{basic:?}");
        assert_eq!(made.is_row(), basic.size() == basic.extent(), "{basic:?}");
        assert_eq!(made.true_extent(), (0, basic.true_extent() as isize));
        for n in 0..100 {
            assert_eq!(made.layout().items_in(n), basic.elements_in(n));
            assert_eq!(made.layout().bytes_of(n), basic.bytes_of(n));
        }
    }
    let pair = DerivedType::basic(BasicType::DoubleInt).unwrap();
    assert_eq!(pair.layout().leaf_at(0).tag, BasicType::Double as u8);
    assert_eq!(pair.layout().leaf_at(8).tag, BasicType::Int as u8);
}

#[test]
fn markers_set_the_bounds_of_a_struct() {
    let (lb, ub) = (DerivedType::marker(false), DerivedType::marker(true));
    let int = DerivedType::basic(BasicType::Int).unwrap();
    let part = |at, datatype| TypeBlock { at, count: 1, datatype };
    let made = DerivedType::blocks([part(-3, &lb), part(0, &int), part(6, &ub)].into_iter()).unwrap();
    assert_eq!((made.lb(), made.extent(), made.true_extent()), (-3, 9, (0, 4)));
    // The markers keep their positions in derived types (section 4.1.7, example 4.9).
    let two = made.contiguous(2).unwrap();
    assert_eq!((two.lb(), two.extent()), (-3, 18));
    assert_eq!(displacements(&two, 4), [0, 9]);
}

#[test]
fn what_no_address_can_say_is_refused() {
    let int = DerivedType::basic(BasicType::Int).unwrap();
    assert!(int.contiguous(usize::MAX / 2).is_err());
    assert!(int.repeated(3, isize::MAX / 2).is_err());
    assert!(int.resized(isize::MAX, 1).is_err());
    let far = [isize::MIN, isize::MAX - 8].map(|at| TypeBlock {
        at,
        count: 1,
        datatype: &int,
    });
    assert!(DerivedType::blocks(far.into_iter()).is_err());
    assert_eq!(int.contiguous(0).unwrap().extent(), 0);
}
