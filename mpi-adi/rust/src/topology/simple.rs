//! A communicator of any topology.

use alloc::rc::Rc;
use alloc::vec::Vec;

use super::Rank;
use super::context::check_rank;
use super::record::CommRecord;
use super::state::{CommMembers, CommState, TopologyHolder};
use crate::attribute::CommAttributes;
use crate::process::ProcessState;
use midplane_device::envelope;
use midplane_objects::comm::{self, Membership};
use midplane_objects::error::Error;
use midplane_objects::group;
use midplane_objects::split::{CreatedComm, ready};

/// A communicator (MPI-3.1 section 6.4), predefined or created by the program. The drop of a created one frees it, once
/// its requests are complete.
pub struct SimpleCommunicator {
    pub(crate) record: CommRecord,
}

/// Communicator of all processes.
pub type SystemCommunicator = SimpleCommunicator;

/// Communicator created by the program.
pub type UserCommunicator = SimpleCommunicator;

impl SimpleCommunicator {
    /// Registers the predefined communicators. Returns [`Error::Order`] without a device.
    pub(crate) fn enter_system(here: &Rc<ProcessState>) -> Result<(), Error> {
        let env = here.env()?;
        let world = comm::Communicator::world(env);
        let own = Membership::own(envelope::Rank::new(world.rank()));
        let world = Membership::world(envelope::Rank::new(world.rank()), world.size());
        let states =
            [world, own].map(|members| CommState::new(CommMembers::System(members), None, CommAttributes::new()));
        *here.own.borrow_mut() = Some(states);
        Ok(())
    }

    /// Drops the attributes of the predefined communicators, the first step of MPI_Finalize (MPI-3.1 section 8.7.1).
    pub(crate) fn drop_attributes(here: &Rc<ProcessState>) {
        if let Some([world, own]) = &*here.own.borrow() {
            own.attributes.clear();
            world.attributes.clear();
        }
    }

    pub(crate) fn system(here: &Rc<ProcessState>, which: usize) -> SimpleCommunicator {
        let own = here.own.borrow();
        let state = own.as_ref().expect("entered at the start")[which].clone();
        let here = here.clone();
        SimpleCommunicator {
            record: CommRecord { here, state },
        }
    }

    /// Returns the communicator of all processes of the job (MPI_COMM_WORLD).
    ///
    /// # Panics
    /// Before [`initialize`](crate::initialize).
    pub fn world() -> SimpleCommunicator {
        let here = crate::process::current().expect("MPI has been started");
        Self::system(&here, 0)
    }

    /// Returns the communicator of this process alone (MPI_COMM_SELF).
    ///
    /// # Panics
    /// Before [`initialize`](crate::initialize).
    pub fn self_comm() -> SimpleCommunicator {
        let here = crate::process::current().expect("MPI has been started");
        Self::system(&here, 1)
    }

    pub(super) fn made(&self, made: CreatedComm, topology: Option<Rc<dyn TopologyHolder>>) -> SimpleCommunicator {
        let members = CommMembers::Made(made);
        let record = CommRecord::new(&self.record.here, members, topology, CommAttributes::new());
        SimpleCommunicator { record }
    }

    /// Creates a duplicate for the library's use, without the program's attributes. Returns the errors of
    /// [`try_duplicate`](super::Communicator::try_duplicate).
    pub(crate) fn private(&self) -> Result<SimpleCommunicator, Error> {
        let core = self.record.core()?;
        let made = core.make_duplicate("MPI_Comm_dup", &mut ready)?;
        Ok(self.made(made, None))
    }

    /// Checks a rank.
    ///
    /// # Panics
    /// When there is no such rank.
    #[track_caller]
    pub(super) fn check(&self, rank: Rank) {
        check_rank(rank, self.record.size(), "communicator");
    }

    /// Copies a list of this communicator's processes. Returns [`Error::Wrong`] for another process, or
    /// [`Error::NoSpace`].
    pub(super) fn members(&self, given: &[envelope::Rank]) -> Result<Vec<envelope::Rank>, Error> {
        if !group::are_in(given, self.record.membership()) {
            return Err(Error::Wrong {
                class: midplane_objects::ErrorClass::Group,
                what: "the group has a process that the communicator does not have",
            });
        }
        group::exact(given)
    }
}
