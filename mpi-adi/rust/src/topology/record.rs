//! State of a communicator, shared by its handles.

use alloc::rc::Rc;
use alloc::string::String;
use core::cell::{Cell, RefCell};

use super::kinds::TopologyHolder;
use crate::attribute::CommAttributes;
use crate::process::ProcessState;
use midplane_objects::comm::{self, Membership, Partners};
use midplane_objects::context::WORLD_CONTEXT;
use midplane_objects::error::Error;
use midplane_objects::inter::CreatedInter;
use midplane_objects::inter_groups::InterGroups;
use midplane_objects::split::{CreatedComm, PrepareComm};
use midplane_objects::topology::{NeighbourLists, Topology};

/// State of a communicator, shared by its handles, processes and requests.
#[doc(hidden)]
pub struct CommRecord {
    pub(crate) here: Rc<ProcessState>,
    members: CommMembers,
    /// Number of nonblocking collectives that were started.
    pub(crate) started: Cell<u32>,
    /// `None`: its initial name.
    name: RefCell<Option<String>>,
    pub(crate) attributes: CommAttributes,
    /// Shared with duplicates.
    pub(super) topology: Option<Rc<dyn TopologyHolder>>,
}

pub(super) enum CommMembers {
    System(Membership<'static>),
    Made(CreatedComm),
    /// Both groups of an intercommunicator.
    Both(CreatedInter),
}

impl CommRecord {
    pub(super) fn set_name(&self, name: &str) {
        *self.name.borrow_mut() = Some(String::from(name));
    }

    pub(super) fn name(&self) -> String {
        let given = self.name.borrow().clone();
        given.unwrap_or_else(|| {
            String::from(match &self.members {
                CommMembers::System(all) if all.context == WORLD_CONTEXT => "MPI_COMM_WORLD",
                CommMembers::System(_) => "MPI_COMM_SELF",
                CommMembers::Made(_) | CommMembers::Both(_) => "",
            })
        })
    }

    /// Runs `make`, which creates a duplicate, and passes it the check that calls creating a communicator use: either
    /// all processes have space for the attributes of their duplicate, or none has one. Returns the duplicate with its
    /// attributes, or the error of `make`.
    pub(super) fn duplicated<M>(
        &self,
        make: impl FnOnce(PrepareComm<'_>) -> Result<M, Error>,
    ) -> Result<(M, CommAttributes), Error> {
        let attributes = self.attributes.duplicated();
        let made = make(&mut |_| attributes.as_ref().map(|_| ()).map_err(|error| *error))?;
        Ok((made, attributes?))
    }

    pub(super) fn sides(&self) -> Option<InterGroups<'_>> {
        match &self.members {
            CommMembers::Both(both) => Some(both.sides()),
            CommMembers::System(_) | CommMembers::Made(_) => None,
        }
    }

    pub(super) fn new(
        here: &Rc<ProcessState>,
        members: CommMembers,
        topology: Option<Rc<dyn TopologyHolder>>,
        attributes: CommAttributes,
    ) -> Rc<CommRecord> {
        Rc::new(CommRecord {
            here: here.clone(),
            members,
            started: Cell::new(0),
            name: RefCell::new(None),
            attributes,
            topology,
        })
    }

    pub(crate) fn membership(&self) -> Membership<'_> {
        match &self.members {
            CommMembers::System(membership) => *membership,
            CommMembers::Made(made) => made.membership(),
            CommMembers::Both(made) => made.sides().all(),
        }
    }

    /// Returns the possible sources and destinations, or the error of [`CommRecord::core`].
    pub(crate) fn partners(&self) -> Result<Partners<'_>, Error> {
        let group = self
            .sides()
            .map_or_else(|| self.membership().group(), InterGroups::remote);
        Ok(Partners::at(self.here.env()?, group))
    }

    /// Returns this process's neighbours. Returns [`Error::Wrong`] without a topology, and [`Error::NoSpace`].
    pub(crate) fn neighbours(&self) -> Result<NeighbourLists, Error> {
        NeighbourLists::from_topology(self.membership().rank, self.topology())
    }

    pub(super) fn topology(&self) -> Option<&Topology> {
        Some(self.topology.as_deref()?.topology())
    }

    /// Returns the communicator with its device, for collectives, or [`Error::Order`] after the end of its process.
    pub(crate) fn core(&self) -> Result<comm::Communicator<'_>, Error> {
        Ok(comm::Communicator::at(self.here.env()?, self.membership()))
    }
}

impl Drop for CommRecord {
    /// Frees the communicator (MPI_Comm_free, MPI-3.1 section 6.4.3). Every request on it references the record, and is
    /// therefore complete.
    fn drop(&mut self) {
        if let (CommMembers::Made(_) | CommMembers::Both(_), Ok(env)) = (&self.members, self.here.env()) {
            env.process().retire_context(self.membership().context);
        }
    }
}
