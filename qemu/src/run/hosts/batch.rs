//! Batches of records, the unit of a connection between two hosts. Free of I/O.
//!
//! ```text
//! batch    payload bytes: u32   CRC-32C of these four bytes and the payload: u32   payload: records
//! record   kind: u8   zeros: 3 bytes   key: u32   data bytes: u32   data
//! ```
//! All numbers are little-endian. A batch without records is a heartbeat. The checksum of TCP has 16 bits, which is weak for
//! a job of hours, so that each batch has its own.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};

/// Maximum size of a payload in bytes. A write of this size costs little more than one of a frame.
pub const MAX_PAYLOAD: usize = 64 << 10;
/// Size of a batch's header in bytes.
const HEADER: usize = 8;
/// Size of a record's header in bytes.
const RECORD_HEADER: usize = 12;
/// Maximum size of a record's data in bytes.
pub const MAX_DATA: usize = MAX_PAYLOAD - RECORD_HEADER;
/// Bytes that a reader keeps: a batch, and the next one as far as it was received.
const READER_BYTES: usize = 2 * (HEADER + MAX_PAYLOAD);

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// Its meaning; each protocol has its own.
    pub kind: u8,
    /// Number of its subject: a link, a rank, an amount.
    pub key: u32,
    /// Data, at most [`MAX_DATA`] bytes.
    pub data: &'a [u8],
}

/// Reason why the bytes of a connection are no batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchError {
    /// A payload of more than [`MAX_PAYLOAD`] bytes is announced.
    Oversized(u32),
    /// The checksum differs.
    Corrupt,
    /// A record exceeds the payload.
    Truncated,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oversized(bytes) => write!(f, "it announced {bytes} bytes, more than the maximum of {MAX_PAYLOAD}"),
            Self::Corrupt => f.write_str("the checksum of the received data is wrong"),
            Self::Truncated => f.write_str("a received record is truncated"),
        }
    }
}

/// Batches that wait for transmission.
#[derive(Default)]
pub struct BatchWriter {
    bytes: Vec<u8>,
    /// Bytes that were transmitted.
    sent: usize,
    /// Start of the batch that still accepts records.
    open: Option<usize>,
}

impl BatchWriter {
    /// Returns the number of bytes that wait.
    pub fn pending(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Appends a record to the current batch, or to a new one if it is full. Data beyond [`MAX_DATA`] bytes is omitted;
    /// callers divide it.
    pub fn add(&mut self, record: Record<'_>) {
        let data = &record.data[..record.data.len().min(MAX_DATA)];
        let is_full = |open: usize| self.bytes.len() - open - HEADER + RECORD_HEADER + data.len() > MAX_PAYLOAD;
        if self.open.is_some_and(is_full) {
            self.close();
        }
        if self.open.is_none() {
            self.open = Some(self.bytes.len());
            self.bytes.extend([0; HEADER]);
        }
        self.bytes.extend(u32::from(record.kind).to_le_bytes());
        self.bytes.extend(record.key.to_le_bytes());
        self.bytes.extend((data.len() as u32).to_le_bytes());
        self.bytes.extend(data);
    }

    /// Appends a record for each piece of data; none if it is empty.
    pub fn add_pieces(&mut self, kind: u8, key: u32, data: &[u8]) {
        for data in data.chunks(MAX_DATA / 2) {
            self.add(Record { kind, key, data });
        }
    }

    /// Appends a batch without records.
    pub fn add_heartbeat(&mut self) {
        self.close();
        self.open = Some(self.bytes.len());
        self.bytes.extend([0; HEADER]);
        self.close();
    }

    /// Completes the current batch.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let (header, payload) = self.bytes[open..].split_at_mut(HEADER);
        let size = (payload.len() as u32).to_le_bytes();
        header[..4].copy_from_slice(&size);
        header[4..].copy_from_slice(&checksum(size, payload).to_le_bytes());
    }

