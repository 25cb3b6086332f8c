//! Random jobs of epochs, with their oracle: sequential memory.
//!
//! A job is a sequence of rounds, which every process goes through in the same order: fences, post and start among some,
//! transactions under locks, several locks at a time, locks of all. In a round a process opens, does what it does and
//! closes; between the two it may do the same under a lock in another window, of which it waits for nothing. It waits for
//! what was before wherever it likes, and for what it does now as calls do that block: there, in the same order, all
//! others come to what it waits for. What it has locked it gives back whatever others do. So a job ends.
//!
//! What processes put at a target are bytes of their own places, or sums, in which the order is of no account; what they
//! get they have put themselves and waited for, or nobody changes. Accumulates of an epoch on a place of its own are
//! done in their order, each result is known. So every byte is known, whatever comes first; but for those of `Race`,
//! where all may come first, and only one does.
//!
//! Larger jobs have three windows more:
//!
//! ```text
//!   mod.rs         a job, and how its epochs begin and end
//!   rounds.rs      the rounds of all jobs
//!   operations.rs  small operations
//!   large.rs       operations of several packets
//!   dynamic.rs     a window whose memory is attached and detached, and operations beyond it
//!   awaited.rs     locks that are waited for while others are held
//!   unchecked.rs   epochs with MPI_MODE_NOCHECK
//! ```

mod awaited;
mod dynamic;
mod large;
mod operations;
mod rounds;
mod unchecked;

use midplane_cluster::random::{Random, Stream};
use midplane_device::envelope::Rank;
use midplane_device::rma::epochs::{Reorder, Sort};

use super::memory::{ALL_WINDOWS, BUFFERS, HELD, LARGE, WINDOWS, part};
use super::script::Call;

/// A random job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Windows {
    /// What each process calls.
    pub scripts: Vec<Vec<Call>>,
    /// Which epochs may pass others.
    pub reorder: Reorder,
    /// How many windows there are.
    pub count: usize,
    /// By window and process: who came first there is not known before.
    races: Vec<Race>,
}

/// What all add to or compare with at one process, atomically: what each has got of it.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Race {
    /// Who has added 1 to the number, and where the number before is that it has got.
    tickets: Vec<(u32, usize)>,
    /// Who has put its mark where there was none, or has found one: its mark, and where that is which it has found.
    claims: Vec<(u32, u8, usize)>,
}

/// Whose mark is there; the only byte that depends on who is first.
const CLAIM: usize = 0;
/// Bytes of a window in which all add.
const SUMS: std::ops::Range<usize> = 1..8;
/// The number that all add 1 to.
const TICKET: usize = 8;
/// The first place of a window that is for one epoch alone.
const PLACES: usize = 9;
/// Bytes that a process puts, its own; results go behind them.
const SOURCE: usize = 32;
/// The most bytes of an operation.
const MOST: usize = 12;

struct Draw {
    random: Random,
    size: u32,
    reorder: Reorder,
    scripts: Vec<Vec<Call>>,
    /// Epochs that each process has opened.
    opened: Vec<Vec<Opened>>,
    /// By window and process: what is there in the end, and where nothing has been put yet.
    memory: Vec<Vec<(Vec<u8>, usize)>>,
    /// By process: where nothing has come to yet.
    results: Vec<usize>,
    /// By process: what it has put where.
    put: Vec<Vec<Put>>,
    /// By process: its operations and flushes.
    deferred: Vec<usize>,
    races: Vec<Race>,
    /// Of the larger jobs.
    large: large::State,
    dynamic: Vec<dynamic::Process>,
}

/// An epoch of a process.
#[derive(Clone)]
struct Opened {
    window: usize,
    /// It has been waited for.
    is_waited: bool,
    /// What is there then.
    expects: Vec<Call>,
}

impl Opened {
    fn new(window: usize) -> Opened {
        Opened {
            window,
            is_waited: false,
            expects: Vec::new(),
        }
    }
}

#[derive(Clone)]
struct Put {
    epoch: usize,
    window: usize,
    target: u32,
    place: usize,
    from: usize,
    len: usize,
    is_strided: bool,
}

