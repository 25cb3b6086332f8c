//! Communicators, and point to point over spans: what the Rust and the C binding have in common.
//!
//! Arguments are checked here, once, for both bindings. Nothing here is typed yet: `midplane_rust` and
//! `midplane_c` turn elements into bytes.
#![forbid(unsafe_code)]

use net_torus::Shape;

use crate::context::{COLLECTIVE, SELF_CONTEXT, WORLD_CONTEXT};
use crate::error::Error;
use crate::grid::Grid;
use crate::process::Env;
use midplane_device::Outcome;
use midplane_device::envelope::{Context, Pattern, Rank, Tag};
use midplane_device::interface::{Blocking, Cancel, Device, Incoming, Outgoing, RequestMemory};
use midplane_device::memory::Span;
use midplane_device::recv::Probed;
use midplane_device::request::{Mode, RequestId};
use midplane_device::send::SendTo;

/// A process's rank in a communicator. Its number in the job is a [`Rank`]; only a membership turns one into the
/// other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CommRank(pub u32);

/// What is known of a received or probed message (MPI-3.1 section 3.2.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Status {
    /// Who sent it: a rank of the communicator.
    pub source: u32,
    /// Its tag.
    pub tag: Tag,
    /// Its length in bytes; of a truncated message, what was received.
    pub bytes: usize,
}

/// A group of processes that can talk to each other, and a context that keeps their messages apart from
/// those of other communicators (MPI-3.1 chapter 6).
pub struct Communicator<'e> {
    /// The process that calls.
    pub env: &'e dyn Env,
    membership: Membership<'e>,
}

impl Clone for Communicator<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Communicator<'_> {}

/// Those whom a process sends messages to and receives them from in a communicator, by their ranks: its group, or
/// the remote group of an intercommunicator (MPI-3.1 section 6.6).
pub struct Partners<'e> {
    /// The process that calls.
    pub env: &'e dyn Env,
    group: Group<'e>,
}

impl Clone for Partners<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Partners<'_> {}

/// A group of processes, and the context of messages to them and from them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group<'e> {
    /// World ranks by rank in the communicator.
    pub map: RankMap<'e>,
    /// Context of the messages.
    pub context: Context,
    /// Number of processes.
    pub size: u32,
}

/// A communicator without its host: the context, and this process's membership in the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Membership<'e> {
    /// World ranks by rank in the communicator.
    pub map: RankMap<'e>,
    /// Even; the next odd one is for its collectives, so that they never match the program's own messages
    /// (MPI-3.1 section 5.1).
    pub context: Context,
    /// Rank of the calling process.
    pub rank: CommRank,
    /// Number of processes.
    pub size: u32,
    /// Of a list: the box that it has been found to be. All members have found the same.
    pub grid: Option<Grid>,
}

/// Which processes; a communicator's rank r is the group's r-th.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RankMap<'e> {
    /// All, by their numbers.
    All,
    /// This one alone, by its number in the job.
    One(Rank),
    /// These, by their numbers in the job.
    List(&'e [Rank]),
    /// As a list: the remote group of an intercommunicator, in which this process is not.
    Remote(&'e [Rank]),
}

// One copy: it is a loop, and on MPI_COMM_WORLD never run.
#[inline(never)]
fn place_in(list: &[Rank], world: Rank) -> u32 {
    let at = list.iter().position(|member| *member == world);
    at.unwrap_or(0) as u32
}

impl Group<'_> {
    /// Returns the world rank of a rank of the communicator.
    pub fn to_world(self, rank: CommRank) -> Rank {
        match self.map {
            RankMap::All => Rank::new(rank.0),
            RankMap::One(world) => world,
            RankMap::List(list) | RankMap::Remote(list) => list[rank.0 as usize],
        }
    }

    /// The rank of the process with this number in the job; only members send in a communicator's context.
    pub fn in_group(self, world: Rank) -> CommRank {
        CommRank(match self.map {
            RankMap::All => world.index(),
            RankMap::One(_) => 0,
            RankMap::List(list) | RankMap::Remote(list) => place_in(list, world),
        })
    }

    /// The process with the rank that a program gives. Fails with [`Error::Rank`], of a remote group with
    /// [`Error::RemoteRank`].
    pub fn rank(self, given: i64) -> Result<CommRank, Error> {
        match u32::try_from(given) {
            Ok(rank) if rank < self.size => Ok(CommRank(rank)),
            _ => Err(self.no_rank(given)),
        }
    }

    #[cold]
    #[inline(never)]
    fn no_rank(self, rank: i64) -> Error {
        let size = self.size;
        match self.map {
            RankMap::Remote(_) => Error::RemoteRank { rank, size },
            _ => Error::Rank { rank, size },
        }
    }
}

