//! Buffers of a datatype's elements.
//!
//! A buffer without holes is a plain span. Others are loaned to the device by a [`TypedLoan`], to which a typed span refers:
//! the layout of the elements, and a reference to their datatype. Each call, persistent request and active request that
//! uses a loan holds it; the last holder frees it. The program may free a request before its completion
//! (MPI_Request_free): such loans stay in a list until a later call finds their requests complete.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use spin::Mutex;

use super::objects::{self, DatatypeObject, KnownDatatype, committed, pair, row_bytes};
use super::try_arc::{TryArc, allocate, deallocate};
use crate::addresses::is_in_place;
use crate::binding::any_env;
use crate::lazy_callback::LazyCallback;
use midplane_device::interface::{Device, ReleaseTarget};
use midplane_device::memory::{END_OF_ADDRESSES, MODEL_KEYS, Span, TypedMemory};
use midplane_device::request::RequestId;
use midplane_objects::datatype::BasicType;
use midplane_objects::datatype::derived::DerivedType;
use midplane_objects::error::Error;
use midplane_objects::process::Env;

/// Bytes of a loan on a 64-bit machine.
pub const LOAN_BYTES: usize = 56;
const _: () = assert!(usize::BITS != 64 || size_of::<TypedLoan>() == LOAN_BYTES);

/// Integer wide enough for the product of two displacements, or of one and a number of elements.
#[cfg(target_pointer_width = "64")]
type WideInt = i128;
#[cfg(not(target_pointer_width = "64"))]
type WideInt = i64;

/// Target of a typed span.
#[repr(C)]
struct TypedLoan {
    // First, because the device uses this part.
    typed: TypedMemory,
    holders: AtomicU32,
    /// ID of the request that the program has freed.
    request: AtomicU32,
    next: AtomicPtr<TypedLoan>,
    /// Keeps the layout to which `typed` points.
    _datatype: TryArc<DatatypeObject>,
}

/// A loaned buffer: the span, and a reference to its loan if there is one.
pub struct TypedBuffer(Span);

impl TypedBuffer {
    /// No bytes.
    pub const EMPTY: TypedBuffer = TypedBuffer(Span::EMPTY);

    #[inline]
    pub fn plain(span: Span) -> TypedBuffer {
        TypedBuffer(span)
    }

    #[inline]
    pub fn span(&self) -> Span {
        self.0
    }

    /// Transfers the reference to the request that was started with the span; [`release`] ends it.
    #[inline]
    pub fn keep(self) {
        core::mem::forget(self);
    }
}

impl Clone for TypedBuffer {
    fn clone(&self) -> TypedBuffer {
        if let Some(loan) = loan(self.0) {
            // SAFETY: exists as long as it has a holder, such as `self`.
            unsafe { loan.as_ref() }.holders.fetch_add(1, Ordering::Relaxed);
        }
        TypedBuffer(self.0)
    }
}

impl Drop for TypedBuffer {
    #[inline]
    fn drop(&mut self) {
        release(self.0);
    }
}

#[inline]
fn loan(span: Span) -> Option<NonNull<TypedLoan>> {
    NonNull::new(span.elements()?.cast::<TypedLoan>().cast_mut())
}

/// Ends one hold on the span's loan, if there is one.
#[inline]
pub fn release(span: Span) {
    if let Some(loan) = loan(span) {
        give_back(loan);
    }
}

#[cold]
fn give_back(loan: NonNull<TypedLoan>) {
    // SAFETY: exists as long as it has a holder, and one is released here.
    let holders = unsafe { loan.as_ref() }.holders.fetch_sub(1, Ordering::AcqRel);
    if holders == 1 {
        // SAFETY: from `allocate`, and this was the last holder.
        drop(unsafe { deallocate(loan) });
    }
}

/// Elements of one datatype, as used by calls on buffers.
pub struct TypedElements {
    size: usize,
    extent: isize,
    /// Displacement of the first byte in packed order.
    first: isize,
    /// Minimum displacement of a byte, and its distance to the end of the maximum one.
    reach: (isize, isize),
    /// Datatype to traverse; `None`: there are no holes.
    walked: Option<TryArc<DatatypeObject>>,
}

/// One element in its memory layout, for a user-defined function.
pub struct UnpackedElement {
    elements: TypedElements,
    /// Aligned for any element, with as many bytes as it spans.
    words: Vec<u128>,
}

