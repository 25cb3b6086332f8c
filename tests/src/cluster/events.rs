//! What is to happen in virtual time.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nodes and when they are to be looked at: the earliest first, and among those of one time the one that was planned
/// first.
pub(super) struct Events {
    queue: BinaryHeap<Reverse<(u64, u64, u32)>>,
    planned: u64,
    /// By node: the last time that it was looked at.
    looked: Vec<u64>,
}

/// No time.
const NEVER: u64 = u64::MAX;

impl Events {
    /// So many nodes, each to be looked at once at the start, in order.
    pub(super) fn at_start(nodes: usize) -> Events {
        let mut events = Events {
            queue: BinaryHeap::new(),
            planned: 0,
            looked: vec![NEVER; nodes],
        };
        (0..nodes).for_each(|node| events.plan(0, node));
        events
    }

    /// `node` is to be looked at when it is `time`, in nanoseconds.
    pub(super) fn plan(&mut self, time: u64, node: usize) {
        self.queue.push(Reverse((time, self.planned, node as u32)));
        self.planned += 1;
    }

    /// The next time and node; a node comes once at a time. `None`: nothing will ever happen.
    pub(super) fn next(&mut self) -> Option<(u64, usize)> {
        loop {
            let Reverse((time, _, node)) = self.queue.pop()?;
            let node = node as usize;
            if std::mem::replace(&mut self.looked[node], time) != time {
                return Some((time, node));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planned_comes_in_order_and_once_at_a_time() {
        let mut events = Events::at_start(3);
        events.plan(5, 2);
        events.plan(3, 1);
        events.plan(3, 0);
        events.plan(3, 1);
        let all: Vec<_> = std::iter::from_fn(|| events.next()).collect();
        assert_eq!(all, [(0, 0), (0, 1), (0, 2), (3, 1), (3, 0), (5, 2)]);
    }
}
