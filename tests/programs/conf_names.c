/* Every constant and type of MPI-3.1 (annex A.1) is declared; handles and statuses as Fortran has them (section
 * 17.2); what is to be asked of dynamic processes without any (chapter 10). */
#include "check.h"

/* Names of numbers; what annex A.1.1 has under "C type: const int" and the like. */
static const long numbers[] = {
    MPI_SUCCESS, MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TAG, MPI_ERR_COMM, MPI_ERR_RANK,
    MPI_ERR_REQUEST, MPI_ERR_ROOT, MPI_ERR_GROUP, MPI_ERR_OP, MPI_ERR_TOPOLOGY, MPI_ERR_DIMS, MPI_ERR_ARG,
    MPI_ERR_UNKNOWN, MPI_ERR_TRUNCATE, MPI_ERR_OTHER, MPI_ERR_INTERN, MPI_ERR_PENDING, MPI_ERR_IN_STATUS,
    MPI_ERR_ACCESS, MPI_ERR_AMODE, MPI_ERR_ASSERT, MPI_ERR_BAD_FILE, MPI_ERR_BASE, MPI_ERR_CONVERSION,
    MPI_ERR_DISP, MPI_ERR_DUP_DATAREP, MPI_ERR_FILE_EXISTS, MPI_ERR_FILE_IN_USE, MPI_ERR_FILE, MPI_ERR_INFO_KEY,
    MPI_ERR_INFO_NOKEY, MPI_ERR_INFO_VALUE, MPI_ERR_INFO, MPI_ERR_IO, MPI_ERR_KEYVAL, MPI_ERR_LOCKTYPE,
    MPI_ERR_NAME, MPI_ERR_NO_MEM, MPI_ERR_NOT_SAME, MPI_ERR_NO_SPACE, MPI_ERR_NO_SUCH_FILE, MPI_ERR_PORT,
    MPI_ERR_QUOTA, MPI_ERR_READ_ONLY, MPI_ERR_RMA_ATTACH, MPI_ERR_RMA_CONFLICT, MPI_ERR_RMA_RANGE,
    MPI_ERR_RMA_SHARED, MPI_ERR_RMA_SYNC, MPI_ERR_RMA_FLAVOR, MPI_ERR_SERVICE, MPI_ERR_SIZE, MPI_ERR_SPAWN,
    MPI_ERR_UNSUPPORTED_DATAREP, MPI_ERR_UNSUPPORTED_OPERATION, MPI_ERR_WIN, MPI_ERR_LASTCODE,
    MPI_MAX_PROCESSOR_NAME, MPI_MAX_LIBRARY_VERSION_STRING, MPI_MAX_ERROR_STRING, MPI_MAX_DATAREP_STRING,
    MPI_MAX_INFO_KEY, MPI_MAX_INFO_VAL, MPI_MAX_OBJECT_NAME, MPI_MAX_PORT_NAME, MPI_VERSION, MPI_SUBVERSION,
    MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_BSEND_OVERHEAD, MPI_KEYVAL_INVALID, MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED,
    MPI_MODE_APPEND, MPI_MODE_CREATE, MPI_MODE_DELETE_ON_CLOSE, MPI_MODE_EXCL, MPI_MODE_NOCHECK,
    MPI_MODE_NOPRECEDE, MPI_MODE_NOPUT, MPI_MODE_NOSTORE, MPI_MODE_NOSUCCEED, MPI_MODE_RDONLY, MPI_MODE_RDWR,
    MPI_MODE_SEQUENTIAL, MPI_MODE_UNIQUE_OPEN, MPI_MODE_WRONLY, MPI_ORDER_C, MPI_ORDER_FORTRAN, MPI_PROC_NULL,
    MPI_ROOT, MPI_SEEK_CUR, MPI_SEEK_END, MPI_SEEK_SET, MPI_UNDEFINED, MPI_DISTRIBUTE_BLOCK,
    MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_NONE, MPI_DISPLACEMENT_CURRENT,
    MPI_TYPECLASS_COMPLEX, MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL, MPI_COMM_TYPE_SHARED, MPI_IDENT,
    MPI_CONGRUENT, MPI_SIMILAR, MPI_UNEQUAL, MPI_TAG_UB, MPI_IO, MPI_HOST, MPI_WTIME_IS_GLOBAL, MPI_APPNUM,
    MPI_LASTUSEDCODE, MPI_UNIVERSE_SIZE, MPI_WIN_BASE, MPI_WIN_DISP_UNIT, MPI_WIN_SIZE, MPI_WIN_CREATE_FLAVOR,
    MPI_WIN_MODEL, MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_DYNAMIC,
    MPI_WIN_FLAVOR_SHARED, MPI_WIN_SEPARATE, MPI_WIN_UNIFIED, MPI_CART, MPI_THREAD_FUNNELED,
    MPI_THREAD_MULTIPLE, MPI_THREAD_SERIALIZED, MPI_THREAD_SINGLE, MPI_COMBINER_CONTIGUOUS, MPI_COMBINER_DARRAY,
    MPI_COMBINER_DUP, MPI_COMBINER_F90_COMPLEX, MPI_COMBINER_F90_INTEGER, MPI_COMBINER_F90_REAL,
    MPI_COMBINER_HINDEXED, MPI_COMBINER_HVECTOR, MPI_COMBINER_INDEXED_BLOCK, MPI_COMBINER_HINDEXED_BLOCK,
    MPI_COMBINER_INDEXED, MPI_COMBINER_NAMED, MPI_COMBINER_RESIZED, MPI_COMBINER_STRUCT, MPI_COMBINER_SUBARRAY,
    MPI_COMBINER_VECTOR,
};

