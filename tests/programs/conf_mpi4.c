/* Conformance: small additions of MPI-4 and MPI-5: fields of statuses, queries of several requests, removal of error
 * codes, handles as integers, strings of info objects, pairs of values and indices, hardware resources, and properties of
 * the binary interface. */
#include "check.h"

static void statuses(void)
{
    MPI_Status status;
    int value = -1;

    OK(MPI_Sendrecv(&value, 1, MPI_INT, check_rank, 9, &value, 1, MPI_INT, check_rank, 9, MPI_COMM_WORLD, &status));
    OK(MPI_Status_get_source(&status, &value));
    CHECK(value == check_rank);
    OK(MPI_Status_get_tag(&status, &value));
    CHECK(value == 9);
    OK(MPI_Status_set_source(&status, 3));
    OK(MPI_Status_set_tag(&status, 4));
    OK(MPI_Status_set_error(&status, MPI_ERR_OTHER));
    OK(MPI_Status_get_error(&status, &value));
    CHECK(value == MPI_ERR_OTHER && status.MPI_SOURCE == 3 && status.MPI_TAG == 4 && status.MPI_ERROR == value);
}

static void queries(void)
{
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status list[3];
    int values[2] = {5, 6}, taken[2] = {0, 0}, index = 7, flag = -1, count = -1, indices[3], i;

    OK(MPI_Request_get_status_any(3, requests, &index, &flag, MPI_STATUS_IGNORE));
    CHECK(flag && index == MPI_UNDEFINED);
    OK(MPI_Request_get_status_some(3, requests, &count, indices, MPI_STATUSES_IGNORE));
    CHECK(count == MPI_UNDEFINED);
    OK(MPI_Request_get_status_all(3, requests, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag);
    for (i = 0; i < 2; i++)
        OK(MPI_Irecv(&taken[i], 1, MPI_INT, check_rank, 10 + i, MPI_COMM_WORLD, &requests[1 + i]));
    OK(MPI_Request_get_status_any(3, requests, &index, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag && index == MPI_UNDEFINED);
    OK(MPI_Request_get_status_some(3, requests, &count, indices, list));
    CHECK(count == 0);
    OK(MPI_Send(&values[1], 1, MPI_INT, check_rank, 11, MPI_COMM_WORLD));
    do
        OK(MPI_Request_get_status_any(3, requests, &index, &flag, &list[0]));
    while (!flag);
    CHECK(index == 2 && list[0].MPI_TAG == 11 && taken[1] == 6 && requests[2] != MPI_REQUEST_NULL);
    OK(MPI_Request_get_status_some(3, requests, &count, indices, list));
    CHECK(count == 1 && indices[0] == 2 && list[0].MPI_TAG == 11);
    OK(MPI_Request_get_status_all(3, requests, &flag, list));
    CHECK(!flag);
    OK(MPI_Send(&values[0], 1, MPI_INT, check_rank, 10, MPI_COMM_WORLD));
    do
        OK(MPI_Request_get_status_all(3, requests, &flag, list));
    while (!flag);
    CHECK(list[1].MPI_TAG == 10 && list[2].MPI_TAG == 11 && taken[0] == 5);
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
}

static void codes(void)
{
    int class, other, code, *last, flag, found, length;
    char text[MPI_MAX_ERROR_STRING];

    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, "an error"));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (!IS_MPICH)
        FAILS(MPI_ERR_ARG, MPI_Remove_error_code(code));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Remove_error_string(code));
    OK(MPI_Error_string(code, text, &length));
    CHECK(length == 0);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (!IS_MPICH)
        FAILS(MPI_ERR_ARG, MPI_Remove_error_class(class));
    if (!IS_MPICH)
        FAILS(MPI_ERR_ARG, MPI_Remove_error_code(class));
    OK(MPI_Remove_error_code(code));
    FAILS(MPI_ERR_ARG, MPI_Error_class(code, &found));
    FAILS(MPI_ERR_ARG, MPI_Remove_error_code(MPI_ERR_OTHER));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Add_error_class(&other));
    OK(MPI_Remove_error_class(class));
    OK(MPI_Error_class(other, &found));
    CHECK(found == other);
    OK(MPI_Remove_error_class(other));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
    CHECK(flag && *last <= other);
}

static void integers(void)
{
    MPI_Group group;

    CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT);
    CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM);
    CHECK(MPI_Info_fromint(MPI_Info_toint(MPI_INFO_NULL)) == MPI_INFO_NULL);
    CHECK(MPI_Request_fromint(MPI_Request_toint(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
    CHECK(MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL);
    CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
    CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    CHECK(MPI_Group_fromint(MPI_Group_toint(group)) == group);
    OK(MPI_Group_free(&group));
}

static void infos(int argc, char **argv)
{
    char value[16];
    int length, flag, keys;
    MPI_Info info;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "key", "a value"));
    length = 0;
    OK(MPI_Info_get_string(info, "key", &length, NULL, &flag));
    CHECK(flag && length == 8);
    OK(MPI_Info_get_string(info, "key", &length, value, &flag));
    CHECK(flag && length == 8 && strcmp(value, "a value") == 0);
    length = 4;
    OK(MPI_Info_get_string(info, "key", &length, value, &flag));
    CHECK(flag && length == 8 && strcmp(value, "a v") == 0);
    length = 5;
    OK(MPI_Info_get_string(info, "other", &length, value, &flag));
    CHECK(!flag && length == 5);
    OK(MPI_Info_free(&info));
    OK(MPI_Info_create_env(argc, argv, &info));
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys >= 0);
    OK(MPI_Info_set(info, "key", "value"));
    OK(MPI_Info_free(&info));
}

