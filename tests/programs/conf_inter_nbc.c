/* Conformance: collectives on intercommunicators that do not block (MPI-3.1, section 5.12), MPI_Alltoallw (5.8),
 * MPI_Comm_idup and MPI_Comm_split_type (6.4.2) on them. */
#include "groups.h"

/* More than an eager message, than a segment of a reduction, and no multiple of it. */
#define LONG 2777

/* So many at a time. */
#define ALL 16
static MPI_Request requests[ALL];

/* Ends all in an order that is not that of their start, by calls of all kinds. */
static void end_all(int count)
{
    int i, at, flag;

    OK(MPI_Waitany(count, requests, &at, MPI_STATUS_IGNORE));
    CHECK(at >= 0 && at < count && requests[at] == MPI_REQUEST_NULL);
    for (i = count - 1; i > count / 2; i--)
        OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    do
        POLL(MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE));
    while (!flag);
    for (i = 0; i < count; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
}

/* Those with a root, of both groups, all at once: first all with a root among the few, then among the many. */
static void rooted(int count)
{
    int few, i, k, n = 0, wrong;
    int *own = mine(count), *cast[2], *all[2], *vary[2], *parts[2], *mine_of[2], *varied[2], *sum[2];
    int *counts[2], *displs[2], totals[2];

    for (few = 0; few < 2; few++) {
        int is_giver = is_few == few, givers = is_giver ? local_size : remote_size, takers = check_size - givers;
        int root = givers - 1, how = root_of(few, root);

        cast[few] = row(count, how == MPI_ROOT ? 0 : -1);
        if (how == MPI_ROOT)
            memcpy(cast[few], own, (size_t)count * sizeof *own);
        OK(MPI_Ibcast(cast[few], count, MPI_INT, how, inter, &requests[n++]));
        all[few] = row(takers * count, -1);
        OK(MPI_Igather(own, count, MPI_INT, all[few], count, MPI_INT, how, inter, &requests[n++]));
        counts[few] = row(takers, 0);
        displs[few] = row(takers, 0);
        for (i = 0, totals[few] = 0; i < takers; i++) {
            counts[few][i] = i + 1 < count ? i + 1 : count;
            totals[few] += counts[few][i];
            displs[few][i] = -totals[few];
        }
        vary[few] = row(totals[few], -1);
        OK(MPI_Igatherv(own, is_giver ? 0 : counts[few][local_rank], MPI_INT, vary[few] + totals[few], counts[few],
                        displs[few], MPI_INT, how, inter, &requests[n++]));
        parts[few] = row(takers * count, 0);
        for (i = 0; i < takers; i++)
            for (k = 0; k < count; k++)
                parts[few][i * count + k] = value(few, i, k);
        mine_of[few] = row(count, -1);
        OK(MPI_Iscatter(parts[few], count, MPI_INT, mine_of[few], count, MPI_INT, how, inter, &requests[n++]));
        varied[few] = row(count, -1);
        OK(MPI_Iscatterv(parts[few] + totals[few], counts[few], displs[few], MPI_INT, varied[few],
                         is_giver ? 0 : counts[few][local_rank], MPI_INT, how, inter, &requests[n++]));
        sum[few] = row(count, -1);
        OK(MPI_Ireduce(own, sum[few], count, MPI_INT, MPI_SUM, how, inter, &requests[n++]));
    }
    end_all(n);
    for (few = 0; few < 2; few++) {
        int is_giver = is_few == few, takers = is_giver ? remote_size : local_size;
        int givers = check_size - takers, how = root_of(few, givers - 1);

        if (!is_giver) {
            CHECK(differ(cast[few], count, few, givers - 1) == 0);
            CHECK(differ(mine_of[few], count, few, local_rank) == 0);
            for (k = 0, wrong = 0; k < counts[few][local_rank]; k++)
                wrong += varied[few][k] != parts[few][totals[few] + displs[few][local_rank] + k];
            CHECK(wrong == 0);
        } else if (how == MPI_PROC_NULL && count > 0) {
            CHECK(cast[few][0] == -1 && all[few][0] == -1 && mine_of[few][0] == -1 && sum[few][0] == -1);
        }
        if (how == MPI_ROOT) {
            for (i = 0, wrong = 0; i < takers; i++) {
                wrong += differ(all[few] + i * count, count, !few, i) != 0;
                wrong += differ(vary[few] + totals[few] + displs[few][i], counts[few][i], !few, i) != 0;
            }
            for (k = 0; k < count; k++)
                wrong += sum[few][k] != sum_of(!few, takers, k);
            CHECK(wrong == 0);
        }
        free(cast[few]);
        free(all[few]);
        free(vary[few]);
        free(parts[few]);
        free(mine_of[few]);
        free(varied[few]);
        free(sum[few]);
        free(counts[few]);
        free(displs[few]);
    }
    free(own);
}