impl<'e> Membership<'e> {
    /// The communicator's group.
    pub fn group(self) -> Group<'e> {
        Group {
            map: self.map,
            context: self.context,
            size: self.size,
        }
    }

    /// MPI_COMM_WORLD's.
    pub fn world(rank: Rank, size: u32) -> Self {
        Membership {
            map: RankMap::All,
            context: WORLD_CONTEXT,
            rank: CommRank(rank.index()),
            size,
            grid: None,
        }
    }

    /// MPI_COMM_SELF's, for the process with this number in the job.
    pub fn own(world: Rank) -> Self {
        Membership {
            map: RankMap::One(world),
            context: SELF_CONTEXT,
            rank: CommRank(0),
            size: 1,
            grid: None,
        }
    }

    /// Returns the world rank of a rank of the communicator.
    pub fn to_world(self, rank: CommRank) -> Rank {
        self.group().to_world(rank)
    }

    /// All ranks, in order.
    pub fn ranks(self) -> impl Iterator<Item = CommRank> {
        (0..self.size).map(CommRank)
    }
}

impl<'e> Communicator<'e> {
    /// MPI_COMM_WORLD.
    pub fn world(env: &'e dyn Env) -> Self {
        let (rank, size) = place(env);
        Communicator::at(env, Membership::world(rank, size))
    }

    /// MPI_COMM_SELF.
    pub fn own(env: &'e dyn Env) -> Self {
        let (world, _) = place(env);
        Communicator::at(env, Membership::own(world))
    }

    /// The communicator with this membership.
    pub fn at(env: &'e dyn Env, membership: Membership<'e>) -> Self {
        Communicator { env, membership }
    }

    /// Returns ranks, size and context without the device.
    pub fn membership(&self) -> Membership<'e> {
        self.membership
    }

    /// This process's rank in the communicator.
    pub fn rank(&self) -> u32 {
        self.membership.rank.0
    }

    /// As [`Communicator::rank`], as a rank of this communicator and no other.
    pub fn own_rank(&self) -> CommRank {
        self.membership.rank
    }

    /// Number of processes.
    pub fn size(&self) -> u32 {
        self.membership.size
    }

    /// It is of all processes, in the order of their numbers: MPI_COMM_WORLD, or one that was made of it.
    pub fn is_of_all(&self) -> bool {
        self.membership.map == RankMap::All
    }

    /// Returns the process that calls.
    pub fn env(&self) -> &'e dyn Env {
        self.env
    }

    /// [`Error::Root`] unless `root` is a rank of the communicator.
    pub fn check_root(&self, root: CommRank) -> Result<(), Error> {
        if root.0 < self.size() {
            Ok(())
        } else {
            Err(Error::Root {
                root: root.0.into(),
                size: self.size(),
            })
        }
    }

    /// The box of the torus that its processes are.
    pub fn grid(&self) -> Option<Grid> {
        match self.membership.map {
            RankMap::All if self.size() > 1 => Some(Grid::of(shape(self.env))),
            RankMap::List(_) => self.membership.grid,
            _ => None,
        }
    }

    /// The processes that it exchanges messages with.
    pub fn partners(self) -> Partners<'e> {
        Partners::at(self.env, self.membership.group())
    }
}

impl<'e> Partners<'e> {
    /// Those of this group.
    pub fn at(env: &'e dyn Env, group: Group<'e>) -> Self {
        Partners { env, group }
    }

