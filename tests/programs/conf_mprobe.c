/* Matched probes (sections 3.8.2 and 3.8.3): what they find is theirs alone, in order, whatever receives and probes are
 * about. */
#include "check.h"

static const int sizes[] = {0, 1, 20, 32, 33, 220, 221, 1000, 9000, 70000};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))
#define LONGEST 70000

static unsigned char *sent[SIZES], *got;
static int next, before;

/* Messages of many sizes around the ring, each by a matched probe. */
static void around(int mode)
{
    MPI_Request requests[SIZES], request;
    MPI_Message message;
    MPI_Status probed, status;
    int i, count, flag;

    for (i = 0; i < SIZES; i++) {
        check_fill(sent[i], sizes[i], check_rank, i);
        OK(MPI_Isend(sent[i], sizes[i], MPI_BYTE, next, i / 3, MPI_COMM_WORLD, &requests[i]));
    }
    for (i = 0; i < SIZES; i++) {
        const int tag = mode & 1 ? MPI_ANY_TAG : i / 3, source = mode & 2 ? MPI_ANY_SOURCE : before;

        if (mode & 4) {
            do
                POLL(MPI_Improbe(source, tag, MPI_COMM_WORLD, &flag, &message, &probed));
            while (!flag);
        } else {
            OK(MPI_Mprobe(source, tag, MPI_COMM_WORLD, &message, &probed));
        }
        CHECK(message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC);
        OK(MPI_Get_count(&probed, MPI_BYTE, &count));
        CHECK(count == sizes[i] && probed.MPI_SOURCE == before && probed.MPI_TAG == i / 3);
        memset(got, 0xee, LONGEST);
        if (mode & 8) {
            OK(MPI_Imrecv(got, count, MPI_BYTE, &message, &request));
            CHECK(request != MPI_REQUEST_NULL);
            OK(MPI_Wait(&request, &status));
        } else {
            OK(MPI_Mrecv(got, count, MPI_BYTE, &message, &status));
        }
        CHECK(message == MPI_MESSAGE_NULL);
        CHECK(status.MPI_SOURCE == before && status.MPI_TAG == i / 3);
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == sizes[i] && check_wrong(got, sizes[i], before, i) == 0);
    }
    OK(MPI_Waitall(SIZES, requests, MPI_STATUSES_IGNORE));
}

