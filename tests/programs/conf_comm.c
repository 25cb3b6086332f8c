/* Conformance: communicators that a program makes (MPI-3.1, section 6.4): dup, split, free, compare. */
#include "check.h"

/* A duplicate has the same ranks and messages of its own. */
static void duplicates(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int rank, size, result, a = check_rank, b = check_rank + 1000, got_a = -1, got_b = -1;
    MPI_Comm twin, third;
    MPI_Request requests[2];
    MPI_Status status;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    OK(MPI_Comm_rank(twin, &rank));
    OK(MPI_Comm_size(twin, &size));
    CHECK(rank == check_rank && size == check_size);
    OK(MPI_Comm_compare(MPI_COMM_WORLD, twin, &result));
    CHECK(result == MPI_CONGRUENT);
    OK(MPI_Comm_compare(twin, twin, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Comm_dup(twin, &third));

    /* The same tag in both; received in the other order, with wildcards. */
    OK(MPI_Isend(&a, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(&b, 1, MPI_INT, right, 1, twin, &requests[1]));
    OK(MPI_Recv(&got_b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, twin, &status));
    CHECK(got_b == left + 1000 && status.MPI_SOURCE == left);
    OK(MPI_Recv(&got_a, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK(got_a == left);
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));

    OK(MPI_Allreduce(&a, &got_a, 1, MPI_INT, MPI_SUM, third));
    CHECK(got_a == check_size * (check_size - 1) / 2);
    OK(MPI_Comm_free(&twin));
    CHECK(twin == MPI_COMM_NULL);
    OK(MPI_Barrier(third));
    OK(MPI_Comm_free(&third));
}

/* Even and odd ranks, in reverse order; everything within works in the part's ranks. */
static void parts(void)
{
    int color = check_rank % 2, members = (check_size + 1 - color) / 2;
    int rank = -1, size = -1, got = -1, root, sum = -1, result, i;
    MPI_Comm part, again;
    MPI_Status status;
    MPI_Request request;
    int *all;

    OK(MPI_Comm_split(MPI_COMM_WORLD, color, -check_rank, &part));
    OK(MPI_Comm_rank(part, &rank));
    OK(MPI_Comm_size(part, &size));
    CHECK(size == members);
    CHECK(rank == members - 1 - check_rank / 2);
    OK(MPI_Comm_compare(MPI_COMM_WORLD, part, &result));
    CHECK(result == (check_size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
    OK(MPI_Comm_split(part, 0, check_rank, &again));
    OK(MPI_Comm_compare(part, again, &result));
    CHECK(result == (size == 1 ? MPI_CONGRUENT : MPI_SIMILAR));

    /* Round the part's ring, by each kind of receive. */
    OK(MPI_Sendrecv(&check_rank, 1, MPI_INT, (rank + 1) % size, 4, &got, 1, MPI_INT, MPI_ANY_SOURCE, 4, part,
                    &status));
    CHECK(status.MPI_SOURCE == (rank + size - 1) % size);
    CHECK(got == (members - 1 - status.MPI_SOURCE) * 2 + color);
    OK(MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, MPI_ANY_TAG, part, &request));
    OK(MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 5, part));
    OK(MPI_Wait(&request, &status));
    CHECK(got == (rank + size - 1) % size && status.MPI_SOURCE == got && status.MPI_TAG == 5);
    OK(MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 6, part, &request));
    OK(MPI_Probe(MPI_ANY_SOURCE, 6, part, &status));
    CHECK(status.MPI_SOURCE == (rank + size - 1) % size);
    OK(MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, 6, part, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

    for (root = 0; root < size; root++) {
        got = rank == root ? 31 + root : 0;
        OK(MPI_Bcast(&got, 1, MPI_INT, root, part));
        CHECK(got == 31 + root);
        OK(MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, root, part));
        if (rank == root)
            CHECK(sum == size * (size - 1) / 2);
    }
    all = check_room((size_t)size * sizeof *all);
    OK(MPI_Allgather(&check_rank, 1, MPI_INT, all, 1, MPI_INT, part));
    for (i = 0; i < size; i++)
        CHECK(all[i] == (members - 1 - i) * 2 + color);
    free(all);
    OK(MPI_Comm_free(&part));
    OK(MPI_Barrier(again));
    OK(MPI_Comm_free(&again));
}

/* Some stay out. */
static void partly(void)
{
    MPI_Comm part;
    int size = -1;

    OK(MPI_Comm_split(MPI_COMM_WORLD, check_rank == 0 ? MPI_UNDEFINED : 7, 0, &part));
    if (check_rank == 0) {
        CHECK(part == MPI_COMM_NULL);
    } else {
        OK(MPI_Comm_size(part, &size));
        CHECK(size == check_size - 1);
        OK(MPI_Barrier(part));
        OK(MPI_Comm_free(&part));
    }
    OK(MPI_Comm_split(MPI_COMM_SELF, 0, 0, &part));
    OK(MPI_Comm_size(part, &size));
    CHECK(size == 1);
    OK(MPI_Comm_free(&part));
}

/* A freed communicator's requests still complete, and its leftovers match nothing made later. */
static void freed(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int value = check_rank, got = -1, flag, i;
    MPI_Comm comm;
    MPI_Request requests[2];
    MPI_Status status;

    for (i = 0; i < 100; i++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Irecv(&got, 1, MPI_INT, left, i, comm, &requests[0]));
        OK(MPI_Isend(&value, 1, MPI_INT, right, i, comm, &requests[1]));
        OK(MPI_Comm_free(&comm));
        CHECK(comm == MPI_COMM_NULL);
        OK(MPI_Wait(&requests[0], &status));
        CHECK(got == left && status.MPI_SOURCE == left && status.MPI_TAG == i);
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    }
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE));
    CHECK(flag == 0);
    OK(MPI_Comm_free(&comm));
}

