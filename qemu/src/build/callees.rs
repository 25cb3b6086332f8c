//! Identification of the called function from the instruction before a return address, in a native program. Libraries
//! contain no symbols for their internal functions, so this call is the only source of a name. Also identifies the
//! program's own functions where the file contains no line table.

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol, ObjectSymbolTable};
use std::collections::{BTreeMap, HashSet};
use std::sync::OnceLock;

/// Symbols and code of a program's file.
pub struct CalleeFinder<'a> {
    elf: ElfFile64<'a>,
    /// Functions by address, with size and name.
    functions: BTreeMap<u64, (u64, &'a str)>,
    is_static: bool,
}

/// Size of a relocation entry in bytes.
const RELOCATION_BYTES: usize = 24;

/// Functions of the runtime's crates without line information: entry points of a coroutine.
const RUNTIMES_ASSEMBLER: [&str; 3] = [
    "stack_init_trampoline",
    "stack_init_trampoline_return",
    "stack_call_trampoline",
];

impl<'a> CalleeFinder<'a> {
    /// Reads a program's file; `None` if it is not a 64-bit ELF file.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let elf = ElfFile64::<Endianness>::parse(bytes).ok()?;
        let mut functions = BTreeMap::new();
        for symbol in elf.symbols() {
            let Ok(name) = symbol.name() else { continue };
            let is_code = symbol.is_definition() && symbol.kind() == object::SymbolKind::Text;
            if is_code || is_indirect(&symbol) {
                let found = functions.entry(symbol.address()).or_insert((symbol.size(), name));
                if rank(name) < rank(found.1) {
                    *found = (symbol.size(), name);
                }
            }
        }
        let is_static = elf.section_by_name(".dynamic").is_none();
        Some(Self {
            elf,
            functions,
            is_static,
        })
    }

    /// Returns the function called just before this return address, if the call instruction names it.
    pub fn callee(&self, back: u64) -> Option<Callee> {
        let (address, name) = match self.instruction(back)? {
            CallTarget::Direct(target) => match self.stub_slot(target) {
                Some(slot) => (0, self.name_in_slot(slot)),
                None => (target, self.name_at(target)),
            },
            CallTarget::Slot(slot) => (0, self.name_in_slot(slot)),
        };
        let name = plain(&name?);
        Some(Callee { address, name })
    }

    /// Checks whether an address without line information is in the program's own code, by the function's name.
    /// Excludes the runtime, whose code has line information except for some assembler, and libraries.
    pub fn is_plain(&self, loader: &addr2line::Loader, address: u64) -> bool {
        let Some((start, (bytes, name))) = self.functions.range(..=address).next_back() else {
            return false;
        };
        let is_runtimes = RUNTIMES_ASSEMBLER.contains(name) || matches!(loader.find_location(address), Ok(Some(_)));
        address - start < *bytes
            && (!name.starts_with('_') || name.starts_with("_Z"))
            && !(self.is_static && is_from_c_library(name))
            && !is_runtimes
    }

    fn instruction(&self, back: u64) -> Option<CallTarget> {
        let word = |bytes: &[u8]| Some(i32::from_le_bytes(bytes.try_into().ok()?));
        match self.elf.architecture() {
            object::Architecture::X86_64 => {
                let bytes = self.bytes(back.checked_sub(6)?, 6)?;
                let relative = back.checked_add_signed(word(&bytes[2..])?.into())?;
                match bytes {
                    [0xff, 0x15, ..] => Some(CallTarget::Slot(relative)),
                    [_, 0xe8, ..] => Some(CallTarget::Direct(relative)),
                    _ => None,
                }
            }
            object::Architecture::Aarch64 => {
                let at = back.checked_sub(4)?;
                let word = word(self.bytes(at, 4)?)?;
                let is_call = word as u32 >> 26 == 0b10_0101;
                let offset = i64::from(word << 6 >> 6) * 4;
                is_call.then_some(CallTarget::Direct(at.checked_add_signed(offset)?))
            }
            _ => None,
        }
    }

    /// Returns the slot that contains a linker stub's jump target.
    fn stub_slot(&self, stub: u64) -> Option<u64> {
        const MARK: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];
        let bytes = self.bytes(stub, 16)?;
        let jump = bytes.strip_prefix(MARK).unwrap_or(bytes);
        let jump = jump.strip_prefix(&[0xf2]).unwrap_or(jump);
        let offset = jump.strip_prefix(&[0xff, 0x25])?.first_chunk()?;
        let behind = (bytes.len() - jump.len() + 6) as u64;
        (stub + behind).checked_add_signed(i32::from_le_bytes(*offset).into())
    }

    /// Returns the function whose address the loader writes to a slot.
    fn name_in_slot(&self, slot: u64) -> Option<String> {
        let sections = self.elf.sections();
        let tables = sections.filter(|section| section.name().is_ok_and(|n| n.starts_with(".rela")));
        for table in tables {
            let Ok(data) = table.data() else { continue };
            for entry in data.chunks_exact(RELOCATION_BYTES) {
                let number = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().unwrap_or_default());
                if number(0) != slot {
                    continue;
                }
                let index = object::SymbolIndex((number(8) >> 32) as usize);
                if index.0 == 0 {
                    return self.name_at(number(16));
                }
                let symbols = self.elf.dynamic_symbol_table()?;
                let symbol = symbols.symbol_by_index(index).ok()?;
                return symbol.name().ok().map(Into::into);
            }
        }
        None
    }

    fn name_at(&self, address: u64) -> Option<String> {
        let (_, name) = self.functions.get(&address)?;
        Some((*name).into())
    }

    fn bytes(&self, address: u64, count: usize) -> Option<&'a [u8]> {
        { self.elf.segments() }.find_map(|segment| segment.data_range(address, count as u64).ok().flatten())
    }
}

