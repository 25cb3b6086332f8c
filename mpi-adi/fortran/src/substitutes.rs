//! Contiguous copies of strided arrays, for nonblocking collectives: count and datatype do not describe the whole array,
//! or the operation accepts predefined datatypes only.
//!
//! A copy contains the elements in array element order. At the completion, the elements that the collective has changed
//! are copied back. The others may have other values by then, since only the elements of the receive buffer belong to
//! the collective. To find them, a second copy keeps the previous values.

use alloc::vec::Vec;
use core::ffi::{c_int, c_longlong, c_void};

use midplane_c::addresses::is_in_place;
use midplane_c::{AtCompletion, CountArray, Handle, array_length};
use midplane_objects::error::Error;

use crate::addresses::c_buffer;
use crate::descriptor::{Array, Descriptor};

/// Substitutes of the arguments of a call. The heap contains one copy of a strided send buffer, and two of a strided
/// receive buffer, until the collective is complete.
pub(crate) struct Substitutes {
    function: &'static str,
    copies: [Option<ArrayCopy>; 2],
}

/// Memory with the greatest alignment of an element.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Unit([u8; 16]);

struct ArrayCopy {
    array: Array,
    elements: Vec<Unit>,
    /// The values at the start; empty if the collective only reads the array.
    previous: Vec<Unit>,
}

// SAFETY: the array is memory of the process, which one thread executes.
unsafe impl Send for ArrayCopy {}

impl Substitutes {
    pub(crate) fn new(function: &'static str) -> Self {
        Self {
            function,
            copies: [None, None],
        }
    }

    /// Returns the address of the array, or of its copy if it is strided. The error code if the heap is full.
    ///
    /// # Safety
    /// `descriptor` refers to a descriptor.
    pub(crate) unsafe fn contiguous(
        &mut self,
        descriptor: *const Descriptor,
        is_result: bool,
    ) -> Result<*mut c_void, c_int> {
        // SAFETY: guaranteed by the caller.
        let array = unsafe { Array::read(descriptor) };
        if array.is_contiguous() {
            return Ok(c_buffer(array.address));
        }
        // SAFETY: guaranteed by the caller.
        let copy = unsafe { ArrayCopy::new(array, is_result) };
        let mut copy = copy.map_err(|error| midplane_c::fail(self.function, error))?;
        let address = copy.elements.as_mut_ptr().cast();
        if let Some(place) = self.copies.iter_mut().find(|place| place.is_none()) {
            *place = Some(copy);
        }
        Ok(address)
    }

    /// Starts the collective by `call`, which stores its request and returns the error code.
    ///
    /// # Safety
    /// `request` refers to a handle. The arrays exist until the collective is complete.
    pub(crate) unsafe fn start(self, request: *mut Handle, call: impl FnOnce() -> c_int) -> c_int {
        if self.copies.iter().all(Option::is_none) {
            return call();
        }
        midplane_c::start_with_action(self.function, self, || {
            let code = call();
            // SAFETY: guaranteed by the caller.
            (code, unsafe { *request }.value())
        })
    }
}

impl AtCompletion for Substitutes {
    fn run(&mut self) {
        for copy in self.copies.iter().flatten() {
            copy.write_back();
        }
    }
}

impl ArrayCopy {
    /// Copies the elements of an array. Fails with [`Error::NoSpace`].
    ///
    /// # Safety
    /// The array exists.
    unsafe fn new(array: Array, is_result: bool) -> Result<Self, Error> {
        let mut copy = Self {
            array,
            elements: Vec::new(),
            previous: Vec::new(),
        };
        let bytes = copy.array.element_bytes() * copy.array.elements();
        let units = bytes.div_ceil(size_of::<Unit>());
        let full = |_| Error::NoSpace { bytes };
        copy.elements.try_reserve_exact(units).map_err(full)?;
        copy.elements.resize(units, Unit([0; 16]));
        let mut to: *mut u8 = copy.elements.as_mut_ptr().cast();
        let element_bytes = copy.array.element_bytes();
        copy.array.for_each(|element| {
            // SAFETY: an element of the array, and a place for it in the copy.
            unsafe {
                core::ptr::copy_nonoverlapping(element, to, element_bytes);
                to = to.add(element_bytes);
            }
        });
        if is_result {
            copy.previous.try_reserve_exact(units).map_err(full)?;
            copy.previous.extend_from_slice(&copy.elements);
        }
        Ok(copy)
    }

    /// Copies the changed elements to the array.
    fn write_back(&self) {
        if self.previous.is_empty() {
            return;
        }
        let element_bytes = self.array.element_bytes();
        let mut at = 0;
        let (now, before): (*const u8, *const u8) = (self.elements.as_ptr().cast(), self.previous.as_ptr().cast());
        self.array.for_each(|element| {
            // SAFETY: both copies contain as many elements as the array, which exists until the completion.
            unsafe {
                let now = core::slice::from_raw_parts(now.add(at), element_bytes);
                let before = core::slice::from_raw_parts(before.add(at), element_bytes);
                if now != before {
                    core::ptr::copy_nonoverlapping(now.as_ptr(), element, element_bytes);
                }
            }
            at += element_bytes;
        });
    }
}

/// An array of large counts or displacements as C's integers, during a call: a nonblocking collective copies it.
pub(crate) struct SmallIntegers(Vec<c_int>);

impl SmallIntegers {
    /// Converts the first `length` integers. The error code of `function` if one does not fit, or the heap is full.
    ///
    /// # Safety
    /// `integers` refers to as many integers.
    pub(crate) unsafe fn new(
        function: &'static str,
        integers: *const c_longlong,
        length: impl Into<c_longlong>,
    ) -> Result<Self, c_int> {
        let length = usize::try_from(length.into()).unwrap_or(0);
        let mut small = Vec::new();
        if small.try_reserve_exact(length).is_err() {
            let bytes = length.saturating_mul(size_of::<c_int>());
            return Err(midplane_c::fail(function, Error::NoSpace { bytes }));
        }
        for at in 0..length {
            // SAFETY: guaranteed by the caller.
            let count = unsafe { *integers.add(at) };
            match c_int::try_from(count) {
                Ok(count) => small.push(count),
                Err(_) => return Err(midplane_c::fail(function, Error::Count { count })),
            }
        }
        Ok(Self(small))
    }

    /// Converts an array that the call on `comm` reads, unless `buffer` is MPI_IN_PLACE.
    ///
    /// # Safety
    /// `integers` refers to as many integers as the call reads.
    pub(crate) unsafe fn of_call(
        function: &'static str,
        integers: *const c_longlong,
        comm: c_int,
        array: CountArray,
        buffer: *const c_void,
    ) -> Result<Self, c_int> {
        let length = match is_in_place(buffer) {
            true => 0,
            false => array_length(comm, array),
        };
        // SAFETY: guaranteed by the caller.
        unsafe { Self::new(function, integers, length as c_longlong) }
    }

    pub(crate) fn as_ptr(&self) -> *const c_int {
        self.0.as_ptr()
    }
}
