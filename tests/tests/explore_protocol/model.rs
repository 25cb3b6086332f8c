//! A few senders and one receiver as a model for `stateright`: every interleaving of the real device's
//! steps.
//!
//! Rank 0 posts receives, every other rank sends messages to it. A step is the smallest that the device
//! can make: one call of the program, one packet taken with the answer it causes, one packet injected. So
//! receives are posted, and records with them freed, at any moment; nodes are as fast and as slow as they
//! like; packets stay under way for as long as they like.
//!
//! "Every run comes to its end" is decided by the states without successors, which is right as long as
//! there are no cycles: [`ENOUGH`].

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use mpi_adi::envelope::{Envelope, Pattern, Tag};
use mpi_adi::protocol::{Age, Rules};
use mpi_adi::request::Mode;
use net_torus::Shape;
use rustc_hash::FxBuildHasher;
use stateright::{Model, Property};

use crate::node::{CANCELLER, Deed, Injected, Node, turn_back};

/// Messages are matched as MPI-3.1 section 3.5 says, each once and whole.
pub const ORDER: &str = "matching order";
/// The receiver uses no more MPI memory than it has.
pub const MEMORY: &str = "memory within its size";
/// Every packet is one that its receiver can be sent in its state.
pub const EXPECTED: &str = "every packet is expected";
/// Nothing goes on without end: no run comes back to a state that it has been through.
pub const ENOUGH: &str = "no run goes on without end";
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
    /// The message of each sender with this number is synchronous, whatever the others are.
    pub synchronous: Option<usize>,
    /// Bytes of the receiver's MPI memory.
    pub mpi_memory: usize,
    /// Answers of one node that can be under way at once, at least 1.
    pub answers: usize,
    /// The senders' calls are made before everything else. Fewer states; what new messages do during a
    /// restart is then left to the cases in which they are not.
    pub sent_early: bool,
    /// The message of sender 1 with this number is cancelled at some moment after its call.
    pub cancel: Option<usize>,
    /// The protocol's rules.
    pub rules: Rules,
    /// RTSs of a pair may overtake one another.
    pub rts_overtake: bool,
    /// Answers of a pair may overtake one another.
    pub answers_overtake: bool,
    /// Of the orders of steps between which there is no difference only some are explored: no restriction,
    /// see [`Memo::persistent_steps`].
    pub reduced: bool,
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
            synchronous: None,
            mpi_memory,
            answers: usize::MAX,
            sent_early: false,
            cancel: None,
            rules: Rules::SOUND,
            rts_overtake: false,
            answers_overtake: false,
            reduced: false,
        }
    }

    /// Nodes.
    pub fn nodes(&self) -> usize {
        self.senders.len() + 1
    }

    /// The machine.
    pub fn shape(&self) -> Shape {
        Shape::new([self.nodes() as u16, 1, 1], [true; 3]).expect("a few nodes")
    }

    /// The message with which the byte `number` travels.
    pub fn message(&self, number: u8) -> Option<Envelope> {
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

    /// Calls that a rank makes.
    pub fn calls(&self, rank: u8) -> usize {
        match rank {
            0 => self.receives.len(),
            sender => self.senders[usize::from(sender) - 1].len(),
        }
    }

    /// What a receive asks for.
    pub fn pattern(&self, receive: usize) -> Pattern {
        let (source, tag) = self.receives[receive];
        Pattern {
            source,
            tag,
            context: 0,
        }
    }
}

/// Messages of one sender at most.
pub const PER_SENDER: u8 = 16;
/// Senders at most.
pub const SENDERS: usize = 3;

/// States of nodes that are kept themselves, some 4 KiB each.
const KEPT_NODES: usize = 200_000;

/// A state of all nodes and the network between them. Its parts are named by number; what they are is known
/// to the [`Machine`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Global {
    receiver: u32,
    sides: [u32; SENDERS],
}

impl Global {
    /// The state as numbers.
    pub fn parts(&self) -> [u32; 1 + SENDERS] {
        let [a, b, c] = self.sides;
        [self.receiver, a, b, c]
    }
}

/// A sender with what is under way between it and the receiver.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Side {
    node: u32,
    /// To the receiver, in order.
    requests: Vec<u16>,
    /// To the sender, in order.
    answers: Vec<u16>,
}