impl UnpackedElement {
    /// Allocates one element. Fails with [`Error::NoSpace`].
    pub fn new(elements: TypedElements) -> Result<Self, Error> {
        let bytes = elements.reach.1 as usize + Self::before(&elements);
        let count = bytes.div_ceil(size_of::<u128>());
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| Error::NoSpace { bytes })?;
        words.resize(count, 0);
        Ok(UnpackedElement { elements, words })
    }

    /// Returns the bytes before the element that align its displacement 0.
    fn before(elements: &TypedElements) -> usize {
        elements.reach.0.rem_euclid(size_of::<u128>() as isize) as usize
    }

    /// Returns the address of displacement 0, with or without a byte there.
    pub fn origin(&mut self) -> *mut c_void {
        let begin = self.words.as_mut_ptr().cast::<c_void>();
        let before = Self::before(&self.elements) as isize;
        begin.wrapping_byte_offset(before - self.elements.reach.0)
    }

    /// Runs `run` on the contiguous byte ranges of the element, in memory and packed.
    fn runs(elements: &TypedElements, mut run: impl FnMut(Range<usize>, Range<usize>)) {
        let (least, size) = (elements.reach.0, elements.size);
        let before = Self::before(elements);
        match &elements.walked {
            None => run(before..before + size, 0..size),
            Some(object) => {
                let layout = object.datatype.layout();
                layout.walk(elements.extent, 0, size, |at, done, bytes| {
                    let at = (at - least) as usize + before;
                    run(at..at + bytes, done..done + bytes);
                });
            }
        }
    }

    pub fn unpack(&mut self, packed: &[u8]) {
        let memory: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words);
        Self::runs(&self.elements, |at, from| memory[at].copy_from_slice(&packed[from]));
    }

    pub fn pack(&self, packed: &mut [u8]) {
        let memory: &[u8] = bytemuck::cast_slice(&self.words);
        Self::runs(&self.elements, |at, to| packed[to].copy_from_slice(&memory[at]));
    }
}

impl TypedElements {
    /// Returns elements of a predefined datatype in their memory layout, including the padding in a pair.
    pub fn from_basic(basic: BasicType) -> TypedElements {
        TypedElements::row_of(basic.extent())
    }

    /// Returns elements of `size` bytes without holes.
    fn row_of(size: usize) -> TypedElements {
        TypedElements {
            size,
            extent: size as isize,
            first: 0,
            reach: (0, size as isize),
            walked: None,
        }
    }

    /// Returns elements of a datatype without a handle. Fails with [`Error::NoSpace`].
    pub fn from_type(datatype: DerivedType) -> Result<TypedElements, Error> {
        Ok(TypedElements::from_object(objects::nameless(datatype)?))
    }

    fn from_object(object: TryArc<DatatypeObject>) -> TypedElements {
        let datatype = &object.datatype;
        let (size, extent) = (datatype.size(), datatype.extent());
        let (first, reach) = (datatype.layout().first(), datatype.true_extent());
        TypedElements {
            size,
            extent,
            first,
            reach,
            walked: (!datatype.is_row()).then_some(object),
        }
    }

    /// Returns elements of the datatype with handle `handle`. Fails with [`Error::Datatype`], [`Error::Uncommitted`] or
    /// [`Error::NoSpace`].
    pub fn from_handle(handle: c_int) -> Result<TypedElements, Error> {
        if let Some(bytes) = row_bytes(handle) {
            return Ok(TypedElements::row_of(bytes));
        }
        match pair(handle) {
            Some(at) => objects::object_of(at),
            None => committed(handle),
        }
        .map(TypedElements::from_object)
    }

    /// Returns the packed bytes of one element.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Checks whether an element at its address has the packed layout.
    pub fn is_as_packed(&self) -> bool {
        self.walked.is_none() && self.first == 0
    }

    /// Returns the packed bytes of `count` elements. Fails with [`Error::TooLong`].
    pub fn length(&self, count: usize) -> Result<usize, Error> {
        let bytes = self.size.checked_mul(count);
        bytes.ok_or(Error::TooLong { bytes: usize::MAX })
    }

    /// Returns the range of byte displacements of `count` elements, relative to the first element; the end is
    /// exclusive.
    pub fn range(&self, count: usize) -> (i128, i128) {
        if self.size == 0 || count == 0 {
            return (0, 0);
        }
        let last = (count as i128 - 1) * self.extent as i128;
        let (low, reach) = (self.reach.0 as i128, self.reach.1 as i128);
        (last.min(0) + low, last.max(0) + low + reach)
    }

