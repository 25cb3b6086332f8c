//! Build inputs: the user's files and options.

use crate::build::board::Board;
use crate::build::package::Package;
use crate::host::error::CliError;
use crate::host::size;
use midplane_engines::EngineChoice;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Program that the user specified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Program {
    /// C source files (.c, .s, .S), objects (.o) and libraries (.a), at least one.
    C(Vec<PathBuf>),
    /// A single Rust source file that uses `kernel_rt::program!`.
    Rust(PathBuf),
    /// A binary of a cargo package.
    Package(Package),
    Image(PathBuf),
}

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
        let stack = self
            .stack
            .map(|bytes| format!("MIDPLANE_STACK_BYTES={bytes}"));
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
        }
    }
}

/// An option and the build step that uses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionScope {
    /// Compiling C.
    Compile(&'static str),
    /// Linking a C program.
    LinkC(&'static str),
    /// Linking any program.
    Link(&'static str),
}

/// Manifest of a package.
const MANIFEST: &str = "Cargo.toml";

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
    /// Checks whether a source is C++ by its extension.
    pub(super) fn is_cpp(path: &Path) -> bool {
        matches!(
            path.extension().and_then(|e| e.to_str()),
            Some("cc" | "cpp" | "cxx" | "c++" | "C" | "CPP" | "cp")
        )
    }

    /// Checks whether the compiler reads headers for a source.
    pub(super) fn reads_headers(path: &Path) -> bool {
        path.extension().is_none_or(|extension| extension != "s")
    }

    /// Determines the kind from name and content.
    pub(super) fn from_path(path: &Path) -> Result<Self, CliError> {
        let shown = path.display();
        let mut file = fs::File::open(path).map_err(|error| {
            CliError::usage(format!("cannot read the program {shown}: {error}"))
        })?;
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
        match path.extension().and_then(|e| e.to_str()) {
            _ if Self::is_cpp(path) => return Ok(Self::Source),
            Some("c" | "s" | "S") => return Ok(Self::Source),
            Some("o" | "a") => return Ok(Self::Object),
            Some("rs") => return Ok(Self::Rust),
            Some(extension) => {
                if let Some(language) = other_language(extension) {
                    return Err(CliError::usage(format!(
                        "{shown} is {language}, which is not supported: programs are C (.c, .s, .S, .o, .a), Rust \
                         (.rs) or, with --on linux, C++ (.cpp); rewrite the code that calls MPI in C"
                    )));
                }
            }
            None => {}
        }
        let mut magic = [0; 4];
        match file.read_exact(&mut magic) {
            Ok(()) if magic == *b"\x7fELF" => Ok(Self::Image),
            _ => Err(CliError::usage(format!(
                "{shown} is neither C (.c, .s, .S, .o, .a), nor a Rust file (.rs) or package, nor a linked image"
            ))),
        }
    }
}

/// Returns the language of a file extension that MPI programs use but nodes do not support.
fn other_language(extension: &str) -> Option<&'static str> {
    match extension {
        "f" | "for" | "ftn" | "f77" | "f90" | "f95" | "f03" | "f08" | "F" | "FOR" | "F77"
        | "F90" | "F95" | "F03" | "F08" => Some("Fortran"),
        "cu" => Some("CUDA"),
        "py" => Some("Python"),
        _ => None,
    }
}

impl Program {
    /// Determines the program that the files form; `binary` selects a package's binary.
    pub fn classify(paths: &[PathBuf], binary: Option<&str>) -> Result<Self, CliError> {
        let program = Self::from_files(paths, binary)?;
        match (binary, &program) {
            (None, _) | (_, Self::Package(_)) => Ok(program),
            (Some(name), _) => Err(CliError::usage(format!(
                "--bin {name}: {} is no package; omit this option",
                program.path().display()
            ))),
        }
    }

    fn from_files(paths: &[PathBuf], binary: Option<&str>) -> Result<Self, CliError> {
        let Some((first, others)) = paths.split_first() else {
            return Err(CliError::usage("give a program"));
        };
        let kind = FileKind::from_path(first)?;
        if let Some(missing) = others.iter().find(|path| !path.exists()) {
            return Err(CliError::usage(format!(
                "cannot read {}: there is no such file; the program's own arguments follow `--`",
                missing.display()
            )));
        }
        let kinds = others
            .iter()
            .map(|path| FileKind::from_path(path))
            .collect::<Result<Vec<_>, _>>()?;
        let is_c = |kind: FileKind| matches!(kind, FileKind::Source | FileKind::Object);
        if is_c(kind) && kinds.iter().all(|kind| is_c(*kind)) {
            return Ok(Self::C(paths.to_vec()));
        }
        match (kind, others) {
            (FileKind::Rust, []) => {
                let package = Package::from_file(first)?;
                Ok(package.map_or_else(|| Self::Rust(first.clone()), Self::Package))
            }
            (FileKind::Package, []) => {
                let manifest = if first.is_dir() {
                    first.join(MANIFEST)
                } else {
                    first.clone()
                };
                Package::find(first, &manifest, binary).map(Self::Package)
            }
            (FileKind::Image, []) => Ok(Self::Image(first.clone())),
            _ => Err(CliError::usage(
                "several files make up one program only if all are C (.c, .o, .a); the program's own \
                 arguments follow `--`",
            )),
        }
    }

