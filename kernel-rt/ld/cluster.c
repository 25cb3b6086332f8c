/* What a C program in the cluster is linked with beside the runtime (tests/carrier). All ranks are in one process, and
 * each finds its own data in place, which is all that the program's file has of variables: those of this file, too. The
 * host's C library has variables of its own, which are not among them. So what of it keeps something from one call to
 * the next is here: streams, the numbers of chance, strtok, the environment, what is to be done at the end. And the time,
 * which is virtual. */

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/times.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* The runtime's (tests/carrier/src). */
void midplane_cluster(int argc, char **argv) __attribute__((noreturn));
void midplane_leave(int status) __attribute__((noreturn));
void midplane_refuse(const char *function) __attribute__((noreturn));
void midplane_print(uint32_t rank, int stream, const void *bytes, size_t count);
uint32_t midplane_rank(void);
uint64_t midplane_now(void);
void midplane_sleep(uint64_t ns);

int __real_main(int argc, char **argv, char **envp);
int __wrap_main(int argc, char **argv, char **envp);
int __wrap_main(int argc, char **argv, char **envp) {
    (void)envp;
    midplane_cluster(argc, argv);
}

/* A function of the program's own with one of these names is the program's. */
#pragma weak atexit
#pragma weak at_quick_exit
#pragma weak on_exit
#pragma weak exit
#pragma weak quick_exit
#pragma weak _exit
#pragma weak _Exit
#pragma weak write
#pragma weak putenv
#pragma weak setenv
#pragma weak unsetenv
#pragma weak clearenv
#pragma weak strtok
#pragma weak random
#pragma weak srandom
#pragma weak initstate
#pragma weak setstate
#pragma weak rand
#pragma weak srand
#pragma weak drand48
#pragma weak lrand48
#pragma weak mrand48
#pragma weak srand48
#pragma weak seed48
#pragma weak lcong48
#pragma weak clock_gettime
#pragma weak gettimeofday
#pragma weak timespec_get
#pragma weak time
#pragma weak clock
#pragma weak times
#pragma weak clock_nanosleep
#pragma weak nanosleep
#pragma weak usleep
#pragma weak sleep
#pragma weak select
#pragma weak poll
#pragma weak pthread_create
#pragma weak thrd_create
#pragma weak fork

/* Streams: the cookie is the rank, and whether it is stderr. */

static ssize_t put(void *cookie, const char *bytes, size_t count) {
    uintptr_t whose = (uintptr_t)cookie;
    midplane_print((uint32_t)(whose >> 1), whose & 1 ? 2 : 1, bytes, count);
    return (ssize_t)count;
}

static ssize_t get_nothing(void *cookie, char *bytes, size_t count) {
    (void)cookie, (void)bytes, (void)count;
    return 0;
}

static FILE *stream(uint32_t rank, int is_stderr) {
    cookie_io_functions_t writes = {.write = put};
    FILE *file = fopencookie((void *)((uintptr_t)rank << 1 | (uintptr_t)is_stderr), "w", writes);
    if (file == NULL) abort();
    /* As on nodes: what is printed comes line by line. */
    setvbuf(file, NULL, is_stderr ? _IONBF : _IOLBF, BUFSIZ);
    return file;
}

/* The C library's own, whatever the program calls `write`. */
ssize_t __write(int file, const void *bytes, size_t count);

/* The runtime's `write`, and the program's unless it has another. */
ssize_t midplane_write(int file, const void *bytes, size_t count);
ssize_t midplane_write(int file, const void *bytes, size_t count) {
    if (file != 1 && file != 2) return __write(file, bytes, count);
    midplane_print(midplane_rank(), file, bytes, count);
    return (ssize_t)count;
}
ssize_t write(int file, const void *bytes, size_t count) __attribute__((alias("midplane_write")));

/* The end. */

static struct ending {
    void (*plain)(void);
    void (*told)(int, void *);
    void *argument;
    struct ending *before;
} *endings, *quick_endings;

static int add(struct ending **list, struct ending ending) {
    struct ending *added = malloc(sizeof *added);
    if (added == NULL) return -1;
    *added = ending;
    added->before = *list;
    *list = added;
    return 0;
}

static void end(struct ending **list, int status) {
    while (*list != NULL) {
        struct ending *last = *list;
        *list = last->before;
        if (last->plain != NULL) last->plain();
        else last->told(status, last->argument);
    }
    /* The program may have closed them. */
    if (stdout != NULL) fflush(stdout);
}

