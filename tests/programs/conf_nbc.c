/* Conformance: collectives that do not block (MPI-3.1, section 5.12), and MPI_Alltoallw (5.8). */
#include "check.h"

/* Completes all in one of several ways, another one at each rank and in each round. */
static void complete(int count, MPI_Request requests[], int round)
{
    int i, flag = 0, index, outcount, indices[64];
    MPI_Status statuses[64];

    switch ((check_rank + round) % 6) {
    case 0:
        OK(MPI_Waitall(count, requests, statuses));
        break;
    case 1:
        while (!flag)
            POLL(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
        break;
    case 2:
        for (i = 0; i < count; i++)
            OK(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
        break;
    case 3:
        for (i = 0; i < count; i += outcount)
            OK(MPI_Waitsome(count, requests, &outcount, indices, statuses));
        break;
    case 4:
        for (i = count - 1; i >= 0; i--)
            OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        break;
    default:
        for (i = count - 1; i >= 0; i--)
            for (flag = 0; !flag;)
                POLL(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
    }
    for (i = 0; i < count; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
}

/* What rank `from` has for rank `to`. */
static int value(int from, int to)
{
    return from * 1000 + to;
}

static int *ints(size_t count)
{
    int *room = check_room(count * sizeof *room);

    memset(room, 0xff, count * sizeof *room);
    return room;
}

/* All of those that move data at the same time on one communicator, with a blocking one among them. */
static void move_data(int root, int round)
{
    int n = check_size, r, sum = -1, requests = 0, mine = value(check_rank, root), all = n * (n + 1) / 2;
    int *counts = ints(n), *displs = ints(n), *own = ints(n);
    int *bcast = ints(100), *gather = ints(n), *gatherv = ints(2 * n), *scatter = ints(n), scattered = -1;
    int *scatterv = ints(2 * n), scatteredv = -1, *allgather = ints(n), *allgatherv = ints(all);
    int *to = ints(n), *from = ints(n), *fromv = ints(n), *fromw = ints(n);
    MPI_Datatype *types = check_room(n * sizeof *types);
    int *bytes = ints(n), *ones = ints(n);
    MPI_Request request[16];

    for (r = 0; r < n; r++) {
        own[r] = value(check_rank, r);
        to[r] = value(check_rank, r);
        scatter[r] = value(root, r);
        scatterv[2 * r] = value(root, r);
        counts[r] = r + 1;
        displs[r] = r * (r + 1) / 2;
        ones[r] = 1;
        bytes[r] = r * (int)sizeof(int);
        types[r] = MPI_INT;
    }
    if (check_rank == root)
        for (r = 0; r < 100; r++)
            bcast[r] = root + r;
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Ibcast(bcast, 100, MPI_INT, root, MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Igather(&mine, 1, MPI_INT, gather, 1, MPI_INT, root, MPI_COMM_WORLD, &request[requests++]));
    {
        int *two = ints(n);

        for (r = 0; r < n; r++)
            two[r] = 2 * r;
        OK(MPI_Igatherv(&mine, 1, MPI_INT, gatherv, ones, two, MPI_INT, root, MPI_COMM_WORLD, &request[requests++]));
        OK(MPI_Iscatter(scatter, 1, MPI_INT, &scattered, 1, MPI_INT, root, MPI_COMM_WORLD, &request[requests++]));
        OK(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == n * (n - 1) / 2);
        OK(MPI_Iscatterv(scatterv, ones, two, MPI_INT, &scatteredv, 1, MPI_INT, root, MPI_COMM_WORLD,
                         &request[requests++]));
        OK(MPI_Iallgather(&mine, 1, MPI_INT, allgather, 1, MPI_INT, MPI_COMM_WORLD, &request[requests++]));
        OK(MPI_Iallgatherv(own, counts[check_rank], MPI_INT, allgatherv, counts, displs, MPI_INT, MPI_COMM_WORLD,
                           &request[requests++]));
        OK(MPI_Ialltoall(to, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD, &request[requests++]));
        OK(MPI_Ialltoallv(to, ones, bytes, MPI_BYTE, fromv, ones, bytes, MPI_BYTE, MPI_COMM_SELF,
                          &request[requests++]));
        OK(MPI_Ialltoallw(to, ones, bytes, types, fromw, ones, bytes, types, MPI_COMM_WORLD, &request[requests++]));
        complete(requests, request, round);
        free(two);
    }
    for (r = 0; r < 100; r++)
        CHECK(bcast[r] == root + r);
    for (r = 0; r < n; r++) {
        if (check_rank == root) {
            CHECK(gather[r] == value(r, root));
            CHECK(gatherv[2 * r] == value(r, root) && gatherv[2 * r + 1] == -1);
        }
        CHECK(allgather[r] == value(r, root));
        CHECK(from[r] == value(r, check_rank));
        CHECK(fromw[r] == value(r, check_rank));
    }
    CHECK(scattered == value(root, check_rank) && scatteredv == value(root, check_rank));
    for (r = 0; r < n; r++) {
        int i;

        for (i = 0; i <= r; i++)
            CHECK(allgatherv[displs[r] + i] == value(r, i));
    }
    CHECK(memcmp(fromv, to, 1) == 0);

    memset(fromv, 0, n * sizeof *fromv);
    for (r = 0; r < n; r++)
        displs[r] = n - 1 - r;
    OK(MPI_Ialltoallv(to, ones, displs, MPI_INT, fromv, ones, displs, MPI_INT, MPI_COMM_WORLD, &request[0]));
    OK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
    for (r = 0; r < n; r++)
        CHECK(fromv[n - 1 - r] == value(r, n - 1 - check_rank));
    memset(fromw, 0, n * sizeof *fromw);
    OK(MPI_Alltoallw(to, ones, bytes, types, fromw, ones, bytes, types, MPI_COMM_WORLD));
    for (r = 0; r < n; r++)
        CHECK(fromw[r] == value(r, check_rank));
    OK(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, fromw, ones, bytes, types, MPI_COMM_WORLD));
    for (r = 0; r < n; r++)
        CHECK(fromw[r] == value(check_rank, r));

    free(counts), free(displs), free(own), free(bcast), free(gather), free(gatherv), free(scatter), free(scatterv);
    free(allgather), free(allgatherv), free(to), free(from), free(fromv), free(fromw), free(types), free(bytes);
    free(ones);
}

static void in_place(int root)
{
    int n = check_size, r, requests = 0, at_root = check_rank == root, sum = check_rank + 1, reduced = check_rank + 1;
    int scan = check_rank + 1, exscan = check_rank + 1;
    int *gather = ints(n), *scatter = ints(n), *allgather = ints(n), *alltoall = ints(n), *alltoallw = ints(n);
    int *parts = ints(2 * n), *blocks = ints(2 * n), *counts = ints(n), *ones = ints(n), *displs = ints(n);
    int *bytes = ints(n);
    MPI_Datatype *types = check_room(n * sizeof *types);
    MPI_Request request[16];

    for (r = 0; r < n; r++) {
        scatter[r] = value(root, r);
        alltoall[r] = alltoallw[r] = value(check_rank, r);
        parts[2 * r] = parts[2 * r + 1] = blocks[2 * r] = blocks[2 * r + 1] = check_rank + r;
        counts[r] = 2;
        ones[r] = 1;
        displs[r] = r;
        bytes[r] = r * (int)sizeof(int);
        types[r] = MPI_INT;
    }
    gather[check_rank] = allgather[check_rank] = value(check_rank, 7);
    r = check_rank == root ? -1 : value(check_rank, 7);
    OK(MPI_Igather(at_root ? MPI_IN_PLACE : &r, 1, MPI_INT, gather, 1, MPI_INT, root, MPI_COMM_WORLD,
                   &request[requests++]));
    OK(MPI_Iscatter(scatter, 1, MPI_INT, at_root ? MPI_IN_PLACE : scatter, 1, MPI_INT, root, MPI_COMM_WORLD,
                    &request[requests++]));
    OK(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, allgather, 1, MPI_INT, MPI_COMM_WORLD,
                      &request[requests++]));
    OK(MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, alltoall, 1, MPI_INT, MPI_COMM_WORLD,
                     &request[requests++]));
    OK(MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, alltoallw, ones, bytes, types, MPI_COMM_WORLD,
                      &request[requests++]));
    OK(MPI_Ireduce(at_root ? MPI_IN_PLACE : &reduced, &reduced, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD,
                   &request[requests++]));
    OK(MPI_Iallreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Ireduce_scatter(MPI_IN_PLACE, parts, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Ireduce_scatter_block(MPI_IN_PLACE, blocks, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Iscan(MPI_IN_PLACE, &scan, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Iexscan(MPI_IN_PLACE, &exscan, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[requests++]));
    complete(requests, request, root);

    if (at_root) {
        for (r = 0; r < n; r++) {
            CHECK(gather[r] == value(r, 7));
            CHECK(scatter[r] == value(root, r));
        }
        CHECK(reduced == n * (n + 1) / 2);
    } else {
        CHECK(scatter[0] == value(root, check_rank));
    }
    for (r = 0; r < n; r++) {
        CHECK(allgather[r] == value(r, 7));
        CHECK(alltoall[r] == value(r, check_rank));
        CHECK(alltoallw[r] == value(r, check_rank));
    }
    CHECK(sum == n * (n + 1) / 2);
    CHECK(parts[0] == n * (n - 1) / 2 + n * check_rank && parts[1] == parts[0]);
    CHECK(blocks[0] == n - 1 + check_rank && blocks[1] == blocks[0]);
    CHECK(scan == (check_rank + 1) * (check_rank + 2) / 2);
    CHECK(check_rank == 0 || exscan == check_rank * (check_rank + 1) / 2);
    free(gather), free(scatter), free(allgather), free(alltoall), free(alltoallw), free(parts), free(blocks);
    free(counts), free(ones), free(displs), free(bytes), free(types);
}

/* Ranks first to last: neighbours alone can be combined, the lower ones on the left. Asks MPI on the way. */
struct range {
    int first, last, wrong;
};

static void join(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    struct range *left = in, *right = inout;
    int i, size = 0;

    MPI_Type_size(*datatype, &size);
    for (i = 0; i < *len; i++) {
        right[i].wrong += left[i].wrong + (left[i].last + 1 != right[i].first) + (size != 3 * sizeof(int));
        right[i].wrong += MPI_Wtime() < 0;
        right[i].first = left[i].first;
    }
}

static void reductions(int round)
{
    enum { MANY = 700 };
    int i, requests = 0, root = round % check_size, n = check_size, *counts = ints(n);
    struct range *own = check_room(MANY * sizeof *own), *all = check_room(MANY * sizeof *all);
    struct range *reduced = check_room(MANY * sizeof *own), *scan = check_room(MANY * sizeof *all);
    struct range *exscan = check_room(MANY * sizeof *all), *blocks = check_room(n * sizeof *blocks), part, block;
    double mine = 1.0 / (check_rank + 3), sum[2] = {-1, -2}, least = -1;
    MPI_Datatype type;
    MPI_Request request[16];
    MPI_Op op;

    for (i = 0; i < MANY; i++) {
        own[i].first = own[i].last = check_rank;
        own[i].wrong = 0;
    }
    memset(all, 0, MANY * sizeof *all);
    memset(reduced, 0, MANY * sizeof *all);
    for (i = 0; i < n; i++) {
        counts[i] = 1;
        blocks[i] = own[0];
    }
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Op_create(join, 0, &op));
    OK(MPI_Iallreduce(own, all, MANY, type, op, MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Ireduce(own, reduced, MANY, type, op, root, MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Iscan(own, scan, MANY, type, op, MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Iexscan(own, exscan, MANY, type, op, MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Ireduce_scatter(blocks, &part, counts, type, op, MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Ireduce_scatter_block(blocks, &block, 1, type, op, MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Iallreduce(&mine, &sum[0], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Iallreduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD, &request[requests++]));
    OK(MPI_Allreduce(&mine, &sum[1], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    complete(requests, request, round);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&type));

    for (i = 0; i < MANY; i++) {
        CHECK(all[i].first == 0 && all[i].last == n - 1 && all[i].wrong == 0);
        CHECK(check_rank != root || (reduced[i].first == 0 && reduced[i].last == n - 1 && reduced[i].wrong == 0));
        CHECK(scan[i].first == 0 && scan[i].last == check_rank && scan[i].wrong == 0);
        CHECK(check_rank == 0 ||
              (exscan[i].first == 0 && exscan[i].last == check_rank - 1 && exscan[i].wrong == 0));
    }
    CHECK(part.first == 0 && part.last == n - 1 && part.wrong == 0);
    CHECK(block.first == 0 && block.last == n - 1 && block.wrong == 0);
    /* The same numbers, but a call that blocks may combine them in another order (MPI-3.1, 5.12). */
    CHECK(sum[0] - sum[1] <= 1e-14 * n && sum[1] - sum[0] <= 1e-14 * n && least == 1.0 / (n + 2));
    free(own), free(all), free(reduced), free(scan), free(exscan), free(blocks), free(counts);
}

/* Columns of matrices, whose datatype is freed while they are under way. */
static void columns(void)
{
    enum { ROWS = 300 };
    int n = check_size, i, r, (*matrix)[4] = check_room(ROWS * sizeof *matrix), *all = ints((size_t)n * ROWS);
    MPI_Datatype column, resized;
    MPI_Request request[3];

    for (i = 0; i < ROWS; i++)
        for (r = 0; r < 4; r++)
            matrix[i][r] = r == 1 ? check_rank * ROWS + i : r == 2 && check_rank == 0 ? i : -1;
    OK(MPI_Type_vector(ROWS, 1, 4, MPI_INT, &column));
    OK(MPI_Type_create_resized(column, 0, sizeof(int), &resized));
    OK(MPI_Type_commit(&resized));
    OK(MPI_Type_commit(&column));
    OK(MPI_Iallgather(&matrix[0][1], 1, column, all, ROWS, MPI_INT, MPI_COMM_WORLD, &request[0]));
    OK(MPI_Ibcast(&matrix[0][2], 1, resized, 0, MPI_COMM_WORLD, &request[1]));
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request[2]));
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&resized));
    complete(3, request, 1);
    for (i = 0; i < ROWS; i++) {
        CHECK(matrix[i][0] == -1 && matrix[i][2] == i && matrix[i][3] == -1);
        for (r = 0; r < n; r++)
            CHECK(all[r * ROWS + i] == r * ROWS + i);
    }
    free(matrix), free(all);
}

/* Far longer than MPI memory, and three at a time. */
static void long_ones(void)
{
    enum { LONG = 100000 };
    int i, *sent = ints(LONG), *sums = ints(LONG), *other = ints(LONG);
    MPI_Request request[3];

    for (i = 0; i < LONG; i++) {
        sent[i] = check_rank + i;
        if (check_rank == 0)
            other[i] = 3 * i;
    }
    OK(MPI_Iallreduce(sent, sums, LONG, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[0]));
    OK(MPI_Ibcast(other, LONG, MPI_INT, 0, MPI_COMM_WORLD, &request[1]));
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request[2]));
    complete(3, request, 2);
    for (i = 0; i < LONG; i++) {
        CHECK(sums[i] == check_size * i + check_size * (check_size - 1) / 2);
        CHECK(other[i] == 3 * i);
    }
    free(sent), free(sums), free(other);
}

/* None is over before the last process has started it, and all are then. */
static void waits_for_all(void)
{
    MPI_Request request;
    MPI_Status status;
    int i, flag, last = check_size - 1;

    if (check_size == 1)
        return;
    if (check_rank == last) {
        for (i = 0; i < last; i++)
            OK(MPI_Recv(&flag, 1, MPI_INT, i, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        return;
    }
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    for (i = 0; i < 20; i++) {
        flag = -1;
        OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        CHECK(flag == 0 && request != MPI_REQUEST_NULL);
    }
    OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    CHECK(flag == 0);
    OK(MPI_Ssend(&check_rank, 1, MPI_INT, last, 5, MPI_COMM_WORLD));
    for (flag = 0; !flag;)
        POLL(MPI_Request_get_status(request, &flag, &status));
    CHECK(request != MPI_REQUEST_NULL);
    status.MPI_ERROR = MPI_ERR_OTHER;
    OK(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    flag = -1;
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag == 0);
}

static void add(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    int i;

    (void)datatype;
    for (i = 0; i < *len; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* They go on while the program waits for something else, whatever that is. */
static void beside(void)
{
    int n = check_size, root = n - 1, i, other = 0, sum = -1, token = -1, flag;
    MPI_Comm first, second;
    MPI_Request request[2];
    MPI_Op op;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &first));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &second));
    OK(MPI_Op_create(add, 1, &op));

    /* Two communicators, waited for in different orders. */
    OK(MPI_Ibarrier(first, &request[0]));
    OK(MPI_Ibarrier(second, &request[1]));
    other = check_rank % 2;
    OK(MPI_Wait(&request[other], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request[1 - other], MPI_STATUS_IGNORE));
    /* Started in different orders, too. */
    OK(MPI_Ibarrier(other ? first : second, &request[0]));
    OK(MPI_Ibarrier(other ? second : first, &request[1]));
    OK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request[1], MPI_STATUS_IGNORE));

    /* The tree's middle waits for messages that come only when the collective is over elsewhere. */
    for (i = 0; i < 4; i++) {
        sum = -1;
        OK(MPI_Iallreduce(&check_rank, &sum, 1, MPI_INT, op, first, &request[0]));
        if (check_rank == root) {
            OK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
            for (other = 0; other < root; other++)
                OK(MPI_Send(&i, 1, MPI_INT, other, 6, second));
        } else {
            MPI_Status status;

            if (i == 1)
                OK(MPI_Probe(root, 6, second, &status));
            for (flag = 0; i == 2 && !flag;)
                POLL(MPI_Iprobe(root, 6, second, &flag, &status));
            if (i == 3) {
                MPI_Request two[2];

                two[0] = MPI_REQUEST_NULL;
                OK(MPI_Irecv(&token, 1, MPI_INT, root, 6, second, &two[1]));
                OK(MPI_Waitall(2, two, MPI_STATUSES_IGNORE));
            } else {
                OK(MPI_Recv(&token, 1, MPI_INT, root, 6, second, MPI_STATUS_IGNORE));
            }
            CHECK(token == i);
            OK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
        }
        CHECK(sum == n * (n - 1) / 2);
    }
    /* A blocking collective waits for some that the others start late. */
    sum = -1;
    OK(MPI_Iallreduce(&check_rank, &sum, 1, MPI_INT, op, first, &request[0]));
    if (check_rank == root)
        OK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
    OK(MPI_Barrier(second));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank != root)
        OK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
    CHECK(sum == n * (n - 1) / 2);

    /* What is under way on a communicator outlives its handle. */
    OK(MPI_Ibarrier(first, &request[0]));
    OK(MPI_Comm_free(&first));
    OK(MPI_Iallreduce(&check_rank, &sum, 1, MPI_INT, op, second, &request[1]));
    OK(MPI_Op_free(&op));
    OK(MPI_Comm_free(&second));
    complete(2, request, 0);
    CHECK(sum == n * (n - 1) / 2);
}

