//! Objects in the program's heap that several hold. [`alloc::sync::Arc`] would be that, but ends the program when the
//! heap has no room.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering, fence};

use midplane_objects::error::Error;

/// Puts a value into the program's heap. Fails with [`Error::NoRoom`].
// It is made when there is room, and the room is none of the value's: so nothing here drops any.
pub(super) fn put<T>(value: impl FnOnce() -> T) -> Result<NonNull<T>, Error> {
    let mut room = Vec::new();
    let bytes = size_of::<T>();
    room.try_reserve_exact(1)
        .map_err(|_| Error::NoRoom { bytes })?;
    room.push(MaybeUninit::new(value()));
    Ok(NonNull::from(Box::leak(room.into_boxed_slice())).cast())
}

/// Takes a value out of the heap again.
///
/// # Safety
/// `place` comes from [`put`], and nothing uses it any more.
pub(super) unsafe fn take<T>(place: NonNull<T>) -> Option<T> {
    let slice = NonNull::slice_from_raw_parts(place, 1);
    // SAFETY: leaked by `put` as a slice of one, and the caller's promise.
    Vec::from(unsafe { Box::from_raw(slice.as_ptr()) }).pop()
}

struct Held<T> {
    holders: AtomicUsize,
    /// What the last holder does.
    free: Free<T>,
    value: T,
}

/// To be called once, when there is no holder any more.
type Free<T> = unsafe fn(NonNull<Held<T>>);

/// One of the holders of a value; the last one frees it.
pub struct Shared<T> {
    held: NonNull<Held<T>>,
}

// SAFETY: what is shared is only read, and the holders are counted atomically.
unsafe impl<T: Send + Sync> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The first holder. Fails with [`Error::NoRoom`].
    pub fn new(value: T) -> Result<Shared<T>, Error> {
        // SAFETY: the last holder calls it.
        Self::with(|| value, |held| drop(unsafe { take(held) }))
    }

    /// As [`Shared::new`], of a value that is there until the job ends: a program whose values all are has nothing in
    /// its image that frees any.
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

    /// The value, if this is the last holder.
    pub fn into_last(self) -> Option<T> {
        let held = self.held;
        core::mem::forget(self);
        // SAFETY: this holder is given up here.
        let is_last = unsafe { give_up(held) };
        // SAFETY: from `put`, and this was the last holder.
        let last = is_last.then(|| unsafe { take(held) }).flatten();
        last.map(|held| held.value)
    }

    fn held(&self) -> &Held<T> {
        // SAFETY: there as long as it has a holder, which this is.
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
        // SAFETY: this holder is given up here.
        if unsafe { give_up(self.held) } {
            // SAFETY: this was the last holder.
            unsafe { (self.held().free)(self.held) }
        }
    }
}

/// Gives one holder up; it was the last.
///
/// # Safety
/// The holder is not used any more, but to free what was held.
unsafe fn give_up<T>(held: NonNull<Held<T>>) -> bool {
    // SAFETY: there as long as it has a holder.
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
