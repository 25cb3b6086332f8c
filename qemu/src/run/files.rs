//! `--files`: server of the nodes' file calls (`midplane_abi::files`). Separate threads handle them, so that a slow
//! disk does not block the job's event loop.
//!
//! # Isolation
//! The directory is the root of all files to the nodes, as after `chroot`. The kernel resolves every path below it
//! (`openat2` with `RESOLVE_IN_ROOT` and `RESOLVE_NO_MAGICLINKS`), including dots, links and concurrent renames. Calls
//! without such a variant (unlink, rename, mkdir, rmdir) resolve the parent directory that way. They pass the last part
//! to system calls that never follow it. Devices, sockets and pipes are not opened.
//!
//! Descriptors are local to a node, and open files are closed when the job ends.

use crate::host::error::{CliError, ErrorContext};
use midplane_abi::files::{
    BYTES, FileOperation, FileRequest, FileStatus, MAX_OPEN, MAX_PATH, OPEN_APPEND, OPEN_CREATE, OPEN_DIRECTORY,
    OPEN_EXCLUSIVE, OPEN_NO_LINK, OPEN_READ, OPEN_TRUNCATE, OPEN_WRITE,
};
use rustix::fs::{
    Access, AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, SeekFrom, Stat, fstat, ftruncate, mkdirat, openat2,
    renameat, seek, unlinkat,
};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Number of server threads.
const SERVERS: usize = 4;
/// Maximum number of attempts to resolve a path during concurrent renames.
const TRIES: usize = 64;
/// The nodes' first file descriptor; lower ones are the standard streams.
const FIRST: u64 = 3;

/// A directory that nodes may access.
#[derive(Debug)]
pub struct ServedDirectory(OwnedFd);

impl ServedDirectory {
    /// Opens the directory.
    ///
    /// # Errors
    /// Returns a usage error if it cannot be opened, or if the kernel cannot confine nodes to it.
    pub fn open(path: &Path) -> Result<Self, CliError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let refused = |error: &dyn std::fmt::Display| CliError::usage(format!("--files {}: {error}", path.display()));
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| refused(&std::io::Error::from(error)))?;
        let dir = Self(fd);
        match dir.open_inside(b".", flags, Mode::empty()) {
            Ok(_) => Ok(dir),
            Err(Errno::NOSYS) => Err(refused(
                &"this machine's kernel does not support openat2 (Linux 5.6 or later), which is required to confine \
                  nodes to the directory",
            )),
            Err(error) => Err(refused(&std::io::Error::from(error))),
        }
    }

    /// Opens a path inside the directory.
    fn open_inside(&self, path: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let path = OsStr::from_bytes(path);
        let mut tries = 0..TRIES;
        loop {
            match openat2(&self.0, path, flags | OFlags::CLOEXEC, mode, resolve) {
                // A concurrent rename made the target of `..` ambiguous.
                Err(Errno::AGAIN | Errno::INTR) if tries.next().is_some() => {}
                Err(Errno::XDEV) => return Err(Errno::ACCESS),
                // This process's descriptors are exhausted, not the node's.
                Err(Errno::MFILE) => return Err(Errno::NFILE),
                found => return found,
            }
        }
    }

    /// Opens a path for queries only.
    fn open_for_query(&self, path: &[u8], follow: bool) -> Result<OwnedFd, Errno> {
        let link = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
        self.open_inside(path, OFlags::PATH | link, Mode::empty())
    }

    /// Splits a path into its opened parent directory and the last part.
    fn split<'p>(&self, path: &'p [u8]) -> Result<(OwnedFd, &'p OsStr), Errno> {
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        let end = path.len() - path.iter().rev().take_while(|b| **b == b'/').count();
        let start = path[..end].iter().rposition(|b| *b == b'/');
        let start = start.map_or(0, |slash| slash + 1);
        // A slash after the last part requires a directory.
        let (dir, last) = path.split_at(start);
        let dir = if dir.is_empty() { b"." } else { dir };
        // The root itself has no last part.
        let last = if end == 0 { &b"."[..] } else { last };
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let dir = self.open_inside(dir, flags, Mode::empty())?;
        Ok((dir, OsStr::from_bytes(last)))
    }

    fn open_file(&self, path: &[u8], wanted: u64, mode: u64) -> Result<OwnedFd, Errno> {
        let mut flags = match wanted & (OPEN_READ | OPEN_WRITE) {
            OPEN_READ => OFlags::RDONLY,
            OPEN_WRITE => OFlags::WRONLY,
            _ => OFlags::RDWR,
        };
        for (asked, flag) in [
            (OPEN_APPEND, OFlags::APPEND),
            (OPEN_CREATE, OFlags::CREATE),
            (OPEN_EXCLUSIVE, OFlags::EXCL),
            (OPEN_TRUNCATE, OFlags::TRUNC),
            (OPEN_DIRECTORY, OFlags::DIRECTORY),
            (OPEN_NO_LINK, OFlags::NOFOLLOW),
        ] {
            if wanted & asked != 0 {
                flags |= flag;
            }
        }
        // The type is checked first, because merely opening some devices has side effects.
        let before = self.open_for_query(path, wanted & (OPEN_NO_LINK | OPEN_EXCLUSIVE) == 0);
        if let Ok(before) = before {
            check_kind(&before, wanted & OPEN_NO_LINK != 0)?;
        }
        let mode = if flags.contains(OFlags::CREATE) {
            Mode::from_raw_mode(mode as u32 & 0o777)
        } else {
            Mode::empty()
        };
        // Non-blocking, in case the file was replaced by a pipe meanwhile.
        let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.open_inside(path, flags, mode)?;
        check_kind(&file, false)?;
        Ok(file)
    }
}

