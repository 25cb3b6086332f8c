/* Many messages of random lengths, tags and destinations, all checked.
 *
 *     soak [MESSAGES [SEED]]      each rank sends MESSAGES messages (default 200); SEED default 1
 *
 * Every rank sends to others chosen at random, in all modes, with a window of sends under way, and receives
 * with a mixture of exact and wildcard receives. A message says in its first bytes who sent it and as
 * which of its messages; each pair's messages of a tag must come in the order of sending.
 */
#include "check.h"

enum { WINDOW = 8, TAGS = 3, LARGEST = 6000, HEAD = 8, DONE = 7 };

static unsigned long long state;

static unsigned random_below(unsigned bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % bound;
}

static unsigned char window[WINDOW][LARGEST], in[LARGEST];
static MPI_Request requests[WINDOW];
static int *last;
static long received;

/* Receives one message and checks all of it; true if it was a farewell. */
static int take(const MPI_Status *probed)
{
    MPI_Status status;
    int count = -1, source, serial, head[2];
    int exact = random_below(2);

    OK(MPI_Recv(in, LARGEST, MPI_BYTE, exact ? probed->MPI_SOURCE : MPI_ANY_SOURCE,
                exact ? probed->MPI_TAG : MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    if (status.MPI_TAG == DONE)
        return 1;
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    memcpy(head, in, HEAD);
    source = head[0];
    serial = head[1];
    CHECK(source == status.MPI_SOURCE);
    CHECK(serial > last[source * TAGS + status.MPI_TAG]);
    last[source * TAGS + status.MPI_TAG] = serial;
    CHECK(count >= HEAD && check_wrong(in + HEAD, (size_t)(count - HEAD), source, serial) == 0);
    received++;
    return 0;
}

int main(int argc, char **argv)
{
    int messages, seed, i, slot, flag, peer, bytes, farewells = 0, head[2];
    long sent = 0, totals[2], mine[2];
    MPI_Status status;

    check_start(&argc, &argv);
    messages = argc > 1 ? atoi(argv[1]) : 200;
    seed = argc > 2 ? atoi(argv[2]) : 1;
    if (messages < 1) {
        if (check_rank == 0)
            fprintf(stderr, "usage: soak [MESSAGES [SEED]]: at least 1 message\n");
        MPI_Finalize();
        return 2;
    }
    state = 0x9e3779b97f4a7c15ull * (unsigned long long)(seed * 1000 + check_rank + 1) | 1;
    for (i = 0; i < 20; i++)
        random_below(2);
    last = check_room((size_t)check_size * TAGS * sizeof *last);
    for (i = 0; i < check_size * TAGS; i++)
        last[i] = -1;
    for (i = 0; i < WINDOW; i++)
        requests[i] = MPI_REQUEST_NULL;

    while (sent < messages) {
        for (slot = 0; slot < WINDOW && requests[slot] != MPI_REQUEST_NULL; slot++)
            ;
        if (slot < WINDOW) {
            peer = (int)random_below((unsigned)check_size);
            bytes = HEAD + (int)(random_below(4) ? random_below(200) : random_below(LARGEST - HEAD));
            head[0] = check_rank;
            head[1] = (int)sent;
            memcpy(window[slot], head, HEAD);
            check_fill(window[slot] + HEAD, (size_t)(bytes - HEAD), check_rank, (int)sent);
            if (random_below(3))
                OK(MPI_Isend(window[slot], bytes, MPI_BYTE, peer, (int)random_below(TAGS), MPI_COMM_WORLD,
                             &requests[slot]));
            else
                OK(MPI_Issend(window[slot], bytes, MPI_BYTE, peer, (int)random_below(TAGS), MPI_COMM_WORLD,
                              &requests[slot]));
            sent++;
        }
        POLL(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
        if (flag && (slot == WINDOW || random_below(2)))
            farewells += take(&status);
        POLL(MPI_Testany(WINDOW, requests, &slot, &flag, MPI_STATUS_IGNORE));
    }
    /* A farewell to everybody, behind all else that went to them: by order per pair it comes last only
     * among messages that a receive with both wildcards sees, so all are counted as well. */
    {
        MPI_Request *goodbyes = check_room((size_t)check_size * sizeof *goodbyes);

        for (peer = 0; peer < check_size; peer++)
            OK(MPI_Isend(NULL, 0, MPI_BYTE, peer, DONE, MPI_COMM_WORLD, &goodbyes[peer]));
        while (farewells < check_size) {
            OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            farewells += take(&status);
        }
        for (peer = 0; peer < check_size; peer++)
            OK(MPI_Wait(&goodbyes[peer], MPI_STATUS_IGNORE));
        free(goodbyes);
    }
    for (i = 0; i < WINDOW; i++)
        OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    POLL(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);

    mine[0] = sent;
    mine[1] = received;
    OK(MPI_Allreduce(mine, totals, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK(totals[0] == totals[1]);
    if (check_rank == 0)
        printf("soak: %ld messages sent, %ld received\n", totals[0], totals[1]);
    free(last);
    return check_end("soak");
}
