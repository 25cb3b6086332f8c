//! Lending buffers to calls: where the binding's buffers become the device's areas.
//!
//! A span is an address that the device copies from or to until its request has finished; the borrow checker does not
//! see that. A blocking call ends only after every request on its areas has finished; what does not block keeps a
//! [`Loan`], and is finished before the buffer's borrow ends (`request`). That rests on one promise of the
//! carrier: if a call is left by unwinding (a panic on a host; a node does not unwind), the device is never driven again.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::marker::PhantomData;

use super::buffer::{AsDatatype, Buffer, BufferMut, Pointer, PointerMut, Settling};
use super::partition::{Partitioned, PartitionedBuffer, PartitionedBufferMut};
use super::user::{Kind, kind_of};
use crate::device::memory::area::Area;
use crate::device::memory::{Span, Typed};
use crate::mpi::comm::CommRank;
use crate::mpi::datatype::derived::Type;
use crate::mpi::error::Error;
use crate::mpi::windows::{self, Hold};
use crate::rust::Count;

/// Elements at an address.
#[derive(Clone, Copy)]
struct Elements<'a> {
    at: *const c_void,
    count: usize,
    kind: Kind<'a>,
}

impl<'a> Elements<'a> {
    /// Packed bytes. Fails with [`Error::TooLong`].
    fn bytes(&self) -> Result<usize, Error> {
        let bytes = self.kind.size().checked_mul(self.count);
        bytes.ok_or(Error::TooLong { bytes: usize::MAX })
    }

    /// What has to be walked; `None`: the elements are a row of bytes.
    fn walked(&self) -> Option<&'a Type> {
        match self.kind {
            Kind::Made(made) if !made.is_row() => Some(made),
            _ => None,
        }
    }

    /// The span of elements that are a row of bytes.
    ///
    /// # Safety
    /// As for [`Span::new`], for the elements.
    unsafe fn row(&self) -> Result<Span, Error> {
        let first = self.kind.row().unwrap_or(0);
        Ok(match self.bytes()? {
            0 => Span::EMPTY,
            // SAFETY: the caller's promise.
            bytes => unsafe { Span::new(self.at.wrapping_byte_offset(first).cast(), bytes) },
        })
    }

    /// Runs `call` with the elements' span.
    ///
    /// # Safety
    /// As for [`Span::new`], until `call` has returned.
    unsafe fn lend<R>(&self, call: impl FnOnce(Span) -> Result<R, Error>) -> Result<R, Error> {
        let Some(made) = self.walked() else {
            // SAFETY: the caller's promise.
            return call(unsafe { self.row() }?);
        };
        let typed = Typed::new(self.at.cast(), made.extent(), made.layout());
        // SAFETY: the caller's promise; `typed` and the layout stay until `call` has returned.
        call(unsafe { Span::typed(&typed, self.bytes()?) })
    }
}

/// How a buffer is divided among processes: a type for each way, so that an image has those alone that it uses.
pub(crate) trait Shape {
    /// Which bytes are a rank's.
    type Parts: Parts;

    /// What each of so many ranks has of the elements, of so many bytes each.
    fn parts(self, whole: Area, element: usize, ranks: usize) -> Result<Self::Parts, Error>;
}

impl<P: Parts, F: FnOnce(Area, usize, usize) -> Result<P, Error>> Shape for F {
    type Parts = P;

    fn parts(self, whole: Area, element: usize, ranks: usize) -> Result<P, Error> {
        self(whole, element, ranks)
    }
}

/// A buffer that a call borrows for `'a`: its elements, and how they are divided among processes.
pub(crate) struct Lending<'a, B: AsDatatype + ?Sized, H> {
    /// All other pointers to a buffer that is written are derived from this one.
    buffer: *const B,
    at: *const c_void,
    count: usize,
    datatype: B::Out,
    /// `None`: it is read.
    settling: Option<Settling>,
    shape: H,
    borrowed: PhantomData<&'a B>,
}

impl<'a, B: Pointer + AsDatatype + ?Sized, H> Lending<'a, B, H> {
    fn reading(buffer: &'a B, count: Count, shape: H) -> Self {
        Lending {
            buffer,
            at: buffer.pointer(),
            count: count as usize,
            datatype: buffer.as_datatype(),
            settling: None,
            shape,
            borrowed: PhantomData,
        }
    }
}

impl<'a, B: PointerMut + AsDatatype + ?Sized, H> Lending<'a, B, H> {
    fn writing(buffer: &'a mut B, shape: impl FnOnce(&'a B) -> (Count, H)) -> Self {
        let whole: *mut B = buffer;
        // SAFETY: borrowed for `'a`, exclusively.
        let buffer: &'a mut B = unsafe { &mut *whole };
        let (at, settling) = (buffer.pointer_mut(), buffer.settling());
        let buffer: &'a B = buffer;
        let (count, shape) = shape(buffer);
        Lending {
            buffer: whole,
            at,
            count: count as usize,
            datatype: buffer.as_datatype(),
            settling: Some(settling),
            shape,
            borrowed: PhantomData,
        }
    }
}

