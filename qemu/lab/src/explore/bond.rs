//! The bond between the device and the model of a pair ([`midplane_proofs`]): each step of the explored device is a
//! sequence of the model's steps.
//!
//! The search visits the states of a case, and carries a model state for each sender along each path. It translates a
//! step of the device to steps of the model, by the packets that the step removes and adds. It checks that
//!
//! * the guards of each model step hold in the model state,
//! * the device's flow-control state of the source equals that of the model state,
//! * packets in flight have the model's order and ages,
//! * the invariant holds in each model state.
//!
//! A restart's requests and the events of the environment leave no packets. The translation reads them from the device.
#![forbid(unsafe_code)]

use std::collections::HashSet;
use std::fmt;

use midplane_device::peers::SourceState;
use midplane_device::wire::{self, DoneMessage, ReplyFields, Rts};
use midplane_proofs::model::Model;
use midplane_proofs::state::State;
use msg_layer::header::Header;
use rustc_hash::FxBuildHasher;

use super::memo::SenderState;
use super::state::{GlobalState, GlobalStep};
use super::system::CaseSystem;

/// A step of the device that is none of the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BondFailure {
    /// The guard, the clause or the difference.
    pub reason: String,
    /// The steps to it.
    pub path: Vec<GlobalStep>,
}

impl fmt::Display for BondFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, after the steps {:?}", self.reason, self.path)
    }
}

/// Extent of a comparison.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct BondExtent {
    /// States of the system.
    pub states: u64,
    /// Steps of the system.
    pub steps: u64,
    /// Steps of the model.
    pub model_steps: u64,
}

/// Observable state of the receiver and one sender.
struct Observed {
    side: SenderState,
    source: SourceState,
    used_bytes: usize,
    rejected: Vec<bool>,
}

/// A packet, decoded.
enum Packet {
    Rts {
        message: i64,
        rts: Rts,
    },
    Done {
        more: bool,
    },
    Reply {
        handler: u8,
        message: i64,
        flags: u8,
        before: u8,
    },
    Restart,
    Other,
}

fn decode(priority: bool, packet: &[u8]) -> Packet {
    let Ok((header, payload)) = Header::parse(packet) else {
        return Packet::Other;
    };
    match (priority, header.handler) {
        (false, wire::RTS) => Rts::parse(payload).map_or(Packet::Other, |(rts, _)| Packet::Rts {
            message: rts.request.into(),
            rts,
        }),
        (false, wire::DONE) => {
            DoneMessage::parse(payload).map_or(Packet::Other, |done| Packet::Done { more: done.more })
        }
        (true, wire::RESTART) => Packet::Restart,
        (true, wire::CTS | wire::NCTSD | wire::NCTS) => {
            ReplyFields::parse(payload).map_or(Packet::Other, |fields| Packet::Reply {
                handler: header.handler,
                message: fields.request.into(),
                flags: fields.flags,
                before: fields.before,
            })
        }
        _ => Packet::Other,
    }
}

/// The model state of one sender.
#[derive(Clone)]
struct Shadow<'m> {
    model: &'m Model,
    state: State<'m>,
    steps: u64,
}

impl<'m> Shadow<'m> {
    fn new(model: &'m Model) -> Self {
        Shadow {
            model,
            state: State::first(model),
            steps: 0,
        }
    }

    fn constant(&self, name: &str) -> i64 {
        self.model.constant(name).expect("a constant of the model")
    }

    fn var(&self, name: &str) -> i64 {
        self.state.get(name, &[])
    }

    fn field(&self, name: &str, message: i64) -> i64 {
        self.state.get(name, &[message])
    }

    fn is(&self, name: &str, message: i64, constant: &str) -> bool {
        self.field(name, message) == self.constant(constant)
    }

