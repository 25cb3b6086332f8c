//! Generator of the entry points: Rust functions that convert references to values and call the C binding.

use core::fmt::{Display, Formatter, Result};

use super::{Argument, CallbackAction, Form, IntegerKind, Intent, PREDEFINED_CALLBACKS, Procedure, Shape, procedures};
use crate::{Kind, State};

/// Rust source of all entry points, which `midplane-fortran` compiles.
///
/// The symbol of MPI_Send is `pmpi_send_`. Weak aliases are `mpi_send_`, so that a program may define this procedure
/// itself (MPI-3.1 section 14.2), and both names with a second underscore, which some compilers append. A procedure with
/// array descriptors is `pmpi_send_f08ts`, with the alias `mpi_send_f08ts`.
#[derive(Clone, Copy, Debug)]
pub struct Entries;

/// Rust source of declarations of C's functions by their names, which a profiling library or the recorder may define.
#[derive(Clone, Copy, Debug)]
pub struct Declarations;

impl Display for Declarations {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("unsafe extern \"C\" {\n")?;
        for Procedure { function, .. } in procedures() {
            write!(f, "    pub(crate) fn {}(", function.name)?;
            for parameter in function.parameters {
                write!(f, "{}: kinds::{:?}, ", parameter.name, parameter.kind)?;
            }
            writeln!(f, ") -> kinds::{:?};", function.result)?;
        }
        f.write_str("}\n")
    }
}

/// Functions whose Fortran form is more than a conversion of the arguments. `midplane-fortran` implements them in its
/// module `bodies`.
fn has_body(procedure: &Procedure) -> bool {
    let name = procedure.function.name;
    let is_special = |argument: &Argument| {
        use Kind::{Attribute, AttributeOut, ExtraState, TextLists, Texts};
        matches!(argument.kind, Attribute | AttributeOut | ExtraState | Texts | TextLists)
    };
    // An address in C, and a default integer here.
    let is_address = |argument: &Argument| {
        use Kind::{Aint, AintOut, OldAints};
        matches!(argument.kind, Aint | AintOut | OldAints)
    };
    // Their results do not fit the integers of the C functions.
    const LARGE: [&str; 4] = [
        "MPI_Get_count",
        "MPI_Get_elements",
        "MPI_Status_set_elements",
        "MPI_Type_size",
    ];
    procedure.is_large && LARGE.contains(&name)
        || procedure.function.uses_old_integers() && procedure.arguments.iter().any(is_address)
        || matches!(name, "MPI_Init" | "MPI_Init_thread" | "MPI_Info_get" | "MPI_Pcontrol")
        || procedure.function.detaches_buffer()
        || procedure.arguments.iter().any(is_special)
}

impl Display for Entries {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for procedure in procedures() {
            write_entry(f, &procedure, false)?;
            if procedure.has_own_entry() {
                write_entry(f, &procedure, true)?;
            }
            if let Some(large) = procedure.large() {
                write_entry(f, &large, large.has_descriptors())?;
            }
        }
        for callback in &PREDEFINED_CALLBACKS {
            let integer = if callback.is_of_mpi1 { "c_int" } else { "isize" };
            let name = Lower(callback.name);
            match callback.action {
                CallbackAction::Copy => writeln!(f, "copy_attribute!({name}, \"{name}_\", {integer}, 1);")?,
                CallbackAction::CopyNothing => writeln!(f, "copy_attribute!({name}, \"{name}_\", {integer}, 0);")?,
                CallbackAction::Delete => writeln!(f, "delete_attribute!({name}, \"{name}_\", {integer});")?,
            }
        }
        Ok(())
    }
}

/// A name in lower case.
struct Lower(&'static str);

impl Display for Lower {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.0
            .chars()
            .try_for_each(|letter| write!(f, "{}", letter.to_ascii_lowercase()))
    }
}

