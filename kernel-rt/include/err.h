/* Messages to standard error, with the program's name in front; err() and its like end the program. */
#ifndef MIDPLANE_ERR_H
#define MIDPLANE_ERR_H
#pragma GCC system_header

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

void err(int, const char *, ...) __attribute__((__noreturn__, __format__(__printf__, 2, 3)));
void errx(int, const char *, ...) __attribute__((__noreturn__, __format__(__printf__, 2, 3)));
void warn(const char *, ...) __attribute__((__format__(__printf__, 1, 2)));
void warnx(const char *, ...) __attribute__((__format__(__printf__, 1, 2)));
void verr(int, const char *, va_list) __attribute__((__noreturn__, __format__(__printf__, 2, 0)));
void verrx(int, const char *, va_list) __attribute__((__noreturn__, __format__(__printf__, 2, 0)));
void vwarn(const char *, va_list) __attribute__((__format__(__printf__, 1, 0)));
void vwarnx(const char *, va_list) __attribute__((__format__(__printf__, 1, 0)));

#ifdef __cplusplus
}
#endif
#endif
