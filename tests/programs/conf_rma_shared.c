/* Windows of memory that several processes share (MPI-3.1 section 11.2.3): the processes that MPI_Comm_split_type groups, all
 * of a host, or one. Loads and stores, and one-sided operations, reach the same memory.
 */
#include "check.h"

#include <stdint.h>

static MPI_Comm node;
static int rank, size;

/* Rank 1 has an empty part. */
static MPI_Aint part_bytes(int of)
{
    return of == 1 ? 0 : (MPI_Aint)sizeof(int) * 2 * (of + 1);
}

static void share(const char *gaps)
{
    MPI_Info info;
    MPI_Win win;
    MPI_Aint bytes;
    int *base, *part, unit, *flavor, flag, k, i, old;
    const int one = 1;
    char *end = NULL;

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "alloc_shared_noncontig", gaps));
    OK(MPI_Win_allocate_shared(part_bytes(rank), sizeof(int), info, node, &base, &win));
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag));
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_SHARED);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &flavor, &flag));
    CHECK(flag && *flavor == MPI_WIN_UNIFIED);
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (i = 0; i < part_bytes(rank) / (int)sizeof(int); i++) base[i] = 100 * rank + i;
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(node));
    OK(MPI_Win_sync(win));
    for (k = 0; k < size; k++) {
        OK(MPI_Win_shared_query(win, k, &bytes, &unit, &part));
        CHECK(bytes == part_bytes(k) && unit == (int)sizeof(int));
        CHECK(k != rank || bytes == 0 || part == base);
        if (bytes == 0) continue;
        CHECK(strcmp(gaps, "false") || end == NULL || (char *)part == end);
        end = (char *)part + bytes;
        for (i = 0; i < bytes / (int)sizeof(int); i++) CHECK(part[i] == 100 * k + i);
    }
    OK(MPI_Barrier(node));
    /* Stores into the part of the next process. */
    k = (rank + 1) % size;
    OK(MPI_Win_shared_query(win, k, &bytes, &unit, &part));
    if (bytes > 0) part[1] = -k;
    OK(MPI_Win_sync(win));
    OK(MPI_Barrier(node));
    OK(MPI_Win_sync(win));
    CHECK(part_bytes(rank) == 0 || base[1] == -rank);
    /* One-sided operations beside. */
    for (i = 0; i < 20; i++) {
        OK(MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, win));
        OK(MPI_Win_flush(0, win));
    }
    OK(MPI_Barrier(node));
    OK(MPI_Win_sync(win));
    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &part));
    CHECK(bytes == part_bytes(0) && part[0] == 20 * size);
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Aint bytes;
    void *base;
    int i, unit;

    check_start(&argc, &argv);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_rank(node, &rank));
    OK(MPI_Comm_size(node, &size));
    share("false");
    share("true");
    OK(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN));
    /* Too much memory is an error of all processes, and the job goes on. */
    if (!IS_MPICH) FAILS(MPI_ERR_NO_MEM, MPI_Win_allocate_shared((MPI_Aint)1 << 30 << (sizeof(void *) > 4 ? 20 : 0), 1,
                                                                 MPI_INFO_NULL, node, &base, &win));
    /* No process has memory. Windows return theirs: more of them than fit at one time. */
    OK(MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, node, &base, &win));
    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &base));
    CHECK(bytes == 0);
    OK(MPI_Win_free(&win));
    for (i = 0; i < 64; i++) {
        OK(MPI_Win_allocate_shared(1 << 20, 1, MPI_INFO_NULL, node, &base, &win));
        ((char *)base)[(1 << 20) - 1] = 1;
        OK(MPI_Win_free(&win));
    }
    OK(MPI_Comm_free(&node));
    return check_end("conf_rma_shared");
}
