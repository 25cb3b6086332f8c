/* What programs use of POSIX and GNU beyond C's own library: that it links and does what the standards say, or says that
 * a node with one process and one thread does not have it. On Linux the same checks hold.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <error.h>
#include <execinfo.h>
#include <fcntl.h>
#include <features.h>
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <linux/limits.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <search.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sysexits.h>
#include <syslog.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <uchar.h>
#include <unistd.h>
#include <utime.h>
#include <values.h>
/* Linux's functions come with the option only. */
#if defined _OPENMP || !defined __linux__
#define HAS_OPENMP
#include <omp.h>
#endif

#include "check.h"

static int written(int descriptor, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vdprintf(descriptor, format, arguments);
    va_end(arguments);
    return length;
}

static void streams(void)
{
    char *text = NULL;
    size_t size = 7;
    FILE *memory = open_memstream(&text, &size);
    int i;

    CHECK(memory != NULL);
    CHECK(fprintf(memory, "%d %s %.2f %Lg", 7, "words", 2.5, 1.25L) > 0 && fflush(memory) == 0);
    CHECK(size == 17 && strcmp(text, "7 words 2.50 1.25") == 0);
    CHECK(fputc('!', memory) == '!' && fwrite("ab", 1, 2, memory) == 2 && fflush(memory) == 0);
    CHECK(size == 20 && strcmp(text, "7 words 2.50 1.25!ab") == 0);
    CHECK(ftell(memory) == 20 && fseek(memory, 2, SEEK_SET) == 0 && fputs("W", memory) >= 0);
    CHECK(fclose(memory) == 0 && strncmp(text, "7 W", 3) == 0);
    free(text);
    memory = open_memstream(&text, &size);
    for (i = 0; memory != NULL && i < 1000; i++)
        fprintf(memory, "%03d,", i);
    CHECK(memory != NULL && fclose(memory) == 0 && size == 4000 && strlen(text) == 4000);
    CHECK(strncmp(text + 3992, "998,999,", 8) == 0);
    free(text);
    memory = open_memstream(&text, &size);
    CHECK(memory != NULL && fclose(memory) == 0 && size == 0 && text != NULL && text[0] == 0);
    free(text);

    CHECK(dprintf(STDERR_FILENO, "%s", "") == 0 && written(STDERR_FILENO, "%.*s", 0, "x") == 0);
    CHECK(dprintf(1000, "%d %d %d %d %d %d %d %d %f", 1, 2, 3, 4, 5, 6, 7, 8, 9.5) == -1 && errno == EBADF);
    flockfile(stdout);
    CHECK(ftrylockfile(stdout) == 0);
    funlockfile(stdout);
    funlockfile(stdout);
    CHECK(fwrite_unlocked("", 1, 0, stdout) == 0 && fflush_unlocked(stdout) == 0 && ferror_unlocked(stdout) == 0);
    if (!IS_MPICH || check_rank == 0) /* The others' does not end there. */
        CHECK(getc_unlocked(stdin) == EOF && feof_unlocked(stdin) != 0);
}

static void files(void)
{
    char bytes[8] = "", name[] = "/no such directory/XXXXXX", bad[] = "short", whole[PATH_MAX];
    struct iovec pieces[2] = {{bytes, 4}, {bytes + 4, 4}};
    struct utimbuf times = {0, 0};
    struct dirent **entries;
    mode_t mask;

    CHECK(pread(1000, bytes, 1, 0) == -1 && errno == EBADF);
    CHECK(pwrite(1000, bytes, 1, 0) == -1 && errno == EBADF);
    CHECK(readv(1000, pieces, 2) == -1 && errno == EBADF);
    CHECK(writev(1000, pieces, 2) == -1 && errno == EBADF);
    pieces[0].iov_len = pieces[1].iov_len = 0;
    CHECK(writev(STDERR_FILENO, pieces, 2) == 0);
    CHECK(fdatasync(1000) == -1);
    sync();
    CHECK(realpath("/no such directory/file", whole) == NULL && errno == ENOENT);
    CHECK(realpath("", NULL) == NULL && errno == ENOENT);
    CHECK(realpath("/./../", whole) == whole && strcmp(whole, "/") == 0);
    CHECK(mkdtemp(name) == NULL && mkdtemp(bad) == NULL && errno == EINVAL);
    CHECK(scandir("/no such directory", &entries, NULL, alphasort) == -1);
    mask = umask(022);
    CHECK(umask(mask) == 022);
    CHECK(mkfifo("/no such directory/pipe", 0600) == -1);
    CHECK(utime("/no such directory/file", &times) == -1 && utimes("/no such directory/file", NULL) == -1);
    CHECK(pathconf("/", _PC_NAME_MAX) >= 14 && pathconf("/", _PC_PATH_MAX) >= 256);
    CHECK(flock(1000, LOCK_EX) == -1 && lockf(1000, F_LOCK, 0) == -1);
}

