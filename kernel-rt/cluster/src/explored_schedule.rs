//! Schedule of an exploration: virtual time, in which the messages of the program arrive as its decisions specify.
//!
//! Each node withholds arrived messages ([gate](super::packet_gate)) until nothing moves any more: each program waits in a call, or
//! has ended. Then the scheduler releases messages, in these steps (after the POE algorithm of Vakkalanka et al. 2008):
//!
//! 1. Messages that only one receive can match, and that a program waits for. They commute with everything else, so
//!    they are no decision.
//! 2. Messages without a receive whose sender waits for the receiver's memory. They become unexpected messages.
//! 3. Calls of programs with unexpected messages, and the first unsuccessful polls, continue.
//! 4. A decision: the oldest posted wildcard receive of a rank, with all sources that have sent to it; or the messages
//!    that a probe, a poll or MPI_Waitany sees. The alternative [`Later`](MatchAlternative::Later) leaves the receive to
//!    the messages that the decisions of other ranks lead to, and exists only if others have any.
//! 5. All other messages, one at a time, and then further unsuccessful polls.
//!
//! All messages that can be sent before a decision have then been sent, so the alternatives are complete. Decisions of
//! different ranks commute, and each order of them is the same schedule: after `Later` the receive never matches the
//! messages that it was offered. If it finds no others, the run is redundant.
#![forbid(unsafe_code)]

use corosensei::Yielder;
use midplane_device::Adi;
use midplane_device::envelope::{Envelope, MatchPattern};
use midplane_device::queues::QueueKind;
use midplane_device::request::PostedReceive;

use super::coroutines;
use super::explored_state::{CallPause, ChoiceId, Deferral, ExploredState, SettledChoice};
use super::outcome::JobFailure;
use super::packet_gate::SourceQueue;
use super::processor::CountingMemory;
use super::schedule::{ProcessPhase, SharedState};
use super::wires::WakeMode;
use crate::costs::OperationCosts;
use crate::match_orders::{self, DecisionKind, MatchAlternative};

/// Maximum number of consecutive polls of a rank that do not see a message that could have arrived. Without a maximum
/// the tree of a loop of polls is infinite.
pub const MAX_MISSED_POLLS: u32 = 1;
/// Unsuccessful polls of a rank before the decisions of other ranks: a program may send to them between its polls.
const EARLY_POLLS: u32 = 2;
/// Consecutive unsuccessful polls of a rank after which a job makes no more progress.
const MAX_IDLE_POLLS: u32 = 1_000_000;

/// Calls that check once and do not block.
const POLLS: [&str; 7] = [
    "MPI_Test",
    "MPI_Testany",
    "MPI_Testsome",
    "MPI_Testall",
    "MPI_Iprobe",
    "MPI_Improbe",
    "MPI_Request_get_status",
];
/// Calls that wait for the first of several completions.
const COMPLETIONS: [&str; 2] = ["MPI_Waitany", "MPI_Waitsome"];
/// Calls that find a message without receiving it.
const PROBES: [&str; 4] = ["MPI_Probe", "MPI_Mprobe", "MPI_Iprobe", "MPI_Improbe"];
/// Calls that never wait for a send of their own process.
const RECEIVES: [&str; 4] = ["MPI_Recv", "MPI_Mrecv", "MPI_Barrier", "MPI_Finalize"];

/// A possible decision.
struct MatchChoice {
    id: ChoiceId,
    /// Pattern of the receive or the probe; `None`: that of several.
    pattern: Option<MatchPattern>,
    offers: Vec<MessageOffer>,
}

/// A message that a choice can select.
#[derive(Clone, Copy)]
struct MessageOffer {
    source: usize,
    /// Withheld messages of the source up to and including this one.
    count: usize,
}

/// Effect of a message on a node that it reaches now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MatchResult {
    /// It matches the posted receive with this sequence number, which specifies its source.
    Exact(u64),
    /// It matches the posted wildcard receive with this sequence number.
    Wildcard(u64),
    /// It becomes an unexpected message.
    Unexpected,
}

