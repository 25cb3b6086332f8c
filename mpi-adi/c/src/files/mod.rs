//! Files (chapter 13).
//!
//! ```text
//! open                       open, close, delete, size, hints       errhandlers  representations (registration)
//! views                      views, positions, seeks
//! reads_writes               data access by offset, by individual and by shared pointer      shared  the shared pointer
//! access                     transfer of data between the program's buffers and a file through its view
//! requests                   requests of nonblocking calls          representations
//! objects                    handles and state of files             default_handler
//! host                       the file system of the host (POSIX)
//! ```
//! Imports point downwards in this list.
//!
//! A process reads and writes its part of a file itself, by the POSIX functions of its C library: on Linux and in the
//! simulator the host's, on a node those that the tool serves (`--files`). A collective call therefore exchanges no data.
//! A call transfers through a buffer on the program's heap, of at most [`access::BUFFER_BYTES`] and at least one element
//! of a converted representation. A nonblocking call transfers at once, and its request is complete when it returns
//! (section 13.4.1 permits it).
//!
//! A file has a window of one 64-bit number at process 0 of its group: the shared pointer. Its lock orders accesses in
//! atomic mode (section 13.6.1). The window's communicator carries the agreement of collective calls: an error of one
//! process is an error at all, and none waits for another.
//!
//! | memory, from the program's heap | bytes on a 64-bit machine |
//! |---|---|
//! | an open file | [`objects::OBJECT_BYTES`], its name, and a window (`docs/rma.md`) |
//! | a request of a nonblocking call | 48, until it is completed |
//!
//! Views are in the `native` representation, in `internal`, which is the same, in `external32`, or in one that the program
//! has registered. If the elements have another size in a file than in memory, a file type with holes is rejected.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

mod access;
mod default_handler;
mod errhandlers;
mod host;
mod objects;
mod open;
mod reads_writes;
mod representations;
mod requests;
mod shared;
mod views;

pub(super) use default_handler::have_handler;
pub use errhandlers::*;
pub use open::*;
pub use reads_writes::*;
pub(super) use representations::{ConversionFunction, ExtentFunction, LargeConversionFunction};
pub use representations::{MPI_Register_datarep, MPI_Register_datarep_c};
pub use shared::*;
pub use views::*;
