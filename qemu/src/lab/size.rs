//! `midplane size`: composition of a program's linked image, by layer and part.
//!
//! Functions are attributed to their source file, by the image's debug information; variables to the module in their
//! name. Unnamed content (constants, gaps, address tables) is listed under its section.

use crate::build::board::Board;
use crate::build::image::Image;
use crate::build::inputs::BuildFlags;
use crate::build::source::Program;
use crate::host::error::CliError;
use crate::host::setup;
use crate::run::limits;
use crate::show::console::print_line;
use crate::show::table::{Column, Table};
use clap::Args;
use kernel_rt::board::stm32f405::memory::{self, HeapNeeds};
use midplane_abi::stm32f405::{FLASH, PERSONALITY, RAM};
use midplane_device::matching::EngineKind;
use midplane_engines::EngineChoice;
use object::elf::SHF_ALLOC;
use object::{File, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Options of `midplane size`.
#[derive(Args, Debug)]
#[command(after_help = "Example: cargo midplane size --board stm32f405 main.c")]
pub struct SizeArgs {
    /// Board of the image
    #[arg(long, value_name = "BOARD", value_enum, default_value_t = Board::Virt)]
    board: Board,

    /// Matching engine of the image [default: default; on stm32f405: list]
    #[arg(long, value_name = "NAME", value_parser = limits::matching())]
    matching: Option<EngineChoice>,

    /// Binary of a package that contains several
    #[arg(long, value_name = "NAME")]
    bin: Option<String>,

    /// Program, as for `run`: C files, a Rust file, the directory of a package or a linked image
    #[arg(value_name = "PROGRAM", required = true)]
    program: Vec<PathBuf>,
}

/// Layers from the program down, by crate name, and the remaining content.
const LAYERS: [&str; 8] = [
    "program",
    "C library",
    "mpi-adi",
    "msg-layer",
    "net-torus",
    "kernel-rt",
    "Rust's own",
    "no name",
];
const PROGRAM: usize = 0;
const C_LIBRARY: usize = 1;
const MPI: usize = 2;
const KERNEL: usize = 5;
const RUST: usize = 6;
const NO_NAME: usize = 7;
/// The part of the kernel shared with the tool, a separate crate.
const ABI: &str = "abi";
/// Crates inside the directory of a layer, each with its layer. A crate `midplane-x` is in the directory `x` and is the
/// part `x`; of the layer MPI, its modules are parts too.
const INNER_CRATES: [(usize, &str); 6] = [
    (KERNEL, ABI),
    (MPI, "device"),
    (MPI, "engines"),
    (MPI, "objects"),
    (MPI, "c"),
    (MPI, "rust"),
];

/// Bytes by kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct SectionBytes {
    text: u64,
    constants: u64,
    data: u64,
    zeroed: u64,
}

impl SectionBytes {
    fn from_section(kind: SectionKind, bytes: u64) -> Self {
        let mut all = Self::default();
        *match kind {
            SectionKind::Text => &mut all.text,
            SectionKind::ReadOnlyData | SectionKind::ReadOnlyString => &mut all.constants,
            SectionKind::UninitializedData | SectionKind::UninitializedTls => &mut all.zeroed,
            _ => &mut all.data,
        } = bytes;
        all
    }

    fn add(&mut self, other: Self) {
        self.text += other.text;
        self.constants += other.constants;
        self.data += other.data;
        self.zeroed += other.zeroed;
    }

    fn sum(&self) -> u64 {
        self.text + self.constants + self.data + self.zeroed
    }
}

/// A part: index of its layer, and its name there.
type ImagePart = (usize, String);

struct SizeRow {
    layer: &'static str,
    part: String,
    bytes: SectionBytes,
}

const TABLE: Table<SizeRow> = Table {
    columns: &[
        Column::left("layer", 10, |row| row.layer.into()),
        Column::left("part", 24, |row| row.part.clone()),
        Column::right("text", 8, |row| row.bytes.text.to_string()),
        Column::right("constants", 9, |row| row.bytes.constants.to_string()),
        Column::right("data", 8, |row| row.bytes.data.to_string()),
        Column::right("zeroed", 8, |row| row.bytes.zeroed.to_string()),
    ],
    keys: 2,
    gap: 1,
};

