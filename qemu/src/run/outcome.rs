//! Outcome of a job, as messages and as an exit status. Free of side effects.

use crate::host::error::FAILURE;
use crate::run::node::{Node, RecordError, StacksUse};
use kernel_rt::mpi_failure::write_text;
use midplane_abi::blackboard::{BlackboardSnapshot, CallSnapshot, FailureCode, NodeState};
use midplane_abi::failure::text_of;
use midplane_abi::message_queues::MessageQueues;
use midplane_abi::status::exit_byte;
use net_torus::coord::Coord;
use serde::Serialize;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// Observed state of one node.
#[derive(Debug)]
pub struct ObservedNode {
    pub rank: u32,
    pub coord: Coord,
    /// Status record (blackboard) of the node.
    pub account: Result<BlackboardSnapshot, RecordError>,
    /// Stack usage, where it is observable.
    pub stacks: Option<StacksUse>,
    /// The node's process, if a signal has stopped it.
    pub stopped: Option<u32>,
    /// Value of the call counter shortly before the record was read, for a node with successive calls.
    pub shown_before: Option<u64>,
    /// Message queues of its current call; `None` where they are not known.
    pub queues: Option<MessageQueues>,
    /// Location of its current call in the program, as `function at file:line`; `None` where it is not known.
    pub called_from: Option<String>,
}

/// Maximum number of steps of a hanging node between the display of its queues and the end of the job.
const STEPS_SINCE_SHOWN: u32 = 4;

/// Returns the queues that a node has shown in its call, or up to so many steps before.
fn shown_queues(node: &Node, account: &BlackboardSnapshot, steps: u32) -> Option<MessageQueues> {
    let is_shown = |queues: &MessageQueues| (account.calls_entered as u32).wrapping_sub(queues.call) <= steps;
    account.call.as_ref().and_then(|_| node.queues()).filter(is_shown)
}

impl ObservedNode {
    /// Reads the state of a node.
    pub fn from_node(node: &Node) -> Self {
        let account = node.snapshot();
        Self {
            rank: node.rank,
            coord: node.coord,
            queues: account.as_ref().ok().and_then(|account| shown_queues(node, account, 0)),
            account,
            stacks: node.stacks(),
            stopped: None,
            shown_before: None,
            called_from: None,
        }
    }

    /// Adds message queues that a hanging node has shown in an earlier step of its call. A call of several steps gets a new
    /// number after each timeout of its wait.
    pub fn add_recent_queues(&mut self, node: &Node) {
        let recent = || shown_queues(node, self.account.as_ref().ok()?, STEPS_SINCE_SHOWN);
        self.queues = self.queues.take().or_else(recent);
    }

    /// Returns the nonblocking call that the program repeatedly uses to poll.
    pub fn polling_call(&self) -> Option<&str> {
        let account = self.account.as_ref().ok()?;
        let is_again = self.shown_before.is_some_and(|shown| account.calls_entered > shown);
        let call = &*account.last_call;
        let begins = |begin: &&str| call.starts_with(begin);
        (is_again && POLLS.iter().any(begins)).then_some(call)
    }

    /// Returns the MPI call that the program is blocked in; `None` for nonblocking calls and those of the C library.
    pub fn blocking_call(&self) -> Option<&CallSnapshot> {
        let call = self.account.as_ref().ok()?.call.as_ref()?;
        let polls = POLLS.iter().any(|begin| call.function.starts_with(begin));
        (call.function.starts_with("MPI_") && !polls).then_some(call)
    }

    /// Checks whether the program may be polling: it is outside of calls, or only in nonblocking ones.
    pub fn may_poll(&self) -> bool {
        let account = self.account.as_ref();
        self.state() == Some(NodeState::Running)
            && self.stopped.is_none()
            && account.is_ok_and(|account| {
                account.call.is_none() || POLLS.iter().any(|begin| account.last_call.starts_with(begin))
            })
            && self.polling_call().is_none()
    }

    /// Checks whether the node is one of a simulator that has found a hang.
    pub fn reports_hang(&self) -> bool {
        self.account
            .as_ref()
            .is_ok_and(|account| account.end == FailureCode::Hang)
    }

