//! Buffers of a datatype's elements.
//!
//! Elements without holes are a plain span. Others are lent to the device by a [`Loan`], to which a typed span leads:
//! what the elements are, and a hold on their datatype. A loan has a holder in each call, persistent request and
//! request under way that uses it; the last one gives it back. The program may give a request up before it has
//! completed (MPI_Request_free): such loans wait in a list until a later one finds their requests done.

use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use spin::Mutex;

use super::objects::{self, Object, committed, pair, row_bytes};
use super::shared::{Shared, put, take};
use crate::addresses::is_in_place;
use crate::binding::any_env;
use crate::hook::Hook;
use midplane_device::interface::{Device, Release};
use midplane_device::memory::{END_OF_ADDRESSES, MODEL_KEYS, Span, Typed};
use midplane_device::request::RequestId;
use midplane_objects::datatype::Basic;
use midplane_objects::datatype::derived::Type;
use midplane_objects::error::Error;
use midplane_objects::process::Env;

/// Bytes of a loan on a machine of 64 bits.
pub const LOAN_BYTES: usize = 56;
const _: () = assert!(usize::BITS != 64 || size_of::<Loan>() == LOAN_BYTES);

/// What the product of any two displacements, or of one and a number of elements, is reckoned in.
#[cfg(target_pointer_width = "64")]
type Wide = i128;
#[cfg(not(target_pointer_width = "64"))]
type Wide = i64;

/// What a typed span leads to.
#[repr(C)]
struct Loan {
    // First: the device knows this part.
    typed: Typed,
    holders: AtomicU32,
    /// The request that the program has given up; its name.
    request: AtomicU32,
    next: AtomicPtr<Loan>,
    /// Kept for the layout that `typed` points to.
    _datatype: Shared<Object>,
}

/// A buffer that is lent: the span, and a hold on its loan if it has one.
pub struct Lent(Span);

impl Lent {
    /// No bytes.
    pub const EMPTY: Lent = Lent(Span::EMPTY);

    /// A plain buffer.
    #[inline]
    pub fn plain(span: Span) -> Lent {
        Lent(span)
    }

    #[inline]
    pub fn span(&self) -> Span {
        self.0
    }

    /// Leaves the hold to the request that was started with the span; [`release`] ends it.
    #[inline]
    pub fn keep(self) {
        core::mem::forget(self);
    }
}

impl Clone for Lent {
    fn clone(&self) -> Lent {
        if let Some(loan) = loan(self.0) {
            // SAFETY: there as long as it has a holder, which `self` is.
            unsafe { loan.as_ref() }
                .holders
                .fetch_add(1, Ordering::Relaxed);
        }
        Lent(self.0)
    }
}

impl Drop for Lent {
    #[inline]
    fn drop(&mut self) {
        release(self.0);
    }
}

#[inline]
fn loan(span: Span) -> Option<NonNull<Loan>> {
    NonNull::new(span.elements()?.cast::<Loan>().cast_mut())
}

/// Ends one hold on the span's loan, if it has one.
#[inline]
pub fn release(span: Span) {
    if let Some(loan) = loan(span) {
        give_back(loan);
    }
}

#[cold]
fn give_back(loan: NonNull<Loan>) {
    // SAFETY: there as long as it has a holder, and one is given up here.
    let holders = unsafe { loan.as_ref() }
        .holders
        .fetch_sub(1, Ordering::AcqRel);
    if holders == 1 {
        // SAFETY: from `put`, and this was the last holder.
        drop(unsafe { take(loan) });
    }
}

/// Elements of one datatype, as calls on buffers need them.
pub struct Elements {
    size: usize,
    extent: isize,
    /// The displacement of the first byte in packed order.
    first: isize,
    /// The least displacement of a byte, and how far the greatest is from it.
    reach: (isize, isize),
    /// What has to be walked; `None`: there are no holes.
    walked: Option<Shared<Object>>,
}

/// One element as it is in memory, for a function of the program's own.
pub struct Unpacked {
    elements: Elements,
    /// Aligned for whatever the element is, with as many bytes as it reaches over.
    words: Vec<u128>,
}

