//! Lending buffers to calls: where the binding's buffers become the device's areas.
//!
//! A span is an address that the device copies from or to until its request has finished; the borrow checker does not
//! see that. A blocking call ends only after every request on its areas has finished; what does not block keeps a
//! [`Loan`], and is finished before the buffer's borrow ends (`request`). That rests on one promise of the
//! carrier: if a call is left by unwinding (a panic on a host; a node does not unwind), the device is never driven again.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_void;

use super::buffer::{AsDatatype, Buffer, BufferMut, Settling};
use super::partition::{PartitionedBuffer, PartitionedBufferMut};
use super::user::{Kind, kind_of};
use crate::device::memory::area::Area;
use crate::device::memory::{Span, Typed};
use crate::mpi::datatype::derived::Type;
use crate::mpi::error::Error;
use crate::mpi::windows::{self, Hold};

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
            Kind::Basic(_) => None,
            Kind::Made(made) => (!made.is_row()).then_some(made),
        }
    }

    /// The span of elements that are a row of bytes.
    ///
    /// # Safety
    /// As for [`Span::new`], for the elements.
    unsafe fn row(&self) -> Result<Span, Error> {
        let bytes = self.bytes()?;
        if bytes == 0 {
            return Ok(Span::EMPTY);
        }
        let first = match self.kind {
            Kind::Basic(_) => 0,
            Kind::Made(made) => made.layout().first(),
        };
        // SAFETY: the caller's promise.
        Ok(unsafe { Span::new(self.at.wrapping_byte_offset(first).cast(), bytes) })
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

/// Runs `call`, which finishes all its requests before it returns, with what the buffer's elements are. Fails as
/// `call` does and with [`Error::TooLong`].
pub(crate) fn lend<B, R>(
    buffer: &B,
    call: impl FnOnce(Span) -> Result<R, Error>,
) -> Result<R, Error>
where
    B: Buffer + ?Sized,
{
    let datatype = buffer.as_datatype();
    let elements = Elements {
        at: buffer.pointer(),
        count: buffer.count() as usize,
        kind: kind_of(&datatype),
    };
    // SAFETY: `Buffer` says that the bytes are there, and it is borrowed until `call` has returned.
    unsafe { elements.lend(call) }
}

/// As [`lend`], for a buffer that is written.
pub(crate) fn lend_mut<B, R>(
    buffer: &mut B,
    call: impl FnOnce(Span) -> Result<R, Error>,
) -> Result<R, Error>
where
    B: BufferMut + ?Sized,
{
    let datatype = buffer.as_datatype();
    let elements = Elements {
        count: buffer.count() as usize,
        at: buffer.pointer_mut(),
        kind: kind_of(&datatype),
    };
    let settling = buffer.settling();
    // SAFETY: as in `lend`; the borrow is exclusive.
    let result = unsafe { elements.lend(call) };
    // SAFETY: all messages to it have been finished, and it is borrowed still.
    unsafe { settling.settle() };
    result
}

/// Packed bytes of an element of the buffer.
pub(crate) fn element<B: AsDatatype + ?Sized>(buffer: &B) -> usize {
    kind_of(&buffer.as_datatype()).size()
}

const OUTSIDE: Error = Error::Argument {
    what: "a part that is not within its buffer, or another number of parts than there are processes",
};

/// Where each rank's part of a buffer lies, in packed bytes.
fn parts(
    counts: &[super::super::Count],
    displs: &[super::super::Count],
    (whole, element): (usize, usize),
    ranks: usize,
) -> Result<(), Error> {
    if counts.len() != ranks || displs.len() != ranks {
        return Err(OUTSIDE);
    }
    let is_within = |count: i32, displ: i32| {
        let (count, displ) = (usize::try_from(count).ok()?, usize::try_from(displ).ok()?);
        (count + displ <= whole / element.max(1) || element == 0).then_some(())
    };
    let mut each = counts.iter().zip(displs);
    match each.all(|(count, displ)| is_within(*count, *displ).is_some()) {
        true => Ok(()),
        false => Err(OUTSIDE),
    }
}

/// The areas of the parts.
fn areas(
    counts: &[super::super::Count],
    displs: &[super::super::Count],
    whole: Area,
    element: usize,
    ranks: usize,
) -> Result<Vec<Area>, Error> {
    parts(counts, displs, (whole.len(), element), ranks)?;
    let mut areas = crate::mpi::coll::room(ranks)?;
    areas.extend(
        counts
            .iter()
            .zip(displs)
            .map(|(count, displ)| match *count as usize * element {
                0 => Area::EMPTY,
                bytes => whole.part(*displ as usize * element, bytes),
            }),
    );
    Ok(areas)
}

/// As [`lend`], of a buffer that has a part for each of so many ranks.
pub(crate) fn lend_parts<P, R>(
    buffer: &P,
    ranks: usize,
    call: impl FnOnce(&[Area]) -> Result<R, Error>,
) -> Result<R, Error>
where
    P: PartitionedBuffer + ?Sized,
{
    let datatype = buffer.as_datatype();
    let elements = Elements {
        at: buffer.pointer(),
        count: buffer.whole() as usize,
        kind: kind_of(&datatype),
    };
    let (counts, displs) = (buffer.counts(), buffer.displs());
    let size = elements.kind.size();
    let run = |whole: Span| call(&areas(counts, displs, whole.into(), size, ranks)?);
    // SAFETY: as in `lend`.
    unsafe { elements.lend(run) }
}

/// As [`lend_parts`], for a buffer that is written.
pub(crate) fn lend_parts_mut<P, R>(
    buffer: &mut P,
    ranks: usize,
    call: impl FnOnce(&[Area]) -> Result<R, Error>,
) -> Result<R, Error>
where
    P: PartitionedBufferMut + ?Sized,
{
    let datatype = buffer.as_datatype();
    let elements = Elements {
        count: buffer.whole() as usize,
        at: buffer.pointer_mut(),
        kind: kind_of(&datatype),
    };
    let settling = buffer.settling();
    let (counts, displs) = (buffer.counts(), buffer.displs());
    let size = elements.kind.size();
    let run = |whole: Span| call(&areas(counts, displs, whole.into(), size, ranks)?);
    // SAFETY: as in `lend_mut`.
    let result = unsafe { elements.lend(run) };
    // SAFETY: as in `lend_mut`.
    unsafe { settling.settle() };
    result
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
    unsafe fn of(elements: Elements<'_>, settling: Option<Settling>) -> Result<Loan, Error> {
        let Some(made) = elements.walked() else {
            // SAFETY: the caller's promise.
            let span = unsafe { elements.row() }?;
            return Ok(Loan {
                span,
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

    /// Of a buffer that is read. Fails with [`Error::TooLong`] or [`Error::NoRoom`].
    ///
    /// # Safety
    /// The buffer stays borrowed until every request on the area has finished.
    pub(crate) unsafe fn reading<B: Buffer + ?Sized>(buffer: &B) -> Result<Loan, Error> {
        let datatype = buffer.as_datatype();
        let elements = Elements {
            at: buffer.pointer(),
            count: buffer.count() as usize,
            kind: kind_of(&datatype),
        };
        // SAFETY: the caller's promise.
        unsafe { Loan::of(elements, None) }
    }

    /// Of a buffer that is written. Fails as [`Loan::reading`].
    ///
    /// # Safety
    /// As there; the borrow is exclusive, and [`Loan::give_back`] comes before its end.
    pub(crate) unsafe fn writing<B: BufferMut + ?Sized>(buffer: &mut B) -> Result<Loan, Error> {
        let datatype = buffer.as_datatype();
        let elements = Elements {
            count: buffer.count() as usize,
            at: buffer.pointer_mut(),
            kind: kind_of(&datatype),
        };
        let settling = buffer.settling();
        // SAFETY: the caller's promise.
        unsafe { Loan::of(elements, Some(settling)) }
    }

    /// As [`Loan::reading`], with the areas of the parts of so many ranks.
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn reading_parts<P>(
        buffer: &P,
        ranks: usize,
    ) -> Result<(Loan, Vec<Area>), Error>
    where
        P: PartitionedBuffer + ?Sized,
    {
        let datatype = buffer.as_datatype();
        let elements = Elements {
            at: buffer.pointer(),
            count: buffer.whole() as usize,
            kind: kind_of(&datatype),
        };
        // SAFETY: the caller's promise.
        let loan = unsafe { Loan::of(elements, None) }?;
        let size = elements.kind.size();
        let areas = areas(buffer.counts(), buffer.displs(), loan.area(), size, ranks)?;
        Ok((loan, areas))
    }

    /// As [`Loan::writing`], with the areas of the parts of so many ranks.
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn writing_parts<P>(
        buffer: &mut P,
        ranks: usize,
    ) -> Result<(Loan, Vec<Area>), Error>
    where
        P: PartitionedBufferMut + ?Sized,
    {
        let datatype = buffer.as_datatype();
        let elements = Elements {
            count: buffer.whole() as usize,
            at: buffer.pointer_mut(),
            kind: kind_of(&datatype),
        };
        let settling = buffer.settling();
        // SAFETY: the caller's promise.
        let loan = unsafe { Loan::of(elements, Some(settling)) }?;
        let size = elements.kind.size();
        let areas = areas(buffer.counts(), buffer.displs(), loan.area(), size, ranks)?;
        Ok((loan, areas))
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
        if count == 0 || self.0.size() == 0 {
            return (0, 0);
        }
        let (extent, low, reach) = match self.0 {
            Kind::Basic(basic) => (basic.size() as isize, 0, basic.size() as isize),
            Kind::Made(made) => {
                let (low, reach) = made.true_extent();
                (made.extent(), low, reach)
            }
        };
        let last = (count as i128 - 1) * extent as i128;
        let (low, reach) = (low as i128, reach as i128);
        (last.min(0) + low, last.max(0) + low + reach)
    }

    fn runs(&self, bytes: usize, mut run: impl FnMut(isize, usize, usize)) {
        match self.0 {
            _ if bytes == 0 => {}
            Kind::Basic(_) => run(0, 0, bytes),
            Kind::Made(made) if made.is_row() => run(made.layout().first(), 0, bytes),
            Kind::Made(made) => made.layout().walk(made.extent(), 0, bytes, run),
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
