//! A linked image: validation, positions of its shared records, memory requirements, and source lines of addresses.

use crate::build::board::{Board, host_machine};
use crate::build::callees::CalleeFinder;
use crate::build::inputs::{BuildFlags, RECORD};
use crate::build::unwind::{self, CallSite};
use crate::host::error::{CliError, ErrorContext};
use crate::host::size;
use kernel_rt::board::stm32f405::memory as stm32f405;
use kernel_rt::memory_plan::{MIN_MEMORY, MemoryNeeds, MemoryPlan};
use midplane_abi::address::AddressRange;
use midplane_abi::backtrace::BacktraceRegisters;
use midplane_abi::boot_error::MemoryTooSmall;
use midplane_abi::failed_malloc::{self, MallocFailure};
use midplane_abi::layout::SEVERAL_SYMBOL;
use midplane_abi::{backtrace, blackboard, inbox, message_queues};
use midplane_abi::{files, outbox};
use midplane_device::matching::EngineKind;
use midplane_setup::invocation::command_name;
use midplane_trace::Recorder;
use object::elf::{FileHeader32, FileHeader64, Machine, PT_LOAD};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Endianness, FileKind, Object, ObjectSection, ObjectSymbol};
use std::path::{Path, PathBuf};

/// Symbols for the start and the end of code and constants.
const CODE_START: &str = "__text_start";
const CODE_END: &str = "__rodata_end";
/// Symbol for the first byte of RAM after the image, used by the kernel's buffers and the heap.
const IMAGE_END: &str = "MIDPLANE_IMAGE_END";
/// Symbol of defmt in every image that supports the log.
const LOG_SYMBOL: &str = "_defmt_release";
/// Function called by heaps that provide loans (`board::hot_path`); only such images contain it.
const LENDS_SYMBOL: &str = "midplane_heap_freed";
/// QEMU places the device tree, of 1 MiB at most, at a multiple of 2 MiB near the end of RAM (`riscv_load_fdt`,
/// `riscv_compute_fdt_addr`).
const DEVICE_TREE_BYTES: u64 = 1 << 20;
const DEVICE_TREE_ALIGN: u64 = 2 << 20;

/// Reads bytes of a node's RAM, starting at an offset.
pub type MemoryReader<'a> = &'a dyn Fn(u64, &mut [u8]) -> Option<()>;

/// A bootable image for nodes.
#[derive(Debug)]
pub struct Image {
    /// Board of the image.
    pub board: Board,
    /// File of the image.
    pub path: PathBuf,
    /// Complete content of the file. Nodes boot from this copy, so that a later build does not affect them.
    pub bytes: Vec<u8>,
    /// Offset of the blackboard (shared status record) in RAM.
    pub blackboard: u64,
    /// Offset of the outbox (stdout ring buffer) in RAM.
    pub outbox: u64,
    /// Offset of the inbox (stdin ring buffer) in RAM, if the program reads its input.
    pub inbox: Option<u64>,
    /// Offset of the file call mailbox in RAM, if the program uses files.
    pub files: Option<u64>,
    /// Offset of the message queues of a blocked node in RAM, if the board has them.
    pub queues: Option<u64>,
    /// Offset of the ring buffer with the program's calls in RAM, if it is recorded.
    pub calls: Option<u64>,
    /// Offset in RAM of the registers that a node records when a call ends its job.
    callers: Option<u64>,
    /// Addresses of code and constants.
    pub code: AddressRange,
    /// Bytes of RAM up to the end of the image as the kernel computes it.
    pub end: u64,
    /// Offset in RAM of the record of a failed allocation.
    failed_malloc: Option<u64>,
    /// Bytes of RAM that the image occupies from the start of RAM, including all static data.
    pub footprint: u64,
    /// Bytes of RAM from the start up to the end of the loaded segments.
    loaded: u64,
    /// Whether the image contains a personality (boot configuration) and so is for one node.
    pub has_personality: bool,
    pub stacks: StackRanges,
}

