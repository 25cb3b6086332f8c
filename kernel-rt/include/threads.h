/* C's threads, by POSIX's (pthread.h): for the one thread that a node has. */
#ifndef MIDPLANE_THREADS_H
#define MIDPLANE_THREADS_H
#pragma GCC system_header

#include <errno.h>
#include <pthread.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef pthread_t thrd_t;
typedef pthread_mutex_t mtx_t;
typedef pthread_cond_t cnd_t;
typedef pthread_key_t tss_t;
typedef pthread_once_t once_flag;
typedef int (*thrd_start_t)(void *);
typedef void (*tss_dtor_t)(void *);

enum { thrd_success, thrd_busy, thrd_error, thrd_nomem, thrd_timedout };
enum { mtx_plain = 0, mtx_recursive = 1, mtx_timed = 2 };

#define ONCE_FLAG_INIT PTHREAD_ONCE_INIT
#define TSS_DTOR_ITERATIONS 4
#ifndef __cplusplus
#define thread_local _Thread_local
#endif

static __inline int __midplane_thrd(int error)
{
    return error == 0           ? thrd_success
           : error == EBUSY     ? thrd_busy
           : error == ENOMEM    ? thrd_nomem
           : error == ETIMEDOUT ? thrd_timedout
                                : thrd_error;
}

static __inline int thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    (void)thread, (void)start, (void)argument;
    return thrd_error;
}

static __inline int thrd_join(thrd_t thread, int *result)
{
    (void)result;
    return __midplane_thrd(pthread_join(thread, 0));
}

static __inline int thrd_detach(thrd_t thread)
{
    return __midplane_thrd(pthread_detach(thread));
}

static __inline thrd_t thrd_current(void)
{
    return pthread_self();
}

static __inline int thrd_equal(thrd_t a, thrd_t b)
{
    return pthread_equal(a, b);
}

static __inline int thrd_sleep(const struct timespec *time, struct timespec *left)
{
    return nanosleep(time, left);
}

static __inline void thrd_yield(void)
{
}

static __inline void __attribute__((__noreturn__)) thrd_exit(int result)
{
    (void)result;
    pthread_exit(0);
}

static __inline void call_once(once_flag *flag, void (*routine)(void))
{
    pthread_once(flag, routine);
}

static __inline int mtx_init(mtx_t *mutex, int kind)
{
    pthread_mutexattr_t attributes = kind & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL;

    return __midplane_thrd(pthread_mutex_init(mutex, &attributes));
}

static __inline void mtx_destroy(mtx_t *mutex)
{
    pthread_mutex_destroy(mutex);
}

static __inline int mtx_lock(mtx_t *mutex)
{
    return __midplane_thrd(pthread_mutex_lock(mutex));
}

static __inline int mtx_trylock(mtx_t *mutex)
{
    return __midplane_thrd(pthread_mutex_trylock(mutex));
}

static __inline int mtx_timedlock(mtx_t *mutex, const struct timespec *until)
{
    return __midplane_thrd(pthread_mutex_timedlock(mutex, until));
}

static __inline int mtx_unlock(mtx_t *mutex)
{
    return __midplane_thrd(pthread_mutex_unlock(mutex));
}

static __inline int cnd_init(cnd_t *condition)
{
    return __midplane_thrd(pthread_cond_init(condition, 0));
}

static __inline void cnd_destroy(cnd_t *condition)
{
    pthread_cond_destroy(condition);
}

static __inline int cnd_signal(cnd_t *condition)
{
    return __midplane_thrd(pthread_cond_signal(condition));
}

static __inline int cnd_broadcast(cnd_t *condition)
{
    return __midplane_thrd(pthread_cond_broadcast(condition));
}

static __inline int cnd_wait(cnd_t *condition, mtx_t *mutex)
{
    return __midplane_thrd(pthread_cond_wait(condition, mutex));
}

static __inline int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until)
{
    return __midplane_thrd(pthread_cond_timedwait(condition, mutex, until));
}

static __inline int tss_create(tss_t *key, tss_dtor_t destructor)
{
    return __midplane_thrd(pthread_key_create(key, destructor));
}

static __inline void tss_delete(tss_t key)
{
    pthread_key_delete(key);
}

static __inline void *tss_get(tss_t key)
{
    return pthread_getspecific(key);
}

static __inline int tss_set(tss_t key, void *value)
{
    return __midplane_thrd(pthread_setspecific(key, value));
}

#ifdef __cplusplus
}
#endif
#endif