    /// Checks that each option has an effect on this program.
    ///
    /// # Errors
    /// Returns a usage error that contains the option and the reason.
    pub fn check_flags(&self, given: &[OptionScope]) -> Result<(), CliError> {
        let has_source = |paths: &[PathBuf]| {
            paths
                .iter()
                .any(|path| matches!(FileKind::from_path(path), Ok(FileKind::Source)))
        };
        for option in given {
            let (option, why) = match (option, self) {
                (OptionScope::Compile(option), Self::C(paths)) if !has_source(paths) => {
                    (option, "has been compiled already")
                }
                (
                    OptionScope::Compile(option) | OptionScope::LinkC(option),
                    Self::Rust(_) | Self::Package(_),
                ) => (
                    option,
                    "is a Rust program, and this option is for C programs",
                ),
                (
                    OptionScope::Compile(option)
                    | OptionScope::LinkC(option)
                    | OptionScope::Link(option),
                    Self::Image(_),
                ) => (option, "has been linked already"),
                _ => continue,
            };
            return Err(CliError::usage(format!(
                "{option} does nothing here: {} {why}; omit it",
                self.path().display()
            )));
        }
        Ok(())
    }

    /// Returns the first file that the user specified.
    pub fn path(&self) -> &Path {
        match self {
            Self::C(paths) => &paths[0],
            Self::Rust(path) | Self::Image(path) => path,
            Self::Package(package) => package.specified_path(),
        }
    }

    /// Returns the program's name: its first file's without extension, or a package's binary's.
    pub fn name(&self) -> String {
        if let Self::Package(package) = self {
            return package.binary().into();
        }
        self.path()
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// Returns the matching engine of its image, unless the image was linked before.
    pub fn matching(&self, flags: &BuildFlags) -> Option<EngineChoice> {
        (!matches!(self, Self::Image(_))).then_some(flags.matching)
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
    use crate::build::compiler::ScratchDirectory;
    use std::slice;

    #[test]
    fn a_program_is_known_by_its_name_or_content() {
        let folder = ScratchDirectory::new(&std::env::temp_dir()).unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = folder.0.join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let is = |path: &PathBuf| Program::classify(slice::from_ref(path), None);
        let c = file("a.c", b"");
        assert_eq!(is(&c), Ok(Program::C(vec![c.clone()])));
        let several = [c.clone(), file("b.o", b""), file("c.S", b"")];
        assert_eq!(
            Program::classify(&several, None),
            Ok(Program::C(several.to_vec()))
        );
        let rust = file("a.rs", b"");
        assert_eq!(is(&rust), Ok(Program::Rust(rust.clone())));
        let image = file("a", b"\x7fELF....");
        assert_eq!(is(&image), Ok(Program::Image(image.clone())));
        let none = folder.0.join("none.c");
        for paths in [
            vec![file("a.txt", b"hello")],
            vec![file("b", b"")],
            vec![none.clone()],
            vec![folder.0.clone()],
            vec![c.clone(), rust.clone()],
            vec![rust, c.clone()],
            vec![image, c.clone()],
            vec![c, none],
            vec![],
        ] {
            let error = Program::classify(&paths, None).unwrap_err();
            assert_eq!(error.status, crate::host::error::USAGE, "{error}");
            assert!(!error.message.contains('\n'), "{error}");
        }
    }

    #[test]
    fn other_languages_are_named_with_what_is_supported() {
        let folder = ScratchDirectory::new(&std::env::temp_dir()).unwrap();
        for (name, language) in [("a.f90", "Fortran"), ("a.F", "Fortran"), ("a.cu", "CUDA")] {
            let path = folder.0.join(name);
            fs::write(&path, "").unwrap();
            let error = Program::classify(slice::from_ref(&path), None).unwrap_err();
            for word in [
                &format!("{name} is {language},"),
                "C (.c",
                "Rust (.rs)",
                "C++ (.cpp)",
            ] {
                assert!(error.message.contains(word), "{error}");
            }
            assert_eq!(error.status, crate::host::error::USAGE);
        }
    }

    #[test]
    fn options_that_a_program_does_not_heed_are_refused() {
        let folder = ScratchDirectory::new(&std::env::temp_dir()).unwrap();
        let file = |name: &str| {
            let path = folder.0.join(name);
            fs::write(&path, "").unwrap();
            path
        };
        let compile = OptionScope::Compile("-D");
        let (link_c, link) = (OptionScope::LinkC("-l"), OptionScope::Link("--stack"));
        let (source, object) = (file("a.c"), file("b.o"));
        for (program, heeded, not) in [
            (
                Program::C(vec![object.clone(), source]),
                &[compile, link_c, link][..],
                &[][..],
            ),
            (Program::C(vec![object]), &[link_c, link], &[compile]),
            (Program::Rust("a.rs".into()), &[link], &[compile, link_c]),
            (Program::Image("a".into()), &[], &[compile, link_c, link]),
        ] {
            assert_eq!(program.check_flags(heeded), Ok(()), "{program:?}");
            for &option in not {
                let stop = program.check_flags(&[option]).unwrap_err();
                assert_eq!(stop.status, crate::host::error::USAGE);
                assert!(stop.message.contains("does nothing here"), "{stop}");
            }
        }
    }

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
            BuildFlags {
                log,
                ..plain.clone()
            },
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
