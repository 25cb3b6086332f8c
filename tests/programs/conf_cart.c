/* Conformance: Cartesian topologies (MPI-3.1, section 7.5). */
#include "check.h"

static void dims(void)
{
    int two[2] = {0, 0}, three[3] = {0, 0, 0}, fixed[3] = {0, 3, 0}, i, n;

    OK(MPI_Dims_create(12, 2, two));
    CHECK(two[0] == 4 && two[1] == 3);
    OK(MPI_Dims_create(8, 3, three));
    CHECK(three[0] == 2 && three[1] == 2 && three[2] == 2);
    OK(MPI_Dims_create(12, 3, fixed));
    CHECK(fixed[0] == 2 && fixed[1] == 3 && fixed[2] == 2);
    three[0] = three[1] = three[2] = 0;
    OK(MPI_Dims_create(7488, 3, three));
    CHECK(three[0] == 26 && three[1] == 18 && three[2] == 16);
    for (n = 1; n <= 64; n++) {
        two[0] = two[1] = three[0] = three[1] = three[2] = 0;
        OK(MPI_Dims_create(n, 2, two));
        CHECK(two[0] * two[1] == n && two[0] >= two[1]);
        OK(MPI_Dims_create(n, 3, three));
        CHECK(three[0] * three[1] * three[2] == n);
        for (i = 0; i < 2; i++)
            CHECK(three[i] >= three[i + 1]);
    }
}

/* A grid of all ranks; its neighbours trade values along every dimension. */
static void grid(int ndims, const int *periods)
{
    int extents[3] = {0, 0, 0}, got_dims[4], got_periods[4], coords[4], there[3], rank, size, n, status, i, d;
    int source, dest, got, value, expected, place;
    MPI_Comm comm, twin;

    OK(MPI_Dims_create(check_size, ndims, extents));
    OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, extents, periods, 0, &comm));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    CHECK(rank == check_rank && size == check_size);
    OK(MPI_Topo_test(comm, &status));
    CHECK(status == MPI_CART);
    OK(MPI_Topo_test(MPI_COMM_WORLD, &status));
    CHECK(status == MPI_UNDEFINED);
    OK(MPI_Cartdim_get(comm, &n));
    CHECK(n == ndims);
    OK(MPI_Cart_get(comm, 4, got_dims, got_periods, coords));
    place = 0;
    for (d = 0; d < ndims; d++) {
        CHECK(got_dims[d] == extents[d] && !got_periods[d] == !periods[d]);
        CHECK(coords[d] >= 0 && coords[d] < extents[d]);
        place = place * extents[d] + coords[d];
    }
    CHECK(place == rank);
    for (i = 0; i < size; i++) {
        OK(MPI_Cart_coords(comm, i, 3, there));
        OK(MPI_Cart_rank(comm, there, &place));
        CHECK(place == i);
        for (d = 0; d < ndims; d++)
            if (periods[d])
                there[d] -= 3 * extents[d];
        OK(MPI_Cart_rank(comm, there, &place));
        CHECK(place == i);
    }
    /* A duplicate has the grid, too. */
    OK(MPI_Comm_dup(comm, &twin));
    OK(MPI_Comm_free(&comm));
    for (d = 0; d < ndims; d++) {
        for (n = -2; n <= 2; n++) {
            OK(MPI_Cart_shift(twin, d, n, &source, &dest));
            for (i = 0; i < ndims; i++)
                there[i] = coords[i];
            there[d] = coords[d] + n;
            expected = MPI_PROC_NULL;
            if (periods[d] || (there[d] >= 0 && there[d] < extents[d]))
                OK(MPI_Cart_rank(twin, there, &expected));
            CHECK(dest == expected);
            value = 100 * rank + d;
            got = -1;
            OK(MPI_Sendrecv(&value, 1, MPI_INT, dest, n + 5, &got, 1, MPI_INT, source, n + 5, twin,
                            MPI_STATUS_IGNORE));
            CHECK(got == (source == MPI_PROC_NULL ? -1 : 100 * source + d));
        }
    }

    /* Rows and columns. */
    for (d = 0; d < ndims; d++) {
        int keep[3] = {0, 0, 0}, sum, along;

        keep[d] = 1;
        OK(MPI_Cart_sub(twin, keep, &comm));
        OK(MPI_Comm_size(comm, &size));
        OK(MPI_Comm_rank(comm, &along));
        CHECK(size == extents[d] && along == coords[d]);
        OK(MPI_Cart_get(comm, 1, got_dims, got_periods, there));
        CHECK(got_dims[0] == extents[d] && !got_periods[0] == !periods[d] && there[0] == coords[d]);
        OK(MPI_Allreduce(&coords[d], &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(sum == extents[d] * (extents[d] - 1) / 2);
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Comm_free(&twin));
}

/* A grid for some of the ranks, and none for the others. */
static void partly(void)
{
    int dims[1], periods[1] = {1}, source, dest, size;
    MPI_Comm comm;

    dims[0] = (check_size + 1) / 2;
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm));
    CHECK((comm != MPI_COMM_NULL) == (check_rank < dims[0]));
    if (comm != MPI_COMM_NULL) {
        OK(MPI_Comm_size(comm, &size));
        CHECK(size == dims[0]);
        OK(MPI_Cart_shift(comm, 0, 1, &source, &dest));
        CHECK(dest == (check_rank + 1) % size && source == (check_rank + size - 1) % size);
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &comm));
    CHECK(comm == MPI_COMM_NULL);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
}

