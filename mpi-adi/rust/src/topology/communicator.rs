//! Communicators.

use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

use super::cartesian::{self, CartesianCommunicator};
use super::graph::{self, DistributedGraphCommunicator, GraphCommunicator, Weight};
use super::inter::{self, InterCommunicator};
use super::kinds::Arranged;
use super::process::Any;
use super::record::{Members, Record};
use super::{AnyProcess, Group, GroupRelation, Process, Rank, UserGroup};
use crate::attribute::{Attributes, CommAttribute};
use crate::datatype::lent::{lend, lend_mut};
use crate::datatype::user::kind_of;
use crate::datatype::{Buffer, BufferMut, Datatype};
use crate::info::Info;
use crate::process::Here;
use crate::request::DuplicateFuture;
use crate::{Count, Tag};
use midplane_device::envelope;
use midplane_device::interface::Device;
use midplane_objects::coll::room;
use midplane_objects::comm::{self, Membership};
use midplane_objects::environment as job;
use midplane_objects::error::Error;
use midplane_objects::group;
use midplane_objects::outside::places;
use midplane_objects::split::{Made, Ready, ready};
use midplane_objects::topology::rank_in;

/// A communicator (MPI-3.1 section 6.4): that of all processes, or one that the program has made. Dropping it frees
/// one that the program has made, once its requests are complete.
pub struct SimpleCommunicator {
    pub(crate) record: Rc<Record>,
}

/// The communicator of all processes.
pub type SystemCommunicator = SimpleCommunicator;
/// A communicator that the program has made.
pub type UserCommunicator = SimpleCommunicator;

impl SimpleCommunicator {
    /// Enters the communicators that are there from the start on. Fails with [`Error::Order`].
    pub(crate) fn enter_system(here: &Rc<Here>) -> Result<(), Error> {
        let env = here.env()?;
        let world = comm::Communicator::world(env);
        let own = Membership::own(envelope::Rank::new(world.rank()));
        let world = Membership::world(envelope::Rank::new(world.rank()), world.size());
        let records = [world, own]
            .map(|members| Record::new(here, Members::System(members), None, Attributes::new()));
        *here.own.borrow_mut() = Some(records);
        Ok(())
    }

    /// Drops the attributes of the two that are there from the start on, as the end of MPI does before anything else
    /// (MPI-3.1 section 8.7.1).
    pub(crate) fn drop_attributes(here: &Rc<Here>) {
        if let Some([world, own]) = &*here.own.borrow() {
            own.attributes.clear();
            world.attributes.clear();
        }
    }

    /// One of the two that are there from the start on.
    pub(crate) fn system(here: &Rc<Here>, which: usize) -> SimpleCommunicator {
        let own = here.own.borrow();
        let record = own.as_ref().expect("entered at the start")[which].clone();
        SimpleCommunicator { record }
    }

    /// All processes of the job (MPI_COMM_WORLD).
    ///
    /// # Panics
    /// Before [`initialize`](crate::initialize).
    pub fn world() -> SimpleCommunicator {
        let here = crate::process::current().expect("MPI has been started");
        Self::system(&here, 0)
    }

    /// This process alone (MPI_COMM_SELF).
    ///
    /// # Panics
    /// As [`SimpleCommunicator::world`].
    pub fn self_comm() -> SimpleCommunicator {
        let here = crate::process::current().expect("MPI has been started");
        Self::system(&here, 1)
    }

    pub(super) fn made(
        &self,
        made: Made,
        topology: Option<Rc<dyn Arranged>>,
    ) -> SimpleCommunicator {
        let members = Members::Made(made);
        let record = Record::new(&self.record.here, members, topology, Attributes::new());
        SimpleCommunicator { record }
    }

    /// A duplicate for the library's own use, which has nothing of the program's. Fails as
    /// [`try_duplicate`](Communicator::try_duplicate).
    pub(crate) fn private(&self) -> Result<SimpleCommunicator, Error> {
        let core = self.record.core()?;
        let made = core.make_duplicate("MPI_Comm_dup", &mut ready)?;
        Ok(self.made(made, None))
    }
}

