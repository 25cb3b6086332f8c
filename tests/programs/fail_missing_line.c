/* Calls functions that are nowhere: behind calls that the linker makes shorter, the line of each is to be right. */
#include <mpi.h>

void nowhere_first(int *value);
void nowhere_second(int value);

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    nowhere_first(&size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);

    nowhere_second(rank);

    MPI_Finalize();
    return 0;
}
