//! Locks that a process waits for while it holds others.
//!
//! Deadlock is impossible. Processes with exclusive locks acquire them one after the other, in the order of targets, in
//! a window that is only used so. Shared locks are held by processes that wait for none under an exclusive lock.
//! Before, every process waits for all its operations, since operations after a fence wait for all processes.

use midplane_device::envelope::Rank;
use midplane_device::rma::epochs::EpochKind;

use super::{HELD, JobDraw, LARGE, ScriptCall};

impl JobDraw {
    fn open_lock(&mut self, rank: u32, window: usize, target: u32, is_exclusive: bool) -> usize {
        let sort = EpochKind::Lock {
            target: Rank::new(target),
            is_exclusive,
        };
        self.open(rank, window, sort, Vec::new())
    }

    fn wait_open(&mut self, rank: u32, epoch: usize) {
        self.scripts[rank as usize].push(ScriptCall::WaitOpen(epoch));
    }

    /// Draws some of the processes, in ascending order.
    fn some_targets(&mut self, most: usize) -> Vec<u32> {
        let mut targets: Vec<u32> = (0..self.size).collect();
        self.random.shuffle(&mut targets);
        targets.truncate(1 + self.random.index(most));
        targets.sort_unstable();
        targets
    }

    /// Waits for each lock before the next is requested.
    pub(super) fn locks_in_order(&mut self) {
        for rank in 0..self.size {
            if self.random.chance(0.3) {
                continue;
            }
            self.wait_for_all(rank);
            let mut held = Vec::new();
            for target in self.some_targets(3) {
                let is_exclusive = self.random.chance(0.6);
                let epoch = self.open_lock(rank, HELD, target, is_exclusive);
                self.wait_open(rank, epoch);
                held.push((epoch, target));
                let (epoch, target) = held[self.random.index(held.len())];
                self.operate(rank, HELD, epoch, target);
            }
            self.close_shuffled(rank, held.into_iter().map(|(epoch, _)| epoch).collect());
        }
    }

    /// Some processes request shared locks, each in its own order, and then wait for them in any order. Others lock
    /// each target exclusively for a short time, and wait for none.
    pub(super) fn locks_shared(&mut self) {
        let first = self.random.pick(&[0, 1, 2, LARGE]);
        let windows = [first, (first + 1) % LARGE];
        let mut locks = Vec::new();
        for window in &windows[..1 + self.random.index(2)] {
            let targets = self.some_targets(3);
            locks.extend(targets.into_iter().map(|target| (*window, target)));
        }
        for rank in 0..self.size {
            self.wait_for_all(rank);
            let is_alone = self.random.chance(0.4);
            let mut asked = Vec::new();
            self.random.shuffle(&mut locks);
            for &(window, target) in &locks {
                asked.push((window, self.open_lock(rank, window, target, is_alone), target));
            }
            self.random.shuffle(&mut asked);
            for &(window, epoch, target) in asked.iter().filter(|_| !is_alone) {
                self.wait_open(rank, epoch);
                self.operate(rank, window, epoch, target);
            }
            let epochs = asked.into_iter().map(|(_, epoch, _)| epoch).collect();
            if is_alone {
                self.close_all(rank, epochs)
            } else {
                self.close_shuffled(rank, epochs)
            }
        }
    }

    fn close_all(&mut self, rank: u32, epochs: Vec<usize>) {
        for epoch in epochs {
            self.close(rank, epoch);
        }
    }

    fn close_shuffled(&mut self, rank: u32, mut epochs: Vec<usize>) {
        self.random.shuffle(&mut epochs);
        for epoch in epochs {
            self.close_or_wait(rank, epoch);
        }
    }
}
