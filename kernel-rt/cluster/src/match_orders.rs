//! Exploration of a program's match orders: the decisions of a run, and the search over their tree.
//!
//! A run of an MPI program depends on the network in a few places only: the message that a wildcard receive or probe
//! matches, and the completions that a call sees. The simulator makes each of these a [`MatchDecision`]
//! (`explored_schedule.rs`). A *schedule* is the list of all decisions of a run. The search is stateless: each run
//! repeats a prefix of decisions from the program's start, and then takes the first alternative of each
//! (Godefroid 1996). [`next_schedule`] returns the next prefix in depth-first order.
//!
//! ```text
//! match_orders.rs       decisions, schedules as text, the search          explored_schedule.rs  the scheduler
//! packet_gate.rs        packets withheld from a device                     choosing_engine.rs    search of arrived messages
//! ```
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use midplane_device::envelope::MatchPattern;

/// Kind of a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecisionKind {
    /// The message that a posted wildcard receive matches.
    Receive,
    /// The message that a blocking wildcard probe finds.
    Probe,
    /// The message that the next completion of MPI_Waitany or MPI_Waitsome is due to.
    Completion,
    /// The message that a nonblocking call sees.
    Poll,
    /// The message that a new wildcard receive or probe selects among those that have arrived.
    Arrived,
}

impl DecisionKind {
    const ALL: [DecisionKind; 5] = [
        DecisionKind::Receive,
        DecisionKind::Probe,
        DecisionKind::Completion,
        DecisionKind::Poll,
        DecisionKind::Arrived,
    ];

    /// Returns its name in a schedule.
    pub const fn name(self) -> &'static str {
        match self {
            DecisionKind::Receive => "receive",
            DecisionKind::Probe => "probe",
            DecisionKind::Completion => "completion",
            DecisionKind::Poll => "poll",
            DecisionKind::Arrived => "arrived",
        }
    }
}

/// Alternative of a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchAlternative {
    /// The oldest eligible message of the process with this rank.
    Source(u32),
    /// None of these messages: a poll sees nothing, and a receive matches a message that is sent later.
    Later,
}

impl fmt::Display for MatchAlternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatchAlternative::Source(rank) => rank.fmt(f),
            MatchAlternative::Later => f.write_str(LATER),
        }
    }
}

const LATER: &str = "later";
const OF: &str = "of";
const RANK: &str = "rank";

/// A decision of a run, with its alternatives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchDecision {
    /// Rank of the receiving process.
    pub rank: u32,
    /// Kind of the decision.
    pub kind: DecisionKind,
    /// All alternatives, at least two.
    pub alternatives: Vec<MatchAlternative>,
    /// Index of the selected alternative.
    pub taken: usize,
    /// [`Later`](MatchAlternative::Later) leads to other schedules; not part of a schedule's text.
    pub has_later: bool,
}

impl MatchDecision {
    /// Returns the selected alternative.
    pub fn selected(&self) -> MatchAlternative {
        self.alternatives[self.taken]
    }

    /// Returns whether there are alternatives after the selected one.
    fn has_next(&self) -> bool {
        let next = self.alternatives.get(self.taken + 1);
        next.is_some_and(|next| *next != MatchAlternative::Later || self.has_later)
    }
}

/// Formats a line of a schedule, such as `rank 0 receive 2 of 1 2 3`.
impl fmt::Display for MatchDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, kind) = (self.rank, self.kind.name());
        write!(f, "{RANK} {rank} {kind} {} {OF}", self.selected())?;
        { self.alternatives.iter() }.try_for_each(|alternative| write!(f, " {alternative}"))
    }
}

impl FromStr for MatchDecision {
    type Err = String;

    fn from_str(line: &str) -> Result<MatchDecision, String> {
        let parse = || {
            let mut words = line.split_whitespace();
            let alternative = |word: &str| match word {
                LATER => Some(MatchAlternative::Later),
                word => word.parse().ok().map(MatchAlternative::Source),
            };
            words.next().filter(|word| *word == RANK)?;
            let rank = words.next()?.parse().ok()?;
            let name = words.next()?;
            let kind = DecisionKind::ALL.into_iter().find(|kind| kind.name() == name)?;
            let selected = alternative(words.next()?)?;
            words.next().filter(|word| *word == OF)?;
            let alternatives: Vec<MatchAlternative> = words.map(alternative).collect::<Option<_>>()?;
            let taken = alternatives.iter().position(|other| *other == selected)?;
            Some(MatchDecision {
                rank,
                kind,
                alternatives,
                taken,
                has_later: has_later(kind),
            })
        };
        parse().ok_or_else(|| format!("`{line}` is no decision, such as `rank 0 receive 2 of 1 2 3`"))
    }
}

/// Parses a schedule: a decision in each line, and comments after `#`. Returns the description of an invalid line.
///
/// # Errors
/// If a line is no decision.
pub fn parse_schedule(text: &str) -> Result<Vec<MatchDecision>, String> {
    let lines = text.lines().zip(1..);
    let lines = lines.map(|(line, number)| (line.split('#').next().unwrap_or_default().trim(), number));
    lines
        .filter(|(line, _)| !line.is_empty())
        .map(|(line, number): (&str, u32)| line.parse().map_err(|why| format!("line {number}: {why}")))
        .collect()
}

/// Returns whether [`Later`](MatchAlternative::Later) is known to lead to other schedules: a poll may always miss a
/// message.
fn has_later(kind: DecisionKind) -> bool {
    kind == DecisionKind::Poll
}

