/* pi as the area under 4 / (1 + x^2) from 0 to 1, by the midpoint rule.
 *
 *     pi [INTERVALS]      default 1000000
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, size;
    long intervals = 1000000, i;
    double width, sum = 0.0, pi = 0.0, x;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0 && argc > 1)
        intervals = strtol(argv[1], NULL, 10);
    MPI_Bcast(&intervals, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (intervals < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: pi [INTERVALS]\n");
        MPI_Finalize();
        return 2;
    }
    width = 1.0 / (double)intervals;
    for (i = rank; i < intervals; i += size) {
        x = width * ((double)i + 0.5);
        sum += 4.0 / (1.0 + x * x);
    }
    sum *= width;
    MPI_Reduce(&sum, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("pi is about %.10f, off by %.1e\n", pi, fabs(pi - acos(-1.0)));
    MPI_Finalize();
    return 0;
}
