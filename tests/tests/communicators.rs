//! Contexts of communicators: freed and used again, and never confused.

use midplane_lab::{Cluster, Node};
use mpi_adi::context::CONTEXTS;
use mpi_adi::{Class, Mpi, Source, TagSelector};

#[test]
fn a_hundred_thousand_duplicates_one_after_the_other() {
    let job = Cluster::new([1, 1, 1]).run(|node: &Node<'_, '_>| {
        let world = Mpi::new(node).world();
        for _ in 0..100_000 {
            drop(world.duplicate().expect("a duplicate"));
        }
        0
    });
    assert_eq!(job, Ok(vec![0]));
}

#[test]
fn the_limit_is_how_many_there_are_at_one_time_and_comes_at_all_processes_alike() {
    let run = |node: &Node<'_, '_>| {
        let world = Mpi::new(node).world();
        for _ in 0..2 {
            let mut all = Vec::new();
            let error = loop {
                match world.duplicate() {
                    Ok(duplicate) => all.push(duplicate),
                    Err(error) => break error,
                }
            };
            assert_eq!(error.class(), Class::Other);
            assert_eq!(all.len(), CONTEXTS - 2);
            // What one process still has, none of the others can use.
            let kept = (world.rank() == 1).then(|| all.pop());
            world.barrier().expect("a barrier");
            drop(all);
            let next = world.duplicate().expect("a duplicate");
            next.get().barrier().expect("a barrier");
            drop(kept);
        }
        0
    };
    assert_eq!(Cluster::new([3, 1, 1]).run(run), Ok(vec![0; 3]));
}

/// Rank 0 leaves messages behind, long and short ones, of which nothing is received: those of a context that is
/// not idle must not match in a communicator that is made later.
#[test]
fn messages_left_behind_match_nothing_made_later() {
    for mpi_memory in [32, 64 << 10] {
        let run = |node: &Node<'_, '_>| {
            let world = Mpi::new(node).world();
            let old = world.duplicate().expect("a duplicate");
            if world.rank() == 0 {
                old.get().send(&[1u8; 8], 1, 3).expect("a send");
                if mpi_memory > 32 {
                    old.get().send(&[2u8; 3000], 1, 4).expect("a send");
                }
            }
            drop(old);
            for round in 0..300 {
                let twin = world.duplicate().expect("a duplicate");
                let comm = twin.get();
                let found = comm.iprobe(Source::Any, TagSelector::Any);
                assert_eq!(found, Ok(None), "round {round}");
                comm.barrier().expect("a barrier");
                if world.rank() == 0 {
                    comm.send(&[round], 1, 3).expect("a send");
                } else {
                    let mut got = [0i32];
                    let status = comm.recv(&mut got, Source::Any, TagSelector::Any);
                    let bytes = status.expect("a receive").bytes;
                    assert_eq!((got[0], bytes), (round, 4));
                }
            }
            0
        };
        let cluster = Cluster::new([2, 1, 1]).mpi_memory(mpi_memory).seed(5);
        assert_eq!(cluster.run(run), Ok(vec![0, 0]), "{mpi_memory} bytes");
    }
}

/// Processes that are in different communicators have different contexts free; what they agree on is free at
/// all of them, and messages stay apart.
#[test]
fn processes_with_different_contexts_agree() {
    let run = |node: &Node<'_, '_>| {
        let mpi = Mpi::new(node);
        let world = mpi.world();
        let (rank, size) = (world.rank(), world.size());
        let mut kept = Vec::new();
        for round in 0..40 {
            let color = (rank * 7 + round) % 3;
            let part = world
                .split(Some(color), 0)
                .expect("a split")
                .expect("in it");
            for _ in 0..(rank + round) % 3 {
                kept.push(mpi.own().duplicate().expect("a duplicate"));
            }
            let whole = world.duplicate().expect("a duplicate");
            let mut sum = [0];
            part.get()
                .allreduce(&[1u32], &mut sum, mpi_adi::Op::Sum)
                .expect("a sum");
            assert_eq!(sum[0], part.get().size());
            whole
                .get()
                .allreduce(&[1u32], &mut sum, mpi_adi::Op::Sum)
                .expect("a sum");
            assert_eq!(sum[0], size);
            if round % 4 == 0 {
                kept.clear();
            }
        }
        0
    };
    for seed in 0..3 {
        let cluster = Cluster::new([2, 2, 1]).seed(seed);
        assert_eq!(cluster.run(run), Ok(vec![0; 4]));
    }
}
