//! One node of a case: a real device with its program, and their atomic steps.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use midplane_device::envelope::{Envelope, MatchPattern, Rank, Tag};
use midplane_device::memory::{Span, UserMemory};
use midplane_device::peers::SourceState;
use midplane_device::protocol::{Age, ProtocolRules as _, RtsState};
use midplane_device::request::{ReceiveRequest, ReceiveState, Request, RequestId, SendData, SendMode};
use midplane_device::send::SendTo;
use midplane_device::wire::{self, RestartRequest, Rts};
use midplane_device::{DeviceConfig, DeviceMemory};
use msg_layer::TrafficClass;
use msg_layer::fake::{FakePort, FifoSpace};
use msg_layer::header::{Header, SHORT_HEADER};

use super::ExploredDevice;
use super::case::{ITSELF, PER_SENDER, ProgramCall, ProtocolCase, SENDERS};
use super::state::{EXPECTED, MEMORY, ORDER};

/// The sender that cancels.
pub const CANCELLER: u8 = 1;
/// Initial contents of a receive buffer.
const EMPTY: u8 = u8::MAX;

/// Buffers of one node: all bytes of a buffer are equal.
#[derive(Clone, Hash, Debug)]
struct UniformBuffers(Vec<u8>);

impl UserMemory for UniformBuffers {
    fn read(&self, span: Span, _: usize, out: &mut [u8]) {
        out.fill(self.0[span.address()]);
    }

    fn write(&mut self, span: Span, _: usize, bytes: &[u8]) {
        if let Some(&byte) = bytes.first() {
            let buffer = &mut self.0[span.address()];
            assert!(*buffer == EMPTY || *buffer == byte, "two messages in one buffer");
            *buffer = byte;
        }
    }
}

/// A possible action of a node.
#[derive(Clone, Copy, Debug)]
pub enum NodeAction<'a> {
    /// The next call of its program.
    Call,
    /// Its program cancels the message that the case specifies.
    Cancel,
    /// Receives a packet, and replies to it if required.
    Receive {
        /// The packet's class.
        priority: bool,
        /// Its bytes.
        packet: &'a [u8],
    },
    /// Injects a packet.
    Inject {
        /// The packet's class.
        priority: bool,
    },
    /// Receives the next packet that it has sent to itself, and replies to it if required.
    ReceiveOwn {
        /// The packet's class.
        priority: bool,
    },
}

/// A packet injected by a step.
#[derive(Debug)]
pub struct InjectedPacket {
    /// Its class.
    pub priority: bool,
    /// Its destination.
    pub dest: u8,
    /// Its bytes.
    pub packet: Vec<u8>,
}

/// Returns the program's buffer, which is empty for a bcopy (buffered copy) send.
fn span(request: Request) -> Span {
    match request {
        Request::Send(send) => match send.data {
            SendData::User(span) => span,
            SendData::Bcopy(_) => Span::EMPTY,
        },
        Request::Receive(receive) => receive.span,
    }
}

fn class(priority: bool) -> TrafficClass {
    if priority {
        TrafficClass::Priority
    } else {
        TrafficClass::Normal
    }
}

/// Returns the location in a packet of its message's request ID at the sender.
fn sender_name(priority: bool, packet: &mut [u8]) -> Option<&mut [u8; 4]> {
    let (header, _) = Header::parse(packet).expect("a packet of the device");
    let payload = header.bytes();
    let at = match (priority, header.handler) {
        (false, wire::RTS) => payload + 12,
        (false, wire::EAGER) => SHORT_HEADER,
        (false, wire::CANCEL) => payload,
        (true, wire::CTS | wire::NCTSD | wire::NCTS | wire::CANCELLED) => payload,
        _ => return None,
    };
    packet[at..].first_chunk_mut()
}

/// Returns a port for one step: no packet has arrived, and nothing can be injected.
fn port(case: &ProtocolCase, rank: u8) -> FakePort {
    let shape = case.shape();
    let here = shape.coord(rank.into()).expect("a rank of the machine");
    let mut port = FakePort::new(shape, here);
    for class in [TrafficClass::Normal, TrafficClass::Priority] {
        port.set_space(class, FifoSpace::Packets(0));
    }
    port
}

