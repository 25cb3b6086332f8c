//! Draws a setting and a sequence of operations from a seed.
#![forbid(unsafe_code)]

use midplane_cluster::random::{Random, RandomStream};
use midplane_device::Context;
use midplane_device::envelope::{Envelope, MatchPattern, Rank};
use midplane_device::request::CHUNK_SLOTS;

use super::op::{MatchingOp, OpSetting};

/// A sequence of operations, and their setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpSequence {
    /// Setting of the operations.
    pub setting: OpSetting,
    /// The operations.
    pub ops: Vec<MatchingOp>,
}

impl OpSequence {
    /// Draws the sequence of this seed, of at most about 20,000 operations.
    pub fn draw(seed: u64) -> OpSequence {
        let mut draw = SequenceDraw::new(Random::new(seed, RandomStream::Matching));
        draw.begin();
        for _ in 0..=draw.random.below(3) {
            draw.phase();
        }
        OpSequence {
            setting: draw.setting,
            ops: draw.ops,
        }
    }
}

const BLOCKS: [u32; 8] = [0, 1, 2, 5, 24, 100, 1000, 9000];
const PEERS: [u32; 8] = [1, 2, 5, 16, 64, 300, 5000, 70_000];
/// Strides of ranks and of tags: large ones collide in a table that uses some of their bits.
const RANK_STEPS: [u32; 4] = [1, 1, 16, 1024];
const TAG_STEPS: [u32; 4] = [1, 1, 4096, 1 << 20];
const TAGS: [u32; 5] = [1, 2, 5, 40, 2000];
/// Possible contexts: those of a job's start, others, and the maximum one.
const CONTEXTS: [Context; 10] = [0, 1, 2, 3, 4, 5, 17, 100, 4095, Context::MAX];
const PARTS: [f64; 4] = [0.0, 0.1, 0.5, 1.0];
/// Number of entries that a phase adds to a queue: usually small.
const FILLS: [u32; 8] = [4, 10, 10, 30, 30, 100, 400, 3000];

struct SequenceDraw {
    random: Random,
    setting: OpSetting,
    ops: Vec<MatchingOp>,
    contexts: Vec<Context>,
    ranks: u32,
    rank_step: u32,
    tags: u32,
    tag_step: u32,
    any_source: f64,
    any_tag: f64,
    /// Share of records with a buffer.
    buffered: f64,
    lends: bool,
}

/// Order in which a phase empties its queue.
#[derive(Clone, Copy)]
enum DrainOrder {
    Forward,
    Reverse,
    Random,
}

impl SequenceDraw {
    fn new(mut random: Random) -> Self {
        let peers = random.pick(&PEERS);
        let rank_step = random.pick(&RANK_STEPS).min(peers);
        let slots = if random.chance(0.1) {
            CHUNK_SLOTS as u32 * (1 + random.below(3))
        } else {
            u32::MAX
        };
        let setting = OpSetting {
            blocks: random.pick(&BLOCKS),
            peers,
            slots,
            seed: random.bits(),
        };
        let mut contexts = CONTEXTS;
        random.shuffle(&mut contexts);
        let used = 1 + random.index(contexts.len() / 2);
        let most = (peers / rank_step).max(1);
        SequenceDraw {
            setting,
            ops: Vec::new(),
            contexts: contexts[..used].to_vec(),
            ranks: random.pick(&[1, 3, most, most]).min(most),
            rank_step,
            tags: random.pick(&TAGS),
            tag_step: random.pick(&TAG_STEPS),
            any_source: random.pick(&PARTS),
            any_tag: random.pick(&PARTS),
            buffered: random.pick(&PARTS),
            lends: random.chance(0.3),
            random,
        }
    }

    /// Opens most contexts before their use.
    fn begin(&mut self) {
        for context in self.contexts.clone() {
            if self.random.chance(0.8) {
                self.ops.push(MatchingOp::Open(context));
            }
        }
        if self.lends {
            let blocks = self.random.below(2000);
            self.ops.push(MatchingOp::Spare(blocks));
        }
    }

    fn phase(&mut self) {
        let count = self.random.pick(&FILLS);
        match self.random.below(3) {
            0 => {
                for _ in 0..2 * count {
                    let op = self.any_op();
                    self.ops.push(op);
                }
            }
            1 => self.fill_with_receives(count),
            _ => self.fill_with_messages(count),
        }
    }

