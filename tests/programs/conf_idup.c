/* Conformance: duplicating communicators without blocking (MPI-3.1, section 6.4.2). */
#include "check.h"

/* Messages of one tag in all of them meet only their own. */
static void apart(int count, MPI_Comm comms[])
{
    int i, *got = check_room(count * sizeof *got), *sent = check_room(count * sizeof *sent);
    MPI_Request *requests = check_room(2 * count * sizeof *requests);

    for (i = 0; i < count; i++) {
        int rank, size, sum = -1;

        OK(MPI_Comm_rank(comms[i], &rank));
        OK(MPI_Comm_size(comms[i], &size));
        sent[i] = 100 * i + rank;
        OK(MPI_Irecv(&got[i], 1, MPI_INT, (rank + size - 1) % size, 0, comms[i], &requests[i]));
        OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[i]));
        CHECK(sum == size * (size - 1) / 2);
    }
    for (i = count - 1; i >= 0; i--) {
        int rank, size;

        OK(MPI_Comm_rank(comms[i], &rank));
        OK(MPI_Comm_size(comms[i], &size));
        OK(MPI_Isend(&sent[i], 1, MPI_INT, (rank + 1) % size, 0, comms[i], &requests[count + i]));
    }
    OK(MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE));
    for (i = 0; i < count; i++) {
        int rank, size;

        OK(MPI_Comm_rank(comms[i], &rank));
        OK(MPI_Comm_size(comms[i], &size));
        CHECK(got[i] == 100 * i + (rank + size - 1) % size);
    }
    free(got), free(sent), free(requests);
}

static void free_all(int count, MPI_Comm comms[])
{
    int i;

    for (i = 0; i < count; i++) {
        OK(MPI_Comm_free(&comms[i]));
        CHECK(comms[i] == MPI_COMM_NULL);
    }
}

static void one(void)
{
    MPI_Comm parents[3], twins[3];
    MPI_Request requests[3];
    int i, result = -1;

    parents[0] = MPI_COMM_WORLD;
    parents[1] = MPI_COMM_SELF;
    OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &parents[2]));
    for (i = 0; i < 3; i++)
        OK(MPI_Comm_idup(parents[i], &twins[i], &requests[i]));
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    for (i = 0; i < 3; i++) {
        OK(MPI_Comm_compare(parents[i], twins[i], &result));
        CHECK(result == MPI_CONGRUENT);
    }
    apart(3, twins);
    OK(MPI_Comm_free(&parents[2]));
    apart(3, twins);
    free_all(3, twins);
}

/* Many at one time of one communicator, more than a few of which agree at once. */
static void many(void)
{
    enum { MANY = 40 };
    MPI_Comm twins[MANY];
    MPI_Request requests[MANY];
    int i, result = -1;

    for (i = 0; i < MANY; i++)
        OK(MPI_Comm_idup(MPI_COMM_WORLD, &twins[i], &requests[i]));
    for (i = MANY - 1; i >= 0; i--)
        OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    for (i = 1; i < MANY; i++) {
        OK(MPI_Comm_compare(twins[i - 1], twins[i], &result));
        CHECK(result == MPI_CONGRUENT);
    }
    apart(MANY, twins);
    free_all(MANY, twins);
}

/* Of several communicators, in orders that differ, with blocking ones between. */
static void in_any_order(void)
{
    enum { COMMS = 4 };
    MPI_Comm parents[COMMS], twins[2 * COMMS];
    MPI_Request requests[COMMS];
    int i, round;

    for (i = 0; i < COMMS; i++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]));
    for (round = 0; round < 10; round++) {
        for (i = 0; i < COMMS; i++) {
            int which = (i * (check_rank % 2 ? 3 : 1) + check_rank + round) % COMMS;

            OK(MPI_Comm_idup(parents[which], &twins[which], &requests[which]));
        }
        OK(MPI_Waitall(COMMS, requests, MPI_STATUSES_IGNORE));
        /* Before the others even know of it; after they have waited for it. */
        if (check_rank % 2) {
            OK(MPI_Comm_idup(parents[0], &twins[COMMS], &requests[0]));
            OK(MPI_Comm_dup(parents[1], &twins[COMMS + 1]));
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Comm_dup(parents[1], &twins[COMMS + 1]));
            OK(MPI_Comm_idup(parents[0], &twins[COMMS], &requests[0]));
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        }
        OK(MPI_Comm_idup(parents[2], &twins[COMMS + 2], &requests[0]));
        if (check_rank % 2)
            OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        OK(MPI_Comm_split(parents[3], 0, check_rank, &twins[COMMS + 3]));
        OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        apart(2 * COMMS, twins);
        free_all(2 * COMMS, twins);
    }
    free_all(COMMS, parents);
}

