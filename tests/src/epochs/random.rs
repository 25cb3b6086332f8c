//! Random jobs of epochs, with their oracle: sequential memory.
//!
//! A job is a sequence of rounds, which every process goes through in the same order: fences, post and start among some,
//! transactions under locks, locks of all. In a round a process opens, does what it does and closes, and waits for
//! nothing of it; it waits for what was before wherever it likes. So a job ends. What processes put at a target are bytes
//! of their own places, or sums, in which the order is of no account; what they get they have put themselves and waited
//! for, or nobody changes. So every byte is known, whatever comes first.

use mpi_adi::device::rma::epochs::{Reorder, Sort};
use mpi_adi::device::rma::wire::Kind;
use mpi_adi::envelope::Rank;

use super::memory::{BUFFERS, WINDOW, WINDOWS};
use super::script::{Call, Do};
use crate::random::{Random, Stream};

/// A random job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Windows {
    /// What each process calls.
    pub scripts: Vec<Vec<Call>>,
    /// Which epochs may pass others.
    pub reorder: Reorder,
}

/// Bytes of a window in which all count.
const SUMS: usize = 8;
/// Bytes that a process puts, its own; results go behind them.
const SOURCE: usize = 32;
/// The most bytes of an operation.
const MOST: usize = 12;

struct Draw {
    random: Random,
    size: u32,
    scripts: Vec<Vec<Call>>,
    /// Epochs that each process has opened.
    opened: Vec<Vec<Opened>>,
    /// By window and process: what is there in the end, and where nothing has been put yet.
    memory: Vec<Vec<(Vec<u8>, usize)>>,
    /// By process: where nothing has come to yet.
    results: Vec<usize>,
    /// By process: what it has put where.
    put: Vec<Vec<Put>>,
}

/// An epoch of a process.
#[derive(Clone, Default)]
struct Opened {
    /// It has been waited for.
    is_waited: bool,
    /// What is there then.
    expects: Vec<Call>,
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
    (rank as usize * 37 + at * 11 + 1) as u8
}

/// How many bytes so many reach over.
fn reach(len: usize, is_strided: bool) -> usize {
    if is_strided { 2 * len - 1 } else { len }
}

