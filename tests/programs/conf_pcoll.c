/* Conformance: persistent collectives (MPI-4.0 sections 6.13 and 8.8). */
#include "check.h"

#define MOST 64
#define ROUNDS 3

static int given[4 * MOST], taken[4 * MOST], ones[MOST], twos[MOST], by_two[MOST], by_eight[MOST];

static int started(MPI_Request *request)
{
    MPI_Status status;
    int code = MPI_Start(request);

    if (code == MPI_SUCCESS)
        code = MPI_Wait(request, &status);
    CHECK(*request != MPI_REQUEST_NULL);
    return code;
}

static void clear(void)
{
    memset(taken, 0, sizeof(taken));
}

static void rooted(void)
{
    int n = check_size, root = n - 1, round, i;
    MPI_Request bcast, gather, gatherv, scatter, scatterv, reduce;

    OK(MPI_Bcast_init(given, 2, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &bcast));
    OK(MPI_Gather_init(given, 1, MPI_INT, taken, 1, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &gather));
    OK(MPI_Gatherv_init(given, 1, MPI_INT, taken, ones, by_two, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &gatherv));
    OK(MPI_Scatter_init(given, 1, MPI_INT, taken, 1, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &scatter));
    OK(MPI_Scatterv_init(given, twos, by_two, MPI_INT, taken, 2, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &scatterv));
    OK(MPI_Reduce_init(given, taken, 2, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, MPI_INFO_NULL, &reduce));
    for (round = 0; round < ROUNDS; round++) {
        given[0] = check_rank == root ? 7 + round : -1;
        given[1] = check_rank == root ? 70 + round : -1;
        OK(started(&bcast));
        CHECK(given[0] == 7 + round && given[1] == 70 + round);
        given[0] = 10 * round + check_rank;
        clear();
        OK(started(&gather));
        for (i = 0; i < n; i++)
            CHECK(taken[i] == (check_rank == root ? 10 * round + i : 0));
        clear();
        OK(started(&gatherv));
        for (i = 0; i < n; i++)
            CHECK(taken[2 * i] == (check_rank == root ? 10 * round + i : 0) && taken[2 * i + 1] == 0);
        for (i = 0; i < 2 * n; i++)
            given[i] = 100 * round + i;
        OK(started(&scatter));
        CHECK(taken[0] == 100 * round + check_rank);
        OK(started(&scatterv));
        CHECK(taken[0] == 100 * round + 2 * check_rank && taken[1] == taken[0] + 1);
        given[0] = 1;
        given[1] = round;
        clear();
        OK(started(&reduce));
        CHECK(check_rank != root || (taken[0] == n && taken[1] == n * round));
    }
    OK(MPI_Request_free(&bcast));
    CHECK(bcast == MPI_REQUEST_NULL);
    OK(MPI_Request_free(&gather));
    OK(MPI_Request_free(&gatherv));
    OK(MPI_Request_free(&scatter));
    OK(MPI_Request_free(&scatterv));
    OK(MPI_Request_free(&reduce));
}

