//! Variables for tools: what a job's options have set, and what the device holds at the moment (MPI-3.1 section 14.3).
//!
//! ```
//! # use midplane_rust as mpi;
//! /// Bytes of MPI memory in use on this node.
//! fn memory_used() -> Option<u64> {
//!     let mut variables = mpi::tools::performance_variables();
//!     variables.find(|variable| variable.name() == "mpi_memory_used")?.read()
//! }
//! ```
//!
//! | calls of MPI | here |
//! |---|---|
//! | MPI_T_cvar_get_num, _get_info, _get_index, _read | [`control_variables`], and [`Variable`] |
//! | MPI_T_cvar_write | [`set_eager_limit`]: there is one that can be set |
//! | MPI_T_pvar_get_num, _get_info, _get_index, _read, of class level | [`performance_variables`], and [`Variable`] |
//! | MPI_T_category_get_info and the others | [`Variable::category`] |
//!
//! What C has besides is the node's counters of the job's report, as performance variables of other classes. No call blocks
//! or takes memory, and none needs MPI to be started.
#![forbid(unsafe_code)]

use core::fmt;

use super::process::ask;
use midplane_device::interface::Device;
use midplane_objects::error::{Error, Misplaced};
use midplane_objects::variables;
use midplane_objects::variables::{CONTROL, LEVELS};

pub use midplane_objects::variables::Category;

/// A variable.
#[derive(Clone, Copy)]
pub struct Variable(&'static variables::Variable);

impl Variable {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// What it means, and in which unit it is.
    pub fn description(&self) -> &'static str {
        self.0.meaning
    }

    /// What it is about.
    pub fn category(&self) -> Category {
        self.0.category
    }

    /// Its value now; `None` before there is a process, and after its end.
    pub fn read(&self) -> Option<u64> {
        ask(|env| env.measure(self.0.measure))
    }
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Variable").field(&self.0.name).finish()
    }
}

/// What the job's options have set: MPI memory, heap, matching engine (by its number among all), and the greatest message
/// whose data does not wait for an answer.
pub fn control_variables() -> impl ExactSizeIterator<Item = Variable> {
    static ALL: [variables::Variable; 4] = CONTROL;
    ALL.iter().map(Variable)
}

/// What there is at the moment: receives posted, messages that have come before them, memory in use, requests.
pub fn performance_variables() -> impl ExactSizeIterator<Item = Variable> {
    static ALL: [variables::Variable; 5] = LEVELS;
    ALL.iter().map(Variable)
}

/// From now on the data of messages of this process up to so many bytes does not wait for the receiver's answer
/// (MPI_T_cvar_write of `eager_limit`). A greater limit than there can be is the greatest. Fails with [`Error::Order`] before
/// there is a process, and after its end.
pub fn set_eager_limit(bytes: usize) -> Result<(), Error> {
    let set = ask(|env| env.set_eager_limit(bytes));
    set.ok_or(Error::order(Misplaced::WithoutProcess))
}