impl Draw {
    fn open(&mut self, rank: u32, window: usize, sort: Sort, members: Vec<u32>) -> usize {
        self.scripts[rank as usize].push(Call::Open(window, sort, members));
        let opened = &mut self.opened[rank as usize];
        opened.push(Opened::default());
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

    /// Somebody waits for something that was before the round, or computes.
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

    /// Some operations of an epoch on a target.
    fn work(&mut self, rank: u32, (window, epoch): (usize, usize), target: u32) {
        for _ in 0..self.random.below(4) {
            match self.random.below(6) {
                0..3 => self.draw_put(rank, (window, epoch), target),
                3 => self.draw_sum(rank, (window, epoch), target),
                _ => self.draw_get(rank, (window, epoch)),
            }
        }
    }

    fn perform(&mut self, rank: u32, what: Do) {
        self.scripts[rank as usize].push(Call::Do(what));
    }

    fn draw_put(&mut self, rank: u32, (window, epoch): (usize, usize), target: u32) {
        let r = &mut self.random;
        let (len, is_strided) = (1 + r.index(MOST), r.chance(0.3));
        let (is_straight, from) = (r.chance(0.5), r.index(SOURCE - 2 * MOST));
        let kind = r.pick(&[Kind::Put, Kind::Put, Kind::Accumulate]);
        let (memory, free) = &mut self.memory[window][target as usize];
        let place = *free;
        if place + reach(len, is_strided) > WINDOW {
            return;
        }
        *free += reach(len, is_strided);
        let stride = if is_strided { 2 } else { 1 };
        for i in 0..len {
            // There was nothing: what is added is what is there.
            memory[place + stride * i] = byte(rank, from + stride * i);
        }
        self.put[rank as usize].push(Put {
            epoch,
            window,
            target,
            place,
            from,
            len,
            is_strided,
        });
        self.perform(
            rank,
            Do {
                epoch,
                target,
                kind,
                place,
                from: BUFFERS + from,
                other: 0,
                len,
                is_strided,
                is_straight,
            },
        );
    }

    /// A sum, which comes back or does not.
    fn draw_sum(&mut self, rank: u32, (window, epoch): (usize, usize), target: u32) {
        let r = &mut self.random;
        let len = 1 + r.index(4);
        let (place, from, is_straight) = (r.index(SUMS - len), r.index(8), r.chance(0.5));
        let mut kind = r.pick(&[Kind::Accumulate, Kind::Fetch]);
        let other = BUFFERS + self.results[rank as usize];
        if kind == Kind::Fetch {
            if self.results[rank as usize] + len > WINDOW {
                kind = Kind::Accumulate;
            } else {
                self.results[rank as usize] += len;
            }
        }
        let (memory, _) = &mut self.memory[window][target as usize];
        for i in 0..len {
            memory[place + i] = memory[place + i].wrapping_add(byte(rank, from + i));
        }
        self.perform(
            rank,
            Do {
                epoch,
                target,
                kind,
                place,
                from: BUFFERS + from,
                other,
                len,
                is_strided: false,
                is_straight,
            },
        );
    }

    /// What the process has put somewhere itself.
    fn draw_get(&mut self, rank: u32, (window, epoch): (usize, usize)) {
        let targets = match self.target_of(rank, epoch) {
            Some(targets) => targets,
            None => (0..self.size).collect(),
        };
        let known: Vec<Put> = self.put[rank as usize]
            .iter()
            .filter(|put| put.window == window && put.epoch != epoch)
            .filter(|put| targets.contains(&put.target))
            .filter(|put| self.opened[rank as usize][put.epoch].is_waited)
            .cloned()
            .collect();
        if known.is_empty() {
            return;
        }
        let put = known[self.random.index(known.len())].clone();
        let at = self.results[rank as usize];
        if at + reach(put.len, put.is_strided) > WINDOW {
            return;
        }
        self.results[rank as usize] += reach(put.len, put.is_strided);
        self.perform(
            rank,
            Do {
                epoch,
                target: put.target,
                kind: Kind::Get,
                place: put.place,
                from: BUFFERS + at,
                other: 0,
                len: put.len,
                is_strided: put.is_strided,
                is_straight: false,
            },
        );
        for i in 0..put.len {
            let step = i * if put.is_strided { 2 } else { 1 };
            let wanted = vec![byte(rank, put.from + step)];
            let expects = &mut self.opened[rank as usize][epoch].expects;
            expects.push(Call::Expect(BUFFERS + at + step, wanted));
        }
    }

    /// Whom an epoch gives access to; `None`: all.
    fn target_of(&self, rank: u32, epoch: usize) -> Option<Vec<u32>> {
        let mut opened = self.scripts[rank as usize]
            .iter()
            .filter_map(|call| match call {
                Call::Open(_, sort, members) => Some((sort, members)),
                _ => None,
            });
        match opened.nth(epoch)? {
            (Sort::Lock { target, .. }, _) => Some(vec![target.index()]),
            (Sort::Start, members) => Some(members.clone()),
            _ => None,
        }
    }

    fn fences(&mut self, window: usize) {
        let count = 1 + self.random.below(3);
        let mut open: Vec<Option<usize>> = vec![None; self.size as usize];
        for fence in 0..=count {
            for rank in 0..self.size {
                if let Some(epoch) = open[rank as usize] {
                    self.close(rank, epoch);
                }
                let epoch = self.open(rank, window, Sort::Fence, Vec::new());
                open[rank as usize] = Some(epoch);
                if fence == count {
                    self.close(rank, epoch);
                } else if self.random.chance(0.7) {
                    let target = self.random.below(self.size);
                    self.work(rank, (window, epoch), target);
                }
            }
        }
    }

    fn posts(&mut self, window: usize) {
        let size = self.size;
        let pairs: Vec<(u32, u32)> = (0..size)
            .flat_map(|origin| (0..size).map(move |target| (origin, target)))
            .filter(|_| self.random.chance(0.5))
            .collect();
        let places = |draw: &Draw| -> Vec<usize> {
            draw.memory[window].iter().map(|(_, free)| *free).collect()
        };
        let (before, mut exposures) = (places(self), Vec::new());
        for rank in 0..size {
            let from: Vec<u32> = pairs.iter().filter(|p| p.1 == rank).map(|p| p.0).collect();
            let to: Vec<u32> = pairs.iter().filter(|p| p.0 == rank).map(|p| p.1).collect();
            let place = self.scripts[rank as usize].len();
            let exposure = (!from.is_empty()).then(|| self.open(rank, window, Sort::Post, from));
            if !to.is_empty() {
                let epoch = self.open(rank, window, Sort::Start, to.clone());
                for target in to {
                    self.work(rank, (window, epoch), target);
                }
                self.close(rank, epoch);
            }
            if let Some(epoch) = exposure {
                self.close(rank, epoch);
                exposures.push((rank as usize, epoch, place));
            }
        }
        // What came in this round came from those that the exposure was for.
        for (rank, epoch, place) in exposures {
            let (memory, free) = &self.memory[window][rank];
            let came = memory[before[rank]..*free].to_vec();
            let nothing = Call::Expect(window * WINDOW + before[rank], vec![0; came.len()]);
            self.scripts[rank].insert(place, nothing);
            let expect = Call::Expect(window * WINDOW + before[rank], came);
            self.opened[rank][epoch].expects.push(expect);
        }
    }

    fn locks(&mut self, window: usize) {
        for rank in 0..self.size {
            for _ in 0..self.random.below(4) {
                let target = self.random.below(self.size);
                let sort = Sort::Lock {
                    target: Rank::new(target),
                    is_exclusive: self.random.chance(0.5),
                };
                let epoch = self.open(rank, window, sort, Vec::new());
                self.work(rank, (window, epoch), target);
                if self.random.chance(0.3) {
                    let is_local = self.random.chance(0.5);
                    let flush = Call::Flush(epoch, Some(target), is_local);
                    self.scripts[rank as usize].push(flush);
                    self.work(rank, (window, epoch), target);
                }
                self.close(rank, epoch);
            }
        }
    }

    fn locks_of_all(&mut self, window: usize) {
        for rank in 0..self.size {
            if self.random.chance(0.5) {
                continue;
            }
            let epoch = self.open(rank, window, Sort::LockAll, Vec::new());
            for _ in 0..self.random.below(3) {
                let target = self.random.below(self.size);
                self.work(rank, (window, epoch), target);
            }
            self.close(rank, epoch);
        }
    }

    /// All wait for all, and look at everything.
    fn end(mut self) -> Vec<Vec<Call>> {
        for window in 0..WINDOWS {
            for rank in 0..self.size {
                let epoch = self.open(rank, window, Sort::Fence, Vec::new());
                self.close(rank, epoch);
            }
        }
        for rank in 0..self.size {
            for epoch in 0..self.opened[rank as usize].len() {
                self.wait(rank, epoch);
            }
            for window in 0..WINDOWS {
                let bytes = self.memory[window][rank as usize].0.clone();
                self.scripts[rank as usize].push(Call::Expect(window * WINDOW, bytes));
            }
        }
        self.scripts
    }
}

impl Windows {
    /// No windows at all.
    pub fn none() -> Windows {
        Windows {
            scripts: Vec::new(),
            reorder: Reorder::default(),
        }
    }

