//! Copies of static libraries with other names for some of their symbols.

use crate::host::directories;
use crate::host::error::{CliError, ErrorContext};
use midplane_setup::stamp::BuildArtifact;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A symbol and its new name.
pub(super) type Renaming<'a> = (&'a str, &'a str);

/// Writes a copy of `library` with these renamings to `file`, unless it is there already, and returns `file`.
/// `objcopy` is the program that does so, for the library's machine.
///
/// # Errors
/// Returns a failure if it does not.
pub(super) fn rename_symbols(
    mut objcopy: Command,
    renamings: &[Renaming<'_>],
    library: &Path,
    file: PathBuf,
) -> Result<PathBuf, CliError> {
    let words: Vec<_> = { renamings.iter() }
        .map(|(name, new)| format!("--redefine-sym={name}={new}"))
        .collect();
    let artifact = BuildArtifact {
        file,
        root: directories::root().into(),
        beside: vec![library.into()],
        with: format!("{words:?}"),
    };
    if artifact.is_fresh() {
        return Ok(artifact.file);
    }
    let begun = artifact.begin();
    let made = artifact.file.with_extension(std::process::id().to_string());
    let program = objcopy.get_program().display().to_string();
    let status = objcopy.args(words).arg(library).arg(&made).status();
    if !status.context(format_args!("run {program}"))?.success() {
        return Err(CliError::failure(format!(
            "{program} cannot convert {}; see its messages above",
            library.display()
        )));
    }
    // Atomic: a reader finds the old library or the new one.
    fs::rename(&made, &artifact.file).context("rename a library")?;
    let rule = format!("apart: {}\n", library.display());
    let list = fs::write(artifact.file.with_extension("d"), rule);
    // Without the stamp, the file is created again.
    let _ = list.and_then(|()| artifact.succeeded(begun?));
    Ok(artifact.file)
}
