/* Conformance: neighbourhood collectives (MPI-3.1, sections 7.6 and 7.7) on Cartesian communicators. */
#include "check.h"

enum { SIDES = 6, MOST = 5, LONG = 20000 };

/* Element i of what rank `from` has for its neighbour number `side`. */
static int value(int from, int side, int i)
{
    return (from * SIDES + side) * 1000 + i;
}

/* What goes to the lower side comes from the upper one, also where both are one process. */
static int opposite(int side)
{
    return side ^ 1;
}

static void exchange(MPI_Comm cart, int sides, int is_blocking)
{
    int sources[SIDES], rank, i, side, given[MOST], all[SIDES * MOST], sparse[SIDES * 2 * MOST], to[SIDES * MOST];
    int from[SIDES * MOST], fromv[SIDES * MOST], fromw[SIDES * MOST], tov[SIDES * MOST];
    int counts[SIDES], displs[SIDES], recvcounts[SIDES], recvdispls[SIDES];
    MPI_Aint offsets[SIDES];
    MPI_Datatype types[SIDES], pairs;
    MPI_Request request[5];

    OK(MPI_Comm_rank(cart, &rank));
    for (side = 0; side < sides; side += 2)
        OK(MPI_Cart_shift(cart, side / 2, 1, &sources[side], &sources[side + 1]));
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &pairs));
    OK(MPI_Type_commit(&pairs));
    memset(all, 0xff, sizeof all);
    memset(sparse, 0xff, sizeof sparse);
    memset(from, 0xff, sizeof from);
    memset(fromv, 0xff, sizeof fromv);
    memset(fromw, 0xff, sizeof fromw);
    for (i = 0; i < MOST; i++)
        given[i] = value(rank, 0, i);
    for (side = 0; side < sides; side++) {
        for (i = 0; i < MOST; i++)
            to[side * MOST + i] = tov[side * MOST + i] = value(rank, side, i);
        /* A side's count goes with its dimension, so that both ends have the same. */
        counts[side] = recvcounts[side] = side / 2 == 1 ? 1 : 1 + side / 2;
        displs[side] = side * MOST;
        recvdispls[side] = side * 2 * MOST;
        offsets[side] = side * MOST * (MPI_Aint)sizeof(int);
        types[side] = side / 2 == 1 ? pairs : MPI_INT;
    }
    if (is_blocking) {
        OK(MPI_Neighbor_allgather(given, MOST, MPI_INT, all, MOST, MPI_INT, cart));
        for (side = 0; side < sides; side++)
            recvcounts[side] = MOST;
        OK(MPI_Neighbor_allgatherv(given, MOST, MPI_INT, sparse, recvcounts, recvdispls, MPI_INT, cart));
        OK(MPI_Neighbor_alltoall(to, MOST, MPI_INT, from, MOST, MPI_INT, cart));
        OK(MPI_Neighbor_alltoallv(tov, counts, displs, MPI_INT, fromv, counts, displs, MPI_INT, cart));
        OK(MPI_Neighbor_alltoallw(to, counts, offsets, types, fromw, counts, offsets, types, cart));
    } else {
        OK(MPI_Ineighbor_allgather(given, MOST, MPI_INT, all, MOST, MPI_INT, cart, &request[0]));
        for (side = 0; side < sides; side++)
            recvcounts[side] = MOST;
        OK(MPI_Ineighbor_allgatherv(given, MOST, MPI_INT, sparse, recvcounts, recvdispls, MPI_INT, cart, &request[1]));
        OK(MPI_Ineighbor_alltoall(to, MOST, MPI_INT, from, MOST, MPI_INT, cart, &request[2]));
        OK(MPI_Ineighbor_alltoallv(tov, counts, displs, MPI_INT, fromv, counts, displs, MPI_INT, cart, &request[3]));
        OK(MPI_Ineighbor_alltoallw(to, counts, offsets, types, fromw, counts, offsets, types, cart, &request[4]));
        OK(MPI_Waitall(5, request, MPI_STATUSES_IGNORE));
    }
    OK(MPI_Type_free(&pairs));

    for (side = 0; side < sides; side++) {
        int there = sources[side];

        for (i = 0; i < MOST; i++) {
            int at = side * MOST + i, none = there == MPI_PROC_NULL, back = opposite(side);
            int in_w = side / 2 == 1 ? i == 0 || i == 2 : i < counts[side];

            CHECK(all[at] == (none ? -1 : value(there, 0, i)));
            CHECK(sparse[side * 2 * MOST + i] == (none ? -1 : value(there, 0, i)));
            CHECK(sparse[side * 2 * MOST + MOST + i] == -1);
            CHECK(from[at] == (none ? -1 : value(there, back, i)));
            /* MPICH exchanges the two messages of those that are neighbours on both sides. */
            if (IS_MPICH && sources[side] == sources[side ^ 1])
                continue;
            CHECK(fromv[at] == (none || i >= counts[side] ? -1 : value(there, back, i)));
            CHECK(fromw[at] == (none || !in_w ? -1 : value(there, back, i)));
        }
    }
}

