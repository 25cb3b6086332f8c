//! Build options, and kinds of files.

use crate::build::board::Board;
use crate::build::language::SourceLanguage;
use crate::host::error::CliError;
use crate::host::size;
use midplane_engines::EngineChoice;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::Path;

/// Environment variable with which the compiler wrapper links the recorder of MPI calls, if it is not empty.
pub const RECORD: &str = "MIDPLANE_RECORD";

#[derive(Clone, Default, Debug)]
pub struct BuildFlags {
    /// Additional arguments for the C compiler's compile step.
    pub compile: Vec<OsString>,
    /// Additional arguments for its link step.
    pub link: Vec<OsString>,
    /// Stack size in bytes; `None`: use the linker script's default.
    pub stack: Option<u64>,
    /// Matching engine of an image for nodes, selected by the linker. A native process contains all engines.
    pub matching: EngineChoice,
    /// Enables fault injection on links.
    pub faults: bool,
    /// Enables detection of the nodes' coordinates from the wiring.
    pub auto: bool,
    /// Enables a serial console.
    pub console: bool,
    /// Enables jobs in several instances.
    pub instances: bool,
    /// Enables the kernel's log.
    pub log: bool,
    /// Enables loans from the heap to the MPI device.
    pub borrow: bool,
    /// Links the program with the recorder of its MPI calls.
    pub recorder: bool,
    /// Reports the program's accesses to memory to the recorder. For native processes only.
    pub accesses: bool,
    /// Links MPI's functions for Fortran and Fortran's library. The build sets it for a program with Fortran files.
    pub fortran: bool,
}

/// Build configuration of the runtime.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct RuntimeFeatures {
    /// Fault injection on links.
    pub(super) faults: bool,
    /// Optional job features: log, several instances, detection of coordinates and console.
    pub(super) options: bool,
    /// Loans from the heap to the MPI device.
    pub(super) borrow: bool,
    /// MPI's functions for Fortran. Not a feature of the kernel: the runtime contains an additional crate.
    pub(super) fortran: bool,
}

impl RuntimeFeatures {
    /// Returns the features of the kernel crate.
    pub(super) fn features(self) -> Vec<&'static str> {
        let more = [
            (self.faults, "faults"),
            (self.options, "options"),
            (self.borrow, "borrow"),
        ];
        { more.into_iter() }
            .filter_map(|(has, name)| has.then_some(name))
            .collect()
    }
}

impl BuildFlags {
    /// Returns the flags for an image. An image with one optional feature contains all that this board's jobs support,
    /// so that few runtimes are compiled and all of them are tested. Fault injection changes the link type and stays
    /// separate.
    pub(super) fn for_nodes(&self) -> Self {
        let mut flags = self.clone();
        match Board::chosen() {
            Board::Virt if self.instances || self.log || self.borrow || self.faults => {
                (flags.instances, flags.log, flags.borrow) = (true, true, true);
            }
            Board::Stm32f405 if self.auto || self.console || self.log || self.faults => {
                (flags.auto, flags.console, flags.log) = (true, true, true);
            }
            Board::Virt | Board::Stm32f405 => {}
        }
        flags
    }

    /// Returns the flags for a native program, where size does not matter. Each process supports log and loans on
    /// request, and is one node.
    pub(super) fn for_processes(&self) -> Self {
        Self {
            auto: false,
            console: false,
            instances: false,
            log: false,
            borrow: true,
            matching: EngineChoice::default(),
            ..self.clone()
        }
    }

    /// Returns the symbols that override the board's linker script.
    pub(super) fn symbols(&self) -> Vec<String> {
        let stack = self.stack.map(|bytes| format!("MIDPLANE_STACK_BYTES={bytes}"));
        let matching = (self.matching != Board::chosen().matching())
            .then(|| format!("midplane_matching=midplane_matching_{}", self.matching));
        { stack.into_iter().chain(matching) }
            .map(|symbol| format!("-Wl,--defsym={symbol}"))
            .collect()
    }

    /// Returns the required runtime.
    pub(super) fn runtime(&self) -> RuntimeFeatures {
        RuntimeFeatures {
            faults: self.faults,
            options: self.auto || self.console || self.instances || self.log,
            borrow: self.borrow,
            fortran: self.fortran,
        }
    }
}