/* Handles of predefined objects, and of none. */
static void handles(void)
{
    MPI_Datatype types[] = {
        MPI_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG_INT, MPI_LONG_LONG, MPI_SIGNED_CHAR,
        MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT,
        MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_WCHAR, MPI_C_BOOL, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T,
        MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T, MPI_AINT, MPI_COUNT, MPI_OFFSET, MPI_C_COMPLEX,
        MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_BYTE, MPI_PACKED, MPI_FLOAT_INT,
        MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT, MPI_DATATYPE_NULL,
    };
    MPI_Op ops[] = {
        MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_MAXLOC, MPI_MINLOC, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR,
        MPI_LXOR, MPI_REPLACE, MPI_NO_OP, MPI_OP_NULL,
    };
    size_t i, j;

    for (i = 0; i < sizeof types / sizeof *types; i++)
        CHECK(MPI_Type_f2c(MPI_Type_c2f(types[i])) == types[i]);
    for (i = 0; i < sizeof ops / sizeof *ops; i++) {
        CHECK(MPI_Op_f2c(MPI_Op_c2f(ops[i])) == ops[i]);
        for (j = 0; j < i; j++)
            CHECK(ops[i] != ops[j]);
    }
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_NULL)) == MPI_COMM_NULL);
    CHECK(MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY);
    CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
    CHECK(MPI_Info_f2c(MPI_Info_c2f(MPI_INFO_NULL)) == MPI_INFO_NULL);
    CHECK(MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NO_PROC)) == MPI_MESSAGE_NO_PROC);
    CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL);
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    CHECK(MPI_MESSAGE_NULL != MPI_MESSAGE_NO_PROC);
    CHECK(MPI_ARGV_NULL == NULL && MPI_ARGVS_NULL == NULL && MPI_ERRCODES_IGNORE == NULL);
    CHECK(MPI_CONVERSION_FN_NULL == NULL);
}

