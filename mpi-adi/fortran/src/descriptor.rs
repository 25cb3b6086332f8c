//! Array descriptors (ISO/IEC TS 29113; Fortran 2018 section 18.5): a strided array as an address and a datatype.
//!
//! A message from a strided array contains its elements in array element order, as if they were contiguous. The buffer is
//! described by a derived datatype, so that no copy of the array exists: the operation may continue after the call.

use core::ffi::{c_int, c_void};

use midplane_c::Handle;
use midplane_c::constants::{MPI_BYTE, MPI_DATATYPE_NULL, MPI_SUCCESS};
use midplane_objects::error::Error;

use crate::addresses::c_buffer;

/// Maximum rank of an array (Fortran 2018 section 5.4.6).
const MAX_RANK: usize = 15;

/// Start of a `CFI_cdesc_t`, which the dimensions follow. GCC and LLVM have these fields at the same offsets.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Descriptor {
    address: *mut c_void,
    element_bytes: usize,
    version: c_int,
    rank: u8,
    others: [u8; 3],
}

/// `CFI_dim_t`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Dimension {
    lower_bound: isize,
    /// Number of elements; -1 in the last dimension of an array whose size is assumed.
    extent: isize,
    /// Distance of two elements in bytes.
    stride: isize,
}

impl Descriptor {
    pub(crate) fn element_bytes(&self) -> usize {
        self.element_bytes
    }
}

/// An array of the program.
pub(crate) struct Array {
    pub(crate) address: *mut c_void,
    element_bytes: usize,
    rank: usize,
    dimensions: [Dimension; MAX_RANK],
}

impl Array {
    /// # Safety
    /// `descriptor` refers to a descriptor with all its dimensions.
    pub(crate) unsafe fn read(descriptor: *const Descriptor) -> Self {
        // SAFETY: guaranteed by the caller.
        let start = unsafe { *descriptor };
        let rank = usize::from(start.rank).min(MAX_RANK);
        let mut dimensions = [Dimension::default(); MAX_RANK];
        // SAFETY: guaranteed by the caller; the dimensions follow the other fields.
        let there = unsafe { core::slice::from_raw_parts(descriptor.add(1).cast::<Dimension>(), rank) };
        dimensions[..rank].copy_from_slice(there);
        Self {
            address: start.address,
            element_bytes: start.element_bytes,
            rank,
            dimensions,
        }
    }

    fn dimensions(&self) -> &[Dimension] {
        &self.dimensions[..self.rank]
    }

    pub(crate) fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    /// Returns the number of elements of an array that is not contiguous.
    pub(crate) fn elements(&self) -> usize {
        let extents = self.dimensions().iter().map(|dimension| dimension.extent);
        usize::try_from(extents.product::<isize>()).unwrap_or(0)
    }

    /// Calls `visit` with the address of each element, in array element order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(*mut u8)) {
        let mut position = [0_isize; MAX_RANK];
        let mut offset = 0;
        for _ in 0..self.elements() {
            visit(self.address.cast::<u8>().wrapping_offset(offset));
            for (at, dimension) in position.iter_mut().zip(self.dimensions()) {
                *at += 1;
                offset += dimension.stride;
                if *at < dimension.extent {
                    break;
                }
                offset -= *at * dimension.stride;
                *at = 0;
            }
        }
    }

    /// Checks whether the elements are adjacent.
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut expected = self.element_bytes as isize;
        for dimension in self.dimensions() {
            match dimension.extent {
                // No element, or an array whose size is assumed: always contiguous.
                0 | -1 => return true,
                1 => {}
                _ if dimension.stride != expected => return false,
                _ => {}
            }
            expected = expected.wrapping_mul(dimension.extent);
        }
        true
    }
}

/// A buffer of a C function.
pub(crate) struct Buffer {
    pub(crate) address: *mut c_void,
    pub(crate) count: c_int,
    pub(crate) datatype: c_int,
    /// The datatype, if it belongs to this value.
    _derived: Option<Derived>,
}

impl Buffer {
    /// Returns the buffer with `count` elements of `datatype`. The error code of `function` if no datatype describes the
    /// array, or the heap is full.
    ///
    /// # Safety
    /// `descriptor` refers to a descriptor.
    pub(crate) unsafe fn new(
        function: &'static str,
        descriptor: *const Descriptor,
        count: c_int,
        datatype: c_int,
    ) -> Result<Self, c_int> {
        // SAFETY: guaranteed by the caller.
        let array = unsafe { Array::read(descriptor) };
        let plain = Self {
            address: c_buffer(array.address),
            count,
            datatype,
            _derived: None,
        };
        if array.is_contiguous() || count <= 0 {
            return Ok(plain);
        }
        let derived = strided(function, &array, count, datatype)?;
        Ok(Self {
            count: 1,
            datatype: derived.0,
            _derived: Some(derived),
            ..plain
        })
    }