/// Writes an entry point: the one with array descriptors, or the one of all interfaces.
fn write_entry(f: &mut Formatter<'_>, procedure: &Procedure, with_descriptors: bool) -> Result {
    let name = Lower(procedure.function.name);
    let suffix = procedure.suffix(with_descriptors);
    write!(
        f,
        "#[unsafe(export_name = \"p{name}{suffix}\")]\nunsafe extern \"C\" fn {name}{}(",
        suffix.trim_end_matches('_')
    )?;
    for argument in &procedure.arguments {
        write!(f, "{}: {}, ", argument.name, rust_type(argument, with_descriptors))?;
    }
    if procedure.has_ierror() {
        f.write_str("ierror: *mut c_int, ")?;
    }
    for argument in texts(procedure) {
        write!(f, "{}_length: usize, ", argument.name)?;
    }
    f.write_str(")")?;
    match procedure.function.result {
        Kind::Double => f.write_str(" -> f64")?,
        Kind::Aint => f.write_str(" -> isize")?,
        _ => {}
    }
    f.write_str(" {\n    // SAFETY: the standard's requirements on the arguments.\n    unsafe {\n")?;
    write_call(f, procedure, with_descriptors)?;
    f.write_str("    }\n}\n")?;
    match suffix {
        "_" => writeln!(f, "spellings!(\"{name}\");"),
        _ => writeln!(f, "alias!(\"{name}{suffix}\", \"p{name}{suffix}\");"),
    }
}

/// Returns the arguments with a hidden length, which follows all arguments.
fn texts(procedure: &Procedure) -> impl Iterator<Item = &Argument> {
    procedure
        .arguments
        .iter()
        .filter(|argument| argument.form == Form::Text)
}

fn rust_type(argument: &Argument, with_descriptors: bool) -> &'static str {
    match (argument.form, argument.shape, argument.intent) {
        (Form::Choice, ..) if with_descriptors => "*const Descriptor",
        (Form::Choice | Form::Address, ..) => "*mut c_void",
        (Form::Procedure(_), ..) => "*const c_void",
        (Form::Text, ..) => "*mut c_char",
        (Form::Status | Form::Status08, ..) => "*mut c_int",
        (Form::Integer(IntegerKind::Default), Shape::Triplets, _) => "*const [c_int; 3]",
        (Form::Integer(IntegerKind::Address), _, Intent::In) => "*const isize",
        (Form::Integer(IntegerKind::Address), _, Intent::Out) => "*mut isize",
        (Form::Integer(IntegerKind::Count | IntegerKind::Offset), _, Intent::In) => "*const c_longlong",
        (Form::Integer(IntegerKind::Count | IntegerKind::Offset), _, Intent::Out) => "*mut c_longlong",
        (_, _, Intent::In) => "*const c_int",
        (_, _, Intent::Out) => "*mut c_int",
    }
}

/// Writes the body of an entry point.
fn write_call(f: &mut Formatter<'_>, procedure: &Procedure, with_descriptors: bool) -> Result {
    let name = procedure.function.name;
    if has_body(procedure) {
        return write_body_call(f, procedure, with_descriptors);
    }
    if stores_at_completion(name) {
        return write_duplicate_call(f, procedure);
    }
    write_texts(f, procedure)?;
    if procedure.is_large {
        write_counts(f, procedure)?;
    }
    if with_descriptors {
        write_buffers(f, procedure)?;
    }
    if procedure.is_large {
        write_arrays(f, procedure, with_descriptors)?;
    }
    write_handles(f, procedure, with_descriptors)?;
    let result = if procedure.has_ierror() { "let result = " } else { "" };
    let copies_arrays = with_descriptors && procedure.copies_arrays();
    let start = if copies_arrays {
        "substitutes.start(request_place, || "
    } else {
        ""
    };
    write!(f, "        {result}{start}{name}(")?;
    for (at, argument) in procedure.arguments.iter().enumerate() {
        write_argument(f, procedure, at, argument, with_descriptors)?;
        f.write_str(", ")?;
    }
    f.write_str(if copies_arrays { "))" } else { ")" })?;
    if !procedure.has_ierror() {
        return f.write_str("\n");
    }
    f.write_str(";\n")?;
    for argument in &procedure.arguments {
        let name = argument.name;
        match argument.kind {
            Kind::TextOut => writeln!(f, "        {name}_text.write({name}, {name}_length);")?,
            Kind::CountOut | Kind::CountInOut if procedure.is_large => {
                writeln!(f, "        *{name} = c_longlong::from({name}_small);")?;
            }
            _ if is_single_result(argument) => writeln!(f, "        *{name} = {name}_handle.value();")?,
            _ if is_array(argument) && argument.intent == Intent::Out => {
                writeln!(f, "        {name}_handles.write({name});")?;
            }
            Kind::IndexOut => writeln!(f, "        count_from_one({name}, 1);")?,
            Kind::IndicesOut => writeln!(f, "        count_from_one({name}, *outcount);")?,
            _ => {}
        }
    }
    f.write_str("        finish(ierror, result);\n")
}

