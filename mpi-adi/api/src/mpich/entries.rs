//! Generator of the functions whose arguments are converted one by one.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{Display, Formatter, Result};

use crate::fortran::{Form, Intent, Shape, describe_handle};
use crate::{CountForm, FUNCTIONS, Function, Kind, Parameter};

/// Prefix of the functions of the standard ABI.
pub(super) const PREFIX: &str = "midplane_abi_";

/// Functions with a body in `bodies.c` or `callbacks.c`.
pub(super) const WRITTEN: [&str; 34] = [
    "MPI_Abi_get_fortran_info",
    "MPI_Abi_get_version",
    "MPI_Attr_get",
    "MPI_Comm_create_errhandler",
    "MPI_Comm_create_keyval",
    "MPI_Comm_get_attr",
    "MPI_Comm_idup",
    "MPI_Comm_idup_with_info",
    "MPI_Comm_spawn",
    "MPI_Comm_spawn_multiple",
    "MPI_Errhandler_create",
    "MPI_File_create_errhandler",
    "MPI_Get_processor_name",
    "MPI_Grequest_start",
    "MPI_Keyval_create",
    "MPI_Lookup_name",
    "MPI_Op_create",
    "MPI_Op_create_c",
    "MPI_Open_port",
    "MPI_Register_datarep",
    "MPI_Register_datarep_c",
    "MPI_Session_create_errhandler",
    "MPI_Status_c2f",
    "MPI_Status_c2f08",
    "MPI_Status_f082c",
    "MPI_Status_f082f",
    "MPI_Status_f2c",
    "MPI_Status_f2f08",
    "MPI_Type_create_keyval",
    "MPI_Type_get_contents",
    "MPI_Type_get_contents_c",
    "MPI_Win_create_errhandler",
    "MPI_Win_create_keyval",
    "MPI_Win_get_attr",
];

/// Text of the functions.
pub(super) struct Entries;

impl Display for Entries {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("\n/* ---- Functions whose arguments are converted one by one. ---- */\n")?;
        for function in FUNCTIONS {
            for (form, name) in function.forms().filter(|(_, name)| !WRITTEN.contains(name)) {
                entry(f, name, function, form)?;
            }
        }
        Ok(())
    }
}

