//! The device takes from the heap what its constants say, to the byte.
#![forbid(unsafe_code)]

use std::alloc::System;

use cap::Cap;
use mpi_adi::envelope::{Pattern, Rank};
use mpi_adi::matching::{Choice, Matching, WithEngine};
use mpi_adi::memory::{RawMemory, Span};
use mpi_adi::pending::{DESTINATION_BYTES, INDEX_BYTES};
use mpi_adi::protocol::Sound;
use mpi_adi::region::BLOCK_BYTES;
use mpi_adi::request::{CHUNK_SLOTS, KEPT_SLOTS, Mode, RequestPool};
use mpi_adi::send::SendTo;
use mpi_adi::{Adi, Budget, Config, Memory};
use net_torus::chunk::CHUNK_BYTES;
use net_torus::{Router, Shape, Sizes};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What a short list of the standard library takes at most, in bytes.
const LEAST_LIST: usize = 256;

/// What `f` leaves allocated, in bytes: the least of several times, since the test harness has a thread of
/// its own.
fn taken<T>(f: impl Fn() -> T) -> usize {
    let once = || {
        let before = ALLOCATOR.allocated();
        let value = f();
        let bytes = ALLOCATOR.allocated() - before;
        drop(value);
        bytes
    };
    (0..5).map(|_| once()).min().expect("five times")
}

/// The index of pending messages doubles when it is 7/8 full, and has then so many entries more.
fn an_index_entry_takes_what_is_said() {
    const ENTRIES: usize = 128;
    let config = Config {
        shape: Shape::new([2, 1, 1], [true; 3]).expect("a machine"),
        rank: Rank::new(0),
        request_slots: usize::MAX,
    };
    let to = SendTo {
        dest: Rank::new(1),
        tag: 1,
        context: 0,
        mode: Mode::Synchronous,
    };
    let pending = |messages: usize| {
        move || {
            let memory = Memory::allocate(0, 2).expect("memory");
            let mut adi = Adi::new(config, memory).expect("a rank of the machine");
            for _ in 0..messages {
                assert!(adi.isend(to, Span::EMPTY).is_ok());
            }
            adi
        }
    };
    let full = ENTRIES / 8 * 7 - KEPT_SLOTS as usize;
    assert!(
        !(full + KEPT_SLOTS as usize).is_multiple_of(CHUNK_SLOTS),
        "the slots do not grow with the index"
    );
    let more = taken(pending(full + 1)) - taken(pending(full));
    assert_eq!(more, ENTRIES * INDEX_BYTES);
}

/// An engine's own memory in a machine of these extents: at start, for two communicators more, for receives.
struct Terms {
    extents: [u16; 3],
}

/// As many blocks as 8 contexts have cubes of the 4-D queue, on 4,096 nodes; with more, it takes room for many more
/// receives at once.
const ENGINE_MPI_MEMORY: usize = 64 * BLOCK_BYTES;

impl WithEngine for Terms {
    type Output = ();