/* Element i from rank r for rank k. */
static int letter(int of_few, int r, int k, int i)
{
    return value(of_few, r, 10 * k + i);
}

/* Those of all, all at once. */
static void of_all(int count)
{
    int i, k, n = 0, wrong, total = check_size * local_size * remote_size, shares = total / local_size;
    int *own = mine(count), *all = row(remote_size * count, -1), *vary = row(remote_size * (count + 1), -1);
    int *parts = row(remote_size * count, 0), *got = row(remote_size * count, -1);
    int *got_v = row(remote_size * count, -1), *sum = row(count, -1);
    int *counts = row(remote_size, 0), *displs = row(remote_size, 0), *places = row(remote_size, 0);
    int *from = row(remote_size, 0), *data = row(total, 0), *share = row(shares, -1);
    int *divided = row(total, -1), *divide = row(local_size, 0), before = 0;

    for (k = 0; k < remote_size; k++) {
        for (i = 0; i < count; i++)
            parts[k * count + i] = letter(is_few, local_rank, k, i);
        counts[k] = k % 2 == 0 ? count : 0;
        displs[k] = k * (count + 1);
        places[k] = k * count;
        from[k] = local_rank % 2 == 0 ? count : 0;
    }
    for (i = 0; i < total; i++)
        data[i] = value(is_few, local_rank, i);
    for (i = 0; i + 1 < local_size; i++) {
        divide[i] = i;
        before += i < local_rank ? i : 0;
    }
    divide[local_size - 1] = total - (local_size - 1) * (local_size - 2) / 2;

    OK(MPI_Ibarrier(inter, &requests[n++]));
    OK(MPI_Iallgather(own, count, MPI_INT, all, count, MPI_INT, inter, &requests[n++]));
    OK(MPI_Iallgatherv(own, local_rank % 2 == 0 ? count : 0, MPI_INT, vary, counts, displs, MPI_INT, inter,
                       &requests[n++]));
    OK(MPI_Ialltoall(parts, count, MPI_INT, got, count, MPI_INT, inter, &requests[n++]));
    OK(MPI_Ialltoallv(parts, counts, places, MPI_INT, got_v, from, places, MPI_INT, inter, &requests[n++]));
    OK(MPI_Iallreduce(own, sum, count, MPI_INT, MPI_SUM, inter, &requests[n++]));
    OK(MPI_Ireduce_scatter_block(data, share, shares, MPI_INT, MPI_SUM, inter, &requests[n++]));
    OK(MPI_Ireduce_scatter(data, divided, divide, MPI_INT, MPI_SUM, inter, &requests[n++]));
    /* One that blocks, while they are under way. */
    OK(MPI_Barrier(inter));
    end_all(n);

    for (k = 0, wrong = 0; k < remote_size; k++) {
        wrong += differ(all + k * count, count, !is_few, k) != 0;
        wrong += differ(vary + displs[k], counts[k], !is_few, k) != 0 || vary[displs[k] + counts[k]] != -1;
        for (i = 0; i < count; i++) {
            wrong += got[k * count + i] != letter(!is_few, k, local_rank, i);
            wrong += got_v[k * count + i] != (from[k] > 0 ? letter(!is_few, k, local_rank, i) : -1);
        }
    }
    CHECK(wrong == 0);
    for (i = 0, wrong = 0; i < count; i++)
        wrong += sum[i] != sum_of(!is_few, remote_size, i);
    for (i = 0; i < shares; i++)
        wrong += share[i] != sum_of(!is_few, remote_size, local_rank * shares + i);
    for (i = 0; i < total; i++)
        wrong += divided[i] != (i < divide[local_rank] ? sum_of(!is_few, remote_size, before + i) : -1);
    CHECK(wrong == 0);
    free(own);
    free(all);
    free(vary);
    free(parts);
    free(got);
    free(got_v);
    free(sum);
    free(counts);
    free(displs);
    free(places);
    free(from);
    free(data);
    free(share);
    free(divided);
    free(divide);
}

