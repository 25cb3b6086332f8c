/* A program of several files, with a directory of headers and a macro from the command line.
 *
 *     cargo midplane run -I tests/programs/parts/include -D TIMES=3 tests/programs/parts/main.c \
 *         tests/programs/parts/area.c
 */
#include <stdio.h>

#include <mpi.h>

#include "area.h"

int main(int argc, char **argv)
{
    int rank;
    double mine, all = 0.0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mine = TIMES * area(rank + 1.0);
    MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("parts: %.6f\n", all);
    MPI_Finalize();
    return 0;
}
