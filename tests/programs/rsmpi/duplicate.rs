//! Messages of a duplicate stay apart from those of the world; names.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use mpi::topology::{CommunicatorRelation, SimpleCommunicator};
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let twin = world.duplicate();
    assert_eq!(world.compare(&twin), CommunicatorRelation::Congruent);
    assert_eq!(
        world.compare(&universe.world()),
        CommunicatorRelation::Identical
    );
    let (one, two) = (1u8, 2u8);
    mpi::request::scope(|scope| {
        let _first = world.this_process().immediate_send(scope, &one);
        let _second = twin.this_process().immediate_send(scope, &two);
        assert_eq!(twin.any_process().receive::<u8>().0, 2);
        assert_eq!(world.any_process().receive::<u8>().0, 1);
    });
    assert_eq!(world.get_name(), "MPI_COMM_WORLD");
    assert_eq!(twin.get_name(), "");
    twin.set_name("twin");
    assert_eq!(twin.get_name(), "twin");
    assert_eq!(SimpleCommunicator::self_comm().size(), 1);
    // Contexts are used again.
    for _ in 0..100 {
        drop(world.duplicate());
    }
}
