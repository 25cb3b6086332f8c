/* No callers are known to a program: there are 0. When one fails, the tool tells its lines. */
#ifndef MIDPLANE_EXECINFO_H
#define MIDPLANE_EXECINFO_H
#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

int backtrace(void **, int);
char **backtrace_symbols(void *const *, int);
void backtrace_symbols_fd(void *const *, int, int);

#ifdef __cplusplus
}
#endif
#endif
