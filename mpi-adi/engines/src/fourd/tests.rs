#![forbid(unsafe_code)]

use super::cubes::Cubes;
use super::{FourD, StructureSizes};
use crate::array::PerRank;
use crate::ranked::ByRank;
use crate::ranked::tests::{ArrivalResult, EngineFixture, any_source, envelope, exact};
use midplane_device::envelope::Rank;
use midplane_device::matching::{ListEngine, Matching, MatchingEngine, OutOfSpace};
use midplane_device::request::CHUNK_SLOTS;

/// Fills a queue with one entry each of ranks 0 to `entries` - 1. The last rows use records, which require less memory.
fn filled<E: MatchingEngine>(engine: E, entries: u32, as_records: bool) -> EngineFixture<E> {
    let blocks = if as_records { entries as usize } else { 1 };
    let mut desk = EngineFixture::new(engine, blocks);
    desk.open(0);
    for rank in 0..entries {
        if as_records {
            assert!(matches!(
                desk.arrive(envelope(0, rank, 0), 0),
                ArrivalResult::Recorded(_)
            ));
        } else {
            desk.receive(exact(0, rank, 0)).unwrap_err();
        }
    }
    desk
}

/// Returns the hops of a search for the last entry of the first context.
fn hops_to<E: MatchingEngine>(desk: &mut EngineFixture<E>, rank: u32, as_records: bool) -> u64 {
    let before = desk.engine.measures().traversals;
    if as_records {
        assert!(desk.probe(&exact(0, rank, 0)).is_some());
    } else {
        let found = desk.engine.match_incoming(&mut desk.requests, &envelope(0, rank, 0));
        assert!(found.is_some());
    }
    desk.engine.measures().traversals - before
}

/// Formats a size as the thesis does: bytes, or KB and MB with two digits.
fn in_words(bytes: usize) -> String {
    let kib = bytes as f64 / 1024.0;
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{kib:.2} KB"),
        _ => format!("{:.2} MB", kib / 1024.0),
    }
}

/// 001 tables 4.5 and 4.2 (000 table 2): jobs, entries, the sizes as printed, and hops to the last entry.
#[test]
fn what_is_kept_and_looked_at_is_what_the_thesis_says() {
    let rows = [
        (4096, ["184 B", "760 B", "6.07 KB", "24.68 KB"], "128.05 KB", 26),
        (65_536, ["248 B", "536 B", "3.15 KB", "194.30 KB"], "2.00 MB", 50),
        (1_048_576, ["376 B", "520 B", "1.82 KB", "1.51 MB"], "32.00 MB", 98),
    ];
    for (peers, sizes, array_size, longest) in rows {
        for (entries, size) in [1, 100, 1000, peers].into_iter().zip(sizes) {
            let as_records = entries > 100_000;
            let blocks = if as_records { entries as usize } else { 0 };
            let fourd = FourD::new(blocks, peers as usize).unwrap();
            let mut desk = filled(fourd, entries, as_records);
            let got = desk.engine.structures();
            let span: u32 = match peers {
                4096 => 8,
                65_536 => 16,
                _ => 32,
            };
            let cubes = entries.div_ceil(span.pow(3)) as usize;
            let jump_points = entries.div_ceil(span) as usize;
            let span = span as usize;
            let bytes = 28 + cubes * (8 + 4 * span) + jump_points * 24;
            // Receives are allocated in chunks.
            assert!(got.pool_bytes >= bytes);
            let expected = StructureSizes {
                span,
                leads: 1,
                cubes,
                jump_points,
                bytes,
                pool_bytes: got.pool_bytes,
            };
            assert_eq!(got, expected, "{peers} {entries}");
            assert_eq!(in_words(got.paper_bytes()), size, "{peers} {entries}");
            if entries < peers {
                continue;
            }
            assert_eq!(hops_to(&mut desk, peers - 1, as_records), longest);
            drop(desk);

            let array = PerRank::new(0, peers as usize).unwrap();
            let mut desk = filled(array, entries, as_records);
            let got = desk.engine.structures();
            assert_eq!((got.leads, got.rank_heads), (1, peers as usize));
            assert_eq!(got.bytes, 40 + 16 * peers as usize);
            assert_eq!(in_words(got.paper_bytes()), array_size);
            assert_eq!(hops_to(&mut desk, peers - 1, as_records), 3);
            drop(desk);

            // The thesis's list has 4095 entries.
            let mut desk = filled(ListEngine::default(), 4095, false);
            assert_eq!(hops_to(&mut desk, 4094, false), 4095);
        }
    }
}

