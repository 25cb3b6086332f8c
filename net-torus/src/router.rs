//! Router: buffers, tokens (credits) and arbitration between six links, the injection FIFOs and the reception FIFOs.
//!
//! ```text
//!             inject()                                        head(), pop()
//!                |                                                 ^
//!   injection FIFOs: X+ X- Y+ Y- Z+ Z- self | priority      reception FIFOs
//!                |                                                 |
//!                +----------------> arbitration ------------------+
//!                                    ^       |
//!        link d: D0 D1 BN BP buffer -+       +-> link d (tokens of D0 D1 BN BP)
//! ```
//!
//! The router is sans-io: [`Router::receive_frame`] consumes frame bytes and [`Router::fill_frame`] produces them. It
//! never blocks, allocates or reads a clock. The work per call is bounded: at most the packets of one frame plus the
//! packets of the reception FIFOs.
//!
//! Each first direction uses its own normal injection FIFO, so that a packet for a busy link does not block one for an
//! idle link. The direction depends on the pair of nodes only: this preserves packet order.

mod credits;
#[cfg(any(test, feature = "sim"))]
mod prefetch;

pub use credits::LinkCredits;

use core::num::NonZero;

use crate::chunk::{CHUNK_BYTES, Chunk, MAX_QUEUE_PACKETS, PACKET_BYTES};
use crate::coord::{Coord, Direction, Rank, Shape};
use crate::profile::PACKET_CHUNKS;
use crate::queue::{self, Queue, QueueLayout};
use crate::route;
use crate::stats::{EventCounter, Stats};
use crate::vc::{self, ChannelGrants, ChannelTokens, GrantResult, Vc, needed_to_inject};
use crate::wire::{
    ChecksumFunctions, DirectionSet, FRAME_HEADER_BYTES, Fifo, FrameError, FrameRepr, HEADER_BYTES, HeaderWord, Packet,
    SUMS,
};

/// Minimum buffer of a bubble channel in packets; the bubble rule requires two.
pub const MIN_BUBBLE_PACKETS: u16 = 2;

/// Maximum number of priority packets that a link transmits in a row while normal packets wait.
const PRIORITY_BURST: u8 = 7;
/// Returns the initial tokens for the empty buffers.
// Not inlined: otherwise the compiler moves each queue and grant field by field into the new router.
#[inline(never)]
fn grants(queues: &[Queue; QUEUES]) -> [ChannelGrants; 6] {
    core::array::from_fn(|side| {
        let capacity = |vc: usize| queues[side * Vc::COUNT + vc].capacity();
        ChannelGrants::new(core::array::from_fn(capacity))
    })
}

/// Returns the maximum number of through packets that a link transmits in a row while injected packets wait. After that
/// many, an injected packet goes first if the buffer has free space to spare ([`needed_to_inject`]). The limit is four
/// times the mean distance of two nodes, minimum 64. Through traffic normally goes first. Otherwise an overloaded
/// network fills up until only its escape channel moves: 8 x 8 x 8 then carries 0.2 to 0.5 of the limit instead of
/// 0.97.
fn through_burst(shape: &Shape) -> u8 {
    let fourfold = shape.extents().into_iter().zip(shape.wraps());
    // The mean distance is a quarter of the extent around a ring and a third of it along a line.
    let packets: u32 = fourfold
        .map(|(extent, wraps)| extent as u32 * if wraps { 3 } else { 4 } / 3)
        .sum();
    packets.clamp(64, THROUGH_LIMIT as u32) as u8
}

/// Number of through packets in a row after which an injected packet goes as soon as it fits. The limit is finite:
/// otherwise a node in the middle of such traffic never transmits its packets.
pub(crate) const THROUGH_LIMIT: u8 = u8::MAX;

/// Number of injected packets in a row without through traffic after which they may use all of a link's dynamic
/// channels.
const ALONE: u8 = 8;

/// Maximum number of straight packets in a row on a bubble channel while others wait, which require space for two
/// packets.
const STRAIGHT_BURST: u8 = 8;
/// Number of send attempts that then hold back straight packets, so that space for the second packet can become free.
/// It may never become free while every node of a ring holds back, so the number is finite.
const HOLD: u8 = 64;

/// Number of packet sources, one bit each in a `u32`: 24 channel buffers (side x channel), seven normal injection FIFOs
/// (first direction or self) and the priority injection FIFO.
const SOURCES: usize = 32;
pub(crate) const INJECT: usize = 6 * Vc::COUNT;
pub(crate) const INJECT_SELF: usize = INJECT + 6;
pub(crate) const INJECT_PRIORITY: usize = INJECT + 7;
/// Index of the first reception FIFO in `Router::queues`, after the sources.
pub(crate) const RECEPTION: usize = SOURCES;
const QUEUES: usize = SOURCES + Fifo::ALL.len();
/// Sources of priority packets: the BP buffers and the priority injection FIFO.
const PRIORITY_SOURCES: u32 = 0x0088_8888 | 1 << INJECT_PRIORITY;
/// Sources of packets that were received over a link.
const THROUGH_SOURCES: u32 = (1 << INJECT) - 1;
/// Number of outputs: six links, then the two reception FIFOs.
const OUTPUTS: usize = 6 + Fifo::ALL.len();
pub(crate) const LOCAL: usize = 6;

/// Returns the packet layout of the queue with this index in `Router::queues`. The buffer of a bubble channel stores
/// packets in slots of the maximum size, as the tokens charge them.
const fn layout(queue: usize) -> QueueLayout {
    match queue {
        0..INJECT if Vc::ALL[queue % Vc::COUNT].is_bubble() => QueueLayout::Separate,
        0..INJECT => QueueLayout::Dense,
        _ => QueueLayout::Fifo,
    }
}

/// Returns the maximum packet size in chunks for the queue with this index.
const fn greatest(queue: usize) -> usize {
    match queue {
        0..INJECT => Vc::ALL[queue % Vc::COUNT].greatest(),
        INJECT_PRIORITY => Fifo::Priority.greatest(),
        INJECT..=RECEPTION => Fifo::Normal.greatest(),
        _ => Fifo::Priority.greatest(),
    }
}

/// Capacities of a router's buffers, in packets of the maximum size of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferSizes {
    /// Buffer of each dynamic channel behind each link; 0 disables them, and all packets use the bubble channels.
    pub dynamic: u16,
    /// Buffer of channel BN behind each link; minimum [`MIN_BUBBLE_PACKETS`].
    pub normal: u16,
    /// Buffer of channel BP behind each link; minimum [`MIN_BUBBLE_PACKETS`].
    pub priority: u16,
    /// Each of the seven normal injection FIFOs (one per first direction, one for self-sends).
    pub inject_normal: u16,
    /// Priority injection FIFO.
    pub inject_priority: u16,
    /// Normal reception FIFO.
    pub receive_normal: u16,
    /// Priority reception FIFO.
    pub receive_priority: u16,
}

