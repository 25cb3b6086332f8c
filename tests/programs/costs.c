/* Instructions of messages between nodes and of collectives, counted.
 *
 *     costs [COUNT]
 *
 * Rank 0 counts what the whole instance executes, all its nodes together, while COUNT (default 2,048) of each are done, in
 * eight rounds. The least round stands for all: it is the one in which the fewest timers expired, and these expire by
 * the host's clock as well as by the count.
 *
 *     half       half a round trip of 8 bytes between ranks 0 and 1
 *     stream     a message of 8 bytes of a stream from rank 0 to rank 1
 *     long       half a round trip of 64 KiB between ranks 0 and 1 (an eighth as many)
 *     barrier    MPI_Barrier of all ranks
 *     allreduce  MPI_Allreduce of 8 bytes of all ranks
 *     self       8 bytes from rank 0 to itself: MPI_Irecv, MPI_Send, MPI_Wait
 *     both       the same: MPI_Irecv, MPI_Isend, MPI_Waitall
 *     put        MPI_Put of 8 bytes of rank 0 at rank 1, which waits for a message meanwhile
 *     fetch      MPI_Fetch_and_op of 8 bytes in the same way, with the result: MPI_Win_flush
 *
 * All but the last two are counted on MPI_COMM_WORLD, and, with "dup-" before the name, on a duplicate of it.
 *
 * Rank 0 prints them, one a line. Without an exact counter of instructions (riscv64: `instret`, in QEMU with
 * `midplane run --instances 1 --count-instructions`) the numbers mean nothing.
 *
 * Exit status: 0, or 1 if a message was wrong, or 2 for bad arguments.
 */
#include "check.h"

enum { LONG = 64 << 10, TAG = 1, WARM = 16, ROUNDS = 8 };

#ifdef __riscv
static unsigned long counted(void)
{
    unsigned long count;

    __asm__ volatile("rdinstret %0" : "=r"(count) : : "memory");
    return count;
}
#else
static unsigned long counted(void)
{
    return 0;
}
#endif

static char room[2][LONG];
static int wrong;
/* What the messages are on. */
static MPI_Comm comm;

/* The first and the last byte say which message it is. */
static void mark(char *bytes, int length, int i)
{
    bytes[0] = (char)i;
    bytes[length - 1] = (char)(i >> 8);
}

static void look(const char *bytes, int length, int i)
{
    wrong += length > 1 && (bytes[0] != (char)i || bytes[length - 1] != (char)(i >> 8));
}

static void round_trips(int count, int length)
{
    int i;

    for (i = 0; i < count; i++) {
        if (check_rank == 0) {
            mark(room[0], length, i);
            POLL(MPI_Send(room[0], length, MPI_BYTE, 1, TAG, comm));
            POLL(MPI_Recv(room[1], length, MPI_BYTE, 1, TAG, comm, MPI_STATUS_IGNORE));
            look(room[1], length, i);
        } else if (check_rank == 1) {
            POLL(MPI_Recv(room[1], length, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
            POLL(MPI_Send(room[1], length, MPI_BYTE, 0, TAG, comm));
        }
    }
}

static void half(int count)
{
    round_trips(count / 2, 8);
}

static void stream(int count)
{
    int i;

    for (i = 0; i < count; i++) {
        if (check_rank == 0) {
            mark(room[0], 8, i);
            POLL(MPI_Send(room[0], 8, MPI_BYTE, 1, TAG, comm));
        } else if (check_rank == 1) {
            POLL(MPI_Recv(room[1], 8, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
            look(room[1], 8, i);
        }
    }
    round_trips(1, 8);
}

static void long_messages(int count)
{
    round_trips(count / 2, LONG);
}

static void barrier(int count)
{
    while (count-- > 0)
        POLL(MPI_Barrier(comm));
}

static void allreduce(int count)
{
    long one, sum;

    for (one = 1; one <= count; one++) {
        POLL(MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, comm));
        wrong += sum != one * check_size;
    }
}

static void self(int count)
{
    long value, got = 0;
    MPI_Request request;

    for (value = 1; check_rank == 0 && value <= count; value++) {
        POLL(MPI_Irecv(&got, 1, MPI_LONG, 0, TAG, comm, &request));
        POLL(MPI_Send(&value, 1, MPI_LONG, 0, TAG, comm));
        POLL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        wrong += got != value;
    }
}

static void both(int count)
{
    long value, got = 0;
    MPI_Request requests[2];

    for (value = 1; check_rank == 0 && value <= count; value++) {
        POLL(MPI_Irecv(&got, 1, MPI_LONG, 0, TAG, comm, &requests[0]));
        POLL(MPI_Isend(&value, 1, MPI_LONG, 0, TAG, comm, &requests[1]));
        POLL(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        wrong += got != value;
    }
}

/* What rank 0 does at rank 1. */
static MPI_Win win;
static long *counter;

static void put(int count)
{
    long value;

    for (value = 1; check_rank == 0 && value <= count; value++)
        POLL(MPI_Put(&value, 1, MPI_LONG, 1, 1, 1, MPI_LONG, win));
    if (check_rank == 0)
        POLL(MPI_Win_flush(1, win));
    round_trips(1, 8);
    wrong += check_rank == 1 && counter[1] != count;
}

static void fetch(int count)
{
    static long next;
    long one = 1, was;

    for (; check_rank == 0 && count > 0; count--, next++) {
        POLL(MPI_Fetch_and_op(&one, &was, MPI_LONG, 1, 0, MPI_SUM, win));
        POLL(MPI_Win_flush(1, win));
        wrong += was != next;
    }
    round_trips(1, 8);
}

/* What each of `count` takes in the least round, those of the first ones left out. */
static void count_one(const char *name, void (*run)(int), int count)
{
    unsigned long begin, round, least = -1UL;
    int i;

    run(WARM);
    count /= ROUNDS;
    for (i = 0; i < ROUNDS; i++) {
        POLL(MPI_Barrier(MPI_COMM_WORLD));
        begin = counted();
        run(count);
        round = counted() - begin;
        least = round < least ? round : least;
    }
    POLL(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0)
        printf("costs: %s%s %lu\n", comm == MPI_COMM_WORLD ? "" : "dup-", name, least / (unsigned long)count);
}

int main(int argc, char **argv)
{
    int count, i;
    MPI_Comm duplicate;

    check_start(&argc, &argv);
    count = argc == 2 ? atoi(argv[1]) : 2048;
    if (argc > 2 || count < 128) {
        if (check_rank == 0)
            fprintf(stderr, "usage: costs [COUNT], with COUNT at least 128\n");
        MPI_Finalize();
        return 2;
    }
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &duplicate));
    for (i = 0; i < 2; i++) {
        comm = i ? duplicate : MPI_COMM_WORLD;
        if (check_size > 1) {
            count_one("half", half, count);
            count_one("stream", stream, count);
            count_one("long", long_messages, count / 8);
        }
        count_one("barrier", barrier, count);
        count_one("allreduce", allreduce, count);
        count_one("self", self, count);
        count_one("both", both, count);
    }
    comm = MPI_COMM_WORLD;
    OK(MPI_Comm_free(&duplicate));
    if (check_size > 1) {
        OK(MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &win));
        counter[0] = 0;
        OK(MPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Win_lock_all(0, win));
        count_one("put", put, count);
        count_one("fetch", fetch, count);
        OK(MPI_Win_unlock_all(win));
        OK(MPI_Win_free(&win));
    }
    CHECK(wrong == 0);
    return check_end("costs");
}
