//! Generators of the modules `mpi` and `mpi_f08`.

use core::fmt::{Display, Formatter, Result};

use super::{
    Argument, CallbackAction, Form, HANDLES, IntegerKind, Intent, PREDEFINED_CALLBACKS, Procedure, SPECIAL, Shape,
    SpecialAddress, constants, include, procedures,
};
use crate::Kind;

/// Maximum line length. The standard allows 132 columns.
const COLUMNS: usize = 120;

/// Text of the module `mpi`.
#[derive(Clone, Copy, Debug)]
pub struct Module;

/// Text of the module `mpi_f08`.
#[derive(Clone, Copy, Debug)]
pub struct Module08;

impl Module {
    /// File name.
    pub const NAME: &str = "mpi.f90";
}

impl Module08 {
    /// File name.
    pub const NAME: &str = "mpi_f08.f90";
}

/// Interface that a module provides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Mpi,
    Mpi08,
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("! MPI for Fortran programs with the statement: use mpi\nmodule mpi\n")?;
        f.write_str("      implicit none\n")?;
        include::declare_constants(f)?;
        declare_status08(f)?;
        for callback in &PREDEFINED_CALLBACKS {
            writeln!(f, "external :: {}", callback.name)?;
        }
        f.write_str("external :: MPI_CONVERSION_FN_NULL\n")?;
        declare_procedures(f, Dialect::Mpi)?;
        f.write_str("end module mpi\n")
    }
}

impl Display for Module08 {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("! MPI for Fortran programs with the statement: use mpi_f08\nmodule mpi_f08\n")?;
        f.write_str("use, intrinsic :: iso_c_binding, only: c_ptr\nimplicit none\n")?;
        for handle in HANDLES {
            writeln!(f, "type, bind(C) :: {handle}\n  integer :: MPI_VAL\nend type {handle}")?;
        }
        declare_status08(f)?;
        declare_constants08(f)?;
        for special in &SPECIAL {
            declare_special08(f, special)?;
        }
        declare_callbacks(f)?;
        declare_predefined_callbacks(f)?;
        declare_comparisons(f)?;
        declare_procedures(f, Dialect::Mpi08)?;
        f.write_str("end module mpi_f08\n")
    }
}

/// Writes the type of statuses in `mpi_f08`, with the eight integers of a status in `mpif.h`.
fn declare_status08(f: &mut Formatter<'_>) -> Result {
    f.write_str(
        "type, bind(C) :: MPI_Status\n  \
         integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR, MPI_internal(5)\n\
         end type MPI_Status\n",
    )
}

fn declare_constants08(f: &mut Formatter<'_>) -> Result {
    for constant in constants() {
        let (name, value) = (constant.name, constant.value);
        match constant.handle {
            Some(handle) => writeln!(f, "type({handle}), parameter :: {name} = {handle}({value})")?,
            None if name == "MPI_DISPLACEMENT_CURRENT" => writeln!(f, "integer(8), parameter :: {name} = {value}_8")?,
            None => writeln!(f, "integer, parameter :: {name} = {value}")?,
        }
    }
    f.write_str(
        "logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .true.\n\
         logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .true.\n",
    )
}

fn declare_special08(f: &mut Formatter<'_>, special: &SpecialAddress) -> Result {
    let (fortran_type, shape) = match special.name {
        "MPI_STATUS_IGNORE" => ("type(MPI_Status)", ""),
        "MPI_STATUSES_IGNORE" => ("type(MPI_Status)", "(1)"),
        _ => (special.fortran_type, special.shape),
    };
    let (name, block) = (special.name, special.block);
    writeln!(f, "{fortran_type}, bind(C, name=\"mpifcm{block}_\") :: {name}{shape}")
}