impl BufferSizes {
    /// Minimum legal buffers, with one packet per dynamic channel.
    pub const SMALLEST: Self = Self {
        dynamic: 1,
        normal: MIN_BUBBLE_PACKETS,
        priority: MIN_BUBBLE_PACKETS,
        inject_normal: 1,
        inject_priority: 1,
        receive_normal: 1,
        receive_priority: 1,
    };

    /// Four packets per channel and direction: 1 KiB, as in Blue Gene/L ("Blue Gene/L torus, virtual channels"), whose
    /// packets contain up to 256 bytes. FIFOs use the same size.
    pub const BLUE_GENE: Self = Self {
        dynamic: 4,
        normal: 4,
        priority: 4,
        inject_normal: 4,
        inject_priority: 4,
        receive_normal: 4,
        receive_priority: 4,
    };

    /// Returns the packet memory in chunks that a router with these buffers requires.
    pub const fn chunks(&self) -> usize {
        let mut chunks = 0;
        let mut queue = 0;
        while queue < QUEUES {
            let (layout, packets, greatest) = self.plan(queue);
            chunks += layout.chunks_for(packets, greatest);
            queue += 1;
        }
        chunks
    }

    /// Returns the packet memory in chunks that [`Router::with_heads_only`] requires.
    #[cfg(any(test, feature = "sim"))]
    pub(crate) fn heads(&self, halvings: u32) -> usize {
        let of = |queue| queue::chunks_for_heads(self.packets(queue), greatest(queue), halvings);
        (0..QUEUES).map(of).sum()
    }

    /// Returns the capacity, in maximum-size packets, of the queue with this index in `Router::queues`.
    const fn packets(&self, queue: usize) -> u16 {
        match queue {
            0..INJECT => match Vc::ALL[queue % Vc::COUNT] {
                Vc::D0 | Vc::D1 => self.dynamic,
                Vc::Bn => self.normal,
                Vc::Bp => self.priority,
            },
            INJECT..=INJECT_SELF => self.inject_normal,
            INJECT_PRIORITY => self.inject_priority,
            RECEPTION => self.receive_normal,
            _ => self.receive_priority,
        }
    }

    /// Returns the layout of the queue with this index, its capacity in maximum-size packets, and their size in chunks.
    // Not inlined: one copy of the code serves all queues.
    #[inline(never)]
    const fn plan(&self, queue: usize) -> (QueueLayout, u16, usize) {
        (layout(queue), self.packets(queue), greatest(queue))
    }

    /// Checks that each buffer is within [`BufferSizes::SMALLEST`] (dynamic channels: 0) and [`MAX_QUEUE_PACKETS`].
    fn are_legal(&self) -> bool {
        let buffers = [
            (self.dynamic, 0),
            (self.normal, MIN_BUBBLE_PACKETS),
            (self.priority, MIN_BUBBLE_PACKETS),
            (self.inject_normal, 1),
            (self.inject_priority, 1),
            (self.receive_normal, 1),
            (self.receive_priority, 1),
        ];
        let is_legal = |&(packets, least)| (least..=MAX_QUEUE_PACKETS).contains(&packets);
        buffers.iter().all(is_legal)
    }

    /// Returns the total memory in bytes: the packet memory and the router's state.
    pub const fn bytes(&self) -> usize {
        self.chunks() * CHUNK_BYTES + size_of::<Router<'static>>()
    }
}

// The build checks the memory budgets.
const _: () = assert!(BufferSizes::SMALLEST.bytes() <= 24 * 1024);
const _: () = assert!(BufferSizes::BLUE_GENE.bytes() <= 48 * 1024);

/// Reason why a router cannot be created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConfigError {
    /// A buffer is smaller than [`BufferSizes::SMALLEST`] allows, or larger than [`MAX_QUEUE_PACKETS`].
    Size,
    /// The provided memory contains fewer than [`BufferSizes::chunks`] chunks.
    Memory,
    /// The node's coordinates are outside the torus.
    Outside,
    /// The links do not match the shape. The bits, by direction, specify the links that exist.
    Links(u8),
    /// A link's MTU is smaller than [`MIN_MTU`](crate::wire::MIN_MTU).
    Mtu,
}

impl core::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Size => f.write_str("a router buffer is too small or too large"),
            Self::Memory => f.write_str("too little memory for the router's buffers"),
            Self::Outside => f.write_str("own coordinates are outside the torus"),
            Self::Mtu => f.write_str("a link's greatest frame cannot hold the greatest packet"),
            Self::Links(bits) => write!(f, "links {bits:#08b} do not match the torus' shape"),
        }
    }
}

impl core::error::Error for ConfigError {}

/// Header fields of a source's oldest packet, cached so that arbitration reads no packet memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedHeader {
    pub word: HeaderWord,
    /// Remaining directions of the packet.
    pub left: DirectionSet,
    /// Outputs whose `want` mask contains the source.
    outputs: NonZero<u8>,
}

/// Router of one node. See the [module](self).
///
/// The field order serves cache locality. The fields that every arbitration reads are adjacent, between the fields of
/// the sources and those of the links; the counters are last. A simulator of many routers keeps few of them in a CPU's
/// caches.
#[repr(C)]
pub struct Router<'m> {
    pub(crate) heads: [Option<CachedHeader>; SOURCES],
    pub(crate) queues: [Queue; QUEUES],
    pub(crate) memory: &'m mut [Chunk],
    /// Mask, per output, of the sources whose oldest packet may use it.
    pub(crate) want: [u32; OUTPUTS],
    /// Choice of the last arbitration; nothing has changed since.
    chosen: Option<(Direction, ArbitrationResult)>,
    pub(crate) shape: Shape,
    pub(crate) here: Coord,
    links: DirectionSet,
    /// Header word ([`HeaderWord::to`]) with this node as the destination.
    pub(crate) place: HeaderWord,
    /// Route of the last injected packet; the next packet often uses the same one.
    pub(crate) way: NodeRoute,
    /// Hops of the last line packet per direction, and its header fields that others share.
    pub(crate) lines: [(u16, HeaderWord); 6],
    /// Mask of the injection FIFOs whose free space is below one maximum-size packet.
    pub(crate) tight: u8,
    /// Mask of the outputs that a source requests.
    wanted: u8,
    /// Mask of the sides that may owe their neighbour a token update. A clear bit means that no update is due.
    untold: u8,
    /// Directions in which the last arbitration found nothing to transmit, with no relevant change since.
    blocked: DirectionSet,
    /// Links without checksums.
    exact: DirectionSet,
    /// Checksum functions for the other links; `None` if all links are exact.
    sums: Option<&'static ChecksumFunctions>,
    /// Source that each output served last.
    pub(crate) last: [u8; OUTPUTS],
    /// Limit of [`Router::through_burst`].
    through_most: u8,
    /// First direction of [`Router::turns`].
    turn: u8,
    /// Mask of the sides whose tokens were released since [`Router::take_released`].
    #[cfg(any(test, feature = "sim"))]
    released: u8,
    /// Whether only packet heads are stored; see [`Router::with_heads_only`].
    #[cfg(any(test, feature = "sim"))]
    heads_only: bool,
    /// Priority packets sent in a row while normal ones waited, per direction.
    priority_burst: [u8; 6],
    /// Normal packets from other links sent in a row while injected ones waited, per direction.
    through_burst: [u8; 6],
    /// Injected normal packets sent since the last one from another link, per direction.
    injected_run: [u8; 6],
    /// Straight packets sent in a row while others waited, per direction and bubble channel.
    straight_burst: [[u8; 2]; 6],
    /// Attempts that held back straight packets, per direction and bubble channel.
    held: [[u8; 2]; 6],
    pub(crate) tokens: [[ChannelTokens; Vc::COUNT]; 6],
    /// Neighbour's grant counters from its last frame, per side.
    seen: [u64; 6],
    grants: [ChannelGrants; 6],
    #[cfg(test)]
    pub(crate) rules: RouterRules,
    /// Number of checks of a source or of a channel's tokens.
    #[cfg(test)]
    pub(crate) looks: core::cell::Cell<u64>,
    pub(crate) stats: Stats,
}

