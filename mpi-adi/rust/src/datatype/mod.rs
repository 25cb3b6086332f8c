//! Datatypes: what the elements of a message are, and where they lie (MPI-3.1 chapter 4).
//!
//! A Rust type that is a message's element has an [`Equivalence`]: numbers and `bool` have one, and a struct of such
//! gets one by `#[derive(Equivalence)]`. A [`UserDatatype`] describes parts of something in memory, such as a
//! column of a matrix, and a [`View`] is a buffer of such.
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
//! What a datatype takes of memory is in the program's heap. A constructor that finds no room there, or that is given
//! a negative count, ends the job with a message, as MPI's do under MPI_ERRORS_ARE_FATAL; one with `try_` in front fails
//! with [`Error::NoRoom`](midplane_objects::Error::NoRoom), [`Error::Count`](midplane_objects::Error::Count) and, for lists that do not fit
//! together, [`Error::Argument`](midplane_objects::Error::Argument); what is too large for an address fails with
//! [`Error::TooGreat`](midplane_objects::Error::TooGreat).

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
pub(crate) mod lent;
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
pub use equivalence::{Field, Lazy, of_fields};
pub use external::{
    pack_external, pack_external_into, pack_external_size, try_pack_external_into,
    try_unpack_external_into, unpack_external_into,
};
pub use partition::{
    Partition, PartitionMut, PartitionOf, Partitioned, PartitionedBuffer, PartitionedBufferMut,
};
pub use user::{
    BorrowedDatatype, Committed, Datatype, DatatypeRef, OwnDatatype, SystemDatatype, Uncommitted,
    UncommittedDatatype, UncommittedDatatypeRef, UncommittedUserDatatype, UserDatatype,
};
pub use view::{MutView, View, ViewOf};

pub use midplane_objects::datatype::derived::{Distribution, GridDimension, Order};

/// The traits of this module.
pub mod traits {
    pub use super::{
        AsDatatype, Buffer, BufferMut, Collection, Datatype, Equivalence, Partitioned,
        PartitionedBuffer, PartitionedBufferMut, Pointer, PointerMut, UncommittedDatatype,
    };
}
