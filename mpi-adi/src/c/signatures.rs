//! The signature of every function of the binding, once: the compiler checks the functions against it, the
//! tests `mpi.h` and the list of the functions themselves, and documentation can be made from it.

use core::ffi::{c_char, c_double, c_int, c_longlong, c_void};

use super::generalized::{CancelFunction, FreeFunction, QueryFunction};
use super::keyvals::{CopyFunction, DeleteFunction};
use super::report::ErrorFunction;
use super::types::MPI_Status;
use super::user_ops::UserFunction;

/// A function of the binding.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// Its name.
    pub name: &'static str,
    /// Where MPI-3.1 describes it.
    pub section: &'static str,
    /// What it returns, in C.
    pub result: Spelling,
    /// Its parameters' names and types, in order.
    pub parameters: &'static [(&'static str, Spelling)],
}

/// A C type, as it is spelled before and after the name of what has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spelling {
    /// What stands before the name, with the blank where there is one.
    pub before: &'static str,
    /// What stands after the name: the brackets of an array.
    pub after: &'static str,
}

/// Types of parameters and results: what each is in Rust, and its spelling in C.
macro_rules! types {
    ($($name:ident = $rust:ty: $before:literal, $after:literal;)*) => {
        pub(super) mod rust {
            use super::*;
            $(pub type $name = $rust;)*
        }
        #[allow(non_upper_case_globals)] // The same names as the types.
        pub(super) mod spelling {
            use super::Spelling;
            $(pub const $name: Spelling = Spelling { before: $before, after: $after };)*
        }
    };
}

types! {
    Int = c_int: "int ", "";
    IntOut = *mut c_int: "int *", "";
    Argv = *mut *mut *mut c_char: "char ***", "";
    Comm = c_int: "MPI_Comm ", "";
    CommOut = *mut c_int: "MPI_Comm *", "";
    Text = *mut c_char: "char *", "";
    ConstText = *const c_char: "const char *", "";
    Errhandler = c_int: "MPI_Errhandler ", "";
    ErrhandlerOut = *mut c_int: "MPI_Errhandler *", "";
    ErrorFn = Option<ErrorFunction>: "MPI_Comm_errhandler_function *", "";
    Info = c_int: "MPI_Info ", "";
    InfoOut = *mut c_int: "MPI_Info *", "";
    CopyFn = Option<CopyFunction>: "MPI_Comm_copy_attr_function *", "";
    DeleteFn = Option<DeleteFunction>: "MPI_Comm_delete_attr_function *", "";
    TypeCopyFn = Option<CopyFunction>: "MPI_Type_copy_attr_function *", "";
    TypeDeleteFn = Option<DeleteFunction>: "MPI_Type_delete_attr_function *", "";
    OldErrorFn = Option<ErrorFunction>: "MPI_Handler_function *", "";
    OldCopyFn = Option<CopyFunction>: "MPI_Copy_function *", "";
    OldDeleteFn = Option<DeleteFunction>: "MPI_Delete_function *", "";
    Aint = isize: "MPI_Aint ", "";
    Buffer = *mut c_void: "void *", "";
    ConstBuffer = *const c_void: "const void *", "";
    Group = c_int: "MPI_Group ", "";
    GroupOut = *mut c_int: "MPI_Group *", "";
    ConstInts = *const c_int: "const int ", "[]";
    Ints = *mut c_int: "int ", "[]";
    Triplets = *const [c_int; 3]: "int ", "[][3]";
    Datatype = c_int: "MPI_Datatype ", "";
    DatatypeOut = *mut c_int: "MPI_Datatype *", "";
    ConstDatatypes = *const c_int: "const MPI_Datatype ", "[]";
    Datatypes = *mut c_int: "MPI_Datatype ", "[]";
    AintOut = *mut isize: "MPI_Aint *", "";
    ConstAints = *const isize: "const MPI_Aint ", "[]";
    Aints = *mut isize: "MPI_Aint ", "[]";
    Count = c_longlong: "MPI_Count ", "";
    CountOut = *mut c_longlong: "MPI_Count *", "";
    ConstChars = *const c_char: "const char ", "[]";
    StatusOut = *mut MPI_Status: "MPI_Status *", "";
    ConstStatus = *const MPI_Status: "const MPI_Status *", "";
    Request = c_int: "MPI_Request ", "";
    RequestOut = *mut c_int: "MPI_Request *", "";
    Requests = *mut c_int: "MPI_Request ", "[]";
    Op = c_int: "MPI_Op ", "";
    OpOut = *mut c_int: "MPI_Op *", "";
    QueryFn = Option<QueryFunction>: "MPI_Grequest_query_function *", "";
    FreeFn = Option<FreeFunction>: "MPI_Grequest_free_function *", "";
    CancelFn = Option<CancelFunction>: "MPI_Grequest_cancel_function *", "";
    UserFn = Option<UserFunction>: "MPI_User_function *", "";
    Texts = *mut *mut c_char: "char *", "[]";
    TextLists = *mut *mut *mut c_char: "char **", "[]";
    ConstInfos = *const c_int: "const MPI_Info ", "[]";
    Message = c_int: "MPI_Message ", "";
    MessageOut = *mut c_int: "MPI_Message *", "";
    Win = c_int: "MPI_Win ", "";
    WinOut = *mut c_int: "MPI_Win *", "";
    WinErrorFn = Option<ErrorFunction>: "MPI_Win_errhandler_function *", "";
    WinCopyFn = Option<CopyFunction>: "MPI_Win_copy_attr_function *", "";
    WinDeleteFn = Option<DeleteFunction>: "MPI_Win_delete_attr_function *", "";
    File = c_int: "MPI_File ", "";
    FileOut = *mut c_int: "MPI_File *", "";
    FileErrorFn = Option<ErrorFunction>: "MPI_File_errhandler_function *", "";
    Offset = c_longlong: "MPI_Offset ", "";
    OffsetOut = *mut c_longlong: "MPI_Offset *", "";
    // What they are given does not matter: they are not called.
    ConversionFn = Option<unsafe extern "C" fn()>: "MPI_Datarep_conversion_function *", "";
    ExtentFn = Option<unsafe extern "C" fn()>: "MPI_Datarep_extent_function *", "";
    ToolEnum = c_int: "MPI_T_enum ", "";
    ToolEnumOut = *mut c_int: "MPI_T_enum *", "";
    CvarHandle = c_int: "MPI_T_cvar_handle ", "";
    CvarHandleOut = *mut c_int: "MPI_T_cvar_handle *", "";
    PvarHandle = c_int: "MPI_T_pvar_handle ", "";
    PvarHandleOut = *mut c_int: "MPI_T_pvar_handle *", "";
    Session = c_int: "MPI_T_pvar_session ", "";
    SessionOut = *mut c_int: "MPI_T_pvar_session *", "";
    Fint = c_int: "MPI_Fint ", "";
    FintOut = *mut c_int: "MPI_Fint *", "";
    ConstFints = *const c_int: "const MPI_Fint *", "";
    F08StatusOut = *mut MPI_Status: "MPI_F08_status *", "";
    ConstF08Status = *const MPI_Status: "const MPI_F08_status *", "";
    // What may follow is not looked at, so that the function need not be variadic in Rust.
    Level = c_int: "const int ", ", ...";
    Double = c_double: "double ", "";
}

