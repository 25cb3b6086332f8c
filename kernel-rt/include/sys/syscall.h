/* syscall() answers these two; a node has no others of Linux's calls (ENOSYS). */
#ifndef MIDPLANE_SYS_SYSCALL_H
#define MIDPLANE_SYS_SYSCALL_H
#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

#define __NR_getpid 172
#define __NR_gettid 178
#define SYS_getpid __NR_getpid
#define SYS_gettid __NR_gettid

long syscall(long, ...);

#ifdef __cplusplus
}
#endif
#endif