/// Round-robin iterator over the directions.
pub(crate) struct RoundRobin {
    first: u8,
    /// Number of directions already visited.
    open_frames: u8,
}

impl RoundRobin {
    /// Returns the next direction of the round that `these` contains. Skipped directions count as visited.
    #[inline]
    pub fn next_of(&mut self, these: DirectionSet) -> Option<Direction> {
        const ALL: u8 = Direction::ALL.len() as u8;
        let (bits, first) = (u16::from(these.bits()), self.first);
        let in_turn = (bits >> first | bits << (ALL - first)) & ((1 << ALL) - 1);
        let left = in_turn >> self.open_frames << self.open_frames;
        if left == 0 {
            return None;
        }
        let place = left.trailing_zeros() as u8;
        self.open_frames = place + 1;
        let d = first + place;
        Some(Direction::ALL[usize::from(if d < ALL { d } else { d - ALL })])
    }
}

/// Route to a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeRoute {
    pub dest: Coord,
    /// Index of the first output in dimension order.
    pub first: u8,
    /// Header fields that all packets to the node share.
    pub word: HeaderWord,
}

impl NodeRoute {
    pub fn new(dest: Coord, hints: DirectionSet) -> Self {
        Self {
            dest,
            first: route::dimension_order(hints).map_or(LOCAL, |d| d as usize) as u8,
            word: HeaderWord::to(dest, hints, false),
        }
    }
}

/// Result of arbitration: the source whose oldest packet is sent, and the channel that it uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ArbitrationResult {
    pub source: usize,
    pub vc: Vc,
}

/// Rules that tests disable, to prove that their checks can fail.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouterRules {
    /// Space for two packets is required to enter a bubble channel.
    pub bubble: bool,
    /// Dynamic packets may use the bubble channel.
    pub escape: bool,
}

#[cfg(test)]
impl RouterRules {
    /// All rules, as in production.
    pub const ALL: Self = Self {
        bubble: true,
        escape: true,
    };
}

impl<'m> Router<'m> {
    /// Creates a router for the node at `here` with buffers of `sizes` in `memory` ([`BufferSizes::chunks`] chunks). No link
    /// is exact until [`Router::set_exact`] specifies some.
    pub fn new(shape: Shape, here: Coord, sizes: BufferSizes, memory: &'m mut [Chunk]) -> Result<Self, ConfigError> {
        let mut router = Self::with_exact_links(shape, here, sizes, memory)?;
        router.set_exact(DirectionSet::NONE);
        Ok(router)
    }

    /// Creates a router like [`Router::new`], with all links [exact](crate::link::Link::is_exact) until
    /// [`Router::set_exact`] changes that.
    pub fn with_exact_links(
        shape: Shape,
        here: Coord,
        sizes: BufferSizes,
        memory: &'m mut [Chunk],
    ) -> Result<Self, ConfigError> {
        Self::with_queues(shape, here, sizes, sizes.chunks(), memory, Queue::new)
    }

    /// Creates a router for a simulator that reads only the first chunk of each packet. The minimum packet is
    /// 2^`halvings` chunks. Only the first chunk is moved and stored ([`BufferSizes::heads`]), a frame contains that of one
    /// packet at most, and the channel counters are disabled.
    #[cfg(any(test, feature = "sim"))]
    pub(crate) fn with_heads_only(
        shape: Shape,
        here: Coord,
        sizes: BufferSizes,
        halvings: u32,
        memory: &'m mut [Chunk],
    ) -> Result<Self, ConfigError> {
        let queue =
            |layout, packets, greatest, at: &mut usize| Queue::with_heads_only(layout, packets, greatest, halvings, at);
        let chunks = sizes.heads(halvings);
        let mut router = Self::with_queues(shape, here, sizes, chunks, memory, queue)?;
        router.set_exact(DirectionSet::NONE);
        router.heads_only = true;
        Ok(router)
    }

    /// Creates a router whose queues, created by `queue`, use `chunks` chunks of memory.
    #[inline]
    fn with_queues(
        shape: Shape,
        here: Coord,
        sizes: BufferSizes,
        chunks: usize,
        memory: &'m mut [Chunk],
        queue: impl Fn(QueueLayout, u16, usize, &mut usize) -> Queue,
    ) -> Result<Self, ConfigError> {
        if !sizes.are_legal() {
            return Err(ConfigError::Size);
        }
        if memory.len() < chunks {
            return Err(ConfigError::Memory);
        }
        if shape.rank(here).is_none() {
            return Err(ConfigError::Outside);
        }
        let mut at = 0;
        let queues = core::array::from_fn(|i| {
            let (layout, packets, greatest) = sizes.plan(i);
            queue(layout, packets, greatest, &mut at)
        });
        Ok(Self::at_rest(shape, here, memory, queues))
    }

