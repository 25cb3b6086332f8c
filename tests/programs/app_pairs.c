/* Latency, bandwidth in one direction and in both, and message rate between pairs of ranks, every byte checked.
 *
 * Usage: app_pairs [times]. Rank r's partner is r + n / 2; with an odd number the last rank has none. With an argument
 * rank 0 prints the table of times, which differs from run to run; without, only what was checked.
 */
#include "check.h"

enum { LONGEST = 65536, WINDOW = 32, TAG = 7 };

static int partner, is_first;
static unsigned char *out, *in[WINDOW];

/* Microseconds per message, there and back. */
static double latency(int bytes, int rounds)
{
    double began;
    int i;

    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
    for (i = 0; i < rounds && partner >= 0; i++) {
        check_fill(out, (size_t)bytes, check_rank, i);
        if (is_first)
            OK(MPI_Send(out, bytes, MPI_BYTE, partner, TAG, MPI_COMM_WORLD));
        OK(MPI_Recv(in[0], bytes, MPI_BYTE, partner, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(check_wrong(in[0], (size_t)bytes, partner, i) == 0);
        if (!is_first)
            OK(MPI_Send(out, bytes, MPI_BYTE, partner, TAG, MPI_COMM_WORLD));
    }
    return (MPI_Wtime() - began) * 1e6 / (2 * rounds);
}

/* Megabytes a second by windows of messages, each window answered by an empty message. */
static double bandwidth(int bytes, int rounds, int both_ways)
{
    MPI_Request requests[2 * WINDOW];
    double began;
    int i, j, count;

    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
    for (i = 0; i < rounds && partner >= 0; i++) {
        check_fill(out, (size_t)bytes, check_rank, i);
        count = 0;
        if (both_ways || !is_first)
            for (j = 0; j < WINDOW; j++)
                OK(MPI_Irecv(in[j], bytes, MPI_BYTE, partner, TAG, MPI_COMM_WORLD, &requests[count++]));
        if (both_ways || is_first)
            for (j = 0; j < WINDOW; j++)
                OK(MPI_Isend(out, bytes, MPI_BYTE, partner, TAG, MPI_COMM_WORLD, &requests[count++]));
        OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
        if (both_ways || !is_first)
            for (j = 0; j < WINDOW; j++)
                CHECK(check_wrong(in[j], (size_t)bytes, partner, i) == 0);
        OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, partner, TAG + 1, NULL, 0, MPI_BYTE, partner, TAG + 1, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
    }
    return (both_ways ? 2.0 : 1.0) * bytes * WINDOW * rounds / ((MPI_Wtime() - began) * 1e6);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {0, 1, 8, 220, 221, 1000, 8192, 8193, LONGEST};
    int i, half;

    check_start(&argc, &argv);
    half = check_size / 2;
    partner = check_rank < half ? check_rank + half : check_rank < 2 * half ? check_rank - half : -1;
    is_first = check_rank < half;
    CHECK(partner != check_rank);
    out = check_room(LONGEST);
    for (i = 0; i < WINDOW; i++)
        in[i] = check_room(LONGEST);
    for (i = 0; i < (int)(sizeof lengths / sizeof lengths[0]); i++) {
        int rounds = lengths[i] > 1000 ? 2 : 10;
        double us = latency(lengths[i], rounds);
        double one = bandwidth(lengths[i], rounds, 0), two = bandwidth(lengths[i], rounds, 1);

        if (check_rank == 0 && argc > 1)
            printf("%6d bytes: %10.2f us  %10.3f MB/s  %10.3f MB/s both ways  %10.0f messages/s\n", lengths[i], us, one,
                   two, lengths[i] > 0 ? one * 1e6 / lengths[i] : 0.0);
    }
    free(out);
    for (i = 0; i < WINDOW; i++)
        free(in[i]);
    return check_end("app_pairs");
}
