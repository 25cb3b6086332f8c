//! Communicators (MPI-3.1 chapter 6).

use alloc::string::String;
use alloc::vec::Vec;

use super::Rank;
use super::cartesian::{self, CartesianCommunicator};
use super::context::{AsCommunicator, Color, CommunicatorRelation, Context, DuplicableContext, Key, UNDEFINED_COLOR};
use super::graph::{self, DistributedGraphCommunicator, GraphCommunicator, Weight};
use super::group::{Group, UserGroup};
use super::inter::{self, InterCommunicator};
use super::process::{AnyProcess, AnyRank, Process};
use super::record::CommRecord;
use super::simple::{SimpleCommunicator, UserCommunicator};
use super::state::CommMembers;
use crate::attribute::CommAttributes;
use crate::datatype::operands::{with_span, with_span_mut};
use crate::datatype::user::kind_of;
use crate::datatype::{Buffer, BufferMut, Datatype};
use crate::recording::{Fields, creating};
use crate::request::DuplicateFuture;
use crate::{Count, Tag};
use midplane_device::envelope;
use midplane_device::interface::Device;
use midplane_objects::coll::try_with_capacity;
use midplane_objects::environment as job;
use midplane_objects::error::Error;
use midplane_objects::external32::places;
use midplane_objects::split::{PrepareComm, ready};
use midplane_objects::topology::rank_in;

/// A context for messages, and its processes (MPI-3.1 chapter 6).
///
/// A call that creates a communicator blocks until all processes of this one have called it, and allocates the list of
/// its processes from the program's heap. It aborts the job when the heap has no space, and when the maximum number of
/// communicators exists.
pub trait Communicator {
    /// Returns the communicator without its topology.
    #[doc(hidden)]
    fn as_simple(&self) -> &SimpleCommunicator;

    /// Returns the number of processes (MPI_Comm_size). Does not block.
    fn size(&self) -> Rank {
        self.as_simple().record.membership().size as Rank
    }

    /// Returns the rank of the calling process (MPI_Comm_rank). Does not block.
    fn rank(&self) -> Rank {
        self.as_simple().record.membership().rank.0 as Rank
    }

    /// Returns the number of possible destinations: all processes.
    fn target_size(&self) -> Rank {
        self.size()
    }

