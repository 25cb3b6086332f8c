/* What many parallel programs do in each step: they agree on a number, or trade edges with their neighbours.
 * `midplane bench smpi` runs it over ours and over SMPI.
 *
 *     steps agree [N]             N times (default 1) a barrier, and a sum of 8 bytes from all
 *     steps halo [N [BYTES]]      N times BYTES (default 1024) to each of six neighbours, and as many from each
 *
 * The neighbours are those in a grid of three dimensions that goes around, of the extents that MPI_Dims_create gives,
 * with ranks counted along the first dimension first. No communicator is made: that is another measurement. Rank 0
 * prints one line.
 *
 * Exit status: 0, or 1 if a sum or a byte was wrong, or 2 for bad arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

enum { DIMENSIONS = 3, SIDES = 2 * DIMENSIONS };

static long agree(int rank, int processes, int n)
{
    long mine, sum, errors = 0;
    int i;

    for (i = 1; i <= n; i++) {
        mine = (long)i * (rank + 1);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        errors += sum != i * ((long)processes * (processes + 1) / 2);
    }
    return errors;
}

/* The byte that fills what `rank` sends to `side` in step i. */
static unsigned char byte_of(int rank, int side, int i)
{
    return (unsigned char)(rank * 7 + side * 31 + i);
}

/* The rank that is one step further on, up or down, in a dimension of the grid. */
static int neighbour(int rank, const int *dims, int dimension, int step)
{
    int stride = 1, d, place;

    for (d = 0; d < dimension; d++)
        stride *= dims[d];
    place = rank / stride % dims[dimension];
    return rank + ((place + step + dims[dimension]) % dims[dimension] - place) * stride;
}

static long halo(int rank, int processes, int n, int bytes)
{
    int dims[DIMENSIONS] = {0}, there[SIDES];
    unsigned char *out = malloc((size_t)SIDES * bytes + 1), *in = malloc((size_t)SIDES * bytes + 1);
    MPI_Request requests[2 * SIDES];
    int side, i, at;
    long errors = 0;

    MPI_Dims_create(processes, DIMENSIONS, dims);
    for (side = 0; side < SIDES; side++)
        there[side] = neighbour(rank, dims, side / 2, side % 2 ? 1 : -1);
    for (i = 0; i < n; i++) {
        /* What goes to one side comes in at the other side of the neighbour there. */
        for (side = 0; side < SIDES; side++)
            MPI_Irecv(in + side * bytes, bytes, MPI_BYTE, there[side], side ^ 1, MPI_COMM_WORLD, &requests[side]);
        for (side = 0; side < SIDES; side++) {
            memset(out + side * bytes, byte_of(rank, side, i), (size_t)bytes);
            MPI_Isend(out + side * bytes, bytes, MPI_BYTE, there[side], side, MPI_COMM_WORLD,
                      &requests[SIDES + side]);
        }
        MPI_Waitall(2 * SIDES, requests, MPI_STATUSES_IGNORE);
        for (side = 0; side < SIDES; side++)
            for (at = 0; at < bytes; at++)
                errors += in[side * bytes + at] != byte_of(there[side], side ^ 1, i);
    }
    free(out);
    free(in);
    return errors;
}

int main(int argc, char **argv)
{
    int rank, processes, n = argc > 2 ? atoi(argv[2]) : 1, bytes = argc > 3 ? atoi(argv[3]) : 1024;
    long errors, all = 0;
    double start;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    if (argc < 2 || (strcmp(argv[1], "agree") != 0 && strcmp(argv[1], "halo") != 0) || n < 1 || bytes < 0) {
        if (rank == 0)
            fprintf(stderr, "usage: steps agree [N], or steps halo [N [BYTES]]\n");
        MPI_Finalize();
        return 2;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    errors = strcmp(argv[1], "agree") == 0 ? agree(rank, processes, n) : halo(rank, processes, n, bytes);
    MPI_Reduce(&errors, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("steps: %s, %d processes, %d times, %.6f seconds, %ld errors\n", argv[1], processes, n,
               MPI_Wtime() - start, all);
    MPI_Finalize();
    return rank == 0 && all > 0;
}