/// Returns the effect of a message with this envelope on a node with these posted receives, in the order of posting.
fn match_result(posted: &[PostedReceive], envelope: &Envelope) -> MatchResult {
    match posted.iter().find(|receive| receive.pattern.matches(envelope)) {
        None => MatchResult::Unexpected,
        Some(receive) if receive.pattern.source().is_some() => MatchResult::Exact(receive.serial),
        Some(receive) => MatchResult::Wildcard(receive.serial),
    }
}

/// Returns the first message of a queue that `wants` its effect, if those before it match no wildcard receive.
fn find_message(
    posted: &[PostedReceive],
    queue: &SourceQueue,
    wants: impl Fn(MatchResult, &Envelope) -> bool,
) -> Option<MessageOffer> {
    let mut posted = posted.to_vec();
    for (envelope, count) in queue.envelopes.iter().zip(1..) {
        let result = match_result(&posted, envelope);
        if wants(result, envelope) {
            let source = queue.source;
            return Some(MessageOffer { source, count });
        }
        match result {
            MatchResult::Wildcard(_) => return None,
            MatchResult::Exact(serial) => posted.retain(|receive| receive.serial != serial),
            MatchResult::Unexpected => {}
        }
    }
    None
}

impl SharedState<'_> {
    /// Releases messages or programs, after nothing has moved any more. Returns false if there are none: the job is
    /// over, or hangs.
    pub(super) fn release_next(&self) -> bool {
        let (Some(explored), WakeMode::Timed(..)) = (&self.explored, &self.wires.looks) else {
            return false;
        };
        if self.is_over() {
            return false;
        }
        self.note_later(explored);
        if self.has_ended() {
            return self.check_schedule();
        }
        let has_released = self.release_awaited(explored)
            || self.release_buffered(explored)
            || self.continue_entries(explored)
            || self.continue_polls(explored, EARLY_POLLS)
            || self.decide(explored)
            || self.release_any(explored)
            || self.continue_polls(explored, MAX_IDLE_POLLS);
        if match_orders::is_foreign() {
            self.fail(0, JobFailure::ForeignSchedule);
            return false;
        }
        if has_released {
            return true;
        }
        if !explored.deferrals.borrow().is_empty() {
            self.fail(0, JobFailure::Redundant);
        }
        self.check_schedule()
    }

    /// Fails at the end of a job that has not made all planned decisions. Returns false.
    fn check_schedule(&self) -> bool {
        if match_orders::has_planned() {
            self.fail(0, JobFailure::ForeignSchedule);
        }
        false
    }

    /// Iterates over the ranks whose programs have not ended.
    fn live_ranks(&self) -> impl Iterator<Item = usize> {
        (0..self.size()).filter(|rank| self.phases[*rank].get() != ProcessPhase::Finished)
    }

    /// Returns the function and the peer of the program's blocking call.
    fn blocking_call(&self, explored: &ExploredState, rank: usize) -> Option<BlockingCall> {
        let call = self.call(rank)?;
        let is_blocked = explored.ranks[rank].pause.get() == CallPause::None;
        is_blocked.then_some(BlockingCall {
            function: call.function,
            peer: call.peer,
        })
    }

    /// Returns the posted receives of a node, in the order of posting.
    fn posted(&self, rank: usize) -> Vec<PostedReceive> {
        let mut posted = Vec::new();
        // The program may hold its node in a call.
        coroutines::look_at_rest(&self.body(rank).adi, |adi| {
            posted.extend(adi.requests().posted_receives());
        });
        posted.sort_by_key(|receive| receive.serial);
        posted
    }

    /// Releases a message, and those before it, at the node of `rank`.
    fn release(&self, explored: &ExploredState, rank: usize, offer: MessageOffer) {
        explored.ranks[rank]
            .gate
            .borrow_mut()
            .release(offer.source, offer.count);
        explored.ranks.iter().for_each(|rank| rank.idle.set(0));
        self.wake(rank);
    }

    /// Makes the program of `rank` continue.
    fn resume_pause(&self, explored: &ExploredState, rank: usize) {
        explored.ranks[rank].pause.set(CallPause::Over);
        self.wake(rank);
    }

    fn wake(&self, rank: usize) {
        if let WakeMode::Timed(events, _) = &self.wires.looks {
            // A node is checked once at each time.
            events.borrow_mut().plan(self.wires.now.get() + 1, rank);
        }
    }

    /// Step 1: releases messages that a program waits for and that only one receive can match.
    fn release_awaited(&self, explored: &ExploredState) -> bool {
        let mut has_released = false;
        for rank in self.live_ranks() {
            let Some(call) = self.blocking_call(explored, rank) else {
                continue;
            };
            let Some(peer) = call.peer.and_then(|peer| usize::try_from(peer).ok()) else {
                continue;
            };
            let Some(queue) = explored.queues(rank).into_iter().find(|queue| queue.source == peer) else {
                continue;
            };
            let awaited = find_message(&self.posted(rank), &queue, |result, envelope| match result {
                MatchResult::Exact(_) => true,
                MatchResult::Wildcard(_) => false,
                MatchResult::Unexpected => self.finds(rank, call.function, envelope),
            });
            if let Some(offer) = awaited {
                self.release(explored, rank, offer);
                has_released = true;
            }
        }
        has_released
    }

    /// Returns whether the blocking probe of `rank`, if its call is one, finds this message.
    fn finds(&self, rank: usize, function: &str, envelope: &Envelope) -> bool {
        PROBES.contains(&function) && match_orders::last_probe(rank).is_some_and(|pattern| pattern.matches(envelope))
    }

    /// Step 2: releases messages whose senders wait for their reception, and those ahead of a collective operation.
    fn release_buffered(&self, explored: &ExploredState) -> bool {
        let mut has_released = false;
        for rank in 0..self.size() {
            let posted = self.posted(rank);
            // A message that a choice can select is left to it.
            let choices = self.choices(explored, rank);
            let offered: Vec<usize> = choices.iter().flat_map(MatchChoice::sources).collect();
            for queue in explored.free_queues(rank) {
                if offered.contains(&queue.source) {
                    continue;
                }
                let is_awaited = self.awaits_reception(explored, queue.source, rank);
                let is_released = match match_result(&posted, &queue.envelopes[0]) {
                    MatchResult::Wildcard(_) => false,
                    MatchResult::Exact(_) => is_awaited || queue.hides_collective,
                    MatchResult::Unexpected => is_awaited && !queue.is_synchronous || queue.hides_collective,
                };
                if is_released {
                    self.release(explored, rank, queue.oldest());
                    has_released = true;
                }
            }
        }
        has_released
    }

    /// Returns whether the program of `source` may wait for the reception of a message by `rank`.
    fn awaits_reception(&self, explored: &ExploredState, source: usize, rank: usize) -> bool {
        self.blocking_call(explored, source).is_some_and(|call| {
            let is_receive = RECEIVES.contains(&call.function) || PROBES.contains(&call.function);
            !is_receive && call.peer.is_none_or(|peer| usize::try_from(peer) == Ok(rank))
        })
    }

    /// Step 3: lets calls of programs with unexpected messages continue. All messages that have arrived are unexpected
    /// then, so that a wildcard selects among all of them.
    fn continue_entries(&self, explored: &ExploredState) -> bool {
        let is_at_entry = |rank: &usize| explored.ranks[*rank].pause.get() == CallPause::Entry;
        let mut has_continued = false;
        for rank in self.live_ranks().filter(is_at_entry) {
            let posted = self.posted(rank);
            for queue in explored.queues(rank) {
                let is_unexpected = |envelope: &&Envelope| match_result(&posted, envelope) == MatchResult::Unexpected;
                let (source, count) = (queue.source, queue.envelopes.iter().take_while(is_unexpected).count());
                if count > 0 {
                    self.release(explored, rank, MessageOffer { source, count });
                }
            }
            self.resume_pause(explored, rank);
            has_continued = true;
        }
        has_continued
    }

    /// Lets polls that cannot see a message continue, up to this many of a rank.
    fn continue_polls(&self, explored: &ExploredState, limit: u32) -> bool {
        let mut has_continued = false;
        for rank in self.live_ranks() {
            let state = &explored.ranks[rank];
            let is_idle = state.pause.get() == CallPause::Poll && state.idle.get() < limit;
            if is_idle && self.visible(explored, rank).is_empty() {
                state.idle.set(state.idle.get() + 1);
                self.resume_pause(explored, rank);
                has_continued = true;
            }
        }
        has_continued
    }

    /// Returns the messages that the polling call of `rank` can see.
    fn visible(&self, explored: &ExploredState, rank: usize) -> Vec<MessageOffer> {
        let posted = self.posted(rank);
        let is_probe = self.call(rank).is_some_and(|call| PROBES.contains(&call.function));
        let is_visible = |result, _: &Envelope| is_probe || result != MatchResult::Unexpected;
        let queues = explored.queues(rank).into_iter();
        queues
            .filter_map(|queue| find_message(&posted, &queue, is_visible))
            .collect()
    }

    /// Step 4: makes a decision. Returns false if there is none.
    fn decide(&self, explored: &ExploredState) -> bool {
        let choices: Vec<MatchChoice> = { self.live_ranks() }
            .flat_map(|rank| self.choices(explored, rank))
            .filter_map(|choice| self.without_deferred(explored, choice))
            .collect();
        let Some((first, others)) = choices.split_first() else {
            return false;
        };
        let ChoiceId { rank, kind, .. } = first.id;
        let state = &explored.ranks[rank];
        let may_defer = match kind {
            DecisionKind::Poll => state.missed.get() < MAX_MISSED_POLLS,
            _ => !others.is_empty(),
        };
        let sources = first.sources().map(|source| MatchAlternative::Source(source as u32));
        let mut alternatives: Vec<MatchAlternative> = sources.collect();
        alternatives.extend(may_defer.then_some(MatchAlternative::Later));
        let selected = match alternatives[..] {
            [only] => only,
            _ => match_orders::decide(rank, kind, alternatives),
        };
        match selected {
            MatchAlternative::Source(source) => {
                if may_defer && kind != DecisionKind::Poll {
                    self.record_settled(explored, first);
                }
                let offer = first.offers.iter().find(|offer| offer.source == source as usize);
                state.missed.set(0);
                { explored.deferrals.borrow_mut() }.retain(|deferral| !is_settled(&deferral.choice, &first.id));
                self.release(explored, rank, *offer.expect("one of the alternatives"));
                if kind == DecisionKind::Poll {
                    self.resume_pause(explored, rank);
                }
            }
            MatchAlternative::Later if kind == DecisionKind::Poll => {
                state.missed.set(state.missed.get() + 1);
                self.resume_pause(explored, rank);
            }
            MatchAlternative::Later => self.defer(explored, first),
        }
        true
    }

    /// Leaves a choice to messages that it was not offered.
    fn defer(&self, explored: &ExploredState, choice: &MatchChoice) {
        let deferrals = &mut *explored.deferrals.borrow_mut();
        match deferrals.iter_mut().find(|deferral| deferral.choice == choice.id) {
            Some(deferral) => deferral.sources.extend(choice.sources()),
            None => deferrals.push(Deferral {
                choice: choice.id,
                sources: choice.sources().collect(),
            }),
        }
    }

    /// Records a decision that has not left the choice to others, to find out whether others exist.
    fn record_settled(&self, explored: &ExploredState, choice: &MatchChoice) {
        let index = match_orders::last_index();
        match choice.pattern {
            None => match_orders::note_later(index),
            Some(pattern) => explored.settled.borrow_mut().push(SettledChoice {
                index,
                rank: choice.id.rank,
                pattern,
                offered: choice.sources().collect(),
            }),
        }
    }

    /// Records the decisions whose receives could also match a message that has arrived after them. Other decisions
    /// have no further alternative: a schedule in which a receive waits for such a message would send it in another
    /// order, too.
    fn note_later(&self, explored: &ExploredState) {
        explored.settled.borrow_mut().retain(|settled| {
            let arrived = { explored.queues(settled.rank).into_iter() }
                .filter(|queue| !settled.offered.contains(&queue.source))
                .any(|queue| { queue.envelopes.iter() }.any(|envelope| settled.pattern.matches(envelope)));
            if arrived {
                match_orders::note_later(settled.index);
            }
            !arrived
        });
    }

    /// Removes the sources that the choice has left to others. Returns `None` if none remain.
    fn without_deferred(&self, explored: &ExploredState, mut choice: MatchChoice) -> Option<MatchChoice> {
        let deferrals = explored.deferrals.borrow();
        if let Some(deferral) = deferrals.iter().find(|deferral| deferral.choice == choice.id) {
            choice.offers.retain(|offer| !deferral.sources.contains(&offer.source));
        }
        (!choice.offers.is_empty()).then_some(choice)
    }

    /// Returns the choices of a rank, those of older receives first.
    fn choices(&self, explored: &ExploredState, rank: usize) -> Vec<MatchChoice> {
        let of_call = |kind, pattern, offers: Vec<MessageOffer>| MatchChoice {
            id: ChoiceId { rank, kind, serial: 0 },
            pattern,
            offers,
        };
        if explored.ranks[rank].pause.get() == CallPause::Poll {
            return vec![of_call(DecisionKind::Poll, None, self.visible(explored, rank))];
        }
        let Some(call) = self.blocking_call(explored, rank) else {
            return Vec::new();
        };
        let (posted, queues) = (self.posted(rank), explored.queues(rank));
        let offers = |wants: &dyn Fn(MatchResult, &Envelope) -> bool| -> Vec<MessageOffer> {
            let offers = queues.iter().filter_map(|queue| find_message(&posted, queue, wants));
            offers.collect()
        };
        if COMPLETIONS.contains(&call.function) {
            let completing = offers(&|result, _| result != MatchResult::Unexpected);
            return vec![of_call(DecisionKind::Completion, None, completing)];
        }
        let wildcards = posted.iter().filter(|receive| receive.pattern.source().is_none());
        let of_receive = |receive: &PostedReceive| MatchChoice {
            id: ChoiceId {
                rank,
                kind: DecisionKind::Receive,
                serial: receive.serial,
            },
            pattern: Some(receive.pattern),
            offers: offers(&|result, _| result == MatchResult::Wildcard(receive.serial)),
        };
        let mut choices: Vec<MatchChoice> = wildcards.map(of_receive).collect();
        let found =
            offers(&|result, envelope| result == MatchResult::Unexpected && self.finds(rank, call.function, envelope));
        choices.push(of_call(DecisionKind::Probe, match_orders::last_probe(rank), found));
        choices
    }

    /// Step 5: releases any message that is part of no choice.
    fn release_any(&self, explored: &ExploredState) -> bool {
        for rank in 0..self.size() {
            let posted = self.posted(rank);
            let is_free =
                |queue: &SourceQueue| !matches!(match_result(&posted, &queue.envelopes[0]), MatchResult::Wildcard(_));
            if let Some(queue) = explored.free_queues(rank).into_iter().find(is_free) {
                self.release(explored, rank, queue.oldest());
                return true;
            }
        }
        false
    }

    /// Pauses the program of `rank` before a call if it has unexpected messages, until nothing else moves.
    pub(super) fn pause_entry(&self, rank: usize, yielder: &Yielder<(), ()>) {
        let (Some(explored), WakeMode::Timed(_, costs)) = (&self.explored, &self.wires.looks) else {
            return;
        };
        let mut has_unexpected = false;
        self.body(rank).adi.borrow_mut().visit_queues(&mut |entry| {
            has_unexpected |= entry.kind == QueueKind::UnexpectedMessage && entry.context.is_multiple_of(2);
        });
        if !has_unexpected {
            return;
        }
        let pause = &explored.ranks[rank].pause;
        pause.set(CallPause::Entry);
        loop {
            self.sleep(rank, yielder);
            self.serve(rank, costs, yielder);
            if pause.get() == CallPause::Over {
                break;
            }
        }
        pause.set(CallPause::None);
    }

    /// Makes steps of the node of a program that polls: pauses until the poll's result is decided. Returns whether
    /// anything moved.
    pub(super) fn poll_explored(
        &self,
        explored: &ExploredState,
        rank: usize,
        adi: &mut Adi,
        memory: &mut CountingMemory,
        costs: &OperationCosts,
        yielder: &Yielder<(), ()>,
    ) -> bool {
        let pause = &explored.ranks[rank].pause;
        let mut has_moved = false;
        let mut step_all = |shared: &Self| {
            loop {
                shared.catch_up(rank, ProcessPhase::Computing, yielder);
                if !shared.timed_step(rank, adi, memory, costs) {
                    break;
                }
                has_moved = true;
            }
        };
        step_all(self);
        pause.set(CallPause::Poll);
        loop {
            self.sleep(rank, yielder);
            step_all(self);
            if pause.get() == CallPause::Over {
                break;
            }
        }
        pause.set(CallPause::None);
        has_moved
    }

    /// Returns whether the call of `rank` checks once and does not block.
    pub(super) fn is_poll(&self, rank: usize) -> bool {
        self.call(rank).is_some_and(|call| POLLS.contains(&call.function))
    }
}

