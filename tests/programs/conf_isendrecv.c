/* Conformance: nonblocking send-receives (MPI-4.0 section 3.10). */
#include "check.h"

enum { TAG = 5, LONG = 5000 };

static int given[LONG], taken[LONG];

static int next(void)
{
    return (check_rank + 1) % check_size;
}

static int previous(void)
{
    return (check_rank + check_size - 1) % check_size;
}

static void around(int count)
{
    MPI_Status status;
    MPI_Request request;
    int i, received = -1, flag = 0;

    for (i = 0; i < count; i++)
        given[i] = 1000 * check_rank + i;
    memset(taken, -1, sizeof(taken));
    OK(MPI_Isendrecv(given, count, MPI_INT, next(), TAG, taken, LONG, MPI_INT, previous(), TAG, MPI_COMM_WORLD,
                     &request));
    while (!flag)
        POLL(MPI_Test(&request, &flag, &status));
    OK(MPI_Get_count(&status, MPI_INT, &received));
    CHECK(request == MPI_REQUEST_NULL && received == count);
    CHECK(status.MPI_SOURCE == previous() && status.MPI_TAG == TAG);
    for (i = 0; i < count; i++)
        CHECK(taken[i] == 1000 * previous() + i);
    CHECK(count == LONG || taken[count] == -1);
    OK(MPI_Isendrecv_replace(given, count, MPI_INT, next(), TAG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                             &request));
    OK(MPI_Wait(&request, &status));
    CHECK(status.MPI_SOURCE == previous() && status.MPI_TAG == TAG);
    for (i = 0; i < count; i++)
        CHECK(given[i] == 1000 * previous() + i);
}

static void large(void)
{
    MPI_Request requests[2];
    int mine = check_rank, theirs = -1, both = check_rank;

    OK(MPI_Isendrecv_c(&mine, (MPI_Count)1, MPI_INT, next(), TAG, &theirs, (MPI_Count)1, MPI_INT, previous(), TAG,
                       MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isendrecv_replace_c(&both, (MPI_Count)1, MPI_INT, next(), TAG, previous(), TAG, MPI_COMM_WORLD,
                               &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(theirs == previous() && both == previous());
}

/* Of each pair of columns one is sent, and the other one must stay as it was. */
static void with_gaps(void)
{
    int matrix[8][2], i;
    MPI_Datatype column;
    MPI_Request request;

    for (i = 0; i < 8; i++) {
        matrix[i][0] = 10 * check_rank + i;
        matrix[i][1] = -i;
    }
    OK(MPI_Type_vector(8, 1, 2, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Isendrecv_replace(matrix, 1, column, next(), TAG, previous(), TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Type_free(&column));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (i = 0; i < 8; i++)
        CHECK(matrix[i][0] == 10 * previous() + i && matrix[i][1] == -i);
}

static void without_partners(void)
{
    MPI_Status status;
    MPI_Request request;
    int value = check_rank, result = -1, count = -1;

    OK(MPI_Isendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, TAG, &result, 1, MPI_INT, MPI_PROC_NULL, TAG, MPI_COMM_WORLD,
                     &request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0 && result == -1);
    if (check_size < 2)
        return;
    /* Ranks in pairs: the even ones only send. */
    if (check_rank % 2 == 0 && check_rank + 1 < check_size) {
        OK(MPI_Isendrecv(&value, 1, MPI_INT, check_rank + 1, TAG, &result, 1, MPI_INT, MPI_PROC_NULL, TAG,
                         MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, &status));
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL && result == -1);
    } else if (check_rank % 2 == 1) {
        OK(MPI_Isendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, TAG, &result, 1, MPI_INT, check_rank - 1, TAG,
                         MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, &status));
        CHECK(status.MPI_SOURCE == check_rank - 1 && result == check_rank - 1);
    }
}

/* The request is not complete before both messages are; it can be freed, and its communicator before it. */
static void lifetime(void)
{
    MPI_Comm comm;
    MPI_Request request;
    int value = check_rank, result = -1, flag = 1, i;

    OK(MPI_Isendrecv(&value, 1, MPI_INT, check_rank, TAG, &result, 1, MPI_INT, check_rank, TAG + 1, MPI_COMM_WORLD,
                     &request));
    for (i = 0; i < 10; i++) {
        POLL(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag);
    }
    OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Send(&value, 1, MPI_INT, check_rank, TAG + 1, MPI_COMM_WORLD));
    OK(MPI_Recv(&result, 1, MPI_INT, check_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    result = -1;
    OK(MPI_Isendrecv(&value, 1, MPI_INT, next(), TAG, &result, 1, MPI_INT, previous(), TAG, comm, &request));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(result == previous());
    OK(MPI_Isendrecv_replace(&value, 1, MPI_INT, next(), TAG, previous(), TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void errors(void)
{
    MPI_Request request;
    int values[4] = {0, 0, 0, 0}, result[2];

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_RANK, MPI_Isendrecv(values, 1, MPI_INT, check_size, TAG, result, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD,
                                      &request));
    FAILS(MPI_ERR_TAG, MPI_Isendrecv(values, 1, MPI_INT, 0, -1, result, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request));
    FAILS(MPI_ERR_COUNT, MPI_Isendrecv_replace(values, -1, MPI_INT, 0, TAG, 0, TAG, MPI_COMM_WORLD, &request));
    OK(MPI_Isendrecv(values, 4, MPI_INT, next(), TAG, result, 2, MPI_INT, previous(), TAG, MPI_COMM_WORLD, &request));
    if (!IS_MPICH)
        FAILS(MPI_ERR_REQUEST, MPI_Cancel(&request));
    FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    around(0);
    around(1);
    around(100);
    around(LONG);
    large();
    with_gaps();
    without_partners();
    lifetime();
    errors();
    return check_end("conf_isendrecv");
}