/* Each block with a datatype of its own: to even ranks whole ints, to odd ones every second one. */
static void with_types(int blocks)
{
    int i, k, wrong, width = 2 * blocks;
    int *parts = row(remote_size * width, 0), *got = row(remote_size * width, -1);
    int *again = row(remote_size * width, -1), *counts = row(remote_size, 0), *displs = row(remote_size, 0);
    int *from = row(remote_size, 0);
    MPI_Datatype gaps, *types = check_room((size_t)remote_size * sizeof *types);
    MPI_Datatype *types_from = check_room((size_t)remote_size * sizeof *types_from);

    OK(MPI_Type_vector(blocks, 1, 2, MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    for (k = 0; k < remote_size; k++) {
        for (i = 0; i < width; i++)
            parts[k * width + i] = letter(is_few, local_rank, k, i);
        displs[k] = k * width * (int)sizeof(int);
        types[k] = k % 2 == 0 ? MPI_INT : gaps;
        counts[k] = k % 2 == 0 ? blocks : 1;
        types_from[k] = local_rank % 2 == 0 ? gaps : MPI_INT;
        from[k] = local_rank % 2 == 0 ? 1 : blocks;
    }
    OK(MPI_Ialltoallw(parts, counts, displs, types, got, from, displs, types_from, inter, &requests[0]));
    OK(MPI_Alltoallw(parts, counts, displs, types, again, from, displs, types_from, inter));
    OK(MPI_Type_free(&gaps));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    for (k = 0, wrong = 0; k < remote_size; k++)
        for (i = 0; i < width; i++) {
            int is_even = local_rank % 2 == 0, wanted = -1;

            /* Whole ints come to places with gaps, and the reverse. */
            if (is_even && i % 2 == 0)
                wanted = letter(!is_few, k, local_rank, i / 2);
            if (!is_even && i < blocks)
                wanted = letter(!is_few, k, local_rank, 2 * i);
            wrong += got[k * width + i] != wanted;
            wrong += again[k * width + i] != wanted;
        }
    CHECK(wrong == 0);
    free(parts);
    free(got);
    free(again);
    free(counts);
    free(displs);
    free(from);
    free(types);
    free(types_from);
}

static int copied, deleted;

static int copy(MPI_Comm comm, int keyval, void *extra, void *value, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    copied++;
    *(void **)out = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void duplicates(void)
{
    int keyval, i, flag, result, size, sum, one = 1, *attribute;
    MPI_Comm twins[3], twin_of_part;
    MPI_Errhandler handler;

    OK(MPI_Comm_create_keyval(copy, delete, &keyval, NULL));
    OK(MPI_Comm_set_attr(inter, keyval, &one));
    /* Several of both kinds at one time, in another order in each group. */
    if (is_few)
        OK(MPI_Comm_idup(part, &twin_of_part, &requests[3]));
    for (i = 0; i < 3; i++)
        OK(MPI_Comm_idup(inter, &twins[i], &requests[i]));
    if (!is_few)
        OK(MPI_Comm_idup(part, &twin_of_part, &requests[3]));
    CHECK(copied == 3);
    end_all(4);
    for (i = 0; i < 3; i++) {
        OK(MPI_Comm_test_inter(twins[i], &flag));
        CHECK(flag);
        OK(MPI_Comm_compare(inter, twins[i], &result));
        CHECK(result == MPI_CONGRUENT);
        OK(MPI_Comm_remote_size(twins[i], &size));
        CHECK(size == remote_size);
        OK(MPI_Comm_get_attr(twins[i], keyval, &attribute, &flag));
        CHECK(flag && attribute == &one);
        OK(MPI_Comm_get_errhandler(twins[i], &handler));
        CHECK(handler == MPI_ERRORS_RETURN);
        OK(MPI_Errhandler_free(&handler));
        OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, twins[i], &requests[0]));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        CHECK(sum == remote_size);
    }
    OK(MPI_Comm_test_inter(twin_of_part, &flag));
    CHECK(!flag);
    for (i = 0; i < 3; i++)
        OK(MPI_Comm_free(&twins[i]));
    OK(MPI_Comm_free(&twin_of_part));
    CHECK(deleted == 3);
    OK(MPI_Comm_delete_attr(inter, keyval));
    OK(MPI_Comm_free_keyval(&keyval));
    /* Many, one after the other: their contexts are used again. */
    for (i = 0; i < 50; i++) {
        OK(MPI_Comm_idup(inter, &twins[0], &requests[0]));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        OK(MPI_Comm_free(&twins[0]));
    }
}

/* Freed while a collective is under way, which goes on. */
static void freed(void)
{
    int sum = -1, one = 1;
    MPI_Comm twin;

    OK(MPI_Comm_dup(inter, &twin));
    OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, twin, &requests[0]));
    OK(MPI_Comm_free(&twin));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(sum == remote_size);
}

