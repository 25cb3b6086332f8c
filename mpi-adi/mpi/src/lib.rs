//! MPI-3.1 for Rust programs, with the names and traits of [rsmpi](https://docs.rs/mpi/0.8), typed and without unsafe
//! code.
//!
//! The same program runs on bare-metal torus nodes, on microcontroller boards and as Linux processes. A program written
//! for rsmpi 0.8 runs unchanged on Linux; nodes and boards require a `no_std` entry point. `docs/rust.md` explains how
//! to build and run, and lists the status of every rsmpi name. This crate re-exports the [Rust binding](midplane_rust)
//! of Midplane and adds [`#[derive(Equivalence)]`](traits::Equivalence).
//!
//! ```no_run
//! use mpi::traits::*;
//!
//! let universe = mpi::initialize().unwrap();
//! let world = universe.world();
//! let next = world.process_at_rank((world.rank() + 1) % world.size());
//! next.send(&world.rank());
//! let (from, status) = world.any_process().receive::<mpi::Rank>();
//! assert_eq!(from, status.source_rank());
//! ```
//!
//! `cargo midplane run --on linux -n 4 prog.rs` starts four Linux processes; `cargo run` starts a world of one process.
//! A program for nodes declares its entry point with `kernel_rt::program!(main)`.
//!
//! # Where to find the calls
//!
//! | MPI calls | here |
//! |---|---|
//! | MPI_Init, MPI_Finalize, MPI_Wtime | [`initialize`], [`time`], [`environment`] |
//! | MPI_Send and its modes, MPI_Recv, MPI_Probe, persistent requests | [`point_to_point`] |
//! | MPI_Isend, MPI_Irecv, MPI_Wait, MPI_Test, generalized requests | [`request`] |
//! | MPI_Bcast, MPI_Allreduce, nonblocking and neighbourhood collectives, MPI_Op_create | [`collective`] |
//! | communicators, groups, Cartesian and graph topologies, MPI_Pack | [`topology`] |
//! | MPI_Put, MPI_Get, MPI_Accumulate, windows and epochs | [`window`] |
//! | datatypes, buffers, MPI_Pack_external | [`datatype`] |
//! | attributes, info objects, MPI_T variables | [`attribute`], [`info`], [`tools`] |
//!
//! A call under an rsmpi name aborts the job on an error, like MPI_ERRORS_ARE_FATAL. The `try_` forms return a
//! [`Result`] with an [`Error`], like MPI_ERRORS_RETURN.
//!
//! # Structs in messages
//!
//! The derive makes a struct of numbers usable as a message element. Padding between its fields is not transmitted.
//!
//! ```
//! use mpi::collective::UserOperation;
//! use mpi::traits::*;
//!
//! #[derive(Clone, Copy, Default, Equivalence)]
//! struct Particle {
//!     alive: bool,
//!     position: [f64; 3],
//!     cell: (u16, i32),
//! }
//!
//! assert_eq!(Particle::equivalent_datatype().dup().size(), 1 + 3 * 8 + 2 + 4);
//!
//! /// Returns the particle with the maximum x over all processes.
//! fn rightmost(world: &impl Communicator, mine: Particle) -> Particle {
//!     let mut found = Particle::default();
//!     let further = UserOperation::commutative(|x, y| {
//!         let (x, y) = (x.downcast::<Particle>().unwrap(), y.downcast::<Particle>().unwrap());
//!         for (x, y) in x.iter().zip(y) {
//!             if x.position[0] > y.position[0] {
//!                 *y = *x;
//!             }
//!         }
//!     });
//!     world.all_reduce_into(&mine, &mut found, &further);
//!     found
//! }
//! ```
//!
//! A type that contains anything but numbers is rejected at compile time:
//!
//! ```compile_fail,E0277
//! #[derive(mpi::traits::Equivalence)]
//! struct Reference {
//!     name: &'static str,
//! }
//! ```
//!
//! ```compile_fail
//! #[derive(mpi::traits::Equivalence)]
//! enum Answer {
//!     Yes,
//!     No,
//! }
//! ```
//!
//! A value without a datatype cannot be sent:
//!
//! ```compile_fail,E0277
//! use mpi::traits::*;
//!
//! fn send(world: &impl Communicator) {
//!     world.process_at_rank(0).send("text");
//! }
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
kernel_rt::starts_by_itself!();

// The executable's entry calls it, and nothing here names it.
#[cfg(all(target_os = "linux", feature = "sim"))]
extern crate midplane_carrier as _;

pub use midplane_objects::{Error, ErrorClass};
pub use midplane_rust::*;

/// All traits, and the derive macro for `Equivalence`: `use mpi::traits::*`.
pub mod traits {
    pub use midplane_rust::traits::*;
    pub use mpi_derive::Equivalence;
}
