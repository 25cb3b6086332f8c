//! Handles: an INTEGER in Fortran, the value of the pointer that C has ([`Handle`]).

use alloc::vec::Vec;
use core::ffi::{c_int, c_longlong, c_void};

use midplane_c::addresses::is_in_place;
use midplane_c::{CountArray, Handle, array_length};
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

/// Stores a handle that C returns.
///
/// # Safety
/// `place` refers to an integer.
pub(crate) unsafe extern "C" fn store(place: *mut c_int, handle: Handle) {
    // SAFETY: guaranteed by the caller.
    unsafe { *place = handle.value() };
}
