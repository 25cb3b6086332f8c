/* Fails on purpose: the last rank calls itself, and prints in each call, until its stack is used up. */
#include <stdio.h>

#include <mpi.h>

static int deeper(int depth)
{
    volatile char frame[16];
    int below;

    frame[0] = (char)depth;
    printf("depth %d\n", depth);
    below = depth < 0 ? 0 : deeper(depth + 1);
    return below + frame[0];
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1)
        printf("not reached: %d\n", deeper(0));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
