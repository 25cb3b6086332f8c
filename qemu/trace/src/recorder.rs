//! Generator of the recorder: C source with a wrapper for each MPI function.

use crate::record::{COUNTER_NAMES, Field, Form, Phase, fields, request_count};
use midplane_api::{FUNCTIONS, Function, Kind, State};
use std::fmt::{Display, Formatter, Result};

/// Hand-written part: the stream, and the records of objects.
const RUNTIME: &str = include_str!("recorder.c");

/// Text of the recorder's source.
#[derive(Clone, Copy, Debug)]
pub struct Recorder;

impl Recorder {
    /// File name.
    pub const NAME: &str = "recorder.c";
    /// Symbol of a node's ring buffer.
    pub const SYMBOL: &str = "MIDPLANE_CALLS";
    /// Environment variable of a process with the directory of the records.
    pub const VARIABLE: &str = "MIDPLANE_CALLS";
}

impl Display for Recorder {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("#define MIDPLANE_COUNTER_NAMES")?;
        for name in COUNTER_NAMES {
            write!(f, " \"{name}\",")?;
        }
        writeln!(f, "\n\n{RUNTIME}")?;
        for (index, function) in FUNCTIONS.iter().enumerate() {
            if is_recorded(function) {
                wrapper(f, index, function)?;
            }
        }
        Ok(())
    }
}

/// Functions that are not recorded: local queries that programs repeat, and the functions that the recorder uses while
/// it records.
const UNRECORDED: [&str; 11] = [
    "MPI_Comm_rank",
    "MPI_Comm_size",
    "MPI_Finalized",
    "MPI_Get_address",
    "MPI_Get_count",
    "MPI_Get_elements",
    "MPI_Get_elements_x",
    "MPI_Initialized",
    "MPI_Is_thread_main",
    "MPI_Pcontrol",
    "MPI_Query_thread",
];

/// Checks whether calls of a function are recorded.
#[must_use]
pub fn is_recorded(function: &Function) -> bool {
    function.result == Kind::Int
        && function.state != State::Refused
        && !function.name.starts_with("MPI_T_")
        && !UNRECORDED.contains(&function.name)
}

/// Returns the arguments as a C expression list.
fn arguments(function: &Function) -> String {
    let names: Vec<&str> = function.parameters.iter().map(|parameter| parameter.name).collect();
    names.join(", ")
}

fn wrapper(f: &mut Formatter<'_>, index: usize, function: &Function) -> Result {
    let name = function.name;
    write!(f, "\n__attribute__((weak)) int {name}(")?;
    for (at, parameter) in function.parameters.iter().enumerate() {
        let spelling = parameter.kind.c();
        let comma = if at > 0 { ", " } else { "" };
        write!(f, "{comma}{}{}{}", spelling.before, parameter.name, spelling.after)?;
    }
    let arguments = arguments(function);
    writeln!(f, "{})\n{{", if function.parameters.is_empty() { "void" } else { "" })?;
    let is_start = name.starts_with("MPI_Init");
    writeln!(f, "    int midplane_result;")?;
    if is_start {
        writeln!(
            f,
            "    midplane_result = P{name}({arguments});\n    if (midplane_result == MPI_SUCCESS)\n        midplane_open();"
        )?;
    }
    ignored_statuses(f, function)?;
    writeln!(f, "    if (midplane_is_open) {{")?;
    writeln!(f, "        midplane_begin(MIDPLANE_ENTER, {index});")?;
    writeln!(
        f,
        "        midplane_put(MIDPLANE_ADDRESS(__builtin_return_address(0)));"
    )?;
    for field in fields(function, Phase::Enter) {
        writeln!(f, "        {}", put(function, &field))?;
    }
    writeln!(f, "        midplane_commit();\n    }}")?;
    if !is_start {
        writeln!(f, "    midplane_result = P{name}({arguments});")?;
    }
    writeln!(f, "    if (midplane_is_open) {{")?;
    writeln!(f, "        midplane_begin(MIDPLANE_LEAVE, {index});")?;
    writeln!(f, "        midplane_put(MIDPLANE_WORD(midplane_result));")?;
    for field in fields(function, Phase::Leave) {
        writeln!(f, "        {}", put(function, &field))?;
    }
    writeln!(f, "        midplane_commit();")?;
    if name == "MPI_Finalize" {
        writeln!(f, "        midplane_record_counters(1);")?;
    } else {
        writeln!(f, "        midplane_record_counters(0);")?;
    }
    created_objects(f, function)?;
    writeln!(f, "    }}")?;
    if has_statuses(function) {
        writeln!(f, "    free(midplane_own_statuses);")?;
    }
    writeln!(f, "    return midplane_result;\n}}")
}

fn has_statuses(function: &Function) -> bool {
    function
        .parameters
        .iter()
        .any(|parameter| parameter.kind == Kind::StatusesOut)
}

/// Replaces ignored statuses: the records contain the source and the tag of each message.
fn ignored_statuses(f: &mut Formatter<'_>, function: &Function) -> Result {
    for parameter in function.parameters {
        let name = parameter.name;
        match parameter.kind {
            Kind::StatusOut => writeln!(
                f,
                "    MPI_Status midplane_own_status = {{0}};\n    if ({name} == MPI_STATUS_IGNORE)\n        {name} = \
                 &midplane_own_status;"
            )?,
            Kind::StatusesOut => {
                let count = request_count(function);
                writeln!(
                    f,
                    "    MPI_Status *midplane_own_statuses = NULL;\n    if ({name} == MPI_STATUSES_IGNORE && \
                     (midplane_own_statuses = midplane_statuses({count})) != NULL)\n        {name} = \
                     midplane_own_statuses;"
                )?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Records the objects that a call has created.
fn created_objects(f: &mut Formatter<'_>, function: &Function) -> Result {
    // The communicator of a nonblocking duplication does not exist yet. Members are those of the original.
    if function.name == "MPI_Comm_idup" {
        return Ok(());
    }
    for parameter in function.parameters {
        let record = match parameter.kind {
            Kind::CommOut => "communicator",
            Kind::GroupOut => "group",
            Kind::DatatypeOut => "datatype",
            _ => continue,
        };
        writeln!(
            f,
            "        if (midplane_result == MPI_SUCCESS)\n            midplane_record_{record}(*{});",
            parameter.name
        )?;
    }
    Ok(())
}

/// Returns the C statement that records a field.
fn put(function: &Function, field: &Field) -> String {
    let parameter = &function.parameters[field.parameter];
    let name = parameter.name;
    match &field.form {
        Form::Value => format!("midplane_put(MIDPLANE_WORD({name}));"),
        Form::Address => format!("midplane_put(MIDPLANE_ADDRESS({name}));"),
        Form::Pointee => format!("midplane_put({name} == NULL ? 0 : MIDPLANE_WORD(*{name}));"),
        Form::PointerPointee => {
            format!("midplane_put({name} == NULL ? 0 : MIDPLANE_ADDRESS(*(void **){name}));")
        }
        Form::Status => format!("midplane_put_status({name});"),
        Form::Statuses(count) => {
            format!("midplane_put_statuses({name} == MPI_STATUSES_IGNORE ? NULL : {name}, {count});")
        }
        Form::Ints(count) => format!("midplane_put_ints((const int *){name}, {count});"),
        Form::Aints(count) => format!("midplane_put_aints({name}, {count});"),
    }
}