static void waiting(void)
{
    struct pollfd one = {STDOUT_FILENO, POLLOUT, 0}, none = {-1, POLLIN, 5}, wrong = {1000, POLLIN, 0};
    struct timespec before, after, pause_for = {0, 2000000}, left = {9, 9};
    struct timeval at_once = {0, 0};
    fd_set to_write;

    CHECK(poll(&one, 1, -1) == 1 && one.revents == POLLOUT);
    CHECK(poll(&none, 1, 0) == 0 && none.revents == 0);
    CHECK(poll(&wrong, 1, 0) == 1 && wrong.revents == POLLNVAL);
    CHECK(clock_gettime(CLOCK_MONOTONIC, &before) == 0);
    CHECK(poll(NULL, 0, 2) == 0 && ppoll(NULL, 0, &pause_for, NULL) == 0);
    CHECK(pselect(0, NULL, NULL, NULL, &pause_for, NULL) == 0);
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &pause_for, &left) == 0);
    CHECK(clock_gettime(CLOCK_MONOTONIC, &after) == 0);
    CHECK((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec >= 8000000);
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &before, NULL) == 0);
    pause_for.tv_nsec = 1000000000;
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &pause_for, NULL) == EINVAL);
    CHECK(timespec_get(&before, TIME_UTC) == TIME_UTC && timespec_get(&before, 77) == 0);
    FD_ZERO(&to_write);
    FD_SET(STDOUT_FILENO, &to_write);
    CHECK(select(2, NULL, &to_write, NULL, &at_once) == 1 && FD_ISSET(STDOUT_FILENO, &to_write));
    FD_SET(50, &to_write);
    CHECK(select(51, NULL, &to_write, NULL, &at_once) == -1 && errno == EBADF);
}

static void processors(void)
{
    cpu_set_t set, other;
    struct sysinfo info;
    struct sched_param parameters;

    CPU_ZERO(&other);
    CPU_SET(3, &other);
    CPU_SET(64, &other);
    CPU_CLR(3, &other);
    CHECK(CPU_ISSET(64, &other) && !CPU_ISSET(3, &other) && CPU_COUNT(&other) == 1);
    CHECK(sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) >= 1);
    CPU_AND(&other, &other, &set);
    CHECK(CPU_EQUAL(&set, &set) && CPU_COUNT(&other) <= 1);
    CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
    CHECK(pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0 && CPU_COUNT(&set) >= 1);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0);
    CPU_ZERO(&set);
    CHECK(sched_setaffinity(0, sizeof set, &set) == -1 && errno == EINVAL);
    CHECK(sched_getcpu() >= 0 && get_nprocs() >= 1 && get_nprocs_conf() >= 1);
    CHECK(sched_get_priority_max(SCHED_FIFO) > sched_get_priority_min(SCHED_FIFO));
    CHECK(sched_get_priority_max(77) == -1 && errno == EINVAL);
    CHECK(sched_getscheduler(0) == SCHED_OTHER && sched_getparam(0, &parameters) == 0);
    CHECK(sysinfo(&info) == 0 && info.totalram > 0 && info.mem_unit > 0 && info.uptime >= 0);
}

static mtx_t lock;
static once_flag flag = ONCE_FLAG_INIT;
static int onces;

static void once(void)
{
    onces++;
}

