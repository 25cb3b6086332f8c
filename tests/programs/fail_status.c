/* Fails on purpose: the last rank's main returns the status that the first argument is, the others 0. */
#include <stdlib.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Finalize();
    return rank == size - 1 && argc > 1 ? atoi(argv[1]) : 0;
}