impl MatchChoice {
    fn sources(&self) -> impl Iterator<Item = usize> {
        self.offers.iter().map(|offer| offer.source)
    }
}

impl SourceQueue {
    fn oldest(&self) -> MessageOffer {
        let source = self.source;
        MessageOffer { source, count: 1 }
    }
}

/// The function and the peer of a blocking call.
struct BlockingCall {
    function: &'static str,
    peer: Option<i32>,
}

/// Returns whether a decision about `decided` ends this deferral: that of the same receive, or of a call of the same
/// rank.
fn is_settled(deferred: &ChoiceId, decided: &ChoiceId) -> bool {
    let is_call = deferred.kind != DecisionKind::Receive;
    deferred == decided || is_call && deferred.rank == decided.rank
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_device::envelope::Rank;

    fn posted(source: Option<u32>, tag: Option<i32>, serial: u64) -> PostedReceive {
        PostedReceive {
            pattern: MatchPattern::new(source.map(Rank::new), tag, 0),
            serial,
            needs_listing: false,
        }
    }

    #[test]
    fn the_oldest_receive_determines_the_effect_of_a_message() {
        let receives = [
            posted(None, Some(7), 1),
            posted(Some(2), None, 2),
            posted(None, None, 3),
        ];
        let envelope = |source, tag| Envelope {
            source: Rank::new(source),
            tag,
            context: 0,
        };
        let result = |source, tag| match_result(&receives, &envelope(source, tag));
        assert_eq!(result(2, 7), MatchResult::Wildcard(1));
        assert_eq!(result(2, 8), MatchResult::Exact(2));
        assert_eq!(result(1, 8), MatchResult::Wildcard(3));
        assert_eq!(match_result(&[], &envelope(1, 7)), MatchResult::Unexpected);
        // The messages before the awaited one match an exact receive, or none.
        let queue = |tags: &[i32]| SourceQueue {
            source: 2,
            envelopes: tags.iter().map(|tag| envelope(2, *tag)).collect(),
            is_synchronous: false,
            hides_collective: false,
        };
        let is_third = |result, _: &Envelope| result == MatchResult::Wildcard(3);
        let count = |tags: &[i32]| find_message(&receives, &queue(tags), is_third).map(|offer| offer.count);
        assert_eq!(count(&[8, 9]), Some(2));
        assert_eq!(count(&[8]), None);
        assert_eq!(
            count(&[7, 8, 9]),
            None,
            "the first one matches another wildcard receive"
        );
    }
}
