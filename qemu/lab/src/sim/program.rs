//! Random legal MPI programs, which complete with any buffering of the device, even with none.
//!
//! # Legality
//! All starts and waits of all ranks are in one global order, and each rank executes its own part of it. A wait follows
//! the starts that its completion requires: that of a receive with a given source and of its message, after both. With
//! wildcard sources, the wait for the n-th receive follows the n-th send, and the waits for the sends follow the last
//! receive. A blocking call is a wait right after its start. Hence every wait that is reached can be satisfied by
//! starts that every rank reaches without it.
//!
//! # Matching
//! Receives with a given source match in one way only, independent of timing (MPI-3.1 section 3.5). [`match_in_order`]
//! computes it, and the program specifies the message of each of them. For wildcard receives the checker decides
//! whether their messages are legal.

use midplane_cluster::random::{Random, RandomStream};
use midplane_device::envelope::{Context, Envelope, MatchPattern, Rank, Tag};
use midplane_device::request::SendMode;

use super::collectives::{self, CollectiveCall};
use super::op::{OpEvent, RankOp};
use crate::epochs::random::WindowJob;

/// A message, identified by its index in [`RankPrograms::messages`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramMessage {
    /// Its sender, tag and context.
    pub envelope: Envelope,
    /// Its receiver.
    pub dest: Rank,
    /// Length in bytes.
    pub len: usize,
    /// Standard or synchronous.
    pub mode: SendMode,
}

/// A receive, identified by its index in [`RankPrograms::receives`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramReceive {
    /// Rank of the receiver.
    pub rank: Rank,
    /// Pattern to match.
    pub pattern: MatchPattern,
    /// Size of the buffer in bytes; a longer message is truncated.
    pub capacity: usize,
    /// The required message, where it does not depend on timing.
    pub must: Option<u32>,
}

/// Parameters of a random program.
#[derive(Clone, PartialEq, Debug)]
pub struct ProgramPlan {
    /// Number of ranks.
    pub ranks: u32,
    /// Number of messages.
    pub messages: usize,
    /// Number of different tags.
    pub tags: i32,
    /// Sizes in bytes that messages are drawn from.
    pub sizes: Vec<usize>,
    /// Share of the receives from any source.
    pub any_source: f64,
    /// Share of the other receives with any tag.
    pub any_tag: f64,
    /// Share of the messages that are sent in synchronous mode.
    pub synchronous: f64,
    /// Share of the receives that probe first, and share that are cancelled and repeated.
    pub probing: f64,
    /// Share of polled receives among those whose start may wait: cancelled and repeated until a message is received.
    pub polling: f64,
    /// Share of the sends that are cancelled and repeated.
    pub cancelling: f64,
    /// Whether independent operations (probes, cancelled receives, tests) are mixed in.
    pub noise: bool,
    /// Share of the waits that immediately follow their start, where that is legal.
    pub blocking: f64,
    /// Order of receives relative to sends.
    pub shape: ReceiveOrder,
}

/// Order of receives relative to sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiveOrder {
    /// Random.
    Random,
    /// Every receive after every send, in reverse: the killer.
    Reverse,
    /// Every receive after every send, in order.
    Late,
    /// Every receive right after its send, like blocking programs.
    Lockstep,
}

/// Minimum sizes at which the behaviour changes: nothing, one byte, the maximum payload of an RTS (request to send),
/// one more, one packet, two.
pub const BORDERS: [usize; 10] = [0, 1, 31, 32, 33, 224, 225, 232, 464, 465];

/// Contexts in which receives specify their source, and in which they do not (with a tag, without).
const NAMED: [Context; 2] = [0, 1];
const ANY_SOURCE: Context = 2;
const ANY_AT_ALL: Context = 3;
/// A context without messages.
const UNUSED: Context = 9;

/// Seeds with this bit draw jobs with polled receives.
pub const POLLING: u64 = 1 << 63;

