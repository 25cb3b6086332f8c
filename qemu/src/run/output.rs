//! Output of the nodes, line by line with a rank prefix or byte for byte, without blocking on the reader of the tool's
//! streams.
//!
//! Complete lines of different ranks never mix. An incomplete line is buffered. On a terminal it is shown after a short
//! delay, so that a prompt appears, and continued if no other rank has written meanwhile. Without rank prefixes the
//! delay is shorter and applies to any reader, and nothing is added to the ranks' output.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Longer lines are forwarded in pieces; size in bytes.
const LINE_BYTES: usize = 64 << 10;
/// Back-pressure limit: no more output is read from the nodes while this many bytes are queued.
const QUEUE_BYTES: usize = 256 << 10;
/// Maximum delay of an incomplete line on a terminal.
const PATIENCE: Duration = Duration::from_millis(200);
/// Maximum delay where output is forwarded byte for byte.
const PLAIN_PATIENCE: Duration = Duration::from_millis(50);
/// Bytes that a writable pipe accepts without blocking (POSIX `PIPE_BUF`, Linux).
const PIPE_BUF: usize = 4096;

/// Source of output: a rank's program, or its kernel's log.
type OutputSource = u32;

/// Output style of the ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutputStyle {
    /// Line by line with the rank as prefix.
    #[default]
    Prefixed,
    /// Byte for byte; lines that are complete within [`PLAIN_PATIENCE`] do not mix.
    Plain,
    /// Byte for byte without delay, for one rank.
    Immediate,
}

impl OutputStyle {
    /// Returns the style for this many ranks, with or without rank prefixes.
    pub fn for_ranks(ranks: u32, prefix: bool) -> Self {
        match (prefix, ranks) {
            (true, _) => Self::Prefixed,
            (false, 1) => Self::Immediate,
            (false, _) => Self::Plain,
        }
    }
}

/// Assembles the ranks' bytes into lines. Free of side effects: the clock is an argument, the result is
/// [`LineAssembler::ready`].
#[derive(Default)]
pub struct LineAssembler {
    /// Bytes ready for output.
    ready: Vec<u8>,
    /// Incomplete lines and the time of their last byte.
    partial: HashMap<OutputSource, (Vec<u8>, Instant)>,
    /// Source of the incomplete line written last.
    open: Option<OutputSource>,
    style: OutputStyle,
    /// Delay of incomplete lines; `None`: show them at the end only.
    patience: Option<Duration>,
}

impl LineAssembler {
    /// Creates an empty buffer; `impatient` enables the delayed output of incomplete lines.
    pub fn new(style: OutputStyle, impatient: bool) -> Self {
        Self {
            style,
            patience: match style {
                OutputStyle::Prefixed => impatient.then_some(PATIENCE),
                OutputStyle::Plain | OutputStyle::Immediate => Some(PLAIN_PATIENCE),
            },
            ..Self::default()
        }
    }

    /// Adds output of `rank`.
    pub fn add_output(&mut self, rank: OutputSource, mut bytes: &[u8], now: Instant) {
        if self.style == OutputStyle::Immediate {
            self.ready.extend(bytes);
            if let Some(last) = bytes.last() {
                self.open = (*last != b'\n').then_some(rank);
            }
            return;
        }
        while let Some(end) = bytes.iter().position(|&b| b == b'\n') {
            let (line, rest) = bytes.split_at(end + 1);
            let held = self.partial.remove(&rank).map(|(held, _)| held);
            self.begin_line(rank);
            self.ready.extend(held.unwrap_or_default());
            self.ready.extend(line);
            self.open = None;
            bytes = rest;
        }
        if bytes.is_empty() {
            return;
        }
        let (held, since) = self.partial.entry(rank).or_insert((Vec::new(), now));
        held.extend(bytes);
        *since = now;
        if held.len() > LINE_BYTES {
            self.show_partial(rank);
        }
    }

    /// Adds a line of the tool itself, without prefix.
    pub fn add_line(&mut self, line: &str) {
        self.close();
        self.ready.extend(line.as_bytes());
        self.ready.push(b'\n');
    }

    /// Shows incomplete lines whose delay has expired; returns the time of the next call.
    pub fn show_delayed(&mut self, now: Instant) -> Option<Instant> {
        let patience = self.patience?;
        let mut due: Vec<OutputSource> = self.waiting_sources(|since| now >= since + patience);
        due.sort_unstable();
        for rank in due {
            self.show_partial(rank);
        }
        self.partial.values().map(|(_, since)| *since + patience).min()
    }

