//! Mutual proof of the job's secret at the start of a connection. Free of I/O.
//!
//! ```text
//! initiator                                          acceptor
//! hello: identity, nonce            ---->
//!                                   <----            hello: identity, nonce
//! HMAC("initiator", both hellos)    ---->
//!                                   <----            HMAC("acceptor", both hellos)
//! ```
//! The HMAC is that of RFC 2104 with SHA-256. Each side contributes a nonce of 32 random bytes, so that a recorded handshake
//! proves nothing. The names of the sides exclude a reflected proof. An acceptor sends nothing to a stranger but its hello,
//! after a valid one. Data after the handshake is neither encrypted nor authenticated.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;

/// Size of the secret and of a nonce in bytes.
pub const SECRET_BYTES: usize = 32;
/// Size of a proof in bytes.
const PROOF_BYTES: usize = 32;
/// Size of the name of version and build in bytes.
const BUILD_BYTES: usize = 48;
/// First bytes of a hello, with the version of the handshake.
const MAGIC: [u8; 4] = *b"MPH2";
/// Size of a hello in bytes.
const HELLO_BYTES: usize = MAGIC.len() + 4 + 4 + 4 + BUILD_BYTES + SECRET_BYTES;

/// Secret of a job. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub [u8; SECRET_BYTES]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Role of a side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The command that the user has started.
    Head,
    /// The agent of a host.
    Agent,
    /// The agent of a host, for a connection that is the link of this number between the two hosts
    /// ([`HostDivision::links`](super::division::HostDivision::links)).
    Link(u32),
}

impl Role {
    /// Returns the role as two numbers.
    fn to_numbers(self) -> [u32; 2] {
        match self {
            Self::Head => [0, 0],
            Self::Agent => [1, 0],
            Self::Link(number) => [2, number],
        }
    }

    fn from_numbers(numbers: [u32; 2]) -> Option<Self> {
        Some(match numbers {
            [0, 0] => Self::Head,
            [1, 0] => Self::Agent,
            [2, number] => Self::Link(number),
            _ => return None,
        })
    }
}

/// A side of the connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Its role.
    pub role: Role,
    /// Number of the agent's host; 0 for the head.
    pub host: u32,
    /// Version and build of its command.
    pub build: String,
}

impl Identity {
    fn hello(&self, nonce: &[u8; SECRET_BYTES]) -> Vec<u8> {
        let mut build = [0; BUILD_BYTES];
        for (to, from) in build.iter_mut().zip(self.build.bytes()) {
            *to = from;
        }
        let mut hello = MAGIC.to_vec();
        let [role, number] = self.role.to_numbers();
        for word in [role, number, self.host] {
            hello.extend(word.to_le_bytes());
        }
        hello.extend(build);
        hello.extend(nonce);
        hello
    }

    fn from_hello(hello: &[u8]) -> Option<Self> {
        let (magic, rest) = hello.split_first_chunk::<4>()?;
        let (role, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (host, rest) = rest.split_first_chunk()?;
        let role = Role::from_numbers([role, number].map(|word| u32::from_le_bytes(*word)))?;
        let build: Vec<u8> = { rest.get(..BUILD_BYTES)?.iter() }
            .take_while(|byte| **byte != 0)
            .copied()
            .collect();
        (*magic == MAGIC).then_some(Self {
            role,
            host: u32::from_le_bytes(*host),
            build: String::from_utf8(build).ok()?,
        })
    }
}

/// Reason why the other side is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandshakeError {
    /// Its hello is invalid.
    Hello,
    /// It does not know the secret.
    Proof,
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hello => "it does not use the protocol of this command",
            Self::Proof => "it does not know the secret of the job",
        })
    }
}

/// Side of the connection that this process is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// It has connected.
    Initiator,
    /// It has accepted the connection.
    Acceptor,
}

/// State of a handshake: the awaited message.
#[derive(Clone, PartialEq, Eq, Debug)]
enum HandshakeState {
    Hello,
    Proof { identity: Identity, hello: Vec<u8> },
    Proved(Identity),
    Rejected,
}

/// One side of a handshake.
#[derive(Debug)]
pub struct Handshake {
    side: Side,
    secret: Secret,
    own_hello: Vec<u8>,
    received: Vec<u8>,
    state: HandshakeState,
}

