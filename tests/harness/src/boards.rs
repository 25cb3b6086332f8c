//! Emulated standalone boards: each runs a flashed image, they are wired to each other, and one has a serial line to a
//! pseudo-terminal, like a USB adapter.

use crate::root;
use midplane_setup::CheckoutDirs;
use midplane_setup::detect::qemu;
use midplane_setup::detection_result::ToolDetection;
use midplane_setup::toolchain::{self, STM32F405};
use oorandom::Rand32;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::OptionalActions;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

/// Serial ports of a board, in the order of directions: x+, x-, y+, y-, z+, z-.
const PORTS: usize = 6;

/// Returns the emulator command for a board that runs this image, without its devices.
pub fn emulated(image: &str) -> Command {
    toolchain::choose(&STM32F405);
    let places = CheckoutDirs {
        root: root().into(),
        target: root().join("target"),
    };
    let ToolDetection::Usable((emulator, _)) = qemu(&places) else {
        panic!("no emulator of the board");
    };
    let mut command = emulator.command();
    command
        .args(["-machine", "netduinoplus2", "-accel", "tcg,tb-size=16"])
        .args(["-display", "none", "-monitor", "none"])
        .args(["-nodefaults", "-no-user-config", "-kernel", image])
        .stdin(Stdio::null());
    command
}

/// Creates both ends of a serial line. Over TCP: an emulator blocks when its bytes are not received, and other sockets
/// buffer too few.
pub fn line() -> [TcpStream; 2] {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let one = TcpStream::connect(listener.local_addr().expect("a name")).expect("a line");
    let (other, _) = listener.accept().expect("its other end");
    for end in [&one, &other] {
        end.set_nodelay(true).expect("no delay");
    }
    [one, other]
}

/// Wire between two boards: board index and port of each end.
pub type BoardWire = [(usize, usize); 2];

/// Running boards.
pub struct RunningBoards(Vec<Child>);

impl RunningBoards {
    /// Boots boards with these images and wires. Returns them and the other end of the line at port `console` of the
    /// first.
    pub fn boot(images: &[String], wires: &[BoardWire], console: usize) -> (Self, TcpStream) {
        let [ours, theirs] = line();
        let mut ends = vec![((0, console), theirs)];
        for wire in wires {
            ends.extend(wire.iter().copied().zip(line()));
        }
        let start = |(number, image): (usize, &String)| {
            let mut command = emulated(image);
            for port in 0..PORTS {
                let Some((_, end)) = ends.iter().find(|(at, _)| *at == (number, port)) else {
                    command.args(["-serial", "null"]);
                    continue;
                };
                // Other children inherit it, too, but do not use it.
                rustix::io::fcntl_setfd(end, FdFlags::empty()).expect("it is inherited");
                let fd = end.as_raw_fd();
                command.args(["-chardev", &format!("socket,id=line{port},fd={fd}")]);
                command.args(["-serial", &format!("chardev:line{port}")]);
            }
            command.spawn().expect("the board starts")
        };
        let boards = images.iter().enumerate().map(start).collect();
        (Self(boards), ours)
    }
}

impl Drop for RunningBoards {
    fn drop(&mut self) {
        for board in &mut self.0 {
            let _ = board.kill();
            let _ = board.wait();
        }
    }
}

/// Inverse rate at which a bad line loses a byte, and at which it flips a bit of one.
const BAD: u32 = 2000;

/// Serial adapter: a pseudo-terminal whose other side is a board's line.
pub struct SerialAdapter {
    /// Path of the terminal.
    pub path: String,
    /// Line of the board; shut down when unplugged.
    plug: TcpStream,
    worker: Option<JoinHandle<()>>,
    /// Other side, kept open: it disables echo and reserves the terminal's name even after an unplug.
    _other: OwnedFd,
}

impl SerialAdapter {
    /// Creates an adapter on a line. A bad line starts with garbage, then loses bytes and flips bits.
    pub fn plug(line: TcpStream, is_good: bool) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags).expect("a pseudo-terminal");
        rustix::pty::grantpt(&master).expect("it is ours");
        rustix::pty::unlockpt(&master).expect("it opens");
        let path = rustix::pty::ptsname(&master, Vec::new()).expect("a name");
        let path = path.into_string().expect("a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let other = rustix::fs::open(&*path, flags, Mode::empty()).expect("its other side");
        let mut settings = rustix::termios::tcgetattr(&other).expect("settings");
        settings.make_raw();
        rustix::termios::tcsetattr(&other, OptionalActions::Now, &settings).expect("raw");
        let plug = line.try_clone().expect("the line");
        line.set_nonblocking(true).expect("a line");
        rustix::fs::fcntl_setfl(&master, OFlags::NONBLOCK).expect("it does not block");
        let worker = thread::spawn(move || pass_on(&master, &line, is_good));
        Self {
            path,
            plug,
            worker: Some(worker),
            _other: other,
        }
    }

    /// Unplugs the adapter.
    pub fn unplug(&mut self) {
        let _ = self.plug.shutdown(Shutdown::Both);
        if let Some(worker) = self.worker.take() {
            worker.join().expect("it has passed all on");
        }
    }
}

impl Drop for SerialAdapter {
    fn drop(&mut self) {
        let _ = self.plug.shutdown(Shutdown::Both);
    }
}

/// Random seed of a bad line.
const SEED: u64 = 1;

/// Forwards bytes until the line ends.
fn pass_on(master: &OwnedFd, mut line: &TcpStream, is_good: bool) {
    let mut random = Rand32::new(SEED);
    if !is_good {
        let garbage: Vec<u8> = (0..3000).map(|_| random.rand_u32() as u8).collect();
        let _ = line.write(&garbage);
        let _ = rustix::io::write(master, &garbage);
    }
    let mut corrupt = |bytes: &[u8]| -> Vec<u8> {
        let mut corrupted = Vec::new();
        for byte in bytes {
            match random.rand_range(0..BAD) {
                0 if !is_good => {}
                1 if !is_good => corrupted.push(byte ^ 1 << random.rand_range(0..8)),
                _ => corrupted.push(*byte),
            }
        }
        corrupted
    };
    let mut bytes = [0; 4096];
    loop {
        let ends = [PollFd::new(&line, PollFlags::IN), PollFd::new(master, PollFlags::IN)];
        poll(&mut { ends }, None).expect("two ends");
        match line.read(&mut bytes) {
            Ok(0) => return,
            // A board that was killed or cut off may have had unsent data.
            Err(why) if why.kind() == ErrorKind::ConnectionReset => return,
            // Bytes beyond the terminal's buffer are lost, as with a real adapter.
            Ok(count) => drop(rustix::io::write(master, &corrupt(&bytes[..count]))),
            Err(why) => assert_eq!(why.kind(), ErrorKind::WouldBlock),
        }
        if let Ok(count @ 1..) = rustix::io::read(master, &mut bytes) {
            // Errors are ignored here, too.
            let _ = line.write_all(&corrupt(&bytes[..count]));
        }
    }
}
