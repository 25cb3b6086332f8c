/* picolibc's, and what it lacks of POSIX. */
#ifndef MIDPLANE_STDIO_H
#define MIDPLANE_STDIO_H
#pragma GCC system_header

#include_next <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

ssize_t getdelim(char **, size_t *, int, FILE *);
ssize_t getline(char **, size_t *, FILE *);
FILE *popen(const char *, const char *);
int pclose(FILE *);

#ifdef __cplusplus
}
#endif
#endif
