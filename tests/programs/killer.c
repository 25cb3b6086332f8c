/* The killer benchmark: figure 11 of "Scaling MPI to short-memory MPPs such as BG/L".
 *
 *     killer [N [BYTES]]          N messages (default 5) of BYTES bytes (default 1024)
 *
 * Every rank but 0 sends N messages of BYTES bytes with tags 1..N by MPI_Isend. Rank 0 receives them in
 * the reverse order of their tags, so that nothing that arrives first is wanted first: whatever MPI keeps
 * for unexpected messages, this fills it. Rank 0 checks every byte and prints one line.
 *
 * Exit status: 0, or 1 if any byte, source, tag or length was wrong, or 2 for bad arguments.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

/* The byte at `place` of what `rank` sends. The message with tag t starts at place t, so that one buffer
 * of N + BYTES holds all messages of a rank, and still no two of them are alike. */
static unsigned char byte_at(int rank, unsigned long place)
{
    unsigned int x = (unsigned int)place * 2654435761u + (unsigned int)rank * 40503u;
    x ^= x >> 15;
    x *= 2246822519u;
    return (unsigned char)(x >> 24);
}

/* Reads a whole number from `least` to INT_MAX; 0 if `text` is none. */
static int parse(const char *text, long least, int *value)
{
    char *end;
    long number;

    errno = 0;
    number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < least || number > INT_MAX)
        return 0;
    *value = (int)number;
    return 1;
}

static void *room(size_t bytes, int rank)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);

    if (memory == NULL) {
        fprintf(stderr, "killer: rank %d has no memory for %lu bytes; give fewer or smaller messages\n",
                rank, (unsigned long)bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static void send_all(int rank, int n, int bytes)
{
    size_t length = (size_t)n + 1 + (size_t)bytes;
    unsigned char *buffer = room(length, rank);
    MPI_Request *requests = room((size_t)n * sizeof *requests, rank);
    size_t place;
    int tag;

    for (place = 0; place < length; place++)
        buffer[place] = byte_at(rank, place);
    MPI_Barrier(MPI_COMM_WORLD);
    for (tag = 1; tag <= n; tag++)
        MPI_Isend(buffer + tag, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &requests[tag - 1]);
    for (tag = 1; tag <= n; tag++)
        MPI_Wait(&requests[tag - 1], MPI_STATUS_IGNORE);
    free(requests);
    free(buffer);
}

static unsigned long receive_all(int processes, int n, int bytes, double *seconds)
{
    unsigned char *buffer = room((size_t)bytes, 0);
    unsigned long errors = 0;
    MPI_Status status;
    int tag, source, count, i;
    double start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (tag = n; tag >= 1; tag--) {
        for (source = 1; source < processes; source++) {
            /* What an earlier message left must not pass for this one. */
            for (i = 0; i < bytes; i++)
                buffer[i] = (unsigned char)~byte_at(source, (unsigned long)tag + (unsigned long)i);
            MPI_Recv(buffer, bytes, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            if (status.MPI_SOURCE != source || status.MPI_TAG != tag || count != bytes)
                errors++;
            for (i = 0; i < bytes; i++)
                if (buffer[i] != byte_at(source, (unsigned long)tag + (unsigned long)i))
                    errors++;
        }
    }
    *seconds = MPI_Wtime() - start;
    free(buffer);
    return errors;
}

int main(int argc, char **argv)
{
    int rank, processes, n = 5, bytes = 1024;
    unsigned long errors = 0;
    double seconds = 0.0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);

    if (argc > 3 || (argc > 1 && !parse(argv[1], 1, &n)) || (argc > 2 && !parse(argv[2], 0, &bytes))) {
        if (rank == 0)
            fprintf(stderr, "usage: killer [N [BYTES]]: N messages (at least 1) of BYTES bytes (at least 0)\n");
        MPI_Finalize();
        return 2;
    }

    if (rank == 0) {
        errors = receive_all(processes, n, bytes, &seconds);
        printf("killer: %d processes, %d messages of %d bytes from each, %.6f seconds, %lu errors\n",
               processes, n, bytes, seconds, errors);
    } else {
        send_all(rank, n, bytes);
    }

    MPI_Finalize();
    return errors == 0 ? 0 : 1;
}
