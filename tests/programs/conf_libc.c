/* What programs use of the C library and POSIX beside MPI: that it is there and does what the standards say, where
 * a node with one process, one thread and no files can. On Linux the same checks hold.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <complex.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <float.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "check.h"

#define NEAR(a, b) CHECK(fabs((double)(a) - (double)(b)) < 1e-9)

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

static void sorting(void)
{
    int numbers[] = {5, 3, 9, 1, 7}, key = 7, i;
    int *found;

    qsort(numbers, 5, sizeof numbers[0], compare);
    for (i = 0; i < 5; i++)
        CHECK(numbers[i] == 2 * i + 1);
    found = bsearch(&key, numbers, 5, sizeof numbers[0], compare);
    CHECK(found == &numbers[3]);
    CHECK(abs(-3) == 3 && labs(-3L) == 3 && llabs(-3LL) == 3);
    CHECK(div(7, 2).rem == 1 && ldiv(7, 2).quot == 3 && lldiv(7, 2).rem == 1);
}

static void strings(void)
{
    char words[] = "a,b,,c", *rest = NULL, *copy, text[64];
    int count = 0, a = 0, b = 0;
    volatile size_t short_room = 4;
    double x = 0;

    for (copy = strtok_r(words, ",", &rest); copy != NULL; copy = strtok_r(NULL, ",", &rest))
        count++;
    CHECK(count == 3);
    copy = strdup("hello");
    CHECK(copy != NULL && strcmp(copy, "hello") == 0);
    free(copy);
    copy = strndup("hello", 2);
    CHECK(copy != NULL && strcmp(copy, "he") == 0);
    free(copy);
    CHECK(strcasecmp("AbC", "aBc") == 0 && strncasecmp("AbX", "aBc", 2) == 0);
    CHECK(strstr("hello", "ll") != NULL && strchr("abc", 'd') == NULL && strrchr("abca", 'a') != NULL);
    CHECK(strspn("aab", "a") == 2 && strcspn("aab", "b") == 2 && strpbrk("abc", "cb") != NULL);
    CHECK(strnlen("abc", 2) == 2 && memchr("abc", 'b', 3) != NULL);
    CHECK(strtol("0x1f", NULL, 0) == 31 && strtoul("17", NULL, 8) == 15 && strtoll("-5", NULL, 10) == -5);
    CHECK(atoi("12") == 12 && atol("12") == 12 && atoll("12") == 12);
    NEAR(strtod("1.5e2", NULL), 150);
    NEAR(atof("-0.25"), -0.25);
    CHECK(snprintf(text, short_room, "%d", 12345) == 5 && strcmp(text, "123") == 0);
    CHECK(sprintf(text, "%5.2f|%-4s|%04d|%zu", 3.14159, "ab", 7, (size_t)9) == 17);
    CHECK(strcmp(text, " 3.14|ab  |0007|9") == 0);
    CHECK(sscanf("3 4 2.5", "%d %d %lf", &a, &b, &x) == 3 && a == 3 && b == 4 && x == 2.5);
    CHECK(asprintf(&copy, "%s-%d", "x", 5) == 3 && strcmp(copy, "x-5") == 0);
    free(copy);
    CHECK(isalpha('a') && isdigit('5') && isspace(' ') && toupper('a') == 'A' && tolower('A') == 'a');
    memmove(words, words + 2, 3);
    CHECK(memcmp(words, "b", 1) == 0);
    CHECK(strlen(strerror(ENOENT)) > 0);
}

static void conversions(void)
{
    char text[64], word[8] = "";
    wchar_t wide[32];
    char *made = NULL, *end = NULL, *volatile nowhere = NULL;
    int length = 0, a = 0, b = 0;
    volatile size_t none = 0;
#ifndef __GLIBC__
    const char *volatile far = "%2147483647d%d";
#endif
    double x = 0;
    long double y = 0;

    CHECK(snprintf(text, sizeof text, "%ls|%.2ls|%lc", L"wide", L"wide", (wint_t)L'w') == 9 && strcmp(text, "wide|wi|w") == 0);
    errno = 0;
    CHECK(snprintf(text, sizeof text, "%ls", L"caf\xe9") == -1 && errno == EILSEQ);
    CHECK(snprintf(text, sizeof text, "%2$s %1$*3$d%4$n", 7, "x", 3, &length) == 5 && strcmp(text, "x   7") == 0 && length == 5);
    CHECK(snprintf(nowhere, none, "%d", 12345) == 5);
    errno = 0;
#ifndef __GLIBC__ /* It writes 2^31 blanks to nowhere for 6 s. */
    CHECK(snprintf(nowhere, none, far, 1, 2) == -1 && errno == EOVERFLOW);
