//! Datatypes built by hand, of each constructor.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use mpi::Address;
use mpi::datatype::{UncommittedUserDatatype, UserDatatype, View, address_of};
use mpi::traits::*;

kernel_rt::program!(main);

/// The numbers of `data` that a datatype picks.
fn picked<const N: usize>(world: &impl Communicator, datatype: &UserDatatype) -> [i32; N] {
    let data: [i32; 10] = core::array::from_fn(|i| i as i32);
    let this = world.this_process();
    let mut got = [-1; N];
    mpi::request::scope(|scope| {
        let receive = this.immediate_receive_into(scope, &mut got);
        this.send(&View::with_count_and_datatype(&data, 1, datatype));
        assert_eq!(receive.wait().count(i32::equivalent_datatype()), N as i32);
    });
    got
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let int = i32::equivalent_datatype();
    assert_eq!(
        picked(&world, &UserDatatype::contiguous(3, &int)),
        [0, 1, 2]
    );
    assert_eq!(
        picked(&world, &UserDatatype::vector(2, 2, 4, &int)),
        [0, 1, 4, 5]
    );
    assert_eq!(
        picked(&world, &UserDatatype::heterogeneous_vector(2, 1, 12, &int)),
        [0, 3]
    );
    assert_eq!(
        picked(&world, &UserDatatype::indexed(&[2, 1], &[5, 1], &int)),
        [5, 6, 1]
    );
    assert_eq!(
        picked(
            &world,
            &UserDatatype::heterogeneous_indexed(&[1, 1], &[8, 0], &int)
        ),
        [2, 0]
    );
    assert_eq!(
        picked(&world, &UserDatatype::indexed_block(2, &[8, 0], &int)),
        [8, 9, 0, 1]
    );
    assert_eq!(
        picked(
            &world,
            &UserDatatype::heterogeneous_indexed_block(1, &[36, 4], &int)
        ),
        [9, 1]
    );
    let pair = UncommittedUserDatatype::contiguous(2, &int);
    let nested = UncommittedUserDatatype::vector(2, 1, 2, &pair);
    assert_eq!(picked(&world, &nested.clone().commit()), [0, 1, 4, 5]);
    let mixed = UserDatatype::structured(&[1, 1], &[16, 0], &[nested.as_ref(), int.into()]);
    assert_eq!(picked(&world, &mixed), [4, 5, 8, 9, 0]);
    let wide = UserDatatype::resized(0, 16, &int);
    assert_eq!((wide.size(), wide.extent()), (4, 16));
    assert_eq!(
        picked(&world, &UserDatatype::contiguous(3, &wide.dup())),
        [0, 4, 8]
    );
    let pair = [1u8, 2];
    let apart: Address = address_of(&pair[1]) - address_of(&pair[0]);
    assert_eq!(apart, 1);
}