/// 001 table 4.3: nine more contexts before the requested one.
#[test]
fn each_further_context_is_one_hop() {
    fn hops<E: MatchingEngine>(engine: E) -> u64 {
        let mut desk = EngineFixture::new(engine, 1);
        (1..10).chain([0]).for_each(|context| desk.open(context));
        for rank in 0..4096 {
            desk.receive(exact(0, rank, 0)).unwrap_err();
            desk.receive(exact(1, rank, 0)).unwrap_err();
        }
        hops_to(&mut desk, 4095, false)
    }
    assert_eq!(hops(FourD::new(0, 4096).unwrap()), 9 + 26);
    assert_eq!(hops(PerRank::new(0, 4096).unwrap()), 9 + 3);
}

/// 001 equation 4.2 and its intervals; each further bit covers 16 times as many.
#[test]
fn the_span_is_the_fourth_root() {
    for (peers, span) in [
        (1, 4),
        (256, 4),
        (257, 8),
        (4096, 8),
        (4097, 16),
        (65_536, 16),
        (65_537, 32),
        (1_048_576, 32),
        (1_048_577, 64),
        (1 << 28, 128),
        (u32::MAX as usize, 256),
    ] {
        assert_eq!(FourD::new(0, peers).unwrap().structures().span, span, "{peers}");
    }
}

/// 001 section 4.3.4: 26, 50, 98 and 194, of which only the first falls into its interval.
#[test]
fn a_small_job_has_lists() {
    let is_plain = |percent, peers| {
        let mut desk = EngineFixture::new(FourD::with_adjustment(1, peers, percent).unwrap(), 1);
        desk.open(0);
        desk.receive(exact(0, 0, 0)).unwrap_err();
        desk.engine.structures().jump_points == 0
    };
    let sizes = [1, 12, 13, 25, 26, 256, 257, 4096, 4097, 65_536, 65_537];
    for peers in sizes {
        assert_eq!(is_plain(200, peers), peers < 26, "{peers}");
        assert_eq!(is_plain(100, peers), peers < 13, "{peers}");
        assert!(!is_plain(0, peers), "{peers}");
    }
    assert!(is_plain(2400, 257) && is_plain(2400, 599) && !is_plain(2400, 600));
    assert_eq!(FourD::fixed_bytes(10, 25), 0);
    assert_eq!(FourD::fixed_bytes(10, 26), 240);
    assert_eq!(FourD::new(10, 26).unwrap().structures().pool_bytes, 240);
}

/// The thesis's example: rank 80000 is (2, 14, 4, 0) for d = 32. The search stops at the first cube or jump point past
/// the target, and an insertion goes between.
#[test]
fn a_search_stops_as_soon_as_it_has_passed_the_place() {
    let rank = |c3: u32, c2: u32, c1: u32| c3 << 15 | c2 << 10 | c1 << 5;
    assert_eq!(rank(2, 14, 4), 80_000);
    let mut desk = EngineFixture::new(FourD::new(8, 1_048_576).unwrap(), 8);
    desk.open(0);
    for (c3, c2, c1) in [(1, 0, 0), (3, 0, 0), (2, 14, 3), (2, 14, 6), (2, 15, 4)] {
        desk.receive(exact(0, rank(c3, c2, c1), 0)).unwrap_err();
    }
    let hops = |desk: &mut EngineFixture<FourD>, at: u32| {
        let before = desk.engine.measures().traversals;
        assert_eq!(desk.probe(&exact(0, at, 0)), None);
        desk.engine.measures().traversals - before
    };
    // The lead; cube 1; the requested cube; its entry; jump points.
    assert_eq!(hops(&mut desk, rank(0, 0, 0)), 1 + 1);
    assert_eq!(hops(&mut desk, rank(4, 0, 0)), 1 + 3);
    assert_eq!(hops(&mut desk, rank(2, 13, 0)), 1 + 2 + 1);
    assert_eq!(hops(&mut desk, rank(2, 14, 2)), 1 + 2 + 1 + 1);
    assert_eq!(hops(&mut desk, rank(2, 14, 5)), 1 + 2 + 1 + 2);
    assert_eq!(hops(&mut desk, rank(2, 14, 7)), 1 + 2 + 1 + 2);

    let before = desk.engine.measures().traversals;
    let slot = desk.receive(exact(0, 80_000, 0)).unwrap_err();
    let search = desk.engine.measures().traversals - before;
    assert_eq!(search, 1 + 2 + 1 + 2, "and none for the insertion");
    assert_eq!(desk.arrive(envelope(0, 80_000, 0), 0), ArrivalResult::Received(slot));
    let deleted = desk.engine.measures().traversals - before - search;
    assert_eq!(deleted, 1 + 2 + 1 + 2 + 1, "and none for the deletion");

    assert!(matches!(
        desk.arrive(envelope(0, 80_000, 1), 0),
        ArrivalResult::Recorded(_)
    ));
    // The cursor is elsewhere.
    assert_eq!(desk.probe(&exact(0, 0, 0)), None);
    let before = desk.engine.measures().traversals;
    desk.receive(any_source(0, Some(1))).unwrap();
    let search = desk.engine.measures().traversals - before;
    let (cubes, jump_points) = (3, 6);
    let all = 1 + cubes * (1 + 32) + jump_points + 1;
    assert_eq!(search, all, "and none for the deletion");
}