fn injected(case: &ProtocolCase, port: &mut FakePort) -> Option<InjectedPacket> {
    let sent = port.take_sent();
    assert!(sent.len() <= 1, "one packet a step");
    sent.into_iter().next().map(|sent| InjectedPacket {
        priority: sent.class == TrafficClass::Priority,
        dest: case.shape().rank(sent.dest).expect("a node of the machine") as u8,
        packet: sent.body,
    })
}

/// The receive of a call that polls.
#[derive(Clone, Copy, Debug)]
struct PolledReceive {
    id: RequestId,
    /// Cancelled; MPI_Wait has not returned yet.
    is_cancelled: bool,
}

/// A device and its program.
#[derive(Clone, Debug)]
pub struct ProgramNode {
    rank: u8,
    adi: ExploredDevice,
    bytes: UniformBuffers,
    /// By call made so far, in order: the request that it started, unless it was cancelled.
    calls: Vec<Option<RequestId>>,
    /// A sender's request IDs of its messages in progress, by message. The IDs do not affect the protocol, so packets
    /// in flight contain the message indexes instead.
    names: Vec<u32>,
    /// The cancel of the case was executed.
    cancelled: bool,
    polled: Option<PolledReceive>,
    /// By class: packets to itself in flight. They do not affect other nodes.
    own: [VecDeque<Vec<u8>>; 2],
}

impl ProgramNode {
    /// Creates a node before its first step.
    pub fn new(case: &ProtocolCase, rank: u8) -> ProgramNode {
        let bytes = match rank {
            0 => case.mpi_memory,
            _ => case.sender_memory,
        };
        let memory = DeviceMemory::with_engine(&case.matching.kind(), bytes, case.nodes()).expect("the host's memory");
        let config = DeviceConfig {
            shape: case.shape(),
            rank: Rank::new(rank.into()),
            request_slots: usize::MAX,
        };
        let adi = ExploredDevice::with_rules(config, memory, case.rules).expect("a rank of the machine");
        ProgramNode {
            rank,
            adi,
            bytes: UniformBuffers(Vec::new()),
            calls: Vec::new(),
            names: vec![0; case.calls(rank)],
            cancelled: case.cancel.is_none() || rank != CANCELLER,
            own: Default::default(),
            polled: None,
        }
    }

    /// Returns the state after an action, and the packet injected, or `None` if the action is impossible.
    pub fn after(&self, case: &ProtocolCase, deed: NodeAction<'_>) -> Option<(ProgramNode, Option<InjectedPacket>)> {
        let mut node = self.clone();
        let mut port = port(case, node.rank);
        match deed {
            NodeAction::Call => {
                if !node.may_call(case) {
                    return None;
                }
                node.call(case);
            }
            NodeAction::Cancel => {
                if !node.may_cancel(case) {
                    return None;
                }
                let id = node.calls[case.cancel?]?;
                node.adi.cancel(id);
                node.cancelled = true;
            }
            NodeAction::Receive { priority, packet } => {
                let mut taken = packet.to_vec();
                if let Some(name) = node.name_in(priority, &mut taken) {
                    let message = u32::from_le_bytes(*name);
                    *name = node.names[message as usize].to_le_bytes();
                }
                node.receive_packet(&mut port, priority, &taken);
            }
            NodeAction::ReceiveOwn { priority } => {
                let mut taken = node.own[usize::from(priority)].pop_front()?;
                if let Some(name) = sender_name(priority, &mut taken) {
                    let message = u32::from_le_bytes(*name);
                    *name = node.names[message as usize].to_le_bytes();
                }
                node.receive_packet(&mut port, priority, &taken);
            }
            NodeAction::Inject { priority } => {
                port.set_space(class(priority), FifoSpace::Packets(1));
                if !node.adi.progress(&mut port, &mut node.bytes) {
                    return None;
                }
            }
        }
        node.end_poll();
        let mut injected = injected(case, &mut port);
        if let Some(own) = injected.take_if(|packet| packet.dest == node.rank) {
            node.keep_own(own);
        }
        if let Some(InjectedPacket { priority, packet, .. }) = &mut injected {
            let message = node.message_of(*priority, packet);
            if let Some((message, name)) = message.zip(node.name_in(*priority, packet)) {
                node.names[message] = u32::from_le_bytes(*name);
                *name = (message as u32).to_le_bytes();
            }
        }
        Some((node, injected))
    }

