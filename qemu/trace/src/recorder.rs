//! Generator of the recorder: C source, with a wrapper for each MPI function if the program is in C. A large-count form is
//! recorded as its function.

use crate::buffers::{BlockCount, BufferAccess, UsedBy, buffers};
use crate::operations::is_nonblocking_duplication;
use crate::record::{Field, Form, MAX_STREAM_WORDS, Phase, fields, request_count};
use midplane_abi::counters::TRACED;
use midplane_api::fortran::procedures;
use midplane_api::{CountForm, FUNCTIONS, Function, Kind};
use std::fmt::{Display, Formatter, Result};

/// Hand-written part of both recorders: the stream.
const STREAM: &str = include_str!("stream.c");
/// That of C programs: the records of objects.
const RUNTIME: &str = include_str!("recorder.c");
/// That of Rust programs, whose binding composes the records.
const RUST_RUNTIME: &str = include_str!("rust.c");

/// Text of the recorder's source, by the language of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recorder {
    /// C, C++ or Fortran: a wrapper for each function.
    C,
    /// Rust: the functions that the binding calls.
    Rust,
}

impl Recorder {
    /// Symbol of a node's ring buffer; a process contains it as a mark.
    pub const SYMBOL: &str = "MIDPLANE_CALLS";
    /// Environment variable that enables the recorder; of a process, the directory of the records.
    pub const VARIABLE: &str = "MIDPLANE_CALLS";

    /// Returns the name of its file.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Recorder::C => "recorder.c",
            Recorder::Rust => "recorder_rust.c",
        }
    }
}

impl Display for Recorder {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "#define MIDPLANE_MAX_STREAM_WORDS {MAX_STREAM_WORDS}")?;
        match self {
            Recorder::C => c_recorder(f),
            Recorder::Rust => rust_recorder(f),
        }
    }
}

fn c_recorder(f: &mut Formatter<'_>) -> Result {
    f.write_str("#define MIDPLANE_COUNTER_NAMES")?;
    for counter in TRACED {
        write!(f, " \"{}\",", counter.about().name)?;
    }
    writeln!(f, "\n\n{STREAM}\n{RUNTIME}")?;
    fortran_entries(f)?;
    for (index, function) in FUNCTIONS.iter().enumerate() {
        if is_recorded(function) {
            for (form, name) in function.forms() {
                wrapper(f, index, function, form, name)?;
            }
        }
    }
    Ok(())
}

fn rust_recorder(f: &mut Formatter<'_>) -> Result {
    f.write_str("#define MIDPLANE_COUNTER_INDICES")?;
    for counter in TRACED {
        write!(f, " {},", counter as usize)?;
    }
    f.write_str("\n#define MIDPLANE_FUNCTION_NAMES")?;
    for function in FUNCTIONS {
        write!(f, " \\\n    \"{}\",", function.name)?;
    }
    // All ranks of the simulator share the variables of a Rust program that are not thread-local.
    writeln!(
        f,
        "\n#if defined(__linux__)\n#define MIDPLANE_STATE static __thread\n#endif\n\n{STREAM}\n{RUST_RUNTIME}"
    )
}

/// Functions that are not recorded: local queries that programs repeat, those for processes that come and go, which a
/// recorded job does not have, and the functions that the recorder uses while it records.
const UNRECORDED: [&str; 21] = [
    "MPI_Close_port",
    "MPI_Comm_accept",
    "MPI_Comm_connect",
    "MPI_Comm_join",
    "MPI_Comm_rank",
    "MPI_Comm_size",
    "MPI_Comm_spawn",
    "MPI_Comm_spawn_multiple",
    "MPI_Finalized",
    "MPI_Get_address",
    "MPI_Get_count",
    "MPI_Get_elements",
    "MPI_Get_elements_x",
    "MPI_Initialized",
    "MPI_Is_thread_main",
    "MPI_Lookup_name",
    "MPI_Open_port",
    "MPI_Pcontrol",
    "MPI_Publish_name",
    "MPI_Query_thread",
    "MPI_Unpublish_name",
];

/// Checks whether calls of a function are recorded.
#[must_use]
pub fn is_recorded(function: &Function) -> bool {
    function.result == Kind::Int
        && !function.name.starts_with("MPI_T_")
        // The result is a handle.
        && !function.name.ends_with("_toint")
        && !UNRECORDED.contains(&function.name)
}

/// Writes the entry points of Fortran that store their caller, for the functions that are recorded.
fn fortran_entries(f: &mut Formatter<'_>) -> Result {
    writeln!(f, "\n#if defined(MIDPLANE_FORTRAN)")?;
    for procedure in procedures().filter(|procedure| is_recorded(procedure.function)) {
        let name = procedure.function.name.to_ascii_lowercase();
        for suffix in procedure.suffixes() {
            let entry = if suffix == "__" { "_" } else { suffix };
            writeln!(f, "MIDPLANE_FORTRAN_ENTRY(\"{name}{suffix}\", \"p{name}{entry}\")")?;
        }
    }
    writeln!(f, "#endif")
}

