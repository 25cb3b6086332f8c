/* MPI for bare-metal nodes: the C binding of Midplane.
 *
 * The declared functions work as specified in "MPI: A Message-Passing Interface Standard, Version 5.0"; section numbers
 * below are those of version 3.1.
 * docs/mpi.md has a table of all functions.
 *
 * Every function returns MPI_SUCCESS or an error code whose class MPI_Error_class gives; under the default
 * error handler MPI_ERRORS_ARE_FATAL (section 8.3) it does not return after an error: the job ends with
 * a message that names the rank, the function and what was wrong.
 */
#ifndef MIDPLANE_MPI_H
#define MIDPLANE_MPI_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* Version of the standard (section 8.1.1). */
#define MPI_VERSION    5
#define MPI_SUBVERSION 0
/* Version of the standard ABI (MPI-5.0 chapter 20). */
#define MPI_ABI_VERSION    1
#define MPI_ABI_SUBVERSION 0
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
#define MIDPLANE_HANDLE(type, value) MIDPLANE_POINTER(type, value)

/* ---- Handles and other types (section 2.5). A handle is a pointer to an incomplete type, and refers to nothing: its
 * value is an int, which MPI_Comm_toint and the like return. Types and constants, and the size of a status, are those
 * of the standard ABI (MPI-5.0 chapter 20). ---- */

typedef struct MPI_ABI_Comm       *MPI_Comm;
typedef struct MPI_ABI_Group      *MPI_Group;
typedef struct MPI_ABI_Datatype   *MPI_Datatype;
typedef struct MPI_ABI_Op         *MPI_Op;
typedef struct MPI_ABI_Request    *MPI_Request;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_Info       *MPI_Info;
typedef struct MPI_ABI_Message    *MPI_Message;
typedef struct MPI_ABI_Win        *MPI_Win;
typedef struct MPI_ABI_File       *MPI_File;
typedef struct MPI_ABI_Session    *MPI_Session;
typedef intptr_t                   MPI_Aint;
typedef int64_t                    MPI_Offset;
typedef int64_t                    MPI_Count;
#if defined(__cplusplus)
#define MIDPLANE_OFFSET(value) (static_cast<MPI_Offset>(value))
#else
#define MIDPLANE_OFFSET(value) ((MPI_Offset)(value))
#endif

/* Status of a received message (section 3.2.5). MPI_ERROR is set only by the calls that complete
 * several requests, and only when they return MPI_ERR_IN_STATUS. */
typedef struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;

/* Fortran's INTEGER, and statuses as Fortran has them (section 17.2). */
typedef int MPI_Fint;
typedef struct MPI_F08_status {
    MPI_Fint MPI_SOURCE;
    MPI_Fint MPI_TAG;
    MPI_Fint MPI_ERROR;
    MPI_Fint MPI_internal[5];
} MPI_F08_status;

/* ---- Constants ---- */

/* Wildcards and special ranks (sections 3.2.4, 3.11, 6.3). */
#define MPI_ANY_SOURCE (-1)
#define MPI_PROC_NULL  (-3)
#define MPI_ROOT       (-4)
#define MPI_ANY_TAG    (-2)
#define MPI_UNDEFINED  (-32766)

#define MPI_BOTTOM          MIDPLANE_NULL(void *)
#define MPI_IN_PLACE        MIDPLANE_POINTER(void *, 1)
/* In place of a buffer for buffered sends: each message is copied to the heap (MPI-4.1 section 3.6). */
#define MPI_BUFFER_AUTOMATIC MIDPLANE_POINTER(void *, 2)
#define MPI_STATUS_IGNORE   MIDPLANE_NULL(MPI_Status *)
#define MPI_STATUSES_IGNORE MIDPLANE_NULL(MPI_Status *)
#define MPI_ERRCODES_IGNORE MIDPLANE_NULL(int *)
#define MPI_ARGV_NULL       MIDPLANE_NULL(char **)
#define MPI_ARGVS_NULL      MIDPLANE_NULL(char ***)

