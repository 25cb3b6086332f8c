//! Findings of the checks.

use std::collections::HashMap;

/// Maximum number of findings; the rest is counted.
pub const MAX_FINDINGS: usize = 100;

/// Class of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FindingClass {
    /// Datatypes or counts of a message differ.
    DatatypeMismatch,
    /// Collective calls differ.
    CollectiveMismatch,
    /// A buffer is used while an operation uses it.
    BufferInUse,
    /// One-sided operations conflict.
    WindowConflict,
    /// An access of a program to its own window, and a one-sided operation under a lock: the standard permits both in any
    /// order, and the result depends on the time.
    UnorderedAccess,
    /// The program depends on buffers of the library.
    UnsafeProgram,
    /// A message is not received.
    UnreceivedMessage,
    /// A request is not completed.
    RequestLeak,
    /// An object is not freed.
    ObjectLeak,
    /// The match of a receive depends on the time.
    MessageRace,
}

impl FindingClass {
    /// Returns its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DatatypeMismatch => "datatype mismatch",
            Self::CollectiveMismatch => "collective mismatch",
            Self::BufferInUse => "buffer in use",
            Self::WindowConflict => "window conflict",
            Self::UnorderedAccess => "unordered access",
            Self::UnsafeProgram => "unsafe program",
            Self::UnreceivedMessage => "message not received",
            Self::RequestLeak => "request leak",
            Self::ObjectLeak => "object leak",
            Self::MessageRace => "message race",
        }
    }

    /// Checks whether programs with this finding are permitted, so that it does not cause an exit status.
    #[must_use]
    pub fn is_warning(self) -> bool {
        self == Self::UnorderedAccess
    }
}

/// A finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Class.
    pub class: FindingClass,
    /// Statement with the calls and their source lines.
    pub text: String,
    /// Number of times that the same calls of the source have caused it.
    pub times: usize,
}

/// A call in the program's source, for the comparison of findings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct CallSite {
    pub(super) address: u64,
}

/// Findings, each once for the same calls of the source.
#[derive(Default)]
pub(super) struct FindingList {
    pub(super) list: Vec<Finding>,
    known: HashMap<FindingKey, usize>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct FindingKey {
    class: FindingClass,
    sites: Vec<CallSite>,
}

impl FindingList {
    /// Adds a finding; `text` is called for the first one at these calls.
    pub(super) fn add(&mut self, class: FindingClass, sites: &[CallSite], text: impl FnOnce() -> String) {
        let mut sites = sites.to_vec();
        sites.sort_unstable();
        let next = self.list.len();
        let at = *self.known.entry(FindingKey { class, sites }).or_insert(next);
        match self.list.get_mut(at) {
            Some(finding) => finding.times += 1,
            None => self.list.push(Finding {
                class,
                text: text(),
                times: 1,
            }),
        }
    }
}

/// Returns a number of elements as a phrase.
pub(super) fn count_phrase(elements: u64) -> String {
    match elements {
        1 => "one element".into(),
        elements => format!("{elements} elements"),
    }
}
