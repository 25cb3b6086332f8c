//! Context IDs of communicators: they are freed, reused, and never confused.

use midplane_lab::{Cluster, SimProcess, as_program};
use midplane_objects::ErrorClass;
use midplane_objects::context::COMMUNICATORS;
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::*;

/// Runs `program` as a process, from start to end.
fn run(node: &SimProcess<'_, '_>, program: impl FnOnce(&Universe)) -> i32 {
    as_program(node, || program(&mpi::initialize().expect("once")));
    0
}

#[test]
fn a_hundred_thousand_duplicates_one_after_the_other() {
    let job = Cluster::new([1, 1, 1]).run(|node: &SimProcess<'_, '_>| {
        run(node, |universe| {
            let world = universe.world();
            for _ in 0..100_000 {
                drop(world.duplicate());
            }
        })
    });
    assert_eq!(job, Ok(vec![0]));
}

#[test]
fn the_limit_is_how_many_there_are_at_one_time_and_comes_at_all_processes_alike() {
    let program = |universe: &Universe| {
        let world = universe.world();
        for _ in 0..2 {
            let mut all = Vec::new();
            let error = loop {
                match world.try_duplicate() {
                    Ok(duplicate) => all.push(duplicate),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.class(), ErrorClass::Other);
            assert_eq!(all.len(), COMMUNICATORS - 2);
            // A context that one process still uses is unavailable to all others.
            let kept = (world.rank() == 1).then(|| all.pop());
            world.barrier();
            drop(all);
            let next = world.duplicate();
            next.barrier();
            drop(kept);
        }
    };
    let job = Cluster::new([3, 1, 1]).run(|node: &SimProcess<'_, '_>| run(node, program));
    assert_eq!(job, Ok(vec![0; 3]));
}

/// Unreceived messages of a freed communicator, long and short ones, must not match in a later communicator: their
/// context is not idle.
#[test]
fn messages_left_behind_match_nothing_made_later() {
    for mpi_memory in [32, 64 << 10] {
        let program = |universe: &Universe| {
            let world = universe.world();
            let old = world.duplicate();
            if world.rank() == 0 {
                let other = old.process_at_rank(1);
                other.send_with_tag(&[1u8; 8], 3);
                if mpi_memory > 32 {
                    other.send_with_tag(&[2u8; 3000], 4);
                }
            }
            drop(old);
            for round in 0..300 {
                let twin = world.duplicate();
                let found = twin.any_process().immediate_probe();
                assert_eq!(found, None, "round {round}");
                twin.barrier();
                if world.rank() == 0 {
                    twin.process_at_rank(1).send_with_tag(&round, 3);
                } else {
                    let mut got = 0i32;
                    let status = twin.any_process().receive_into(&mut got);
                    let count = status.count(i32::equivalent_datatype());
                    assert_eq!((got, count), (round, 1));
                }
            }
        };
        let cluster = Cluster::new([2, 1, 1]).mpi_memory(mpi_memory).seed(5);
        let job = cluster.run(|node: &SimProcess<'_, '_>| run(node, program));
        assert_eq!(job, Ok(vec![0, 0]), "{mpi_memory} bytes");
    }
}

/// Processes in different communicators have different free contexts. They agree on one that is free everywhere, and
/// messages stay separate.
#[test]
fn processes_with_different_contexts_agree() {
    let program = |universe: &Universe| {
        let (world, own) = (universe.world(), SimpleCommunicator::self_comm());
        let (rank, size) = (world.rank(), world.size());
        let mut kept = Vec::new();
        for round in 0..40 {
            let color = (rank * 7 + round) % 3;
            let part = world.split_by_color(Color::with_value(color));
            let part = part.expect("in it");
            for _ in 0..(rank + round) % 3 {
                kept.push(own.duplicate());
            }
            let whole = world.duplicate();
            let mut sum = 0;
            part.all_reduce_into(&1, &mut sum, SystemOperation::sum());
            assert_eq!(sum, part.size());
            whole.all_reduce_into(&1, &mut sum, SystemOperation::sum());
            assert_eq!(sum, size);
            if round % 4 == 0 {
                kept.clear();
            }
        }
    };
    for seed in 0..3 {
        let cluster = Cluster::new([2, 2, 1]).seed(seed);
        let job = cluster.run(|node: &SimProcess<'_, '_>| run(node, program));
        assert_eq!(job, Ok(vec![0; 4]));
    }
}
