//! Envelopes and the patterns of receives (MPI-3.1 section 3.2.3 and 3.2.4).
#![forbid(unsafe_code)]

/// A communicator's context: messages of different contexts never match.
pub type Context = u16;
/// A message's tag; never negative on a message.
pub type Tag = i32;
/// A process's number in MPI_COMM_WORLD.
pub type Rank = u32;

/// What a message says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Envelope {
    /// The sender.
    pub source: Rank,
    /// The tag.
    pub tag: Tag,
    /// The communicator's context.
    pub context: Context,
}

impl Envelope {
    /// The pattern that asks for just this.
    pub fn pattern(&self) -> Pattern {
        Pattern {
            source: Some(self.source),
            tag: Some(self.tag),
            context: self.context,
        }
    }
}

/// What a receive or a probe asks for; `None` is the wildcard (MPI_ANY_SOURCE, MPI_ANY_TAG).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pattern {
    /// The sender asked for.
    pub source: Option<Rank>,
    /// The tag asked for.
    pub tag: Option<Tag>,
    /// The communicator's context; has no wildcard.
    pub context: Context,
}

impl Pattern {
    /// The one match function of both queues.
    pub fn matches(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.source.is_none_or(|source| source == envelope.source)
            && self.tag.is_none_or(|tag| tag == envelope.tag)
    }

    /// Whether it matches every envelope that `narrower` matches.
    pub fn covers(&self, narrower: &Pattern) -> bool {
        self.context == narrower.context
            && (self.source.is_none() || self.source == narrower.source)
            && (self.tag.is_none() || self.tag == narrower.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_covers_what_matches_nothing_else() {
        let values = [None, Some(1), Some(2)];
        let patterns = || {
            values.into_iter().flat_map(move |source| {
                values.into_iter().flat_map(move |tag| {
                    [0, 1].map(|context| Pattern {
                        source,
                        tag: tag.map(|tag| tag as Tag),
                        context,
                    })
                })
            })
        };
        let envelopes = || {
            (1..=3).flat_map(|source| {
                (1..=3).flat_map(move |tag| {
                    [0, 1].map(|context| Envelope {
                        source,
                        tag,
                        context,
                    })
                })
            })
        };
        for wide in patterns() {
            for narrow in patterns() {
                let all = envelopes().all(|e| !narrow.matches(&e) || wide.matches(&e));
                assert_eq!(wide.covers(&narrow), all, "{wide:?} {narrow:?}");
            }
        }
    }
}
