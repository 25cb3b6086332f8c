//! Fortran: the compiler of each platform, its options, the module files of MPI, and its library.
//!
//! ```text
//!   Linux processes, simulator   gfortran, or the compiler in MIDPLANE_FC (gfortran or flang)
//!   nodes                        Debian's gfortran for riscv64, with the assembler of the nodes' C compiler
//! ```
//! The modules `mpi` and `mpi_f08` contain no code. They are compiled once per compiler, and no object of them is
//! linked.

use crate::build::board::Board;
use crate::build::build_cache::{self, not_created};
use crate::build::compiler::{OPENMP, ScratchDirectory, is_for_nodes};
use crate::build::diagnostics::CompilerOutput;
use crate::build::language::{MODULE_DIRECTORY, SourceLanguage, options_for};
use crate::build::renamed::{Renaming, rename_symbols};
use crate::host::directories::{self, write_atomically};
use crate::host::error::{CliError, ErrorContext};
use crate::host::setup::{self, SystemTool, ToolSet, in_path};
use midplane_api::fortran::{Include, Module, Module08};
use midplane_setup::query::output;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment variable that selects the host's Fortran compiler.
pub(super) const VARIABLE: &str = "MIDPLANE_FC";
/// Compiler without that variable.
const DEFAULT: &str = "gfortran";
/// Headers of MPI, which need not be in the program's directories.
pub(super) const PROVIDED: [&str; 1] = [Include::NAME];

/// Options of gfortran for all programs. Programs with `mpif.h` pass buffers of several types to one function. Without
/// the second option Fortran's library handles signals itself, and its backtrace replaces Midplane's explanation.
const GNU_OPTIONS: [&str; 2] = ["-fallow-argument-mismatch", "-fno-backtrace"];
/// Options that change the size of INTEGER.
const INTEGER_OPTIONS: [&str; 3] = ["-fdefault-integer-8", "-finteger-4-integer-8", "-i8"];

/// Functions that the library of gfortran for Linux calls and that picolibc lacks or that differ there in structures or
/// constants, and the functions of `kernel-rt/glibc` for them.
const RENAMED: [Renaming<'static>; 19] = [
    ("__assert_fail", "midplane_glibc_assert_fail"),
    ("__ctype_b_loc", "midplane_glibc_ctype_b_loc"),
    ("__ctype_tolower_loc", "midplane_glibc_ctype_tolower_loc"),
    ("__ctype_toupper_loc", "midplane_glibc_ctype_toupper_loc"),
    ("__errno_location", "midplane_glibc_errno_location"),
    // Names since glibc 2.38, which Debian 13 has. A name may be the target of one renaming only.
    ("__isoc23_sscanf", "midplane_glibc_sscanf"),
    ("__isoc23_strtol", "strtol"),
    ("__isoc99_sscanf", "sscanf"),
    ("clock_gettime", "midplane_glibc_clock_gettime"),
    ("dl_iterate_phdr", "midplane_glibc_dl_iterate_phdr"),
    ("fstat", "midplane_glibc_fstat"),
    ("lstat", "midplane_glibc_lstat"),
    ("mkostemp", "midplane_glibc_mkostemp"),
    ("open", "midplane_glibc_open"),
    ("posix_spawn", "midplane_glibc_posix_spawn"),
    ("sigemptyset", "midplane_glibc_sigemptyset"),
    ("stat", "midplane_glibc_stat"),
    // libgcc's, which find no tables and abort.
    ("_Unwind_Backtrace", "midplane_glibc_unwind_backtrace"),
    ("_Unwind_GetIPInfo", "midplane_glibc_unwind_ip"),
];

/// Options for nodes, in addition to those for the processor: Debian's compiler creates position-independent code, and
/// the linker discards unused functions.
const FOR_NODES: [&str; 3] = ["-fno-pie", "-ffunction-sections", "-fdata-sections"];

/// Compilers with different options.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
enum Family {
    Gnu,
    Flang,
}

/// A Fortran compiler.
#[derive(Debug)]
pub(super) struct FortranCompiler {
    tool: SystemTool,
    family: Family,
    /// Output of `--version`.
    version: String,
    /// Options of the platform.
    platform: Vec<OsString>,
    /// For nodes: the program that renames functions in the library.
    objcopy: Option<SystemTool>,
}

