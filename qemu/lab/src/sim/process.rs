//! One rank of a job: its device, its buffers and the state of its program.
#![forbid(unsafe_code)]

use midplane_device::envelope::{MatchPattern, Rank};
use midplane_device::memory::Span;
use midplane_device::recv::ProbedMessage;
use midplane_device::request::RequestId;
use midplane_device::rma::rules::AllEpochRules;
use midplane_device::send::SendTo;
use midplane_device::{Adi, OutOfMemory};
use midplane_objects::Error;

use super::check::{ReceiveResult, Violation};
use super::collective::CollectivesInFlight;
use super::memory::NodeBuffers;
use super::op::RankOp;
use super::program::RankPrograms;
use super::setup::ProgramHeaps;
use crate::epochs::script::{self, CallScript};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LiveRequest {
    id: RequestId,
    span: Span,
}

/// One rank: its device, its buffers and the state of its program.
pub(super) struct RankProcess<'a> {
    pub(super) rank: Rank,
    pub(super) program: &'a RankPrograms,
    pub(super) adi: Adi,
    pub(super) buffers: NodeBuffers,
    pub(super) at: usize,
    /// Within an operation of several steps.
    begun: bool,
    computing: u32,
    polls: u64,
    /// Number of times that an interrupt advanced a collective.
    pub(super) meanwhile: u64,
    /// Sends and receives in progress.
    sends: Vec<(u32, LiveRequest)>,
    receives: Vec<(u32, LiveRequest)>,
    pub(super) collectives: CollectivesInFlight,
    /// Its calls for windows.
    windows: CallScript,
    /// Matched probe whose message is not received yet.
    held: Option<(RequestId, ProbedMessage)>,
    /// A cancelled receive without a message that is not complete yet.
    nothing: Option<LiveRequest>,
    calls: u64,
    /// An injected fault: its collectives have no sequence numbers.
    numbers_alike: bool,
    pub(super) heap: &'a dyn ProgramHeaps,
    /// The error of the last attempt to start the operation at `at`.
    pub(super) short: Option<Error>,
}

pub(super) struct JobRecords {
    pub(super) got: Vec<Option<ReceiveResult>>,
    pub(super) sent: Vec<u64>,
}

/// Result of an operation in one turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OpProgress {
    /// It is complete.
    Done,
    /// It made progress.
    Advanced,
    /// It made no progress.
    Unchanged,
}

impl OpProgress {
    fn done(done: bool) -> OpProgress {
        if done { OpProgress::Done } else { OpProgress::Unchanged }
    }

    fn begun(begun: bool) -> OpProgress {
        if begun {
            OpProgress::Advanced
        } else {
            OpProgress::Unchanged
        }
    }
}

