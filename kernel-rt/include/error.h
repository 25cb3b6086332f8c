/* GNU's messages to standard error; with a status other than 0 they end the program. */
#ifndef MIDPLANE_ERROR_H
#define MIDPLANE_ERROR_H
#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

extern unsigned error_message_count;

void error(int, int, const char *, ...) __attribute__((__format__(__printf__, 3, 4)));
void error_at_line(int, int, const char *, unsigned, const char *, ...) __attribute__((__format__(__printf__, 5, 6)));

#ifdef __cplusplus
}
#endif
#endif
