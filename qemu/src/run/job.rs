//! A job from boot to end: one loop over everything that can happen.

use crate::host::signals::Signals;
use crate::host::stop::{self, Stop};
use crate::run::decode::{Decoder, Dictionary};
use crate::run::input::Input;
use crate::run::instance::{Fleet, Instance, Place, Plan};
use crate::run::linux;
use crate::run::output::Sink;
use crate::run::verdict::{self, Cause, Outcome, Seen, Stands};
use crate::show::say;
use kernel_rt::blackboard::State;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::SIGPIPE;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How often the nodes' own accounts are looked at.
const TICK: Duration = Duration::from_millis(10);
/// Nodes have this long to come up, and this much more for each node that shares the machine.
const BOOT_SECONDS: u64 = 60;
const BOOT_SECONDS_PER_NODE: u64 = 1;
/// With more nodes than this, boot progress is shown.
const QUIET_BOOT: usize = 16;
/// What is kept of QEMU's own messages, in bytes from the end, for explaining why it ended.
const COMPLAINT_BYTES: usize = 2048;
/// Bytes read from a stream at once.
const CHUNK: usize = 64 << 10;

/// How a job ended.
pub struct JobEnd {
    /// Exit status for the command.
    pub status: u8,
    /// The same in a word, for the report.
    pub outcome: Outcome,
    /// What to tell the user, when it did not end well.
    pub message: Option<String>,
    /// The nodes as they were last seen.
    pub nodes: Vec<Seen>,
    /// From the start of the first node to the end.
    pub elapsed: Duration,
}

/// Boots, waits for the end, takes everything down. Must be called from the main thread.
pub fn run<'a>(
    plan: &Plan<'_>,
    timeout: Option<Duration>,
    signals: &Signals,
    out: &mut Sink<'a>,
    err: &mut Sink<'a>,
) -> Result<JobEnd, Stop> {
    let dictionary = Dictionary::read(&plan.image.bytes)?;
    let begun = Instant::now();
    let nodes = plan.shape.nodes() as usize;
    if nodes > QUIET_BOOT {
        err.lines.note(&format!("midplane: starting {nodes} nodes"));
        err.write();
    }
    let fleet = Fleet::boot(plan, |_| match signals.pending() {
        Some(stop) => Err(stop),
        None => Ok(()),
    })?;
    let mut job = Job {
        decoders: fleet.nodes.iter().map(|_| dictionary.decoder()).collect(),
        complaints: fleet.nodes.iter().map(|_| VecDeque::new()).collect(),
        fleet,
        out,
        err,
        begun,
        shown: 0,
        input: Input::default(),
        buffer: vec![0; CHUNK],
    };
    let (mut end, lost) = job.until_end(plan, timeout, signals);
    job.fleet.kill();
    for at in 0..nodes {
        job.drain(at);
    }
    if let Some(at) = lost {
        // Only now is everything there that QEMU had to say.
        end.message = job.lost_message(plan, &end.nodes[at], at);
    }
    job.out.lines.finish();
    job.err.lines.finish();
    for (at, decoder) in job.decoders.iter().enumerate() {
        if decoder.malformed() > 0 {
            job.err.lines.note(&format!(
                "[{at}] log: {} frames made no sense and are not shown",
                decoder.malformed()
            ));
        }
    }
    Ok(end)
}

/// Writes everything out, however slowly it is read. A signal or a reader that has gone ends it.
pub fn flush(signals: &Signals, out: &mut Sink<'_>, err: &mut Sink<'_>) {
    loop {
        out.write();
        err.write();
        let mut fds: Vec<PollFd<'_>> = out.interest().into_iter().chain(err.interest()).collect();
        if fds.is_empty() || signals.pending().is_some() {
            return;
        }
        fds.extend(
            signals
                .fds()
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
        );
        // Interrupted by a signal or not, the loop looks again.
        let _ = poll(&mut fds, None);
    }
}

/// An end, and the node whose QEMU process was lost, of which more is known once the nodes are down.
type Ending = (JobEnd, Option<usize>);

struct Job<'a, 'b, 'd> {
    fleet: Fleet,
    decoders: Vec<Decoder<'d>>,
    complaints: Vec<VecDeque<u8>>,
    out: &'a mut Sink<'b>,
    err: &'a mut Sink<'b>,
    begun: Instant,
    /// How many nodes the boot progress last said were up.
    shown: usize,
    input: Input,
    buffer: Vec<u8>,
}

