/* Collectives that do not block, and go on while all processes compute and call nothing.
 *
 *     beside_coll [inter] [MICROSECONDS]
 *
 * inter: between the processes of even and of odd rank. With MICROSECONDS each process starts a collective, sleeps for so
 * long, and waits for it; rank 0 prints for each how long the longest MPI_Wait of all has taken, in nanoseconds. Without,
 * each waits for its result in memory, which only the steps of all change; that it comes is all that is looked at.
 *
 * Not a program for every MPI: the standard does not ask for this.
 *
 * Exit status: 0, or 1 if a result was wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

enum { LONG = 8192, ROUNDS = 3 };

static MPI_Comm comm = MPI_COMM_WORLD, twin;
static int is_inter, wrong;
/* This process among its group's, and of how many others it gets something. */
static int rank, size, others;
/* Roots are in this process's group. */
static int has_roots = 1;
static int given[LONG], taken[LONG], counts[LONG];

enum kind { BARRIER, BCAST, SCATTER, ALLREDUCE, REDUCE_SCATTER, ALLGATHER, IDUP, KINDS };
static const char *const names[KINDS] = {
    "barrier", "bcast", "scatter", "allreduce", "reduce_scatter", "allgather", "idup"};

/* Of so many numbers, as many as can be divided among the processes of either group. */
static int divided(int count)
{
    int unit = is_inter ? size * others : size;
    return count < unit ? unit : count / unit * unit;
}

/* Of each process. */
static int part(enum kind kind, int count)
{
    if (kind == SCATTER)
        return divided(count) / (is_inter && has_roots ? others : size);
    return divided(count) / (kind == ALLGATHER && others > size ? others : size);
}

/* What this process gets. */
static int takes(enum kind kind, int count)
{
    if (kind == BARRIER || kind == IDUP)
        return 0;
    if (is_inter && has_roots && (kind == BCAST || kind == SCATTER))
        return 0;
    if (kind == BCAST || kind == ALLREDUCE)
        return count;
    return (kind == ALLGATHER ? others : 1) * part(kind, count);
}

/* What number i of that comes to. */
static int expected(enum kind kind, int count, int round, int i)
{
    if (kind == ALLGATHER)
        return round + i % part(kind, count) % 7;
    if (kind == SCATTER || kind == REDUCE_SCATTER)
        i += rank * part(kind, count);
    return (kind == ALLREDUCE || kind == REDUCE_SCATTER ? others : 1) * (round + i % 7);
}

/* Starts one of so many numbers; of those that divide or gather them, so many in all. */
static MPI_Request start(enum kind kind, int count, int round)
{
    MPI_Request request;
    int i, root = (round + 1) % (has_roots ? size : others), p = part(kind, count);
    int is_root = has_roots && rank == root;

    if (is_inter && has_roots)
        root = is_root ? MPI_ROOT : MPI_PROC_NULL;
    for (i = 0; i < LONG; i++) {
        given[i] = round + i % 7;
        taken[i] = kind == BCAST && is_root ? given[i] : -1;
    }
    for (i = 0; i < size; i++)
        counts[i] = p;
    if (kind == BARRIER)
        MPI_Ibarrier(comm, &request);
    else if (kind == BCAST)
        MPI_Ibcast(taken, count, MPI_INT, root, comm, &request);
    else if (kind == SCATTER)
        MPI_Iscatter(given, p, MPI_INT, taken, p, MPI_INT, root, comm, &request);
    else if (kind == ALLREDUCE)
        MPI_Iallreduce(given, taken, count, MPI_INT, MPI_SUM, comm, &request);
    else if (kind == REDUCE_SCATTER)
        MPI_Ireduce_scatter(given, taken, counts, MPI_INT, MPI_SUM, comm, &request);
    else if (kind == ALLGATHER)
        MPI_Iallgather(given, p, MPI_INT, taken, p, MPI_INT, comm, &request);
    else
        MPI_Comm_idup(comm, &twin, &request);
    return request;
}

static void check(enum kind kind, int count, int round)
{
    int i;

    for (i = 0; i < takes(kind, count); i++)
        wrong |= taken[i] != expected(kind, count, round, i);
}

/* Computes until the result is there: all of it, as its parts come in any order. */
static void spin(enum kind kind, int count, int round)
{
    int i, all = takes(kind, count);
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

/* A copy takes longer than an interrupt may, and is left when all messages are over: of a scatter, of which the root keeps
 * most. Only the last process waits for much, so that the root's call ends before. */
static void wait_for_a_long_copy(void)
{
    enum { OWN = 1 << 19, FAR = 1 << 14 };
    MPI_Request request;
    int i, count = rank == size - 1 ? FAR : 0, *from = NULL, *to = calloc(OWN, sizeof *to);
    int *displs = calloc(size, sizeof *displs);

    if (rank == 0) {
        count = counts[0] = OWN;
        from = malloc((OWN + FAR) * sizeof *from);
    }
    if (to == NULL || displs == NULL || (rank == 0 && from == NULL))
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (i = 0; rank == 0 && i < OWN + FAR; i++)
        from[i] = i + 1;
    for (i = 1; i < size; i++) {
        counts[i] = i == size - 1 ? FAR : 0;
        displs[i] = OWN;
    }
    MPI_Iscatterv(from, counts, displs, MPI_INT, to, count, MPI_INT, 0, comm, &request);
    while (count > 0 && ((volatile int *)to)[count - 1] == 0)
        continue;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (i = 0; i < count; i++)
        wrong |= to[i] != i + 1 + (rank == 0 ? 0 : OWN);
    free(from);
    free(to);
    free(displs);
}

static void measure(enum kind kind, int count, int microseconds)
{
    MPI_Request request;
    double took, longest;
    int of_all;

    MPI_Barrier(MPI_COMM_WORLD);
    request = start(kind, count, 1);
    usleep(microseconds);
    took = MPI_Wtime();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    took = MPI_Wtime() - took;
    check(kind, count, 1);
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (kind == IDUP)
        MPI_Comm_free(&twin);
    MPI_Comm_rank(MPI_COMM_WORLD, &of_all);
    if (of_all == 0)
        printf("%s %d: %.0f\n", names[kind], count, longest * 1e9);
}

/* From now on between even and odd ranks. */
static void divide(void)
{
    MPI_Comm group;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &group);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &comm);
    MPI_Comm_free(&group);
    has_roots = rank % 2 == 0;
    is_inter = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_remote_size(comm, &others);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 512, LONG};
    int microseconds = argc > 1 ? atoi(argv[argc - 1]) : 0, kind, i, any, is_first;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    others = size;
    is_first = rank == 0;
    if (argc > 1 && strcmp(argv[1], "inter") == 0)
        divide();
    for (kind = BARRIER; kind < KINDS; kind++)
        for (i = 0; i < 3; i++) {
            if (microseconds > 0)
                measure(kind, lengths[i], microseconds);
            else if (kind != BARRIER && kind != IDUP)
                wait_in_memory(kind, lengths[i]);
        }
    if (is_inter)
        MPI_Comm_free(&comm);
    else if (microseconds == 0 && size > 1)
        wait_for_a_long_copy();
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (is_first)
        puts(any ? "a result was wrong" : "all went on");
    MPI_Finalize();
    return any;
}
