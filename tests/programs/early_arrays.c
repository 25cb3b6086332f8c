/* Arrays of counts, displacements and datatypes that are written over as soon as a collective without blocking has been
 * started: the standard has them stay until its end, and programs do not keep to that. The results are as if they had.
 *
 *     early_arrays
 *
 * Rank 0 prints a line. Exit status: 0, or 1 if a number was wrong. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define MOST 64

static int wrong, rank, size;
static int counts[MOST], places[MOST], byte_places[MOST];
static MPI_Datatype types[MOST];

/* Rank r has r % 3 + 1 numbers; those of all lie one behind the other. */
static int length(int r) { return r % 3 + 1; }

static int begin(int r)
{
    int at = 0;
    for (int i = 0; i < r; i++)
        at += length(i);
    return at;
}

/* The numbers of each rank in its place (`alike`: as many as this rank has), for `ranks` ranks. */
static void describe(int ranks, int alike)
{
    for (int i = 0; i < ranks; i++) {
        counts[i] = alike ? length(rank) : length(i);
        places[i] = alike ? i * length(rank) : begin(i);
        byte_places[i] = places[i] * (int)sizeof(int);
        types[i] = MPI_INT;
    }
}

static void finish(MPI_Request *request)
{
    memset(counts, 0x71, sizeof counts);
    memset(places, 0x72, sizeof places);
    memset(byte_places, 0x73, sizeof byte_places);
    memset(types, 0x74, sizeof types);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void check(const char *name, int place, int got, int expected)
{
    if (got == expected)
        return;
    if (!wrong)
        printf("%s, rank %d: number %d is %d, not %d\n", name, rank, place, got, expected);
    wrong = 1;
}

/* One number of each rank's, in the order of ranks. */
static void check_all(const char *name, const int *all)
{
    for (int r = 0; r < size; r++)
        for (int i = 0; i < length(r); i++)
            check(name, begin(r) + i, all[begin(r) + i], 100 * r + i);
}

static void within_a_group(void)
{
    int own[3], all[3 * MOST], taken[3 * MOST];
    int counts_of_takers[MOST], places_of_takers[MOST];
    MPI_Request request;
    for (int i = 0; i < length(rank); i++)
        own[i] = 100 * rank + i;

    describe(size, 0);
    MPI_Igatherv(own, length(rank), MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD, &request);
    finish(&request);
    if (rank == 0)
        check_all("MPI_Igatherv", all);
    describe(size, 0);
    MPI_Iallgatherv(own, length(rank), MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD, &request);
    finish(&request);
    check_all("MPI_Iallgatherv", all);
    describe(size, 0);
    MPI_Iscatterv(all, counts, places, MPI_INT, taken, length(rank), MPI_INT, 0, MPI_COMM_WORLD, &request);
    finish(&request);
    for (int i = 0; i < length(rank); i++)
        check("MPI_Iscatterv", i, taken[i], own[i]);

    /* To each rank r the numbers of r; from each the numbers of this one. */
    for (int r = 0; r < size; r++) {
        counts_of_takers[r] = length(rank);
        places_of_takers[r] = r * length(rank);
    }
    describe(size, 0);
    MPI_Ialltoallv(all, counts, places, MPI_INT, taken, counts_of_takers, places_of_takers, MPI_INT, MPI_COMM_WORLD,
                   &request);
    memset(counts_of_takers, 0x75, sizeof counts_of_takers);
    memset(places_of_takers, 0x76, sizeof places_of_takers);
    finish(&request);
    for (int i = 0; i < size * length(rank); i++)
        check("MPI_Ialltoallv", i, taken[i], own[i % length(rank)]);
    MPI_Datatype types_of_takers[MOST];
    for (int r = 0; r < size; r++) {
        counts_of_takers[r] = length(rank);
        places_of_takers[r] = r * length(rank) * (int)sizeof(int);
        types_of_takers[r] = MPI_INT;
    }
    describe(size, 0);
    memset(taken, 0, sizeof taken);
    MPI_Ialltoallw(all, counts, byte_places, types, taken, counts_of_takers, places_of_takers, types_of_takers,
                   MPI_COMM_WORLD, &request);
    memset(counts_of_takers, 0x75, sizeof counts_of_takers);
    memset(places_of_takers, 0x76, sizeof places_of_takers);
    memset(types_of_takers, 0x77, sizeof types_of_takers);
    finish(&request);
    for (int i = 0; i < size * length(rank); i++)
        check("MPI_Ialltoallw", i, taken[i], own[i % length(rank)]);

    describe(size, 0);
    MPI_Ireduce_scatter(all, taken, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    finish(&request);
    for (int i = 0; i < length(rank); i++)
        check("MPI_Ireduce_scatter", i, taken[i], size * own[i]);
    describe(size, 0);
    MPI_Ireduce_scatter(MPI_IN_PLACE, all, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    finish(&request);
    for (int i = 0; i < length(rank); i++)
        check("MPI_Ireduce_scatter in place", i, all[i], size * own[i]);
}

/* From the left neighbour and the right one in a ring of all. */
static void among_neighbours(void)
{
    int own = 100 * rank, from[2], periodic = 1, reorder = 0;
    int sides[2] = {(rank + size - 1) % size, (rank + 1) % size};
    MPI_Comm ring;
    MPI_Request request;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, reorder, &ring);
    for (int i = 0; i < 2; i++) {
        counts[i] = 1;
        places[i] = 1 - i;
    }
    MPI_Ineighbor_allgatherv(&own, 1, MPI_INT, from, counts, places, MPI_INT, ring, &request);
    finish(&request);
    for (int i = 0; i < 2; i++)
        check("MPI_Ineighbor_allgatherv", i, from[1 - i], 100 * sides[i]);
    MPI_Comm_free(&ring);
}

/* Ranks of even and odd numbers are the two groups; both divide two numbers for each pair of ranks. */
static void between_groups(void)
{
    int local, given[2 * MOST], taken[2 * MOST], each = 2;
    MPI_Comm half, both;
    MPI_Request request;
    if (size % 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_rank(half, &local);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &both);
    for (int i = 0; i < size; i++)
        given[i] = 100 * rank + i;
    for (int i = 0; i < size / 2; i++)
        counts[i] = each;
    MPI_Ireduce_scatter(given, taken, counts, MPI_INT, MPI_SUM, both, &request);
    finish(&request);
    for (int i = 0; i < each; i++) {
        int sum = 0;
        for (int r = 1 - rank % 2; r < size; r += 2)
            sum += 100 * r + each * local + i;
        check("MPI_Ireduce_scatter between groups", i, taken[i], sum);
    }
    for (int i = 0; i < size / 2; i++) {
        counts[i] = each;
        places[i] = each * i;
    }
    MPI_Iallgatherv(given, each, MPI_INT, taken, counts, places, MPI_INT, both, &request);
    finish(&request);
    for (int i = 0; i < size; i++)
        check("MPI_Iallgatherv between groups", i, taken[i], 100 * (i / each * 2 + 1 - rank % 2) + i % each);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    within_a_group();
    among_neighbours();
    between_groups();
    int any;
    MPI_Reduce(&wrong, &any, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("early_arrays: %s\n", any ? "wrong" : "right");
    MPI_Finalize();
    return wrong;
}
