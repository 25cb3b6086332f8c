//! Cache of build directories: of programs, below `target/midplane/programs`, of runtime libraries, below
//! `target/midplane`, of MPI's Fortran modules, below `target/midplane/fortran`, and of installed commands, in the user's
//! directory (`carried.rs`). Each kind has a size limit. Cargo's outputs for such a directory are in a shared directory,
//! under the name of its crate, and are removed with it.
//!
//! Each directory contains a file that its users lock for the lifetime of their process, and whose modification time is
//! that of the last use. After a new directory is added, unused ones are removed until the rest is within the limit,
//! least recently used first. The system releases the lock regardless of how the process ends.

use crate::host::directories::SOURCES;
use crate::host::error::CliError;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// Limit in bytes per kind, checked when a directory is added. Directories in use count, but are not removed.
const MAX_CACHE_BYTES: u64 = 2 << 30;
/// The same for directories of Fortran modules, of a few MB each.
const MAX_MODULE_BYTES: u64 = 64 << 20;
/// Directories used more recently are not removed: a job may be about to start from them.
const YOUNG: Duration = Duration::from_secs(600);
/// The locked file.
const MARK: &str = "in-use";

/// Locks that this process holds until it ends.
static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Creates or reuses the directory, and protects it from removal for the lifetime of this process. A new one may cause
/// the removal of old ones.
///
/// # Errors
/// Returns an error if the directory cannot be created.
pub(super) fn use_directory(dir: &Path) -> Result<(), CliError> {
    let is_new = !dir.join(MARK).exists();
    match hold(dir) {
        Ok(mark) => {
            let mut held = HELD.lock().unwrap_or_else(|error| error.into_inner());
            held.push(mark);
        }
        // In a read-only directory, nothing is removed.
        Err(_) if dir.exists() => return Ok(()),
        Err(error) => return Err(not_created(dir, &error)),
    }
    if let (true, Some(all)) = (is_new, dir.parent()) {
        // A failed removal is retried the next time.
        let limit = match all.ends_with(MODULES) {
            true => MAX_MODULE_BYTES,
            false => MAX_CACHE_BYTES,
        };
        let _ = prune(all, limit, SystemTime::now() - YOUNG);
    }
    Ok(())
}

/// Protects an image's directory from removal, if it is such a directory.
///
/// # Errors
/// Currently none: other directories are not removed, and neither are read-only ones.
pub(super) fn use_image(image: &Path) -> Result<(), CliError> {
    match image.parent() {
        Some(dir) if dir.join(MARK).exists() => use_directory(dir),
        _ => Ok(()),
    }
}

/// Returns the error for a directory that cannot be created.
pub(super) fn not_created(dir: &Path, error: &io::Error) -> CliError {
    let what = format!("cannot create {}: {error}", dir.display());
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory => {
            CliError::unusable(format!("{what}; set XDG_CACHE_HOME to a writable directory"))
        }
        _ => CliError::failure(what),
    }
}

/// Creates and locks the directory's lock file.
fn hold(dir: &Path) -> io::Result<File> {
    loop {
        fs::create_dir_all(dir)?;
        let path = dir.join(MARK);
        let mark = match File::create(&path) {
            // Another process has removed the directory meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            mark => mark?,
        };
        mark.lock_shared()?;
        let is_same = |there: fs::Metadata| mark.metadata().is_ok_and(|m| m.ino() == there.ino());
        if fs::metadata(&path).is_ok_and(is_same) {
            mark.set_modified(SystemTime::now())?;
            return Ok(mark);
        }
    }
}

/// Name prefixes of the runtime's directories; their parent contains others, too.
pub(super) const RUNTIMES: [&str; 2] = ["runtime", "cluster"];
/// Name of the parent of the programs' directories.
pub(super) const PROGRAMS: &str = "programs";
/// Name of the parent of the directories of Fortran modules.
pub(super) const MODULES: &str = "fortran";

/// Cargo's outputs, by crate name.
struct CargoOutputs(Vec<(String, PathBuf)>);

impl CargoOutputs {
    /// Collects the outputs below `target/midplane`: cargo's directories for each target and profile.
    fn below(midplane: &Path) -> Self {
        let mut made = Vec::new();
        let targets = entries(midplane).flat_map(|target| entries(&target).collect::<Vec<_>>());
        for profile in targets.flat_map(|target| entries(&target).collect::<Vec<_>>()) {
            if !profile.join(".fingerprint").is_dir() {
                continue;
            }
            for dir in ["", "deps", ".fingerprint"] {
                let named = entries(&profile.join(dir));
                made.extend(named.filter_map(|path| Some((crate_of_output(&path)?, path))));
            }
        }
        Self(made)
    }

