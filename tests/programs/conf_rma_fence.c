/* Windows and fences (MPI-3.1 sections 11.2 and 11.5.1): put, get and accumulate, of any length, from all to all. */
#include "check.h"

#define MOST 5000

static unsigned char *memory;

static void made_and_freed(void)
{
    MPI_Win win, other;
    MPI_Comm comm;
    int value = 7, i;

    OK(MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    CHECK(win != MPI_WIN_NULL);
    OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &other));
    CHECK(other != win);
    OK(MPI_Win_free(&other));
    CHECK(other == MPI_WIN_NULL);
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &comm));
    for (i = 0; i < 20; i++) {
        int *base, rank, size, right;

        OK(MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &base, &win));
        OK(MPI_Comm_rank(comm, &rank));
        OK(MPI_Comm_size(comm, &size));
        base[0] = base[1] = -1;
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
        right = (rank + 1) % size;
        value = 100 * i + rank;
        OK(MPI_Put(&value, 1, MPI_INT, right, 1, 1, MPI_INT, win));
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE, win));
        CHECK(base[0] == -1 && base[1] == 100 * i + (rank + size - 1) % size);
        OK(MPI_Win_free(&win));
    }
    OK(MPI_Comm_free(&comm));
}

/* Every rank puts a block of this many bytes into its place at every other one, and gets it back. */
static void blocks(MPI_Win win, int bytes)
{
    unsigned char *mine = check_room(bytes), *back = check_room(bytes);
    int rank;

    check_fill(mine, bytes, check_rank, bytes);
    OK(MPI_Win_fence(0, win));
    for (rank = 0; rank < check_size; rank++)
        OK(MPI_Put(mine, bytes, MPI_BYTE, (rank + check_rank) % check_size, (MPI_Aint)check_rank * MOST, bytes, MPI_BYTE,
                   win));
    OK(MPI_Win_fence(0, win));
    for (rank = 0; rank < check_size; rank++)
        CHECK(check_wrong(memory + (size_t)rank * MOST, bytes, rank, bytes) == 0);
    OK(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win));
    for (rank = 0; rank < check_size; rank++) {
        int from = (rank + check_rank) % check_size;

        memset(back, 0, bytes);
        OK(MPI_Get(back, bytes, MPI_BYTE, from, (MPI_Aint)check_rank * MOST, bytes, MPI_BYTE, win));
        OK(MPI_Win_fence(0, win));
        CHECK(check_wrong(back, bytes, check_rank, bytes) == 0);
    }
    free(mine);
    free(back);
}

static void lengths(void)
{
    static const int bytes[] = {0, 1, 7, 8, 15, 16, 17, 31, 32, 100, 223, 224, 225, 239, 240, 1000, 4999, MOST};
    MPI_Win win;
    unsigned i;

    memory = check_room((size_t)check_size * MOST);
    memset(memory, 0, (size_t)check_size * MOST);
    OK(MPI_Win_create(memory, (MPI_Aint)check_size * MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    for (i = 0; i < sizeof bytes / sizeof bytes[0]; i++)
        blocks(win, bytes[i]);
    OK(MPI_Win_free(&win));
    free(memory);
}

/* Thousands of small operations at once, from all to rank 0 and from all to all. */
static void many(void)
{
    enum { N = 300 };
    long *base, *got = check_room(N * sizeof(long));
    MPI_Win win;
    int i, round;

    OK(MPI_Win_allocate((MPI_Aint)check_size * N * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                        &win));
    for (round = 0; round < 2; round++) {
        memset(base, 0, (size_t)check_size * N * sizeof(long));
        OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
        for (i = 0; i < N; i++) {
            long value = 1000L * check_rank + i, one = 1;
            int target = round == 0 ? 0 : (check_rank + i) % check_size;

            OK(MPI_Put(&value, 1, MPI_LONG, target, (MPI_Aint)check_rank * N + i, 1, MPI_LONG, win));
            OK(MPI_Accumulate(&one, 1, MPI_LONG, target, (MPI_Aint)check_rank * N + i, 1, MPI_LONG, MPI_SUM, win));
        }
        OK(MPI_Win_fence(0, win));
        for (i = 0; i < N; i++)
            got[i] = -1;
        for (i = 0; i < N; i++) {
            int target = round == 0 ? 0 : (check_rank + i) % check_size;

            OK(MPI_Get(&got[i], 1, MPI_LONG, target, (MPI_Aint)check_rank * N + i, 1, MPI_LONG, win));
        }
        OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        for (i = 0; i < N; i++)
            CHECK(got[i] == 1000L * check_rank + i + 1);
    }
    OK(MPI_Win_free(&win));
    free(got);
}

/* Long blocks in both directions, beside messages. */
static void long_blocks(void)
{
    enum { N = 1 << 17 };
    unsigned char *base, *mine = check_room(N), *other = check_room(N);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Request requests[2];
    MPI_Win win;

    OK(MPI_Win_allocate(N, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    memset(base, 0, N);
    check_fill(mine, N, check_rank, 1);
    OK(MPI_Win_fence(0, win));
    OK(MPI_Irecv(other, N, MPI_BYTE, left, 3, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(mine, N, MPI_BYTE, right, 3, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Put(mine, N, MPI_BYTE, right, 0, N, MPI_BYTE, win));
    OK(MPI_Win_fence(0, win));
    CHECK(check_wrong(base, N, left, 1) == 0);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(check_wrong(other, N, left, 1) == 0);
    memset(other, 0, N);
    OK(MPI_Get(other, N, MPI_BYTE, right, 0, N, MPI_BYTE, win));
    OK(MPI_Win_fence(0, win));
    CHECK(memcmp(other, mine, N) == 0);
    OK(MPI_Win_free(&win));
    free(mine);
    free(other);
}

static void nowhere(void)
{
    MPI_Win win;
    int value = 3;

    OK(MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 99, 1, MPI_INT, win));
    OK(MPI_Get(&value, 1, MPI_INT, MPI_PROC_NULL, 99, 1, MPI_INT, win));
    OK(MPI_Accumulate(&value, 1, MPI_INT, MPI_PROC_NULL, 99, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_fence(0, win));
    CHECK(value == 3);
    OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    made_and_freed();
    lengths();
    many();
    long_blocks();
    nowhere();
    return check_end("conf_rma_fence");
}
