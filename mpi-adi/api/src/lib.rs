//! Table of all MPI functions as data: name, section of MPI-3.1, parameters with their kinds, and level of support
//! ([`FUNCTIONS`]). A function is a row in `table.rs` and a body in `mpi-adi/src/c`, which is compiled against its row.
//!
//! The rows generate the entry points of C programs and their profiling names at compile time ([`functions!`]). The
//! compiler command generates the headers ([`Header`], [`ProfilingHeader`]). `docs/mpi.md` ([`Page`]) is kept in the
//! repository: `MIDPLANE_WRITE=1 cargo test -p midplane-api` updates it. Without that variable, the test fails if it
//! differs from the table.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod header;
mod kinds;
mod page;
#[macro_use]
mod table;
#[cfg(test)]
mod tests;

pub use header::{Header, ProfilingHeader};
pub use kinds::{Kind, Spelling};
pub use page::Page;

/// An MPI function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function {
    /// Function name.
    pub name: &'static str,
    /// Section of MPI-3.1 that specifies it.
    pub section: &'static str,
    /// Kind of its result.
    pub result: Kind,
    /// Parameters in order.
    pub parameters: &'static [Parameter],
    /// Level of support.
    pub state: State,
    /// Comment in `mpi.h`, line by line.
    pub comment: &'static [&'static str],
}

/// A parameter of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Parameter name.
    pub name: &'static str,
    /// Parameter kind.
    pub kind: Kind,
}

/// Level of support of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Conforms to the standard.
    Works,
    /// Supported within these limits.
    Limited(&'static str),
    /// Extension to the standard: the nonblocking variant of this function.
    Extension(&'static str),
    /// Conforms to versions of the standard before MPI-3.0, which replaced it by this function.
    Removed(&'static str),
    /// Not supported: returns MPI_ERR_UNSUPPORTED_OPERATION.
    Refused,
}

/// Limit of nonblocking collectives.
const NOT_BLOCKING: &str = "at most 4,096 in progress; makes progress while the program computes";

macro_rules! state {
    () => {
        State::Works
    };
    (limited $limit:tt) => {
        State::Limited($limit)
    };
    (extension $twin:ident) => {
        State::Extension(stringify!($twin))
    };
    (removed $other:ident) => {
        State::Removed(stringify!($other))
    };
    (refused $whose:ident) => {
        State::Refused
    };
}

macro_rules! data {
    ($(
        $(#[doc = $line:literal])*
        $section:literal $result:ident $function:ident($($parameter:ident: $kind:ident),*) $($state:ident $detail:tt)?;
    )*) => {
        /// All functions, ordered by section and name.
        pub const FUNCTIONS: &[Function] = &[$(Function {
            name: stringify!($function),
            section: $section,
            result: Kind::$result,
            parameters: &[$(Parameter { name: stringify!($parameter), kind: Kind::$kind }),*],
            state: state!($($state $detail)?),
            comment: &[$($line),*],
        }),*];
    };
}

functions!(data);

/// Returns the functions that are not supported.
pub fn refused() -> impl Iterator<Item = &'static Function> {
    let is_refused = |function: &&Function| function.state == State::Refused;
    FUNCTIONS.iter().filter(is_refused)
}

impl Function {
    /// Returns the numbers of its section.
    fn numbers(&self) -> impl Iterator<Item = u32> {
        self.section.split('.').flat_map(str::parse)
    }

    fn chapter(&self) -> u32 {
        self.numbers().next().unwrap_or(0)
    }
}

/// Chapters that contain functions, by number.
const CHAPTERS: &[(u32, &str)] = &[
    (3, "Point-to-point communication"),
    (4, "Datatypes"),
    (5, "Collective communication"),
    (6, "Groups, contexts, communicators, and caching"),
    (7, "Process topologies"),
    (8, "Environmental management"),
    (9, "The info object"),
    (10, "Process creation and management"),
    (11, "One-sided communications"),
    (12, "External interfaces"),
    (13, "I/O"),
    (14, "Tool support"),
    (15, "Deprecated functions"),
    (16, "Removed interfaces"),
    (17, "Language bindings"),
];

/// Returns the functions of a chapter.
fn of_chapter(chapter: u32) -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.iter().filter(move |function| function.chapter() == chapter)
}
