//! A proved connection between two processes of a job: batches, and heartbeats in silence.

use crate::run::hosts::batch::{BatchError, BatchReader, BatchWriter, Record};
use rustix::event::{PollFd, PollFlags};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A side that has nothing to send sends a heartbeat after this time.
pub const HEARTBEAT: Duration = Duration::from_millis(500);
/// A side that sends nothing for this time is lost. A cable that is cut for a second goes unnoticed.
pub const SILENCE: Duration = Duration::from_secs(3);
/// Reads of one round, so that one connection does not delay the others.
const READS: usize = 16;

/// Reason for which a connection has ended, as the rest of a sentence about the other side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionError(pub String);

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<BatchError> for ConnectionError {
    fn from(error: BatchError) -> Self {
        Self(error.to_string())
    }
}

impl ConnectionError {
    fn from_io(error: &io::Error) -> Self {
        Self(format!("the connection has failed: {error}"))
    }
}

/// A connection.
pub struct Connection {
    stream: TcpStream,
    reader: BatchReader,
    /// Records to send.
    pub writer: BatchWriter,
    heard: Instant,
    spoken: Instant,
}

impl Connection {
    /// Creates the connection of a proved stream.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn new(stream: TcpStream, now: Instant) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // Records are gathered to batches here.
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            reader: BatchReader::default(),
            writer: BatchWriter::default(),
            heard: now,
            spoken: now,
        })
    }

    /// Returns the descriptor to poll.
    pub fn poll_descriptor(&self) -> PollFd<'_> {
        let mut events = PollFlags::IN;
        if self.writer.pending() > 0 {
            events |= PollFlags::OUT;
        }
        PollFd::new(&self.stream, events)
    }

    /// Receives what has arrived, without blocking, and passes the records to `take`.
    ///
    /// # Errors
    /// If the connection has ended, and those of `take`.
    pub fn receive<E: From<BatchError> + Into<ConnectionError>>(
        &mut self,
        now: Instant,
        mut take: impl FnMut(Record<'_>, &mut BatchWriter) -> Result<(), E>,
    ) -> Result<(), ConnectionError> {
        for _ in 0..READS {
            match self.reader.read_from(&mut &self.stream) {
                Ok(0) => return Err(ConnectionError("it has closed the connection".into())),
                Ok(_) => self.heard = now,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(ConnectionError::from_io(&error)),
            }
            let writer = &mut self.writer;
            while self.reader.next_batch(|record| take(record, writer)).map_err(E::into)? {}
        }
        Ok(())
    }

    /// Sends what waits, without blocking, and a heartbeat if nothing was sent for a while.
    ///
    /// # Errors
    /// If the connection has ended, or the other side is silent for [`SILENCE`].
    pub fn send(&mut self, now: Instant) -> Result<(), ConnectionError> {
        if now.saturating_duration_since(self.heard) > SILENCE {
            let seconds = SILENCE.as_secs();
            return Err(ConnectionError(format!("it has not answered for {seconds} s")));
        }
        if self.writer.pending() == 0 {
            if now.saturating_duration_since(self.spoken) < HEARTBEAT {
                return Ok(());
            }
            self.writer.add_heartbeat();
        }
        self.spoken = now;
        self.writer
            .write_to(&mut &self.stream)
            .map_err(|error| ConnectionError::from_io(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    fn pair(now: Instant) -> (Connection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Connection::new(listener.accept().unwrap().0, now).unwrap(), other)
    }

    fn receive(connection: &mut Connection, now: Instant) -> Result<(), ConnectionError> {
        connection.receive::<ConnectionError>(now, |_, _| Ok(()))
    }

    #[test]
    fn silence_ends_a_connection_and_heartbeats_keep_it() {
        let begin = Instant::now();
        let (mut connection, mut other) = pair(begin);
        assert_eq!(connection.send(begin + SILENCE), Ok(()));
        let late = begin + SILENCE + HEARTBEAT;
        let error = connection.send(late).unwrap_err();
        assert!(error.to_string().contains("not answered for 3 s"), "{error}");
        let mut writer = BatchWriter::default();
        writer.add_heartbeat();
        writer.write_to(&mut other).unwrap();
        while connection.send(late).is_err() {
            receive(&mut connection, late).unwrap();
        }
    }

    #[test]
    fn an_end_and_garbage_are_errors() {
        let now = Instant::now();
        let (mut connection, other) = pair(now);
        drop(other);
        let error = loop {
            if let Err(error) = receive(&mut connection, now) {
                break error;
            }
        };
        assert!(error.to_string().contains("closed"), "{error}");
        let (mut connection, mut other) = pair(now);
        other.write_all(&[0xff; 100]).unwrap();
        let error = loop {
            if let Err(error) = receive(&mut connection, now) {
                break error;
            }
        };
        assert!(error.to_string().contains("more than the maximum"), "{error}");
    }
}
