/* Errors of one-sided calls, by class (MPI-3.1 section 11.6), and that the window works on after them. */
#include "check.h"

static int memory[16];
static MPI_Win win;

static void arguments(void)
{
    MPI_Win none = MPI_WIN_NULL, other;
    void *base;
    MPI_Comm sharing;
    int value = 0, sharers = 0;

    FAILS(MPI_ERR_SIZE, MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &other));
    FAILS(MPI_ERR_DISP, MPI_Win_create(memory, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &other));
    FAILS(MPI_ERR_BASE, MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &other));
    FAILS(MPI_ERR_COMM, MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &other));
    FAILS(MPI_ERR_INFO, MPI_Win_create(memory, 8, 1, (MPI_Info)12345, MPI_COMM_WORLD, &other));
    FAILS(MPI_ERR_ARG, MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_SIZE, MPI_Win_allocate(-8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other));
    FAILS(MPI_ERR_DISP, MPI_Win_allocate(8, -1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &sharing));
    OK(MPI_Comm_size(sharing, &sharers));
    OK(MPI_Comm_free(&sharing));
    if (sharers < check_size)
        FAILS(MPI_ERR_RMA_SHARED, MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other));
    FAILS(MPI_ERR_WIN, MPI_Win_free(&none));
    FAILS(MPI_ERR_WIN, MPI_Win_fence(0, MPI_WIN_NULL));
    FAILS(MPI_ERR_WIN, MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, (MPI_Win)99));
    FAILS(MPI_ERR_WIN, MPI_Win_sync(MPI_WIN_NULL));
    FAILS(MPI_ERR_ASSERT, MPI_Win_fence(1, win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_fence(MPI_MODE_NOCHECK, win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_post(MPI_GROUP_EMPTY, MPI_MODE_NOSUCCEED, win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_start(MPI_GROUP_EMPTY, -1, win));
    FAILS(MPI_ERR_LOCKTYPE, MPI_Win_lock(0, 0, 0, win));
    FAILS(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, check_size, 0, win));
    FAILS(MPI_ERR_GROUP, MPI_Win_start(MPI_GROUP_NULL, 0, win));
}

static void operations(void)
{
    int value = 1;
    MPI_Request request;
    double real = 1;
    MPI_Datatype made;

    OK(MPI_Win_fence(0, win));
    FAILS(MPI_ERR_RANK, MPI_Put(&value, 1, MPI_INT, check_size, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_RANK, MPI_Get(&value, 1, MPI_INT, -7, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_COUNT, MPI_Put(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_COUNT, MPI_Put(&value, 1, MPI_INT, 0, 0, -1, MPI_INT, win));
    FAILS(MPI_ERR_TYPE, MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win));
    OK(MPI_Type_contiguous(2, MPI_INT, &made));
    FAILS(MPI_ERR_TYPE, MPI_Put(&value, 1, MPI_INT, 0, 0, 1, made, win));
    OK(MPI_Type_free(&made));
    FAILS(MPI_ERR_DISP, MPI_Put(&value, 1, MPI_INT, 0, -1, 1, MPI_INT, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_INT, 0, 16, 1, MPI_INT, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Get(memory, 16, MPI_INT, 0, 1, 16, MPI_INT, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Accumulate(&value, 1, MPI_INT, 0, (MPI_Aint)1 << 61, 1, MPI_INT, MPI_SUM, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&real, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_BAND, win));
    if (!IS_MPICH) {
        /* Without elements, the operation need not apply to the datatype. */
        OK(MPI_Accumulate(&value, 0, MPI_BYTE, check_size - 1, 0, 0, MPI_BYTE, MPI_SUM, win));
        OK(MPI_Get_accumulate(&value, 0, MPI_BYTE, &real, 0, MPI_BYTE, check_size - 1, 0, 0, MPI_BYTE, MPI_PROD, win));
    }
    FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(&real, &real, &real, MPI_DOUBLE, 0, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Rput(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush(0, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

static void synchronization(void)
{
    int value = 1, flag, right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Group all, to, from;

    FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_test(win, &flag));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush_local(0, win));

    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    if (check_size > 1) {
        FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_INT, check_rank, 0, 1, MPI_INT, win));
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(check_rank, win));
        FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush(check_rank, win));
    }
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    OK(MPI_Win_unlock(right, win));

    OK(MPI_Win_lock_all(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(right, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    OK(MPI_Win_unlock_all(win));

    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &right, &to));
    OK(MPI_Group_incl(all, 1, &left, &from));
    OK(MPI_Win_post(from, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_post(from, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    OK(MPI_Win_start(to, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_start(to, 0, win));
    if (check_size > 1)
        FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_INT, check_rank, 0, 1, MPI_INT, win));
    OK(MPI_Put(&check_rank, 1, MPI_INT, right, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    CHECK(memory[0] == left);
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&to));
    OK(MPI_Group_free(&from));

    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    OK(MPI_Win_unlock(right, win));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    arguments();
    operations();
    synchronization();
    OK(MPI_Win_free(&win));
    return check_end("conf_rma_errors");
}
