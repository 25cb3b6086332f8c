/* Locks and flushes (MPI-3.1 sections 11.5.3 and 11.5.4), and operations with requests (11.3.5). */
#include "check.h"

/* Counters under exclusive locks: read, then written, so that any two at once would lose one. */
static void exclusive(void)
{
    enum { N = 15 };
    long *base, value;
    MPI_Win win;
    int i, target;

    OK(MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, win));
    base[0] = base[1] = 0;
    OK(MPI_Win_unlock(check_rank, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (i = 0; i < N; i++) {
        target = i % 3 == 0 ? 0 : (check_rank + i) % check_size;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
        OK(MPI_Get(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
        OK(MPI_Win_flush(target, win));
        value++;
        OK(MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, win));
        OK(MPI_Win_unlock(target, win));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
    value = base[0];
    OK(MPI_Win_unlock(check_rank, win));
    {
        long sum = 0;

        OK(MPI_Allreduce(&value, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == (long)N * check_size);
    }
    OK(MPI_Win_free(&win));
}

/* Shared locks at several targets at once, with each kind of flush. */
static void shared(void)
{
    int *base, i, got[4], round;
    MPI_Win win;

    OK(MPI_Win_allocate((check_size + 1) * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    memset(base, 0, (check_size + 1) * sizeof(int));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (i = 0; i < check_size; i++)
        OK(MPI_Win_lock(MPI_LOCK_SHARED, i, i % 2 ? MPI_MODE_NOCHECK : 0, win));
    for (round = 0; round < 4; round++) {
        for (i = 0; i < check_size; i++) {
            int value = 1 + round * 10 + check_rank, one = 1;

            OK(MPI_Put(&value, 1, MPI_INT, i, check_rank, 1, MPI_INT, win));
            OK(MPI_Accumulate(&one, 1, MPI_INT, i, check_size, 1, MPI_INT, MPI_SUM, win));
            if (round == 0)
                OK(MPI_Win_flush(i, win));
            if (round == 1)
                OK(MPI_Win_flush_local(i, win));
            got[round] = -1;
            OK(MPI_Get(&got[round], 1, MPI_INT, i, check_rank, 1, MPI_INT, win));
            OK(round % 2 ? MPI_Win_flush_local(i, win) : MPI_Win_flush(i, win));
            CHECK(got[round] == value);
        }
        OK(round % 2 ? MPI_Win_flush_all(win) : MPI_Win_flush_local_all(win));
    }
    for (i = check_size - 1; i >= 0; i--)
        OK(MPI_Win_unlock(i, win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (i = 0; i < check_size; i++)
        CHECK(base[i] == 31 + i);
    CHECK(base[check_size] == 4 * check_size);
    OK(MPI_Win_free(&win));
}

/* One epoch for all, and a rank that waits for a value in its own window. */
static void all(int assert)
{
    int *base, i, right = (check_rank + 1) % check_size;
    MPI_Win win;

    OK(MPI_Win_allocate(3 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    base[0] = base[1] = base[2] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(assert, win));
    for (i = 1; i <= 5; i++) {
        OK(MPI_Put(&i, 1, MPI_INT, right, 0, 1, MPI_INT, win));
        OK(MPI_Win_flush(right, win));
        while (*(volatile int *)base < i)
            POLL(MPI_Win_sync(win));
    }
    OK(MPI_Win_flush_all(win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(base[0] == 5 && base[1] == 0);
    OK(MPI_Win_free(&win));
}

/* A target that computes, and calls nothing for as long as others work on its window. */
static void busy(void)
{
    long *base, value;
    MPI_Win win;
    int i;

    OK(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    base[0] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0) {
        volatile double x = 1;

        for (i = 0; i < 200000; i++)
            x = x * 1.0000001 + 1e-9;
        CHECK(x > 1);
    } else {
        for (i = 0; i < 10; i++) {
            long one = 1;

            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            OK(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
            OK(MPI_Win_flush(0, win));
            OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
            OK(MPI_Win_unlock(0, win));
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0)
        CHECK(base[0] == 10L * (check_size - 1));
    OK(MPI_Win_free(&win));
}

static void requests(void)
{
    enum { N = 40 };
    int *base, i, right = (check_rank + 1) % check_size, values[N], got[N], sums[N];
    MPI_Request request[3 * N];
    MPI_Status status;
    MPI_Win win;

    OK(MPI_Win_allocate(2 * N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    for (i = 0; i < 2 * N; i++)
        base[i] = i;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    for (i = 0; i < N; i++) {
        values[i] = 1000 + i;
        OK(MPI_Rput(&values[i], 1, MPI_INT, right, i, 1, MPI_INT, win, &request[i]));
    }
    OK(MPI_Waitall(N, request, MPI_STATUSES_IGNORE));
    CHECK(request[0] == MPI_REQUEST_NULL);
    OK(MPI_Win_flush(right, win));
    for (i = 0; i < N; i++) {
        OK(MPI_Rget(&got[i], 1, MPI_INT, right, i, 1, MPI_INT, win, &request[3 * i]));
        OK(MPI_Raccumulate(&values[i], 1, MPI_INT, right, N + i, 1, MPI_INT, MPI_SUM, win, &request[3 * i + 1]));
        OK(MPI_Rget_accumulate(NULL, 0, MPI_INT, &sums[i], 1, MPI_INT, right, N + i, 1, MPI_INT, MPI_NO_OP, win,
                               &request[3 * i + 2]));
    }
    OK(MPI_Waitall(3 * N, request, MPI_STATUSES_IGNORE));
    for (i = 0; i < N; i++)
        CHECK(got[i] == 1000 + i && sums[i] == N + i + 1000 + i);
    OK(MPI_Rput(&values[0], 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request[0]));
    OK(MPI_Wait(&request[0], &status));
    OK(MPI_Rget(&values[0], 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request[0]));
    OK(MPI_Wait(&request[0], &status));
    OK(MPI_Win_unlock(right, win));
    OK(MPI_Win_free(&win));
}

/* Readers and writers of one target, and messages beside them. */
static void mixed(void)
{
    enum { N = 12 };
    long *base, pair[2];
    int i, message, right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Win win;

    OK(MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    base[0] = base[1] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (i = 0; i < N; i++) {
        if ((check_rank + i) % 3 == 0) {
            pair[0] = pair[1] = 100L * check_rank + i;
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
            OK(MPI_Put(&pair[0], 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
            OK(MPI_Put(&pair[1], 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
        } else {
            pair[0] = -1;
            pair[1] = -2;
            OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
            OK(MPI_Get(&pair[0], 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
            OK(MPI_Get(&pair[1], 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
        }
        OK(MPI_Win_unlock(0, win));
        CHECK(pair[0] == pair[1]);
        OK(MPI_Sendrecv(&i, 1, MPI_INT, right, 0, &message, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(message == i);
    }
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    exclusive();
    shared();
    all(0);
    all(MPI_MODE_NOCHECK);
    busy();
    requests();
    mixed();
    return check_end("conf_rma_passive");
}
