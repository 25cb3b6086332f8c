/* Threads that call MPI at the same time (MPI-3.1 section 12.4).
 *
 * Without MPI_THREAD_MULTIPLE only the levels are checked. With it, several threads of each rank send, receive, probe, wait,
 * call collectives on communicators of their own, duplicate these, and access windows, all at the same time.
 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 40, LONG = 6000 };

static int rank, size, next, before;
static MPI_Comm own[THREADS];

static void in_threads(void *(*run)(void *), int threads)
{
    pthread_t all[THREADS];
    int number[THREADS];

    for (int i = 0; i < threads; i++) {
        number[i] = i;
        CHECK(pthread_create(&all[i], NULL, run, &number[i]) == 0);
    }
    for (int i = 0; i < threads; i++) CHECK(pthread_join(all[i], NULL) == 0);
}

/* Each thread sends to the thread of the same number, told apart by the tag or by the communicator. */
static void *exchange(void *argument)
{
    const int me = *(int *)argument;

    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm comm = round % 2 ? own[me] : MPI_COMM_WORLD;
        int to[LONG], from[LONG], count = round % 8 == 7 ? LONG : 1 + round % 3;
        MPI_Status status;

        for (int i = 0; i < count; i++) to[i] = rank * 1000 + me * 100 + round + i;
        memset(from, 0, sizeof from);
        if (round % 4 < 2) {
            MPI_Request request;
            CHECK(MPI_Isend(to, count, MPI_INT, next, me, comm, &request) == MPI_SUCCESS);
            CHECK(MPI_Recv(from, count, MPI_INT, before, me, comm, &status) == MPI_SUCCESS);
            CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        } else {
            MPI_Request requests[2];
            int first;
            CHECK(MPI_Irecv(from, count, MPI_INT, before, me, comm, &requests[0]) == MPI_SUCCESS);
            CHECK(MPI_Isend(to, count, MPI_INT, next, me, comm, &requests[1]) == MPI_SUCCESS);
            CHECK(MPI_Waitany(2, requests, &first, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(MPI_Wait(&requests[1 - first], &status) == MPI_SUCCESS);
        }
        for (int i = 0; i < count; i++) CHECK(from[i] == before * 1000 + me * 100 + round + i);
    }
    return NULL;
}

/* Threads take each other's messages: a wildcard and a matched probe give every message to one of them. */
static int received[THREADS][ROUNDS];
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void *take(void *argument)
{
    const int me = *(int *)argument;

    if (me % 2 == 0) {
        for (int round = 0; round < ROUNDS; round++) {
            int value[2] = { me, round };
            CHECK(MPI_Send(value, 2, MPI_INT, next, 50, MPI_COMM_WORLD) == MPI_SUCCESS);
        }
        return NULL;
    }
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Message message;
        MPI_Status status;
        int value[2], count;
        if (round % 2) {
            int flag = 0;
            while (!flag)
                CHECK(MPI_Improbe(MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &flag, &message, &status) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Mprobe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status) == MPI_SUCCESS);
        }
        CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == 2);
        CHECK(MPI_Mrecv(value, 2, MPI_INT, &message, &status) == MPI_SUCCESS);
        pthread_mutex_lock(&counting);
        received[value[0]][value[1]]++;
        pthread_mutex_unlock(&counting);
    }
    return NULL;
}

