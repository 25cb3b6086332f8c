//! State of the records of a process.
#![forbid(unsafe_code)]

use alloc::collections::{BTreeMap, BTreeSet};
use core::cell::{Cell, RefCell};

/// Places of a [`RecentKeys`].
const PLACES: usize = 64;

/// State of the records of a process.
#[derive(Default)]
pub(crate) struct RecordingState {
    pub(super) is_open: Cell<bool>,
    /// Source lines that have been recorded, by address.
    pub(super) lines: RefCell<BTreeSet<usize>>,
    pub(super) recent_lines: RecentKeys<usize, ()>,
    /// Numbers of the functions, by the address and the length of the name.
    pub(super) functions: RefCell<BTreeMap<(usize, usize), u32>>,
    pub(super) recent_functions: RecentKeys<(usize, usize), u32>,
    pub(super) last_counters: Cell<u64>,
    pub(super) last_request: Cell<u32>,
}

/// Values of keys that were used recently: one for each hash. A program calls few functions in few lines, so that nearly
/// each call finds its key here, with a tenth of the instructions of a tree.
pub(super) struct RecentKeys<K, V>([Cell<Option<(K, V)>>; PLACES]);

impl<K, V> Default for RecentKeys<K, V> {
    fn default() -> Self {
        RecentKeys([const { Cell::new(None) }; PLACES])
    }
}

impl<K: Copy + PartialEq, V: Copy> RecentKeys<K, V> {
    /// Returns the value of a key, and computes it if the key was not used recently. `address` is an address of the key,
    /// which the hash uses.
    #[inline(always)]
    pub(super) fn find_or_compute(&self, address: usize, key: K, compute: impl FnOnce() -> V) -> V {
        // Names and lines are often aligned, and close to each other.
        let place = &self.0[(address >> 3 ^ address >> 9) % PLACES];
        if let Some((known, value)) = place.get()
            && known == key
        {
            return value;
        }
        let value = compute();
        place.set(Some((key, value)));
        value
    }
}