static void among_all(void)
{
    int n = check_size, round, i;
    MPI_Datatype types[MOST];
    MPI_Request requests[12];

    for (i = 0; i < n; i++)
        types[i] = MPI_INT;
    OK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Allgather_init(given, 1, MPI_INT, taken, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Allgatherv_init(given, 1, MPI_INT, taken, ones, by_two, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &requests[2]));
    OK(MPI_Alltoall_init(given, 2, MPI_INT, taken, 2, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]));
    OK(MPI_Alltoallv_init(given, twos, by_two, MPI_INT, taken, twos, by_two, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[4]));
    OK(MPI_Alltoallw_init(given, twos, by_eight, types, taken, twos, by_eight, types, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[5]));
    OK(MPI_Allreduce_init(given, taken, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[6]));
    OK(MPI_Reduce_scatter_init(given, taken, ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[7]));
    OK(MPI_Reduce_scatter_block_init(given, taken, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[8]));
    OK(MPI_Scan_init(given, taken, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[9]));
    OK(MPI_Exscan_init(given, taken, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[10]));
    OK(MPI_Allreduce_init(MPI_IN_PLACE, taken, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[11]));
    for (round = 0; round < ROUNDS; round++) {
        OK(started(&requests[0]));
        given[0] = 10 * round + check_rank;
        OK(started(&requests[1]));
        for (i = 0; i < n; i++)
            CHECK(taken[i] == 10 * round + i);
        clear();
        OK(started(&requests[2]));
        for (i = 0; i < n; i++)
            CHECK(taken[2 * i] == 10 * round + i);
        for (i = 0; i < 2 * n; i++)
            given[i] = 1000 * check_rank + 100 * round + i;
        for (i = 3; i <= 5; i++) {
            int from;

            clear();
            OK(started(&requests[i]));
            for (from = 0; from < n; from++)
                CHECK(taken[2 * from] == 1000 * from + 100 * round + 2 * check_rank &&
                      taken[2 * from + 1] == taken[2 * from] + 1);
        }
        for (i = 0; i < n; i++)
            given[i] = round + check_rank;
        OK(started(&requests[6]));
        CHECK(taken[0] == round + n - 1);
        OK(started(&requests[7]));
        CHECK(taken[0] == n * round + n * (n - 1) / 2);
        taken[0] = 0;
        OK(started(&requests[8]));
        CHECK(taken[0] == n * round + n * (n - 1) / 2);
        OK(started(&requests[9]));
        CHECK(taken[0] == (check_rank + 1) * round + check_rank * (check_rank + 1) / 2);
        OK(started(&requests[10]));
        CHECK(check_rank == 0 || taken[0] == check_rank * round + check_rank * (check_rank - 1) / 2);
        taken[0] = 2;
        OK(started(&requests[11]));
        CHECK(taken[0] == 2 * n);
    }
    for (i = 0; i < 12; i++)
        OK(MPI_Request_free(&requests[i]));
}