/// One part for all.
fn one(whole: Area, _: usize, _: usize) -> Result<Area, Error> {
    Ok(whole)
}

/// The parts that a buffer says.
fn those_of<P: Partitioned + ?Sized>(buffer: &P) -> impl Shape<Parts = Vec<Area>> {
    let (counts, displs) = (buffer.counts(), buffer.displs());
    move |whole: Area, element: usize, ranks: usize| areas(counts, displs, whole, element, ranks)
}

/// A buffer that is read, in one part.
pub(crate) fn whole<B>(buffer: &B) -> Lending<'_, B, impl Shape<Parts = Area> + use<B>>
where
    B: Buffer + ?Sized,
{
    Lending::reading(buffer, buffer.count(), one)
}

/// A buffer that is read, in parts of one length, in the order of the ranks.
pub(crate) fn equal<B>(buffer: &B) -> Lending<'_, B, impl Shape<Parts = EqualParts> + use<B>>
where
    B: Buffer + ?Sized,
{
    Lending::reading(buffer, buffer.count(), EqualParts::new)
}

/// A buffer that is read, in the parts that it says.
pub(crate) fn listed<P>(buffer: &P) -> Lending<'_, P, impl Shape<Parts = Vec<Area>>>
where
    P: PartitionedBuffer + ?Sized,
{
    Lending::reading(buffer, buffer.whole(), those_of(buffer))
}

/// As [`whole`], of a buffer that is written.
pub(crate) fn whole_mut<B>(buffer: &mut B) -> Lending<'_, B, impl Shape<Parts = Area> + use<B>>
where
    B: BufferMut + ?Sized,
{
    Lending::writing(buffer, |buffer| (buffer.count(), one))
}

/// As [`equal`], of a buffer that is written.
pub(crate) fn equal_mut<B>(
    buffer: &mut B,
) -> Lending<'_, B, impl Shape<Parts = EqualParts> + use<B>>
where
    B: BufferMut + ?Sized,
{
    Lending::writing(buffer, |buffer| (buffer.count(), EqualParts::new))
}

/// As [`listed`], of a buffer that is written.
pub(crate) fn listed_mut<P>(buffer: &mut P) -> Lending<'_, P, impl Shape<Parts = Vec<Area>>>
where
    P: PartitionedBufferMut + ?Sized,
{
    Lending::writing(buffer, |buffer| (buffer.whole(), those_of(buffer)))
}

/// What a collective gives, or where it puts its result: a buffer, a list of buffers, or nothing.
pub(crate) trait Side: Sized {
    /// The type of the buffer.
    type Buffer: ?Sized;
    /// Which bytes of it are a rank's.
    type Parts: Parts;

    /// The buffer.
    fn buffer(&self) -> *const Self::Buffer;

    /// How many elements it has, and what they are; `None`: there is no buffer, or a list of several.
    fn shape(&self) -> Option<(usize, Kind<'_>)> {
        None
    }

    /// Runs `call`, which finishes all its requests before it returns, with what so many processes have of it. Fails as
    /// `call` does, and with [`Error::TooLong`], [`Error::Lengths`], [`Error::Argument`] or [`Error::NoRoom`] when it is
    /// not to be divided among so many.
    fn lend<R>(
        self,
        ranks: usize,
        call: impl FnOnce(Self::Parts) -> Result<R, Error>,
    ) -> Result<R, Error> {
        // SAFETY: the buffer is borrowed until `call` has returned.
        let (loan, parts) = unsafe { self.loan(ranks) }?;
        let result = call(parts);
        // SAFETY: all requests on it have finished, and it is borrowed still.
        unsafe { loan.give_back() };
        result
    }

    /// What so many processes have of it, for longer than a call. Fails as [`Side::lend`].
    ///
    /// # Safety
    /// The buffer stays borrowed until every request on the parts has finished; [`Loan::give_back`] comes before the
    /// end of its borrow.
    unsafe fn loan(self, ranks: usize) -> Result<(Loan, Self::Parts), Error>;
}

impl<B: AsDatatype + ?Sized, H> Lending<'_, B, H> {
    fn elements(&self) -> Elements<'_> {
        Elements {
            at: self.at,
            count: self.count,
            kind: kind_of(&self.datatype),
        }
    }
}

