//! The program's data, of which each rank has its own: its variables, and its thread-local variables, which are copied
//! however many they are.
//!
//! There are two ways to put another rank's data in place. *Copies*: what differs from the data as it was before `main` is
//! kept for each rank in blocks, and what one rank has changed is found by comparing. It costs by the size of the data, but
//! little memory, and no call of the system. *Mappings*: each rank's data is a stretch of a file in memory, and that of the
//! rank that goes on is mapped. It costs a call and a fault for each page that is used, whatever the size. Small data is
//! copied ([`MOST_COPIED`]; measured in docs/scale.md).

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::{ptr, slice};

use crate::system::duplicate;

/// Bytes of data up to which copies are made.
const MOST_COPIED: usize = 256 << 10;
/// Bytes that are compared and kept together; the last block of a place may be shorter.
const BLOCK: usize = 512;
const PAGE: usize = 4096;

unsafe extern "C" {
    /// Begin of the program's thread-local variables in its file, and their end: those of the runtime lie beside them
    /// (`kernel-rt/ld/cluster.ld`).
    static midplane_tls_begin: u8;
    static midplane_tls_end: u8;
}

/// The variables of the program, and the values of each rank.
pub struct Data {
    variables: Variables,
    /// Thread-local variables; `None`: the program has none.
    thread_locals: Option<Copies>,
}

/// The variables that all threads share.
enum Variables {
    Copied(Copies),
    Mapped(Mappings),
}

/// A place in memory, and the blocks of it in which a rank differs from the first values.
struct Copies {
    place: Place,
    /// Values that all ranks find at first.
    first: Box<[u8]>,
    /// By rank, in order of their indices.
    blocks: Vec<RefCell<Vec<Block>>>,
}

/// Whole pages, and a stretch of a file in memory for each rank.
struct Mappings {
    place: Place,
    /// Values that all ranks find at first.
    first: Box<[u8]>,
    file: File,
    /// By rank: its stretch is filled.
    begun: Vec<Cell<bool>>,
}

/// A block that differs, or has differed, from the first values.
struct Block {
    index: u32,
    bytes: [u8; BLOCK],
}

/// Addresses of variables.
#[derive(Clone, Copy)]
struct Place {
    start: *mut u8,
    bytes: usize,
}

impl Data {
    /// The program's, as it is now, for so many ranks. Fails where the host has no file in memory for it.
    pub fn new(ranks: usize) -> io::Result<Data> {
        let Found {
            variables,
            thread_locals,
        } = Found::find();
        let variables =
            variables.ok_or_else(|| io::Error::other("the program's file has no data"))?;
        Ok(Data {
            variables: match variables.bytes > MOST_COPIED {
                false => Variables::Copied(Copies::new(variables, ranks)),
                true => Variables::Mapped(Mappings::new(variables, ranks)?),
            },
            thread_locals: thread_locals
                .filter(|place| place.bytes > 0)
                .map(|place| Copies::new(place, ranks)),
        })
    }

    /// Puts the data of the rank `next` in place of that of `before`; `None`: of the first values. Only code that runs on
    /// no rank's behalf may call it.
    pub fn put_in_place(&self, before: Option<usize>, next: usize) {
        match &self.variables {
            Variables::Copied(copies) => copies.put_in_place(before, next),
            Variables::Mapped(mappings) => mappings.put_in_place(next),
        }
        if let Some(copies) = &self.thread_locals {
            copies.put_in_place(before, next);
        }
    }
}

impl Copies {
    fn new(place: Place, ranks: usize) -> Copies {
        Copies {
            place,
            first: place.live().into(),
            blocks: (0..ranks).map(|_| RefCell::default()).collect(),
        }
    }

    fn put_in_place(&self, before: Option<usize>, next: usize) {
        if let Some(before) = before {
            self.keep(&mut self.blocks[before].borrow_mut());
            self.copy_back(&self.blocks[before].borrow(), &self.blocks[next].borrow());
        }
    }

    /// Takes into `blocks` what the data is in place, where it was what they and the data at first say.
    fn keep(&self, blocks: &mut Vec<Block>) {
        let live = self.place.live();
        let (mut at, mut from) = (0, 0);
        // Between the blocks that there are, what has changed becomes one.
        while from < live.len() {
            let until = blocks.get(at).map_or(live.len(), Block::start);
            if live[from..until] != self.first[from..until] {
                let differs = |start: &usize| self.differs(live, *start);
                let changed = (from..until).step_by(BLOCK).filter(differs);
                let changed: Vec<Block> = changed.map(|start| Block::of(live, start)).collect();
                let count = changed.len();
                blocks.splice(at..at, changed);
                at += count;
            }
            if let Some(block) = blocks.get_mut(at) {
                block.take(live);
            }
            (at, from) = (at + 1, until + BLOCK);
        }
    }

