/* Rank 0 receives a message from each other rank, in any order, and prints their sum. With an argument it also prints
 * the last one, which depends on the order. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size, value = 0, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        for (int i = 1; i < size; i++, sum += value)
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%d\n", sum);
    } else {
        MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    if (argc > 1)
        printf("%d\n", value);
    MPI_Finalize();
    return 0;
}
