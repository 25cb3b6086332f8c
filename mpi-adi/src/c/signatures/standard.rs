//! What `docs/mpi.md` says beside the signatures: the functions of MPI-3.1 that are not there, with the reason, and the
//! limits of those that are. A function that is there is not looked for in the first list.

/// Functions that may be missing: their sections, and why.
pub const MISSING: &[(&str, &[(&str, &str)])] = &[
    (
        "nonblocking, and not built yet",
        &[
            ("5.12.1", "MPI_Ibarrier"),
            ("5.12.2", "MPI_Ibcast"),
            ("5.12.3", "MPI_Igather"),
            ("5.12.3", "MPI_Igatherv"),
            ("5.12.4", "MPI_Iscatter"),
            ("5.12.4", "MPI_Iscatterv"),
            ("5.12.5", "MPI_Iallgather"),
            ("5.12.5", "MPI_Iallgatherv"),
            ("5.12.6", "MPI_Ialltoall"),
            ("5.12.6", "MPI_Ialltoallv"),
            ("5.12.6", "MPI_Ialltoallw"),
            ("5.12.7", "MPI_Ireduce"),
            ("5.12.8", "MPI_Iallreduce"),
            ("5.12.9", "MPI_Ireduce_scatter_block"),
            ("5.12.10", "MPI_Ireduce_scatter"),
            ("5.12.11", "MPI_Iscan"),
            ("5.12.12", "MPI_Iexscan"),
            ("6.4.2", "MPI_Comm_idup"),
        ],
    ),
    (
        "not built yet",
        &[
            ("5.8", "MPI_Alltoallw"),
            ("12.2", "MPI_Grequest_start"),
            ("12.2", "MPI_Grequest_complete"),
        ],
    ),
    (
        "there are no intercommunicators yet",
        &[
            ("6.6.1", "MPI_Comm_remote_size"),
            ("6.6.1", "MPI_Comm_remote_group"),
            ("6.6.2", "MPI_Intercomm_create"),
            ("6.6.2", "MPI_Intercomm_merge"),
        ],
    ),
    (
        "of topologies only grids are built yet",
        &[
            ("7.5.3", "MPI_Graph_create"),
            ("7.5.4", "MPI_Dist_graph_create_adjacent"),
            ("7.5.4", "MPI_Dist_graph_create"),
            ("7.5.5", "MPI_Graphdims_get"),
            ("7.5.5", "MPI_Graph_get"),
            ("7.5.5", "MPI_Graph_neighbors_count"),
            ("7.5.5", "MPI_Graph_neighbors"),
            ("7.5.5", "MPI_Dist_graph_neighbors_count"),
            ("7.5.5", "MPI_Dist_graph_neighbors"),
            ("7.5.8", "MPI_Cart_map"),
            ("7.5.8", "MPI_Graph_map"),
        ],
    ),
    (
        "neighbourhood collectives are not built yet",
        &[
            ("7.6.1", "MPI_Neighbor_allgather"),
            ("7.6.1", "MPI_Neighbor_allgatherv"),
            ("7.6.2", "MPI_Neighbor_alltoall"),
            ("7.6.2", "MPI_Neighbor_alltoallv"),
            ("7.6.2", "MPI_Neighbor_alltoallw"),
            ("7.7.1", "MPI_Ineighbor_allgather"),
            ("7.7.1", "MPI_Ineighbor_allgatherv"),
            ("7.7.2", "MPI_Ineighbor_alltoall"),
            ("7.7.2", "MPI_Ineighbor_alltoallv"),
            ("7.7.2", "MPI_Ineighbor_alltoallw"),
        ],
    ),
];

/// Of collectives that do not block.
const NOT_BLOCKING: &str =
    "4,096 started and not completed at one time; goes on while the program computes, too";

/// What no version of MPI has.
const EXTENSION: &str =
    "an extension that MPI does not have: the twin without `i` is in this section (docs/rma.md)";

