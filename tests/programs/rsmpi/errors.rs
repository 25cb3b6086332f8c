//! Errors as results, where a program wants them.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use mpi::Error;
use mpi::collective::SystemOperation;
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let this = world.this_process();
    assert_eq!(
        this.try_send_with_tag(&1u8, -4),
        Err(Error::Tag { tag: -4 })
    );
    assert_eq!(this.try_probe_with_tag(-1), Err(Error::Tag { tag: -1 }));
    let undefined = world.try_all_reduce_into(&1.5f64, &mut 0.0, SystemOperation::bitwise_or());
    assert_eq!(undefined, Err(Error::Undefined));
    let lengths = world.try_all_reduce_into(&[1, 2], &mut 0, SystemOperation::sum());
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
    let mut parts = vec![0u8; world.size() as usize * 2 + 1];
    if world.size() > 1 {
        let uneven = world.try_all_gather_into(&[0u8; 2], &mut parts);
        assert!(matches!(uneven, Err(Error::Lengths { .. })));
    }
}