#endif
    CHECK(snprintf(text, sizeof text, "%.18Lg|%Le", 0.5L + 0x1p-60L, -1e4000L) > 0);
    CHECK(strcmp(text, "0.500000000000000001|-1.000000e+4000") == 0);
    CHECK(swprintf(wide, 32, L"%s|%ls|%.3f", "narrow", L"\x20ac", 0.0625) == 14 && wide[7] == 0x20ac);
    CHECK(swprintf(wide, 4, L"%d", 1234) == -1);
    CHECK(sscanf("0x1.8p3 inf 12,abc-def", "%lf %Lf %d,%3[a-c]-%ms%n", &x, &y, &a, word, &made, &length) == 5);
    CHECK(x == 12 && isinf(y) && a == 12 && strcmp(word, "abc") == 0 && strcmp(made, "def") == 0 && length == 22);
    free(made);
    CHECK(sscanf("3 4", "%2$d %1$d", &a, &b) == 2 && a == 4 && b == 3);
    CHECK(sscanf("12345", "%2d%n", &a, &length) == 1 && a == 12 && length == 2 && sscanf("", "%d", &a) == EOF);
    CHECK(swscanf(L"7 \x20ac", L"%d %ls", &a, wide) == 2 && a == 7 && wide[0] == 0x20ac);
    errno = 0;
    CHECK(strtod("1e400", &end) == HUGE_VAL && errno == ERANGE && *end == 0);
    errno = 0;
    CHECK(strtod("1e-400", NULL) == 0 && errno == ERANGE);
    CHECK(strtod("0x", &end) == 0 && *end == 'x' && isnan(strtod("nan(12)x", &end)) && *end == 'x');
    CHECK(strtod("9007199254740993", NULL) == 9007199254740992 && strtof("16777217", NULL) == 16777216);
    CHECK(strtod("2.2250738585072011e-308", NULL) < 0x1p-1022 && strtold("0.1", NULL) == 0.1L);
    CHECK(fprintf(stdin, "x") == -1 && ferror(stdin));
    clearerr(stdin);
}

static int formatted(char **out, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vasprintf(out, format, arguments);
    va_end(arguments);
    return length;
}

/* memcpy of every size and from every alignment, to several: what was asked for and nothing beside it. */
static void copying(void)
{
    enum { MOST = 150, ROOM = MOST + 32 };
    static const int to_starts[] = {8, 9, 11, 12, 15};
    static unsigned char from[ROOM], to[ROOM];
    void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    int size, from_at, i, at, wrong = 0;

    for (i = 0; i < ROOM; i++)
        from[i] = (unsigned char)(i * 7 + 1);
    for (size = 0; size <= MOST; size++)
        for (from_at = 0; from_at < 8; from_at++)
            for (i = 0; i < (int)(sizeof to_starts / sizeof *to_starts); i++) {
                unsigned char *start = to + to_starts[i];

                memset(to, 0, sizeof to);
                wrong += copy(start, from + from_at, (size_t)size) != start;
                wrong += memcmp(start, from + from_at, (size_t)size) != 0;
                for (at = 1; at <= 8; at++)
                    wrong += start[-at] != 0 || start[size + at - 1] != 0;
            }
    CHECK(wrong == 0);
}

