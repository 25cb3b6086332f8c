//! Common parts of all boards' boots: failures, and the program's arguments.

use core::ffi::c_char;

use alloc::boxed::Box;
use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_slice_box;
use midplane_abi::blackboard::FailureCode;
use midplane_abi::boot_parameters::StringList;
use midplane_abi::failure::{BootFailure, FailureReason};
use midplane_device::kernel::AbortReason;

use crate::abort::{end, mpi_error};

/// Ends the boot: a link's device failed, is missing or superfluous; there is too little memory; or the boot parameters
/// are invalid.
pub fn boot_failed(why: BootFailure<'_>) -> ! {
    end(FailureCode::Boot, 1, FailureReason::Boot(why))
}

/// Returns the value, or ends the boot.
pub fn or_fail<'a, T, E: Into<BootFailure<'a>>>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|why| boot_failed(why.into()))
}

/// Ends the boot with a text, for checks that only few images contain.
#[cfg(all(target_arch = "arm", feature = "options"))]
pub fn boot_failed_in_words(why: core::fmt::Arguments<'_>) -> ! {
    use core::fmt::Write;
    let mut words = midplane_abi::blackboard::MessageText::default();
    let _ = words.write_fmt(why);
    boot_failed(BootFailure::Text(&words.0))
}

/// Allocates zeroed memory from the heap, forever; the memory plan includes it.
pub fn leak<T: Zeroable>(count: usize) -> &'static mut [T] {
    match try_zeroed_slice_box(count) {
        Ok(items) => Box::leak(items),
        Err(()) => boot_failed(BootFailure::OutOfMemory),
    }
}

/// Copies the strings to memory that C may modify, and returns pointers to them with a null at the end. There are at
/// least `least` strings: a node booted by hand has no arguments, but C requires argv[0].
pub fn strings(strings: StringList<'_>, least: usize) -> &'static mut [*mut c_char] {
    let (count, bytes) = (strings.count().max(least), strings.bytes());
    let pointers: &mut [*mut c_char] = leak(count + 1);
    // Missing strings are empty: the zeros at the end.
    let mut rest: &'static mut [u8] = leak(bytes.len() + least);
    for (place, byte) in rest.iter_mut().zip(bytes) {
        *place = *byte;
    }
    for pointer in pointers.iter_mut().take(count) {
        *pointer = rest.as_mut_ptr().cast();
        let length = rest.iter().position(|byte| *byte == 0);
        rest = rest.split_at_mut(length.map_or(0, |length| length + 1)).1;
    }
    pointers
}

/// Ends the node because the neighbour in this direction no longer responds.
#[cfg(any(target_arch = "arm", feature = "faults"))]
pub fn link_lost(direction: net_torus::Direction) -> ! {
    let any_way = cfg!(feature = "faults");
    end(FailureCode::LinkLost, 1, FailureReason::LinkLost { direction, any_way })
}

/// Ends the node because the memory that its link in this direction shares with this neighbour was overwritten.
#[cfg(not(target_arch = "arm"))]
pub fn link_overwritten(direction: net_torus::Direction, neighbour: (net_torus::coord::Rank, net_torus::Coord)) -> ! {
    let why = FailureReason::LinkOverwritten { direction, neighbour };
    end(FailureCode::LinkOverwritten, 1, why)
}

/// Ends the node for the MPI device's reason.
pub fn abort_job(why: AbortReason<'_>, status: i32) -> ! {
    match why {
        AbortReason::MpiAbort => end(FailureCode::MpiAbort, status, FailureReason::MpiAbort(status)),
        AbortReason::MpiError(error) => mpi_error(error, status),
        AbortReason::DeadLink => end(FailureCode::LinkLost, status, FailureReason::DeadLink),
    }
}
