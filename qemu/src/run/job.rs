//! Event loop of a job, from boot to end.

use crate::host::error::{self, CliError};
use crate::host::resource_usage::ResourceUsage;
use crate::host::signals::Signals;
use crate::run::account_transfer::{AccountTransfer, TransferStep};
use crate::run::activity;
use crate::run::boot::boot;
use crate::run::call_location::CallLocator;
use crate::run::cluster;
use crate::run::decode::{LogDecoder, LogDictionary};
use crate::run::doorbell::Doorbells;
use crate::run::files::{FileReply, FileServer, ServedDirectory};
use crate::run::hang;
use crate::run::hosts::hub::{HostEvent, HostHub};
use crate::run::input::StandardInput;
use crate::run::instance::{Instance, InstancePool};
use crate::run::job_result::JobResult;
use crate::run::linux::{self, requests};
use crate::run::node::Node;
use crate::run::outcome::{self, EndCause, FailureLocation, JobOutcome, NodeGlance, ObservedNode};
use crate::run::output::OutputSink;
use crate::run::plan::{Backend, JobPlan};
use crate::run::recording::CallCollector;
use crate::run::report;
use crate::run::serial_port::{AttachedBoards, SerialPort};
use crate::run::stall::{self, RankGlance, StallDetector, StallSample};
use crate::run::top::JobSnapshot;
use crate::run::top::server::StatusServer;
use crate::show::console;
use clap::ValueEnum;
use kernel_rt::dev::console_relay::RelayPayload;
use midplane_abi::blackboard::NodeState;
use midplane_abi::files;
use midplane_abi::outbox::OutputStream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::SIGPIPE;
use std::collections::VecDeque;
use std::io::{ErrorKind, IsTerminal, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Interval between polls of all nodes, including those without a notification: a program may have overwritten its
/// node's records, and notifications can be lost in a burst.
const TICK: Duration = Duration::from_millis(200);
/// Interval for native processes without a doorbell.
const PROCESS_TICK: Duration = Duration::from_millis(10);
/// Interval for nodes whose calls are recorded: they wait while their ring buffers are full.
const RECORDING_TICK: Duration = Duration::from_millis(1);
/// Minimum interval per node of a cluster: polling must use only a small part of the time.
const CLUSTER_TICK_PER_NODE: Duration = Duration::from_micros(30);
/// Time limit in seconds for the nodes to boot, plus an amount for each node that shares the host. The time that an
/// instance waits for a processor is added: a busy host only delays the boot.
const BOOT_SECONDS: u64 = 60;
const BOOT_SECONDS_PER_NODE: u64 = 1;
/// Time limit for a debugger to end after its job, if it is not interactive.
const DEBUGGER_ENDS_WITHIN: Duration = Duration::from_secs(5);
/// After a board's failure, others may print until they are silent for this long, and this long in total. The total
/// starts again with each record by which another board explains a failure of its own.
const QUIET: Duration = Duration::from_millis(1000);
const LAST_WORDS: Duration = Duration::from_secs(5);
/// Time limit for processes to end after the job: a leak checker scans all of their memory.
const ENDS_WITHIN: Duration = Duration::from_secs(120);
/// Maximum wait for the last counters of a job that does not end by itself.
const COUNTERS_WITHIN: Duration = Duration::from_millis(500);
/// Wait for the counters of processes before their state is shown.
const STATUS_WITHIN: Duration = Duration::from_millis(50);
/// Time during which a rank is observed for polling before a report.
const POLLS_WITHIN: Duration = Duration::from_millis(100);
/// Boot progress is shown for more nodes than this.
const QUIET_BOOT: usize = 16;
/// Bytes kept from the end of QEMU's messages, to explain its end.
const COMPLAINT_BYTES: usize = 2048;
/// Bytes read from a socket or ring buffer in one step; a ring buffer contains no more.
const CHUNK: usize = 16 << 10;
const _: () = assert!(CHUNK >= midplane_abi::outbox::CAPACITY as usize);
/// Number of distinct node indices in the doorbell.
const BELLS: usize = 256;

/// Reaction to a hang.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum OnHang {
    /// Explain it and end the job with status 1
    #[default]
    Report,
    /// The same; Linux processes end with SIGABRT, and leave core files where these are enabled
    Abort,
    /// Do not detect it
    Wait,
}

/// Limits of a job.
#[derive(Clone, Copy, Debug)]
pub struct JobLimits {
    /// Maximum duration.
    pub timeout: Option<Duration>,
    /// Reaction to a hang.
    pub on_hang: OnHang,
}

