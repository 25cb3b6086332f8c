//! The Rust binding: MPI for programs in Rust, typed, without unsafe code for its users.
//!
//! Its names and traits are those of [rsmpi](https://docs.rs/mpi/0.8), the crate `mpi`: a program that was written for
//! it needs the head that a program on nodes has, and its imports of the standard library changed. Programs use it as
//! the crate `mpi`, which has `#[derive(Equivalence)]`, too; `docs/rust.md` has the table of names.
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::traits::*;
//! use mpi::collective::SystemOperation;
//!
//! /// Adds up every process's number, the long way round: rank 0 receives in the order of arrival.
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
//! collective     point_to_point     what communicators, processes and roots do
//! topology                          communicators, groups, grids, graphs
//! window                            one-sided communication: windows, epochs, operations
//! request                           scopes, requests, what is under way
//! datatype    status                buffers, datatypes, views; what is known of a message
//! attribute                         values attached to a communicator
//! info                              what a program says to MPI by keys and values
//! tools                             variables of the job and of the device
//! environment    process            start and end; the process that asks
//! ```
//!
//! # Errors
//! A call under a name of rsmpi gives its result, and an error ends the job with a message that names the rank, the call
//! and what to do, as under MPI_ERRORS_ARE_FATAL (MPI-3.1 section 8.3). A collective whose result is the
//! [error](midplane_objects::Error) is [run](collective::Collective::try_run) by its value; other calls that can fail for a reason
//! outside of the program have a form with `try_` in front, as under MPI_ERRORS_RETURN.
//! Mistakes that are known before anything happens, such as a rank that a communicator does not have, panic where rsmpi
//! panics, too.
//!
//! # Memory
//! A call that blocks takes nothing of the program's heap but where it says so. A request takes a place in its scope.

#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

/// Of a type, its name is told, and nothing of what it has.
macro_rules! opaque {
    ($name:literal, [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> core::fmt::Debug for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct($name).finish_non_exhaustive()
            }
        }
    };
}

/// How a call is named in a message: in Rust, and its MPI function.
macro_rules! called {
    ($owner:expr, $name:ident, $mpi:literal) => {
        concat!($owner, "::", stringify!($name), " (", $mpi, ")")
    };
}

/// Calls that can fail, a row for each: its name, whose error ends the job, its MPI function, and what is done. `$here` ends
/// the job: that of the object, or [`NoObject`]. With `or`, the form whose error is the result is made, too. Functions of no
/// type have `fn` without a list.
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
pub use topology::Rank;

use midplane_objects::error::Error;

/// A number of elements.
pub type Count = i32;
/// A message's tag: 0 to 2147483647.
pub type Tag = i32;
/// A distance in memory, or an address, in bytes.
pub type Address = isize;

/// Of a call that belongs to no communicator or window.
pub(crate) struct NoObject;

impl NoObject {
    #[track_caller]
    pub(crate) fn or_fatal<T>(self, function: &'static str, result: Result<T, Error>) -> T {
        fatal(function, result)
    }
}

/// The result of a call of `function` that belongs to no object; an error ends the job.
#[track_caller]
pub(crate) fn fatal<T>(function: &'static str, result: Result<T, Error>) -> T {
    let error = match result {
        Ok(value) => return value,
        Err(error) => error,
    };
    match process::current() {
        Some(here) => here.fatal(function, error),
        None => panic!("{function}: {error}"),
    }
}