impl Handshake {
    /// Creates the handshake of this side, and returns it with the bytes to send first. `nonce` must be random.
    pub fn new(side: Side, secret: &Secret, own: &Identity, nonce: [u8; SECRET_BYTES]) -> (Self, Vec<u8>) {
        let own_hello = own.hello(&nonce);
        let first = match side {
            Side::Initiator => own_hello.clone(),
            Side::Acceptor => Vec::new(),
        };
        let handshake = Self {
            side,
            secret: secret.clone(),
            own_hello,
            received: Vec::new(),
            state: HandshakeState::Hello,
        };
        (handshake, first)
    }

    /// Returns the number of bytes that the other side must still send for the awaited message; 0 at the end.
    pub fn missing_bytes(&self) -> usize {
        match self.state {
            HandshakeState::Hello => HELLO_BYTES - self.received.len(),
            HandshakeState::Proof { .. } => PROOF_BYTES - self.received.len(),
            HandshakeState::Proved(_) | HandshakeState::Rejected => 0,
        }
    }

    /// Returns the identity of the other side, after its proof.
    pub fn proved(&self) -> Option<&Identity> {
        match &self.state {
            HandshakeState::Proved(identity) => Some(identity),
            _ => None,
        }
    }

    /// Takes received bytes, at most [`Handshake::missing_bytes`]; excess ones are ignored. Returns the bytes to send.
    ///
    /// # Errors
    /// If the other side is rejected. Every later call returns the same.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Vec<u8>, HandshakeError> {
        if self.state == HandshakeState::Rejected {
            return Err(HandshakeError::Proof);
        }
        let bytes = &bytes[..bytes.len().min(self.missing_bytes())];
        self.received.extend(bytes);
        // A stranger's first bytes suffice to reject it.
        let is_foreign = self.received.iter().zip(MAGIC).any(|(byte, magic)| *byte != magic);
        if self.state == HandshakeState::Hello && is_foreign {
            self.state = HandshakeState::Rejected;
            return Err(HandshakeError::Hello);
        }
        if self.missing_bytes() > 0 || bytes.is_empty() {
            return Ok(Vec::new());
        }
        let message = std::mem::take(&mut self.received);
        let (state, answer) = match std::mem::replace(&mut self.state, HandshakeState::Rejected) {
            HandshakeState::Hello => {
                let identity = Identity::from_hello(&message).ok_or(HandshakeError::Hello)?;
                let answer = match self.side {
                    Side::Initiator => self.mac(self.side, &message).finalize().into_bytes().to_vec(),
                    Side::Acceptor => self.own_hello.clone(),
                };
                let state = HandshakeState::Proof {
                    identity,
                    hello: message,
                };
                (state, answer)
            }
            HandshakeState::Proof { identity, hello } => {
                let other = match self.side {
                    Side::Initiator => Side::Acceptor,
                    Side::Acceptor => Side::Initiator,
                };
                // In constant time.
                let proof = self.mac(other, &hello);
                proof.verify_slice(&message).map_err(|_| HandshakeError::Proof)?;
                let answer = match self.side {
                    Side::Initiator => Vec::new(),
                    Side::Acceptor => self.mac(self.side, &hello).finalize().into_bytes().to_vec(),
                };
                (HandshakeState::Proved(identity), answer)
            }
            state => (state, Vec::new()),
        };
        self.state = state;
        Ok(answer)
    }

    /// Returns the proof of a side, before its end. `hello` is that of the other side.
    fn mac(&self, of: Side, hello: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret.0).expect("HMAC accepts keys of any size");
        let label: &[u8] = match of {
            Side::Initiator => b"midplane initiator",
            Side::Acceptor => b"midplane acceptor",
        };
        let hellos = match self.side {
            Side::Initiator => [&self.own_hello, hello],
            Side::Acceptor => [hello, &self.own_hello],
        };
        mac.update(label);
        hellos.into_iter().for_each(|hello| mac.update(hello));
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(role: Role, host: u32) -> Identity {
        let build = "0.2.0 75469944-1234abcd".into();
        Identity { role, host, build }
    }

    fn acceptor(secret: u8, nonce: u8) -> Handshake {
        let secret = Secret([secret; SECRET_BYTES]);
        let (handshake, first) = Handshake::new(Side::Acceptor, &secret, &identity(Role::Head, 0), [nonce; 32]);
        assert!(first.is_empty(), "silence to strangers");
        handshake
    }

    fn initiator(secret: u8, nonce: u8) -> (Handshake, Vec<u8>) {
        let secret = Secret([secret; SECRET_BYTES]);
        Handshake::new(Side::Initiator, &secret, &identity(Role::Agent, 3), [nonce; 32])
    }

    #[test]
    fn a_hello_has_the_identity() {
        for role in [Role::Head, Role::Agent, Role::Link(0), Role::Link(1000)] {
            let identity = identity(role, 7);
            assert_eq!(Identity::from_hello(&identity.hello(&[1; 32])), Some(identity));
        }
        let mut hello = identity(Role::Agent, 7).hello(&[1; 32]);
        hello[8] = 1;
        assert_eq!(
            Identity::from_hello(&hello),
            None,
            "an agent without a link has no number"
        );
    }

    #[test]
    fn both_sides_prove_the_secret() {
        let mut head = acceptor(1, 10);
        let (mut agent, hello) = initiator(1, 11);
        // Byte by byte, as a slow network delivers them.
        let deliver = |to: &mut Handshake, bytes: &[u8]| {
            { bytes.iter() }.fold(Vec::new(), |answer, byte| {
                [answer, to.receive(&[*byte]).unwrap()].concat()
            })
        };
        let answer = deliver(&mut head, &hello);
        let proof = deliver(&mut agent, &answer);
        assert_eq!((head.proved(), agent.proved()), (None, None));
        let answer = deliver(&mut head, &proof);
        assert_eq!(head.proved(), Some(&identity(Role::Agent, 3)));
        assert!(deliver(&mut agent, &answer).is_empty());
        assert_eq!(agent.proved(), Some(&identity(Role::Head, 0)));
        assert_eq!((head.missing_bytes(), agent.missing_bytes()), (0, 0));
    }

    #[test]
    fn a_wrong_secret_is_rejected_by_both() {
        let mut head = acceptor(1, 10);
        let (mut agent, hello) = initiator(2, 11);
        let proof = agent.receive(&head.receive(&hello).unwrap()).unwrap();
        assert_eq!(head.receive(&proof), Err(HandshakeError::Proof));
        assert_eq!(head.receive(&proof), Err(HandshakeError::Proof));
        assert_eq!(head.proved(), None);
        // The agent accepts no proof but the head's.
        assert_eq!(agent.receive(&[0; PROOF_BYTES]), Err(HandshakeError::Proof));
    }

    #[test]
    fn a_recorded_handshake_proves_nothing() {
        let mut head = acceptor(1, 10);
        let (mut agent, hello) = initiator(1, 11);
        let proof = agent.receive(&head.receive(&hello).unwrap()).unwrap();
        let answer = head.receive(&proof).unwrap();
        let mut later = acceptor(1, 20);
        later.receive(&hello).unwrap();
        assert_eq!(later.receive(&proof), Err(HandshakeError::Proof));
        // Neither does a reflected proof.
        let (mut agent, hello) = initiator(1, 21);
        let own = agent.receive(&hello).unwrap();
        assert_eq!(agent.receive(&own), Err(HandshakeError::Proof));
        let (mut agent, _) = initiator(1, 22);
        agent.receive(&hello).unwrap();
        assert_eq!(agent.receive(&answer), Err(HandshakeError::Proof));
    }

    #[test]
    fn garbage_is_rejected_at_its_first_bytes() {
        for garbage in [&b"GET / HTTP/1.1\r\n"[..], b"\0", b"MPH1", &[0xff; 500]] {
            let mut head = acceptor(1, 10);
            assert_eq!(head.receive(garbage), Err(HandshakeError::Hello));
            assert_eq!(head.missing_bytes(), 0);
        }
        let mut head = acceptor(1, 10);
        let mut hello = initiator(1, 11).1;
        hello[4] = 9;
        assert_eq!(head.receive(&hello), Err(HandshakeError::Hello), "an unknown role");
        let mut head = acceptor(1, 10);
        assert_eq!(
            (head.receive(&hello[..50]), head.proved()),
            (Ok(Vec::new()), None),
            "truncated"
        );
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert!(!format!("{:?}", initiator(77, 11).0.secret).contains("77"));
    }
}