/* Processes that share memory are in one group, at most: a part that has some of both is not there where none do. */
static void by_type(void)
{
    MPI_Comm made = MPI_COMM_WORLD;
    int flag;

    OK(MPI_Comm_split_type(inter, MPI_UNDEFINED, 0, MPI_INFO_NULL, &made));
    CHECK(made == MPI_COMM_NULL);
    OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, local_rank, MPI_INFO_NULL, &made));
    if (made != MPI_COMM_NULL) {
        OK(MPI_Comm_test_inter(made, &flag));
        CHECK(flag);
        OK(MPI_Comm_free(&made));
    }
    FAILS(MPI_ERR_ARG, MPI_Comm_split_type(inter, -77, 0, MPI_INFO_NULL, &made));
}

static void in_order(void)
{
    int own[2], got[2], root[2], how = root_of(1, 0);
    MPI_Datatype pair;
    MPI_Op op;

    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Op_create(chain, 0, &op));
    own[0] = own[1] = local_rank;
    got[0] = got[1] = root[0] = root[1] = -1;
    OK(MPI_Iallreduce(own, got, 1, pair, op, inter, &requests[0]));
    OK(MPI_Ireduce(own, root, 1, pair, op, how, inter, &requests[1]));
    end_all(2);
    CHECK(got[0] == 0 && got[1] == remote_size - 1);
    if (how == MPI_ROOT)
        CHECK(root[0] == 0 && root[1] == remote_size - 1);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&pair));
}

