/* Conformance: point to point at its edges (MPI-3.1, sections 3.2 to 3.8): arguments that are just not right, requests
 * that are over, errors that are handled, messages taken back or left to themselves, and short messages between others
 * of all kinds. Most of them go to the sender itself or to its neighbour, where a short one has a way of its own. */
#include "check.h"

#include <limits.h>
#include <stdint.h>

static int handled, handled_class, right_in_handler;

/* Errors are handled by calls of MPI, too. */
static void handler(MPI_Comm *comm, int *code, ...)
{
    int a = 41, b = 0;
    MPI_Request q;
    MPI_Status status;

    handled++;
    MPI_Error_class(*code, &handled_class);
    if (MPI_Irecv(&b, 1, MPI_INT, check_rank, 77, MPI_COMM_WORLD, &q) == 0 &&
        MPI_Send(&a, 1, MPI_INT, check_rank, 77, MPI_COMM_WORLD) == 0 && MPI_Wait(&q, &status) == 0 && b == 41 &&
        status.MPI_TAG == 77)
        right_in_handler++;
    (void)comm;
}

static int right_at_end;

/* Messages within MPI_Finalize, which deletes the attributes of MPI_COMM_SELF first (section 8.7.1). */
static int at_end(MPI_Comm comm, int keyval, void *value, void *state)
{
    int a = 5, b = 0, size, rank, left, right;
    MPI_Status status;
    MPI_Request q;

    (void)comm;
    (void)keyval;
    (void)value;
    (void)state;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    MPI_Isend(&a, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &q);
    MPI_Recv(&b, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &status);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    right_at_end = b == 5 && status.MPI_SOURCE == left;
    return MPI_SUCCESS;
}

/* Requests that are over, and values that none has ever been. */
static void garbage(void)
{
    MPI_Request q, copy;
    MPI_Status status;
    int x = 1, y = 0, flag, i;

    /* It does not look. */
    if (IS_MPICH)
        return;
    OK(MPI_Irecv(&y, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD, &q));
    copy = q;
    OK(MPI_Send(&x, 1, MPI_INT, check_rank, 1, MPI_COMM_WORLD));
    OK(MPI_Wait(&q, &status));
    FAILS(MPI_ERR_REQUEST, MPI_Wait(&copy, &status));
    FAILS(MPI_ERR_REQUEST, MPI_Test(&copy, &flag, &status));
    FAILS(MPI_ERR_REQUEST, MPI_Cancel(&copy));
    FAILS(MPI_ERR_REQUEST, MPI_Request_free(&copy));
    for (i = 0; i < 40; i++) {
        int value = (int)(0x80000000u + (unsigned)i * 7919u * 7919u);

        if (value >= 0)
            continue;
        q = (MPI_Request)(intptr_t)value;
        FAILS(MPI_ERR_REQUEST, MPI_Wait(&q, &status));
    }
    q = (MPI_Request)(intptr_t)-1;
    FAILS(MPI_ERR_REQUEST, MPI_Wait(&q, &status));
    q = (MPI_Request)(intptr_t)INT_MIN;
    FAILS(MPI_ERR_REQUEST, MPI_Wait(&q, &status));
}