/// A buffer of an operation on one target, borrowed for `'a`; or none.
pub(crate) trait Operand<'a>: Side {
    /// As [`Side::lend`], with all its elements.
    fn lend_span<R>(&self, call: impl FnOnce(Span) -> Result<R, Error>) -> Result<R, Error>;

    /// As [`Side::loan`], of all its elements.
    ///
    /// # Safety
    /// As there.
    unsafe fn loan_span(&self) -> Result<Loan, Error>;
}

impl<'a, B: AsDatatype + ?Sized, H: Shape> Operand<'a> for Lending<'a, B, H> {
    fn lend_span<R>(&self, call: impl FnOnce(Span) -> Result<R, Error>) -> Result<R, Error> {
        // SAFETY: the buffer's maker says that the bytes are there, and it is borrowed, exclusively where it is written.
        unsafe { lend_elements(self.elements(), self.settling, call) }
    }

    unsafe fn loan_span(&self) -> Result<Loan, Error> {
        // SAFETY: the caller's promise.
        unsafe { Loan::of(self.elements(), self.settling) }
    }
}

/// Runs `call` with a buffer's elements.
///
/// # Safety
/// As for [`Span::new`], until `call` has returned; where there is something to settle, the borrow is exclusive.
unsafe fn lend_elements<R>(
    elements: Elements<'_>,
    settling: Option<Settling>,
    call: impl FnOnce(Span) -> Result<R, Error>,
) -> Result<R, Error> {
    // SAFETY: the caller's promise.
    let result = unsafe { elements.lend(call) };
    if let Some(settling) = settling {
        // SAFETY: all messages to it have been finished, and it is borrowed still.
        unsafe { settling.settle() };
    }
    result
}

impl<B: AsDatatype + ?Sized, H: Shape> Side for Lending<'_, B, H> {
    type Buffer = B;
    type Parts = H::Parts;

    fn buffer(&self) -> *const B {
        self.buffer
    }

    fn shape(&self) -> Option<(usize, Kind<'_>)> {
        Some((self.count, kind_of(&self.datatype)))
    }

    fn lend<R>(
        self,
        ranks: usize,
        call: impl FnOnce(Self::Parts) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let Lending { at, count, .. } = self;
        let kind = kind_of(&self.datatype);
        let parts = |whole: Span| self.shape.parts(whole.into(), kind.size(), ranks);
        let elements = Elements { at, count, kind };
        // SAFETY: as in `lend_span`.
        unsafe { lend_elements(elements, self.settling, |whole| call(parts(whole)?)) }
    }

    unsafe fn loan(self, ranks: usize) -> Result<(Loan, Self::Parts), Error> {
        let (elements, size) = (self.elements(), kind_of(&self.datatype).size());
        // SAFETY: the caller's promise.
        let loan = unsafe { Loan::of(elements, self.settling) }?;
        let parts = self.shape.parts(loan.area(), size, ranks)?;
        Ok((loan, parts))
    }
}

/// No buffer.
pub(crate) struct Nothing;

impl Side for Nothing {
    type Buffer = ();
    type Parts = Area;

    fn buffer(&self) -> *const () {
        &()
    }

    unsafe fn loan(self, _: usize) -> Result<(Loan, Self::Parts), Error> {
        Ok((Loan::EMPTY, Area::EMPTY))
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

/// Which bytes of a buffer are a rank's.
pub(crate) trait Parts: Sized + Send + 'static {
    /// A rank's bytes.
    fn of(&self, rank: CommRank) -> Area;

    /// [`Parts::of`], as a function.
    fn by_rank(self) -> impl Fn(CommRank) -> Area + Send + 'static {
        move |rank| self.of(rank)
    }
}

/// All of them, whoever asks.
impl Parts for Area {
    fn of(&self, _: CommRank) -> Area {
        *self
    }
}

/// So many bytes of them, in the order of the ranks.
pub(crate) struct EqualParts(pub(crate) Area, pub(crate) usize);

impl EqualParts {
    /// So many equal parts of elements. Fails with [`Error::Lengths`] when there are not as many whole elements for each.
    pub(crate) fn new(whole: Area, element: usize, ranks: usize) -> Result<EqualParts, Error> {
        let elements = whole.len() / element.max(1);
        if ranks == 0 {
            return same_length(0, whole.len()).map(|()| EqualParts(Area::EMPTY, 0));
        }
        match elements.is_multiple_of(ranks) {
            true => Ok(EqualParts(whole, whole.len() / ranks)),
            false => Err(Error::Lengths {
                expected: elements.next_multiple_of(ranks) * element,
                given: whole.len(),
            }),
        }
    }
}

impl Parts for EqualParts {
    fn of(&self, rank: CommRank) -> Area {
        let EqualParts(all, bytes) = *self;
        match bytes {
            0 => Area::EMPTY,
            bytes => all.part(rank.0 as usize * bytes, bytes),
        }
    }
}