/// Permits only files and directories; `open` itself returns an error for a link.
fn check_kind(fd: &OwnedFd, may_be_link: bool) -> Result<(), Errno> {
    match FileType::from_raw_mode(fstat(fd)?.st_mode) {
        FileType::RegularFile | FileType::Directory => Ok(()),
        FileType::Symlink if may_be_link => Ok(()),
        _ => Err(Errno::ACCESS),
    }
}

/// An open file of a node.
struct OpenFile {
    file: OwnedFd,
    /// Its directory entries, after the first request.
    entries: Option<Dir>,
}

/// Descriptors of one node.
#[derive(Default)]
struct DescriptorTable(Vec<Option<OpenFile>>);

impl DescriptorTable {
    fn put(&mut self, file: OwnedFd) -> Result<u64, Errno> {
        let open = OpenFile { file, entries: None };
        let free = self.0.iter().position(Option::is_none);
        let at = match free {
            Some(at) => at,
            None if self.0.len() < MAX_OPEN => {
                self.0.push(None);
                self.0.len() - 1
            }
            None => return Err(Errno::MFILE),
        };
        self.0[at] = Some(open);
        Ok(at as u64 + FIRST)
    }

    fn is_full(&self) -> bool {
        self.0.len() == MAX_OPEN && self.0.iter().all(Option::is_some)
    }

    fn slot(&mut self, descriptor: u64) -> Result<&mut Option<OpenFile>, Errno> {
        let at = descriptor.checked_sub(FIRST).ok_or(Errno::BADF)?;
        let at = usize::try_from(at).map_err(|_| Errno::BADF)?;
        self.0.get_mut(at).ok_or(Errno::BADF)
    }

    fn get(&mut self, descriptor: u64) -> Result<&mut OpenFile, Errno> {
        self.slot(descriptor)?.as_mut().ok_or(Errno::BADF)
    }
}

/// Successful reply: two return values and the number of bytes in the buffer.
type CompletedCall = Result<([u64; 2], usize), Errno>;