static void statuses(void)
{
    MPI_Fint f_status[sizeof(MPI_Status) / sizeof(MPI_Fint)];
    MPI_Status sent, back;
    MPI_F08_status f08_status;
    int value = check_rank, got, count;

    OK(MPI_Sendrecv(&value, 1, MPI_INT, check_rank, 9, &got, 1, MPI_INT, check_rank, 9, MPI_COMM_WORLD, &sent));
    sent.MPI_ERROR = MPI_SUCCESS;
    OK(MPI_Status_c2f(&sent, f_status));
    memset(&back, 0xff, sizeof back);
    OK(MPI_Status_f2c(f_status, &back));
    CHECK(back.MPI_SOURCE == check_rank && back.MPI_TAG == 9);
    OK(MPI_Get_count(&back, MPI_INT, &count));
    CHECK(count == 1);
#ifndef MPICH_VERSION /* MPICH has these in a library for Fortran. */
    memset(&f08_status, 0xff, sizeof f08_status);
    OK(MPI_Status_c2f08(&sent, &f08_status));
    CHECK(f08_status.MPI_SOURCE == check_rank && f08_status.MPI_TAG == 9);
    memset(&back, 0xff, sizeof back);
    OK(MPI_Status_f082c(&f08_status, &back));
    CHECK(back.MPI_SOURCE == check_rank && back.MPI_TAG == 9);
#else
    (void)f08_status;
#endif
}

static void no_parent(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    int value = 5, got = 0;
    const int next = (check_rank + 1) % check_size, before = (check_rank + check_size - 1) % check_size;

    OK(MPI_Comm_get_parent(&comm));
    CHECK(comm == MPI_COMM_NULL);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Isend(&value, 1, MPI_INT, next, 1, comm, &request));
    OK(MPI_Recv(&got, 1, MPI_INT, before, 1, comm, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_disconnect(&comm));
    CHECK(got == 5 && comm == MPI_COMM_NULL);
}

static void errors(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_ARG, MPI_Comm_get_parent(NULL));
    comm = MPI_COMM_NULL;
    FAILS(MPI_ERR_COMM, MPI_Comm_disconnect(&comm));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* Names of null handles (MPI-4.1 section 7.8). */
static void null_handles(void)
{
#ifdef MIDPLANE_MPI
    char name[MPI_MAX_OBJECT_NAME];
    int length;

    OK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length));
    CHECK(strcmp(name, "MPI_COMM_NULL") == 0 && length == (int)strlen(name));
    OK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
    CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0 && length == (int)strlen(name));
    OK(MPI_Win_get_name(MPI_WIN_NULL, name, &length));
    CHECK(strcmp(name, "MPI_WIN_NULL") == 0 && length == (int)strlen(name));
#endif
}

int main(int argc, char **argv)
{
    /* Types of annex A.1.2, and of functions that programs define (A.1.3). */
    size_t types[] = {
        sizeof(MPI_Aint), sizeof(MPI_Count), sizeof(MPI_Fint), sizeof(MPI_Offset), sizeof(MPI_Status),
        sizeof(MPI_F08_status), sizeof(MPI_Comm), sizeof(MPI_Datatype), sizeof(MPI_Errhandler), sizeof(MPI_File),
        sizeof(MPI_Group), sizeof(MPI_Info), sizeof(MPI_Message), sizeof(MPI_Op), sizeof(MPI_Request),
        sizeof(MPI_Win), sizeof(MPI_User_function *), sizeof(MPI_Comm_copy_attr_function *),
        sizeof(MPI_Comm_delete_attr_function *), sizeof(MPI_Win_copy_attr_function *),
        sizeof(MPI_Win_delete_attr_function *), sizeof(MPI_Comm_errhandler_function *),
        sizeof(MPI_Win_errhandler_function *), sizeof(MPI_File_errhandler_function *),
        sizeof(MPI_Type_copy_attr_function *), sizeof(MPI_Type_delete_attr_function *),
        sizeof(MPI_Datarep_conversion_function *), sizeof(MPI_Datarep_extent_function *),
    };
    size_t i;

    check_start(&argc, &argv);
    for (i = 0; i < sizeof types / sizeof *types; i++)
        CHECK(types[i] >= 4);
    CHECK(sizeof numbers / sizeof *numbers > 100);
    handles();
    null_handles();
    statuses();
    no_parent();
    errors();
    return check_end("conf_names");
}