/// Gives `PMPI_X`, which a function here is to the linker, its other name: `MPI_X`, weak, so that a program may define a
/// function of that name itself and call `PMPI_X` (MPI-3.1 section 14.2). Both are the same address, and cost nothing.
///
/// An alias is only made in the object that has the function: what nodes and processes are built with is one (profile
/// `node`). In other builds it may be missing, where no C program is linked.
macro_rules! profiled {
    ($function:ident) => {
        core::arch::global_asm!(
            concat!(".weak ", stringify!($function)),
            concat!(".set ", stringify!($function), ", P", stringify!($function)),
        );
    };
}
pub(super) use profiled;

macro_rules! signatures {
    ($($section:literal $result:ident $function:ident($($parameter:ident: $type:ident),*);)*) => {
        /// All functions, in the order of `mpi.h`.
        pub const SIGNATURES: &[Signature] = &[$(Signature {
            name: stringify!($function),
            section: $section,
            result: spelling::$result,
            parameters: &[$((stringify!($parameter), spelling::$type)),*],
        }),*];
        $(
            const _: unsafe extern "C" fn($(rust::$type),*) -> rust::$result = super::$function;
            profiled!($function);
        )*
    };
}

signatures! {
    "8.7" Int MPI_Init(argc: IntOut, argv: Argv);
    "12.4.3" Int MPI_Init_thread(argc: IntOut, argv: Argv, required: Int, provided: IntOut);
    "8.7" Int MPI_Initialized(flag: IntOut);
    "12.4.3" Int MPI_Query_thread(provided: IntOut);
    "12.4.3" Int MPI_Is_thread_main(flag: IntOut);
    "8.7" Int MPI_Finalize();
    "8.7" Int MPI_Finalized(flag: IntOut);
    "8.7" Int MPI_Abort(comm: Comm, errorcode: Int);
    "8.1.1" Int MPI_Get_version(version: IntOut, subversion: IntOut);
    "8.1.1" Int MPI_Get_library_version(version: Text, resultlen: IntOut);
    "8.1.2" Int MPI_Get_processor_name(name: Text, resultlen: IntOut);
    "8.6" Double MPI_Wtime();
    "8.6" Double MPI_Wtick();
    "14.2.4" Int MPI_Pcontrol(level: Level);
    "8.4" Int MPI_Error_class(errorcode: Int, errorclass: IntOut);
    "8.3.4" Int MPI_Error_string(errorcode: Int, string: Text, resultlen: IntOut);
    "8.3.1" Int MPI_Comm_set_errhandler(comm: Comm, errhandler: Errhandler);
    "8.3.1" Int MPI_Comm_get_errhandler(comm: Comm, errhandler: ErrhandlerOut);
    "8.3.1" Int MPI_Comm_create_errhandler(comm_errhandler_fn: ErrorFn, errhandler: ErrhandlerOut);
    "8.5" Int MPI_Comm_call_errhandler(comm: Comm, errorcode: Int);
    "8.3.4" Int MPI_Errhandler_free(errhandler: ErrhandlerOut);
    "15.1" Int MPI_Errhandler_create(function: OldErrorFn, errhandler: ErrhandlerOut);
    "15.1" Int MPI_Errhandler_set(comm: Comm, errhandler: Errhandler);
    "15.1" Int MPI_Errhandler_get(comm: Comm, errhandler: ErrhandlerOut);
    "8.5" Int MPI_Add_error_class(errorclass: IntOut);
    "8.5" Int MPI_Add_error_code(errorclass: Int, errorcode: IntOut);
    "8.5" Int MPI_Add_error_string(errorcode: Int, string: ConstText);
    "8.2" Int MPI_Alloc_mem(size: Aint, info: Info, baseptr: Buffer);
    "8.2" Int MPI_Free_mem(base: Buffer);
    "9" Int MPI_Info_create(info: InfoOut);
    "9" Int MPI_Info_dup(info: Info, newinfo: InfoOut);
    "9" Int MPI_Info_free(info: InfoOut);
    "9" Int MPI_Info_set(info: Info, key: ConstText, value: ConstText);
    "9" Int MPI_Info_delete(info: Info, key: ConstText);
    "9" Int MPI_Info_get(info: Info, key: ConstText, valuelen: Int, value: Text, flag: IntOut);
    "9" Int MPI_Info_get_valuelen(info: Info, key: ConstText, valuelen: IntOut, flag: IntOut);
    "9" Int MPI_Info_get_nkeys(info: Info, nkeys: IntOut);
    "9" Int MPI_Info_get_nthkey(info: Info, n: Int, key: Text);
    "6.4.1" Int MPI_Comm_rank(comm: Comm, rank: IntOut);
    "6.4.1" Int MPI_Comm_size(comm: Comm, size: IntOut);
    "6.4.2" Int MPI_Comm_dup(comm: Comm, newcomm: CommOut);
    "6.4.2" Int MPI_Comm_dup_with_info(comm: Comm, info: Info, newcomm: CommOut);
    "6.4.2" Int MPI_Comm_idup(comm: Comm, newcomm: CommOut, request: RequestOut);
    "6.4.4" Int MPI_Comm_set_info(comm: Comm, info: Info);
    "6.4.4" Int MPI_Comm_get_info(comm: Comm, info_used: InfoOut);
    "6.4.2" Int MPI_Comm_split(comm: Comm, color: Int, key: Int, newcomm: CommOut);
    "6.4.2" Int MPI_Comm_split_type(comm: Comm, split_type: Int, key: Int, info: Info, newcomm: CommOut);
    "6.4.3" Int MPI_Comm_free(comm: CommOut);
    "10.5.4" Int MPI_Comm_disconnect(comm: CommOut);
    "10.3.2" Int MPI_Comm_get_parent(parent: CommOut);
    "6.4.1" Int MPI_Comm_compare(comm1: Comm, comm2: Comm, result: IntOut);
    "6.6.1" Int MPI_Comm_test_inter(comm: Comm, flag: IntOut);
    "6.6.1" Int MPI_Comm_remote_size(comm: Comm, size: IntOut);
    "6.6.1" Int MPI_Comm_remote_group(comm: Comm, group: GroupOut);
    "6.6.2" Int MPI_Intercomm_create(local_comm: Comm, local_leader: Int, peer_comm: Comm, remote_leader: Int,
        tag: Int, newintercomm: CommOut);
    "6.6.2" Int MPI_Intercomm_merge(intercomm: Comm, high: Int, newintracomm: CommOut);
    "6.8" Int MPI_Comm_set_name(comm: Comm, comm_name: ConstText);
    "6.8" Int MPI_Comm_get_name(comm: Comm, comm_name: Text, resultlen: IntOut);
    "6.7.2" Int MPI_Comm_create_keyval(comm_copy_attr_fn: CopyFn, comm_delete_attr_fn: DeleteFn,
        comm_keyval: IntOut, extra_state: Buffer);
    "6.7.2" Int MPI_Comm_free_keyval(comm_keyval: IntOut);
    "6.7.2" Int MPI_Comm_set_attr(comm: Comm, comm_keyval: Int, attribute_val: Buffer);
    "6.7.2" Int MPI_Comm_get_attr(comm: Comm, comm_keyval: Int, attribute_val: Buffer, flag: IntOut);
    "6.7.2" Int MPI_Comm_delete_attr(comm: Comm, comm_keyval: Int);
    "6.7.4" Int MPI_Type_create_keyval(type_copy_attr_fn: TypeCopyFn, type_delete_attr_fn: TypeDeleteFn,
        type_keyval: IntOut, extra_state: Buffer);
    "6.7.4" Int MPI_Type_free_keyval(type_keyval: IntOut);
    "6.7.4" Int MPI_Type_set_attr(datatype: Datatype, type_keyval: Int, attribute_val: Buffer);
    "6.7.4" Int MPI_Type_get_attr(datatype: Datatype, type_keyval: Int, attribute_val: Buffer, flag: IntOut);
    "6.7.4" Int MPI_Type_delete_attr(datatype: Datatype, type_keyval: Int);
    "6.7.2" Int MPI_COMM_NULL_COPY_FN(oldcomm: Comm, comm_keyval: Int, extra_state: Buffer,
        attribute_val_in: Buffer, attribute_val_out: Buffer, flag: IntOut);
    "6.7.2" Int MPI_COMM_DUP_FN(oldcomm: Comm, comm_keyval: Int, extra_state: Buffer, attribute_val_in: Buffer,
        attribute_val_out: Buffer, flag: IntOut);
    "6.7.2" Int MPI_COMM_NULL_DELETE_FN(comm: Comm, comm_keyval: Int, attribute_val: Buffer, extra_state: Buffer);
    "15.1" Int MPI_Keyval_create(copy_fn: OldCopyFn, delete_fn: OldDeleteFn, keyval: IntOut, extra_state: Buffer);
    "15.1" Int MPI_Keyval_free(keyval: IntOut);
    "15.1" Int MPI_Attr_put(comm: Comm, keyval: Int, attribute_val: Buffer);
    "15.1" Int MPI_Attr_get(comm: Comm, keyval: Int, attribute_val: Buffer, flag: IntOut);
    "15.1" Int MPI_Attr_delete(comm: Comm, keyval: Int);
    "6.3.2" Int MPI_Comm_group(comm: Comm, group: GroupOut);
    "6.4.2" Int MPI_Comm_create(comm: Comm, group: Group, newcomm: CommOut);
    "6.4.2" Int MPI_Comm_create_group(comm: Comm, group: Group, tag: Int, newcomm: CommOut);
    "6.3.1" Int MPI_Group_size(group: Group, size: IntOut);
    "6.3.1" Int MPI_Group_rank(group: Group, rank: IntOut);
    "6.3.1" Int MPI_Group_translate_ranks(group1: Group, n: Int, ranks1: ConstInts, group2: Group, ranks2: Ints);
    "6.3.1" Int MPI_Group_compare(group1: Group, group2: Group, result: IntOut);
    "6.3.2" Int MPI_Group_union(group1: Group, group2: Group, newgroup: GroupOut);
    "6.3.2" Int MPI_Group_intersection(group1: Group, group2: Group, newgroup: GroupOut);
    "6.3.2" Int MPI_Group_difference(group1: Group, group2: Group, newgroup: GroupOut);
    "6.3.2" Int MPI_Group_incl(group: Group, n: Int, ranks: ConstInts, newgroup: GroupOut);
    "6.3.2" Int MPI_Group_excl(group: Group, n: Int, ranks: ConstInts, newgroup: GroupOut);
    "6.3.2" Int MPI_Group_range_incl(group: Group, n: Int, ranges: Triplets, newgroup: GroupOut);
    "6.3.2" Int MPI_Group_range_excl(group: Group, n: Int, ranges: Triplets, newgroup: GroupOut);
    "6.3.3" Int MPI_Group_free(group: GroupOut);
    "7.5.2" Int MPI_Dims_create(nnodes: Int, ndims: Int, dims: Ints);
    "7.5.1" Int MPI_Cart_create(comm_old: Comm, ndims: Int, dims: ConstInts, periods: ConstInts, reorder: Int,
        comm_cart: CommOut);
    "7.5.7" Int MPI_Cart_sub(comm: Comm, remain_dims: ConstInts, newcomm: CommOut);
    "7.5.5" Int MPI_Cartdim_get(comm: Comm, ndims: IntOut);
    "7.5.5" Int MPI_Cart_get(comm: Comm, maxdims: Int, dims: Ints, periods: Ints, coords: Ints);
    "7.5.5" Int MPI_Cart_rank(comm: Comm, coords: ConstInts, rank: IntOut);
    "7.5.5" Int MPI_Cart_coords(comm: Comm, rank: Int, maxdims: Int, coords: Ints);
    "7.5.6" Int MPI_Cart_shift(comm: Comm, direction: Int, disp: Int, rank_source: IntOut, rank_dest: IntOut);
    "7.5.5" Int MPI_Topo_test(comm: Comm, status: IntOut);
    "7.5.8" Int MPI_Cart_map(comm: Comm, ndims: Int, dims: ConstInts, periods: ConstInts, newrank: IntOut);
    "7.5.3" Int MPI_Graph_create(comm_old: Comm, nnodes: Int, index: ConstInts, edges: ConstInts, reorder: Int,
        comm_graph: CommOut);
    "7.5.5" Int MPI_Graphdims_get(comm: Comm, nnodes: IntOut, nedges: IntOut);
    "7.5.5" Int MPI_Graph_get(comm: Comm, maxindex: Int, maxedges: Int, index: Ints, edges: Ints);
    "7.5.5" Int MPI_Graph_neighbors_count(comm: Comm, rank: Int, nneighbors: IntOut);
    "7.5.5" Int MPI_Graph_neighbors(comm: Comm, rank: Int, maxneighbors: Int, neighbors: Ints);
    "7.5.8" Int MPI_Graph_map(comm: Comm, nnodes: Int, index: ConstInts, edges: ConstInts, newrank: IntOut);
    "7.5.4" Int MPI_Dist_graph_create_adjacent(comm_old: Comm, indegree: Int, sources: ConstInts,
        sourceweights: ConstInts, outdegree: Int, destinations: ConstInts, destweights: ConstInts, info: Info,
        reorder: Int, comm_dist_graph: CommOut);
    "7.5.4" Int MPI_Dist_graph_create(comm_old: Comm, n: Int, sources: ConstInts, degrees: ConstInts,
        destinations: ConstInts, weights: ConstInts, info: Info, reorder: Int, comm_dist_graph: CommOut);
    "7.5.5" Int MPI_Dist_graph_neighbors_count(comm: Comm, indegree: IntOut, outdegree: IntOut, weighted: IntOut);
    "7.5.5" Int MPI_Dist_graph_neighbors(comm: Comm, maxindegree: Int, sources: Ints, sourceweights: Ints,
        maxoutdegree: Int, destinations: Ints, destweights: Ints);
    "4.1.2" Int MPI_Type_contiguous(count: Int, oldtype: Datatype, newtype: DatatypeOut);
    "4.1.2" Int MPI_Type_vector(count: Int, blocklength: Int, stride: Int, oldtype: Datatype, newtype: DatatypeOut);
    "4.1.2" Int MPI_Type_create_hvector(count: Int, blocklength: Int, stride: Aint, oldtype: Datatype,
        newtype: DatatypeOut);
    "4.1.2" Int MPI_Type_indexed(count: Int, array_of_blocklengths: ConstInts, array_of_displacements: ConstInts,
        oldtype: Datatype, newtype: DatatypeOut);
    "4.1.2" Int MPI_Type_create_hindexed(count: Int, array_of_blocklengths: ConstInts,
        array_of_displacements: ConstAints, oldtype: Datatype, newtype: DatatypeOut);
    "4.1.2" Int MPI_Type_create_indexed_block(count: Int, blocklength: Int, array_of_displacements: ConstInts,
        oldtype: Datatype, newtype: DatatypeOut);
    "4.1.2" Int MPI_Type_create_hindexed_block(count: Int, blocklength: Int, array_of_displacements: ConstAints,
        oldtype: Datatype, newtype: DatatypeOut);
    "4.1.2" Int MPI_Type_create_struct(count: Int, array_of_blocklengths: ConstInts,
        array_of_displacements: ConstAints, array_of_types: ConstDatatypes, newtype: DatatypeOut);
    "4.1.3" Int MPI_Type_create_subarray(ndims: Int, array_of_sizes: ConstInts, array_of_subsizes: ConstInts,
        array_of_starts: ConstInts, order: Int, oldtype: Datatype, newtype: DatatypeOut);
    "4.1.4" Int MPI_Type_create_darray(size: Int, rank: Int, ndims: Int, array_of_gsizes: ConstInts,
        array_of_distribs: ConstInts, array_of_dargs: ConstInts, array_of_psizes: ConstInts, order: Int,
        oldtype: Datatype, newtype: DatatypeOut);
    "4.1.7" Int MPI_Type_create_resized(oldtype: Datatype, lb: Aint, extent: Aint, newtype: DatatypeOut);
    "4.1.10" Int MPI_Type_dup(oldtype: Datatype, newtype: DatatypeOut);
    "4.1.9" Int MPI_Type_commit(datatype: DatatypeOut);
    "4.1.9" Int MPI_Type_free(datatype: DatatypeOut);
    "4.1.5" Int MPI_Type_size(datatype: Datatype, size: IntOut);
    "4.1.5" Int MPI_Type_size_x(datatype: Datatype, size: CountOut);
    "4.1.7" Int MPI_Type_get_extent(datatype: Datatype, lb: AintOut, extent: AintOut);
    "4.1.7" Int MPI_Type_get_extent_x(datatype: Datatype, lb: CountOut, extent: CountOut);
    "4.1.8" Int MPI_Type_get_true_extent(datatype: Datatype, true_lb: AintOut, true_extent: AintOut);
    "4.1.8" Int MPI_Type_get_true_extent_x(datatype: Datatype, true_lb: CountOut, true_extent: CountOut);
    "4.1.5" Int MPI_Get_address(location: ConstBuffer, address: AintOut);
    "4.1.5" Aint MPI_Aint_add(base: Aint, disp: Aint);
    "4.1.5" Aint MPI_Aint_diff(addr1: Aint, addr2: Aint);
    "4.1.13" Int MPI_Type_get_envelope(datatype: Datatype, num_integers: IntOut, num_addresses: IntOut,
        num_datatypes: IntOut, combiner: IntOut);
    "4.1.13" Int MPI_Type_get_contents(datatype: Datatype, max_integers: Int, max_addresses: Int, max_datatypes: Int,
        array_of_integers: Ints, array_of_addresses: Aints, array_of_datatypes: Datatypes);
    "6.8" Int MPI_Type_set_name(datatype: Datatype, type_name: ConstText);
    "6.8" Int MPI_Type_get_name(datatype: Datatype, type_name: Text, resultlen: IntOut);
    "17.2.6" Int MPI_Type_match_size(typeclass: Int, size: Int, datatype: DatatypeOut);
    "17.2.6" Int MPI_Type_create_f90_integer(r: Int, newtype: DatatypeOut);
    "17.2.6" Int MPI_Type_create_f90_real(p: Int, r: Int, newtype: DatatypeOut);
    "17.2.6" Int MPI_Type_create_f90_complex(p: Int, r: Int, newtype: DatatypeOut);
    "4.2" Int MPI_Pack(inbuf: ConstBuffer, incount: Int, datatype: Datatype, outbuf: Buffer, outsize: Int,
        position: IntOut, comm: Comm);
    "4.2" Int MPI_Unpack(inbuf: ConstBuffer, insize: Int, position: IntOut, outbuf: Buffer, outcount: Int,
        datatype: Datatype, comm: Comm);
    "4.2" Int MPI_Pack_size(incount: Int, datatype: Datatype, comm: Comm, size: IntOut);
    "4.3" Int MPI_Pack_external(datarep: ConstChars, inbuf: ConstBuffer, incount: Int, datatype: Datatype,
        outbuf: Buffer, outsize: Aint, position: AintOut);
    "4.3" Int MPI_Unpack_external(datarep: ConstChars, inbuf: ConstBuffer, insize: Aint, position: AintOut,
        outbuf: Buffer, outcount: Int, datatype: Datatype);
    "4.3" Int MPI_Pack_external_size(datarep: ConstChars, incount: Int, datatype: Datatype, size: AintOut);
    "16.1" Int MPI_Type_hvector(count: Int, blocklength: Int, stride: Aint, oldtype: Datatype, newtype: DatatypeOut);
    "16.1" Int MPI_Type_hindexed(count: Int, array_of_blocklengths: Ints, array_of_displacements: Aints,
        oldtype: Datatype, newtype: DatatypeOut);
    "16.1" Int MPI_Type_struct(count: Int, array_of_blocklengths: Ints, array_of_displacements: Aints,
        array_of_types: Datatypes, newtype: DatatypeOut);
    "16.1" Int MPI_Type_extent(datatype: Datatype, extent: AintOut);
    "16.1" Int MPI_Type_lb(datatype: Datatype, displacement: AintOut);
    "16.1" Int MPI_Type_ub(datatype: Datatype, displacement: AintOut);
    "16.1" Int MPI_Address(location: Buffer, address: AintOut);
    "3.2.1" Int MPI_Send(buf: ConstBuffer, count: Int, datatype: Datatype, dest: Int, tag: Int, comm: Comm);
    "3.4" Int MPI_Ssend(buf: ConstBuffer, count: Int, datatype: Datatype, dest: Int, tag: Int, comm: Comm);
    "3.4" Int MPI_Rsend(buf: ConstBuffer, count: Int, datatype: Datatype, dest: Int, tag: Int, comm: Comm);
    "3.4" Int MPI_Bsend(buf: ConstBuffer, count: Int, datatype: Datatype, dest: Int, tag: Int, comm: Comm);
    "3.6" Int MPI_Buffer_attach(buffer: Buffer, size: Int);
    "3.6" Int MPI_Buffer_detach(buffer_addr: Buffer, size: IntOut);
    "3.2.4" Int MPI_Recv(buf: Buffer, count: Int, datatype: Datatype, source: Int, tag: Int, comm: Comm,
        status: StatusOut);
    "3.10" Int MPI_Sendrecv(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, dest: Int, sendtag: Int,
        recvbuf: Buffer, recvcount: Int, recvtype: Datatype, source: Int, recvtag: Int, comm: Comm,
        status: StatusOut);
    "3.10" Int MPI_Sendrecv_replace(buf: Buffer, count: Int, datatype: Datatype, dest: Int, sendtag: Int,
        source: Int, recvtag: Int, comm: Comm, status: StatusOut);
    "3.7.2" Int MPI_Isend(buf: ConstBuffer, count: Int, datatype: Datatype, dest: Int, tag: Int, comm: Comm,
        request: RequestOut);
    "3.7.2" Int MPI_Issend(buf: ConstBuffer, count: Int, datatype: Datatype, dest: Int, tag: Int, comm: Comm,
        request: RequestOut);
    "3.7.2" Int MPI_Irsend(buf: ConstBuffer, count: Int, datatype: Datatype, dest: Int, tag: Int, comm: Comm,
        request: RequestOut);
    "3.7.2" Int MPI_Ibsend(buf: ConstBuffer, count: Int, datatype: Datatype, dest: Int, tag: Int, comm: Comm,
        request: RequestOut);
    "3.7.2" Int MPI_Irecv(buf: Buffer, count: Int, datatype: Datatype, source: Int, tag: Int, comm: Comm,
        request: RequestOut);
    "3.7.3" Int MPI_Wait(request: RequestOut, status: StatusOut);
    "3.7.5" Int MPI_Waitall(count: Int, array_of_requests: Requests, array_of_statuses: StatusOut);
    "3.7.5" Int MPI_Waitany(count: Int, array_of_requests: Requests, index: IntOut, status: StatusOut);
    "3.7.5" Int MPI_Waitsome(incount: Int, array_of_requests: Requests, outcount: IntOut, array_of_indices: Ints,
        array_of_statuses: StatusOut);
    "3.7.3" Int MPI_Test(request: RequestOut, flag: IntOut, status: StatusOut);
    "3.7.5" Int MPI_Testall(count: Int, array_of_requests: Requests, flag: IntOut, array_of_statuses: StatusOut);
    "3.7.5" Int MPI_Testany(count: Int, array_of_requests: Requests, index: IntOut, flag: IntOut, status: StatusOut);
    "3.7.5" Int MPI_Testsome(incount: Int, array_of_requests: Requests, outcount: IntOut, array_of_indices: Ints,
        array_of_statuses: StatusOut);
    "3.7.6" Int MPI_Request_get_status(request: Request, flag: IntOut, status: StatusOut);
    "3.7.3" Int MPI_Request_free(request: RequestOut);
    "3.8.4" Int MPI_Cancel(request: RequestOut);
    "3.8.4" Int MPI_Test_cancelled(status: ConstStatus, flag: IntOut);
    "12.3" Int MPI_Status_set_cancelled(status: StatusOut, flag: Int);
    "12.2" Int MPI_Grequest_start(query_fn: QueryFn, free_fn: FreeFn, cancel_fn: CancelFn, extra_state: Buffer,
        request: RequestOut);
    "12.2" Int MPI_Grequest_complete(request: Request);
    "3.9" Int MPI_Send_init(buf: ConstBuffer, count: Int, datatype: Datatype, dest: Int, tag: Int, comm: Comm,
        request: RequestOut);
    "3.9" Int MPI_Bsend_init(buf: ConstBuffer, count: Int, datatype: Datatype, dest: Int, tag: Int, comm: Comm,
        request: RequestOut);
    "3.9" Int MPI_Ssend_init(buf: ConstBuffer, count: Int, datatype: Datatype, dest: Int, tag: Int, comm: Comm,
        request: RequestOut);
    "3.9" Int MPI_Rsend_init(buf: ConstBuffer, count: Int, datatype: Datatype, dest: Int, tag: Int, comm: Comm,
        request: RequestOut);
    "3.9" Int MPI_Recv_init(buf: Buffer, count: Int, datatype: Datatype, source: Int, tag: Int, comm: Comm,
        request: RequestOut);
    "3.9" Int MPI_Start(request: RequestOut);
    "3.9" Int MPI_Startall(count: Int, array_of_requests: Requests);
    "3.8.1" Int MPI_Probe(source: Int, tag: Int, comm: Comm, status: StatusOut);
    "3.8.1" Int MPI_Iprobe(source: Int, tag: Int, comm: Comm, flag: IntOut, status: StatusOut);
    "3.8.2" Int MPI_Mprobe(source: Int, tag: Int, comm: Comm, message: MessageOut, status: StatusOut);
    "3.8.2" Int MPI_Improbe(source: Int, tag: Int, comm: Comm, flag: IntOut, message: MessageOut, status: StatusOut);
    "3.8.3" Int MPI_Mrecv(buf: Buffer, count: Int, datatype: Datatype, message: MessageOut, status: StatusOut);
    "3.8.3" Int MPI_Imrecv(buf: Buffer, count: Int, datatype: Datatype, message: MessageOut, request: RequestOut);
    "3.2.5" Int MPI_Get_count(status: ConstStatus, datatype: Datatype, count: IntOut);
    "4.1.11" Int MPI_Get_elements(status: ConstStatus, datatype: Datatype, count: IntOut);
    "4.1.11" Int MPI_Get_elements_x(status: ConstStatus, datatype: Datatype, count: CountOut);
    "12.3" Int MPI_Status_set_elements(status: StatusOut, datatype: Datatype, count: Int);
    "12.3" Int MPI_Status_set_elements_x(status: StatusOut, datatype: Datatype, count: Count);
    "5.3" Int MPI_Barrier(comm: Comm);
    "5.4" Int MPI_Bcast(buffer: Buffer, count: Int, datatype: Datatype, root: Int, comm: Comm);
    "5.5" Int MPI_Gather(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer, recvcount: Int,
        recvtype: Datatype, root: Int, comm: Comm);
    "5.5" Int MPI_Gatherv(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcounts: ConstInts, displs: ConstInts, recvtype: Datatype, root: Int, comm: Comm);
    "5.6" Int MPI_Scatter(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcount: Int, recvtype: Datatype, root: Int, comm: Comm);
    "5.6" Int MPI_Scatterv(sendbuf: ConstBuffer, sendcounts: ConstInts, displs: ConstInts, sendtype: Datatype,
        recvbuf: Buffer, recvcount: Int, recvtype: Datatype, root: Int, comm: Comm);
    "5.7" Int MPI_Allgather(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcount: Int, recvtype: Datatype, comm: Comm);
    "5.7" Int MPI_Allgatherv(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcounts: ConstInts, displs: ConstInts, recvtype: Datatype, comm: Comm);
    "5.8" Int MPI_Alltoall(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcount: Int, recvtype: Datatype, comm: Comm);
    "5.8" Int MPI_Alltoallv(sendbuf: ConstBuffer, sendcounts: ConstInts, sdispls: ConstInts, sendtype: Datatype,
        recvbuf: Buffer, recvcounts: ConstInts, rdispls: ConstInts, recvtype: Datatype, comm: Comm);
    "5.8" Int MPI_Alltoallw(sendbuf: ConstBuffer, sendcounts: ConstInts, sdispls: ConstInts,
        sendtypes: ConstDatatypes, recvbuf: Buffer, recvcounts: ConstInts, rdispls: ConstInts,
        recvtypes: ConstDatatypes, comm: Comm);
    "5.9.1" Int MPI_Reduce(sendbuf: ConstBuffer, recvbuf: Buffer, count: Int, datatype: Datatype, op: Op,
        root: Int, comm: Comm);
    "5.9.6" Int MPI_Allreduce(sendbuf: ConstBuffer, recvbuf: Buffer, count: Int, datatype: Datatype, op: Op,
        comm: Comm);
    "5.10.2" Int MPI_Reduce_scatter(sendbuf: ConstBuffer, recvbuf: Buffer, recvcounts: ConstInts,
        datatype: Datatype, op: Op, comm: Comm);
    "5.10.1" Int MPI_Reduce_scatter_block(sendbuf: ConstBuffer, recvbuf: Buffer, recvcount: Int,
        datatype: Datatype, op: Op, comm: Comm);
    "5.11.1" Int MPI_Scan(sendbuf: ConstBuffer, recvbuf: Buffer, count: Int, datatype: Datatype, op: Op, comm: Comm);
    "5.11.2" Int MPI_Exscan(sendbuf: ConstBuffer, recvbuf: Buffer, count: Int, datatype: Datatype, op: Op,
        comm: Comm);
    "5.9.5" Int MPI_Op_create(user_fn: UserFn, commute: Int, op: OpOut);
    "5.9.5" Int MPI_Op_free(op: OpOut);
    "5.9.7" Int MPI_Op_commutative(op: Op, commute: IntOut);
    "5.9.7" Int MPI_Reduce_local(inbuf: ConstBuffer, inoutbuf: Buffer, count: Int, datatype: Datatype, op: Op);
    "5.12.1" Int MPI_Ibarrier(comm: Comm, request: RequestOut);
    "5.12.2" Int MPI_Ibcast(buffer: Buffer, count: Int, datatype: Datatype, root: Int, comm: Comm,
        request: RequestOut);
    "5.12.3" Int MPI_Igather(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcount: Int, recvtype: Datatype, root: Int, comm: Comm, request: RequestOut);
    "5.12.3" Int MPI_Igatherv(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcounts: ConstInts, displs: ConstInts, recvtype: Datatype, root: Int, comm: Comm, request: RequestOut);
    "5.12.4" Int MPI_Iscatter(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcount: Int, recvtype: Datatype, root: Int, comm: Comm, request: RequestOut);
    "5.12.4" Int MPI_Iscatterv(sendbuf: ConstBuffer, sendcounts: ConstInts, displs: ConstInts, sendtype: Datatype,
        recvbuf: Buffer, recvcount: Int, recvtype: Datatype, root: Int, comm: Comm, request: RequestOut);
    "5.12.5" Int MPI_Iallgather(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcount: Int, recvtype: Datatype, comm: Comm, request: RequestOut);
    "5.12.5" Int MPI_Iallgatherv(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcounts: ConstInts, displs: ConstInts, recvtype: Datatype, comm: Comm, request: RequestOut);
    "5.12.6" Int MPI_Ialltoall(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcount: Int, recvtype: Datatype, comm: Comm, request: RequestOut);
    "5.12.6" Int MPI_Ialltoallv(sendbuf: ConstBuffer, sendcounts: ConstInts, sdispls: ConstInts, sendtype: Datatype,
        recvbuf: Buffer, recvcounts: ConstInts, rdispls: ConstInts, recvtype: Datatype, comm: Comm,
        request: RequestOut);
    "5.12.6" Int MPI_Ialltoallw(sendbuf: ConstBuffer, sendcounts: ConstInts, sdispls: ConstInts,
        sendtypes: ConstDatatypes, recvbuf: Buffer, recvcounts: ConstInts, rdispls: ConstInts,
        recvtypes: ConstDatatypes, comm: Comm, request: RequestOut);
    "5.12.7" Int MPI_Ireduce(sendbuf: ConstBuffer, recvbuf: Buffer, count: Int, datatype: Datatype, op: Op, root: Int,
        comm: Comm, request: RequestOut);
    "5.12.8" Int MPI_Iallreduce(sendbuf: ConstBuffer, recvbuf: Buffer, count: Int, datatype: Datatype, op: Op,
        comm: Comm, request: RequestOut);
    "5.12.10" Int MPI_Ireduce_scatter(sendbuf: ConstBuffer, recvbuf: Buffer, recvcounts: ConstInts,
        datatype: Datatype, op: Op, comm: Comm, request: RequestOut);
    "5.12.9" Int MPI_Ireduce_scatter_block(sendbuf: ConstBuffer, recvbuf: Buffer, recvcount: Int, datatype: Datatype,
        op: Op, comm: Comm, request: RequestOut);
    "5.12.11" Int MPI_Iscan(sendbuf: ConstBuffer, recvbuf: Buffer, count: Int, datatype: Datatype, op: Op, comm: Comm,
        request: RequestOut);
    "5.12.12" Int MPI_Iexscan(sendbuf: ConstBuffer, recvbuf: Buffer, count: Int, datatype: Datatype, op: Op,
        comm: Comm, request: RequestOut);
    "7.6.1" Int MPI_Neighbor_allgather(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcount: Int, recvtype: Datatype, comm: Comm);
    "7.6.1" Int MPI_Neighbor_allgatherv(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcounts: ConstInts, displs: ConstInts, recvtype: Datatype, comm: Comm);
    "7.6.2" Int MPI_Neighbor_alltoall(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcount: Int, recvtype: Datatype, comm: Comm);
    "7.6.2" Int MPI_Neighbor_alltoallv(sendbuf: ConstBuffer, sendcounts: ConstInts, sdispls: ConstInts,
        sendtype: Datatype, recvbuf: Buffer, recvcounts: ConstInts, rdispls: ConstInts, recvtype: Datatype,
        comm: Comm);
    "7.6.2" Int MPI_Neighbor_alltoallw(sendbuf: ConstBuffer, sendcounts: ConstInts, sdispls: ConstAints,
        sendtypes: ConstDatatypes, recvbuf: Buffer, recvcounts: ConstInts, rdispls: ConstAints,
        recvtypes: ConstDatatypes, comm: Comm);
    "7.7.1" Int MPI_Ineighbor_allgather(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcount: Int, recvtype: Datatype, comm: Comm, request: RequestOut);
    "7.7.1" Int MPI_Ineighbor_allgatherv(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcounts: ConstInts, displs: ConstInts, recvtype: Datatype, comm: Comm, request: RequestOut);
    "7.7.2" Int MPI_Ineighbor_alltoall(sendbuf: ConstBuffer, sendcount: Int, sendtype: Datatype, recvbuf: Buffer,
        recvcount: Int, recvtype: Datatype, comm: Comm, request: RequestOut);
    "7.7.2" Int MPI_Ineighbor_alltoallv(sendbuf: ConstBuffer, sendcounts: ConstInts, sdispls: ConstInts,
        sendtype: Datatype, recvbuf: Buffer, recvcounts: ConstInts, rdispls: ConstInts, recvtype: Datatype,
        comm: Comm, request: RequestOut);
    "7.7.2" Int MPI_Ineighbor_alltoallw(sendbuf: ConstBuffer, sendcounts: ConstInts, sdispls: ConstAints,
        sendtypes: ConstDatatypes, recvbuf: Buffer, recvcounts: ConstInts, rdispls: ConstAints,
        recvtypes: ConstDatatypes, comm: Comm, request: RequestOut);
    "17.2.4" Fint MPI_Comm_c2f(comm: Comm);
    "17.2.4" Comm MPI_Comm_f2c(comm: Fint);
    "17.2.4" Fint MPI_Errhandler_c2f(errhandler: Errhandler);
    "17.2.4" Errhandler MPI_Errhandler_f2c(errhandler: Fint);
    "17.2.4" Fint MPI_File_c2f(file: File);
    "17.2.4" File MPI_File_f2c(file: Fint);
    "17.2.4" Fint MPI_Group_c2f(group: Group);
    "17.2.4" Group MPI_Group_f2c(group: Fint);
    "17.2.4" Fint MPI_Info_c2f(info: Info);
    "17.2.4" Info MPI_Info_f2c(info: Fint);
    "17.2.4" Fint MPI_Message_c2f(message: Message);
    "17.2.4" Message MPI_Message_f2c(message: Fint);
    "17.2.4" Fint MPI_Op_c2f(op: Op);
    "17.2.4" Op MPI_Op_f2c(op: Fint);
    "17.2.4" Fint MPI_Request_c2f(request: Request);
    "17.2.4" Request MPI_Request_f2c(request: Fint);
    "17.2.4" Fint MPI_Type_c2f(datatype: Datatype);
    "17.2.4" Datatype MPI_Type_f2c(datatype: Fint);
    "17.2.4" Fint MPI_Win_c2f(win: Win);
    "17.2.4" Win MPI_Win_f2c(win: Fint);
    "17.2.5" Int MPI_Status_f2c(f_status: ConstFints, c_status: StatusOut);
    "17.2.5" Int MPI_Status_c2f(c_status: ConstStatus, f_status: FintOut);
    "17.2.5" Int MPI_Status_f082c(f08_status: ConstF08Status, c_status: StatusOut);
    "17.2.5" Int MPI_Status_c2f08(c_status: ConstStatus, f08_status: F08StatusOut);
    "17.2.5" Int MPI_Status_f2f08(f_status: ConstFints, f08_status: F08StatusOut);
    "17.2.5" Int MPI_Status_f082f(f08_status: ConstF08Status, f_status: FintOut);
    "14.3.4" Int MPI_T_init_thread(required: Int, provided: IntOut);
    "14.3.4" Int MPI_T_finalize();
    "14.3.5" Int MPI_T_enum_get_info(enumtype: ToolEnum, num: IntOut, name: Text, name_len: IntOut);
    "14.3.5" Int MPI_T_enum_get_item(enumtype: ToolEnum, index: Int, value: IntOut, name: Text, name_len: IntOut);
    "14.3.6" Int MPI_T_cvar_get_num(num_cvar: IntOut);
    "14.3.6" Int MPI_T_cvar_get_info(cvar_index: Int, name: Text, name_len: IntOut, verbosity: IntOut,
        datatype: DatatypeOut, enumtype: ToolEnumOut, desc: Text, desc_len: IntOut, bind: IntOut, scope: IntOut);
    "14.3.6" Int MPI_T_cvar_get_index(name: ConstText, cvar_index: IntOut);
    "14.3.6" Int MPI_T_cvar_handle_alloc(cvar_index: Int, obj_handle: Buffer, handle: CvarHandleOut, count: IntOut);
    "14.3.6" Int MPI_T_cvar_handle_free(handle: CvarHandleOut);
    "14.3.6" Int MPI_T_cvar_read(handle: CvarHandle, buf: Buffer);
    "14.3.6" Int MPI_T_cvar_write(handle: CvarHandle, buf: ConstBuffer);
    "14.3.7" Int MPI_T_pvar_get_num(num_pvar: IntOut);
    "14.3.7" Int MPI_T_pvar_get_info(pvar_index: Int, name: Text, name_len: IntOut, verbosity: IntOut,
        var_class: IntOut, datatype: DatatypeOut, enumtype: ToolEnumOut, desc: Text, desc_len: IntOut, bind: IntOut,
        readonly: IntOut, continuous: IntOut, atomic: IntOut);
    "14.3.7" Int MPI_T_pvar_get_index(name: ConstText, var_class: Int, pvar_index: IntOut);
    "14.3.7" Int MPI_T_pvar_session_create(session: SessionOut);
    "14.3.7" Int MPI_T_pvar_session_free(session: SessionOut);
    "14.3.7" Int MPI_T_pvar_handle_alloc(session: Session, pvar_index: Int, obj_handle: Buffer,
        handle: PvarHandleOut, count: IntOut);
    "14.3.7" Int MPI_T_pvar_handle_free(session: Session, handle: PvarHandleOut);
    "14.3.7" Int MPI_T_pvar_start(session: Session, handle: PvarHandle);
    "14.3.7" Int MPI_T_pvar_stop(session: Session, handle: PvarHandle);
    "14.3.7" Int MPI_T_pvar_read(session: Session, handle: PvarHandle, buf: Buffer);
    "14.3.7" Int MPI_T_pvar_write(session: Session, handle: PvarHandle, buf: ConstBuffer);
    "14.3.7" Int MPI_T_pvar_reset(session: Session, handle: PvarHandle);
    "14.3.7" Int MPI_T_pvar_readreset(session: Session, handle: PvarHandle, buf: Buffer);
    "14.3.8" Int MPI_T_category_get_num(num_cat: IntOut);
    "14.3.8" Int MPI_T_category_get_info(cat_index: Int, name: Text, name_len: IntOut, desc: Text, desc_len: IntOut,
        num_cvars: IntOut, num_pvars: IntOut, num_categories: IntOut);
    "14.3.8" Int MPI_T_category_get_index(name: ConstText, cat_index: IntOut);
    "14.3.8" Int MPI_T_category_get_cvars(cat_index: Int, len: Int, indices: Ints);
    "14.3.8" Int MPI_T_category_get_pvars(cat_index: Int, len: Int, indices: Ints);
    "14.3.8" Int MPI_T_category_get_categories(cat_index: Int, len: Int, indices: Ints);
    "14.3.8" Int MPI_T_category_changed(stamp: IntOut);
    "8.3.3" Int MPI_File_create_errhandler(file_errhandler_fn: FileErrorFn, errhandler: ErrhandlerOut);
    "8.3.3" Int MPI_File_set_errhandler(file: File, errhandler: Errhandler);
    "8.3.3" Int MPI_File_get_errhandler(file: File, errhandler: ErrhandlerOut);
    "8.5" Int MPI_File_call_errhandler(fh: File, errorcode: Int);

    "11.2.1" Int MPI_Win_create(base: Buffer, size: Aint, disp_unit: Int, info: Info, comm: Comm,
        win: WinOut);
    "11.2.2" Int MPI_Win_allocate(size: Aint, disp_unit: Int, info: Info, comm: Comm, baseptr: Buffer,
        win: WinOut);
    "11.2.3" Int MPI_Win_allocate_shared(size: Aint, disp_unit: Int, info: Info, comm: Comm,
        baseptr: Buffer, win: WinOut);
    "11.2.3" Int MPI_Win_shared_query(win: Win, rank: Int, size: AintOut, disp_unit: IntOut,
        baseptr: Buffer);
    "11.2.4" Int MPI_Win_create_dynamic(info: Info, comm: Comm, win: WinOut);
    "11.2.4" Int MPI_Win_attach(win: Win, base: Buffer, size: Aint);
    "11.2.4" Int MPI_Win_detach(win: Win, base: ConstBuffer);
    "11.2.5" Int MPI_Win_free(win: WinOut);
    "11.2.6" Int MPI_Win_get_group(win: Win, group: GroupOut);
    "11.2.7" Int MPI_Win_set_info(win: Win, info: Info);
    "11.2.7" Int MPI_Win_get_info(win: Win, info_used: InfoOut);
    "11.3.1" Int MPI_Put(origin_addr: ConstBuffer, origin_count: Int, origin_datatype: Datatype,
        target_rank: Int, target_disp: Aint, target_count: Int, target_datatype: Datatype, win: Win);
    "11.3.2" Int MPI_Get(origin_addr: Buffer, origin_count: Int, origin_datatype: Datatype,
        target_rank: Int, target_disp: Aint, target_count: Int, target_datatype: Datatype, win: Win);
    "11.3.4" Int MPI_Accumulate(origin_addr: ConstBuffer, origin_count: Int,
        origin_datatype: Datatype, target_rank: Int, target_disp: Aint, target_count: Int,
        target_datatype: Datatype, op: Op, win: Win);
    "11.3.4" Int MPI_Get_accumulate(origin_addr: ConstBuffer, origin_count: Int,
        origin_datatype: Datatype, result_addr: Buffer, result_count: Int, result_datatype: Datatype,
        target_rank: Int, target_disp: Aint, target_count: Int, target_datatype: Datatype, op: Op, win: Win);
    "11.3.4" Int MPI_Fetch_and_op(origin_addr: ConstBuffer, result_addr: Buffer,
        datatype: Datatype, target_rank: Int, target_disp: Aint, op: Op, win: Win);
    "11.3.4" Int MPI_Compare_and_swap(origin_addr: ConstBuffer, compare_addr: ConstBuffer,
        result_addr: Buffer, datatype: Datatype, target_rank: Int, target_disp: Aint, win: Win);
    "11.3.5" Int MPI_Rput(origin_addr: ConstBuffer, origin_count: Int,
        origin_datatype: Datatype, target_rank: Int, target_disp: Aint, target_count: Int,
        target_datatype: Datatype, win: Win, request: RequestOut);
    "11.3.5" Int MPI_Rget(origin_addr: Buffer, origin_count: Int, origin_datatype: Datatype,
        target_rank: Int, target_disp: Aint, target_count: Int, target_datatype: Datatype, win: Win,
        request: RequestOut);
    "11.3.5" Int MPI_Raccumulate(origin_addr: ConstBuffer, origin_count: Int,
        origin_datatype: Datatype, target_rank: Int, target_disp: Aint, target_count: Int,
        target_datatype: Datatype, op: Op, win: Win, request: RequestOut);
    "11.3.5" Int MPI_Rget_accumulate(origin_addr: ConstBuffer, origin_count: Int,
        origin_datatype: Datatype, result_addr: Buffer, result_count: Int, result_datatype: Datatype,
        target_rank: Int, target_disp: Aint, target_count: Int, target_datatype: Datatype, op: Op, win: Win,
        request: RequestOut);
    "11.5.1" Int MPI_Win_fence(assert: Int, win: Win);
    "11.5.2" Int MPI_Win_start(group: Group, assert: Int, win: Win);
    "11.5.2" Int MPI_Win_complete(win: Win);
    "11.5.2" Int MPI_Win_post(group: Group, assert: Int, win: Win);
    "11.5.2" Int MPI_Win_wait(win: Win);
    "11.5.2" Int MPI_Win_test(win: Win, flag: IntOut);
    "11.5.3" Int MPI_Win_lock(lock_type: Int, rank: Int, assert: Int, win: Win);
    "11.5.3" Int MPI_Win_lock_all(assert: Int, win: Win);
    "11.5.3" Int MPI_Win_unlock(rank: Int, win: Win);
    "11.5.3" Int MPI_Win_unlock_all(win: Win);
    "11.5.4" Int MPI_Win_flush(rank: Int, win: Win);
    "11.5.4" Int MPI_Win_flush_all(win: Win);
    "11.5.4" Int MPI_Win_flush_local(rank: Int, win: Win);
    "11.5.4" Int MPI_Win_flush_local_all(win: Win);
    "11.5.4" Int MPI_Win_sync(win: Win);
    "11.5.1" Int MPI_Win_ifence(assert: Int, win: Win, request: RequestOut);
    "11.5.2" Int MPI_Win_istart(group: Group, assert: Int, win: Win, request: RequestOut);
    "11.5.2" Int MPI_Win_icomplete(win: Win, request: RequestOut);
    "11.5.2" Int MPI_Win_ipost(group: Group, assert: Int, win: Win, request: RequestOut);
    "11.5.2" Int MPI_Win_iwait(win: Win, request: RequestOut);
    "11.5.3" Int MPI_Win_ilock(lock_type: Int, rank: Int, assert: Int, win: Win, request: RequestOut);
    "11.5.3" Int MPI_Win_ilock_all(assert: Int, win: Win, request: RequestOut);
    "11.5.3" Int MPI_Win_iunlock(rank: Int, win: Win, request: RequestOut);
    "11.5.3" Int MPI_Win_iunlock_all(win: Win, request: RequestOut);
    "11.5.4" Int MPI_Win_iflush(rank: Int, win: Win, request: RequestOut);
    "11.5.4" Int MPI_Win_iflush_all(win: Win, request: RequestOut);
    "11.5.4" Int MPI_Win_iflush_local(rank: Int, win: Win, request: RequestOut);
    "11.5.4" Int MPI_Win_iflush_local_all(win: Win, request: RequestOut);
    "6.7.3" Int MPI_Win_create_keyval(win_copy_attr_fn: WinCopyFn, win_delete_attr_fn: WinDeleteFn,
        win_keyval: IntOut, extra_state: Buffer);
    "6.7.3" Int MPI_Win_free_keyval(win_keyval: IntOut);
    "6.7.3" Int MPI_Win_set_attr(win: Win, win_keyval: Int, attribute_val: Buffer);
    "6.7.3" Int MPI_Win_get_attr(win: Win, win_keyval: Int, attribute_val: Buffer, flag: IntOut);
    "6.7.3" Int MPI_Win_delete_attr(win: Win, win_keyval: Int);
    "6.8" Int MPI_Win_set_name(win: Win, win_name: ConstText);
    "6.8" Int MPI_Win_get_name(win: Win, win_name: Text, resultlen: IntOut);
    "8.3.2" Int MPI_Win_create_errhandler(win_errhandler_fn: WinErrorFn,
        errhandler: ErrhandlerOut);
    "8.3.2" Int MPI_Win_set_errhandler(win: Win, errhandler: Errhandler);
    "8.3.2" Int MPI_Win_get_errhandler(win: Win, errhandler: ErrhandlerOut);
    "8.5" Int MPI_Win_call_errhandler(win: Win, errorcode: Int);
}

impl core::fmt::Display for Signature {
    /// As `mpi.h` declares it, in one line.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}{}(", self.result.before, self.name)?;
        for (i, (name, Spelling { before, after })) in self.parameters.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{before}{name}{after}")?;
        }
        let none = if self.parameters.is_empty() {
            "void"
        } else {
            ""
        };
        write!(f, "{none});")
    }
}

/// All functions, those that are not supported included.
pub fn all() -> impl Iterator<Item = &'static Signature> {
    SIGNATURES.iter().chain(super::UNSUPPORTED)
}

#[cfg(test)]
mod standard;
#[cfg(test)]
mod tests;
