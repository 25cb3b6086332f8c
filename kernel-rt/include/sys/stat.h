/* picolibc's, and what it lacks of POSIX. */
#ifndef MIDPLANE_SYS_STAT_H
#define MIDPLANE_SYS_STAT_H
#pragma GCC system_header

#include_next <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

int lstat(const char *, struct stat *);

#ifdef __cplusplus
}
#endif
#endif
