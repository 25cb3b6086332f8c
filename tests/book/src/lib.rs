//! Compiles each `rust` block of README and book. Those with a `main` run as jobs of the simulator.
//!
//! A block is a module here, so that all blocks compile at once. Blocks that cannot compile in a module are marked
//! `rust,ignore`; `tests/tests/book.rs` checks them.
#![cfg(test)]
// A block contains the attributes of a program's main file, and functions that nothing calls.
#![allow(unused_attributes, dead_code)]

extern crate self as kernel_rt;

pub use std::println;

use midplane_lab::{Cluster, as_program};

/// Replaces the kernel's macro: the simulator calls `main` by its path.
macro_rules! program {
    ($main:path) => {};
}
pub(crate) use program;

include!(concat!(env!("OUT_DIR"), "/blocks.rs"));

#[test]
fn the_programs_of_the_book_run() {
    assert!(PROGRAMS.len() >= 3, "{} programs", PROGRAMS.len());
    for (name, program) in PROGRAMS {
        for shape in [[1, 1, 1], [2, 2, 1]] {
            let nodes = shape.iter().map(|extent| usize::from(*extent)).product();
            let job = Cluster::new(shape).seed(1).run(|node| {
                as_program(node, *program);
                0
            });
            assert_eq!(job, Ok(vec![0; nodes]), "{name} on {shape:?}");
        }
    }
}
