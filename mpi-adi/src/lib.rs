//! The MPI device (ADI): matching in fixed memory and the short-memory protocol.
//!
//! ```text
//!              isend                                              irecv, iprobe
//!                |                                                      |
//!   requests  pending send queue --- RTS --->  on_rts  <---  posted receive queue
//!   (heap)       |  ^   |                        |           unexpected message queue
//!                |  |   +-- CTS, NCTSD, NCTS <---+                      |
//!                |  +------ resendAll <---------- peers (ages, bits)    |
//!                v                                                      v
//!             transfers --- DATA ------------> on_data ---> user's buffer or MPI memory (region)
//! ```
//! * [`protocol`]: the decisions, pure, with the table; read it first.
//! * [`send`] and [`recv`]: the two sides, each with the program's calls and the packets' handlers.
//! * [`light`], [`pending`], [`matching`], [`request`], [`region`], [`peers`], [`probe`]: what they work on.
//! * [`call`]: blocking calls over all this, for the bindings.
//!
//! # Memory
//! | what | grows with | where | bound |
//! |---|---|---|---|
//! | unexpected records and their buffers | incoming traffic | the region | `--mpi-memory`, fixed at start |
//! | answers | incoming traffic | the network's priority FIFO; the peer table for resendAll | constant |
//! | peer table | the job | 2.5 bytes a process, at start | constant |
//! | requests, pending send queues | the program's own calls | the program's heap | the node's RAM; an error when used up |
//! | light sends | nothing | the device itself | [`light::LIGHTS`] of [`light::LIGHT_BYTES`] bytes |
//! | armed probes | the program's own probes, at most [`probe::ARMED_PROBES`] | the program's heap | as above |
//!
//! The core ([`protocol`], [`pending`], [`matching`], [`region`], [`peers`], [`send`], [`recv`]) does no I/O, reads no
//! clock, and allocates only where the program makes a call; handlers, which may run from an interrupt,
//! never do.
#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

extern crate alloc;

pub mod api;
#[cfg(feature = "bare")]
pub mod bare;
pub mod barrier;
pub mod buffered;
#[allow(unsafe_code)]
pub mod c;
pub mod call;
mod cart;
pub mod coll;
pub mod comm;
pub mod datatype;
pub mod envelope;
pub mod error;
mod group;
pub mod kernel;
#[allow(unsafe_code)]
pub mod lend;
pub mod light;
pub mod list;
pub mod matching;
#[allow(unsafe_code)]
pub mod memory;
pub mod op;
pub mod peers;
pub mod pending;
pub mod probe;
pub mod protocol;
pub mod recv;
pub mod region;
pub mod request;
#[cfg(test)]
mod script;
pub mod send;
pub mod split;
pub mod wire;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use msg_layer::{Handlers, Port};
use net_torus::coord::{Coord, Shape};

use crate::envelope::Rank;
use crate::light::Lights;
use crate::list::List;
use crate::matching::Matching;
use crate::memory::UserMemory;
use crate::peers::{Ages, Peers};
use crate::pending::Pending;
use crate::probe::Probes;
use crate::protocol::Rules;
use crate::region::{BLOCK_BYTES, Blocks, Region};
use crate::request::{KEPT_SLOTS, MAX_SLOTS, RequestId, RequestPool, State};

pub use crate::api::{Mpi, Source, TagSelector};
pub use crate::comm::{Communicator, Status};
pub use crate::datatype::Datatype;
pub use crate::envelope::{Context, Tag};
pub use crate::error::{Class, Error};
pub use crate::lend::{RecvRequest, Scope, SendRequest};
pub use crate::op::Op;
pub use crate::split::OwnedCommunicator;

