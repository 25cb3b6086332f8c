//! One node of a case: a real device with its program, and the smallest steps that they make.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use midplane_device::envelope::{Envelope, Pattern, Rank, Tag};
use midplane_device::memory::{Span, UserMemory};
use midplane_device::protocol::{Age, Rules as _};
use midplane_device::request::{Data, Mode, Receive, ReceiveState, Request, RequestId};
use midplane_device::send::SendTo;
use midplane_device::wire::{self, Restart, Rts};
use midplane_device::{Config, Memory};
use msg_layer::Class;
use msg_layer::fake::{Fake, Room};
use msg_layer::header::{Header, SHORT_HEADER};

use super::Device;
use super::case::{Call, Case, ITSELF, PER_SENDER, SENDERS};
use super::state::{EXPECTED, MEMORY, ORDER};

/// The sender that cancels.
pub const CANCELLER: u8 = 1;
/// In a receive's buffer before a message.
const EMPTY: u8 = u8::MAX;

/// The buffers of one node: every byte of a buffer is the same.
#[derive(Clone, Hash, Debug)]
struct Bytes(Vec<u8>);

impl UserMemory for Bytes {
    fn read(&self, span: Span, _: usize, out: &mut [u8]) {
        out.fill(self.0[span.address()]);
    }

    fn write(&mut self, span: Span, _: usize, bytes: &[u8]) {
        if let Some(&byte) = bytes.first() {
            let buffer = &mut self.0[span.address()];
            assert!(
                *buffer == EMPTY || *buffer == byte,
                "two messages in one buffer"
            );
            *buffer = byte;
        }
    }
}

/// What a node can do.
#[derive(Clone, Copy, Debug)]
pub enum Deed<'a> {
    /// The next call of its program.
    Call,
    /// Its program cancels the message that the case says.
    Cancel,
    /// It takes a packet, and answers it if it must.
    Take {
        /// The packet's class.
        priority: bool,
        /// Its bytes.
        packet: &'a [u8],
    },
    /// It injects a packet.
    Inject {
        /// The packet's class.
        priority: bool,
    },
    /// It takes the next packet that it has sent to itself, and answers it if it must.
    TakeOwn {
        /// The packet's class.
        priority: bool,
    },
}

/// A packet that a step has injected.
#[derive(Debug)]
pub struct Injected {
    /// Its class.
    pub priority: bool,
    /// Where it goes.
    pub dest: u8,
    /// Its bytes.
    pub packet: Vec<u8>,
}

/// The program's buffer; empty when there is a copy.
fn span(request: Request) -> Span {
    match request {
        Request::Send(send) => match send.data {
            Data::User(span) => span,
            Data::Bcopy(_) => Span::EMPTY,
        },
        Request::Receive(receive) => receive.span,
    }
}

fn class(priority: bool) -> Class {
    if priority {
        Class::Priority
    } else {
        Class::Normal
    }
}

/// Where a packet says the name that its message has with its sender.
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

/// What a device sees during one step: nothing has arrived, and there is no room.
fn port(case: &Case, rank: u8) -> Fake {
    let shape = case.shape();
    let here = shape.coord(rank.into()).expect("a rank of the machine");
    let mut port = Fake::new(shape, here);
    for class in [Class::Normal, Class::Priority] {
        port.set_room(class, Room::Packets(0));
    }
    port
}

/// The packet that a step has injected, if it has.
fn injected(case: &Case, port: &mut Fake) -> Option<Injected> {
    let sent = port.take_sent();
    assert!(sent.len() <= 1, "one packet a step");
    sent.into_iter().next().map(|sent| Injected {
        priority: sent.class == Class::Priority,
        dest: case.shape().rank(sent.dest).expect("a node of the machine") as u8,
        packet: sent.body,
    })
}

/// The receive of a call that polls.
#[derive(Clone, Copy, Debug)]
struct Polled {
    id: RequestId,
    /// It has been cancelled; MPI_Wait has still to return.
    is_cancelled: bool,
}

/// A device and its program.
#[derive(Clone, Debug)]
pub struct Node {
    rank: u8,
    adi: Device,
    bytes: Bytes,
    /// By call made so far, in order: the request that it has started, unless that was cancelled.
    calls: Vec<Option<RequestId>>,
    /// A sender's names for its messages under way, by message. What it calls them makes no difference, so
    /// under way they have their numbers for names.
    names: Vec<u32>,
    /// The call that is to be cancelled has been.
    cancelled: bool,
    /// The receive of a call that polls.
    polled: Option<Polled>,
    /// By class: packets to itself that are under way. No other node has a part in them.
    own: [VecDeque<Vec<u8>>; 2],
}

