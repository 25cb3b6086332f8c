//! Random jobs of epochs, with their oracle: sequential memory.
//!
//! A job is a sequence of rounds, which every process executes in the same order: fences, post and start among some
//! processes, transactions under locks, several locks at a time, locks of all. In a round a process opens an epoch,
//! issues operations and closes it. In between it may do the same under a lock in another window, without waiting. A
//! process may wait for earlier rounds anywhere, and for the current one like a blocking call, because all other
//! processes execute the required calls in the same order. It releases its locks independent of the other processes.
//! Hence a job terminates.
//!
//! At a target, processes put to separate bytes, or add sums, whose order does not matter. They get their own completed
//! puts, or constant bytes. Accumulates of an epoch on its private bytes are ordered, and each result is known. So
//! every byte is known for any timing, except for those of `AtomicRace`, where any process may be first, and only one is.
//!
//! Larger jobs use three more windows:
//!
//! ```text
//!   mod.rs         a job, and the start and end of its epochs
//!   rounds.rs      the rounds of all jobs
//!   state.rs       state of the windows of larger jobs
//!   operations.rs  small operations
//!   large.rs       operations of several packets
//!   dynamic.rs     a window with attached and detached memory, and operations beyond it
//!   awaited.rs     blocking locks while others are held
//!   unchecked.rs   epochs with MPI_MODE_NOCHECK
//! ```

mod awaited;
mod dynamic;
mod large;
mod operations;
mod rounds;
mod state;
mod unchecked;

use midplane_cluster::random::{Random, RandomStream};
use midplane_device::envelope::Rank;
use midplane_device::rma::epochs::{EpochKind, ReorderFlags};

use super::memory::{ALL_WINDOWS, BUFFERS, HELD, LARGE, WINDOWS, part};
use super::script::ScriptCall;
use state::{DynamicState, LargeState};

/// A random job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowJob {
    /// Calls of each process.
    pub scripts: Vec<Vec<ScriptCall>>,
    /// Permitted reorderings of epochs.
    pub reorder: ReorderFlags,
    /// Number of windows.
    pub count: usize,
    /// By window and process: results that depend on the order of arrival.
    races: Vec<AtomicRace>,
}

/// Bytes at one process that all processes add to or compare with atomically, and the results of each.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct AtomicRace {
    /// Processes that have added 1 to the counter, and the location of their fetched value.
    tickets: Vec<(u32, usize)>,
    /// Processes that have tried to set their mark with a compare-and-swap: the mark, and the location of the previous
    /// value.
    claims: Vec<(u32, u8, usize)>,
}

/// The mark; the only byte that depends on the first process.
const CLAIM: usize = 0;
/// Bytes of a window that all processes add to.
const SUMS: std::ops::Range<usize> = 1..8;
/// Counter that all processes add 1 to.
const TICKET: usize = 8;
/// First offset of a window for single epochs.
const PLACES: usize = 9;
/// Source bytes of a process; results follow them.
const SOURCE: usize = 32;
/// Maximum length of an operation in bytes.
const MAX_LEN: usize = 12;

struct JobDraw {
    random: Random,
    size: u32,
    reorder: ReorderFlags,
    scripts: Vec<Vec<ScriptCall>>,
    opened: Vec<Vec<OpenedEpoch>>,
    /// By window and process: final contents, and the start of the unused memory.
    memory: Vec<Vec<(Vec<u8>, usize)>>,
    /// By process: start of the unused memory for results.
    results: Vec<usize>,
    /// By process: its puts.
    put: Vec<Vec<DrawnPut>>,
    /// By process: number of its operations and flushes.
    deferred: Vec<usize>,
    races: Vec<AtomicRace>,
    /// For larger jobs.
    large: LargeState,
    dynamic: Vec<DynamicState>,
}

#[derive(Clone)]
struct OpenedEpoch {
    window: usize,
    is_waited: bool,
    /// Required contents after the wait.
    expects: Vec<ScriptCall>,
}

impl OpenedEpoch {
    fn new(window: usize) -> OpenedEpoch {
        OpenedEpoch {
            window,
            is_waited: false,
            expects: Vec::new(),
        }
    }
}

#[derive(Clone)]
struct DrawnPut {
    epoch: usize,
    window: usize,
    target: u32,
    place: usize,
    from: usize,
    len: usize,
    is_strided: bool,
}

/// Returns source byte `at` of a process.
fn byte(rank: u32, at: usize) -> u8 {
    (rank as usize * 37 + at * 11 + (at >> 8) * 101 + 1) as u8
}

/// Returns the length of the range of `len` bytes.
fn reach(len: usize, is_strided: bool) -> usize {
    if is_strided { 2 * len - 1 } else { len }
}