    /// Receives a packet, with space for the reply only.
    fn receive_packet(&mut self, port: &mut FakePort, priority: bool, packet: &[u8]) {
        port.deliver(class(priority), packet);
        port.set_space(TrafficClass::Priority, FifoSpace::ReplyOnly);
        let moved = self.adi.progress(port, &mut self.bytes);
        assert!(
            moved && port.waiting(class(priority)) == 0,
            "a packet that can be taken is taken"
        );
    }

    /// Stores a packet to itself, which is in flight from now on, and replaces its request ID by the index of the call.
    fn keep_own(&mut self, own: InjectedPacket) {
        let InjectedPacket {
            priority, mut packet, ..
        } = own;
        if let Some(name) = sender_name(priority, &mut packet) {
            let id = u32::from_le_bytes(*name);
            let request = self.adi.requests().get(RequestId(id));
            let message = span(request.expect("a message under way")).address();
            self.names[message] = id;
            *name = (message as u32).to_le_bytes();
        }
        self.own[usize::from(priority)].push_back(packet);
    }

    /// Checks whether packets of this class to itself are in flight.
    pub fn has_own(&self, priority: bool) -> bool {
        !self.own[usize::from(priority)].is_empty()
    }

    /// Returns the sender's message that a packet refers to, if any, by a byte of its data or by its request ID.
    fn message_of(&self, priority: bool, packet: &mut [u8]) -> Option<usize> {
        let name = u32::from_le_bytes(*self.name_in(priority, packet)?);
        let (header, payload) = Header::parse(packet).expect("a packet of the device");
        if header.handler == wire::RTS
            && let Some((rts, [byte, ..])) = Rts::parse(payload)
            && rts.has_flag(Rts::INLINE)
        {
            return Some((byte % PER_SENDER).into());
        }
        let request = self.adi.requests().get(RequestId(name));
        Some(span(request.expect("a message under way")).address())
    }

