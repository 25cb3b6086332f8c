/* Pipelined conjugate gradient: the one reduction of a step is a nonblocking allreduce that goes on while the matrix is
 * applied. The matrix has a known inverse on the right side that is used. */
#include "check.h"

#include <math.h>

enum { EACH = 12 };

static int left, right;

/* to = A of `from`: 2 + 1/4 on the diagonal, -1 beside it. */
static void apply(const double *from, double *to)
{
    double before = 0, after = 0;
    int i;

    OK(MPI_Sendrecv(&from[EACH - 1], 1, MPI_DOUBLE, right, 1, &before, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Sendrecv(&from[0], 1, MPI_DOUBLE, left, 2, &after, 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    for (i = 0; i < EACH; i++)
        to[i] = 2.25 * from[i] - (i > 0 ? from[i - 1] : before) - (i < EACH - 1 ? from[i + 1] : after);
}

int main(int argc, char **argv)
{
    double x[EACH] = {0}, truth[EACH], r[EACH], w[EACH], q[EACH], z[EACH] = {0}, s[EACH] = {0}, p[EACH] = {0};
    double gamma_before = 1, alpha_before = 1, start = 0, worst = 0;
    int step, i;

    check_start(&argc, &argv);
    left = check_rank > 0 ? check_rank - 1 : MPI_PROC_NULL;
    right = check_rank < check_size - 1 ? check_rank + 1 : MPI_PROC_NULL;
    for (i = 0; i < EACH; i++)
        truth[i] = 1 + (check_rank * EACH + i) % 5;
    apply(truth, r);
    apply(r, w);
    for (step = 0; step < 40 * EACH; step++) {
        double mine[2] = {0, 0}, both[2] = {0, 0}, alpha, beta;
        MPI_Request reduction;

        for (i = 0; i < EACH; i++) {
            mine[0] += r[i] * r[i];
            mine[1] += w[i] * r[i];
        }
        OK(MPI_Iallreduce(mine, both, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &reduction));
        apply(w, q);
        OK(MPI_Wait(&reduction, MPI_STATUS_IGNORE));
        if (step == 0)
            start = both[0];
        if (both[0] <= 1e-22 * start)
            break;
        beta = step > 0 ? both[0] / gamma_before : 0;
        alpha = step > 0 ? both[0] / (both[1] - beta * both[0] / alpha_before) : both[0] / both[1];
        for (i = 0; i < EACH; i++) {
            z[i] = q[i] + beta * z[i];
            s[i] = w[i] + beta * s[i];
            p[i] = r[i] + beta * p[i];
            x[i] += alpha * p[i];
            r[i] -= alpha * s[i];
            w[i] -= alpha * z[i];
        }
        gamma_before = both[0];
        alpha_before = alpha;
    }
    CHECK(step > 1 && step < 40 * EACH);
    for (i = 0; i < EACH; i++)
        worst = fmax(worst, fabs(x[i] - truth[i]));
    CHECK(worst < 1e-6);
    return check_end("app_pipeline");
}
