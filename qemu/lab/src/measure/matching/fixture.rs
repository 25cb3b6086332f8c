//! Test harness: an engine with a request pool and MPI memory, called like by the device.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use midplane_device::envelope::{Envelope, MatchPattern};
use midplane_device::matching::MatchingEngine;
use midplane_device::memory::{RawMemory, Span};
use midplane_device::region::Region;
use midplane_device::request::{
    MAX_SLOTS, PostedReceive, ReceiveRequest, ReceiveState, Request, RequestId, RequestPool,
};

use super::traffic::{QueueTraffic, TrafficStep};
use crate::matching::blocks;

/// Extent of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasureEffort {
    /// Minimum number of steps: short traffic is repeated.
    pub steps: usize,
    /// Maximum time to empty the queues; beyond it, only some of the steps are measured.
    pub most: Duration,
}

impl Default for MeasureEffort {
    /// About ten milliseconds for fast engines: longer than a processor's frequency needs to settle.
    fn default() -> Self {
        MeasureEffort {
            steps: 1_000_000,
            most: Duration::from_millis(250),
        }
    }
}

/// Result of a measurement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MatchingCost {
    /// Nanoseconds per step of the traffic's `fill`; 0 if it is empty.
    pub fill_ns: f64,
    /// Nanoseconds per step of `drain`.
    pub drain_ns: f64,
    /// Hops per step of `drain`.
    pub hops: f64,
    /// Share of the steps of `drain` that were measured.
    pub part: f64,
}

impl MatchingCost {
    /// Returns the nanoseconds per message with its receive.
    pub fn ns(&self) -> f64 {
        self.fill_ns + self.drain_ns
    }

    /// Returns the median of each number.
    ///
    /// # Panics
    /// Without measurements.
    pub fn medians(measured: &[MatchingCost]) -> MatchingCost {
        let middle = |of: fn(&MatchingCost) -> f64| {
            let mut values: Vec<f64> = measured.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            let half = values.len() / 2;
            match values.len() % 2 {
                1 => values[half],
                _ => (values[half - 1] + values[half]) / 2.0,
            }
        };
        MatchingCost {
            fill_ns: middle(|one| one.fill_ns),
            drain_ns: middle(|one| one.drain_ns),
            hops: middle(|one| one.hops),
            part: middle(|one| one.part),
        }
    }
}

struct EngineFixture<E> {
    engine: E,
    requests: RequestPool,
    region: Region,
    posts: u64,
}

impl<E: MatchingEngine> EngineFixture<E> {
    fn new(traffic: &QueueTraffic) -> Self {
        let count = traffic.messages();
        let mut rig = EngineFixture {
            engine: E::new(count, traffic.peers as usize).expect("the host's memory"),
            requests: RequestPool::new(MAX_SLOTS),
            region: Region::new(blocks(count as u32)),
            posts: 0,
        };
        let receives = traffic.receives().min(MAX_SLOTS - MAX_SLOTS % 32);
        rig.requests.grow(receives as u32).expect("room");
        rig.engine.reserve(rig.requests.slots()).expect("the host's memory");
        for &context in &traffic.contexts {
            rig.engine.open(&mut rig.requests, &mut rig.region, context);
        }
        rig
    }

    fn run(&mut self, steps: &[TrafficStep]) {
        for step in steps {
            match step {
                TrafficStep::Receive(pattern) => self.receive(pattern),
                TrafficStep::Message(envelope) => self.message(envelope),
            }
        }
    }

    fn receive(&mut self, pattern: &MatchPattern) {
        self.requests.grow(1).expect("room");
        self.engine
            .reserve(self.requests.slots())
            .expect("what has been reserved");
        let posted = PostedReceive {
            pattern: *pattern,
            serial: self.posts,
            needs_listing: false,
        };
        let request = Request::Receive(ReceiveRequest {
            span: Span::EMPTY,
            state: ReceiveState::Posted(posted),
        });
        let id = self.requests.insert(request).expect("a slot");
        self.posts += 1;
        match self.engine.take_match(&mut self.region, pattern) {
            Some(at) => {
                self.region.release(&mut RawMemory, at);
                self.conclude(id);
            }
            None => self.engine.post(&mut self.requests, id.slot()),
        }
    }

    fn message(&mut self, envelope: &Envelope) {
        match self.engine.match_incoming(&mut self.requests, envelope) {
            Some(slot) => {
                self.engine.unpost(&mut self.requests, slot);
                let id = self.requests.id(slot);
                self.conclude(id);
            }
            None => {
                let at = self.region.record_without_buffer(&mut RawMemory, *envelope, 0, 0);
                let at = at.expect("room for all messages");
                self.engine.record(&mut self.region, at);
            }
        }
    }

