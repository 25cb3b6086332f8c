//! Work benchmark of many short messages from many senders, received in the reverse order of their tags: counts the
//! device's work per message.
#![forbid(unsafe_code)]

use std::fmt;

use midplane_device::envelope::{MatchPattern, Rank};
use midplane_device::memory::{MODEL_KEYS, Span, UserMemory};
use midplane_device::request::{RequestId, SendMode};
use midplane_device::send::SendTo;
use midplane_device::{Adi, DeviceConfig, DeviceMemory};
use midplane_engines::EngineChoice;
use msg_layer::fake::StrictPort;
use net_torus::Shape;

use crate::sim::net::{FifoCapacity, OrderRules, PacketNetwork};

/// Parameters: every rank but 0 sends messages of tags 1 to N by MPI_Isend, all before the first receive; rank 0
/// receives them one by one, by source, in the reverse order of their tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloodLoad {
    /// Number of senders, at least 1.
    pub senders: u32,
    /// Messages of each sender.
    pub messages: u32,
    /// Message size in bytes, at least 4.
    pub bytes: usize,
    /// MPI memory of rank 0 in bytes.
    pub mpi_memory: usize,
    /// Matching engine of all nodes.
    pub matching: EngineChoice,
}

/// Work of all devices together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TotalWork {
    /// Messages received.
    pub messages: u64,
    /// Packets received from the network.
    pub packets: u64,
    /// RTSs (requests to send) sent.
    pub rts: u64,
    /// NCTSs (no clear to send) sent.
    pub ncts: u64,
    /// Restarts (resend requests) sent.
    pub restarts: u64,
    /// Entries of queues and tables searched linearly.
    pub searched: SearchCounts,
    /// Peak MPI memory of rank 0 in bytes.
    pub peak_bytes: usize,
}

impl TotalWork {
    /// Returns all steps: packets handled and entries searched.
    pub fn steps(&self) -> u64 {
        self.packets + self.searched.all()
    }
}

/// Entries searched, by the reason. The first two are the matching engine's hops.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SearchCounts {
    /// Unexpected messages, by starting receives.
    pub unexpected: u64,
    /// Posted receives, by arriving messages.
    pub posted: u64,
    /// Posted receives, by restarts that list them.
    pub named: u64,
    /// Peers, for the receiver's pending replies and restarts.
    pub peers: u64,
    /// Sends in progress, by the senders.
    pub sends: u64,
}

impl SearchCounts {
    /// Returns the matching engine's part.
    pub fn matching(&self) -> u64 {
        self.unexpected + self.posted
    }

    /// Returns the total ([`Adi::search_steps`]).
    pub fn all(&self) -> u64 {
        self.matching() + self.named + self.peers + self.sends
    }
}

/// Reason for a failed run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloodError {
    /// The machine is too large, or a message too short.
    Size,
    /// Deadlock: nothing moves.
    Stuck {
        /// Messages received until then.
        received: u64,
    },
    /// Wrong data.
    Wrong {
        /// Its source.
        source: u32,
        /// Its tag.
        tag: i32,
    },
    /// More MPI memory was used than exists.
    Budget {
        /// Peak use in bytes.
        bytes: usize,
    },
}

impl fmt::Display for FloodError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FloodError::Size => f.write_str("at most 65535 senders, messages of at least 4 bytes"),
            FloodError::Stuck { received } => {
                write!(f, "nothing moves any more after {received} messages")
            }
            FloodError::Wrong { source, tag } => {
                write!(f, "wrong bytes from rank {source} with tag {tag}")
            }
            FloodError::Budget { bytes } => write!(f, "{bytes} bytes of MPI memory were used"),
        }
    }
}

impl std::error::Error for FloodError {}

/// A sender's messages contain their tags, as far as the model's keys encode them; the receiver uses one buffer.
struct TagMemory {
    received: [u8; 4],
}

impl UserMemory for TagMemory {
    fn read(&self, span: Span, offset: usize, out: &mut [u8]) {
        let word = (span.address() as u32).to_le_bytes();
        for (at, out) in (offset..).zip(out) {
            *out = word[at % 4];
        }
    }

    fn write(&mut self, _: Span, offset: usize, bytes: &[u8]) {
        for (at, &byte) in (offset..).zip(bytes) {
            self.received[at % 4] = byte;
        }
    }
}

fn key(tag: i32) -> usize {
    tag as usize % MODEL_KEYS
}

/// Packets that a node receives and injects in one step.
const BURST: usize = 8;

struct FloodRun {
    devices: Vec<Adi>,
    net: PacketNetwork,
    words: TagMemory,
    /// By node: whether it may have work.
    busy: Vec<bool>,
    /// Hops of starting receives.
    started_hops: u64,
}