/* Fortran's statuses in C (section 17.2.5). */
#define MPI_F_STATUS_SIZE         8
#define MPI_F_SOURCE              0
#define MPI_F_TAG                 1
#define MPI_F_ERROR               2
#define MPI_F_STATUS_IGNORE       MIDPLANE_NULL(MPI_Fint *)
#define MPI_F_STATUSES_IGNORE     MIDPLANE_NULL(MPI_Fint *)
#define MPI_F08_STATUS_IGNORE     MIDPLANE_NULL(MPI_F08_status *)
#define MPI_F08_STATUSES_IGNORE   MIDPLANE_NULL(MPI_F08_status *)

/* Lengths of strings, with the terminating zero. */
#define MPI_MAX_PROCESSOR_NAME         256
#define MPI_MAX_ERROR_STRING           512
#define MPI_MAX_LIBRARY_VERSION_STRING 8192
#define MPI_MAX_OBJECT_NAME            128
#define MPI_MAX_PORT_NAME              1024
#define MPI_MAX_DATAREP_STRING         128
#define MPI_MAX_PSET_NAME_LEN          1024
#define MPI_MAX_STRINGTAG_LEN          1024

/* Maximum overhead of a buffered send in the attached buffer (section 3.6.1). */
#define MPI_BSEND_OVERHEAD 512

#define MPI_COMM_NULL  MIDPLANE_HANDLE(MPI_Comm, 0x100)
#define MPI_COMM_WORLD MIDPLANE_HANDLE(MPI_Comm, 0x101)
#define MPI_COMM_SELF  MIDPLANE_HANDLE(MPI_Comm, 0x102)

#define MPI_GROUP_NULL  MIDPLANE_HANDLE(MPI_Group, 0x108)
#define MPI_GROUP_EMPTY MIDPLANE_HANDLE(MPI_Group, 0x109)

#define MPI_REQUEST_NULL MIDPLANE_HANDLE(MPI_Request, 0x180)

/* Messages that matched probes have found (section 3.8.2). */
#define MPI_MESSAGE_NULL    MIDPLANE_HANDLE(MPI_Message, 0x128)
#define MPI_MESSAGE_NO_PROC MIDPLANE_HANDLE(MPI_Message, 0x129)

#define MPI_WIN_NULL  MIDPLANE_HANDLE(MPI_Win, 0x110)
#define MPI_FILE_NULL MIDPLANE_HANDLE(MPI_File, 0x118)

#define MPI_SESSION_NULL MIDPLANE_HANDLE(MPI_Session, 0x120)

#define MPI_ERRHANDLER_NULL  MIDPLANE_HANDLE(MPI_Errhandler, 0x140)
#define MPI_ERRORS_ARE_FATAL MIDPLANE_HANDLE(MPI_Errhandler, 0x141)
#define MPI_ERRORS_RETURN    MIDPLANE_HANDLE(MPI_Errhandler, 0x143)
#define MPI_ERRORS_ABORT     MIDPLANE_HANDLE(MPI_Errhandler, 0x142)

/* Info objects (chapter 9). MPI_INFO_ENV has maxprocs, arch and thread_level. Lengths of keys and values with the
 * closing zero. */
#define MPI_INFO_NULL    MIDPLANE_HANDLE(MPI_Info, 0x130)
#define MPI_INFO_ENV     MIDPLANE_HANDLE(MPI_Info, 0x131)
#define MPI_MAX_INFO_KEY 256
#define MPI_MAX_INFO_VAL 1024

/* Results of MPI_Comm_compare (section 6.4.1). */
#define MPI_IDENT     201
#define MPI_CONGRUENT 202
#define MPI_SIMILAR   203
#define MPI_UNEQUAL   204

/* Kinds of topologies (section 7.5.5). */
#define MPI_GRAPH      212
#define MPI_CART       211
#define MPI_DIST_GRAPH 213

/* Special weights of edges (section 7.5.4). */
#define MPI_UNWEIGHTED    MIDPLANE_POINTER(int *, 10)
#define MPI_WEIGHTS_EMPTY MIDPLANE_POINTER(int *, 11)

