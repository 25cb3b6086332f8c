//! Splits by color, by group collectively, and by a group's processes alone.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use mpi::Rank;
use mpi::collective::SystemOperation;
use mpi::topology::{Color, CommunicatorRelation, SystemGroup};
use mpi::traits::*;

kernel_rt::program!(main);

fn sum(comm: &impl Communicator, value: Rank) -> Rank {
    let mut sum = 0;
    comm.all_reduce_into(&value, &mut sum, SystemOperation::sum());
    sum
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let is_odd = rank % 2 == 1;
    let of_mine = |other: &Rank| other % 2 == rank % 2;

    let part = world.split_by_color(Color::with_value(rank % 2)).unwrap();
    assert_eq!(part.size(), (0..size).filter(of_mine).count() as Rank);
    assert_eq!(sum(&part, rank), (0..size).filter(of_mine).sum());
    let only = if is_odd {
        Color::undefined()
    } else {
        Color::with_value(0)
    };
    assert_eq!(world.split_by_color(only).is_none(), is_odd);
    let reversed = world
        .split_by_color_with_key(Color::with_value(1), -rank)
        .unwrap();
    assert_eq!(reversed.rank(), size - 1 - rank);
    assert_eq!(
        world.compare(&reversed),
        match size {
            1 => CommunicatorRelation::Congruent,
            _ => CommunicatorRelation::Similar,
        }
    );

    let odd: Vec<Rank> = (0..size).filter(|rank| rank % 2 == 1).collect();
    let odd = world.group().include(&odd);
    let both = world.split_by_subgroup_collective(&odd);
    assert_eq!(both.is_some(), is_odd);
    assert!(
        world
            .split_by_subgroup_collective(&SystemGroup::empty())
            .is_none()
    );
    if is_odd {
        let alone = world.split_by_subgroup(&odd).unwrap();
        assert_eq!(sum(&alone, 1), odd.size());
        assert_eq!(
            alone.compare(&both.unwrap()),
            CommunicatorRelation::Congruent
        );
    }
    assert_eq!(world.split_shared(0).size(), 1);
}