    fn rank(&mut self) -> u32 {
        self.random.below(self.ranks) * self.rank_step
    }

    fn tag(&mut self) -> i32 {
        // Includes the maximum tag.
        let tag = self.random.below(self.tags) * self.tag_step;
        if self.random.chance(0.01) {
            i32::MAX
        } else {
            tag as i32 & i32::MAX
        }
    }

    fn context(&mut self) -> Context {
        self.random.pick(&self.contexts)
    }

    fn envelope(&mut self) -> Envelope {
        Envelope {
            source: Rank::new(self.rank()),
            tag: self.tag(),
            context: self.context(),
        }
    }

    /// Returns a pattern that matches this envelope, and possibly others.
    fn widened(&mut self, envelope: Envelope) -> MatchPattern {
        let source = (!self.random.chance(self.any_source)).then_some(envelope.source);
        let tag = (!self.random.chance(self.any_tag)).then_some(envelope.tag);
        MatchPattern::new(source, tag, envelope.context)
    }

    fn receive(&mut self, pattern: MatchPattern) -> MatchingOp {
        MatchingOp::Receive {
            pattern,
            bound: self.random.chance(0.2),
        }
    }

    fn message(&mut self, envelope: Envelope) -> MatchingOp {
        let bytes = self.random.pick(&[0, 1, 32, 33, 200]);
        MatchingOp::Message {
            envelope,
            buffer: self.random.chance(self.buffered).then_some(bytes),
        }
    }

    fn any_op(&mut self) -> MatchingOp {
        let envelope = self.envelope();
        let pattern = self.widened(envelope);
        match self.random.below(100) {
            0..30 => self.receive(pattern),
            30..60 => self.message(envelope),
            60..63 => MatchingOp::Offer(envelope),
            63..68 => MatchingOp::Probe(pattern),
            68..74 => MatchingOp::Take(pattern),
            74..80 => MatchingOp::Finish(self.random.below(1 << 20)),
            80..86 => MatchingOp::Cancel(self.random.below(1 << 20)),
            86..90 => MatchingOp::Withdraw(self.random.below(1 << 20)),
            90..92 => MatchingOp::Forget(envelope.source.index()),
            92..95 => MatchingOp::Open(envelope.context),
            95..98 => MatchingOp::Retire(envelope.context),
            _ if self.lends => MatchingOp::Spare(self.random.below(500)),
            _ => MatchingOp::Retire(envelope.context),
        }
    }

    /// Posts receives, then adds the messages for them, mixed with other operations.
    fn fill_with_receives(&mut self, count: u32) {
        let mut envelopes: Vec<Envelope> = (0..count).map(|_| self.envelope()).collect();
        for &envelope in &envelopes {
            let pattern = self.widened(envelope);
            let op = self.receive(pattern);
            self.ops.push(op);
        }
        self.arrange(&mut envelopes);
        for envelope in envelopes {
            let op = if self.random.chance(0.05) {
                self.any_op()
            } else {
                self.message(envelope)
            };
            self.ops.push(op);
        }
    }

    /// Records messages, then adds the receives for them, mixed with other operations.
    fn fill_with_messages(&mut self, count: u32) {
        let mut envelopes: Vec<Envelope> = (0..count).map(|_| self.envelope()).collect();
        for &envelope in &envelopes {
            let op = self.message(envelope);
            self.ops.push(op);
        }
        self.arrange(&mut envelopes);
        for envelope in envelopes {
            let pattern = self.widened(envelope);
            let op = match self.random.below(20) {
                0 => self.any_op(),
                1 => MatchingOp::Take(pattern),
                2 => MatchingOp::Finish(0),
                _ => self.receive(pattern),
            };
            self.ops.push(op);
        }
    }

    fn arrange(&mut self, envelopes: &mut [Envelope]) {
        match self
            .random
            .pick(&[DrainOrder::Forward, DrainOrder::Reverse, DrainOrder::Random])
        {
            DrainOrder::Forward => {}
            DrainOrder::Reverse => envelopes.reverse(),
            DrainOrder::Random => self.random.shuffle(envelopes),
        }
    }
}