/// Performs one call of a node.
fn perform_call(
    dir: &ServedDirectory,
    node: &mut DescriptorTable,
    asked: &FileRequest,
    bytes: &mut [u8; BYTES],
) -> CompletedCall {
    let [first, second, third] = asked.numbers;
    let call = asked.call.ok_or(Errno::NOSYS)?;
    let given = asked.length;
    let nothing = Ok(([0; 2], 0));
    match call {
        FileOperation::Open => {
            let path = path(&bytes[..given])?;
            if node.is_full() {
                return Err(Errno::MFILE);
            }
            let file = dir.open_file(path, first, second)?;
            Ok(([node.put(file)?, 0], 0))
        }
        FileOperation::Close => {
            node.get(first)?;
            *node.slot(first)? = None;
            nothing
        }
        FileOperation::Read => {
            let count = usize::try_from(second).unwrap_or(BYTES).min(BYTES);
            let got = rustix::io::read(&node.get(first)?.file, &mut bytes[..count])?;
            Ok(([got as u64, 0], got))
        }
        FileOperation::Write => {
            let written = rustix::io::write(&node.get(first)?.file, &bytes[..given])?;
            Ok(([written as u64, 0], 0))
        }
        FileOperation::Seek => {
            let offset = second.cast_signed();
            let to = match third {
                0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| Errno::INVAL)?),
                1 => SeekFrom::Current(offset),
                2 => SeekFrom::End(offset),
                _ => return Err(Errno::INVAL),
            };
            Ok(([seek(&node.get(first)?.file, to)?, 0], 0))
        }
        FileOperation::Sync => rustix::fs::fsync(&node.get(first)?.file).and(nothing),
        FileOperation::Resize => ftruncate(&node.get(first)?.file, second).and(nothing),
        FileOperation::Stat | FileOperation::Lstat => {
            let found = dir.open_for_query(path(&bytes[..given])?, call == FileOperation::Stat)?;
            report_status(&found, bytes)
        }
        FileOperation::Fstat => report_status(&node.get(first)?.file, bytes),
        FileOperation::Access => {
            let found = dir.open_for_query(path(&bytes[..given])?, true)?;
            let mode = Access::from_bits(first as u32).ok_or(Errno::INVAL)?;
            // This process's own path of the file: the only query by descriptor that all kernels support.
            let own = format!("/proc/self/fd/{}", found.as_raw_fd());
            rustix::fs::access(own, mode).and(nothing)
        }
        FileOperation::Unlink
        | FileOperation::RemoveDirectory
        | FileOperation::MakeDirectory
        | FileOperation::Rename => change_entries(dir, call, first, &bytes[..given]).and(nothing),
        FileOperation::Next => read_entry(node.get(first)?, bytes),
        FileOperation::Rewind => {
            node.get(first)?.entries = None;
            nothing
        }
    }
}

/// Performs a call that changes directory entries; `given` contains one or two paths.
fn change_entries(dir: &ServedDirectory, call: FileOperation, number: u64, given: &[u8]) -> Result<(), Errno> {
    match call {
        FileOperation::Rename => {
            let first = usize::try_from(number).unwrap_or(usize::MAX);
            let (from, to) = given.split_at_checked(first).ok_or(Errno::INVAL)?;
            let (from, old) = dir.split(path(from)?)?;
            let (to, new) = dir.split(path(to)?)?;
            renameat(from, old, to, new)
        }
        FileOperation::MakeDirectory => {
            let (place, name) = dir.split(path(given)?)?;
            mkdirat(place, name, Mode::from_raw_mode(number as u32 & 0o777))
        }
        _ => {
            let (place, name) = dir.split(path(given)?)?;
            let flags = match call {
                FileOperation::RemoveDirectory => AtFlags::REMOVEDIR,
                _ => AtFlags::empty(),
            };
            unlinkat(place, name, flags)
        }
    }
}

/// Validates a path from a node.
fn path(bytes: &[u8]) -> Result<&[u8], Errno> {
    match bytes {
        [] => Err(Errno::NOENT),
        bytes if bytes.len() > MAX_PATH => Err(Errno::NAMETOOLONG),
        bytes if bytes.contains(&0) => Err(Errno::INVAL),
        bytes => Ok(bytes),
    }
}

fn report_status(file: &impl AsFd, bytes: &mut [u8; BYTES]) -> CompletedCall {
    let status = status(&fstat(file)?).emit();
    bytes[..FileStatus::BYTES].copy_from_slice(&status);
    Ok(([0; 2], FileStatus::BYTES))
}

#[allow(clippy::unnecessary_cast, reason = "not every machine has these types")]
fn status(stat: &Stat) -> FileStatus {
    FileStatus {
        identity: [stat.st_dev, stat.st_ino],
        mode: stat.st_mode.into(),
        links: stat.st_nlink as u64,
        owner: [stat.st_uid.into(), stat.st_gid.into()],
        size: stat.st_size as u64,
        blocks: [stat.st_blksize as u64, stat.st_blocks as u64],
        times: [
            stat.st_atime as u64,
            stat.st_atime_nsec as u64,
            stat.st_mtime as u64,
            stat.st_mtime_nsec as u64,
            stat.st_ctime as u64,
            stat.st_ctime_nsec as u64,
        ],
    }
}

