/* Conformance: intercommunicators (MPI-3.1, section 6.6): making, merging, splitting them; point to point on them. */
#include "check.h"

/* The two groups: even and odd ranks, the odd ones in reverse order. */
static int is_odd, local_rank, local_size, remote_size;
static MPI_Comm part, inter;

/* The world's rank of a member of the remote group. */
static int world_of(int remote)
{
    return is_odd ? 2 * remote : 2 * (remote_size - 1 - remote) + 1;
}

/* The leaders are the last of the even ranks and the first of the odd group. */
static void make(void)
{
    int leader;

    is_odd = check_rank % 2;
    OK(MPI_Comm_split(MPI_COMM_WORLD, is_odd, is_odd ? -check_rank : check_rank, &part));
    local_size = (check_size + !is_odd) / 2;
    remote_size = check_size - local_size;
    local_rank = is_odd ? local_size - 1 - check_rank / 2 : check_rank / 2;
    leader = is_odd ? 0 : local_size - 1;
    /* The bridge counts at the leaders alone. */
    OK(MPI_Intercomm_create(part, leader, local_rank == leader ? MPI_COMM_WORLD : MPI_COMM_NULL,
                            is_odd ? 2 * ((check_size + 1) / 2 - 1) : 2 * (check_size / 2 - 1) + 1, 12, &inter));
}

static void look(void)
{
    int flag = -1, rank = -1, size = -1, result = -1, i;
    int *ranks = check_room((size_t)check_size * sizeof *ranks);
    int *there = check_room((size_t)check_size * sizeof *there);
    MPI_Group group, world;

    OK(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag == 1);
    OK(MPI_Comm_test_inter(part, &flag));
    CHECK(flag == 0);
    OK(MPI_Comm_rank(inter, &rank));
    OK(MPI_Comm_size(inter, &size));
    CHECK(rank == local_rank && size == local_size);
    OK(MPI_Comm_remote_size(inter, &size));
    CHECK(size == remote_size);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Comm_remote_group(inter, &group));
    OK(MPI_Group_size(group, &size));
    CHECK(size == remote_size);
    OK(MPI_Group_rank(group, &rank));
    CHECK(rank == MPI_UNDEFINED);
    for (i = 0; i < remote_size; i++)
        ranks[i] = i;
    OK(MPI_Group_translate_ranks(group, remote_size, ranks, world, there));
    for (i = 0; i < remote_size; i++)
        CHECK(there[i] == world_of(i));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_group(inter, &group));
    OK(MPI_Group_rank(group, &rank));
    CHECK(rank == local_rank);
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
    OK(MPI_Comm_compare(inter, inter, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Comm_compare(inter, part, &result));
    CHECK(result == MPI_UNEQUAL);
    OK(MPI_Comm_compare(part, inter, &result));
    CHECK(result == MPI_UNEQUAL);
    OK(MPI_Topo_test(inter, &result));
    CHECK(result == MPI_UNDEFINED);
    free(there);
    free(ranks);
}