/// What messages are sent in: a [`Communicator`] or an [`InterCommunicator`].
pub trait Context {
    /// What it is.
    #[doc(hidden)]
    fn record(&self) -> &Rc<Record>;

    /// The value of this type that is attached to it (MPI_Comm_get_attr, MPI-3.1 section 6.7.2). Does not block.
    fn get_attr<A: CommAttribute>(&self) -> Option<Rc<A>> {
        self.record().attributes.get()
    }

    /// Takes the value of this type away from it (MPI_Comm_delete_attr, MPI-3.1 section 6.7.2). Does not block.
    fn delete_attr<A: CommAttribute>(&self) -> Option<Rc<A>> {
        self.record().attributes.take()
    }

    /// Gives it hints (MPI_Comm_set_info, MPI-3.1 section 6.4.4). None means anything to a communicator of this library;
    /// what C gives where it makes a graph is said by this afterwards. Does not block.
    fn set_info(&self, info: &Info) {
        let _ = info;
    }

    /// The hints that are in use (MPI_Comm_get_info, MPI-3.1 section 6.4.4): none. Does not block.
    fn get_info(&self) -> Info {
        Info::new()
    }

    ends_the_job! {
        "mpi::topology::Context", [fn(&self)], self.record().here;

        /// Attaches a value to it, in place of the one of the same type that it may have, which is dropped (MPI_Comm_set_attr,
        /// MPI-3.1 section 6.7.2). The value is dropped with the communicator, that of a communicator that is there from the
        /// start on at the end of MPI, before anything else; of several, the one that was set last first. Takes of the
        /// program's heap what the value needs, and a place in a list, and ends the job when there is no room. Does not block.
        set_attr[A: CommAttribute](value: A), "MPI_Comm_set_attr";
        /// As [`set_attr`](Context::set_attr). Fails with [`Error::NoRoom`] when the list has no room.
        or try_set_attr = self.record().attributes.set(value);
    }
}

impl<C: Communicator + ?Sized> Context for C {
    fn record(&self) -> &Rc<Record> {
        &self.as_simple().record
    }
}

/// What duplicates are made of: a communicator or an intercommunicator.
pub trait Twin: Context + Sized {
    /// One with this context, of what has the parent's record. Fails with [`Error::NoRoom`].
    #[doc(hidden)]
    fn duplicate_in(parent: &Record, context: envelope::Context) -> Result<Self, Error>;
}

impl Twin for SimpleCommunicator {
    fn duplicate_in(parent: &Record, context: envelope::Context) -> Result<Self, Error> {
        let members = Members::Made(parent.core()?.make_duplicate_in(context)?);
        let topology = parent.topology.clone();
        let record = Record::new(&parent.here, members, topology, Attributes::new());
        Ok(SimpleCommunicator { record })
    }
}

/// Something of a communicator or an intercommunicator.
pub trait AsCommunicator {
    /// The communicator's type.
    type Out: Context;
    /// The communicator.
    fn as_communicator(&self) -> &Self::Out;
}

impl AsCommunicator for SimpleCommunicator {
    type Out = SimpleCommunicator;
    fn as_communicator(&self) -> &SimpleCommunicator {
        self
    }
}

/// What a process chooses in [`Communicator::split_by_color`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Color(pub(super) Option<u32>);

impl Color {
    /// That of processes that are to be in no part (MPI_UNDEFINED).
    pub fn undefined() -> Color {
        Color(None)
    }

    /// That with this value.
    ///
    /// # Panics
    /// When the value is negative.
    pub fn with_value(value: i32) -> Color {
        let value = u32::try_from(value);
        Color(Some(value.expect("the value of a color is not negative")))
    }
}

/// What processes of one color are ordered by.
pub type Key = i32;

