//! Intercommunicators: two groups that talk to each other (MPI-3.1 section 6.6).

use alloc::rc::Rc;
use alloc::string::String;

use super::communicator::check_rank;
use super::process::Any;
use super::record::{Members, Record};
use super::{
    AnyProcess, AsCommunicator, Color, CommunicatorRelation, Context, Group, Key, Process, Rank,
    SimpleCommunicator, Twin, UserGroup,
};
use crate::Tag;
use crate::attribute::Attributes;
use crate::point_to_point::PROC_NULL;
use crate::process::Here;
use crate::request::DuplicateFuture;
use midplane_device::envelope;
use midplane_objects::environment as job;
use midplane_objects::error::{Class, Error};
use midplane_objects::group::exact;
use midplane_objects::inter::{Bridge, MadeInter, connect};
use midplane_objects::sides::{Intercommunicator, Sides};
use midplane_objects::split::{Ready, ready};

/// Two groups without a common process, and a context for what they send each other (MPI-3.1 section 6.6). Its processes
/// are those of the other group, the remote one: messages go there and come from there, and collectives give to one group
/// what the other one has. Dropping it frees it, once its requests are complete.
///
/// ```
/// # use midplane_rust as mpi;
/// use mpi::collective::SystemOperation;
/// use mpi::topology::{Color, MergeOrder};
/// use mpi::traits::*;
///
/// /// The even and the odd ranks of the world, of which there are two at least: the sum of what the others have.
/// fn sum_of_the_others(world: &impl Communicator, mine: u64) -> u64 {
///     let is_odd = world.rank() % 2;
///     let half = world.split_by_color(Color::with_value(is_odd)).unwrap();
///     let both = half.create_intercommunicator(0, &world.process_at_rank(1 - is_odd), 0);
///     if both.rank() == 0 {
///         // The other group's rank 0, and not one's own.
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
/// It is no [`Communicator`](super::Communicator): collectives of one group have no meaning here, and the compiler refuses them. Calls of the
/// same names are its own:
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
    /// It gives the context back.
    record: Rc<Record>,
}

/// Where a group's processes are in the communicator that an intercommunicator is merged to (MPI-3.1 section 6.6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeOrder {
    /// Before those of a group that says [`High`](MergeOrder::High).
    Low,
    /// Behind those of a group that says [`Low`](MergeOrder::Low).
    High,
}

/// See [`Communicator::try_create_intercommunicator`](super::Communicator::try_create_intercommunicator).
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
        Ok(Bridge::new(partners, rank))
    };
    let bridge = (local.own_rank() == leader).then(bridge);
    let made = connect("MPI_Intercomm_create", local, leader, bridge, &mut ready)?;
    let here = &comm.record.here;
    Ok(InterCommunicator::of(here, made, Attributes::new()))
}

impl InterCommunicator {
    fn of(here: &Rc<Here>, made: MadeInter, attributes: Attributes) -> InterCommunicator {
        let record = Record::new(here, Members::Both(made), None, attributes);
        InterCommunicator { record }
    }

