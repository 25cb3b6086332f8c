/* State that the system keeps of a process, for each rank of a cluster: what changes it says so first, so that the runtime
 * puts it back when another rank goes on (kernel-rt/cluster/carrier/src/system.rs). Signals that a rank sends itself,
 * alarms in virtual time, locks of files; and what a rank cannot have, because it would reach beyond the rank. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "cluster.h"

/* A function of the program's own with one of these names is the program's. */
#pragma weak sigaction
#pragma weak signal
#pragma weak siginterrupt
#pragma weak raise
#pragma weak kill
#pragma weak pthread_kill
#pragma weak tgkill
#pragma weak sigqueue
#pragma weak sigprocmask
#pragma weak pthread_sigmask
#pragma weak sigpending
#pragma weak sigsuspend
#pragma weak pause
#pragma weak sigwait
#pragma weak sigwaitinfo
#pragma weak sigtimedwait
#pragma weak sigaltstack
#pragma weak alarm
#pragma weak ualarm
#pragma weak setitimer
#pragma weak getitimer
#pragma weak getpid
#pragma weak gettid
#pragma weak umask
#pragma weak chdir
#pragma weak fchdir
#pragma weak close
#pragma weak dup2
#pragma weak dup3
#pragma weak close_range
#pragma weak closefrom
#pragma weak setrlimit
#pragma weak setrlimit64
#pragma weak prlimit
#pragma weak prlimit64
#pragma weak flock
#pragma weak lockf
#pragma weak lockf64
#pragma weak fcntl
#pragma weak fcntl64
#pragma weak sbrk
#pragma weak brk
#pragma weak mmap
#pragma weak mmap64

/* Signals. */

int __sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict before);

static uint64_t bit(int number) { return (uint64_t)1 << (number - 1); }

/* Signals that this rank has sent itself while they were blocked. */
static uint64_t waiting;

/* The mask of the thread, by the kernel's call: `sigprocmask` is the program's. */
static int change_mask(int how, const uint64_t *mask, uint64_t *before) {
    return (int)syscall(SYS_rt_sigprocmask, how, mask, before, sizeof *mask);
}

static uint64_t mask(void) {
    uint64_t now = 0;
    change_mask(SIG_BLOCK, NULL, &now);
    return now;
}

static void send_now(int number) { syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), number); }

/* Sends the signals of this set that wait. */
static int send_waiting(uint64_t set) {
    int count = 0;
    for (int number = 1; number < 65 && (waiting & set) != 0; number++) {
        if (!(waiting & set & bit(number))) continue;
        waiting &= ~bit(number);
        send_now(number);
        count++;
    }
    return count;
}

static int is_signal(int number) { return number > 0 && number < 65; }

int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict before) {
    if (action != NULL && is_signal(number)) {
        midplane_uses(ACTIONS + number - 1);
        /* A handler runs with a mask of its own, and may call MPI. */
        midplane_uses(MASK);
    }
    return __sigaction(number, action, before);
}

static sighandler_t handle(int number, sighandler_t handler, int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;
    return sigaction(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}
sighandler_t signal(int number, sighandler_t handler) { return handle(number, handler, SA_RESTART); }
/* As headers call it where POSIX alone is asked for; the handler runs once. */
sighandler_t __sysv_signal(int number, sighandler_t handler);
sighandler_t __sysv_signal(int number, sighandler_t handler) {
    return handle(number, handler, (int)SA_RESETHAND | SA_NODEFER);
}
int siginterrupt(int number, int interrupts) {
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0) return -1;
    action.sa_flags = interrupts ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return sigaction(number, &action, NULL);
}

/* A signal that is blocked waits here: the kernel would give it to the next rank that takes it. */
int raise(int number) {
    if (!is_signal(number)) return errno = EINVAL, -1;
    if (mask() & bit(number)) {
        waiting |= bit(number);
    } else {
        send_now(number);
        /* The handler was not interrupted by its own signal. */
        send_waiting(~mask());
    }
    return 0;
}

