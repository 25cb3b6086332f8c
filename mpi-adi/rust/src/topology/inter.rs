//! Intercommunicators: communication between two groups (MPI-3.1 section 6.6).

use alloc::rc::Rc;
use alloc::string::String;

use super::Rank;
use super::context::{
    AsCommunicator, Color, CommunicatorRelation, Context, DuplicableContext, Key, UNDEFINED_COLOR, check_rank,
};
use super::group::{Group, UserGroup};
use super::process::{AnyProcess, AnyRank, Process};
use super::record::CommRecord;
use super::simple::SimpleCommunicator;
use super::state::CommMembers;
use crate::Tag;
use crate::attribute::CommAttributes;
use crate::point_to_point::PROC_NULL;
use crate::process::ProcessState;
use crate::recording::{Fields, creating};
use crate::request::DuplicateFuture;
use midplane_device::envelope;
use midplane_objects::environment as job;
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::group::exact;
use midplane_objects::inter::{CreatedInter, LeaderBridge, connect};
use midplane_objects::inter_groups::{InterGroups, Intercommunicator};
use midplane_objects::split::{PrepareComm, ready};

/// Two disjoint groups and a context for messages between them (MPI-3.1 section 6.6).
///
/// Its processes are those of the other, remote group: messages are exchanged with that group, and collectives transfer
/// data between the groups. Its drop frees it, once its requests are complete.
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::collective::SystemOperation;
/// use mpi::topology::{Color, MergeOrder};
/// use mpi::traits::*;
///
/// /// Returns to the even ranks the sum of the odd ranks' values, and vice versa. Requires two processes.
/// fn sum_of_the_others(world: &impl Communicator, mine: u64) -> u64 {
///     let is_odd = world.rank() % 2;
///     let half = world.split_by_color(Color::with_value(is_odd)).unwrap();
///     let both = half.create_intercommunicator(0, &world.process_at_rank(1 - is_odd), 0);
///     if both.rank() == 0 {
///         // Rank 0 of the other group.
///         both.process_at_rank(0).send(&mine);
///         let (_theirs, _status) = both.process_at_rank(0).receive::<u64>();
///     }
///     let mut sum = 0;
///     both.all_reduce_into(&mine, &mut sum, SystemOperation::sum());
///     let order = if is_odd == 1 { MergeOrder::High } else { MergeOrder::Low };
///     assert_eq!(both.merge(order).size(), world.size());
///     sum
/// }
/// ```
///
/// It is not a [`Communicator`](super::Communicator): the compiler rejects collectives of one group, which are
/// undefined here. It provides its own calls of the same names:
///
/// ```compile_fail,E0599
/// # use midplane_rust as mpi;
/// # use mpi::collective::SystemOperation;
/// # use mpi::topology::InterCommunicator;
/// # use mpi::traits::*;
/// # fn scans(both: &InterCommunicator) {
/// let mut sum = 0;
/// both.scan_into(&1u64, &mut sum, SystemOperation::sum());
/// # }
/// ```
pub struct InterCommunicator {
    /// Its drop frees the context.
    record: CommRecord,
}

/// Position of a group's processes in the communicator that merges an intercommunicator (MPI-3.1 section 6.6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeOrder {
    /// Before a group with [`High`](MergeOrder::High).
    Low,
    /// After a group with [`Low`](MergeOrder::Low).
    High,
}

#[cfg_attr(feature = "options", track_caller)]
pub(super) fn create<C: Context>(
    comm: &SimpleCommunicator,
    local_leader: Rank,
    remote_leader: &Process<'_, C>,
    tag: Tag,
) -> Result<InterCommunicator, Error> {
    let local = comm.record.core()?;
    let leader = local.partners().group().rank(local_leader.into())?;
    let bridge = || {
        if tag < 0 {
            return Err(Error::Tag { tag });
        }
        let partners = remote_leader.as_communicator().record().partners()?;
        let rank = partners.group().rank(remote_leader.rank().into())?;
        Ok(LeaderBridge::new(partners, rank))
    };
    let bridge = (local.own_rank() == leader).then(bridge);
    let here = &comm.record.here;
    let arguments = |fields: &mut Fields| {
        fields.communicator(&comm.record).value(local_leader);
        fields.communicator(remote_leader.as_communicator().record()).unknown(3);
    };
    let create = || {
        let made = connect("MPI_Intercomm_create", local, leader, bridge, &mut ready)?;
        Ok(InterCommunicator::from_created(here, made, CommAttributes::new()))
    };
    creating("MPI_Intercomm_create", arguments, create, |new| Some(&new.record))
}

