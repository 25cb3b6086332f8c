//! Restarts by tag among other messages: the pending send queue's use of the pool's hash table.

use crate::envelope::{Context, MatchPattern, Rank, Tag};
use crate::ids::{RequestId, Slot};
use crate::memory::Span;
use crate::protocol::AllRules;
use crate::request::{KEYED, PostedReceive, ReceiveRequest, ReceiveState, Request, RequestPool, SendMode, SendState};
use crate::send::SendTo;
use crate::send::pending::{NextPacket, PendingQueues, RtsOutcome};
use crate::wire::{RESTART_ENTRIES, RestartEntry, RestartRequest};

/// A pool and the queues over it.
struct QueueFixture {
    requests: RequestPool,
    pending: PendingQueues,
}

impl QueueFixture {
    fn new() -> QueueFixture {
        QueueFixture {
            requests: RequestPool::new(usize::MAX),
            pending: PendingQueues::default(),
        }
    }

    /// Enqueues a message to `dest`, and sends its RTS.
    fn send(&mut self, dest: u32, tag: Tag, context: Context) -> RequestId {
        let dest = Rank::new(dest);
        let to = SendTo {
            dest,
            tag,
            context,
            mode: SendMode::Synchronous,
        };
        let send = to.send(Span::EMPTY, 0, SendState::Bcopy);
        let QueueFixture { requests, pending } = self;
        pending.push(requests, dest, send, 0, AllRules).expect("there is room")
    }

    /// Inserts a receive as the matching engine would in the same table.
    fn post(&mut self, source: u32, tag: Tag) {
        let pattern = MatchPattern::new(Some(Rank::new(source)), Some(tag), 0);
        let state = ReceiveState::Posted(PostedReceive {
            pattern,
            serial: 0,
            needs_listing: false,
        });
        self.requests.grow(1).expect("there is room");
        let span = Span::EMPTY;
        let receive = Request::Receive(ReceiveRequest { span, state });
        let id = self.requests.insert(receive).expect("there is room");
        let hash = self.requests.hash_of(&pattern);
        self.requests.insert_entry(id.slot(), hash);
    }

    /// Returns the slots of all RTSs until none is pending.
    fn offers(&mut self) -> Vec<Slot> {
        core::iter::from_fn(|| self.pending.next(&mut self.requests, AllRules))
            .filter_map(|(_, next)| match next {
                NextPacket::Rts(slot, _) => Some(slot),
                NextPacket::Done { .. } => None,
            })
            .collect()
    }

    fn answer(&mut self, slot: Slot, answered: RtsOutcome) {
        let QueueFixture { requests, pending } = self;
        let dest = requests.send(slot).dest;
        pending.handle_reply(requests, dest, slot, answered, false, AllRules);
        if answered == RtsOutcome::Accepted {
            requests.finish_send(slot, false);
            let id = requests.id(slot);
            assert!(requests.take_completed(id).is_some());
        }
    }

    /// Sends all RTSs, and replies to them with `answered`.
    fn answer_all(&mut self, answered: RtsOutcome) {
        loop {
            let offers = self.offers();
            if offers.is_empty() {
                return;
            }
            for slot in offers {
                self.answer(slot, answered);
            }
        }
    }

    /// Handles a restart of `dest` for receives of these tags and contexts.
    fn restart(&mut self, dest: u32, tags: &[(Tag, Context)]) {
        let entries = tags
            .iter()
            .map(|&(tag, context)| RestartEntry::new(context, Some(tag), true));
        let restart = RestartRequest {
            age: 1,
            room: 0,
            horizon: 1,
            entries: entries.collect(),
        };
        let QueueFixture { requests, pending } = self;
        assert!(pending.restart(requests, Rank::new(dest), &restart, AllRules));
    }
}

