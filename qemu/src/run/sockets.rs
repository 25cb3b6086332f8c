//! Sockets for the links between emulated machines.

use crate::host::error::{CliError, ErrorContext};
use crate::run::topology::{self, LinkEnd};
use net_torus::coord::{Direction, Shape};
use std::collections::HashMap;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// Both ends of a link.
pub type SocketPair = (OwnedFd, OwnedFd);

/// Creates the ends of a link for frames.
pub fn frame_link() -> Result<SocketPair, CliError> {
    let (one, other) = UnixStream::pair().context("create the sockets of a link")?;
    Ok((one.into(), other.into()))
}

/// Creates the ends of a serial line. QEMU writes to it byte by byte, and blocks the processor while the socket is
/// full. A Unix socket buffers at most about 300 such writes, so that nodes would deadlock when they send to each other
/// in a ring. TCP combines the bytes.
pub fn serial_line() -> Result<SocketPair, CliError> {
    let make = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let one = TcpStream::connect(listener.local_addr()?)?;
        // Other processes on this machine may connect, too.
        let other = loop {
            match listener.accept()? {
                (other, from) if from == one.local_addr()? => break other,
                _ => {}
            }
        };
        one.set_nodelay(true)?;
        other.set_nodelay(true)?;
        std::io::Result::Ok((one.into(), other.into()))
    };
    make().context("create the sockets of a serial line (TCP on 127.0.0.1)")
}

/// Sockets of all links, created when their first end is requested.
pub struct LinkSockets {
    links: Vec<[LinkEnd; 2]>,
    pair: fn() -> Result<SocketPair, CliError>,
    /// Ends whose other end is already in use.
    waiting: HashMap<LinkEnd, OwnedFd>,
}

impl LinkSockets {
    /// Creates the pool for a machine of this shape; `pair` creates each link.
    pub fn new(shape: &Shape, pair: fn() -> Result<SocketPair, CliError>) -> Self {
        Self {
            links: topology::links(shape),
            pair,
            waiting: HashMap::new(),
        }
    }

    /// Returns the ends at `rank`, ordered by direction.
    pub fn take_ends(&mut self, rank: u32) -> Result<Vec<(Direction, OwnedFd)>, CliError> {
        let mut ends = Vec::new();
        for link in &self.links {
            for (end, other) in [(link[0], link[1]), (link[1], link[0])] {
                if end.rank != rank {
                    continue;
                }
                let socket = match self.waiting.remove(&end) {
                    Some(socket) => socket,
                    None => {
                        let (ours, theirs) = (self.pair)()?;
                        self.waiting.insert(other, theirs);
                        ours
                    }
                };
                ends.push((end.side, socket));
            }
        }
        ends.sort_by_key(|(direction, _)| *direction as u8);
        Ok(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};

    #[test]
    fn both_ends_of_a_link_are_one_socket_pair() {
        let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
        for pair in [frame_link as fn() -> _, serial_line] {
            let mut sockets = LinkSockets::new(&shape, pair);
            let a = sockets.take_ends(0).unwrap();
            let b = sockets.take_ends(1).unwrap();
            assert!(sockets.waiting.is_empty());
            assert_eq!(a[0].0, Direction::XPlus);
            assert_eq!(b[1].0, Direction::XMinus);
            let end = |end: &OwnedFd| File::from(end.try_clone().unwrap());
            end(&a[0].1).write_all(b"x").unwrap();
            let mut byte = [0];
            end(&b[1].1).read_exact(&mut byte).unwrap();
            assert_eq!(&byte, b"x");
        }
    }

    /// The maximum that two nodes may have in flight, and much more, byte by byte.
    #[test]
    fn a_line_has_room_for_many_bytes_that_are_written_one_by_one() {
        let (one, _other) = serial_line().unwrap();
        let mut one = TcpStream::from(one);
        one.set_nonblocking(true).unwrap();
        for _ in 0..8 * 1024 {
            one.write_all(b"x").unwrap();
        }
    }

    #[test]
    fn a_node_of_a_single_node_machine_has_no_links() {
        let shape = Shape::new([1, 1, 1], [true; 3]).unwrap();
        assert!(LinkSockets::new(&shape, frame_link).take_ends(0).unwrap().is_empty());
    }
}
