//! Ready mode, where the receives are known to be posted.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use mpi::request::WaitGuard;
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let root = world.process_at_rank(0);
    if !root.is_self() {
        let msg = world.rank() as u8;
        world.barrier();
        root.ready_send(&msg);
        return;
    }
    let mut got: Vec<u8> = (0..world.size()).map(|_| 0).collect();
    mpi::request::scope(|scope| {
        let _guards: Vec<WaitGuard<_, _>> = got
            .iter_mut()
            .zip(0..)
            .skip(1)
            .map(|(value, rank)| {
                let from = world.process_at_rank(rank);
                WaitGuard::from(from.immediate_receive_into(scope, value))
            })
            .collect();
        world.barrier();
    });
    assert!(got.iter().zip(0..).all(|(value, rank)| *value == rank));
}
