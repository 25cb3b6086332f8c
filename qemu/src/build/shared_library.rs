//! MPI as shared libraries of this host, for programs that others have compiled, and for interpreters that load MPI while
//! they run: `libmpi_abi.so.1` with the standard ABI (MPI-5.0 chapter 20), and `libmpi.so.12` with that of MPICH.
//!
//! The first one contains the runtime of a Linux process. The second one calls its functions (`midplane_api::MpichEntries`),
//! so that a process that loads both has one runtime. Both export each function of the table by both its names.

use crate::build::compiler::run_compiler;
use crate::build::image::Image;
use crate::build::inputs::BuildFlags;
use crate::build::linux::{ProcessContent, compile_plain, libraries, library, needed_libraries};
use crate::build::recorder::compiled_once;
use crate::build::source::Program;
use crate::build::spawning;
use crate::build::thread_entries;
use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use crate::show::console::print_line;
use clap::Args;
use midplane_api::{MpichEntries, ThreadEntries};
use midplane_setup::stamp::BuildArtifact;
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A shared library.
struct LibraryFile {
    /// File name and `soname`.
    name: &'static str,
    /// Other names: with which a linker finds it, and with which programs of another vendor require it.
    other_names: &'static [&'static str],
}

/// The library with the standard ABI (`-lmpi_abi`).
const STANDARD: LibraryFile = LibraryFile {
    name: "libmpi_abi.so.1",
    other_names: &["libmpi_abi.so"],
};
/// The library with MPICH's ABI (`-lmpi`). Programs that Debian's compiler for MPICH has linked require `libmpich.so.12`.
const MPICH: LibraryFile = LibraryFile {
    name: "libmpi.so.12",
    other_names: &["libmpi.so", "libmpich.so.12"],
};
/// Source of the start and the end of the runtime.
const START: &str = "kernel-rt/ld/library.c";

/// Options of the command.
#[derive(Args, Debug)]
pub struct LibraryArgs {
    /// Directory of the libraries, which is created if necessary
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    out: PathBuf,
}

/// Writes the libraries to the directory that the user specified, and prints their paths.
///
/// # Errors
/// Returns a failure of a compiler, or a file that cannot be written.
pub fn run(options: &LibraryArgs) -> Result<u8, CliError> {
    let built = build()?;
    fs::create_dir_all(&options.out).context(format_args!("create {}", options.out.display()))?;
    for library in [STANDARD, MPICH] {
        let file = options.out.join(library.name);
        // A new file: a running program keeps the content of the previous one.
        let new = options.out.join(format!(".{}.{}", library.name, std::process::id()));
        let written = fs::copy(built.join(library.name), &new).and_then(|_| fs::rename(&new, &file));
        written.context(format_args!("write {}", file.display()))?;
        library.link_other_names(&options.out)?;
        print_line(file.display())?;
    }
    Ok(0)
}

