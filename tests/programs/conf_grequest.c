/* Conformance: generalized requests (MPI-3.1, section 12.2). */
#include "check.h"

/* What the functions of one request have seen. */
struct state {
    int queries, frees, cancels, complete, cancelled, answer;
};

static int query(void *extra, MPI_Status *status)
{
    struct state *state = extra;

    state->queries++;
    /* MPI can be asked from here. */
    if (MPI_Wtime() < 0 || MPI_Status_set_elements(status, MPI_INT, 3) != MPI_SUCCESS ||
        MPI_Status_set_cancelled(status, state->cancelled) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    status->MPI_SOURCE = 17;
    status->MPI_TAG = 18;
    return state->answer;
}

static int gone(void *extra)
{
    ((struct state *)extra)->frees++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    struct state *state = extra;

    state->cancels++;
    state->complete = complete;
    state->cancelled = !complete;
    return MPI_SUCCESS;
}

/* MPICH asks in a test that completes nothing, too. */
static int was_queried_once(const struct state *state)
{
    return state->queries == 1 || (IS_MPICH && state->queries > 1);
}

static MPI_Request begin(struct state *state)
{
    MPI_Request request = MPI_REQUEST_NULL;

    memset(state, 0, sizeof *state);
    OK(MPI_Grequest_start(query, gone, cancel, state, &request));
    CHECK(request != MPI_REQUEST_NULL);
    return request;
}

static void check_status(MPI_Status *status, int is_cancelled)
{
    int count = -1, flag = -1;

    CHECK(status->MPI_SOURCE == 17 && status->MPI_TAG == 18);
    OK(MPI_Get_elements(status, MPI_INT, &count));
    CHECK(count == 3);
    OK(MPI_Test_cancelled(status, &flag));
    CHECK(flag == is_cancelled);
}

static void one(void)
{
    struct state state;
    MPI_Request request = begin(&state);
    MPI_Status status;
    int flag = -1;

    OK(MPI_Test(&request, &flag, &status));
    CHECK(flag == 0 && state.queries == 0);
    OK(MPI_Request_get_status(request, &flag, &status));
    CHECK(flag == 0 && state.queries == 0);
    OK(MPI_Grequest_complete(request));
    CHECK(state.queries == 0 && state.frees == 0);
    OK(MPI_Request_get_status(request, &flag, &status));
    CHECK(flag == 1 && state.queries == 1 && state.frees == 0 && request != MPI_REQUEST_NULL);
    check_status(&status, 0);
    OK(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL && state.queries == 2 && state.frees == 1 && state.cancels == 0);
    check_status(&status, 0);

    request = begin(&state);
    OK(MPI_Cancel(&request));
    CHECK(state.cancels == 1 && state.complete == 0);
    OK(MPI_Grequest_complete(request));
    OK(MPI_Test(&request, &flag, &status));
    CHECK(flag == 1 && request == MPI_REQUEST_NULL && state.frees == 1);
    check_status(&status, 1);

    request = begin(&state);
    OK(MPI_Grequest_complete(request));
    OK(MPI_Cancel(&request));
    CHECK(state.cancels == 1 && state.complete == 1);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

    /* Given up before and after it is complete. */
    request = begin(&state);
    OK(MPI_Grequest_complete(request));
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL && state.queries == 0 && state.frees == 1);
    request = begin(&state);
    {
        MPI_Request copy = request;

        OK(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL && (IS_MPICH /* It frees at once. */ || state.frees == 0));
        OK(MPI_Grequest_complete(copy));
        CHECK(state.frees == 1);
    }
}