/// Boots the nodes, waits for the end, and ends all processes. Must be called from the main thread. The nodes may
/// access the files in `dir`.
pub fn run<'a>(
    plan: &JobPlan<'_>,
    dir: Option<ServedDirectory>,
    limits: JobLimits,
    signals: &Signals,
    out: &mut OutputSink<'a>,
    err: &mut OutputSink<'a>,
) -> Result<JobResult, CliError> {
    let dictionaries: Vec<LogDictionary> = { plan.apps.iter() }
        .map(|app| LogDictionary::read(&app.image.bytes))
        .collect::<Result<_, _>>()?;
    let begun = Instant::now();
    let nodes = plan.ranks() as usize;
    if nodes > QUIET_BOOT {
        err.lines.add_line(&format!("midplane: starting {nodes} nodes"));
        err.write();
    }
    let mut pool = boot(plan, || match signals.pending() {
        Some(stop) => Err(stop),
        None => Ok(()),
    })?;
    // Emulated standalone boards, with a serial console.
    let emulated = pool.console.take();
    let emulated = emulated.map(|fd| SerialPort::from_emulated(fd).with_greeting(plan.auto));
    let attached = match plan.backend {
        Backend::Attached(port) => Some(port),
        _ => emulated.as_ref(),
    };
    let attached = attached.map(|port| AttachedBoards::new(port, plan.shape.nodes()));
    let mut job = Job {
        decoders: { pool.nodes.iter() }
            .map(|node| dictionaries[plan.app(node.rank).0 as usize].decoder())
            .collect(),
        complaints: pool.instances.iter().map(|_| VecDeque::new()).collect(),
        glances: vec![NodeGlance::default(); nodes],
        pool,
        out,
        err,
        begun,
        shown: 0,
        stirred: false,
        held: [false; 2],
        in_messages: matches!(plan.backend, Backend::Cluster),
        first: 0,
        input: match plan.debug {
            None => StandardInput::default(),
            Some(_) => StandardInput::empty(),
        },
        ends: None,
        let_end: None,
        files: FileServer::new(plan.shape.nodes() as usize, dir)?,
        failed: None,
        transfers: {
            let boards = attached.as_ref().map_or(0, |_| nodes);
            std::iter::repeat_with(AccountTransfer::new).take(boards).collect()
        },
        attached,
        explaining: None,
        boot_deadline: begun,
        stall: StallDetector::new(begun),
        next_stall_look: begun,
        requests: 0,
        is_stall_requested: false,
        calls: plan.recording.map(|_| CallCollector::new(nodes)),
        status: plan.observed.and_then(|_| StatusServer::start()),
        status_due: None,
        buffer: vec![0; CHUNK],
    };
    let (mut end, lost) = job.until_end(plan, limits, signals);
    job.pool.kill();
    job.drain();
    if let Some(at) = lost {
        // QEMU's messages are complete only now.
        end.message = job.lost_message(plan, at);
    }
    if let (Some(calls), Some(recording)) = (job.calls.take(), plan.recording) {
        end.calls = Some(calls.finish(recording)?);
    }
    job.out.lines.finish();
    job.err.lines.finish();
    let wrong = job.attached.iter().map(AttachedBoards::to_string);
    for line in wrong.collect::<String>().lines() {
        job.err.lines.add_line(&format!("midplane: {line}"));
    }
    for (at, decoder) in job.decoders.iter().enumerate() {
        if decoder.malformed() > 0 {
            job.err.lines.add_line(&format!(
                "[{at}] log: {} invalid frames are not shown",
                decoder.malformed()
            ));
        }
    }
    Ok(end)
}

/// Writes all output, blocking on slow readers. Ends on a signal or a closed reader.
pub fn flush(signals: &Signals, out: &mut OutputSink<'_>, err: &mut OutputSink<'_>) {
    loop {
        out.write();
        err.write();
        let mut fds: Vec<PollFd<'_>> = out.poll_descriptor().into_iter().chain(err.poll_descriptor()).collect();
        if fds.is_empty() || signals.pending().is_some() {
            return;
        }
        fds.extend(signals.fds().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        // The loop checks again, interrupted by a signal or not.
        let _ = poll(&mut fds, None);
    }
}

/// A result, and the node of a lost QEMU process, for details after all nodes have ended.
type JobEnding = (JobResult, Option<usize>);

struct Job<'a, 'b, 'd> {
    pool: InstancePool,
    decoders: Vec<LogDecoder<'d>>,
    /// Last messages of each instance's QEMU.
    complaints: Vec<VecDeque<u8>>,
    /// State of the nodes at their last notification or poll.
    glances: Vec<NodeGlance>,
    out: &'a mut OutputSink<'b>,
    err: &'a mut OutputSink<'b>,
    begun: Instant,
    /// Number of running nodes in the last progress message.
    shown: usize,
    /// A node's state may have changed.
    stirred: bool,
    /// Nodes may have more output for stdout and stderr than was read.
    held: [bool; 2],
    /// Processes send output in messages that contain the rank.
    in_messages: bool,
    /// First node of the next poll: round robin, for fairness when output space is short.
    first: usize,
    input: StandardInput,
    /// With a debugger: the reported reason of the job's end, and the deadline of the wait for the debugger.
    ends: Option<(EndCause, Option<Instant>)>,
    /// Time at which all programs have ended and the processes were asked to end.
    let_end: Option<Instant>,
    files: FileServer,
    /// Serial console of boards.
    attached: Option<AttachedBoards<'d>>,
    /// First reported failure of boards, and its time.
    failed: Option<(EndCause, Instant)>,
    /// Status records of boards in transit, by rank.
    transfers: Vec<AccountTransfer>,
    /// Time of the last part of a failure that is still in transit.
    explaining: Option<Instant>,
    /// Time limit for the boot of all nodes.
    boot_deadline: Instant,
    stall: StallDetector,
    /// Time of the next look of the detector.
    next_stall_look: Instant,
    /// Number of requests for the processes' counters so far.
    requests: u32,
    /// The detector has requested them.
    is_stall_requested: bool,
    /// Records of the program's calls.
    calls: Option<CallCollector>,
    /// Server of the job's state.
    status: Option<StatusServer>,
    /// Time at which a requested state is provided.
    status_due: Option<Instant>,
    buffer: Vec<u8>,
}

