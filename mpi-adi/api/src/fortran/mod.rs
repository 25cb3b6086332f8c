//! Fortran: the files of its three interfaces, and the entry points behind them, generated from the function table.
//!
//! | interface | file | generator |
//! |---|---|---|
//! | `include 'mpif.h'` | `mpif.h`, for fixed and free form | [`Include`] |
//! | `use mpi` | `mpi.f90` | [`Module`] |
//! | `use mpi_f08` | `mpi_f08.f90` | [`Module08`] |
//!
//! All three call the same entry points ([`Entries`], compiled by `midplane-fortran`): a handle of type `TYPE(MPI_Comm)`
//! and an `INTEGER` are the same argument, an absent `ierror` is a null pointer, and the status has the same eight
//! integers. Functions of `mpi_f08` whose buffers outlive the call, or are not copied, have a second entry point that
//! accepts array descriptors ([`Procedure::has_descriptors`]).
//!
//! The modules contain declarations only, so that nothing compiled from them is linked.

mod constants;
mod entries;
mod include;
mod module;

use alloc::vec::Vec;

use crate::{FUNCTIONS, Function, Kind, State};

pub use constants::{Constant, constants};
pub use entries::{Declarations, Entries};
pub use include::Include;
pub use module::{Module, Module08};

/// Integers of a status.
const STATUS_SIZE: usize = 8;

/// Variables with special addresses (MPI-3.1 section 2.5.4): name, Fortran type, shape, name of the common block.
const SPECIAL: [SpecialAddress; 10] = [
    SpecialAddress::new("MPI_BOTTOM", "integer", "", "bottom"),
    SpecialAddress::new("MPI_BUFFER_AUTOMATIC", "integer", "", "automatic"),
    SpecialAddress::new("MPI_IN_PLACE", "integer", "", "inplace"),
    SpecialAddress::new("MPI_STATUS_IGNORE", "integer", "(8)", "status"),
    SpecialAddress::new("MPI_STATUSES_IGNORE", "integer", "(8,1)", "statuses"),
    SpecialAddress::new("MPI_ERRCODES_IGNORE", "integer", "(1)", "errcodes"),
    SpecialAddress::new("MPI_UNWEIGHTED", "integer", "(1)", "unweighted"),
    SpecialAddress::new("MPI_WEIGHTS_EMPTY", "integer", "(1)", "weightsempty"),
    SpecialAddress::new("MPI_ARGV_NULL", "character(1)", "(1)", "argv"),
    SpecialAddress::new("MPI_ARGVS_NULL", "character(1)", "(1,1)", "argvs"),
];

/// A variable that is recognized by its address.
struct SpecialAddress {
    name: &'static str,
    fortran_type: &'static str,
    shape: &'static str,
    /// End of the name of its common block, which begins with `mpifcm`.
    block: &'static str,
}

impl SpecialAddress {
    const fn new(name: &'static str, fortran_type: &'static str, shape: &'static str, block: &'static str) -> Self {
        Self {
            name,
            fortran_type,
            shape,
            block,
        }
    }
}

/// Types of handles.
const HANDLES: [&str; 11] = [
    "MPI_Comm",
    "MPI_Datatype",
    "MPI_Errhandler",
    "MPI_File",
    "MPI_Group",
    "MPI_Info",
    "MPI_Message",
    "MPI_Op",
    "MPI_Request",
    "MPI_Session",
    "MPI_Win",
];

