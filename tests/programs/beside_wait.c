/* What a transfer takes of a process that computes meanwhile, and what it waits for behind it, counted.
 *
 *     beside_wait overlap [BYTES [TURNS]]    a message from rank 0 to rank 1, what MPI_Wait takes behind computing
 *     beside_wait blocking [ROUNDS]          a pipeline of all ranks that compute between receives that block
 *
 * For QEMU, one instance with `--count-instructions`: there time goes by the count of instructions, which are read from
 * `instret`. The latter is the least count of some rounds, the one in which the fewest timers expired.
 *
 * overlap: BYTES (default 1 MiB), one side 40 us before the other, both ways; each side computes for TURNS times what
 * the transfer takes alone (default 2). Printed for each order and side, in nanoseconds of the node's clock: the transfer,
 * the wait behind the computation, what of the transfer that hides in percent, how much longer computing took, and all of it.
 *
 * blocking: each rank receives 2 KiB from the one before, computes, and sends 2 KiB to the next, ROUNDS times (default
 * 200). Rank 0 prints the instructions of the whole instance.
 */
#include "check.h"
#include <time.h>

enum { TAG = 1, LAG = 4, PIPELINE = 2048, TRIES = 5, LOOPS = 100000, SLICE_NS = 5000, SLICES = 200 };

static volatile unsigned sink;

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

static void compute(long loops)
{
    unsigned work = sink;

    while (loops-- > 0)
        work = work * 1664525u + 1013904223u;
    sink = work;
}

/* So many slices of computing. QEMU gives the nodes of an instance the processor by turns, the next one when one sleeps: so
 * each computes for half of the time, and the other one, or what interrupts it, has the other half. */
static void compute_by_turns(long slices)
{
    struct timespec pause = { 0, SLICE_NS };

    while (slices-- > 0) {
        compute(SLICE_NS / 5);
        nanosleep(&pause, NULL);
    }
}

static double now(void)
{
    return 1e9 * MPI_Wtime();
}

/* What a slice takes, in nanoseconds. */
static double slice_ns(void)
{
    double begin = now();

    compute_by_turns(SLICES);
    return (now() - begin) / SLICES;
}

struct side {
    double total, waited, served;
};

/* A message, its receive or send `late`, and so many slices of computing behind it. */
static struct side transfer(char *room, int bytes, long slices, int late, double slice)
{
    struct side side = { 0, 0, 0 };
    MPI_Request request;
    double begin, began;

    OK(MPI_Barrier(MPI_COMM_WORLD));
    compute_by_turns(10 + (late ? LAG : 0));
    begin = now();
    if (check_rank == 0)
        OK(MPI_Isend(room, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    else
        OK(MPI_Irecv(room, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request));
    began = now();
    compute_by_turns(slices);
    side.served = now() - began - slice * slices;
    began = now();
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    side.waited = now() - began;
    side.total = now() - begin;
    return side;
}

static void overlap(int bytes, double turns)
{
    char *room = check_room((size_t)bytes);
    struct side mine, sides[2];
    double slice, took[2];
    int late, i;

    slice = slice_ns();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    slice = slice_ns();
    for (late = 0; late < 2; late++) {
        memset(room, 1 + late + 2 * check_rank, (size_t)bytes);
        mine = transfer(room, bytes, 0, check_rank == late, slice);
        OK(MPI_Allgather(&mine.total, 1, MPI_DOUBLE, took, 1, MPI_DOUBLE, MPI_COMM_WORLD));
        memset(room, 1 + late + 2 * check_rank, (size_t)bytes);
        mine = transfer(room, bytes, (long)(turns * took[late] / slice), check_rank == late, slice);
        CHECK(check_rank == 0 || (room[0] == 1 + late && room[bytes - 1] == 1 + late));
        OK(MPI_Gather(&mine, sizeof mine, MPI_BYTE, sides, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD));
        for (i = 0; i < 2 && check_rank == 0; i++)
            printf("overlap: %s first, %s: transfer %.0f wait %.0f hidden %.1f served %.0f total %.0f\n",
                   late ? "sender" : "receiver", i ? "receiver" : "sender", took[late], sides[i].waited,
                   100 - 100 * sides[i].waited / took[late], sides[i].served, sides[i].total);
    }
    free(room);
}

static void blocking(int rounds)
{
    static char room[PIPELINE];
    unsigned long begin, round, least = -1UL;
    int i, j;

    for (i = 0; i < TRIES; i++) {
        OK(MPI_Barrier(MPI_COMM_WORLD));
        begin = counted();
        for (j = 0; j < rounds; j++) {
            if (check_rank > 0)
                OK(MPI_Recv(room, PIPELINE, MPI_BYTE, check_rank - 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            compute(LOOPS);
            if (check_rank + 1 < check_size)
                OK(MPI_Send(room, PIPELINE, MPI_BYTE, check_rank + 1, TAG, MPI_COMM_WORLD));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
        round = counted() - begin;
        least = round < least ? round : least;
    }
    if (check_rank == 0)
        printf("blocking: %lu\n", least);
}

int main(int argc, char **argv)
{
    int is_overlap = argc > 1 && strcmp(argv[1], "overlap") == 0;

    check_start(&argc, &argv);
    if (is_overlap)
        overlap(argc > 2 ? atoi(argv[2]) : 1 << 20, argc > 3 ? atof(argv[3]) : 2);
    else
        blocking(argc > 2 ? atoi(argv[2]) : 200);
    return check_end("beside_wait");
}
