/* Conformance: collectives on intercommunicators (MPI-3.1, sections 5.2.2 and 5.2.3). */
#include "groups.h"

/* Longer than an eager message, than a segment of a reduction, and no multiple of it. */
#define LONG 777

/* With every root of both groups. */
static void rooted(int few_give, int root, int count)
{
    int is_giver = is_few == few_give, givers = is_giver ? local_size : remote_size;
    int takers = check_size - givers, how = root_of(few_give, root), i, wrong, *all, *own = mine(count);
    int *counts = row(check_size, 0), *displs = row(check_size, 0), total;

    /* Broadcast: what is not the root's in the root's group is not touched. */
    all = row(count, -1);
    if (how == MPI_ROOT)
        memcpy(all, own, (size_t)count * sizeof *all);
    OK(MPI_Bcast(all, count, MPI_INT, how, inter));
    if (!is_giver)
        CHECK(differ(all, count, few_give, root) == 0);
    else if (how == MPI_PROC_NULL && count > 0)
        CHECK(all[0] == -1 && all[count - 1] == -1);
    free(all);

    /* Gather: the other group gives, the root takes. */
    all = row(takers * count, -1);
    OK(MPI_Gather(own, count, MPI_INT, all, count, MPI_INT, how, inter));
    if (how == MPI_ROOT) {
        for (i = 0, wrong = 0; i < takers; i++)
            wrong += differ(all + i * count, count, !few_give, i) != 0;
        CHECK(wrong == 0);
    }
    free(all);

    /* Gatherv: rank r gives as many as r + 1, from the end of the buffer on. */
    for (i = 0, total = 0; i < takers; i++) {
        counts[i] = i + 1 < count ? i + 1 : count;
        total += counts[i];
        displs[i] = -total;
    }
    all = row(total, -1);
    OK(MPI_Gatherv(own, is_giver ? 0 : counts[local_rank], MPI_INT, all + total, counts, displs, MPI_INT, how, inter));
    if (how == MPI_ROOT) {
        for (i = 0, wrong = 0; i < takers; i++)
            wrong += differ(all + total + displs[i], counts[i], !few_give, i) != 0;
        CHECK(wrong == 0);
    }
    free(all);

    /* Scatterv and scatter: the root gives, the other group takes. */
    if (how == MPI_ROOT) {
        all = row(total, 0);
        for (i = 0; i < takers; i++)
            for (wrong = 0; wrong < counts[i]; wrong++)
                all[total + displs[i] + wrong] = value(few_give, i, wrong);
    } else {
        all = row(count, -1);
    }
    OK(MPI_Scatterv(how == MPI_ROOT ? all + total : NULL, counts, displs, MPI_INT, all,
                    is_giver ? 0 : counts[local_rank], MPI_INT, how, inter));
    if (!is_giver)
        CHECK(differ(all, counts[local_rank], few_give, local_rank) == 0);
    free(all);
    all = row((takers + 1) * count, -1);
    if (how == MPI_ROOT)
        for (i = 0; i < takers * count; i++)
            all[i] = value(few_give, i / (count > 0 ? count : 1), i % (count > 0 ? count : 1));
    OK(MPI_Scatter(all, count, MPI_INT, all + takers * count, count, MPI_INT, how, inter));
    if (!is_giver)
        CHECK(differ(all + takers * count, count, few_give, local_rank) == 0);
    free(all);

    /* Reduce: of the other group's. */
    all = row(count, -1);
    OK(MPI_Reduce(own, all, count, MPI_INT, MPI_SUM, how, inter));
    for (i = 0, wrong = 0; i < count; i++)
        wrong += all[i] != (how == MPI_ROOT ? sum_of(!few_give, takers, i) : -1);
    CHECK(wrong == 0);
    free(all);
    free(own);
    free(counts);
    free(displs);
}

