//! Kinds of parameters and results.

/// Spelling of a C type, before and after the declared name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spelling {
    /// Text before the name, with the blank where required.
    pub before: &'static str,
    /// Text after the name: the brackets of an array.
    pub after: &'static str,
}

macro_rules! kinds {
    ($($kind:ident: $before:literal, $after:literal;)*) => {
        /// Kind of a parameter or a result, which is more specific than its C type.
        ///
        /// A kind without a suffix is a value, or memory that is only read; `Out` is written, `InOut` is read and
        /// written. The plural is an array. `Old` is an array that is only read and that a removed function declares
        /// without `const`.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs)] // The names and the C spellings are the documentation.
        pub enum Kind {
            $($kind),*
        }

        impl Kind {
            /// Returns its C type.
            #[must_use]
            pub const fn c(self) -> Spelling {
                let (before, after) = match self {
                    $(Self::$kind => ($before, $after)),*
                };
                Spelling { before, after }
            }
        }

        impl Kind {
            /// Returns the kind in the large-count form of a function (MPI-4.0 section 2.5.8).
            #[must_use]
            pub const fn large(self) -> Kind {
                match self {
                    Kind::Count | Kind::TypeCount | Kind::AintCount => Kind::LargeCount,
                    Kind::CountOut | Kind::AintCountOut => Kind::LargeCountOut,
                    Kind::CountInOut | Kind::AintCountInOut => Kind::LargeCountInOut,
                    Kind::Counts | Kind::ElementDispls | Kind::AintCounts => Kind::LargeCounts,
                    Kind::Displs => Kind::Aints,
                    Kind::DispUnit => Kind::Aint,
                    Kind::DispUnitOut => Kind::AintOut,
                    other => other,
                }
            }
        }
    };
}