/// The byte at `at` of a process's own.
fn byte(rank: u32, at: usize) -> u8 {
    (rank as usize * 37 + at * 11 + (at >> 8) * 101 + 1) as u8
}

/// How many bytes so many reach over.
fn reach(len: usize, is_strided: bool) -> usize {
    if is_strided { 2 * len - 1 } else { len }
}

impl Draw {
    fn open(&mut self, rank: u32, window: usize, sort: Sort, members: Vec<u32>) -> usize {
        self.scripts[rank as usize].push(Call::Open(window, sort, members));
        let opened = &mut self.opened[rank as usize];
        opened.push(Opened::new(window));
        opened.len() - 1
    }

    fn close(&mut self, rank: u32, epoch: usize) {
        self.scripts[rank as usize].push(Call::Close(epoch));
    }

    /// The process waits for the epoch, or has already.
    fn wait(&mut self, rank: u32, epoch: usize) {
        let opened = &mut self.opened[rank as usize][epoch];
        if !core::mem::replace(&mut opened.is_waited, true) {
            let script = &mut self.scripts[rank as usize];
            script.push(Call::WaitClosed(epoch));
            script.append(&mut opened.expects);
        }
    }

    /// Opens an epoch, as a call does that blocks or as one that does not.
    fn open_or_wait(&mut self, rank: u32, window: usize, sort: Sort, members: Vec<u32>) -> usize {
        let epoch = self.open(rank, window, sort, members);
        if self.random.chance(0.2) {
            self.scripts[rank as usize].push(Call::WaitOpen(epoch));
        }
        epoch
    }

    /// Closes it, in the same way.
    fn close_or_wait(&mut self, rank: u32, epoch: usize) {
        self.close(rank, epoch);
        if self.random.chance(0.2) {
            self.wait(rank, epoch);
        }
    }

    /// Some wait for something that was before the round, or compute.
    fn idle(&mut self) {
        for rank in 0..self.size {
            let waiting = &self.opened[rank as usize];
            if !waiting.is_empty() && self.random.chance(0.15) {
                let epoch = self.random.index(waiting.len());
                self.wait(rank, epoch);
            }
            if self.random.chance(0.3) {
                let turns = self.random.below(40);
                self.scripts[rank as usize].push(Call::Compute(turns));
            }
        }
    }

    /// Some operations of an epoch on a target; now and then something under a lock in another window.
    fn work(&mut self, rank: u32, (window, epoch): (usize, usize), target: u32) {
        self.operate(rank, (window, epoch), target);
        if self.random.chance(0.1) {
            let aside = (window + 1 + self.random.index(WINDOWS - 1)) % WINDOWS;
            let (target, sort) = self.draw_lock();
            let epoch = self.open(rank, aside, sort, Vec::new());
            self.operate(rank, (aside, epoch), target);
            self.close(rank, epoch);
        }
    }

    fn draw_lock(&mut self) -> (u32, Sort) {
        let target = self.random.below(self.size);
        let sort = Sort::Lock {
            target: Rank::new(target),
            is_exclusive: self.random.chance(0.5),
        };
        (target, sort)
    }

    /// Whom an epoch gives access to; `None`: all.
    fn target_of(&self, rank: u32, epoch: usize) -> Option<Vec<u32>> {
        let mut opened = self.scripts[rank as usize]
            .iter()
            .filter_map(|call| match call {
                Call::Open(_, sort, members) | Call::OpenUnchecked(_, sort, members) => {
                    Some((sort, members))
                }
                _ => None,
            });
        match opened.nth(epoch)? {
            (Sort::Lock { target, .. }, _) => Some(vec![target.index()]),
            (Sort::Start, members) => Some(members.clone()),
            _ => None,
        }
    }