static void all_of(int count)
{
    int i, k, wrong, *own = mine(count), *all, *parts, *counts = row(check_size, 0), *displs = row(check_size, 0);
    int most = check_size, total;

    OK(MPI_Barrier(inter));
    /* Each group has the other one's. */
    all = row(remote_size * count, -1);
    OK(MPI_Allgather(own, count, MPI_INT, all, count, MPI_INT, inter));
    for (i = 0, wrong = 0; i < remote_size; i++)
        wrong += differ(all + i * count, count, !is_few, i) != 0;
    CHECK(wrong == 0);
    free(all);

    for (i = 0, total = 0; i < remote_size; i++) {
        counts[i] = i % 2 == 0 ? count : 0;
        displs[i] = total;
        total += counts[i] + 1;
    }
    all = row(total, -1);
    OK(MPI_Allgatherv(own, local_rank % 2 == 0 ? count : 0, MPI_INT, all, counts, displs, MPI_INT, inter));
    for (i = 0, wrong = 0; i < remote_size; i++)
        wrong += differ(all + displs[i], counts[i], !is_few, i) != 0 || all[displs[i] + counts[i]] != -1;
    CHECK(wrong == 0);
    free(all);

    /* Element i from rank r for rank k is value(r, 10 k + i). */
    parts = row(remote_size * count, 0);
    all = row(remote_size * count, -1);
    for (k = 0; k < remote_size; k++)
        for (i = 0; i < count; i++)
            parts[k * count + i] = value(is_few, local_rank, 10 * k + i);
    OK(MPI_Alltoall(parts, count, MPI_INT, all, count, MPI_INT, inter));
    for (k = 0, wrong = 0; k < remote_size; k++)
        for (i = 0; i < count; i++)
            wrong += all[k * count + i] != value(!is_few, k, 10 * local_rank + i);
    CHECK(wrong == 0);
    /* Nothing to the last rank of each group. */
    for (k = 0; k < remote_size; k++) {
        counts[k] = k + 1 < remote_size ? count : 0;
        displs[k] = k * count;
    }
    for (i = 0; i < remote_size * count; i++)
        all[i] = -1;
    {
        int *got = row(remote_size, local_rank + 1 < local_size ? count : 0);

        OK(MPI_Alltoallv(parts, counts, displs, MPI_INT, all, got, displs, MPI_INT, inter));
        for (k = 0, wrong = 0; k < remote_size; k++)
            for (i = 0; i < count; i++)
                wrong += all[k * count + i] != (got[k] > 0 ? value(!is_few, k, 10 * local_rank + i) : -1);
        CHECK(wrong == 0);
        free(got);
    }
    free(parts);
    free(all);

    all = row(count, -1);
    OK(MPI_Allreduce(own, all, count, MPI_INT, MPI_SUM, inter));
    for (i = 0, wrong = 0; i < count; i++)
        wrong += all[i] != sum_of(!is_few, remote_size, i);
    CHECK(wrong == 0);
    free(all);

    /* The same number of elements in both groups: check_size of them, and as many more at the last rank. */
    total = most * local_size * remote_size;
    parts = row(total, 0);
    for (i = 0; i < total; i++)
        parts[i] = value(is_few, local_rank, i);
    all = row(total, -1);
    OK(MPI_Reduce_scatter_block(parts, all, total / local_size, MPI_INT, MPI_SUM, inter));
    for (i = 0, wrong = 0; i < total / local_size; i++)
        wrong += all[i] != sum_of(!is_few, remote_size, local_rank * (total / local_size) + i);
    CHECK(wrong == 0);
    for (i = 0; i < local_size; i++)
        counts[i] = i + 1 < local_size ? i : total - (local_size - 1) * (local_size - 2) / 2;
    for (i = 0, displs[0] = 0; i + 1 < local_size; i++)
        displs[i + 1] = displs[i] + counts[i];
    for (i = 0; i < total; i++)
        all[i] = -1;
    OK(MPI_Reduce_scatter(parts, all, counts, MPI_INT, MPI_SUM, inter));
    for (i = 0, wrong = 0; i < total; i++)
        wrong += all[i] != (i < counts[local_rank] ? sum_of(!is_few, remote_size, displs[local_rank] + i) : -1);
    CHECK(wrong == 0);
    free(parts);
    free(all);
    free(own);
    free(counts);
    free(displs);
}

