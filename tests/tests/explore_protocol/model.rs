//! A few senders and one receiver as a model for `stateright`: every interleaving of the real device's
//! steps.
//!
//! Rank 0 posts receives, every other rank sends messages to it. A step is the smallest that the device
//! can make: one call of the program, one packet taken with the answer it causes, one packet injected. So
//! receives are posted, and records with them freed, at any moment; nodes are as fast and as slow as they
//! like; packets stay under way for as long as they like.
//!
//! "Every run comes to its end" is decided by the states without successors, which is right as long as
//! there are no cycles. Whatever happens again and again changes an age (a message is offered again only
//! when a notice asks for it, or when its offer crossed one), so a cycle would pass through all 256 ages
//! and take as many notices: [`ENOUGH`].

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use mpi_adi::envelope::{Envelope, Pattern, Tag};
use mpi_adi::memory::{Span, UserMemory};
use mpi_adi::protocol::{Age, Rules};
use mpi_adi::request::{Mode, RequestId};
use mpi_adi::send::SendTo;
use mpi_adi::{Adi, Config, Memory};
use msg_layer::{Class, Port};
use net_torus::{Coord, Shape};
use stateright::{Model, Property};

/// Messages are matched as MPI-3.1 section 3.5 says, each once and whole.
pub const ORDER: &str = "matching order";
/// The receiver uses no more MPI memory than it has.
pub const MEMORY: &str = "memory within its size";
/// Every packet is one that its receiver can be sent in its state.
pub const EXPECTED: &str = "every packet is expected";
/// Notices do not go on without end.
pub const ENOUGH: &str = "notices come to an end";
/// No run gets stuck, and nothing is left when all is done.
pub const END: &str = "every run comes to its end";

/// What is explored.
#[derive(Clone, Debug)]
pub struct Case {
    /// By sender: the tags of its messages, in order.
    pub senders: Vec<Vec<Tag>>,
    /// The receives, in order: source (a rank from 1 on) and tag, either `None` for any.
    pub receives: Vec<(Option<u32>, Option<Tag>)>,
    /// Bytes of each message, at least 1.
    pub len: usize,
    /// Synchronous or standard sends.
    pub mode: Mode,
    /// Bytes of the receiver's MPI memory.
    pub mpi_memory: usize,
    /// Answers of one node that can be under way at once, at least 1.
    pub answers: usize,
    /// The senders' calls are made before everything else. Fewer states; what new messages do during a
    /// restart is then left to the cases in which they are not.
    pub sent_early: bool,
    /// The message of sender 1 with this number is cancelled at some moment after its call.
    pub cancel: Option<usize>,
    /// Senders take answers as soon as they are sent, and offer as soon as they can. Far fewer states; what
    /// crosses on its way is then left to the cases in which it is not so.
    pub prompt: bool,
    /// The protocol's rules.
    pub rules: Rules,
    /// RTSs of a pair may overtake one another.
    pub rts_overtake: bool,
    /// Answers of a pair may overtake one another.
    pub answers_overtake: bool,
    /// Nothing is explored beyond so many notices of the receiver.
    pub notices: u64,
}

impl Case {
    /// Messages of these tags by sender, received in this order; one byte each, sound rules, a transport
    /// that keeps its promises.
    pub fn new(
        senders: &[&[Tag]],
        receives: &[(Option<u32>, Option<Tag>)],
        mpi_memory: usize,
    ) -> Case {
        Case {
            senders: senders.iter().map(|tags| tags.to_vec()).collect(),
            receives: receives.to_vec(),
            len: 1,
            mode: Mode::Standard,
            mpi_memory,
            answers: usize::MAX,
            sent_early: false,
            cancel: None,
            prompt: false,
            rules: Rules::SOUND,
            rts_overtake: false,
            answers_overtake: false,
            notices: u64::MAX,
        }
    }

    fn nodes(&self) -> usize {
        self.senders.len() + 1
    }

    fn shape(&self) -> Shape {
        Shape::new([self.nodes() as u16, 1, 1], [true; 3]).expect("a few nodes")
    }

    /// The message with which the byte `number` travels.
    fn message(&self, number: u8) -> Option<Envelope> {
        let (sender, at) = (
            usize::from(number / PER_SENDER),
            usize::from(number % PER_SENDER),
        );
        let tag = *self.senders.get(sender)?.get(at)?;
        Some(Envelope {
            source: sender as u32 + 1,
            tag,
            context: 0,
        })
    }

    fn pattern(&self, receive: usize) -> Pattern {
        let (source, tag) = self.receives[receive];
        Pattern {
            source,
            tag,
            context: 0,
        }
    }
}

/// Messages of one sender at most.
const PER_SENDER: u8 = 16;
/// Notices without which there is no cycle.
const CYCLE: u64 = Age::MAX as u64;
/// The sender that cancels.
const CANCELLER: u32 = 1;
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