    /// Returns the group of the communicator (MPI_Comm_group).
    pub fn group(self) -> Group<'e> {
        self.group
    }

    /// The same processes in the context of collectives.
    pub fn for_collectives(mut self) -> Self {
        self.group.context |= COLLECTIVE;
        self
    }

    fn check_rank(self, rank: CommRank) -> Result<(), Error> {
        match rank.0 < self.group.size {
            true => Ok(()),
            false => Err(self.group.no_rank(rank.0.into())),
        }
    }

    fn check_tag(tag: Option<Tag>) -> Result<(), Error> {
        match tag {
            Some(tag) if tag < 0 => Err(Error::Tag { tag }),
            _ => Ok(()),
        }
    }

    fn check_length(span: Span) -> Result<(), Error> {
        match u32::try_from(span.len()) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::TooLong { bytes: span.len() }),
        }
    }

    /// Checks the arguments of a send and returns its destination.
    pub fn send_to(
        self,
        span: Span,
        dest: CommRank,
        tag: Tag,
        mode: Mode,
    ) -> Result<SendTo, Error> {
        self.check_rank(dest)?;
        Self::check_tag(Some(tag))?;
        Self::check_length(span)?;
        Ok(SendTo {
            dest: self.group.to_world(dest),
            tag,
            context: self.group.context,
            mode,
        })
    }

    /// Checks the arguments of a receive and returns the pattern that it matches.
    pub fn pattern(self, source: Option<CommRank>, tag: Option<Tag>) -> Result<Pattern, Error> {
        if let Some(source) = source {
            self.check_rank(source)?;
        }
        Self::check_tag(tag)?;
        Ok(Pattern::new(
            source.map(|rank| self.group.to_world(rank)),
            tag,
            self.group.context,
        ))
    }

    /// How a finished receive ended, in the communicator's terms.
    pub fn received(self, outcome: Outcome) -> Result<Status, Error> {
        let Outcome {
            source,
            tag,
            bytes,
            truncated,
            ..
        } = outcome;
        let source = self.group.in_group(source).0;
        if truncated {
            Err(Error::Truncated {
                source,
                tag,
                room: bytes,
            })
        } else {
            Ok(Status { source, tag, bytes })
        }
    }

    /// Starts a send. Does not block. `None`: the span may be used again, and there is no request. Fails with
    /// [`Error::Rank`], [`Error::Tag`], [`Error::TooLong`] or [`Error::NoMemory`].
    pub fn start_send(
        self,
        function: &'static str,
        span: Span,
        dest: CommRank,
        tag: Tag,
        mode: Mode,
    ) -> Result<Option<RequestId>, Error> {
        let to = self.send_to(span, dest, tag, mode)?;
        let outgoing = Outgoing { to, span };
        Ok(self
            .env
            .start_send(function, &outgoing, RequestMemory::Shared)?)
    }

    /// Starts a receive. Does not block. Fails with [`Error::Rank`], [`Error::Tag`] or
    /// [`Error::NoMemory`].
    pub fn start_recv(
        self,
        function: &'static str,
        span: Span,
        source: Option<CommRank>,
        tag: Option<Tag>,
    ) -> Result<RequestId, Error> {
        let pattern = self.pattern(source, tag)?;
        let incoming = Incoming { pattern, span };
        Ok(self
            .env
            .start_receive(function, &incoming, RequestMemory::Shared)?)
    }

    /// Sends and blocks until the span may be used again. Fails as [`Partners::start_send`].
    pub fn send_span(
        self,
        function: &'static str,
        span: Span,
        dest: CommRank,
        tag: Tag,
        mode: Mode,
    ) -> Result<(), Error> {
        let to = self.send_to(span, dest, tag, mode)?;
        Ok(self.env.send(function, &Outgoing { to, span })?)
    }

    /// Receives; blocks until the message is there. Fails as [`Partners::start_recv`], and with
    /// [`Error::Truncated`].
    pub fn recv_span(
        self,
        function: &'static str,
        span: Span,
        source: Option<CommRank>,
        tag: Option<Tag>,
    ) -> Result<Status, Error> {
        let pattern = self.pattern(source, tag)?;
        let received = self.env.receive(function, &Incoming { pattern, span })?;
        self.received(received.outcome())
    }

    /// Sends and receives at once; blocks until both are done (MPI-3.1 section 3.10). Fails as the two
    /// do; when only the receive fails, the send has been done.
    pub fn sendrecv_span(
        self,
        function: &'static str,
        (send, dest, send_tag): (Span, CommRank, Tag),
        (recv, source, recv_tag): (Span, Option<CommRank>, Option<Tag>),
    ) -> Result<Status, Error> {
        // Checked before anything starts, so that a mistake leaves nothing behind.
        let to = self.send_to(send, dest, send_tag, Mode::Standard)?;
        let pattern = self.pattern(source, recv_tag)?;
        let incoming = Incoming {
            pattern,
            span: recv,
        };
        let receive = { self.env }.start_receive(function, &incoming, RequestMemory::Blocking)?;
        if let Err(error) = self.env.send(function, &Outgoing { to, span: send }) {
            // The span must not stay with the device.
            self.env.cancel(function, receive, Cancel::FinishReceive);
            return Err(error.into());
        }
        self.received(wait(self.env, function, receive))
    }

    /// Blocks until a message that fits can be received, and says which; or looks for one. Fails with [`Error::Rank`],
    /// [`Error::Tag`] or [`Error::NoMemory`].
    pub fn probe_span(
        self,
        function: &'static str,
        source: Option<CommRank>,
        tag: Option<Tag>,
        blocking: Blocking,
    ) -> Result<Option<Status>, Error> {
        let pattern = self.pattern(source, tag)?;
        let found = self.env.probe(function, pattern, blocking)?;
        Ok(found.map(|found| self.probed(found)))
    }

    /// Takes a message that fits: the name by which it can be received, and its status. Blocks until there is one, or
    /// else for as long as it takes to have one that has been found: an answer of its sender. Fails as
    /// [`Partners::probe_span`].
    pub fn mprobe_span(
        self,
        function: &'static str,
        source: Option<CommRank>,
        tag: Option<Tag>,
        blocking: Blocking,
    ) -> Result<Option<(RequestId, Status)>, Error> {
        let pattern = self.pattern(source, tag)?;
        let found = self.env.take(function, pattern, blocking)?;
        Ok(found.map(|(id, found)| (id, self.probed(found))))
    }

    fn probed(self, found: Probed) -> Status {
        Status {
            source: self.group.in_group(found.envelope.source).0,
            tag: found.envelope.tag,
            bytes: found.length as usize,
        }
    }
}

/// The rank and the size of the job.
fn place(env: &dyn Env) -> (Rank, u32) {
    let place = env.place();
    (place.rank, place.shape.nodes())
}

/// The machine.
pub fn shape(env: &dyn Env) -> Shape {
    env.place().shape
}

/// Blocks until a request of this layer's own has finished.
pub fn wait(env: &dyn Env, function: &'static str, id: RequestId) -> Outcome {
    let ended = env.wait(function, id);
    ended.expect("a request under way").outcome()
}
