//! Checks that the device allocates exactly the bytes that its constants specify.
#![forbid(unsafe_code)]

use std::alloc::System;

use cap::Cap;
use midplane_device::envelope::{MatchPattern, Rank};
use midplane_device::matching::EngineKind;
use midplane_device::memory::{RawMemory, Span};
use midplane_device::peers::{PAGE_PEERS, PREALLOCATED_PAGES};
use midplane_device::pending::{CHUNK_DESTINATIONS, DESTINATION_BYTES};
use midplane_device::region::BLOCK_BYTES;
use midplane_device::request::{CHUNK_SLOTS, RESERVED_SLOTS, RequestPool, SendMode};
use midplane_device::send::SendTo;
use midplane_device::{Adi, DeviceConfig, DeviceMemory, MemoryBudget};
use midplane_engines::EngineChoice;
use midplane_lab::single_process;
use net_torus::chunk::CHUNK_BYTES;
use net_torus::{BufferSizes, Router, Shape};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Maximum size in bytes of a short list of the standard library.
const LEAST_LIST: usize = 256;

/// Returns the bytes that `f` allocates and keeps.
fn taken<T>(f: impl Fn() -> T) -> usize {
    let before = ALLOCATOR.allocated();
    let value = f();
    let bytes = ALLOCATOR.allocated() - before;
    drop(value);
    bytes
}

/// Extents of a machine with more nodes than destinations are used here.
const NODES: [u16; 3] = [32, 32, 8];
/// Chunks of requests, before and after the list of chunks grows, which doubles.
const CHUNKS: [usize; 6] = [5, 8, 9, 64, 65, 129];

fn device() -> Adi {
    let shape = Shape::new(NODES, [true; 3]).expect("a machine");
    let memory = DeviceMemory::allocate(0, shape.nodes() as usize).expect("memory");
    let config = DeviceConfig {
        shape,
        rank: Rank::new(0),
        request_slots: usize::MAX,
    };
    Adi::new(config, memory).expect("a rank of the machine")
}

/// Returns the bytes per request that `start` allocates, from the third chunk on to `chunks` chunks.
fn bytes_each(chunks: usize, start: impl Fn(&mut Adi, u32)) -> f64 {
    let requests = |chunks: usize| (chunks * CHUNK_SLOTS) as u32 - RESERVED_SLOTS;
    let after = |requests: u32| {
        taken(|| {
            let mut adi = device();
            (0..requests).for_each(|request| start(&mut adi, request));
            assert_eq!(adi.requests().live(), requests);
            adi
        })
    };
    let (few, many) = (requests(3), requests(chunks));
    (after(many) - after(few)) as f64 / f64::from(many - few)
}

/// A pending send or a posted receive requires at most 64 bytes, including all links, for any keys. A destination
/// requires at most 72 bytes.
fn a_request_takes_64_bytes_and_a_destination_72() {
    let send = |adi: &mut Adi, dest: u32, tag: u32| {
        let to = SendTo {
            dest: Rank::new(dest),
            tag: tag as i32,
            context: 0,
            mode: SendMode::Synchronous,
        };
        assert!(adi.isend(&mut RawMemory, to, Span::EMPTY).is_ok());
    };
    let receive = |adi: &mut Adi, source: u32, tag: u32| {
        let pattern = MatchPattern::new(Some(Rank::new(source)), Some(tag as i32), 0);
        assert!(adi.irecv(&mut RawMemory, pattern, Span::EMPTY).is_ok());
    };
    for chunks in CHUNKS {
        let sends = bytes_each(chunks, |adi, _| send(adi, 1, 5));
        let of_tags = bytes_each(chunks, |adi, i| send(adi, 1, i));
        let receives = bytes_each(chunks, |adi, _| receive(adi, 1, 5));
        let of_sources = bytes_each(chunks, |adi, i| receive(adi, 1 + i, i));
        for each in [sends, of_tags, receives, of_sources] {
            assert!((63.0..=64.0).contains(&each), "{each} in {chunks} chunks");
        }
        let of_destinations = bytes_each(chunks, |adi, i| send(adi, 1 + i, 5));
        let a_destination = of_destinations - sends;
        assert!(
            (DESTINATION_BYTES as f64..=72.0).contains(&a_destination),
            "{a_destination} in {chunks} chunks"
        );
    }
}

/// Memory of an engine in a machine of these extents: at start, for two more communicators, and for receives.
struct Terms {
    extents: [u16; 3],
}

/// One block per cube of the 4-D queue for 8 contexts on 4,096 nodes. With more, it allocates space for many more
/// receives at a time.
const ENGINE_MPI_MEMORY: usize = 64 * BLOCK_BYTES;