static const char *const BEYOND = "a rank in a cluster cannot signal others, which are in the same process";

int kill(pid_t process, int number) {
    if (process == getpid()) return number == 0 ? 0 : raise(number);
    if (number < 0 || number > 64) return errno = EINVAL, -1;
    if (process <= 0 || process == syscall(SYS_getpid)) midplane_refuse("kill", BEYOND);
    return (int)syscall(SYS_kill, process, number);
}
int pthread_kill(pthread_t thread, int number) {
    (void)thread;
    return number == 0 ? 0 : raise(number) == 0 ? 0 : errno;
}
int tgkill(pid_t process, pid_t thread, int number) {
    return thread == gettid() ? kill(process, number) : (errno = ESRCH, -1);
}
int sigqueue(pid_t process, int number, const union sigval value) {
    if (process != getpid()) midplane_refuse("sigqueue", BEYOND);
    if (!is_signal(number)) return errno = EINVAL, -1;
    if (mask() & bit(number)) midplane_refuse("sigqueue", "the signal is blocked, and its value is not kept");
    siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};
    info.si_pid = getpid(), info.si_uid = getuid(), info.si_value = value;
    return (int)syscall(SYS_rt_tgsigqueueinfo, syscall(SYS_getpid), syscall(SYS_gettid), number, &info);
}

static uint64_t set_of(const sigset_t *set) {
    uint64_t bits;
    memcpy(&bits, set, sizeof bits);
    return bits;
}

int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict before) {
    uint64_t wanted = 0, was = mask();
    if (set != NULL) {
        midplane_uses(MASK);
        wanted = set_of(set);
        if (change_mask(how, &wanted, NULL) != 0) return -1;
    }
    if (before != NULL) {
        sigemptyset(before);
        memcpy(before, &was, sizeof was);
    }
    send_waiting(~mask());
    return 0;
}
int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict before) {
    int own = errno, result = sigprocmask(how, set, before) == 0 ? 0 : errno;
    errno = own;
    return result;
}
int sigpending(sigset_t *set) {
    sigemptyset(set);
    memcpy(set, &waiting, sizeof waiting);
    return 0;
}

/* Alarms: their signal comes in the program's next call of MPI, or of what asks for the time, sleeps or waits. */

uint64_t midplane_alarm;
static uint64_t alarm_period;

/* Whether a handler is to run. */
static int ring(void) {
    struct sigaction action;
    int is_blocked = (mask() & bit(SIGALRM)) != 0;
    __sigaction(SIGALRM, NULL, &action);
    raise(SIGALRM);
    return !is_blocked && action.sa_handler != SIG_IGN;
}

void midplane_ring(uint64_t now);
void midplane_ring(uint64_t now) {
    int own = errno;
    midplane_alarm = alarm_period == 0 ? 0 : now - (now - midplane_alarm) % alarm_period + alarm_period;
    ring();
    errno = own;
}

static const uint64_t FOR_EVER = UINT64_MAX / 2;

uint64_t midplane_rest(uint64_t ns) {
    for (;;) {
        uint64_t at = midplane_alarm;
        if (at == 0) return midplane_sleep(ns), 0;
        uint64_t now = midplane_now();
        if (midplane_alarm != at) {
            /* It has rung while the time was asked for: before the sleep. */
            if (ns == FOR_EVER) return ns;
            continue;
        }
        if (at - now > ns) return midplane_sleep(ns), 0;
        midplane_sleep(at - now);
        if (ns != FOR_EVER) ns -= at - now;
        midplane_alarm = alarm_period == 0 ? 0 : at + alarm_period;
        if (ring()) return ns;
    }
}

/* Waits until a signal comes, of which there is none but an alarm's. */
static void wait_for_alarm(const char *function) {
    if (midplane_alarm == 0)
        midplane_refuse(function, "no signal comes to a rank in a cluster but those that it sends itself");
    midplane_rest(FOR_EVER);
}