int atexit(void (*function)(void)) { return add(&endings, (struct ending){.plain = function}); }
int at_quick_exit(void (*function)(void)) { return add(&quick_endings, (struct ending){.plain = function}); }
int on_exit(void (*function)(int, void *), void *argument) {
    return add(&endings, (struct ending){.told = function, .argument = argument});
}
void exit(int status) {
    end(&endings, status);
    midplane_leave(status);
}
void quick_exit(int status) {
    end(&quick_endings, status);
    midplane_leave(status);
}
void _exit(int status) { midplane_leave(status); }
void _Exit(int status) { midplane_leave(status); }

/* What was printed is shown, as on nodes; glibc's abort drops it. */
void __real_abort(void) __attribute__((noreturn));
void __wrap_abort(void) __attribute__((noreturn));
void __wrap_abort(void) {
    fflush(NULL);
    __real_abort();
}

void midplane_begin(uint32_t rank, int argc, char *const *argv) __attribute__((noreturn));
void midplane_begin(uint32_t rank, int argc, char *const *argv) {
    stdout = stream(rank, 0);
    stderr = stream(rank, 1);
    if (rank != 0) {
        cookie_io_functions_t reads = {.read = get_nothing};
        stdin = fopencookie(NULL, "r", reads);
    }
    /* What is named here is in the program's file, and so each rank's own. */
    optarg = NULL, optind = opterr = 1, optopt = '?';
    /* A program may write to its arguments. */
    char **own = calloc((size_t)argc + 1, sizeof *own);
    if (own == NULL) abort();
    for (int at = 0; at < argc; at++) {
        size_t bytes = strlen(argv[at]) + 1;
        own[at] = malloc(bytes);
        if (own[at] == NULL) abort();
        memcpy(own[at], argv[at], bytes);
    }
    exit(__real_main(argc, own, environ));
}

/* The environment. What a rank has put into it once stays, as nothing says when it is no longer used. */

static char **variable(const char *name, size_t length) {
    for (char **at = environ; at != NULL && *at != NULL; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') return at;
    return NULL;
}

int putenv(char *text) {
    const char *equals = strchr(text, '=');
    if (equals == NULL) return unsetenv(text);
    char **there = variable(text, (size_t)(equals - text));
    size_t count = 0;
    while (environ != NULL && environ[count] != NULL) count++;
    /* The list may be all ranks' still. */
    char **list = calloc(count + 2, sizeof *list);
    if (list == NULL) return -1;
    if (count > 0) memcpy(list, environ, count * sizeof *list);
    list[there != NULL ? (size_t)(there - environ) : count] = text;
    environ = list;
    return 0;
}

static int is_name(const char *name) { return name != NULL && *name != 0 && strchr(name, '=') == NULL; }

int setenv(const char *name, const char *value, int replaces) {
    if (!is_name(name)) return errno = EINVAL, -1;
    if (!replaces && variable(name, strlen(name)) != NULL) return 0;
    size_t bytes = strlen(name) + strlen(value) + 2;
    char *text = malloc(bytes);
    if (text == NULL) return -1;
    snprintf(text, bytes, "%s=%s", name, value);
    return putenv(text);
}

int unsetenv(const char *name) {
    if (!is_name(name)) return errno = EINVAL, -1;
    size_t count = 0, kept = 0, length = strlen(name);
    while (environ != NULL && environ[count] != NULL) count++;
    char **list = calloc(count + 1, sizeof *list);
    if (list == NULL) return -1;
    for (size_t at = 0; at < count; at++)
        if (strncmp(environ[at], name, length) != 0 || environ[at][length] != '=') list[kept++] = environ[at];
    environ = list;
    return 0;
}

int clearenv(void) {
    environ = NULL;
    return 0;
}

/* Words. */

char *strtok(char *text, const char *between) {
    static char *rest;
    return strtok_r(text, between, &rest);
}

/* Numbers of chance: the same that the host's C library gives a process. */

static struct random_data numbers;
static char first_state[128], *state;

static struct random_data *drawn_from(void) {
    if (state == NULL) initstate_r(1, state = first_state, sizeof first_state, &numbers);
    return &numbers;
}

static int32_t draw(void) {
    int32_t number;
    random_r(drawn_from(), &number);
    return number;
}
long random(void) { return draw(); }
void srandom(unsigned seed) { srandom_r(seed, drawn_from()); }
char *initstate(unsigned seed, char *bytes, size_t count) {
    char *before = (drawn_from(), state);
    if (initstate_r(seed, bytes, count, &numbers) != 0) return NULL;
    return state = bytes, before;
}
char *setstate(char *bytes) {
    char *before = (drawn_from(), state);
    if (setstate_r(bytes, &numbers) != 0) return NULL;
    return state = bytes, before;
}
int rand(void) { return draw(); }
void srand(unsigned seed) { srandom_r(seed, drawn_from()); }

static struct drand48_data words;

double drand48(void) {
    double number;
    drand48_r(&words, &number);
    return number;
}
long lrand48(void) {
    long number;
    lrand48_r(&words, &number);
    return number;
}
long mrand48(void) {
    long number;
    mrand48_r(&words, &number);
    return number;
}
void srand48(long seed) { srand48_r(seed, &words); }
unsigned short *seed48(unsigned short seed[3]) {
    static unsigned short before[3];
    memcpy(before, words.__x, sizeof before);
    seed48_r(seed, &words);
    return before;
}
void lcong48(unsigned short parameters[7]) { lcong48_r(parameters, &words); }

/* Time. The date is 10^9 seconds after 1970 when the job begins. */

static const uint64_t SECOND = 1000000000, BEGINNING = 1000000000;

int clock_gettime(clockid_t clock, struct timespec *time) {
    uint64_t now = midplane_now(), date = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? BEGINNING : 0;
    *time = (struct timespec){(time_t)(date + now / SECOND), (long)(now % SECOND)};
    return 0;
}
int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    uint64_t now = midplane_now();
    *time = (struct timeval){(time_t)(BEGINNING + now / SECOND), (suseconds_t)(now % SECOND / 1000)};
    return 0;
}
int timespec_get(struct timespec *time, int base) {
    if (base != TIME_UTC) return 0;
    clock_gettime(CLOCK_REALTIME, time);
    return base;
}
time_t time(time_t *place) {
    time_t now = (time_t)(BEGINNING + midplane_now() / SECOND);
    if (place != NULL) *place = now;
    return now;
}
clock_t clock(void) { return (clock_t)(midplane_now() / (SECOND / CLOCKS_PER_SEC)); }
clock_t times(struct tms *place) {
    clock_t now = (clock_t)(midplane_now() / (SECOND / (uint64_t)sysconf(_SC_CLK_TCK)));
    if (place != NULL) *place = (struct tms){.tms_utime = now};
    return now;
}

