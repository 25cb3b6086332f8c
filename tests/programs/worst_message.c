/* The dearest message beside many others that wait, in instructions.
 *
 *     worst_message posted|unexpected COUNT BOUND
 *
 * Each rank sends itself messages. It fills a queue with COUNT posted receives, or COUNT messages that wait: half of them
 * with tags of their own in no order, a quarter with rising tags, a quarter all with one tag. Then messages of all kinds of
 * receives find what they want, or nothing: exact ones in order, in reverse and at random, from any source, with any tag,
 * and both; some receives find nothing and are cancelled. At the end the queue is emptied.
 *
 * Every step is counted for itself: one call of MPI, or the few calls that a message takes. Rank 0 prints, for each
 * kind of step, how many there were, their mean and the greatest number of instructions. No step may take more than BOUND
 * instructions above the mean of all steps. Cancels are no messages, and not among them.
 *
 * Without an exact counter of instructions (riscv64: `instret`, in QEMU with `midplane run --count-instructions`) the
 * numbers are 0.
 *
 * Exit status: 0, or 1 if a step took too many or a message was wrong, or 2 for bad arguments.
 */
#include "check.h"

enum { EQUAL_TAG = 1, OWN_TAG = 2, FIRST_TAG = 16, STEPS = 200 };

#ifdef __riscv
static unsigned long counted(void)
{
    unsigned long count;

    __asm__ volatile("rdinstret %0" : "=r"(count) : : "memory");
    return count;
}
#else
static unsigned long counted(void)
{
    return 0;
}
#endif

/* Steps of one kind. */
struct kind {
    const char *name;
    unsigned long steps, all, greatest, at;
};

enum { FILL, FORWARD, REVERSE, RANDOM, EQUAL, ANY_SOURCE, ANY_TAG, ANY, VAIN, CANCEL, OWN, EMPTY, KINDS };

static struct kind kinds[KINDS] = {
    {.name = "fill"},   {.name = "forward"},    {.name = "reverse"}, {.name = "random"},
    {.name = "equal"},  {.name = "any source"}, {.name = "any tag"}, {.name = "any"},
    {.name = "in vain"}, {.name = "cancel"},     {.name = "another"}, {.name = "empty"},
};

static void step(int kind, unsigned long begin)
{
    unsigned long taken = counted() - begin;
    struct kind *of = &kinds[kind];

    of->all += taken;
    if (taken > of->greatest) {
        of->greatest = taken;
        of->at = of->steps;
    }
    of->steps++;
}

static int is_posted, count;
static MPI_Request *requests;
static int *values;
/* An entry that has found its message. */
static char *is_gone;

/* The tag of an entry: entries are in runs of four, of which two have tags in no order, one a rising one, one the equal. */
static int tag_of(int entry)
{
    switch (entry % 4) {
    case 0:
    case 1:
        return FIRST_TAG + (int)((unsigned long)entry * 7919u % (unsigned)count) * 2;
    case 2:
        return FIRST_TAG + entry * 2 + 1;
    default:
        return EQUAL_TAG;
    }
}

/* A tag that only this entry has. */
static int is_alone(int entry)
{
    return entry % 4 != 3;
}

/* Fills the queue with this entry. */
static void fill(int entry)
{
    unsigned long begin;

    values[entry] = is_posted ? -1 : entry;
    begin = counted();
    if (is_posted)
        OK(MPI_Irecv(&values[entry], 1, MPI_INT, check_rank, tag_of(entry), MPI_COMM_WORLD, &requests[entry]));
    else
        OK(MPI_Isend(&values[entry], 1, MPI_INT, check_rank, tag_of(entry), MPI_COMM_WORLD, &requests[entry]));
    step(FILL, begin);
}

/* This entry finds its message, or its receive. */
static void find(int kind, int entry, int source, int tag)
{
    unsigned long begin;
    int got = entry;
    MPI_Status status;

    begin = counted();
    if (is_posted)
        OK(MPI_Send(&got, 1, MPI_INT, check_rank, tag_of(entry), MPI_COMM_WORLD));
    else
        OK(MPI_Recv(&got, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &status));
    OK(MPI_Wait(&requests[entry], MPI_STATUS_IGNORE));
    step(kind, begin);
    CHECK(got == entry && values[entry] == entry);
    is_gone[entry] = 1;
}

static unsigned long state = 1;

static int drawn(int below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (unsigned)below);
}

/* The first entry from this one on, up or down, that is still there and is of this kind. */
static int next(int from, int way, int alone)
{
    while (from >= 0 && from < count && (is_gone[from] || is_alone(from) != alone))
        from += way;
    return from >= 0 && from < count ? from : -1;
}

