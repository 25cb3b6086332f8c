//! Separate program data for each rank: its variables, and its thread-local variables, which are copied regardless of
//! their size.
//!
//! Two methods put another rank's data in place. *Copies*: each rank's differences from the data before `main` are
//! stored in blocks, and a rank's changes are found by comparison. The cost depends on the size of the data, but it
//! requires little memory, and no system call. *Mappings*: each rank's data is a range of a file in memory, and the
//! running rank's range is mapped. The cost is a system call and a page fault for each used page, regardless of the
//! size. Small data is copied ([`MAX_COPIED`]; measured in docs/scale.md).

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::{ptr, slice};

use crate::system::duplicate;

/// Maximum size of copied data in bytes.
const MAX_COPIED: usize = 256 << 10;
/// Bytes that are compared and stored together; the last block of a range may be shorter.
const BLOCK: usize = 512;
const PAGE: usize = 4096;

unsafe extern "C" {
    /// The system call mmap(2). The function `mmap` belongs to the ranks. Defined in `cluster_system.c`.
    fn midplane_mmap(
        address: *mut c_void,
        bytes: usize,
        protection: c_int,
        flags: c_int,
        file: c_int,
        offset: libc::off_t,
    ) -> *mut c_void;
    /// Start of the program's thread-local variables in its file, and their end: those of the runtime are adjacent
    /// (`kernel-rt/ld/cluster.ld`).
    static midplane_tls_begin: u8;
    static midplane_tls_end: u8;
}

/// The variables of the program, and the values of each rank.
pub struct ProgramData {
    variables: SharedVariables,
    /// Thread-local variables; `None` if the program has none.
    thread_locals: Option<RankCopies>,
}

/// The variables that all threads share.
enum SharedVariables {
    Copied(RankCopies),
    Mapped(RankMappings),
}

/// A memory range, and each rank's blocks that differ from the initial values.
struct RankCopies {
    place: MemoryBlock,
    first: Box<[u8]>,
    /// By rank, in order of their indices.
    blocks: Vec<RefCell<Vec<ChangedBlock>>>,
}

/// Complete pages, and a range of a file in memory for each rank.
struct RankMappings {
    place: MemoryBlock,
    first: Box<[u8]>,
    file: File,
    /// By rank: its range is initialized.
    begun: Vec<Cell<bool>>,
}

/// A block that differs, or has differed, from the initial values.
struct ChangedBlock {
    index: u32,
    bytes: [u8; BLOCK],
}

#[derive(Clone, Copy)]
struct MemoryBlock {
    start: *mut u8,
    bytes: usize,
}

impl ProgramData {
    /// Captures the program's current data, for this number of ranks. Fails if the host cannot create a file in memory.
    pub fn new(ranks: usize) -> io::Result<ProgramData> {
        let ElfRanges {
            variables,
            thread_locals,
        } = ElfRanges::find();
        let variables = variables.ok_or_else(|| io::Error::other("the program's file has no data"))?;
        Ok(ProgramData {
            variables: if variables.bytes <= MAX_COPIED {
                SharedVariables::Copied(RankCopies::new(variables, ranks))
            } else {
                SharedVariables::Mapped(RankMappings::new(variables, ranks)?)
            },
            thread_locals: thread_locals
                .filter(|place| place.bytes > 0)
                .map(|place| RankCopies::new(place, ranks)),
        })
    }

    /// Replaces the data of the rank `before` by that of `next`; `None` stands for the initial values. Must be called
    /// by code that runs on no rank's behalf.
    pub fn swap_in(&self, before: Option<usize>, next: usize) {
        match &self.variables {
            SharedVariables::Copied(copies) => copies.swap_in(before, next),
            SharedVariables::Mapped(mappings) => mappings.swap_in(next),
        }
        if let Some(copies) = &self.thread_locals {
            copies.swap_in(before, next);
        }
    }
}

impl RankCopies {
    fn new(place: MemoryBlock, ranks: usize) -> RankCopies {
        RankCopies {
            place,
            first: place.live().into(),
            blocks: (0..ranks).map(|_| RefCell::default()).collect(),
        }
    }

    fn swap_in(&self, before: Option<usize>, next: usize) {
        if let Some(before) = before {
            self.keep(&mut self.blocks[before].borrow_mut());
            self.copy_back(&self.blocks[before].borrow(), &self.blocks[next].borrow());
        }
    }

    /// Updates `blocks` from the data in place, of which they and the initial values are an earlier version.
    fn keep(&self, blocks: &mut Vec<ChangedBlock>) {
        let live = self.place.live();
        let (mut at, mut from) = (0, 0);
        // Adjacent changes between the existing blocks become new blocks.
        while from < live.len() {
            let until = blocks.get(at).map_or(live.len(), ChangedBlock::start);
            if live[from..until] != self.first[from..until] {
                let differs = |start: &usize| self.differs(live, *start);
                let changed = (from..until).step_by(BLOCK).filter(differs);
                let changed: Vec<ChangedBlock> = changed.map(|start| ChangedBlock::from_live(live, start)).collect();
                let count = changed.len();
                blocks.splice(at..at, changed);
                at += count;
            }
            if let Some(block) = blocks.get_mut(at) {
                block.update(live);
            }
            (at, from) = (at + 1, until + BLOCK);
        }
    }

