/* Functions of the program's own whose names are those of functions of the C library, POSIX or Linux, all of which a
 * program may define unless it includes the header that declares them. Nothing but the program calls them: neither the
 * runtime, which is in the same file, nor the C library. */
#include <mpi.h>

int printf(const char *format, ...);
int sprintf(char *text, const char *format, ...);
void *malloc(unsigned long bytes);
void free(void *bytes);

#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"

#define EACH_NAME(X)                                                                                                   \
    X(read) X(write) X(open) X(close) X(lseek) X(fcntl) X(ioctl) X(dup) X(dup2) X(pipe) X(link) X(unlink) X(readlink)     \
    X(symlink) X(access) X(stat) X(fstat) X(lstat) X(mkdir) X(rmdir) X(chdir) X(truncate) X(sync) X(isatty) X(umask)       \
    X(poll) X(select) X(send) X(recv) X(sendto) X(recvfrom) X(socket) X(connect) X(bind) X(listen) X(accept) X(shutdown)   \
    X(time) X(clock) X(times) X(sleep) X(usleep) X(nanosleep) X(gettimeofday) X(alarm) X(pause) X(signal) X(raise)         \
    X(kill) X(wait) X(waitpid) X(fork) X(getpid) X(getppid) X(gettid) X(nice) X(system) X(daemon) X(sched_yield)           \
    X(sigaction) X(backtrace) X(error) X(warn) X(err) X(syslog) X(index) X(rindex) X(min) X(max) X(hash) X(yield)          \
    X(random) X(srandom) X(rand) X(srand) X(drand48) X(srand48) X(lrand48) X(log) X(exp) X(pow) X(y0) X(y1) X(j0) X(j1)    \
    X(gamma) X(round) X(trunc) X(drem) X(basename) X(dirname) X(getline) X(strsep) X(strdup) X(swab) X(tee)         \
    X(step) X(insque) X(remque) X(hsearch) X(lfind) X(getopt) X(strtok) X(bsearch) X(remove) X(rename) X(flock)            \
    X(usage) X(barrier) X(reduce) X(bcast) X(gather) X(scatter) X(rank) X(size) X(init) X(finalize) X(poll_all) X(wtime)

static int calls;

#define DEFINE(name)   \
    int name(int of);  \
    int name(int of) { \
        calls++;       \
        return of + 1; \
    }
EACH_NAME(DEFINE)

#define CALL(name) called++, sum += name(1);

/* Messages of both kinds, an unexpected one, a collective, a window, memory and output. */
static int work(int rank, int count)
{
    enum { LONG = 5000 };
    int *many = malloc(LONG * sizeof *many), *base, at, sum = 0, wrong = 0, right = (rank + 1) % count;
    char text[32];
    MPI_Request requests[2];
    MPI_Win win;

    for (at = 0; at < LONG; at++)
        many[at] = -1;
    MPI_Irecv(many, LONG, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]);
    base = malloc(LONG * sizeof *base);
    for (at = 0; at < LONG; at++)
        base[at] = rank + at;
    MPI_Isend(base, LONG, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (at = 0; at < LONG; at++)
        wrong += many[at] != (rank + count - 1) % count + at;
    free(many);
    free(base);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != count * (count - 1) / 2;
    MPI_Win_allocate(sizeof *base, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    *base = -1;
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    wrong += *base != (rank + count - 1) % count;
    MPI_Win_free(&win);
    sprintf(text, "%d %g", rank, MPI_Wtick() < 1 ? 0.5 : 0);
    return wrong + (text[0] == 0);
}

int main(int argc, char **argv)
{
    int own, count, called = 0, sum = 0, wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    wrong = work(own, count) + calls;
    EACH_NAME(CALL)
    wrong += sum != 2 * called || calls != called;
    wrong += work(own, count) + (calls != called);
    MPI_Reduce(own ? &wrong : MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (own == 0)
        printf("own_names: %d functions, %d wrong\n", called, wrong);
    MPI_Finalize();
    return wrong != 0 || calls != called;
}
