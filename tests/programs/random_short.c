/* Messages at random, most of them short, by calls of all kinds: a program that differs with each seed.
 *
 *     random_short [ROUNDS [SEED]]     (default: 40 rounds of seed 1)
 *
 * A short message has ways of its own: to oneself, into a receive that waits or a call that does, out of the packet
 * that it came in. All ranks draw the same plan: who sends what to whom. Each rank draws for itself what the standard
 * leaves to it: how it lays the elements out, the mode of a send, how it receives and waits, and how much room there
 * is. In between it makes mistakes, which must change nothing. Every byte that comes is checked, and those beside it.
 *
 * At most 64 processes. Two runs with the same arguments do the same, but for timing.
 */
#include "check.h"
#include "draw.h"

#include <stddef.h>

enum { MOST = 40, TAGS = 3, COMMS = 3, MOST_RANKS = 64, MAGIC = 0x5a5a5a, FILLED = 0xee };

/* Elements, and where their bytes are: of a long double the ten that every one has. */

typedef struct {
    double d;
    int i;
} double_int;
typedef struct {
    short s;
    int i;
} short_int;
typedef struct {
    long double d;
    int i;
} long_double_int;
typedef struct {
    float f;
    int i;
} float_int;
typedef struct {
    long l;
    int i;
} long_int;
typedef struct {
    MPI_Datatype type;
    size_t extent;
    int count;

    struct {
        size_t at, bytes;
    } fields[2];
} Unit;

static Unit units[] = {
    {MPI_INT, 4, 1, {{0, 4}}},
    {MPI_CHAR, 1, 1, {{0, 1}}},
    {MPI_BYTE, 1, 1, {{0, 1}}},
    {MPI_DOUBLE, 8, 1, {{0, 8}}},
    {MPI_SHORT, 2, 1, {{0, 2}}},
    {MPI_LONG_DOUBLE, sizeof(long double), 1, {{0, 10}}},
    {MPI_2INT, 8, 1, {{0, 8}}},
    {MPI_DOUBLE_INT, sizeof(double_int), 2, {{0, 8}, {offsetof(double_int, i), 4}}},
    {MPI_SHORT_INT, sizeof(short_int), 2, {{0, 2}, {offsetof(short_int, i), 4}}},
    {MPI_LONG_DOUBLE_INT, sizeof(long_double_int), 2, {{0, 10}, {offsetof(long_double_int, i), 4}}},
    {MPI_FLOAT_INT, sizeof(float_int), 2, {{0, 4}, {offsetof(float_int, i), 4}}},
    {MPI_LONG_INT, sizeof(long_int), 2, {{0, 8}, {offsetof(long_int, i), 4}}},
    {MPI_C_DOUBLE_COMPLEX, 16, 1, {{0, 16}}},
    {MPI_UINT64_T, 8, 1, {{0, 8}}},
    {MPI_C_BOOL, 1, 1, {{0, 1}}},
    {MPI_AINT, 8, 1, {{0, 8}}},
    {MPI_WCHAR, 4, 1, {{0, 4}}},
    {MPI_PACKED, 1, 1, {{0, 1}}},
};

enum { UNITS = sizeof units / sizeof units[0] };
static MPI_Datatype dups[UNITS];

static MPI_Comm comms[COMMS];

typedef struct {
    int src, dst, comm, tag, count, matched, serial;
} Message;

static Message messages[MOST];
static int message_count, round_number, mode, serials;
/* Of each receiver and communicator. */
static int wild_source[MOST_RANKS][COMMS], wild_tag[MOST_RANKS][COMMS], unit_of[MOST_RANKS][COMMS];

static unsigned char pattern(int serial, int k, int b)
{
    return (unsigned char)((unsigned)serial * 131u + (unsigned)k * 31u + (unsigned)b * 7u + ((unsigned)serial >> 8) +
                           1);
}

/* How elements are laid out. */
enum { PLAIN, DUP, CONTIG, VECTOR };