int sigsuspend(const sigset_t *set) {
    uint64_t wanted = set_of(set), before;
    midplane_uses(MASK);
    change_mask(SIG_SETMASK, &wanted, &before);
    if (send_waiting(~wanted) == 0) wait_for_alarm("sigsuspend");
    change_mask(SIG_SETMASK, &before, NULL);
    return errno = EINTR, -1;
}
int pause(void) {
    wait_for_alarm("pause");
    return errno = EINTR, -1;
}

/* The first signal of the set that waits; 0: none. */
static int take(uint64_t set) {
    for (int number = 1; number < 65; number++) {
        if (!(waiting & set & bit(number))) continue;
        waiting &= ~bit(number);
        return number;
    }
    return 0;
}
static int wait_for(const sigset_t *set, const char *function) {
    for (;;) {
        int number = take(set_of(set));
        if (number != 0) return number;
        wait_for_alarm(function);
    }
}
int sigwait(const sigset_t *restrict set, int *restrict number) {
    *number = wait_for(set, "sigwait");
    return 0;
}
static int tell(int number, siginfo_t *info) {
    if (info != NULL) *info = (siginfo_t){.si_signo = number, .si_code = SI_TKILL};
    return number;
}
int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info) {
    return tell(wait_for(set, "sigwaitinfo"), info);
}
int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info, const struct timespec *restrict limit) {
    if (limit == NULL) return sigwaitinfo(set, info);
    int number = take(set_of(set));
    if (number == 0) {
        midplane_rest((uint64_t)limit->tv_sec * 1000000000 + (uint64_t)limit->tv_nsec);
        number = take(set_of(set));
    }
    return number == 0 ? (errno = EAGAIN, -1) : tell(number, info);
}

/* The runtime's, before there are ranks. */
int midplane_sigaltstack(const stack_t *stack, stack_t *before);
int midplane_sigaltstack(const stack_t *stack, stack_t *before) {
    return (int)syscall(SYS_sigaltstack, stack, before);
}
int sigaltstack(const stack_t *restrict stack, stack_t *restrict before) {
    if (stack != NULL) midplane_uses(SIGNAL_STACK);
    return midplane_sigaltstack(stack, before);
}

static uint64_t ns_of(struct timeval time) { return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000; }
static struct timeval time_of(uint64_t ns) {
    return (struct timeval){(time_t)(ns / 1000000000), (suseconds_t)(ns % 1000000000 / 1000)};
}

/* Sets the alarm to ring in so many nanoseconds, and returns in how many it would have rung. */
static uint64_t set_alarm(uint64_t ns, uint64_t period) {
    uint64_t now = midplane_now(), left = midplane_alarm > now ? midplane_alarm - now : 0;
    midplane_alarm = ns == 0 ? 0 : now + ns;
    alarm_period = period;
    /* Its handler may have a mask, and its action is this rank's. */
    if (ns != 0) midplane_uses(ACTIONS + SIGALRM - 1);
    return left;
}
unsigned alarm(unsigned seconds) {
    uint64_t left = set_alarm((uint64_t)seconds * 1000000000, 0);
    return (unsigned)((left + 999999999) / 1000000000);
}
useconds_t ualarm(useconds_t us, useconds_t period) {
    return (useconds_t)(set_alarm((uint64_t)us * 1000, (uint64_t)period * 1000) / 1000);
}

static const char *const HOST_TIME = "it follows the time of the host, where a rank's time is virtual";

int setitimer(__itimer_which_t which, const struct itimerval *restrict timer, struct itimerval *restrict before) {
    if (which != ITIMER_REAL) midplane_refuse("setitimer with ITIMER_VIRTUAL or ITIMER_PROF", HOST_TIME);
    struct timeval period = time_of(alarm_period);
    uint64_t left = set_alarm(ns_of(timer->it_value), ns_of(timer->it_interval));
    if (before != NULL) *before = (struct itimerval){period, time_of(left)};
    return 0;
}
int getitimer(__itimer_which_t which, struct itimerval *timer) {
    uint64_t now = midplane_now(), left = midplane_alarm > now ? midplane_alarm - now : 0;
    *timer = which == ITIMER_REAL ? (struct itimerval){time_of(alarm_period), time_of(left)} : (struct itimerval){0};
    return 0;
}

