//! The sources that an installed command contains (`build.rs`), and their directory.
//!
//! ```text
//! $XDG_CACHE_HOME/midplane, else ~/.cache/midplane
//!     VERSION-HASH/sources/    the sources of one command, unpacked once
//!     VERSION-HASH/target/     runtimes and programs that are compiled from them
//!     sources                  link to the sources of the command that ran last, for manifests of packages
//! ```
//!
//! The directories of commands share the limit of the [cache](build_cache): a new one may cause the removal of unused
//! ones.

use crate::build::build_cache::{self, not_created};
use crate::host::directories::{self, SOURCES, SourceTree};
use crate::host::error::{CliError, ErrorContext};
use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Compressed archive of the sources.
const ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources.tar.gz"));

/// Provides the sources: checks the checkout, or unpacks the copy of an installed command.
///
/// # Errors
/// Returns an error if there is no checkout any more, or if the user's directory cannot be created or written.
pub fn provide_sources() -> Result<(), CliError> {
    match SourceTree::current() {
        SourceTree::Checkout(root) => midplane_setup::check_root(root).map_err(CliError::from),
        SourceTree::Carried(Some(directory)) => {
            build_cache::use_directory(directory)?;
            unpack_once(directory)?;
            link(&directory.join(SOURCES), &directories::root_for_packages())
        }
        SourceTree::Carried(None) => Err(CliError::unusable(
            "there is no directory for the sources that programs are compiled with, because HOME is not set; set \
             XDG_CACHE_HOME to a writable directory",
        )),
    }
}

/// Unpacks the archive into `directory`. The sources appear atomically; processes that do the same wait for each other.
fn unpack_once(directory: &Path) -> Result<(), CliError> {
    let sources = directory.join(SOURCES);
    if sources.exists() {
        return Ok(());
    }
    let refuse = |error: io::Error| not_created(&sources, &error);
    let lock = File::create(directory.join("lock")).map_err(refuse)?;
    lock.lock().map_err(refuse)?;
    if sources.exists() {
        return Ok(());
    }
    let scratch = directory.join("incomplete");
    if scratch.exists() {
        // The process that unpacked them was killed.
        fs::remove_dir_all(&scratch).map_err(refuse)?;
    }
    unpack(&scratch)
        .and_then(|()| fs::rename(&scratch, &sources))
        .map_err(refuse)
}

/// Unpacks the archive. Files have the current time: cargo compares it with that of earlier builds.
fn unpack(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let mut archive = tar::Archive::new(GzDecoder::new(ARCHIVE));
    archive.set_preserve_mtime(false);
    archive.unpack(directory)
}

/// Makes `link` lead to the sources.
fn link(sources: &Path, link: &Path) -> Result<(), CliError> {
    if fs::read_link(link).is_ok_and(|present| present == sources) {
        return Ok(());
    }
    let new = link.with_extension(std::process::id().to_string());
    match symlink(sources, &new) {
        // Programs that are no packages do not require the link. A read-only directory contains that of its owner.
        Err(error) if is_read_only(&error) => Ok(()),
        linked => linked
            .and_then(|()| fs::rename(&new, link))
            .context(format_args!("create the link {}", link.display())),
    }
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::compiler::ScratchDirectory;
    use std::collections::BTreeSet;
    use std::path::PathBuf;
    use std::process::Command;
    use std::thread;

    fn scratch() -> ScratchDirectory {
        ScratchDirectory::new(&std::env::temp_dir()).unwrap()
    }

    /// Returns the files below a directory, relative to it.
    fn files(directory: &Path) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        let mut directories = vec![directory.to_path_buf()];
        while let Some(next) = directories.pop() {
            for entry in fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    found.insert(path.strip_prefix(directory).unwrap().to_path_buf());
                }
            }
        }
        found
    }

    #[test]
    fn several_processes_unpack_the_sources_once() {
        let scratch = scratch();
        fs::create_dir(scratch.0.join("incomplete")).unwrap();
        fs::write(scratch.0.join("incomplete/part"), "of a killed process").unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    unpack_once(&scratch.0).unwrap();
                    let sources = files(&scratch.0.join(SOURCES));
                    assert!(sources.contains(Path::new("kernel-rt/ld/virt.ld")), "{sources:?}");
                });
            }
        });
        let begun = fs::metadata(scratch.0.join(SOURCES)).unwrap().modified().unwrap();
        unpack_once(&scratch.0).unwrap();
        assert_eq!(
            fs::metadata(scratch.0.join(SOURCES)).unwrap().modified().unwrap(),
            begun
        );
        assert!(!scratch.0.join("incomplete").exists());
    }

    /// A file that is not tracked would make the archive depend on the machine that built it.
    #[test]
    fn the_archive_contains_tracked_files_of_a_complete_workspace() {
        let scratch = scratch();
        unpack(&scratch.0.join("sources")).unwrap();
        let carried = files(&scratch.0.join("sources"));
        assert!(carried.len() > 400, "{} files", carried.len());
        let git = |words: &[&str]| {
            Command::new("git")
                .args(words)
                .current_dir(directories::root())
                .output()
        };
        let listed = ["ls-files", "--cached", "--others", "--exclude-standard"];
        if let Some(listed) = git(&listed).ok().filter(|output| output.status.success()) {
            let listed = String::from_utf8(listed.stdout).unwrap();
            let tracked: BTreeSet<PathBuf> = listed.lines().map(PathBuf::from).collect();
            let others: Vec<_> = carried.difference(&tracked).collect();
            assert!(others.is_empty(), "{others:?}");
        }
        let cargo = Command::new(env!("CARGO"))
            .args(["metadata", "--offline", "--no-deps", "--format-version", "1"])
            .current_dir(scratch.0.join("sources"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&cargo.stderr);
        assert!(cargo.status.success() && !said.contains("warning"), "{said}");
    }

    #[test]
    fn the_link_follows_the_command_that_ran_last() {
        let scratch = scratch();
        let name = scratch.0.join("sources");
        for version in ["a", "a", "b"] {
            let sources = scratch.0.join(version);
            fs::create_dir_all(&sources).unwrap();
            link(&sources, &name).unwrap();
            assert_eq!(fs::canonicalize(&name).unwrap(), fs::canonicalize(&sources).unwrap());
        }
    }

    #[test]
    fn a_directory_that_cannot_be_created_is_named_with_the_variable() {
        let scratch = scratch();
        fs::write(scratch.0.join("file"), "").unwrap();
        let stop = build_cache::use_directory(&scratch.0.join("file/midplane/1")).unwrap_err();
        assert!(stop.message.contains("file/midplane/1"), "{stop}");
        assert!(stop.message.contains("XDG_CACHE_HOME"), "{stop}");
        assert_eq!(stop.status, crate::host::error::USAGE);
    }
}