/// The least MPI memory in bytes with which a job runs: one unexpected record.
pub const LEAST_MPI_MEMORY: usize = BLOCK_BYTES;
/// The greatest MPI memory in bytes: what a record's name has room for.
pub const GREATEST_MPI_MEMORY: usize = BLOCK_BYTES * region::MAX_BLOCKS;
/// Packets that one step of [`Adi::progress`] takes out of the network, and the most it puts in.
pub const STEP_PACKETS: usize = 32;
/// Greatest message in bytes whose data follows its RTS without waiting for the answer, when
/// [`Adi::set_eager_limit`] does not say otherwise.
pub const DEFAULT_EAGER_LIMIT: usize = 8192;
/// The highest such limit: a message that leaves eagerly holds up the offers behind it.
pub const GREATEST_EAGER_LIMIT: usize = 64 << 10;
/// Sources to which an answer may be late at the same time.
pub const LATE_SOURCES: usize = 4;
/// Messages of one source that share an answer, at most; fewer than there are light sends, so that the sender
/// need not wait for an answer that is late.
pub const SHARED_ANSWER: u8 = 16;
const _: () = assert!((SHARED_ANSWER as usize) < light::LIGHTS);
/// Sources whose eager data a receiver takes at the same time; that of others is asked for once more.
pub const EAGER_SOURCES: usize = 16;
/// Data packets that one transfer sends before the next one has its turn.
const TURN_PACKETS: usize = 8;

/// Memory is used up: what for, and how much there was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoMemory {
    /// The program's heap has no room for another request; so many were live.
    Requests {
        /// Live requests.
        live: u32,
    },
    /// The program's heap has no room for what is kept of a probe that found nothing.
    ProbeRecord,
    /// The node's memory cannot hold the MPI memory and the peer table.
    Start {
        /// Bytes asked for.
        bytes: usize,
    },
}

/// What the device is built from; the caller hands it in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    reserve: Blocks,
    ages: Box<[Ages]>,
    bits: Box<[u8]>,
}

/// What [`Memory::allocate`] takes from the heap, term by term, in bytes. Nothing else that the device has
/// grows with incoming messages or with the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// The region for unexpected messages, in whole blocks.
    pub region: usize,
    /// The bit map of its blocks.
    pub map: usize,
    /// The table of peers.
    pub peers: usize,
}

impl Budget {
    /// The budget of a device with `mpi_memory` bytes of MPI memory in a job of `peers` processes.
    pub const fn of(mpi_memory: usize, peers: usize) -> Budget {
        let blocks = Self::blocks(mpi_memory);
        Budget {
            region: blocks * BLOCK_BYTES,
            map: Blocks::map_words(blocks) * size_of::<usize>(),
            peers: Peers::bytes(peers),
        }
    }

    const fn blocks(mpi_memory: usize) -> usize {
        let blocks = mpi_memory / BLOCK_BYTES;
        if blocks < region::MAX_BLOCKS {
            blocks
        } else {
            region::MAX_BLOCKS
        }
    }

    /// The sum.
    pub const fn total(&self) -> usize {
        self.region + self.map + self.peers
    }
}

impl Memory {
    /// Takes `mpi_memory` bytes (rounded down to whole blocks of 32) and the table of `peers` peers from
    /// the heap: the sum is [`Budget::total`].
    pub fn allocate(mpi_memory: usize, peers: usize) -> Result<Memory, NoMemory> {
        let blocks = Budget::blocks(mpi_memory);
        let none = NoMemory::Start {
            bytes: Budget::of(mpi_memory, peers).total(),
        };
        Ok(Memory {
            reserve: Blocks::new(
                boxed([0; BLOCK_BYTES], blocks).ok_or(none)?,
                boxed(0, Blocks::map_words(blocks)).ok_or(none)?,
            ),
            ages: boxed(Ages::default(), peers).ok_or(none)?,
            bits: boxed(0, Peers::bit_bytes(peers)).ok_or(none)?,
        })
    }
}

/// `count` values from the heap; `None` when it has no room.
pub fn boxed<T: Clone>(value: T, count: usize) -> Option<Box<[T]>> {
    let mut items = Vec::new();
    items.try_reserve_exact(count).ok()?;
    items.resize(count, value);
    Some(items.into_boxed_slice())
}

