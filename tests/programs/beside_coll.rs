//! Nonblocking collectives that progress while all processes compute without MPI calls. Each process polls its result
//! in memory, which only progress at all processes can complete.
//!
//! Rank 0 prints one line at the end.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;

use kernel_rt::println;
use mpi::collective::SystemOperation;
use mpi::traits::*;

kernel_rt::program!(main);

const ROUNDS: i32 = 3;

/// Computes until a borrowed buffer contains all expected values.
fn spin(first: *const i32, len: usize, expected: impl Fn(usize) -> i32) {
    for i in 0..len {
        // SAFETY: the address is within the buffer; a volatile read, since MPI may write it at any time.
        while unsafe { first.add(i).read_volatile() } != expected(i) {}
    }
}

fn play(world: &impl Communicator, round: i32, len: usize) {
    let (rank, size) = (world.rank() as usize, world.size());
    let number = |i: usize| round + i as i32 % 7;
    let given: Vec<i32> = (0..len * size as usize).map(number).collect();
    let (mut sum, mut part) = (vec![-1; len], vec![-1; len]);

    let first = sum.as_ptr();
    mpi::request::scope(|scope| {
        let add = SystemOperation::sum();
        let request = world.immediate_all_reduce_into(scope, &given[..len], &mut sum[..], add);
        spin(first, len, |i| size * number(i));
        request.wait();
    });
    world.barrier();

    let (first, root) = (part.as_ptr(), world.process_at_rank(round % size));
    mpi::request::scope(|scope| {
        let request = match root.is_self() {
            true => root.immediate_scatter_into_root(scope, &given[..], &mut part[..]),
            false => root.immediate_scatter_into(scope, &mut part[..]),
        };
        spin(first, len, |i| number(rank * len + i));
        request.wait();
    });
    world.barrier();
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    for round in 0..ROUNDS {
        [1, 512, 8192].map(|len| play(&world, round, len));
    }
    if world.rank() == 0 {
        println!("all went on");
    }
}