pub struct Callee {
    /// Address in the program's file; 0 for a function of a library.
    pub address: u64,
    pub name: String,
}

enum CallTarget {
    Direct(u64),
    Slot(u64),
}

/// Checks for a function that the loader resolves at start-up (ifunc), such as the C library's string functions.
fn is_indirect<'a>(symbol: &impl ObjectSymbol<'a>) -> bool {
    const STT_GNU_IFUNC: u8 = 10;
    matches!(symbol.flags(), object::SymbolFlags::Elf { st_info, .. } if st_info.0 & 0xf == STT_GNU_IFUNC)
}

/// Rates the aliases of a function: the lowest is the name that a program calls.
fn rank(name: &str) -> (bool, bool, usize) {
    (name.starts_with('_'), name.starts_with("PMPI_"), name.len())
}

/// Returns the name in the source: headers rename some functions.
fn plain(name: &str) -> String {
    let name = name.split('@').next().unwrap_or(name);
    let checked = { name.strip_prefix("__") }.and_then(|name| name.strip_suffix("_chk"));
    let newer = { name.strip_prefix("__isoc99_") }.or_else(|| name.strip_prefix("__isoc23_"));
    let name = checked.or(newer).unwrap_or(name);
    addr2line::demangle_auto(name.into(), None).into_owned()
}

/// Checks whether this machine's C library contains a function of this name.
fn is_from_c_library(name: &str) -> bool {
    static NAMES: OnceLock<HashSet<String>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let path = maps
            .lines()
            .filter_map(|line| line.split_whitespace().nth(5))
            .find(|path| path.contains("/libc.so"));
        let bytes = path.and_then(|path| std::fs::read(path).ok());
        let bytes = bytes.unwrap_or_default();
        let elf = object::File::parse(&*bytes);
        let symbols = elf.iter().flat_map(|elf| elf.dynamic_symbols());
        symbols
            .filter_map(|symbol| symbol.name().ok().map(Into::into))
            .collect()
    });
    names.contains(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_stand_in_a_program() {
        for (name, expected) in [
            ("strlen", "strlen"),
            ("printf@GLIBC_2.2.5", "printf"),
            ("__printf_chk", "printf"),
            ("__isoc99_sscanf", "sscanf"),
            ("_ZN3foo3barEv", "foo::bar"),
        ] {
            assert!(plain(name).starts_with(expected), "{name}: {}", plain(name));
        }
        assert!(rank("MPI_Recv") < rank("PMPI_Recv") && rank("puts") < rank("_IO_puts"));
        assert!(is_from_c_library("strlen") && !is_from_c_library("main"));
    }

    #[test]
    fn what_is_no_program_tells_nothing() {
        assert!(CalleeFinder::read(b"\x7fELF").is_none());
        let own = std::fs::read("/proc/self/exe").unwrap();
        let own = CalleeFinder::read(&own).unwrap();
        for address in [0, 1, 5, u64::MAX] {
            assert!(own.callee(address).is_none());
        }
    }
}
