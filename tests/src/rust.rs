//! Programs of the Rust binding on clusters: each finds its process by the thread that it runs in.
#![forbid(unsafe_code)]

use std::cell::RefCell;

use mpi_adi::rust::process::{Carried, carry, find_by};

use crate::Node;

thread_local! {
    static CARRIED: RefCell<Option<Carried>> = const { RefCell::new(None) };
}

/// Runs `program`, which begins with `mpi::initialize()`, as the process `node`.
pub fn as_program<R>(node: &Node<'_, '_>, program: impl FnOnce() -> R) -> R {
    find_by(|| CARRIED.with_borrow(Clone::clone));
    carry(node, std::thread::panicking, |carried| {
        CARRIED.set(Some(carried));
        let result = program();
        CARRIED.set(None);
        result
    })
}
