/* Epochs when one process is late: what calls that block make others wait for, and calls that do not.
 *
 *     late_epochs [LATE_US]     each pattern with 8 bytes and with 64 KiB, three ranks, one of which is late (default 1000)
 *
 * For QEMU, one instance with `--count-instructions`: there time goes by the count of instructions. QEMU gives the nodes of
 * an instance the processor by turns: so who is late, or has something to compute, sleeps. Printed for each pattern and size,
 * in nanoseconds of a node's clock: the time that the pattern is about, with calls that block and with those that do not.
 *
 * late post       a target posts late: until the origin's next activity begins
 * early transfer  the same: until the origin is through with its put
 * early wait      the target has something to compute: until it has its data and has computed
 * late complete   the origin has something to compute: the target's epoch
 * early fence     the origin has something to compute behind the fence: until the data is there and it has computed
 * wait at fence   the origin has something to compute: the target's epoch
 * late unlock     a lock is held while its holder computes: the epoch of the next one
 */
#include "check.h"
#include <time.h>

enum { LATE_POST, EARLY_TRANSFER, EARLY_WAIT, LATE_COMPLETE, EARLY_FENCE, WAIT_AT_FENCE, LATE_UNLOCK, PATTERNS };
enum { SIZES = 2, MOST = 64 << 10, TRIES = 8, REQUESTS = 4 };

static const struct {
    const char *name;
    int measured;
} patterns[PATTERNS] = {
    { "late post", 0 },   { "early transfer", 0 }, { "early wait", 1 },  { "late complete", 1 },
    { "early fence", 0 }, { "wait at fence", 1 },  { "late unlock", 1 },
};
static const int sizes[SIZES] = { 8, MOST };

static MPI_Win win;
static MPI_Request requests[REQUESTS];
static char *memory, from[MOST];
static int blocks, bytes, pending;
static double late_ns;

static double now(void)
{
    return 1e9 * MPI_Wtime();
}

static void compute(double ns)
{
    struct timespec pause;

    pause.tv_sec = (time_t)(ns / 1e9);
    pause.tv_nsec = (long)(ns - 1e9 * (double)pause.tv_sec);
    nanosleep(&pause, NULL);
}

/* Where the next request goes. */
static MPI_Request *next(void)
{
    return &requests[pending++];
}

static void finish(void)
{
    OK(MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE));
    pending = 0;
}

static void post_or_start(int is_post, int peer)
{
    MPI_Group all, group;

    OK(MPI_Win_get_group(win, &all));
    OK(MPI_Group_incl(all, 1, &peer, &group));
    if (is_post)
        OK(blocks ? MPI_Win_post(group, 0, win) : MPI_Win_ipost(group, 0, win, next()));
    else
        OK(blocks ? MPI_Win_start(group, 0, win) : MPI_Win_istart(group, 0, win, next()));
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&all));
}

static void complete(void)
{
    OK(blocks ? MPI_Win_complete(win) : MPI_Win_icomplete(win, next()));
}

static void wait_for(void)
{
    OK(blocks ? MPI_Win_wait(win) : MPI_Win_iwait(win, next()));
}

static void fence(int assert)
{
    OK(blocks ? MPI_Win_fence(assert, win) : MPI_Win_ifence(assert, win, next()));
}

static void lock(int target)
{
    OK(blocks ? MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win)
              : MPI_Win_ilock(MPI_LOCK_EXCLUSIVE, target, 0, win, next()));
}

static void unlock(int target)
{
    OK(blocks ? MPI_Win_unlock(target, win) : MPI_Win_iunlock(target, win, next()));
}

static void put(int target)
{
    OK(MPI_Put(from, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, win));
}

static double late_post(int pattern)
{
    double begin = now(), transferred = 0, through = 0;

    if (check_rank == 0) {
        post_or_start(0, 1);
        put(1);
        transferred = now();
        complete();
        through = now();
        finish();
    } else if (check_rank == 1) {
        compute(late_ns);
        post_or_start(1, 0);
        wait_for();
        finish();
    }
    return (pattern == EARLY_TRANSFER ? transferred : through) - begin;
}

/* What does not block closes the epoch first, and computes then. */
static double late_complete(int pattern)
{
    double begin = now();
    int is_late = pattern == LATE_COMPLETE && blocks;

    if (check_rank == 0) {
        post_or_start(0, 1);
        put(1);
        if (is_late)
            compute(late_ns);
        complete();
        if (!is_late)
            compute(late_ns);
        finish();
    } else if (check_rank == 1) {
        post_or_start(1, 0);
        wait_for();
        if (pattern == EARLY_WAIT)
            compute(late_ns);
        finish();
    }
    return now() - begin;
}

static double late_fence(int pattern)
{
    double begin = now();
    int is_late = pattern == WAIT_AT_FENCE && blocks && check_rank == 0;

    fence(MPI_MODE_NOPRECEDE);
    if (check_rank == 0)
        put(1);
    if (is_late)
        compute(late_ns);
    fence(MPI_MODE_NOSUCCEED);
    if (check_rank == 0 && !is_late)
        compute(late_ns);
    finish();
    return now() - begin;
}

/* Rank 1 comes a little later than rank 0; rank 2 is the target. */
static double late_unlock(void)
{
    double begin;

    if (check_rank == 1)
        compute(late_ns / 50);
    begin = now();
    if (check_rank < 2) {
        lock(2);
        put(2);
        if (check_rank == 0 && blocks)
            compute(late_ns);
        unlock(2);
        if (check_rank == 0 && !blocks)
            compute(late_ns);
        finish();
    }
    return now() - begin;
}

static double play(int pattern)
{
    switch (pattern) {
    case LATE_POST:
    case EARLY_TRANSFER:
        return late_post(pattern);
    case EARLY_WAIT:
    case LATE_COMPLETE:
        return late_complete(pattern);
    case EARLY_FENCE:
    case WAIT_AT_FENCE:
        return late_fence(pattern);
    default:
        return late_unlock();
    }
}

/* What the pattern takes the process that it is about; of some tries the least. */
static double measure(int pattern)
{
    int target = pattern == LATE_UNLOCK ? 2 : 1, i;
    double took, least = 0;

    for (i = 0; i < TRIES; i++) {
        memset(from, 1 + i + TRIES * blocks, sizeof from);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        took = play(pattern);
        OK(MPI_Barrier(MPI_COMM_WORLD));
        CHECK(check_rank != target || (memory[0] == from[0] && memory[bytes - 1] == from[0]));
        OK(MPI_Bcast(&took, 1, MPI_DOUBLE, patterns[pattern].measured, MPI_COMM_WORLD));
        least = i == 0 || took < least ? took : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    int pattern, size;
    double took[2];

    check_start(&argc, &argv);
    late_ns = 1e3 * (argc > 1 ? atof(argv[1]) : 1000);
    OK(MPI_Win_allocate(MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    for (pattern = 0; pattern < PATTERNS; pattern++)
        for (size = 0; size < SIZES; size++) {
            bytes = sizes[size];
            for (blocks = 0; blocks < 2; blocks++)
                took[blocks] = measure(pattern);
            if (check_rank == 0)
                printf("late_epochs: %s, %d bytes: %.0f blocking, %.0f not\n", patterns[pattern].name, bytes, took[1],
                       took[0]);
        }
    OK(MPI_Win_free(&win));
    return check_end("late_epochs");
}
