/* Conformance: collectives that move data, and the barrier (MPI-3.1, chapter 5). */
#include "check.h"

static void barrier(void)
{
    int i, token;

    /* Nobody leaves before the last has come: the last one says so by a message sent before it enters,
     * which each other rank must then find with one look. */
    for (i = 0; i < check_size; i++) {
        if (check_rank == i) {
            int peer;

            for (peer = 0; peer < check_size; peer++)
                if (peer != i)
                    OK(MPI_Ssend(&i, 1, MPI_INT, peer, 90, MPI_COMM_WORLD));
            OK(MPI_Barrier(MPI_COMM_WORLD));
        } else {
            token = -1;
            OK(MPI_Recv(&token, 1, MPI_INT, i, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK(token == i);
            OK(MPI_Barrier(MPI_COMM_WORLD));
        }
    }
    for (i = 0; i < 100; i++)
        OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Barrier(MPI_COMM_SELF));
}

static void bcast(void)
{
    static const int lengths[] = {0, 1, 100, 1023, 1024, 1025, 5000, 200000};
    unsigned char *buffer = check_room(200000);
    int i, root;

    for (i = 0; i < 8; i++) {
        for (root = 0; root < check_size; root++) {
            memset(buffer, 0, 200000);
            if (check_rank == root)
                check_fill(buffer, (size_t)lengths[i], root, i);
            OK(MPI_Bcast(buffer, lengths[i], MPI_BYTE, root, MPI_COMM_WORLD));
            CHECK(check_wrong(buffer, (size_t)lengths[i], root, i) == 0);
            if (lengths[i] < 200000)
                CHECK(buffer[lengths[i]] == 0);
        }
    }
    free(buffer);

    {
        double value = check_rank == 0 ? 2.5 : 0.0;

        OK(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
        CHECK(value == 2.5);
        OK(MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_SELF));
        CHECK(value == 2.5);
    }
}

/* A collective's messages and the program's do not meet, wildcards or not (section 5.1). */
static void apart(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int value = check_rank, got = -1, sum = -1, flag = -1;
    MPI_Request request[2];
    MPI_Status status;

    OK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request[0]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == check_size * (check_size - 1) / 2);
    OK(MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE));
    CHECK(flag == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Isend(&value, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &request[1]));
    OK(MPI_Wait(&request[0], &status));
    CHECK(got == left && status.MPI_SOURCE == left && status.MPI_TAG == 3);
    OK(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
}

