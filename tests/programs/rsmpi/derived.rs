//! Structs for `#[derive(Equivalence)]`: raw identifiers, tuple structs, visibility, representations, nested arrays and
//! tuples, `usize`.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use mpi::traits::*;

kernel_rt::program!(main);

#[derive(Clone, Copy, Default, PartialEq, Debug, Equivalence)]
pub(crate) struct Raw {
    pub r#type: u8,
    r#fn: i64,
}

#[derive(Clone, Copy, Default, PartialEq, Debug, Equivalence)]
struct Pair(u8, f64, [[u16; 3]; 2]);

#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Debug, Equivalence)]
struct C {
    a: u8,
    b: usize,
    c: ((u8, u32), [Pair; 2]),
}

#[derive(Clone, Copy, Default, PartialEq, Debug, Equivalence)]
#[repr(transparent)]
struct Transparent(f32);

/// Sends the value to itself and receives it as one element.
fn round<T: Equivalence + Copy + PartialEq + core::fmt::Debug>(
    world: &impl Communicator,
    value: T,
) {
    let this = world.this_process();
    mpi::request::scope(|scope| {
        let send = this.immediate_send(scope, &value);
        let (got, status) = this.receive::<T>();
        send.wait();
        assert_eq!(got, value);
        assert_eq!(status.count(T::equivalent_datatype()), 1);
    });
}

fn main() {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let pair = Pair(1, 0.25, [[1, 2, 3], [4, 5, 6]]);
    round(
        &world,
        Raw {
            r#type: 3,
            r#fn: -9,
        },
    );
    round(&world, pair);
    round(
        &world,
        C {
            a: 7,
            b: usize::MAX - 4,
            c: ((9, 10), [pair, Pair(2, -1.5, [[7; 3]; 2])]),
        },
    );
    round(&world, Transparent(1.5));
}
