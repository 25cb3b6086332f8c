/* What the conformance programs share: checks that count, and one line from rank 0 at the end.
 *
 * The same programs run under any MPI, which is how they are known to be right themselves.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

/* What MPICH 4.0.2 is known to do otherwise stands behind it, with what that is: a deviation from the standard, or an
 * error that the standard does not oblige it to find, or not by that class (section 8.3). */
#ifdef MPICH_VERSION
enum { IS_MPICH = 1 };
#else
enum { IS_MPICH = 0 };
#endif

static long check_done, check_failed;
static int check_rank, check_size;

/* Reports at most this many failures of one rank, and counts them all. */
#define CHECK_REPORTS 20

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        check_done++;                                                                          \
        if (!(condition) && check_failed++ < CHECK_REPORTS)                                    \
            printf("rank %d: %s:%d: not so: %s\n", check_rank, __FILE__, __LINE__, #condition); \
    } while (0)

/* A call that must succeed. */
#define OK(call)                                                                                       \
    do {                                                                                               \
        int check_code = (call);                                                                       \
        check_done++;                                                                                  \
        if (check_code != MPI_SUCCESS && check_failed++ < CHECK_REPORTS)                               \
            printf("rank %d: %s:%d: error %d from %s\n", check_rank, __FILE__, __LINE__, check_code, #call); \
    } while (0)

/* The same for a call in a loop that polls: counted only when it fails. */
#define POLL(call)                                                                          \
    do {                                                                                    \
        int poll_code = (call);                                                             \
        if (poll_code != MPI_SUCCESS && check_done++ >= 0 && check_failed++ < CHECK_REPORTS) \
            printf("rank %d: %s:%d: error %d from %s\n", check_rank, __FILE__, __LINE__, poll_code, #call); \
    } while (0)

/* A call that must fail with an error of the class `wanted`. */
#define FAILS(wanted, call)                                                                             \
    do {                                                                                                \
        int check_class = MPI_SUCCESS;                                                                  \
        MPI_Error_class((call), &check_class);                                                          \
        check_done++;                                                                                   \
        if (check_class != (wanted) && check_failed++ < CHECK_REPORTS)                                  \
            printf("rank %d: %s:%d: class %d, not %s, from %s\n", check_rank, __FILE__, __LINE__,       \
                   check_class, #wanted, #call);                                                        \
    } while (0)

static void check_start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
}

/* Adds up the counts of all ranks, prints the line, ends MPI; the result is the program's exit status. */
static int check_end(const char *name)
{
    long mine[2], all[2] = {0, 0};

    mine[0] = check_done;
    mine[1] = check_failed;
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (check_rank == 0)
        printf("%s: %d processes, %ld checks, %ld failed\n", name, check_size, all[0], all[1]);
    MPI_Finalize();
    return all[1] == 0 && all[0] > 0 ? 0 : 1;
}

static void *check_room(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);

    if (memory == NULL) {
        fprintf(stderr, "rank %d: no memory for %lu bytes\n", check_rank, (unsigned long)bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* The byte at `place` of message number `serial` from `source`. */
static unsigned char check_byte(int source, int serial, size_t place)
{
    unsigned x = (unsigned)place * 2654435761u + (unsigned)source * 40503u + (unsigned)serial * 9176263u;

    x ^= x >> 15;
    x *= 2246822519u;
    return (unsigned char)(x >> 24);
}

static void check_fill(unsigned char *buffer, size_t bytes, int source, int serial)
{
    size_t i;

    for (i = 0; i < bytes; i++)
        buffer[i] = check_byte(source, serial, i);
}

/* How many bytes of `buffer` are not what check_fill writes. */
static long check_wrong(const unsigned char *buffer, size_t bytes, int source, int serial)
{
    long wrong = 0;
    size_t i;

    for (i = 0; i < bytes; i++)
        wrong += buffer[i] != check_byte(source, serial, i);
    return wrong;
}

/* Keeps a compiler from warning about helpers that one of the programs does not need. */
static inline void check_unused(void)
{
    (void)check_start;
    (void)check_end;
    (void)check_room;
    (void)check_fill;
    (void)check_wrong;
}

#endif
