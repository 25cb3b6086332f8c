//! Communicators and point-to-point operations on spans, shared by the Rust and the C binding.
//!
//! Arguments are checked here for both bindings. Data is untyped here: `midplane_rust` and `midplane_c` convert
//! elements to bytes.
#![forbid(unsafe_code)]

use net_torus::Shape;

use crate::context::{COLLECTIVE, SELF_CONTEXT, WORLD_CONTEXT};
use crate::error::Error;
use crate::grid::TorusBox;
use crate::installed::{self, WorldPlace};
use crate::process::Env;
use midplane_device::RequestOutcome;
use midplane_device::envelope::{Context, MatchPattern, Rank, Tag};
use midplane_device::interface::{BlockingMode, CancelPhase, Device, IncomingMessage, OutgoingMessage, RequestMemory};
use midplane_device::memory::Span;
use midplane_device::recv::ProbedMessage;
use midplane_device::request::{RequestId, SendMode};
use midplane_device::send::SendTo;

/// Rank of a process in a communicator. Its world rank is a [`Rank`]; only a membership converts between the two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CommRank(pub u32);

/// Message to send: its data, destination and tag.
pub struct OutgoingData<B> {
    /// The data: a span or a slice.
    pub data: B,
    /// Rank of the destination.
    pub dest: CommRank,
    /// Tag of the message.
    pub tag: Tag,
}

/// Message to receive: its buffer, source and tag; `None` matches any.
pub struct IncomingData<B> {
    /// The buffer: a span or a slice.
    pub data: B,
    /// Rank of the source.
    pub source: Option<CommRank>,
    /// Tag of the message.
    pub tag: Option<Tag>,
}

/// Status of a received or probed message (MPI-3.1 section 3.2.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Status {
    /// Rank of the sender in the communicator.
    pub source: u32,
    /// Tag of the message.
    pub tag: Tag,
    /// Length in bytes; for a truncated message, the number of received bytes.
    pub bytes: usize,
}

/// A group of processes with a context that separates their messages from those of other communicators (MPI-3.1 chapter
/// 6).
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

/// Communication partners in a communicator, by rank: the communicator's group, or the remote group of an
/// intercommunicator (MPI-3.1 section 6.6).
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

/// A group of processes and the context of messages to and from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group<'e> {
    /// World ranks by rank in the communicator.
    pub map: RankMap<'e>,
    /// Context of the messages.
    pub context: Context,
    /// Number of processes.
    pub size: u32,
}

/// A communicator without its environment: the context, and this process's membership in the group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Membership<'e> {
    /// World ranks by rank in the communicator.
    pub map: RankMap<'e>,
    /// Even context. The next odd context is reserved for collectives, so that they never match the program's own
    /// messages (MPI-3.1 section 5.1).
    pub context: Context,
    /// Rank of the calling process.
    pub rank: CommRank,
    /// Number of processes.
    pub size: u32,
    /// For a list: the box of the torus that it forms. All members compute the same box.
    pub grid: Option<TorusBox>,
}

/// Mapping from communicator rank to world rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RankMap<'e> {
    /// All processes; the rank is the world rank.
    All,
    /// Only the process with this world rank.
    One(Rank),
    /// World ranks of the members.
    List(&'e [Rank]),
    /// World ranks of the remote group of an intercommunicator, without this process.
    Remote(&'e [Rank]),
}

// Not inlined: it is a loop, and MPI_COMM_WORLD never runs it.
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

    /// Returns the rank of a world rank. Only members send in a communicator's context.
    pub fn in_group(self, world: Rank) -> CommRank {
        CommRank(match self.map {
            RankMap::All => world.index(),
            RankMap::One(_) => 0,
            RankMap::List(list) | RankMap::Remote(list) => place_in(list, world),
        })
    }

    /// Checks a rank that a program specified. Fails with [`Error::Rank`], for a remote group with
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
    /// Returns the communicator's group.
    pub fn group(self) -> Group<'e> {
        Group {
            map: self.map,
            context: self.context,
            size: self.size,
        }
    }

    /// Returns the membership of the process `own` of the torus in its MPI_COMM_WORLD of `size` processes.
    pub fn world(own: Rank, size: u32) -> Self {
        let list = installed::world().and_then(WorldPlace::list);
        Membership {
            map: list.map_or(RankMap::All, RankMap::List),
            context: WORLD_CONTEXT,
            rank: CommRank(list.map_or(own.index(), |list| place_in(list, own))),
            size,
            grid: None,
        }
    }

    /// Returns the membership of world rank `world` in its MPI_COMM_SELF.
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

    /// Returns all ranks in ascending order.
    pub fn ranks(self) -> impl Iterator<Item = CommRank> + Clone {
        (0..self.size).map(CommRank)
    }
}

