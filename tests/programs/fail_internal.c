/* Fails on purpose: the last rank has the runtime itself panic, by a function of its log that no program calls. */
#include <stdio.h>

#include <mpi.h>

void _defmt_panic(void);

static void provoke(void)
{
    _defmt_panic();
    printf("not reached\n");
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1)
        provoke();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
