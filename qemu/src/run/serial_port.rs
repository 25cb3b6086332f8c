//! Serial line to a machine of boards, one of which provides the console: the end of the relay that forwards their
//! records (`kernel-rt/src/dev/console_relay.rs`).

use crate::host::error::{CliError, ErrorContext};
use crate::run::notation::{direction, parse_console_at};
use kernel_rt::board::stm32f405::memory::BAUD;
use kernel_rt::dev::console_relay::{self, RelayPayload, RelayRecord};
use kernel_rt::dev::serial::{self, FrameCollector, LINE_BYTES, SerialLine};
use midplane_abi::blackboard;
use midplane_abi::boot_parameters::SerialConsole;
use midplane_abi::outbox::OutputStream;
use net_torus::coord::{Coord, Shape};
use net_torus::discover;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, SpecialCodeIndex};
use std::collections::VecDeque;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time without a record before a warning with possible reasons.
const SILENCE: Duration = Duration::from_secs(10);
/// Time in which a board's memory crosses the machine, on a busy host too.
const REPETITION: Duration = Duration::from_secs(60);
/// Maximum bytes per read.
const CHUNK: usize = 4096;

/// An open serial port in raw mode.
pub struct SerialPort {
    fd: OwnedFd,
    /// Displayed name.
    name: String,
    /// Bit rate of a host port.
    baud: Option<u32>,
    /// Whether to announce the reader to boards that detect their console's location.
    greets: bool,
}

impl SerialPort {
    /// Opens a serial port at this bit rate.
    ///
    /// # Errors
    /// Returns a usage error if the port is missing, no serial port, in use, or not permitted.
    pub fn open(path: &Path, baud: u32) -> Result<Self, CliError> {
        let shown = path.display();
        let refused = |why: &str| CliError::usage(format!("--serial {shown}: {why}"));
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOENT => refused("there is no such port; check that the adapter is connected"),
            Errno::ACCESS => refused("permission denied; ports often require membership in the group dialout"),
            Errno::BUSY => refused("it is in use by another program"),
            Errno::NXIO | Errno::NODEV | Errno::IO => refused("there is no device at this port"),
            error => refused(&std::io::Error::from(error).to_string()),
        })?;
        if !rustix::termios::isatty(&fd) {
            return Err(refused("it is no serial port"));
        }
        rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| refused("it is in use by another program"))?;
        let mut settings = rustix::termios::tcgetattr(&fd).context("read the port's settings")?;
        settings.make_raw();
        settings.special_codes[SpecialCodeIndex::VMIN] = 1;
        settings.special_codes[SpecialCodeIndex::VTIME] = 0;
        settings
            .set_speed(baud)
            .and_then(|()| rustix::termios::tcsetattr(&fd, OptionalActions::Now, &settings))
            .map_err(|_| refused(&format!("it does not support {baud} bits per second")))?;
        Ok(Self {
            fd,
            name: shown.to_string(),
            baud: Some(baud),
            greets: false,
        })
    }

    /// Creates a port from the non-blocking line of an emulated board.
    pub fn from_emulated(fd: OwnedFd) -> Self {
        Self {
            fd,
            name: "the console".into(),
            baud: None,
            greets: false,
        }
    }

    /// Enables or disables the announcement to boards that detect their console's location.
    pub fn with_greeting(self, greets: bool) -> Self {
        Self { greets, ..self }
    }
}

/// Parses a console's location: a line of the node at 0,0,0, or of another.
pub fn parse_console(text: &str) -> Result<SerialConsole, String> {
    let of_first = || {
        let at = Coord::default();
        direction(text).map(|direction| SerialConsole { at, direction })
    };
    let console = parse_console_at(text).or_else(of_first);
    console.ok_or_else(|| format!("`{text}` is not a line of a node; use the form z+ or 0,0,0:z+"))
}

/// Checks that the console's line exists and is no link of the machine.
pub fn check_console(console: SerialConsole, shape: &Shape) -> Result<(), CliError> {
    if console.fits(shape) {
        return Ok(());
    }
    let (Coord { x, y, z }, name) = (console.at, console.direction.name());
    let why = match shape.rank(console.at) {
        None => "there is no such node",
        Some(_) => {
            "the machine has a link there; use a direction in which its extent is 1, or in which a mesh (--mesh) ends"
        }
    };
    Err(CliError::usage(format!("--console {x},{y},{z}:{name}: {why}")))
}

/// Bytes in transit.
#[derive(Default)]
struct ByteBuffer {
    came: VecDeque<u8>,
    goes: Vec<u8>,
}

impl SerialLine for ByteBuffer {
    fn read_byte(&mut self) -> Option<u8> {
        self.came.pop_front()
    }

    fn has_frame(&self) -> bool {
        !self.came.is_empty()
    }

    /// Space for one acknowledgement: each is sent before the next.
    fn room(&self) -> usize {
        LINE_BYTES
    }

    fn put(&mut self, bytes: &[u8]) {
        self.goes.extend(bytes);
    }
}

