//! Envelopes, and the patterns of receives (MPI-3.1 section 3.2.3 and 3.2.4).
#![forbid(unsafe_code)]

use core::fmt;
use core::num::NonZeroU32;

/// A communicator's context: messages of different contexts never match.
pub type Context = u16;
/// A message's tag; never negative in a message.
pub type Tag = i32;

/// A process's rank in MPI_COMM_WORLD, not in another communicator. Its `Option` requires no additional memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(NonZeroU32);

impl Rank {
    /// Creates the rank `index`, from 0 on and below `u32::MAX`, which no job reaches.
    #[inline]
    pub const fn new(index: u32) -> Self {
        Rank(NonZeroU32::MIN.saturating_add(index))
    }

    /// Returns the rank as an integer, from 0 on.
    #[inline]
    pub const fn index(self) -> u32 {
        self.0.get() - 1
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.index().fmt(f)
    }
}

/// Formats the integer, as in programs and reports.
impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.index().fmt(f)
    }
}

/// Envelope of a message.
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
    /// Returns the pattern that matches only this envelope.
    #[inline]
    pub const fn pattern(&self) -> MatchPattern {
        MatchPattern::new(Some(self.source), Some(self.tag), self.context)
    }
}

/// Pattern of a receive or a probe; `None` is the wildcard (MPI_ANY_SOURCE, MPI_ANY_TAG).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatchPattern {
    source: Option<Rank>,
    /// [`ANY_TAG`] or a message's tag; half the size of an `Option`.
    tag: Tag,
    context: Context,
}

/// Wildcard: no message has this tag.
const ANY_TAG: Tag = -1;

// Every posted receive contains a pattern, and engines compare them.
const _: () = assert!(size_of::<MatchPattern>() == 12);

impl MatchPattern {
    /// Creates a pattern for this sender, this tag and this context, which has no wildcard.
    ///
    /// # Panics
    /// When the tag is negative: the bindings check their arguments, and the wire format checks packets.
    #[inline]
    pub const fn new(source: Option<Rank>, tag: Option<Tag>, context: Context) -> Self {
        let tag = match tag {
            Some(tag) => {
                assert!(tag >= 0, "a message's tag is not negative");
                tag
            }
            None => ANY_TAG,
        };
        MatchPattern { source, tag, context }
    }

    /// Creates the pattern from the result of [`MatchPattern::parts`].
    #[inline]
    pub(crate) const fn from_parts(source: Option<Rank>, tag: Tag, context: Context) -> Self {
        MatchPattern { source, tag, context }
    }

    /// Returns the fields without the padding behind them: the tag may be the wildcard.
    #[inline]
    pub(crate) const fn parts(&self) -> (Option<Rank>, Tag, Context) {
        (self.source, self.tag, self.context)
    }

    /// Returns the requested sender.
    #[inline]
    pub const fn source(&self) -> Option<Rank> {
        self.source
    }

    /// Returns the requested tag.
    #[inline]
    pub const fn tag(&self) -> Option<Tag> {
        match self.tag {
            ANY_TAG => None,
            tag => Some(tag),
        }
    }

    /// Returns the communicator's context.
    #[inline]
    pub const fn context(&self) -> Context {
        self.context
    }

    /// Returns source and tag as two words, in which wildcards differ from all other values.
    #[inline]
    pub(crate) fn words(&self) -> (u32, u32) {
        let source = self.source.map_or(0, |source| source.0.get());
        (source, self.tag as u32)
    }

    /// Returns whether the pattern matches: the only match function, used by both queues.
    #[inline]
    pub fn matches(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.source.is_none_or(|source| source == envelope.source)
            && (self.tag == ANY_TAG || self.tag == envelope.tag)
    }

    /// Returns whether the pattern matches every envelope that `narrower` matches.
    pub fn covers(&self, narrower: &MatchPattern) -> bool {
        self.context == narrower.context
            && (self.source.is_none() || self.source == narrower.source)
            && (self.tag == ANY_TAG || self.tag == narrower.tag)
    }
}

/// Formats the wildcards as `None`.
impl fmt::Debug for MatchPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pattern")
            .field("source", &self.source())
            .field("tag", &self.tag())
            .field("context", &self.context)
            .finish()
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
                    let tag = tag.map(|tag| tag as Tag);
                    [0, 1].map(|context| MatchPattern::new(source.map(Rank::new), tag, context))
                })
            })
        };
        let envelopes = || {
            (1..=3)
                .map(Rank::new)
                .flat_map(|source| (1..=3).flat_map(move |tag| [0, 1].map(|context| Envelope { source, tag, context })))
        };
        for wide in patterns() {
            for narrow in patterns() {
                let all = envelopes().all(|e| !narrow.matches(&e) || wide.matches(&e));
                assert_eq!(wide.covers(&narrow), all, "{wide:?} {narrow:?}");
            }
        }
    }

    #[test]
    fn a_pattern_says_what_it_was_made_of() {
        for source in [None, Some(Rank::new(0)), Some(Rank::new(u32::MAX - 1))] {
            for tag in [None, Some(0), Some(Tag::MAX)] {
                let pattern = MatchPattern::new(source, tag, 7);
                assert_eq!((pattern.source(), pattern.tag()), (source, tag));
                assert_eq!(pattern.context(), 7);
            }
        }
        let shown = format!("{:?}", MatchPattern::new(Some(Rank::new(3)), None, 2));
        assert_eq!(shown, "Pattern { source: Some(3), tag: None, context: 2 }");
    }

    #[test]
    #[should_panic = "not negative"]
    fn a_negative_tag_does_not_become_the_wildcard() {
        MatchPattern::new(None, Some(ANY_TAG), 0);
    }

    #[test]
    fn a_rank_is_its_number_and_leaves_room_for_none() {
        assert_eq!(size_of::<Option<Rank>>(), 4);
        for index in [0, 1, 4095, u32::MAX - 1] {
            let rank = Rank::new(index);
            assert_eq!(rank.index(), index);
            assert_eq!(
                (format!("{rank}"), format!("{rank:?}")),
                (index.to_string(), index.to_string())
            );
        }
        assert_eq!(Rank::new(u32::MAX).index(), u32::MAX - 1, "no panic");
        assert!(Rank::new(1) < Rank::new(2));
    }
}
