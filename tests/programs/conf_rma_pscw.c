/* Post, start, complete, wait and test (MPI-3.1 section 11.5.2). */
#include "check.h"

static MPI_Group group_of(MPI_Win win, int n, const int *ranks)
{
    MPI_Group all, some;

    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, n, ranks, &some));
    OK(MPI_Group_free(&all));
    return some;
}

/* Every rank exposes itself to its left neighbour and writes to its right one. */
static void ring(int rounds, int assert_post, int assert_start)
{
    int *base, left = (check_rank + check_size - 1) % check_size, right = (check_rank + 1) % check_size, i;
    MPI_Group to_left, to_right;
    MPI_Win win;

    OK(MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    to_left = group_of(win, 1, &left);
    to_right = group_of(win, 1, &right);
    for (i = 0; i < rounds; i++) {
        int values[2], flag = 0;

        values[0] = i;
        values[1] = check_rank;
        base[0] = base[1] = -1;
        OK(MPI_Win_post(to_left, assert_post, win));
        if (assert_post & MPI_MODE_NOCHECK)
            OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_start(to_right, assert_start, win));
        OK(MPI_Put(values, 2, MPI_INT, right, 0, 2, MPI_INT, win));
        OK(MPI_Win_complete(win));
        if (i % 2 == 0)
            OK(MPI_Win_wait(win));
        else
            while (!flag)
                POLL(MPI_Win_test(win, &flag));
        CHECK(base[0] == i && base[1] == left);
    }
    OK(MPI_Group_free(&to_left));
    OK(MPI_Group_free(&to_right));
    OK(MPI_Win_free(&win));
}

/* All others write to rank 0, read from it in the next epoch, and it is not always there in time. */
static void star(void)
{
    long *base, got;
    int i, round, *others = check_room(check_size * sizeof(int)), zero = 0;
    MPI_Group group;
    MPI_Win win;

    OK(MPI_Win_allocate(check_rank == 0 ? (MPI_Aint)check_size * sizeof(long) : 0, sizeof(long), MPI_INFO_NULL,
                        MPI_COMM_WORLD, &base, &win));
    for (i = 1; i < check_size; i++)
        others[i - 1] = i;
    group = check_rank == 0 ? group_of(win, check_size - 1, others) : group_of(win, 1, &zero);
    for (round = 0; round < 5; round++) {
        if (check_rank == 0) {
            for (i = 0; i < check_size; i++)
                base[i] = -1;
            OK(MPI_Win_post(group, 0, win));
            OK(MPI_Win_wait(win));
            for (i = 1; i < check_size; i++)
                CHECK(base[i] == 10 * i + round);
            OK(MPI_Win_post(group, MPI_MODE_NOPUT, win));
            OK(MPI_Win_wait(win));
        } else {
            long value = 10L * check_rank + round;

            OK(MPI_Win_start(group, 0, win));
            OK(MPI_Put(&value, 1, MPI_LONG, 0, check_rank, 1, MPI_LONG, win));
            OK(MPI_Win_complete(win));
            OK(MPI_Win_start(group, 0, win));
            got = 0;
            OK(MPI_Get(&got, 1, MPI_LONG, 0, check_rank, 1, MPI_LONG, win));
            OK(MPI_Win_complete(win));
            CHECK(got == value);
        }
    }
    OK(MPI_Group_free(&group));
    OK(MPI_Win_free(&win));
    free(others);
}

/* Everybody accesses everybody, itself included. */
static void all_to_all(void)
{
    int *base, i, round;
    MPI_Group group;
    MPI_Win win;

    OK(MPI_Win_allocate((MPI_Aint)check_size * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_get_group(win, &group));
    for (round = 0; round < 3; round++) {
        memset(base, 0, check_size * sizeof(int));
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_post(group, 0, win));
        OK(MPI_Win_start(group, 0, win));
        for (i = 0; i < check_size; i++) {
            int value = 100 * round + check_rank + 1;

            OK(MPI_Accumulate(&value, 1, MPI_INT, i, check_rank, 1, MPI_INT, MPI_SUM, win));
        }
        OK(MPI_Win_complete(win));
        OK(MPI_Win_wait(win));
        for (i = 0; i < check_size; i++)
            CHECK(base[i] == 100 * round + i + 1);
    }
    OK(MPI_Group_free(&group));
    OK(MPI_Win_free(&win));
}

/* Epochs for no process at all. */
static void empty(void)
{
    MPI_Win win;
    int flag = 0;

    OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_test(win, &flag));
    CHECK(flag == 1);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    ring(6, 0, 0);
    ring(4, MPI_MODE_NOCHECK, MPI_MODE_NOCHECK);
    ring(2, MPI_MODE_NOSTORE, 0);
    if (check_size > 1)
        star();
    all_to_all();
    empty();
    return check_end("conf_rma_pscw");
}