/// Conversion of an argument.
#[derive(Default)]
struct Conversion {
    /// Statements before the call.
    before: String,
    /// Argument of the call.
    argument: String,
    /// Statements after the call, if the function may have stored a value.
    after: String,
    /// Type and length of an array that requires memory.
    array: Option<(&'static str, String)>,
}

impl Conversion {
    fn value(argument: String) -> Self {
        Self {
            argument,
            ..Self::default()
        }
    }
}

/// Writes a form of a function.
fn entry(f: &mut Formatter<'_>, name: &str, function: &Function, form: CountForm) -> Result {
    if is_of_requests(function) {
        write!(f, "static int {}(", pieces_name(name))?;
        parameters(f, function, form)?;
        f.write_str(");\n")?;
    }
    write!(f, "\nENTRY({}, {name}, (", type_of(function.result).trim_end())?;
    parameters(f, function, form)?;
    f.write_str(")) {\n")?;
    if let Some(argument) = integer_of_handle(function) {
        return write!(f, "    return {argument};\n}}\n");
    }
    let conversions: Vec<Conversion> = { function.parameters.iter() }
        .map(|parameter| convert(name, function, parameter, form.kind(parameter)))
        .collect();
    let arrays: Vec<&(&str, String)> = conversions.iter().filter_map(|one| one.array.as_ref()).collect();
    if !arrays.is_empty() {
        f.write_str("    struct scratch scratch;\n    if (!open_scratch(&scratch, ")?;
        for (at, (element, length)) in arrays.iter().enumerate() {
            let plus = if at > 0 { " + " } else { "" };
            write!(f, "{plus}BYTES({element}, {length})")?;
        }
        f.write_str("))\n        return ")?;
        if is_of_requests(function) {
            pieces_call(f, name, function)?;
        } else {
            f.write_str("no_memory()")?;
        }
        f.write_str(";\n")?;
    }
    conversions.iter().try_for_each(|one| f.write_str(&one.before))?;
    write!(
        f,
        "    {} outcome = {}{name}(",
        function.result.c().before.trim_end(),
        PREFIX
    )?;
    for (at, conversion) in conversions.iter().enumerate() {
        write!(f, "{}{}", if at > 0 { ", " } else { "" }, conversion.argument)?;
    }
    f.write_str(");\n")?;
    conversions.iter().try_for_each(|one| f.write_str(&one.after))?;
    f.write_str(if arrays.is_empty() {
        ""
    } else {
        "    close_scratch(&scratch);\n"
    })?;
    match function.result {
        Kind::Int => f.write_str("    return from_code(outcome);\n}\n"),
        _ => f.write_str("    return outcome;\n}\n"),
    }
}

/// Writes the parameters of a form of a function.
fn parameters(f: &mut Formatter<'_>, function: &Function, form: CountForm) -> Result {
    for (at, parameter) in function.parameters.iter().enumerate() {
        let kind = form.kind(parameter);
        let comma = if at > 0 { ", " } else { "" };
        write!(f, "{comma}{}{}{}", type_of(kind), parameter.name, kind.c().after)?;
    }
    f.write_str(if function.parameters.is_empty() { "void" } else { "" })
}

/// Checks whether a call is on an array of requests: `pieces.c` has a function for it.
fn is_of_requests(function: &Function) -> bool {
    let is_array = |parameter: &Parameter| matches!(parameter.kind, Kind::Requests | Kind::RequestsInOut);
    function.parameters.iter().any(is_array)
}

fn pieces_name(name: &str) -> String {
    format!("{}_in_pieces", suffix(name))
}

/// Writes the call with the same arguments in pieces.
fn pieces_call(f: &mut Formatter<'_>, name: &str, function: &Function) -> Result {
    let names: Vec<&str> = function.parameters.iter().map(|parameter| parameter.name).collect();
    write!(f, "{}({})", pieces_name(name), names.join(", "))
}

/// Returns the result of a function that converts a handle to an integer or back: in MPICH's ABI, both are equal.
fn integer_of_handle(function: &Function) -> Option<String> {
    let [Parameter { name, .. }] = function.parameters else {
        return None;
    };
    let ends = ["_c2f", "_f2c", "_toint", "_fromint"];
    let is_conversion = ends.iter().any(|end| function.name.ends_with(end));
    // Files are pointers.
    let argument = match (function.name.starts_with("MPI_File"), function.result) {
        (false, _) => String::from(*name),
        (true, Kind::File) => format!("(MPI_File)(intptr_t){name}"),
        (true, _) => format!("value_of({name})"),
    };
    is_conversion.then_some(argument)
}

/// Returns the type of a parameter in MPICH's ABI, before the name.
fn type_of(kind: Kind) -> String {
    let before = kind.c().before;
    let type_name = match describe_handle(kind) {
        Some((Form::Handle("MPI_File"), ..)) => return String::from(before),
        Some((Form::Handle(name), ..)) => name,
        _ => match kind {
            Kind::Status | Kind::StatusOut | Kind::StatusInOut | Kind::StatusesOut => {
                return before.replace("MPI_Status", "mpich_status");
            }
            _ => return String::from(before),
        },
    };
    before.replace(type_name, "int")
}

/// Returns the conversion of an argument.
fn convert(name: &str, function: &Function, parameter: &Parameter, kind: Kind) -> Conversion {
    let place = parameter.name;
    if let Some((Form::Handle(type_name), shape, intent)) = describe_handle(kind) {
        let length = length_of(function, parameter);
        return match shape {
            Shape::Scalar => scalar_handle(place, type_name, kind, intent),
            _ => array_of_handles(place, type_name, &length, intent),
        };
    }
    match kind {
        Kind::Status => Conversion {
            before: format!(
                "    MPI_Status {place}_standard;\n    if (!is_ignored({place}))\n        \
                 to_status(&{place}_standard, {place});\n"
            ),
            argument: format!("is_ignored({place}) ? 0 : &{place}_standard"),
            ..Conversion::default()
        },
        Kind::StatusOut | Kind::StatusInOut => Conversion {
            before: format!(
                "    MPI_Status {place}_standard;\n    if (!is_ignored({place}))\n        \
                 to_status(&{place}_standard, {place});\n"
            ),
            argument: format!("is_ignored({place}) ? MPI_STATUS_IGNORE : &{place}_standard"),
            after: format!("    if (!is_ignored({place}))\n        from_status({place}, &{place}_standard);\n"),
            array: None,
        },
        Kind::StatusesOut => array_of_statuses(place, &length_of(function, parameter)),
        // An address, and no buffer.
        Kind::BufferIn | Kind::BufferInOut if place == "location" => Conversion::value(String::from(place)),
        Kind::BufferIn | Kind::BufferOut | Kind::BufferInOut => Conversion::value(format!("to_buffer({place})")),
        Kind::AddressOut if place == "buffer_addr" => Conversion {
            after: format!("    if (outcome == MPI_SUCCESS)\n        from_detached({place});\n"),
            ..Conversion::value(String::from(place))
        },
        _ => match constant_of(name, parameter, kind) {
            Some(group) => constant(place, group, kind),
            None => Conversion::value(String::from(place)),
        },
    }
}

/// Returns the suffix of the functions that convert handles of a type.
fn suffix(type_name: &str) -> String {
    type_name.trim_start_matches("MPI_").to_ascii_lowercase()
}

fn scalar_handle(place: &str, type_name: &str, kind: Kind, intent: Intent) -> Conversion {
    let suffix = suffix(type_name);
    if intent == Intent::In {
        return Conversion::value(format!("to_{suffix}({place})"));
    }
    let is_read = format!("{kind:?}").ends_with("InOut");
    let initial = if is_read {
        format!("{place} ? to_{suffix}(*{place}) : 0")
    } else {
        String::from("UNWRITTEN")
    };
    Conversion {
        before: format!("    {type_name} {place}_standard = {initial};\n"),
        argument: format!("{place} ? &{place}_standard : 0"),
        after: format!(
            "    if ({place} && (void *){place}_standard != UNWRITTEN)\n        \
             *{place} = from_{suffix}({place}_standard);\n"
        ),
        array: None,
    }
}

/// Returns the C type of an element: the arrays of conversions have static types.
fn element(type_name: &str) -> &'static str {
    match type_name {
        "MPI_Datatype" => "MPI_Datatype",
        "MPI_Info" => "MPI_Info",
        _ => "MPI_Request",
    }
}

