//! Captured frames of the links, for the tool.
//!
//! Each frame is one system call, so that a process that is killed has lost none. Several workers append to one file.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use midplane_abi::captured_frames::{CaptureHeader, FrameRecord, HEADER_BYTES, MAX_RECORD_BYTES, has_link};

use crate::system::duplicate;

/// The file that receives the frames.
pub struct FrameCapture {
    file: OwnedFd,
    /// By rank: a bit for each direction.
    links: Vec<u8>,
    /// Bytes that this process may still write.
    remaining: Cell<u64>,
}

impl FrameCapture {
    /// Reads the links from the tool's file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or has no header.
    pub fn open(file: &OwnedFd) -> io::Result<FrameCapture> {
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "the file for captured frames has no header");
        let mut head = [0; HEADER_BYTES];
        read_at(file, &mut head, 0)?;
        let header = CaptureHeader::parse(&head).ok_or_else(invalid)?;
        let mut links = vec![0; header.ranks as usize];
        read_at(file, &mut links, HEADER_BYTES)?;
        Ok(FrameCapture {
            // The program may close small descriptors.
            file: duplicate(file.as_raw_fd())?,
            links,
            remaining: Cell::new(header.max_bytes),
        })
    }

    /// Appends a frame of a link that is captured. The first frame beyond the limit is replaced by an empty one.
    pub fn add(&self, record: FrameRecord<'_>) {
        let links = self.links.get(record.rank as usize).copied().unwrap_or_default();
        let remaining = self.remaining.get();
        if remaining == 0 || !has_link(links, record.direction) {
            return;
        }
        let mut bytes = [0; MAX_RECORD_BYTES];
        let Some(size) = record.emit(&mut bytes) else {
            return;
        };
        let rest = remaining.saturating_sub(size as u64);
        self.remaining.set(rest);
        if rest > 0 && self.append(&bytes[..size]) {
            return;
        }
        self.remaining.set(0);
        let last = FrameRecord { frame: &[], ..record };
        if let Some(size) = last.emit(&mut bytes) {
            self.append(&bytes[..size]);
        }
    }

    /// Appends a record; returns false if the device is full.
    fn append(&self, bytes: &[u8]) -> bool {
        let file = self.file.as_raw_fd();
        loop {
            // SAFETY: that many bytes. Not by `write`, which is the programs'.
            let written = unsafe { libc::syscall(libc::SYS_write, file, bytes.as_ptr(), bytes.len()) };
            let interrupted = io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
            if written >= 0 || !interrupted {
                return usize::try_from(written) == Ok(bytes.len());
            }
        }
    }
}

/// Reads bytes at an offset of the file.
fn read_at(file: &OwnedFd, bytes: &mut [u8], at: usize) -> io::Result<()> {
    // SAFETY: writes at most that many bytes to `bytes`.
    let read = unsafe { libc::syscall(libc::SYS_pread64, file.as_raw_fd(), bytes.as_mut_ptr(), bytes.len(), at) };
    match usize::try_from(read) {
        Ok(read) if read == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}