impl ProgramPlan {
    /// Draws a plan from `seed`.
    pub fn draw(seed: u64) -> ProgramPlan {
        let mut random = Random::new(seed, RandomStream::Plan);
        let r = &mut random;
        let ranks = r.pick(&[2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 1]);
        let messages = r.pick(&[2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 40, 100]);
        let sizes = match r.below(8) {
            0 => vec![8],
            1 => vec![0],
            2 => vec![225, 600],
            3 => vec![5000, 0, 40],
            4 if messages <= 8 => vec![65_536, 1],
            _ => BORDERS.to_vec(),
        };
        let some = [0.0, 0.0, 0.2, 0.5, 1.0];
        ProgramPlan {
            ranks,
            messages,
            tags: r.pick(&[1, 1, 2, 3, 8, 40]),
            sizes,
            any_source: r.pick(&some),
            any_tag: r.pick(&some),
            synchronous: r.pick(&[0.0, 0.0, 0.2, 1.0]),
            probing: r.pick(&[0.0, 0.0, 0.0, 0.3, 1.0]),
            polling: match seed & POLLING {
                0 => 0.0,
                _ => Random::new(seed, RandomStream::Polls).pick(&[0.3, 1.0]),
            },
            cancelling: r.pick(&[0.0, 0.0, 0.0, 0.3, 1.0]),
            noise: r.chance(0.3),
            blocking: r.pick(&some),
            shape: r.pick(&[
                ReceiveOrder::Random,
                ReceiveOrder::Random,
                ReceiveOrder::Reverse,
                ReceiveOrder::Late,
                ReceiveOrder::Lockstep,
            ]),
        }
    }
}

/// The program of every rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankPrograms {
    /// All messages.
    pub messages: Vec<ProgramMessage>,
    /// All receives; as many as messages.
    pub receives: Vec<ProgramReceive>,
    /// All collectives; those of one communicator are in the order of their sequence numbers.
    pub collectives: Vec<CollectiveCall>,
    /// Operations, by rank.
    pub ops: Vec<Vec<RankOp>>,
    /// Concurrent operations on windows.
    pub windows: WindowJob,
}

/// Returns the message that each receive matches when all `messages` of one source and context are available in order
/// and `receives` are posted in order, or `None` when one of them matches none.
pub fn match_in_order(messages: &[Envelope], receives: &[MatchPattern]) -> Option<Vec<usize>> {
    let mut taken = vec![false; messages.len()];
    receives
        .iter()
        .map(|pattern| {
            let at = (0..messages.len()).find(|&at| !taken[at] && pattern.matches(&messages[at]))?;
            taken[at] = true;
            Some(at)
        })
        .collect()
}

impl ProgramPlan {
    fn all_ranks(&self) -> impl Iterator<Item = Rank> + use<> {
        (0..self.ranks).map(Rank::new)
    }

    fn draw_rank(&self, random: &mut Random) -> Rank {
        Rank::new(random.below(self.ranks))
    }
}

impl RankPrograms {
    /// Draws a legal program from `plan` and `seed`.
    pub fn draw(plan: &ProgramPlan, seed: u64) -> RankPrograms {
        ProgramDraw::new(plan, seed).program()
    }
}

const STEP: f64 = 1e-9;
/// One job in this many uses windows, and one uses larger ones.
const WITH_WINDOWS: u64 = 3;

struct ProgramDraw<'a> {
    plan: &'a ProgramPlan,
    seed: u64,
    random: Random,
    polls: Random,
    messages: Vec<ProgramMessage>,
    sent: Vec<f64>,
    receives: Vec<ProgramReceive>,
    posted: Vec<f64>,
    events: Vec<OpEvent>,
}

impl<'a> ProgramDraw<'a> {
    fn new(plan: &'a ProgramPlan, seed: u64) -> Self {
        ProgramDraw {
            plan,
            seed,
            random: Random::new(seed, RandomStream::Program),
            polls: Random::new(seed, RandomStream::Polls),
            messages: Vec::new(),
            sent: Vec::new(),
            receives: Vec::new(),
            posted: Vec::new(),
            events: Vec::new(),
        }
    }

    fn program(mut self) -> RankPrograms {
        self.draw_messages();
        self.draw_receives();
        for context in NAMED {
            for source in self.plan.all_ranks() {
                for dest in self.plan.all_ranks() {
                    self.match_named(context, source, dest);
                }
            }
        }
        for dest in self.plan.all_ranks() {
            for tag in 0..self.plan.tags {
                self.match_any(|m| m.dest == dest && m.envelope.context == ANY_SOURCE && m.envelope.tag == tag);
            }
            self.match_any(|m| m.dest == dest && m.envelope.context == ANY_AT_ALL);
        }
        if self.plan.noise {
            self.draw_noise();
        }
        self.finish()
    }

