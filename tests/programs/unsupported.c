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

static int file_handled;

static void count_on_file(MPI_File *file, int *code, ...)
{
    (void)code;
    file_handled += *file == MPI_FILE_NULL;
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

static void files(void)
{
    NOT_YET(MPI_File_open(MPI_COMM_WORLD, 0, 0, MPI_INFO_NULL, 0));
    NOT_YET(MPI_File_close(0));
    NOT_YET(MPI_File_delete(0, MPI_INFO_NULL));
    NOT_YET(MPI_File_set_size(MPI_FILE_NULL, 0));
    NOT_YET(MPI_File_preallocate(MPI_FILE_NULL, 0));
    NOT_YET(MPI_File_get_size(MPI_FILE_NULL, 0));
    NOT_YET(MPI_File_get_group(MPI_FILE_NULL, 0));
    NOT_YET(MPI_File_get_amode(MPI_FILE_NULL, 0));
    NOT_YET(MPI_File_set_info(MPI_FILE_NULL, MPI_INFO_NULL));
    NOT_YET(MPI_File_get_info(MPI_FILE_NULL, 0));
    NOT_YET(MPI_File_set_view(MPI_FILE_NULL, 0, MPI_INT, MPI_INT, 0, MPI_INFO_NULL));
    NOT_YET(MPI_File_get_view(MPI_FILE_NULL, 0, 0, 0, 0));
    NOT_YET(MPI_File_read_at(MPI_FILE_NULL, 0, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_read_at_all(MPI_FILE_NULL, 0, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_write_at(MPI_FILE_NULL, 0, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_write_at_all(MPI_FILE_NULL, 0, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_iread_at(MPI_FILE_NULL, 0, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_iread_at_all(MPI_FILE_NULL, 0, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_iwrite_at(MPI_FILE_NULL, 0, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_iwrite_at_all(MPI_FILE_NULL, 0, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_read(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_read_all(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_write(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_write_all(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_iread(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_iread_all(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_iwrite(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_iwrite_all(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_seek(MPI_FILE_NULL, 0, 0));
    NOT_YET(MPI_File_get_position(MPI_FILE_NULL, 0));
    NOT_YET(MPI_File_get_byte_offset(MPI_FILE_NULL, 0, 0));
    NOT_YET(MPI_File_read_shared(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_write_shared(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_iread_shared(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_iwrite_shared(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_read_ordered(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_write_ordered(MPI_FILE_NULL, 0, 0, MPI_INT, 0));
    NOT_YET(MPI_File_seek_shared(MPI_FILE_NULL, 0, 0));
    NOT_YET(MPI_File_get_position_shared(MPI_FILE_NULL, 0));
    NOT_YET(MPI_File_read_at_all_begin(MPI_FILE_NULL, 0, 0, 0, MPI_INT));
    NOT_YET(MPI_File_read_at_all_end(MPI_FILE_NULL, 0, 0));
    NOT_YET(MPI_File_write_at_all_begin(MPI_FILE_NULL, 0, 0, 0, MPI_INT));
    NOT_YET(MPI_File_write_at_all_end(MPI_FILE_NULL, 0, 0));
    NOT_YET(MPI_File_read_all_begin(MPI_FILE_NULL, 0, 0, MPI_INT));
    NOT_YET(MPI_File_read_all_end(MPI_FILE_NULL, 0, 0));
    NOT_YET(MPI_File_write_all_begin(MPI_FILE_NULL, 0, 0, MPI_INT));
    NOT_YET(MPI_File_write_all_end(MPI_FILE_NULL, 0, 0));
    NOT_YET(MPI_File_read_ordered_begin(MPI_FILE_NULL, 0, 0, MPI_INT));
    NOT_YET(MPI_File_read_ordered_end(MPI_FILE_NULL, 0, 0));
    NOT_YET(MPI_File_write_ordered_begin(MPI_FILE_NULL, 0, 0, MPI_INT));
    NOT_YET(MPI_File_write_ordered_end(MPI_FILE_NULL, 0, 0));
    NOT_YET(MPI_File_get_type_extent(MPI_FILE_NULL, MPI_INT, 0));
    NOT_YET(MPI_Register_datarep(0, 0, 0, 0, 0));
    NOT_YET(MPI_File_set_atomicity(MPI_FILE_NULL, 0));
    NOT_YET(MPI_File_get_atomicity(MPI_FILE_NULL, 0));
    NOT_YET(MPI_File_sync(MPI_FILE_NULL));
}

static void handlers(void)
{
    MPI_Comm comm;
    MPI_Errhandler counts, returns;

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
    NOT_YET(MPI_File_open(comm, "name", MPI_MODE_RDONLY, MPI_INFO_NULL, 0));
    CHECK(handled == 3);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&counts));
    OK(MPI_Comm_free(&comm));

    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &returns));
    CHECK(returns == MPI_ERRORS_RETURN);
    OK(MPI_File_create_errhandler(count_on_file, &counts));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, counts));
    OK(MPI_Errhandler_free(&counts));
    NOT_YET(MPI_File_open(MPI_COMM_WORLD, "name", MPI_MODE_RDONLY, MPI_INFO_NULL, 0));
    CHECK(file_handled == 1);
    FAILS(MPI_ERR_FILE, MPI_File_set_errhandler((MPI_File)7, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_FILE, MPI_File_get_errhandler((MPI_File)7, &returns));
    FAILS(MPI_ERR_ARG, MPI_File_get_errhandler(MPI_FILE_NULL, NULL));
    CHECK(file_handled == 4);
    OK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO));
    CHECK(file_handled == 5);
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    NOT_YET(MPI_File_close(0));
    CHECK(file_handled == 5);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    dynamic_processes();
    files();
    handlers();
    return check_end("unsupported");
}
