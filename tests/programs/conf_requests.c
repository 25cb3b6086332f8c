/* Conformance: nonblocking point to point and its completion (MPI-3.1, sections 3.7 and 3.8). */
#include "check.h"

enum { COUNT = 24 };

static int right, left;
static unsigned char sent[COUNT][3000], got[COUNT][3000];
static MPI_Request requests[2 * COUNT];
static MPI_Status statuses[2 * COUNT];

static int length_of(int i)
{
    return i % 4 == 0 ? 0 : i % 4 == 1 ? 16 + i : i % 4 == 2 ? 300 : 2900;
}

/* Starts COUNT receives (requests 0..COUNT-1) and COUNT sends (the others) around the ring. */
static void start_ring(int receives_first)
{
    int i, half;

    for (half = 0; half < 2; half++) {
        for (i = 0; i < COUNT; i++) {
            if ((half == 0) == receives_first) {
                memset(got[i], 0, sizeof got[i]);
                OK(MPI_Irecv(got[i], (int)sizeof got[i], MPI_BYTE, left, i, MPI_COMM_WORLD, &requests[i]));
            } else {
                check_fill(sent[i], sizeof sent[i], check_rank, i);
                if (i % 2)
                    OK(MPI_Isend(sent[i], length_of(i), MPI_BYTE, right, i, MPI_COMM_WORLD,
                                 &requests[COUNT + i]));
                else
                    OK(MPI_Issend(sent[i], length_of(i), MPI_BYTE, right, i, MPI_COMM_WORLD,
                                  &requests[COUNT + i]));
            }
        }
    }
}

static void check_received(int i, const MPI_Status *status)
{
    int count = -1;

    OK(MPI_Get_count(status, MPI_BYTE, &count));
    CHECK(count == length_of(i) && status->MPI_SOURCE == left && status->MPI_TAG == i);
    CHECK(check_wrong(got[i], (size_t)length_of(i), left, i) == 0);
}

static void all_null(void)
{
    int i;

    for (i = 0; i < 2 * COUNT; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
}

static void waits(void)
{
    int i, index, flag, order;

    for (order = 0; order < 2; order++) {
        start_ring(order);
        for (i = 2 * COUNT - 1; i >= 0; i--) {
            OK(MPI_Wait(&requests[i], &statuses[i]));
            if (i < COUNT)
                check_received(i, &statuses[i]);
        }
        all_null();

        start_ring(order);
        OK(MPI_Waitall(2 * COUNT, requests, statuses));
        for (i = 0; i < COUNT; i++)
            check_received(i, &statuses[i]);
        all_null();

        start_ring(order);
        OK(MPI_Waitall(2 * COUNT, requests, MPI_STATUSES_IGNORE));
        for (i = 0; i < COUNT; i++)
            CHECK(check_wrong(got[i], (size_t)length_of(i), left, i) == 0);
        all_null();

        start_ring(order);
        for (i = 0; i < 2 * COUNT; i++) {
            index = -1;
            OK(MPI_Waitany(2 * COUNT, requests, &index, &statuses[0]));
            CHECK(index >= 0 && index < 2 * COUNT);
            if (index < 0 || index >= 2 * COUNT)
                break;
            CHECK(requests[index] == MPI_REQUEST_NULL);
            if (index < COUNT)
                check_received(index, &statuses[0]);
        }
        all_null();
        OK(MPI_Waitany(2 * COUNT, requests, &index, &statuses[0]));
        CHECK(index == MPI_UNDEFINED);
        CHECK(statuses[0].MPI_SOURCE == MPI_ANY_SOURCE && statuses[0].MPI_TAG == MPI_ANY_TAG);

        start_ring(order);
        for (i = 0; i < 2 * COUNT; i++) {
            do
                POLL(MPI_Test(&requests[i], &flag, &statuses[i]));
            while (!flag);
            if (i < COUNT)
                check_received(i, &statuses[i]);
        }
        all_null();

        start_ring(order);
        do {
            POLL(MPI_Testall(2 * COUNT, requests, &flag, statuses));
            /* All or nothing: a false flag leaves every request as it was (section 3.7.5). */
            if (!flag) {
                for (i = 0; i < 2 * COUNT && requests[i] != MPI_REQUEST_NULL; i++)
                    ;
                POLL(i == 2 * COUNT ? MPI_SUCCESS : MPI_ERR_OTHER);
            }
        } while (!flag);
        for (i = 0; i < COUNT; i++)
            check_received(i, &statuses[i]);
        all_null();

        start_ring(order);
        for (i = 0; i < 2 * COUNT;) {
            POLL(MPI_Testany(2 * COUNT, requests, &index, &flag, &statuses[0]));
            if (!flag)
                continue;
            CHECK(index >= 0 && index < 2 * COUNT);
            if (index < 0)
                break;
            if (index < COUNT)
                check_received(index, &statuses[0]);
            i++;
        }
        OK(MPI_Testany(2 * COUNT, requests, &index, &flag, &statuses[0]));
        CHECK(flag == 1 && index == MPI_UNDEFINED);
        all_null();
    }
}

static void some(void)
{
    int indices[2 * COUNT], seen[2 * COUNT], i, done, out, order;

    for (order = 0; order < 2; order++) {
        start_ring(1);
        memset(seen, 0, sizeof seen);
        for (done = 0; done < 2 * COUNT;) {
            out = -1;
            if (order == 0)
                OK(MPI_Waitsome(2 * COUNT, requests, &out, indices, statuses));
            else
                POLL(MPI_Testsome(2 * COUNT, requests, &out, indices, statuses));
            if (order == 1 && out == 0)
                continue;
            CHECK(out > 0 && out <= 2 * COUNT - done);
            if (out < 0)
                break;
            for (i = 0; i < out; i++) {
                CHECK(indices[i] >= 0 && indices[i] < 2 * COUNT && seen[indices[i]]++ == 0);
                if (indices[i] < COUNT)
                    check_received(indices[i], &statuses[i]);
            }
            done += out;
        }
        all_null();
    }
    OK(MPI_Waitsome(2 * COUNT, requests, &out, indices, statuses));
    CHECK(out == MPI_UNDEFINED);
    OK(MPI_Testsome(2 * COUNT, requests, &out, indices, statuses));
    CHECK(out == MPI_UNDEFINED);
}

/* Null requests, empty lists, MPI_PROC_NULL: complete at once, with the empty status (section 3.7.3). */
static void empties(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0, count = -1, index = -1, value = 9;

    memset(&status, 0x33, sizeof status);
    OK(MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 0);
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag == 0);
    OK(MPI_Test(&request, &flag, &status));
    CHECK(flag == 1);
    OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    OK(MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag == 1);
    OK(MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE));
    CHECK(index == MPI_UNDEFINED);

    OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(value == 9);
