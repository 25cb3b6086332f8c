//! Each intercommunicator collective: all nonblocking ones concurrently, then the same with blocking calls.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use mpi::collective::{SystemOperation, UserOperation};
use mpi::datatype::{AnyBuffer, AnyBufferMut, Partition, PartitionMut};
use mpi::topology::{Color, InterCommunicator};
use mpi::traits::*;
use mpi::{Count, Rank};

kernel_rt::program!(main);

/// Longer than an eager message and than a segment of a reduction, and no multiple of it.
const LONG: usize = 1234;

/// Intercommunicator and the process's group.
struct Groups {
    both: InterCommunicator,
    /// Group of this process: 0 or 1.
    group: u64,
}

/// Returns element `i` of the data from this rank of a group to rank `to` of the other.
fn value(group: u64, rank: Rank, to: Rank, i: usize) -> u64 {
    group * 1_000_000_000 + rank as u64 * 10_000_000 + to as u64 * 100_000 + i as u64
}

/// Returns the first `count` elements.
fn values(group: u64, rank: Rank, to: Rank, count: usize) -> Vec<u64> {
    (0..count).map(|i| value(group, rank, to, i)).collect()
}

/// Returns the counts 1 to `ranks`, and the displacements.
fn growing(ranks: Rank) -> (Vec<Count>, Vec<Count>) {
    let displs = (0..ranks).map(|rank| rank * (rank + 1) / 2);
    ((1..=ranks).collect(), displs.collect())
}

impl Groups {
    fn sizes(&self) -> (Rank, Rank) {
        (self.both.size(), self.both.remote_size())
    }

    /// Returns the data from the remote group to this process in rank order: `count` elements of each.
    fn gathered(&self, to: Rank, count: impl Fn(Rank) -> usize) -> Vec<u64> {
        let ranks = 0..self.both.remote_size();
        let of = |rank| values(1 - self.group, rank, to, count(rank));
        ranks.flat_map(of).collect()
    }

    /// Returns the data from this process to the remote group in rank order.
    fn scattered(&self, count: impl Fn(Rank) -> usize) -> Vec<u64> {
        let ranks = 0..self.both.remote_size();
        let of = |to| values(self.group, self.both.rank(), to, count(to));
        ranks.flat_map(of).collect()
    }

    /// Returns the sums of the remote group's first elements for `to`.
    fn sums(&self, to: Rank, count: usize) -> Vec<u64> {
        let of = |i| move |rank| value(1 - self.group, rank, to, i);
        let sum = |i| (0..self.both.remote_size()).map(of(i)).sum();
        (0..count).map(sum).collect()
    }

    /// Runs all rooted collectives concurrently, with the last process of this group as root.
    fn roots(&self) {
        let both = &self.both;
        let (size, others) = self.sizes();
        let named = both.rank() == size - 1;
        if !named {
            (0..6).for_each(|_| both.immediate_non_participant());
            return;
        }
        let (counts, displs) = growing(others);
        let (own, each) = (
            values(self.group, size - 1, 0, LONG),
            self.scattered(|_| LONG),
        );
        let unequal = self.scattered(|to| 1 + to as usize);
        let parts = Partition::new(&unequal, &counts[..], &displs[..]);
        let mut gathered = vec![0; others as usize * LONG];
        let mut listed = vec![0; unequal.len()];
        let mut sum = vec![0; LONG];
        {
            let mut places = PartitionMut::new(&mut listed, &counts[..], &displs[..]);
            mpi::request::scope(|scope| {
                let broadcast = both.immediate_broadcast_root(scope, &own);
                let gather = both.immediate_gather_root(scope, &mut gathered);
                let list = both.immediate_gather_varcount_root(scope, &mut places);
                let scatter = both.immediate_scatter_root(scope, &each);
                let varied = both.immediate_scatter_varcount_root(scope, &parts);
                let reduce = both.immediate_reduce_root(scope, &mut sum);
                reduce.wait();
                gather.wait();
                drop((broadcast, list, scatter));
                varied.wait();
            });
        }
        let check = |gathered: &[u64], listed: &[u64], sum: &[u64]| {
            assert_eq!(gathered, self.gathered(0, |_| LONG));
            assert_eq!(listed, self.gathered(0, |rank| 1 + rank as usize));
            assert_eq!(sum, self.sums(0, LONG));
        };
        check(&gathered, &listed, &sum);
        gathered.fill(0);
        listed.fill(0);
        sum.fill(0);
        both.broadcast_root(&own);
        both.gather_root(&mut gathered);
        both.gather_varcount_root(&mut PartitionMut::new(
            &mut listed,
            &counts[..],
            &displs[..],
        ));
        both.scatter_root(&each);
        both.scatter_varcount_root(&parts);
        both.reduce_root(&mut sum);
        check(&gathered, &listed, &sum);
    }