/// Builds the program and prints the table; returns the exit status.
pub fn run(options: &SizeArgs) -> Result<u8, CliError> {
    midplane_setup::toolchain::choose(options.board.toolchain());
    let program = Program::classify(&options.program, options.bin.as_deref())?;
    let flags = BuildFlags {
        matching: { options.matching }.unwrap_or_else(|| Board::chosen().matching()),
        ..BuildFlags::default()
    };
    let image = program.build(&setup::ensure()?, &flags)?;
    let parts = parts(&image)?;
    print_line(TABLE.lines(&rows(&parts)).join("\n"))?;
    if options.board == Board::Stm32f405 {
        print_line(stm32f405_lines(&parts).join("\n"))?;
    }
    Ok(0)
}

// Node of the RAM sum: all its lines are links.
const LINKS: usize = 6;
const NODES: u32 = 8;
const MPI_MEMORY: u64 = 8 << 10;

/// Returns lines about the usage of flash and RAM, including memory outside of the image.
fn stm32f405_lines(parts: &BTreeMap<ImagePart, SectionBytes>) -> Vec<String> {
    let mut all = SectionBytes::default();
    parts.values().for_each(|part| all.add(*part));
    let stacks = parts.get(&(NO_NAME, ".stacks".to_string()));
    let stacks = stacks.map_or(0, SectionBytes::sum);
    let program: u64 = { parts.iter() }
        .filter(|((layer, _), _)| *layer == PROGRAM)
        .map(|(_, bytes)| bytes.data + bytes.zeroed)
        .sum();
    let (flash, ram) = (all.text + all.constants + all.data, all.data + all.zeroed);
    let kernel = ram - stacks - program;
    let needs = HeapNeeds::for_node(&EngineKind::STANDARD, LINKS, MPI_MEMORY, NODES);
    let (node, tables) = (needs.kernel(), needs.tables);
    let requests = memory::REQUESTS_BYTES as u64;
    let traps = stacks.saturating_sub(memory::STACK_BYTES);
    let own = kernel + traps + node + requests + tables;
    vec![
        String::new(),
        format!(
            "flash: {flash} of {} bytes (text, constants, initial values of data)",
            PERSONALITY.start - FLASH.start
        ),
        format!(
            "RAM: {ram} of {} bytes: {stacks} stacks, {kernel} kernel and C library, {program} program",
            RAM.len()
        ),
        format!(
            "heap, maximum: {node} node, router and six links, {requests} initial requests, {tables} tables for \
             {NODES} nodes"
        ),
        format!(
            "total without the program's stack and data, and {MPI_MEMORY} bytes of MPI memory: {own} bytes at most"
        ),
    ]
}

/// Returns a row for each part in descending order, after one for its layer, and one for the total.
fn rows(parts: &BTreeMap<ImagePart, SectionBytes>) -> Vec<SizeRow> {
    let mut rows = Vec::new();
    let mut all = SectionBytes::default();
    for (number, layer) in LAYERS.into_iter().enumerate() {
        let mut own: Vec<SizeRow> = { parts.iter() }
            .filter(|((of, _), _)| *of == number)
            .map(|((_, part), bytes)| SizeRow {
                layer: "",
                part: part.clone(),
                bytes: *bytes,
            })
            .collect();
        own.sort_by_key(|row| std::cmp::Reverse(row.bytes.sum()));
        let mut bytes = SectionBytes::default();
        own.iter().for_each(|row| bytes.add(row.bytes));
        if bytes.sum() == 0 {
            continue;
        }
        all.add(bytes);
        rows.push(SizeRow {
            layer,
            part: String::new(),
            bytes,
        });
        rows.append(&mut own);
    }
    rows.push(SizeRow {
        layer: "all",
        part: String::new(),
        bytes: all,
    });
    rows
}

