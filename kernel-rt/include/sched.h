/* picolibc's, and what a node has of it besides: one processor. */
#ifndef MIDPLANE_SCHED_H
#define MIDPLANE_SCHED_H
#pragma GCC system_header

#include_next <sched.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CPU_SETSIZE 1024
#define __CPU_WORD_BITS (8 * (int)sizeof(unsigned long))

int sched_yield(void);
int sched_get_priority_max(int);
int sched_get_priority_min(int);
int sched_getscheduler(pid_t);
int sched_setscheduler(pid_t, int, const struct sched_param *);
int sched_getparam(pid_t, struct sched_param *);
int sched_setparam(pid_t, const struct sched_param *);
int sched_rr_get_interval(pid_t, struct timespec *);

#if __GNU_VISIBLE
typedef struct { unsigned long __words[1024 / (8 * sizeof(unsigned long))]; } cpu_set_t;

int sched_getcpu(void);
int sched_getaffinity(pid_t, size_t, cpu_set_t *);
int sched_setaffinity(pid_t, size_t, const cpu_set_t *);

#define __CPU_BIT(cpu) (1UL << ((cpu) % __CPU_WORD_BITS))
#define __CPU_IN(cpu, size) ((size_t)(cpu) < 8 * (size_t)(size))
#define CPU_ZERO_S(size, set) ((void)__builtin_memset(set, 0, size))
#define CPU_SET_S(cpu, size, set) \
    ((void)(__CPU_IN(cpu, size) ? ((set)->__words[(cpu) / __CPU_WORD_BITS] |= __CPU_BIT(cpu)) : 0))
#define CPU_CLR_S(cpu, size, set) \
    ((void)(__CPU_IN(cpu, size) ? ((set)->__words[(cpu) / __CPU_WORD_BITS] &= ~__CPU_BIT(cpu)) : 0))
#define CPU_ISSET_S(cpu, size, set) \
    (__CPU_IN(cpu, size) ? ((set)->__words[(cpu) / __CPU_WORD_BITS] & __CPU_BIT(cpu)) != 0 : 0)
#define CPU_COUNT_S(size, set) __midplane_cpu_count(size, set)
#define CPU_EQUAL_S(size, a, b) (__builtin_memcmp(a, b, size) == 0)
#define __CPU_OP_S(size, to, a, b, op) __extension__({ \
        size_t __at; \
        for (__at = 0; __at < (size) / sizeof(unsigned long); __at++) \
            (to)->__words[__at] = (a)->__words[__at] op (b)->__words[__at]; \
    })
#define CPU_AND_S(size, to, a, b) __CPU_OP_S(size, to, a, b, &)
#define CPU_OR_S(size, to, a, b) __CPU_OP_S(size, to, a, b, |)
#define CPU_XOR_S(size, to, a, b) __CPU_OP_S(size, to, a, b, ^)
#define CPU_ZERO(set) CPU_ZERO_S(sizeof(cpu_set_t), set)
#define CPU_SET(cpu, set) CPU_SET_S(cpu, sizeof(cpu_set_t), set)
#define CPU_CLR(cpu, set) CPU_CLR_S(cpu, sizeof(cpu_set_t), set)
#define CPU_ISSET(cpu, set) CPU_ISSET_S(cpu, sizeof(cpu_set_t), set)
#define CPU_COUNT(set) CPU_COUNT_S(sizeof(cpu_set_t), set)
#define CPU_EQUAL(a, b) CPU_EQUAL_S(sizeof(cpu_set_t), a, b)
#define CPU_AND(to, a, b) CPU_AND_S(sizeof(cpu_set_t), to, a, b)
#define CPU_OR(to, a, b) CPU_OR_S(sizeof(cpu_set_t), to, a, b)
#define CPU_XOR(to, a, b) CPU_XOR_S(sizeof(cpu_set_t), to, a, b)
#define CPU_ALLOC_SIZE(count) \
    (((size_t)(count) + __CPU_WORD_BITS - 1) / __CPU_WORD_BITS * sizeof(unsigned long))
#define CPU_ALLOC(count) ((cpu_set_t *)__builtin_malloc(CPU_ALLOC_SIZE(count)))
#define CPU_FREE(set) __builtin_free(set)

static __inline int __midplane_cpu_count(size_t size, const cpu_set_t *set)
{
    size_t at;
    int count = 0;

    for (at = 0; at < size / sizeof(unsigned long); at++)
        count += __builtin_popcountl(set->__words[at]);
    return count;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
