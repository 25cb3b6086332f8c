//! Model checking of small cases: every interleaving, and every value that a load may return under the C11 memory
//! model. The link is compiled again over loom's atomics, with rings of one slot.
//!
//! A node is a thread that steps and sleeps as [`Node`](crate::node::Node) does. A lost wake appears as a deadlock, a
//! slot with two users as a data race. The exploration must detect faulty variants of the link.

use std::env;
use std::process::Command;

/// The link over loom's atomics, with these fences and stores.
macro_rules! link_with {
    ($name:ident, fence: $fence:expr, store: $store:expr) => {
        #[path = "."]
        mod $name {
            pub const SLOTS: usize = 1;
            pub const FRAME_BYTES: usize = 1;

            mod sync {
                pub use loom::cell::UnsafeCell;
                pub use loom::sync::atomic::Ordering;

                pub fn fence(order: Ordering) {
                    let fence: fn(Ordering) = $fence;
                    fence(order);
                }

                pub struct AtomicU32(loom::sync::atomic::AtomicU32);

                impl AtomicU32 {
                    pub fn new(value: u32) -> Self {
                        Self(loom::sync::atomic::AtomicU32::new(value))
                    }
                    pub fn load(&self, order: Ordering) -> u32 {
                        self.0.load(order)
                    }
                    pub fn store(&self, value: u32, order: Ordering) {
                        let as_stored: fn(Ordering) -> Ordering = $store;
                        self.0.store(value, as_stored(order));
                    }
                    pub fn swap(&self, value: u32, order: Ordering) -> u32 {
                        self.0.swap(value, order)
                    }
                    pub fn compare_exchange(
                        &self,
                        old: u32,
                        new: u32,
                        success: Ordering,
                        failure: Ordering,
                    ) -> Result<u32, u32> {
                        self.0.compare_exchange(old, new, success, failure)
                    }
                }
            }

            #[path = "link.rs"]
            #[allow(
                dead_code,
                clippy::duplicate_mod,
                reason = "compiled once more, and partly used"
            )]
            mod link;

            use std::collections::VecDeque;

            use loom::sync::atomic::Ordering;
            use loom::sync::{Arc, Condvar, Mutex};
            use loom::thread;
            use net_torus::coord::Direction;
            use net_torus::link::Link;

            use self::link::{Doorbell, RingLink, RingPair, SleepFlag};
            use super::{DoorbellKind, ExploredCase, ThreadRole, VariantFault};
            use crate::node::NodeLink;

            /// State of a node that others can access.
            struct NodeModel {
                asleep: SleepFlag,
                kind: DoorbellKind,
                /// The interrupt is pending, or the lock of the threads that wait on the word.
                pending: Mutex<bool>,
                rung: Condvar,
            }

            impl NodeModel {
                fn new(kind: DoorbellKind) -> Self {
                    Self {
                        asleep: SleepFlag::default(),
                        kind,
                        pending: Mutex::new(false),
                        rung: Condvar::new(),
                    }
                }

                /// Blocks until the doorbell rings, or has rung.
                fn sleep(&self) {
                    let mut watches = 1;
                    let mut once = || core::mem::take(&mut watches) == 1;
                    if self.kind.is_spinning() && self.asleep.spin(&mut once) {
                        return;
                    }
                    let mut pending = self.pending.lock().unwrap();
                    match self.kind {
                        DoorbellKind::Interrupt | DoorbellKind::SpinningInterrupt => {
                            while !*pending {
                                pending = self.rung.wait(pending).unwrap();
                            }
                            *pending = false;
                        }
                        DoorbellKind::Futex | DoorbellKind::Spinning => {
                            if self.asleep.word().load(Ordering::Relaxed) == SleepFlag::ARMED {
                                drop(self.rung.wait(pending).unwrap());
                            }
                        }
                    }
                }
            }

            struct DoorbellOf {
                node: Arc<NodeModel>,
                is_cut: bool,
            }

            impl Doorbell for DoorbellOf {
                fn ring(&self) {
                    if !self.is_cut {
                        *self.node.pending.lock().unwrap() = true;
                        self.node.rung.notify_all();
                    }
                }
            }

            /// One link of a node, with the frames to send and to receive over it.
            struct LinkPort {
                link: RingLink<'static, DoorbellOf>,
                sends: VecDeque<u8>,
                takes: VecDeque<u8>,
            }

            /// Steps and sleeps until all frames were sent and received.
            fn run(node: &NodeModel, ports: &mut [LinkPort], flaw: Option<VariantFault>) {
                loop {
                    if let Some(port) = ports.first_mut() {
                        // The other links share this word.
                        port.link.mask_interrupts();
                    }
                    let mut moved = false;
                    for port in ports.iter_mut() {
                        let LinkPort { link, sends, takes } = port;
                        while link.receive(|frame| assert_eq!(Some(frame[0]), takes.pop_front())) {
                            moved = true;
                        }
                        while let Some(&byte) = sends.front() {
                            // Some frames wait for others: here until the ring is empty.
                            let waits = byte % 2 == 0 && link.is_behind();
                            let fill = |frame: &mut [u8]| {
                                frame[0] = byte;
                                1
                            };
                            let sent = !waits && link.transmit(fill);
                            if !sent {
                                break;
                            }
                            sends.pop_front();
                            moved = true;
                        }
                        link.poll(0);
                    }
                    if ports
                        .iter()
                        .all(|port| port.sends.is_empty() && port.takes.is_empty())
                    {
                        return;
                    }
                    if moved {
                        continue;
                    }
                    let mut links = ports.iter_mut().map(|port| &mut port.link);
                    let quiet = match flaw {
                        Some(VariantFault::LateWord) => links.all(link::tests::prepare_late),
                        _ => link::prepare_all(links),
                    };
                    if quiet {
                        node.sleep();
                    }
                }
            }

            fn play(case: ExploredCase) {
                let nodes: Vec<_> = case
                    .nodes
                    .iter()
                    .map(|_| Arc::new(NodeModel::new(case.doorbell)))
                    .collect();
                let mut ports: Vec<Vec<LinkPort>> = case.nodes.iter().map(|_| Vec::new()).collect();
                let mut memory = Vec::new();
                for wire in case.wires {
                    // Freed below: the model runs thousands of times.
                    let pair = Box::into_raw(Box::new(RingPair::default()));
                    memory.push(pair);
                    for (me, other, direction, [sends, takes]) in [
                        (wire.low, wire.high, Direction::XPlus, [wire.up, wire.down]),
                        (wire.high, wire.low, Direction::XMinus, [wire.down, wire.up]),
                    ] {
                        let word = |k: usize| {
                            // SAFETY: the node lives until all threads have ended.
                            unsafe { &*(&raw const nodes[k].asleep) }
                        };
                        let doorbell = DoorbellOf {
                            node: nodes[other].clone(),
                            is_cut: case.flaw == Some(VariantFault::Mute(me)),
                        };
                        // SAFETY: the pair is freed after all threads have ended.
                        let pair = unsafe { &*pair };
                        ports[me].push(LinkPort {
                            link: RingLink::new(pair, direction, word(me), word(other), doorbell),
                            sends: (0..sends).collect(),
                            takes: (0..takes).collect(),
                        });
                    }
                }
                let mut threads = Vec::new();
                let mut own = None;
                for (k, mut ports) in ports.into_iter().enumerate() {
                    let (node, flaw) = (nodes[k].clone(), case.flaw);
                    if case.nodes[k] == ThreadRole::Main {
                        own = Some((node, ports));
                        continue;
                    }
                    threads.push(thread::spawn(move || run(&node, &mut ports, flaw)));
                }
                if let Some((node, mut ports)) = own {
                    run(&node, &mut ports, case.flaw);
                }
                for thread in threads {
                    thread.join().unwrap();
                }
                for pair in memory {
                    // SAFETY: made by a box above; the links are gone.
                    drop(unsafe { Box::from_raw(pair) });
                }
            }

            /// All executions of a case.
            pub fn explore(case: &ExploredCase, preemptions: Option<usize>) {
                let case = *case;
                let mut model = loom::model::Builder::new();
                model.preemption_bound = preemptions;
                model.max_branches = 10_000;
                model.check(move || play(case));
            }
        }
    };
}