/* memset of every size and from every alignment, by several values: what was asked for and nothing beside it. */
static void filling(void)
{
    enum { MOST = 150, ROOM = MOST + 32 };
    static const int values[] = {0, 1, 0x7f, 0x80, 0xa5, 0x1ff, -2};
    static unsigned char to[ROOM];
    void *(*volatile fill)(void *, int, size_t) = memset;
    int size, start, i, at, wrong = 0;

    for (size = 0; size <= MOST; size++)
        for (start = 8; start < 16; start++)
            for (i = 0; i < (int)(sizeof values / sizeof *values); i++) {
                for (at = 0; at < ROOM; at++)
                    to[at] = 0x3c;
                wrong += fill(to + start, values[i], (size_t)size) != to + start;
                for (at = 0; at < ROOM; at++) {
                    int is_in = at >= start && at < start + size;

                    wrong += to[at] != (is_in ? (unsigned char)values[i] : 0x3c);
                }
            }
    CHECK(wrong == 0);
}

static void streams(void)
{
    char *line = NULL, *text = NULL, buffer[8];
    size_t room = 0;
    FILE *volatile no_file;
    const char *volatile no_format = NULL;

    CHECK(fflush(NULL) == 0 && fflush(stdout) == 0);
    CHECK(setvbuf(stdout, NULL, _IOLBF, 0) == 0);
    setbuf(stderr, NULL);
    CHECK(fprintf(stderr, "%s", "") == 0);
    CHECK(formatted(&text, "%d", 42) == 2 && strcmp(text, "42") == 0);
    free(text);
    errno = 0;
#ifdef __SANITIZE_ADDRESS__ /* Sanitizers say so, and end the program. */
    (void)no_format;
#else
    CHECK(printf(no_format) == -1 && errno == EINVAL);
#endif
    /* Standard input is rank 0's, and is empty here. */
    if (!IS_MPICH || check_rank == 0) { /* The others' does not end there. */
        CHECK(fgets(buffer, sizeof buffer, stdin) == NULL);
        CHECK(getline(&line, &room, stdin) == -1 && feof(stdin));
    }
    free(line);
    errno = 0;
    no_file = fopen("/no such directory/file", "r");
    CHECK(no_file == NULL && (errno == EROFS || errno == ENOENT));
    no_file = fopen("/no such directory/file", "w");
    CHECK(no_file == NULL && (errno == EROFS || errno == ENOENT));
    CHECK(remove("/no such directory/file") == -1);
    CHECK(rename("/no such directory/file", "/no such directory/other") == -1);
    CHECK(FILENAME_MAX >= PATH_MAX && FOPEN_MAX >= 8 && FOPEN_MAX <= sysconf(_SC_OPEN_MAX));
}

static void files(void)
{
    struct stat status;
    char place[256];
    DIR *dir;

    CHECK(open("/no such directory/file", O_RDONLY) == -1);
    CHECK(access("/no such directory/file", R_OK) == -1 && errno == ENOENT);
    CHECK(stat("/no such directory/file", &status) == -1 && errno == ENOENT);
    CHECK(lstat("/no such directory/file", &status) == -1 && errno == ENOENT);
    CHECK(unlink("/no such directory/file") == -1 && errno == ENOENT);
    CHECK(mkdir("/no such directory/directory", 0777) == -1);
    CHECK(close(1000) == -1 && errno == EBADF);
    dir = opendir("/no such directory");
    CHECK(dir == NULL && (errno == EROFS || errno == ENOENT));
    CHECK(getcwd(place, sizeof place) == place && place[0] == '/');
}

