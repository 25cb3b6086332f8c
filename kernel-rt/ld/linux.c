/* What a program on Linux is linked with beside the runtime: the runtime starts before the program's first
 * constructor, and is told of its end after its last atexit function. (The runtime cannot do this by itself: a
 * library's constructors would run in every program that is linked with it, the tool and its tests among them.) */

#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>

void midplane_boot(void);
void midplane_exit(int status, void *unused);

__attribute__((constructor(101))) static void midplane_start(void) {
    /* As on nodes: what is printed comes line by line. */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    midplane_boot();
    on_exit(midplane_exit, NULL);
}

/* The program may end without atexit's functions, too. */
void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) {
    midplane_exit(status, NULL);
    __real__exit(status);
}
void __wrap__Exit(int status) __attribute__((noreturn));
void __wrap__Exit(int status) {
    midplane_exit(status, NULL);
    __real__exit(status);
}

/* What was printed is shown, as on nodes; glibc's abort drops it. */
void __real_abort(void) __attribute__((noreturn));
void __wrap_abort(void) __attribute__((noreturn));
void __wrap_abort(void) {
    fflush(NULL);
    __real_abort();
}