/* Types of MPI_Comm_split_type (section 6.4.2). */
#define MPI_COMM_TYPE_SHARED          221
#define MPI_COMM_TYPE_HW_UNGUIDED     222
#define MPI_COMM_TYPE_HW_GUIDED       223
#define MPI_COMM_TYPE_RESOURCE_GUIDED 224

/* Levels of thread support (section 12.4.3). */
#define MPI_THREAD_SINGLE     0
#define MPI_THREAD_FUNNELED   1024
#define MPI_THREAD_SERIALIZED 2048
#define MPI_THREAD_MULTIPLE   4096

#define MPI_KEYVAL_INVALID 0

/* Predefined attributes of MPI_COMM_WORLD (sections 8.1.2, 8.5, 10.5): pointers to ints. */
#define MPI_TAG_UB          501
#define MPI_HOST            503
#define MPI_IO              502
#define MPI_WTIME_IS_GLOBAL 504
#define MPI_UNIVERSE_SIZE   507
#define MPI_LASTUSEDCODE    506
#define MPI_APPNUM          505

/* Datatypes (section 3.2.2). */
#define MPI_DATATYPE_NULL         MIDPLANE_HANDLE(MPI_Datatype, 0x200)
#define MPI_CHAR                  MIDPLANE_HANDLE(MPI_Datatype, 0x243)
#define MPI_SIGNED_CHAR           MIDPLANE_HANDLE(MPI_Datatype, 0x244)
#define MPI_UNSIGNED_CHAR         MIDPLANE_HANDLE(MPI_Datatype, 0x245)
#define MPI_BYTE                  MIDPLANE_HANDLE(MPI_Datatype, 0x247)
#define MPI_PACKED                MIDPLANE_HANDLE(MPI_Datatype, 0x207)
#define MPI_WCHAR                 MIDPLANE_HANDLE(MPI_Datatype, 0x23c)
#define MPI_SHORT                 MIDPLANE_HANDLE(MPI_Datatype, 0x208)
#define MPI_UNSIGNED_SHORT        MIDPLANE_HANDLE(MPI_Datatype, 0x20c)
#define MPI_INT                   MIDPLANE_HANDLE(MPI_Datatype, 0x209)
#define MPI_UNSIGNED              MIDPLANE_HANDLE(MPI_Datatype, 0x20d)
#define MPI_LONG                  MIDPLANE_HANDLE(MPI_Datatype, 0x20a)
#define MPI_UNSIGNED_LONG         MIDPLANE_HANDLE(MPI_Datatype, 0x20e)
#define MPI_LONG_LONG_INT         MIDPLANE_HANDLE(MPI_Datatype, 0x20b)
#define MPI_LONG_LONG             MPI_LONG_LONG_INT
#define MPI_UNSIGNED_LONG_LONG    MIDPLANE_HANDLE(MPI_Datatype, 0x20f)
#define MPI_FLOAT                 MIDPLANE_HANDLE(MPI_Datatype, 0x210)
#define MPI_DOUBLE                MIDPLANE_HANDLE(MPI_Datatype, 0x214)
#define MPI_LONG_DOUBLE           MIDPLANE_HANDLE(MPI_Datatype, 0x220)
#define MPI_C_BOOL                MIDPLANE_HANDLE(MPI_Datatype, 0x238)
#define MPI_INT8_T                MIDPLANE_HANDLE(MPI_Datatype, 0x240)
#define MPI_INT16_T               MIDPLANE_HANDLE(MPI_Datatype, 0x248)
#define MPI_INT32_T               MIDPLANE_HANDLE(MPI_Datatype, 0x250)
#define MPI_INT64_T               MIDPLANE_HANDLE(MPI_Datatype, 0x258)
#define MPI_UINT8_T               MIDPLANE_HANDLE(MPI_Datatype, 0x241)
#define MPI_UINT16_T              MIDPLANE_HANDLE(MPI_Datatype, 0x249)
#define MPI_UINT32_T              MIDPLANE_HANDLE(MPI_Datatype, 0x251)
#define MPI_UINT64_T              MIDPLANE_HANDLE(MPI_Datatype, 0x259)
#define MPI_AINT                  MIDPLANE_HANDLE(MPI_Datatype, 0x201)
#define MPI_OFFSET                MIDPLANE_HANDLE(MPI_Datatype, 0x203)
#define MPI_COUNT                 MIDPLANE_HANDLE(MPI_Datatype, 0x202)
#define MPI_C_FLOAT_COMPLEX       MIDPLANE_HANDLE(MPI_Datatype, 0x212)
#define MPI_C_COMPLEX             MPI_C_FLOAT_COMPLEX
#define MPI_C_DOUBLE_COMPLEX      MIDPLANE_HANDLE(MPI_Datatype, 0x216)
#define MPI_C_LONG_DOUBLE_COMPLEX MIDPLANE_HANDLE(MPI_Datatype, 0x224)
/* Pairs of a value and an index, for MPI_MINLOC and MPI_MAXLOC (section 5.9.4). */
#define MPI_FLOAT_INT       MIDPLANE_HANDLE(MPI_Datatype, 0x228)
#define MPI_DOUBLE_INT      MIDPLANE_HANDLE(MPI_Datatype, 0x229)
#define MPI_LONG_INT        MIDPLANE_HANDLE(MPI_Datatype, 0x22a)
#define MPI_2INT            MIDPLANE_HANDLE(MPI_Datatype, 0x22b)
#define MPI_SHORT_INT       MIDPLANE_HANDLE(MPI_Datatype, 0x22c)
#define MPI_LONG_DOUBLE_INT MIDPLANE_HANDLE(MPI_Datatype, 0x22d)
/* Fortran's pairs: the index is a number of the value's kind. */
#define MPI_2REAL             MIDPLANE_HANDLE(MPI_Datatype, 0x230)
#define MPI_2DOUBLE_PRECISION MIDPLANE_HANDLE(MPI_Datatype, 0x231)
/* The bounds of a struct as MPI-1 set them; removed in MPI-3.0 (section 16.1) in favour of MPI_Type_create_resized. */
#define MPI_LB MIDPLANE_HANDLE(MPI_Datatype, 0x2f0)
#define MPI_UB MIDPLANE_HANDLE(MPI_Datatype, 0x2f1)
/* Names of C++ and Fortran (annex A.1), with the sizes of GCC. */
#define MPI_CXX_BOOL                MIDPLANE_HANDLE(MPI_Datatype, 0x239)
#define MPI_CXX_FLOAT_COMPLEX       MIDPLANE_HANDLE(MPI_Datatype, 0x213)
#define MPI_CXX_DOUBLE_COMPLEX      MIDPLANE_HANDLE(MPI_Datatype, 0x217)
#define MPI_CXX_LONG_DOUBLE_COMPLEX MIDPLANE_HANDLE(MPI_Datatype, 0x225)
#define MPI_CHARACTER               MIDPLANE_HANDLE(MPI_Datatype, 0x21e)
#define MPI_LOGICAL                 MIDPLANE_HANDLE(MPI_Datatype, 0x218)
#define MPI_INTEGER                 MIDPLANE_HANDLE(MPI_Datatype, 0x219)
#define MPI_REAL                    MIDPLANE_HANDLE(MPI_Datatype, 0x21a)
#define MPI_DOUBLE_PRECISION        MIDPLANE_HANDLE(MPI_Datatype, 0x21c)
#define MPI_COMPLEX                 MIDPLANE_HANDLE(MPI_Datatype, 0x21b)
#define MPI_DOUBLE_COMPLEX          MIDPLANE_HANDLE(MPI_Datatype, 0x21d)
#define MPI_2INTEGER                MIDPLANE_HANDLE(MPI_Datatype, 0x232)
#define MPI_INTEGER1                MIDPLANE_HANDLE(MPI_Datatype, 0x2c1)
#define MPI_INTEGER2                MIDPLANE_HANDLE(MPI_Datatype, 0x2c9)
#define MPI_INTEGER4                MIDPLANE_HANDLE(MPI_Datatype, 0x2d1)
#define MPI_INTEGER8                MIDPLANE_HANDLE(MPI_Datatype, 0x2d9)
#define MPI_REAL4                   MIDPLANE_HANDLE(MPI_Datatype, 0x2d2)
#define MPI_REAL8                   MIDPLANE_HANDLE(MPI_Datatype, 0x2da)
#define MPI_COMPLEX8                MIDPLANE_HANDLE(MPI_Datatype, 0x2db)
#define MPI_COMPLEX16               MIDPLANE_HANDLE(MPI_Datatype, 0x2e3)
#define MPI_LOGICAL1 MIDPLANE_HANDLE(MPI_Datatype, 0x2c0)
#define MPI_LOGICAL2 MIDPLANE_HANDLE(MPI_Datatype, 0x2c8)
#define MPI_LOGICAL4 MIDPLANE_HANDLE(MPI_Datatype, 0x2d0)
#define MPI_LOGICAL8 MIDPLANE_HANDLE(MPI_Datatype, 0x2d8)
/* Handles of no datatype: the compilers of the boards have no such numbers. */
#define MPI_LOGICAL16 MIDPLANE_HANDLE(MPI_Datatype, 0x2e0)
#define MPI_INTEGER16 MIDPLANE_HANDLE(MPI_Datatype, 0x2e1)
#define MPI_REAL2     MIDPLANE_HANDLE(MPI_Datatype, 0x2ca)
#define MPI_REAL16    MIDPLANE_HANDLE(MPI_Datatype, 0x2e2)
#define MPI_COMPLEX4  MIDPLANE_HANDLE(MPI_Datatype, 0x2d3)
#define MPI_COMPLEX32 MIDPLANE_HANDLE(MPI_Datatype, 0x2eb)

