//! Buffered sends (MPI-3.1 sections 3.4 and 3.6).

use crate::process::AttachedBuffer;
use crate::topology::CommRecord;
use midplane_device::envelope::Tag;
use midplane_device::interface::Device;
use midplane_device::memory::Span;
use midplane_device::request::SendMode;
use midplane_objects::comm::CommRank;
use midplane_objects::error::Error;

/// Copies the message into the attached buffer and sends it from there. Waits at most as long as [`BufferUse::place`].
/// Returns [`Error::BufferFull`], [`Error::Buffer`], or the errors of a send.
pub(crate) fn send(
    record: &CommRecord,
    function: &'static str,
    data: Span,
    dest: CommRank,
    tag: Tag,
) -> Result<(), Error> {
    let mut attached = record.here.attached.borrow_mut();
    let Some(AttachedBuffer { memory, room }) = attached.as_mut() else {
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
    let id = partners.start_send(function, span, dest, tag, SendMode::Standard)?;
    room.sent(partners.env, place, id);
    Ok(())
}
