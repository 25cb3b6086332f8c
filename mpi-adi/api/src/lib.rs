//! Every function of MPI that there is, once, as data: name, section of MPI-3.1, parameters with their kinds, and how far it
//! works ([`FUNCTIONS`]). A function is a row in `table.rs`, and a body in `mpi-adi/c/src`, which is compiled against its row.
//!
//! The entry points of C programs with their names of the profiling interface are made of the rows at compile time
//! ([`functions!`]), the headers ([`Header`], [`ProfilingHeader`]) by the command where it calls a compiler. `docs/mpi.md`
//! ([`Page`]) is kept in the repository: `MIDPLANE_WRITE=1 cargo test -p midplane-api` writes it anew, and the same test
//! fails without that when it is not what the table says.
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

/// A function of MPI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Where MPI-3.1 describes it.
    pub section: &'static str,
    /// The kind of its result.
    pub result: Kind,
    /// Its parameters, in order.
    pub parameters: &'static [Parameter],
    /// How far it works.
    pub state: State,
    /// Its comment in `mpi.h`, line by line.
    pub comment: &'static [&'static str],
}

/// A parameter of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
}

/// How far a function works.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// As the standard says.
    Works,
    /// Within these limits.
    Limited(&'static str),
    /// As the standard does not say: it is this function without blocking.
    Extension(&'static str),
    /// As versions of the standard before MPI-3.0 say, which has this function in its place.
    Removed(&'static str),
    /// Not at all: it returns MPI_ERR_UNSUPPORTED_OPERATION.
    Refused,
}

/// The limit of collectives that do not block.
const NOT_BLOCKING: &str =
    "4,096 started and not completed at one time; goes on while the program computes, too";

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
        /// All functions, in the order of sections and names.
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

/// The functions that are not supported.
pub fn refused() -> impl Iterator<Item = &'static Function> {
    let is_refused = |function: &&Function| function.state == State::Refused;
    FUNCTIONS.iter().filter(is_refused)
}

impl Function {
    /// The numbers of its section.
    fn numbers(&self) -> impl Iterator<Item = u32> {
        self.section.split('.').flat_map(str::parse)
    }

    /// The number of its chapter.
    fn chapter(&self) -> u32 {
        self.numbers().next().unwrap_or(0)
    }
}

/// The chapters that have functions, by their numbers.
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

/// The functions of a chapter.
fn of_chapter(chapter: u32) -> impl Iterator<Item = &'static Function> {
    FUNCTIONS
        .iter()
        .filter(move |function| function.chapter() == chapter)
}
