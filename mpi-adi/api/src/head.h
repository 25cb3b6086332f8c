/* MPI for bare-metal nodes: the C binding of Midplane.
 *
 * What is declared here works as "MPI: A Message-Passing Interface Standard, Version 3.1" says; section
 * numbers below are that document's. Functions with the comment "not built yet" (dynamic processes, files) link, are
 * named when a program that calls them is linked, and return an error of class MPI_ERR_UNSUPPORTED_OPERATION.
 * docs/mpi.md has a table of all functions.
 *
 * Every function returns MPI_SUCCESS or an error code whose class MPI_Error_class gives; under the default
 * error handler MPI_ERRORS_ARE_FATAL (section 8.3) it does not return after an error: the job ends with
 * a message that names the rank, the function and what was wrong.
 */
#ifndef MIDPLANE_MPI_H
#define MIDPLANE_MPI_H

#include <stddef.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Version of the standard (section 8.1.1). */
#define MPI_VERSION    3
#define MPI_SUBVERSION 1
/* Identifies the implementation at compile time. */
#define MIDPLANE_MPI 1

/* Pointers that point to nothing, without a warning in programs that ask for all of them. */
#if !defined(__cplusplus)
#define MIDPLANE_POINTER(type, value) ((type)(value))
#define MIDPLANE_NULL(type)           ((type)0)
#elif __cplusplus < 201103L
#define MIDPLANE_POINTER(type, value) (reinterpret_cast<type>(value))
#define MIDPLANE_NULL(type)           (static_cast<type>(0))
#else
#define MIDPLANE_POINTER(type, value) (reinterpret_cast<type>(value))
#define MIDPLANE_NULL(type)           (static_cast<type>(nullptr))
#endif

/* ---- Handles and other types (section 2.5). A handle names an object; it is never an address. ---- */

typedef int       MPI_Comm;
typedef int       MPI_Group;
typedef int       MPI_Datatype;
typedef int       MPI_Op;
typedef int       MPI_Request;
typedef int       MPI_Errhandler;
typedef int       MPI_Info;
typedef int       MPI_Message;
typedef int       MPI_Win;
typedef int       MPI_File;
typedef ptrdiff_t MPI_Aint;
#if defined(__GNUC__) /* C90 and C++98 have no long long. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"
#endif
typedef long long MPI_Offset;
typedef long long MPI_Count;
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* Status of a received message (section 3.2.5). MPI_ERROR is set only by the calls that complete
 * several requests, and only when they return MPI_ERR_IN_STATUS. */
typedef struct MPI_Status {
    int       MPI_SOURCE;
    int       MPI_TAG;
    int       MPI_ERROR;
    int       midplane_cancelled;
    MPI_Count midplane_bytes;
} MPI_Status;

/* Fortran's INTEGER, and statuses as Fortran has them (section 17.2): there is no Fortran here, but C programs may
 * name these. */
typedef int MPI_Fint;
typedef struct MPI_F08_status {
    MPI_Fint  MPI_SOURCE;
    MPI_Fint  MPI_TAG;
    MPI_Fint  MPI_ERROR;
    MPI_Fint  midplane_cancelled;
    MPI_Count midplane_bytes;
} MPI_F08_status;

/* ---- Constants ---- */

/* Wildcards and special ranks (sections 3.2.4, 3.11, 6.3). */
#define MPI_ANY_SOURCE (-2)
#define MPI_PROC_NULL  (-1)
#define MPI_ROOT       (-3)
#define MPI_ANY_TAG    (-1)
#define MPI_UNDEFINED  (-32766)

#define MPI_BOTTOM          MIDPLANE_NULL(void *)
#define MPI_IN_PLACE        MIDPLANE_POINTER(void *, -1)
#define MPI_STATUS_IGNORE   MIDPLANE_POINTER(MPI_Status *, 1)
#define MPI_STATUSES_IGNORE MIDPLANE_POINTER(MPI_Status *, 1)
#define MPI_ERRCODES_IGNORE MIDPLANE_NULL(int *)
#define MPI_ARGV_NULL       MIDPLANE_NULL(char **)
#define MPI_ARGVS_NULL      MIDPLANE_NULL(char ***)

