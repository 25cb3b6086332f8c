//! Entry points of C programs, generated from the function table (`midplane_api`): `PMPI_X`, which calls the body of
//! `MPI_X`, and its alias `MPI_X`. A body with parameters other than those of its table row does not compile.
//!
//! A function with counts has a second entry point, its large-count form, which calls the same body: counts become
//! [`isize`], and arrays of counts an [`IntArray`](crate::counts::IntArray) ([`given`]). A count beyond `isize`, on a
//! 32-bit node, becomes the largest one, which no memory holds. Both entry points inline the body, so that the code of a
//! program is independent of the form that it does not use.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(
    missing_docs,
    non_snake_case,
    unused_unsafe,    // Some bodies are safe.
    clippy::useless_conversion, // Of results other than handles.
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

use super::bodies;
use super::counts::{IntArray, Integer};

/// Types of parameters and results, by kind.
#[allow(missing_docs)] // The kinds are documented in the table.
pub mod kinds {
    use core::ffi::{c_char, c_double, c_int, c_longlong, c_void};

    use crate::error_dispatch::ErrorFunction;
    use crate::files::{ConversionFunction, ExtentFunction, LargeConversionFunction};
    use crate::generalized::{CancelFunction, FreeFunction, QueryFunction};
    use crate::keyvals::{CopyFunction, DeleteFunction};
    use crate::tool_events::{EventDroppedFunction, EventFreeFunction, EventFunction};
    use crate::types::{Handle, MPI_Status};
    use crate::user_ops::{LargeUserFunction, UserFunction};

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
    pub type TypeCount = c_int;
    pub type ElementDispls = *const c_int;
    pub type DispUnit = c_int;
    pub type DispUnitOut = *mut c_int;
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
    pub type AintCount = isize;
    pub type AintCountOut = *mut isize;
    pub type AintCountInOut = *mut isize;
    pub type AintCounts = *const isize;
    pub type LargeCount = c_longlong;
    pub type LargeCountOut = *mut c_longlong;
    pub type LargeCountInOut = *mut c_longlong;
    pub type LargeCounts = *const c_longlong;
    pub type LargeCountsOut = *mut c_longlong;
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
    pub type Comm = Handle;
    pub type CommOut = *mut Handle;
    pub type CommInOut = *mut Handle;
    pub type Group = Handle;
    pub type GroupOut = *mut Handle;
    pub type GroupInOut = *mut Handle;
    pub type Datatype = Handle;
    pub type DatatypeOut = *mut Handle;
    pub type DatatypeInOut = *mut Handle;
    pub type Datatypes = *const Handle;
    pub type DatatypesOut = *mut Handle;
    pub type OldDatatypes = *mut Handle;
    pub type Op = Handle;
    pub type OpOut = *mut Handle;
    pub type OpInOut = *mut Handle;
    pub type Request = Handle;
    pub type RequestOut = *mut Handle;
    pub type RequestInOut = *mut Handle;
    pub type Requests = *const Handle;
    pub type RequestsInOut = *mut Handle;
    pub type Message = Handle;
    pub type MessageOut = *mut Handle;
    pub type MessageInOut = *mut Handle;
    pub type Errhandler = Handle;
    pub type ErrhandlerOut = *mut Handle;
    pub type ErrhandlerInOut = *mut Handle;
    pub type Info = Handle;
    pub type InfoOut = *mut Handle;
    pub type InfoInOut = *mut Handle;
    pub type Infos = *const Handle;
    pub type Win = Handle;
    pub type WinOut = *mut Handle;
    pub type WinInOut = *mut Handle;
    pub type File = Handle;
    pub type FileOut = *mut Handle;
    pub type FileInOut = *mut Handle;
    pub type Session = Handle;
    pub type SessionOut = *mut Handle;
    pub type SessionInOut = *mut Handle;
    pub type Status = *const MPI_Status;
    pub type StatusOut = *mut MPI_Status;
    pub type StatusInOut = *mut MPI_Status;
    pub type StatusesOut = *mut MPI_Status;
    pub type Fint = c_int;
    pub type Fints = *const c_int;
    pub type FintsOut = *mut c_int;
    pub type F08Status = *const MPI_Status;
    pub type F08StatusOut = *mut MPI_Status;
    pub type ToolEnum = Handle;
    pub type ToolEnumOut = *mut Handle;
    pub type ToolObject = *mut c_void;
    pub type CvarHandle = Handle;
    pub type CvarHandleOut = *mut Handle;
    pub type CvarHandleInOut = *mut Handle;
    pub type PvarHandle = Handle;
    pub type PvarHandleOut = *mut Handle;
    pub type PvarHandleInOut = *mut Handle;
    pub type PvarSession = Handle;
    pub type PvarSessionOut = *mut Handle;
    pub type PvarSessionInOut = *mut Handle;
    pub type EventRegistration = Handle;
    pub type EventRegistrationOut = *mut Handle;
    pub type EventInstance = Handle;
    pub type CallbackSafety = c_int;
    pub type SourceOrderOut = *mut c_int;
    pub type EventFn = Option<EventFunction>;
    pub type EventFreeFn = Option<EventFreeFunction>;
    pub type EventDroppedFn = Option<EventDroppedFunction>;
    pub type UserFn = Option<UserFunction>;
    pub type LargeUserFn = Option<LargeUserFunction>;
    pub type ErrorFn = Option<ErrorFunction>;
    pub type WinErrorFn = Option<ErrorFunction>;
    pub type FileErrorFn = Option<ErrorFunction>;
    pub type SessionErrorFn = Option<ErrorFunction>;
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
    pub type ConversionFn = Option<ConversionFunction>;
    pub type LargeConversionFn = Option<LargeConversionFunction>;
    pub type ExtentFn = Option<ExtentFunction>;
}

