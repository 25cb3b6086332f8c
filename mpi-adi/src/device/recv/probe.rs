//! Probes for messages that have no record.
//!
//! A probe must see every message that was sent (MPI-3.1 section 3.8.1), the refused ones included, and
//! yet nothing may be recorded past a refused message of the same source, or it would be matched before
//! it. So a probe that finds nothing *stays armed*, every source it asks for is restarted, and the first
//! refused message that it asks for is *noted*: the message itself stays in its sender's pending send
//! queue, and the receive that follows the probe restarts it like any other.
//!
//! A note is right for as long as it is there: messages of one source are offered in order under each age,
//! so the one noted is the first of its source that the probe asks for, and the first of its envelope. When
//! a message of that envelope is matched or recorded, it is that one, and the note goes. It goes, too, when
//! a receive is posted that the message may match: it is spoken for now.
#![forbid(unsafe_code)]

use alloc::collections::VecDeque;

use crate::device::envelope::{Envelope, Pattern, Rank};
use crate::device::recv::Probed;

/// Armed probes that are kept; beyond that, or when the heap is used up, the oldest gives way and, when it is repeated, begins anew. So
/// a program that asks for more than these in turn, while MPI memory is used up, may ask for long.
pub const ARMED_PROBES: usize = 1024;

/// The program's heap has no room for one more armed probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Armed {
    pattern: Pattern,
    noted: Option<Probed>,
}

/// The armed probes, oldest first; in the program's heap, since they are the program's own calls.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Probes {
    armed: VecDeque<Armed>,
}

impl Probes {
    /// The refused message noted for `pattern`.
    pub fn noted(&self, pattern: &Pattern) -> Option<Probed> {
        self.armed
            .iter()
            .find(|armed| armed.pattern == *pattern)?
            .noted
    }

    /// The armed probes for which nothing is noted yet.
    pub fn unanswered(&self) -> impl Iterator<Item = Pattern> + '_ {
        self.armed
            .iter()
            .filter(|armed| armed.noted.is_none())
            .map(|armed| armed.pattern)
    }

    /// A probe for messages from any source has found nothing yet.
    pub fn ask_anybody(&self) -> bool {
        self.unanswered().any(|pattern| pattern.source.is_none())
    }

    /// Makes sure that one more can be armed.
    pub fn reserve(&mut self) -> Result<(), Full> {
        self.armed.try_reserve(1).map_err(|_| Full)
    }

    /// Arms `pattern`; false when it is armed already.
    pub fn arm(&mut self, pattern: Pattern) -> Result<bool, Full> {
        if self.armed.iter().any(|armed| armed.pattern == pattern) {
            return Ok(false);
        }
        let is_full = self.armed.len() == ARMED_PROBES || self.reserve().is_err();
        if is_full && self.armed.pop_front().is_none() {
            return Err(Full);
        }
        self.armed.push_back(Armed {
            pattern,
            noted: None,
        });
        Ok(true)
    }

    /// A message of the current age was refused.
    pub fn refused(&mut self, message: Probed) {
        for armed in &mut self.armed {
            if armed.noted.is_none() && armed.pattern.matches(&message.envelope) {
                armed.noted = Some(message);
            }
        }
    }

    /// A message was matched or recorded: every probe that asks for it is disarmed. It may be the one
    /// noted; and where it is not, it may be the one that a notice was answered with, so that others that
    /// the probe asks for have still to be asked for, when the probe is repeated.
    pub fn taken(&mut self, envelope: &Envelope) {
        if !self.armed.is_empty() {
            self.armed.retain(|armed| !armed.pattern.matches(envelope));
        }
    }

    /// A refused message of `source` has been taken back: no probe notes it.
    pub fn withdrawn(&mut self, source: Rank) {
        // Disarmed altogether, as in `posted`.
        self.armed.retain(|armed| {
            armed
                .noted
                .is_none_or(|noted| noted.envelope.source != source)
        });
    }

    /// A receive was posted: no probe notes a message that it may match.
    pub fn posted(&mut self, pattern: &Pattern) {
        // Disarmed altogether, because other messages may have been refused while this one was noted.
        if !self.armed.is_empty() {
            self.armed.retain(|armed| {
                armed
                    .noted
                    .is_none_or(|noted| !pattern.matches(&noted.envelope))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(source: u32, tag: i32) -> Probed {
        Probed {
            envelope: Envelope {
                source,
                tag,
                context: 0,
            },
            length: 5,
        }
    }

    const TAG_1: Pattern = Pattern {
        source: None,
        tag: Some(1),
        context: 0,
    };

    #[test]
    fn the_first_refused_message_is_noted_until_it_is_taken() {
        let mut probes = Probes::default();
        assert_eq!(probes.arm(TAG_1), Ok(true));
        assert_eq!(probes.arm(TAG_1), Ok(false));
        probes.refused(message(3, 2));
        assert_eq!(probes.noted(&TAG_1), None, "another tag");
        probes.refused(message(3, 1));
        probes.refused(message(4, 1));
        assert_eq!(probes.noted(&TAG_1), Some(message(3, 1)));
        probes.taken(&message(4, 2).envelope);
        assert_eq!(probes.noted(&TAG_1), Some(message(3, 1)), "another tag");
        probes.taken(&message(3, 1).envelope);
        assert_eq!(probes.noted(&TAG_1), None);
        assert_eq!(probes.arm(TAG_1), Ok(true), "to be armed anew");
    }

    #[test]
    fn a_message_that_a_posted_receive_may_match_is_not_noted_any_more() {
        let mut probes = Probes::default();
        assert_eq!(probes.arm(TAG_1), Ok(true));
        probes.refused(message(3, 1));
        probes.posted(&Pattern {
            source: Some(4),
            tag: None,
            context: 0,
        });
        assert_eq!(probes.noted(&TAG_1), Some(message(3, 1)));
        probes.posted(&Pattern {
            source: Some(3),
            tag: None,
            context: 0,
        });
        assert_eq!(probes.noted(&TAG_1), None);
    }

    #[test]
    fn the_oldest_of_too_many_gives_way() {
        let mut probes = Probes::default();
        let pattern = |tag| Pattern {
            source: None,
            tag: Some(tag),
            context: 0,
        };
        for tag in 0..=ARMED_PROBES as i32 {
            assert_eq!(probes.arm(pattern(tag)), Ok(true));
        }
        assert_eq!(probes.arm(pattern(1)), Ok(false));
        assert_eq!(probes.arm(pattern(0)), Ok(true));
    }
}
