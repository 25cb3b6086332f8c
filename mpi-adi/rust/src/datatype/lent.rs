//! Loans of buffers to calls: converts the binding's buffers to the device's areas.
//!
//! A span is an address that the device reads or writes until its request is complete; the borrow checker does not see
//! that. A blocking call returns only after every request on its areas is complete. A nonblocking operation keeps a
//! [`Loan`], and completes before the buffer's borrow ends (`request`). This requires one guarantee of the host
//! environment: if a call unwinds (a panic on a host; a node does not unwind), the device is never driven again.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::marker::PhantomData;

use super::buffer::{AsDatatype, Buffer, BufferMut, Pointer, PointerMut, Settling};
use super::partition::{Partitioned, PartitionedBuffer, PartitionedBufferMut};
use super::user::{Kind, kind_of};
use crate::Count;
use midplane_device::memory::buffer_slice::BufferSlice;
use midplane_device::memory::{Span, TypedElements};
use midplane_objects::comm::CommRank;
use midplane_objects::datatype::derived::Type;
use midplane_objects::error::Error;
use midplane_objects::windows::{self, Hold};

#[derive(Clone, Copy)]
struct Elements<'a> {
    at: *const c_void,
    count: usize,
    kind: Kind<'a>,
}

impl<'a> Elements<'a> {
    /// Returns the type whose layout must be walked, or `None` for contiguous bytes.
    #[inline]
    fn walked(&self) -> Option<&'a Type> {
        match self.kind {
            Kind::Made(made) if !made.is_row() => Some(made),
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
    unsafe fn lend<R>(&self, call: impl FnOnce(Span) -> Result<R, Error>) -> Result<R, Error> {
        let Some(made) = self.walked() else {
            // SAFETY: the caller guarantees it.
            return call(unsafe { self.row() }?);
        };
        let typed = TypedElements::new(self.at.cast(), made.extent(), made.layout());
        // SAFETY: the caller guarantees it; `typed` and the layout exist until `call` has returned.
        call(unsafe { Span::typed(&typed, self.kind.bytes(self.count)?) })
    }
}

/// A buffer that a call borrows for `'a`.
pub(crate) struct Lending<'a, B: AsDatatype + ?Sized> {
    /// All other pointers to a written buffer are derived from this one.
    buffer: *const B,
    at: *const c_void,
    count: usize,
    datatype: B::Out,
    /// `None`: a buffer that is read.
    settling: Option<Settling>,
    borrowed: PhantomData<&'a B>,
}

impl<'a, B: AsDatatype + ?Sized> Lending<'a, B> {
    fn reading(buffer: &'a B, count: Count) -> Self
    where
        B: Pointer,
    {
        Lending {
            buffer,
            at: buffer.pointer(),
            count: count as usize,
            datatype: buffer.as_datatype(),
            settling: None,
            borrowed: PhantomData,
        }
    }

    /// Returns the loan of a written buffer, and the buffer for reading.
    fn writing(buffer: &'a mut B, count: fn(&B) -> Count) -> (Self, &'a B)
    where
        B: PointerMut,
    {
        let whole: *mut B = buffer;
        // SAFETY: borrowed for `'a`, exclusively.
        let buffer: &'a mut B = unsafe { &mut *whole };
        let (at, settling) = (buffer.pointer_mut(), buffer.settling());
        let buffer: &'a B = buffer;
        let lending = Lending {
            buffer: whole,
            at,
            count: count(buffer) as usize,
            datatype: buffer.as_datatype(),
            settling,
            borrowed: PhantomData,
        };
        (lending, buffer)
    }

    fn elements(&self) -> Elements<'_> {
        Elements {
            at: self.at,
            count: self.count,
            kind: kind_of(&self.datatype),
        }
    }
}

/// A buffer in parts. `F` returns the parts for a number of ranks, from the area of all elements and the element size
/// in bytes. Each division is a separate type, so that a program links only those that it uses.
struct Divided<'a, B: AsDatatype + ?Sized, F>(Lending<'a, B>, F);