/* Constructors of datatypes (MPI_Type_get_envelope, section 4.1.13). */
#define MPI_COMBINER_NAMED            101
#define MPI_COMBINER_DUP              102
#define MPI_COMBINER_CONTIGUOUS       103
#define MPI_COMBINER_VECTOR           104
#define MPI_COMBINER_HVECTOR_INTEGER  118
#define MPI_COMBINER_HVECTOR          105
#define MPI_COMBINER_INDEXED          106
#define MPI_COMBINER_HINDEXED_INTEGER 119
#define MPI_COMBINER_HINDEXED         107
#define MPI_COMBINER_INDEXED_BLOCK    108
#define MPI_COMBINER_STRUCT_INTEGER   120
#define MPI_COMBINER_STRUCT           110
#define MPI_COMBINER_SUBARRAY         111
#define MPI_COMBINER_DARRAY           112
#define MPI_COMBINER_F90_REAL         113
#define MPI_COMBINER_F90_COMPLEX      114
#define MPI_COMBINER_F90_INTEGER      115
#define MPI_COMBINER_RESIZED          116
#define MPI_COMBINER_HINDEXED_BLOCK   109
#define MPI_COMBINER_VALUE_INDEX      117

/* Arrays (sections 4.1.3 and 4.1.4). */
#define MPI_ORDER_C              12
#define MPI_ORDER_FORTRAN        15
#define MPI_DISTRIBUTE_BLOCK     17
#define MPI_DISTRIBUTE_CYCLIC    18
#define MPI_DISTRIBUTE_NONE      16
#define MPI_DISTRIBUTE_DFLT_DARG 19

