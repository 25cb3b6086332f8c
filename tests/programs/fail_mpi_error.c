/* Fails on purpose: the last rank sends to a rank that is not there, two functions deep, after calls that left
 * other return addresses on its stack. The argument "bcast" gives the ranks of a broadcast different counts. */
#include <string.h>

#include <mpi.h>

static int deeper(int rank, int size)
{
    int got = -1;

    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT, (rank + size - 1) % size, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return got;
}

__attribute__((noinline)) static int deep(int rank, int size)
{
    volatile char room[300];

    memset((void *)room, rank, sizeof room);
    return deeper(rank, size) + room[17];
}

__attribute__((noinline)) static void wrong(int size)
{
    int value = 3;

    MPI_Send(&value, 1, MPI_INT, size, 1, MPI_COMM_WORLD); /* the line that is named */
}

int main(int argc, char **argv)
{
    int rank, size, values[4] = {0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    deep(rank, size);
    if (argc > 1 && strcmp(argv[1], "bcast") == 0)
        MPI_Bcast(values, rank == size - 1 ? 1 : 4, MPI_INT, 0, MPI_COMM_WORLD);
    else if (rank == size - 1)
        wrong(size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
