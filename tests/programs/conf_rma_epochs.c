/* Epochs that are opened, closed and flushed without blocking: an extension (mpi.h), of which other MPIs have nothing
 * that could be checked. */
#include "check.h"

#if defined(MPIX_Win_ipost)

#define ROUNDS 4

static int left, right;

static MPI_Group one_of(MPI_Win win, int rank)
{
    MPI_Group all, one;

    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &rank, &one));
    OK(MPI_Group_free(&all));
    return one;
}

static void wait_for(int n, MPI_Request *requests)
{
    int i;

    OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
    for (i = 0; i < n; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
}

static MPI_Win window(int ints, int **base, const char *key)
{
    MPI_Info info = MPI_INFO_NULL;
    MPI_Win win;
    int i;

    if (key) {
        OK(MPI_Info_create(&info));
        OK(MPI_Info_set(info, key, "1"));
    }
    OK(MPI_Win_allocate(ints * (MPI_Aint)sizeof(int), sizeof(int), info, MPI_COMM_WORLD, base, &win));
    if (key)
        OK(MPI_Info_free(&info));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    for (i = 0; i < ints; i++)
        (*base)[i] = -1;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return win;
}

/* Each pair of neighbours posts and starts, several epochs one behind the other, and waits for nothing until the end. */
static void posts(const char *key)
{
    int *base, values[ROUNDS][2], got[ROUNDS], i;
    MPI_Request requests[4 * ROUNDS];
    MPI_Win win = window(2 * ROUNDS, &base, key);
    MPI_Group from = one_of(win, left), to = one_of(win, right);

    for (i = 0; i < ROUNDS; i++) {
        values[i][0] = 10 * check_rank + i;
        values[i][1] = -i;
        got[i] = -7;
        OK(MPI_Win_ipost(from, 0, win, &requests[4 * i]));
        OK(MPI_Win_istart(to, 0, win, &requests[4 * i + 1]));
        OK(MPI_Put(values[i], 2, MPI_INT, right, 2 * i, 2, MPI_INT, win));
        if (i > 0)
            OK(MPI_Get(&got[i], 1, MPI_INT, right, 2 * (i - 1), 1, MPI_INT, win));
        OK(MPI_Win_icomplete(win, &requests[4 * i + 2]));
        OK(MPI_Win_iwait(win, &requests[4 * i + 3]));
    }
    wait_for(4 * ROUNDS, requests);
    for (i = 0; i < ROUNDS; i++) {
        CHECK(base[2 * i] == 10 * left + i && base[2 * i + 1] == -i);
        CHECK(i == 0 || got[i] == 10 * check_rank + i - 1);
    }
    OK(MPI_Group_free(&from));
    OK(MPI_Group_free(&to));
    OK(MPI_Win_free(&win));
}

/* A target that is late, and an origin that goes on meanwhile; the blocking calls of the other side match. */
static void late(void)
{
    int *base, value = 5 + check_rank, flag = 0;
    MPI_Request requests[2];
    MPI_Win win = window(1, &base, NULL);

    if (check_size > 1 && check_rank == 0) {
        MPI_Group to = one_of(win, 1);

        OK(MPIX_Win_istart(to, 0, win, &requests[0]));
        OK(MPI_Accumulate(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win));
        OK(MPIX_Win_icomplete(win, &requests[1]));
        OK(MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
        OK(MPI_Send(NULL, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD));
        wait_for(2, requests);
        OK(MPI_Group_free(&to));
    } else if (check_rank == 1) {
        MPI_Group from = one_of(win, 0);

        OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(base[0] == -1);
        OK(MPI_Win_post(from, 0, win));
        OK(MPI_Win_wait(win));
        CHECK(base[0] == 4);
        OK(MPI_Group_free(&from));
    }
    OK(MPI_Win_free(&win));
}

/* Fences one behind the other, half of them closed at once, with a datatype that has holes on both sides. */
static void fences(void)
{
    int *base, values[2 * ROUNDS][4], i, j;
    MPI_Request requests[2 * ROUNDS + 1];
    MPI_Datatype pairs;
    MPI_Win win = window(8 * ROUNDS, &base, NULL);

    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &pairs));
    OK(MPI_Type_commit(&pairs));
    OK(MPI_Win_ifence(MPI_MODE_NOPRECEDE, win, &requests[0]));
    for (i = 0; i < 2 * ROUNDS; i++) {
        for (j = 0; j < 4; j++)
            values[i][j] = 100 * check_rank + 10 * i + j;
        OK(MPI_Put(values[i], 1, pairs, right, 4 * i, 1, pairs, win));
        OK(MPI_Accumulate(&values[i][1], 1, MPI_INT, right, 4 * i + 1, 1, MPI_INT, MPI_REPLACE, win));
        if (i % 2)
            OK(MPI_Win_ifence(i == 2 * ROUNDS - 1 ? MPI_MODE_NOSUCCEED : 0, win, &requests[i + 1]));
        else {
            OK(MPI_Win_fence(0, win));
            requests[i + 1] = MPI_REQUEST_NULL;
        }
    }
    OK(MPI_Type_free(&pairs));
    wait_for(2 * ROUNDS + 1, requests);
    for (i = 0; i < 2 * ROUNDS; i++)
        for (j = 0; j < 4; j++)
            CHECK(base[4 * i + j] == (j == 3 ? -1 : 100 * left + 10 * i + j));
    OK(MPI_Win_free(&win));
}