/// Writes the call of a body in `midplane-fortran`, which accepts the same arguments.
fn write_body_call(f: &mut Formatter<'_>, procedure: &Procedure, with_descriptors: bool) -> Result {
    let suffix = match (procedure.is_large, with_descriptors) {
        (true, _) => "_c",
        (false, true) => "_f08",
        (false, false) => "",
    };
    write!(
        f,
        "        let result = bodies::{}{suffix}(",
        Lower(procedure.function.name)
    )?;
    for argument in &procedure.arguments {
        write!(f, "{}, ", argument.name)?;
    }
    for argument in texts(procedure) {
        write!(f, "{}_length, ", argument.name)?;
    }
    match procedure.has_ierror() {
        true => f.write_str(");\n        finish(ierror, result);\n"),
        false => f.write_str(");\n        let _: c_int = result;\n"),
    }
}

/// Checks whether the C function stores a handle when the request of the call completes.
fn stores_at_completion(name: &str) -> bool {
    name.starts_with("MPI_Comm_idup")
}

/// Writes the call of a function that stores a handle at the completion of its request. Its last two arguments are the
/// places of both.
fn write_duplicate_call(f: &mut Formatter<'_>, procedure: &Procedure) -> Result {
    let name = procedure.function.name;
    write!(
        f,
        "        let mut request_handle = Handle::new(*request);\n        \
         let request_place = &raw mut request_handle;\n        \
         let result = store_at_completion(\"{name}\", newcomm, store, |newcomm| {{\n            \
         ({name}("
    )?;
    for argument in &procedure.arguments {
        match (argument.intent, argument.name) {
            (Intent::In, name) => write!(f, "Handle::new(*{name}), ")?,
            (Intent::Out, "request") => f.write_str("request_place")?,
            (Intent::Out, name) => write!(f, "{name}, ")?,
        }
    }
    f.write_str(
        "), (*request_place).value())\n        });\n        \
         *request = request_handle.value();\n        finish(ierror, result);\n",
    )
}

/// Checks whether an argument is one handle that the C function stores.
fn is_single_result(argument: &Argument) -> bool {
    let is_handle = matches!(argument.form, Form::Handle(_));
    is_handle && argument.shape == Shape::Scalar && argument.intent == Intent::Out
}

/// Checks whether an argument is an array of handles.
fn is_array(argument: &Argument) -> bool {
    matches!(argument.form, Form::Handle(_)) && argument.shape != Shape::Scalar
}

/// Writes the conversion of handles that the C function stores, and of arrays of handles.
fn write_handles(f: &mut Formatter<'_>, procedure: &Procedure, with_descriptors: bool) -> Result {
    let function = procedure.function.name;
    let mut buffer = None;
    for argument in &procedure.arguments {
        let name = argument.name;
        if argument.form == Form::Choice {
            buffer = Some(argument);
        }
        if is_single_result(argument) {
            write!(
                f,
                "        let mut {name}_handle = Handle::new(*{name});\n        \
                 let {name}_place = &raw mut {name}_handle;\n"
            )?;
        }
        if !is_array(argument) {
            continue;
        }
        write!(f, "        let mut {name}_handles = match HandleArray::")?;
        match buffer {
            None => {
                let lengths = ["count", "incount", "max_datatypes"];
                let is_length = |name: &&str| procedure.arguments.iter().any(|argument| argument.name == *name);
                let length = lengths.into_iter().find(is_length).unwrap_or("count");
                write!(f, "new(\"{function}\", {name}, *{length})")?;
            }
            Some(buffer) => write_length_of_call(f, procedure, buffer, name, with_descriptors)?,
        }
        f.write_str(RETURN_ERROR)?;
    }
    Ok(())
}

/// Writes the arguments of the conversion of an array with an item for each partner of the call.
fn write_length_of_call(
    f: &mut Formatter<'_>,
    procedure: &Procedure,
    buffer: &Argument,
    name: &str,
    with_descriptors: bool,
) -> Result {
    let function = procedure.function.name;
    write!(f, "of_call(\"{function}\", {name}, *comm, ")?;
    match count_array(procedure, buffer) {
        "PartnersAtRoot" => f.write_str("CountArray::PartnersAtRoot(*root), ")?,
        array => write!(f, "CountArray::{array}, ")?,
    }
    match buffer.intent {
        // Without significance if the send buffer is MPI_IN_PLACE.
        Intent::In => write_address(f, buffer, procedure, with_descriptors)?,
        Intent::Out => f.write_str("core::ptr::null_mut()")?,
    }
    f.write_str(")")
}