/// Returns the composition of the image.
fn parts(image: &Image) -> Result<BTreeMap<ImagePart, SectionBytes>, CliError> {
    let unreadable =
        |error: &dyn std::fmt::Display| CliError::failure(format!("cannot read {}: {error}", image.path.display()));
    let elf = File::parse(&*image.bytes).map_err(|error| unreadable(&error))?;
    let loader = addr2line::Loader::new(&image.path).map_err(|error| unreadable(&error))?;
    let mut symbols: Vec<_> = { elf.symbols() }
        .filter(|symbol| symbol.size() > 0)
        .filter_map(|symbol| {
            let at = match symbol.kind() {
                SymbolKind::Text => image.board.return_address(symbol.address()),
                _ => symbol.address(),
            };
            Some((symbol.section_index()?, at, symbol))
        })
        .collect();
    // For several symbols at one address, the longest counts.
    symbols.sort_by_key(|(section, at, symbol)| (section.0, *at, std::cmp::Reverse(symbol.size())));
    let mut parts: BTreeMap<ImagePart, SectionBytes> = BTreeMap::new();
    for section in elf.sections().filter(is_in_memory) {
        let index = section.index();
        let kind = match section.name() {
            // Linked as writable; page tables protect it from programs.
            Ok(".rodata") => SectionKind::ReadOnlyData,
            _ => section.kind(),
        };
        let end = section.address() + section.size();
        let (mut at, mut named) = (section.address(), 0);
        let own = symbols.iter().filter(|(of, ..)| *of == index);
        for (_, start, symbol) in own {
            let stop = (start + symbol.size()).min(end);
            let bytes = stop.saturating_sub(at.max(*start));
            if bytes == 0 {
                continue;
            }
            at = stop;
            named += bytes;
            let name = symbol.name().unwrap_or_default();
            let part = match kind {
                SectionKind::Text => of_code(&loader, *start, name),
                _ => of_name(name),
            };
            parts
                .entry(part)
                .or_default()
                .add(SectionBytes::from_section(kind, bytes));
        }
        let section_bytes = section.size();
        let section = section.name().unwrap_or_default().to_string();
        let rest = SectionBytes::from_section(kind, section_bytes - named);
        if rest.sum() > 0 {
            parts.entry((NO_NAME, section)).or_default().add(rest);
        }
    }
    Ok(parts)
}

/// Checks whether a section occupies a node's memory. Some linkers set this flag for the tables that the tool uses for
/// unwinding.
fn is_in_memory<'a>(section: &impl ObjectSection<'a>) -> bool {
    if section.name() == Ok(".eh_frame") {
        return false;
    }
    match section.flags() {
        object::SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(SHF_ALLOC),
        _ => false,
    }
}

/// Returns the part of a function, by its own file and not by those of inlined code.
fn of_code(loader: &addr2line::Loader, at: u64, name: &str) -> ImagePart {
    let mut file = None;
    if let Ok(mut frames) = loader.find_frames(at) {
        while let Ok(Some(frame)) = frames.next() {
            let place = frame.location.and_then(|location| location.file);
            file = place.map(str::to_string).or(file);
        }
    }
    file.as_deref().map_or_else(|| of_name(name), of_file)
}

fn of_file(file: &str) -> ImagePart {
    for (layer, name) in INNER_CRATES {
        if let Some((_, rest)) = file.split_once(&format!("{}/{name}/src/", LAYERS[layer])) {
            return (layer, part_of_inner(layer, name, rest.split('/')));
        }
    }
    for (number, layer) in LAYERS.iter().enumerate() {
        if let Some((_, rest)) = file.split_once(&format!("{layer}/src/")) {
            return (number, part_of(rest.split('/')));
        }
    }
    let file_name = || file.rsplit('/').next().unwrap_or(file).to_string();
    if ["newlib/libc/", "newlib/libm/"].iter().any(|dir| file.contains(dir)) {
        let dir = file.split("newlib/").nth(1).unwrap_or_default();
        let part = dir.split('/').take(2).collect::<Vec<_>>().join("/");
        return (C_LIBRARY, part);
    }
    if file.contains("libgcc") {
        return (C_LIBRARY, "libgcc".into());
    }
    if file.ends_with(".rs") {
        (RUST, library_name(file))
    } else {
        (PROGRAM, file_name())
    }
}

/// Formatting of values; a C program's image contains none of it.
const FORMATTING: &str = "core/fmt";

/// Returns the Rust library of a file: the directory that contains `src`, without a version.
fn library_name(file: &str) -> String {
    if file.contains("core/src/fmt/") {
        return FORMATTING.into();
    }
    let dir = file.rsplit_once("/src/").map_or(file, |(dir, _)| dir);
    let name = dir.rsplit('/').next().unwrap_or(dir);
    let version = name.rfind(|c: char| !(c.is_ascii_digit() || c == '.'));
    match version {
        Some(dash) if name.as_bytes()[dash] == b'-' => name[..dash].into(),
        _ => name.into(),
    }
}

/// The part with this path in a layer: its first step, without the suffix of a file.
fn part_of<'p>(mut path: impl Iterator<Item = &'p str>) -> String {
    path.next().unwrap_or_default().trim_end_matches(".rs").into()
}