/// How two communicators compare (MPI-3.1 section 6.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommunicatorRelation {
    /// They are the same.
    Identical,
    /// The same processes in the same order, but other messages.
    Congruent,
    /// The same processes in another order.
    Similar,
    /// Other processes.
    Unequal,
}

impl From<GroupRelation> for CommunicatorRelation {
    /// Of two communicators whose groups compare so.
    fn from(groups: GroupRelation) -> Self {
        match groups {
            GroupRelation::Identical => CommunicatorRelation::Congruent,
            GroupRelation::Similar => CommunicatorRelation::Similar,
            GroupRelation::Unequal => CommunicatorRelation::Unequal,
        }
    }
}

/// A context for messages, and the processes that it is of (MPI-3.1 chapter 6).
///
/// A call that makes a communicator blocks until all processes of this one have called it, and takes of the program's
/// heap what the list of its processes needs. It ends the job when there is no room for that, and when there are more
/// communicators than there can be at one time.
pub trait Communicator {
    /// It, without a topology.
    #[doc(hidden)]
    fn as_simple(&self) -> &SimpleCommunicator;

    /// How many processes there are (MPI_Comm_size). Does not block.
    fn size(&self) -> Rank {
        self.as_simple().record.membership().size as Rank
    }

    /// The rank of the process that asks (MPI_Comm_rank). Does not block.
    fn rank(&self) -> Rank {
        self.as_simple().record.membership().rank.0 as Rank
    }

    /// How many processes messages go to: as many as there are.
    fn target_size(&self) -> Rank {
        self.size()
    }

