/* Rank 0 reads numbers from its standard input, everybody adds them up with its rank, and rank 0 prints each
 * sum; at the end of the input it prints how many there were. The others have no input.
 *
 *     printf '1 2 3' | cargo midplane run tests/programs/input.c
 */
#include <stdio.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size, there, count = 0;
    long number = 0, mine, sum, total = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != 0 && getchar() != EOF)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (;;) {
        there = rank == 0 && scanf("%ld", &number) == 1;
        MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (!there)
            break;
        MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        mine = number + rank;
        MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        total += number;
        if (rank == 0 && ++count <= 3)
            printf("%ld: %ld\n", number, sum);
    }
    if (rank == 0)
        printf("input: %d numbers, %ld in all\n", count, total);
    MPI_Finalize();
    return 0;
}
