//! Token ring in Rust: every process adds its rank to a token; then each exchanges data with both neighbours
//! simultaneously.
//!
//!     ring [LAPS]      default 10
//!
//! Rank 0 prints one line. Exit status: 0, or 1 if a sum was wrong, or 2 for bad arguments.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use kernel_rt::{args, eprintln, println};
use mpi::collective::SystemOperation;
use mpi::point_to_point::send_receive_with_tags;
use mpi::traits::*;

kernel_rt::program!(main);

const TOKEN: mpi::Tag = 1;
const LEFTWARD: mpi::Tag = 2;
const RIGHTWARD: mpi::Tag = 3;

/// Returns the right and the left neighbour.
fn neighbours(world: &impl Communicator) -> [mpi::topology::Process<'_>; 2] {
    let (rank, size) = (world.rank(), world.size());
    [(rank + 1) % size, (rank + size - 1) % size].map(|rank| world.process_at_rank(rank))
}

/// Returns the token's value after `laps` laps, at rank 0.
fn lap(world: &impl Communicator, laps: u64) -> u64 {
    let [right, left] = neighbours(world);
    let mut token = 0u64;
    for _ in 0..laps {
        if world.rank() == 0 {
            // A single process sends to itself, hence the combined call.
            (token, _) = send_receive_with_tags(&token, &right, TOKEN, &left, TOKEN);
        } else {
            (token, _) = left.receive_with_tag(TOKEN);
            token += world.rank() as u64;
            right.send_with_tag(&token, TOKEN);
        }
    }
    token
}

/// Exchanges 1000 numbers with each neighbour. Returns how many received ones are wrong.
fn exchange(world: &impl Communicator) -> u64 {
    let [right, left] = neighbours(world);
    let mine = [world.rank(); 1000];
    let (mut from_left, mut from_right) = ([-1; 1000], [-1; 1000]);
    mpi::request::scope(|scope| {
        // The scope completes all pending requests at its end.
        let _ = left.immediate_receive_into_with_tag(scope, &mut from_left, RIGHTWARD);
        let _ = right.immediate_receive_into_with_tag(scope, &mut from_right, LEFTWARD);
        let _ = right.immediate_send_with_tag(scope, &mine, RIGHTWARD);
        let _ = left.immediate_send_with_tag(scope, &mine, LEFTWARD);
    });
    let wrong = |data: &[mpi::Rank], sender| data.iter().filter(|x| **x != sender).count() as u64;
    wrong(&from_left, left.rank()) + wrong(&from_right, right.rank())
}

fn main() -> i32 {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let laps = match args().nth(1).map_or(Ok(10), str::parse) {
        Ok(laps) => laps,
        Err(_) => {
            if world.rank() == 0 {
                eprintln!("usage: ring [LAPS]: a whole number");
            }
            return 2;
        }
    };
    let token = lap(&world, laps);
    let mut errors = exchange(&world);
    let size = world.size() as u64;
    if world.rank() == 0 && token != laps * size * (size - 1) / 2 {
        errors += 1;
    }
    let mut all = 0u64;
    world.all_reduce_into(&errors, &mut all, SystemOperation::sum());
    if world.rank() == 0 {
        println!("ring: {size} processes, {laps} laps, token {token}, {all} errors");
    }
    i32::from(all != 0)
}