    /// The process with this rank.
    ///
    /// # Panics
    /// When there is no such rank.
    #[track_caller]
    fn process_at_rank(&self, r: Rank) -> Process<'_> {
        self.as_simple().check(r);
        Process::new(self.as_simple(), r)
    }

    /// Whichever process a message comes from (MPI_ANY_SOURCE).
    fn any_process(&self) -> AnyProcess<'_> {
        AnyProcess::new(self.as_simple(), Any)
    }

    /// The process that asks.
    fn this_process(&self) -> Process<'_> {
        Process::new(self.as_simple(), self.rank())
    }

    /// No process: a message to it is sent at once, and one from it is there at once and empty (MPI_PROC_NULL, MPI-3.1
    /// section 3.11).
    fn null_process(&self) -> Process<'_> {
        Process::new(self.as_simple(), super::super::point_to_point::PROC_NULL)
    }

    /// How it compares with another (MPI_Comm_compare). Does not block.
    fn compare<C: Communicator + ?Sized>(&self, other: &C) -> CommunicatorRelation
    where
        Self: Sized,
    {
        let (a, b) = (self.as_simple(), other.as_simple());
        if a.record.membership().context == b.record.membership().context {
            return CommunicatorRelation::Identical;
        }
        a.group().compare(&b.group()).into()
    }

    /// Divides the processes by color into communicators of their own, in the order that they have here (MPI_Comm_split,
    /// MPI-3.1 section 6.4.2). `None`: this process is in none.
    #[track_caller]
    fn split_by_color(&self, color: Color) -> Option<UserCommunicator> {
        self.split_by_color_with_key(color, 0)
    }

    /// The processes that share memory with this one (MPI_Comm_split_type with MPI_COMM_TYPE_SHARED): it alone, on
    /// nodes that share none.
    #[track_caller]
    fn split_shared(&self, key: Key) -> UserCommunicator {
        let color = Color::with_value(self.rank());
        let own = self.split_by_color_with_key(color, key);
        own.expect("a color has a communicator")
    }

    /// Its processes (MPI_Comm_group, MPI-3.1 section 6.3.2), in the program's heap. Does not block.
    #[track_caller]
    fn group(&self) -> UserGroup {
        let this = self.as_simple();
        let membership = this.record.membership();
        let members = room(membership.size as usize).map(|mut members: Vec<_>| {
            members.extend(membership.ranks().map(|rank| membership.to_world(rank)));
            members
        });
        let function = "mpi::topology::Communicator::group (MPI_Comm_group)";
        let members = this.record.here.or_fatal(function, members);
        UserGroup(members, membership.to_world(membership.rank))
    }

    /// Ends the whole job at once with this status (MPI_Abort, MPI-3.1 section 8.7).
    #[track_caller]
    fn abort(&self, errorcode: i32) -> ! {
        let here = &self.as_simple().record.here;
        let function = "mpi::topology::Communicator::abort (MPI_Abort)";
        job::abort(here.or_fatal(function, here.env()), errorcode)
    }

    /// Names it (MPI_Comm_set_name, MPI-3.1 section 6.8).
    fn set_name(&self, name: &str) {
        self.as_simple().record.set_name(name);
    }

    /// Its name; empty, unless it has been given one (MPI_Comm_get_name).
    fn get_name(&self) -> String {
        self.as_simple().record.name()
    }

    /// As [`create_cartesian_communicator`](Communicator::create_cartesian_communicator). Fails with [`Error::Argument`] when
    /// `dims` and `periods` differ in length, with [`Error::Dims`] for a grid that cannot be or has more places than there
    /// are processes, and as [`try_duplicate`](Communicator::try_duplicate).
    fn try_create_cartesian_communicator(
        &self,
        dims: &[Count],
        periods: &[bool],
        reorder: bool,
    ) -> Result<Option<CartesianCommunicator>, Error> {
        let this = self.as_simple();
        let grid = cartesian::grid(this, dims, periods)?;
        let core = this.record.core()?;
        let made = core.make_grid("MPI_Cart_create", &mut ready, &grid, reorder)?;
        Ok(made.map(|made| CartesianCommunicator::of(this, made, grid)))
    }

    /// The rank that this process would have in such a graph, which is its own; `None`: it would be in none (MPI_Graph_map,
    /// MPI-3.1 section 7.5.8). Does not block. Fails as
    /// [`try_create_graph_communicator`](Communicator::try_create_graph_communicator).
    fn graph_map(&self, neighbors: &[&[Rank]]) -> Result<Option<Rank>, Error> {
        let nodes = graph::nodes(self.as_simple(), neighbors)?;
        graph::known(neighbors)?;
        Ok(Some(self.rank()).filter(|rank| (*rank as u32) < nodes))
    }

    /// Whether it is an intercommunicator (MPI_Comm_test_inter, MPI-3.1 section 6.6.1): no communicator is; an
    /// [`InterCommunicator`] has this call, too.
    fn test_inter(&self) -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Bytes that so many elements take packed (MPI_Pack_size, MPI-3.1 section 4.2); MPI_UNDEFINED, -32766, where they are
    /// more than a [`Count`] can say.
    ///
    /// # Panics
    /// When `incount` is negative.
    fn pack_size<D: Datatype>(&self, incount: Count, datatype: &D) -> Count
    where
        Self: Sized,
    {
        let count = usize::try_from(incount).expect("a count is not negative");
        let bytes = kind_of(datatype).size().checked_mul(count);
        let bytes = bytes.and_then(|bytes| Count::try_from(bytes).ok());
        bytes.unwrap_or(-32766)
    }

    ends_the_job! {
        "mpi::topology::Communicator", [fn(&self)], self.as_simple().record.here;

        /// As [`split_by_subgroup_collective`](Communicator::split_by_subgroup_collective), called by the processes of the
        /// group alone (MPI_Comm_create_group).
        split_by_subgroup[G: Group + ?Sized](group: &G) -> Option<UserCommunicator> where [Self: Sized],
            "MPI_Comm_create_group";
        /// As [`split_by_subgroup`](Communicator::split_by_subgroup). Fails as
        /// [`try_split_by_subgroup_collective`](Communicator::try_split_by_subgroup_collective).
        or try_split_by_subgroup = {
            let this = self.as_simple();
            let members = this.members(group.members())?;
            let core = this.record.core()?;
            let made = core.make_group("MPI_Comm_create_group", &mut ready, members)?;
            Ok(made.map(|made| this.made(made, None)))
        };

        /// As [`split_by_subgroup`](Communicator::split_by_subgroup); the tag makes no difference, since calls do not
        /// overlap.
        split_by_subgroup_with_tag[G: Group + ?Sized](group: &G, tag: Tag) -> Option<UserCommunicator> where [Self: Sized],
            "MPI_Comm_create_group" = {
            let _ = tag;
            self.try_split_by_subgroup(group)
        };

        /// Another communicator of the same processes, with those [attributes](crate::attribute) that are to be cloned
        /// (MPI_Comm_dup, MPI-3.1 section 6.4.2).
        duplicate[]() -> UserCommunicator, "MPI_Comm_dup";
        /// As [`duplicate`](Communicator::duplicate). Fails with [`Error::NoMemory`]; at all
        /// processes alike with [`Error::Limit`] or, for lack of room, [`Error::NoRoom`] or [`Error::NoRoomElsewhere`].
        or try_duplicate = {
            let this = self.as_simple();
            let record = &this.record;
            let core = record.core()?;
            let duplicate = |ready: Ready<'_>| core.make_duplicate("MPI_Comm_dup", ready);
            let (made, attributes) = record.duplicated(duplicate)?;
            let topology = record.topology.clone();
            let record = Record::new(&record.here, Members::Made(made), topology, attributes);
            Ok(SimpleCommunicator { record })
        };

        /// As [`duplicate`](Communicator::duplicate), without blocking (MPI_Comm_idup, MPI-3.1 section 6.4.2). Takes of the
        /// program's heap what a collective that does not block takes, too. Ends the job where
        /// [`try_immediate_duplicate`](Communicator::try_immediate_duplicate) fails.
        ///
        /// ```
        /// # use midplane_rust as mpi;
        /// use mpi::topology::UserCommunicator;
        /// use mpi::traits::*;
        ///
        /// /// A communicator of its own for a library, which is made while the program works.
        /// fn of_its_own(world: &impl Communicator, work: impl FnOnce()) -> UserCommunicator {
        ///     let duplicate = world.immediate_duplicate();
        ///     work();
        ///     duplicate.get()
        /// }
        /// ```
        immediate_duplicate[]() -> DuplicateFuture<UserCommunicator>, "MPI_Comm_idup";
        /// As [`immediate_duplicate`](Communicator::immediate_duplicate). Fails with [`Error::NoMemory`] and [`Error::NoRoom`].
        or try_immediate_duplicate = DuplicateFuture::new(&self.as_simple().record);

        /// As [`split_by_color`](Communicator::split_by_color), in the order of the keys and, where these are equal, in the
        /// order that the processes have here.
        split_by_color_with_key[](color: Color, key: Key) -> Option<UserCommunicator>, "MPI_Comm_split";
        /// As [`split_by_color_with_key`](Communicator::split_by_color_with_key). Fails as
        /// [`try_duplicate`](Communicator::try_duplicate).
        or try_split_by_color_with_key = {
            let this = self.as_simple();
            let core = this.record.core()?;
            let made = core.make_split("MPI_Comm_split", &mut ready, color.0, key)?;
            Ok(made.map(|made| this.made(made, None)))
        };

        /// A communicator of the processes of a group; processes can give different groups that have no process in common
        /// (MPI_Comm_create, MPI-3.1 section 6.4.2). `None`: this process is not in the group that it gave. Ends the job
        /// when the group has a process that this communicator does not have.
        split_by_subgroup_collective[G: Group + ?Sized](group: &G)
            -> Option<UserCommunicator> where [Self: Sized], "MPI_Comm_create";
        /// As [`split_by_subgroup_collective`](Communicator::split_by_subgroup_collective). Fails with class Group when the group
        /// has a process that this communicator does not have, and as [`try_duplicate`](Communicator::try_duplicate).
        or try_split_by_subgroup_collective = {
            let this = self.as_simple();
            let members = this.members(group.members());
            let core = this.record.core()?;
            let made = core.make_of("MPI_Comm_create", &mut ready, members)?;
            Ok(made.map(|made| this.made(made, None)))
        };

        /// A communicator whose processes are at places of a grid (MPI_Cart_create, MPI-3.1 section 7.5.1): as many as the
        /// grid has places, `None` at the others. Ranks count up along the last dimension first; with `reorder`, a grid of
        /// all processes is laid on the torus, if it fits, so that neighbours in the grid are neighbours in the machine.
        /// Ends the job when the grid has more places than there are processes.
        ///
        /// # Panics
        /// When `dims` and `periods` differ in length.
        create_cartesian_communicator[](dims: &[Count], periods: &[bool], reorder: bool)
            -> Option<CartesianCommunicator>, "MPI_Cart_create"
            = { cartesian::assert_same(dims, periods); self.try_create_cartesian_communicator(dims, periods, reorder) };

        /// The rank that this process would have in such a grid, reordered; `None`: it would be in none (MPI_Cart_map,
        /// MPI-3.1 section 7.5.8). Does not block. Ends the job as
        /// [`create_cartesian_communicator`](Communicator::create_cartesian_communicator).
        ///
        /// # Panics
        /// As there.
        cartesian_map[](dims: &[Count], periods: &[bool]) -> Option<Rank>, "MPI_Cart_map"
            = {
            cartesian::assert_same(dims, periods);
            let this = self.as_simple();
            cartesian::grid(this, dims, periods).and_then(|grid| {
                let rank = rank_in(this.record.core()?, &grid, true);
                Ok(rank.map(|rank| rank as Rank))
            })
        };

        /// A communicator of the same processes, in which this one has these neighbours: blocks come from `sources` and go to
        /// `destinations`, in the order given, as [`NeighborCollectives`](crate::collective::NeighborCollectives) have
        /// them (MPI_Dist_graph_create_adjacent, MPI-3.1 section 7.5.4). Where one process has another among its sources,
        /// that one has it among its destinations as often. Ranks stay as they are. Ends the job where
        /// [`try_create_distributed_graph_adjacent`](Communicator::try_create_distributed_graph_adjacent) fails.
        create_distributed_graph_adjacent[](sources: &[Rank], destinations: &[Rank])
            -> DistributedGraphCommunicator, "MPI_Dist_graph_create_adjacent";
        /// As [`create_distributed_graph_adjacent`](Communicator::create_distributed_graph_adjacent). Fails with [`Error::Rank`]
        /// for a rank that there is not, and as [`try_duplicate`](Communicator::try_duplicate).
        or try_create_distributed_graph_adjacent = {
            let of = graph::unweighted;
            graph::create_adjacent(self.as_simple(), (sources, destinations), of, false)
        };

        /// As [`create_distributed_graph_adjacent`](Communicator::create_distributed_graph_adjacent), of edges with weights,
        /// which both of an edge's ends give alike.
        create_weighted_distributed_graph_adjacent[](sources: &[(Rank, Weight)], destinations: &[(Rank, Weight)])
            -> DistributedGraphCommunicator, "MPI_Dist_graph_create_adjacent";
        /// As [`create_weighted_distributed_graph_adjacent`](Communicator::create_weighted_distributed_graph_adjacent). Fails
        /// with [`Error::Argument`] for a weight below 0, and as
        /// [`try_create_distributed_graph_adjacent`](Communicator::try_create_distributed_graph_adjacent).
        or try_create_weighted_distributed_graph_adjacent =
            graph::create_adjacent(self.as_simple(), (sources, destinations), |edge| edge, true);

        /// As [`create_distributed_graph_adjacent`](Communicator::create_distributed_graph_adjacent), but each process gives
        /// some edges of the graph, whomever they are from and to: each from the first of its two ranks to the second
        /// (MPI_Dist_graph_create, MPI-3.1 section 7.5.4). A process's neighbours are in the order of the ranks that have
        /// given the edges, and then as each has given them. Ends the job where
        /// [`try_create_distributed_graph`](Communicator::try_create_distributed_graph) fails.
        create_distributed_graph[](edges: &[(Rank, Rank)]) -> DistributedGraphCommunicator, "MPI_Dist_graph_create";
        /// As [`create_distributed_graph`](Communicator::create_distributed_graph). Fails as
        /// [`try_create_distributed_graph_adjacent`](Communicator::try_create_distributed_graph_adjacent).
        or try_create_distributed_graph = {
            let of = graph::unweighted_between;
            graph::create(self.as_simple(), edges, of, false)
        };

        /// As [`create_distributed_graph`](Communicator::create_distributed_graph), of edges with weights. Either all processes
        /// give weights, or none does.
        create_weighted_distributed_graph[](edges: &[(Rank, Rank, Weight)])
            -> DistributedGraphCommunicator, "MPI_Dist_graph_create";
        /// As [`create_weighted_distributed_graph`](Communicator::create_weighted_distributed_graph). Fails as
        /// [`try_create_weighted_distributed_graph_adjacent`](Communicator::try_create_weighted_distributed_graph_adjacent).
        or try_create_weighted_distributed_graph = graph::create(self.as_simple(), edges, |edge| edge, true);

        /// A communicator whose processes are the nodes of a graph that all of them give alike: `neighbors` has the neighbours of
        /// each node, whose ranks are those of the first so many processes here; `None` at the others (MPI_Graph_create, MPI-3.1
        /// section 7.5.3). For collectives of neighbours, one that has another among its neighbours is as often among that
        /// one's. Takes 4 bytes of the program's heap for each node and for each of its neighbours at every process, where a
        /// [distributed graph](Communicator::create_distributed_graph_adjacent) takes its own edges alone. Ends the job where
        /// [`try_create_graph_communicator`](Communicator::try_create_graph_communicator) fails.
        create_graph_communicator[](neighbors: &[&[Rank]]) -> Option<GraphCommunicator>, "MPI_Graph_create";
        /// As [`create_graph_communicator`](Communicator::create_graph_communicator). Fails with [`Error::Argument`] for more
        /// nodes than there are processes, or more than 2147483647 edges, with [`Error::Wrong`] for a neighbour that is no node,
        /// and as [`try_duplicate`](Communicator::try_duplicate).
        or try_create_graph_communicator = graph::create_known(self.as_simple(), neighbors);

        /// The intercommunicator of the processes of this communicator and of those of another one, which call this, too
        /// (MPI_Intercomm_create, MPI-3.1 section 6.6.2). The two groups meet by their leaders: `local_leader` is this group's,
        /// and `remote_leader` the other's, as the local leader sees it in a communicator that both leaders are in. The other
        /// processes' `remote_leader` is not looked at and can be any, as [`null_process`](Communicator::null_process). The
        /// groups have no process in common. The tag makes no difference, since calls do not overlap.
        ///
        /// Blocks until all processes of both groups have called it. Takes of the program's heap what a list of both groups
        /// needs, and another one of the remote group. Ends the job where
        /// [`try_create_intercommunicator`](Communicator::try_create_intercommunicator) fails.
        create_intercommunicator[C: Context](local_leader: Rank, remote_leader: &Process<'_, C>, tag: Tag)
            -> InterCommunicator where [Self: Sized], "MPI_Intercomm_create";
        /// As [`create_intercommunicator`](Communicator::create_intercommunicator). Fails with [`Error::Rank`] for a local
        /// leader that there is not; at the leader with [`Error::Rank`] for the null process, and with [`Error::Tag`] for a tag
        /// below 0, and then at its group's others with [`Error::Wrong`]; with [`Error::NoMemory`]; at all processes alike with
        /// [`Error::Wrong`] for groups that have a process in common, and as
        /// [`try_duplicate`](Communicator::try_duplicate).
        or try_create_intercommunicator = inter::create(self.as_simple(), local_leader, remote_leader, tag);

        /// The elements of a buffer, packed, in the program's heap (MPI_Pack, MPI-3.1 section 4.2). Does not block. Ends the
        /// job when the heap has no room.
        pack[B: Buffer + ?Sized](inbuf: &B) -> Vec<u8> where [Self: Sized], "MPI_Pack";
        /// As [`pack`](Communicator::pack). Fails with [`Error::NoRoom`].
        or try_pack = {
            let core = self.as_simple().record.core()?;
            lend(inbuf, |span| {
                let mut packed = room(span.len())?;
                packed.resize(span.len(), 0);
                core.env().read(span.into(), &mut packed);
                Ok(packed)
            })
        };

        /// Packs the elements of a buffer to `position` of `outbuf`; where the next ones go (MPI_Pack). Does not block. Ends the
        /// job where [`try_pack_into`](Communicator::try_pack_into) fails.
        pack_into[B: Buffer + ?Sized](inbuf: &B, outbuf: &mut [u8], position: Count)
            -> Count where [Self: Sized], "MPI_Pack";
        /// As [`pack_into`](Communicator::pack_into). Fails with [`Error::Argument`] when they do not fit there.
        or try_pack_into = {
            let core = self.as_simple().record.core()?;
            lend(inbuf, |span| {
                let (from, to) = packed(outbuf.len(), position, span.len())?;
                core.env().read(span.into(), &mut outbuf[from..to]);
                Ok(to as Count)
            })
        };

        /// Unpacks elements from `position` of `inbuf` into a buffer; where the next ones begin (MPI_Unpack, MPI-3.1 section
        /// 4.2). Does not block. Needs no unsafe code: what is unpacked is checked as what is received. Ends the job where
        /// [`try_unpack_into`](Communicator::try_unpack_into) fails.
        unpack_into[B: BufferMut + ?Sized](inbuf: &[u8], outbuf: &mut B, position: Count)
            -> Count where [Self: Sized], "MPI_Unpack";
        /// As [`unpack_into`](Communicator::unpack_into). Fails with [`Error::Argument`] when `inbuf` ends before the elements
        /// do.
        or try_unpack_into = {
            let core = self.as_simple().record.core()?;
            lend_mut(outbuf, |span| {
                let (from, to) = packed(inbuf.len(), position, span.len())?;
                core.env().write(span.into(), &inbuf[from..to]);
                Ok(to as Count)
            })
        };
    }
}