    /// Returns an empty router whose links are exact.
    // Not inlined: the router is created in place. A caller would move it there field by field.
    #[inline(never)]
    fn at_rest(shape: Shape, here: Coord, memory: &'m mut [Chunk], queues: [Queue; QUEUES]) -> Self {
        let place = HeaderWord::to(here, DirectionSet::NONE, false);
        Self {
            shape,
            here,
            links: shape.links(here),
            place,
            way: NodeRoute::new(here, DirectionSet::NONE),
            lines: [(0, place); 6],
            tight: 0,
            exact: shape.links(here),
            sums: None,
            memory,
            grants: grants(&queues),
            queues,
            heads: [None; SOURCES],
            want: [0; OUTPUTS],
            wanted: 0,
            // The initial grants cover the empty buffers.
            untold: shape.links(here).bits(),
            blocked: DirectionSet::NONE,
            chosen: None,
            last: [0; OUTPUTS],
            priority_burst: [0; 6],
            through_most: through_burst(&shape),
            through_burst: [0; 6],
            injected_run: [0; 6],
            straight_burst: [[0; 2]; 6],
            held: [[0; 2]; 6],
            tokens: Default::default(),
            seen: [0; 6],
            turn: 0,
            #[cfg(any(test, feature = "sim"))]
            released: 0,
            #[cfg(any(test, feature = "sim"))]
            heads_only: false,
            #[cfg(test)]
            rules: RouterRules::ALL,
            #[cfg(test)]
            looks: Default::default(),
            stats: Stats::default(),
        }
    }

    /// Returns the extents of the machine.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
    /// Returns the coordinates of this node.
    pub fn coord(&self) -> Coord {
        self.here
    }
    /// Returns the rank of this node.
    pub fn rank(&self) -> Rank {
        self.shape.rank(self.here).unwrap_or_default()
    }
    /// Returns the directions that have a link.
    pub fn links(&self) -> DirectionSet {
        self.links
    }
    /// Specifies the exact links ([`Link::is_exact`](crate::link::Link::is_exact)).
    pub fn set_exact(&mut self, exact: DirectionSet) {
        self.exact = exact;
        self.sums = Some(&SUMS);
    }
    /// Marks all links as exact.
    pub(crate) fn set_all_exact(&mut self) {
        self.exact = self.links;
        self.sums = None;
    }
    /// Returns the number of chunks that are copied for `chunks` chunks of packets.
    #[inline]
    pub(crate) fn copied_chunks(&self, chunks: usize) -> usize {
        #[cfg(any(test, feature = "sim"))]
        if self.heads_only {
            return 1;
        }
        chunks
    }

    /// Checks whether the channel counters are enabled.
    #[inline]
    fn counts(&self) -> bool {
        #[cfg(any(test, feature = "sim"))]
        return !self.heads_only;
        #[cfg(not(any(test, feature = "sim")))]
        true
    }

    /// Returns the counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }
    /// Checks whether the router contains no packet, reception FIFOs included.
    pub fn is_empty(&self) -> bool {
        self.queues.iter().all(Queue::is_empty)
    }

    /// Checks whether a reception FIFO contains a packet.
    #[inline]
    pub fn has_received(&self) -> bool {
        let [.., normal, priority] = &self.queues;
        !normal.is_empty() || !priority.is_empty()
    }

    /// Checks whether a packet waits for transmission over a link.
    #[inline]
    pub fn has_to_leave(&self) -> bool {
        self.wanted & self.links.bits() != 0
    }

    /// Checks the invariants, for tests; panics on a violation.
    #[cfg(any(test, feature = "sim"))]
    pub(crate) fn assert_invariants(&self) {
        for (source, (queue, head)) in self.queues.iter().zip(&self.heads).enumerate() {
            assert!(queue.used() <= queue.capacity(), "source {source}");
            assert_eq!(queue.is_empty(), head.is_none(), "source {source}");
            for (output, want) in self.want.iter().enumerate() {
                let entered = head.is_some_and(|h| h.outputs.get() & 1 << output != 0);
                assert_eq!(want & 1 << source != 0, entered, "source {source}");
            }
        }
        for (output, want) in self.want.iter().enumerate() {
            assert_eq!(self.wanted & 1 << output != 0, *want != 0, "output {output}");
        }
        for d in self.links.iter() {
            assert!(self.untold & 1 << d as u8 != 0 || !self.owes_tokens(d), "{d:?}");
            assert!(!self.blocked.has(d) || !self.can_send(d), "{d:?}");
            if let Some((_, choice)) = self.chosen.filter(|&(chosen, _)| chosen == d) {
                assert_eq!(self.select(d), Some(choice), "{d:?}");
            }
        }
        for (bit, queue) in self.queues[INJECT..SOURCES].iter().enumerate() {
            let is_tight = queue.free() < greatest(INJECT + bit) as u16;
            assert_eq!(self.tight & 1 << bit != 0, is_tight, "injection FIFO {bit}");
        }
        for tokens in self.tokens.iter().flatten() {
            assert!(tokens.available() as usize <= crate::chunk::MAX_QUEUE_CHUNKS);
        }
    }

    fn defect(&mut self, defect: FrameError) {
        self.stats.defects[defect as usize] += 1;
    }

    /// Receives a frame from the link in direction `side`. Returns false if the frame or a packet in it was malformed.
    ///
    /// Malformed data is counted ([`Stats::defects`]) and dropped. A valid packet always fits, since its sender had
    /// tokens.
    #[inline(never)]
    pub fn receive_frame(&mut self, side: Direction, frame: &[u8]) -> bool {
        self.stats.links[side as usize].frames_received += 1;
        let sums = self.sums_of(side);
        if let Some(sums) = sums
            && let Err(defect) = (sums.check_frame)(frame)
        {
            self.defect(defect);
            return false;
        }
        let (granted, mut packets) = match FrameRepr::parse_granted(frame) {
            Ok(parts) => parts,
            Err(defect) => {
                self.defect(defect);
                return false;
            }
        };
        let mut is_good = self.take_granted(side, granted);
        while !packets.is_empty() {
            let packet = match sums {
                None => Packet::new_unsummed(packets),
                Some(sums) => (sums.check_packet)(packets),
            };
            let chunks = match packet {
                Ok(packet) => match self.accept(side, packet.word(), packets) {
                    Ok(chunks) => chunks,
                    Err(defect) => {
                        self.defect(defect);
                        is_good = false;
                        packet.word().chunks()
                    }
                },
                Err((defect, chunks)) => {
                    self.defect(defect);
                    is_good = false;
                    match chunks {
                        Some(chunks) => chunks,
                        None => return false,
                    }
                }
            };
            packets = &packets[chunks * CHUNK_BYTES..];
        }
        self.deliver(Fifo::Normal);
        self.deliver(Fifo::Priority);
        is_good
    }

    /// Updates the tokens from the neighbour's grant counters.
    #[cfg(any(test, feature = "sim"))]
    pub(crate) fn take_grants(&mut self, side: Direction, granted: [u16; Vc::COUNT]) {
        self.take_granted(side, vc::pack_counters(granted));
    }

