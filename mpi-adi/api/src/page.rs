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
        let large = FUNCTIONS.iter().filter(|function| function.large.is_some()).count();
        write!(
            f,
            "# MPI-3.1, function by function\n\n\
             A test of `mpi-adi/api` generates this page from the table of functions (`mpi-adi/api/src/table.rs`), and fails if the\n\
             page is out of date. `mpi.h` declares all constants and types, with their limits (`mpi-adi/api/src/head.h`). Every\n\
             function also has its name of the profiling interface (`PMPI_`, section 14.2). Functions of MPI-4 and MPI-5 are in\n\
             the sections of the related ones.\n\n\
             `mpi.h` has the types, constants and functions of the standard ABI (MPI-5.0 chapter 20) and some more, and\n\
             `MPI_VERSION` is 5. [The shared library](how-to/use-the-shared-library.md) has them for programs of other compilers.\n\n\
             Of {} functions {works} work, and {limited} work with limits; none is missing.\n\n\
             {large} functions also have their large-count form of MPI-4 (`MPI_Send_c`), with counts of type `MPI_Count` and\n\
             the same behaviour. Error messages, traces and checks name the first form.\n",
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
    write!(f, "| `{name}`")?;
    if let Some(large) = function.large {
        write!(f, ", `{large}`")?;
    }
    write!(f, " | {section} | ")?;
    match function.state {
        State::Works | State::Removed(_) => f.write_str("works"),
        State::Limited(limit) => write!(f, "works; {limit}"),
        State::Extension(_) => {
            f.write_str("works; an extension of MPI: the nonblocking form of a function of this section (docs/rma.md)")
        }
    }?;
    f.write_str(" |\n")
}
