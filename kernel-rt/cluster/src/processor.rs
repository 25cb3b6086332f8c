//! A node's processor in virtual time, and the memory of its program as that counts it.

use std::cell::Cell;

use midplane_device::memory::{MODEL_KEYS, RawMemory, Span, UserMemory};
use net_torus::BODY_BYTES;

/// A node's processor.
#[derive(Clone, Default)]
pub(super) struct Processor {
    /// What it does takes until then.
    pub(super) busy_until: Cell<u64>,
    /// What it has done took so long.
    pub(super) busy: Cell<u64>,
    /// What has been paid of `Adi::searched`.
    pub(super) searched: Cell<u64>,
    /// Something is still to leave.
    pub(super) owes: Cell<bool>,
}

impl Processor {
    /// Something is still to leave.
    pub(super) fn owes(&self) -> bool {
        self.owes.get()
    }
}

/// The program's memory. Counts what is copied out of MPI memory, which comes in more than a packet's bytes at once. A
/// model's spans have no bytes: only what they take counts.
#[derive(Default)]
pub(super) struct Counted(pub(super) u64);

impl UserMemory for Counted {
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

    fn whole(&mut self) -> Option<&mut dyn UserMemory> {
        Some(self)
    }
}