#ifndef MPICH_VERSION /* MPICH 4.0.2 gives source 0 and tag 0. */
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
#endif
    OK(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    flag = 0;
    OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(flag == 1 && request == MPI_REQUEST_NULL);
}

/* The whole of an empty status, whatever was there before: MPI_ERROR, too, is set (section 3.7.3). */
static int is_empty(MPI_Status *status)
{
    int flag = -1, count = -1;

    OK(MPI_Test_cancelled(status, &flag));
    OK(MPI_Get_count(status, MPI_INT, &count));
    return status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG
           && (IS_MPICH /* It leaves MPI_ERROR. */ || status->MPI_ERROR == MPI_SUCCESS) && flag == 0 && count == 0;
}

static void empty_statuses(void)
{
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}, persistent;
    MPI_Status status, all[3];
    int flag = 0, index = -1, value = 0;

    memset(&status, 0x33, sizeof status);
    OK(MPI_Wait(&requests[0], &status));
    CHECK(is_empty(&status));
    memset(&status, 0x33, sizeof status);
    OK(MPI_Test(&requests[0], &flag, &status));
    CHECK(flag && is_empty(&status));
    memset(&status, 0x33, sizeof status);
    OK(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status));
    CHECK(flag && is_empty(&status));
    memset(&status, 0x33, sizeof status);
    OK(MPI_Waitany(3, requests, &index, &status));
    CHECK(index == MPI_UNDEFINED && is_empty(&status));
    memset(&status, 0x33, sizeof status);
    OK(MPI_Testany(3, requests, &index, &flag, &status));
    CHECK(flag && index == MPI_UNDEFINED && is_empty(&status));
    memset(all, 0x33, sizeof all);
    OK(MPI_Waitall(3, requests, all));
    CHECK(is_empty(&all[0]) && is_empty(&all[1]) && is_empty(&all[2]));
    memset(all, 0x33, sizeof all);
    OK(MPI_Testall(3, requests, &flag, all));
    CHECK(flag && is_empty(&all[0]) && is_empty(&all[1]) && is_empty(&all[2]));

    OK(MPI_Status_set_cancelled(&status, 1));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
    OK(MPI_Status_set_cancelled(&status, 0));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag);

    /* A persistent request that is not active. */
    OK(MPI_Recv_init(&value, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &persistent));
    memset(&status, 0x33, sizeof status);
    OK(MPI_Wait(&persistent, &status));
    CHECK(is_empty(&status));
    memset(&status, 0x33, sizeof status);
    OK(MPI_Test(&persistent, &flag, &status));
    CHECK(flag && is_empty(&status));
    OK(MPI_Request_free(&persistent));
}

