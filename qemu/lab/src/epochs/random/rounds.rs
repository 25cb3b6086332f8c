//! Rounds: the epochs that the processes open, and their partners.

use midplane_device::envelope::Rank;
use midplane_device::rma::epochs::EpochKind;

use super::JobDraw;
use crate::epochs::memory::part;
use crate::epochs::script::ScriptCall;

impl JobDraw {
    pub(super) fn fences(&mut self, window: usize) {
        let count = 1 + self.random.below(3);
        let mut open: Vec<Option<usize>> = vec![None; self.size as usize];
        for fence in 0..=count {
            for rank in 0..self.size {
                if let Some(epoch) = open[rank as usize] {
                    self.close_or_wait(rank, epoch);
                }
                let epoch = self.open_or_wait(rank, window, EpochKind::Fence, Vec::new());
                open[rank as usize] = Some(epoch);
                if fence == count {
                    self.close_or_wait(rank, epoch);
                } else if self.random.chance(0.7) {
                    let target = self.random.below(self.size);
                    self.work(rank, window, epoch, target);
                }
            }
        }
    }

    pub(super) fn posts(&mut self, window: usize) {
        let pairs = self.draw_pairs();
        let (before, mut exposures) = (self.free_places(window), Vec::new());
        for rank in 0..self.size {
            let from: Vec<u32> = pairs.iter().filter(|p| p.1 == rank).map(|p| p.0).collect();
            let to: Vec<u32> = pairs.iter().filter(|p| p.0 == rank).map(|p| p.1).collect();
            let place = self.scripts[rank as usize].len();
            let exposure = (!from.is_empty()).then(|| self.open_or_wait(rank, window, EpochKind::Post, from));
            if !to.is_empty() {
                let epoch = self.open_or_wait(rank, window, EpochKind::Start, to.clone());
                for target in to {
                    self.work(rank, window, epoch, target);
                }
                self.close_or_wait(rank, epoch);
            }
            if let Some(epoch) = exposure {
                self.close(rank, epoch);
                exposures.push((rank as usize, epoch, place));
            }
        }
        self.expect_what_came(window, &before, exposures);
    }

    pub(super) fn draw_pairs(&mut self) -> Vec<(u32, u32)> {
        let size = self.size;
        (0..size)
            .flat_map(|origin| (0..size).map(move |target| (origin, target)))
            .filter(|_| self.random.chance(0.5))
            .collect()
    }

    /// Returns the start of the unused memory, by process.
    pub(super) fn free_places(&self, window: usize) -> Vec<usize> {
        self.memory[window].iter().map(|(_, free)| *free).collect()
    }

    /// Expects the data of this round at its exposures, and none before them. Each exposure contains the process, its
    /// epoch, and the position in its script before it.
    pub(super) fn expect_what_came(&mut self, window: usize, before: &[usize], exposures: Vec<(usize, usize, usize)>) {
        for (rank, epoch, place) in exposures {
            let (memory, free) = &self.memory[window][rank];
            let came = memory[before[rank]..*free].to_vec();
            let at = part(window).start + before[rank];
            let nothing = ScriptCall::Expect(at, vec![0; came.len()]);
            self.scripts[rank].insert(place, nothing);
            self.expect(rank as u32, epoch, at, came);
            if self.random.chance(0.3) {
                self.wait(rank as u32, epoch);
            }
        }
    }

    pub(super) fn locks(&mut self, window: usize) {
        for rank in 0..self.size {
            for _ in 0..self.random.below(4) {
                let (target, sort) = self.draw_lock();
                let epoch = self.open_or_wait(rank, window, sort, Vec::new());
                self.work(rank, window, epoch, target);
                if self.random.chance(0.3) {
                    self.flush(rank, epoch, Some(target));
                    self.work(rank, window, epoch, target);
                }
                let script = &mut self.scripts[rank as usize];
                let is_its = matches!(script.last(), Some(ScriptCall::Operation(what)) if what.epoch == epoch);
                if is_its && self.random.chance(0.3) {
                    script.push(ScriptCall::WaitDone(self.deferred[rank as usize] - 1));
                }
                self.close_or_wait(rank, epoch);
            }
        }
    }

    /// Adds a flush, with or without a wait; after the wait all results of the epoch are available.
    pub(super) fn flush(&mut self, rank: u32, epoch: usize, target: Option<u32>) {
        let is_local = self.random.chance(0.5);
        let flush = self.defer(rank, ScriptCall::Flush(epoch, target, is_local));
        if self.random.chance(0.5) {
            let expects = std::mem::take(&mut self.opened[rank as usize][epoch].expects);
            let script = &mut self.scripts[rank as usize];
            script.push(ScriptCall::WaitDone(flush));
            script.extend(expects);
        }
    }

    /// Draws several concurrent locks of a process, without waiting for any of them.
    pub(super) fn nested_locks(&mut self, window: usize) {
        for rank in 0..self.size {
            let mut targets: Vec<u32> = (0..self.size).collect();
            self.random.shuffle(&mut targets);
            targets.truncate(1 + self.random.index(3));
            let mut epochs = Vec::new();
            for target in targets {
                let sort = EpochKind::Lock {
                    target: Rank::new(target),
                    is_exclusive: self.random.chance(0.5),
                };
                epochs.push((self.open(rank, window, sort, Vec::new()), target));
            }
            for _ in 0..epochs.len() {
                let (epoch, target) = epochs[self.random.index(epochs.len())];
                self.operate(rank, window, epoch, target);
            }
            self.random.shuffle(&mut epochs);
            for (epoch, _) in epochs {
                self.close(rank, epoch);
            }
        }
    }

    pub(super) fn locks_of_all(&mut self, window: usize) {
        for rank in 0..self.size {
            if self.random.chance(0.5) {
                continue;
            }
            let epoch = self.open_or_wait(rank, window, EpochKind::LockAll, Vec::new());
            for _ in 0..self.random.below(3) {
                let target = self.random.below(self.size);
                self.work(rank, window, epoch, target);
                if self.random.chance(0.2) {
                    self.flush(rank, epoch, None);
                }
            }
            self.close_or_wait(rank, epoch);
        }
    }
}