static int sleep_for(clockid_t clock, int flags, const struct timespec *time) {
    if (time->tv_nsec < 0 || time->tv_nsec >= (long)SECOND) return EINVAL;
    uint64_t ns = time->tv_sec < 0 ? 0 : (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
    if (flags & TIMER_ABSTIME) {
        uint64_t now = midplane_now() + (clock == CLOCK_REALTIME ? BEGINNING * SECOND : 0);
        ns = ns > now ? ns - now : 0;
    }
    midplane_sleep(ns);
    return 0;
}
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
    (void)left;
    return sleep_for(clock, flags, time);
}
static int rest(const struct timespec *time) {
    int error = time->tv_sec < 0 ? EINVAL : sleep_for(CLOCK_MONOTONIC, 0, time);
    return error == 0 ? 0 : (errno = error, -1);
}
int nanosleep(const struct timespec *time, struct timespec *left) {
    (void)left;
    return rest(time);
}
int usleep(useconds_t us) {
    midplane_sleep((uint64_t)us * 1000);
    return 0;
}
unsigned sleep(unsigned seconds) {
    midplane_sleep(seconds * SECOND);
    return 0;
}

/* What waits for nothing but the time. */
int select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *wait) {
    struct timespec left, *limit = NULL;
    if (wait != NULL) {
        left = (struct timespec){wait->tv_sec, wait->tv_usec * 1000};
        limit = &left;
    }
    if (count == 0 && limit != NULL) return rest(limit);
    return pselect(count, reads, writes, others, limit, NULL);
}
int poll(struct pollfd *files, nfds_t count, int ms) {
    struct timespec limit = {ms / 1000, ms % 1000 * 1000000L};
    if (count == 0 && ms >= 0) return rest(&limit);
    return ppoll(files, count, ms >= 0 ? &limit : NULL, NULL);
}

/* What a rank cannot have. */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
    (void)thread, (void)attributes, (void)function, (void)argument;
    midplane_refuse("pthread_create");
}
int thrd_create(thrd_t *thread, thrd_start_t function, void *argument) {
    (void)thread, (void)function, (void)argument;
    midplane_refuse("thrd_create");
}
pid_t fork(void) { midplane_refuse("fork"); }
