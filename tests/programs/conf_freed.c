/* Communicators that are freed with requests under way (MPI-3.1 section 6.4.3): their messages arrive, with the sender's
 * rank in the communicator, errors go to the communicator's handler, and its handle names nothing any more.
 *
 * Ranks of the communicators here are in the opposite order of MPI_COMM_WORLD's. Exit status: 0, or 1 if a check failed.
 */
#include "check.h"

enum { MANY = 70, TAG = 5 };

static int calls;
static MPI_Comm blamed;

static void handle(MPI_Comm *comm, int *code, ...)
{
    int class;

    MPI_Error_class(*code, &class);
    calls += class == MPI_ERR_TRUNCATE;
    blamed = *comm;
}

/* All processes, from the last to the first. */
static MPI_Comm reversed(void)
{
    MPI_Comm comm;

    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &comm));
    return comm;
}

/* A process's rank there. */
static int there(int rank)
{
    return check_size - 1 - rank;
}

/* Many at a time, each freed before its messages come. */
static void many(void)
{
    static MPI_Request requests[2 * MANY];
    static MPI_Status statuses[2 * MANY];
    static int in[MANY], out[MANY];
    int i, flag, next = (check_rank + 1) % check_size, previous = (check_rank + check_size - 1) % check_size;
    MPI_Comm comm, freed;

    for (i = 0; i < MANY; i++) {
        comm = freed = reversed();
        in[i] = -1;
        out[i] = 100 * check_rank + i;
        POLL(MPI_Irecv(&in[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : there(previous), TAG, comm, &requests[i]));
        POLL(MPI_Isend(&out[i], 1, MPI_INT, there(next), TAG, comm, &requests[MANY + i]));
        POLL(MPI_Comm_free(&comm));
        CHECK(comm == MPI_COMM_NULL);
        FAILS(MPI_ERR_COMM, MPI_Iprobe(MPI_ANY_SOURCE, TAG, freed, &flag, MPI_STATUS_IGNORE));
        FAILS(MPI_ERR_COMM, MPI_Send(&i, 1, MPI_INT, 0, TAG, freed));
    }
    OK(MPI_Waitall(2 * MANY, requests, statuses));
    for (i = 0; i < MANY; i++) {
        CHECK(in[i] == 100 * previous + i);
        CHECK(statuses[i].MPI_SOURCE == there(previous) && statuses[i].MPI_TAG == TAG);
        CHECK(requests[i] == MPI_REQUEST_NULL && requests[MANY + i] == MPI_REQUEST_NULL);
    }
}

/* As many in turn as there are contexts, and more: what is freed can be used again. */
static void in_turn(void)
{
    int i, in, out = check_rank, other = there(check_rank);
    MPI_Comm comm;
    MPI_Request requests[2];
    MPI_Status status;

    for (i = 0; i < 40; i++) {
        comm = reversed();
        POLL(MPI_Irecv(&in, 1, MPI_INT, other, TAG, comm, &requests[0]));
        POLL(MPI_Isend(&out, 1, MPI_INT, other, TAG, comm, &requests[1]));
        POLL(MPI_Comm_free(&comm));
        /* One by one, by calls of each kind. */
        POLL(i % 2 ? MPI_Wait(&requests[1], MPI_STATUS_IGNORE) : MPI_Request_free(&requests[1]));
        POLL(MPI_Wait(&requests[0], &status));
        CHECK(status.MPI_SOURCE == other && in == check_rank);
    }
}

/* The error of a request goes to the communicator's own handler, for whom its handle names it once more. */
static void errors(void)
{
    int in, out[2] = {check_rank, check_rank}, other = there(check_rank);
    MPI_Comm comm = reversed(), freed = comm;
    MPI_Errhandler handler;
    MPI_Request request;
    MPI_Status status;

    OK(MPI_Comm_create_errhandler(handle, &handler));
    OK(MPI_Comm_set_errhandler(comm, handler));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Irecv(&in, 1, MPI_INT, other, TAG, comm, &request));
    OK(MPI_Send(out, 2, MPI_INT, other, TAG, comm));
    OK(MPI_Comm_free(&comm));
    FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&request, &status));
    CHECK(calls == 1 && blamed == freed);
    FAILS(MPI_ERR_COMM, MPI_Comm_size(freed, &in));
}

/* Persistent requests, and a message that a matched probe has found, keep it. */
static void kept(void)
{
    int i, in = -1, out = 0, first = 7, other = there(check_rank);
    MPI_Comm comm = reversed();
    MPI_Request requests[2], request;
    MPI_Message message;
    MPI_Status status;

    OK(MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &requests[0]));
    OK(MPI_Send_init(&out, 1, MPI_INT, other, TAG, comm, &requests[1]));
    OK(MPI_Isend(&first, 1, MPI_INT, other, TAG + 1, comm, &request));
    OK(MPI_Mprobe(other, TAG + 1, comm, &message, &status));
    OK(MPI_Comm_free(&comm));
    CHECK(status.MPI_SOURCE == other);
    for (i = 1; i < 4; i++) {
        out = i;
        OK(MPI_Startall(2, requests));
        OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        OK(MPI_Wait(&requests[0], &status));
        CHECK(in == i && status.MPI_SOURCE == other);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Mrecv(&in, 1, MPI_INT, &message, &status));
    CHECK(in == 7 && status.MPI_SOURCE == other);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* Messages without bytes need no buffer, on any communicator. */
static void empty(void)
{
    int count = -1, other = there(check_rank);
    MPI_Comm comm = reversed();
    MPI_Status status;
    MPI_Request request;

    OK(MPI_Irecv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request));
    OK(MPI_Send(NULL, 0, MPI_DOUBLE, other, TAG, comm));
    OK(MPI_Waitall(1, &request, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 0 && status.MPI_SOURCE == other && status.MPI_TAG == TAG);
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    many();
    in_turn();
    errors();
    kept();
    empty();
    return check_end("conf_freed");
}