/* Processes: a number for each rank, greater than the system's at most. */

pid_t getpid(void) {
    uint32_t process = (uint32_t)syscall(SYS_getpid);
    return (pid_t)((process & 0x3fff) << 16 | (uint32_t)1 << 30 | midplane_rank());
}
pid_t gettid(void) { return getpid(); }

/* Files. */

mode_t umask(mode_t bits) {
    midplane_uses(UMASK);
    return (mode_t)syscall(SYS_umask, bits);
}
int chdir(const char *name) {
    midplane_uses(DIRECTORY);
    return (int)syscall(SYS_chdir, name);
}
int fchdir(int directory) {
    midplane_uses(DIRECTORY);
    return (int)syscall(SYS_fchdir, directory);
}

unsigned char midplane_replaced[3];
/* Device and inode of the files that the standard streams had at first. */
static dev_t first_device[3];
static ino_t first_inode[3];

void midplane_replaces(int file) {
    midplane_uses(STREAMS);
    struct stat status;
    if (!midplane_replaced[file] && fstat(file, &status) == 0)
        first_device[file] = status.st_dev, first_inode[file] = status.st_ino;
    midplane_replaced[file] = 1;
}

/* It may have been given the file again that it had at first. */
static int after(int result, int file) {
    struct stat status;
    int own = errno;
    if (result >= 0 && fstat(file, &status) == 0)
        midplane_replaced[file] = status.st_dev != first_device[file] || status.st_ino != first_inode[file];
    errno = own;
    return result;
}

int __close(int file);
enum { FIRST_OWN = 200 };
int close(int file) {
    if (file >= 0 && file < 3) midplane_replaces(file);
    /* A program that closes whatever there may be leaves the runtime's (system.rs), which closes its own by this function
     * before a rank begins. */
    if (file >= FIRST_OWN && midplane_rank() != UINT32_MAX && (syscall(SYS_fcntl, file, F_GETFD) & FD_CLOEXEC)) return errno = EBADF, -1;
    return __close(file);
}
static int duplicate(int file, int number, int flags) {
    /* As `dup2`, which does nothing then. */
    if (number < 0 || number > 2 || syscall(SYS_fcntl, file, F_GETFD) < 0) return (int)syscall(SYS_dup3, file, number, flags);
    midplane_replaces(number);
    return after((int)syscall(SYS_dup3, file, number, flags), number);
}
int dup2(int file, int number) {
    if (file == number) return syscall(SYS_fcntl, file, F_GETFD) < 0 ? -1 : file;
    return duplicate(file, number, 0);
}
int dup3(int file, int number, int flags) { return duplicate(file, number, flags); }
int close_range(unsigned first, unsigned last, int flags) {
    (void)flags;
    for (unsigned file = first; file <= last && file < FIRST_OWN; file++) close((int)file);
    return 0;
}
void closefrom(int first) { close_range(first < 0 ? 0 : (unsigned)first, UINT_MAX, 0); }

/* Locks: those of a process would be all ranks'. Those of an open file are this rank's that has opened it. To wait for
 * another rank takes virtual time, in which that goes on. */

static const uint64_t LOCK_NS = 1000000;

