/* Hangs in one of many ways, or seems to hang and ends. The first argument is the way. For 4 processes; everything
 * before the error is correct. */
/* The reports name the function of each call. Optimized code merges functions and omits frames. */
#pragma GCC optimize ("O0")

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mpi.h>

static int rank, size;
static int out, in;

static void send_to(int peer, int tag, MPI_Comm comm)
{
    MPI_Send(&out, 1, MPI_INT, peer, tag, comm);
}

static void receive_from(int peer, int tag, MPI_Comm comm)
{
    MPI_Recv(&in, 1, MPI_INT, peer, tag, comm, MPI_STATUS_IGNORE);
}

/* Ranks 0 and 1 use tags that do not fit. */
static void tags(void)
{
    if (rank > 1)
        return;
    send_to(1 - rank, 10 + rank, MPI_COMM_WORLD);
    receive_from(1 - rank, 20 + rank, MPI_COMM_WORLD);
}

/* Ranks 0 and 1 both send first. */
static void ssend(void)
{
    if (rank > 1)
        return;
    MPI_Ssend(&out, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD);
    receive_from(1 - rank, 5, MPI_COMM_WORLD);
}

/* Rank 3 does not send. */
static void sender(void)
{
    if (rank == 0)
        receive_from(3, 7, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 sends on another communicator. */
static void communicator(void)
{
    MPI_Comm copy;

    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank == 0)
        receive_from(1, 7, MPI_COMM_WORLD);
    else if (rank == 1)
        send_to(0, 7, copy);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&copy);
}

/* Rank 1 calls another collective. */
static void collectives(void)
{
    if (rank == 1)
        MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Barrier(MPI_COMM_WORLD);
}

/* The root calls no collective. */
static void root(void)
{
    if (rank == 0)
        receive_from(1, 3, MPI_COMM_WORLD);
    else
        MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

/* Rank 1 does not send, and finalizes. */
static void finalize(void)
{
    if (rank == 0)
        receive_from(1, 7, MPI_COMM_WORLD);
}

/* One of two messages has another tag. */
static void waitall(void)
{
    MPI_Request requests[2];
    int values[2];

    if (rank == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, 1, 30 + i, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        send_to(0, 30, MPI_COMM_WORLD);
        send_to(0, 32, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The receive from any rank takes the message of rank 2, which a later receive waits for. */
static void wildcard(void)
{
    if (rank == 0) {
        receive_from(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD);
        send_to(1, 1, MPI_COMM_WORLD);
        receive_from(2, 7, MPI_COMM_WORLD);
    } else if (rank == 1) {
        receive_from(0, 1, MPI_COMM_WORLD);
        send_to(0, 7, MPI_COMM_WORLD);
    } else if (rank == 2) {
        send_to(0, 7, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void lock_and_put(int target, MPI_Win window)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
    MPI_Put(&out, 1, MPI_INT, target, 0, 1, MPI_INT, window);
    MPI_Win_flush(target, window);
}

/* Ranks 0 and 1 lock the windows of ranks 2 and 3 in different orders. */
static void locks(void)
{
    MPI_Win window;
    int target = 2 + rank, other = 3 - rank;

    MPI_Win_create(&in, sizeof in, sizeof in, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (rank < 2) {
        lock_and_put(target, window);
        MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 0, &size, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        lock_and_put(other, window);
        MPI_Win_unlock(other, window);
        MPI_Win_unlock(target, window);
    }
    MPI_Win_free(&window);
}

/* Rank 0 does not call MPI_Win_post. */
static void post(void)
{
    MPI_Win window;
    MPI_Group world, first;
    const int ranks[1] = {0};

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, ranks, &first);
    MPI_Win_create(&in, sizeof in, sizeof in, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (rank == 1) {
        MPI_Win_start(first, 0, window);
        MPI_Put(&out, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_complete(window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window);
}

/* Rank 0 waits for a collective operation that does not block, the others for another one. */
static void nonblocking(void)
{
    int value = 0, sum;
    MPI_Request request;

    if (rank == 0) {
        MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Rank 0 has ended: only it reads a line before MPI_Init. */
static void ended(void)
{
    if (rank == 1)
        receive_from(0, 7, MPI_COMM_WORLD);
}

/* Rank 0 computes, with this number of steps. */
static void compute(const char *steps)
{
    for (volatile long at = steps ? atol(steps) : 0; at > 0; at--)
        continue;
}

static void catch_alarm(int number)
{
    (void)number;
}

static void sleep_seconds(time_t seconds)
{
    const struct timespec time = {.tv_sec = seconds};

    nanosleep(&time, NULL);
}

/* The other processes wait for rank 0 while it is outside of MPI. */
static void outside(const char *way, const char *detail)
{
    if (rank > 0) {
        receive_from(0, 7, MPI_COMM_WORLD);
        return;
    }
    if (strcmp(way, "computes") == 0) {
        compute(detail);
    } else if (strcmp(way, "sleeps") == 0) {
        sleep_seconds(3);
    } else if (strcmp(way, "reads") == 0) {
        while (getchar() != EOF)
            continue;
    } else if (strcmp(way, "pauses") == 0) {
        signal(SIGALRM, catch_alarm);
        alarm(3);
        pause();
    }
    for (int peer = 1; peer < size; peer++)
        send_to(peer, 7, MPI_COMM_WORLD);
}

/* The other processes wait for rank 0 while it polls. */
static void polls(void)
{
    MPI_Request request;
    int flag = 0;
    double end = MPI_Wtime() + 3;

    if (rank == 0) {
        MPI_Irecv(&in, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, &request);
        while (!flag && MPI_Wtime() < end)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        send_to(1, 7, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        receive_from(0, 7, MPI_COMM_WORLD);
        send_to(0, 8, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"tags", tags},
    {"ssend", ssend},
    {"sender", sender},
    {"communicator", communicator},
    {"collectives", collectives},
    {"root", root},
    {"finalize", finalize},
    {"waitall", waitall},
    {"wildcard", wildcard},
    {"locks", locks},
    {"post", post},
    {"nonblocking", nonblocking},
    {"ended", ended},
    {"polls", polls},
};

/* Returns whether this is rank 0, without MPI: only rank 0 has standard input. */
static int is_first(void)
{
    return getchar() != EOF;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "tags";
    size_t at = 0;

    if (strcmp(way, "ended") == 0 && is_first())
        return 0;
    if (strcmp(way, "early") == 0 && is_first())
        sleep_seconds(3);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (at < sizeof ways / sizeof *ways && strcmp(way, ways[at].name) != 0)
        at++;
    if (at < sizeof ways / sizeof *ways)
        ways[at].run();
    else
        outside(way, argc > 2 ? argv[2] : NULL);
    MPI_Finalize();
    if (rank == 0)
        printf("ended\n");
    return 0;
}