/// Reads the next directory entry.
fn read_entry(open: &mut OpenFile, bytes: &mut [u8; BYTES]) -> CompletedCall {
    if open.entries.is_none() {
        open.entries = Some(Dir::read_from(&open.file)?);
    }
    let Some(entry) = open.entries.as_mut().and_then(Dir::read) else {
        return Ok(([0; 2], 0));
    };
    let entry = entry?;
    let name = entry.file_name().to_bytes();
    let kind = match entry.file_type() {
        FileType::Directory => 4,
        FileType::RegularFile => 8,
        FileType::Symlink => 10,
        _ => 0,
    };
    bytes[..name.len()].copy_from_slice(name);
    Ok(([entry.ino(), kind], name.len()))
}

/// A pending or completed call: rank, request and data.
struct FileCall {
    rank: usize,
    asked: FileRequest,
    bytes: Box<[u8; BYTES]>,
    done: CompletedCall,
}

/// State shared between the server threads and the main thread.
struct CallQueue {
    dir: ServedDirectory,
    nodes: Vec<Mutex<DescriptorTable>>,
    waiting: Mutex<VecDeque<FileCall>>,
    has_more: Condvar,
    done: Mutex<Vec<FileCall>>,
    /// Receives one byte per reply.
    bell: UnixStream,
}

/// File calls of all nodes.
#[derive(Default)]
pub struct FileServer {
    /// The server threads, if nodes may access a directory.
    served: Option<(Arc<CallQueue>, UnixStream)>,
    /// Sequence number of the last call, by rank.
    seen: Vec<u32>,
    /// Whether a call is in progress, by rank.
    busy: Vec<bool>,
    /// Whether an open call has failed for lack of a directory.
    was_refused: bool,
}

/// Reply to a node.
pub struct FileReply<'a> {
    pub rank: usize,
    /// Sequence number of the call.
    pub number: u32,
    /// Content; see [`midplane_abi::files::answer`].
    pub answer: Result<([u64; 2], &'a [u8]), u32>,
}

impl FileServer {
    /// Creates a server for this many nodes. Without `dir` all calls fail.
    pub fn new(nodes: usize, dir: Option<ServedDirectory>) -> Result<Self, CliError> {
        let served = dir.map(|dir| start(nodes, dir)).transpose()?;
        Ok(Self {
            served,
            seen: vec![0; nodes],
            busy: vec![false; nodes],
            was_refused: false,
        })
    }

    /// Returns the sequence number of a node's last call; `None` while it is in progress.
    pub fn last(&self, rank: usize) -> Option<u32> {
        (!self.busy[rank]).then_some(self.seen[rank])
    }

    /// Accepts a call. Returns a reply if no directory is configured, and whether this is the first file rejected for
    /// that reason.
    pub fn submit_call(
        &mut self,
        rank: usize,
        asked: FileRequest,
        bytes: &[u8; BYTES],
    ) -> (Option<FileReply<'static>>, bool) {
        self.seen[rank] = asked.number;
        let Some((queue, _)) = &self.served else {
            let error = missing_directory_error(asked.call);
            let is_first = error == Errno::ROFS && !self.was_refused;
            self.was_refused |= is_first;
            let answer = FileReply {
                rank,
                number: asked.number,
                answer: Err(error.raw_os_error().unsigned_abs()),
            };
            return (Some(answer), is_first);
        };
        self.busy[rank] = true;
        let job = FileCall {
            rank,
            asked,
            bytes: Box::new(*bytes),
            done: Err(Errno::IO),
        };
        lock_queue(&queue.waiting).push_back(job);
        queue.has_more.notify_one();
        (None, false)
    }

    /// Returns the socket that is readable when replies are pending.
    pub fn reply_socket(&self) -> Option<&UnixStream> {
        self.served.as_ref().map(|(_, bell)| bell)
    }

