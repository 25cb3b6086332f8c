//! Epochs with MPI_MODE_NOCHECK: the program guarantees the state of the other side.

use midplane_device::envelope::Rank;
use midplane_device::rma::epochs::EpochKind;

use super::{JobDraw, OpenedEpoch, ScriptCall, WINDOWS, part};

impl JobDraw {
    fn open_unchecked(&mut self, rank: u32, window: usize, sort: EpochKind, members: Vec<u32>) -> usize {
        let call = ScriptCall::OpenUnchecked(window, sort, members);
        self.scripts[rank as usize].push(call);
        let opened = &mut self.opened[rank as usize];
        opened.push(OpenedEpoch::new(window));
        opened.len() - 1
    }

    /// Opens exposures before all processes meet, and accesses after that.
    pub(super) fn posts_unchecked(&mut self, window: usize) {
        let pairs = self.draw_pairs();
        let before = self.free_places(window);
        let mut exposures = Vec::new();
        for rank in 0..self.size {
            let from: Vec<u32> = pairs.iter().filter(|p| p.1 == rank).map(|p| p.0).collect();
            if from.is_empty() {
                continue;
            }
            let place = self.scripts[rank as usize].len();
            let epoch = self.open_unchecked(rank, window, EpochKind::Post, from);
            self.scripts[rank as usize].push(ScriptCall::WaitOpen(epoch));
            exposures.push((rank as usize, epoch, place));
        }
        self.meet((window + 1) % WINDOWS);
        for rank in 0..self.size {
            let to: Vec<u32> = pairs.iter().filter(|p| p.0 == rank).map(|p| p.1).collect();
            if to.is_empty() {
                continue;
            }
            let epoch = self.open_unchecked(rank, window, EpochKind::Start, to.clone());
            for target in to {
                self.work(rank, window, epoch, target);
            }
            self.close_or_wait(rank, epoch);
        }
        for (rank, epoch, _) in &exposures {
            self.close(*rank as u32, *epoch);
        }
        self.expect_what_came(window, &before, exposures);
    }

    /// Locks one separate target for each process, or all targets for all processes, while there is no other lock.
    pub(super) fn locks_unchecked(&mut self, window: usize) {
        self.meet(window);
        let before = self.free_places(window);
        let is_of_all = self.random.chance(0.5);
        let turn = self.random.below(self.size);
        for rank in 0..self.size {
            let target = (rank + turn) % self.size;
            let lock = EpochKind::Lock {
                target: Rank::new(target),
                is_exclusive: self.random.chance(0.5),
            };
            let sort = if is_of_all { EpochKind::LockAll } else { lock };
            let epoch = self.open_unchecked(rank, window, sort, Vec::new());
            for _ in 0..1 + self.random.below(3) {
                let drawn = self.random.below(self.size);
                let target = if is_of_all { drawn } else { target };
                self.operate(rank, window, epoch, target);
                if self.random.chance(0.3) {
                    self.flush(rank, epoch, (!is_of_all).then_some(target));
                }
            }
            self.close(rank, epoch);
            self.wait(rank, epoch);
        }
        // Uses a different window: operations of this one are complete when its epoch is.
        self.meet((window + 1) % WINDOWS);
        for (rank, before) in before.into_iter().enumerate() {
            let (memory, free) = &self.memory[window][rank];
            let came = memory[before..*free].to_vec();
            let look = ScriptCall::Expect(part(window).start + before, came);
            self.scripts[rank].push(look);
        }
    }
}