impl Unpacked {
    /// Room for one. Fails with [`Error::NoRoom`].
    pub fn new(elements: Elements) -> Result<Self, Error> {
        let bytes = elements.reach.1 as usize + Self::before(&elements);
        let count = bytes.div_ceil(size_of::<u128>());
        let mut words = Vec::new();
        words
            .try_reserve_exact(count)
            .map_err(|_| Error::NoRoom { bytes })?;
        words.resize(count, 0);
        Ok(Unpacked { elements, words })
    }

    /// Bytes in front of the element, for its displacement 0 to be aligned.
    fn before(elements: &Elements) -> usize {
        elements.reach.0.rem_euclid(size_of::<u128>() as isize) as usize
    }

    /// Where its displacement 0 is, whether or not it has a byte there.
    pub fn origin(&mut self) -> *mut c_void {
        let begin = self.words.as_mut_ptr().cast::<c_void>();
        let before = Self::before(&self.elements) as isize;
        begin.wrapping_byte_offset(before - self.elements.reach.0)
    }

    /// The runs of bytes of the element: where each is in memory, and where packed.
    fn runs(elements: &Elements, mut run: impl FnMut(Range<usize>, Range<usize>)) {
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
        Self::runs(&self.elements, |at, from| {
            memory[at].copy_from_slice(&packed[from])
        });
    }

    pub fn pack(&self, packed: &mut [u8]) {
        let memory: &[u8] = bytemuck::cast_slice(&self.words);
        Self::runs(&self.elements, |at, to| {
            packed[to].copy_from_slice(&memory[at])
        });
    }
}

impl Elements {
    /// Elements of a predefined datatype as they are in memory, what is between the parts of a pair among it.
    pub fn of_basic(basic: Basic) -> Elements {
        Elements::row_of(basic.extent())
    }

    /// Elements of so many bytes, without holes.
    fn row_of(size: usize) -> Elements {
        Elements {
            size,
            extent: size as isize,
            first: 0,
            reach: (0, size as isize),
            walked: None,
        }
    }

    /// Elements of a datatype that no handle names. Fails with [`Error::NoRoom`].
    pub fn of_type(datatype: Type) -> Result<Elements, Error> {
        Ok(Elements::of_object(objects::nameless(datatype)?))
    }

    fn of_object(object: Shared<Object>) -> Elements {
        let datatype = &object.datatype;
        let (size, extent) = (datatype.size(), datatype.extent());
        let (first, reach) = (datatype.layout().first(), datatype.true_extent());
        Elements {
            size,
            extent,
            first,
            reach,
            walked: (!datatype.is_row()).then_some(object),
        }
    }

    /// Elements of the datatype that `handle` names. Fails with [`Error::Datatype`], [`Error::Uncommitted`] or
    /// [`Error::NoRoom`].
    pub fn of(handle: c_int) -> Result<Elements, Error> {
        if let Some(bytes) = row_bytes(handle) {
            return Ok(Elements::row_of(bytes));
        }
        match pair(handle) {
            Some(at) => objects::object_of(at),
            None => committed(handle),
        }
        .map(Elements::of_object)
    }

    /// Packed bytes of one.
    pub fn size(&self) -> usize {
        self.size
    }

    /// One is in memory as it is packed, from its address on.
    pub fn is_as_packed(&self) -> bool {
        self.walked.is_none() && self.first == 0
    }

    /// Packed bytes of `count`. Fails with [`Error::TooLong`].
    pub fn length(&self, count: usize) -> Result<usize, Error> {
        let bytes = self.size.checked_mul(count);
        bytes.ok_or(Error::TooLong { bytes: usize::MAX })
    }

    /// From the least displacement of a byte of `count` elements, 0 that of the first element, to behind the greatest.
    pub fn range(&self, count: usize) -> (i128, i128) {
        if self.size == 0 || count == 0 {
            return (0, 0);
        }
        let last = (count as i128 - 1) * self.extent as i128;
        let (low, reach) = (self.reach.0 as i128, self.reach.1 as i128);
        (last.min(0) + low, last.max(0) + low + reach)
    }

