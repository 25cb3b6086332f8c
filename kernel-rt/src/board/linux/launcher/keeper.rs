//! The keeper of a job: a process that is forked by rank 0, and that no launcher knows.
//!
//! It holds the job's shared file and the pipes of the [tool's interface](crate::board::linux::tool), accepts the ranks,
//! and watches them by their process descriptors. It ends when all ranks have gone. It ignores the signals that end a
//! job, because a launcher sends them to the ranks as well, and a program may handle them.
//!
//! When a rank has failed or gone, the others are ordered to exit with its status, and killed after [`GRACE`]. A rank
//! that starts only then receives the status as the response, until [`JOIN_LIMIT`]: without the keeper it would wait for
//! this time, and could not know the status. When the keeper itself is killed, the kernel kills all ranks at once.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use super::meeting::{self, JOIN_LIMIT, VERSION};
use crate::board::linux::job_memory::{create_file, map};
use crate::board::linux::share::{NodeAccount, ShareLayout};
use crate::board::linux::{process_id, tool};
use crate::dev::ring::SleepFlag;

/// Time between the order to exit and SIGKILL. Only a program that blocks SIGURG, or that the system does not run, is
/// still there then.
const GRACE: Duration = Duration::from_secs(4);
/// Interval at which ranks are woken that must leave the torus: a rank may just fall asleep.
const WAKE_INTERVAL: Duration = Duration::from_millis(10);
/// Time in which a process that has connected must send its line.
const HELLO_LIMIT: Duration = Duration::from_secs(2);

/// Starts the keeper, and returns when it listens. It is not this process's child: a program that waits for its own
/// children must not wait for it.
///
/// # Errors
/// If the address is in use, or the system has no processes or memory left.
pub fn start(job: &str, size: u32, nodes: u32) -> Result<(), String> {
    let failed = |why: io::Error| format!("cannot start the keeper of job {job}: {why}");
    let rank_0 = process_id();
    let (ready, is_ready) = io::pipe().map_err(failed)?;
    // SAFETY: the process has one thread, so that the child may do everything.
    match unsafe { libc::fork() } {
        -1 => Err(failed(io::Error::last_os_error())),
        0 => {
            drop(ready);
            // SAFETY: as above; the parent between ends at once.
            match unsafe { libc::fork() } {
                0 => keep(job, size, nodes, rank_0, is_ready),
                _ => exit(0),
            }
        }
        child => {
            drop(is_ready);
            // SAFETY: waits for the process between, which ends at once.
            unsafe { libc::waitpid(child, core::ptr::null_mut(), 0) };
            let answer = io::read_to_string(ready).map_err(failed)?;
            match answer.as_str() {
                "ok" => Ok(()),
                "" => Err(failed(io::Error::other("it has ended"))),
                why => Err(why.to_owned()),
            }
        }
    }
}

/// Ends this process without the program's exit handlers.
pub fn exit(status: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::syscall(libc::SYS_exit_group, status) };
    unreachable!("exit_group does not return")
}

/// The keeper's process.
fn keep(job: &str, size: u32, nodes: u32, rank_0: u32, mut is_ready: io::PipeWriter) -> ! {
    separate(is_ready.as_raw_fd());
    match Keeper::new(job, size, nodes, rank_0) {
        Ok(mut keeper) => {
            // Rank 0 waits for this; if it has been killed, the keeper notices that nobody joins.
            let _ = is_ready.write_all(b"ok");
            drop(is_ready);
            exit(keeper.run())
        }
        Err(why) => {
            let _ = write!(is_ready, "cannot start the keeper of job {job}: {why}");
            exit(1)
        }
    }
}

/// Separates the process from rank 0: it ignores the job's signals, and holds neither the launcher's descriptors, which
/// would hide the rank's end, nor its streams, except stderr.
fn separate(kept: RawFd) {
    // SAFETY: signal dispositions and descriptors of this process. Nothing uses the closed ones: `keep` does not return.
    unsafe {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        libc::dup2(null, 0);
        libc::dup2(null, 1);
        let kept = kept as u32;
        if kept > 3 {
            libc::syscall(libc::SYS_close_range, 3, kept - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, kept + 1, u32::MAX, 0);
        libc::prctl(libc::PR_SET_NAME, c"midplane-keeper".as_ptr());
    }
}

/// State of a rank that has joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MemberState {
    Running,
    /// Its program has ended well.
    Done,
    /// It has ended the job with this status.
    Failed(u8),
}

struct Member {
    /// `None` before the rank has joined, and after its connection was closed.
    stream: Option<UnixStream>,
    has_joined: bool,
    /// The process descriptor; readable when the process has ended. `None` afterwards.
    process: Option<OwnedFd>,
    state: MemberState,
    account: &'static NodeAccount,
    word: &'static SleepFlag,
}