    fn differs(&self, live: &[u8], start: usize) -> bool {
        let end = live.len().min(start + BLOCK);
        live[start..end] != self.first[start..end]
    }

    /// Changes the data in place from the version with the blocks `before` to that with the blocks `after`.
    fn copy_back(&self, before: &[ChangedBlock], after: &[ChangedBlock]) {
        // SAFETY: the program's own variables, which it may write; no program runs meanwhile, and nothing here is among
        // them.
        let live = unsafe { slice::from_raw_parts_mut(self.place.start, self.place.bytes) };
        for block in before {
            let range = block.range(live.len());
            live[range.clone()].copy_from_slice(&self.first[range]);
        }
        for block in after {
            let range = block.range(live.len());
            let bytes = range.len();
            live[range].copy_from_slice(&block.bytes[..bytes]);
        }
    }
}

impl RankMappings {
    fn new(place: MemoryBlock, ranks: usize) -> io::Result<RankMappings> {
        Ok(RankMappings {
            place,
            first: place.live().into(),
            file: memory_file(place.bytes as u64 * ranks as u64)?,
            begun: vec![Cell::new(false); ranks],
        })
    }

    /// Maps the range of `rank`, and initializes it if the rank has not begun.
    fn swap_in(&self, rank: usize) {
        let offset = rank as u64 * self.place.bytes as u64;
        if !self.begun[rank].replace(true) {
            let pages = self.first.chunks(PAGE).enumerate();
            for (index, page) in pages.filter(|(_, page)| page.iter().any(|byte| *byte != 0)) {
                let place = offset + (index * PAGE) as u64;
                let written = self.file.write_all_at(page, place);
                written.expect("memory for the data of all ranks");
            }
        }
        // SAFETY: replaces the program's own pages, of which no reference is held here; the file contains that many
        // bytes, and the rank's last values.
        let mapped = unsafe {
            midplane_mmap(
                self.place.start.cast(),
                self.place.bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED,
                self.file.as_raw_fd(),
                offset as libc::off_t,
            )
        };
        assert!(mapped != libc::MAP_FAILED, "the data of rank {rank} cannot be mapped");
    }
}

impl ChangedBlock {
    fn from_live(live: &[u8], start: usize) -> ChangedBlock {
        let index = (start / BLOCK) as u32;
        let mut block = ChangedBlock {
            index,
            bytes: [0; BLOCK],
        };
        block.update(live);
        block
    }

    fn update(&mut self, live: &[u8]) {
        let range = self.range(live.len());
        self.bytes[..range.len()].copy_from_slice(&live[range]);
    }

    fn start(&self) -> usize {
        self.index as usize * BLOCK
    }

    /// Returns its part of a range of this size.
    fn range(&self, bytes: usize) -> std::ops::Range<usize> {
        self.start()..bytes.min(self.start() + BLOCK)
    }
}

impl MemoryBlock {
    fn live(&self) -> &[u8] {
        // SAFETY: mapped for as long as the process lives, and no program runs while it is read.
        unsafe { slice::from_raw_parts(self.start, self.bytes) }
    }
}

/// Memory ranges from the headers of the program's file.
#[derive(Default)]
struct ElfRanges {
    /// Complete pages.
    variables: Option<MemoryBlock>,
    thread_locals: Option<MemoryBlock>,
}

impl ElfRanges {
    fn find() -> ElfRanges {
        let mut found = ElfRanges::default();
        // SAFETY: the function has the right type, and its argument outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(find_ranges), (&raw mut found).cast()) };
        found
    }
}

/// Examines the program itself, the first object, and stops the iteration.
extern "C" fn find_ranges(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: the arguments of `dl_iterate_phdr`: information of a loaded file, and `find`'s result variable.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<ElfRanges>()) };
    // SAFETY: that many headers, of a file that stays loaded.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let end = |header: &libc::Elf64_Phdr| (header.p_vaddr + header.p_memsz) as usize;
    // Data that is only written before the program starts is the same for all.
    let is_constant = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_GNU_RELRO;
    let constant = headers.iter().find(is_constant).map_or(0, end);
    for header in headers {
        if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0 {
            let start = (header.p_vaddr as usize).max(constant);
            let (start, end) = (start / PAGE * PAGE, end(header).next_multiple_of(PAGE));
            found.variables = Some(MemoryBlock {
                start: ptr::with_exposed_provenance_mut(info.dlpi_addr as usize + start),
                bytes: end - start,
            });
        }
        if header.p_type == libc::PT_TLS && !info.dlpi_tls_data.is_null() {
            let (begin, end) = (&raw const midplane_tls_begin, &raw const midplane_tls_end);
            let offset = begin.addr() - (info.dlpi_addr as usize + header.p_vaddr as usize);
            found.thread_locals = Some(MemoryBlock {
                start: info.dlpi_tls_data.cast::<u8>().wrapping_add(offset),
                bytes: end.addr() - begin.addr(),
            });
        }
    }
    1
}

/// Creates a file in memory of this size.
fn memory_file(bytes: u64) -> io::Result<File> {
    // SAFETY: the name is a C string; the descriptor, if valid, has no other owner.
    let file = unsafe {
        let number = libc::memfd_create(c"midplane-data".as_ptr(), libc::MFD_CLOEXEC);
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(number)
    };
    // The program may close small descriptors.
    let file = File::from(duplicate(file.as_raw_fd())?);
    file.set_len(bytes)?;
    Ok(file)
}
