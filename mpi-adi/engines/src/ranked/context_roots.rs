//! Per-context root table of an engine.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use midplane_device::envelope::Context;
use midplane_device::ids::{BlockIndex, Slot};
use midplane_device::list::ListEnds;
use midplane_device::matching::OutOfSpace;

/// Queues of one context: a ContextIdLead of 001 (section 4.3.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ContextRoot<R> {
    pub context: Context,
    /// Receives from any source; without a `root`, all receives.
    pub posted: ListEnds<Slot>,
    /// Records that exceed the capacity of the queues by rank; without a `root`, all records.
    pub unexpected: ListEnds<BlockIndex>,
    /// Root of the queues by rank, if any.
    pub root: Option<R>,
}

impl<R> ContextRoot<R> {
    pub fn new(context: Context, root: Option<R>) -> Self {
        ContextRoot {
            context,
            posted: ListEnds::default(),
            unexpected: ListEnds::default(),
            root,
        }
    }
}

/// Index of a lead; `None` for the one of all contexts that are not open.
pub(super) type ContextIndex = Option<usize>;

/// A lead for each open context, and one for all others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ContextRoots<R> {
    pub others: ContextRoot<R>,
    pub open: Vec<ContextRoot<R>>,
    /// Result of the last search.
    last: usize,
}

impl<R> ContextRoots<R> {
    pub fn new() -> Self {
        ContextRoots {
            others: ContextRoot::new(0, None),
            open: Vec::new(),
            last: 0,
        }
    }

    /// Returns the lead of `context`, and the number of leads checked (001 section 4.4.1: one more for each further
    /// context).
    #[inline]
    pub fn find(&mut self, context: Context) -> (ContextIndex, u32) {
        let at = self.open.iter().position(|lead| lead.context == context);
        match at {
            Some(at) => {
                self.last = at;
                (Some(at), at as u32 + 1)
            }
            None => (None, self.open.len() as u32),
        }
    }

    /// Returns the lead of `context`, without a search if the last search was for it, as before an insertion or a
    /// deletion.
    #[inline]
    pub fn find_again(&mut self, context: Context) -> (ContextIndex, u32) {
        match self.open.get(self.last) {
            Some(lead) if lead.context == context => (Some(self.last), 0),
            _ => self.find(context),
        }
    }

    #[inline]
    pub fn at(&self, at: ContextIndex) -> &ContextRoot<R> {
        at.map_or(&self.others, |at| &self.open[at])
    }

    #[inline]
    pub fn at_mut(&mut self, at: ContextIndex) -> &mut ContextRoot<R> {
        match at {
            Some(at) => &mut self.open[at],
            None => &mut self.others,
        }
    }

    /// Allocates space for one more lead.
    pub fn reserve(&mut self) -> Result<(), OutOfSpace> {
        self.open.try_reserve(1).map_err(|_| OutOfSpace)
    }

    pub fn remove(&mut self, at: usize) -> ContextRoot<R> {
        self.open.remove(at)
    }

    pub fn all(&self) -> impl Iterator<Item = &ContextRoot<R>> {
        core::iter::once(&self.others).chain(&self.open)
    }
}
