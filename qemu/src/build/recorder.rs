//! The recorder of MPI calls (`midplane_trace`), which `--trace`, `--html` and `--check` link with a program. Its object is compiled once for a compiler and its options, and is used by all programs.

use crate::build::build_cache::not_created;
use crate::build::compiler::run_compiler;
use crate::build::headers;
use crate::build::inputs::BuildFlags;
use crate::host::directories::{self, write_atomically};
use crate::host::error::{CliError, ErrorContext};
use midplane_trace::Recorder;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Option with which the compiler reports each access to memory. It then calls functions with the names of
/// ThreadSanitizer's runtime, which is not linked: the recorder defines them.
pub(super) const REPORT_ACCESSES: &str = "-fsanitize=thread";
/// Option with which the recorder contains these functions.
const RECORD_ACCESSES: &str = "-DMIDPLANE_ACCESSES";
/// Option with which the recorder contains the entry points of Fortran.
const RECORD_FORTRAN: &str = "-DMIDPLANE_FORTRAN";

/// Returns the recorder's object for a program with these flags, after compiling it if necessary. `compiler` returns the
/// command for a source.
///
/// # Errors
/// Returns a failure if the object cannot be compiled or written.
pub(super) fn object(
    recorder: Recorder,
    compiler: impl FnOnce(&Path) -> Result<Command, CliError>,
    flags: &BuildFlags,
) -> Result<PathBuf, CliError> {
    let mut options = Vec::new();
    options.extend(flags.accesses.then_some(RECORD_ACCESSES));
    options.extend(flags.fortran.then_some(RECORD_FORTRAN));
    compiled_once(recorder.file_name(), &recorder.to_string(), compiler, &options)
}

/// Returns the object of a generated source with this file name and text, after compiling it if necessary.
///
/// # Errors
/// Returns a failure if the object cannot be compiled or written.
pub(super) fn compiled_once(
    file_name: &str,
    text: &str,
    compiler: impl FnOnce(&Path) -> Result<Command, CliError>,
    options: &[&str],
) -> Result<PathBuf, CliError> {
    let directory = directories::target().join("midplane/recorder");
    fs::create_dir_all(&directory).map_err(|error| not_created(&directory, &error))?;
    let source = directory.join(file_name);
    if !fs::read(&source).is_ok_and(|existing| existing == text.as_bytes()) {
        write_atomically(&source, text, 0o644)?;
    }
    let mut compile = compiler(&source)?;
    compile.args(options);
    let mut hasher = DefaultHasher::new();
    let header = fs::read(headers::directory()?.join(midplane_api::Header::NAME)).context("read mpi.h")?;
    (text, header, format!("{compile:?}")).hash(&mut hasher);
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let object = directory.join(format!("{stem}-{:016x}.o", hasher.finish()));
    if object.exists() {
        return Ok(object);
    }
    // Other commands that do the same wait: a compilation takes 10 s of processor time.
    let lock = File::create(directory.join("lock")).map_err(|error| not_created(&directory, &error))?;
    lock.lock().context("wait for the compilation of an object")?;
    if object.exists() {
        return Ok(object);
    }
    let new = object.with_extension("new");
    compile.arg("-c").arg(&source).arg("-o").arg(&new);
    run_compiler(compile, &source)?;
    fs::rename(&new, &object).context("rename an object")?;
    Ok(object)
}
