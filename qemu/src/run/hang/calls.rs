//! Events that a blocked rank waits for, from its call and its message queues. Free of side effects.

use crate::run::outcome::ObservedNode;
use midplane_abi::blackboard::{CallSnapshot, NodeState};
use midplane_abi::message_queues::{MessageQueues, QueueEntry, QueueKind};
use midplane_api::FUNCTIONS;

/// State of a rank with respect to a hang.
#[derive(Debug)]
pub enum RankState<'n> {
    /// It can proceed, or its wait is not known.
    Active,
    /// Its program has ended.
    Ended(i32),
    /// It is in MPI_Finalize, and sends and receives no more messages.
    Finalizing,
    /// It is blocked in a call.
    Blocked(BlockedCall<'n>),
}

/// Blocking call of a rank.
#[derive(Debug)]
pub struct BlockedCall<'n> {
    pub call: &'n CallSnapshot,
    /// Its message queues, on boards that have them.
    pub queues: Option<&'n MessageQueues>,
    pub condition: CallCondition,
    /// Events that it waits for; empty for [`CallCondition::Network`].
    pub events: Vec<AwaitedEvent>,
}

/// Condition under which a call returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallCondition {
    /// Each of its events occurs.
    All,
    /// One of its events occurs.
    Any,
    /// All ranks are in a collective of the barrier network.
    Network,
}

/// Ranks of a collective.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CollectiveScope {
    /// All ranks, in the barrier network. This may be a duplicate of MPI_COMM_WORLD.
    AllRanks,
    /// The ranks of the communicator with this context.
    Communicator(u16),
}

/// Event that a call waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AwaitedEvent {
    pub kind: EventKind,
    /// Context of the communicator or window, if it is known.
    pub context: Option<u16>,
    /// The rank that must act; `None`: any rank.
    pub peer: Option<u32>,
    /// The tag; `None` for any tag, and where there is none.
    pub tag: Option<i32>,
}

/// Kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EventKind {
    /// The peer sends a message.
    Send,
    /// The peer receives a message of this rank.
    Receive,
    /// The peer takes part in a collective.
    Collective,
    /// A grant of the peer: of the lock of its window, or MPI_Win_post.
    Grant,
    /// The peer ends its access epoch by MPI_Win_complete.
    Complete,
}

/// Use of a function by its peer and queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FunctionKind {
    Send,
    Receive,
    Probe,
    /// It waits for requests, under this condition.
    Requests(CallCondition),
    /// It waits for one request, or for a send and a receive.
    OneRequest,
    Collective,
    Window,
    Finalize,
    Other,
}

/// Tags of collectives below this one belong to blocking calls; nonblocking ones have a sequence number.
const FIRST_NUMBERED_TAG: i32 = 64;

impl<'n> RankState<'n> {
    /// Determines the state of a rank.
    pub fn from_node(node: &'n ObservedNode) -> Self {
        let Ok(account) = &node.account else {
            return Self::Active;
        };
        match account.state {
            NodeState::Done => return Self::Ended(account.status),
            NodeState::Running if node.stopped.is_none() => {}
            NodeState::Failed if node.reports_hang() => {}
            _ => return Self::Active,
        }
        match node.blocking_call() {
            Some(call) if call.function == "MPI_Finalize" => Self::Finalizing,
            Some(call) => BlockedCall::new(call, node.queues.as_ref()).map_or(Self::Active, Self::Blocked),
            None => Self::Active,
        }
    }
}

impl<'n> BlockedCall<'n> {
    /// Determines the events of a call. `None` if it does not block, or its events are not known.
    fn new(call: &'n CallSnapshot, queues: Option<&'n MessageQueues>) -> Option<Self> {
        let reader = EventReader { call, queues };
        let (condition, events) = match kind_of(&call.function) {
            FunctionKind::Send => (CallCondition::Any, reader.noted(&[QueueKind::PendingSend])),
            FunctionKind::Receive => (CallCondition::Any, reader.noted(&[QueueKind::PostedReceive])),
            FunctionKind::Probe => (CallCondition::Any, reader.noted_only(EventKind::Send)),
            FunctionKind::OneRequest => (CallCondition::Any, reader.one_request()),
            // A call that waits for one request after the other notes the present one.
            FunctionKind::Requests(CallCondition::All) if call.peer.is_some() => {
                (CallCondition::Any, reader.one_request())
            }
            FunctionKind::Requests(CallCondition::Any) if !reader.shows_all_requests() => return None,
            FunctionKind::Requests(condition) => (condition, reader.requests()),
            FunctionKind::Window => (CallCondition::All, reader.window()),
            FunctionKind::Collective => match reader.collective() {
                events if events.is_empty() && reader.may_be_in_network() => (CallCondition::Network, events),
                events => (CallCondition::All, events),
            },
            FunctionKind::Finalize | FunctionKind::Other => return None,
        };
        (condition == CallCondition::Network || !events.is_empty()).then_some(Self {
            call,
            queues,
            condition,
            events,
        })
    }

