/* State of a process that is no variable of the program's: that of the thread, of the C library, of the system. Each process
 * sets its own, lets the others go on, and finds it again, though all may be in one. It checks itself, on Linux and in the
 * cluster, in a directory that it may write to.
 *
 *     own_state DIRECTORY
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <getopt.h>
#include <locale.h>
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "check.h"

static void let_others_go_on(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static _Thread_local int set = 5;
static __thread int zero;
static _Thread_local char many[3000] = "many";

static void thread_locals(void)
{
    int at;

    CHECK(set == 5 && zero == 0 && strcmp(many, "many") == 0);
    set = zero = 100 + check_rank;
    for (at = 0; at < 3000; at++)
        many[at] = (char)(check_rank + at);
    let_others_go_on();
    CHECK(set == 100 + check_rank && zero == set);
    for (at = 0; at < 3000 && many[at] == (char)(check_rank + at);)
        at++;
    CHECK(at == 3000);
}

static void floating_point(void)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    static const int flags[] = {FE_INVALID, FE_DIVBYZERO, FE_OVERFLOW, FE_INEXACT, 0};
    volatile double one = 1, three = 3;
    volatile long double long_one = 1, long_three = 3;
    double third;
    long double long_third;
    int mode = modes[check_rank % 4], flag = flags[check_rank % 5];

    feclearexcept(FE_ALL_EXCEPT);
    let_others_go_on();
    CHECK(fetestexcept(FE_ALL_EXCEPT) == 0);
    fesetround(mode);
    third = one / three;
    long_third = long_one / long_three;
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(flag & ~(FE_OVERFLOW | FE_UNDERFLOW));
    flag = fetestexcept(FE_ALL_EXCEPT);
    let_others_go_on();
    CHECK(fetestexcept(FE_ALL_EXCEPT) == flag);
    CHECK(fegetround() == mode);
    CHECK(one / three == third && long_one / long_three == long_third);
    fesetround(FE_TONEAREST);
#ifdef __x86_64__
    feclearexcept(FE_ALL_EXCEPT);
    if (check_rank % 2 == 0)
        feenableexcept(FE_DIVBYZERO);
    let_others_go_on();
    CHECK(fegetexcept() == (check_rank % 2 == 0 ? FE_DIVBYZERO : 0));
    if (check_rank % 2 == 1)
        CHECK(one / (three - 3) > 1);
    let_others_go_on();
    fedisableexcept(FE_ALL_EXCEPT);
    feclearexcept(FE_ALL_EXCEPT);
#endif
}

static int handled, handled_as;

static void handle(int number)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    handled += number;
    handled_as = rank;
}

static void handle_otherwise(int number)
{
    handled -= number;
}

static sigjmp_buf again;

static void jump(int number)
{
    siglongjmp(again, number);
}

static void signals(void)
{
    struct sigaction action;
    sigset_t mask, before, now;
    int *volatile nowhere = NULL;
    int taken;

    signal(SIGUSR1, check_rank % 2 ? handle : handle_otherwise);
    if (check_rank % 3 == 0)
        signal(SIGUSR2, SIG_IGN);
    let_others_go_on();
    raise(SIGUSR1);
    CHECK(handled == (check_rank % 2 ? SIGUSR1 : -SIGUSR1) && (handled < 0 || handled_as == check_rank));
    sigaction(SIGUSR2, NULL, &action);
    CHECK(action.sa_handler == (check_rank % 3 == 0 ? SIG_IGN : SIG_DFL));
    kill(getpid(), SIGUSR1);
    CHECK(abs(handled) == 2 * SIGUSR1);

    /* Blocked, sent, and handled when it is no longer blocked, which is at another time for each. */
    handled = 0;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    if (check_rank % 2 == 0) {
        sigprocmask(SIG_BLOCK, &mask, &before);
        raise(SIGUSR1);
    }
    let_others_go_on();
    CHECK(handled == 0);
    sigprocmask(SIG_BLOCK, NULL, &now);
    CHECK(sigismember(&now, SIGUSR1) == (check_rank % 2 == 0));
    sigpending(&now);
    CHECK(sigismember(&now, SIGUSR1) == (check_rank % 2 == 0));
    if (check_rank % 4 == 0)
        sigprocmask(SIG_SETMASK, &before, NULL);
    let_others_go_on();
    CHECK(handled == (check_rank % 4 == 0 ? -SIGUSR1 : 0));
    if (check_rank % 4 == 2) {
        CHECK(sigwait(&mask, &taken) == 0 && taken == SIGUSR1);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    CHECK(check_rank % 4 == 0 || handled == 0);

    /* A fault, with a handler that each has at its own time. */
    let_others_go_on();
    if (sigsetjmp(again, 1) == 0) {
        signal(SIGSEGV, jump);
        let_others_go_on();
        *nowhere = 1;
        CHECK(!"a fault is handled");
    }
    signal(SIGSEGV, SIG_DFL);
    let_others_go_on();
}