/* From every process to every one of the other group, in all ways; a status has the remote rank. */
static void messages(MPI_Comm comm)
{
    int i, got, flag, mine = check_rank, *all = check_room((size_t)remote_size * sizeof *all);
    MPI_Request *requests = check_room(2 * (size_t)remote_size * sizeof *requests);
    MPI_Status status;

    for (i = 0; i < remote_size; i++) {
        all[i] = -1;
        OK(MPI_Irecv(&all[i], 1, MPI_INT, i, 5, comm, &requests[i]));
        OK(MPI_Isend(&mine, 1, MPI_INT, i, 5, comm, &requests[remote_size + i]));
    }
    for (i = 0; i < remote_size; i++) {
        OK(MPI_Wait(&requests[i], &status));
        CHECK(all[i] == world_of(i) && status.MPI_SOURCE == i && status.MPI_TAG == 5);
    }
    OK(MPI_Waitall(remote_size, requests + remote_size, MPI_STATUSES_IGNORE));

    for (i = 0; i < remote_size; i++)
        OK(MPI_Isend(&mine, 1, MPI_INT, i, 100 + i, comm, &requests[i]));
    for (i = 0; i < remote_size; i++) {
        got = -1;
        if (i % 2 == 0) {
            OK(MPI_Probe(MPI_ANY_SOURCE, 100 + local_rank, comm, &status));
            CHECK(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < remote_size);
            OK(MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, MPI_ANY_TAG, comm, &status));
        } else {
            OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 100 + local_rank, comm, &status));
        }
        CHECK(status.MPI_TAG == 100 + local_rank && got == world_of(status.MPI_SOURCE));
    }
    OK(MPI_Waitall(remote_size, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 100 + local_rank, comm, &flag, MPI_STATUS_IGNORE));
    CHECK(flag == 0);

    /* One has one partner; who has none in the other group talks to MPI_PROC_NULL. */
    i = local_rank < remote_size ? local_rank : MPI_PROC_NULL;
    got = -7;
    OK(MPI_Sendrecv(&mine, 1, MPI_INT, i, 9, &got, 1, MPI_INT, i, 9, comm, &status));
    CHECK(status.MPI_SOURCE == i && got == (i == MPI_PROC_NULL ? -7 : world_of(i)));
    got = mine;
    OK(MPI_Sendrecv_replace(&got, 1, MPI_INT, i, 9, i, 9, comm, &status));
    CHECK(status.MPI_SOURCE == i && got == (i == MPI_PROC_NULL ? mine : world_of(i)));

    OK(MPI_Send_init(&mine, 1, MPI_INT, i, 10, comm, &requests[0]));
    OK(MPI_Recv_init(&got, 1, MPI_INT, i == MPI_PROC_NULL ? i : MPI_ANY_SOURCE, 10, comm, &requests[1]));
    for (flag = 0; flag < 3; flag++) {
        got = -3;
        OK(MPI_Startall(2, requests));
        OK(MPI_Wait(&requests[1], &status));
        CHECK(status.MPI_SOURCE == i && got == (i == MPI_PROC_NULL ? -3 : world_of(i)));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    free(requests);
    free(all);
}

static int copied, deleted;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra;
    copied++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

/* Names, attributes and error handlers; a duplicate has its own messages, and outlives its parent. */
static void objects(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1, keyval, flag, result, i, *value = NULL, mine = check_rank, got = -1;
    MPI_Comm twin, third;
    MPI_Errhandler handler;
    MPI_Request requests[2];
    MPI_Status status;

    OK(MPI_Comm_get_name(inter, name, &length));
    CHECK(length == 0 && strcmp(name, "") == 0);
    OK(MPI_Comm_set_name(inter, "both sides"));
    OK(MPI_Comm_get_name(inter, name, &length));
    CHECK(length == 10 && strcmp(name, "both sides") == 0);
    OK(MPI_Comm_create_keyval(copy, delete, &keyval, NULL));
    OK(MPI_Comm_set_attr(inter, keyval, &mine));
    OK(MPI_Comm_dup(inter, &twin));
    OK(MPI_Comm_get_attr(twin, keyval, &value, &flag));
    CHECK(flag == 1 && value == &mine && copied == 1);
    OK(MPI_Comm_compare(inter, twin, &result));
    CHECK(result == MPI_CONGRUENT);
    OK(MPI_Comm_test_inter(twin, &flag));
    CHECK(flag == 1);
    OK(MPI_Comm_dup_with_info(twin, MPI_INFO_NULL, &third));
    OK(MPI_Comm_free(&twin));
    CHECK(twin == MPI_COMM_NULL && deleted == 1);
    /* Its parent's handler. */
    OK(MPI_Comm_get_errhandler(third, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    OK(MPI_Comm_set_errhandler(third, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_get_errhandler(third, &handler));
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    messages(third);
    /* The same tag in both. */
    if (local_rank < remote_size) {
        OK(MPI_Isend(&mine, 1, MPI_INT, local_rank, 1, inter, &requests[0]));
        i = mine + 1000;
        OK(MPI_Isend(&i, 1, MPI_INT, local_rank, 1, third, &requests[1]));
        OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, third, &status));
        CHECK(got == world_of(local_rank) + 1000 && status.MPI_SOURCE == local_rank);
        OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, inter, &status));
        CHECK(got == world_of(local_rank) && status.MPI_SOURCE == local_rank);
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        /* Freed with requests under way. */
        OK(MPI_Irecv(&got, 1, MPI_INT, local_rank, 2, third, &requests[0]));
        OK(MPI_Isend(&mine, 1, MPI_INT, local_rank, 2, third, &requests[1]));
        OK(MPI_Comm_free(&third));
        OK(MPI_Wait(&requests[0], &status));
        CHECK(got == world_of(local_rank) && status.MPI_SOURCE == local_rank);
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Comm_free(&third));
    }
    OK(MPI_Comm_delete_attr(inter, keyval));
    OK(MPI_Comm_free_keyval(&keyval));
    CHECK(copied == 2 && deleted == 3);
}