/// Who the device is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The machine.
    pub shape: Shape,
    /// This process's number.
    pub rank: Rank,
    /// Greatest number of request slots (see [`request::MAX_SLOTS`]); the heap usually ends sooner.
    pub request_slots: usize,
}

/// What the device has done, in messages unless said otherwise.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Stats {
    /// Sends started by the program.
    pub messages_sent: u64,
    /// Receives completed.
    pub messages_received: u64,
    /// RTS sent, offers made again included.
    pub rts_sent: u64,
    /// RTS received.
    pub rts_received: u64,
    /// CTS sent, those that share a packet counted each.
    pub cts_sent: u64,
    /// CTS received, those that share a packet counted each.
    pub cts_received: u64,
    /// Of the CTS sent, those that have left with another answer or with an RTS.
    pub cts_merged: u64,
    /// NCTSD sent.
    pub nctsd_sent: u64,
    /// NCTSD received.
    pub nctsd_received: u64,
    /// NCTS sent.
    pub ncts_sent: u64,
    /// NCTS received.
    pub ncts_received: u64,
    /// resendAll sent.
    pub resend_all_sent: u64,
    /// resendAll received.
    pub resend_all_received: u64,
    /// DONE sent: notices that asked for nothing that was there.
    pub done_sent: u64,
    /// Posted receives looked at for notices.
    pub named: u64,
    /// Packets that contradict themselves or the device's state; discarded.
    pub malformed: u64,
    /// Messages whose data was sent eagerly, right behind their RTS.
    pub eager_sent: u64,
    /// Packets of eager data that were dropped because the message was refused or had no place for them;
    /// the sender sends what is wanted again.
    pub eager_dropped: u64,
    /// What the message layer counted.
    pub layer: msg_layer::Stats,
}

/// The device of one process.
#[derive(Clone, Debug)]
pub struct Adi {
    shape: Shape,
    here: Coord,
    rank: Rank,
    requests: RequestPool,
    region: Region,
    peers: Peers,
    matching: Matching,
    pending: Pending,
    /// Sends whose data is leaving.
    transfers: List,
    /// The send whose data is leaving eagerly.
    stream: Option<send::Stream>,
    /// Messages whose data is coming eagerly.
    coming: heapless::Vec<recv::Coming, EAGER_SOURCES>,
    /// Greatest message in bytes that is sent eagerly.
    eager_limit: usize,
    /// Short messages that do not wait for their answers.
    lights: Lights,
    /// Answers for which nobody waits.
    late: heapless::Vec<recv::Late, LATE_SOURCES>,
    /// Held sends that the program wants back, whose receivers are still to be asked.
    cancels: List,
    /// Receives whose CTS is still to be sent.
    owing: List,
    /// Posted receives from one source that a notice has still to name.
    unnamed: List,
    /// Posted receives from any source that every notice names, since some source waited when they were
    /// posted.
    wild: List,
    /// Serial number of the next posted receive.
    posts: u32,
    probes: Probes,
    barrier: barrier::Barrier,
    /// The network can send along lines.
    has_lines: bool,
    /// The context of the next communicator that the program makes.
    next_context: Context,
    stats: Stats,
    #[cfg(feature = "variants")]
    rules: Rules,
}

/// All that the device's behaviour depends on, so that a model checker knows a state again: neither who it
/// is, nor what it has counted, nor how finished requests ended, nor the names of sends.
impl Hash for Adi {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let lights = &self.lights;
        self.requests.hash(lights, state);
        self.region.hash(state);
        self.peers.hash(state);
        self.matching.hash(&self.region, state);
        self.pending.hash(&self.requests, state);
        for sends in [&self.transfers, &self.cancels] {
            self.requests.hash_queue(sends.head(), lights, state);
        }
        if let Some(stream) = &self.stream {
            self.requests.at(stream.slot).hash(lights, state);
            stream.transfer.offset.hash(state);
        }
        self.coming.hash(state);
        lights.hash(state);
        self.late.hash(state);
        for receives in [&self.owing, &self.unnamed, &self.wild] {
            receives.hash(state);
        }
        self.probes.hash(state);
        self.barrier.hash(state);
    }
}