enum { UNTOUCHED = 123456 };

static void untouched(MPI_Status *status, int count, int given)
{
    int i;

    for (i = 0; i < count; i++) {
        CHECK(IS_MPICH /* It sets MPI_ERROR. */ || status[i].MPI_ERROR == UNTOUCHED);
        CHECK(i >= given || status[i].MPI_TAG != -7);
        status[i].MPI_ERROR = UNTOUCHED;
        status[i].MPI_TAG = -7;
    }
}

/* MPI_ERROR is left alone by calls that give one status, and by the others where they succeed (section 3.2.5). */
static void error_fields(void)
{
    MPI_Status status[3] = {{0}};
    MPI_Request three[3];
    int in[3], out = 5, index, indices[3], flag, done, i;

    for (i = 0; i < 3; i++) {
        status[i].MPI_ERROR = UNTOUCHED;
        status[i].MPI_TAG = -7;
    }
    OK(MPI_Isend(&out, 1, MPI_INT, check_rank, 80, MPI_COMM_WORLD, &three[0]));
    OK(MPI_Irecv(&in[0], 1, MPI_INT, check_rank, 80, MPI_COMM_WORLD, &three[1]));
    OK(MPI_Wait(&three[1], status));
    untouched(status, 1, 1);
    OK(MPI_Wait(&three[0], status));
    untouched(status, 1, 1);
    OK(MPI_Isend(&out, 1, MPI_INT, MPI_PROC_NULL, 80, MPI_COMM_WORLD, &three[0]));
    OK(MPI_Request_get_status(three[0], &flag, status));
    untouched(status, 1, flag);
    OK(MPI_Wait(&three[0], status));
    untouched(status, 1, 1);
    OK(MPI_Ibarrier(MPI_COMM_WORLD, &three[0]));
    OK(MPI_Wait(&three[0], status));
    untouched(status, 1, 1);
    OK(MPI_Irecv(&in[0], 1, MPI_INT, check_rank, 81, MPI_COMM_WORLD, &three[0]));
    OK(MPI_Cancel(&three[0]));
    OK(MPI_Wait(&three[0], status));
    untouched(status, 1, 0);
    for (done = 0; done < 4; done++) {
        for (i = 0; i < 3; i++) {
            OK(MPI_Irecv(&in[i], 1, MPI_INT, check_rank, 82 + i, MPI_COMM_WORLD, &three[i]));
            OK(MPI_Send(&out, 1, MPI_INT, check_rank, 82 + i, MPI_COMM_WORLD));
        }
        index = flag = 0;
        if (done == 0) {
            OK(MPI_Waitall(3, three, status));
            untouched(status, 3, 3);
        } else if (done == 1) {
            while (!flag)
                POLL(MPI_Testall(3, three, &flag, status));
            untouched(status, 3, 3);
        } else if (done == 2)
            for (i = 0; i < 3; i += index) {
                OK(MPI_Waitsome(3, three, &index, indices, status));
                untouched(status, 3, index);
            }
        else
            for (i = 0; i < 3; i += index) {
                POLL(MPI_Testsome(3, three, &index, indices, status));
                untouched(status, 3, index);
            }
    }
    /* One of three is too long: then all are set that are given. */
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (i = 0; i < 3; i++) {
        OK(MPI_Irecv(&in[i], i == 1 ? 0 : 1, MPI_INT, check_rank, 85 + i, MPI_COMM_WORLD, &three[i]));
        OK(MPI_Send(&out, 1, MPI_INT, check_rank, 85 + i, MPI_COMM_WORLD));
    }
    FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(3, three, status));
    CHECK(status[0].MPI_ERROR == MPI_SUCCESS && status[2].MPI_ERROR == MPI_SUCCESS);
    FAILS(MPI_ERR_TRUNCATE, status[1].MPI_ERROR);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* A synchronous send does not complete before its receive has started (section 3.4). */