    /// Returns a buffer of which only the address or the first element is used.
    ///
    /// # Safety
    /// `descriptor` refers to a descriptor.
    pub(crate) unsafe fn first_element(descriptor: *const Descriptor) -> Self {
        Self {
            // SAFETY: guaranteed by the caller.
            address: c_buffer(unsafe { (*descriptor).address }),
            count: 0,
            datatype: MPI_DATATYPE_NULL,
            _derived: None,
        }
    }

    /// Returns a buffer that must be contiguous.
    ///
    /// # Safety
    /// `descriptor` refers to a descriptor.
    pub(crate) unsafe fn contiguous(function: &'static str, descriptor: *const Descriptor) -> Result<Self, c_int> {
        // SAFETY: guaranteed by the caller.
        let array = unsafe { Array::read(descriptor) };
        if !array.is_contiguous() {
            return Err(reject(
                function,
                "a strided array, which this function does not support: copy it to a contiguous array",
            ));
        }
        // SAFETY: guaranteed by the caller.
        Ok(unsafe { Self::first_element(descriptor) })
    }
}

/// A count of kind MPI_COUNT_KIND as a C function accepts it.
pub(crate) struct LargeCount {
    pub(crate) count: c_int,
    /// The datatype that the count refers to.
    pub(crate) datatype: c_int,
    _derived: Option<Derived>,
}

/// Elements of a datatype that a large count is divided into.
const CHUNK: i64 = 1 << 30;

impl LargeCount {
    /// Returns a count that must fit an integer; the error code of `function` if it does not.
    pub(crate) fn small(function: &'static str, count: i64) -> Result<Self, c_int> {
        match c_int::try_from(count) {
            Ok(count) => Ok(Self {
                count,
                datatype: MPI_DATATYPE_NULL,
                _derived: None,
            }),
            Err(_) => Err(midplane_c::fail(function, Error::Count { count })),
        }
    }

    /// Returns count and datatype of a message with `count` elements of `datatype`. A count that does not fit an integer
    /// becomes a datatype of as many elements. The error code of `function` if the heap is full.
    pub(crate) fn new(function: &'static str, count: i64, datatype: c_int) -> Result<Self, c_int> {
        if c_int::try_from(count).is_ok() || count < 0 || count / CHUNK > i64::from(c_int::MAX) {
            return Ok(Self {
                datatype,
                ..Self::small(function, count)?
            });
        }
        let contiguous = |count: i64, datatype: c_int| {
            // SAFETY: the address of a handle.
            create(|derived| unsafe { midplane_c::MPI_Type_contiguous(count as c_int, datatype.into(), derived) })
        };
        let chunks = contiguous(count / CHUNK, contiguous(CHUNK, datatype)?.0)?;
        let rest = contiguous(count % CHUNK, datatype)?;
        let (mut lower, mut extent) = (0, 0);
        // SAFETY: the addresses of integers.
        unsafe { midplane_c::MPI_Type_get_extent(chunks.0.into(), &mut lower, &mut extent) };
        let (lengths, offsets, types) = ([1, 1], [0, extent], [chunks.0.into(), rest.0.into()]);
        let whole = committed(create(|derived| {
            // SAFETY: arrays with two elements.
            unsafe {
                midplane_c::MPI_Type_create_struct(2, lengths.as_ptr(), offsets.as_ptr(), types.as_ptr(), derived)
            }
        })?)?;
        Ok(Self {
            count: 1,
            datatype: whole.0,
            _derived: Some(whole),
        })
    }
}

/// Commits a datatype.
fn committed(derived: Derived) -> Result<Derived, c_int> {
    // SAFETY: a datatype that exists.
    match unsafe { midplane_c::MPI_Type_commit(&mut Handle::new(derived.0)) } {
        MPI_SUCCESS => Ok(derived),
        code => Err(code),
    }
}

/// Reports a buffer to the error handler of MPI_COMM_WORLD; returns the error code.
#[cold]
fn reject(function: &'static str, what: &'static str) -> c_int {
    midplane_c::fail(function, Error::Buffer { what })
}

/// A derived datatype that is freed when this value is dropped. Operations in progress keep it (MPI-3.1 section 4.1.9).
struct Derived(c_int);

impl Drop for Derived {
    fn drop(&mut self) {
        // SAFETY: a handle of this value; a datatype that exists can be freed.
        unsafe { midplane_c::MPI_Type_free(&mut Handle::new(self.0)) };
    }
}

