//! Each nonblocking collective, several of them concurrently.
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

fn rooted(world: &impl Communicator) {
    let (rank, size) = (world.rank(), world.size());
    let root = world.process_at_rank(0);
    let counts: Vec<Count> = (0..size).collect();
    let displs: Vec<Count> = (0..size).map(|rank| rank * (rank - 1) / 2).collect();
    let mine: Vec<Rank> = (0..rank).collect();
    let each: Vec<Rank> = (0..size).collect();
    let all: Vec<Rank> = (0..size).flat_map(|rank| 0..rank).collect();
    let (mut gathered, mut listed, mut sum) = (vec![-1; size as usize], vec![-1; all.len()], 0);
    let (mut own, mut part) = (-1, vec![-1; rank as usize]);
    let mut word = if root.is_self() { 77u64 } else { 0 };
    let given = Partition::new(&all, &counts[..], &displs[..]);
    let mut taken = PartitionMut::new(&mut listed, &counts[..], &displs[..]);
    mpi::request::scope(|scope| {
        let barrier = world.immediate_barrier();
        let broadcast = root.immediate_broadcast_into(scope, &mut word);
        if root.is_self() {
            let requests = (
                root.immediate_gather_into_root(scope, &rank, &mut gathered),
                root.immediate_gather_varcount_into_root(scope, &mine, &mut taken),
                root.immediate_scatter_into_root(scope, &each, &mut own),
                root.immediate_scatter_varcount_into_root(scope, &given, &mut part),
                root.immediate_reduce_into_root(scope, &rank, &mut sum, SystemOperation::sum()),
            );
            requests.4.wait();
            requests.0.wait();
            drop((requests.1, requests.2, requests.3));
        } else {
            let requests = (
                root.immediate_gather_into(scope, &rank),
                root.immediate_gather_varcount_into(scope, &mine),
                root.immediate_scatter_into(scope, &mut own),
                root.immediate_scatter_varcount_into(scope, &mut part),
                root.immediate_reduce_into(scope, &rank, SystemOperation::sum()),
            );
            requests.3.wait();
            drop((requests.0, requests.1, requests.2, requests.4));
        }
        broadcast.wait();
        barrier.wait();
    });
    assert_eq!((word, own), (77, rank));
    assert_eq!(part, mine);
    if root.is_self() {
        assert_eq!((gathered, listed), (each, all));
        assert_eq!(sum, size * (size - 1) / 2);
    }
}

fn of_all(world: &impl Communicator) {
    let (rank, size) = (world.rank(), world.size());
    let ranks: Vec<Rank> = (0..size).collect();
    let (mut gathered, mut taken) = (vec![-1; size as usize], vec![-1; size as usize]);
    let (mut max, mut part, mut sum, mut before) = (-1, -1, -1, 0);
    let given: Vec<Rank> = (0..size).map(|to| rank * 100 + to).collect();
    let greater = UserOperation::commutative(|x, y| {
        let (x, y) = (x.downcast::<Rank>().unwrap(), y.downcast::<Rank>().unwrap());
        y.iter_mut().zip(x).for_each(|(y, x)| *y = *x.max(y));
    });
    mpi::request::scope(|scope| {
        let requests = (
            world.immediate_all_gather_into(scope, &rank, &mut gathered),
            world.immediate_all_to_all_into(scope, &given, &mut taken),
            world.immediate_all_reduce_into(scope, &rank, &mut max, &greater),
            world.immediate_reduce_scatter_block_into(
                scope,
                &ranks,
                &mut part,
                SystemOperation::sum(),
            ),
            world.immediate_scan_into(scope, &rank, &mut sum, SystemOperation::sum()),
            world.immediate_exclusive_scan_into(scope, &rank, &mut before, SystemOperation::sum()),
        );
        // Other messages are sent meanwhile.
        let (got, _): (Rank, _) = mpi::point_to_point::send_receive(
            &rank,
            &world.process_at_rank((rank + 1) % size),
            &world.process_at_rank((rank + size - 1) % size),
        );
        assert_eq!(got, (rank + size - 1) % size);
        assert_eq!(*requests.2.wait_for_data(), size - 1);
        requests.0.wait();
    });
    assert_eq!(gathered, ranks);
    assert!(
        taken
            .iter()
            .copied()
            .eq((0..size).map(|from| from * 100 + rank))
    );
    assert_eq!((part, sum), (rank * size, rank * (rank + 1) / 2));
    assert_eq!(before, rank * (rank - 1) / 2);
}

fn varying(world: &impl Communicator) {
    let (rank, size) = (world.rank(), world.size());
    let counts: Vec<Count> = (0..size).collect();
    let displs: Vec<Count> = (0..size).map(|to| to * (to - 1) / 2).collect();
    let mine: Vec<Rank> = (0..rank).collect();
    let mut listed = vec![-1; (size * (size - 1) / 2) as usize];
    let given: Vec<Rank> = (0..size)
        .flat_map(|to| (0..to).map(move |i| rank * 100 + i))
        .collect();
    let mut taken = vec![-1; (rank * size) as usize];
    let mut sums = [(); 2].map(|()| vec![-1; rank as usize]);
    {
        let [sum, again] = &mut sums;
        let mut gathered = PartitionMut::new(&mut listed, &counts[..], &displs[..]);
        let parts = Partition::new(&given, &counts[..], &displs[..]);
        let begins: Vec<Count> = (0..size).map(|from| from * rank).collect();
        let mut places = PartitionMut::new(&mut taken, vec![rank; size as usize], begins);
        mpi::request::scope(|scope| {
            let exchange = world.immediate_all_to_all_varcount_into(scope, &parts, &mut places);
            let add = SystemOperation::sum();
            let reduce = world.immediate_reduce_scatter_varcount_into(scope, &parts, sum, add);
            world.reduce_scatter_varcount_into(&parts, again, SystemOperation::sum());
            world
                .immediate_all_gather_varcount_into(scope, &mine, &mut gathered)
                .wait();
            exchange.wait();
            reduce.wait();
        });
    }
    let of_all: Vec<Rank> = (0..rank)
        .map(|i| size * (size - 1) / 2 * 100 + size * i)
        .collect();
    assert!(sums.iter().all(|sum| *sum == of_all));
    assert!(
        listed
            .iter()
            .copied()
            .eq((0..size).flat_map(|rank| 0..rank))
    );
    let expected = (0..size).flat_map(|from| (0..rank).map(move |i| from * 100 + i));
    assert!(taken.iter().copied().eq(expected));
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    rooted(&world);
    of_all(&world);
    varying(&world);
    of_all(&world.duplicate());
}
