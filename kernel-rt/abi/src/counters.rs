//! All counters of a node for the job's report, defined by one list.
//!
//! A line of [`Counter`], [`LinkCounter`] or [`ChannelCounter`] defines a counter: its meaning, its name in the report,
//! its unit, the combination of the nodes' values, and its [views](CounterViews). These are generated from the lists: the
//! layout of the blackboard, the report and its table, the performance variables of MPI_T, the counters of a trace with
//! the charts of its page, and the columns of `top`. A new counter requires one line here and one in the kernel's
//! `counters.rs`, which specifies its source in the node; the names are part of the report's format.
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

/// Views of a counter in addition to the JSON report and MPI_T, on the list of nodes only. Separate from [`CounterInfo`],
/// because images contain that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterViews {
    /// Heading of its column in the report's table; line feeds separate the lines.
    pub table: Option<&'static str>,
    /// Heading of its column in `top`.
    pub top: Option<&'static str>,
    /// Heading of the column of its increase per second in `top`.
    pub rate: Option<&'static str>,
    /// Title of its chart over time in the HTML page.
    pub chart: Option<&'static str>,
    /// Whether traces contain it over time.
    pub is_traced: bool,
}

impl CounterViews {
    const NONE: Self = Self {
        table: None,
        top: None,
        rate: None,
        chart: None,
        is_traced: false,
    };

    const fn table(self, heading: &'static str) -> Self {
        let table = Some(heading);
        Self { table, ..self }
    }

    const fn top(self, heading: &'static str) -> Self {
        let top = Some(heading);
        Self { top, ..self }
    }

    const fn rate(self, heading: &'static str) -> Self {
        let rate = Some(heading);
        Self { rate, ..self }
    }

    const fn traced(self) -> Self {
        Self {
            is_traced: true,
            ..self
        }
    }

    const fn chart(self, title: &'static str) -> Self {
        let chart = Some(title);
        Self { chart, ..self.traced() }
    }
}

/// Defines an enum of counters from lines `Variant "name" CounterUnit CounterTotal => views;`, each after its meaning.
macro_rules! counters {
    (
        $(#[$doc:meta])*
        $list:ident:
        $(
            #[doc = $meaning:literal] $counter:ident $name:literal $unit:ident $total:ident
            $(=> $($view:ident($($text:literal)?))+)?;
        )*
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

            /// Returns its views.
            pub const fn views(self) -> CounterViews {
                match self {
                    $(Self::$counter => CounterViews::NONE$($(.$view($($text)?))+)?,)*
                }
            }
        }
    };
}

counters! {
    /// A counter of a node.
    Counter:
    /// Sends started by the program.
    MessagesSent "messages" Messages Sum
        => table("messages") traced();
    /// Receives completed.
    MessagesReceived "messages_received" Messages Sum
        => traced();
    /// RTS sent, offers made again included.
    RtsSent "rts" ProtocolPackets Sum
        => table("RTS");
    /// RTS received.
    RtsReceived "rts_received" ProtocolPackets Sum;
    /// CTS sent, those that share a packet counted each.
    CtsSent "cts" ProtocolPackets Sum
        => table("CTS");
    /// NCTSD sent: messages recorded without a buffer.
    NctsdSent "nctsd" ProtocolPackets Sum
        => table("NCTSD");
    /// NCTS sent: rejections by this rank as a receiver; a message may be rejected several times.
    NctsSent "ncts" ProtocolPackets Sum
        => table("NCTS") top("NCTS") chart("Rejected messages (NCTS)");
    /// Restarts sent (resend requests): rejected messages are requested again.
    RestartsSent "restarts" ProtocolPackets Sum
        => table("restarts") chart("Restarts");
    /// CTS received, those that share a packet counted each.
    CtsReceived "cts_received" ProtocolPackets Sum;
    /// NCTSD received.
    NctsdReceived "nctsd_received" ProtocolPackets Sum;
    /// NCTS received.
    NctsReceived "ncts_received" ProtocolPackets Sum;
    /// Restarts received.
    RestartsReceived "restarts_received" ProtocolPackets Sum;
    /// Maximum number of records of unexpected messages.
    PeakUnexpectedRecords "peak_unexpected_records" Records Max
        => table("peak\nunexp.\nrecords");
    /// Maximum number of bytes of MPI memory in use: records and buffers, with borrowed memory.
    PeakUnexpectedBytes "peak_unexpected_bytes" Bytes Max
        => table("peak\nunexp.\nbytes") top("MPI peak") chart("Peak of the MPI memory in use");
    /// Maximum number of bytes that MPI borrowed from the program's heap.
    PeakBorrowedBytes "peak_borrowed_bytes" Bytes Max;
    /// Records of unexpected messages at the end.
    UnexpectedRecords "unexpected_records" Records Sum
        => top("records") chart("Records of unexpected messages");
    /// Maximum number of posted receives.
    PostedReceivesPeak "posted_receives_peak" Requests Max;
    /// Maximum number of unexpected, unmatched messages.
    UnexpectedMessagesPeak "unexpected_messages_peak" Messages Max;
    /// Searches of the posted receives and of the unexpected messages, whether they found something or not.
    MatchingSearches "matching_searches" Searches Sum
        => table("matching\nsearches");
    /// Hops of all searches: entries and structures looked at, one after the other.
    MatchingHops "matching_hops" Hops Sum
        => table("matching\nhops");
    /// Hops of the longest search.
    MatchingHopsPeak "matching_hops_peak" Hops Max
        => table("longest\nsearch");
    /// Maximum number of requests.
    RequestsPeak "requests_peak" Requests Max
        => traced();
    /// Messages whose data was sent eagerly, right behind their RTS.
    EagerSent "eager" Messages Sum;
    /// Packets of eager data that were dropped; the sender sends what is wanted again.
    EagerDropped "eager_dropped" Packets Sum;
    /// Packets sent over links, injected here or forwarded.
    PacketsSent "packets_sent" Packets Sum
        => table("packets\nsent") rate("packets/s") traced();
    /// Packets received over links.
    PacketsReceived "packets_received" Packets Sum
        => traced();
    /// Packets forwarded from link to link.
    PacketsForwarded "packets_forwarded" Packets Sum
        => table("packets\nforwarded") traced();
    /// Defective frames and packets, and what the links' devices did that they must not do.
    LinkDefects "link_defects" Frames Sum;
    /// Frames sent again over links that lose some.
    LinkRetries "link_retries" Frames Sum;
    /// Ticks that the node slept.
    IdleTicks "idle_ticks" Ticks Sum
        => traced();
    /// Ticks that interrupts took while the program computed.
    InterruptTicks "interrupt_ticks" Ticks Sum;
    /// Ticks since the node's start.
    RunTicks "run_ticks" Ticks Sum;
    /// Maximum number of bytes of the program's heap in use.
    HeapPeakBytes "heap_peak_bytes" Bytes Max
        => top("heap peak") chart("Peak of the program's heap");
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

/// Counters that traces contain over time, in the order of the list.
pub const TRACED: [Counter; count_traced()] = {
    let mut traced = [Counter::MessagesSent; count_traced()];
    let (mut at, mut number) = (0, 0);
    while at < Counter::COUNT {
        if Counter::ALL[at].views().is_traced {
            traced[number] = Counter::ALL[at];
            number += 1;
        }
        at += 1;
    }
    traced
};

const fn count_traced() -> usize {
    let (mut at, mut count) = (0, 0);
    while at < Counter::COUNT {
        if Counter::ALL[at].views().is_traced {
            count += 1;
        }
        at += 1;
    }
    count
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