/// Borrows a buffer for reading, in one part.
pub(crate) fn whole<B: Buffer + ?Sized>(buffer: &B) -> Lending<'_, B> {
    Lending::reading(buffer, buffer.count())
}

/// Borrows a buffer for reading, in equal parts in rank order.
pub(crate) fn equal<B: Buffer + ?Sized>(buffer: &B) -> impl Side<Buffer = B, Parts = EqualParts> {
    Divided(whole(buffer), EqualParts::new)
}

/// Borrows a buffer for reading, in its listed parts.
pub(crate) fn listed<P>(buffer: &P) -> impl Side<Buffer = P, Parts = Vec<BufferSlice>>
where
    P: PartitionedBuffer + ?Sized,
{
    let lending = Lending::reading(buffer, buffer.whole());
    Divided(lending, |all, size, ranks| areas(buffer, all, size, ranks))
}

/// Borrows a buffer for writing, in one part.
pub(crate) fn whole_mut<B: BufferMut + ?Sized>(buffer: &mut B) -> Lending<'_, B> {
    Lending::writing(buffer, B::count).0
}

/// Borrows a buffer for writing, in equal parts in rank order.
pub(crate) fn equal_mut<B>(buffer: &mut B) -> impl Side<Buffer = B, Parts = EqualParts>
where
    B: BufferMut + ?Sized,
{
    Divided(whole_mut(buffer), EqualParts::new)
}

/// Borrows a buffer for writing, in its listed parts.
pub(crate) fn listed_mut<P>(buffer: &mut P) -> impl Side<Buffer = P, Parts = Vec<BufferSlice>>
where
    P: PartitionedBufferMut + ?Sized,
{
    let (lending, buffer) = Lending::writing(buffer, P::whole);
    Divided(lending, move |all, size, ranks| {
        areas(buffer, all, size, ranks)
    })
}

/// Send or receive side of a collective: a buffer, a list of buffers, or nothing.
pub(crate) trait Side: Sized {
    type Buffer: ?Sized;
    type Parts: Parts;

    fn buffer(&self) -> *const Self::Buffer;

    /// Returns count and kind of its elements, or `None` without a buffer and for a list of buffers.
    fn shape(&self) -> Option<(usize, Kind<'_>)> {
        None
    }

    /// Runs `call` with the parts for `ranks` processes; `call` completes all its requests before it returns. Returns
    /// its error, or [`Error::TooLong`], [`Error::Lengths`], [`Error::Argument`] or [`Error::NoRoom`] for an impossible
    /// division.
    fn lend<R>(
        self,
        ranks: usize,
        call: impl FnOnce(Self::Parts) -> Result<R, Error>,
    ) -> Result<R, Error> {
        // SAFETY: the buffer is borrowed until `call` has returned.
        let (loan, parts) = unsafe { self.loan(ranks) }?;
        let result = call(parts);
        // SAFETY: all requests on it are complete, and it is still borrowed.
        unsafe { loan.give_back() };
        result
    }

    /// Returns the parts for `ranks` processes for longer than a call, or the errors of [`Side::lend`].
    ///
    /// # Safety
    /// The buffer stays borrowed until every request on the parts is complete; [`Loan::give_back`] is called before the
    /// end of its borrow.
    unsafe fn loan(self, ranks: usize) -> Result<(Loan, Self::Parts), Error>;
}

/// A buffer of an operation on one target, borrowed for `'a`; or none.
pub(crate) trait Operand<'a>: Side {
    /// Runs `call` with all its elements; see [`Side::lend`].
    fn lend_span<R>(&self, call: impl FnOnce(Span) -> Result<R, Error>) -> Result<R, Error>;

    /// Loans all its elements; see [`Side::loan`].
    ///
    /// # Safety
    /// See [`Side::loan`].
    unsafe fn loan_span(&self) -> Result<Loan, Error>;
}

