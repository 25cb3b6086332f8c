//! In-place collectives, blocking and nonblocking.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use mpi::collective::{SystemOperation, UserOperation};
use mpi::datatype::{Partition, PartitionMut};
use mpi::traits::*;
use mpi::{Count, Rank};

kernel_rt::program!(main);

/// Longer than an eager message and than a segment of a reduction, and no multiple of it.
const LONG: usize = 700;

/// Returns element `i` of the data from rank `from` to rank `to`.
fn value(from: Rank, to: Rank, i: usize) -> u64 {
    from as u64 * 1_000_000 + to as u64 * 10_000 + i as u64
}

fn values(from: Rank, to: Rank, count: usize) -> impl Iterator<Item = u64> {
    (0..count).map(move |i| value(from, to, i))
}

/// Contiguous parts, one per rank, with the lengths from `length`.
struct Parts {
    size: Rank,
    length: fn(Rank) -> usize,
}

impl Parts {
    fn counts(&self) -> Vec<Count> {
        let lengths = (0..self.size).map(self.length);
        lengths.map(|length| length as Count).collect()
    }

    fn displs(&self) -> Vec<Count> {
        let counts = self.counts();
        let before = |rank: usize| counts[..rank].iter().sum();
        (0..counts.len()).map(before).collect()
    }

    /// Returns the values from rank `from` to all.
    fn from(&self, from: Rank) -> Vec<u64> {
        let part = |to| values(from, to, (self.length)(to));
        (0..self.size).flat_map(part).collect()
    }

    /// Returns all ranks' values for themselves.
    fn own(&self) -> Vec<u64> {
        let part = |rank| values(rank, rank, (self.length)(rank));
        (0..self.size).flat_map(part).collect()
    }

    /// Returns the values of `rank` for itself, zeros elsewhere.
    fn alone(&self, rank: Rank) -> Vec<u64> {
        let part = |to| (to == rank).then_some(rank);
        let of = |to| values(rank, to, (self.length)(to)).map(move |x| (part(to), x));
        let all = (0..self.size).flat_map(of);
        all.map(|(has, x)| has.map_or(0, |_| x)).collect()
    }

    /// Returns the values of rank `from`, with the sum over all ranks in its own part.
    fn summed(&self, from: Rank) -> Vec<u64> {
        let part = |to| (0..(self.length)(to)).map(move |i| (to, i));
        let sum = |i| (0..self.size).map(|rank| value(rank, from, i)).sum();
        let each = (0..self.size).flat_map(part);
        each.map(|(to, i)| {
            if to == from {
                sum(i)
            } else {
                value(from, to, i)
            }
        })
        .collect()
    }
}

/// Runs both forms of a collective on copies of a buffer, and compares.
fn both(
    given: &[u64],
    expected: &[u64],
    blocking: impl FnOnce(&mut Vec<u64>),
    starting: impl FnOnce(&mut Vec<u64>),
) {
    let mut data = Vec::from(given);
    blocking(&mut data);
    assert_eq!(data, expected);
    data.copy_from_slice(given);
    starting(&mut data);
    assert_eq!(data, expected, "without blocking");
}

/// Starts a nonblocking collective, which its scope completes.
macro_rules! started {
    (|$scope:ident| $start:expr) => {
        mpi::request::scope(|$scope| drop($start))
    };
}

fn equal(world: &impl Communicator) {
    let (rank, size) = (world.rank(), world.size());
    for length in [|_| 1, |_| LONG] {
        let parts = Parts { size, length };
        let (mine, add) = (parts.from(rank), SystemOperation::sum);
        both(
            &parts.alone(rank),
            &parts.own(),
            |data| world.all_gather_in_place(data),
            |data| started!(|scope| world.immediate_all_gather_in_place(scope, data)),
        );
        let theirs: Vec<u64> = (0..size)
            .flat_map(|from| values(from, rank, length(0)))
            .collect();
        both(
            &mine,
            &theirs,
            |data| world.all_to_all_in_place(data),
            |data| started!(|scope| world.immediate_all_to_all_in_place(scope, data)),
        );
        both(
            &mine,
            &parts.summed(rank),
            |data| world.reduce_scatter_block_in_place(data, add()),
            |data| {
                started!(|scope| {
                    world.immediate_reduce_scatter_block_in_place(scope, data, add())
                })
            },
        );
    }
}

fn unequal(world: &impl Communicator) {
    let (rank, size) = (world.rank(), world.size());
    let length = |rank| [0, 3, LONG][rank as usize % 3];
    let parts = Parts { size, length };
    let (counts, displs) = (&parts.counts()[..], &parts.displs()[..]);
    both(
        &parts.alone(rank),
        &parts.own(),
        |data| world.all_gather_varcount_in_place(&mut PartitionMut::new(data, counts, displs)),
        |data| {
            let mut data = PartitionMut::new(data, counts, displs);
            started!(|scope| world.immediate_all_gather_varcount_in_place(scope, &mut data))
        },
    );
    both(
        &parts.from(rank),
        &parts.summed(rank),
        |data| {
            let op = UserOperation::commutative(|x, y| {
                let (x, y) = (x.downcast::<u64>().unwrap(), y.downcast::<u64>().unwrap());
                y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
            });
            world.reduce_scatter_varcount_in_place(
                &mut PartitionMut::new(data, counts, displs),
                &op,
            );
        },
        |data| {
            let (mut data, add) = (
                PartitionMut::new(data, counts, displs),
                SystemOperation::sum(),
            );
            started!(|scope| {
                world.immediate_reduce_scatter_varcount_in_place(scope, &mut data, add)
            })
        },
    );
    // Two processes exchange equal counts, proportional to the sum of their ranks.
    let with = |other: Rank| (rank + other) as usize * 9;
    let counts: Vec<Count> = (0..size).map(|other| with(other) as Count).collect();
    let before = |other: usize| counts[..other].iter().sum();
    let displs: Vec<Count> = (0..counts.len()).map(before).collect();
    let given: Vec<u64> = (0..size)
        .flat_map(|to| values(rank, to, with(to)))
        .collect();
    let taken: Vec<u64> = (0..size)
        .flat_map(|from| values(from, rank, with(from)))
        .collect();
    let (counts, displs) = (&counts[..], &displs[..]);
    both(
        &given,
        &taken,
        |data| world.all_to_all_varcount_in_place(&mut PartitionMut::new(data, counts, displs)),
        |data| {
            let mut data = PartitionMut::new(data, counts, displs);
            started!(|scope| world.immediate_all_to_all_varcount_in_place(scope, &mut data))
        },
    );
}

