//! Runs a schedule in a blocking call: each step completes before the next one starts.

use crate::coll::schedule::{Schedule, ScheduleStep, SegmentHalf, StepBuffer};
use crate::coll::segments::{LongSegments, SEGMENT_BYTES, SHORT_BYTES, Segment, copy, read, write};
use crate::comm::{Communicator, IncomingData, OutgoingData, Partners, Status};
use crate::error::Error;
use crate::slice_spans::writing;
use midplane_device::memory::Span;
use midplane_device::memory::buffer_slice::{BufferSlice, TypedSlot};
use midplane_device::request::SendMode;

/// Function that combines elements: `right[i] = left[i] op right[i]`.
pub type CombineFn<'a> = dyn FnMut(&[u8], &mut [u8]) + 'a;

/// Buffers of a reduction, of the same length.
#[derive(Clone, Copy)]
pub struct ReduceAreas {
    /// Data of this process.
    pub data: BufferSlice,
    /// Location of the result.
    pub result: BufferSlice,
}

/// Elements of a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReduceElements {
    /// Bytes of an element.
    pub size: usize,
    /// The operation commutes: elements need not be combined in rank order.
    pub commute: bool,
    /// The operation is predefined, not a function of the program: it can run inside the device.
    pub predefined: bool,
}

/// Runs a schedule without segments. Blocks until its last step is complete. Fails with the first error of a step.
pub(super) fn run(comm: Communicator<'_>, function: &'static str, schedule: &mut dyn Schedule) -> Result<(), Error> {
    drive(comm, function, schedule, Workspace::none(&mut |_, _| ()))
}

/// Runs a schedule like [`run`], in a loop compiled for this schedule only. Every image contains the barrier, and must
/// not link code that only other collectives' steps use.
pub(super) fn run_alone<S: Schedule>(
    comm: Communicator<'_>,
    function: &'static str,
    schedule: &mut S,
) -> Result<(), Error> {
    drive(comm, function, schedule, Workspace::none(&mut |_, _| ()))
}

/// Sizes for the segments of a schedule, in bytes.
#[derive(Clone, Copy)]
pub(super) struct SegmentSizes {
    /// Size of an element.
    pub(super) element: usize,
    /// Maximum number of bytes of a segment that a step uses.
    pub(super) max_bytes: usize,
}

/// Runs a schedule like [`run`], with two segments for elements of the specified size and with `combine`. No step uses
/// more than the specified number of bytes of a segment, even if it is larger. Also fails with [`Error::NoSpace`] if an
/// element does not fit in a segment on the stack.
pub(super) fn run_in_segments(
    comm: Communicator<'_>,
    function: &'static str,
    schedule: &mut dyn Schedule,
    sizes: SegmentSizes,
    combine: &mut CombineFn<'_>,
) -> Result<(), Error> {
    let SegmentSizes { element, max_bytes } = sizes;
    if max_bytes <= SHORT_BYTES {
        return run_on_stack::<SHORT_BYTES>(comm, function, schedule, combine);
    }
    if element <= SEGMENT_BYTES {
        return run_on_stack::<SEGMENT_BYTES>(comm, function, schedule, combine);
    }
    let mut segments = LongSegments::new(element, 1)?;
    let segments = segments.both(0);
    drive(comm, function, schedule, Workspace { segments, combine })
}

// Not inlined, so that each stack frame contains only the segments that it uses.
#[inline(never)]
fn run_on_stack<const BYTES: usize>(
    comm: Communicator<'_>,
    function: &'static str,
    schedule: &mut dyn Schedule,
    combine: &mut CombineFn<'_>,
) -> Result<(), Error> {
    let [first, second] = &mut [Segment::<BYTES>::ZERO; 2];
    let segments = [&mut first.0[..], &mut second.0[..]];
    drive(comm, function, schedule, Workspace { segments, combine })
}

fn drive<S: Schedule + ?Sized>(
    comm: Communicator<'_>,
    function: &'static str,
    schedule: &mut S,
    mut workspace: Workspace<'_, '_>,
) -> Result<(), Error> {
    let partners = comm.partners().for_collectives();
    while let Some(step) = schedule.next() {
        workspace.perform(comm, partners, function, step)?;
    }
    Ok(())
}

