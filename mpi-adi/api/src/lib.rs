//! Table of all MPI functions as data: name, section of MPI-3.1, parameters with their kinds, and level of support
//! ([`FUNCTIONS`]). A function is a row in `table.rs` and a body in `mpi-adi/src/c`, which is compiled against its row.
//!
//! The rows generate the entry points of C programs and their profiling names at compile time ([`functions!`]). The
//! compiler command generates the headers ([`Header`], [`ProfilingHeader`]). `docs/mpi.md` ([`Page`]) is kept in the
//! repository: `MIDPLANE_WRITE=1 cargo test -p midplane-api` updates it. Without that variable, the test fails if it
//! differs from the table.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod fortran;
mod header;
mod kinds;
mod mpich;
mod page;
#[macro_use]
mod table;
#[cfg(test)]
mod tests;
mod thread_entries;

pub use header::{Header, ProfilingHeader};
pub use kinds::{Kind, Spelling};
pub use mpich::MpichEntries;
pub use page::Page;
pub use thread_entries::ThreadEntries;

/// An MPI function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function {
    /// Function name.
    pub name: &'static str,
    /// Name of its large-count form (MPI-4.0 section 2.5.8), which has the parameters [`Kind::large`].
    pub large: Option<&'static str>,
    /// Section of MPI-3.1 that specifies it; of a function of a later version, the section of the related ones.
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
}

macro_rules! large {
    () => {
        None
    };
    ($large:ident) => {
        Some(stringify!($large))
    };
}

macro_rules! data {
    ($(
        $(#[doc = $line:literal])*
        $section:literal $result:ident $function:ident $(| $large:ident)?($($parameter:ident: $kind:ident),*)
            $($state:ident $detail:tt)?;
    )*) => {
        /// All functions, ordered by section and name.
        pub const FUNCTIONS: &[Function] = &[$(Function {
            name: stringify!($function),
            large: large!($($large)?),
            section: $section,
            result: Kind::$result,
            parameters: &[$(Parameter { name: stringify!($parameter), kind: Kind::$kind }),*],
            state: state!($($state $detail)?),
            comment: &[$($line),*],
        }),*];
    };
}

functions!(data);

/// Form of a function: with counts and displacements of type `int`, or large ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountForm {
    /// With `int`.
    Int,
    /// With `MPI_Count` and `MPI_Aint`.
    Large,
}

impl CountForm {
    /// Returns the kind of a parameter in this form.
    #[must_use]
    pub const fn kind(self, parameter: &Parameter) -> Kind {
        match self {
            CountForm::Int => parameter.kind,
            CountForm::Large => parameter.kind.large(),
        }
    }
}

impl Function {
    /// Returns the forms of the function with their names.
    pub fn forms(&self) -> impl Iterator<Item = (CountForm, &'static str)> {
        let large = self.large.map(|name| (CountForm::Large, name));
        core::iter::once((CountForm::Int, self.name)).chain(large)
    }

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