    /// Completes every line at the end of all output.
    pub fn finish(&mut self) {
        let mut rest = self.waiting_sources(|_| true);
        rest.sort_unstable();
        for rank in rest {
            self.show_partial(rank);
            self.break_line();
        }
        self.break_line();
    }

    fn waiting_sources(&self, when: impl Fn(Instant) -> bool) -> Vec<OutputSource> {
        self.partial
            .iter()
            .filter(|(_, (_, since))| when(*since))
            .map(|(rank, _)| *rank)
            .collect()
    }

    fn show_partial(&mut self, rank: OutputSource) {
        if let Some((held, _)) = self.partial.remove(&rank) {
            self.begin_line(rank);
            self.ready.extend(held);
            self.open = Some(rank);
        }
    }

    /// Prepares for output of a line of `rank`.
    fn begin_line(&mut self, rank: OutputSource) {
        if self.open != Some(rank) {
            self.break_line();
            if self.style == OutputStyle::Prefixed {
                self.ready.extend(format!("[{rank}] ").as_bytes());
            }
        }
    }

    /// Ends an open line of another rank, where line breaks may be added.
    fn break_line(&mut self) {
        if self.style == OutputStyle::Prefixed {
            self.close();
        }
    }

    fn close(&mut self) {
        if self.open.take().is_some() {
            self.ready.push(b'\n');
        }
    }
}

/// [`LineAssembler`] with an output stream of the tool.
pub struct OutputSink<'a> {
    pub lines: LineAssembler,
    to: BorrowedFd<'a>,
    broken: Option<Errno>,
}

impl<'a> OutputSink<'a> {
    /// Creates a sink that writes to `to`.
    pub fn new(to: &'a impl AsFd, style: OutputStyle) -> Self {
        let to = to.as_fd();
        Self {
            lines: LineAssembler::new(style, rustix::termios::isatty(to)),
            to,
            broken: None,
        }
    }

    /// Checks whether the queue is below its limit (flow control).
    pub fn has_room(&self) -> bool {
        self.lines.ready.len() < QUEUE_BYTES
    }

