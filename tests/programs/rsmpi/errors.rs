//! Errors as results, if requested.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use mpi::Error;
use mpi::collective::SystemOperation;
use mpi::datatype::{ArrayOrder, UserDatatype};
use mpi::point_to_point::{
    try_send_receive_into_with_tags, try_send_receive_replace_into_with_tags,
};
use mpi::topology::Color;
use mpi::traits::*;

kernel_rt::program!(main);

/// Invalid objects are rejected before any message is sent.
fn refused(world: &impl Communicator) {
    let size = world.size();
    let is_argument = |error: Option<Error>| assert!(matches!(error, Some(Error::Argument { .. })));
    let none = Some(Error::Rank {
        rank: size.into(),
        size: size as u32,
    });
    let graph = world.try_create_distributed_graph_adjacent(&[0], &[size]);
    assert_eq!(graph.err(), none);
    let graph = world.try_create_distributed_graph(&[(size, 0)]);
    assert_eq!(graph.err(), none);
    let weighted = world.try_create_weighted_distributed_graph_adjacent(&[(0, -1)], &[]);
    is_argument(weighted.err());
    let weighted = world.try_create_weighted_distributed_graph(&[(0, 0, -1)]);
    is_argument(weighted.err());
    assert_eq!(
        world.graph_map(&[&[0]]),
        Ok((world.rank() == 0).then_some(0))
    );
    is_argument(world.graph_map(&vec![&[0][..]; size as usize + 1]).err());
    assert!(world.graph_map(&[&[1]]).is_err());
    let this = world.this_process();
    let tag = Err(Error::Tag { tag: -1 });
    let probed = this
        .try_matched_probe_with_tag(-1)
        .map(|(_, status)| status);
    assert_eq!(probed, tag);
    let probed = this.try_immediate_matched_probe_with_tag(-1);
    assert_eq!(probed.map(|found| found.is_none()).err(), tag.err());
    let grid = |dims: &[i32], periods: &[bool]| {
        let made = world.try_create_cartesian_communicator(dims, periods, false);
        made.map(|grid| grid.expect("in the grid"))
    };
    is_argument(grid(&[1, 1], &[true]).err());
    let large = grid(&[size + 1], &[true]);
    assert!(matches!(large, Err(Error::Dims { .. })));
    is_argument(grid(&[size], &[true]).unwrap().try_subgroup(&[]).err());
    assert!(
        world
            .try_split_by_color_with_key(Color::undefined(), 0)
            .unwrap()
            .is_none()
    );

    let alone = world.try_split_by_subgroup(&world.group().include(&[world.rank()]));
    let alone = alone.unwrap().unwrap();
    if size > 1 {
        let other = world.group().exclude(&[world.rank()]);
        for made in [
            alone.try_split_by_subgroup(&other),
            alone.try_split_by_subgroup_collective(&other),
        ] {
            assert_eq!(made.err().unwrap().class(), mpi::ErrorClass::Group);
        }
    }

    let mut packed = [0u8; 6];
    assert_eq!(world.try_pack_into(&7u32, &mut packed, 2), Ok(6));
    for wrong in [-1, 3, i32::MAX] {
        is_argument(world.try_pack_into(&7u32, &mut packed, wrong).err());
        is_argument(world.try_unpack_into(&packed, &mut 0u32, wrong).err());
    }
}