/// Predefined callbacks of attributes, which Fortran has for each kind of object (MPI-3.1 section 6.7), with the rank of
/// the interface: 1 for the callbacks of MPI-1, whose attributes are default integers.
const PREDEFINED_CALLBACKS: [PredefinedCallback; 12] = [
    PredefinedCallback::new("MPI_COMM_DUP_FN", CallbackAction::Copy, false),
    PredefinedCallback::new("MPI_COMM_NULL_COPY_FN", CallbackAction::CopyNothing, false),
    PredefinedCallback::new("MPI_COMM_NULL_DELETE_FN", CallbackAction::Delete, false),
    PredefinedCallback::new("MPI_TYPE_DUP_FN", CallbackAction::Copy, false),
    PredefinedCallback::new("MPI_TYPE_NULL_COPY_FN", CallbackAction::CopyNothing, false),
    PredefinedCallback::new("MPI_TYPE_NULL_DELETE_FN", CallbackAction::Delete, false),
    PredefinedCallback::new("MPI_WIN_DUP_FN", CallbackAction::Copy, false),
    PredefinedCallback::new("MPI_WIN_NULL_COPY_FN", CallbackAction::CopyNothing, false),
    PredefinedCallback::new("MPI_WIN_NULL_DELETE_FN", CallbackAction::Delete, false),
    PredefinedCallback::new("MPI_DUP_FN", CallbackAction::Copy, true),
    PredefinedCallback::new("MPI_NULL_COPY_FN", CallbackAction::CopyNothing, true),
    PredefinedCallback::new("MPI_NULL_DELETE_FN", CallbackAction::Delete, true),
];

/// A predefined callback of attributes.
struct PredefinedCallback {
    name: &'static str,
    action: CallbackAction,
    /// Whether its attributes are default integers.
    is_of_mpi1: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallbackAction {
    Copy,
    CopyNothing,
    Delete,
}

impl PredefinedCallback {
    const fn new(name: &'static str, action: CallbackAction, is_of_mpi1: bool) -> Self {
        Self {
            name,
            action,
            is_of_mpi1,
        }
    }
}

/// Form of an argument in Fortran. All arguments are references.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `INTEGER` of this kind.
    Integer(IntegerKind),
    /// `LOGICAL`.
    Logical,
    /// A handle of this type.
    Handle(&'static str),
    /// A status.
    Status,
    /// A status of `mpi_f08`, in every interface.
    Status08,
    /// Memory of the program, of any type and rank.
    Choice,
    /// The address of memory that MPI has allocated.
    Address,
    /// `CHARACTER(*)`.
    Text,
    /// A procedure of the program, with its interface in `mpi_f08`.
    Procedure(&'static str),
}

/// Kind of an integer argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntegerKind {
    /// The default kind, which is C's int.
    Default,
    /// MPI_ADDRESS_KIND.
    Address,
    /// MPI_COUNT_KIND.
    Count,
    /// MPI_OFFSET_KIND.
    Offset,
}

/// Shape of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// One value.
    Scalar,
    /// Values one after the other.
    Array,
    /// Groups of three values.
    Triplets,
    /// A matrix of strings.
    Matrix,
}

/// Data flow of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Intent {
    /// Only read.
    In,
    /// Written, or read and written.
    Out,
}

/// An argument in Fortran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Argument {
    /// Name.
    pub name: &'static str,
    /// Kind in the table.
    pub kind: Kind,
    /// Form.
    pub form: Form,
    /// Shape.
    pub shape: Shape,
    /// Data flow.
    pub intent: Intent,
}