/// An insertion or removal need not follow a search for the same rank.
#[test]
fn a_cursor_is_good_only_as_long_as_what_it_has_found_is_there() {
    let mut desk = EngineFixture::new(FourD::new(8, 4096).unwrap(), 8);
    desk.open(0);
    let post = |desk: &mut EngineFixture<FourD>, slot| desk.engine.post(&mut desk.requests, slot);
    let slot = desk.receive(exact(0, 8, 0)).unwrap_err();
    desk.engine.unpost(&mut desk.requests, slot);
    post(&mut desk, slot);
    assert_eq!(desk.engine.structures().jump_points, 1);
    let behind = desk.receive(exact(0, 16, 0)).unwrap_err();
    desk.cancel(slot);
    let before = desk.receive(exact(0, 0, 0)).unwrap_err();
    assert_eq!(desk.engine.structures().jump_points, 2);
    desk.engine.unpost(&mut desk.requests, behind);
    post(&mut desk, behind);
    for (rank, slot) in [(16, behind), (0, before)] {
        assert_eq!(desk.arrive(envelope(0, rank, 0), 0), ArrivalResult::Received(slot));
    }
    assert_eq!(desk.engine.structures().cubes, 0);
}

/// For any order of operations, all structures are freed.
#[test]
fn structures_are_given_back_when_they_are_empty() {
    let mut desk = EngineFixture::new(FourD::new(64, 4096).unwrap(), 64);
    for context in [0, 5] {
        desk.open(context);
    }
    let in_use = |desk: &EngineFixture<FourD>| {
        let got = desk.engine.structures();
        (got.leads, got.cubes, got.jump_points)
    };
    for (ranks, cubes, jump_points) in [
        ([0, 7, 8, 9], 1, 2),
        ([0, 64, 512, 576], 2, 4),
        ([4095, 3000, 2000, 1000], 4, 4),
    ] {
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
            let slots = ranks.map(|rank| desk.receive(exact(0, rank, 1)).unwrap_err());
            assert_eq!(in_use(&desk), (2, cubes, jump_points));
            // The sister queue shares them; another context has separate ones.
            for rank in ranks {
                desk.arrive(envelope(0, rank, 2), rank);
            }
            assert_eq!(in_use(&desk), (2, cubes, jump_points));
            for rank in ranks {
                desk.arrive(envelope(5, rank, 2), rank + 10_000);
            }
            assert_eq!(in_use(&desk), (2, 2 * cubes, 2 * jump_points));
            for at in order {
                desk.withdraw(ranks[at] + 10_000).unwrap();
                desk.cancel(slots[at]);
            }
            assert_eq!(in_use(&desk), (2, cubes, jump_points));
            for _ in order {
                desk.receive(any_source(0, Some(2))).unwrap();
            }
            assert_eq!(in_use(&desk), (2, 0, 0));
        }
    }
    assert!(desk.is_idle(0));
    assert_eq!(in_use(&desk), (1, 0, 0));
    assert!(desk.is_idle(5) && desk.is_idle(5));
    let left = desk.engine.structures();
    assert_eq!((left.leads, left.bytes), (0, 0));
    // Others reuse the freed objects.
    desk.open(7);
    desk.open(8);
    let again = desk.engine.structures();
    assert_eq!(again.pool_bytes, left.pool_bytes + 2 * 28);
}