    /// Updates the tokens from the neighbour's grant counters ([`vc::pack_counters`]). Returns false if a counter is
    /// impossible.
    #[inline]
    fn take_granted(&mut self, side: Direction, granted: u64) -> bool {
        let news = granted ^ self.seen[side as usize];
        if news == 0 {
            return true;
        }
        let mut is_good = true;
        self.seen[side as usize] = granted;
        // Usually the counter of only one channel has changed.
        let mut left = news;
        while left != 0 {
            let vc = (left.trailing_zeros() / u16::BITS) as usize;
            let at = u16::BITS as usize * vc;
            let lane = u64::from(u16::MAX) << at;
            left &= !lane;
            match self.tokens[side as usize][vc].grant((granted >> at) as u16) {
                GrantResult::Empty => {}
                GrantResult::More => self.invalidate_choices(),
                GrantResult::TooMuch => {
                    self.defect(FrameError::Grant);
                    is_good = false;
                    // Ignores the bad counter.
                    self.seen[side as usize] ^= news & lane;
                }
            }
        }
        is_good
    }

    /// Accepts the packet with header `word` at the start of `packets`, received from direction `side`. Returns its
    /// chunks. Packets that follow with the same header are accepted in the same copy, as far as the target queue has
    /// contiguous space.
    #[inline]
    pub(crate) fn accept(&mut self, side: Direction, word: HeaderWord, packets: &[u8]) -> Result<usize, FrameError> {
        let (chunks, vc, fifo) = (word.chunks(), word.vc(), word.fifo() as usize);
        route::check(&self.shape, self.place, self.links, side, word)?;
        let (s, v) = (side as usize, vc as usize);
        let source = s * Vc::COUNT + v;
        let charge = vc.charge(chunks);
        if self.queues[source].free() < charge {
            return Err(FrameError::Overrun);
        }
        // At its destination with no packet before it: copied straight into the reception FIFO, which saves one copy.
        let reception = RECEPTION + fifo;
        let is_here = word.away(self.place) == 0
            && self.queues[source].is_empty()
            && self.want[LOCAL + fifo] == 0
            && self.queues[reception].free() >= chunks as u16;
        let count = match chunks {
            PACKET_CHUNKS => {
                let into = if is_here { reception } else { source };
                let most = self.queues[source].free() / charge;
                alike(packets, self.queues[into].room().min(most.into()))
            }
            _ => 1,
        };
        let (all, charge) = (count * chunks, count as u16 * charge);
        let copied_chunks = self.copied_chunks(all);
        let bytes = &packets[..copied_chunks * CHUNK_BYTES];
        if self.counts() {
            self.stats.channels[s][v].received.add_all(count, all);
        }
        self.grants[s].receive(v, charge);
        if is_here {
            let start = self.queues[reception].push(all as u16);
            let stats = &mut self.stats.fifos[fifo];
            stats.delivered.add_all(count, all);
            stats.reception_high_water = self.queues[reception].high();
            queue::copy(queue::bytes_mut(self.memory, start, copied_chunks), bytes);
            self.release(s, v, charge);
            return Ok(all);
        }
        self.owe(s, v);
        let queue = &mut self.queues[source];
        let start = queue.push(charge);
        let (first, high) = (queue.used() == charge, queue.high());
        if self.counts() {
            self.stats.channels[s][v].high_water = high;
        }
        queue::copy(queue::bytes_mut(self.memory, start, copied_chunks), bytes);
        if first {
            self.open(source, word);
        }
        Ok(all)
    }

    /// Adds a source to the outputs that its oldest packet, with this header, may use.
    pub(crate) fn open(&mut self, source: usize, word: HeaderWord) {
        let left = route::productive(self.place, word);
        let deposits_here = word.is_deposit() && source < INJECT;
        let outputs = if left.is_empty() || deposits_here {
            1 << (LOCAL + word.fifo() as usize)
        } else if word.is_dynamic() {
            left.bits()
        } else {
            route::dimension_order(left).map_or(0, |d| 1 << d as u8)
        };
        self.enter(source, word, left, outputs);
    }

    /// Adds `source` to exactly `outputs`.
    #[inline]
    pub(crate) fn enter(&mut self, source: usize, word: HeaderWord, left: DirectionSet, outputs: u8) {
        self.heads[source] = NonZero::new(outputs).map(|outputs| CachedHeader { word, left, outputs });
        for output in ones(outputs) {
            self.want[output] |= 1 << source;
        }
        self.wanted |= outputs;
        self.invalidate_choices();
    }

    /// Removes `source` from `outputs`.
    #[inline]
    pub(crate) fn remove_wants(&mut self, source: usize, outputs: u8) {
        for output in ones(outputs) {
            self.want[output] &= !(1 << source);
            if self.want[output] == 0 {
                self.wanted &= !(1 << output);
            }
        }
        self.invalidate_choices();
    }

    /// Invalidates the cached arbitration results after a change that may affect them.
    pub(crate) fn invalidate_choices(&mut self) {
        self.blocked = DirectionSet::NONE;
        self.chosen = None;
    }

    /// Removes the `count` oldest packets of a source, all with one header, and releases their tokens.
    pub(crate) fn remove(&mut self, source: usize, head: &CachedHeader, count: usize) {
        let chunks = head.word.chunks();
        if source < INJECT {
            let (side, vc) = (source / Vc::COUNT, source % Vc::COUNT);
            let charge = count as u16 * Vc::ALL[vc].charge(chunks);
            self.queues[source].pop(charge);
            self.release(side, vc, charge);
        } else {
            self.queues[source].pop((count * chunks) as u16);
            self.note_room(source);
        }
        let next = self.header(source);
        if next == Some(head.word) && !head.word.is_deposit() {
            // The next packet of the same stream requests the same outputs.
            return self.invalidate_choices();
        }
        self.remove_wants(source, head.outputs.get());
        match next {
            Some(next) => self.open(source, next),
            None => self.heads[source] = None,
        }
    }

    fn header(&self, source: usize) -> Option<HeaderWord> {
        let header = self.memory[self.queues[source].front()?].first_chunk()?;
        Some(HeaderWord::read(header))
    }

    /// Updates the `tight` bit of an injection FIFO that has changed.
    #[inline]
    pub(crate) fn note_room(&mut self, source: usize) {
        let bit = 1 << (source - INJECT);
        if self.queues[source].free() < greatest(source) as u16 {
            self.tight |= bit
        } else {
            self.tight &= !bit
        }
    }

    fn release(&mut self, side: usize, vc: usize, charge: u16) {
        self.grants[side].release(vc, charge);
        self.owe(side, vc);
        #[cfg(any(test, feature = "sim"))]
        {
            self.released |= 1 << side;
        }
    }

    /// Returns and clears the mask of the sides whose tokens were released, one bit per direction.
    #[cfg(any(test, feature = "sim"))]
    pub(crate) fn take_released(&mut self) -> u8 {
        core::mem::take(&mut self.released)
    }

    /// Returns the directions for which [`Router::has_output`] may return true.
    #[inline]
    pub(crate) fn outputs(&self) -> DirectionSet {
        let wanted = DirectionSet::from_bits(self.wanted & !self.blocked.bits() | self.untold);
        wanted.and(self.links)
    }