    /// Runs them with the same root, in the other group.
    fn members(&self) {
        let (rank, (_, others)) = (self.both.rank(), self.sizes());
        let root = self.both.process_at_rank(others - 1);
        let own = values(self.group, rank, 0, LONG);
        let few = values(self.group, rank, 0, 1 + rank as usize);
        let (mut told, mut part, mut varied) = (vec![0; LONG], vec![0; LONG], vec![0; few.len()]);
        let plus = UserOperation::associative(|x, y| {
            let (x, y) = (x.downcast::<u64>().unwrap(), y.downcast::<u64>().unwrap());
            y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
        });
        mpi::request::scope(|scope| {
            let broadcast = root.immediate_broadcast_into(scope, &mut told);
            let gather = root.immediate_gather_into(scope, &own);
            let list = root.immediate_gather_varcount_into(scope, &few);
            let scatter = root.immediate_scatter_into(scope, &mut part);
            let vary = root.immediate_scatter_varcount_into(scope, &mut varied);
            let reduce = root.immediate_reduce_into(scope, &own, &plus);
            vary.wait();
            drop((gather, list, reduce));
            broadcast.wait();
            scatter.wait();
        });
        let check = |told: &[u64], part: &[u64], varied: &[u64]| {
            let given = |to, count| values(1 - self.group, others - 1, to, count);
            assert_eq!(told, given(0, LONG));
            assert_eq!(part, given(rank, LONG));
            assert_eq!(varied, given(rank, 1 + rank as usize));
        };
        check(&told, &part, &varied);
        told.fill(0);
        part.fill(0);
        varied.fill(0);
        root.broadcast_into(&mut told);
        root.gather_into(&own);
        root.gather_varcount_into(&few);
        root.scatter_into(&mut part);
        root.scatter_varcount_into(&mut varied);
        root.reduce_into(&own, &plus);
        check(&told, &part, &varied);
    }

