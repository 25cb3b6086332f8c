//! Runs all ranks' schedules against each other in one process without a device.
//!
//! Stricter than the device: every message waits for its receive, regardless of its length, so a schedule that relies
//! on buffering deadlocks here.

use crate::coll::schedule::{RankInfo, Schedule, ScheduleStep, SegmentHalf, StepBuffer};
use crate::coll::segments::SEGMENT_BYTES;
use crate::comm::CommRank;
use midplane_device::envelope::Tag;
use midplane_device::memory::Span;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Bytes of an element; does not divide a segment.
pub const ELEMENT: usize = 3;
const MEMORY_BYTES: usize = 1 << 16;
/// Value of bytes that no schedule has written.
pub const UNTOUCHED: u8 = 0xee;

/// Returns the bytes of a rank's memory from `offset` on.
pub fn span(offset: usize, len: usize) -> BufferSlice {
    BufferSlice::from(Span::model(0, MEMORY_BYTES)).part(offset, len)
}

/// Returns an element of one rank: the first and the last rank that it combines, and a value.
pub fn element(rank: u32, i: usize) -> [u8; ELEMENT] {
    [rank as u8, rank as u8, (7 * rank as usize + i) as u8]
}

/// Returns the combined elements of the ranks from `first` to `last`.
pub fn combined(first: u32, last: u32, i: usize) -> [u8; ELEMENT] {
    let values = (first..=last).map(|rank| element(rank, i)[2]);
    let sum = values.fold(0, u8::wrapping_add);
    [first as u8, last as u8, sum]
}

/// Combines elements of adjacent ranks only, the lower ranks on the left, and so detects a wrong order.
pub fn combine(left: &[u8], right: &mut [u8]) {
    for (a, b) in left.chunks(ELEMENT).zip(right.chunks_mut(ELEMENT)) {
        assert_eq!(a[1] + 1, b[0], "ranks {a:?} and then {b:?}");
        (b[0], b[2]) = (a[0], b[2].wrapping_add(a[2]));
    }
}

/// One rank: its memory, its segments, and the messages of its present step.
pub struct Process {
    pub memory: Vec<u8>,
    segments: [[u8; SEGMENT_BYTES]; 2],
    send: Option<Message>,
    receive: Option<(CommRank, Tag, StepBuffer)>,
    /// Messages sent.
    pub sent: usize,
    /// Bit mask of the ranks from which this one has received a message, directly or through other ranks.
    pub heard: u32,
}

#[derive(Clone)]
struct Message {
    dest: CommRank,
    tag: Tag,
    bytes: Vec<u8>,
    heard: u32,
}

impl Process {
    fn new(rank: u32) -> Process {
        Process {
            memory: vec![UNTOUCHED; MEMORY_BYTES],
            segments: [[UNTOUCHED; SEGMENT_BYTES]; 2],
            send: None,
            receive: None,
            sent: 0,
            heard: 1 << rank,
        }
    }

    /// Returns the bytes of a span.
    pub fn at(&mut self, span: BufferSlice) -> &mut [u8] {
        &mut self.memory[span.address()..][..span.len()]
    }

    fn bytes(&mut self, buffer: StepBuffer) -> &mut [u8] {
        match buffer {
            StepBuffer::User(span) => self.at(span),
            StepBuffer::Segment(half, bytes) => &mut self.segments[half as usize][..bytes],
        }
    }

    fn message(&mut self, dest: CommRank, tag: Tag, data: StepBuffer) -> Message {
        Message {
            dest,
            tag,
            bytes: self.bytes(data).into(),
            heard: self.heard,
        }
    }

    fn begin(&mut self, step: ScheduleStep) {
        match step {
            ScheduleStep::Send { dest, tag, data } => self.send = Some(self.message(dest, tag, data)),
            ScheduleStep::Receive { source, tag, data } => self.receive = Some((source, tag, data)),
            ScheduleStep::Exchange { tag, given, taken } => {
                self.send = Some(self.message(given.1, tag, given.0));
                self.receive = Some((taken.1, tag, taken.0));
            }
            ScheduleStep::Pass { .. } => unreachable!("of boxes alone"),
            ScheduleStep::Combine { left, bytes } => {
                let (a, b) = self.segments.split_at_mut(1);
                let (left, right) = match left {
                    SegmentHalf::First => (&a[0], &mut b[0]),
                    SegmentHalf::Second => (&b[0], &mut a[0]),
                };
                combine(&left[..bytes], &mut right[..bytes]);
            }
            ScheduleStep::Load { from, to } => {
                let bytes = self.at(from).to_vec();
                self.bytes(StepBuffer::Segment(to, bytes.len())).copy_from_slice(&bytes);
            }
            ScheduleStep::Store { from, to } => {
                let bytes = self.bytes(StepBuffer::Segment(from, to.len())).to_vec();
                self.at(to).copy_from_slice(&bytes);
            }
            ScheduleStep::Copy { from, to } => {
                let bytes = self.at(from).to_vec();
                self.at(to).copy_from_slice(&bytes);
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.send.is_none() && self.receive.is_none()
    }
}

/// Runs the schedules of `size` ranks, each created by `schedule`, in memories initialized by `fill`.
pub fn run<S: Schedule>(size: u32, fill: impl Fn(u32, &mut Process), schedule: impl Fn(RankInfo) -> S) -> Vec<Process> {
    let mut processes = Vec::new();
    let mut schedules = Vec::new();
    for own in 0..size {
        let mut process = Process::new(own);
        fill(own, &mut process);
        processes.push(process);
        let grid = None;
        schedules.push(schedule(RankInfo { own, size, grid }));
    }
    loop {
        let mut has_moved = false;
        for (process, schedule) in processes.iter_mut().zip(&mut schedules) {
            while process.is_idle() {
                let Some(step) = schedule.next() else { break };
                process.begin(step);
                has_moved = true;
            }
        }
        for from in 0..size {
            has_moved |= deliver(&mut processes, CommRank(from));
        }
        if !has_moved {
            break;
        }
    }
    for (rank, process) in processes.iter().enumerate() {
        assert!(process.is_idle(), "rank {rank} of {size} waits for ever");
    }
    processes
}

/// Delivers the message of `from`, if its receive is posted.
fn deliver(processes: &mut [Process], from: CommRank) -> bool {
    let Some(message) = processes[from.0 as usize].send.clone() else {
        return false;
    };
    assert_ne!(message.dest, from, "a message to itself");
    let receiver = &mut processes[message.dest.0 as usize];
    let Some((source, tag, buffer)) = receiver.receive else {
        return false;
    };
    if (source, tag) != (from, message.tag) {
        return false;
    }
    receiver.bytes(buffer).copy_from_slice(&message.bytes);
    receiver.receive = None;
    receiver.heard |= message.heard;
    let sender = &mut processes[from.0 as usize];
    (sender.send, sender.sent) = (None, sender.sent + 1);
    true
}