impl<'a, B: AsDatatype + ?Sized> Operand<'a> for Lending<'a, B> {
    fn lend_span<R>(&self, call: impl FnOnce(Span) -> Result<R, Error>) -> Result<R, Error> {
        // SAFETY: the buffer's creator guarantees that the bytes exist, and it is borrowed, exclusively if written.
        let result = unsafe { self.elements().lend(call) };
        if let Some(settling) = self.settling {
            // SAFETY: all messages to it are complete, and it is still borrowed.
            unsafe { settling.settle() };
        }
        result
    }

    unsafe fn loan_span(&self) -> Result<Loan, Error> {
        // SAFETY: the caller guarantees it.
        unsafe { Loan::of(self.elements(), self.settling) }
    }
}

impl<B: AsDatatype + ?Sized> Side for Lending<'_, B> {
    type Buffer = B;
    type Parts = BufferSlice;

    fn buffer(&self) -> *const B {
        self.buffer
    }

    fn shape(&self) -> Option<(usize, Kind<'_>)> {
        Some((self.count, kind_of(&self.datatype)))
    }

    fn lend<R>(self, _: usize, call: impl FnOnce(BufferSlice) -> Result<R, Error>) -> Result<R, Error> {
        self.lend_span(|span| call(span.into()))
    }

    unsafe fn loan(self, _: usize) -> Result<(Loan, BufferSlice), Error> {
        // SAFETY: the caller guarantees it.
        let loan = unsafe { self.loan_span() }?;
        let area = loan.span.into();
        Ok((loan, area))
    }
}

impl<B: AsDatatype + ?Sized, P: Parts, F> Side for Divided<'_, B, F>
where
    F: FnOnce(BufferSlice, usize, usize) -> Result<P, Error>,
{
    type Buffer = B;
    type Parts = P;

    fn buffer(&self) -> *const B {
        self.0.buffer
    }

    fn shape(&self) -> Option<(usize, Kind<'_>)> {
        self.0.shape()
    }

    fn lend<R>(self, ranks: usize, call: impl FnOnce(P) -> Result<R, Error>) -> Result<R, Error> {
        let Divided(all, divide) = self;
        let size = kind_of(&all.datatype).size();
        all.lend_span(|all| call(divide(all.into(), size, ranks)?))
    }

    unsafe fn loan(self, ranks: usize) -> Result<(Loan, P), Error> {
        let Divided(all, divide) = self;
        // SAFETY: the caller guarantees it.
        let loan = unsafe { all.loan_span() }?;
        let parts = divide(loan.span.into(), kind_of(&all.datatype).size(), ranks)?;
        Ok((loan, parts))
    }
}

pub(crate) struct Nothing;

impl Side for Nothing {
    type Buffer = ();
    type Parts = BufferSlice;

    fn buffer(&self) -> *const () {
        &()
    }

    unsafe fn loan(self, _: usize) -> Result<(Loan, Self::Parts), Error> {
        Ok((Loan::EMPTY, BufferSlice::EMPTY))
    }
}

impl<'a> Operand<'a> for Nothing {
    fn lend_span<R>(&self, call: impl FnOnce(Span) -> Result<R, Error>) -> Result<R, Error> {
        call(Span::EMPTY)
    }

    unsafe fn loan_span(&self) -> Result<Loan, Error> {
        Ok(Loan::EMPTY)
    }
}

/// Division of a buffer among the ranks.
pub(crate) trait Parts: Sized + Send + 'static {
    fn of(&self, rank: CommRank) -> BufferSlice;

    fn by_rank(self) -> impl Fn(CommRank) -> BufferSlice + Send + 'static {
        move |rank| self.of(rank)
    }
}

