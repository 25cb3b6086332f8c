/* Shared by the files that a program of the cluster is linked with. */

#ifndef MIDPLANE_CLUSTER_H
#define MIDPLANE_CLUSTER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The runtime's (kernel-rt/cluster/carrier/src). */
void midplane_cluster(void) __attribute__((noreturn));
void midplane_leave(int status) __attribute__((noreturn));
void midplane_refuse(const char *function, const char *why) __attribute__((noreturn));
/* Kinds of state, as system.rs numbers them; behind the last, signals' actions. */
enum { MASK, SIGNAL_STACK, UMASK, DIRECTORY, STREAMS, LIMITS, LOCALE, ACTIONS };
void midplane_uses(int kind);
void midplane_print(uint32_t rank, int stream, const void *bytes, size_t count);
uint32_t midplane_rank(void);
uint64_t midplane_now(void);
void midplane_sleep(uint64_t ns);

/* cluster.c */
ssize_t midplane_write(int file, const void *bytes, size_t count);
void *midplane_find(const char *name);
/* The C library's function, where the program's is another. */
#define midplane_next(name) ((__typeof__(&name))midplane_find(#name))

/* cluster_system.c */
/* The rank has given another file to this descriptor of a standard stream, or has closed it. */
extern unsigned char midplane_replaced[3];
void midplane_replaces(int file);
/* Sleeps as long, or until a signal's handler has run: returns the nanoseconds that are left. */
uint64_t midplane_rest(uint64_t ns);

/* A function that a program cannot call here. It has the name for the linker alone: headers declare it. */
#define REFUSE(name, why)                                                  \
    void midplane_refuses_##name(void) __asm__(#name) __attribute__((weak)); \
    void midplane_refuses_##name(void) { midplane_refuse(#name, why); }

#endif