static volatile sig_atomic_t rung;

static void count(int number)
{
    (void)number;
    rung++;
}

/* Alarms, at times that differ; the clock is virtual in the cluster, which no check here can tell. */
static void alarms(void)
{
    struct itimerval timer = {{0, 0}, {0, 1000 + 1000 * (check_rank % 5)}}, none = {{0, 0}, {0, 0}};
    int looked = 0;

    signal(SIGALRM, count);
    alarm(1000);
    CHECK(alarm(0) > 900);
    setitimer(ITIMER_REAL, &timer, NULL);
    let_others_go_on();
    while (rung == 0) {
        MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &looked, MPI_STATUS_IGNORE);
        if (check_rank % 2)
            MPI_Wtime();
    }
    CHECK(rung == 1);
    let_others_go_on();
    timer.it_interval.tv_usec = 1000;
    setitimer(ITIMER_REAL, &timer, NULL);
    while (rung < 4)
        pause();
    setitimer(ITIMER_REAL, &none, NULL);
    CHECK(rung >= 4);
    let_others_go_on();
    rung = 0;
    setitimer(ITIMER_REAL, &timer, NULL);
    CHECK(usleep(900000) == -1 && errno == EINTR && rung >= 1);
    setitimer(ITIMER_REAL, &none, NULL);
    signal(SIGALRM, SIG_IGN);
}

