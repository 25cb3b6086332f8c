/* Handles that the program frees while something is under way that will hand them to functions of the program's own: they
 * name the same object there (MPI-3.1 sections 2.5.1, 4.1.9, 5.9.5, 5.12, 6.4.3, 6.7.2, 8.3). Any number of ranks. */
#include "check.h"

enum { INTS = 2, RECYCLED = 1100 };

static MPI_Datatype now, handle;
static int calls, wrong, frees_type;

/* Datatypes, as many as there are uses of one place of a table and more. */
static void recycle(MPI_Datatype *last)
{
    int i;

    for (i = 0; i < RECYCLED; i++) {
        OK(MPI_Type_contiguous(3, MPI_CHAR, last));
        if (i < RECYCLED - 1)
            OK(MPI_Type_free(last));
    }
}

/* Adds, and asks for the datatype whatever has become of it. */
static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int size = -1, i, n[3], combiner = -1;
    MPI_Datatype other;

    calls++;
    wrong += *type != handle;
    wrong += MPI_Type_size(*type, &size) != MPI_SUCCESS || size != INTS * (int)sizeof(int);
    wrong += MPI_Type_get_envelope(*type, &n[0], &n[1], &n[2], &combiner) != MPI_SUCCESS
             || combiner != MPI_COMBINER_CONTIGUOUS;
    for (i = 0; i < *len * INTS; i++)
        ((int *)inout)[i] += ((int *)in)[i];
    if (frees_type && now != MPI_DATATYPE_NULL) {
        wrong += MPI_Type_free(&now) != MPI_SUCCESS;
        wrong += MPI_Type_contiguous(1, MPI_CHAR, &other) != MPI_SUCCESS || other == handle;
        wrong += MPI_Type_free(&other) != MPI_SUCCESS;
    }
}

static void make(MPI_Op *op, int commutes)
{
    OK(MPI_Op_create(add, commutes, op));
    OK(MPI_Type_contiguous(INTS, MPI_INT, &now));
    OK(MPI_Type_commit(&now));
    handle = now;
    wrong = 0;
}

static int sum(void)
{
    return check_size * (check_size - 1) / 2;
}

enum { REDUCE, ALLREDUCE, SCAN, EXSCAN, SCATTER, SCATTER_BLOCK, KINDS };

/* What rank `of` of so many, of which each gives its rank, has in the end, if it has anything. */
static int wanted(int kind, int rank)
{
    switch (kind) {
    case SCAN:
        return rank * (rank + 1) / 2;
    case EXSCAN:
        return rank * (rank - 1) / 2;
    default:
        return sum();
    }
}

static void begin(int kind, int *in, int *out, int *ones, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    switch (kind) {
    case REDUCE:
        OK(MPI_Ireduce(in, out, 1, now, op, 0, comm, request));
        break;
    case ALLREDUCE:
        OK(MPI_Iallreduce(in, out, 1, now, op, comm, request));
        break;
    case SCAN:
        OK(MPI_Iscan(in, out, 1, now, op, comm, request));
        break;
    case EXSCAN:
        OK(MPI_Iexscan(in, out, 1, now, op, comm, request));
        break;
    case SCATTER:
        OK(MPI_Ireduce_scatter(in, out, ones, now, op, comm, request));
        break;
    default:
        OK(MPI_Ireduce_scatter_block(in, out, 1, now, op, comm, request));
    }
}

/* Datatype, operation and communicator are freed as soon as the reduction has begun. */
static void reductions(void)
{
    int kind, commutes, i, size, *in = check_room(sizeof(int) * INTS * (size_t)check_size);
    int *ones = check_room(sizeof(int) * (size_t)check_size), out[INTS];
    MPI_Datatype other;
    MPI_Comm comm;
    MPI_Op op;
    MPI_Request request;

    for (i = 0; i < check_size; i++)
        ones[i] = 1;
    for (kind = 0; kind < KINDS; kind++)
        for (commutes = 0; commutes < 2; commutes++) {
            for (i = 0; i < INTS * check_size; i++)
                in[i] = check_rank;
            out[0] = out[1] = -1;
            make(&op, commutes);
            OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
            begin(kind, in, out, ones, op, comm, &request);
            OK(MPI_Type_free(&now));
            OK(MPI_Op_free(&op));
            OK(MPI_Comm_free(&comm));
            if (!IS_MPICH) { /* It finds it alive. */
                OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
                FAILS(MPI_ERR_TYPE, MPI_Type_size(handle, &size));
                OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
            }
            recycle(&other);
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK(wrong == 0);
            if ((kind != REDUCE || check_rank == 0) && (kind != EXSCAN || check_rank > 0))
                CHECK(out[0] == wanted(kind, check_rank) && out[1] == out[0]);
            OK(MPI_Type_free(&other));
        }
    free(in);
    free(ones);
}

/* The function frees the datatype of the call that it is called in. */
static void blocking(void)
{
    int kind, in[INTS], out[INTS];
    MPI_Op op;

    for (kind = 0; kind < 3; kind++) {
        in[0] = in[1] = check_rank;
        out[0] = out[1] = 0;
        make(&op, kind != 1);
        frees_type = 1;
        if (kind == 0)
            OK(MPI_Allreduce(in, out, 1, now, op, MPI_COMM_WORLD));
        else if (kind == 1)
            OK(MPI_Scan(in, out, 1, now, op, MPI_COMM_WORLD));
        else
            OK(MPI_Reduce_local(in, out, 1, now, op));
        frees_type = 0;
        CHECK(wrong == 0);
        if (kind < 2)
            CHECK(out[1] == (kind == 0 ? sum() : wanted(SCAN, check_rank)));
        if (now != MPI_DATATYPE_NULL)
            OK(MPI_Type_free(&now));
        OK(MPI_Op_free(&op));
    }
}

