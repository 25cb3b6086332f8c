//! A communicator of a process.

use alloc::rc::Rc;
use core::ops::Deref;

use super::Rank;
use super::state::{CommMembers, CommState, TopologyHolder};
use crate::attribute::CommAttributes;
use crate::process::ProcessState;
use midplane_objects::comm::{self, Partners};
use midplane_objects::context::WORLD_CONTEXT;
use midplane_objects::error::Error;
use midplane_objects::inter_groups::InterGroups;

/// State of a communicator, with its process. Each handle, process and request contains one. The last drop frees the
/// communicator (MPI_Comm_free, MPI-3.1 section 6.4.3): a nonblocking collective is complete then, because its request
/// contains one, too.
#[doc(hidden)]
#[derive(Clone)]
pub struct CommRecord {
    pub(crate) here: Rc<ProcessState>,
    pub(super) state: Rc<CommState>,
}

impl CommRecord {
    pub(super) fn new(
        here: &Rc<ProcessState>,
        members: CommMembers,
        topology: Option<Rc<dyn TopologyHolder>>,
        attributes: CommAttributes,
    ) -> CommRecord {
        let state = CommState::new(members, topology, attributes);
        CommRecord {
            here: here.clone(),
            state,
        }
    }

    pub(crate) fn state(&self) -> &Rc<CommState> {
        &self.state
    }

    pub(crate) fn rank(&self) -> Rank {
        self.membership().rank.0 as Rank
    }

    pub(crate) fn size(&self) -> Rank {
        self.membership().size as Rank
    }

    /// Returns its handle in the records of the calls.
    pub(crate) fn recorded_handle(&self) -> i64 {
        const COMM_WORLD: i64 = 0x101;
        const CREATED: i64 = 0x8400_0000;
        let context = self.membership().context;
        match (self.is_predefined(), context) {
            (true, WORLD_CONTEXT) => COMM_WORLD,
            (true, _) => COMM_WORLD + 1,
            (false, context) => CREATED + i64::from(context),
        }
    }

    /// Returns the possible sources and destinations, or the error of [`CommRecord::core`].
    pub(crate) fn partners(&self) -> Result<Partners<'_>, Error> {
        let group = self
            .sides()
            .map_or_else(|| self.membership().group(), InterGroups::remote);
        Ok(Partners::at(self.here.env()?, group))
    }

    /// Returns the communicator with its device, for collectives, or [`Error::Order`] after the end of its process.
    pub(crate) fn core(&self) -> Result<comm::Communicator<'_>, Error> {
        Ok(comm::Communicator::at(self.here.env()?, self.membership()))
    }
}

impl Deref for CommRecord {
    type Target = CommState;
    fn deref(&self) -> &CommState {
        &self.state
    }
}

impl Drop for CommRecord {
    fn drop(&mut self) {
        let is_last = Rc::strong_count(&self.state) == 1;
        if is_last
            && !self.is_predefined()
            && let Ok(env) = self.here.env()
        {
            env.process().retire_context(self.membership().context);
        }
    }
}