/* Fortran's statuses in C (section 17.2.5). */
#define MPI_F_STATUS_SIZE         6
#define MPI_F_SOURCE              0
#define MPI_F_TAG                 1
#define MPI_F_ERROR               2
#define MPI_F_STATUS_IGNORE       MIDPLANE_POINTER(MPI_Fint *, 1)
#define MPI_F_STATUSES_IGNORE     MIDPLANE_POINTER(MPI_Fint *, 1)
#define MPI_F08_STATUS_IGNORE     MIDPLANE_POINTER(MPI_F08_status *, 1)
#define MPI_F08_STATUSES_IGNORE   MIDPLANE_POINTER(MPI_F08_status *, 1)

/* Lengths of strings, with the terminating zero. */
#define MPI_MAX_PROCESSOR_NAME         64
#define MPI_MAX_ERROR_STRING           512
#define MPI_MAX_LIBRARY_VERSION_STRING 128
#define MPI_MAX_OBJECT_NAME            64
#define MPI_MAX_PORT_NAME              64
#define MPI_MAX_DATAREP_STRING         64

/* Maximum overhead of a buffered send in the attached buffer (section 3.6.1). */
#define MPI_BSEND_OVERHEAD 16

#define MPI_COMM_NULL  0x04000000
#define MPI_COMM_WORLD 0x44000000
#define MPI_COMM_SELF  0x44000001

#define MPI_GROUP_NULL  0x08000000
#define MPI_GROUP_EMPTY 0x48000000

#define MPI_REQUEST_NULL 0

/* Messages that matched probes have found (section 3.8.2). */
#define MPI_MESSAGE_NULL    (-1)
#define MPI_MESSAGE_NO_PROC (-2)

#define MPI_WIN_NULL  0x20000000
#define MPI_FILE_NULL 0x28000000

#define MPI_ERRHANDLER_NULL  0x14000000
#define MPI_ERRORS_ARE_FATAL 0x54000000
#define MPI_ERRORS_RETURN    0x54000001

/* Info objects (chapter 9). MPI_INFO_ENV has maxprocs, arch and thread_level. Lengths of keys and values with the
 * closing zero. */
#define MPI_INFO_NULL    0x1c000000
#define MPI_INFO_ENV     0x5c000001
#define MPI_MAX_INFO_KEY 256
#define MPI_MAX_INFO_VAL 1024

/* Results of MPI_Comm_compare (section 6.4.1). */
#define MPI_IDENT     0
#define MPI_CONGRUENT 1
#define MPI_SIMILAR   2
#define MPI_UNEQUAL   3

/* Kinds of topologies (section 7.5.5). */
#define MPI_GRAPH      1
#define MPI_CART       2
#define MPI_DIST_GRAPH 3

/* Special weights of edges (section 7.5.4). */
extern int midplane_unweighted[1], midplane_weights_empty[1];
#define MPI_UNWEIGHTED    (&midplane_unweighted[0])
#define MPI_WEIGHTS_EMPTY (&midplane_weights_empty[0])

/* Types of MPI_Comm_split_type (section 6.4.2). */
#define MPI_COMM_TYPE_SHARED 1

/* Levels of thread support (section 12.4.3). */
#define MPI_THREAD_SINGLE     0
#define MPI_THREAD_FUNNELED   1
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_MULTIPLE   3

#define MPI_KEYVAL_INVALID 0x24000000

/* Predefined attributes of MPI_COMM_WORLD (sections 8.1.2, 8.5, 10.5): pointers to ints. */
#define MPI_TAG_UB          0x64400001
#define MPI_HOST            0x64400003
#define MPI_IO              0x64400005
#define MPI_WTIME_IS_GLOBAL 0x64400007
#define MPI_UNIVERSE_SIZE   0x64400009
#define MPI_LASTUSEDCODE    0x6440000b
#define MPI_APPNUM          0x6440000d

