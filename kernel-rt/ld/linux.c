/* What a program on Linux is linked with beside the runtime: the runtime starts before the program's first
 * constructor, and is told of its end after its last atexit function and its last destructor. (The runtime cannot do this by itself: a
 * library's constructors would run in every program that is linked with it, the tool and its tests among them.) */

#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

void midplane_boot(void);
void midplane_exit(int status, void *unused);

__attribute__((constructor(101))) static void midplane_start(void) {
    /* As on nodes: what is printed comes line by line. */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    midplane_boot();
}

/* What is to be done at the end is done in the order opposite to that in which it was asked for. The loader's destructors
 * of the program and its libraries were asked for before main, but not before this. A program without a loader asks for its
 * destructors earlier: there the last of them tells. */
static int is_loaded(void) { return getauxval(AT_BASE) != 0; }
static int status_at_end;
static void midplane_end(int status, void *unused) {
    status_at_end = status;
    if (is_loaded()) midplane_exit(status, unused);
}
static void midplane_watch_end(void) { on_exit(midplane_end, NULL); }
__attribute__((section(".preinit_array"), used)) static void (*const midplane_before_all)(void) = midplane_watch_end;
static void midplane_destroyed(void) {
    if (!is_loaded()) midplane_exit(status_at_end, NULL);
}
__attribute__((section(".fini_array.00000"), used)) static void (*const midplane_after_all)(void) = midplane_destroyed;

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
