/* picolibc's, and what a node has of it besides. */
#ifndef MIDPLANE_SCHED_H
#define MIDPLANE_SCHED_H
#pragma GCC system_header

#include_next <sched.h>

#ifdef __cplusplus
extern "C" {
#endif

int sched_yield(void);

#ifdef __cplusplus
}
#endif
#endif