/// A node's stacks as offsets in RAM. Each grows down from its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct StackRanges {
    /// Stack of the program.
    pub program: AddressRange,
    /// Stack of interrupts and faults.
    pub interrupts: AddressRange,
}

/// Checks that a program is built for this host.
fn check_machine(path: &Path, machine: Machine) -> Result<(), CliError> {
    if host_machine().is_none_or(|here| here == machine) {
        return Ok(());
    }
    let other = Board::default().other(machine);
    Err(CliError::unusable(format!("{}: {other}", path.display())))
}

/// Returns the end of the loaded segments, relative to the RAM that begins at `base`.
fn loaded_bytes<Elf: FileHeader<Endian = Endianness>>(elf: &ElfFile<'_, Elf>, base: u64) -> Result<u64, &'static str> {
    let endian = elf.endian();
    let mut loaded = 0;
    for segment in elf.elf_program_headers() {
        let bytes: u64 = segment.p_memsz(endian).into();
        if segment.p_type(endian) == PT_LOAD && bytes > 0 {
            let start: u64 = segment.p_paddr(endian).into();
            let end = start
                .checked_sub(base)
                .and_then(|start| start.checked_add(bytes))
                .ok_or("a section is outside the RAM of a node")?;
            loaded = loaded.max(end);
        }
    }
    Ok(loaded)
}

/// Returns the offset of a symbol in the RAM that begins at `base`.
fn symbol_in_ram<'data>(elf: &impl Object<'data>, base: u64, name: &str) -> Result<u64, String> {
    elf.symbols()
        .find(|s| s.name() == Ok(name))
        .and_then(|s| s.address().checked_sub(base))
        .ok_or_else(|| match elf.symbols().next() {
            None => "it is stripped: `midplane` requires its symbols to read a node's state; link it with mpicc, \
                     whose option -s keeps the required symbols, or strip it with --strip-debug only"
                .into(),
            Some(_) => format!(
                "no symbol {name} in RAM: it was not linked with Midplane's runtime; link it with mpicc (`{} \
                 cc`)",
                command_name()
            ),
        })
}

/// Returns the bytes between two symbols.
fn bytes_between(
    place_of: impl Fn(&str) -> Result<u64, String>,
    start: &str,
    end: &str,
) -> Result<AddressRange, String> {
    Ok(AddressRange {
        start: place_of(start)?,
        end: place_of(end)?,
    })
}

impl Image {
    /// Reads an image from a file.
    pub fn read(path: &Path) -> Result<Self, CliError> {
        let bytes = std::fs::read(path).context(format_args!("read {}", path.display()))?;
        Self::parse(path, bytes).map_err(|why| CliError::unusable(format!("{}: {why}", path.display())))
    }

    /// Reads a native program. Its processes map the memory shared with the tool themselves.
    pub fn read_process(path: &Path) -> Result<Self, CliError> {
        let bytes = std::fs::read(path).context(format_args!("read {}", path.display()))?;
        // The system would pass a file that it cannot execute to the shell.
        if let Ok(elf) = ElfFile::<FileHeader64<Endianness>>::parse(&*bytes) {
            check_machine(path, elf.elf_header().e_machine(elf.endian()))?;
        } else if let Ok(elf) = ElfFile::<FileHeader32<Endianness>>::parse(&*bytes) {
            check_machine(path, elf.elf_header().e_machine(elf.endian()))?;
        }
        let calls = symbol_in(&bytes, Recorder::SYMBOL);
        Ok(Self {
            board: Board::default(),
            // A name without a directory would be searched for in PATH.
            path: Path::new(".").join(path),
            bytes,
            blackboard: 0,
            outbox: 0,
            inbox: None,
            files: None,
            queues: None,
            calls,
            callers: None,
            failed_malloc: None,
            code: AddressRange::default(),
            end: 0,
            footprint: 0,
            loaded: 0,
            has_personality: false,
            stacks: StackRanges::default(),
        })
    }