/* Type classes of MPI_Type_match_size (section 17.2.6). */
#define MPIX_TYPECLASS_LOGICAL 191
#define MPI_TYPECLASS_REAL    193
#define MPI_TYPECLASS_INTEGER 192
#define MPI_TYPECLASS_COMPLEX 194

/* Reduction operations (section 5.9.2). */
#define MPI_OP_NULL MIDPLANE_HANDLE(MPI_Op, 0x020)
#define MPI_MAX     MIDPLANE_HANDLE(MPI_Op, 0x023)
#define MPI_MIN     MIDPLANE_HANDLE(MPI_Op, 0x022)
#define MPI_SUM     MIDPLANE_HANDLE(MPI_Op, 0x021)
#define MPI_PROD    MIDPLANE_HANDLE(MPI_Op, 0x024)
#define MPI_LAND    MIDPLANE_HANDLE(MPI_Op, 0x030)
#define MPI_BAND    MIDPLANE_HANDLE(MPI_Op, 0x028)
#define MPI_LOR     MIDPLANE_HANDLE(MPI_Op, 0x031)
#define MPI_BOR     MIDPLANE_HANDLE(MPI_Op, 0x029)
#define MPI_LXOR    MIDPLANE_HANDLE(MPI_Op, 0x032)
#define MPI_BXOR    MIDPLANE_HANDLE(MPI_Op, 0x02a)
#define MPI_MINLOC  MIDPLANE_HANDLE(MPI_Op, 0x038)
#define MPI_MAXLOC  MIDPLANE_HANDLE(MPI_Op, 0x039)
/* For one-sided communication only (section 11.3.4). */
#define MPI_REPLACE MIDPLANE_HANDLE(MPI_Op, 0x03c)
#define MPI_NO_OP   MIDPLANE_HANDLE(MPI_Op, 0x03d)

