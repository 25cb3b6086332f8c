/* Rank 0 writes the bytes that it reads, whatever they are; others read nothing. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, byte;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while ((byte = getchar()) != EOF) {
        if (rank != 0) MPI_Abort(MPI_COMM_WORLD, 2);
        putchar(byte);
    }
    MPI_Finalize();
    return 0;
}
