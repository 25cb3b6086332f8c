//! A function for any communicator type.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::boxed::Box;
use alloc::vec::Vec;
use mpi::collective::SystemOperation;
use mpi::topology::Communicator;
use mpi::traits::{CommunicatorCollectives, Group};

kernel_rt::program!(main);

fn prefix_sum(comm: &dyn Communicator) -> usize {
    let mut sum = 0;
    comm.scan_into(&(comm.rank() as usize), &mut sum, SystemOperation::sum());
    sum
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let up_to = |rank: i32| (rank * (rank + 1) / 2) as usize;
    assert_eq!(prefix_sum(&world), up_to(world.rank()));
    let even: Vec<i32> = (0..world.size()).filter(|rank| rank % 2 == 0).collect();
    let even = world.group().include(&even);
    let part = world.split_by_subgroup_collective(&even);
    assert_eq!(
        part.as_ref().map(|part| prefix_sum(part)),
        even.rank().map(up_to)
    );
    let boxed: Box<dyn Communicator> = Box::new(world);
    assert!(boxed.size() > 0);
}
