//! Parallel simulation: one thread per part, synchronized tick by tick.

use super::experiment::SimError;
use super::partition::{NetworkPartition, PartitionMail};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::Mutex;

/// Number of polls before a waiting thread yields to the host: ticks take microseconds.
const LOOKS: u32 = 1 << 12;

/// Barrier of the threads.
struct ThreadBarrier {
    threads: usize,
    waiting: AtomicUsize,
    /// Number of completed rounds.
    rounds: AtomicU64,
    /// A thread has panicked: waiting is pointless.
    broken: AtomicBool,
}

impl ThreadBarrier {
    fn new(threads: usize) -> ThreadBarrier {
        ThreadBarrier {
            threads,
            waiting: AtomicUsize::new(0),
            rounds: AtomicU64::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits for all threads. Returns false if one of them has panicked.
    fn pass(&self) -> bool {
        let round = self.rounds.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.rounds.store(round + 1, Ordering::Release);
            return true;
        }
        let mut looks = 0;
        while self.rounds.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Acquire) {
                return false;
            }
            looks += 1;
            if looks < LOOKS {
                core::hint::spin_loop()
            } else {
                std::thread::yield_now()
            }
        }
        true
    }
}

/// Releases the other threads when its thread panics.
struct BarrierGuard<'a>(&'a ThreadBarrier);

impl Drop for BarrierGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
        }
    }
}

/// State shared by all threads.
struct SharedState {
    gate: ThreadBarrier,
    /// Events by tick (even or odd), then by sender and receiver. A thread is at most one tick ahead, so it never
    /// writes a slot that another still reads.
    mail: [Vec<Mutex<PartitionMail>>; 2],
    parts: usize,
    /// First tick that failed.
    failed: AtomicU64,
}

/// Runs all parts for `ticks` ticks, each in a thread, and exchanges their events. Returns the first error.
pub(super) fn run_together(parts: &mut [NetworkPartition<'_>], ticks: u64) -> Result<(), SimError> {
    let count = parts.len();
    let boxes = || (0..count * count).map(|_| Mutex::default()).collect();
    let shared = &SharedState {
        gate: ThreadBarrier::new(count),
        mail: [boxes(), boxes()],
        parts: count,
        failed: AtomicU64::new(u64::MAX),
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let run = |(number, part)| scope.spawn(move || run_part(shared, number, part, ticks));
        let threads: Vec<_> = parts.iter_mut().enumerate().map(run).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.collect()
    });
    results
        .into_iter()
        .try_for_each(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

fn run_part(shared: &SharedState, number: usize, part: &mut NetworkPartition<'_>, ticks: u64) -> Result<(), SimError> {
    let _breaks = BarrierGuard(&shared.gate);
    for tick in 0..ticks {
        let result = part.tick();
        if result.is_err() {
            shared.failed.fetch_min(tick, Ordering::AcqRel);
        }
        let mail = &shared.mail[tick as usize % 2];
        let others = || (0..shared.parts).filter(|&other| other != number);
        for to in others() {
            let mut there = lock(&mail[number * shared.parts + to]);
            core::mem::swap(&mut *there, &mut part.out[to]);
        }
        if !shared.gate.pass() || shared.failed.load(Ordering::Acquire) <= tick {
            return result;
        }
        for from in others() {
            part.take_mail(&mut lock(&mail[from * shared.parts + number]));
        }
    }
    Ok(())
}

/// The data stays consistent when a thread panics.
fn lock(mail: &Mutex<PartitionMail>) -> std::sync::MutexGuard<'_, PartitionMail> {
    mail.lock().unwrap_or_else(|held| held.into_inner())
}
