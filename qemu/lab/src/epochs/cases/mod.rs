//! Jobs of three processes and two windows, small enough for an exhaustive exploration.
//!
//! ```text
//!   active.rs    fences, posts and starts          passive.rs   locks
//!   pairs.rs     every pair of consecutive kinds
//!   calls.rs     constructors of calls             row.rs       definition of a row
//! ```

mod active;
mod calls;
mod pairs;
mod passive;
mod row;

use midplane_device::rma::rules::BrokenRule;

use self::active::*;
use self::calls::fence;
use self::pairs::{EpochKinds, pair, pairs};
use self::passive::*;
use self::row::row;
pub use self::row::{ANY_ORDER, CaseRow, IN_ORDER, RequiredResult};
use super::explore::{BESIDE, END, SENSE};
use super::script::ScriptCall::WaitOpen;
use super::script::WRONG_BYTES;

/// Returns all rows.
pub fn table() -> Vec<CaseRow> {
    let mut rows = sound();
    rows.extend(pairs());
    rows.extend(broken());
    rows
}

/// Cases in which all properties hold, each without reorder keys and with all.
fn sound() -> Vec<CaseRow> {
    let on_all = vec![vec![fence(0), WaitOpen(0)]; 3];
    [
        ("exchange", exchange()),
        ("ring", ring()),
        ("late origin", late_origin(false)),
        ("late origin and a fence", late_origin(true)),
        ("passed by", passed_by()),
        ("behind a fence", behind_a_fence()),
        ("fences", fences()),
        ("a fence alone", on_all),
        ("fences and a look", fence_and_look()),
        ("locks", locks()),
        ("a lock of one's own", own_lock()),
        ("transactions", transactions(&[2, 1], &[2])),
        ("everyone", everyone()),
        ("two windows", two_windows()),
        ("locks of two windows", crossed(false)),
        ("locks of two windows at once", crossed(true)),
        ("locks of all", locks_of_all_crossed()),
        ("flushed", flushed(false)),
        ("flushed at all", flushed(true)),
        ("gets", gets()),
        ("gets and more", gets_and_more()),
        ("counted", counted()),
        ("granted twice", granted_twice()),
        ("unexposed", unexposed()),
        ("on itself", on_itself()),
    ]
    .into_iter()
    .flat_map(|(name, scripts)| {
        let keys = [("no key", IN_ORDER), ("all keys", ANY_ORDER)];
        keys.map(|(keys, reorder)| {
            let name = format!("{name}, {keys}");
            row(name, scripts.clone(), reorder, RequiredResult::Sound)
        })
    })
    .collect()
}

/// Cases with one broken rule each, and the property that detects it. A table, longer than a screen.
fn broken() -> Vec<CaseRow> {
    let of = |first, second| pair(first, second).0;
    let twice = of(EpochKinds::Exclusive, EpochKinds::Exclusive);
    [
        (BrokenRule::DefersWhatIsNested, exchange(), IN_ORDER, END),
        (BrokenRule::AsksTheLastOnly, passed_by(), ANY_ORDER, BESIDE),
        (BrokenRule::AsksNone, passed_by(), IN_ORDER, BESIDE),
        (BrokenRule::DoneBeforeResults, gets(), IN_ORDER, WRONG_BYTES),
        (BrokenRule::DoneBeforeOperations, counted(), IN_ORDER, WRONG_BYTES),
        (BrokenRule::CountsForTheNewest, counted(), ANY_ORDER, WRONG_BYTES),
        (BrokenRule::ArrivesUnflushed, fence_and_look(), IN_ORDER, WRONG_BYTES),
        (BrokenRule::NeedsNoGrant, unexposed(), IN_ORDER, WRONG_BYTES),
        (BrokenRule::UnlocksEarly, locks(), IN_ORDER, WRONG_BYTES),
        (BrokenRule::EndsWithAny, locks(), IN_ORDER, WRONG_BYTES),
        (BrokenRule::PassesDeferred, behind_a_fence(), ANY_ORDER, BESIDE),
        (BrokenRule::PassesFences, passed_by(), ANY_ORDER, BESIDE),
        (
            BrokenRule::PassesAccess,
            of(EpochKinds::Start, EpochKinds::Start),
            IN_ORDER,
            BESIDE,
        ),
        (
            BrokenRule::AccessPassesExposure,
            of(EpochKinds::Post, EpochKinds::Start),
            IN_ORDER,
            BESIDE,
        ),
        (
            BrokenRule::PassesExposure,
            of(EpochKinds::Post, EpochKinds::Post),
            IN_ORDER,
            BESIDE,
        ),
        (
            BrokenRule::ExposurePassesAccess,
            of(EpochKinds::Start, EpochKinds::Post),
            IN_ORDER,
            BESIDE,
        ),
        (BrokenRule::LocksWhatIsAccessed, twice, ANY_ORDER, SENSE),
        (BrokenRule::ExposesWhatIsLocked, locked_here(), ANY_ORDER, WRONG_BYTES),
        (BrokenRule::TakesAnyGrant, granted_twice(), ANY_ORDER, WRONG_BYTES),
        (BrokenRule::DonesInAnyOrder, gets_and_more(), ANY_ORDER, WRONG_BYTES),
        (BrokenRule::ArrivesAlone, fence_and_look(), IN_ORDER, SENSE),
        (BrokenRule::QueuesBeside, crossed(false), IN_ORDER, END),
        (BrokenRule::QueuesBeside, locks_of_all_crossed(), ANY_ORDER, END),
        (BrokenRule::NeverUrges, crossed(true), IN_ORDER, END),
        (BrokenRule::MovesUnseen, own_lock(), IN_ORDER, END),
    ]
    .into_iter()
    .map(|(flaw, scripts, reorder, finds)| {
        let mut row = row(format!("{flaw:?}"), scripts, reorder, RequiredResult::Broken(finds));
        row.case.flaw = Some(flaw);
        row
    })
    .collect()
}
