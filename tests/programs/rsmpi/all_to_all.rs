//! All-to-all with equal parts, varying counts, and varying datatypes.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use mpi::Count;
use mpi::datatype::{AnyBuffer, AnyBufferMut, Partition, PartitionMut};
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let given: Vec<i32> = (0..size).map(|to| rank * 100 + to).collect();
    let mut taken = vec![-1; size as usize];
    world.all_to_all_into(&given[..], &mut taken[..]);
    assert!(
        taken
            .iter()
            .copied()
            .eq((0..size).map(|from| from * 100 + rank))
    );

    // Rank r receives r numbers, so each process sends `rank` numbers to this one.
    let given: Vec<i32> = (0..size)
        .flat_map(|to| (0..to).map(move |i| rank * 100 + i))
        .collect();
    let counts: Vec<Count> = (0..size).collect();
    let displs: Vec<Count> = (0..size).map(|to| to * (to - 1) / 2).collect();
    let mut taken = vec![-1; (rank * size) as usize];
    {
        let parts = Partition::new(&given[..], &counts[..], &displs[..]);
        let equal = vec![rank; size as usize];
        let begins: Vec<Count> = (0..size).map(|from| from * rank).collect();
        let mut places = PartitionMut::new(&mut taken[..], equal, begins);
        world.all_to_all_varcount_into(&parts, &mut places);
    }
    let expected = (0..size).flat_map(|from| (0..rank).map(move |i| from * 100 + i));
    assert!(taken.iter().copied().eq(expected));

    // Lower ranks receive numbers, the others booleans.
    let (number, truth) = (f64::from(rank), rank % 2 == 0);
    let given: Vec<AnyBuffer<'_>> = (0..size)
        .map(|to| if to < rank { AnyBuffer::new(&number) } else { AnyBuffer::new(&truth) })
        .collect();
    let (mut numbers, mut truths) = (vec![-1.0; size as usize], vec![false; size as usize]);
    let places = numbers.iter_mut().zip(&mut truths);
    let mut taken: Vec<AnyBufferMut<'_>> = (0..size)
        .zip(places)
        .map(|(from, (number, truth))| if rank < from { AnyBufferMut::new(number) } else { AnyBufferMut::new(truth) })
        .collect();
    world.all_to_all_vartype_into(&given, &mut taken);
    for (from, (number, truth)) in (0..size).zip(numbers.into_iter().zip(truths)) {
        let expected = if rank < from { (f64::from(from), false) } else { (-1.0, from % 2 == 0) };
        assert_eq!((number, truth), expected);
    }
}
