use super::*;
use oorandom::Rand32;

/// Machine whose wires can be moved. Nodes are identified by rank; their IDs use another order.
#[derive(Clone)]
struct WiringBench {
    shape: Shape,
    numbers: Vec<u32>,
    /// Remote end at each link of each node.
    heard: Vec<[Option<(usize, Direction)>; 6]>,
}

impl WiringBench {
    fn new(shape: Shape, rand: &mut Rand32) -> Self {
        let nodes = shape.nodes() as usize;
        let mut numbers: Vec<u32> = (0..nodes as u32).map(|n| 3 + 7 * n).collect();
        for at in 1..nodes {
            numbers.swap(at, rand.rand_range(0..at as u32 + 1) as usize);
        }
        let heard = (0..shape.nodes()).map(|rank| {
            let here = shape.coord(rank).unwrap();
            Direction::ALL.map(|link| {
                let there = shape.neighbour(here, link)?;
                Some((shape.rank(there).unwrap() as usize, link.opposite()))
            })
        });
        let heard = heard.collect();
        Self { shape, numbers, heard }
    }

    fn coord(&self, rank: usize) -> Coord {
        self.shape.coord(rank as u32).unwrap()
    }

    fn entries(&self) -> Vec<MapEntry> {
        let account = |rank: usize| LinkAccount {
            node: self.numbers[rank],
            version: 0,
            heard: self.heard[rank].map(|heard| {
                let (node, link) = heard?;
                let node = self.numbers[node];
                Some(WireEnd { node, link })
            }),
        };
        let mut all: Vec<MapEntry> = (0..self.numbers.len())
            .map(|rank| MapEntry::new(account(rank)))
            .collect();
        all.sort_by_key(|entry| entry.account.node);
        all
    }

    /// Returns the result of the node with this rank.
    fn solve(&self, rank: usize) -> Result<(Shape, Coord), WiringError> {
        MachineMap::new(&mut self.entries()).solve(self.numbers[rank])
    }

    fn pull(&mut self, rank: usize, link: Direction) -> Option<(usize, Direction)> {
        let (other, back) = self.heard[rank][link as usize].take()?;
        self.heard[other][back as usize] = None;
        Some((other, back))
    }

    fn plug(&mut self, one: (usize, Direction), other: (usize, Direction)) {
        self.heard[one.0][one.1 as usize] = Some(other);
        self.heard[other.0][other.1 as usize] = Some(one);
    }

    /// Swaps the far ends of two wires.
    fn exchange(&mut self, one: (usize, Direction), other: (usize, Direction)) {
        let far = [one, other].map(|(rank, link)| self.pull(rank, link).expect("a wire"));
        self.plug(one, far[1]);
        self.plug(other, far[0]);
    }

    /// Returns the rank of `name`. Rings are counted from the node with the lowest ID, lines from their ends.
    fn rank(&self, name: NodeLabel) -> usize {
        let rank = self.numbers.iter().position(|n| *n == name.node).unwrap();
        let first = (0..self.numbers.len()).min_by_key(|rank| self.numbers[*rank]);
        let first = self.coord(first.unwrap()).axes();
        let here = self.coord(rank).axes();
        let (extents, wraps) = (self.shape.extents(), self.shape.wraps());
        let expected = [0, 1, 2].map(|d| {
            if wraps[d] {
                ((u16::from(here[d]) + extents[d] - u16::from(first[d])) % extents[d]) as u8
            } else {
                here[d]
            }
        });
        let told = name.coord.map(Coord::axes);
        assert_eq!(told, Some(expected), "{name:?}");
        rank
    }
}

fn shapes(least: u16) -> impl Iterator<Item = Shape> {
    let extents = (least..=4).flat_map(move |x| (least..=3).flat_map(move |y| (least..=3).map(move |z| [x, y, z])));
    let wraps = (0..8u8).map(|bits| [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0]);
    let wraps: Vec<_> = wraps.collect();
    extents.flat_map(move |extents| {
        let wraps = wraps.clone().into_iter();
        // An extent of 1 does not wrap.
        let wraps = wraps.filter(move |wraps| (0..3).all(|d| extents[d] > 1 || wraps[d]));
        wraps.filter_map(move |wraps| Shape::new(extents, wraps))
    })
}

