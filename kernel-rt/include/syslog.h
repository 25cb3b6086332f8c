/* A node has no log of a system: messages go to standard error. */
#ifndef MIDPLANE_SYSLOG_H
#define MIDPLANE_SYSLOG_H
#pragma GCC system_header

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOG_EMERG 0
#define LOG_ALERT 1
#define LOG_CRIT 2
#define LOG_ERR 3
#define LOG_WARNING 4
#define LOG_NOTICE 5
#define LOG_INFO 6
#define LOG_DEBUG 7
#define LOG_PRIMASK 7
#define LOG_PRI(priority) ((priority) & LOG_PRIMASK)
#define LOG_MASK(priority) (1 << (priority))
#define LOG_UPTO(priority) ((1 << ((priority) + 1)) - 1)
#define LOG_KERN (0 << 3)
#define LOG_USER (1 << 3)
#define LOG_DAEMON (3 << 3)
#define LOG_AUTH (4 << 3)
#define LOG_SYSLOG (5 << 3)
#define LOG_LOCAL0 (16 << 3)
#define LOG_LOCAL1 (17 << 3)
#define LOG_LOCAL2 (18 << 3)
#define LOG_LOCAL3 (19 << 3)
#define LOG_LOCAL4 (20 << 3)
#define LOG_LOCAL5 (21 << 3)
#define LOG_LOCAL6 (22 << 3)
#define LOG_LOCAL7 (23 << 3)
#define LOG_PID 0x1
#define LOG_CONS 0x2
#define LOG_ODELAY 0x4
#define LOG_NDELAY 0x8
#define LOG_NOWAIT 0x10
#define LOG_PERROR 0x20

void openlog(const char *, int, int);
void closelog(void);
int setlogmask(int);
void syslog(int, const char *, ...) __attribute__((__format__(__printf__, 2, 3)));
void vsyslog(int, const char *, va_list) __attribute__((__format__(__printf__, 2, 0)));

#ifdef __cplusplus
}
#endif
#endif
