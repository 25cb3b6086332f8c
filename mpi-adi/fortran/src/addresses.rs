//! Variables with special addresses (MPI-3.1 section 2.5.4). The Fortran interfaces declare each as a common block of its
//! own, which the linker resolves to the variable of the same name here.

use core::ffi::{c_char, c_int, c_void};

use midplane_c::{MPI_Status, addresses};

/// A common block, of which only the address is used.
#[repr(C)]
struct CommonBlock([u8; 0]);

/// Defines common blocks with the size that the interfaces declare, and the alignment of the compilers, 16 bytes. The
/// linker warns of a definition with another size or less alignment; a Rust variable cannot have both.
macro_rules! blocks {
    ($($name:ident $symbol:literal $bytes:literal;)*) => {
        $(
            core::arch::global_asm!(
                concat!(".section .bss.", $symbol, ",\"aw\",%nobits"),
                concat!(".globl ", $symbol),
                ".balign 16",
                concat!($symbol, ":"),
                concat!(".zero ", $bytes),
                concat!(".type ", $symbol, ", STT_OBJECT"),
                concat!(".size ", $symbol, ", ", $bytes),
                ".text",
            );
        )*
        unsafe extern "C" {
            $(
                #[link_name = $symbol]
                safe static $name: CommonBlock;
            )*
        }
    };
}

blocks! {
    BOTTOM "mpifcmbottom_" "4";
    IN_PLACE "mpifcminplace_" "4";
    BUFFER_AUTOMATIC "mpifcmautomatic_" "4";
    STATUS_IGNORE "mpifcmstatus_" "32";
    STATUSES_IGNORE "mpifcmstatuses_" "32";
    UNWEIGHTED "mpifcmunweighted_" "4";
    WEIGHTS_EMPTY "mpifcmweightsempty_" "4";
    ERRCODES_IGNORE "mpifcmerrcodes_" "4";
    ARGV_NULL "mpifcmargv_" "1";
    ARGVS_NULL "mpifcmargvs_" "1";
}

/// Checks whether an argument is this common block.
fn is<T>(argument: *const T, block: &CommonBlock) -> bool {
    argument.addr() == (&raw const *block).addr()
}

/// Converts a buffer to C's: MPI_BOTTOM, MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC have other addresses there.
pub(crate) fn c_buffer(buffer: *mut c_void) -> *mut c_void {
    if is(buffer, &BOTTOM) {
        core::ptr::null_mut()
    } else if is(buffer, &IN_PLACE) {
        core::ptr::without_provenance_mut(addresses::IN_PLACE)
    } else if is(buffer, &BUFFER_AUTOMATIC) {
        core::ptr::without_provenance_mut(addresses::BUFFER_AUTOMATIC)
    } else {
        buffer
    }
}

/// Converts one status or several. MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE are null in C.
pub(crate) fn c_status(status: *mut c_int) -> *mut MPI_Status {
    if is(status, &STATUS_IGNORE) || is(status, &STATUSES_IGNORE) {
        core::ptr::null_mut()
    } else {
        status.cast()
    }
}

/// Returns the arguments of commands; `None` for MPI_ARGV_NULL and MPI_ARGVS_NULL, which are null in C.
pub(crate) fn c_arguments(argv: *mut c_char) -> Option<*mut c_char> {
    (!is(argv, &ARGV_NULL) && !is(argv, &ARGVS_NULL)).then_some(argv)
}

/// Converts the error codes of processes. MPI_ERRCODES_IGNORE is null in C.
pub(crate) fn c_error_codes(codes: *mut c_int) -> *mut c_int {
    if is(codes, &ERRCODES_IGNORE) {
        core::ptr::null_mut()
    } else {
        codes
    }
}

/// Converts the weights of a graph's edges.
pub(crate) fn c_weights(weights: *const c_int) -> *mut c_int {
    if is(weights, &UNWEIGHTED) {
        core::ptr::without_provenance_mut(addresses::UNWEIGHTED)
    } else if is(weights, &WEIGHTS_EMPTY) {
        core::ptr::without_provenance_mut(addresses::WEIGHTS_EMPTY)
    } else {
        weights.cast_mut()
    }
}