    /// Returns the path for messages, as the user specified it.
    pub fn display(&self) -> impl std::fmt::Display {
        self.path.strip_prefix(".").unwrap_or(&self.path).display()
    }

    /// Returns the address of a symbol; `None` if the file does not contain it.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        symbol_in(&self.bytes, name)
    }

    /// Checks whether the image has a symbol with such a name.
    pub(super) fn has_symbol(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        object::File::parse(&*self.bytes)
            .is_ok_and(|file| file.symbols().any(|symbol| symbol.name().is_ok_and(&is_wanted)))
    }

    /// Checks whether the image uses one of these functions of a shared library.
    pub(super) fn imports(&self, functions: &[&str]) -> bool {
        let is_wanted = |name: &str| functions.contains(&name);
        object::File::parse(&*self.bytes).is_ok_and(|file| {
            file.dynamic_symbols()
                .any(|symbol| symbol.is_undefined() && symbol.name().is_ok_and(is_wanted))
        })
    }

    /// Checks that the image contains the recorder of MPI calls, which `option` requires.
    ///
    /// # Errors
    /// Returns a usage error if it does not.
    pub fn check_records(&self, option: &str) -> Result<(), CliError> {
        match self.calls {
            Some(_) => Ok(()),
            None => Err(CliError::usage(format!(
                "{option}: {} contains no recorder; link it with `{} cc --record`, or with {}=1 in the environment",
                self.display(),
                command_name(),
                RECORD
            ))),
        }
    }

    fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self, String> {
        match FileKind::parse(&*bytes) {
            Ok(FileKind::Elf32) => Self::parse_elf::<FileHeader32<Endianness>>(path, bytes),
            Ok(FileKind::Elf64) => Self::parse_elf::<FileHeader64<Endianness>>(path, bytes),
            _ => Err("not an ELF file; images for nodes are ELF files".into()),
        }
    }

    fn parse_elf<Elf: FileHeader<Endian = Endianness>>(path: &Path, bytes: Vec<u8>) -> Result<Self, String> {
        let elf = ElfFile::<Elf>::parse(&*bytes).map_err(|_| "a broken ELF file".to_string())?;
        let endian = elf.endian();
        let machine = elf.elf_header().e_machine(endian);
        let board = Board::chosen();
        if machine != board.machine() {
            let other = board.other(machine);
            return Err(format!("{other} (nodes are {})", board.machine_name()));
        }
        let base = board.ram();
        let symbol = |name: &str| symbol_in_ram(&elf, base, name);
        let blackboard = symbol(blackboard::SYMBOL)?;
        let outbox = symbol(outbox::SYMBOL)?;
        let inbox = symbol(inbox::SYMBOL).ok();
        let files = symbol(files::SYMBOL).ok();
        let queues = symbol(message_queues::SYMBOL).ok();
        let calls = symbol(Recorder::SYMBOL).ok();
        let callers = symbol(backtrace::SYMBOL).ok();
        let end = symbol(IMAGE_END)?;
        let address = |name: &str| {
            let symbol = elf.symbols().find(|s| s.name() == Ok(name));
            let symbol = symbol.ok_or_else(|| "no code in it".to_string())?;
            Ok(symbol.address())
        };
        let code = bytes_between(address, CODE_START, CODE_END)?;
        let loaded = match board {
            Board::Virt => loaded_bytes(&elf, base)?,
            Board::Stm32f405 => 0,
        };
        let records = [
            blackboard + midplane_abi::blackboard::BYTES as u64,
            outbox + outbox::BYTES as u64,
        ];
        let footprint = match board {
            Board::Virt => records.into_iter().fold(end.max(loaded), u64::max),
            // This board's outbox is not in the node's memory.
            Board::Stm32f405 => end,
        };
        let stacks = StackRanges {
            program: bytes_between(symbol, "__stack_bottom", "__stack_top")?,
            interrupts: bytes_between(symbol, "__trap_stack", "__trap_stack_top")?,
        };
        let personality = elf.section_by_name(".personality");
        let has_personality = personality.is_some_and(|section| section.size() > 0);
        Ok(Self {
            board,
            has_personality,
            stacks,
            path: path.into(),
            blackboard,
            outbox,
            inbox,
            files,
            queues,
            calls,
            callers,
            failed_malloc: symbol(failed_malloc::SYMBOL).ok(),
            code,
            end,
            footprint,
            loaded,
            bytes,
        })
    }

    /// Returns the personality record that the image contains.
    pub fn personality(&self) -> Option<&[u8]> {
        let elf = object::File::parse(&*self.bytes).ok()?;
        let record = elf.section_by_name(".personality")?.data().ok()?;
        (!record.is_empty()).then_some(record)
    }

    /// Checks that the image supports the job's features: several instances, log, loans from the heap. `run` builds
    /// images without unused features.
    pub fn check_has(&self, flags: &BuildFlags) -> Result<(), CliError> {
        let lacks = |name: &str| {
            let elf = object::File::parse(&*self.bytes);
            !elf.is_ok_and(|elf| elf.symbols().any(|symbol| symbol.name() == Ok(name)))
        };
        let lacking = [
            (flags.instances, SEVERAL_SYMBOL, "for a job in one instance"),
            (flags.log, LOG_SYMBOL, "without --log"),
            (flags.borrow, LENDS_SYMBOL, "without --mpi-borrow"),
        ];
        for (needed, symbol, what) in lacking {
            if needed && lacks(symbol) {
                return Err(CliError::unusable(format!(
                    "{} was built {what}; specify its source, or link it with `{} cc`",
                    self.path.display(),
                    command_name()
                )));
            }
        }
        Ok(())
    }

    /// Checks that the image runs in nodes of `memory` bytes of RAM, with the kernel's own computation. `needs` returns
    /// a node's requirements in addition to the image, for a given RAM size.
    pub fn check_fits(&self, memory: u64, needs: impl Fn(u64) -> MemoryNeeds) -> Result<(), CliError> {
        let least = self.min_memory(memory, needs(memory));
        if memory >= least {
            return Ok(());
        }
        // More RAM may increase the requirements, so the advised size is checked, too.
        let mut advice = least;
        loop {
            advice = advice.next_multiple_of(1 << 20);
            match self.min_memory(advice, needs(advice)) {
                enough if enough <= advice => break,
                more => advice = more,
            }
        }
        Err(CliError::unusable(format!(
            "the program requires more RAM than a node has: {} for the program, {} in total with the MPI memory and \
             the kernel, but --node-memory is {}; use at least --node-memory {}",
            size::approximate(self.footprint),
            size::approximate(least),
            size::exact(memory),
            size::exact(advice),
        )))
    }

    /// Checks that the image runs on an STM32F405 with this many links, bytes of MPI memory and nodes in the job.
    pub fn check_fits_board(&self, links: usize, mpi: u64, nodes: u32) -> Result<(), CliError> {
        let needs = stm32f405::HeapNeeds::for_node(&EngineKind::STANDARD, links, mpi, nodes);
        match stm32f405::heap(self.board.ram() + self.footprint, needs) {
            Ok(_) => Ok(()),
            Err(why) => Err(CliError::unusable(why.to_string())),
        }
    }

    /// Returns the minimum RAM in bytes for the image with these requirements.
    fn min_memory(&self, memory: u64, needs: MemoryNeeds) -> u64 {
        let base = self.board.ram();
        let ram = AddressRange {
            start: base,
            end: base.saturating_add(memory),
        };
        let least = match MemoryPlan::new(ram, base + self.footprint, needs) {
            Ok(_) => 0,
            Err(MemoryTooSmall { least, .. }) => least,
        };
        least.max(self.min_load_memory()).max(MIN_MEMORY)
    }

    /// Returns the minimum RAM in bytes with which QEMU can load the image: the loaded segments must end below the
    /// device tree.
    fn min_load_memory(&self) -> u64 {
        self.loaded.next_multiple_of(DEVICE_TREE_ALIGN) + DEVICE_TREE_BYTES
    }

    /// Describes the location of a fault at `pc`, in the format of [`Image::describe`]. For a fault in library code,
    /// adds the program's line that contains the call. `read` reads the node's RAM.
    pub fn describe_fault(&self, pc: u64, read: MemoryReader<'_>) -> Vec<String> {
        let overflowed = self.overflow_registers(read).filter(|_| pc == 0);
        let pc = overflowed.map_or(pc, |registers| registers.pc);
        // A wild jump may reach any address; the nearest symbol could then be data.
        let is_code = self.is_code(pc);
        let is_here = is_code && addr2line::Loader::new(&self.path).is_ok_and(|loader| is_program(&loader, pc));
        let here = if is_code { self.describe(pc) } else { Vec::new() };
        if is_here {
            return here;
        }
        let call = match overflowed {
            Some(registers) => self.call_from(&registers, read, &is_program),
            None => self.call(read, &is_program),
        };
        let Some(call) = call else {
            return here;
        };
        let mut lines = self.describe(call.from);
        let Some(line) = lines.first_mut() else {
            return here;
        };
        // Only the function's name: lines of the library's sources do not help the program's author.
        let name = |lines: &[String]| {
            let line = lines.last()?;
            let name = line.rsplit_once(" at ").map_or(&**line, |(name, _)| name);
            // The symbol table may contain another alias of the address first; prefers the program's name.
            let name = { name.strip_prefix('P') }
                .filter(|name| name.starts_with("MPI_"))
                .unwrap_or(name);
            Some(name.to_string())
        };
        let function = match name(&here) {
            // Inside the runtime: reports the C function that the program has called.
            Some(inner) if inner.contains("::") => {
                name(&self.describe(call.within)).map(|outer| outer.rsplit("::").next().unwrap_or(&outer).to_string())
            }
            function => function,
        };
        *line = match function {
            Some(function) => format!("{function}, called from {line}"),
            None => format!("a call from {line}"),
        };
        lines
    }

    /// Checks whether an address is in the image's code. Debug information of functions that the linker discarded
    /// starts at address 0.
    fn is_code(&self, address: u64) -> bool {
        let Ok(elf) = object::File::parse(&*self.bytes) else {
            return false;
        };
        let mut sections = elf.sections();
        sections.any(|section| {
            section.kind() == object::SectionKind::Text
                && address >= self.board.code()
                && (section.address()..section.address() + section.size()).contains(&address)
        })
    }

    /// Describes the last failed allocation of a node, if there is one. `read` reads the node's RAM.
    pub fn describe_failed_malloc(&self, read: MemoryReader<'_>) -> Option<String> {
        let mut note = [0; failed_malloc::BYTES];
        read(self.failed_malloc?, &mut note)?;
        let MallocFailure { bytes, from } = MallocFailure::read(note)?;
        let from = self.board.return_address(from);
        let place = self.describe(from.checked_sub(1)?);
        let place = place.first().map(|line| format!(" in {line}"));
        Some(format!(
            "an allocation of {bytes} bytes had failed before{}: check its result, or increase --node-memory",
            place.unwrap_or_default()
        ))
    }

    /// Describes the program's call that ended the job, in the format of [`Image::describe`]. Empty without such a call
    /// or without debug information. `read` reads the node's RAM.
    pub fn describe_call(&self, read: MemoryReader<'_>) -> Vec<String> {
        let call = self.call(read, &is_program);
        call.map_or(Vec::new(), |call| self.describe(call.from))
    }

    /// Describes the location of a panic in the runtime under a C program, in the format of [`Image::describe`], and
    /// the program's line that contains the call. Empty without debug information. `read` reads the node's RAM.
    pub fn describe_panic(&self, read: MemoryReader<'_>) -> Vec<String> {
        let place = self.call(read, &|loader, address| !is_from_rust(loader, address));
        let mut lines = place.map_or(Vec::new(), |call| {
            self.lines(call.from, &|file| !is_rust_library_file(file))
        });
        if let (Some(line), Some(call)) = (lines.last_mut(), self.describe_call(read).first()) {
            line.push_str(&format!(", called from {call}"));
        }
        lines
    }

    /// Returns the innermost active call whose caller matches `is_it`, for a node with recorded registers.
    fn call(&self, read: MemoryReader<'_>, is_it: &dyn Fn(&addr2line::Loader, u64) -> bool) -> Option<CallSite> {
        self.call_from(&self.recorded_registers(read)?, read, is_it)
    }

    /// Returns the innermost active call for a node with these registers.
    fn call_from(
        &self,
        registers: &BacktraceRegisters,
        read: MemoryReader<'_>,
        is_it: &dyn Fn(&addr2line::Loader, u64) -> bool,
    ) -> Option<CallSite> {
        let loader = addr2line::Loader::new(&self.path).ok()?;
        let is_it = |address| is_it(&loader, address);
        let word = |address| self.word(read, address);
        unwind::innermost_call(self.board, &self.bytes, registers, &word, &is_it)
    }

    /// Returns the registers at a stack overflow, corrected to the function that caused it.
    fn overflow_registers(&self, read: MemoryReader<'_>) -> Option<BacktraceRegisters> {
        let base = self.board.ram();
        let stack = AddressRange {
            start: base + self.stacks.program.start,
            end: base + self.stacks.program.end,
        };
        let word = |address| self.word(read, address);
        unwind::find_overflowing_function(self.board, &self.bytes, &self.recorded_registers(read)?, &word, stack)
    }

    /// Returns the registers that a node has recorded.
    fn recorded_registers(&self, read: MemoryReader<'_>) -> Option<BacktraceRegisters> {
        BacktraceRegisters::read(&self.recorded_call(read)?)
    }

    /// Returns the record from which [`Image::describe_call`] determines the call: equal for nodes in the same calls.
    pub fn recorded_call(&self, read: MemoryReader<'_>) -> Option<[u8; backtrace::BYTES]> {
        let mut noted = [0; backtrace::BYTES];
        read(self.callers?, &mut noted)?;
        Some(noted)
    }

    /// Reads a word of a node's memory.
    fn word(&self, read: MemoryReader<'_>, address: u64) -> Option<u64> {
        let mut word = [0; 8];
        let bytes = &mut word[..self.board.word()];
        read(address.checked_sub(self.board.ram())?, bytes)?;
        Some(u64::from_le_bytes(word))
    }

    /// Describes the location of a native process in the format of [`Image::describe`]. `pc` is the program counter, if
    /// known; `calls` contains the return addresses, innermost first. Outside the program's code, describes the
    /// program's innermost call; empty if there is none or without debug information.
    pub fn describe_process(&self, pc: Option<u64>, calls: &[u64]) -> Vec<String> {
        let (Ok(loader), Some(code)) = (addr2line::Loader::new(&self.path), CalleeFinder::read(&self.bytes)) else {
            return Vec::new();
        };
        let is_programs = |address| is_program(&loader, address) || code.is_plain(&loader, address);
        if let Some(pc) = pc.filter(|pc| is_programs(*pc)) {
            return self.describe(pc);
        }
        let call = calls.iter().find(|address| is_programs(**address - 1));
        let Some(call) = call else {
            let is_runtimes = |address: &u64| is_rust(&loader, *address - 1);
            return if pc.is_some() && calls.iter().any(is_runtimes) {
                vec![BESIDE_CALLS.into()]
            } else {
                Vec::new()
            };
        };
        // The return address is after the call.
        let mut lines = self.describe(call - 1);
        if let (Some(_), Some(line)) = (pc, lines.first_mut()) {
            let callee = match code.callee(*call) {
                // A tail call: the callee has jumped to the failing function.
                Some(callee) if is_programs(callee.address) => {
                    format!("a function of a library, called by {}, which is", callee.name)
                }
                Some(callee) => format!("{},", callee.name),
                None if calls.first() == Some(call) => "a function by its pointer,".into(),
                None => "a function of a library,".into(),
            };
            *line = format!("{callee} called from {line}");
        }
        lines
    }

    /// Returns the functions and lines at an address, innermost first, for example `main at killer.c:42`.
    pub fn describe(&self, address: u64) -> Vec<String> {
        self.lines(address, &|_| true)
    }

    /// Returns the functions and lines in the files that `wanted` selects.
    fn lines(&self, address: u64, wanted: &dyn Fn(&str) -> bool) -> Vec<String> {
        let Ok(loader) = addr2line::Loader::new(&self.path) else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        if let Ok(mut frames) = loader.find_frames(address) {
            while let Ok(Some(frame)) = frames.next() {
                let file = frame.location.as_ref().and_then(|l| l.file);
                if !file.is_none_or(wanted) {
                    continue;
                }
                let function = frame
                    .function
                    .as_ref()
                    .and_then(|f| f.demangle().ok().map(|name| name.into_owned()));
                let place = frame.location.as_ref().and_then(|l| {
                    let file = Path::new(l.file?).file_name()?.to_string_lossy();
                    Some(match l.line {
                        Some(line) => format!("{file}:{line}"),
                        None => file.into_owned(),
                    })
                });
                match (function, place) {
                    (Some(function), Some(place)) => lines.push(format!("{function} at {place}")),
                    (Some(one), None) | (None, Some(one)) => lines.push(one),
                    (None, None) => {}
                }
            }
        }
        if lines.is_empty()
            && let Some(symbol) = loader.find_symbol(address)
        {
            lines.push(symbol.to_string());
        }
        lines
    }
}

