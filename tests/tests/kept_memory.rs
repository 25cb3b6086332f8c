//! Exhausts a device's heap with a limiting allocator: the memory reserved for blocking calls is still available.
#![forbid(unsafe_code)]

use std::alloc::System;

use cap::Cap;
use midplane_device::envelope::{MatchPattern, Rank};
use midplane_device::memory::{RawMemory, Span};
use midplane_device::probe::ARMED_PROBES;
use midplane_device::request::{RESERVED_SLOTS, SendMode};
use midplane_device::send::SendTo;
use midplane_device::{Adi, DeviceConfig, DeviceMemory};
use midplane_lab::single_process;
use net_torus::Shape;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Destinations, more than fit into any of the heaps here.
const NODES: u16 = 128;
/// Size of a message that uses the pending send queue.
const LONG: usize = 300;

fn device() -> Adi {
    let config = DeviceConfig {
        shape: Shape::new([NODES, 1, 1], [true; 3]).expect("a machine"),
        rank: Rank::new(0),
        request_slots: usize::MAX,
    };
    let memory = DeviceMemory::allocate(1024, NODES.into()).expect("memory");
    Adi::new(config, memory).expect("a rank of the machine")
}

/// Runs `f` with a limit of `bytes` more bytes of heap.
fn with_heap<T>(bytes: usize, f: impl FnOnce() -> T) -> T {
    let limit = ALLOCATOR.allocated() + bytes;
    ALLOCATOR.set_limit(limit).expect("above what is allocated");
    let result = f();
    ALLOCATOR.set_limit(usize::MAX).expect("no limit");
    result
}

/// Sends to one destination after the other until the heap is full, then with blocking calls. Returns the numbers of
/// successful nonblocking and blocking sends.
fn send_until_full(adi: &mut Adi, len: usize, heap: usize) -> (u32, u32) {
    let mut destinations = (1..NODES.into()).map(|dest| SendTo {
        dest: Rank::new(dest),
        tag: 1,
        context: 0,
        mode: SendMode::Standard,
    });
    with_heap(heap, || {
        let sent = destinations
            .by_ref()
            .take_while(|&to| adi.isend(&mut RawMemory, to, Span::model(0, len)).is_ok())
            .count();
        let blocking = destinations
            .take(RESERVED_SLOTS as usize)
            .take_while(|&to| adi.send_within_call(&mut RawMemory, to, Span::model(0, LONG)).is_ok())
            .count();
        (sent as u32, blocking as u32)
    })
}

fn each_send_leaves_what_is_kept() {
    // A bcopy send reserves its slot in the queue; the other kind uses it.
    for len in [4, LONG] {
        let mut most = 0;
        for heap in (0..8192).step_by(32) {
            let (sent, blocking) = send_until_full(&mut device(), len, heap);
            assert_eq!(
                blocking, RESERVED_SLOTS,
                "after {sent} sends of {len} bytes, in a heap of {heap}"
            );
            most = most.max(sent);
        }
        assert!(most > 8 && most < u32::from(NODES) / 2, "{most}");
    }
}

fn a_probe_without_a_place_is_turned_away() {
    let mut adi = device();
    let pattern = |tag| MatchPattern::new(Some(Rank::new(1)), Some(tag), 0);
    with_heap(0, || {
        for tag in 0..ARMED_PROBES as i32 {
            assert_eq!(adi.iprobe(pattern(tag)), Ok(None));
        }
    });
}

/// One test, since the limit covers all threads.
#[test]
fn what_is_kept_is_there_when_the_heap_is_used_up() {
    single_process::until_others_sleep();
    each_send_leaves_what_is_kept();
    a_probe_without_a_place_is_turned_away();
}