    /// Returns the ranks of the collective; `None` if the call is none.
    pub fn collective_scope(&self) -> Option<CollectiveScope> {
        if self.condition == CallCondition::Network {
            return Some(CollectiveScope::AllRanks);
        }
        let is_collective = kind_of(&self.call.function) == FunctionKind::Collective;
        let first = self.events.first().filter(|_| is_collective)?;
        match first.kind {
            EventKind::Collective => first.context.map(CollectiveScope::Communicator),
            _ => None,
        }
    }

    /// Returns an event with the communicator or window of the call, if these are the same for all events.
    pub fn common_event(&self) -> Option<&AwaitedEvent> {
        let first = self.events.first()?;
        let is_same = |event: &AwaitedEvent| (event.context, event.kind) == (first.context, first.kind);
        self.events.iter().all(is_same).then_some(first)
    }

    /// Returns the condition and the open requests of a call that waits for several; `None` for other calls. The call
    /// does not show its requests, so these are all that the rank has.
    pub fn open_requests(&self) -> Option<(CallCondition, Vec<AwaitedEvent>)> {
        let FunctionKind::Requests(condition) = kind_of(&self.call.function) else {
            return None;
        };
        let Self { call, queues, .. } = *self;
        let open = EventReader { call, queues }.requests();
        Some((condition, if open.is_empty() { self.events.clone() } else { open }))
    }

    /// Returns the number of queue entries that the record has no space for.
    pub fn omitted_entries(&self) -> u32 {
        self.queues.map_or(0, |queues| {
            let omitted = |kind: QueueKind| {
                let shown = queues.queue(kind).count() as u32;
                queues.totals[kind as usize].saturating_sub(shown)
            };
            omitted(QueueKind::PostedReceive).saturating_add(omitted(QueueKind::PendingSend))
        })
    }
}

/// Reads the events of a call.
struct EventReader<'n> {
    call: &'n CallSnapshot,
    queues: Option<&'n MessageQueues>,
}

impl EventReader<'_> {
    /// Returns the entries of these queues that an incomplete call of the program has caused.
    fn open_entries(&self, kinds: &[QueueKind]) -> impl Iterator<Item = &QueueEntry> {
        let entries = self.queues.into_iter().flat_map(|queues| &queues.entries);
        entries.filter(move |entry| kinds.contains(&entry.kind) && !entry.is_complete)
    }

    /// Returns the peer that the call has noted: `None` if it has none, `Some(None)` for any rank.
    fn peer(&self) -> Option<Option<u32>> {
        self.call.peer.map(|peer| u32::try_from(peer).ok())
    }

    fn tag(&self) -> Option<i32> {
        self.call.tag.filter(|tag| *tag >= 0)
    }

    /// Returns the event that the call has noted, for boards without queues.
    fn noted_only(&self, kind: EventKind) -> Vec<AwaitedEvent> {
        let event = |peer| AwaitedEvent {
            kind,
            context: None,
            peer,
            tag: self.tag(),
        };
        self.peer().map(event).into_iter().collect()
    }

    /// Returns the events of the entries with the noted peer and tag. They are empty if the message has already found
    /// its peer, so that it is in transit.
    fn noted(&self, kinds: &[QueueKind]) -> Vec<AwaitedEvent> {
        if self.queues.is_none() {
            let is_send = kinds == [QueueKind::PendingSend];
            return self.noted_only(if is_send { EventKind::Receive } else { EventKind::Send });
        }
        let is_noted = |entry: &&QueueEntry| Some(entry.peer) == self.peer() && entry.tag == self.tag();
        let is_message = |entry: &&QueueEntry| entry.context.is_multiple_of(2);
        let mut events: Vec<_> = self
            .open_entries(kinds)
            .filter(is_noted)
            .filter(is_message)
            .map(event_of)
            .collect();
        events.dedup();
        events
    }

    /// Returns the events of MPI_Wait, or of a call that sends and receives.
    fn one_request(&self) -> Vec<AwaitedEvent> {
        if self.call.peer.is_some() {
            return self.noted(&[QueueKind::PostedReceive, QueueKind::PendingSend]);
        }
        // The request is one of a collective or of a window.
        let collectives = self.open_entries(&[QueueKind::PostedReceive, QueueKind::PendingSend]);
        let collectives = collectives.filter(|entry| entry.tag >= Some(FIRST_NUMBERED_TAG));
        let collectives = collectives.filter(|entry| !entry.context.is_multiple_of(2));
        let collectives: Vec<_> = collectives.map(event_of).collect();
        if collectives.is_empty() {
            self.open_entries(&[QueueKind::WindowGrant]).map(event_of).collect()
        } else {
            collectives
        }
    }

    /// Returns the events of all open requests.
    fn requests(&self) -> Vec<AwaitedEvent> {
        let kinds = [QueueKind::PostedReceive, QueueKind::PendingSend];
        let events: Vec<_> = self.open_entries(&kinds).map(event_of).collect();
        if events.is_empty() {
            self.open_entries(&[QueueKind::WindowGrant]).map(event_of).collect()
        } else {
            events
        }
    }

    /// Checks whether the record has space for all requests.
    fn shows_all_requests(&self) -> bool {
        let Some(queues) = self.queues else {
            return false;
        };
        let mut kinds = [QueueKind::PostedReceive, QueueKind::PendingSend].into_iter();
        kinds.all(|kind| queues.totals[kind as usize] as usize == queues.queue(kind).count())
    }

    fn window(&self) -> Vec<AwaitedEvent> {
        let kind = match &*self.call.function {
            "MPI_Win_wait" => QueueKind::WindowEpoch,
            _ => QueueKind::WindowGrant,
        };
        let peer = self.peer();
        let is_noted = |entry: &&QueueEntry| peer.is_none_or(|peer| entry.peer == peer);
        self.open_entries(&[kind]).filter(is_noted).map(event_of).collect()
    }

    /// Returns the messages that a collective waits for.
    fn collective(&self) -> Vec<AwaitedEvent> {
        if self.queues.is_none() {
            return self.noted_only(EventKind::Collective);
        }
        let peer = self.peer();
        let entries = self.open_entries(&[QueueKind::PostedReceive, QueueKind::PendingSend]);
        let events: Vec<_> = entries
            .filter(|entry| !entry.context.is_multiple_of(2) && entry.tag < Some(FIRST_NUMBERED_TAG))
            .filter(|entry| peer.is_none_or(|peer| entry.peer == peer))
            .map(event_of)
            .collect();
        if events.is_empty() && section_of(&self.call.function).starts_with("11.") {
            let kinds = [QueueKind::WindowGrant, QueueKind::WindowEpoch];
            return self.open_entries(&kinds).map(event_of).collect();
        }
        events
    }

    /// Checks whether a collective may use the barrier network: its messages would have a peer.
    fn may_be_in_network(&self) -> bool {
        let function = &*self.call.function;
        let section = section_of(function);
        let is_offered = ["MPI_Barrier", "MPI_Allreduce"].contains(&function)
            || ["6.", "7.5.", "11."].iter().any(|chapter| section.starts_with(chapter));
        is_offered && self.call.peer.is_none()
    }
}

