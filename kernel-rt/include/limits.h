/* The compiler's and picolibc's, and what they lack of POSIX. */
#ifndef MIDPLANE_LIMITS_H
#define MIDPLANE_LIMITS_H
#pragma GCC system_header

#include <sys/features.h>
#include_next <limits.h>

#if __POSIX_VISIBLE
#ifndef SSIZE_MAX
#define SSIZE_MAX LONG_MAX
#endif
/* As sysconf(_SC_HOST_NAME_MAX) says. */
#ifndef HOST_NAME_MAX
#define HOST_NAME_MAX 63
#endif
#endif

#endif
