//! Unions, intersections, differences, translations.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use mpi::Rank;
use mpi::topology::{GroupRelation, SystemGroup};
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let all = world.group();
    assert_eq!((all.size(), all.rank()), (size, Some(rank)));
    let odd: Vec<Rank> = (0..size).filter(|rank| rank % 2 == 1).collect();
    let (odd, even) = (all.include(&odd), all.exclude(&odd));
    assert_eq!(odd.rank().is_some(), rank % 2 == 1);
    assert_eq!(odd.size() + even.size(), size);
    assert_eq!(odd.intersection(&even).size(), 0);
    assert_eq!(
        odd.union(&even).compare(&all),
        match size {
            1 | 2 if odd.union(&even).translate_rank(0, &all) == Some(0) =>
                GroupRelation::Identical,
            _ => GroupRelation::Similar,
        }
    );
    assert_eq!(
        even.union(&odd).difference(&odd).compare(&even),
        GroupRelation::Identical
    );
    assert_eq!(even.translate_rank(0, &all), Some(0));
    assert_eq!(all.translate_ranks(&[0], &odd), [None]);
    let none = SystemGroup::empty();
    assert_eq!((none.size(), none.rank()), (0, None));
    assert_eq!(none.union(&all).rank(), Some(rank));
    assert_eq!(all.compare(&none), GroupRelation::Unequal);
}
