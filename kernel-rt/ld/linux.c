/* What a program on Linux is linked with beside the runtime: the runtime starts before the program's first
 * constructor, and is told of its end after its last atexit function and its last destructor. (The runtime cannot do this by itself: a
 * library's constructors would run in every program that is linked with it, the tool and its tests among them.) */

#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void midplane_boot(int has_thread_entries);
void midplane_wrapped(const char *library, const char *function) __attribute__((noreturn));
void midplane_exit(int status, void *unused);

/* How many symbols an object has that others can link to, by the table of hashes that finds them. */
static size_t symbols(const uint32_t *gnu, const uint32_t *sysv) {
    if (sysv != NULL) return sysv[1];
    if (gnu == NULL) return 0;
    uint32_t last = 0;
    const uint32_t *buckets = gnu + 4 + gnu[2] * (sizeof(ElfW(Addr)) / 4), *chains = buckets + gnu[0];
    for (uint32_t at = 0; at < gnu[0]; at++)
        if (buckets[at] > last) last = buckets[at];
    if (last < gnu[1]) return 0;
    while (!(chains[last - gnu[1]] & 1)) last++;
    return last + 1;
}

/* A shared library with functions of MPI of its own wraps nothing: the program calls those that are part of it. */
static int look_at_library(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    const ElfW(Sym) *table = NULL;
    const char *names = NULL;
    const uint32_t *gnu = NULL, *sysv = NULL;
    if (info->dlpi_name == NULL || *info->dlpi_name == '\0') return 0;
    for (int at = 0; at < info->dlpi_phnum; at++) {
        if (info->dlpi_phdr[at].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[at].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            /* Most loaders have made addresses of them. */
            ElfW(Addr) there = entry->d_un.d_ptr;
            if (there < info->dlpi_addr) there += info->dlpi_addr;
            switch (entry->d_tag) {
            case DT_SYMTAB: table = (const ElfW(Sym) *)there; break;
            case DT_STRTAB: names = (const char *)there; break;
            case DT_GNU_HASH: gnu = (const uint32_t *)there; break;
            case DT_HASH: sysv = (const uint32_t *)there; break;
            }
        }
    }
    if (table == NULL || names == NULL) return 0;
    size_t count = symbols(gnu, sysv);
    for (size_t at = 0; at < count; at++) {
        const char *name = names + table[at].st_name;
        if (table[at].st_shndx != SHN_UNDEF && strncmp(name, "MPI_", 4) == 0)
            midplane_wrapped(info->dlpi_name, name);
    }
    return 0;
}

/* The functions of MPI of a program that may ask for MPI_THREAD_MULTIPLE have it (midplane_api::ThreadEntries). */
extern const char midplane_thread_entries[] __attribute__((weak));

static int status_at_end;
static void midplane_note_status(int status, void *unused) {
    (void)unused;
    status_at_end = status;
}

__attribute__((constructor(101))) static void midplane_start(void) {
    /* As on nodes: what is printed comes line by line. */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    midplane_boot(midplane_thread_entries != NULL);
    dl_iterate_phdr(look_at_library, NULL);
    on_exit(midplane_note_status, NULL);
}

/* The last of the program's destructors tells of its end, which comes behind all functions of atexit: so MPI_Finalize may be
 * called in any of them. What a checker of leaks or a library has to do at its end it was asked to do earlier, before main,
 * and it does so later, when the job is over. */
static void midplane_destroyed(void) { midplane_exit(status_at_end, NULL); }
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
