//! Sources of a node's report counters: a row for each line of [`midplane_abi::counters`].
#![forbid(unsafe_code)]

use midplane_abi::blackboard::{Blackboard, ChannelRecord};
use midplane_abi::counters::{ChannelCounter, Counter, LinkCounter};
use midplane_device::Adi;
use net_torus::stats::{ChannelStats, LinkStats};
use net_torus::{Direction, Stats};

/// Statistics that neither the device nor the router counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeStats {
    /// Steps of the node's loop.
    pub beats: u64,
    /// Ticks of the clock that the node slept.
    pub idle_ticks: u64,
    /// Ticks that interrupts used while the program computed.
    pub interrupt_ticks: u64,
    /// Ticks since the node's start.
    pub run_ticks: u64,
    /// Maximum number of heap bytes ever in use.
    pub heap_peak_bytes: u64,
    /// Protocol violations of the links' devices.
    pub link_defects: u64,
    /// Frames that the links have retransmitted.
    pub link_retries: u64,
}

/// Statistics that a link counts and the router does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkDeviceStats {
    /// Retransmitted frames.
    pub retries: u64,
    /// Rerouted frames.
    pub detours: u64,
}

/// Sources of a link's counters.
#[derive(Clone, Copy)]
pub struct LinkSources<'a> {
    /// The router's counters of the link.
    pub stats: &'a LinkStats,
    /// The link's own counters.
    pub own: LinkDeviceStats,
}

/// Sources of a node's counters.
#[derive(Clone, Copy)]
pub struct CounterSources<'a> {
    /// The device.
    pub adi: &'a Adi,
    /// The router's counters.
    pub torus: &'a Stats,
    /// The node's own counters.
    pub own: &'a NodeStats,
}

/// Defines a function that calls `take` with each counter of a list and its value. A counter without a row, or with two
/// rows, is a compile-time error.
macro_rules! values {
    ($name:ident: |$from:ident: $source:ty| $list:ident; $($counter:ident = $value:expr;)*) => {
        fn $name($from: $source, mut take: impl FnMut($list, u64)) {
            const _: [$list; $list::COUNT] = [$($list::$counter),*];
            const _: fn($list) = |counter| match counter {
                $($list::$counter => (),)*
            };
            $(take($list::$counter, $value as u64);)*
        }
    };
}

values! {
    of_node: |from: CounterSources<'_>| Counter;
    MessagesSent = from.adi.stats().messages_sent;
    MessagesReceived = from.adi.stats().messages_received;
    RtsSent = from.adi.stats().rts_sent;
    RtsReceived = from.adi.stats().rts_received;
    CtsSent = from.adi.stats().cts_sent;
    NctsdSent = from.adi.stats().nctsd_sent;
    NctsSent = from.adi.stats().ncts_sent;
    RestartsSent = from.adi.stats().restarts_sent;
    CtsReceived = from.adi.stats().cts_received;
    NctsdReceived = from.adi.stats().nctsd_received;
    NctsReceived = from.adi.stats().ncts_received;
    RestartsReceived = from.adi.stats().restarts_received;
    PeakUnexpectedRecords = from.adi.region().peak_records() as u64;
    PeakUnexpectedBytes = from.adi.region().peak_bytes() as u64;
    PeakBorrowedBytes = from.adi.region().peak_lent_bytes() as u64;
    UnexpectedRecords = from.adi.region().records() as u64;
    PostedReceivesPeak = from.adi.matching().peak_posted as u64;
    UnexpectedMessagesPeak = from.adi.matching().peak_unexpected as u64;
    MatchingSearches = from.adi.matching().searches;
    MatchingHops = from.adi.matching().traversals;
    MatchingHopsPeak = from.adi.matching().longest as u64;
    RequestsPeak = from.adi.requests().peak() as u64;
    EagerSent = from.adi.stats().eager_sent;
    EagerDropped = from.adi.stats().eager_dropped;
    PacketsSent = from.torus.sent().packets;
    PacketsReceived = from.torus.received().packets;
    PacketsForwarded = from.torus.forwarded().packets;
    LinkDefects = net_torus::stats::wide(from.torus.all_defects()) + from.own.link_defects;
    LinkRetries = from.own.link_retries;
    IdleTicks = from.own.idle_ticks;
    InterruptTicks = from.own.interrupt_ticks;
    RunTicks = from.own.run_ticks;
    HeapPeakBytes = from.own.heap_peak_bytes;
}