impl JobDraw {
    fn open(&mut self, rank: u32, window: usize, sort: EpochKind, members: Vec<u32>) -> usize {
        self.scripts[rank as usize].push(ScriptCall::Open(window, sort, members));
        let opened = &mut self.opened[rank as usize];
        opened.push(OpenedEpoch::new(window));
        opened.len() - 1
    }

    fn close(&mut self, rank: u32, epoch: usize) {
        self.scripts[rank as usize].push(ScriptCall::Close(epoch));
    }

    /// Makes the process wait for the epoch, unless it has already.
    fn wait(&mut self, rank: u32, epoch: usize) {
        let opened = &mut self.opened[rank as usize][epoch];
        if !core::mem::replace(&mut opened.is_waited, true) {
            let script = &mut self.scripts[rank as usize];
            script.push(ScriptCall::WaitClosed(epoch));
            script.append(&mut opened.expects);
        }
    }

    /// Opens an epoch, blocking or nonblocking.
    fn open_or_wait(&mut self, rank: u32, window: usize, sort: EpochKind, members: Vec<u32>) -> usize {
        let epoch = self.open(rank, window, sort, members);
        if self.random.chance(0.2) {
            self.scripts[rank as usize].push(ScriptCall::WaitOpen(epoch));
        }
        epoch
    }

    /// Closes it, blocking or nonblocking.
    fn close_or_wait(&mut self, rank: u32, epoch: usize) {
        self.close(rank, epoch);
        if self.random.chance(0.2) {
            self.wait(rank, epoch);
        }
    }

    /// Lets some processes wait for an epoch of an earlier round, or compute.
    fn idle(&mut self) {
        for rank in 0..self.size {
            let waiting = &self.opened[rank as usize];
            if !waiting.is_empty() && self.random.chance(0.15) {
                let epoch = self.random.index(waiting.len());
                self.wait(rank, epoch);
            }
            if self.random.chance(0.3) {
                let turns = self.random.below(40);
                self.scripts[rank as usize].push(ScriptCall::Compute(turns));
            }
        }
    }

    /// Issues some operations of an epoch on a target, sometimes with a lock in another window.
    fn work(&mut self, rank: u32, window: usize, epoch: usize, target: u32) {
        self.operate(rank, window, epoch, target);
        if self.random.chance(0.1) {
            let aside = (window + 1 + self.random.index(WINDOWS - 1)) % WINDOWS;
            let (target, sort) = self.draw_lock();
            let epoch = self.open(rank, aside, sort, Vec::new());
            self.operate(rank, aside, epoch, target);
            self.close(rank, epoch);
        }
    }

    fn draw_lock(&mut self) -> (u32, EpochKind) {
        let target = self.random.below(self.size);
        let sort = EpochKind::Lock {
            target: Rank::new(target),
            is_exclusive: self.random.chance(0.5),
        };
        (target, sort)
    }

    /// Returns the processes that an epoch gives access to; `None`: all.
    fn target_of(&self, rank: u32, epoch: usize) -> Option<Vec<u32>> {
        let mut opened = self.scripts[rank as usize].iter().filter_map(|call| match call {
            ScriptCall::Open(_, sort, members) | ScriptCall::OpenUnchecked(_, sort, members) => Some((sort, members)),
            _ => None,
        });
        match opened.nth(epoch)? {
            (EpochKind::Lock { target, .. }, _) => Some(vec![target.index()]),
            (EpochKind::Start, members) => Some(members.clone()),
            _ => None,
        }
    }

    /// Waits for all epochs of all processes, and checks all memory.
    fn end(&mut self) {
        for window in 0..self.memory.len() {
            for rank in 0..self.size {
                let epoch = self.open(rank, window, EpochKind::Fence, Vec::new());
                self.close(rank, epoch);
            }
        }
        for rank in 0..self.size {
            self.wait_for_all(rank);
            for window in 0..self.memory.len() {
                let bytes = self.memory[window][rank as usize].0[CLAIM + 1..].to_vec();
                let all = ScriptCall::Expect(part(window).start + CLAIM + 1, bytes);
                self.scripts[rank as usize].push(all);
                self.ask_for_faults(rank, window);
            }
        }
    }

    fn wait_for_all(&mut self, rank: u32) {
        for epoch in 0..self.opened[rank as usize].len() {
            self.wait(rank, epoch);
        }
    }

    /// Makes all processes wait for their epochs in the window, and then for a common fence.
    fn meet(&mut self, window: usize) {
        for rank in 0..self.size {
            for epoch in 0..self.opened[rank as usize].len() {
                if self.opened[rank as usize][epoch].window == window {
                    self.wait(rank, epoch);
                }
            }
            let epoch = self.open(rank, window, EpochKind::Fence, Vec::new());
            self.close(rank, epoch);
            self.wait(rank, epoch);
        }
    }
}