    fn run<E: Matching>(self) {
        let shape = Shape::new(self.extents, [true; 3]).expect("a machine");
        let peers = shape.nodes() as usize;
        let config = Config {
            shape,
            rank: Rank::new(0),
            request_slots: usize::MAX,
        };
        let mpi_memory = ENGINE_MPI_MEMORY;
        let budget = Budget::with_engine::<E>(mpi_memory, peers);
        let allocate = || Memory::<E>::with_engine(mpi_memory, peers).expect("memory");
        let name = E::NAME;
        assert_eq!(taken(allocate), budget.total(), "{name} at start");
        let device = || Adi::with_rules(config, allocate(), Sound).expect("a rank of the machine");
        // Two contexts each; the list of contexts doubles from four to eight.
        let more = || {
            let mut adi = device();
            adi.open_context(4);
            adi.open_context(6);
            adi
        };
        let of_contexts = 4 * E::context_bytes(peers);
        assert_eq!(taken(more) - taken(device), of_contexts, "{name}, contexts");
        // As many receives as make the engine's memory for them grow once, and the pool's by a chunk.
        let receives = |count: usize| {
            move || {
                let mut adi = device();
                let pattern = Pattern::new(Some(Rank::new(0)), Some(1), 0);
                for _ in 0..count {
                    assert!(adi.irecv(&mut RawMemory, pattern, Span::EMPTY).is_ok());
                }
                adi
            }
        };
        let first = CHUNK_SLOTS - KEPT_SLOTS as usize % CHUNK_SLOTS;
        let least = taken(receives(first));
        let of_requests = CHUNK_SLOTS * RequestPool::SLOT_BYTES;
        let of_receives = taken(receives(first + 1)) - least;
        let expected = of_requests + CHUNK_SLOTS * E::receive_bytes(peers);
        assert!(
            (expected..expected + LEAST_LIST).contains(&of_receives),
            "{name}, receives: {of_receives} for {expected}"
        );
    }
}

#[test]
fn what_is_taken_is_what_is_said() {
    an_index_entry_takes_what_is_said();
    for (extents, mpi_memory) in [
        ([1, 1, 1], 0),
        ([2, 2, 2], 32),
        ([3, 5, 7], 1000),
        ([64, 32, 32], 64 << 10),
        ([16, 16, 16], 3 << 20),
    ] {
        let shape = Shape::new(extents, [true; 3]).expect("a machine");
        let peers = shape.nodes() as usize;
        let budget = Budget::of(mpi_memory, peers);
        let allocate = || Memory::allocate(mpi_memory, peers).expect("memory");
        assert_eq!(taken(allocate), budget.total(), "{extents:?}, {mpi_memory}");
        assert_eq!(budget.peers, (peers * 5).div_ceil(2), "2.5 bytes a peer");

        let config = Config {
            shape,
            rank: Rank::new(0),
            request_slots: usize::MAX,
        };
        let device = || Adi::new(config, allocate()).expect("a rank of the machine");
        let bytes = taken(device) - budget.total();
        let chunk = CHUNK_SLOTS * RequestPool::SLOT_BYTES;
        let kept = KEPT_SLOTS as usize;
        let slots = kept.div_ceil(CHUNK_SLOTS) * chunk;
        let index = 4 * kept * INDEX_BYTES;
        let destinations = 2 * kept * DESTINATION_BYTES;
        assert!(
            (slots..=slots + destinations + index + 2 * LEAST_LIST).contains(&bytes),
            "the kept requests: {slots}, their destinations: {destinations}, and an index: {bytes}"
        );

        // Further requests come in chunks, for the program's own calls only.
        let pattern = Pattern::new(Some(Rank::new(0)), Some(1), 0);
        let busy = || {
            let mut adi = device();
            for _ in 0..3 * CHUNK_SLOTS {
                let id = adi.irecv(&mut RawMemory, pattern, Span::EMPTY);
                assert!(id.is_ok());
            }
            adi
        };
        let more = taken(busy) - budget.total() - bytes;
        assert!(
            (3 * chunk..3 * chunk + LEAST_LIST).contains(&more),
            "three chunks of {chunk}: {more}"
        );
    }

    for extents in [[2, 2, 1], [16, 16, 16]] {
        for choice in Choice::ALL {
            choice.with(Terms { extents });
        }
    }

    let shape = Shape::new([4, 4, 4], [true; 3]).expect("a machine");
    let sizes = Sizes::BLUE_GENE;
    let here = shape.coord(0).expect("a rank of the machine");
    let router = || {
        let mut chunks = vec![[0; CHUNK_BYTES]; sizes.chunks()];
        assert!(Router::new(shape, here, sizes, &mut chunks).is_ok());
        chunks
    };
    assert_eq!(
        taken(router),
        sizes.chunks() * CHUNK_BYTES,
        "a router takes nothing but its buffers"
    );
}
