//! Connections between the processes of a job, up to the mutual proof of the secret.

use crate::run::hosts::handshake::{Handshake, Identity, SECRET_BYTES, Secret, Side};
use rustix::event::{PollFd, PollFlags};
use rustix::rand::{GetRandomFlags, getrandom};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Connections of a listener that have not proved the secret yet. Others wait in the queue of the operating system.
pub const MAX_UNPROVED: usize = 16;
/// Time in which a connection must prove the secret.
pub const PROOF_WITHIN: Duration = Duration::from_secs(2);
/// Time after which an unproved connection yields to a waiting one. Strangers therefore delay a job, and do not prevent it.
const YIELDS_AFTER: Duration = Duration::from_millis(200);
/// Attempts after which a rejection of the own proof is final: a busy acceptor may have closed the connection.
const REJECTIONS: u32 = 3;
/// Interval between attempts to connect.
const RETRY: Duration = Duration::from_millis(50);

/// Returns random bytes.
///
/// # Errors
/// Those of the operating system.
pub fn random() -> io::Result<[u8; SECRET_BYTES]> {
    let mut bytes = [0; SECRET_BYTES];
    let count = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if count < bytes.len() {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

struct UnprovedConnection {
    stream: TcpStream,
    handshake: Handshake,
    since: Instant,
}

impl UnprovedConnection {
    /// Receives what has arrived. Returns false if the other side is rejected or has gone.
    fn advance(&mut self) -> bool {
        let mut buffer = [0; 256];
        loop {
            let missing = self.handshake.missing_bytes().min(buffer.len());
            if missing == 0 {
                return true;
            }
            match self.stream.read(&mut buffer[..missing]) {
                Ok(0) => return false,
                Ok(bytes) => {
                    let Ok(answer) = self.handshake.receive(&buffer[..bytes]) else {
                        return false;
                    };
                    // A few bytes into an empty socket buffer do not block.
                    if self.stream.write_all(&answer).is_err() {
                        return false;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }
}

/// Accepts connections that prove the secret. Dropping it closes the listener.
pub struct Acceptor {
    listener: TcpListener,
    secret: Secret,
    own: Identity,
    unproved: Vec<UnprovedConnection>,
}

impl Acceptor {
    /// Listens at this address, which must not be a wildcard.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn listen(at: SocketAddr, secret: &Secret, own: &Identity) -> io::Result<Self> {
        if at.ip().is_unspecified() {
            return Err(io::Error::other("the address is a wildcard"));
        }
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            secret: secret.clone(),
            own: own.clone(),
            unproved: Vec::new(),
        })
    }

    /// Returns the address.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the descriptors to poll.
    pub fn poll_descriptors(&self) -> impl Iterator<Item = PollFd<'_>> {
        let unproved = self.unproved.iter().map(|one| PollFd::new(&one.stream, PollFlags::IN));
        // A full acceptor waits for the unproved connections only.
        let listener = { self.unproved.len() < MAX_UNPROVED }.then(|| PollFd::new(&self.listener, PollFlags::IN));
        unproved.chain(listener)
    }

    /// Accepts and examines connections, without blocking. Returns the next one that has proved the secret.
    ///
    /// # Errors
    /// Those of the operating system, unless they concern one connection only.
    pub fn accept(&mut self, now: Instant) -> io::Result<Option<(Identity, TcpStream)>> {
        self.unproved.retain_mut(|one| one.advance());
        let proved = self.unproved.iter().position(|one| one.handshake.proved().is_some());
        if let Some(one) = proved.map(|at| self.unproved.remove(at))
            && let Some(identity) = one.handshake.proved().cloned()
        {
            return Ok(Some((identity, one.stream)));
        }
        let age = |one: &UnprovedConnection| now.saturating_duration_since(one.since);
        self.unproved.retain(|one| age(one) < PROOF_WITHIN);
        if self.unproved.len() >= MAX_UNPROVED && age(&self.unproved[0]) >= YIELDS_AFTER {
            self.unproved.remove(0);
        }
        while self.unproved.len() < MAX_UNPROVED {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // The connection was reset before; or too few descriptors, which is temporary.
                Err(_) => break,
            };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            let (handshake, _) = Handshake::new(Side::Acceptor, &self.secret, &self.own, random()?);
            self.unproved.push(UnprovedConnection {
                stream,
                handshake,
                since: now,
            });
        }
        Ok(None)
    }
}

/// Connects to an acceptor, until `deadline`. Blocks.
///
/// # Errors
/// If the acceptor cannot be reached or does not prove the secret.
pub fn connect(
    to: SocketAddr,
    secret: &Secret,
    own: &Identity,
    deadline: Instant,
) -> io::Result<(Identity, TcpStream)> {
    let mut rejections = 0;
    loop {
        let error = match attempt(to, secret, own) {
            Ok(proved) => return Ok(proved),
            Err(error) => error,
        };
        rejections += u32::from(error.kind() == ErrorKind::PermissionDenied);
        // A foreign side does not become the right one, and the acceptor has listened before its address was known.
        let is_final = matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::ConnectionRefused);
        if is_final || rejections >= REJECTIONS || Instant::now() + RETRY >= deadline {
            return Err(error);
        }
        std::thread::sleep(RETRY);
    }
}