/// A failed start returns the buffers to the program, and does not affect other requests.
fn not_started(world: &impl Communicator) {
    let size = world.size();
    let (this, other) = (world.this_process(), world.process_at_rank(size - 1));
    let (data, mut got) = ([1u32; 3], [0u32; 5]);
    mpi::request::scope(|scope| {
        let sent = this.try_immediate_send_with_tag(scope, &data, -4);
        assert_eq!(sent.err(), Some(Error::Tag { tag: -4 }));
        let received = this.try_immediate_receive_into_with_tag(scope, &mut got, -4);
        assert_eq!(received.err(), Some(Error::Tag { tag: -4 }));
    });
    let exchanged = try_send_receive_into_with_tags(&data, &this, 1, &mut got, &this, -1);
    assert_eq!(exchanged.err(), Some(Error::Tag { tag: -1 }));
    let replaced = try_send_receive_replace_into_with_tags(&mut got, &this, -1, &this, 1);
    assert_eq!(replaced.err(), Some(Error::Tag { tag: -1 }));
    assert_eq!(got, [0; 5]);
    let exchanged = try_send_receive_into_with_tags(&data, &this, 1, &mut got, &this, 1);
    assert_eq!((exchanged.unwrap().bytes(), got), (12, [1, 1, 1, 0, 0]));
    got = [0; 5];
    let int = i32::equivalent_datatype();
    let none = UserDatatype::try_contiguous(-1, &int);
    assert_eq!(none.err(), Some(Error::Count { count: -1 }));
    for unfit in [
        UserDatatype::try_indexed(&[1, 1], &[0], &int),
        UserDatatype::try_subarray(&[2], &[1], &[2], ArrayOrder::C, &int),
        UserDatatype::try_heterogeneous_vector(2, 1, mpi::Address::MAX, &int),
        UserDatatype::try_structured(&[1], &[0], &[int, int]),
    ] {
        let unfit = unfit.err();
        assert!(matches!(
            unfit,
            Some(Error::Argument { .. } | Error::TooLarge)
        ));
    }
    // Nonblocking receive of a probed message.
    mpi::request::scope(|scope| {
        drop(this.immediate_send(scope, &data));
        let (message, _) = this.matched_probe();
        let received = message.try_immediate_matched_receive_into(scope, &mut got);
        assert_eq!(received.expect("room").wait().bytes(), 12);
    });
    assert_eq!(got, [1, 1, 1, 0, 0]);
    got = [0; 5];
    let is_length = |error: Option<Error>| assert!(matches!(error, Some(Error::Lengths { .. })));
    let add = SystemOperation::sum;
    mpi::request::scope(|scope| {
        let reduced = world.all_reduce(&data, &mut got, add()).try_start(scope);
        is_length(reduced.err());
    });
    mpi::request::scope(|scope| {
        let scanned = world.scan(&data, &mut got, add()).try_start(scope);
        is_length(scanned.err());
    });
    if other.is_self() {
        mpi::request::scope(|scope| {
            let wrong_form = other.gather(&data).try_start(scope);
            assert!(matches!(wrong_form.err(), Some(Error::Argument { .. })));
            let reduced = other.reduce_root(&data, &mut got, add()).try_start(scope);
            is_length(reduced.err());
        });
    }
    let ring = world.try_create_cartesian_communicator(&[size], &[true], false);
    let ring = ring.unwrap().unwrap();
    mpi::request::scope(|scope| {
        let beside = ring.neighbor_all_gather(&data[..2], &mut got).try_start(scope);
        is_length(beside.err());
    });
    assert_eq!(got, [0; 5]);
    // The same collectives, all valid.
    mpi::request::scope(|scope| {
        let request = world.all_reduce(&data, &mut got[..3], add()).try_start(scope);
        request.unwrap().wait();
    });
    assert_eq!(got[..3], [size as u32; 3]);
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let this = world.this_process();
    assert_eq!(
        this.try_send_with_tag(&1u8, -4),
        Err(Error::Tag { tag: -4 })
    );
    assert_eq!(this.try_probe_with_tag(-1), Err(Error::Tag { tag: -1 }));
    let undefined = world.all_reduce(&1.5f64, &mut 0.0, SystemOperation::bitwise_or()).try_run();
    assert_eq!(undefined, Err(Error::Undefined));
    let lengths = world.all_reduce(&[1, 2], &mut 0, SystemOperation::sum()).try_run();
    assert_eq!(
        lengths,
        Err(Error::Lengths {
            expected: 8,
            given: 4
        })
    );
    let truncated = Error::Truncated {
        source: world.rank() as u32,
        tag: 0,
        room: 4,
    };
    let (long, mut short) = ([7u32; 30], 0u32);
    mpi::request::scope(|scope| {
        let send = this.immediate_send(scope, &long);
        assert_eq!(this.try_receive_into(&mut short), Err(truncated));
        send.wait();
    });
    assert_eq!(short, 7);
    mpi::request::scope(|scope| {
        let receive = this.immediate_receive_into(scope, &mut short);
        this.immediate_send(scope, &long).wait();
        assert_eq!(receive.try_wait(), Err(truncated));
    });
    refused(&world);
    not_started(&world);
    let mut parts = vec![0u8; world.size() as usize * 2 + 1];
    if world.size() > 1 {
        let uneven = world.all_gather(&[0u8; 2], &mut parts).try_run();
        assert!(matches!(uneven, Err(Error::Lengths { .. })));
    }
}
