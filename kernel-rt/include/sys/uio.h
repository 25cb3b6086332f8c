/* Reads and writes of several pieces. */
#ifndef MIDPLANE_SYS_UIO_H
#define MIDPLANE_SYS_UIO_H
#pragma GCC system_header

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef IOV_MAX
#define IOV_MAX 1024
#endif
#define UIO_MAXIOV 1024

struct iovec {
    void *iov_base;
    size_t iov_len;
};

ssize_t readv(int, const struct iovec *, int);
ssize_t writev(int, const struct iovec *, int);
ssize_t preadv(int, const struct iovec *, int, off_t);
ssize_t pwritev(int, const struct iovec *, int, off_t);

#ifdef __cplusplus
}
#endif
#endif