/// Writes the interfaces of the program's procedures that MPI calls.
fn declare_callbacks(f: &mut Formatter<'_>) -> Result {
    f.write_str("abstract interface\n")?;
    f.write_str(
        "subroutine MPI_User_function(invec, inoutvec, len, datatype)\n\
         import :: c_ptr, MPI_Datatype\n\
         type(c_ptr), value :: invec, inoutvec\n\
         integer :: len\n\
         type(MPI_Datatype) :: datatype\n\
         end subroutine\n",
    )?;
    for (object, handle) in [
        ("Comm", "comm"),
        ("Win", "win"),
        ("File", "file"),
        ("Session", "session"),
    ] {
        write!(
            f,
            "subroutine MPI_{object}_errhandler_function({handle}, error_code)\n\
             import :: MPI_{object}\n\
             type(MPI_{object}) :: {handle}\n\
             integer :: error_code\n\
             end subroutine\n",
        )?;
    }
    for (object, kind) in [("Comm", "MPI_Comm"), ("Type", "MPI_Datatype"), ("Win", "MPI_Win")] {
        declare_copy(f, &["MPI_", object, "_copy_attr_function"], "type(", kind, ")", 8)?;
        declare_delete(f, &["MPI_", object, "_delete_attr_function"], "type(", kind, ")", 8)?;
    }
    f.write_str(
        "subroutine MPI_Grequest_query_function(extra_state, status, ierror)\n\
         import :: MPI_Status\n\
         type(MPI_Status) :: status\n\
         integer(8) :: extra_state\n\
         integer :: ierror\n\
         end subroutine\n\
         subroutine MPI_Grequest_free_function(extra_state, ierror)\n\
         integer(8) :: extra_state\n\
         integer :: ierror\n\
         end subroutine\n\
         subroutine MPI_Grequest_cancel_function(extra_state, complete, ierror)\n\
         integer(8) :: extra_state\n\
         logical :: complete\n\
         integer :: ierror\n\
         end subroutine\n\
         subroutine MPI_Datarep_extent_function(datatype, extent, extra_state, ierror)\n\
         import :: MPI_Datatype\n\
         type(MPI_Datatype) :: datatype\n\
         integer(8) :: extent, extra_state\n\
         integer :: ierror\n\
         end subroutine\n\
         subroutine MPI_Datarep_conversion_function(userbuf, datatype, count, filebuf, position, extra_state, ierror)\n\
         import :: c_ptr, MPI_Datatype\n\
         type(c_ptr), value :: userbuf, filebuf\n\
         type(MPI_Datatype) :: datatype\n\
         integer :: count\n\
         integer(8) :: position, extra_state\n\
         integer :: ierror\n\
         end subroutine\n\
         end interface\n",
    )
}

/// Writes the interface of a copy callback, whose name is in pieces. `width` is the size of an attribute in bytes.
fn declare_copy(f: &mut Formatter<'_>, name: &[&str], before: &str, kind: &str, after: &str, width: u32) -> Result {
    f.write_str("subroutine ")?;
    name.iter().try_for_each(|piece| f.write_str(piece))?;
    f.write_str("(oldobject, keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)\n")?;
    if !before.is_empty() {
        writeln!(f, "import :: {kind}")?;
    }
    write!(
        f,
        "{before}{kind}{after} :: oldobject\n\
         integer :: keyval, ierror\n\
         integer({width}) :: extra_state, attribute_val_in, attribute_val_out\n\
         logical :: flag\n\
         end subroutine\n"
    )
}

/// Writes the interface of a delete callback, like [`declare_copy`].
fn declare_delete(f: &mut Formatter<'_>, name: &[&str], before: &str, kind: &str, after: &str, width: u32) -> Result {
    f.write_str("subroutine ")?;
    name.iter().try_for_each(|piece| f.write_str(piece))?;
    f.write_str("(object, keyval, attribute_val, extra_state, ierror)\n")?;
    if !before.is_empty() {
        writeln!(f, "import :: {kind}")?;
    }
    write!(
        f,
        "{before}{kind}{after} :: object\n\
         integer :: keyval, ierror\n\
         integer({width}) :: attribute_val, extra_state\n\
         end subroutine\n"
    )
}

fn declare_predefined_callbacks(f: &mut Formatter<'_>) -> Result {
    f.write_str("interface\n")?;
    for callback in PREDEFINED_CALLBACKS.iter().filter(|callback| !callback.is_of_mpi1) {
        let kind = match callback.name.split('_').nth(1) {
            Some("TYPE") => "MPI_Datatype",
            Some("WIN") => "MPI_Win",
            _ => "MPI_Comm",
        };
        match callback.action {
            CallbackAction::Delete => declare_delete(f, &[callback.name], "type(", kind, ")", 8)?,
            CallbackAction::Copy | CallbackAction::CopyNothing => {
                declare_copy(f, &[callback.name], "type(", kind, ")", 8)?;
            }
        }
    }
    f.write_str("end interface\nexternal :: MPI_CONVERSION_FN_NULL\n")
}

/// Writes the operators that compare handles. Their functions are external, so that no code of this module is linked.
fn declare_comparisons(f: &mut Formatter<'_>) -> Result {
    for (operator, name) in [("==", "eq"), ("/=", "ne")] {
        writeln!(f, "interface operator({operator})")?;
        for handle in HANDLES {
            let lower = handle.trim_start_matches("MPI_");
            write!(
                f,
                "elemental logical function midplane_{lower}_{name}(a, b)\n\
                 import :: {handle}\n\
                 type({handle}), intent(in) :: a, b\n\
                 end function\n"
            )?;
        }
        f.write_str("end interface\n")?;
    }
    Ok(())
}