values! {
    of_link: |from: LinkSources<'_>| LinkCounter;
    FramesSent = from.stats.frames_sent;
    TokenFramesSent = from.stats.token_frames_sent;
    FramesReceived = from.stats.frames_received;
    Retries = from.own.retries;
    Detours = from.own.detours;
}

values! {
    channel_counter: |from: &ChannelStats| ChannelCounter;
    PacketsSent = from.sent.packets;
    ChunksSent = from.sent.chunks;
    PacketsForwarded = from.forwarded.packets;
    PacketsReceived = from.received.packets;
    PeakChunks = from.high_water as u64;
}

/// Updates all counters on `board`, including those of these links.
pub fn publish(
    board: &Blackboard,
    sources: CounterSources<'_>,
    links: impl Iterator<Item = (Direction, LinkDeviceStats)>,
) {
    board.set_beats(sources.own.beats);
    of_node(sources, |counter, value| board.set_counter(counter, value));
    for (d, figures) in links {
        set_link(board, sources.torus, d, figures);
    }
}

/// Updates all counters of the link in direction `d`, from the router and the link itself.
fn set_link(board: &Blackboard, stats: &Stats, d: Direction, own: LinkDeviceStats) {
    let link = board.link(d);
    let sources = LinkSources {
        stats: &stats.links[d as usize],
        own,
    };
    of_link(sources, |counter, value| link.set(counter, value));
    for (place, channel) in link.channels().zip(&stats.channels[d as usize]) {
        set_channel(place, channel);
    }
}

// One copy in the image for all channels.
#[inline(never)]
fn set_channel(place: ChannelRecord<'_>, channel: &ChannelStats) {
    channel_counter(channel, |counter, value| place.set(counter, value));
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_abi::blackboard::BlackboardSnapshot;
    use midplane_abi::counters::LinkCounters;
    use net_torus::Vc;

    fn read(board: &Blackboard) -> BlackboardSnapshot {
        BlackboardSnapshot::read(&board.bytes()).expect("a blackboard")
    }

    #[test]
    fn names_of_all_matching_engines_fit() {
        for choice in midplane_engines::EngineChoice::ALL {
            let board = Blackboard::new();
            board.begin();
            board.set_matching(choice.name());
            assert_eq!(read(&board).matching, choice.name());
        }
    }

    #[test]
    fn every_link_has_its_own_counters() {
        let board = Blackboard::new();
        board.begin();
        for d in Direction::ALL {
            let mut stats = Stats::default();
            stats.links[d as usize].frames_received = u64::MAX - d as u64;
            stats.channels[d as usize][Vc::Bn as usize].sent.chunks = 100 + d as u64;
            stats.channels[d as usize][Vc::Bp as usize].high_water = 7;
            let own = LinkDeviceStats { retries: 0, detours: 3 };
            set_link(&board, &stats, d, own);
        }
        let seen = read(&board);
        for d in Direction::ALL {
            let mut expected = LinkCounters::default();
            expected.frames[LinkCounter::FramesReceived as usize] = u64::MAX - d as u64;
            expected.frames[LinkCounter::Detours as usize] = 3;
            let chunks = ChannelCounter::ChunksSent as usize;
            expected.channels[Vc::Bn as usize][chunks] = 100 + d as u64;
            let peak = ChannelCounter::PeakChunks as usize;
            expected.channels[Vc::Bp as usize][peak] = 7;
            assert_eq!(seen.links[d as usize], expected);
        }
        assert_eq!(seen.counters, [0; Counter::COUNT]);
    }
}