    /// Returns the process with this rank.
    ///
    /// # Panics
    /// When there is no such rank.
    #[track_caller]
    fn process_at_rank(&self, r: Rank) -> Process<'_> {
        self.as_simple().check(r);
        Process::new(self.as_simple(), r)
    }

    /// Returns the wildcard source (MPI_ANY_SOURCE).
    fn any_process(&self) -> AnyProcess<'_> {
        AnyProcess::new(self.as_simple(), AnyRank)
    }

    /// Returns the calling process.
    fn this_process(&self) -> Process<'_> {
        Process::new(self.as_simple(), self.rank())
    }

    /// Returns the null process: sends to it and receives from it complete immediately and are empty (MPI_PROC_NULL,
    /// MPI-3.1 section 3.11).
    fn null_process(&self) -> Process<'_> {
        Process::new(self.as_simple(), super::super::point_to_point::PROC_NULL)
    }

    /// Compares two communicators (MPI_Comm_compare). Does not block.
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

    /// Splits the processes by color into separate communicators, in the order of this one (MPI_Comm_split, MPI-3.1
    /// section 6.4.2). Returns `None` for an undefined color.
    #[track_caller]
    fn split_by_color(&self, color: Color) -> Option<UserCommunicator> {
        self.split_by_color_with_key(color, 0)
    }

    /// Splits the processes into those that share memory (MPI_Comm_split_type with MPI_COMM_TYPE_SHARED): nodes share
    /// none, so the result contains this process alone.
    #[track_caller]
    fn split_shared(&self, key: Key) -> UserCommunicator {
        let color = Color::with_value(self.rank());
        let own = self.split_by_color_with_key(color, key);
        own.expect("a color has a communicator")
    }

    /// Returns its group (MPI_Comm_group, MPI-3.1 section 6.3.2), allocated from the program's heap. Does not block.
    #[track_caller]
    fn group(&self) -> UserGroup {
        let this = self.as_simple();
        let membership = this.record.membership();
        let members = try_with_capacity(membership.size as usize).map(|mut members: Vec<_>| {
            members.extend(membership.ranks().map(|rank| membership.to_world(rank)));
            members
        });
        let function = "mpi::topology::Communicator::group (MPI_Comm_group)";
        let members = this.record.here.or_fatal(function, members);
        UserGroup(members, membership.to_world(membership.rank))
    }

    /// Aborts the job with this status (MPI_Abort, MPI-3.1 section 8.7).
    #[track_caller]
    fn abort(&self, errorcode: i32) -> ! {
        let here = &self.as_simple().record.here;
        let function = "mpi::topology::Communicator::abort (MPI_Abort)";
        job::abort(here.or_fatal(function, here.env()), errorcode)
    }

    /// Sets its name (MPI_Comm_set_name, MPI-3.1 section 6.8).
    fn set_name(&self, name: &str) {
        self.as_simple().record.set_name(name);
    }

    /// Returns its name, which is empty unless it was set (MPI_Comm_get_name).
    fn get_name(&self) -> String {
        self.as_simple().record.name()
    }

    /// [`create_cartesian_communicator`](Communicator::create_cartesian_communicator) that returns its error.
    ///
    /// # Errors
    /// [`Error::Argument`] when `dims` and `periods` differ in length, [`Error::Dims`] for an invalid grid or one with
    /// more positions than processes, and those of [`try_duplicate`](Communicator::try_duplicate).
    #[cfg_attr(feature = "options", track_caller)]
    fn try_create_cartesian_communicator(
        &self,
        dims: &[Count],
        periods: &[bool],
        reorder: bool,
    ) -> Result<Option<CartesianCommunicator>, Error> {
        let this = self.as_simple();
        let grid = cartesian::grid(this, dims, periods)?;
        let core = this.record.core()?;
        let arguments = |fields: &mut Fields| {
            let sizes = dims.iter().map(|size| i64::from(*size));
            fields.communicator(&this.record).value(dims.len() as i64).list(sizes);
            fields.list(periods.iter().map(|is_periodic| i64::from(*is_periodic)));
            fields.value(reorder).unknown(1);
        };
        let create = || {
            let made = core.make_grid("MPI_Cart_create", &mut ready, &grid, reorder)?;
            Ok(made.map(|made| CartesianCommunicator::from_created(this, made, grid)))
        };
        creating("MPI_Cart_create", arguments, create, |new| {
            new.as_ref().map(|new| &new.0.record)
        })
    }

    /// Returns the rank of this process in such a graph, which is its own, or `None` outside it (MPI_Graph_map, MPI-3.1
    /// section 7.5.8). Does not block. Returns the errors of
    /// [`try_create_graph_communicator`](Communicator::try_create_graph_communicator).
    fn graph_map(&self, neighbors: &[&[Rank]]) -> Result<Option<Rank>, Error> {
        let nodes = graph::nodes(self.as_simple(), neighbors)?;
        graph::known(neighbors)?;
        Ok(Some(self.rank()).filter(|rank| (*rank as u32) < nodes))
    }

    /// Checks whether it is an intercommunicator (MPI_Comm_test_inter, MPI-3.1 section 6.6.1). Always false; an
    /// [`InterCommunicator`] provides this call, too.
    fn test_inter(&self) -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Returns the packed size of `incount` elements in bytes (MPI_Pack_size, MPI-3.1 section 4.2), or MPI_UNDEFINED,
    /// -32766, where it exceeds a [`Count`].
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

        /// [`split_by_subgroup_collective`](Communicator::split_by_subgroup_collective) that only the processes of the
        /// group call (MPI_Comm_create_group).
        split_by_subgroup[G: Group + ?Sized](group: &G) -> Option<UserCommunicator> where [Self: Sized],
            "MPI_Comm_create_group";
        /// [`split_by_subgroup`](Communicator::split_by_subgroup) that returns the errors of
        /// [`try_split_by_subgroup_collective`](Communicator::try_split_by_subgroup_collective).
        or try_split_by_subgroup = {
            let this = self.as_simple();
            let members = this.members(group.members())?;
            let core = this.record.core()?;
            let arguments = |fields: &mut Fields| {
                fields.communicator(&this.record).unknown(3);
            };
            let create = || {
                let made = core.make_group("MPI_Comm_create_group", &mut ready, members, 0)?;
                Ok(made.map(|made| this.made(made, None)))
            };
            creating("MPI_Comm_create_group", arguments, create, made_record)
        };

        /// [`split_by_subgroup`](Communicator::split_by_subgroup) with a tag, which is ignored: calls do not overlap.
        split_by_subgroup_with_tag[G: Group + ?Sized](group: &G, tag: Tag) -> Option<UserCommunicator> where [Self: Sized],
            "MPI_Comm_create_group" = {
            let _ = tag;
            self.try_split_by_subgroup(group)
        };

        /// Creates a communicator of the same processes, with those [attributes](crate::attribute) that are
        /// cloned (MPI_Comm_dup, MPI-3.1 section 6.4.2).
        duplicate[]() -> UserCommunicator, "MPI_Comm_dup";
        /// [`duplicate`](Communicator::duplicate) that returns its error.
        ///
        /// # Errors
        /// [`Error::NoMemory`]; at all processes together [`Error::Limit`] or, without memory, [`Error::NoSpace`] or
        /// [`Error::NoSpaceElsewhere`].
        or try_duplicate = {
            let this = self.as_simple();
            let record = &this.record;
            let core = record.core()?;
            let arguments = |fields: &mut Fields| {
                fields.communicator(record).unknown(1);
            };
            let create = || {
                let duplicate = |ready: PrepareComm<'_>| core.make_duplicate("MPI_Comm_dup", ready);
                let (made, attributes) = record.duplicated(duplicate)?;
                let topology = record.topology.clone();
                let record = CommRecord::new(&record.here, CommMembers::Made(made), topology, attributes);
                Ok(SimpleCommunicator { record })
            };
            creating("MPI_Comm_dup", arguments, create, |new| Some(&new.record))
        };

        /// Nonblocking [`duplicate`](Communicator::duplicate) (MPI_Comm_idup, MPI-3.1 section 6.4.2). Also allocates
        /// the state of a nonblocking collective from the program's heap. Aborts the job where
        /// [`try_immediate_duplicate`](Communicator::try_immediate_duplicate) fails.
        ///
        /// ```
        /// # use midplane_rust as mpi;
        /// use mpi::topology::UserCommunicator;
        /// use mpi::traits::*;
        ///
        /// /// Creates a private communicator for a library while the program works.
        /// fn of_its_own(world: &impl Communicator, work: impl FnOnce()) -> UserCommunicator {
        ///     let duplicate = world.immediate_duplicate();
        ///     work();
        ///     duplicate.get()
        /// }
        /// ```
        immediate_duplicate[]() -> DuplicateFuture<UserCommunicator>, "MPI_Comm_idup";
        /// [`immediate_duplicate`](Communicator::immediate_duplicate) that returns [`Error::NoMemory`] and
        /// [`Error::NoSpace`].
        or try_immediate_duplicate = DuplicateFuture::start(&self.as_simple().record);

        /// [`split_by_color`](Communicator::split_by_color) in the order of keys; equal keys in the order of this
        /// communicator.
        split_by_color_with_key[](color: Color, key: Key) -> Option<UserCommunicator>, "MPI_Comm_split";
        /// [`split_by_color_with_key`](Communicator::split_by_color_with_key) that returns the errors of
        /// [`try_duplicate`](Communicator::try_duplicate).
        or try_split_by_color_with_key = {
            let this = self.as_simple();
            let core = this.record.core()?;
            let arguments = |fields: &mut Fields| {
                let color = color.0.map_or(UNDEFINED_COLOR, i64::from);
                fields.communicator(&this.record).value(color).value(key).unknown(1);
            };
            let create = || {
                let made = core.make_split("MPI_Comm_split", &mut ready, color.0, key)?;
                Ok(made.map(|made| this.made(made, None)))
            };
            creating("MPI_Comm_split", arguments, create, made_record)
        };

        /// Creates a communicator of the processes of a group; processes may specify different, disjoint groups
        /// (MPI_Comm_create, MPI-3.1 section 6.4.2). Returns `None` if this process is not in its group. Aborts the job
        /// when the group contains a process outside this communicator.
        split_by_subgroup_collective[G: Group + ?Sized](group: &G)
            -> Option<UserCommunicator> where [Self: Sized], "MPI_Comm_create";
        /// [`split_by_subgroup_collective`](Communicator::split_by_subgroup_collective) that returns its error: class
        /// Group when the group contains a process outside this communicator, or one of
        /// [`try_duplicate`](Communicator::try_duplicate).
        or try_split_by_subgroup_collective = {
            let this = self.as_simple();
            let members = this.members(group.members());
            let core = this.record.core()?;
            let arguments = |fields: &mut Fields| {
                fields.communicator(&this.record).unknown(2);
            };
            let create = || {
                let made = core.make_of("MPI_Comm_create", &mut ready, members)?;
                Ok(made.map(|made| this.made(made, None)))
            };
            creating("MPI_Comm_create", arguments, create, made_record)
        };

        /// Creates a communicator with a Cartesian topology (MPI_Cart_create, MPI-3.1 section 7.5.1). Returns `None` at
        /// processes outside the grid.
        ///
        /// Ranks are in row-major order. With `reorder`, a grid of all processes is mapped to the torus, if it fits, so
        /// that neighbours in the grid are neighbours in the machine. Aborts the job when the grid has more positions
        /// than processes.
        ///
        /// # Panics
        /// When `dims` and `periods` differ in length.
        create_cartesian_communicator[](dims: &[Count], periods: &[bool], reorder: bool)
            -> Option<CartesianCommunicator>, "MPI_Cart_create"
            = { cartesian::assert_same(dims, periods); self.try_create_cartesian_communicator(dims, periods, reorder) };

        /// Returns the rank of this process in such a grid, reordered, or `None` outside it (MPI_Cart_map, MPI-3.1
        /// section 7.5.8). Does not block. Aborts the job like
        /// [`create_cartesian_communicator`](Communicator::create_cartesian_communicator).
        ///
        /// # Panics
        /// When `dims` and `periods` differ in length.
        cartesian_map[](dims: &[Count], periods: &[bool]) -> Option<Rank>, "MPI_Cart_map"
            = {
            cartesian::assert_same(dims, periods);
            let this = self.as_simple();
            cartesian::grid(this, dims, periods).and_then(|grid| {
                let rank = rank_in(this.record.core()?, &grid, true);
                Ok(rank.map(|rank| rank as Rank))
            })
        };

        /// Creates a communicator of the same processes with a distributed graph topology
        /// (MPI_Dist_graph_create_adjacent, MPI-3.1 section 7.5.4).
        ///
        /// This process receives blocks from `sources` and sends blocks to `destinations`, in this order, in
        /// [`NeighborCollectives`](crate::collective::NeighborCollectives). If a process lists another as a
        /// source, that one must list it as a destination equally often. Ranks do not change. Aborts the job where
        /// [`try_create_distributed_graph_adjacent`](Communicator::try_create_distributed_graph_adjacent) fails.
        create_distributed_graph_adjacent[](sources: &[Rank], destinations: &[Rank])
            -> DistributedGraphCommunicator, "MPI_Dist_graph_create_adjacent";
        /// [`create_distributed_graph_adjacent`](Communicator::create_distributed_graph_adjacent) that returns its
        /// error: [`Error::Rank`] for an unknown rank, or one of [`try_duplicate`](Communicator::try_duplicate).
        or try_create_distributed_graph_adjacent = {
            let of = graph::unweighted;
            graph::create_adjacent(self.as_simple(), sources, destinations, of, false)
        };

        /// [`create_distributed_graph_adjacent`](Communicator::create_distributed_graph_adjacent) with edge weights,
        /// which must be equal at both ends of an edge.
        create_weighted_distributed_graph_adjacent[](sources: &[(Rank, Weight)], destinations: &[(Rank, Weight)])
            -> DistributedGraphCommunicator, "MPI_Dist_graph_create_adjacent";
        /// [`create_weighted_distributed_graph_adjacent`](Communicator::create_weighted_distributed_graph_adjacent)
        /// that returns its error: [`Error::Argument`] for a weight below 0, or one of
        /// [`try_create_distributed_graph_adjacent`](Communicator::try_create_distributed_graph_adjacent).
        or try_create_weighted_distributed_graph_adjacent =
            graph::create_adjacent(self.as_simple(), sources, destinations, |edge| edge, true);

        /// Creates a distributed graph of which each process specifies any edges, from the first to the second rank
        /// (MPI_Dist_graph_create, MPI-3.1 section 7.5.4).
        ///
        /// A process's neighbours are in the order of the ranks that specified the edges, then in the order of
        /// specification. Aborts the job where
        /// [`try_create_distributed_graph`](Communicator::try_create_distributed_graph) fails.
        create_distributed_graph[](edges: &[(Rank, Rank)]) -> DistributedGraphCommunicator, "MPI_Dist_graph_create";
        /// [`create_distributed_graph`](Communicator::create_distributed_graph) that returns the errors of
        /// [`try_create_distributed_graph_adjacent`](Communicator::try_create_distributed_graph_adjacent).
        or try_create_distributed_graph = {
            let of = graph::unweighted_between;
            graph::create(self.as_simple(), edges, of, false)
        };

        /// [`create_distributed_graph`](Communicator::create_distributed_graph) with edge weights. All processes
        /// specify weights, or none does.
        create_weighted_distributed_graph[](edges: &[(Rank, Rank, Weight)])
            -> DistributedGraphCommunicator, "MPI_Dist_graph_create";
        /// [`create_weighted_distributed_graph`](Communicator::create_weighted_distributed_graph) that returns the
        /// errors of
        /// [`try_create_weighted_distributed_graph_adjacent`](Communicator::try_create_weighted_distributed_graph_adjacent).
        or try_create_weighted_distributed_graph = graph::create(self.as_simple(), edges, |edge| edge, true);

        /// Creates a communicator with a graph topology that all processes specify alike (MPI_Graph_create, MPI-3.1
        /// section 7.5.3). Returns `None` at processes outside the graph.
        ///
        /// `neighbors` contains the neighbours of each node; nodes are the first ranks of this communicator.
        /// Neighbourhood collectives require that two nodes list each other equally often. Allocates 4 bytes from the
        /// program's heap for each node and for each of its neighbours at every process; a [distributed
        /// graph](Communicator::create_distributed_graph_adjacent) stores only its own edges. Aborts the job where
        /// [`try_create_graph_communicator`](Communicator::try_create_graph_communicator) fails.
        create_graph_communicator[](neighbors: &[&[Rank]]) -> Option<GraphCommunicator>, "MPI_Graph_create";
        /// [`create_graph_communicator`](Communicator::create_graph_communicator) that returns its error.
        ///
        /// # Errors
        /// [`Error::Argument`] for more nodes than processes, or more than 2147483647 edges; [`Error::Wrong`] for a
        /// neighbour that is not a node; those of [`try_duplicate`](Communicator::try_duplicate).
        or try_create_graph_communicator = graph::create_known(self.as_simple(), neighbors);

        /// Creates an intercommunicator of this communicator's processes and another's, which call it, too
        /// (MPI_Intercomm_create, MPI-3.1 section 6.6.2).
        ///
        /// The groups are disjoint and communicate through their leaders. `local_leader` is this group's;
        /// `remote_leader` is the other's, as seen by the local leader in a communicator of both leaders. The other
        /// processes' `remote_leader` is ignored, and can be [`null_process`](Communicator::null_process). The tag is
        /// ignored, since calls do not overlap.
        ///
        /// Blocks until all processes of both groups have called it. Allocates a list of both groups and one of the
        /// remote group from the program's heap. Aborts the job where
        /// [`try_create_intercommunicator`](Communicator::try_create_intercommunicator) fails.
        create_intercommunicator[C: Context](local_leader: Rank, remote_leader: &Process<'_, C>, tag: Tag)
            -> InterCommunicator where [Self: Sized], "MPI_Intercomm_create";
        /// [`create_intercommunicator`](Communicator::create_intercommunicator) that returns its error.
        ///
        /// # Errors
        /// - [`Error::Rank`] for an unknown local leader.
        /// - [`Error::Rank`] at the leader for the null process and [`Error::Tag`] for a tag below 0; its group's other
        ///   processes then return [`Error::Wrong`].
        /// - [`Error::NoMemory`].
        /// - At all processes together, [`Error::Wrong`] for groups with a common process, and those of
        ///   [`try_duplicate`](Communicator::try_duplicate).
        or try_create_intercommunicator = inter::create(self.as_simple(), local_leader, remote_leader, tag);

        /// Returns the packed elements of a buffer, allocated from the program's heap (MPI_Pack, MPI-3.1 section 4.2).
        /// Does not block. Aborts the job when the heap has no space.
        pack[B: Buffer + ?Sized](inbuf: &B) -> Vec<u8> where [Self: Sized], "MPI_Pack";
        /// [`pack`](Communicator::pack) that returns [`Error::NoSpace`].
        or try_pack = {
            let core = self.as_simple().record.core()?;
            with_span(inbuf, |span| {
                let mut packed = try_with_capacity(span.len())?;
                packed.resize(span.len(), 0);
                core.env().read(span.into(), &mut packed);
                Ok(packed)
            })
        };

        /// Packs the elements of a buffer at `position` of `outbuf`, and returns the next position (MPI_Pack). Does not
        /// block. Aborts the job where [`try_pack_into`](Communicator::try_pack_into) fails.
        pack_into[B: Buffer + ?Sized](inbuf: &B, outbuf: &mut [u8], position: Count)
            -> Count where [Self: Sized], "MPI_Pack";
        /// [`pack_into`](Communicator::pack_into) that returns [`Error::Argument`] when the elements do not fit.
        or try_pack_into = {
            let core = self.as_simple().record.core()?;
            with_span(inbuf, |span| {
                let (from, to) = packed(outbuf.len(), position, span.len())?;
                core.env().read(span.into(), &mut outbuf[from..to]);
                Ok(to as Count)
            })
        };

        /// Unpacks elements from `position` of `inbuf` into a buffer, and returns the next position (MPI_Unpack,
        /// MPI-3.1 section 4.2). Does not block. Requires no unsafe code: the data is checked like a received message.
        /// Aborts the job where [`try_unpack_into`](Communicator::try_unpack_into) fails.
        unpack_into[B: BufferMut + ?Sized](inbuf: &[u8], outbuf: &mut B, position: Count)
            -> Count where [Self: Sized], "MPI_Unpack";
        /// [`unpack_into`](Communicator::unpack_into) that returns [`Error::Argument`] when `inbuf` is too short.
        or try_unpack_into = {
            let core = self.as_simple().record.core()?;
            with_span_mut(outbuf, |span| {
                let (from, to) = packed(inbuf.len(), position, span.len())?;
                core.env().write(span.into(), &inbuf[from..to]);
                Ok(to as Count)
            })
        };
    }
}

