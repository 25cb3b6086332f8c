/* picolibc's, and what it lacks of Linux. */
#ifndef MIDPLANE_UNISTD_H
#define MIDPLANE_UNISTD_H
#pragma GCC system_header

#include_next <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#if __MISC_VISIBLE
long syscall(long, ...);
#endif
#if __GNU_VISIBLE
pid_t gettid(void);
#endif
#if __POSIX_VISIBLE
int getlogin_r(char *, size_t);
#endif

#ifdef __cplusplus
}
#endif
#endif
