//! Source of the recorder of MPI calls (`midplane_trace`), which `--trace` and `--check` link with a C program.

use crate::build::build_cache::not_created;
use crate::build::inputs::BuildFlags;
use crate::host::directories::{self, write_atomically};
use crate::host::error::CliError;
use midplane_trace::Recorder;
use std::fs;
use std::path::PathBuf;

/// Returns the compiler options that report each access to memory to the recorder. The compiler then calls functions with
/// the names of ThreadSanitizer's runtime, which is not linked: the recorder defines them.
pub(super) fn access_options(is_recorder: bool) -> [&'static str; 1] {
    [if is_recorder {
        "-DMIDPLANE_ACCESSES"
    } else {
        "-fsanitize=thread"
    }]
}

/// Returns the additional sources of a program with these flags, after creating them.
pub(super) fn sources(flags: &BuildFlags) -> Result<Vec<PathBuf>, CliError> {
    if !flags.recorder {
        return Ok(Vec::new());
    }
    let directory = directories::target().join("midplane/recorder");
    let file = directory.join(Recorder::NAME);
    let text = Recorder.to_string();
    if !fs::read(&file).is_ok_and(|existing| existing == text.as_bytes()) {
        fs::create_dir_all(&directory).map_err(|error| not_created(&directory, &error))?;
        write_atomically(&file, &text, 0o644)?;
    }
    Ok(vec![file])
}