impl Job<'_, '_, '_> {
    fn until_end(&mut self, plan: &JobPlan<'_>, limits: JobLimits, signals: &Signals) -> JobEnding {
        let JobLimits { timeout, on_hang } = limits;
        // A link that retransmits may hold a packet for longer than the detector waits, and no counter shows it.
        let is_exact = plan.faults.is_none() && matches!(plan.backend, Backend::Qemu(_) | Backend::Linux);
        let detects_hangs = on_hang != OnHang::Wait && plan.debug.is_none() && is_exact;
        let deadline = timeout.map(|timeout| self.begun + timeout);
        self.extend_boot(self.begun);
        let mut next_look = Instant::now();
        let tick = match plan.backend {
            Backend::Qemu(_) if self.calls.is_some() => RECORDING_TICK,
            Backend::Qemu(_) | Backend::Boards(_) | Backend::Attached(_) => TICK,
            Backend::Linux => PROCESS_TICK,
            Backend::Cluster => PROCESS_TICK.max(CLUSTER_TICK_PER_NODE * plan.shape.nodes()),
        };
        loop {
            self.wait(signals, deadline.map_or(next_look, |at| at.min(next_look)));
            self.serve_hosts();
            let now = Instant::now();
            if let Some(stop) = signals.pending() {
                let nodes = self.observe_with_counters(plan);
                return self.end_interrupted(plan, stop.status, nodes);
            }
            if let Some(error) = self.out.write_error() {
                return self.stdout_error(error);
            }
            if let Some(why) = self.pool.hosts.as_ref().and_then(HostHub::lost) {
                let why = format!("{why}; the job cannot continue without it");
                let nodes = self.observe_nodes();
                return (self.end(error::FAILURE, JobOutcome::Lost, Some(why), nodes), None);
            }
            self.serve_status(plan, now);
            if now >= next_look {
                next_look = now + tick;
                self.poll_all_nodes();
                self.serve_requests(plan, now);
            } else if !self.stirred && deadline.is_none_or(|deadline| now < deadline) {
                continue;
            }
            self.stirred = false;
            let up = self.glances.iter().filter(|node| node.is_up()).count();
            self.show_progress(plan, up);
            let is_late = deadline.is_some_and(|deadline| now >= deadline);
            match self.cause(plan, now, is_late) {
                Some(EndCause::Ended) if self.can_end_processes(plan) => {
                    if let Some(end) = self.wait_for_processes(plan, now) {
                        return end;
                    }
                }
                Some(EndCause::Ended) => {
                    return self.explain_end(plan, EndCause::Ended, self.observe_nodes());
                }
                Some(cause) => {
                    let nodes = self.observe_at_end(plan);
                    match cause {
                        EndCause::Failed(at) if nodes[at].reports_hang() => {
                            if on_hang != OnHang::Wait {
                                return self.end_hang(plan, on_hang, nodes);
                            }
                        }
                        cause => return self.explain_end(plan, cause, nodes),
                    }
                }
                None => {}
            }
            if is_late {
                let limit = timeout.unwrap_or_default().as_secs_f64();
                return {
                    let nodes = self.observe_with_counters(plan);
                    let limit = format!("the job did not end within {limit} s (--timeout); state of the ranks:");
                    self.end_late(plan, &limit, nodes)
                };
            }
            if let Some(end) = self.poll_serial_port(plan, now) {
                return end;
            }
            if detects_hangs && now >= self.next_stall_look {
                self.next_stall_look = now + stall::LOOK_INTERVAL;
                if self.is_hanging(plan, now) {
                    let nodes = self.observe_nodes();
                    return self.end_hang(plan, on_hang, nodes);
                }
            }
            // With a debugger, or with attached boards, the user may start the nodes late.
            let is_hurried = plan.debug.is_none() && !matches!(plan.backend, Backend::Attached(_));
            let is_late = now >= self.boot_deadline && now >= self.boot_deadline + self.waited();
            if is_hurried && up < self.glances.len() && is_late {
                return {
                    let nodes = self.observe_with_counters(plan);
                    self.end_late(
                        plan,
                        &format!(
                            "not all nodes started within {} s; state of the nodes:",
                            now.duration_since(self.begun).as_secs()
                        ),
                        nodes,
                    )
                };
            }
        }
    }

    /// Starts the time limit for the boot of all nodes.
    fn extend_boot(&mut self, now: Instant) {
        let boot = BOOT_SECONDS + BOOT_SECONDS_PER_NODE * self.pool.nodes.len() as u64;
        self.boot_deadline = now + Duration::from_secs(boot);
    }

    /// Answers the requests of processes: starts processes, and keeps ports and names.
    fn serve_requests(&mut self, plan: &JobPlan<'_>, now: Instant) {
        let before = self.pool.instances.len();
        for note in requests::serve(plan, &mut self.pool) {
            self.err.lines.add_line(&format!("midplane: {note}"));
        }
        if before < self.pool.instances.len() {
            self.glances.resize(self.pool.nodes.len(), NodeGlance::default());
            for instance in &self.pool.instances[before..] {
                for rank in &instance.ranks {
                    self.glances[*rank as usize] = NodeGlance::default();
                }
            }
            self.complaints.resize(self.pool.instances.len(), VecDeque::new());
            self.extend_boot(now);
        }
    }

    /// Returns the time that the processes of the job have waited for a processor of this host.
    fn waited(&self) -> Duration {
        let waits = self.pool.instances.iter().map(Instance::processor_wait);
        waits.max().unwrap_or_default()
    }

    /// Returns the job's end if the serial line to the boards is lost.
    fn poll_serial_port(&mut self, plan: &JobPlan<'_>, now: Instant) -> Option<JobEnding> {
        let attached = self.attached.as_mut()?;
        attached.announce_reader();
        if let Some(what) = attached.silence_warning(now) {
            self.err.lines.add_line(&format!("midplane: {what}"));
        }
        let headline = format!("{}; state of the ranks:", attached.closed_reason()?);
        let mut nodes = self.observe_nodes();
        let message = Some(self.explain_activities(plan, &headline, &mut nodes));
        let end = self.end(error::FAILURE, JobOutcome::Lost, message, nodes);
        Some((end, None))
    }

    /// Returns the reason why the job is over. With a debugger, the job ends after the debugger. After success the
    /// debugger is asked to end; a failure is reported first, and can be examined. When boards fail, earlier output of
    /// others may be in transit.
    fn cause(&mut self, plan: &JobPlan<'_>, now: Instant, is_late: bool) -> Option<EndCause> {
        let cause = match (outcome::cause(&self.glances), self.let_end) {
            // Expected: the processes were asked to end.
            (Some(EndCause::Lost(_)), Some(_)) => Some(EndCause::Ended),
            (cause, _) => cause,
        };
        if let (Some(attached), Some(EndCause::Failed(_))) = (&self.attached, cause) {
            let (first, since) = *self.failed.get_or_insert((cause?, now));
            let printed = attached.last_output().map_or(since, |at| at.max(since));
            let explained = self.explaining.map_or(since, |at| at.max(since));
            let is_awaited = self.transfers.iter().any(AccountTransfer::is_unexplained);
            let limit = if is_awaited { attached.repetition() } else { LAST_WORDS };
            let is_last = is_late || now >= explained + limit;
            if !is_last && now < printed + QUIET {
                return None;
            }
            // The failure that caused the loss of a neighbour may still arrive.
            let root = outcome::root_failure(&self.observe_nodes()).map(EndCause::Failed);
            return root.or(is_last.then_some(first));
        }
        let Some(debug) = plan.debug else {
            return cause;
        };
        let is_waited_for = { self.ends }.is_none_or(|(_, until)| until.is_none_or(|at| now < at));
        if !(self.pool.is_debugged() && is_waited_for) {
            // The debugger's end kills its rank, so that the earlier state counts.
            let seen = self.ends.map(|(cause, _)| cause).or(cause);
            return Some(match seen {
                None | Some(EndCause::Lost(_)) => EndCause::DebuggerEnded,
                Some(cause) => cause,
            });
        }
        match cause? {
            _ if self.ends.is_some() => {}
            // Caused by the debugger itself.
            EndCause::Lost(at) if at == debug.rank as usize => {}
            EndCause::Ended => {
                self.pool.end_debugger();
                self.ends = Some((EndCause::Ended, Some(now + DEBUGGER_ENDS_WITHIN)));
            }
            cause => {
                let (end, _) = self.explain_end(plan, cause, self.observe_nodes());
                let what = end.message.unwrap_or_else(|| "the job cannot continue".into());
                self.err.lines.add_line(&format!(
                    "midplane: {what}\nmidplane: the debugger is still attached to rank {}; the job ends with the \
                     debugger",
                    debug.rank
                ));
                // An interactive user has unlimited time; commands from a file may never finish.
                let is_person = std::io::stdin().is_terminal();
                self.ends = Some((cause, (!is_person).then_some(now + DEBUGGER_ENDS_WITHIN)));
            }
        }
        None
    }

    /// Checks whether processes end by themselves after all programs. Excludes a debugged rank, since it ends with the
    /// debugger, and a cluster, since one process runs all nodes round robin.
    fn can_end_processes(&self, plan: &JobPlan<'_>) -> bool {
        matches!(plan.backend, Backend::Linux) && plan.debug.is_none()
    }

    /// Handles the end of all programs: notifies the processes. Returns the job's end after all have exited or the time
    /// limit has expired.
    fn wait_for_processes(&mut self, plan: &JobPlan<'_>, now: Instant) -> Option<JobEnding> {
        let since = *self.let_end.get_or_insert(now);
        let instances = &self.pool.instances;
        let left = instances.iter().filter(|instance| instance.gone.is_none());
        let left: Vec<u32> = left.flat_map(|instance| instance.ranks.clone()).collect();
        if left.is_empty() {
            return Some(self.explain_end(plan, EndCause::Ended, self.observe_nodes()));
        }
        if now >= since + ENDS_WITHIN {
            let nodes = self.observe_nodes();
            let message = outcome::unended_message(&nodes, &left, ENDS_WITHIN);
            let end = self.end(error::FAILURE, JobOutcome::Timeout, Some(message), nodes);
            return Some((end, None));
        }
        for rank in left {
            linux::allow_end(plan, &self.pool.nodes[rank as usize]);
        }
        None
    }

    /// Returns the nodes' state just before the job is ended. Requests the counters that processes publish on demand
    /// only.
    fn observe_at_end(&mut self, plan: &JobPlan<'_>) -> Vec<ObservedNode> {
        if matches!(plan.backend, Backend::Linux | Backend::Cluster) {
            let until = Instant::now() + COUNTERS_WITHIN;
            let owes = |node: &Node| node.state() == Ok(NodeState::Running) && !linux::has_published(node);
            self.requests += 1;
            linux::request_counters(&self.pool, self.requests);
            while self.pool.nodes.iter().any(owes) && Instant::now() < until {
                self.pause();
                linux::request_counters(&self.pool, self.requests);
            }
        }
        self.observe_nodes()
    }

    /// Waits for a moment, in which other hosts are served.
    fn pause(&mut self) {
        match &mut self.pool.hosts {
            Some(hosts) => hosts.pause(PROCESS_TICK),
            None => std::thread::sleep(PROCESS_TICK),
        }
    }

    /// Serves other hosts: output of their ranks, as far as there is space, and ends of their processes.
    fn serve_hosts(&mut self) {
        let Some(hosts) = &mut self.pool.hosts else { return };
        hosts.pump();
        let now = Instant::now();
        while let Some(hosts) = &mut self.pool.hosts
            && let Some(event) = hosts.next_event([self.out.has_room(), self.err.has_room()])
        {
            self.accept_host_event(event, now);
        }
    }

    fn accept_host_event(&mut self, event: HostEvent, now: Instant) {
        match event {
            HostEvent::Output { rank, stream: 0, bytes } => self.out.lines.add_output(rank, &bytes, now),
            HostEvent::Output { rank, bytes, .. } => self.err.lines.add_output(rank, &bytes, now),
            HostEvent::Exited { rank, status } => {
                let at = rank as usize;
                self.pool.instances[at].gone = Some(status);
                self.glances[at].is_gone = true;
                self.stirred = true;
                self.poll_node(at);
            }
        }
    }

    /// Returns the nodes' state for a location report. Observes whether a computing node polls: it then enters some
    /// calls, and a process detects the request in a call.
    fn observe_with_counters(&mut self, plan: &JobPlan<'_>) -> Vec<ObservedNode> {
        let mut nodes = self.observe_at_end(plan);
        let shown: Vec<Option<u64>> = nodes
            .iter()
            .map(|node| node.account.as_ref().ok().map(|account| account.calls_entered))
            .collect();
        let until = Instant::now() + POLLS_WITHIN;
        while nodes.iter().any(ObservedNode::may_poll) && Instant::now() < until {
            if matches!(plan.backend, Backend::Linux | Backend::Cluster) {
                self.requests += 1;
                linux::request_counters(&self.pool, self.requests);
            }
            self.pause();
            nodes = self.observe_nodes();
            for (node, shown) in nodes.iter_mut().zip(&shown) {
                node.shown_before = *shown;
            }
        }
        nodes
    }

    /// Writes available output; returns the wait until more is due or until `until`.
    fn flush_pending(&mut self, until: Instant) -> Duration {
        let mut until = until;
        let now = Instant::now();
        for sink in [&mut *self.out, &mut *self.err] {
            if let Some(due) = sink.lines.show_delayed(now) {
                until = until.min(due);
            }
            sink.write();
        }
        until.saturating_duration_since(now)
    }

    /// Waits until `until` at most, and forwards the nodes' output.
    fn wait(&mut self, signals: &Signals, until: Instant) {
        let wait = self.flush_pending(until);
        self.resume_blocked_nodes();
        let room = [self.out.has_room(), self.err.has_room()];
        let mut fds: Vec<PollFd<'_>> = signals
            .fds()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .chain(self.out.poll_descriptor())
            .chain(self.err.poll_descriptor())
            .collect();
        let first = fds.len();
        let mut owners = Vec::new();
        for (at, instance) in self.pool.instances.iter().enumerate() {
            if let Some(pidfd) = instance.poll_descriptor() {
                fds.push(pidfd);
                owners.push(at);
            }
            let channels = &instance.channels;
            let printed =
                { channels.prints.iter().zip(room) }.filter_map(|(socket, room)| socket.as_ref().filter(|_| room));
            let others = [&channels.bell, &channels.complaints].into_iter().flatten();
            for socket in others.chain(printed) {
                fds.push(PollFd::new(socket, PollFlags::IN));
                owners.push(at);
            }
        }
        let (stdin, asks) = (std::io::stdin(), fds.len());
        for socket in self.pool.doorbells.iter().flat_map(Doorbells::waiting) {
            fds.push(PollFd::from_borrowed_fd(socket, PollFlags::OUT));
        }
        let files_at = fds.len();
        if let Some(bell) = self.files.reply_socket() {
            fds.push(PollFd::new(bell, PollFlags::IN));
        }
        let attached_at = fds.len();
        if let Some(line) = self.attached.as_ref().and_then(AttachedBoards::fd) {
            fds.push(PollFd::from_borrowed_fd(line, PollFlags::IN));
        }
        let stdin_at = fds.len();
        let hosts = self.pool.hosts.as_ref();
        if self.input.is_wanted() || hosts.is_some_and(HostHub::wants_input) {
            fds.push(PollFd::new(&stdin, PollFlags::IN));
        }
        let hosts_at = fds.len();
        fds.extend(hosts.iter().flat_map(|hosts| hosts.poll_descriptors()));
        // An interruption is a signal; the caller checks for signals in any case.
        if poll(&mut fds, Timespec::try_from(wait).ok().as_ref()).unwrap_or(0) == 0 {
            return;
        }
        let is_ready = |at: usize, until: usize| at < until && fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let has_answers = is_ready(files_at, attached_at);
        let has_records = is_ready(attached_at, stdin_at);
        let has_input = is_ready(stdin_at, hosts_at);
        let mut due: Vec<usize> = fds[first..asks]
            .iter()
            .zip(owners)
            .filter(|(fd, _)| !fd.revents().is_empty())
            .map(|(_, at)| at)
            .collect();
        due.dedup();
        self.forward_received(has_input, has_answers, has_records);
        if let Some(doorbells) = &mut self.pool.doorbells {
            doorbells.send_messages();
        }
        for at in due {
            self.handle_instance(at);
        }
    }

    /// Forwards input and file replies to the nodes, and records from the boards' console.
    fn forward_received(&mut self, has_input: bool, has_answers: bool, has_records: bool) {
        if has_input && let Some(hosts) = &mut self.pool.hosts {
            hosts.forward_input();
        } else if has_input && let Some(first) = self.pool.nodes.first() {
            self.input.forward_stdin(first, &std::io::stdin());
        }
        if has_answers {
            let nodes = &self.pool.nodes;
            let give = |answer: FileReply<'_>| nodes[answer.rank].reply_to_call(answer.number, answer.answer);
            self.files.handle_replies(give);
        }
        if has_records {
            self.handle_records();
        }
    }

    /// Handles the records received from the boards' console.
    fn handle_records(&mut self) {
        let Some(attached) = &mut self.attached else {
            return;
        };
        let now = Instant::now();
        let room = [self.out.has_room(), self.err.has_room()];
        let (nodes, glances, mut explaining) = (&self.pool.nodes, &mut self.glances, self.explaining);
        let transfers = &mut self.transfers;
        let take = |rank: u16, said: RelayPayload<'_>| {
            let Some(node) = nodes.get(usize::from(rank)) else {
                return false;
            };
            let (at, bytes) = match said {
                RelayPayload::Output(OutputStream::Out, bytes) => {
                    self.out.lines.add_output(rank.into(), bytes, now);
                    return true;
                }
                RelayPayload::Output(_, bytes) => {
                    self.err.lines.add_output(rank.into(), bytes, now);
                    return true;
                }
                RelayPayload::Memory(at, bytes) => (u64::from(at), bytes),
            };
            let (glance, transfer) = (&mut glances[usize::from(rank)], &mut transfers[usize::from(rank)]);
            let has_ended = matches!(glance.state, Some(NodeState::Done | NodeState::Failed));
            let Some(at_record) = node.record_offset(at) else {
                transfer.add_memory();
                if !has_ended {
                    explaining = Some(now);
                }
                return node.write_ram(at, bytes);
            };
            match transfer.add(at_record, bytes) {
                TransferStep::Incomplete => true,
                TransferStep::Unexplained => {
                    explaining = Some(now);
                    true
                }
                TransferStep::Complete(record) => {
                    let is_there = node.write_record(record);
                    glance.state = node.state().ok();
                    is_there
                }
            }
        };
        attached.handle_records(now, |stream| room[usize::from(stream != OutputStream::Out)], take);
        self.explaining = explaining;
        self.stirred = true;
    }

    /// Handles events of an instance: its end, its messages, its nodes' doorbells.
    fn handle_instance(&mut self, at: usize) {
        let instance = &mut self.pool.instances[at];
        instance.reap();
        if instance.gone.is_some() {
            self.stirred = true;
            for rank in instance.ranks.clone() {
                // Another process may continue as its node.
                let is_replaced = self.pool.nodes[rank as usize].instance != at;
                let universe = self.pool.universe.as_ref();
                if is_replaced || universe.is_some_and(|universe| universe.hands_over(rank)) {
                    continue;
                }
                self.glances[rank as usize].is_gone = true;
                // The last output may contain the reason; a process has no doorbell for it.
                self.poll_node(rank as usize);
            }
        }
        let room = [self.out.has_room(), self.err.has_room()];
        self.forward_process_output(at, room);
        let instance = &mut self.pool.instances[at];
        if let Some(bytes) = read(&mut instance.channels.complaints, &mut self.buffer) {
            let kept = &mut self.complaints[at];
            kept.extend(bytes);
            kept.drain(..kept.len().saturating_sub(COMPLAINT_BYTES));
        }
        let Some(bells) = read(&mut instance.channels.bell, &mut self.buffer) else {
            return;
        };
        // A full buffer indicates that notifications may be lost.
        let mut rung = [bells.len() == CHUNK; BELLS];
        for bell in bells {
            rung[usize::from(*bell)] = true;
        }
        let ranks = instance.ranks.iter().enumerate();
        let ranks: Vec<u32> = ranks
            .filter(|(number, _)| rung[number % BELLS])
            .map(|(_, rank)| *rank)
            .collect();
        for rank in ranks {
            self.poll_node(rank as usize);
        }
    }

    /// Forwards one chunk of a native process's output if there is space; returns whether there was any.
    fn forward_process_output(&mut self, at: usize, room: [bool; 2]) -> bool {
        let instance = &mut self.pool.instances[at];
        let one = match &*instance.ranks {
            &[rank] if !self.in_messages => Some(rank),
            _ => None,
        };
        let now = Instant::now();
        let mut any = false;
        let sinks = [&mut *self.out, &mut *self.err];
        for ((socket, sink), room) in instance.channels.prints.iter_mut().zip(sinks).zip(room) {
            if room && let Some(bytes) = read(socket, &mut self.buffer) {
                let (rank, bytes) = match one {
                    Some(rank) => (Some(rank), bytes),
                    None => cluster::split_message(bytes),
                };
                match rank {
                    Some(rank) => sink.lines.add_output(rank, bytes, now),
                    None => print_note(sink, bytes),
                }
                any = true;
            }
        }
        any
    }

    /// Polls a node: output, state, and need for input.
    fn poll_node(&mut self, at: usize) {
        self.pool.nodes[at].arm_doorbell();
        self.forward_output(at);
        let node = &self.pool.nodes[at];
        if at == 0 {
            self.input.poll_inbox(node);
        }
        if let Some(calls) = &mut self.calls {
            calls.poll(node);
        }
        let state = node.state().ok();
        self.accept_file_call(at);
        self.stirred |= self.glances[at].state != state;
        self.glances[at].state = state;
    }

    /// Accepts the node's pending file call, if there is one.
    fn accept_file_call(&mut self, at: usize) {
        let Some(last) = self.files.last(at) else {
            return;
        };
        let node = &self.pool.nodes[at];
        let mut bytes = [0; files::BYTES];
        let Some(asked) = node.pending_call(last, &mut bytes) else {
            return;
        };
        let (answer, is_refused) = self.files.submit_call(at, asked, &bytes);
        if let Some(answer) = answer {
            node.reply_to_call(answer.number, answer.answer);
        }
        if is_refused {
            self.err.lines.add_line(&format!(
                "midplane: the program opens or creates files, which fails with EROFS; use --files DIRECTORY to \
                 provide a directory (rank {at} was the first)"
            ));
        }
    }

    /// Polls all nodes, with or without a notification.
    fn poll_all_nodes(&mut self) {
        let nodes = self.pool.nodes.len();
        let first = self.first;
        self.first = (first + 1) % nodes.max(1);
        for at in (first..nodes).chain(0..first) {
            self.poll_node(at);
        }
    }

    /// Resumes nodes with unread output after space becomes available.
    fn resume_blocked_nodes(&mut self) {
        let room = [self.out.has_room(), self.err.has_room()];
        let goes_on = |of: usize| self.held[of] && room[of];
        if goes_on(0) || goes_on(1) {
            self.held = [false; 2];
            self.poll_all_nodes();
        }
    }

    /// Forwards a node's output as far as there is space.
    fn forward_output(&mut self, at: usize) {
        let room = [self.out.has_room(), self.err.has_room()];
        for stream in OutputStream::ALL {
            let to = usize::from(stream != OutputStream::Out);
            if room[to] {
                self.forward_stream(at, stream)
            } else {
                // Conservative: whether output is pending is checked when there is space.
                self.held[to] = true
            }
        }
    }

    fn forward_stream(&mut self, at: usize, stream: OutputStream) {
        let node = &mut self.pool.nodes[at];
        let bytes = node.read_output(stream, &mut self.buffer);
        if bytes.is_empty() {
            return;
        }
        let (rank, now) = (node.rank, Instant::now());
        match stream {
            OutputStream::Out => self.out.lines.add_output(rank, bytes, now),
            OutputStream::Err => self.err.lines.add_output(rank, bytes, now),
            OutputStream::Log => {
                let lines = &mut self.err.lines;
                self.decoders[at].decode_bytes(bytes, |line| lines.add_line(&format!("[{rank}] log: {line}")));
            }
        }
    }

    /// Forwards all remaining output of ended nodes.
    fn drain(&mut self) {
        while let Some(event) = self.pool.hosts.as_mut().and_then(|hosts| hosts.next_event([true; 2])) {
            self.accept_host_event(event, Instant::now());
        }
        for at in 0..self.pool.instances.len() {
            let mut left = true;
            while left {
                let instance = &mut self.pool.instances[at];
                let bytes = read(&mut instance.channels.complaints, &mut self.buffer).unwrap_or(&[]);
                left = !bytes.is_empty();
                let kept = &mut self.complaints[at];
                kept.extend(bytes);
                kept.drain(..kept.len().saturating_sub(COMPLAINT_BYTES));
            }
            // Bounded by the sockets' content.
            while self.forward_process_output(at, [true; 2]) {}
        }
        for at in 0..self.pool.nodes.len() {
            for stream in OutputStream::ALL {
                // One read is sufficient: a ring buffer contains no more.
                self.forward_stream(at, stream);
            }
            if let Some(calls) = &mut self.calls {
                calls.poll(&self.pool.nodes[at]);
            }
        }
    }

    fn show_progress(&mut self, plan: &JobPlan<'_>, up: usize) {
        let nodes = plan.ranks() as usize;
        let quarter = |n: usize| 4 * n / nodes;
        // Not of processes that others start later.
        let is_boot = nodes == self.pool.nodes.len();
        if is_boot && nodes > QUIET_BOOT && quarter(up) > quarter(self.shown) {
            self.shown = up;
            self.err.lines.add_line(&format!(
                "midplane: {up} of {nodes} nodes are up after {:.1} s",
                self.begun.elapsed().as_secs_f64()
            ));
        }
    }

    fn observe_nodes(&self) -> Vec<ObservedNode> {
        let stopped: Vec<_> = self.pool.instances.iter().map(Instance::stopped).collect();
        let seen = |node: &Node| ObservedNode {
            stopped: stopped.get(node.instance).copied().flatten(),
            ..ObservedNode::from_node(node)
        };
        self.pool.nodes.iter().map(seen).collect()
    }

    fn explain_end(&self, plan: &JobPlan<'_>, cause: EndCause, nodes: Vec<ObservedNode>) -> JobEnding {
        let (status, outcome, message, lost) = match cause {
            EndCause::Ended => {
                let gone: Vec<_> = match self.let_end {
                    Some(_) => { self.pool.nodes.iter() }
                        .map(|node| self.pool.instances[node.instance].gone)
                        .collect(),
                    None => Vec::new(),
                };
                let (status, message) = outcome::job_status(&nodes, &gone);
                let message = message.or_else(|| outcome::changed_status(&nodes));
                (status, JobOutcome::Ended, message, None)
            }
            EndCause::Failed(at) => {
                let node = &self.pool.nodes[at];
                let image = plan.image(node.rank);
                let read = |offset, out: &mut [u8]| node.read_ram(offset, out);
                let places = |stands| match (plan.backend, stands) {
                    // The panic message contains the location.
                    (Backend::Linux | Backend::Cluster, FailureLocation::InPanic) => Vec::new(),
                    (Backend::Linux | Backend::Cluster, stands) => linux::describe(plan, node, stands),
                    (_, FailureLocation::At(pc)) => image.describe_fault(pc, &read),
                    (_, FailureLocation::InCall) => image.describe_call(&read),
                    (_, FailureLocation::InPanic) => image.describe_panic(&read),
                };
                let failed_malloc = || image.describe_failed_malloc(&read);
                let (message, status) = outcome::failure(&nodes[at], places, failed_malloc);
                (status, JobOutcome::Failed, Some(message), None)
            }
            EndCause::Lost(at) => (error::FAILURE, JobOutcome::Lost, None, Some(at)),
            EndCause::Overwritten(at) => {
                let message = outcome::overwritten_message(&nodes[at]);
                (error::FAILURE, JobOutcome::Failed, Some(message), None)
            }
            EndCause::DebuggerEnded => {
                let message = "the debugger has ended, and the job with it".into();
                (error::FAILURE, JobOutcome::Interrupted, Some(message), None)
            }
        };
        let message = message.map(|message| self.with_host(plan, cause, message));
        (self.end(status, outcome, message, nodes), lost)
    }

    /// Adds the host of the rank that a message is about, in a job over several hosts.
    fn with_host(&self, plan: &JobPlan<'_>, cause: EndCause, message: String) -> String {
        match (plan.hosts, cause) {
            (Some(hosts), EndCause::Failed(at) | EndCause::Lost(at) | EndCause::Overwritten(at)) => {
                format!("host {}: {message}", hosts.name(self.pool.nodes[at].rank))
            }
            _ => message,
        }
    }

    /// Returns the state of each rank after the headline, and the reasons why ranks wait for each other.
    fn explain_activities(&self, plan: &JobPlan<'_>, headline: &str, nodes: &mut [ObservedNode]) -> String {
        let mut locator = CallLocator::new(plan);
        for (seen, node) in nodes.iter_mut().zip(&self.pool.nodes) {
            if seen.queues.is_some() {
                seen.called_from = locator.locate(node);
            }
        }
        let lines = activity::describe_activities(nodes)
            .into_iter()
            .chain(hang::explain(nodes));
        lines.fold(headline.to_string(), |message, line| message + "\n  " + &line)
    }

    /// Provides the job's state if it is requested. Processes publish their counters on request only.
    fn serve_status(&mut self, plan: &JobPlan<'_>, now: Instant) {
        let Some(server) = self.status.as_ref().filter(|server| server.is_wanted()) else {
            return;
        };
        if self.status_due.is_none() && matches!(plan.backend, Backend::Linux | Backend::Cluster) {
            self.requests += 1;
            linux::request_counters(&self.pool, self.requests);
            self.status_due = Some(now + STATUS_WITHIN);
        }
        if self.status_due.is_none_or(|due| now >= due) {
            let program = plan.observed.unwrap_or_default();
            server.publish(&JobSnapshot::new(
                plan,
                program,
                self.begun.elapsed(),
                &self.observe_nodes(),
            ));
            self.status_due = None;
        }
    }

    /// Looks at the nodes' calls and, if all of them have been blocked for a while, at their counters. Returns whether
    /// nothing can move any more.
    fn is_hanging(&mut self, plan: &JobPlan<'_>, now: Instant) -> bool {
        let ranks = { self.pool.nodes.iter().zip(&self.glances) }.map(|(node, glance)| match glance.state {
            Some(NodeState::Done) => RankGlance::Ended,
            Some(NodeState::Running) => {
                if node.is_in_call() {
                    RankGlance::InCall
                } else {
                    RankGlance::Active
                }
            }
            _ => RankGlance::Active,
        });
        let has_requests = self
            .pool
            .universe
            .as_ref()
            .is_some_and(|universe| universe.has_requests());
        let was_requested = std::mem::take(&mut self.is_stall_requested);
        if has_requests {
            return false;
        }
        if !self.stall.record_states(now, ranks.collect()) {
            return false;
        }
        let is_linux = matches!(plan.backend, Backend::Linux);
        let owes = |node: &Node| node.state() == Ok(NodeState::Running) && !linux::has_published(node);
        if is_linux && (!was_requested || self.pool.nodes.iter().any(owes)) {
            // The request wakes the processes; the next look finds their counters.
            self.requests += u32::from(!was_requested);
            self.is_stall_requested = true;
            linux::request_counters(&self.pool, self.requests);
            return false;
        }
        let earlier = self.pool.universe.as_ref().map(|universe| universe.earlier.clone());
        let sample = StallSample::from_nodes(&self.observe_nodes(), earlier.unwrap_or_default());
        // A processor that waits for the host would be taken for one that sleeps.
        let is_idle = self.pool.instances.iter().all(Instance::is_asleep)
            && self.pool.hosts.as_ref().is_none_or(HostHub::is_asleep);
        self.stall.add_sample(now, sample) && is_idle
    }

    /// Ends a job in which nothing moves any more.
    fn end_hang(&mut self, plan: &JobPlan<'_>, on_hang: OnHang, mut nodes: Vec<ObservedNode>) -> JobEnding {
        for (seen, node) in nodes.iter_mut().zip(&self.pool.nodes) {
            seen.add_recent_queues(node);
        }
        let headline = "the job hangs: each rank is blocked in MPI or has ended, and no packet moves (--on-hang wait \
                        disables this check); state of the ranks:";
        let message = Some(self.explain_activities(plan, headline, &mut nodes));
        if on_hang == OnHang::Abort {
            self.pool.abort();
        }
        (self.end(error::FAILURE, JobOutcome::Hang, message, nodes), None)
    }

    fn end_late(&self, plan: &JobPlan<'_>, headline: &str, mut nodes: Vec<ObservedNode>) -> JobEnding {
        let message = Some(self.explain_activities(plan, headline, &mut nodes));
        (self.end(error::FAILURE, JobOutcome::Timeout, message, nodes), None)
    }

    /// Handles a signal. A hanging job is ended by Ctrl-C as often as by `--timeout`, so the location report is printed
    /// here, too.
    fn end_interrupted(&self, plan: &JobPlan<'_>, status: u8, mut nodes: Vec<ObservedNode>) -> JobEnding {
        let message = self.explain_activities(plan, "interrupted by a signal; state of the ranks:", &mut nodes);
        let message = Some(message);
        (self.end(status, JobOutcome::Interrupted, message, nodes), None)
    }

    /// Handles a failure to write the nodes' output.
    fn stdout_error(&self, error: Errno) -> JobEnding {
        let nodes = self.observe_nodes();
        let end = match error {
            // Equivalent to a termination by SIGPIPE.
            Errno::PIPE => {
                let status = CliError::signal(SIGPIPE).status;
                self.end(status, JobOutcome::Interrupted, None, nodes)
            }
            error => {
                let message = console::stdout_error(error.into()).message;
                self.end(error::FAILURE, JobOutcome::Failed, Some(message), nodes)
            }
        };
        (end, None)
    }

    fn end(&self, status: u8, outcome: JobOutcome, message: Option<String>, nodes: Vec<ObservedNode>) -> JobResult {
        JobResult {
            calls: None,
            status,
            outcome,
            message,
            elapsed: self.begun.elapsed(),
            virtual_time: self.in_messages.then(|| report::longest_run(&nodes)),
            used: self.resource_usage(),
            nodes,
        }
    }

    fn resource_usage(&self) -> Option<ResourceUsage> {
        match &self.pool.instances[..] {
            [process] if self.in_messages => process.used(),
            _ => None,
        }
    }

    fn lost_message(&mut self, plan: &JobPlan<'_>, at: usize) -> Option<String> {
        let lost = self.pool.nodes[at].instance;
        let complaints = self.complaints[lost].make_contiguous();
        let complaints = String::from_utf8_lossy(complaints);
        let nodes = self.pool.nodes.iter();
        let nodes: Vec<_> = nodes
            .filter(|node| node.instance == lost)
            .map(|node| (node.rank, node.coord))
            .collect();
        let gone = self.pool.instances[lost].gone?;
        let process = plan.backend.process();
        let message = outcome::lost_message(&nodes, process, gone, &complaints);
        Some(self.with_host(plan, EndCause::Lost(at), message))
    }
}

/// Prints lines that belong to no rank.
fn print_note(sink: &mut OutputSink<'_>, bytes: &[u8]) {
    for line in String::from_utf8_lossy(bytes).lines() {
        sink.lines.add_line(&format!("midplane: {line}"));
    }
}

/// Reads available bytes; closes a stream whose writer is gone.
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