static void gather_and_scatter(void)
{
    enum { EACH = 37 };
    int *all = check_room((size_t)check_size * EACH * sizeof *all);
    int *counts = check_room((size_t)check_size * sizeof *counts);
    int *displs = check_room((size_t)check_size * sizeof *displs);
    int mine[EACH], back[EACH], i, r, root, total = 0;

    for (root = 0; root < check_size; root++) {
        for (i = 0; i < EACH; i++)
            mine[i] = check_rank * 1000 + i + root;
        memset(all, 0xff, (size_t)check_size * EACH * sizeof *all);
        OK(MPI_Gather(mine, EACH, MPI_INT, all, EACH, MPI_INT, root, MPI_COMM_WORLD));
        if (check_rank == root)
            for (r = 0; r < check_size; r++)
                for (i = 0; i < EACH; i++)
                    CHECK(all[r * EACH + i] == r * 1000 + i + root);
        OK(MPI_Scatter(all, EACH, MPI_INT, back, EACH, MPI_INT, root, MPI_COMM_WORLD));
        CHECK(memcmp(mine, back, sizeof mine) == 0);
    }

    memset(all, 0xff, (size_t)check_size * EACH * sizeof *all);
    OK(MPI_Allgather(mine, EACH, MPI_INT, all, EACH, MPI_INT, MPI_COMM_WORLD));
    for (r = 0; r < check_size; r++)
        for (i = 0; i < EACH; i++)
            CHECK(all[r * EACH + i] == r * 1000 + i + check_size - 1);
    memcpy(all + check_rank * EACH, mine, sizeof mine);
    for (r = 0; r < check_size; r++)
        if (r != check_rank)
            memset(all + r * EACH, 0, sizeof mine);
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, EACH, MPI_INT, MPI_COMM_WORLD));
    for (r = 0; r < check_size; r++)
        CHECK(all[r * EACH + 5] == r * 1000 + 5 + check_size - 1);

    /* Rank r gives r + 1 numbers (as many as fit), with gaps of one between. */
    for (r = 0; r < check_size; r++) {
        counts[r] = r % (EACH - 1) + 1;
        displs[r] = total;
        total += counts[r] + 1;
    }
    for (i = 0; i < counts[check_rank]; i++)
        mine[i] = check_rank * 100 + i;
    for (i = 0; i < total; i++)
        all[i] = -5;
    OK(MPI_Gatherv(mine, counts[check_rank], MPI_INT, all, counts, displs, MPI_INT, 0, MPI_COMM_WORLD));
    if (check_rank == 0)
        for (r = 0; r < check_size; r++) {
            for (i = 0; i < counts[r]; i++)
                CHECK(all[displs[r] + i] == r * 100 + i);
            CHECK(all[displs[r] + counts[r]] == -5);
        }
    memset(back, 0, sizeof back);
    OK(MPI_Scatterv(all, counts, displs, MPI_INT, back, counts[check_rank], MPI_INT, 0, MPI_COMM_WORLD));
    CHECK(memcmp(back, mine, (size_t)counts[check_rank] * sizeof *mine) == 0);
    for (i = 0; i < total; i++)
        all[i] = -5;
    OK(MPI_Allgatherv(mine, counts[check_rank], MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD));
    for (r = 0; r < check_size; r++) {
        for (i = 0; i < counts[r]; i++)
            CHECK(all[displs[r] + i] == r * 100 + i);
        CHECK(all[displs[r] + counts[r]] == -5);
    }
    free(all);
    free(counts);
    free(displs);
}

static void all_to_all(void)
{
    enum { EACH = 300 };
    size_t total = (size_t)check_size * EACH;
    long *out = check_room(total * sizeof *out), *in = check_room(total * sizeof *in);
    int *scounts = check_room((size_t)check_size * sizeof *scounts);
    int *rcounts = check_room((size_t)check_size * sizeof *rcounts);
    int *displs = check_room((size_t)check_size * sizeof *displs);
    int r, i;

    for (r = 0; r < check_size; r++)
        for (i = 0; i < EACH; i++)
            out[r * EACH + i] = check_rank * 1000000L + r * 1000L + i;
    OK(MPI_Alltoall(out, EACH, MPI_LONG, in, EACH, MPI_LONG, MPI_COMM_WORLD));
    for (r = 0; r < check_size; r++)
        for (i = 0; i < EACH; i++)
            CHECK(in[r * EACH + i] == r * 1000000L + check_rank * 1000L + i);

    for (r = 0; r < check_size; r++) {
        scounts[r] = (check_rank + r) % EACH;
        rcounts[r] = scounts[r];
        displs[r] = r * EACH;
    }
    memset(in, 0, total * sizeof *in);
    OK(MPI_Alltoallv(out, scounts, displs, MPI_LONG, in, rcounts, displs, MPI_LONG, MPI_COMM_WORLD));
    for (r = 0; r < check_size; r++) {
        for (i = 0; i < rcounts[r]; i++)
            CHECK(in[r * EACH + i] == r * 1000000L + check_rank * 1000L + i);
        CHECK(in[r * EACH + rcounts[r]] == 0);
    }
    free(out);
    free(in);
    free(scounts);
    free(rcounts);
    free(displs);
}

int main(int argc, char **argv)
{
    check_start(&argc, &argv);
    barrier();
    bcast();
    apart();
    gather_and_scatter();
    all_to_all();
    return check_end("conf_coll");
}
