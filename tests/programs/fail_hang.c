/* Never ends: rank 0 waits for a message with tag 42 that nobody sends, the last rank (of at least 3)
 * computes for ever, and the others wait for both in a barrier. */
#include <stdio.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, value;
    volatile int forever = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        printf("waiting for a message that never comes\n");
        MPI_Recv(&value, 1, MPI_INT, size - 1, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (size > 2 && rank == size - 1) {
        while (forever)
            ;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
