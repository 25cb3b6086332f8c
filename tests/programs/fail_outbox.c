/* Fails on purpose: the last rank writes over the kernel's ring for its output, without end: the kernel puts its own
 * count back when it next writes. */
#include <stdio.h>

#include <mpi.h>

/* The words of the kernel's outbox: magic, rung, then for stdout the count of bytes written. */
extern volatile unsigned MIDPLANE_OUTBOX[];

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1) {
        for (;;)
            MIDPLANE_OUTBOX[2] = 0x12345678;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