impl FloodLoad {
    /// Runs the benchmark.
    pub fn run(&self) -> Result<TotalWork, FloodError> {
        let mut run = self.begin()?;
        self.send(&mut run);
        let mut received = 0;
        for tag in (1..=self.messages as i32).rev() {
            for source in 1..=self.senders {
                self.receive(&mut run, source, tag)
                    .ok_or(FloodError::Stuck { received })?;
                received += 1;
                if run.words.received != (key(tag) as u32).to_le_bytes() {
                    return Err(FloodError::Wrong { source, tag });
                }
            }
        }
        let work = run.work(received);
        match work.peak_bytes {
            bytes if bytes > self.mpi_memory => Err(FloodError::Budget { bytes }),
            _ => Ok(work),
        }
    }

    fn begin(&self) -> Result<FloodRun, FloodError> {
        let nodes = self.senders as usize + 1;
        let extent = u16::try_from(nodes).map_err(|_| FloodError::Size)?;
        // Any shape with this number of nodes is sufficient for the network.
        let extents = (1..=256)
            .rev()
            .find(|&x| extent.is_multiple_of(x) && extent / x <= 256)
            .map(|x| [x, extent / x, 1]);
        let shape = extents
            .and_then(|extents| Shape::new(extents, [true; 3]))
            .filter(|_| self.bytes >= 4)
            .ok_or(FloodError::Size)?;
        let capacity = FifoCapacity {
            injection: 2 * BURST,
            reception: 2 * BURST,
        };
        let kind = self.matching.kind();
        let device = |rank| {
            let config = DeviceConfig {
                shape,
                rank: Rank::new(rank),
                request_slots: usize::MAX,
            };
            let mpi_memory = if rank == 0 { self.mpi_memory } else { 0 };
            let memory = DeviceMemory::with_engine(&kind, mpi_memory, nodes).expect("the host's memory");
            Adi::new(config, memory).expect("a rank of the machine")
        };
        Ok(FloodRun {
            devices: (0..shape.nodes()).map(device).collect(),
            net: PacketNetwork::new(shape, capacity, OrderRules { data: true }),
            words: TagMemory { received: [0; 4] },
            busy: vec![true; nodes],
            started_hops: 0,
        })
    }

    fn send(&self, run: &mut FloodRun) {
        for adi in &mut run.devices[1..] {
            for tag in 1..=self.messages as i32 {
                let to = SendTo {
                    dest: Rank::new(0),
                    tag,
                    context: 0,
                    mode: SendMode::Standard,
                };
                adi.isend(&mut run.words, to, Span::model(key(tag), self.bytes))
                    .expect("the host's memory");
            }
        }
    }

    /// Receives one message; returns `None` if nothing moves any more.
    fn receive(&self, run: &mut FloodRun, source: u32, tag: i32) -> Option<()> {
        let pattern = MatchPattern::new(Some(Rank::new(source)), Some(tag), 0);
        let span = Span::model(0, self.bytes);
        let before = run.devices[0].matching().traversals;
        let id = run.devices[0]
            .irecv(&mut run.words, pattern, span)
            .expect("the host's memory");
        run.started_hops += run.devices[0].matching().traversals - before;
        run.busy[0] = true;
        run.wait(id)
    }
}

impl FloodRun {
    /// Runs until rank 0 has received the message; returns `None` if nothing moves any more.
    fn wait(&mut self, id: RequestId) -> Option<()> {
        loop {
            if self.devices[0].test(id).is_some() {
                return Some(());
            }
            let mut moved = false;
            for (node, adi) in self.devices.iter_mut().enumerate() {
                if self.busy[node] || self.net.has_arrived(node) {
                    let mut face = StrictPort::new(self.net.face(node, BURST, BURST));
                    self.busy[node] = adi.progress(&mut face, &mut self.words);
                    moved |= self.busy[node];
                }
            }
            // A delivery frees injection slots of a blocked node.
            if !self.net.deliver_all() && !moved {
                return None;
            }
        }
    }

    fn work(&self, messages: u64) -> TotalWork {
        let mut work = TotalWork {
            messages,
            peak_bytes: self.devices[0].region().peak_bytes(),
            ..TotalWork::default()
        };
        for adi in &self.devices {
            let stats = adi.stats();
            work.packets += stats.layer.requests + stats.layer.answers;
            work.rts += stats.rts_sent;
            work.ncts += stats.ncts_sent;
            work.restarts += stats.restarts_sent;
        }
        let [receiver, senders @ ..] = &self.devices[..] else {
            unreachable!("a flood without a receiver")
        };
        let (matching, named) = (receiver.matching().traversals, receiver.stats().named);
        work.searched = SearchCounts {
            unexpected: self.started_hops,
            posted: matching - self.started_hops,
            named,
            peers: receiver.search_steps() - matching - named,
            sends: senders.iter().map(Adi::search_steps).sum(),
        };
        work
    }
}
