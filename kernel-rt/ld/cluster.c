/* What a C program in the cluster is linked with beside the runtime (kernel-rt/cluster/carrier). All ranks are in one
 * process, and each finds its own data in place, which is all that the program's file has of variables: those of this
 * file, too. The host's C library has variables of its own, which are not among them. So what of it keeps something from one call to
 * the next is here and in cluster_library.c: streams, the numbers of chance, strtok, the environment, what is to be done
 * at the end. And the time, which is virtual. What the system keeps of a process is in cluster_system.c. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "cluster.h"

int __real_main(int argc, char **argv, char **envp);
int __wrap_main(int argc, char **argv, char **envp);
int __wrap_main(int argc, char **argv, char **envp) {
    /* Each rank has the arguments of its program, which the tool tells. */
    (void)argc, (void)argv, (void)envp;
    midplane_cluster();
}

void *midplane_find(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) abort();
    return found;
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
#pragma weak read
#pragma weak writev
#pragma weak dprintf
#pragma weak vdprintf
#pragma weak fdopen
#pragma weak freopen
#pragma weak freopen64
#pragma weak fcloseall
#pragma weak fputwc
#pragma weak putwc
#pragma weak putwchar
#pragma weak fputws
#pragma weak vfwprintf
#pragma weak vwprintf
#pragma weak fwprintf
#pragma weak wprintf
#pragma weak dlopen

/* Streams: the cookie is the rank, and whether it is stderr. A rank may have given another file to a descriptor
 * (cluster_system.c). */

static ssize_t put(void *cookie, const char *bytes, size_t count) {
    uintptr_t whose = (uintptr_t)cookie;
    uint32_t rank = (uint32_t)(whose >> 1);
    int file = whose & 1 ? 2 : 1;
    if (rank == midplane_rank() && midplane_replaced[file]) return midplane_write(file, bytes, count);
    midplane_print(rank, file, bytes, count);
    return (ssize_t)count;
}

static ssize_t get_nothing(void *cookie, char *bytes, size_t count) {
    (void)cookie, (void)bytes, (void)count;
    return 0;
}

/* As a stream of a file, it has a descriptor: programs ask for it. */
static FILE *numbered(FILE *file, int number) {
    if (file == NULL) abort();
    file->_fileno = number;
    return file;
}

static FILE *no_input(void) {
    cookie_io_functions_t reads = {.read = get_nothing};
    return numbered(fopencookie(NULL, "r", reads), 0);
}

static FILE *stream(uint32_t rank, int is_stderr) {
    cookie_io_functions_t writes = {.write = put};
    FILE *file = fopencookie((void *)((uintptr_t)rank << 1 | (uintptr_t)is_stderr), "w", writes);
    numbered(file, is_stderr ? 2 : 1);
    /* As on nodes: what is printed comes line by line. */
    setvbuf(file, NULL, is_stderr ? _IONBF : _IOLBF, BUFSIZ);
    return file;
}

/* The C library's own, whatever the program calls `write`. */
ssize_t __write(int file, const void *bytes, size_t count);
ssize_t __read(int file, void *bytes, size_t count);

static int is_printed(int file) { return (file == 1 || file == 2) && !midplane_replaced[file]; }

/* The runtime's `write`, and the program's unless it has another. */
ssize_t midplane_write(int file, const void *bytes, size_t count) {
    if (!is_printed(file)) return __write(file, bytes, count);
    midplane_print(midplane_rank(), file, bytes, count);
    return (ssize_t)count;
}
ssize_t write(int file, const void *bytes, size_t count) __attribute__((alias("midplane_write")));

ssize_t writev(int file, const struct iovec *parts, int count) {
    ssize_t sum = 0;
    for (int at = 0; at < count; at++) {
        ssize_t written = midplane_write(file, parts[at].iov_base, parts[at].iov_len);
        if (written < 0) return sum > 0 ? sum : written;
        sum += written;
        if ((size_t)written < parts[at].iov_len) break;
    }
    return sum;
}

int vdprintf(int file, const char *format, va_list values) {
    char *text;
    int count = vasprintf(&text, format, values);
    if (count < 0) return count;
    ssize_t written = midplane_write(file, text, (size_t)count);
    free(text);
    return (int)written;
}
int dprintf(int file, const char *format, ...) {
    va_list values;
    va_start(values, format);
    int count = vdprintf(file, format, values);
    va_end(values);
    return count;
}
/* As the compiler calls them with _FORTIFY_SOURCE. */
int __vdprintf_chk(int file, int flag, const char *format, va_list values);
int __vdprintf_chk(int file, int flag, const char *format, va_list values) {
    (void)flag;
    return vdprintf(file, format, values);
}
int __dprintf_chk(int file, int flag, const char *format, ...);
int __dprintf_chk(int file, int flag, const char *format, ...) {
    (void)flag;
    va_list values;
    va_start(values, format);
    int count = vdprintf(file, format, values);
    va_end(values);
    return count;
}