    /// Passes completed replies to `give`.
    pub fn handle_replies(&mut self, mut give: impl FnMut(FileReply<'_>)) {
        let Some((queue, bell)) = &mut self.served else {
            return;
        };
        let mut bytes = [0; 256];
        while matches!(bell.read(&mut bytes), Ok(1..)) {}
        let done = std::mem::take(&mut *lock_queue(&queue.done));
        for job in done {
            self.busy[job.rank] = false;
            let answer = match &job.done {
                Ok((numbers, length)) => Ok((*numbers, &job.bytes[..*length])),
                Err(error) => Err(error.raw_os_error().unsigned_abs()),
            };
            give(FileReply {
                rank: job.rank,
                number: job.asked.number,
                answer,
            });
        }
    }
}

/// Returns the error of a call without a directory: no file exists and none can be created.
fn missing_directory_error(call: Option<FileOperation>) -> Errno {
    match call {
        None => Errno::NOSYS,
        Some(FileOperation::Open | FileOperation::MakeDirectory) => Errno::ROFS,
        Some(
            FileOperation::Stat
            | FileOperation::Lstat
            | FileOperation::Access
            | FileOperation::Rename
            | FileOperation::Unlink
            | FileOperation::RemoveDirectory,
        ) => Errno::NOENT,
        Some(_) => Errno::BADF,
    }
}

fn lock_queue<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the threads. They end with the process, because a call may block for long.
fn start(nodes: usize, dir: ServedDirectory) -> Result<(Arc<CallQueue>, UnixStream), CliError> {
    let (ours, theirs) = UnixStream::pair().context("create a socket for files")?;
    for end in [&ours, &theirs] {
        end.set_nonblocking(true).context("set up a socket for files")?;
    }
    let queue = Arc::new(CallQueue {
        dir,
        nodes: (0..nodes).map(|_| Mutex::default()).collect(),
        waiting: Mutex::default(),
        has_more: Condvar::new(),
        done: Mutex::default(),
        bell: theirs,
    });
    for number in 0..SERVERS {
        let queue = Arc::clone(&queue);
        std::thread::Builder::new()
            .name(format!("files-{number}"))
            .spawn(move || queue.run_worker())
            .context("start a thread for files")?;
    }
    Ok((queue, ours))
}

impl CallQueue {
    fn run_worker(&self) {
        loop {
            let waiting = lock_queue(&self.waiting);
            let waiting = self.has_more.wait_while(waiting, |jobs| jobs.is_empty());
            let next = waiting.unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(mut job) = next else { continue };
            let mut node = lock_queue(&self.nodes[job.rank]);
            job.done = perform_call(&self.dir, &mut node, &job.asked, &mut job.bytes);
            drop(node);
            lock_queue(&self.done).push(job);
            // A full socket contains a notification already.
            match (&self.bell).write(&[0]) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    /// A directory next to one with a secret; both are removed at the end.
    struct TestDirectory(PathBuf);

    impl TestDirectory {
        fn new() -> (Self, ServedDirectory) {
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("midplane-files-{}-{number}", std::process::id());
            let place = Self(std::env::temp_dir().join(name));
            fs::create_dir_all(place.inside("sub")).unwrap();
            fs::write(place.0.join("secret"), "secret").unwrap();
            fs::write(place.inside("open"), "public").unwrap();
            let dir = ServedDirectory::open(&place.inside("")).unwrap();
            (place, dir)
        }

        fn inside(&self, name: &str) -> PathBuf {
            self.0.join("directory").join(name)
        }
    }

    impl Drop for TestDirectory {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Performs a call; returns the values and bytes of its reply.
    fn call(
        dir: &ServedDirectory,
        node: &mut DescriptorTable,
        call: FileOperation,
        numbers: [u64; 3],
        given: &[u8],
    ) -> Result<([u64; 2], Vec<u8>), Errno> {
        let mut bytes = [0; BYTES];
        bytes[..given.len()].copy_from_slice(given);
        let asked = FileRequest {
            number: 1,
            call: Some(call),
            numbers,
            length: given.len(),
        };
        let (numbers, length) = perform_call(dir, node, &asked, &mut bytes)?;
        Ok((numbers, bytes[..length].to_vec()))
    }

    /// Returns a file's content as a node reads it.
    fn content(dir: &ServedDirectory, path: &str) -> Result<Vec<u8>, Errno> {
        let mut node = DescriptorTable::default();
        let numbers = [OPEN_READ, 0, 0];
        let (numbers, _) = call(dir, &mut node, FileOperation::Open, numbers, path.as_bytes())?;
        let read = call(dir, &mut node, FileOperation::Read, [numbers[0], 100, 0], b"")?;
        Ok(read.1)
    }

    #[test]
    fn no_path_and_no_link_leads_out() {
        let (place, dir) = TestDirectory::new();
        let secret = place.0.join("secret");
        symlink(&secret, place.inside("absolute")).unwrap();
        symlink("../secret", place.inside("up")).unwrap();
        symlink("../../secret", place.inside("sub/up")).unwrap();
        symlink("..", place.inside("parent")).unwrap();
        symlink("loop", place.inside("loop")).unwrap();
        symlink("/open", place.inside("sub/rooted")).unwrap();
        for path in [
            "../secret",
            "/../secret",
            "sub/../../secret",
            "sub/../../../../../../../etc/passwd",
            "/etc/passwd",
            "absolute",
            "up",
            "sub/up",
            "parent/secret",
            "/proc/self/root/etc/passwd",
            secret.to_str().unwrap(),
        ] {
            assert_eq!(content(&dir, path), Err(Errno::NOENT), "{path}");
            let mut node = DescriptorTable::default();
            for what in [
                FileOperation::Stat,
                FileOperation::Access,
                FileOperation::Unlink,
                FileOperation::RemoveDirectory,
            ] {
                let done = call(&dir, &mut node, what, [0; 3], path.as_bytes());
                // A link itself is inside and may be removed.
                let is_link = done.is_ok() && what == FileOperation::Unlink;
                assert!(done.is_err() || is_link, "{what:?} {path}: {done:?}");
            }
        }
        assert_eq!(content(&dir, "loop"), Err(Errno::LOOP));
        assert_eq!(content(&dir, "sub/rooted").unwrap(), b"public");
        assert_eq!(content(&dir, "/sub/../open").unwrap(), b"public");
        assert_eq!(content(&dir, "../../open").unwrap(), b"public");
        assert_eq!(fs::read(&secret).unwrap(), b"secret");
    }

    #[test]
    fn nothing_is_made_or_renamed_outside() {
        let (place, dir) = TestDirectory::new();
        symlink(&place.0, place.inside("out")).unwrap();
        let mut node = DescriptorTable::default();
        let mut does = |what, numbers, given: &[u8]| call(&dir, &mut node, what, numbers, given);
        let create = OPEN_WRITE | OPEN_CREATE;
        for path in ["out/new", "../new/new", "/tmp/midplane-new"] {
            let made = does(FileOperation::Open, [create, 0o644, 0], path.as_bytes());
            assert_eq!(made, Err(Errno::NOENT), "{path}");
            let made = does(FileOperation::MakeDirectory, [0o755, 0, 0], path.as_bytes());
            assert_eq!(made, Err(Errno::NOENT), "{path}");
        }
        let renamed = does(FileOperation::Rename, [4, 0, 0], b"openout/open");
        assert_eq!(renamed, Err(Errno::NOENT));
        let renamed = does(FileOperation::Rename, [9, 0, 0], b"../secretstolen");
        assert_eq!(renamed, Err(Errno::NOENT));
        // The parent of the root is the root.
        does(FileOperation::Rename, [4, 0, 0], b"open../../moved").unwrap();
        assert_eq!(fs::read(place.inside("moved")).unwrap(), b"public");
        let names = fs::read_dir(&place.0).unwrap().count();
        assert_eq!(names, 2, "the directory and the secret");
        for (what, path, error) in [
            (FileOperation::RemoveDirectory, "/", Errno::INVAL),
            (FileOperation::RemoveDirectory, "..", Errno::NOTEMPTY),
            (FileOperation::MakeDirectory, "..", Errno::EXIST),
            (FileOperation::Unlink, "sub", Errno::ISDIR),
            (FileOperation::Unlink, "moved/", Errno::NOTDIR),
            (FileOperation::RemoveDirectory, "moved", Errno::NOTDIR),
            (FileOperation::Unlink, "", Errno::NOENT),
        ] {
            let done = does(what, [0o755, 0, 0], path.as_bytes());
            assert_eq!(done, Err(error), "{what:?} {path}");
        }
    }

    #[test]
    fn no_race_leads_out() {
        let (place, dir) = TestDirectory::new();
        fs::create_dir(place.inside("real")).unwrap();
        fs::write(place.inside("real/secret"), "public").unwrap();
        symlink(&place.0, place.inside("fake")).unwrap();
        symlink("real", place.inside("door")).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0.. {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    let target = ["real", "..", "fake"][turn % 3];
                    symlink(target, place.inside("next")).unwrap();
                    fs::rename(place.inside("next"), place.inside("door")).unwrap();
                    // A directory that is moved in and out of another during the resolution of a path back through it.
                    let _ = fs::rename(place.inside("sub"), place.inside("real/sub"));
                    let _ = fs::rename(place.inside("real/sub"), place.inside("sub"));
                }
            });
            let mut seen = 0;
            for _ in 0..20_000 {
                for path in ["door/secret", "sub/../../secret", "real/sub/../../../secret"] {
                    match content(&dir, path) {
                        Ok(bytes) => {
                            assert_eq!(bytes, b"public", "{path}");
                            seen += 1;
                        }
                        Err(error) => assert!(
                            [Errno::NOENT, Errno::AGAIN, Errno::ACCESS].contains(&error),
                            "{path}: {error}"
                        ),
                    }
                }
            }
            over.store(true, Ordering::Relaxed);
            assert!(seen > 0);
        });
    }

