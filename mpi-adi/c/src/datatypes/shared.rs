//! Reference-counted objects on the program's heap. [`alloc::sync::Arc`] is not usable, because it aborts the program
//! if the heap is exhausted.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering, fence};

use midplane_objects::error::Error;

/// Allocates a value on the program's heap. Fails with [`Error::NoRoom`].
// The value is created after the allocation, and the allocation has no drop glue: nothing here drops a value.
pub(super) fn put<T>(value: impl FnOnce() -> T) -> Result<NonNull<T>, Error> {
    let mut room = Vec::new();
    let bytes = size_of::<T>();
    room.try_reserve_exact(1)
        .map_err(|_| Error::NoRoom { bytes })?;
    room.push(MaybeUninit::new(value()));
    Ok(NonNull::from(Box::leak(room.into_boxed_slice())).cast())
}

/// Removes a value from the heap and returns it.
///
/// # Safety
/// `place` must come from [`put`], and must not be used afterwards.
pub(super) unsafe fn take<T>(place: NonNull<T>) -> Option<T> {
    let slice = NonNull::slice_from_raw_parts(place, 1);
    // SAFETY: leaked by `put` as a slice of one; guaranteed by the caller.
    Vec::from(unsafe { Box::from_raw(slice.as_ptr()) }).pop()
}

struct Held<T> {
    holders: AtomicUsize,
    /// Action of the last holder.
    free: Free<T>,
    value: T,
}

/// Must be called once, when there is no holder left.
type Free<T> = unsafe fn(NonNull<Held<T>>);

/// A reference to a shared value; the last one frees it.
pub struct Shared<T> {
    held: NonNull<Held<T>>,
}

// SAFETY: the shared value is only read, and the holders are counted atomically.
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Creates the first reference. Fails with [`Error::NoRoom`].
    pub fn new(value: T) -> Result<Shared<T>, Error> {
        // SAFETY: the last holder calls it.
        Self::with(|| value, |held| drop(unsafe { take(held) }))
    }

    /// Creates a value that exists until the job ends; see [`Shared::new`]. If a program creates only such values, its
    /// image contains no code to free them.
    pub fn lasting(value: impl FnOnce() -> T) -> Result<Shared<T>, Error> {
        Self::with(value, |_| ())
    }

    fn with(value: impl FnOnce() -> T, free: Free<T>) -> Result<Shared<T>, Error> {
        let held = put(|| Held {
            holders: AtomicUsize::new(1),
            free,
            value: value(),
        })?;
        Ok(Shared { held })
    }

    /// Returns the value, if this is the last holder.
    pub fn into_last(self) -> Option<T> {
        let held = self.held;
        core::mem::forget(self);
        // SAFETY: this holder is released here.
        let is_last = unsafe { give_up(held) };
        // SAFETY: from `put`, and this was the last holder.
        let last = is_last.then(|| unsafe { take(held) }).flatten();
        last.map(|held| held.value)
    }

    fn held(&self) -> &Held<T> {
        // SAFETY: exists as long as it has a holder, such as this one.
        unsafe { self.held.as_ref() }
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        self.held().holders.fetch_add(1, Ordering::Relaxed);
        Shared { held: self.held }
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.held().value
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: this holder is released here.
        if unsafe { give_up(self.held) } {
            // SAFETY: this was the last holder.
            unsafe { (self.held().free)(self.held) }
        }
    }
}

/// Releases one holder. Returns whether it was the last.
///
/// # Safety
/// The holder must not be used afterwards, except to free the value.
unsafe fn give_up<T>(held: NonNull<Held<T>>) -> bool {
    // SAFETY: exists as long as it has a holder.
    let holders = unsafe { held.as_ref() }
        .holders
        .fetch_sub(1, Ordering::Release);
    if holders == 1 {
        fence(Ordering::Acquire);
    }
    holders == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Noted<'a>(&'a AtomicUsize);

    impl Drop for Noted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_last_holder_frees() {
        let freed = AtomicUsize::new(0);
        let first = Shared::new(Noted(&freed)).expect("room");
        let second = first.clone();
        drop(first);
        assert_eq!(second.0.load(Ordering::Relaxed), 0);
        let third = second.clone();
        assert!(second.into_last().is_none());
        assert_eq!(freed.load(Ordering::Relaxed), 0);
        drop(third.into_last().expect("the last"));
        assert_eq!(freed.load(Ordering::Relaxed), 1);
    }
}
