//! Emulated boards that no tool of ours looks after: flashed with an image each, wired to each other, and one of them with
//! a serial line to a pseudo-terminal, as by a USB adapter.

use crate::root;
use midplane_setup::Places;
use midplane_setup::found::qemu;
use midplane_setup::kit::{self, STM32F405};
use midplane_setup::look::Look;
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

/// The emulator with a board that runs this image, without its devices.
pub fn emulated(image: &str) -> Command {
    kit::choose(&STM32F405);
    let places = Places {
        root: root().into(),
        target: root().join("target"),
    };
    let Look::There((emulator, _)) = qemu(&places) else {
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

/// A serial line: its two ends. Over TCP, since an emulator waits where nothing takes its bytes, and few of these fit
/// other sockets.
pub fn line() -> [TcpStream; 2] {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let one = TcpStream::connect(listener.local_addr().expect("a name")).expect("a line");
    let (other, _) = listener.accept().expect("its other end");
    for end in [&one, &other] {
        end.set_nodelay(true).expect("no delay");
    }
    [one, other]
}

/// A wire between two boards: number and port of each end.
pub type Wire = [(usize, usize); 2];

/// Boards that run.
pub struct Boards(Vec<Child>);

impl Boards {
    /// Boots boards with these images and wires; and the other end of the line at port `console` of the first.
    pub fn boot(images: &[String], wires: &[Wire], console: usize) -> (Self, TcpStream) {
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
                // Whom else it comes to has no use for it.
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

impl Drop for Boards {
    fn drop(&mut self) {
        for board in &mut self.0 {
            let _ = board.kill();
            let _ = board.wait();
        }
    }
}

/// How often a byte of a bad line is lost, and how often one has a bit turned: once in so many.
const BAD: u32 = 2000;

/// A serial adapter: a pseudo-terminal whose other side is a board's line.
pub struct Adapter {
    /// What a tool opens.
    pub path: String,
    /// The board's line, which ends where it is unplugged.
    plug: TcpStream,
    worker: Option<JoinHandle<()>>,
    /// While it is open nothing is echoed, and no other pseudo-terminal has its name, also when this is unplugged.
    _other: OwnedFd,
}

impl Adapter {
    /// Plugs one in, at a line that is good, or loses and turns bits after some garbage.
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

    /// Unplugs it.
    pub fn unplug(&mut self) {
        let _ = self.plug.shutdown(Shutdown::Both);
        if let Some(worker) = self.worker.take() {
            worker.join().expect("it has passed all on");
        }
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        let _ = self.plug.shutdown(Shutdown::Both);
    }
}

/// Seed of what a bad line does.
const SEED: u64 = 1;

/// Passes bytes on until the line ends.
fn pass_on(master: &OwnedFd, mut line: &TcpStream, is_good: bool) {
    let mut random = Rand32::new(SEED);
    if !is_good {
        let garbage: Vec<u8> = (0..3000).map(|_| random.rand_u32() as u8).collect();
        let _ = line.write(&garbage);
        let _ = rustix::io::write(master, &garbage);
    }
    let mut spoil = |bytes: &[u8]| -> Vec<u8> {
        let mut spoilt = Vec::new();
        for byte in bytes {
            match random.rand_range(0..BAD) {
                0 if !is_good => {}
                1 if !is_good => spoilt.push(byte ^ 1 << random.rand_range(0..8)),
                _ => spoilt.push(*byte),
            }
        }
        spoilt
    };
    let mut bytes = [0; 4096];
    loop {
        let ends = [
            PollFd::new(&line, PollFlags::IN),
            PollFd::new(master, PollFlags::IN),
        ];
        poll(&mut { ends }, None).expect("two ends");
        match line.read(&mut bytes) {
            Ok(0) => return,
            // A board that is gone, or cut off, may have had more to say.
            Err(why) if why.kind() == ErrorKind::ConnectionReset => return,
            // What it has no room for is lost, as with an adapter.
            Ok(count) => drop(rustix::io::write(master, &spoil(&bytes[..count]))),
            Err(why) => assert_eq!(why.kind(), ErrorKind::WouldBlock),
        }
        if let Ok(count @ 1..) = rustix::io::read(master, &mut bytes) {
            // Likewise.
            let _ = line.write_all(&spoil(&bytes[..count]));
        }
    }
}
