/* Conformance: graph topologies (MPI-3.1, section 7.5): graphs that all know, and distributed ones. */
#include "check.h"

static int equal(const int *got, const int *wanted, int count)
{
    int i, same = 1;

    for (i = 0; i < count; i++)
        same &= got[i] == wanted[i];
    return same;
}

/* A ring with both neighbours and, as a third edge of rank 0, a loop; of all but the last rank, if there are more. */
static void graph(void)
{
    int nodes = check_size > 2 ? check_size - 1 : check_size, edges = 2 * nodes + 1;
    int *index = check_room((size_t)nodes * sizeof *index), *list = check_room((size_t)edges * sizeof *list);
    int *got_index = check_room((size_t)nodes * sizeof *index), *got = check_room((size_t)edges * sizeof *got);
    int i, at = 0, kind = -7, n = -1, e = -1, rank = -7;
    MPI_Comm comm, twin, part;

    for (i = 0; i < nodes; i++) {
        list[at++] = (i + nodes - 1) % nodes;
        list[at++] = (i + 1) % nodes;
        if (i == 0)
            list[at++] = 0;
        index[i] = at;
    }
    OK(MPI_Graph_map(MPI_COMM_WORLD, nodes, index, list, &rank));
    CHECK(check_rank < nodes ? rank >= 0 && rank < nodes : rank == MPI_UNDEFINED);
    OK(MPI_Graph_create(MPI_COMM_WORLD, nodes, index, list, 0, &comm));
    if (check_rank >= nodes) {
        CHECK(comm == MPI_COMM_NULL);
    } else {
        OK(MPI_Comm_rank(comm, &rank));
        CHECK(rank == check_rank);
        OK(MPI_Comm_dup(comm, &twin));
        OK(MPI_Comm_free(&comm));
        OK(MPI_Topo_test(twin, &kind));
        CHECK(kind == MPI_GRAPH);
        OK(MPI_Graphdims_get(twin, &n, &e));
        CHECK(n == nodes && e == edges);
        OK(MPI_Graph_get(twin, nodes, edges, got_index, got));
        CHECK(equal(got_index, index, nodes) && equal(got, list, edges));
        for (i = 0; i < nodes; i++) {
            OK(MPI_Graph_neighbors_count(twin, i, &n));
            CHECK(n == (i == 0 ? 3 : 2));
            OK(MPI_Graph_neighbors(twin, i, n, got));
            CHECK(equal(got, list + (i == 0 ? 0 : index[i - 1]), n));
        }
        OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, twin));
        CHECK(equal(got, list + (rank == 0 ? 0 : index[rank - 1]), rank == 0 ? 3 : 2));
        /* No more than there is room for. */
        got[0] = got[1] = -9;
        OK(MPI_Graph_neighbors(twin, 0, 1, got));
        CHECK(got[0] == list[0] && (IS_MPICH /* It gives them all. */ || got[1] == -9));
        FAILS(MPI_ERR_RANK, MPI_Graph_neighbors_count(twin, nodes, &n));
        FAILS(MPI_ERR_RANK, MPI_Graph_neighbors(twin, -1, 1, got));
        FAILS(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(twin, &n));
        FAILS(MPI_ERR_TOPOLOGY, MPI_Dist_graph_neighbors_count(twin, &n, &n, &n));
        /* A part has no topology. */
        OK(MPI_Comm_split(twin, 0, 0, &part));
        OK(MPI_Topo_test(part, &kind));
        CHECK(kind == MPI_UNDEFINED);
        OK(MPI_Comm_free(&part));
        OK(MPI_Comm_free(&twin));
    }
    /* Without nodes there is none. */
    OK(MPI_Graph_create(MPI_COMM_WORLD, 0, index, list, 1, &comm));
    CHECK(comm == MPI_COMM_NULL);
    free(got);
    free(got_index);
    free(list);
    free(index);
}

