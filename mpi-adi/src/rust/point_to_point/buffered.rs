//! Buffered sends (MPI-3.1 sections 3.4 and 3.6).

use alloc::rc::Rc;
use alloc::vec::Vec;

use crate::device::envelope::Tag;
use crate::device::interface::Device;
use crate::device::memory::Span;
use crate::device::request::Mode;
use crate::mpi::buffered::BufferUse;
use crate::mpi::comm::CommRank;
use crate::mpi::error::Error;
use crate::rust::topology::Record;

pub(crate) struct Attached {
    /// Accessed by its address only.
    memory: Vec<u8>,
    pub(crate) room: BufferUse,
}

impl Attached {
    /// Allocates `bytes` bytes. Returns [`Error::NoRoom`] when the heap is full.
    pub(crate) fn new(bytes: usize) -> Result<Attached, Error> {
        let (mut memory, room) = (crate::mpi::coll::room(bytes)?, BufferUse::new(bytes));
        memory.resize(bytes, 0);
        Ok(Attached { memory, room })
    }
}

/// Copies the message into the attached buffer and sends it from there. Waits at most as long as [`BufferUse::place`].
/// Returns [`Error::BufferFull`], [`Error::Buffer`], or the errors of a send.
pub(crate) fn send(
    record: &Rc<Record>,
    function: &'static str,
    data: Span,
    dest: CommRank,
    tag: Tag,
) -> Result<(), Error> {
    let mut attached = record.here.attached.borrow_mut();
    let Some(Attached { memory, room }) = attached.as_mut() else {
        return Err(Error::Buffer {
            what: "no buffer is attached; give one with Universe::set_buffer_size",
        });
    };
    let partners = record.partners()?;
    let len = data.len();
    let place = room.place(partners.env, function, len)?;
    let span = match len {
        0 => Span::EMPTY,
        len => {
            let to = memory.as_mut_ptr().wrapping_add(place.offset);
            // SAFETY: the slot is within the memory and free, and the memory exists until all its messages are
            // transmitted ([`BufferUse::wait_until_empty`]).
            unsafe {
                { partners.env }.read(data.into(), core::slice::from_raw_parts_mut(to, len));
                Span::new(to, len)
            }
        }
    };
    let id = partners.start_send(function, span, dest, tag, Mode::Standard)?;
    room.sent(partners.env, place, id);
    Ok(())
}