/// Returns an error for an option that changes the size of INTEGER.
pub(super) fn check_options(words: &[OsString]) -> Result<(), CliError> {
    let is_refused = |word: &&OsString| INTEGER_OPTIONS.iter().any(|option| *word == option);
    match words.iter().find(is_refused) {
        None => Ok(()),
        Some(option) => Err(CliError::usage(format!(
            "{}: an INTEGER in a program that calls MPI is C's int, of 32 bits; omit this option, and declare the \
             variables that require 64 bits as INTEGER(8)",
            option.display()
        ))),
    }
}

/// Returns an error for a board whose memory is too small for Fortran. `program` is named in it.
pub(super) fn check_board(program: &Path) -> Result<(), CliError> {
    match Board::chosen() {
        Board::Virt => Ok(()),
        Board::Stm32f405 => Err(CliError::unusable(format!(
            "{} is Fortran, whose library does not fit in the memory of this board; use nodes in QEMU (without \
             --board), or --on linux",
            program.display()
        ))),
    }
}

impl FortranCompiler {
    /// Finds the compiler of the host. `program` is named in the error.
    ///
    /// # Errors
    /// Returns a usage error if there is no compiler, or if it is neither gfortran nor flang.
    pub(super) fn for_host(program: &Path) -> Result<Self, CliError> {
        let chosen = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
        let name = chosen.as_deref().unwrap_or(OsStr::new(DEFAULT));
        let path = if Path::new(name).components().count() > 1 {
            Some(PathBuf::from(name)).filter(|path| path.is_file())
        } else {
            in_path(&name.to_string_lossy())
        };
        let program = program.display();
        let path = path.ok_or_else(|| {
            CliError::unusable(match &chosen {
                Some(name) => format!(
                    "{program} is Fortran, and {VARIABLE} is {}, which is not installed; set {VARIABLE} to the path \
                     of gfortran or flang",
                    name.display()
                ),
                None => format!(
                    "{program} is Fortran: install gfortran (Debian: apt-get install gfortran), or set {VARIABLE} to \
                     the path of gfortran or flang"
                ),
            })
        })?;
        Self::new(SystemTool::from_path(path), vec!["-fno-pie".into()])
    }

    /// Finds the compiler for nodes, or fetches it. `program` is named in the error.
    ///
    /// # Errors
    /// Returns a usage error if there is none, or for a board without Fortran.
    pub(super) fn for_nodes(tools: &ToolSet, program: &Path) -> Result<Self, CliError> {
        check_board(program)?;
        let board = Board::chosen();
        let tool = setup::ensure_fortran(&tools.gcc, program)?;
        let options = board.machine_flags().iter().chain(&FOR_NODES);
        let mut compiler = Self::new(tool, options.map(OsString::from).collect())?;
        let objcopy = output(tools.gcc.command().arg("-print-prog-name=objcopy")).unwrap_or_default();
        compiler.objcopy = Some(SystemTool {
            path: objcopy.into(),
            arguments: Vec::new(),
            libraries: tools.gcc.libraries.clone(),
        });
        Ok(compiler)
    }

    fn new(tool: SystemTool, platform: Vec<OsString>) -> Result<Self, CliError> {
        let version = output(tool.command().arg("--version")).unwrap_or_default();
        let family = match version.lines().next().unwrap_or_default() {
            line if line.starts_with("GNU Fortran") => Family::Gnu,
            line if line.contains("flang") => Family::Flang,
            _ => {
                return Err(CliError::unusable(format!(
                    "{}: neither gfortran nor flang, the supported Fortran compilers; set {VARIABLE} to one of them",
                    tool.path.display()
                )));
            }
        };
        Ok(Self {
            tool,
            family,
            version,
            platform,
            objcopy: None,
        })
    }

    /// Returns the path of the compiler.
    pub(super) fn path(&self) -> &Path {
        &self.tool.path
    }

    /// Creates a command without options.
    pub(super) fn command(&self) -> Command {
        self.tool.command()
    }

    /// Appends the options for compilation that precede the user's.
    pub(super) fn begin_compile(&self, compile: &mut Command) {
        compile.arg("-g").args(&self.platform);
        if self.family == Family::Gnu {
            compile.args(GNU_OPTIONS);
        }
    }

    /// Appends the option for the directory of MPI's headers and modules, in one word.
    pub(super) fn end_compile(&self, compile: &mut Command) -> Result<(), CliError> {
        let mut option = OsString::from("-I");
        option.push(self.mpi_directory()?);
        compile.arg(option);
        Ok(())
    }