    /// Returns the location in a packet of a sender's request ID; the sender transmits or receives the packet.
    fn name_in<'p>(&self, priority: bool, packet: &'p mut [u8]) -> Option<&'p mut [u8; 4]> {
        match self.rank {
            0 => None,
            _ => sender_name(priority, packet),
        }
    }

    fn call(&mut self, case: &ProtocolCase) {
        if self.rank == 0 && matches!(case.receiver[self.calls.len()], ProgramCall::Poll(_)) {
            return self.poll(case);
        }
        let id = match self.rank {
            0 => self.call_of_receiver(case),
            rank => {
                let tag = case.senders[usize::from(rank) - 1][self.calls.len()];
                Some(self.send(case, rank - 1, tag))
            }
        };
        self.calls.push(id);
    }

    fn poll(&mut self, case: &ProtocolCase) {
        let at = self.calls.len();
        match &mut self.polled {
            Some(polled) => {
                polled.is_cancelled = true;
                self.adi.cancel(polled.id);
            }
            None => {
                if self.bytes.0.len() == at {
                    self.bytes.0.push(EMPTY);
                }
                let pattern = case.pattern(at).expect("a poll is for something");
                let span = Span::model(at, case.len);
                let id = self.adi.irecv(&mut self.bytes, pattern, span);
                self.polled = Some(PolledReceive {
                    id: id.expect("the host's memory"),
                    is_cancelled: false,
                });
            }
        }
    }

    /// Completes a polled receive: the program observes its result immediately.
    fn end_poll(&mut self) {
        let Some(PolledReceive { id, .. }) = self.polled.filter(|polled| self.adi.is_done(polled.id)) else {
            return;
        };
        self.polled = None;
        match self.adi.completed_outcome(id) {
            Some(outcome) if outcome.cancelled => {
                self.adi.test(id);
            }
            _ => self.calls.push(Some(id)),
        }
    }

    fn send(&mut self, case: &ProtocolCase, sender: u8, tag: Tag) -> RequestId {
        let at = self.calls.len();
        self.bytes.0.push(sender * PER_SENDER + at as u8);
        let to = SendTo {
            dest: Rank::new(0),
            tag,
            context: 0,
            mode: if case.synchronous == Some(at) {
                SendMode::Synchronous
            } else {
                case.mode
            },
        };
        let id = self.adi.isend(&mut self.bytes, to, Span::model(at, case.len));
        id.expect("the host's memory")
    }

    fn call_of_receiver(&mut self, case: &ProtocolCase) -> Option<RequestId> {
        let at = self.calls.len();
        if let ProgramCall::SendToItself(tag) = case.receiver[at] {
            return Some(self.send(case, ITSELF, tag));
        }
        self.bytes.0.push(EMPTY);
        match case.receiver[at] {
            ProgramCall::CancelReceive(call) => {
                let id = self.calls[call].expect("a receive that is cancelled once");
                let is_over = self.adi.cancel(id);
                if is_over {
                    self.adi.test(id).expect("cancelled, so complete");
                } else if self.is_posted(id) {
                    self.adi.forget(id);
                }
                if !self.adi.has_request(id) {
                    self.calls[call] = None;
                }
                return None;
            }
            ProgramCall::ReceiveInstead { of, .. } if self.calls[of].is_some() => return None,
            ProgramCall::Receive(_)
            | ProgramCall::ReceiveInstead { .. }
            | ProgramCall::SendToItself(_)
            | ProgramCall::Poll(_) => {}
        }
        let pattern = case.pattern(at)?;
        let span = Span::model(at, case.len);
        let id = self.adi.irecv(&mut self.bytes, pattern, span);
        Some(id.expect("the host's memory"))
    }

    fn is_posted(&self, id: RequestId) -> bool {
        let receive = self.adi.requests().get_receive(id);
        receive.is_some_and(|receive| matches!(receive.state, ReceiveState::Posted(_)))
    }

    /// Returns the requests in progress or complete, with their calls.
    fn requests(&self) -> impl Iterator<Item = (usize, RequestId)> {
        let calls = self.calls.iter().enumerate();
        calls.filter_map(|(at, &id)| Some((at, id?)))
    }

    /// Returns the receiver's flow-control state of a sender.
    pub fn source_state(&self, sender: u8) -> SourceState {
        self.adi.source_state(Rank::new(sender.into()))
    }

    /// Returns the MPI memory in use, in bytes.
    pub fn used_bytes(&self) -> usize {
        self.adi.region().used_bytes()
    }

    /// Checks whether a sender's message waits for a restart.
    pub fn is_rejected(&self, message: usize) -> bool {
        let id = self.names.get(message).copied();
        let state = id.and_then(|id| self.adi.rts_state(Rank::new(0), RequestId(id)));
        state == Some(RtsState::Rejected)
    }

    /// Checks whether its program has a call to make.
    pub fn may_call(&self, case: &ProtocolCase) -> bool {
        let waits = self.polled.is_some_and(|polled| polled.is_cancelled);
        self.calls.len() < case.calls(self.rank) && !waits
    }

    /// Checks whether its program has a message to cancel.
    pub fn may_cancel(&self, case: &ProtocolCase) -> bool {
        !self.cancelled && case.cancel < Some(self.calls.len())
    }

    /// Normalizes the ages of the receiver to 0, and returns the differences by sender. The protocol only compares an
    /// age with others of the same pair, and increments it. So two states are equivalent if all ages of a pair, at both
    /// ends and in flight, differ by the same amount.
    pub fn turn_back(&mut self, case: &ProtocolCase) -> [Age; SENDERS] {
        let mut turned = [0; SENDERS];
        if self.rank > 0 {
            return turned;
        }
        for (rank, turned) in case.ranks().zip(&mut turned) {
            *turned = std::mem::take(&mut self.adi.ages_mut(Rank::new(rank.into())).from);
        }
        turned
    }

    /// Normalizes a sender's age by the difference of the receiver's.
    pub fn turn_back_by(&mut self, case: &ProtocolCase, age: Age) {
        let to = &mut self.adi.ages_mut(Rank::new(0)).to;
        *to = case.rules.age_after(*to, age.wrapping_neg());
    }

    /// Normalizes the receiver's count of receives to 0 when none is posted, and returns the difference. A horizon is
    /// only compared with the sequence numbers of posted and later receives. So two states are equivalent if all of
    /// them differ by the same amount.
    pub fn turn_back_posts(&mut self, case: &ProtocolCase) -> u8 {
        if self.rank == 0 && case.polls() {
            self.adi.reset_posts() as u8
        } else {
            0
        }
    }

    /// Normalizes a sender's horizon by the difference of the receiver's count.
    pub fn turn_back_horizons_by(&mut self, by: u8) {
        self.adi.reduce_horizons(by.into());
    }

    /// Returns a fingerprint of all state that affects its further steps, and of the results that properties of later
    /// states depend on.
    pub fn fingerprint(&self, case: &ProtocolCase) -> u128 {
        let mut bytes = HashedBytes(Vec::new());
        self.rank.hash(&mut bytes);
        self.adi.hash(&mut bytes);
        self.broken(case).hash(&mut bytes);
        self.received(case).hash(&mut bytes);
        for id in &self.calls {
            id.map(|id| self.adi.is_done(id)).hash(&mut bytes);
        }
        // A reply that refers to a bcopy message may move others to the pending send queue.
        for &name in &self.names {
            let request = self.adi.requests().get(RequestId(name));
            request.is_some_and(|request| span(request).is_empty()).hash(&mut bytes);
        }
        self.cancelled.hash(&mut bytes);
        if let Some(polled) = self.polled {
            polled.is_cancelled.hash(&mut bytes);
        }
        if self.own != <[VecDeque<Vec<u8>>; 2]>::default() {
            self.own.hash(&mut bytes);
        }
        let half = |which: u8| {
            let mut hasher = DefaultHasher::new();
            which.hash(&mut hasher);
            hasher.write(&bytes.0);
            u128::from(hasher.finish())
        };
        half(0) << 64 | half(1)
    }

    /// Returns the contents of the buffers, normalized. The order of the messages of consecutive complete receives with
    /// equal patterns does not matter: every later check compares a message with all of them alike.
    fn received(&self, case: &ProtocolCase) -> Vec<u8> {
        let mut bytes = self.bytes.0.clone();
        if self.rank == 0 {
            let done: Vec<Option<MatchPattern>> = (0..bytes.len())
                .map(|at| case.pattern(at).filter(|_| self.is_done(at)))
                .collect();
            let mut rest = &mut bytes[..];
            for run in done.chunk_by(|a, b| a.is_some() && a == b) {
                let (run, others) = rest.split_at_mut(run.len());
                run.sort_unstable();
                rest = others;
            }
        }
        bytes
    }

    /// Returns the property that this state violates; all properties except the end are properties of one node's state.
    pub fn broken(&self, case: &ProtocolCase) -> Option<&'static str> {
        let stats = self.adi.stats();
        if stats.layer.malformed > 0 {
            return Some(EXPECTED);
        }
        if self.rank > 0 {
            return None;
        }
        if !self.is_in_order(case) {
            Some(ORDER)
        } else if self.adi.region().peak_bytes() > case.mpi_memory {
            Some(MEMORY)
        } else {
            None
        }
    }

    /// Checks whether all calls are made and complete, and no resource is in use.
    pub fn is_complete(&self, case: &ProtocolCase) -> bool {
        let adi = &self.adi;
        !self.may_call(case)
            && self.cancelled
            && self.requests().all(|(_, id)| adi.is_done(id))
            && adi.is_quiet()
            && self.own.iter().all(VecDeque::is_empty)
            && adi.region().used_bytes() == 0
    }

    /// Checks whether the call has started a request that is complete.
    fn is_done(&self, call: usize) -> bool {
        let id = self.calls.get(call).copied().flatten();
        id.is_some_and(|id| self.adi.is_done(id))
    }

    /// Checks every complete receive: its message matches, is complete, was received once and has the right status, and
    /// none overtook another (MPI-3.1 section 3.5).
    fn is_in_order(&self, case: &ProtocolCase) -> bool {
        let unknown = Envelope {
            source: Rank::new(0),
            tag: 0,
            context: 1,
        };
        let done: Vec<ReceivedMessage> = self
            .requests()
            .filter(|&(_, id)| self.adi.is_done(id))
            .filter_map(|(call, id)| {
                let byte = self.bytes.0[call];
                Some(ReceivedMessage {
                    call,
                    id,
                    pattern: case.pattern(call)?,
                    byte,
                    envelope: case.message(byte).unwrap_or(unknown),
                })
            })
            .collect();
        done.iter().all(|received| {
            self.is_as_asked(case, received) && done.iter().all(|later| !received.comes_out_of_turn(later))
        })
    }

    /// Checks the message of a receive and its status.
    fn is_as_asked(&self, case: &ProtocolCase, received: &ReceivedMessage) -> bool {
        let request = self.adi.requests().get(received.id);
        let Request::Receive(ReceiveRequest {
            state: ReceiveState::Done(said),
            ..
        }) = request.expect("not yet freed")
        else {
            return false;
        };
        received.pattern.matches(&received.envelope)
            && said.envelope == received.envelope
            && said.length as usize == case.len
    }
}

