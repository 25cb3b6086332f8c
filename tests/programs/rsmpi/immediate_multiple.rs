//! Many requests: any, some, all, by test and by wait.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use mpi::point_to_point::Status;
use mpi::request::{RequestCollection, multiple_scope, wait_any};
use mpi::traits::*;

kernel_rt::program!(main);

const COUNT: usize = 40;

fn exchange(world: &impl Communicator, complete: impl Fn(&mut RequestCollection<'_, i32>)) {
    let (rank, size) = (world.rank(), world.size());
    let next = world.process_at_rank((rank + 1) % size);
    let previous = world.process_at_rank((rank + size - 1) % size);
    let given: Vec<i32> = (0..COUNT as i32).map(|i| rank * 1000 + i).collect();
    let mut taken = [-1; COUNT];
    multiple_scope(2 * COUNT, |scope, requests| {
        for value in &given {
            requests.add(next.immediate_send(scope, value));
        }
        for value in taken.iter_mut() {
            requests.add(previous.immediate_receive_into(scope, value));
        }
        assert_eq!(requests.incomplete(), 2 * COUNT);
        complete(requests);
        assert_eq!(requests.incomplete(), 0);
    });
    let expected = (0..COUNT as i32).map(|i| previous.rank() * 1000 + i);
    assert!(taken.iter().copied().eq(expected));
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    exchange(&world, |requests| {
        let mut seen = [false; 2 * COUNT];
        while let Some((place, _, _)) = requests.wait_any() {
            assert!(!core::mem::replace(&mut seen[place], true));
        }
    });
    exchange(&world, |requests| {
        let mut some: Vec<(usize, Status, &i32)> = Vec::new();
        let mut finished = 0;
        while requests.incomplete() > 0 {
            requests.wait_some(&mut some);
            assert!(!some.is_empty());
            finished += some.len();
        }
        assert_eq!(finished, 2 * COUNT);
    });
    exchange(&world, |requests| {
        let mut all = Vec::new();
        requests.wait_all(&mut all);
        assert_eq!(all.len(), 2 * COUNT);
    });
    exchange(&world, |requests| {
        let mut all = Vec::new();
        while !requests.test_all(&mut all) {
            assert!(all.is_empty());
        }
        assert_eq!(all.len(), 2 * COUNT);
    });
    exchange(&world, |requests| {
        let mut finished = 0;
        while finished < COUNT {
            finished += usize::from(requests.test_any().is_some());
        }
        let mut some = Vec::new();
        while requests.incomplete() > 0 {
            requests.test_some(&mut some);
            finished += some.len();
        }
        assert_eq!(finished, 2 * COUNT);
    });
    // A list of requests, completed one after the other.
    let values = [1, 2, 3];
    let mut got = [0; 3];
    mpi::request::scope(|scope| {
        let this = world.this_process();
        let mut receives: Vec<_> = got
            .iter_mut()
            .map(|value| this.immediate_receive_into(scope, value))
            .collect();
        for value in &values {
            this.send(value);
        }
        let mut sum = 0;
        while let Some((place, status)) = wait_any(&mut receives) {
            assert_eq!(status.source_rank(), world.rank());
            sum += place + 1;
        }
        assert!(sum >= 3 && receives.is_empty());
    });
    assert_eq!(got, values);
}