/* Error classes (section 8.4). */
#define MPI_SUCCESS          0
#define MPI_ERR_BUFFER       1
#define MPI_ERR_COUNT        2
#define MPI_ERR_TYPE         3
#define MPI_ERR_TAG          4
#define MPI_ERR_COMM         5
#define MPI_ERR_RANK         6
#define MPI_ERR_ROOT         8
#define MPI_ERR_GROUP        9
#define MPI_ERR_OP           10
#define MPI_ERR_TOPOLOGY     11
#define MPI_ERR_DIMS         12
#define MPI_ERR_ARG          13
#define MPI_ERR_UNKNOWN      14
#define MPI_ERR_TRUNCATE     15
#define MPI_ERR_OTHER        16
#define MPI_ERR_INTERN       17
#define MPI_ERR_IN_STATUS    19
#define MPI_ERR_PENDING      18
#define MPI_ERR_REQUEST      7
#define MPI_ERR_KEYVAL       36
#define MPI_ERR_NO_MEM       39
#define MPI_ERR_UNSUPPORTED_OPERATION 55
#define MPI_ERR_ACCESS       20
#define MPI_ERR_AMODE        21
#define MPI_ERR_ASSERT       22
#define MPI_ERR_BAD_FILE     23
#define MPI_ERR_BASE         24
#define MPI_ERR_CONVERSION   25
#define MPI_ERR_DISP         26
#define MPI_ERR_DUP_DATAREP  27
#define MPI_ERR_FILE_EXISTS  28
#define MPI_ERR_FILE_IN_USE  29
#define MPI_ERR_FILE         30
#define MPI_ERR_INFO_KEY     31
#define MPI_ERR_INFO_NOKEY   32
#define MPI_ERR_INFO_VALUE   33
#define MPI_ERR_INFO         34
#define MPI_ERR_IO           35
#define MPI_ERR_LOCKTYPE     37
#define MPI_ERR_NAME         38
#define MPI_ERR_NOT_SAME     40
#define MPI_ERR_NO_SPACE     41
#define MPI_ERR_NO_SUCH_FILE 42
#define MPI_ERR_PORT         43
#define MPI_ERR_QUOTA        44
#define MPI_ERR_READ_ONLY    45
#define MPI_ERR_RMA_CONFLICT 47
#define MPI_ERR_RMA_SYNC     50
#define MPI_ERR_SERVICE      51
#define MPI_ERR_SIZE         52
#define MPI_ERR_SPAWN        53
#define MPI_ERR_UNSUPPORTED_DATAREP 54
#define MPI_ERR_WIN          56
#define MPI_ERR_RMA_RANGE    48
#define MPI_ERR_RMA_ATTACH   46
#define MPI_ERR_RMA_FLAVOR   57
#define MPI_ERR_RMA_SHARED   49
#define MPI_ERR_SESSION      60
#define MPI_ERR_ERRHANDLER   61
#define MPI_ERR_VALUE_TOO_LARGE 59
#define MPI_ERR_PROC_ABORTED 58
#define MPI_ERR_ABI          62
/* Results of MPI_T (section 14.3.9). */
#define MPI_T_ERR_MEMORY            1005
#define MPI_T_ERR_NOT_INITIALIZED   1003
#define MPI_T_ERR_CANNOT_INIT       1001
#define MPI_T_ERR_INVALID_INDEX     1007
#define MPI_T_ERR_INVALID_ITEM      1008
#define MPI_T_ERR_INVALID_HANDLE    1010
#define MPI_T_ERR_OUT_OF_HANDLES    1012
#define MPI_T_ERR_OUT_OF_SESSIONS   1013
#define MPI_T_ERR_INVALID_SESSION   1009
#define MPI_T_ERR_CVAR_SET_NOT_NOW  1014
#define MPI_T_ERR_CVAR_SET_NEVER    1015
#define MPI_T_ERR_PVAR_NO_STARTSTOP 1017
#define MPI_T_ERR_PVAR_NO_WRITE     1016
#define MPI_T_ERR_PVAR_NO_ATOMIC    1018
#define MPI_T_ERR_INVALID_NAME      1011
#define MPI_T_ERR_INVALID           1006
#define MPI_T_ERR_NOT_SUPPORTED     1004
#define MPI_T_ERR_NOT_ACCESSIBLE    1002
#define MPI_ERR_LASTCODE     16383

