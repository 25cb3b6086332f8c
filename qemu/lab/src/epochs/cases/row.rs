//! Definition of a table row.

use midplane_device::rma::epochs::ReorderFlags;

use crate::epochs::explore::Case;
use crate::epochs::script::Call;

/// A row of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The job.
    pub case: Case,
    /// The required result.
    pub finds: Finds,
}

/// Required result of an exploration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finds {
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
    scripts: Vec<Vec<Call>>,
    reorder: ReorderFlags,
    finds: Finds,
) -> Row {
    Row {
        name: name.into(),
        case: Case {
            scripts,
            reorder,
            flaw: None,
            ends: Vec::new(),
        },
        finds,
    }
}
