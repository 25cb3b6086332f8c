//! Buffered sends, which do not wait for their receives.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use mpi::traits::*;

kernel_rt::program!(main);

const BYTES: usize = 4096;

fn main() {
    let mut universe = mpi::initialize().unwrap();
    let world = universe.world();
    assert_eq!(universe.buffer_size(), 0);
    universe.set_buffer_size(BYTES);
    assert_eq!(universe.buffer_size(), BYTES);

    let x = [3.5f64; 100];
    let mut y = [0.0f64; 100];
    let this = world.this_process();
    this.buffered_send(&x);
    assert!(
        this.try_buffered_send_with_tag(&[0u8; 2 * BYTES], 0)
            .is_err()
    );
    this.receive_into(&mut y);
    assert_eq!(x, y);
    mpi::request::scope(|scope| {
        let send = this.immediate_buffered_send(scope, &x[..1]);
        send.wait();
    });
    assert_eq!(this.receive::<f64>().0, 3.5);
    universe.detach_buffer();
    assert_eq!(universe.buffer_size(), 0);
}
