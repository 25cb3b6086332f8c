//! The program that the user specified: its files, or a binary of a package.

use crate::build::fortran::{self, FortranCompiler};
use crate::build::inputs::{BuildFlags, FileKind, MANIFEST, OptionScope};
use crate::build::language::{SourceLanguage, is_fortran_object};
use crate::build::package::Package;
use crate::host::error::CliError;
use crate::host::setup::in_path;
use midplane_engines::EngineChoice;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Program that the user specified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Program {
    /// Sources in C, C++, Fortran and assembler, objects (.o) and libraries (.a), at least one.
    C(Vec<PathBuf>),
    /// A single Rust source file that uses `kernel_rt::program!`.
    Rust(PathBuf),
    /// A binary of a cargo package.
    Package(Package),
    Image(PathBuf),
    /// A command of this host, which may load MPI as a shared library: an executable or a script.
    Command(PathBuf),
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
                "several files make up one program only if all are C, C++ or Fortran (.c, .f90, .o, .a); the \
                 program's own arguments follow `--`",
            )),
        }
    }

    /// Finds a command of this host: a file, or a name in PATH.
    ///
    /// # Errors
    /// Returns a usage error if there is none.
    pub fn from_command(command: &OsStr) -> Result<Self, CliError> {
        let path = match command.to_str() {
            Some(name) if !name.contains('/') => in_path(name),
            _ => Some(PathBuf::from(command)).filter(|path| path.is_file()),
        };
        path.map(Self::Command).ok_or_else(|| {
            CliError::usage(format!(
                "{}: there is no such command; a program's own arguments follow the program and `--`",
                command.display()
            ))
        })
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
                (OptionScope::Compile(option) | OptionScope::LinkC(option), Self::Rust(_) | Self::Package(_)) => (
                    option,
                    "is a Rust program, and this option is for C and Fortran programs",
                ),
                (
                    OptionScope::Compile(option) | OptionScope::LinkC(option) | OptionScope::Link(option),
                    Self::Image(_) | Self::Command(_),
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
            Self::Rust(path) | Self::Image(path) | Self::Command(path) => path,
            Self::Package(package) => package.specified_path(),
        }
    }

    /// Checks that the selected board supports the program's languages, before its tools are fetched.
    ///
    /// # Errors
    /// Returns a usage error that contains the file.
    pub fn check_board(&self) -> Result<(), CliError> {
        self.fortran_file().map_or(Ok(()), fortran::check_board)
    }

    /// Returns the first file that requires the library of Fortran: a source or an object.
    pub(super) fn fortran_file(&self) -> Option<&Path> {
        let Self::C(paths) = self else {
            return None;
        };
        let is_fortran = |path: &&PathBuf| SourceLanguage::Fortran.is_of(path) || is_fortran_object(path);
        paths.iter().find(is_fortran).map(PathBuf::as_path)
    }

    /// Returns the compiler that `find` returns for a program with Fortran files; `None` for other programs.
    pub(super) fn fortran_compiler(
        &self,
        find: impl FnOnce(&Path) -> Result<FortranCompiler, CliError>,
    ) -> Result<Option<FortranCompiler>, CliError> {
        self.fortran_file().map(find).transpose()
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
        (!matches!(self, Self::Image(_) | Self::Command(_))).then_some(flags.matching)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::compiler::ScratchDirectory;
    use std::fs;
    use std::slice;

    #[test]
    fn a_program_is_known_by_its_name_or_content() {
        let dir = ScratchDirectory::new(&std::env::temp_dir()).unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = dir.0.join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let is = |path: &PathBuf| Program::classify(slice::from_ref(path), None);
        let c = file("a.c", b"");
        assert_eq!(is(&c), Ok(Program::C(vec![c.clone()])));
        let several = [c.clone(), file("b.o", b""), file("c.S", b"")];
        assert_eq!(Program::classify(&several, None), Ok(Program::C(several.to_vec())));
        let rust = file("a.rs", b"");
        assert_eq!(is(&rust), Ok(Program::Rust(rust.clone())));
        let image = file("a", b"\x7fELF....");
        assert_eq!(is(&image), Ok(Program::Image(image.clone())));
        let named_as_source = file("a.f08", b"\x7fELF....");
        assert_eq!(is(&named_as_source), Ok(Program::Image(named_as_source.clone())));
        let none = dir.0.join("none.c");
        for paths in [
            vec![file("a.txt", b"hello")],
            vec![file("b", b"")],
            vec![none.clone()],
            vec![dir.0.clone()],
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
        let dir = ScratchDirectory::new(&std::env::temp_dir()).unwrap();
        for (name, language) in [("a.py", "Python"), ("a.cu", "CUDA")] {
            let path = dir.0.join(name);
            fs::write(&path, "").unwrap();
            let error = Program::classify(slice::from_ref(&path), None).unwrap_err();
            for word in [
                &format!("{name} is {language},"),
                "C (.c",
                "Fortran (.f90",
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
        let dir = ScratchDirectory::new(&std::env::temp_dir()).unwrap();
        let file = |name: &str| {
            let path = dir.0.join(name);
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
}