    fn of_all(&self) {
        let both = &self.both;
        let (rank, (size, others)) = (both.rank(), self.sizes());
        let own = values(self.group, rank, rank, LONG);
        // A rank's data for the process with the same rank.
        let theirs = |count: fn(Rank) -> usize| -> Vec<u64> {
            let of = |from| values(1 - self.group, from, from, count(from));
            (0..others).flat_map(of).collect()
        };
        let growing_of = |rank: Rank| 1 + rank as usize;
        let few = &own[..growing_of(rank)];
        let each = self.scattered(|_| LONG);
        let unequal = self.scattered(growing_of);
        let (counts, displs) = growing(others);
        let parts = Partition::new(&unequal, &counts[..], &displs[..]);
        // This process's rank specifies the number of elements that each process of the other group sends.
        let equal = vec![growing_of(rank) as Count; others as usize];
        let begins: Vec<Count> = (0..others).map(|from| from * equal[0]).collect();
        // A number of elements that both groups can divide.
        let share = others as usize * 3;
        let data = values(self.group, rank, 0, share * size as usize);
        let before = rank as usize * share;

        let mut all = vec![0; others as usize * LONG];
        let mut listed = vec![0; unequal.len()];
        let (mut taken, mut varied) = (all.clone(), vec![0; equal[0] as usize * others as usize]);
        let (mut most, mut shared) = (vec![0; LONG], vec![0; share]);
        let mut divided = vec![0; growing_of(rank)];
        let check = |all: &[u64], listed: &[u64], taken: &[u64], varied: &[u64]| {
            assert_eq!(all, theirs(|_| LONG));
            assert_eq!(listed, theirs(growing_of));
            assert_eq!(taken, self.gathered(rank, |_| LONG));
            assert_eq!(varied, self.gathered(rank, |_| growing_of(rank)));
        };
        let check_reduced = |most: &[u64], shared: &[u64], divided: &[u64]| {
            assert_eq!(divided, self.sums(rank, growing_of(rank)));
            assert_eq!(most, values(1 - self.group, others - 1, others - 1, LONG));
            assert_eq!(shared, &self.sums(0, before + share)[before..]);
        };
        {
            let mut list = PartitionMut::new(&mut listed, &counts[..], &displs[..]);
            let mut places = PartitionMut::new(&mut varied, &equal[..], &begins[..]);
            mpi::request::scope(|scope| {
                let barrier = both.immediate_barrier();
                let requests = (
                    both.immediate_all_gather_into(scope, &own, &mut all),
                    both.immediate_all_gather_varcount_into(scope, few, &mut list),
                    both.immediate_all_to_all_into(scope, &each, &mut taken),
                    both.immediate_all_to_all_varcount_into(scope, &parts, &mut places),
                    both.immediate_all_reduce_into(scope, &own, &mut most, SystemOperation::max()),
                    both.immediate_reduce_scatter_block_into(
                        scope,
                        &data,
                        &mut shared,
                        SystemOperation::sum(),
                    ),
                    both.immediate_reduce_scatter_varcount_into(
                        scope,
                        &parts,
                        &mut divided,
                        SystemOperation::sum(),
                    ),
                );
                // A blocking collective while they are pending.
                both.barrier();
                requests.5.wait();
                requests.2.wait();
                barrier.wait();
            });
        }
        check(&all, &listed, &taken, &varied);
        check_reduced(&most, &shared, &divided);
        for buffer in [&mut all, &mut listed, &mut taken, &mut varied] {
            buffer.fill(0);
        }
        most.fill(0);
        shared.fill(0);
        divided.fill(0);
        both.all_gather_into(&own, &mut all);
        let mut list = PartitionMut::new(&mut listed, &counts[..], &displs[..]);
        both.all_gather_varcount_into(few, &mut list);
        both.all_to_all_into(&each, &mut taken);
        let mut places = PartitionMut::new(&mut varied, &equal[..], &begins[..]);
        both.all_to_all_varcount_into(&parts, &mut places);
        both.all_reduce_into(&own, &mut most, SystemOperation::max());
        both.reduce_scatter_block_into(&data, &mut shared, SystemOperation::sum());
        both.reduce_scatter_varcount_into(&parts, &mut divided, SystemOperation::sum());
        check(&all, &listed, &taken, &varied);
        check_reduced(&most, &shared, &divided);
    }

    /// Each process sends the others a number, and receives a short string from the first group or a number from the
    /// second.
    fn of_whatever_datatypes(&self) {
        let (rank, others) = (self.both.rank(), self.both.remote_size());
        let (number, text) = (self.both.rank() as i64, [b'a' + rank as u8; 3]);
        let given: Vec<AnyBuffer<'_>> = (0..others)
            .map(|_| match self.group {
                0 => AnyBuffer::new(&text),
                _ => AnyBuffer::new(&number),
            })
            .collect();
        let (mut texts, mut numbers) = (vec![[0; 3]; others as usize], vec![-1; others as usize]);
        for round in 0..2 {
            texts.fill([0; 3]);
            numbers.fill(-1);
            let mut taken: Vec<AnyBufferMut<'_>> = match self.group {
                0 => numbers.iter_mut().map(AnyBufferMut::new).collect(),
                _ => texts.iter_mut().map(AnyBufferMut::new).collect(),
            };
            match round {
                0 => mpi::request::scope(|scope| {
                    let both = &self.both;
                    drop(both.immediate_all_to_all_vartype_into(scope, &given, &mut taken));
                }),
                _ => self.both.all_to_all_vartype_into(&given, &mut taken),
            }
            drop(taken);
            for from in 0..others {
                match self.group {
                    0 => assert_eq!(numbers[from as usize], i64::from(from)),
                    _ => assert_eq!(texts[from as usize], [b'a' + from as u8; 3]),
                }
            }
        }
    }
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    if world.size() == 1 {
        return;
    }
    // One of three: 1, 4 and so on.
    let group = u64::from(world.rank() % 3 == 1);
    let own = world.split_by_color(Color::with_value(group as i32));
    let others = world.process_at_rank(1 - group as Rank);
    let both = own.unwrap().create_intercommunicator(0, &others, 0);
    let groups = Groups { both, group };
    // First the one group contains the roots, then the other.
    for roots in 0..2 {
        if roots == group { groups.roots() } else { groups.members() }
        groups.of_all();
    }
    groups.of_whatever_datatypes();
    // A pending collective keeps the intercommunicator after the program has dropped it.
    let barrier = groups.both.immediate_barrier();
    drop(groups);
    barrier.wait();
}
