//! Definition of a table row.

use midplane_device::rma::epochs::ReorderFlags;

use crate::epochs::explore::EpochCase;
use crate::epochs::script::ScriptCall;

/// A row of the table.
#[derive(Clone, Debug)]
pub struct CaseRow {
    /// Its name.
    pub name: String,
    /// The job.
    pub case: EpochCase,
    /// The required result.
    pub finds: RequiredResult,
}

/// Required result of an exploration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequiredResult {
    /// All properties hold.
    Sound,
    /// A rule is broken, and this property fails.
    Broken(&'static str),
}

/// No reordering of epochs.
pub const IN_ORDER: ReorderFlags = ReorderFlags {
    access_after_access: false,
    access_after_exposure: false,
    exposure_after_exposure: false,
    exposure_after_access: false,
};
/// All permitted reorderings of epochs.
pub const ANY_ORDER: ReorderFlags = ReorderFlags {
    access_after_access: true,
    access_after_exposure: true,
    exposure_after_exposure: true,
    exposure_after_access: true,
};

pub(super) fn row(
    name: impl Into<String>,
    scripts: Vec<Vec<ScriptCall>>,
    reorder: ReorderFlags,
    finds: RequiredResult,
) -> CaseRow {
    CaseRow {
        name: name.into(),
        case: EpochCase {
            scripts,
            reorder,
            flaw: None,
            ends: Vec::new(),
        },
        finds,
    }
}