static void arguments(void)
{
    int x = 0, y = 0, flag, *last;
    MPI_Request q = MPI_REQUEST_NULL;
    MPI_Status status;

    FAILS(MPI_ERR_BUFFER, MPI_Send(NULL, 1, MPI_INT, check_rank, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Recv(NULL, 1, MPI_INT, check_rank, 0, MPI_COMM_WORLD, &status));
    FAILS(MPI_ERR_BUFFER, MPI_Isend(NULL, 1, MPI_INT, check_rank, 0, MPI_COMM_WORLD, &q));
    FAILS(MPI_ERR_BUFFER, MPI_Irecv(NULL, 1, MPI_INT, check_rank, 0, MPI_COMM_WORLD, &q));
    if (!IS_MPICH)
        FAILS(MPI_ERR_BUFFER, MPI_Send(MPI_IN_PLACE, 1, MPI_INT, check_rank, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_ARG, MPI_Isend(&x, 1, MPI_INT, check_rank, 0, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Irecv(&x, 1, MPI_INT, check_rank, 0, MPI_COMM_WORLD, NULL));
    FAILS(MPI_ERR_ARG, MPI_Wait(NULL, &status));
    FAILS(MPI_ERR_TAG, MPI_Recv(&x, 1, MPI_INT, check_rank, -3, MPI_COMM_WORLD, &status));
    FAILS(MPI_ERR_RANK, MPI_Recv(&x, 1, MPI_INT, INT_MIN, 0, MPI_COMM_WORLD, &status));
    FAILS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_RANK, MPI_Send(&x, 1, MPI_INT, INT_MAX, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TYPE, MPI_Send(&x, 1, (MPI_Datatype)0x12345, check_rank, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_COMM, MPI_Send(&x, 1, MPI_INT, check_rank, 0, (MPI_Comm)0x3));
    /* The last tag. */
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &last, &flag));
    OK(MPI_Irecv(&y, 1, MPI_INT, check_rank, *last, MPI_COMM_WORLD, &q));
    x = 9;
    OK(MPI_Send(&x, 1, MPI_INT, check_rank, *last, MPI_COMM_WORLD));
    OK(MPI_Wait(&q, &status));
    CHECK(y == 9 && status.MPI_TAG == *last);
}

static void handlers(void)
{
    MPI_Errhandler h, old;
    MPI_Request q;
    MPI_Status status;
    int x[2] = {1, 2}, y = 0, z;

    memset(&status, 0, sizeof status);
    OK(MPI_Comm_create_errhandler(handler, &h));
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &old));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, h));
    OK(MPI_Isend(x, 2, MPI_INT, check_rank, 5, MPI_COMM_WORLD, &q));
    FAILS(MPI_ERR_TRUNCATE, MPI_Recv(&y, 1, MPI_INT, check_rank, 5, MPI_COMM_WORLD, &status));
    CHECK(handled == 1 && handled_class == MPI_ERR_TRUNCATE && right_in_handler == 1);
    OK(MPI_Wait(&q, MPI_STATUS_IGNORE));
    OK(MPI_Irecv(&y, 1, MPI_INT, check_rank, 5, MPI_COMM_WORLD, &q));
    OK(MPI_Send(x, 2, MPI_INT, check_rank, 5, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&q, &status));
    CHECK(q == MPI_REQUEST_NULL && handled == 2 && right_in_handler == 2);
    FAILS(MPI_ERR_TAG, MPI_Send(x, 2, MPI_INT, check_rank, -3, MPI_COMM_WORLD));
    CHECK(handled == 3 && handled_class == MPI_ERR_TAG && right_in_handler == 3);
    /* The handler that counts is the one that is set when the error is found. */
    OK(MPI_Irecv(&y, 1, MPI_INT, check_rank, 5, MPI_COMM_WORLD, &q));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, old));
    OK(MPI_Send(x, 2, MPI_INT, check_rank, 5, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&q, MPI_STATUS_IGNORE));
    CHECK(handled == 3);
    OK(MPI_Errhandler_free(&h));
    OK(MPI_Errhandler_free(&old));
    /* Afterwards all is as it was. */
    z = 3;
    y = 0;
    OK(MPI_Irecv(&y, 1, MPI_INT, check_rank, 5, MPI_COMM_WORLD, &q));
    OK(MPI_Send(&z, 1, MPI_INT, check_rank, 5, MPI_COMM_WORLD));
    OK(MPI_Wait(&q, &status));
    CHECK(y == 3);
}