fn attempt(to: SocketAddr, secret: &Secret, own: &Identity) -> io::Result<(Identity, TcpStream)> {
    let mut stream = TcpStream::connect_timeout(&to, PROOF_WITHIN)?;
    // The acceptor may be busy with others.
    stream.set_read_timeout(Some(2 * PROOF_WITHIN))?;
    let (mut handshake, hello) = Handshake::new(Side::Initiator, secret, own, random()?);
    stream.write_all(&hello)?;
    let mut buffer = [0; 256];
    let mut has_proved = false;
    while handshake.proved().is_none() {
        let missing = handshake.missing_bytes().min(buffer.len());
        { stream.read_exact(&mut buffer[..missing]) }.map_err(|error| {
            if has_proved {
                io::Error::new(ErrorKind::PermissionDenied, "it has rejected the secret of the job")
            } else {
                error
            }
        })?;
        let answer = handshake.receive(&buffer[..missing]);
        let answer = answer.map_err(|error| io::Error::new(ErrorKind::InvalidData, error.to_string()))?;
        has_proved |= !answer.is_empty();
        stream.write_all(&answer)?;
    }
    let identity = handshake.proved().cloned();
    identity
        .map(|identity| (identity, stream))
        .ok_or_else(|| ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::hosts::handshake::Role;

    const SECRET: Secret = Secret([5; SECRET_BYTES]);

    fn identity(role: Role) -> Identity {
        Identity {
            role,
            host: 1,
            build: "test".into(),
        }
    }

    fn acceptor() -> Acceptor {
        Acceptor::listen("127.0.0.1:0".parse().unwrap(), &SECRET, &identity(Role::Head)).unwrap()
    }

    #[test]
    fn strangers_do_not_prevent_a_proved_connection() {
        let mut acceptor = acceptor();
        let to = acceptor.address().unwrap();
        // Silent ones, one with garbage, one with another secret.
        let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(to).unwrap()).collect();
        let mut garbage = TcpStream::connect(to).unwrap();
        garbage.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let other = std::thread::spawn(move || {
            let secret = Secret([6; SECRET_BYTES]);
            connect(to, &secret, &identity(Role::Agent), Instant::now()).is_err()
        });
        let good = std::thread::spawn(move || connect(to, &SECRET, &identity(Role::Agent), deadline));
        let found = loop {
            assert!(acceptor.unproved.len() <= MAX_UNPROVED);
            if let Some((found, _)) = acceptor.accept(Instant::now()).unwrap() {
                break found;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        assert_eq!(found, identity(Role::Agent));
        assert_eq!(good.join().unwrap().unwrap().0, identity(Role::Head));
        drop((silent, acceptor));
        assert!(other.join().unwrap());
    }

    #[test]
    fn a_wildcard_is_refused() {
        assert!(Acceptor::listen("0.0.0.0:0".parse().unwrap(), &SECRET, &identity(Role::Head)).is_err());
    }
}