/* Datatypes (section 3.2.2). */
#define MPI_DATATYPE_NULL         0x0c000000
#define MPI_CHAR                  0x4c000001
#define MPI_SIGNED_CHAR           0x4c000002
#define MPI_UNSIGNED_CHAR         0x4c000003
#define MPI_BYTE                  0x4c000004
#define MPI_PACKED                0x4c000005
#define MPI_WCHAR                 0x4c000006
#define MPI_SHORT                 0x4c000007
#define MPI_UNSIGNED_SHORT        0x4c000008
#define MPI_INT                   0x4c000009
#define MPI_UNSIGNED              0x4c00000a
#define MPI_LONG                  0x4c00000b
#define MPI_UNSIGNED_LONG         0x4c00000c
#define MPI_LONG_LONG_INT         0x4c00000d
#define MPI_LONG_LONG             MPI_LONG_LONG_INT
#define MPI_UNSIGNED_LONG_LONG    0x4c00000e
#define MPI_FLOAT                 0x4c00000f
#define MPI_DOUBLE                0x4c000010
#define MPI_LONG_DOUBLE           0x4c000011
#define MPI_C_BOOL                0x4c000012
#define MPI_INT8_T                0x4c000013
#define MPI_INT16_T               0x4c000014
#define MPI_INT32_T               0x4c000015
#define MPI_INT64_T               0x4c000016
#define MPI_UINT8_T               0x4c000017
#define MPI_UINT16_T              0x4c000018
#define MPI_UINT32_T              0x4c000019
#define MPI_UINT64_T              0x4c00001a
#define MPI_AINT                  0x4c00001b
#define MPI_OFFSET                0x4c00001c
#define MPI_COUNT                 0x4c00001d
#define MPI_C_FLOAT_COMPLEX       0x4c00001e
#define MPI_C_COMPLEX             MPI_C_FLOAT_COMPLEX
#define MPI_C_DOUBLE_COMPLEX      0x4c00001f
#define MPI_C_LONG_DOUBLE_COMPLEX 0x4c000020
/* Pairs of a value and an index, for MPI_MINLOC and MPI_MAXLOC (section 5.9.4). */
#define MPI_FLOAT_INT       0x4c000021
#define MPI_DOUBLE_INT      0x4c000022
#define MPI_LONG_INT        0x4c000023
#define MPI_2INT            0x4c000024
#define MPI_SHORT_INT       0x4c000025
#define MPI_LONG_DOUBLE_INT 0x4c000026
/* Fortran's pairs: the index is a number of the value's kind. */
#define MPI_2REAL             0x4c000027
#define MPI_2DOUBLE_PRECISION 0x4c000028
/* The bounds of a struct as MPI-1 set them; removed in MPI-3.0 (section 16.1) in favour of MPI_Type_create_resized. */
#define MPI_LB 0x4c0000f0
#define MPI_UB 0x4c0000f1
/* Names of C++ and Fortran (annex A.1), with the sizes of GCC. */
#define MPI_CXX_BOOL                0x4c000029
#define MPI_CXX_FLOAT_COMPLEX       0x4c00002a
#define MPI_CXX_DOUBLE_COMPLEX      0x4c00002b
#define MPI_CXX_LONG_DOUBLE_COMPLEX 0x4c00002c
#define MPI_CHARACTER               0x4c00002d
#define MPI_LOGICAL                 0x4c00002e
#define MPI_INTEGER                 0x4c00002f
#define MPI_REAL                    0x4c000030
#define MPI_DOUBLE_PRECISION        0x4c000031
#define MPI_COMPLEX                 0x4c000032
#define MPI_DOUBLE_COMPLEX          0x4c000033
#define MPI_2INTEGER                0x4c000034
#define MPI_INTEGER1                0x4c000035
#define MPI_INTEGER2                0x4c000036
#define MPI_INTEGER4                0x4c000037
#define MPI_INTEGER8                0x4c000038
#define MPI_REAL4                   0x4c000039
#define MPI_REAL8                   0x4c00003a
#define MPI_COMPLEX8                0x4c00003b
#define MPI_COMPLEX16               0x4c00003c
/* Unsupported. */
#define MPI_INTEGER16 MPI_DATATYPE_NULL
#define MPI_REAL2     MPI_DATATYPE_NULL
#define MPI_REAL16    MPI_DATATYPE_NULL
#define MPI_COMPLEX4  MPI_DATATYPE_NULL
#define MPI_COMPLEX32 MPI_DATATYPE_NULL

