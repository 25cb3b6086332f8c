//! All counters of a node for the job's report, defined by one list.
//!
//! A line of [`Counter`], [`LinkCounter`] or [`ChannelCounter`] defines a counter: its meaning, its name in the report,
//! its unit, and the combination of the nodes' values. The layout of the blackboard and the report are generated from
//! the lists. A new counter requires one line here and one in the kernel's `counters.rs`, which specifies its source in
//! the node; the names are part of the report's format.
//!
//! The protocol's packets are RTS (request to send), CTS (clear to send), NCTSD (not clear to send data: recorded, the
//! sender keeps the data) and NCTS (not clear to send: not recorded, the message is rejected).

use net_torus::{Direction, Vc};

/// Unit of a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterUnit {
    /// Messages of the program.
    Messages,
    /// Packets of the protocol; several may share a packet of the torus.
    ProtocolPackets,
    /// Packets of the torus.
    Packets,
    /// Chunks of 32 bytes.
    Chunks,
    /// Frames on a link.
    Frames,
    /// Records of unexpected messages.
    Records,
    /// Requests and posted receives.
    Requests,
    /// Searches of a matching queue.
    Searches,
    /// Steps of such searches: entries and structures checked, one after the other.
    Hops,
    /// Bytes.
    Bytes,
    /// Ticks of the node's clock.
    Ticks,
}

impl CounterUnit {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::ProtocolPackets => "protocol packets",
            Self::Packets => "packets",
            Self::Chunks => "chunks of 32 bytes",
            Self::Frames => "frames",
            Self::Records => "records",
            Self::Requests => "requests",
            Self::Searches => "searches",
            Self::Hops => "hops",
            Self::Bytes => "bytes",
            Self::Ticks => "ticks",
        }
    }
}

/// Combination of several values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterTotal {
    /// Their sum.
    Sum,
    /// Their maximum.
    Max,
}

impl CounterTotal {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Max => "greatest",
        }
    }

    /// Combines two values.
    pub fn combine(self, one: u64, other: u64) -> u64 {
        match self {
            Self::Sum => one.saturating_add(other),
            Self::Max => one.max(other),
        }
    }
}

/// Description of a counter, on any of the lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterInfo {
    /// Its name in the report.
    pub name: &'static str,
    /// Unit of the counter.
    pub unit: CounterUnit,
    /// Combination of the values of several nodes.
    pub total: CounterTotal,
    /// Its meaning.
    pub meaning: &'static str,
}

