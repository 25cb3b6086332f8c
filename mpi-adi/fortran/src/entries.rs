//! Entry points, generated from the function table.
// The standard documents the functions; the parent module documents their safety.
#![allow(clippy::too_many_arguments)]

use core::ffi::{c_char, c_int, c_longlong, c_void};
use core::mem::transmute;

use midplane_c::{CountArray, Handle, kinds, store_at_completion};

use crate::addresses::{c_buffer, c_status, c_weights};
use crate::arguments::{CText, FortranText, count_from_one, finish, no_memory};
use crate::bodies;
use crate::descriptor::{Buffer, Descriptor, LargeCount};
use crate::functions::*;
use crate::handles::{HandleArray, store};
use crate::substitutes::{SmallIntegers, Substitutes};

/// Adds a weak alias of a symbol.
///
/// An alias exists only in the object that contains the function. The runtime of nodes and processes is a single object
/// (profile `node`).
macro_rules! alias {
    ($alias:expr, $symbol:expr) => {
        core::arch::global_asm!(concat!(".weak ", $alias), concat!(".set ", $alias, ", ", $symbol));
    };
}
pub(crate) use alias;

/// Adds the other spellings of an entry point.
macro_rules! spellings {
    ($name:literal) => {
        alias!(concat!($name, "_"), concat!("p", $name, "_"));
        alias!(concat!($name, "__"), concat!("p", $name, "_"));
        alias!(concat!("p", $name, "__"), concat!("p", $name, "_"));
    };
}

/// Defines a copy callback of attributes (MPI-3.1 section 6.7.2), which copies the value if `$is_copied` is 1.
macro_rules! copy_attribute {
    ($name:ident, $symbol:literal, $integer:ty, $is_copied:literal) => {
        #[unsafe(export_name = $symbol)]
        unsafe extern "C" fn $name(
            _object: *const c_int,
            _keyval: *const c_int,
            _extra_state: *const $integer,
            attribute_val_in: *const $integer,
            attribute_val_out: *mut $integer,
            flag: *mut c_int,
            ierror: *mut c_int,
        ) {
            // SAFETY: the standard's requirements on the arguments.
            unsafe {
                if $is_copied == 1 {
                    *attribute_val_out = *attribute_val_in;
                }
                *flag = $is_copied;
                finish(ierror, 0);
            }
        }
    };
}

/// Defines a callback that accepts the deletion of an attribute.
macro_rules! delete_attribute {
    ($name:ident, $symbol:literal, $integer:ty) => {
        #[unsafe(export_name = $symbol)]
        unsafe extern "C" fn $name(
            _object: *const c_int,
            _keyval: *const c_int,
            _attribute_val: *const $integer,
            _extra_state: *const $integer,
            ierror: *mut c_int,
        ) {
            // SAFETY: the standard's requirements on the arguments.
            unsafe { finish(ierror, 0) };
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/entries.rs"));