/* Operations that do not commute see the ranks of the other group in order. */
static void in_order(void)
{
    int own[2], got[2], i;
    MPI_Datatype pair;
    MPI_Op op;

    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Op_create(chain, 0, &op));
    own[0] = own[1] = local_rank;
    got[0] = got[1] = -1;
    OK(MPI_Allreduce(own, got, 1, pair, op, inter));
    CHECK(got[0] == 0 && got[1] == remote_size - 1);
    for (i = 0; i < 2; i++) {
        got[0] = got[1] = -1;
        OK(MPI_Reduce(own, got, 1, pair, op, root_of(i, 0), inter));
        if (root_of(i, 0) == MPI_ROOT)
            CHECK(got[0] == 0 && got[1] == remote_size - 1);
    }
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&pair));
}

/* Traffic of collectives and of the program stays apart. */
static void apart(void)
{
    int got = -1, sum = -1, one = 1, partner = local_rank < remote_size ? local_rank : MPI_PROC_NULL;
    MPI_Request request;
    MPI_Status status;

    OK(MPI_Irecv(&got, 1, MPI_INT, partner == MPI_PROC_NULL ? partner : MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &request));
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
    CHECK(sum == remote_size);
    OK(MPI_Send(&local_rank, 1, MPI_INT, partner, 7, inter));
    OK(MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == partner && (partner == MPI_PROC_NULL || got == partner));
}

static void errors(void)
{
    int value = 0, got = 0, *some = row(check_size, 1), root;

    FAILS(MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, remote_size, inter));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, -5, inter));
    FAILS(MPI_ERR_ROOT, MPI_Gather(&value, 1, MPI_INT, some, 1, MPI_INT, remote_size, inter));
    FAILS(MPI_ERR_ROOT, MPI_Scatter(some, 1, MPI_INT, &value, 1, MPI_INT, remote_size, inter));
    FAILS(MPI_ERR_ROOT, MPI_Reduce(&value, &got, 1, MPI_INT, MPI_SUM, remote_size, inter));
    FAILS(MPI_ERR_COUNT, MPI_Bcast(&value, -1, MPI_INT, MPI_ROOT, inter));
    if (!IS_MPICH) /* It crashes. */
        FAILS(MPI_ERR_COUNT, MPI_Allreduce(&value, &got, -1, MPI_INT, MPI_SUM, inter));
    FAILS(MPI_ERR_TYPE, MPI_Allgather(&value, 1, MPI_DATATYPE_NULL, some, 1, MPI_INT, inter));
    FAILS(MPI_ERR_OP, MPI_Allreduce(&value, &got, 1, MPI_INT, MPI_OP_NULL, inter));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COMM, MPI_Scan(&value, &got, 1, MPI_INT, MPI_SUM, inter));
    /* A bystander's other arguments do not count. */
    root = root_of(0, 0) == MPI_PROC_NULL ? MPI_PROC_NULL : root_of(0, 0);
    if (!IS_MPICH || root != MPI_PROC_NULL) /* It looks at the buffer and the count. */
        OK(MPI_Bcast(root == MPI_PROC_NULL ? NULL : &value, root == MPI_PROC_NULL ? -1 : 1, MPI_INT, root, inter));
    OK(MPI_Barrier(inter));
    free(some);
}

int main(int argc, char **argv)
{
    int counts[] = {1, 0, LONG}, i, root;

    check_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (check_size > 1) {
        make();
        for (i = 0; i < 3; i++) {
            for (root = 0; root < (is_few ? local_size : remote_size); root++)
                rooted(1, root, counts[i]);
            for (root = 0; root < (is_few ? remote_size : local_size); root++)
                rooted(0, root, counts[i]);
            all_of(counts[i]);
        }
        in_order();
        apart();
        errors();
        OK(MPI_Comm_free(&inter));
        OK(MPI_Comm_free(&part));
    } else {
        int none = 0;

        FAILS(MPI_ERR_ROOT, MPI_Bcast(&none, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD));
    }
    return check_end("conf_inter_coll");
}