fn declare_procedures(f: &mut Formatter<'_>, dialect: Dialect) -> Result {
    for prefix in ["", "P"] {
        for procedure in procedures() {
            match dialect {
                Dialect::Mpi => declare_plain(f, &procedure, prefix, dialect)?,
                Dialect::Mpi08 if !procedure.is_in_mpi_f08() => {}
                Dialect::Mpi08 => declare08(f, &procedure, prefix)?,
            }
        }
        write!(
            f,
            "interface {prefix}MPI_Sizeof\n\
             subroutine {prefix}MPI_Sizeof_ts(x, size, ierror) bind(C, name=\"{}mpi_sizeof_ts\")\n\
             type(*), dimension(..), intent(in) :: x\n\
             integer, intent(out) :: size\n\
             integer, intent(out), optional :: ierror\n\
             end subroutine\n\
             end interface\n",
            match prefix {
                "P" => "p",
                _ => "",
            }
        )?;
    }
    f.write_str(
        "interface MPI_F_sync_reg\n\
         subroutine MPI_F_sync_reg_ts(buf) bind(C, name=\"mpi_f_sync_reg_ts\")\n\
         type(*), dimension(..) :: buf\n\
         end subroutine\n\
         end interface\n",
    )
}

/// Writes the interface of an entry point that `mpif.h` shares.
fn declare_plain(f: &mut Formatter<'_>, procedure: &Procedure, prefix: &str, dialect: Dialect) -> Result {
    f.write_str("interface\n")?;
    declare_heading(f, procedure, prefix, "")?;
    f.write_str("\n")?;
    declare_arguments(f, procedure, dialect, false)?;
    end_heading(f, procedure, dialect)?;
    f.write_str("end interface\n")
}

/// Writes the interfaces of a procedure in `mpi_f08`: of one name if it has several forms.
fn declare08(f: &mut Formatter<'_>, procedure: &Procedure, prefix: &str) -> Result {
    let large = procedure.large();
    if large.is_none() && !procedure.has_own_entry() {
        return declare_plain(f, procedure, prefix, Dialect::Mpi08);
    }
    writeln!(f, "interface {prefix}{}", procedure.function.name)?;
    for form in [Some(procedure), large.as_ref()].into_iter().flatten() {
        declare_form(f, form, prefix)?;
    }
    f.write_str("end interface\n")
}

/// Writes the interface of one form of a procedure, with the symbol of its entry point.
fn declare_form(f: &mut Formatter<'_>, procedure: &Procedure, prefix: &str) -> Result {
    let symbol = procedure.suffix(match procedure.is_large {
        true => procedure.has_descriptors(),
        false => procedure.has_own_entry(),
    });
    let suffix = if symbol == "_" { "_f08" } else { symbol };
    declare_heading(f, procedure, prefix, suffix)?;
    write!(f, " &\n  bind(C, name=\"")?;
    for letter in prefix.chars().chain(procedure.function.name.chars()) {
        write!(f, "{}", letter.to_ascii_lowercase())?;
    }
    write!(f, "{symbol}\")")?;
    f.write_str("\n")?;
    declare_arguments(f, procedure, Dialect::Mpi08, procedure.has_descriptors())?;
    end_heading(f, procedure, Dialect::Mpi08)
}

fn declare_heading(f: &mut Formatter<'_>, procedure: &Procedure, prefix: &str, suffix: &str) -> Result {
    let name = procedure.function.name;
    match procedure.function.result {
        Kind::Double => f.write_str("double precision function ")?,
        Kind::Aint => f.write_str("integer(8) function ")?,
        _ => f.write_str("subroutine ")?,
    }
    write!(f, "{prefix}{name}{suffix}(")?;
    let ierror = procedure.has_ierror().then_some("ierror");
    let names = procedure.arguments.iter().map(|argument| argument.name).chain(ierror);
    let mut column = name.len() + "subroutine (".len() + suffix.len();
    for (at, name) in names.enumerate() {
        if at > 0 {
            f.write_str(", ")?;
        }
        if column + name.len() + ", &".len() > COLUMNS {
            f.write_str("&\n    ")?;
            column = 4;
        }
        f.write_str(name)?;
        column += name.len() + 2;
    }
    f.write_str(")")
}

