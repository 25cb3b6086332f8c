//! Handles: an INTEGER in Fortran, the value of the pointer that C has ([`Handle`]).

use alloc::vec::Vec;
use core::ffi::{c_int, c_longlong, c_void};

use midplane_c::addresses::is_in_place;
use midplane_c::{AtCompletion, CountArray, Handle, array_length};
use midplane_objects::error::Error;

/// Handles that require no memory of the heap.
const INLINE: usize = 32;

/// An array of handles as C has it, during a call.
pub(crate) struct HandleArray {
    length: usize,
    inline: [Handle; INLINE],
    /// The handles, if there are more.
    heap: Vec<Handle>,
}

impl HandleArray {
    /// Converts the first `length` handles. The error code of `function` if there are more than 32, and the heap is full.
    ///
    /// # Safety
    /// `handles` refers to as many integers.
    pub(crate) unsafe fn new(
        function: &'static str,
        handles: *const c_int,
        length: impl Into<c_longlong>,
    ) -> Result<Self, c_int> {
        let length = usize::try_from(length.into()).unwrap_or(0);
        let mut array = Self {
            length,
            inline: [Handle::new(0); INLINE],
            heap: Vec::new(),
        };
        if length > INLINE {
            if array.heap.try_reserve_exact(length).is_err() {
                let bytes = length.saturating_mul(size_of::<Handle>());
                return Err(midplane_c::fail(function, Error::NoSpace { bytes }));
            }
            array.heap.resize(length, Handle::new(0));
        }
        for (at, handle) in array.handles().iter_mut().enumerate() {
            // SAFETY: guaranteed by the caller.
            *handle = Handle::new(unsafe { *handles.add(at) });
        }
        Ok(array)
    }

    /// Converts an array that the call on `comm` reads, unless `buffer` is MPI_IN_PLACE. Fails like [`HandleArray::new`].
    ///
    /// # Safety
    /// `handles` refers to as many integers as the call reads.
    pub(crate) unsafe fn of_call(
        function: &'static str,
        handles: *const c_int,
        comm: c_int,
        array: CountArray,
        buffer: *const c_void,
    ) -> Result<Self, c_int> {
        let length = if is_in_place(buffer) {
            0
        } else {
            array_length(comm, array)
        };
        // SAFETY: guaranteed by the caller.
        unsafe { Self::new(function, handles, length as c_longlong) }
    }

    pub(crate) fn handles(&mut self) -> &mut [Handle] {
        match self.length {
            0..=INLINE => &mut self.inline[..self.length],
            _ => &mut self.heap,
        }
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut Handle {
        self.handles().as_mut_ptr()
    }

    /// Stores the handles after the call.
    ///
    /// # Safety
    /// `handles` refers to as many integers as have been converted.
    pub(crate) unsafe fn write(&mut self, handles: *mut c_int) {
        for (at, handle) in self.handles().iter().enumerate() {
            // SAFETY: guaranteed by the caller.
            unsafe { *handles.add(at) = handle.value() };
        }
    }
}

/// A handle that C stores when a request completes.
struct PendingHandle {
    /// One handle, at an address that does not change.
    handle: Vec<Handle>,
    place: *mut c_int,
}

// SAFETY: the place is memory of the process, which one thread executes.
unsafe impl Send for PendingHandle {}

impl AtCompletion for PendingHandle {
    fn run(&mut self) {
        if let [handle] = self.handle[..] {
            // SAFETY: guaranteed by the caller of `store_at_completion`.
            unsafe { *self.place = handle.value() };
        }
    }
}

/// Starts a collective by `call`, which gets the places of a handle and of the request, and stores the handle at its
/// completion. Returns the error code of `call`, or that of a full heap.
///
/// # Safety
/// `place` refers to an integer until the collective is complete, and `request` to one now.
pub(crate) unsafe fn store_at_completion(
    function: &'static str,
    place: *mut c_int,
    request: *mut c_int,
    call: impl FnOnce(*mut Handle, *mut Handle) -> c_int,
) -> c_int {
    let mut handle = Vec::new();
    if handle.try_reserve_exact(1).is_err() {
        let bytes = size_of::<Handle>();
        return midplane_c::fail(function, Error::NoSpace { bytes });
    }
    // SAFETY: guaranteed by the caller.
    handle.push(Handle::new(unsafe { *place }));
    let stored = handle.as_mut_ptr();
    midplane_c::start_with_action(function, PendingHandle { handle, place }, || {
        let mut started = Handle::new(0);
        let code = call(stored, &mut started);
        if code == midplane_c::constants::MPI_SUCCESS {
            // SAFETY: guaranteed by the caller.
            unsafe { (*place, *request) = ((*stored).value(), started.value()) };
        }
        (code, started.value())
    })
}