/// Calls a function that creates a datatype.
fn create(constructor: impl FnOnce(*mut Handle) -> c_int) -> Result<Derived, c_int> {
    let mut derived = Handle::new(MPI_DATATYPE_NULL);
    match constructor(&mut derived) {
        MPI_SUCCESS => Ok(Derived(derived.value())),
        code => Err(code),
    }
}

/// Creates the datatype of the first elements of an array, which contain `count` elements of `datatype`.
fn strided(function: &'static str, array: &Array, count: c_int, datatype: c_int) -> Result<Derived, c_int> {
    let (element, elements) = element(function, array, count, datatype)?;
    let available: isize = array.dimensions().iter().map(|dimension| dimension.extent).product();
    if elements > available {
        return Err(reject(function, "a strided array with fewer elements than the count"));
    }
    // Elements below each dimension, and the datatype of all of them.
    let mut blocks: [Option<Derived>; MAX_RANK] = [const { None }; MAX_RANK];
    let mut sizes = [1_isize; MAX_RANK];
    for at in 0..array.rank {
        let inner = blocks[at].as_ref().map_or(element.0, |block| block.0);
        let Dimension { extent, stride, .. } = array.dimensions[at];
        if at + 1 < array.rank {
            sizes[at + 1] = sizes[at] * extent;
            blocks[at + 1] = Some(repeated(inner, extent, stride)?);
        }
    }
    // The first elements are whole blocks of the last dimension, then of the dimension below it, and so on.
    let (mut lengths, mut offsets, mut types) =
        ([0; MAX_RANK], [0; MAX_RANK], [Handle::new(MPI_DATATYPE_NULL); MAX_RANK]);
    let mut pieces: [Option<Derived>; MAX_RANK] = [const { None }; MAX_RANK];
    let (mut rest, mut offset, mut parts) = (elements, 0, 0);
    for at in (0..array.rank).rev() {
        let whole = rest / sizes[at];
        if whole == 0 {
            continue;
        }
        let inner = blocks[at].as_ref().map_or(element.0, |block| block.0);
        let piece = repeated(inner, whole, array.dimensions[at].stride)?;
        (lengths[parts], offsets[parts], types[parts]) = (1, offset, piece.0.into());
        pieces[parts] = Some(piece);
        parts += 1;
        offset += whole * array.dimensions[at].stride;
        rest -= whole * sizes[at];
    }
    let whole = create(|derived| {
        // SAFETY: arrays with as many elements as the call specifies.
        unsafe {
            midplane_c::MPI_Type_create_struct(
                parts as c_int,
                lengths.as_ptr(),
                offsets.as_ptr(),
                types.as_ptr(),
                derived,
            )
        }
    })?;
    committed(whole)
}

/// Creates the datatype of `count` elements at a distance in bytes.
fn repeated(element: c_int, count: isize, stride: isize) -> Result<Derived, c_int> {
    // An extent has at most as many elements as a count can express: the array has as many counted elements.
    let count = c_int::try_from(count).unwrap_or(c_int::MAX);
    // SAFETY: the address of a handle.
    create(|derived| unsafe { midplane_c::MPI_Type_create_hvector(count, 1, stride, element.into(), derived) })
}

/// Returns the datatype of an element of the array, and the number of elements that `count` elements of `datatype` fill.
fn element(function: &'static str, array: &Array, count: c_int, datatype: c_int) -> Result<(Derived, isize), c_int> {
    let (mut size, mut lower, mut extent) = (0, 0, 0);
    // SAFETY: the addresses of integers.
    let code = unsafe {
        match midplane_c::MPI_Type_size(datatype.into(), &mut size) {
            MPI_SUCCESS => midplane_c::MPI_Type_get_extent(datatype.into(), &mut lower, &mut extent),
            code => code,
        }
    };
    if code != MPI_SUCCESS {
        return Err(code);
    }
    let element = array.element_bytes as isize;
    let bytes = size as isize * count as isize;
    let is_dense = size > 0 && size as isize == extent && lower == 0;
    if !is_dense || element == 0 || bytes % element != 0 {
        return Err(reject(
            function,
            "a strided array whose elements do not match the datatype: use a datatype of the array's elements",
        ));
    }
    // An element consists of items of the datatype, or the datatype of several elements, whose types are then unknown.
    let (item, items) = match element % extent {
        0 => (datatype, element / extent),
        _ => (MPI_BYTE, element),
    };
    // SAFETY: the address of a handle.
    let one = create(|derived| unsafe { midplane_c::MPI_Type_contiguous(items as c_int, item.into(), derived) })?;
    Ok((one, bytes / element))
}