/// Creates three destinations with the same tags and contexts, and posted receives from them under the same values.
fn mixed() -> (QueueFixture, Vec<Vec<Slot>>) {
    let mut queues = QueueFixture::new();
    let mut slots = vec![Vec::new(); 4];
    for round in 0..40 {
        for dest in 1..=3 {
            let (tag, context) = (round % 4, (round / 4 % 2) as Context);
            slots[dest as usize].push(queues.send(dest, tag, context).slot());
            queues.post(dest, tag);
        }
    }
    queues.answer_all(RtsOutcome::Rejected);
    (queues, slots)
}

/// Returns those of 40 messages with this tag and context, in order.
fn of(slots: &[Slot], tag: usize, context: usize) -> impl Iterator<Item = Slot> {
    let is = move |at: usize| at % 4 == tag && at / 4 % 2 == context;
    let slots: Vec<Slot> = slots.to_vec();
    (0..40).filter(move |&at| is(at)).map(move |at| slots[at])
}

#[test]
fn a_restart_takes_the_first_of_its_own_destination_tag_and_context() {
    let (mut queues, slots) = mixed();
    for dest in [2, 1, 3] {
        queues.restart(dest, &[(3, 1), (3, 0), (3, 1), (3, 1)]);
        let of_dest = &slots[dest as usize];
        let mut due: Vec<Slot> = of(of_dest, 3, 1).take(3).collect();
        due.extend(of(of_dest, 3, 0).next());
        due.sort_unstable_by_key(|slot| of_dest.iter().position(|at| at == slot));
        assert_eq!(queues.offers(), due);
    }
}

#[test]
fn what_is_taken_from_the_middle_leaves_the_others_in_order() {
    let (mut queues, slots) = mixed();
    let due: Vec<Slot> = of(&slots[1], 2, 0).collect();
    queues.restart(1, &[(2, 0), (2, 0), (2, 0)]);
    let offers = queues.offers();
    assert_eq!(offers, due[..3]);
    queues.answer(due[1], RtsOutcome::Accepted);
    queues.answer(due[0], RtsOutcome::Rejected);
    queues.answer(due[2], RtsOutcome::Rejected);
    // A later message of the same key is behind all of them.
    let last = queues.send(1, 2, 0).slot();
    assert_eq!(queues.offers(), [last]);
    queues.answer(last, RtsOutcome::Rejected);
    let rest = [&due[..1], &due[2..], &[last]].concat();
    queues.restart(1, &vec![(2, 0); rest.len()]);
    assert_eq!(queues.offers(), rest);
}

/// A message requested while its RTS was in flight is accepted: the request passes to the next of its key.
#[test]
fn what_was_asked_for_passes_to_the_next_of_the_same_key() {
    let (mut queues, slots) = mixed();
    queues.restart(1, &[(2, 0)]);
    let due: Vec<Slot> = of(&slots[1], 2, 0).collect();
    assert_eq!(queues.offers(), due[..1]);
    queues.restart(1, &[(2, 0), (2, 0)]);
    assert_eq!(queues.offers(), [], "the answer comes first");
    queues.answer(due[0], RtsOutcome::Accepted);
    assert_eq!(queues.offers(), due[1..3]);
}

/// When all have been accepted, the table contains none of them.
#[test]
fn the_table_forgets_what_has_been_taken() {
    let (mut queues, slots) = mixed();
    for dest in 1..=3 {
        let all: Vec<_> = (0..40).map(|at| (at % 4, (at / 4 % 2) as Context)).collect();
        for part in all.chunks(RESTART_ENTRIES) {
            queues.restart(dest, part);
            queues.answer_all(RtsOutcome::Accepted);
        }
    }
    assert_eq!(queues.pending.destinations(), 0);
    assert_eq!(queues.requests.live(), 120, "receives");
    for (dest, _) in (0..).zip(&slots).skip(1) {
        for tag in 0..4 {
            for context in 0..2 {
                let hash = queues.requests.hashes().hash_send(Rank::new(dest), context, tag);
                let mut next = queues.requests.first_of(hash);
                while let Some(slot) = next {
                    assert!(queues.requests.as_posted(slot).is_some());
                    next = queues.requests.next_in::<KEYED>(slot);
                }
            }
        }
    }
}