/* Constructors of datatypes (MPI_Type_get_envelope, section 4.1.13). */
#define MPI_COMBINER_NAMED            1
#define MPI_COMBINER_DUP              2
#define MPI_COMBINER_CONTIGUOUS       3
#define MPI_COMBINER_VECTOR           4
#define MPI_COMBINER_HVECTOR_INTEGER  5
#define MPI_COMBINER_HVECTOR          6
#define MPI_COMBINER_INDEXED          7
#define MPI_COMBINER_HINDEXED_INTEGER 8
#define MPI_COMBINER_HINDEXED         9
#define MPI_COMBINER_INDEXED_BLOCK    10
#define MPI_COMBINER_STRUCT_INTEGER   11
#define MPI_COMBINER_STRUCT           12
#define MPI_COMBINER_SUBARRAY         13
#define MPI_COMBINER_DARRAY           14
#define MPI_COMBINER_F90_REAL         15
#define MPI_COMBINER_F90_COMPLEX      16
#define MPI_COMBINER_F90_INTEGER      17
#define MPI_COMBINER_RESIZED          18
#define MPI_COMBINER_HINDEXED_BLOCK   19

/* Arrays (sections 4.1.3 and 4.1.4). */
#define MPI_ORDER_C              56
#define MPI_ORDER_FORTRAN        57
#define MPI_DISTRIBUTE_BLOCK     121
#define MPI_DISTRIBUTE_CYCLIC    122
#define MPI_DISTRIBUTE_NONE      123
#define MPI_DISTRIBUTE_DFLT_DARG (-49767)

/* Type classes of MPI_Type_match_size (section 17.2.6). */
#define MPI_TYPECLASS_REAL    1
#define MPI_TYPECLASS_INTEGER 2
#define MPI_TYPECLASS_COMPLEX 3

/* Reduction operations (section 5.9.2). */
#define MPI_OP_NULL 0x18000000
#define MPI_MAX     0x58000001
#define MPI_MIN     0x58000002
#define MPI_SUM     0x58000003
#define MPI_PROD    0x58000004
#define MPI_LAND    0x58000005
#define MPI_BAND    0x58000006
#define MPI_LOR     0x58000007
#define MPI_BOR     0x58000008
#define MPI_LXOR    0x58000009
#define MPI_BXOR    0x5800000a
#define MPI_MINLOC  0x5800000b
#define MPI_MAXLOC  0x5800000c
/* For one-sided communication only (section 11.3.4). */
#define MPI_REPLACE 0x5800000d
#define MPI_NO_OP   0x5800000e

