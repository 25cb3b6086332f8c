//! Reductions: to one, to all, scattered, local; user operations.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use mpi::Rank;
use mpi::collective::{self, SystemOperation, UserOperation};
use mpi::traits::*;

kernel_rt::program!(main);

fn own_operations<C: Communicator>(comm: C) {
    let add = UserOperation::commutative(|x, y| {
        let x: &[Rank] = x.downcast().unwrap();
        let y: &mut [Rank] = y.downcast().unwrap();
        for (x, y) in x.iter().zip(y) {
            *y += x;
        }
    });
    assert!(add.is_commutative());
    let mut sum = 0;
    comm.all_reduce_into(&comm.rank(), &mut sum, &add);
    assert_eq!(sum, comm.size() * (comm.size() - 1) / 2);

    // A non-commutative operation that returns the first operand, and captures its environment.
    let calls = core::sync::atomic::AtomicUsize::new(0);
    let first = UserOperation::associative(|x, y| {
        calls.fetch_add(1, core::sync::atomic::Ordering::Relaxed);
        y.downcast::<Rank>()
            .unwrap()
            .copy_from_slice(x.downcast().unwrap());
    });
    let mut least = -1;
    comm.all_reduce_into(&comm.rank(), &mut least, &first);
    assert_eq!((least, first.is_commutative()), (0, false));
    assert!(comm.size() == 1 || comm.rank() > 0 || calls.load(core::sync::atomic::Ordering::Relaxed) > 0);
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let root = world.process_at_rank(0);
    if root.is_self() {
        let mut sum = 0;
        root.reduce_into_root(&rank, &mut sum, SystemOperation::sum());
        assert_eq!(sum, size * (size - 1) / 2);
    } else {
        root.reduce_into(&rank, SystemOperation::sum());
    }
    let mut max = -1;
    world.all_reduce_into(&rank, &mut max, SystemOperation::max());
    assert_eq!(max, size - 1);
    let mut any = false;
    world.all_reduce_into(&(rank == size - 1), &mut any, SystemOperation::logical_or());
    assert!(any);

    let values: Vec<Rank> = (0..size).collect();
    let mut part = 0;
    world.reduce_scatter_block_into(&values[..], &mut part, SystemOperation::product());
    assert_eq!(part, rank.wrapping_pow(size as u32));

    let (a, b) = (0b0000_1111_1111_0000u64, 0b0011_1100_0011_1100u64);
    for (op, expected) in [
        (SystemOperation::bitwise_and(), a & b),
        (SystemOperation::bitwise_or(), a | b),
        (SystemOperation::bitwise_xor(), a ^ b),
    ] {
        let mut c = b;
        collective::reduce_local_into(&a, &mut c, op);
        assert_eq!(c, expected);
    }
    own_operations(universe.world());
}
