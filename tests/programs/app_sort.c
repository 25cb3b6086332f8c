/* Integer sort: keys go to the process that has their range, by alltoall of counts and alltoallv of keys; then each
 * key's place among all is checked. */
#include "check.h"

enum { EACH = 2000, RANGE = 1 << 16 };

static unsigned state;

static int next_key(void)
{
    /* Sums of two make the middle of the range fuller than its ends. */
    state = state * 1664525u + 1013904223u;
    unsigned a = state >> 17;
    state = state * 1664525u + 1013904223u;
    return (int)(a + (state >> 17)) % RANGE;
}

static int owner(int key)
{
    return (int)((long)key * check_size / RANGE);
}

static int order(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int *keys, *packed, *sorted, *counts, *begins, *given, *taken, *from, i, total = 0, last, edge;
    long long sum[2] = {0, 0}, sums[2];
    unsigned mixed[2] = {0, 0}, all[2];

    check_start(&argc, &argv);
    state = 12345u + (unsigned)check_rank;
    keys = check_room(sizeof(int) * EACH);
    packed = check_room(sizeof(int) * EACH);
    counts = calloc((size_t)check_size * 5, sizeof(int));
    begins = counts + check_size;
    given = counts + 2 * check_size;
    taken = counts + 3 * check_size;
    from = counts + 4 * check_size;
    for (i = 0; i < EACH; i++) {
        keys[i] = next_key();
        given[owner(keys[i])]++;
    }
    for (i = 1; i < check_size; i++)
        begins[i] = begins[i - 1] + given[i - 1];
    for (i = 0; i < EACH; i++) {
        int to = owner(keys[i]);

        packed[begins[to] + counts[to]++] = keys[i];
    }
    OK(MPI_Alltoall(given, 1, MPI_INT, taken, 1, MPI_INT, MPI_COMM_WORLD));
    for (i = 0; i < check_size; i++) {
        from[i] = total;
        total += taken[i];
    }
    sorted = check_room(sizeof(int) * (size_t)total);
    OK(MPI_Alltoallv(packed, given, begins, MPI_INT, sorted, taken, from, MPI_INT, MPI_COMM_WORLD));
    qsort(sorted, (size_t)total, sizeof(int), order);
    for (i = 0; i < total; i++)
        CHECK(owner(sorted[i]) == check_rank);

    /* Nothing is above what the next process has, nothing is lost and nothing is new. */
    last = total > 0 ? sorted[total - 1] : -1;
    edge = -1;
    OK(MPI_Exscan(&last, &edge, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (check_rank > 0 && total > 0)
        CHECK(edge <= sorted[0]);
    for (i = 0; i < EACH; i++) {
        sum[0] += keys[i];
        mixed[0] += (unsigned)keys[i] * (unsigned)keys[i] * 2654435761u;
    }
    for (i = 0; i < total; i++) {
        sum[1] += sorted[i];
        mixed[1] += (unsigned)sorted[i] * (unsigned)sorted[i] * 2654435761u;
    }
    OK(MPI_Allreduce(sum, sums, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
    OK(MPI_Allreduce(mixed, all, 2, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sums[0] == sums[1] && all[0] == all[1]);
    i = total;
    OK(MPI_Allreduce(MPI_IN_PLACE, &i, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(i == EACH * check_size);
    free(keys);
    free(packed);
    free(sorted);
    free(counts);
    return check_end("app_sort");
}
