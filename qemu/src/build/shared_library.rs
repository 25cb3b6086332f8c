//! MPI as a shared library of this host: `libmpi_abi.so.1`, for programs that others have compiled for the standard ABI
//! (MPI-5.0 chapter 20), and for interpreters that load MPI while they run.
//!
//! The library contains the runtime of a Linux process. It exports each function of the table by both its names, and nothing
//! else.

use crate::build::compiler::run_compiler;
use crate::build::image::Image;
use crate::build::inputs::BuildFlags;
use crate::build::linux::{ProcessContent, compile_plain, libraries, library, needed_libraries};
use crate::build::source::Program;
use crate::build::thread_entries;
use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use crate::show::console::print_line;
use clap::Args;
use midplane_api::ThreadEntries;
use midplane_setup::stamp::BuildArtifact;
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File name and `soname` of the library.
const NAME: &str = "libmpi_abi.so.1";
/// Name with which a linker finds it (`-lmpi_abi`).
const LINK_NAME: &str = "libmpi_abi.so";
/// Source of its start and end.
const START: &str = "kernel-rt/ld/library.c";

/// Options of the command.
#[derive(Args, Debug)]
pub struct LibraryArgs {
    /// Directory of the library, which is created if necessary
    #[arg(long, value_name = "DIRECTORY", default_value = ".")]
    out: PathBuf,
}

/// Writes the library to the directory that the user specified, and prints its path.
///
/// # Errors
/// Returns a failure of a compiler, or a file that cannot be written.
pub fn run(options: &LibraryArgs) -> Result<u8, CliError> {
    let built = build()?;
    fs::create_dir_all(&options.out).context(format_args!("create {}", options.out.display()))?;
    let file = options.out.join(NAME);
    // A new file: a running program keeps the content of the previous one.
    let new = options.out.join(format!(".{NAME}.{}", std::process::id()));
    let written = fs::copy(built.join(NAME), &new).and_then(|_| fs::rename(&new, &file));
    written.context(format_args!("write {}", file.display()))?;
    link_to(&options.out)?;
    print_line(file.display())?;
    Ok(0)
}

/// Creates the name for linkers, unless it exists.
fn link_to(directory: &Path) -> Result<(), CliError> {
    match symlink(NAME, directory.join(LINK_NAME)) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(error).context(format_args!("create {LINK_NAME} in {}", directory.display()))
        }
        _ => Ok(()),
    }
}

/// Search path of the loader of shared libraries: NAME=VALUE.
const SEARCH_PATH: &str = "LD_LIBRARY_PATH";
/// Function that each native program of the compiler wrapper contains.
const START_SYMBOL: &str = "midplane_boot";

/// Checks whether a program may load MPI as a shared library.
pub(super) fn may_load(program: &Program, image: &Image) -> bool {
    match program {
        Program::Command(_) => image.symbol(START_SYMBOL).is_none(),
        Program::Image(_) => {
            let needed = needed_libraries(&image.bytes).unwrap_or_default();
            needed.iter().any(|name| name == NAME)
        }
        Program::C(_) | Program::Rust(_) | Program::Package(_) => false,
    }
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

/// Builds the library if necessary, and returns its directory, which contains nothing else that a program loads.
///
/// # Errors
/// Returns a failure of a compiler.
fn build() -> Result<PathBuf, CliError> {
    let flags = BuildFlags::default().for_processes();
    let runtime = library(flags.runtime(), ProcessContent::Node)?;
    let (entries, runtime) = thread_entries::object_and_library(&runtime, compile_shared)?;
    let directory = directories::target().join("midplane/library");
    fs::create_dir_all(&directory).context(format_args!("create {}", directory.display()))?;
    let source = directories::root().join(START);
    let artifact = BuildArtifact {
        file: directory.join(NAME),
        root: directories::root().into(),
        beside: vec![runtime.clone(), entries.clone(), source.clone()],
        with: String::new(),
    };
    if artifact.is_fresh() {
        return Ok(directory);
    }
    let begun = artifact.begin();
    let id = std::process::id();
    let object = directory.join(format!("start.{id}.o"));
    let mut compile = compile_shared(&source)?;
    compile.arg("-c").arg(&source).arg("-o").arg(&object);
    run_compiler(compile, &source)?;
    let script = directory.join(format!("exported.{id}.map"));
    fs::write(&script, exported_names()).context("write the names of the functions")?;
    let new = artifact.file.with_extension(id.to_string());
    let mut link = Command::new("cc");
    link.args(["-shared", "-Wl,-z,nodelete,-z,defs,--gc-sections", "-Wl,--wrap=abort"]);
    link.arg(format!("-Wl,-soname,{NAME}"))
        .arg(format!("-Wl,--version-script,{}", script.display()))
        .args([&object, &entries, &runtime])
        .args(libraries(&[]))
        .arg("-o")
        .arg(&new);
    let linked = run_compiler(link, &source);
    for file in [&object, &script] {
        // A file that remains is of no use, and does no harm.
        let _ = fs::remove_file(file);
    }
    linked?;
    // Atomic: a reader finds the old library or the new one.
    fs::rename(&new, &artifact.file).context("rename a library")?;
    link_to(&directory)?;
    let rule = format!("library: {}\n", runtime.display());
    let list = fs::write(artifact.file.with_extension("d"), rule);
    // Without the stamp, the file is created again.
    let _ = list.and_then(|()| artifact.succeeded(begun?));
    Ok(directory)
}

/// Creates the command that compiles a source of the runtime for a shared library.
fn compile_shared(source: &Path) -> Result<Command, CliError> {
    let mut compile = compile_plain(source)?;
    compile.arg("-fPIC");
    Ok(compile)
}

/// Returns the linker script with the functions of MPI, by both names.
fn exported_names() -> String {
    let mut script = String::from("{\nglobal:\n");
    for name in ThreadEntries::names() {
        // A string does not fail.
        let _ = writeln!(script, "    {name}; P{name};");
    }
    script.push_str("local:\n    *;\n};\n");
    script
}