typedef struct {
    unsigned char *base;
    int cap, shape, given;
    const Unit *unit;
    MPI_Datatype type;
    size_t bytes;
} Buffer;

static unsigned char no_bytes[1];

static Buffer buffer_of(const Unit *u, int n, int shape)
{
    Buffer b = {.unit = u, .cap = n, .shape = shape, .given = n};

    b.bytes = (size_t)n * u->extent * (shape == VECTOR ? 2 : 1) + 16;
    b.base = check_room(b.bytes);
    memset(b.base, FILLED, b.bytes);
    b.type = u->type;
    if (shape == DUP)
        b.type = dups[u - units];
    if (shape == CONTIG) {
        OK(MPI_Type_contiguous(n, u->type, &b.type));
        OK(MPI_Type_commit(&b.type));
        b.given = 1;
    }
    if (shape == VECTOR) {
        OK(MPI_Type_create_hvector(n, 1, (MPI_Aint)(2 * u->extent), u->type, &b.type));
        OK(MPI_Type_commit(&b.type));
        b.given = 1;
    }
    return b;
}

static void *address(Buffer *b)
{
    if (b->shape == PLAIN && b->cap == 0 && own(2))
        return own(2) ? NULL : no_bytes;
    return b->base;
}

static void fill(Buffer *b, int serial)
{
    size_t i, step = b->unit->extent * (b->shape == VECTOR ? 2 : 1);
    int k, f;

    for (k = 0; k < b->cap; k++)
        for (f = 0; f < b->unit->count; f++)
            for (i = 0; i < b->unit->fields[f].bytes; i++)
                b->base[k * step + b->unit->fields[f].at + i] = pattern(serial, k, (int)(b->unit->fields[f].at + i));
}

/* So many elements are of this message, and nothing else has changed; of an element's own padding nothing is known. If
 * not exact, nothing is known of the elements behind them either. */
static int holds(Buffer *b, int serial, int n, int exact)
{
    size_t i, step = b->unit->extent * (b->shape == VECTOR ? 2 : 1);
    int k, f;

    for (k = 0; k < n; k++)
        for (f = 0; f < b->unit->count; f++)
            for (i = 0; i < b->unit->fields[f].bytes; i++)
                if (b->base[k * step + b->unit->fields[f].at + i] !=
                    pattern(serial, k, (int)(b->unit->fields[f].at + i)))
                    return 0;
    for (k = 0; k < b->cap; k++)
        for (i = k < n || !exact ? b->unit->extent : 0; i < step; i++)
            if (b->base[k * step + i] != FILLED)
                return 0;
    for (i = (size_t)b->cap * step; i < b->bytes; i++)
        if (b->base[i] != FILLED)
            return 0;
    return 1;
}

static void done(Buffer *b)
{
    if (b->shape == CONTIG || b->shape == VECTOR)
        OK(MPI_Type_free(&b->type));
    free(b->base);
}

typedef struct {
    Buffer buffer;
    int source, tag, comm, has_status, persistent, is_over, error;
    MPI_Status status;
    MPI_Request request;
} Receive;

typedef struct {
    Buffer buffer;
    int serial;
    MPI_Request request;
    int persistent;
} Sending;

/* Calls that receive. */
enum { BLOCKING, PROBE, IPROBE, MPROBE, IMPROBE, STARTED, PERSISTENT, KINDS };

static Receive receives[MOST];
static int receive_count;
static Sending sendings[MOST];
static int sending_count;

static int class_of(int code)
{
    int c = MPI_SUCCESS;

    MPI_Error_class(code, &c);
    return c;
}

static void ended(Receive *r, int code, const MPI_Status *status)
{
    r->error = class_of(code);
    r->is_over = 1;
    if (status) {
        r->status = *status;
        r->has_status = 1;
    }
    CHECK(r->error == MPI_SUCCESS || r->error == MPI_ERR_TRUNCATE);
}