/* The ranks of the merged communicator, and that it is whole. */
static void is_merged(MPI_Comm whole, int even_first)
{
    int rank = -1, size = -1, flag = -1, sum = -1, wanted = local_rank;

    OK(MPI_Comm_rank(whole, &rank));
    OK(MPI_Comm_size(whole, &size));
    OK(MPI_Comm_test_inter(whole, &flag));
    if (is_odd == even_first)
        wanted += remote_size;
    CHECK(rank == wanted && size == check_size && flag == 0);
    OK(MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, whole));
    CHECK(sum == check_size * (check_size - 1) / 2);
}

static void merge(void)
{
    MPI_Comm whole;
    int rank = -1, first = -1, tie;

    OK(MPI_Intercomm_merge(inter, is_odd, &whole));
    is_merged(whole, 1);
    OK(MPI_Comm_free(&whole));
    OK(MPI_Intercomm_merge(inter, !is_odd, &whole));
    is_merged(whole, 0);
    OK(MPI_Comm_free(&whole));
    /* Which is first is open, but all agree. */
    for (tie = 0; tie < 2; tie++) {
        OK(MPI_Intercomm_merge(inter, tie, &whole));
        OK(MPI_Comm_rank(whole, &rank));
        first = rank == 0 ? !is_odd : -1;
        OK(MPI_Bcast(&first, 1, MPI_INT, 0, whole));
        is_merged(whole, first);
        OK(MPI_Comm_free(&whole));
    }
}

