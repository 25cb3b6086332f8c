/* Cannon's product of two matrices on a square Cartesian grid of as many processes as make one; the others watch. */
#include "check.h"

enum { EDGE = 5 };

typedef long Block[EDGE][EDGE];

static long a_at(int row, int column)
{
    return (row * 31 + column * 17) % 101 - 50;
}

static long b_at(int row, int column)
{
    return (row * 13 + column * 29) % 97 - 48;
}

static void shift(MPI_Comm grid, Block block, int dimension, int by)
{
    int from, to;

    if (by == 0)
        return;
    OK(MPI_Cart_shift(grid, dimension, -by, &from, &to));
    OK(MPI_Sendrecv_replace(block, EDGE * EDGE, MPI_LONG, to, dimension, from, dimension, grid, MPI_STATUS_IGNORE));
}

static void multiply(MPI_Comm grid, int q)
{
    int dims[2], periods[2], here[2], step, i, j, k;
    Block a, b, c = {{0}};

    OK(MPI_Cart_get(grid, 2, dims, periods, here));
    CHECK(dims[0] == q && dims[1] == q && periods[0] && periods[1]);
    for (i = 0; i < EDGE; i++)
        for (j = 0; j < EDGE; j++) {
            a[i][j] = a_at(here[0] * EDGE + i, here[1] * EDGE + j);
            b[i][j] = b_at(here[0] * EDGE + i, here[1] * EDGE + j);
        }
    shift(grid, a, 1, here[0]);
    shift(grid, b, 0, here[1]);
    for (step = 0; step < q; step++) {
        for (i = 0; i < EDGE; i++)
            for (j = 0; j < EDGE; j++)
                for (k = 0; k < EDGE; k++)
                    c[i][j] += a[i][k] * b[k][j];
        shift(grid, a, 1, 1);
        shift(grid, b, 0, 1);
    }
    for (i = 0; i < EDGE; i++)
        for (j = 0; j < EDGE; j++) {
            long sum = 0;

            for (k = 0; k < q * EDGE; k++)
                sum += a_at(here[0] * EDGE + i, k) * b_at(k, here[1] * EDGE + j);
            CHECK(c[i][j] == sum);
        }
}

int main(int argc, char **argv)
{
    int q = 1, dims[2], periods[2] = {1, 1};
    MPI_Comm grid;

    check_start(&argc, &argv);
    while ((q + 1) * (q + 1) <= check_size)
        q++;
    dims[0] = dims[1] = q;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid));
    CHECK((grid == MPI_COMM_NULL) == (check_rank >= q * q) || grid != MPI_COMM_NULL);
    if (grid != MPI_COMM_NULL) {
        multiply(grid, q);
        OK(MPI_Comm_free(&grid));
    }
    return check_end("app_cannon");
}
