//! Entry points of C programs, generated from the function table (`midplane_api`): `PMPI_X`, which calls the body of
//! `MPI_X`, and its alias `MPI_X`. A body with parameters other than those of its table row does not compile.
//!
//! Some functions of MPI-3.1 are declared and linked, but not implemented: dynamic processes (chapter 10) and files
//! (chapter 13), with the related functions of other chapters. Each reports an error of class
//! MPI_ERR_UNSUPPORTED_OPERATION with its name to an error handler: that of the communicator among its arguments, that
//! of MPI_COMM_WORLD if there is none (MPI-3.1 section 8.3), and for files the default one of section 13.7.
//!
//! The linker warns of them before the program runs. Each has a section `.gnu.warning.NAME`; GNU's linker prints its
//! text with the source line of the program's first call. The section is used by the linker only and is not part of an
//! image, and neither is a function that is not called. The host tool converts the warnings to notes ([`WARNING`]).
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(
    missing_docs,
    non_snake_case,
    unused_variables, // Of unsupported functions.
    unused_unsafe,    // Some bodies are safe.
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

use core::ffi::c_int;

use super::bodies;
use super::comm_objects::ErrorTarget;
use super::error_dispatch::{error_target, raise};
use super::file_handler;
use super::types::constants::MPI_COMM_WORLD;
use midplane_objects::error::Error;

/// Types of parameters and results, by kind.
mod rust {
    use core::ffi::{c_char, c_double, c_int, c_longlong, c_void};

    use crate::error_dispatch::ErrorFunction;
    use crate::generalized::{CancelFunction, FreeFunction, QueryFunction};
    use crate::keyvals::{CopyFunction, DeleteFunction};
    use crate::types::MPI_Status;
    use crate::user_ops::UserFunction;

    pub type Int = c_int;
    pub type IntOut = *mut c_int;
    pub type IntInOut = *mut c_int;
    pub type Ints = *const c_int;
    pub type IntsOut = *mut c_int;
    pub type IntsInOut = *mut c_int;
    pub type OldInts = *mut c_int;
    pub type Triplets = *const [c_int; 3];
    pub type Count = c_int;
    pub type CountOut = *mut c_int;
    pub type CountInOut = *mut c_int;
    pub type Counts = *const c_int;
    pub type Displs = *const c_int;
    pub type Rank = c_int;
    pub type RankOut = *mut c_int;
    pub type Ranks = *const c_int;
    pub type RanksOut = *mut c_int;
    pub type Tag = c_int;
    pub type Logical = c_int;
    pub type LogicalOut = *mut c_int;
    pub type Logicals = *const c_int;
    pub type LogicalsOut = *mut c_int;
    pub type IndexOut = *mut c_int;
    pub type IndicesOut = *mut c_int;
    pub type Aint = isize;
    pub type AintOut = *mut isize;
    pub type AintInOut = *mut isize;
    pub type Aints = *const isize;
    pub type AintsOut = *mut isize;
    pub type OldAints = *mut isize;
    pub type LargeCount = c_longlong;
    pub type LargeCountOut = *mut c_longlong;
    pub type Offset = c_longlong;
    pub type OffsetOut = *mut c_longlong;
    pub type Double = c_double;
    pub type Level = c_int;
    pub type BufferIn = *const c_void;
    pub type BufferOut = *mut c_void;
    pub type BufferInOut = *mut c_void;
    pub type AddressOut = *mut c_void;
    pub type Attribute = *mut c_void;
    pub type AttributeOut = *mut c_void;
    pub type ExtraState = *mut c_void;
    pub type Text = *const c_char;
    pub type TextOut = *mut c_char;
    pub type Chars = *const c_char;
    pub type Texts = *mut *mut c_char;
    pub type TextLists = *mut *mut *mut c_char;
    pub type Argv = *mut *mut *mut c_char;
    pub type Comm = c_int;
    pub type CommOut = *mut c_int;
    pub type CommInOut = *mut c_int;
    pub type Group = c_int;
    pub type GroupOut = *mut c_int;
    pub type GroupInOut = *mut c_int;
    pub type Datatype = c_int;
    pub type DatatypeOut = *mut c_int;
    pub type DatatypeInOut = *mut c_int;
    pub type Datatypes = *const c_int;
    pub type DatatypesOut = *mut c_int;
    pub type OldDatatypes = *mut c_int;
    pub type Op = c_int;
    pub type OpOut = *mut c_int;
    pub type OpInOut = *mut c_int;
    pub type Request = c_int;
    pub type RequestOut = *mut c_int;
    pub type RequestInOut = *mut c_int;
    pub type RequestsInOut = *mut c_int;
    pub type Message = c_int;
    pub type MessageOut = *mut c_int;
    pub type MessageInOut = *mut c_int;
    pub type Errhandler = c_int;
    pub type ErrhandlerOut = *mut c_int;
    pub type ErrhandlerInOut = *mut c_int;
    pub type Info = c_int;
    pub type InfoOut = *mut c_int;
    pub type InfoInOut = *mut c_int;
    pub type Infos = *const c_int;
    pub type Win = c_int;
    pub type WinOut = *mut c_int;
    pub type WinInOut = *mut c_int;
    pub type File = c_int;
    pub type FileOut = *mut c_int;
    pub type FileInOut = *mut c_int;
    pub type Status = *const MPI_Status;
    pub type StatusOut = *mut MPI_Status;
    pub type StatusInOut = *mut MPI_Status;
    pub type StatusesOut = *mut MPI_Status;
    pub type Fint = c_int;
    pub type Fints = *const c_int;
    pub type FintsOut = *mut c_int;
    pub type F08Status = *const MPI_Status;
    pub type F08StatusOut = *mut MPI_Status;
    pub type ToolEnum = c_int;
    pub type ToolEnumOut = *mut c_int;
    pub type ToolObject = *mut c_void;
    pub type CvarHandle = c_int;
    pub type CvarHandleOut = *mut c_int;
    pub type CvarHandleInOut = *mut c_int;
    pub type PvarHandle = c_int;
    pub type PvarHandleOut = *mut c_int;
    pub type PvarHandleInOut = *mut c_int;
    pub type Session = c_int;
    pub type SessionOut = *mut c_int;
    pub type SessionInOut = *mut c_int;
    pub type UserFn = Option<UserFunction>;
    pub type ErrorFn = Option<ErrorFunction>;
    pub type WinErrorFn = Option<ErrorFunction>;
    pub type FileErrorFn = Option<ErrorFunction>;
    pub type OldErrorFn = Option<ErrorFunction>;
    pub type CopyFn = Option<CopyFunction>;
    pub type DeleteFn = Option<DeleteFunction>;
    pub type TypeCopyFn = Option<CopyFunction>;
    pub type TypeDeleteFn = Option<DeleteFunction>;
    pub type WinCopyFn = Option<CopyFunction>;
    pub type WinDeleteFn = Option<DeleteFunction>;
    pub type OldCopyFn = Option<CopyFunction>;
    pub type OldDeleteFn = Option<DeleteFunction>;
    pub type QueryFn = Option<QueryFunction>;
    pub type FreeFn = Option<FreeFunction>;
    pub type CancelFn = Option<CancelFunction>;
    pub type ConversionFn = Option<unsafe extern "C" fn()>;
    pub type ExtentFn = Option<unsafe extern "C" fn()>;
}

/// Linker message for an unsupported function, appended to its name.
macro_rules! warning {
    () => {
        " is not supported yet: it returns MPI_ERR_UNSUPPORTED_OPERATION"
    };
}

/// Linker message for an unsupported function, appended to its name.
pub const WARNING: &str = warning!();

/// Creates the section whose text the linker prints where a program calls the function.
macro_rules! warned {
    ($name:expr) => {
        core::arch::global_asm!(
            concat!(".section .gnu.warning.", $name),
            concat!(".ascii \"", $name, warning!(), "\""),
            ".text",
        );
    };
}

/// Returns the error of an unsupported function. `what` is the message and begins with the function's name.
#[cold]
fn refuse(what: &'static str, error_target: ErrorTarget) -> c_int {
    let name = what.split(' ').next().unwrap_or(what);
    raise(name, error_target, Error::Unsupported { what })
}

/// Returns the error handler of an unsupported function.
macro_rules! handler {
    (world) => {
        error_target(MPI_COMM_WORLD)
    };
    (file) => {
        file_handler::error_target()
    };
    ($comm:ident) => {
        error_target($comm)
    };
}

/// Adds the alias `MPI_X` to the symbol `PMPI_X` of a function. The alias is weak, so a program may define a function
/// with that name and call `PMPI_X` (MPI-3.1 section 14.2). Both have the same address, without cost.
///
/// An alias exists only in the object that contains the function. The build of nodes and processes is a single object
/// (profile `node`). In other builds, which link no C program, the alias may be missing.
macro_rules! profiled {
    ($function:ident) => {
        core::arch::global_asm!(
            concat!(".weak ", stringify!($function)),
            concat!(".set ", stringify!($function), ", P", stringify!($function)),
        );
    };
}

macro_rules! entry {
    ($result:ident $function:ident($($parameter:ident: $kind:ident),*) refused $whose:ident) => {
        #[unsafe(export_name = concat!("P", stringify!($function)))]
        pub unsafe extern "C" fn $function($($parameter: rust::$kind),*) -> rust::$result {
            refuse(concat!(stringify!($function), " is not supported yet"), handler!($whose))
        }
        profiled!($function);
        warned!(stringify!($function));
        warned!(concat!("P", stringify!($function)));
    };
    ($result:ident $function:ident($($parameter:ident: $kind:ident),*) $($state:ident $detail:tt)?) => {
        const _: unsafe fn($(rust::$kind),*) -> rust::$result = bodies::$function;
        #[unsafe(export_name = concat!("P", stringify!($function)))]
        pub unsafe extern "C" fn $function($($parameter: rust::$kind),*) -> rust::$result {
            // SAFETY: guaranteed by the caller, with the same requirements as the body.
            unsafe {
                bodies::$function($($parameter),*)
            }
        }
        profiled!($function);
    };
}

macro_rules! entries {
    ($(
        $(#[doc = $line:literal])*
        $section:literal $result:ident $function:ident($($parameter:ident: $kind:ident),*) $($state:ident $detail:tt)?;
    )*) => {
        $(entry! { $result $function($($parameter: $kind),*) $($state $detail)? })*
    };
}

midplane_api::functions!(entries);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use midplane_api::FUNCTIONS;

    /// Collects the source files of the binding.
    fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                sources(&path, found)
            } else {
                found.push(path)
            }
        }
    }

    /// Checks that a body uses its own function name in messages.
    #[test]
    fn no_body_names_another_function() {
        let mut paths = Vec::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        sources(&root, &mut paths);
        let mut named = 0;
        for path in paths {
            let source = fs::read_to_string(&path).expect("a source");
            for piece in source.split("\npub ").skip(1) {
                let piece = piece.strip_prefix("unsafe ").unwrap_or(piece);
                let Some((own, rest)) = { piece.strip_prefix("fn ") }
                    .and_then(|piece| piece.split_once('('))
                    .filter(|(own, _)| own.starts_with("MPI_"))
                else {
                    continue;
                };
                let body = rest.split("\n}").next().unwrap_or_default();
                for name in body.split('"').skip(1).step_by(2) {
                    let is_function = FUNCTIONS.iter().any(|function| function.name == name);
                    assert!(
                        !is_function || name == own,
                        "{}: {own} calls itself {name}",
                        path.display()
                    );
                    named += usize::from(is_function);
                }
            }
        }
        assert!(named > 300, "{named}");
    }
}
