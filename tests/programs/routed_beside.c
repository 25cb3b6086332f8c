/* The ranks 0 and 2 exchange messages that pass the node of rank 1, which makes no call of MPI meanwhile: it waits for a
 * file, which rank 0 creates afterwards.
 *
 *     cargo midplane run --on linux --torus 3x1x1 --mesh x tests/programs/routed_beside.c -- FILE
 *
 * FILE must not exist. Exit status: 0; if rank 1 forwards nothing while it computes, the program does not end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mpi.h>

enum { EXCHANGES = 200, TAG = 1 };

int main(int argc, char **argv)
{
    int rank, size, i, got;
    FILE *file;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 3 || argc != 2) {
        fprintf(stderr, "routed_beside: run it with three ranks and the name of a file\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        while (access(argv[1], F_OK) != 0)
            usleep(1000);
    for (i = 0; rank != 1 && i < EXCHANGES; i++) {
        /* The first ones after a pause, in which nothing moves. */
        if (i < 3)
            usleep(100000);
        MPI_Sendrecv(&i, 1, MPI_INT, 2 - rank, TAG, &got, 1, MPI_INT, 2 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (got != i)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0) {
        file = fopen(argv[1], "w");
        if (file == NULL || fclose(file) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
        printf("routed_beside: %d exchanges\n", EXCHANGES);
    }
    MPI_Finalize();
    return 0;
}