/* Between the two halves of the processes. */
static void intercommunicators(void)
{
    int high = check_rank >= check_size / 2, out[INTS] = {-1, -1}, in[INTS], first, last, i, from = 0;
    MPI_Comm half, inter;
    MPI_Datatype other;
    MPI_Op op;
    MPI_Request request;

    if (check_size < 2)
        return;
    OK(MPI_Comm_split(MPI_COMM_WORLD, high, 0, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, high ? 0 : check_size / 2, 3, &inter));
    OK(MPI_Comm_free(&half));
    in[0] = in[1] = check_rank;
    make(&op, 1);
    OK(MPI_Iallreduce(in, out, 1, now, op, inter, &request));
    OK(MPI_Type_free(&now));
    OK(MPI_Op_free(&op));
    OK(MPI_Comm_free(&inter));
    recycle(&other);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Type_free(&other));
    first = high ? 0 : check_size / 2;
    last = high ? check_size / 2 : check_size;
    for (i = first; i < last; i++)
        from += i;
    CHECK(wrong == 0 && out[0] == from && out[1] == from);
}

static int handled, handled_rank, handled_size;

static void handler(MPI_Comm *comm, int *code, ...)
{
    MPI_Comm other;

    (void)code;
    handled++;
    handled_rank = handled_size = -1;
    MPI_Comm_rank(*comm, &handled_rank);
    MPI_Comm_size(*comm, &handled_size);
    MPI_Comm_compare(*comm, MPI_COMM_WORLD, &wrong);
    wrong = wrong != MPI_CONGRUENT;
    /* Its place is not free yet. */
    wrong += MPI_Comm_dup(MPI_COMM_SELF, &other) != MPI_SUCCESS || other == *comm || MPI_Comm_free(&other) != MPI_SUCCESS;
}

/* A message that is too long comes when its communicator is freed, and so is the error handler. */
static void errors(void)
{
    int way, longer[4] = {1, 2, 3, 4}, shorter, index, flag, code, i;
    MPI_Errhandler handlers[2];
    MPI_Comm comm, more[4];
    MPI_Request requests[2];
    MPI_Status statuses[2];

    for (way = 0; way < 6; way++) {
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Comm_create_errhandler(handler, &handlers[0]));
        OK(MPI_Comm_set_errhandler(comm, handlers[0]));
        OK(MPI_Errhandler_free(&handlers[0]));
        if (way == 5) {
            OK(MPI_Recv_init(&shorter, 1, MPI_INT, check_rank, 7, comm, &requests[0]));
            OK(MPI_Start(&requests[0]));
        } else
            OK(MPI_Irecv(&shorter, 1, MPI_INT, check_rank, 7, comm, &requests[0]));
        OK(MPI_Isend(longer, 4, MPI_INT, check_rank, 7, comm, &requests[1]));
        OK(MPI_Comm_free(&comm));
        for (i = 0; i < 4; i++)
            OK(MPI_Comm_dup(MPI_COMM_SELF, &more[i]));
        handled = wrong = 0;
        index = flag = code = 0;
        switch (way) {
        case 0:
        case 5:
            OK(MPI_Wait(&requests[1], &statuses[1]));
            code = MPI_Wait(&requests[0], &statuses[0]);
            break;
        case 1:
            while (!flag && code == MPI_SUCCESS)
                code = MPI_Test(&requests[0], &flag, &statuses[0]);
            break;
        case 2:
            code = MPI_Waitany(1, requests, &index, &statuses[0]);
            break;
        case 3:
            code = MPI_Waitall(2, requests, statuses);
            break;
        default:
            code = MPI_Waitsome(1, requests, &index, &flag, statuses);
        }
        CHECK(code != MPI_SUCCESS && handled == 1 && wrong == 0);
        CHECK(handled_rank == check_rank && handled_size == check_size);
        if (way == 5)
            OK(MPI_Request_free(&requests[0]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        for (i = 0; i < 4; i++)
            OK(MPI_Comm_free(&more[i]));
    }
}

static int copies, deletes;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    void *value = NULL;

    copies++;
    wrong += MPI_Comm_get_attr(comm, key, &value, flag) != MPI_SUCCESS || !*flag || value != in || extra != &copies;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int discard(MPI_Comm comm, int key, void *value, void *extra)
{
    int flag = 0, rank = -1;
    void *there = NULL;

    deletes++;
    wrong += MPI_Comm_get_attr(comm, key, &there, &flag) != MPI_SUCCESS || !flag || there != value || extra != &copies;
    wrong += MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || rank != check_rank;
    return MPI_SUCCESS;
}

/* Keys that are freed while attributes have them. */
static void keys(void)
{
    MPI_Comm comm, twin;
    MPI_Request request;
    int key, other;

    wrong = copies = deletes = 0;
    OK(MPI_Comm_create_keyval(copy, discard, &key, &copies));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_attr(comm, key, &key));
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Comm_dup(comm, &twin));
    OK(MPI_Comm_free(&twin));
    OK(MPI_Comm_idup(comm, &twin, &request));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &other, NULL));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&twin));
    OK(MPI_Comm_free_keyval(&other));
    CHECK(copies == 2 && deletes == 3 && wrong == 0);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    reductions();
    blocking();
    intercommunicators();
    errors();
    keys();
    return check_end("conf_kept");
}