static int lock(int file, int command, struct flock *lock) {
    lock->l_pid = 0;
    if (command == F_GETLK) {
        int result = (int)syscall(SYS_fcntl, file, F_OFD_GETLK, lock);
        if (result == 0 && lock->l_type != F_UNLCK) lock->l_pid = 0;
        return result;
    }
    for (;;) {
        int result = (int)syscall(SYS_fcntl, file, F_OFD_SETLK, lock);
        if (result == 0 || command == F_SETLK || (errno != EAGAIN && errno != EACCES)) return result;
        if (midplane_rest(LOCK_NS) != 0) return errno = EINTR, -1;
    }
}
int fcntl(int file, int command, ...) {
    va_list values;
    va_start(values, command);
    void *value = va_arg(values, void *);
    va_end(values);
    if (command == F_GETLK || command == F_SETLK || command == F_SETLKW) return lock(file, command, value);
    return (int)syscall(SYS_fcntl, file, command, value);
}
int fcntl64(int file, int command, ...) __attribute__((alias("fcntl")));
int flock(int file, int operation) {
    for (;;) {
        int result = (int)syscall(SYS_flock, file, operation | LOCK_NB);
        if (result == 0 || (operation & LOCK_NB) || errno != EWOULDBLOCK) return result;
        if (midplane_rest(LOCK_NS) != 0) return errno = EINTR, -1;
    }
}
int lockf(int file, int command, off_t bytes) {
    struct flock range = {.l_type = command == F_ULOCK ? F_UNLCK : F_WRLCK, .l_whence = SEEK_CUR, .l_len = bytes};
    if (command == F_TEST) {
        if (lock(file, F_GETLK, &range) != 0) return -1;
        return range.l_type == F_UNLCK ? 0 : (errno = EACCES, -1);
    }
    return lock(file, command == F_LOCK ? F_SETLKW : F_SETLK, &range);
}
int lockf64(int file, int command, off_t bytes) __attribute__((alias("lockf")));

/* Limits: the soft ones are this rank's, the hard ones stay. */

int prlimit(pid_t process, __rlimit_resource_t kind, const struct rlimit *wanted, struct rlimit *before) {
    if (process != 0 && process != getpid()) return errno = ESRCH, -1;
    struct rlimit now;
    if (syscall(SYS_prlimit64, 0, kind, NULL, &now) != 0) return -1;
    if (before != NULL) *before = now;
    if (wanted == NULL) return 0;
    if (wanted->rlim_cur > wanted->rlim_max) return errno = EINVAL, -1;
    if (wanted->rlim_max > now.rlim_max) return errno = EPERM, -1;
    midplane_uses(LIMITS);
    now.rlim_cur = wanted->rlim_cur;
    return (int)syscall(SYS_prlimit64, 0, kind, &now, NULL);
}
int prlimit64(pid_t process, __rlimit_resource_t kind, const struct rlimit64 *wanted, struct rlimit64 *before) {
    return prlimit(process, kind, (const struct rlimit *)wanted, (struct rlimit *)before);
}
int setrlimit(__rlimit_resource_t kind, const struct rlimit *wanted) { return prlimit(0, kind, wanted, NULL); }
int setrlimit64(__rlimit_resource_t kind, const struct rlimit64 *wanted) {
    return prlimit(0, kind, (const struct rlimit *)wanted, NULL);
}

/* Memory. The heap's end is each rank's, in addresses that it takes no other way. */

static char *heap, *heap_end;
enum { HEAP_BYTES = 1 << 28 };

void *midplane_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
void *midplane_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}

/* The runtime's memory is the C library's, whatever the program calls `malloc`. */
void *__libc_memalign(size_t alignment, size_t bytes);
int midplane_posix_memalign(void **place, size_t alignment, size_t bytes);
int midplane_posix_memalign(void **place, size_t alignment, size_t bytes) {
    void *made = __libc_memalign(alignment, bytes);
    if (made == NULL) return ENOMEM;
    *place = made;
    return 0;
}

static int begin_heap(void) {
    if (heap != NULL) return 0;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *made = midplane_mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (made == MAP_FAILED) return -1;
    heap = heap_end = made;
    return 0;
}
int brk(void *end) {
    if (begin_heap() != 0) return -1;
    if ((char *)end < heap || (char *)end > heap + HEAP_BYTES) return errno = ENOMEM, -1;
    heap_end = end;
    return 0;
}
void *sbrk(intptr_t bytes) {
    if (begin_heap() != 0) return (void *)-1;
    char *before = heap_end;
    if (bytes > heap + HEAP_BYTES - heap_end || bytes < heap - heap_end) return errno = ENOMEM, (void *)-1;
    heap_end += bytes;
    if (bytes > 0) memset(before, 0, (size_t)bytes);
    return before;
}

