//! Generator of the recorder: C source with a wrapper for each MPI function.

use crate::buffers::{BlockCount, BufferAccess, UsedBy, buffers};
use crate::record::{COUNTER_NAMES, Field, Form, MAX_STREAM_WORDS, Phase, fields, request_count};
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
        writeln!(f, "#define MIDPLANE_MAX_STREAM_WORDS {MAX_STREAM_WORDS}")?;
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

fn wrapper(f: &mut Formatter<'_>, index: usize, function: &'static Function) -> Result {
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
    saved_requests(f, function)?;
    writeln!(f, "    if (midplane_is_open) {{\n        midplane_flush_accesses();")?;
    writeln!(f, "        midplane_begin(MIDPLANE_ENTER, {index});")?;
    writeln!(
        f,
        "        midplane_put(MIDPLANE_ADDRESS(__builtin_return_address(0)));"
    )?;
    for field in fields(function, Phase::Enter) {
        writeln!(f, "        {}", put(function, &field))?;
    }
    writeln!(f, "        midplane_commit();\n    }}")?;
    if name == "MPI_Win_free" {
        writeln!(
            f,
            "#if defined(MIDPLANE_ACCESSES)\n    if (win != NULL) {{\n        midplane_remove_regions(*win, \
             MIDPLANE_OF_WINDOW_OPERATION);\n        midplane_remove_regions(*win, MIDPLANE_WINDOW_MEMORY);\n    \
             }}\n#endif"
        )?;
    }
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
    regions(f, function)?;
    writeln!(f, "    }}")?;
    if let Some(RequestParameter::Several(_)) = request_parameter(function) {
        writeln!(f, "#if defined(MIDPLANE_ACCESSES)\n    free(midplane_old);\n#endif")?;
    }
    if has_statuses(function) {
        writeln!(f, "    free(midplane_own_statuses);")?;
    }
    writeln!(f, "    return midplane_result;\n}}")
}

/// Keeps the handles of requests, which a completion replaces by MPI_REQUEST_NULL.
fn saved_requests(f: &mut Formatter<'_>, function: &Function) -> Result {
    let text = match request_parameter(function) {
        Some(RequestParameter::One(name)) => format!("MPI_Request midplane_old = {name} == NULL ? 0 : *{name};"),
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
fn regions(f: &mut Formatter<'_>, function: &'static Function) -> Result {
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
        new_buffers(f, function, has_new_request)?;
    }
    // After the call of an epoch that does not block, the program waits for a request, which is not followed here.
    if COMPLETES_WINDOW_OPERATIONS.contains(&&*name.replacen("MPI_Win_i", "MPI_Win_", 1)) {
        writeln!(f, "        midplane_remove_regions(win, MIDPLANE_OF_WINDOW_OPERATION);")?;
    }
    window_memory(f, name)?;
    match (name, request_parameter(function)) {
        ("MPI_Start", _) => writeln!(f, "        midplane_start(midplane_old);")?,
        ("MPI_Startall", _) => writeln!(
            f,
            "        for (int i = 0; midplane_old != NULL && i < count; i++)\n            midplane_start(midplane_old[i]);"
        )?,
        ("MPI_Request_free", _) => writeln!(f, "        midplane_forget(midplane_old);")?,
        ("MPI_Cancel", _) => {}
        (_, Some(RequestParameter::One(_))) => {
            let is_test = function.parameters.iter().any(|parameter| parameter.name == "flag");
            let condition = if is_test { "flag != NULL && *flag" } else { "1" };
            writeln!(
                f,
                "        if (midplane_old != 0 && ((midplane_result == MPI_SUCCESS && ({condition})) || *request == \
                 0))\n            midplane_remove_regions(midplane_old, MIDPLANE_OF_REQUEST);"
            )?;
        }
        (_, Some(RequestParameter::Several(_))) => completed_requests(f, function)?,
        (_, None) => {}
    }
    writeln!(f, "#endif")
}

/// Adds the buffers of an operation that continues after its call.
fn new_buffers(f: &mut Formatter<'_>, function: &'static Function, has_request: bool) -> Result {
    let (key, kind) = if has_request {
        ("*request", "MIDPLANE_OF_REQUEST")
    } else {
        ("win", "MIDPLANE_OF_WINDOW_OPERATION")
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
            writeln!(
                f,
                "            midplane_add_vector({}, {}, {displacements}, {peers}, {}, {key}, {is_written});",
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
        writeln!(f, "            midplane_suspend(*request);")?;
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
        "        if (midplane_result == MPI_SUCCESS)\n            midplane_add_region({start}, (size_t)size, *win, \
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
         {count}; i++)\n                midplane_remove_regions(midplane_old[{index}], MIDPLANE_OF_REQUEST);"
    )?;
    // An error completes requests as well.
    writeln!(
        f,
        "        for (int i = 0; midplane_old != NULL && midplane_result != MPI_SUCCESS && i < {}; i++)\n            if \
         (midplane_old[i] != 0 && array_of_requests[i] == 0)\n                midplane_remove_regions(midplane_old[i], \
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