impl Member {
    /// Reads what the rank has sent.
    fn hear(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        let line = meeting::read_line(stream).unwrap_or_default();
        match line.split_once(' ') {
            Some(("failed", status)) => self.state = MemberState::Failed(status.parse().unwrap_or(1)),
            _ if line == "done" => self.state = MemberState::Done,
            // The connection was closed. The process descriptor tells the end of the process.
            _ => self.stream = None,
        }
    }

    /// Orders the process to end.
    fn order(&self, end: JobEnd) {
        match end {
            JobEnd::Done => self.account.orders.order_end(),
            JobEnd::Failed(status) => self.account.orders.order_exit(status),
        }
        tool::wake(self.word);
    }
}

/// Reason for which the job ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum JobEnd {
    /// All programs have ended well.
    Done,
    /// The others exit with this status.
    Failed(u8),
}

struct Keeper<'a> {
    job: &'a str,
    /// `None` when all ranks have joined.
    listener: Option<UnixListener>,
    file: File,
    life: io::PipeReader,
    /// The kernel kills the ranks when it is closed.
    life_end: Option<io::PipeWriter>,
    asks: (io::PipeReader, io::PipeWriter),
    layout: ShareLayout,
    members: Vec<Option<Member>>,
    /// How the job ends, and since when, once that is known.
    ordered: Option<(JobEnd, Instant)>,
    begin: Instant,
}

impl<'a> Keeper<'a> {
    fn new(job: &'a str, size: u32, nodes: u32, rank_0: u32) -> io::Result<Self> {
        let listener = UnixListener::bind_addr(&meeting::address(job)?).map_err(|why| match why.kind() {
            io::ErrorKind::AddrInUse => io::Error::other("another process of this host uses the job's name"),
            _ => why,
        })?;
        let layout = ShareLayout::new(nodes);
        let (life, life_end) = io::pipe()?;
        let mut keeper = Self {
            job,
            listener: Some(listener),
            file: create_file(layout)?,
            life,
            life_end: Some(life_end),
            asks: io::pipe()?,
            layout,
            members: (0..size).map(|_| None).collect(),
            ordered: None,
            begin: Instant::now(),
        };
        keeper.watch(0, rank_0)?;
        // The pipe is never read; a full one has signalled.
        // SAFETY: a flag of an own descriptor.
        unsafe { libc::fcntl(keeper.asks.1.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        Ok(keeper)
    }

    /// Watches the process of a rank from now on.
    fn watch(&mut self, rank: usize, process: u32) -> io::Result<()> {
        let place = rank as u32;
        self.members[rank] = Some(Member {
            stream: None,
            has_joined: false,
            process: Some(process_descriptor(process)?),
            state: MemberState::Running,
            account: map(&self.file, self.layout.account(place), size_of::<NodeAccount>())?,
            word: map(&self.file, self.layout.word(place), size_of::<SleepFlag>())?,
        });
        Ok(())
    }

    /// Serves the job until all its processes have gone, or those that have not started are late. Returns the exit
    /// status, which nobody reads.
    fn run(&mut self) -> i32 {
        loop {
            self.wait(self.ordered.map(|_| WAKE_INTERVAL));
            if self.ordered.is_none() {
                self.ordered = self.end().map(|end| (end, Instant::now()));
            }
            let Some((end, at)) = self.ordered else { continue };
            let is_failed = end != JobEnd::Done;
            if is_failed && at.elapsed() > GRACE {
                self.life_end = None;
            }
            let mut present = { self.members.iter().flatten() }
                .filter(|member| member.process.is_some())
                .peekable();
            let have_gone = present.peek().is_none() || self.life_end.is_none();
            if have_gone && (self.listener.is_none() || self.is_late()) {
                return i32::from(is_failed);
            }
            present.for_each(|member| member.order(end));
            if is_failed {
                self.signal();
            }
        }
    }

    /// Sends SIGURG to all ranks.
    fn signal(&mut self) {
        // A full pipe has signalled.
        let _ = self.asks.1.write(b"!");
    }

    fn is_late(&self) -> bool {
        self.listener.is_some() && self.begin.elapsed() >= JOIN_LIMIT
    }

    /// Waits for a connection, a line, the end of a process, or the end of the interval, and handles all of them.
    fn wait(&mut self, interval: Option<Duration>) {
        let wanted = |fd: RawFd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        const NOTHING: RawFd = -1;
        let listener = self.listener.as_ref().map_or(NOTHING, AsRawFd::as_raw_fd);
        let mut polls = vec![wanted(listener)];
        for member in &self.members {
            let stream = member.as_ref().and_then(|member| member.stream.as_ref());
            let process = member.as_ref().and_then(|member| member.process.as_ref());
            polls.push(wanted(stream.map_or(NOTHING, AsRawFd::as_raw_fd)));
            polls.push(wanted(process.map_or(NOTHING, AsRawFd::as_raw_fd)));
        }
        // Without an interval: until the limit for joining, or for ever.
        let late = self
            .listener
            .as_ref()
            .map(|_| JOIN_LIMIT.saturating_sub(self.begin.elapsed()));
        let limit = interval.or(late).map_or(-1, |limit| limit.as_millis() as i32 + 1);
        // SAFETY: the array has this length.
        unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, limit) };
        if polls[0].revents != 0 {
            self.accept();
        }
        for (member, polls) in self.members.iter_mut().zip(polls[1..].chunks_exact(2)) {
            let Some(member) = member else { continue };
            if polls[0].revents != 0 {
                member.hear();
            }
            if polls[1].revents != 0 {
                member.process = None;
            }
        }
    }

