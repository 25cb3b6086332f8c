/* Bytes that differ from node to node and call to call, but are no secret: a node has no source of them. */
#ifndef MIDPLANE_SYS_RANDOM_H
#define MIDPLANE_SYS_RANDOM_H
#pragma GCC system_header

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GRND_NONBLOCK 1
#define GRND_RANDOM 2

ssize_t getrandom(void *, size_t, unsigned);
int getentropy(void *, size_t);

#ifdef __cplusplus
}
#endif
#endif
