//! Programs of the Rust binding in the simulator: each finds its process by the currently running one.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::collections::BTreeMap;

use mpi_adi::Env;
use mpi_adi::rust::process::{Carried, carry, find_by};

use crate::fast::FastNode;
use crate::{Node, running};

thread_local! {
    /// By rank: the processes of the cluster in this thread.
    static CARRIED: RefCell<BTreeMap<usize, Carried>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns the process of the calling program.
fn find() -> Option<Carried> {
    let rank = running()?;
    CARRIED.with_borrow(|carried| carried.get(&rank).cloned())
}

/// Guard that keeps the process registered.
struct Found(usize);

impl Found {
    fn new(rank: usize, carried: Carried) -> Found {
        CARRIED.with_borrow_mut(|all| all.insert(rank, carried));
        Found(rank)
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        let carried = CARRIED.with_borrow_mut(|all| all.remove(&self.0));
        drop(carried);
    }
}

/// Runs `program`, which begins with `mpi::initialize()`, as the process `node`.
pub fn as_program<R>(node: &Node<'_, '_>, program: impl FnOnce() -> R) -> R {
    as_program_in(node, node.rank() as usize, program)
}

/// Runs `program` as [`as_program`] does, with the fast path of messages.
pub fn as_fast_program<R>(node: &Node<'_, '_>, program: impl FnOnce() -> R) -> R {
    as_program_in(&FastNode(node), node.rank() as usize, program)
}

fn as_program_in<R>(env: &dyn Env, rank: usize, program: impl FnOnce() -> R) -> R {
    find_by(find);
    carry(env, std::thread::panicking, |carried| {
        let _found = Found::new(rank, carried);
        program()
    })
}
