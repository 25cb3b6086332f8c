//! Result files: opened before the work, written after it.

use crate::host::error::{CliError, ErrorContext};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file to be written. Its old content stays until then.
#[derive(Debug)]
pub struct ResultFile {
    path: PathBuf,
    file: File,
}

impl ResultFile {
    /// Opens or creates the file before the work, so that an unusable path is reported early.
    ///
    /// # Errors
    /// Returns a usage error that contains the path.
    pub fn open(path: &Path) -> Result<Self, CliError> {
        let opened = OpenOptions::new().create(true).write(true).truncate(false).open(path);
        match opened {
            Ok(file) => Ok(Self {
                path: path.into(),
                file,
            }),
            Err(error) => Err(CliError::usage(format!(
                "cannot write to {}: {error}; specify a file in an existing, writable directory",
                path.display()
            ))),
        }
    }

    /// Opens the file if a path is given.
    ///
    /// # Errors
    /// Returns the errors of [`ResultFile::open`].
    pub fn open_if_given(path: Option<&PathBuf>) -> Result<Option<Self>, CliError> {
        path.map(|path| Self::open(path)).transpose()
    }

    /// Opens the files of a table and a drawing, where given, before a possibly long computation.
    ///
    /// # Errors
    /// Returns the errors of [`ResultFile::open`], and a usage error if both paths are equal.
    pub fn open_both(
        table: Option<&PathBuf>,
        drawing: Option<&PathBuf>,
    ) -> Result<(Option<Self>, Option<Self>), CliError> {
        check_apart(table, drawing)?;
        Ok((Self::open_if_given(table)?, Self::open_if_given(drawing)?))
    }

    /// Replaces the file's content.
    ///
    /// # Errors
    /// Returns a failure that contains the path, for example if the device is full.
    pub fn write(self, text: &str) -> Result<(), CliError> {
        self.write_with(|file| file.write_all(text.as_bytes()))
    }

    /// Replaces the file's content by the output of `write`.
    ///
    /// # Errors
    /// Returns a failure that contains the path, for example if the device is full.
    pub fn write_with(self, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), CliError> {
        // A pipe or a terminal cannot be truncated.
        let is_regular = self.file.metadata().is_ok_and(|m| m.is_file());
        let cut = if is_regular { self.file.set_len(0) } else { Ok(()) };
        let mut file = BufWriter::new(&self.file);
        cut.and_then(|()| write(&mut file))
            .and_then(|()| file.flush())
            .context(format_args!("write {}", self.path.display()))
    }
}

/// Checks that two results use different files.
///
/// # Errors
/// Returns a usage error that contains the path.
fn check_apart(one: Option<&PathBuf>, other: Option<&PathBuf>) -> Result<(), CliError> {
    match (one, other) {
        (Some(one), Some(other)) if one == other => Err(CliError::usage(format!(
            "{} cannot hold two results; specify two files",
            one.display()
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::error::{FAILURE, USAGE};

    #[test]
    fn a_place_that_cannot_be_written_is_known_at_once() {
        let stop = ResultFile::open(Path::new("/nonexistent/out.csv")).unwrap_err();
        assert_eq!(stop.status, USAGE);
        assert!(stop.message.contains("/nonexistent/out.csv"), "{stop}");
    }

    #[test]
    fn what_a_file_held_stays_until_it_is_written() {
        let path = std::env::temp_dir().join(format!("midplane-file-{}", std::process::id()));
        std::fs::write(&path, "older and longer").unwrap();
        let file = ResultFile::open(&path).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "older and longer");
        file.write("new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_full_device_is_a_failure_that_names_it() {
        let full = ResultFile::open(Path::new("/dev/full")).unwrap();
        let stop = full.write("x").unwrap_err();
        assert_eq!(stop.status, FAILURE);
        assert!(stop.message.contains("/dev/full"), "{stop}");
    }

    #[test]
    fn two_results_need_two_files() {
        let (a, b) = (PathBuf::from("a"), PathBuf::from("b"));
        assert!(check_apart(Some(&a), Some(&b)).is_ok());
        assert!(check_apart(Some(&a), None).is_ok());
        assert_eq!(check_apart(Some(&a), Some(&a)).unwrap_err().status, USAGE);
    }
}
