/* Collectives that do not block, and go on while all processes compute and call nothing.
 *
 *     beside_coll [MICROSECONDS]
 *
 * With MICROSECONDS each process starts a collective, sleeps for so long, and waits for it; rank 0 prints for each how long
 * the longest MPI_Wait of all has taken, in nanoseconds. Without, each waits for its result in memory, which only the
 * steps of all change; that it comes is all that is looked at.
 *
 * Not a program for every MPI: the standard does not ask for this.
 *
 * Exit status: 0, or 1 if a result was wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mpi.h>

enum { LONG = 8192, ROUNDS = 3 };

static int rank, size, wrong;
static int given[LONG], taken[LONG];

enum kind { BARRIER, BCAST, ALLREDUCE, ALLGATHER, KINDS };
static const char *const names[KINDS] = {"barrier", "bcast", "allreduce", "allgather"};

/* Starts one of so many numbers; of an allgather, so many in all. */
static MPI_Request start(enum kind kind, int count, int round)
{
    MPI_Request request;
    int i, root = (round + 1) % size, part = count / size;

    for (i = 0; i < count; i++) {
        given[i] = round + i % 7;
        taken[i] = kind == BCAST && rank == root ? round + i % 7 : -1;
    }
    if (kind == BARRIER)
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    else if (kind == BCAST)
        MPI_Ibcast(taken, count, MPI_INT, root, MPI_COMM_WORLD, &request);
    else if (kind == ALLREDUCE)
        MPI_Iallreduce(given, taken, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    else
        MPI_Iallgather(given, part, MPI_INT, taken, part, MPI_INT, MPI_COMM_WORLD, &request);
    return request;
}

/* What number i comes to. */
static int expected(enum kind kind, int count, int round, int i)
{
    if (kind == ALLGATHER)
        return round + i % (count / size) % 7;
    return kind == ALLREDUCE ? size * (round + i % 7) : round + i % 7;
}

static void check(enum kind kind, int count, int round)
{
    int i, all = kind == ALLGATHER ? count / size * size : count;

    for (i = 0; kind != BARRIER && i < all; i++)
        wrong |= taken[i] != expected(kind, count, round, i);
}

/* Computes until the result is there: all of it, as its parts come in any order. */
static void spin(enum kind kind, int count, int round)
{
    int i, all = kind == ALLGATHER ? count / size * size : count;
    volatile unsigned work = 0;

    for (i = 0; i < all; i++)
        while (((volatile int *)taken)[i] != expected(kind, count, round, i))
            work = work * 1664525u + 1013904223u;
}

static void wait_in_memory(enum kind kind, int count)
{
    int round;

    for (round = 1; round <= ROUNDS; round++) {
        MPI_Request request = start(kind, count, round);
        spin(kind, count, round);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void measure(enum kind kind, int count, int microseconds)
{
    MPI_Request request;
    double took, longest;

    MPI_Barrier(MPI_COMM_WORLD);
    request = start(kind, count, 1);
    usleep(microseconds);
    took = MPI_Wtime();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    took = MPI_Wtime() - took;
    check(kind, count, 1);
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %d: %.0f\n", names[kind], count, longest * 1e9);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 512, LONG};
    int microseconds = argc > 1 ? atoi(argv[1]) : 0, kind, i, any;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (kind = BARRIER; kind < KINDS; kind++)
        for (i = 0; i < 3; i++) {
            int count = kind == ALLGATHER && counts[i] < size ? size : counts[i];
            if (microseconds > 0)
                measure(kind, count, microseconds);
            else if (kind != BARRIER)
                wait_in_memory(kind, count);
        }
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        puts(any ? "a result was wrong" : "all went on");
    MPI_Finalize();
    return any;
}
