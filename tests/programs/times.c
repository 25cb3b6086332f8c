/* Times of messages between two processes, under any MPI: `midplane bench linux` runs it over ours and another.
 *
 *     times [COUNT [NAME]]
 *
 * COUNT (default 2000) of each in a block, and of 32 blocks the least counts, the one that the machine disturbed least.
 * Rank 0 prints the library's name and the microseconds that each takes, or with NAME that one of them:
 *
 *     half    half a round trip of 8 bytes between ranks 0 and 1
 *     stream  a message of 8 bytes from rank 0 to rank 1, in windows of 64 by MPI_Isend and MPI_Irecv, each answered
 *     long    the same with 64 KiB, in windows of 16 (a sixteenth as many)
 *     self    8 bytes from rank 0 to itself: MPI_Irecv, MPI_Send, MPI_Wait
 *
 * Exit status: 0, or 1 if a message was wrong, or 2 for bad arguments.
 */
#include "check.h"

enum { LONG = 64 << 10, WINDOW = 64, BLOCKS = 32, TAG = 1 };

static char *room[2][WINDOW];
static const char *only;

/* The first and the last byte say which message it is. */
static void mark(char *bytes, int length, int i)
{
    bytes[0] = (char)i;
    bytes[length - 1] = (char)(i >> 8);
}

static int is_marked(const char *bytes, int length, int i)
{
    return bytes[0] == (char)i && bytes[length - 1] == (char)(i >> 8);
}

static void half(int count)
{
    char *out = room[0][0], *in = room[1][0];
    int i;

    for (i = 0; i < count / 2; i++) {
        mark(out, 8, i);
        if (check_rank == 0)
            POLL(MPI_Send(out, 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
        POLL(MPI_Recv(in, 8, MPI_BYTE, 1 - check_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (check_rank == 1)
            POLL(MPI_Send(out, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
        check_failed += !is_marked(in, 8, i);
    }
}

static void windows(int count, int length, int window)
{
    MPI_Request requests[WINDOW];
    char answer = 0;
    int i, j;

    for (i = 0; i < count; i += window) {
        for (j = 0; j < window; j++)
            if (check_rank == 0) {
                mark(room[0][j], length, i + j);
                POLL(MPI_Isend(room[0][j], length, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[j]));
            } else {
                POLL(MPI_Irecv(room[1][j], length, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[j]));
            }
        POLL(MPI_Waitall(window, requests, MPI_STATUSES_IGNORE));
        if (check_rank == 0)
            POLL(MPI_Recv(&answer, 1, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        else
            POLL(MPI_Send(&answer, 1, MPI_CHAR, 0, TAG, MPI_COMM_WORLD));
        for (j = 0; check_rank == 1 && j < window; j++)
            check_failed += !is_marked(room[1][j], length, i + j);
    }
}

static void stream(int count)
{
    windows(count, 8, WINDOW);
}

static void long_messages(int count)
{
    windows(count, LONG, 16);
}

static void self(int count)
{
    long value, got = 0;
    MPI_Request request;

    for (value = 1; check_rank == 0 && value <= count; value++) {
        POLL(MPI_Irecv(&got, 1, MPI_LONG, 0, TAG, MPI_COMM_WORLD, &request));
        POLL(MPI_Send(&value, 1, MPI_LONG, 0, TAG, MPI_COMM_WORLD));
        POLL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check_failed += got != value;
    }
}

static void timed(const char *name, void (*work)(int), int count)
{
    double least = 1e9;
    int block;

    if (only != NULL && strcmp(only, name) != 0)
        return;
    for (block = 0; check_rank < 2 && block < BLOCKS; block++) {
        double began = MPI_Wtime(), took;

        work(count);
        took = MPI_Wtime() - began;
        if (took < least)
            least = took;
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (check_rank == 0)
        printf("times: %s %.4f\n", name, least / count * 1e6);
}

int main(int argc, char **argv)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int count = argc > 1 ? atoi(argv[1]) : 2000, length, side, j;

    check_start(&argc, &argv);
    if (count < 1 || count > 1000000 || check_size < 2) {
        if (check_rank == 0)
            fprintf(stderr, "times: give a count from 1 to 1000000, and at least two processes\n");
        MPI_Finalize();
        return 2;
    }
    only = argc > 2 ? argv[2] : NULL;
    for (side = 0; side < 2; side++)
        for (j = 0; j < WINDOW; j++)
            room[side][j] = memset(check_room(LONG), 0, LONG);
    OK(MPI_Get_library_version(library, &length));
    if (check_rank == 0)
        printf("times: library %.*s\n", (int)strcspn(library, "\n"), library);
    /* Whole windows, and pairs. */
    count += WINDOW - 1 - (count - 1) % WINDOW;
    timed("half", half, count);
    timed("stream", stream, count);
    timed("long", long_messages, count / 16 + 15 - (count / 16 + 15) % 16);
    timed("self", self, count);
    for (side = 0; side < 2; side++)
        for (j = 0; j < WINDOW; j++)
            free(room[side][j]);
    return check_end("times");
}