    #[test]
    fn pipes_and_devices_are_not_opened() {
        let (place, dir) = TestDirectory::new();
        let fifo = place.inside("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
        assert_eq!(content(&dir, "fifo"), Err(Errno::ACCESS));
        let dev = ServedDirectory::open(Path::new("/dev")).unwrap();
        assert_eq!(content(&dev, "zero"), Err(Errno::ACCESS));
        assert!(ServedDirectory::open(&place.inside("open")).is_err());
        assert!(ServedDirectory::open(&place.inside("none")).is_err());
    }

    #[test]
    fn descriptors_are_a_nodes_own_and_few() {
        let (_place, dir) = TestDirectory::new();
        let (mut node, mut other) = (DescriptorTable::default(), DescriptorTable::default());
        let numbers = [OPEN_READ, 0, 0];
        let mut last = 0;
        for _ in 0..MAX_OPEN {
            last = call(&dir, &mut node, FileOperation::Open, numbers, b"open").unwrap().0[0];
        }
        assert_eq!(last, FIRST + MAX_OPEN as u64 - 1);
        let full = call(&dir, &mut node, FileOperation::Open, numbers, b"open");
        assert_eq!(full, Err(Errno::MFILE));
        for descriptor in [0, 2, last + 1, u64::MAX] {
            let read = call(&dir, &mut node, FileOperation::Read, [descriptor, 1, 0], b"");
            assert_eq!(read, Err(Errno::BADF), "{descriptor}");
        }
        let read = call(&dir, &mut other, FileOperation::Read, [last, 1, 0], b"");
        assert_eq!(read, Err(Errno::BADF));
        call(&dir, &mut node, FileOperation::Close, [5, 0, 0], b"").unwrap();
        let again = call(&dir, &mut node, FileOperation::Close, [5, 0, 0], b"");
        assert_eq!(again, Err(Errno::BADF));
        let (numbers, _) = call(&dir, &mut node, FileOperation::Open, numbers, b"open").unwrap();
        assert_eq!(numbers[0], 5);
    }

    #[test]
    fn entries_come_one_by_one_and_again() {
        let (_place, dir) = TestDirectory::new();
        let mut node = DescriptorTable::default();
        let numbers = [OPEN_READ | OPEN_DIRECTORY, 0, 0];
        let (numbers, _) = call(&dir, &mut node, FileOperation::Open, numbers, b"/").unwrap();
        for _ in 0..2 {
            let mut names = Vec::new();
            loop {
                let next = [numbers[0], 0, 0];
                let (_, name) = call(&dir, &mut node, FileOperation::Next, next, b"").unwrap();
                if name.is_empty() {
                    break;
                }
                names.push(String::from_utf8(name).unwrap());
            }
            names.sort();
            assert_eq!(names, [".", "..", "open", "sub"]);
            call(&dir, &mut node, FileOperation::Rewind, [numbers[0], 0, 0], b"").unwrap();
        }
    }

    #[test]
    fn without_a_directory_the_first_refusal_is_told_and_no_other() {
        let mut files = FileServer::new(2, None).unwrap();
        let mut take = |rank, what| {
            let asked = FileRequest {
                number: 1,
                call: Some(what),
                numbers: [0; 3],
                length: 0,
            };
            let (answer, is_first) = files.submit_call(rank, asked, &[0; BYTES]);
            (answer.unwrap().answer, is_first)
        };
        assert_eq!(take(0, FileOperation::Stat), (Err(2), false));
        assert_eq!(take(1, FileOperation::Open), (Err(30), true));
        assert_eq!(take(0, FileOperation::Open), (Err(30), false));
        assert_eq!(take(0, FileOperation::Read), (Err(9), false));
    }
}
