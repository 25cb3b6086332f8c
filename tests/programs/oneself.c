/* Instructions of a message to oneself, with other receives posted or other messages waiting.
 *
 *     oneself posted|unexpected COUNT [any]
 *
 * Every rank posts COUNT receives that its messages do not match, or sends itself COUNT messages that its receives do
 * not match, each with a tag of its own. Then it sends itself messages one by one, each with a tag of its own: half of
 * them to receives that are posted before, half of them to receives that start later. It counts the instructions of each
 * from the first call to the last. A tag's place in the tables is drawn anew in each run, so one tag's count is a matter
 * of luck, and neighbouring tags share their luck; the median of many that are far apart does not depend on it. With
 * `any`, the receives of these are from any source. At the end it has all the others received, in the order of posting
 * or sending, and checks them.
 *
 * Rank 0 prints the medians. Without an exact counter of instructions (riscv64: `instret`, in QEMU with
 * `midplane run --count-instructions`) the numbers mean nothing.
 *
 * Exit status: 0, or 1 if a message was wrong, or 2 for bad arguments.
 */
#include "check.h"

static int from;

enum { MESSAGES = 64, FIRST_TAG = 64 };

/* The tag of one of the messages that are counted: above the others' tags, and without a common distance, because the
 * tables hash tags at equal distances to places at equal distances. */
static int far_tag(int i)
{
    return (1 << 20) + i * (i + 1) / 2 * 49999;
}

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

/* A message whose receive is posted before. */
static unsigned long receive_first(int tag, int value)
{
    unsigned long begin = counted(), end;
    int got = -1;
    MPI_Request request;

    OK(MPI_Irecv(&got, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &request));
    OK(MPI_Send(&value, 1, MPI_INT, check_rank, tag, MPI_COMM_WORLD));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    end = counted();
    CHECK(got == value);
    return end - begin;
}

/* A message whose receive starts when it is there. */
static unsigned long message_first(int tag, int value)
{
    unsigned long begin = counted(), end;
    int got = -1, there = 0;
    MPI_Request request;

    OK(MPI_Isend(&value, 1, MPI_INT, check_rank, tag, MPI_COMM_WORLD, &request));
    OK(MPI_Iprobe(from, tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE));
    OK(MPI_Recv(&got, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    end = counted();
    CHECK(got == value);
    return end - begin;
}

static int compare(const void *one, const void *other)
{
    unsigned long a = *(const unsigned long *)one, b = *(const unsigned long *)other;

    return (a > b) - (a < b);
}

static unsigned long median(unsigned long (*message)(int, int))
{
    unsigned long taken[MESSAGES];
    int i;

    for (i = 0; i < MESSAGES; i++)
        taken[i] = message(far_tag(i), i);
    qsort(taken, MESSAGES, sizeof *taken, compare);
    return taken[MESSAGES / 2];
}

int main(int argc, char **argv)
{
    int is_posted, count, i, got;
    unsigned long begin, queued, first[2], each[2];
    MPI_Request *requests;
    int *values;

    check_start(&argc, &argv);
    count = argc >= 3 ? atoi(argv[2]) : 0;
    is_posted = count > 0 && strcmp(argv[1], "posted") == 0;
    from = argc == 4 ? MPI_ANY_SOURCE : check_rank;
    if (count <= 0 || (!is_posted && strcmp(argv[1], "unexpected") != 0) || argc > 4 ||
        (argc == 4 && strcmp(argv[3], "any") != 0)) {
        if (check_rank == 0)
            fprintf(stderr, "usage: oneself posted|unexpected COUNT [any], with COUNT at least 1\n");
        MPI_Finalize();
        return 2;
    }
    requests = check_room(count * sizeof *requests);
    values = check_room(count * sizeof *values);

    begin = counted();
    for (i = 0; i < count; i++) {
        values[i] = is_posted ? -1 : i;
        if (is_posted)
            POLL(MPI_Irecv(&values[i], 1, MPI_INT, check_rank, FIRST_TAG + i, MPI_COMM_WORLD, &requests[i]));
        else
            POLL(MPI_Isend(&values[i], 1, MPI_INT, check_rank, FIRST_TAG + i, MPI_COMM_WORLD, &requests[i]));
    }
    queued = counted() - begin;

    first[0] = receive_first(0, -2);
    first[1] = message_first(0, -3);
    each[0] = median(receive_first);
    each[1] = median(message_first);

    for (i = 0; i < count; i++) {
        got = i;
        if (is_posted)
            POLL(MPI_Send(&got, 1, MPI_INT, check_rank, FIRST_TAG + i, MPI_COMM_WORLD));
        else
            POLL(MPI_Recv(&got, 1, MPI_INT, check_rank, FIRST_TAG + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        POLL(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        if (got != i || values[i] != i)
            CHECK(!"the value of its tag");
    }
    if (check_rank == 0)
        printf("oneself: %d %s: %lu to queue all; receive first: %lu, then %lu; message first: %lu, then %lu\n", count,
               argv[1], queued, first[0], each[0], first[1], each[1]);
    free(values);
    free(requests);
    return check_end("oneself");
}