static int copies, deletes;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra;
    copies++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    deletes++;
    return MPI_SUCCESS;
}

/* As if MPI_Comm_dup were executed when it is called: what changes later is not copied. */
static void attributes(void)
{
    MPI_Comm parent, twin;
    MPI_Request request;
    int keyval, first = 1, second = 2, flag = -1, *value = NULL, dims = check_size, wrap = 1, topology = -1;

    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &wrap, 0, &parent));
    OK(MPI_Comm_create_keyval(copy, delete, &keyval, NULL));
    OK(MPI_Comm_set_attr(parent, keyval, &first));
    copies = deletes = 0;
    OK(MPI_Comm_idup(parent, &twin, &request));
    OK(MPI_Comm_set_attr(parent, keyval, &second));
    CHECK(deletes == 1);
    OK(MPI_Comm_free_keyval(&keyval));
    OK(MPI_Comm_free(&parent));
    CHECK(deletes == 2 || (IS_MPICH /* It waits for the duplicate. */ && deletes == 1));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(copies == 1 && deletes == 2);
    OK(MPI_Topo_test(twin, &topology));
    CHECK(topology == MPI_CART);
    apart(1, &twin);
    OK(MPI_Comm_free(&twin));
    CHECK(deletes == 3);

    OK(MPI_Comm_create_keyval(copy, delete, &keyval, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &first));
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_get_attr(twin, keyval, &value, &flag));
    CHECK(flag == 1 && value == &first);
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval));
    OK(MPI_Comm_free(&twin));
    OK(MPI_Comm_free_keyval(&keyval));
}

/* Made and freed again and again: contexts and memory are used again. */
static void again(void)
{
    MPI_Comm twin, last = MPI_COMM_WORLD, next;
    MPI_Request request;
    int i, flag;

    /* Polling is slow where processes share processors; MPICH always polls. */
    for (i = 0; i < (IS_MPICH ? 30 : check_size > 3 ? 60 : 300); i++) {
        OK(MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request));
        for (flag = i % 50 != 0; !flag;)
            POLL(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Comm_free(&twin));
    }
    /* Each of the last one, which is freed before the next one is there. */
    for (i = 0; i < 50; i++) {
        OK(MPI_Comm_idup(last, &next, &request));
        if (last != MPI_COMM_WORLD)
            OK(MPI_Comm_free(&last));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        last = next;
    }
    apart(1, &last);
    OK(MPI_Comm_free(&last));
}

#ifdef MIDPLANE_MPI
static int refuse(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
    return check_rank == 0 ? MPI_ERR_IO : MPI_SUCCESS;
}
#endif

static void errors(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm twin = MPI_COMM_NULL;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_COMM, MPI_Comm_idup(MPI_COMM_NULL, &twin, &request));
#ifdef MIDPLANE_MPI
    FAILS(MPI_ERR_ARG, MPI_Comm_idup(MPI_COMM_WORLD, NULL, &request));
    FAILS(MPI_ERR_ARG, MPI_Comm_idup(MPI_COMM_WORLD, &twin, NULL));
    {
        /* Where a copy function says no, there is no duplicate; the others have theirs. */
        int keyval;

        OK(MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &keyval, NULL));
        OK(MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL));
        OK(MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request));
        if (check_rank == 0) {
            FAILS(MPI_ERR_IO, MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK(twin == MPI_COMM_NULL);
        } else {
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            OK(MPI_Comm_free(&twin));
        }
        CHECK(request == MPI_REQUEST_NULL);
        OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval));
        OK(MPI_Comm_free_keyval(&keyval));
    }
    {
        /* As many as there can be, half of them made without blocking; then an error at all processes. */
        enum { MOST = 2044 };
        MPI_Comm *all = check_room(MOST * sizeof *all);
        int i;

        for (i = 0; i < MOST; i++) {
            if (i % 8 == 0) {
                OK(MPI_Comm_idup(MPI_COMM_WORLD, &all[i], &request));
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            } else {
                OK(MPI_Comm_dup(MPI_COMM_WORLD, &all[i]));
            }
        }
        OK(MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request));
        FAILS(MPI_ERR_OTHER, MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL && twin == MPI_COMM_NULL);
        free_all(MOST, all);
        free(all);
        OK(MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Comm_free(&twin));
    }
#endif
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    one();
    many();
    in_any_order();
    attributes();
    again();
    errors();
    return check_end("conf_idup");
}