impl LibraryFile {
    /// Creates its other names, unless they exist.
    fn link_other_names(&self, directory: &Path) -> Result<(), CliError> {
        for name in self.other_names {
            match symlink(self.name, directory.join(name)) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(error).context(format_args!("create {name} in {}", directory.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks whether a program that requires the library `needed` loads this one.
    fn is_named(&self, needed: &str) -> bool {
        needed == self.name || self.other_names.contains(&needed)
    }
}

/// Search path of the loader of shared libraries: NAME=VALUE.
const SEARCH_PATH: &str = "LD_LIBRARY_PATH";
/// Function that each native program of the compiler wrapper contains.
const START_SYMBOL: &str = "midplane_boot";

/// Checks whether a program may load MPI as a shared library.
fn may_load(program: &Program, image: &Image) -> bool {
    match program {
        Program::Command(_) => image.symbol(START_SYMBOL).is_none(),
        Program::Image(_) => {
            let needed = needed_libraries(&image.bytes).unwrap_or_default();
            { needed.iter() }.any(|name| STANDARD.is_named(name) || MPICH.is_named(name))
        }
        Program::C(_) | Program::Rust(_) | Program::Package(_) => false,
    }
}

/// Functions of a program that starts processes.
const SPAWN_FUNCTIONS: [&str; 2] = ["MPI_Comm_spawn", "MPI_Comm_spawn_multiple"];

/// Checks whether a program may start processes. An interpreter that loads MPI may.
pub fn may_spawn(program: &Program, image: &Image) -> bool {
    let is_command = matches!(program, Program::Command(_));
    image.has_symbol(|name| name == spawning::SYMBOL)
        || may_load(program, image) && (is_command || image.imports(&SPAWN_FUNCTIONS))
}

/// Returns the variable with which the process of a program finds MPI as a shared library, in addition to the path in
/// `environment` or in this command's; `None` for a program that does not load it. Builds the library if necessary.
///
/// # Errors
/// Returns a failure of a compiler.
pub fn search_variable(program: &Program, image: &Image, environment: &[Vec<u8>]) -> Result<Option<Vec<u8>>, CliError> {
    if !may_load(program, image) {
        return Ok(None);
    }
    let name = format!("{SEARCH_PATH}=").into_bytes();
    let own = environment
        .iter()
        .rev()
        .find_map(|variable| variable.strip_prefix(&*name));
    let before = match own {
        Some(own) => own.to_vec(),
        None => std::env::var_os(SEARCH_PATH).unwrap_or_default().into_vec(),
    };
    let separator: &[u8] = if before.is_empty() { b"" } else { b":" };
    let directory = build()?.into_os_string().into_vec();
    Ok(Some([&name[..], &directory, separator, &before].concat()))
}

/// Builds the libraries if necessary, and returns their directory, which contains nothing else that a program loads.
///
/// # Errors
/// Returns a failure of a compiler.
fn build() -> Result<PathBuf, CliError> {
    let directory = directories::target().join("midplane/library");
    fs::create_dir_all(&directory).context(format_args!("create {}", directory.display()))?;
    build_standard(&directory)?;
    build_mpich(&directory)?;
    Ok(directory)
}

/// Builds the library with the standard ABI.
fn build_standard(directory: &Path) -> Result<(), CliError> {
    let flags = BuildFlags::default().for_processes();
    let runtime = library(flags.runtime(), ProcessContent::Node)?;
    let (entries, runtime) = thread_entries::object_and_library(&runtime, compile_shared)?;
    let source = directories::root().join(START);
    let inputs = [runtime.clone(), entries.clone(), source.clone()];
    // Besides the functions of MPI, those that the other library calls.
    let other_names = ThreadEntries::names().map(|name| format!("{}{name}", MpichEntries::PREFIX));
    let exported = other_names.chain(MpichEntries::REQUIRED.map(String::from));
    STANDARD.link_if_changed(directory, &inputs, exported, |mut link| {
        let id = std::process::id();
        let object = directory.join(format!("start.{id}.o"));
        let mut compile = compile_shared(&source)?;
        compile.arg("-c").arg(&source).arg("-o").arg(&object);
        run_compiler(compile, &source)?;
        let names = directory.join(format!("names.{id}.ld"));
        fs::write(&names, other_names_script()).context("write the other names of the functions")?;
        link.args(["-Wl,--gc-sections", "-Wl,--wrap=abort"])
            .args([&object, &entries, &runtime, &names])
            .args(libraries(&[]));
        let linked = run_compiler(link, &source);
        remove([&object, &names]);
        linked
    })
}

/// Builds the library with MPICH's ABI over the other one, which must exist.
fn build_mpich(directory: &Path) -> Result<(), CliError> {
    let entries = compiled_once(MpichEntries::NAME, &MpichEntries.to_string(), compile_shared, &["-w"])?;
    let inputs = [entries.clone(), directory.join(STANDARD.name)];
    let exported = MpichEntries::SYMBOLS.map(String::from);
    MPICH.link_if_changed(directory, &inputs, exported, |mut link| {
        // Both libraries are in one directory.
        link.arg("-Wl,-rpath,$ORIGIN").args(&inputs);
        run_compiler(link, &entries)
    })
}

impl LibraryFile {
    /// Links the library in this directory, unless it is newer than its inputs. It exports the functions of MPI, and the symbols
    /// `exported`. `link` completes and runs the command.
    fn link_if_changed(
        &self,
        directory: &Path,
        inputs: &[PathBuf],
        exported: impl IntoIterator<Item = String>,
        link: impl FnOnce(Command) -> Result<String, CliError>,
    ) -> Result<(), CliError> {
        let exported = exported_script(exported);
        let artifact = BuildArtifact {
            file: directory.join(self.name),
            root: directories::root().into(),
            beside: inputs.to_vec(),
            with: exported.clone(),
        };
        if artifact.is_fresh() {
            return Ok(());
        }
        let begun = artifact.begin();
        let id = std::process::id();
        let script = artifact.file.with_extension(format!("{id}.map"));
        fs::write(&script, exported).context("write the names of the functions")?;
        let new = artifact.file.with_extension(id.to_string());
        let mut command = Command::new("cc");
        command
            .args(["-shared", "-Wl,-z,nodelete,-z,defs"])
            .arg(format!("-Wl,-soname,{}", self.name))
            .arg(format!("-Wl,--version-script,{}", script.display()))
            .arg("-o")
            .arg(&new);
        let linked = link(command);
        remove([&script]);
        linked?;
        // Atomic: a reader finds the old library or the new one.
        fs::rename(&new, &artifact.file).context("rename a library")?;
        self.link_other_names(directory)?;
        let paths: Vec<_> = inputs.iter().map(|input| input.display().to_string()).collect();
        let rule = format!("library: {}\n", paths.join(" "));
        let list = fs::write(artifact.file.with_extension("d"), rule);
        // Without the stamp, the file is created again.
        let _ = list.and_then(|()| artifact.succeeded(begun?));
        Ok(())
    }
}

/// Removes temporary files. One that remains is of no use, and does no harm.
fn remove<const N: usize>(files: [&PathBuf; N]) {
    for file in files {
        let _ = fs::remove_file(file);
    }
}

/// Creates the command that compiles a source of the runtime for a shared library.
fn compile_shared(source: &Path) -> Result<Command, CliError> {
    let mut compile = compile_plain(source)?;
    compile.arg("-fPIC");
    Ok(compile)
}

/// Returns the linker script with the functions of MPI, by both names, and other symbols.
fn exported_script(others: impl IntoIterator<Item = String>) -> String {
    let mut script = String::from("{\nglobal:\n");
    for name in ThreadEntries::names() {
        // A string does not fail.
        let _ = writeln!(script, "    {name}; P{name};");
    }
    for name in others {
        let _ = writeln!(script, "    {name};");
    }
    script.push_str("local:\n    *;\n};\n");
    script
}

/// Returns the linker script that gives the functions of MPI the names by which the library with MPICH's ABI calls them.
fn other_names_script() -> String {
    let mut script = String::new();
    for name in ThreadEntries::names() {
        // A string does not fail.
        let _ = writeln!(script, "{}{name} = P{name};", MpichEntries::PREFIX);
    }
    script
}