impl Terms {
    fn check(&self, kind: &EngineKind) {
        let shape = Shape::new(self.extents, [true; 3]).expect("a machine");
        let peers = shape.nodes() as usize;
        let config = DeviceConfig {
            shape,
            rank: Rank::new(0),
            request_slots: usize::MAX,
        };
        let mpi_memory = ENGINE_MPI_MEMORY;
        let budget = MemoryBudget::with_engine(kind, mpi_memory, peers);
        let allocate = || DeviceMemory::with_engine(kind, mpi_memory, peers).expect("memory");
        let name = kind.name;
        assert_eq!(taken(allocate), budget.total(), "{name} at start");
        let device = || Adi::new(config, allocate()).expect("a rank of the machine");
        // Two contexts each; the list of contexts doubles from four to eight.
        let more = || {
            let mut adi = device();
            adi.open_context(4);
            adi.open_context(6);
            adi
        };
        let of_contexts = 4 * (kind.context_bytes)(peers);
        assert_eq!(taken(more) - taken(device), of_contexts, "{name}, contexts");
        contexts_may_find_no_room(device, of_contexts, name);
        // Enough receives for the engine's memory to grow once, and the pool's by a chunk.
        let receives = |count: usize| {
            move || {
                let mut adi = device();
                let pattern = MatchPattern::new(Some(Rank::new(0)), Some(1), 0);
                for _ in 0..count {
                    assert!(adi.irecv(&mut RawMemory, pattern, Span::EMPTY).is_ok());
                }
                adi
            }
        };
        let first = CHUNK_SLOTS - RESERVED_SLOTS as usize % CHUNK_SLOTS;
        let least = taken(receives(first));
        let of_requests = CHUNK_SLOTS * RequestPool::SLOT_BYTES;
        let of_receives = taken(receives(first + 1)) - least;
        let expected = of_requests + CHUNK_SLOTS * (kind.receive_bytes)(peers);
        assert!(
            (expected..expected + LEAST_LIST).contains(&of_receives),
            "{name}, receives: {of_receives} for {expected}"
        );
    }
}

/// Contexts without engine memory are stored among all others and leak nothing. Contexts opened after memory is
/// available again allocate the usual amount.
fn contexts_may_find_no_room(device: impl Fn() -> Adi, of_contexts: usize, name: &str) {
    let steps = 16;
    for left in (0..steps).map(|step| of_contexts * step / steps) {
        let mut adi = device();
        let before = ALLOCATOR.allocated();
        ALLOCATOR
            .set_limit(before + left)
            .expect("no less than what is allocated");
        adi.open_context(4);
        adi.open_context(6);
        ALLOCATOR.set_limit(usize::MAX).expect("no limit");
        adi.open_context(4);
        adi.open_context(6);
        let bytes = ALLOCATOR.allocated() - before;
        assert_eq!(bytes, of_contexts, "{name}, {left} bytes at first");
    }
}

/// Returns the initial and the maximum size of the peer table: 2.5 bytes per peer, with the bits stored as words.
/// Larger machines use a list of pages, some of them allocated at the start, and five bits per 16 peers to find waiting
/// ones.
fn bytes_of_peers(peers: usize) -> (usize, usize) {
    let pages = peers.div_ceil(PAGE_PEERS);
    let list = pages * size_of::<usize>() + peers.div_ceil(1024) * 40;
    let of_pages = |pages: usize| list + pages * PAGE_PEERS * 5 / 2;
    match pages {
        1 => [peers.div_ceil(16) * 8 + peers * 2; 2].into(),
        _ => (of_pages(PREALLOCATED_PAGES), of_pages(pages)),
    }
}

/// Checks the device's initial memory, its initial requests, and those allocated in chunks.
fn the_budget_is_taken() {
    for (extents, mpi_memory) in [
        ([1, 1, 1], 0),
        ([2, 2, 2], 32),
        ([3, 5, 7], 1000),
        ([64, 32, 32], 64 << 10),
        ([16, 16, 16], 3 << 20),
    ] {
        let shape = Shape::new(extents, [true; 3]).expect("a machine");
        let peers = shape.nodes() as usize;
        let budget = MemoryBudget::for_job(mpi_memory, peers).with_values(&shape);
        let allocate = || {
            let memory = DeviceMemory::allocate(mpi_memory, peers);
            let memory = memory.and_then(|memory| memory.with_values(&shape));
            memory.expect("memory")
        };
        assert_eq!(taken(allocate), budget.total(), "{extents:?}, {mpi_memory}");
        assert_eq!((budget.peers, budget.most_peers), bytes_of_peers(peers));

        let config = DeviceConfig {
            shape,
            rank: Rank::new(0),
            request_slots: usize::MAX,
        };
        let device = || Adi::new(config, allocate()).expect("a rank of the machine");
        let bytes = taken(device) - budget.total();
        let chunk = CHUNK_SLOTS * RequestPool::SLOT_BYTES;
        let kept = RESERVED_SLOTS as usize;
        let slots = kept.div_ceil(CHUNK_SLOTS) * chunk;
        let destinations = kept.next_multiple_of(CHUNK_DESTINATIONS) * DESTINATION_BYTES;
        let chunks = slots + destinations;
        assert!(
            (chunks..=chunks + 2 * LEAST_LIST).contains(&bytes),
            "the kept requests: {slots}, their destinations: {destinations}: {bytes}"
        );

        // Further requests are allocated in chunks, for the program's calls only.
        let pattern = MatchPattern::new(Some(Rank::new(0)), Some(1), 0);
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
}

fn a_router_takes_its_buffers() {
    let shape = Shape::new([4, 4, 4], [true; 3]).expect("a machine");
    let sizes = BufferSizes::BLUE_GENE;
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

// One test: the allocator counts for the whole process.
#[test]
fn what_is_taken_is_what_is_said() {
    single_process::until_others_sleep();
    a_request_takes_64_bytes_and_a_destination_72();
    the_budget_is_taken();
    for extents in [[2, 2, 1], [16, 16, 16]] {
        for choice in EngineChoice::ALL {
            Terms { extents }.check(&choice.kind());
        }
    }
    a_router_takes_its_buffers();
}
