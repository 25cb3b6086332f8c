/* Semaphores for the one thread that a node has: a wait that could never end fails with EDEADLK. Those with names
 * are for several processes (ENOSYS).
 */
#ifndef MIDPLANE_SEMAPHORE_H
#define MIDPLANE_SEMAPHORE_H
#pragma GCC system_header

#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct { unsigned __value; } sem_t;

#define SEM_FAILED ((sem_t *)0)
#define SEM_VALUE_MAX 0x7fffffff

int sem_init(sem_t *, int, unsigned);
int sem_destroy(sem_t *);
int sem_wait(sem_t *);
int sem_trywait(sem_t *);
int sem_timedwait(sem_t *, const struct timespec *);
int sem_post(sem_t *);
int sem_getvalue(sem_t *, int *);
sem_t *sem_open(const char *, int, ...);
int sem_close(sem_t *);
int sem_unlink(const char *);

#ifdef __cplusplus
}
#endif
#endif