    /// Returns rank and coordinates for messages.
    pub fn name(&self) -> String {
        name(self.rank, self.coord)
    }

    /// Returns the state that the node reports.
    pub fn state(&self) -> Option<NodeState> {
        self.account.as_ref().ok().map(|account| account.state)
    }
}

/// Name prefixes of calls that poll and do not block. A buffered send polls for a limited time when the attached buffer is
/// full; MPI_Start may be one.
const POLLS: [&str; 8] = [
    "MPI_Bsend",
    "MPI_Ibsend",
    "MPI_Start",
    "MPI_Test",
    "MPI_Iprobe",
    "MPI_Improbe",
    "MPI_Request_get_status",
    "MPI_Win_test",
];

/// Formats a node's rank and coordinates for messages.
pub fn name(rank: u32, coord: Coord) -> String {
    format!("rank {rank} at ({},{},{})", coord.x, coord.y, coord.z)
}

/// Formats the owners of an item, for example of a process.
pub fn describe_owner(nodes: &[(u32, Coord)]) -> String {
    if let [(rank, coord)] = nodes {
        return format!("{}: its", name(*rank, *coord));
    }
    let mut ranks: Vec<u32> = nodes.iter().map(|(rank, _)| *rank).collect();
    ranks.sort_unstable();
    format!("ranks {}: their", ranges(ranks))
}

/// Outcome of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JobOutcome {
    /// All programs ended.
    Ended,
    /// A node failed, or its output could not be written.
    Failed,
    /// A node's process ended unexpectedly.
    Lost,
    /// The job did not start or end in time.
    Timeout,
    /// Every rank is blocked, and no packet moves.
    Hang,
    /// A signal requested the end.
    Interrupted,
}

/// Reason why a job is over, from the nodes' states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCause {
    /// All programs ended.
    Ended,
    /// A node failed; contains its index.
    Failed(usize),
    /// A node's process ended unexpectedly; contains its index.
    Lost(usize),
    /// The program overwrote a node's status record; contains its index.
    Overwritten(usize),
    /// The debugger has ended.
    DebuggerEnded,
}

/// Frequently polled state of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeGlance {
    /// State that the node reports; `None`: its record is invalid.
    pub state: Option<NodeState>,
    /// Whether its process has ended.
    pub is_gone: bool,
}

impl Default for NodeGlance {
    /// State of a node before boot.
    fn default() -> Self {
        Self {
            state: Some(NodeState::Off),
            is_gone: false,
        }
    }
}

impl NodeGlance {
    /// Checks whether its program was started.
    pub fn is_up(&self) -> bool {
        !matches!(self.state, Some(NodeState::Off | NodeState::Booting))
    }
}

/// Returns the reason if the job is over.
pub fn cause(nodes: &[NodeGlance]) -> Option<EndCause> {
    let find = |what: &dyn Fn(&NodeGlance) -> bool| nodes.iter().position(what);
    // A failed node may have caused the others' losses or waits, so it is checked first.
    if let Some(at) = find(&|n| n.state == Some(NodeState::Failed)) {
        return Some(EndCause::Failed(at));
    }
    if let Some(at) = find(&|n| n.is_gone) {
        return Some(EndCause::Lost(at));
    }
    if let Some(at) = find(&|n| n.state.is_none()) {
        return Some(EndCause::Overwritten(at));
    }
    nodes
        .iter()
        .all(|n| n.state == Some(NodeState::Done))
        .then_some(EndCause::Ended)
}

/// Finds a node that failed for a reason of its own. A node that lost a neighbour is usually not the first failure.
/// `None` if none is known.
pub fn root_failure(nodes: &[ObservedNode]) -> Option<usize> {
    let is_root = |node: &ObservedNode| {
        let account = node.account.as_ref();
        account.is_ok_and(|account| account.state == NodeState::Failed && account.end != FailureCode::LinkLost)
    };
    nodes.iter().position(is_root)
}

