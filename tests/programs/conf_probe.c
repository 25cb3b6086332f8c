/* Conformance: probing (MPI-3.1, section 3.8): what is seen stays to be received, in order. */
#include "check.h"

static int right, left;

static void probe_then_receive(void)
{
    static const int lengths[] = {0, 1, 200, 5000, 90000};
    unsigned char *out, *in;
    MPI_Request request;
    MPI_Status probed, received;
    int i, count = -1, flag, kind;

    for (kind = 0; kind < 4; kind++) {
        for (i = 0; i < 5; i++) {
            out = check_room((size_t)lengths[i]);
            check_fill(out, (size_t)lengths[i], check_rank, i);
            OK(MPI_Isend(out, lengths[i], MPI_BYTE, right, 20 + i, MPI_COMM_WORLD, &request));
            memset(&probed, 0, sizeof probed);
            switch (kind) {
            case 0:
                OK(MPI_Probe(left, 20 + i, MPI_COMM_WORLD, &probed));
                break;
            case 1:
                OK(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &probed));
                break;
            default:
                do
                    POLL(MPI_Iprobe(kind == 2 ? left : MPI_ANY_SOURCE, kind == 2 ? MPI_ANY_TAG : 20 + i,
                                    MPI_COMM_WORLD, &flag, &probed));
                while (!flag);
            }
            CHECK(probed.MPI_SOURCE == left && probed.MPI_TAG == 20 + i);
            OK(MPI_Get_count(&probed, MPI_BYTE, &count));
            CHECK(count == lengths[i]);
            /* Seen again: a probe takes nothing away. */
            OK(MPI_Iprobe(left, 20 + i, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK(flag == 1);
            in = check_room((size_t)count);
            OK(MPI_Recv(in, count, MPI_BYTE, probed.MPI_SOURCE, probed.MPI_TAG, MPI_COMM_WORLD, &received));
            CHECK(check_wrong(in, (size_t)lengths[i], left, i) == 0);
            OK(MPI_Iprobe(left, 20 + i, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            CHECK(flag == 0);
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            free(in);
            free(out);
            OK(MPI_Barrier(MPI_COMM_WORLD));
        }
    }
}

/* The first of several messages that fit is the one that is seen (and the one a receive would take). */
static void first_of_many(void)
{
    MPI_Request requests[5];
    MPI_Status status;
    int values[5], i, got, count;

    for (i = 0; i < 5; i++) {
        values[i] = check_rank * 10 + i;
        OK(MPI_Isend(values, i + 1, MPI_INT, right, 40 + i % 2, MPI_COMM_WORLD, &requests[i]));
    }
    for (i = 1; i < 5; i += 2) {
        OK(MPI_Probe(MPI_ANY_SOURCE, 41, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == i + 1);
        {
            int in[5] = {-1, -1, -1, -1, -1};

            OK(MPI_Recv(in, 5, MPI_INT, left, 41, MPI_COMM_WORLD, &status));
            OK(MPI_Get_count(&status, MPI_INT, &got));
            CHECK(got == count && in[i] == left * 10 + i);
        }
    }
    for (i = 0; i < 5; i += 2) {
        int in[5];

        OK(MPI_Probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
        OK(MPI_Get_count(&status, MPI_INT, &count));
        CHECK(count == i + 1 && status.MPI_TAG == 40);
        OK(MPI_Recv(in, count, MPI_INT, left, 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    for (i = 0; i < 5; i++)
        OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
}

/* Nothing there: at once and false, however often. */
static void nothing(void)
{
    int i, flag = 1;

    for (i = 0; i < 1000; i++) {
        POLL(MPI_Iprobe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        CHECK(flag == 0);
    }
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    nothing();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    probe_then_receive();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    first_of_many();
    return check_end("conf_probe");
}
