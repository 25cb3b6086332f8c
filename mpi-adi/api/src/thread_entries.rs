//! Generator of the entry points of programs whose threads call MPI at the same time (MPI_THREAD_MULTIPLE).
//!
//! The functions of the runtime library are renamed ([`ThreadEntries::PREFIX`]). These entries have the names of MPI, and
//! take the lock of the library around the renamed function if the program has requested the level.

use core::fmt::{Display, Formatter, Result};

use crate::{CountForm, FUNCTIONS, Function, Spelling};

/// Text of the C source.
#[derive(Clone, Copy, Debug)]
pub struct ThreadEntries;

impl ThreadEntries {
    /// File name.
    pub const NAME: &str = "thread_entries.c";
    /// Prefix of the renamed functions, in front of the profiling name.
    pub const PREFIX: &str = "midplane_";

    /// Returns the profiling names of all functions and forms.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FUNCTIONS.iter().flat_map(Function::forms).map(|(_, name)| name)
    }
}

/// Beginnings of the names of functions that change nothing that another thread waits for, except by progress: threads that
/// wait are not woken for them.
const QUERIES: [&str; 11] = [
    "MPI_Comm_rank",
    "MPI_Comm_size",
    "MPI_Get_count",
    "MPI_Get_elements",
    "MPI_Improbe",
    "MPI_Iprobe",
    "MPI_Parrived",
    "MPI_Request_get_status",
    "MPI_Test",
    "MPI_Wtick",
    "MPI_Wtime",
];

impl Display for ThreadEntries {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(
            "/* The functions of MPI for a program that may request MPI_THREAD_MULTIPLE. */\n\
             #include <mpi.h>\n\
             #include <pmpi.h>\n\n\
             const char midplane_thread_entries[] = \"MPI_THREAD_MULTIPLE\";\n\
             extern const volatile unsigned char midplane_threads_are_enabled;\n\
             void midplane_thread_enter(int changes);\n\
             void midplane_thread_leave(void);\n",
        )?;
        for function in FUNCTIONS {
            for (form, name) in function.forms() {
                entry(f, name, function, form)?;
            }
        }
        Ok(())
    }
}

/// Writes the entry of a form of a function, and its alias without the profiling prefix.
fn entry(f: &mut Formatter<'_>, name: &str, function: &Function, form: CountForm) -> Result {
    let changes = !QUERIES.iter().any(|query| name.starts_with(query));
    let (result, serial) = (function.result.c().before, ThreadEntries::PREFIX);
    write!(f, "\n{result}{serial}P{name}(")?;
    parameters(f, function, form)?;
    write!(f, ");\n{result}P{name}(")?;
    parameters(f, function, form)?;
    write!(
        f,
        ")\n{{\n    if (!midplane_threads_are_enabled)\n        return {serial}P{name}("
    )?;
    arguments(f, function)?;
    write!(
        f,
        ");\n    midplane_thread_enter({});\n    {result}midplane_result = {serial}P{name}(",
        u8::from(changes)
    )?;
    arguments(f, function)?;
    f.write_str(");\n    midplane_thread_leave();\n    return midplane_result;\n}\n")?;
    write!(f, "{result}{name}(")?;
    parameters(f, function, form)?;
    writeln!(f, ") __attribute__((weak, alias(\"P{name}\")));")
}

/// Writes the parameters of a prototype.
fn parameters(f: &mut Formatter<'_>, function: &Function, form: CountForm) -> Result {
    for (at, parameter) in function.parameters.iter().enumerate() {
        let Spelling { before, after } = form.kind(parameter).c();
        let comma = if at > 0 { ", " } else { "" };
        write!(f, "{comma}{before}{}{after}", parameter.name)?;
    }
    f.write_str(if function.parameters.is_empty() { "void" } else { "" })
}

/// Writes the arguments of a call with the same names.
fn arguments(f: &mut Formatter<'_>, function: &Function) -> Result {
    for (at, parameter) in function.parameters.iter().enumerate() {
        let comma = if at > 0 { ", " } else { "" };
        write!(f, "{comma}{}", parameter.name)?;
    }
    Ok(())
}
