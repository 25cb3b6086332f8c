//! Memory shared with a QEMU process: an unnamed file that both map.

use crate::host::error::{CliError, ErrorContext};
use rustix::fs::{MemfdFlags, SealFlags, SeekFrom};
use rustix::io::Errno;
use rustix::thread::futex;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, Ordering};
use vm_memory::{Bytes, FileOffset, MmapRegion, VolatileMemory, VolatileSlice};

/// A mapped file of fixed size. Pages that were never written read as zeros and occupy no memory.
pub struct SharedMemory {
    file: File,
    map: MmapRegion,
}

impl SharedMemory {
    /// Creates a file of `bytes` bytes. `name` identifies it in a list of this process's descriptors.
    pub fn new(name: &str, bytes: u64) -> Result<Self, CliError> {
        let file = memory_file(name)?;
        file.set_len(bytes).context("size shared memory")?;
        // Shrinking the file would make accesses of this process fail with a fatal signal.
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW)
            .context("fix the size of shared memory")?;
        let mapped = file.try_clone().context("share memory")?;
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        let map = MmapRegion::from_file(FileOffset::new(mapped, 0), size).context("map the memory of an instance")?;
        Ok(Self { file, map })
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// Returns the file, for the process that shares it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Loads an aligned word atomically, with acquire order.
    pub fn load(&self, at: u64) -> Option<u32> {
        let word = self.slice().load(place(at)?, Ordering::Acquire).ok();
        word.map(u32::from_le)
    }

    /// Stores an aligned word atomically, with release order.
    pub fn store(&self, at: u64, word: u32) -> bool {
        place(at).is_some_and(|at| {
            let stored = self.slice().store(word.to_le(), at, Ordering::Release);
            stored.is_ok()
        })
    }

    /// Wakes a process that sleeps on an aligned word (futex): replaces the value `armed` by `rung` and notifies it.
    pub fn ring(&self, at: u64, armed: u32, rung: u32) {
        let slice = self.slice();
        let word = place(at).and_then(|at| slice.get_atomic_ref::<AtomicU32>(at).ok());
        if let Some(word) = word {
            let order = Ordering::AcqRel;
            if word.compare_exchange(armed, rung, order, Ordering::Relaxed).is_ok() {
                // An error is harmless: the process has ended or is awake.
                let _ = futex::wake(word, futex::Flags::empty(), u32::MAX);
            }
        }
    }

    /// Copies bytes out of the memory.
    pub fn read(&self, at: u64, out: &mut [u8]) -> Option<()> {
        self.slice().read_slice(out, place(at)?).ok()
    }

    /// Returns the position of the first non-zero byte in `at..end`; `end` if there is none. Skips unallocated pages
    /// and does not allocate them.
    pub fn first_used(&self, at: u64, end: u64) -> Option<u64> {
        let mut at = at;
        let mut bytes = [0; 4096];
        while at < end {
            at = match rustix::fs::seek(&self.file, SeekFrom::Data(at)) {
                Ok(used) => used.max(at),
                // Only a hole follows.
                Err(Errno::NXIO) => return Some(end),
                Err(_) => return None,
            };
            let part = end.saturating_sub(at).min(bytes.len() as u64) as usize;
            self.file.read_exact_at(&mut bytes[..part], at).ok()?;
            if let Some(used) = bytes[..part].iter().position(|byte| *byte != 0) {
                return Some(at + used as u64);
            }
            at += part as u64;
        }
        Some(end)
    }

    /// Copies bytes into the memory.
    pub fn write(&self, at: u64, bytes: &[u8]) -> bool {
        place(at).is_some_and(|at| self.slice().write_slice(bytes, at).is_ok())
    }

    fn slice(&self) -> VolatileSlice<'_> {
        self.map.as_volatile_slice()
    }
}

fn place(at: u64) -> Option<usize> {
    usize::try_from(at).ok()
}

/// Creates a memory file without a name in any file system.
pub fn memory_file(name: &str) -> Result<File, CliError> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create(name, flags).context("create a file in memory")?;
    Ok(File::from(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_writes_the_other_reads() {
        let shared = SharedMemory::new("test", 8192).unwrap();
        assert!(shared.store(4096, 0x0403_0201));
        let mut bytes = [0; 4];
        shared.file().read_exact_at(&mut bytes, 4096).unwrap();
        assert_eq!(bytes, [1, 2, 3, 4]);
        shared.file().write_all_at(b"abcd", 8).unwrap();
        assert_eq!(shared.load(8), Some(u32::from_le_bytes(*b"abcd")));
        assert_eq!(shared.read(9, &mut bytes[..2]), Some(()));
        assert_eq!(&bytes[..2], b"bc");
        assert!(shared.write(8190, b"xy"));
    }

    #[test]
    fn no_place_outside_is_touched() {
        let shared = SharedMemory::new("test", 4096).unwrap();
        for at in [4093, 4094, 4096, u64::MAX - 1] {
            assert_eq!(shared.load(at), None, "{at}");
            assert!(!shared.store(at, 1) && !shared.write(at, b"1234"), "{at}");
            assert_eq!(shared.read(at, &mut [0; 4]), None, "{at}");
        }
    }

    #[test]
    fn the_first_byte_in_use_is_found_past_what_takes_no_memory() {
        let shared = SharedMemory::new("test", 1 << 20).unwrap();
        let end = 1 << 20;
        assert_eq!(shared.first_used(0, end), Some(end));
        assert!(shared.write(300_001, b"x"));
        for at in [0, 4096, 300_000, 300_001] {
            assert_eq!(shared.first_used(at, end), Some(300_001), "{at}");
        }
        assert_eq!(shared.first_used(300_002, end), Some(end));
        assert_eq!(shared.first_used(0, 300_001), Some(300_001));
        assert_eq!(shared.first_used(0, 300_000), Some(300_000));
    }

    #[test]
    fn its_size_is_fixed_for_all_who_share_it() {
        let shared = SharedMemory::new("test", 4096).unwrap();
        assert!(shared.file().set_len(0).is_err() && shared.file().set_len(8192).is_err());
    }
}