    fn sides(&self) -> Sides<'_> {
        self.record.sides().expect("made of two groups")
    }

    fn here(&self) -> &Rc<Here> {
        &self.record.here
    }

    /// It with its device. Fails with [`Error::Order`] after the end of its process.
    pub(crate) fn core(&self) -> Result<Intercommunicator<'_>, Error> {
        let (env, sides) = (self.here().env()?, self.sides());
        Ok(Intercommunicator { env, sides })
    }

    /// How many processes the local group has, in which the process is that asks (MPI_Comm_size). Does not block.
    pub fn size(&self) -> Rank {
        self.sides().local().size as Rank
    }

    /// The rank in the local group of the process that asks (MPI_Comm_rank). Does not block.
    pub fn rank(&self) -> Rank {
        self.sides().local().rank.0 as Rank
    }

    /// How many processes the remote group has (MPI_Comm_remote_size, MPI-3.1 section 6.6.1). Does not block.
    pub fn remote_size(&self) -> Rank {
        self.sides().remote().size as Rank
    }

    /// How many processes messages go to: those of the remote group.
    pub fn target_size(&self) -> Rank {
        self.remote_size()
    }

    /// The process of the remote group with this rank there.
    ///
    /// # Panics
    /// When there is no such rank.
    #[track_caller]
    pub fn process_at_rank(&self, r: Rank) -> Process<'_, InterCommunicator> {
        check_rank(r, self.remote_size(), "remote group");
        Process::new(self, r)
    }

    /// Whichever process of the remote group a message comes from (MPI_ANY_SOURCE).
    pub fn any_process(&self) -> AnyProcess<'_, InterCommunicator> {
        AnyProcess::new(self, Any)
    }

    /// No process, as [`Communicator::null_process`](super::Communicator::null_process) (MPI_PROC_NULL, MPI-3.1 section 3.11).
    pub fn null_process(&self) -> Process<'_, InterCommunicator> {
        Process::new(self, PROC_NULL)
    }

    /// The processes of the local group, in the program's heap (MPI_Comm_group, MPI-3.1 section 6.3.2). Does not block. Ends
    /// the job when there is no room.
    #[track_caller]
    pub fn group(&self) -> UserGroup {
        self.group_of("MPI_Comm_group", self.sides().local_members())
    }

    /// As [`group`](Self::group), of the remote group (MPI_Comm_remote_group, MPI-3.1 section 6.6.1).
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

    /// Divides both groups by color: the processes of one color in one group meet those of the same color in the other
    /// (MPI_Comm_split, MPI-3.1 section 6.4.2), each in the order that they have here. `None`: this process is in none, or
    /// no process of the other group has its color. Blocks until all processes of both groups have called it. Ends the job
    /// where [`try_split_by_color_with_key`](Self::try_split_by_color_with_key) fails.
    #[track_caller]
    pub fn split_by_color(&self, color: Color) -> Option<InterCommunicator> {
        self.split_by_color_with_key(color, 0)
    }

    /// How it compares with another one: by both groups, as that one that compares worse (MPI_Comm_compare, MPI-3.1 section
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

    /// Whether it is an intercommunicator (MPI_Comm_test_inter, MPI-3.1 section 6.6.1): yes.
    pub fn test_inter(&self) -> bool {
        true
    }

    /// Ends the whole job at once with this status (MPI_Abort, MPI-3.1 section 8.7).
    #[track_caller]
    pub fn abort(&self, errorcode: i32) -> ! {
        let function = "mpi::topology::InterCommunicator::abort (MPI_Abort)";
        job::abort(self.here().or_fatal(function, self.here().env()), errorcode)
    }

    /// Names it (MPI_Comm_set_name, MPI-3.1 section 6.8).
    pub fn set_name(&self, name: &str) {
        self.record.set_name(name);
    }

    /// Its name; empty, unless it has been given one (MPI_Comm_get_name).
    pub fn get_name(&self) -> String {
        self.record.name()
    }

    ends_the_job! {
        "mpi::topology::InterCommunicator", [pub fn(&self)], self.here();

        /// The communicator of all processes of both groups (MPI_Intercomm_merge, MPI-3.1 section 6.6.2); all processes of a
        /// group give the same order. Where both groups give the same, which of them comes first is up to the library, for all
        /// alike. Blocks until all processes of both groups have called it. Ends the job where [`try_merge`](Self::try_merge)
        /// fails.
        merge[](order: MergeOrder) -> SimpleCommunicator, "MPI_Intercomm_merge";
        /// As [`merge`](Self::merge). Fails as [`Communicator::try_duplicate`](super::Communicator::try_duplicate).
        or try_merge = {
            let is_high = order == MergeOrder::High;
            let made = self.core()?.make_merged("MPI_Intercomm_merge", &mut ready, is_high)?;
            let record = Record::new(self.here(), Members::Made(made), None, Attributes::new());
            Ok(SimpleCommunicator { record })
        };

        /// Another intercommunicator of the same groups, with those [attributes](crate::attribute) that are to be cloned
        /// (MPI_Comm_dup, MPI-3.1 section 6.4.2). Blocks until all processes of
        /// both groups have called it. Ends the job where [`try_duplicate`](Self::try_duplicate) fails.
        duplicate[]() -> InterCommunicator, "MPI_Comm_dup";
        /// As [`duplicate`](Self::duplicate). Fails as [`Communicator::try_duplicate`](super::Communicator::try_duplicate).
        or try_duplicate = {
            let make = |ready: Ready<'_>| self.core()?.make_duplicate("MPI_Comm_dup", ready);
            let (made, attributes) = self.record.duplicated(make)?;
            Ok(InterCommunicator::of(self.here(), made, attributes))
        };

        /// As [`duplicate`](Self::duplicate), without blocking (MPI_Comm_idup, MPI-3.1 section 6.4.2). Ends the job where
        /// [`try_immediate_duplicate`](Self::try_immediate_duplicate) fails.
        immediate_duplicate[]() -> DuplicateFuture<InterCommunicator>, "MPI_Comm_idup";
        /// As [`immediate_duplicate`](Self::immediate_duplicate). Fails with [`Error::NoMemory`] and [`Error::NoRoom`].
        or try_immediate_duplicate = DuplicateFuture::new(&self.record);

        /// As [`split_by_color`](Self::split_by_color), in the order of the keys and, where these are equal, in the order that
        /// the processes have here.
        split_by_color_with_key[](color: Color, key: Key) -> Option<InterCommunicator>, "MPI_Comm_split";
        /// As [`split_by_color_with_key`](Self::split_by_color_with_key). Fails as [`Communicator::try_duplicate`](super::Communicator::try_duplicate).
        or try_split_by_color_with_key = {
            let made = self.core()?.make_split("MPI_Comm_split", &mut ready, color.0, key)?;
            Ok(made.map(|made| InterCommunicator::of(self.here(), made, Attributes::new())))
        };

        /// The intercommunicator of those processes of both groups that are in the `group` that they give, which has processes of
        /// their own group alone, in the order of it (MPI_Comm_create, MPI-3.1 section 6.4.2). `None`: this process is not in it,
        /// or no process of the other group is in one. Blocks until all processes of both groups have called it. Ends the job
        /// where [`try_split_by_subgroup_collective`](Self::try_split_by_subgroup_collective) fails.
        split_by_subgroup_collective[G: Group + ?Sized](group: &G) -> Option<InterCommunicator>, "MPI_Comm_create";
        /// As [`split_by_subgroup_collective`](Self::split_by_subgroup_collective). Fails with class Group, at this process
        /// alone, when `group` has a process that is not of the local group, and as
        /// [`Communicator::try_duplicate`](super::Communicator::try_duplicate).
        or try_split_by_subgroup_collective = {
            let (local, members) = (self.sides().local_members(), group.members());
            if !members.iter().all(|member| local.contains(member)) {
                return Err(Error::Wrong {
                    class: Class::Group,
                    what: "the group has a process that the local group does not have",
                });
            }
            let own = self.sides().local();
            let own = own.to_world(own.rank);
            // Each group makes a part of its own members: a split by the place in the list.
            let place = members.iter().position(|member| *member == own);
            let color = Color(place.map(|_| 0));
            self.try_split_by_color_with_key(color, place.unwrap_or(0) as Key)
        };
    }
}

impl Twin for InterCommunicator {
    fn duplicate_in(parent: &Record, context: envelope::Context) -> Result<Self, Error> {
        let sides = parent.sides().ok_or(Error::argument(
            "an intercommunicator is a duplicate of one",
        ))?;
        let env = parent.here.env()?;
        let made = Intercommunicator { env, sides }.make_duplicate_in(context)?;
        Ok(InterCommunicator::of(&parent.here, made, Attributes::new()))
    }
}

impl Context for InterCommunicator {
    fn record(&self) -> &Rc<Record> {
        &self.record
    }
}

impl AsCommunicator for InterCommunicator {
    type Out = InterCommunicator;
    fn as_communicator(&self) -> &InterCommunicator {
        self
    }
}