kinds! {
    // Integers. Kind::large returns the type in a large-count form.
    Int: "int ", "";
    IntOut: "int *", "";
    IntInOut: "int *", "";
    // No array in C: compilers warn of MPI_UNWEIGHTED there, an address without memory.
    Ints: "const int *", "";
    IntsOut: "int ", "[]";
    IntsInOut: "int ", "[]";
    OldInts: "int ", "[]";
    Triplets: "int ", "[][3]";
    Count: "int ", "";
    // Counts that a datatype keeps, as the arguments of its constructor.
    TypeCount: "int ", "";
    CountOut: "int *", "";
    CountInOut: "int *", "";
    Counts: "const int ", "[]";
    Displs: "const int ", "[]";
    // Displacements inside a datatype, in elements.
    ElementDispls: "const int ", "[]";
    // Bytes per unit of displacements in a window.
    DispUnit: "int ", "";
    DispUnitOut: "int *", "";
    Rank: "int ", "";
    RankOut: "int *", "";
    Ranks: "const int ", "[]";
    RanksOut: "int ", "[]";
    Tag: "int ", "";
    // Boolean values, which are LOGICAL in Fortran.
    Logical: "int ", "";
    LogicalOut: "int *", "";
    Logicals: "const int ", "[]";
    LogicalsOut: "int ", "[]";
    // Array indexes, which begin at 1 in Fortran.
    IndexOut: "int *", "";
    IndicesOut: "int ", "[]";
    Aint: "MPI_Aint ", "";
    AintOut: "MPI_Aint *", "";
    AintInOut: "MPI_Aint *", "";
    Aints: "const MPI_Aint ", "[]";
    AintsOut: "MPI_Aint ", "[]";
    OldAints: "MPI_Aint ", "[]";
    // Addresses and sizes that are an MPI_Count in a large-count form.
    AintCount: "MPI_Aint ", "";
    AintCountOut: "MPI_Aint *", "";
    AintCountInOut: "MPI_Aint *", "";
    AintCounts: "const MPI_Aint ", "[]";
    LargeCount: "MPI_Count ", "";
    LargeCountOut: "MPI_Count *", "";
    LargeCountInOut: "MPI_Count *", "";
    LargeCounts: "const MPI_Count ", "[]";
    LargeCountsOut: "MPI_Count ", "[]";
    Offset: "MPI_Offset ", "";
    OffsetOut: "MPI_Offset *", "";
    Double: "double ", "";
    // An int, followed by ignored arguments.
    Level: "const int ", ", ...";

    // Memory of the program of any type, and addresses of it.
    BufferIn: "const void *", "";
    BufferOut: "void *", "";
    BufferInOut: "void *", "";
    AddressOut: "void *", "";
    // Pointers in C, address-sized integers in Fortran.
    Attribute: "void *", "";
    AttributeOut: "void *", "";
    ExtraState: "void *", "";

    // Strings.
    Text: "const char *", "";
    TextOut: "char *", "";
    Chars: "const char ", "[]";
    Texts: "char *", "[]";
    TextLists: "char **", "[]";
    Argv: "char ***", "";

    // Handles and statuses.
    Comm: "MPI_Comm ", "";
    CommOut: "MPI_Comm *", "";
    CommInOut: "MPI_Comm *", "";
    Group: "MPI_Group ", "";
    GroupOut: "MPI_Group *", "";
    GroupInOut: "MPI_Group *", "";
    Datatype: "MPI_Datatype ", "";
    DatatypeOut: "MPI_Datatype *", "";
    DatatypeInOut: "MPI_Datatype *", "";
    Datatypes: "const MPI_Datatype ", "[]";
    DatatypesOut: "MPI_Datatype ", "[]";
    OldDatatypes: "MPI_Datatype ", "[]";
    Op: "MPI_Op ", "";
    OpOut: "MPI_Op *", "";
    OpInOut: "MPI_Op *", "";
    Request: "MPI_Request ", "";
    RequestOut: "MPI_Request *", "";
    RequestInOut: "MPI_Request *", "";
    Requests: "const MPI_Request ", "[]";
    RequestsInOut: "MPI_Request ", "[]";
    Message: "MPI_Message ", "";
    MessageOut: "MPI_Message *", "";
    MessageInOut: "MPI_Message *", "";
    Errhandler: "MPI_Errhandler ", "";
    ErrhandlerOut: "MPI_Errhandler *", "";
    ErrhandlerInOut: "MPI_Errhandler *", "";
    Info: "MPI_Info ", "";
    InfoOut: "MPI_Info *", "";
    InfoInOut: "MPI_Info *", "";
    Infos: "const MPI_Info ", "[]";
    Win: "MPI_Win ", "";
    WinOut: "MPI_Win *", "";
    WinInOut: "MPI_Win *", "";
    File: "MPI_File ", "";
    FileOut: "MPI_File *", "";
    FileInOut: "MPI_File *", "";
    Session: "MPI_Session ", "";
    SessionOut: "MPI_Session *", "";
    SessionInOut: "MPI_Session *", "";
    Status: "const MPI_Status *", "";
    StatusOut: "MPI_Status *", "";
    StatusInOut: "MPI_Status *", "";
    StatusesOut: "MPI_Status *", "";
    Fint: "MPI_Fint ", "";
    Fints: "const MPI_Fint *", "";
    FintsOut: "MPI_Fint *", "";
    F08Status: "const MPI_F08_status *", "";
    F08StatusOut: "MPI_F08_status *", "";

    // Handles of tools, and the object that a variable is bound to.
    ToolEnum: "MPI_T_enum ", "";
    ToolEnumOut: "MPI_T_enum *", "";
    ToolObject: "void *", "";
    CvarHandle: "MPI_T_cvar_handle ", "";
    CvarHandleOut: "MPI_T_cvar_handle *", "";
    CvarHandleInOut: "MPI_T_cvar_handle *", "";
    PvarHandle: "MPI_T_pvar_handle ", "";
    PvarHandleOut: "MPI_T_pvar_handle *", "";
    PvarHandleInOut: "MPI_T_pvar_handle *", "";
    PvarSession: "MPI_T_pvar_session ", "";
    PvarSessionOut: "MPI_T_pvar_session *", "";
    PvarSessionInOut: "MPI_T_pvar_session *", "";
    EventRegistration: "MPI_T_event_registration ", "";
    EventRegistrationOut: "MPI_T_event_registration *", "";
    EventInstance: "MPI_T_event_instance ", "";
    CallbackSafety: "MPI_T_cb_safety ", "";
    SourceOrderOut: "MPI_T_source_order *", "";

    // Callback functions of the program.
    UserFn: "MPI_User_function *", "";
    LargeUserFn: "MPI_User_function_c *", "";
    ErrorFn: "MPI_Comm_errhandler_function *", "";
    WinErrorFn: "MPI_Win_errhandler_function *", "";
    FileErrorFn: "MPI_File_errhandler_function *", "";
    SessionErrorFn: "MPI_Session_errhandler_function *", "";
    OldErrorFn: "MPI_Handler_function *", "";
    CopyFn: "MPI_Comm_copy_attr_function *", "";
    DeleteFn: "MPI_Comm_delete_attr_function *", "";
    TypeCopyFn: "MPI_Type_copy_attr_function *", "";
    TypeDeleteFn: "MPI_Type_delete_attr_function *", "";
    WinCopyFn: "MPI_Win_copy_attr_function *", "";
    WinDeleteFn: "MPI_Win_delete_attr_function *", "";
    OldCopyFn: "MPI_Copy_function *", "";
    OldDeleteFn: "MPI_Delete_function *", "";
    QueryFn: "MPI_Grequest_query_function *", "";
    FreeFn: "MPI_Grequest_free_function *", "";
    CancelFn: "MPI_Grequest_cancel_function *", "";
    ConversionFn: "MPI_Datarep_conversion_function *", "";
    LargeConversionFn: "MPI_Datarep_conversion_function_c *", "";
    ExtentFn: "MPI_Datarep_extent_function *", "";
    EventFn: "MPI_T_event_cb_function *", "";
    EventFreeFn: "MPI_T_event_free_cb_function *", "";
    EventDroppedFn: "MPI_T_event_dropped_cb_function *", "";
}
