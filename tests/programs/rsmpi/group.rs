//! Group unions, intersections, differences, translations.
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
    // The same by ranges, and backwards.
    let last_odd = (size - 2) / 2 * 2 + 1;
    let last_even = (size - 1) / 2 * 2;
    if size > 1 {
        let by_range = all.include_ranges(&[(1, size - 1, 2)]);
        assert_eq!(by_range.compare(&odd), GroupRelation::Identical);
        let both = all.include_ranges(&[(last_odd, 1, -2), (0, last_even, 2)]);
        assert_eq!((both.size(), both.rank().is_some()), (size, true));
        assert_eq!(both.translate_rank(0, &all), Some(last_odd));
    }
    let rest = all.exclude_ranges(&[(1, size - 1, 2)]);
    assert_eq!(rest.compare(&even), GroupRelation::Identical);
    for wrong in [&[(0, size, 1)][..], &[(0, 0, 0)], &[(0, 0, 1), (0, 0, 1)]] {
        assert!(all.try_include_ranges(wrong).is_err() && all.try_exclude_ranges(wrong).is_err());
    }
    assert!(all.try_include(&[size]).is_err() && all.try_exclude(&[0, 0]).is_err());
    let none = SystemGroup::empty();
    assert_eq!((none.size(), none.rank()), (0, None));
    assert_eq!(none.union(&all).rank(), Some(rank));
    assert_eq!(all.compare(&none), GroupRelation::Unequal);
}
