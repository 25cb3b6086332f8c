//! MPI for programs in Rust: what `use mpi::...` finds in a program that runs on nodes.
//!
//! Names and traits are those of [rsmpi](https://docs.rs/mpi/0.8); the table in `docs/rust.md` says for each of them what
//! there is here. This crate is the [Rust binding](midplane_rust) of Midplane under that name, with
//! [`#[derive(Equivalence)]`](traits::Equivalence).
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
//! # Structs in messages
//! A struct of numbers is an element of messages by a derive; holes between its fields do not travel.
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
//! /// The particle with the greatest x of all processes.
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
//! What is no number cannot travel:
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
//! A value of another type cannot be sent:
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

pub use midplane_objects::{Class, Error};
pub use midplane_rust::*;

/// All traits, and the macro that derives `Equivalence`: `use mpi::traits::*`.
pub mod traits {
    pub use midplane_rust::traits::*;
    pub use mpi_derive::Equivalence;
}