/* Messages that no memory holds: each process sends before any could receive. */
static void long_ones(MPI_Comm cart)
{
    int *to = check_room(2 * LONG * sizeof *to), *from = check_room(2 * LONG * sizeof *from), rank, left, right, i;
    MPI_Request request;

    OK(MPI_Comm_rank(cart, &rank));
    OK(MPI_Cart_shift(cart, 0, 1, &left, &right));
    for (i = 0; i < LONG; i++) {
        to[i] = 2 * (rank + i);
        to[LONG + i] = 2 * (rank + i) + 1;
    }
    OK(MPI_Neighbor_alltoall(to, LONG, MPI_INT, from, LONG, MPI_INT, cart));
    for (i = 0; i < LONG; i++) {
        CHECK(from[i] == 2 * (left + i) + 1);
        CHECK(from[LONG + i] == 2 * (right + i));
    }
    memset(from, 0, 2 * LONG * sizeof *from);
    OK(MPI_Ineighbor_alltoall(to, LONG, MPI_INT, from, LONG, MPI_INT, cart, &request));
    OK(MPI_Barrier(cart));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (i = 0; i < LONG; i++) {
        CHECK(from[i] == 2 * (left + i) + 1);
        CHECK(from[LONG + i] == 2 * (right + i));
    }
    free(to), free(from);
}

static void grids(void)
{
    int dims[3], periods[3], shape, wrap;
    MPI_Comm cart;

    for (shape = 0; shape < 4; shape++) {
        for (wrap = 0; wrap < 3; wrap++) {
            int ndims = shape == 0 ? 1 : shape == 1 ? 2 : 3;

            dims[0] = dims[1] = dims[2] = 0;
            if (shape == 3) {
                /* One process on both sides, or oneself. */
                dims[1] = 1;
                dims[2] = check_size % 2 == 0 ? 2 : 1;
            }
            OK(MPI_Dims_create(check_size, ndims, dims));
            periods[0] = wrap > 0;
            periods[1] = wrap > 1;
            periods[2] = wrap > 0;
            OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &cart));
            exchange(cart, 2 * ndims, 1);
            exchange(cart, 2 * ndims, 0);
            if (shape == 0 && wrap == 1)
                long_ones(cart);
            OK(MPI_Comm_free(&cart));
        }
    }
}

static void errors(void)
{
    int value = 0, got[4], n = check_size, periodic = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm cart;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
#ifdef MIDPLANE_MPI
    FAILS(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(&value, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Ineighbor_alltoall(&value, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD, &request));
#endif
    FAILS(MPI_ERR_COMM, MPI_Neighbor_alltoall(&value, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_NULL));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &cart));
    FAILS(MPI_ERR_COUNT, MPI_Neighbor_allgather(&value, -1, MPI_INT, got, 1, MPI_INT, cart));
    FAILS(MPI_ERR_TYPE, MPI_Ineighbor_alltoall(&value, 1, MPI_DATATYPE_NULL, got, 1, MPI_INT, cart, &request));
#ifdef MIDPLANE_MPI
    FAILS(MPI_ERR_BUFFER, MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT, cart));
    FAILS(MPI_ERR_ARG, MPI_Neighbor_alltoallv(got, NULL, NULL, MPI_INT, got, NULL, NULL, MPI_INT, cart));
    FAILS(MPI_ERR_ARG, MPI_Neighbor_alltoallw(got, NULL, NULL, NULL, got, NULL, NULL, NULL, cart));
    FAILS(MPI_ERR_ARG, MPI_Ineighbor_allgather(&value, 1, MPI_INT, got, 1, MPI_INT, cart, NULL));
#endif
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Comm_free(&cart));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    grids();
    errors();
    return check_end("conf_neighbor");
}
