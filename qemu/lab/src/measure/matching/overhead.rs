//! Memory that an engine uses in addition to receives and records (001, section 4.4.2 and table 4.5).
#![forbid(unsafe_code)]

use midplane_device::matching::MatchingEngine;
use midplane_device::memory::{RawMemory, Span};
use midplane_device::region::Region;
use midplane_device::request::{MAX_SLOTS, PostedReceive, ReceiveRequest, ReceiveState, Request, RequestPool};

use super::traffic::TrafficStep;
use crate::matching::blocks;

/// Heap use in bytes of a job with a number of processes and of entries, one from each of the neighbouring ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapOverhead {
    /// With MPI memory for exactly these records, all in use, and no receives.
    pub records: usize,
    /// With these receives posted, and no MPI memory.
    pub receives: usize,
}

/// Measures `E`; `allocated` returns the heap in use in bytes.
///
/// # Panics
/// When the host's memory is exhausted.
pub fn overhead<E: MatchingEngine>(peers: u32, entries: u32, allocated: &dyn Fn() -> usize) -> HeapOverhead {
    HeapOverhead {
        records: with_records::<E>(peers, entries, allocated),
        receives: with_receives::<E>(peers, entries, allocated),
    }
}

fn with_records<E: MatchingEngine>(peers: u32, entries: u32, allocated: &dyn Fn() -> usize) -> usize {
    let mut requests = RequestPool::new(MAX_SLOTS);
    let mut region = Region::new(blocks(entries));
    let before = allocated();
    let mut engine = E::new(entries as usize, peers as usize).expect("the host's memory");
    engine.open(&mut requests, &mut region, 0);
    for source in 0..entries {
        let TrafficStep::Message(envelope) = TrafficStep::message(source, 0, 0) else {
            unreachable!("a message")
        };
        let at = region.record_without_buffer(&mut RawMemory, envelope, 0, 0);
        engine.record(&mut region, at.expect("a block for each"));
    }
    allocated() - before
}

fn with_receives<E: MatchingEngine>(peers: u32, entries: u32, allocated: &dyn Fn() -> usize) -> usize {
    let mut requests = RequestPool::new(MAX_SLOTS);
    let mut region = Region::new(blocks(0));
    requests.grow(entries).expect("the host's memory");
    let before = allocated();
    let mut engine = E::new(0, peers as usize).expect("the host's memory");
    engine.open(&mut requests, &mut region, 0);
    engine.reserve(entries as usize).expect("the host's memory");
    for source in 0..entries {
        let TrafficStep::Receive(pattern) = TrafficStep::receive(Some(source), 0, 0) else {
            unreachable!("a receive")
        };
        let posted = PostedReceive {
            pattern,
            serial: source.into(),
            needs_listing: false,
        };
        let request = Request::Receive(ReceiveRequest {
            span: Span::EMPTY,
            state: ReceiveState::Posted(posted),
        });
        let id = requests.insert(request).expect("a slot for each");
        engine.post(&mut requests, id.slot());
    }
    allocated() - before
}

/// A row of table 4.5.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublishedRow {
    /// Processes of the communicator.
    pub ranks: u32,
    /// Entries of the queues.
    pub entries: u32,
    /// Size of the array in bytes.
    pub array: u32,
    /// Size of cubes and jump points in bytes.
    pub fourd: u32,
}

/// Returns table 4.5, with the exact bytes of its formulas (4.19 and 4.20) and table 4.4, which it prints rounded.
pub fn published() -> impl Iterator<Item = PublishedRow> {
    const LEAD: u32 = 56;
    const RANK_HEAD: u32 = 32;
    const JUMP_POINT: u32 = 48;
    let sizes = [(4096_u32, 8_u32), (65_536, 16), (1_048_576, 32)];
    sizes.into_iter().flat_map(|(ranks, span)| {
        [1, 100, 1000, ranks].map(|entries| PublishedRow {
            ranks,
            entries,
            array: LEAD + ranks * RANK_HEAD,
            fourd: LEAD + entries.div_ceil(span.pow(3)) * (16 + 8 * span) + entries.div_ceil(span) * JUMP_POINT,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The printed form: bytes, or binary kilobytes and megabytes with two decimals.
    #[test]
    fn the_formulas_give_the_printed_table() {
        let printed = |bytes: u32| match f64::from(bytes) {
            bytes if bytes < 1024.0 => format!("{bytes} B"),
            bytes if bytes < 1048576.0 => format!("{:.2} KB", bytes / 1024.0),
            bytes => format!("{:.2} MB", bytes / 1048576.0),
        };
        let fourd: Vec<String> = published().map(|row| printed(row.fourd)).collect();
        let table = [
            "184 B",
            "760 B",
            "6.07 KB",
            "24.68 KB",
            "248 B",
            "536 B",
            "3.15 KB",
            "194.30 KB",
            "376 B",
            "520 B",
            "1.82 KB",
            "1.51 MB",
        ];
        assert_eq!(fourd, table);
        let array: Vec<String> = published().map(|row| printed(row.array)).collect();
        assert_eq!([&array[0], &array[4], &array[8]], ["128.05 KB", "2.00 MB", "32.00 MB"]);
    }
}
