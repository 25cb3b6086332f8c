/* Programs that poll: each rank sends messages to each other rank, and gets its own by one of many ways to look for them
 * again and again. All of them end, whatever the MPI memory and the number of processors, and each message comes once, in
 * order.
 *
 *     polls [WAY [MESSAGES [BYTES]]]     (default: all ways in turn, 3 messages to each other rank, 8 bytes each)
 */
#include "check.h"

#define TAGS 2
#define MOST 4096

/* What is polled with: nothing else is received from anywhere. */
static MPI_Comm others[2];
static int messages, bytes;
/* By rank and tag: messages received. */
static int *seen;
static int have;

static char *payload(int source, int tag, int number)
{
    static char text[MOST];
    int i;

    for (i = 0; i < bytes; i++)
        text[i] = (char)(source + 3 * tag + 7 * number + i);
    return text;
}

/* A message has come: it is the next one of its source and tag. */
static void take(const char *in, const MPI_Status *status)
{
    int source = status->MPI_SOURCE, tag = status->MPI_TAG, count = -1;

    CHECK(source >= 0 && source < check_size && tag >= 0 && tag < TAGS);
    POLL(MPI_Get_count(status, MPI_CHAR, &count));
    CHECK(count == bytes && memcmp(in, payload(source, tag, seen[source * TAGS + tag]++), (size_t)bytes) == 0);
    have++;
}

/* A receive that has been started, is tested so often, cancelled, and waited for. */
static void look(MPI_Request *request, const char *in, int tests, int free_too)
{
    MPI_Status status;
    int flag = 0, cancelled = 0;

    while (!flag && tests-- > 0)
        POLL(MPI_Test(request, &flag, &status));
    if (!flag) {
        POLL(MPI_Cancel(request));
        POLL(MPI_Wait(request, &status));
        POLL(MPI_Test_cancelled(&status, &cancelled));
    }
    if (!cancelled)
        take(in, &status);
    if (free_too)
        POLL(MPI_Request_free(request));
}

static void irecv(int source, int tag, MPI_Comm comm, int tests)
{
    static char in[MOST];
    MPI_Request request;

    POLL(MPI_Irecv(in, MOST, MPI_CHAR, source, tag, comm, &request));
    look(&request, in, tests, 0);
}

static void any(long turn)
{
    (void)turn;
    irecv(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, 1);
}

/* Cancelled without a look in between. */
static void blind(long turn)
{
    (void)turn;
    irecv(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, 0);
}

static void by_source(long turn)
{
    irecv((int)(turn % check_size), MPI_ANY_TAG, MPI_COMM_WORLD, 1);
}

static void by_tag(long turn)
{
    irecv(MPI_ANY_SOURCE, (int)(turn / 3 % TAGS), MPI_COMM_WORLD, 1);
}

static void by_both(long turn)
{
    irecv((int)(turn % check_size), (int)(turn / check_size % TAGS), MPI_COMM_WORLD, (int)(turn % 3));
}

/* First all of the last tag. */
static void reversed(long turn)
{
    int tag = TAGS - 1, source;

    (void)turn;
    for (source = 0; source < check_size; source++)
        if (source != check_rank && seen[source * TAGS + tag] < messages / TAGS) {
            irecv(source, tag, MPI_COMM_WORLD, 1);
            return;
        }
    irecv(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, 1);
}

