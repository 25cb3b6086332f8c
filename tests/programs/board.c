/* What every board has to provide, as a program meets it: the checklist of docs/porting.md. With a word, it is the exit
 * status. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failed;

static void check(int good, const char *what)
{
    if (!good) {
        printf("failed: %s\n", what);
        failed++;
    }
}

/* Clock: it goes on, and a sleep takes as long as it says. */
static void clock_and_sleep(void)
{
    const struct timespec nap = { 0, 20 * 1000 * 1000 };
    double before = MPI_Wtime();
    check(nanosleep(&nap, NULL) == 0, "a sleep ends");
    check(MPI_Wtime() - before >= 0.02, "the clock goes on while the node sleeps");
    check(MPI_Wtick() > 0 && MPI_Wtick() < 0.001, "the clock is fine enough");
}

/* Links: each of the neighbours hears what was said to it, over frames of all sizes. */
static void links(MPI_Comm machine)
{
    static unsigned char out[600], in[600];
    for (int dimension = 0; dimension < 3; dimension++)
        for (int step = -1; step <= 1; step += 2)
            for (int bytes = 1; bytes <= (int)sizeof out; bytes += 599) {
                int from, to;
                MPI_Cart_shift(machine, dimension, step, &from, &to);
                memset(out, to, sizeof out);
                MPI_Sendrecv(out, bytes, MPI_BYTE, to, bytes, in, bytes, MPI_BYTE, from, bytes, machine,
                             MPI_STATUS_IGNORE);
                int rank, good = 1;
                MPI_Comm_rank(machine, &rank);
                for (int i = 0; i < bytes; i++)
                    good &= in[i] == rank;
                check(good, "a neighbour's message");
            }
}

/* Memory: there is a heap, and it has an end that is told. */
static void heap(void)
{
    char *some = malloc(1000);
    check(some != NULL, "a heap");
    if (some)
        memset(some, 1, 1000);
    free(some);
    check(malloc((size_t)1 << 30) == NULL || sizeof(void *) == 8, "a heap with an end");
}

int main(int argc, char **argv)
{
    int rank, sizes[3] = { 0, 0, 0 }, wraps[3] = { 1, 1, 1 }, processes;
    MPI_Comm machine;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    MPI_Dims_create(processes, 3, sizes);
    MPI_Cart_create(MPI_COMM_WORLD, 3, sizes, wraps, 1, &machine);
    clock_and_sleep();
    links(machine);
    heap();
    /* Idle: the others wait while one sleeps. */
    if (rank == 0)
        nanosleep(&(struct timespec){ 0, 50 * 1000 * 1000 }, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    int all = 0;
    MPI_Reduce(&failed, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("board: %d failed\n", all);
        fprintf(stderr, "board: the other stream\n");
    }
    MPI_Comm_free(&machine);
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : all != 0;
}
