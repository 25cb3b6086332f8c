//! Generator of `docs/mpi.md`.

use core::fmt::{Display, Formatter, Result};

use crate::{CHAPTERS, FUNCTIONS, Function, State, of_chapter};

/// Text of the documentation page that lists all functions.
#[derive(Clone, Copy, Debug)]
pub struct Page;

impl Display for Page {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let count = |is_it: fn(State) -> bool| {
            let states = FUNCTIONS.iter().map(|function| function.state);
            states.filter(|state| is_it(*state)).count()
        };
        let works = count(|state| matches!(state, State::Works | State::Removed(_)));
        let limited = count(|state| matches!(state, State::Limited(_) | State::Extension(_)));
        let refused = count(|state| state == State::Refused);
        write!(
            f,
            "# MPI-3.1, function by function\n\n\
             A test of `mpi-adi/api` generates this page from the table of functions (`mpi-adi/api/src/table.rs`), and fails if the\n\
             page is out of date. `mpi.h` declares all constants and types, with their limits (`mpi-adi/api/src/head.h`). Every\n\
             function also has its name of the profiling interface (`PMPI_`, section 14.2).\n\n\
             Of {} functions {works} work, {limited} work with limits, and {refused} link and return an error; none is missing. The\n\
             linker names each call of a function that returns an error, with its line.\n",
            FUNCTIONS.len(),
        )?;
        for (number, title) in CHAPTERS {
            write!(f, "\n## {number}. {title}\n\n| function | section | |\n|---|---|---|\n")?;
            for function in of_chapter(*number) {
                row(f, function)?;
            }
        }
        Ok(())
    }
}

/// Writes the row of a function.
fn row(f: &mut Formatter<'_>, function: &Function) -> Result {
    let Function { name, section, .. } = function;
    write!(f, "| `{name}` | {section} | ")?;
    match function.state {
        State::Works | State::Removed(_) => f.write_str("works"),
        State::Limited(limit) => write!(f, "works; {limit}"),
        State::Extension(_) => {
            f.write_str("works; an extension of MPI: the nonblocking form of a function of this section (docs/rma.md)")
        }
        State::Refused => f.write_str("links; MPI_ERR_UNSUPPORTED_OPERATION"),
    }?;
    f.write_str(" |\n")
}
