/* picolibc's, and what it lacks of C and POSIX. */
#ifndef MIDPLANE_STDLIB_H
#define MIDPLANE_STDLIB_H
#pragma GCC system_header

/* Programs have functions of their own by these names, which Linux does not declare here. */
#define itoa __midplane_no_itoa
#define utoa __midplane_no_utoa
#define atoff __midplane_no_atoff
#define reallocf __midplane_no_reallocf
#define cfree __midplane_no_cfree
#if !__GNU_VISIBLE
#define qsort_r __midplane_no_qsort_r
#endif
#include_next <stdlib.h>
#undef itoa
#undef utoa
#undef atoff
#undef reallocf
#undef cfree
#undef qsort_r

#if __MISC_VISIBLE
/* Linux's brings them along: public programs have `struct timeval` and `fd_set` from here. */
#include <sys/select.h>
#include <sys/types.h>
#endif

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
