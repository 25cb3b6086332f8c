//! Copies of frames that QEMU's `filter-dump` writes to pipes, as pcap with a unit of microseconds.
//!
//! The clock of each QEMU process starts at a time of its own. The reader notes the smallest difference between the host's
//! clock, when it receives a frame, and the time stamp; this is the start of that clock, with an error of the shortest
//! delay of the pipe.

use crate::host::error::{CliError, ErrorContext};
use midplane_abi::captured_frames::{FrameRecord, MAX_FRAME_BYTES, MAX_RECORD_BYTES};
use net_torus::coord::Direction;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;
use std::time::Instant;

/// First word of a file with microseconds, in the host's byte order.
const MAGIC: u32 = 0xA1B2_C3D4;
const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
/// Maximum number of bytes that one read returns: the default capacity of a pipe.
const READ_BYTES: usize = 64 << 10;

/// The tool's end of a pipe with the frames that a node sends on a link.
#[derive(Debug)]
pub struct DumpPipe {
    /// Rank of the sender.
    pub rank: u32,
    /// Direction of the link at the sender.
    pub direction: Direction,
    /// Non-blocking end.
    pub pipe: OwnedFd,
}

/// Returns QEMU's arguments that copy the frames of a link device to this descriptor.
pub fn object(slot: u8, file: i32) -> String {
    // The receive queue of the network back end contains the frames that the node sends.
    format!("filter-dump,id=dump{slot},netdev=link{slot},queue=rx,file=/dev/fd/{file}")
}

/// Thread that reads the pipes until QEMU has closed all of them.
#[derive(Debug)]
pub struct DumpReader(JoinHandle<Vec<u64>>);

impl DumpReader {
    /// Starts the thread, which appends up to `max_bytes` bytes of records to `file`. Their times begin at `started`, before
    /// the first QEMU process.
    ///
    /// # Errors
    /// Returns a failure if no thread can be started.
    pub fn start(pipes: Vec<DumpPipe>, started: Instant, file: File, max_bytes: u64) -> Result<Self, CliError> {
        let ranks = pipes.iter().map(|pipe| pipe.rank as usize + 1).max().unwrap_or(0);
        let mut streams: Vec<DumpStream> = pipes.into_iter().map(DumpStream::new).collect();
        let mut sink = RecordSink {
            file,
            remaining: max_bytes,
            clocks: vec![NodeClock::default(); ranks],
        };
        let read = move || {
            while !streams.is_empty() {
                read_all(&mut streams, started, &mut sink);
            }
            sink.clocks.iter().map(|clock| clock.start_ns.unwrap_or(0)).collect()
        };
        let thread = std::thread::Builder::new().name("packets".into()).spawn(read);
        thread.map(Self).context("start a thread that captures packets")
    }

    /// Waits for the end of all QEMU processes. Returns the start of each node's clock in nanoseconds, by rank.
    pub fn finish(self) -> Vec<u64> {
        self.0.join().unwrap_or_default()
    }
}

/// Waits for the pipes, reads those with data, and removes those that QEMU has closed.
fn read_all(streams: &mut Vec<DumpStream>, started: Instant, sink: &mut RecordSink) {
    let mut fds: Vec<PollFd<'_>> = { streams.iter() }
        .map(|stream| PollFd::new(&stream.pipe.pipe, PollFlags::IN))
        .collect();
    if poll(&mut fds, None).is_err_and(|error| error != Errno::INTR) {
        streams.clear();
        return;
    }
    let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
    let mut ready = ready.into_iter();
    streams.retain_mut(|stream| {
        if !ready.next().unwrap_or(false) {
            return true;
        }
        let is_open = stream.fill();
        let now_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let is_valid = stream.take_records(now_ns, sink);
        if !is_valid {
            let start_ns = sink.clocks[stream.pipe.rank as usize].start_ns.unwrap_or(0);
            sink.end(&stream.pipe, now_ns.saturating_sub(start_ns));
        }
        is_valid && is_open
    });
}

/// A pipe, and the bytes of its incomplete record.
struct DumpStream {
    pipe: DumpPipe,
    bytes: Vec<u8>,
    has_header: bool,
}

impl DumpStream {
    fn new(pipe: DumpPipe) -> Self {
        Self {
            pipe,
            bytes: Vec::new(),
            has_header: false,
        }
    }

    /// Reads available bytes; returns false at the end.
    fn fill(&mut self) -> bool {
        let before = self.bytes.len();
        self.bytes.resize(before + READ_BYTES, 0);
        let read = rustix::io::read(&self.pipe.pipe, &mut self.bytes[before..]);
        self.bytes.truncate(before + read.unwrap_or(0));
        !matches!(read, Ok(0)) && read.map_or_else(|error| error == Errno::AGAIN || error == Errno::INTR, |_| true)
    }

    /// Passes the complete records to the sink; returns false if the stream is invalid.
    fn take_records(&mut self, now_ns: u64, sink: &mut RecordSink) -> bool {
        let mut at = 0;
        if !self.has_header {
            let Some(header) = self.bytes.first_chunk::<FILE_HEADER_BYTES>() else {
                return true;
            };
            if word(header, 0) != MAGIC {
                return false;
            }
            (at, self.has_header) = (FILE_HEADER_BYTES, true);
        }
        while let Some(header) = self.bytes[at..].first_chunk::<RECORD_HEADER_BYTES>() {
            let [seconds, microseconds, size, _] = [0, 4, 8, 12].map(|at| word(header, at));
            if size as usize > MAX_FRAME_BYTES {
                return false;
            }
            let start = at + RECORD_HEADER_BYTES;
            let Some(frame) = self.bytes.get(start..start + size as usize) else {
                break;
            };
            let stamp_ns = u64::from(seconds) * 1_000_000_000 + u64::from(microseconds) * 1000;
            sink.add(&self.pipe, stamp_ns, now_ns, frame);
            at = start + frame.len();
        }
        self.bytes.drain(..at);
        true
    }
}

