/* picolibc's, and what it lacks of C and POSIX. */
#ifndef MIDPLANE_TIME_H
#define MIDPLANE_TIME_H
#pragma GCC system_header

#include <sys/features.h>

/* Of signals it needs the name of a type alone. A program that does not include <signal.h> has names of its own. */
struct sigevent;
#define MIDPLANE_TIME_ALONE
#include_next <time.h>
#undef MIDPLANE_TIME_ALONE

/* picolibc's number for it; the one thread's processor time is the process's. */
#if __POSIX_VISIBLE >= 200112 && !defined CLOCK_THREAD_CPUTIME_ID
#define CLOCK_THREAD_CPUTIME_ID ((clockid_t)3)
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if __POSIX_VISIBLE >= 200112
int clock_nanosleep(clockid_t, int, const struct timespec *, struct timespec *);
#endif
#if __ISO_C_VISIBLE >= 2011
#define TIME_UTC 1
int timespec_get(struct timespec *, int);
#endif

#ifdef __cplusplus
}
#endif
#endif