/* By color: those with the same color of both groups, the others in no part. */
static void split(void)
{
    MPI_Comm some, none;
    MPI_Group group, fewer;
    int size = -1, there = -1, rank = -1, result = -1, flag, got = -1, zero = 0, partner;

    /* Color 0: the first of each group. Color 1: the others, in reverse order. */
    OK(MPI_Comm_split(inter, local_rank == 0 ? 0 : 1, -local_rank, &some));
    if (local_rank == 0 || remote_size > 1) {
        OK(MPI_Comm_test_inter(some, &flag));
        OK(MPI_Comm_size(some, &size));
        OK(MPI_Comm_remote_size(some, &there));
        OK(MPI_Comm_rank(some, &rank));
        CHECK(flag == 1);
        CHECK(size == (local_rank == 0 ? 1 : local_size - 1));
        CHECK(there == (local_rank == 0 ? 1 : remote_size - 1));
        CHECK(rank == (local_rank == 0 ? 0 : local_size - 1 - local_rank));
        partner = rank < there ? rank : MPI_PROC_NULL;
        OK(MPI_Sendrecv(&check_rank, 1, MPI_INT, partner, 3, &got, 1, MPI_INT, partner, 3, some, MPI_STATUS_IGNORE));
        if (local_rank == 0)
            CHECK(got == world_of(0));
        else if (partner != MPI_PROC_NULL)
            CHECK(got == world_of(remote_size - 1 - rank));
        OK(MPI_Comm_compare(inter, some, &result));
        CHECK(result == (local_size == 1 && remote_size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
        OK(MPI_Barrier(some));
        OK(MPI_Comm_free(&some));
    } else {
        CHECK(some == MPI_COMM_NULL);
    }
    /* The same processes in another order. */
    OK(MPI_Comm_split(inter, 5, -local_rank, &some));
    OK(MPI_Comm_compare(inter, some, &result));
    CHECK(result == (local_size == 1 && remote_size == 1 ? MPI_CONGRUENT : MPI_SIMILAR));
    OK(MPI_Comm_free(&some));
    /* Each color in one group alone; and no color. */
    OK(MPI_Comm_split(inter, is_odd, 0, &none));
    CHECK(none == MPI_COMM_NULL);
    OK(MPI_Comm_split(inter, is_odd ? 1 : MPI_UNDEFINED, 0, &none));
    CHECK(none == MPI_COMM_NULL);

    /* Of each group the last and, if there is another one, the first. */
    OK(MPI_Comm_group(inter, &group));
    {
        int ranks[2];

        ranks[0] = local_size - 1;
        ranks[1] = 0;
        OK(MPI_Group_incl(group, local_size > 1 ? 2 : 1, ranks, &fewer));
    }
    OK(MPI_Comm_create(inter, fewer, &some));
    if (local_rank == 0 || local_rank == local_size - 1) {
        OK(MPI_Comm_rank(some, &rank));
        OK(MPI_Comm_size(some, &size));
        OK(MPI_Comm_remote_size(some, &there));
        CHECK(rank == (local_rank == local_size - 1 ? 0 : 1));
        CHECK(size == (local_size > 1 ? 2 : 1) && there == (remote_size > 1 ? 2 : 1));
        partner = rank < there ? rank : MPI_PROC_NULL;
        OK(MPI_Sendrecv(&check_rank, 1, MPI_INT, partner, 3, &got, 1, MPI_INT, partner, 3, some, MPI_STATUS_IGNORE));
        if (partner != MPI_PROC_NULL)
            CHECK(got == world_of(rank == 0 ? remote_size - 1 : 0));
        OK(MPI_Comm_free(&some));
    } else {
        CHECK(some == MPI_COMM_NULL);
    }
    OK(MPI_Group_free(&fewer));
    /* One group makes no part: neither has one. */
    OK(MPI_Group_incl(group, is_odd, &zero, &fewer));
    OK(MPI_Comm_create(inter, fewer, &none));
    CHECK(none == MPI_COMM_NULL);
    if (is_odd)
        OK(MPI_Group_free(&fewer));
    OK(MPI_Group_free(&group));
}

/* The bridge is no world: the leaders are ranks of a communicator of two, and then of an intercommunicator. */
static void bridges(void)
{
    MPI_Comm bridge, second, pair;
    int is_leader = local_rank == local_size - 1, size = -1, i;

    OK(MPI_Comm_split(MPI_COMM_WORLD, is_leader ? 0 : MPI_UNDEFINED, -check_rank, &bridge));
    {
        /* In the bridge the higher rank of the world is rank 0. */
        int mine = 0;

        if (is_leader)
            OK(MPI_Comm_rank(bridge, &mine));
        for (i = 0; i < 3; i++) {
            OK(MPI_Intercomm_create(part, local_size - 1, bridge, 1 - mine, i, &second));
            OK(MPI_Comm_remote_size(second, &size));
            CHECK(size == remote_size);
            messages(second);
            OK(MPI_Comm_free(&second));
        }
    }
    if (is_leader)
        OK(MPI_Comm_free(&bridge));
    /* Across an intercommunicator: its remote rank 0 is the other leader. One process alone each. */
    if (local_rank == 0) {
        OK(MPI_Intercomm_create(MPI_COMM_SELF, 0, inter, 0, 99, &pair));
        OK(MPI_Comm_remote_size(pair, &size));
        CHECK(size == 1);
        OK(MPI_Sendrecv(&check_rank, 1, MPI_INT, 0, 0, &i, 1, MPI_INT, 0, 0, pair, MPI_STATUS_IGNORE));
        CHECK(i == world_of(0));
        OK(MPI_Comm_free(&pair));
    }
    /* Contexts come back. MPICH polls, which takes long where processes share processors. */
    for (i = 0; i < (IS_MPICH ? 30 : 300); i++) {
        OK(MPI_Comm_dup(inter, &second));
        if (i % 3 == 0) {
            OK(MPI_Intercomm_merge(second, is_odd, &pair));
            OK(MPI_Comm_free(&pair));
        }
        OK(MPI_Comm_free(&second));
    }
}

static void errors(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group group, remote;
    int value = 0, zero = 0, size;

    FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, remote_size, 0, inter));
    FAILS(MPI_ERR_RANK, MPI_Recv(&value, 1, MPI_INT, remote_size, 0, inter, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_TAG, MPI_Send(&value, 1, MPI_INT, 0, -5, inter));
    OK(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, inter));
    if (!IS_MPICH) /* It crashes. */
        FAILS(MPI_ERR_COMM, MPI_Intercomm_merge(part, 0, &comm));
    FAILS(MPI_ERR_COMM, MPI_Comm_remote_size(part, &size));
    FAILS(MPI_ERR_COMM, MPI_Comm_remote_group(part, &group));
    FAILS(MPI_ERR_COMM, MPI_Comm_remote_size(MPI_COMM_NULL, &size));
    FAILS(MPI_ERR_COMM, MPI_Comm_test_inter(MPI_COMM_NULL, &size));
    FAILS(MPI_ERR_COMM, MPI_Intercomm_merge(MPI_COMM_NULL, 0, &comm));
    FAILS(MPI_ERR_COMM, MPI_Intercomm_create(MPI_COMM_NULL, 0, MPI_COMM_WORLD, 0, 0, &comm));
    FAILS(MPI_ERR_COMM, MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &comm));
    FAILS(MPI_ERR_RANK, MPI_Intercomm_create(part, local_size, MPI_COMM_WORLD, 0, 0, &comm));
    /* Only what the local group has. */
    OK(MPI_Comm_remote_group(inter, &remote));
    OK(MPI_Group_incl(remote, 1, &zero, &group));
    FAILS(MPI_ERR_GROUP, MPI_Comm_create(inter, group, &comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&remote));
    /* Prefix reductions have no order across groups. */
    FAILS(MPI_ERR_COMM, MPI_Scan(&value, &size, 1, MPI_INT, MPI_SUM, inter));
    FAILS(MPI_ERR_COMM, MPI_Exscan(&value, &size, 1, MPI_INT, MPI_SUM, inter));
    FAILS(MPI_ERR_COMM, MPI_Cart_create(inter, 1, &size, &zero, 0, &comm));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (check_size > 1) {
        make();
        look();
        messages(inter);
        objects();
        merge();
        split();
        bridges();
        errors();
        messages(inter);
        OK(MPI_Comm_free(&inter));
        CHECK(inter == MPI_COMM_NULL);
        OK(MPI_Comm_free(&part));
    } else {
        MPI_Comm comm;

        FAILS(MPI_ERR_COMM, MPI_Comm_remote_size(MPI_COMM_WORLD, &argc));
        FAILS(MPI_ERR_COMM, MPI_Intercomm_merge(MPI_COMM_SELF, 0, &comm));
    }
    return check_end("conf_inter");
}
