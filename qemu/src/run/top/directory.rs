//! Directory with the sockets of the user's running jobs.

use rustix::process::getuid;
use std::fs::{self, DirBuilder};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum wait for the answer of a job.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Maximum length of an answer in bytes.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

/// Returns the directory, and creates it if it does not exist. `None` if no other user may be excluded from it.
pub fn private_directory() -> Option<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let directory = match runtime.filter(|runtime| runtime.is_absolute() && runtime.is_dir()) {
        Some(runtime) => runtime.join("midplane"),
        None => std::env::temp_dir().join(format!("midplane-{}", getuid().as_raw())),
    };
    // An existing directory is checked below.
    let _ = DirBuilder::new().mode(0o700).create(&directory);
    is_private(&directory).then_some(directory)
}

/// Checks that only this user can read and write a directory. A link to a directory of another user is refused.
fn is_private(directory: &Path) -> bool {
    fs::symlink_metadata(directory)
        .is_ok_and(|found| found.is_dir() && found.uid() == getuid().as_raw() && found.mode() & 0o077 == 0)
}

/// Returns the path of a job's socket.
pub fn socket_path(directory: &Path, pid: u32) -> PathBuf {
    directory.join(format!("{pid}.sock"))
}

/// Returns the process IDs of the running jobs, ascending. Removes the sockets of jobs that were killed.
pub fn running_jobs(directory: &Path) -> Vec<u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".sock")?.parse().ok());
    let mut pids: Vec<u32> = pids.filter(|pid| is_running(directory, *pid)).collect();
    pids.sort_unstable();
    pids
}

fn is_running(directory: &Path, pid: u32) -> bool {
    let path = socket_path(directory, pid);
    let is_refused = UnixStream::connect(&path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    if is_refused {
        let _ = fs::remove_file(path);
    }
    !is_refused
}

/// Requests the state of a job. Waits for the answer.
///
/// # Errors
/// Returns an error if the job has ended or does not answer.
pub fn request_state(directory: &Path, pid: u32) -> io::Result<String> {
    let stream = UnixStream::connect(socket_path(directory, pid))?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    let mut text = String::new();
    stream.take(MAX_ANSWER_BYTES).read_to_string(&mut text)?;
    if text.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    fn test_directory(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("midplane-test-{name}-{}", std::process::id()));
        DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .expect("a new directory");
        directory
    }

    #[test]
    fn only_a_private_directory_is_used() {
        let directory = test_directory("private");
        let link = directory.join("link");
        symlink(&directory, &link).unwrap();
        assert!(is_private(&directory));
        assert!(!is_private(&link) && !is_private(&directory.join("missing")));
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o750)).unwrap();
        assert!(!is_private(&directory));
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn sockets_of_killed_jobs_are_removed() {
        let directory = test_directory("sockets");
        let _running = UnixListener::bind(socket_path(&directory, 12)).unwrap();
        drop(UnixListener::bind(socket_path(&directory, 7)).unwrap());
        fs::write(directory.join("other"), "").unwrap();
        assert_eq!(running_jobs(&directory), [12]);
        assert!(!socket_path(&directory, 7).exists());
        fs::remove_dir_all(&directory).unwrap();
    }
}