    /// The runs of the first `bytes` packed bytes of elements, as many as [`Elements::length`] finds possible: `run`
    /// gets, in order, the displacement of some bytes, how many packed ones come before, and how many they are.
    pub fn runs(&self, bytes: usize, mut run: impl FnMut(isize, usize, usize)) {
        match &self.walked {
            _ if bytes == 0 => {}
            None => run(self.first, 0, bytes),
            Some(object) => object.datatype.layout().walk(self.extent, 0, bytes, run),
        }
    }

    /// `count` elements from number `first` of a buffer on are where a program can have some. Fails with
    /// [`Error::InPlace`] or [`Error::NullBuffer`].
    pub fn check(&self, buffer: *const c_void, first: isize, count: usize) -> Result<(), Error> {
        if self.length(count)? == 0 {
            return Ok(());
        }
        if is_in_place(buffer) {
            return Err(Error::InPlace);
        }
        // Elements without gaps, as most are, need no wide numbers.
        let is_row = self.reach == (0, self.extent) && self.extent as usize == self.size;
        if is_row && first == 0 {
            let end = buffer.addr().checked_add(self.size * count);
            let is_there = end.is_some_and(|end| end <= END_OF_ADDRESSES);
            return match is_there && buffer.addr() >= MODEL_KEYS {
                true => Ok(()),
                false => Err(Error::NullBuffer),
            };
        }
        let wide = |number: isize| number as Wide;
        let begin = buffer.addr() as Wide + wide(first) * wide(self.extent);
        let last = begin.saturating_add((count as Wide - 1) * wide(self.extent));
        let low = begin.min(last).saturating_add(wide(self.reach.0));
        let reach = wide(self.reach.0) + wide(self.reach.1);
        let high = begin.max(last).saturating_add(reach);
        // Nothing lies at such addresses: null, or a member of what a null pointer points to.
        match low < MODEL_KEYS as Wide || high > END_OF_ADDRESSES as Wide {
            true => Err(Error::NullBuffer),
            false => Ok(()),
        }
    }

    /// The buffer of `count` elements. Fails as [`Elements::check`], and with [`Error::TooLong`] or
    /// [`Error::NoRoom`].
    ///
    /// # Safety
    /// As for [`Span::new`], but for the addresses, which are checked, for every byte of the elements.
    pub unsafe fn at(&self, buffer: *const c_void, count: usize) -> Result<Lent, Error> {
        let bytes = self.length(count)?;
        self.check(buffer, 0, count)?;
        let is_one_row =
            |object: &&Shared<Object>| count == 1 && object.datatype.layout().is_dense();
        match self.walked.as_ref().filter(|object| !is_one_row(object)) {
            // SAFETY: the caller's promise.
            Some(object) if bytes > 0 => unsafe { lend(object, buffer, bytes) },
            // SAFETY: the caller's promise; the addresses have been checked.
            _ => unsafe { self.row(buffer, bytes) },
        }
    }

    /// The buffer of elements of `bytes` packed bytes from number `first` on, of which others before and behind it can
    /// be reached. Fails with [`Error::NoRoom`].
    ///
    /// # Safety
    /// As for [`Elements::at`], for what is reached; [`Elements::check`] has found those to be possible.
    pub unsafe fn origin(
        &self,
        buffer: *const c_void,
        first: isize,
        bytes: usize,
    ) -> Result<Lent, Error> {
        let buffer = buffer.wrapping_byte_offset(first.wrapping_mul(self.extent));
        match &self.walked {
            // SAFETY: the caller's promise.
            Some(object) if bytes > 0 => unsafe { lend(object, buffer, bytes) },
            // SAFETY: the caller's promise.
            _ => unsafe { self.row(buffer, bytes) },
        }
    }

