//! Ring with send_receive, then all data to rank 0 with receive_vec.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use kernel_rt::println;
use mpi::Rank;
use mpi::point_to_point as p2p;
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let next = world.process_at_rank((rank + 1) % size);
    let previous = world.process_at_rank((rank + size - 1) % size);

    let (got, status): (Rank, _) = p2p::send_receive(&rank, &next, &previous);
    assert_eq!(got, previous.rank());
    assert_eq!(status.source_rank(), previous.rank());
    println!("rank {rank} got {got}: {status:?}");
    world.barrier();

    if rank > 0 {
        world
            .process_at_rank(0)
            .send(&vec![rank, rank + 1, rank - 1][..]);
    } else {
        for _ in 1..size {
            let (values, status) = world.any_process().receive_vec::<Rank>();
            let from = status.source_rank();
            assert_eq!(values, [from, from + 1, from - 1]);
            assert_eq!(status.count(Rank::equivalent_datatype()), 3);
        }
    }
    world.barrier();

    let mut value = rank;
    p2p::send_receive_replace_into(&mut value, &next, &previous);
    assert_eq!(value, previous.rank());

    let mut values = [0; 2];
    let sent = [rank, -rank];
    p2p::send_receive_into_with_tags(&sent, &next, 3, &mut values, &previous, 3);
    assert_eq!(values, [previous.rank(), -previous.rank()]);
}
