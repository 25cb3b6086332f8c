//! Datatypes (chapter 4).
//!
//! ```text
//! constructors  removed           constructors: argument checks, creation of objects
//! attributes                      section 6.7.4
//! kinds                           datatypes of Fortran's kinds (section 17.2.6)
//! query  counts  pack             queries; element counts of messages; packing
//! typed_buffers                   buffers of elements, for the duration of requests
//! objects                         handles, and derived datatypes      try_arc  reference counting on the heap
//! ```
//! Imports point downwards in this list.
//!
//! A datatype is an object on the program's heap: its layout ([`midplane_device::memory::layout`]) and its constructor arguments,
//! for MPI_Type_get_contents. Its handle, the datatypes that contain it, and each active request that uses it hold a
//! reference; the last one frees it (MPI-3.1 section 4.1.9).
//!
//! | memory, from the program's heap | bytes on a 64-bit node |
//! |---|---|
//! | a datatype | [`objects::OBJECT_BYTES`], and its layout |
//! | its constructor arguments | 4 an integer, 8 a displacement, 16 a datatype |
//! | its layout | 48 a constructor level down to basic datatypes, 24 a block at an irregular displacement |
//! | a handle | 16 |
//! | an active request, or a blocking call, with a datatype that has holes | [`typed_buffers::LOAN_BYTES`] |
//!
//! A datatype without holes adds no cost to a request: its elements are a plain buffer.
// The standard and `mpi.h` document the functions; the parent module documents their safety.
#![allow(missing_docs, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

mod attributes;
mod constructors;
mod counts;
mod kinds;
mod objects;
mod pack;
mod query;
mod removed;
mod try_arc;
mod typed_buffers;

pub use attributes::*;
pub use constructors::*;
pub use counts::*;
pub use kinds::*;
pub(super) use objects::{HeldHandle, KnownDatatype, another_handle, free_handle, known, plain_bytes};
pub use pack::*;
pub use query::*;
pub use removed::*;
pub(super) use try_arc::TryArc;
pub(super) use typed_buffers::{TypedBuffer, TypedElements, UnpackedElement, give_up, release, sweep};