/// Returns the record of a communicator that this process may be in.
fn made_record(new: &Option<SimpleCommunicator>) -> Option<&CommRecord> {
    new.as_ref().map(|new| &new.record)
}

/// Returns the range of `bytes` bytes at `position` in a packing buffer, or [`Error::Argument`]. The maximum position
/// is that of a [`Count`].
fn packed(room: usize, position: Count, bytes: usize) -> Result<(usize, usize), Error> {
    let room = room.min(Count::MAX as usize);
    places(room as isize, position as isize, bytes)
}

impl Communicator for SimpleCommunicator {
    fn as_simple(&self) -> &SimpleCommunicator {
        self
    }
}

impl<C: Communicator + ?Sized> Context for C {
    fn record(&self) -> &CommRecord {
        &self.as_simple().record
    }
}

impl DuplicableContext for SimpleCommunicator {
    fn duplicate_in(parent: &CommRecord, context: envelope::Context) -> Result<Self, Error> {
        let members = CommMembers::Made(parent.core()?.make_duplicate_in(context)?);
        let topology = parent.topology.clone();
        let record = CommRecord::new(&parent.here, members, topology, CommAttributes::new());
        Ok(SimpleCommunicator { record })
    }
}

impl AsCommunicator for SimpleCommunicator {
    type Out = SimpleCommunicator;
    fn as_communicator(&self) -> &SimpleCommunicator {
        self
    }
}

/// Implements the communicator traits for a communicator with a topology.
macro_rules! has_topology {
    ($name:ident) => {
        impl Communicator for $name {
            fn as_simple(&self) -> &SimpleCommunicator {
                &self.0
            }
        }

        impl AsCommunicator for $name {
            type Out = $name;
            fn as_communicator(&self) -> &$name {
                self
            }
        }

        impl From<$name> for SimpleCommunicator {
            fn from(comm: $name) -> Self {
                comm.0
            }
        }
    };
}

has_topology!(CartesianCommunicator);
has_topology!(DistributedGraphCommunicator);
has_topology!(GraphCommunicator);
