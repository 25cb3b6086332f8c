/* Fails on purpose: the last rank prints and then tells the one before it, which aborts. */
#include <stdio.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, line, word = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1) {
        for (line = 0; line < 40; line++)
            printf("line %d of what rank %d has to say before\n", line, rank);
        MPI_Send(&word, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD);
    } else if (rank == size - 2) {
        MPI_Recv(&word, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Abort(MPI_COMM_WORLD, 5);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
