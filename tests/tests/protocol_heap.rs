//! Lets each allocation of the device fail in turn, with a limiting allocator.
#![forbid(unsafe_code)]

use std::alloc::System;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Mutex;

use cap::Cap;
use midplane_device::envelope::Rank;
use midplane_lab::sim::{ProgramHeaps, SeededJob, SimJob};
use midplane_lab::single_process;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Heap with an injected limit: one call, or every call from one on, gets only `bytes` bytes.
#[derive(Default)]
struct Scarce {
    /// Index of the first limited call.
    from: usize,
    /// Later calls are limited, too, until nothing can move any more.
    lasts: bool,
    bytes: usize,
    calls: Cell<usize>,
    extended: Cell<bool>,
    failed: Cell<bool>,
    before: Cell<usize>,
    /// Bytes that each call allocated permanently.
    taken: RefCell<Vec<usize>>,
}

impl ProgramHeaps for Scarce {
    fn enter(&self, _: Rank) {
        let call = self.calls.get();
        let scarce = call == self.from || (self.lasts && call > self.from && !self.extended.get());
        // The record grows outside of the call.
        self.taken.borrow_mut().reserve(1);
        self.before.set(ALLOCATOR.allocated());
        if scarce {
            let limit = self.before.get() + self.bytes;
            ALLOCATOR.set_limit(limit).expect("a limit above what is allocated");
        }
    }

    fn exit(&self, _: Rank) {
        ALLOCATOR.set_limit(usize::MAX).expect("no limit");
        let taken = ALLOCATOR.allocated().saturating_sub(self.before.get());
        self.taken.borrow_mut().push(taken);
        self.calls.set(self.calls.get() + 1);
    }

    fn extend(&self) -> bool {
        self.failed.set(true);
        !self.extended.replace(true)
    }
}

/// Seeds of the jobs with injected allocation failures in a bounded run.
const FEW: Range<u64> = 0..25;
/// The other seeds of the complete run.
const OTHERS: Range<u64> = 25..100;
/// Skips two thirds of the jobs with large windows, which require as much time as all others.
fn is_left_out(seed: u64) -> bool {
    matches!(seed % 9, 4 | 7)
}
/// Number of different limits, as fractions of a call's allocations.
const PARTS: usize = 8;

/// A call that fails for lack of memory has no effect, and the job completes once memory is available: whichever
/// allocation failed, nothing is lost.
#[test]
fn every_allocation_in_turn_may_fail() {
    fail_in_turn(FEW);
}

#[test]
#[ignore = "takes a minute: 75 more seeds"]
fn every_allocation_of_more_jobs_may_fail() {
    fail_in_turn(OTHERS);
}

/// Runs the jobs of these seeds once for each allocation, which fails.
fn fail_in_turn(seeds: Range<u64>) {
    // The allocator's limit holds for the whole process.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock();
    single_process::until_others_sleep();
    let (mut failed, mut waited) = (0, 0);
    for seed in seeds.filter(|&seed| !is_left_out(seed)) {
        let SeededJob { program, mut setup } = SeededJob::draw(seed);
        setup.request_slots = usize::MAX;
        let job = SimJob {
            program: &program,
            setup,
        };
        let run = |heap: Scarce| {
            let report = job
                .run_in(&heap)
                .unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
            assert_eq!(report.short, None, "seed {seed}: there was memory in the end");
            heap
        };
        let plenty = Scarce {
            from: usize::MAX,
            ..Scarce::default()
        };
        let taken = run(plenty).taken.take();
        for (from, &bytes) in taken.iter().enumerate().filter(|&(_, &bytes)| bytes > 0) {
            for part in 0..PARTS {
                for lasts in [false, true] {
                    let heap = run(Scarce {
                        from,
                        lasts,
                        bytes: (bytes - 1) * part / (PARTS - 1),
                        ..Scarce::default()
                    });
                    failed += 1;
                    waited += usize::from(heap.failed.get());
                }
            }
        }
    }
    println!("{failed} times an allocation failed; {waited} times nothing else could go on");
    assert!(failed > 1000 && waited > 100);
}
