//! What the boots of all boards share: how they fail, and the program's words.

use core::ffi::c_char;
use core::{fmt, ptr};

use alloc::vec::Vec;
use mpi_adi::kernel::AbortReason;

use crate::end::{self, Message, end};
use crate::host::blackboard::End;
use crate::host::records::node_name;
#[cfg(any(target_arch = "arm", feature = "faults"))]
use crate::node::LinkLost;

/// A link's device could not be brought up, or is missing or superfluous; there is too little memory; the boot
/// arguments are wrong.
pub fn boot_failed(why: fmt::Arguments<'_>) -> ! {
    let message = Message::new(format_args!("{}: cannot start: {why}", node_name()));
    end::end(End::Boot, 1, &message)
}

/// The value, or the end of the boot with the error's words.
pub fn or_fail<T, E: fmt::Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|why| boot_failed(format_args!("{why}")))
}

/// Memory for ever, from the heap; the plan leaves enough for it.
pub fn leak<T: Clone>(count: usize, value: T) -> &'static mut [T] {
    let mut items = Vec::new();
    if items.try_reserve_exact(count).is_err() {
        boot_failed(format_args!("out of memory"));
    }
    items.resize(count, value);
    items.leak()
}

/// Strings as C has them: one block of them, one of pointers with a null at the end. There are `least` at least:
/// a node booted by hand has no arguments, but C wants argv[0] all the same.
pub fn strings(
    words: impl Iterator<Item = impl Iterator<Item = Option<u8>>> + Clone,
    least: usize,
) -> &'static mut [*mut c_char] {
    let unnamed = least.saturating_sub(words.clone().count());
    let bytes = words.clone().map(|word| word.count() + 1).sum::<usize>() + unnamed;
    let pointers = leak(words.clone().count() + unnamed + 1, ptr::null_mut());
    let mut rest: &'static mut [u8] = leak(bytes, 0);
    for (pointer, word) in pointers.iter_mut().zip(words) {
        let mut at = 0;
        // The zero behind each string is there already.
        for (place, byte) in rest.iter_mut().zip(word.flatten()) {
            *place = byte;
            at += 1;
        }
        let (string, after) = rest.split_at_mut(at + 1);
        *pointer = string.as_mut_ptr().cast();
        rest = after;
    }
    if unnamed == 1 {
        pointers[0] = rest.as_mut_ptr().cast();
    }
    pointers
}

/// Ends the node because the neighbour in this direction does not answer any more.
#[cfg(any(target_arch = "arm", feature = "faults"))]
pub fn link_lost(direction: net_torus::Direction) -> ! {
    let message = Message::new(format_args!("{}: {}", node_name(), LinkLost(direction)));
    end(End::MpiError, 1, &message)
}

/// Ends the node for what the MPI device says.
pub fn aborted(why: AbortReason<'_>, status: i32) -> ! {
    match why {
        AbortReason::MpiAbort => {
            let name = node_name();
            let message = Message::new(format_args!(
                "{name}: MPI_Abort was called with status {status}"
            ));
            end(End::MpiAbort, status, &message)
        }
        AbortReason::MpiError(text) => {
            end(End::MpiError, status, &Message::new(format_args!("{text}")))
        }
    }
}