/// Limits of functions that work.
pub const LIMITS: &[(&str, &str)] = &[
    ("MPI_Ibarrier", NOT_BLOCKING),
    ("MPI_Ibcast", NOT_BLOCKING),
    ("MPI_Igather", NOT_BLOCKING),
    ("MPI_Igatherv", NOT_BLOCKING),
    ("MPI_Iscatter", NOT_BLOCKING),
    ("MPI_Iscatterv", NOT_BLOCKING),
    ("MPI_Iallgather", NOT_BLOCKING),
    ("MPI_Iallgatherv", NOT_BLOCKING),
    ("MPI_Ialltoall", NOT_BLOCKING),
    ("MPI_Ialltoallv", NOT_BLOCKING),
    ("MPI_Ialltoallw", NOT_BLOCKING),
    ("MPI_Ireduce", NOT_BLOCKING),
    ("MPI_Iallreduce", NOT_BLOCKING),
    ("MPI_Ireduce_scatter", NOT_BLOCKING),
    ("MPI_Ireduce_scatter_block", NOT_BLOCKING),
    ("MPI_Iscan", NOT_BLOCKING),
    ("MPI_Iexscan", NOT_BLOCKING),
    (
        "MPI_Comm_idup",
        "*newcomm is written when the duplicate is there",
    ),
    (
        "MPI_Rsend",
        "as MPI_Send: that the receive is posted is not checked",
    ),
    (
        "MPI_Irsend",
        "as MPI_Isend: that the receive is posted is not checked",
    ),
    (
        "MPI_Rsend_init",
        "as MPI_Send_init: that the receive is posted is not checked",
    ),
    ("MPI_Win_ifence", EXTENSION),
    ("MPI_Win_istart", EXTENSION),
    ("MPI_Win_icomplete", EXTENSION),
    ("MPI_Win_ipost", EXTENSION),
    ("MPI_Win_iwait", EXTENSION),
    ("MPI_Win_ilock", EXTENSION),
    ("MPI_Win_ilock_all", EXTENSION),
    ("MPI_Win_iunlock", EXTENSION),
    ("MPI_Win_iunlock_all", EXTENSION),
    ("MPI_Win_iflush", EXTENSION),
    ("MPI_Win_iflush_all", EXTENSION),
    ("MPI_Win_iflush_local", EXTENSION),
    ("MPI_Win_iflush_local_all", EXTENSION),
    (
        "MPI_Win_allocate_shared",
        "on communicators of one process only: no process shares memory with another",
    ),
    (
        "MPI_Accumulate",
        "derived datatypes of pairs such as MPI_DOUBLE_INT must have no holes",
    ),
    (
        "MPI_Get_accumulate",
        "derived datatypes of pairs such as MPI_DOUBLE_INT must have no holes",
    ),
    ("MPI_Send", "a message has less than 4 GiB"),
    ("MPI_Recv", "a message has less than 4 GiB"),
    (
        "MPI_Improbe",
        "when the message found has been refused before, it waits for an answer of the sender",
    ),
    (
        "MPI_Cancel",
        "a send that a matched probe has found is not cancelled, and completes with MPI_Mrecv; neither is a short one that \
         has left, which completes",
    ),
    ("MPI_Send_init", "65,536 persistent requests at one time"),
    (
        "MPI_Type_contiguous",
        "262,144 handles of datatypes at one time; 64 datatypes one above the other",
    ),
    (
        "MPI_Type_create_f90_integer",
        "always MPI_ERR_UNSUPPORTED_OPERATION: there is no Fortran",
    ),
    (
        "MPI_Type_create_f90_real",
        "always MPI_ERR_UNSUPPORTED_OPERATION: there is no Fortran",
    ),
    (
        "MPI_Type_create_f90_complex",
        "always MPI_ERR_UNSUPPORTED_OPERATION: there is no Fortran",
    ),
    (
        "MPI_Pack_external",
        "MPI_C_BOOL has 1 byte, as in later versions of the standard",
    ),
    (
        "MPI_Reduce",
        "more than the standard has, as other MPIs: MPI_CHAR is a whole number, logical operations take numbers with a \
         point",
    ),
    (
        "MPI_Op_create",
        "65,536 operations at one time; values are combined in the order of the ranks, \
         but for allreduces by operations that commute",
    ),
    (
        "MPI_Comm_dup",
        "2,048 communicators at one time, MPI_COMM_WORLD and MPI_COMM_SELF among them",
    ),
    ("MPI_Comm_dup_with_info", "no hint means anything"),
    ("MPI_Comm_set_info", "no hint means anything"),
    ("MPI_Comm_get_info", "always an empty info object"),
    (
        "MPI_Comm_split_type",
        "every rank has memory of its own: MPI_COMM_TYPE_SHARED gives communicators of one rank, of an intercommunicator MPI_COMM_NULL",
    ),
    ("MPI_Comm_create_keyval", "4,096 keys at one time"),
    ("MPI_Comm_set_name", "63 bytes; what is longer is cut"),
    ("MPI_Type_set_name", "63 bytes; what is longer is cut"),
    (
        "MPI_Group_incl",
        "4,096 groups of different members at one time",
    ),
    ("MPI_Cart_create", "16 dimensions; ranks are not reordered"),
    ("MPI_Init_thread", "up to MPI_THREAD_SERIALIZED"),
    ("MPI_Info_create", "16,384 info objects at one time"),
    (
        "MPI_Comm_create_errhandler",
        "32 error handlers at one time, those of files among them",
    ),
    (
        "MPI_File_create_errhandler",
        "32 error handlers at one time; there are no files but MPI_FILE_NULL",
    ),
    (
        "MPI_File_set_errhandler",
        "the default handler, of MPI_FILE_NULL",
    ),
    (
        "MPI_File_get_errhandler",
        "the default handler, of MPI_FILE_NULL",
    ),
    (
        "MPI_File_call_errhandler",
        "the default handler, of MPI_FILE_NULL",
    ),
    ("MPI_Add_error_class", "4,096 classes and codes together"),
    ("MPI_Add_error_code", "4,096 classes and codes together"),
    (
        "MPI_Wtime",
        "clocks of different nodes are not synchronised (MPI_WTIME_IS_GLOBAL is false)",
    ),
    ("MPI_Pcontrol", "does nothing"),
    (
        "MPI_Comm_get_parent",
        "always MPI_COMM_NULL: there are no dynamic processes",
    ),
    ("MPI_T_pvar_session_create", "64 sessions at one time"),
    (
        "MPI_T_pvar_start",
        "an error: all variables count all the time",
    ),
    (
        "MPI_T_pvar_stop",
        "an error: all variables count all the time",
    ),
    ("MPI_T_pvar_write", "an error: no variable can be set"),
    ("MPI_T_pvar_reset", "an error: no variable can be set"),
    ("MPI_T_pvar_readreset", "an error: no variable can be set"),
];

/// The chapters, by their numbers.
pub const CHAPTERS: &[(u32, &str)] = &[
    (3, "Point-to-point communication"),
    (4, "Datatypes"),
    (5, "Collective communication"),
    (6, "Groups, contexts, communicators, and caching"),
    (7, "Process topologies"),
    (8, "Environmental management"),
    (9, "The info object"),
    (10, "Process creation and management"),
    (11, "One-sided communications"),
    (12, "External interfaces"),
    (13, "I/O"),
    (14, "Tool support"),
    (15, "Deprecated functions"),
    (16, "Removed interfaces"),
    (17, "Language bindings"),
];