    /// Checks whether [`Router::fill_frame`] must be called for direction `d`.
    ///
    /// That is the case for a packet with tokens, for tokens that the neighbour may wait for, and for a packet that is
    /// held back for a few calls in favour of another. The call costs a few instructions if nothing has changed since
    /// it returned false.
    pub fn has_output(&mut self, d: Direction) -> bool {
        if !self.outputs().has(d) {
            return false;
        }
        if self.is_grant_due(d) {
            return true;
        }
        if let Some(choice) = self.select(d) {
            self.chosen = Some((d, choice));
            return true;
        }
        if self.is_holding(d) {
            return true;
        }
        self.blocked = self.blocked.with(d);
        false
    }

    /// Checks whether the queues whose oldest packets may use direction `d` contain at least `chunks` chunks.
    pub(crate) fn has_chunks(&self, d: Direction, chunks: usize) -> bool {
        let mut want = self.want[d as usize];
        let mut seen = 0;
        while want != 0 && seen < chunks {
            seen += self.queues[want.trailing_zeros() as usize].used() as usize;
            want &= want - 1;
        }
        seen >= chunks
    }

    #[cfg(any(test, feature = "sim"))]
    fn can_send(&self, d: Direction) -> bool {
        self.select(d).is_some() || self.is_holding(d)
    }

    /// Returns a round-robin iterator over the links. Of several equally good links for an adaptive packet, the first
    /// one to request it transmits it, so the first link must rotate.
    #[inline]
    pub(crate) fn turns(&self) -> RoundRobin {
        RoundRobin {
            first: self.turn,
            open_frames: 0,
        }
    }

    fn is_grant_due(&self, d: Direction) -> bool {
        self.untold & 1 << d as u8 != 0 && self.owes_tokens(d)
    }

    fn owes_tokens(&self, d: Direction) -> bool {
        (0..Vc::COUNT).any(|vc| self.is_owed(d as usize, vc))
    }

    /// Checks whether a token update for a channel is due, even in a separate frame.
    fn is_owed(&self, side: usize, vc: usize) -> bool {
        #[cfg(test)]
        self.looks.update(|looks| looks + 1);
        let capacity = self.queues[side * Vc::COUNT + vc].capacity();
        self.grants[side].is_due(Vc::ALL[vc], capacity)
    }

    /// Marks the side if a token update is due after the tokens of a channel have changed.
    fn owe(&mut self, side: usize, vc: usize) {
        self.untold |= (self.is_owed(side, vc) as u8) << side;
    }

    /// Returns the channel by which the oldest packet of `source` can be sent in direction `d` now.
    pub(crate) fn channel(&self, source: usize, d: Direction) -> Option<Vc> {
        #[cfg(test)]
        self.looks.update(|looks| looks + 1);
        let head = self.heads[source].as_ref()?;
        self.channel_of(head.word, head.left, source, d)
    }

    /// Returns the channel by which a packet with this header can be sent in direction `d` now. `left` contains its
    /// remaining directions.
    // Always inlined: used here and for each packet on the cut-through path.
    #[inline(always)]
    pub(crate) fn channel_of(&self, word: HeaderWord, left: DirectionSet, source: usize, d: Direction) -> Option<Vc> {
        let (tokens, chunks) = (&self.tokens[d as usize], word.chunks());
        if word.is_dynamic() {
            let (d0, d1) = (&tokens[Vc::D0 as usize], &tokens[Vc::D1 as usize]);
            let vc = if d0.available() >= d1.available() {
                Vc::D0
            } else {
                Vc::D1
            };
            let tokens = &tokens[vc as usize];
            // A channel without a buffer accepts no packet.
            if tokens.available() >= self.needed(source, d, chunks, tokens).max(chunks as u16) {
                return Some(vc);
            }
            #[cfg(test)]
            if !self.rules.escape {
                return None;
            }
            // The escape channel keeps dimension order, so that its rings depend on each other in one direction only.
            // It is for blocked packets: a packet with another free direction waits for that one.
            if route::dimension_order(left) != Some(d) || left.iter().any(|d| self.dynamic_room(d) >= chunks as u16) {
                return None;
            }
        }
        let vc = bubble_channel(word.fifo());
        let straight = source == straight_source(d, word.fifo());
        #[cfg(test)]
        let straight = straight || !self.rules.bubble;
        (tokens[vc as usize].available() >= vc.needed(chunks, straight)).then_some(vc)
    }

    /// Returns the tokens that a packet of `chunks` chunks from `source` requires to enter this dynamic channel of link
    /// `d`.
    fn needed(&self, source: usize, d: Direction, chunks: usize, tokens: &ChannelTokens) -> u16 {
        let waits =
            source >= INJECT && self.injected_run[d as usize] < ALONE && self.through_burst[d as usize] < THROUGH_LIMIT;
        if waits {
            needed_to_inject(chunks, tokens.most())
        } else {
            chunks as u16
        }
    }

    /// Checks whether straight packets of a bubble channel yield to others that request the same link. Those have
    /// waited for long, and free space for one packet behind the link may become space for two.
    fn holds(&self, d: Direction, fifo: Fifo) -> bool {
        let (d_, f) = (d as usize, fifo as usize);
        self.straight_burst[d_][f] >= STRAIGHT_BURST
            && self.held[d_][f] < HOLD
            && others_wait(self.want[d as usize], d, fifo)
    }

    /// Checks whether a straight packet for link `d` could be sent but is held back.
    pub(crate) fn is_holding(&self, d: Direction) -> bool {
        Fifo::ALL.into_iter().any(|fifo| {
            let source = straight_source(d, fifo);
            self.want[d as usize] & 1 << source != 0
                && self.holds(d, fifo)
                && self.channel(source, d).is_some_and(Vc::is_bubble)
        })
    }

    /// Returns the maximum size in chunks of a packet that a dynamic channel of link `d` accepts now.
    fn dynamic_room(&self, d: Direction) -> u16 {
        let tokens = &self.tokens[d as usize];
        tokens[Vc::D0 as usize]
            .available()
            .max(tokens[Vc::D1 as usize].available())
    }

    /// Arbitrates for link `d`: priority packets, then through traffic, then injected packets, without starvation.
    /// Sources of the same kind are served round robin.
    fn select(&self, d: Direction) -> Option<ArbitrationResult> {
        let want = self.want[d as usize];
        if want & want.wrapping_sub(1) == 0 {
            // Zero or one source, the usual cases, require no arbitration.
            let source = next_after(want, 0)?;
            let vc = self.channel(source, d)?;
            return (!self.must_hold(source, d, vc)).then_some(ArbitrationResult { source, vc });
        }
        let priority = want & PRIORITY_SOURCES;
        let through = want & !PRIORITY_SOURCES & THROUGH_SOURCES;
        let injected = want & !PRIORITY_SOURCES & !THROUGH_SOURCES;
        let normal = if self.through_burst[d as usize] < self.through_most {
            [through, injected]
        } else {
            [injected, through]
        };
        let turns = if self.priority_burst[d as usize] < PRIORITY_BURST {
            [priority, normal[0], normal[1]]
        } else {
            [normal[0], normal[1], priority]
        };
        turns.into_iter().find_map(|sources| self.first_of(sources, d))
    }