impl<'e> Communicator<'e> {
    /// Returns MPI_COMM_WORLD.
    pub fn world(env: &'e dyn Env) -> Self {
        let (rank, size) = place(env);
        Communicator::at(env, Membership::world(rank, size))
    }

    /// Returns MPI_COMM_SELF.
    pub fn own(env: &'e dyn Env) -> Self {
        let (world, _) = place(env);
        Communicator::at(env, Membership::own(world))
    }

    /// Returns the communicator with this membership.
    pub fn at(env: &'e dyn Env, membership: Membership<'e>) -> Self {
        Communicator { env, membership }
    }

    /// Returns ranks, size and context without the device.
    pub fn membership(&self) -> Membership<'e> {
        self.membership
    }

    /// Returns this process's rank in the communicator.
    pub fn rank(&self) -> u32 {
        self.membership.rank.0
    }

    /// Returns this process's rank as a [`CommRank`].
    pub fn own_rank(&self) -> CommRank {
        self.membership.rank
    }

    /// Returns the number of processes.
    pub fn size(&self) -> u32 {
        self.membership.size
    }

    /// Checks whether the communicator contains all processes in the order of their ranks on the torus: MPI_COMM_WORLD or a
    /// communicator derived from it, if the job has one world.
    pub fn is_of_all(&self) -> bool {
        self.membership.map == RankMap::All
    }

    /// Checks whether the collectives of the communicator can use the network barrier: it contains all processes, and no
    /// other thread can call a collective of another such communicator at the same time.
    pub fn shares_network_barrier(&self) -> bool {
        self.is_of_all()
            && installed::world().is_none()
            && (self.membership.context == WORLD_CONTEXT || !installed::may_have_threads())
    }

    /// Returns the process that calls.
    pub fn env(&self) -> &'e dyn Env {
        self.env
    }

    /// Fails with [`Error::Root`] unless `root` is a rank of the communicator.
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

    /// Returns the box of the torus that its processes form.
    pub fn grid(&self) -> Option<TorusBox> {
        // In a job of several worlds, the first one is a part of the torus.
        let is_whole = |_: &TorusBox| installed::world().is_none();
        match self.membership.map {
            RankMap::All if self.size() > 1 => Some(TorusBox::from_shape(shape(self.env))).filter(is_whole),
            RankMap::List(_) => self.membership.grid,
            _ => None,
        }
    }

    /// Returns its communication partners.
    pub fn partners(self) -> Partners<'e> {
        Partners::at(self.env, self.membership.group())
    }
}

impl<'e> Partners<'e> {
    /// Returns the partners in this group.
    pub fn at(env: &'e dyn Env, group: Group<'e>) -> Self {
        Partners { env, group }
    }

