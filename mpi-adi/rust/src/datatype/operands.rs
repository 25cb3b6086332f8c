//! Loans of buffers to calls: converts the binding's buffers to the device's areas.
//!
//! A span is an address that the device reads or writes until its request is complete; the borrow checker does not see
//! that. A blocking call returns only after every request on its areas is complete. A nonblocking operation keeps a
//! [`BufferLoan`], and completes before the buffer's borrow ends (`request`). This requires one guarantee of the host
//! environment: if a call unwinds (a panic on a host; a node does not unwind), the device is never driven again.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::marker::PhantomData;

use super::buffer::{AsDatatype, Buffer, BufferMut, Pointer, PointerMut, ValueNormalizer};
use super::partition::{Partitioned, PartitionedBuffer, PartitionedBufferMut};
use super::user::{DatatypeKind, kind_of};
use crate::Count;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_device::memory::{Span, TypedMemory};
use midplane_objects::comm::CommRank;
use midplane_objects::datatype::derived::DerivedType;
use midplane_objects::error::Error;
use midplane_objects::windows::{self, BufferHold};

#[derive(Clone, Copy)]
struct BufferElements<'a> {
    at: *const c_void,
    count: usize,
    kind: DatatypeKind<'a>,
}

impl<'a> BufferElements<'a> {
    /// Returns the type whose layout must be walked, or `None` for contiguous bytes.
    #[inline]
    fn walked(&self) -> Option<&'a DerivedType> {
        match self.kind {
            DatatypeKind::Made(made) if !made.is_row() => Some(made),
            _ => None,
        }
    }

    /// Returns the span of contiguous elements.
    ///
    /// # Safety
    /// See [`Span::new`], for the elements.
    #[inline]
    unsafe fn row(&self) -> Result<Span, Error> {
        let first = self.kind.row().unwrap_or(0);
        Ok(match self.kind.bytes(self.count)? {
            0 => Span::EMPTY,
            // SAFETY: the caller guarantees it.
            bytes => unsafe { Span::new(self.at.wrapping_byte_offset(first).cast(), bytes) },
        })
    }

    /// Runs `call` with the elements' span.
    ///
    /// # Safety
    /// See [`Span::new`], until `call` has returned.
    unsafe fn with_span<R>(&self, call: impl FnOnce(Span) -> Result<R, Error>) -> Result<R, Error> {
        let Some(made) = self.walked() else {
            // SAFETY: the caller guarantees it.
            return call(unsafe { self.row() }?);
        };
        let typed = TypedMemory::new(self.at.cast(), made.extent(), made.layout());
        // SAFETY: the caller guarantees it; `typed` and the layout exist until `call` has returned.
        call(unsafe { Span::typed(&typed, self.kind.bytes(self.count)?) })
    }
}

/// A buffer that a call borrows for `'a`.
pub(crate) struct BorrowedBuffer<'a, B: AsDatatype + ?Sized> {
    /// All other pointers to a written buffer are derived from this one.
    buffer: *const B,
    at: *const c_void,
    count: usize,
    datatype: B::Out,
    /// `None`: a buffer that is read.
    normalizer: Option<ValueNormalizer>,
    borrowed: PhantomData<&'a B>,
}

impl<'a, B: AsDatatype + ?Sized> BorrowedBuffer<'a, B> {
    fn reading(buffer: &'a B, count: Count) -> Self
    where
        B: Pointer,
    {
        BorrowedBuffer {
            buffer,
            at: buffer.pointer(),
            count: count as usize,
            datatype: buffer.as_datatype(),
            normalizer: None,
            borrowed: PhantomData,
        }
    }

    /// Returns the loan of a written buffer, and the buffer for reading.
    fn writing(buffer: &'a mut B, count: fn(&B) -> Count) -> (Self, &'a B)
    where
        B: PointerMut,
    {
        let all: *mut B = buffer;
        // SAFETY: borrowed for `'a`, exclusively.
        let buffer: &'a mut B = unsafe { &mut *all };
        let (at, normalizer) = (buffer.pointer_mut(), buffer.normalizer());
        let buffer: &'a B = buffer;
        let lending = BorrowedBuffer {
            buffer: all,
            at,
            count: count(buffer) as usize,
            datatype: buffer.as_datatype(),
            normalizer,
            borrowed: PhantomData,
        };
        (lending, buffer)
    }

    fn elements(&self) -> BufferElements<'_> {
        BufferElements {
            at: self.at,
            count: self.count,
            kind: kind_of(&self.datatype),
        }
    }
}

