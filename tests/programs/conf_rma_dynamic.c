/* Dynamic windows (MPI-3.1 section 11.2.4), shared ones (11.2.3), windows of different sizes and units. */
#include "check.h"

static void dynamic(void)
{
    long memory[8], other[4], value = 70 + check_rank, got = -1;
    MPI_Aint mine[2], *all = check_room(2 * check_size * sizeof(MPI_Aint));
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size, i;
    MPI_Win win;

    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    for (i = 0; i < 8; i++)
        memory[i] = i;
    for (i = 0; i < 4; i++)
        other[i] = 10 + i;
    OK(MPI_Win_attach(win, memory, sizeof memory));
    OK(MPI_Win_attach(win, other, sizeof other));
    OK(MPI_Get_address(memory, &mine[0]));
    OK(MPI_Get_address(other, &mine[1]));
    OK(MPI_Allgather(mine, 2, MPI_AINT, all, 2, MPI_AINT, MPI_COMM_WORLD));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_LONG, right, MPI_Aint_add(all[2 * right], 3 * sizeof(long)), 1, MPI_LONG, win));
    OK(MPI_Accumulate(&value, 1, MPI_LONG, right, all[2 * right + 1], 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    CHECK(memory[3] == 70 + left && other[0] == 80 + left && memory[2] == 2);
    OK(MPI_Get(&got, 1, MPI_LONG, left, all[2 * left + 1] + 2 * sizeof(long), 1, MPI_LONG, win));
    OK(MPI_Win_fence(0, win));
    CHECK(got == 12);
    OK(MPI_Win_detach(win, memory));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_LONG, right, all[2 * right], 1, MPI_LONG, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Win_fence(0, win));
    CHECK(memory[0] == 0);
    OK(MPI_Get(&got, 1, MPI_LONG, right, all[2 * right + 1], 1, MPI_LONG, win));
    OK(MPI_Win_fence(0, win));
    CHECK(got == 80 + check_rank);
    OK(MPI_Win_attach(win, memory, 8));
    FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, memory, sizeof memory));
    FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, (char *)other + 5, 1));
    FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, memory + 1));
    FAILS(MPI_ERR_SIZE, MPI_Win_attach(win, memory, -1));
    OK(MPI_Win_detach(win, memory));
    OK(MPI_Win_detach(win, other));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
    OK(MPI_Get(&got, 1, MPI_LONG, right, all[2 * right], 1, MPI_LONG, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Win_unlock(right, win));
    OK(MPI_Win_free(&win));
    free(all);
}

/* Pieces of one array, attached out of order: operations reach over where they meet, and not beyond the last. */
static void in_pieces(void)
{
    int memory[300], given[300], got[300], right = (check_rank + 1) % check_size, i;
    MPI_Aint mine, there;
    MPI_Win win;

    for (i = 0; i < 300; i++) {
        memory[i] = i;
        given[i] = 1000 * check_rank + i;
    }
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_attach(win, memory + 200, 90 * sizeof(int)));
    OK(MPI_Win_attach(win, memory, 100 * sizeof(int)));
    OK(MPI_Win_attach(win, memory + 100, 100 * sizeof(int)));
    OK(MPI_Get_address(memory, &mine));
    OK(MPI_Sendrecv(&mine, 1, MPI_AINT, (check_rank + check_size - 1) % check_size, 0, &there, 1, MPI_AINT, right, 0,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
    OK(MPI_Put(given, 280, MPI_INT, right, there + 5 * sizeof(int), 280, MPI_INT, win));
    OK(MPI_Win_flush(right, win));
    OK(MPI_Accumulate(given, 1, MPI_INT, right, there + 100 * sizeof(int), 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_flush(right, win));
    OK(MPI_Get(got, 290, MPI_INT, right, there, 290, MPI_INT, win));
    OK(MPI_Win_unlock(right, win));
    for (i = 0; i < 290; i++) {
        int was = i < 5 || i >= 285 ? i : 1000 * check_rank + i - 5;

        CHECK(got[i] == was + (i == 100 ? 1000 * check_rank : 0));
    }
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
    OK(MPI_Put(given, 10, MPI_INT, right, there + 285 * sizeof(int), 10, MPI_INT, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Win_unlock(right, win));
    OK(MPI_Win_free(&win));
}

/* Parts of different sizes, units and none: displacements are in the target's unit. */
static void different(void)
{
    int unit = 1 + check_rank, n = check_rank % 3 == 1 ? 0 : 8, i;
    unsigned char *base;
    MPI_Win win;

    OK(MPI_Win_allocate((MPI_Aint)n * unit, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    if (n > 0)
        memset(base, 0, (size_t)n * unit);
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < check_size; i++) {
        unsigned char mine = (unsigned char)(1 + check_rank);

        if (check_rank >= 8 || i % 3 == 1)
            FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&mine, 1, MPI_BYTE, i, check_rank + 8, 1, MPI_BYTE, win));
        else
            OK(MPI_Put(&mine, 1, MPI_BYTE, i, check_rank, 1, MPI_BYTE, win));
    }
    OK(MPI_Win_fence(0, win));
    for (i = 0; i < n * unit; i++)
        CHECK(base[i] == (i % unit == 0 && i / unit < check_size ? 1 + i / unit : 0));
    OK(MPI_Win_free(&win));
}

static void shared(void)
{
    MPI_Comm comm;
    MPI_Win win, other;
    MPI_Aint size = 0;
    long *base, *queried = NULL, value = 9;
    int unit = 0, flavor = -1, flag = 0, own = 0, i, *found;

    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    OK(MPI_Comm_rank(comm, &own));
    OK(MPI_Win_allocate_shared(4 * sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &base, &win));
    OK(MPI_Win_shared_query(win, own, &size, &unit, &queried));
    CHECK(queried == base && unit == sizeof(long) && size == 4 * sizeof(long));
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &found, &flag));
    flavor = *found;
    CHECK(flag && flavor == MPI_WIN_FLAVOR_SHARED);
    OK(MPI_Win_lock_all(0, win));
    base[1] = 5;
    OK(MPI_Win_sync(win));
    OK(MPI_Accumulate(&value, 1, MPI_LONG, own, 1, 1, MPI_LONG, MPI_SUM, win));
    OK(MPI_Win_flush(own, win));
    CHECK(queried[1] == 14);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, comm, &other));
    OK(MPI_Win_set_errhandler(other, MPI_ERRORS_RETURN));
    if (IS_MPICH)
        size = 0;
    else
        OK(MPI_Win_shared_query(other, own, &size, &unit, &queried));
    CHECK(size == 0);
    FAILS(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(other, base, 8));
    FAILS(MPI_ERR_RMA_FLAVOR, MPI_Win_detach(other, base));
    OK(MPI_Win_free(&other));
    /* Of another window, a process accesses its own part only (MPI-4.1 section 12.2.3). */
    OK(MPI_Win_create(&value, sizeof(value), 2, MPI_INFO_NULL, MPI_COMM_WORLD, &other));
    for (i = 0; !IS_MPICH && i < check_size; i++) {
        OK(MPI_Win_shared_query(other, i, &size, &unit, &queried));
        if (i == check_rank)
            CHECK(size == sizeof(value) && unit == 2 && queried == &value);
        else
            CHECK(size == 0 && queried == NULL);
    }
    OK(MPI_Win_free(&other));
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    dynamic();
    in_pieces();
    different();
    shared();
    return check_end("conf_rma_dynamic");
}