/// Writes the conversion of strings to C's.
fn write_texts(f: &mut Formatter<'_>, procedure: &Procedure) -> Result {
    // Info objects ignore blanks before keys and values (MPI-3.1 chapter 9).
    let new = match procedure.function.chapter() {
        9 => "trimmed",
        _ => "new",
    };
    for argument in texts(procedure) {
        let name = argument.name;
        match argument.intent {
            Intent::In => write!(
                f,
                "        let Some({name}_text) = CText::{new}({name}, {name}_length) else {{\n            \
                 return finish(ierror, no_memory(\"{}\"));\n        }};\n",
                procedure.function.name
            )?,
            Intent::Out => writeln!(f, "        let mut {name}_text = FortranText::new();")?,
        }
    }
    Ok(())
}

/// Writes the conversion of large counts to integers: with another datatype if necessary and possible.
fn write_counts(f: &mut Formatter<'_>, procedure: &Procedure) -> Result {
    let function = procedure.function.name;
    for (at, argument) in procedure.arguments.iter().enumerate() {
        let name = argument.name;
        match argument.kind {
            Kind::Count | Kind::TypeCount => {}
            Kind::CountOut => writeln!(f, "        let mut {name}_small: c_int = 0;")?,
            Kind::CountInOut => writeln!(f, "        let mut {name}_small = *{name} as c_int;")?,
            _ => continue,
        }
        if !matches!(argument.kind, Kind::Count | Kind::TypeCount) {
            continue;
        }
        write!(f, "        let {name}_large = match ")?;
        let is_message = at > 0 && procedure.is_message(at - 1);
        match procedure.arguments.get(at + 1).filter(|_| is_message) {
            Some(datatype) => write!(f, "LargeCount::new(\"{function}\", *{name}, *{})", datatype.name)?,
            None => write!(f, "LargeCount::small(\"{function}\", *{name})")?,
        }
        f.write_str(RETURN_ERROR)?;
    }
    Ok(())
}

/// Rest of an expression `match`, which returns from an entry point on an error.
const RETURN_ERROR: &str = " {\n            Ok(converted) => converted,\n            \
                            Err(code) => return finish(ierror, code),\n        };\n";

/// Writes the conversion of array descriptors to addresses, counts and datatypes.
fn write_buffers(f: &mut Formatter<'_>, procedure: &Procedure) -> Result {
    let function = procedure.function.name;
    let copies_arrays = procedure.copies_arrays();
    if copies_arrays {
        writeln!(f, "        let mut substitutes = Substitutes::new(\"{function}\");")?;
    }
    for (at, argument) in procedure.arguments.iter().enumerate() {
        if argument.form != Form::Choice {
            continue;
        }
        let name = argument.name;
        if copies_arrays {
            let is_result = argument.intent == Intent::Out;
            write!(
                f,
                "        let {name}_address = match substitutes.contiguous({name}, {is_result})"
            )?;
            f.write_str(RETURN_ERROR)?;
            continue;
        }
        if procedure.uses_first_element() {
            writeln!(f, "        let {name}_buffer = Buffer::first_element({name});")?;
            continue;
        }
        write!(f, "        let {name}_buffer = match ")?;
        match (procedure.is_strided(at), &procedure.arguments[at..]) {
            (true, [_, count, ..]) if procedure.is_large => {
                let count = count.name;
                write!(
                    f,
                    "Buffer::new(\"{function}\", {name}, {count}_large.count, {count}_large.datatype)"
                )?;
            }
            (true, [_, count, datatype, ..]) => {
                write!(
                    f,
                    "Buffer::new(\"{function}\", {name}, *{}, *{})",
                    count.name, datatype.name
                )?;
            }
            _ => write!(f, "Buffer::contiguous(\"{function}\", {name})")?,
        }
        f.write_str(RETURN_ERROR)?;
    }
    Ok(())
}