/* More communicators than there can be at one time, one after the other and in different orders. */
static void again(void)
{
    MPI_Comm comm, other;
    int i, sum, part;

    /* As many on a few processes only: they take turns on the host's processors, and MPICH's poll besides. */
    for (i = 0; i < (IS_MPICH ? 100 : check_size > 3 ? 200 : 1200); i++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Comm_split(comm, (check_rank + i) % 2, 0, &other));
        if (i % 2 == 0)
            OK(MPI_Comm_free(&comm));
        part = 1;
        OK(MPI_Allreduce(&part, &sum, 1, MPI_INT, MPI_SUM, other));
        CHECK(sum == (check_size + 1 - (check_rank % 2)) / 2);
        OK(MPI_Comm_free(&other));
        if (i % 2 != 0)
            OK(MPI_Comm_free(&comm));
    }
}

/* An error handler is a communicator's own, and its children's to begin with. */
static void handlers(void)
{
    MPI_Comm parent, child;
    MPI_Errhandler handler;
    int value = 0;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
    OK(MPI_Comm_dup(parent, &child));
    OK(MPI_Comm_get_errhandler(child, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    FAILS(MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, check_size, 0, child));
    FAILS(MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, check_size, parent));
    OK(MPI_Comm_free(&child));
    OK(MPI_Comm_free(&parent));
}

/* Names. */
static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME], longer[3 * MPI_MAX_OBJECT_NAME];
    MPI_Comm comm;
    int length = -1;

    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == (int)strlen(name));
    OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
    CHECK(strcmp(name, "MPI_COMM_SELF") == 0);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_get_name(comm, name, &length));
    CHECK(length == 0 && name[0] == '\0');
    OK(MPI_Comm_set_name(comm, "first"));
    OK(MPI_Comm_set_name(comm, "second one"));
    OK(MPI_Comm_get_name(comm, name, &length));
    CHECK(strcmp(name, "second one") == 0 && length == 10);
    memset(longer, 'n', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    OK(MPI_Comm_set_name(comm, longer));
    OK(MPI_Comm_get_name(comm, name, &length));
    CHECK(length > 0 && length < MPI_MAX_OBJECT_NAME && name[length] == '\0' && name[length - 1] == 'n');
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_set_name(MPI_COMM_WORLD, "everybody"));
    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    CHECK(strcmp(name, "everybody") == 0);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    duplicates();
    parts();
    partly();
    freed();
    again();
    handlers();
    names();
    return check_end("conf_comm");
}
