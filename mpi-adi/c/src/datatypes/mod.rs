//! Chapter 4: datatypes.
//!
//! ```text
//! make  removed                   constructors: arguments checked, objects made
//! attributes                      section 6.7.4
//! look  counts  pack              what a datatype is; what of it has come; packing
//! lent                            buffers of its elements, for as long as requests are under way
//! objects                         handles, and what the program has made      shared  held by several, in the heap
//! ```
//! An import points downwards in this list.
//!
//! A datatype is an object in the program's heap: its layout ([`midplane_device::memory::layout`]) and the arguments that it
//! was made of, for MPI_Type_get_contents. Its handle, the datatypes made of it, and each request under way with it
//! hold it; the last one frees it (MPI-3.1 section 4.1.9).
//!
//! | memory, from the program's heap | bytes on a node of 64 bits |
//! |---|---|
//! | a datatype | [`objects::OBJECT_BYTES`], and its layout |
//! | what it was made of | 4 an integer, 8 a displacement, 16 a datatype |
//! | its layout | 48 a constructor on the way down to basic datatypes, 24 a block at an irregular place |
//! | a handle | 16 |
//! | a request under way, or a blocking call, with a datatype that has holes | [`lent::LOAN_BYTES`] |
//!
//! A datatype without holes costs a request nothing: its elements are a plain buffer.
// The functions are documented by the standard and in `mpi.h`, their safety in the module above.
#![allow(
    missing_docs,
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::too_many_arguments
)]

mod attributes;
mod counts;
mod lent;
mod look;
mod make;
mod objects;
mod pack;
mod removed;
mod shared;

pub use attributes::*;
pub use counts::*;
pub(super) use lent::{Elements, Lent, Unpacked, give_up, release, sweep};
pub use look::*;
pub use make::*;
pub(super) use objects::{HeldHandle, Known, known, plain_bytes};
pub use pack::*;
pub use removed::*;