#[derive(Clone, Debug)]
struct Node {
    adi: Adi,
    bytes: Bytes,
    /// Requests of the calls made so far, in order.
    calls: Vec<RequestId>,
    /// The call that is to be cancelled has been.
    cancelled: bool,
}

impl Node {
    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.adi.hash(&mut hasher);
        self.adi.stats().malformed.hash(&mut hasher);
        self.bytes.hash(&mut hasher);
        self.calls.hash(&mut hasher);
        self.cancelled.hash(&mut hasher);
        hasher.finish()
    }
}

type Body = Arc<[u8]>;

/// One class, source and destination.
#[derive(Clone, PartialEq, Hash, Debug)]
struct Channel {
    priority: bool,
    source: u8,
    dest: u8,
    packets: Vec<Body>,
}

/// A state of all nodes and the network between them.
#[derive(Clone, Debug)]
pub struct Global {
    nodes: Vec<(u64, Arc<Node>)>,
    /// Those that hold packets, in order.
    channels: Vec<Channel>,
}

/// Nodes are the same when their fingerprints are.
impl PartialEq for Global {
    fn eq(&self, other: &Self) -> bool {
        self.nodes
            .iter()
            .map(|(f, _)| f)
            .eq(other.nodes.iter().map(|(f, _)| f))
            && self.channels == other.channels
    }
}

impl Hash for Global {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (fingerprint, _) in &self.nodes {
            fingerprint.hash(state);
        }
        self.channels.hash(state);
    }
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The next call of a rank's program.
    Call(u8),
    /// Sender 1 cancels a message.
    Cancel,
    /// The packet at this place of this channel is taken by its destination.
    Take {
        /// Its class.
        priority: bool,
        /// Who sent it.
        source: u8,
        /// Who takes it.
        dest: u8,
        /// How many it overtakes.
        place: u8,
    },
    /// A rank injects a packet.
    Inject {
        /// Who.
        rank: u8,
        /// Its class.
        priority: bool,
    },
}

fn class(priority: bool) -> Class {
    if priority {
        Class::Priority
    } else {
        Class::Normal
    }
}

/// What a device sees during one step: one packet to take, or room for one to inject.
struct Hand<'a> {
    shape: Shape,
    /// The packet to take.
    packet: Option<(Class, &'a [u8])>,
    /// The device looks for packets to take: what it sends by itself it has sent.
    taking: Cell<bool>,
    /// A taken packet may be answered.
    answer: bool,
    /// Room for one packet of this class.
    room: Option<Class>,
    out: Option<(Class, u32, Body)>,
}

impl Port for Hand<'_> {
    fn can_inject(&self, class: Class) -> bool {
        // Whoever takes a request finds room for the answer, and for nothing else.
        let answers = class == Class::Priority && self.taking.get() && self.packet.is_some();
        self.room == Some(class) || answers
    }

    fn has_node(&self, node: Coord) -> bool {
        self.shape.rank(node).is_some()
    }

    fn inject(
        &mut self,
        class: Class,
        dest: Coord,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        let answers = class == Class::Priority && std::mem::take(&mut self.answer);
        if !answers && self.room.take() != Some(class) {
            return false;
        }
        let mut body = vec![0; len];
        fill(&mut body);
        let dest = self.shape.rank(dest).expect("a node of the machine");
        assert!(
            self.out.replace((class, dest, body.into())).is_none(),
            "one packet a step"
        );
        true
    }

    fn head(&self, class: Class) -> Option<&[u8]> {
        self.taking.set(true);
        self.packet
            .filter(|&(of, _)| of == class)
            .map(|(_, body)| body)
    }

    fn pop(&mut self, class: Class) {
        let (of, _) = self.packet.take().expect("the packet that head showed");
        self.answer = of == class && class == Class::Normal;
    }
}

impl Global {
    fn channel_mut(&mut self, priority: bool, source: u8, dest: u8) -> &mut Channel {
        let key = (priority, source, dest);
        let at = match self
            .channels
            .binary_search_by_key(&key, |c| (c.priority, c.source, c.dest))
        {
            Ok(at) => at,
            Err(at) => {
                self.channels.insert(
                    at,
                    Channel {
                        priority,
                        source,
                        dest,
                        packets: Vec::new(),
                    },
                );
                at
            }
        };
        &mut self.channels[at]
    }

    fn answers_under_way(&self, source: u8) -> usize {
        self.channels
            .iter()
            .filter(|c| c.priority && c.source == source)
            .map(|c| c.packets.len())
            .sum()
    }