/* ---- Functions of the program that MPI calls ---- */

/* Combines len elements of *datatype: inoutvec[i] = invec[i] op inoutvec[i] (section 5.9.5). */
typedef void MPI_User_function(void *invec, void *inoutvec, int *len, MPI_Datatype *datatype);
typedef void MPI_User_function_c(void *invec, void *inoutvec, MPI_Count *len, MPI_Datatype *datatype);

/* Gets the object and the error code. When it returns, so does the call that failed, with that code (section 8.3). */
typedef void MPI_Comm_errhandler_function(MPI_Comm *comm, int *errorcode, ...);
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef void MPI_Win_errhandler_function(MPI_Win *win, int *errorcode, ...);
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef void MPI_File_errhandler_function(MPI_File *file, int *errorcode, ...);
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef void MPI_Session_errhandler_function(MPI_Session *session, int *errorcode, ...);
typedef MPI_Session_errhandler_function MPI_Session_errhandler_fn;

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
#define MPI_COMM_NULL_COPY_FN   MIDPLANE_NULL(MPI_Comm_copy_attr_function *)
#define MPI_COMM_DUP_FN         MIDPLANE_POINTER(MPI_Comm_copy_attr_function *, 1)
#define MPI_COMM_NULL_DELETE_FN MIDPLANE_NULL(MPI_Comm_delete_attr_function *)
#define MPI_TYPE_NULL_COPY_FN   MIDPLANE_NULL(MPI_Type_copy_attr_function *)
#define MPI_TYPE_DUP_FN         MIDPLANE_POINTER(MPI_Type_copy_attr_function *, 1)
#define MPI_TYPE_NULL_DELETE_FN MIDPLANE_NULL(MPI_Type_delete_attr_function *)
#define MPI_WIN_NULL_COPY_FN    MIDPLANE_NULL(MPI_Win_copy_attr_function *)
#define MPI_WIN_DUP_FN          MIDPLANE_POINTER(MPI_Win_copy_attr_function *, 1)
#define MPI_WIN_NULL_DELETE_FN  MIDPLANE_NULL(MPI_Win_delete_attr_function *)

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
typedef int MPI_Datarep_conversion_function_c(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf,
                                              MPI_Offset position, void *extra_state);
#define MPI_CONVERSION_FN_NULL   MIDPLANE_NULL(MPI_Datarep_conversion_function *)
#define MPI_CONVERSION_FN_NULL_C MIDPLANE_NULL(MPI_Datarep_conversion_function_c *)

/* ---- Windows (chapter 11) ---- */

#define MPI_WIN_BASE           601
#define MPI_WIN_SIZE           603
#define MPI_WIN_DISP_UNIT      602
#define MPI_WIN_CREATE_FLAVOR  604
#define MPI_WIN_MODEL          605
#define MPI_WIN_FLAVOR_CREATE   311
#define MPI_WIN_FLAVOR_ALLOCATE 312
#define MPI_WIN_FLAVOR_DYNAMIC  313
#define MPI_WIN_FLAVOR_SHARED   314
#define MPI_WIN_SEPARATE 322
#define MPI_WIN_UNIFIED  321
#define MPI_LOCK_EXCLUSIVE 301
#define MPI_LOCK_SHARED    302
#define MPI_MODE_NOCHECK   1024
#define MPI_MODE_NOSTORE   8192
#define MPI_MODE_NOPUT     4096
#define MPI_MODE_NOPRECEDE 2048
#define MPI_MODE_NOSUCCEED 16384

