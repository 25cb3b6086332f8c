//! The remotely accessible memory of a window.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use msg_layer::handler::REPLY_BYTES;

use crate::memory::Span;

/// The remotely accessible memory of a window.
#[derive(Clone, Debug)]
pub(super) struct ExposedMemory {
    /// One region, or the attached ones.
    pub(super) regions: Vec<Span>,
    /// Displacements are addresses, not offsets in the one region.
    pub(super) is_dynamic: bool,
    pub(super) disp_unit: u32,
    /// Remote access is disabled.
    pub(super) is_withdrawn: bool,
}

/// Reason why memory cannot be attached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttachError {
    /// Part of it is attached already.
    Overlaps,
    /// The heap is full.
    OutOfMemory,
}

impl ExposedMemory {
    /// Returns the `len` bytes at displacement `place`; `None`: out of bounds.
    pub(super) fn span_at(&self, place: u64, len: usize) -> Option<Span> {
        if self.is_withdrawn {
            return None;
        }
        if !self.is_dynamic {
            let [span] = self.regions[..] else {
                return None;
            };
            return sub_span(span, usize::try_from(place).ok()?, len);
        }
        let place = usize::try_from(place).ok()?;
        let from = |span: &Span| {
            let offset = place.checked_sub(span.address())?;
            sub_span(*span, offset, span.len().checked_sub(offset)?)
        };
        // With adjacent regions, several may begin at or before the address: one ends there, and one begins there.
        let mut found = { self.regions.iter().filter_map(from) }.max_by_key(Span::len)?;
        while found.len() < len {
            found = { self.regions.iter() }.find_map(|next| found.joined(*next))?;
        }
        sub_span(found, 0, len)
    }

    /// Exposes additional memory.
    ///
    /// # Errors
    /// [`AttachError`]: nothing has changed.
    pub(super) fn attach(&mut self, memory: Span) -> Result<(), AttachError> {
        let (base, end) = (memory.address(), memory.address() + memory.len());
        let overlaps = |other: &Span| base < other.address() + other.len() && other.address() < end;
        if self.regions.iter().any(overlaps) {
            return Err(AttachError::Overlaps);
        }
        self.regions.try_reserve(1).map_err(|_| AttachError::OutOfMemory)?;
        self.regions.push(memory);
        Ok(())
    }

    /// Detaches the memory that begins at this address. `None`: no such memory exists.
    pub(super) fn detach(&mut self, base: usize) -> Option<Span> {
        let begins = |region: &Span| region.address() == base;
        let at = self.regions.iter().position(begins)?;
        Some(self.regions.swap_remove(at))
    }

    /// Returns the bytes of the reply to a SIZE: the size and the displacement unit.
    pub(super) fn size(&self) -> [u8; REPLY_BYTES] {
        let size: usize = self.regions.iter().map(Span::len).sum();
        let mut bytes = [0; REPLY_BYTES];
        bytes[..8].copy_from_slice(&(size as u64).to_le_bytes());
        bytes[8..12].copy_from_slice(&self.disp_unit.to_le_bytes());
        bytes
    }
}

fn sub_span(span: Span, offset: usize, len: usize) -> Option<Span> {
    let room = span.len().checked_sub(offset)?;
    (len <= room).then(|| span.part(offset, len))
}
