/* Fails on purpose: rank 0 is in a barrier, or with an argument in an allreduce, which the others have left out. */
#include <mpi.h>

static int meet(int reduces)
{
    int one = 1, sum;

    if (reduces)
        return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    meet(argc > 1);
    if (rank == 0)
        meet(argc > 1);
    MPI_Finalize();
    return 0;
}