    fn do_step(&mut self, name: &str, values: &[i64]) -> Result<(), String> {
        let step = self.model.step_named(name).expect("a step of the model");
        let params: Vec<_> = step.params.iter().cloned().zip(values.iter().copied()).collect();
        if let Some(guard) = self.state.refused(step, &params) {
            return Err(format!("the guard {name}.{guard} does not hold for {values:?}"));
        }
        self.state = self.state.after(step, &params);
        self.state.set_size("message", self.var("n") as usize);
        self.state
            .set_size("place", self.var("q_tail").max(self.var("a_tail")) as usize);
        self.state.set_size("flag", 2);
        self.steps += 1;
        match self.state.violated() {
            None => Ok(()),
            Some(clause) => Err(format!("the clause {clause} does not hold after {name} {values:?}")),
        }
    }

    /// Restarts have requested the rejected messages that are rejected no more.
    fn request(&mut self, after: &Observed) -> Result<(), String> {
        for message in 0..self.var("n") {
            if self.is("st", message, "rejected") && !after.rejected[message as usize] {
                self.do_step("request", &[message])?;
            }
        }
        Ok(())
    }

    fn inject(&mut self, packet: &Packet, after: &Observed) -> Result<(), String> {
        let waits = self.var("sender") == self.constant("waiting");
        match packet {
            Packet::Rts { message, rts } => {
                if self.is("st", *message, "rejected") {
                    self.do_step("request", &[*message])?;
                }
                self.request(after)?;
                let step = if waits { "execute" } else { "send" };
                let flag = |flag| i64::from(rts.has_flag(flag));
                self.do_step(step, &[*message, flag(Rts::MORE), flag(Rts::IN_ORDER)])
            }
            Packet::Done { more } if waits => {
                self.request(after)?;
                self.do_step("execute_done", &[i64::from(*more)])
            }
            Packet::Done { .. } => self.do_step("send_done", &[]),
            _ => Ok(()),
        }
    }

    fn take_rts(
        &mut self,
        packet: &Packet,
        before: &Observed,
        after: &Observed,
        reply: Option<Packet>,
    ) -> Result<(), String> {
        let Packet::Rts { message, rts } = packet else {
            return match packet {
                Packet::Done { .. } => self.do_step("take_done", &[]),
                _ => Ok(()),
            };
        };
        let follows = i64::from(rts.has_flag(Rts::FOLLOWS));
        let is_same_age = self.field("age", *message) == self.var("receiver_age");
        if is_same_age != (rts.age == 0) {
            return Err(format!("the age {} of message {message} differs", rts.age));
        }
        match reply {
            Some(Packet::Reply {
                handler: wire::NCTS,
                flags,
                ..
            }) => {
                let step = match (flags & ReplyFields::STALE != 0, is_same_age) {
                    (true, false) => "take_stale",
                    (true, true) => "take_early",
                    (false, _) => "take_reject",
                };
                self.do_step(step, &[*message])
            }
            Some(Packet::Other | Packet::Rts { .. } | Packet::Done { .. } | Packet::Restart) => {
                Err(format!("an RTS of message {message} has no such reply"))
            }
            reply => {
                let delayed = i64::from(reply.is_none());
                let is_held = matches!(
                    reply,
                    Some(Packet::Reply {
                        handler: wire::NCTSD,
                        ..
                    })
                );
                let is_recorded = after.used_bytes > before.used_bytes;
                let step = if is_recorded { "take_record" } else { "take_match" };
                self.do_step(step, &[*message, follows, delayed, is_held.into()])
            }
        }
    }

    fn take_reply(&mut self, packet: &Packet, after: &Observed) -> Result<(), String> {
        let Packet::Reply {
            handler,
            message,
            flags,
            before,
        } = *packet
        else {
            let is_idle = (0..self.var("n")).all(|message| self.is("st", message, "gone"));
            return match packet {
                Packet::Restart => self.do_step(if is_idle { "take_restart_idle" } else { "take_restart" }, &[]),
                _ => Ok(()),
            };
        };
        // The reply covers acknowledgements that were delayed: of the pending messages directly before this one.
        let is_delayed = |&earlier: &i64| self.is("place_of", earlier, "ack");
        let covered: Vec<i64> = (0..message).rev().filter(is_delayed).take(before.into()).collect();
        if covered.len() < usize::from(before) {
            return Err(format!("the reply to message {message} covers {before} others"));
        }
        for earlier in covered {
            self.do_step("reply_delayed", &[earlier])?;
        }
        let is_rejected = after.rejected[message as usize];
        match handler {
            wire::NCTS if flags & ReplyFields::STALE != 0 && is_rejected => {
                Err(format!("message {message} is stale, and is not repeated"))
            }
            wire::NCTS if flags & ReplyFields::STALE != 0 => self.do_step("reply_stale", &[message]),
            wire::NCTS => self.do_step("reply_rejected", &[message, (!is_rejected).into()]),
            _ if self.is("place_of", message, "ack") => self.do_step("reply_delayed", &[message]),
            wire::CTS if self.is("data", message, "requested") => self.do_step("take_cts", &[message]),
            _ => self.do_step("reply_accepted", &[message]),
        }
    }