static MPI_Status fresh(void)
{
    MPI_Status status;

    memset(&status, 0x77, sizeof status);
    status.MPI_ERROR = MAGIC;
    return status;
}

static int may_ignore(const Receive *r)
{
    return r->source >= 0 && r->tag >= 0;
}

/* Something that has no effect on any message: most often a mistake. */
static void mistake(void)
{
    int x[4] = {0}, count, flag;
    MPI_Request q = MPI_REQUEST_NULL;
    MPI_Status status = fresh();

    switch (own(14)) {
    case 0:
        FAILS(MPI_ERR_TAG, MPI_Send(x, 1, MPI_INT, check_rank, -1, MPI_COMM_WORLD));
        break;
    case 1:
        FAILS(MPI_ERR_TAG, MPI_Isend(x, 1, MPI_INT, check_rank, MPI_ANY_TAG, MPI_COMM_WORLD, &q));
        break;
    case 2:
        FAILS(MPI_ERR_RANK, MPI_Send(x, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD));
        break;
    case 3:
        FAILS(MPI_ERR_RANK, MPI_Recv(x, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD, &status));
        break;
    case 4:
        FAILS(MPI_ERR_COUNT, MPI_Recv(x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        break;
    case 5:
        FAILS(MPI_ERR_COUNT, MPI_Isend(x, -2, MPI_INT, 0, 0, MPI_COMM_WORLD, &q));
        break;
    case 6:
        FAILS(MPI_ERR_TYPE, MPI_Send(x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD));
        break;
    case 7:
        FAILS(MPI_ERR_TAG, MPI_Recv(x, 1, MPI_INT, 0, -5, MPI_COMM_WORLD, &status));
        break;
    case 8:
        FAILS(MPI_ERR_RANK, MPI_Irecv(x, 1, MPI_INT, -7, 0, MPI_COMM_WORLD, &q));
        break;
    case 9:
        OK(MPI_Wait(&q, &status));
        CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == 0);
        break;
    case 10:
        OK(MPI_Recv(x, 4, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG &&
              (status.MPI_ERROR == MAGIC || IS_MPICH));
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == 0);
        break;
    case 11:
        OK(MPI_Isend(x, 4, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &q));
        OK(MPI_Wait(&q, &status));
        CHECK(q == MPI_REQUEST_NULL);
        break;
    case 12:
        FAILS(MPI_ERR_COMM, MPI_Send(x, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
        break;
    default:
        OK(MPI_Irecv(x, 1, MPI_INT, own(2) ? MPI_ANY_SOURCE : (int)own((unsigned)check_size), 99, comms[own(COMMS)],
                     &q));
        OK(MPI_Cancel(&q));
        OK(MPI_Wait(&q, &status));
        OK(MPI_Test_cancelled(&status, &flag));
        CHECK(flag);
        CHECK(q == MPI_REQUEST_NULL);
    }
    CHECK(q == MPI_REQUEST_NULL);
}

/* Sends message `m`; `may_block`: its receiver does not wait for something else. `is_posted`: its receive waits. */
static void send_one(int m, int may_block, int is_posted)
{
    Message *msg = &messages[m];
    Sending *s = &sendings[sending_count++];
    const Unit *u = &units[unit_of[msg->dst][msg->comm]];
    MPI_Comm c = comms[msg->comm];
    int shape = own(3) ? PLAIN : (int)own(4), kind, to = msg->dst;
    void *at;

    s->buffer = buffer_of(u, msg->count, shape);
    s->serial = msg->serial;
    s->request = MPI_REQUEST_NULL;
    s->persistent = 0;
    fill(&s->buffer, msg->serial);
    at = address(&s->buffer);
#define A at, s->buffer.given, s->buffer.type, to, msg->tag, c
    kind = may_block && own(3) ? (own(3) ? 0 : (int)own(4)) : own(2) ? 4 : 4 + (int)own(5);
    if (kind == 3 && !is_posted)
        kind = 0;
    switch (kind) {
    case 0:
        OK(MPI_Send(A));
        break;
    case 1:
        if (IS_MPICH)
            OK(MPI_Send(A));
        else
            OK(MPI_Ssend(A));
        break;
    case 2:
        OK(MPI_Bsend(A));
        break;
    case 3:
        OK(MPI_Rsend(A));
        break;
    case 4:
        OK(MPI_Isend(A, &s->request));
        break;
    case 5:
        if (IS_MPICH)
            OK(MPI_Isend(A, &s->request));
        else
            OK(MPI_Issend(A, &s->request));
        break;
    case 6:
        OK(MPI_Ibsend(A, &s->request));
        break;
    case 7:
        if (own(2) || IS_MPICH)
            OK(MPI_Send_init(A, &s->request));
        else
            OK(MPI_Ssend_init(A, &s->request));
        s->persistent = 1;
        OK(MPI_Start(&s->request));
        break;
    default:
        OK(MPI_Isend(A, &s->request));
        if (own(4) == 0) {
            OK(MPI_Request_free(&s->request));
            CHECK(s->request == MPI_REQUEST_NULL);
        }
    }
#undef A
    if (kind <= 3)
        CHECK(holds(&s->buffer, s->serial, s->buffer.cap, 1));
}

/* As many elements as a receive has room for: most often enough for what comes. */
static int room_for(const Message *msg, int is_wild)
{
    int n = msg->count;

    if (is_wild)
        n = own(4) && msg->count <= 100 ? 600 : 6000;
    switch (own(12)) {
    case 0:
        n = n / 2;
        break;
    case 1:
        n += 1 + (int)own(9);
        break;
    case 2:
        n -= n > 0;
        break;
    }
    return is_wild && n < 600 ? 600 : n;
}

/* Probes for what a receive wants, by a call of this kind; one that matches gives the message. */
static MPI_Status probed(const Receive *r, int kind, MPI_Message *message)
{
    MPI_Comm c = comms[r->comm];
    MPI_Status status = fresh();
    int flag = 0;

    switch (kind) {
    case PROBE:
        OK(MPI_Probe(r->source, r->tag, c, &status));
        break;
    case IPROBE:
        while (!flag)
            POLL(MPI_Iprobe(r->source, r->tag, c, &flag, &status));
        break;
    case MPROBE:
        OK(MPI_Mprobe(r->source, r->tag, c, message, &status));
        break;
    default:
        while (!flag)
            POLL(MPI_Improbe(r->source, r->tag, c, &flag, message, &status));
    }
    CHECK(status.MPI_ERROR == MAGIC || IS_MPICH);
    return status;
}

/* The same sender and tag; the error field is not touched by calls that give one status (section 3.2.5). */
static void agree(const MPI_Status *got, const MPI_Status *probe)
{
    CHECK(got->MPI_ERROR == MAGIC || IS_MPICH);
    if (probe != NULL)
        CHECK(got->MPI_SOURCE == probe->MPI_SOURCE && got->MPI_TAG == probe->MPI_TAG);
}

static void receive_matched(Receive *r, void *at, MPI_Message message, const MPI_Status *probe)
{
    MPI_Status got = fresh();
    MPI_Request q;

    if (own(2)) {
        OK(MPI_Mrecv(at, r->buffer.given, r->buffer.type, &message, &got));
    } else {
        OK(MPI_Imrecv(at, r->buffer.given, r->buffer.type, &message, &q));
        OK(MPI_Wait(&q, &got));
        CHECK(q == MPI_REQUEST_NULL);
    }
    CHECK(message == MPI_MESSAGE_NULL);
    agree(&got, probe);
    ended(r, MPI_SUCCESS, &got);
}

static void receive_blocking(Receive *r, void *at, const MPI_Status *probe)
{
    MPI_Comm c = comms[r->comm];
    MPI_Status got = fresh(), *told = &got;
    MPI_Request q;
    int source = probe != NULL ? probe->MPI_SOURCE : r->source, tag = probe != NULL ? probe->MPI_TAG : r->tag, code;
    int count = r->buffer.given;

    if (may_ignore(r) && own(3) == 0)
        told = MPI_STATUS_IGNORE;
    switch (own(6)) {
    case 0:
        OK(MPI_Irecv(at, count, r->buffer.type, source, tag, c, &q));
        code = MPI_Wait(&q, told);
        CHECK(q == MPI_REQUEST_NULL);
        break;
    case 1:
        code = MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, at, count, r->buffer.type, source, tag, c, told);
        break;
    default:
        code = MPI_Recv(at, count, r->buffer.type, source, tag, c, told);
    }
    if (told == &got)
        agree(&got, probe);
    ended(r, code, told == &got ? told : NULL);
}

/* Receives message `m`, or another one that comes for the same receive. */
static void recv_one(int m, int may_block)
{
    Message *msg = &messages[m];
    Receive *r = &receives[receive_count++];
    const Unit *u = &units[unit_of[check_rank][msg->comm]];
    int shape = own(3) ? PLAIN : (int)own(4), kind, n;
    MPI_Status probe;
    MPI_Message message = MPI_MESSAGE_NULL;
    void *at;

    r->comm = msg->comm;
    r->source = wild_source[check_rank][r->comm] ? MPI_ANY_SOURCE : msg->src;
    r->tag = wild_tag[check_rank][r->comm] ? MPI_ANY_TAG : msg->tag;
    r->persistent = r->is_over = r->has_status = 0;
    r->request = MPI_REQUEST_NULL;
    n = room_for(msg, r->source < 0);
    kind = may_block ? (own(2) ? BLOCKING : (int)own(KINDS)) : own(4) ? STARTED : PERSISTENT;
    if (kind >= PROBE && kind <= IMPROBE) {
        probe = probed(r, kind, &message);
        OK(MPI_Get_count(&probe, u->type, &n));
        CHECK(n >= 0);
    }
    r->buffer = buffer_of(u, n, shape);
    at = address(&r->buffer);
    switch (kind) {
    case BLOCKING:
        receive_blocking(r, at, NULL);
        break;
    case PROBE:
    case IPROBE:
        receive_blocking(r, at, &probe);
        break;
    case MPROBE:
    case IMPROBE:
        receive_matched(r, at, message, &probe);
        break;
    case PERSISTENT:
        OK(MPI_Recv_init(at, r->buffer.given, r->buffer.type, r->source, r->tag, comms[r->comm], &r->request));
        r->persistent = 1;
        OK(MPI_Start(&r->request));
        break;
    default:
        OK(MPI_Irecv(at, r->buffer.given, r->buffer.type, r->source, r->tag, comms[r->comm], &r->request));
    }
}

/* The requests under way, of all kinds, in any order. */
static MPI_Request requests[2 * MOST];
static MPI_Request *home[2 * MOST];
static Receive *of[2 * MOST];
static MPI_Status statuses[2 * MOST];
static int indices[2 * MOST];

static int gather(int all)
{
    int n = 0, i;

    for (i = 0; i < receive_count; i++)
        if (!receives[i].is_over && (all || own(2))) {
            requests[n] = receives[i].request;
            home[n] = &receives[i].request;
            of[n++] = &receives[i];
        }
    for (i = 0; i < sending_count; i++)
        if (sendings[i].request != MPI_REQUEST_NULL && (all || own(2))) {
            requests[n] = sendings[i].request;
            home[n] = &sendings[i].request;
            of[n++] = NULL;
        }
    for (i = n - 1; i > 0; i--) {
        int j = (int)own((unsigned)i + 1);
        MPI_Request a = requests[i], *h = home[i];
        Receive *r = of[i];

        requests[i] = requests[j];
        home[i] = home[j];
        of[i] = of[j];
        requests[j] = a;
        home[j] = h;
        of[j] = r;
    }
    for (i = 0; i < n; i++)
        statuses[i] = fresh();
    return n;
}

static void put(int n)
{
    int i;

    for (i = 0; i < n; i++)
        *home[i] = requests[i];
}

static int persistent_of(int i)
{
    int k;

    if (of[i])
        return of[i]->persistent;
    for (k = 0; k < sending_count; k++)
        if (home[i] == &sendings[k].request)
            return sendings[k].persistent;
    return 0;
}

static void one_over(int i, int code, MPI_Status *status)
{
    int flag;

    if (of[i]) {
        if (!of[i]->is_over)
            ended(of[i], code, status);
    } else {
        CHECK(code == MPI_SUCCESS);
        OK(MPI_Test_cancelled(status, &flag));
        CHECK(!flag);
    }
    if (!persistent_of(i))
        CHECK(requests[i] == MPI_REQUEST_NULL);
    else if (!of[i]) {
        OK(MPI_Request_free(&requests[i]));
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

/* The error of a call for many, of number `i` of them. */
static int error_of(int code, int i)
{
    CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_IN_STATUS);
    return code == MPI_SUCCESS ? MPI_SUCCESS : statuses[i].MPI_ERROR;
}

/* All have ended but those that an error of another one has left pending. */
static void all_over(int n, int code)
{
    int i;

    for (i = 0; i < n; i++)
        if (class_of(error_of(code, i)) != MPI_ERR_PENDING)
            one_over(i, error_of(code, i), &statuses[i]);
}

/* Completes some of the requests, or all of them; 0: there were none. */
static int wait_some(int all, int may_block)
{
    int n = gather(all), code, flag, i, k;

    if (n == 0)
        return 0;
    switch (may_block ? own(9) : own(4)) {
    case 0:
        code = MPI_Test(&requests[0], &flag, &statuses[0]);
        if (flag) {
            one_over(0, code, &statuses[0]);
            CHECK(!of[0] || statuses[0].MPI_ERROR == MAGIC || IS_MPICH);
        } else
            CHECK(code == MPI_SUCCESS);
        break;
    case 1:
        code = MPI_Testany(n, requests, &i, &flag, &statuses[0]);
        if (flag && i != MPI_UNDEFINED)
            one_over(i, code, &statuses[0]);
        else
            CHECK(code == MPI_SUCCESS);
        break;
    case 2:
    case 5:
        if (may_block && own(2))
            code = MPI_Waitsome(n, requests, &k, indices, statuses);
        else
            code = MPI_Testsome(n, requests, &k, indices, statuses);
        if (k != MPI_UNDEFINED)
            for (i = 0; i < k; i++)
                one_over(indices[i], error_of(code, i), &statuses[i]);
        break;
    case 3:
        code = MPI_Testall(n, requests, &flag, statuses);
        if (flag || code != MPI_SUCCESS)
            all_over(n, code);
        break;
    case 4:
        code = MPI_Wait(&requests[0], &statuses[0]);
        one_over(0, code, &statuses[0]);
        CHECK(!of[0] || statuses[0].MPI_ERROR == MAGIC || IS_MPICH);
        break;
    case 6:
        code = MPI_Waitany(n, requests, &i, &statuses[0]);
        CHECK(i != MPI_UNDEFINED);
        one_over(i, code, &statuses[0]);
        break;
    case 7:
        code = MPI_Request_get_status(requests[0], &flag, &statuses[0]);
        CHECK(code == MPI_SUCCESS || IS_MPICH);
        /* fallthrough */
    default:
        code = MPI_Waitall(n, requests, statuses);
        all_over(n, code);
    }
    put(n);
    return 1;
}

/* What has come for a receive: the first message, in the order of the plan, that it can have been. */
static Message *matched_by(const Receive *r, int source)
{
    int m;

    for (m = 0; m < message_count; m++) {
        Message *msg = &messages[m];

        if (!msg->matched && msg->dst == check_rank && msg->comm == r->comm && msg->src == source &&
            (r->tag < 0 || msg->tag == r->tag))
            return msg;
    }
    return NULL;
}

static void verify_receive(Receive *r)
{
    const Unit *u = r->buffer.unit;
    Message *msg = matched_by(r, r->has_status ? r->status.MPI_SOURCE : r->source);
    long before = check_failed;
    int n, flag, is_cut;

    CHECK(r->is_over);
    CHECK(msg != NULL);
    if (msg == NULL)
        return;
    msg->matched = 1;
    CHECK(!r->has_status || r->status.MPI_TAG == msg->tag);
    is_cut = r->buffer.cap < msg->count;
    CHECK(r->error == (is_cut ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    if (r->has_status && !is_cut) {
        OK(MPI_Get_count(&r->status, u->type, &n));
        CHECK(n == msg->count);
        /* MPICH counts a pair as one. */
        if (!IS_MPICH) {
            OK(MPI_Get_elements(&r->status, u->type, &n));
            CHECK(n == msg->count * u->count || u->type == MPI_2INT);
        }
        OK(MPI_Test_cancelled(&r->status, &flag));
        CHECK(!flag);
    }
    CHECK(holds(&r->buffer, msg->serial, is_cut ? 0 : msg->count, !is_cut));
    if (check_failed > before)
        printf("rank %d round %d mode %d: serial %d from %d, tag %d, comm %d, %d elements, room for %d, shape %d\n",
               check_rank, round_number, mode, msg->serial, msg->src, msg->tag, r->comm, msg->count, r->buffer.cap,
               r->buffer.shape);
    if (r->persistent)
        OK(MPI_Request_free(&r->request));
    CHECK(r->request == MPI_REQUEST_NULL);
}

static void verify(void)
{
    int i;

    for (i = 0; i < receive_count; i++) {
        verify_receive(&receives[i]);
        done(&receives[i].buffer);
    }
    for (i = 0; i < message_count; i++)
        CHECK(messages[i].dst != check_rank || messages[i].matched);
    for (i = 0; i < sending_count; i++) {
        CHECK(holds(&sendings[i].buffer, sendings[i].serial, sendings[i].buffer.cap, 1));
        CHECK(sendings[i].request == MPI_REQUEST_NULL);
        done(&sendings[i].buffer);
    }
}

static int rank_of_plan(void)
{
    return (int)plan((unsigned)check_size);
}

static int count_of_plan(void)
{
    switch (plan(12)) {
    case 0:
        return 0;
    case 1:
        return (int)plan(400);
    case 2:
        return plan(3) ? (int)plan(100) : (int)plan(5000);
    default:
        return 1 + (int)plan(20);
    }
}

/* The rest of the modes are in order, too. */
enum { RECEIVES_FIRST, SENDS_FIRST, IN_ORDER, MODES = 4 };

static void plan_round(void)
{
    int i, j, two = (int)plan(2), a = rank_of_plan(), b = rank_of_plan();

    message_count = 1 + (int)plan(MOST - 1);
    mode = (int)plan(MODES);
    receive_count = sending_count = 0;
    for (i = 0; i < check_size; i++)
        for (j = 0; j < COMMS; j++) {
            wild_source[i][j] = mode < IN_ORDER && plan(3) == 0;
            wild_tag[i][j] = plan(3) == 0;
            unit_of[i][j] = plan(3) ? (int)plan(3) : (int)plan(UNITS);
        }
    for (i = 0; i < message_count; i++) {
        Message *msg = &messages[i];

        msg->src = two ? (plan(2) ? a : b) : rank_of_plan();
        msg->dst = two ? (plan(2) ? a : b) : plan(3) ? rank_of_plan() : msg->src;
        msg->comm = plan(3) ? 0 : (int)plan(COMMS);
        msg->tag = plan(50) ? (int)plan(TAGS) : 0x7fff;
        msg->matched = 0;
        msg->serial = ++serials;
        msg->count = count_of_plan();
    }
}

/* Between two messages, none of which waits for this. */
static void between(void)
{
    if (own(3) == 0)
        wait_some(0, 0);
    if (own(9) == 0)
        mistake();
}

static void receives_first(void)
{
    int i, is_posted;

    for (i = 0; i < message_count; i++)
        if (messages[i].dst == check_rank)
            recv_one(i, 0);
    is_posted = (int)plan(2);
    if (is_posted)
        OK(MPI_Barrier(MPI_COMM_WORLD));
    for (i = 0; i < message_count; i++)
        if (messages[i].src == check_rank) {
            send_one(i, 1, is_posted);
            between();
        }
}

static void sends_first(void)
{
    int i;

    for (i = 0; i < message_count; i++)
        if (messages[i].src == check_rank)
            send_one(i, 0, 0);
    if (plan(2))
        OK(MPI_Barrier(MPI_COMM_WORLD));
    for (i = 0; i < message_count; i++)
        if (messages[i].dst == check_rank) {
            recv_one(i, 1);
            between();
        }
}

static void to_oneself(int i)
{
    if (own(2)) {
        recv_one(i, 0);
        if (own(2))
            mistake();
        send_one(i, 1, 0);
    } else {
        send_one(i, 0, 0);
        recv_one(i, 1);
    }
}

static void in_order(void)
{
    int i, x, sum;

    for (i = 0; i < message_count; i++) {
        if (messages[i].src == check_rank && messages[i].dst == check_rank)
            to_oneself(i);
        else if (messages[i].src == check_rank)
            send_one(i, 1, 0);
        else if (messages[i].dst == check_rank)
            recv_one(i, 1);
        if (own(4) == 0)
            wait_some(0, own(2) != 0);
        if (own(12) == 0)
            mistake();
        if (plan(12) == 0) {
            x = check_rank;
            OK(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
            CHECK(sum == check_size * (check_size - 1) / 2);
        }
    }
}

static void one_round(void)
{
    plan_round();
    switch (mode) {
    case RECEIVES_FIRST:
        receives_first();
        break;
    case SENDS_FIRST:
        sends_first();
        break;
    default:
        in_order();
    }
    while (wait_some(own(2) != 0, 1) || wait_some(1, 1))
        ;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    verify();
}

static char attached[1 << 22];

int main(int argc, char **argv)
{
    int rounds, seed, i, size;
    void *at;

    check_start(&argc, &argv);
    rounds = argc > 1 ? atoi(argv[1]) : 40;
    seed = argc > 2 ? atoi(argv[2]) : 1;
    if (check_size > MOST_RANKS) {
        fprintf(stderr, "random_short: at most %d processes\n", MOST_RANKS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    plan_state = (unsigned long long)seed * 7919 + 3;
    own_state = (unsigned long long)seed * 104729 + (unsigned)check_rank * 31337 + 11;
    for (i = 0; i < 5; i++) {
        plan(9);
        own(9);
    }
    OK(MPI_Buffer_attach(attached, sizeof attached));
    comms[0] = MPI_COMM_WORLD;
    for (i = 0; i < COMMS; i++) {
        if (i > 0)
            OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
        OK(MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN));
    }
    for (i = 0; i < (int)UNITS; i++)
        OK(MPI_Type_dup(units[i].type, &dups[i]));
    for (round_number = 0; round_number < rounds; round_number++) {
        one_round();
        /* Others may wait for what has not come. */
        if (check_failed > 0) {
            fflush(stdout);
            MPI_Abort(MPI_COMM_WORLD, 7);
        }
    }
    OK(MPI_Buffer_detach(&at, &size));
    for (i = 0; i < (int)UNITS; i++)
        OK(MPI_Type_free(&dups[i]));
    for (i = 1; i < COMMS; i++)
        OK(MPI_Comm_free(&comms[i]));
    return check_end("random_short");
}
