//! Directory of `mpi.h` and `pmpi.h`, generated from the function table (`mpi-adi/api`) and passed to every compiler.

use crate::build::build_cache::not_created;
use crate::host::directories::{self, write_atomically};
use crate::host::error::CliError;
use midplane_api::{Header, ProfilingHeader};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

/// Returns the directory after creating its headers. An unchanged header keeps its modification time, because build
/// systems use it to detect required builds.
pub(super) fn directory() -> Result<PathBuf, CliError> {
    let dir = directories::target().join("midplane/include");
    for (name, text) in [
        (Header::NAME, Header.to_string()),
        (ProfilingHeader::NAME, ProfilingHeader.to_string()),
    ] {
        let file = dir.join(name);
        if fs::read(&file).is_ok_and(|there| there == text.as_bytes()) {
            continue;
        }
        fs::create_dir_all(&dir).map_err(|error| not_created(&dir, &error))?;
        write_atomically(&file, &text, 0o644)?;
    }
    Ok(dir)
}

/// Returns the compiler option for the directory, in one word because meson splits two.
pub(super) fn option() -> Result<OsString, CliError> {
    let mut option = OsString::from("-I");
    option.push(directory()?);
    Ok(option)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_are_there_are_left_alone() {
        let header = || directory().unwrap().join(Header::NAME);
        let written = |file: PathBuf| file.metadata().and_then(|data| data.modified()).unwrap();
        let before = written(header());
        assert_eq!(written(header()), before);
        let text = fs::read_to_string(header()).unwrap();
        assert!(text.contains("int MPI_Send(const void *buf, "), "{text}");
    }
}