/// Returns the arguments as a C expression list.
fn arguments(function: &Function) -> String {
    let names: Vec<&str> = function.parameters.iter().map(|parameter| parameter.name).collect();
    names.join(", ")
}

fn wrapper(
    f: &mut Formatter<'_>,
    index: usize,
    function: &'static Function,
    count_form: CountForm,
    name: &str,
) -> Result {
    write!(f, "\n__attribute__((weak)) int {name}(")?;
    for (at, parameter) in function.parameters.iter().enumerate() {
        let spelling = count_form.kind(parameter).c();
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
    saved_requests(f, function)?;
    writeln!(f, "    if (midplane_is_open) {{\n        midplane_flush_accesses();")?;
    writeln!(
        f,
        "        uint64_t *midplane_at = midplane_begin(MIDPLANE_ENTER, {index});"
    )?;
    writeln!(
        f,
        "        *midplane_at++ = MIDPLANE_ADDRESS(midplane_caller(__builtin_return_address(0)));"
    )?;
    for field in fields(function, Phase::Enter) {
        writeln!(f, "        {}", put(function, count_form, &field))?;
    }
    writeln!(f, "        midplane_commit(midplane_at);\n    }}")?;
    if name == "MPI_Win_free" {
        writeln!(
            f,
            "#if defined(MIDPLANE_ACCESSES)\n    if (win != NULL) {{\n        midplane_remove_regions(MIDPLANE_WORD(*win), \
             MIDPLANE_OF_WINDOW_OPERATION);\n        midplane_remove_regions(MIDPLANE_WORD(*win), MIDPLANE_WINDOW_MEMORY);\n    \
             }}\n#endif"
        )?;
    }
    if !is_start {
        writeln!(f, "    midplane_result = P{name}({arguments});")?;
    }
    writeln!(f, "    if (midplane_is_open) {{")?;
    writeln!(
        f,
        "        uint64_t *midplane_at = midplane_begin(MIDPLANE_LEAVE, {index});"
    )?;
    writeln!(f, "        uint64_t midplane_time = midplane_at[-1];")?;
    writeln!(f, "        *midplane_at++ = MIDPLANE_WORD(midplane_result);")?;
    for field in fields(function, Phase::Leave) {
        writeln!(f, "        {}", put(function, count_form, &field))?;
    }
    if name == "MPI_Finalize" {
        writeln!(
            f,
            "        midplane_commit(midplane_at);\n        midplane_record_counters(midplane_time);"
        )?;
    } else {
        writeln!(f, "        midplane_commit_end(midplane_at, midplane_time);")?;
    }
    created_objects(f, function)?;
    regions(f, function, count_form)?;
    writeln!(f, "    }}")?;
    if let Some(RequestParameter::Several(_)) = request_parameter(function) {
        writeln!(f, "#if defined(MIDPLANE_ACCESSES)\n    free(midplane_old);\n#endif")?;
    }
    if has_statuses(function) {
        writeln!(f, "    midplane_free_statuses(midplane_few, midplane_own_statuses);")?;
    }
    writeln!(f, "    return midplane_result;\n}}")
}

/// Keeps the handles of requests, which a completion replaces by MPI_REQUEST_NULL.
fn saved_requests(f: &mut Formatter<'_>, function: &Function) -> Result {
    let text = match request_parameter(function) {
        Some(RequestParameter::One(name)) => {
            format!("MPI_Request midplane_old = {name} == NULL ? MPI_REQUEST_NULL : *{name};")
        }
        Some(RequestParameter::Several(name)) => {
            format!(
                "MPI_Request *midplane_old = midplane_copy_requests({name}, {});",
                request_count(function)
            )
        }
        None => return Ok(()),
    };
    writeln!(f, "#if defined(MIDPLANE_ACCESSES)\n    {text}\n#endif")
}

/// Parameter with the requests that a function may complete or start.
enum RequestParameter {
    One(&'static str),
    Several(&'static str),
}

fn request_parameter(function: &Function) -> Option<RequestParameter> {
    function.parameters.iter().find_map(|parameter| match parameter.kind {
        Kind::RequestInOut => Some(RequestParameter::One(parameter.name)),
        Kind::RequestsInOut => Some(RequestParameter::Several(parameter.name)),
        _ => None,
    })
}

/// Functions after which the operations of a window on its origin's buffers are complete.
const COMPLETES_WINDOW_OPERATIONS: [&str; 8] = [
    "MPI_Win_fence",
    "MPI_Win_complete",
    "MPI_Win_unlock",
    "MPI_Win_unlock_all",
    "MPI_Win_flush",
    "MPI_Win_flush_all",
    "MPI_Win_flush_local",
    "MPI_Win_flush_local_all",
];

/// Updates the memory of pending operations and of windows after a call.
fn regions(f: &mut Formatter<'_>, function: &'static Function, count_form: CountForm) -> Result {
    let name = function.name;
    writeln!(f, "#if defined(MIDPLANE_ACCESSES)")?;
    let is_window_operation = function
        .parameters
        .iter()
        .any(|parameter| parameter.name == "target_rank");
    let has_new_request = function
        .parameters
        .iter()
        .any(|parameter| parameter.kind == Kind::RequestOut);
    if is_window_operation || has_new_request {
        new_buffers(f, function, count_form, has_new_request)?;
    }
    // After the call of an epoch that does not block, the program waits for a request, which is not followed here.
    if COMPLETES_WINDOW_OPERATIONS.contains(&&*name.replacen("MPI_Win_i", "MPI_Win_", 1)) {
        writeln!(
            f,
            "        midplane_remove_regions(MIDPLANE_WORD(win), MIDPLANE_OF_WINDOW_OPERATION);"
        )?;
    }
    window_memory(f, name)?;
    match (name, request_parameter(function)) {
        ("MPI_Start", _) => writeln!(f, "        midplane_start(MIDPLANE_WORD(midplane_old));")?,
        ("MPI_Startall", _) => writeln!(
            f,
            "        for (int i = 0; midplane_old != NULL && i < count; i++)\n            midplane_start(MIDPLANE_WORD(midplane_old[i]));"
        )?,
        ("MPI_Request_free", _) => writeln!(f, "        midplane_forget(MIDPLANE_WORD(midplane_old));")?,
        ("MPI_Cancel", _) => {}
        (_, Some(RequestParameter::One(_))) => {
            let is_test = function.parameters.iter().any(|parameter| parameter.name == "flag");
            let condition = if is_test { "flag != NULL && *flag" } else { "1" };
            writeln!(
                f,
                "        if (midplane_old != MPI_REQUEST_NULL && ((midplane_result == MPI_SUCCESS && ({condition})) || \
                 *request == MPI_REQUEST_NULL))\n            midplane_remove_regions(MIDPLANE_WORD(midplane_old), MIDPLANE_OF_REQUEST);"
            )?;
        }
        (_, Some(RequestParameter::Several(_))) => completed_requests(f, function)?,
        (_, None) => {}
    }
    writeln!(f, "#endif")
}

/// Adds the buffers of an operation that continues after its call.
fn new_buffers(f: &mut Formatter<'_>, function: &'static Function, count_form: CountForm, has_request: bool) -> Result {
    let (key, kind) = if has_request {
        ("MIDPLANE_WORD(*request)", "MIDPLANE_OF_REQUEST")
    } else {
        ("MIDPLANE_WORD(win)", "MIDPLANE_OF_WINDOW_OPERATION")
    };
    writeln!(f, "        if (midplane_result == MPI_SUCCESS) {{")?;
    for buffer in buffers(function) {
        let is_written = match buffer.access {
            BufferAccess::Read => "0",
            BufferAccess::Write => "1",
            BufferAccess::ReadInRoot => "midplane_peers_at_root(comm, root) == 0",
        };
        let peers = match buffer.used_by {
            UsedBy::All => "midplane_peers(comm)",
            UsedBy::Root => "midplane_peers_at_root(comm, root)",
        };
        if let BlockCount::Vector(displacements) = buffer.blocks {
            let suffix = match count_form {
                CountForm::Int => "",
                CountForm::Large => "_c",
            };
            writeln!(
                f,
                "            midplane_add_vector{suffix}({}, {}, {displacements}, {peers}, {}, {key}, {is_written});",
                buffer.address, buffer.count, buffer.datatype
            )?;
            continue;
        }
        let blocks = match (buffer.blocks, buffer.used_by) {
            (BlockCount::One, UsedBy::All) => "1".into(),
            (BlockCount::One, UsedBy::Root) => format!("({peers} > 0)"),
            _ => peers.to_string(),
        };
        writeln!(
            f,
            "            midplane_add_buffer({}, (int64_t){} * {blocks}, {}, {key}, {kind}, {is_written});",
            buffer.address, buffer.count, buffer.datatype
        )?;
    }
    if function.name.ends_with("_init") {
        writeln!(f, "            midplane_suspend(MIDPLANE_WORD(*request));")?;
    }
    writeln!(f, "        }}")
}

/// Observes the memory of a new window.
fn window_memory(f: &mut Formatter<'_>, name: &str) -> Result {
    let start = match name {
        "MPI_Win_create" => "base",
        "MPI_Win_allocate" | "MPI_Win_allocate_shared" => "*(void **)baseptr",
        _ => return Ok(()),
    };
    writeln!(
        f,
        "        if (midplane_result == MPI_SUCCESS)\n            midplane_add_region({start}, (size_t)size, MIDPLANE_WORD(*win), \
         MIDPLANE_WINDOW_MEMORY, 0);"
    )
}

/// Removes the buffers of those requests in an array that a call has completed.
fn completed_requests(f: &mut Formatter<'_>, function: &Function) -> Result {
    let has = |name: &str| function.parameters.iter().any(|parameter| parameter.name == name);
    let flag = if has("flag") { " && flag != NULL && *flag" } else { "" };
    let (count, index) = if has("outcount") {
        ("*outcount", "array_of_indices[i]")
    } else if has("index") {
        ("(*index != MPI_UNDEFINED)", "*index")
    } else {
        ("count", "i")
    };
    writeln!(
        f,
        "        if (midplane_old != NULL && midplane_result == MPI_SUCCESS{flag})\n            for (int i = 0; i < \
         {count}; i++)\n                midplane_remove_regions(MIDPLANE_WORD(midplane_old[{index}]), MIDPLANE_OF_REQUEST);"
    )?;
    // An error completes requests as well.
    writeln!(
        f,
        "        for (int i = 0; midplane_old != NULL && midplane_result != MPI_SUCCESS && i < {}; i++)\n            if \
         (midplane_old[i] != MPI_REQUEST_NULL && array_of_requests[i] == MPI_REQUEST_NULL)\n                midplane_remove_regions(MIDPLANE_WORD(midplane_old[i]), \
         MIDPLANE_OF_REQUEST);",
        request_count(function)
    )
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
                    "    MPI_Status midplane_few[MIDPLANE_FEW_STATUSES];\n    MPI_Status *midplane_own_statuses = \
                     midplane_few;\n    if ({name} == MPI_STATUSES_IGNORE && (midplane_own_statuses = \
                     midplane_statuses(midplane_few, {count})) != NULL)\n        {name} = midplane_own_statuses;"
                )?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Records the objects that a call has created.
fn created_objects(f: &mut Formatter<'_>, function: &Function) -> Result {
    // The communicator of a nonblocking duplication does not exist yet in each process: its handle is stored at completion.
    // If only some processes knew it, the others would seem to miss its collective calls.
    if is_nonblocking_duplication(function.name) {
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
fn put(function: &Function, count_form: CountForm, field: &Field) -> String {
    let parameter = &function.parameters[field.parameter];
    let name = parameter.name;
    let word = match &field.form {
        Form::Value => format!("MIDPLANE_WORD({name})"),
        Form::Address => format!("MIDPLANE_ADDRESS({name})"),
        Form::Pointee => format!("{name} == NULL ? 0 : MIDPLANE_WORD(*{name})"),
        Form::PointerPointee => format!("{name} == NULL ? 0 : MIDPLANE_ADDRESS(*(void **){name})"),
        Form::Status => return format!("midplane_at = midplane_put_status(midplane_at, {name});"),
        Form::Statuses(count) => {
            return format!(
                "midplane_at = midplane_put_statuses(midplane_at, {name} == MPI_STATUSES_IGNORE ? NULL : {name}, \
                 {count});"
            );
        }
        Form::Ints(count) | Form::Aints(count) => {
            let (list, cast) = match count_form.kind(parameter) {
                Kind::LargeCounts => ("counts", ""),
                Kind::Aints | Kind::AintCounts | Kind::OldAints => ("aints", ""),
                Kind::Requests
                | Kind::RequestsInOut
                | Kind::Datatypes
                | Kind::OldDatatypes
                | Kind::DatatypesOut
                | Kind::Infos => ("handles", "(const midplane_handle *)"),
                _ => ("ints", "(const int *)"),
            };
            return format!("midplane_at = midplane_put_{list}(midplane_at, {cast}{name}, {count});");
        }
    };
    format!("*midplane_at++ = {word};")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of a chunk (stream.c), and of short lists with their length (recorder.c).
    const CHUNK_WORDS: usize = 64;
    const SHORT_LIST_WORDS: usize = 1 + 4;
    const SHORT_STATUSES_WORDS: usize = 1 + 2 * 4;

    fn words(field: &Field) -> usize {
        match field.form {
            Form::Statuses(_) => SHORT_STATUSES_WORDS,
            _ => field.form.words().unwrap_or(SHORT_LIST_WORDS),
        }
    }

    #[test]
    fn a_record_with_short_lists_fits_a_chunk() {
        for function in FUNCTIONS.iter().filter(|function| is_recorded(function)) {
            for phase in [Phase::Enter, Phase::Leave] {
                // Kind, time, and the return address or the result.
                let count = 3 + fields(function, phase).map(|field| words(&field)).sum::<usize>();
                assert!(count <= CHUNK_WORDS, "{} has {count} words", function.name);
            }
        }
    }
}