    fn outputs_for_directory(&self, dir: &Path) -> impl Iterator<Item = &Path> {
        let name = crate_name(dir);
        let made = self.0.iter();
        made.filter_map(move |(of, path)| (*of == name).then_some(path.as_path()))
    }
}

/// Returns the name of the crate that is generated for a directory.
pub(super) fn crate_name(dir: &Path) -> String {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let word: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    format!("{CRATE}{word}")
}

/// Prefix of the crate names.
const CRATE: &str = "program_";

/// Returns the crate that a file or directory belongs to, by its name. A hash, an extension or Midplane's suffix may
/// follow the crate name.
fn crate_of_output(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_prefix("lib").unwrap_or(name);
    let name = name.split(['.', '-']).next()?;
    let name = name.strip_suffix("_apart").unwrap_or(name);
    name.starts_with(CRATE).then(|| name.into())
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let all = fs::read_dir(dir).into_iter().flatten().flatten();
    all.map(|entry| entry.path())
}

/// Removes unused directories in `all` whose last use was before `before`, until the rest occupies at most `limit`
/// bytes.
fn prune(all: &Path, limit: u64, before: SystemTime) -> io::Result<()> {
    let is_programs = all.ends_with(PROGRAMS);
    // All directories in it are of one kind.
    let is_one_kind = is_programs || all.ends_with(MODULES);
    let made = match all.parent().filter(|_| is_one_kind) {
        Some(midplane) if is_programs => CargoOutputs::below(midplane),
        Some(_) => CargoOutputs(Vec::new()),
        None => CargoOutputs::below(all),
    };
    let is_kept = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        is_one_kind || RUNTIMES.iter().any(|begin| name.starts_with(begin)) || path.join(SOURCES).is_dir()
    };
    let mut dirs: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(all)? {
        let path = entry?.path();
        if !is_kept(&path) {
            continue;
        }
        // A directory of an older version contains no lock file; its own time is used.
        let used = fs::metadata(path.join(MARK)).or_else(|_| fs::metadata(&path));
        if let Ok(used) = used.and_then(|used| used.modified()) {
            let sum = made.outputs_for_directory(&path).map(bytes).sum::<u64>() + bytes(&path);
            dirs.push((used, sum, path));
        }
    }
    dirs.sort();
    let mut sum: u64 = dirs.iter().map(|(_, bytes, _)| bytes).sum();
    for (used, bytes, path) in dirs {
        if sum <= limit || used >= before {
            break;
        }
        if remove(&path, &made)? {
            sum -= bytes;
        }
    }
    Ok(())
}