/* All are taken first, then received from the last to the first; a receive between takes what is left. */
static void many_at_once(void)
{
    MPI_Request requests[SIZES + 1], late;
    MPI_Message messages[SIZES];
    MPI_Status status;
    int i, count, value = 77, left = 0, flag;

    for (i = 0; i < SIZES; i++)
        OK(MPI_Isend(sent[i], sizes[i], MPI_BYTE, next, 5, MPI_COMM_WORLD, &requests[i]));
    OK(MPI_Isend(&value, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[SIZES]));
    for (i = 0; i < SIZES; i++) {
        OK(MPI_Mprobe(before, 5, MPI_COMM_WORLD, &messages[i], &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == sizes[i]);
    }
    OK(MPI_Irecv(&left, 1, MPI_INT, before, 5, MPI_COMM_WORLD, &late));
    OK(MPI_Wait(&late, &status));
    CHECK(left == 77);
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    for (i = SIZES - 1; i >= 0; i--) {
        OK(MPI_Mrecv(got, LONGEST, MPI_BYTE, &messages[i], &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == sizes[i] && check_wrong(got, sizes[i], before, i) == 0);
    }
    OK(MPI_Waitall(SIZES + 1, requests, MPI_STATUSES_IGNORE));
}

/* A datatype with holes, and synchronous mode: the send is over when the message is received, not when it is taken. */
static void others(void)
{
    MPI_Datatype every_other;
    MPI_Message message;
    MPI_Request request, receive;
    MPI_Status status;
    int values[8] = {0, 1, 2, 3, 4, 5, 6, 7}, spread[15], i, flag;

    OK(MPI_Type_vector(8, 1, 2, MPI_INT, &every_other));
    OK(MPI_Type_commit(&every_other));
    OK(MPI_Issend(values, 8, MPI_INT, next, 6, MPI_COMM_WORLD, &request));
    OK(MPI_Mprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &message, &status));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (i = 0; i < 15; i++)
        spread[i] = -1;
    OK(MPI_Imrecv(spread, 1, every_other, &message, &receive));
    OK(MPI_Type_free(&every_other));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    for (i = 0; i < 15; i++)
        CHECK(spread[i] == (i % 2 == 0 ? i / 2 : -1));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void from_no_process(void)
{
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int flag = 0, count;

    OK(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    OK(MPI_Mrecv(got, 1, MPI_BYTE, &message, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL && count == 0);
    OK(MPI_Improbe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
    CHECK(flag && message == MPI_MESSAGE_NO_PROC);
    OK(MPI_Imrecv(got, 1, MPI_BYTE, &message, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

/* A communicator that is freed while a message of it is held. */
static void freed_communicator(void)
{
    MPI_Comm comm;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int own = check_rank, value = -1;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Isend(&own, 1, MPI_INT, next, 1, comm, &request));
    OK(MPI_Mprobe(before, 1, comm, &message, &status));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
    CHECK(value == before && status.MPI_SOURCE == before);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* A message that one probe has found is found at once by each wider one, even if it has no record. */
static void found_again(void)
{
    int patterns[3][2] = {{0, MPI_ANY_TAG}, {MPI_ANY_SOURCE, 0}, {MPI_ANY_SOURCE, MPI_ANY_TAG}};
    int i, flag, value, to;
    MPI_Comm comm;
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;

    /* No message of another part of this program matches. */
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (i = 0; i < 48; i++) {
        int from = i % 2 == 0 ? check_rank : before;

        to = i % 2 == 0 ? check_rank : next;
        OK(MPI_Issend(&i, 1, MPI_INT, to, 7, comm, &request));
        do
            OK(MPI_Iprobe(from, 7, comm, &flag, MPI_STATUS_IGNORE));
        while (!flag);
        patterns[0][0] = from;
        patterns[1][1] = 7;
        if (i % 4 < 2) {
            OK(MPI_Iprobe(patterns[i % 3][0], patterns[i % 3][1], comm, &flag, &status));
            CHECK(flag && status.MPI_SOURCE == from && status.MPI_TAG == 7);
        }
        OK(MPI_Improbe(patterns[i / 4 % 3][0], patterns[i / 4 % 3][1], comm, &flag, &message, &status));
        CHECK(flag);
        if (flag) {
            OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
        } else {
            OK(MPI_Recv(&value, 1, MPI_INT, from, 7, comm, &status));
        }
        CHECK(value == i && status.MPI_SOURCE == from && status.MPI_TAG == 7);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        /* Otherwise a message of the next round could be found. */
        OK(MPI_Barrier(comm));
    }
    OK(MPI_Comm_free(&comm));
}

static void errors(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request;
    MPI_Status status;
    int flag, values[2] = {1, 2}, count;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_RANK, MPI_Mprobe(check_size, 0, MPI_COMM_WORLD, &message, &status));
    FAILS(MPI_ERR_TAG, MPI_Improbe(0, -7, MPI_COMM_WORLD, &flag, &message, &status));
    FAILS(MPI_ERR_COMM, MPI_Mprobe(0, 0, MPI_COMM_NULL, &message, &status));
    FAILS(MPI_ERR_REQUEST, MPI_Mrecv(values, 1, MPI_INT, &message, &status));
    FAILS(MPI_ERR_REQUEST, MPI_Imrecv(values, 1, MPI_INT, &message, &request));
    OK(MPI_Isend(values, 2, MPI_INT, next, 2, MPI_COMM_WORLD, &request));
    OK(MPI_Mprobe(before, 2, MPI_COMM_WORLD, &message, &status));
    FAILS(MPI_ERR_TRUNCATE, MPI_Mrecv(values + 1, 1, MPI_INT, &message, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 1 && (IS_MPICH /* It leaves the handle. */ || message == MPI_MESSAGE_NULL));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    int i, mode;

    check_start(&argc, &argv);
    next = (check_rank + 1) % check_size;
    before = (check_rank + check_size - 1) % check_size;
    for (i = 0; i < SIZES; i++)
        sent[i] = check_room(sizes[i]);
    got = check_room(LONGEST);
    for (mode = 0; mode < 16; mode++)
        around(mode);
    many_at_once();
    others();
    from_no_process();
    freed_communicator();
    found_again();
    errors();
    return check_end("conf_mprobe");
}
