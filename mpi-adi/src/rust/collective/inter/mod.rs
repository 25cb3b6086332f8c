//! Collectives of two groups (MPI-3.1 sections 5.2.2 and 5.2.3): what one gives, the other one gets.
#![forbid(unsafe_code)]

mod blocking;
mod immediate;

use crate::mpi::coll::inter::Role;
use crate::mpi::error::Error;
use crate::mpi::sides::Intercommunicator;
use crate::rust::topology::{AsCommunicator, InterCommunicator, Process};

impl Process<'_, InterCommunicator> {
    /// The intercommunicator, and what this process is in a collective whose root is that one.
    fn given(&self) -> Result<(Intercommunicator<'_>, Role), Error> {
        let core = self.as_communicator().core()?;
        let root = core.sides.remote().rank(self.rank().into())?;
        Ok((core, Role::Member(root)))
    }
}
