//! Forgotten requests in a scope, nested scopes, an early return from a scope; the first of many requests to complete,
//! some of them, all.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let this = world.this_process();
    let values = [10, 11, 12, 13, 14];
    let mut got = [0; 5];
    mpi::request::multiple_scope(12, |scope, requests| {
        for (value, tag) in got.iter_mut().zip(0..) {
            requests.add(this.immediate_receive_into_with_tag(scope, value, tag));
        }
        assert_eq!(requests.incomplete(), 5);
        assert!(requests.test_any().is_none());
        this.send_with_tag(&values[3], 3);
        let (index, status, value) = requests.wait_any().unwrap();
        assert_eq!((index, status.tag(), *value), (3, 3, 13));
        this.send_with_tag(&values[0], 0);
        this.send_with_tag(&values[4], 4);
        let (mut some, mut seen) = (Vec::new(), 0);
        while seen < 2 {
            some.clear();
            requests.wait_some(&mut some);
            seen += some.len();
            for (index, status, _) in &some {
                assert_eq!(*index as i32, status.tag());
            }
        }
        this.send_with_tag(&values[1], 1);
        this.send_with_tag(&values[2], 2);
        let mut rest = Vec::new();
        requests.wait_all(&mut rest);
        assert_eq!(rest.len(), 2);
        assert!(requests.wait_any().is_none());
    });
    assert_eq!(got, values);
    // Forgotten in a nested scope: completed at its end.
    let mut outer = 0;
    mpi::request::scope(|scope| {
        let receive = this.immediate_receive_into(scope, &mut outer);
        mpi::request::scope(|scope| core::mem::forget(this.immediate_send(scope, &77)));
        core::mem::forget(receive);
    });
    assert_eq!(outer, 77);
    // Dropped by an early return of the closure.
    let mut early = 0;
    let answer = mpi::request::scope(|scope| {
        let _receive = this.immediate_receive_into(scope, &mut early);
        this.send(&78);
        if world.size() > 0 {
            return 5;
        }
        6
    });
    assert_eq!((answer, early), (5, 78));
}