    /// All wait for all, and look at everything.
    fn end(&mut self) {
        for window in 0..self.memory.len() {
            for rank in 0..self.size {
                let epoch = self.open(rank, window, Sort::Fence, Vec::new());
                self.close(rank, epoch);
            }
        }
        for rank in 0..self.size {
            self.wait_for_all(rank);
            for window in 0..self.memory.len() {
                let bytes = self.memory[window][rank as usize].0[CLAIM + 1..].to_vec();
                let all = Call::Expect(part(window).start + CLAIM + 1, bytes);
                self.scripts[rank as usize].push(all);
                self.ask_for_faults(rank, window);
            }
        }
    }

    /// The process waits for all that it has begun.
    fn wait_for_all(&mut self, rank: u32) {
        for epoch in 0..self.opened[rank as usize].len() {
            self.wait(rank, epoch);
        }
    }

    /// All wait until all have come to a fence of the window, once they have waited for what they have begun there.
    fn meet(&mut self, window: usize) {
        for rank in 0..self.size {
            for epoch in 0..self.opened[rank as usize].len() {
                if self.opened[rank as usize][epoch].window == window {
                    self.wait(rank, epoch);
                }
            }
            let epoch = self.open(rank, window, Sort::Fence, Vec::new());
            self.close(rank, epoch);
            self.wait(rank, epoch);
        }
    }
}

/// Two have got the same number, or one a number that it cannot have.
pub const TICKETS: &str = "each process gets a number of its own";
/// Not exactly one has found no mark, or another mark is there than all others have found.
pub const CLAIMS: &str = "one process puts its mark, and all others find it";

impl Race {
    /// Whether it has gone as it may, by the mark that is there and what `got` says that a process has at a place.
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
        match is_one && claims.all(|(rank, own, at)| got(*rank, *at) == found(*own)) {
            true => Ok(()),
            false => Err(CLAIMS),
        }
    }
}

impl Windows {
    /// No windows at all.
    pub fn none() -> Windows {
        Windows {
            scripts: Vec::new(),
            reorder: Reorder::default(),
            count: 0,
            races: Vec::new(),
        }
    }

    /// Whether what depends on who was first is as it may be, when all have ended; by what `got` says that a process has at
    /// a place. Says what is not so.
    pub fn check(&self, got: impl Fn(u32, usize) -> u8) -> Result<(), &'static str> {
        let size = self.scripts.len();
        let mut races = self.races.iter().enumerate();
        races.try_for_each(|(number, race)| {
            let at = part(number / size).start + CLAIM;
            let mark = got((number % size) as u32, at);
            race.check(mark, &got)
        })
    }

    /// A job of so many processes.
    pub fn draw(size: u32, seed: u64) -> Windows {
        let mut draw = Draw::begin(size, seed, WINDOWS);
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

    /// A larger one.
    pub fn draw_large(size: u32, seed: u64) -> Windows {
        let mut draw = Draw::begin(size, seed, ALL_WINDOWS);
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

impl Draw {
    /// No calls yet but the first, which writes what is put.
    fn begin(size: u32, seed: u64, count: usize) -> Draw {
        let own = |rank| (0..SOURCE).map(|at| byte(rank, at)).collect();
        let begin = |rank| vec![Call::Write(BUFFERS, own(rank))];
        let empty = |window| vec![(vec![0; part(window).len()], PLACES); size as usize];
        let mut random = Random::new(seed, Stream::Windows);
        let reorder = Reorder {
            access_after_access: random.chance(0.5),
            access_after_exposure: random.chance(0.5),
            exposure_after_exposure: random.chance(0.5),
            exposure_after_access: random.chance(0.5),
        };
        Draw {
            random,
            size,
            reorder,
            scripts: (0..size).map(begin).collect(),
            opened: vec![Vec::new(); size as usize],
            memory: (0..count).map(empty).collect(),
            results: vec![SOURCE; size as usize],
            put: vec![Vec::new(); size as usize],
            deferred: vec![0; size as usize],
            races: vec![Race::default(); count * size as usize],
            large: large::State::new(size),
            dynamic: vec![dynamic::Process::default(); size as usize],
        }
    }

    fn finish(mut self) -> Windows {
        self.end();
        Windows {
            count: self.memory.len(),
            scripts: self.scripts,
            reorder: self.reorder,
            races: self.races,
        }
    }
}