static void several(void)
{
    enum { MANY = 5 };
    struct state states[MANY];
    MPI_Request request[MANY + 1];
    MPI_Status statuses[MANY + 1];
    int i, index, flag, outcount, indices[MANY + 1], left = (check_rank + check_size - 1) % check_size, got = -1;

    /* Beside a message, in every call on several requests. */
    for (i = 0; i < MANY; i++)
        request[i] = begin(&states[i]);
    OK(MPI_Irecv(&got, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &request[MANY]));
    for (i = 0; i < MANY; i++)
        OK(MPI_Grequest_complete(request[i]));
    OK(MPI_Testall(MANY + 1, request, &flag, statuses));
    CHECK(flag == 0);
    for (i = 0; i < MANY; i++)
        CHECK(states[i].frees == 0 && request[i] != MPI_REQUEST_NULL);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Send(&check_rank, 1, MPI_INT, (check_rank + 1) % check_size, 0, MPI_COMM_WORLD));
    OK(MPI_Waitall(MANY + 1, request, statuses));
    CHECK(got == left && statuses[MANY].MPI_SOURCE == left);
    for (i = 0; i < MANY; i++) {
        CHECK(request[i] == MPI_REQUEST_NULL && was_queried_once(&states[i]) && states[i].frees == 1);
        check_status(&statuses[i], 0);
    }

    for (i = 0; i < MANY; i++)
        request[i] = begin(&states[i]);
    OK(MPI_Testany(MANY, request, &index, &flag, &statuses[0]));
    CHECK(flag == 0 && index == MPI_UNDEFINED);
    OK(MPI_Grequest_complete(request[3]));
    OK(MPI_Waitany(MANY, request, &index, &statuses[0]));
    CHECK(index == 3 && request[3] == MPI_REQUEST_NULL && states[3].frees == 1);
    check_status(&statuses[0], 0);
    OK(MPI_Grequest_complete(request[1]));
    OK(MPI_Testany(MANY, request, &index, &flag, &statuses[0]));
    CHECK(flag == 1 && index == 1 && request[1] == MPI_REQUEST_NULL);
    check_status(&statuses[0], 0);
    OK(MPI_Grequest_complete(request[0]));
    OK(MPI_Grequest_complete(request[4]));
    OK(MPI_Testsome(MANY, request, &outcount, indices, statuses));
    CHECK(outcount == 2 && indices[0] + indices[1] == 4);
    CHECK(request[0] == MPI_REQUEST_NULL && request[4] == MPI_REQUEST_NULL && request[2] != MPI_REQUEST_NULL);
    check_status(&statuses[0], 0);
    check_status(&statuses[1], 0);
    OK(MPI_Grequest_complete(request[2]));
    OK(MPI_Waitsome(MANY, request, &outcount, indices, statuses));
    CHECK(outcount == 1 && indices[0] == 2);
    check_status(&statuses[0], 0);
    for (i = 0; i < MANY; i++)
        request[i] = begin(&states[i]);
    for (i = 0; i < MANY; i++)
        OK(MPI_Grequest_complete(request[i]));
    OK(MPI_Testall(MANY, request, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag == 1);
    for (i = 0; i < MANY; i++)
        CHECK(request[i] == MPI_REQUEST_NULL && was_queried_once(&states[i]) && states[i].frees == 1);
}

/* The program's own part of a collective: done when a message has come. */
static void with_messages(void)
{
    struct state state;
    MPI_Request both[2];
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size, got = -1, done = 0;

    both[0] = begin(&state);
    OK(MPI_Irecv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &both[1]));
    OK(MPI_Send(&check_rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD));
    while (done < 2) {
        int index = -1;

        OK(MPI_Waitany(2, both, &index, MPI_STATUS_IGNORE));
        if (index == 1)
            OK(MPI_Grequest_complete(both[0]));
        done++;
        CHECK(index == (done == 1 ? 1 : 0));
    }
    CHECK(got == left && state.frees == 1);
}

static void errors(void)
{
    struct state state;
    MPI_Request request = MPI_REQUEST_NULL, two[2];
    MPI_Status statuses[2];
    int code, class = -1;

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
#ifdef MIDPLANE_MPI
    FAILS(MPI_ERR_ARG, MPI_Grequest_start(NULL, gone, cancel, &state, &request));
    FAILS(MPI_ERR_ARG, MPI_Grequest_start(query, NULL, cancel, &state, &request));
    FAILS(MPI_ERR_ARG, MPI_Grequest_start(query, gone, NULL, &state, &request));
    FAILS(MPI_ERR_ARG, MPI_Grequest_start(query, gone, cancel, &state, NULL));
    /* Only a generalized request, and only once. */
    FAILS(MPI_ERR_REQUEST, MPI_Grequest_complete(MPI_REQUEST_NULL));
    OK(MPI_Irecv(NULL, 0, MPI_INT, 0, 2, MPI_COMM_SELF, &request));
    FAILS(MPI_ERR_REQUEST, MPI_Grequest_complete(request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    request = begin(&state);
    OK(MPI_Grequest_complete(request));
    FAILS(MPI_ERR_REQUEST, MPI_Grequest_complete(request));
    two[0] = request;
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Wait(&two[0], MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_REQUEST, MPI_Request_free(&two[0]));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&two[0]));
    /* What the program's functions say is the call's result. */
    request = begin(&state);
    state.answer = MPI_ERR_INTERN;
    OK(MPI_Grequest_complete(request));
    FAILS(MPI_ERR_INTERN, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL && state.frees == 1);
    two[0] = begin(&state);
    two[1] = MPI_REQUEST_NULL;
    state.answer = MPI_ERR_IO;
    OK(MPI_Grequest_complete(two[0]));
    code = MPI_Waitall(2, two, statuses);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR == MPI_ERR_IO && statuses[1].MPI_ERROR == MPI_SUCCESS && state.frees == 1);
#endif
    (void)state, (void)two, (void)statuses, (void)code, (void)class, (void)request;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    int i;

    check_start(&argc, &argv);
    for (i = 0; i < 3; i++) {
        one();
        several();
        with_messages();
    }
    errors();
    return check_end("conf_grequest");
}
