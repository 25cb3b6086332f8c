//! Entry points of a native program that may request MPI_THREAD_MULTIPLE (`midplane_api::ThreadEntries`). They take the
//! lock of the library around the functions of the runtime, which have other names in a copy of its library. Other
//! programs call the functions directly.

use crate::build::recorder::compiled_once;
use crate::build::renamed::{Renaming, rename_symbols};
use crate::host::error::CliError;
use midplane_api::ThreadEntries;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name in the objects and sources of programs that request a level of thread support, in lower case.
const REQUEST: &[u8] = b"mpi_init_thread";
/// Value of the info key of a session, likewise.
const SESSION_REQUEST: &[u8] = b"mpi_thread_multiple";

/// Checks whether one of these files, sources, objects or static libraries, may request a level of thread support.
/// Unreadable files do not; the compiler reports them.
pub(super) fn may_be_requested(files: impl IntoIterator<Item = impl AsRef<Path>>) -> bool {
    let requests = |file: &Path| {
        let text = fs::read(file).unwrap_or_default().to_ascii_lowercase();
        [REQUEST, SESSION_REQUEST].iter().any(|name| contains(&text, name))
    };
    files.into_iter().any(|file| requests(file.as_ref()))
}

fn contains(text: &[u8], name: &[u8]) -> bool {
    text.windows(name.len()).any(|window| window == name)
}

/// Returns the object with the entries, after compiling it if necessary, and the runtime library in which their names are
/// free. `compiler` returns the command for a source.
///
/// # Errors
/// Returns a failure of the compiler or of objcopy.
pub(super) fn object_and_library(
    library: &Path,
    compiler: impl FnOnce(&Path) -> Result<Command, CliError>,
) -> Result<(PathBuf, PathBuf), CliError> {
    let object = compiled_once(ThreadEntries::NAME, &ThreadEntries.to_string(), compiler, &["-w"])?;
    let names: Vec<[String; 2]> = ThreadEntries::names()
        .map(|name| [format!("P{name}"), format!("{}P{name}", ThreadEntries::PREFIX)])
        .collect();
    let renamings: Vec<Renaming<'_>> = names.iter().map(|[name, new]| (&**name, &**new)).collect();
    let stem = library.file_stem().unwrap_or_default().to_string_lossy();
    let file = library.with_file_name(format!("{stem}_threads.a"));
    Ok((
        object,
        rename_symbols(Command::new("objcopy"), &renamings, library, file)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_found_in_c_and_in_fortran() {
        let directory = std::env::temp_dir().join(format!("midplane-requests-{}", std::process::id()));
        fs::create_dir_all(&directory).expect("a directory");
        let file = |text: &str| {
            let path = directory.join("source");
            fs::write(&path, text).expect("a file");
            may_be_requested([path])
        };
        assert!(file("int main(void) { MPI_Init_thread(0, 0, 3, &provided); }"));
        assert!(file("      call MPI_INIT_THREAD(MPI_THREAD_MULTIPLE, provided, ierr)"));
        assert!(file("MPI_Info_set(info, \"thread_level\", \"MPI_THREAD_MULTIPLE\");"));
        assert!(!file("int main(void) { MPI_Init(0, 0); }"));
        assert!(!may_be_requested([directory.join("missing")]));
        fs::remove_dir_all(&directory).expect("the directory");
    }
}