    /// Accepts a rank, or rejects another process.
    fn accept(&mut self) {
        let Some(Ok((mut stream, _))) = self.listener.as_ref().map(UnixListener::accept) else {
            return;
        };
        let Ok((process, user)) = meeting::peer(&stream) else {
            return;
        };
        if !meeting::is_same_user(user) || stream.set_read_timeout(Some(HELLO_LIMIT)).is_err() {
            return;
        }
        let hello = meeting::read_line(&mut stream).unwrap_or_default();
        let [file, life, asks] = [self.file.as_raw_fd(), self.life.as_raw_fd(), self.asks.0.as_raw_fd()];
        let (joined, answer) = match (self.admit(&hello, process), self.ordered) {
            (Ok(rank), Some((JobEnd::Failed(status), _))) => (Some(rank), format!("failed {status}")),
            (Ok(rank), _) => (Some(rank), format!("ok {file} {life} {asks}")),
            (Err(why), _) => (None, format!("no {why}")),
        };
        // A rank that has ended meanwhile is noticed by its process descriptor.
        let _ = writeln!(stream, "{answer}");
        if let Some(member) = joined.and_then(|rank| self.members[rank].as_mut()) {
            member.stream = Some(stream);
        }
        if { self.members.iter() }.all(|member| member.as_ref().is_some_and(|member| member.has_joined)) {
            self.listener = None;
        }
    }

    /// Admits the process of a rank by its line. Returns the rank, or the reason why it is rejected.
    fn admit(&mut self, hello: &str, process: u32) -> Result<usize, String> {
        let words: Vec<&str> = hello.splitn(5, ' ').collect();
        let ["join", rank, size, version, job] = words[..] else {
            return Err(format!("the keeper of job {} does not understand {hello:?}", self.job));
        };
        let ranks = self.members.len();
        if job != self.job || size.parse() != Ok(ranks) {
            return Err(format!(
                "this process belongs to job {job} of {size} ranks, and rank 0 to job {} of {ranks} ranks",
                self.job
            ));
        }
        if version != VERSION {
            return Err(format!(
                "this program is linked with Midplane {version}, and that of rank 0 with {VERSION}"
            ));
        }
        let rank = rank.parse::<usize>().ok().filter(|rank| *rank < ranks);
        let rank = rank.ok_or_else(|| format!("job {job} has ranks 0 to {}", ranks - 1))?;
        if { self.members[rank].as_ref() }.is_some_and(|member| member.has_joined) {
            return Err(format!("another process is rank {rank} of job {job} already"));
        }
        self.watch(rank, process)
            .map_err(|why| format!("process {process} cannot be watched: {why}"))?;
        if let Some(member) = &mut self.members[rank] {
            member.has_joined = true;
        }
        Ok(rank)
    }

    /// Returns how the job ends, if it ends now. Prints the reason unless a rank has printed it.
    fn end(&self) -> Option<JobEnd> {
        if self.is_late() {
            let started = { self.members.iter().flatten() }
                .filter(|member| member.has_joined)
                .count();
            eprintln!(
                "job {}: {started} of {} processes have started on this host within {} s; all ranks must be on one host",
                self.job,
                self.members.len(),
                JOIN_LIMIT.as_secs()
            );
            return Some(JobEnd::Failed(1));
        }
        for (rank, member) in self.members.iter().enumerate() {
            let Some(member) = member else { continue };
            match member.state {
                MemberState::Failed(status) => return Some(JobEnd::Failed(status)),
                // A rank whose program has ended forwards for the others until the end of the job.
                MemberState::Running | MemberState::Done if member.process.is_none() => {
                    if !member.account.blackboard.has_failed() {
                        eprintln!(
                            "rank {rank}: the process has ended before the job, killed by a signal or by _exit()"
                        );
                    }
                    return Some(JobEnd::Failed(1));
                }
                _ => {}
            }
        }
        let is_done =
            |member: &Option<Member>| { member.as_ref() }.is_some_and(|member| member.state == MemberState::Done);
        self.members.iter().all(is_done).then_some(JobEnd::Done)
    }
}

/// Returns a descriptor that becomes readable when the process ends.
fn process_descriptor(process: u32) -> io::Result<OwnedFd> {
    // SAFETY: returns a new descriptor without an owner, or an error.
    unsafe {
        let descriptor = libc::syscall(libc::SYS_pidfd_open, process, 0);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(descriptor as RawFd))
    }
}
