/* Conformance: blocking point to point (MPI-3.1, chapter 3).
 *
 * Modes, datatypes, lengths from nothing to 1 MiB, wildcards, order, MPI_PROC_NULL, Sendrecv, messages to
 * oneself. Any number of processes from 1.
 */
#include "check.h"

#include <stdint.h>

enum { BIG = 1 << 20 };

/* Lengths around the edges of packets, frames and protocols. */
static const int lengths[] = {0,    1,    2,    31,   32,   33,    223,   224,   225,   231,   232,  233,
                              239,  240,  241,  247,  248,  249,   255,   256,   257,   495,   496,  497,
                              1000, 1023, 1024, 1025, 4095, 4096,  4097,  10000, 16384, 65535, 65536, 65537,
                              102400, 262144, BIG};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static unsigned char *out, *in;

static void send_in_mode(int mode, int bytes, int to, int tag)
{
    if (mode == 0)
        OK(MPI_Send(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD));
    else
        OK(MPI_Ssend(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD));
}

static void receive_and_check(int bytes, int room, int from, int tag, int any, int serial)
{
    MPI_Status status;
    int count = -1;

    memset(in, 0xa5, (size_t)room + 1);
    OK(MPI_Recv(in, room, MPI_BYTE, any & 1 ? MPI_ANY_SOURCE : from, any & 2 ? MPI_ANY_TAG : tag,
                MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == bytes);
    CHECK(status.MPI_SOURCE == from);
    CHECK(status.MPI_TAG == tag);
    CHECK(check_wrong(in, (size_t)bytes, from, serial) == 0);
    CHECK(in[room] == 0xa5);
    if (room > bytes)
        CHECK(in[bytes] == 0xa5);
}

/* Every pair of neighbours in the ring of ranks, every length, both modes, all kinds of wildcard. */
static void lengths_and_modes(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int i, mode;

    if (check_size == 1)
        return;
    for (mode = 0; mode < 2; mode++) {
        for (i = 0; i < LENGTHS; i++) {
            int bytes = lengths[i], room = bytes < BIG ? bytes + i % 3 : bytes;
            int any = i % 4, serial = mode * 100 + i, tag = 10 + i;

            /* Even ranks send first; with an odd number the last even one meets rank 0, also even: it
             * receives first instead. */
            int sends_first = check_rank % 2 == 0 && check_rank != check_size - 1;

            check_fill(out, (size_t)bytes, check_rank, serial);
            if (sends_first) {
                send_in_mode(mode, bytes, right, tag);
                receive_and_check(bytes, room, left, tag, any, serial);
            } else {
                receive_and_check(bytes, room, left, tag, any, serial);
                send_in_mode(mode, bytes, right, tag);
            }
        }
    }
}

#define TYPE_CHECK(ctype, mpitype)                                                                       \
    do {                                                                                                 \
        ctype sent[7], got[9];                                                                           \
        MPI_Status status;                                                                               \
        int k, count = -1, size = -1;                                                                    \
        memset(sent, 0, sizeof sent);                                                                    \
        memset(got, 0, sizeof got);                                                                      \
        for (k = 0; k < 7; k++)                                                                          \
            sent[k] = (ctype)(k * 3 + check_rank);                                                       \
        OK(MPI_Sendrecv(sent, 7, mpitype, right, 5, got, 9, mpitype, left, 5, MPI_COMM_WORLD, &status)); \
        OK(MPI_Get_count(&status, mpitype, &count));                                                     \
        CHECK(count == 7);                                                                               \
        for (k = 0; k < 7; k++)                                                                          \
            CHECK(got[k] == (ctype)(k * 3 + left));                                                      \
        OK(MPI_Type_size(mpitype, &size));                                                               \
        CHECK(size == (int)sizeof(ctype));                                                               \
    } while (0)

static void datatypes(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;

    TYPE_CHECK(char, MPI_CHAR);
    TYPE_CHECK(signed char, MPI_SIGNED_CHAR);
    TYPE_CHECK(unsigned char, MPI_UNSIGNED_CHAR);
    TYPE_CHECK(unsigned char, MPI_BYTE);
    TYPE_CHECK(wchar_t, MPI_WCHAR);
    TYPE_CHECK(short, MPI_SHORT);
    TYPE_CHECK(unsigned short, MPI_UNSIGNED_SHORT);
    TYPE_CHECK(int, MPI_INT);
    TYPE_CHECK(unsigned, MPI_UNSIGNED);
    TYPE_CHECK(long, MPI_LONG);
    TYPE_CHECK(unsigned long, MPI_UNSIGNED_LONG);
    TYPE_CHECK(long long, MPI_LONG_LONG);
    TYPE_CHECK(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    TYPE_CHECK(float, MPI_FLOAT);
    TYPE_CHECK(double, MPI_DOUBLE);
    TYPE_CHECK(long double, MPI_LONG_DOUBLE);
    TYPE_CHECK(_Bool, MPI_C_BOOL);
    TYPE_CHECK(int8_t, MPI_INT8_T);
    TYPE_CHECK(int16_t, MPI_INT16_T);
    TYPE_CHECK(int32_t, MPI_INT32_T);
    TYPE_CHECK(int64_t, MPI_INT64_T);
    TYPE_CHECK(uint8_t, MPI_UINT8_T);
    TYPE_CHECK(uint16_t, MPI_UINT16_T);
    TYPE_CHECK(uint32_t, MPI_UINT32_T);
    TYPE_CHECK(uint64_t, MPI_UINT64_T);
    TYPE_CHECK(MPI_Aint, MPI_AINT);
    TYPE_CHECK(MPI_Offset, MPI_OFFSET);
    TYPE_CHECK(MPI_Count, MPI_COUNT);
}

/* Count from a status in another type than the message's (section 3.2.5). */
static void counts(void)
{
    MPI_Status status;
    char six[6] = {0}, got[8];
    int count = 0;

    OK(MPI_Sendrecv(six, 6, MPI_CHAR, check_rank, 1, got, 8, MPI_CHAR, check_rank, 1, MPI_COMM_WORLD,
                    &status));
    OK(MPI_Get_count(&status, MPI_SHORT, &count));
    CHECK(count == 3);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == MPI_UNDEFINED);
    OK(MPI_Get_elements(&status, MPI_CHAR, &count));
    CHECK(count == 6);
}

static void proc_null(void)
{
    MPI_Status status;
    int value = 31, sent = 32, count = -1, flag = 0;

    OK(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD));
    OK(MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD));
    status.MPI_SOURCE = 77;
    OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 0 && value == 31);
    OK(MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    OK(MPI_Iprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag == 1 && status.MPI_SOURCE == MPI_PROC_NULL);
    OK(MPI_Sendrecv(&sent, 1, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, MPI_PROC_NULL, 0,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));

    /* An open chain: the ends meet nobody. */
    {
        int up = check_rank + 1 < check_size ? check_rank + 1 : MPI_PROC_NULL;
        int down = check_rank > 0 ? check_rank - 1 : MPI_PROC_NULL;
        int got = -1;

        OK(MPI_Sendrecv(&check_rank, 1, MPI_INT, up, 8, &got, 1, MPI_INT, down, 8, MPI_COMM_WORLD, &status));
        CHECK(got == (down == MPI_PROC_NULL ? -1 : down));
        CHECK(status.MPI_SOURCE == down);
    }
}