link_with!(sound, fence: loom::sync::atomic::fence, store: |order| order);
link_with!(
    without_fence,
    fence: |order| if order != Ordering::SeqCst { loom::sync::atomic::fence(order) },
    store: |order| order
);
link_with!(relaxed, fence: loom::sync::atomic::fence, store: |_| loom::sync::atomic::Ordering::Relaxed);

#[derive(Clone, Copy, PartialEq)]
enum DoorbellKind {
    /// An interrupt, which stays pending.
    Interrupt,
    /// A futex wake on the node's word, which it waits on while the word is armed.
    Futex,
    /// [`DoorbellKind::Futex`], but the node first watches the word.
    Spinning,
    /// [`DoorbellKind::Interrupt`], but the node first watches the word.
    SpinningInterrupt,
}

impl DoorbellKind {
    /// Returns whether the node watches its word before it sleeps.
    fn is_spinning(self) -> bool {
        matches!(self, DoorbellKind::Spinning | DoorbellKind::SpinningInterrupt)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum ThreadRole {
    Main,
    Spawned,
}

/// A link between two nodes, with the number of frames in each direction.
struct LinkTraffic {
    low: usize,
    high: usize,
    up: u8,
    down: u8,
}

/// Fault of a variant, in addition to its atomics.
#[derive(Clone, Copy, PartialEq)]
enum VariantFault {
    /// The word is set after the last check.
    LateWord,
    /// This node never rings the doorbell.
    Mute(usize),
}

#[derive(Clone, Copy)]
struct ExploredCase {
    doorbell: DoorbellKind,
    nodes: &'static [ThreadRole],
    wires: &'static [LinkTraffic],
    flaw: Option<VariantFault>,
}

impl ExploredCase {
    fn with(mut self, flaw: VariantFault) -> Self {
        self.flaw = Some(flaw);
        self
    }
}

const TWO: &[ThreadRole] = &[ThreadRole::Main, ThreadRole::Spawned];
const THREE: &[ThreadRole] = &[ThreadRole::Main, ThreadRole::Spawned, ThreadRole::Spawned];

const fn wire(low: usize, high: usize, up: u8, down: u8) -> LinkTraffic {
    LinkTraffic { low, high, up, down }
}

const fn case(doorbell: DoorbellKind, nodes: &'static [ThreadRole], wires: &'static [LinkTraffic]) -> ExploredCase {
    ExploredCase {
        doorbell,
        nodes,
        wires,
        flaw: None,
    }
}

/// Returns a case with each kind of doorbell.
const fn cases(nodes: &'static [ThreadRole], wires: &'static [LinkTraffic]) -> [ExploredCase; 4] {
    [
        case(DoorbellKind::Interrupt, nodes, wires),
        case(DoorbellKind::Futex, nodes, wires),
        case(DoorbellKind::Spinning, nodes, wires),
        case(DoorbellKind::SpinningInterrupt, nodes, wires),
    ]
}

/// Two frames over one slot: sleep races with wake, full with free.
static STREAM: [ExploredCase; 4] = cases(TWO, &[wire(0, 1, 2, 0)]);
/// Three frames: two successive waits for free space.
static LONGER: [ExploredCase; 4] = cases(TWO, &[wire(0, 1, 3, 0)]);
/// Both directions simultaneously.
static BOTH: [ExploredCase; 4] = cases(TWO, &[wire(0, 1, 2, 1)]);
/// Two neighbours wake one node by one word.
static JOIN: [ExploredCase; 4] = cases(THREE, &[wire(1, 0, 1, 0), wire(2, 0, 1, 0)]);
/// A node uses one word to wait for a frame from one neighbour and for free space at the other.
static RELAY: [ExploredCase; 4] = cases(THREE, &[wire(1, 0, 1, 0), wire(0, 2, 2, 0)]);

/// At most two preemptions per thread, which is enough to find every flaw below, and one in the longer cases. The ignored
/// test explores more.
#[test]
fn no_wake_is_lost() {
    for (cases, preemptions) in [(&STREAM, 2), (&LONGER, 1), (&BOTH, 1)] {
        for case in cases {
            sound::explore(case, Some(preemptions));
        }
    }
}

#[test]
fn no_wake_is_lost_among_three_nodes() {
    for cases in [&JOIN, &RELAY] {
        for case in cases {
            sound::explore(case, Some(1));
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn no_wake_is_lost_with_more_preemptions() {
    for case in &STREAM {
        sound::explore(case, None);
    }
    for cases in [&LONGER, &BOTH, &JOIN] {
        for case in cases {
            sound::explore(case, Some(4));
        }
    }
    for case in &RELAY {
        sound::explore(case, Some(3));
    }
}

/// Environment variable of the process that explores a flawed variant.
const FLAWED: &str = "MIDPLANE_EXPLORE_FLAWED";

/// Returns the output of the exploration of a flawed variant, which the named test performs in a separate process,
/// because loom cannot unwind from a deadlock.
fn found(test: &str, explore: impl Fn(&ExploredCase)) -> String {
    if env::var_os(FLAWED).is_some() {
        explore(&STREAM[0]);
        return "nothing".into();
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::{test}"), "--nocapture"])
        .env(FLAWED, "1")
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    assert!(!child.status.success());
    String::from_utf8_lossy(&child.stderr).into_owned()
}

#[test]
fn without_a_fence_a_wake_is_lost() {
    let why = found("without_a_fence_a_wake_is_lost", |case| {
        without_fence::explore(case, Some(2));
    });
    assert!(why.contains("deadlock"), "{why}");
}

#[test]
fn with_the_word_set_after_the_last_look_a_wake_is_lost() {
    let test = "with_the_word_set_after_the_last_look_a_wake_is_lost";
    let why = found(test, |case| {
        sound::explore(&case.with(VariantFault::LateWord), Some(2));
    });
    assert!(why.contains("deadlock"), "{why}");
}

#[test]
fn without_a_ring_when_a_slot_is_freed_the_producer_sleeps_on() {
    let test = "without_a_ring_when_a_slot_is_freed_the_producer_sleeps_on";
    let why = found(test, |case| {
        sound::explore(&case.with(VariantFault::Mute(1)), Some(2));
    });
    assert!(why.contains("deadlock"), "{why}");
}

#[test]
fn without_release_a_slot_is_in_two_hands() {
    let why = found("without_release_a_slot_is_in_two_hands", |case| {
        relaxed::explore(case, Some(2));
    });
    assert!(why.contains("Causality violation"), "{why}");
}