/* One thread waits for a message that another thread of the same process sends, and for one of another rank. */
static void *rely(void *argument)
{
    const int me = *(int *)argument;
    int value = -1;

    for (int round = 0; round < ROUNDS; round++) {
        if (me == 0) {
            CHECK(MPI_Recv(&value, 1, MPI_INT, 0, 60, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(value == round);
            CHECK(MPI_Send(&value, 1, MPI_INT, 0, 61, MPI_COMM_SELF) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Ssend(&round, 1, MPI_INT, 0, 60, MPI_COMM_SELF) == MPI_SUCCESS);
            CHECK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(MPI_Recv(&value, 1, MPI_INT, 0, 61, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(value == round);
        }
    }
    return NULL;
}

/* Collectives on communicators of their own: blocking, nonblocking, with an operation of the program, and duplicates, whose
 * contexts concurrent threads agree on in different orders. */
static void add(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    (void)datatype;
    for (int i = 0; i < *len; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static MPI_Op sum;

static void *collect(void *argument)
{
    const int me = *(int *)argument;

    for (int round = 0; round < ROUNDS / 4; round++) {
        MPI_Comm copy, half;
        MPI_Request request;
        int value = rank + me + round, all = 0;
        const int expected = size * (size - 1) / 2 + size * (me + round);

        CHECK(MPI_Barrier(own[me]) == MPI_SUCCESS);
        CHECK(MPI_Allreduce(&value, &all, 1, MPI_INT, sum, own[me]) == MPI_SUCCESS && all == expected);
        CHECK(MPI_Comm_dup(own[me], &copy) == MPI_SUCCESS);
        CHECK(MPI_Iallreduce(&value, &all, 1, MPI_INT, MPI_SUM, copy, &request) == MPI_SUCCESS);
        CHECK(MPI_Comm_split(copy, rank % 2, rank, &half) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && all == expected);
        /* A message on the copy is for the thread that made it. */
        value = me * 1000 + round;
        CHECK(MPI_Sendrecv_replace(&value, 1, MPI_INT, next, 0, before, 0, copy, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(value == me * 1000 + round);
        CHECK(MPI_Comm_free(&half) == MPI_SUCCESS && MPI_Comm_free(&copy) == MPI_SUCCESS);
    }
    return NULL;
}

/* A thread in a callback waits for another one that calls MPI. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int has_called, is_called;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    pthread_mutex_lock(&turn);
    is_called = 1;
    pthread_cond_broadcast(&changed);
    while (!has_called) pthread_cond_wait(&changed, &turn);
    pthread_mutex_unlock(&turn);
}

static void *call_back(void *argument)
{
    int value = 7, class;

    if (*(int *)argument == 0) {
        /* The error is of this call and of this thread only. */
        CHECK(MPI_Send(&value, 1, MPI_INT, size, 0, own[0]) == MPI_ERR_RANK);
        CHECK(MPI_Error_class(MPI_ERR_RANK, &class) == MPI_SUCCESS && class == MPI_ERR_RANK);
        return NULL;
    }
    pthread_mutex_lock(&turn);
    while (!is_called) pthread_cond_wait(&changed, &turn);
    pthread_mutex_unlock(&turn);
    CHECK(MPI_Sendrecv(&value, 1, MPI_INT, 0, 0, &class, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(class == 7);
    pthread_mutex_lock(&turn);
    has_called = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&turn);
    return NULL;
}

/* A request that one thread waits for, and another completes. */
static MPI_Request given;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int no_action(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int no_cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void *complete(void *argument)
{
    MPI_Status status;
    int count;

    if (*(int *)argument == 0) {
        CHECK(MPI_Wait(&given, &status) == MPI_SUCCESS);
        CHECK(MPI_Get_elements(&status, MPI_INT, &count) == MPI_SUCCESS && count == 3);
    } else {
        MPI_Request copy = given;
        for (int i = 0; i < 100; i++) MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_SELF, &count, &status);
        CHECK(MPI_Grequest_complete(copy) == MPI_SUCCESS);
    }
    return NULL;
}

/* Windows: each thread has its own, with passive and active epochs. */
static int memory[THREADS][THREADS * 8];
static MPI_Win windows[THREADS];

static void *access_window(void *argument)
{
    const int me = *(int *)argument;
    const int one = 1;

    for (int round = 0; round < ROUNDS / 4; round++) {
        int value = rank * 100 + round, before_it = -1;
        CHECK(MPI_Win_fence(0, windows[me]) == MPI_SUCCESS);
        CHECK(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, windows[me]) == MPI_SUCCESS);
        CHECK(MPI_Win_fence(0, windows[me]) == MPI_SUCCESS);
        CHECK(memory[me][0] == before * 100 + round);
        CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, windows[me]) == MPI_SUCCESS);
        CHECK(MPI_Fetch_and_op(&one, &before_it, MPI_INT, 0, 1, MPI_SUM, windows[me]) == MPI_SUCCESS);
        CHECK(MPI_Win_unlock(0, windows[me]) == MPI_SUCCESS);
        CHECK(before_it >= 0 && before_it < size * (round + 1));
    }
    CHECK(MPI_Barrier(own[me]) == MPI_SUCCESS);
    if (rank == 0) {
        CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, windows[me]) == MPI_SUCCESS);
        CHECK(memory[me][1] == size * (ROUNDS / 4));
        CHECK(MPI_Win_unlock(0, windows[me]) == MPI_SUCCESS);
    }
    return NULL;
}

static void *is_not_main(void *argument)
{
    int flag = 1;

    (void)argument;
    CHECK(MPI_Is_thread_main(&flag) == MPI_SUCCESS && !flag);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided = -1, queried = -2, flag = 0, zero = 0;

    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    CHECK(MPI_Query_thread(&queried) == MPI_SUCCESS && queried == provided);
    CHECK(MPI_Is_thread_main(&flag) == MPI_SUCCESS && flag);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    rank = check_rank, size = check_size;
    if (argc > 1 && !strcmp(argv[1], "multiple")) CHECK(provided == MPI_THREAD_MULTIPLE);
    if (provided == MPI_THREAD_MULTIPLE) {
        next = (rank + 1) % size, before = (rank + size - 1) % size;
        in_threads(is_not_main, 1);
        for (int i = 0; i < THREADS; i++) {
            CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &own[i]) == MPI_SUCCESS);
            CHECK(MPI_Win_create(memory[i], sizeof memory[i], sizeof(int), MPI_INFO_NULL, own[i], &windows[i]) ==
                  MPI_SUCCESS);
        }
        MPI_Op_create(add, 1, &sum);
        in_threads(exchange, THREADS);
        in_threads(rely, 2);
        in_threads(take, THREADS);
        for (int i = 0; i < THREADS; i += 2)
            for (int k = 0; k < ROUNDS; k++) CHECK(received[i][k] == 1);
        in_threads(collect, THREADS);
        MPI_Errhandler errhandler;
        CHECK(MPI_Comm_create_errhandler(handler, &errhandler) == MPI_SUCCESS);
        CHECK(MPI_Comm_set_errhandler(own[0], errhandler) == MPI_SUCCESS);
        in_threads(call_back, 2);
        CHECK(MPI_Errhandler_free(&errhandler) == MPI_SUCCESS);
        CHECK(MPI_Grequest_start(query, no_action, no_cancel, &zero, &given) == MPI_SUCCESS);
        in_threads(complete, 2);
        in_threads(access_window, THREADS);
        MPI_Op_free(&sum);
        for (int i = 0; i < THREADS; i++) {
            CHECK(MPI_Win_free(&windows[i]) == MPI_SUCCESS);
            CHECK(MPI_Comm_free(&own[i]) == MPI_SUCCESS);
        }
    }
    return check_end("conf_threads");
}