    /// Returns the first of `sources`, round robin, whose oldest packet can use direction `d` now. A packet without a
    /// less loaded direction is preferred.
    fn first_of(&self, sources: u32, d: Direction) -> Option<ArbitrationResult> {
        let (mut left, mut other) = (sources, None);
        while let Some(source) = next_after(left, self.last[d as usize]) {
            if let Some(vc) = self.channel(source, d)
                && !self.must_hold(source, d, vc)
            {
                let choice = ArbitrationResult { source, vc };
                if !self.has_freer_way(source, d) {
                    return Some(choice);
                }
                other = other.or(Some(choice));
            }
            left &= !(1 << source);
        }
        other
    }

    /// Checks whether the dynamic channels of another direction have more free space for this dynamic packet.
    fn has_freer_way(&self, source: usize, d: Direction) -> bool {
        let Some(head) = self.heads[source].as_ref().filter(|head| head.word.is_dynamic()) else {
            return false;
        };
        if head.left == DirectionSet::NONE.with(d) {
            return false;
        }
        let room = self.dynamic_room(d);
        head.left.iter().any(|other| self.dynamic_room(other) > room)
    }

    fn must_hold(&self, source: usize, d: Direction, vc: Vc) -> bool {
        let fifo = match vc {
            Vc::Bn => Fifo::Normal,
            Vc::Bp => Fifo::Priority,
            Vc::D0 | Vc::D1 => return false,
        };
        source == straight_source(d, fifo) && self.holds(d, fifo)
    }

    /// Copies the next packet for link `d` into `out`. Returns the size in bytes, or `None` when no packet can be sent
    /// or it does not fit.
    pub(crate) fn dequeue_for_link(&mut self, d: Direction, out: &mut [u8]) -> Option<usize> {
        if self.want[d as usize] == 0 {
            return None;
        }
        for fifo in Fifo::ALL {
            if self.holds(d, fifo) {
                self.held[d as usize][fifo as usize] += 1;
                self.invalidate_choices();
            }
        }
        let choice = match self.chosen.take() {
            Some((chosen, choice)) if chosen == d => choice,
            _ => self.select(d)?,
        };
        self.send(d, choice, out)
    }

    /// Copies the chosen packet into `out`. Returns its size in bytes, or `None` when it does not fit.
    pub(crate) fn send(&mut self, d: Direction, choice: ArbitrationResult, out: &mut [u8]) -> Option<usize> {
        let ArbitrationResult { source, vc } = choice;
        let head = self.heads[source]?;
        let chunks = head.word.chunks();
        let start = self.queues[source].front()?;
        let count = match chunks {
            PACKET_CHUNKS => self.run(d, choice, &head, out.len() / PACKET_BYTES),
            _ => 1,
        };
        let all = count * chunks;
        let copied_chunks = self.copied_chunks(all);
        let out = out.get_mut(..copied_chunks * CHUNK_BYTES)?;
        queue::copy(out, queue::bytes(self.memory, start, copied_chunks));
        let (word, sums) = (head.word.with_vc(vc), self.sums_of(d));
        if word != head.word || sums.is_some() && !self.is_summed(source) {
            let word = sums.map_or(word, |sums| (sums.summed)(word));
            word.put(out);
            for packet in out.chunks_exact_mut(PACKET_BYTES).skip(1) {
                word.put(packet);
            }
        }
        self.account(head.word, d, choice, count, self.want[d as usize]);
        self.remove(source, &head, count);
        self.deliver(head.word.fifo());
        Some(all * CHUNK_BYTES)
    }

    /// Updates tokens, bursts and counters for `count` packets with this header, sent in direction `d`. `want` is the
    /// mask of the sources that request it.
    #[inline]
    pub(crate) fn account(
        &mut self,
        word: HeaderWord,
        d: Direction,
        choice: ArbitrationResult,
        count: usize,
        want: u32,
    ) {
        let (ArbitrationResult { source, vc }, chunks) = (choice, word.chunks());
        let all = count * chunks;
        self.tokens[d as usize][vc as usize].spend(count as u16 * vc.charge(chunks));
        self.last[d as usize] = source as u8;
        self.count_bursts(d, choice, count, want);
        if self.counts() {
            let channel = &mut self.stats.channels[d as usize][vc as usize];
            channel.sent.add_all(count, all);
            if source < INJECT {
                channel.forwarded.add_all(count, all);
            }
        }
        if word.is_dynamic() {
            self.turn = (self.turn + 1) % Direction::ALL.len() as u8;
            // A branch instead of an addition that is mostly zero: the counter is in a distant cache line, and escapes
            // are rare.
            if vc == Vc::Bn {
                self.stats.escapes += count as EventCounter;
            }
        }
    }

    /// Returns how many of a source's oldest packets, at most `most`, are sent in direction `d` with one copy and one
    /// update. They are contiguous maximum-size packets with the first one's header that may use only this link, and no
    /// other source requests it. The first has been chosen. If it escapes, so do the others, as no tokens arrive in the
    /// meantime.
    fn run(&self, d: Direction, choice: ArbitrationResult, head: &CachedHeader, most: usize) -> usize {
        let source = choice.source;
        let queue = &self.queues[source];
        if most < 2
            || queue.used() < 2 * PACKET_CHUNKS as u16
            || self.want[d as usize] != 1 << source
            || head.outputs.get() != 1 << d as u8
        {
            return 1;
        }
        let more = self.tokens_for_more(head.word, d, choice);
        let most = most.min(queue.run()).min(1 + more);
        let start = queue.front().unwrap_or_default();
        alike(queue::bytes(self.memory, start, queue.run() * PACKET_CHUNKS), most)
    }

    /// Returns for how many more maximum-size packets with this header and route there are tokens.
    #[inline]
    pub(crate) fn tokens_for_more(&self, word: HeaderWord, d: Direction, choice: ArbitrationResult) -> usize {
        let ArbitrationResult { source, vc } = choice;
        let tokens = &self.tokens[d as usize][vc as usize];
        let needed = if vc.is_bubble() {
            vc.needed(PACKET_CHUNKS, source == straight_source(d, word.fifo()))
        } else {
            self.needed(source, d, PACKET_CHUNKS, tokens)
        };
        tokens.available().saturating_sub(needed) as usize / PACKET_CHUNKS
    }

