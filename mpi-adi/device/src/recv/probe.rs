//! Probes for messages without a record.
//!
//! A probe must find every message that was sent (MPI-3.1 section 3.8.1), rejected ones included. Yet nothing may be
//! recorded after a rejected message of the same source, or it would be matched first. So a probe that finds nothing
//! *stays armed*, and every source that it specifies gets a restart. The first matching rejected message is *noted*:
//! the message itself stays in its sender's pending send queue, and the next receive requests it.
//!
//! A note is valid for as long as it exists. A source sends its RTSs in order under each age, so the noted message is
//! the first of its source that matches the probe, and the first of its envelope. When a message of that envelope is
//! matched or recorded, it is the noted one, and the note is removed. A note is also removed when a receive is posted
//! that its message may match: the message is no longer available. For the same reason a note is valid for every
//! narrower probe that matches its message: the first match of a wide pattern is also the first match of a narrower
//! one. For a wider probe it is not: an earlier message of the source may match. But the note shows that there is a message,
//! so that the wider probe waits for its own note, even if it does not block: a program that has found a message finds it
//! again by each pattern.
//!
//! # Exhausted memory
//! Armed probes are in the program's heap, at most [`ARMED_PROBES`]. A program may probe for more patterns in turn, or
//! exhaust its heap, and must still find its message. If each new probe evicted the oldest one, a reply might never
//! find its probe still armed on its repetition. So an armed probe *holds* its slot until a number of others have been
//! turned away, which find nothing. Only then the next one evicts it. The eviction may have been too early, before the
//! reply or before the repetition. So later probes hold their slots twice as long, until a note is found. Eventually
//! this exceeds the time of the replies for any number of patterns. A random variation of each hold time, by up to the
//! same amount, prevents a periodic program from starving a pattern.
#![forbid(unsafe_code)]

use alloc::vec::Vec;

use crate::envelope::{Envelope, MatchPattern, Rank};

/// Maximum number of armed probes, if the program's heap has space for them.
pub const ARMED_PROBES: usize = 1024;
/// Minimum number of probes turned away before an armed one is evicted.
pub const MIN_HOLD: u64 = 16;

/// The program's heap has no space for a single armed probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoProbeSlot;

/// An unexpected message that a probe has found (MPI-3.1 section 3.8.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ProbedMessage {
    /// Its source and tag.
    pub envelope: Envelope,
    /// Its length in bytes.
    pub length: u32,
}

/// Result of arming a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum ArmResult {
    /// Newly armed: its sources require restarts.
    New,
    /// Armed already.
    Already,
    /// All slots are held by others. On repetition it eventually gets one.
    Rejected,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct ArmedProbe {
    pattern: MatchPattern,
    noted: Option<ProbedMessage>,
    /// Count of probes turned away at which it can be evicted.
    until: u64,
    /// Minimum hold time of its slot.
    hold: u64,
}

/// The armed probes, oldest first; in the program's heap, since they result from the program's own calls.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ArmedProbes {
    armed: Vec<ArmedProbe>,
    /// Probes turned away so far.
    turned_away: u64,
    /// Minimum hold time of the next one.
    hold: u64,
    /// State of the random variation.
    random: u64,
}

impl Default for ArmedProbes {
    fn default() -> Self {
        ArmedProbes {
            armed: Vec::new(),
            turned_away: 0,
            hold: MIN_HOLD,
            random: 1,
        }
    }
}

impl ArmedProbes {
    /// Returns whether no probe is armed.
    pub fn is_empty(&self) -> bool {
        self.armed.is_empty()
    }

    /// Returns the noted rejected message that matches `pattern`, if its note is valid for it.
    pub fn noted_message(&mut self, pattern: &MatchPattern) -> Option<ProbedMessage> {
        let turned_away = self.turned_away;
        let armed = self.armed.iter_mut().find(|armed| {
            let answers = armed.pattern.covers(pattern);
            answers && armed.noted.is_some_and(|noted| pattern.matches(&noted.envelope))
        })?;
        armed.until = armed.until.max(turned_away + armed.hold);
        self.hold = MIN_HOLD;
        armed.noted
    }

    /// Returns whether a note, valid for `pattern` or not, is of a message that it matches.
    pub fn has_note_of(&self, pattern: &MatchPattern) -> bool {
        let mut notes = self.armed.iter().filter_map(|armed| armed.noted);
        notes.any(|noted| pattern.matches(&noted.envelope))
    }