    fn differs(&self, live: &[u8], start: usize) -> bool {
        let end = live.len().min(start + BLOCK);
        live[start..end] != self.first[start..end]
    }

    /// Makes the data in place, which has the blocks `before`, that with the blocks `after`.
    fn copy_back(&self, before: &[Block], after: &[Block]) {
        // SAFETY: the program's own variables, which it may write; no program goes on meanwhile, and nothing here is among
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

impl Mappings {
    fn new(place: Place, ranks: usize) -> io::Result<Mappings> {
        Ok(Mappings {
            place,
            first: place.live().into(),
            file: memory_file(place.bytes as u64 * ranks as u64)?,
            begun: vec![Cell::new(false); ranks],
        })
    }

    /// Maps the stretch of `rank`, which is filled before if the rank has not begun.
    fn put_in_place(&self, rank: usize) {
        let offset = rank as u64 * self.place.bytes as u64;
        if !self.begun[rank].replace(true) {
            let pages = self.first.chunks(PAGE).enumerate();
            for (index, page) in pages.filter(|(_, page)| page.iter().any(|byte| *byte != 0)) {
                let place = offset + (index * PAGE) as u64;
                let written = self.file.write_all_at(page, place);
                written.expect("memory for the data of all ranks");
            }
        }
        // SAFETY: in place of the program's own pages, of which no reference is held here; the file has as many bytes,
        // and a rank finds there what it has left.
        let mapped = unsafe {
            libc::mmap(
                self.place.start.cast(),
                self.place.bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED,
                self.file.as_raw_fd(),
                offset as libc::off_t,
            )
        };
        assert!(
            mapped != libc::MAP_FAILED,
            "the data of rank {rank} cannot be mapped"
        );
    }
}

impl Block {
    fn of(live: &[u8], start: usize) -> Block {
        let index = (start / BLOCK) as u32;
        let mut block = Block {
            index,
            bytes: [0; BLOCK],
        };
        block.take(live);
        block
    }

    fn take(&mut self, live: &[u8]) {
        let range = self.range(live.len());
        self.bytes[..range.len()].copy_from_slice(&live[range]);
    }

    fn start(&self) -> usize {
        self.index as usize * BLOCK
    }

    /// The part of a place of so many bytes.
    fn range(&self, bytes: usize) -> std::ops::Range<usize> {
        self.start()..bytes.min(self.start() + BLOCK)
    }
}

impl Place {
    fn live(&self) -> &[u8] {
        // SAFETY: mapped for as long as the process lives, and no program goes on while it is looked at.
        unsafe { slice::from_raw_parts(self.start, self.bytes) }
    }
}

/// The places that the program's file names.
#[derive(Default)]
struct Found {
    /// Whole pages.
    variables: Option<Place>,
    thread_locals: Option<Place>,
}

impl Found {
    fn find() -> Found {
        let mut found = Found::default();
        // SAFETY: the function is of the right type, and its argument outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        found
    }
}

/// Sees the program itself first, and goes no further.
extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: what `dl_iterate_phdr` hands to it: information of a loaded file, and `find`'s place for the answer.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Found>()) };
    // SAFETY: as many headers, of a file that stays loaded.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let end = |header: &libc::Elf64_Phdr| (header.p_vaddr + header.p_memsz) as usize;
    // What is only written to before the program starts is the same for all.
    let is_constant = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_GNU_RELRO;
    let constant = headers.iter().find(is_constant).map_or(0, end);
    for header in headers {
        if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0 {
            let start = (header.p_vaddr as usize).max(constant);
            let (start, end) = (start / PAGE * PAGE, end(header).next_multiple_of(PAGE));
            found.variables = Some(Place {
                start: ptr::with_exposed_provenance_mut(info.dlpi_addr as usize + start),
                bytes: end - start,
            });
        }
        if header.p_type == libc::PT_TLS && !info.dlpi_tls_data.is_null() {
            let (begin, end) = (&raw const midplane_tls_begin, &raw const midplane_tls_end);
            let offset = begin.addr() - (info.dlpi_addr as usize + header.p_vaddr as usize);
            found.thread_locals = Some(Place {
                start: info.dlpi_tls_data.cast::<u8>().wrapping_add(offset),
                bytes: end.addr() - begin.addr(),
            });
        }
    }
    1
}

/// A file in memory of so many bytes.
fn memory_file(bytes: u64) -> io::Result<File> {
    // SAFETY: the name is a C string; the descriptor, if it is one, belongs to nothing else.
    let file = unsafe {
        let number = libc::memfd_create(c"midplane-data".as_ptr(), libc::MFD_CLOEXEC);
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(number)
    };
    // The program may close descriptors that are small.
    let file = File::from(duplicate(file.as_raw_fd())?);
    file.set_len(bytes)?;
    Ok(file)
}
