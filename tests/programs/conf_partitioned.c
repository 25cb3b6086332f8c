/* Conformance: partitioned communication (MPI-4.0 chapter 4). */
#include "check.h"

enum { TAG = 3, PARTS = 6, EACH = 50, ROUNDS = 3 };

static int given[PARTS * EACH], taken[PARTS * EACH];

static int next(void)
{
    return (check_rank + 1) % check_size;
}

static int previous(void)
{
    return (check_rank + check_size - 1) % check_size;
}

static void fill(int round)
{
    int i;

    for (i = 0; i < PARTS * EACH; i++) {
        given[i] = 10000 * check_rank + 1000 * round + i;
        taken[i] = -1;
    }
}

static void arrived(int round)
{
    int i, wrong = 0;

    for (i = 0; i < PARTS * EACH; i++)
        wrong += taken[i] != 10000 * previous() + 1000 * round + i;
    CHECK(wrong == 0);
}

/* The sender releases its partitions one by one, by ranges and by lists; both sides may divide the message otherwise. */
static void around(int sent_parts, int received_parts)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int round, i, count, list[PARTS], flag;

    OK(MPI_Psend_init(given, sent_parts, PARTS * EACH / sent_parts, MPI_INT, next(), TAG, MPI_COMM_WORLD,
                      MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(taken, received_parts, PARTS * EACH / received_parts, MPI_INT, previous(), TAG, MPI_COMM_WORLD,
                      MPI_INFO_NULL, &requests[1]));
    for (round = 0; round < ROUNDS; round++) {
        fill(round);
        OK(MPI_Startall(2, requests));
        if (round == 0) {
            for (i = sent_parts - 1; i >= 0; i--)
                OK(MPI_Pready(i, requests[0]));
        } else if (round == 1) {
            OK(MPI_Pready_range(0, sent_parts - 1, requests[0]));
        } else {
            for (i = 0; i < sent_parts; i++)
                list[i] = (i + 1) % sent_parts;
            OK(MPI_Pready_list(sent_parts, list, requests[0]));
        }
        for (i = 0; i < received_parts; i++) {
            flag = 0;
            while (!flag)
                POLL(MPI_Parrived(requests[1], i, &flag));
            CHECK(taken[i * (PARTS * EACH / received_parts)] ==
                  10000 * previous() + 1000 * round + i * (PARTS * EACH / received_parts));
        }
        OK(MPI_Waitall(2, requests, statuses));
        CHECK(statuses[1].MPI_SOURCE == previous() && statuses[1].MPI_TAG == TAG);
        OK(MPI_Get_count(&statuses[1], MPI_INT, &count));
        CHECK(count == PARTS * EACH);
        arrived(round);
        OK(MPI_Parrived(requests[1], 0, &flag));
        CHECK(flag);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
}

/* A partition arrives although an earlier one is not ready. */
static void single(void)
{
    MPI_Request requests[2];
    int flag, i;

    OK(MPI_Precv_init(taken, PARTS, EACH, MPI_INT, previous(), TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Psend_init(given, PARTS, EACH, MPI_INT, next(), TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    fill(0);
    OK(MPI_Start(&requests[1]));
    OK(MPI_Start(&requests[0]));
    OK(MPI_Pready(4, requests[0]));
    flag = 0;
    while (!flag)
        POLL(MPI_Parrived(requests[1], 4, &flag));
    CHECK(taken[4 * EACH] == 10000 * previous() + 4 * EACH);
    OK(MPI_Parrived(requests[1], 3, &flag));
    CHECK(!flag && taken[3 * EACH] == -1);
    OK(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (i = 0; i < PARTS; i++)
        if (i != 4)
            OK(MPI_Pready(i, requests[0]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    arrived(0);
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

/* Empty partitions have not arrived before the sender has released all of its own. */
static void empty(void)
{
    MPI_Request requests[2];
    int flag, i;

    OK(MPI_Psend_init(given, 3, 0, MPI_INT, next(), TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Precv_init(taken, 2, 0, MPI_INT, previous(), TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Start(&requests[1]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (i = 0; i < 2; i++) {
        OK(MPI_Parrived(requests[1], i, &flag));
        CHECK(!flag);
    }
    OK(MPI_Start(&requests[0]));
    OK(MPI_Pready(2, requests[0]));
    OK(MPI_Pready(0, requests[0]));
    OK(MPI_Parrived(requests[1], 1, &flag));
    CHECK(!flag);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Pready(1, requests[0]));
    for (i = 0; i < 2; i++) {
        flag = 0;
        while (!flag)
            POLL(MPI_Parrived(requests[1], i, &flag));
    }
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

/* The receiver is in another call when the offer arrives, and the sender waits for it. */
static void in_other_calls(void)
{
    MPI_Request request;
    int is_sender = check_rank % 2 == 0, partner = is_sender ? check_rank + 1 : check_rank - 1;

    fill(0);
    if (partner < check_size) {
        if (is_sender) {
            OK(MPI_Psend_init(given, 1, PARTS * EACH, MPI_INT, partner, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
            OK(MPI_Start(&request));
            OK(MPI_Pready(0, request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Precv_init(taken, 2, PARTS * EACH / 2, MPI_INT, partner, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &request));
            OK(MPI_Start(&request));
        }
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (partner < check_size) {
        if (!is_sender) {
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            arrived(0);
        }
        OK(MPI_Request_free(&request));
    }
}

/* Operations match in the order of their creation, for each tag, and start in any order. */
static void matching(void)
{
    int values[4], results[4] = {-1, -1, -1, -1}, i, flag;
    static const int send_tags[4] = {1, 2, 1, 2}, receive_tags[4] = {2, 1, 2, 1}, from[4] = {1, 0, 3, 2};
    MPI_Request sends[4], receives[4];
    MPI_Comm comm;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (i = 0; i < 4; i++) {
        values[i] = 100 * check_rank + i;
        OK(MPI_Psend_init(&values[i], 1, 1, MPI_INT, next(), send_tags[i], comm, MPI_INFO_NULL, &sends[i]));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    for (i = 0; i < 4; i++)
        OK(MPI_Precv_init(&results[i], 1, 1, MPI_INT, previous(), receive_tags[i], comm, MPI_INFO_NULL, &receives[i]));
    OK(MPI_Comm_free(&comm));
    for (i = 3; i >= 0; i--)
        OK(MPI_Start(&receives[i]));
    for (i = 0; i < 4; i++) {
        OK(MPI_Start(&sends[i]));
        OK(MPI_Pready(0, sends[i]));
    }
    OK(MPI_Waitall(4, receives, MPI_STATUSES_IGNORE));
    OK(MPI_Waitall(4, sends, MPI_STATUSES_IGNORE));
    for (i = 0; i < 4; i++)
        CHECK(results[i] == 100 * previous() + from[i]);
    for (i = 0; i < 4; i++) {
        OK(MPI_Request_free(&sends[i]));
        OK(MPI_Request_free(&receives[i]));
    }
    /* A partner that is none. */
    OK(MPI_Psend_init(values, 2, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[0]));
    OK(MPI_Precv_init(results, 2, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[0]));
    OK(MPI_Start(&sends[0]));
    OK(MPI_Start(&receives[0]));
    OK(MPI_Pready_range(0, 1, sends[0]));
    OK(MPI_Parrived(receives[0], 1, &flag));
    CHECK(flag);
    OK(MPI_Wait(&sends[0], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&receives[0], MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&sends[0]));
    OK(MPI_Request_free(&receives[0]));
}

/* The receiver's elements have gaps. */
static void with_gaps(void)
{
    int pairs[12][2], i;
    MPI_Datatype first;
    MPI_Request requests[2];

    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &first));
    OK(MPI_Type_commit(&first));
    fill(0);
    memset(pairs, 0, sizeof(pairs));
    OK(MPI_Precv_init(pairs, 3, 4, first, previous(), TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Type_free(&first));
    OK(MPI_Psend_init(given, 6, 2, MPI_INT, next(), TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Startall(2, requests));
    OK(MPI_Pready_range(0, 5, requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (i = 0; i < 12; i++)
        CHECK(pairs[i][0] == 10000 * previous() + i && pairs[i][1] == 0);
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

/* A partition of the sender begins inside an element of the receiver, which has gaps; then the other way round. */
static void inside_elements(void)
{
    int spread[12 * 4], i, k;
    MPI_Datatype pairs, element;
    MPI_Request requests[2];

    /* Two ints with a gap of one, and one behind them. */
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &pairs));
    OK(MPI_Type_create_resized(pairs, 0, 4 * sizeof(int), &element));
    OK(MPI_Type_commit(&element));
    OK(MPI_Type_free(&pairs));
    fill(0);
    memset(spread, 0, sizeof(spread));
    OK(MPI_Precv_init(spread, 3, 4, element, previous(), TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Psend_init(given, 8, 3, MPI_INT, next(), TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Startall(2, requests));
    for (i = 7; i >= 0; i--)
        OK(MPI_Pready(i, requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (i = 0; i < 12; i++)
        for (k = 0; k < 4; k++)
            CHECK(spread[4 * i + k] == (k % 2 != 0 ? 0 : 10000 * previous() + 2 * i + k / 2));
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Precv_init(taken, 8, 3, MPI_INT, previous(), TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Psend_init(spread, 3, 4, element, next(), TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Type_free(&element));
    OK(MPI_Startall(2, requests));
    OK(MPI_Pready_range(0, 2, requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (i = 0; i < 24; i++)
        CHECK(taken[i] == 10000 * ((check_rank + 2 * check_size - 2) % check_size) + i);
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

static void errors(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_RANK, MPI_Psend_init(given, 1, 1, MPI_INT, check_size, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    FAILS(MPI_ERR_COUNT, MPI_Psend_init(given, 1, -1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    OK(MPI_Psend_init(given, 2, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    if (!IS_MPICH) {
        FAILS(MPI_ERR_ARG, MPI_Psend_init(given, 0, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
        FAILS(MPI_ERR_ARG, MPI_Pready(0, request));
        OK(MPI_Start(&request));
        FAILS(MPI_ERR_ARG, MPI_Pready(2, request));
        OK(MPI_Pready(1, request));
        FAILS(MPI_ERR_ARG, MPI_Pready(1, request));
        FAILS(MPI_ERR_REQUEST, MPI_Request_free(&request));
        OK(MPI_Pready(0, request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    OK(MPI_Request_free(&request));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    around(PARTS, PARTS);
    around(PARTS, 2);
    around(3, PARTS);
    around(PARTS, 5);
    single();
    empty();
    in_other_calls();
    matching();
    with_gaps();
    inside_elements();
    errors();
    return check_end("conf_partitioned");
}