/// A buffer in parts. `F` returns the parts for a number of ranks, from the area of all elements and the element size
/// in bytes. Each division is a separate type, so that a program links only those that it uses.
struct DividedBuffer<'a, B: AsDatatype + ?Sized, F> {
    whole: BorrowedBuffer<'a, B>,
    divide: F,
    #[cfg(feature = "options")]
    counts: Vec<i64>,
}

impl<'a, B: AsDatatype + ?Sized, F> DividedBuffer<'a, B, F> {
    /// `counts` are the numbers of elements of different parts, for the records of the calls.
    #[cfg_attr(not(feature = "options"), allow(unused_variables))]
    fn new(whole: BorrowedBuffer<'a, B>, counts: &[Count], divide: F) -> Self {
        DividedBuffer {
            whole,
            divide,
            #[cfg(feature = "options")]
            counts: counts.iter().map(|count| i64::from(*count)).collect(),
        }
    }
}

/// Borrows a buffer for reading, in one part.
pub(crate) fn borrow_whole<B: Buffer + ?Sized>(buffer: &B) -> BorrowedBuffer<'_, B> {
    BorrowedBuffer::reading(buffer, buffer.count())
}

/// Borrows a buffer for reading, in equal parts in rank order.
pub(crate) fn borrow_equal<B: Buffer + ?Sized>(buffer: &B) -> impl CollectiveBuffer<Buffer = B, PartMap = EqualParts> {
    DividedBuffer::new(borrow_whole(buffer), &[], EqualParts::new)
}

/// Borrows a buffer for reading, in its listed parts.
pub(crate) fn borrow_parts<P>(buffer: &P) -> impl CollectiveBuffer<Buffer = P, PartMap = Vec<BufferSlice>>
where
    P: PartitionedBuffer + ?Sized,
{
    let lending = BorrowedBuffer::reading(buffer, buffer.total_count());
    DividedBuffer::new(lending, buffer.counts(), |all, size, ranks| {
        areas(buffer, all, size, ranks)
    })
}

/// Borrows a buffer for writing, in one part.
pub(crate) fn borrow_whole_mut<B: BufferMut + ?Sized>(buffer: &mut B) -> BorrowedBuffer<'_, B> {
    BorrowedBuffer::writing(buffer, B::count).0
}

/// Borrows a buffer for writing, in equal parts in rank order.
pub(crate) fn borrow_equal_mut<B>(buffer: &mut B) -> impl CollectiveBuffer<Buffer = B, PartMap = EqualParts>
where
    B: BufferMut + ?Sized,
{
    DividedBuffer::new(borrow_whole_mut(buffer), &[], EqualParts::new)
}

/// Borrows a buffer for writing, in its listed parts.
pub(crate) fn borrow_parts_mut<P>(buffer: &mut P) -> impl CollectiveBuffer<Buffer = P, PartMap = Vec<BufferSlice>>
where
    P: PartitionedBufferMut + ?Sized,
{
    let (lending, buffer) = BorrowedBuffer::writing(buffer, P::total_count);
    let counts = buffer.counts();
    DividedBuffer::new(lending, counts, move |all, size, ranks| areas(buffer, all, size, ranks))
}

/// Send or receive side of a collective: a buffer, a list of buffers, or nothing.
pub(crate) trait CollectiveBuffer: Sized {
    type Buffer: ?Sized;
    type PartMap: RankParts;

    fn buffer(&self) -> *const Self::Buffer;

    /// Returns count and kind of its elements, or `None` without a buffer and for a list of buffers.
    fn shape(&self) -> Option<(usize, DatatypeKind<'_>)> {
        None
    }

    /// Returns the numbers of elements of different parts; empty for a buffer in equal parts or in one.
    #[cfg(feature = "options")]
    fn counts(&self) -> &[i64] {
        &[]
    }

