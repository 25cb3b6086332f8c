/* Bodies that attract each other: each process's bodies travel once around the ring by Sendrecv_replace. The force on
 * each is compared with the one that all bodies in one place give. */
#include "check.h"

#include <math.h>

enum { EACH = 7, STEPS = 3 };

typedef struct {
    double mass, place[3];
} Body;

static Body start_of(int number)
{
    Body body = {1 + number % 5, {sin(number), cos(1.7 * number), sin(0.3 * number + 1)}};

    return body;
}

static void attract(const Body *on, const Body *by, double force[3])
{
    double apart[3], square = 1e-3, scale;
    int d;

    for (d = 0; d < 3; d++) {
        apart[d] = by->place[d] - on->place[d];
        square += apart[d] * apart[d];
    }
    scale = on->mass * by->mass / (square * sqrt(square));
    for (d = 0; d < 3; d++)
        force[d] += scale * apart[d];
}

int main(int argc, char **argv)
{
    Body own[EACH], guests[EACH], *all;
    MPI_Datatype body;
    int step, i, j, d, turn;

    check_start(&argc, &argv);
    OK(MPI_Type_contiguous(4, MPI_DOUBLE, &body));
    OK(MPI_Type_commit(&body));
    all = check_room(sizeof(Body) * EACH * (size_t)check_size);
    for (i = 0; i < EACH; i++)
        own[i] = start_of(check_rank * EACH + i);
    for (step = 0; step < STEPS; step++) {
        double force[EACH][3] = {{0}}, sum[3] = {0}, total[3], expected[3];
        int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;

        memcpy(guests, own, sizeof own);
        for (turn = 0; turn < check_size; turn++) {
            for (i = 0; i < EACH; i++)
                for (j = 0; j < EACH; j++)
                    if (turn > 0 || i != j)
                        attract(&own[i], &guests[j], force[i]);
            OK(MPI_Sendrecv_replace(guests, EACH, body, right, step, left, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        CHECK(memcmp(guests, own, sizeof own) == 0);
        OK(MPI_Allgather(own, EACH, body, all, EACH, body, MPI_COMM_WORLD));
        for (i = 0; i < EACH; i++) {
            memset(expected, 0, sizeof expected);
            for (j = 0; j < EACH * check_size; j++)
                if (j != check_rank * EACH + i)
                    attract(&own[i], &all[j], expected);
            for (d = 0; d < 3; d++) {
                CHECK(fabs(force[i][d] - expected[d]) < 1e-7 * (1 + fabs(expected[d])));
                sum[d] += force[i][d];
            }
        }
        /* Each force has its opposite. */
        OK(MPI_Allreduce(sum, total, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        for (d = 0; d < 3; d++)
            CHECK(fabs(total[d]) < 1e-6 * EACH * check_size);
        for (i = 0; i < EACH; i++)
            for (d = 0; d < 3; d++)
                own[i].place[d] += 1e-4 * force[i][d] / own[i].mass;
    }
    OK(MPI_Type_free(&body));
    free(all);
    return check_end("app_ring");
}