/* Error classes (section 8.4). */
#define MPI_SUCCESS          0
#define MPI_ERR_BUFFER       1
#define MPI_ERR_COUNT        2
#define MPI_ERR_TYPE         3
#define MPI_ERR_TAG          4
#define MPI_ERR_COMM         5
#define MPI_ERR_RANK         6
#define MPI_ERR_ROOT         7
#define MPI_ERR_GROUP        8
#define MPI_ERR_OP           9
#define MPI_ERR_TOPOLOGY     10
#define MPI_ERR_DIMS         11
#define MPI_ERR_ARG          12
#define MPI_ERR_UNKNOWN      13
#define MPI_ERR_TRUNCATE     14
#define MPI_ERR_OTHER        15
#define MPI_ERR_INTERN       16
#define MPI_ERR_IN_STATUS    17
#define MPI_ERR_PENDING      18
#define MPI_ERR_REQUEST      19
#define MPI_ERR_KEYVAL       20
#define MPI_ERR_NO_MEM       21
#define MPI_ERR_UNSUPPORTED_OPERATION 22
#define MPI_ERR_ACCESS       23
#define MPI_ERR_AMODE        24
#define MPI_ERR_ASSERT       25
#define MPI_ERR_BAD_FILE     26
#define MPI_ERR_BASE         27
#define MPI_ERR_CONVERSION   28
#define MPI_ERR_DISP         29
#define MPI_ERR_DUP_DATAREP  30
#define MPI_ERR_FILE_EXISTS  31
#define MPI_ERR_FILE_IN_USE  32
#define MPI_ERR_FILE         33
#define MPI_ERR_INFO_KEY     34
#define MPI_ERR_INFO_NOKEY   35
#define MPI_ERR_INFO_VALUE   36
#define MPI_ERR_INFO         37
#define MPI_ERR_IO           38
#define MPI_ERR_LOCKTYPE     39
#define MPI_ERR_NAME         40
#define MPI_ERR_NOT_SAME     41
#define MPI_ERR_NO_SPACE     42
#define MPI_ERR_NO_SUCH_FILE 43
#define MPI_ERR_PORT         44
#define MPI_ERR_QUOTA        45
#define MPI_ERR_READ_ONLY    46
#define MPI_ERR_RMA_CONFLICT 47
#define MPI_ERR_RMA_SYNC     48
#define MPI_ERR_SERVICE      49
#define MPI_ERR_SIZE         50
#define MPI_ERR_SPAWN        51
#define MPI_ERR_UNSUPPORTED_DATAREP 52
#define MPI_ERR_WIN          53
#define MPI_ERR_RMA_RANGE    54
#define MPI_ERR_RMA_ATTACH   55
#define MPI_ERR_RMA_FLAVOR   56
#define MPI_ERR_RMA_SHARED   57
/* Results of MPI_T (section 14.3.9). */
#define MPI_T_ERR_MEMORY            64
#define MPI_T_ERR_NOT_INITIALIZED   65
#define MPI_T_ERR_CANNOT_INIT       66
#define MPI_T_ERR_INVALID_INDEX     67
#define MPI_T_ERR_INVALID_ITEM      68
#define MPI_T_ERR_INVALID_HANDLE    69
#define MPI_T_ERR_OUT_OF_HANDLES    70
#define MPI_T_ERR_OUT_OF_SESSIONS   71
#define MPI_T_ERR_INVALID_SESSION   72
#define MPI_T_ERR_CVAR_SET_NOT_NOW  73
#define MPI_T_ERR_CVAR_SET_NEVER    74
#define MPI_T_ERR_PVAR_NO_STARTSTOP 75
#define MPI_T_ERR_PVAR_NO_WRITE     76
#define MPI_T_ERR_PVAR_NO_ATOMIC    77
#define MPI_T_ERR_INVALID_NAME      78
#define MPI_T_ERR_INVALID           79
#define MPI_ERR_LASTCODE     95

/* ---- Functions of the program that MPI calls ---- */

/* Combines len elements of *datatype: inoutvec[i] = invec[i] op inoutvec[i] (section 5.9.5). */
typedef void MPI_User_function(void *invec, void *inoutvec, int *len, MPI_Datatype *datatype);

/* Gets the object and the error code. When it returns, so does the call that failed, with that code (section 8.3). */
typedef void MPI_Comm_errhandler_function(MPI_Comm *comm, int *errorcode, ...);
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef void MPI_Win_errhandler_function(MPI_Win *win, int *errorcode, ...);
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef void MPI_File_errhandler_function(MPI_File *file, int *errorcode, ...);
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;

/* Callbacks of attributes (section 6.7). */
typedef int MPI_Comm_copy_attr_function(MPI_Comm oldcomm, int comm_keyval, void *extra_state,
                                        void *attribute_val_in, void *attribute_val_out, int *flag);