#[test]
fn every_torus_and_mesh_is_found_and_each_node_has_a_place_of_its_own() {
    let mut rand = Rand32::new(1);
    let mut count = 0;
    for shape in shapes(1).chain(Shape::new([8, 8, 8], [true; 3])) {
        let bench = WiringBench::new(shape, &mut rand);
        let mut coords = Vec::new();
        for rank in (0..bench.numbers.len()).step_by(if shape.nodes() > 64 { 61 } else { 1 }) {
            let (found, coord) = bench.solve(rank).unwrap();
            assert_eq!(found, shape);
            assert!(!coords.contains(&coord), "{coord:?} twice");
            let name = NodeLabel {
                node: bench.numbers[rank],
                coord: Some(coord),
            };
            assert_eq!(bench.rank(name), rank);
            coords.push(coord);
        }
        count += 1;
    }
    assert!(count > 100, "{count}");
}

/// A missing wire inside a machine, or at the end of one ring, is reported. If the rest is a valid smaller machine or a
/// mesh, that one is found.
#[test]
fn a_missing_wire_is_named() {
    let mut rand = Rand32::new(2);
    let mut named = 0;
    for shape in shapes(1) {
        for rank in 0..shape.nodes() as usize {
            for link in Direction::ALL {
                let mut bench = WiringBench::new(shape, &mut rand);
                let Some((other, back)) = bench.pull(rank, link) else {
                    continue;
                };
                match bench.solve(rank) {
                    Err(wrong) => {
                        assert_eq!(wrong.trouble, WiringDefect::Missing, "{wrong}");
                        let end = (bench.rank(wrong.at), wrong.link);
                        assert!(end == (rank, link) || end == (other, back), "{wrong}");
                        named += 1;
                    }
                    // A single ring becomes a line, a line two lines.
                    Ok(_) => assert_eq!(
                        lines(&shape, link),
                        1,
                        "{shape:?} {link:?} {rank} {:?}",
                        bench.solve(rank)
                    ),
                }
            }
        }
    }
    assert!(named > 1000, "{named}");
}

/// Returns the number of the machine's lines in this direction.
fn lines(shape: &Shape, link: Direction) -> u32 {
    shape.nodes() / u32::from(shape.extents()[link.dimension()])
}

/// A wire in a wrong direction, and one that leads back to its node.
#[test]
fn a_wire_at_a_wrong_link_is_named() {
    let mut rand = Rand32::new(3);
    for shape in shapes(2) {
        for _ in 0..20 {
            let mut bench = WiringBench::new(shape, &mut rand);
            let mut draw = || rand.rand_range(0..shape.nodes()) as usize;
            let (one, other) = (draw(), draw());
            let link = Direction::ALL[rand.rand_range(0..6) as usize];
            let wrong = Direction::ALL[rand.rand_range(0..6) as usize];
            if wrong == link.opposite() || (one, link) == (other, wrong) {
                continue;
            }
            bench.pull(one, link);
            bench.pull(other, wrong);
            bench.plug((one, link), (other, wrong));
            let told = bench.solve(0).unwrap_err();
            assert!(
                told.link == link && told.at.node == bench.numbers[one]
                    || told.link == wrong && told.at.node == bench.numbers[other],
                "{told} {shape:?}"
            );
            if one == other {
                assert!(matches!(told.trouble, WiringDefect::Loop(_)), "{told}")
            } else {
                assert!(matches!(told.trouble, WiringDefect::Direction(..)), "{told}")
            }
            // If all other wires are correct and sufficient, so are the positions.
            if shape.extents().iter().all(|extent| *extent > 2) {
                bench.rank(told.at);
            }
        }
    }
}

/// Sender and receiver of one link are wired to different neighbours.
#[test]
fn a_wire_that_is_heard_one_way_only_is_named() {
    let mut rand = Rand32::new(4);
    let shape = Shape::new([4, 3, 3], [true; 3]).unwrap();
    for rank in 0..shape.nodes() as usize {
        let mut bench = WiringBench::new(shape, &mut rand);
        bench.heard[rank][2] = None;
        let told = bench.solve(0).unwrap_err();
        let (other, back) = WiringBench::new(shape, &mut rand).heard[rank][2].unwrap();
        assert_eq!((bench.rank(told.at), told.link), (other, back), "{told}");
        assert!(
            matches!(told.trouble, WiringDefect::OneWay(name, Direction::YPlus) if bench.rank(name) == rank),
            "{told}"
        );
    }
}