impl<'a> RankProcess<'a> {
    pub(super) fn new(
        rank: Rank,
        program: &'a RankPrograms,
        adi: Adi,
        heap: &'a dyn ProgramHeaps,
        numbers_alike: bool,
    ) -> RankProcess<'a> {
        let mut adi = adi;
        let here = rank.index();
        let calls = program.windows.scripts.get(here as usize).cloned();
        let calls = calls.unwrap_or_default();
        if !calls.is_empty() {
            let (size, windows) = (program.ops.len() as u32, &program.windows);
            let (count, reorder) = (windows.count, windows.reorder);
            let all = script::windows(here, size, count, AllEpochRules, reorder);
            adi.set_one_sided(Box::new(all));
        }
        RankProcess {
            rank,
            program,
            adi,
            buffers: NodeBuffers::with_windows(program.windows.count),
            at: 0,
            begun: false,
            computing: 0,
            polls: 0,
            meanwhile: 0,
            sends: Vec::new(),
            receives: Vec::new(),
            collectives: CollectivesInFlight::default(),
            windows: CallScript::new(calls),
            held: None,
            nothing: None,
            calls: 0,
            numbers_alike,
            heap,
            short: None,
        }
    }

    /// Handles a poll of the node, by a call or by an interrupt handler. The interrupt handler, which advances
    /// collectives, runs every second time and while its program computes.
    pub(super) fn polled(&mut self) -> bool {
        self.polls += 1;
        let moved = match self.computing {
            0 if self.polls.is_multiple_of(2) => 0,
            _ => self.collectives.advance_in_interrupt(&mut self.adi, &mut self.buffers),
        };
        self.meanwhile += moved;
        moved > 0
    }

    /// Runs one step of the program, and returns whether it made progress.
    pub(super) fn step(&mut self, records: &mut JobRecords) -> Result<bool, Violation> {
        let moved = self.step_in_windows()?;
        Ok(self.step_aside(records)? || moved)
    }

    /// Runs the next call for windows, if possible.
    fn step_in_windows(&mut self) -> Result<bool, Violation> {
        let rank = self.rank;
        let (windows, buffers, heap) = (&mut self.windows, &mut self.buffers, self.heap);
        let step = self.adi.with_one_sided(|all| windows.step(all, buffers, heap));
        let step = step.unwrap_or(Ok(false));
        step.map_err(|what| Violation::Buffer { rank, what })
    }

    /// Returns the operation that failed for lack of memory, and its error. A window call counts as the current
    /// operation.
    pub(super) fn short(&self) -> Option<(usize, Error)> {
        let in_windows = self.windows.is_short();
        let in_windows = in_windows.then_some(Error::NoSpace { bytes: 0 });
        Some((self.at, self.short.or(in_windows)?))
    }

    /// Returns the operation that the program waits for, if it has not ended.
    pub(super) fn stuck(&self) -> Option<Violation> {
        let (rank, at) = (self.rank, self.at);
        if let Some(op) = self.program.ops[rank.index() as usize].get(at) {
            let op = op.clone();
            return Some(Violation::Stuck { rank, at, op });
        }
        let (at, _) = self.windows.place();
        (!self.windows.is_finished()).then_some(Violation::Waits { rank, at })
    }

    /// Returns the byte at this address of its windows and their buffers.
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.buffers.in_windows(at)
    }

    /// Checks that nothing is open, deferred or awaited in its windows.
    pub(super) fn is_idle_in_windows(&mut self) -> bool {
        let is_idle = self.adi.with_one_sided(script::is_idle);
        is_idle.unwrap_or(true)
    }

    /// Runs the next call that does not use windows.
    fn step_aside(&mut self, records: &mut JobRecords) -> Result<bool, Violation> {
        if self.computing > 0 {
            self.computing -= 1;
            return Ok(true);
        }
        let Some(op) = self.program.ops[self.rank.index() as usize].get(self.at) else {
            return Ok(false);
        };
        self.short = None;
        // Any call advances collectives.
        let (adi, memory) = (&mut self.adi, &mut self.buffers);
        let moved = self.collectives.advance_collectives(adi, memory, self.program)?;
        let turn = self.perform(op, records)?;
        if turn == OpProgress::Done {
            self.at += 1;
            self.begun = false;
        }
        Ok(moved || turn != OpProgress::Unchanged)
    }

    fn perform(&mut self, op: &RankOp, records: &mut JobRecords) -> Result<OpProgress, Violation> {
        let done = match *op {
            RankOp::Send(message) => self.send(message, records)?,
            RankOp::CancelSend(message) => return self.cancel_send(message, records),
            RankOp::Receive(receive) => {
                let pattern = self.program.receives[receive as usize].pattern;
                self.receive(receive, pattern, None, records)?
            }
            RankOp::ProbeReceive(receive) => self.probe_receive(receive, records)?,
            RankOp::MatchedReceive(receive, turns) => {
                return self.matched_receive(receive, turns, records);
            }
            RankOp::CancelReceive(receive) => return self.cancel_receive(receive, records),
            RankOp::PollReceive(receive, turns) => {
                return self.poll_receive(receive, turns, records);
            }
            RankOp::WaitSend(message) => {
                self.test_sends(|m| m == message);
                self.sends.iter().all(|&(m, _)| m != message)
            }
            RankOp::WaitReceive(receive) => {
                self.test_receives(records, |r| r == receive);
                self.receives.iter().all(|&(r, _)| r != receive)
            }
            RankOp::Collective(at) => self.start_collective(at)?,
            RankOp::WaitCollective(at) => !self.collectives.has(at),
            RankOp::WaitAll => return Ok(self.wait_all(records)),
            RankOp::TestAll => {
                self.test_sends(|_| true);
                self.test_receives(records, |_| true);
                true
            }
            RankOp::Probe(pattern) => {
                self.probe(pattern)?;
                self.short.is_none()
            }
            RankOp::CancelUnmatched(pattern) => return self.cancel_nothing(pattern),
            RankOp::Compute(turns) => {
                self.computing = turns;
                true
            }
        };
        Ok(OpProgress::done(done))
    }

    fn cancel_send(&mut self, message: u32, records: &mut JobRecords) -> Result<OpProgress, Violation> {
        if self.begun {
            return self.wait_cancelled(message, records).map(OpProgress::done);
        }
        self.begun = self.send(message, records)?;
        if let (true, Some(&(_, live))) = (self.begun, self.sends.last()) {
            self.adi.cancel(live.id);
        }
        Ok(OpProgress::begun(self.begun))
    }

    fn cancel_receive(&mut self, receive: u32, records: &mut JobRecords) -> Result<OpProgress, Violation> {
        if self.begun {
            return self.cancel_or_keep(receive, records).map(OpProgress::done);
        }
        let pattern = self.program.receives[receive as usize].pattern;
        self.begun = self.receive(receive, pattern, None, records)?;
        Ok(OpProgress::begun(self.begun))
    }

    fn wait_all(&mut self, records: &mut JobRecords) -> OpProgress {
        let left = |process: &Self| process.sends.len() + process.receives.len();
        let before = left(self);
        self.test_sends(|_| true);
        self.test_receives(records, |_| true);
        match left(self) + self.collectives.len() {
            0 => OpProgress::Done,
            _ => OpProgress::begun(left(self) < before),
        }
    }

    fn start_collective(&mut self, at: u32) -> Result<bool, Violation> {
        let number = if self.numbers_alike {
            0
        } else {
            self.program.collectives[at as usize].number
        };
        let (adi, memory) = (&mut self.adi, &mut self.buffers);
        let started = self.collectives.start(adi, memory, self.program, at, number, self.heap);
        match started {
            Ok(()) => Ok(true),
            Err(Error::NoMemory(what)) => self.called::<()>(Err(what)).map(|_| false),
            Err(error @ Error::NoSpace { .. }) => {
                self.short = Some(error);
                Ok(false)
            }
            Err(error) => Err(Violation::Collective {
                rank: self.rank,
                at,
                what: error.to_string(),
            }),
        }
    }

    fn cancel_nothing(&mut self, pattern: MatchPattern) -> Result<OpProgress, Violation> {
        let is_new = self.nothing.is_none();
        let live = match self.nothing {
            Some(live) => live,
            None => match self.start_receive(pattern, 1)? {
                Some(live) => live,
                None => return Ok(OpProgress::Unchanged),
            },
        };
        self.nothing = Some(live);
        self.adi.cancel(live.id);
        let Some(outcome) = self.adi.test(live.id) else {
            return Ok(OpProgress::begun(is_new));
        };
        self.nothing = None;
        self.buffers.give_back(live.span);
        if outcome.cancelled {
            Ok(OpProgress::Done)
        } else {
            Err(Violation::Cancel { rank: self.rank })
        }
    }

    /// Posts a receive and cancels it some turns later, until it has received a message.
    fn poll_receive(&mut self, receive: u32, turns: u32, records: &mut JobRecords) -> Result<OpProgress, Violation> {
        let posted = self.receives.last().copied();
        let Some((_, LiveRequest { id, span })) = posted.filter(|(last, _)| self.begun && *last == receive) else {
            let pattern = self.program.receives[receive as usize].pattern;
            self.begun = self.receive(receive, pattern, None, records)?;
            self.computing = if self.begun { turns } else { 0 };
            return Ok(OpProgress::begun(self.begun));
        };
        self.adi.cancel(id);
        match self.adi.completed_outcome(id) {
            None => Ok(OpProgress::Unchanged),
            Some(outcome) if outcome.cancelled => {
                self.adi.test(id);
                self.receives.pop();
                self.buffers.give_back(span);
                self.begun = false;
                Ok(OpProgress::Advanced)
            }
            Some(_) => Ok(OpProgress::Done),
        }
    }

    /// Records a call's result; returns `None` when the call failed for lack of memory and must be repeated.
    fn called<T>(&mut self, result: Result<T, OutOfMemory>) -> Result<Option<T>, Violation> {
        let what = match result {
            Ok(value) => return Ok(Some(value)),
            Err(what) => what,
        };
        let live = (self.sends.len() + self.receives.len()) as u32 + self.collectives.messages();
        let is_right = match what {
            OutOfMemory::Requests { live: said } => said == live,
            OutOfMemory::ProbeRecord => true,
            OutOfMemory::Start { .. } => false,
        };
        self.short = Some(what.into());
        if is_right {
            Ok(None)
        } else {
            Err(Violation::Misnamed {
                rank: self.rank,
                live,
                what,
            })
        }
    }

    fn send(&mut self, number: u32, records: &mut JobRecords) -> Result<bool, Violation> {
        let message = &self.program.messages[number as usize];
        let span = self.buffers.send(number, message.len);
        let to = SendTo {
            dest: message.dest,
            tag: message.envelope.tag,
            context: message.envelope.context,
            mode: message.mode,
        };
        self.heap.enter(self.rank);
        let result = self.adi.isend(&mut self.buffers, to, span);
        self.heap.exit(self.rank);
        let Some(id) = self.called(result)? else {
            self.buffers.give_back(span);
            return Ok(false);
        };
        self.calls += 1;
        records.sent[number as usize] = self.calls;
        self.sends.push((number, LiveRequest { id, span }));
        Ok(true)
    }

    /// Waits for the send just cancelled; sends it again if the cancel succeeded.
    fn wait_cancelled(&mut self, number: u32, records: &mut JobRecords) -> Result<bool, Violation> {
        // After an unsuccessful attempt to send it again, it is not in `sends`.
        let cancelled = match self.sends.last() {
            Some(&(last, LiveRequest { id, span })) if last == number => {
                let Some(outcome) = self.adi.test(id) else {
                    return Ok(false);
                };
                self.sends.pop();
                self.buffers.give_back(span);
                outcome.cancelled
            }
            _ => true,
        };
        if cancelled {
            return self.send(number, records);
        }
        Ok(true)
    }

    fn start_receive(&mut self, pattern: MatchPattern, capacity: usize) -> Result<Option<LiveRequest>, Violation> {
        let span = self.buffers.receive(capacity);
        self.heap.enter(self.rank);
        let result = self.adi.irecv(&mut self.buffers, pattern, span);
        self.heap.exit(self.rank);
        let id = self.called(result)?;
        if id.is_none() {
            self.buffers.give_back(span);
        }
        Ok(id.map(|id| LiveRequest { id, span }))
    }

    fn receive(
        &mut self,
        number: u32,
        pattern: MatchPattern,
        probed: Option<ProbedMessage>,
        records: &mut JobRecords,
    ) -> Result<bool, Violation> {
        let capacity = self.program.receives[number as usize].capacity;
        let Some(live) = self.start_receive(pattern, capacity)? else {
            return Ok(false);
        };
        self.note_receive(number, live, pattern, probed, records);
        Ok(true)
    }

    fn note_receive(
        &mut self,
        number: u32,
        live: LiveRequest,
        pattern: MatchPattern,
        probed: Option<ProbedMessage>,
        records: &mut JobRecords,
    ) {
        self.calls += 1;
        records.got[number as usize] = Some(ReceiveResult {
            posted: self.calls,
            pattern,
            outcome: None,
            bytes: Vec::new(),
            probed,
        });
        self.receives.push((number, live));
    }

    fn probe(&mut self, pattern: MatchPattern) -> Result<Option<ProbedMessage>, Violation> {
        self.heap.enter(self.rank);
        let result = self.adi.iprobe(pattern);
        self.heap.exit(self.rank);
        match self.called(result)?.flatten() {
            Some(found) if !pattern.matches(&found.envelope) => Err(Violation::Probe {
                rank: self.rank,
                pattern,
                found,
            }),
            found => Ok(found),
        }
    }

    fn probe_receive(&mut self, number: u32, records: &mut JobRecords) -> Result<bool, Violation> {
        let pattern = self.program.receives[number as usize].pattern;
        let Some(found) = self.probe(pattern)? else {
            return Ok(false);
        };
        let exact = MatchPattern::new(
            Some(found.envelope.source),
            Some(found.envelope.tag),
            found.envelope.context,
        );
        self.receive(number, exact, Some(found), records)
    }

    /// Matches a message by a matched probe, and receives it after the given number of compute turns.
    fn matched_receive(&mut self, number: u32, turns: u32, records: &mut JobRecords) -> Result<OpProgress, Violation> {
        let pattern = self.program.receives[number as usize].pattern;
        let Some((id, found)) = self.held else {
            self.heap.enter(self.rank);
            let result = self.adi.improbe(&mut self.buffers, pattern);
            self.heap.exit(self.rank);
            self.held = self.called(result)?.flatten();
            self.computing = self.held.map_or(0, |_| turns);
            return Ok(OpProgress::begun(self.held.is_some()));
        };
        self.held = None;
        if !pattern.matches(&found.envelope) || self.adi.held_message(id) != Some(found) {
            return Err(Violation::Probe {
                rank: self.rank,
                pattern,
                found,
            });
        }
        let capacity = self.program.receives[number as usize].capacity;
        let span = self.buffers.receive(capacity);
        self.adi.mrecv(&mut self.buffers, id, span);
        self.note_receive(number, LiveRequest { id, span }, pattern, Some(found), records);
        Ok(OpProgress::Done)
    }

    /// Handles an allocation or a free of the program: `spare` blocks can be loaned now.
    pub(super) fn change_heap(&mut self, spare: u32) {
        let spare = spare.saturating_sub(self.buffers.lent());
        let more = spare > self.buffers.spare();
        self.buffers.set_spare(spare);
        if more {
            self.adi.heap_freed(&self.buffers);
        }
    }

    /// Cancels the receive just posted, and waits for it; posts it again if the cancel succeeded.
    fn cancel_or_keep(&mut self, number: u32, records: &mut JobRecords) -> Result<bool, Violation> {
        let pattern = self.program.receives[number as usize].pattern;
        // After an unsuccessful attempt to post it again, it is not in `receives`.
        if let Some(&(last, LiveRequest { id, span })) = self.receives.last()
            && last == number
        {
            self.adi.cancel(id);
            match self.adi.completed_outcome(id) {
                None => return Ok(false),
                Some(outcome) if !outcome.cancelled => return Ok(true),
                Some(_) => {}
            }
            self.adi.test(id);
            self.receives.pop();
            self.buffers.give_back(span);
        }
        // The slot just freed is available for the next receive.
        self.receive(number, pattern, None, records)
    }

    fn test_sends(&mut self, which: impl Fn(u32) -> bool) {
        let RankProcess {
            adi, buffers, sends, ..
        } = self;
        sends.retain(|&(number, live)| {
            let done = which(number) && adi.test(live.id).is_some();
            if done {
                buffers.give_back(live.span);
            }
            !done
        });
    }

    fn test_receives(&mut self, records: &mut JobRecords, which: impl Fn(u32) -> bool) {
        let RankProcess {
            adi, buffers, receives, ..
        } = self;
        receives.retain(|&(number, live)| {
            let Some(outcome) = which(number).then(|| adi.test(live.id)).flatten() else {
                return true;
            };
            let bytes = buffers.give_back(live.span);
            let got = records.got[number as usize].as_mut().expect("noted when it was posted");
            *got = ReceiveResult {
                outcome: Some(outcome),
                bytes,
                ..got.clone()
            };
            false
        });
    }
}