    /// Makes the receiver's events, which no packet shows, and compares the flow-control states.
    fn reconcile(&mut self, actual: SourceState) -> Result<(), String> {
        let actual = match actual {
            SourceState::Clear => "clear",
            SourceState::RejectedEarlier => "rejected_earlier",
            SourceState::Rejected => "rejected_now",
            SourceState::RestartQueued => "restart_queued",
            SourceState::RestartSent => "restart_sent",
            SourceState::RestartSentStale => "restart_sent_stale",
            SourceState::Offering => "offering",
            SourceState::WildcardQueued => "wildcard_queued",
        };
        if self.var("source") == self.constant(actual) {
            return Ok(());
        }
        match actual {
            "restart_queued" => self.do_step("restart", &[])?,
            "restart_sent_stale" => self.do_step("post", &[])?,
            "wildcard_queued" => self.do_step("post_wildcard", &[])?,
            _ => {}
        }
        if self.var("source") == self.constant(actual) {
            return Ok(());
        }
        Err(format!(
            "the source is {actual}, and {} in the model",
            self.var("source")
        ))
    }
}

struct Comparison<'s, 'm> {
    system: &'s CaseSystem,
    model: &'m Model,
    extent: BondExtent,
}

impl<'m> Comparison<'_, 'm> {
    fn observe(&self, state: &GlobalState, sender: usize) -> Observed {
        let memo = &mut *self.system.memo();
        let case = self.system.case();
        let side = memo.for_side(state.sides[sender]).0.clone();
        let node = memo.node(case, side.node);
        let rejected = (0..case.senders[sender].len())
            .map(|message| node.is_rejected(message))
            .collect();
        let receiver = memo.node(case, state.receiver);
        Observed {
            side,
            rejected,
            source: receiver.source_state(sender as u8 + 1),
            used_bytes: receiver.used_bytes(),
        }
    }

    fn packet(&self, priority: bool, number: u16) -> Packet {
        decode(priority, &self.system.memo().packets[usize::from(number)])
    }

    /// Returns the packet of a reply that the step adds.
    fn added_reply(&self, before: &Observed, after: &Observed) -> Option<Packet> {
        let is_new = after.side.answers.len() > before.side.answers.len();
        let last = *after.side.answers.last().filter(|_| is_new)?;
        Some(self.packet(true, last))
    }

    /// Makes the model's steps for a step of the system.
    fn follow(
        &mut self,
        shadows: &mut [Shadow<'m>],
        state: &GlobalState,
        step: GlobalStep,
        next: &GlobalState,
    ) -> Result<(), String> {
        for (sender, shadow) in shadows.iter_mut().enumerate() {
            let rank = sender as u8 + 1;
            let is_involved = match step {
                GlobalStep::Call(of) | GlobalStep::Inject { rank: of, .. } => of == 0 || of == rank,
                GlobalStep::Receive { source, dest, .. } => source == rank || dest == rank || dest == 0,
                GlobalStep::Cancel | GlobalStep::ReceiveOwn { .. } => true,
            };
            if !is_involved {
                continue;
            }
            let (before, after) = (self.observe(state, sender), self.observe(next, sender));
            let made = shadow.steps;
            match step {
                GlobalStep::Call(of) if of == rank => shadow.do_step("issue", &[])?,
                GlobalStep::Inject { rank: of, .. } if of == rank => {
                    let last = after
                        .side
                        .requests
                        .last()
                        .filter(|_| after.side.requests.len() > before.side.requests.len());
                    if let Some(&last) = last {
                        shadow.inject(&self.packet(false, last), &after)?;
                    }
                }
                GlobalStep::Inject { rank: 0, .. } => match self.added_reply(&before, &after) {
                    Some(Packet::Restart) => shadow.do_step("send_restart", &[])?,
                    Some(Packet::Reply { message, .. }) if shadow.is("data", message, "held") => {
                        shadow.do_step("send_cts", &[message])?;
                    }
                    _ => {}
                },
                GlobalStep::Receive {
                    priority: false,
                    source,
                    place,
                    ..
                } if source == rank => {
                    let packet = self.packet(false, before.side.requests[usize::from(place)]);
                    let reply = self.added_reply(&before, &after);
                    shadow.take_rts(&packet, &before, &after, reply)?;
                }
                GlobalStep::Receive {
                    priority: true,
                    dest,
                    place,
                    ..
                } if dest == rank => {
                    let packet = self.packet(true, before.side.answers[usize::from(place)]);
                    shadow.take_reply(&packet, &after)?;
                }
                _ => {}
            }
            shadow.reconcile(after.source)?;
            self.extent.model_steps += shadow.steps - made;
        }
        Ok(())
    }

    fn first(&self) -> Vec<Shadow<'m>> {
        let case = self.system.case();
        let shadow = |tags: &Vec<_>| {
            let mut shadow = Shadow::new(self.model);
            if case.sent_early {
                (0..tags.len()).for_each(|_| shadow.do_step("issue", &[]).expect("an event is possible"));
            }
            shadow
        };
        case.senders.iter().map(shadow).collect()
    }
}