static void memory(void)
{
    char *block;
    void *aligned = NULL;
    size_t i, wrong = 0;

    block = calloc(100, 10);
    for (i = 0; block != NULL && i < 1000; i++)
        wrong += block[i] != 0;
    CHECK(block != NULL && wrong == 0);
    strcpy(block, "kept");
    block = realloc(block, 5000);
    CHECK(block != NULL && strcmp(block, "kept") == 0);
    free(block);
    CHECK(posix_memalign(&aligned, 256, 100) == 0 && (uintptr_t)aligned % 256 == 0);
    free(aligned);
    aligned = aligned_alloc(64, 128);
    CHECK(aligned != NULL && (uintptr_t)aligned % 64 == 0);
    free(aligned);
    aligned = memalign(128, 5);
    CHECK(aligned != NULL && (uintptr_t)aligned % 128 == 0);
    free(aligned);
    block = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(block != MAP_FAILED && (uintptr_t)block % 4096 == 0);
    if (block != MAP_FAILED) {
        CHECK(block[0] == 0 && block[9999] == 0);
        block[9999] = 1;
        CHECK(mprotect(block, 10000, PROT_READ | PROT_WRITE) == 0 && madvise(block, 10000, MADV_NORMAL) == 0);
        CHECK(munmap(block, 10000) == 0);
    }
    CHECK(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED);
}

static void mathematics(void)
{
    double complex z = 3 + 4 * I;
    int exponent;
    double whole;

    NEAR(cabs(z), 5);
    NEAR(creal(z * conj(z)), 25);
    NEAR(creal(cexp(I * 3.14159265358979323846)), -1);
    NEAR(carg(I), 1.57079632679489661923);
    NEAR(creal(csqrt(-1 + 0 * I)), 0);
    CHECK(creal(CMPLX(0, INFINITY)) == 0 && signbit(cimag(CMPLX(1, -0.0))) && cimagf(CMPLXF(1, 2)) == 2);
    CHECK(creall(CMPLXL(1, 2)) == 1);
    NEAR(sqrt(2) * sqrt(2), 2);
    NEAR(pow(2, 10), 1024);
    NEAR(exp(log(3)), 3);
    NEAR(sin(1) * sin(1) + cos(1) * cos(1), 1);
    NEAR(atan2(1, 1) * 4, 3.14159265358979323846);
    NEAR(tgamma(5), 24);
    NEAR(erf(0), 0);
    NEAR(cbrt(27), 3);
    NEAR(hypot(3, 4), 5);
    NEAR(fma(2, 3, 4), 10);
    NEAR(frexp(8, &exponent), 0.5);
    NEAR(modf(2.5, &whole), 0.5);
    CHECK(exponent == 4 && whole == 2);
    CHECK(floor(-1.5) == -2 && ceil(1.2) == 2 && round(2.5) == 3 && trunc(-1.7) == -1 && lround(1.5) == 2);
    CHECK(isnan(NAN) && isinf(INFINITY) && isfinite(1.0) && signbit(-1.0) && fmax(1, 2) == 2 && fmod(7, 4) == 3);
    CHECK(sqrtf(4) == 2 && fabsf(-1.0f) == 1 && fabsl(-1.0L) == 1);
    CHECK(feclearexcept(FE_ALL_EXCEPT) == 0 && fegetround() == FE_TONEAREST);
}

static void randomness(void)
{
    unsigned seed = 5, again = 5;
    long first;
    double x;

    srand48(1);
    x = drand48();
    srand48(1);
    CHECK(x >= 0 && x < 1 && x == drand48() && lrand48() >= 0);
    srandom(7);
    first = random();
    srandom(7);
    CHECK(first == random());
    CHECK(rand_r(&seed) == rand_r(&again) && seed == again);
    srand(3);
    first = rand();
    srand(3);
    CHECK(first == rand() && first <= RAND_MAX);
}