    /// Runs `f` on the node and the hand it is given, and keeps what came of it.
    fn with(
        &mut self,
        rank: u8,
        mut hand: Hand<'_>,
        f: impl FnOnce(&mut Node, &mut Hand<'_>) -> bool,
    ) -> bool {
        let (fingerprint, node) = &mut self.nodes[usize::from(rank)];
        let node = Arc::make_mut(node);
        let moved = f(node, &mut hand);
        *fingerprint = node.fingerprint();
        if let Some((class, dest, body)) = hand.out {
            self.channel_mut(class == Class::Priority, rank, dest as u8)
                .packets
                .push(body);
        }
        moved
    }

    /// By receive in order of posting: the byte it got, once it is done.
    fn received(&self) -> impl Iterator<Item = Option<u8>> {
        let receiver = &self.nodes[0].1;
        receiver
            .calls
            .iter()
            .zip(&receiver.bytes.0)
            .map(|(&id, &byte)| receiver.adi.is_done(id).then_some(byte))
    }

    fn is_complete(&self, case: &Case) -> bool {
        let calls = |rank: usize| match rank {
            0 => case.receives.len(),
            sender => case.senders[sender - 1].len(),
        };
        self.channels.is_empty()
            && self.nodes.iter().enumerate().all(|(rank, (_, node))| {
                let adi = &node.adi;
                node.calls.len() == calls(rank)
                    && node.cancelled
                    && node.calls.iter().all(|&id| adi.is_done(id))
                    && adi.is_quiet()
                    && adi.region().used_bytes() == 0
            })
    }

    /// Every receive that is done got a message that it asked for, whole and once, with its status, and none
    /// that overtook another (MPI-3.1 section 3.5).
    fn is_in_order(&self, case: &Case) -> bool {
        let adi = &self.nodes[0].1.adi;
        let done: Vec<(usize, u8, Envelope)> = self
            .received()
            .enumerate()
            .filter_map(|(receive, byte)| {
                let byte = byte?;
                let nobody = Envelope {
                    source: 0,
                    tag: 0,
                    context: 1,
                };
                Some((receive, byte, case.message(byte).unwrap_or(nobody)))
            })
            .collect();
        done.iter().all(|&(receive, byte, envelope)| {
            let request = adi
                .requests()
                .get(self.nodes[0].1.calls[receive])
                .expect("not yet freed");
            let said = Envelope {
                source: request.peer.unwrap_or(0),
                tag: request.tag.unwrap_or(0),
                context: request.context,
            };
            case.pattern(receive).matches(&envelope)
                && said == envelope
                && request.length as usize == case.len
                && done.iter().all(|&(later, other, of)| {
                    let same = envelope.source == of.source;
                    later <= receive
                        || (other != byte
                            && !(same && other < byte && case.pattern(receive).matches(&of)))
                })
        })
    }
}

impl Case {
    fn call(&self, global: &mut Global, rank: u8) {
        let hand = Hand {
            shape: self.shape(),
            packet: None,
            taking: Cell::new(false),
            answer: false,
            room: None,
            out: None,
        };
        global.with(rank, hand, |node, _| {
            let at = node.calls.len();
            let Node {
                adi, bytes, calls, ..
            } = node;
            let id = if rank == 0 {
                bytes.0.push(EMPTY);
                adi.irecv(bytes, self.pattern(at), Span::model(at, self.len))
            } else {
                let sender = rank - 1;
                let tag = self.senders[usize::from(sender)][at];
                bytes.0.push(sender * PER_SENDER + at as u8);
                let to = SendTo {
                    dest: 0,
                    tag,
                    context: 0,
                    mode: self.mode,
                };
                adi.isend(to, Span::model(at, self.len))
            };
            calls.push(id.expect("the host's memory"));
            true
        });
    }

    fn cancel(&self, global: &mut Global) {
        let hand = Hand {
            shape: self.shape(),
            packet: None,
            taking: Cell::new(false),
            answer: false,
            room: None,
            out: None,
        };
        global.with(CANCELLER as u8, hand, |node, _| {
            let id = node.calls[self.cancel.expect("a message to cancel")];
            node.adi.cancel(id);
            node.cancelled = true;
            true
        });
    }

    fn take(&self, global: &mut Global, priority: bool, source: u8, dest: u8, place: u8) {
        let packets = &mut global.channel_mut(priority, source, dest).packets;
        let packet = packets.remove(usize::from(place));
        if packets.is_empty() {
            global
                .channels
                .retain(|channel| !channel.packets.is_empty());
        }
        let packet = Some((class(priority), &*packet));
        let hand = Hand {
            shape: self.shape(),
            packet,
            taking: Cell::new(false),
            answer: false,
            room: None,
            out: None,
        };
        global.with(dest, hand, |node, hand| {
            let moved = node.adi.progress(hand, &mut node.bytes);
            assert!(
                moved && hand.packet.is_none(),
                "a packet that can be taken is taken"
            );
            true
        });
    }

