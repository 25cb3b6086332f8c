//! Reference-counted objects on the program's heap. [`alloc::sync::Arc`] is not usable, because it aborts the program
//! if the heap is exhausted.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering, fence};

use midplane_objects::error::Error;

/// Allocates a value on the program's heap. Fails with [`Error::NoSpace`].
// The value is created after the allocation, and the allocation has no drop glue: nothing here drops a value.
pub(super) fn allocate<T>(value: impl FnOnce() -> T) -> Result<NonNull<T>, Error> {
    let mut room = Vec::new();
    let bytes = size_of::<T>();
    room.try_reserve_exact(1).map_err(|_| Error::NoSpace { bytes })?;
    room.push(MaybeUninit::new(value()));
    Ok(NonNull::from(Box::leak(room.into_boxed_slice())).cast())
}

/// Removes a value from the heap and returns it.
///
/// # Safety
/// `place` must come from [`allocate`], and must not be used afterwards.
pub(super) unsafe fn deallocate<T>(place: NonNull<T>) -> Option<T> {
    let slice = NonNull::slice_from_raw_parts(place, 1);
    // SAFETY: leaked by `allocate` as a slice of one; guaranteed by the caller.
    Vec::from(unsafe { Box::from_raw(slice.as_ptr()) }).pop()
}

struct ArcInner<T> {
    holders: AtomicUsize,
    /// Action of the last holder.
    free: FreeFn<T>,
    value: T,
}

/// Must be called once, when there is no holder left.
type FreeFn<T> = unsafe fn(NonNull<ArcInner<T>>);

/// A reference to a shared value; the last one frees it.
pub struct TryArc<T> {
    held: NonNull<ArcInner<T>>,
}

// SAFETY: the shared value is only read, and the holders are counted atomically.
unsafe impl<T: Send + Sync> Send for TryArc<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for TryArc<T> {}

impl<T> TryArc<T> {
    /// Creates the first reference. Fails with [`Error::NoSpace`].
    pub fn new(value: T) -> Result<TryArc<T>, Error> {
        // SAFETY: the last holder calls it.
        Self::with(|| value, |held| drop(unsafe { deallocate(held) }))
    }

    /// Creates a value that exists until the job ends; see [`TryArc::new`]. If a program creates only such values, its
    /// image contains no code to free them.
    pub fn lasting(value: impl FnOnce() -> T) -> Result<TryArc<T>, Error> {
        Self::with(value, |_| ())
    }

    fn with(value: impl FnOnce() -> T, free: FreeFn<T>) -> Result<TryArc<T>, Error> {
        let held = allocate(|| ArcInner {
            holders: AtomicUsize::new(1),
            free,
            value: value(),
        })?;
        Ok(TryArc { held })
    }

    /// Returns the value, if this is the last holder.
    pub fn into_last(self) -> Option<T> {
        let held = self.held;
        core::mem::forget(self);
        // SAFETY: this holder is released here.
        let is_last = unsafe { give_up(held) };
        // SAFETY: from `allocate`, and this was the last holder.
        let last = is_last.then(|| unsafe { deallocate(held) }).flatten();
        last.map(|held| held.value)
    }

    fn held(&self) -> &ArcInner<T> {
        // SAFETY: exists as long as it has a holder, such as this one.
        unsafe { self.held.as_ref() }
    }
}

impl<T> Clone for TryArc<T> {
    fn clone(&self) -> Self {
        self.held().holders.fetch_add(1, Ordering::Relaxed);
        TryArc { held: self.held }
    }
}

impl<T> Deref for TryArc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.held().value
    }
}

impl<T> Drop for TryArc<T> {
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
unsafe fn give_up<T>(held: NonNull<ArcInner<T>>) -> bool {
    // SAFETY: exists as long as it has a holder.
    let holders = unsafe { held.as_ref() }.holders.fetch_sub(1, Ordering::Release);
    if holders == 1 {
        fence(Ordering::Acquire);
    }
    holders == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    struct DropCounter<'a>(&'a AtomicUsize);

    impl Drop for DropCounter<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_last_holder_frees() {
        let freed = AtomicUsize::new(0);
        let first = TryArc::new(DropCounter(&freed)).expect("room");
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