    /// Checks whether no packet requests direction `d`.
    #[inline]
    pub(crate) fn is_unwanted(&self, d: Direction) -> bool {
        self.want[d as usize] == 0
    }

    /// Returns the checksum functions of the link in direction `d`; `None` for an exact link.
    fn sums_of(&self, d: Direction) -> Option<&'static ChecksumFunctions> {
        self.sums.filter(|_| !self.exact.has(d))
    }

    fn is_summed(&self, source: usize) -> bool {
        source < INJECT && !self.exact.has(Direction::ALL[source / Vc::COUNT])
    }

    /// Updates the burst counters after `count` packets were sent on link `d` while the sources in `want` waited. If
    /// `count` is not one, no source waited.
    #[inline]
    fn count_bursts(
        &mut self,
        d: Direction,
        ArbitrationResult { source, vc }: ArbitrationResult,
        count: usize,
        want: u32,
    ) {
        if vc.is_bubble() {
            let fifo = if vc == Vc::Bn { Fifo::Normal } else { Fifo::Priority };
            let straight = source == straight_source(d, fifo) && others_wait(want, d, fifo);
            let burst = &mut self.straight_burst[d as usize][fifo as usize];
            *burst = if straight { burst.saturating_add(1) } else { 0 };
            self.held[d as usize][fifo as usize] = 0;
        }
        let normal_waits = want & !PRIORITY_SOURCES;
        let injected_wait = normal_waits & !THROUGH_SOURCES;
        let (priority, through) = (
            &mut self.priority_burst[d as usize],
            &mut self.through_burst[d as usize],
        );
        if PRIORITY_SOURCES & 1 << source != 0 {
            *priority = if normal_waits != 0 {
                priority.saturating_add(1)
            } else {
                0
            };
            return;
        }
        *priority = 0;
        let run = &mut self.injected_run[d as usize];
        *run = if source < INJECT {
            0
        } else {
            run.saturating_add(count.min(ALONE.into()) as u8)
        };
        let burst = source < INJECT && injected_wait != 0;
        *through = if burst { through.saturating_add(1) } else { 0 };
    }

    /// Writes the next frame for the link in direction `d` into `buffer`, with all packets that fit. Returns its size,
    /// or 0 when there is nothing to send. The buffer requires [`MIN_MTU`](crate::wire::MIN_MTU) bytes.
    pub fn fill_frame(&mut self, d: Direction, buffer: &mut [u8]) -> usize {
        self.fill_frame_from(d, buffer, 0)
    }

    /// Completes a frame that already contains `open_frames` bytes of packets, like [`Router::fill_frame`].
    pub(crate) fn fill_frame_from(&mut self, d: Direction, buffer: &mut [u8], open_frames: usize) -> usize {
        if !self.links.has(d) {
            return 0;
        }
        let Some((_, mut rest)) = buffer.split_first_chunk_mut::<FRAME_HEADER_BYTES>() else {
            return 0;
        };
        // The frame's size field, in chunks, is 16 bits wide.
        let most = rest.len().min(u16::MAX as usize * CHUNK_BYTES);
        rest = &mut rest[..most];
        let mut bytes = open_frames;
        while let Some(taken) = self.dequeue_for_link(d, &mut rest[bytes..]) {
            bytes += taken;
        }
        if bytes == 0 && !self.is_grant_due(d) {
            0
        } else {
            self.end_frame(d, buffer, bytes)
        }
    }

    /// Writes the header of a frame that contains `bytes` bytes of packets. Returns the frame's size.
    #[inline]
    pub(crate) fn end_frame(&mut self, d: Direction, buffer: &mut [u8], bytes: usize) -> usize {
        let Some(header) = buffer.first_chunk_mut::<FRAME_HEADER_BYTES>() else {
            return 0;
        };
        let link = &mut self.stats.links[d as usize];
        link.frames_sent += 1;
        if bytes == 0 {
            link.token_frames_sent += 1;
        }
        let (chunks, granted) = ((bytes / CHUNK_BYTES) as u16, self.emit_grants(d));
        match self.sums_of(d) {
            None => FrameRepr::put_unsummed(header, chunks, vc::pack_counters(granted)),
            Some(sums) => *header = (sums.emit_frame)(&FrameRepr { chunks, granted }),
        }
        FRAME_HEADER_BYTES + bytes
    }

    /// Returns the grant counters for the neighbour in direction `d`, which must be transmitted.
    pub(crate) fn emit_grants(&mut self, d: Direction) -> [u16; Vc::COUNT] {
        self.untold &= !(1 << d as u8);
        self.grants[d as usize].tell()
    }
}

/// Checks whether a source other than the straight one requests link `d` for a packet of this FIFO.
fn others_wait(want: u32, d: Direction, fifo: Fifo) -> bool {
    let of_fifo = match fifo {
        Fifo::Normal => !PRIORITY_SOURCES,
        Fifo::Priority => PRIORITY_SOURCES,
    };
    want & of_fifo & !(1 << straight_source(d, fifo)) != 0
}

/// Returns the source whose packets continue straight over link `d` on the bubble channel of `fifo`.
const fn straight_source(d: Direction, fifo: Fifo) -> usize {
    d.opposite() as usize * Vc::COUNT + bubble_channel(fifo) as usize
}

/// Returns the bubble channel of a FIFO pair.
pub(crate) const fn bubble_channel(fifo: Fifo) -> Vc {
    match fifo {
        Fifo::Normal => Vc::Bn,
        Fifo::Priority => Vc::Bp,
    }
}

/// Returns the number of maximum-size packets, from 1 to `most`, at the start of `packets` that share the first one's
/// header. The checks of the first packet are valid for all of them.
pub(crate) fn alike(packets: &[u8], most: usize) -> usize {
    type Words = [u64; PACKET_BYTES / HEADER_BYTES];
    let (packets, _) = packets.as_chunks::<PACKET_BYTES>();
    let packets = &packets[..most.min(packets.len())];
    match bytemuck::try_cast_slice::<_, Words>(packets) {
        // Compares word by word.
        Ok(packets) => as_first(packets.iter().map(|[header, ..]| header)),
        Err(_) => as_first(packets.iter().map(|packet| &packet[..HEADER_BYTES])),
    }
}

/// Returns the number of leading items that are equal to the first one, including it.
fn as_first<T: PartialEq>(mut items: impl Iterator<Item = T>) -> usize {
    let first = items.next();
    1 + items.take_while(|item| Some(item) == first.as_ref()).count()
}

/// Returns the first set bit of `mask` after bit `last`, with wraparound.
pub(crate) fn next_after(mask: u32, last: u8) -> Option<usize> {
    let later = mask & (u32::MAX << 1 << last);
    let mask = if later != 0 { later } else { mask };
    (mask != 0).then(|| mask.trailing_zeros() as usize)
}

/// Returns the indices of the set bits.
fn ones(mut bits: u8) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        lowest
    })
}
