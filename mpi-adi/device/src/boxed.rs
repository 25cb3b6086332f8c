//! Arrays from the heap, which may have no room for them.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::work::did;

/// `count` values from the heap; `None` when it has no room.
pub fn boxed<T: Clone>(value: T, count: usize) -> Option<Box<[T]>> {
    did(count);
    let mut items = Vec::new();
    items.try_reserve_exact(count).ok()?;
    items.resize(count, value);
    Some(items.into_boxed_slice())
}