/// Returns the exit status of a job after all programs have ended: the first that is not 0, in rank order. For native
/// processes, `gone` contains the process statuses. They can differ from the programs' because of exit handlers, such
/// as a leak checker, or the wrapper command. The message reports such a difference.
pub fn job_status(nodes: &[ObservedNode], gone: &[Option<ExitStatus>]) -> (u8, Option<String>) {
    let gone = gone.iter().copied().chain(std::iter::repeat(None));
    let statuses = nodes.iter().zip(gone).filter_map(|(node, gone)| {
        let status = exit_byte(node.account.as_ref().ok()?.status);
        if status != 0 {
            return Some((status, None));
        }
        let (status, how) = match (gone?.signal(), gone?.code().unwrap_or(0)) {
            (None, 0) => return None,
            (None, code) => (exit_byte(code), format!("ended with status {code}")),
            (Some(signal), _) => (FAILURE, format!("was killed by signal {signal}")),
        };
        let name = node.name();
        let message = format!(
            "{name}: the program ended with status 0, but its process {how}, because of an exit handler or the \
             --under command"
        );
        Some((status, Some(message)))
    });
    let mut statuses = statuses;
    statuses.next().unwrap_or((0, None))
}

/// Returns the message about processes that were still running `limit` after the job.
pub fn unended_message(nodes: &[ObservedNode], left: &[u32], limit: Duration) -> String {
    let nodes = nodes.iter().filter(|node| left.contains(&node.rank));
    let nodes: Vec<_> = nodes.map(|node| (node.rank, node.coord)).collect();
    format!(
        "{} process did not end within {} s after all programs had ended, and was killed: its final output is lost",
        describe_owner(&nodes),
        limit.as_secs()
    )
}

/// Returns the message about an exit status that [`exit_byte`] has changed.
pub fn changed_status(nodes: &[ObservedNode]) -> Option<String> {
    nodes.iter().find_map(|node| {
        let status = node.account.as_ref().ok()?.status;
        let changed = status != 0 && status as u8 == 0;
        changed.then(|| {
            format!(
                "{}: the program ended with status {status}, which is no valid exit status; {FAILURE} is used",
                node.name()
            )
        })
    })
}

/// Location of a failed node in the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureLocation {
    /// At this address.
    At(u64),
    /// In an MPI call.
    InCall,
    /// At a panic of the runtime.
    InPanic,
}

/// Returns the message about a failed node, and the job's exit status. `places` returns the functions and lines of its
/// location, innermost first. `failed_malloc` describes a failed allocation before a fault.
pub fn failure(
    node: &ObservedNode,
    places: impl FnOnce(FailureLocation) -> Vec<String>,
    failed_malloc: impl FnOnce() -> Option<String>,
) -> (String, u8) {
    let Ok(account) = &node.account else {
        return (overwritten_message(node), FAILURE);
    };
    let message = text_of(&account.message, write_text);
    let mut text = message.trim_end().to_string();
    if text.is_empty() {
        text = match account.end {
            FailureCode::MpiAbort => format!("called MPI_Abort with code {}", account.status),
            other => format!("failed ({other:?}) without a message"),
        };
    }
    if !text.contains(&format!("rank {}", node.rank)) {
        text = format!("{}: {text}", node.name());
    }
    let stands = match account.end {
        FailureCode::Fault | FailureCode::StackOverflow => Some(FailureLocation::At(account.fault.pc)),
        FailureCode::Abort | FailureCode::MpiAbort | FailureCode::MpiError | FailureCode::LinkLost => {
            Some(FailureLocation::InCall)
        }
        FailureCode::Panic => Some(FailureLocation::InPanic),
        _ => None,
    };
    if let Some(stands) = stands {
        for (depth, line) in places(stands).iter().enumerate() {
            let word = if depth == 0 { "in" } else { "inlined into" };
            text.push_str(&format!("\n  {word} {line}"));
        }
    }
    if account.end == FailureCode::Fault
        && let Some(line) = failed_malloc()
    {
        text.push_str(&format!("\n  {line}"));
    }
    if account.end == FailureCode::StackOverflow {
        text.push_str("\n  or increase the stack with --stack");
    }
    let status = match account.end {
        // The program's choice; but an abort indicates an error even with code 0.
        FailureCode::MpiAbort | FailureCode::MpiError => exit_byte(account.status).max(1),
        // 2 for an unusable program.
        FailureCode::Boot => exit_byte(account.status).max(1),
        _ => FAILURE,
    };
    (text, status)
}

