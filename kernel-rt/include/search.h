/* picolibc's, and what it lacks of POSIX. */
#ifndef MIDPLANE_SEARCH_H
#define MIDPLANE_SEARCH_H
#pragma GCC system_header

#include_next <search.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

void *lfind(const void *, const void *, size_t *, size_t, int (*)(const void *, const void *));
void *lsearch(const void *, void *, size_t *, size_t, int (*)(const void *, const void *));
void insque(void *, void *);
void remque(void *);

#ifdef __cplusplus
}
#endif
#endif
