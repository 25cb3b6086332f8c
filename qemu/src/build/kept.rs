//! The folders of programs that have been built, below `target/midplane/programs`: kept for the next run, up to a limit.
//!
//! Each has a file that who uses the folder holds locked for as long as its process lives, and whose time of change is that of
//! the last use. When a folder is added, those that nobody uses are removed, the one used longest ago first, until the rest is
//! within the limit. The system gives the lock back however the process ends.

use crate::host::stop::{Doing, Stop};
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

/// What all of them take together, at most, when one is added; those in use count, and stay.
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
        Err(error) => return Err(error).doing(format_args!("create {}", folder.display())),
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

/// Removes folders in `all` that nobody uses and that were last used before `before`, until the rest takes `limit` bytes at
/// most.
fn prune(all: &Path, limit: u64, before: SystemTime) -> io::Result<()> {
    let mut folders: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(all)? {
        let path = entry?.path();
        // One of an older version has no mark: its own time will do.
        let used = fs::metadata(path.join(MARK)).or_else(|_| fs::metadata(&path));
        if let Ok(used) = used.and_then(|used| used.modified()) {
            folders.push((used, bytes(&path), path));
        }
    }
    folders.sort();
    let mut sum: u64 = folders.iter().map(|(_, bytes, _)| bytes).sum();
    for (used, bytes, path) in folders {
        if sum <= limit || used >= before {
            break;
        }
        if remove(&path)? {
            sum -= bytes;
        }
    }
    Ok(())
}

/// Removes a folder unless somebody uses it; whether it has gone.
fn remove(folder: &Path) -> io::Result<bool> {
    if !folder.is_dir() {
        return Ok(false);
    }
    let mark = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(MARK))?;
    match mark.try_lock() {
        Ok(()) => fs::remove_dir_all(folder).map(|()| true),
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
        let all = std::env::temp_dir().join(format!("midplane-kept-{}", std::process::id()));
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
        fs::remove_dir_all(&all).unwrap();
    }
}