/// Returns form, shape and data flow of a kind; `None` for arguments that Fortran does not have.
fn describe(kind: Kind) -> Option<(Form, Shape, Intent)> {
    use Form::{Address, Choice, Integer, Logical, Procedure, Status, Status08, Text};
    use IntegerKind::{Address as AddressKind, Count, Default, Offset};
    use Intent::{In, Out};
    use Shape::{Array, Matrix, Scalar, Triplets};
    Some(match kind {
        Kind::Int
        | Kind::Count
        | Kind::TypeCount
        | Kind::Rank
        | Kind::Tag
        | Kind::Level
        | Kind::Fint
        | Kind::DispUnit => (Integer(Default), Scalar, In),
        Kind::DispUnitOut
        | Kind::IntOut
        | Kind::IntInOut
        | Kind::CountOut
        | Kind::CountInOut
        | Kind::RankOut
        | Kind::IndexOut => (Integer(Default), Scalar, Out),
        Kind::Ints | Kind::OldInts | Kind::Counts | Kind::Displs | Kind::ElementDispls | Kind::Ranks => {
            (Integer(Default), Array, In)
        }
        Kind::IntsOut | Kind::IntsInOut | Kind::RanksOut | Kind::IndicesOut => (Integer(Default), Array, Out),
        Kind::Triplets => (Integer(Default), Triplets, In),
        Kind::Logical => (Logical, Scalar, In),
        Kind::LogicalOut => (Logical, Scalar, Out),
        Kind::Logicals => (Logical, Array, In),
        Kind::LogicalsOut => (Logical, Array, Out),
        Kind::Aint | Kind::AintCount | Kind::Attribute | Kind::ExtraState => (Integer(AddressKind), Scalar, In),
        Kind::AintOut | Kind::AintInOut | Kind::AintCountOut | Kind::AintCountInOut | Kind::AttributeOut => {
            (Integer(AddressKind), Scalar, Out)
        }
        Kind::Aints | Kind::AintCounts | Kind::OldAints => (Integer(AddressKind), Array, In),
        Kind::AintsOut => (Integer(AddressKind), Array, Out),
        Kind::LargeCount => (Integer(Count), Scalar, In),
        Kind::LargeCountOut | Kind::LargeCountInOut => (Integer(Count), Scalar, Out),
        Kind::LargeCounts => (Integer(Count), Array, In),
        Kind::LargeCountsOut => (Integer(Count), Array, Out),
        Kind::Offset => (Integer(Offset), Scalar, In),
        Kind::OffsetOut => (Integer(Offset), Scalar, Out),
        Kind::BufferIn => (Choice, Array, In),
        Kind::BufferOut | Kind::BufferInOut => (Choice, Array, Out),
        Kind::AddressOut => (Address, Scalar, Out),
        Kind::Text | Kind::Chars => (Text, Scalar, In),
        Kind::TextOut => (Text, Scalar, Out),
        Kind::Texts => (Text, Array, In),
        Kind::TextLists => (Text, Matrix, In),
        Kind::Status => (Status, Scalar, In),
        Kind::StatusOut | Kind::StatusInOut => (Status, Scalar, Out),
        Kind::StatusesOut => (Status, Array, Out),
        Kind::Fints => (Status, Scalar, In),
        Kind::FintsOut => (Status, Scalar, Out),
        Kind::F08Status => (Status08, Scalar, In),
        Kind::F08StatusOut => (Status08, Scalar, Out),
        Kind::UserFn => (Procedure("MPI_User_function"), Scalar, In),
        Kind::ErrorFn | Kind::OldErrorFn => (Procedure("MPI_Comm_errhandler_function"), Scalar, In),
        Kind::WinErrorFn => (Procedure("MPI_Win_errhandler_function"), Scalar, In),
        Kind::FileErrorFn => (Procedure("MPI_File_errhandler_function"), Scalar, In),
        Kind::SessionErrorFn => (Procedure("MPI_Session_errhandler_function"), Scalar, In),
        Kind::CopyFn | Kind::OldCopyFn => (Procedure("MPI_Comm_copy_attr_function"), Scalar, In),
        Kind::DeleteFn | Kind::OldDeleteFn => (Procedure("MPI_Comm_delete_attr_function"), Scalar, In),
        Kind::TypeCopyFn => (Procedure("MPI_Type_copy_attr_function"), Scalar, In),
        Kind::TypeDeleteFn => (Procedure("MPI_Type_delete_attr_function"), Scalar, In),
        Kind::WinCopyFn => (Procedure("MPI_Win_copy_attr_function"), Scalar, In),
        Kind::WinDeleteFn => (Procedure("MPI_Win_delete_attr_function"), Scalar, In),
        Kind::QueryFn => (Procedure("MPI_Grequest_query_function"), Scalar, In),
        Kind::FreeFn => (Procedure("MPI_Grequest_free_function"), Scalar, In),
        Kind::CancelFn => (Procedure("MPI_Grequest_cancel_function"), Scalar, In),
        Kind::ConversionFn => (Procedure("MPI_Datarep_conversion_function"), Scalar, In),
        Kind::ExtentFn => (Procedure("MPI_Datarep_extent_function"), Scalar, In),
        kind => return describe_handle(kind),
    })
}

