/* What the shared library with the functions of MPI contains beside the runtime (`midplane lib`): the runtime starts when
 * a program loads the library, and is told of the end behind the program's atexit functions. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

void midplane_load(void);
void midplane_exit(int status, void *unused);

/* The functions of on_exit and the destructors of libraries are called in the reverse order of their registration. A
 * library that is loaded with the program registers its function before the C library registers the destructors, and
 * the function is the last one; in a library that the running program loads, the destructor is. */
static int status_at_end, is_destroyed, is_status_known;
static void midplane_note_status(int status, void *unused) {
    status_at_end = status;
    is_status_known = 1;
    if (is_destroyed)
        midplane_exit(status, unused);
}

__attribute__((constructor)) static void midplane_start(void) {
    /* As on nodes: what is printed comes line by line. */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    on_exit(midplane_note_status, NULL);
    midplane_load();
}

/* What was printed is shown, as on nodes; glibc's abort drops it. */
void __real_abort(void) __attribute__((noreturn));
void __wrap_abort(void) __attribute__((noreturn));
void __wrap_abort(void) {
    fflush(NULL);
    __real_abort();
}

__attribute__((destructor)) static void midplane_destroyed(void) {
    is_destroyed = 1;
    if (is_status_known)
        midplane_exit(status_at_end, NULL);
}