/* Each process gives its own edges: from the left twice, to the right twice, with weights. */
static void adjacent(void)
{
    int left = (check_rank + check_size - 1) % check_size, right = (check_rank + 1) % check_size;
    int from[2], to[2], from_weights[2], to_weights[2], got[4], in = -1, out = -1, weighted = -1, kind = -1, i;
    MPI_Comm comm, twin;

    from[0] = from[1] = left;
    to[0] = to[1] = right;
    for (i = 0; i < 2; i++) {
        from_weights[i] = 10 * left + i;
        to_weights[i] = 10 * check_rank + i;
    }
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, from_weights, 2, to, to_weights, MPI_INFO_NULL, 0,
                                      &comm));
    OK(MPI_Comm_dup(comm, &twin));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Topo_test(twin, &kind));
    CHECK(kind == MPI_DIST_GRAPH);
    OK(MPI_Dist_graph_neighbors_count(twin, &in, &out, &weighted));
    CHECK(in == 2 && out == 2 && weighted == 1);
    {
        int a[2], b[2], c[2], d[2];

        OK(MPI_Dist_graph_neighbors(twin, 2, a, b, 2, c, d));
        CHECK(equal(a, from, 2) && equal(b, from_weights, 2) && equal(c, to, 2) && equal(d, to_weights, 2));
        a[1] = b[1] = -5;
        if (!IS_MPICH) /* It makes an error of it (section 7.5.5: only the first part is returned). */
            OK(MPI_Dist_graph_neighbors(twin, 1, a, b, 0, c, d));
        CHECK(a[0] == left && a[1] == -5 && b[1] == -5);
    }
    /* A neighbourhood's blocks come in the order of the sources: both of the left's, the second one last. */
    {
        int mine[2], theirs[2] = {-1, -1};

        mine[0] = 10 * check_rank;
        mine[1] = 10 * check_rank + 1;
        OK(MPI_Neighbor_alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, twin));
        CHECK(IS_MPICH /* It receives in the reverse order. */
              || (theirs[0] == 10 * left && theirs[1] == 10 * left + 1));
        OK(MPI_Neighbor_allgather(&check_rank, 1, MPI_INT, theirs, 1, MPI_INT, twin));
        CHECK(theirs[0] == left && theirs[1] == left);
    }
    OK(MPI_Comm_free(&twin));

    /* Without weights; rank 0 has no edges in, and the last rank none out. */
    in = check_rank > 0 ? 1 : 0;
    out = check_rank + 1 < check_size ? 1 : 0;
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, from, MPI_UNWEIGHTED, out, to, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                      1, &comm));
    got[0] = got[1] = got[2] = got[3] = -1;
    OK(MPI_Dist_graph_neighbors_count(comm, &got[0], &got[1], &weighted));
    CHECK(weighted == 0);
    OK(MPI_Dist_graph_neighbors(comm, got[0], &got[2], MPI_UNWEIGHTED, got[1], &got[3], MPI_UNWEIGHTED));
    OK(MPI_Comm_free(&comm));
    /* With weights, which some have none of. */
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, from, in > 0 ? from_weights : MPI_WEIGHTS_EMPTY, out, to,
                                      out > 0 ? to_weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm));
    OK(MPI_Dist_graph_neighbors_count(comm, &got[0], &got[1], &weighted));
    CHECK(weighted == 1 && got[0] == in && got[1] == out);
    OK(MPI_Comm_free(&comm));
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Each process gives edges of others: from each to each rank, with a weight that tells the edge; and once more. */
static void distributed(void)
{
    int n = check_size, giver = check_size - 1 - check_rank, i, in = -1, out = -1, weighted = -1;
    int *all = check_room((size_t)n * sizeof *all), *weights = check_room((size_t)n * sizeof *weights);
    int *sources = check_room(2 * (size_t)n * sizeof *sources), *in_weights = check_room(2 * (size_t)n * sizeof *all);
    int *targets = check_room(2 * (size_t)n * sizeof *targets), *out_weights = check_room(2 * (size_t)n * sizeof *all);
    int degree = n, rank = giver, ok;
    MPI_Comm comm;

    for (i = 0; i < n; i++) {
        all[i] = i;
        weights[i] = 100 * giver + i;
    }
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, all, weights, MPI_INFO_NULL, 0, &comm));
    OK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted));
    CHECK(in == n && out == n && weighted == 1);
    OK(MPI_Dist_graph_neighbors(comm, n, sources, in_weights, n, targets, out_weights));
    for (i = 0, ok = 1; i < n; i++)
        ok &= in_weights[i] == 100 * sources[i] + check_rank && out_weights[i] == 100 * check_rank + targets[i];
    CHECK(ok);
    qsort(sources, (size_t)n, sizeof *sources, by_value);
    qsort(targets, (size_t)n, sizeof *targets, by_value);
    CHECK(equal(sources, all, n) && equal(targets, all, n));
    OK(MPI_Comm_free(&comm));

    /* Rank 0 gives all edges, each twice, without weights: a star around rank 0. */
    {
        int ranks[2] = {0, 0}, degrees[2] = {n, n};

        for (i = 0; i < n; i++)
            targets[i] = targets[n + i] = i;
        OK(MPI_Dist_graph_create(MPI_COMM_WORLD, check_rank == 0 ? 2 : 0, ranks, degrees, targets, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &comm));
    }
    OK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted));
    CHECK(in == 2 && out == (check_rank == 0 ? 2 * n : 0) && weighted == 0);
    OK(MPI_Dist_graph_neighbors(comm, in, sources, MPI_UNWEIGHTED, out, targets, MPI_UNWEIGHTED));
    CHECK(sources[0] == 0 && sources[1] == 0);
    OK(MPI_Comm_free(&comm));
    free(all);
    free(weights);
    free(sources);
    free(in_weights);
    free(targets);
    free(out_weights);
}