    fn draw_messages(&mut self) {
        let plan = self.plan;
        let r = &mut self.random;
        // Sometimes all ranks send to one.
        let sink = r.chance(0.4).then(|| plan.draw_rank(r));
        for _ in 0..plan.messages {
            let context = if r.chance(plan.any_source) {
                r.pick(&[ANY_SOURCE, ANY_AT_ALL])
            } else {
                r.pick(&NAMED)
            };
            let envelope = Envelope {
                source: plan.draw_rank(r),
                tag: r.below(plan.tags as u32) as Tag,
                context,
            };
            let mode = if r.chance(plan.synchronous) {
                SendMode::Synchronous
            } else {
                SendMode::Standard
            };
            let len = r.pick(&plan.sizes);
            let dest = sink.unwrap_or_else(|| plan.draw_rank(r));
            self.messages.push(ProgramMessage {
                envelope,
                dest,
                len,
                mode,
            });
            self.sent.push(r.part());
        }
        // The checker distinguishes messages by their first four bytes, or by their length.
        for at in 0..self.messages.len() {
            let (before, rest) = self.messages.split_at_mut(at);
            let message = &mut rest[0];
            let mistakable = |m: &ProgramMessage| {
                m.envelope == message.envelope && m.dest == message.dest && m.len == message.len && m.len < 4
            };
            if before.iter().any(mistakable) {
                message.len += 4;
            }
        }
    }

    fn draw_receives(&mut self) {
        let plan = self.plan;
        for (at, message) in self.messages.iter().enumerate() {
            let r = &mut self.random;
            let sent = self.sent[at];
            let mut posted = match plan.shape {
                ReceiveOrder::Random => r.part(),
                ReceiveOrder::Reverse => 2.0 - sent,
                ReceiveOrder::Late => 1.0 + sent,
                ReceiveOrder::Lockstep => sent + STEP,
            };
            if plan.shape != ReceiveOrder::Lockstep && r.chance(0.1) {
                posted = sent + STEP;
            }
            let Envelope { source, tag, context } = message.envelope;
            let pattern = MatchPattern::new(
                (context != ANY_SOURCE && context != ANY_AT_ALL).then_some(source),
                (context != ANY_AT_ALL).then_some(tag),
                context,
            );
            self.receives.push(ProgramReceive {
                rank: message.dest,
                pattern,
                capacity: 0,
                must: None,
            });
            self.posted.push(posted);
        }
    }

    /// Returns the indexes of the messages and receives (equal in number) selected by `belongs`, each sorted by time.
    fn group(&self, belongs: impl Fn(&ProgramMessage) -> bool) -> (Vec<usize>, Vec<usize>) {
        // A receive has the index of the message that it was created for, so it is in the same group.
        let mut sends: Vec<usize> = (0..self.messages.len())
            .filter(|&m| belongs(&self.messages[m]))
            .collect();
        let mut receives = sends.clone();
        sends.sort_by(|&a, &b| self.sent[a].total_cmp(&self.sent[b]));
        receives.sort_by(|&a, &b| self.posted[a].total_cmp(&self.posted[b]));
        (sends, receives)
    }

    fn match_named(&mut self, context: Context, source: Rank, dest: Rank) {
        let (sends, receives) =
            self.group(|m| m.dest == dest && m.envelope.context == context && m.envelope.source == source);
        let envelopes: Vec<Envelope> = sends.iter().map(|&m| self.messages[m].envelope).collect();
        let exact: Vec<MatchPattern> = receives.iter().map(|&r| self.receives[r].pattern).collect();
        let mut patterns = exact.clone();
        for pattern in &mut patterns {
            if self.random.chance(self.plan.any_tag) {
                *pattern = MatchPattern::new(pattern.source(), None, context);
            }
        }
        let matches = match match_in_order(&envelopes, &patterns) {
            Some(matches) => matches,
            None => {
                // A wildcard matched the message of a later receive; without wildcards every receive matches one.
                patterns = exact;
                match_in_order(&envelopes, &patterns).expect("a receive for each message")
            }
        };
        for ((&receive, pattern), at) in receives.iter().zip(patterns).zip(matches) {
            let message = sends[at];
            self.receives[receive].pattern = pattern;
            self.receives[receive].must = Some(message as u32);
            self.receives[receive].capacity = self.capacity(self.messages[message].len);
            let (sent, posted) = (self.sent[message], self.posted[receive]);
            let both = sent.max(posted);
            self.add_send(message, both);
            self.add_receive(receive, both, posted > sent);
        }
    }