/// Returns the declaration of an array in the memory of a call.
fn declare_array(place: &str, element: &str, length: &str) -> String {
    format!("    {element} *{place}_standard = next_array(&scratch, BYTES({element}, {length}));\n")
}

/// Returns a loop over an array.
fn for_each(length: &str, statement: &str) -> String {
    format!("    for (size_t at = 0; at < {length}; at++)\n        {statement}\n")
}

fn array_of_handles(place: &str, type_name: &str, length: &str, intent: Intent) -> Conversion {
    let (element, suffix) = (element(type_name), suffix(type_name));
    let fill = for_each(length, &format!("{place}_standard[at] = to_{suffix}({place}[at]);"));
    let after = match intent {
        Intent::In => String::new(),
        Intent::Out => for_each(length, &format!("{place}[at] = from_{suffix}({place}_standard[at]);")),
    };
    Conversion {
        before: declare_array(place, element, length) + &fill,
        argument: format!("{place} ? {place}_standard : 0"),
        after,
        array: Some((element, String::from(length))),
    }
}

fn array_of_statuses(place: &str, length: &str) -> Conversion {
    let length = format!("(is_ignored({place}) ? 0 : {length})");
    let fill = for_each(&length, &format!("to_status(&{place}_standard[at], &{place}[at]);"));
    Conversion {
        before: declare_array(place, "MPI_Status", &length) + &fill,
        argument: format!("is_ignored({place}) ? MPI_STATUSES_IGNORE : {place}_standard"),
        after: for_each(&length, &format!("from_status(&{place}[at], &{place}_standard[at]);")),
        array: Some(("MPI_Status", length)),
    }
}