impl Node {
    /// Before its first step.
    pub fn new(case: &Case, rank: u8) -> Node {
        let bytes = match rank {
            0 => case.mpi_memory,
            _ => case.sender_memory,
        };
        let memory = Memory::with_engine(&case.matching.kind(), bytes, case.nodes())
            .expect("the host's memory");
        let config = Config {
            shape: case.shape(),
            rank: Rank::new(rank.into()),
            request_slots: usize::MAX,
        };
        let adi = Device::with_rules(config, memory, case.rules).expect("a rank of the machine");
        Node {
            rank,
            adi,
            bytes: Bytes(Vec::new()),
            calls: Vec::new(),
            names: vec![0; case.calls(rank)],
            cancelled: case.cancel.is_none() || rank != CANCELLER,
            own: Default::default(),
            polled: None,
        }
    }

    /// The state that follows a deed, and the packet injected by it; `None` when there is nothing of the kind
    /// to be done.
    pub fn after(&self, case: &Case, deed: Deed<'_>) -> Option<(Node, Option<Injected>)> {
        let mut node = self.clone();
        let mut port = port(case, node.rank);
        match deed {
            Deed::Call => {
                if !node.may_call(case) {
                    return None;
                }
                node.call(case);
            }
            Deed::Cancel => {
                if !node.may_cancel(case) {
                    return None;
                }
                let id = node.calls[case.cancel?]?;
                node.adi.cancel(id);
                node.cancelled = true;
            }
            Deed::Take { priority, packet } => {
                let mut taken = packet.to_vec();
                if let Some(name) = node.name_in(priority, &mut taken) {
                    let message = u32::from_le_bytes(*name);
                    *name = node.names[message as usize].to_le_bytes();
                }
                node.take(&mut port, priority, &taken);
            }
            Deed::TakeOwn { priority } => {
                let mut taken = node.own[usize::from(priority)].pop_front()?;
                if let Some(name) = sender_name(priority, &mut taken) {
                    let message = u32::from_le_bytes(*name);
                    *name = node.names[message as usize].to_le_bytes();
                }
                node.take(&mut port, priority, &taken);
            }
            Deed::Inject { priority } => {
                port.set_room(class(priority), Room::Packets(1));
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
        if let Some(Injected {
            priority, packet, ..
        }) = &mut injected
        {
            let message = node.message_of(*priority, packet);
            if let Some((message, name)) = message.zip(node.name_in(*priority, packet)) {
                node.names[message] = u32::from_le_bytes(*name);
                *name = (message as u32).to_le_bytes();
            }
        }
        Some((node, injected))
    }

    /// Takes a packet, with room for the answer and for nothing else.
    fn take(&mut self, port: &mut Fake, priority: bool, packet: &[u8]) {
        port.arrive(class(priority), packet);
        port.set_room(Class::Priority, Room::Answer);
        let moved = self.adi.progress(port, &mut self.bytes);
        assert!(
            moved && port.waiting(class(priority)) == 0,
            "a packet that can be taken is taken"
        );
    }

    /// A packet that it has sent to itself is under way, and names its message by the number of the call.
    fn keep_own(&mut self, own: Injected) {
        let Injected {
            priority,
            mut packet,
            ..
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

    /// Packets of this class that it has sent to itself are under way.
    pub fn has_own(&self, priority: bool) -> bool {
        !self.own[usize::from(priority)].is_empty()
    }

    /// Which of a sender's messages a packet is about that it sends, if it is about one: that of which the
    /// packet carries a byte, or that of the request which it names.
    fn message_of(&self, priority: bool, packet: &mut [u8]) -> Option<usize> {
        let name = u32::from_le_bytes(*self.name_in(priority, packet)?);
        let (header, payload) = Header::parse(packet).expect("a packet of the device");
        if header.handler == wire::RTS
            && let Some((rts, [byte, ..])) = Rts::parse(payload)
            && rts.is(Rts::INLINE)
        {
            return Some((byte % PER_SENDER).into());
        }
        let request = self.adi.requests().get(RequestId(name));
        Some(span(request.expect("a message under way")).address())
    }

    /// Where a packet says a sender's name for a message, which it sends or takes.
    fn name_in<'p>(&self, priority: bool, packet: &'p mut [u8]) -> Option<&'p mut [u8; 4]> {
        match self.rank {
            0 => None,
            _ => sender_name(priority, packet),
        }
    }

    fn call(&mut self, case: &Case) {
        if self.rank == 0 && matches!(case.receiver[self.calls.len()], Call::Poll(_)) {
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

    /// The next step of a call that polls.
    fn poll(&mut self, case: &Case) {
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
                self.polled = Some(Polled {
                    id: id.expect("the host's memory"),
                    is_cancelled: false,
                });
            }
        }
    }

    /// The program sees at once what has become of the receive that it polls by.
    fn end_poll(&mut self) {
        let Some(Polled { id, .. }) = self.polled.filter(|polled| self.adi.is_done(polled.id))
        else {
            return;
        };
        self.polled = None;
        match self.adi.peek(id) {
            Some(outcome) if outcome.cancelled => {
                self.adi.test(id);
            }
            _ => self.calls.push(Some(id)),
        }
    }

    fn send(&mut self, case: &Case, sender: u8, tag: Tag) -> RequestId {
        let at = self.calls.len();
        self.bytes.0.push(sender * PER_SENDER + at as u8);
        let to = SendTo {
            dest: Rank::new(0),
            tag,
            context: 0,
            mode: match case.synchronous == Some(at) {
                true => Mode::Synchronous,
                false => case.mode,
            },
        };
        let id = self
            .adi
            .isend(&mut self.bytes, to, Span::model(at, case.len));
        id.expect("the host's memory")
    }

    fn call_of_receiver(&mut self, case: &Case) -> Option<RequestId> {
        let at = self.calls.len();
        if let Call::SendToItself(tag) = case.receiver[at] {
            return Some(self.send(case, ITSELF, tag));
        }
        self.bytes.0.push(EMPTY);
        match case.receiver[at] {
            Call::CancelReceive(call) => {
                let id = self.calls[call].expect("a receive that is cancelled once");
                let is_over = self.adi.cancel(id);
                if is_over {
                    self.adi.test(id).expect("cancelled, so complete");
                } else if self.is_posted(id) {
                    self.adi.forget(id);
                }
                if !self.adi.knows(id) {
                    self.calls[call] = None;
                }
                return None;
            }
            Call::ReceiveInstead { of, .. } if self.calls[of].is_some() => return None,
            Call::Receive(_)
            | Call::ReceiveInstead { .. }
            | Call::SendToItself(_)
            | Call::Poll(_) => {}
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

    /// The requests under way or done, with their calls.
    fn requests(&self) -> impl Iterator<Item = (usize, RequestId)> {
        let calls = self.calls.iter().enumerate();
        calls.filter_map(|(at, &id)| Some((at, id?)))
    }

    /// Its program has a call to make.
    pub fn may_call(&self, case: &Case) -> bool {
        let waits = self.polled.is_some_and(|polled| polled.is_cancelled);
        self.calls.len() < case.calls(self.rank) && !waits
    }

    /// Its program has a message to cancel.
    pub fn may_cancel(&self, case: &Case) -> bool {
        !self.cancelled && case.cancel < Some(self.calls.len())
    }

    /// Turns the ages of the receiver back to 0, and says by how much, by sender. What depends on an age depends
    /// on whether it is equal to another one of the same pair, and the next one is the one after it: so a
    /// state is the same as one in which all ages of a pair, at both ends and under way, are others by the
    /// same difference.
    pub fn turn_back(&mut self, case: &Case) -> [Age; SENDERS] {
        let mut turned = [0; SENDERS];
        if self.rank > 0 {
            return turned;
        }
        for (rank, turned) in case.ranks().zip(&mut turned) {
            *turned = std::mem::take(&mut self.adi.ages_mut(Rank::new(rank.into())).from);
        }
        turned
    }

    /// Turns back a sender's age, after the receiver's.
    pub fn turn_back_by(&mut self, case: &Case, age: Age) {
        let to = &mut self.adi.ages_mut(Rank::new(0)).to;
        *to = case.rules.age_after(*to, age.wrapping_neg());
    }

    /// Turns the receiver's count of receives back to 0 when none is posted, and says by how much. A horizon is compared
    /// with the places of receives that are posted, and of later ones: so a state is the same as one in which all of them
    /// are less by the same number.
    pub fn turn_back_posts(&mut self, case: &Case) -> u8 {
        match self.rank == 0 && case.polls() {
            true => self.adi.turn_back_posts() as u8,
            false => 0,
        }
    }

    /// Turns back the horizon that a sender knows, after the receiver's count.
    pub fn turn_back_horizons_by(&mut self, by: u8) {
        self.adi.turn_back_horizons(by.into());
    }

    /// All that its further steps depend on, and what has been seen of it that later states are judged by.
    pub fn fingerprint(&self, case: &Case) -> u128 {
        let mut bytes = Written(Vec::new());
        self.rank.hash(&mut bytes);
        self.adi.hash(&mut bytes);
        self.broken(case).hash(&mut bytes);
        self.received(case).hash(&mut bytes);
        for id in &self.calls {
            id.map(|id| self.adi.is_done(id)).hash(&mut bytes);
        }
        // An answer that names a message as a bcopy one may make others enter the queue.
        for &name in &self.names {
            let request = self.adi.requests().get(RequestId(name));
            request
                .is_some_and(|request| span(request).is_empty())
                .hash(&mut bytes);
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

    /// The contents of the buffers, as far as they matter. Neighbouring receives that ask for the same and are
    /// done may have got their messages in either order: whoever is judged by them later comes before
    /// both or after both, and is judged alike.
    fn received(&self, case: &Case) -> Vec<u8> {
        let mut bytes = self.bytes.0.clone();
        if self.rank == 0 {
            let done: Vec<Option<Pattern>> = (0..bytes.len())
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

    /// The property that this state breaks; all but the end are properties of one node's state.
    pub fn broken(&self, case: &Case) -> Option<&'static str> {
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

    /// All calls have been made and are done, and nothing is left.
    pub fn is_complete(&self, case: &Case) -> bool {
        let adi = &self.adi;
        !self.may_call(case)
            && self.cancelled
            && self.requests().all(|(_, id)| adi.is_done(id))
            && adi.is_quiet()
            && self.own.iter().all(VecDeque::is_empty)
            && adi.region().used_bytes() == 0
    }

    /// The call has started a request that is done.
    fn is_done(&self, call: usize) -> bool {
        let id = self.calls.get(call).copied().flatten();
        id.is_some_and(|id| self.adi.is_done(id))
    }

    /// Every receive that is done got a message that it asked for, whole and once, with its status, and none
    /// that overtook another (MPI-3.1 section 3.5).
    fn is_in_order(&self, case: &Case) -> bool {
        let unknown = Envelope {
            source: Rank::new(0),
            tag: 0,
            context: 1,
        };
        let done: Vec<Received> = self
            .requests()
            .filter(|&(_, id)| self.adi.is_done(id))
            .filter_map(|(call, id)| {
                let byte = self.bytes.0[call];
                Some(Received {
                    call,
                    id,
                    pattern: case.pattern(call)?,
                    byte,
                    envelope: case.message(byte).unwrap_or(unknown),
                })
            })
            .collect();
        done.iter().all(|received| {
            self.is_as_asked(case, received)
                && done.iter().all(|later| !received.comes_out_of_turn(later))
        })
    }

    /// A receive has what it asked for, and its status says so.
    fn is_as_asked(&self, case: &Case, received: &Received) -> bool {
        let request = self.adi.requests().get(received.id);
        let Request::Receive(Receive {
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

/// What a receive that is done has got.
struct Received {
    call: usize,
    id: RequestId,
    pattern: Pattern,
    byte: u8,
    envelope: Envelope,
}

impl Received {
    /// A later receive has got the same message, or an earlier one that this receive asked for.
    fn comes_out_of_turn(&self, later: &Received) -> bool {
        let is_earlier = self.envelope.source == later.envelope.source
            && later.byte < self.byte
            && self.pattern.matches(&later.envelope);
        later.call > self.call && (later.byte == self.byte || is_earlier)
    }
}

/// Turns back the age that a packet carries, if it carries one.
pub fn turn_back(case: &Case, priority: bool, packet: &mut [u8], age: Age) {
    let (header, _) = Header::parse(packet).expect("a packet of the device");
    let at = match (priority, header.handler) {
        (false, wire::RTS) => 3,
        (false, wire::DONE) | (true, wire::RESTART) => 0,
        _ => return,
    };
    let carried = &mut packet[header.bytes() + at];
    *carried = case.rules.age_after(*carried, age.wrapping_neg());
}

/// Turns back the horizon that a packet carries, if it carries one.
pub fn turn_back_horizon(priority: bool, packet: &mut [u8], by: u8) {
    let (header, payload) = Header::parse(packet).expect("a packet of the device");
    let (at, horizon) = match (priority, header.handler) {
        (false, wire::RTS) => (16, Rts::parse(payload).and_then(|(rts, _)| rts.asked)),
        (true, wire::RESTART) => (4, Restart::parse(payload).map(|restart| restart.horizon)),
        _ => return,
    };
    let Some(horizon) = horizon else { return };
    let at = header.bytes() + at;
    let turned = horizon.saturating_sub(by.into()).to_le_bytes();
    packet[at..at + turned.len()].copy_from_slice(&turned);
}

/// What a value hashes, one after the other.
struct Written(Vec<u8>);

impl Hasher for Written {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("only what is written counts")
    }
}