    /// Runs `call` with the parts for `ranks` processes; `call` completes all its requests before it returns. Returns
    /// its error, or [`Error::TooLong`], [`Error::Lengths`], [`Error::Argument`] or [`Error::NoSpace`] for an impossible
    /// division.
    fn with_parts<R>(self, ranks: usize, call: impl FnOnce(Self::PartMap) -> Result<R, Error>) -> Result<R, Error> {
        // SAFETY: the buffer is borrowed until `call` has returned.
        let (loan, parts) = unsafe { self.loan(ranks) }?;
        let result = call(parts);
        // SAFETY: all requests on it are complete, and it is still borrowed.
        unsafe { loan.give_back() };
        result
    }

    /// Returns the parts for `ranks` processes for longer than a call, or the errors of [`CollectiveBuffer::with_parts`].
    ///
    /// # Safety
    /// The buffer stays borrowed until every request on the parts is complete; [`BufferLoan::give_back`] is called before the
    /// end of its borrow.
    unsafe fn loan(self, ranks: usize) -> Result<(BufferLoan, Self::PartMap), Error>;
}

/// A buffer of an operation on one target, borrowed for `'a`; or none.
pub(crate) trait TargetOperand<'a>: CollectiveBuffer {
    /// Runs `call` with all its elements; see [`CollectiveBuffer::with_parts`].
    fn with_span<R>(&self, call: impl FnOnce(Span) -> Result<R, Error>) -> Result<R, Error>;

    /// Loans all its elements; see [`CollectiveBuffer::loan`].
    ///
    /// # Safety
    /// See [`CollectiveBuffer::loan`].
    unsafe fn loan_span(&self) -> Result<BufferLoan, Error>;
}

impl<'a, B: AsDatatype + ?Sized> TargetOperand<'a> for BorrowedBuffer<'a, B> {
    fn with_span<R>(&self, call: impl FnOnce(Span) -> Result<R, Error>) -> Result<R, Error> {
        // SAFETY: the buffer's creator guarantees that the bytes exist, and it is borrowed, exclusively if written.
        let result = unsafe { self.elements().with_span(call) };
        if let Some(normalizer) = self.normalizer {
            // SAFETY: all messages to it are complete, and it is still borrowed.
            unsafe { normalizer.normalize() };
        }
        result
    }

    unsafe fn loan_span(&self) -> Result<BufferLoan, Error> {
        // SAFETY: the caller guarantees it.
        unsafe { BufferLoan::from_elements(self.elements(), self.normalizer) }
    }
}

impl<B: AsDatatype + ?Sized> CollectiveBuffer for BorrowedBuffer<'_, B> {
    type Buffer = B;
    type PartMap = BufferSlice;

    fn buffer(&self) -> *const B {
        self.buffer
    }

    fn shape(&self) -> Option<(usize, DatatypeKind<'_>)> {
        Some((self.count, kind_of(&self.datatype)))
    }

    fn with_parts<R>(self, _: usize, call: impl FnOnce(BufferSlice) -> Result<R, Error>) -> Result<R, Error> {
        self.with_span(|span| call(span.into()))
    }

    unsafe fn loan(self, _: usize) -> Result<(BufferLoan, BufferSlice), Error> {
        // SAFETY: the caller guarantees it.
        let loan = unsafe { self.loan_span() }?;
        let area = loan.span.into();
        Ok((loan, area))
    }
}

impl<B: AsDatatype + ?Sized, P: RankParts, F> CollectiveBuffer for DividedBuffer<'_, B, F>
where
    F: FnOnce(BufferSlice, usize, usize) -> Result<P, Error>,
{
    type Buffer = B;
    type PartMap = P;

    fn buffer(&self) -> *const B {
        self.whole.buffer
    }

    fn shape(&self) -> Option<(usize, DatatypeKind<'_>)> {
        self.whole.shape()
    }

    #[cfg(feature = "options")]
    fn counts(&self) -> &[i64] {
        &self.counts
    }

    fn with_parts<R>(self, ranks: usize, call: impl FnOnce(P) -> Result<R, Error>) -> Result<R, Error> {
        let DividedBuffer { whole: all, divide, .. } = self;
        let size = kind_of(&all.datatype).size();
        all.with_span(|all| call(divide(all.into(), size, ranks)?))
    }

    unsafe fn loan(self, ranks: usize) -> Result<(BufferLoan, P), Error> {
        let DividedBuffer { whole: all, divide, .. } = self;
        // SAFETY: the caller guarantees it.
        let loan = unsafe { all.loan_span() }?;
        let parts = divide(loan.span.into(), kind_of(&all.datatype).size(), ranks)?;
        Ok((loan, parts))
    }
}

