//! Requests: wait, test, guards, matched probes, futures, cancel.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use mpi::request::{CancelGuard, WaitGuard};
use mpi::traits::*;

kernel_rt::program!(main);

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let this = world.this_process();
    let (x, mut y) = (0.5f32, 0.0f32);

    mpi::request::scope(|scope| {
        let mut send = this.immediate_send(scope, &x);
        let receive = world.any_process().immediate_receive_into(scope, &mut y);
        receive.wait();
        while let Err(unfinished) = send.test() {
            send = unfinished;
        }
    });
    assert_eq!(x, y);

    y = 0.0;
    mpi::request::scope(|scope| {
        let _receive = WaitGuard::from(world.any_process().immediate_receive_into(scope, &mut y));
        let _send = WaitGuard::from(this.immediate_ready_send(scope, &x));
    });
    assert_eq!(x, y);
    assert!(world.any_process().immediate_probe().is_none());
    assert!(world.any_process().immediate_matched_probe().is_none());

    y = 0.0;
    mpi::request::scope(|scope| {
        let _send: WaitGuard<_, _> = this.immediate_synchronous_send(scope, &x).into();
        let message = loop {
            if let Some((message, _)) = world.any_process().immediate_matched_probe() {
                break message;
            }
        };
        let _receive: WaitGuard<_, _> =
            message.immediate_matched_receive_into(scope, &mut y).into();
    });
    assert_eq!(x, y);

    let future = world.any_process().immediate_receive();
    this.send(&x);
    let (value, _) = future.get();
    assert_eq!(x, value);

    let mut future = match world.any_process().immediate_receive::<f32>().r#try() {
        Ok(_) => panic!("nothing has been sent"),
        Err(future) => future,
    };
    this.send(&x);
    loop {
        match future.r#try() {
            Ok((value, _)) => break assert_eq!(x, value),
            Err(unfinished) => future = unfinished,
        }
    }

    mpi::request::scope(|scope| {
        let receive = this.immediate_receive_into(scope, &mut y);
        receive.cancel();
        assert!(receive.wait().is_cancelled());
    });
    mpi::request::scope(|scope| {
        let _receive = CancelGuard::from(this.immediate_receive_into(scope, &mut y));
    });
    drop(this.immediate_receive::<u8>());
}