/// What is known of a node's state.
struct Known {
    /// Itself, unless it has been dropped to save memory.
    node: Option<Box<Node>>,
    origin: Origin,
    broken: Option<&'static str>,
    is_complete: bool,
    may_call: bool,
    may_cancel: bool,
    /// By class: it has something to inject.
    offers: [bool; 2],
}

/// How a node's state has been found, and can be found again.
#[derive(Clone, Copy, Debug)]
enum Origin {
    First,
    After(u32, Local),
    TurnedBack(u32, Age),
}

/// A step of one node, and what it depends on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Local {
    Call,
    Cancel,
    Take { priority: bool, packet: u16 },
    Inject { priority: bool },
}

/// What becomes of a sender and its packets under way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum OnSide {
    Call,
    Cancel,
    Inject { priority: bool },
    TakeAnswer { place: u8 },
    RequestTaken { place: u8 },
    Answered { packet: u16 },
    AgeTurnedBack { by: Age },
}

/// A node after a step.
#[derive(Clone, Copy, Debug)]
struct After {
    node: u32,
    /// The packet injected by it: its class, destination and number.
    injected: Option<(bool, u8, u16)>,
    /// By sender: how far the receiver's age has been turned back, which is back at 0.
    turned: [Age; SENDERS],
}

/// A case, with all that has been found out about its nodes.
///
/// A step changes one node, and depends on that node's state and on the packet taken, if any, on nothing
/// else. So the device is asked once for each of these, and the answer serves for all states of all nodes
/// in which the same happens; what remains of a step is to look that up.
pub struct Machine {
    case: Case,
    memo: Mutex<Memo>,
}

#[derive(Default)]
struct Memo {
    nodes: Vec<Known>,
    node_numbers: HashMap<u128, u32, FxBuildHasher>,
    /// Nodes that are kept themselves, longest first.
    kept: VecDeque<u32>,
    packets: Vec<Vec<u8>>,
    packet_numbers: HashMap<Vec<u8>, u16, FxBuildHasher>,
    sides: Vec<Side>,
    side_numbers: HashMap<Side, u32, FxBuildHasher>,
    locals: HashMap<(u32, Local), Option<After>, FxBuildHasher>,
    on_sides: HashMap<(u32, OnSide), Option<u32>, FxBuildHasher>,
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

impl Memo {
    /// The number of a node's state.
    fn number(&mut self, case: &Case, node: Node, origin: Origin) -> u32 {
        let number = self.nodes.len() as u32;
        match self.node_numbers.entry(node.fingerprint(case)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                new.insert(number);
                let offers = |priority| node.after(case, Deed::Inject { priority }).is_some();
                self.nodes.push(Known {
                    origin,
                    broken: node.broken(case),
                    is_complete: node.is_complete(case),
                    may_call: node.may_call(case),
                    may_cancel: node.may_cancel(case),
                    offers: [offers(false), offers(true)],
                    node: None,
                });
                self.keep(number, node);
                number
            }
        }
    }

    fn keep(&mut self, number: u32, node: Node) {
        let known = &mut self.nodes[number as usize];
        known.node = Some(Box::new(node));
        if !matches!(known.origin, Origin::First) {
            self.kept.push_back(number);
        }
        if self.kept.len() > KEPT_NODES
            && let Some(oldest) = self.kept.pop_front()
        {
            self.nodes[oldest as usize].node = None;
        }
    }

    /// A node's state itself: it is made again the way it was found, if it has been dropped.
    fn node(&mut self, case: &Case, number: u32) -> &Node {
        let mut missing = Vec::new();
        let mut at = number;
        while self.nodes[at as usize].node.is_none() {
            missing.push(at);
            at = match self.nodes[at as usize].origin {
                Origin::First => unreachable!("a first node is kept"),
                Origin::After(before, _) | Origin::TurnedBack(before, _) => before,
            };
        }
        while let Some(at) = missing.pop() {
            let node = match self.nodes[at as usize].origin {
                Origin::First => unreachable!("a first node is kept"),
                Origin::After(before, local) => {
                    let (node, _, _) = self.after(case, before, local).expect("made before");
                    node
                }
                Origin::TurnedBack(before, by) => {
                    let mut node = self.kept(before).clone();
                    node.turn_back_by(case, by);
                    node
                }
            };
            self.keep(at, node);
        }
        self.kept(number)
    }

    fn kept(&self, number: u32) -> &Node {
        self.nodes[number as usize].node.as_ref().expect("kept")
    }

