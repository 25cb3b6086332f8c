//! Structs: derived, with nested arrays, tuples, booleans and structs; packed, reduced, in requests.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use mpi::collective::UserOperation;
use mpi::traits::*;

kernel_rt::program!(main);

#[derive(Clone, Copy, Default, PartialEq, Debug, Equivalence)]
struct Inner(u8, i64);

#[derive(Clone, Copy, Default, PartialEq, Debug, Equivalence)]
struct Part {
    truth: bool,
    numbers: [i32; 4],
    tuple: ([f32; 2], u8),
    inner: [Inner; 2],
}

fn sample(rank: i32) -> Part {
    Part {
        truth: rank % 2 == 0,
        numbers: [rank, -2, 3, -4],
        tuple: ([-0.5, 0.5], 7),
        inner: [Inner(1, i64::from(rank) << 40), Inner(2, -9)],
    }
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    // Holes are not transmitted.
    let datatype = Part::equivalent_datatype().dup();
    assert_eq!(datatype.size(), 1 + 16 + 9 + 18);
    assert_eq!(datatype.extent() as usize, size_of::<Part>());

    let root = world.process_at_rank(0);
    let mut data = if root.is_self() {
        sample(4)
    } else {
        Part::default()
    };
    root.broadcast_into(&mut data);
    assert_eq!(data, sample(4));

    let mut all = vec![Part::default(); size as usize];
    world.all_gather_into(&sample(rank), &mut all);
    assert!(
        all.iter()
            .zip(0..)
            .all(|(part, rank)| *part == sample(rank))
    );

    let next = world.process_at_rank((rank + 1) % size);
    let given = [sample(rank), sample(-rank)];
    let mut taken = [Part::default(); 2];
    mpi::request::scope(|scope| {
        let receive = world
            .any_process()
            .immediate_receive_into(scope, &mut taken);
        let send = next.immediate_send(scope, &given);
        let status = receive.wait();
        assert_eq!(status.count(Part::equivalent_datatype()), 2);
        send.wait();
    });
    let previous = (rank + size - 1) % size;
    assert_eq!(taken, [sample(previous), sample(-previous)]);

    let greatest = UserOperation::commutative(|x, y| {
        let (x, y) = (x.downcast::<Part>().unwrap(), y.downcast::<Part>().unwrap());
        for (x, y) in x.iter().zip(y) {
            if x.numbers[0] > y.numbers[0] {
                *y = *x;
            }
        }
    });
    let mut found = Part::default();
    world.all_reduce_into(&sample(rank), &mut found, &greatest);
    assert_eq!(found, sample(size - 1));

    let packed = world.pack(&given);
    assert_eq!(packed.len() as i32, world.pack_size(2, &datatype));
    let mut unpacked = [Part::default(); 2];
    assert_eq!(
        world.unpack_into(&packed, &mut unpacked, 0),
        packed.len() as i32
    );
    assert_eq!(unpacked, given);
    // A byte that is neither 0 nor 1 is true.
    let mut truth = [false; 3];
    world.unpack_into(&[0, 1, 2], &mut truth, 0);
    assert_eq!(truth, [false, true, true]);
}
