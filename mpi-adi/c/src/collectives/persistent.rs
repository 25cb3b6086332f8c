//! Persistent collectives (MPI-4.0 sections 6.13 and 8.8): the arguments of a nonblocking one, which each MPI_Start
//! starts with the same sequence number.
//!
//! A persistent request holds its communicator, its datatypes and its operation, which the program may free, and copies of
//! its arrays: programs such as mpi4py free these after the call.

use alloc::vec::Vec;
use core::ffi::c_int;

use crate::args;
use crate::collectives::arguments::{CollectiveArgs, PersistentCollective, RequestTarget, StartFn};
use crate::collectives::array_lengths::{CountArray, array_length};
use crate::comm_objects::{self, CommViews};
use crate::counts::{IntArray, KeptInts};
use crate::datatypes::{TryArc, another_handle, free_handle};
use crate::error_dispatch::on_any;
use crate::infos::check_hints;
use crate::requests::{PersistentCall, PersistentRequest, enter_persistent};
use crate::types::Handle;
use crate::types::constants::{MPI_OP_NULL, MPI_REQUEST_NULL, MPI_SUCCESS};
use crate::user_ops;
use midplane_objects::coll::try_with_capacity;
use midplane_objects::error::Error;
use midplane_objects::process::Env;

/// Returns the numbers of blocks that this process sends and receives.
pub(super) type BlockCountFn = fn(&'static dyn Env, &CommViews) -> Result<(usize, usize), Error>;

/// Returns the blocks of a collective among all processes: one for each partner.
pub(super) fn processes(_: &'static dyn Env, views: &CommViews) -> Result<(usize, usize), Error> {
    let size = views.partners.size as usize;
    Ok((size, size))
}

/// Creates the nonblocking and the persistent function of each collective.
macro_rules! entries {
    ($blocks:ident; $(
        $nonblocking:ident $persistent:ident = $start:ident($($parameter:ident: $type:ty),*);
    )*) => {$(
        #[inline(always)]
        pub unsafe fn $nonblocking($($parameter: $type,)* request: *mut Handle) -> c_int {
            let args = CollectiveArgs {
                $($parameter: $parameter.into(),)*
                ..CollectiveArgs::NONE
            };
            // SAFETY: the standard's requirements on the arguments and `request`.
            unsafe { $start(stringify!($nonblocking), &args, RequestTarget::Start(request)) }
        }

        #[inline(always)]
        pub unsafe fn $persistent($($parameter: $type,)* info: c_int, request: *mut Handle) -> c_int {
            let args = CollectiveArgs {
                $($parameter: $parameter.into(),)*
                ..CollectiveArgs::NONE
            };
            // SAFETY: the standard's requirements on the arguments, until the request is freed, and on `request`.
            unsafe {
                $crate::collectives::persistent::init(stringify!($persistent), $start, args, $blocks, info, request)
            }
        }
    )*};
}
pub(super) use entries;

impl PersistentCollective {
    /// Replaces a datatype's handle by one that the program cannot free.
    fn hold(&mut self, handle: c_int) -> Result<c_int, Error> {
        let Some(own) = another_handle(handle)? else {
            return Ok(handle);
        };
        if self.datatypes.try_reserve(1).is_err() {
            // It has just been created.
            let _ = free_handle(own);
            return Err(Error::NoSpace {
                bytes: size_of::<c_int>(),
            });
        }
        self.datatypes.push(own);
        Ok(own)
    }

    /// Holds the datatypes of an array, and returns an array of their handles.
    ///
    /// # Safety
    /// `types` must satisfy [`args::array`].
    unsafe fn hold_all(&mut self, types: *const Handle, count: usize) -> Result<Vec<Handle>, Error> {
        // SAFETY: guaranteed by the caller.
        let types = unsafe { args::array(types, count, "the array of datatypes") }?;
        let mut own = try_with_capacity(count)?;
        for handle in types {
            own.push(Handle::new(self.hold(handle.value())?));
        }
        Ok(own)
    }

    /// Copies an array of this many items, and returns the copy; nothing for a null pointer.
    ///
    /// # Safety
    /// See [`IntArray::items`].
    unsafe fn copy(&mut self, array: IntArray, count: usize) -> Result<IntArray, Error> {
        if array.is_null() {
            return Ok(array);
        }
        // SAFETY: guaranteed by the caller.
        let kept = unsafe { array.items(count, "an array of counts or displacements") }?.kept()?;
        let copy = kept.as_array();
        let bytes = size_of::<KeptInts>();
        self.counts.try_reserve(1).map_err(|_| Error::NoSpace { bytes })?;
        self.counts.push(kept);
        Ok(copy)
    }

    /// Copies the arrays of counts and displacements that have a meaning in this process. `own` is the number of processes
    /// of its group.
    ///
    /// # Safety
    /// They must satisfy [`IntArray::items`] with these numbers of items, unless they are null.
    unsafe fn copy_counts(&mut self, (sends, receives): (usize, usize), own: usize) -> Result<(), Error> {
        let args = self.args;
        let is_rooted = matches!(self.function, "MPI_Gatherv_init" | "MPI_Scatterv_init");
        if is_rooted && array_length(args.comm, CountArray::PartnersAtRoot(args.root)) == 0 {
            return Ok(());
        }
        let is_reduction = args.op != MPI_OP_NULL;
        let received = if is_reduction { own } else { receives };
        let displaced = if args.sendcounts.is_null() { receives } else { sends };
        // SAFETY: guaranteed by the caller.
        unsafe {
            if is_rooted || !args::is_in_place(args.sendbuf) {
                self.args.sendcounts = self.copy(args.sendcounts, sends)?;
                self.args.sdispls = self.copy(args.sdispls, sends)?;
            }
            self.args.recvcounts = self.copy(args.recvcounts, received)?;
            self.args.rdispls = self.copy(args.rdispls, receives)?;
            self.args.displs = self.copy(args.displs, displaced)?;
        }
        Ok(())
    }

    /// Holds the datatypes and the operation.
    ///
    /// # Safety
    /// The arrays of datatypes must satisfy [`args::array`] with these numbers of items, unless they are null.
    unsafe fn hold_arguments(&mut self, (sends, receives): (usize, usize)) -> Result<(), Error> {
        self.args.datatype = self.hold(self.args.datatype)?;
        self.args.sendtype = self.hold(self.args.sendtype)?;
        self.args.recvtype = self.hold(self.args.recvtype)?;
        if !self.args.sendtypes.is_null() && !args::is_in_place(self.args.sendbuf) {
            // SAFETY: guaranteed by the caller.
            self.arrays[0] = unsafe { self.hold_all(self.args.sendtypes, sends) }?;
            self.args.sendtypes = self.arrays[0].as_ptr();
        }
        if !self.args.recvtypes.is_null() {
            // SAFETY: guaranteed by the caller.
            self.arrays[1] = unsafe { self.hold_all(self.args.recvtypes, receives) }?;
            self.args.recvtypes = self.arrays[1].as_ptr();
        }
        if let Some(op) = user_ops::get(self.args.op) {
            self.op = user_ops::add(op)?;
            self.args.op = self.op;
        }
        Ok(())
    }
}

fn restart(collective: &PersistentCollective, active: &mut Handle) -> c_int {
    let PersistentCollective { args, number, .. } = collective;
    let target = RequestTarget::Restart {
        number: *number,
        request: active,
    };
    let mut code = MPI_SUCCESS;
    // The program may have freed the communicator.
    comm_objects::call_with_comm(args.comm, |_| {
        // SAFETY: the standard's requirements on the arguments, until the request is freed.
        code = unsafe { (collective.start)(collective.function, args, target) };
    });
    code
}

fn release(collective: &PersistentCollective) {
    // Each has been created by `hold_arguments`.
    for handle in &collective.datatypes {
        let _ = free_handle(*handle);
    }
    if collective.op != MPI_OP_NULL {
        let _ = user_ops::remove(collective.op);
    }
}

/// Creates a persistent collective in a call of `function`. All processes create those of a communicator in the same
/// order.
///
/// # Safety
/// See [`StartFn`], until the request is freed.
pub(super) unsafe fn init(
    function: &'static str,
    start: StartFn,
    args: CollectiveArgs,
    blocks: BlockCountFn,
    info: c_int,
    request: *mut Handle,
) -> c_int {
    // SAFETY: guaranteed by the caller.
    let code = unsafe { start(function, &args, RequestTarget::Check) };
    if code != MPI_SUCCESS {
        return code;
    }
    on_any(function, args.comm, |env, views| {
        check_hints(info)?;
        // SAFETY: guaranteed by the caller.
        let request = unsafe { args::out(request, "request") }?;
        let context = views.context();
        let mut collective = PersistentCollective {
            function,
            start,
            args,
            number: comm_objects::count_collectives(context, 0),
            datatypes: Vec::new(),
            arrays: [Vec::new(), Vec::new()],
            counts: Vec::new(),
            op: MPI_OP_NULL,
            restart,
            release,
        };
        // SAFETY: guaranteed by the caller.
        unsafe {
            let blocks = blocks(env, &views)?;
            collective.hold_arguments(blocks)?;
            collective.copy_counts(blocks, views.local.size as usize)?;
        }
        *request = Handle::new(enter_persistent(PersistentRequest {
            call: PersistentCall::Collective(TryArc::new(collective)?),
            partners: views.partners,
            active: MPI_REQUEST_NULL,
        })?);
        comm_objects::hold(views.partners.context);
        comm_objects::count_collectives(context, 1);
        Ok(())
    })
}
