//! Misuse of MPI in Rust that ends without an error, for `--check`. The argument selects it:
//!
//! * `types`: a message of integers is received as floating-point numbers.
//! * `operations`: the processes of a reduction specify different operations.
//! * `roots`: the processes of a broadcast specify different roots.
//! * `unreceived`: a message has no receive.
//! * `race`: a receive from any process decides what the program does.
//! * `puts`: two processes write the same element of a window.
//! * `ordered`: none.
//!
//! Requires three processes. Exit status: 0, or 2 for another argument.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec;
use kernel_rt::args;
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;
use mpi::window::Window;

kernel_rt::program!(main);

fn types(world: &SimpleCommunicator) {
    match world.rank() {
        0 => {
            world.process_at_rank(1).receive::<f32>();
        }
        1 => world.process_at_rank(0).send(&3i32),
        _ => {}
    }
}

fn operations(world: &SimpleCommunicator) {
    let operation = match world.rank() {
        2 => SystemOperation::max(),
        _ => SystemOperation::sum(),
    };
    let mut result = 0;
    world.all_reduce_into(&world.rank(), &mut result, operation);
}

/// Each process is the root of its own broadcast: none waits.
fn roots(world: &SimpleCommunicator) {
    let mut value = world.rank();
    mpi::request::scope(|scope| {
        let root = world.this_process();
        root.immediate_broadcast_into(scope, &mut value).wait();
    });
}

fn unreceived(world: &SimpleCommunicator) {
    if world.rank() == 0 {
        world.process_at_rank(1).send(&1i32);
    }
}

fn race(world: &SimpleCommunicator) {
    if world.rank() != 0 {
        return world.process_at_rank(0).send(&world.rank());
    }
    let (first, _) = world.any_process().receive::<i32>();
    for other in (1..world.size()).filter(|other| *other != first) {
        world.process_at_rank(other).receive::<i32>();
    }
}

fn puts(world: &SimpleCommunicator) {
    let window = Window::<i32>::allocate(4, world);
    let epoch = window.fence();
    if (1..3).contains(&world.rank()) {
        epoch.process_at_rank(0).put(2, &world.rank());
    }
    epoch.end();
}

/// Messages of each kind, collectives, a communicator and a window, used as the standard requires.
fn ordered(world: &SimpleCommunicator) {
    let (rank, size) = (world.rank(), world.size());
    let right = world.process_at_rank((rank + 1) % size);
    let left = world.process_at_rank((rank + size - 1) % size);
    let mut numbers = vec![0.0; 100];
    mpi::request::scope(|scope| {
        let receive = left.immediate_receive_into(scope, &mut numbers[..]);
        right.synchronous_send(&[f64::from(rank); 100]);
        receive.wait();
    });
    let own = world.duplicate();
    let mut all = vec![0; size as usize];
    own.all_gather_into(&rank, &mut all[..]);
    own.process_at_rank(0).broadcast_into(&mut all[..]);
    let window = Window::<i32>::allocate(size as usize, &own);
    let epoch = window.fence();
    epoch.process_at_rank(0).put(rank as usize, &rank);
    epoch.end();
}

fn main() -> i32 {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let misuse = match args().nth(1) {
        Some("types") => types,
        Some("operations") => operations,
        Some("roots") => roots,
        Some("unreceived") => unreceived,
        Some("race") => race,
        Some("puts") => puts,
        Some("ordered") => ordered,
        _ => return 2,
    };
    misuse(&world);
    world.barrier();
    0
}