pub(crate) struct NoBuffer;

impl CollectiveBuffer for NoBuffer {
    type Buffer = ();
    type PartMap = BufferSlice;

    fn buffer(&self) -> *const () {
        &()
    }

    unsafe fn loan(self, _: usize) -> Result<(BufferLoan, Self::PartMap), Error> {
        Ok((BufferLoan::EMPTY, BufferSlice::EMPTY))
    }
}

impl<'a> TargetOperand<'a> for NoBuffer {
    fn with_span<R>(&self, call: impl FnOnce(Span) -> Result<R, Error>) -> Result<R, Error> {
        call(Span::EMPTY)
    }

    unsafe fn loan_span(&self) -> Result<BufferLoan, Error> {
        Ok(BufferLoan::EMPTY)
    }
}

/// Division of a buffer among the ranks.
pub(crate) trait RankParts: Sized + Send + 'static {
    fn area_of(&self, rank: CommRank) -> BufferSlice;

    fn by_rank(self) -> impl Fn(CommRank) -> BufferSlice + Send + 'static {
        move |rank| self.area_of(rank)
    }
}

/// Every rank uses all bytes.
impl RankParts for BufferSlice {
    fn area_of(&self, _: CommRank) -> BufferSlice {
        *self
    }
}

/// Equal parts of this many bytes, in rank order.
pub(crate) struct EqualParts(pub(crate) BufferSlice, pub(crate) usize);

impl EqualParts {
    /// Divides elements into equal parts, or returns [`Error::Lengths`] if their number is not a multiple of `ranks`.
    pub(crate) fn new(whole: BufferSlice, element: usize, ranks: usize) -> Result<EqualParts, Error> {
        let elements = whole.len() / element.max(1);
        if ranks == 0 {
            return same_length(0, whole.len()).map(|()| EqualParts(BufferSlice::EMPTY, 0));
        }
        if elements.is_multiple_of(ranks) {
            Ok(EqualParts(whole, whole.len() / ranks))
        } else {
            Err(Error::Lengths {
                expected: elements.next_multiple_of(ranks) * element,
                given: whole.len(),
            })
        }
    }
}

impl RankParts for EqualParts {
    fn area_of(&self, rank: CommRank) -> BufferSlice {
        let EqualParts(all, bytes) = *self;
        match bytes {
            0 => BufferSlice::EMPTY,
            bytes => all.part(rank.0 as usize * bytes, bytes),
        }
    }
}

impl RankParts for Vec<BufferSlice> {
    fn area_of(&self, rank: CommRank) -> BufferSlice {
        self[rank.0 as usize]
    }
}

/// Returns [`Error::Lengths`] if two lengths in bytes differ.
pub(crate) fn same_length(expected: usize, given: usize) -> Result<(), Error> {
    if expected == given {
        Ok(())
    } else {
        Err(Error::Lengths { expected, given })
    }
}

/// Runs `call`, which must complete all its requests, with the elements. Returns its error, or [`Error::TooLong`].
pub(crate) fn with_span<R>(
    buffer: &(impl Buffer + ?Sized),
    call: impl FnOnce(Span) -> Result<R, Error>,
) -> Result<R, Error> {
    borrow_whole(buffer).with_span(call)
}

/// Runs `call` like [`with_span`], on a buffer that is written.
pub(crate) fn with_span_mut<R>(
    buffer: &mut (impl BufferMut + ?Sized),
    call: impl FnOnce(Span) -> Result<R, Error>,
) -> Result<R, Error> {
    borrow_whole_mut(buffer).with_span(call)
}

const OUTSIDE: Error =
    Error::argument("a part that is not within its buffer, or another number of parts than there are processes");

