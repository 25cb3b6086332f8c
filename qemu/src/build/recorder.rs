//! The recorder of MPI calls (`midplane_trace`), which `--trace`, `--html` and `--check` link with a C program. Its object
//! is compiled once for a compiler and its options, and is used by all programs.

use crate::build::build_cache::not_created;
use crate::build::compiler::run_compiler;
use crate::build::headers;
use crate::host::directories::{self, write_atomically};
use crate::host::error::{CliError, ErrorContext};
use midplane_trace::Recorder;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Option with which the compiler reports each access to memory. It then calls functions with the names of
/// ThreadSanitizer's runtime, which is not linked: the recorder defines them.
pub(super) const REPORT_ACCESSES: &str = "-fsanitize=thread";
/// Option with which the recorder contains these functions.
const RECORD_ACCESSES: &str = "-DMIDPLANE_ACCESSES";

/// Returns the recorder's object, after compiling it if necessary. `compiler` returns the command for a source;
/// `accesses` selects whether the recorder contains the functions for [`REPORT_ACCESSES`].
///
/// # Errors
/// Returns a failure if the object cannot be compiled or written.
pub(super) fn object(
    compiler: impl FnOnce(&Path) -> Result<Command, CliError>,
    accesses: bool,
) -> Result<PathBuf, CliError> {
    let directory = directories::target().join("midplane/recorder");
    fs::create_dir_all(&directory).map_err(|error| not_created(&directory, &error))?;
    let text = Recorder.to_string();
    let source = directory.join(Recorder::NAME);
    if !fs::read(&source).is_ok_and(|existing| existing == text.as_bytes()) {
        write_atomically(&source, &text, 0o644)?;
    }
    let mut compile = compiler(&source)?;
    compile.args(accesses.then_some(RECORD_ACCESSES));
    let mut hasher = DefaultHasher::new();
    let header = fs::read(headers::directory()?.join(midplane_api::Header::NAME)).context("read mpi.h")?;
    (text, header, format!("{compile:?}")).hash(&mut hasher);
    let object = directory.join(format!("recorder-{:016x}.o", hasher.finish()));
    if object.exists() {
        return Ok(object);
    }
    // Other commands may do the same at the same time.
    let new = object.with_extension(format!("{}.o", std::process::id()));
    compile.arg("-c").arg(&source).arg("-o").arg(&new);
    run_compiler(compile, &source)?;
    fs::rename(&new, &object).context("rename the recorder's object")?;
    Ok(object)
}