/* Many on one communicator, completed in another order than they were started in. */
static void many(void)
{
    enum { MANY = 200 };
    int i, sums[MANY], values[MANY];
    MPI_Request request[MANY];

    for (i = 0; i < MANY; i++) {
        values[i] = i + check_rank;
        OK(MPI_Iallreduce(&values[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[i]));
    }
    for (i = MANY - 1; i >= 0; i--) {
        OK(MPI_Wait(&request[i], MPI_STATUS_IGNORE));
        CHECK(sums[i] == check_size * i + check_size * (check_size - 1) / 2);
    }
}

static void errors(void)
{
    int value = 0, got[64];
    MPI_Datatype uncommitted;
    MPI_Request request = MPI_REQUEST_NULL;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_COMM, MPI_Ibarrier(MPI_COMM_NULL, &request));
    FAILS(MPI_ERR_ROOT, MPI_Ibcast(&value, 1, MPI_INT, check_size, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_COUNT, MPI_Ibcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_TYPE, MPI_Ibcast(&value, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_BUFFER, MPI_Ibcast(NULL, 1, MPI_INT, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Type_contiguous(2, MPI_INT, &uncommitted));
    FAILS(MPI_ERR_TYPE, MPI_Iallgather(&value, 1, uncommitted, got, 1, MPI_INT, MPI_COMM_WORLD, &request));
    OK(MPI_Type_free(&uncommitted));
    FAILS(MPI_ERR_ROOT, MPI_Igather(&value, 1, MPI_INT, got, 1, MPI_INT, -1, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_ROOT, MPI_Iscatter(got, 1, MPI_INT, &value, 1, MPI_INT, -1, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_COUNT, MPI_Ialltoall(got, -1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_OP, MPI_Iallreduce(&value, got, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_OP, MPI_Ireduce(&value, got, 1, MPI_DOUBLE, MPI_BAND, 0, MPI_COMM_WORLD, &request));
    if (!IS_MPICH) /* By MPI_ERR_OTHER. */
        FAILS(MPI_ERR_COUNT, MPI_Iscan(&value, got, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    if (!IS_MPICH) /* By MPI_ERR_OTHER. */
        FAILS(MPI_ERR_COUNT, MPI_Ireduce_scatter_block(&value, got, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    CHECK(request == MPI_REQUEST_NULL);
#ifdef MIDPLANE_MPI
    FAILS(MPI_ERR_ARG, MPI_Ibarrier(MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Ialltoallv(got, NULL, NULL, MPI_INT, got, NULL, NULL, MPI_INT, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_ARG, MPI_Ialltoallw(got, NULL, NULL, NULL, got, NULL, NULL, NULL, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_ARG, MPI_Alltoallw(got, NULL, NULL, NULL, got, NULL, NULL, NULL, MPI_COMM_WORLD));
    /* A request of a collective is neither freed nor cancelled. */
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_REQUEST, MPI_Request_free(&request));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    {
        enum { LIMIT = 4096 };
        MPI_Request *all = check_room(LIMIT * sizeof *all);
        int i;

        for (i = 0; i < LIMIT; i++)
            OK(MPI_Ibarrier(MPI_COMM_SELF, &all[i]));
        OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        FAILS(MPI_ERR_OTHER, MPI_Ibarrier(MPI_COMM_SELF, &request));
        OK(MPI_Waitall(LIMIT, all, MPI_STATUSES_IGNORE));
        OK(MPI_Ibarrier(MPI_COMM_SELF, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        free(all);
    }
    /* Counts that differ are found out where more or less comes than was asked for; its request says so. */
    if (check_size > 1) {
        MPI_Comm pair;
        MPI_Status status;
        int index, requests = 1;

        OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank < 2 ? 0 : MPI_UNDEFINED, 0, &pair));
        if (pair != MPI_COMM_NULL) {
            OK(MPI_Ibcast(got, check_rank == 0 ? 2 : 1, MPI_INT, 0, pair, &request));
            if (check_rank == 0) {
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            } else {
                FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(requests, &request, &status));
                MPI_Error_class(status.MPI_ERROR, &index);
                CHECK(index == MPI_ERR_TRUNCATE);
            }
            CHECK(request == MPI_REQUEST_NULL);
            OK(MPI_Comm_free(&pair));
        }
    }
#endif
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    int i;

    check_start(&argc, &argv);
    for (i = 0; i < check_size && i < 3; i++) {
        move_data(i, i);
        in_place(i);
        reductions(i);
    }
    columns();
    long_ones();
    waits_for_all();
    beside();
    many();
    errors();
    return check_end("conf_nbc");
}
