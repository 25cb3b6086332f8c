/* Each rank but the first sends a message that nobody receives: a mistake (MPI-3.1 section 8.7), with which the program
 * ends all the same, whether or not there is memory for what is left over. */
#include <stdio.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, from, got, sent;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    sent = 10 * rank;
    if (rank > 0) {
        MPI_Send(&sent, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Send(&sent, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    } else {
        for (from = 1; from < size; from++) {
            MPI_Recv(&got, 1, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("received %d of rank %d\n", got, from);
        }
    }
    MPI_Finalize();
    return 0;
}
