//! Each procedure of the Fortran interfaces is called once in a program, which is compiled and linked: so each entry point
//! exists, and each interface accepts arguments of the types that the standard specifies.

use std::fmt::Write;
use std::fs;

use midplane_api::Kind;
use midplane_api::fortran::{Argument, Form, IntegerKind, Procedure, Shape, procedures};
use midplane_harness::{self as harness, TempDirectory};

/// A way to use MPI in Fortran.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Interface {
    Include,
    Module,
    Module08,
}

/// Returns the declarations of the variables that [`variable`] names.
fn declarations(interface: Interface) -> String {
    let mut text = String::new();
    let handles = [
        "Comm",
        "Datatype",
        "Errhandler",
        "File",
        "Group",
        "Info",
        "Message",
        "Op",
        "Request",
        "Session",
        "Win",
    ];
    for name in handles {
        let fortran_type = match interface {
            Interface::Module08 => format!("type(MPI_{name})"),
            _ => "integer".into(),
        };
        writeln!(text, "{fortran_type} :: v_{name}, a_{name}(2)").expect("memory");
    }
    let status = match interface {
        Interface::Module08 => "type(MPI_Status) :: v_status, a_status(2)",
        _ => "integer :: v_status(MPI_STATUS_SIZE), a_status(MPI_STATUS_SIZE, 2)",
    };
    let status08 = match interface {
        Interface::Include => "integer :: v_status08(MPI_STATUS_SIZE)",
        _ => "type(MPI_Status) :: v_status08",
    };
    let address = match interface {
        Interface::Module08 => "type(c_ptr) :: v_address",
        _ => "integer(8) :: v_address",
    };
    text + &format!(
        "{status}\n{status08}\n{address}\n\
         integer :: o_status(MPI_STATUS_SIZE)\n\
         integer :: v_int, a_int(2), t_int(3,1), ierror\n\
         integer(8) :: v_long, a_long(2)\n\
         logical :: v_logical, a_logical(2)\n\
         character(64) :: v_text, a_text(2), m_text(1,1)\n\
         real(8) :: v_choice(4)\n\
         double precision :: v_double\n\
         external :: callback\n"
    )
}

/// Returns a variable that is an argument of this form.
fn variable(argument: &Argument) -> String {
    let prefix = match argument.shape {
        Shape::Scalar => "v",
        Shape::Array => "a",
        Shape::Triplets => "t",
        Shape::Matrix => "m",
    };
    match argument.form {
        Form::Integer(IntegerKind::Default) => format!("{prefix}_int"),
        Form::Integer(_) => format!("{prefix}_long"),
        Form::Logical => format!("{prefix}_logical"),
        Form::Handle(name) => format!("{prefix}_{}", name.trim_start_matches("MPI_")),
        Form::Status if matches!(argument.kind, Kind::Fints | Kind::FintsOut) => "o_status".into(),
        Form::Status => format!("{prefix}_status"),
        Form::Status08 => "v_status08".into(),
        Form::Choice => "v_choice".into(),
        Form::Address => "v_address".into(),
        Form::Text => format!("{prefix}_text"),
        Form::Procedure(_) => "callback".into(),
    }
}

/// Writes the call of a procedure. Lines are shorter than the maximum of the standard.
fn call(text: &mut String, procedure: &Procedure, prefix: &str) {
    let name = format!("{prefix}{}", procedure.function.name);
    let mut arguments: Vec<String> = procedure.arguments.iter().map(variable).collect();
    if procedure.has_ierror() {
        arguments.push("ierror".into());
    }
    let arguments = arguments.join(", &\n    ");
    let line = match procedure.function.result {
        Kind::Double => format!("v_double = {name}({arguments})"),
        Kind::Aint => format!("v_long = {name}({arguments})"),
        _ => format!("call {name}({arguments})"),
    };
    writeln!(text, "  {line}").expect("memory");
}

/// Returns a program that calls all procedures of an interface, if it has a thousand arguments.
fn program(interface: Interface) -> String {
    let (module, include) = match interface {
        Interface::Include => ("", "include 'mpif.h'\n"),
        Interface::Module => ("use mpi\n", ""),
        Interface::Module08 => ("use mpi_f08\nuse, intrinsic :: iso_c_binding, only: c_ptr\n", ""),
    };
    let mut text = format!("program calls\n{module}implicit none\n{include}");
    text += &declarations(interface);
    text += "if (command_argument_count() > 1000) then\n";
    for prefix in ["", "P"] {
        for procedure in procedures() {
            if interface != Interface::Module08 || procedure.is_in_mpi_f08() {
                call(&mut text, &procedure, prefix);
            }
            if let Some(large) = procedure.large().filter(|_| interface == Interface::Module08) {
                call(&mut text, &large, prefix);
            }
        }
    }
    text + "end if\nprint '(a)', 'linked'\nend program\nsubroutine callback()\nend subroutine\n"
}

#[test]
fn each_interface_has_each_procedure() {
    if !harness::fortran::has_gfortran() {
        return;
    }
    for (interface, name) in [
        (Interface::Include, "include"),
        (Interface::Module, "module"),
        (Interface::Module08, "module08"),
    ] {
        let text = program(interface);
        let calls = text.matches("MPI_").count();
        assert!(calls > 700, "{name}: {calls}");
        let directory = TempDirectory::new(&format!("fortran-calls-{name}"));
        let source = directory.path("calls.f90");
        fs::write(&source, text).expect("a source");
        let run = harness::midplane(&["run", "--on", "linux", "--quiet", "-n", "1", &source]);
        run.expect(0).prints("linked\n");
    }
}