static void iprobe(long turn)
{
    char in[MOST];
    MPI_Status status;
    int flag;

    (void)turn;
    POLL(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    if (flag) {
        POLL(MPI_Recv(in, MOST, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
        take(in, &status);
    }
}

static void iprobe_in_turns(long turn)
{
    char in[MOST];
    MPI_Status status;
    int flag;

    POLL(MPI_Iprobe((int)(turn % check_size), (int)(turn / check_size % TAGS), MPI_COMM_WORLD, &flag, &status));
    if (flag) {
        POLL(MPI_Recv(in, MOST, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status));
        take(in, &status);
    }
}

/* What a probe has found is received by a receive that is cancelled, too. */
static void iprobe_and_cancel(long turn)
{
    MPI_Status status;
    int flag;

    (void)turn;
    POLL(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    if (flag)
        irecv(status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, 0);
}

/* Whatever a probe for another tag finds. */
static void iprobe_aside(long turn)
{
    int flag;

    POLL(MPI_Iprobe(MPI_ANY_SOURCE, (int)(turn % TAGS), MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    irecv(MPI_ANY_SOURCE, (int)((turn + 1) % TAGS), MPI_COMM_WORLD, 1);
}

static void improbe(long turn)
{
    char in[MOST];
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int flag;

    POLL(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status));
    if (!flag)
        return;
    if (turn % 2) {
        POLL(MPI_Mrecv(in, MOST, MPI_CHAR, &message, &status));
        take(in, &status);
    } else {
        /* It has matched: cancelling it changes nothing. */
        POLL(MPI_Imrecv(in, MOST, MPI_CHAR, &message, &request));
        look(&request, in, 1, 0);
    }
}

static void persistent(long turn)
{
    static char in[MOST];
    static MPI_Request request = MPI_REQUEST_NULL;

    (void)turn;
    if (request == MPI_REQUEST_NULL)
        POLL(MPI_Recv_init(in, MOST, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    POLL(MPI_Start(&request));
    look(&request, in, 1, 0);
    if (have == messages * (check_size - 1))
        POLL(MPI_Request_free(&request));
}

static void persistent_once(long turn)
{
    char in[MOST];
    MPI_Request request;

    POLL(MPI_Recv_init(in, MOST, MPI_CHAR, (int)(turn % check_size), MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    POLL(MPI_Start(&request));
    look(&request, in, 0, 1);
}

/* Receives on other communicators between. */
static void communicators(long turn)
{
    static char in[MOST];
    MPI_Comm own;
    MPI_Request request;
    MPI_Status status;
    int cancelled;

    irecv(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, 0);
    POLL(MPI_Comm_dup(MPI_COMM_SELF, &own));
    POLL(MPI_Irecv(in, MOST, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, turn % 2 ? own : others[turn / 2 % 2], &request));
    POLL(MPI_Cancel(&request));
    POLL(MPI_Wait(&request, &status));
    POLL(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled);
    POLL(MPI_Comm_free(&own));
}

#define WINDOW 3

/* Several at once, waited for in the order of their cancels or the other way round. */
static void several(long turn)
{
    static char in[WINDOW][MOST];
    MPI_Request requests[WINDOW];
    MPI_Status first, statuses[WINDOW];
    int i, flag, index, cancelled;

    for (i = 0; i < WINDOW; i++)
        POLL(MPI_Irecv(in[i], MOST, MPI_CHAR, MPI_ANY_SOURCE, i % TAGS, MPI_COMM_WORLD, &requests[i]));
    POLL(MPI_Testany(WINDOW, requests, &index, &flag, &first));
    for (i = 0; i < WINDOW; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            POLL(MPI_Cancel(&requests[i]));
    for (i = 0; i < WINDOW; i++) {
        int at = turn % 2 ? i : WINDOW - 1 - i;

        if (requests[at] == MPI_REQUEST_NULL)
            statuses[at] = first;
        else
            POLL(MPI_Wait(&requests[at], &statuses[at]));
    }
    /* Messages of one tag are in the order of the receives. */
    for (i = 0; i < WINDOW; i++) {
        POLL(MPI_Test_cancelled(&statuses[i], &cancelled));
        if (!cancelled)
            take(in[i], &statuses[i]);
    }
}

/* One is never cancelled, and takes what comes for it. */
static void beside_one(long turn)
{
    static char in[MOST];
    static MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag, cancelled = 0;

    (void)turn;
    if (request == MPI_REQUEST_NULL)
        POLL(MPI_Irecv(in, MOST, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request));
    irecv(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, 0);
    POLL(MPI_Test(&request, &flag, &status));
    if (!flag && have == messages * (check_size - 1)) {
        POLL(MPI_Cancel(&request));
        POLL(MPI_Wait(&request, &status));
        POLL(MPI_Test_cancelled(&status, &cancelled));
        CHECK(cancelled);
        flag = 0;
    }
    if (flag) {
        request = MPI_REQUEST_NULL;
        take(in, &status);
    }
}

/* Waited for by calls that return at once. */
static void tested(long turn)
{
    static char in[MOST];
    MPI_Request request;
    MPI_Status status;
    int flag = 0, cancelled;

    POLL(MPI_Irecv(in, MOST, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    POLL(MPI_Request_get_status(request, &flag, &status));
    POLL(MPI_Cancel(&request));
    while (!flag)
        if (turn % 2)
            POLL(MPI_Request_get_status(request, &flag, &status));
        else
            POLL(MPI_Test(&request, &flag, &status));
    if (request != MPI_REQUEST_NULL)
        POLL(MPI_Wait(&request, &status));
    POLL(MPI_Test_cancelled(&status, &cancelled));
    if (!cancelled)
        take(in, &status);
}

static void mixed(long turn);

static const struct {
    const char *name;
    void (*poll)(long turn);
} ways[] = {
    {"any", any},
    {"blind", blind},
    {"by_source", by_source},
    {"by_tag", by_tag},
    {"by_both", by_both},
    {"reversed", reversed},
    {"iprobe", iprobe},
    {"iprobe_in_turns", iprobe_in_turns},
    {"iprobe_and_cancel", iprobe_and_cancel},
    {"iprobe_aside", iprobe_aside},
    {"improbe", improbe},
    {"persistent_once", persistent_once},
    {"communicators", communicators},
    {"several", several},
    {"tested", tested},
    {"mixed", mixed},
    {"persistent", persistent},
    {"beside_one", beside_one},
};
enum { WAYS = sizeof ways / sizeof *ways, MIXED = 15 };

/* Each turn by another way, those that keep nothing from turn to turn. */
static void mixed(long turn)
{
    ways[(turn * 7 + check_rank) % MIXED].poll(turn / MIXED);
}

static void exchange(int way)
{
    MPI_Request *sends = malloc(sizeof *sends * (size_t)(messages * check_size + 1));
    char *out = malloc((size_t)(messages * bytes) + 1);
    int i, d, count = 0;
    long turn;

    have = 0;
    memset(seen, 0, sizeof *seen * (size_t)(check_size * TAGS));
    for (i = 0; i < messages; i++) {
        memcpy(out + i * bytes, payload(check_rank, i % TAGS, i / TAGS), (size_t)bytes);
        for (d = 1; d < check_size; d++)
            OK(MPI_Isend(out + i * bytes, bytes, MPI_CHAR, (check_rank + d) % check_size, i % TAGS, MPI_COMM_WORLD,
                         &sends[count++]));
    }
    for (turn = 0; have < messages * (check_size - 1); turn++)
        ways[way].poll(turn);
    OK(MPI_Waitall(count, sends, MPI_STATUSES_IGNORE));
    for (i = 0; i < check_size * TAGS; i++)
        CHECK(seen[i] == (i / TAGS == check_rank ? 0 : (messages + 1 - i % TAGS) / TAGS));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    free(out);
    free(sends);
}

int main(int argc, char **argv)
{
    int way = argc > 1 ? atoi(argv[1]) : -1, i;

    messages = argc > 2 ? atoi(argv[2]) : 3;
    bytes = argc > 3 ? atoi(argv[3]) : 8;
    check_start(&argc, &argv);
    if (way >= (int)WAYS || messages < 0 || bytes < 0 || bytes > MOST) {
        fprintf(stderr, "polls: no such way, or not so many messages or bytes\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    seen = malloc(sizeof *seen * (size_t)(check_size * TAGS));
    for (i = 0; i < 2; i++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &others[i]));
    for (i = 0; i < (int)WAYS; i++)
        if (way < 0 || way == i)
            exchange(i);
    for (i = 0; i < 2; i++)
        OK(MPI_Comm_free(&others[i]));
    free(seen);
    return check_end("polls");
}