static void cancels(void)
{
    MPI_Request q, r;
    MPI_Status status;
    int x = 1, y = 0, flag, got, n;
    static int big[9000], into[9000];

    /* A short send to oneself, taken back or not, is received then or not at all. */
    for (n = 0; n < 20; n++) {
        int count = n < 10 ? 1 : n < 15 ? 300 : 9000;

        OK(MPI_Isend(big, count, MPI_INT, check_rank, 6, MPI_COMM_WORLD, &q));
        OK(MPI_Cancel(&q));
        OK(MPI_Iprobe(check_rank, 6, MPI_COMM_WORLD, &got, &status));
        if (IS_MPICH) {
            OK(MPI_Irecv(into, count, MPI_INT, check_rank, 6, MPI_COMM_WORLD, &r));
            OK(MPI_Wait(&q, &status));
            OK(MPI_Test_cancelled(&status, &flag));
            if (flag)
                OK(MPI_Cancel(&r));
            OK(MPI_Wait(&r, &status));
            continue;
        }
        OK(MPI_Wait(&q, &status));
        OK(MPI_Test_cancelled(&status, &flag));
        OK(MPI_Iprobe(check_rank, 6, MPI_COMM_WORLD, &got, MPI_STATUS_IGNORE));
        CHECK(got == !flag);
        if (!flag)
            OK(MPI_Recv(into, count, MPI_INT, check_rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    /* A synchronous send to oneself is decided behind MPI_Cancel, as libraries on top of MPI expect. */
    for (n = 0; !IS_MPICH && n < 4; n++) {
        OK(MPI_Issend(big, n * 2000, MPI_INT, check_rank, 6, MPI_COMM_WORLD, &q));
        if (n % 2)
            OK(MPI_Probe(check_rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Cancel(&q));
        OK(MPI_Request_get_status(q, &got, &status));
        CHECK(got);
        OK(MPI_Test_cancelled(&status, &flag));
        OK(MPI_Wait(&q, MPI_STATUS_IGNORE));
        OK(MPI_Iprobe(check_rank, 6, MPI_COMM_WORLD, &got, MPI_STATUS_IGNORE));
        CHECK(flag && !got);
    }
    /* A cancelled receive waits no more for what is sent then. */
    OK(MPI_Irecv(&y, 1, MPI_INT, check_rank, 6, MPI_COMM_WORLD, &q));
    OK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &r));
    OK(MPI_Cancel(&q));
    OK(MPI_Send(&x, 1, MPI_INT, check_rank, 6, MPI_COMM_WORLD));
    OK(MPI_Wait(&r, &status));
    CHECK(status.MPI_SOURCE == check_rank && got == 1);
    OK(MPI_Wait(&q, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag && y == 0);
    /* One that is complete is not taken back. */
    OK(MPI_Irecv(&y, 1, MPI_INT, check_rank, 6, MPI_COMM_WORLD, &q));
    OK(MPI_Send(&x, 1, MPI_INT, check_rank, 6, MPI_COMM_WORLD));
    OK(MPI_Cancel(&q));
    OK(MPI_Wait(&q, &status));
    OK(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag && y == 1);
}

/* Requests given up with what they stand for under way. */
static void freed(void)
{
    MPI_Request q;
    int x, y, i;
    static int kept[50];

    for (i = 0; i < 50; i++) {
        kept[i] = i;
        OK(MPI_Isend(&kept[i], 1, MPI_INT, check_rank, 8, MPI_COMM_WORLD, &q));
        OK(MPI_Request_free(&q));
        CHECK(q == MPI_REQUEST_NULL);
    }
    for (i = 0; i < 50; i++) {
        OK(MPI_Recv(&y, 1, MPI_INT, check_rank, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(y == i);
    }
    for (i = 0; i < 50; i++) {
        kept[i] = -1;
        OK(MPI_Irecv(&kept[i], 1, MPI_INT, check_rank, 8, MPI_COMM_WORLD, &q));
        OK(MPI_Request_free(&q));
    }
    for (i = 0; i < 50; i++) {
        x = i + 100;
        OK(MPI_Ssend(&x, 1, MPI_INT, check_rank, 8, MPI_COMM_WORLD));
    }
    for (i = 0; i < 50; i++)
        CHECK(kept[i] == i + 100);
}

/* Receives and messages with and without wildcards, derived datatypes and another communicator meet in their order. */
static void mixed_matching(void)
{
    MPI_Comm dup;
    MPI_Datatype pair;
    MPI_Request q[6];
    MPI_Status status[6];
    int a[2] = {90, 91}, b[6][4], i;
    static int given[6][4];

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    memset(b, 0xff, sizeof b);
    OK(MPI_Irecv(b[0], 1, pair, check_rank, 4, MPI_COMM_WORLD, &q[0]));
    OK(MPI_Irecv(b[1], 2, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &q[1]));
    OK(MPI_Irecv(b[2], 2, MPI_INT, check_rank, MPI_ANY_TAG, MPI_COMM_WORLD, &q[2]));
    OK(MPI_Irecv(b[3], 1, pair, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &q[3]));
    OK(MPI_Irecv(b[4], 2, MPI_INT, check_rank, 4, dup, &q[4]));
    OK(MPI_Irecv(b[5], 2, MPI_INT, check_rank, 4, MPI_COMM_WORLD, &q[5]));
    for (i = 0; i < 5; i++) {
        int v[4] = {10 * i, 7, 10 * i + 1, 7}, w[2] = {10 * i, 10 * i + 1};

        if (i & 1)
            OK(MPI_Send(v, 1, pair, check_rank, 4, MPI_COMM_WORLD));
        else
            OK(MPI_Send(w, 2, MPI_INT, check_rank, 4, MPI_COMM_WORLD));
    }
    OK(MPI_Send(a, 2, MPI_INT, check_rank, 4, dup));
    OK(MPI_Waitall(6, q, status));
    CHECK(b[0][0] == 0 && b[0][1] == -1 && b[0][2] == 1 && b[0][3] == -1);
    CHECK(b[1][0] == 10 && b[1][1] == 11 && b[1][2] == -1);
    CHECK(b[2][0] == 20 && b[2][1] == 21 && b[2][2] == -1);
    CHECK(b[3][0] == 30 && b[3][1] == -1 && b[3][2] == 31);
    CHECK(b[4][0] == 90 && b[4][1] == 91);
    CHECK(b[5][0] == 40 && b[5][1] == 41);
    for (i = 0; i < 6; i++)
        CHECK(status[i].MPI_SOURCE == check_rank && status[i].MPI_TAG == 4);
    /* Unexpected ones of all kinds in order, taken by all kinds. */
    for (i = 0; i < 6; i++) {
        given[i][0] = i;
        given[i][1] = given[i][2] = 50 + i;
        switch (i % 3) {
        case 0:
            OK(MPI_Isend(given[i], 2, MPI_INT, check_rank, 4, MPI_COMM_WORLD, &q[i]));
            break;
        case 1:
            given[i][1] = 99;
            OK(MPI_Isend(given[i], 1, pair, check_rank, 4, MPI_COMM_WORLD, &q[i]));
            break;
        default:
            OK(MPI_Issend(given[i], 2, MPI_INT, check_rank, 4, MPI_COMM_WORLD, &q[i]));
        }
    }
    for (i = 0; i < 6; i++) {
        MPI_Message m;
        MPI_Request r;
        int g[4] = {-1, -1, -1, -1}, n;

        switch (i) {
        case 0:
            OK(MPI_Recv(g, 2, MPI_INT, check_rank, 4, MPI_COMM_WORLD, &status[0]));
            break;
        case 1:
            OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &m, &status[1]));
            OK(MPI_Mrecv(g, 2, MPI_INT, &m, &status[0]));
            break;
        case 2:
            OK(MPI_Recv(g, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status[0]));
            break;
        case 3:
            OK(MPI_Irecv(g, 2, MPI_INT, check_rank, 4, MPI_COMM_WORLD, &r));
            OK(MPI_Wait(&r, &status[0]));
            break;
        case 4:
            OK(MPI_Recv_init(g, 2, MPI_INT, check_rank, 4, MPI_COMM_WORLD, &r));
            OK(MPI_Start(&r));
            OK(MPI_Wait(&r, &status[0]));
            OK(MPI_Request_free(&r));
            break;
        default:
            OK(MPI_Sendrecv(a, 0, MPI_INT, MPI_PROC_NULL, 1, g, 2, MPI_INT, check_rank, 4, MPI_COMM_WORLD, &status[0]));
        }
        CHECK(g[0] == i && g[1] == 50 + i);
        OK(MPI_Get_count(&status[0], MPI_INT, &n));
        CHECK(n == 2);
        OK(MPI_Get_count(&status[0], MPI_CHAR, &n));
        CHECK(n == 8);
        OK(MPI_Get_count(&status[0], MPI_DOUBLE, &n));
        CHECK(n == 1);
        OK(MPI_Get_count(&status[0], MPI_LONG_DOUBLE, &n));
        CHECK(n == MPI_UNDEFINED);
    }
    OK(MPI_Waitall(6, q, MPI_STATUSES_IGNORE));
    OK(MPI_Type_free(&pair));
    OK(MPI_Comm_free(&dup));
}

/* Messages to oneself without receives: as many as are wanted, in every size of memory. */
static void pile(void)
{
    enum { N = 400 };
    static int x[N], z[N], at[N], y;
    static MPI_Request q[N];
    static MPI_Status statuses[N];
    int i, flag, j, k, n = 0;

    for (i = 0; i < N; i++) {
        x[i] = i;
        OK(MPI_Isend(&x[i], 1, MPI_INT, check_rank, i & 1, MPI_COMM_WORLD, &q[i]));
    }
    for (i = 1; i < N; i += 2) {
        OK(MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(y == i);
    }
    for (i = 0; i < N; i += 2) {
        OK(MPI_Recv(&y, 1, MPI_INT, check_rank, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(y == i);
    }
    for (i = 0; i < N; i++) {
        OK(MPI_Wait(&q[i], MPI_STATUS_IGNORE));
        CHECK(q[i] == MPI_REQUEST_NULL);
    }
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    /* Posted, and met in reverse. */
    for (i = 0; i < N; i++)
        OK(MPI_Irecv(&z[i], 1, MPI_INT, check_rank, i, MPI_COMM_WORLD, &q[i]));
    for (i = N - 1; i >= 0; i--)
        OK(MPI_Send(&x[i], 1, MPI_INT, check_rank, i, MPI_COMM_WORLD));
    while (n < N) {
        OK(MPI_Waitsome(N, q, &k, at, statuses));
        CHECK(k > 0);
        if (k <= 0)
            break;
        for (j = 0; j < k; j++)
            CHECK(statuses[j].MPI_TAG == at[j] && z[at[j]] == at[j]);
        n += k;
    }
}

static void sum(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int i;

    (void)type;
    for (i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* Short calls that wait, while collectives with a function of the program's are to go on. */
static void beside(void)
{
    MPI_Op op;
    MPI_Request q[3], r, s;
    MPI_Status status;
    int i, n, given[3], taken[3], x, y;
    int left = (check_rank + check_size - 1) % check_size, right = (check_rank + 1) % check_size;

    OK(MPI_Op_create(sum, 0, &op));
    for (n = 0; n < 30; n++) {
        for (i = 0; i < 3; i++) {
            given[i] = check_rank + i;
            OK(MPI_Iallreduce(&given[i], &taken[i], 1, MPI_INT, op, MPI_COMM_WORLD, &q[i]));
        }
        x = n;
        y = -1;
        OK(MPI_Irecv(&y, 1, MPI_INT, left, 12, MPI_COMM_WORLD, &r));
        switch ((n + check_rank) % 3) {
        case 0:
            OK(MPI_Send(&x, 1, MPI_INT, right, 12, MPI_COMM_WORLD));
            break;
        case 1:
            OK(MPI_Ssend(&x, 1, MPI_INT, right, 12, MPI_COMM_WORLD));
            break;
        default:
            OK(MPI_Isend(&x, 1, MPI_INT, right, 12, MPI_COMM_WORLD, &s));
            OK(MPI_Wait(&s, &status));
        }
        OK(MPI_Wait(&r, &status));
        CHECK(y == n && status.MPI_SOURCE == left);
        OK(MPI_Sendrecv(&x, 1, MPI_INT, right, 13, &y, 1, MPI_INT, left, 13, MPI_COMM_WORLD, &status));
        if (n & 1) {
            OK(MPI_Isend(&x, 1, MPI_INT, left, 14, MPI_COMM_WORLD, &r));
            OK(MPI_Recv(&y, 1, MPI_INT, right, 14, MPI_COMM_WORLD, &status));
            OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
            CHECK(y == n);
        }
        OK(MPI_Waitall(3, q, MPI_STATUSES_IGNORE));
        for (i = 0; i < 3; i++)
            CHECK(taken[i] == check_size * (check_size - 1) / 2 + i * check_size);
    }
    OK(MPI_Op_free(&op));
}

/* A put is carried out while its target waits in a short receive. */
static void windows(void)
{
    MPI_Win win;
    MPI_Request q;
    static int mem[64];
    int i, v = 7, token = 1, received, to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;

    OK(MPI_Win_create(mem, sizeof mem, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    for (i = 0; i < 20; i++) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win));
        OK(MPI_Accumulate(&v, 1, MPI_INT, to, i, 1, MPI_INT, MPI_SUM, win));
        OK(MPI_Win_unlock(to, win));
        OK(MPI_Isend(&token, 1, MPI_INT, to, 15, MPI_COMM_WORLD, &q));
        OK(MPI_Recv(&received, 1, MPI_INT, from, 15, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Wait(&q, MPI_STATUS_IGNORE));
        OK(MPI_Win_lock(MPI_LOCK_SHARED, check_rank, 0, win));
        CHECK(mem[i] == 7);
        OK(MPI_Win_unlock(check_rank, win));
    }
    OK(MPI_Win_free(&win));
}

/* Sends of every kind to one peer that waits: their order is kept. */
static void orders(void)
{
    enum { N = 240 };
    static int buf[N][3000], got[3000];
    static MPI_Request q[N];
    static char attached[1 << 20];
    void *p;
    int s, i, to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size, big;
    MPI_Status status;

    OK(MPI_Buffer_attach(attached, sizeof attached));
    for (big = 0; big < 2; big++) {
        for (i = 0; i < N; i++) {
            int n = big && i % 7 == 3 ? 3000 : i % 5 == 1 ? 60 : 1;

            buf[i][0] = i;
            buf[i][n - 1] = i;
            q[i] = MPI_REQUEST_NULL;
            switch (i % 9) {
            case 0:
            case 1:
            case 2:
            case 3:
                OK(MPI_Isend(buf[i], n, MPI_INT, to, 2, MPI_COMM_WORLD, &q[i]));
                break;
            case 4:
                OK(MPI_Bsend(buf[i], 1, MPI_INT, to, 2, MPI_COMM_WORLD));
                break;
            case 5:
                OK(MPI_Issend(buf[i], n, MPI_INT, to, 2, MPI_COMM_WORLD, &q[i]));
                break;
            case 6:
                OK(MPI_Send_init(buf[i], n, MPI_INT, to, 2, MPI_COMM_WORLD, &q[i]));
                OK(MPI_Start(&q[i]));
                break;
            case 7:
                OK(MPI_Ibsend(buf[i], 1, MPI_INT, to, 2, MPI_COMM_WORLD, &q[i]));
                break;
            default:
                OK(MPI_Isend(buf[i], n, MPI_INT, to, 2, MPI_COMM_WORLD, &q[i]));
                OK(MPI_Request_free(&q[i]));
            }
        }
        for (i = 0; i < N; i++) {
            int n;

            got[0] = -1;
            OK(MPI_Recv(got, 3000, MPI_INT, i & 1 ? from : MPI_ANY_SOURCE, i & 2 ? 2 : MPI_ANY_TAG, MPI_COMM_WORLD,
                        &status));
            OK(MPI_Get_count(&status, MPI_INT, &n));
            CHECK(got[0] == i && n > 0 && got[n - 1] == i);
        }
        for (i = 0; i < N; i++) {
            OK(MPI_Wait(&q[i], MPI_STATUS_IGNORE));
            if (q[i] != MPI_REQUEST_NULL)
                OK(MPI_Request_free(&q[i]));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    OK(MPI_Buffer_detach(&p, &s));
}

/* What cannot be written is sent. */
static void constants(void)
{
    static const char text[] = "the text is a constant";
    char got[40] = "";
    int n;
    MPI_Status status;
    MPI_Request q;

    OK(MPI_Irecv(got, 40, MPI_CHAR, check_rank, 2, MPI_COMM_WORLD, &q));
    OK(MPI_Send(text, sizeof text, MPI_CHAR, check_rank, 2, MPI_COMM_WORLD));
    OK(MPI_Wait(&q, &status));
    OK(MPI_Get_count(&status, MPI_CHAR, &n));
    CHECK(n == sizeof text && strcmp(got, text) == 0);
    OK(MPI_Get_elements(&status, MPI_CHAR, &n));
    CHECK(n == sizeof text);
    if (check_size > 1) {
        int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;

        memset(got, 0, sizeof got);
        OK(MPI_Irecv(got, 40, MPI_CHAR, from, 2, MPI_COMM_WORLD, &q));
        OK(MPI_Send(text, sizeof text, MPI_CHAR, to, 2, MPI_COMM_WORLD));
        OK(MPI_Wait(&q, &status));
        CHECK(strcmp(got, text) == 0);
    }
}

/* Messages without a byte, and receives without room. */
static void nothing(void)
{
    MPI_Request q;
    MPI_Status status;
    int n, flag;

    OK(MPI_Irecv(NULL, 0, MPI_INT, check_rank, 2, MPI_COMM_WORLD, &q));
    OK(MPI_Send(NULL, 0, MPI_DOUBLE, check_rank, 2, MPI_COMM_WORLD));
    OK(MPI_Wait(&q, &status));
    OK(MPI_Get_count(&status, MPI_INT, &n));
    CHECK(n == 0);
    OK(MPI_Isend(NULL, 0, MPI_INT, check_rank, 2, MPI_COMM_WORLD, &q));
    OK(MPI_Recv(NULL, 0, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == check_rank && status.MPI_TAG == 2);
    OK(MPI_Test(&q, &flag, &status));
    if (!flag)
        OK(MPI_Wait(&q, &status));
    /* One that has room for nothing. */
    n = 4;
    OK(MPI_Isend(&n, 1, MPI_INT, check_rank, 2, MPI_COMM_WORLD, &q));
    FAILS(MPI_ERR_TRUNCATE, MPI_Recv(NULL, 0, MPI_INT, check_rank, 2, MPI_COMM_WORLD, &status));
    OK(MPI_Wait(&q, &status));
    OK(MPI_Irecv(&flag, 0, MPI_INT, check_rank, 2, MPI_COMM_WORLD, &q));
    OK(MPI_Send(&n, 1, MPI_INT, check_rank, 2, MPI_COMM_WORLD));
    FAILS(MPI_ERR_TRUNCATE, MPI_Wait(&q, &status));
}

int main(int argc, char **argv)
{
    static void (*const all[])(void) = {
        arguments, garbage, handlers, cancels, freed, mixed_matching, nothing, pile, constants, beside, windows, orders,
    };
    int keyval, i, status;

    check_start(&argc, &argv);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &keyval, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL));
    for (i = 0; i < (int)(sizeof all / sizeof all[0]); i++) {
        all[i]();
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    status = check_end("conf_edges");
    if (!right_at_end) {
        printf("rank %d: no messages within MPI_Finalize\n", check_rank);
        return 3;
    }
    return status;
}
