//! Fortran binding: the entry points of `mpif.h`, `mpi` and `mpi_f08` (MPI-3.1 section 17.1), a thin layer over the C
//! binding. Only programs that contain Fortran link it.
//!
//! The function table generates the entry points (`midplane_api::fortran::Entries`). Each converts references to values,
//! calls the C function, and stores the error code in `ierror`, unless this argument is absent.
//!
//! ```text
//! entries      generated entry points
//! bodies       functions that require more than a conversion of arguments
//! spawn        the same: start of processes
//! callbacks    callbacks of attributes and generalized requests
//! attributes   values of attributes, which C and Fortran represent differently
//! substitutes  contiguous copies of strided arrays, for nonblocking collectives
//! descriptor   array descriptors: a strided array as a datatype
//! handles      conversion of handles
//! arguments    conversion of arguments            addresses   special addresses, such as MPI_BOTTOM
//! functions    declarations of C's functions, generated
//! comparisons  operators of mpi_f08, and procedures without a C function
//! ```
//! Imports point downwards in this list.
//!
//! | Fortran | here |
//! |---|---|
//! | `INTEGER`, `LOGICAL` | C's int; a true value is 1 |
//! | handle, `TYPE(MPI_Comm)` and the like | an int: the value of C's pointer, as by `MPI_Comm_toint` |
//! | status | eight integers with the layout of C's `MPI_Status` |
//! | `CHARACTER(*)` | address, and a length of type `size_t` after all arguments |
//! | absent `ierror` | null pointer |
//!
//! Limits: the program must be compiled with the default `INTEGER` of 4 bytes. A nonblocking collective of a strided
//! array allocates a copy of it in the heap until its completion, and two of a receive buffer; MPI_ERR_NO_MEM if the heap
//! is full. Persistent collectives reject strided arrays with MPI_ERR_BUFFER. In arrays of kind MPI_COUNT_KIND, counts and
//! displacements must fit a default integer; otherwise MPI_ERR_COUNT. An attribute that Fortran has set occupies 8 bytes
//! of the heap. A call with more than 32 handles in an array requires 8 bytes of the heap for each: MPI_ERR_NO_MEM if it
//! is full. Callbacks of the program get references to C's handles, whose first four bytes are the INTEGER: processors
//! must be little-endian.
//!
//! # Safety
//! As in the C binding: the functions rely on the guarantees of MPI for the memory that an argument refers to.

#![no_std]

extern crate alloc;

mod addresses;
mod arguments;
mod attributes;
mod bodies;
mod callbacks;
mod comparisons;
mod descriptor;
mod entries;
mod functions;
mod handles;
mod spawn;
mod substitutes;
