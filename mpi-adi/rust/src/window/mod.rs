//! One-sided communication (RMA, MPI-3.1 chapter 11): windows, epochs and operations.
//!
//! rsmpi does not provide RMA; the names follow its style. A [`Window`] is memory that each process of a communicator
//! exposes to all. A call of [`WindowEpochs`] opens an [`Epoch`], which permits access; a [`WindowTarget`] provides the operations:
//!
//! ```
//! # use midplane_rust as mpi;
//! use mpi::collective::SystemOperation;
//! use mpi::traits::*;
//! use mpi::window::Window;
//!
//! /// Each process draws a unique number from a shared counter, and sends it to its right neighbour.
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
//! | MPI_Win_fence | [`WindowEpochs::fence`], then [`Epoch::next`] and [`Epoch::end`] |
//! | MPI_Win_start, _complete; _post, _wait, _test | [`WindowEpochs::start`], [`Epoch::complete`]; [`WindowEpochs::post`], [`Epoch::wait`], [`Epoch::test`] |
//! | MPI_Win_lock, _unlock; _lock_all, _unlock_all | [`WindowEpochs::lock_exclusive`], [`WindowEpochs::lock_shared`], [`Epoch::unlock`]; [`WindowEpochs::lock_all`], [`Epoch::unlock_all`] |
//! | MPI_Win_flush, _flush_local; of all; _sync | [`WindowTarget::flush`], [`WindowTarget::flush_local`]; [`WindowEpochs::flush_all`], [`WindowEpochs::flush_local_all`]; [`AnyWindow::sync`] |
//! | MPI_Put, _Get, _Accumulate, _Get_accumulate, _Fetch_and_op, _Compare_and_swap | [`WindowTarget::put`] and the others of these names |
//! | their forms with a request | the same with `immediate_` in front, in every epoch |
//! | MPI_Win_ifence and other nonblocking calls | the same with `immediate_` in front; to close an epoch, [`Epoch::immediate_close`] |
//! | loads and stores | [`Window::local`] for the memory as a slice; [`Window::load`] and [`Window::store`] during others' accesses |
//!
//! Not supported are MPI_MODE_NOCHECK, a promise that no compiler can check; error handlers, which the `try_` forms
//! replace; and MPI_PROC_NULL as a target, where a program omits the operation.
//!
//! # Checks by the compiler
//! Operations require an epoch,
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
//! one that gives access,
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
//! and flushes require a passive-target epoch:
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
//! The window's local memory cannot be used while an epoch is open,
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
//! it cannot be exposed while it is used locally,
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
//! and the program's own memory cannot be used before the scope has freed the window:
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
//! The buffer of a nonblocking operation cannot be read before the result is complete,
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
//! and it cannot be written before it has been transmitted:
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
//! # Checks at run time
//! The types do not cover epochs that exclude each other, elements beyond a part, and targets outside an epoch. The
//! drop of an epoch closes it by a blocking call; a forgotten epoch remains open, and [`Window::local`] then returns an
//! error. While a process uses its part exclusively, an erroneous operation of another process finds no memory there
//! and returns class RmaRange: no mistake of another process changes a slice.
//!
//! # Memory
//! `docs/rma.md` lists the allocations, all from the program's heap. A blocking operation allocates nothing; a
//! nonblocking one uses 136 bytes and a slot in its scope.

mod epochs;
#[allow(unsafe_code)]
mod memory;
mod record;
#[allow(unsafe_code)]
mod target;

pub use epochs::{Epoch, FenceEpoch, LockAll, LockEpoch, PassiveEpoch, PostEpoch, StartEpoch, ToRanks, WindowEpochs};
pub use memory::{AnyWindow, AttachedMemory, DynamicWindow, LocalPart, Window};
pub use midplane_device::rma::epochs::ReorderFlags;
pub(crate) use record::{WatchedEvent, WindowRecord};
pub use target::{TargetLocation, WindowOperation, WindowTarget};

/// The traits of this module.
pub mod traits {
    pub use super::{AnyWindow, WindowEpochs};
}