/// The part of [`describe`] for handles.
pub(crate) fn describe_handle(kind: Kind) -> Option<(Form, Shape, Intent)> {
    use Intent::{In, Out};
    use Shape::{Array, Scalar};
    let (name, shape, intent) = match kind {
        Kind::Comm => ("MPI_Comm", Scalar, In),
        Kind::CommOut | Kind::CommInOut => ("MPI_Comm", Scalar, Out),
        Kind::Group => ("MPI_Group", Scalar, In),
        Kind::GroupOut | Kind::GroupInOut => ("MPI_Group", Scalar, Out),
        Kind::Datatype => ("MPI_Datatype", Scalar, In),
        Kind::DatatypeOut | Kind::DatatypeInOut => ("MPI_Datatype", Scalar, Out),
        Kind::Datatypes | Kind::OldDatatypes => ("MPI_Datatype", Array, In),
        Kind::DatatypesOut => ("MPI_Datatype", Array, Out),
        Kind::Op => ("MPI_Op", Scalar, In),
        Kind::OpOut | Kind::OpInOut => ("MPI_Op", Scalar, Out),
        Kind::Request => ("MPI_Request", Scalar, In),
        Kind::RequestOut | Kind::RequestInOut => ("MPI_Request", Scalar, Out),
        Kind::Requests => ("MPI_Request", Array, In),
        Kind::RequestsInOut => ("MPI_Request", Array, Out),
        Kind::Message => ("MPI_Message", Scalar, In),
        Kind::MessageOut | Kind::MessageInOut => ("MPI_Message", Scalar, Out),
        Kind::Errhandler => ("MPI_Errhandler", Scalar, In),
        Kind::ErrhandlerOut | Kind::ErrhandlerInOut => ("MPI_Errhandler", Scalar, Out),
        Kind::Info => ("MPI_Info", Scalar, In),
        Kind::InfoOut | Kind::InfoInOut => ("MPI_Info", Scalar, Out),
        Kind::Infos => ("MPI_Info", Array, In),
        Kind::Win => ("MPI_Win", Scalar, In),
        Kind::WinOut | Kind::WinInOut => ("MPI_Win", Scalar, Out),
        Kind::File => ("MPI_File", Scalar, In),
        Kind::FileOut | Kind::FileInOut => ("MPI_File", Scalar, Out),
        Kind::Session => ("MPI_Session", Scalar, In),
        Kind::SessionOut | Kind::SessionInOut => ("MPI_Session", Scalar, Out),
        _ => return None,
    };
    Some((Form::Handle(name), shape, intent))
}

/// A function of the table as a procedure of Fortran.
#[derive(Clone, Debug)]
pub struct Procedure {
    /// The function.
    pub function: &'static Function,
    /// Its arguments in order, without `ierror`.
    pub arguments: Vec<Argument>,
    /// Whether counts are of kind MPI_COUNT_KIND.
    pub is_large: bool,
}

/// Functions without a Fortran form although all their arguments have one: C programs call them to convert handles and
/// statuses, and [`PREDEFINED_CALLBACKS`] replaces C's callbacks.
fn is_for_c_only(name: &str) -> bool {
    const STATUSES: [&str; 4] = [
        "MPI_Status_c2f",
        "MPI_Status_f2c",
        "MPI_Status_c2f08",
        "MPI_Status_f082c",
    ];
    name.starts_with("MPI_T_")
        || name.starts_with("MPI_COMM_")
        || name.ends_with("_c2f")
        || name.ends_with("_f2c")
        || name.ends_with("_toint")
        || name.ends_with("_fromint")
        // Their strings and arguments differ from C's.
        || matches!(name, "MPI_Info_get_string" | "MPI_Info_create_env")
        // Large-count forms with other parameters.
        || name.ends_with("_c")
        || STATUSES.contains(&name)
}