/// Two swapped wires of one direction are both reported. Along extents of 2 other swaps yield the same machine; there
/// the reported swap must make it valid.
#[test]
fn exchanged_wires_are_named() {
    let mut rand = Rand32::new(5);
    let (mut exact, mut other_machine) = (0, 0);
    for shape in shapes(1) {
        for _ in 0..10 {
            let mut bench = WiringBench::new(shape, &mut rand);
            let link = [Direction::XPlus, Direction::YPlus, Direction::ZPlus][rand.rand_range(0..3) as usize];
            let mut draw = || rand.rand_range(0..shape.nodes()) as usize;
            let (one, other) = (draw(), draw());
            let is_wire = |rank: usize| bench.heard[rank][link as usize].is_some();
            if one == other || !is_wire(one) || !is_wire(other) {
                continue;
            }
            let before = bench.clone();
            bench.exchange((one, link), (other, link));
            let told = match bench.solve(one) {
                // One line, or two rings of two; otherwise the result is the current wiring.
                Ok((found, _)) => {
                    assert!(
                        is_right(&bench, found, one),
                        "{shape:?} {one} {other} {link:?} {found:?}"
                    );
                    other_machine += 1;
                    continue;
                }
                Err(told) => told,
            };
            let spacious = |d: usize| d == link.dimension() || shape.extents()[d] != 2;
            let WiringDefect::Exchanged(with) = told.trouble else {
                let is_hard =
                    !(0..3).all(spacious) || lines(&shape, link) == 1 || in_one_line(&before, one, other, link);
                assert!(is_hard, "{told} {shape:?} {one} {other} {link:?}");
                continue;
            };
            let number = |name: NodeLabel| bench.numbers.iter().position(|n| *n == name.node).unwrap();
            let ends = [number(told.at), number(with)];
            if ends == [one, other] || ends == [other, one] {
                exact += 1;
                continue;
            }
            let mut repaired = bench.clone();
            repaired.exchange((ends[0], told.link), (ends[1], told.link));
            let found = repaired.solve(ends[0]).unwrap().0;
            assert!(is_right(&repaired, found, ends[0]), "{told}");
        }
    }
    assert!(exact > 100, "{exact}");
    assert!(other_machine > 5, "{other_machine}");
}

/// Checks whether both nodes are on one line.
fn in_one_line(bench: &WiringBench, one: usize, other: usize, link: Direction) -> bool {
    let [one, other] = [one, other].map(|rank| bench.coord(rank).axes());
    (0..3).all(|d| d == link.dimension() || one[d] == other[d])
}

/// Checks whether `found` contains exactly the nodes that are connected to this node.
fn is_right(bench: &WiringBench, found: Shape, rank: usize) -> bool {
    let mut seen = vec![rank];
    let mut at = 0;
    while at < seen.len() {
        let here = bench.heard[seen[at]];
        for (node, _) in here.into_iter().flatten() {
            if !seen.contains(&node) {
                seen.push(node);
            }
        }
        at += 1;
    }
    found.nodes() as usize == seen.len()
}

/// Two machines of different extents with one wire of each swapped.
#[test]
fn machines_that_are_joined_by_mistake_are_told_from_one() {
    let mut rand = Rand32::new(6);
    let [large, small] = [[4, 3, 3], [3, 3, 2]].map(|extents| Shape::new(extents, [true; 3]).unwrap());
    for _ in 0..20 {
        let (mut bench, more) = (WiringBench::new(large, &mut rand), WiringBench::new(small, &mut rand));
        let behind = bench.numbers.len();
        bench.numbers.extend(more.numbers.iter().map(|n| n + 1));
        let shifted = |end: Option<(usize, Direction)>| end.map(|(node, link)| (node + behind, link));
        bench.heard.extend(more.heard.iter().map(|heard| heard.map(shifted)));
        let one = rand.rand_range(0..large.nodes()) as usize;
        let other = behind + rand.rand_range(0..small.nodes()) as usize;
        let link = Direction::YPlus;
        bench.exchange((one, link), (other, link));
        let told = bench.solve(one).unwrap_err();
        let number = [one, other].map(|rank| bench.numbers[rank]);
        assert_eq!(told.link, link, "{told}");
        assert!(number.contains(&told.at.node), "{told}");
        assert!(matches!(told.trouble, WiringDefect::Exchanged(_)), "{told}");
    }
}

#[test]
fn messages_name_wire_and_place() {
    let name = |x, coord: bool| NodeLabel {
        node: 0xab,
        coord: coord.then_some(Coord { x, y: 0, z: 1 }),
    };
    let told = |trouble| {
        let wrong = WiringError {
            at: name(2, true),
            link: Direction::YMinus,
            trouble,
        };
        wrong.to_string()
    };
    assert_eq!(told(WiringDefect::Missing), "the wire at Y- of (2,0,1) is missing",);
    assert_eq!(
        told(WiringDefect::Exchanged(name(0, false))),
        "the wire at Y- of (2,0,1) is exchanged with that at Y- of node ab",
    );
    assert_eq!(
        told(WiringDefect::Direction(name(1, true), Direction::ZPlus)),
        "the wire at Y- of (2,0,1) leads to Z+ of (1,0,1), not to a link Y+",
    );
}