/// Message for a fault in the progress thread while the program computes.
const BESIDE_CALLS: &str =
    "a nonblocking operation, which continues while the program computes: the address belongs to its buffer";

/// Checks whether the code at an address is Rust.
fn is_rust(loader: &addr2line::Loader, address: u64) -> bool {
    let frames = loader.find_frames(address).ok();
    let frame = frames.and_then(|mut frames| frames.next().ok().flatten());
    let language = frame.and_then(|frame| frame.function?.language);
    language == Some(gimli::DW_LANG_Rust)
}

/// Checks whether the code at an address is the program's. The runtime is excluded because all of it is Rust; picolibc
/// and the compiler's library are recognized by their source directories.
fn is_program(loader: &addr2line::Loader, address: u64) -> bool {
    let mut frames = loader.find_frames(address).ok();
    let frame = frames.as_mut().and_then(|frames| frames.next().ok().flatten());
    let Some(frame) = frame else {
        return false;
    };
    let file = frame.location.as_ref().and_then(|location| location.file);
    let is_library = file.is_some_and(|file| {
        [
            "newlib/libc/",
            "newlib/libm/",
            "libgcc/",
            "kernel-rt/ld/",
            "midplane/recorder/",
        ]
        .iter()
        .any(|dir| file.contains(dir))
    });
    let language = frame.function.and_then(|function| function.language);
    !is_library && language.is_some_and(|language| language != gimli::DW_LANG_Rust)
}