/// Returns the areas of the parts, each of which must be within the whole.
fn areas(
    parts: &(impl Partitioned + ?Sized),
    whole: BufferSlice,
    element: usize,
    ranks: usize,
) -> Result<Vec<BufferSlice>, Error> {
    let (counts, displs) = (parts.counts(), parts.displs());
    if counts.len() != ranks || displs.len() != ranks {
        return Err(OUTSIDE);
    }
    let mut areas = midplane_objects::coll::try_with_capacity(ranks)?;
    for (count, displ) in counts.iter().zip(displs) {
        let (Ok(count), Ok(displ)) = (usize::try_from(*count), usize::try_from(*displ)) else {
            return Err(OUTSIDE);
        };
        if element != 0 && count + displ > whole.len() / element {
            return Err(OUTSIDE);
        }
        areas.push(match count * element {
            0 => BufferSlice::EMPTY,
            bytes => whole.part(displ * element, bytes),
        });
    }
    Ok(areas)
}

/// A buffer that is borrowed for longer than a call.
pub(crate) struct BufferLoan {
    span: Span,
    /// Target of a typed span's pointers.
    _walked: Option<Box<TypedTarget>>,
    normalizer: Option<ValueNormalizer>,
}

struct TypedTarget {
    typed: TypedMemory,
    datatype: DerivedType,
}

impl BufferLoan {
    pub(crate) const EMPTY: BufferLoan = BufferLoan {
        span: Span::EMPTY,
        _walked: None,
        normalizer: None,
    };

    /// Creates a loan of no bytes, with the conversion to run when it is given back.
    pub(super) const fn normalizer(normalizer: ValueNormalizer) -> BufferLoan {
        BufferLoan {
            normalizer: Some(normalizer),
            ..BufferLoan::EMPTY
        }
    }

    /// # Safety
    /// See [`Span::new`], until the loan is given back.
    #[inline(never)]
    unsafe fn from_elements(
        elements: BufferElements<'_>,
        normalizer: Option<ValueNormalizer>,
    ) -> Result<BufferLoan, Error> {
        let Some(made) = elements.walked() else {
            return Ok(BufferLoan {
                // SAFETY: the caller guarantees it.
                span: unsafe { elements.row() }?,
                _walked: None,
                normalizer,
            });
        };
        let mut walked = Box::new(TypedTarget {
            typed: TypedMemory::new(core::ptr::null(), 0, made.layout()),
            datatype: made.try_clone()?,
        });
        let TypedTarget { typed, datatype } = &mut *walked;
        *typed = TypedMemory::new(elements.at.cast(), datatype.extent(), datatype.layout());
        // SAFETY: the caller guarantees it; the box keeps the addresses of `typed` and the layout.
        let span = unsafe { Span::typed(&*typed, elements.kind.bytes(elements.count)?) };
        Ok(BufferLoan {
            span,
            _walked: Some(walked),
            normalizer,
        })
    }

    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// Returns the buffer to the program, even if it is borrowed again.
    ///
    /// # Safety
    /// Every request on the area is complete, and the buffer is still borrowed.
    pub(crate) unsafe fn give_back(&self) {
        if let Some(normalizer) = self.normalizer {
            // SAFETY: the caller guarantees it.
            unsafe { normalizer.normalize() }
        }
    }
}

impl BufferHold for BufferLoan {
    fn span(&self) -> Span {
        self.span
    }
}

/// Elements at the target of a one-sided operation.
#[derive(Clone, Copy)]
pub(crate) struct RemoteElements<'d>(pub(crate) DatatypeKind<'d>);

impl windows::TargetElements for RemoteElements<'_> {
    type BufferHold = BufferLoan;

    fn length(&self, count: usize) -> Result<usize, Error> {
        self.0.bytes(count)
    }

    fn range(&self, count: usize) -> (i128, i128) {
        self.0.range(count)
    }

    fn runs(&self, bytes: usize, mut run: impl FnMut(isize, usize, usize)) {
        match self.0 {
            _ if bytes == 0 => {}
            DatatypeKind::Made(made) if !made.is_row() => made.layout().walk(made.extent(), 0, bytes, run),
            row => run(row.row().unwrap_or(0), 0, bytes),
        }
    }

    fn places(&self, base: usize, bytes: usize) -> Result<BufferLoan, Error> {
        let elements = BufferElements {
            at: core::ptr::without_provenance(base),
            count: bytes.div_ceil(self.0.size().max(1)),
            kind: self.0,
        };
        // SAFETY: these are addresses in a target's window, which are only walked here, never accessed.
        unsafe { BufferLoan::from_elements(elements, None) }
    }
}