    fn conclude(&mut self, id: RequestId) {
        self.requests.cancel_receive(id.slot());
        self.requests.take_completed(id);
    }

    fn is_empty(&self) -> bool {
        let measures = self.engine.measures();
        measures.posted == 0 && measures.unexpected == 0
    }

    fn hops(&self) -> u64 {
        self.engine.measures().traversals
    }
}

/// Time and hops of some steps.
#[derive(Default)]
struct StepSum {
    time: Duration,
    hops: u64,
    steps: usize,
}

impl StepSum {
    fn add<E: MatchingEngine>(&mut self, rig: &mut EngineFixture<E>, steps: &[TrafficStep]) {
        let hops = rig.hops();
        let start = Instant::now();
        rig.run(steps);
        self.time += start.elapsed();
        self.hops += rig.hops() - hops;
        self.steps += steps.len();
    }

    /// Returns nanoseconds per step; 0 without steps.
    fn ns(&self) -> f64 {
        match self.steps {
            0 => 0.0,
            steps => self.time.as_nanos() as f64 / steps as f64,
        }
    }
}

/// Number of steps that estimate the time to empty the queues.
const PROBE_STEPS: usize = 8;
/// Number of queue lengths that are sampled.
const LEVELS: usize = 16;

/// Measures `E` with `traffic`.
///
/// # Panics
/// When the queues are not empty at the end: traffic or engine is wrong.
pub fn measure<E: MatchingEngine>(traffic: &QueueTraffic, effort: MeasureEffort) -> MatchingCost {
    let (mut fill, mut probe) = (StepSum::default(), StepSum::default());
    let mut rig = EngineFixture::<E>::new(traffic);
    fill.add(&mut rig, &traffic.fill);
    // An engine may adapt during its first searches.
    let (learning, rest) = traffic.drain.split_at(PROBE_STEPS.min(traffic.drain.len() / 2));
    rig.run(learning);
    probe.add(&mut rig, &rest[..PROBE_STEPS.min(rest.len())]);
    drop(rig);
    // A queue that is emptied is half as long on average.
    let expected = probe.ns() * traffic.drain.len() as f64 / 2.0;
    let drain = match expected > effort.most.as_nanos() as f64 {
        true if traffic.nested => sample::<E>(traffic, effort),
        true => begin::<E>(traffic, effort),
        false => return all::<E>(traffic, effort),
    };
    cost_per_step(&fill, &drain, traffic.drain.len())
}

fn cost_per_step(fill: &StepSum, drain: &StepSum, steps: usize) -> MatchingCost {
    MatchingCost {
        fill_ns: fill.ns(),
        drain_ns: drain.ns(),
        hops: drain.hops as f64 / drain.steps.max(1) as f64,
        part: (drain.steps as f64 / steps.max(1) as f64).min(1.0),
    }
}

/// Measures all steps, repeatedly; returns the medians of the rounds, few of which the host interrupts.
fn all<E: MatchingEngine>(traffic: &QueueTraffic, effort: MeasureEffort) -> MatchingCost {
    let mut rig = EngineFixture::<E>::new(traffic);
    let mut rounds = Vec::new();
    for _ in 0..=effort.steps / traffic.steps().max(1) {
        let (mut fill, mut drain) = (StepSum::default(), StepSum::default());
        fill.add(&mut rig, &traffic.fill);
        drain.add(&mut rig, &traffic.drain);
        assert!(rig.is_empty(), "{} has lost something", E::NAME);
        rounds.push(cost_per_step(&fill, &drain, traffic.drain.len()));
    }
    MatchingCost::medians(&rounds)
}

/// Measures some steps at each of several lengths of the queue.
fn sample<E: MatchingEngine>(traffic: &QueueTraffic, effort: MeasureEffort) -> StepSum {
    let len = traffic.drain.len();
    let mut drain = StepSum::default();
    for level in 0..LEVELS {
        // In the middle of each part.
        let done = (2 * level + 1) * len / (2 * LEVELS);
        let mut rig = EngineFixture::<E>::new(traffic);
        rig.run(&traffic.fill[..len - done]);
        let (learning, rest) = traffic.drain[done..].split_at(PROBE_STEPS.min((len - done) / 2));
        rig.run(learning);
        let mut part = StepSum::default();
        for step in rest.chunks(1).take(len / LEVELS) {
            part.add(&mut rig, step);
            if part.time > effort.most / LEVELS as u32 {
                break;
            }
        }
        // Each length has the same weight, independent of the number of its steps.
        let steps = part.steps.max(1) as u32;
        drain.time += part.time / steps;
        drain.hops += part.hops / u64::from(steps);
        drain.steps += 1;
    }
    drain
}