    /// A job of so many processes.
    pub fn draw(size: u32, seed: u64) -> Windows {
        let mut random = Random::new(seed, Stream::Windows);
        let reorder = Reorder {
            access_after_access: random.chance(0.5),
            access_after_exposure: random.chance(0.5),
            exposure_after_exposure: random.chance(0.5),
            exposure_after_access: random.chance(0.5),
        };
        let own = |rank| (0..SOURCE).map(|at| byte(rank, at)).collect();
        let begin = |rank| vec![Call::Write(BUFFERS, own(rank))];
        let empty = || vec![(vec![0; WINDOW], SUMS); size as usize];
        let mut draw = Draw {
            random,
            size,
            scripts: (0..size).map(begin).collect(),
            opened: vec![Vec::new(); size as usize],
            memory: (0..WINDOWS).map(|_| empty()).collect(),
            results: vec![SOURCE; size as usize],
            put: vec![Vec::new(); size as usize],
        };
        for _ in 0..1 + draw.random.below(8) {
            let window = draw.random.index(WINDOWS);
            match draw.random.below(5) {
                0 => draw.fences(window),
                1 | 2 => draw.posts(window),
                3 => draw.locks(window),
                _ => draw.locks_of_all(window),
            }
            draw.idle();
        }
        Windows {
            scripts: draw.end(),
            reorder,
        }
    }
}
