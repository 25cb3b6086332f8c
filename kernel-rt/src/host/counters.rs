//! The node's figures on the blackboard.
#![forbid(unsafe_code)]

use mpi_adi::Adi;
use net_torus::router::Router;

use super::blackboard::{Blackboard, Counter, LinkCounters};

/// What neither the device nor the router counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeFigures {
    /// Steps of the node's loop.
    pub beats: u64,
    /// Ticks of the clock that the node slept.
    pub idle_ticks: u64,
    /// Ticks since the node's start.
    pub run_ticks: u64,
    /// Greatest number of bytes of the heap ever in use.
    pub heap_peak_bytes: u64,
    /// What the links' devices did that they must not do.
    pub link_defects: u64,
}

/// Brings the blackboard up to date.
pub fn publish(board: &Blackboard, adi: &Adi, router: &Router<'_>, own: &NodeFigures) {
    const fn named(name: &str) -> Counter {
        Counter::named(name)
    }
    board.set_beats(own.beats);
    let stats = adi.stats();
    let torus = router.stats();
    for (counter, value) in [
        (const { named("messages_sent") }, stats.messages_sent),
        (
            const { named("messages_received") },
            stats.messages_received,
        ),
        (const { named("rts_sent") }, stats.rts_sent),
        (const { named("rts_received") }, stats.rts_received),
        (const { named("cts_sent") }, stats.cts_sent),
        (const { named("cts_received") }, stats.cts_received),
        (const { named("nctsd_sent") }, stats.nctsd_sent),
        (const { named("nctsd_received") }, stats.nctsd_received),
        (const { named("ncts_sent") }, stats.ncts_sent),
        (const { named("ncts_received") }, stats.ncts_received),
        (const { named("resend_all_sent") }, stats.resend_all_sent),
        (
            const { named("resend_all_received") },
            stats.resend_all_received,
        ),
        (
            const { named("peak_unexpected_records") },
            adi.region().peak_records() as u64,
        ),
        (
            const { named("peak_unexpected_bytes") },
            adi.region().peak_bytes() as u64,
        ),
        (
            const { named("peak_borrowed_bytes") },
            adi.region().peak_lent_bytes() as u64,
        ),
        (
            const { named("unexpected_records") },
            adi.region().records() as u64,
        ),
        (
            const { named("posted_receives_peak") },
            adi.matching().peak_posted() as u64,
        ),
        (
            const { named("requests_peak") },
            adi.requests().peak() as u64,
        ),
        (const { named("eager_sent") }, stats.eager_sent),
        (const { named("eager_dropped") }, stats.eager_dropped),
        (const { named("packets_sent") }, torus.sent().packets),
        (
            const { named("packets_received") },
            torus.received().packets,
        ),
        (
            const { named("packets_forwarded") },
            torus.forwarded().packets,
        ),
        (
            const { named("link_defects") },
            torus.all_defects() + own.link_defects,
        ),
        (const { named("idle_ticks") }, own.idle_ticks),
        (const { named("run_ticks") }, own.run_ticks),
        (const { named("heap_peak_bytes") }, own.heap_peak_bytes),
    ] {
        board.set_counter(counter, value);
    }
    for d in router.links().iter() {
        board.set_link(d, &LinkCounters::of(torus, d));
    }
}