/// Writes the conversion of arrays of large counts and displacements to integers.
fn write_arrays(f: &mut Formatter<'_>, procedure: &Procedure, with_descriptors: bool) -> Result {
    let function = procedure.function.name;
    let mut buffer = None;
    for argument in &procedure.arguments {
        if argument.form == Form::Choice {
            buffer = Some(argument);
        }
        if !matches!(argument.kind, Kind::Counts | Kind::Displs | Kind::ElementDispls) {
            continue;
        }
        let name = argument.name;
        write!(f, "        let {name}_small = match ")?;
        match buffer {
            None => {
                let is_length = |name: &&str| procedure.arguments.iter().any(|argument| argument.name == *name);
                let length = { ["count", "ndims"].into_iter() }.find(is_length).unwrap_or("count");
                write!(f, "SmallIntegers::new(\"{function}\", {name}, *{length})")?;
            }
            Some(buffer) => {
                f.write_str("SmallIntegers::")?;
                write_length_of_call(f, procedure, buffer, name, with_descriptors)?;
            }
        }
        f.write_str(RETURN_ERROR)?;
    }
    Ok(())
}

/// Returns the variant of `CountArray` for the counts of a buffer.
fn count_array(procedure: &Procedure, buffer: &Argument) -> &'static str {
    let name = procedure.function.name;
    let has_root = procedure.arguments.iter().any(|argument| argument.name == "root");
    match (procedure.function.chapter(), buffer.intent) {
        (7, Intent::In) => "Destinations",
        (7, Intent::Out) => "Sources",
        _ if name.ends_with("educe_scatter") => "OwnGroup",
        _ if has_root => "PartnersAtRoot",
        _ => "Partners",
    }
}

/// Writes the address of a buffer as C accepts it.
fn write_address(f: &mut Formatter<'_>, buffer: &Argument, procedure: &Procedure, with_descriptors: bool) -> Result {
    let name = buffer.name;
    match with_descriptors {
        true if procedure.copies_arrays() => write!(f, "{name}_address"),
        true => write!(f, "{name}_buffer.address"),
        false => write!(f, "c_buffer({name})"),
    }
}

/// Writes an argument of the C function.
fn write_argument(
    f: &mut Formatter<'_>,
    procedure: &Procedure,
    at: usize,
    argument: &Argument,
    with_descriptors: bool,
) -> Result {
    let name = argument.name;
    // Count and datatype of a strided buffer, which precedes them.
    if with_descriptors {
        for before in 1..=2 {
            if let Some(buffer) = at.checked_sub(before).filter(|at| procedure.is_strided(*at)) {
                let name = procedure.arguments[buffer].name;
                return match before {
                    1 => write!(f, "{name}_buffer.count"),
                    _ => write!(f, "Handle::new({name}_buffer.datatype)"),
                };
            }
        }
    }
    if procedure.is_large {
        match argument.kind {
            Kind::Count | Kind::TypeCount => return write!(f, "{name}_large.count"),
            Kind::Counts | Kind::Displs | Kind::ElementDispls => return write!(f, "{name}_small.as_ptr()"),
            Kind::CountOut | Kind::CountInOut => return write!(f, "&mut {name}_small"),
            Kind::Datatype if at >= 2 && procedure.is_message(at - 2) => {
                return write!(f, "Handle::new({}_large.datatype)", procedure.arguments[at - 1].name);
            }
            _ => {}
        }
    }
    match argument.form {
        Form::Choice => {
            write_address(f, argument, procedure, with_descriptors)?;
            f.write_str(".cast()")
        }
        Form::Address => write!(f, "{name}.cast()"),
        Form::Status | Form::Status08 => write!(f, "c_status({name}).cast()"),
        Form::Text => match argument.intent {
            Intent::In => write!(f, "{name}_text.as_ptr()"),
            Intent::Out => write!(f, "{name}_text.as_mut_ptr()"),
        },
        Form::Procedure(_) => write!(f, "transmute::<*const c_void, kinds::{:?}>({name})", argument.kind),
        _ if name.contains("weights") => write!(f, "c_weights({name})"),
        _ if is_single_result(argument) => write!(f, "{name}_place"),
        _ if is_array(argument) => write!(f, "{name}_handles.as_mut_ptr()"),
        Form::Handle(_) => write!(f, "Handle::new(*{name})"),
        _ if argument.shape != Shape::Scalar || argument.intent == Intent::Out => match procedure.function.state {
            State::Removed(_) => write!(f, "{name}.cast_mut()"),
            _ => write!(f, "{name}"),
        },
        Form::Logical => write!(f, "c_int::from(*{name} != 0)"),
        Form::Integer(_) => write!(f, "*{name}"),
    }
}