/* ---- Files (chapter 13) ---- */

#define MPI_MODE_RDONLY          16
#define MPI_MODE_RDWR            32
#define MPI_MODE_WRONLY          256
#define MPI_MODE_CREATE          2
#define MPI_MODE_EXCL            8
#define MPI_MODE_DELETE_ON_CLOSE 4
#define MPI_MODE_UNIQUE_OPEN     128
#define MPI_MODE_APPEND          1
#define MPI_MODE_SEQUENTIAL      64
#define MPI_DISPLACEMENT_CURRENT MIDPLANE_OFFSET(-1)
#define MPI_SEEK_SET 403
#define MPI_SEEK_CUR 401
#define MPI_SEEK_END 402

/* ---- Tools (section 14.3): what the options set, and what the device counts; names by MPI_T_cvar_get_info and
 * MPI_T_pvar_get_info. ---- */

typedef struct MPI_ABI_T_enum               *MPI_T_enum;
typedef struct MPI_ABI_T_cvar_handle        *MPI_T_cvar_handle;
typedef struct MPI_ABI_T_pvar_handle        *MPI_T_pvar_handle;
typedef struct MPI_ABI_T_pvar_session       *MPI_T_pvar_session;
typedef struct MPI_ABI_T_event_registration *MPI_T_event_registration;
typedef struct MPI_ABI_T_event_instance     *MPI_T_event_instance;
/* Calls that a callback of an event may make, and the order of events of a source (MPI-4.0 section 14.3.8). */
typedef enum MPI_T_cb_safety {
    MPI_T_CB_REQUIRE_NONE              = 0x00,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED    = 0x03,
    MPI_T_CB_REQUIRE_THREAD_SAFE       = 0x0f,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE = 0x3f
} MPI_T_cb_safety;
typedef enum MPI_T_source_order {
    MPI_T_SOURCE_ORDERED   = 1,
    MPI_T_SOURCE_UNORDERED = 2
} MPI_T_source_order;
typedef void MPI_T_event_cb_function(MPI_T_event_instance event_instance,
                                     MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                     void *user_data);
typedef void MPI_T_event_free_cb_function(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                          void *user_data);
typedef void MPI_T_event_dropped_cb_function(MPI_Count count, MPI_T_event_registration event_registration,
                                             int source_index, MPI_T_cb_safety cb_safety, void *user_data);
#define MPI_T_ENUM_NULL         MIDPLANE_NULL(MPI_T_enum)
#define MPI_T_CVAR_HANDLE_NULL  MIDPLANE_NULL(MPI_T_cvar_handle)
#define MPI_T_PVAR_HANDLE_NULL  MIDPLANE_NULL(MPI_T_pvar_handle)
#define MPI_T_PVAR_SESSION_NULL MIDPLANE_NULL(MPI_T_pvar_session)
#define MPI_T_PVAR_ALL_HANDLES  MIDPLANE_HANDLE(MPI_T_pvar_handle, 1)
#define MPI_T_VERBOSITY_USER_BASIC    9
#define MPI_T_VERBOSITY_USER_DETAIL   10
#define MPI_T_VERBOSITY_USER_ALL      12
#define MPI_T_VERBOSITY_TUNER_BASIC   17
#define MPI_T_VERBOSITY_TUNER_DETAIL  18
#define MPI_T_VERBOSITY_TUNER_ALL     20
#define MPI_T_VERBOSITY_MPIDEV_BASIC  33
#define MPI_T_VERBOSITY_MPIDEV_DETAIL 34
#define MPI_T_VERBOSITY_MPIDEV_ALL    36
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
#define MPI_T_BIND_MPI_SESSION    12
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