/// Defines an enum of counters from lines `Variant "name" CounterUnit CounterTotal;`, each after its meaning.
macro_rules! counters {
    (
        $(#[$doc:meta])*
        $list:ident:
        $(#[doc = $meaning:literal] $counter:ident $name:literal $unit:ident $total:ident;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $list {
            $(#[doc = $meaning] $counter,)*
        }

        impl $list {
            /// All counters, in the order of the blackboard.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$counter),*];
            /// Number of counters.
            pub const COUNT: usize = [$(Self::$counter),*].len();

            /// Returns its description.
            pub const fn about(self) -> CounterInfo {
                match self {
                    $(Self::$counter => CounterInfo {
                        name: $name,
                        unit: CounterUnit::$unit,
                        total: CounterTotal::$total,
                        meaning: $meaning.trim_ascii(),
                    },)*
                }
            }
        }
    };
}

counters! {
    /// A counter of a node.
    Counter:
    /// Sends started by the program.
    MessagesSent "messages" Messages Sum;
    /// Receives completed.
    MessagesReceived "messages_received" Messages Sum;
    /// RTS sent, offers made again included.
    RtsSent "rts" ProtocolPackets Sum;
    /// RTS received.
    RtsReceived "rts_received" ProtocolPackets Sum;
    /// CTS sent, those that share a packet counted each.
    CtsSent "cts" ProtocolPackets Sum;
    /// NCTSD sent: messages recorded without a buffer.
    NctsdSent "nctsd" ProtocolPackets Sum;
    /// NCTS sent: rejections by this rank as a receiver; a message may be rejected several times.
    NctsSent "ncts" ProtocolPackets Sum;
    /// Restarts sent (resend requests): rejected messages are requested again.
    RestartsSent "restarts" ProtocolPackets Sum;
    /// CTS received, those that share a packet counted each.
    CtsReceived "cts_received" ProtocolPackets Sum;
    /// NCTSD received.
    NctsdReceived "nctsd_received" ProtocolPackets Sum;
    /// NCTS received.
    NctsReceived "ncts_received" ProtocolPackets Sum;
    /// Restarts received.
    RestartsReceived "restarts_received" ProtocolPackets Sum;
    /// Maximum number of records of unexpected messages.
    PeakUnexpectedRecords "peak_unexpected_records" Records Max;
    /// Maximum number of bytes of MPI memory in use: records and buffers, with borrowed memory.
    PeakUnexpectedBytes "peak_unexpected_bytes" Bytes Max;
    /// Maximum number of bytes that MPI borrowed from the program's heap.
    PeakBorrowedBytes "peak_borrowed_bytes" Bytes Max;
    /// Records of unexpected messages at the end.
    UnexpectedRecords "unexpected_records" Records Sum;
    /// Maximum number of posted receives.
    PostedReceivesPeak "posted_receives_peak" Requests Max;
    /// Maximum number of unexpected, unmatched messages.
    UnexpectedMessagesPeak "unexpected_messages_peak" Messages Max;
    /// Searches of the posted receives and of the unexpected messages, whether they found something or not.
    MatchingSearches "matching_searches" Searches Sum;
    /// Hops of all searches: entries and structures looked at, one after the other.
    MatchingHops "matching_hops" Hops Sum;
    /// Hops of the longest search.
    MatchingHopsPeak "matching_hops_peak" Hops Max;
    /// Maximum number of requests.
    RequestsPeak "requests_peak" Requests Max;
    /// Messages whose data was sent eagerly, right behind their RTS.
    EagerSent "eager" Messages Sum;
    /// Packets of eager data that were dropped; the sender sends what is wanted again.
    EagerDropped "eager_dropped" Packets Sum;
    /// Packets sent over links, injected here or forwarded.
    PacketsSent "packets_sent" Packets Sum;
    /// Packets received over links.
    PacketsReceived "packets_received" Packets Sum;
    /// Packets forwarded from link to link.
    PacketsForwarded "packets_forwarded" Packets Sum;
    /// Defective frames and packets, and what the links' devices did that they must not do.
    LinkDefects "link_defects" Frames Sum;
    /// Frames sent again over links that lose some.
    LinkRetries "link_retries" Frames Sum;
    /// Ticks that the node slept.
    IdleTicks "idle_ticks" Ticks Sum;
    /// Ticks that interrupts took while the program computed.
    InterruptTicks "interrupt_ticks" Ticks Sum;
    /// Ticks since the node's start.
    RunTicks "run_ticks" Ticks Sum;
    /// Maximum number of bytes of the program's heap in use.
    HeapPeakBytes "heap_peak_bytes" Bytes Max;
}

counters! {
    /// A counter of one link of a node.
    LinkCounter:
    /// Frames sent.
    FramesSent "frames_sent" Frames Sum;
    /// Those of the frames sent that carried tokens only.
    TokenFramesSent "token_frames_sent" Frames Sum;
    /// Frames received, also defective ones.
    FramesReceived "frames_received" Frames Sum;
    /// Frames sent again.
    Retries "retries" Frames Sum;
    /// Frames that went another way, because the link is cut.
    Detours "detours" Frames Sum;
}

counters! {
    /// A counter of one virtual channel of a link.
    ChannelCounter:
    /// Packets sent, injected here or forwarded.
    PacketsSent "packets_sent" Packets Sum;
    /// Chunks of the packets sent, headers included.
    ChunksSent "chunks_sent" Chunks Sum;
    /// Those of the packets sent that had come in over another link.
    PacketsForwarded "packets_forwarded" Packets Sum;
    /// Packets received and accepted.
    PacketsReceived "packets_received" Packets Sum;
    /// Maximum number of chunks in the buffer behind the link.
    PeakChunks "peak_chunks" Chunks Max;
}

/// Number of links of a node, one for each direction.
pub const LINKS: usize = Direction::ALL.len();

/// Counters of one link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkCounters {
    /// By [`LinkCounter`].
    pub frames: [u64; LinkCounter::COUNT],
    /// By virtual channel, in the order of [`Vc::ALL`], then by [`ChannelCounter`].
    pub channels: [[u64; ChannelCounter::COUNT]; Vc::COUNT],
}

impl LinkCounters {
    /// Returns a counter of the link.
    pub fn get(&self, counter: LinkCounter) -> u64 {
        self.frames[counter as usize]
    }

    /// Returns a counter of one of its channels.
    pub fn channel_counter(&self, channel: Vc, counter: ChannelCounter) -> u64 {
        self.channels[channel as usize][counter as usize]
    }

    /// Returns a counter combined over all its channels.
    pub fn all_channels_counter(&self, counter: ChannelCounter) -> u64 {
        let values = self.channels.iter().map(|c| c[counter as usize]);
        values.fold(0, |one, other| counter.about().total.combine(one, other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_meanings_are_told() {
        let all = Counter::ALL.map(Counter::about);
        for (at, about) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other.name != about.name));
            assert!(about.meaning.ends_with('.') && !about.meaning.starts_with(' '));
            let is_peak = about.name.contains("peak");
            assert_eq!(is_peak, about.total == CounterTotal::Max, "{}", about.name);
        }
    }

    #[test]
    fn values_are_added_or_the_greatest_counts() {
        assert_eq!(CounterTotal::Sum.combine(3, u64::MAX), u64::MAX);
        assert_eq!(
            (CounterTotal::Sum.combine(3, 4), CounterTotal::Max.combine(3, 4)),
            (7, 4)
        );
        let mut link = LinkCounters::default();
        for (at, channel) in (1..).zip(&mut link.channels) {
            *channel = [at; ChannelCounter::COUNT];
        }
        assert_eq!(link.all_channels_counter(ChannelCounter::PacketsSent), 1 + 2 + 3 + 4);
        assert_eq!(link.all_channels_counter(ChannelCounter::PeakChunks), 4);
    }
}
