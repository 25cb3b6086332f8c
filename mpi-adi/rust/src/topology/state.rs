//! State of a communicator, without its process.

use alloc::rc::Rc;
use alloc::string::String;
use core::cell::{Cell, RefCell};

use crate::attribute::CommAttributes;
use midplane_objects::comm::Membership;
use midplane_objects::context::WORLD_CONTEXT;
use midplane_objects::error::Error;
use midplane_objects::inter::CreatedInter;
use midplane_objects::inter_groups::InterGroups;
use midplane_objects::split::{CreatedComm, PrepareComm};
use midplane_objects::topology::{NeighbourLists, Topology};

/// A topology behind a function table: only programs that create a topology link its drop code.
pub(crate) trait TopologyHolder {
    fn topology(&self) -> &Topology;
}

impl TopologyHolder for Topology {
    fn topology(&self) -> &Topology {
        self
    }
}

/// State of a communicator, shared by its [records](super::CommRecord) and its nonblocking collectives.
#[doc(hidden)]
pub struct CommState {
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

impl CommState {
    pub(super) fn new(
        members: CommMembers,
        topology: Option<Rc<dyn TopologyHolder>>,
        attributes: CommAttributes,
    ) -> Rc<CommState> {
        Rc::new(CommState {
            members,
            started: Cell::new(0),
            name: RefCell::new(None),
            attributes,
            topology,
        })
    }

    pub(super) fn is_predefined(&self) -> bool {
        matches!(self.members, CommMembers::System(_))
    }

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

    pub(crate) fn sides(&self) -> Option<InterGroups<'_>> {
        match &self.members {
            CommMembers::Both(both) => Some(both.sides()),
            CommMembers::System(_) | CommMembers::Made(_) => None,
        }
    }

    pub(crate) fn membership(&self) -> Membership<'_> {
        match &self.members {
            CommMembers::System(membership) => *membership,
            CommMembers::Made(made) => made.membership(),
            CommMembers::Both(made) => made.sides().all(),
        }
    }

    /// Returns this process's neighbours. Returns [`Error::Wrong`] without a topology, and [`Error::NoSpace`].
    pub(crate) fn neighbours(&self) -> Result<NeighbourLists, Error> {
        NeighbourLists::from_topology(self.membership().rank, self.topology())
    }

    pub(super) fn topology(&self) -> Option<&Topology> {
        Some(self.topology.as_deref()?.topology())
    }
}
