/* Each process sends its rank around a ring, and all processes add what they have received. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, received, sum, expected;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &received, 1, MPI_INT, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&received, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

    expected = size * (size - 1) / 2;
    if (rank == 0)
        printf("%d processes, sum %d, expected %d\n", size, sum, expected);
    MPI_Finalize();
    return sum == expected ? 0 : 1;
}
