//! Some of the programs of `rsmpi.rs`, one of each kind, since the compiler takes long for all.
//!
//!     rsmpi_few NAME
//!
//! Exit status: 0, or 2 if there is no such program; a program that detects an error panics.
#![no_std]
#![no_main]
#![deny(unsafe_code)]
// Each program file starts with this attribute.
#![allow(unused_attributes)]

extern crate kernel_rt as kernel;
extern crate self as kernel_rt;

pub use kernel::{args, eprintln, println};

/// Replaces the kernel's macro: the program is called by its module name.
macro_rules! program {
    ($main:path) => {
        pub fn run() {
            $main()
        }
    };
}
pub(crate) use program;

#[allow(unsafe_code)]
#[path = "beside_coll.rs"]
mod beside_coll;
#[path = "rsmpi/broadcast.rs"]
mod broadcast;
#[path = "rsmpi/derived.rs"]
mod derived;
#[path = "rsmpi/errors.rs"]
mod errors;
#[path = "fail_panic.rs"]
mod fail_panic;
#[path = "rsmpi/immediate.rs"]
mod immediate;
#[path = "rsmpi/intercommunicator.rs"]
mod intercommunicator;
#[path = "rsmpi/reduce.rs"]
mod reduce;
#[path = "rsmpi/scopes.rs"]
mod scopes;
#[path = "rsmpi/send_receive.rs"]
mod send_receive;
#[path = "rsmpi/struct_vectors.rs"]
mod struct_vectors;
#[path = "rsmpi/window.rs"]
mod window;

kernel::program!(choose);

macro_rules! by_name {
    ($($name:ident),*) => {
        &[$((stringify!($name), $name::run as fn())),*]
    };
}

fn choose() -> i32 {
    let programs: &[(&str, fn())] = by_name![
        beside_coll,
        broadcast,
        derived,
        errors,
        fail_panic,
        immediate,
        intercommunicator,
        reduce,
        scopes,
        send_receive,
        struct_vectors,
        window
    ];
    let name = args().nth(1).unwrap_or_default();
    match programs.iter().find(|(known, _)| *known == name) {
        Some((_, run)) => {
            run();
            0
        }
        None => {
            eprintln!("usage: rsmpi_few NAME: one of the programs in this file");
            2
        }
    }
}