/// Every rank uses all bytes.
impl Parts for BufferSlice {
    fn of(&self, _: CommRank) -> BufferSlice {
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

impl Parts for EqualParts {
    fn of(&self, rank: CommRank) -> BufferSlice {
        let EqualParts(all, bytes) = *self;
        match bytes {
            0 => BufferSlice::EMPTY,
            bytes => all.part(rank.0 as usize * bytes, bytes),
        }
    }
}

impl Parts for Vec<BufferSlice> {
    fn of(&self, rank: CommRank) -> BufferSlice {
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
pub(crate) fn lend<R>(
    buffer: &(impl Buffer + ?Sized),
    call: impl FnOnce(Span) -> Result<R, Error>,
) -> Result<R, Error> {
    whole(buffer).lend_span(call)
}

/// Runs `call` like [`lend`], on a buffer that is written.
pub(crate) fn lend_mut<R>(
    buffer: &mut (impl BufferMut + ?Sized),
    call: impl FnOnce(Span) -> Result<R, Error>,
) -> Result<R, Error> {
    whole_mut(buffer).lend_span(call)
}

const OUTSIDE: Error = Error::argument(
    "a part that is not within its buffer, or another number of parts than there are processes",
);

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
    let mut areas = midplane_objects::coll::room(ranks)?;
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
pub(crate) struct Loan {
    span: Span,
    /// Target of a typed span's pointers.
    _walked: Option<Box<Walked>>,
    settling: Option<Settling>,
}

struct Walked {
    typed: TypedElements,
    datatype: Type,
}

impl Loan {
    pub(crate) const EMPTY: Loan = Loan {
        span: Span::EMPTY,
        _walked: None,
        settling: None,
    };

    /// Creates a loan of no bytes, with the conversion to run when it is given back.
    pub(super) const fn settling(settling: Settling) -> Loan {
        Loan {
            settling: Some(settling),
            ..Loan::EMPTY
        }
    }

    /// # Safety
    /// See [`Span::new`], until the loan is given back.
    #[inline(never)]
    unsafe fn of(elements: Elements<'_>, settling: Option<Settling>) -> Result<Loan, Error> {
        let Some(made) = elements.walked() else {
            return Ok(Loan {
                // SAFETY: the caller guarantees it.
                span: unsafe { elements.row() }?,
                _walked: None,
                settling,
            });
        };
        let mut walked = Box::new(Walked {
            typed: TypedElements::new(core::ptr::null(), 0, made.layout()),
            datatype: made.try_clone()?,
        });
        let Walked { typed, datatype } = &mut *walked;
        *typed = TypedElements::new(elements.at.cast(), datatype.extent(), datatype.layout());
        // SAFETY: the caller guarantees it; the box keeps the addresses of `typed` and the layout.
        let span = unsafe { Span::typed(&*typed, elements.kind.bytes(elements.count)?) };
        Ok(Loan {
            span,
            _walked: Some(walked),
            settling,
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
        if let Some(settling) = self.settling {
            // SAFETY: the caller guarantees it.
            unsafe { settling.settle() }
        }
    }
}

impl Hold for Loan {
    fn span(&self) -> Span {
        self.span
    }
}

/// Elements at the target of a one-sided operation.
#[derive(Clone, Copy)]
pub(crate) struct Far<'d>(pub(crate) Kind<'d>);

impl windows::Elements for Far<'_> {
    type Hold = Loan;

    fn length(&self, count: usize) -> Result<usize, Error> {
        self.0.bytes(count)
    }

    fn range(&self, count: usize) -> (i128, i128) {
        self.0.range(count)
    }

    fn runs(&self, bytes: usize, mut run: impl FnMut(isize, usize, usize)) {
        match self.0 {
            _ if bytes == 0 => {}
            Kind::Made(made) if !made.is_row() => made.layout().walk(made.extent(), 0, bytes, run),
            row => run(row.row().unwrap_or(0), 0, bytes),
        }
    }

    fn places(&self, base: usize, bytes: usize) -> Result<Loan, Error> {
        let elements = Elements {
            at: core::ptr::without_provenance(base),
            count: bytes.div_ceil(self.0.size().max(1)),
            kind: self.0,
        };
        // SAFETY: these are addresses in a target's window, which are only walked here, never accessed.
        unsafe { Loan::of(elements, None) }
    }
}