/// Returns all procedures, in the order of the table.
pub fn procedures() -> impl Iterator<Item = Procedure> {
    FUNCTIONS.iter().filter_map(Procedure::new)
}

impl Procedure {
    fn new(function: &'static Function) -> Option<Self> {
        if is_for_c_only(function.name) {
            return None;
        }
        let is_argument_list = |name: &str| function.name.starts_with("MPI_Init") && matches!(name, "argc" | "argv");
        let parameters = function
            .parameters
            .iter()
            .filter(|parameter| !is_argument_list(parameter.name));
        let argument = |parameter: &crate::Parameter| {
            let (form, shape, intent) = describe(parameter.kind)?;
            Some(Argument {
                name: parameter.name,
                kind: parameter.kind,
                form,
                shape,
                intent,
            })
        };
        let mut arguments = parameters.map(argument).collect::<Option<Vec<_>>>()?;
        if function.uses_old_integers() {
            for argument in &mut arguments {
                if argument.form == Form::Integer(IntegerKind::Address) {
                    argument.form = Form::Integer(IntegerKind::Default);
                }
            }
        }
        Some(Self {
            function,
            arguments,
            is_large: false,
        })
    }

    /// Returns its large-count form (MPI-4.1 section 19.1.5), which `mpi_f08` has under the same name. `None` for a
    /// procedure without counts, or with strings.
    #[must_use]
    pub fn large(&self) -> Option<Self> {
        use Kind::{Count, CountInOut, CountOut, Counts, Displs, ElementDispls, TypeCount};
        let is_single = |kind: Kind| matches!(kind, Count | TypeCount | CountOut | CountInOut);
        let is_count = |kind: Kind| is_single(kind) || matches!(kind, Counts | Displs | ElementDispls);
        let has = |check: &dyn Fn(Kind) -> bool| self.arguments.iter().any(|argument| check(argument.kind));
        // Strings are descriptors in a procedure with a binding name, which the forms of one name require.
        let has_text = self.arguments.iter().any(|argument| argument.form == Form::Text);
        let is_detach = self.function.detaches_buffer();
        // It reads the program's arrays at each start, and converted ones exist during the call only.
        let keeps_arrays = self.is_persistent_collective() && has(&|kind| is_count(kind) && !is_single(kind));
        if !has(&is_count) || has_text || is_detach || keeps_arrays || !self.is_in_mpi_f08() {
            return None;
        }
        let mut large = self.clone();
        large.is_large = true;
        for argument in large.arguments.iter_mut().filter(|argument| is_count(argument.kind)) {
            argument.form = Form::Integer(IntegerKind::Count);
        }
        Some(large)
    }

    /// Checks whether a buffer, its count and its datatype begin at this position, and a large count can be expressed by
    /// another datatype. Reductions accept predefined datatypes only.
    fn is_message(&self, at: usize) -> bool {
        let [buffer, count, datatype, ..] = self.arguments[at..] else {
            return false;
        };
        let is_reduction = self.function.chapter() == 5 && self.arguments.iter().any(|other| other.kind == Kind::Op);
        let is_triple = buffer.form == Form::Choice && count.kind == Kind::Count && datatype.kind == Kind::Datatype;
        is_triple && !is_reduction
    }