/// The pools are exhausted exactly: receives and records of ranks so far apart that each requires a jump point, and
/// most a cube.
#[test]
fn the_pools_are_as_large_as_can_be_needed() {
    for contexts in [1, 2, 9] {
        let mut desk = EngineFixture::new(FourD::new(8, 4096).unwrap(), 8);
        (0..contexts).for_each(|context| desk.open(context));
        let far = |n: u32| {
            exact(
                n as u16 % contexts,
                (n / u32::from(contexts)) * 512 % 4096 + n / 8 % 64 * 8,
                0,
            )
        };
        for n in 0..8 {
            let pattern = far(n);
            let message = envelope(pattern.context(), pattern.source().map_or(0, Rank::index), 1);
            assert!(matches!(desk.arrive(message, n), ArrivalResult::Recorded(_)));
        }
        let slots: Vec<_> = (8..40).map(|n| desk.receive(far(n)).unwrap_err()).collect();
        let got = desk.engine.structures();
        assert_eq!(got.jump_points, 40, "{contexts}");
        assert_eq!(got.cubes, 40.min(8 * contexts as usize), "{contexts}");
        assert_eq!(got.bytes, got.pool_bytes);
        slots.into_iter().for_each(|slot| desk.cancel(slot));
        assert_eq!(desk.engine.structures().jump_points, 8);
    }
}

/// Records in borrowed memory use the linear queue until the pool has a free object.
#[test]
fn records_beyond_the_blocks_are_matched_in_order_too() {
    let mut desk = EngineFixture::new(FourD::new(2, 4096).unwrap(), 8);
    desk.open(0);
    let record = |desk: &mut EngineFixture<FourD>, rank| match desk.arrive(envelope(0, rank, 0), rank) {
        ArrivalResult::Recorded(at) => at,
        end => panic!("{end:?}"),
    };
    let ats = [0, 512, 1024, 0, 1536].map(|rank| record(&mut desk, rank));
    assert_eq!(desk.engine.structures().jump_points, 2);
    assert_eq!(desk.receive(exact(0, 0, 0)), Ok(ats[0]));
    let last = record(&mut desk, 0);
    assert_eq!(desk.engine.structures().jump_points, 2);
    assert_eq!(desk.receive(exact(0, 0, 0)), Ok(ats[3]));
    for at in [ats[1], ats[2], ats[4], last] {
        assert_eq!(desk.receive(any_source(0, None)), Ok(at));
    }
    assert!(desk.is_idle(0));
}

/// More than any heap provides; existing entries continue to work.
#[test]
fn a_pool_that_cannot_grow_says_so() {
    let mut desk = EngineFixture::new(FourD::new(8, 4096).unwrap(), 8);
    desk.open(0);
    let slot = desk.receive(exact(0, 1, 0)).unwrap_err();
    let before = desk.engine.structures();
    assert_eq!(desk.engine.reserve(usize::MAX / 48), Err(OutOfSpace));
    assert_eq!(desk.engine.reserve(CHUNK_SLOTS), Ok(()));
    assert_eq!(desk.engine.structures(), before);
    desk.open(1);
    assert_eq!(desk.engine.structures().leads, 2);
    assert_eq!(desk.arrive(envelope(0, 1, 0), 0), ArrivalResult::Received(slot));

    // No memory for the table or the cubes: the context stays closed, and works.
    let mut array = EngineFixture::new(PerRank::new(8, usize::MAX / 32).unwrap(), 8);
    array.open(0);
    assert_eq!(array.engine.structures().leads, 0);
    let slot = array.receive(exact(0, 1, 0)).unwrap_err();
    assert_eq!(array.arrive(envelope(0, 1, 0), 0), ArrivalResult::Received(slot));
    assert!(Cubes::new(usize::MAX / 64, 4096).is_none());
}