static void large(void)
{
    MPI_Request request;

    given[0] = check_rank == 0 ? 5 : 0;
    OK(MPI_Bcast_init_c(given, (MPI_Count)1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(started(&request));
    CHECK(given[0] == 5);
    OK(MPI_Request_free(&request));
}

/* Both are active together; one half of the processes starts them in the other order. */
static void in_any_order(void)
{
    MPI_Request requests[2];
    int sums[2], values[2], round, first = check_rank % 2;

    OK(MPI_Allreduce_init(&values[0], &sums[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Allreduce_init(&values[1], &sums[1], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    for (round = 0; round < 2 * ROUNDS; round++) {
        values[0] = round;
        values[1] = 100;
        OK(MPI_Start(&requests[first]));
        OK(MPI_Start(&requests[1 - first]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK(sums[0] == check_size * round && sums[1] == check_size * 100);
    }
    values[0] = 3;
    values[1] = 4;
    OK(MPI_Startall(2, requests));
    for (round = 0; round < 2; round++) {
        int index = -1;

        OK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
        CHECK(index == 0 || index == 1);
    }
    CHECK(sums[0] == 3 * check_size && sums[1] == 4 * check_size);
    OK(MPI_Waitany(2, requests, &round, MPI_STATUS_IGNORE));
    CHECK(round == MPI_UNDEFINED);
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

static void first_of_both(void *from, void *to, int *length, MPI_Datatype *type)
{
    int i;

    (void)type;
    for (i = 0; i < *length; i++)
        ((int *)to)[i] = ((int *)from)[i];
}

/* A request keeps its communicator, its datatypes and its operation. */
static void of_freed_objects(void)
{
    MPI_Datatype pair, types[MOST];
    MPI_Request sum, gather, swap;
    MPI_Comm comm;
    MPI_Op op;
    int round, i;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Op_create(first_of_both, 0, &op));
    for (i = 0; i < check_size; i++)
        types[i] = pair;
    OK(MPI_Allreduce_init(given, taken, 1, MPI_INT, op, comm, MPI_INFO_NULL, &sum));
    OK(MPI_Allgather_init(given, 1, pair, taken, 1, pair, comm, MPI_INFO_NULL, &gather));
    OK(MPI_Alltoallw_init(given, ones, by_eight, types, taken, ones, by_eight, types, comm, MPI_INFO_NULL, &swap));
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&pair));
    OK(MPI_Comm_free(&comm));
    for (round = 0; round < ROUNDS; round++) {
        given[0] = round + check_rank;
        given[1] = -1;
        OK(started(&sum));
        CHECK(taken[0] == round);
        OK(started(&gather));
        for (i = 0; i < check_size; i++)
            CHECK(taken[2 * i] == round + i && taken[2 * i + 1] == -1);
        for (i = 0; i < 2 * check_size; i++)
            given[i] = 1000 * check_rank + i;
        OK(started(&swap));
        for (i = 0; i < check_size; i++)
            CHECK(taken[2 * i] == 1000 * i + 2 * check_rank && taken[2 * i + 1] == taken[2 * i] + 1);
    }
    OK(MPI_Request_free(&sum));
    OK(MPI_Request_free(&gather));
    OK(MPI_Request_free(&swap));
}

static void neighbours(void)
{
    int dims[1] = {check_size}, periods[1] = {1}, left, right, round;
    MPI_Aint apart[2] = {0, sizeof(int)};
    int counts[2] = {1, 1}, places[2] = {0, 1};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Request requests[5];
    MPI_Comm ring;

    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring));
    OK(MPI_Cart_shift(ring, 0, 1, &left, &right));
    OK(MPI_Neighbor_allgather_init(given, 1, MPI_INT, taken, 1, MPI_INT, ring, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Neighbor_allgatherv_init(given, 1, MPI_INT, taken, counts, places, MPI_INT, ring, MPI_INFO_NULL,
                                    &requests[1]));
    OK(MPI_Neighbor_alltoall_init(given, 1, MPI_INT, taken, 1, MPI_INT, ring, MPI_INFO_NULL, &requests[2]));
    OK(MPI_Neighbor_alltoallv_init(given, counts, places, MPI_INT, taken, counts, places, MPI_INT, ring, MPI_INFO_NULL,
                                   &requests[3]));
    OK(MPI_Neighbor_alltoallw_init(given, counts, apart, types, taken, counts, apart, types, ring, MPI_INFO_NULL,
                                   &requests[4]));
    for (round = 0; round < ROUNDS; round++) {
        int i;

        for (i = 0; i < 5; i++) {
            given[0] = given[1] = 10 * round + check_rank;
            clear();
            OK(started(&requests[i]));
            CHECK(taken[0] == 10 * round + left && taken[1] == 10 * round + right);
        }
    }
    for (round = 0; round < 5; round++)
        OK(MPI_Request_free(&requests[round]));
    OK(MPI_Comm_free(&ring));
}

/* Each group receives the data of the other one. */
static void across(void)
{
    int half = check_rank % 2, others = half ? (check_size + 1) / 2 : check_size / 2, round, i;
    MPI_Comm local, inter;
    MPI_Request gather, sum;

    if (check_size < 2)
        return;
    OK(MPI_Comm_split(MPI_COMM_WORLD, half, 0, &local));
    OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - half, 0, &inter));
    OK(MPI_Allgather_init(given, 1, MPI_INT, taken, 1, MPI_INT, inter, MPI_INFO_NULL, &gather));
    OK(MPI_Allreduce_init(given, taken, 1, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, &sum));
    for (round = 0; round < ROUNDS; round++) {
        given[0] = 10 * round + half;
        clear();
        OK(started(&gather));
        for (i = 0; i < others; i++)
            CHECK(taken[i] == 10 * round + 1 - half);
        OK(started(&sum));
        CHECK(taken[0] == others * (10 * round + 1 - half));
    }
    OK(MPI_Request_free(&gather));
    OK(MPI_Request_free(&sum));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&local));
}

static void mistakes(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_ROOT, MPI_Bcast_init(given, 1, MPI_INT, check_size, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    FAILS(MPI_ERR_COUNT, MPI_Bcast_init(given, -1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    FAILS(MPI_ERR_TYPE, MPI_Bcast_init(given, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    FAILS(MPI_ERR_COMM, MPI_Barrier_init(MPI_COMM_NULL, MPI_INFO_NULL, &request));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    if (!IS_MPICH)
        FAILS(MPI_ERR_ARG, MPI_Start(&request));
    if (!IS_MPICH)
        FAILS(MPI_ERR_REQUEST, MPI_Cancel(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&request));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    int i;

    check_start(&argc, &argv);
    if (check_size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (i = 0; i < MOST; i++) {
        ones[i] = 1;
        twos[i] = 2;
        by_two[i] = 2 * i;
        by_eight[i] = 8 * i;
    }
    rooted();
    among_all();
    large();
    in_any_order();
    of_freed_objects();
    neighbours();
    across();
    mistakes();
    return check_end("conf_pcoll");
}
