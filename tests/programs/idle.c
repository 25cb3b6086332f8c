/* Idle nodes: every rank but 0 sits in MPI_Recv while rank 0 sleeps.
 *
 *     idle [SECONDS]      default 5
 *
 * Rank 0 prints how long it took. On hosts the processor time of the whole job shows what waiting costs.
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, peer, seconds, value = 17, errors = 0;
    double start;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    seconds = argc > 1 ? atoi(argv[1]) : 5;
    if (seconds < 0) {
        if (rank == 0)
            fprintf(stderr, "usage: idle [SECONDS]: at least 0\n");
        MPI_Finalize();
        return 2;
    }
    if (rank == 0) {
        start = MPI_Wtime();
        sleep((unsigned)seconds);
        for (peer = 1; peer < size; peer++)
            MPI_Send(&value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
        printf("idle: %d processes, %.1f seconds\n", size, MPI_Wtime() - start);
    } else {
        value = 0;
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        errors = value != 17;
    }
    MPI_Finalize();
    return errors;
}
