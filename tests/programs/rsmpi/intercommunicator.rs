//! Two groups, one that asks and one that answers: their messages, and the merged communicator.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use mpi::collective::SystemOperation;
use mpi::topology::{Color, MergeOrder};
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    if world.size() == 1 {
        return;
    }
    // One process of three answers.
    let answering = (world.size() + 2) / 3;
    let answers = world.rank() < answering;
    let own = world
        .split_by_color(Color::with_value(answers.into()))
        .unwrap();
    let leader = if answers { answering } else { 0 };
    let others = own.create_intercommunicator(0, &world.process_at_rank(leader), 0);
    assert!(others.test_inter());
    assert_eq!(others.size() + others.remote_size(), world.size());
    assert_eq!(others.target_size(), others.remote_size());
    assert_eq!(others.remote_group().rank(), None);

    let asking = world.size() - answering;
    if answers {
        let mine = (0..asking).filter(|who| who % answering == others.rank());
        for _ in mine {
            let (number, status) = others.any_process().receive_with_tag::<u64>(1);
            let who = others.process_at_rank(status.source_rank());
            who.send_with_tag(&(number * number), 2);
        }
    } else {
        let number = others.rank() as u64 + 1000;
        let who = others.process_at_rank(others.rank() % answering);
        who.send_with_tag(&number, 1);
        let (square, _) = who.receive_with_tag::<u64>(2);
        assert_eq!(square, number * number);
    }
    others.barrier();

    // The asking processes receive from one process, and it receives from all of them.
    let mut rules = [0u8; 1000];
    if answers && others.rank() == 0 {
        rules.fill(7);
        others.broadcast_root(&rules);
        let mut ranks = vec![0; asking as usize];
        others.gather_root(&mut ranks[..]);
        assert!(ranks.iter().copied().eq(0..asking));
    } else if !answers {
        let one = others.process_at_rank(0);
        one.broadcast_into(&mut rules);
        one.gather_into(&others.rank());
        assert_eq!(rules, [7; 1000]);
    }
    let mut count = 0;
    others.all_reduce_into(&1, &mut count, SystemOperation::sum());
    assert_eq!(count, others.remote_size());

    let order = if answers { MergeOrder::High } else { MergeOrder::Low };
    let all = others.merge(order);
    let behind = if answers { asking } else { 0 };
    assert_eq!(
        (all.size(), all.rank()),
        (world.size(), behind + others.rank())
    );
}