static void objects(void)
{
    MPI_Datatype pair;
    MPI_Request request;
    MPI_Comm twin;
    int result;

    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair));
    CHECK(pair == MPI_DOUBLE_INT);
    OK(MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair));
    CHECK(pair == MPI_2INT);
    OK(MPI_Type_get_value_index(MPI_FLOAT, MPI_FLOAT, &pair));
    CHECK(IS_MPICH || pair == MPI_DATATYPE_NULL);
    OK(MPI_Type_get_value_index(MPI_CHAR, MPI_INT, &pair));
    CHECK(IS_MPICH || pair == MPI_DATATYPE_NULL);
    OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &twin, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_compare(MPI_COMM_WORLD, twin, &result));
    CHECK(result == MPI_CONGRUENT);
    OK(MPI_Comm_free(&twin));
}

static void flushed(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size, value = check_rank;
    int size = (int)sizeof(int) + MPI_BSEND_OVERHEAD, i, taken;
    void *memory = check_room((size_t)size), *old;

    OK(MPI_Buffer_flush());
    OK(MPI_Buffer_attach(memory, size));
    for (i = 0; i < 3; i++) {
        /* The buffer has space for one message. */
        OK(MPI_Bsend(&value, 1, MPI_INT, right, 20 + i, MPI_COMM_WORLD));
        OK(MPI_Recv(&taken, 1, MPI_INT, left, 20 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(taken == left);
        OK(MPI_Buffer_flush());
    }
    OK(MPI_Buffer_detach(&old, &size));
    CHECK(old == memory);
    free(memory);
}

/* Communicators of the nodes of a line or a plane; of none, if the hint names no resource. */
static void resources(void)
{
    MPI_Comm part;
    MPI_Info info, all;
    char name[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL];
    int count, i, flag, length, size, divided;

    OK(MPI_Get_hw_resource_info(&all));
    OK(MPI_Info_get_nkeys(all, &count));
    CHECK(IS_MPICH || count == 7);
    OK(MPI_Info_create(&info));
    for (i = 0; i < count; i++) {
        OK(MPI_Info_get_nthkey(all, i, name));
        length = sizeof(value);
        OK(MPI_Info_get_string(all, name, &length, value, &flag));
        CHECK(flag && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0));
        OK(MPI_Info_set(info, "mpi_hw_resource_type", name));
        OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part));
        if (!IS_MPICH)
            CHECK(part != MPI_COMM_NULL);
        if (part != MPI_COMM_NULL) {
            OK(MPI_Comm_size(part, &size));
            CHECK(size >= 1 && size <= check_size && (strcmp(name, "midplane://node") != 0 || size == 1));
            OK(MPI_Comm_free(&part));
        }
    }
    OK(MPI_Info_set(info, "mpi_hw_resource_type", "no such resource"));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part));
    CHECK(part == MPI_COMM_NULL);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &part));
    divided = part != MPI_COMM_NULL;
    if (divided) {
        OK(MPI_Comm_size(part, &size));
        CHECK(size < check_size);
        OK(MPI_Comm_free(&part));
    }
    CHECK(IS_MPICH || divided == (check_size > 1));
    if (!IS_MPICH) {
        OK(MPI_Info_set(info, "mpi_pset_name", "mpi://WORLD"));
        OK(MPI_Info_delete(info, "mpi_hw_resource_type"));
        OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part));
        OK(MPI_Comm_size(part, &size));
        CHECK(size == check_size);
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Info_free(&info));
    OK(MPI_Info_free(&all));
}

static void binary_interface(void)
{
    int major = 0, minor = 0, is_true = -1, is_false = -1, flag, length;
    char value[8];
    MPI_Info info;

    OK(MPI_Abi_get_version(&major, &minor));
    CHECK(IS_MPICH || (major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION));
    OK(MPI_Abi_get_info(&info));
    length = sizeof(value);
    OK(MPI_Info_get_string(info, "mpi_aint_size", &length, value, &flag));
    CHECK(flag && atoi(value) == (int)sizeof(MPI_Aint));
    OK(MPI_Info_free(&info));
    if (IS_MPICH || MPI_ABI_VERSION < 0 /* A library with another ABI. */)
        return;
    OK(MPI_Abi_get_fortran_info(&info));
    length = sizeof(value);
    OK(MPI_Info_get_string(info, "mpi_integer_size", &length, value, &flag));
    CHECK(flag && atoi(value) == (int)sizeof(MPI_Fint));
    OK(MPI_Info_free(&info));
    OK(MPI_Abi_get_fortran_booleans((int)sizeof(MPI_Fint), &is_true, &is_false, &flag));
    CHECK(flag && is_true == 1 && is_false == 0);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Abi_set_fortran_info(MPI_INFO_NULL));
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Abi_set_fortran_booleans(4, &is_true, &is_false));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    statuses();
    queries();
    codes();
    integers();
    infos(argc, argv);
    objects();
    flushed();
    resources();
    binary_interface();
    return check_end("conf_mpi4");
}