/// Returns the prefix of the next schedule after a run with these decisions, which began with the `planned` ones, in
/// depth-first order. `None` after the last one.
pub fn next_schedule(planned: &[MatchDecision], mut run: Vec<MatchDecision>) -> Option<Vec<MatchDecision>> {
    for (decision, planned) in run.iter_mut().zip(planned) {
        decision.has_later |= planned.has_later;
    }
    while let Some(last) = run.last_mut() {
        if last.has_next() {
            last.taken += 1;
            return Some(run);
        }
        run.pop();
    }
    None
}

/// Functions that observe the decisions of a run, also of one that does not end by itself.
#[derive(Clone, Copy, Debug)]
pub struct DecisionObserver {
    /// Receives each decision.
    pub record: fn(&MatchDecision),
    /// Receives the index of a decision whose alternative [`Later`](MatchAlternative::Later) leads to other schedules.
    pub note_later: fn(usize),
}

impl DecisionObserver {
    /// Ignores the decisions.
    pub const NONE: DecisionObserver = DecisionObserver {
        record: |_| (),
        note_later: |_| (),
    };
}

/// The decisions of a run in progress, in the thread of its simulator.
pub(super) struct ExplorationRun {
    planned: Vec<MatchDecision>,
    taken: Vec<MatchDecision>,
    observer: DecisionObserver,
    /// By rank: the pattern of its last probe.
    probed: Vec<Option<MatchPattern>>,
    /// The program has not made the planned decisions.
    is_foreign: bool,
}

thread_local! {
    /// The run of this thread's simulator, if it explores.
    static RUN: RefCell<Option<ExplorationRun>> = const { RefCell::new(None) };
}

/// Begins a run of this many processes, which makes the `planned` decisions first. The observer receives each decision.
pub(super) fn begin(planned: Vec<MatchDecision>, observer: DecisionObserver, ranks: usize) {
    RUN.set(Some(ExplorationRun {
        planned,
        taken: Vec::new(),
        observer,
        probed: vec![None; ranks],
        is_foreign: false,
    }));
}

/// Ends the run of this thread, and returns its decisions.
pub fn take_decisions() -> Vec<MatchDecision> {
    RUN.take().map_or(Vec::new(), |run| run.taken)
}

fn with_run<R>(f: impl FnOnce(&mut ExplorationRun) -> R) -> R {
    RUN.with_borrow_mut(|run| f(run.as_mut().expect("a simulator that explores")))
}

/// Decides among `alternatives`, at least two.
pub(super) fn decide(rank: usize, kind: DecisionKind, alternatives: Vec<MatchAlternative>) -> MatchAlternative {
    let (decision, observer) = with_run(|run| {
        let mut decision = MatchDecision {
            rank: rank as u32,
            kind,
            alternatives,
            taken: 0,
            has_later: has_later(kind),
        };
        if let Some(planned) = run.planned.get(run.taken.len()) {
            let is_same = (planned.rank, planned.kind) == (decision.rank, kind);
            let selected = planned.selected();
            let taken = { decision.alternatives.iter() }.position(|alternative| *alternative == selected);
            run.is_foreign |= !is_same || taken.is_none();
            decision.taken = taken.unwrap_or(0);
        }
        run.taken.push(decision.clone());
        (decision, run.observer)
    });
    (observer.record)(&decision);
    decision.selected()
}

/// Returns the index of the last decision.
pub(super) fn last_index() -> usize {
    with_run(|run| run.taken.len().saturating_sub(1))
}

/// Records that the alternative [`Later`](MatchAlternative::Later) of a decision leads to other schedules.
pub(super) fn note_later(index: usize) {
    let observer = with_run(|run| {
        let decision = run.taken.get_mut(index)?;
        decision.has_later = true;
        Some(run.observer)
    });
    if let Some(observer) = observer {
        (observer.note_later)(index);
    }
}

/// Returns whether the run has not made the planned decisions.
pub(super) fn is_foreign() -> bool {
    with_run(|run| run.is_foreign)
}

/// Returns whether decisions are planned that the run has not made.
pub(super) fn has_planned() -> bool {
    with_run(|run| run.taken.len() < run.planned.len())
}

/// Records the pattern of a probe, or of a search for a receive.
pub(super) fn note_probe(rank: usize, pattern: MatchPattern) {
    with_run(|run| run.probed[rank] = Some(pattern));
}

/// Returns the pattern of the last probe of this rank.
pub(super) fn last_probe(rank: usize) -> Option<MatchPattern> {
    with_run(|run| run.probed[rank])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_reads_back_as_it_was_written() {
        let text = "rank 0 receive 2 of 1 2 3\nrank 3 poll later of 0 later\n";
        let read = parse_schedule(&format!("# a comment\n\n{text}")).expect("a schedule");
        let written: String = read.iter().map(|decision| format!("{decision}\n")).collect();
        assert_eq!(written, text);
        for wrong in ["rank 0 receive 4 of 1 2", "rank x receive 1 of 1", "0 receive 1 of 1 2"] {
            let why = parse_schedule(wrong).expect_err("no decision");
            assert!(why.contains("line 1"), "{why}");
        }
    }

    #[test]
    fn the_search_is_depth_first_and_ends() {
        // A tree in which each of two decisions has the given number of alternatives.
        let decision = |alternatives: u32| MatchDecision {
            rank: 0,
            kind: DecisionKind::Receive,
            alternatives: (0..alternatives).map(MatchAlternative::Source).collect(),
            taken: 0,
            has_later: false,
        };
        let (mut planned, mut leaves) = (Vec::new(), Vec::new());
        loop {
            let mut run: Vec<MatchDecision> = planned.clone();
            run.extend([decision(3), decision(2)].into_iter().skip(run.len()));
            leaves.push((run[0].taken, run[1].taken));
            match next_schedule(&planned, run) {
                Some(next) => planned = next,
                None => break,
            }
        }
        assert_eq!(leaves, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
    }
}
