//! Baseline without matching: returns the first or the last entry. Its cost is that of the test harness.
#![forbid(unsafe_code)]

use core::hash::Hasher;
use std::collections::VecDeque;

use midplane_device::Context;
use midplane_device::envelope::{Envelope, MatchPattern};
use midplane_device::ids::{BlockIndex, Slot};
use midplane_device::matching::{Matching, MatchingEngine, MatchingStats};
use midplane_device::region::{Region, UnexpectedRecord};
use midplane_device::request::RequestPool;

/// Returns the first entry if `FORWARD`, else the last.
#[derive(Clone, Debug)]
pub struct BlankEngine<const FORWARD: bool> {
    posted: VecDeque<Slot>,
    unexpected: VecDeque<BlockIndex>,
}

fn end<T: Copy, const FORWARD: bool>(entries: &VecDeque<T>) -> Option<T> {
    if FORWARD {
        entries.front().copied()
    } else {
        entries.back().copied()
    }
}

fn pop<T, const FORWARD: bool>(entries: &mut VecDeque<T>) {
    if FORWARD {
        entries.pop_front()
    } else {
        entries.pop_back()
    };
}

impl<const FORWARD: bool> Matching for BlankEngine<FORWARD> {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn post(&mut self, _: &mut RequestPool, slot: Slot) {
        self.posted.push_back(slot);
    }

    fn unpost(&mut self, _: &mut RequestPool, _: Slot) {
        pop::<_, FORWARD>(&mut self.posted);
    }

    fn match_incoming(&mut self, _: &mut RequestPool, _: &Envelope) -> Option<Slot> {
        end::<_, FORWARD>(&self.posted)
    }

    fn record(&mut self, _: &mut Region, at: BlockIndex) {
        self.unexpected.push_back(at);
    }

    fn probe(&mut self, _: &mut Region, _: &MatchPattern) -> Option<BlockIndex> {
        end::<_, FORWARD>(&self.unexpected)
    }

    fn unrecord(&mut self, _: &mut Region, _: BlockIndex) {
        pop::<_, FORWARD>(&mut self.unexpected);
    }

    fn find_record(&mut self, _: &Region, _: &dyn Fn(&UnexpectedRecord) -> bool) -> Option<BlockIndex> {
        end::<_, FORWARD>(&self.unexpected)
    }

    fn context_is_idle(&mut self, _: &mut RequestPool, _: &mut Region, _: Context) -> bool {
        self.posted.is_empty() && self.unexpected.is_empty()
    }

    fn hash(&self, _: &Region, _: &mut dyn Hasher) {}

    fn measures(&self) -> MatchingStats {
        MatchingStats {
            posted: self.posted.len() as u32,
            unexpected: self.unexpected.len() as u32,
            ..MatchingStats::default()
        }
    }
}

impl<const FORWARD: bool> MatchingEngine for BlankEngine<FORWARD> {
    const NAME: &'static str = "none";

    fn fixed_bytes(_: usize, _: usize) -> usize {
        0
    }

    fn new(blocks: usize, _: usize) -> Option<Self> {
        Some(BlankEngine {
            posted: VecDeque::new(),
            unexpected: VecDeque::with_capacity(blocks),
        })
    }
}
