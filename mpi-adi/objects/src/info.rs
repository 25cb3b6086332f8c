//! Info objects (MPI-3.1 chapter 9): keys and values as byte strings, in the order of first insertion.
//!
//! Keys and values are allocated on the program's heap; only its size limits their number. A look-up is a linear
//! search.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;

use core::fmt::Write;

use crate::error::{Error, ErrorClass};
use crate::group::exact;

/// Maximum length of a key in bytes, including C's terminating zero.
pub const MAX_KEY: usize = 256;
/// Maximum length of a value in bytes, including C's terminating zero.
pub const MAX_VALUE: usize = 1024;

type KeyValue = (Box<[u8]>, Box<[u8]>);

/// An info object (MPI-3.1 chapter 9): keys and values in the order of their creation.
#[derive(Default, Debug)]
pub struct Info {
    pairs: Vec<KeyValue>,
}

/// Fails with [`Error::Wrong`] of [`ErrorClass::InfoKey`] if the key is invalid.
pub fn check_key(key: &[u8]) -> Result<(), Error> {
    if key.is_empty() || key.len() >= MAX_KEY {
        return Err(Error::Wrong {
            class: ErrorClass::InfoKey,
            what: "a key has from 1 to 255 bytes",
        });
    }
    Ok(())
}

fn copy(bytes: &[u8]) -> Result<Box<[u8]>, Error> {
    Ok(exact(bytes)?.into_boxed_slice())
}

/// Returns the contents of MPI_INFO_ENV (section 10.4.1) for a job of `processes` processes: the standard keys with
/// known values. Fails with [`Error::NoSpace`].
pub fn environment(processes: u32, thread_level: &[u8]) -> Result<Info, Error> {
    let mut info = Info::new();
    let mut size = heapless::String::<12>::new();
    let _ = write!(size, "{processes}"); // at most 10 digits
    info.set(b"maxprocs", size.as_bytes())?;
    if cfg!(target_arch = "riscv64") {
        info.set(b"arch", b"riscv64")?;
    }
    info.set(b"thread_level", thread_level)?;
    Ok(info)
}

impl Info {
    /// Creates an info object without keys.
    pub const fn new() -> Info {
        Info { pairs: Vec::new() }
    }

    fn place(&self, key: &[u8]) -> Option<usize> {
        self.pairs.iter().position(|(known, _)| **known == *key)
    }

    /// Sets or replaces the value of a key. Fails with [`Error::Wrong`] if the key or the value is too long, and with
    /// [`Error::NoSpace`]; the object is then unchanged.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        check_key(key)?;
        if value.len() >= MAX_VALUE {
            return Err(Error::Wrong {
                class: ErrorClass::InfoValue,
                what: "a value has at most 1023 bytes",
            });
        }
        let value = copy(value)?;
        match self.place(key) {
            Some(place) => self.pairs[place].1 = value,
            None => {
                let key = copy(key)?;
                self.reserve(1)?;
                self.pairs.push((key, value));
            }
        }
        Ok(())
    }

    fn reserve(&mut self, pairs: usize) -> Result<(), Error> {
        self.pairs.try_reserve(pairs).map_err(|_| Error::NoSpace {
            bytes: pairs * size_of::<KeyValue>(),
        })
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.place(key).map(|place| &*self.pairs[place].1)
    }

    /// Returns the value of a boolean key; `None` if it is neither true nor false.
    pub fn flag(&self, key: &[u8]) -> Option<bool> {
        match self.get(key) {
            Some(b"true" | b"1") => Some(true),
            Some(b"false" | b"0") => Some(false),
            _ => None,
        }
    }

    /// Removes a key. Fails with [`Error::Wrong`] of [`ErrorClass::InfoNokey`].
    pub fn delete(&mut self, key: &[u8]) -> Result<(), Error> {
        let place = self.place(key).ok_or(Error::Wrong {
            class: ErrorClass::InfoNokey,
            what: "the info object has no such key",
        })?;
        self.pairs.remove(place);
        Ok(())
    }

    /// Returns the number of keys.
    pub fn count(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the n-th key, counted from 0.
    pub fn key(&self, n: usize) -> Option<&[u8]> {
        self.pairs.get(n).map(|(key, _)| &**key)
    }

    /// Returns keys and values in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.pairs.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Returns a copy with the same order of keys. Fails with [`Error::NoSpace`].
    pub fn duplicate(&self) -> Result<Info, Error> {
        let mut twin = Info::new();
        twin.reserve(self.count())?;
        for (key, value) in &self.pairs {
            twin.pairs.push((copy(key)?, copy(value)?));
        }
        Ok(twin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_the_order_of_their_first_setting() {
        let mut info = Info::new();
        for (key, value) in [("b", "1"), ("a", "2"), ("b", "3")] {
            info.set(key.as_bytes(), value.as_bytes()).expect("room");
        }
        assert_eq!(
            (info.count(), info.key(0), info.key(1)),
            (2, Some(&b"b"[..]), Some(&b"a"[..]))
        );
        assert_eq!(info.get(b"b"), Some(&b"3"[..]));
        let twin = info.duplicate().expect("room");
        info.delete(b"b").expect("a key");
        assert_eq!((info.key(0), info.key(1)), (Some(&b"a"[..]), None));
        assert_eq!(info.delete(b"b").expect_err("gone").class(), ErrorClass::InfoNokey);
        assert_eq!((twin.count(), twin.get(b"b")), (2, Some(&b"3"[..])));
    }

    #[test]
    fn what_is_too_long_changes_nothing() {
        let mut info = Info::new();
        let long = [b'x'; MAX_VALUE];
        assert_eq!(info.set(b"", b"v").expect_err("empty").class(), ErrorClass::InfoKey);
        let key = info.set(&long[..MAX_KEY], b"v").expect_err("too long");
        assert_eq!(key.class(), ErrorClass::InfoKey);
        let value = info.set(b"k", &long).expect_err("too long");
        assert_eq!(value.class(), ErrorClass::InfoValue);
        assert_eq!(info.count(), 0);
        info.set(&long[1..MAX_KEY], &long[1..]).expect("just fits");
    }
}
