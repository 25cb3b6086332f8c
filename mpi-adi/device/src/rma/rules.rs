//! Rules of epochs, which a model checker may break.
#![forbid(unsafe_code)]

use core::fmt;

/// Rules that a model checker may break, one at a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BrokenRule {
    /// An epoch is deferred behind one within which it was opened.
    DefersWhatIsNested,
    /// Only the previous epoch is checked.
    AsksTheLastOnly,
    /// Epochs begin without any check.
    AsksNone,
    /// A done is sent before the results of gets have arrived.
    DoneBeforeResults,
    /// A done is sent before deferred operations.
    DoneBeforeOperations,
    /// A done counts for the newest exposure epoch.
    CountsForTheNewest,
    /// A process arrives at a fence before its operations are done.
    ArrivesUnflushed,
    /// Operations ignore missing grants.
    NeedsNoGrant,
    /// A lock is released before the operations under it have been sent.
    UnlocksEarly,
    /// An epoch ends with an operation that is not its last.
    EndsWithAny,
    /// An epoch begins although one before it is deferred.
    PassesDeferred,
    /// Epochs begin concurrently with fences and locks of all.
    PassesFences,
    /// Treats the key for access after access as set.
    PassesAccess,
    /// Treats the key for access after exposure as set.
    AccessPassesExposure,
    /// Treats the key for exposure after exposure as set.
    PassesExposure,
    /// Treats the key for exposure after access as set.
    ExposurePassesAccess,
    /// A lock begins while another epoch has access to its target.
    LocksWhatIsAccessed,
    /// An exposure overtakes others while the local window is locked.
    ExposesWhatIsLocked,
    /// Access uses a grant for an earlier epoch.
    TakesAnyGrant,
    /// A done is sent before that of an earlier epoch.
    DonesInAnyOrder,
    /// A process arrives at a fence before those below it.
    ArrivesAlone,
    /// A process with other locks queues for a shared one.
    QueuesBeside,
    /// A process that gets other locks while it queues stays in the queue.
    NeverUrges,
    /// A progress step that advances only local state reports no change.
    MovesUnseen,
    /// A lock is granted although another process has it exclusively, or has it while an exclusive lock is requested.
    LocksWhatIsHeld,
    /// A request for a lock overtakes waiting ones.
    OvertakesWaiting,
    /// A free lock is granted to the waiting process with the lowest rank.
    GrantsInRankOrder,
}

/// Set of enforced rules.
pub trait EpochRules: Copy + fmt::Debug + 'static {
    /// Returns whether this rule is broken.
    fn is_broken(self, flaw: BrokenRule) -> bool {
        let _ = flaw;
        false
    }
}

/// Set with all rules enforced.
#[derive(Clone, Copy, Debug)]
pub struct AllEpochRules;

impl EpochRules for AllEpochRules {}