/* A message of its own beside the others: its receive is posted before, or starts later. */
static void another(int source, int tag)
{
    unsigned long begin;
    int value = 7, got = -1;
    MPI_Request request;

    begin = counted();
    if (is_posted) {
        OK(MPI_Irecv(&got, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &request));
        OK(MPI_Send(&value, 1, MPI_INT, check_rank, OWN_TAG, MPI_COMM_WORLD));
    } else {
        OK(MPI_Isend(&value, 1, MPI_INT, check_rank, OWN_TAG, MPI_COMM_WORLD, &request));
        OK(MPI_Recv(&got, 1, MPI_INT, source, OWN_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    step(OWN, begin);
    CHECK(got == value);
}

static void in_vain(int source, int tag)
{
    unsigned long begin;
    int got = -1, is_cancelled = -1;
    MPI_Request request;
    MPI_Status status;

    begin = counted();
    OK(MPI_Irecv(&got, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &request));
    step(VAIN, begin);
    begin = counted();
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, &status));
    step(CANCEL, begin);
    OK(MPI_Test_cancelled(&status, &is_cancelled));
    CHECK(is_cancelled == 1 && got == -1);
}

static void cancel(int entry)
{
    unsigned long begin = counted();
    int is_cancelled = -1;
    MPI_Status status;

    OK(MPI_Cancel(&requests[entry]));
    OK(MPI_Wait(&requests[entry], &status));
    step(CANCEL, begin);
    OK(MPI_Test_cancelled(&status, &is_cancelled));
    CHECK(is_cancelled);
    is_gone[entry] = 1;
}

/* One step of each kind, the one after the other. */
static void mixed(int round)
{
    int entry;

    another(check_rank, OWN_TAG);
    another(MPI_ANY_SOURCE, OWN_TAG);
    if (!is_posted) {
        in_vain(check_rank, 3 + round % 8);
        in_vain(MPI_ANY_SOURCE, 3 + round % 8);
    }
    if ((entry = next(0, 1, 1)) >= 0)
        find(FORWARD, entry, check_rank, tag_of(entry));
    if ((entry = next(count - 1, -1, 1)) >= 0)
        find(REVERSE, entry, check_rank, tag_of(entry));
    if ((entry = next(drawn(count), 1, 1)) >= 0)
        find(RANDOM, entry, check_rank, tag_of(entry));
    if ((entry = next(drawn(count), 1, 1)) >= 0)
        find(ANY_SOURCE, entry, MPI_ANY_SOURCE, tag_of(entry));
    if ((entry = next(0, 1, 0)) >= 0)
        find(EQUAL, entry, check_rank, EQUAL_TAG);
    entry = next(0, 1, 1);
    if (!is_posted && entry >= 0 && (next(0, 1, 0) < 0 || entry < next(0, 1, 0)))
        find(round % 2 ? ANY_TAG : ANY, entry, round % 2 ? check_rank : MPI_ANY_SOURCE, MPI_ANY_TAG);
    if (is_posted && (entry = next(drawn(count), 1, round % 2)) >= 0)
        cancel(entry);
}

int main(int argc, char **argv)
{
    unsigned long bound, steps = 0, all = 0, mean;
    int i, round;

    check_start(&argc, &argv);
    is_posted = argc >= 2 && strcmp(argv[1], "posted") == 0;
    if (argc != 4 || (!is_posted && strcmp(argv[1], "unexpected") != 0) || (count = atoi(argv[2])) < 1 ||
        (bound = strtoul(argv[3], NULL, 10)) < 1) {
        if (check_rank == 0)
            fprintf(stderr, "usage: worst_message posted|unexpected COUNT BOUND, with both at least 1\n");
        MPI_Finalize();
        return 2;
    }
    requests = check_room(count * sizeof *requests);
    values = check_room(count * sizeof *values);
    is_gone = check_room(count);
    memset(is_gone, 0, count);

    for (i = 0; i < count; i++)
        fill(i);
    for (round = 0; round < STEPS; round++)
        mixed(round);
    for (i = 0; i < count; i++)
        if (!is_gone[i])
            find(EMPTY, i, check_rank, tag_of(i));

    for (i = 0; i < KINDS; i++) {
        steps += i == CANCEL ? 0 : kinds[i].steps;
        all += i == CANCEL ? 0 : kinds[i].all;
    }
    mean = all / steps;
    for (i = 0; i < KINDS; i++) {
        const struct kind *of = &kinds[i];

        if (check_rank == 0 && of->steps > 0)
            printf("worst_message: %d %s, %s: %lu steps, mean %lu, greatest %lu, at %lu\n", count, argv[1], of->name,
                   of->steps, of->all / of->steps, of->greatest, of->at);
        /* MPI_Wait of a cancelled receive may sleep, which counts as instructions. */
        if (i != CANCEL && of->greatest > mean + bound) {
            fprintf(stderr, "worst_message: a step (%s) took %lu instructions, the mean of all is %lu\n", of->name,
                    of->greatest, mean);
            check_failed++;
        }
    }
    free(is_gone);
    free(values);
    free(requests);
    return check_end("worst_message");
}
