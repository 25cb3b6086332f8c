//! Restarts of refused sources: what they name, and who is next.
#![forbid(unsafe_code)]

use crate::device::adi::Adi;
use crate::device::envelope::Rank;
use crate::device::few::sort_few;
use crate::device::matching::Matching;
use crate::device::memory::UserMemory;
use crate::device::names::{Horizon, Serial, Slot};
use crate::device::peers::Standing;
use crate::device::protocol::{Age, Rules};
use crate::device::request::{Posted, TO_NAME};
use crate::device::wire::{Done, Entry, RESTART_ENTRIES, ROOM_FOR_ALL, Restart};
use msg_layer::Malformed;

/// Most messages that one restart has room for, so that sources share what is free.
const RESTART_ROOM: u16 = 8;
/// What a restart names, and where it stands in the order of receives.
type Named = heapless::Vec<(Serial, Entry), RESTART_ENTRIES>;

impl<R: Rules, E: Matching> Adi<R, E> {
    /// The restart for `source` under its new age: the receives posted since its last one, and what the
    /// memory has room for. When there are more than a restart can name, it asks for everything.
    pub(in crate::device) fn make_restart<M: UserMemory + ?Sized>(
        &mut self,
        memory: &M,
        source: Rank,
        age: Age,
    ) -> Restart {
        let room = u16::try_from(self.region.free_blocks(memory))
            .unwrap_or(u16::MAX)
            .min(RESTART_ROOM);
        let mut named = Named::new();
        let mut fits = true;
        let mut next = self.exact_to_name.head();
        while let Some(slot) = next {
            next = self.requests.next_in::<TO_NAME>(slot);
            self.stats.named += 1;
            if self.requests.posted(slot).pattern.source() == Some(source) {
                fits = self.name(&mut named, slot) && fits;
                self.requests.set_to_name(slot, false);
                self.exact_to_name
                    .remove(&mut self.requests.links::<TO_NAME>(), slot);
            }
        }
        let mut next = self.wildcards.head();
        while let Some(slot) = next.filter(|_| fits) {
            self.stats.named += 1;
            fits = self.name(&mut named, slot);
            next = self.requests.next_in::<TO_NAME>(slot);
        }
        for probe in self
            .probes
            .unanswered()
            .filter(|probe| probe.source().is_none_or(|s| s == source))
        {
            let entry = Entry {
                context: probe.context(),
                tag: probe.tag(),
                exact: false,
            };
            // Probes are last: they only see what no receive takes.
            fits = fits && named.push((self.posts, entry)).is_ok();
        }
        if !fits {
            named.clear();
        }
        sort_few(&mut named, |(serial, _)| *serial);
        Restart {
            age,
            room: if fits { room } else { ROOM_FOR_ALL },
            horizon: self.rules().on_the_wire(self.posts),
            entries: named.into_iter().map(|(_, entry)| entry).collect(),
        }
    }

    pub(in crate::device) fn name(&self, named: &mut Named, slot: Slot) -> bool {
        let Posted {
            pattern, serial, ..
        } = self.requests.posted(slot);
        let entry = Entry {
            context: pattern.context(),
            tag: pattern.tag(),
            exact: pattern.source().is_some(),
        };
        named.push((serial, entry)).is_ok()
    }

    /// Messages to this process stand refused for lack of memory: a carrier that lends should say when it
    /// has more ([`Adi::heap_freed`]).
    pub fn starves_others(&self) -> bool {
        self.peers.waiting() > 0
    }

    /// The program has freed memory of its heap, which may now have something to lend: restarts sources
    /// whose messages stand refused. When some have been restarted already and have yet to answer, those go
    /// first, and others follow as long as there is memory.
    pub fn heap_freed<M: UserMemory + ?Sized>(&mut self, memory: &M) {
        let rules = self.rules();
        if self.peers.under_way() == 0 {
            self.peers
                .restart_next(self.region.free_blocks(memory), rules);
        }
    }

    /// Whether the receive in `slot` was posted before the restart with this `horizon` was made.
    pub(in crate::device) fn is_older(&self, slot: Slot, horizon: Option<Horizon>) -> bool {
        let horizon = horizon.map(|said| self.rules().horizon(said, self.posts));
        horizon.is_some_and(|horizon| self.requests.posted(slot).serial < horizon)
    }

    /// Something has come of `source`, which stood as `before`, under the current age: its restart, if one
    /// was on the way, is closed. Sources that wait for memory or for a receive that is there are restarted.
    pub(in crate::device) fn go_on<M: UserMemory + ?Sized>(
        &mut self,
        memory: &M,
        source: Rank,
        before: Standing,
    ) {
        if self.peers.are_all_clear() {
            return;
        }
        let rules = self.rules();
        if before.is_posted_since() && self.peers.standing(source) != Standing::Clear {
            self.peers.restart(source, rules);
        }
        // A source that was asked for a receive from any source has answered: if it is still posted, or a probe
        // has still found nothing, the next source is asked.
        if self.peers.wildcards_queued() > 0
            && (!self.wildcards.is_empty() || self.probes.ask_any_source())
        {
            self.peers.restart_wildcards(rules);
        }
        if self.peers.waiting() > 0 && self.region.free_blocks(memory) > 0 {
            self.peers.restart_next(1, rules);
        }
    }

    pub(in crate::device) fn take_done<M: UserMemory + ?Sized>(
        &mut self,
        memory: &M,
        source: Rank,
        done: Done,
    ) -> Result<(), Malformed> {
        let standing = self.peers.standing(source);
        let open = matches!(standing, Standing::RestartSent | Standing::RestartSentStale);
        if !open || self.peers.ages(source).from != done.age {
            return Err(Malformed);
        }
        self.peers.accepted(source, done.more, false);
        self.go_on(memory, source, standing);
        Ok(())
    }
}
