//! Messages in a duplicate are separate from those in the world; communicator names.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use mpi::collective::SystemOperation;
use mpi::point_to_point::send_receive;
use mpi::topology::{Color, CommunicatorRelation, IntoTopology, SimpleCommunicator};
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
    // Context IDs are reused.
    for _ in 0..100 {
        drop(world.duplicate());
    }
    without_blocking(&world);
}

/// Several pending duplicates, concurrent with other messages; a grid's duplicate is a grid.
fn without_blocking(world: &impl Communicator) {
    let size = world.size();
    let ring = world
        .create_cartesian_communicator(&[size], &[true], false)
        .unwrap();
    let first = world.immediate_duplicate();
    let (second, third) = (world.immediate_duplicate(), ring.immediate_duplicate());
    let mut ranks = 0;
    world.all_reduce_into(&world.rank(), &mut ranks, SystemOperation::sum());
    assert_eq!(ranks, size * (size - 1) / 2);
    // Polling makes progress.
    let mut ring = third;
    let ring = loop {
        match ring.r#try() {
            Ok(ring) => break ring,
            Err(not_yet) => ring = not_yet,
        }
    };
    let IntoTopology::Cartesian(ring) = ring.into_topology() else {
        unreachable!("a duplicate has the same topology");
    };
    assert_eq!(ring.num_dimensions(), 1);
    let (second, first) = (second.try_get().unwrap(), first.get());
    assert_eq!(first.compare(&second), CommunicatorRelation::Congruent);
    let right = (world.rank() + 1) % size;
    mpi::request::scope(|scope| {
        drop(first.process_at_rank(right).immediate_send(scope, &1));
        drop(second.process_at_rank(right).immediate_send(scope, &2));
        assert_eq!(second.any_process().receive::<i32>().0, 2);
        assert_eq!(first.any_process().receive::<i32>().0, 1);
    });
    // Intercommunicator of two groups.
    if size > 1 {
        let group = world.rank() % 2;
        let half = world.split_by_color(Color::with_value(group)).unwrap();
        let both = half.create_intercommunicator(0, &world.process_at_rank(1 - group), 0);
        let twin = both.immediate_duplicate();
        both.barrier();
        let twin = twin.get();
        assert_eq!(both.compare(&twin), CommunicatorRelation::Congruent);
        let mut sum = 0;
        twin.all_reduce_into(&1, &mut sum, SystemOperation::sum());
        assert_eq!(sum, twin.remote_size());
        // The last process of each group.
        let last = both.group().include(&[both.size() - 1]);
        let made = both.split_by_subgroup_collective(&last);
        assert_eq!(made.is_some(), last.rank().is_some());
        if let Some(made) = made {
            assert_eq!((made.size(), made.remote_size()), (1, 1));
            let other = made.process_at_rank(0);
            let (theirs, _): (i32, _) = send_receive(&world.rank(), &other, &other);
            assert_eq!(theirs % 2, 1 - group);
        }
        assert!(
            both.try_split_by_subgroup_collective(&both.remote_group())
                .is_err()
        );
    }
}