    /// What the device makes of a step, with the ages turned back.
    fn after(
        &self,
        case: &Case,
        number: u32,
        local: Local,
    ) -> Option<(Node, Option<Injected>, [Age; SENDERS])> {
        let deed = match local {
            Local::Call => Deed::Call,
            Local::Cancel => Deed::Cancel,
            Local::Take { priority, packet } => Deed::Take {
                priority,
                packet: &self.packets[usize::from(packet)],
            },
            Local::Inject { priority } => Deed::Inject { priority },
        };
        let (mut node, injected) = self.kept(number).after(case, deed)?;
        let turned = node.turn_back(case);
        Some((node, injected, turned))
    }

    fn packet(&mut self, packet: Vec<u8>) -> u16 {
        let number = u16::try_from(self.packets.len()).expect("fewer different packets");
        *self
            .packet_numbers
            .entry(packet)
            .or_insert_with_key(|packet| {
                self.packets.push(packet.clone());
                number
            })
    }

    fn side(&mut self, side: Side) -> u32 {
        let number = self.sides.len() as u32;
        *self.side_numbers.entry(side).or_insert_with_key(|side| {
            self.sides.push(side.clone());
            number
        })
    }

    fn local(&mut self, case: &Case, node: u32, local: Local) -> Option<After> {
        if let Some(&after) = self.locals.get(&(node, local)) {
            return after;
        }
        self.node(case, node);
        let after = self
            .after(case, node, local)
            .map(|(next, injected, turned)| {
                let injected = injected.map(
                    |Injected {
                         priority,
                         dest,
                         packet,
                     }| (priority, dest, self.packet(packet)),
                );
                After {
                    node: self.number(case, next, Origin::After(node, local)),
                    injected,
                    turned,
                }
            });
        self.locals.insert((node, local), after);
        after
    }

    fn on_side(&mut self, case: &Case, number: u32, what: OnSide) -> Option<u32> {
        if let Some(&after) = self.on_sides.get(&(number, what)) {
            return after;
        }
        let mut side = self.sides[number as usize].clone();
        let local = match what {
            OnSide::Call => Some(Local::Call),
            OnSide::Cancel => Some(Local::Cancel),
            OnSide::Inject { priority } => Some(Local::Inject { priority }),
            OnSide::TakeAnswer { place } => Some(Local::Take {
                priority: true,
                packet: side.answers.remove(place.into()),
            }),
            OnSide::RequestTaken { place } => {
                side.requests.remove(place.into());
                None
            }
            OnSide::Answered { packet } => {
                side.answers.push(packet);
                None
            }
            OnSide::AgeTurnedBack { by } => {
                let mut node = self.node(case, side.node).clone();
                node.turn_back_by(case, by);
                side.node = self.number(case, node, Origin::TurnedBack(side.node, by));
                for (priority, packets) in [(false, &mut side.requests), (true, &mut side.answers)]
                {
                    for number in packets {
                        let mut packet = self.packets[usize::from(*number)].clone();
                        turn_back(case, priority, &mut packet, by);
                        *number = self.packet(packet);
                    }
                }
                None
            }
        };
        let moved = match local.map(|local| self.local(case, side.node, local)) {
            None => true,
            Some(None) => false,
            Some(Some(After { node, injected, .. })) => {
                side.node = node;
                if let Some((priority, dest, packet)) = injected {
                    assert!(
                        !priority && dest == 0,
                        "senders send requests to the receiver"
                    );
                    side.requests.push(packet);
                }
                true
            }
        };
        let after = moved.then(|| self.side(side));
        self.on_sides.insert((number, what), after);
        after
    }

    fn of_side(&self, side: u32) -> (&Side, &Known) {
        let side = &self.sides[side as usize];
        (side, &self.nodes[side.node as usize])
    }

    /// Steps of one sender.
    fn side_steps(&self, case: &Case, state: &Global, rank: u8, steps: &mut Vec<Step>) {
        let (side, known) = self.of_side(state.sides[usize::from(rank) - 1]);
        if known.may_call {
            steps.push(Step::Call(rank));
        }
        for priority in [false, true] {
            if known.offers[usize::from(priority)] {
                steps.push(Step::Inject { rank, priority });
            }
        }
        if known.may_cancel {
            steps.push(Step::Cancel);
        }
        let places = case.places(true, side.answers.len());
        steps.extend((0..places).map(|place| Step::Take {
            priority: true,
            source: 0,
            dest: rank,
            place,
        }));
    }