/* Transactions on all others, each under a lock of its own, and none of them waited for; fetches find what is there. */
static void locks(const char *key)
{
    int *base, i, one = 1, sum, total = 2 * check_size, *before = check_room(total * sizeof(int));
    MPI_Request *requests = check_room(3 * total * sizeof(MPI_Request));
    MPI_Win win = window(2, &base, key);

    base[0] = base[1] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (i = 0; i < total; i++) {
        int target = (check_rank + i) % check_size;

        OK(MPI_Win_ilock(i % 3 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win, &requests[3 * i]));
        OK(MPI_Fetch_and_op(&one, &before[i], MPI_INT, target, 0, MPI_SUM, win));
        OK(MPI_Win_iflush(target, win, &requests[3 * i + 1]));
        OK(MPI_Accumulate(&one, 1, MPI_INT, target, 1, 1, MPI_INT, MPI_SUM, win));
        OK(MPI_Win_iunlock(target, win, &requests[3 * i + 2]));
    }
    wait_for(3 * total, requests);
    for (i = 0; i < total; i++)
        CHECK(before[i] >= 0 && before[i] < total);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, win));
    sum = -1;
    OK(MPI_Get(&sum, 1, MPI_INT, right, 0, 1, MPI_INT, win));
    OK(MPI_Win_flush_local(right, win));
    CHECK(sum == total);
    OK(MPI_Win_unlock_all(win));
    CHECK(base[0] == total && base[1] == total);
    OK(MPI_Win_free(&win));
    free(before);
    free(requests);
}

/* The lock of all; requests of operations, which are all complete before the epoch ends; compare and swap. */
static void everyone(void)
{
    enum { LONG = 3000 };
    int *base, i, n = 0, new = 9, old = -1, swapped = -5, *data = check_room(LONG * sizeof(int));
    int *got = check_room(LONG * sizeof(int)), sums[2] = {-3, -3}, twos[2] = {2, 2};
    MPI_Request requests[8];
    MPI_Win win = window(LONG + 3, &base, NULL);

    for (i = 0; i < LONG; i++)
        data[i] = i + check_rank;
    OK(MPI_Win_ilock_all(0, win, &requests[n++]));
    OK(MPI_Rput(data, LONG, MPI_INT, right, 0, LONG, MPI_INT, win, &requests[n++]));
    OK(MPI_Raccumulate(twos, 2, MPI_INT, right, LONG, 2, MPI_INT, MPI_SUM, win, &requests[n++]));
    OK(MPI_Compare_and_swap(&new, &old, &swapped, MPI_INT, right, LONG + 2, win));
    OK(MPI_Win_iflush_all(win, &requests[n++]));
    wait_for(n, requests);
    CHECK(swapped == -1);
    n = 0;
    OK(MPI_Rget(got, LONG, MPI_INT, right, 0, LONG, MPI_INT, win, &requests[n++]));
    OK(MPI_Rget_accumulate(twos, 2, MPI_INT, sums, 2, MPI_INT, right, LONG, 2, MPI_INT, MPI_NO_OP, win,
                           &requests[n++]));
    OK(MPI_Win_iflush_local(right, win, &requests[n++]));
    OK(MPI_Win_iflush_local_all(win, &requests[n++]));
    wait_for(n, requests);
    for (i = 0; i < LONG; i++)
        CHECK(got[i] == i + check_rank);
    CHECK(sums[0] == 1 && sums[1] == 1);
    OK(MPI_Win_iunlock_all(win, &requests[0]));
    wait_for(1, requests);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(base[LONG + 2] == 9 && base[LONG] == 1 && base[7] == 7 + left);
    OK(MPI_Win_free(&win));
    free(data);
    free(got);
}