static void errors(void)
{
    int one = 1, zero = 0, minus = -1, n = -1, far = check_size, two[2] = {1, 0};
    int dims[1], periods[1] = {1};
    MPI_Comm comm;

    FAILS(MPI_ERR_TOPOLOGY, MPI_Graphdims_get(MPI_COMM_WORLD, &n, &n));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Graph_neighbors_count(MPI_COMM_WORLD, 0, &n));
    FAILS(MPI_ERR_TOPOLOGY, MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &n, &n, &n));
    FAILS(MPI_ERR_COMM, MPI_Graph_create(MPI_COMM_NULL, 1, &zero, &zero, 0, &comm));
    if (!IS_MPICH) /* It takes it. */
        FAILS(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_WORLD, -1, &zero, &zero, 0, &comm));
    FAILS(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_WORLD, check_size + 1, &zero, &zero, 0, &comm));
    if (!IS_MPICH) /* It takes it. */
        FAILS(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_WORLD, 1, &one, &one, 0, &comm));
    if (check_size > 1)
        FAILS(MPI_ERR_ARG, MPI_Graph_create(MPI_COMM_WORLD, 2, two, two, 0, &comm));
    if (!IS_MPICH) /* It takes it. */
        FAILS(MPI_ERR_RANK, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &far, MPI_UNWEIGHTED, 0, NULL,
                                                           MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    if (!IS_MPICH) /* It crashes. */
        FAILS(MPI_ERR_RANK, MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, &one, &minus, MPI_UNWEIGHTED,
                                                  MPI_INFO_NULL, 0, &comm));
    if (!IS_MPICH) { /* It takes the first and the last, and gives MPI_ERR_ARG. */
        FAILS(MPI_ERR_ARG, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &zero, MPI_WEIGHTS_EMPTY, 0, NULL,
                                                          MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm));
        FAILS(MPI_ERR_COUNT, MPI_Dist_graph_create(MPI_COMM_WORLD, -1, &zero, &one, &zero, MPI_UNWEIGHTED,
                                                   MPI_INFO_NULL, 0, &comm));
        FAILS(MPI_ERR_COUNT, MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, &minus, &zero, MPI_UNWEIGHTED,
                                                   MPI_INFO_NULL, 0, &comm));
    }
    /* Cartesian ones can be mapped, too. */
    dims[0] = check_size;
    OK(MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &n));
    CHECK(n >= 0 && n < check_size);
    dims[0] = check_size + 1;
    FAILS(MPI_ERR_DIMS, MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &n));
    if (check_size > 1) {
        dims[0] = check_size - 1;
        OK(MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &n));
        CHECK((n == MPI_UNDEFINED) == (check_rank == check_size - 1));
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    graph();
    adjacent();
    distributed();
    errors();
    return check_end("conf_graph");
}