static void errors(void)
{
    int value = 0, got = 0, *some = row(check_size, 1), at[1] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type = MPI_INT;
    MPI_Comm twin;

    FAILS(MPI_ERR_ROOT, MPI_Ibcast(&value, 1, MPI_INT, remote_size, inter, &request));
    FAILS(MPI_ERR_ROOT, MPI_Igather(&value, 1, MPI_INT, some, 1, MPI_INT, remote_size, inter, &request));
    FAILS(MPI_ERR_ROOT, MPI_Igatherv(&value, 1, MPI_INT, some, some, some, MPI_INT, -5, inter, &request));
    FAILS(MPI_ERR_ROOT, MPI_Iscatter(some, 1, MPI_INT, &value, 1, MPI_INT, remote_size, inter, &request));
    FAILS(MPI_ERR_ROOT, MPI_Iscatterv(some, some, some, MPI_INT, &value, 1, MPI_INT, -5, inter, &request));
    FAILS(MPI_ERR_ROOT, MPI_Ireduce(&value, &got, 1, MPI_INT, MPI_SUM, remote_size, inter, &request));
    FAILS(MPI_ERR_COUNT, MPI_Ibcast(&value, -1, MPI_INT, MPI_ROOT, inter, &request));
    if (!IS_MPICH) { /* By MPI_ERR_OTHER. */
        FAILS(MPI_ERR_COUNT, MPI_Iallreduce(&value, &got, -1, MPI_INT, MPI_SUM, inter, &request));
        FAILS(MPI_ERR_COUNT, MPI_Ireduce_scatter_block(&value, &got, -1, MPI_INT, MPI_SUM, inter, &request));
    }
    FAILS(MPI_ERR_TYPE, MPI_Iallgather(&value, 1, MPI_DATATYPE_NULL, some, 1, MPI_INT, inter, &request));
    FAILS(MPI_ERR_TYPE, MPI_Ialltoall(some, 1, MPI_INT, some, 1, MPI_DATATYPE_NULL, inter, &request));
    FAILS(MPI_ERR_OP, MPI_Iallreduce(&value, &got, 1, MPI_INT, MPI_OP_NULL, inter, &request));
    FAILS(MPI_ERR_OP, MPI_Ireduce_scatter(some, &got, some, MPI_INT, MPI_OP_NULL, inter, &request));
    FAILS(MPI_ERR_COMM, MPI_Iscan(&value, &got, 1, MPI_INT, MPI_SUM, inter, &request));
    FAILS(MPI_ERR_COMM, MPI_Iexscan(&value, &got, 1, MPI_INT, MPI_SUM, inter, &request));
    CHECK(request == MPI_REQUEST_NULL);
    /* What follows names no buffer of this process. */
    if (!IS_MPICH) { /* It takes some, and crashes in others. */
        FAILS(MPI_ERR_BUFFER, MPI_Iallreduce(MPI_IN_PLACE, &got, 1, MPI_INT, MPI_SUM, inter, &request));
        FAILS(MPI_ERR_BUFFER, MPI_Iallgather(MPI_IN_PLACE, 1, MPI_INT, some, 1, MPI_INT, inter, &request));
        FAILS(MPI_ERR_BUFFER, MPI_Ialltoall(MPI_IN_PLACE, 1, MPI_INT, some, 1, MPI_INT, inter, &request));
        FAILS(MPI_ERR_BUFFER, MPI_Alltoallw(MPI_IN_PLACE, at, at, &type, some, at, at, &type, inter));
        FAILS(MPI_ERR_BUFFER, MPI_Ialltoallw(MPI_IN_PLACE, at, at, &type, some, at, at, &type, inter, &request));
    }
    FAILS(MPI_ERR_COMM, MPI_Ibcast(&value, 1, MPI_INT, MPI_ROOT, MPI_COMM_NULL, &request));
    FAILS(MPI_ERR_COMM, MPI_Comm_idup(MPI_COMM_NULL, &twin, &request));
    FAILS(MPI_ERR_ROOT, MPI_Ibcast(&value, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD, &request));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Ibarrier(inter, &request));
    if (!IS_MPICH) /* By MPI_ERR_INTERN. */
        FAILS(MPI_ERR_REQUEST, MPI_Cancel(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    free(some);
}

int main(int argc, char **argv)
{
    int counts[] = {1, 0, LONG}, i;

    check_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (check_size > 1) {
        make();
        for (i = 0; i < 3; i++) {
            rooted(counts[i]);
            of_all(counts[i]);
        }
        with_types(1);
        with_types(700);
        duplicates();
        freed();
        by_type();
        in_order();
        errors();
        OK(MPI_Comm_free(&inter));
        OK(MPI_Comm_free(&part));
    } else {
        MPI_Request request = MPI_REQUEST_NULL;
        int none = 0;

        FAILS(MPI_ERR_ROOT, MPI_Ibcast(&none, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD, &request));
    }
    return check_end("conf_inter_nbc");
}