static void sendrecv(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Status status;
    int bytes, count = -1;

    for (bytes = 0; bytes <= 300000; bytes = bytes * 3 + 1) {
        check_fill(out, (size_t)bytes, check_rank, bytes);
        memset(in, 0, (size_t)bytes + 1);
        OK(MPI_Sendrecv(out, bytes, MPI_BYTE, right, 1, in, bytes + 1, MPI_BYTE, left, 1, MPI_COMM_WORLD,
                        &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == bytes && status.MPI_SOURCE == left && status.MPI_TAG == 1);
        CHECK(check_wrong(in, (size_t)bytes, left, bytes) == 0);

        OK(MPI_Sendrecv_replace(out, bytes, MPI_BYTE, left, 2, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_SOURCE == right);
        CHECK(check_wrong(out, (size_t)bytes, right, bytes) == 0);
    }
}

static void to_oneself(void)
{
    MPI_Request request;
    MPI_Status status;
    int bytes, count = -1;

    for (bytes = 0; bytes <= 200000; bytes = bytes * 7 + 1) {
        check_fill(out, (size_t)bytes, check_rank, 4);
        OK(MPI_Isend(out, bytes, MPI_BYTE, check_rank, 12, MPI_COMM_WORLD, &request));
        OK(MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, &status));
        CHECK(status.MPI_SOURCE == check_rank && check_wrong(in, (size_t)bytes, check_rank, 4) == 0);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(request == MPI_REQUEST_NULL);

        memset(in, 0, (size_t)bytes);
        OK(MPI_Irecv(in, bytes, MPI_BYTE, 0, 13, MPI_COMM_SELF, &request));
        OK(MPI_Send(out, bytes, MPI_BYTE, 0, 13, MPI_COMM_SELF));
        OK(MPI_Wait(&request, &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == bytes && status.MPI_SOURCE == 0 && check_wrong(in, (size_t)bytes, check_rank, 4) == 0);
    }
}

/* Messages of one pair do not overtake each other (section 3.5), whatever their lengths. */
static void order(void)
{
    enum { COUNT = 60 };
    static const int sizes[] = {4, 2000, 8, 40000, 300, 4, 70000};
    MPI_Request requests[COUNT];
    unsigned char *buffers[COUNT];
    MPI_Status status;
    int i, count = -1, right = (check_rank + 1) % check_size;
    int left = (check_rank + check_size - 1) % check_size;

    for (i = 0; i < COUNT; i++) {
        buffers[i] = check_room((size_t)sizes[i % 7]);
        check_fill(buffers[i], (size_t)sizes[i % 7], check_rank, i);
        /* Two tags; a receive that takes any must see them in the order of sending. */
        OK(MPI_Isend(buffers[i], sizes[i % 7], MPI_BYTE, right, i % 2, MPI_COMM_WORLD, &requests[i]));
    }
    for (i = 0; i < COUNT; i++) {
        OK(MPI_Recv(in, BIG, MPI_BYTE, i % 3 == 0 ? left : MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                    &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(status.MPI_TAG == i % 2 && count == sizes[i % 7]);
        CHECK(check_wrong(in, (size_t)sizes[i % 7], left, i) == 0);
    }
    for (i = 0; i < COUNT; i++) {
        OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        free(buffers[i]);
    }
}

/* Tags are told apart, also when they are received out of order. */
static void tags(void)
{
    enum { COUNT = 20 };
    MPI_Request requests[COUNT];
    int values[COUNT], i, got, right = (check_rank + 1) % check_size;
    int left = (check_rank + check_size - 1) % check_size;
    int *tag_ub = NULL, flag = 0;

    for (i = 0; i < COUNT; i++) {
        values[i] = check_rank * 1000 + i;
        OK(MPI_Isend(&values[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[i]));
    }
    for (i = COUNT - 1; i >= 0; i--) {
        got = -1;
        OK(MPI_Recv(&got, 1, MPI_INT, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(got == left * 1000 + i);
    }
    for (i = 0; i < COUNT; i++)
        OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));

    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag));
    if (flag) {
        MPI_Status status;

        OK(MPI_Sendrecv(values, 1, MPI_INT, right, *tag_ub, &got, 1, MPI_INT, left, *tag_ub, MPI_COMM_WORLD,
                        &status));
        CHECK(status.MPI_TAG == *tag_ub && got == left * 1000);
    }
}

/* Rank 0 serves requests from anybody: who sent is only known afterwards. */
static void any_source(void)
{
    enum { ROUNDS = 25 };
    int i, question[2], answer;
    MPI_Status status;

    if (check_rank == 0) {
        int *seen = check_room((size_t)check_size * sizeof *seen);

        memset(seen, 0, (size_t)check_size * sizeof *seen);
        for (i = 0; i < ROUNDS * (check_size - 1); i++) {
            OK(MPI_Recv(question, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
            CHECK(question[0] == status.MPI_SOURCE);
            CHECK(question[1] == status.MPI_TAG);
            CHECK(seen[question[0]] == question[1]);
            seen[question[0]]++;
            answer = question[0] * 100 + question[1];
            OK(MPI_Send(&answer, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD));
        }
        free(seen);
    } else {
        for (i = 0; i < ROUNDS; i++) {
            question[0] = check_rank;
            question[1] = i;
            OK(MPI_Send(question, 2, MPI_INT, 0, i, MPI_COMM_WORLD));
            OK(MPI_Recv(&answer, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(answer == check_rank * 100 + i);
        }
    }
}

/* A communicator's messages are not seen through another one. */
static void contexts(void)
{
    MPI_Request request;
    int one = 1, two = 2, got = 0, flag = -1;

    OK(MPI_Isend(&one, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &request));
    OK(MPI_Iprobe(check_rank, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(flag == 0);
    OK(MPI_Sendrecv(&two, 1, MPI_INT, check_rank, 5, &got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(got == 2);
    OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(got == 1);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    out = check_room(BIG + 4);
    in = check_room(BIG + 4);
    MPI_Barrier(MPI_COMM_WORLD);
    lengths_and_modes();
    MPI_Barrier(MPI_COMM_WORLD);
    datatypes();
    counts();
    proc_null();
    MPI_Barrier(MPI_COMM_WORLD);
    sendrecv();
    MPI_Barrier(MPI_COMM_WORLD);
    to_oneself();
    MPI_Barrier(MPI_COMM_WORLD);
    order();
    MPI_Barrier(MPI_COMM_WORLD);
    tags();
    MPI_Barrier(MPI_COMM_WORLD);
    any_source();
    MPI_Barrier(MPI_COMM_WORLD);
    contexts();
    free(out);
    free(in);
    return check_end("conf_p2p");
}