/// Returns the message about a node with an invalid status record.
pub fn overwritten_message(node: &ObservedNode) -> String {
    let why = match &node.account {
        Ok(_) => String::new(),
        Err(error) => format!(" ({error})"),
    };
    format!("{}: the program has overwritten the kernel's memory{why}", node.name())
}

/// Returns the message about these nodes' process after it ended unexpectedly or was killed. `process` is the term for
/// it.
pub fn lost_message(nodes: &[(u32, Coord)], process: &str, gone: ExitStatus, complaints: &str) -> String {
    let how = match (gone.signal(), gone.code()) {
        (Some(9), _) => "was killed by signal 9 (by another process, or because the machine ran out of memory)".into(),
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, code) => format!("ended by itself with status {}", code.unwrap_or(-1)),
    };
    let whose = describe_owner(nodes);
    let mut text = format!("{whose} {process} {how}; the job cannot continue without it");
    for line in complaints.lines() {
        text.push_str("\n  qemu: ");
        text.push_str(line);
    }
    text
}

/// Formats a call with its peer and tag.
pub fn describe_call(call: &CallSnapshot) -> String {
    let value = |value: i32| match value {
        v if v < 0 => "any".to_string(),
        v => v.to_string(),
    };
    let mut text = call.function.to_string();
    let details: Vec<String> = [("peer", call.peer), ("tag", call.tag)]
        .into_iter()
        .filter_map(|(name, v)| Some(format!("{name} {}", value(v?))))
        .collect();
    if !details.is_empty() {
        text.push_str(&format!(" ({})", details.join(", ")));
    }
    text
}

/// Maximum number of ranges in a list.
const MAX_RANGES: usize = 16;

