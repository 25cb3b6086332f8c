/* What windows carry: attributes (MPI-3.1 sections 6.7.3 and 11.2.6), names (6.8), hints (11.2.7), groups, error
 * handlers (8.3.2). */
#include "check.h"

static int copies, deletions, refuse;

static int copied(MPI_Win win, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)win, (void)keyval, (void)extra, (void)in, (void)out;
    copies++;
    *flag = 0;
    return MPI_SUCCESS;
}

static int deleted(MPI_Win win, int keyval, void *value, void *extra)
{
    (void)win, (void)keyval;
    CHECK(extra == &deletions && value != NULL);
    if (refuse)
        return MPI_ERR_INTERN;
    deletions++;
    return MPI_SUCCESS;
}

static void predefined(void)
{
    double memory[6], *allocated;
    void *base = NULL;
    MPI_Aint *size;
    int *unit, *flavor, *model, flag = 0;
    MPI_Win win;

    OK(MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && base == memory);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag));
    CHECK(flag && *size == sizeof memory);
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag));
    CHECK(flag && *unit == 8);
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_CREATE);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag));
    CHECK(flag && *model == MPI_WIN_UNIFIED);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate(40, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win));
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && base == allocated);
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_ALLOCATE);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag));
    CHECK(flag && base == MPI_BOTTOM);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag));
    CHECK(flag && *size == 0);
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_DYNAMIC);
    OK(MPI_Win_free(&win));
}

static void user(void)
{
    int keyval, other, of_comm, flag = 1, mark = 4;
    void *value = NULL;
    MPI_Win win;

    OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_create_keyval(copied, deleted, &keyval, &deletions));
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &other, NULL));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &of_comm, NULL));
    OK(MPI_Win_get_attr(win, keyval, &value, &flag));
    CHECK(flag == 0);
    OK(MPI_Win_set_attr(win, keyval, &mark));
    OK(MPI_Win_set_attr(win, other, &flag));
    OK(MPI_Win_get_attr(win, keyval, &value, &flag));
    CHECK(flag && value == &mark && deletions == 0);
    OK(MPI_Win_set_attr(win, keyval, &value));
    CHECK(deletions == 1);
    FAILS(MPI_ERR_KEYVAL, MPI_Win_set_attr(win, of_comm, &mark));
    FAILS(MPI_ERR_KEYVAL, MPI_Win_get_attr(win, MPI_KEYVAL_INVALID, &value, &flag));
    FAILS(MPI_ERR_KEYVAL, MPI_Win_delete_attr(win, MPI_WIN_BASE));
    OK(MPI_Win_delete_attr(win, other));
    refuse = 1;
    FAILS(MPI_ERR_INTERN, MPI_Win_delete_attr(win, keyval));
    refuse = 0;
    OK(MPI_Win_free_keyval(&keyval));
    CHECK(keyval == MPI_KEYVAL_INVALID);
    OK(MPI_Win_free_keyval(&other));
    OK(MPI_Comm_free_keyval(&of_comm));
    OK(MPI_Win_free(&win));
    CHECK(deletions == 2 && copies == 0);
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME], long_name[2 * MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Win win;

    OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_get_name(win, name, &length));
    CHECK(length == 0 && name[0] == '\0');
    OK(MPI_Win_set_name(win, "halo"));
    OK(MPI_Win_get_name(win, name, &length));
    CHECK(length == 4 && strcmp(name, "halo") == 0);
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    OK(MPI_Win_set_name(win, long_name));
    OK(MPI_Win_get_name(win, name, &length));
    CHECK(length == MPI_MAX_OBJECT_NAME - 1 && (int)strlen(name) == length);
    OK(MPI_Win_free(&win));
}

static void hints(void)
{
    char value[64];
    int flag = 0;
    MPI_Info info, used;
    MPI_Win win;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "no_locks", "false"));
    OK(MPI_Info_set(info, "unheard_of", "yes"));
    OK(MPI_Win_create(NULL, 0, 1, info, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_info(win, info));
    OK(MPI_Win_get_info(win, &used));
    OK(MPI_Info_get(used, "no_locks", 63, value, &flag));
    CHECK(flag && strcmp(value, "false") == 0);
    OK(MPI_Info_get(used, "accumulate_ordering", 63, value, &flag));
    CHECK(flag && strcmp(value, "rar,raw,war,waw") == 0);
    OK(MPI_Info_get(used, "unheard_of", 63, value, &flag));
    CHECK(!flag);
    OK(MPI_Info_free(&used));
    OK(MPI_Info_free(&info));
    OK(MPI_Win_free(&win));
}

static void groups(void)
{
    MPI_Group of_comm, of_win;
    MPI_Comm comm;
    MPI_Win win;
    int result = -1;

    OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &comm));
    OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, comm, &win));
    OK(MPI_Comm_group(comm, &of_comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Win_get_group(win, &of_win));
    OK(MPI_Group_compare(of_comm, of_win, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Group_free(&of_comm));
    OK(MPI_Group_free(&of_win));
    OK(MPI_Win_free(&win));
}

static int handled;
static MPI_Win handled_on;

static void handle(MPI_Win *win, int *code, ...)
{
    int class;

    MPI_Error_class(*code, &class);
    handled += class == MPI_ERR_RMA_SYNC || class == MPI_ERR_OTHER;
    handled_on = *win;
}

static void error_handlers(void)
{
    MPI_Errhandler mine, found;
    MPI_Win win;
    int value;

    OK(MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_get_errhandler(win, &found));
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Win_create_errhandler(handle, &mine));
    OK(MPI_Win_set_errhandler(win, mine));
    OK(MPI_Errhandler_free(&mine));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    CHECK(handled == 1 && handled_on == win);
    OK(MPI_Win_call_errhandler(win, MPI_ERR_OTHER));
    CHECK(handled == 2);
    OK(MPI_Win_get_errhandler(win, &found));
    CHECK(found != MPI_ERRORS_ARE_FATAL && found != MPI_ERRORS_RETURN);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    CHECK(handled == 2);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    predefined();
    user();
    names();
    hints();
    groups();
    error_handlers();
    return check_end("conf_rma_attr");
}