typedef int MPI_Comm_delete_attr_function(MPI_Comm comm, int comm_keyval, void *attribute_val,
                                          void *extra_state);
typedef int MPI_Type_copy_attr_function(MPI_Datatype oldtype, int type_keyval, void *extra_state,
                                        void *attribute_val_in, void *attribute_val_out, int *flag);
typedef int MPI_Type_delete_attr_function(MPI_Datatype datatype, int type_keyval, void *attribute_val,
                                          void *extra_state);
typedef int MPI_Win_copy_attr_function(MPI_Win oldwin, int win_keyval, void *extra_state, void *attribute_val_in,
                                       void *attribute_val_out, int *flag);
typedef int MPI_Win_delete_attr_function(MPI_Win win, int win_keyval, void *attribute_val, void *extra_state);
#define MPI_TYPE_NULL_COPY_FN   MPI_COMM_NULL_COPY_FN
#define MPI_TYPE_DUP_FN         MPI_COMM_DUP_FN
#define MPI_TYPE_NULL_DELETE_FN MPI_COMM_NULL_DELETE_FN
#define MPI_WIN_NULL_COPY_FN    MPI_COMM_NULL_COPY_FN
#define MPI_WIN_DUP_FN          MPI_COMM_DUP_FN
#define MPI_WIN_NULL_DELETE_FN  MPI_COMM_NULL_DELETE_FN

/* Names of MPI-1 (section 15.1). */
typedef MPI_Comm_errhandler_function  MPI_Handler_function;
typedef MPI_Comm_copy_attr_function   MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;
#define MPI_NULL_COPY_FN   MPI_COMM_NULL_COPY_FN
#define MPI_DUP_FN         MPI_COMM_DUP_FN
#define MPI_NULL_DELETE_FN MPI_COMM_NULL_DELETE_FN

/* Callbacks of generalized requests (section 12.2). */
typedef int MPI_Grequest_query_function(void *extra_state, MPI_Status *status);
typedef int MPI_Grequest_free_function(void *extra_state);
typedef int MPI_Grequest_cancel_function(void *extra_state, int complete);

/* Callbacks of files (section 13.5.3). */
typedef int MPI_Datarep_extent_function(MPI_Datatype datatype, MPI_Aint *file_extent, void *extra_state);
typedef int MPI_Datarep_conversion_function(void *userbuf, MPI_Datatype datatype, int count, void *filebuf,
                                            MPI_Offset position, void *extra_state);
#define MPI_CONVERSION_FN_NULL MIDPLANE_NULL(MPI_Datarep_conversion_function *)

/* ---- Windows (chapter 11) ---- */

#define MPI_WIN_BASE           0x66000001
#define MPI_WIN_SIZE           0x66000003
#define MPI_WIN_DISP_UNIT      0x66000005
#define MPI_WIN_CREATE_FLAVOR  0x66000007
#define MPI_WIN_MODEL          0x66000009
#define MPI_WIN_FLAVOR_CREATE   1
#define MPI_WIN_FLAVOR_ALLOCATE 2
#define MPI_WIN_FLAVOR_DYNAMIC  3
#define MPI_WIN_FLAVOR_SHARED   4
#define MPI_WIN_SEPARATE 1
#define MPI_WIN_UNIFIED  2
#define MPI_LOCK_EXCLUSIVE 234
#define MPI_LOCK_SHARED    235
#define MPI_MODE_NOCHECK   1024
#define MPI_MODE_NOSTORE   2048
#define MPI_MODE_NOPUT     4096
#define MPI_MODE_NOPRECEDE 8192
#define MPI_MODE_NOSUCCEED 16384

/* ---- Files (chapter 13) ---- */

