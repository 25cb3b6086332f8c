/* The host keeps the times of files: to set one is refused (EPERM). */
#ifndef MIDPLANE_UTIME_H
#define MIDPLANE_UTIME_H
#pragma GCC system_header

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef _SYS_UTIME_H
#define _SYS_UTIME_H
struct utimbuf {
    time_t actime, modtime;
};
#endif

int utime(const char *, const struct utimbuf *);

#ifdef __cplusplus
}
#endif
#endif
