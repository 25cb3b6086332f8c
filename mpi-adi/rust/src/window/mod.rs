//! One-sided communication (MPI-3.1 chapter 11): windows, epochs, operations.
//!
//! rsmpi has none of it; the names are in its style. A [`Window`] is memory that each process of a communicator exposes
//! to all. Its memory is got at in an [`Epoch`], which a call of [`Epochs`] opens; what can be done in it is on a
//! [`Target`]:
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::collective::SystemOperation;
//! use mpi::traits::*;
//! use mpi::window::Window;
//!
//! /// Each process draws a number of its own, and gives its right neighbour a greeting.
//! fn draw(world: &impl Communicator) -> (u64, u64) {
//!     let mut window = Window::<u64>::allocate(2, world);
//!     let right = (world.rank() + 1) % world.size();
//!     let lock = window.lock_shared(0);
//!     let drawn = lock.target().fetch_and_op(0, &1u64, SystemOperation::sum());
//!     lock.unlock();
//!     let epoch = window.fence();
//!     epoch.process_at_rank(right).put(1, &drawn);
//!     epoch.end();
//!     let greeting = window.local()[1];
//!     (drawn, greeting)
//! }
//! ```
//!
//! | calls of MPI | here |
//! |---|---|
//! | MPI_Win_create, _allocate, _allocate_shared, _create_dynamic | [`Window::create`], [`Window::allocate`], [`Window::try_allocate_shared`], [`DynamicWindow::create`] |
//! | MPI_Win_attach, _detach, _free | [`DynamicWindow::attach`]; dropping |
//! | MPI_Win_get_group, _set_name, _get_name, _set_info, _get_info, _set_attr, _get_attr, _delete_attr | [`AnyWindow`] |
//! | MPI_WIN_BASE, _SIZE, _DISP_UNIT | [`Window::local`], [`Window::len`], the size of the element |
//! | MPI_Win_fence | [`Epochs::fence`], then [`Epoch::next`] and [`Epoch::end`] |
//! | MPI_Win_start, _complete; _post, _wait, _test | [`Epochs::start`], [`Epoch::complete`]; [`Epochs::post`], [`Epoch::wait`], [`Epoch::test`] |
//! | MPI_Win_lock, _unlock; _lock_all, _unlock_all | [`Epochs::lock_exclusive`], [`Epochs::lock_shared`], [`Epoch::unlock`]; [`Epochs::lock_all`], [`Epoch::unlock_all`] |
//! | MPI_Win_flush, _flush_local; of all; _sync | [`Target::flush`], [`Target::flush_local`]; [`Epochs::flush_all`], [`Epochs::flush_local_all`]; [`AnyWindow::sync`] |
//! | MPI_Put, _Get, _Accumulate, _Get_accumulate, _Fetch_and_op, _Compare_and_swap | [`Target::put`] and the others of these names |
//! | their forms with a request | the same with `immediate_` in front, in every epoch |
//! | MPI_Win_ifence and the others that do not block | the same with `immediate_` in front; to close an epoch, [`Epoch::immediate_close`] |
//! | loads and stores | [`Window::local`] for the memory as a slice; [`Window::load`] and [`Window::store`] beside others |
//!
//! Not here are MPI_MODE_NOCHECK, a promise that no compiler can check; error handlers, for which there are calls with
//! `try_` in front; and MPI_PROC_NULL as a target, where there is simply no operation.
//!
//! # What the compiler checks
//! There are operations in an epoch alone:
//!
//! ```compile_fail,E0382
//! # use midplane_rust as mpi;
//! # use mpi::traits::*;
//! # fn late(window: &mpi::window::Window<'_, u32>) {
//! let lock = window.lock_exclusive(0);
//! lock.unlock();
//! lock.target().put(0, &1u32);
//! # }
//! ```
//!
//! in one that gives access,
//!
//! ```compile_fail,E0599
//! # use midplane_rust as mpi;
//! # use mpi::traits::*;
//! # fn exposed(window: &mpi::window::Window<'_, u32>) {
//! let exposure = window.post(&window.group());
//! exposure.process_at_rank(0).put(0, &1u32);
//! # }
//! ```
//!
//! and flushes in one that can be flushed:
//!
//! ```compile_fail,E0599
//! # use midplane_rust as mpi;
//! # use mpi::traits::*;
//! # fn flush(window: &mpi::window::Window<'_, u32>) {
//! let epoch = window.fence();
//! epoch.process_at_rank(0).flush().unwrap();
//! # }
//! ```
//!
//! The window's own memory cannot be looked at while an epoch is open,
//!
//! ```compile_fail,E0502
//! # use midplane_rust as mpi;
//! # use mpi::traits::*;
//! # fn early(window: &mut mpi::window::Window<'_, u32>) {
//! let epoch = window.fence();
//! let first = window.local()[0];
//! epoch.end();
//! # }
//! ```
//!
//! nor be exposed while it is,
//!
//! ```compile_fail,E0502
//! # use midplane_rust as mpi;
//! # use mpi::traits::*;
//! # fn held(window: &mut mpi::window::Window<'_, u32>) {
//! let mut memory = window.local();
//! let epoch = window.fence();
//! memory[0] = 1;
//! # }
//! ```
//!
//! and memory of the program's own not before the window has gone with its scope:
//!
//! ```compile_fail,E0502
//! # use midplane_rust as mpi;
//! # use mpi::traits::*;
//! # fn lent(world: &impl Communicator) {
//! let mut memory = [0u32; 4];
//! mpi::request::scope(|scope| {
//!     let window = mpi::window::Window::create(scope, &mut memory[..], world);
//!     assert_eq!(memory[0], 0);
//! });
//! # }
//! ```
//!
//! A buffer of an operation that does not block cannot be read before a result is there,
//!
//! ```compile_fail,E0502
//! # use midplane_rust as mpi;
//! # use mpi::traits::*;
//! # fn peek(window: &mpi::window::Window<'_, u32>) {
//! let mut got = 0u32;
//! mpi::request::scope(|scope| {
//!     let lock = window.immediate_lock_shared(0);
//!     let get = lock.target().immediate_get_into(scope, 0, &mut got);
//!     lock.unlock();
//!     assert_eq!(got, 0);
//!     get.wait();
//! });
//! # }
//! ```
//!
//! nor be written before it has been read:
//!
//! ```compile_fail,E0506
//! # use midplane_rust as mpi;
//! # use mpi::traits::*;
//! # fn poke(window: &mpi::window::Window<'_, u32>) {
//! let mut mine = 1u32;
//! mpi::request::scope(|scope| {
//!     let epoch = window.immediate_fence();
//!     let put = epoch.process_at_rank(0).immediate_put(scope, 0, &mine);
//!     mine = 2;
//!     put.wait();
//! });
//! # }
//! ```
//!
//! # What is checked while it runs
//! What the types do not tell: epochs that exclude each other, elements beyond a part, a target that an epoch does not
//! include. An epoch that is dropped is closed, by a call that blocks; one that is forgotten stays open, and
//! [`Window::local`] fails then. While a process has its part to itself, an operation of another that no rule of MPI
//! allows there finds no memory, and fails with class RmaRange: no mistake of another process changes a slice.
//!
//! # Memory
//! As `docs/rma.md` has it, all of it of the program's heap. An operation that blocks takes none; one that does not,
//! 136 bytes and a place in its scope.

mod epochs;
#[allow(unsafe_code)]
mod memory;
mod record;
#[allow(unsafe_code)]
mod target;

pub use epochs::{Epoch, Epochs, Fence, Lock, LockAll, Passive, Post, Start, ToRanks};
pub use memory::{AnyWindow, Attached, DynamicWindow, Local, Window};
pub use midplane_device::rma::epochs::Reorder;
pub(crate) use record::{Record, Watched};
pub use target::{At, Target, WindowOperation};

/// The traits of this module.
pub mod traits {
    pub use super::{AnyWindow, Epochs};
}