    fn match_any(&mut self, belongs: impl Fn(&ProgramMessage) -> bool) {
        let (sends, receives) = self.group(belongs);
        let Some(&last) = receives.last() else { return };
        let longest = sends.iter().map(|&m| self.messages[m].len).max().unwrap_or(0);
        let last = self.posted[last];
        for (&message, &receive) in sends.iter().zip(&receives) {
            let (sent, posted) = (self.sent[message], self.posted[receive]);
            self.receives[receive].capacity = self.capacity(longest);
            self.add_send(message, sent.max(last));
            self.add_receive(receive, sent.max(posted), posted > sent);
        }
    }

    fn capacity(&mut self, longest: usize) -> usize {
        match self.random.below(10) {
            0 => longest + 100,
            // Too short by a little; at least the four bytes that the checker identifies messages by.
            1 if longest > 4 => 4 + self.random.index(longest - 4),
            _ => longest,
        }
    }

    fn wait(&mut self, start: f64, earliest: f64, rank: Rank, op: RankOp) {
        let r = &mut self.random;
        let time = if r.chance(self.plan.blocking) {
            earliest.max(start + STEP / 4.0)
        } else {
            match r.below(3) {
                0 => return, // Completed by the final MPI_Waitall.
                1 => earliest + STEP,
                _ => earliest + r.part(),
            }
        };
        self.events.push(OpEvent { time, rank, op });
    }

    fn add_send(&mut self, message: usize, earliest: f64) {
        let (rank, start) = (self.messages[message].envelope.source, self.sent[message]);
        let op = if self.random.chance(self.plan.cancelling) {
            RankOp::CancelSend(message as u32)
        } else {
            RankOp::Send(message as u32)
        };
        self.events.push(OpEvent { time: start, rank, op });
        self.wait(start, earliest + STEP / 2.0, rank, RankOp::WaitSend(message as u32));
    }

    /// Adds a receive. `can_block`: its start may wait for the message.
    fn add_receive(&mut self, receive: usize, earliest: f64, can_block: bool) {
        let (rank, start, number) = (self.receives[receive].rank, self.posted[receive], receive as u32);
        let op = if can_block && self.polls.chance(self.plan.polling) {
            RankOp::PollReceive(number, self.polls.pick(&[0, 0, 1, 3, 20]))
        } else if can_block && self.random.chance(self.plan.probing) {
            match self.random.below(10) {
                0..4 => RankOp::ProbeReceive(number),
                4..7 => RankOp::MatchedReceive(number, self.random.pick(&[0, 0, 1, 20])),
                _ => RankOp::CancelReceive(number),
            }
        } else {
            RankOp::Receive(number)
        };
        self.events.push(OpEvent { time: start, rank, op });
        self.wait(start, earliest + STEP / 2.0, rank, RankOp::WaitReceive(number));
    }

    fn draw_noise(&mut self) {
        for _ in 0..self.plan.messages {
            let r = &mut self.random;
            let pattern = MatchPattern::new(
                r.chance(0.5).then(|| self.plan.draw_rank(r)),
                r.chance(0.5).then(|| r.below(self.plan.tags as u32) as Tag),
                r.pick(&[NAMED[0], NAMED[1], ANY_SOURCE, ANY_AT_ALL]),
            );
            let op = match r.below(5) {
                0 | 1 => RankOp::Probe(pattern),
                2 => RankOp::CancelUnmatched(MatchPattern::new(pattern.source(), pattern.tag(), UNUSED)),
                3 => RankOp::TestAll,
                _ => RankOp::Compute(1 + r.below(29)),
            };
            self.events.push(OpEvent {
                time: r.part() * 2.0,
                rank: self.plan.draw_rank(r),
                op,
            });
        }
    }

    fn finish(mut self) -> RankPrograms {
        // The sort is stable; events at the same time are shuffled first, so that no order is preferred.
        self.random.shuffle(&mut self.events);
        self.events.sort_by(|a, b| a.time.total_cmp(&b.time));
        // Collectives are added without a change of the other events' order.
        let (collectives, more) = collectives::draw(self.plan.ranks, self.seed);
        self.events.extend(more);
        self.events.sort_by(|a, b| a.time.total_cmp(&b.time));
        let mut ops = vec![Vec::new(); self.plan.ranks as usize];
        for event in self.events {
            ops[event.rank.index() as usize].push(event.op);
        }
        ops.iter_mut().for_each(|ops| ops.push(RankOp::WaitAll));
        RankPrograms {
            messages: self.messages,
            receives: self.receives,
            collectives,
            ops,
            windows: match self.seed % WITH_WINDOWS {
                0 => WindowJob::draw(self.plan.ranks, self.seed),
                1 => WindowJob::draw_large(self.plan.ranks, self.seed),
                _ => WindowJob::none(),
            },
        }
    }
}