/// Follows one path of a system; returns the failure of its first step that is none of the model.
pub fn compare_path(system: &CaseSystem, model: &Model, path: &[GlobalStep]) -> Result<BondExtent, BondFailure> {
    let mut comparison = Comparison {
        system,
        model,
        extent: BondExtent::default(),
    };
    let (mut state, mut shadows) = (system.first(), comparison.first());
    for (at, &step) in path.iter().enumerate() {
        let Some(next) = system.next(&state, step) else {
            break;
        };
        comparison.extent.states += 1;
        comparison.extent.steps += 1;
        let path = || path[..=at].to_vec();
        let followed = comparison.follow(&mut shadows, &state, step, &next);
        followed.map_err(|reason| BondFailure { reason, path: path() })?;
        state = next;
    }
    Ok(comparison.extent)
}

/// Compares all steps of a system with the model, up to `limit` states. Cases with cancelled sends are not modelled.
pub fn compare(system: &CaseSystem, model: &Model, limit: u64) -> Result<BondExtent, BondFailure> {
    let mut comparison = Comparison {
        system,
        model,
        extent: BondExtent::default(),
    };
    let first = system.first();
    let mut seen: HashSet<GlobalState, FxBuildHasher> = HashSet::from_iter([first]);
    // Paths are kept as lists of parents, for the report only.
    let mut visits: Vec<(usize, Option<GlobalStep>)> = vec![(0, None)];
    let mut stack = vec![(first, comparison.first(), 0)];
    let (mut steps, mut nexts) = (Vec::new(), Vec::new());
    while let Some((state, shadows, visit)) = stack.pop() {
        comparison.extent.states += 1;
        if comparison.extent.states >= limit {
            break;
        }
        nexts.clear();
        system.successors(&state, &mut steps, &mut nexts);
        for (step, next) in nexts.drain(..) {
            comparison.extent.steps += 1;
            let mut shadows = shadows.clone();
            if let Err(reason) = comparison.follow(&mut shadows, &state, step, &next) {
                let mut path = vec![step];
                let mut at = visit;
                while let (parent, Some(step)) = visits[at] {
                    path.push(step);
                    at = parent;
                }
                path.reverse();
                return Err(BondFailure { reason, path });
            }
            if seen.insert(next) {
                visits.push((visit, Some(step)));
                stack.push((next, shadows, visits.len() - 1));
            }
        }
    }
    Ok(comparison.extent)
}
