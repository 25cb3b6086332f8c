/* Memory that MPI borrows from the program's heap, and what the program frees (run with --mpi-borrow).
 *
 *     borrow [MESSAGES]      default 40, of 1000 bytes from each rank
 *
 * Rank 0 holds nearly all of its heap while the others send, frees it, and only then receives. Every byte is
 * checked; exit status 1 if any is wrong. What was borrowed is in the job's report.
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

enum { BYTES = 1000, PIECES = 4096, PIECE = 16384, PAUSE_US = 300000 };

static char *pieces[PIECES];

/* Takes heap until there is none, then gives a little back, so that MPI's own requests have room. */
static int hoard(void)
{
    int count = 0;
    while (count < PIECES && (pieces[count] = malloc(PIECE)) != NULL)
        count++;
    for (int i = 0; i < 8 && count > 0; i++)
        free(pieces[--count]);
    return count;
}

int main(int argc, char **argv)
{
    int rank, size, errors = 0;
    static char buffer[BYTES];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int messages = argc > 1 ? atoi(argv[1]) : 40;
    if (messages < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: borrow [MESSAGES]: at least 1\n");
        MPI_Finalize();
        return 2;
    }
    int count = rank == 0 ? hoard() : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        usleep(PAUSE_US);
        for (int i = 0; i < count; i++)
            free(pieces[i]);
        usleep(PAUSE_US);
        for (int source = 1; source < size; source++)
            for (int tag = messages; tag >= 1; tag--) {
                MPI_Recv(buffer, BYTES, MPI_CHAR, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                for (int i = 0; i < BYTES; i++)
                    errors += buffer[i] != (char)(source * 7 + tag + i);
            }
        printf("borrow: %d processes, %d messages, %d errors\n", size, messages, errors);
    } else {
        char *all = malloc((size_t)messages * BYTES);
        MPI_Request *requests = malloc((size_t)messages * sizeof *requests);
        if (all == NULL || requests == NULL)
            MPI_Abort(MPI_COMM_WORLD, 3);
        for (int tag = 1; tag <= messages; tag++) {
            char *out = all + (size_t)(tag - 1) * BYTES;
            for (int i = 0; i < BYTES; i++)
                out[i] = (char)(rank * 7 + tag + i);
            MPI_Isend(out, BYTES, MPI_CHAR, 0, tag, MPI_COMM_WORLD, &requests[tag - 1]);
        }
        MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
        free(requests);
        free(all);
    }
    MPI_Finalize();
    return errors != 0;
}