/// Formats ascending numbers as ranges: `0, 2-5, 7`. Numbers beyond the first ranges are counted only.
pub fn ranges(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let omitted: u64 = { runs.iter().skip(MAX_RANGES) }
        .map(|(first, last)| u64::from(last - first) + 1)
        .sum();
    let shown = runs.into_iter().take(MAX_RANGES);
    let texts: Vec<String> = shown
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first}, {last}"),
            _ => format!("{first}-{last}"),
        })
        .collect();
    match omitted {
        0 => texts.join(", "),
        _ => format!("{} and {omitted} more", texts.join(", ")),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::run::node::StackUse;
    use midplane_abi::blackboard::{BYTES, MessageSnapshot, ReadError};

    /// Creates a node's state for tests.
    pub fn seen(rank: u32, state: NodeState, write: impl FnOnce(&mut BlackboardSnapshot)) -> ObservedNode {
        let mut account = BlackboardSnapshot::read(&[0; BYTES]).unwrap();
        account.state = state;
        account.rank = Some(rank);
        write(&mut account);
        ObservedNode {
            rank,
            coord: Coord {
                x: rank as u8,
                y: 0,
                z: 0,
            },
            account: Ok(account),
            stacks: Some(StacksUse {
                program: StackUse {
                    peak_bytes: 3000 + u64::from(rank),
                    bytes: 20480,
                },
                interrupts: StackUse {
                    peak_bytes: 900_u64.saturating_sub(u64::from(rank)),
                    bytes: 6144,
                },
            }),
            stopped: None,
            shown_before: None,
            queues: None,
            called_from: None,
        }
    }

    fn at(rank: u32) -> (u32, Coord) {
        let node = running(rank);
        (rank, node.coord)
    }

    fn glance(state: NodeState) -> NodeGlance {
        NodeGlance {
            state: Some(state),
            is_gone: false,
        }
    }

    /// Creates a node's state for tests.
    pub fn done(rank: u32, status: i32) -> ObservedNode {
        seen(rank, NodeState::Done, |s| s.status = status)
    }

    /// Creates a node's state for tests.
    pub fn running(rank: u32) -> ObservedNode {
        seen(rank, NodeState::Running, |_| ())
    }

    fn failed(rank: u32, end: FailureCode, status: i32, message: &str) -> ObservedNode {
        seen(rank, NodeState::Failed, |s| {
            s.end = end;
            s.status = status;
            s.message = MessageSnapshot::Text(message.try_into().unwrap());
        })
    }

    /// Creates a node's state for tests.
    pub fn calling(rank: u32, function: &str, peer: Option<i32>, tag: Option<i32>) -> ObservedNode {
        seen(rank, NodeState::Running, |s| {
            s.call = Some(CallSnapshot {
                function: function.parse().unwrap(),
                peer,
                tag,
            });
        })
    }

    #[test]
    fn a_job_ends_when_all_are_done_with_the_first_status_that_is_not_zero() {
        let (ended, running) = (glance(NodeState::Done), glance(NodeState::Running));
        assert_eq!(cause(&[ended, running]), None);
        assert_eq!(cause(&[ended; 3]), Some(EndCause::Ended));
        let ended = [done(0, 0), done(1, 256 + 3), done(2, 4)];
        assert_eq!(job_status(&ended, &[]), (3, None));
    }

    #[test]
    fn a_process_that_ends_otherwise_than_its_program_gives_the_status() {
        let raw = ExitStatus::from_raw;
        let nodes = [done(0, 0), done(1, 0), done(2, 5)];
        let ends = [Some(raw(0)), Some(raw(23 << 8)), Some(raw(0))];
        let (status, message) = job_status(&nodes, &ends);
        assert_eq!(status, 23);
        let message = message.unwrap();
        for words in ["rank 1 at (1,0,0)", "status 0", "its process ended with status 23"] {
            assert!(message.contains(words), "{message}");
        }
        // The program's own status has priority over its process's.
        let ends = [None, Some(raw(0)), Some(raw(0))];
        assert_eq!(job_status(&nodes, &ends), (5, None));
        let (status, message) = job_status(&nodes, &[Some(raw(9))]);
        assert_eq!(status, FAILURE);
        assert!(message.unwrap().contains("was killed by signal 9"));
        let text = unended_message(&nodes, &[1], Duration::from_secs(120));
        assert!(text.starts_with("rank 1 at (1,0,0): its process did not end within 120 s"));
    }

    #[test]
    fn a_status_that_is_not_zero_never_becomes_zero() {
        for (status, expected) in [(0, 0), (3, 3), (-1, 255), (256, 1), (512, 1), (i32::MIN, 1)] {
            assert_eq!(exit_byte(status), expected, "{status}");
            let nodes = [done(0, 0), done(1, status)];
            assert_eq!(job_status(&nodes, &[]), (expected, None));
            let said = changed_status(&nodes).unwrap_or_default();
            let changed = [256, 512, i32::MIN].contains(&status);
            assert_eq!(
                said.contains(&format!("rank 1 at (1,0,0): the program ended with status {status}")),
                changed
            );
        }
    }

    #[test]
    fn a_failure_comes_before_a_lost_node() {
        let mut lost = glance(NodeState::Running);
        lost.is_gone = true;
        let nodes = [lost, glance(NodeState::Failed)];
        assert_eq!(cause(&nodes), Some(EndCause::Failed(1)));
        assert_eq!(cause(&nodes[..1]), Some(EndCause::Lost(0)));
    }

    #[test]
    fn who_lost_a_neighbour_is_not_the_first_that_failed() {
        let lost = || failed(0, FailureCode::LinkLost, 1, "");
        let nodes = [lost(), running(1), failed(2, FailureCode::Fault, 1, "")];
        assert_eq!(root_failure(&nodes), Some(2));
        assert_eq!(root_failure(&[lost(), running(1)]), None);
    }

    #[test]
    fn an_overwritten_account_ends_the_job() {
        let node = NodeGlance {
            state: None,
            is_gone: false,
        };
        assert_eq!(cause(&[node]), Some(EndCause::Overwritten(0)));
    }

    #[test]
    fn statuses_of_failures() {
        for (end, status, expected) in [
            (FailureCode::MpiAbort, 7, 7),
            (FailureCode::MpiAbort, 0, 1),
            (FailureCode::MpiAbort, 512, 1),
            (FailureCode::MpiError, 3, 3),
            (FailureCode::Fault, 0, 1),
            (FailureCode::Panic, 101, 1),
        ] {
            let (_, status) = failure(&failed(0, end, status, ""), |_| Vec::new(), || None);
            assert_eq!(status, expected);
        }
    }

    #[test]
    fn words_of_every_end() {
        let place = |_| vec!["inner at a.c:3".into(), "main at a.c:9".into()];
        let said = |end, status, message| failure(&failed(2, end, status, message), place, || None).0;
        let mut overwritten = running(0);
        overwritten.account = Err(RecordError::Blackboard(ReadError::State(99)));
        let texts = [
            said(FailureCode::Fault, 1, "rank 2 at (2,0,0): load of 0x0, a null pointer"),
            said(FailureCode::StackOverflow, 1, ""),
            said(FailureCode::Panic, 101, "panicked at a.rs:5: no"),
            said(FailureCode::Abort, 1, ""),
            said(FailureCode::MpiAbort, 7, ""),
            said(FailureCode::Boot, 1, "no memory"),
            lost_message(&[at(3)], "QEMU process", ExitStatus::from_raw(9), "qemu: out of memory"),
            lost_message(&[4, 0, 1, 2].map(at), "QEMU process", ExitStatus::from_raw(9), ""),
            overwritten_message(&overwritten),
            changed_status(&[done(1, 256)]).unwrap(),
        ];
        insta::assert_snapshot!("ends", texts.join("\n"));
    }

    #[test]
    fn a_failure_names_rank_coordinates_and_place() {
        let place = |_| vec!["inner at a.c:3".into(), "main at a.c:9".into()];
        let in_call = |stands| match stands {
            FailureLocation::InCall | FailureLocation::InPanic => vec!["main at a.c:9".into()],
            FailureLocation::At(_) => Vec::new(),
        };
        for end in [FailureCode::MpiAbort, FailureCode::MpiError, FailureCode::Panic] {
            let (text, _) = failure(&failed(2, end, 7, "rank 2 at (2,0,0): why"), in_call, || None);
            assert_eq!(text, "rank 2 at (2,0,0): why\n  in main at a.c:9");
        }
        let (text, _) = failure(&failed(2, FailureCode::MpiAbort, 7, ""), |_| Vec::new(), || None);
        assert_eq!(text, "rank 2 at (2,0,0): called MPI_Abort with code 7");
        let (text, _) = failure(
            &failed(2, FailureCode::Fault, 1, "rank 2 at (2,0,0): bad access"),
            place,
            || Some("an allocation had failed".into()),
        );
        assert_eq!(
            text,
            "rank 2 at (2,0,0): bad access\n  in inner at a.c:3\n  inlined into main at a.c:9\n  an \
             allocation had failed"
        );
    }

    #[test]
    fn a_lost_node_is_named_with_the_signal_and_what_qemu_said() {
        let text = lost_message(&[at(3)], "QEMU process", ExitStatus::from_raw(9), "");
        assert!(
            text.contains("rank 3 at (3,0,0)") && text.contains("signal 9"),
            "{text}"
        );
        let text = lost_message(&[at(3)], "QEMU process", ExitStatus::from_raw(1 << 8), "bad option\n");
        assert!(
            text.contains("status 1") && text.ends_with("qemu: bad option"),
            "{text}"
        );
    }

    #[test]
    fn numbers_are_joined_to_ranges() {
        assert_eq!(ranges([0, 2, 3, 4, 7, 8]), "0, 2-4, 7, 8");
        let odd = ranges((0..100).map(|number| 2 * number));
        assert!(odd.starts_with("0, 2, 4,") && odd.ends_with("30 and 84 more"), "{odd}");
    }
}