impl Job<'_, '_, '_> {
    fn until_end(
        &mut self,
        plan: &Plan<'_>,
        timeout: Option<Duration>,
        signals: &Signals,
    ) -> Ending {
        let deadline = timeout.map(|timeout| self.begun + timeout);
        let boot = BOOT_SECONDS + BOOT_SECONDS_PER_NODE * self.fleet.nodes.len() as u64;
        let boot_deadline = self.begun + Duration::from_secs(boot);
        let mut next_look = Instant::now();
        loop {
            self.wait(signals, next_look);
            let now = Instant::now();
            if let Some(stop) = signals.pending() {
                let nodes = self.look();
                return self.interrupted(stop.status, nodes);
            }
            if let Some(error) = self.out.broken() {
                return self.unwritable(error);
            }
            if now < next_look {
                continue;
            }
            next_look = now + TICK;
            for node in &mut self.fleet.nodes {
                node.reap();
            }
            if let Some(first) = self.fleet.nodes.first() {
                self.input.look(first);
            }
            let nodes = self.look();
            let up = nodes.iter().filter(|n| is_up(n)).count();
            self.show_progress(up);
            if let Some(cause) = verdict::cause(&nodes) {
                return self.explain(plan, cause, nodes);
            }
            if deadline.is_some_and(|deadline| now >= deadline) {
                let limit = timeout.unwrap_or_default().as_secs_f64();
                return self.late(
                    &format!("the job did not end within {limit} s (--timeout); where it was:"),
                    nodes,
                );
            }
            if up < nodes.len() && now >= boot_deadline {
                return self.late(
                    &format!("not all nodes came up within {boot} s; where they were:"),
                    nodes,
                );
            }
        }
    }

    /// Waits until `until` at most, and passes on what the nodes write meanwhile.
    fn wait(&mut self, signals: &Signals, until: Instant) {
        let mut until = until;
        let now = Instant::now();
        for sink in [&mut *self.out, &mut *self.err] {
            if let Some(due) = sink.lines.tick(now) {
                until = until.min(due);
            }
            sink.write();
        }
        let wait = until.saturating_duration_since(now);
        let (out_open, err_open) = (self.out.has_room(), self.err.has_room());
        let mut fds: Vec<PollFd<'_>> = signals
            .fds()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .chain(self.out.interest())
            .chain(self.err.interest())
            .collect();
        let first = fds.len();
        let mut owners = Vec::new();
        for (at, node) in self.fleet.nodes.iter().enumerate() {
            if node.gone.is_none() {
                fds.push(PollFd::new(&node.pidfd, PollFlags::IN));
                owners.push(at);
            }
            for stream in open_streams(node, out_open, err_open) {
                fds.push(PollFd::new(stream, PollFlags::IN));
                owners.push(at);
            }
        }
        let (stdin, asks) = (std::io::stdin(), fds.len());
        if self.input.is_wanted() {
            fds.push(PollFd::new(&stdin, PollFlags::IN));
        }
        let timeout = Timespec {
            tv_sec: wait.as_secs() as i64,
            tv_nsec: wait.subsec_nanos() as i64,
        };
        // An interruption is a signal, which the caller looks for in any case.
        let ready = poll(&mut fds, Some(&timeout)).unwrap_or(0);
        if ready == 0 {
            return;
        }
        let has_input = fds.get(asks).is_some_and(|fd| !fd.revents().is_empty());
        let mut due: Vec<usize> = fds[first..asks]
            .iter()
            .zip(owners)
            .filter(|(fd, _)| !fd.revents().is_empty())
            .map(|(_, at)| at)
            .collect();
        due.dedup();
        if has_input && let Some(first) = self.fleet.nodes.first() {
            self.input.pass_on(first, &stdin);
        }
        for at in due {
            self.fleet.nodes[at].reap();
            self.pass_on(at, out_open, err_open);
        }
    }

    /// Passes on one chunk of each of a node's streams; true when there was anything.
    fn pass_on(&mut self, at: usize, out_open: bool, err_open: bool) -> bool {
        let now = Instant::now();
        let node = &mut self.fleet.nodes[at];
        let (rank, streams) = (node.rank, &mut node.streams);
        let mut any = false;
        if out_open && let Some(bytes) = read(&mut streams.stdout, &mut self.buffer) {
            self.out.lines.take(rank, bytes, now);
            any = true;
        }
        if !err_open {
            return any;
        }
        if let Some(bytes) = read(&mut streams.stderr, &mut self.buffer) {
            self.err.lines.take(rank, bytes, now);
            any = true;
        }
        if let Some(bytes) = read(&mut streams.log, &mut self.buffer) {
            let lines = &mut self.err.lines;
            self.decoders[at].take(bytes, |line| lines.note(&format!("[{rank}] log: {line}")));
            any = true;
        }
        if let Some(bytes) = read(&mut streams.complaints, &mut self.buffer) {
            let kept = &mut self.complaints[at];
            kept.extend(bytes);
            kept.drain(..kept.len().saturating_sub(COMPLAINT_BYTES));
            any = true;
        }
        any
    }

    /// Passes on all that a node has written. Bounded by what its sockets hold once it is dead.
    fn drain(&mut self, at: usize) {
        while self.pass_on(at, true, true) {}
    }

    fn show_progress(&mut self, up: usize) {
        let nodes = self.fleet.nodes.len();
        let quarter = |n: usize| 4 * n / nodes;
        if nodes > QUIET_BOOT && quarter(up) > quarter(self.shown) {
            self.shown = up;
            self.err.lines.note(&format!(
                "midplane: {up} of {nodes} nodes are up after {:.1} s",
                self.begun.elapsed().as_secs_f64()
            ));
        }
    }

    fn look(&self) -> Vec<Seen> {
        self.fleet.nodes.iter().map(Seen::at).collect()
    }

    fn explain(&self, plan: &Plan<'_>, cause: Cause, nodes: Vec<Seen>) -> Ending {
        let (status, outcome, message, lost) = match cause {
            Cause::Ended => {
                let message = verdict::changed_status(&nodes);
                (verdict::job_status(&nodes), Outcome::Ended, message, None)
            }
            Cause::Failed(at) => {
                let node = &self.fleet.nodes[at];
                let places = |stands| match (plan.place, stands) {
                    (Place::Linux, stands) => linux::describe(plan, node, stands),
                    (Place::Qemu(_), Stands::At(pc)) => plan.image.describe(pc),
                    (Place::Qemu(_), Stands::InCall) => plan
                        .image
                        .describe_call(&|offset, out| node.read_ram(offset, out)),
                };
                let (message, status) = verdict::failure(&nodes[at], places);
                (status, Outcome::Failed, Some(message), None)
            }
            Cause::Lost(at) => (stop::FAILURE, Outcome::Lost, None, Some(at)),
            Cause::Overwritten(at) => {
                let message = verdict::overwritten_message(&nodes[at]);
                (stop::FAILURE, Outcome::Failed, Some(message), None)
            }
        };
        (self.end(status, outcome, message, nodes), lost)
    }

    fn late(&self, headline: &str, nodes: Vec<Seen>) -> Ending {
        let message = Some(with_whereabouts(headline, &nodes));
        (
            self.end(stop::FAILURE, Outcome::Timeout, message, nodes),
            None,
        )
    }

    /// A signal has come. A job that hangs is ended by Ctrl-C as often as by `--timeout`, so it is told
    /// here, too, where it was.
    fn interrupted(&self, status: u8, nodes: Vec<Seen>) -> Ending {
        let message = Some(with_whereabouts(
            "interrupted by a signal; where the job was:",
            &nodes,
        ));
        (self.end(status, Outcome::Interrupted, message, nodes), None)
    }

    /// What the nodes print cannot be written any more.
    fn unwritable(&self, error: Errno) -> Ending {
        let nodes = self.look();
        let end = match error {
            // As if the signal for a pipe without reader had ended us.
            Errno::PIPE => {
                let status = Stop::signal(SIGPIPE).status;
                self.end(status, Outcome::Interrupted, None, nodes)
            }
            error => {
                let message = say::unwritable(error.into()).message;
                self.end(stop::FAILURE, Outcome::Failed, Some(message), nodes)
            }
        };
        (end, None)
    }

    fn end(
        &self,
        status: u8,
        outcome: Outcome,
        message: Option<String>,
        nodes: Vec<Seen>,
    ) -> JobEnd {
        JobEnd {
            status,
            outcome,
            message,
            nodes,
            elapsed: self.begun.elapsed(),
        }
    }

    fn lost_message(&mut self, plan: &Plan<'_>, node: &Seen, at: usize) -> Option<String> {
        let complaints = self.complaints[at].make_contiguous();
        let complaints = String::from_utf8_lossy(complaints);
        let process = plan.place.process();
        Some(verdict::lost_message(
            node,
            process,
            node.gone?,
            &complaints,
        ))
    }
}

fn with_whereabouts(headline: &str, nodes: &[Seen]) -> String {
    let mut message = headline.to_string();
    for line in verdict::whereabouts(nodes) {
        message.push_str("\n  ");
        message.push_str(&line);
    }
    message
}

fn is_up(node: &Seen) -> bool {
    !matches!(node.state(), Some(State::Off | State::Booting))
}

fn open_streams(
    node: &Instance,
    out_open: bool,
    err_open: bool,
) -> impl Iterator<Item = &UnixStream> {
    let streams = &node.streams;
    let out = streams.stdout.as_ref().filter(|_| out_open);
    let err = [&streams.stderr, &streams.log, &streams.complaints]
        .into_iter()
        .filter_map(move |stream| stream.as_ref().filter(|_| err_open));
    out.into_iter().chain(err)
}

/// Bytes that have come; a stream whose writer has gone is closed.
fn read<'b>(stream: &mut Option<UnixStream>, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    loop {
        match stream.as_ref()?.read(buffer) {
            Ok(bytes) if bytes > 0 => return Some(&buffer[..bytes]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => *stream = None,
        }
    }
}