    /// Calls `run` for the contiguous runs of the first `bytes` packed bytes, in order, with the displacement, the
    /// number of preceding packed bytes, and the length. [`TypedElements::length`] must have accepted `bytes`.
    pub fn runs(&self, bytes: usize, mut run: impl FnMut(isize, usize, usize)) {
        match &self.walked {
            _ if bytes == 0 => {}
            None => run(self.first, 0, bytes),
            Some(object) => object.datatype.layout().walk(self.extent, 0, bytes, run),
        }
    }

    /// Calls `run` like [`TypedElements::runs`], for `bytes` packed bytes of elements in a row that begin after the first
    /// `start` packed bytes.
    pub fn runs_from(&self, start: usize, bytes: usize, mut run: impl FnMut(isize, usize, usize)) {
        match &self.walked {
            _ if bytes == 0 => {}
            None => run(self.first + start as isize, 0, bytes),
            Some(object) => object.datatype.layout().walk(self.extent, start as isize, bytes, run),
        }
    }

    /// Returns the number of packed bytes at displacements before `end`, in a row of elements without a last one.
    /// The elements must satisfy [`TypedElements::is_file_type`].
    pub fn bytes_before(&self, end: u64) -> u64 {
        let end = i128::from(end);
        if self.size == 0 {
            return 0;
        }
        if self.walked.is_none() {
            return (end - self.first as i128).max(0) as u64;
        }
        let (extent, last) = (self.extent as i128, (self.reach.0 + self.reach.1) as i128);
        // Elements that end before.
        let mut element = if end < last { 0 } else { (end - last) / extent + 1 };
        let mut bytes = element * self.size as i128;
        while element * extent + self.first as i128 - end < 0 {
            self.runs_from(0, self.size, |at, _, len| {
                let more = end - (element * extent + at as i128);
                bytes += more.clamp(0, len as i128);
            });
            element += 1;
        }
        bytes as u64
    }

    /// Checks that the displacements of an element are not negative and do not decrease, and that the elements of a row
    /// do not overlap unless they `may_overlap` (section 13.1.1).
    pub fn is_file_type(&self, may_overlap: bool) -> bool {
        let (mut begin, mut end, mut is_ordered) = (0, 0, true);
        self.runs_from(0, self.size, |at, _, len| {
            is_ordered &= at >= if may_overlap { begin } else { end };
            begin = at;
            end = end.max(at + len as isize);
        });
        let is_apart = may_overlap || end - self.first <= self.extent;
        is_ordered && (self.size == 0 || self.extent > 0 && is_apart)
    }

    /// Returns elements of a committed datatype. Fails with [`Error::NoSpace`].
    pub fn from_known(known: &KnownDatatype) -> Result<TypedElements, Error> {
        match known {
            KnownDatatype::Made(object) => Ok(TypedElements::from_object(object.clone())),
            other => TypedElements::from_handle(other.handle().unwrap_or_default()),
        }
    }

    /// Returns the distance of two elements in a row, in bytes.
    pub fn extent(&self) -> isize {
        self.extent
    }

    /// Checks that the addresses of `count` elements from index `first` are possible in a program. Fails with
    /// [`Error::InPlace`] or [`Error::NullBuffer`].
    pub fn check(&self, buffer: *const c_void, first: isize, count: usize) -> Result<(), Error> {
        if self.length(count)? == 0 {
            return Ok(());
        }
        if is_in_place(buffer) {
            return Err(Error::InPlace);
        }
        // Contiguous elements (the common case) need no wide integers.
        let is_row = self.reach == (0, self.extent) && self.extent as usize == self.size;
        if is_row && first == 0 {
            let end = buffer.addr().checked_add(self.size * count);
            let is_there = end.is_some_and(|end| end <= END_OF_ADDRESSES);
            return if is_there && buffer.addr() >= MODEL_KEYS {
                Ok(())
            } else {
                Err(Error::NullBuffer)
            };
        }
        let wide = |number: isize| number as WideInt;
        let begin = buffer.addr() as WideInt + wide(first) * wide(self.extent);
        let last = begin.saturating_add((count as WideInt - 1) * wide(self.extent));
        let low = begin.min(last).saturating_add(wide(self.reach.0));
        let reach = wide(self.reach.0) + wide(self.reach.1);
        let high = begin.max(last).saturating_add(reach);
        // Nothing is at such addresses: null, or a member of a structure at null.
        if low < MODEL_KEYS as WideInt || high > END_OF_ADDRESSES as WideInt {
            Err(Error::NullBuffer)
        } else {
            Ok(())
        }
    }