static void mistakes(void)
{
    int dims[2] = {1, 1}, periods[2] = {0, 0}, got, too_many[1], twos[2] = {2, 0};
    MPI_Comm comm, none = MPI_COMM_NULL;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm));
    too_many[0] = check_size + 1;
    FAILS(MPI_ERR_TOPOLOGY, MPI_Cart_coords(MPI_COMM_WORLD, 0, 1, &got));
    FAILS(MPI_ERR_DIMS, MPI_Dims_create(7, 2, twos));
#ifndef MPICH_VERSION /* MPICH 4.0.2 gives the class MPI_ERR_ARG. */
    FAILS(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_WORLD, 1, too_many, periods, 0, &none));
    CHECK(none == MPI_COMM_NULL);
#endif
    if (comm != MPI_COMM_NULL) {
        OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
        FAILS(MPI_ERR_ARG, MPI_Cart_shift(comm, 2, 1, &got, &got));
        FAILS(MPI_ERR_RANK, MPI_Cart_coords(comm, 1, 2, dims));
        dims[0] = dims[1] = 1;
#ifndef MPICH_VERSION /* MPICH 4.0.2 gives the class MPI_ERR_RANK. */
        FAILS(MPI_ERR_ARG, MPI_Cart_rank(comm, dims, &got));
#endif
        OK(MPI_Comm_free(&comm));
    }
    (void)none;
    (void)too_many;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* Ranks may be others in the grid; what is at them is not. */
static void reordered(int ndims)
{
    int extents[3] = {0, 0, 0}, periods[3] = {1, 1, 1}, coords[3], rank = -1, mapped = -1, here = -1, sum = -1, i;
    int from, to, got = -1;
    MPI_Comm comm;

    OK(MPI_Dims_create(check_size, ndims, extents));
    OK(MPI_Cart_map(MPI_COMM_WORLD, ndims, extents, periods, &mapped));
    OK(MPI_Cart_create(MPI_COMM_WORLD, ndims, extents, periods, 1, &comm));
    OK(MPI_Comm_rank(comm, &rank));
    CHECK(rank == mapped && rank >= 0 && rank < check_size);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == check_size * (check_size - 1) / 2);
    OK(MPI_Cart_coords(comm, rank, ndims, coords));
    OK(MPI_Cart_rank(comm, coords, &here));
    CHECK(here == rank);
    for (i = 0; i < ndims; i++) {
        OK(MPI_Cart_shift(comm, i, 1, &from, &to));
        OK(MPI_Sendrecv(&rank, 1, MPI_INT, to, i, &got, 1, MPI_INT, from, i, comm, MPI_STATUS_IGNORE));
        CHECK(got == from);
    }
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    static const int none[3] = {0, 0, 0}, all[3] = {1, 1, 1}, mixed[3] = {1, 0, 1};
    int ndims;

    check_start(&argc, &argv);
    dims();
    for (ndims = 1; ndims <= 3; ndims++) {
        grid(ndims, none);
        grid(ndims, all);
        grid(ndims, mixed);
        reordered(ndims);
    }
    partly();
    mistakes();
    return check_end("conf_cart");
}
