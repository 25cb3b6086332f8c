//! A node's processor in virtual time, and its program's memory with a count of copied bytes.

use std::cell::Cell;

use midplane_device::memory::{MODEL_KEYS, RawMemory, Span, UserMemory};
use net_torus::BODY_BYTES;

/// A node's processor.
#[derive(Clone, Default)]
pub(super) struct Processor {
    /// End of its current work.
    pub(super) busy_until: Cell<u64>,
    /// Total duration of its work.
    pub(super) busy: Cell<u64>,
    /// The part of `Adi::search_steps` already charged.
    pub(super) searched: Cell<u64>,
    /// A packet remains to transmit.
    pub(super) owes: Cell<bool>,
}

impl Processor {
    /// Returns whether a packet remains to transmit.
    pub(super) fn owes(&self) -> bool {
        self.owes.get()
    }
}

/// The program's memory. Counts bytes copied out of MPI memory, in pieces above a packet's size. A model's spans
/// contain no bytes: only their costs count.
#[derive(Default)]
pub(super) struct CountingMemory(pub(super) u64);

impl UserMemory for CountingMemory {
    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        if span.address() >= MODEL_KEYS {
            RawMemory.read(span, offset, out);
        }
    }

    fn write(&mut self, span: Span, offset: usize, bytes: &[u8]) {
        if bytes.len() > BODY_BYTES {
            self.0 += bytes.len() as u64;
        }
        if span.address() < MODEL_KEYS {
            return;
        }
        RawMemory.write(span, offset, bytes);
    }

    fn copy(&mut self, from: Span, to: Span, len: usize) {
        self.0 += len as u64;
        RawMemory.copy(from, to, len);
    }

    fn full_access(&mut self) -> Option<&mut dyn UserMemory> {
        Some(self)
    }
}