fn reductions(world: &impl Communicator) {
    let (rank, size) = (world.rank(), world.size());
    let sum = |ranks: core::ops::Range<Rank>| -> Vec<u64> {
        let at = |i| ranks.clone().map(|from| value(from, 0, i)).sum();
        (0..LONG).map(at).collect()
    };
    let (mine, add): (Vec<u64>, _) = (values(rank, 0, LONG).collect(), SystemOperation::sum);
    both(
        &mine,
        &sum(0..size),
        |data| world.all_reduce_in_place(data, add()),
        |data| started!(|scope| world.immediate_all_reduce_in_place(scope, data, add())),
    );
    both(
        &mine,
        &sum(0..rank + 1),
        |data| world.scan_in_place(data, add()),
        |data| started!(|scope| world.immediate_scan_in_place(scope, data, add())),
    );
    let before = if rank == 0 {
        mine.clone()
    } else {
        sum(0..rank)
    };
    both(
        &mine,
        &before,
        |data| world.exclusive_scan_in_place(data, add()),
        |data| started!(|scope| world.immediate_exclusive_scan_in_place(scope, data, add())),
    );
    let root = world.process_at_rank(size - 1);
    if root.is_self() {
        both(
            &mine,
            &sum(0..size),
            |data| root.reduce_in_place_root(data, add()),
            |data| started!(|scope| root.immediate_reduce_in_place_root(scope, data, add())),
        );
        assert!(root.reduce(&mine, add()).try_run().is_err());
    } else {
        root.reduce_into(&mine, add());
        started!(|scope| root.immediate_reduce_into(scope, &mine, add()));
        assert!(root.reduce_in_root(&mut [0u64], add()).try_run().is_err());
    }
}

fn rooted(world: &impl Communicator) {
    let (rank, size) = (world.rank(), world.size());
    let root = world.process_at_rank(size / 2);
    let lengths: [fn(Rank) -> usize; 2] = [|_| LONG, |rank| rank as usize * 5];
    let mut part = Vec::new();
    for (is_varied, length) in lengths.into_iter().enumerate() {
        let is_varied = is_varied == 1;
        let parts = Parts { size, length };
        let mine: Vec<u64> = values(rank, rank, length(rank)).collect();
        let (counts, displs) = (&parts.counts()[..], &parts.displs()[..]);
        part.clear();
        part.resize(mine.len(), 0);
        if root.is_self() {
            both(
                &parts.alone(rank),
                &parts.own(),
                |data| if is_varied { root.gather_varcount_in_place_root(&mut PartitionMut::new(
                    data, counts, displs,
                )) } else { root.gather_in_place_root(data) },
                |data| if is_varied {
                    let mut data = PartitionMut::new(data, counts, displs);
                    started!(|scope| {
                        root.immediate_gather_varcount_in_place_root(scope, &mut data)
                    })
                } else { started!(|scope| root.immediate_gather_in_place_root(scope, data)) },
            );
            let all = parts.own();
            if is_varied {
                let all = Partition::new(&all, counts, displs);
                root.scatter_varcount_in_place_root(&all);
                started!(|scope| root.immediate_scatter_varcount_in_place_root(scope, &all));
            } else {
                root.scatter_in_place_root(&all);
                started!(|scope| root.immediate_scatter_in_place_root(scope, &all));
            }
            continue;
        }
        if is_varied {
            root.gather_varcount_into(&mine);
            started!(|scope| root.immediate_gather_varcount_into(scope, &mine));
            root.scatter_varcount_into(&mut part);
            assert_eq!(part, mine);
            part.fill(0);
            started!(|scope| root.immediate_scatter_varcount_into(scope, &mut part));
        } else {
            root.gather_into(&mine);
            started!(|scope| root.immediate_gather_into(scope, &mine));
            root.scatter_into(&mut part);
            assert_eq!(part, mine);
            part.fill(0);
            started!(|scope| root.immediate_scatter_into(scope, &mut part));
        }
        assert_eq!(part, mine);
    }
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    equal(&world);
    unequal(&world);
    reductions(&world);
    rooted(&world);
    // A length that the number of processes does not divide is rejected immediately.
    let mut odd = vec![0u8; world.size() as usize * 2 + 1];
    if world.size() > 1 {
        assert!(world.all_gather_in(&mut odd).try_run().is_err());
        assert!(world.all_to_all_in(&mut odd).try_run().is_err());
        let add = SystemOperation::sum();
        assert!(
            world
                .reduce_scatter_block_in(&mut odd, add).try_run()
                .is_err()
        );
    }
}
