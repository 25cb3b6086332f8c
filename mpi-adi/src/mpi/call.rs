//! Blocking over the nonblocking device: what every binding's calls are made of.
//!
//! A call runs inside [`Env::with`], link interrupts held off, and drives the device itself: try, poll
//! while anything moves, sleep when nothing does. Between calls the carrier drives the device (on a node
//! from the link interrupt), so that traffic goes on while the program computes.
#![forbid(unsafe_code)]

use crate::Adi;
use crate::device::kernel::{CallNote, Env, Kernel};

/// Runs `attempt` until it gives a value, with progress between attempts. Blocks for as long as it takes.
pub fn block_on<R>(
    env: &dyn Env,
    note: CallNote,
    mut attempt: impl FnMut(&mut Adi, &mut dyn Kernel) -> Option<R>,
) -> R {
    let mut result = None;
    env.with(&mut |adi, kernel| {
        kernel.note(Some(note));
        result = loop {
            if let Some(value) = attempt(adi, kernel) {
                break Some(value);
            }
            if !kernel.poll(adi) {
                kernel.idle();
            }
        };
        kernel.note(None);
    });
    result.expect("Env::with runs its function")
}

/// Runs `start` once and then one step of progress, so that what it started leaves at once where it can.
/// Does not block.
pub fn immediate<R>(
    env: &dyn Env,
    note: CallNote,
    start: impl FnOnce(&mut Adi, &mut dyn Kernel) -> R,
) -> R {
    let mut start = Some(start);
    let mut result = None;
    env.with(&mut |adi, kernel| {
        if let Some(start) = start.take() {
            kernel.note(Some(note));
            result = Some(start(adi, kernel));
            kernel.poll(adi);
            kernel.note(None);
        }
    });
    result.expect("Env::with runs its function")
}