/// An option and the build step that uses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionScope {
    /// Compiling C, C++ or Fortran.
    Compile(&'static str),
    /// Linking a program in these languages.
    LinkC(&'static str),
    /// Linking any program.
    Link(&'static str),
}

/// Manifest of a package.
pub(super) const MANIFEST: &str = "Cargo.toml";

/// Kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FileKind {
    Source,
    Object,
    Rust,
    Package,
    Image,
}

impl FileKind {
    /// Checks whether the compiler lists the headers that it reads for a source.
    pub(super) fn lists_headers(path: &Path) -> bool {
        !SourceLanguage::Fortran.is_of(path) && path.extension().is_none_or(|extension| extension != "s")
    }

    /// Determines the kind from name and content.
    pub(super) fn from_path(path: &Path) -> Result<Self, CliError> {
        let shown = path.display();
        let mut file = fs::File::open(path)
            .map_err(|error| CliError::usage(format!("cannot read the program {shown}: {error}")))?;
        if file.metadata().is_ok_and(|m| m.is_dir()) {
            if path.join(MANIFEST).is_file() {
                return Ok(Self::Package);
            }
            return Err(CliError::usage(format!(
                "{shown} is a directory without a {MANIFEST}: specify a program or the directory of a package"
            )));
        }
        if path.file_name().is_some_and(|name| name == MANIFEST) {
            return Ok(Self::Package);
        }
        let mut magic = [0; 4];
        let is_elf = file.read_exact(&mut magic).is_ok() && magic == *b"\x7fELF";
        match path.extension().and_then(|e| e.to_str()) {
            // A linked program may have any name, such as `solver.f08`.
            _ if !is_elf && SourceLanguage::from_path(path).is_some() => return Ok(Self::Source),
            Some("o" | "a") => return Ok(Self::Object),
            Some("rs") => return Ok(Self::Rust),
            Some(extension) => {
                if let Some(language) = other_language(extension) {
                    return Err(CliError::usage(format!(
                        "{shown} is {language}, which is not supported: programs are C (.c, .s, .S, .o, .a), \
                         Fortran (.f90, .f), Rust (.rs) or, with --on linux, C++ (.cpp); rewrite the code that calls \
                         MPI in one of these"
                    )));
                }
            }
            None => {}
        }
        if is_elf {
            return Ok(Self::Image);
        }
        Err(CliError::usage(format!(
            "{shown} is neither C (.c, .s, .S, .o, .a), nor Fortran (.f90, .f), nor a Rust file (.rs) or package, nor a \
             linked image"
        )))
    }
}

/// Returns the language of a file extension that MPI programs use but nodes do not support.
fn other_language(extension: &str) -> Option<&'static str> {
    match extension {
        "cu" => Some("CUDA"),
        "py" => Some("Python"),
        _ => None,
    }
}

/// Checks the user's stack size.
pub fn check_stack(bytes: u64) -> Result<(), CliError> {
    let (least, unit) = Board::chosen().min_stack();
    if bytes >= least && bytes.is_multiple_of(unit) {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "--stack {} must be a multiple of {} and at least {}",
        size::exact(bytes),
        size::exact(unit),
        size::exact(least)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_for_anything_shares_a_runtime() {
        let plain = BuildFlags::default();
        assert_eq!(plain.for_nodes().runtime(), RuntimeFeatures::default());
        let features = |flags: BuildFlags| flags.for_nodes().runtime().features();
        let (instances, log, borrow, faults) = (true, true, true, true);
        let all = ["options", "borrow"];
        for flags in [
            BuildFlags {
                instances,
                ..plain.clone()
            },
            BuildFlags { log, ..plain.clone() },
            BuildFlags {
                borrow,
                ..plain.clone()
            },
        ] {
            assert_eq!(features(flags), all);
        }
        let with_faults = features(BuildFlags {
            faults,
            ..plain.clone()
        });
        assert_eq!(with_faults, [&["faults"], &all[..]].concat());
        assert_eq!(plain.for_processes().runtime().features(), ["borrow"]);
    }

    #[test]
    fn stacks_have_a_least_size_and_whole_pages() {
        assert!(check_stack(16 << 10).is_ok());
        assert!(check_stack(12 << 10).is_err());
        assert!(check_stack((16 << 10) + 1).is_err());
    }
}
