/* Conformance: starting, ending, names, versions, time, error classes and strings (MPI-3.1, chapter 8). */
#include "check.h"

/* Programs have these from <stdlib.h>, as on Linux. */
static struct timeval moment;
static fd_set descriptors;

int main(int argc, char **argv)
{
    int flag = -1, version = 0, subversion = 0, length = -1, class, i, provided = -1;
    char name[MPI_MAX_PROCESSOR_NAME], text[MPI_MAX_ERROR_STRING];
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    static const int classes[] = {MPI_SUCCESS,   MPI_ERR_BUFFER,  MPI_ERR_COUNT,     MPI_ERR_TYPE,
                                  MPI_ERR_TAG,   MPI_ERR_COMM,    MPI_ERR_RANK,      MPI_ERR_ROOT,
                                  MPI_ERR_GROUP, MPI_ERR_OP,      MPI_ERR_ARG,       MPI_ERR_UNKNOWN,
                                  MPI_ERR_OTHER, MPI_ERR_INTERN,  MPI_ERR_IN_STATUS, MPI_ERR_PENDING,
                                  MPI_ERR_REQUEST, MPI_ERR_TRUNCATE, MPI_ERR_NO_MEM,
                                  /* Those of MPI-2 and MPI-3. */
                                  MPI_ERR_TOPOLOGY, MPI_ERR_DIMS, MPI_ERR_ACCESS, MPI_ERR_AMODE,
                                  MPI_ERR_ASSERT, MPI_ERR_BAD_FILE, MPI_ERR_BASE, MPI_ERR_CONVERSION,
                                  MPI_ERR_DISP, MPI_ERR_DUP_DATAREP, MPI_ERR_FILE_EXISTS,
                                  MPI_ERR_FILE_IN_USE, MPI_ERR_FILE, MPI_ERR_INFO_KEY,
                                  MPI_ERR_INFO_NOKEY, MPI_ERR_INFO_VALUE, MPI_ERR_INFO, MPI_ERR_IO,
                                  MPI_ERR_KEYVAL, MPI_ERR_LOCKTYPE, MPI_ERR_NAME, MPI_ERR_NOT_SAME,
                                  MPI_ERR_NO_SPACE, MPI_ERR_NO_SUCH_FILE, MPI_ERR_PORT, MPI_ERR_QUOTA,
                                  MPI_ERR_READ_ONLY, MPI_ERR_RMA_CONFLICT, MPI_ERR_RMA_SYNC,
                                  MPI_ERR_SERVICE, MPI_ERR_SIZE, MPI_ERR_SPAWN,
                                  MPI_ERR_UNSUPPORTED_DATAREP, MPI_ERR_UNSUPPORTED_OPERATION,
                                  MPI_ERR_WIN, MPI_ERR_RMA_RANGE, MPI_ERR_RMA_ATTACH,
                                  MPI_ERR_RMA_FLAVOR, MPI_ERR_RMA_SHARED};
    double t1, t2, tick;
    int *tag_ub = NULL;
    MPI_Errhandler handler;

    /* These may be called before MPI_Init (section 8.7). */
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_Get_version(&version, &subversion) == MPI_SUCCESS);
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
    CHECK(MPI_Get_library_version(library, &length) == MPI_SUCCESS);
    CHECK(length > 0 && length < MPI_MAX_LIBRARY_VERSION_STRING && (int)strlen(library) == length);

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    CHECK(check_size >= 1 && check_rank >= 0 && check_rank < check_size);
    CHECK(argc >= 1 && argv[0] != NULL && argv[argc] == NULL);
    OK(MPI_Initialized(&flag));
    CHECK(flag == 1);
    OK(MPI_Finalized(&flag));
    CHECK(flag == 0);
    OK(MPI_Query_thread(&version));
    CHECK(version == provided);
    OK(MPI_Is_thread_main(&flag));
    CHECK(flag == 1);

    length = -1;
    memset(name, 'x', sizeof name);
    OK(MPI_Get_processor_name(name, &length));
    CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME && (int)strlen(name) == length);

    OK(MPI_Comm_rank(MPI_COMM_SELF, &i));
    CHECK(i == 0);
    OK(MPI_Comm_size(MPI_COMM_SELF, &i));
    CHECK(i == 1);
    OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &i));
    CHECK(i == MPI_IDENT);
    OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &i));
    CHECK(i == (check_size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));

    OK(MPI_Pcontrol(0));
    OK(MPI_Pcontrol(2, "what a profiler may want", 1.5));

    tick = MPI_Wtick();
    CHECK(tick > 0.0 && tick <= 0.01);
    t1 = MPI_Wtime();
    do
        t2 = MPI_Wtime();
    while (t2 < t1 + 2 * tick);
    CHECK(t2 > t1 && t2 < t1 + 60.0);
    for (i = 0; i < 1000; i++) {
        t1 = t2;
        t2 = MPI_Wtime();
        CHECK(t2 >= t1);
    }

    CHECK(moment.tv_sec == 0 && moment.tv_usec == 0 && !FD_ISSET(0, &descriptors));

    for (i = 0; i < (int)(sizeof classes / sizeof classes[0]); i++) {
        length = -1;
        memset(text, 'x', sizeof text);
        OK(MPI_Error_string(classes[i], text, &length));
        CHECK(length > 0 && length < MPI_MAX_ERROR_STRING && (int)strlen(text) == length);
        OK(MPI_Error_class(classes[i], &class));
        CHECK(class == classes[i]);
        CHECK(class <= MPI_ERR_LASTCODE);
    }

    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag));
    CHECK(flag != 0 && tag_ub != NULL && *tag_ub >= 32767);

    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));

    i = check_end("conf_env");
    if (MPI_Finalized(&flag) != MPI_SUCCESS || flag != 1)
        i = 1;
    if (MPI_Initialized(&flag) != MPI_SUCCESS || flag != 1)
        i = 1;
    return i;
}
