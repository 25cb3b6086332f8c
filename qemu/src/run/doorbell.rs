//! Doorbells between instances: the server of QEMU's ivshmem-doorbell devices (docs/specs/ivshmem-spec).
//!
//! Each instance is a peer, and each of its nodes is a vector with an event file. A device receives its configuration
//! once over its socket: the protocol version, its own ID, the shared memory, then the event files of all other peers,
//! and last its own.

use crate::host::error::{CliError, ErrorContext};
use crate::host::shared::memory_file;
use midplane_abi::layout::{BoxDivision, shared_bytes};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Protocol version.
const VERSION: i64 = 0;
/// Value that precedes the memory's descriptor.
const MEMORY: i64 = -1;

/// Memory and event files of all instances, and each device's progress in receiving them.
pub struct Doorbells {
    memory: OwnedFd,
    /// Event files by instance and vector.
    events: Vec<Vec<OwnedFd>>,
    /// Server ends of the sockets, and the index of the next message.
    peers: Vec<(UnixStream, usize)>,
}

impl Doorbells {
    /// Creates the doorbells for the instances of `division`.
    pub fn new(division: &BoxDivision) -> Result<Self, CliError> {
        let memory = memory_file("midplane-links")?;
        memory
            .set_len(shared_bytes(&division.shape()))
            .context("size the memory that instances share")?;
        let vectors = vectors(division);
        let event = |_| {
            let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
            eventfd(0, flags).context("create a doorbell between instances")
        };
        let events = (0..division.instances())
            .map(|_| (0..vectors).map(event).collect())
            .collect::<Result<_, _>>()?;
        Ok(Self {
            memory: memory.into(),
            events,
            peers: Vec::new(),
        })
    }

    /// Creates the socket of the next instance and returns its end.
    pub fn connect(&mut self) -> Result<UnixStream, CliError> {
        let (ours, theirs) = UnixStream::pair().context("create a socket for an instance")?;
        ours.set_nonblocking(true).context("set up a socket for an instance")?;
        self.peers.push((ours, 0));
        Ok(theirs)
    }

    /// Returns the sockets with messages still to send.
    pub fn waiting(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let all = self.messages();
        let waiting = self.peers.iter().filter(move |(_, next)| *next < all);
        waiting.map(|(socket, _)| socket.as_fd())
    }

    /// Sends messages until the sockets block. A closed device receives no more; its process's end shows the reason.
    pub fn send_messages(&mut self) {
        let all = self.messages();
        for number in 0..self.peers.len() {
            loop {
                let (socket, next) = &self.peers[number];
                let Some((word, file)) = self.message(number, *next) else {
                    break;
                };
                let (now, next) = match send(socket, word, file) {
                    Ok(()) => (true, next + 1),
                    Err(Errno::INTR) => (true, *next),
                    Err(Errno::AGAIN) => (false, *next),
                    Err(_) => (false, all),
                };
                self.peers[number].1 = next;
                if !now {
                    break;
                }
            }
        }
        if !self.events.is_empty() && self.waiting().next().is_none() {
            // The devices have their own copies. The sockets stay open, because a device treats a closed socket as an
            // error.
            self.events = Vec::new();
        }
    }

    /// Returns the number of messages per device.
    fn messages(&self) -> usize {
        let vectors = self.events.first().map_or(0, Vec::len);
        match self.events.len() {
            0 => 0,
            instances => 3 + instances * vectors,
        }
    }

    /// Returns message `at` to instance `number`; `None` after the last.
    fn message(&self, number: usize, at: usize) -> Option<(i64, Option<BorrowedFd<'_>>)> {
        let vectors = self.events.first()?.len();
        Some(match at {
            0 => (VERSION, None),
            1 => (number as i64, None),
            2 => (MEMORY, Some(self.memory.as_fd())),
            _ => {
                let (turn, vector) = ((at - 3) / vectors, (at - 3) % vectors);
                // The others in order, then the instance itself.
                let others = (0..self.events.len()).filter(|peer| *peer != number);
                let peer = others.chain([number]).nth(turn)?;
                (peer as i64, Some(self.events[peer][vector].as_fd()))
            }
        })
    }
}

/// Returns the number of vectors per instance: the maximum number of nodes in one.
pub fn vectors(division: &BoxDivision) -> u32 {
    let boxes = (0..division.instances()).filter_map(|instance| division.node_box(instance));
    boxes.map(|nodes| nodes.nodes()).max().unwrap_or(0)
}

fn send(socket: &UnixStream, word: i64, file: Option<BorrowedFd<'_>>) -> Result<(), Errno> {
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    let files = file.as_slice();
    if file.is_some() {
        control.push(SendAncillaryMessage::ScmRights(files));
    }
    let bytes = word.to_le_bytes();
    // A stream socket sends so few bytes completely or not at all.
    sendmsg(socket, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use net_torus::coord::Shape;
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    use std::io::IoSliceMut;

    fn receive(socket: &UnixStream) -> (i64, Option<OwnedFd>) {
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut room);
        let mut bytes = [0; 8];
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let got = recvmsg(socket, &mut slices, &mut control, RecvFlags::empty()).unwrap();
        assert_eq!(got.bytes, 8);
        let file = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        (i64::from_le_bytes(bytes), file)
    }

    #[test]
    fn a_device_is_told_itself_the_memory_the_others_and_its_own_bells() {
        let shape = Shape::new([4, 1, 1], [true; 3]).unwrap();
        let division = BoxDivision::new(shape, [2, 1, 1]).unwrap();
        let mut doorbells = Doorbells::new(&division).unwrap();
        let sockets = [doorbells.connect().unwrap(), doorbells.connect().unwrap()];
        assert_eq!(doorbells.waiting().count(), 2);
        doorbells.send_messages();
        assert_eq!(doorbells.waiting().count(), 0);
        let heard = |socket| -> Vec<_> { (0..7).map(|_| receive(socket)).collect() };
        let (first, second) = (heard(&sockets[0]), heard(&sockets[1]));
        let words = |heard: &[(i64, _)]| heard.iter().map(|(word, _)| *word).collect::<Vec<_>>();
        assert_eq!(words(&first), [0, 0, -1, 1, 1, 0, 0]);
        assert_eq!(words(&second), [0, 1, -1, 0, 0, 1, 1]);
        // The first instance's event file for the other's second node is the other's own second event file.
        let (rings, hears) = (first[4].1.as_ref(), second[6].1.as_ref());
        rustix::io::write(rings.unwrap(), &1u64.to_le_bytes()).unwrap();
        let mut rung = [0; 8];
        rustix::io::read(hears.unwrap(), &mut rung).unwrap();
        assert_eq!(u64::from_le_bytes(rung), 1);
    }
}
