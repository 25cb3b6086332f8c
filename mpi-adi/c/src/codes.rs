//! Error classes, codes and strings added by the program (MPI-3.1 section 8.5).
//!
//! Their values start above MPI_ERR_LASTCODE. They exist until the job ends, because MPI-3.1 cannot remove them.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering};

use spin::Mutex;

use super::lazy_callback::LazyCallback;
use super::types::constants::MPI_ERR_LASTCODE;
use midplane_objects::error::{Error, ErrorClass, LimitedResource};

/// Maximum number of error classes and codes that a program can add.
pub const USER_CODES: usize = 4096;

/// Value of MPI_LASTUSEDCODE, which the program reads through a pointer.
pub(super) static LAST_USED: AtomicI32 = AtomicI32::new(MPI_ERR_LASTCODE);

struct ErrorCode {
    class: c_int,
    text: Box<str>,
}

/// No call waits while it holds the lock, and no interrupt handler uses it.
static CODES: Mutex<Vec<ErrorCode>> = Mutex::new(Vec::new());

const NO_CODE: Error = Error::Argument {
    what: "not an error code of this library or of the program's",
};

/// Returns the index of a code of the program.
fn place(code: c_int) -> Option<usize> {
    usize::try_from(code.checked_sub(MPI_ERR_LASTCODE + 1)?).ok()
}

/// Adds a code of this class or, for `None`, a new class. Returns the code. Fails with [`Error::Limit`],
/// [`Error::NoSpace`] and, for an invalid class, [`Error::Argument`].
pub(super) fn add(class: Option<c_int>) -> Result<c_int, Error> {
    if let Some(class) = class
        && self::class(class)? != class
    {
        return Err(Error::Argument {
            what: "errorclass is an error code and no class",
        });
    }
    let mut codes = CODES.lock();
    if codes.len() == USER_CODES {
        return Err(Error::Limit {
            what: LimitedResource::ErrorCodes,
            limit: USER_CODES,
        });
    }
    codes.try_reserve(1).map_err(|_| Error::NoSpace {
        bytes: size_of::<ErrorCode>(),
    })?;
    let code = MPI_ERR_LASTCODE + 1 + codes.len() as c_int;
    codes.push(ErrorCode {
        class: class.unwrap_or(code),
        text: Box::default(),
    });
    TAKE_TEXT.set(remove_text);
    LAST_USED.store(code, Ordering::Relaxed);
    Ok(code)
}

/// Sets the string of a code. Fails with [`Error::NoSpace`], and with [`Error::Argument`] for a code that the program
/// has not added.
pub(super) fn describe(code: c_int, text: &str) -> Result<(), Error> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len())
        .map_err(|_| Error::NoSpace { bytes: text.len() })?;
    copy.push_str(text);
    let mut codes = CODES.lock();
    let known = place(code).and_then(|place| codes.get_mut(place));
    known.ok_or(NO_CODE)?.text = copy.into_boxed_str();
    Ok(())
}

/// Returns the class of a code. MPI_ERR_LASTCODE is also a class (section 8.4). Fails with [`Error::Argument`].
pub(super) fn class(code: c_int) -> Result<c_int, Error> {
    if ErrorClass::from_code(code).is_some() || code == MPI_ERR_LASTCODE {
        return Ok(code);
    }
    let codes = CODES.lock();
    let known = place(code).and_then(|place| codes.get(place));
    known.map(|known| known.class).ok_or(NO_CODE)
}

/// Runs `f` on the string of a code; `None` if the program has not added the code.
pub(super) fn with_text<R>(code: c_int, f: impl FnOnce(&str) -> R) -> Option<R> {
    let codes = CODES.lock();
    let known = place(code).and_then(|place| codes.get(place));
    known.map(|known| f(&known.text))
}

/// Removes and returns the string of a code; `None` if the program has not added the code. The end of the job uses it,
/// because it must not hold the lock.
pub(super) fn take_text(code: c_int) -> Option<Box<str>> {
    let take = TAKE_TEXT.get();
    take.and_then(|take| take(code))
}

/// Implements [`take_text`]. Installed with the first code, so that the image of a program without codes does not
/// contain this code.
static TAKE_TEXT: LazyCallback<TakeText> = LazyCallback::new();

type TakeText = fn(c_int) -> Option<Box<str>>;

fn remove_text(code: c_int) -> Option<Box<str>> {
    let mut codes = CODES.lock();
    let known = place(code).and_then(|place| codes.get_mut(place));
    known.map(|known| core::mem::take(&mut known.text))
}

/// Returns the error that the program raises with this code. Fails with [`Error::Argument`].
pub(super) fn raised(code: c_int) -> Result<Error, Error> {
    let class = ErrorClass::from_code(class(code)?).unwrap_or(ErrorClass::Other);
    Ok(Error::Raised { class, code })
}