/// Returns the expression for the length of an array.
fn length_of(function: &Function, parameter: &Parameter) -> String {
    let array = parameter.name;
    let names = ["count", "incount", "ndims", "max_datatypes"];
    let has = |name: &&&str| function.parameters.iter().any(|other| other.name == **name);
    // Arrays of the calls with a datatype for each partner.
    let is_sent = match array {
        "sendtypes" => Some(1),
        "recvtypes" => Some(0),
        _ => None,
    };
    if let Some(is_sent) = is_sent {
        let is_neighbourhood = i32::from(function.section.starts_with('7'));
        // Without significance if the send buffer is MPI_IN_PLACE.
        let buffer = if is_sent == 1 { "sendbuf == IN_PLACE ? 0 : " } else { "" };
        return format!(
            "length_of({array}, {buffer}(long long)midplane_partners(to_comm(comm), {is_neighbourhood}, {is_sent}))"
        );
    }
    let length = names.iter().find(has).unwrap_or(&"num_elements ? *num_elements : 0");
    format!("length_of({array}, {length})")
}

/// Returns the constants of a parameter: the suffix of the functions that convert them.
fn constant_of(name: &str, parameter: &Parameter, kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Rank | Kind::RankOut => return Some("rank"),
        Kind::Tag => return Some("tag"),
        Kind::CallbackSafety => return Some("safety"),
        Kind::SourceOrderOut => return Some("source_order"),
        Kind::Ranks | Kind::RanksOut if name == "MPI_Group_translate_ranks" => return Some("rank"),
        Kind::Int | Kind::IntOut | Kind::IntInOut | Kind::Ints | Kind::Offset => {}
        _ => return None,
    }
    Some(match parameter.name {
        "errorcode" | "errorclass" | "err" if name != "MPI_Abort" => "code",
        "comm_keyval" | "type_keyval" | "win_keyval" | "keyval" => "keyval",
        "result" => "comparison",
        "status" => "topology",
        "tag" => "tag",
        "required" | "provided" => "level",
        "split_type" => "split_type",
        "lock_type" => "lock_type",
        "assert" => "assert",
        "amode" => "amode",
        "whence" => "whence",
        "order" => "order",
        "typeclass" => "typeclass",
        "combiner" => "combiner",
        "array_of_distribs" => "distribution",
        "array_of_dargs" => "distribution_argument",
        "verbosity" => "verbosity",
        "bind" => "bind",
        "scope" => "scope",
        "var_class" => "var_class",
        "disp" if name == "MPI_File_set_view" => "displacement",
        _ => return None,
    })
}

/// Returns the conversion of a constant, or of an array of them.
fn constant(place: &str, group: &str, kind: Kind) -> Conversion {
    match kind {
        Kind::Ints | Kind::Ranks => {
            let length = if kind == Kind::Ranks { "n" } else { "ndims" };
            let length = format!("length_of({place}, {length})");
            let fill = for_each(&length, &format!("{place}_standard[at] = to_{group}({place}[at]);"));
            Conversion {
                before: declare_array(place, "int", &length) + &fill,
                argument: format!("{place} ? {place}_standard : 0"),
                after: String::new(),
                array: Some(("int", length)),
            }
        }
        Kind::RanksOut => Conversion {
            after: String::from("    if (outcome == MPI_SUCCESS)\n    ")
                + &for_each(
                    &format!("length_of({place}, n)"),
                    &format!("{place}[at] = from_{group}({place}[at]);"),
                ),
            ..Conversion::value(String::from(place))
        },
        Kind::IntInOut => Conversion {
            before: format!("    int {place}_standard = {place} ? to_{group}(*{place}) : 0;\n"),
            argument: format!("{place} ? &{place}_standard : 0"),
            after: format!("    if ({place})\n        *{place} = from_{group}({place}_standard);\n"),
            array: None,
        },
        Kind::IntOut | Kind::RankOut | Kind::SourceOrderOut => Conversion {
            after: format!("    if (outcome == MPI_SUCCESS && {place})\n        *{place} = from_{group}(*{place});\n"),
            ..Conversion::value(String::from(place))
        },
        _ => Conversion::value(format!("to_{group}({place})")),
    }
}