    /// Creates the command that compiles a source with these options; the caller appends `-c` and the output. Modules of
    /// the program are written to `modules` and read from there.
    pub(super) fn compile(&self, words: &[OsString], source: &Path, modules: &Path) -> Result<Command, CliError> {
        check_options(words)?;
        let here = std::env::current_dir().context("find the current directory")?;
        let mut compile = self.command();
        compile.arg("-O2");
        self.begin_compile(&mut compile);
        let has_own = words.iter().any(|word| {
            let word = word.to_string_lossy();
            MODULE_DIRECTORY.iter().any(|option| word.starts_with(option))
        });
        if !has_own {
            compile.arg("-J").arg(modules);
        }
        let mut words = options_for(SourceLanguage::Fortran, words);
        if self.objcopy.is_some() {
            // A node has one thread: directives of OpenMP are comments.
            words.retain(|word| is_for_nodes(word) && *word != OPENMP);
        }
        let words = with_absolute_directories(words, &here);
        // Compilers search the current directory and that of the source first. An old module file there must not replace
        // the program's.
        let beside = here.join(source).parent().unwrap_or(&here).to_path_buf();
        let source = if !has_own && (has_module_files(&here) || has_module_files(&beside)) {
            compile.current_dir(modules).arg("-I").arg(modules);
            link_source(&here.join(source), modules)?
        } else {
            source.into()
        };
        compile.args(words);
        self.end_compile(&mut compile)?;
        compile.arg("-I").arg(&beside).arg("-I").arg(here);
        compile.args(self.form_options(&source)).arg(source);
        Ok(compile)
    }

    /// Returns the options before a source whose extension the compilers do not know.
    fn form_options(&self, source: &Path) -> &'static [&'static str] {
        let extension = source.extension().and_then(OsStr::to_str);
        match (self.family, extension) {
            (Family::Gnu, Some("f77")) => &["-x", "f77"],
            (Family::Gnu, Some("F77")) => &["-x", "f77-cpp-input"],
            (Family::Flang, Some("f77" | "F77")) => &["-ffixed-form", "-x", "f95-cpp-input"],
            _ => &[],
        }
    }

    /// Returns the linker's options for Fortran's library.
    ///
    /// # Errors
    /// Returns a usage error if the library is not beside the compiler.
    pub(super) fn libraries(&self) -> Result<Vec<OsString>, CliError> {
        let (required, optional) = match self.family {
            Family::Gnu => ("libgfortran.a", "libquadmath.a"),
            Family::Flang => ("libFortranRuntime.a", "libFortranDecimal.a"),
        };
        let found = [required, optional].map(|name| self.find_library(name));
        if let (Some(objcopy), [Some(library), _]) = (&self.objcopy, &found) {
            return Ok(vec![self.library_for_nodes(objcopy, library)?.into()]);
        }
        let [Some(directory), _] = found.each_ref().map(|file| file.as_deref().and_then(Path::parent)) else {
            return Err(CliError::unusable(format!(
                "{} has no {required}, the library of Fortran programs; install it with the compiler",
                self.path().display()
            )));
        };
        let mut option = OsString::from("-L");
        option.push(directory);
        let mut words = vec![option];
        for file in found.iter().flatten() {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            words.push(format!("-l{}", stem.trim_start_matches("lib")).into());
        }
        words.push("-lm".into());
        Ok(words)
    }

    /// Returns the library with the functions of [`RENAMED`] under their new names.
    fn library_for_nodes(&self, objcopy: &SystemTool, library: &Path) -> Result<PathBuf, CliError> {
        let file = self.mpi_directory()?.join("libgfortran.a");
        rename_symbols(objcopy.command(), &RENAMED, library, file)
    }

    /// Returns the path of a library in the compiler's directories.
    fn find_library(&self, name: &str) -> Option<PathBuf> {
        let path = match self.family {
            // The compiler prints the bare file name if the file does not exist.
            Family::Gnu => output(self.command().arg(format!("-print-file-name={name}"))).map(PathBuf::from)?,
            // The compiler has no such option. Its library is in the directory `lib` beside its own.
            Family::Flang => {
                let compiler = self.path().canonicalize().ok()?;
                compiler.parent()?.parent()?.join("lib").join(name)
            }
        };
        Some(path).filter(|path| path.is_absolute() && path.is_file())
    }

    /// Returns the directory of `mpif.h` and of the compiled modules `mpi` and `mpi_f08`, after creating it for this
    /// compiler and its version.
    fn mpi_directory(&self) -> Result<PathBuf, CliError> {
        let files = [
            (Include::NAME, Include.to_string()),
            (Module::NAME, Module.to_string()),
            (Module08::NAME, Module08.to_string()),
        ];
        let mut hasher = DefaultHasher::new();
        (&files, self.path(), &self.version, self.family, &self.platform).hash(&mut hasher);
        let parent = module_directory()?;
        let directory = parent.join(format!("mpi-{:016x}", hasher.finish()));
        build_cache::use_directory(&directory)?;
        if directory.join(Include::NAME).exists() {
            return Ok(directory);
        }
        let scratch = ScratchDirectory::new(&parent)?;
        for (name, text) in &files {
            write_atomically(&scratch.0.join(name), text, 0o644)?;
        }
        for source in [Module::NAME, Module08::NAME] {
            self.compile_module(&scratch.0, source)?;
        }
        let entries = fs::read_dir(&scratch.0).context("read the directory of MPI's modules")?;
        let names = entries.flatten().map(|entry| entry.file_name());
        let others = names.filter(|name| name != Include::NAME);
        // Atomic: the last file completes the directory. Another process may create the same files.
        for name in others.chain([Include::NAME.into()]) {
            fs::rename(scratch.0.join(&name), directory.join(&name)).context("rename a file of MPI's modules")?;
        }
        Ok(directory)
    }

    /// Compiles a module of MPI to its module file, in its directory.
    fn compile_module(&self, directory: &Path, source: &str) -> Result<(), CliError> {
        let mut compile = self.command();
        compile
            .arg("-fsyntax-only")
            .args(&self.platform)
            .arg("-J")
            .arg(directory)
            .arg(directory.join(source));
        let said = CompilerOutput::by(&mut compile)?;
        if said.success {
            return Ok(());
        }
        said.print_messages();
        Err(CliError::unusable(format!(
            "{} does not compile the module {source} of MPI; see its messages above",
            self.path().display()
        )))
    }
}