    /// Writes what waits, until it is written or the writer would block.
    ///
    /// # Errors
    /// Those of the writer, except that it would block.
    pub fn write_to(&mut self, to: &mut impl Write) -> io::Result<()> {
        self.close();
        while self.pending() > 0 {
            match to.write(&self.bytes[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if self.pending() == 0 {
            self.bytes.clear();
            self.sent = 0;
        } else if self.sent > MAX_PAYLOAD {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }
}

/// Returns the CRC-32C of a batch (RFC 3720, appendix B.4).
fn checksum(size: [u8; 4], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&size), payload)
}

/// Batches that are received.
pub struct BatchReader {
    bytes: Vec<u8>,
    /// Bytes in use: those of batches before `start` were passed on.
    start: usize,
    end: usize,
}

impl Default for BatchReader {
    fn default() -> Self {
        Self {
            bytes: vec![0; READER_BYTES],
            start: 0,
            end: 0,
        }
    }
}

impl BatchReader {
    /// Reads once. Returns the number of bytes; 0: the other side has closed the connection.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn read_from(&mut self, from: &mut impl Read) -> io::Result<usize> {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let bytes = from.read(&mut self.bytes[self.end..])?;
        self.end += bytes;
        Ok(bytes)
    }

    /// Passes the records of the next complete batch to `take`. Returns false if there is none.
    ///
    /// # Errors
    /// If the bytes are no batch, and those of `take`.
    pub fn next_batch<E: From<BatchError>>(
        &mut self,
        mut take: impl FnMut(Record<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let unread = &self.bytes[self.start..self.end];
        let Some((header, rest)) = unread.split_first_chunk::<HEADER>() else {
            return Ok(false);
        };
        let [size, sum] = [0, 4].map(|at| word(header, at));
        if size as usize > MAX_PAYLOAD {
            return Err(BatchError::Oversized(size).into());
        }
        let Some(payload) = rest.get(..size as usize) else {
            return Ok(false);
        };
        if checksum(size.to_le_bytes(), payload) != sum {
            return Err(BatchError::Corrupt.into());
        }
        self.start += HEADER + payload.len();
        let mut left = payload;
        while !left.is_empty() {
            let (header, rest) = left.split_first_chunk::<RECORD_HEADER>().ok_or(BatchError::Truncated)?;
            let [kind, key, bytes] = [0, 4, 8].map(|at| word(header, at));
            let (data, rest) = rest.split_at_checked(bytes as usize).ok_or(BatchError::Truncated)?;
            take(Record {
                kind: kind as u8,
                key,
                data,
            })?;
            left = rest;
        }
        Ok(true)
    }
}

/// Returns the number at an offset of a header.
fn word(header: &[u8], at: usize) -> u32 {
    let bytes = header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    u32::from_le_bytes(bytes.unwrap_or_default())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Owned records: kind, key and data.
    type Received = Vec<(u8, u32, Vec<u8>)>;

    fn received(mut bytes: &[u8]) -> Result<Received, BatchError> {
        let mut reader = BatchReader::default();
        let mut records = Vec::new();
        while reader.read_from(&mut bytes).unwrap() > 0 {
            while reader.next_batch::<BatchError>(|record| {
                records.push((record.kind, record.key, record.data.to_vec()));
                Ok(())
            })? {}
        }
        Ok(records)
    }

    /// Returns the bytes of all batches of a writer.
    pub fn written(writer: &mut BatchWriter) -> Vec<u8> {
        let mut bytes = Vec::new();
        writer.write_to(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn records_arrive_as_they_were_added() {
        let mut writer = BatchWriter::default();
        let mut expected = Received::new();
        for key in 0..200 {
            let data = vec![key as u8; key as usize * 10];
            writer.add(Record {
                kind: 3,
                key,
                data: &data,
            });
            expected.push((3, key, data));
            if key % 50 == 0 {
                writer.add_heartbeat();
            }
        }
        let bytes = written(&mut writer);
        assert_eq!((received(&bytes), writer.pending()), (Ok(expected), 0));
        let first = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        assert!(bytes.len() - first > MAX_PAYLOAD, "several batches");
    }

    #[test]
    fn a_slow_writer_gets_the_rest_later() {
        /// Accepts five bytes at a time, every second time.
        struct Slow(Vec<u8>, bool);
        impl Write for Slow {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.1 = !self.1;
                if !self.1 {
                    return Err(ErrorKind::WouldBlock.into());
                }
                let part = bytes.len().min(5);
                self.0.extend(&bytes[..part]);
                Ok(part)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = BatchWriter::default();
        let mut slow = Slow(Vec::new(), false);
        writer.add_pieces(1, 2, b"abcdefgh");
        while writer.pending() > 0 {
            writer.write_to(&mut slow).unwrap();
        }
        assert_eq!(received(&slow.0), Ok(vec![(1, 2, b"abcdefgh".to_vec())]));
    }

    #[test]
    fn hostile_bytes_are_rejected() {
        let mut writer = BatchWriter::default();
        writer.add_pieces(1, 2, b"some data");
        let good = written(&mut writer);
        for at in 4..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert_eq!(received(&bad), Err(BatchError::Corrupt), "{at}");
        }
        assert_eq!(received(&[0xff; 16]), Err(BatchError::Oversized(u32::MAX)));
        let part = (MAX_PAYLOAD as u32 + 1).to_le_bytes();
        assert_eq!(
            received(&[part, [0; 4]].concat()),
            Err(BatchError::Oversized(MAX_PAYLOAD as u32 + 1))
        );
        // An incomplete batch is no error: the rest may follow.
        assert_eq!(received(&good[..good.len() - 1]), Ok(Vec::new()));
        // Records that exceed their batch, with a correct checksum.
        for payload in [&[1, 0, 0][..], &[1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 7]] {
            let size = (payload.len() as u32).to_le_bytes();
            let bytes = [&size[..], &checksum(size, payload).to_le_bytes(), payload].concat();
            assert_eq!(received(&bytes), Err(BatchError::Truncated));
        }
    }
}
