//! User datatypes from each constructor.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use mpi::Address;
use mpi::datatype::{
    ArrayDistribution, GridDimension, MutView, ArrayOrder, UncommittedUserDatatype, UserDatatype, View,
    address_of, pack_external, pack_external_into, pack_external_size, try_pack_external_into,
    try_unpack_external_into, unpack_external_into,
};
use mpi::traits::*;

kernel_rt::program!(main);

/// Returns the elements of `data` that a datatype selects.
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

/// Packs to external32; unpacking preserves the numbers between the selected ones.
fn in_external32(middle: &UserDatatype) {
    let data: [i32; 10] = core::array::from_fn(|i| -(i as i32));
    let view = View::with_count_and_datatype(&data, 1, middle);
    let packed = pack_external(&view);
    assert_eq!(pack_external_size(1, middle), Ok(12));
    let expected: [u8; 12] = [255, 255, 255, 250, 255, 255, 255, 249, 255, 255, 255, 248];
    assert_eq!(packed, expected);
    let mut all = [0; 14];
    let end = pack_external_into(&1.0f32, &mut all, 1);
    assert_eq!((end, &all[..6]), (5, &[0, 63, 128, 0, 0, 0][..]));
    assert!(try_pack_external_into(&view, &mut all, 3).is_err());
    let mut back = [7; 10];
    let mut into = MutView::with_count_and_datatype(&mut back, 1, middle);
    assert_eq!(unpack_external_into(&packed, &mut into, 0), 12);
    assert_eq!(back, [7, 7, 7, 7, 7, 7, -6, -7, -8, 7]);
    assert!(try_unpack_external_into(&packed, &mut back, 0).is_err());
    assert!(try_unpack_external_into(&packed, &mut back, usize::MAX).is_err());
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
    // Two rows of five: the middle of the second, and the same stored by columns.
    let part = |order| UserDatatype::subarray(&[2, 5], &[1, 3], &[1, 1], order, &int);
    assert_eq!(picked(&world, &part(ArrayOrder::C)), [6, 7, 8]);
    assert_eq!(picked(&world, &part(ArrayOrder::Fortran)), [3, 5, 7]);
    assert_eq!(
        (part(ArrayOrder::C).extent(), part(ArrayOrder::C).true_extent()),
        (40, (24, 12))
    );
    // The second process's part of ten numbers, distributed in pairs and in halves.
    let dealt = |distribution| {
        let dimension = GridDimension {
            elements: 10,
            distribution,
            processes: 2,
            own: 1,
        };
        UserDatatype::distributed_array(&[dimension], ArrayOrder::C, &int)
    };
    assert_eq!(
        picked(&world, &dealt(ArrayDistribution::Cyclic(2))),
        [2, 3, 6, 7]
    );
    assert_eq!(
        picked(&world, &dealt(ArrayDistribution::Block(None))),
        [5, 6, 7, 8, 9]
    );
    let shifted = UserDatatype::resized(-4, 16, &int);
    assert_eq!((shifted.lower_bound(), shifted.true_extent()), (-4, (0, 4)));
    assert_eq!((int.size(), int.extent(), int.lower_bound()), (4, 4, 0));
    in_external32(&part(ArrayOrder::C));

    let pair = [1u8, 2];
    let apart: Address = address_of(&pair[1]) - address_of(&pair[0]);
    assert_eq!(apart, 1);
}
