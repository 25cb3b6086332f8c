/* picolibc's, and what it lacks of GNU. */
#ifndef MIDPLANE_MALLOC_H
#define MIDPLANE_MALLOC_H
#pragma GCC system_header

#include_next <malloc.h>

#ifdef __cplusplus
extern "C" {
#endif

int malloc_trim(size_t);

#ifdef __cplusplus
}
#endif
#endif