/// Removes a directory and cargo's outputs for it, unless it is in use. Returns whether it is gone.
fn remove(dir: &Path, made: &CargoOutputs) -> io::Result<bool> {
    if !dir.is_dir() {
        return Ok(false);
    }
    let mark = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(dir.join(MARK))?;
    match mark.try_lock() {
        Ok(()) => {
            for path in made.outputs_for_directory(dir) {
                if path.is_dir() {
                    fs::remove_dir_all(path)?
                } else {
                    fs::remove_file(path)?
                }
            }
            fs::remove_dir_all(dir).map(|()| true)
        }
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns the disk space of a directory's files. Does not follow links.
fn bytes(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    let own = 512 * metadata.blocks();
    if !metadata.is_dir() {
        return own;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.fold(own, |sum, entry| sum + bytes(&entry.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_used_longest_ago_go_first_and_none_that_is_in_use() {
        let midplane = std::env::temp_dir().join(format!("midplane-kept-{}", std::process::id()));
        let all = midplane.join(PROGRAMS);
        let now = SystemTime::now();
        let mut marks = Vec::new();
        // The oldest is in use; of the others the older is removed.
        for (name, hours) in [("used", 9), ("new", 1), ("old", 8), ("middle", 4)] {
            let dir = all.join(name);
            let mark = hold(&dir).unwrap();
            fs::write(dir.join("image"), [1; 1 << 16]).unwrap();
            mark.set_modified(now - Duration::from_secs(3600 * hours)).unwrap();
            if name == "used" {
                marks.push(mark);
            }
        }
        let are_there = || ["used", "new", "middle", "old"].map(|name| all.join(name).exists());
        prune(&all, 1 << 30, now).unwrap();
        assert_eq!(are_there(), [true; 4], "within the limit");
        prune(&all, 250_000, now).unwrap();
        assert_eq!(are_there(), [true, true, true, false]);
        prune(&all, 0, now - Duration::from_secs(2 * 3600)).unwrap();
        assert_eq!(are_there(), [true, true, false, false], "too young");
        drop(marks);
        prune(&all, 0, now).unwrap();
        assert_eq!(are_there(), [false; 4]);
        fs::remove_dir_all(&midplane).unwrap();
    }

    #[test]
    fn of_installed_commands_the_one_that_was_not_used_is_removed() {
        let user = std::env::temp_dir().join(format!("midplane-commands-{}", std::process::id()));
        let now = SystemTime::now();
        for (name, hours) in [("0.1.0-a/sources", 9), ("0.2.0-b/sources", 1), ("qemu/usr", 99)] {
            fs::create_dir_all(user.join(name)).unwrap();
            fs::write(user.join(name).join("file"), [1; 1 << 16]).unwrap();
            let mark = hold(user.join(name).parent().unwrap()).unwrap();
            mark.set_modified(now - Duration::from_secs(3600 * hours)).unwrap();
        }
        prune(&user, 100_000, now).unwrap();
        let are_there = ["0.1.0-a", "0.2.0-b", "qemu"].map(|name| user.join(name).exists());
        assert_eq!(are_there, [false, true, true]);
        fs::remove_dir_all(&user).unwrap();
    }

    #[test]
    fn fortran_modules_of_other_compilers_are_removed() {
        let midplane = std::env::temp_dir().join(format!("midplane-modules-{}", std::process::id()));
        let all = midplane.join(MODULES);
        let now = SystemTime::now();
        for (name, hours) in [("mpi-old", 9), ("mpi-new", 1)] {
            let mark = hold(&all.join(name)).unwrap();
            fs::write(all.join(name).join("mpi.mod"), [1; 1 << 16]).unwrap();
            mark.set_modified(now - Duration::from_secs(3600 * hours)).unwrap();
        }
        prune(&all, 100_000, now).unwrap();
        let are_there = ["mpi-old", "mpi-new"].map(|name| all.join(name).exists());
        assert_eq!(are_there, [false, true]);
        fs::remove_dir_all(&midplane).unwrap();
    }

    #[test]
    fn what_cargo_has_made_goes_with_its_directory() {
        let midplane = std::env::temp_dir().join(format!("midplane-made-{}", std::process::id()));
        let profile = midplane.join("linux/x86_64-unknown-linux-gnu/process");
        let outputs = |name: &str| {
            [
                format!("libprogram_{name}.a"),
                format!("libprogram_{name}_apart.stamp"),
                format!("deps/libprogram_{name}-0123.a"),
                format!("deps/program_{name}-0123.d"),
                format!(".fingerprint/program_{name}-0123/hash"),
            ]
            .map(|name| profile.join(name))
        };
        let now = SystemTime::now();
        let write = |path: &Path| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, [1; 1 << 16]).unwrap();
        };
        for (dir, name, hours) in [
            ("runtime-log", "runtime_log", 8),
            ("runtime-log-borrow", "runtime_log_borrow", 1),
            ("programs/ring-ab", "ring_ab", 9),
        ] {
            outputs(name).iter().for_each(|path| write(path));
            let mark = hold(&midplane.join(dir)).unwrap();
            mark.set_modified(now - Duration::from_secs(3600 * hours)).unwrap();
        }
        let are_there = |name| outputs(name).map(|path| path.exists());
        // The outputs of one are more than half of the total; no other outputs are removed.
        prune(&midplane, 500_000, now).unwrap();
        assert_eq!(are_there("runtime_log"), [false; 5]);
        assert!(!midplane.join("runtime-log").exists());
        assert_eq!(are_there("runtime_log_borrow"), [true; 5]);
        assert_eq!(are_there("ring_ab"), [true; 5]);
        prune(&midplane.join(PROGRAMS), 0, now).unwrap();
        assert_eq!(are_there("ring_ab"), [false; 5]);
        assert_eq!(are_there("runtime_log_borrow"), [true; 5]);
        fs::remove_dir_all(&midplane).unwrap();
    }
}