/// Segments and combining function for steps. Schedules without segments use none.
pub(super) struct Workspace<'s, 'c> {
    pub(super) segments: [&'s mut [u8]; 2],
    pub(super) combine: &'s mut CombineFn<'c>,
}

impl<'s, 'c> Workspace<'s, 'c> {
    fn none(combine: &'s mut CombineFn<'c>) -> Self {
        let segments = [&mut [][..], &mut [][..]];
        Workspace { segments, combine }
    }

    /// Blocks until the step and all of its requests are complete.
    // Inlined into each loop: see `run_alone`.
    #[inline(always)]
    pub(super) fn perform(
        &mut self,
        comm: Communicator<'_>,
        partners: Partners<'_>,
        function: &'static str,
        step: ScheduleStep,
    ) -> Result<(), Error> {
        let [first, second] = &mut [TypedSlot::EMPTY; 2];
        match step {
            ScheduleStep::Send { dest, tag, data } => {
                partners.send_span(function, self.span(data, first), dest, tag, SendMode::Standard)
            }
            ScheduleStep::Receive { source, tag, data } => {
                let span = self.span(data, first);
                let received = partners.recv_span(function, span, Some(source), Some(tag));
                exactly(span.len(), received)
            }
            ScheduleStep::Exchange {
                tag,
                given: (given, dest),
                taken: (taken, source),
            } => {
                let (given, taken) = (self.span(given, first), self.span(taken, second));
                let received = partners.sendrecv_span(
                    function,
                    OutgoingData { data: given, dest, tag },
                    IncomingData {
                        data: taken,
                        source: Some(source),
                        tag: Some(tag),
                    },
                );
                exactly(taken.len(), received)
            }
            // One lane after the other, so there is no later message for a piggybacked acknowledgement.
            ScheduleStep::Pass {
                tag,
                followed: _,
                given: (given, dests),
                taken,
            } => {
                for dest in dests.iter() {
                    let given = self.span(StepBuffer::User(given), first);
                    partners.send_span(function, given, dest, tag, SendMode::Standard)?;
                }
                let Some((taken, source)) = taken else {
                    return Ok(());
                };
                let taken = self.span(StepBuffer::User(taken), second);
                let received = partners.recv_span(function, taken, Some(source), Some(tag));
                exactly(taken.len(), received)
            }
            ScheduleStep::Combine { left, bytes } => {
                let (left, right) = left.and_other(&mut self.segments);
                (self.combine)(&left[..bytes], &mut right[..bytes]);
                Ok(())
            }
            ScheduleStep::Load { from, to } => {
                read(comm, from, self.beginning(to, from.len()));
                Ok(())
            }
            ScheduleStep::Store { from, to } => {
                write(comm, to, self.beginning(from, to.len()));
                Ok(())
            }
            ScheduleStep::Copy { from, to } => copy(comm, from, to),
        }
    }

    fn beginning(&mut self, half: SegmentHalf, bytes: usize) -> &mut [u8] {
        &mut self.segments[half as usize][..bytes]
    }

    /// Returns the buffer's bytes for requests of the present step; `place` must outlive them.
    fn span(&mut self, buffer: StepBuffer, place: &mut TypedSlot) -> Span {
        match buffer {
            // SAFETY: `perform` finishes all requests of a step before it returns, and those of a slot before the slot
            // is written again.
            StepBuffer::User(area) => unsafe { area.span(place) },
            // SAFETY: `perform` finishes all of a step's requests before it returns. Until then nothing else uses the
            // segment: `self` borrows it, and an exchange's two buffers are different segments.
            StepBuffer::Segment(half, bytes) => unsafe { writing(self.beginning(half, bytes)) },
        }
    }
}

/// Returns the error of an internal receive that received a number of bytes other than this process's count specifies.
/// Its tag and its message are meaningless to the program.
pub(super) fn exactly(expected: usize, received: Result<Status, Error>) -> Result<(), Error> {
    let (rank, given) = match received {
        Ok(Status { bytes, .. }) if bytes == expected => return Ok(()),
        Ok(Status { source, bytes, .. }) => (source, Some(bytes)),
        Err(Error::Truncated { source, .. }) => (source, None),
        Err(error) => return Err(error),
    };
    Err(Error::CountsDiffer { rank, expected, given })
}
