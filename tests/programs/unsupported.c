/* Functions that link and are not supported: each returns an error of class MPI_ERR_UNSUPPORTED_OPERATION by way of the
 * error handler that the standard has for it, and its text names the function. */
#include "check.h"

/* How often an error handler was called, and for what. */
static int handled;
static MPI_Comm handled_on;

static void count_on_comm(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    handled++;
    handled_on = *comm;
}

/* A call that is not supported, by its text. */
static void not_yet(int code, const char *call)
{
    int class, length;
    char text[MPI_MAX_ERROR_STRING], name[64];

    sscanf(call, "%63[^(]", name);
    OK(MPI_Error_class(code, &class));
    CHECK(class == MPI_ERR_UNSUPPORTED_OPERATION);
    OK(MPI_Error_string(code, text, &length));
    if (strstr(text, name) == NULL)
        printf("rank %d: %s: %s\n", check_rank, name, text);
    CHECK(strstr(text, name) != NULL);
}

#define NOT_YET(call) not_yet(call, #call)

static void dynamic_processes(void)
{
    NOT_YET(MPI_Comm_spawn(0, 0, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, 0, 0));
    NOT_YET(MPI_Comm_spawn_multiple(0, 0, 0, 0, 0, 0, MPI_COMM_WORLD, 0, 0));
    NOT_YET(MPI_Open_port(MPI_INFO_NULL, 0));
    NOT_YET(MPI_Close_port(0));
    NOT_YET(MPI_Comm_accept(0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, 0));
    NOT_YET(MPI_Comm_connect(0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, 0));
    NOT_YET(MPI_Publish_name(0, MPI_INFO_NULL, 0));
    NOT_YET(MPI_Unpublish_name(0, MPI_INFO_NULL, 0));
    NOT_YET(MPI_Lookup_name(0, MPI_INFO_NULL, 0));
    NOT_YET(MPI_Comm_join(0, 0));
}

static void handlers(void)
{
    MPI_Comm comm;
    MPI_Errhandler counts;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(count_on_comm, &counts));
    OK(MPI_Comm_set_errhandler(comm, counts));
    NOT_YET(MPI_Comm_connect(0, MPI_INFO_NULL, 0, comm, 0));
    CHECK(handled == 1 && handled_on == comm);
    NOT_YET(MPI_Comm_spawn("a", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, comm, 0, MPI_ERRCODES_IGNORE));
    CHECK(handled == 2 && handled_on == comm);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, counts));
    NOT_YET(MPI_Open_port(MPI_INFO_NULL, 0));
    CHECK(handled == 3 && handled_on == MPI_COMM_WORLD);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&counts));
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    dynamic_processes();
    handlers();
    return check_end("unsupported");
}
