//! Datatypes: type and memory layout of the elements of a message (MPI-3.1 chapter 4).
//!
//! A Rust type that can be an element implements [`Equivalence`]: numbers, `bool`, and structs with
//! `#[derive(Equivalence)]`. A [`UserDatatype`] describes parts of a value in memory, such as a column of a matrix, and
//! a [`View`] is a buffer of such parts.
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::datatype::{UserDatatype, View};
//! use mpi::traits::*;
//!
//! let mut matrix = [[0.0f64; 5]; 4];
//! matrix[2][3] = 1.5;
//! // Four blocks of one number each, five numbers apart.
//! let column = UserDatatype::vector(4, 1, 5, &f64::equivalent_datatype());
//! let view = View::with_count_and_datatype(&matrix.as_flattened()[3..], 1, &column);
//! assert_eq!(view.count(), 1);
//! ```
//!
//! Datatypes are allocated from the program's heap.
//!
//! # Errors
//! [`Error::NoSpace`](midplane_objects::Error::NoSpace) when the heap has no space, [`Error::Count`](midplane_objects::Error::Count) for a
//! negative count, [`Error::Argument`](midplane_objects::Error::Argument) for lists of different lengths, and
//! [`Error::TooLarge`](midplane_objects::Error::TooLarge) for sizes beyond an address. A constructor aborts the job with a
//! message, as under MPI_ERRORS_ARE_FATAL; the `try_` forms return the error.

#[allow(unsafe_code)]
pub(crate) mod any;
#[allow(unsafe_code)]
pub(crate) mod buffer;
#[allow(unsafe_code)]
pub(crate) mod dynamic;
#[allow(unsafe_code)]
pub(crate) mod equivalence;
mod external;
#[allow(unsafe_code)]
pub(crate) mod operands;
#[allow(unsafe_code)]
pub(crate) mod partition;
pub(crate) mod user;
#[allow(unsafe_code)]
pub(crate) mod view;

pub use any::{AnyBuffer, AnyBufferMut, AnyOf};
pub use buffer::{AsDatatype, Buffer, BufferMut, Collection, Pointer, PointerMut, address_of};
pub use dynamic::{DynBuffer, DynBufferMut, DynElements};
pub use equivalence::Equivalence;
#[doc(hidden)]
pub use equivalence::{Field, LazyDatatype, of_fields};
pub use external::{
    pack_external, pack_external_into, pack_external_size, try_pack_external_into, try_unpack_external_into,
    unpack_external_into,
};
pub use partition::{Partition, PartitionMut, PartitionOf, Partitioned, PartitionedBuffer, PartitionedBufferMut};
pub use user::{
    BorrowedDatatype, CommittedState, Datatype, DatatypeRef, OwnDatatype, SystemDatatype, UncommittedDatatype,
    UncommittedDatatypeRef, UncommittedState, UncommittedUserDatatype, UserDatatype,
};
pub use view::{MutView, View, ViewOf};

pub use midplane_objects::datatype::derived::{ArrayDistribution, ArrayOrder, GridDimension};

/// The traits of this module.
pub mod traits {
    pub use super::{
        AsDatatype, Buffer, BufferMut, Collection, Datatype, Equivalence, Partitioned, PartitionedBuffer,
        PartitionedBufferMut, Pointer, PointerMut, UncommittedDatatype,
    };
}
