//! The program's data, of which each rank has its own.
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
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::{ptr, slice};

/// Bytes of data up to which copies are made.
const MOST_COPIED: usize = 256 << 10;
/// Bytes that are compared and kept together.
const BLOCK: usize = 512;
const PAGE: usize = 4096;

/// The data, and what each rank has there.
pub struct Data {
    place: Pages,
    /// As all ranks find it at first.
    first: Box<[u8]>,
    way: Way,
    /// Whose is in place; `None`: as it was at first.
    in_place: Cell<Option<usize>>,
    /// Of each rank; the C library has it in a variable of the thread.
    errnos: Vec<Cell<c_int>>,
}

enum Way {
    /// By rank.
    Copies(Vec<RefCell<Vec<Block>>>),
    /// By rank, one after the other; and which of them have begun.
    Mappings(File, Vec<Cell<bool>>),
}

/// A block that differs, or has differed, from the data at first; a rank's are in order.
struct Block {
    index: u32,
    bytes: [u8; BLOCK],
}

/// Where the data is: whole pages.
#[derive(Clone, Copy)]
struct Pages {
    start: *mut u8,
    bytes: usize,
}

impl Data {
    /// The program's, as it is now, for so many ranks. Fails where the host has no file in memory for it.
    pub fn new(ranks: usize) -> io::Result<Data> {
        let place = Pages::find()?;
        Ok(Data {
            place,
            first: place.live().into(),
            way: match place.bytes > MOST_COPIED {
                false => Way::Copies((0..ranks).map(|_| RefCell::default()).collect()),
                true => Way::Mappings(
                    memory_file(place.bytes as u64 * ranks as u64)?,
                    vec![Cell::new(false); ranks],
                ),
            },
            in_place: Cell::new(None),
            errnos: vec![Cell::new(0); ranks],
        })
    }

    /// Puts the data of `rank` in place. Only what runs on no rank's behalf may call it.
    pub fn put_in_place(&self, rank: usize) {
        let before = self.in_place.replace(Some(rank));
        if before == Some(rank) {
            return;
        }
        // SAFETY: the C library's variable of this thread.
        let errno = unsafe { &mut *libc::__errno_location() };
        if let Some(before) = before {
            self.errnos[before].set(*errno);
        }
        match &self.way {
            Way::Copies(blocks) => {
                if let Some(before) = before {
                    self.keep(&mut blocks[before].borrow_mut());
                    self.copy_back(&blocks[before].borrow(), &blocks[rank].borrow());
                }
            }
            Way::Mappings(file, begun) => self.map(file, rank, begun[rank].replace(true)),
        }
        *errno = self.errnos[rank].get();
    }

    /// Takes into `blocks` what the data is in place, where it was what they and the data at first say.
    fn keep(&self, blocks: &mut Vec<Block>) {
        let live = self.place.live();
        let (mut at, mut from) = (0, 0);
        // Between the blocks that there are, what has changed becomes one.
        while from < live.len() {
            let until = blocks.get(at).map_or(live.len(), |block| block.start());
            if live[from..until] != self.first[from..until] {
                let differs = |start: &usize| self.differs(live, *start);
                let changed = (from..until).step_by(BLOCK).filter(differs);
                let changed: Vec<Block> = changed.map(|start| Block::of(live, start)).collect();
                let count = changed.len();
                blocks.splice(at..at, changed);
                at += count;
            }
            if let Some(block) = blocks.get_mut(at) {
                block.bytes.copy_from_slice(&live[until..until + BLOCK]);
            }
            (at, from) = (at + 1, until + BLOCK);
        }
    }

    fn differs(&self, live: &[u8], start: usize) -> bool {
        live[start..start + BLOCK] != self.first[start..start + BLOCK]
    }

    /// Makes the data in place, which has the blocks `before`, that with the blocks `after`.
    fn copy_back(&self, before: &[Block], after: &[Block]) {
        // SAFETY: the program's own pages, which it may write; no program goes on meanwhile, and nothing here is among
        // them.
        let live = unsafe { slice::from_raw_parts_mut(self.place.start, self.place.bytes) };
        for block in before {
            let start = block.start();
            live[start..start + BLOCK].copy_from_slice(&self.first[start..start + BLOCK]);
        }
        for block in after {
            live[block.start()..block.start() + BLOCK].copy_from_slice(&block.bytes);
        }
    }

    /// Maps the stretch of `rank`, which has been filled if the rank has `begun`.
    fn map(&self, file: &File, rank: usize, begun: bool) {
        let offset = rank as u64 * self.place.bytes as u64;
        if !begun {
            let pages = self.first.chunks(PAGE).enumerate();
            for (index, page) in pages.filter(|(_, page)| page.iter().any(|byte| *byte != 0)) {
                let written = file.write_all_at(page, offset + (index * PAGE) as u64);
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
                file.as_raw_fd(),
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
        let mut bytes = [0; BLOCK];
        bytes.copy_from_slice(&live[start..start + BLOCK]);
        let index = (start / BLOCK) as u32;
        Block { index, bytes }
    }

    fn start(&self) -> usize {
        self.index as usize * BLOCK
    }
}

impl Pages {
    /// Looks for what the program's file says of it.
    fn find() -> io::Result<Pages> {
        let mut found = None::<Pages>;
        // SAFETY: the function is of the right type, and its argument outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        found.ok_or_else(|| io::Error::other("the program's file has no data"))
    }

    fn live(&self) -> &[u8] {
        // SAFETY: mapped for as long as the process lives, and no program goes on while it is looked at.
        unsafe { slice::from_raw_parts(self.start, self.bytes) }
    }
}

/// Sees the program itself first, and goes no further.
extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
    // SAFETY: what `dl_iterate_phdr` hands to it: information of a loaded file, and `find`'s place for the answer.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<Option<Pages>>()) };
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
            *found = Some(Pages {
                start: ptr::with_exposed_provenance_mut(info.dlpi_addr as usize + start),
                bytes: end - start,
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
        File::from_raw_fd(number)
    };
    file.set_len(bytes)?;
    Ok(file)
}