static void times_and_clocks(void)
{
    struct timeval tv, wait = {0, 1000};
    struct timespec begin, end, resolution, pause_for = {0, 1000000};
    struct tms all;
    struct rusage usage;
    struct rlimit limit;
    time_t day = 86400;
    char text[32];

    CHECK(gettimeofday(&tv, NULL) == 0 && tv.tv_usec >= 0 && tv.tv_usec < 1000000);
    CHECK(clock_gettime(CLOCK_MONOTONIC, &begin) == 0);
    CHECK(nanosleep(&pause_for, NULL) == 0 && usleep(1000) == 0 && sleep(0) == 0);
    CHECK(select(0, NULL, NULL, NULL, &wait) == 0);
    CHECK(clock_gettime(CLOCK_MONOTONIC, &end) == 0);
    CHECK((end.tv_sec - begin.tv_sec) * 1000000000L + end.tv_nsec - begin.tv_nsec >= 3000000);
    CHECK(clock_getres(CLOCK_MONOTONIC, &resolution) == 0 && resolution.tv_nsec > 0);
    CHECK(clock_gettime(CLOCK_REALTIME, &begin) == 0 && time(NULL) + 1 >= begin.tv_sec);
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin) == 0);
    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin) == 0 && begin.tv_sec >= 0);
    CHECK(clock() != (clock_t)-1 && times(&all) != (clock_t)-1);
    CHECK(gmtime(&day)->tm_mday == 2 && localtime(&day) != NULL);
    CHECK(strftime(text, sizeof text, "%Y-%m-%d", gmtime(&day)) == 10 && strcmp(text, "1970-01-02") == 0);
    CHECK(difftime(5, 3) == 2 && mktime(gmtime(&day)) != (time_t)-1);
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_utime.tv_sec >= 0 && usage.ru_maxrss >= 0);
    CHECK(getrusage(99, &usage) == -1 && errno == EINVAL);
    CHECK(getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur > 0);
    CHECK(getrlimit(-5, &limit) == -1 && errno == EINVAL);
}

static jmp_buf place;

static void jumps(void)
{
    volatile int turns = 0;
    int value = setjmp(place);

    turns++;
    if (value == 0)
        longjmp(place, 3);
    CHECK(value == 3 && turns == 2);
}

static volatile sig_atomic_t handled;

static void handle(int number)
{
    handled = number;
}

static void signals(void)
{
    struct sigaction action, old;
    sigset_t set;

    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR1) == 0 && sigismember(&set, SIGUSR1));
    CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK(raise(SIGUSR1) == 0 && handled == SIGUSR1);
    CHECK(signal(SIGUSR2, handle) == SIG_DFL);
    CHECK(kill(getpid(), SIGUSR2) == 0 && handled == SIGUSR2);
    CHECK(signal(SIGUSR2, SIG_IGN) == handle && raise(SIGUSR2) == 0);
    CHECK(sigaction(-1, &action, NULL) == -1 && errno == EINVAL);
    CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == handle);
}

static void processes(void)
{
    struct utsname names;
    char host[65], *own = NULL;

    CHECK(getpid() > 0 && getuid() == getuid());
    CHECK(gethostname(host, sizeof host) == 0 && strlen(host) > 0 && strlen(host) <= HOST_NAME_MAX);
    CHECK(HOST_NAME_MAX == sysconf(_SC_HOST_NAME_MAX) && SSIZE_MAX == (ssize_t)(SIZE_MAX / 2));
    CHECK(uname(&names) == 0 && strcmp(names.nodename, host) == 0 && strlen(names.sysname) > 0);
    CHECK(sysconf(_SC_PAGESIZE) == 4096 && sysconf(_SC_NPROCESSORS_ONLN) >= 1 && getpagesize() == 4096);
    CHECK(sched_yield() == 0);
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    CHECK(getenv("NO_SUCH_VARIABLE") == NULL);
    CHECK(setenv("CONF_LIBC", "yes", 1) == 0 && strcmp(getenv("CONF_LIBC"), "yes") == 0);
    CHECK(setenv("CONF_LIBC", "no", 0) == 0 && strcmp(getenv("CONF_LIBC"), "yes") == 0);
    CHECK(unsetenv("CONF_LIBC") == 0 && getenv("CONF_LIBC") == NULL);
    own = setlocale(LC_ALL, "C");
    CHECK(own != NULL);
    CHECK(wcslen(L"abc") == 3 && towupper(L'a') == L'A');
    assert(check_size > 0);
}