fn end_heading(f: &mut Formatter<'_>, procedure: &Procedure, dialect: Dialect) -> Result {
    if procedure.has_ierror() {
        let optional = match dialect {
            Dialect::Mpi => "",
            Dialect::Mpi08 => ", optional",
        };
        writeln!(f, "integer, intent(out){optional} :: ierror")?;
    }
    match procedure.function.result {
        Kind::Int => f.write_str("end subroutine\n"),
        _ => f.write_str("end function\n"),
    }
}

fn declare_arguments(f: &mut Formatter<'_>, procedure: &Procedure, dialect: Dialect, with_descriptors: bool) -> Result {
    let arguments = &procedure.arguments;
    if dialect == Dialect::Mpi08 {
        for handle in HANDLES {
            if arguments.iter().any(|argument| argument.form == Form::Handle(handle)) {
                writeln!(f, "import :: {handle}")?;
            }
        }
        if arguments.iter().any(|argument| argument.form == Form::Address) {
            f.write_str("import :: c_ptr\n")?;
        }
    }
    let has_status = |argument: &Argument| match argument.form {
        Form::Status => dialect == Dialect::Mpi08 && !is_old_status(argument),
        Form::Status08 => true,
        _ => false,
    };
    if arguments.iter().any(has_status) {
        f.write_str("import :: MPI_Status\n")?;
    }
    for argument in arguments {
        match dialect {
            Dialect::Mpi => declare_argument(f, argument)?,
            Dialect::Mpi08 => declare_argument08(f, argument, with_descriptors)?,
        }
    }
    Ok(())
}

/// Checks whether it is a status as an array of integers in every interface.
fn is_old_status(argument: &Argument) -> bool {
    matches!(argument.kind, Kind::Fints | Kind::FintsOut)
}

fn integer(kind: IntegerKind) -> &'static str {
    match kind {
        IntegerKind::Default => "integer",
        IntegerKind::Address | IntegerKind::Count | IntegerKind::Offset => "integer(8)",
    }
}

fn shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Scalar => "",
        Shape::Array => "(*)",
        Shape::Triplets => "(3,*)",
        Shape::Matrix => "(count,*)",
    }
}

fn intent(argument: &Argument) -> &'static str {
    match argument.intent {
        Intent::In => ", intent(in)",
        Intent::Out => "",
    }
}

/// Writes the declaration of a buffer that the compiler copies if it is strided. The directives let it have any type and
/// rank: those of GCC and of LLVM.
fn declare_choice(f: &mut Formatter<'_>, name: &str) -> Result {
    write!(
        f,
        "!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}\n\
         !DIR$ IGNORE_TKR {name}\n\
         type(*), dimension(*) :: {name}\n"
    )
}

/// Writes the declaration of an argument in the module `mpi`.
fn declare_argument(f: &mut Formatter<'_>, argument: &Argument) -> Result {
    let name = argument.name;
    let (intent, shape) = (intent(argument), shape(argument.shape));
    match argument.form {
        Form::Integer(kind) => writeln!(f, "{}{intent} :: {name}{shape}", integer(kind)),
        Form::Logical => writeln!(f, "logical{intent} :: {name}{shape}"),
        Form::Handle(_) => writeln!(f, "integer{intent} :: {name}{shape}"),
        Form::Status => match argument.shape {
            Shape::Scalar => writeln!(f, "integer{intent} :: {name}(6)"),
            _ => writeln!(f, "integer{intent} :: {name}(6,*)"),
        },
        Form::Status08 => writeln!(f, "type(MPI_Status){intent} :: {name}"),
        // A pointer of Cray or of iso_c_binding (MPI-3.1 section 8.2).
        Form::Choice | Form::Address => declare_choice(f, name),
        Form::Text => writeln!(f, "character(len=*){intent} :: {name}{shape}"),
        Form::Procedure(_) => writeln!(f, "external :: {name}"),
    }
}

/// Writes the declaration of an argument in the module `mpi_f08`.
fn declare_argument08(f: &mut Formatter<'_>, argument: &Argument, with_descriptors: bool) -> Result {
    let name = argument.name;
    let (intent, shape) = (intent(argument), shape(argument.shape));
    match argument.form {
        Form::Handle(handle) => writeln!(f, "type({handle}){intent} :: {name}{shape}"),
        Form::Status if !is_old_status(argument) => writeln!(f, "type(MPI_Status){intent} :: {name}{shape}"),
        Form::Choice if with_descriptors => {
            writeln!(f, "type(*), dimension(..){intent}, asynchronous :: {name}")
        }
        Form::Address => writeln!(f, "type(c_ptr), intent(out) :: {name}"),
        _ => declare_argument(f, argument),
    }
}