/* Standard input is rank 0's. */
ssize_t read(int file, void *bytes, size_t count) {
    return file == 0 && midplane_rank() != 0 && !midplane_replaced[0] ? 0 : __read(file, bytes, count);
}

FILE *fdopen(int file, const char *mode) {
    if (is_printed(file)) return stream(midplane_rank(), file == 2);
    if (file == 0 && midplane_rank() != 0 && !midplane_replaced[0]) return no_input();
    return midplane_next(fdopen)(file, mode);
}

/* This rank's streams that are no files: the C library cannot open them again. */
static FILE *own_streams[3];

static FILE *reopen(FILE *reopens(const char *restrict, const char *restrict, FILE *restrict), const char *name,
                    const char *mode, FILE *file) {
    int number = file == stdin ? 0 : file == stdout ? 1 : file == stderr ? 2 : -1;
    if (number >= 0) midplane_replaces(number);
    if (number < 0 || file != own_streams[number]) return reopens(name, mode, file);
    fflush(file);
    /* Another mode alone makes no difference. */
    if (name == NULL) return file;
    FILE *opened = fopen(name, mode);
    if (opened == NULL) return NULL;
    int moved = opened->_fileno;
    if (syscall(SYS_dup3, moved, number, 0) < 0) return fclose(opened), NULL;
    syscall(SYS_close, moved);
    numbered(opened, number);
    *(number == 0 ? &stdin : number == 1 ? &stdout : &stderr) = opened;
    return opened;
}
FILE *freopen(const char *restrict name, const char *restrict mode, FILE *restrict file) {
    return reopen(midplane_next(freopen), name, mode, file);
}
FILE *freopen64(const char *restrict name, const char *restrict mode, FILE *restrict file) {
    return reopen(midplane_next(freopen64), name, mode, file);
}

/* Wide characters, for which the C library has no stream but a file's: they are written as bytes. */

static int is_own(FILE *file) {
    return file != NULL && (file == own_streams[0] || file == own_streams[1] || file == own_streams[2]);
}
wint_t fputwc(wchar_t wide, FILE *file) {
    if (!is_own(file)) return midplane_next(fputwc)(wide, file);
    char bytes[MB_LEN_MAX];
    mbstate_t state = {0};
    size_t count = wcrtomb(bytes, wide, &state);
    return count == (size_t)-1 || fwrite(bytes, 1, count, file) != count ? WEOF : (wint_t)wide;
}
wint_t putwc(wchar_t wide, FILE *file) { return fputwc(wide, file); }
wint_t putwchar(wchar_t wide) { return fputwc(wide, stdout); }
int fputws(const wchar_t *restrict text, FILE *restrict file) {
    if (!is_own(file)) return midplane_next(fputws)(text, file);
    while (*text != 0)
        if (fputwc(*text++, file) == WEOF) return -1;
    return 0;
}
int vfwprintf(FILE *restrict file, const wchar_t *restrict format, va_list values) {
    if (!is_own(file)) return midplane_next(vfwprintf)(file, format, values);
    wchar_t *text = NULL;
    size_t count = 0;
    FILE *memory = open_wmemstream(&text, &count);
    if (memory == NULL) return -1;
    int result = midplane_next(vfwprintf)(memory, format, values);
    fclose(memory);
    for (size_t at = 0; at < count && result >= 0; at++)
        if (fputwc(text[at], file) == WEOF) result = -1;
    free(text);
    return result;
}
int vwprintf(const wchar_t *restrict format, va_list values) { return vfwprintf(stdout, format, values); }
int fwprintf(FILE *restrict file, const wchar_t *restrict format, ...) {
    va_list values;
    va_start(values, format);
    int count = vfwprintf(file, format, values);
    va_end(values);
    return count;
}
int wprintf(const wchar_t *restrict format, ...) {
    va_list values;
    va_start(values, format);
    int count = vfwprintf(stdout, format, values);
    va_end(values);
    return count;
}

/* The streams of this rank that it has not opened; what is in those of all is written. */
int fcloseall(void) {
    int result = fflush(NULL);
    if (stdout != NULL) fclose(stdout);
    if (stderr != NULL) fclose(stderr);
    stdout = stderr = NULL;
    return result;
}

/* The end. */

static struct ending {
    void (*plain)(void);
    void (*told)(int, void *);
    void (*object)(void *);
    void *argument;
    struct ending *before;
} *endings, *quick_endings, *thread_endings;

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
        struct ending last = **list;
        free(*list);
        *list = last.before;
        if (last.plain != NULL) last.plain();
        else if (last.told != NULL) last.told(status, last.argument);
        else last.object(last.argument);
    }
}

