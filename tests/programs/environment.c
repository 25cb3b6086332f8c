/* Prints the variables of its environment: on the last rank those that are named, and how many there are. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, i, count = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (environ[count] != NULL)
        count++;
    if (rank == size - 1) {
        printf("%d variables\n", count);
        for (i = 1; i < argc; i++)
            printf("%s is %s\n", argv[i], getenv(argv[i]) == NULL ? "not set" : getenv(argv[i]));
    }
    MPI_Finalize();
    return 0;
}
