/* The last rank does one thing wrong, of the kind that is named; some of it within the C library. Of what MPI does to a
 * buffer that cannot be written, others have their part. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <fenv.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile uintptr_t bad = 8;
static char bytes[100000];

static int compare(const void *left, const void *right) { return *(const int *)left - *(const int *)right; }
static int compare_badly(const void *left, const void *right) { return *(int *)bad + (left < right); }

static void in_library(const char *what) {
    if (strcmp(what, "strlen") == 0) printf("%d\n", (int)strlen((char *)bad));
    if (strcmp(what, "memcpy") == 0) memcpy((void *)bad, bytes, sizeof bytes);
    if (strcmp(what, "memset") == 0) memset((void *)bad, 1, sizeof bytes);
    if (strcmp(what, "printf") == 0) printf("%s\n", (char *)bad);
    if (strcmp(what, "qsort") == 0) qsort((void *)bad, 100, sizeof(int), compare);
    if (strcmp(what, "compare") == 0) qsort(bytes, 100, sizeof(int), compare_badly);
    if (strcmp(what, "free") == 0) free((void *)(bad * 1000003));
    if (strcmp(what, "fclose") == 0) fclose((FILE *)bad);
}

/* An address that no processor can use, by a load of our own and by the library's. */
static void high(const char *what) {
    bad = 0x4141414141414141;
    if (strcmp(what, "high") == 0) printf("%d\n", *(volatile int *)bad);
    if (strcmp(what, "high_memset") == 0) memset((void *)bad, 1, sizeof bytes);
}

static void sent(const char *what) {
    if (strcmp(what, "raise") == 0) raise(SIGSEGV);
    if (strcmp(what, "kill") == 0) kill(getpid(), SIGBUS);
    if (strcmp(what, "abort") == 0) abort();
}

static volatile int zero = 0;

static void others(const char *what) {
    if (strcmp(what, "division") == 0) printf("%d\n", 10 / zero);
    if (strcmp(what, "exception") == 0) {
        feenableexcept(FE_DIVBYZERO);
        printf("%g\n", 1.0 / zero);
    }
    if (strcmp(what, "trap") == 0) __builtin_trap();
    if (strcmp(what, "nowhere") == 0) ((void (*)(void))(uintptr_t)zero)();
    if (strcmp(what, "constant") == 0) *(char *)"constant" = 1;
    if (strcmp(what, "file_end") == 0) {
        char name[] = "/tmp/midplane_faults_XXXXXX";
        int file = mkstemp(name);
        unlink(name);
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        *page = 1;
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "";
    if (rank == size - 1) {
        if (strcmp(what, "receive") == 0) {
            MPI_Recv("constant", 4, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        in_library(what);
        high(what);
        sent(what);
        others(what);
    } else if (rank == 0 && strcmp(what, "receive") == 0) {
        MPI_Send("text", 4, MPI_BYTE, size - 1, 1, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
