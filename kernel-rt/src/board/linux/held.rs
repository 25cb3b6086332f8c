//! The process's node, which a call of the program has, or what stands in for one.

use std::sync::{Mutex, PoisonError};

use super::caller;
use super::platform::LinuxNode;
use crate::dev::ring::Asleep;

static NODE: Mutex<Option<LinuxNode>> = Mutex::new(None);

/// From now on the node is there.
pub fn set(node: LinuxNode) {
    *NODE.lock().unwrap_or_else(PoisonError::into_inner) = Some(node);
}

/// Runs `f` with the node, if no call has it.
pub fn try_node<R>(f: impl FnOnce(&mut LinuxNode, &'static Asleep) -> R) -> Option<R> {
    let mut node = NODE.try_lock().ok()?;
    Some(f(node.as_mut()?, caller()?.word))
}

/// Runs `f` with the node, once no other call has it.
pub fn with_node<R>(f: impl FnOnce(&mut LinuxNode, &Asleep) -> R) -> R {
    // Whoever panicked with it has ended the process.
    let mut node = NODE.lock().unwrap_or_else(PoisonError::into_inner);
    match (&mut *node, caller()) {
        (Some(node), Some(process)) => f(node, process.word),
        _ => unreachable!(
            "set up before the program starts, and no call comes from the child of a fork"
        ),
    }
}