static void synchronous(void)
{
    MPI_Request request;
    int flag = 0, i, value = 5, go = 0;

    if (check_size < 2)
        return;
    if (check_rank == 0) {
        OK(MPI_Issend(&value, 1, MPI_INT, 1, 50, MPI_COMM_WORLD, &request));
        for (i = 0; i < 100; i++) {
            OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            CHECK(flag == 0);
            if (flag)
                break;
        }
        OK(MPI_Send(&go, 1, MPI_INT, 1, 51, MPI_COMM_WORLD));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (check_rank == 1) {
        OK(MPI_Recv(&go, 1, MPI_INT, 0, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

/* A ready send to a receive that is known to be posted. */
static void ready(void)
{
    MPI_Request request;
    int got_value = 0, value = 77, token = 0, got_token = 0;

    OK(MPI_Irecv(&got_value, 1, MPI_INT, left, 60, MPI_COMM_WORLD, &request));
    OK(MPI_Sendrecv(&token, 1, MPI_INT, left, 61, &got_token, 1, MPI_INT, right, 61, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Rsend(&value, 1, MPI_INT, right, 60, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(got_value == 77);
}

/* Posted receives match in the order of posting, wildcards among them (section 3.5). */
static void posting_order(void)
{
    MPI_Request mine[4];
    MPI_Status status[4];
    int values[4], i, to[4] = {10, 11, 12, 13};

    for (i = 0; i < 4; i++)
        values[i] = -1;
    OK(MPI_Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, 70, MPI_COMM_WORLD, &mine[0]));
    OK(MPI_Irecv(&values[1], 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, &mine[1]));
    OK(MPI_Irecv(&values[2], 1, MPI_INT, left, 70, MPI_COMM_WORLD, &mine[2]));
    OK(MPI_Irecv(&values[3], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &mine[3]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Send(&to[0], 1, MPI_INT, right, 71, MPI_COMM_WORLD)); /* the second takes it */
    OK(MPI_Send(&to[1], 1, MPI_INT, right, 70, MPI_COMM_WORLD)); /* the first */
    OK(MPI_Send(&to[2], 1, MPI_INT, right, 72, MPI_COMM_WORLD)); /* the fourth */
    OK(MPI_Send(&to[3], 1, MPI_INT, right, 70, MPI_COMM_WORLD)); /* the third */
    OK(MPI_Waitall(4, mine, status));
    CHECK(values[0] == 11 && values[1] == 10 && values[2] == 13 && values[3] == 12);
    CHECK(status[0].MPI_TAG == 70 && status[1].MPI_TAG == 71);
    CHECK(status[2].MPI_TAG == 70 && status[3].MPI_TAG == 72);
}

/* The killer's order: everybody sends much before anybody receives, and the last is wanted first. */
static void reversed(void)
{
    enum { MANY = 40, BYTES = 1500 };
    unsigned char *data = check_room((size_t)MANY * BYTES), *in = check_room(BYTES);
    MPI_Request mine[MANY];
    int i, peer;

    for (i = 0; i < MANY; i++) {
        check_fill(data + i * BYTES, BYTES, check_rank, i);
        peer = (check_rank + i) % check_size;
        OK(MPI_Isend(data + i * BYTES, BYTES, MPI_BYTE, peer, i, MPI_COMM_WORLD, &mine[i]));
    }
    for (i = MANY - 1; i >= 0; i--) {
        peer = ((check_rank - i) % check_size + check_size) % check_size;
        OK(MPI_Recv(in, BYTES, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(check_wrong(in, BYTES, peer, i) == 0);
    }
    OK(MPI_Waitall(MANY, mine, MPI_STATUSES_IGNORE));
    free(data);
    free(in);
}

/* Large messages in both directions at once between all pairs of neighbours. */
static void both_ways(void)
{
    enum { BYTES = 150000 };
    unsigned char *a = check_room(BYTES), *b = check_room(BYTES), *c = check_room(BYTES);
    MPI_Request mine[4];

    check_fill(a, BYTES, check_rank, 1);
    OK(MPI_Isend(a, BYTES, MPI_BYTE, right, 80, MPI_COMM_WORLD, &mine[0]));
    OK(MPI_Isend(a, BYTES, MPI_BYTE, left, 81, MPI_COMM_WORLD, &mine[1]));
    OK(MPI_Irecv(b, BYTES, MPI_BYTE, left, 80, MPI_COMM_WORLD, &mine[2]));
    OK(MPI_Irecv(c, BYTES, MPI_BYTE, right, 81, MPI_COMM_WORLD, &mine[3]));
    OK(MPI_Waitall(4, mine, MPI_STATUSES_IGNORE));
    CHECK(check_wrong(b, BYTES, left, 1) == 0 && check_wrong(c, BYTES, right, 1) == 0);
    free(a);
    free(b);
    free(c);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    waits();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    some();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    empties();
    empty_statuses();
    error_fields();
    synchronous();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    ready();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    posting_order();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    reversed();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    both_ways();
    return check_end("conf_requests");
}