#define MPI_MODE_RDONLY          2
#define MPI_MODE_RDWR            8
#define MPI_MODE_WRONLY          4
#define MPI_MODE_CREATE          1
#define MPI_MODE_EXCL            64
#define MPI_MODE_DELETE_ON_CLOSE 16
#define MPI_MODE_UNIQUE_OPEN     32
#define MPI_MODE_APPEND          128
#define MPI_MODE_SEQUENTIAL      256
#define MPI_DISPLACEMENT_CURRENT (-54278278)
#define MPI_SEEK_SET 600
#define MPI_SEEK_CUR 602
#define MPI_SEEK_END 604

/* ---- Tools (section 14.3): what the options set, and what the device counts; names by MPI_T_cvar_get_info and
 * MPI_T_pvar_get_info. ---- */

typedef int MPI_T_enum;
typedef int MPI_T_cvar_handle;
typedef int MPI_T_pvar_handle;
typedef int MPI_T_pvar_session;
#define MPI_T_ENUM_NULL         0
#define MPI_T_CVAR_HANDLE_NULL  0
#define MPI_T_PVAR_HANDLE_NULL  0
#define MPI_T_PVAR_SESSION_NULL 0
#define MPI_T_PVAR_ALL_HANDLES  (-1)
#define MPI_T_VERBOSITY_USER_BASIC    1
#define MPI_T_VERBOSITY_USER_DETAIL   2
#define MPI_T_VERBOSITY_USER_ALL      3
#define MPI_T_VERBOSITY_TUNER_BASIC   4
#define MPI_T_VERBOSITY_TUNER_DETAIL  5
#define MPI_T_VERBOSITY_TUNER_ALL     6
#define MPI_T_VERBOSITY_MPIDEV_BASIC  7
#define MPI_T_VERBOSITY_MPIDEV_DETAIL 8
#define MPI_T_VERBOSITY_MPIDEV_ALL    9
#define MPI_T_BIND_NO_OBJECT      1
#define MPI_T_BIND_MPI_COMM       2
#define MPI_T_BIND_MPI_DATATYPE   3
#define MPI_T_BIND_MPI_ERRHANDLER 4
#define MPI_T_BIND_MPI_FILE       5
#define MPI_T_BIND_MPI_GROUP      6
#define MPI_T_BIND_MPI_OP         7
#define MPI_T_BIND_MPI_REQUEST    8
#define MPI_T_BIND_MPI_WIN        9
#define MPI_T_BIND_MPI_MESSAGE    10
#define MPI_T_BIND_MPI_INFO       11
#define MPI_T_SCOPE_CONSTANT 1
#define MPI_T_SCOPE_READONLY 2
#define MPI_T_SCOPE_LOCAL    3
#define MPI_T_SCOPE_GROUP    4
#define MPI_T_SCOPE_GROUP_EQ 5
#define MPI_T_SCOPE_ALL      6
#define MPI_T_SCOPE_ALL_EQ   7
#define MPI_T_PVAR_CLASS_STATE         1
#define MPI_T_PVAR_CLASS_LEVEL         2
#define MPI_T_PVAR_CLASS_SIZE          3
#define MPI_T_PVAR_CLASS_PERCENTAGE    4
#define MPI_T_PVAR_CLASS_HIGHWATERMARK 5
#define MPI_T_PVAR_CLASS_LOWWATERMARK  6
#define MPI_T_PVAR_CLASS_COUNTER       7
#define MPI_T_PVAR_CLASS_AGGREGATE     8
#define MPI_T_PVAR_CLASS_TIMER         9
#define MPI_T_PVAR_CLASS_GENERIC       10

/* Of functions that MPI-3.0 has removed (section 16.1), for programs that still use them; the compiler says so. */
#if defined(__GNUC__)
#define MIDPLANE_REMOVED(instead) __attribute__((deprecated("removed in MPI-3.0; use " instead)))
#else
#define MIDPLANE_REMOVED(instead)
#endif

/* FUNCTIONS */

/* The same functions by the names of the profiling interface (section 14.2): a program may define an MPI function
 * itself and call what it stands for. */
#include "pmpi.h"

#if defined(__cplusplus)
}
#endif

#endif