fn event_of(entry: &QueueEntry) -> AwaitedEvent {
    let is_collective = !entry.context.is_multiple_of(2);
    let kind = match entry.kind {
        QueueKind::PostedReceive | QueueKind::PendingSend if is_collective => EventKind::Collective,
        QueueKind::PostedReceive | QueueKind::UnexpectedMessage => EventKind::Send,
        QueueKind::PendingSend => EventKind::Receive,
        QueueKind::WindowGrant | QueueKind::LockHolder => EventKind::Grant,
        QueueKind::WindowEpoch => EventKind::Complete,
    };
    AwaitedEvent {
        kind,
        context: Some(entry.context & !1),
        peer: entry.peer,
        // The tags of collectives have no meaning for the program.
        tag: entry.tag.filter(|_| !is_collective),
    }
}

/// Returns the section of MPI-3.1 that specifies a function; empty for other names.
fn section_of(function: &str) -> &'static str {
    let mut functions = FUNCTIONS.iter();
    functions
        .find(|known| known.name == function)
        .map_or("", |known| known.section)
}

fn kind_of(function: &str) -> FunctionKind {
    match function {
        "MPI_Send" | "MPI_Ssend" | "MPI_Rsend" | "MPI_Bsend" => FunctionKind::Send,
        "MPI_Recv" => FunctionKind::Receive,
        "MPI_Probe" | "MPI_Mprobe" => FunctionKind::Probe,
        "MPI_Wait" | "MPI_Sendrecv" | "MPI_Sendrecv_replace" => FunctionKind::OneRequest,
        "MPI_Waitall" => FunctionKind::Requests(CallCondition::All),
        "MPI_Waitany" | "MPI_Waitsome" => FunctionKind::Requests(CallCondition::Any),
        "MPI_Finalize" => FunctionKind::Finalize,
        "MPI_Comm_idup" => FunctionKind::Other,
        // Nonblocking extensions.
        _ if function.starts_with("MPI_Win_i") => FunctionKind::Other,
        "MPI_Win_fence" => FunctionKind::Collective,
        _ => match section_of(function) {
            section if section.starts_with("5.12") || section.starts_with("7.7") => FunctionKind::Other,
            section
                if ["5.", "6.", "7.", "11.2."]
                    .iter()
                    .any(|begin| section.starts_with(begin)) =>
            {
                FunctionKind::Collective
            }
            section if section.starts_with("11.") => FunctionKind::Window,
            _ => FunctionKind::Other,
        },
    }
}
