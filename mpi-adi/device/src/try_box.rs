//! Fallible allocation of boxed slices.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::work::count_steps;

/// Allocates `count` copies of `value`; returns `None` when the heap is full.
pub fn try_boxed_slice<T: Clone>(value: T, count: usize) -> Option<Box<[T]>> {
    count_steps(count);
    let mut items = Vec::new();
    items.try_reserve_exact(count).ok()?;
    items.resize(count, value);
    Some(items.into_boxed_slice())
}