/// Property: the fetched counter values are unique and valid.
pub const TICKETS: &str = "each process gets a number of its own";
/// Property: exactly one process finds no mark, and all others find its mark.
pub const CLAIMS: &str = "one process puts its mark, and all others find it";

impl AtomicRace {
    /// Checks the results, from the mark and from `got`, which returns a byte of a process's memory.
    fn check(&self, mark: u8, got: impl Fn(u32, usize) -> u8) -> Result<(), &'static str> {
        let tickets = self.tickets.iter().map(|(rank, at)| got(*rank, *at));
        let mut tickets: Vec<u8> = tickets.collect();
        tickets.sort_unstable();
        if !tickets.into_iter().eq(0..self.tickets.len() as u8) {
            return Err(TICKETS);
        }
        let found = |own: u8| if own == mark { 0 } else { mark };
        let mut claims = self.claims.iter();
        let is_one = self.claims.is_empty() || claims.any(|(_, own, _)| *own == mark);
        let mut claims = self.claims.iter();
        if is_one && claims.all(|(rank, own, at)| got(*rank, *at) == found(*own)) {
            Ok(())
        } else {
            Err(CLAIMS)
        }
    }
}

impl WindowJob {
    /// Returns a job without windows.
    pub fn none() -> WindowJob {
        WindowJob {
            scripts: Vec::new(),
            reorder: ReorderFlags::default(),
            count: 0,
            races: Vec::new(),
        }
    }

    /// Checks the results that depend on the order of arrival, after all processes have ended; `got` returns a byte of
    /// a process's memory. Returns the violated property.
    pub fn check(&self, got: impl Fn(u32, usize) -> u8) -> Result<(), &'static str> {
        let size = self.scripts.len();
        let mut races = self.races.iter().enumerate();
        races.try_for_each(|(number, race)| {
            let at = part(number / size).start + CLAIM;
            let mark = got((number % size) as u32, at);
            race.check(mark, &got)
        })
    }

    /// Draws a job of `size` processes.
    pub fn draw(size: u32, seed: u64) -> WindowJob {
        let mut draw = JobDraw::begin(size, seed, WINDOWS);
        for _ in 0..1 + draw.random.below(8) {
            let window = draw.random.index(WINDOWS);
            match draw.random.below(6) {
                0 => draw.fences(window),
                1 | 2 => draw.posts(window),
                3 => draw.locks(window),
                4 => draw.nested_locks(window),
                _ => draw.locks_of_all(window),
            }
            draw.idle();
        }
        draw.finish()
    }

    /// Draws a larger job.
    pub fn draw_large(size: u32, seed: u64) -> WindowJob {
        let mut draw = JobDraw::begin(size, seed, ALL_WINDOWS);
        draw.begin_large();
        for _ in 0..1 + draw.random.below(8) {
            let window = draw.random.pick(&[0, 1, 2, LARGE, LARGE, LARGE]);
            match draw.random.below(14) {
                0 => draw.fences(window),
                1 => draw.posts(window),
                2 => draw.locks(window),
                3 => draw.nested_locks(window),
                4 => draw.locks_of_all(window),
                5 => draw.nested_locks(HELD),
                6 => draw.posts_unchecked(window),
                7 => draw.locks_unchecked(window),
                8 | 9 => draw.locks_in_order(),
                10 => draw.locks_shared(),
                _ => draw.attachments(),
            }
            draw.idle();
        }
        draw.finish()
    }
}

impl JobDraw {
    /// Creates a job with only the first call, which writes the source bytes.
    fn begin(size: u32, seed: u64, count: usize) -> JobDraw {
        let own = |rank| (0..SOURCE).map(|at| byte(rank, at)).collect();
        let begin = |rank| vec![ScriptCall::Write(BUFFERS, own(rank))];
        let empty = |window| vec![(vec![0; part(window).len()], PLACES); size as usize];
        let mut random = Random::new(seed, RandomStream::Windows);
        let reorder = ReorderFlags {
            access_after_access: random.chance(0.5),
            access_after_exposure: random.chance(0.5),
            exposure_after_exposure: random.chance(0.5),
            exposure_after_access: random.chance(0.5),
        };
        JobDraw {
            random,
            size,
            reorder,
            scripts: (0..size).map(begin).collect(),
            opened: vec![Vec::new(); size as usize],
            memory: (0..count).map(empty).collect(),
            results: vec![SOURCE; size as usize],
            put: vec![Vec::new(); size as usize],
            deferred: vec![0; size as usize],
            races: vec![AtomicRace::default(); count * size as usize],
            large: LargeState::new(size),
            dynamic: vec![DynamicState::default(); size as usize],
        }
    }

    fn finish(mut self) -> WindowJob {
        self.end();
        WindowJob {
            count: self.memory.len(),
            scripts: self.scripts,
            reorder: self.reorder,
            races: self.races,
        }
    }
}