/// Types of parameters of the large-count forms, by kind: the same as `Kind::large` of the table.
mod large_kinds {
    pub use super::kinds::*;

    pub type Count = LargeCount;
    pub type TypeCount = LargeCount;
    pub type AintCount = LargeCount;
    pub type CountOut = LargeCountOut;
    pub type AintCountOut = LargeCountOut;
    pub type CountInOut = LargeCountInOut;
    pub type AintCountInOut = LargeCountInOut;
    pub type Counts = LargeCounts;
    pub type ElementDispls = LargeCounts;
    pub type AintCounts = LargeCounts;
    pub type Displs = Aints;
    pub type DispUnit = Aint;
    pub type DispUnitOut = AintOut;
}

/// Converts an argument of an entry point to that of the body. Other counts, and results, have the type of the form:
/// their bodies are generic. A handle becomes its value, or stays one where a look-up compares all of it: on a 64-bit
/// processor, the value would require an instruction.
macro_rules! given {
    (Count $argument:ident) => {
        Integer::get($argument)
    };
    (DispUnit $argument:ident) => {
        Integer::get($argument)
    };
    (Counts $argument:ident) => {
        IntArray::from($argument)
    };
    (Displs $argument:ident) => {
        IntArray::from($argument)
    };
    (ElementDispls $argument:ident) => {
        IntArray::from($argument)
    };
    (AintCounts $argument:ident) => {
        IntArray::from($argument)
    };
    (Comm $argument:ident) => {
        $argument.into()
    };
    (Group $argument:ident) => {
        $argument.into()
    };
    (Datatype $argument:ident) => {
        $argument.into()
    };
    (Op $argument:ident) => {
        $argument.into()
    };
    (Request $argument:ident) => {
        $argument.into()
    };
    (Message $argument:ident) => {
        $argument.into()
    };
    (Errhandler $argument:ident) => {
        $argument.into()
    };
    (Info $argument:ident) => {
        $argument.into()
    };
    (Win $argument:ident) => {
        $argument.into()
    };
    (File $argument:ident) => {
        $argument.into()
    };
    (Session $argument:ident) => {
        $argument.into()
    };
    (ToolEnum $argument:ident) => {
        $argument.into()
    };
    (CvarHandle $argument:ident) => {
        $argument.into()
    };
    (PvarHandle $argument:ident) => {
        $argument.into()
    };
    (PvarSession $argument:ident) => {
        $argument.into()
    };
    (EventRegistration $argument:ident) => {
        $argument.into()
    };
    (EventInstance $argument:ident) => {
        $argument.into()
    };
    ($kind:ident $argument:ident) => {
        $argument
    };
}

