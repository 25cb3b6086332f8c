//! Programs in the style of the rsmpi examples, built together. Each can also run alone (`rsmpi/NAME.rs`), as can one
//! that fails and one that waits in memory.
//!
//!     rsmpi NAME
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

#[path = "rsmpi/all_gather.rs"]
mod all_gather;
#[path = "rsmpi/all_to_all.rs"]
mod all_to_all;
#[path = "rsmpi/attributes.rs"]
mod attributes;
#[path = "rsmpi/barrier.rs"]
mod barrier;
#[allow(unsafe_code)]
#[path = "beside_coll.rs"]
mod beside_coll;
#[path = "rsmpi/broadcast.rs"]
mod broadcast;
#[path = "rsmpi/buffered.rs"]
mod buffered;
#[path = "rsmpi/cartesian.rs"]
mod cartesian;
#[path = "rsmpi/datatypes.rs"]
mod datatypes;
#[path = "rsmpi/derived.rs"]
mod derived;
#[path = "rsmpi/duplicate.rs"]
mod duplicate;
#[path = "rsmpi/dyn_communicator.rs"]
mod dyn_communicator;
#[path = "rsmpi/environment.rs"]
mod environment;
#[path = "rsmpi/errors.rs"]
mod errors;
#[path = "fail_panic.rs"]
mod fail_panic;
#[path = "rsmpi/gather.rs"]
mod gather;
#[path = "rsmpi/gather_varcount.rs"]
mod gather_varcount;
#[path = "rsmpi/generalized.rs"]
mod generalized;
#[path = "rsmpi/group.rs"]
mod group;
#[path = "rsmpi/immediate.rs"]
mod immediate;
#[path = "rsmpi/immediate_collectives.rs"]
mod immediate_collectives;
#[path = "rsmpi/immediate_intercommunicator.rs"]
mod immediate_intercommunicator;
#[path = "rsmpi/immediate_multiple.rs"]
mod immediate_multiple;
#[path = "rsmpi/in_place.rs"]
mod in_place;
#[path = "rsmpi/info.rs"]
mod info;
#[path = "rsmpi/intercommunicator.rs"]
mod intercommunicator;
#[path = "rsmpi/null_process.rs"]
mod null_process;
#[path = "rsmpi/ready_send.rs"]
mod ready_send;
#[path = "rsmpi/reduce.rs"]
mod reduce;
#[path = "rsmpi/scan.rs"]
mod scan;
#[path = "rsmpi/scatter.rs"]
mod scatter;
#[path = "rsmpi/scopes.rs"]
mod scopes;
#[path = "rsmpi/send_receive.rs"]
mod send_receive;
#[path = "rsmpi/simple.rs"]
mod simple;
#[path = "rsmpi/split.rs"]
mod split;
#[path = "rsmpi/struct_vectors.rs"]
mod struct_vectors;
#[path = "rsmpi/structured.rs"]
mod structured;
#[path = "rsmpi/time.rs"]
mod time;
#[path = "rsmpi/vector.rs"]
mod vector;
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
        all_gather,
        all_to_all,
        attributes,
        barrier,
        beside_coll,
        broadcast,
        buffered,
        cartesian,
        datatypes,
        derived,
        duplicate,
        dyn_communicator,
        environment,
        errors,
        fail_panic,
        gather,
        gather_varcount,
        generalized,
        group,
        immediate,
        immediate_collectives,
        immediate_intercommunicator,
        immediate_multiple,
        in_place,
        info,
        intercommunicator,
        null_process,
        ready_send,
        reduce,
        scan,
        scatter,
        scopes,
        send_receive,
        simple,
        split,
        struct_vectors,
        structured,
        time,
        vector,
        window
    ];
    let name = args().nth(1).unwrap_or_default();
    match programs.iter().find(|(known, _)| *known == name) {
        Some((_, run)) => {
            run();
            0
        }
        None => {
            eprintln!("usage: rsmpi NAME: one of the files in rsmpi/, beside_coll or fail_panic");
            2
        }
    }
}