    /// Returns the buffer of `count` elements. Fails like [`TypedElements::check`], and with [`Error::TooLong`] or
    /// [`Error::NoSpace`].
    ///
    /// # Safety
    /// Every byte of the elements must satisfy [`Span::new`], except that the addresses are checked.
    pub unsafe fn at(&self, buffer: *const c_void, count: usize) -> Result<TypedBuffer, Error> {
        let bytes = self.length(count)?;
        self.check(buffer, 0, count)?;
        let is_one_row = |object: &&TryArc<DatatypeObject>| count == 1 && object.datatype.layout().is_dense();
        match self.walked.as_ref().filter(|object| !is_one_row(object)) {
            // SAFETY: guaranteed by the caller.
            Some(object) if bytes > 0 => unsafe { loan_buffer(object, buffer, 0..bytes) },
            // SAFETY: guaranteed by the caller; the addresses are checked.
            _ => unsafe { self.row(buffer, bytes) },
        }
    }

    /// Returns the buffer of the elements of `bytes` packed bytes from index `first`; elements before and after it are
    /// also accessible. Fails with [`Error::NoSpace`].
    ///
    /// # Safety
    /// Accessed elements must satisfy [`TypedElements::at`], and must have passed [`TypedElements::check`].
    pub unsafe fn origin(&self, buffer: *const c_void, first: isize, bytes: usize) -> Result<TypedBuffer, Error> {
        let buffer = buffer.wrapping_byte_offset(first.wrapping_mul(self.extent));
        match &self.walked {
            // SAFETY: guaranteed by the caller.
            Some(object) if bytes > 0 => unsafe { loan_buffer(object, buffer, 0..bytes) },
            // SAFETY: guaranteed by the caller.
            _ => unsafe { self.row(buffer, bytes) },
        }
    }

    /// Returns the buffer of these packed bytes of the elements at `buffer`; they may begin and end inside an element.
    /// Fails with [`Error::NoSpace`].
    ///
    /// # Safety
    /// Accessed elements must satisfy [`TypedElements::at`], and must have passed [`TypedElements::check`].
    pub unsafe fn packed_range(&self, buffer: *const c_void, packed: Range<usize>) -> Result<TypedBuffer, Error> {
        match &self.walked {
            // SAFETY: guaranteed by the caller.
            Some(object) if !packed.is_empty() => unsafe { loan_buffer(object, buffer, packed) },
            // SAFETY: guaranteed by the caller.
            _ => unsafe { self.row(buffer.wrapping_byte_add(packed.start), packed.len()) },
        }
    }

    /// # Safety
    /// See [`Span::new`].
    unsafe fn row(&self, buffer: *const c_void, bytes: usize) -> Result<TypedBuffer, Error> {
        if bytes == 0 {
            return Ok(TypedBuffer::EMPTY);
        }
        let begin = buffer.wrapping_byte_offset(self.first);
        // SAFETY: guaranteed by the caller.
        Ok(TypedBuffer(unsafe { Span::new(begin.cast(), bytes) }))
    }
}

/// Loans these packed bytes of elements that must be traversed. Fails with [`Error::NoSpace`].
///
/// # Safety
/// See [`Span::typed`]; the loan itself exists as long as it is held.
unsafe fn loan_buffer(
    object: &TryArc<DatatypeObject>,
    buffer: *const c_void,
    packed: Range<usize>,
) -> Result<TypedBuffer, Error> {
    if let Ok(env) = any_env() {
        sweep(env);
    }
    let datatype = &object.datatype;
    let loan = allocate(|| TypedLoan {
        typed: TypedMemory::new(buffer.cast(), datatype.extent(), datatype.layout()).from(packed.start as isize),
        holders: AtomicU32::new(1),
        request: AtomicU32::new(0),
        next: AtomicPtr::new(core::ptr::null_mut()),
        _datatype: object.clone(),
    })?;
    // SAFETY: guaranteed by the caller; the loan holds the layout.
    Ok(TypedBuffer(unsafe {
        Span::typed(loan.as_ptr().cast_const().cast(), packed.len())
    }))
}

/// Loans of requests that the program has freed, newest first. No call waits while it holds the lock, and no interrupt
/// handler uses it.
static GIVEN_UP: Mutex<AtomicPtr<TypedLoan>> = Mutex::new(AtomicPtr::new(core::ptr::null_mut()));
static GIVEN_UP_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Moves the loan of an active request that the program frees to the list, where it stays until the request is
/// complete.
pub fn give_up(span: Span, request: RequestId) {
    let Some(given) = loan(span) else { return };
    let list = GIVEN_UP.lock();
    let mut next = list.load(Ordering::Relaxed);
    while let Some(waits) = NonNull::new(next) {
        if waits == given {
            return;
        }
        // SAFETY: the list holds its entries.
        next = unsafe { waits.as_ref() }.next.load(Ordering::Relaxed);
    }
    // SAFETY: the active request holds it; this hold now belongs to the list.
    let loan = unsafe { given.as_ref() };
    loan.request.store(request.0, Ordering::Relaxed);
    loan.next.store(list.load(Ordering::Relaxed), Ordering::Relaxed);
    list.store(given.as_ptr(), Ordering::Relaxed);
    GIVEN_UP_COUNT.fetch_add(1, Ordering::Relaxed);
    SWEEP.set(|env| {
        if GIVEN_UP_COUNT.load(Ordering::Relaxed) > 0 {
            sweep_list(env);
        }
    });
}