    /// Returns the armed probes without a note.
    pub fn patterns_without_note(&self) -> impl Iterator<Item = MatchPattern> + '_ {
        self.armed
            .iter()
            .filter(|armed| armed.noted.is_none())
            .map(|armed| armed.pattern)
    }

    /// Returns whether a probe for messages from any source has no note.
    pub fn has_open_wildcard(&self) -> bool {
        self.patterns_without_note().any(|pattern| pattern.source().is_none())
    }

    /// Allocates memory for one more armed probe.
    pub fn reserve(&mut self) -> Result<(), NoProbeSlot> {
        self.armed.try_reserve(1).map_err(|_| NoProbeSlot)
    }

    /// Arms `pattern`, if it is not armed and a slot is available.
    pub fn arm(&mut self, pattern: MatchPattern) -> Result<ArmResult, NoProbeSlot> {
        if self.armed.iter().any(|armed| armed.pattern == pattern) {
            return Ok(ArmResult::Already);
        }
        if self.armed.len() == ARMED_PROBES || self.reserve().is_err() {
            if self.armed.is_empty() {
                return Err(NoProbeSlot);
            }
            let now = self.turned_away;
            let Some(at) = self.armed.iter().position(|armed| armed.until <= now) else {
                self.turned_away += 1;
                return Ok(ArmResult::Rejected);
            };
            let gone = self.armed.remove(at);
            self.hold = self.hold.max(gone.hold.saturating_mul(2));
        }
        let hold = self.hold;
        let varied = hold + self.next_random() % hold;
        self.armed.push(ArmedProbe {
            pattern,
            noted: None,
            until: self.turned_away.saturating_add(varied),
            hold,
        });
        Ok(ArmResult::New)
    }

    /// Returns the next pseudorandom number (xorshift64, Marsaglia 2003).
    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// Notes a message that was rejected under the current age.
    pub fn note_rejected(&mut self, message: ProbedMessage) {
        for armed in &mut self.armed {
            if armed.noted.is_none() && armed.pattern.matches(&message.envelope) {
                armed.noted = Some(message);
            }
        }
    }

    /// Disarms every probe that matches a message which was matched or recorded. The message may be the noted one. If
    /// not, it may be the reply to a restart, so that other matching messages must still be requested when the probe is
    /// repeated.
    #[inline]
    pub fn disarm_matching(&mut self, envelope: &Envelope) {
        if !self.armed.is_empty() {
            self.disarm(&|armed| armed.pattern.matches(envelope));
        }
    }

    /// Removes the notes of a rejected message of `source` that was cancelled.
    pub fn remove_cancelled(&mut self, source: Rank) {
        // Disarms the probe itself, as in `posted`.
        self.disarm(&|armed| {
            let noted = armed.noted.as_ref();
            noted.is_some_and(|noted| noted.envelope.source == source)
        });
    }

    /// Removes the notes of messages that a posted receive may match.
    #[inline]
    pub fn note_posted(&mut self, pattern: &MatchPattern) {
        // Disarms the probe itself, because other messages may have been rejected while this one was noted.
        if !self.armed.is_empty() {
            self.disarm(&|armed| {
                let noted = armed.noted.as_ref();
                noted.is_some_and(|noted| pattern.matches(&noted.envelope))
            });
        }
    }

    // One copy: few programs probe.
    #[inline(never)]
    fn disarm(&mut self, is_over: &dyn Fn(&ArmedProbe) -> bool) {
        self.armed.retain(|armed| !is_over(armed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(source: u32, tag: i32) -> ProbedMessage {
        ProbedMessage {
            envelope: Envelope {
                source: Rank::new(source),
                tag,
                context: 0,
            },
            length: 5,
        }
    }

    const TAG_1: MatchPattern = MatchPattern::new(None, Some(1), 0);

    fn pattern(tag: i32) -> MatchPattern {
        MatchPattern::new(None, Some(tag), 0)
    }

    #[test]
    fn the_first_refused_message_is_noted_until_it_is_taken() {
        let mut probes = ArmedProbes::default();
        assert_eq!(probes.arm(TAG_1), Ok(ArmResult::New));
        assert_eq!(probes.arm(TAG_1), Ok(ArmResult::Already));
        probes.note_rejected(message(3, 2));
        assert_eq!(probes.noted_message(&TAG_1), None, "another tag");
        probes.note_rejected(message(3, 1));
        probes.note_rejected(message(4, 1));
        assert_eq!(probes.noted_message(&TAG_1), Some(message(3, 1)));
        probes.disarm_matching(&message(4, 2).envelope);
        assert_eq!(probes.noted_message(&TAG_1), Some(message(3, 1)), "another tag");
        probes.disarm_matching(&message(3, 1).envelope);
        assert_eq!(probes.noted_message(&TAG_1), None);
        assert_eq!(probes.arm(TAG_1), Ok(ArmResult::New), "to be armed anew");
    }

    #[test]
    fn a_note_answers_what_is_narrower_and_nothing_else() {
        let mut probes = ArmedProbes::default();
        let wide = MatchPattern::new(None, None, 0);
        assert_eq!(probes.arm(wide), Ok(ArmResult::New));
        probes.note_rejected(message(3, 1));
        let narrow = |source: Option<u32>, tag| MatchPattern::new(source.map(Rank::new), tag, 0);
        for (pattern, answered) in [
            (narrow(None, None), true),
            (narrow(Some(3), None), true),
            (narrow(None, Some(1)), true),
            (narrow(Some(3), Some(1)), true),
            (narrow(Some(3), Some(2)), false),
            (narrow(Some(4), Some(1)), false),
        ] {
            assert_eq!(probes.noted_message(&pattern).is_some(), answered, "{pattern:?}");
        }
        let mut probes = ArmedProbes::default();
        assert_eq!(probes.arm(TAG_1), Ok(ArmResult::New));
        probes.note_rejected(message(3, 1));
        assert_eq!(
            probes.noted_message(&wide),
            None,
            "an earlier message may have another tag"
        );
    }

    #[test]
    fn a_message_that_a_posted_receive_may_match_is_not_noted_any_more() {
        let mut probes = ArmedProbes::default();
        assert_eq!(probes.arm(TAG_1), Ok(ArmResult::New));
        probes.note_rejected(message(3, 1));
        probes.note_posted(&MatchPattern::new(Some(Rank::new(4)), None, 0));
        assert_eq!(probes.noted_message(&TAG_1), Some(message(3, 1)));
        probes.note_posted(&MatchPattern::new(Some(Rank::new(3)), None, 0));
        assert_eq!(probes.noted_message(&TAG_1), None);
    }

    /// Each message is found, for any number of patterns in turn, any reply delay, and any notes that are never
    /// requested again.
    #[test]
    fn every_message_is_found_whatever_the_number_of_patterns_and_the_delay() {
        for (patterns, delay) in [(1, 1), (1025, 3), (1030, 20_000), (1152, 5), (2048, 9_000)] {
            let mut probes = ArmedProbes::default();
            for never in 0..ARMED_PROBES as i32 {
                assert_eq!(probes.arm(pattern(1 << 16 | never)), Ok(ArmResult::New));
            }
            for sought in [0, patterns / 2, patterns - 1] {
                let (mut asked, mut polls) = (None, 0_u64);
                let polls = loop {
                    let tag = (polls % patterns as u64) as i32;
                    if asked.is_some_and(|at| at + delay <= polls) {
                        probes.note_rejected(message(0, sought));
                        asked = None;
                    }
                    if probes.noted_message(&pattern(tag)).is_some() {
                        break polls;
                    }
                    if probes.arm(pattern(tag)) == Ok(ArmResult::New) && tag == sought {
                        asked = Some(polls);
                    }
                    polls += 1;
                    assert!(polls < 20_000_000, "{sought} of {patterns} is not found");
                };
                println!("{sought} of {patterns}, {delay} later: {polls} probes");
                probes.disarm_matching(&message(0, sought).envelope);
            }
        }
    }

    #[test]
    fn a_probe_gives_way_in_the_end_and_not_at_once() {
        let mut probes = ArmedProbes::default();
        for tag in 0..ARMED_PROBES as i32 {
            assert_eq!(probes.arm(pattern(tag)), Ok(ArmResult::New));
        }
        let turned_away = (0..).take_while(|_| probes.arm(pattern(1 << 16)) == Ok(ArmResult::Rejected));
        let turned_away = turned_away.count() as u64;
        assert!((MIN_HOLD..2 * MIN_HOLD).contains(&turned_away), "{turned_away}");
    }

    /// A periodic program cannot starve a pattern.
    #[test]
    fn probes_hold_their_places_for_times_that_vary() {
        let mut probes = ArmedProbes::default();
        let mut holds = Vec::new();
        for tag in 0..ARMED_PROBES as i32 {
            assert_eq!(probes.arm(pattern(tag)), Ok(ArmResult::New));
            holds.push(probes.armed.last().expect("just armed").until);
        }
        assert!(holds.iter().all(|until| (MIN_HOLD..2 * MIN_HOLD).contains(until)));
        // Every hold time occurs, about as often as chance predicts.
        for half in holds.chunks(ARMED_PROBES / 2) {
            for hold in MIN_HOLD..2 * MIN_HOLD {
                let times = half.iter().filter(|&&until| until == hold).count();
                assert!((8..80).contains(&times), "{hold}: {times} of {}", half.len());
            }
        }
    }

    #[test]
    fn a_probe_that_has_found_something_holds_its_place_for_a_while_from_then_on() {
        let mut probes = ArmedProbes::default();
        assert_eq!(probes.arm(pattern(1)), Ok(ArmResult::New));
        probes.note_rejected(message(0, 1));
        probes.turned_away = 100;
        assert!(probes.noted_message(&pattern(1)).is_some());
        assert_eq!(probes.armed[0].until, 100 + MIN_HOLD);
    }
}