/// Clock of a QEMU process.
#[derive(Clone, Default)]
struct NodeClock {
    /// Time stamp of its first frame.
    first_ns: Option<u64>,
    /// The host's time at that stamp, as estimated so far.
    start_ns: Option<u64>,
}

/// File that receives the frames.
struct RecordSink {
    file: File,
    remaining: u64,
    /// By rank.
    clocks: Vec<NodeClock>,
}

impl RecordSink {
    /// Appends a frame with this time stamp, received now. The first frame beyond the limit is replaced by an empty one.
    fn add(&mut self, pipe: &DumpPipe, stamp_ns: u64, now_ns: u64, frame: &[u8]) {
        let clock = &mut self.clocks[pipe.rank as usize];
        let time_ns = stamp_ns.saturating_sub(*clock.first_ns.get_or_insert(stamp_ns));
        let start_ns = now_ns.saturating_sub(time_ns);
        clock.start_ns = Some(clock.start_ns.map_or(start_ns, |earlier| earlier.min(start_ns)));
        if self.remaining == 0 {
            return;
        }
        let record = FrameRecord {
            time_ns,
            rank: pipe.rank,
            direction: pipe.direction,
            frame,
        };
        let mut bytes = [0; MAX_RECORD_BYTES];
        let Some(size) = record.emit(&mut bytes) else {
            return;
        };
        self.remaining = self.remaining.saturating_sub(size as u64);
        if self.remaining > 0 && self.file.write_all(&bytes[..size]).is_ok() {
            return;
        }
        self.end(pipe, time_ns);
    }

    /// Records that all later frames are missing.
    fn end(&mut self, pipe: &DumpPipe, time_ns: u64) {
        self.remaining = 0;
        let last = FrameRecord {
            time_ns,
            rank: pipe.rank,
            direction: pipe.direction,
            frame: &[],
        };
        let mut bytes = [0; MAX_RECORD_BYTES];
        if let Some(size) = last.emit(&mut bytes) {
            // Without it, the file ends with the last frame.
            let _ = self.file.write_all(&bytes[..size]);
        }
    }
}

/// Returns an integer in the host's byte order, which QEMU uses.
fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_ne_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_abi::captured_frames::FrameRecord;
    use rustix::pipe::{PipeFlags, pipe_with};
    use std::os::unix::fs::FileExt;

    fn file() -> File {
        let file = rustix::fs::memfd_create("midplane-test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        File::from(file)
    }

    /// Writes a stream in parts of `step` bytes, and returns the records and the clocks.
    fn captured(stream: &[u8], step: usize, max_bytes: u64) -> (Vec<u8>, Vec<u64>) {
        let (ours, theirs) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        let pipe = DumpPipe {
            rank: 1,
            direction: Direction::YPlus,
            pipe: ours,
        };
        let records = file();
        let reader = DumpReader::start(vec![pipe], Instant::now(), records.try_clone().unwrap(), max_bytes).unwrap();
        for part in stream.chunks(step) {
            rustix::io::write(&theirs, part).unwrap();
        }
        drop(theirs);
        let clocks = reader.finish();
        let mut bytes = vec![0; records.metadata().unwrap().len() as usize];
        records.read_exact_at(&mut bytes, 0).unwrap();
        (bytes, clocks)
    }

    fn stream(frames: &[(u32, u32, &[u8])]) -> Vec<u8> {
        let mut stream = MAGIC.to_ne_bytes().to_vec();
        stream.resize(FILE_HEADER_BYTES, 0);
        for (seconds, microseconds, frame) in frames {
            let size = frame.len() as u32;
            for word in [*seconds, *microseconds, size, size] {
                stream.extend(word.to_ne_bytes());
            }
            stream.extend(*frame);
        }
        stream
    }

    fn records(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut all = Vec::new();
        while let Some((record, rest)) = FrameRecord::parse(bytes) {
            assert_eq!((record.rank, record.direction), (1, Direction::YPlus));
            all.push((record.time_ns, record.frame.to_vec()));
            bytes = rest;
        }
        all
    }

    #[test]
    fn frames_are_read_in_parts_of_any_size() {
        let stream = stream(&[(100, 999_999, b"first"), (101, 1, b"second")]);
        for step in [1, 7, 1000] {
            let (bytes, clocks) = captured(&stream, step, 1 << 20);
            let expected = [(0, b"first".to_vec()), (2000, b"second".to_vec())];
            assert_eq!(records(&bytes), expected, "{step}");
            assert_eq!(clocks.len(), 2);
        }
    }

    #[test]
    fn frames_beyond_the_limit_are_replaced_by_an_empty_one() {
        let stream = stream(&[(1, 0, b"first"), (1, 5, b"second"), (1, 6, b"third")]);
        let (bytes, _) = captured(&stream, 1000, 40);
        assert_eq!(records(&bytes), [(0, b"first".to_vec()), (5000, Vec::new())]);
    }

    #[test]
    fn an_invalid_stream_ends_the_reader() {
        let long = vec![0; MAX_FRAME_BYTES + 1];
        for invalid in [vec![0; FILE_HEADER_BYTES], stream(&[(1, 0, &long)])] {
            let (bytes, _) = captured(&invalid, 1 << 16, 1 << 20);
            let [(_, frame)] = &records(&bytes)[..] else {
                panic!("one record without a frame");
            };
            assert!(frame.is_empty());
        }
    }
}