/// Checks whether a directory contains files of compiled modules.
fn has_module_files(directory: &Path) -> bool {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_module = |path: PathBuf| path.extension().is_some_and(|extension| extension == "mod");
    { entries }.any(|entry| is_module(entry.path()))
}

/// Creates a symbolic link to a source in `directory`, and returns its name there.
fn link_source(source: &Path, directory: &Path) -> Result<PathBuf, CliError> {
    let name = PathBuf::from(source.file_name().unwrap_or_default());
    let link = directory.join(&name);
    // Sources of different directories may have the same name; each is compiled after its link is created.
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(source, &link).context(format_args!("link {}", source.display()))?;
    Ok(name)
}

/// Creates and returns the directory of the directories of MPI's modules.
fn module_directory() -> Result<PathBuf, CliError> {
    let directory = directories::target().join("midplane").join(build_cache::MODULES);
    fs::create_dir_all(&directory).map_err(|error| not_created(&directory, &error))?;
    Ok(directory)
}

/// Returns options with the directories of `-I` as absolute paths, for a compiler that does not run `here`.
fn with_absolute_directories(words: Vec<&OsStr>, here: &Path) -> Vec<OsString> {
    let mut is_directory = false;
    let absolute = |word: &OsStr| here.join(word).into_os_string();
    let words = words.into_iter().map(|word| {
        let joined = word.to_str().and_then(|word| word.strip_prefix("-I"));
        let new = match joined {
            _ if is_directory => absolute(word),
            Some(directory) if !directory.is_empty() => {
                let mut option = OsString::from("-I");
                option.push(absolute(directory.as_ref()));
                option
            }
            _ => word.to_os_string(),
        };
        is_directory = !is_directory && word == "-I";
        new
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_change_the_size_of_integer_are_refused() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(check_options(&words("-O3 -fdefault-real-8 -I i8")), Ok(()));
        for option in INTEGER_OPTIONS {
            let error = check_options(&words(&format!("-O3 {option}"))).unwrap_err();
            assert_eq!(error.status, crate::host::error::USAGE);
            assert!(
                error.message.starts_with(option) && error.message.contains("INTEGER(8)"),
                "{error}"
            );
        }
    }

    #[test]
    fn directories_are_independent_of_the_current_one() {
        let words = "-O3 -I one -Itwo -I /three -DI=-I".split(' ').map(OsStr::new).collect();
        let absolute = with_absolute_directories(words, Path::new("/here"));
        assert_eq!(
            absolute.join(OsStr::new(" ")),
            "-O3 -I /here/one -I/here/two -I /three -DI=-I"
        );
    }

    #[test]
    fn a_program_that_is_no_fortran_compiler_is_refused() {
        let cat = SystemTool::from_path("/bin/cat".into());
        let error = FortranCompiler::new(cat, Vec::new()).unwrap_err();
        assert!(error.message.contains("neither gfortran nor flang"), "{error}");
        assert_eq!(error.status, crate::host::error::USAGE);
    }
}