static void options(void)
{
    char *words[] = {"program", "-n", "5", "--verbose", "--size=7", "rest", NULL};
    static const struct option longs[] = {
        {"verbose", no_argument, NULL, 'v'}, {"size", required_argument, NULL, 's'}, {NULL, 0, NULL, 0}};
    int c, n = 0, verbose = 0, size = 0;

    CHECK(getopt(3, words, "n:") == 'n' && getopt(3, words, "n:") == -1);
    optind = 1;
    while ((c = getopt_long(6, words, "n:v", longs, NULL)) != -1) {
        n = c == 'n' ? atoi(optarg) : n;
        verbose |= c == 'v';
        size = c == 's' ? atoi(optarg) : size;
    }
    CHECK(n == 5 && verbose == 1 && size == 7 && optind == 5);
}

static pthread_mutex_t fixed = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_count;

static void count_once(void)
{
    once_count++;
}

/* Where a thread can be made, it is; a node says that it cannot. */
static void *thread_main(void *argument)
{
    return argument;
}

static void threads(void)
{
    pthread_mutex_t mutex;
    pthread_mutexattr_t kind;
    pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_key_t key;
    struct timespec now;
    int value = 0, error;
    void *result = NULL;

    CHECK(pthread_mutex_lock(&fixed) == 0);
    CHECK(pthread_mutex_trylock(&fixed) == EBUSY);
    clock_gettime(CLOCK_REALTIME, &now);
    CHECK(pthread_cond_timedwait(&changed, &fixed, &now) == ETIMEDOUT);
    CHECK(pthread_cond_signal(&changed) == 0 && pthread_cond_broadcast(&changed) == 0);
    CHECK(pthread_mutex_unlock(&fixed) == 0);
    CHECK(pthread_mutexattr_init(&kind) == 0 && pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE) == 0);
    CHECK(pthread_mutex_init(&mutex, &kind) == 0);
    CHECK(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == EPERM && pthread_mutex_destroy(&mutex) == 0);
    CHECK(pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK) == 0);
    CHECK(pthread_mutex_init(&mutex, &kind) == 0 && pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_mutex_lock(&mutex) == EDEADLK && pthread_mutex_unlock(&mutex) == 0);
    CHECK(pthread_mutexattr_settype(&kind, 77) == EINVAL && pthread_mutexattr_destroy(&kind) == 0);
    CHECK(pthread_rwlock_rdlock(&rw) == 0 && pthread_rwlock_rdlock(&rw) == 0);
    CHECK(pthread_rwlock_trywrlock(&rw) == EBUSY);
    CHECK(pthread_rwlock_unlock(&rw) == 0 && pthread_rwlock_unlock(&rw) == 0 && pthread_rwlock_wrlock(&rw) == 0);
    CHECK(pthread_rwlock_unlock(&rw) == 0);
    CHECK(pthread_once(&once, count_once) == 0 && pthread_once(&once, count_once) == 0 && once_count == 1);
    CHECK(pthread_key_create(&key, NULL) == 0 && pthread_getspecific(key) == NULL);
    CHECK(pthread_setspecific(key, &value) == 0 && pthread_getspecific(key) == &value);
    CHECK(pthread_key_delete(key) == 0 && pthread_setspecific(key, &value) == EINVAL);
    CHECK(pthread_equal(pthread_self(), pthread_self()));
    CHECK(pthread_attr_init(&attributes) == 0);
    error = pthread_create(&thread, &attributes, thread_main, &value);
    CHECK(error == EAGAIN || (error == 0 && pthread_join(thread, &result) == 0 && result == &value));
    CHECK(pthread_attr_destroy(&attributes) == 0);
}

static int ended;

static void at_end(void)
{
    ended = 1;
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    CHECK(atexit(at_end) == 0 && ended == 0);
    sorting();
    strings();
    conversions();
    copying();
    filling();
    streams();
    files();
    memory();
    mathematics();
    randomness();
    times_and_clocks();
    jumps();
    signals();
    processes();
    options();
    threads();
    return check_end("conf_libc");
}