/// The part with this path in an inner crate.
fn part_of_inner<'p>(layer: usize, name: &str, path: impl Iterator<Item = &'p str>) -> String {
    match layer {
        MPI => format!("{name}/{}", part_of(path)),
        _ => name.into(),
    }
}

/// Returns the part of a symbol, by its name.
fn of_name(name: &str) -> ImagePart {
    let Some(path) = addr2line::demangle(name, gimli::DW_LANG_Rust) else {
        return if name.starts_with("MIDPLANE_") || name.starts_with("__") {
            (KERNEL, ABI.into())
        } else {
            (PROGRAM, "and C library: data".into())
        };
    };
    // `<midplane_c::A as core::B>::C`: Midplane's crate counts.
    let mut words = path.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    let ours = words.find_map(|word| {
        let mut steps = word.split("::");
        let of = steps.next()?.replace('_', "-");
        // The last component is the symbol's own name.
        let steps: Vec<&str> = steps.collect();
        let modules = steps.iter().take(steps.len().saturating_sub(1).max(1));
        let is_it = |inner: &&(usize, &str)| of.strip_prefix("midplane-") == Some(inner.1);
        if let Some(&inner) = INNER_CRATES.iter().find(is_it) {
            return Some((inner.0, part_of_inner(inner.0, inner.1, modules.copied())));
        }
        let number = LAYERS.iter().position(|layer| *layer == of)?;
        Some((number, part_of(modules.copied())))
    });
    ours.unwrap_or_else(|| {
        let own = path.trim_start_matches(['<', '&']);
        (RUST, own.split("::").next().unwrap_or(own).to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_belongs_to_its_file() {
        for (file, layer, part) in [
            ("/a/mpi-adi/device/src/send/transmit.rs", "mpi-adi", "device/send"),
            ("/a/mpi-adi/c/src/args.rs", "mpi-adi", "c/args"),
            ("/a/net-torus/src/router.rs", "net-torus", "router"),
            ("/a/kernel-rt/src/board/virt/boot.rs", "kernel-rt", "board"),
            ("/a/kernel-rt/abi/src/inbox.rs", "kernel-rt", "abi"),
            ("../newlib/libc/tinystdio/vfprintf.c", "C library", "libc/tinystdio"),
            ("../../../libgcc/config/riscv/div.S", "C library", "libgcc"),
            ("/rustc/1/library/core/src/str/mod.rs", "Rust's own", "core"),
            ("/rustc/1/library/core/src/fmt/mod.rs", "Rust's own", "core/fmt"),
            ("/r/src/index-1/bitvec-1.0.1/src/slice.rs", "Rust's own", "bitvec"),
            ("/home/me/killer.c", "program", "killer.c"),
        ] {
            let (number, is) = of_file(file);
            assert_eq!((LAYERS[number], is.as_str()), (layer, part), "{file}");
        }
    }

    #[test]
    fn variables_belong_to_the_module_in_their_name() {
        for (name, layer, part) in [
            (
                "_ZN9kernel_rt4libc7process9WRITE_OUT17h0123456789abcdefE",
                "kernel-rt",
                "libc",
            ),
            (
                "_ZN15midplane_device4send5start4LAST17h0123456789abcdefE",
                "mpi-adi",
                "device/send",
            ),
            ("_ZN10midplane_c6report4LAST17h0123456789abcdefE", "mpi-adi", "c/report"),
            ("_ZN4core7unicode4DATA17h0123456789abcdefE", "Rust's own", "core"),
            ("pieces", "program", "and C library: data"),
        ] {
            let (number, is) = of_name(name);
            assert_eq!((LAYERS[number], is.as_str()), (layer, part), "{name}");
        }
    }

    #[test]
    fn rows_add_up() {
        let bytes = |text| SectionBytes {
            text,
            ..SectionBytes::default()
        };
        let parts = [
            ((2, "a".to_string()), bytes(1)),
            ((2, "b".to_string()), bytes(5)),
            ((5, "c".to_string()), bytes(7)),
        ];
        let rows = rows(&parts.into_iter().collect());
        let seen: Vec<_> = rows.iter().map(|r| (r.layer, r.part.as_str(), r.bytes.text)).collect();
        let expected = [
            ("mpi-adi", "", 6),
            ("", "b", 5),
            ("", "a", 1),
            ("kernel-rt", "", 7),
            ("", "c", 7),
            ("all", "", 13),
        ];
        assert_eq!(seen, expected);
    }
}
