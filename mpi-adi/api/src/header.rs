//! Generators of `mpi.h` and `pmpi.h`.

use core::fmt::{Display, Formatter, Result};

use crate::{CHAPTERS, CountForm, FUNCTIONS, Function, Spelling, State, of_chapter};

/// Hand-written part of `mpi.h`: types and constants.
pub(crate) const HAND_WRITTEN: &str = include_str!("head.h");
/// Marker for the position of the functions.
const PLACE: &str = "/* FUNCTIONS */\n";
/// Maximum line length.
const COLUMNS: usize = 110;

/// Text of `mpi.h`.
#[derive(Clone, Copy, Debug)]
pub struct Header;

impl Header {
    /// File name.
    pub const NAME: &str = "mpi.h";
}

impl Display for Header {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (head, end) = HAND_WRITTEN.split_once(PLACE).unwrap_or_default();
        f.write_str(head)?;
        for (number, title) in CHAPTERS {
            write!(f, "/* ---- Chapter {number}: {title} ---- */\n\n")?;
            for function in of_chapter(*number) {
                explain(f, function)?;
                for (form, name) in function.forms() {
                    declare(f, "", name, function, form)?;
                }
                if let (State::Extension(_), Some(name)) = (function.state, function.name.strip_prefix("MPI_")) {
                    writeln!(f, "#define MPIX_{name} MPI_{name}")?;
                }
            }
            f.write_str("\n")?;
        }
        f.write_str(end.trim_start())
    }
}

/// Text of `pmpi.h`.
#[derive(Clone, Copy, Debug)]
pub struct ProfilingHeader;

impl ProfilingHeader {
    /// File name.
    pub const NAME: &str = "pmpi.h";
}

impl Display for ProfilingHeader {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(
            "/* The profiling interface (MPI-3.1 section 14.2): every function of mpi.h by its other name. A program that\n \
             * defines an MPI function itself calls by it what Midplane has under that name. */\n",
        )?;
        for function in FUNCTIONS {
            for (form, name) in function.forms() {
                declare(f, "P", name, function, form)?;
            }
        }
        Ok(())
    }
}

/// Writes the comment before a function, and the marker that makes the compiler report a removed function.
fn explain(f: &mut Formatter<'_>, function: &Function) -> Result {
    let (label, text) = match function.state {
        State::Limited(limit) => ("Limits:", limit),
        State::Extension(twin) => ("An extension, without blocking:", twin),
        State::Works | State::Removed(_) => ("", ""),
    };
    let texts = function.comment.iter().copied().chain([label, text]);
    let mut column = 0;
    for word in texts.flat_map(str::split_whitespace) {
        // Reserves space for the blank and the end of the comment.
        if column + 1 + word.len() + " */".len() > COLUMNS {
            f.write_str("\n *")?;
            column = 2;
        } else if column == 0 {
            f.write_str("/*")?;
            column = 2;
        }
        write!(f, " {word}")?;
        column += 1 + word.len();
    }
    if column > 0 {
        f.write_str(" */\n")?;
    }
    match function.state {
        State::Removed(instead) => writeln!(f, "MIDPLANE_REMOVED(\"{instead}\")"),
        _ => Ok(()),
    }
}

/// Writes the prototype of a form of a function, whose name begins with `prefix`.
fn declare(f: &mut Formatter<'_>, prefix: &str, name: &str, function: &Function, form: CountForm) -> Result {
    let result = function.result.c().before;
    write!(f, "{result}{prefix}{name}(")?;
    let indent = result.len() + prefix.len() + name.len() + 1;
    let mut column = indent;
    for (at, parameter) in function.parameters.iter().enumerate() {
        let Spelling { before, after } = form.kind(parameter).c();
        let length = before.len() + parameter.name.len() + after.len() + ",".len();
        if at > 0 && column + " ".len() + length > COLUMNS {
            write!(f, ",\n{:indent$}", "")?;
            column = indent;
        } else if at > 0 {
            f.write_str(", ")?;
            column += 1;
        }
        write!(f, "{before}{}{after}", parameter.name)?;
        column += length;
    }
    let none = match function.parameters {
        [] => "void",
        _ => "",
    };
    writeln!(f, "{none});")
}