/// These.
impl Parts for Vec<Area> {
    fn of(&self, rank: CommRank) -> Area {
        self[rank.0 as usize]
    }
}

/// Fails with [`Error::Lengths`] where two lengths in bytes differ.
pub(crate) fn same_length(expected: usize, given: usize) -> Result<(), Error> {
    match expected == given {
        true => Ok(()),
        false => Err(Error::Lengths { expected, given }),
    }
}

/// Runs `call`, which finishes all its requests before it returns, with what the buffer's elements are. Fails as
/// `call` does and with [`Error::TooLong`].
pub(crate) fn lend<B, R>(
    buffer: &B,
    call: impl FnOnce(Span) -> Result<R, Error>,
) -> Result<R, Error>
where
    B: Buffer + ?Sized,
{
    whole(buffer).lend_span(call)
}

/// As [`lend`], for a buffer that is written.
pub(crate) fn lend_mut<B, R>(
    buffer: &mut B,
    call: impl FnOnce(Span) -> Result<R, Error>,
) -> Result<R, Error>
where
    B: BufferMut + ?Sized,
{
    whole_mut(buffer).lend_span(call)
}

const OUTSIDE: Error = Error::argument(
    "a part that is not within its buffer, or another number of parts than there are processes",
);

/// The areas of the parts, of which each lies within the whole.
fn areas(
    counts: &[Count],
    displs: &[Count],
    whole: Area,
    element: usize,
    ranks: usize,
) -> Result<Vec<Area>, Error> {
    if counts.len() != ranks || displs.len() != ranks {
        return Err(OUTSIDE);
    }
    let mut areas = crate::mpi::coll::room(ranks)?;
    for (count, displ) in counts.iter().zip(displs) {
        let (Ok(count), Ok(displ)) = (usize::try_from(*count), usize::try_from(*displ)) else {
            return Err(OUTSIDE);
        };
        if element != 0 && count + displ > whole.len() / element {
            return Err(OUTSIDE);
        }
        areas.push(match count * element {
            0 => Area::EMPTY,
            bytes => whole.part(displ * element, bytes),
        });
    }
    Ok(areas)
}

/// A buffer that is lent for longer than a call.
pub(crate) struct Loan {
    span: Span,
    /// What a typed span leads to.
    _walked: Option<Box<Walked>>,
    settling: Option<Settling>,
}

struct Walked {
    typed: Typed,
    datatype: Type,
}

impl Loan {
    /// No bytes.
    pub(crate) const EMPTY: Loan = Loan {
        span: Span::EMPTY,
        _walked: None,
        settling: None,
    };

    /// No bytes of its own, and what is to be done when it is given back.
    pub(super) const fn settling(settling: Settling) -> Loan {
        Loan {
            settling: Some(settling),
            ..Loan::EMPTY
        }
    }

    /// # Safety
    /// As for [`Span::new`], until the loan is given back.
    #[inline(never)]
    unsafe fn of(elements: Elements<'_>, settling: Option<Settling>) -> Result<Loan, Error> {
        let Some(made) = elements.walked() else {
            return Ok(Loan {
                // SAFETY: the caller's promise.
                span: unsafe { elements.row() }?,
                _walked: None,
                settling,
            });
        };
        let mut walked = Box::new(Walked {
            typed: Typed::new(core::ptr::null(), 0, made.layout()),
            datatype: made.try_clone()?,
        });
        let Walked { typed, datatype } = &mut *walked;
        *typed = Typed::new(elements.at.cast(), datatype.extent(), datatype.layout());
        // SAFETY: the caller's promise; the box keeps `typed` and the layout where they are.
        let span = unsafe { Span::typed(&*typed, elements.bytes()?) };
        Ok(Loan {
            span,
            _walked: Some(walked),
            settling,
        })
    }

    pub(crate) fn span(&self) -> Span {
        self.span
    }

    pub(crate) fn area(&self) -> Area {
        self.span.into()
    }

    /// The buffer is the program's again.
    ///
    /// # Safety
    /// Every request on the area has finished, and the buffer is borrowed still.
    pub(crate) unsafe fn give_back(self) {
        // SAFETY: the caller's promise.
        unsafe { self.settle() }
    }

    /// As [`Loan::give_back`], of a buffer that is lent again.
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn settle(&self) {
        if let Some(settling) = self.settling {
            // SAFETY: the caller's promise.
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
        let bytes = self.0.size().checked_mul(count);
        bytes.ok_or(Error::TooLong { bytes: usize::MAX })
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
        // SAFETY: these are places in a target's window, and not looked at here but walked alone.
        unsafe { Loan::of(elements, None) }
    }
}
