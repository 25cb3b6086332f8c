//! How the processes of a job meet at an abstract Unix address.
//!
//! A rank sends `join RANK SIZE VERSION JOB`. The keeper responds `ok FILE LIFE ASKS`, the numbers of its descriptors;
//! `failed STATUS` if another rank has ended the job with this status; or `no` and the reason. Lines have at most
//! [`MAX_LINE`] bytes. Only processes of the same user are answered; an address that another user has taken is an error.

use core::mem;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

use super::environment::JobSettings;
use crate::board::linux::tool::ToolParameters;

/// Version of the runtime. All ranks must have the same, because they share memory.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Maximum length of a line in bytes.
pub const MAX_LINE: usize = 512;
/// Time within which all processes of a job must have started.
pub const JOIN_LIMIT: Duration = Duration::from_secs(60);
/// Interval between attempts to connect while rank 0 has not started.
const RETRY: Duration = Duration::from_millis(5);
/// Maximum length of an abstract address in bytes (unix(7)).
const MAX_NAME: usize = 107;

/// Returns the job's address.
pub fn address(job: &str) -> io::Result<SocketAddr> {
    // SAFETY: returns a number.
    let user = unsafe { libc::geteuid() };
    let mut name = format!("midplane/{user}/{job}").into_bytes();
    // Jobs whose names have the same beginning differ in the hello, which the keeper compares.
    name.truncate(MAX_NAME);
    SocketAddr::from_abstract_name(name)
}

/// Returns the process at the other end of a connection, and its user. For the side that has connected this is the
/// process that listens.
pub fn peer(stream: &UnixStream) -> io::Result<(u32, u32)> {
    // SAFETY: a structure of numbers, of the specified length.
    let (credentials, status) = unsafe {
        let mut credentials: libc::ucred = mem::zeroed();
        let mut len = size_of::<libc::ucred>() as libc::socklen_t;
        let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        let to = (&raw mut credentials).cast();
        let status = libc::getsockopt(stream.as_raw_fd(), level, option, to, &raw mut len);
        (credentials, status)
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((credentials.pid as u32, credentials.uid))
}

/// Returns whether this is the user of this process.
pub fn is_same_user(user: u32) -> bool {
    // SAFETY: returns a number.
    user == unsafe { libc::geteuid() }
}

/// Reads a line of at most [`MAX_LINE`] bytes; an empty one at the end of the connection.
pub fn read_line(stream: &mut UnixStream) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < MAX_LINE && stream.read(&mut byte)? == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// Result of the attempt to join a job.
pub enum Joined {
    /// The connection with the keeper, and the same parameters that the tool would pass.
    Member(UnixStream, ToolParameters),
    /// Another rank has ended the job with this status.
    Failed(u8),
}

/// Joins the job. Blocks until the keeper has started, for at most [`JOIN_LIMIT`].
///
/// # Errors
/// If the keeper does not start, ends, is another user's, or rejects this process.
pub fn join(rank: u32, size: u32, job: &str, settings: &JobSettings) -> Result<Joined, String> {
    let mut keeper = connect(job)?;
    let lost = |why: io::Error| format!("rank 0 of the job has ended: {why}");
    let (process, user) = peer(&keeper).map_err(lost)?;
    if !is_same_user(user) {
        return Err(format!(
            "the address of job {job} belongs to user {user}; it must be this user's"
        ));
    }
    { keeper.write_all(format!("join {rank} {size} {VERSION} {job}\n").as_bytes()) }.map_err(lost)?;
    let answer = read_line(&mut keeper).map_err(lost)?;
    let invalid = || format!("the keeper of job {job} has responded {answer:?}");
    let numbers = match answer.split_once(' ') {
        Some(("ok", numbers)) => numbers.split(' ').map(str::parse::<u32>),
        Some(("failed", status)) => return { status.parse() }.map(Joined::Failed).map_err(|_| invalid()),
        Some(("no", why)) => return Err(why.to_owned()),
        _ => return Err(invalid()),
    };
    let mut files = numbers.flatten().map(|number| open(process, number));
    let mut next = || files.next().unwrap_or_else(|| Err(invalid()));
    let (file, life, asks) = (next()?, next()?, next()?);
    let told = ToolParameters::new(
        file,
        [OwnedFd::from(life), OwnedFd::from(asks)],
        settings.node_memory,
        settings.record(rank),
    );
    Ok(Joined::Member(keeper, told))
}

/// Opens a descriptor of the keeper. Pipes are opened for reading, the job's memory for both.
fn open(process: u32, number: u32) -> Result<File, String> {
    let path = format!("/proc/{process}/fd/{number}");
    let failed = |why| format!("cannot open {path}, a file of the job's rank 0: {why}");
    let is_pipe =
        { std::fs::metadata(&path) }.is_ok_and(|file| std::os::unix::fs::FileTypeExt::is_fifo(&file.file_type()));
    { File::options().read(true).write(!is_pipe).open(&path) }.map_err(failed)
}

fn connect(job: &str) -> Result<UnixStream, String> {
    let address = address(job).map_err(|why| format!("job {job} has no address: {why}"))?;
    let begin = Instant::now();
    loop {
        match UnixStream::connect_addr(&address) {
            Ok(stream) => return Ok(stream),
            Err(why) if begin.elapsed() >= JOIN_LIMIT => {
                return Err(format!(
                    "rank 0 of job {job} has not started on this host within {} s ({why}); all ranks must be on one host, \
                     in one network namespace",
                    JOIN_LIMIT.as_secs()
                ));
            }
            Err(_) => thread::sleep(RETRY),
        }
    }
}
