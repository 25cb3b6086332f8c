//! The ABI of MPICH (`libmpi.so.12`) as a translation in C over the functions of the standard ABI: [`MpichEntries`].
//!
//! The ABI is that of MPICH 3.1 and later, Intel MPI, MVAPICH and others: handles are ints, a status has 20 bytes, and most
//! constants have other values than the standard's.
//!
//! | part of the source | file |
//! |---|---|
//! | types, macros | `head.c` |
//! | values of constants | [`constants`], as tables and functions in C ([`tables`]) |
//! | conversion of values | `conversions.c` |
//! | callbacks of the program | `callbacks.c` |
//! | functions that require more than a conversion of arguments, variables | `bodies.c` |
//! | all other functions, generated from the function table | [`entries`] |
//! | calls on many requests without memory | `pieces.c` |
//!
//! The language is C, because the two sides are C's types of two headers, which the compiler checks, and because the
//! library then contains no second runtime: it is one object, compiled in a few seconds where the standard's library is
//! linked.
//!
//! A handle of the program's objects has the same value in both ABIs, except for its highest bit in some types. A call
//! converts scalars without memory; arrays of handles and statuses are converted on the stack up to 1,536 bytes, and beyond
//! that in the heap of the program. If it is full, calls on requests proceed in pieces, and others return MPI_ERR_NO_MEM.

mod constants;
mod entries;
mod tables;

use core::fmt::{Display, Formatter, Result};

use crate::ThreadEntries;

/// Text of the C source.
#[derive(Clone, Copy, Debug)]
pub struct MpichEntries;

impl MpichEntries {
    /// File name.
    pub const NAME: &str = "mpich_entries.c";
    /// Prefix of the functions of the standard ABI, as the source calls them: other names of the same functions, because
    /// both libraries define the names of MPI.
    pub const PREFIX: &str = entries::PREFIX;
    /// Other symbols that the source requires of the standard's library.
    pub const REQUIRED: [&str; 8] = [
        "midplane_adapt_errhandler",
        "midplane_adapt_keyval",
        "midplane_adapt_operation",
        "midplane_comm_idup",
        "midplane_partners",
        "midplane_thread_enter",
        "midplane_thread_leave",
        "midplane_threads_are_enabled",
    ];
    /// Symbols that programs of MPICH refer to, except functions of MPI.
    pub const SYMBOLS: [&str; 8] = [
        "MPIR_Dup_fn",
        "MPI_F08_STATUSES_IGNORE",
        "MPI_F08_STATUS_IGNORE",
        "MPI_F_STATUSES_IGNORE",
        "MPI_F_STATUS_IGNORE",
        "MPI_T_PVAR_ALL_HANDLES",
        "MPI_UNWEIGHTED",
        "MPI_WEIGHTS_EMPTY",
    ];
}

impl Display for MpichEntries {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(include_str!("head.c"))?;
        for name in ThreadEntries::names() {
            writeln!(f, "extern __typeof__(P{name}) {}{name};", Self::PREFIX)?;
        }
        write!(f, "{}", tables::Tables)?;
        f.write_str(include_str!("conversions.c"))?;
        f.write_str(include_str!("callbacks.c"))?;
        f.write_str(include_str!("bodies.c"))?;
        write!(f, "{}", entries::Entries)?;
        f.write_str(include_str!("pieces.c"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::string::ToString;

    use super::constants::{BASIC_DATATYPES, CONSTANTS, HANDLES, MASKS};
    use super::entries::WRITTEN;
    use super::*;
    use crate::header::HAND_WRITTEN;

    #[test]
    fn functions_with_a_body_are_in_the_table_and_have_one() {
        let bodies = concat!(include_str!("callbacks.c"), include_str!("bodies.c"));
        let names: BTreeSet<&str> = ThreadEntries::names().collect();
        for name in WRITTEN {
            assert!(names.contains(name), "{name}");
            let is_defined = |start: &str| bodies.contains(&std::format!("{start}({name}"));
            let macros = [
                "COPY_STATUS",
                "CREATE_ERRHANDLER",
                "CREATE_KEYVAL",
                "CREATE_OP",
                "GET_ATTRIBUTE",
            ];
            let is_entry = bodies.contains(&std::format!("ENTRY(int, {name},"));
            assert!(
                is_entry || is_defined("REGISTER_DATAREP") || macros.into_iter().any(is_defined),
                "{name}"
            );
        }
        let text = MpichEntries.to_string();
        let generated = names.iter().filter(|name| !WRITTEN.contains(name));
        for name in generated {
            assert_eq!(text.matches(&std::format!(", {name}, (")).count(), 1, "{name}");
        }
    }

    /// A handle or a constant that is missing would remain as it is.
    #[test]
    fn all_handles_and_error_classes_of_the_header_are_converted() {
        let converted: BTreeSet<&str> = { CONSTANTS.iter().chain(&MASKS) }
            .flat_map(|group| group.values)
            .map(|(name, _)| *name)
            .chain(HANDLES.iter().flat_map(|group| group.values).map(|(name, _)| *name))
            .chain(BASIC_DATATYPES.map(|(name, _)| name))
            .collect();
        for line in HAND_WRITTEN.lines() {
            let mut words = line.split_whitespace();
            let (Some("#define"), Some(name), Some(value)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let is_handle = value.starts_with("MIDPLANE_HANDLE(MPI_") && !value.contains("MPI_T_");
            let is_class = name.starts_with("MPI_ERR_") || name.starts_with("MPI_T_ERR_");
            let is_file = name == "MPI_FILE_NULL";
            assert!(
                !(is_handle || is_class) || is_file || converted.contains(name),
                "{name}"
            );
        }
    }
}