    fn inject(&self, global: &mut Global, rank: u8, priority: bool) -> bool {
        let hand = Hand {
            shape: self.shape(),
            packet: None,
            taking: Cell::new(false),
            answer: false,
            room: Some(class(priority)),
            out: None,
        };
        global.with(rank, hand, |node, hand| {
            node.adi.progress(hand, &mut node.bytes)
        })
    }

    /// Room for one more answer of `rank`: the emergency memory.
    fn can_answer(&self, global: &Global, rank: u8) -> bool {
        global.answers_under_way(rank) < self.answers
    }
}

impl Model for Case {
    type State = Global;
    type Action = Step;

    fn init_states(&self) -> Vec<Global> {
        let shape = self.shape();
        let nodes = (0..shape.nodes())
            .map(|rank| {
                let bytes = if rank == 0 { self.mpi_memory } else { 0 };
                let memory = Memory::allocate(bytes, self.nodes()).expect("the host's memory");
                let config = Config {
                    shape,
                    rank,
                    request_slots: usize::MAX,
                };
                let mut adi = Adi::new(config, memory).expect("a rank of the machine");
                adi.set_rules(self.rules);
                let node = Node {
                    adi,
                    bytes: Bytes(Vec::new()),
                    calls: Vec::new(),
                    cancelled: self.cancel.is_none() || rank != CANCELLER,
                };
                (node.fingerprint(), Arc::new(node))
            })
            .collect();
        let mut global = Global {
            nodes,
            channels: Vec::new(),
        };
        if self.sent_early {
            for (sender, tags) in (1..).zip(&self.senders) {
                tags.iter().for_each(|_| self.call(&mut global, sender));
            }
        }
        vec![global]
    }

    fn actions(&self, state: &Global, actions: &mut Vec<Step>) {
        if let Some(channel) = state.channels.iter().find(|c| c.priority && self.prompt) {
            actions.push(Step::Take {
                priority: true,
                source: channel.source,
                dest: channel.dest,
                place: 0,
            });
            return;
        }
        if self.prompt {
            let senders = 1..self.nodes() as u8;
            let offers = |&rank: &u8| self.inject(&mut state.clone(), rank, false);
            if let Some(rank) = senders.into_iter().find(offers) {
                actions.push(Step::Inject {
                    rank,
                    priority: false,
                });
                return;
            }
        }
        for rank in 0..self.nodes() as u8 {
            let at = state.nodes[usize::from(rank)].1.calls.len();
            let calls = match rank {
                0 => self.receives.len(),
                sender => self.senders[usize::from(sender) - 1].len(),
            };
            if at < calls {
                actions.push(Step::Call(rank));
            }
            actions.push(Step::Inject {
                rank,
                priority: false,
            });
            if self.can_answer(state, rank) {
                actions.push(Step::Inject {
                    rank,
                    priority: true,
                });
            }
        }
        let canceller = &state.nodes[CANCELLER as usize].1;
        if !canceller.cancelled && self.cancel < Some(canceller.calls.len()) {
            actions.push(Step::Cancel);
        }
        for &Channel {
            priority,
            source,
            dest,
            ref packets,
        } in &state.channels
        {
            if !priority && !self.can_answer(state, dest) {
                continue;
            }
            let overtakes = if priority {
                self.answers_overtake
            } else {
                self.rts_overtake
            };
            let places = if overtakes { packets.len() } else { 1 };
            for place in 0..places as u8 {
                actions.push(Step::Take {
                    priority,
                    source,
                    dest,
                    place,
                });
            }
        }
    }

    fn next_state(&self, last: &Global, step: Step) -> Option<Global> {
        let mut next = last.clone();
        match step {
            Step::Call(rank) => self.call(&mut next, rank),
            Step::Cancel => self.cancel(&mut next),
            Step::Take {
                priority,
                source,
                dest,
                place,
            } => self.take(&mut next, priority, source, dest, place),
            Step::Inject { rank, priority } => {
                if !self.inject(&mut next, rank, priority) {
                    return None;
                }
            }
        }
        Some(next)
    }

    fn within_boundary(&self, state: &Global) -> bool {
        state.nodes[0].1.adi.stats().resend_all_sent <= self.notices
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ORDER, |case: &Case, state: &Global| state.is_in_order(case)),
            Property::always(MEMORY, |case: &Case, state: &Global| {
                state.nodes[0].1.adi.region().peak_bytes() <= case.mpi_memory
            }),
            Property::always(EXPECTED, |_: &Case, state: &Global| {
                let malformed = |(_, node): &(u64, Arc<Node>)| node.adi.stats().malformed;
                state.nodes.iter().map(malformed).sum::<u64>() == 0
            }),
            Property::always(ENOUGH, |_: &Case, state: &Global| {
                state.nodes[0].1.adi.stats().resend_all_sent < CYCLE
            }),
            Property::eventually(END, |case: &Case, state: &Global| state.is_complete(case)),
        ]
    }
}
