//! Error classes, codes and strings added by the program (MPI-3.1 section 8.5).
//!
//! Their values start above MPI_ERR_LASTCODE. The value of a removed one is used again.
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
static CODES: Mutex<Vec<Option<ErrorCode>>> = Mutex::new(Vec::new());

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
    let free = codes.iter().position(Option::is_none).unwrap_or(codes.len());
    if free == USER_CODES {
        return Err(Error::Limit {
            what: LimitedResource::ErrorCodes,
            limit: USER_CODES,
        });
    }
    if free == codes.len() {
        codes.try_reserve(1).map_err(|_| Error::NoSpace {
            bytes: size_of::<ErrorCode>(),
        })?;
        codes.push(None);
    }
    let code = MPI_ERR_LASTCODE + 1 + free as c_int;
    codes[free] = Some(ErrorCode {
        class: class.unwrap_or(code),
        text: Box::default(),
    });
    TAKE_TEXT.set(remove_text);
    note_last(&codes);
    Ok(code)
}

/// Stores the value of MPI_LASTUSEDCODE.
fn note_last(codes: &[Option<ErrorCode>]) {
    let used = codes.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    LAST_USED.store(MPI_ERR_LASTCODE + used as c_int, Ordering::Relaxed);
}

/// Kind of a value that the program has added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeKind {
    Class,
    Code,
}

/// Removes a class without codes, or a code, if it has no string (MPI-4.1 section 9.5). Fails with [`Error::Argument`].
pub(super) fn remove(code: c_int, kind: CodeKind) -> Result<(), Error> {
    let mut codes = CODES.lock();
    let at = place(code).filter(|at| *at < codes.len()).ok_or(NO_CODE)?;
    let known = codes[at].as_ref().ok_or(NO_CODE)?;
    let (is_class, has_text) = (known.class == code, !known.text.is_empty());
    if is_class != (kind == CodeKind::Class) {
        return Err(Error::Argument {
            what: "an error class where the call removes a code, or a code where it removes a class",
        });
    }
    let codes_of_it = codes.iter().flatten().filter(|known| known.class == code).count();
    if is_class && codes_of_it > 1 {
        return Err(Error::Argument {
            what: "an error class that has codes; remove them first",
        });
    }
    if has_text {
        return Err(Error::Argument {
            what: "an error class or code that has a string; remove it first (MPI_Remove_error_string)",
        });
    }
    codes[at] = None;
    note_last(&codes);
    Ok(())
}

/// Sets the string of a code. Fails with [`Error::NoSpace`], and with [`Error::Argument`] for a code that the program
/// has not added.
pub(super) fn describe(code: c_int, text: &str) -> Result<(), Error> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len())
        .map_err(|_| Error::NoSpace { bytes: text.len() })?;
    copy.push_str(text);
    let mut codes = CODES.lock();
    let known = place(code).and_then(|place| codes.get_mut(place)?.as_mut());
    known.ok_or(NO_CODE)?.text = copy.into_boxed_str();
    Ok(())
}

/// Returns the class of a code. MPI_ERR_LASTCODE is also a class (section 8.4). Fails with [`Error::Argument`].
pub(super) fn class(code: c_int) -> Result<c_int, Error> {
    if ErrorClass::from_code(code).is_some() || code == MPI_ERR_LASTCODE {
        return Ok(code);
    }
    let codes = CODES.lock();
    let known = place(code).and_then(|place| codes.get(place)?.as_ref());
    known.map(|known| known.class).ok_or(NO_CODE)
}

/// Runs `f` on the string of a code; `None` if the program has not added the code.
pub(super) fn with_text<R>(code: c_int, f: impl FnOnce(&str) -> R) -> Option<R> {
    let codes = CODES.lock();
    let known = place(code).and_then(|place| codes.get(place)?.as_ref());
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
    let known = place(code).and_then(|place| codes.get_mut(place)?.as_mut());
    known.map(|known| core::mem::take(&mut known.text))
}

/// Returns the error that the program raises with this code. Fails with [`Error::Argument`].
pub(super) fn raised(code: c_int) -> Result<Error, Error> {
    let class = ErrorClass::from_code(class(code)?).unwrap_or(ErrorClass::Other);
    Ok(Error::Raised { class, code })
}