    /// Steps of the receiver.
    fn receiver_steps(&self, case: &Case, state: &Global, steps: &mut Vec<Step>) {
        let known = &self.nodes[state.receiver as usize];
        if known.may_call {
            steps.push(Step::Call(0));
        }
        // Room for one more answer: the emergency memory.
        let sides = || {
            case.ranks()
                .map(|rank| (rank, self.of_side(state.sides[usize::from(rank) - 1]).0))
        };
        let under_way: usize = sides().map(|(_, side)| side.answers.len()).sum();
        if under_way >= case.answers {
            return;
        }
        for priority in [false, true] {
            if known.offers[usize::from(priority)] {
                steps.push(Step::Inject { rank: 0, priority });
            }
        }
        for (source, side) in sides() {
            let places = case.places(false, side.requests.len());
            steps.extend((0..places).map(|place| Step::Take {
                priority: false,
                source,
                dest: 0,
                place,
            }));
        }
    }

    fn steps(&self, case: &Case, state: &Global, steps: &mut Vec<Step>) {
        if case.reduced && !case.rts_overtake && !case.answers_overtake {
            self.persistent_steps(case, state, steps);
            return;
        }
        self.receiver_steps(case, state, steps);
        for rank in case.ranks() {
            self.side_steps(case, state, rank, steps);
        }
    }

    /// A persistent set of the steps that can be made (Godefroid, Partial-Order Methods for the Verification of
    /// Concurrent Systems, chapter 4): whatever the others can do, for as long as none in the set is done, is
    /// independent of all in the set.
    ///
    /// Steps of different nodes are independent, since each changes one node, takes from the head of one channel
    /// and adds to the tail of another; unless one takes the packet that the other adds, which is when the
    /// channel is empty, or makes room for an answer, which lets the other happen but does not change what it
    /// does. So the set is
    /// * all steps of one sender that has an answer to take: nobody else adds to or takes from what these
    ///   depend on, but at the other end of a channel that is not empty or that only the sender itself fills;
    /// * when there is no answer under way, all steps of the receiver, and all of the senders of which no
    ///   request is under way, which could be the ones that the receiver takes next. The others can only make
    ///   calls and add requests behind those that are there, until the receiver has made a step.
    ///
    /// All that is judged stays: whatever state a node comes to in some run, it comes to in a run that is
    /// explored, and so the properties of a node's states are judged in all of them; every state in which
    /// nothing can be done is explored; and a run without end leaves one that is explored.
    fn persistent_steps(&self, case: &Case, state: &Global, steps: &mut Vec<Step>) {
        let side = |rank: u8| self.of_side(state.sides[usize::from(rank) - 1]).0;
        if let Some(rank) = case.ranks().find(|&rank| !side(rank).answers.is_empty()) {
            self.side_steps(case, state, rank, steps);
            return;
        }
        self.receiver_steps(case, state, steps);
        for rank in case.ranks().filter(|&rank| side(rank).requests.is_empty()) {
            self.side_steps(case, state, rank, steps);
        }
    }

    fn next(&mut self, case: &Case, state: &Global, step: Step) -> Option<Global> {
        let mut next = *state;
        let (rank, what) = match step {
            Step::Call(0) => return self.receive(case, next, Local::Call),
            Step::Inject { rank: 0, priority } => {
                return self.receive(case, next, Local::Inject { priority });
            }
            Step::Take {
                priority: false,
                source,
                place,
                ..
            } => {
                let side = &mut next.sides[usize::from(source) - 1];
                let packet = self.sides[*side as usize].requests[usize::from(place)];
                *side = self.on_side(case, *side, OnSide::RequestTaken { place })?;
                return self.receive(
                    case,
                    next,
                    Local::Take {
                        priority: false,
                        packet,
                    },
                );
            }
            Step::Take { dest, place, .. } => (dest, OnSide::TakeAnswer { place }),
            Step::Call(rank) => (rank, OnSide::Call),
            Step::Cancel => (CANCELLER, OnSide::Cancel),
            Step::Inject { rank, priority } => (rank, OnSide::Inject { priority }),
        };
        let side = &mut next.sides[usize::from(rank) - 1];
        *side = self.on_side(case, *side, what)?;
        Some(next)
    }

