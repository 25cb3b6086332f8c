//! Rust binding: a typed MPI interface that requires no unsafe code of its users.
//!
//! Names and traits are those of [rsmpi](https://docs.rs/mpi/0.8), the crate `mpi`. On nodes a program written for
//! rsmpi needs only another entry point and other imports for the standard library. Programs use this module as the
//! crate `mpi`, which also provides `#[derive(Equivalence)]`; `docs/rust.md` contains the table of names.
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::traits::*;
//! use mpi::collective::SystemOperation;
//!
//! /// Sums every process's value by point-to-point messages; rank 0 receives them in the order of arrival.
//! fn total(world: &impl Communicator, mine: f64) -> f64 {
//!     let mut sum = mine;
//!     if world.rank() == 0 {
//!         for _ in 1..world.size() {
//!             let (one, _status) = world.any_process().receive::<f64>();
//!             sum += one;
//!         }
//!     } else {
//!         world.process_at_rank(0).send(&mine);
//!     }
//!     let mut checked = 0.0;
//!     world.all_reduce_into(&mine, &mut checked, SystemOperation::sum());
//!     world.process_at_rank(0).broadcast_into(&mut sum);
//!     assert_eq!(sum, checked);
//!     sum
//! }
//! ```
//!
//! ```text
//! collective     point_to_point     communication of communicators, processes and roots
//! topology                          communicators, groups, grids, graphs
//! window                            one-sided communication: windows, epochs, operations
//! request                           scopes, requests, operations in progress
//! datatype    status                buffers, datatypes, views; status of a message
//! attribute                         values attached to a communicator
//! info                              hints from the program, as keys and values
//! tools                             MPI_T variables of the job and of the device
//! environment    process            initialization and finalization; the calling process
//! recording                         records of the calls, for the tool's traces and checks
//! ```
//!
//! # Errors
//! A call under an rsmpi name returns its result. An error aborts the job with a message that contains the rank, the
//! call and the remedy, as under MPI_ERRORS_ARE_FATAL (MPI-3.1 section 8.3).
//! [`try_run`](collective::Collective::try_run) runs a collective and returns its [error](midplane_objects::Error) as a value.
//! Other calls that can fail for a reason outside the program provide a `try_` form, as under MPI_ERRORS_RETURN.
//! Argument errors that are detected before communication starts, such as a rank outside the communicator, panic where
//! rsmpi panics, too.
//!
//! # Memory
//! A blocking call allocates nothing from the program's heap unless its documentation says so. A request uses one slot
//! of its scope.

#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

/// Implements `Debug` for a type by printing its name only.
macro_rules! opaque {
    ($name:literal, [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> core::fmt::Debug for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct($name).finish_non_exhaustive()
            }
        }
    };
}

/// The text that identifies a call in a message: its Rust name and its MPI function.
macro_rules! called {
    ($owner:expr, $name:ident, $mpi:literal) => {
        concat!($owner, "::", stringify!($name), " (", $mpi, ")")
    };
}

/// Defines calls that can fail, one per row: name, MPI function and body. `$owner` is the type's path in messages.
/// `$here`, the object or [`NoObject`], aborts the job on an error. With `or`, a `try_` form that returns the error is
/// defined, too. Free functions use `fn` without a receiver list.
macro_rules! ends_the_job {
    ($owner:literal, [$vis:vis fn], $here:expr; $($rows:tt)*) => {
        ends_the_job! { @rows [] $owner, [$vis fn ()], $here; $($rows)* }
    };
    ($owner:literal, [$vis:vis fn $receiver:tt], $here:expr; $($rows:tt)*) => {
        ends_the_job! { @rows [Self::] $owner, [$vis fn $receiver], $here; $($rows)* }
    };
    (
        @rows $path:tt $owner:literal, $fn:tt, $here:expr;
        $(
            $(#[$doc:meta])*
            $name:ident[$($generics:tt)*]($($arg:ident: $type:ty),*) $(-> $result:ty)? $(where [$($bounds:tt)*])?,
                $mpi:literal $(; $(#[$try_doc:meta])* or $try:ident)? = $body:expr;
        )*
    ) => {$(
        ends_the_job! {
            @row $fn [$(#[$doc])*] [called!($owner, $name, $mpi)]
            [$name[$($generics)*]($($arg: $type),*) [($($result)?)] [$($($bounds)*)?]]
            $path [$([$(#[$try_doc])*] $try)?] $here => $body
        }
    )*};
    (
        @row [$vis:vis fn ($(&$self:ident)? $($own:ident)?)] [$(#[$doc:meta])*] [$function:expr]
        [$name:ident[$($generics:tt)*]($($arg:ident: $type:ty),*) [$result:ty] [$($bounds:tt)*]]
        $path:tt [] $here:expr => $body:expr
    ) => {
        $(#[$doc])*
        #[track_caller]
        #[allow(unused_parens)]
        $vis fn $name<$($generics)*>($(&$self,)? $($own,)? $($arg: $type),*) -> $result where $($bounds)* {
            $here.or_fatal($function, $body)
        }
    };
    (
        @row [$vis:vis fn ($(&$self:ident)? $($own:ident)?)] $doc:tt $function:tt
        [$name:ident[$($generics:tt)*]($($arg:ident: $type:ty),*) [$result:ty] [$($bounds:tt)*]]
        [$($path:tt)*] [[$(#[$try_doc:meta])*] $try:ident] $here:expr => $body:expr
    ) => {
        ends_the_job! {
            @row [$vis fn ($(&$self)? $($own)?)] $doc $function
            [$name[$($generics)*]($($arg: $type),*) [$result] [$($bounds)*]]
            [] [] $here => $($path)* $try($($self,)? $($own,)? $($arg),*)
        }

        $(#[$try_doc])*
        #[cfg_attr(feature = "options", track_caller)]
        #[allow(unused_parens)]
        $vis fn $try<$($generics)*>(
            $(&$self,)? $($own,)? $($arg: $type),*
        ) -> Result<$result, midplane_objects::Error> where $($bounds)* {
            $body
        }
    };
}

pub mod attribute;
pub mod collective;
pub mod datatype;
pub mod environment;
pub mod info;
pub mod point_to_point;
#[allow(unsafe_code)]
pub mod process;
mod recording;
#[allow(unsafe_code)]
pub mod request;
mod status;
pub mod tools;
pub mod topology;
pub mod window;

/// All traits: `use mpi::traits::*`.
pub mod traits {
    pub use super::attribute::traits::*;
    pub use super::collective::traits::*;
    pub use super::datatype::traits::*;
    pub use super::point_to_point::traits::*;
    pub use super::request::traits::*;
    pub use super::topology::traits::*;
    pub use super::window::traits::*;
}

pub use environment::{Threading, initialize, initialize_with_threading, time, time_resolution};
pub(crate) use process::{NoObject, fatal};
pub use topology::Rank;

/// Element count.
pub type Count = i32;
/// Message tag: 0 to 2147483647.
pub type Tag = i32;
/// Displacement or address, in bytes.
pub type Address = isize;