struct ReceivedMessage {
    call: usize,
    id: RequestId,
    pattern: MatchPattern,
    byte: u8,
    envelope: Envelope,
}

impl ReceivedMessage {
    /// Checks whether a later receive has the same message, or an earlier one that matches this receive.
    fn comes_out_of_turn(&self, later: &ReceivedMessage) -> bool {
        let is_earlier = self.envelope.source == later.envelope.source
            && later.byte < self.byte
            && self.pattern.matches(&later.envelope);
        later.call > self.call && (later.byte == self.byte || is_earlier)
    }
}

/// Normalizes the age in a packet, if it contains one.
pub fn turn_back(case: &ProtocolCase, priority: bool, packet: &mut [u8], age: Age) {
    let (header, _) = Header::parse(packet).expect("a packet of the device");
    let at = match (priority, header.handler) {
        (false, wire::RTS) => 3,
        (false, wire::DONE) | (true, wire::RESTART) => 0,
        _ => return,
    };
    let carried = &mut packet[header.bytes() + at];
    *carried = case.rules.age_after(*carried, age.wrapping_neg());
}

/// Normalizes the horizon in a packet, if it contains one.
pub fn turn_back_horizon(priority: bool, packet: &mut [u8], by: u8) {
    let (header, payload) = Header::parse(packet).expect("a packet of the device");
    let (at, horizon) = match (priority, header.handler) {
        (false, wire::RTS) => (16, Rts::parse(payload).and_then(|(rts, _)| rts.asked)),
        (true, wire::RESTART) => (4, RestartRequest::parse(payload).map(|restart| restart.horizon)),
        _ => return,
    };
    let Some(horizon) = horizon else { return };
    let at = header.bytes() + at;
    let turned = horizon.saturating_sub(by.into()).to_le_bytes();
    packet[at..at + turned.len()].copy_from_slice(&turned);
}

/// Stores the hashed bytes of a value, in order.
struct HashedBytes(Vec<u8>);

impl Hasher for HashedBytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("only what is written counts")
    }
}
