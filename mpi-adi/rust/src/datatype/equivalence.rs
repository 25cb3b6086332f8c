//! Rust types with an equivalent MPI datatype.

use core::mem::offset_of;

use super::user::{Datatype, DatatypeKind, DatatypeRef, SystemDatatype, UserDatatype};
use crate::fatal;
use midplane_objects::coll::try_with_capacity;
use midplane_objects::datatype::BasicType;
use midplane_objects::datatype::derived::{DerivedType, TypeBlock};
use midplane_objects::error::Error;

/// A Rust type whose values can be elements of messages.
///
/// Numbers and `bool` implement it; `#[derive(Equivalence)]` of the crate `mpi` implements it for a struct without
/// unsafe code. A received `bool` with a byte other than 0 or 1 is true.
///
/// # Safety
/// The datatype describes bytes of a value, and none of its padding. Any received bytes, after `normalize`, are a valid
/// value; so are zeros everywhere. Consecutive values, at the datatype's extent, are a slice.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element of a message",
    note = "numbers, `bool` and structs with `#[derive(Equivalence)]` are; slices, arrays and `Vec`s of such are buffers"
)]
pub unsafe trait Equivalence {
    /// Type of its datatype.
    type Out: Datatype;

    /// Returns its datatype (MPI-3.1 section 3.2.2). Does not block. The first call for a derived datatype aborts the
    /// job when the heap has no space.
    fn equivalent_datatype() -> Self::Out;

    /// Converts received bytes at `at` to valid values.
    ///
    /// # Safety
    /// `at` points to `count` values, except for received bytes, and there is no reference to them.
    #[doc(hidden)]
    unsafe fn normalize(at: *mut Self, count: usize) {
        let _ = (at, count);
    }
}

macro_rules! numbers {
    ($($rust:ty => $basic:ident),* $(,)?) => {$(
        const _: () = assert!(size_of::<$rust>() == BasicType::$basic.size());

        // SAFETY: every bit pattern is a number.
        unsafe impl Equivalence for $rust {
            type Out = SystemDatatype;
            fn equivalent_datatype() -> SystemDatatype {
                DatatypeRef::new(DatatypeKind::Basic(BasicType::$basic))
            }
        }
    )*};
}

numbers! {
    u8 => Uint8, u16 => Uint16, u32 => Uint32, u64 => Uint64,
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    f32 => Float, f64 => Double,
}

#[cfg(target_pointer_width = "64")]
numbers! { usize => Uint64, isize => Int64 }
#[cfg(target_pointer_width = "32")]
numbers! { usize => Uint32, isize => Int32 }

// SAFETY: `normalize` writes 0 or 1.
unsafe impl Equivalence for bool {
    type Out = SystemDatatype;
    fn equivalent_datatype() -> SystemDatatype {
        DatatypeRef::new(DatatypeKind::Basic(BasicType::CBool))
    }

    unsafe fn normalize(at: *mut bool, count: usize) {
        for at in (0..count).map(|i| at.cast::<u8>().wrapping_add(i)) {
            // SAFETY: the caller guarantees it; every byte is a `u8`.
            unsafe { at.write(u8::from(at.read() != 0)) };
        }
    }
}

/// A type of a field of a struct with `#[derive(Equivalence)]`: an element, an array or a tuple of fields.
///
/// # Safety
/// See [`Equivalence`].
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` is no part of a message",
    note = "fields are numbers, `bool`, structs with `#[derive(Equivalence)]`, and arrays and tuples of such"
)]
pub unsafe trait Field: Sized {
    /// Returns its datatype. Returns [`Error::NoSpace`] and the other errors of a datatype constructor.
    fn datatype() -> Result<UserDatatype, Error>;

    /// Converts one received value like [`Equivalence::normalize`]; it need not be aligned.
    ///
    /// # Safety
    /// See [`Equivalence::normalize`].
    unsafe fn normalize_field(at: *mut Self);
}

// SAFETY: see the type's implementation.
unsafe impl<T: Equivalence> Field for T {
    fn datatype() -> Result<UserDatatype, Error> {
        let datatype = T::equivalent_datatype();
        let made = super::user::kind_of(&datatype).with_type(DerivedType::try_clone)?;
        Ok(UserDatatype::new(made))
    }

    unsafe fn normalize_field(at: *mut T) {
        // SAFETY: the caller guarantees it.
        unsafe { T::normalize(at, 1) }
    }
}

// SAFETY: see the items' implementations.
unsafe impl<T: Field, const N: usize> Field for [T; N] {
    #[track_caller]
    fn datatype() -> Result<UserDatatype, Error> {
        let item = T::datatype()?.0.resized(0, size_of::<T>() as isize)?;
        item.contiguous(N).map(UserDatatype::new)
    }

    unsafe fn normalize_field(at: *mut Self) {
        for at in (0..N).map(|i| at.cast::<T>().wrapping_add(i)) {
            // SAFETY: the caller guarantees it.
            unsafe { T::normalize_field(at) };
        }
    }
}

macro_rules! tuples {
    ($(($($item:ident $at:tt),+))*) => {$(
        // SAFETY: see the items' implementations.
        unsafe impl<$($item: Field),+> Field for ($($item,)+) {
            #[track_caller]
            fn datatype() -> Result<UserDatatype, Error> {
                structured(
                    size_of::<Self>(),
                    &[$((offset_of!(Self, $at), $item::datatype)),+],
                )
            }

            unsafe fn normalize_field(at: *mut Self) {
                // SAFETY: the caller guarantees it.
                unsafe { $($item::normalize_field(&raw mut (*at).$at);)+ }
            }
        }
    )*};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}

type LazyPart = (usize, fn() -> Result<UserDatatype, Error>);

#[track_caller]
fn structured(size: usize, fields: &[LazyPart]) -> Result<UserDatatype, Error> {
    let mut parts = try_with_capacity(fields.len())?;
    for (at, datatype) in fields {
        parts.push((*at, datatype()?));
    }
    let blocks = parts.iter().map(|(at, datatype)| TypeBlock {
        at: *at as isize,
        count: 1,
        datatype: &datatype.0,
    });
    let made = DerivedType::blocks(blocks)?.resized(0, size as isize)?;
    Ok(UserDatatype::new(made))
}

/// Creates the datatype of a struct of `size` bytes; used by `#[derive(Equivalence)]`.
#[doc(hidden)]
#[track_caller]
pub fn of_fields(size: usize, fields: &[LazyPart]) -> UserDatatype {
    fatal("#[derive(Equivalence)]", structured(size, fields))
}

/// A datatype that is created on first use.
#[doc(hidden)]
pub struct LazyDatatype(spin::Once<UserDatatype>);

impl LazyDatatype {
    /// Creates it without a datatype.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> LazyDatatype {
        LazyDatatype(spin::Once::new())
    }

    /// Returns the datatype; the first call creates it by `make`.
    pub fn get(&'static self, make: fn() -> UserDatatype) -> DatatypeRef<'static> {
        self.0.call_once(make).into()
    }
}
