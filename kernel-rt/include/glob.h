/* Paths that match a pattern. */
#ifndef MIDPLANE_GLOB_H
#define MIDPLANE_GLOB_H
#pragma GCC system_header

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    size_t gl_pathc;
    char **gl_pathv;
    size_t gl_offs;
} glob_t;

#define GLOB_ERR 0x1
#define GLOB_MARK 0x2
#define GLOB_NOSORT 0x4
#define GLOB_DOOFFS 0x8
#define GLOB_NOCHECK 0x10
#define GLOB_APPEND 0x20
#define GLOB_NOESCAPE 0x40
#define GLOB_NOSPACE 1
#define GLOB_ABORTED 2
#define GLOB_NOMATCH 3

int glob(const char *, int, int (*)(const char *, int), glob_t *);
void globfree(glob_t *);

#ifdef __cplusplus
}
#endif
#endif
