//! Instructions of messages of a Rust program between nodes. `costs.c` counts those of C programs.
//!
//!     rust_costs [COUNT]      default 256
//!
//! Requires two processes. The clock of a node counts the instructions of its instance (`--instances 1
//! --count-instructions`: 1 ns for each). Rank 0 prints the least of eight rounds of COUNT operations, as instructions of
//! one:
//!
//! * `half`: half a round trip of 8 bytes between ranks 0 and 1, blocking.
//! * `stream`: a message of 8 bytes from rank 0 to rank 1, which acknowledges the round.
//! * `self`: an immediate receive, a send and a wait of 8 bytes from rank 0 to itself.
//!
//! Exit status: 0, or 1 if a message was wrong, or 2 for bad arguments.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use kernel_rt::{args, eprintln, println};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

kernel_rt::program!(main);

const ROUNDS: usize = 8;

/// Runs `count` round trips.
fn half(world: &SimpleCommunicator, count: u64) {
    let other = world.process_at_rank(1 - world.rank());
    for number in 0..count {
        if world.rank() == 0 {
            other.send(&number);
        }
        let (received, _) = other.receive::<u64>();
        assert_eq!(received, number);
        if world.rank() == 1 {
            other.send(&number);
        }
    }
}

fn stream(world: &SimpleCommunicator, count: u64) {
    let other = world.process_at_rank(1 - world.rank());
    for number in 0..count {
        if world.rank() == 0 {
            other.send(&number);
        } else {
            assert_eq!(other.receive::<u64>().0, number);
        }
    }
    if world.rank() == 0 {
        assert_eq!(other.receive::<u64>().0, count);
    } else {
        other.send(&count);
    }
}

fn to_self(world: &SimpleCommunicator, count: u64) {
    let own = world.this_process();
    for number in 0..count {
        let mut received = 0;
        mpi::request::scope(|scope| {
            let request = own.immediate_receive_into(scope, &mut received);
            own.send(&number);
            request.wait();
        });
        assert_eq!(received, number);
    }
}

/// Prints the instructions of one operation; `trips` of them are one call's.
fn measure(world: &SimpleCommunicator, name: &str, count: u64, trips: u64, run: fn(&SimpleCommunicator, u64)) {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        world.barrier();
        let start = mpi::time();
        run(world, count);
        least = least.min(mpi::time() - start);
    }
    if world.rank() == 0 {
        println!("costs: {name} {}", (least * 1e9) as u64 / (count * trips));
    }
}

fn main() -> i32 {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let count = args().nth(1).map_or(Some(256), |word| word.parse().ok());
    let Some(count) = count.filter(|count| *count > 0 && world.size() == 2) else {
        eprintln!("usage: rust_costs [COUNT], with two processes");
        return 2;
    };
    measure(&world, "half", count, 2, half);
    measure(&world, "stream", count, 1, stream);
    measure(&world, "self", count, 1, |world, count| {
        if world.rank() == 0 {
            to_self(world, count);
        }
    });
    0
}
