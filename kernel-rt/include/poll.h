/* The streams and files are always ready (a read of standard input may wait all the same); a wait for nothing
 * is a sleep.
 */
#ifndef MIDPLANE_POLL_H
#define MIDPLANE_POLL_H
#pragma GCC system_header

#include <signal.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POLLIN 0x1
#define POLLPRI 0x2
#define POLLOUT 0x4
#define POLLERR 0x8
#define POLLHUP 0x10
#define POLLNVAL 0x20
#define POLLRDNORM 0x40
#define POLLRDBAND 0x80
#define POLLWRNORM 0x100
#define POLLWRBAND 0x200

typedef unsigned long nfds_t;
struct pollfd {
    int fd;
    short events, revents;
};

int poll(struct pollfd *, nfds_t, int);
#if __POSIX_VISIBLE
int ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
#endif

#ifdef __cplusplus
}
#endif
#endif
