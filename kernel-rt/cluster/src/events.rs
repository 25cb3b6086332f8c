//! Event queue in virtual time.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::blocks::NEVER;

/// Number of slots, one per nanosecond from the current time, a multiple of 64: links and processors take less than
/// that.
const SLOTS: usize = 4096;

/// Nodes and the times of their next checks: the earliest first, and those of one time in the order of their indices,
/// the same as in the host's memory.
pub(super) struct EventQueue {
    now: u64,
    /// By time: the nodes; those of `now` in order, and those before `taken` already checked.
    slots: Vec<Vec<u32>>,
    taken: usize,
    /// A bit for each slot that has nodes.
    used: Box<[u64]>,
    /// Events beyond the slots.
    later: BinaryHeap<Reverse<(u64, u32)>>,
    /// By node: time of the last check.
    looked: Vec<u64>,
}

impl EventQueue {
    /// Creates the queue of this number of nodes; those of `here` are checked at the start, in order.
    pub(super) fn at_start(nodes: usize, here: Range<usize>) -> EventQueue {
        let mut events = EventQueue {
            now: 0,
            slots: vec![Vec::new(); SLOTS],
            taken: 0,
            used: vec![0; SLOTS / 64].into(),
            later: BinaryHeap::new(),
            looked: vec![NEVER; nodes],
        };
        here.for_each(|node| events.plan(0, node));
        events
    }

    /// Schedules a check of `node` at `time`, in nanoseconds, not before now.
    pub(super) fn plan(&mut self, time: u64, node: usize) {
        if time - self.now < SLOTS as u64 {
            let slot = time as usize % SLOTS;
            self.slots[slot].push(node as u32);
            self.used[slot / 64] |= 1 << (slot % 64);
        } else {
            self.later.push(Reverse((time, node as u32)));
        }
    }

    /// Returns the next time and node, before the time `end`; a node appears once per time. Returns `None` if there is
    /// no earlier event.
    pub(super) fn next(&mut self, end: u64) -> Option<(u64, usize)> {
        loop {
            let slot = self.now as usize % SLOTS;
            let Some(&node) = self.slots[slot].get(self.taken) else {
                self.slots[slot].clear();
                self.used[slot / 64] &= !(1 << (slot % 64));
                self.taken = 0;
                self.peek().filter(|time| *time < end)?;
                self.advance();
                continue;
            };
            self.taken += 1;
            let node = node as usize;
            if std::mem::replace(&mut self.looked[node], self.now) != self.now {
                return Some((self.now, node));
            }
        }
    }

    /// Returns the next scheduled time after all nodes of the present one were checked.
    pub(super) fn peek(&self) -> Option<u64> {
        let far = self.later.peek().map(|&Reverse((time, _))| time);
        self.next_used().into_iter().chain(far).min()
    }

    fn advance(&mut self) {
        self.now = self.peek().unwrap_or(self.now);
        while let Some(&Reverse((time, node))) = self.later.peek()
            && time - self.now < SLOTS as u64
        {
            self.later.pop();
            self.plan(time, node as usize);
        }
        self.slots[self.now as usize % SLOTS].sort_unstable();
    }

    /// Returns the next time with nodes in its slot; that of `now` has none.
    fn next_used(&self) -> Option<u64> {
        let first = self.now as usize % SLOTS;
        // The rest of the word of `now`, the other words, and the part before `now` in its own word.
        (0..=self.used.len()).find_map(|word| {
            let at = (first / 64 + word) % self.used.len();
            let mask = if word == 0 { u64::MAX << (first % 64) } else { u64::MAX };
            let bits = self.used[at] & mask;
            (bits != 0).then(|| {
                let slot = at * 64 + bits.trailing_zeros() as usize;
                self.now + ((slot + SLOTS - first) % SLOTS) as u64
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planned_comes_in_order_and_once_at_a_time() {
        let mut events = EventQueue::at_start(3, 0..3);
        events.plan(5, 2);
        events.plan(3, 1);
        events.plan(3, 0);
        events.plan(3, 1);
        let mut before = |end| std::iter::from_fn(|| events.next(end)).collect::<Vec<_>>();
        assert_eq!(before(3), [(0, 0), (0, 1), (0, 2)]);
        assert_eq!(before(4), [(3, 0), (3, 1)]);
        assert_eq!((before(5), before(NEVER)), (vec![], vec![(5, 2)]));
    }

    /// As in a single queue, in the order of times and nodes.
    #[test]
    fn near_and_far_times_come_in_one_order() {
        const NODES: usize = 50;
        let mut random = oorandom::Rand32::new(2);
        let mut events = EventQueue::at_start(NODES, 0..NODES);
        let mut plain: Vec<(u64, usize)> = (0..NODES).map(|node| (0, node)).collect();
        let mut last = (NEVER, NODES);
        for _ in 0..20_000 {
            let expected = plain.iter().min().copied();
            let Some((now, node)) = expected else {
                break;
            };
            plain.retain(|&event| event != (now, node));
            assert_eq!(events.next(now + 1), Some((now, node)));
            assert_ne!(last, (now, node));
            last = (now, node);
            for _ in 0..random.rand_range(0..3) {
                let spans = [3, 200, 3_000, SLOTS as u32 + 2, 50_000];
                let span = spans[random.rand_range(0..spans.len() as u32) as usize];
                let time = now + u64::from(random.rand_range(1..span));
                let node = random.rand_range(0..NODES as u32) as usize;
                plain.push((time, node));
                events.plan(time, node);
            }
        }
        if plain.is_empty() {
            assert_eq!(events.next(NEVER), None);
        }
    }
}