/// What a handler works on: the device and the program's memory.
struct Handling<'a, M: ?Sized> {
    adi: &'a mut Adi,
    memory: &'a mut M,
}

impl<M: UserMemory + ?Sized> Handling<'_, M> {
    const HANDLERS: Handlers<Self> = Handlers::new()
        .request(wire::RTS, recv::on_rts::<M>)
        .request(wire::DATA, recv::on_data::<M>)
        .request(wire::EAGER, recv::on_eager::<M>)
        .request(wire::DONE, recv::on_done::<M>)
        .answer(wire::CTS, send::on_cts::<M>)
        .answer(wire::NCTSD, send::on_nctsd::<M>)
        .answer(wire::NCTS, send::on_ncts::<M>)
        .answer(wire::RESEND_ALL, send::on_resend_all::<M>)
        .request(wire::CANCEL, recv::on_cancel::<M>)
        .answer(wire::CANCELLED, send::on_cancelled::<M>)
        .answer(wire::ARRIVE, barrier::on_arrive::<M>)
        .answer(wire::RELEASE, barrier::on_release::<M>);
}

/// How a finished request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Receive: who sent the message.
    pub source: Rank,
    /// Receive: its tag.
    pub tag: Tag,
    /// Receive: bytes received, at most the buffer's.
    pub bytes: usize,
    /// Receive: the message was longer than the buffer (MPI_ERR_TRUNCATE); only its beginning was kept.
    pub truncated: bool,
    /// Receive: cancelled before a message matched.
    pub cancelled: bool,
}

impl Adi {
    /// The device of process `config.rank`, over `memory`; `None` when there is no such process or the
    /// memory is for another number of peers.
    pub fn new(config: Config, memory: Memory) -> Option<Adi> {
        let here = config.shape.coord(config.rank)?;
        if memory.ages.len() != config.shape.nodes() as usize {
            return None;
        }
        let mut adi = Adi {
            shape: config.shape,
            here,
            rank: config.rank,
            requests: RequestPool::new(config.request_slots.min(MAX_SLOTS)),
            region: Region::new(memory.reserve),
            peers: Peers::new(memory.ages, memory.bits),
            matching: Matching::default(),
            pending: Pending::default(),
            transfers: List::default(),
            stream: None,
            coming: heapless::Vec::new(),
            eager_limit: DEFAULT_EAGER_LIMIT,
            lights: Lights::new(),
            late: heapless::Vec::new(),
            cancels: List::default(),
            owing: List::default(),
            unnamed: List::default(),
            wild: List::default(),
            posts: 0,
            probes: Probes::default(),
            barrier: barrier::Barrier::default(),
            has_lines: false,
            next_context: comm::FIRST_MADE_CONTEXT,
            stats: Stats::default(),
            #[cfg(feature = "variants")]
            rules: Rules::SOUND,
        };
        // For calls that block, from the first one on. Without it they fail sooner; that is all.
        let _ = adi.requests.grow(KEPT_SLOTS);
        let _ = adi.pending.reserve(KEPT_SLOTS as usize);
        let _ = adi.probes.reserve();
        Some(adi)
    }

    /// Sets the greatest message in bytes that is sent eagerly, at most [`GREATEST_EAGER_LIMIT`]; what fits
    /// an RTS ([`wire::INLINE_BYTES`]) always travels in it.
    pub fn set_eager_limit(&mut self, bytes: usize) {
        self.eager_limit = bytes.min(GREATEST_EAGER_LIMIT);
    }

    /// Breaks rules of the protocol.
    #[cfg(feature = "variants")]
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// The ages of `peer`, for the model checker, which knows that only their differences matter.
    #[cfg(feature = "variants")]
    pub fn ages_mut(&mut self, peer: Rank) -> &mut peers::Ages {
        self.peers.ages_mut(peer)
    }

