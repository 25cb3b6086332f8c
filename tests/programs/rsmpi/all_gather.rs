//! Allgather of numbers, booleans, a varying count, and a view.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use mpi::Count;
use mpi::datatype::{MutView, PartitionMut, UserDatatype, View};
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let mut all = vec![0u64; size as usize];
    world.all_gather_into(&(rank as u64 * 3), &mut all[..]);
    assert!(all.iter().copied().eq((0..size as u64).map(|i| i * 3)));

    let mut truths = vec![true; size as usize];
    world.all_gather_into(&(rank % 2 == 0), &mut truths);
    assert!(
        truths
            .iter()
            .zip(0..)
            .all(|(truth, rank)| *truth == (rank % 2 == 0))
    );

    let mine: Vec<i32> = (0..rank).collect();
    let counts: Vec<Count> = (0..size).collect();
    let displs: Vec<Count> = (0..size).map(|rank| rank * (rank - 1) / 2).collect();
    let mut all = vec![-1; (size * (size - 1) / 2) as usize];
    let mut partition = PartitionMut::new(&mut all, counts, displs);
    world.all_gather_varcount_into(&mine, &mut partition);
    assert!(all.iter().copied().eq((0..size).flat_map(|rank| 0..rank)));

    // One row of a table, with a user datatype.
    let row: Vec<i32> = (0..size).map(|column| rank * size + column).collect();
    let mut table = vec![0; (size * size) as usize];
    let datatype = UserDatatype::contiguous(size, &i32::equivalent_datatype());
    {
        let row = View::with_count_and_datatype(&row[..], 1, &datatype);
        let mut table = MutView::with_count_and_datatype(&mut table[..], size, &datatype);
        world.all_gather_into(&row, &mut table);
    }
    assert!(table.iter().copied().eq(0..size * size));
}
