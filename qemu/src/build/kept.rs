//! The folders of programs that have been built, below `target/midplane/programs`, and of the runtime's libraries for
//! programs, below `target/midplane`: kept for the next run, up to a limit for each kind. What cargo has made for such a
//! folder is in a directory that it has for all, by the name of the folder's crate, and goes with the folder.
//!
//! Each has a file that who uses the folder holds locked for as long as its process lives, and whose time of change is that of
//! the last use. When a folder is added, those that nobody uses are removed, the one used longest ago first, until the rest is
//! within the limit. The system gives the lock back however the process ends.

use crate::host::stop::Stop;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// What all of a kind take together, at most, when one is added; those in use count, and stay.
const KEPT_BYTES: u64 = 2 << 30;
/// One that has just been used stays in any case: a job may be about to start from it.
const YOUNG: Duration = Duration::from_secs(600);
/// The file that is locked.
const MARK: &str = "in-use";

/// The marks that this process holds, until it ends.
static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Makes the folder, or takes the one that is there, and keeps it from being removed as long as this process lives. With a
/// new one, old ones may have to go.
///
/// # Errors
/// When it is not there and cannot be made.
pub(super) fn use_folder(folder: &Path) -> Result<(), Stop> {
    let is_new = !folder.exists();
    match hold(folder) {
        Ok(mark) => {
            let mut held = HELD.lock().unwrap_or_else(|error| error.into_inner());
            held.push(mark);
        }
        // Where nothing can be written, nothing is removed.
        Err(_) if !is_new => return Ok(()),
        Err(error) => return Err(not_created(folder, &error)),
    }
    if let (true, Some(all)) = (is_new, folder.parent()) {
        // What cannot be removed now may be the next time.
        let _ = prune(all, KEPT_BYTES, SystemTime::now() - YOUNG);
    }
    Ok(())
}

/// The same for an image, where it stands in such a folder.
///
/// # Errors
/// None so far: what is not such a folder needs nothing, and one that cannot be written is not removed.
pub(super) fn use_image(image: &Path) -> Result<(), Stop> {
    match image.parent() {
        Some(folder) if folder.join(MARK).exists() => use_folder(folder),
        _ => Ok(()),
    }
}

/// The end of a command that cannot create this folder.
pub(super) fn not_created(folder: &Path, error: &io::Error) -> Stop {
    let what = format!("cannot create {}: {error}", folder.display());
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::NotADirectory => Stop::usage(format!(
            "{what}; let XDG_CACHE_HOME name a folder that can be written"
        )),
        _ => Stop::failure(what),
    }
}

/// The folder's mark, locked, and there.
fn hold(folder: &Path) -> io::Result<File> {
    loop {
        fs::create_dir_all(folder)?;
        let path = folder.join(MARK);
        let mark = match File::create(&path) {
            // Somebody has removed the folder meanwhile.
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

/// How the names of the runtime's folders begin, which lie among others.
pub(super) const RUNTIMES: [&str; 2] = ["runtime", "cluster"];
/// The folder of the programs' folders.
pub(super) const PROGRAMS: &str = "programs";

/// What cargo has made, by the names of crates.
struct Made(Vec<(String, PathBuf)>);

impl Made {
    /// All of it below `target/midplane`: in cargo's directories for each target and profile.
    fn below(midplane: &Path) -> Self {
        let mut made = Vec::new();
        let targets = entries(midplane).flat_map(|target| entries(&target).collect::<Vec<_>>());
        for profile in targets.flat_map(|target| entries(&target).collect::<Vec<_>>()) {
            if !profile.join(".fingerprint").is_dir() {
                continue;
            }
            for folder in ["", "deps", ".fingerprint"] {
                let named = entries(&profile.join(folder));
                made.extend(named.filter_map(|path| Some((crate_of(&path)?, path))));
            }
        }
        Self(made)
    }

    fn of(&self, folder: &Path) -> impl Iterator<Item = &Path> {
        let name = crate_name(folder);
        let made = self.0.iter();
        made.filter_map(move |(of, path)| (*of == name).then_some(path.as_path()))
    }
}

/// The name of the crate that the tool puts around what is in a folder.
pub(super) fn crate_name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let word: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    format!("{CRATE}{word}")
}

/// How its name begins.
const CRATE: &str = "program_";

/// The crate whose file or folder this is, by its name: a hash, an extension or the tool's own ending may follow.
fn crate_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_prefix("lib").unwrap_or(name);
    let name = name.split(['.', '-']).next()?;
    let name = name.strip_suffix("_apart").unwrap_or(name);
    name.starts_with(CRATE).then(|| name.into())
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    all.map(|entry| entry.path())
}

/// Removes folders in `all` that nobody uses and that were last used before `before`, until the rest takes `limit` bytes at
/// most.
fn prune(all: &Path, limit: u64, before: SystemTime) -> io::Result<()> {
    let is_programs = all.file_name().is_some_and(|name| name == PROGRAMS);
    let midplane = if is_programs { all.parent() } else { Some(all) };
    let made = Made::below(midplane.unwrap_or(all));
    let is_kept = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        is_programs || RUNTIMES.iter().any(|begin| name.starts_with(begin))
    };
    let mut folders: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(all)? {
        let path = entry?.path();
        if !is_kept(&path) {
            continue;
        }
        // One of an older version has no mark: its own time will do.
        let used = fs::metadata(path.join(MARK)).or_else(|_| fs::metadata(&path));
        if let Ok(used) = used.and_then(|used| used.modified()) {
            let sum = made.of(&path).map(bytes).sum::<u64>() + bytes(&path);
            folders.push((used, sum, path));
        }
    }
    folders.sort();
    let mut sum: u64 = folders.iter().map(|(_, bytes, _)| bytes).sum();
    for (used, bytes, path) in folders {
        if sum <= limit || used >= before {
            break;
        }
        if remove(&path, &made)? {
            sum -= bytes;
        }
    }
    Ok(())
}

/// Removes a folder, and what cargo has made for it, unless somebody uses it; whether it has gone.
fn remove(folder: &Path, made: &Made) -> io::Result<bool> {
    if !folder.is_dir() {
        return Ok(false);
    }
    let mark = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(MARK))?;
    match mark.try_lock() {
        Ok(()) => {
            for path in made.of(folder) {
                match path.is_dir() {
                    true => fs::remove_dir_all(path)?,
                    false => fs::remove_file(path)?,
                }
            }
            fs::remove_dir_all(folder).map(|()| true)
        }
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// What a folder's files take on the disk. A link is not followed.
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
        // The oldest is in use; of the others the older goes.
        for (name, hours) in [("used", 9), ("new", 1), ("old", 8), ("middle", 4)] {
            let folder = all.join(name);
            let mark = hold(&folder).unwrap();
            fs::write(folder.join("image"), [1; 1 << 16]).unwrap();
            mark.set_modified(now - Duration::from_secs(3600 * hours))
                .unwrap();
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
    fn what_cargo_has_made_goes_with_its_folder() {
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
        for (folder, name, hours) in [
            ("runtime-log", "runtime_log", 8),
            ("runtime-log-borrow", "runtime_log_borrow", 1),
            ("programs/ring-ab", "ring_ab", 9),
        ] {
            outputs(name).iter().for_each(|path| write(path));
            let mark = hold(&midplane.join(folder)).unwrap();
            mark.set_modified(now - Duration::from_secs(3600 * hours))
                .unwrap();
        }
        let are_there = |name| outputs(name).map(|path| path.exists());
        // The outputs of one are more than half of both together; of others nothing goes.
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
