/* Conjugate gradient for the Laplacian of a square, rows of the square divided among the processes: halo rows by
 * persistent requests, two reductions a step. The solution is known. */
#include "check.h"

#include <math.h>

enum { WIDTH = 24 };

static int first, rows, above, below;
static MPI_Request halo[4];

static int row_of(int rank)
{
    return (int)((long)WIDTH * rank / check_size);
}

static double dot(const double *a, const double *b)
{
    double mine = 0, all = 0;
    int i;

    for (i = WIDTH; i < (rows + 1) * WIDTH; i++)
        mine += a[i] * b[i];
    OK(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    return all;
}

/* to = A of `from`, whose halo rows come from the neighbours. */
static void apply(const double *from, double *to)
{
    int x, y;

    if (rows > 0) {
        OK(MPI_Startall(4, halo));
        OK(MPI_Waitall(4, halo, MPI_STATUSES_IGNORE));
    }
    for (y = 1; y <= rows; y++)
        for (x = 0; x < WIDTH; x++) {
            int i = y * WIDTH + x;

            to[i] = 4 * from[i] - from[i - WIDTH] - from[i + WIDTH] - (x > 0 ? from[i - 1] : 0)
                - (x < WIDTH - 1 ? from[i + 1] : 0);
        }
}

int main(int argc, char **argv)
{
    double *x, *r, *p, *q, rho, start, worst = 0, worst_of_all = 0;
    size_t bytes;
    int i, step, y;

    check_start(&argc, &argv);
    first = row_of(check_rank);
    rows = row_of(check_rank + 1) - first;
    /* Ranks without rows take no part. */
    for (above = check_rank - 1; above >= 0 && row_of(above) == row_of(above + 1); above--)
        ;
    for (below = check_rank + 1; below < check_size && row_of(below) == row_of(below + 1); below++)
        ;
    above = above < 0 ? MPI_PROC_NULL : above;
    below = below == check_size ? MPI_PROC_NULL : below;
    bytes = sizeof(double) * (size_t)(rows + 2) * WIDTH;
    x = memset(check_room(bytes), 0, bytes);
    r = memset(check_room(bytes), 0, bytes);
    p = memset(check_room(bytes), 0, bytes);
    q = memset(check_room(bytes), 0, bytes);
    OK(MPI_Recv_init(p, WIDTH, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &halo[0]));
    OK(MPI_Recv_init(p + (rows + 1) * WIDTH, WIDTH, MPI_DOUBLE, below, 2, MPI_COMM_WORLD, &halo[1]));
    OK(MPI_Send_init(p + WIDTH, WIDTH, MPI_DOUBLE, above, 2, MPI_COMM_WORLD, &halo[2]));
    OK(MPI_Send_init(p + rows * WIDTH, WIDTH, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &halo[3]));

    /* The right side belongs to the solution that is 1 + row + 2 column everywhere. */
    for (y = 0; y < rows + 2; y++)
        for (i = 0; i < WIDTH; i++)
            p[y * WIDTH + i] = first + y - 1 < 0 || first + y - 1 >= WIDTH ? 0 : 1 + (first + y - 1) + 2 * i;
    apply(p, r);
    memset(p, 0, bytes);
    memcpy(p + WIDTH, r + WIDTH, sizeof(double) * (size_t)rows * WIDTH);
    rho = start = dot(r, r);
    for (step = 0; step < 10 * WIDTH && rho > 1e-24 * start; step++) {
        double alpha, next;

        apply(p, q);
        alpha = rho / dot(p, q);
        for (i = WIDTH; i < (rows + 1) * WIDTH; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        next = dot(r, r);
        for (i = WIDTH; i < (rows + 1) * WIDTH; i++)
            p[i] = r[i] + next / rho * p[i];
        rho = next;
    }
    CHECK(step > 1 && step < 10 * WIDTH);
    for (y = 1; y <= rows; y++)
        for (i = 0; i < WIDTH; i++)
            worst = fmax(worst, fabs(x[y * WIDTH + i] - (1 + (first + y - 1) + 2 * i)));
    OK(MPI_Reduce(&worst, &worst_of_all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
    if (check_rank == 0)
        CHECK(worst_of_all < 1e-8);
    for (i = 0; i < 4; i++)
        OK(MPI_Request_free(&halo[i]));
    free(x);
    free(r);
    free(p);
    free(q);
    return check_end("app_cg");
}
