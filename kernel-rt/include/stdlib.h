/* picolibc's, and what it lacks of C and POSIX. */
#ifndef MIDPLANE_STDLIB_H
#define MIDPLANE_STDLIB_H
#pragma GCC system_header

#include_next <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#if __ISO_C_VISIBLE >= 2011
int at_quick_exit(void (*)(void));
void quick_exit(int) __attribute__((__noreturn__));
#endif
#if __MISC_VISIBLE
int clearenv(void);
int getloadavg(double *, int);
#endif

#ifdef __cplusplus
}
#endif
#endif