static void leave(int status) __attribute__((noreturn));
static void leave(int status) {
    /* The program may have closed them. */
    if (stdout != NULL) fflush(stdout);
    midplane_leave(status);
}

/* Where the linker has put them (cluster.ld). */
typedef void constructor(int argc, char **argv, char **envp);
typedef void destructor(void);
extern constructor *const midplane_constructors_begin[], *const midplane_constructors_end[];
extern destructor *const midplane_destructors_begin[], *const midplane_destructors_end[];

int atexit(void (*function)(void)) { return add(&endings, (struct ending){.plain = function}); }
int at_quick_exit(void (*function)(void)) { return add(&quick_endings, (struct ending){.plain = function}); }
int on_exit(void (*function)(int, void *), void *argument) {
    return add(&endings, (struct ending){.told = function, .argument = argument});
}
/* Destructors of C++'s static and thread-local objects. */
int __wrap___cxa_atexit(void (*function)(void *), void *object, void *file);
int __wrap___cxa_atexit(void (*function)(void *), void *object, void *file) {
    (void)file;
    return add(&endings, (struct ending){.object = function, .argument = object});
}
int __wrap___cxa_thread_atexit(void (*function)(void *), void *object, void *file);
int __wrap___cxa_thread_atexit(void (*function)(void *), void *object, void *file) {
    (void)file;
    return add(&thread_endings, (struct ending){.object = function, .argument = object});
}
void exit(int status) {
    /* Where a function that runs at the end calls `exit`, those that remain run once. */
    static destructor *const *next;
    end(&thread_endings, status);
    end(&endings, status);
    if (next == NULL) next = midplane_destructors_end;
    while (next > midplane_destructors_begin) (*--next)();
    /* A destructor may have added some. */
    end(&endings, status);
    leave(status);
}
void quick_exit(int status) {
    end(&quick_endings, status);
    leave(status);
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
    stdout = own_streams[1] = stream(rank, 0);
    stderr = own_streams[2] = stream(rank, 1);
    if (rank != 0) stdin = own_streams[0] = no_input();
    /* A program may write to its arguments. */
    char **own = calloc((size_t)argc + 1, sizeof *own);
    if (own == NULL) abort();
    for (int at = 0; at < argc; at++) {
        size_t bytes = strlen(argv[at]) + 1;
        own[at] = malloc(bytes);
        if (own[at] == NULL) abort();
        memcpy(own[at], argv[at], bytes);
    }
    constructor *const *next = midplane_constructors_begin;
    while (next < midplane_constructors_end) (*next++)(argc, own, environ);
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

static int sleep_for(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
    if (time->tv_nsec < 0 || time->tv_nsec >= (long)SECOND) return EINVAL;
    uint64_t ns = time->tv_sec < 0 ? 0 : (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
    if (flags & TIMER_ABSTIME) {
        uint64_t now = midplane_now() + (clock == CLOCK_REALTIME ? BEGINNING * SECOND : 0);
        ns = ns > now ? ns - now : 0;
    }
    ns = midplane_rest(ns);
    if (ns == 0) return 0;
    if (left != NULL && !(flags & TIMER_ABSTIME)) *left = (struct timespec){(time_t)(ns / SECOND), (long)(ns % SECOND)};
    return EINTR;
}
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
    return sleep_for(clock, flags, time, left);
}
static int rest(const struct timespec *time, struct timespec *left) {
    int error = time->tv_sec < 0 ? EINVAL : sleep_for(CLOCK_MONOTONIC, 0, time, left);
    return error == 0 ? 0 : (errno = error, -1);
}
int nanosleep(const struct timespec *time, struct timespec *left) { return rest(time, left); }
int usleep(useconds_t us) { return midplane_rest((uint64_t)us * 1000) == 0 ? 0 : (errno = EINTR, -1); }
unsigned sleep(unsigned seconds) { return (unsigned)(midplane_rest(seconds * SECOND) / SECOND); }

/* What waits for nothing but the time. */
int select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *wait) {
    struct timespec left, *limit = NULL;
    if (wait != NULL) {
        left = (struct timespec){wait->tv_sec, wait->tv_usec * 1000};
        limit = &left;
    }
    if (count == 0 && limit != NULL) return rest(limit, NULL);
    return pselect(count, reads, writes, others, limit, NULL);
}
int poll(struct pollfd *files, nfds_t count, int ms) {
    struct timespec limit = {ms / 1000, ms % 1000 * 1000000L};
    if (count == 0 && ms >= 0) return rest(&limit, NULL);
    return ppoll(files, count, ms >= 0 ? &limit : NULL, NULL);
}

/* A library that is loaded later would have variables for all ranks; the program's own functions can be looked up. */
void *dlopen(const char *name, int flags) {
    if (name != NULL) midplane_refuse("dlopen", "ranks would share the variables of a library that is loaded later");
    return midplane_next(dlopen)(NULL, flags);
}
