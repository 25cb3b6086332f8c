//! Error classes, codes and strings that the program adds (MPI-3.1 section 8.5).
//!
//! They are numbered from MPI_ERR_LASTCODE on and stay until the job ends: MPI-3.1 has no way to take one back.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering};

use spin::Mutex;

use super::hook::Hook;
use super::types::constants::MPI_ERR_LASTCODE;
use midplane_objects::error::{Class, Error, Limited};

/// Error classes and codes that a program can add.
pub const USER_CODES: usize = 4096;

/// The value of MPI_LASTUSEDCODE: the program reads it through a pointer.
pub(super) static LAST_USED: AtomicI32 = AtomicI32::new(MPI_ERR_LASTCODE);

struct Code {
    class: c_int,
    text: Box<str>,
}

/// No call holds the lock while it waits, and interrupts do not come here.
static CODES: Mutex<Vec<Code>> = Mutex::new(Vec::new());

const NO_CODE: Error = Error::Argument {
    what: "not an error code of this library or of the program's",
};

/// Where a code of the program's is.
fn place(code: c_int) -> Option<usize> {
    usize::try_from(code.checked_sub(MPI_ERR_LASTCODE + 1)?).ok()
}

/// Adds a code of this class, or a class of its own; the code. Fails with [`Error::Limit`], [`Error::NoRoom`] and,
/// when there is no such class, [`Error::Argument`].
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
            what: Limited::ErrorCodes,
            limit: USER_CODES,
        });
    }
    codes.try_reserve(1).map_err(|_| Error::NoRoom {
        bytes: size_of::<Code>(),
    })?;
    let code = MPI_ERR_LASTCODE + 1 + codes.len() as c_int;
    codes.push(Code {
        class: class.unwrap_or(code),
        text: Box::default(),
    });
    TAKE_TEXT.set(take);
    LAST_USED.store(code, Ordering::Relaxed);
    Ok(code)
}

/// Says what a code of the program's means. Fails with [`Error::NoRoom`], and with [`Error::Argument`] for a code
/// that the program has not added.
pub(super) fn describe(code: c_int, text: &str) -> Result<(), Error> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len())
        .map_err(|_| Error::NoRoom { bytes: text.len() })?;
    copy.push_str(text);
    let mut codes = CODES.lock();
    let known = place(code).and_then(|place| codes.get_mut(place));
    known.ok_or(NO_CODE)?.text = copy.into_boxed_str();
    Ok(())
}

/// The class of a code. MPI_ERR_LASTCODE is one of the classes, too (section 8.4). Fails with [`Error::Argument`].
pub(super) fn class(code: c_int) -> Result<c_int, Error> {
    if Class::from_code(code).is_some() || code == MPI_ERR_LASTCODE {
        return Ok(code);
    }
    let codes = CODES.lock();
    let known = place(code).and_then(|place| codes.get(place));
    known.map(|known| known.class).ok_or(NO_CODE)
}

/// Runs `f` on what a code of the program's means; `None`: not one of the program's.
pub(super) fn with_text<R>(code: c_int, f: impl FnOnce(&str) -> R) -> Option<R> {
    let codes = CODES.lock();
    let known = place(code).and_then(|place| codes.get(place));
    known.map(|known| f(&known.text))
}

/// What a code of the program's means, which it does not mean any more; `None`: not one of the program's. For the end of
/// the job, which is not to hold the lock.
pub(super) fn take_text(code: c_int) -> Option<Box<str>> {
    let take = TAKE_TEXT.get();
    take.and_then(|take| take(code))
}

/// What does so, from the first code on that the program adds: a program that adds none has nothing of this in its image.
static TAKE_TEXT: Hook<TakeText> = Hook::new();

type TakeText = fn(c_int) -> Option<Box<str>>;

fn take(code: c_int) -> Option<Box<str>> {
    let mut codes = CODES.lock();
    let known = place(code).and_then(|place| codes.get_mut(place));
    known.map(|known| core::mem::take(&mut known.text))
}

/// The error that the program raises with this code. Fails with [`Error::Argument`].
pub(super) fn raised(code: c_int) -> Result<Error, Error> {
    let class = Class::from_code(class(code)?).unwrap_or(Class::Other);
    Ok(Error::Raised { class, code })
}
