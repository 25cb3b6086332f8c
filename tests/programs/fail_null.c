/* Fails on purpose: the last rank writes through a null pointer while the others wait for it. */
#include <stdio.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size;
    volatile int *volatile nowhere = NULL;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1) {
        printf("about to write through a null pointer\n");
        *nowhere = 1;
        printf("not reached\n");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