static void threads(void)
{
    struct timespec past = {0, 0};
    sem_t semaphore;
    tss_t key;
    int value = -1;

    CHECK(sem_init(&semaphore, 0, 2) == 0 && sem_getvalue(&semaphore, &value) == 0 && value == 2);
    CHECK(sem_wait(&semaphore) == 0 && sem_trywait(&semaphore) == 0);
    CHECK(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
    CHECK(sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT);
    CHECK(sem_post(&semaphore) == 0 && sem_wait(&semaphore) == 0 && sem_destroy(&semaphore) == 0);
    CHECK(mtx_init(&lock, mtx_plain) == thrd_success && mtx_lock(&lock) == thrd_success);
    CHECK(mtx_trylock(&lock) == thrd_busy && mtx_unlock(&lock) == thrd_success);
    call_once(&flag, once);
    call_once(&flag, once);
    CHECK(onces == 1 && thrd_equal(thrd_current(), thrd_current()));
    CHECK(tss_create(&key, NULL) == thrd_success && tss_set(key, &value) == thrd_success && tss_get(key) == &value);
    tss_delete(key);
    mtx_destroy(&lock);
}

#ifdef HAS_OPENMP
/* Outside of directives there is one thread. */
static void openmp(void)
{
    omp_lock_t simple;
    omp_nest_lock_t nested;
    double begin = omp_get_wtime();

    CHECK(omp_get_thread_num() == 0 && omp_get_num_threads() == 1 && omp_get_max_threads() >= 1);
    CHECK(omp_get_num_procs() >= 1 && !omp_in_parallel() && omp_get_level() == 0 && omp_get_team_size(0) == 1);
    CHECK(omp_get_ancestor_thread_num(0) == 0 && omp_get_ancestor_thread_num(5) == -1);
    omp_init_lock(&simple);
    CHECK(omp_test_lock(&simple) && !omp_test_lock(&simple));
    omp_unset_lock(&simple);
    omp_set_lock(&simple);
    omp_unset_lock(&simple);
    omp_destroy_lock(&simple);
    omp_init_nest_lock(&nested);
    omp_set_nest_lock(&nested);
    CHECK(omp_test_nest_lock(&nested) == 2);
    omp_unset_nest_lock(&nested);
    omp_unset_nest_lock(&nested);
    omp_destroy_nest_lock(&nested);
    CHECK(omp_get_wtime() >= begin && omp_get_wtick() > 0);
}
#endif

static void network(void)
{
    struct addrinfo *found = NULL;
    struct in_addr address;
    unsigned char six[16];
    char text[INET6_ADDRSTRLEN];

    CHECK(htonl(0x01020304) == 0x04030201 && ntohs(htons(0x1234)) == 0x1234);
    CHECK(inet_addr("1.2.3.4") == htonl(0x01020304) && inet_addr("1.2.3.x") == INADDR_NONE);
    CHECK(inet_aton("127.0.0.1", &address) == 1 && strcmp(inet_ntoa(address), "127.0.0.1") == 0);
    CHECK(inet_pton(AF_INET6, "fe80::1", six) == 1 && six[0] == 0xfe && six[15] == 1);
    CHECK(inet_ntop(AF_INET6, six, text, sizeof text) == text && strcmp(text, "fe80::1") == 0);
    CHECK(inet_pton(AF_INET, "words", six) == 0);
    CHECK(getaddrinfo("no-such-host.invalid", NULL, NULL, &found) != 0 && strlen(gai_strerror(EAI_NONAME)) > 0);
    CHECK(gethostbyname("no-such-host.invalid") == NULL && h_errno != 0);
    CHECK(bind(1000, (struct sockaddr *)six, sizeof six) == -1 && errno == EBADF);
    CHECK(send(1000, text, 1, 0) == -1 && errno == EBADF);
    CHECK(socket(77, SOCK_STREAM, 0) == -1 && errno == EAFNOSUPPORT);
}

static int same(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

struct element {
    struct element *next, *previous;
};

static void tables(void)
{
    struct element a, b, c;
    int numbers[4] = {4, 7, 9}, key = 7, absent = 5;
    size_t count = 3;

    CHECK(lfind(&key, numbers, &count, sizeof key, same) == &numbers[1]);
    CHECK(lfind(&absent, numbers, &count, sizeof key, same) == NULL && count == 3);
    CHECK(lsearch(&absent, numbers, &count, sizeof key, same) == &numbers[3] && count == 4 && numbers[3] == 5);
    insque(&a, NULL);
    insque(&c, &a);
    insque(&b, &a);
    CHECK(a.next == &b && b.next == &c && c.previous == &b && b.previous == &a && c.next == NULL);
    remque(&b);
    CHECK(a.next == &c && c.previous == &a);
}

static void processes(void)
{
    struct itimerval timer;
    struct passwd *user = getpwuid(getuid());
    char domain[256], state[64], other[64];
    unsigned char random_bytes[20] = {0};
    volatile size_t too_many = 257;
    long first;
    int i, all = 0;

    CHECK(getpgrp() == getpgid(0) && getsid(0) >= 0 && gettid() > 0);
    CHECK(syscall(SYS_getpid) == getpid() && syscall(100000) == -1 && errno == ENOSYS);
    errno = 0;
    CHECK(nice(0) == getpriority(PRIO_PROCESS, 0) && errno == 0);
    CHECK(getpriority(77, 0) == -1 && errno == EINVAL);
    CHECK(getdomainname(domain, sizeof domain) == 0);
    CHECK(gethostid() == gethostid());
    CHECK(user == NULL || (user->pw_uid == getuid() && strlen(user->pw_name) > 0));
    CHECK(getpwnam("no such user") == NULL && getgrnam("no such group") == NULL);
    CHECK(getitimer(ITIMER_REAL, &timer) == 0 && timer.it_value.tv_sec == 0);
    CHECK(setenv("CONF_POSIX", "yes", 1) == 0 && strcmp(secure_getenv("CONF_POSIX"), "yes") == 0);
    CHECK(getrandom(random_bytes, sizeof random_bytes, 0) == sizeof random_bytes);
    for (i = 0; i < (int)sizeof random_bytes; i++)
        all |= random_bytes[i];
    CHECK(all != 0 && getentropy(random_bytes, 16) == 0 && getentropy(domain, too_many) == -1);
    CHECK(initstate(5, state, sizeof state) != NULL);
    first = random();
    CHECK(initstate(6, other, sizeof other) == state && initstate(5, state, sizeof state) == other);
    CHECK(random() == first);
    CHECK(backtrace((void **)state, 4) >= 0 && malloc_trim(0) >= 0);
    CHECK(dlopen("/no such library.so", RTLD_NOW) == NULL && dlerror() != NULL && dlerror() == NULL);
    CHECK(shmat(-1, NULL, 0) == (void *)-1 && semop(-1, NULL, 0) == -1);
}

static void terminals(void)
{
    struct termios settings;
    struct winsize window;

    memset(&settings, 0, sizeof settings);
    CHECK(ioctl(1000, TIOCGWINSZ, &window) == -1 && errno == EBADF);
    CHECK(tcgetattr(1000, &settings) == -1 && errno == EBADF && ttyname(1000) == NULL);
    CHECK(cfsetospeed(&settings, B9600) == 0 && cfgetospeed(&settings) == B9600);
}

static void messages(void)
{
    CHECK(MAXINT == INT_MAX && MINDOUBLE > 0 && EX_USAGE == 64);
    CHECK(error_message_count == 0);
    CHECK(setlogmask(0) == 0xff && setlogmask(LOG_UPTO(LOG_WARNING)) == 0xff);
    openlog("conf_posix", LOG_PID, LOG_USER);
    syslog(LOG_INFO, "%s", "below the mask: not to be seen");
    closelog();
    if (check_rank == 0) {
        errno = ENOENT;
        warn("%s %d", "warning", 1);
        warnx("%s %d", "warning", 2);
        error(0, EINVAL, "%s %d", "warning", 3);
        error_at_line(0, 0, "a_file.c", 12, "%s %d", "warning", 4);
        CHECK(error_message_count == 2);
    }
}

static void quick(void)
{
    printf("not to be called\n");
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    streams();
    files();
    waiting();
    processors();
    threads();
#ifdef HAS_OPENMP
    openmp();
#endif
    network();
    tables();
    processes();
    terminals();
    messages();
    CHECK(at_quick_exit(quick) == 0 && clearenv() == 0 && getenv("CONF_POSIX") == NULL);
    return check_end("conf_posix");
}
