//! State of the records of a process.
#![forbid(unsafe_code)]

use alloc::collections::{BTreeMap, BTreeSet};
use core::cell::{Cell, RefCell};

/// State of the records of a process.
#[derive(Default)]
pub(crate) struct RecordingState {
    pub(super) is_open: Cell<bool>,
    /// Source lines that have been recorded, by address.
    pub(super) lines: RefCell<BTreeSet<usize>>,
    /// Numbers of the functions, by the address and the length of the name.
    pub(super) functions: RefCell<BTreeMap<(usize, usize), u32>>,
    pub(super) last_counters: Cell<u64>,
    pub(super) last_request: Cell<u32>,
}