impl InterCommunicator {
    fn from_created(here: &Rc<ProcessState>, made: CreatedInter, attributes: CommAttributes) -> InterCommunicator {
        let record = CommRecord::new(here, CommMembers::Both(made), None, attributes);
        InterCommunicator { record }
    }

    fn sides(&self) -> InterGroups<'_> {
        self.record.sides().expect("made of two groups")
    }

    fn here(&self) -> &Rc<ProcessState> {
        &self.record.here
    }

    /// Returns it with its device, or [`Error::Order`] after the end of its process.
    pub(crate) fn core(&self) -> Result<Intercommunicator<'_>, Error> {
        let (env, sides) = (self.here().env()?, self.sides());
        Ok(Intercommunicator { env, sides })
    }

    /// Returns the size of the local group, which contains the calling process (MPI_Comm_size). Does not block.
    pub fn size(&self) -> Rank {
        self.sides().local().size as Rank
    }

    /// Returns the rank of the calling process in the local group (MPI_Comm_rank). Does not block.
    pub fn rank(&self) -> Rank {
        self.sides().local().rank.0 as Rank
    }

    /// Returns the size of the remote group (MPI_Comm_remote_size, MPI-3.1 section 6.6.1). Does not block.
    pub fn remote_size(&self) -> Rank {
        self.sides().remote().size as Rank
    }

    /// Returns the number of possible destinations: the remote group.
    pub fn target_size(&self) -> Rank {
        self.remote_size()
    }

    /// Returns the process of the remote group with this rank.
    ///
    /// # Panics
    /// When there is no such rank.
    #[track_caller]
    pub fn process_at_rank(&self, r: Rank) -> Process<'_, InterCommunicator> {
        check_rank(r, self.remote_size(), "remote group");
        Process::new(self, r)
    }

    /// Returns the wildcard source in the remote group (MPI_ANY_SOURCE).
    pub fn any_process(&self) -> AnyProcess<'_, InterCommunicator> {
        AnyProcess::new(self, AnyRank)
    }

    /// Returns the null process; see [`Communicator::null_process`](super::Communicator::null_process) (MPI_PROC_NULL,
    /// MPI-3.1 section 3.11).
    pub fn null_process(&self) -> Process<'_, InterCommunicator> {
        Process::new(self, PROC_NULL)
    }

    /// Returns the local group, allocated from the program's heap (MPI_Comm_group, MPI-3.1 section 6.3.2). Does not
    /// block. Aborts the job when the heap has no space.
    #[track_caller]
    pub fn group(&self) -> UserGroup {
        self.group_of("MPI_Comm_group", self.sides().local_members())
    }

    /// Returns the remote group, like [`group`](Self::group) (MPI_Comm_remote_group, MPI-3.1 section 6.6.1).
    #[track_caller]
    pub fn remote_group(&self) -> UserGroup {
        self.group_of("MPI_Comm_remote_group", self.sides().remote_members())
    }

    #[track_caller]
    fn group_of(&self, function: &'static str, members: &[envelope::Rank]) -> UserGroup {
        let local = self.sides().local();
        let members = self.here().or_fatal(function, exact(members));
        UserGroup(members, local.to_world(local.rank))
    }

    /// Splits both groups by color: each color creates an intercommunicator of its processes in both groups, in the
    /// order of this one (MPI_Comm_split, MPI-3.1 section 6.4.2).
    ///
    /// Returns `None` for an undefined color, and if the remote group has no process of the color. Blocks until all
    /// processes of both groups have called it. Aborts the job where
    /// [`try_split_by_color_with_key`](Self::try_split_by_color_with_key) fails.
    #[track_caller]
    pub fn split_by_color(&self, color: Color) -> Option<InterCommunicator> {
        self.split_by_color_with_key(color, 0)
    }

    /// Compares two intercommunicators: returns the weaker relation of their groups (MPI_Comm_compare, MPI-3.1 section
    /// 6.4.1). Does not block.
    #[track_caller]
    pub fn compare(&self, other: &InterCommunicator) -> CommunicatorRelation {
        let (a, b) = (self.sides(), other.sides());
        if a.context == b.context {
            return CommunicatorRelation::Identical;
        }
        let local = self.group().compare(&other.group());
        let remote = self.remote_group().compare(&other.remote_group());
        local.max(remote).into()
    }

    /// Checks whether it is an intercommunicator (MPI_Comm_test_inter, MPI-3.1 section 6.6.1). Always true.
    pub fn test_inter(&self) -> bool {
        true
    }

    /// Aborts the job with this status (MPI_Abort, MPI-3.1 section 8.7).
    #[track_caller]
    pub fn abort(&self, errorcode: i32) -> ! {
        let function = "mpi::topology::InterCommunicator::abort (MPI_Abort)";
        job::abort(self.here().or_fatal(function, self.here().env()), errorcode)
    }

    /// Sets its name (MPI_Comm_set_name, MPI-3.1 section 6.8).
    pub fn set_name(&self, name: &str) {
        self.record.set_name(name);
    }

    /// Returns its name, which is empty unless it was set (MPI_Comm_get_name).
    pub fn get_name(&self) -> String {
        self.record.name()
    }

    ends_the_job! {
        "mpi::topology::InterCommunicator", [pub fn(&self)], self.here();

        /// Merges both groups into one communicator (MPI_Intercomm_merge, MPI-3.1 section 6.6.2). All processes of a
        /// group specify the same order. If both groups specify the same, the library orders them, equally at all
        /// processes. Blocks until all processes of both groups have called it. Aborts the job where
        /// [`try_merge`](Self::try_merge) fails.
        merge[](order: MergeOrder) -> SimpleCommunicator, "MPI_Intercomm_merge";
        /// [`merge`](Self::merge) that returns the errors of
        /// [`Communicator::try_duplicate`](super::Communicator::try_duplicate).
        or try_merge = {
            let is_high = order == MergeOrder::High;
            let arguments = |fields: &mut Fields| {
                fields.communicator(&self.record).value(is_high).unknown(1);
            };
            let create = || {
                let made = self.core()?.make_merged("MPI_Intercomm_merge", &mut ready, is_high)?;
                let record = CommRecord::new(self.here(), CommMembers::Made(made), None, CommAttributes::new());
                Ok(SimpleCommunicator { record })
            };
            creating("MPI_Intercomm_merge", arguments, create, |new| Some(&new.record))
        };

        /// Creates an intercommunicator of the same groups, with those [attributes](crate::attribute) that are
        /// cloned (MPI_Comm_dup, MPI-3.1 section 6.4.2). Blocks until all processes of both groups have called it.
        /// Aborts the job where [`try_duplicate`](Self::try_duplicate) fails.
        duplicate[]() -> InterCommunicator, "MPI_Comm_dup";
        /// [`duplicate`](Self::duplicate) that returns the errors of
        /// [`Communicator::try_duplicate`](super::Communicator::try_duplicate).
        or try_duplicate = {
            let arguments = |fields: &mut Fields| {
                fields.communicator(&self.record).unknown(1);
            };
            let create = || {
                let make = |ready: PrepareComm<'_>| self.core()?.make_duplicate("MPI_Comm_dup", ready);
                let (made, attributes) = self.record.duplicated(make)?;
                Ok(InterCommunicator::from_created(self.here(), made, attributes))
            };
            creating("MPI_Comm_dup", arguments, create, |new| Some(&new.record))
        };

        /// Nonblocking [`duplicate`](Self::duplicate) (MPI_Comm_idup, MPI-3.1 section 6.4.2). Aborts the job where
        /// [`try_immediate_duplicate`](Self::try_immediate_duplicate) fails.
        immediate_duplicate[]() -> DuplicateFuture<InterCommunicator>, "MPI_Comm_idup";
        /// [`immediate_duplicate`](Self::immediate_duplicate) that returns [`Error::NoMemory`] and [`Error::NoSpace`].
        or try_immediate_duplicate = DuplicateFuture::start(&self.record);

        /// [`split_by_color`](Self::split_by_color) in the order of keys; equal keys in the order of this
        /// intercommunicator.
        split_by_color_with_key[](color: Color, key: Key) -> Option<InterCommunicator>, "MPI_Comm_split";
        /// [`split_by_color_with_key`](Self::split_by_color_with_key) that returns the errors of
        /// [`Communicator::try_duplicate`](super::Communicator::try_duplicate).
        or try_split_by_color_with_key = {
            let arguments = |fields: &mut Fields| {
                let color = color.0.map_or(UNDEFINED_COLOR, i64::from);
                fields.communicator(&self.record).value(color).value(key).unknown(1);
            };
            let create = || {
                let made = self.core()?.make_split("MPI_Comm_split", &mut ready, color.0, key)?;
                Ok(made.map(|made| InterCommunicator::from_created(self.here(), made, CommAttributes::new())))
            };
            creating("MPI_Comm_split", arguments, create, |new| {
                new.as_ref().map(|new| &new.record)
            })
        };

        /// Creates an intercommunicator of the processes of both groups that are in the `group` they specify
        /// (MPI_Comm_create, MPI-3.1 section 6.4.2).
        ///
        /// `group` contains processes of the local group, and defines their order. Returns `None` if this process is
        /// not in it, or the remote group's are empty. Blocks until all processes of both groups have called it. Aborts
        /// the job where [`try_split_by_subgroup_collective`](Self::try_split_by_subgroup_collective) fails.
        split_by_subgroup_collective[G: Group + ?Sized](group: &G) -> Option<InterCommunicator>, "MPI_Comm_create";
        /// [`split_by_subgroup_collective`](Self::split_by_subgroup_collective) that returns its error: class Group, at
        /// this process alone, when `group` contains a process outside the local group, or one of
        /// [`Communicator::try_duplicate`](super::Communicator::try_duplicate).
        or try_split_by_subgroup_collective = {
            let (local, members) = (self.sides().local_members(), group.members());
            if !members.iter().all(|member| local.contains(member)) {
                return Err(Error::Wrong {
                    class: ErrorClass::Group,
                    what: "the group has a process that the local group does not have",
                });
            }
            let own = self.sides().local();
            let own = own.to_world(own.rank);
            // Each group selects its own members: a split whose key is the index in the list.
            let place = members.iter().position(|member| *member == own);
            let color = Color(place.map(|_| 0));
            self.try_split_by_color_with_key(color, place.unwrap_or(0) as Key)
        };
    }
}

impl DuplicableContext for InterCommunicator {
    fn duplicate_in(parent: &CommRecord, context: envelope::Context) -> Result<Self, Error> {
        let sides = parent
            .sides()
            .ok_or(Error::argument("an intercommunicator is a duplicate of one"))?;
        let env = parent.here.env()?;
        let made = Intercommunicator { env, sides }.make_duplicate_in(context)?;
        Ok(InterCommunicator::from_created(
            &parent.here,
            made,
            CommAttributes::new(),
        ))
    }
}

impl Context for InterCommunicator {
    fn record(&self) -> &CommRecord {
        &self.record
    }
}

impl AsCommunicator for InterCommunicator {
    type Out = InterCommunicator;
    fn as_communicator(&self) -> &InterCommunicator {
        self
    }
}
