/* picolibc's, and what it lacks of C and POSIX. */
#ifndef MIDPLANE_STDIO_H
#define MIDPLANE_STDIO_H
#pragma GCC system_header

#include <sys/types.h>

/* Later versions declare these whatever the language is; a program of ISO C has functions of its own by these names. */
#if !__POSIX_VISIBLE || __POSIX_VISIBLE < 200809
#define getline __midplane_no_getline
#define getdelim __midplane_no_getdelim
#endif
/* Nor has the language this one any longer, and these are GNU's. */
#if __STDC_VERSION__ >= 201112L || __cplusplus >= 201402L
#define gets __midplane_no_gets
#endif
#if !__GNU_VISIBLE
#define asprintf __midplane_no_asprintf
#define vasprintf __midplane_no_vasprintf
#endif
#include_next <stdio.h>
#undef gets
#undef asprintf
#undef vasprintf
#undef getline
#undef getdelim

/* Later versions have macros of these names, one with another number of arguments. */
#undef getc_unlocked
#undef getchar_unlocked
#undef putc_unlocked
#undef putchar_unlocked
#undef feof_unlocked
#undef ferror_unlocked
#undef clearerr_unlocked

/* Bytes of the longest name of a file, with its end; streams that can be open at one time, with the three standard ones
 * (abi/src/files.rs). */
#ifndef FILENAME_MAX
#define FILENAME_MAX 4096
#endif
#ifndef FOPEN_MAX
#define FOPEN_MAX 67
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if __POSIX_VISIBLE
FILE *popen(const char *, const char *);
int pclose(FILE *);
void flockfile(FILE *);
int ftrylockfile(FILE *);
void funlockfile(FILE *);
int getc_unlocked(FILE *);
int getchar_unlocked(void);
int putc_unlocked(int, FILE *);
int putchar_unlocked(int);
#endif
#if __POSIX_VISIBLE >= 200809
ssize_t getdelim(char **, size_t *, int, FILE *);
ssize_t getline(char **, size_t *, FILE *);
int dprintf(int, const char *, ...) __attribute__((__format__(__printf__, 2, 3)));
int vdprintf(int, const char *, __builtin_va_list) __attribute__((__format__(__printf__, 2, 0)));
FILE *open_memstream(char **, size_t *);
#endif
#if __MISC_VISIBLE
int fgetc_unlocked(FILE *);
int fputc_unlocked(int, FILE *);
size_t fread_unlocked(void *, size_t, size_t, FILE *);
size_t fwrite_unlocked(const void *, size_t, size_t, FILE *);
int fflush_unlocked(FILE *);
int feof_unlocked(FILE *);
int ferror_unlocked(FILE *);
void clearerr_unlocked(FILE *);
int fileno_unlocked(FILE *);
#endif
#if __GNU_VISIBLE
char *fgets_unlocked(char *, int, FILE *);
int fputs_unlocked(const char *, FILE *);
#endif

#ifdef __cplusplus
}
#endif
#endif
