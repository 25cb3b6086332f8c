//! MPI_T variables for tools: the job's configuration and the device's current state (MPI-3.1 section 14.3).
//!
//! ```
//! # use midplane_rust as mpi;
//! /// Returns the MPI memory in use on this node, in bytes.
//! fn memory_used() -> Option<u64> {
//!     let mut variables = mpi::tools::performance_variables();
//!     variables.find(|variable| variable.name() == "mpi_memory_used")?.read()
//! }
//! ```
//!
//! | calls of MPI | here |
//! |---|---|
//! | MPI_T_cvar_get_num, _get_info, _get_index, _read | [`control_variables`], and [`ToolVariable`] |
//! | MPI_T_cvar_write | [`set_eager_limit`], the only writable variable |
//! | MPI_T_pvar_get_num, _get_info, _get_index, _read, of class level | [`performance_variables`], and [`ToolVariable`] |
//! | MPI_T_category_get_info and the others | [`ToolVariable::category`] |
//!
//! Only C provides the node's counters of the job report, as performance variables of other classes. No call blocks,
//! allocates memory or requires an initialized MPI.
#![forbid(unsafe_code)]

use core::fmt;

use super::process::ask;
use midplane_device::interface::Device;
use midplane_objects::error::{CallOrder, Error};
use midplane_objects::variables;
use midplane_objects::variables::{CONTROL, LEVELS};

pub use midplane_objects::variables::VariableCategory;

/// A control or performance variable.
#[derive(Clone, Copy)]
pub struct ToolVariable(&'static variables::ToolVariable);

impl ToolVariable {
    /// Returns its name.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// Returns its meaning and unit.
    pub fn description(&self) -> &'static str {
        self.0.meaning
    }

    /// Returns its category.
    pub fn category(&self) -> VariableCategory {
        self.0.category
    }

    /// Returns its current value, or `None` without a process.
    pub fn read(&self) -> Option<u64> {
        ask(|env| env.measure(self.0.measure))
    }
}

impl fmt::Debug for ToolVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Variable").field(&self.0.name).finish()
    }
}

/// Returns the job's configuration: MPI memory, heap, index of the matching engine, eager limit (no CTS up to it).
pub fn control_variables() -> impl ExactSizeIterator<Item = ToolVariable> {
    static ALL: [variables::ToolVariable; 4] = CONTROL;
    ALL.iter().map(ToolVariable)
}

/// Returns the current levels: posted receives, unexpected messages, memory in use, requests.
pub fn performance_variables() -> impl ExactSizeIterator<Item = ToolVariable> {
    static ALL: [variables::ToolVariable; 5] = LEVELS;
    ALL.iter().map(ToolVariable)
}

/// Sets the eager limit of this process in bytes (MPI_T_cvar_write of `eager_limit`): larger messages wait for a CTS. A
/// limit over the maximum is set to the maximum. Returns [`Error::Order`] without a process.
pub fn set_eager_limit(bytes: usize) -> Result<(), Error> {
    let set = ask(|env| env.set_eager_limit(bytes));
    set.ok_or(Error::order(CallOrder::WithoutProcess))
}