/* Mappings of this rank, in which it may choose addresses. */
static struct mapping {
    uintptr_t start, end;
    struct mapping *before;
} *mappings;

static int is_mapped(uintptr_t start, uintptr_t end) {
    for (struct mapping *at = mappings; at != NULL; at = at->before)
        if (at->start <= start && end <= at->end) return 1;
    return 0;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
    uintptr_t start = (uintptr_t)address;
    int is_fixed = (flags & MAP_FIXED) != 0;
    if (is_fixed && !is_mapped(start, start + bytes))
        midplane_refuse("mmap with MAP_FIXED", "all ranks in a cluster have the same addresses");
    void *made = midplane_mmap(address, bytes, protection, flags, file, offset);
    /* It is not looked up where nothing is chosen: so that lists stay short, only what is reserved is kept. */
    if (made == MAP_FAILED || is_fixed) return made;
    struct mapping *mapping = malloc(sizeof *mapping);
    if (mapping == NULL) return made;
    *mapping = (struct mapping){(uintptr_t)made, (uintptr_t)made + bytes, mappings};
    mappings = mapping;
    return made;
}
void *mmap64(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
    __attribute__((alias("mmap")));

/* What a rank cannot have. */

#define THREADS "a rank in a cluster has one thread of one process"
REFUSE(pthread_create, THREADS)
REFUSE(thrd_create, THREADS)
REFUSE(pthread_cancel, THREADS)
REFUSE(clone, THREADS)
REFUSE(fork, THREADS)
REFUSE(_Fork, THREADS)
REFUSE(vfork, THREADS)
REFUSE(forkpty, THREADS)
REFUSE(daemon, THREADS)

#define PROCESS "it would change the process of all ranks"
REFUSE(execve, PROCESS)
REFUSE(execv, PROCESS)
REFUSE(execvp, PROCESS)
REFUSE(execvpe, PROCESS)
REFUSE(execl, PROCESS)
REFUSE(execlp, PROCESS)
REFUSE(execle, PROCESS)
REFUSE(fexecve, PROCESS)
REFUSE(execveat, PROCESS)
REFUSE(setuid, PROCESS)
REFUSE(seteuid, PROCESS)
REFUSE(setreuid, PROCESS)
REFUSE(setresuid, PROCESS)
REFUSE(setgid, PROCESS)
REFUSE(setegid, PROCESS)
REFUSE(setregid, PROCESS)
REFUSE(setresgid, PROCESS)
REFUSE(setgroups, PROCESS)
REFUSE(initgroups, PROCESS)
REFUSE(setsid, PROCESS)
REFUSE(setpgid, PROCESS)
REFUSE(setpgrp, PROCESS)
REFUSE(chroot, PROCESS)
REFUSE(pivot_root, PROCESS)
REFUSE(unshare, PROCESS)
REFUSE(setns, PROCESS)

#define BY_TIME "it follows the time of the host, where a rank's time is virtual"
REFUSE(timer_create, BY_TIME)
REFUSE(timerfd_create, BY_TIME)

#define OLD "a rank's signals are kept by sigaction and sigprocmask alone"
REFUSE(sigset, OLD)
REFUSE(sighold, OLD)
REFUSE(sigrelse, OLD)
REFUSE(sigignore, OLD)
REFUSE(sigpause, OLD)
REFUSE(__xpg_sigpause, OLD)
REFUSE(sigblock, OLD)
REFUSE(sigsetmask, OLD)
REFUSE(sigvec, OLD)
REFUSE(signalfd, OLD)
REFUSE(bsd_signal, OLD)
REFUSE(sysv_signal, OLD)

#define LOADED "ranks would share the variables of a library that is loaded later"
REFUSE(dlmopen, LOADED)
