//! What a communicator is, behind its handles.

use alloc::rc::Rc;
use alloc::string::String;
use core::cell::{Cell, RefCell};

use super::kinds::Arranged;
use crate::attribute::Attributes;
use crate::process::Here;
use midplane_objects::comm::{self, Membership, Partners};
use midplane_objects::context::WORLD_CONTEXT;
use midplane_objects::error::Error;
use midplane_objects::inter::MadeInter;
use midplane_objects::sides::Sides;
use midplane_objects::split::{Made, Ready};
use midplane_objects::topology::{Neighbours, Topology};

/// What a communicator is, for its handles, processes and requests.
#[doc(hidden)]
pub struct Record {
    pub(crate) here: Rc<Here>,
    members: Members,
    /// Nonblocking collectives that have been started.
    pub(crate) started: Cell<u32>,
    /// `None`: that which it has from the start.
    name: RefCell<Option<String>>,
    pub(crate) attributes: Attributes,
    /// A duplicate has the same one.
    pub(super) topology: Option<Rc<dyn Arranged>>,
}

/// Who they are.
pub(super) enum Members {
    System(Membership<'static>),
    Made(Made),
    /// Both groups of an intercommunicator.
    Both(MadeInter),
}

impl Record {
    pub(super) fn set_name(&self, name: &str) {
        *self.name.borrow_mut() = Some(String::from(name));
    }

    pub(super) fn name(&self) -> String {
        let given = self.name.borrow().clone();
        given.unwrap_or_else(|| {
            String::from(match &self.members {
                Members::System(all) if all.context == WORLD_CONTEXT => "MPI_COMM_WORLD",
                Members::System(_) => "MPI_COMM_SELF",
                Members::Made(_) | Members::Both(_) => "",
            })
        })
    }

    /// Runs `make`, which makes a duplicate, and calls what it is given as other calls that make a communicator do: either
    /// all processes have room for the attributes of theirs, or none has one. What is made comes with the attributes. Fails
    /// as `make` does.
    pub(super) fn duplicated<M>(
        &self,
        make: impl FnOnce(Ready<'_>) -> Result<M, Error>,
    ) -> Result<(M, Attributes), Error> {
        let attributes = self.attributes.duplicated();
        let made = make(&mut |_| attributes.as_ref().map(|_| ()).map_err(|error| *error))?;
        Ok((made, attributes?))
    }

    /// Both groups, of an intercommunicator.
    pub(super) fn sides(&self) -> Option<Sides<'_>> {
        match &self.members {
            Members::Both(both) => Some(both.sides()),
            Members::System(_) | Members::Made(_) => None,
        }
    }

    pub(super) fn new(
        here: &Rc<Here>,
        members: Members,
        topology: Option<Rc<dyn Arranged>>,
        attributes: Attributes,
    ) -> Rc<Record> {
        Rc::new(Record {
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
            Members::System(membership) => *membership,
            Members::Made(made) => made.membership(),
            Members::Both(made) => made.sides().all(),
        }
    }

    /// Those whom messages go to and come from. Fails as [`Record::core`].
    pub(crate) fn partners(&self) -> Result<Partners<'_>, Error> {
        let group = self
            .sides()
            .map_or_else(|| self.membership().group(), Sides::remote);
        Ok(Partners::at(self.here.env()?, group))
    }

    /// This process's neighbours. Fails with [`Error::Wrong`] where there is no topology, and with [`Error::NoRoom`].
    pub(crate) fn neighbours(&self) -> Result<Neighbours, Error> {
        Neighbours::of(self.membership().rank, self.topology())
    }

    pub(super) fn topology(&self) -> Option<&Topology> {
        Some(self.topology.as_deref()?.topology())
    }

    /// It, for collectives, with its device. Fails with [`Error::Order`] after the end of its process.
    pub(crate) fn core(&self) -> Result<comm::Communicator<'_>, Error> {
        Ok(comm::Communicator::at(self.here.env()?, self.membership()))
    }
}

impl Drop for Record {
    /// MPI_Comm_free (MPI-3.1 section 6.4.3): every request on it has a hold on it, and so is complete.
    fn drop(&mut self) {
        if let (Members::Made(_) | Members::Both(_), Ok(env)) = (&self.members, self.here.env()) {
            env.process().retire_context(self.membership().context);
        }
    }
}