    /// # Safety
    /// As for [`Span::new`].
    unsafe fn row(&self, buffer: *const c_void, bytes: usize) -> Result<Lent, Error> {
        if bytes == 0 {
            return Ok(Lent::EMPTY);
        }
        let begin = buffer.wrapping_byte_offset(self.first);
        // SAFETY: the caller's promise.
        Ok(Lent(unsafe { Span::new(begin.cast(), bytes) }))
    }
}

/// Lends elements that have to be walked. Fails with [`Error::NoRoom`].
///
/// # Safety
/// As for [`Span::typed`]; the loan itself stays for as long as it is held.
unsafe fn lend(
    object: &Shared<Object>,
    buffer: *const c_void,
    bytes: usize,
) -> Result<Lent, Error> {
    if let Ok(env) = any_env() {
        sweep(env);
    }
    let datatype = &object.datatype;
    let loan = put(|| Loan {
        typed: Typed::new(buffer.cast(), datatype.extent(), datatype.layout()),
        holders: AtomicU32::new(1),
        request: AtomicU32::new(0),
        next: AtomicPtr::new(core::ptr::null_mut()),
        _datatype: object.clone(),
    })?;
    // SAFETY: the caller's promise; the loan holds the layout.
    Ok(Lent(unsafe {
        Span::typed(loan.as_ptr().cast_const().cast(), bytes)
    }))
}

/// The loans of requests that the program has given up, the last one first. No call holds the lock while it waits,
/// and interrupts do not come here.
static GIVEN_UP: Mutex<AtomicPtr<Loan>> = Mutex::new(AtomicPtr::new(core::ptr::null_mut()));
/// How many there are.
static GIVEN_UP_COUNT: AtomicUsize = AtomicUsize::new(0);

/// The program gives up a request under way with this typed span; its loan waits until it is done.
pub fn give_up(span: Span, request: RequestId) {
    let Some(given) = loan(span) else { return };
    let list = GIVEN_UP.lock();
    let mut next = list.load(Ordering::Relaxed);
    while let Some(waits) = NonNull::new(next) {
        if waits == given {
            return;
        }
        // SAFETY: what is in the list is held by it.
        next = unsafe { waits.as_ref() }.next.load(Ordering::Relaxed);
    }
    // SAFETY: the request under way holds it; its hold is the list's now.
    let loan = unsafe { given.as_ref() };
    loan.request.store(request.0, Ordering::Relaxed);
    loan.next
        .store(list.load(Ordering::Relaxed), Ordering::Relaxed);
    list.store(given.as_ptr(), Ordering::Relaxed);
    GIVEN_UP_COUNT.fetch_add(1, Ordering::Relaxed);
    SWEEP.set(|env| {
        if GIVEN_UP_COUNT.load(Ordering::Relaxed) > 0 {
            sweep_list(env);
        }
    });
}

/// What [`sweep`] does, from the first request on that the program gives up with such a span: a program that gives up none
/// has nothing of this in its image.
static SWEEP: Hook<Sweep> = Hook::new();

type Sweep = fn(&dyn Env);

/// Gives back the loans of requests that were given up and are done.
pub fn sweep(env: &dyn Env) {
    let sweep = SWEEP.get();
    if let Some(sweep) = sweep {
        sweep(env);
    }
}

fn sweep_list(env: &dyn Env) {
    let list = GIVEN_UP.lock();
    let mut link: &AtomicPtr<Loan> = &list;
    while let Some(waits) = NonNull::new(link.load(Ordering::Relaxed)) {
        // SAFETY: what is in the list is held by it.
        let loan = unsafe { waits.as_ref() };
        let request = RequestId(loan.request.load(Ordering::Relaxed));
        // What is unknown is not there any more.
        let state = env.inspect(None, request);
        if state.is_none_or(|state| state.outcome.is_some()) {
            env.release(request, Release::Request);
            link.store(loan.next.load(Ordering::Relaxed), Ordering::Relaxed);
            GIVEN_UP_COUNT.fetch_sub(1, Ordering::Relaxed);
            give_back(waits);
        } else {
            link = &loan.next;
        }
    }
}