    #[cfg(feature = "variants")]
    fn rules(&self) -> Rules {
        self.rules
    }

    #[cfg(not(feature = "variants"))]
    const fn rules(&self) -> Rules {
        Rules::SOUND
    }

    /// This process's number.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Number of processes.
    pub fn size(&self) -> u32 {
        self.shape.nodes()
    }

    /// The machine.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// This node's place.
    pub fn here(&self) -> Coord {
        self.here
    }

    /// What the device has done.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The MPI memory, for its measures.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Entries of queues and tables that have been looked at one after the other, by everything that has to
    /// search: what the device's work grows with beside messages and packets.
    pub fn searched(&self) -> u64 {
        self.matching.traversals() + self.pending.steps() + self.peers.steps() + self.stats.named
    }

    /// The request pool, for its measures.
    pub fn requests(&self) -> &RequestPool {
        &self.requests
    }

    /// The matching queues, for their measures.
    pub fn matching(&self) -> &Matching {
        &self.matching
    }

    /// Nothing is under way that this process has yet to send.
    pub fn is_quiet(&self) -> bool {
        self.pending.destinations() == 0
            && self.transfers.is_empty()
            && self.stream.is_none()
            && self.owing.is_empty()
            && self.cancels.is_empty()
            && self.lights.is_empty()
            && self.late.is_empty()
            && self.peers.owed() == 0
    }

    /// One bounded step: at most [`STEP_PACKETS`] packets from the network to their handlers, at most as
    /// many of our own into it. Does not block and does not allocate. True when anything was done.
    pub fn progress<P: Port, M: UserMemory + ?Sized>(
        &mut self,
        port: &mut P,
        memory: &mut M,
    ) -> bool {
        // Debts first: a flood of offers, each answered at once, must not use up all the room.
        let owed = self.send_owed(port, memory);
        let here = self.here;
        let mut layer = self.stats.layer;
        let mut context = Handling { adi: self, memory };
        let taken = msg_layer::progress(
            port,
            here,
            &Handling::HANDLERS,
            &mut context,
            &mut layer,
            STEP_PACKETS,
        );
        self.stats.layer = layer;
        let answered = self.send_owed(port, memory) + self.send_barrier(port);
        let sent = self.send_pending(port, memory);
        // What has just come is likely to be followed by more, or by something of ours that they can go with.
        let late = if taken == 0 { self.send_late(port) } else { 0 };
        owed + taken + answered + late + sent > 0
    }

    /// If the request has finished, frees it and says how it ended. `None`: not finished.
    ///
    /// # Panics
    /// When `id` names no request: the bindings check that first ([`Adi::knows`]).
    pub fn test(&mut self, id: RequestId) -> Option<Outcome> {
        self.requests.conclude(id)
    }

    /// As [`Adi::test`], but leaves the request as it is.
    ///
    /// # Panics
    /// As [`Adi::test`].
    pub fn peek(&self, id: RequestId) -> Option<Outcome> {
        self.requests.get(id).expect("a live request").outcome()
    }

    /// Nobody will ask how the request ended: frees it, now or when it has finished. One that is not there
    /// any more is left at that.
    pub fn forget(&mut self, id: RequestId) {
        self.requests.forget(id);
    }

    /// The request has finished, or there is none of that name.
    pub fn is_done(&self, id: RequestId) -> bool {
        self.requests
            .get(id)
            .is_none_or(|request| matches!(request.state, State::Done { .. }))
    }

    /// There is a request of that name.
    pub fn knows(&self, id: RequestId) -> bool {
        self.requests.get(id).is_some()
    }

    /// The request in `slot` has finished; the caller names the slot no more after that.
    #[inline]
    fn finish(&mut self, slot: u32, cancelled: bool) {
        if let Some(light) = self.requests.finish(slot, cancelled) {
            self.lights.free(light);
        }
    }
}