/* Random numbers, words, options, dates, texts, tables: what functions have of one call at the next. */
static void library(void)
{
    static const struct option names[] = {
        {"number", required_argument, NULL, 'n'}, {"verbose", no_argument, NULL, 'v'}, {NULL, 0, NULL, 0}};
    char first[16], other[] = "other", number[24], words[] = "one two three", *word, *list[12];
    time_t when = 86400L * 365 * check_rank, later = when + 86400;
    const struct tm *date;
    const char *text, *address;
    struct in_addr numbers;
    ENTRY entry, *found;
    int count = 0, code, drawn, options = 0, others;
    mbstate_t *none = NULL;
    wchar_t wide;
    pthread_key_t key;

    srand(7);
    drawn = rand();
    srand((unsigned)check_rank);
    srand48(check_rank);
    word = strtok(words, " ");
    let_others_go_on();
    word = strtok(NULL, " ");
    CHECK(word != NULL && strcmp(word, "two") == 0);
    code = rand();
    srand((unsigned)check_rank);
    CHECK(rand() == code);
    srand(7);
    CHECK(rand() == drawn);

    snprintf(first, sizeof first, "program%d", check_rank);
    snprintf(number, sizeof number, "--number=%d", check_rank);
    list[count++] = first;
    for (others = check_rank % 3; others > 0; others--)
        list[count++] = other;
    list[count++] = strdup("-ab");
    list[count++] = other;
    list[count++] = number;
    list[count++] = strdup("--verb");
    list[count++] = strdup("-x");
    list[count++] = strdup("value");
    list[count++] = other;
    list[count] = NULL;
    opterr = 0;
    while ((code = getopt_long(count, list, "abx:", names, NULL)) != -1) {
        options = options * 10 + (code == 'a' ? 1 : code == 'b' ? 2 : code == 'n' ? 3 : code == 'v' ? 4 : code == 'x' ? 5 : 9);
        if (code == 'n')
            CHECK(atoi(optarg) == check_rank);
        if (code == 'x')
            CHECK(strcmp(optarg, "value") == 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(options == 12345 && count - optind == check_rank % 3 + 2 && strcmp(list[optind], "other") == 0);

    date = gmtime(&when);
    text = asctime(localtime(&later));
    entry.key = first;
    entry.data = first;
    CHECK(hcreate(8) != 0 && hsearch(entry, ENTER) != NULL);
    numbers.s_addr = htonl(0x7f000000U + (unsigned)check_rank);
    address = inet_ntoa(numbers);
    word = strerror(10000 + check_rank);
    CHECK(mbrtowc(&wide, "\xc3", 1, none) != 1 || MB_CUR_MAX == 1);
    CHECK(pthread_key_create(&key, NULL) == 0 && pthread_setspecific(key, first) == 0);
    let_others_go_on();
    /* `localtime` has the same place. */
    CHECK(date->tm_year == 70 + check_rank);
    CHECK(atoi(strrchr(text, ' ')) == 1970 + check_rank);
    snprintf(number, sizeof number, "127.0.0.%d", check_rank);
    CHECK(strcmp(address, number) == 0);
    snprintf(number, sizeof number, "%d", 10000 + check_rank);
    CHECK(strstr(word, number) != NULL);
    entry.key = first;
    found = hsearch(entry, FIND);
    CHECK(found != NULL && found->data == (void *)first);
    entry.key = other;
    CHECK(hsearch(entry, FIND) == NULL);
    hdestroy();
    CHECK(pthread_getspecific(key) == (void *)first);
    errno = 1000 + check_rank;
    let_others_go_on();
    /* A call of MPI may change it, but not to another rank's. */
    CHECK(errno < 1000 || errno == 1000 + check_rank);
    setenv("TZ", check_rank % 2 ? "XXX-3" : "YYY5", 1);
    let_others_go_on();
    when = 86400;
    CHECK(localtime(&when)->tm_hour == (check_rank % 2 ? 3 : 19));
    tzset();
    CHECK(strcmp(tzname[0], check_rank % 2 ? "XXX" : "YYY") == 0);
    CHECK(timezone == (check_rank % 2 ? -10800 : 18000));
}

static void locales(void)
{
    const char *name = check_rank % 2 ? "C.UTF-8" : "C";
    wchar_t wide;
    int has_it;

    CHECK(strcmp(setlocale(LC_ALL, NULL), "C") == 0);
    has_it = setlocale(LC_CTYPE, name) != NULL;
    let_others_go_on();
    if (has_it) {
        CHECK(strcmp(setlocale(LC_CTYPE, NULL), name) == 0);
        CHECK((MB_CUR_MAX > 1) == check_rank % 2);
        CHECK(mbtowc(&wide, "\xc3\xa9", 2) == (check_rank % 2 ? 2 : -1) || check_rank % 2 == 0);
    }
    CHECK(setlocale(LC_ALL, "no such locale") == NULL);
    CHECK(strcmp(localeconv()->decimal_point, ".") == 0);
}

static void files(const char *directory)
{
    mode_t mask = (mode_t)(check_rank % 8);
    char name[4096], other[4096];
    struct stat status;
    struct rlimit limit;
    struct flock lock = {0};
    FILE *stream;
    int file, kept, round;

    umask(mask);
    let_others_go_on();
    snprintf(name, sizeof name, "%s/own%d", directory, check_rank);
    CHECK(mkdir(name, 0777) == 0 && stat(name, &status) == 0 && (status.st_mode & 0777) == (0777 & ~mask));
    CHECK(umask(0022) == mask);
    CHECK(chdir(name) == 0);
    let_others_go_on();
    CHECK(getcwd(other, sizeof other) != NULL && strcmp(strrchr(other, '/'), strrchr(name, '/')) == 0);

    /* Output to a file of each one's, by all ways; then as before. */
    stream = fopen("log", "w");
    fprintf(stream, "%d\n", check_rank);
    fflush(stdout);
    kept = dup(1);
    CHECK(kept > 2 && dup2(fileno(stream), 1) == 1);
    for (round = 0; round < 3; round++) {
        let_others_go_on();
        printf("p%d\n", check_rank);
        fflush(stdout);
        CHECK(write(1, "w\n", 2) == 2);
        CHECK(dprintf(1, "d%d\n", check_rank) > 0);
    }
    CHECK(dup2(kept, 1) == 1);
    close(kept);
    fclose(stream);
    let_others_go_on();
    stream = fopen("log", "r");
    snprintf(other, sizeof other, "p%dwd%dp%dwd%dp%dwd%d", check_rank, check_rank, check_rank, check_rank, check_rank,
             check_rank);
    name[0] = 0;
    while (fscanf(stream, "%40s", name + strlen(name)) == 1)
        ;
    fclose(stream);
    CHECK(strstr(name, other) != NULL);

    /* An even process has no standard input, and an odd one's is a file. */
    close(0);
    if (check_rank % 2) {
        file = open("log", O_RDONLY);
        CHECK(file == 0);
    }
    let_others_go_on();
    CHECK((fcntl(0, F_GETFD) >= 0) == check_rank % 2);

    CHECK(getrlimit(RLIMIT_CORE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max < 5000 ? 0 : 4096 * (rlim_t)(check_rank % 2);
    CHECK(setrlimit(RLIMIT_CORE, &limit) == 0);
    let_others_go_on();
    CHECK(getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 4096 * (rlim_t)(check_rank % 2 && limit.rlim_max >= 5000));

    /* A lock that another process has is not granted, and is waited for. */
    snprintf(name, sizeof name, "%s/shared", directory);
    file = open(name, O_RDWR | O_CREAT, 0666);
    lock.l_type = F_WRLCK;
    if (check_rank == 0)
        CHECK(fcntl(file, F_SETLK, &lock) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 1)
        CHECK(fcntl(file, F_SETLK, &lock) == -1 && (errno == EAGAIN || errno == EACCES));
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        usleep(2000);
        lock.l_type = F_UNLCK;
        CHECK(fcntl(file, F_SETLK, &lock) == 0);
    } else {
        CHECK(lockf(file, F_LOCK, 0) == 0 && lockf(file, F_ULOCK, 0) == 0);
        CHECK(flock(file, LOCK_EX) == 0 && flock(file, LOCK_UN) == 0);
    }
    close(file);
}

static void memory(void)
{
    char *end = sbrk(4096), *reserved;

    CHECK(end != (char *)-1);
    memset(end, check_rank, 4096);
    let_others_go_on();
    /* `malloc` may have moved it, too. */
    CHECK((char *)sbrk(0) >= end + 4096 && end[0] == (char)check_rank && end[4095] == (char)check_rank);
    reserved = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mmap(reserved + 4096, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
          reserved + 4096);
    reserved[4096] = 1;
}

/* A number for each process, though all may be in one. */
static void numbers(void)
{
    int own = (int)getpid(), all[64], at, same = 0;

    MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    for (at = 0; at < check_size; at++)
        same += all[at] == own;
    CHECK(same == 1 && own > 0 && kill(own, 0) == 0);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    thread_locals();
    floating_point();
    signals();
    alarms();
    library();
    locales();
    memory();
    numbers();
    if (argc > 1)
        files(argv[1]);
    let_others_go_on();
    return check_end("own_state");
}