/// End of the console relay.
pub struct AttachedBoards<'p> {
    port: &'p SerialPort,
    /// Number of boards.
    boards: u32,
    bytes: ByteBuffer,
    collector: FrameCollector,
    /// Sequence number of the last record.
    heard: Option<u8>,
    /// Number of valid frames that are no records of this machine.
    strange: u64,
    gone: Option<String>,
    /// Time of the last printed output.
    printed: Option<Instant>,
    begun: Instant,
    has_warned: bool,
}

impl<'p> AttachedBoards<'p> {
    /// Creates the end of the relay of this number of boards at this port.
    pub fn new(port: &'p SerialPort, boards: u32) -> Self {
        Self {
            port,
            boards,
            bytes: ByteBuffer::default(),
            collector: FrameCollector::new(),
            heard: None,
            strange: 0,
            gone: None,
            printed: None,
            begun: Instant::now(),
            has_warned: false,
        }
    }

    /// Returns the descriptor to poll; `None` if the line is closed.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.gone.is_none().then(|| self.port.fd.as_fd())
    }

    /// Returns the reason for a closed line.
    pub fn closed_reason(&self) -> Option<&str> {
        self.gone.as_deref()
    }

    /// Returns the time of the last printed output.
    pub fn last_output(&self) -> Option<Instant> {
        self.printed
    }

    /// Returns the time within which each board repeats the memory that explains its end.
    pub fn repetition(&self) -> Duration {
        let baud = self.port.baud.unwrap_or(BAUD);
        REPETITION + Duration::from_nanos(console_relay::repetition_ns(self.boards, blackboard::BYTES, baud))
    }

    /// Announces the reader until a record shows that the boards know it.
    pub fn announce_reader(&mut self) {
        if self.port.greets && self.heard.is_none() {
            self.send(&discover::console_frame());
        }
    }

    fn send(&mut self, frame: &[u8]) {
        serial::send(&mut self.bytes, |out| {
            out[..frame.len()].copy_from_slice(frame);
            frame.len()
        });
        // Lost bytes cause another request.
        let _ = rustix::io::write(&self.port.fd, &self.bytes.goes);
        self.bytes.goes.clear();
    }

    /// Returns a warning with possible reasons once, after a long silence.
    pub fn silence_warning(&mut self, now: Instant) -> Option<String> {
        let is_silent = self.heard.is_none() && now >= self.begun + SILENCE;
        if !is_silent || std::mem::replace(&mut self.has_warned, true) {
            return None;
        }
        let SerialPort { name, baud, .. } = self.port;
        let came = match self.collector.damaged {
            0 => "no data received yet",
            _ => "the received data is invalid",
        };
        Some(match baud {
            Some(baud) => format!(
                "{name}: {came}; check that the boards are on, use images made with --console, and send {baud} bits \
                 per second"
            ),
            None => format!("{name}: {came}"),
        })
    }

    /// Processes received bytes. Records of a stream for which `has_room` is false are not acknowledged and so
    /// repeated; `take` returns false if a record does not belong to this machine.
    pub fn handle_records(
        &mut self,
        now: Instant,
        has_room: impl Fn(OutputStream) -> bool,
        mut take: impl FnMut(u16, RelayPayload<'_>) -> bool,
    ) {
        self.read();
        while let Some(size) = self.collector.next_frame(&mut self.bytes) {
            let frame = self.collector.frame(size);
            let Some(record) = RelayRecord::read(frame) else {
                self.strange += u64::from(!discover::is_of_discovery(frame));
                continue;
            };
            if self.heard != Some(record.number) {
                if let RelayPayload::Output(stream, _) = record.said {
                    if !has_room(stream) {
                        continue;
                    }
                    self.printed = Some(now);
                }
                self.heard = Some(record.number);
                self.strange += u64::from(!take(record.rank, record.said));
            }
            let number = record.number;
            self.send(&console_relay::answer(number));
        }
    }

    fn read(&mut self) {
        let mut chunk = [0; CHUNK];
        let why = match rustix::io::read(&self.port.fd, &mut chunk) {
            Ok(count @ 1..) => return self.bytes.came.extend(&chunk[..count]),
            Err(Errno::AGAIN | Errno::INTR) => return,
            // Error of a port after removal of its device.
            Ok(_) | Err(Errno::IO) => "it has disappeared, for example because the adapter was unplugged".into(),
            Err(error) => std::io::Error::from(error).to_string(),
        };
        self.gone = Some(format!("{}: {why}", self.port.name));
    }
}

/// Line errors, if there were any.
impl fmt::Display for AttachedBoards<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (damaged, strange) = (self.collector.damaged, self.strange);
        let SerialPort { name, .. } = self.port;
        if damaged > 0 {
            writeln!(
                f,
                "{name}: {damaged} pieces were damaged; damaged records were retransmitted"
            )?;
        }
        match strange {
            0 => Ok(()),
            _ => writeln!(
                f,
                "{name}: {strange} frames were no records of this machine and were ignored"
            ),
        }
    }
}
