//! What a row of the table is.

use midplane_device::rma::epochs::Reorder;

use crate::epochs::explore::Case;
use crate::epochs::script::Call;

/// A row of the table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The job.
    pub case: Case,
    /// What must be found.
    pub finds: Finds,
}

/// What an exploration must find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finds {
    /// All holds.
    Sound,
    /// Something is broken, and this does not hold.
    Broken(&'static str),
}

/// No epoch passes another.
pub const IN_ORDER: Reorder = Reorder {
    access_after_access: false,
    access_after_exposure: false,
    exposure_after_exposure: false,
    exposure_after_access: false,
};
/// All that may be passed is.
pub const ANY_ORDER: Reorder = Reorder {
    access_after_access: true,
    access_after_exposure: true,
    exposure_after_exposure: true,
    exposure_after_access: true,
};

pub(super) fn row(
    name: impl Into<String>,
    scripts: Vec<Vec<Call>>,
    reorder: Reorder,
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