/// Measures the first steps.
fn begin<E: MatchingEngine>(traffic: &QueueTraffic, effort: MeasureEffort) -> StepSum {
    let mut rig = EngineFixture::<E>::new(traffic);
    rig.run(&traffic.fill);
    let mut drain = StepSum::default();
    for step in traffic.drain.chunks(1) {
        drain.add(&mut rig, step);
        if drain.time > effort.most {
            break;
        }
    }
    drain
}

/// Fills and empties the queues `rounds` times, for an instruction counter.
///
/// # Panics
/// When the queues are not empty at the end: traffic or engine is wrong.
pub fn work<E: MatchingEngine>(traffic: &QueueTraffic, rounds: u32) {
    let mut rig = EngineFixture::<E>::new(traffic);
    for _ in 0..rounds {
        rig.run(&traffic.fill);
        rig.run(&traffic.drain);
        assert!(rig.is_empty(), "{} has lost something", E::NAME);
    }
}

#[cfg(test)]
mod tests {
    use midplane_device::matching::ListEngine;

    use super::super::blank::BlankEngine;
    use super::super::search::{LongQueue, SearchOrder, SearchTest};
    use super::super::{CollectiveTraffic, overhead};
    use super::*;

    fn search(queue: LongQueue, order: SearchOrder) -> SearchTest {
        SearchTest {
            queue,
            order,
            senders: 40,
            pending: 5,
            communicators: 2,
            any_source: 0.0,
        }
    }

    const ONCE: MeasureEffort = MeasureEffort {
        steps: 1,
        most: Duration::MAX,
    };

    /// Searches the head only, or all remaining entries; a sample is close to the result of all steps.
    #[test]
    fn a_list_looks_at_one_entry_or_at_all_of_them() {
        for queue in [LongQueue::Posted, LongQueue::Unexpected] {
            let forward = search(queue, SearchOrder::Forward).traffic();
            assert_eq!(measure::<ListEngine>(&forward, ONCE).hops, 1.0);
            let reverse = search(queue, SearchOrder::Reverse).traffic();
            let measured = measure::<ListEngine>(&reverse, ONCE);
            assert_eq!((measured.hops, measured.part), (200.5, 1.0));
            let short = MeasureEffort {
                most: Duration::ZERO,
                ..ONCE
            };
            let sampled = measure::<ListEngine>(&reverse, short);
            assert!(sampled.part < 0.1);
            assert!((sampled.hops - 200.5).abs() < 15.0, "{}", sampled.hops);
        }
    }

    /// Each message matches a receive, for any share of wildcard receives.
    #[test]
    fn queues_with_wildcards_are_emptied() {
        for queue in [LongQueue::Posted, LongQueue::Unexpected] {
            for order in [SearchOrder::Forward, SearchOrder::Reverse] {
                for any_source in [0.1, 0.5, 1.0] {
                    let search = SearchTest {
                        any_source,
                        ..search(queue, order)
                    };
                    let measured = measure::<ListEngine>(&search.traffic(), ONCE);
                    assert!(measured.part == 1.0 && measured.hops >= 1.0);
                }
            }
        }
        for collective in CollectiveTraffic::ALL {
            let measured = measure::<ListEngine>(&collective.traffic(64), ONCE);
            assert_eq!(measured.fill_ns, 0.0, "nothing is filled");
        }
    }

    #[test]
    fn medians_are_by_number() {
        let run = |ns: f64| MatchingCost {
            fill_ns: ns,
            drain_ns: 10.0 - ns,
            hops: 1.0,
            part: 1.0,
        };
        let middle = MatchingCost::medians(&[run(1.0), run(9.0), run(2.0)]);
        assert_eq!((middle.fill_ns, middle.drain_ns), (2.0, 8.0));
        let middle = MatchingCost::medians(&[run(1.0), run(2.0)]);
        assert_eq!((middle.fill_ns, middle.drain_ns), (1.5, 8.5));
    }

    /// The baseline matches in both orders.
    #[test]
    fn no_engine_does_for_the_two_orders() {
        for queue in [LongQueue::Posted, LongQueue::Unexpected] {
            work::<BlankEngine<true>>(&search(queue, SearchOrder::Forward).traffic(), 2);
            work::<BlankEngine<false>>(&search(queue, SearchOrder::Reverse).traffic(), 2);
        }
    }

    #[test]
    fn what_a_list_takes_is_nothing() {
        let none = overhead::overhead::<ListEngine>(4096, 100, &|| 0);
        assert_eq!((none.records, none.receives), (0, 0));
    }
}