/* A window is freed with requests that nothing has waited for. */
static void freed(void)
{
    int *base, value = 3;
    MPI_Request requests[2];
    MPI_Win win = window(1, &base, NULL);

    OK(MPI_Win_ilock(MPI_LOCK_SHARED, right, 0, win, &requests[0]));
    OK(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win));
    OK(MPI_Win_iunlock(right, win, &requests[1]));
    OK(MPI_Win_free(&win));
    wait_for(2, requests);
}

static void errors(void)
{
    int *base, value = 1;
    MPI_Request request = MPI_REQUEST_NULL, other;
    MPI_Win win = window(1, &base, NULL);
    MPI_Group group = one_of(win, right);
    MPI_Info info;
    char text[8];
    int flag;

    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_icomplete(win, &request));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_iwait(win, &request));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_iunlock(right, win, &request));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_iunlock_all(win, &request));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_iflush(right, win, &request));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_iflush_all(win, &request));
    FAILS(MPI_ERR_ASSERT, MPI_Win_ifence(1 << 20, win, &request));
    FAILS(MPI_ERR_ASSERT, MPI_Win_istart(group, MPI_MODE_NOPUT, win, &request));
    FAILS(MPI_ERR_ASSERT, MPI_Win_ipost(group, MPI_MODE_NOSUCCEED, win, &request));
    FAILS(MPI_ERR_LOCKTYPE, MPI_Win_ilock(77, right, 0, win, &request));
    FAILS(MPI_ERR_RANK, MPI_Win_ilock(MPI_LOCK_SHARED, check_size, 0, win, &request));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_WIN, MPI_Win_ilock_all(0, MPI_WIN_NULL, &request));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Win_ilock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win, &request));
    wait_for(1, &request);
    OK(MPI_Win_ilock(MPI_LOCK_SHARED, right, 0, win, &request));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_ilock(MPI_LOCK_SHARED, right, 0, win, &other));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_istart(group, 0, win, &other));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_ifence(0, win, &other));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_INT, right, 1, 1, MPI_INT, win));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&request));
    FAILS(MPI_ERR_REQUEST, MPI_Request_free(&request));
    OK(MPI_Win_iunlock(right, win, &other));
    wait_for(1, &request);
    wait_for(1, &other);
    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, "MPI_WIN_ACCESS_AFTER_ACCESS_REORDER", 7, text, &flag));
    CHECK(flag && !strcmp(text, "false"));
    OK(MPI_Info_set(info, "MPI_WIN_ACCESS_AFTER_ACCESS_REORDER", "true"));
    OK(MPI_Win_set_info(win, info));
    OK(MPI_Info_free(&info));
    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get(info, "MPI_WIN_ACCESS_AFTER_ACCESS_REORDER", 7, text, &flag));
    CHECK(flag && !strcmp(text, "true"));
    OK(MPI_Info_free(&info));
    OK(MPI_Group_free(&group));
    OK(MPI_Win_free(&win));
}

/* In a dynamic window the target finds out, and the request that ends the epoch tells. */
static void faults(void)
{
    int here = -1, value = 1;
    MPI_Aint place, at;
    MPI_Request request;
    MPI_Win win;

    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_attach(win, &here, sizeof(here)));
    OK(MPI_Get_address(&here, &place));
    OK(MPI_Sendrecv(&place, 1, MPI_AINT, left, 0, &at, 1, MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Win_ilock(MPI_LOCK_EXCLUSIVE, right, 0, win, &request));
    wait_for(1, &request);
    OK(MPI_Put(&value, 1, MPI_INT, right, at, 1, MPI_INT, win));
    OK(MPI_Put(&value, 1, MPI_INT, right, at + 4096, 1, MPI_INT, win));
    OK(MPI_Win_iunlock(right, win, &request));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(here == 1);
    OK(MPI_Win_free(&win));
}

#endif

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
#if defined(MPIX_Win_ipost)
    left = (check_rank + check_size - 1) % check_size;
    right = (check_rank + 1) % check_size;
    posts(NULL);
    posts("MPI_WIN_EXPOSURE_AFTER_EXPOSURE_REORDER");
    late();
    fences();
    locks(NULL);
    locks("MPI_WIN_ACCESS_AFTER_ACCESS_REORDER");
    everyone();
    freed();
    errors();
    faults();
#endif
    return check_end("conf_rma_epochs");
}