    fn receive(&mut self, case: &Case, mut next: Global, local: Local) -> Option<Global> {
        let after = self.local(case, next.receiver, local)?;
        next.receiver = after.node;
        if let Some((priority, dest, packet)) = after.injected {
            assert!(
                priority && dest > 0,
                "the receiver sends answers to senders"
            );
            let side = &mut next.sides[usize::from(dest) - 1];
            *side = self.on_side(case, *side, OnSide::Answered { packet })?;
        }
        for (side, by) in next.sides.iter_mut().zip(after.turned) {
            if by > 0 {
                *side = self.on_side(case, *side, OnSide::AgeTurnedBack { by })?;
            }
        }
        Some(next)
    }

    fn broken(&self, case: &Case, state: &Global) -> Option<&'static str> {
        let receiver = &self.nodes[state.receiver as usize];
        let sides = case
            .ranks()
            .zip(state.sides)
            .map(|(_, side)| self.of_side(side).1);
        std::iter::once(receiver)
            .chain(sides)
            .find_map(|known| known.broken)
    }

    fn is_complete(&self, case: &Case, state: &Global) -> bool {
        self.nodes[state.receiver as usize].is_complete
            && case.ranks().zip(state.sides).all(|(_, side)| {
                let (side, known) = self.of_side(side);
                side.requests.is_empty() && side.answers.is_empty() && known.is_complete
            })
    }
}

impl Case {
    /// The senders' ranks.
    pub fn ranks(&self) -> impl Iterator<Item = u8> + use<> {
        1..self.nodes() as u8
    }

    /// How many of so many packets under way may be the next to arrive.
    fn places(&self, priority: bool, packets: usize) -> u8 {
        let overtakes = if priority {
            self.answers_overtake
        } else {
            self.rts_overtake
        };
        if overtakes {
            packets as u8
        } else {
            packets.min(1) as u8
        }
    }
}

impl Machine {
    /// Before the first step.
    pub fn new(case: Case) -> Machine {
        assert!(case.senders.len() <= SENDERS);
        Machine {
            case,
            memo: Mutex::default(),
        }
    }

    fn memo(&self) -> std::sync::MutexGuard<'_, Memo> {
        self.memo.lock().expect("no step has panicked")
    }

    /// The first state.
    pub fn first(&self) -> Global {
        let (case, memo) = (&self.case, &mut *self.memo());
        let mut sides = [0; SENDERS];
        for (rank, side) in case.ranks().zip(&mut sides) {
            let node = memo.number(case, Node::new(case, rank), Origin::First);
            *side = memo.side(Side {
                node,
                requests: Vec::new(),
                answers: Vec::new(),
            });
            while case.sent_early
                && let Some(next) = memo.on_side(case, *side, OnSide::Call)
            {
                *side = next;
            }
        }
        Global {
            receiver: memo.number(case, Node::new(case, 0), Origin::First),
            sides,
        }
    }

    /// Appends the steps that can be made, and the states that they lead to.
    pub fn successors(
        &self,
        state: &Global,
        steps: &mut Vec<Step>,
        next: &mut Vec<(Step, Global)>,
    ) {
        let memo = &mut *self.memo();
        steps.clear();
        memo.steps(&self.case, state, steps);
        for &step in &*steps {
            next.extend(
                memo.next(&self.case, state, step)
                    .map(|state| (step, state)),
            );
        }
    }

    /// The property that a state breaks.
    pub fn broken(&self, state: &Global) -> Option<&'static str> {
        self.memo().broken(&self.case, state)
    }

    /// All is done and nothing is left.
    pub fn is_complete(&self, state: &Global) -> bool {
        self.memo().is_complete(&self.case, state)
    }

    /// States of nodes that have been found.
    pub fn states_of_nodes(&self) -> usize {
        self.memo().nodes.len()
    }
}

impl Model for Machine {
    type State = Global;
    type Action = Step;

    fn init_states(&self) -> Vec<Global> {
        vec![self.first()]
    }

    fn actions(&self, state: &Global, steps: &mut Vec<Step>) {
        self.memo().steps(&self.case, state, steps);
    }

    fn next_state(&self, last: &Global, step: Step) -> Option<Global> {
        self.memo().next(&self.case, last, step)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn holds(machine: &Machine, state: &Global, property: &str) -> bool {
            machine.broken(state) != Some(property)
        }
        vec![
            Property::always(ORDER, |m: &Machine, state: &Global| holds(m, state, ORDER)),
            Property::always(MEMORY, |m: &Machine, state: &Global| {
                holds(m, state, MEMORY)
            }),
            Property::always(EXPECTED, |m: &Machine, state: &Global| {
                holds(m, state, EXPECTED)
            }),
            Property::eventually(END, Machine::is_complete),
        ]
    }
}