/// Where so many bytes are in a packing buffer, from `position` on: positions are as great as a [`Count`] can be. Fails with
/// [`Error::Argument`].
fn packed(room: usize, position: Count, bytes: usize) -> Result<(usize, usize), Error> {
    let room = room.min(Count::MAX as usize);
    places(room as isize, position as isize, bytes)
}

/// # Panics
/// When there is no such rank among so many.
#[track_caller]
pub(super) fn check_rank(rank: Rank, size: Rank, of: &str) {
    let is_there = (0..size).contains(&rank);
    assert!(
        is_there,
        "there is no rank {rank}: the {of} has ranks 0 to {}",
        size - 1
    );
}

impl Communicator for SimpleCommunicator {
    fn as_simple(&self) -> &SimpleCommunicator {
        self
    }
}

impl SimpleCommunicator {
    /// A rank that there is.
    ///
    /// # Panics
    /// When there is no such rank.
    #[track_caller]
    pub(super) fn check(&self, rank: Rank) {
        check_rank(rank, self.size(), "communicator");
    }

    /// A copy of a list of processes, all of which this communicator must have. Fails with [`Error::Wrong`] or
    /// [`Error::NoRoom`].
    fn members(&self, given: &[envelope::Rank]) -> Result<Vec<envelope::Rank>, Error> {
        if !group::are_in(given, self.record.membership()) {
            return Err(Error::Wrong {
                class: midplane_objects::Class::Group,
                what: "the group has a process that the communicator does not have",
            });
        }
        group::exact(given)
    }
}