    /// Checks whether its buffers are array descriptors in `mpi_f08`: those of nonblocking and persistent operations,
    /// which use a buffer after the call; those of messages and windows, for which the compiler would otherwise copy a
    /// strided array; and addresses. For the others, the compiler copies a strided array before and after the call.
    #[must_use]
    pub fn has_descriptors(&self) -> bool {
        let name = self.function.name;
        let uses_buffers = self.arguments.iter().any(|argument| argument.form == Form::Choice);
        let is_packing = name.starts_with("MPI_Pack") || name.starts_with("MPI_Unpack");
        let is_later = self.arguments.iter().any(|argument| argument.kind == Kind::RequestOut);
        uses_buffers
            && match self.function.chapter() {
                3 | 8 | 11 => true,
                4 => !is_packing,
                5 | 7 | 13 => is_later,
                _ => false,
            }
    }

    /// Checks whether `mpi_f08` has an entry point of its own for it: with array descriptors, or with an address that the
    /// other interfaces do not return (MPI-3.1 section 3.6).
    #[must_use]
    pub fn has_own_entry(&self) -> bool {
        self.has_descriptors() || self.function.detaches_buffer()
    }

    /// Returns the end of its symbol: `_` for the entry point of all interfaces, and another one for the entry points of
    /// `mpi_f08`.
    fn suffix(&self, with_descriptors: bool) -> &'static str {
        match (self.is_large, with_descriptors) {
            (false, false) => "_",
            (false, true) => "_f08ts",
            (true, false) => "_c_f08",
            (true, true) => "_c_f08ts",
        }
    }

    /// Returns the ends of the symbols of all its entry points, after its name in lower case. `_` has a second spelling,
    /// `__`, for compilers that add two underscores.
    #[must_use]
    pub fn suffixes(&self) -> Vec<&'static str> {
        let own = self.has_own_entry().then(|| self.suffix(true));
        let large = self.large().map(|large| large.suffix(large.has_descriptors()));
        ["_", "__"].into_iter().chain(own).chain(large).collect()
    }

    /// Checks whether the buffer at this position may be strided, because count and datatype follow it and describe all
    /// of it: of a message, of an operation on a window, and of a file.
    #[must_use]
    pub fn is_strided(&self, at: usize) -> bool {
        matches!(self.function.chapter(), 3 | 11 | 13) && self.is_message(at)
    }

    /// Checks whether it uses contiguous copies of strided arrays: nonblocking collectives. Persistent ones would require
    /// a new copy at each start, and reject strided arrays.
    #[must_use]
    pub fn copies_arrays(&self) -> bool {
        self.is_collective() && self.has_descriptors() && !self.is_persistent_collective()
    }

    fn is_collective(&self) -> bool {
        matches!(self.function.chapter(), 5 | 7)
    }

    fn is_persistent_collective(&self) -> bool {
        self.is_collective() && self.function.name.ends_with("_init")
    }

    /// Checks whether it uses only the first element of an array, or its address.
    #[must_use]
    pub fn uses_first_element(&self) -> bool {
        const NAMES: [&str; 4] = [
            "MPI_Get_address",
            "MPI_Fetch_and_op",
            "MPI_Compare_and_swap",
            "MPI_Win_detach",
        ];
        NAMES.contains(&self.function.name)
    }

    /// Checks whether the interface is part of `mpi_f08`, which omits deprecated and removed functions.
    #[must_use]
    pub fn is_in_mpi_f08(&self) -> bool {
        !matches!(self.function.chapter(), 15 | 16)
    }

    /// Checks whether it has the argument `ierror`: all but functions with a value, and MPI_Pcontrol.
    #[must_use]
    pub fn has_ierror(&self) -> bool {
        self.function.result == Kind::Int && self.function.name != "MPI_Pcontrol"
    }
}

impl Function {
    /// Checks whether it returns the address of a buffer for buffered sends, which the other interfaces do not return.
    pub(crate) fn detaches_buffer(&self) -> bool {
        self.chapter() == 3 && self.name.contains("detach")
    }

    /// Checks whether addresses and attributes are default integers: in the functions of MPI-1 (MPI-3.1 sections 15.1 and
    /// 16.1).
    pub(crate) fn uses_old_integers(&self) -> bool {
        matches!(self.state, State::Removed(_)) || self.chapter() == 15
    }
}
