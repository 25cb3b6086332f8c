//! A ring in Rust: a token goes round, and everybody adds its rank; then halves are exchanged with both
//! neighbours at once.
//!
//!     ring [LAPS]      default 10
//!
//! Rank 0 prints one line. Exit status: 0, or 1 if a sum was wrong or a call failed, or 2 for bad arguments.
#![no_std]
#![no_main]

use kernel_rt::{Args, eprintln, println};
use mpi_adi::{Communicator, Error, Mpi, Op};

kernel_rt::program!(main);

const TOKEN: i32 = 1;
const LEFTWARD: i32 = 2;
const RIGHTWARD: i32 = 3;

/// The token's value after `laps` laps, at rank 0.
fn lap(world: Communicator<'_>, laps: u64) -> Result<u64, Error> {
    let (rank, size) = (world.rank(), world.size());
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut token = [0u64];
    for _ in 0..laps {
        if rank == 0 {
            // To itself where it is alone: hence both at once.
            let sent = token;
            world.sendrecv(&sent, right, TOKEN, &mut token, left, TOKEN)?;
        } else {
            world.recv(&mut token, left, TOKEN)?;
            token[0] += u64::from(rank);
            world.send(&token, right, TOKEN)?;
        }
    }
    Ok(token[0])
}

/// Sends 1000 numbers to each neighbour while as many come from both; how many of those are wrong.
fn exchange(world: Communicator<'_>) -> Result<u64, Error> {
    let (rank, size) = (world.rank(), world.size());
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    let mine = [rank; 1000];
    let (mut from_left, mut from_right) = ([u32::MAX; 1000], [u32::MAX; 1000]);
    world.scope(|scope| {
        // Everything that the scope leaves open is complete when it ends.
        let _ = scope.irecv(&mut from_left, left, RIGHTWARD)?;
        let _ = scope.irecv(&mut from_right, right, LEFTWARD)?;
        let _ = scope.isend(&mine, right, RIGHTWARD)?;
        let _ = scope.isend(&mine, left, LEFTWARD)?;
        Ok::<_, Error>(())
    })??;
    let wrong = |data: &[u32], sender| data.iter().filter(|x| **x != sender).count() as u64;
    Ok(wrong(&from_left, left) + wrong(&from_right, right))
}

fn main(mpi: Mpi<'_>, mut args: Args) -> i32 {
    let world = mpi.world();
    let laps = match args.nth(1).map_or(Ok(10), str::parse) {
        Ok(laps) => laps,
        Err(_) => {
            if world.rank() == 0 {
                eprintln!("usage: ring [LAPS]: a whole number");
            }
            return 2;
        }
    };
    match run(world, laps) {
        Ok(0) => 0,
        Ok(_) => 1,
        Err(error) => {
            eprintln!("ring: {error}");
            mpi.abort(1)
        }
    }
}

/// The errors that all ranks have found together.
fn run(world: Communicator<'_>, laps: u64) -> Result<u64, Error> {
    let token = lap(world, laps)?;
    let mut errors = exchange(world)?;
    let size = u64::from(world.size());
    if world.rank() == 0 && token != laps * size * (size - 1) / 2 {
        errors += 1;
    }
    let mut all = [0];
    world.allreduce(&[errors], &mut all, Op::Sum)?;
    if world.rank() == 0 {
        println!(
            "ring: {size} processes, {laps} laps, token {token}, {} errors",
            all[0]
        );
    }
    Ok(all[0])
}
