/* Heat in a square plate by Jacobi's method, in two dimensions: each rank has a block of the plate and trades
 * its edges with its neighbours before each step.
 *
 *     jacobi [-n POINTS] [-i STEPS]      points along an edge, default 96; steps, default 100
 *
 * The upper edge of the plate is held at 100 degrees, the others at 0.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mpi.h>

enum { UP, DOWN };

static int height, width; /* of this rank's block, without the halo */

/* The place of row i, column j; rows 0 and height + 1, columns 0 and width + 1 are the halo. */
static int at(int i, int j)
{
    return i * (width + 2) + j;
}

static void swap_rows(double *plate, int up, int down)
{
    MPI_Sendrecv(&plate[at(1, 1)], width, MPI_DOUBLE, up, UP, &plate[at(height + 1, 1)], width, MPI_DOUBLE,
                 down, UP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&plate[at(height, 1)], width, MPI_DOUBLE, down, DOWN, &plate[at(0, 1)], width, MPI_DOUBLE,
                 up, DOWN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Columns are not in one piece: they travel through `edge`, which has room for four of them. */
static void swap_columns(double *plate, double *edge, int left, int right)
{
    MPI_Request requests[4];
    int i;

    for (i = 0; i < height; i++) {
        edge[i] = plate[at(i + 1, 1)];
        edge[height + i] = plate[at(i + 1, width)];
        edge[2 * height + i] = edge[3 * height + i] = 0.0;
    }
    MPI_Irecv(edge + 2 * height, height, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(edge + 3 * height, height, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(edge, height, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(edge + height, height, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < height; i++) {
        plate[at(i + 1, 0)] = edge[2 * height + i];
        plate[at(i + 1, width + 1)] = edge[3 * height + i];
    }
}

/* One step from `old` to `new`; the greatest change at any point. */
static double step(const double *old, double *new)
{
    double greatest = 0.0, change;
    int i, j;

    for (i = 1; i <= height; i++) {
        for (j = 1; j <= width; j++) {
            new[at(i, j)] = 0.25 * (old[at(i - 1, j)] + old[at(i + 1, j)] + old[at(i, j - 1)] + old[at(i, j + 1)]);
            change = fabs(new[at(i, j)] - old[at(i, j)]);
            if (change > greatest)
                greatest = change;
        }
    }
    return greatest;
}

int main(int argc, char **argv)
{
    int rank, size, points = 96, steps = 100, rows, columns, row, column, up, down, left, right, option, i, j;
    double *old, *new, *edge, *other, change = 0.0, greatest = 0.0, heat = 0.0, all = 0.0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while ((option = getopt(argc, argv, "n:i:")) != -1) {
        switch (option) {
        case 'n': points = atoi(optarg); break;
        case 'i': steps = atoi(optarg); break;
        default: points = 0;
        }
    }
    for (rows = (int)sqrt((double)size); size % rows != 0; rows--)
        ;
    columns = size / rows;
    if (points < 1 || points % rows != 0 || points % columns != 0) {
        if (rank == 0)
            fprintf(stderr, "usage: jacobi [-n POINTS] [-i STEPS], POINTS a multiple of %d and %d\n", rows,
                    columns);
        MPI_Finalize();
        return 2;
    }
    row = rank / columns;
    column = rank % columns;
    height = points / rows;
    width = points / columns;
    up = row > 0 ? rank - columns : MPI_PROC_NULL;
    down = row < rows - 1 ? rank + columns : MPI_PROC_NULL;
    left = column > 0 ? rank - 1 : MPI_PROC_NULL;
    right = column < columns - 1 ? rank + 1 : MPI_PROC_NULL;

    old = calloc((size_t)at(height + 2, 0), sizeof *old);
    new = calloc((size_t)at(height + 2, 0), sizeof *new);
    edge = calloc((size_t)height * 4, sizeof *edge);
    if (old == NULL || new == NULL || edge == NULL) {
        fprintf(stderr, "jacobi: rank %d has no memory for a block of %d x %d points\n", rank, height, width);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    if (row == 0)
        for (j = 0; j < width + 2; j++)
            old[j] = new[j] = 100.0;

    for (i = 0; i < steps; i++) {
        swap_rows(old, up, down);
        swap_columns(old, edge, left, right);
        change = step(old, new);
        other = old;
        old = new;
        new = other;
        MPI_Allreduce(&change, &greatest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    for (i = 1; i <= height; i++)
        for (j = 1; j <= width; j++)
            heat += old[at(i, j)];
    MPI_Reduce(&heat, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("jacobi: %d x %d points on %d x %d ranks, %d steps, last change %.6f, mean %.6f\n", points, points,
               rows, columns, steps, greatest, all / points / points);
    free(old);
    free(new);
    free(edge);
    MPI_Finalize();
    return 0;
}