    /// Returns the group of the communicator (MPI_Comm_group).
    pub fn group(self) -> Group<'e> {
        self.group
    }

    /// Returns the same processes in the context for collectives.
    pub fn for_collectives(mut self) -> Self {
        self.group.context |= COLLECTIVE;
        self
    }

    fn check_rank(self, rank: CommRank) -> Result<(), Error> {
        if rank.0 < self.group.size {
            Ok(())
        } else {
            Err(self.group.no_rank(rank.0.into()))
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
    pub fn send_to(self, span: Span, dest: CommRank, tag: Tag, mode: SendMode) -> Result<SendTo, Error> {
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
    pub fn pattern(self, source: Option<CommRank>, tag: Option<Tag>) -> Result<MatchPattern, Error> {
        if let Some(source) = source {
            self.check_rank(source)?;
        }
        Self::check_tag(tag)?;
        Ok(MatchPattern::new(
            source.map(|rank| self.group.to_world(rank)),
            tag,
            self.group.context,
        ))
    }

    /// Converts the outcome of a completed receive to a status of this communicator.
    pub fn received(self, outcome: RequestOutcome) -> Result<Status, Error> {
        let RequestOutcome {
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

    /// Starts a send. Does not block. `None`: the span may be reused, and there is no request. Fails with
    /// [`Error::Rank`], [`Error::Tag`], [`Error::TooLong`] or [`Error::NoMemory`].
    pub fn start_send(
        self,
        function: &'static str,
        span: Span,
        dest: CommRank,
        tag: Tag,
        mode: SendMode,
    ) -> Result<Option<RequestId>, Error> {
        let to = self.send_to(span, dest, tag, mode)?;
        let outgoing = OutgoingMessage { to, span };
        Ok(self.env.start_send(function, &outgoing, RequestMemory::Shared)?)
    }

    /// Starts a receive. Does not block. Fails with [`Error::Rank`], [`Error::Tag`] or [`Error::NoMemory`].
    pub fn start_recv(
        self,
        function: &'static str,
        span: Span,
        source: Option<CommRank>,
        tag: Option<Tag>,
    ) -> Result<RequestId, Error> {
        let pattern = self.pattern(source, tag)?;
        let incoming = IncomingMessage { pattern, span };
        Ok(self.env.start_receive(function, &incoming, RequestMemory::Shared)?)
    }

    /// Sends, and blocks until the span may be reused. Fails like [`Partners::start_send`].
    pub fn send_span(
        self,
        function: &'static str,
        span: Span,
        dest: CommRank,
        tag: Tag,
        mode: SendMode,
    ) -> Result<(), Error> {
        let to = self.send_to(span, dest, tag, mode)?;
        Ok(self.env.send(function, &OutgoingMessage { to, span })?)
    }

    /// Receives, and blocks until the message is complete. Fails like [`Partners::start_recv`], and with
    /// [`Error::Truncated`].
    pub fn recv_span(
        self,
        function: &'static str,
        span: Span,
        source: Option<CommRank>,
        tag: Option<Tag>,
    ) -> Result<Status, Error> {
        let pattern = self.pattern(source, tag)?;
        let received = self.env.receive(function, &IncomingMessage { pattern, span })?;
        self.received(received.outcome())
    }

    /// Sends and receives concurrently, and blocks until both are complete (MPI-3.1 section 3.10). Fails like a send or
    /// a receive. If only the receive fails, the send is complete.
    pub fn sendrecv_span(
        self,
        function: &'static str,
        send: OutgoingData<Span>,
        recv: IncomingData<Span>,
    ) -> Result<Status, Error> {
        // Checked before anything starts, so that an invalid argument has no effect.
        let to = self.send_to(send.data, send.dest, send.tag, SendMode::Standard)?;
        let pattern = self.pattern(recv.source, recv.tag)?;
        let incoming = IncomingMessage {
            pattern,
            span: recv.data,
        };
        let receive = { self.env }.start_receive(function, &incoming, RequestMemory::Blocking)?;
        if let Err(error) = self.env.send(function, &OutgoingMessage { to, span: send.data }) {
            // The device must not keep a reference to the span.
            self.env.cancel(function, receive, CancelPhase::FinishReceive);
            return Err(error.into());
        }
        self.received(wait(self.env, function, receive))
    }

    /// Returns the status of a matching message. Depending on the mode, blocks until there is one, or checks once.
    /// Fails with [`Error::Rank`], [`Error::Tag`] or [`Error::NoMemory`].
    pub fn probe_span(
        self,
        function: &'static str,
        source: Option<CommRank>,
        tag: Option<Tag>,
        blocking: BlockingMode,
    ) -> Result<Option<Status>, Error> {
        let pattern = self.pattern(source, tag)?;
        let found = self.env.probe(function, pattern, blocking)?;
        Ok(found.map(|found| self.probed(found)))
    }

    /// Dequeues a matching message, and returns its handle for the receive and its status. The blocking mode waits
    /// until there is one. The other mode blocks only for a message that was found, until its sender replies. Fails
    /// like [`Partners::probe_span`].
    pub fn mprobe_span(
        self,
        function: &'static str,
        source: Option<CommRank>,
        tag: Option<Tag>,
        blocking: BlockingMode,
    ) -> Result<Option<(RequestId, Status)>, Error> {
        let pattern = self.pattern(source, tag)?;
        let found = self.env.match_probe(function, pattern, blocking)?;
        Ok(found.map(|(id, found)| (id, self.probed(found))))
    }

    fn probed(self, found: ProbedMessage) -> Status {
        Status {
            source: self.group.in_group(found.envelope.source).0,
            tag: found.envelope.tag,
            bytes: found.length as usize,
        }
    }
}

/// Returns the rank on the torus and the size of MPI_COMM_WORLD.
fn place(env: &dyn Env) -> (Rank, u32) {
    let place = env.identity();
    let size = installed::world().map_or(place.shape.nodes(), |world| world.size);
    (place.rank, size)
}

/// Returns the shape of the torus.
pub fn shape(env: &dyn Env) -> Shape {
    env.identity().shape
}

/// Blocks until a request of the MPI layer is finished.
pub fn wait(env: &dyn Env, function: &'static str, id: RequestId) -> RequestOutcome {
    let ended = env.wait(function, id);
    ended.expect("a request under way").outcome()
}