/// Implements [`sweep`]. Installed with the first such request, so that the image of a program without one does not
/// contain this code.
static SWEEP: LazyCallback<SweepFn> = LazyCallback::new();

type SweepFn = fn(&dyn Env);

/// Returns the loans of freed requests that are complete.
pub fn sweep(env: &dyn Env) {
    let sweep = SWEEP.get();
    if let Some(sweep) = sweep {
        sweep(env);
    }
}

fn sweep_list(env: &dyn Env) {
    let list = GIVEN_UP.lock();
    let mut link: &AtomicPtr<TypedLoan> = &list;
    while let Some(waits) = NonNull::new(link.load(Ordering::Relaxed)) {
        // SAFETY: the list holds its entries.
        let loan = unsafe { waits.as_ref() };
        let request = RequestId(loan.request.load(Ordering::Relaxed));
        // An unknown request no longer exists.
        let state = env.inspect(None, request);
        if state.is_none_or(|state| state.outcome.is_some()) {
            env.release(request, ReleaseTarget::Request);
            link.store(loan.next.load(Ordering::Relaxed), Ordering::Relaxed);
            GIVEN_UP_COUNT.fetch_sub(1, Ordering::Relaxed);
            give_back(waits);
        } else {
            link = &loan.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_objects::datatype::derived::DerivedType;

    /// Displacements of all packed bytes of the first elements in a row.
    fn stream(elements: &TypedElements, count: usize) -> Vec<isize> {
        let mut one = Vec::new();
        elements.runs_from(0, elements.size, |at, _, len| {
            one.extend((0..len as isize).map(|byte| at + byte))
        });
        let elements = (0..count as isize).map(|element| element * elements.extent);
        elements
            .flat_map(|origin| one.iter().map(move |at| origin + at))
            .collect()
    }

    fn types() -> Vec<(DerivedType, [bool; 2])> {
        let int = DerivedType::basic(BasicType::Int).unwrap();
        let wide = |length, stride, extent| int.vector(3, length, stride).unwrap().resized(0, extent).unwrap();
        vec![
            (int.contiguous(3).unwrap(), [true, true]),
            (wide(2, 20, 64), [true, true]),
            (wide(1, 12, 28), [true, true]),
            // Elements that overlap, and blocks that do.
            (wide(1, 12, 16), [false, true]),
            (wide(3, 8, 40), [false, true]),
            (int.vector(2, 1, -12).unwrap(), [false, false]),
            (int.resized(0, -8).unwrap(), [false, false]),
        ]
    }

    #[test]
    fn bytes_before_an_end_are_those_of_the_stream() {
        const ELEMENTS: usize = 9;
        let mut ends = 0;
        for (datatype, is_file_type) in types() {
            let elements = TypedElements::from_type(datatype).unwrap();
            let checked = [false, true].map(|may_overlap| elements.is_file_type(may_overlap));
            assert_eq!(checked, is_file_type);
            if !is_file_type[1] {
                continue;
            }
            let all = stream(&elements, ELEMENTS);
            // Up to the first element that is not in the list.
            for end in 0..elements.extent * (ELEMENTS as isize - 1) {
                let before = all.iter().filter(|at| **at < end).count();
                assert_eq!(elements.bytes_before(end as u64), before as u64, "{end}");
                ends += 1;
            }
        }
        assert!(ends > 1000, "{ends}");
    }

    #[test]
    fn runs_continue_the_stream() {
        for (datatype, _) in types() {
            let elements = TypedElements::from_type(datatype).unwrap();
            let all = stream(&elements, 4);
            for start in 0..all.len() {
                let bytes = (all.len() - start).min(29);
                let mut seen = Vec::new();
                elements.runs_from(start, bytes, |at, done, len| {
                    assert_eq!(done, seen.len());
                    seen.extend((0..len as isize).map(|byte| at + byte));
                });
                assert_eq!(seen, all[start..start + bytes]);
            }
        }
    }
}