/// Checks whether all code at an address belongs to the Rust language's libraries.
fn is_from_rust(loader: &addr2line::Loader, address: u64) -> bool {
    let Ok(mut frames) = loader.find_frames(address) else {
        return false;
    };
    while let Ok(Some(frame)) = frames.next() {
        let file = frame.location.and_then(|location| location.file);
        if !file.is_some_and(is_rust_library_file) {
            return false;
        }
    }
    true
}

/// Checks whether a source belongs to the Rust language's libraries.
fn is_rust_library_file(file: &str) -> bool {
    ["/library/core/src/", "/library/alloc/src/"]
        .iter()
        .any(|dir| file.contains(dir))
}

/// Returns the address of a symbol of an ELF file.
fn symbol_in(bytes: &[u8], name: &str) -> Option<u64> {
    let file = object::File::parse(bytes).ok()?;
    let symbol = file
        .symbols()
        .find(|symbol| symbol.name() == Ok(name) && symbol.is_definition())?;
    Some(symbol.address())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(footprint: u64, loaded: u64) -> Image {
        Image {
            board: Board::Virt,
            inbox: None,
            files: None,
            queues: None,
            calls: None,
            callers: None,
            failed_malloc: None,
            path: "x".into(),
            bytes: Vec::new(),
            blackboard: 0,
            outbox: 0,
            code: AddressRange::default(),
            end: footprint,
            footprint,
            loaded,
            has_personality: false,
            stacks: StackRanges::default(),
        }
    }

    #[test]
    fn what_is_no_image_is_refused() {
        for (bytes, word) in [
            (&b"int main(void) { return 0; }"[..], "ELF"),
            (&b""[..], "ELF"),
            (&b"\x7fELF\x02\x01\x01"[..], "ELF"),
        ] {
            let error = Image::parse(Path::new("x"), bytes.to_vec()).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
        let this_program = std::fs::read("/proc/self/exe").unwrap();
        let error = Image::parse(Path::new("x"), this_program).unwrap_err();
        assert!(error.contains("--on linux") || error.contains("no symbol"), "{error}");
    }

    #[test]
    fn an_image_for_another_machine_is_refused_with_what_to_do() {
        let mut program = std::fs::read("/proc/self/exe").unwrap();
        let error = Image::parse(Path::new("x"), program.clone()).unwrap_err();
        assert!(error.contains("--on linux") && error.contains("MIDPLANE_ON"), "{error}");
        // Byte 18 of the header is the machine.
        program[18] = if cfg!(target_arch = "riscv64") { 62 } else { 243 };
        let file = std::env::temp_dir().join(format!("midplane-other-{}", std::process::id()));
        std::fs::write(&file, program).unwrap();
        let error = Image::read_process(&file).unwrap_err();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(error.status, crate::host::error::USAGE);
        if !cfg!(target_arch = "riscv64") {
            assert!(error.message.contains("an image for nodes in QEMU"), "{error}");
            assert!(error.message.contains("MIDPLANE_ON unset"), "{error}");
        }
    }

    const NEEDS: MemoryNeeds = MemoryNeeds {
        links: 6,
        mpi: 1 << 20,
        tables: 0,
    };

    #[test]
    fn a_program_that_is_too_big_is_refused_with_what_would_do() {
        let big = image(9 << 20, 1 << 20);
        let error = big.check_fits(8 << 20, |_| NEEDS).unwrap_err();
        assert_eq!(error.status, crate::host::error::USAGE);
        assert!(error.message.contains("--node-memory is 8M"), "{error}");
        assert!(error.message.ends_with("--node-memory 11M"), "{error}");
        assert!(big.check_fits(11 << 20, |_| NEEDS).is_ok());
        assert!(image(1 << 20, 1 << 20).check_fits(2 << 20, |_| NEEDS).is_err());
    }

    #[test]
    fn what_is_advised_suffices_when_needs_grow_with_the_memory() {
        let big = image(16 << 20, 1 << 20);
        let share = |memory| MemoryNeeds {
            mpi: memory / 8,
            ..NEEDS
        };
        let error = big.check_fits(8 << 20, share).unwrap_err();
        assert!(error.message.ends_with("--node-memory 20M"), "{error}");
        assert!(big.check_fits(20 << 20, share).is_ok());
        assert!(big.check_fits(19 << 20, share).is_err());
    }

    #[test]
    fn loaded_bytes_must_end_below_the_device_tree() {
        // With 8 MiB of RAM the device tree is at 6 MiB.
        let fits = |loaded| image(loaded, loaded).check_fits(8 << 20, |_| MemoryNeeds { mpi: 0, ..NEEDS });
        assert!(fits(6 << 20).is_ok());
        let error = fits((6 << 20) + 1).unwrap_err();
        assert!(error.message.ends_with("--node-memory 9M"), "{error}");
    }
}