/// Returns the type of a parameter of a body, by its kind in a form: of a handle, any that [`given`] converts to.
macro_rules! body_kind {
    ($kinds:ident Count) => {
        isize
    };
    ($kinds:ident DispUnit) => {
        isize
    };
    ($kinds:ident Counts) => {
        IntArray
    };
    ($kinds:ident Displs) => {
        IntArray
    };
    ($kinds:ident ElementDispls) => {
        IntArray
    };
    ($kinds:ident AintCounts) => {
        IntArray
    };
    ($kinds:ident Comm) => {
        _
    };
    ($kinds:ident Group) => {
        _
    };
    ($kinds:ident Datatype) => {
        _
    };
    ($kinds:ident Op) => {
        _
    };
    ($kinds:ident Request) => {
        _
    };
    ($kinds:ident Message) => {
        _
    };
    ($kinds:ident Errhandler) => {
        _
    };
    ($kinds:ident Info) => {
        _
    };
    ($kinds:ident Win) => {
        _
    };
    ($kinds:ident File) => {
        _
    };
    ($kinds:ident Session) => {
        _
    };
    ($kinds:ident ToolEnum) => {
        _
    };
    ($kinds:ident CvarHandle) => {
        _
    };
    ($kinds:ident PvarHandle) => {
        _
    };
    ($kinds:ident PvarSession) => {
        _
    };
    ($kinds:ident EventRegistration) => {
        _
    };
    ($kinds:ident EventInstance) => {
        _
    };
    ($kinds:ident $kind:ident) => {
        $kinds::$kind
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

/// Creates the entry point `$name` with parameters of the kinds in `$kinds`, which calls the body `$function`.
macro_rules! form {
    ($kinds:ident $result:ident $name:ident = $function:ident($($parameter:ident: $kind:ident),*)) => {
        const _: () = {
            let _: unsafe fn($(body_kind!($kinds $kind)),*) -> body_kind!(kinds $result) = bodies::$function;
        };
        #[unsafe(export_name = concat!("P", stringify!($name)))]
        pub unsafe extern "C" fn $name($($parameter: $kinds::$kind),*) -> kinds::$result {
            // SAFETY: guaranteed by the caller, with the same requirements as the body.
            unsafe {
                kinds::$result::from(bodies::$function($(given!($kind $parameter)),*))
            }
        }
        profiled!($name);
    };
}

macro_rules! entry {
    ($result:ident $function:ident | $large:ident $parameters:tt $($state:ident $detail:tt)?) => {
        form!(kinds $result $function = $function $parameters);
        form!(large_kinds $result $large = $function $parameters);
    };
    ($result:ident $function:ident $parameters:tt $($state:ident $detail:tt)?) => {
        form!(kinds $result $function = $function $parameters);
    };
}

macro_rules! entries {
    ($(
        $(#[doc = $line:literal])*
        $section:literal $result:ident $function:ident $(| $large:ident)?($($parameter:ident: $kind:ident),*)
            $($state:ident $detail:tt)?;
    )*) => {
        $(entry! { $result $function $(| $large)?($($parameter: $kind),*) $($state $detail)? })*
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
                // Without type parameters, which a body with two forms has.
                let own = own.split('<').next().unwrap_or(own);
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
