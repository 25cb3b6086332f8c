/* Needs 16 MiB of static memory: more than a node with --node-memory 8M has. */
#include <stdio.h>

#include <mpi.h>

static char big[16 * 1024 * 1024];

int main(int argc, char **argv)
{
    int rank;
    size_t i;
    unsigned sum = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (i = 0; i < sizeof big; i++)
        big[i] = (char)(i + (size_t)rank);
    for (i = 0; i < sizeof big; i += 4096)
        sum += (unsigned char)big[i];
    printf("rank %d has its 16 MiB, sum %u\n", rank, sum);
    MPI_Finalize();
    return 0;
}