    /// Returns the descriptor to poll if bytes are queued.
    pub fn poll_descriptor(&self) -> Option<PollFd<'a>> {
        (!self.lines.ready.is_empty()).then(|| PollFd::from_borrowed_fd(self.to, PollFlags::OUT))
    }

    /// Returns the stream's error: EPIPE after its reader has closed it, ENOSPC on a full device, or another error of
    /// `write`.
    pub fn write_error(&self) -> Option<Errno> {
        self.broken
    }

    /// Writes as many bytes as the stream accepts without blocking.
    pub fn write(&mut self) {
        let mut written = 0;
        while written < self.lines.ready.len() && self.is_writable() {
            let rest = &self.lines.ready[written..];
            match rustix::io::write(self.to, &rest[..rest.len().min(PIPE_BUF)]) {
                Ok(bytes) => written += bytes,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => {
                    self.broken = Some(error);
                    written = self.lines.ready.len();
                }
            }
        }
        self.lines.ready.drain(..written);
    }

    fn is_writable(&self) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(self.to, PollFlags::OUT)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        matches!(poll(&mut fds, Some(&at_once)), Ok(n) if n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: &LineAssembler) -> &str {
        std::str::from_utf8(&lines.ready).unwrap()
    }

    #[test]
    fn lines_of_different_ranks_never_mix() {
        let now = Instant::now();
        let mut lines = LineAssembler::new(OutputStyle::Prefixed, false);
        lines.add_output(0, b"one ", now);
        lines.add_output(1, b"other\nnext", now);
        lines.add_output(0, b"line\n", now);
        lines.add_output(1, b" line\n\n", now);
        assert_eq!(text(&lines), "[1] other\n[0] one line\n[1] next line\n[1] \n");
    }

    #[test]
    fn an_incomplete_line_ends_with_the_job() {
        let now = Instant::now();
        let mut lines = LineAssembler::new(OutputStyle::Prefixed, false);
        lines.add_output(3, b"no end", now);
        assert_eq!(lines.show_delayed(now + Duration::from_secs(60)), None);
        assert_eq!(text(&lines), "");
        lines.add_output(1, b"x", now);
        lines.finish();
        assert_eq!(text(&lines), "[1] x\n[3] no end\n");
    }

    #[test]
    fn on_a_terminal_an_incomplete_line_is_shown_and_continued() {
        let now = Instant::now();
        let mut lines = LineAssembler::new(OutputStyle::Prefixed, true);
        lines.add_output(0, b"name? ", now);
        assert_eq!(lines.show_delayed(now), Some(now + PATIENCE));
        assert_eq!(text(&lines), "");
        assert_eq!(lines.show_delayed(now + PATIENCE), None);
        assert_eq!(text(&lines), "[0] name? ");
        lines.add_output(0, b"yes\n", now);
        assert_eq!(text(&lines), "[0] name? yes\n");
    }

    #[test]
    fn another_rank_or_a_note_ends_an_open_line() {
        let now = Instant::now();
        let mut lines = LineAssembler::new(OutputStyle::Prefixed, true);
        lines.add_output(0, b"a", now);
        lines.show_delayed(now + PATIENCE);
        lines.add_output(1, b"b\n", now);
        lines.add_output(0, b"c\n", now);
        lines.add_output(0, b"d", now);
        lines.show_delayed(now + PATIENCE);
        lines.add_line("note");
        assert_eq!(text(&lines), "[0] a\n[1] b\n[0] c\n[0] d\nnote\n");
    }

    #[test]
    fn one_rank_without_prefix_is_passed_on_at_once_and_byte_for_byte() {
        let now = Instant::now();
        let mut lines = LineAssembler::new(OutputStyle::for_ranks(1, false), false);
        lines.add_output(0, b"a\0\xff\n\r", now);
        assert_eq!(lines.ready, b"a\0\xff\n\r");
        lines.add_line("note");
        assert_eq!(lines.ready, b"a\0\xff\n\r\nnote\n");
        lines.add_output(0, b"end", now);
        lines.finish();
        assert!(lines.ready.ends_with(b"\nend"), "no line is ended");
    }

    #[test]
    fn several_ranks_without_prefix_keep_whole_lines_and_all_bytes() {
        let now = Instant::now();
        let mut lines = LineAssembler::new(OutputStyle::for_ranks(2, false), false);
        lines.add_output(0, b"one ", now);
        lines.add_output(1, b"other\n", now);
        lines.add_output(0, b"line\nna", now);
        assert_eq!(text(&lines), "other\none line\n");
        assert_eq!(lines.show_delayed(now), Some(now + PLAIN_PATIENCE));
        assert_eq!(lines.show_delayed(now + PLAIN_PATIENCE), None);
        lines.add_output(1, b"x", now);
        lines.finish();
        assert_eq!(text(&lines), "other\none line\nnax");
    }

    #[test]
    fn an_endless_line_is_passed_on_in_pieces() {
        let now = Instant::now();
        let mut lines = LineAssembler::new(OutputStyle::Prefixed, false);
        for _ in 0..3 {
            lines.add_output(0, &[b'x'; LINE_BYTES / 2], now);
        }
        assert_eq!(lines.ready.len(), "[0] ".len() + LINE_BYTES / 2 * 3);
        lines.add_output(0, b"\n", now);
        assert!(lines.ready.ends_with(b"x\n"));
        assert!(lines.partial.is_empty());
    }

    #[test]
    fn a_sink_writes_without_blocking_and_keeps_the_rest() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let mut sink = OutputSink::new(&write, OutputStyle::Prefixed);
        let now = Instant::now();
        let line = vec![b'y'; LINE_BYTES - 1];
        for _ in 0..5 {
            sink.lines.add_output(0, &line, now);
            sink.lines.add_output(0, b"\n", now);
        }
        assert!(!sink.has_room());
        sink.write();
        assert!(sink.poll_descriptor().is_some(), "a full pipe must leave a rest");
        drop(read);
        sink.write();
        assert_eq!(sink.write_error(), Some(Errno::PIPE));
        assert!(sink.poll_descriptor().is_none());
    }

    #[test]
    fn a_full_device_breaks_a_sink_with_its_own_error() {
        let full = std::fs::File::create("/dev/full").unwrap();
        let mut sink = OutputSink::new(&full, OutputStyle::Prefixed);
        sink.lines.add_line("x");
        sink.write();
        assert_eq!(sink.write_error(), Some(Errno::NOSPC));
    }
}
